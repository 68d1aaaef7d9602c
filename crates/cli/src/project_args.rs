//! The flags that choose and change a project.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use zonekeep::approve::{
    AllNo, AllYes, Answer, Approver, Nobody, Notifier, Notifying, Opening, Program, Request,
    Socket, Terminal, Unfit, visible,
};
use zonekeep::command::{Confine, Weaker};
use zonekeep::policy::config::{Addition, AgentProfile, DirFlag, Overrides, Severity, ZoneFlag};
use zonekeep::policy::limit::Limits;
use zonekeep::policy::policy::Consent;
use zonekeep::policy::worker_file::{self, WorkerFile};
use zonekeep::policy::{At, Grant, Mode, Ruled};
use zonekeep::{Project, ProjectError, Sandbox, Session, StateDir, Stop, project};

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE};

/// The flags that choose and change a project. Flags win over the file, the
/// file over the defaults.
#[derive(Args, Debug, Clone)]
pub(crate) struct ProjectArgs {
    /// Use the project in this directory instead of searching upward
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Add a zone, or replace one: NAME=PATH, NAME=PATH:ro or NAME=PATH:rw (ro if left out)
    #[arg(long = "zone", value_name = "NAME=PATH[:ro|rw]")]
    pub(crate) zones: Vec<String>,
    /// Set a value of the project file, such as approval.mode=strict
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The directories of [`DirArgs`], where a command has these flags
    #[arg(skip)]
    pub(crate) dirs: DirArgs,
    /// What other flags add to the file.
    #[arg(skip)]
    pub(crate) add: Vec<Addition>,
    /// The agent that runs inside as a whole.
    #[arg(skip)]
    pub(crate) profile: Option<AgentProfile>,
}

/// The flags that name directories which agents see at their own paths.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct DirArgs {
    /// Let the agent read and write this directory, at its own path
    #[arg(long, value_name = "DIR")]
    rw: Vec<PathBuf>,
    /// Let the agent read this directory, at its own path
    #[arg(long, value_name = "DIR")]
    ro: Vec<PathBuf>,
}

impl DirArgs {
    /// Adds the directories. Relative paths start in the current directory where that is in
    /// one of them, else in the first one.
    fn add_to(&self, overrides: &mut Overrides) -> Result<(), Failure> {
        let rw = self.rw.iter().map(|dir| (dir, Mode::Rw));
        for (dir, mode) in rw.chain(self.ro.iter().map(|dir| (dir, Mode::Ro))) {
            let path = dir.canonicalize().map_err(|error| {
                Failure::message(USAGE, format!("--{mode} {}: {error}", dir.display()))
                    .hint("name a directory that exists")
            })?;
            overrides.dirs.push(DirFlag { path, mode });
        }
        let here = here()?.canonicalize().ok();
        let here = here.filter(|here| overrides.dirs.iter().any(|dir| here.starts_with(&dir.path)));
        overrides.working_dir = here.or_else(|| Some(overrides.dirs.first()?.path.clone()));
        Ok(())
    }
}

impl ProjectArgs {
    pub(crate) fn overrides(&self) -> Result<Overrides, Failure> {
        let (add, profile) = (self.add.clone(), self.profile.clone());
        let mut overrides = Overrides { add, profile, ..Overrides::default() };
        self.dirs.add_to(&mut overrides)?;
        for flag in &self.zones {
            let usage = || {
                Failure::message(
                    USAGE,
                    format!("--zone {flag}: write NAME=PATH, NAME=PATH:ro or NAME=PATH:rw"),
                )
            };
            let (name, path) = flag.split_once('=').ok_or_else(usage)?;
            let (path, mode) = match path.rsplit_once(':') {
                Some((path, "ro")) => (path, Some(Mode::Ro)),
                Some((path, "rw")) => (path, Some(Mode::Rw)),
                _ => (path, None),
            };
            let is_odd_mode = |(path, mode): (&str, &str)| {
                !path.is_empty() && mode.len() <= 3 && mode.bytes().all(|b| b.is_ascii_lowercase())
            };
            let looks_like_mode = mode.is_none() && path.rsplit_once(':').is_some_and(is_odd_mode);
            if name.is_empty() || path.is_empty() || looks_like_mode && !Path::new(path).exists() {
                return Err(usage());
            }
            let path = std::path::absolute(path)?;
            overrides.zones.push(ZoneFlag { name: name.to_owned(), path, mode });
        }
        for flag in &self.set {
            let (key, value) = flag
                .split_once('=')
                .ok_or_else(|| Failure::message(USAGE, format!("--set {flag}: write KEY=VALUE")))?;
            overrides.set.push((key.to_owned(), value.to_owned()));
        }
        Ok(overrides)
    }

