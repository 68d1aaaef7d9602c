//! The rules in force: read when the server starts, and again when their files
//! change. What cannot be used changes nothing, and what may be looser waits until the
//! user has trusted the file: a checkout changes it, too, and an agent may have committed
//! what is checked out.
//!
//! The organisation's file is watched apart from the project's. Every version that the server
//! has read stays in force until it is started again, so that none is loosened; while the file
//! cannot be used, everything is refused.

use std::fs::Metadata;
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
use zonekeep::policy::organisation::Organisation;
use zonekeep::policy::tighten::Withheld;
use zonekeep::policy::{Grant, Needs, RelPath, Spot};
use zonekeep::trust::TrustStore;
use zonekeep::{Error, Project, ProjectError, Sandbox, Session, audit, organisation, tools};

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
const WAITING: &str = "Note: The settings of this sandbox have changed. What is looser waits for \
                       the user: tell them to run `zonekeep trust`, or to start the server \
                       again, if they want it.";
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

    /// Reads the project again.
    fn read(&self) -> Result<Project, Failure> {
        let Some(file) = &self.file else {
            let project = Project::at(&self.dir, &self.overrides)?;
            return match project.file {
                None => Ok(project),
                Some(_) => Err(Failure::message(
                    UNSAFE,
                    "there is a project file now, which the server did not start with",
                )),
            };
        };
        Ok(Project::as_if(&self.dir, file, &self.overrides)?)
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
    /// The project that the sandbox was opened with, or would be.
    project: Project,
    bounds: Bounds,
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

/// The organisation's file, as it was last seen.
#[derive(Default)]
struct Bounds {
    seen: BoundStamps,
    /// Another state, and since when it is like that.
    settling: Option<(BoundStamps, Instant)>,
    /// Why everything is refused, and when that was found out.
    refused: Option<(String, Instant)>,
}

/// What holds for one call.
pub(super) struct InUse {
    pub(super) sandbox: Sandbox,
    /// Said when other rules are in force.
    pub(super) outdated: CancellationToken,
}

/// What tells one state of a file from another.
type Stamp = Option<(u64, u64, i64, i64, i64, u64)>;

/// The state of the organisation's file, to compare with a later one: its own, and the owners and
/// modes of the directories above it.
type BoundStamps = (Stamp, Vec<Option<(u64, u64, u32, u32)>>);

fn bound_stamps() -> BoundStamps {
    let path = Path::new(organisation::PATH);
    // A link is no file of the organisation's, wherever it leads.
    let facts = path.symlink_metadata().ok();
    let above = path.ancestors().skip(1).map(|dir| {
        let facts = dir.metadata().ok()?;
        Some((facts.dev(), facts.ino(), facts.uid(), facts.mode()))
    });
    (facts.map(stamp_of), above.collect())
}

/// Returns where a file really lies.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn stamp(path: &Path) -> Stamp {
    path.metadata().ok().map(stamp_of)
}

