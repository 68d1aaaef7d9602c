//! From what a worker holds to a running sandbox that the kernel enforces.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use zonekeep_confine::ladder::{self, Miss, Unused};
use zonekeep_confine::links::Shared;
use zonekeep_confine::plan::{
    Access, Backend, Bind, Calls, Entry, Identity, Network, Plan, Role, Watch, ZoneRules,
};
use zonekeep_confine::probe;
use zonekeep_confine::runtime::{self, Host, Settings};
use zonekeep_confine::sensitive::{self, Depth};
use zonekeep_confine::strength::{self, Held, Strength};
use zonekeep_confine::tree::{Failed, Launcher, Tree};
use zonekeep_confine::{Caught, Layers};
use zonekeep_files::{HostStore, Store};
use zonekeep_policy::path::escape;
use zonekeep_policy::planted::{Caller, CommandGuards};
use zonekeep_policy::policy;
use zonekeep_policy::zone::system_overlap;
use zonekeep_policy::{AgentPath, Approval, At, Mode, RelPath, Spot};

use super::exit::Door;
use super::forward::{DIALERS, Forward, Listening};
use super::outside::Way;
use super::weaker::{Confinement, Demand, lack};
use super::{Command, Placed, room};
use crate::agent::{self, Lasting};
use crate::caches;
use crate::error::Error;
use crate::explain::run::HostLine;
use crate::ground::hidden;
use crate::sandbox::Sandbox;
use crate::session::Backing;

