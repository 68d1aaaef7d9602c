use proptest::prelude::*;

use super::*;
use crate::action::{Action, Target, Verb};
use crate::config::{self, Overrides};
use crate::grant::Grant;
use crate::hosts::{ConnectVerdict, Destination, PresetHosts, judge_connect};
use crate::judge::{Verdict, judge};
use crate::path::AgentPath;
use crate::shell::{CommandVerdict, Request, decide, judge_command};

fn policy(text: &str) -> Policy {
    let loaded =
        config::load(text, "zonekeep.yaml", "/p/zonekeep.yaml".as_ref(), &Overrides::default());
    loaded.policy.unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.problems))
}

const BASE: &str = "
sandbox:
  mode: direct
  zones:
    in: { path: ./in, mode: ro, suffixes: [.md, .txt], max_file_bytes: 100 }
    out: { path: ./out, mode: rw, approval: { write: ask } }
  network: { allow: [example.org, example.net], ask: [example.com], deny: [bad.example.org] }
  limits: { processes: 100, memory: 1G }
  pass_env: [LANG]
  env: { A: b }
tool_rules: { delete_file: { approval_required: true } }
tools: [read_file, write_file, edit_file, delete_file, shell]
shell:
  default: ask
  presets: [read_only]
  rules:
    - { pattern: 'git status', approval: preApproved }
    - { pattern: 'git push *', approval: ask }
    - { pattern: 'rm *', approval: blocked }
when_tainted: { approval: strict, network: false, without: [in] }
";

fn withheld(old: &str, new: &str) -> Vec<String> {
    let keys = tightened(&policy(old), &policy(new)).withheld;
    keys.into_iter().map(|withheld| withheld.key).collect()
}

#[test]
fn another_place_of_a_zone_waits() {
    let same = BASE.replace("path: ./out,", "path: ./out, at: same,");
    assert_eq!(withheld(BASE, &same), ["sandbox.zones.out.at"]);
    assert_eq!(withheld(&same, BASE), ["sandbox.zones.out.at"]);
    assert_eq!(withheld(&same, &same), [] as [String; 0]);
}

#[test]
fn caches_that_are_kept_wait() {
    let with = |word: &str| {
        BASE.replace("  mode: direct\n", &format!("  mode: direct\n  caches: {word}\n"))
    };
    assert_eq!(withheld(&with("fresh"), &with("keep")), ["sandbox.caches"]);
    assert_eq!(withheld(&with("fresh"), BASE), ["sandbox.caches"]);
    assert_eq!(withheld(&with("keep"), &with("fresh")), [] as [String; 0]);
    assert_eq!(withheld(BASE, &with("fresh")), [] as [String; 0]);
}

#[test]
fn what_is_tighter_holds_at_once() {
    let cases = [
        ("path: ./in,", "path: ./in, approval: { read: ask },"),
        ("[.md, .txt]", "[.md]"),
        ("max_file_bytes: 100", "max_file_bytes: 99"),
        ("mode: rw", "mode: ro"),
        ("write: ask", "write: blocked"),
        ("write: ask", "write: ask, delete: blocked"),
        ("max_file_bytes: 100 }", "max_file_bytes: 100, untrusted: true }"),
        ("    out: { path: ./out, mode: rw, approval: { write: ask } }\n", ""),
        ("allow: [example.org, example.net]", "allow: [example.org]"),
        ("ask: [example.com]", "ask: [example.com, example.org]"),
        ("deny: [bad.example.org]", "deny: [bad.example.org, worse.example.org]"),
        ("network: { allow", "network: false\n  # { allow"),
        ("processes: 100", "processes: 99"),
        ("memory: 1G", "memory: 1G, time: 1h, tmp: 1M"),
        ("[LANG]", "[]"),
        ("approval_required: true", "allowed: false"),
        ("edit_file, delete_file", "edit_file"),
        ("default: ask", "default: blocked"),
        ("  presets: [read_only]\n", ""),
        ("    - { pattern: 'git status', approval: preApproved }\n", ""),
        ("  rules:\n", "  rules:\n    - { pattern: 'git *', approval: blocked }\n"),
        (
            "'rm *', approval: blocked }\n",
            "'rm *', approval: blocked }\n    - { pattern: dd, approval: blocked }\n",
        ),
        ("without: [in]", "without: [in, out]"),
        ("\nsandbox:\n", "\nsandbox:\n  require_os_sandbox: true\n  prove: true\n"),
        ("\nsandbox:\n", "\naudit: required\napproval: { mode: manual }\nsandbox:\n"),
        ("\nsandbox:\n", "\nsandbox:\n  guard: { 'x.sh': deny, '.envrc': deny }\n"),
        // Nothing but lines.
        ("\nsandbox:\n", "\n# A comment.\n\nsandbox:\n"),
    ];
    for (from, to) in cases {
        assert!(BASE.contains(from), "{from}");
        let text = BASE.replacen(from, to, 1);
        assert_eq!(withheld(BASE, &text), Vec::<String>::new(), "{from} -> {to}");
        let (old, new) = (policy(BASE), policy(&text));
        assert_eq!(tightened(&old, &new).policy, new, "{from} -> {to}");
        // The way back loosens, unless nothing but lines has changed.
        let back = withheld(&text, BASE);
        assert_eq!(back.is_empty(), to.contains("comment"), "{to}: {back:?}");
    }
}

