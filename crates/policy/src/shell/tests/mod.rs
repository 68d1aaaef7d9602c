//! The rules, sentence by sentence.

mod contained;
mod layers;
mod origins;
mod patterns;
mod places;
mod presets;
mod proposals;

use std::path::Path;

use super::*;
use crate::config::{Overrides, load};
use crate::grant::Grant;
use crate::path::AgentPath;
use crate::policy::{Consent, Policy};
use crate::source::Ruled;
use crate::zone::Approval;

/// Returns a project with the zones `portfolio` and `repo`, and these lines.
fn project(lines: &str) -> Policy {
    let text = format!(
        "sandbox:\n  zones:\n    portfolio: {{ path: portfolio, mode: rw }}\n    repo: {{ path: repo, mode: rw }}\n{lines}"
    );
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(&text, "zonekeep.yaml", path, &Overrides::default());
    loaded.policy.unwrap_or_else(|| panic!("{lines}\n{:#?}", loaded.problems))
}

/// Returns a project whose `shell.rules` are these, written `approval pattern`.
fn rules(rules: &[&str]) -> Grant {
    Grant::of(&project(&shell(rules)))
}

fn shell(rules: &[&str]) -> String {
    let mut text = "shell:\n  rules:\n".to_owned();
    for rule in rules {
        let (approval, pattern) = rule.split_once(' ').unwrap();
        let approval = if approval == "yes" { "preApproved" } else { approval };
        text.push_str(&format!(
            "    - {{ pattern: '{}', approval: {approval} }}\n",
            pattern.replace('\'', "''")
        ));
    }
    text
}

fn at(cwd: &str) -> AgentPath {
    AgentPath::absolute(cwd).unwrap()
}

/// Returns the verdict in one word: `yes`, `ask`, `must` (ask a person) or `no`.
fn verdict(grant: &Grant, cwd: &str, line: &str) -> &'static str {
    let decision = decide(grant, &at(cwd), line, true);
    match decision.approval {
        Approval::PreApproved => "yes",
        Approval::Ask if decision.must_ask => "must",
        Approval::Ask => "ask",
        Approval::Blocked => "no",
    }
}

#[track_caller]
fn check(grant: &Grant, cases: &[(&str, &str)]) {
    for (line, want) in cases {
        assert_eq!(verdict(grant, "/", line), *want, "{line}");
    }
}
