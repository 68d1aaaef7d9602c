//! From what a worker holds to a running sandbox that the kernel enforces.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use zonekeep_confine::ladder::{self, Miss, Unused};
use zonekeep_confine::links::Shared;
use zonekeep_confine::plan::{
    Access, Backend, Bind, Entry, Identity, Network, Plan, Role, Watch, ZoneRules,
};
use zonekeep_confine::probe;
use zonekeep_confine::runtime::{self, Host, Settings};
use zonekeep_confine::sensitive;
use zonekeep_confine::strength::{self, Held, Strength};
use zonekeep_confine::tree::{Failed, Launcher, Tree};
use zonekeep_confine::{Caught, Layers};
use zonekeep_policy::planted::CommandGuards;
use zonekeep_policy::policy;
use zonekeep_policy::{AgentPath, Approval, At, Mode, Spot};

use super::exit::Door;
use super::outside::Way;
use super::weaker::{Confinement, Demand, Unconfined, lack};
use super::{Command, Placed};
use crate::error::Error;
use crate::explain::run::HostLine;
use crate::ground::hidden;
use crate::sandbox::Sandbox;
use crate::session::Backing;

/// The home directory inside, unless a zone is named for it.
const HOME: &str = "/home/agent";

/// How many sandboxes of one worker are kept for the next command.
const MAX_KEPT: usize = 8;

/// The sandboxes of one worker, started when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct Enclosure {
    /// The one that was used last comes last.
    trees: Mutex<Vec<(Kind, Arc<Slot>)>>,
    /// How commands are confined here.
    reached: OnceLock<Reached>,
}

/// How the commands of one worker are confined on this machine.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) confinement: Confinement,
    pub(super) plan: Plan,
}

/// What tells sandboxes of one worker apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    /// Whether git may be configured.
    git: bool,
    network: policy::Network,
}

/// Where a sandbox is once there is one. Whoever starts it holds it locked.
type Slot = Mutex<Option<Arc<Enclosed>>>;

impl Enclosure {
    fn slot(&self, kind: Kind) -> Arc<Slot> {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let known = trees.iter().position(|(held, _)| *held == kind);
        let (kind, slot) = match known {
            Some(at) => trees.remove(at),
            None => (kind, Arc::default()),
        };
        trees.push((kind, Arc::clone(&slot)));
        if trees.len() > MAX_KEPT {
            // Commands that still run in it keep it.
            trees.remove(0);
        }
        slot
    }
}

/// All running sandboxes of a session. Several may watch the same zone, and each
/// takes guarded files away that it sees first, whoever made them.
#[derive(Debug, Default)]
pub(crate) struct Trees(Mutex<Vec<Weak<Enclosed>>>);

impl Trees {
    fn add(&self, enclosed: &Arc<Enclosed>) {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.retain(|tree| tree.strong_count() > 0);
        trees.push(Arc::downgrade(enclosed));
    }

    /// Returns those that watch something.
    fn watched(&self) -> Vec<Arc<Enclosed>> {
        let trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trees = trees.iter().filter_map(Weak::upgrade);
        trees.filter(|tree| tree.tree.plan().watch.is_some()).collect()
    }

    /// Returns those whose keepers have not looked at all that has changed.
    pub(super) fn with_news(&self) -> Vec<Arc<Enclosed>> {
        self.watched().into_iter().filter(|tree| tree.tree.has_news()).collect()
    }

    /// Has all of them catch what is still to be caught, and `first` before the others;
    /// `last` says that nothing more will run in any of them.
    pub(super) fn settle(&self, first: Option<&Arc<Enclosed>>, last: bool) -> Settled {
        let mut trees = self.watched();
        trees.sort_by_key(|tree| !first.is_some_and(|first| Arc::ptr_eq(tree, first)));
        let mut settled = Settled { told: Vec::new(), complete: true };
        for tree in trees {
            match if last { tree.tree.finish() } else { tree.tree.settle() } {
                // One that has ended has nothing more to tell.
                Err(Failed::Gone | Failed::Socket { .. }) => settled.complete = false,
                told => {
                    settled.complete &= told.is_ok();
                    settled.told.push(told);
                }
            }
        }
        settled
    }
}