#[test]
fn what_may_be_looser_waits() {
    let cases = [
        ("mode: ro", "mode: rw", "sandbox.zones.in.mode"),
        ("path: ./in,", "path: ./on,", "sandbox.zones.in.path"),
        ("  zones:\n", "  zones:\n    new: { path: ./new }\n", "sandbox.zones.new"),
        ("[.md, .txt]", "[.md, .txt, .sh]", "sandbox.zones.in.suffixes"),
        (", max_file_bytes: 100", "", "sandbox.zones.in.max_file_bytes"),
        ("{ write: ask }", "{ write: preApproved }", "sandbox.zones.out.approval.write"),
        (", approval: { write: ask }", "", "sandbox.zones.out.approval.write"),
        ("[example.org, ", "['*.example.org', ", "sandbox.network"),
        ("deny: [bad.example.org]", "deny: []", "sandbox.network"),
        ("network: { allow", "network: true\n  # { allow", "sandbox.network"),
        ("processes: 100", "processes: 101", "sandbox.limits.processes"),
        ("[LANG]", "[LANG, HOST_TOKEN]", "sandbox.pass_env"),
        ("{ A: b }", "{ A: c }", "sandbox.env"),
        ("{ A: b }", "{}", "sandbox.env"),
        ("approval_required: true", "approval_required: false", "tool_rules.delete_file"),
        ("delete_file, shell]", "delete_file, shell, copy_file]", "tools"),
        ("default: ask", "default: preApproved", "shell"),
        ("default: ask", "default: contained", "shell"),
        ("  default: ask\n", "  mode: bash\n", "shell"),
        ("push *', approval: ask", "push *', approval: preApproved", "shell"),
        ("    - { pattern: 'rm *', approval: blocked }\n", "", "shell"),
        ("'git status', approval: preApproved", "'git status', approval: ask", "shell"),
        ("approval: strict", "approval: manual", "when_tainted.approval"),
        ("network: false,", "", "when_tainted.network"),
        ("without: [in]", "tools: [shell]", "when_tainted.without"),
        ("\nsandbox:\n", "\nsandbox:\n  require_os_sandbox: false\n", "sandbox.require_os_sandbox"),
        ("\nsandbox:\n", "\nsandbox:\n  backend: namespaces\n", "sandbox.backend"),
        ("\nsandbox:\n", "\nsandbox:\n  backend: bubblewrap\n", "sandbox.backend"),
        ("\nsandbox:\n", "\nsandbox:\n  backend: none\n", "sandbox.backend"),
        ("\nsandbox:\n", "\nsandbox:\n  working_dir: /in\n", "sandbox.working_dir"),
        ("\nsandbox:\n", "\nsandbox:\n  guard: { '.envrc': allow }\n", "sandbox.guard.\".envrc\""),
        ("\nsandbox:\n", "\nsandbox:\n  guard: { '.git/x': ask }\n", "sandbox.guard.\".git/x\""),
        ("\nsandbox:\n", "\nmodel: other\nsandbox:\n", "model"),
        ("\nsandbox:\n", "\naudit: best_effort\nsandbox:\n", "audit"),
        ("\nsandbox:\n", "\napproval: { mode: auto }\nsandbox:\n", "approval.mode"),
    ];
    for (from, to, want) in cases {
        assert!(BASE.contains(from), "{from}");
        let text = BASE.replacen(from, to, 1);
        assert_eq!(withheld(BASE, &text), [want], "{from} -> {to}");
        // What else is tighter in the same file holds all the same.
        let both = text.replace("memory: 1G", "memory: 1M");
        let held = tightened(&policy(BASE), &policy(&both)).policy;
        assert_eq!(held.limits.memory, Some(1 << 20), "{from} -> {to}");
    }
}

