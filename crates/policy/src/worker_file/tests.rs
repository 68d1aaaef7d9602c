use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::config::{Overrides, Severity, ZoneFlag, defaults, load};
use crate::policy::Network;
use crate::zone::Approval;

const PROJECT: &str = "\
sandbox:
  zones:
    data: { path: data, mode: ro }
    drafts: { path: drafts, mode: rw, approval: { write: preApproved } }
  paths:
    notes: { root: notes, mode: rw }
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
    assert_eq!(
        (&worker.needs.limits, worker.needs.require_os_sandbox.value),
        (&Limits::none(), false)
    );
    let text = "sandbox: { require_os_sandbox: true, limits: { memory: 1G, tmp: none } }\n";
    let strict = with(text).worker.unwrap();
    assert_eq!(strict.needs.limits, Limits { memory: Some(1 << 30), ..Limits::none() });
    assert!(strict.needs.require_os_sandbox.value);
    assert_eq!(strict.needs.network, None);
    let all = with("sandbox: { zones: all }\n").worker.unwrap();
    assert_eq!(all.needs.zones, ZoneNeeds::All);
}

#[test]
fn problems_of_a_worker_file_have_their_place() {
    let cases = [
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
fn needs_are_held_against_the_project() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("sandbox: { zones: all }\n", &[]),
        ("sandbox: { network: false }\n", &[]),
        ("sandbox: { network: true }\n", &["3:21+1 exceeds_project"]),
        ("sandbox: { network: [a.org] }\n", &["3:21+1 exceeds_project"]),
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
