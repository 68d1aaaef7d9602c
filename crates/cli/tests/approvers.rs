//! Programs and sockets that answer for the user.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, Stopped, Typed, as_nobody, eventually, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    ask: { path: ./ask, mode: rw, approval: { write: ask, delete: ask } }
    input: { path: ./in, mode: ro }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).file("ask/a.txt", "one\n").file("in/a.txt", "input\n")
}

fn arguments(path: &str) -> String {
    json!({ "path": path, "content": "two\n" }).to_string()
}

fn write(project: &Project, flags: &[&str]) -> Run {
    let arguments = arguments("/ask/a.txt");
    project.zonekeep(["tool", "write_file", &arguments].iter().chain(flags))
}

/// Writes a script to a file of the project, or beside it.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

// ---- programs

#[test]
fn a_program_answers_with_a_yes_or_a_no_and_a_note() {
    let project = project();
    script(&project.path("tools/no"), r#"echo '{"approved": false, "note": "use /draft"}'"#);
    script(
        &project.path("tools/yes"),
        r#"grep -q '"path":"/ask/a.txt"' && echo '{"approved": true}'"#,
    );
    assert_snapshot!(write(&project, &["--approver", "tools/no"]).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/ask/a.txt': the user declined.
    Their note: use /draft
    ");
    assert_eq!(project.read("ask/a.txt"), "one\n");
    write(&project, &["--approver", "./tools/yes"]).ok();
    assert_eq!(project.read("ask/a.txt"), "two\n");
    let log = project.log_lines().join("\n");
    assert!(
        log.contains(r#""answer":{"approved":true,"by":"program","remember":"once"}"#),
        "{log}"
    );
    // A relative path starts where the user is, and is never searched in PATH.
    let run = project.zonekeep_in("tools", ["tool", "--approver", "yes"]);
    assert_eq!(run.exit, 0, "{run}");
    assert_eq!(write(&project, &["--approver", "true"]).exit, 125);
}

#[test]
fn a_program_that_fails_is_a_no() {
    let project = project();
    let answer = |text: &str| {
        script(&project.path("approver"), text);
        let run = write(&project, &["--approver", "./approver", "--answer-within", "2s"]);
        assert_eq!((run.exit, project.read("ask/a.txt").as_str()), (1, "one\n"), "{run}");
        run.stderr.lines().next().unwrap().split("approval, and ").nth(1).unwrap().to_owned()
    };
    assert_snapshot!(answer("exit 7"), @"the approver failed (exit status: 7).");
    assert_snapshot!(answer("sleep 100"), @"the approver did not answer within 2 seconds.");
    assert_snapshot!(
        answer("echo '{\"approved\": true, \"extra\": 1}'"),
        @"the approver's answer was not understood (unknown field `extra`, expected one of `version`, `approved`, `note`, `remember` at line 1 column 26)."
    );
    assert_snapshot!(
        answer("head -c 100000 /dev/zero"),
        @"the approver's answer was longer than 65536 bytes."
    );
}

#[test]
fn a_program_that_agents_can_rewrite_is_refused() {
    let project = project();
    script(&project.path("ask/approver"), "echo '{\"approved\": true}'");
    assert_snapshot!(write(&project, &["--approver", "ask/approver"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: the approver [TEMP]/project/ask/approver lies in the zone 'ask', which agents can write

    hint: keep it where no agent can write, such as in a directory of yours outside of the project
    ");
    assert_snapshot!(write(&project, &["--approver", "./missing"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: the approver ./missing does not exist

    hint: name the path of one executable file; it gets no arguments
    ");
    // A directory that a command gets counts like a zone.
    script(&project.path("tools/approver"), "echo '{\"approved\": true}'");
    let run = ["run", "--rw", "tools", "--approver", "tools/approver", "--", "true"];
    let run = project.zonekeep(run);
    assert!(run.exit == 125 && run.stderr.contains("which agents can write"), "{run}");
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let project = project();
    script(&project.path("tools/yes"), "echo '{\"approved\": true}'");
    let both = write(&project, &["--approver", "tools/yes", "--approve", "none"]);
    assert!(both.exit == 2 && both.stderr.contains("cannot be used with"), "{both}");
    for time in ["soon", "0", "none", "-1s"] {
        let run = write(&project, &["--approver", "tools/yes", &format!("--answer-within={time}")]);
        assert!(run.exit == 2 && run.stderr.contains("a time such as 30s"), "{time}: {run}");
    }
    assert_eq!(project.zonekeep(["approve", "some-id"]).exit, 2);
    assert_eq!(project.zonekeep(["approve", "--note", "x"]).exit, 2);
}

// ---- sockets

/// An agent that writes a file, and whose questions wait on a socket.
struct Agent(Stopped);

impl Agent {
    fn start(project: &Project, path: &str, flags: &[&str]) -> Self {
        let arguments = arguments(path);
        let mut command = project.command();
        command.args(["tool", "write_file", &arguments, "--approve", "socket"]).args(flags);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Agent(Stopped(command.spawn().unwrap()))
    }

    /// Waits until it has ended; returns its exit status and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.0.0.stderr.take().unwrap(), &mut said).unwrap();
        (self.0.0.wait().unwrap().code(), said)
    }
}

/// Returns what waits, once there are so many questions.
fn waiting(project: &Project, many: usize) -> Vec<Value> {
    eventually("the questions", || {
        let run = project.zonekeep(["approve", "--json"]);
        let lines = run.ok().lines().map(|line| serde_json::from_str(line).unwrap());
        Some(lines.collect::<Vec<Value>>()).filter(|all| all.len() == many)
    })
}

fn id_of(waiting: &Value) -> String {
    waiting["request"]["id"].as_str().unwrap().to_owned()
}

fn sockets(project: &Project) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(project.state().join("zonekeep/approve")) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn a_question_waits_on_the_socket_until_it_is_answered() {
    let project = project();
    assert_eq!(project.zonekeep(["approve", "--list"]).ok(), "No question waits.");
    let agent = Agent::start(&project, "/ask/a.txt", &[]);
    let all = waiting(&project, 1);
    let id = id_of(&all[0]);
    assert_eq!(all[0]["request"]["diff"], "@@ -1 +1 @@\n-one\n+two\n");
    assert_eq!(all[0]["project"], "[TEMP]/project");
    let list = project.zonekeep(["approve", "--list"]);
    assert_snapshot!(list.ok().replace(&id, "[ID]"), @"
    [ID]
      The agent wants to write '/ask/a.txt'
      asked because: zones.ask.approval.write: ask (zonekeep.yaml:4)
      project: '[TEMP]/project'
    ");
    let unknown = project.zonekeep(["approve", "0-0", "yes"]);
    assert_snapshot!(unknown.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: no question '0-0' waits

    hint: `zonekeep approve --list` shows those that do
    ");
    project.zonekeep(["approve", &id, "yes"]).ok();
    let (exit, said) = agent.end();
    assert_eq!(exit, Some(0), "{said}");
    assert!(said.starts_with("zonekeep: questions wait at "), "{said}");
    assert!(said.trim_end().ends_with(".sock; `zonekeep approve` answers them"), "{said}");
    assert_eq!(project.read("ask/a.txt"), "two\n");
    assert_eq!(project.zonekeep(["approve", &id, "yes"]).exit, 1, "it waits no more");
    assert!(sockets(&project).is_empty(), "nothing stays");
}

#[test]
fn in_the_list_one_question_cannot_look_like_two() {
    let project = project();
    let blanks = " ".repeat(120);
    let _agent = Agent::start(&project, &format!("/ask/a{blanks}0-9  write {blanks}b"), &[]);
    let id = id_of(&waiting(&project, 1)[0]);
    let list = project.zonekeep(["approve", "--list"]);
    let (first, rest) = list.ok().split_once('\n').unwrap();
    assert_eq!(first, id);
    assert!(rest.lines().all(|line| line.starts_with("  ") && line.len() < 120), "{rest}");
    assert!(rest.contains("\n  ↪ ") && rest.contains(" b'\n"), "{rest}");
}

#[test]
fn each_answer_reaches_the_session_that_asked() {
    let project = project();
    let agents = ["/ask/b.txt", "/ask/c.txt", "/ask/d.txt"]
        .map(|path| (path, Agent::start(&project, path, &[])));
    let all = waiting(&project, 3);
    let id = |path: &str| id_of(all.iter().find(|one| one["request"]["path"] == path).unwrap());
    project.zonekeep(["approve", &id("/ask/c.txt"), "no", "--note", "use /draft"]).ok();
    project.zonekeep(["approve", &id("/ask/b.txt"), "yes"]).ok();
    project.zonekeep(["approve", &id("/ask/d.txt"), "session"]).ok();
    for (path, agent) in agents {
        let (exit, said) = agent.end();
        assert_eq!(exit, Some(i32::from(path == "/ask/c.txt")), "{path}: {said}");
        assert_eq!(said.contains("Their note: use /draft"), path == "/ask/c.txt", "{said}");
    }
    assert_eq!(project.tree("ask"), ["a.txt", "b.txt", "d.txt"]);
    let log = project.log_lines().join("\n");
    assert!(log.contains(r#""by":"socket","remember":"session""#), "{log}");
}

#[test]
fn a_question_that_nobody_answers_is_a_no() {
    let project = project();
    let run = write(&project, &["--approve", "socket", "--answer-within", "1s"]);
    assert_eq!((run.exit, project.read("ask/a.txt").as_str()), (1, "one\n"), "{run}");
    let want = "Cannot write to '/ask/a.txt': it needs the user's approval, and nobody answered within 1 second.";
    assert!(run.stderr.contains(want), "{run}");
}

#[test]
fn a_person_answers_at_another_terminal() {
    let project = project();
    let agent = Agent::start(&project, "/ask/a.txt", &[]);
    let id = id_of(&waiting(&project, 1)[0]);
    let socket = sockets(&project).into_iter().find(|path| path.extension().unwrap() == "sock");
    let socket = socket.unwrap().display().to_string();
    let steps = [("zonekeep> ", "n\n"), ("note to the agent", "not now\n")];
    let Some(Typed { run, screen }) =
        project.zonekeep_typed(["approve", "--socket", &socket], &steps)
    else {
        return skip("no terminal can be made here");
    };
    // The session ends with its agent, and so does this.
    assert_eq!(run.exit, 0, "{run}");
    assert!(run.stderr.contains(&id), "{run}");
    for part in ["The agent wants to write '/ask/a.txt'", "zonekeep.yaml:4", "| -one", "| +two"] {
        assert!(screen.contains(part), "{part} in {screen}");
    }
    let (exit, said) = agent.end();
    assert!(exit == Some(1) && said.contains("Their note: not now"), "{said}");
}

#[test]
fn a_waiting_question_is_announced_in_fixed_words() {
    let project = project();
    let (program, told) = (project.beside("home/tell"), project.beside("home/told"));
    script(&program, &format!("printf '%s|' \"$@\" >> '{0}'; echo >> '{0}'", told.display()));
    let flag = format!("--notify={}", program.display());
    let arguments = arguments("/ask/<b>x</b>.txt");
    let args = ["tool", "write_file", &arguments, &flag];
    let Some(mut person) = project.zonekeep_at_terminal(args) else {
        return skip("no terminal can be made here");
    };
    let words = eventually("the notification", || {
        fs::read_to_string(&told).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(words, "Zonekeep|A question waits for your answer.|\n");
    person.wait_for("zonekeep> ");
    person.type_in("n\n");
    person.wait_for("note to the agent");
    person.type_in("\n");
    assert_eq!(person.end().0, 1);

    let waits = Agent::start(&project, "/ask/b.txt", &[&flag]);
    eventually("the second one", || {
        fs::read_to_string(&told).ok().filter(|text| text.lines().count() == 2)
    });
    drop(waits);
    // A question that is answered by itself announces nothing.
    write(&project, &["--approve", "all", &flag]).ok();
    assert_eq!(fs::read_to_string(&told).unwrap().lines().count(), 2);
    // Agents must not choose the program that runs.
    script(&project.path("ask/tell"), "true");
    let args = ["tool", "write_file", &arguments, "--notify=ask/tell", "--approve", "socket"];
    let run = project.zonekeep(args);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("which agents can write"), "{run}");
    let run = write(&project, &["--notify=no-such-notifier", "--approve", "socket"]);
    assert_eq!(run.exit, 125, "{run}");
}

#[test]
fn sessions_that_begin_later_are_found_and_what_is_left_open_waits() {
    let project = project();
    let Some(mut person) = project.zonekeep_at_terminal(["approve"]) else {
        return skip("no terminal can be made here");
    };
    person.wait_for("waiting for questions");
    let one = Agent::start(&project, "/ask/b.txt", &[]);
    person.wait_for("zonekeep> ");
    person.type_in("y\n");
    assert_eq!(one.end().0, Some(0));
    let two = Agent::start(&project, "/ask/c.txt", &[]);
    person.wait_for("wants to write '/ask/c.txt'");
    person.wait_for("zonekeep> ");
    person.type_in("\x03");
    assert_eq!(person.end().0, 130);
    let id = id_of(&waiting(&project, 1)[0]);
    project.zonekeep(["approve", &id, "yes"]).ok();
    assert_eq!(two.end().0, Some(0));
}

#[test]
fn without_a_terminal_nobody_can_attend() {
    assert_snapshot!(project().zonekeep(["approve"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: there is no terminal to ask on

    hint: `zonekeep approve --list` shows what waits, and `zonekeep approve ID yes` answers
    ");
}

#[test]
fn what_a_killed_session_leaves_is_removed() {
    let project = project();
    let agent = Agent::start(&project, "/ask/a.txt", &[]);
    waiting(&project, 1);
    assert_eq!(sockets(&project).len(), 2, "a socket and its key");
    drop(agent);
    assert_eq!(sockets(&project).len(), 2);
    assert_eq!(project.zonekeep(["approve", "--list"]).ok(), "No question waits.");
    assert!(sockets(&project).is_empty());
    assert_eq!(project.read("ask/a.txt"), "one\n");
}

#[test]
fn sockets_lie_in_the_runtime_directory_where_that_is_private() {
    let project = project();
    let dir = project.beside("run");
    fs::create_dir(&dir).unwrap();
    let where_it_listens = |mode| {
        fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = project.command();
        command.env("XDG_RUNTIME_DIR", &dir).args(["tool", "--approve", "socket"]);
        project.finish(&mut command).stderr
    };
    assert!(
        where_it_listens(0o700).starts_with("zonekeep: questions wait at [TEMP]/run/zonekeep/")
    );
    let said = where_it_listens(0o755);
    assert!(
        said.starts_with("zonekeep: questions wait at [TEMP]/state/zonekeep/approve/"),
        "{said}"
    );
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let zone = format!("sockets={}", dir.display());
    let mut command = project.command();
    command.env("XDG_RUNTIME_DIR", &dir).args(["tool", "--zone", &zone, "--approve", "socket"]);
    let run = project.finish(&mut command);
    assert!(run.exit == 125 && run.stderr.contains("which agents can reach"), "{run}");
}

#[test]
fn another_user_cannot_attach() {
    let runs = |mut other: Command| other.arg(PROGRAM).arg("--version").output().unwrap();
    if !as_nobody().is_some_and(|other| runs(other).status.success()) {
        return skip("needs root, and a program that everybody can run");
    }
    let mut other = as_nobody().unwrap();
    let project = project();
    let _agent = Agent::start(&project, "/ask/a.txt", &[]);
    waiting(&project, 1);
    let socket = sockets(&project).into_iter().find(|path| path.extension().unwrap() == "sock");
    other.arg(PROGRAM).args(["approve", "--list", "--socket"]).arg(socket.unwrap());
    let output = other.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout.is_empty() && said.contains("Permission denied"), "{output:?}");
    assert_eq!(waiting(&project, 1).len(), 1);
}

#[test]
fn a_command_cannot_answer_for_its_agent() {
    let project = project();
    let _agent = Agent::start(&project, "/ask/a.txt", &[]);
    waiting(&project, 1);
    let paths = sockets(&project);
    let key = paths.iter().find(|path| path.extension().unwrap() == "key").unwrap();
    let secret = fs::read_to_string(key).unwrap();
    let outside = Command::new("cat").arg(key).output().unwrap();
    assert_eq!(outside.stdout, secret.as_bytes(), "the control");
    let mut ran = 0;
    for backend in ["namespaces", "bubblewrap", "landlock"] {
        let mut command = project.command();
        command.args(["run", "--backend", backend, "--", "cat"]).arg(key);
        let run = project.finish(&mut command);
        assert!(!run.stdout.contains(&secret) && run.exit != 0, "{backend}: {run}");
        ran += usize::from(run.exit != 125);
    }
    if ran == 0 {
        return skip("no backend works here");
    }
    assert_eq!(waiting(&project, 1).len(), 1, "it still waits");
}
