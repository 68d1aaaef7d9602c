//! Ways round the rules that were tried, and must stay closed.

use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn call(project: &Project, tool: &str, arguments: Value) -> Run {
    project.zonekeep(["tool", tool, &arguments.to_string()])
}

fn code(run: &Run) -> String {
    run.stderr.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn searching_a_file_or_asking_about_it_does_not_pass_its_suffix_by() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    in: { path: ./in, mode: ro, suffixes: [.md] }\n",
    )
    .file("in/secret.key", "SECRET=hunter2");
    let run = call(&project, "search_files", json!({ "pattern": ".", "path": "/in/secret.key" }));
    assert_eq!((run.exit, run.stdout.as_str()), (1, ""), "{run}");
    assert!(run.stderr.contains("suffix not allowed.\nAllowed suffixes: .md"), "{run}");
    let info = call(&project, "file_info", json!({ "path": "/in/secret.key" }));
    assert!(info.exit == 0 && !info.stdout.contains("hash"), "{info}");
}

#[test]
fn a_writable_zone_on_guarded_files_is_refused() {
    let zone = |path: &str, more: &str| {
        let config = format!(
            "sandbox:\n  mode: direct\n  zones:\n    notes: {{ path: {path}, mode: rw, approval: {{ write: preApproved }} }}\n{more}"
        );
        Project::with_config(PROGRAM, &config).dir(".git/hooks").dir(".vscode").dir("plain")
    };
    for path in ["./.git", "./.git/hooks", "./.vscode"] {
        let project = zone(path, "");
        let run =
            call(&project, "write_file", json!({ "path": "/notes/pre-commit", "content": "x" }));
        assert_eq!(run.exit, 125, "{path}: {run}");
        assert!(run.stderr.contains("its files are guarded"), "{path}: {run}");
        assert_eq!(project.zonekeep(["check"]).exit, 1, "{path}");
    }
    let plain = zone("./plain", "");
    assert_eq!(call(&plain, "write_file", json!({ "path": "/notes/a", "content": "x" })).exit, 0);

    // The same by a link in a repository without a project file.
    let linked = Project::new(PROGRAM).dir(".git/hooks").dir(".sandbox");
    std::os::unix::fs::symlink("../.git", linked.path(".sandbox/workspace")).unwrap();
    let arguments = json!({ "path": "/workspace/hooks/x", "content": "x" }).to_string();
    let run = linked.zonekeep(["tool", "write_file", &arguments, "--approve", "all"]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(!linked.path(".git/hooks/x").exists());
}

#[test]
fn a_file_that_takes_guards_away_must_be_trusted() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    repo: { path: ., mode: rw, approval: { write: preApproved } }\n  guard: { \".git/**\": allow }\n",
    );
    let write =
        || call(&project, "write_file", json!({ "path": "/repo/.git/hooks/x", "content": "x" }));
    let run = write();
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("change files that match .git/** without a question"), "{run}");
    assert_eq!(project.zonekeep(["trust", "--yes"]).exit, 0);
    assert_eq!(write().exit, 0);
}

#[test]
fn an_edit_cannot_blow_up_a_file_or_the_memory() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    o: { path: ./o, mode: rw, max_file_bytes: 1000000, approval: { write: preApproved } }\n",
    )
    .file("o/m", "a".repeat(900_000));
    let edit = json!({ "path": "/o/m", "old_string": "a", "new_string": "B".repeat(10_000), "replace_all": true });
    let run = project.zonekeep_with_input(["tool", "edit_file", "-"], &edit.to_string());
    assert_eq!(run.exit, 1, "{run}");
    assert!(code(&run).contains("file too large"), "{run}");
    assert_eq!(project.read("o/m").len(), 900_000);
}

