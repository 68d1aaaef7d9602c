//! `zonekeep work`, `chat` and `explain worker`, with the real program.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;
use zonekeep_testkit::provider::{Provider, Turn};
use zonekeep_testkit::{PATIENCE, Project, Terminal, eventually, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "\
model: scripted:replies.yaml
sandbox:
  mode: direct
  zones:
    in: { path: ./in, mode: ro }
    out: { path: ./out, mode: rw, approval: { write: preApproved } }
";

const REPLIES: &str = "\
main:
  - say: I look.
    calls:
      - read_file: { path: /in/a.txt }
      - read_file: { path: /etc/passwd }
  - expect: path is outside sandbox
    calls:
      - call_worker: { worker: kid, input: one }
      - write_file: { path: /out/b.txt, content: '{{result}}' }
  - say: 'Done: {{result}}'
kid:
  - say: kid says {{input}}
slow:
  - calls: [{ write_file: { path: /out/1, content: '' } }]
  - calls: [{ write_file: { path: /out/2, content: '' } }]
  - delay: 60s
    say: never
";

const MAIN: &str = "---
name: main
description: Does everything
workers: [kid]
sandbox: { zones: [{ name: in, mode: ro }, { name: out, mode: rw }] }
---
Do it.
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("replies.yaml", REPLIES)
        .file("in/a.txt", "hello\n")
        .dir("out")
        .file("main.worker", MAIN)
        .file("workers/slow.worker", MAIN.replace("name: main", "name: slow"))
        .file("workers/kid.worker", "---\nname: kid\ndescription: A pure function\n---\nKid.\n")
}

