//! The rules in force: read when the server starts, and again when their files
//! change. What cannot be used changes nothing, and what may be looser waits until the
//! user has trusted the file: a checkout changes it, too, and an agent may have committed
//! what is checked out.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use zonekeep::approve::{Approver, Socket};
use zonekeep::command::{Confine, JobState, Weaker};
use zonekeep::confine::plan::Access;
use zonekeep::policy::config::Overrides;
use zonekeep::policy::guard::{Guard, Reach};
use zonekeep::policy::tighten::Withheld;
use zonekeep::policy::{Grant, Needs, RelPath};
use zonekeep::trust::TrustStore;
use zonekeep::{Project, Sandbox, Session, audit, tools};

use super::say::say;
use crate::failure::{Failure, NEGATIVE, UNSAFE};
use crate::project_args::{ProjectArgs, override_auto, state, with_worker};

/// How often rules that cannot be used are tried again: the user may trust them
/// meanwhile, which changes no file of the project's.
const AGAIN: Duration = Duration::from_secs(2);

/// How long a file has to stay as it is before it is read: it may be half written.
const SETTLED: Duration = Duration::from_millis(200);

/// How long there must have been no command that could write the files.
const QUIET: Duration = Duration::from_secs(1);

const CHANGED: &str = "Note: The user has changed the settings of this sandbox. They hold from \
                       now on, and commands that were running have been ended.";
const PARTLY: &str = "Note: The settings of this sandbox have changed. What is stricter holds \
                      from now on, and commands that were running have been ended. What is \
                      looser waits for the user: tell them to run `zonekeep trust`, or to start \
                      the server again, if they want it.";
const BROKEN: &str = "Note: The user has changed the settings of this sandbox, and they cannot be \
                      used. The settings from before still hold. Tell the user to run `zonekeep \
                      check`.";

/// The most versions of a worker file whose needs hold at the same time.
const MAX_NEEDS: usize = 4;

/// Who answers questions.
pub(super) type Answering =
    Box<dyn Fn() -> Result<(Box<dyn Approver>, Option<Arc<Socket>>), Failure> + Send + Sync>;

/// The rules, and what is done under them.
pub(super) struct Rules {
    origin: Origin,
    answering: Answering,
    in_force: Mutex<InForce>,
    commands: Mutex<Commands>,
    /// How long the log was before this server wrote to it.
    log_before: u64,
}

/// Where the rules come from.
struct Origin {
    overrides: Overrides,
    dir: PathBuf,
    file: Option<PathBuf>,
    worker: Option<PathBuf>,
    /// Whether a flag names somebody to ask, whatever the file says.
    overrides_auto: bool,
    /// Whether the user who started the server accepts weaker enforcement.
    weaker: Weaker,
}

impl Origin {
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.file.as_deref().into_iter().chain(self.worker.as_deref())
    }

    /// Returns a project that was read as it would be opened, and what the worker needs.
    fn prepare(&self, project: Project) -> Result<(Project, Option<Needs>), Failure> {
        let (mut project, worker) = with_worker(project, self.worker.as_deref())?;
        if self.overrides_auto {
            override_auto(&mut project, "--approve");
        }
        Ok((project, worker.map(|worker| worker.needs)))
    }

    /// Returns how commands are confined.
    fn confine(&self) -> Confine {
        Confine { weaker: self.weaker, ..Confine::default() }
    }

    /// Returns the files as they are now.
    fn stamps(&self) -> Vec<Stamp> {
        self.files().map(stamp).collect()
    }
}

/// The commands under way that could write where the rules come from.
#[derive(Default)]
struct Commands {
    running: usize,
    ended: Option<Instant>,
}

/// A command under way.
pub(super) struct Running(Arc<Rules>);

/// How far an agent can get at a file that rules come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Exposed {
    /// Not at all.
    No,
    /// It lies at the top of a zone that can be written. The file itself is guarded,
    /// for commands by a mount or by being put back.
    Near,
    /// It can be written, or lies in a directory that commands can move, or a link
    /// that they can change leads to it.
    Deep,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut commands = self.0.commands();
        commands.running -= 1;
        commands.ended = Some(Instant::now());
    }
}

