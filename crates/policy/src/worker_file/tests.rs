use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::config::{Overrides, Severity, ZoneFlag, defaults, load};
use crate::limit::Limits;
use crate::needs::{ZoneNeed, ZoneNeeds};
use crate::policy::{Network, OsSandbox, Policy};
use crate::run::RunMode;
use crate::source::Ruled;
use crate::tool_name::FILE_TOOLS;
use crate::zone::{Approval, Mode};

const PROJECT: &str = "\
sandbox:
  zones:
    data: { path: data, mode: ro }
    drafts: { path: drafts, mode: rw, approval: { write: preApproved } }
  paths:
    notes: { root: notes, mode: rw }
  secrets: { KEY: { env: HOST_KEY, hosts: [api.test] } }
delegation: { max_turns: 30, budget: 10, time: 1h }
";

fn project() -> Policy {
    load(PROJECT, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &Overrides::default())
        .policy
        .unwrap()
}

/// Returns a worker file with these lines after its name; line 3 is their first.
fn with(lines: &str) -> ParsedWorker {
    parse(&format!("---\nname: w\n{lines}---\nDo it.\n"), "w.worker")
}

fn worker(lines: &str) -> WorkerFile {
    let parsed = with(lines);
    parsed.worker.unwrap_or_else(|| panic!("{lines}\n{:#?}", parsed.problems))
}

fn needs(worker: &WorkerFile) -> &[ZoneNeed] {
    match &worker.needs.zones {
        ZoneNeeds::Named(needs) => needs,
        other => panic!("{other:?}"),
    }
}

fn found(problems: &[Problem]) -> Vec<String> {
    let show = |p: &Problem| {
        let doubt = if p.severity == Severity::Warning { "?" } else { "" };
        format!("{}:{}+{} {}{doubt}", p.line, p.column, p.width, p.code)
    };
    problems.iter().map(show).collect()
}

#[test]
fn front_matter_and_instructions_are_told_apart() {
    let cases = [
        "---\nname: w\n---\nDo it.\n",
        "\u{feff}---\nname: w\n---\nDo it.",
        "# w.worker\n\n---\nname: w\n---\n\n\nDo it.\n\n",
        "---\r\nname: w\r\n---\r\nDo it.\r\n",
        "---  \nname: w\n--- \nDo it.\n",
    ];
    for text in cases {
        let parsed = parse(text, "w.worker");
        assert_eq!(parsed.problems, [], "{text:?}");
        let worker = parsed.worker.unwrap();
        assert_eq!((&*worker.name, &*worker.instructions), ("w", "Do it."), "{text:?}");
        assert_eq!(worker.needs.zones, ZoneNeeds::None);
    }
    let two = parse("---\nname: w\n---\na\r\n---\nb\n", "w.worker").worker.unwrap();
    assert_eq!(two.instructions, "a\n---\nb");
    let bad = [
        ("", "1:1+1 front_matter"),
        ("# only\n", "1:1+1 front_matter"),
        ("\nname: w\n", "2:1+1 front_matter"),
        ("\n---\nname: w\n", "2:1+1 front_matter"),
        ("---\n---\nDo it.", "2:1+1 missing_key"),
        ("# c\n---\nname: w\nnme: x\n---\n", "4:1+3 unknown_key"),
        ("---\nname: [\n---\n", "2:7+1 syntax"),
    ];
    for (text, want) in bad {
        let parsed = parse(text, "w.worker");
        assert_eq!(found(&parsed.problems), [want], "{text:?}");
        assert_eq!(parsed.worker, None);
    }
}

