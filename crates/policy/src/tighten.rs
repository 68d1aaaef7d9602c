//! What of a changed project file holds at once, while the user has not confirmed it.
//!
//! A file can change under a running server without the user having written it: by
//! checking out a branch, for one. So of new rules only those hold by themselves that
//! are surely no looser than the old ones. [`tightened`] compares key by key; a key
//! whose new value cannot be proved to be no looser keeps its old one and is reported.
//! Judging is monotone in each key, so the result is nowhere looser than the old
//! rules, whichever keys it takes from which.

pub mod organisation;

use std::collections::BTreeMap;

use crate::guard::{Guard, Guards};
use crate::hosts;
use crate::limit::Limits;
use crate::policy::{
    BackendChoice, Consent, Network, OsSandbox, Policy, Shell, ShellDefault, ShellRule, ToolRule,
};
use crate::run::RunDefaults;
use crate::secret::Secret;
use crate::shell::ShellMode;
use crate::source::{At, Ruled};
use crate::taint::WhenTainted;
use crate::zone::{Approval, Approvals, Zone};

/// The most versions of the rules for commands that hold at the same time.
const MAX_SHELLS: usize = 8;

/// A new rule that may be looser than the old one, and so does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The key, such as `sandbox.zones.input.mode`.
    pub key: String,
    /// Where the new value is written; where the key is gone, nowhere.
    pub at: At,
}

/// What holds at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tightened {
    /// Rules that are nowhere looser than the old ones.
    pub policy: Policy,
    /// What is missing in them of the new ones. Without any, the new rules are nowhere
    /// looser, and `policy` is the new rules.
    pub withheld: Vec<Withheld>,
}

/// Returns what of `new` holds at once where `old` held until now.
///
/// A limit that is left out counts as none: the caller fills in what depends on the
/// machine.
pub fn tightened(old: &Policy, new: &Policy) -> Tightened {
    let mut compared = Compared::default();
    // Every field is named: a new one has to be compared.
    let Policy {
        project,
        file,
        layout,
        root,
        zones,
        working_dir,
        home,
        network,
        secrets,
        pass_env,
        env,
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
        model,
        prices,
        when_tainted,
        tools,
        tool_rules,
        shell,
        shell_before,
        audit,
        organisations,
    } = new;
    if *project != old.project {
        let withheld = vec![Withheld { key: "the project".to_owned(), at: At::Default }];
        return Tightened { policy: old.clone(), withheld };
    }
    let zones = compared.zones(&old.zones, zones);
    let asks = tool_rank(tool_rules.get("shell")) > 0;
    let runs = tools.as_ref().is_none_or(|tools| tools.value.iter().any(|tool| tool == "shell"));
    let shells = match runs {
        true => compared.shells(old, shell, shell_before, asks),
        false => (shell.clone(), shell_before.clone()),
    };
    let secrets = compared.secrets(&old.secrets, secrets);
    let same = |kept: &[Zone]| {
        kept.iter().all(|zone| new.zone(&zone.name).is_some_and(|new| new.path == zone.path))
    };
    let policy = Policy {
        project: project.clone(),
        file: file.clone(),
        // Where zones lie is in their paths; these two only say how they are made.
        layout: if same(&zones) { layout } else { &old.layout }.clone(),
        root: if same(&zones) { root } else { &old.root }.clone(),
        working_dir: compared.equal("sandbox.working_dir", &old.working_dir, working_dir),
        home: compared.equal("sandbox.home", &old.home, home),
        network: compared.network(old, network, &shells),
        pass_env: compared.pass_env(old, pass_env),
        env: compared.env(&old.env, env),
        require_os_sandbox: compared.os_sandbox(old, new, require_os_sandbox, &zones),
        limits: compared.limits(&old.limits, limits, limit_lines),
        limit_lines: limit_lines.clone(),
        backend: compared.kept("sandbox.backend", &old.backend, backend, backend_holds),
        prove: compared.kept("sandbox.prove", &old.prove, prove, |old, new| new >= old),
        // A kept cache carries what one run wrote to the next.
        caches: compared.kept("sandbox.caches", &old.caches, caches, |old, new| new >= old),
        guards: compared.guards(&old.guards, guards),
        allow_sensitive: compared.listed(
            "sandbox.allow_sensitive",
            &old.allow_sensitive,
            allow_sensitive,
        ),
        allow_hard_links: compared.listed(
            "sandbox.allow_hard_links",
            &old.allow_hard_links,
            allow_hard_links,
        ),
        consent: compared.kept("approval.mode", &old.consent, consent, consent_holds),
        max_depth: compared.kept("delegation.max_depth", &old.max_depth, max_depth, |o, n| n <= o),
        run: compared.run(&old.run, run),
        model: compared.model(&old.model, model),
        // What is paid is no right of an agent's.
        prices: prices.clone(),
        when_tainted: compared.when_tainted(&old.when_tainted, when_tainted),
        tools: compared.tools(old.tools.as_ref(), tools.as_ref()),
        tool_rules: compared.tool_rules(&old.tool_rules, tool_rules),
        audit: compared.kept("audit", &old.audit, audit, |old, new| {
            old == new || *new == crate::policy::Audit::Required
        }),
        // Rules for commands are bounded when they are judged, so old bounds must stay.
        organisations: organisation::both(&old.organisations, organisations),
        zones,
        secrets,
        shell: shells.0,
        shell_before: shells.1,
    };
    Tightened { policy, withheld: compared.withheld }
}

