//! `zonekeep run`: runs a command inside the sandbox.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use zonekeep::approve::visible;
use zonekeep::command::{Command, Confine, Outcome, Placed, Port};
use zonekeep::confine::Over;
use zonekeep::confine::plan::{Access, Calls};
use zonekeep::confine::tree::Launcher;
use zonekeep::policy::config::{Addition, AgentProfile};
use zonekeep::policy::limit::Limits;
use zonekeep::policy::policy::{BackendChoice, Network, is_never_passed};
use zonekeep::policy::{At, Zone};
use zonekeep::{Error, Remedy, Sandbox};

use super::{profile, run_hints};
use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, answer_in_json, hint_for};
use crate::project_args::{ProjectArgs, SandboxArgs, here};
use crate::{output, relay};

/// The exit status of a command that took too long, as `timeout` has it.
const TIMED_OUT: u8 = 124;
/// The exit status of a command that was ended for its memory or its processes: that of
/// SIGKILL.
const KILLED: u8 = 128 + 9;

/// Run a command inside the sandbox
///
/// The command sees only the directories that the project file or the flags
/// grant, and has no network unless the file allows it. Its exit status becomes
/// zonekeep's own; zonekeep uses 124 for a command that took too long, 125 when
/// it could not be run safely, 126 and 127 as shells do.
///
/// Examples:
///   zonekeep run -- ls /
///   zonekeep run --rw . -- cargo test
///   zonekeep run --rw . --net python -- pip install -r requirements.txt
///   zonekeep run --ro . --timeout 30s --limit memory=512M -- python3 check.py
///   zonekeep run --profile claude-code -- claude
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// Show what would be mounted and allowed, and run nothing
    #[arg(long)]
    explain: bool,
    /// Keep what the command prints, and print the result as JSON: exit status, output,
    /// notes, caught files
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The flags that say how a command is confined.
#[derive(clap::Args, Debug)]
pub(crate) struct ConfineArgs {
    /// Let the command read and write this directory, at its own path
    #[arg(long, value_name = "DIR")]
    rw: Vec<PathBuf>,
    /// Let the command read this directory, at its own path
    #[arg(long, value_name = "DIR")]
    ro: Vec<PathBuf>,
    /// Run a whole agent inside: claude-code, codex, gemini and others (`zonekeep profile`).
    /// Adds its hosts, its key as a placeholder and a private copy of its settings
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Refuse to run unless the kernel enforces every rule fully
    #[arg(long)]
    strict: bool,
    /// How to confine the command: auto, namespaces, bubblewrap, landlock, seatbelt or none
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = backends())]
    backend: Option<String>,
    /// End the command after this time, such as 30s or 5m
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Limits such as memory=512M,processes=256,tmp=200M,file_size=200M
    #[arg(long, value_name = "KEY=VALUE,...")]
    limit: Vec<String>,
    /// Let debuggers and profilers work on the processes of the sandbox: ptrace, perf, memfd
    #[arg(long)]
    debug: bool,
    /// Let a server inside be reached at this port of 127.0.0.1: 3000, or 8080:3000 for
    /// another port inside
    #[arg(long, value_name = "PORT[:INSIDE]", value_parser = port)]
    port: Vec<Port>,
    #[command(flatten)]
    add: AddArgs,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// The flags that add to the hosts and the environment that the project file gives.
#[derive(clap::Args, Debug)]
struct AddArgs {
    /// Let the command reach the package registries of these languages, such as python,node
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    net: Vec<String>,
    /// Let the command reach this host, such as api.example.org or *.example.org:8443
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Set an environment variable of the command
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Pass an environment variable of yours to the command
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
}

impl AddArgs {
    fn additions(&self) -> Result<Vec<Addition>, Failure> {
        let mut add: Vec<Addition> = self.net.iter().cloned().map(Addition::Preset).collect();
        add.extend(self.allow_host.iter().cloned().map(Addition::Host));
        for flag in &self.env {
            let (name, value) = flag.split_once('=').ok_or_else(|| {
                Failure::message(USAGE, format!("--env {flag}: write NAME=VALUE"))
                    .hint(format!("--pass-env {flag} passes the value that you have"))
            })?;
            add.push(Addition::Env(name.to_owned(), value.to_owned()));
        }
        for name in &self.pass_env {
            if is_never_passed(name) {
                let text = format!("--pass-env {name}: this variable is never passed to commands");
                return Err(Failure::message(USAGE, text)
                    .hint("commands have their own; --env sets another value"));
            }
            add.push(Addition::PassEnv(name.clone()));
        }
        Ok(add)
    }
}