#[test]
fn a_worker_can_ask_for_questions_that_the_project_does_not() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    o: { path: ./o, mode: rw }\ntool_rules: { write_file: { approval_required: false } }\n",
    )
    .dir("o")
    .file("c.worker", "---\nname: c\nsandbox: { zones: [{ name: o, mode: rw, approval: { write: ask } }] }\n---\n");
    let arguments = json!({ "path": "/o/a", "content": "x" }).to_string();
    assert_eq!(project.zonekeep(["tool", "write_file", &arguments]).exit, 0);
    let run = project.zonekeep(["tool", "--worker", "c.worker", "write_file", &arguments]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("needs the user's approval"), "{run}");
}

#[test]
fn nothing_in_a_project_file_reaches_the_terminal_as_it_is() {
    let bad = "sandbox:\n  mode: direct\n  zones:\n    in: { path: \"./\\e[31mRED\\e]0;pwn\\a\", mode: ro }\n    x\u{9b}31m: 3\n";
    let project = Project::with_config(PROGRAM, bad);
    for command in [&["check"][..], &["tool", "list_files"], &["trust"]] {
        let run = project.zonekeep(command);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(!all.contains(['\x1b', '\x07', '\u{9b}']), "{command:?}: {all:?}");
        assert_ne!(run.exit, 0, "{command:?}");
    }
}

#[test]
fn a_home_directory_as_project_hands_nothing_out_by_itself() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    s: { path: ./.config/app, mode: ro }\n",
    )
    .file(".config/app/id", "key");
    let arguments = json!({ "path": "/s/id" }).to_string();
    let mut command = project.command();
    command.args(["tool", "read_file", &arguments]).env("HOME", project.path(""));
    let run = project.finish(&mut command);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("zonekeep trust"), "{run}");
}

#[test]
fn what_is_asked_for_as_json_fails_as_json() {
    let project = Project::new(PROGRAM).file("zonekeep.yaml", b"\xff\xfe\x00");
    for command in
        [&["check", "--json"][..], &["tool", "--json"], &["explain", "read", "/", "--json"]]
    {
        let run = project.zonekeep(command);
        let value: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"));
        assert!(value["error"]["message"].is_string(), "{run}");
        // To find out is what `check` is for.
        assert_eq!(run.exit, if command[0] == "check" { 1 } else { 125 }, "{run}");
    }
    assert_eq!(project.zonekeep(["log", "--json"]).exit, 0, "the log stays readable");
}

#[test]
fn a_worker_with_directories_of_its_own_works_only_without_zones_in_the_project() {
    let worker = "---\nname: w\nsandbox: { paths: { z: { root: ./z, mode: rw, write_approval: false } } }\n---\n";
    let arguments = json!({ "path": "/z/a", "content": "x" }).to_string();
    let free = Project::new(PROGRAM).file("w.worker", worker).dir("z");
    let run = free.zonekeep(["tool", "--worker", "w.worker", "write_file", &arguments]);
    assert!(run.stderr.contains("needs the user's approval"), "no worker approves itself: {run}");
    let all = ["tool", "--approve", "all", "--worker", "w.worker", "write_file", &arguments];
    assert_eq!(free.zonekeep(all).exit, 0);
    assert_eq!(free.read("z/a"), "x");
    let ruled = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    z: { path: ./other, mode: rw }\n",
    )
    .file("w.worker", worker)
    .dir("z")
    .dir("other");
    let run = ruled.zonekeep(all);
    assert_eq!(run.exit, 125, "{run}");
}

const OPEN: &str = "sandbox:\n  mode: direct\n  zones:\n    o: { path: ./o, mode: rw, approval: { write: preApproved } }\n";

#[test]
fn calls_that_come_to_nothing_are_on_record_too() {
    let project = Project::with_config(PROGRAM, OPEN).file("o/a", "x");
    assert_eq!(call(&project, "read_file", json!({ "x": 1 })).exit, 2);
    assert_eq!(call(&project, "no_such_tool", json!({})).exit, 2);
    let delete = json!({ "path": "/o/a" }).to_string();
    assert_eq!(project.zonekeep(["tool", "delete_file", &delete, "--approve", "none"]).exit, 1);
    let log = project.log_lines();
    let has = |part: &str| log.iter().filter(|line| line.contains(part)).count();
    assert_eq!(has("\"code\":\"bad_arguments\""), 1, "{log:?}");
    assert_eq!(has("\"code\":\"no_tool\""), 1, "{log:?}");
    // Before the answer, and after it.
    assert_eq!((has("\"outcome\":\"asked\""), has("\"code\":\"declined\"")), (1, 1), "{log:?}");
    assert_eq!(project.zonekeep(["log"]).stdout.lines().count(), 3, "one action is shown once");
}

