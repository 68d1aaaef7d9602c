//! Answers that hold for a session, and commands in the background: the library
//! with the program as its launcher.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use zonekeep::approve::{Answer, Callback, Request};
use zonekeep::command::{Confine, JobState, Outcome, Ran, ShellCall};
use zonekeep::confine::tree::Launcher;
use zonekeep::{Error, Sandbox, Session, StateDir, tools};
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw }
    other: { path: ./other, mode: rw }
shell:
  rules:
    - { pattern: 'rm -rf *', approval: blocked }
    - { pattern: 'git push *', approval: ask, grants: { network: true } }
";

type Asked = Arc<Mutex<Vec<Request>>>;

/// Opens a session whose questions are answered by a function.
fn open(
    project: &Project,
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> (Session, Asked) {
    let found = zonekeep::Project::at(&project.path(""), &Default::default()).unwrap();
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let approver = Callback(move |request: &Request| {
        seen.lock().unwrap().push(request.clone());
        answer(request)
    });
    let confine = Confine { launcher: Some(Launcher::at(PROGRAM)), ..Confine::default() };
    let state = StateDir::at(project.state().join("zonekeep"));
    (Session::open_with(&found, &state, approver, confine).unwrap(), asked)
}

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).file("repo/a.txt", "a\n").file("other/b.txt", "b\n")
}

fn run(sandbox: &Sandbox, line: &str) -> Result<Outcome, Error> {
    match sandbox.shell(&ShellCall::new(line))? {
        Ran::Ended(outcome) => Ok(*outcome),
        Ran::Background(_) => panic!("it was not to go on in the background"),
    }
}

fn lines(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().drain(..).map(|request| request.command.unwrap().line).collect()
}

#[test]
fn a_yes_for_a_pattern_covers_what_begins_so_and_nothing_that_does_more() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (session, asked) = open(&project, |request| match request.pattern() {
        Some(pattern) => Answer::yes_for_pattern(pattern),
        None => Answer::no(),
    });
    let sandbox = session.sandbox();
    assert_eq!(run(&sandbox, "echo one").unwrap().stdout, "one\n");
    assert_eq!(lines(&asked), ["echo one"]);
    for line in ["echo two", "echo three; echo four", "echo 5 | echo 6"] {
        run(&sandbox, line).unwrap();
        assert_eq!(lines(&asked), [""; 0], "{line}");
    }
    for line in ["echo x > /repo/f", "echo $HOME", "echo x; rmdir /repo", "A=1 echo x", "(echo x"] {
        assert!(run(&sandbox, line).is_err(), "{line}");
        assert_eq!(lines(&asked), [line], "{line}");
    }
    assert!(run(&sandbox, "echo x; rm -rf /repo").is_err());
    assert_eq!(lines(&asked), [""; 0], "nobody is asked about what is blocked");
    // A yes can be taken back.
    let held = session.remembered();
    assert_eq!(held.len(), 1, "{held:?}");
    assert!(session.revoke(held[0].id));
    run(&sandbox, "echo seven").unwrap();
    assert_eq!(lines(&asked), ["echo seven"]);
}

/// The question shows the directory and the script, so the answer is for these.
#[test]
fn a_yes_for_a_pattern_is_for_one_directory_and_one_script() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project()
        .file("repo/Makefile", "test:\n\t@echo repo\nother:\n\t@echo other target\n")
        .file("other/Makefile", "test:\n\t@echo elsewhere\n");
    let (session, asked) = open(&project, |request| match request.pattern() {
        Some("make test") => Answer::yes_for_pattern("make test"),
        _ => Answer::no(),
    });
    let sandbox = session.sandbox();
    let from = |cwd: &str, line: &str| {
        let call = ShellCall { cwd: Some(cwd.to_owned()), ..ShellCall::new(line) };
        sandbox.shell(&call).map(|_| ()).map_err(|error| error.code().to_owned())
    };
    assert_eq!(from("/repo", "make test"), Ok(()));
    assert_eq!(lines(&asked), ["make test"]);
    assert_eq!(from("/repo", "make test -s"), Ok(()));
    assert_eq!(lines(&asked), [""; 0], "the answer holds where it was given");
    for line in [
        "make -C /other test",
        "make -C../other test",
        "make test --directory=/other",
        "env -C /other make test",
        "cd /other && make test",
        "make other",
    ] {
        assert_eq!(from("/repo", line), Err("declined".to_owned()), "{line}");
        assert_eq!(lines(&asked), [line]);
    }
    assert_eq!(from("/other", "make test"), Ok(()));
    assert_eq!(lines(&asked), ["make test"], "another directory is another question");
}

