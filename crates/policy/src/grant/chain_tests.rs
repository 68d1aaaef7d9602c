//! Ways in which a worker could come to hold more than its caller.

use std::path::Path;

use super::*;
use crate::config::{Overrides, load};
use crate::shell::{CommandVerdict, Request, judge_command};
use crate::worker_file::parse;

fn project(text: &str) -> Grant {
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(text, "zonekeep.yaml", path, &Overrides::default());
    Grant::of(&loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems)))
}

fn called(caller: &Grant, lines: &str) -> Grant {
    let parsed = parse(&format!("---\nname: w\n{lines}---\n"), "w.worker");
    let worker = parsed.worker.unwrap_or_else(|| panic!("{:#?}", parsed.problems));
    caller.narrow(&worker.needs).unwrap()
}

/// Returns the verdict about a command, and whether it reaches a host.
fn run(grant: &Grant, line: &str) -> (&'static str, String) {
    match judge_command(grant, &Request::line(line, AgentPath::root()), true).verdict {
        CommandVerdict::Allow(permit) => ("allow", hosts_of(permit.network())),
        CommandVerdict::Ask(question) => ("ask", hosts_of(question.approved().network())),
        CommandVerdict::Deny(denial) => (denial.code(), String::new()),
    }
}

fn hosts_of(network: &Network) -> String {
    match network {
        Network::Off => "off".to_owned(),
        Network::On => "on".to_owned(),
        Network::Hosts(hosts) => {
            let allow = hosts.allow.iter().map(|host| host.value.to_string());
            let ask = hosts.ask.iter().map(|host| format!("?{}", host.value));
            let deny = hosts.deny.iter().map(|host| format!("-{}", host.value));
            allow.chain(ask).chain(deny).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn a_workers_working_dir_does_not_move_its_callers_rules() {
    let parent = project(
        "sandbox:
  zones: { a: { path: a, mode: rw }, b: { path: b, mode: rw } }
  working_dir: /a
shell:
  rules:
    - { pattern: ./safe.sh, approval: preApproved }
    - { pattern: ./bad.sh, approval: blocked }
",
    );
    let child = called(&parent, "sandbox: { zones: all, working_dir: /b }\n");
    let lost = called(&parent, "sandbox: { zones: [{ name: b, mode: rw }] }\n");
    let cases = [
        ("/a/safe.sh", "allow"),
        ("/b/safe.sh", "ask"),
        ("/safe.sh", "ask"),
        ("/a/bad.sh", "blocked"),
    ];
    for (line, want) in cases {
        for grant in [&parent, &child, &lost] {
            assert_eq!(run(grant, line).0, want, "{line} {:?}", grant.view().working_dir());
        }
    }
    // The worker's own rules start where the worker does.
    let own = "sandbox: { zones: all, working_dir: /b }\n\
               shell: { rules: [{ pattern: ./bad.sh, approval: blocked }], default: preApproved }\n";
    let child = called(&parent, own);
    assert_eq!(run(&child, "/b/bad.sh").0, "blocked");
    assert_eq!(run(&child, "/a/bad.sh").0, "blocked");
}

#[test]
fn what_somebody_above_refuses_stays_refused() {
    let parent = project(
        "sandbox:
  zones: { a: { path: a, mode: rw } }
  network: { allow: ['*.x.org'], deny: [b.x.org] }
shell:
  rules:
    - { pattern: fetch, grants: { network: { allow: [b.x.org, c.test] } } }
    - { pattern: make, grants: { network: { deny: [c.x.org] } } }
",
    );
    assert_eq!(run(&parent, "fetch"), ("ask", "*.x.org b.x.org c.test -b.x.org".to_owned()));
    // A worker without a network gets what the rule gives, less what is refused.
    let offline = called(&parent, "sandbox: { zones: all }\n");
    assert_eq!(run(&offline, "fetch"), ("ask", "b.x.org c.test -b.x.org".to_owned()));
    // Rules of its own do not take away what those above refuse.
    let online =
        "sandbox: { zones: all, network: ['*.x.org'] }\nshell: { rules: [{ pattern: make }] }\n";
    let online = called(&parent, online);
    assert_eq!(run(&parent, "make"), ("ask", "*.x.org -b.x.org -c.x.org".to_owned()));
    assert_eq!(run(&online, "make"), ("ask", "*.x.org -b.x.org -c.x.org".to_owned()));
}

#[test]
fn what_somebody_above_is_asked_about_stays_asked_about() {
    let parent = project(
        "sandbox:
  zones: { a: { path: a, mode: rw } }
  network: { ask: ['*.x.org'] }
shell:
  rules:
    - { pattern: fetch, grants: { network: { allow: [b.x.org], ask: ['c.test:22'] } } }
    - { pattern: make, grants: { network: { ask: [c.test] } } }
",
    );
    let all = "*.x.org b.x.org c.test:22 ?*.x.org ?c.test:22";
    assert_eq!(run(&parent, "fetch"), ("ask", all.to_owned()));
    // A worker without a network is asked where its caller would be.
    let offline = called(&parent, "sandbox: { zones: all }\n");
    let given = "b.x.org c.test:22 ?c.test:22 ?*.x.org";
    assert_eq!(run(&offline, "fetch"), ("ask", given.to_owned()));
    // A worker that takes less is asked about it too, and can ask for questions.
    let online = "sandbox: { zones: all, network: { allow: [d.x.org], ask: [e.x.org] } }\n";
    let online = called(&parent, online);
    assert_eq!(hosts_of(&online.network().value), "d.x.org e.x.org ?*.x.org ?e.x.org");
}

#[test]
fn what_a_worker_blocks_is_blocked_under_a_project_that_blocks_by_default() {
    let text = "sandbox: { zones: { a: { path: a, mode: rw } } }
shell: { default: blocked, rules: [{ pattern: ls, approval: preApproved }] }
";
    let parent = project(text);
    let rules = "shell: { default: ask, rules: [{ pattern: env, approval: blocked }] }\n";
    let child = called(&parent, &format!("sandbox: {{ zones: all }}\n{rules}"));
    assert_eq!(run(&parent, "env ls").0, "allow");
    assert_eq!(run(&child, "env ls").0, "blocked");
}

#[test]
fn a_pure_worker_is_not_asking_for_file_tools() {
    let text =
        "sandbox: { zones: { a: { path: a, mode: rw } } }\ntools: [read_file, call_worker]\n";
    let parent = project(text);
    let pure = called(&parent, "tools: [call_worker]\n");
    assert_eq!(pure.tools(), ["call_worker"]);
    assert_eq!(called(&pure, "tools: [call_worker]\n").tools(), ["call_worker"]);
    assert_eq!(called(&pure, "").tools(), ["call_worker"]);
    // With a directory it is, and in words too.
    let parsed = parse("---\nname: w\nsandbox: { zones: all }\ntools: [call_worker]\n---\n", "w");
    let error = parent.narrow(&parsed.worker.unwrap().needs).unwrap_err();
    assert_eq!(error, ExceedsParent::NoTool { tool: "write_file".to_owned() });
}
