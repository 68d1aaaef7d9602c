//! `zonekeep run`: runs a command inside the sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use zonekeep::approve::visible;
use zonekeep::command::{Command, Confine, Outcome, Placed};
use zonekeep::confine::plan::Access;
use zonekeep::confine::tree::Launcher;
use zonekeep::policy::limit::Limits;
use zonekeep::policy::policy::BackendChoice;
use zonekeep::{Error, Remedy, Sandbox};

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, hint_for};
use crate::project_args::{ProjectArgs, SandboxArgs};
use crate::{output, relay};

/// The exit status of a command that took too long, as `timeout` has it.
const TIMED_OUT: u8 = 124;

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
///   zonekeep run --ro . --timeout 30s --limit memory=512M -- python3 check.py
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// Show what would be mounted and allowed, and run nothing
    #[arg(long)]
    explain: bool,
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
    #[command(flatten)]
    sandbox: SandboxArgs,
}

fn backends() -> impl clap::builder::TypedValueParser<Value = String> {
    clap::builder::PossibleValuesParser::new(BackendChoice::ALL.map(BackendChoice::as_str))
}

impl ConfineArgs {
    /// Opens the sandbox that the flags describe.
    pub(crate) fn open(&self) -> Result<Sandbox, Failure> {
        let mut sandbox = self.sandbox.clone();
        if let Some(backend) = &self.backend {
            sandbox.project.set.push(format!("sandbox.backend={backend}"));
        }
        let placed = |dirs: &[PathBuf], access| {
            dirs.iter().map(move |dir| Placed { host: dir.clone(), access }).collect::<Vec<_>>()
        };
        let mut places = placed(&self.rw, Access::Rw);
        places.extend(placed(&self.ro, Access::Ro));
        let (strict, once) = (self.strict, true);
        sandbox.open_beside_command(Confine { places, strict, once, ..Confine::default() })
    }

    /// Returns the flags that choose the project.
    pub(crate) fn project(&self) -> &ProjectArgs {
        &self.sandbox.project
    }

    /// Returns the command that the flags describe.
    pub(crate) fn command(&self, argv: &[OsString]) -> Result<Command, Failure> {
        let mut command = Command::new(argv.iter().cloned());
        command.limits = self.limits()?;
        command.cwd = self.start_dir();
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

    /// Returns the current directory, where the command has it at its own path.
    fn start_dir(&self) -> Option<String> {
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        let granted = self.rw.iter().chain(&self.ro).filter_map(|dir| dir.canonicalize().ok());
        let first = granted.clone().next()?;
        let inside = granted.into_iter().any(|dir| here.starts_with(&dir));
        let dir: &Path = if inside { &here } else { &first };
        dir.to_str().map(str::to_owned)
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    if args.explain {
        return super::explain::plan(&args.confine, &args.command, false);
    }
    let sandbox = open(&args.confine)?;
    let command = args.confine.command(&args.command)?;
    let outcome = relay::run(&sandbox, &command).map_err(failure)?;
    conclude(&outcome)
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
        use std::os::fd::AsFd;
        let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
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
pub(crate) fn conclude(outcome: &Outcome) -> ! {
    // What it printed has gone to where it goes; this is what is left to say.
    if !outcome.stderr.is_empty() {
        output::beside(&format!("zonekeep: {}", outcome.stderr));
    }
    for note in &outcome.notes {
        tell!("zonekeep: {}", visible(note.strip_prefix("Note: ").unwrap_or(note)));
    }
    // The sandbox is gone with this process; nobody has to wait for the kernel
    // to take it apart.
    std::process::exit(i32::from(status(outcome)))
}

/// Returns the exit status that a shell would give.
fn status(outcome: &Outcome) -> u8 {
    match (outcome.exit_code, outcome.signal) {
        _ if outcome.timed_out => TIMED_OUT,
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
