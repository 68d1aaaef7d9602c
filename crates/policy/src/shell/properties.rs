//! What has to hold for every set of rules and every line.

use proptest::prelude::*;

use super::*;
use crate::grant::Grant;
use crate::hosts::{self, HostPattern, Hosts};
use crate::needs::{Needs, ZoneNeeds};
use crate::path::AgentPath;
use crate::policy::{Consent, Network, Policy, Shell, ShellRule};
use crate::source::{At, Ruled};
use crate::zone::{Approval, Mode, Zone};

fn approval() -> impl Strategy<Value = Approval> {
    prop_oneof![Just(Approval::PreApproved), Just(Approval::Ask), Just(Approval::Blocked)]
}

fn network() -> impl Strategy<Value = Network> {
    let pattern = |name: &&str| Ruled::default_of(HostPattern::parse(name).unwrap());
    let hosts = |names: &[&str]| {
        let allow = names.iter().map(pattern).collect();
        Network::Hosts(Hosts { allow, ..Hosts::default() })
    };
    prop_oneof![
        Just(Network::Off),
        Just(Network::On),
        Just(hosts(&["a.s.org"])),
        Just(hosts(&["a.s.org", "b.s.org:443"])),
        Just(hosts(&["*.s.org"])),
    ]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let token = prop_oneof![
        Just("git"),
        Just("rm"),
        Just("foo"),
        Just("push"),
        Just("-r"),
        Just("-rf"),
        Just("--force"),
        Just("-f"),
        Just("x"),
        Just("*"),
        Just("{a,b}"),
        Just("o*"),
        Just("-x"),
        Just("--"),
    ];
    let program = prop_oneof![
        Just("git"),
        Just("rm"),
        Just("foo"),
        Just("*"),
        Just("{git,foo}"),
        Just("./foo")
    ];
    (program, prop::collection::vec(token, 0..4)).prop_map(|(program, rest)| {
        let text = [&[program][..], &rest].concat().join(" ");
        Pattern::parse(&text).expect("these are patterns")
    })
}

fn shell() -> impl Strategy<Value = Shell> {
    let rule =
        (pattern(), approval(), network()).prop_map(|(pattern, approval, grants)| ShellRule {
            pattern,
            sandbox_paths: Vec::new(),
            paths: Vec::new(),
            approval,
            grants,
            at: At::Default,
        });
    let presets = prop::bool::ANY.prop_map(|some| match some {
        true => vec![Ruled::default_of(Preset::ReadOnly)],
        false => vec![],
    });
    (prop::collection::vec(rule, 0..5), prop::option::of(approval()), presets).prop_map(
        |(rules, default, presets)| Shell {
            mode: None,
            rules,
            default: default.map(|default| Ruled::default_of(default.into())),
            presets,
        },
    )
}

fn line() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("git"),
        Just("rm"),
        Just("foo"),
        Just("./foo"),
        Just("push"),
        Just("-r"),
        Just("-f"),
        Just("-rf"),
        Just("--force"),
        Just("--"),
        Just("x"),
        Just("$x"),
        Just("a*"),
        Just("*"),
        Just("'$x'"),
        Just(";"),
        Just("|"),
        Just("&&"),
        Just("\n"),
        Just("env"),
        Just("sudo"),
        Just("sh -c"),
        Just("'rm -rf x'"),
        Just("> f"),
        Just("A=1"),
        Just("$(rm x)"),
        Just("timeout 5"),
        Just("xargs"),
        Just("ls"),
        Just("("),
        Just(")"),
    ];
    prop::collection::vec(token, 0..10).prop_map(|tokens| tokens.join(" "))
}

fn grant(shell: &Shell, consent: Consent) -> Grant {
    let mut policy = Policy::empty("/p");
    policy.zones.push(Zone::new("repo", "/p/repo", Mode::Rw, At::Default));
    policy.shell = shell.clone();
    policy.consent = Ruled::default_of(consent);
    Grant::of(&policy)
}

fn below(parent: &Grant, shell: &Shell) -> Grant {
    let needs = Needs { zones: ZoneNeeds::All, shell: shell.clone(), ..Needs::default() };
    parent.narrow(&needs).expect("nothing is asked for")
}

/// Returns a verdict as a number that grows with strictness.
fn strictness(grant: &Grant, line: &str) -> u8 {
    match judge_command(grant, &Request::line(line, AgentPath::root()), true).verdict {
        CommandVerdict::Allow(_) => 0,
        CommandVerdict::Ask(_) => 1,
        CommandVerdict::Deny(_) => 2,
    }
}