    /// Finds the project's directory, whether or not its file can be used.
    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        project_dir(self.project.as_deref())
    }

    /// Finds and reads the project.
    pub(crate) fn load(&self) -> Result<Project, Failure> {
        let overrides = self.overrides()?;
        Ok(match &self.project {
            Some(dir) => Project::at(dir, &overrides)?,
            None => Project::find(&here()?, &overrides)?,
        })
    }
}

/// Returns the working directory.
pub(crate) fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::message(UNSAFE, format!("the working directory cannot be used: {error}"))
            .hint("it may be gone; change to one that exists")
    })
}

/// Finds the directory of a project, whether or not its file can be used: the one
/// that was named, or the nearest above that has a project file.
pub(crate) fn project_dir(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let start = match named {
        Some(dir) => return Ok(dir.canonicalize()?),
        None => here()?.canonicalize()?,
    };
    let has_file = |dir: &&Path| {
        project::FILE_NAMES.iter().any(|name| dir.join(name).symlink_metadata().is_ok())
    };
    Ok(start.ancestors().find(has_file).unwrap_or(&start).to_owned())
}

/// Who answers questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Approve {
    /// The person at the terminal; without one the answer is no.
    Terminal,
    /// Nobody: every question is answered yes.
    All,
    /// Nobody: every question is answered no.
    None,
    /// Whoever attaches with `zonekeep approve`; questions wait until then.
    Socket,
    /// A program.
    Program(PathBuf),
}

impl FromStr for Approve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "terminal" => Approve::Terminal,
            "all" => Approve::All,
            "none" => Approve::None,
            "socket" => Approve::Socket,
            path if path.contains('/') => Approve::Program(path.into()),
            _ => return Err("write terminal, all, none, socket, or a program's path".to_owned()),
        })
    }
}

/// The flags that say who answers questions.
#[derive(Args, Debug, Clone)]
pub(crate) struct ApproveArgs {
    /// Who answers questions: terminal (the default; without one the answer is no), all
    /// (every answer is yes), none (every answer is no), socket (whoever attaches with
    /// `zonekeep approve`), or a program's path. Overrides `approval.mode: auto` of the file
    #[arg(long, value_name = "WHO")]
    approve: Option<Approve>,
    /// Let this program answer questions: it reads JSON and prints JSON
    #[arg(long, value_name = "PROGRAM", conflicts_with = "approve")]
    approver: Option<PathBuf>,
    /// How long a program or a socket may take to answer, such as 30s (5m if left out)
    #[arg(long, value_name = "TIME")]
    answer_within: Option<String>,
    #[command(flatten)]
    notify: NotifyArgs,
}

/// The flag that announces questions on the desktop.
#[derive(Args, Debug, Clone)]
pub(crate) struct NotifyArgs {
    /// Show a desktop notification while a question waits, with notify-send or another
    /// program, which gets a title and a text
    #[arg(
        long,
        value_name = "PROGRAM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "notify-send"
    )]
    notify: Option<PathBuf>,
}

impl NotifyArgs {
    /// Returns the program that shows notifications, where the flag is given.
    pub(crate) fn open(&self) -> Result<Option<Arc<Notifier>>, Failure> {
        let notifier = self.notify.as_ref().map(Notifier::new).transpose();
        Ok(notifier.map_err(unfit)?.map(Arc::new))
    }
}

/// Has the questions of an approver announced.
pub(crate) fn announced(
    approver: Box<dyn Approver>,
    notifier: Option<&Arc<Notifier>>,
) -> Box<dyn Approver> {
    match notifier {
        Some(notifier) => Box::new(Notifying::new(approver, Arc::clone(notifier))),
        None => approver,
    }
}

/// The environment variable by which a user accepts weaker enforcement everywhere.
const ACCEPT_WEAKER: &str = "ZONEKEEP_ACCEPT_WEAKER";

/// The flag by which a user accepts weaker enforcement.
#[derive(Args, Debug, Clone)]
pub(crate) struct WeakerArgs {
    /// Run commands even where the kernel does not fully enforce files outside, the network
    /// and signals (ZONEKEEP_ACCEPT_WEAKER=1 does the same)
    #[arg(long)]
    accept_weaker: bool,
}