/// What came of settling.
#[derive(Debug)]
pub(super) struct Settled {
    /// What each has caught since the last time.
    pub(super) told: Vec<Result<Vec<Caught>, Failed>>,
    /// Whether all have settled.
    pub(super) complete: bool,
}

/// A running sandbox, and what is known about it.
#[derive(Debug)]
pub struct Enclosed {
    /// The way out; closed before the sandbox ends.
    pub(super) door: Option<Door>,
    /// The sandbox.
    pub tree: Tree,
    weaker: OnceLock<Vec<Strength>>,
    /// Whether files that are shared with others outside were told of.
    told_shared: AtomicBool,
    /// The environment of its commands.
    pub(super) env: BTreeMap<OsString, OsString>,
}

impl Enclosed {
    /// Returns which files share their content with files outside, in words for the
    /// agent, and whether that is new; `name` says what the agent calls a path.
    pub(super) fn shared(&self, name: impl Fn(&str) -> String) -> Option<(String, bool)> {
        let shared = self.tree.shared().filter(|shared| shared.count > 0)?;
        let named = shared.named.iter().map(|path| name(path)).collect();
        let list = Shared { named, ..shared.clone() }.list();
        let own = self.tree.plan().backend.has_own_tree();
        let text = match (shared.count, own) {
            (1, true) => format!(
                "A file is read-only for commands, because it has another name outside (a hard link): {list}."
            ),
            (n, true) => format!(
                "{n} files are read-only for commands, because they have other names outside (hard links): {list}."
            ),
            (1, false) => format!(
                "A file has another name outside (a hard link), and what commands write to it changes that too: {list}."
            ),
            (n, false) => format!(
                "{n} files have other names outside (hard links), and what commands write to them changes those too: {list}."
            ),
        };
        Some((format!("Note: {text}"), !self.told_shared.swap(true, Ordering::Relaxed)))
    }

    /// Notes that a command runs no more of which there is nothing to tell.
    pub(super) fn leave(&self, line: &str) {
        if let Some(door) = &self.door {
            door.leave(line);
        }
    }

    /// Returns the rules that are not fully enforced, limits aside; waits until the
    /// sandbox stands.
    pub fn weaker(&self) -> &[Strength] {
        self.weaker.get_or_init(|| {
            // A sandbox that does not say which layers it has is taken to have none.
            let none = Layers::default();
            let layers = self.tree.layers().unwrap_or(&none);
            let mut rows = strength::strength(self.tree.plan(), Some(layers));
            rows.retain(|row| row.held != Held::Full && !row.rule.is_limit());
            rows
        })
    }

    /// Returns the essential rules that are not fully enforced.
    pub(super) fn lost(&self) -> Vec<Strength> {
        self.weaker().iter().filter(|row| row.rule.is_essential()).cloned().collect()
    }

    /// Returns them in words for the user; `None` when all are enforced.
    fn lost_words(&self) -> Option<String> {
        let lost = self.lost();
        (!lost.is_empty()).then(|| words(&lost))
    }
}

/// What a plan comes with.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The environment of commands.
    pub env: BTreeMap<OsString, OsString>,
    /// What was found and left out, for people.
    pub notes: Vec<String>,
    /// Open as long as their numbers must not be given to others.
    held: Vec<std::fs::File>,
    /// The way out, where there is a list of hosts.
    way: Option<Way>,
}

impl Planned {
    /// Returns the hosts that the command could reach, where that is a list.
    pub(crate) fn hosts(&self) -> Vec<HostLine> {
        self.way.as_ref().map(Way::hosts).unwrap_or_default()
    }
}

impl Sandbox {
    /// Returns the plan that a command would run by with a backend. Zones that
    /// do not exist yet are left out.
    pub fn plan(&self, backend: Backend, command: &Command) -> Result<Planned, Error> {
        self.planned(backend, command)
    }

    /// Returns the backend that a command would use, of those that are offered.
    pub(crate) fn preferred(&self, offers: &[probe::Offer]) -> Backend {
        let choice = self.grant().backend().value;
        let first = ladder::candidates(choice).first().copied();
        ladder::pick(choice, offers).or(first).unwrap_or(Backend::None)
    }

