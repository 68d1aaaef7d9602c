//! What earlier systems of this kind got wrong with files; each has to fail here.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    secret: { path: ./secret, mode: ro }
    drafts: { path: ./drafts, mode: rw, approval: { write: preApproved, delete: preApproved } }
    final: { path: ./final, mode: rw, approval: { write: ask, delete: blocked } }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("in/a.txt", "input\n")
        .file("secret/k", "key\n")
        .file("drafts/d.txt", "draft\n")
        .file("final/f.txt", "final\n")
        .file("all.worker", "---\nname: all\nsandbox: { zones: all }\n---\n")
        .file("pure.worker", "---\nname: pure\n---\nThink.\n")
        .file(
            "child.worker",
            "---\nname: child\nsandbox: { zones: [{ name: input, mode: ro }, { name: drafts, mode: rw }] }\n---\n",
        )
}

fn call(project: &Project, tool: &str, arguments: Value, flags: &[&str]) -> Run {
    project.zonekeep(["tool", tool, &arguments.to_string()].iter().chain(flags))
}

#[test]
fn the_entry_cannot_write_to_a_read_only_directory() {
    let project = project();
    for flags in [&["--approve", "all"][..], &["--approve", "all", "--worker", "all.worker"]] {
        for (tool, arguments) in [
            ("write_file", json!({ "path": "/input/a.txt", "content": "x" })),
            ("write_file", json!({ "path": "/input/new.txt", "content": "x" })),
            ("edit_file", json!({ "path": "/input/a.txt", "old_string": "i", "new_string": "o" })),
            ("delete_file", json!({ "path": "/input/a.txt" })),
            ("move_file", json!({ "source": "/input/a.txt", "destination": "/drafts/a.txt" })),
            ("move_file", json!({ "source": "/drafts/d.txt", "destination": "/input/d.txt" })),
            ("copy_file", json!({ "source": "/drafts/d.txt", "destination": "/input/d.txt" })),
        ] {
            let run = call(&project, tool, arguments, flags);
            assert!(run.exit == 1 && run.stderr.contains("path is read-only"), "{tool}: {run}");
        }
    }
    assert_eq!(project.tree("in"), ["a.txt"]);
    assert_eq!(project.read("in/a.txt"), "input\n");
}