#[test]
fn what_a_model_gets_back_is_bounded() {
    let project = Project::with_config(PROGRAM, OPEN).file("o/m", "line a\n".repeat(100_000));
    let edit = json!({ "path": "/o/m", "old_string": "a", "new_string": "b", "replace_all": true });
    let edited = call(&project, "edit_file", edit);
    assert_eq!(edited.exit, 0, "{}", edited.stderr);
    assert!(edited.stdout.len() < 25_000 && edited.stdout.contains("more lines are not shown"));
    let search = json!({ "path": "/o", "pattern": "b", "limit": 10000, "context": 50 });
    let found = call(&project, "search_files", search);
    assert!(found.exit == 0 && found.stdout.len() < 500_000, "{}", found.stdout.len());
}

#[test]
fn somebody_elses_link_to_a_project_file_is_not_obeyed() {
    if !rustix::process::geteuid().is_root() {
        return zonekeep_testkit::skip("only root can give a link away");
    }
    let project = Project::new(PROGRAM).file("mine/zonekeep.yaml", OPEN).dir("shared/o");
    let link = project.path("shared/zonekeep.yaml");
    std::os::unix::fs::symlink("../mine/zonekeep.yaml", &link).unwrap();
    let list = || project.zonekeep(["tool", "list_files", "--project", "shared"]).exit;
    assert_eq!(list(), 0, "the user's own link is");
    std::os::unix::fs::lchown(&link, Some(65534), Some(65534)).unwrap();
    assert_eq!(list(), 125);
}

#[test]
fn hooks_are_guarded_wherever_git_takes_them_from() {
    let config = "sandbox:\n  mode: direct\n  zones:\n    work: { path: ., mode: rw, \
                  approval: { write: preApproved, delete: preApproved } }\n";
    let project = Project::with_config(PROGRAM, config)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n\thooksPath = tools\n[include]\n\tpath = ../more\n")
        .file("tools/pre-commit", "#!/bin/sh\n")
        .file("scripts/check.sh", "#!/bin/sh\n")
        .file("more", "")
        .dir(".git/hooks")
        .link(".git/hooks/post-merge", "../../scripts/check.sh");
    for path in ["tools/pre-commit", "tools/new", "more", "scripts/check.sh"] {
        let run = call(
            &project,
            "write_file",
            json!({ "path": format!("/work/{path}"), "content": "x" }),
        );
        assert_eq!(run.exit, 1, "{path}: {run}");
        assert!(run.stderr.contains("needs the user's approval"), "{path}: {run}");
    }
    let explained = project.zonekeep(["explain", "write", "/work/tools/new"]);
    assert!(explained.ok().contains("guard \"/tools/**\": ask"), "{explained}");
    let open = ["--set", "sandbox.guard.\".git/**\"=allow"];
    let explained = project.zonekeep(["explain", "write", "/work/tools/new"].iter().chain(&open));
    assert!(explained.ok().starts_with("write /work/tools/new: allowed"), "{explained}");
    let moved = json!({ "from": "/work/tools", "to": "/work/old" });
    assert_eq!(call(&project, "move_file", moved).exit, 1);
    // What only has the name is not theirs.
    for path in ["sub/tools/a", "scripts/other.sh", "more.txt"] {
        let run = call(
            &project,
            "write_file",
            json!({ "path": format!("/work/{path}"), "content": "x" }),
        );
        assert_eq!(run.exit, 0, "{path}: {run}");
    }
}
