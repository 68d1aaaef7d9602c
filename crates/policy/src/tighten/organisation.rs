//! The organisation's file: bounds that every project, user and flag can only narrow.
//!
//! A key that the file does not have bounds nothing, and a key that it has grants nothing:
//! the rules that hold are those of the project, and where they are looser than the bound,
//! the bound. Each value that comes from it names its line there, so that reports and
//! explanations lead to the organisation's file and not to the project's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Compared, Withheld, backend_holds, consent_holds, tool_rank};
use crate::config::{self, Node, Problem};
use crate::guard::{Guard, Guards, is_in_repository};
use crate::hosts;
use crate::limit::Limits;
use crate::policy::{Audit, Consent, Network, OsSandbox, Policy, Shell, ShellRule, ToolRule};
use crate::run::RunDefaults;
use crate::shell::ShellMode;
use crate::source::{At, Ruled};
use crate::taint::WhenTainted;
use crate::zone::{Approval, Mode, Zone};

/// The organisation's bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organisation {
    file: String,
    policy: Policy,
    /// The keys that the file has, empty lists included.
    keys: BTreeSet<&'static str>,
    /// The file as it was read, to know another version of it.
    root: Option<Node>,
}

/// Rules that are within the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// The rules.
    pub policy: Policy,
    /// The keys that were looser, with where the project or a flag says so.
    pub narrowed: Vec<Withheld>,
}

/// A directory that the organisation does not let agents have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Beyond {
    /// No zone of the organisation's file holds it.
    #[error("{} is in no directory that {file} lets agents use", path.display())]
    Elsewhere {
        /// The directory.
        path: PathBuf,
        /// The organisation's file.
        file: String,
    },
    /// The organisation's file has stricter rules for a part of it.
    #[error("{} holds {}, for which {at} has stricter rules", path.display(), inner.display())]
    Holds {
        /// The directory.
        path: PathBuf,
        /// The part.
        inner: PathBuf,
        /// The line of the organisation's file.
        at: At,
    },
    /// The organisation's file has a rule that does not fit the use of the directory.
    #[error("{} cannot be used like this: {at} bounds it by `{bound}`", path.display())]
    Stricter {
        /// The directory.
        path: PathBuf,
        /// The bound.
        bound: &'static str,
        /// The line of the organisation's file.
        at: At,
    },
}