#[test]
fn a_yes_for_a_command_covers_it_exactly() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (session, asked) = open(&project, |_| Answer::yes_for_session());
    let sandbox = session.sandbox();
    let in_repo = |cwd: &str| ShellCall { cwd: Some(cwd.to_owned()), ..ShellCall::new("ls *") };
    sandbox.shell(&in_repo("/repo")).unwrap();
    sandbox.shell(&in_repo("/repo")).unwrap();
    assert_eq!(lines(&asked).len(), 1);
    sandbox.shell(&in_repo("/other")).unwrap();
    assert_eq!(lines(&asked).len(), 1, "elsewhere it is another command");
    sandbox.shell(&ShellCall { background: true, ..in_repo("/repo") }).unwrap();
    assert_eq!(lines(&asked).len(), 1, "in the background too");
    run(&sandbox, "ls  *").unwrap();
    assert_eq!(lines(&asked).len(), 1, "and written in another way");
}

#[test]
fn a_no_reaches_the_agent_with_its_note() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (session, _) = open(&project, |_| Answer::no_because("use cargo instead"));
    let error = run(&session.sandbox(), "make").unwrap_err();
    assert_eq!(error.code(), "declined");
    assert!(error.to_string().contains("use cargo instead"), "{error}");
}

#[test]
fn a_question_says_what_the_command_would_get() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (session, asked) = open(&project, |_| Answer::no());
    let _ = run(&session.sandbox(), "git push origin main && sort -o /repo/x /repo/a.txt");
    let request = asked.lock().unwrap().pop().unwrap();
    let command = request.command.unwrap();
    assert_eq!(command.network, None, "the second command is not granted it");
    assert_eq!(command.pattern, None, "the second command does more than its name says");
    let texts: Vec<&str> = command.parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["git push origin main", "sort -o /repo/x /repo/a.txt"]);
    assert!(command.parts[0].rule.as_ref().unwrap().contains("zonekeep.yaml:9"), "{command:?}");
    assert!(!command.parts[1].why.is_empty(), "{command:?}");
    let _ = run(&session.sandbox(), "git push origin main");
    let command = asked.lock().unwrap().pop().unwrap().command.unwrap();
    assert_eq!(command.network.as_deref(), Some("all hosts"));
    assert_eq!(command.pattern.as_deref(), Some("git push"));
}

/// What a rule gives is for its command alone: the next one has no network.
#[test]
fn a_grant_is_for_one_command() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = CONFIG.replace("git push *", "python3 *");
    let project = Project::with_config(PROGRAM, &config).dir("repo").dir("other");
    let (session, _) = open(&project, |_| Answer::yes());
    let sandbox = session.sandbox();
    let connect = format!(
        "-c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('out')\""
    );
    let granted = run(&sandbox, &format!("python3 {connect}")).unwrap();
    assert_eq!(granted.stdout, "out\n", "{granted:?}");
    for line in [
        format!("env python3.11 {connect} || env python3 -c 1"),
        format!("python3 {connect}; touch /tmp/x"),
        format!("touch /tmp/x; python3 {connect}"),
    ] {
        let refused = run(&sandbox, &line).unwrap();
        assert!(!refused.stdout.contains("out"), "{line}: {refused:?}");
    }
    // What only looks cannot use it.
    for line in [format!("python3 {connect} | tail -1"), format!("echo x; python3 {connect}")] {
        let granted = run(&sandbox, &line).unwrap();
        assert!(granted.stdout.contains("out"), "{line}: {granted:?}");
    }
}

