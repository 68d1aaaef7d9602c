use std::path::Path;

use super::*;
use crate::action::{Action, Target, Verb};
use crate::config::{Overrides, load};
use crate::grant::ExceedsParent;
use crate::judge::{Verdict, judge};
use crate::needs::{Needs, ZoneNeeds};
use crate::path::AgentPath;
use crate::policy::BackendChoice;
use crate::shell::{CommandVerdict, Request, judge_command};
use crate::zone::Mode;

const PROJECT: &str = "\
sandbox:
  zones:
    inbox: { path: inbox, mode: ro, untrusted: true }
    reports: { path: reports, mode: rw, approval: { write: preApproved, delete: blocked } }
    drafts: { path: drafts, mode: rw }
    keys: { path: keys, mode: ro }
  working_dir: /keys/sub
  home: /reports
  network: { allow: [a.org], deny: [b.org] }
tool_rules: { edit_file: { approval_required: false }, copy_file: { approval_required: false } }
shell:
  rules:
    - { pattern: make, approval: preApproved }
    - { pattern: fetch, approval: ask, grants: { network: [c.org] } }
    - { pattern: rm, approval: blocked }
  presets: [read_only]
";

fn grant(more: &str) -> Grant {
    let text = format!("{PROJECT}{more}");
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(&text, "zonekeep.yaml", path, &Overrides::default());
    Grant::of(&loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems)))
}

/// Returns the verdict in a word, with what the rule says and its line.
fn file(grant: &Grant, tool: &'static str, verb: Verb, path: &str) -> String {
    let action = Action::new(tool, verb, Target::of(AgentPath::absolute(path).unwrap()));
    let judgement = judge(grant, &action);
    let word = match judgement.verdict {
        Verdict::Allow(_) => "allow".to_owned(),
        Verdict::Ask(_) => "ask".to_owned(),
        Verdict::Deny(denial) => denial.code().to_owned(),
    };
    let line = judgement.rule.at.file_line().map_or(0, |(_, line)| line);
    format!("{word} {} @{line}", judgement.rule.says)
}

fn command(grant: &Grant, line: &str) -> String {
    let judgement = judge_command(grant, &Request::line(line, AgentPath::root()), true);
    let (word, network) = match judgement.verdict {
        CommandVerdict::Allow(permit) => ("allow".to_owned(), permit.network().clone()),
        CommandVerdict::Ask(question) => ("ask".to_owned(), question.approved().network().clone()),
        CommandVerdict::Deny(denial) => (denial.code().to_owned(), Network::Off),
    };
    let hosts = match network {
        Network::Off => "off".to_owned(),
        Network::On => "on".to_owned(),
        Network::Hosts(hosts) => hosts.shown().join(" "),
    };
    let line = judgement.rule.at.file_line().map_or(0, |(_, line)| line);
    format!("{word} [{hosts}] {} @{line}", judgement.rule.says)
}

#[test]
fn an_untrusted_zone_needs_an_os_sandbox() {
    let project = grant("");
    let required = project.require_os_sandbox();
    let line = required.at.file_line().map(|(_, line)| line);
    assert_eq!((required.value, line), (OsSandbox::Required, Some(3)));
    assert_eq!(project.untrusted_zones(), ["inbox"]);
    assert!(!project.is_tainted());
    // Also for those below that do not hold it: they get no more than their callers.
    let child = project.narrow(&Needs::default()).unwrap();
    assert_eq!(child.require_os_sandbox().value, OsSandbox::Required);
    assert!(child.untrusted_zones().is_empty());
}

#[test]
fn without_more_said_taint_turns_what_is_pre_approved_into_questions() {
    let before = grant("");
    let after = before.tainted();
    assert!(after.is_tainted());
    assert_eq!(after.tainted(), after);
    let cases = [
        // tool, verb, path, before, after
        (
            "read_file",
            Verb::Read,
            "/inbox/a",
            "allow zones.inbox.approval.read: preApproved @0",
            None,
        ),
        (
            "read_file",
            Verb::Read,
            "/keys/a",
            "allow zones.keys.approval.read: preApproved @0",
            None,
        ),
        (
            "write_file",
            Verb::Write,
            "/reports/a",
            "allow zones.reports.approval.write: preApproved @4",
            Some("ask zones.reports.approval.write: ask (tainted) @3"),
        ),
        ("write_file", Verb::Write, "/drafts/a", "ask zones.drafts.approval.write: ask @0", None),
        (
            "edit_file",
            Verb::Edit,
            "/drafts/a",
            "allow tool_rules.edit_file.approval_required: false @10",
            Some("ask tool_rules.edit_file.approval_required: true (tainted) @3"),
        ),
        (
            "delete_file",
            Verb::Delete,
            "/reports/a",
            "blocked zones.reports.approval.delete: blocked @4",
            None,
        ),
    ];
    for (tool, verb, path, want, tainted) in cases {
        assert_eq!(file(&before, tool, verb, path), want, "{tool} {path}");
        assert_eq!(file(&after, tool, verb, path), tainted.unwrap_or(want), "{tool} {path}");
    }
    let cases = [
        (
            "make all",
            "allow [a.org] shell rule 'make': preApproved @13",
            Some("ask [a.org] shell rule 'make': preApproved, now ask (tainted) @3"),
        ),
        (
            "ls /keys",
            "allow [a.org] shell.presets: read_only @16",
            Some("ask [a.org] shell.presets: read_only, now ask (tainted) @3"),
        ),
        ("fetch x", "ask [a.org c.org] shell rule 'fetch': ask @14", None),
        ("env rm x", "blocked [off] shell rule 'rm': blocked @15", None),
    ];
    for (line, want, tainted) in cases {
        assert_eq!(command(&before, line), want, "{line}");
        assert_eq!(command(&after, line), tainted.unwrap_or(want), "{line}");
    }
    assert!(after.shell().open().is_empty());
    assert_eq!(after.view().working_dir(), before.view().working_dir());
    assert_eq!(after.network(), before.network());
}