    fn planned(&self, backend: Backend, command: &Command) -> Result<Planned, Error> {
        let grant = self.grant();
        let own = backend.has_own_tree();
        let wanted = self.network_of(command);
        let way = self.way(wanted);
        let network = match (&way, wanted) {
            (Some(way), _) => way.planned(own),
            (None, policy::Network::On) => Network::Host,
            (None, _) => Network::Off,
        };
        let mut limits = grant.limits().clone();
        limits.memory = limits.memory.or_else(most_memory);
        // The one limit that is part of the tree and not of a command. Private files are
        // kept in memory, so they get no more than there is of that.
        let tightest = limits.tightest(&command.limits);
        limits.tmp = [tightest.tmp, tightest.memory].into_iter().flatten().min();
        // What one command alone is in holds that command's own limits too, by a control
        // group where there is one.
        if self.shared().confine.once {
            limits.memory = tightest.memory;
            limits.processes = tightest.processes;
        }
        let home = self.home_inside(own)?;
        let zones = self.zone_binds(own);
        let keeps = |number: &usize| {
            let zone = &grant.view().mounts()[*number].zone;
            zone.approval.delete.value == Approval::Blocked
        };
        let keep_names =
            zones.iter().filter(|(number, bind)| bind.access == Access::Rw && keeps(number));
        let keep_names: Vec<PathBuf> = keep_names.map(|(_, bind)| bind.at.clone()).collect();
        let zones = zones.into_iter().map(|(_, bind)| bind);
        let (places, held): (Vec<Bind>, Vec<_>) = self.places().iter().map(placed).unzip();
        let held = held.into_iter().flatten().collect();
        let mut granted: Vec<Bind> = zones.chain(places).collect();
        // What lies in another one is placed after it, and so on top.
        granted.sort_by_key(|bind| bind.at.components().count());
        let hidden = granted.iter().flat_map(|bind| {
            let found = sensitive::find(&bind.host, &hidden(&self.shared().policy, &bind.host));
            found.into_iter().map(|path| bind.at.join(OsStr::from_bytes(path.as_bytes())))
        });
        let hidden: Vec<PathBuf> = hidden.collect();
        let own_places: Vec<PathBuf> =
            granted.iter().filter(|bind| bind.host == bind.at).map(|b| b.host.clone()).collect();
        let mut host_env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        // A secret is never in the environment, whatever is passed on.
        let secret = self.shared().policy.secrets.values().map(|secret| &secret.value.env);
        for name in self.shared().confine.withheld.iter().chain(secret) {
            host_env.remove(OsStr::new(name));
        }
        let host_home = std::env::home_dir();
        let (uid, gid) = zonekeep_confine::launcher::inside_ids(own);
        // Where nothing confines commands, a file could have any program that the user runs
        // load code of its own by them.
        let is_held = |at: &At| backend != Backend::None || !matches!(at, At::File { .. });
        let (set, left): (Vec<_>, Vec<_>) =
            grant.env().iter().partition(|(_, value)| is_held(&value.at));
        let set: BTreeMap<String, String> =
            set.into_iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
        let settings = Settings {
            home: &home,
            user: "agent",
            uid,
            gid,
            hostname: "zonekeep",
            network: &network,
            granted: &own_places,
            pass_env: &grant.pass_env().iter().map(|name| name.value.clone()).collect::<Vec<_>>(),
            env: &set.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        };
        let host = Host { env: &host_env, home: host_home.as_deref(), root: Path::new("/") };
        let kept = self.shared().state.as_ref().and_then(|state| state.make("runtime").ok());
        let found = runtime::find(&host, &settings, kept.as_deref());
        let mut env = found.env;
        if !own {
            env.insert("TMPDIR".into(), home.join("tmp").into());
        }
        let writable = granted.iter().any(|bind| bind.access == Access::Rw);
        let watch = match (&self.shared().state, writable) {
            (Some(state), true) => Some(Watch {
                home: host_home.clone().unwrap_or_default(),
                patterns: CommandGuards::of(grant.guards()).lines(),
                quarantine: state.make("quarantine").map_err(|error| {
                    let why = format!("the quarantine for guarded files cannot be made: {error}");
                    Error::unconfined_because("commands", why)
                })?,
                git_may_configure: command.configures_git(),
            }),
            _ => None,
        };
        let mut entries = found.entries;
        // What toolchains share with commands goes into a private home only: in a
        // zone it would have to be made there.
        let home_is_granted = granted.iter().any(|bind| home.starts_with(&bind.at));
        if home_is_granted {
            entries.retain(|entry| !entry.at().starts_with(&home));
        }
        if let Some(way) = &way {
            let private = (own && !home_is_granted).then_some(home.as_path());
            let is_set = |name: &str| {
                let passed = grant.pass_env().iter().any(|passed| passed.value == name);
                passed && env.contains_key(OsStr::new(name)) || grant.env().contains_key(name)
            };
            let set: Vec<OsString> =
                env.keys().filter(|n| is_set(&n.to_string_lossy())).cloned().collect();
            let more = way.equip(own, private, &mut env, |name| set.iter().any(|set| set == name));
            entries.retain(|entry| !more.iter().any(|other| other.at() == entry.at()));
            entries.extend(more);
        }
        entries.extend(granted.into_iter().map(Entry::Bind));
        if backend == Backend::Seatbelt {
            entries.push(Entry::Private { at: home.clone() });
        }
        let allow = self.shared().policy.allow_hard_links.iter();
        let allow_hard_links = allow.map(|pattern| pattern.value.clone()).collect();
        let rules = ZoneRules { allow_hard_links, keep_names, hidden };
        let rules_hidden: Vec<String> =
            rules.hidden.iter().map(|path| path.display().to_string()).collect();
        let plan = Plan {
            backend,
            entries,
            home,
            network,
            limits,
            watch,
            rules,
            prove: grant.prove().value,
        };
        let mut notes = found.notes;
        notes.extend(left.iter().map(|(name, _)| {
            format!("{name} of the project file is not set where nothing confines commands")
        }));
        if !rules_hidden.is_empty() {
            notes.push(format!(
                "credentials in granted directories are hidden unless sandbox.allow_sensitive has \
                 them: {}",
                rules_hidden.join(", ")
            ));
        }
        notes.extend(way.iter().flat_map(|way| way.notes.clone()));
        Ok(Planned { plan, env, notes, held, way })
    }

