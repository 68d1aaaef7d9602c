//! The live handle of one worker: what it may use, and the ways to use it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use zonekeep_confine::child::{Ear, Hear};
use zonekeep_confine::plan::Access;
use zonekeep_policy::{
    AgentPath, Approval, Denial, ExceedsParent, Grant, Mode, Needs, RelPath, Spot,
};

use crate::ask::Given;
use crate::command::{Background, Enclosure, Placed};
use crate::error::Error;
use crate::held::Held;

use crate::session::{Backing, Shared};
use crate::stop::Stop;

mod effects;
mod found;

pub use found::{Branches, Listed, Matches, Paths};

/// What one worker may use, and the ways to use it.
///
/// All methods take paths as the agent writes them: absolute (`/input/a.txt`),
/// relative to [`working_dir`](Sandbox::working_dir), or starting with `~`.
/// Every method that touches a file judges first, asks where the rules say so,
/// and writes down what happened.
///
/// ```
/// use zonekeep::{Session, approve::AllYes, policy::{Policy, Zone, Mode, At}};
///
/// let mut policy = Policy::empty("/project");
/// policy.zones.push(Zone::new("notes", "/project/notes", Mode::Rw, At::flag("example")));
/// let sandbox = Session::in_memory(&policy, AllYes)?.sandbox();
///
/// sandbox.write("/notes/today.md", "buy milk\n")?;
/// assert_eq!(sandbox.read_text("/notes/today.md")?, "buy milk\n");
/// assert!(sandbox.can_write("/notes/today.md") && !sandbox.can_read("/etc/passwd"));
///
/// let refusal = sandbox.read_text("/etc/passwd").unwrap_err();
/// assert_eq!(
///     refusal.to_string(),
///     "Cannot access '/etc/passwd': path is outside sandbox.\nReadable paths: /notes",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    hold: Arc<Hold>,
    /// What holds once the worker has read what is not to be trusted.
    later: Arc<OnceLock<Tainted>>,
    /// Whether `hold` is kept until one action is done, whatever is read
    /// meanwhile: what was judged by it is done by it.
    pinned: bool,
    /// Whether commands get the directories that the session's opener named.
    placed: bool,
    background: Arc<Background>,
    stop: Stop,
    /// Where it waits for no answer: those that it was given.
    given: Option<Arc<Vec<Given>>>,
    /// Hears what commands print.
    ear: Option<Ear>,
}

/// A grant, and all that it is carried out with.
#[derive(Debug)]
struct Hold {
    grant: Grant,
    /// By mount.
    backings: Vec<Backing>,
    enclosure: Enclosure,
    held: Held,
}

impl Hold {
    fn new(shared: &Shared, grant: Grant) -> Arc<Self> {
        let backings = grant.view().mounts().iter().map(|mount| {
            shared.backing(&mount.zone.name).cloned().expect("a grant only holds opened zones")
        });
        let backings = backings.collect();
        let held = Held::new(grant.view().mounts().len());
        Arc::new(Hold { grant, backings, enclosure: Enclosure::default(), held })
    }
}

/// What a worker holds since it has read what is not to be trusted.
#[derive(Debug)]
struct Tainted {
    hold: Arc<Hold>,
    by: String,
}

