use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Beyond, Organisation};
use crate::action::Action;
use crate::config::{self, Overrides};
use crate::grant::Grant;
use crate::guard::Guard;
use crate::path::AgentPath;
use crate::policy::{BackendChoice, Consent, OsSandbox, Policy};
use crate::shell::decide;
use crate::tighten::{Tightened, tightened};
use crate::zone::{Approval, Mode, Zone};

const FILE: &str = "/etc/zonekeep/policy.yaml";

fn organisation(text: &str) -> Arc<Organisation> {
    Arc::new(Organisation::parse(text, FILE).unwrap_or_else(|problems| panic!("{problems:#?}")))
}

fn project(text: &str) -> Policy {
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = config::load(text, "zonekeep.yaml", path, &Overrides::default());
    loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems))
}

/// Returns bounded rules, and the keys that were looser.
fn bounded(bound: &str, own: &str) -> (Policy, Vec<String>) {
    let bounded = organisation(bound).bound(&project(own));
    (bounded.policy, bounded.narrowed.into_iter().map(|one| one.key).collect())
}

/// One project that is as loose as it can be.
const LOOSE: &str = "sandbox:
  mode: direct
  zones: { work: { path: ./work, mode: rw, approval: { write: preApproved } } }
  network: true
  pass_env: [ONE, TWO]
  secrets: { KEY: { env: MINE, hosts: [a.example.org] }, MORE: { env: YOURS, hosts: [b.example.org] } }
  require_os_sandbox: false
  limits: { memory: 900G, processes: none, time: 10h }
  backend: none
  guard: { \".envrc\": allow, \"tools/**\": allow }
  allow_hard_links: [\"a/**\", \"b/**\"]
  allow_sensitive: [\"*.pem\", \"*.key\"]
approval: { mode: auto }
delegation: { max_depth: 9, max_turns: 500, budget: 5000000, time: 9h }
when_tainted: { backend: landlock }
tools: [read_file, write_file, shell]
tool_rules: { write_file: { approval_required: false } }
shell:
  default: preApproved
  rules: [{ pattern: 'curl *', approval: preApproved, grants: { network: true } }]
audit: best_effort
";

const BOUND: &str = "name: Example Ltd
sandbox:
  network: { allow: [a.example.org, \"*.example.com\"], deny: [x.example.com] }
  pass_env: [ONE]
  secrets: { KEY: { env: MINE, hosts: [a.example.org] } }
  require_os_sandbox: true
  limits: { memory: 2G, processes: 100 }
  backend: auto
  prove: true
  caches: fresh
  guard: {}
  allow_hard_links: [\"a/**\"]
  allow_sensitive: []
approval: { mode: tool }
delegation: { max_depth: 2, max_turns: 20, budget: 1000, time: 1h }
when_tainted: { network: false, approval: strict, tools: [shell] }
tools: [read_file, list_files, shell]
tool_rules: { write_file: { approval_required: true }, delete_file: { allowed: false } }
shell: { rules: [{ pattern: 'curl *', approval: ask }] }
audit: required
";

#[test]
fn every_key_of_a_looser_project_is_narrowed_and_names_the_organisations_line() {
    let (policy, narrowed) = bounded(BOUND, LOOSE);
    let Policy { network, require_os_sandbox, backend, consent, limits, .. } = &policy;
    assert_eq!(network.value.shown(), ["a.example.org", "*.example.com"]);
    assert_eq!(require_os_sandbox.value, OsSandbox::Required);
    assert_eq!((backend.value, consent.value), (BackendChoice::Auto, Consent::Tool));
    assert_eq!((limits.memory, limits.processes), (Some(2 << 30), Some(100)));
    assert_eq!(limits.wall_ms, Some(36_000_000), "the file has no such limit");
    let values = |list: &[crate::source::Ruled<String>]| -> Vec<String> {
        list.iter().map(|one| one.value.clone()).collect()
    };
    assert_eq!(values(&policy.pass_env), ["ONE"]);
    assert_eq!(values(&policy.allow_hard_links), ["a/**"]);
    assert!(policy.allow_sensitive.is_empty());
    assert_eq!(policy.secrets.keys().collect::<Vec<_>>(), ["KEY"]);
    // Neither another variable nor more hosts pass under the same name.
    for (old, new) in
        [("env: MINE", "env: OTHER"), ("[a.example.org]", "[a.example.org, b.example.org]")]
    {
        let (policy, narrowed) = bounded(BOUND, &LOOSE.replacen(old, new, 1));
        assert!(policy.secrets.is_empty(), "{new}");
        assert!(narrowed.iter().any(|key| key == "sandbox.secrets.KEY"), "{narrowed:?}");
    }
    assert!(policy.prove.value && policy.max_depth.value == 2);
    assert_eq!(policy.run.max_turns.value, 20);
    assert_eq!(policy.run.budget.as_ref().unwrap().value, 1000);
    assert_eq!(policy.run.time_ms.as_ref().unwrap().value, 3_600_000);
    assert_eq!(policy.when_tainted.backend.as_ref().unwrap().value, BackendChoice::Auto);
    assert!(policy.when_tainted.network_off.is_some());
    assert_eq!(policy.when_tainted.approval.as_ref().unwrap().value, Consent::Strict);
    assert_eq!(values(&policy.when_tainted.tools), ["shell"]);
    assert_eq!(policy.tools.as_ref().unwrap().value, ["read_file", "shell"]);
    let approval = |tool: &str| policy.tool_rules[tool].approval().unwrap().value;
    assert_eq!(approval("write_file"), Approval::Ask);
    assert_eq!(approval("delete_file"), Approval::Blocked);
    let guard = |pattern: &str| {
        let entry = policy.guards.entries().iter().find(|entry| entry.pattern == pattern);
        entry.map(|entry| entry.guard.value)
    };
    assert!(guard(".envrc") > Some(Guard::Allow) && guard("tools/**").is_none());
    assert_eq!(policy.audit.value, crate::policy::Audit::Required);
    assert_eq!(policy.shell.rules[0].grants.shown(), ["a.example.org", "*.example.com"]);
    for at in [&network.at, &require_os_sandbox.at, &backend.at, &consent.at, &policy.audit.at] {
        assert_eq!(at.file_line().unwrap().0, FILE);
    }
    assert_eq!(policy.limit_lines["memory"].file_line().unwrap(), (FILE, 7));
    for key in ["sandbox.network", "sandbox.pass_env", "sandbox.limits.memory", "approval.mode"] {
        assert!(narrowed.iter().any(|one| one == key), "{key}: {narrowed:?}");
    }
    assert!(!narrowed.iter().any(|key| key == "sandbox.limits.time"), "{narrowed:?}");
}

#[test]
fn bounding_twice_changes_nothing_more() {
    let held = organisation(BOUND);
    let once = held.bound(&project(LOOSE)).policy;
    let twice = held.bound(&once);
    assert_eq!(twice.policy, once);
    assert_eq!(twice.narrowed, []);
}

#[test]
fn a_bound_grants_nothing() {
    let (policy, narrowed) = bounded(BOUND, "sandbox: { mode: direct }\n");
    let silent = project("sandbox: { mode: direct }\n");
    assert_eq!(policy.network, silent.network);
    assert_eq!((policy.pass_env, policy.secrets), (silent.pass_env, silent.secrets));
    assert_eq!(policy.allow_hard_links, []);
    assert_eq!(policy.zones, silent.zones);
    assert_eq!(narrowed, Vec::<String>::new(), "what nobody wrote is no news");
    assert_eq!(policy.require_os_sandbox.value, OsSandbox::Required);
    assert_eq!(policy.limits.memory, Some(2 << 30));
}

#[test]
fn a_key_that_the_file_does_not_have_bounds_nothing() {
    let (policy, narrowed) = bounded("sandbox: { limits: { memory: 1T } }\n", LOOSE);
    let own = project(LOOSE);
    assert_eq!(policy.network, own.network);
    assert_eq!(policy.shell, own.shell);
    assert_eq!(narrowed, Vec::<String>::new());
    let (policy, _) = bounded("sandbox: { limits: { memory: 1G } }\n", LOOSE);
    assert_eq!((policy.limits.memory, policy.limits.processes), (Some(1 << 30), None));
}

#[test]
fn a_stricter_project_stays_as_it_is() {
    let strict = "sandbox:
  mode: direct
  network: { allow: [b.example.com] }
  limits: { memory: 1G, processes: 10 }
  require_os_sandbox: true
approval: { mode: strict }
";
    let (policy, narrowed) = bounded(&BOUND.replace("mode: tool", "mode: auto"), strict);
    assert_eq!(narrowed, Vec::<String>::new());
    assert_eq!(policy.network.value.shown(), ["b.example.com"]);
    // What the organisation refuses stays refused below what the project allows.
    let crate::policy::Network::Hosts(hosts) = &policy.network.value else { panic!() };
    assert_eq!(hosts.deny[0].at.file_line().unwrap().0, FILE);
    assert_eq!(policy.consent.value, Consent::Strict);
    assert_eq!(policy.limits.memory, Some(1 << 30));
}

/// Returns what holds for a line.
fn approval(bound: &str, own: &str, line: &str) -> Approval {
    let policy = organisation(bound).bound(&project(own)).policy;
    decide(&Grant::of(&policy), &AgentPath::root(), line, true).approval
}

#[test]
fn rules_for_commands_can_only_become_stricter() {
    use Approval::{Ask, Blocked, PreApproved};
    let rules = "shell: { rules: [{ pattern: 'git push', approval: ask }, { pattern: 'rm *', approval: blocked }] }\n";
    let open = "shell: { default: preApproved, rules: [{ pattern: 'git *', approval: preApproved }, { pattern: 'rm *', approval: preApproved }] }\n";
    let shut =
        "shell: { default: preApproved, rules: [{ pattern: 'git *', approval: blocked }] }\n";
    let silent = "name: p\n";
    let with_default =
        "shell: { default: ask, rules: [{ pattern: 'git status', approval: preApproved }] }\n";
    let cases = [
        // The organisation, the project, the line, what holds.
        (rules, open, "git push", Ask),
        (rules, open, "git status", PreApproved),
        (rules, open, "rm -r a", Blocked),
        (rules, open, "git status && rm a", Blocked),
        (rules, shut, "git push", Blocked),
        (rules, silent, "git push", Ask),
        (with_default, open, "git status", PreApproved),
        (with_default, open, "git push", Ask),
        (with_default, open, "ls", Ask),
        (with_default, shut, "git status", Blocked),
        (with_default, silent, "git status", Ask),
        ("shell: { default: blocked }\n", open, "ls", Blocked),
    ];
    for (bound, own, line, want) in cases {
        assert_eq!(approval(bound, own, line), want, "{bound}{own}{line}");
    }
}

#[test]
fn a_rule_of_the_organisation_takes_no_network_away_that_it_does_not_name() {
    let own = "shell: { rules: [{ pattern: 'git push', approval: preApproved, grants: { network: [g.example.org] } }] }\n";
    let bound = "shell: { rules: [{ pattern: 'git *', approval: ask }] }\n";
    let policy = organisation(bound).bound(&project(own)).policy;
    let decision = decide(&Grant::of(&policy), &AgentPath::root(), "git push", true);
    assert_eq!(decision.grants.shown(), ["g.example.org"]);
    let bound = format!("sandbox: {{ network: false }}\n{bound}");
    let policy = organisation(&bound).bound(&project(own)).policy;
    let decision = decide(&Grant::of(&policy), &AgentPath::root(), "git push", true);
    assert_eq!(decision.grants.shown(), Vec::<String>::new());
}

#[test]
fn zones_lie_in_the_organisations_directories_with_its_rules() {
    let held = organisation(
        "sandbox:
  zones:
    home: { path: /home, mode: rw }
    shared: { path: /home/shared, mode: ro, suffixes: [.md], max_file_bytes: 10, untrusted: true }
    asked: { path: /srv, mode: rw, approval: { write: ask, delete: blocked } }
",
    );
    let dirs: Vec<(PathBuf, &Zone)> =
        held.dirs().unwrap().iter().map(|zone| (zone.path.value.clone(), zone)).collect();
    let own = project(
        "sandbox: { mode: direct, zones: { w: { path: ./w, mode: rw, approval: { write: preApproved } } } }\n",
    );
    let zone = |real: &str| held.zone(&own.zones[0], Path::new(real), &dirs);
    assert_eq!(zone("/home/a/w").unwrap(), own.zones[0]);
    let shared = zone("/home/shared/w").unwrap();
    assert_eq!((shared.mode.value, shared.max_file_bytes.unwrap().value), (Mode::Ro, 10));
    assert!(shared.untrusted.is_some() && shared.suffixes.unwrap().value == [".md"]);
    assert_eq!(shared.mode.at.file_line(), Some((FILE, 4)));
    let asked = zone("/srv/w").unwrap();
    assert_eq!(asked.approval.write.value, Approval::Ask);
    assert_eq!(asked.approval.delete.value, Approval::Blocked);
    // A name that only begins alike is elsewhere.
    for real in ["/homes/a", "/", "/etc", "/srvx"] {
        assert!(matches!(zone(real), Err(Beyond::Elsewhere { .. })), "{real}");
    }
    // A directory that holds one with stricter rules would open it.
    assert!(matches!(zone("/home"), Err(Beyond::Holds { .. })));
    let place = |real: &str, mode| held.place(Path::new(real), mode, &dirs);
    assert_eq!(place("/home/a", Mode::Rw), Ok(()));
    for (real, mode) in [("/home/shared", Mode::Rw), ("/home/shared", Mode::Ro), ("/srv", Mode::Rw)]
    {
        assert!(matches!(place(real, mode), Err(Beyond::Stricter { .. })), "{real}");
    }
    let none = organisation("sandbox: { zones: {} }\n");
    assert!(none.zone(&own.zones[0], Path::new("/p/w"), &[]).is_err());
    assert_eq!(organisation("sandbox: { network: false }\n").dirs(), None);
}

#[test]
fn keys_that_cannot_be_compared_are_refused_in_the_file() {
    let bad = [
        ("sandbox: { env: { A: b } }\n", "'sandbox.env' cannot be in an organisation's file"),
        ("sandbox: { mode: direct }\n", "'sandbox.mode' cannot be"),
        ("sandbox: { working_dir: / }\n", "'sandbox.working_dir' cannot be"),
        ("sandbox: { paths: { a: { root: /a } } }\n", "'sandbox.paths' cannot be"),
        ("model: 'openai:x'\n", "'model' cannot be"),
        ("when_tainted: { without: [] }\n", "'when_tainted.without' cannot be"),
        ("shell_default: ask\n", "'shell_default' cannot be"),
        ("shell: { presets: [read_only] }\n", "bounds nothing without 'shell.default'"),
        ("sandbox: { zones: { a: { path: ./a, mode: rw } } }\n", "has no absolute path"),
        ("sandbox: { zones: { a: { path: /a, mode: rw, at: same } } }\n", "'at' cannot be"),
        ("sandbox: { network: }\n", "'network' has no value"),
        ("sandbox: { limits: { memory: ~ } }\n", "'memory' has no value"),
        ("tools: null\n", "'tools' has no value"),
        ("sandbox:\n", "'sandbox' has no value"),
        ("sandbox: { netwrok: false }\n", "netwrok"),
        ("sandbox: { network: false }\nsandbox: { network: true }\n", "sandbox"),
        ("- a\n", ""),
        ("sandbox: [\n", ""),
        // A file that was cut short.
        ("", "the file is empty, and so bounds nothing"),
        ("# nothing yet\n", "bounds nothing"),
        ("sandbox: {}\n", "bounds nothing"),
        ("name: Example Ltd\n", "bounds nothing"),
    ];
    for (text, says) in bad {
        let problems = Organisation::parse(text, FILE).expect_err(text);
        assert!(problems.iter().any(|p| p.message.contains(says)), "{text}: {problems:#?}");
    }
}

#[test]
fn no_change_of_the_project_is_proposed_that_the_organisation_undoes() {
    let own = "sandbox: { mode: direct, zones: { w: { path: /p/w, mode: ro }, v: { path: /v, mode: ro } } }\n";
    let bound = "sandbox: { zones: { p: { path: /p, mode: rw }, v: { path: /v, mode: ro } } }\n";
    let policy = organisation(bound).bound(&project(own)).policy;
    let write = |path: &str| {
        let grant = Grant::of(&policy);
        let target = crate::action::Target::parse(path, grant.view()).unwrap();
        crate::change::smallest(
            &policy,
            &Action::new("write_file", crate::action::Verb::Write, target),
        )
    };
    assert!(write("/w/a").is_some(), "the control");
    assert_eq!(write("/v/a"), None);
    assert!(write("/new/a").is_some(), "a directory of the project is within /p");
}

#[test]
fn rules_that_change_while_they_are_bounded_compare_as_before() {
    let held = organisation(BOUND);
    let old = held.bound(&project(LOOSE)).policy;
    let same = tightened(&old, &held.bound(&project(&format!("# a comment\n{LOOSE}"))).policy);
    assert_eq!(same.withheld, []);
    assert_eq!(same.policy.organisations.len(), 1);
}

/// A running program keeps every version that it has read, so that none of them is loosened.
#[test]
fn another_version_of_the_file_holds_beside_the_first() {
    let first = organisation(
        "sandbox: { network: { allow: [a.test, b.test] } }\nshell: { rules: [{ pattern: 'rm *', approval: blocked }] }\n",
    );
    let second = organisation(
        "sandbox: { network: { allow: [b.test, c.test] } }\nshell: { rules: [{ pattern: 'mv *', approval: blocked }] }\n",
    );
    let own = project(
        "sandbox: { network: { allow: [a.test, b.test, c.test] } }\nshell: { default: preApproved }\n",
    );
    let both = second.bound(&first.bound(&own).policy).policy;
    assert_eq!(both.network.value.shown(), ["b.test"]);
    let approval = |policy: &Policy, line: &str| {
        decide(&Grant::of(policy), &AgentPath::root(), line, true).approval
    };
    for line in ["rm a", "mv a b"] {
        assert_eq!(approval(&both, line), Approval::Blocked, "{line}");
    }
    // Rules without the bounds, as a changed project has them where the file is gone.
    let Tightened { policy, withheld } = tightened(&both, &own);
    assert_eq!(approval(&policy, "rm a"), Approval::Blocked);
    assert_eq!((policy.network.value.shown(), withheld.len()), (vec!["b.test".to_owned()], 1));
    // The same rules on other lines are no version of their own.
    let moved = organisation(
        "# moved\nsandbox:\n  network: { allow: [b.test, c.test] }\nshell: { rules: [{ pattern: 'mv *', approval: blocked }] }\n",
    );
    assert!(moved.same_rules(&second) && !moved.same_rules(&first));
    assert_eq!(moved.bound(&both).policy.organisations, [Arc::clone(&first), Arc::clone(&moved)]);
    // The order of rules decides.
    let rules = |a: &str, b: &str| {
        organisation(&format!(
            "shell: {{ rules: [{{ pattern: '{a}', approval: ask }}, {{ pattern: '{b}', approval: blocked }}] }}\n"
        ))
    };
    assert!(!rules("a", "b").same_rules(&rules("b", "a")));
}

/// Guards of a project that are stricter stay, whatever else the organisation guards.
#[test]
fn guards_of_both_hold() {
    let bound = "sandbox: { guard: { '.svn/**': ask, 'a.md': ask, 'b.md': block } }\n";
    let own = "sandbox: { guard: { 'a.md': block, 'b.md': ask, 'c.md': ask, 'd.md': allow, '.git/hooks/**': report } }\n";
    let (policy, narrowed) = bounded(bound, own);
    let level = |pattern: &str| {
        let entry = policy.guards.entries().iter().find(|entry| entry.pattern == pattern);
        entry.map(|entry| entry.guard.value)
    };
    let levels = ["a.md", "b.md", "c.md", "d.md", ".git/hooks/**"].map(level);
    let block = Some(Guard::Block);
    assert_eq!(levels, [block, block, Some(Guard::Ask), None, None]);
    assert_eq!(narrowed.len(), 3, "{narrowed:?}");
    // The entry that is built in holds for commands only where it is written.
    let svn = policy.guards.entries().iter().find(|entry| entry.pattern == ".svn/**").unwrap();
    assert_eq!(svn.guard.at.file_line().unwrap().0, FILE);
}