    /// Returns what a command may reach.
    pub(super) fn network_of<'a>(&'a self, command: &'a Command) -> &'a policy::Network {
        let judged = command.judged.as_ref().map(|judged| &judged.network);
        judged.unwrap_or(&self.grant().network().value)
    }

    /// Returns how this worker's commands are confined here; finds out by starting
    /// their sandbox. Fails where they would not run.
    pub(super) fn reached(&self) -> Result<&Reached, Error> {
        let reached = &self.enclosure().reached;
        if let Some(known) = reached.get() {
            return Ok(known);
        }
        let command = Command::new(["commands"]);
        let (enclosed, ()) = self.enclosed(&command, |enclosed| {
            enclosed.tree.layers()?;
            Ok(())
        })?;
        Ok(reached.get_or_init(|| Reached {
            confinement: Confinement::without(&enclosed.lost()),
            plan: enclosed.tree.plan().clone(),
        }))
    }

    fn home_inside(&self, own: bool) -> Result<PathBuf, Error> {
        let home = self.grant().view().home();
        match (self.grant().view().locate(home), own) {
            (Some(Spot::In { .. }), true) => Ok(PathBuf::from(home.to_string())),
            (Some(Spot::In { .. }), false) => self.resolve(&home.to_string()),
            (_, true) => Ok(PathBuf::from(HOME)),
            (_, false) => {
                let name = format!("zonekeep-{}", self.shared().id);
                Ok(std::env::temp_dir().join(name))
            }
        }
    }

