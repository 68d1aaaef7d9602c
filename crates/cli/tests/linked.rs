//! Files in writable zones that have other names outside (hard links), and zones in which
//! deleting is blocked.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::Value;
use zonekeep_testkit::{Project, Run, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw, approval: { write: preApproved } }
  working_dir: /output
";

/// A project whose writable zone shares one file with the read-only zone, one with the
/// host, and one with itself.
fn project(config: &str) -> Project {
    let project = Project::with_config(PROGRAM, config)
        .file("in/a.txt", "input")
        .file("../store/b.txt", "stored")
        .file("out/own.txt", "own")
        .dir("out/lib");
    for (from, to) in [
        ("in/a.txt", "out/a.txt"),
        ("../store/b.txt", "out/lib/b.txt"),
        ("out/own.txt", "out/lib/own.txt"),
    ] {
        fs::hard_link(project.path(from), project.path(to)).unwrap();
    }
    project
}

const WRITE: [&str; 5] =
    ["run", "--", "sh", "-c", "for f in a.txt lib/b.txt own.txt; do echo evil > $f; done"];

fn has_own_tree(project: &Project) -> bool {
    let run = project.zonekeep(["doctor", "--json"]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let backend = value["examined"]["backend"].as_str().unwrap_or_default();
    matches!(backend, "namespaces" | "bubblewrap")
}

#[test]
fn commands_do_not_change_files_outside_by_hard_links() {
    let project = project(CONFIG);
    if !has_own_tree(&project) {
        return skip("files are made read-only by mounts of a tree of its own");
    }
    let run = project.zonekeep(WRITE);
    assert_eq!(
        (project.read("in/a.txt"), project.read("../store/b.txt")),
        ("input".into(), "stored".into())
    );
    assert_eq!(project.read("out/lib/own.txt"), "evil\n", "all its names are in the zone: {run}");
    assert!(
        run.stderr.contains(
            "zonekeep: 2 files are read-only for commands, because they have other names outside \
             (hard links): /output/a.txt, /output/lib/b.txt."
        ),
        "{run}"
    );
    let explained = project.zonekeep(["explain", "run", "--", "true"]);
    assert!(
        explained.ok().contains(
            "is read-only unless sandbox.allow_hard_links has it; there are 2: /output/a.txt, \
             /output/lib/b.txt\n"
        ),
        "{explained}"
    );
    assert_snapshot!(project.zonekeep(["check"]).to_string(), @"
    exit 0
    --- stdout
    zonekeep.yaml: ok, 2 zone(s), 0 worker(s), 1 warning(s)
    --- stderr
    warning[hard_links]: 2 file(s) in writable zones have other names outside (hard links) and are read-only for commands: /output/a.txt, /output/lib/b.txt
     |
     = help: copy them, or list patterns in sandbox.allow_hard_links to let commands write them
    ");
    // The file tools put a new file in the place of the name.
    let content = r#"{"path": "/output/a.txt", "content": "new"}"#;
    project.zonekeep(["tool", "write_file", content]).ok();
    assert_eq!(
        (project.read("out/a.txt"), project.read("in/a.txt")),
        ("new".into(), "input".into())
    );
}

#[test]
fn hard_links_are_allowed_by_pattern_after_trust() {
    let allowing = format!("{CONFIG}  allow_hard_links: [lib/**]\n");
    let project = project(&allowing);
    if !has_own_tree(&project) {
        return skip("files are made read-only by mounts of a tree of its own");
    }
    assert_snapshot!(project.zonekeep(WRITE).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file reaches outside its own directory and is not trusted yet:
      write files outside by hard links that match lib/** (zonekeep.yaml:7)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
    assert_eq!(project.read("../store/b.txt"), "stored");
    project.zonekeep(["trust", "--yes"]).ok();
    let run = project.zonekeep(WRITE);
    assert_eq!(project.read("../store/b.txt"), "evil\n", "{run}");
    assert_eq!(project.read("in/a.txt"), "input", "{run}");
    let wrong = Project::with_config(PROGRAM, &format!("{CONFIG}  allow_hard_links: [../x]\n"));
    let check = wrong.zonekeep(["check"]);
    assert!(check.exit == 1 && check.stderr.contains("cannot match any file"), "{check}");
}

#[test]
fn rules_with_a_name_in_a_writable_zone_are_not_obeyed() {
    let project = Project::with_config(PROGRAM, CONFIG).dir("in").dir("out");
    fs::hard_link(project.path("zonekeep.yaml"), project.path("out/notes.txt")).unwrap();
    assert_snapshot!(project.zonekeep(["run", "--", "true"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: zone 'output': the project file leads to [TEMP]/project/out/notes.txt, which is writable there

    hint: keep the rules where no agent can write: put the file itself in the link's place (zonekeep.yaml:5)
    ");
    assert_eq!(project.zonekeep(["check"]).exit, 1);
    fs::remove_file(project.path("out/notes.txt")).unwrap();
    fs::hard_link(project.path("zonekeep.yaml"), project.beside("copy.yaml")).unwrap();
    project.zonekeep(["check"]).ok();

    // A directory that a command gets counts like a zone.
    let project = Project::with_config(PROGRAM, CONFIG).dir("in").dir("out").dir("more");
    fs::hard_link(project.path("zonekeep.yaml"), project.path("more/notes.txt")).unwrap();
    let run = project.zonekeep(["run", "--rw", "more", "--", "true"]);
    assert!(run.exit == 125 && run.stderr.contains("the project file leads to"), "{run}");
}

#[test]
fn an_approver_with_a_name_in_a_writable_zone_is_refused() {
    let project = Project::with_config(PROGRAM, CONFIG).dir("in").dir("out");
    let approver = project.path("tools/approver");
    fs::create_dir(project.path("tools")).unwrap();
    fs::write(&approver, "#!/bin/sh\necho '{\"approved\": true}'\n").unwrap();
    fs::set_permissions(&approver, fs::Permissions::from_mode(0o755)).unwrap();
    let write = |path: &str| {
        let content = format!(r#"{{"path": "/output/{path}", "content": "new"}}"#);
        project.zonekeep(["tool", "write_file", &content, "--approver", "tools/approver"])
    };
    write("first.txt").ok();
    fs::hard_link(&approver, project.path("out/tool.txt")).unwrap();
    let run = write("second.txt");
    assert!(run.exit == 125 && run.stderr.contains("has another name (a hard link)"), "{run}");
}

// ---- blocked deletion

fn sh(project: &Project, script: &str) -> Run {
    project.zonekeep(["run", "--", "sh", "-c", script])
}

#[test]
fn blocked_deletion_and_writing_hold_for_commands() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:
  mode: direct
  zones:
    kept: { path: ./kept, mode: rw, approval: { write: preApproved, delete: blocked } }
    sealed: { path: ./sealed, mode: rw, approval: { write: blocked } }
    free: { path: ./free, mode: rw }
  working_dir: /kept
  home: /kept
",
    )
    .file("kept/a.txt", "old")
    .file("kept/dir/b.txt", "old")
    .file("sealed/a.txt", "old")
    .file("free/a.txt", "old");
    if !has_own_tree(&project) {
        return skip("the paths are those of a tree of its own");
    }
    let explained = project.zonekeep(["explain", "run", "--all", "--", "true"]);
    if !explained.ok().contains("full     blocked deletion: Landlock") {
        return skip("this kernel has no Landlock");
    }
    let refused = sh(
        &project,
        "rm -f a.txt dir/b.txt; rm -rf dir; mv a.txt c.txt; mv a.txt /free/; mv /free/a.txt a.txt
         echo evil > /sealed/a.txt; rm -f /sealed/a.txt; echo evil > /sealed/new; rmdir dir
         true",
    );
    refused.ok();
    assert_eq!(project.read("kept/a.txt"), "old");
    assert_eq!(project.tree("kept"), ["a.txt", "dir", "dir/b.txt"]);
    assert_eq!((project.read("sealed/a.txt"), project.exists("sealed/new")), ("old".into(), false));
    // All else that writing is goes on.
    sh(&project, "echo new > a.txt && echo x > new.txt && mkdir d && ln a.txt link.txt").ok();
    assert_eq!(project.read("kept/a.txt"), "new\n");
    sh(&project, "rm /free/a.txt && touch /free/x && mv /free/x /free/y").ok();
}