#[test]
fn what_the_project_withholds_is_gone() {
    let more = "\
when_tainted:
  network: false
  without: [keys, reports]
  backend: namespaces
  approval: strict
  tools: [shell, copy]
";
    let before = grant(more);
    let after = before.tainted();
    let line = |at: &At| at.file_line().map(|(_, line)| line);
    let zones = |grant: &Grant| grant.view().readable().join(" ");
    assert_eq!(zones(&before), "/inbox /reports /drafts /keys");
    assert_eq!(zones(&after), "/inbox /drafts");
    let root = AgentPath::root();
    assert_eq!((after.view().working_dir(), after.view().home()), (&root, &root));
    assert_eq!((&after.network().value, line(&after.network().at)), (&Network::Off, Some(18)));
    assert_eq!(
        (after.backend().value, line(&after.backend().at)),
        (BackendChoice::Namespaces, Some(20))
    );
    assert_eq!((after.consent().value, line(&after.consent().at)), (Consent::Strict, Some(21)));
    assert_eq!(line(after.taint().unwrap()), Some(17));
    for tool in ["shell", "shell_job", "copy_file"] {
        assert!(before.has_tool(tool) && !after.has_tool(tool), "{tool}");
    }
    assert_eq!(
        file(&after, "copy_file", Verb::Copy, "/drafts/a"),
        "no_tool tool_rules.copy_file.allowed: false (tainted) @22"
    );
    assert_eq!(
        file(&after, "write_file", Verb::Write, "/drafts/a"),
        "declined approval.mode: strict (tainted) @21"
    );
    let got = command(&after, "make");
    assert_eq!(got, "no_tool [off] tool_rules.shell.allowed: false (tainted) @22");
    // Rules give no network either.
    let quiet = grant("when_tainted: { network: false }\n").tainted();
    assert_eq!(command(&quiet, "fetch x"), "ask [off] shell rule 'fetch': ask @14");
}

#[test]
fn secrets_go_with_the_network() {
    let secrets = "  home: /reports\n  secrets: { K: { env: A, hosts: [a.org] } }\n";
    let tainted = |more: &str| {
        let text = PROJECT.replace("  home: /reports\n", secrets) + more;
        let path = Path::new("/p/zonekeep.yaml");
        let loaded = load(&text, "zonekeep.yaml", path, &Overrides::default());
        Grant::of(&loaded.policy.unwrap()).tainted()
    };
    let kept = tainted("when_tainted: { tools: [delete_file] }\n");
    assert_eq!(kept.secrets().len(), 1);
    let gone = tainted("when_tainted: { network: false }\n");
    assert!(gone.secrets().is_empty());
    let key = Ruled::default_of("K".to_owned());
    let needs = Needs { secrets: vec![key], ..Needs::default() };
    assert_eq!(gone.narrow(&needs), Err(ExceedsParent::Secret { secret: "K".to_owned() }));
}

#[test]
fn workers_called_by_a_tainted_one_are_tainted() {
    let more = "when_tainted: { without: [keys], tools: [delete_file] }\n";
    let parent = grant(more).tainted();
    let all = Needs { zones: ZoneNeeds::All, ..Needs::default() };
    let child = parent.narrow(&all).unwrap();
    assert!(child.is_tainted());
    assert_eq!(child.view().mount("keys"), None);
    assert_eq!(child.zone_access("drafts"), Some(Mode::Rw));
    assert_eq!(
        file(&child, "write_file", Verb::Write, "/reports/a"),
        "ask zones.reports.approval.write: ask (tainted) @17"
    );
    assert!(!child.has_tool("delete_file"));
    assert_eq!(child.tainted(), child);
    let pure = parent.narrow(&Needs::default()).unwrap();
    assert!(pure.is_tainted() && pure.untrusted_zones().is_empty());
}

#[test]
fn questions_become_stricter_and_never_looser() {
    let cases = [
        // before, when tainted, after
        ("auto", "manual", Consent::Manual),
        ("tool", "manual", Consent::Manual),
        ("manual", "manual", Consent::Manual),
        ("strict", "manual", Consent::Strict),
        ("manual", "strict", Consent::Strict),
    ];
    for (before, when, want) in cases {
        let more =
            format!("approval: {{ mode: {before} }}\nwhen_tainted: {{ approval: {when} }}\n");
        assert_eq!(grant(&more).tainted().consent().value, want, "{before} {when}");
    }
}

#[test]
fn who_was_asked_about_every_call_still_is_or_it_is_refused() {
    let request = |grant: &Grant| {
        let workers = ["x".to_owned()];
        let callees = crate::call::Callees::All;
        let request =
            crate::CallRequest { worker: "x", callees: &callees, workers: &workers, chain: &[] };
        match crate::judge_call(grant, request).verdict {
            crate::call::CallVerdict::Allow(_) => "allow",
            crate::call::CallVerdict::Ask(_) => "ask",
            crate::call::CallVerdict::Deny(denial) => denial.code(),
        }
    };
    let manual = grant("approval: { mode: manual }\nwhen_tainted: { approval: strict }\n");
    assert_eq!((request(&manual), request(&manual.tainted())), ("ask", "declined"));
    let silent = grant("when_tainted: { approval: strict }\n");
    assert_eq!((request(&silent), request(&silent.tainted())), ("allow", "allow"));
}