    /// Returns the zones that exist, with the number of the mount of each.
    pub(crate) fn zone_binds(&self, own: bool) -> Vec<(usize, Bind)> {
        let mut binds = Vec::new();
        for (number, mount) in self.grant().view().mounts().iter().enumerate() {
            let Backing::Host(ground) = self.backing(number) else { continue };
            let Some(identity) = ground.identity() else { continue };
            // What never happens by file tools does not happen by commands.
            if mount.zone.approval.read.value == Approval::Blocked {
                continue;
            }
            let (device, inode) = identity;
            let bind = Bind {
                host: ground.real.clone(),
                at: match own {
                    true => PathBuf::from(mount.path().to_string()),
                    false => ground.real.clone(),
                },
                access: if mount.zone.commands_write() { Access::Rw } else { Access::Ro },
                role: Role::Zone,
                identity: Some(Identity { device, inode }),
            };
            binds.push((number, bind));
        }
        binds
    }

    /// Returns the directories of the host that commands could write.
    pub(super) fn writable_hosts(&self) -> Vec<PathBuf> {
        let zones = self.grant().view().mounts().iter().enumerate();
        let zones = zones.filter(|(_, mount)| mount.zone.mode.value == Mode::Rw);
        let zones = zones.filter_map(|(number, _)| match self.backing(number) {
            Backing::Host(ground) => Some(ground.real.clone()),
            Backing::Memory(_) => None,
        });
        let places = self.places().iter().filter(|place| place.access == Access::Rw);
        zones.chain(places.map(|place| place.host.clone())).collect()
    }

    /// Makes the zones that do not exist yet, for a command that may write there.
    fn make_zones(&self) -> Result<(), Error> {
        for (number, mount) in self.grant().view().mounts().iter().enumerate() {
            let name = mount.path().to_string();
            self.backing(number).make().map_err(|fault| Error::failed("use", &name, fault))?;
        }
        Ok(())
    }

    /// Returns the running sandbox for a command after doing the first thing in
    /// it; starts one if there is none, and the strongest that works.
    pub(super) fn enclosed<T>(
        &self,
        command: &Command,
        first: impl Fn(&Arc<Enclosed>) -> Result<T, Failed>,
    ) -> Result<(Arc<Enclosed>, T), Error> {
        let network = self.network_of(command).clone();
        let slot = self.enclosure().slot(Kind { git: command.configures_git(), network });
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        // A command with a tighter limit on private files or on the network has a
        // tree of its own.
        let shares = |tmp| self.grant().limits().tmp.is_some_and(|usual| usual <= tmp);
        let limits = &command.limits;
        let shares = limits.tmp.is_none_or(shares)
            && [limits.network_in, limits.network_out, limits.connections] == [None; 3];
        let demand = self.demand(command);
        if let Some(enclosed) = held.as_ref().filter(|_| shares) {
            // What was accepted for another command is not for this one.
            if demand != Demand::Any
                && enclosed.tree.layers().is_ok()
                && let Some(why) = enclosed.lost_words()
            {
                let tried = vec![(enclosed.tree.plan().backend, why)];
                return Err(Error::unused(command, Unconfined { demand, tried }));
            }
            if enclosed.tree.plan().prove {
                prove(&enclosed.tree)
                    .map_err(|why| Error::unconfined_because(&command.line(), why))?;
            }
            match first(enclosed) {
                // It was ended from outside: a new one is started below.
                Err(Failed::Gone | Failed::Socket { .. }) => {}
                Err(failed) => return Err(Error::unconfined(&command.line(), &failed)),
                Ok(value) => return Ok((Arc::clone(enclosed), value)),
            }
        }
        self.make_zones()?;
        let confine = &self.shared().confine;
        let launcher = confine.launcher.clone().or_else(Launcher::find).ok_or_else(|| {
            let why =
                "no launcher was found: put `zonekeep` in PATH, or name one in ZONEKEEP_LAUNCHER";
            Error::unconfined_because(&command.line(), why.to_owned())
        })?;
        let started = ladder::descend(
            ladder::candidates(self.grant().backend().value),
            |backend| probe::probe(backend, &launcher).available,
            |backend| {
                let planned = self.planned(backend, command).map_err(Miss::Failed)?;
                let tried = self.try_backend(planned, command, demand, &launcher, &first);
                tried.map_err(|miss| match miss {
                    Miss::Unavailable(why) => Miss::Unavailable(why),
                    Miss::Weak(why) => Miss::Weak(why),
                    Miss::Failed(failed) => {
                        Miss::Failed(Error::unconfined(&command.line(), &failed))
                    }
                })
            },
        );
        match started {
            Ok((enclosed, value)) => {
                self.shared().trees.add(&enclosed);
                if shares {
                    *held = Some(Arc::clone(&enclosed));
                }
                Ok((enclosed, value))
            }
            Err(Unused::Failed(error)) => Err(error),
            Err(Unused::Tried(tried)) => Err(Error::unused(command, Unconfined { demand, tried })),
        }
    }