#[test]
fn a_default_that_is_gone_is_a_question() {
    let silent = BASE.replace("  default: ask\n", "");
    assert_eq!(withheld(BASE, &silent), Vec::<String>::new());
    let open =
        silent.replace("tool_rules: {", "tool_rules: { shell: { approval_required: false },");
    assert_eq!(withheld(BASE, &open), ["shell", "tool_rules.shell"]);
}

#[test]
fn a_secret_that_is_none_any_more_is_not_passed_on() {
    let secret = "sandbox:
  network: [example.org]
  secrets: { TOKEN: { env: HOST_TOKEN, hosts: [example.org] } }
  pass_env: [HOST_TOKEN]
";
    let open =
        secret.replace("  secrets: { TOKEN: { env: HOST_TOKEN, hosts: [example.org] } }\n", "");
    assert_eq!(withheld(secret, &open), ["sandbox.pass_env"]);
    assert_eq!(tightened(&policy(secret), &policy(&open)).policy.pass_env, []);
}

#[test]
fn an_untrusted_zone_that_is_gone_still_needs_a_sandbox() {
    let old = "sandbox: { zones: { a: { path: ./a }, b: { path: ./b, untrusted: true } } }\n";
    let new = "sandbox: { zones: { a: { path: ./a } } }\n";
    assert_eq!(withheld(old, new), ["sandbox.require_os_sandbox"]);
    let held = tightened(&policy(old), &policy(new)).policy.require_os_sandbox.value;
    assert_eq!(held, OsSandbox::Required);
}

#[test]
fn a_network_that_rules_give_keeps_what_is_refused() {
    let rules =
        "shell: { rules: [{ pattern: curl, approval: preApproved, grants: { network: true } }] }\n";
    let old =
        format!("sandbox: {{ network: {{ allow: [a.example], deny: [b.example] }} }}\n{rules}");
    let new = format!("sandbox: {{ network: false }}\n{rules}");
    assert_eq!(withheld(&old, &new), ["sandbox.network"]);
}

#[test]
fn another_project_is_another_project() {
    let (old, mut new) = (policy(BASE), policy(BASE));
    new.project = "/other".into();
    let Tightened { policy, withheld } = tightened(&old, &new);
    assert_eq!((policy, withheld.len()), (old, 1));
}

#[test]
fn versions_of_the_rules_for_commands_do_not_pile_up() {
    let mut held = policy(BASE);
    for n in 0..40 {
        let rule = format!(
            "'git push *', approval: preApproved }}\n    - {{ pattern: 'x{}', approval: blocked",
            n % 20
        );
        let text = BASE.replace("'git push *', approval: ask", &rule);
        held = tightened(&held, &policy(&text)).policy;
        assert!(held.shell_before.len() <= MAX_SHELLS);
        let grant = Grant::of(&held);
        assert_eq!(command(&grant, "git push origin"), 1);
        assert_eq!(command(&grant, "git status"), 0);
    }
    assert_eq!(command(&Grant::of(&held), "x1"), 2);
}

// ---- properties

/// The parts of a project file.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) zones: [Option<(&'static str, String)>; 2],
    network: &'static str,
    write: &'static str,
    run: &'static str,
    shell: String,
    guards: &'static str,
    mode: &'static str,
    tools: &'static str,
    tainted: &'static str,
    dir: &'static str,
}

