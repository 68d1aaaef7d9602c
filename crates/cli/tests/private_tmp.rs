//! The private `/tmp` of commands: one for all commands of a worker, and readable by the
//! file tools. The library with the program as its launcher.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::{Value, json};
use zonekeep::approve::{Answer, Callback, Request};
use zonekeep::command::{Confine, Ran, ShellCall};
use zonekeep::confine::tree::Launcher;
use zonekeep::{Sandbox, Session, StateDir, tools};
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Commands with a host of their own have another sandbox than those without.
const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw }
shell:
  rules:
    - { pattern: 'cp *', approval: ask, grants: { network: [example.org] } }
";

fn open(project: &Project) -> Session {
    let found = zonekeep::Project::at(&project.path(""), &Default::default()).unwrap();
    let confine = Confine { launcher: Some(Launcher::at(PROGRAM)), ..Confine::default() };
    let state = StateDir::at(project.state().join("zonekeep"));
    let approver = Callback(|_: &Request| Answer::yes());
    Session::open_with(&found, &state, approver, confine).unwrap()
}

fn run(sandbox: &Sandbox, line: &str) -> String {
    match sandbox.shell(&ShellCall::new(line)).unwrap() {
        Ran::Ended(outcome) => outcome.stdout.clone() + &outcome.stderr,
        Ran::Background(_) => panic!("it was not to go on in the background"),
    }
}

fn tool(sandbox: &Sandbox, name: &str, arguments: Value) -> Result<Value, String> {
    let done = tools::call(sandbox, name, arguments).map_err(|error| error.to_string())?;
    Ok(done.value)
}

/// Returns a project, and its session where commands have a tree of their own.
fn scene() -> Option<(Project, Session)> {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return None;
    }
    let project = Project::with_config(PROGRAM, CONFIG).file("repo/a.txt", "a\n");
    let session = open(&project);
    Some((project, session))
}

#[test]
fn file_tools_read_what_commands_leave_there() {
    let Some((project, session)) = scene() else { return };
    let sandbox = session.sandbox();
    let read = |path: &str| tool(&sandbox, "read_file", json!({ "path": path }));
    // Before the first command there is none.
    let none = read("/tmp/out.txt").unwrap_err();
    assert!(none.contains("outside sandbox") && !sandbox.can_read("/tmp/out.txt"), "{none}");
    run(
        &sandbox,
        "mkdir /tmp/d; echo one > /tmp/out.txt; echo needle > /tmp/d/deep; chmod 600 /tmp/d/deep",
    );
    assert_eq!(read("/tmp/out.txt").unwrap()["content"], "one\n");
    assert!(sandbox.can_read("/tmp/out.txt") && !sandbox.can_write("/tmp/out.txt"));
    let none = read("/tmp/other.txt").unwrap_err();
    assert!(none.contains("no such file"), "{none}");
    let listed = tool(&sandbox, "list_files", json!({ "path": "/tmp" })).unwrap().to_string();
    assert!(listed.contains(r#""name":"out.txt""#), "{listed}");
    let found = tool(&sandbox, "search_files", json!({ "path": "/tmp", "pattern": "needle" }));
    assert!(found.unwrap().to_string().contains("d/deep"));
    let copy = json!({ "from": "/tmp/out.txt", "to": "/repo/kept.txt" });
    tool(&sandbox, "copy_file", copy).unwrap();
    assert_eq!(project.read("repo/kept.txt"), "one\n");
    // A host's own `/tmp` is no part of it.
    std::fs::write(project.path("outside"), "secret\n").unwrap();
    let outside = project.path("outside").display().to_string();
    assert!(read(&outside).is_err());
}

#[test]
fn file_tools_change_nothing_there_and_follow_no_link_out() {
    let Some((project, session)) = scene() else { return };
    let sandbox = session.sandbox();
    std::fs::write(project.path("secret.txt"), "secret\n").unwrap();
    let outside = project.path("secret.txt");
    let line = format!(
        "echo one > /tmp/a; ln -s {} /tmp/out; ln -s /etc/passwd /tmp/users; ln -s / /tmp/root; \
         mkfifo /tmp/pipe",
        outside.display()
    );
    run(&sandbox, &line);
    for (name, arguments) in [
        ("write_file", json!({ "path": "/tmp/b", "content": "x" })),
        ("write_file", json!({ "path": "/tmp/a", "content": "x" })),
        ("edit_file", json!({ "path": "/tmp/a", "edits": [{ "old": "one", "new": "two" }] })),
        ("delete_file", json!({ "path": "/tmp/a" })),
        ("move_file", json!({ "from": "/tmp/a", "to": "/repo/a" })),
        ("copy_file", json!({ "from": "/repo/a.txt", "to": "/tmp/c" })),
        ("read_file", json!({ "path": "/tmp/out" })),
        ("read_file", json!({ "path": "/tmp/users" })),
        ("read_file", json!({ "path": "/tmp/root/etc/passwd" })),
        ("read_file", json!({ "path": "/tmp/../etc/passwd" })),
        ("read_file", json!({ "path": "/tmp/pipe" })),
    ] {
        let refused = tool(&sandbox, name, arguments.clone()).unwrap_err();
        assert!(!refused.contains("root:"), "{name} {arguments}: {refused}");
    }
    assert_eq!(run(&sandbox, "ls /tmp; cat /tmp/a"), "a\nout\npipe\nroot\nusers\none\n");
}

#[test]
fn commands_of_one_worker_share_it_and_workers_do_not() {
    let Some((project, session)) = scene() else { return };
    let sandbox = session.sandbox();
    run(&sandbox, "echo one > /tmp/one");
    // Another sandbox, with a network.
    run(&sandbox, "cp /tmp/one /tmp/two");
    run(&sandbox, "echo three >> /tmp/two");
    assert_eq!(run(&sandbox, "cat /tmp/two"), "one\nthree\n");
    let read = tool(&sandbox, "read_file", json!({ "path": "/tmp/two" })).unwrap();
    assert_eq!(read["content"], "one\nthree\n");
    let other = open(&project);
    assert_eq!(run(&other.sandbox(), "ls /tmp"), "");
}