struct InForce {
    sandbox: Sandbox,
    /// What the worker file needs, and what it needed before: none may be more than the
    /// one before it.
    needs: Vec<Needs>,
    /// Said when other rules are in force.
    outdated: CancellationToken,
    socket: Option<Arc<Socket>>,
    sessions: Vec<String>,
    files: Vec<Stamp>,
    /// Other files, and since when they are as they are.
    settling: Option<(Vec<Stamp>, Instant)>,
    /// Since when there are rules on disk that cannot be used.
    broken: Option<Instant>,
    /// Whether commands are being ended, and none may begin.
    ending: bool,
    /// What the agent is still to be told.
    untold: Option<&'static str>,
    /// How often the rules have changed.
    version: u64,
}

/// What holds for one call.
pub(super) struct InUse {
    pub(super) sandbox: Sandbox,
    /// Said when other rules are in force.
    pub(super) outdated: CancellationToken,
}

/// What tells one state of a file from another.
type Stamp = Option<(u64, u64, i64, i64, i64, u64)>;

/// Returns where a file really lies.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn stamp(path: &Path) -> Stamp {
    let meta = path.metadata().ok()?;
    Some((meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec(), meta.size()))
}

impl Rules {
    pub(super) fn open(
        args: ProjectArgs,
        worker: Option<PathBuf>,
        weaker: Weaker,
        overrides_auto: bool,
        answering: Answering,
    ) -> Result<Self, Failure> {
        // Where the rules come from is found out once. A file that appears later was
        // perhaps not written by the user.
        let found = args.load()?;
        let origin = Origin {
            overrides: args.overrides()?,
            dir: found.dir,
            file: found.file,
            worker: worker.map(std::path::absolute).transpose()?,
            overrides_auto,
            weaker,
        };
        // Looked at before it is read: what changes in between is a change.
        let files = origin.stamps();
        let project = args.load()?;
        let log = audit::log_path(&state()?, &project.dir);
        let log_before = log.metadata().map_or(0, |log| log.len());
        let (project, needs) = origin.prepare(project)?;
        let (approver, socket) = answering()?;
        let session = Session::open_with(&project, &state()?, approver, origin.confine())?;
        let needs = Vec::from_iter(needs);
        let sandbox = narrowed(&session, &needs)?;
        let in_force = InForce {
            sessions: vec![sandbox.session_id().to_owned()],
            sandbox,
            needs,
            outdated: CancellationToken::new(),
            socket,
            files,
            settling: None,
            broken: None,
            ending: false,
            untold: None,
            version: 0,
        };
        let in_force = Mutex::new(in_force);
        Ok(Rules { origin, answering, in_force, commands: Mutex::default(), log_before })
    }

    fn in_force(&self) -> MutexGuard<'_, InForce> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the files have changed, and returns what holds for a call.
    pub(super) fn use_now(&self) -> InUse {
        self.look();
        let in_force = self.in_force();
        InUse { sandbox: in_force.sandbox.clone(), outdated: in_force.outdated.clone() }
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a command is under way, until what is returned is dropped. There is
    /// none while commands are being ended because the rules have changed.
    pub(super) fn begin_command(self: &Arc<Self>) -> Option<Running> {
        if self.in_force().ending {
            return None;
        }
        self.commands().running += 1;
        Some(Running(Arc::clone(self)))
    }

    /// Returns how far the agent can get at the files.
    fn exposed(&self, sandbox: &Sandbox) -> Exposed {
        let of = |file: &Path| {
            if sandbox.reachable(file) != Some(Access::Rw) {
                return Exposed::No;
            }
            // At the top of a zone, under a name that nobody may write, and no link.
            let path = sandbox.agent_path(file).map(|path| path.to_string());
            let below = path.as_deref().and_then(|path| path[1..].split_once('/'));
            let guards = sandbox.grant().guards();
            let is_guarded = |name: &str| {
                let path = RelPath::root().join(name.as_bytes());
                let entry = guards.find(&path, Reach::File);
                entry.is_some_and(|entry| entry.guard.value == Guard::Deny)
            };
            match below {
                Some((_, name))
                    if !name.contains('/') && is_guarded(name) && real(file) == file =>
                {
                    Exposed::Near
                }
                _ => Exposed::Deep,
            }
        };
        self.origin.files().map(of).max().unwrap_or(Exposed::No)
    }

    fn is_quiet(&self, sandbox: &Sandbox) -> bool {
        let commands = self.commands();
        let jobs = sandbox.background().list();
        commands.running == 0
            && commands.ended.is_none_or(|ended| ended.elapsed() >= QUIET)
            && jobs.iter().all(|job| job.state != JobState::Running)
    }

    /// Notes what an agent has read under rules that may not be in force any more.
    pub(super) fn taint_as(&self, sandbox: &Sandbox) {
        if let Some(by) = sandbox.tainted() {
            self.in_force().sandbox.taint(by);
        }
    }

    /// Returns the sandbox under the rules that were last looked at.
    pub(super) fn sandbox(&self) -> Sandbox {
        self.in_force().sandbox.clone()
    }

    /// Returns where questions wait that the client cannot be asked.
    pub(super) fn socket(&self) -> Option<Arc<Socket>> {
        self.in_force().socket.clone()
    }

    /// Returns how long the log was before this server wrote to it.
    pub(super) fn log_before(&self) -> u64 {
        self.log_before
    }

    /// Returns the names of the sessions of this server, the newest last.
    pub(super) fn sessions(&self) -> Vec<String> {
        self.in_force().sessions.clone()
    }

    /// Returns what the agent is to be told with the next result, once.
    pub(super) fn news(&self) -> Option<&'static str> {
        self.in_force().untold.take()
    }