impl Organisation {
    /// Reads an organisation's file; `file` is its path as it is shown.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<Problem>> {
        let (policy, keys, root) = config::organisation(text, file)?;
        Ok(Organisation { file: file.to_owned(), policy, keys, root })
    }

    /// Returns whether two versions of a file have the same rules, comments and lines aside.
    pub fn same_rules(&self, other: &Organisation) -> bool {
        match (&self.root, &other.root) {
            (Some(own), Some(other)) => own.same_value(other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Returns the path of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the keys that it bounds.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        let for_people = ["name", "version", "description"];
        self.keys.iter().copied().filter(move |key| !for_people.contains(key))
    }

    /// Returns where the file says that questions must not be answered unseen, if it does.
    pub fn wants_answers(&self) -> Option<&At> {
        let mode = &self.policy.consent;
        (self.has("approval.mode") && mode.value != Consent::Auto).then_some(&mode.at)
    }

    /// Returns where the file says that an operating-system sandbox must enforce all rules,
    /// if it does.
    pub fn wants_sandbox(&self) -> Option<&At> {
        let required = &self.policy.require_os_sandbox;
        (required.value == OsSandbox::Required && required.is_written()).then_some(&required.at)
    }

    /// Returns the line that narrowed a key of bounded rules, or the closest one above it.
    pub fn line(&self, policy: &Policy, key: &str) -> At {
        // Zones are bounded by their places: their names mean nothing here.
        if let Some(zone) = policy.zones.iter().find(|zone| zone.key == key) {
            let mut lines = bounds_of(zone).into_iter().flatten();
            let is_own = |at: &&At| at.file_line().is_some_and(|(file, _)| file == self.file);
            return lines.find(is_own).cloned().unwrap_or_default();
        }
        let (mut node, mut at) = (self.root.as_ref(), At::Default);
        for name in key.split('.') {
            let found = node.and_then(|node| node.entries().find(|(key, _)| key.text == name));
            let Some((key, value)) = found else { break };
            (node, at) = (Some(value), key.mark.at());
        }
        at
    }

    fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Returns rules within the bounds. Zones are bounded by their real paths: see
    /// [`Organisation::zone`].
    pub fn bound(self: &Arc<Self>, policy: &Policy) -> Bounded {
        let own = &self.policy;
        let mut compared = Compared::default();
        let mut kept = policy.clone();
        kept.organisations = both(&kept.organisations, std::slice::from_ref(self));
        // Every field is named: a new one needs a bound, or to be refused in the file.
        let Policy {
            project: _,
            file: _,
            layout: _,
            root: _,
            zones: _,
            working_dir: _,
            home: _,
            network,
            secrets,
            pass_env,
            env: _,
            require_os_sandbox,
            limits,
            limit_lines,
            backend,
            prove,
            caches,
            guards,
            allow_hard_links,
            allow_sensitive,
            consent,
            max_depth,
            run,
            model: _,
            prices: _,
            when_tainted,
            tools,
            tool_rules: _,
            shell: _,
            shell_before: _,
            audit,
            organisations: _,
        } = policy;
        if self.has("sandbox.network") {
            kept.network = compared.meet("sandbox.network", &own.network, network);
            for rule in rules_of(&mut kept) {
                let grants = Ruled::new(std::mem::take(&mut rule.grants), rule.at.clone());
                rule.grants = compared.meet("shell.rules.grants", &own.network, &grants).value;
            }
        }
        if self.has("sandbox.secrets") {
            for (name, secret) in secrets {
                let within = own.secrets.get(name).is_some_and(|Ruled { value: held, .. }| {
                    (&held.env, &held.header) == (&secret.value.env, &secret.value.header)
                        && secret.value.hosts.iter().all(|host| held.hosts.contains(host))
                });
                if !within {
                    compared.withhold(format!("sandbox.secrets.{name}"), Some(&secret.at));
                    kept.secrets.remove(name);
                }
            }
        }
        if self.has("sandbox.pass_env") {
            kept.pass_env = compared.listed("sandbox.pass_env", &own.pass_env, pass_env);
        }
        if self.has("sandbox.allow_hard_links") {
            let key = "sandbox.allow_hard_links";
            kept.allow_hard_links = compared.listed(key, &own.allow_hard_links, allow_hard_links);
        }
        if self.has("sandbox.allow_sensitive") {
            let key = "sandbox.allow_sensitive";
            kept.allow_sensitive = compared.listed(key, &own.allow_sensitive, allow_sensitive);
        }
        if self.has("sandbox.require_os_sandbox") {
            let (key, held) = ("sandbox.require_os_sandbox", &own.require_os_sandbox);
            kept.require_os_sandbox =
                compared.kept(key, held, require_os_sandbox, |old, new| new >= old);
        }
        if self.has("sandbox.backend") {
            kept.backend = compared.kept("sandbox.backend", &own.backend, backend, backend_holds);
            kept.when_tainted.backend = when_tainted.backend.as_ref().map(|tainted| {
                compared.kept("when_tainted.backend", &own.backend, tainted, backend_holds)
            });
        }
        if self.has("sandbox.prove") {
            kept.prove = compared.kept("sandbox.prove", &own.prove, prove, |old, new| new >= old);
        }
        if self.has("sandbox.caches") {
            let key = "sandbox.caches";
            kept.caches = compared.kept(key, &own.caches, caches, |old, new| new >= old);
        }
        if self.has("sandbox.guard") {
            kept.guards = compared.guards_bound(&own.guards, guards);
        }
        if self.has("approval.mode") {
            let key = "approval.mode";
            kept.consent = compared.kept(key, &own.consent, consent, consent_holds);
        }
        if self.has("audit") {
            kept.audit = compared
                .kept("audit", &own.audit, audit, |old, new| old == new || *new == Audit::Required);
        }
        if own.max_depth.is_written() {
            let key = "delegation.max_depth";
            kept.max_depth = compared.kept(key, &own.max_depth, max_depth, |old, new| new <= old);
        }
        kept.run = compared.run_bound(&own.run, run);
        kept.when_tainted = tainted_bound(&own.when_tainted, &kept.when_tainted);
        kept.tools = compared.tools(own.tools.as_ref(), tools.as_ref());
        self.bound_limits(&mut kept, limits, limit_lines, &mut compared);
        self.bound_tools(&mut kept, &mut compared);
        compared.withheld.retain(|key| key.at != At::Default);
        Bounded { policy: kept, narrowed: compared.withheld }
    }

    /// Returns whether rules are within the bounds. After those of another version of the file
    /// they may not be: two approval modes, for one, cannot both hold.
    pub fn holds(self: &Arc<Self>, policy: &Policy) -> bool {
        let organisations = policy.organisations.clone();
        Policy { organisations, ..self.bound(policy).policy } == *policy
    }

    /// Returns whether rules that a project could have would still allow something within
    /// the bounds. Paths of zones are taken as they are written.
    pub(crate) fn allows(
        self: &Arc<Self>,
        policy: &Policy,
        allowed: impl Fn(&Policy) -> bool,
    ) -> bool {
        let mut policy = self.bound(policy).policy;
        if let Some(dirs) = self.dirs() {
            let dirs: Vec<_> = dirs.iter().map(|zone| (zone.path.value.clone(), zone)).collect();
            let zones = policy.zones.iter();
            let within =
                |zone: &Zone| self.zone(zone, &policy.project.join(&zone.path.value), &dirs).ok();
            policy.zones = zones.filter_map(within).collect();
        }
        allowed(&policy)
    }

    fn bound_limits(
        &self,
        kept: &mut Policy,
        limits: &Limits,
        lines: &BTreeMap<&'static str, At>,
        compared: &mut Compared,
    ) {
        let held = self.policy.limits.only(self.policy.limit_lines.keys().copied());
        for (name, _) in limits.above(&held) {
            compared.withhold(format!("sandbox.limits.{name}"), lines.get(name));
            // What a flag asks for needs no trust, and so stays the flag's.
            let by_flag = matches!(lines.get(name), Some(At::Flag(_)));
            if let Some(at) = self.policy.limit_lines.get(name).filter(|_| !by_flag) {
                kept.limit_lines.insert(name, at.clone());
            }
        }
        kept.limits = held.tightest(limits);
    }

    fn bound_tools(&self, kept: &mut Policy, compared: &mut Compared) {
        for (tool, held) in &self.policy.tool_rules {
            let wanted = kept.tool_rules.get(tool);
            if tool_rank(wanted) < tool_rank(Some(held)) {
                let at = wanted.and_then(ToolRule::approval).map(|rule| rule.at);
                compared.withhold(format!("tool_rules.{tool}"), at.as_ref());
                kept.tool_rules.insert(tool.clone(), held.clone());
            }
        }
    }

    /// Returns the rules for commands that hold beside a project's, the stricter deciding.
    /// With a default of their own they decide every line. Without, they only come before
    /// the project's, so that lines which they do not name are left to those.
    pub(crate) fn shell(&self, project: &Shell) -> Option<Shell> {
        let own = &self.policy.shell;
        if !self.has("shell") {
            return None;
        }
        // A rule that says nothing of the network leaves it to the project's.
        let unbounded = |rule: &ShellRule| match &rule.grants {
            Network::Off => ShellRule { grants: Network::On, ..rule.clone() },
            _ => rule.clone(),
        };
        let mut rules: Vec<ShellRule> = own.rules.iter().map(unbounded).collect();
        let mode = own.mode.clone().filter(|mode| mode.value == ShellMode::Argv);
        if own.default.is_some() {
            return Some(Shell { mode, rules, ..own.clone() });
        }
        rules.extend(project.rules.iter().cloned());
        Some(Shell { mode, rules, ..project.clone() })
    }

    /// Returns the directories that zones may lie in, if the file bounds them.
    pub fn dirs(&self) -> Option<&[Zone]> {
        self.has("sandbox.zones").then_some(self.policy.zones.as_slice())
    }

    /// Returns a zone within the bounds. `real` is where it leads, and `dirs` are those of
    /// [`Organisation::dirs`] with where they lead. The innermost one that holds the zone
    /// decides.
    pub fn zone(
        &self,
        zone: &Zone,
        real: &Path,
        dirs: &[(PathBuf, &Zone)],
    ) -> Result<Zone, Beyond> {
        let around = dirs.iter().filter(|(dir, _)| real.starts_with(dir));
        let Some(depth) = around.clone().map(|(dir, _)| dir.components().count()).max() else {
            return Err(Beyond::Elsewhere { path: real.to_owned(), file: self.file.clone() });
        };
        // Two names of one directory count both.
        let innermost = around.filter(|(dir, _)| dir.components().count() == depth);
        let kept = innermost.fold(zone.clone(), |kept, (_, bound)| within(&kept, bound));
        let inner = dirs.iter().filter(|(dir, _)| dir != real && dir.starts_with(real));
        for (dir, bound) in inner {
            if within(&kept, bound) != kept {
                let (path, inner) = (real.to_owned(), dir.clone());
                return Err(Beyond::Holds { path, inner, at: bound.at.clone() });
            }
        }
        Ok(kept)
    }

    /// Checks a directory that commands get at its own path: only what a mount can enforce
    /// is possible there.
    pub fn place(&self, real: &Path, mode: Mode, dirs: &[(PathBuf, &Zone)]) -> Result<(), Beyond> {
        let zone = Zone::new("place", real, mode, At::Default);
        let kept = self.zone(&zone, real, dirs)?;
        let rules = [&kept.approval.read, &kept.approval.write, &kept.approval.delete];
        let bounds = [
            (kept.mode.value != mode).then_some(("mode: ro", &kept.mode.at)),
            kept.suffixes.as_ref().map(|suffixes| ("suffixes", &suffixes.at)),
            kept.max_file_bytes.as_ref().map(|bytes| ("max_file_bytes", &bytes.at)),
            kept.untrusted.as_ref().map(|at| ("untrusted: true", at)),
            rules.into_iter().find(|rule| rule.is_written()).map(|rule| ("approval", &rule.at)),
        ];
        match bounds.into_iter().flatten().next() {
            None => Ok(()),
            Some((bound, at)) => {
                Err(Beyond::Stricter { path: real.to_owned(), bound, at: at.clone() })
            }
        }
    }
}

/// Returns a zone with the stricter of its own rules and a bound's.
fn within(zone: &Zone, bound: &Zone) -> Zone {
    let mut kept = zone.clone();
    if kept.mode.value > bound.mode.value {
        kept.mode = bound.mode.clone();
    }
    kept.suffixes = match (&zone.suffixes, &bound.suffixes) {
        (own, None) => own.clone(),
        (None, held) => held.clone(),
        (Some(own), Some(held)) => {
            let both: Vec<String> =
                own.value.iter().filter(|suffix| held.value.contains(suffix)).cloned().collect();
            let at = if both.len() == own.value.len() { &own.at } else { &held.at };
            Some(Ruled::new(both, at.clone()))
        }
    };
    kept.max_file_bytes = match (&zone.max_file_bytes, &bound.max_file_bytes) {
        (Some(own), Some(held)) if own.value <= held.value => Some(own.clone()),
        (own, None) => own.clone(),
        (_, held) => held.clone(),
    };
    let stricter = |own: &Ruled<Approval>, held: &Ruled<Approval>| {
        // A rule that is not written gives way to one of a tool.
        let holds = own.value > held.value || own.value == held.value && own.is_written();
        if !held.is_written() || holds { own.clone() } else { held.clone() }
    };
    kept.approval.read = stricter(&zone.approval.read, &bound.approval.read);
    kept.approval.write = stricter(&zone.approval.write, &bound.approval.write);
    kept.approval.delete = stricter(&zone.approval.delete, &bound.approval.delete);
    kept.untrusted = zone.untrusted.clone().or_else(|| bound.untrusted.clone());
    kept
}

/// Returns where the rules of a zone that can be bounded stand.
fn bounds_of(zone: &Zone) -> [Option<&At>; 7] {
    [
        Some(&zone.mode.at),
        zone.suffixes.as_ref().map(|suffixes| &suffixes.at),
        zone.max_file_bytes.as_ref().map(|bytes| &bytes.at),
        zone.untrusted.as_ref(),
        Some(&zone.approval.read.at),
        Some(&zone.approval.write.at),
        Some(&zone.approval.delete.at),
    ]
}

/// Returns the versions of two lists, each once, with the lines of the newest.
pub(super) fn both(old: &[Arc<Organisation>], new: &[Arc<Organisation>]) -> Vec<Arc<Organisation>> {
    let replaced = |held: &&Arc<Organisation>| new.iter().any(|new| new.same_rules(held));
    let kept = old.iter().filter(|held| !replaced(held));
    kept.chain(new).cloned().collect()
}

fn rules_of(policy: &mut Policy) -> impl Iterator<Item = &mut ShellRule> {
    let before = policy.shell_before.iter_mut().flat_map(|shell| shell.rules.iter_mut());
    policy.shell.rules.iter_mut().chain(before)
}

/// Returns what tainted workers lose by either.
fn tainted_bound(held: &WhenTainted, own: &WhenTainted) -> WhenTainted {
    let mut kept = own.clone();
    kept.network_off = own.network_off.clone().or_else(|| held.network_off.clone());
    let lacks = |tool: &&Ruled<String>| own.tools.iter().all(|own| own.value != tool.value);
    kept.tools.extend(held.tools.iter().filter(lacks).cloned());
    let holds = |held: &Ruled<Consent>| {
        own.approval.as_ref().is_some_and(|own| consent_holds(&held.value, &own.value))
    };
    if let Some(held) = held.approval.as_ref().filter(|held| !holds(held)) {
        kept.approval = Some(held.clone());
    }
    kept
}

impl Compared {
    /// Returns what both networks give, with all that the bound refuses and asks about.
    fn meet(&mut self, key: &str, held: &Ruled<Network>, own: &Ruled<Network>) -> Ruled<Network> {
        match hosts::narrow(&held.value, &own.value) {
            Ok(narrowed) => Ruled::new(narrowed, own.at.clone()),
            Err(_) => {
                self.withhold(key, Some(&own.at));
                let mut met = hosts::meet(&held.value, &own.value);
                // It is the project or a flag that opens them.
                if let Network::Hosts(hosts) = &mut met {
                    hosts.allow.iter_mut().for_each(|host| host.at = own.at.clone());
                    hosts.presets.iter_mut().for_each(|preset| preset.at = own.at.clone());
                }
                Ruled::new(met, held.at.clone())
            }
        }
    }

    /// Returns the stricter entry for each pattern. One that the project adds stays unless it
    /// frees files, or stands for a part of a repository, where the exact entry decides.
    fn guards_bound(&mut self, held: &Guards, own: &Guards) -> Guards {
        let find = |guards: &Guards, pattern: &str| {
            guards.entries().iter().find(|entry| entry.pattern == pattern).cloned()
        };
        let mut kept = own.clone();
        for entry in own.entries() {
            let (pattern, guard) = (entry.pattern.as_str(), &entry.guard);
            let key = || format!("sandbox.guard.\"{pattern}\"");
            match find(held, pattern).map(|entry| entry.guard) {
                // Some entries of the list hold for commands only if they are written.
                Some(bound) if guard.value < bound.value || !guard.is_written() => {
                    if guard.value < bound.value {
                        self.withhold(key(), Some(&guard.at));
                    }
                    kept.set(pattern, guard.value.max(bound.value), bound.at);
                }
                None if guard.value == Guard::Allow
                    || guard.value < Guard::Block && is_in_repository(pattern) =>
                {
                    self.withhold(key(), Some(&guard.at));
                    kept.remove(pattern);
                }
                _ => {}
            }
        }
        for entry in held.entries().iter().filter(|entry| find(own, &entry.pattern).is_none()) {
            if entry.guard.value > Guard::Allow {
                kept.set(&entry.pattern, entry.guard.value, entry.guard.at.clone());
            }
        }
        kept
    }

    fn run_bound(&mut self, held: &RunDefaults, own: &RunDefaults) -> RunDefaults {
        let fewer = |held: &u64, own: &u64| own <= held;
        let RunDefaults { max_turns, budget, time_ms } = own;
        let written = max_turns.is_written();
        RunDefaults {
            max_turns: match held.max_turns.is_written() {
                true => self.kept("delegation.max_turns", &held.max_turns, max_turns, |h, o| {
                    written && o <= h
                }),
                false => max_turns.clone(),
            },
            budget: self.bound("delegation.budget", &held.budget, budget, fewer),
            time_ms: self.bound("delegation.time", &held.time_ms, time_ms, fewer),
        }
    }
}

#[cfg(test)]
#[path = "organisation_properties.rs"]
mod properties;
#[cfg(test)]
#[path = "organisation_tests.rs"]
mod tests;