/// Parts of files that are looser and tighter than each other.
pub(super) fn parts() -> impl Strategy<Value = Parts> {
    let approval = || prop::sample::select(vec!["", "preApproved", "ask", "blocked"]);
    let zone = (
        prop::sample::select(vec!["ro", "rw"]),
        prop::sample::select(vec!["", ", suffixes: [.md]", ", suffixes: [.md, .txt]"]),
        prop::sample::select(vec!["", ", max_file_bytes: 5", ", max_file_bytes: 50"]),
        (approval(), approval(), approval()),
        prop::sample::select(vec!["", "", ", untrusted: true"]),
        prop::sample::select(vec!["a", "a", "a", "elsewhere"]),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(mode, suffixes, size, (read, write, delete), untrusted, path, there)| {
            let rules = [("read", read), ("write", write), ("delete", delete)];
            let rules: Vec<String> = rules
                .iter()
                .filter(|(_, rule)| !rule.is_empty())
                .map(|(name, rule)| format!("{name}: {rule}"))
                .collect();
            let rules = rules.join(", ");
            let body = format!("mode: {mode}{suffixes}{size}{untrusted}, approval: {{ {rules} }}");
            there.then_some((path, body))
        });
    let zones = [zone.clone(), zone];
    let tool_rule = || {
        prop::sample::select(vec![
            "{}",
            "{ approval_required: true }",
            "{ approval_required: false }",
            "{ allowed: false }",
        ])
    };
    let network = prop::sample::select(vec![
        "false",
        "true",
        "[a.example]",
        "[a.example, b.example]",
        "{ allow: [a.example, b.example], ask: [a.example] }",
        "{ allow: [a.example, b.example], deny: [a.example] }",
        "{ allow: ['*.example'], deny: [b.example], ask: [a.example] }",
    ]);
    let rule = (
        prop::sample::select(vec!["git *", "git push *", "git status", "*", "rm *", "ls"]),
        prop::sample::select(vec!["preApproved", "ask", "blocked"]),
        prop::sample::select(vec![
            "",
            "",
            ", grants: { network: true }",
            ", grants: { network: [a.example] }",
        ]),
    )
        .prop_map(|(pattern, approval, grants)| {
            let grants = if approval == "blocked" { "" } else { grants };
            format!("{{ pattern: '{pattern}', approval: {approval}{grants} }}")
        });
    let shell = (
        prop::collection::vec(rule, 0..4),
        prop::sample::select(vec![
            "",
            "default: preApproved",
            "default: contained",
            "default: ask",
            "default: blocked",
        ]),
        prop::sample::select(vec![
            "",
            "presets: [read_only]",
            "presets: [edit]",
            "presets: [build, edit, git_local, read_only]",
        ]),
        prop::sample::select(vec!["", "", "mode: argv", "mode: bash"]),
    )
        .prop_map(|(rules, default, presets, mode)| {
            let parts = [default, presets, mode];
            let parts: String = parts
                .iter()
                .filter(|part| !part.is_empty())
                .map(|part| format!("{part}, "))
                .collect();
            format!("shell: {{ {parts}rules: [{}] }}\n", rules.join(", "))
        });
    let guards = prop::sample::select(vec![
        "",
        "  guard: { '.envrc': allow }\n",
        "  guard: { '.envrc': deny }\n",
        "  guard: { 'a.md': ask }\n",
        "  guard: { 'a.md': deny, '.git/**': allow }\n",
    ]);
    let mode = prop::sample::select(vec!["", "tool", "manual", "auto", "strict"]);
    let tools = prop::sample::select(vec![
        "",
        "tools: [read_file, write_file, shell]\n",
        "tools: [read_file, write_file, edit_file, delete_file, shell]\n",
    ]);
    let tainted = prop::sample::select(vec![
        "",
        "when_tainted: { approval: strict }\n",
        "when_tainted: { network: false, tools: [write_file] }\n",
        "when_tainted: { without: [a], approval: manual }\n",
    ]);
    let dir = prop::sample::select(vec!["", "", "  working_dir: /a\n"]);
    (zones, network, (tool_rule(), tool_rule()), shell, guards, mode, tools, (tainted, dir))
        .prop_map(|(zones, network, (write, run), shell, guards, mode, tools, (tainted, dir))| {
            Parts { zones, network, write, run, shell, guards, mode, tools, tainted, dir }
        })
}

/// Two files that have most of their parts in common, and a third.
fn files() -> impl Strategy<Value = [String; 3]> {
    (parts(), parts(), parts(), prop::collection::vec(prop::bool::weighted(0.2), 11)).prop_map(
        |(old, other, third, changed)| {
            let mut new = old.clone();
            let mut changed = changed.into_iter();
            let mut changes = || changed.next().unwrap_or_default();
            for (zone, other) in new.zones.iter_mut().zip(&other.zones) {
                if changes() {
                    zone.clone_from(other);
                }
            }
            let words = [
                (&mut new.network, other.network),
                (&mut new.write, other.write),
                (&mut new.run, other.run),
                (&mut new.guards, other.guards),
                (&mut new.mode, other.mode),
                (&mut new.tools, other.tools),
                (&mut new.tainted, other.tainted),
                (&mut new.dir, other.dir),
            ];
            for (word, other) in words {
                if changes() {
                    *word = other;
                }
            }
            if changes() {
                new.shell.clone_from(&other.shell);
            }
            [old.text(), new.text(), third.text()]
        },
    )
}