fn backends() -> impl clap::builder::TypedValueParser<Value = String> {
    clap::builder::PossibleValuesParser::new(BackendChoice::ALL.map(BackendChoice::as_str))
}

/// Reads `PORT` or `PORT:INSIDE`.
fn port(text: &str) -> Result<Port, String> {
    let number = |text: &str| match text.parse::<u16>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("write a port such as 3000, or 8080:3000".to_owned()),
    };
    let (host, inside) = text.split_once(':').unwrap_or((text, text));
    Ok(Port { host: number(host)?, inside: number(inside)? })
}

impl ConfineArgs {
    /// Reads the profile that a flag names. The agent gets the current directory where
    /// neither flags nor the project file grant one.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        let Some(name) = &self.profile else { return Ok(()) };
        let agent = profile::usable(name)?;
        let has_key = !agent.secrets.is_empty();
        self.sandbox.project.profile = Some(agent);
        let policy = self.sandbox.project.load()?.policy;
        if has_key && policy.network.value == Network::On {
            let at = visible(&policy.network.at.to_string());
            tell!("zonekeep: the network is open ({at}), so no key is put in; list hosts instead");
        }
        let is_default = |zone: &Zone| matches!(zone.path.at, At::Default);
        if self.places().next().is_none() && policy.zones.iter().all(is_default) {
            self.rw.push(here()?);
        }
        Ok(())
    }

    /// Returns the agent that runs inside as a whole.
    pub(crate) fn agent(&self) -> Option<&AgentProfile> {
        self.sandbox.project.profile.as_ref()
    }

    /// Opens the sandbox that the flags describe.
    pub(crate) fn open(&self) -> Result<Sandbox, Failure> {
        let mut sandbox = self.sandbox.clone();
        if let Some(backend) = &self.backend {
            sandbox.project.set.push(format!("sandbox.backend={backend}"));
        }
        sandbox.project.add.extend(self.add.additions()?);
        let placed = |dirs: &[PathBuf], access| {
            dirs.iter().map(move |dir| Placed { host: dir.clone(), access }).collect::<Vec<_>>()
        };
        let mut places = placed(&self.rw, Access::Rw);
        places.extend(placed(&self.ro, Access::Ro));
        let (strict, once) = (self.strict, true);
        let ports = self.port.clone();
        for port in &ports {
            // Told before anything is started; the port is taken once the sandbox stands.
            TcpListener::bind((Ipv4Addr::LOCALHOST, port.host)).map_err(|error| {
                let text = format!("cannot listen on 127.0.0.1:{}: {error}", port.host);
                let hint = format!("choose another port, such as --port 8080:{}", port.inside);
                Failure::message(UNSAFE, text).hint(hint)
            })?;
        }
        let calls = if self.debug { Calls::Debug } else { Calls::Usual };
        sandbox.open_beside_command(Confine {
            places,
            strict,
            once,
            calls,
            ports,
            profile: self.agent().cloned(),
            ..Confine::default()
        })
    }

    /// Returns the flags that choose the project.
    pub(crate) fn project(&self) -> &ProjectArgs {
        &self.sandbox.project
    }

    /// Returns the directories that flags grant.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> + Clone {
        self.rw.iter().chain(&self.ro).map(PathBuf::as_path)
    }

    /// Returns the command that the flags describe.
    pub(crate) fn command(&self, sandbox: &Sandbox, argv: &[OsString]) -> Result<Command, Failure> {
        let mut argv = argv.to_vec();
        if let Some(agent) = self.agent().filter(|agent| profile::is_program(agent, &argv)) {
            argv.splice(1..1, agent.args.iter().map(OsString::from));
        }
        let mut command = Command::new(argv);
        command.limits = self.limits()?;
        command.cwd = self.start_dir(sandbox);
        Ok(command)
    }

    fn limits(&self) -> Result<Limits, Failure> {
        let usage = |error: zonekeep::policy::limit::LimitError| {
            let hint = error.hint();
            Failure::message(USAGE, error.to_string()).hint(hint)
        };
        let mut limits = Limits::none();
        for flag in &self.limit {
            limits.parse_flag(flag).map_err(usage)?;
        }
        if let Some(timeout) = &self.timeout {
            limits.set("time", timeout).map_err(usage)?;
        }
        Ok(limits)
    }

    /// Returns the current directory as the command sees it: at its own path where a flag
    /// grants it, or below a zone; else the first directory that a flag grants. In the project
    /// directory itself, and outside all of them, the command starts in the working directory.
    fn start_dir(&self, sandbox: &Sandbox) -> Option<String> {
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        let granted = self.places().filter_map(|dir| dir.canonicalize().ok());
        if granted.clone().any(|dir| here.starts_with(&dir)) {
            return here.to_str().map(str::to_owned);
        }
        let in_zone = sandbox.command_path(&here);
        match granted.clone().next() {
            // A directory that is granted besides is not where the user is.
            Some(first) if in_zone.is_none() => first.to_str().map(str::to_owned),
            _ => in_zone.filter(|_| here != sandbox.project_dir()),
        }
    }
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    args.confine.prepare()?;
    if args.explain {
        return super::explain::plan(
            &args.confine,
            &args.command,
            super::explain::shown(args.json, false),
        );
    }
    let sandbox = open(&args.confine)?;
    let command = args.confine.command(&sandbox, &args.command)?;
    let outcome = match args.json {
        true => keep(&sandbox, &command),
        false => relay::run(&sandbox, &command),
    };
    let outcome = outcome.map_err(failure)?;
    let hints = run_hints::find(&sandbox, &args.confine, &args.command, &outcome);
    if args.json {
        let mut value = serde_json::to_value(&outcome).map_err(io::Error::from)?;
        value["status"] = json!(status(&outcome));
        value["hints"] = json!(hints);
        output::json(&value)?;
        std::process::exit(i32::from(status(&outcome)));
    }
    conclude(&outcome, &hints)
}