fn stamp_of(meta: Metadata) -> (u64, u64, i64, i64, i64, u64) {
    (meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec(), meta.size())
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
        let bounds = Bounds { seen: bound_stamps(), ..Bounds::default() };
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
            project,
            bounds,
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

    /// Looks whether the files have changed, and returns what holds for a call, unless
    /// everything is refused.
    pub(super) fn use_now(&self) -> Result<InUse, Error> {
        self.look();
        self.refusal()?;
        let in_force = self.in_force();
        Ok(InUse { sandbox: in_force.sandbox.clone(), outdated: in_force.outdated.clone() })
    }

    /// Fails while everything is refused.
    pub(super) fn refusal(&self) -> Result<(), Error> {
        match &self.in_force().bounds.refused {
            None => Ok(()),
            Some((reason, _)) => {
                Err(Error::Organisation { file: organisation::PATH, reason: reason.clone() })
            }
        }
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
            let view = sandbox.grant().view();
            let spot = sandbox.agent_path(file).and_then(|path| view.locate(&path));
            let is_guarded = |path: &RelPath| {
                let entry = sandbox.grant().guards().find(path, Reach::File);
                entry.is_some_and(|entry| entry.guard.value == Guard::Block)
            };
            match spot {
                Some(Spot::In { path, .. })
                    if path.names().count() == 1 && is_guarded(&path) && real(file) == file =>
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
        self.look_at_organisation();
        let mut in_force = self.in_force();
        // Changes of the project's files stay news until they can be used.
        if in_force.bounds.refused.is_some() {
            return;
        }
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
        // Other text, such as a comment, is no reason to end commands.
        if is_news && self.is_equal(&in_force) {
            in_force.files = files;
            in_force.settling = None;
            in_force.ending = false;
            in_force.broken = None;
            return;
        }
        let exposed = self.exposed(&in_force.sandbox);
        // A change that is only looser waits for trust, and commands go on under their rules.
        if is_news
            && exposed != Exposed::Deep
            && let Some(withheld) = self.only_looser(&in_force)
        {
            in_force.files = files;
            in_force.settling = None;
            in_force.ending = false;
            in_force.broken = Some(Instant::now());
            in_force.untold = Some(WAITING);
            drop(in_force);
            say(&format!("the project's files have changed; {}", waits(&withheld)));
            return;
        }
        match exposed {
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
        let opened = match lost {
            true => Err(Failure::message(UNSAFE, "one of them is gone or empty")),
            false => {
                let project = self.origin.read();
                project.and_then(|project| self.reopen(&in_force, project, is_news))
            }
        };
        match opened {
            Ok(None) => in_force.broken = Some(Instant::now()),
            Ok(Some(Reopened { sandbox, project, needs, socket, withheld })) => {
                let before = in_force.replace(sandbox, socket);
                in_force.project = project;
                in_force.needs = needs;
                in_force.broken = (!withheld.is_empty()).then(Instant::now);
                in_force.untold = Some(if withheld.is_empty() { CHANGED } else { PARTLY });
                drop(in_force);
                before.background().close();
                match withheld.is_empty() {
                    true => say("the project's files have changed, and their rules are in force"),
                    false => say(&format!(
                        "the project's files have changed. What is stricter is in force; {}",
                        waits(&withheld)
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

    /// Looks whether the organisation's file has changed. Another version is in force at once,
    /// beside those from before; so a file that is gone or looser changes nothing. One that
    /// cannot be used, or not with this project, refuses everything.
    fn look_at_organisation(&self) {
        let mut in_force = self.in_force();
        let seen = bound_stamps();
        let bounds = &mut in_force.bounds;
        let is_news = seen != bounds.seen;
        let retry = bounds.refused.as_ref().is_some_and(|(_, since)| since.elapsed() >= AGAIN);
        match &bounds.settling {
            _ if !is_news && !retry => {
                bounds.settling = None;
                return;
            }
            _ if !is_news => {}
            Some((last, since)) if *last == seen => {
                if since.elapsed() < SETTLED {
                    return;
                }
            }
            _ => {
                bounds.settling = Some((seen, Instant::now()));
                return;
            }
        }
        bounds.settling = None;
        bounds.seen = seen;
        match self.rebound(&mut in_force) {
            Err(failure) => {
                let reason = failure.error.to_string();
                let known = in_force.bounds.refused.as_ref().is_some_and(|(was, _)| *was == reason);
                in_force.bounds.refused = Some((reason.clone(), Instant::now()));
                std::mem::take(&mut in_force.outdated).cancel();
                in_force.sandbox.background().stop_all();
                drop(in_force);
                if !known {
                    say(&format!(
                        "everything is refused because of {}, until it is corrected or the server \
                         is started again: {reason}",
                        organisation::PATH
                    ));
                }
            }
            Ok(Some((sandbox, socket))) => {
                let before = in_force.replace(sandbox, socket);
                in_force.bounds.refused = None;
                in_force.untold = Some(CHANGED);
                drop(in_force);
                before.background().close();
                say(&format!(
                    "{} has changed, and its rules are in force; those that it had before stay in \
                     force until a new start",
                    organisation::PATH
                ));
            }
            Ok(None) => {
                let was_refused = in_force.bounds.refused.take().is_some();
                let held = !in_force.sandbox.organisations().is_empty();
                drop(in_force);
                if was_refused || held {
                    say(&format!(
                        "{} has changed; the rules that it had before stay in force until a new \
                         start",
                        organisation::PATH
                    ));
                }
            }
        }
    }

    /// Holds the project in force to the organisation's file as it is now. Returns what was
    /// opened, where that is another version of it.
    fn rebound(&self, in_force: &mut InForce) -> Result<Option<Opened>, Failure> {
        if let Some(now) = organisation::read().map_err(ProjectError::from)? {
            in_force.project.bound_by(&Arc::new(now));
        }
        let InForce { sandbox: held, project, needs, .. } = in_force;
        let is_held =
            |new: &Arc<Organisation>| held.organisations().iter().any(|held| held.same_rules(new));
        if project.policy.organisations.iter().all(is_held) {
            return Ok(None);
        }
        let (approver, socket) = (self.answering)()?;
        let session = Session::reopen(held, project, &state()?, approver, self.origin.confine())?;
        Ok(Some((narrowed(&session, needs)?, socket)))
    }

    /// Returns the project as its files are now, held to the organisation's rules; `None`
    /// where they cannot be used, or the worker file needs something else than before.
    fn read_for(&self, in_force: &InForce) -> Option<Project> {
        let is_empty = |stamp: Stamp| stamp.is_none_or(|stamp| stamp.5 == 0);
        if self.origin.stamps().into_iter().any(is_empty) {
            return None;
        }
        let read = self.origin.read().and_then(|project| self.origin.prepare(project));
        let (mut project, wanted) = read.ok()?;
        for organisation in in_force.sandbox.organisations() {
            project.bound_by(organisation);
        }
        wanted.is_none_or(|wanted| in_force.needs == [wanted]).then_some(project)
    }

    /// Returns the keys of the files that are looser than the rules in force, where that is the
    /// only difference, and the user has not trusted the files.
    fn only_looser(&self, in_force: &InForce) -> Option<Vec<String>> {
        let mut project = self.read_for(in_force)?;
        let store = TrustStore::new(&state().ok()?);
        if project.file.is_none() || store.covers_rules(&project) {
            return None;
        }
        let withheld = in_force.sandbox.tighten(&mut project);
        if withheld.is_empty() || !in_force.sandbox.is_held_to(&project) {
            return None;
        }
        // As `reopen` does it.
        let _ = store.withhold(&project, &in_force.sessions[0], &withheld);
        Some(withheld.iter().map(named).collect())
    }

    /// Returns whether the files say the same as the rules in force, in other words perhaps:
    /// neither may be looser than the other.
    fn is_equal(&self, in_force: &InForce) -> bool {
        let Some(project) = self.read_for(in_force) else { return false };
        let is_equal = in_force.sandbox.is_held_to(&project);
        if is_equal && let Ok(state) = state() {
            let _ = TrustStore::new(&state).withhold(&project, &in_force.sessions[0], &[]);
        }
        is_equal
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
        // Trust is for the project file, and gives back nothing that the organisation took.
        for organisation in held.organisations() {
            project.bound_by(organisation);
        }
        let store = TrustStore::new(&state);
        let trusted = project.file.is_some() && store.covers_rules(&project);
        let withheld = match trusted {
            true => Vec::new(),
            false => held.tighten(&mut project),
        };
        if project.file.is_some() && is_news {
            // `zonekeep trust` lists them. Without the note it knows only the rules that were
            // trusted before and the defaults, and accepts nothing unasked all the same.
            let _ = store.withhold(&project, &in_force.sessions[0], &withheld);
        }
        let mut withheld: Vec<String> = withheld.iter().map(named).collect();
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
        Ok(Some(Reopened { sandbox, project, needs, socket, withheld }))
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

impl InForce {
    /// Puts a sandbox in the place of the one in force, which is returned. Commands under the
    /// rules from before are ended.
    fn replace(&mut self, sandbox: Sandbox, socket: Option<Arc<Socket>>) -> Sandbox {
        // The agent still knows everything that it has read.
        if let Some(by) = self.sandbox.tainted() {
            sandbox.taint(by);
        }
        self.sessions.push(sandbox.session_id().to_owned());
        std::mem::take(&mut self.outdated).cancel();
        self.socket = socket;
        self.version += 1;
        std::mem::replace(&mut self.sandbox, sandbox)
    }
}

/// A sandbox, and where its questions wait that the client cannot be asked.
type Opened = (Sandbox, Option<Arc<Socket>>);

/// What was opened in the place of the rules in force.
struct Reopened {
    sandbox: Sandbox,
    project: Project,
    needs: Vec<Needs>,
    socket: Option<Arc<Socket>>,
    /// What of the files does not hold yet.
    withheld: Vec<String>,
}

/// Writes out the keys that wait for the user.
fn waits(withheld: &[String]) -> String {
    let keys = withheld.join(", ");
    format!("what may be looser waits for `zonekeep trust` or a new start: {keys}")
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