#[test]
fn what_a_worker_needs_is_read() {
    let worker = worker(
        "description: 2
model: m:x
compatible_models: ['m:*']
sandbox:
  zones:
    - { name: data, mode: ro, approval: { read: ask } }
    - drafts
  paths: { notes: { root: ./notes, suffixes: [.MD], write_approval: true } }
  working_dir: /data/in
  network: [example.com]
  secrets: [KEY, TOKEN, KEY]
tools: [read]
tool_rules: { read: { approval_required: true } }
shell_rules: [{ pattern: ls, sandbox_paths: [data] }]
attachment_policy: { max_attachments: 2, allowed_suffixes: [.pdf] }
output_schema: { type: object, properties: { a: { type: string } } }
locked: true
mode: chat
max_context_tokens: 100
allow_empty_input: true
",
    );
    assert_eq!(worker.description.as_deref(), Some("2"));
    assert_eq!(worker.compatible_models, Some(vec!["m:*".to_owned()]));
    let [data, drafts, notes] = needs(&worker) else { panic!() };
    assert_eq!((&*data.name, data.mode.value), ("data", Mode::Ro));
    assert_eq!(data.read.as_ref().map(|r| r.value), Some(Approval::Ask));
    assert_eq!(data.at.file_line(), Some(("w.worker", 8)));
    assert_eq!((&*drafts.name, &drafts.mode), ("drafts", &Ruled::default_of(Mode::Rw)));
    assert_eq!((&*notes.name, &notes.mode), ("notes", &Ruled::default_of(Mode::Ro)));
    assert_eq!(notes.path.as_ref().unwrap().value, PathBuf::from("./notes"));
    assert_eq!(notes.suffixes.as_ref().unwrap().value, [".md"]);
    assert_eq!(worker.needs.tools.as_ref().unwrap().value, ["read_file"]);
    assert!(worker.needs.tool_rules.contains_key("read_file"));
    assert!(matches!(&worker.needs.network.as_ref().unwrap().value, Network::Hosts { .. }));
    let secrets: Vec<_> = worker.needs.secrets.iter().map(|need| &*need.value).collect();
    assert_eq!(secrets, ["KEY", "TOKEN"]);
    assert_eq!(worker.needs.secrets[1].at.file_line(), Some(("w.worker", 13)));
    assert_eq!(
        (&worker.needs.limits, worker.needs.require_os_sandbox.value),
        (&Limits::none(), OsSandbox::Unset)
    );
    let text = "sandbox: { require_os_sandbox: true, limits: { memory: 1G, tmp: none } }\n";
    let strict = with(text).worker.unwrap();
    assert_eq!(strict.needs.limits, Limits { memory: Some(1 << 30), ..Limits::none() });
    assert_eq!(strict.needs.require_os_sandbox.value, OsSandbox::Required);
    assert_eq!(strict.needs.network, None);
    let all = with("sandbox: { zones: all }\n").worker.unwrap();
    assert_eq!(all.needs.zones, ZoneNeeds::All);
}

#[test]
fn problems_of_a_worker_file_have_their_place() {
    let cases = [
        ("sandbox: { secrets: { KEY: { env: A } } }\n", "3:21+19 wrong_type"),
        ("sandbox: { secrets: [A-B] }\n", "3:22+3 bad_value"),
        ("sandbox: { network: [a.test, 'a b'] }\n", "3:30+5 bad_host"),
        ("sandbox: { zones: { a: {} } }\n", "3:19+9 wrong_type"),
        ("sandbox: { zones: [a] }\n", "3:20+1 mode_missing?"),
        ("sandbox: { zones: [{ mode: ro }] }\n", "3:20+12 missing_key"),
        (
            "sandbox: { zones: [{ name: a, mode: ro }, { name: a, mode: ro }] }\n",
            "3:51+1 duplicate_zone",
        ),
        ("sandbox: { zones: al }\n", "3:19+2 bad_value"),
        ("sandbox: { zones: all, paths: { a: { root: x, mode: ro } } }\n", "3:19+3 conflict"),
        ("sandbox: { paths: { a: { root: '~', mode: ro } } }\n", "3:32+3 bad_path"),
        ("sandbox: { working_dir: x }\n", "3:25+1 bad_path"),
        ("sandbox: { child_sandbox: x }\n", "3:12+13 unknown_key"),
        ("sandboxes: { a: { path: x, mode: ro } }\n", "3:1+9 deprecated?"),
        ("compatible_models: []\n", "3:20+2 bad_value"),
        ("mode: batch\n", "3:7+5 bad_value"),
        ("instructions: x\n", "3:1+12 unknown_key"),
        ("server_side_tools: []\n", "3:1+17 unknown_key"),
        ("output_schema_ref: x\n", "3:1+17 unknown_key"),
        ("model: m:x\ncompatible_models: ['n:*']\n", "3:8+3 bad_value"),
        ("workers: some\n", "3:10+4 bad_value"),
        ("workers: { a: b }\n", "3:10+8 wrong_type"),
        ("workers: [a, '']\n", "3:14+2 bad_name"),
        ("workers: [a, b, a]\n", "3:17+1 duplicate_key"),
        ("workers: [a, w]\n", "3:14+1 unused?"),
        ("workers: [a]\ntools: [read_file]\n", "4:8+1 unused?"),
        ("workers: [a]\nallow_workers: [a]\n", "4:1+13 conflict"),
        ("allow_workers: '*'\n", "3:1+13 deprecated?"),
        ("workers_as_tools: yes\n", "3:19+3 wrong_type"),
        ("output_schema: []\n", "3:16+2 wrong_type"),
        ("output_schema: { maximum: .inf }\n", "3:27+4 bad_value"),
        ("output_retries: 11\n", "3:17+2 bad_value"),
        ("max_turns: 0\n", "3:12+1 bad_value"),
        ("max_turns: 1001\n", "3:12+4 bad_value"),
        ("budget: 1k\n", "3:9+2 wrong_type"),
        ("time: soon\n", "3:7+4 bad_value"),
        ("temperature: 2.1\n", "3:14+3 bad_value"),
        ("temperature: 0.0001\n", "3:14+6 bad_value"),
        ("temperature: -1\n", "3:14+2 bad_value"),
        ("temperature: warm\n", "3:14+4 wrong_type"),
        ("temperature: '1'\n", "3:14+3 wrong_type"),
        ("max_tokens: 0\n", "3:13+1 bad_value"),
        ("attachment_policy: { max_file_bytes: 0 }\n", "3:38+1 bad_value"),
        ("attachment_policy: { denied_suffixes: [exe] }\n", "3:40+3 bad_value"),
        ("attachment_policy: { max_size: 1 }\n", "3:22+8 unknown_key"),
        ("sandbox: { zones: [{ name: a, mode: ro, untrusted: 1 }] }\n", "3:52+1 wrong_type"),
        ("toolsets: { filesystem: {} }\n", "3:1+8 deprecated?"),
    ];
    for (lines, want) in cases {
        let parsed = with(lines);
        assert_eq!(found(&parsed.problems), [want], "{lines}");
        assert_eq!(parsed.worker.is_some(), want.ends_with('?'), "{lines}");
        assert!(parsed.problems.iter().all(|p| p.hint.is_some()), "{lines}");
    }
    for name in ["read_file", "exec", "' '"] {
        let parsed = parse(&format!("---\nname: {name}\n---\n"), "w.worker");
        assert_eq!(parsed.problems[0].code, "bad_name", "{name}");
    }
}