/// Returns whether a backend surely holds what another one does.
fn backend_holds(old: &BackendChoice, new: &BackendChoice) -> bool {
    use BackendChoice::{Auto, Landlock, Namespaces, None, Seatbelt};
    old == new
        || match old {
            None => true,
            Landlock => matches!(new, Auto | Namespaces | Seatbelt),
            // Whoever names a backend accepts what it does not hold, as `auto` does not.
            _ => false,
        }
}

/// Returns whether an approval mode is surely no looser than another one: `manual` asks
/// about what `strict` lets through, and `strict` refuses what `manual` asks about. That a
/// person is asked about commands that `auto` refuses for want of one is no looser.
fn consent_holds(old: &Consent, new: &Consent) -> bool {
    match old {
        Consent::Auto => true,
        Consent::Tool => *new != Consent::Auto,
        Consent::Manual | Consent::Strict => new == old,
    }
}

/// Collects what may be looser.
#[derive(Default)]
struct Compared {
    withheld: Vec<Withheld>,
}

impl Compared {
    fn withhold(&mut self, key: impl Into<String>, at: Option<&At>) {
        let at = at.cloned().unwrap_or_default();
        self.withheld.push(Withheld { key: key.into(), at });
    }

    /// Returns the new value where it holds what the old one does.
    fn kept<T: Clone>(
        &mut self,
        key: &str,
        old: &Ruled<T>,
        new: &Ruled<T>,
        holds: impl Fn(&T, &T) -> bool,
    ) -> Ruled<T> {
        if holds(&old.value, &new.value) {
            return new.clone();
        }
        self.withhold(key, Some(&new.at));
        old.clone()
    }

    fn equal<T: Clone + PartialEq>(
        &mut self,
        key: &str,
        old: &Ruled<T>,
        new: &Ruled<T>,
    ) -> Ruled<T> {
        self.kept(key, old, new, |old, new| old == new)
    }

    /// Compares the model, which gets to read what workers read.
    fn model(
        &mut self,
        old: &Option<Ruled<String>>,
        new: &Option<Ruled<String>>,
    ) -> Option<Ruled<String>> {
        let name = |model: &Option<Ruled<String>>| model.as_ref().map(|model| model.value.clone());
        if name(old) == name(new) {
            return new.clone();
        }
        self.withhold("model", new.as_ref().map(|model| &model.at));
        old.clone()
    }

    fn zones(&mut self, old: &[Zone], new: &[Zone]) -> Vec<Zone> {
        for zone in new.iter().filter(|zone| old.iter().all(|held| held.name != zone.name)) {
            self.withhold(&zone.key, Some(&zone.at));
        }
        let both = old.iter().filter_map(|old| {
            let new = new.iter().find(|zone| zone.name == old.name)?;
            Some(self.zone(old, new))
        });
        both.collect()
    }