impl Parts {
    pub(super) fn text(&self) -> String {
        let mut text = "sandbox:\n  mode: direct\n  zones:\n".to_owned();
        let mut names = Vec::new();
        for (name, zone) in ["a", "b"].into_iter().zip(&self.zones) {
            if let Some((path, body)) = zone {
                let path = if *path == "a" { name.to_owned() } else { format!("{name}-{path}") };
                text.push_str(&format!("    {name}: {{ path: ./{path}, {body} }}\n"));
                names.push(name);
            }
        }
        if names.is_empty() {
            text = "sandbox:\n  mode: direct\n  zones: { c: { path: ./c } }\n".to_owned();
        }
        let Parts { network, write, run, shell, guards, mode, tools, .. } = self;
        let (mut tainted, mut dir) = (self.tainted, self.dir);
        if !names.contains(&"a") {
            dir = "";
            tainted = if tainted.contains("[a]") { "" } else { tainted };
        }
        text.push_str(&format!("  network: {network}\n{dir}{guards}"));
        if !mode.is_empty() {
            text.push_str(&format!("approval: {{ mode: {mode} }}\n"));
        }
        let rules = format!("tool_rules: {{ write_file: {write}, shell: {run} }}\n");
        text.push_str(&format!("{rules}{tools}{shell}{tainted}"));
        text
    }

    /// Returns an organisation's file with the keys that `has` says, in the order of their
    /// names, and with more lines below `sandbox`. The first zone can be all of the project.
    pub(super) fn organisation(&self, has: [bool; 8], wide: bool, more: &str) -> String {
        let Parts { network, write, run, shell, guards, mode, tools, tainted, .. } = self;
        let [approval, guard, networks, shells, tool_rules, listed, taints, zoned] = has;
        let mut text = format!("sandbox:\n  prove: false\n{more}");
        if guard {
            text.push_str(guards);
        }
        if networks {
            text.push_str(&format!("  network: {network}\n"));
        }
        if zoned {
            let zones = ["a", "b"].into_iter().zip(&self.zones).filter_map(|(name, zone)| {
                let path = if wide && name == "a" { "/p".to_owned() } else { format!("/p/{name}") };
                zone.as_ref().map(|(_, body)| format!("{name}: {{ path: {path}, {body} }}"))
            });
            let zones: Vec<String> = zones.collect();
            text.push_str(&format!("  zones: {{ {} }}\n", zones.join(", ")));
        }
        if approval && !mode.is_empty() {
            text.push_str(&format!("approval: {{ mode: {mode} }}\n"));
        }
        if tool_rules {
            text.push_str(&format!("tool_rules: {{ write_file: {write}, shell: {run} }}\n"));
        }
        // Presets bound nothing without a default.
        if shells && shell.contains("default") {
            text.push_str(shell);
        } else if shells {
            let rules = shell.find("rules:").map_or("", |at| &shell[at..]);
            text.push_str(&format!("shell: {{ {rules}"));
        }
        if listed {
            text.push_str(tools);
        }
        if taints && !tainted.contains("without") {
            text.push_str(tainted);
        }
        text
    }
}

fn command(grant: &Grant, line: &str) -> u8 {
    if !grant.has_tool("shell") {
        return 2;
    }
    match judge_command(grant, &Request::line(line, AgentPath::root()), true).verdict {
        CommandVerdict::Allow(_) => 0,
        CommandVerdict::Ask(_) => 1,
        CommandVerdict::Deny(_) => 2,
    }
}