#[test]
fn how_a_worker_runs_is_read() {
    let silent = worker("");
    assert_eq!(silent.calls, Callees::None);
    assert_eq!(silent.attachments, AttachmentPolicy::default());
    assert_eq!(silent.run, RunSettings::default());
    assert!(!silent.workers_as_tools && !silent.locked);
    assert!(silent.works_with("any:thing"));

    let worker = worker(
        "compatible_models: ['m:*-large', n:x]
workers: [b, a]
workers_as_tools: true
attachment_policy: { max_attachments: 2, max_total_bytes: 900, allowed_suffixes: [.PDF, .md] }
output_schema: { type: object, required: [n], properties: { n: { minimum: 1.5, const: '1' } } }
output_retries: 0
max_turns: 7
budget: 200000
time: 90s
max_tokens: 1000
temperature: 0.25
max_context_tokens: 100
allow_empty_input: true
mode: chat
locked: true
",
    );
    let Callees::Named(names) = &worker.calls else { panic!("{:?}", worker.calls) };
    let names: Vec<_> = names.iter().map(|n| (&*n.value, n.at.file_line().unwrap().1)).collect();
    assert_eq!(names, [("b", 4), ("a", 4)]);
    assert!(worker.workers_as_tools && worker.locked);
    let attachments = AttachmentPolicy {
        max_attachments: 2,
        max_total_bytes: 900,
        max_file_bytes: 900,
        allowed_suffixes: vec![".pdf".to_owned(), ".md".to_owned()],
        denied_suffixes: vec![],
    };
    assert_eq!(worker.attachments, attachments);
    let run = &worker.run;
    let schema = serde_json::json!({
        "type": "object", "required": ["n"],
        "properties": { "n": { "minimum": 1.5, "const": "1" } },
    });
    assert_eq!(run.output_schema.as_ref().map(|schema| &schema.value), Some(&schema));
    let value = |limit: &Option<Ruled<u64>>| limit.as_ref().map(|limit| limit.value);
    let limits = [&run.max_turns, &run.budget, &run.time_ms].map(value);
    assert_eq!(limits, [Some(7), Some(200_000), Some(90_000)]);
    assert_eq!((run.max_tokens, run.max_context_tokens), (Some(1000), Some(100)));
    assert_eq!((run.temperature(), run.output_retries), (Some(0.25), 0));
    assert_eq!((run.mode, run.allow_empty_input), (RunMode::Chat, true));
    assert!(worker.works_with("m:x-large") && worker.works_with("n:x"));
    assert!(!worker.works_with("m:x-small"));
    assert_eq!(with("workers: all\n").worker.unwrap().calls, Callees::All);
    assert_eq!(with("workers: []\n").worker.unwrap().calls, Callees::None);
    assert_eq!(with("time: none\n").worker.unwrap().run.time_ms, None);
}