impl WeakerArgs {
    /// Returns what the user accepts, by the flag or in the environment.
    pub(crate) fn weaker(&self) -> Result<Weaker, Failure> {
        let set = std::env::var_os(ACCEPT_WEAKER).unwrap_or_default();
        let accepted = match set.to_str() {
            Some("1") => true,
            Some("" | "0") => false,
            _ => {
                let text = format!("{ACCEPT_WEAKER} cannot be '{}'", set.display());
                return Err(Failure::message(USAGE, text)
                    .hint("set it to 1 to accept weaker enforcement, or to 0"));
            }
        };
        Ok(if accepted || self.accept_weaker { Weaker::Accepted } else { Weaker::Refused })
    }
}

/// Who answers questions, and the socket where they wait on one.
type Chosen = (Box<dyn Approver>, Option<Arc<Socket>>);

/// The flags that open a sandbox.
#[derive(Args, Debug, Clone)]
pub(crate) struct SandboxArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Use what this worker file needs instead of the whole project
    #[arg(long, value_name = "FILE")]
    worker: Option<PathBuf>,
    #[command(flatten)]
    approve: ApproveArgs,
    #[command(flatten)]
    weaker: WeakerArgs,
}

impl SandboxArgs {
    pub(crate) fn open(&self) -> Result<Sandbox, Failure> {
        self.open_with(Confine::default())
    }

    /// Opens a sandbox for one call, after which the session ends, and says how its
    /// commands are confined. Where commands get directories of their own and no file
    /// names zones, there are none.
    pub(crate) fn open_with(&self, confine: Confine) -> Result<Sandbox, Failure> {
        self.open_asking(confine, || {
            let (approver, socket) = self.approve.open(&Stop::new())?;
            Ok((Box::new(ForOneCall(approver)), socket))
        })
    }

    /// Opens a sandbox for a command that has the terminal. It could draw a question
    /// of its own there, or take the answer to one of ours: nobody is asked there.
    pub(crate) fn open_beside_command(&self, confine: Confine) -> Result<Sandbox, Failure> {
        self.open_asking(confine, || match self.approve.who() {
            Approve::Terminal => Ok((Box::new(BesideCommand), None)),
            _ => self.approve.open(&Stop::new()),
        })
    }

    fn open_asking(
        &self,
        confine: Confine,
        whom: impl FnOnce() -> Result<Chosen, Failure>,
    ) -> Result<Sandbox, Failure> {
        self.approve.answer_within()?;
        let confine = Confine { weaker: self.weaker.weaker()?, ..confine };
        let (mut project, worker) = read_project(&self.project, self.worker.as_deref())?;
        self.approve.override_auto(&mut project);
        if !confine.places.is_empty() {
            project.policy.zones.retain(|zone| !matches!(zone.path.at, At::Default));
        }
        let (approver, socket) = whom()?;
        let sandbox = open_sandbox(&project, worker.as_ref(), approver, confine)?;
        ApproveArgs::announce(socket.as_deref());
        Ok(sandbox)
    }
}

/// Says with every question that the session ends with the call.
struct ForOneCall(Box<dyn Approver>);

impl Approver for ForOneCall {
    fn ask(&self, request: &Request) -> Answer {
        self.0.ask(&Request { last_call: true, ..request.clone() })
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn considers(&self) -> bool {
        self.0.considers()
    }

    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        self.0.begin(opening)
    }
}

/// Stands where somebody at the terminal would be asked, if a command did not have it.
struct BesideCommand;

impl Approver for BesideCommand {
    fn ask(&self, _: &Request) -> Answer {
        Answer::unasked(
            "`zonekeep run` does not ask on the terminal (--approve socket or --approver PROGRAM \
             lets somebody answer)",
        )
    }

    fn name(&self) -> &str {
        "nobody"
    }
}

/// Reads a project, and the worker file whose needs are to be met.
pub(crate) fn read_project(
    args: &ProjectArgs,
    worker: Option<&Path>,
) -> Result<(Project, Option<WorkerFile>), Failure> {
    with_worker(args.load()?, worker)
}

/// Reads the worker file whose needs are to be met in a project.
pub(crate) fn with_worker(
    mut project: Project,
    worker: Option<&Path>,
) -> Result<(Project, Option<WorkerFile>), Failure> {
    let worker = worker.map(|path| read_worker(path, &mut project)).transpose()?;
    Ok((project, worker))
}

/// Opens a sandbox with what a worker needs, or with all that the project has.
pub(crate) fn open_sandbox(
    project: &Project,
    worker: Option<&WorkerFile>,
    approver: Box<dyn Approver>,
    confine: Confine,
) -> Result<Sandbox, Failure> {
    let session = Session::open_with(project, &state()?, approver, confine)?;
    match worker {
        None => Ok(session.sandbox()),
        Some(worker) => {
            session.sandbox_for(&worker.needs).map_err(|error| Failure::new(NEGATIVE, error))
        }
    }
}

