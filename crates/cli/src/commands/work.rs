//! `zonekeep work`: runs a worker against a model.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use zonekeep::approve::visible;
use zonekeep::command::Confine;
use zonekeep::confine::signals::Signals;
use zonekeep::policy::limit::Limits;
use zonekeep::policy::worker_file::inline_zones;
use zonekeep::policy::{Grant, Verb, taint};
use zonekeep::{Project, Session, Stop};
use zonekeep_worker::model::{self, ModelError};
use zonekeep_worker::{
    Conversation, Ended, Holds, Outcome, Registry, RegistryError, Runner, Settings, WorkError,
};

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, answer_in_json};
use crate::project_args::{ApproveArgs, DirArgs, ProjectArgs, WeakerArgs, state};
use crate::view::View;
use crate::{output, report};

/// Exit status: stopped by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// The largest input that is read.
const MAX_INPUT: u64 = 16 << 20;
/// The variable that names the model when nothing else does.
const MODEL_VARIABLE: &str = "ZONEKEEP_MODEL";

/// Run a worker against a model
///
/// The worker gets what its file asks for, and never more than the project has;
/// so do the workers that it calls. What it does is shown as it happens, and its
/// answer is printed. Exit status: 0 answered, 1 no answer, 2 wrong usage, 125
/// when zonekeep could not act safely, 130 stopped by Ctrl-C.
///
/// Examples:
///   zonekeep work main "Summarise what came in"
///   zonekeep work analyst --attach /inbox/offer.md --model anthropic:NAME
///   zonekeep work --list
///   zonekeep work --resume SESSION ["and what about …"]
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The worker, by name or by its file's path in the project; behind --resume what it
    /// is told next
    worker: Option<String>,
    /// What it is to work on
    #[arg(conflicts_with_all = ["input_file", "resume"])]
    input: Option<String>,
    /// Read the input from this file, or from standard input with -
    #[arg(long = "input", value_name = "FILE")]
    input_file: Option<PathBuf>,
    /// Give it this file: a path as agents see it, or a host path in a zone
    #[arg(long, value_name = "PATH")]
    attach: Vec<String>,
    /// Show the workers, what each needs and what it would get
    #[arg(long, conflicts_with_all = ["worker", "resume"])]
    list: bool,
    /// Go on with the run of this session, from the last turn that was completed
    #[arg(long, value_name = "SESSION", conflicts_with = "attach")]
    resume: Option<String>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// The flags that a run and a conversation have in common.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Use this model for all workers: anthropic:NAME, openai:NAME, gemini:NAME,
    /// ollama:NAME or scripted:FILE
    #[arg(long, value_name = "PROVIDER:NAME")]
    model: Option<String>,
    /// Ask the model this often at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// Use this many tokens at most, with all workers that are called
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// Take this long at most, such as 30s or 10m
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Run commands only where the kernel enforces every rule fully
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    weaker: WeakerArgs,
    #[command(flatten)]
    dirs: DirArgs,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    approve: ApproveArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    if args.list {
        return list(&args.run.project(), args.json);
    }
    let resume = args.resume.as_deref();
    let worker = args.worker.as_deref().filter(|_| resume.is_none());
    if worker.is_none() && resume.is_none() {
        return Err(Failure::message(USAGE, "no worker is named")
            .hint("`zonekeep work --list` shows the workers of this project"));
    }
    let said = if resume.is_some() { &args.worker } else { &args.input };
    let input = match (said, &args.input_file) {
        (Some(input), _) => input.clone(),
        (None, Some(path)) => read_input(path)?,
        (None, None) => String::new(),
    };
    let stop = Stop::new();
    // First: a thread that is started before the signals are held would die of them.
    stop_on_signals(&stop)?;
    let view = View::new(args.json, &stop);
    let runner = args.run.open(worker, &stop, &view)?;
    let done = match (worker, resume) {
        (Some(worker), _) => runner.begin(worker).and_then(|mut conversation| {
            if let Some(path) = &args.input_file {
                taint_by_input(&conversation, path);
            }
            let attached = paths(&conversation, &args.attach);
            let files = conversation.read(&attached)?;
            conversation.say(&input, files)
        }),
        (None, Some(session)) => runner.resume(session).and_then(|mut conversation| {
            if let Some(path) = &args.input_file {
                taint_by_input(&conversation, path);
            }
            match conversation.is_open() && input.is_empty() {
                true => conversation.go_on(),
                false if input.is_empty() => Err(WorkError::Over { session: session.to_owned() }),
                false => conversation.say(&input, Vec::new()),
            }
        }),
        (None, None) => unreachable!("checked above"),
    };
    view.end();
    let outcome = done.map_err(failure)?;
    if !args.json {
        answer(&outcome)?;
    }
    view.report(runner.session().id(), &runner.report());
    Ok(ExitCode::from(status(&outcome)))
}

