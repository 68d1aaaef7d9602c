use super::*;
use crate::grant::ExceedsParent;
use crate::needs::Needs;
use crate::policy::{Policy, ToolRule};

fn names(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn callees(text: &str) -> Callees {
    match text {
        "" => Callees::None,
        "all" => Callees::All,
        text => Callees::Named(names(text).into_iter().map(Ruled::default_of).collect()),
    }
}

fn policy(consent: Consent, rule: Option<bool>) -> Policy {
    let mut policy = Policy::empty("/p");
    policy.consent.value = consent;
    let required = rule.map(|required| Ruled::new(required, At::flag("rule")));
    let rule = ToolRule { allowed: None, approval_required: required };
    policy.tool_rules.insert(TOOL.to_owned(), rule);
    policy
}

/// Returns the verdict in a word, and the words for the agent where it is no.
fn judged(grant: &Grant, worker: &str, allowed: &str, chain: &str) -> String {
    let workers = names("main a b c");
    let chain = names(chain);
    let request =
        CallRequest { worker, callees: &callees(allowed), workers: &workers, chain: &chain };
    match judge_call(grant, request).verdict {
        CallVerdict::Allow(permit) => format!("allow {}", permit.chain().join(" ")),
        CallVerdict::Ask(question) => format!("ask {}", question.reasons.join("; ")),
        CallVerdict::Deny(denial) => format!("{}: {denial}", denial.code()),
    }
}

#[test]
fn whom_a_worker_may_call() {
    let cases = [
        // worker, listed, chain, verdict
        ("a", "a b", "main", "allow main a"),
        ("a", "all", "main", "allow main a"),
        (
            "a",
            "",
            "main",
            "no_worker: Cannot call 'a': this worker may not call it.\nWorkers: none",
        ),
        (
            "c",
            "b a",
            "main",
            "no_worker: Cannot call 'c': this worker may not call it.\nWorkers: a, b",
        ),
        (
            "x",
            "all",
            "main",
            "no_worker: Cannot call 'x': this worker may not call it.\nWorkers: a, b, c, main",
        ),
        (
            "x",
            "x a",
            "main",
            "no_worker: Cannot call 'x': this worker may not call it.\nWorkers: a",
        ),
        ("A", "a", "main", "no_worker: Cannot call 'A': this worker may not call it.\nWorkers: a"),
        (
            "a",
            "all",
            "main a b",
            "cycle: Cannot call 'a': it is already running (main → a → b → a).\nDo the work here, or call another worker: c",
        ),
        (
            "main",
            "main",
            "main",
            "cycle: Cannot call 'main': it is already running (main → main).\nDo the work here, or call another worker: none",
        ),
    ];
    let grant = Grant::of(&policy(Consent::Tool, None));
    for (worker, listed, chain, want) in cases {
        assert_eq!(judged(&grant, worker, listed, chain), want, "{worker} [{listed}] {chain}");
    }
}

#[test]
fn the_depth_runs_out_with_the_path_shown() {
    let mut policy = policy(Consent::Tool, None);
    policy.max_depth = Ruled::new(2, At::flag("depth"));
    let mut grant = Grant::of(&policy);
    assert_eq!((grant.depth_left(), grant.max_depth().value), (2, 2));
    for _ in 0..2 {
        grant = grant.narrow(&Needs::default()).unwrap();
    }
    assert_eq!(
        judged(&grant, "c", "all", "main a"),
        "too_deep: Cannot call 'c': workers may call each other at most 2 deep (main → a → c).\n\
         Do the work here, and return what is left to do."
    );
    let (callees, workers) = (Callees::All, names("c"));
    let request = CallRequest { worker: "c", callees: &callees, workers: &workers, chain: &[] };
    let rule = judge_call(&grant, request).rule;
    assert_eq!((&*rule.says, rule.at), ("delegation.maxDepth: 2", At::flag("depth")));
}

#[test]
fn a_call_asks_where_its_rule_or_the_mode_says_so() {
    let off = "declined: Cannot call 'a': it needs the user's approval, and questions are turned \
               off.\nContinue with what needs no approval, and tell the user what you wanted to do.";
    let cases = [
        (Consent::Tool, None, "allow a"),
        (Consent::Tool, Some(false), "allow a"),
        (Consent::Tool, Some(true), "ask tool_rules.call_worker.approval_required: true"),
        (Consent::Manual, None, "ask approval.mode: manual"),
        (Consent::Manual, Some(false), "ask approval.mode: manual"),
        (Consent::Manual, Some(true), "ask tool_rules.call_worker.approval_required: true"),
        (Consent::Auto, Some(true), "allow a"),
        (Consent::Strict, None, "allow a"),
        (Consent::Strict, Some(true), off),
    ];
    for (consent, rule, want) in cases {
        let grant = Grant::of(&policy(consent, rule));
        assert_eq!(judged(&grant, "a", "a", ""), want, "{consent:?} {rule:?}");
    }
    let mut without = policy(Consent::Auto, None);
    without.tools = Some(Ruled::new(vec!["read_file".to_owned()], At::flag("tools")));
    let mut blocked = policy(Consent::Auto, None);
    let no = Some(Ruled::new(false, At::flag("no")));
    blocked.tool_rules.insert(TOOL.into(), ToolRule { allowed: no, approval_required: None });
    for policy in [without, blocked] {
        let got = judged(&Grant::of(&policy), "a", "a", "");
        assert!(got.starts_with("no_tool: Cannot use 'call_worker'"), "{got}");
    }
}

#[test]
fn excess_is_told_to_the_agent_without_zones_and_to_the_operator_in_full() {
    let (zone, at) = (|| "mail".to_owned(), "Cannot call 'x': it needs more than this worker has.");
    let cases = [
        (
            ExceedsParent::NoZone { zone: zone() },
            "It needs the directory /mail, which this worker does not have.",
            "Child requests zone 'mail' but parent doesn't have it",
        ),
        (
            ExceedsParent::ReadOnly { zone: zone() },
            "It needs to write to /mail, which this worker can only read.",
            "Child requests 'rw' on 'mail' but parent only has 'ro'",
        ),
        (
            ExceedsParent::Network,
            "It needs network access, which this worker does not have.",
            "Child requests network access but parent doesn't have it",
        ),
    ];
    for (reason, agent, operator) in cases {
        let denial = Denial::Exceeds { worker: "x".to_owned(), reason };
        let want = format!("{at}\n{agent} Call another worker, or do the work here.");
        assert_eq!((denial.to_string(), denial.code()), (want, "exceeds"));
        assert_eq!(denial.for_operator(), operator);
    }
    let all = [
        ExceedsParent::Suffix { zone: zone(), suffix: ".x".into() },
        ExceedsParent::Size { zone: zone(), wanted: 2, held: 1 },
        ExceedsParent::NoTool { tool: "shell".into() },
        ExceedsParent::Host { host: "a.org".into() },
        ExceedsParent::Preset { preset: "cargo".into() },
        ExceedsParent::WorkingDir { path: "/mail".into() },
        ExceedsParent::TooDeep { max: 5 },
    ];
    for reason in all {
        let words = reason.for_agent();
        assert!(words.ends_with('.'), "{words}");
        for word in ["zone", "grant", "policy", "permit", "backend", "parent", "child"] {
            assert!(!words.to_lowercase().contains(word), "{words}");
        }
    }
}