/// Leaves out what is different every time.
fn steady(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.contains(" ms: models ") && !line.contains("`zonekeep log"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_is_shown_and_its_answer_printed() {
    let project = project();
    let run = project.zonekeep(["work", "main", "go"]);
    assert_eq!((run.exit, run.stdout.trim()), (0, "Done: kid says one"), "{run}");
    assert_snapshot!(steady(&run.stderr), @r#"
    main (scripted:replies.yaml)
      "I look."
      ok       read_file /in/a.txt
      refused  read_file /etc/passwd
               policy: Cannot access '/etc/passwd': path is outside sandbox.
      kid (scripted:replies.yaml)
      ok       call_worker kid
      ok       write_file /out/b.txt

    4 calls, 1 refused or held back: policy 1
    no commands: 0 bytes out
    125 tokens read, 48 written
    "#);
    assert_eq!(project.read("out/b.txt"), "hello\n");
}

#[test]
fn events_are_lines_of_json() {
    let run = project().zonekeep(["work", "main", "go", "--json"]);
    assert_eq!((run.exit, run.stderr.as_str()), (0, ""), "{run}");
    let events: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(&kinds[kinds.len() - 2..], ["ended", "report"]);
    let refused: Vec<_> = events.iter().filter(|e| e["refused_by"] == "policy").collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0]["code"], "outside");
    let report = events.last().unwrap();
    assert_eq!((&report["calls"], &report["refused"]["policy"]), (&4.into(), &1.into()));
    assert!(events.iter().any(|e| e["worker"] == "kid" && e["depth"] == 1));
}

#[test]
fn workers_are_listed_with_what_they_would_get() {
    let project = project()
        .file(
            "workers/greedy.worker",
            "---\nname: greedy\nsandbox: { zones: [{ name: in, mode: rw }] }\n---\nX\n",
        )
        .file("workers/broken.worker", "---\nnom: broken\n---\nX\n");
    let run = project.zonekeep(["work", "--list"]);
    assert_snapshot!(run.ok(), @"
    main (main.worker)
      Does everything
      directories: /in (ro), /out (rw)
      tools: read_file, write_file, edit_file, list_files, search_files, delete_file, move_file, copy_file, file_info, read_many, tree, shell, shell_job, call_worker
      calls: kid
    workers/broken.worker
      cannot be used: [TEMP]/project/workers/broken.worker has 2 problem(s)
    greedy (workers/greedy.worker)
      cannot run: Child requests 'rw' on 'in' but parent only has 'ro'
    kid (workers/kid.worker)
      A pure function
      directories: none: a pure function
      tools: none
      calls: no worker
    slow (workers/slow.worker)
      Does everything
      directories: /in (ro), /out (rw)
      tools: read_file, write_file, edit_file, list_files, search_files, delete_file, move_file, copy_file, file_info, read_many, tree, shell, shell_job, call_worker
      calls: kid
    ");
    let list: Value =
        serde_json::from_str(project.zonekeep(["work", "--list", "--json"]).ok()).unwrap();
    assert_eq!(list[0]["grant"]["zones"][1]["mode"], "rw");
    assert_eq!(list[2]["error"], "Child requests 'rw' on 'in' but parent only has 'ro'");
}

#[test]
fn a_call_is_explained() {
    let project = project().file(
        "workers/greedy.worker",
        "---\nname: greedy\nsandbox: { zones: [{ name: in, mode: rw }] }\n---\nX\n",
    );
    assert_snapshot!(project.zonekeep(["explain", "worker", "kid", "--from", "main"]).ok(), @"
    call kid from main: allowed
      no directories: a pure function
      tools:    none
      network:  none
      workers:  none
    ");
    let json = |args: &[&str]| -> Value {
        let all = ["explain", "worker", "--json"].into_iter().chain(args.iter().copied());
        serde_json::from_str(project.zonekeep(all).ok()).unwrap()
    };
    let main = json(&["main"]);
    assert_eq!(main["verdict"], "allow");
    assert_eq!(
        (&main["grant"]["zones"][0]["name"], &main["grant"]["zones"][0]["mode"]),
        (&"in".into(), &"ro".into())
    );
    let greedy = json(&["greedy"]);
    assert_eq!(
        (&greedy["verdict"], &greedy["error"]),
        (&"deny".into(), &"Child requests 'rw' on 'in' but parent only has 'ro'".into())
    );
    // It is not among those that main may call.
    let greedy = json(&["greedy", "--from", "main"]);
    assert_eq!(greedy["verdict"], "deny");
    assert!(greedy["error"].as_str().unwrap().contains("may not call"), "{greedy}");
    assert_eq!(json(&["main", "--from", "kid"])["verdict"], "deny");
    assert_eq!(project.zonekeep(["explain", "worker", "nobody"]).exit, 2);
}

#[test]
fn what_is_missing_is_said() {
    let project = project();
    let stderr = |args: &[&str]| {
        let run = project.zonekeep(args);
        format!("{}: {}", run.exit, run.stderr.lines().next().unwrap_or_default())
    };
    let cases: [(&[&str], &str); 9] = [
        (&["work"], "2: error: no worker is named"),
        (
            &["work", "nobody", "x"],
            "2: error: there is no worker 'nobody'; this project has kid, main, slow",
        ),
        (
            &["work", "../main.worker", "x"],
            "2: error: '../main.worker' is not a worker file of this project",
        ),
        (&["work", "main"], "2: error: the worker 'main' needs an input"),
        (
            &["work", "main", "x", "--model", "nobody:x"],
            "2: error: the model 'nobody:x' is not known",
        ),
        (
            &["work", "main", "x", "--model", "openai:x"],
            "1: error: the model 'openai:x' needs a key in the environment variable OPENAI_API_KEY",
        ),
        (
            &["work", "main", "x", "--attach", "/etc/passwd"],
            "1: error: Cannot access '/etc/passwd': path is outside sandbox.",
        ),
        (&["work", "--resume", "00"], "2: error: there is no run of session '00' to go on with"),
        (&["work", "main", "x", "--time", "soon"], "2: error: --time cannot be 'soon'"),
    ];
    for (args, want) in cases {
        assert!(stderr(args).starts_with(want), "{args:?}: {}", stderr(args));
    }
    assert_eq!(project.zonekeep(["work", "./main.worker", "go"]).exit, 0);
}

#[test]
fn a_conversation_goes_on_line_by_line() {
    let replies = "chatty: [{ say: 'one {{input}}' }, { say: two }, { say: three }]\n";
    let project = project()
        .file("chat.yaml", replies)
        .file("chatty.worker", "---\nname: chatty\nmode: chat\n---\nTalk.\n");
    let args = ["chat", "chatty", "--model", "scripted:chat.yaml"];
    let run = project.zonekeep_with_input(args, "hello\nand?\n\nnever\n");
    assert_eq!((run.exit, run.stdout.as_str()), (0, "one hello\ntwo\n"), "{run}");
    let session =
        run.stderr.split("session ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    let run =
        project.zonekeep(["work", "--resume", &session, "--model", "scripted:chat.yaml", "more"]);
    assert_eq!((run.exit, run.stdout.as_str()), (0, "three\n"), "{run}");
}

/// Starts `slow` and waits until it has done its second turn.
fn started(project: &Project) -> (Child, impl Iterator<Item = String>) {
    let mut command = project.command();
    command.args(["work", "slow", "go", "--json"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let turns = lines.by_ref().filter(|line| line.contains("\"event\":\"turn\""));
    assert_eq!(turns.take(3).count(), 3);
    (child, lines)
}

fn session_of(project: &Project) -> String {
    let lines = project.log_lines();
    let record: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    record["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_killed_run_leaves_a_record_and_can_go_on() {
    let project = project();
    let (mut child, _lines) = started(&project);
    child.kill().unwrap();
    child.wait().unwrap();
    let session = session_of(&project);
    let work = project.zonekeep(["log", "--session", &session, "--json"]);
    let records: Vec<Value> = work.ok().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&records[0]["action"], &records[0]["outcome"]), (&"work".into(), &"begun".into()));
    assert_eq!(records.len(), 3);
    // Nothing is done again; the reply that it waited for comes now.
    std::fs::remove_file(project.path("out/1")).unwrap();
    project.put(
        "replies.yaml",
        REPLIES.replace("delay: 60s", "delay: 1ms").replace("never", "at last"),
    );
    let run = project.zonekeep(["work", "--resume", &session]);
    assert_eq!((run.exit, run.stdout.trim()), (0, "at last"), "{run}");
    assert!(!project.exists("out/1"));
    let run = project.zonekeep(["work", "--resume", &session_of(&project)]);
    assert_eq!(run.exit, 2, "{run}");
}

/// Returns how many processes run this command line.
fn running(line: &[u8]) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|other| other == line).count()
}

#[test]
fn a_killed_run_leaves_no_process() {
    let replies = "main: [{ call: { shell: { command: exec sleep 271828, timeout: 600 } } }]\n";
    let project = project().file("replies.yaml", replies);
    let mut command = project.command();
    command.args(["work", "main", "go", "--approve", "all", "--json"]).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let line = b"sleep\x00271828\0";
    let begun = eventually("the command to run", || match child.try_wait().unwrap() {
        Some(_) => Some(false),
        None => (running(line) > 0).then_some(true),
    });
    if !begun {
        return skip("no command can be run here");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("nothing to be left", || (running(line) == 0).then_some(()));
}

#[test]
fn ctrl_c_stops_a_run_and_the_record_says_so() {
    let project = project();
    let (mut child, lines) = started(&project);
    let begun = Instant::now();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < PATIENCE.min(Duration::from_secs(30)));
    assert_eq!(status.code(), Some(130));
    assert!(lines.last().unwrap().contains("\"event\":\"report\""));
    let last: Value = serde_json::from_str(project.log_lines().last().unwrap()).unwrap();
    assert_eq!((&last["action"], &last["code"]), (&"work".into(), &"stopped".into()));
}

/// Starts something at a terminal that runs `sleep` for so many seconds, and waits
/// until it does. `None` where that cannot be.
fn sleeping_at_terminal(project: &Project, args: &[&str], seconds: &str) -> Option<Terminal> {
    let model = ["--approve", "all", "--model", "scripted:sleeps.yaml"];
    let command = format!("exec sleep {seconds}");
    let call = format!("[{{ call: {{ shell: {{ command: {command}, timeout: 600 }} }} }}]");
    project.put("sleeps.yaml", format!("main: {call}\n"));
    let Some(mut terminal) = project.zonekeep_at_terminal(args.iter().chain(&model)) else {
        skip("there is no way to make a terminal");
        return None;
    };
    if args[0] == "chat" {
        terminal.wait_for("main> ");
        terminal.type_in("go\n");
    }
    let line = format!("sleep\0{seconds}\0");
    let begun = eventually("the command to run", || {
        // What cannot run a command says so, and there is no other reply.
        let over = terminal.screen().contains("tokens read");
        (over || running(line.as_bytes()) > 0).then_some(!over)
    });
    if !begun {
        skip("no command can be run here");
    }
    begun.then_some(terminal)
}

#[test]
fn at_a_terminal_a_run_ends_with_its_report_too() {
    let cases: [(&[&str], &str, Option<&str>); 4] = [
        (&["work", "main", "go"], "314151", None),
        (&["work", "main", "go"], "314152", Some("INT")),
        (&["work", "main", "go"], "314153", Some("TERM")),
        (&["chat", "main"], "314154", None),
    ];
    for (args, seconds, signal) in cases {
        let project = project();
        let Some(mut terminal) = sleeping_at_terminal(&project, args, seconds) else { return };
        match signal {
            None => terminal.type_in("\x03"),
            Some(signal) => {
                let pid = terminal.pid().to_string();
                let sent = std::process::Command::new("kill").args(["-s", signal, &pid]).status();
                assert!(sent.unwrap().success());
            }
        }
        let (exit, _, screen) = terminal.end();
        assert_eq!(exit, 130, "{args:?} {signal:?}: {screen}");
        assert!(screen.contains("tokens read") && screen.contains("session "), "{screen}");
        let last: Value = serde_json::from_str(project.log_lines().last().unwrap()).unwrap();
        assert_eq!((&last["action"], &last["code"]), (&"work".into(), &"stopped".into()), "{last}");
        let line = format!("sleep\0{seconds}\0");
        eventually("nothing to be left", || (running(line.as_bytes()) == 0).then_some(()));
    }
}

#[test]
fn ctrl_c_ends_a_conversation_that_waits_for_its_user() {
    let project = project();
    let Some(mut terminal) = project.zonekeep_at_terminal(["chat", "kid"]) else {
        return skip("there is no way to make a terminal");
    };
    terminal.wait_for("kid> ");
    terminal.type_in("hello\n");
    terminal.wait_for("kid says hello");
    terminal.wait_for("kid> ");
    terminal.type_in("\x03");
    let (exit, _, screen) = terminal.end();
    assert_eq!(exit, 130, "{screen}");
    assert!(screen.contains("tokens read") && screen.contains("session "), "{screen}");
}

#[test]
fn a_reader_that_goes_away_stops_a_run() {
    let project = project();
    let (mut child, lines) = started(&project);
    drop(lines);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // Nothing is printed until somebody says something.
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: Value = serde_json::from_str(project.log_lines().last().unwrap()).unwrap();
    assert_eq!((&last["action"], &last["code"]), (&"work".into(), &"stopped".into()));
}

#[test]
fn a_real_protocol_works_from_end_to_end() {
    let project = project();
    for provider in
        [Provider::anthropic(turns()), Provider::openai(turns()), Provider::gemini(turns())]
    {
        let mut command = project.command();
        for (name, value) in provider.environment() {
            command.env(name, value);
        }
        command.args(["work", "main", "go", "--model", &provider.model()]);
        let run = project.finish(&mut command);
        assert_eq!((run.exit, run.stdout.trim()), (0, "It says hello."), "{run}");
        assert_eq!(provider.requests().len(), 2);
        let second = provider.requests()[1].body.to_string();
        assert!(second.contains("hello") && second.contains("path is outside sandbox"), "{second}");
    }
}

/// What the model says comes over no path: a command that could write where `TMPDIR`
/// leads could put a socket of its own there, and speak as the model.
#[test]
fn a_model_is_heard_without_any_file_of_ours() {
    let project = project().dir("out/tmp");
    for tmp in [project.path("out/tmp"), project.path("nowhere")] {
        let provider = Provider::openai(turns());
        let mut command = project.command();
        for (name, value) in provider.environment() {
            command.env(name, value);
        }
        command.env("TMPDIR", &tmp);
        command.args(["work", "main", "go", "--model", &provider.model()]);
        let run = project.finish(&mut command);
        assert_eq!((run.exit, run.stdout.trim()), (0, "It says hello."), "{run}");
    }
}

fn turns() -> Vec<Turn> {
    vec![
        Turn::calls([
            ("read_file", serde_json::json!({ "path": "/in/a.txt" })),
            ("read_file", serde_json::json!({ "path": "/etc/passwd" })),
        ]),
        Turn::text("It says hello."),
    ]
}

/// Trusts the project's file, which passes on variables.
fn trust(project: &Project) {
    let state = zonekeep::StateDir::at(project.state().join("zonekeep"));
    let file = zonekeep::Project::at(&project.path(""), &Default::default()).unwrap();
    let reach = zonekeep::Session::reach(&file, &state).unwrap();
    zonekeep::trust::TrustStore::new(&state).trust(&file, &reach).unwrap();
}

#[test]
fn no_command_gets_a_key() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let config = format!("{CONFIG}  pass_env: [OPENAI_API_KEY, OTHER]\n");
    let project = project().file("zonekeep.yaml", config).file(
        "replies.yaml",
        "main: [{ call: { shell: { command: 'echo [$OPENAI_API_KEY] [$OTHER]' } } }, { say: '{{result}}' }]\n",
    );
    let run = |args: &[&str]| {
        let mut command = project.command();
        command.env("OPENAI_API_KEY", "sesame").env("OTHER", "open").args(args);
        project.finish(&mut command)
    };
    trust(&project);
    // The control: a command that the user starts gets what the file passes on.
    let shell = "echo [$OPENAI_API_KEY] [$OTHER]";
    let control = run(&["run", "--", "sh", "-c", shell]);
    if control.stderr.contains("unavailable") {
        return skip("no command can be run here");
    }
    assert_eq!(control.stdout.trim(), "[sesame] [open]", "{control}");
    let worked = run(&["work", "main", "go", "--approve", "all"]);
    assert!(worked.stdout.starts_with("[] [open]\n"), "{worked}");
}