    fn try_backend<T>(
        &self,
        planned: Planned,
        command: &Command,
        demand: Demand,
        launcher: &Launcher,
        first: &impl Fn(&Arc<Enclosed>) -> Result<T, Failed>,
    ) -> Result<(Arc<Enclosed>, T), Miss<Failed>> {
        // Held until the sandbox stands: their numbers must not be given to others.
        let Planned { mut plan, mut env, way, held: _held, .. } = planned;
        let backend = plan.backend;
        let proves = plan.prove;
        let unavailable = |failed: &Failed| {
            let why = probe::explain(backend, failed).why;
            Miss::Unavailable(why.unwrap_or_else(|| failed.to_string()))
        };
        if backend == Backend::None && demand != Demand::Any {
            return Err(Miss::Weak("it is no OS sandbox".to_owned()));
        }
        // Where nothing confines commands by choice, no rule is there to be broken; where
        // nothing stands in for Landlock, it does not run what that would refuse.
        let chosen = self.grant().backend().value == policy::BackendChoice::None;
        if let Some(zone) = unholdable(&plan).filter(|_| !chosen) {
            let zone = zone.host.display();
            return Err(Miss::Unavailable(format!(
                "{zone} is read-only inside a directory that can be written, which it cannot hold"
            )));
        }
        if (backend == Backend::Landlock || backend == Backend::None && !chosen)
            && let Some(hidden) = plan.rules.hidden.first()
        {
            let hidden = hidden.display();
            return Err(Miss::Weak(format!(
                "{hidden} holds credentials, which it cannot hide in a granted directory; grant \
                 another one, or list a pattern in sandbox.allow_sensitive"
            )));
        }
        let no_gate = |error: std::io::Error| {
            Miss::Failed(Failed::Step {
                step: "open the way to the network".to_owned(),
                errno: error.raw_os_error(),
                why: error.to_string(),
            })
        };
        let mut door = way.map(|way| self.door(way, &command.limits));
        if let (Some(door), false) = (&mut door, backend.has_own_tree()) {
            door.open_on_host(&mut plan, &mut env).map_err(no_gate)?;
        }
        let activity = self.shared().busy.activity(self.shared().state.as_ref());
        let tree = Tree::start_for(plan, launcher, activity);
        let tree = tree.map_err(|failed| unavailable(&failed))?;
        let enclosed = Arc::new(Enclosed {
            door,
            tree,
            weaker: OnceLock::new(),
            told_shared: AtomicBool::new(false),
            env,
        });
        let tree = &enclosed.tree;
        if self.shared().confine.strict {
            tree.layers().map_err(|failed| unavailable(&failed))?;
            if !enclosed.weaker().is_empty() {
                return Err(Miss::Weak(words(enclosed.weaker())));
            }
        }
        // A sandbox that holds the essential rules whenever it stands need not be
        // waited for: the command is on its way meanwhile.
        if demand != Demand::Any && !strength::lost(tree.plan(), None).is_empty() {
            tree.layers().map_err(|failed| unavailable(&failed))?;
            if let Some(why) = enclosed.lost_words() {
                return Err(Miss::Weak(why));
            }
        }
        if proves {
            prove(tree).map_err(Miss::Weak)?;
        }
        let value = match first(&enclosed) {
            Ok(value) => value,
            Err(failed) => {
                return Err(match enclosed.tree.layers() {
                    Err(failed) => unavailable(&failed),
                    Ok(_) => Miss::Failed(failed),
                });
            }
        };
        // It is listened on already: what connects meanwhile waits.
        if let (Some(door), true) = (&enclosed.door, backend.has_own_tree()) {
            let sockets = enclosed.tree.sockets().map_err(Miss::Failed)?;
            door.open(sockets).map_err(no_gate)?;
        }
        Ok((enclosed, value))
    }