    /// Looks whether the files have changed, and puts what they say in force. May
    /// take a while. Commands under the rules from before are ended.
    pub(super) fn look(&self) {
        let mut in_force = self.in_force();
        let files = self.origin.stamps();
        let retry = in_force.broken.is_some_and(|since| since.elapsed() >= AGAIN);
        let is_news = files != in_force.files;
        match &in_force.settling {
            _ if !is_news && !retry => {
                in_force.settling = None;
                in_force.ending = false;
                return;
            }
            _ if !is_news => {}
            Some((seen, since)) if *seen == files => {
                if since.elapsed() < SETTLED {
                    return;
                }
            }
            // Whoever writes it may not be done.
            _ => {
                in_force.settling = Some((files, Instant::now()));
                return;
            }
        }
        match self.exposed(&in_force.sandbox) {
            Exposed::No => {}
            Exposed::Near if self.is_quiet(&in_force.sandbox) => {}
            Exposed::Near => {
                // What commands wrote there is put back when they have ended. What is
                // still other than before then is the user's.
                if is_news {
                    in_force.ending = true;
                    std::mem::take(&mut in_force.outdated).cancel();
                    in_force.sandbox.background().stop_all();
                }
                return;
            }
            Exposed::Deep => {
                if is_news {
                    in_force.files = files;
                    in_force.settling = None;
                    in_force.untold = Some(BROKEN);
                    say("the project's files have changed, and lie where the agent can change or \
                         move them: look at them, and start the server again to use them. The \
                         rules from before stay in force");
                }
                return;
            }
        }
        in_force.settling = None;
        in_force.ending = false;
        // An empty file would be other rules, which nobody wrote.
        let lost = files.iter().any(|stamp| stamp.is_none_or(|stamp| stamp.5 == 0));
        in_force.files = files;
        let opened = match (lost, &self.origin.file) {
            (true, _) => Err(Failure::message(UNSAFE, "one of them is gone or empty")),
            (false, Some(file)) => {
                let project = Project::as_if(&self.origin.dir, file, &self.origin.overrides);
                project
                    .map_err(Failure::from)
                    .and_then(|project| self.reopen(&in_force, project, is_news))
            }
            (false, None) => {
                let project = Project::at(&self.origin.dir, &self.origin.overrides);
                project.map_err(Failure::from).and_then(|project| match project.file {
                    None => self.reopen(&in_force, project, is_news),
                    Some(_) => Err(Failure::message(
                        UNSAFE,
                        "there is a project file now, which the server did not start with",
                    )),
                })
            }
        };
        match opened {
            Ok(None) => in_force.broken = Some(Instant::now()),
            Ok(Some(Reopened { sandbox, needs, socket, withheld })) => {
                // What the agent has read it still knows.
                if let Some(by) = in_force.sandbox.tainted() {
                    sandbox.taint(by);
                }
                in_force.sessions.push(sandbox.session_id().to_owned());
                std::mem::take(&mut in_force.outdated).cancel();
                let before = std::mem::replace(&mut in_force.sandbox, sandbox);
                in_force.needs = needs;
                in_force.socket = socket;
                in_force.broken = (!withheld.is_empty()).then(Instant::now);
                in_force.untold = Some(if withheld.is_empty() { CHANGED } else { PARTLY });
                in_force.version += 1;
                drop(in_force);
                before.background().close();
                match withheld.is_empty() {
                    true => say("the project's files have changed, and their rules are in force"),
                    false => say(&format!(
                        "the project's files have changed. What is stricter is in force; what may \
                         be looser waits for `zonekeep trust` or a new start: {}",
                        withheld.join(", ")
                    )),
                }
            }
            Err(failure) => {
                in_force.broken = Some(Instant::now());
                if !is_news {
                    return;
                }
                in_force.untold = Some(BROKEN);
                drop(in_force);
                say(&format!(
                    "the project's files have changed and cannot be used; the rules from before stay in force: {}",
                    failure.error
                ));
            }
        }
    }

