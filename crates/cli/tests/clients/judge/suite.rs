//! The conformance suite: what must pass, and what cannot.

use serde_json::{Value, json};

use super::Steps;

/// What passes in every suite, and beside that in each.
const ALWAYS: [&str; 6] = [
    "dns-rebinding-protection",
    "resources-list",
    "server-sse-multiple-streams",
    "tools-call-error",
    "tools-call-simple-text",
    "tools-list",
];
const SUITES: [(&str, &[&str]); 3] = [
    ("released", &["ping", "server-initialize"]),
    ("2025-11-25", &["ping", "server-initialize", "server-session-lifecycle"]),
    (
        "2026-07-28",
        &[
            "http-header-validation",
            "input-required-result-ignore-extra-params",
            "input-required-result-unsupported-methods",
            "sep-2164-resource-not-found",
        ],
    ),
];

/// Scenarios of 2026-07-28 that pass but for checks which need prompts, or tools
/// that only a test server has.
const PARTLY: [(&str, &[&str]); 2] = [
    ("caching", &["sep-2549-prompts-list-caching-hints"]),
    (
        "server-stateless",
        &[
            "sep-2575-missing-capability-http-400",
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-server-sends-prompts-list-changed-on-subscription",
            "sep-2575-server-sends-tools-list-changed-on-subscription",
        ],
    ),
];

/// Judges what the suite said. What is expected to fail is in `conformance/*.yaml`.
pub(crate) fn conformance(steps: &Steps) {
    for (name, more) in SUITES {
        let suite = steps.get(name);
        let summary = suite["summary"].as_str().unwrap();
        let scenarios = suite["scenarios"].as_object().unwrap();
        let passed: Vec<&String> =
            scenarios.iter().filter(|(_, checks)| passes(checks)).map(|(name, _)| name).collect();
        let mut want = [ALWAYS.as_slice(), more].concat();
        want.sort_unstable();
        assert_eq!(passed, want, "{name}: {summary}");
        for (scenario, checks) in scenarios {
            let wrong = failed(checks);
            assert!(!wrong.contains(&"wire-schema-valid"), "{name}, {scenario}: {checks:#}");
        }
        assert_eq!(suite["exit"], json!(0), "{name}: {summary}");
    }
    for (scenario, want) in PARTLY {
        let checks = &steps.get("2026-07-28")["scenarios"][scenario];
        let mut wrong = failed(checks);
        wrong.sort_unstable();
        assert_eq!(wrong, want, "{scenario}: {checks:#}");
    }
    assert_eq!(*steps.get("server"), json!({ "exit": 0, "signal": null }));
}

/// Returns the names of the checks that did not pass.
fn failed(checks: &Value) -> Vec<&str> {
    let checks = checks.as_array().unwrap().iter();
    let failed = checks.filter(|check| check["status"] != json!("SUCCESS"));
    failed.map(|check| check["id"].as_str().unwrap()).collect()
}

fn passes(checks: &Value) -> bool {
    failed(checks).is_empty() && !checks.as_array().unwrap().is_empty()
}
