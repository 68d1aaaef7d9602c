//! One run: the rules, the open directories, who is asked, and the log.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use zonekeep_confine::links::HardLinks;
use zonekeep_confine::plan::Calls;
use zonekeep_files::{Fault, MemoryStore, Store};
use zonekeep_policy::organisation::Organisation;
use zonekeep_policy::tighten::{Tightened, Withheld, tightened};
use zonekeep_policy::{At, ExceedsParent, Grant, Needs, Policy};

use crate::agent::AgentHome;
use crate::approve::{Approver, Memory, Nobody, Opening, Remembered, Unfit};
use crate::audit::Log;
use crate::command::{Busy, Confine, Outside, Trees, most_memory};
use crate::exposure::Exposure;
use crate::ground::{self, Ground, GroundError};
use crate::organisation::{self, OrganisationError};
use crate::project::Project;
use crate::sandbox::Sandbox;
use crate::state::StateDir;
use crate::trust::{Reach, Standing, TrustStore};

/// Why a session cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Zones cannot be opened.
    #[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Ground {
        /// All that is wrong with them.
        errors: Vec<GroundError>,
    },
    /// The project file opens something outside its directory, and the user
    /// has not said yes to that.
    #[error("{}", untrusted(reach, standing))]
    Untrusted {
        /// What it opens.
        reach: BTreeSet<Reach>,
        /// What the user has trusted before.
        standing: Standing,
    },
    /// The organisation's file cannot be used, and so no project can.
    #[error(transparent)]
    Organisation(#[from] OrganisationError),
    /// Debuggers would need more system calls than the organisation's file allows.
    #[error("more system calls are wanted for debuggers, which {at} of your organisation forbids")]
    Debug {
        /// The line of the organisation's file.
        at: At,
    },
    /// Questions would be answered yes unseen, which the organisation's file forbids.
    #[error("every question would be answered yes unseen, which {at} of your organisation forbids")]
    Unseen {
        /// The line of the organisation's file.
        at: At,
    },
    /// The audit log cannot be opened.
    #[error("the audit log in {} cannot be opened: {source}", dir.display())]
    Audit {
        /// Where it is kept.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user has no state directory.
    #[error("there is no place for the audit log: {source}")]
    State {
        /// What is missing.
        source: io::Error,
    },
    /// The zones cannot be looked through for hard links.
    #[error("the writable directories cannot be looked through for hard links: {source}")]
    Links {
        /// What the system said.
        source: io::Error,
    },
    /// Who is to be asked cannot serve the session.
    #[error(transparent)]
    Approver(#[from] Unfit),
    /// The system has no randomness to name the session with.
    #[error("no random numbers are to be had")]
    Random,
}

fn untrusted(reach: &BTreeSet<Reach>, standing: &Standing) -> String {
    let list = || reach.iter().map(|r| format!("\n  {} ({})", r.what, r.at)).collect::<String>();
    match standing {
        Standing::Changed(changes) => {
            format!(
                "this project file has changed since you trusted it, and may open more:{changes}"
            )
        }
        Standing::Outdated => format!(
            "this project file reaches outside its own directory, and was trusted with an earlier \
             version of zonekeep, which did not record what it opened:{}",
            list()
        ),
        Standing::New | Standing::Trusted => format!(
            "this project file reaches outside its own directory and is not trusted yet:{}",
            list()
        ),
    }
}

/// What stands behind a mount.
#[derive(Debug, Clone)]
pub(crate) enum Backing {
    Host(Arc<Ground>),
    Memory(Arc<dyn Store>),
}

impl Backing {
    /// Returns the store, or `None` for a directory that is not there yet.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        match self {
            Backing::Host(ground) => ground.store(),
            Backing::Memory(store) => Some(Arc::clone(store)),
        }
    }

    /// Returns the store, and makes the directory where it is missing.
    pub(crate) fn make(&self) -> Result<Arc<dyn Store>, Fault> {
        match self {
            Backing::Host(ground) => ground.make(),
            Backing::Memory(store) => Ok(Arc::clone(store)),
        }
    }
}