const MODES: [Consent; 4] = [Consent::Tool, Consent::Manual, Consent::Auto, Consent::Strict];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_workers_rules_never_loosen(project in shell(), worker in shell(), line in line()) {
        for mode in MODES {
            let parent = grant(&project, mode);
            let child = below(&parent, &worker);
            prop_assert!(strictness(&child, &line) >= strictness(&parent, &line), "{mode:?} {line:?}");
        }
        let parent = grant(&project, Consent::Tool);
        let held = decide(&parent, &AgentPath::root(), &line, true);
        let given = decide(&below(&parent, &worker), &AgentPath::root(), &line, true);
        prop_assert!(given.approval >= held.approval);
        prop_assert!(given.must_ask >= held.must_ask);
        // What is given lies within what the project gives.
        if given.approval != Approval::Blocked {
            prop_assert_eq!(hosts::narrow(&held.grants, &given.grants).is_ok(), true);
        } else {
            prop_assert_eq!(given.grants, Network::Off);
        }
    }

    #[test]
    fn what_is_blocked_is_blocked_in_every_mode(shell in shell(), line in line()) {
        let blocked = decide(&grant(&shell, Consent::Tool), &AgentPath::root(), &line, true).approval
            == Approval::Blocked;
        for mode in MODES {
            for os_sandbox in [true, false] {
                let request = Request::line(line.clone(), AgentPath::root());
                let verdict = judge_command(&grant(&shell, mode), &request, os_sandbox).verdict;
                let denied = matches!(&verdict, CommandVerdict::Deny(denial) if denial.code() == "blocked");
                prop_assert_eq!(denied, blocked);
            }
        }
    }

    #[test]
    fn what_a_first_blocked_rule_matches_is_blocked(
        rest in shell(),
        flags in Just(["-a", "-b", "--long"]).prop_shuffle(),
        words in prop::collection::vec("[a-z]{1,4}", 0..3),
        at in 0usize..4,
    ) {
        let mut shell = rest;
        shell.rules.insert(0, ShellRule {
            pattern: Pattern::parse("foo -ab --long").expect("a pattern"),
            sandbox_paths: Vec::new(),
            paths: Vec::new(),
            approval: Approval::Blocked,
            grants: Network::Off,
            at: At::Default,
        });
        let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
        for (i, flag) in flags.iter().enumerate() {
            all.insert((at + i).min(all.len()), flag);
        }
        let line = format!("foo {}", all.join(" "));
        for wrapper in ["", "env ", "sudo -n ", "timeout 5 ", "nice -n 5 env A=1 "] {
            let line = format!("{wrapper}{line}");
            let decision = decide(&grant(&shell, Consent::Auto), &AgentPath::root(), &line, true);
            prop_assert_eq!(decision.approval, Approval::Blocked, "{}", line);
        }
    }

    #[test]
    fn what_is_not_known_never_runs_unasked(shell in shell(), line in line()) {
        let decision = decide(&grant(&shell, Consent::Tool), &AgentPath::root(), &line, true);
        let doubtful = decision.unparsed.is_some()
            || decision.parts.iter().any(|part| part.unknown.is_some() && !part.wrapper);
        prop_assert!(!doubtful || decision.approval > Approval::PreApproved, "{line:?}");
        if let Ok(parsed) = parse(&line) {
            let unknown = |word: &Word| matches!(word, Word::Unknown { .. });
            let open = parsed.commands.iter().any(|simple| simple.words.iter().any(unknown));
            prop_assert!(!open || decision.approval > Approval::PreApproved, "{line:?}");
        }
    }

    #[test]
    fn nothing_runs_unasked_without_an_os_sandbox(shell in shell(), line in line()) {
        let decision = decide(&grant(&shell, Consent::Tool), &AgentPath::root(), &line, false);
        prop_assert!(decision.approval > Approval::PreApproved);
    }

    #[test]
    fn every_text_is_decided(shell in shell(), line in "[ -~\n]{0,80}") {
        let decision = decide(&grant(&shell, Consent::Tool), &AgentPath::root(), &line, true);
        prop_assert!(decision.unparsed.is_some() || !decision.says.is_empty());
    }

    #[test]
    fn what_is_proposed_works(shell in shell(), line in line()) {
        let mut policy = Policy::empty("/p");
        policy.shell = shell;
        if let Some(inserts) = smallest(&policy, &AgentPath::root(), &line) {
            for insert in &inserts {
                prop_assert!(insert.rule.contains("pattern: \""));
            }
        }
    }
}
