//! Over random rules of organisations, projects and users: what holds is nowhere looser than
//! what the organisation allows, nor than what the project asks for.
//!
//! The files are text, and go through the parsers that real ones go through.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use super::{Organisation, Withheld};
use crate::config::{self, Overrides};
use crate::guard::Guard;
use crate::policy::{Consent, Network, Policy, Shell, ShellDefault, ShellRule};
use crate::shell::ShellMode;
use crate::source::Ruled;
use crate::tighten::tests::{looser_than_all, parts};
use crate::tighten::tightened;
use crate::zone::{Approval, Zone};

/// Lines below `sandbox`, for organisations and projects.
fn more() -> impl Strategy<Value = String> {
    let limits = ["", "limits: { memory: 1G }", "limits: { memory: 2G, processes: 5 }"];
    let backend =
        ["", "backend: auto", "backend: landlock", "backend: namespaces", "backend: none"];
    let sandbox = ["", "require_os_sandbox: true", "require_os_sandbox: false"];
    let pass_env = ["", "pass_env: []", "pass_env: [ONE]", "pass_env: [ONE, TWO]"];
    let caches = ["", "caches: fresh", "caches: keep"];
    let links = ["", "allow_hard_links: [\"a/**\"]", "allow_hard_links: [\"a/**\", \"b/**\"]"];
    (
        select(limits.to_vec()),
        select(backend.to_vec()),
        select(sandbox.to_vec()),
        select(pass_env.to_vec()),
        select(caches.to_vec()),
        select(links.to_vec()),
    )
        .prop_map(|(limits, backend, sandbox, pass_env, caches, links)| {
            let lines = [limits, backend, sandbox, pass_env, caches, links];
            lines.iter().filter(|l| !l.is_empty()).map(|l| format!("  {l}\n")).collect()
        })
}

fn organisation() -> impl Strategy<Value = String> {
    (parts(), any::<[bool; 8]>(), any::<bool>(), more())
        .prop_map(|(parts, has, wide, more)| parts.organisation(has, wide, &more))
}

fn read(text: &str) -> Arc<Organisation> {
    let read = Organisation::parse(text, "/etc/zonekeep/policy.yaml");
    Arc::new(read.unwrap_or_else(|problems| panic!("{text}\n{problems:#?}")))
}

/// What a user can set by flags.
const FLAGS: [(&str, &str); 12] = [
    ("sandbox.network", "true"),
    ("sandbox.network", "[a.example, c.example]"),
    ("sandbox.limits.memory", "900G"),
    ("sandbox.backend", "none"),
    ("sandbox.require_os_sandbox", "false"),
    ("sandbox.pass_env", "[ONE, TWO, THREE]"),
    ("sandbox.guard", "{ .envrc: allow }"),
    ("sandbox.zones", "{ a: { path: /p/a, mode: rw, approval: { write: preApproved } } }"),
    ("approval.mode", "auto"),
    ("shell", "{ default: preApproved }"),
    (
        "tool_rules",
        "{ write_file: { approval_required: false }, shell: { approval_required: false } }",
    ),
    ("tools", "[read_file, write_file, edit_file, delete_file, copy_file, move_file, shell]"),
];

/// A project file, and the flags of a user.
type File = (String, Vec<(&'static str, &'static str)>);

fn project() -> impl Strategy<Value = File> {
    let flags = proptest::collection::vec(select(FLAGS.to_vec()), 0..4);
    let all = (parts(), more(), flags).prop_map(|(parts, more, flags)| {
        (parts.text().replacen("sandbox:\n", &format!("sandbox:\n{more}"), 1), flags)
    });
    all.prop_filter("the rules do not go together", |file| load(file).is_some())
}

fn load((text, flags): &File) -> Option<Policy> {
    let set = flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let overrides = Overrides { set: set.collect(), ..Overrides::default() };
    config::load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &overrides).policy
}

/// Returns rules within the bounds of an organisation, without the zones that it refuses.
fn bounded(held: &Arc<Organisation>, policy: &Policy) -> Policy {
    let mut policy = held.bound(policy).policy;
    if let Some(dirs) = held.dirs() {
        let dirs: Vec<_> = dirs.iter().map(|zone| (zone.path.value.clone(), zone)).collect();
        let zones = policy.zones.iter();
        policy.zones =
            zones.filter_map(|zone| held.zone(zone, &zone.path.value, &dirs).ok()).collect();
    }
    policy
}

/// Returns the loosest rules that an organisation allows, which has each of its keys as it is
/// written there. The others are those of `policy`, or open where they would hide a key.
fn loosest(held: &Organisation, policy: &Policy, default: ShellDefault) -> Policy {
    let own = &held.policy;
    let open = Shell { default: Some(Ruled::default_of(default)), ..Shell::default() };
    let mut all = Policy {
        organisations: Vec::new(),
        network: Ruled::default_of(Network::On),
        shell: open.clone(),
        shell_before: Vec::new(),
        tools: own.tools.clone(),
        ..policy.clone()
    };
    all.tool_rules.extend(own.tool_rules.clone());
    if held.has("sandbox.network") {
        all.network = own.network.clone();
    }
    if held.has("sandbox.guard") {
        all.guards = own.guards.clone();
    }
    if held.has("sandbox.require_os_sandbox") {
        all.require_os_sandbox = own.require_os_sandbox.clone();
    }
    if held.has("approval.mode") {
        all.consent = own.consent.clone();
    }
    if held.has("shell") {
        let gives = |rule: &ShellRule| match rule.grants {
            Network::Off => ShellRule { grants: Network::On, ..rule.clone() },
            _ => rule.clone(),
        };
        all.shell = Shell {
            mode: own.shell.mode.clone().filter(|mode| mode.value == ShellMode::Argv),
            rules: own.shell.rules.iter().map(gives).collect(),
            default: own.shell.default.clone().or(open.default),
            ..own.shell.clone()
        };
    }
    let tainted = &own.when_tainted;
    all.when_tainted.network_off = tainted.network_off.clone();
    all.when_tainted.tools = tainted.tools.clone();
    if tainted.approval.is_some() {
        all.when_tainted.approval = tainted.approval.clone();
    }
    if held.has("sandbox.zones") {
        all.zones = all.zones.iter().map(|zone| loosest_zone(own, zone)).collect();
    }
    all
}