/// Everything that the sandboxes of a session share.
pub(crate) struct Shared {
    pub(crate) id: String,
    pub(crate) policy: Policy,
    /// The keys that were looser than the organisation's file allows.
    narrowed: Vec<Withheld>,
    pub(crate) project: String,
    /// By zone name.
    pub(crate) backings: Vec<(String, Backing)>,
    pub(crate) approver: Box<dyn Approver>,
    pub(crate) memory: Memory,
    pub(crate) log: Option<Log>,
    pub(crate) confine: Confine,
    pub(crate) trees: Trees,
    pub(crate) busy: Busy,
    pub(crate) exposure: Exposure,
    pub(crate) outside: Outside,
    /// The home directory of the agent that the session is for, once it is used.
    pub(crate) agent: OnceLock<Result<AgentHome, String>>,
    /// Where guarded files go that commands made.
    pub(crate) state: Option<StateDir>,
    warned: AtomicBool,
    next: AtomicU64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Shared {
    /// Returns the next record's id.
    pub(crate) fn next_id(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        [&self.id, "-", &number].concat()
    }

    /// Returns whether a warning that is given once is still to be given.
    pub(crate) fn warn_once(&self) -> bool {
        !self.warned.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn backing(&self, zone: &str) -> Option<&Backing> {
        self.backings.iter().find(|(name, _)| name == zone).map(|(_, backing)| backing)
    }
}

/// One run of an agent: open directories, who is asked, and the log.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

impl Session {
    /// Opens a project for the user whose state directory is `state`.
    ///
    /// Every zone is opened here and checked on its open handle. A project file
    /// that reaches outside its own directory must be trusted (see
    /// [`TrustStore`]). Questions go to `approver`. The organisation's file
    /// bounds all of it: see [`crate::organisation`].
    pub fn open(
        project: &Project,
        state: &StateDir,
        approver: impl Approver + 'static,
    ) -> Result<Self, OpenError> {
        Self::open_with(project, state, approver, Confine::default())
    }

    /// Opens a project, and says how its commands are confined.
    pub fn open_with(
        project: &Project,
        state: &StateDir,
        approver: impl Approver + 'static,
        confine: Confine,
    ) -> Result<Self, OpenError> {
        Self::open_unless(project, state, approver, confine, |_| false)
    }

    /// Opens rules in the place of those that a sandbox holds. Where they are nowhere
    /// looser, and the same directories are behind the zones, they need no trust of their
    /// own: see [`Sandbox::tighten`].
    pub fn reopen(
        held: &Sandbox,
        project: &Project,
        state: &StateDir,
        approver: impl Approver + 'static,
        confine: Confine,
    ) -> Result<Self, OpenError> {
        let is_narrower = tighten(&held.shared().policy, &project.policy).withheld.is_empty();
        let same_directory = |zone: &str, ground: &Ground| match held.shared().backing(zone) {
            Some(Backing::Host(held)) => {
                held.real == ground.real && held.identity() == ground.identity()
            }
            _ => false,
        };
        Self::open_unless(project, state, approver, confine, |grounds| {
            let mut zones = project.policy.zones.iter().zip(grounds);
            is_narrower && zones.all(|(zone, ground)| same_directory(&zone.name, ground))
        })
    }

    /// Opens a project, which has to be trusted unless `needs_none` says otherwise.
    fn open_unless(
        project: &Project,
        state: &StateDir,
        approver: impl Approver + 'static,
        mut confine: Confine,
        needs_none: impl FnOnce(&[Ground]) -> bool,
    ) -> Result<Self, OpenError> {
        let (mut policy, narrowed) = bounded(project)?;
        let unseen = policy.organisations.iter().find_map(|held| held.wants_answers());
        if let Some(at) = unseen.filter(|_| !approver.considers()) {
            return Err(OpenError::Unseen { at: at.clone() });
        }
        let full = policy.organisations.iter().find_map(|held| held.wants_sandbox());
        if let Some(at) = full.filter(|_| confine.calls == Calls::Debug) {
            return Err(OpenError::Debug { at: at.clone() });
        }
        ground::check_places(&mut confine.places, &policy, state)
            .map_err(|errors| OpenError::Ground { errors })?;
        let grounds =
            ground::open(&policy, state).map_err(|errors| OpenError::Ground { errors })?;
        let reach = ground::reach(&policy, &grounds);
        if !reach.is_empty() {
            let standing = TrustStore::new(state).standing(project, &reach);
            if standing != Standing::Trusted && !needs_none(&grounds) {
                return Err(OpenError::Untrusted { reach, standing });
            }
        }
        let log = match Log::open(state, &project.dir) {
            Ok(log) => Some(log),
            Err(source) => match policy.audit.value {
                zonekeep_policy::policy::Audit::Required => {
                    return Err(OpenError::Audit { dir: state.path().to_owned(), source });
                }
                zonekeep_policy::policy::Audit::BestEffort => None,
            },
        };
        ground::declare_hooks(&mut policy, &grounds);
        let exposure = Exposure::of(&policy, &grounds, &confine.places);
        let names = policy.zones.iter().map(|zone| zone.name.clone());
        let backings = names.zip(grounds.into_iter().map(|g| Backing::Host(Arc::new(g)))).collect();
        let state = Some(state.clone());
        let approver = Box::new(approver);
        Self::start(&policy, narrowed, backings, log, approver, confine, state, exposure)
    }

    /// Opens a session whose zones are empty and in memory, without a log: for
    /// tests of programs that use Zonekeep. The organisation's file bounds it, except for
    /// the places of its zones.
    pub fn in_memory(
        policy: &Policy,
        approver: impl Approver + 'static,
    ) -> Result<Self, OpenError> {
        let mut policy = policy.clone();
        let narrowed = organisation::apply(&mut policy)?;
        let backings = policy.zones.iter().map(|zone| {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            (zone.name.clone(), Backing::Memory(store))
        });
        let confine = Confine::default();
        let (backings, approver) = (backings.collect(), Box::new(approver));
        let exposure = Exposure::default();
        Self::start(&policy, narrowed, backings, None, approver, confine, None, exposure)
    }

    /// Returns what a project file opens outside its own directory.
    pub fn reach(project: &Project, state: &StateDir) -> Result<BTreeSet<Reach>, OpenError> {
        let (policy, _) = bounded(project)?;
        let grounds =
            ground::open(&policy, state).map_err(|errors| OpenError::Ground { errors })?;
        Ok(ground::reach(&policy, &grounds))
    }

    /// Returns the files in writable zones that have other names outside them (hard
    /// links): commands cannot write them.
    pub fn hard_links(project: &Project, state: &StateDir) -> Result<HardLinks, OpenError> {
        let (policy, _) = &bounded(project)?;
        let grounds = ground::open(policy, state).map_err(|errors| OpenError::Ground { errors })?;
        let zones = policy.zones.iter().zip(&grounds).filter(|(zone, _)| zone.commands_write());
        let zones: Vec<(&Path, PathBuf)> = zones
            .map(|(zone, ground)| (ground.real.as_path(), zone.agent_path().as_host()))
            .collect();
        let allow: Vec<String> =
            policy.allow_hard_links.iter().map(|pattern| pattern.value.clone()).collect();
        let places = zones.iter().map(|(host, at)| (*host, at.as_path()));
        HardLinks::find_in(places, &allow).map_err(|(_, source)| OpenError::Links { source })
    }

    #[expect(clippy::too_many_arguments, reason = "each is a field of what is shared")]
    fn start(
        policy: &Policy,
        narrowed: Vec<Withheld>,
        backings: Vec<(String, Backing)>,
        log: Option<Log>,
        approver: Box<dyn Approver>,
        confine: Confine,
        state: Option<StateDir>,
        exposure: Exposure,
    ) -> Result<Self, OpenError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| OpenError::Random)?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        approver.begin(&Opening::new(&id, &policy.project, &exposure))?;
        let shared = Shared {
            id,
            policy: policy.clone(),
            narrowed,
            project: policy.project.display().to_string(),
            backings,
            approver,
            memory: Memory::default(),
            log,
            confine,
            trees: Trees::default(),
            busy: Busy::default(),
            exposure,
            outside: Outside::default(),
            agent: OnceLock::new(),
            state,
            warned: AtomicBool::new(false),
            next: AtomicU64::new(1),
        };
        Ok(Session { shared: Arc::new(shared) })
    }