/// The home directory inside, unless a zone is named for it or it has the host's path.
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
    /// Whether commands use the worker's secrets.
    secrets: bool,
    /// Whose commands they are: guarded files are held to another level.
    caller: Caller,
    /// Guarded files that somebody has said yes to.
    approved: Vec<RelPath>,
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be shown: nothing is made.
    Explain,
    /// To be carried out.
    Run,
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

    /// Returns the private `/tmp` of the sandbox that was used last, where one stands.
    pub(crate) fn tmp(&self) -> Option<Arc<dyn Store>> {
        let tmp =
            self.running().find_map(|enclosed| enclosed.tree.tmp()?.try_clone_to_owned().ok());
        Some(Arc::new(HostStore::from_fd(tmp?)))
    }

    /// Returns the private `/tmp` of a sandbox for another one.
    fn spare_tmp(&self) -> Option<OwnedFd> {
        self.running().find_map(|enclosed| enclosed.tree.spare_tmp())
    }

    /// Returns the sandboxes that run, the one that was used last first.
    fn running(&self) -> impl Iterator<Item = Arc<Enclosed>> {
        let trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let slots: Vec<_> = trees.iter().rev().map(|(_, slot)| Arc::clone(slot)).collect();
        drop(trees);
        // One that is being started is locked.
        slots.into_iter().filter_map(|slot| slot.try_lock().ok()?.clone())
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
        let mut known: Vec<Caught> = Vec::new();
        for tree in trees {
            match if last { tree.tree.finish() } else { tree.tree.settle() } {
                // One that has ended has nothing more to tell.
                Err(Failed::Gone | Failed::Socket { .. }) => settled.complete = false,
                mut told => {
                    settled.complete &= told.is_ok();
                    if let Ok(caught) = &mut told {
                        // Each keeper sees the changes of every command.
                        caught.retain(|one| one.id.is_some() || !known.contains(one));
                        known.extend(caught.iter().cloned());
                    }
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
    /// Ports that lead in.
    forward: OnceLock<Forward>,
    /// The sandbox.
    pub tree: Tree,
    weaker: OnceLock<Vec<Strength>>,
    /// Whether files that are shared with others outside were told of.
    told_shared: AtomicBool,
    /// Whether files beside granted directories were told of.
    told_left: AtomicBool,
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

    /// Returns a note about what commands put beside granted directories, the first time.
    pub(super) fn left_beside(&self) -> Option<String> {
        let left = self.tree.left_beside();
        let (first, more) = (left.first()?, left.len() - 1);
        if self.told_left.swap(true, Ordering::Relaxed) {
            return None;
        }
        // A command chose the name, and a line break in it would begin another note.
        let name = escape(first.as_os_str().as_bytes());
        let (who, verb) = match more {
            0 => (format!("'{name}'"), "is"),
            more => (format!("'{name}' and {more} more"), "are"),
        };
        let dir = escape(first.parent().unwrap_or(first).as_os_str().as_bytes());
        Some(format!(
            "Note: {who} {verb} in the sandbox alone, and gone when it ends: '{dir}' is not granted."
        ))
    }

    /// Returns a note about repositories that commands could not remove as a whole.
    pub(super) fn half_removed(&self) -> Option<String> {
        let found = self.tree.half_removed();
        let (tree, more) = (found.first()?, found.len() - 1);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Some(format!(
            "Note: The git repository '{tree}'{more} is removed but for guarded files, such as \
             '.git/config', which are read-only for commands. The user can remove the rest."
        ))
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
        self.planned(backend, command, Purpose::Explain)
    }

    /// Returns the backend that a command would use, of those that are offered.
    pub(crate) fn preferred(&self, offers: &[probe::Offer]) -> Backend {
        let choice = self.grant().backend().value;
        let first = ladder::candidates(choice).first().copied();
        ladder::pick(choice, offers).or(first).unwrap_or(Backend::None)
    }

    fn planned(
        &self,
        backend: Backend,
        command: &Command,
        purpose: Purpose,
    ) -> Result<Planned, Error> {
        let grant = self.grant();
        let own = backend.has_own_tree();
        let wanted = self.network_of(command);
        let way = self.way(wanted, self.has_secrets(command));
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
        let home = self.home_inside(own, &granted, &keep_names)?;
        let home_is_granted = granted.iter().any(|bind| home.starts_with(&bind.at));
        let private_home = (!home_is_granted).then_some(home.as_path());
        if let Some(zone) = keep_names.iter().find(|at| own && is_private(at, private_home)) {
            let why = format!(
                "deletion is blocked in {}, which cannot be enforced there: every command may \
                 delete in the private directory around it; remove 'at: same' of the zone",
                zone.display()
            );
            return Err(Error::unconfined_because("commands", why));
        }
        let mut hidden = Vec::new();
        let mut doors = Vec::new();
        for bind in &granted {
            let found = self.hidden_in(bind, Depth::All);
            let at = |path: RelPath| bind.at.join(OsStr::from_bytes(path.as_bytes()));
            hidden.extend(found.credentials.into_iter().map(at));
            // Without a tree of its own nothing can be hidden, and sockets are open anyway.
            if own {
                doors.extend(found.doors.into_iter().map(at));
            }
        }
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
            own_tree: own,
            network: &network,
            granted: &own_places,
            pass_env: &grant.pass_env().iter().map(|name| name.value.clone()).collect::<Vec<_>>(),
            env: &set.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        };
        let host = Host { env: &host_env, home: host_home.as_deref(), root: Path::new("/") };
        let kept = self.shared().state.as_ref().and_then(|state| state.make("runtime").ok());
        let found = runtime::find(&host, &settings, kept.as_deref());
        let mut env = found.env;
        env.insert("ZONEKEEP".into(), "1".into());
        if !own {
            env.insert("TMPDIR".into(), home.join("tmp").into());
        }
        let writable = granted.iter().any(|bind| bind.access == Access::Rw);
        let guards = CommandGuards::of(grant.guards(), command.caller());
        let guards = guards.approving(approved(command));
        let git = program("git", &host_env, &granted);
        let watch = match (&self.shared().state, writable) {
            (Some(state), true) => Some(Watch {
                home: host_home.clone().unwrap_or_default(),
                patterns: guards.refused(),
                guards,
                git: git.unwrap_or_default(),
                quarantine: state.make("quarantine").map_err(|error| {
                    let why = format!("the quarantine for guarded files cannot be made: {error}");
                    Error::unconfined_because("commands", why)
                })?,
                git_may_configure: command.configures_git(),
            }),
            _ => None,
        };
        let mut notes = found.notes;
        let mut entries = found.entries;
        // What toolchains share with commands goes into a private home only: in a
        // zone it would have to be made there.
        if home_is_granted {
            entries.retain(|entry| !entry.at().starts_with(&home));
        }
        if own && !home_is_granted {
            self.add_caches(&found.caches, &granted, &mut entries, purpose);
        }
        if let Some(profile) = self.shared().confine.profile.as_ref().filter(|_| own) {
            notes.extend(self.add_agent(profile, &home, &granted, &mut entries, purpose)?);
            env.extend(agent::variables(profile, &home));
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
        let rules = ZoneRules { allow_hard_links, keep_names, ..ZoneRules::default() };
        // A command in the host's own network listens there by itself.
        let forwards = own && network.is_apart() && !self.shared().confine.ports.is_empty();
        let dialers = if forwards { DIALERS } else { 0 };
        let listed = |paths: &[PathBuf]| {
            let names = paths.iter().map(|path| path.display().to_string());
            names.collect::<Vec<_>>().join(", ")
        };
        let (rules_hidden, rules_doors) = (listed(&hidden), listed(&doors));
        let rules = ZoneRules { hidden: [hidden, doors].concat(), ..rules };
        let plan = Plan {
            backend,
            entries,
            home,
            network,
            limits,
            watch,
            rules,
            prove: grant.prove().value,
            calls: self.shared().confine.calls,
            dialers,
        };
        notes.extend(left.iter().map(|(name, _)| {
            format!("{name} of the project file is not set where nothing confines commands")
        }));
        if !rules_hidden.is_empty() {
            notes.push(format!(
                "credentials in granted directories are hidden unless sandbox.allow_sensitive has \
                 them: {rules_hidden}"
            ));
        }
        if !rules_doors.is_empty() {
            notes.push(format!(
                "sockets and named pipes in granted directories are hidden unless \
                 sandbox.allow_sensitive has them: {rules_doors}"
            ));
        }
        notes.extend(way.iter().flat_map(|way| way.notes.clone()));
        Ok(Planned { plan, env, notes, held, way })
    }

    /// Returns the entries of a granted directory that are hidden.
    fn hidden_in(&self, bind: &Bind, depth: Depth) -> sensitive::Found {
        let hidden = hidden(&self.shared().policy, &bind.host);
        sensitive::find(&bind.host, bind.access, &hidden, depth)
    }

    /// Returns whether a running sandbox shows credentials that did not exist when it was
    /// started. Those further down are found when the next sandbox is started.
    fn shows_credentials(&self, plan: &Plan) -> bool {
        let is_hidden = |path: &Path| plan.rules.hidden.iter().any(|own| path.starts_with(own));
        // A socket that appeared since may be one of a command in this very sandbox.
        plan.zones().any(|bind| {
            let found = self.hidden_in(bind, Depth::Top).credentials.into_iter();
            let mut at = found.map(|path| bind.at.join(OsStr::from_bytes(path.as_bytes())));
            at.any(|path| !is_hidden(&path))
        })
    }

    /// Returns what a command may reach.
    pub(super) fn network_of<'a>(&'a self, command: &'a Command) -> &'a policy::Network {
        let judged = command.judged.as_ref().map(|judged| &judged.network);
        judged.unwrap_or(&self.grant().network().value)
    }

    /// Returns whether a command may use secrets, where the worker has any.
    fn has_secrets(&self, command: &Command) -> bool {
        let judged = command.judged.as_ref().is_none_or(|judged| judged.secrets);
        judged && !self.grant().secrets().is_empty()
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

    fn home_inside(
        &self,
        own: bool,
        granted: &[Bind],
        keep_names: &[PathBuf],
    ) -> Result<PathBuf, Error> {
        let home = self.grant().view().home();
        match (self.grant().view().locate(home), own) {
            (Some(Spot::In { .. }), true) => Ok(home.as_host()),
            (Some(Spot::In { .. }), false) => self.resolve(&home.to_string()),
            (_, true) => {
                let host = std::env::home_dir();
                let host = host.filter(|home| is_own_home(home, granted, keep_names));
                Ok(host.unwrap_or_else(|| PathBuf::from(HOME)))
            }
            (_, false) => {
                let name = format!("zonekeep-{}", self.shared().id);
                Ok(std::env::temp_dir().join(name))
            }
        }
    }

    /// Adds the caches that outlive the sandbox, and makes those that are missing unless the
    /// plan is only looked at.
    ///
    /// Where the host's own cache is shown, read-only, an empty one would hide it, and one
    /// with content takes its place. A worker that has read untrusted content, or will,
    /// writes to none: others would execute it.
    fn add_caches(
        &self,
        caches: &[(String, PathBuf)],
        granted: &[Bind],
        entries: &mut Vec<Entry>,
        purpose: Purpose,
    ) {
        let shared = self.shared();
        let Some(state) = &shared.state else { return };
        if self.keeps() == Lasting::Session {
            return;
        }
        let owner = self.owner(granted);
        // A sandbox without a cache is slower, and no less of a sandbox.
        if purpose == Purpose::Run && !caches.is_empty() && owner.note_use(state).is_err() {
            return;
        }
        for (name, at) in caches {
            let meets = |bind: &Bind| bind.at.starts_with(at) || at.starts_with(&bind.at);
            let covers = |entry: &Entry| matches!(entry, Entry::Bind(bind) if bind.at != *at && at.starts_with(&bind.at));
            let host = owner.path(state, name);
            let is_shown = |entry: &Entry| entry.at().starts_with(at);
            if granted.iter().any(meets)
                || entries.iter().any(covers)
                || entries.iter().any(is_shown) && caches::is_empty(&host)
            {
                continue;
            }
            if purpose == Purpose::Run && owner.open(state, name).is_err() {
                continue;
            }
            let identity = identity(&host);
            if identity.is_none() && purpose == Purpose::Run {
                continue;
            }
            entries.retain(|entry| !is_shown(entry));
            let (at, access, role) = (at.clone(), Access::Rw, Role::Cache);
            entries.push(Entry::Bind(Bind { host, at, access, role, identity }));
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
                    true => mount.path().as_host(),
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
        let (git, secrets) = (command.configures_git(), self.has_secrets(command));
        let caller = command.caller();
        let approved = approved(command).to_vec();
        let slot = self.enclosure().slot(Kind { git, network, secrets, caller, approved });
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let shares = self.shares_tree(command);
        let demand = self.demand(command);
        if held.as_ref().is_some_and(|enclosed| self.shows_credentials(enclosed.tree.plan())) {
            // Commands that still run in it keep it.
            *held = None;
        }
        if let Some(enclosed) = held.as_ref().filter(|_| shares) {
            // What was accepted for another command is not for this one.
            if demand != Demand::Any
                && enclosed.tree.layers().is_ok()
                && let Some(why) = enclosed.lost_words()
            {
                let tried = vec![(enclosed.tree.plan().backend, why)];
                return Err(Error::unused(command, self.unconfined(demand, tried)));
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
                let planned = self.planned(backend, command, Purpose::Run).map_err(Miss::Failed)?;
                room::check(&planned.plan, command).map_err(Miss::Failed)?;
                let tried = self.try_backend(planned, command, demand, &launcher, &first);
                tried.map_err(|miss| match miss {
                    Miss::Unavailable(why) => Miss::Unavailable(why),
                    Miss::Unbuilt { missing, failed } => {
                        let failed = Error::unbuilt(&command.line(), &failed);
                        Miss::Unbuilt { missing, failed }
                    }
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
            Err(Unused::Tried(tried)) => {
                Err(Error::unused(command, self.unconfined(demand, tried)))
            }
        }
    }

    /// Returns whether a command can use the tree of others: one with a tighter limit on
    /// private files or on the network has a tree of its own.
    fn shares_tree(&self, command: &Command) -> bool {
        let limits = &command.limits;
        let is_usual = |tmp| self.grant().limits().tmp.is_some_and(|usual| usual <= tmp);
        limits.tmp.is_none_or(is_usual)
            && [limits.network_in, limits.network_out, limits.connections] == [None; 3]
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
        let unbuilt = |failed: Failed| {
            let why = probe::explain(backend, &failed).why;
            Miss::Unbuilt { missing: why.unwrap_or_else(|| failed.to_string()), failed }
        };
        if backend == Backend::None && demand != Demand::Any {
            return Err(Miss::Weak("it is no OS sandbox".to_owned()));
        }
        // Where nothing confines commands by choice, no rule is there to be broken; where
        // nothing stands in for Landlock, it does not run what that would refuse.
        let chosen = self.grant().backend().value == policy::BackendChoice::None;
        let own = backend.has_own_tree();
        if let Some(zone) = unholdable(&plan).filter(|_| !chosen) {
            let zone = zone.host.display();
            return Err(Miss::Unavailable(format!(
                "{zone} is read-only inside a directory that can be written, which it cannot hold"
            )));
        }
        if self.shared().confine.profile.is_some() && !own {
            return Err(Miss::Weak("an agent needs a home directory of its own".to_owned()));
        }
        let ports = &self.shared().confine.ports;
        if !ports.is_empty() && !own && !chosen {
            return Err(Miss::Weak(
                "it has no network of its own for --port to lead to".to_owned(),
            ));
        }
        let listening = (plan.dialers > 0).then(|| Listening::open(ports)).transpose();
        let listening = listening.map_err(|(port, error)| {
            Miss::Failed(Failed::Step {
                step: format!("listen on 127.0.0.1:{port}"),
                errno: error.raw_os_error(),
                why: error.to_string(),
            })
        })?;
        if plan.calls == Calls::Debug && !own && !chosen {
            return Err(Miss::Weak("debuggers need processes of their own".to_owned()));
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
        // Commands find the files of the worker's other commands.
        let shares = backend == Backend::Namespaces && self.shares_tree(command);
        let tmp = if shares { self.enclosure().spare_tmp() } else { None };
        let tree = Tree::start_for(plan, launcher, activity, tmp);
        let tree = tree.map_err(unbuilt)?;
        let enclosed = Arc::new(Enclosed {
            door,
            forward: OnceLock::new(),
            tree,
            weaker: OnceLock::new(),
            told_shared: AtomicBool::new(false),
            told_left: AtomicBool::new(false),
            env,
        });
        let tree = &enclosed.tree;
        if self.shared().confine.strict {
            tree.layers().map_err(unbuilt)?;
            if !enclosed.weaker().is_empty() {
                return Err(Miss::Weak(words(enclosed.weaker())));
            }
        }
        // A sandbox that holds the essential rules whenever it stands need not be
        // waited for: the command is on its way meanwhile.
        if demand != Demand::Any && !strength::lost(tree.plan(), None).is_empty() {
            tree.layers().map_err(unbuilt)?;
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
                    Err(failed) => unbuilt(failed),
                    Ok(_) => Miss::Failed(failed),
                });
            }
        };
        // It is listened on already: what connects meanwhile waits.
        if own && (enclosed.door.is_some() || listening.is_some()) {
            let mut sockets = enclosed.tree.sockets().map_err(Miss::Failed)?;
            let gate = sockets.len() - 2 * usize::from(enclosed.tree.plan().dialers);
            let dialers = sockets.split_off(gate);
            if let Some(door) = &enclosed.door {
                door.open(sockets).map_err(no_gate)?;
            }
            if let Some(listening) = listening {
                let forward = listening.lead_to(dialers).map_err(no_gate)?;
                let _ = enclosed.forward.set(forward);
            }
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
            (Some(_), true) => Ok((shown, agent.as_host())),
            (Some(Spot::In { .. }), false) => Ok((shown.clone(), self.resolve(&shown)?)),
            (Some(Spot::Root), false) => {
                Ok(self.first_dir(plan).unwrap_or((shown, plan.home.clone())))
            }
            _ => Err(self.outside(given).into()),
        }
    }

    /// Returns how a command names a directory of the host that lies in a zone it gets.
    pub fn command_path(&self, host: &Path) -> Option<String> {
        let zones = self.zone_binds(true);
        let inside = zones.iter().any(|(_, zone)| host.starts_with(&zone.host));
        inside.then(|| self.agent_path(host)).flatten().map(|path| path.to_string())
    }

    fn first_dir(&self, plan: &Plan) -> Option<(String, PathBuf)> {
        let zone = self.zone_binds(false).into_iter().next().map(|(number, bind)| {
            (self.grant().view().mounts()[number].path().to_string(), bind.host)
        });
        let place = plan.zones().next();
        zone.or_else(|| place.map(|place| (place.at.display().to_string(), place.host.clone())))
    }
}

/// Returns whether the home directory inside has the host's path, with private content: where
/// something else has its own path too, so that what is built on one side names the same
/// directories as on the other.
fn is_own_home(home: &Path, granted: &[Bind], keep_names: &[PathBuf]) -> bool {
    // Toolchains behind a link in the way are placed where it leads to, and need the link.
    let plain = std::fs::canonicalize(home).is_ok_and(|real| real == home);
    // In a granted directory it would be the host's own.
    let in_granted = granted.iter().any(|bind| home.starts_with(&bind.at));
    let unkept = !keep_names.iter().any(|at| at.starts_with(home));
    let own = granted.iter().any(|bind| bind.at == bind.host);
    own && plain && !in_granted && unkept && system_overlap(home).is_none()
}

/// Returns the guarded files that somebody has said yes to for a command.
fn approved(command: &Command) -> &[RelPath] {
    command.judged.as_ref().map_or(&[], |judged| &judged.guarded)
}

/// Returns whether a path of the tree lies in a private directory. Commands have the right
/// to delete there, and Landlock adds up the rights of all directories above a file.
fn is_private(at: &Path, home: Option<&Path>) -> bool {
    let usual = ["/tmp", "/run", "/dev/shm"].map(Path::new);
    usual.into_iter().chain(home).any(|dir| at.starts_with(dir))
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
    let open = std::fs::File::open(&place.host).ok();
    let meta = open.as_ref().and_then(|open| open.metadata().ok());
    let identity = meta.as_ref().map(identity_of);
    let (host, at) = (place.host.clone(), place.host.clone());
    (Bind { host, at, access: place.access, role: Role::Zone, identity }, open)
}

pub(super) fn identity(path: &Path) -> Option<Identity> {
    std::fs::symlink_metadata(path).ok().as_ref().map(identity_of)
}

fn identity_of(meta: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity { device: meta.dev(), inode: meta.ino() }
}

/// Returns three quarters of the machine's memory, in bytes.
pub(crate) fn most_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024 / 4 * 3)
}
/// Returns the program of that name in the user's search path, unless commands can write it.
fn program(name: &str, env: &BTreeMap<OsString, OsString>, granted: &[Bind]) -> Option<PathBuf> {
    let writable = |path: &Path| {
        let below = |bind: &Bind| bind.access == Access::Rw && path.starts_with(&bind.host);
        granted.iter().any(below)
    };
    let dirs = env.get(OsStr::new("PATH"))?;
    let dirs = std::env::split_paths(dirs).filter(|dir| dir.is_absolute());
    let mut found = dirs.filter_map(|dir| dir.join(name).canonicalize().ok());
    found.find(|path| path.is_file() && !writable(path))
}