#[test]
fn toolsets_mean_what_is_written_otherwise_today() {
    let tools = |lines: &str| {
        let worker = worker(lines);
        worker.needs.tools.as_ref().map(|tools| tools.value.join(" ")).unwrap_or_default()
    };
    assert_eq!(tools("toolsets: { filesystem: }\n"), FILE_TOOLS.join(" "));
    assert_eq!(tools("toolsets: {}\n"), "");
    assert_eq!(tools("toolsets: { shell: {} }\n"), "shell");
    let lines = "toolsets:
  shell:
    rules: [{ pattern: ls, approval_required: false }, { pattern: rm, allowed: false }]
    default: { approval_required: true }
  delegation: { allow_workers: [a, b] }
";
    assert_eq!(tools(lines), "shell call_worker");
    let worker = worker(lines);
    let rules: Vec<_> =
        worker.needs.shell.rules.iter().map(|r| (r.pattern.as_str(), r.approval)).collect();
    assert_eq!(rules, [("ls", Approval::PreApproved), ("rm", Approval::Blocked)]);
    assert_eq!(
        worker.needs.shell.default.as_ref().map(|d| d.value.approval()),
        Some(Approval::Ask)
    );
    assert!(matches!(&worker.calls, Callees::Named(names) if names.len() == 2));
    let all = with("toolsets: { workers: { allowed_workers: '*' } }\n");
    assert_eq!(all.worker.unwrap().calls, Callees::All);
    assert_eq!(all.problems[0].hint.as_deref(), Some("write tools: [call_worker], and workers"));
    let bad = [
        ("toolsets: { custom: { module: x } }\n", "3:13+6 unknown_key"),
        ("toolsets: { git: {} }\n", "3:13+3 unknown_key"),
        ("toolsets: { shel: {} }\n", "3:13+4 unknown_key"),
        ("toolsets: { filesystem: { root: x } }\n", "3:27+4 unknown_key"),
        ("tools: []\ntoolsets: { shell: {} }\n", "3:1+5 conflict"),
        ("workers: [a]\ntoolsets: { workers: { allowed_workers: [a] } }\n", "3:1+7 conflict"),
        ("shell: { default: ask }\ntoolsets: { shell: { rules: [] } }\n", "3:1+5 conflict"),
    ];
    for (lines, want) in bad {
        let parsed = with(lines);
        let errors: Vec<_> =
            found(&parsed.problems).into_iter().filter(|p| !p.ends_with('?')).collect();
        assert_eq!(errors, [want], "{lines}");
        assert!(parsed.problems.iter().all(|p| p.hint.is_some()), "{lines}");
    }
    let git = with("toolsets: { git: {} }\n");
    assert!(git.problems.iter().any(|p| p.hint.as_deref().unwrap().contains("no such tools")));
    let body = with("instructions: x\n");
    assert_eq!(body.problems[0].hint.as_deref(), Some("write them below the front matter"));
}

#[test]
fn a_worker_may_distrust_a_zone_that_the_project_trusts() {
    let lines = "sandbox: { zones: [{ name: data, mode: ro, untrusted: true }] }\n";
    let grant = crate::Grant::of(&project());
    assert_eq!(grant.require_os_sandbox().value, OsSandbox::Unset);
    let child = grant.narrow(&worker(lines).needs).unwrap();
    assert_eq!(child.untrusted_zones(), ["data"]);
    let line = child.require_os_sandbox().at.file_line();
    assert_eq!(
        (child.require_os_sandbox().value, line),
        (OsSandbox::Required, Some(("w.worker", 3)))
    );
    let trusting = "sandbox: { zones: [{ name: data, mode: ro, untrusted: false }] }\n";
    let grandchild = child.narrow(&worker(trusting).needs).unwrap();
    assert_eq!(grandchild.untrusted_zones(), ["data"]);
}