    /// Returns the session's name, which stands in each of its records.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Returns the rules.
    pub fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// Returns a sandbox with all that the project has.
    pub fn sandbox(&self) -> Sandbox {
        Sandbox::new(Arc::clone(&self.shared), Grant::of(&self.shared.policy))
    }

    /// Returns a sandbox with what a worker needs, if the project has that.
    pub fn sandbox_for(&self, needs: &Needs) -> Result<Sandbox, ExceedsParent> {
        let grant = Grant::of(&self.shared.policy).narrow(needs)?;
        Ok(Sandbox::new(Arc::clone(&self.shared), grant))
    }

    /// Returns the answers that hold until the session ends.
    pub fn remembered(&self) -> Vec<Remembered> {
        self.shared.memory.all()
    }

    /// Takes an answer back; returns whether there was one of that number.
    pub fn revoke(&self, id: u64) -> bool {
        self.shared.memory.revoke(id)
    }
}

/// Returns a project's rules within the organisation's bounds as they are now, and the keys
/// that were looser: the program that uses this library may have changed the rules since they
/// were read.
fn bounded(project: &Project) -> Result<(Policy, Vec<Withheld>), OpenError> {
    let (mut policy, mut narrowed) = (project.policy.clone(), project.narrowed.clone());
    for key in organisation::apply(&mut policy)? {
        if !narrowed.contains(&key) {
            narrowed.push(key);
        }
    }
    Ok((policy, narrowed))
}