    fn zone(&mut self, old: &Zone, new: &Zone) -> Zone {
        let Zone {
            name,
            key,
            at,
            path,
            placement,
            create,
            mode,
            suffixes,
            max_file_bytes,
            approval,
            untrusted,
        } = new;
        let own = |name: &str| format!("{key}.{name}");
        if *create && !old.create {
            self.withhold(own("path"), Some(at));
        }
        let fewer = |old: &Vec<String>, new: &Vec<String>| new.iter().all(|one| old.contains(one));
        let below = |old: &u64, new: &u64| new <= old;
        Zone {
            name: name.clone(),
            key: key.clone(),
            at: at.clone(),
            path: self.equal(&own("path"), &old.path, path),
            // Rules for commands are about paths, so neither place is surely the stricter one.
            placement: self.equal(&own("at"), &old.placement, placement),
            create: *create && old.create,
            mode: self.kept(&own("mode"), &old.mode, mode, |old, new| new <= old),
            suffixes: self.bound(&own("suffixes"), &old.suffixes, suffixes, fewer),
            max_file_bytes: self.bound(
                &own("max_file_bytes"),
                &old.max_file_bytes,
                max_file_bytes,
                below,
            ),
            approval: Approvals {
                read: self.approval(&own("approval.read"), &old.approval.read, &approval.read),
                write: self.approval(&own("approval.write"), &old.approval.write, &approval.write),
                delete: self.approval(
                    &own("approval.delete"),
                    &old.approval.delete,
                    &approval.delete,
                ),
            },
            untrusted: match (&old.untrusted, untrusted) {
                (Some(held), None) => {
                    self.withhold(own("untrusted"), None);
                    Some(held.clone())
                }
                (_, new) => new.clone(),
            },
        }
    }

    /// Compares something that bounds where it is there.
    fn bound<T: Clone>(
        &mut self,
        key: &str,
        old: &Option<Ruled<T>>,
        new: &Option<Ruled<T>>,
        holds: impl Fn(&T, &T) -> bool,
    ) -> Option<Ruled<T>> {
        match (old, new) {
            (None, new) => new.clone(),
            (Some(old), Some(new)) => Some(self.kept(key, old, new, holds)),
            (Some(old), None) => {
                self.withhold(key, None);
                Some(old.clone())
            }
        }
    }

    /// Compares a zone's rule. One that nobody wrote gives way to a tool's rule, so
    /// the same word is looser where it is not written any more.
    fn approval(
        &mut self,
        key: &str,
        old: &Ruled<Approval>,
        new: &Ruled<Approval>,
    ) -> Ruled<Approval> {
        let holds = new.value > old.value
            || new.value == old.value && (new.is_written() || !old.is_written());
        if holds {
            return new.clone();
        }
        self.withhold(key, Some(&new.at));
        old.clone()
    }

    /// Returns the new rules for commands where they are surely no looser than all that
    /// hold; otherwise the old ones, and the new ones beside them: the strictest decides.
    /// `asks` is whether the tool has no rule that lets everything through.
    fn shells(
        &mut self,
        old: &Policy,
        new: &Shell,
        before: &[Shell],
        asks: bool,
    ) -> (Shell, Vec<Shell>) {
        let held = || std::iter::once(&old.shell).chain(&old.shell_before);
        let mut now = std::iter::once(new).chain(before);
        if held().all(|held| now.clone().any(|now| shell_holds(held, now, asks))) {
            return (new.clone(), before.to_vec());
        }
        self.withhold("shell", shell_line(new).as_ref());
        let mut beside = old.shell_before.clone();
        for shell in now.by_ref() {
            if beside.len() < MAX_SHELLS && !held().any(|held| same_shell(held, shell)) {
                beside.push(shell.clone());
            }
        }
        (old.shell.clone(), beside)
    }

    fn network(
        &mut self,
        old: &Policy,
        new: &Ruled<Network>,
        (shell, beside): &(Shell, Vec<Shell>),
    ) -> Ruled<Network> {
        let (held, key) = (&old.network, "sandbox.network");
        // What is refused or asked about holds for what rules give, too.
        let gives = |shell: &Shell| shell.rules.iter().any(|rule| rule.grants != Network::Off);
        let given = gives(shell) || beside.iter().any(gives);
        let bounds = hosts::Bounds::of(&held.value);
        let bounded = bounds == hosts::Bounds::default();
        match hosts::narrow(&held.value, &new.value) {
            Ok(narrowed) => {
                let narrowed = hosts::without(narrowed, &bounds);
                let complete = match (&narrowed, &new.value) {
                    (Network::Hosts(narrowed), Network::Hosts(new)) => {
                        narrowed.ask.len() == new.ask.len() && narrowed.deny.len() == new.deny.len()
                    }
                    (Network::Off, _) => bounded || !given,
                    (Network::On, _) => true,
                    (Network::Hosts(_), _) => false,
                };
                if complete {
                    return new.clone();
                }
                self.withhold(key, Some(&new.at));
                match narrowed {
                    Network::Hosts(_) => Ruled::new(narrowed, new.at.clone()),
                    _ => held.clone(),
                }
            }
            Err(_) => {
                self.withhold(key, Some(&new.at));
                held.clone()
            }
        }
    }