#[test]
fn needs_are_held_against_the_project() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("sandbox: { zones: all }\n", &[]),
        ("sandbox: { network: false }\n", &[]),
        ("sandbox: { network: true }\n", &["3:21+1 exceeds_project"]),
        ("sandbox: { network: [a.org] }\n", &["3:21+1 exceeds_project"]),
        ("sandbox: { secrets: [KEY] }\n", &[]),
        ("sandbox: { secrets: [KEY, KEI] }\n", &["3:27+3 unknown_secret"]),
        ("sandbox: { zones: [{ name: data, mode: ro }] }\n", &[]),
        ("sandbox: { zones: [{ name: data, mode: rw }] }\n", &["3:40+2 exceeds_project"]),
        ("sandbox: { zones: [data] }\n", &["3:20+4 exceeds_project"]),
        ("sandbox: { zones: [{ name: dta, mode: ro }] }\n", &["3:28+3 unknown_zone"]),
        (
            "sandbox: { zones: [{ name: drafts, mode: rw, approval: { write: preApproved, delete: preApproved } }] }\n",
            &["3:86+11 looser_approval?"],
        ),
        ("sandbox: { paths: { notes: { root: ./notes, mode: rw } } }\n", &[]),
        (
            "sandbox: { paths: { notes: { root: ./note, mode: rw } } }\n",
            &["3:36+6 exceeds_project"],
        ),
        ("sandbox: { paths: { other: { root: ./other, mode: ro } } }\n", &["3:21+5 unknown_zone"]),
        ("sandbox: { working_dir: /data }\n", &["3:25+5 unknown_zone"]),
        ("max_turns: 30\nbudget: 10\ntime: 1h\n", &[]),
        (
            "max_turns: 31\nbudget: 11\ntime: 61m\n",
            &["3:12+1 looser_limit?", "4:9+1 looser_limit?", "5:7+1 looser_limit?"],
        ),
        ("sandbox: { zones: [{ name: data, mode: ro }], working_dir: /data/x }\n", &[]),
        (
            "sandbox: { zones: [{ name: data, mode: ro }] }\nshell_rules: [{ pattern: ls, sandbox_paths: [notes] }]\n",
            &["4:15+1 unknown_zone"],
        ),
    ];
    for (lines, want) in cases {
        let problems = check(&worker(lines), &project());
        assert_eq!(found(&problems), *want, "{lines}{problems:#?}");
        assert!(problems.iter().all(|p| p.hint.is_some()), "{lines}");
    }
    let problems = check(&worker("sandbox: { zones: [{ name: data, mode: rw }] }\n"), &project());
    assert_eq!(
        problems[0].message,
        "the worker asks for rw on 'data', which the project gives as ro"
    );
    assert_eq!(
        problems[0].hint.as_deref(),
        Some("ask for ro, or change the zone's mode (zonekeep.yaml:3)")
    );
    let problems = check(&worker("sandbox: { zones: [{ name: dta, mode: ro }] }\n"), &project());
    assert_eq!(
        problems[0].hint.as_deref(),
        Some("did you mean 'data'? zones: data, drafts, notes")
    );
}

#[test]
fn a_worker_defines_zones_only_where_the_project_leaves_them_open() {
    let lines = "sandbox: { paths: { cache: { root: ./c, mode: rw, suffixes: [.md] } } }\n";
    let open = defaults(Path::new("/p"), &Overrides::default()).policy.unwrap();
    let own = worker(lines);
    assert_eq!(check(&own, &open), []);
    let zones = inline_zones(&own, &open);
    assert_eq!((zones.len(), &zones[0].path.value), (1, &PathBuf::from("/p/c")));
    assert_eq!((zones[0].mode.value, zones[0].create), (Mode::Rw, false));
    assert_eq!(inline_zones(&own, &project()), []);

    let outside = worker("sandbox: { paths: { x: { root: ../x, mode: ro } } }\n");
    assert_eq!(found(&check(&outside, &open)), ["3:32+4 exceeds_project"]);
    assert_eq!(inline_zones(&outside, &open), []);

    let flag = ZoneFlag { name: "cache".into(), path: "/else".into(), mode: Some(Mode::Rw) };
    let flagged = Overrides { zones: vec![flag], ..Overrides::default() };
    let flagged = defaults(Path::new("/p"), &flagged).policy.unwrap();
    assert_eq!(found(&check(&own, &flagged)), ["3:36+3 exceeds_project"]);
    assert_eq!(inline_zones(&own, &flagged), []);
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(
        text in "\\PC{0,60}",
        lines in "([a-z:\\[\\]{}&*'\" -]|\n){0,80}",
    ) {
        let framed = format!("---\n{lines}\n---\n{text}");
        for text in [format!("{text}\n---\nname: {lines}\n---"), framed, text] {
            let parsed = parse(&text, "w.worker");
            let error = parsed.problems.iter().any(|p| p.severity == Severity::Error);
            prop_assert_eq!(parsed.worker.is_none(), error);
            if let Some(worker) = parsed.worker {
                check(&worker, &project());
            }
        }
    }
}