    /// Returns where a command starts, in the working directory unless `given`: as
    /// the agent sees it, and in its tree.
    ///
    /// Where commands see host paths there is no directory that holds all zones: one
    /// that would start there starts in the first zone.
    pub(crate) fn start_dir(
        &self,
        plan: &Plan,
        given: Option<&str>,
    ) -> Result<(String, PathBuf), Error> {
        let usual = self.working_dir().to_string();
        let given = given.unwrap_or(&usual);
        // A directory that lies at its own host path.
        let path = Path::new(given);
        if path.is_absolute()
            && plan.zones().any(|zone| zone.host == zone.at && path.starts_with(&zone.at))
        {
            return Ok((given.to_owned(), path.to_owned()));
        }
        let shown = self.shown_path(given);
        let agent = AgentPath::absolute(&shown).map_err(|_| Error::from(self.outside(given)))?;
        match (self.grant().view().locate(&agent), plan.backend.has_own_tree()) {
            (Some(_), true) => Ok((shown.clone(), PathBuf::from(shown))),
            (Some(Spot::In { .. }), false) => Ok((shown.clone(), self.resolve(&shown)?)),
            (Some(Spot::Root), false) => {
                Ok(self.first_dir(plan).unwrap_or((shown, plan.home.clone())))
            }
            _ => Err(self.outside(given).into()),
        }
    }

    fn first_dir(&self, plan: &Plan) -> Option<(String, PathBuf)> {
        let zone = self.zone_binds(false).into_iter().next().map(|(number, bind)| {
            (self.grant().view().mounts()[number].path().to_string(), bind.host)
        });
        let place = plan.zones().next();
        zone.or_else(|| place.map(|place| (place.at.display().to_string(), place.host.clone())))
    }
}

/// Returns a read-only zone in a writable one that the backend cannot hold: for
/// Landlock alone, what a directory above allows is allowed; bubblewrap lets the
/// directories between be moved away.
fn unholdable(plan: &Plan) -> Option<&Bind> {
    let is_inside = |zone: &Bind| {
        let mut above = plan.zones().filter(|above| above.access == Access::Rw);
        above.any(|above| zone.host.starts_with(&above.host))
    };
    let mut zones = plan.zones().filter(|zone| zone.access == Access::Ro);
    let weak = matches!(plan.backend, Backend::Landlock | Backend::Bubblewrap | Backend::None);
    zones.find(|zone| weak && is_inside(zone))
}

fn words(rows: &[Strength]) -> String {
    rows.iter().map(lack).collect::<Vec<_>>().join("; ")
}

/// Runs the self-probe; fails with what does not hold.
pub(super) fn prove(tree: &Tree) -> Result<(), String> {
    let report = zonekeep_confine::prove::prove(tree).map_err(|failed| failed.to_string())?;
    let failed: Vec<&str> = report.broken().map(|check| check.name.as_str()).collect();
    match failed.is_empty() {
        true if !report.holds() => Err("the self-probe tried nothing".to_owned()),
        true => Ok(()),
        false => Err(format!("the self-probe could do what must not work: {}", failed.join(", "))),
    }
}

fn placed(place: &Placed) -> (Bind, Option<std::fs::File>) {
    use std::os::unix::fs::MetadataExt;
    let open = std::fs::File::open(&place.host).ok();
    let meta = open.as_ref().and_then(|open| open.metadata().ok());
    let identity = meta.map(|meta| Identity { device: meta.dev(), inode: meta.ino() });
    let (host, at) = (place.host.clone(), place.host.clone());
    (Bind { host, at, access: place.access, role: Role::Zone, identity }, open)
}

/// Returns three quarters of the machine's memory, in bytes.
pub(crate) fn most_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024 / 4 * 3)
}