    fn secrets(
        &mut self,
        old: &BTreeMap<String, Ruled<Secret>>,
        new: &BTreeMap<String, Ruled<Secret>>,
    ) -> BTreeMap<String, Ruled<Secret>> {
        let mut kept = BTreeMap::new();
        for (name, secret) in new {
            let key = format!("sandbox.secrets.{name}");
            match old.get(name) {
                Some(held) => {
                    let fewer = |old: &Secret, new: &Secret| {
                        (&old.env, &old.header) == (&new.env, &new.header)
                            && new.hosts.iter().all(|host| old.hosts.contains(host))
                    };
                    kept.insert(name.clone(), self.kept(&key, held, secret, fewer));
                }
                None => self.withhold(key, Some(&secret.at)),
            }
        }
        kept
    }

    /// Compares the variables that commands inherit. A secret's variable is not among
    /// them, so one that is no secret any more is new.
    fn pass_env(&mut self, old: &Policy, new: &[Ruled<String>]) -> Vec<Ruled<String>> {
        let secret = |name: &String| old.secrets.values().any(|secret| secret.value.env == *name);
        let held: Vec<_> = old.pass_env.iter().filter(|name| !secret(&name.value)).collect();
        self.listed("sandbox.pass_env", held, new)
    }

    /// Returns what is in both of two lists that each allow something.
    fn listed<'a>(
        &mut self,
        key: &str,
        old: impl IntoIterator<Item = &'a Ruled<String>>,
        new: &[Ruled<String>],
    ) -> Vec<Ruled<String>> {
        let held: Vec<&String> = old.into_iter().map(|one| &one.value).collect();
        let is_held = |one: &Ruled<String>| held.contains(&&one.value);
        let (kept, rest): (Vec<_>, Vec<_>) = new.iter().cloned().partition(is_held);
        for one in rest {
            self.withhold(key, Some(&one.at));
        }
        kept
    }

    /// Compares the variables that commands get. Any of them can change what a program
    /// does, by being there or by missing.
    fn env(
        &mut self,
        old: &BTreeMap<String, Ruled<String>>,
        new: &BTreeMap<String, Ruled<String>>,
    ) -> BTreeMap<String, Ruled<String>> {
        let values = |env: &BTreeMap<String, Ruled<String>>| -> Vec<(String, String)> {
            env.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect()
        };
        if values(old) == values(new) {
            return new.clone();
        }
        self.withhold("sandbox.env", new.values().next().map(|value| &value.at));
        old.clone()
    }

    /// Compares whether commands need an operating-system sandbox. An untrusted zone
    /// asks for one, and a written no is less than silence.
    fn os_sandbox(
        &mut self,
        old: &Policy,
        new: &Policy,
        written: &Ruled<OsSandbox>,
        zones: &[Zone],
    ) -> Ruled<OsSandbox> {
        let of = |rule: &Ruled<OsSandbox>, zones: &[Zone]| match zones {
            zones if zones.iter().any(|zone| zone.untrusted.is_some()) => OsSandbox::Required,
            _ => rule.value,
        };
        let held = of(&old.require_os_sandbox, &old.zones);
        if of(written, &new.zones) < held {
            self.withhold("sandbox.require_os_sandbox", Some(&written.at));
        }
        match of(written, zones) >= held {
            true => written.clone(),
            false => Ruled::new(held, old.require_os_sandbox.at.clone()),
        }
    }

    fn limits(&mut self, old: &Limits, new: &Limits, lines: &BTreeMap<&str, At>) -> Limits {
        for (name, _) in new.above(old) {
            self.withhold(format!("sandbox.limits.{name}"), lines.get(name));
        }
        old.tightest(new)
    }

    /// Compares the guarded files. An entry that is added may stand for part of what
    /// another one covers: it is no looser only if it refuses.
    fn guards(&mut self, old: &Guards, new: &Guards) -> Guards {
        let find = |guards: &Guards, pattern: &str| {
            guards.entries().iter().find(|entry| entry.pattern == pattern).cloned()
        };
        let mut kept = new.clone();
        for entry in new.entries() {
            let held = find(old, &entry.pattern).map(|held| held.guard);
            if held.as_ref().map_or(Guard::Block, |held| held.value) <= entry.guard.value {
                continue;
            }
            self.withhold(format!("sandbox.guard.\"{}\"", entry.pattern), Some(&entry.guard.at));
            match held {
                Some(held) => kept.set(&entry.pattern, held.value, held.at),
                None => kept.remove(&entry.pattern),
            }
        }
        for entry in old.entries().iter().filter(|held| find(new, &held.pattern).is_none()) {
            if entry.guard.value > Guard::Allow {
                self.withhold(format!("sandbox.guard.\"{}\"", entry.pattern), None);
                kept.set(&entry.pattern, entry.guard.value, entry.guard.at.clone());
            }
        }
        kept
    }

    fn run(&mut self, old: &RunDefaults, new: &RunDefaults) -> RunDefaults {
        let RunDefaults { max_turns, budget, time_ms } = new;
        // A default that nobody wrote is no limit for worker files.
        let written = max_turns.is_written() || !old.max_turns.is_written();
        let fewer = |old: &u64, new: &u64| new <= old;
        RunDefaults {
            max_turns: self
                .kept("run.max_turns", &old.max_turns, max_turns, |o, n| written && n <= o),
            budget: self.bound("run.budget", &old.budget, budget, fewer),
            time_ms: self.bound("run.time", &old.time_ms, time_ms, fewer),
        }
    }

    fn when_tainted(&mut self, old: &WhenTainted, new: &WhenTainted) -> WhenTainted {
        let WhenTainted { network_off, without, backend, approval, tools, at } = new;
        let key = |name: &str| format!("when_tainted.{name}");
        let all = |held: &[Ruled<String>], now: &[Ruled<String>]| -> (Vec<Ruled<String>>, bool) {
            let missing = held.iter().filter(|one| now.iter().all(|new| new.value != one.value));
            let missing: Vec<_> = missing.cloned().collect();
            let lacks = !missing.is_empty();
            (now.iter().cloned().chain(missing).collect(), lacks)
        };
        let (without, fewer_zones) = all(&old.without, without);
        let (tools, fewer_tools) = all(&old.tools, tools);
        for (lacks, name) in [(fewer_zones, "without"), (fewer_tools, "tools")] {
            if lacks {
                self.withhold(key(name), Some(at));
            }
        }
        let value = |backend: &Option<Ruled<BackendChoice>>| backend.as_ref().map(|b| b.value);
        let backend = match value(backend) == value(&old.backend) {
            true => backend.clone(),
            false => {
                self.withhold(key("backend"), Some(at));
                old.backend.clone()
            }
        };
        WhenTainted {
            network_off: match (&old.network_off, network_off) {
                (Some(held), None) => {
                    self.withhold(key("network"), Some(at));
                    Some(held.clone())
                }
                (_, new) => new.clone(),
            },
            without,
            backend,
            approval: self.bound(&key("approval"), &old.approval, approval, consent_holds),
            tools,
            at: at.clone(),
        }
    }

    fn tools(
        &mut self,
        old: Option<&Ruled<Vec<String>>>,
        new: Option<&Ruled<Vec<String>>>,
    ) -> Option<Ruled<Vec<String>>> {
        let Some(old) = old else { return new.cloned() };
        let Some(new) = new else {
            self.withhold("tools", None);
            return Some(old.clone());
        };
        let both: Vec<String> =
            new.value.iter().filter(|tool| old.value.contains(tool)).cloned().collect();
        if both.len() < new.value.len() {
            self.withhold("tools", Some(&new.at));
        }
        Some(Ruled::new(both, new.at.clone()))
    }

    fn tool_rules(
        &mut self,
        old: &BTreeMap<String, ToolRule>,
        new: &BTreeMap<String, ToolRule>,
    ) -> BTreeMap<String, ToolRule> {
        let rank = tool_rank;
        let mut kept = new.clone();
        for tool in old.keys().chain(new.keys()) {
            let (held, wanted) = (old.get(tool), new.get(tool));
            if rank(wanted) >= rank(held) || kept.get(tool) != wanted {
                continue;
            }
            let lines = wanted.and_then(ToolRule::approval);
            self.withhold(format!("tool_rules.{tool}"), lines.as_ref().map(|rule| &rule.at));
            match held {
                Some(held) => kept.insert(tool.clone(), held.clone()),
                None => kept.remove(tool),
            };
        }
        kept
    }
}