/// Runs a command whose output is kept. A terminal is not handed to it.
fn keep(sandbox: &Sandbox, command: &Command) -> Result<Outcome, Error> {
    let stdin = io::stdin();
    let input = (!stdin.is_terminal()).then(|| stdin.as_fd());
    sandbox.run_with_input(command, input)
}

/// Opens the sandbox for a command whose exit status becomes this program's.
pub(crate) fn open(confine: &ConfineArgs) -> Result<Sandbox, Failure> {
    check_stdio()?;
    if let Some(launcher) = Launcher::find() {
        launcher.start_early();
    }
    confine.open().map_err(|failure| match failure.status {
        // That would be the command's own.
        NEGATIVE => Failure { status: UNSAFE, ..failure },
        _ => failure,
    })
}

/// Refuses what no command can be connected with, before anything is started.
fn check_stdio() -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        zonekeep::confine::stdio::check([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]).map_err(
            |failed| {
                Failure::message(UNSAFE, failed.to_string()).hint(
                    "a command gets files, pipes, terminals, devices and connected stream sockets",
                )
            },
        )?;
    }
    Ok(())
}

/// Says what is left to say, and ends with the command's status.
pub(crate) fn conclude(outcome: &Outcome, hints: &[String]) -> ! {
    // What it printed has gone to where it goes; this is what is left to say.
    if !outcome.stderr.is_empty() {
        output::beside(&format!("zonekeep: {}", outcome.stderr));
    }
    for note in &outcome.notes {
        tell!("zonekeep: {}", visible(note.strip_prefix("Note: ").unwrap_or(note)));
    }
    for hint in hints {
        tell!("hint: {}", visible(hint));
    }
    // The sandbox is gone with this process; nobody has to wait for the kernel
    // to take it apart.
    std::process::exit(i32::from(status(outcome)))
}

/// Returns the exit status that a shell would give.
fn status(outcome: &Outcome) -> u8 {
    match (outcome.exit_code, outcome.signal) {
        _ if outcome.timed_out => TIMED_OUT,
        // A shell that is refused a process ends with a status of its own, such as 2.
        _ if matches!(outcome.over, Some(Over::Memory | Over::Processes)) => KILLED,
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128u8.saturating_add(signal as u8),
        (None, None) => UNSAFE,
    }
}

pub(crate) fn failure(error: Error) -> Failure {
    let source = std::error::Error::source(&error).map(ToString::to_string);
    match (error.detail().map(str::to_owned), source) {
        (Some(detail), _) => {
            let hint = hint_for(error.remedy().unwrap_or(Remedy::Raise));
            Failure::message(UNSAFE, detail).hint(hint)
        }
        (None, Some(source)) => {
            Failure::new(UNSAFE, error).hint(format!("the system said: {source}"))
        }
        (None, None) => Failure::new(UNSAFE, error),
    }
}