#[test]
fn dots_do_not_lead_from_an_allowed_directory_to_another() {
    let project = project();
    let worker = ["--worker", "child.worker", "--approve", "all"];
    for path in ["/drafts/../secret/k", "/input/./..//secret/k", "/drafts/x/../../secret/k"] {
        let run = call(&project, "read_file", json!({ "path": path }), &worker);
        assert!(run.exit == 1 && run.stderr.contains("path is outside sandbox"), "{run}");
        let run = call(&project, "write_file", json!({ "path": path, "content": "x" }), &worker);
        assert!(run.exit == 1 && run.stderr.contains("path is outside sandbox"), "{run}");
    }
    let run = call(&project, "read_file", json!({ "path": "/drafts/../secret/k" }), &worker);
    assert_snapshot!(run.stderr, @"
    Cannot access '/drafts/../secret/k': path is outside sandbox.
    Readable paths: /drafts, /input
    ");
    assert_eq!(project.read("secret/k"), "key\n");
}

#[test]
fn consent_is_looked_up_for_the_directory_that_the_path_really_names() {
    let project = project();
    let path = "/drafts/../final/x.txt";
    let run = call(&project, "write_file", json!({ "path": path, "content": "x" }), &[]);
    assert!(run.exit == 1 && run.stderr.contains("needs the user's approval"), "{run}");
    let run = call(
        &project,
        "delete_file",
        json!({ "path": "/drafts/../final/f.txt" }),
        &["--approve", "all"],
    );
    assert!(run.exit == 1 && run.stderr.contains("this is blocked"), "{run}");
    assert_eq!(project.tree("final"), ["f.txt"]);
    let log = project.log_lines();
    assert!(log[0].contains(r#""path":"/final/x.txt""#), "{}", log[0]);
    assert!(log[0].contains("zones.final.approval.write: ask"), "{}", log[0]);
}

#[test]
fn links_lead_nowhere_outside() {
    let project = project().file("../outside/s.txt", "OUTSIDE\n").dir("../outside/sub");
    let outside = project.beside("outside");
    let project = project
        .link("drafts/dir", "../../outside")
        .link("drafts/abs", &outside)
        .link("drafts/file", "../../outside/s.txt")
        .link("drafts/dangling", "../../outside/new.txt")
        .link("drafts/other", "../secret")
        .link("drafts/up", "..");
    let calls = [
        ("read_file", json!({ "path": "/drafts/file" })),
        ("read_file", json!({ "path": "/drafts/dir/s.txt" })),
        ("read_file", json!({ "path": "/drafts/abs/s.txt" })),
        ("read_file", json!({ "path": "/drafts/other/k" })),
        ("read_file", json!({ "path": "/drafts/up/secret/k" })),
        ("read_file", json!({ "path": "/drafts/file", "encoding": "base64" })),
        ("file_info", json!({ "path": "/drafts/dir/s.txt" })),
        ("list_files", json!({ "path": "/drafts/dir" })),
        ("list_files", json!({ "path": "/drafts/abs" })),
        ("list_files", json!({ "path": "/drafts/dir", "pattern": "**/*" })),
        ("search_files", json!({ "path": "/drafts/dir", "pattern": "OUT" })),
        ("write_file", json!({ "path": "/drafts/file", "content": "x" })),
        ("write_file", json!({ "path": "/drafts/file", "content": "x", "append": true })),
        ("write_file", json!({ "path": "/drafts/dangling", "content": "x" })),
        ("write_file", json!({ "path": "/drafts/dir/new.txt", "content": "x" })),
        ("write_file", json!({ "path": "/drafts/abs/new.txt", "content": "x" })),
        ("write_file", json!({ "path": "/drafts/dir/a/b.txt", "content": "x" })),
        ("edit_file", json!({ "path": "/drafts/file", "old_string": "OUT", "new_string": "x" })),
        ("delete_file", json!({ "path": "/drafts/dir/s.txt" })),
        ("delete_file", json!({ "path": "/drafts/abs/sub" })),
        ("move_file", json!({ "source": "/drafts/dir/s.txt", "destination": "/drafts/s.txt" })),
        ("move_file", json!({ "source": "/drafts/d.txt", "destination": "/drafts/dir/d.txt" })),
        ("copy_file", json!({ "source": "/drafts/file", "destination": "/drafts/s.txt" })),
        ("copy_file", json!({ "source": "/drafts/dir/s.txt", "destination": "/drafts/s.txt" })),
        ("copy_file", json!({ "source": "/drafts/d.txt", "destination": "/drafts/abs/d.txt" })),
        (
            "copy_file",
            json!({ "source": "/drafts/d.txt", "destination": "/drafts/dangling", "overwrite": true }),
        ),
    ];
    let before = project.tree("");
    for (tool, arguments) in calls {
        let run = call(&project, tool, arguments.clone(), &["--approve", "all"]);
        assert_eq!(run.exit, 1, "{tool} {arguments}: {run}");
        for word in ["OUTSIDE", "T1VUU0lERQ", "key", "outside/"] {
            assert!(!run.stdout.contains(word), "{tool} {arguments}: {run}");
        }
        assert!(!run.stderr.contains("[TEMP]"), "{tool} {arguments}: {run}");
    }
    // Whole trees are walked without following links.
    let list = call(&project, "list_files", json!({ "path": "/", "pattern": "**/*.txt" }), &[]);
    assert_eq!(list.ok(), "drafts/d.txt\nfinal/f.txt\ninput/a.txt");
    let found =
        call(&project, "search_files", json!({ "path": "/drafts", "pattern": "OUTSIDE|key" }), &[]);
    assert!(found.ok().starts_with("[No match"), "{found}");
    for pattern in ["../final/*", "dir/*", "**/s.txt"] {
        let run =
            call(&project, "list_files", json!({ "path": "/drafts", "pattern": pattern }), &[]);
        assert!(!run.stdout.contains("s.txt") && !run.stdout.contains("f.txt"), "{pattern}: {run}");
    }
    assert_eq!(project.tree(""), before);
    assert_eq!(std::fs::read_to_string(outside.join("s.txt")).unwrap(), "OUTSIDE\n");
    assert_eq!(project.tree("../outside"), ["s.txt", "sub"]);

    // The link itself belongs to the directory, and what it leads to does not.
    call(&project, "delete_file", json!({ "path": "/drafts/file" }), &[]).ok();
    call(
        &project,
        "move_file",
        json!({ "source": "/drafts/dir", "destination": "/drafts/moved" }),
        &[],
    )
    .ok();
    assert_eq!(project.tree("../outside"), ["s.txt", "sub"]);
}

#[test]
fn blocked_stays_blocked_when_everything_is_approved() {
    let project = project();
    for flags in [&["--approve", "all"][..], &["--set", "approval.mode=approve_all"]] {
        let run = call(&project, "delete_file", json!({ "path": "/final/f.txt" }), flags);
        assert!(run.exit == 1 && run.stderr.contains("this is blocked"), "{run}");
        // A move takes the file away as well.
        let away = json!({ "source": "/final/f.txt", "destination": "/drafts/f.txt" });
        let run = call(&project, "move_file", away, flags);
        assert!(run.exit == 1 && run.stderr.contains("this is blocked"), "{run}");
    }
    assert!(project.exists("final/f.txt"));
}

#[test]
fn a_pure_function_has_no_file_tool_and_no_fallback() {
    let project = project();
    let pure = ["--worker", "pure.worker", "--approve", "all"];
    let listed = project.zonekeep(["tool", "--json"].iter().chain(&pure));
    assert_eq!(listed.ok(), "[]");
    let run = call(&project, "read_file", json!({ "path": "/input/a.txt" }), &pure);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot use 'read_file': the tool is not available.
    Available tools: none
    ");
    for (tool, arguments) in [
        ("list_files", json!({ "path": "/" })),
        ("write_file", json!({ "path": "/workspace/x", "content": "x" })),
        ("search_files", json!({ "path": "/", "pattern": "." })),
    ] {
        let run = call(&project, tool, arguments, &pure);
        assert_eq!((run.exit, run.stdout.as_str()), (1, ""), "{tool}: {run}");
    }
    assert!(!project.exists(".sandbox"), "no default directories appear");
}

#[test]
fn a_worker_that_asks_for_more_than_there_is_is_refused() {
    let project = project()
        .file("rw.worker", "---\nname: rw\nsandbox: { zones: [{ name: input, mode: rw }] }\n---\n")
        .file("no.worker", "---\nname: no\nsandbox: { zones: [{ name: mail, mode: ro }] }\n---\n");
    let list = |worker: &str| project.zonekeep(["tool", "list_files", "--worker", worker]);
    assert_snapshot!(list("rw.worker").to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: Child requests 'rw' on 'input' but parent only has 'ro'
    ");
    assert_snapshot!(list("no.worker").to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: Child requests zone 'mail' but parent doesn't have it
    ");
}

#[test]
fn a_worker_sees_only_what_it_asks_for() {
    let project = project();
    let child = ["--worker", "child.worker"];
    let run = call(&project, "list_files", json!({ "path": "/" }), &child);
    assert_eq!(run.ok(), "drafts/\ninput/");
    let run = call(&project, "read_file", json!({ "path": "/secret/k" }), &child);
    assert_eq!(run.exit, 1);
    // The operator's log may say more than the agent is told.
    assert!(
        project.log_lines().last().unwrap().contains("Zone 'secret' not available to this worker")
    );
}

#[test]
fn unknown_keys_and_tools_are_errors() {
    let cases = [
        "sandbox: { child_sandbox: {} }\n",
        "child_sandbox: { zones: {} }\n",
        "tools: [read_file, frobnicate]\n",
        "tool_rules: { frobnicate: { allowed: true } }\n",
        "sandbox: { guard: { '../x': allow } }\n",
    ];
    for config in cases {
        let project = Project::with_config(PROGRAM, config);
        assert_eq!(project.zonekeep(["check"]).exit, 1, "{config}");
        assert_eq!(project.zonekeep(["tool", "list_files"]).exit, 125, "{config}");
    }
    let project = project().file("bad.worker", "---\nname: bad\nchild_sandbox: {}\n---\n");
    let run = project.zonekeep(["tool", "list_files", "--worker", "bad.worker"]);
    assert_eq!(run.exit, 125);
    assert!(run.stderr.contains("unknown key 'child_sandbox'"), "{run}");
}