/// Returns a number that grows with the strictness of a rule for a tool. Silence leaves
/// it to a zone's own rule, which may ask about what the tool's rule lets through.
fn tool_rank(rule: Option<&ToolRule>) -> u8 {
    match rule.and_then(ToolRule::approval).map(|rule| rule.value) {
        Some(Approval::PreApproved) => 0,
        None => 1,
        Some(Approval::Ask) => 2,
        Some(Approval::Blocked) => 3,
    }
}

/// Returns whether rules for commands are surely no looser than others: the same ones,
/// with more that block and fewer that allow without a question.
fn shell_holds(old: &Shell, new: &Shell, asks: bool) -> bool {
    let mode = |shell: &Shell| shell.mode.as_ref().map(|mode| mode.value);
    let argv = mode(new) == Some(ShellMode::Argv);
    let fewer = new.presets.iter().all(|p| old.presets.iter().any(|held| held.value == p.value));
    let default = match (&old.default, &new.default) {
        (Some(old), Some(new)) => new.value.holds(old.value),
        (None, Some(new)) => new.value.approval() >= Approval::Ask,
        // A rule of the tool takes its place; without one there is a question.
        (Some(old), None) => asks && old.value.approval() <= Approval::Ask,
        (None, None) => true,
    };
    // Beside a command that a rule gives the network, `contained` asks.
    let contained = new.default.as_ref().is_some_and(|d| d.value == ShellDefault::Contained);
    let same_grants = || {
        let giving =
            |rules: &[ShellRule]| rules.iter().filter(|rule| rule.grants != Network::Off).count();
        giving(&old.rules) == giving(&new.rules)
    };
    (mode(old) == mode(new) || argv)
        && fewer
        && default
        && rules_hold(&old.rules, &new.rules)
        && (!contained || same_grants())
}