/// Prints the answer, or says that there is none.
pub(crate) fn answer(outcome: &Outcome) -> Result<(), Failure> {
    match (outcome.ended, &outcome.value) {
        (Ended::Answer, Some(value)) => output::json(value),
        (Ended::Answer, None) => output::text(&visible(&outcome.output)),
        _ => {
            let _ = writeln!(std::io::stderr(), "error: {}", visible(&outcome.output));
            Ok(())
        }
    }
}

pub(crate) fn status(outcome: &Outcome) -> u8 {
    match outcome.ended {
        Ended::Answer => 0,
        Ended::Stopped => INTERRUPTED,
        _ => NEGATIVE,
    }
}

fn read_input(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    match path.as_os_str() == "-" {
        true => std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes)?,
        false => std::fs::File::open(path)
            .and_then(|file| file.take(MAX_INPUT + 1).read_to_end(&mut bytes))
            .map_err(|error| Failure::message(USAGE, format!("{}: {error}", path.display())))?,
    };
    if bytes.len() as u64 > MAX_INPUT {
        return Err(Failure::message(USAGE, format!("the input is larger than {MAX_INPUT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::message(USAGE, "the input is not UTF-8 text"))
}

/// Has Ctrl-C, and being asked to end, stop the run. A second one ends the
/// program at once.
pub(crate) fn stop_on_signals(stop: &Stop) -> Result<(), Failure> {
    use rustix::process::Signal;
    let numbers = [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw);
    let signals = Signals::hold(&numbers)?;
    let stop = stop.clone();
    std::thread::spawn(move || {
        loop {
            let mut polled = [rustix::event::PollFd::new(&signals, rustix::event::PollFlags::IN)];
            let _ = rustix::event::poll(&mut polled, None);
            while signals.next().is_some() {
                match stop.is_said() {
                    true => std::process::exit(i32::from(INTERRUPTED)),
                    false => stop.say(),
                }
            }
        }
    });
    Ok(())
}

impl RunArgs {
    /// Returns the flags that choose the project and its directories.
    fn project(&self) -> ProjectArgs {
        ProjectArgs { dirs: self.dirs.clone(), ..self.project.clone() }
    }

    /// Opens the project, and somebody who runs its workers. Where the first
    /// worker defines zones itself, the project gets them.
    pub(crate) fn open(
        &self,
        worker: Option<&str>,
        stop: &Stop,
        view: &View,
    ) -> Result<Runner, Failure> {
        let mut project = self.project().load()?;
        self.approve.override_auto(&mut project);
        let mut registry = Registry::find(&project).map_err(registry_failure)?;
        if let Some(worker) = worker {
            let name = registry.name_of(worker).map_err(registry_failure)?;
            let defined = registry.file(&name).map(|file| inline_zones(file, &project.policy));
            if let Some(zones) = defined.filter(|zones| !zones.is_empty()) {
                project.policy.zones.extend(zones);
                registry = Registry::find(&project).map_err(registry_failure)?;
            }
        }
        let confine = Confine {
            strict: self.strict,
            weaker: self.weaker.weaker()?,
            withheld: model::key_variables().iter().map(|name| (*name).to_owned()).collect(),
            ..Confine::default()
        };
        let (approver, socket) = self.approve.open(stop)?;
        let session = Session::open_with(&project, &state()?, view.asking(approver), confine)?;
        ApproveArgs::announce(socket.as_deref());
        Ok(self.runner(&project, session, registry)?.watched_by(view.clone()).stopped_by(stop))
    }

    fn runner(
        &self,
        project: &Project,
        session: Session,
        registry: Registry,
    ) -> Result<Runner, Failure> {
        let settings = Settings {
            model: self.model.clone(),
            usual_model: std::env::var(MODEL_VARIABLE).ok().filter(|name| !name.is_empty()),
            max_turns: self.max_turns,
            budget: self.budget,
            time: self.time.as_deref().map(duration).transpose()?,
        };
        let models = model::Settings::new(&project.dir);
        let open = move |name: &str| model::open(name, &models);
        Ok(Runner::new(session, registry, &state()?, open, settings))
    }
}

fn duration(text: &str) -> Result<std::time::Duration, Failure> {
    let mut limits = Limits::none();
    match limits.set("time", text).map(|()| limits.wall_ms) {
        Ok(Some(millis)) => Ok(std::time::Duration::from_millis(millis)),
        _ => Err(Failure::message(USAGE, format!("--time cannot be '{text}'"))
            .hint("write a time such as 30s or 10m")),
    }
}

/// Taints a worker whose input lies in an untrusted zone.
fn taint_by_input(conversation: &Conversation<'_>, path: &Path) {
    let project = conversation.project();
    let agent = path.canonicalize().ok().and_then(|host| project.agent_path(&host));
    let view = project.grant().view();
    if let Some(agent) = agent
        && taint::by(view, Verb::Read, &agent).is_some()
    {
        conversation.sandbox().taint(&format!("input {agent}"));
    }
}

/// Returns paths as agents see them, for those that are host paths in a zone.
fn paths(conversation: &Conversation<'_>, given: &[String]) -> Vec<String> {
    let sandbox = conversation.project();
    let agent_path = |path: &String| {
        let host = Path::new(path).canonicalize().ok()?;
        sandbox.agent_path(&host).map(|path| path.to_string())
    };
    given.iter().map(|path| agent_path(path).unwrap_or_else(|| path.clone())).collect()
}

/// Says why a run does not begin.
pub(crate) fn failure(error: WorkError) -> Failure {
    match error {
        WorkError::Registry(error) => registry_failure(error),
        WorkError::NoModel { .. } => Failure::new(USAGE, error).hint(format!(
            "name one with --model PROVIDER:NAME, in the worker or project file, or in \
             {MODEL_VARIABLE}"
        )),
        WorkError::NoInput { .. } => Failure::new(USAGE, error)
            .hint("write it behind the worker's name, or give --input FILE"),
        WorkError::Model(ModelError::Unknown { .. }) => Failure::new(USAGE, error).hint(
            "models are anthropic:NAME, openai:NAME, gemini:NAME, ollama:NAME and scripted:FILE",
        ),
        WorkError::Model(_) | WorkError::Attach(_) | WorkError::Exceeds(_) => {
            Failure::new(NEGATIVE, error)
        }
        WorkError::Incompatible { .. } | WorkError::Resume(_) | WorkError::Over { .. } => {
            Failure::new(USAGE, error)
        }
        error => Failure::new(UNSAFE, error),
    }
}

pub(crate) fn registry_failure(error: RegistryError) -> Failure {
    if let RegistryError::Invalid { problems, text, .. } = &error {
        report::problems(problems, &|_| Some(text.clone()));
    }
    let status = match &error {
        RegistryError::Unknown { .. } | RegistryError::Outside { .. } => USAGE,
        _ => UNSAFE,
    };
    let hint = match &error {
        RegistryError::Unknown { .. } => Some("`zonekeep work --list` shows the workers"),
        RegistryError::Writable { .. } => {
            Some("move it to a directory that no zone can write, or guard its name")
        }
        _ => None,
    };
    let failure = Failure::new(status, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Shows the workers, what each needs and what it would get.
fn list(project: &ProjectArgs, as_json: bool) -> Result<ExitCode, Failure> {
    let project = project.load()?;
    let registry = Registry::find(&project).map_err(registry_failure)?;
    let project_grant = Grant::of(&project.policy);
    let mut entries = Vec::new();
    let mut text = String::new();
    for found in registry.found() {
        let path = found.path.display().to_string();
        let worker = match &found.worker {
            Ok(worker) => worker,
            Err(error) => {
                entries.push(json!({ "file": path, "error": error.to_string() }));
                text.push_str(&format!("{path}\n  cannot be used: {error}\n"));
                continue;
            }
        };
        let holds = project_grant.narrow(&worker.needs);
        let holds = holds.map(|grant| Holds::of(&grant, worker, &registry));
        text.push_str(&format!("{} ({path})\n", worker.name));
        if let Some(description) = &worker.description {
            text.push_str(&format!("  {}\n", description.lines().next().unwrap_or_default()));
        }
        match &holds {
            Ok(holds) => text.push_str(&described(holds)),
            Err(error) => text.push_str(&format!("  cannot run: {error}\n")),
        }
        entries.push(json!({
            "name": worker.name,
            "file": path,
            "description": worker.description,
            "model": worker.model,
            "grant": holds.as_ref().ok(),
            "error": holds.as_ref().err().map(ToString::to_string),
        }));
    }
    match as_json {
        true => output::json(&entries)?,
        false if text.is_empty() => output::text("This project has no workers.")?,
        false => output::text(&visible(text.trim_end()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn described(holds: &Holds) -> String {
    let zones: Vec<String> =
        holds.zones.iter().map(|zone| format!("{} ({})", zone.path, zone.mode)).collect();
    let list = |items: &[String], none: &str| match items {
        [] => none.to_owned(),
        items => items.join(", "),
    };
    format!(
        "  directories: {}\n  tools: {}\n  calls: {}\n",
        list(&zones, "none: a pure function"),
        list(&holds.tools, "none"),
        list(&holds.workers, "no worker"),
    )
}