/// Returns how strict rules are about many things, as numbers that grow with it.
fn strictness(grant: &Grant) -> Vec<(String, u8)> {
    let mut all = Vec::new();
    let target = |path: &str| Target::of(AgentPath::absolute(path).unwrap());
    let mut file =
        |tool: &'static str, verb: Verb, path: &str, to: Option<&str>, bytes: Option<u64>| {
            let mut action = Action::new(tool, verb, target(path));
            action.bytes = bytes;
            action.to = to.map(target);
            let rank = match judge(grant, &action).verdict {
                Verdict::Allow(_) => 0,
                Verdict::Ask(_) => 1,
                Verdict::Deny(_) => 2,
            };
            all.push((format!("{verb} {path} {to:?} {bytes:?}"), rank));
        };
    for zone in ["a", "b"] {
        for name in ["a.md", "b.txt", "c", ".envrc", ".git/config"] {
            let path = format!("/{zone}/{name}");
            file("read_file", Verb::Read, &path, None, None);
            for bytes in [3, 30, 300] {
                file("write_file", Verb::Write, &path, None, Some(bytes));
            }
            file("edit_file", Verb::Edit, &path, None, None);
            file("delete_file", Verb::Delete, &path, None, None);
            file("copy_file", Verb::Copy, &path, Some("/b/x.md"), None);
            file("move_file", Verb::Move, &path, Some("/a/x.md"), None);
        }
    }
    let lines = ["git status", "git push origin", "rm x", "ls", "ls; rm x", "sh -c 'rm x'", "$x"];
    let presets = PresetHosts::new();
    for line in lines {
        all.push((format!("run {line}"), command(grant, line)));
        for host in ["a.example", "b.example", "c.example"] {
            let decision = decide(grant, &AgentPath::root(), line, true);
            let network = grant.reach(&decision.grants, &decision.bounds);
            let to = Destination::parse(&format!("{host}:443")).unwrap();
            let rank = match judge_connect(&network, &presets, grant.consent(), &to).verdict {
                ConnectVerdict::Allow(_) => 0,
                ConnectVerdict::Ask(_) => 1,
                ConnectVerdict::Deny(_) => 2,
            };
            // The command has to run first.
            let rank = rank.max(command(grant, line));
            all.push((format!("connect {host} from {line}"), rank));
        }
    }
    all
}

/// Returns what is looser in one grant than in another.
fn looser(old: &Policy, new: &Policy) -> Vec<String> {
    looser_than_all(&[old], new)
}

/// Returns what is looser in one grant than in each of others.
pub(super) fn looser_than_all(olds: &[&Policy], new: &Policy) -> Vec<String> {
    let mut looser = Vec::new();
    for taint in [false, true] {
        let of = |policy: &Policy| match taint {
            true => Grant::of(policy).tainted(),
            false => Grant::of(policy),
        };
        let new = of(new);
        let required = |grant: &Grant| grant.require_os_sandbox().value == OsSandbox::Required;
        let olds: Vec<Grant> = olds.iter().map(|old| of(old)).collect();
        if olds.iter().all(required) && !required(&new) {
            looser.push("require_os_sandbox".to_owned());
        }
        // Without anybody to think about it `auto` refuses what a person is asked about.
        let auto = olds.iter().any(|old| old.consent().value == Consent::Auto);
        let held: Vec<Vec<(String, u8)>> = olds.iter().map(strictness).collect();
        for (number, (what, now)) in strictness(&new).into_iter().enumerate() {
            let held = held.iter().map(|old| old[number].1).min().unwrap_or_default();
            if now < held && !(auto && now > 0) {
                looser.push(format!("{what}: {held} -> {now} (tainted: {taint})"));
            }
        }
    }
    looser
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_holds_at_once_is_nowhere_looser([old, new, third] in files()) {
        let (before, after) = (policy(&old), policy(&new));
        let Tightened { policy: held, withheld } = tightened(&before, &after);
        prop_assert_eq!(looser(&before, &held), Vec::<String>::new(), "{}\n{}", old, new);
        if withheld.is_empty() {
            prop_assert_eq!(looser(&before, &after), Vec::<String>::new(), "{}\n{}", old, new);
            prop_assert_eq!(&held, &after);
        }
        // Again and again: what holds is the ground for the next change.
        let next = tightened(&held, &policy(&third)).policy;
        prop_assert_eq!(looser(&held, &next), Vec::<String>::new(), "{}\n{}\n{}", old, new, third);
        let same = tightened(&held, &held);
        prop_assert_eq!(same.withheld, []);
        prop_assert_eq!(same.policy, held);
    }

    #[test]
    fn a_file_is_no_looser_than_itself(parts in parts()) {
        let file = parts.text();
        let (policy, moved) = (policy(&file), policy(&format!("# A line.\n{file}")));
        let Tightened { policy: held, withheld } = tightened(&policy, &moved);
        prop_assert_eq!(withheld, []);
        prop_assert_eq!(held, moved);
    }
}