impl Sandbox {
    /// Returns the versions of the organisation's file that the rules are held to, the newest
    /// last.
    pub fn organisations(&self) -> &[Arc<Organisation>] {
        &self.shared().policy.organisations
    }

    /// Returns the keys of the project and of flags that were looser than the organisation's
    /// file allows.
    pub fn narrowed(&self) -> &[Withheld] {
        &self.shared().narrowed
    }

    /// Leaves of the rules of a project that was read again what is surely no looser
    /// than the rules in force, and returns what is missing then. For programs that use
    /// a changed file before the user has confirmed it, with [`Session::reopen`].
    pub fn tighten(&self, project: &mut Project) -> Vec<Withheld> {
        let Tightened { policy, withheld } = tighten(&self.shared().policy, &project.policy);
        project.policy = policy;
        withheld
    }

    /// Returns whether a project has the rules in force: neither may be looser than the other.
    pub fn is_held_to(&self, project: &Project) -> bool {
        let is_no_looser = |old, new| tighten(old, new).withheld.is_empty();
        let (held, new) = (&self.shared().policy, &project.policy);
        is_no_looser(held, new) && is_no_looser(new, held)
    }
}

/// Compares rules, with what depends on the machine filled in.
pub(crate) fn tighten(held: &Policy, new: &Policy) -> Tightened {
    let memory = most_memory();
    let filled = |policy: &Policy| {
        let mut policy = policy.clone();
        policy.limits.memory = policy.limits.memory.or(memory);
        // The hooks that git runs are looked for again when the rules are opened.
        policy.guards.remove_declared();
        policy
    };
    tightened(&filled(held), &filled(new))
}

/// Opens a project with nobody to ask: every question is refused.
impl TryFrom<&Project> for Session {
    type Error = OpenError;

    fn try_from(project: &Project) -> Result<Self, OpenError> {
        let state = StateDir::of_user().map_err(|source| OpenError::State { source })?;
        Session::open(project, &state, Nobody)
    }
}