    /// Opens a project that was read again: as it is where the user has trusted it, and
    /// otherwise what of it is surely no looser than the rules in force. `None` where that
    /// was done before, and nobody has trusted the file since.
    fn reopen(
        &self,
        in_force: &InForce,
        project: Project,
        is_news: bool,
    ) -> Result<Option<Reopened>, Failure> {
        let (mut project, wanted) = self.origin.prepare(project)?;
        let state = state()?;
        let held = &in_force.sandbox;
        let trusted = project.file.is_some() && TrustStore::new(&state).is_text_trusted(&project);
        let mut withheld: Vec<String> = match trusted {
            true => Vec::new(),
            false => held.tighten(&mut project).iter().map(named).collect(),
        };
        let mut needs = in_force.needs.clone();
        if let Some(wanted) = wanted.filter(|wanted| needs.last() != Some(wanted)) {
            // Trust is for the project file.
            withheld.push("the worker file".to_owned());
            let grant = needs
                .iter()
                .chain([&wanted])
                .try_fold(Grant::of(&project.policy), |grant, needs| grant.narrow(needs));
            if grant.is_ok() && needs.len() < MAX_NEEDS {
                needs.push(wanted);
            }
        }
        if !withheld.is_empty() && !is_news {
            return Ok(None);
        }
        let (approver, socket) = (self.answering)()?;
        let confine = self.origin.confine();
        let session = match trusted {
            true => Session::open_with(&project, &state, approver, confine)?,
            false => Session::reopen(held, &project, &state, approver, confine)?,
        };
        let sandbox = narrowed(&session, &needs)?;
        Ok(Some(Reopened { sandbox, needs, socket, withheld }))
    }

    /// Returns how often the rules have changed.
    pub(super) fn version(&self) -> u64 {
        self.in_force().version
    }

    /// Returns the names of the tools that there are.
    pub(super) fn tools(&self) -> Vec<&'static str> {
        tools::available(&self.sandbox()).map(|tool| tool.name).collect()
    }
}

/// What was opened in the place of the rules in force.
struct Reopened {
    sandbox: Sandbox,
    needs: Vec<Needs>,
    socket: Option<Arc<Socket>>,
    /// What of the files does not hold yet.
    withheld: Vec<String>,
}

/// Writes out what is withheld, with its line.
fn named(withheld: &Withheld) -> String {
    match withheld.at.file_line() {
        Some(_) => format!("{} ({})", withheld.key, withheld.at),
        None => withheld.key.clone(),
    }
}

/// Returns a sandbox with what a worker needs, or with all that the project has.
fn narrowed(session: &Session, needs: &[Needs]) -> Result<Sandbox, Failure> {
    let narrow = |sandbox: Sandbox, needs| sandbox.narrow(needs);
    let sandbox = match needs.split_first() {
        None => Ok(session.sandbox()),
        Some((first, rest)) => {
            session.sandbox_for(first).and_then(|first| rest.iter().try_fold(first, narrow))
        }
    };
    sandbox.map_err(|error| Failure::new(NEGATIVE, error))
}