/// Compares rules in their order: the first that matches decides.
fn rules_hold(mut old: &[ShellRule], new: &[ShellRule]) -> bool {
    // Whatever a rule lets through that is gone, a later one must not give more.
    let gives_nothing = new.iter().all(|rule| rule.grants == Network::Off);
    for rule in new {
        let gone = old.iter().position(|held| same_rule(held, rule));
        match gone {
            Some(gone) => {
                let allowed = |rule: &ShellRule| rule.approval == Approval::PreApproved;
                if !old[..gone].iter().all(|rule| allowed(rule) && gives_nothing) {
                    return false;
                }
                old = &old[gone + 1..];
            }
            None if rule.approval == Approval::Blocked => {}
            None => return false,
        }
    }
    old.iter().all(|rule| rule.approval == Approval::PreApproved && gives_nothing)
}

fn same_rule(a: &ShellRule, b: &ShellRule) -> bool {
    let ShellRule { pattern, sandbox_paths, paths, approval, grants, at: _ } = a;
    let values = |paths: &[Ruled<crate::path::AgentPath>]| -> Vec<crate::path::AgentPath> {
        paths.iter().map(|path| path.value.clone()).collect()
    };
    pattern == &b.pattern
        && sandbox_paths == &b.sandbox_paths
        && values(paths) == values(&b.paths)
        && approval == &b.approval
        && same_network(grants, &b.grants)
}

fn same_network(a: &Network, b: &Network) -> bool {
    fn values<T: Clone>(list: &[Ruled<T>]) -> Vec<T> {
        list.iter().map(|one| one.value.clone()).collect()
    }
    match (a, b) {
        (Network::Hosts(a), Network::Hosts(b)) => {
            values(&a.allow) == values(&b.allow)
                && values(&a.ask) == values(&b.ask)
                && values(&a.deny) == values(&b.deny)
                && values(&a.presets) == values(&b.presets)
        }
        (a, b) => a == b,
    }
}

fn same_shell(a: &Shell, b: &Shell) -> bool {
    let same = a.rules.len() == b.rules.len()
        && a.rules.iter().zip(&b.rules).all(|(a, b)| same_rule(a, b));
    same && shell_holds(a, b, false) && shell_holds(b, a, false)
}

/// Returns a line of the rules for commands.
fn shell_line(shell: &Shell) -> Option<At> {
    let default = shell.default.as_ref().map(|default| default.at.clone());
    shell.rules.first().map(|rule| rule.at.clone()).or(default)
}

#[cfg(test)]
#[path = "tighten_tests.rs"]
mod tests;