fn loosest_zone(own: &Policy, zone: &Zone) -> Zone {
    let around = own.zones.iter().filter(|dir| zone.path.value.starts_with(&dir.path.value));
    let dir = around.max_by_key(|dir| dir.path.value.components().count());
    let dir = dir.expect("a zone elsewhere is refused");
    let rule = |held: &Ruled<Approval>, own: &Ruled<Approval>| {
        if held.is_written() { held.clone() } else { own.clone() }
    };
    let mut all = zone.clone();
    all.mode = dir.mode.clone();
    all.suffixes = dir.suffixes.clone();
    all.max_file_bytes = dir.max_file_bytes.clone();
    all.approval.read = rule(&dir.approval.read, &zone.approval.read);
    all.approval.write = rule(&dir.approval.write, &zone.approval.write);
    all.approval.delete = rule(&dir.approval.delete, &zone.approval.delete);
    all.untrusted = dir.untrusted.clone();
    all
}

/// Returns what is looser than everything that an organisation allows.
fn beyond(held: &Organisation, now: &Policy) -> Vec<String> {
    // Each of the two lets lines through that the other one asks about.
    let [one, two] = [ShellDefault::PreApproved, ShellDefault::Contained]
        .map(|default| loosest(held, now, default));
    looser_than_all(&[&one, &two], now)
}

/// Returns the keys that are looser than the organisation's, by the comparison that decides
/// whether a changed file holds at once.
fn withheld(held: &Organisation, now: &Policy) -> Vec<Withheld> {
    let own = &held.policy;
    let open = ShellDefault::PreApproved;
    let mut old = Policy { shell: now.shell.clone(), ..loosest(held, now, open) };
    if held.has("sandbox.backend") {
        old.backend = own.backend.clone();
    }
    if held.has("sandbox.pass_env") {
        old.pass_env = own.pass_env.clone();
    }
    if held.has("sandbox.caches") {
        old.caches = own.caches.clone();
    }
    if held.has("sandbox.allow_hard_links") {
        old.allow_hard_links = own.allow_hard_links.clone();
    }
    // An entry that a project adds is compared by what it does, in `beyond`.
    old.guards = now.guards.clone();
    old.limits = own.limits.only(own.limit_lines.keys().copied());
    let compared = tightened(&old, now).withheld.into_iter();
    // No network gives nothing; what rules give beside it has the bounds in it.
    let off = now.network.value == Network::Off;
    compared.filter(|one| !(off && one.key == "sandbox.network")).collect()
}

/// Returns whether an approval mode was replaced by one of the organisation's that is
/// neither looser nor stricter.
fn is_other(before: &Policy, now: &Policy) -> bool {
    let modes = |policy: &Policy| {
        let tainted = policy.when_tainted.approval.as_ref().map(|mode| mode.value);
        (policy.consent.value, tainted)
    };
    let incomparable = |mode: Consent| matches!(mode, Consent::Manual | Consent::Strict);
    let (was, is) = (modes(before), modes(now));
    was != is && (incomparable(was.0) || was.1.is_some_and(incomparable))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_holds_is_nowhere_looser_than_the_organisation_allows(
        first in organisation(),
        second in organisation(),
        file in project(),
    ) {
        let (one, two, own) = (read(&first), read(&second), load(&file).unwrap());
        let file = format!("{}{:?}", file.0, file.1);
        let now = bounded(&one, &own);
        let none = Vec::<String>::new();
        prop_assert_eq!(beyond(&one, &now), none.clone(), "{}\n{}", first, file);
        prop_assert_eq!(withheld(&one, &now), [], "{}\n{}", first, file);
        prop_assert_eq!(&bounded(&one, &now), &now, "once more changes nothing");
        if one.has("sandbox.guard") {
            for bound in one.policy.guards.entries() {
                let mut entries = now.guards.entries().iter();
                let guard = entries.find(|entry| entry.pattern == bound.pattern).map(|e| &e.guard);
                let level = guard.map_or(Guard::Allow, |guard| guard.value);
                prop_assert!(level >= bound.guard.value, "{}: {level:?}", bound.pattern);
            }
        }
        // A bound gives nothing.
        let zones = own.zones.iter().filter(|zone| now.zone(&zone.name).is_some());
        let asked = Policy { zones: zones.cloned().collect(), ..own.clone() };
        if !is_other(&asked, &now) {
            prop_assert_eq!(looser_than_all(&[&asked], &now), none.clone(), "{}\n{}", first, file);
        }
        // Another version of the file while a program runs.
        let both = bounded(&one, &bounded(&two, &now));
        if one.holds(&both) && two.holds(&both) {
            for (held, text) in [(&one, &first), (&two, &second)] {
                let found = beyond(held, &both);
                prop_assert_eq!(found, none.clone(), "{}\n{}\n{}\n{}", text, first, second, file);
            }
        }
        // The file is gone: the rules of the project alone take nothing back.
        let gone = tightened(&now, &own).policy;
        prop_assert_eq!(looser_than_all(&[&now], &gone), none, "{}\n{}", first, file);
    }
}