impl ApproveArgs {
    /// Returns who answers questions, and the socket where they wait on one. The
    /// person at the terminal need not answer any more once `stop` is said.
    pub(crate) fn open(&self, stop: &Stop) -> Result<Chosen, Failure> {
        let within = self.answer_within()?;
        let notifier = self.notify.open()?;
        let approver: Box<dyn Approver> = match self.who() {
            Approve::All => Box::new(AllYes),
            Approve::None => Box::new(AllNo),
            Approve::Terminal => match Terminal::open() {
                Ok(terminal) => announced(Box::new(terminal.stopped_by(stop)), notifier.as_ref()),
                Err(_) => Box::new(Nobody),
            },
            Approve::Program(path) => {
                let program = Program::new(&path).map_err(unfit)?;
                match within {
                    Some(limit) => Box::new(program.within(limit)),
                    None => Box::new(program),
                }
            }
            Approve::Socket => {
                let socket = Socket::of_user(&state()?);
                let socket = Arc::new(match within {
                    Some(limit) => socket.within(limit),
                    None => socket,
                });
                let approver = announced(Box::new(Arc::clone(&socket)), notifier.as_ref());
                return Ok((approver, Some(socket)));
            }
        };
        Ok((approver, None))
    }

    /// Returns who answers.
    fn who(&self) -> Approve {
        match &self.approver {
            Some(path) => Approve::Program(path.clone()),
            None => self.approve.clone().unwrap_or(Approve::Terminal),
        }
    }

    /// Has questions asked in a project whose file answers them with yes, where a flag
    /// names somebody to ask.
    pub(crate) fn override_auto(&self, project: &mut Project) {
        match (&self.approver, &self.approve) {
            (Some(_), _) => override_auto(project, "--approver"),
            (None, None | Some(Approve::All)) => {}
            (None, Some(_)) => override_auto(project, "--approve"),
        }
    }

    /// Says where questions wait, once they do.
    pub(crate) fn announce(socket: Option<&Socket>) {
        if let Some(path) = socket.and_then(Socket::path) {
            let path = visible(&path.display().to_string());
            tell!("zonekeep: questions wait at {path}; `zonekeep approve` answers them");
        }
    }

    fn answer_within(&self) -> Result<Option<Duration>, Failure> {
        self.answer_within.as_ref().map(|text| time("--answer-within", text)).transpose()
    }
}

/// Has questions asked in a project whose file answers them with yes (`approval.mode:
/// auto`), because `flag` names somebody to ask. Flags win over the file.
pub(crate) fn override_auto(project: &mut Project, flag: &str) {
    let consent = &mut project.policy.consent;
    if consent.value == Consent::Auto && matches!(consent.at, At::File { .. }) {
        let at = visible(&consent.at.to_string());
        tell!("zonekeep: approval.mode: auto ({at}) is overridden by {flag}");
        *consent = Ruled::new(Consent::Tool, At::flag(flag));
    }
}

/// Reads the time that a flag gives.
pub(crate) fn time(flag: &str, text: &str) -> Result<Duration, Failure> {
    let mut limits = Limits::none();
    match limits.set("time", text).map(|()| limits.wall_ms) {
        Ok(Some(millis)) => Ok(Duration::from_millis(millis)),
        _ => Err(Failure::message(USAGE, format!("{flag} cannot be '{text}'"))
            .hint("write a time such as 30s or 5m")),
    }
}

/// Says why an approver cannot be used.
pub(crate) fn unfit(error: Unfit) -> Failure {
    let hint = error.hint();
    Failure::new(UNSAFE, error).hint(hint)
}

/// Reads a worker file and holds it against the project, which gets the zones
/// that the file defines for itself where the project defines none.
fn read_worker(path: &Path, project: &mut Project) -> Result<WorkerFile, Failure> {
    let text = project::read_text(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parsed = worker_file::parse(&text, &name);
    let mut problems = parsed.problems;
    if let Some(worker) = parsed.worker {
        // What a worker asks for beyond the project is said by narrowing.
        let found = worker_file::check(&worker, &project.policy);
        if Grant::of(&project.policy).narrow(&worker.needs).is_ok() {
            problems.extend(found);
        }
        if problems.iter().all(|problem| problem.severity != Severity::Error) {
            let zones = worker_file::inline_zones(&worker, &project.policy);
            project.policy.zones.extend(zones);
            return Ok(worker);
        }
    }
    problems.retain(|problem| problem.severity == Severity::Error);
    Err(ProjectError::Invalid { file: name, problems, text }.into())
}

/// Returns the user's state directory.
pub(crate) fn state() -> Result<StateDir, Failure> {
    Ok(StateDir::of_user()?)
}