#[test]
fn background_commands_are_read_listed_signalled_and_stopped() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (session, _) = open(&project, |_| Answer::yes());
    let sandbox = session.sandbox();
    let call = |tool: &str, value: serde_json::Value| {
        tools::call(&sandbox, tool, value).map_or_else(|e| e.to_string(), |output| output.text)
    };
    let line = "trap 'echo caught; exit 3' TERM; echo begun; while :; do sleep 0.05; done";
    let started = call("shell", json!({ "command": line, "background": true }));
    assert!(started.starts_with("Started as job 1."), "{started}");
    zonekeep_testkit::eventually("begun", || {
        call("shell_job", json!({ "action": "read", "job": 1 })).contains("begun").then_some(())
    });
    assert!(call("shell_job", json!({ "action": "list" })).contains("(running)"));
    let sent = call("shell_job", json!({ "action": "signal", "job": 1, "signal": "SIGTERM" }));
    assert_eq!(sent, "Sent TERM to job 1.");
    let read = zonekeep_testkit::eventually("the end", || {
        let read = call("shell_job", json!({ "action": "read", "job": 1 }));
        read.contains("exit status 3").then_some(read)
    });
    assert!(read.starts_with("begun\ncaught\n"), "{read}");
    call("shell", json!({ "command": "sleep 1000", "background": true }));
    assert_eq!(call("shell_job", json!({ "action": "stop", "job": 2 })), "Job 2 is being ended.");
    let job = sandbox.background().wait(2).unwrap();
    assert!(matches!(&job.state, JobState::Ended(outcome) if outcome.failed), "{job:?}");
    for (wrong, says) in [
        (json!({ "action": "read", "job": 9 }), "there is no job 9"),
        (json!({ "action": "read" }), "give the job's number"),
        (json!({ "action": "signal", "job": 1, "signal": "STOPPED" }), "there is no such signal"),
    ] {
        let answer = call("shell_job", wrong.clone());
        assert!(answer.contains(says), "{wrong}: {answer}");
    }
    let long = ShellCall {
        timeout: Some(Duration::from_millis(300)),
        background: true,
        ..ShellCall::new("sleep 1000")
    };
    let Ran::Background(job) = sandbox.shell(&long).unwrap() else { panic!("in the background") };
    let job = sandbox.background().wait(job).unwrap();
    assert!(matches!(&job.state, JobState::Ended(outcome) if outcome.timed_out), "{job:?}");
}

#[test]
fn commands_in_the_background_leave_no_threads() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project();
    let (session, _) = open(&project, |_| Answer::yes());
    let sandbox = session.sandbox();
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim_end() == "zonekeep-job").count()
    };
    let call = ShellCall { background: true, ..ShellCall::new("true") };
    for number in 1..=1_100 {
        let Ran::Background(job) = sandbox.shell(&call).unwrap() else { panic!("{number}") };
        assert_eq!(job, number);
        // All that are running at a time may be.
        if number % 20 == 0 {
            sandbox.background().wait(job);
            zonekeep_testkit::eventually("the others to end", || {
                let jobs = sandbox.background().list();
                jobs.iter().all(|job| job.state != JobState::Running).then_some(())
            });
        }
    }
    assert!(threads() <= 32, "{} threads", threads());
    let jobs = sandbox.background().list();
    assert!(jobs.len() <= 1_021 && sandbox.background().get(1).is_none(), "{}", jobs.len());
    assert_eq!(jobs.last().unwrap().id, 1_100);
}