impl Sandbox {
    pub(crate) fn new(shared: Arc<Shared>, grant: Grant) -> Self {
        Sandbox {
            hold: Hold::new(&shared, grant),
            shared,
            later: Arc::default(),
            pinned: false,
            placed: true,
            background: Arc::default(),
            stop: Stop::new(),
            given: None,
            ear: None,
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn shared_arc(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Returns what holds for the next action.
    fn hold(&self) -> &Arc<Hold> {
        match self.later.get() {
            Some(tainted) if !self.pinned => &tainted.hold,
            _ => &self.hold,
        }
    }

    /// Returns the sandbox as it is now, for one action.
    pub(crate) fn now(&self) -> Sandbox {
        let Sandbox { shared, later, placed, background, stop, given, ear, .. } = self;
        Sandbox {
            shared: Arc::clone(shared),
            hold: Arc::clone(self.hold()),
            later: Arc::clone(later),
            pinned: true,
            placed: *placed,
            background: Arc::clone(background),
            stop: stop.clone(),
            given: given.clone(),
            ear: ear.clone(),
        }
    }

    /// Returns the sandbox as it is for a command of an agent's. Such a command can
    /// read, and run, all that it sees in one go: where that is not to be trusted,
    /// it is held to what holds afterwards.
    pub(crate) fn now_for_command(&self) -> Sandbox {
        let now = self.now();
        match now.grant().is_tainted() || now.grant().untrusted_zones().is_empty() {
            true => now,
            false => {
                let hold = Hold::new(&self.shared, now.hold.grant.tainted());
                Sandbox { hold, ..now }
            }
        }
    }

    /// Returns the directories that commands get beside the zones.
    pub(crate) fn places(&self) -> &[Placed] {
        if self.placed { &self.shared.confine.places } else { &[] }
    }

    pub(crate) fn held(&self) -> &Held {
        &self.hold().held
    }

    pub(crate) fn enclosure(&self) -> &Enclosure {
        &self.hold().enclosure
    }

    pub(crate) fn backing(&self, mount: usize) -> &Backing {
        &self.hold().backings[mount]
    }

    /// Returns the name of the session, which stands in each of its records.
    pub fn session_id(&self) -> &str {
        &self.shared.id
    }

    /// Returns the project's directory, for the embedding program only.
    pub fn project_dir(&self) -> &Path {
        &self.shared.policy.project
    }

    /// Returns how the agents of this session can get at what a host path lies in
    /// or leads through, for the embedding program only; `None` where they cannot.
    pub fn reachable(&self, host: &Path) -> Option<Access> {
        self.shared.exposure.find(host).map(|(_, access)| access)
    }

    /// Returns the directory of the session's that a host's absolute path lies in or
    /// leads through, in words: whatever is there, agents can read.
    pub fn exposes(&self, path: &Path) -> Option<String> {
        self.shared().exposure.find(path).map(|(name, _)| name.to_owned())
    }

    /// Returns the background commands of this sandbox.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Returns a path as it is understood, for showing; the text itself when it
    /// is no path.
    pub(crate) fn shown_path(&self, given: &str) -> String {
        self.parse(given).map_or_else(|_| given.to_owned(), |path| path.to_string())
    }

    /// Returns what the worker holds.
    pub fn grant(&self) -> &Grant {
        &self.hold().grant
    }

    /// Returns the same sandbox, whose commands end when `stop` is said.
    #[must_use]
    pub fn stopped_by(&self, stop: &Stop) -> Self {
        Sandbox { stop: stop.clone(), ..self.clone() }
    }

    /// Returns the same sandbox, which waits for no answer and has these.
    pub(crate) fn with_given(&self, given: Vec<Given>) -> Self {
        Sandbox { given: Some(Arc::new(given)), ..self.clone() }
    }

    pub(crate) fn given(&self) -> Option<&[Given]> {
        self.given.as_deref().map(Vec::as_slice)
    }

    /// Returns the same sandbox, which passes on what its commands print, as it
    /// comes: standard output and standard error, in pieces of any length that may
    /// end within a character.
    ///
    /// Commands in the background are not heard, nor are those of the workers that
    /// are called from here. The function is called by whoever waits for the command
    /// and holds it up while it runs, so it should only pass the bytes on.
    #[must_use]
    pub fn heard_by(&self, hear: Arc<Hear>) -> Self {
        Sandbox { ear: Some(Ear::new(hear)), ..self.clone() }
    }

    /// Returns the same sandbox, whose commands nobody hears.
    pub(crate) fn unheard(&self) -> Self {
        Sandbox { ear: None, ..self.clone() }
    }

    pub(crate) fn ear(&self) -> Option<&Ear> {
        self.ear.as_ref()
    }

    /// Returns the word that ends this sandbox's commands.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the sandbox of a worker called from this one: what it needs, and
    /// never more than this one has.
    pub fn narrow(&self, needs: &Needs) -> Result<Sandbox, ExceedsParent> {
        let child = Sandbox::new(Arc::clone(&self.shared), self.grant().narrow(needs)?);
        // Asked after narrowing, and never less than what was narrowed from: a taint
        // in between counts, and tainting twice is tainting once.
        if let Some(by) = self.tainted() {
            child.taint(by);
        }
        Ok(Sandbox { placed: false, stop: self.stop.clone(), ..child })
    }

    // ---- what is not to be trusted

    /// Returns by what the worker was tainted: since then the project's
    /// `when_tainted` holds for all that it does.
    pub fn tainted(&self) -> Option<&str> {
        self.later.get().map(|tainted| tainted.by.as_str())
    }

    /// Notes that the worker knows something that is not to be trusted. What it
    /// does from now on is judged as the project's `when_tainted` says; this
    /// never gives it more. Returns whether that is news.
    pub fn taint(&self, by: &str) -> bool {
        let mut news = false;
        self.later.get_or_init(|| {
            news = true;
            let hold = match self.hold.grant.is_tainted() {
                true => Arc::clone(&self.hold),
                false => Hold::new(&self.shared, self.hold.grant.tainted()),
            };
            Tainted { hold, by: by.to_owned() }
        });
        news
    }

    // ---- asking without doing

    /// Returns whether a path lies where reading is possible, if need be after
    /// a question.
    pub fn can_read(&self, path: &str) -> bool {
        match self.rights(path) {
            Some(zone) => zone.approval.read.value != Approval::Blocked && !self.is_hidden(path),
            None => self.parse(path).is_ok_and(|path| self.has_tmp(&path)),
        }
    }

    /// Returns whether a path lies where writing is possible, if need be after
    /// a question.
    pub fn can_write(&self, path: &str) -> bool {
        self.rights(path).is_some_and(|zone| {
            zone.mode.value == Mode::Rw && zone.approval.write.value != Approval::Blocked
        }) && !self.is_hidden(path)
    }

    /// Returns whether a path leads to credentials that are hidden.
    fn is_hidden(&self, path: &str) -> bool {
        let spot = self.parse(path).ok().and_then(|path| self.grant().view().locate(&path));
        match spot {
            Some(Spot::In { mount, path }) => self.sensitive_pattern(mount, &path).is_some(),
            _ => false,
        }
    }

    /// Returns the pattern that would show a path, where it leads to credentials that are
    /// hidden: by its names, by its place on the host, or through links.
    pub(crate) fn sensitive_pattern(&self, mount: usize, path: &RelPath) -> Option<String> {
        let Backing::Host(ground) = self.backing(mount) else {
            return self.grant().sensitive().pattern(path);
        };
        if let Some(pattern) = ground.hidden.pattern(path) {
            return Some(pattern);
        }
        let (parent, name) = path.split_last()?;
        let real = ground.real_dir(&parent)?;
        ground.hidden.pattern(&real.join(name))
    }

    /// Returns whether a path lies in the private `/tmp` of commands, and one of this
    /// worker's has run.
    pub(crate) fn has_tmp(&self, path: &AgentPath) -> bool {
        self.grant().view().in_tmp(path).is_some() && self.enclosure().tmp().is_some()
    }

    fn rights(&self, path: &str) -> Option<&zonekeep_policy::Zone> {
        match self.grant().view().locate(&self.parse(path).ok()?)? {
            Spot::Root => None,
            Spot::In { mount, .. } => Some(&self.grant().view().mounts()[mount].zone),
        }
    }

    /// Returns the host path behind a path of the agent's, for the embedding
    /// program only; an agent never sees it. Links are not resolved.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        use std::os::unix::ffi::OsStrExt;
        match self.grant().view().locate(&self.parse(path)?) {
            Some(Spot::In { mount, path: below }) => {
                let base = match self.backing(mount) {
                    Backing::Host(ground) => ground.real.clone(),
                    Backing::Memory(_) => {
                        self.grant().view().mounts()[mount].zone.path.value.clone()
                    }
                };
                Ok(match below.is_root() {
                    true => base,
                    false => base.join(std::ffi::OsStr::from_bytes(below.as_bytes())),
                })
            }
            _ => Err(self.outside(path).into()),
        }
    }

    /// Returns the agent's path for a host path inside a zone, for the
    /// embedding program only.
    pub fn agent_path(&self, host: &Path) -> Option<AgentPath> {
        let path = AgentPath::of_host(host)?;
        self.hold().backings.iter().enumerate().find_map(|(number, backing)| {
            let mount = &self.grant().view().mounts()[number];
            let root = match backing {
                Backing::Host(ground) => ground.real.as_path(),
                Backing::Memory(_) => mount.zone.path.value.as_path(),
            };
            let below = path.below(&AgentPath::of_host(root)?)?;
            Some(mount.path().join_rel(&below))
        })
    }

    /// Fails when the ending of a file's name is not allowed.
    pub fn check_suffix(&self, path: &str) -> Result<(), Error> {
        let parsed = self.parse(path)?;
        match (self.grant().view().locate(&parsed), parsed.as_rel().file_name()) {
            (Some(Spot::In { mount, .. }), Some(name)) => {
                let mount = &self.grant().view().mounts()[mount];
                match &mount.zone.suffixes {
                    Some(suffixes) if !mount.suffix_allowed(name) => {
                        let allowed = suffixes.value.clone();
                        Err(Denial::Suffix { path: path.to_owned(), allowed }.into())
                    }
                    _ => Ok(()),
                }
            }
            (Some(Spot::Root), _) => Ok(()),
            _ => Err(self.outside(path).into()),
        }
    }

    /// Fails when a file is larger than its directory allows.
    pub fn check_size(&self, path: &str) -> Result<(), Error> {
        let limit = self.rights(path).and_then(|zone| zone.max_file_bytes.as_ref());
        let Some(limit) = limit.map(|limit| limit.value) else {
            return if self.rights(path).is_some() {
                Ok(())
            } else {
                Err(self.outside(path).into())
            };
        };
        match self.info(path)?.map_or(0, |facts| facts.size) {
            size if size > limit => {
                let path = path.to_owned();
                Err(Denial::TooLarge { verb: "read", path, size, limit }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the directories that can be read, in the order of the project file.
    pub fn readable_roots(&self) -> Vec<String> {
        self.grant().view().readable()
    }

    /// Returns the directories that can be written, in the order of the project file.
    pub fn writable_roots(&self) -> Vec<String> {
        self.grant().view().writable()
    }

    /// Returns the mode of a zone; `None` when this worker does not have it.
    pub fn zone_access(&self, zone: &str) -> Option<Mode> {
        self.grant().zone_access(zone)
    }

    /// Returns the names of the zones that this worker has.
    pub fn zones(&self) -> Vec<&str> {
        self.grant().view().mounts().iter().map(|mount| mount.zone.name.as_str()).collect()
    }

    /// Returns the agent paths of the directories, each relative to the root.
    pub(crate) fn tops(&self) -> Vec<RelPath> {
        let mounts = self.grant().view().mounts().iter();
        mounts.map(|mount| mount.path().as_rel().clone()).collect()
    }

    /// Returns where relative paths start.
    pub fn working_dir(&self) -> &AgentPath {
        self.grant().view().working_dir()
    }

    /// Returns what `~` is.
    pub fn home(&self) -> &AgentPath {
        self.grant().view().home()
    }

    fn parse(&self, given: &str) -> Result<AgentPath, Denial> {
        let view = self.grant().view();
        view.parse(given).map_err(|reason| Denial::BadPath {
            path: given.to_owned(),
            reason,
            readable: view.readable(),
        })
    }

    pub(crate) fn outside(&self, path: &str) -> Denial {
        let readable = self.readable_roots();
        Denial::Outside { path: path.to_owned(), readable, zone: None }
    }
}
