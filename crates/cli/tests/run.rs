//! `zonekeep run`: commands in the sandbox, by the real program.
//!
//! What only a terminal shows is in `run_terminal.rs`, and what well-known
//! programs need in `run_programs.rs`.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;
use zonekeep_testkit::{Project, Run, Stopped, eventually, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw }
  working_dir: /output
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("in/a.txt", "input\n")
        .file("out/b.txt", "output\n")
        .file("secret.txt", "secret\n")
}

/// Runs a shell script in the sandbox.
fn sh(project: &Project, flags: &[&str], script: &str) -> Run {
    project.zonekeep(["run"].iter().chain(flags).chain(&["--", "sh", "-c", script]))
}

fn has_own_tree(project: &Project) -> bool {
    let run = project.zonekeep(["doctor", "--json"]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let backend = value["examined"]["backend"].as_str().unwrap_or_default();
    matches!(backend, "namespaces" | "bubblewrap")
}

fn records(project: &Project) -> Vec<Value> {
    project.log_lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_exit_status_is_the_commands_own() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project().file("out/plain", "echo no\n");
    let cases = [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 42", 42),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
    ];
    for (script, status) in cases {
        let run = sh(&project, &[], script);
        assert_eq!(run.exit, status, "{script}: {run}");
        assert_eq!(run.stderr, "", "{script}");
    }
    let missing = project.zonekeep(["run", "--", "no-such-program"]);
    assert_snapshot!(missing.to_string(), @"
    exit 127
    --- stdout

    --- stderr
    zonekeep: no-such-program: command not found
    ");
    let denied = project.zonekeep(["run", "--", "/output/plain"]);
    assert_snapshot!(denied.to_string(), @"
    exit 126
    --- stdout

    --- stderr
    zonekeep: /output/plain: cannot be run
    ");
    assert_eq!(project.zonekeep(["run", "--", "/output"]).exit, 126);
    assert_eq!(project.zonekeep(["run", "--", "/output/b.txt/x"]).exit, 127);
    let run = project.zonekeep(["run", "--", ""]);
    assert_eq!(run.exit, 127, "{run}");
    assert_eq!(project.zonekeep(["run", "--"]).exit, 2);
    assert_eq!(project.zonekeep(["run", "--timeout", "soon", "--", "true"]).exit, 2);
}

#[test]
fn standard_input_output_and_error_pass_through() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let run = sh(&project, &[], "echo out; echo err >&2");
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("out\n", "err\n"));

    let size = 10 * 1024 * 1024;
    let mut command = project.command();
    command.args(["run", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let line: Vec<u8> = (0..=255).collect();
        for _ in 0..size / line.len() {
            input.write_all(&line).unwrap();
        }
    });
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(output.len(), size);
    assert!(output.chunks(256).all(|line| line.iter().copied().eq(0..=255)), "as it was sent");

    // What reads no further does not keep the caller.
    let run = project.zonekeep_with_input(["run", "--", "head", "-c", "5"], "hello there");
    assert_eq!(run.ok(), "hello");
    let run = project.zonekeep_with_input(["run", "--", "sh", "-c", "exec <&-; echo done"], "");
    assert_eq!(run.ok(), "done");
}

#[test]
fn closed_descriptors_do_no_harm() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!("exec \"$0\" run -- sh -c 'cat; echo x > /output/c' {closed}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(PROGRAM);
        project.prepare(&mut command);
        let run = project.finish(&mut command);
        assert_eq!(run.exit, 0, "{closed}: {run}");
        assert_eq!(project.read("out/c"), "x\n", "{closed}");
        std::fs::remove_file(project.path("out/c")).unwrap();
    }
    // Descriptors of the caller are the caller's.
    let mut command = Command::new("sh");
    let script = "exec 7<secret.txt \"$0\" run -- sh -c 'cat <&7'";
    command.args(["-c", script]).arg(PROGRAM);
    project.prepare(&mut command);
    let run = project.finish(&mut command);
    assert!(run.exit != 0 && run.stdout.is_empty(), "{run}");
}

#[test]
fn where_nobody_reads_what_is_said_the_exit_status_is_the_same() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let status = |args: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        project.command().args(args).stderr(writer).status().unwrap().code()
    };
    // This has something to say when the command has ended.
    let ended = status(&["run", "--", "sh", "-c", "sleep 1000 & exit 3"]);
    assert_eq!(ended, Some(3));
    let refused = project.zonekeep(["run", "--project", "/nowhere", "--", "true"]);
    assert_eq!(status(&["run", "--project", "/nowhere", "--", "true"]), Some(refused.exit));
}

#[test]
fn the_environment_is_the_one_that_was_built() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let run = |flags: &[&str]| {
        let mut command = project.command();
        command.env("MY_SECRET", "hunter2").env("LD_PRELOAD", "").env("ZK_PASSED", "passed");
        command.arg("run").args(flags).args(["--", "env"]);
        project.finish(&mut command)
    };
    let plain = run(&[]);
    assert!(!plain.ok().contains("hunter2") && !plain.stdout.contains("ZK_PASSED"), "{plain}");
    let names: Vec<&str> = plain.ok().lines().filter_map(|l| l.split('=').next()).collect();
    for name in ["HOME", "PATH", "PWD", "USER"] {
        assert!(names.contains(&name), "{name} in {plain}");
    }
    assert!(!plain.stdout.contains("[TEMP]"), "no host path is told: {plain}");
    let more = run(&["--set", "sandbox.pass_env=[ZK_PASSED]", "--set", "sandbox.env={ZK_SET: v}"]);
    assert!(more.ok().lines().any(|line| line == "ZK_PASSED=passed"), "{more}");
    assert!(more.ok().lines().any(|line| line == "ZK_SET=v"), "{more}");
    assert!(!more.stdout.contains("hunter2"), "{more}");
    let home = run(&["--set", "sandbox.env={HOME: /nowhere}"]);
    assert!(!home.stdout.contains("HOME=/nowhere"), "{home}");
}

#[test]
fn zones_are_where_and_what_the_file_says() {
    let project = project();
    if !has_own_tree(&project) {
        return skip("zones have names of their own only in a tree of its own");
    }
    let run = sh(&project, &[], "pwd; ls /input /output; cat /input/a.txt; echo x > new");
    assert_eq!(run.ok(), "/output\n/input:\na.txt\n\n/output:\nb.txt\ninput");
    assert_eq!(project.read("out/new"), "x\n");
    let run = sh(&project, &[], "echo x > /input/a.txt");
    assert!(run.exit != 0, "{run}");
    assert_eq!(project.read("in/a.txt"), "input\n");
    let secret = project.path("secret.txt");
    let run = sh(&project, &[], &format!("cat {}", secret.display()));
    assert!(run.exit != 0 && run.stdout.is_empty(), "{run}");
    let zone = format!("more={}:rw", project.path("more").display());
    std::fs::create_dir(project.path("more")).unwrap();
    sh(&project, &["--zone", &zone], "echo y > /more/y").ok();
    assert_eq!(project.read("more/y"), "y\n");
}

#[test]
fn a_directory_can_be_placed_at_its_own_path() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = Project::new(PROGRAM).file("a.txt", "a\n").dir("sub").dir("other");
    let run = sh(&project, &["--rw", "."], "pwd; cat a.txt; echo new > b.txt");
    assert_eq!(run.ok(), "[TEMP]/project\na");
    assert_eq!(project.read("b.txt"), "new\n");
    // The command starts where its caller is, as far as that is granted.
    let run = project.zonekeep_in("sub", ["run", "--rw", "..", "--", "pwd"]);
    assert_eq!(run.ok(), "[TEMP]/project/sub");
    let run = project.zonekeep_in("sub", ["run", "--rw", "../other", "--", "pwd"]);
    assert_eq!(run.ok(), "[TEMP]/project/other");
    let run = sh(&project, &["--ro", "."], "cat a.txt; echo x > a.txt");
    assert!(run.exit != 0 && run.stdout == "a\n", "{run}");
    assert_eq!(project.read("a.txt"), "a\n");
    let run = sh(&project, &["--ro", ".", "--rw", "sub"], "echo x > sub/x && ! echo x > y");
    assert_eq!(run.exit, 0, "{run}");
    assert!(project.exists("sub/x") && !project.exists("y"), "{run}");
    let run = sh(&project, &["--rw", ".", "--ro", "other"], "echo x > y && ! echo x > other/x");
    assert_eq!(run.exit, 0, "{run}");
    assert!(project.exists("y") && !project.exists("other/x"), "{run}");
    // Landlock allows what a directory above allows: that is not good enough.
    let flags = ["--backend", "landlock", "--rw", ".", "--ro", "other"];
    let run = sh(&project, &flags, "echo x > other/x");
    assert_eq!(run.exit, 125, "{run}");
    assert!(!project.exists("other/x"), "{run}");
}

#[test]
fn the_users_home_is_not_there() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let key = project.beside("home/.ssh/id_rsa");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "key\n").unwrap();
    for flags in [&[][..], &["--rw", "out"]] {
        let run = sh(&project, flags, &format!("cat {0}; ls -d {0}", key.display()));
        assert!(run.exit != 0 && run.stdout.is_empty(), "{flags:?}: {run}");
        let run = sh(&project, flags, "cd; ls -A; echo x > mine && cat mine");
        assert_eq!(run.ok().lines().last(), Some("x"), "a home of its own: {run}");
        assert!(!run.stdout.contains(".ssh"), "{run}");
    }
    assert!(!project.beside("home/mine").exists());
}

#[test]
fn directories_that_hold_too_much_are_refused() {
    let project = project();
    std::fs::create_dir_all(project.beside("home/.ssh")).unwrap();
    let home = project.beside("home");
    let ssh = project.beside("home/.ssh");
    for dir in [home.to_str().unwrap(), "/", "/etc", ssh.to_str().unwrap(), "no-such-dir"] {
        let run = project.zonekeep(["run", "--rw", dir, "--", "true"]);
        assert_eq!(run.exit, 125, "{dir}: {run}");
        assert!(run.stderr.starts_with("error: "), "{dir}: {run}");
    }
    let run = project.zonekeep(["run", "--rw", home.to_str().unwrap(), "--", "true"]);
    assert_snapshot!(run.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: zone '[TEMP]/home': [TEMP]/home is a home directory, or holds one

    hint: name a directory below it that holds only what the agent needs (--rw)
    ");
    let project = project.dir(".git");
    let run = project.zonekeep(["run", "--rw", ".git", "--", "true"]);
    assert!(run.stderr.contains("hint: give --ro; or, to let"), "{run}");
}

#[test]
fn there_is_no_network_but_a_loopback_of_its_own() {
    let project = project();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = project.zonekeep([
        "run",
        "--",
        "bash",
        "-c",
        &format!("echo x > /dev/tcp/127.0.0.1/{port}"),
    ]);
    assert!(run.exit != 0, "{run}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody has come");
    if !has_own_tree(&project) {
        return skip("there is a loopback of its own only with a network of its own");
    }
    let script = "use IO::Socket::INET; my $l = IO::Socket::INET->new(Listen => 1, \
                  LocalAddr => '127.0.0.1') or die 'listen'; my $c = IO::Socket::INET->new( \
                  PeerAddr => '127.0.0.1', PeerPort => $l->sockport) or die 'connect'; \
                  print $c \"hello\\n\"; close $c; my $s = $l->accept; print <$s>;";
    let run = project.zonekeep(["run", "--", "perl", "-e", script]);
    match run.exit {
        127 => skip("there is no perl"),
        _ => assert_eq!(run.ok(), "hello"),
    }
}

#[test]
fn without_an_os_sandbox_a_command_runs_only_where_that_is_allowed() {
    let project = project();
    let run = project.zonekeep(["run", "--backend", "none", "--", "echo", "hi"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    hi
    --- stderr
    zonekeep: This command ran without an operating-system sandbox.
    ");
    let required = ["--set", "sandbox.require_os_sandbox=true", "--backend", "none"];
    let run = sh(&project, &required, "echo hi");
    assert_snapshot!(run.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: OS sandbox required but unavailable
      none: it is no OS sandbox

    hint: `zonekeep doctor` shows what this machine offers, and what would raise it
    ");
    if has_own_tree(&project) {
        let run = sh(&project, &["--strict", "--backend", "namespaces"], "echo hi");
        assert!(run.exit == 125 || run.stdout == "hi\n", "{run}");
    }
    let run = sh(&project, &["--strict", "--backend", "none"], "echo hi");
    assert_eq!((run.exit, run.stdout.as_str()), (125, ""), "{run}");
    let run = sh(&project, &["--strict", "--backend", "landlock"], "echo hi");
    assert_eq!((run.exit, run.stdout.as_str()), (125, ""), "{run}");
    let run = sh(&project, &["--backend", "sorcery"], "echo hi");
    assert_eq!((run.exit, run.stdout.as_str()), (2, ""), "{run}");
    // What is not on this machine is not replaced by something weaker.
    let run = sh(&project, &["--backend", "seatbelt"], "echo hi");
    assert_eq!((run.exit, run.stdout.as_str()), (125, ""), "{run}");
}

#[test]
fn limits_end_what_goes_beyond() {
    let project = project();
    if !has_own_tree(&project) {
        return skip("limits of private files need a tree of its own");
    }
    let run = sh(&project, &["--limit", "file_size=1M"], "head -c 2000000 /dev/zero > big");
    assert!(run.exit != 0, "{run}");
    assert!(std::fs::metadata(project.path("out/big")).unwrap().len() <= 1 << 20);
    let run = sh(&project, &["--limit", "tmp=4M"], "head -c 8000000 /dev/zero > /tmp/big");
    assert!(run.exit != 0 && run.stderr.contains("No space left"), "{run}");
    let script = "my $x = 'x' x 300_000_000; print length $x";
    let keeps = &script.replace("print", "sleep 600; print");
    let run = project.zonekeep(["run", "--limit", "memory=100M", "--", "perl", "-e", keeps]);
    assert!(run.exit != 0 && run.stdout.is_empty(), "{run}");
    assert!(run.exit == 127 || run.stderr.contains("it used more memory than"), "{run}");
    let run = project.zonekeep(["run", "--limit", "memory=1G", "--", "perl", "-e", script]);
    if run.exit != 127 {
        assert_eq!(run.ok(), "300000000");
    }
    // The kernel itself ends this one.
    for limit in ["cpu_time=1s", "cpu_time=2s"] {
        let run = sh(&project, &["--limit", limit], "while :; do :; done");
        assert!(run.exit > 128, "{run}");
        assert!(run.stderr.contains("it used more processor time than"), "{limit}: {run}");
    }
    assert_eq!(sh(&project, &["--limit", "sorcery=1"], "true").exit, 2);
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let begun = Instant::now();
    let run = sh(&project, &["--timeout", "300ms"], "echo begun; sleep 600; echo no");
    assert_snapshot!(run.to_string(), @"
    exit 124
    --- stdout
    begun
    --- stderr
    zonekeep: The command was ended because it ran longer than 300 ms.
    ");
    assert!(begun.elapsed() < Duration::from_secs(300));
    // Stopping does not stop the clock.
    let run = sh(&project, &["--timeout", "500ms"], "kill -STOP $$; echo no");
    assert_eq!((run.exit, run.stdout.as_str()), (124, ""), "{run}");
    let file = CONFIG.replace("  working_dir", "  limits: { time: 300ms }\n  working_dir");
    let project = Project::with_config(PROGRAM, &file).dir("in").dir("out");
    assert_eq!(sh(&project, &[], "sleep 60").exit, 124);
    assert_eq!(sh(&project, &["--timeout", "1h"], "sleep 60").exit, 124, "flags only tighten");
}

#[test]
fn a_command_with_too_many_processes_ends_as_if_killed() {
    let project = project();
    if !has_own_tree(&project) {
        return;
    }
    // The shell ends with a status of its own, which would be that of wrong usage.
    let script = "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait";
    let run = sh(&project, &["--limit", "processes=5"], script);
    assert_eq!(run.exit, 137, "{run}");
    assert!(run.stderr.contains("it reached its limit of 5 processes"), "{run}");
    let args = ["run", "--json", "--limit", "processes=5", "--", "sh", "-c", script];
    let run = project.zonekeep(args);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.exit, &value["status"], &value["over"]),
        (137, &137.into(), &"processes".into())
    );
}

#[test]
fn a_worker_file_narrows() {
    let worker = "---\nname: w\nsandbox: { zones: [{ name: output, mode: ro }] }\n---\nRead.\n";
    let project = project().file("w.worker", worker);
    if !has_own_tree(&project) {
        return skip("zones have names of their own only in a tree of its own");
    }
    let flags = ["--worker", "w.worker"];
    let run = sh(&project, &flags, "cat /output/b.txt; ls /input");
    assert!(run.exit != 0 && run.stdout == "output\n", "{run}");
    let run = sh(&project, &flags, "echo x > /output/b.txt");
    assert!(run.exit != 0, "{run}");
    assert_eq!(project.read("out/b.txt"), "output\n");
    let more = "---\nname: w\nsandbox: { zones: [{ name: input, mode: rw }] }\n---\nWrite.\n";
    project.put("w.worker", more);
    let run = sh(&project, &flags, "true");
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("'input'"), "{run}");
}

#[test]
fn a_place_that_is_another_one_or_gone_by_now_is_refused() {
    for then in ["mv b a", "true"] {
        let project = Project::new(PROGRAM).dir("a").dir("b");
        // The launcher is a program that swaps the directory when it has its
        // orders, and then goes on.
        let wait = "for i in {1..2000}; do read -t 0 && break; sleep 0.01; done";
        let script = format!("{wait}; mv a gone; {then}\nexec -a zonekeep-launcher '{PROGRAM}'\n");
        project.put("swap", format!("#!/bin/bash\nPATH=/usr/bin:/bin; exec 2>/dev/null\n{script}"));
        let swap = project.path("swap");
        std::fs::set_permissions(&swap, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = project.command();
        command.env("ZONEKEEP_LAUNCHER", &swap).args(["run", "--rw", "a", "--", "touch", "x"]);
        let run = project.finish(&mut command);
        assert_eq!((run.exit, run.stdout.as_str()), (125, ""), "{run}");
        assert!(!project.exists("a/x") && !project.exists("gone/x"), "{run}");
    }
}

#[test]
fn what_ran_is_on_record() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    sh(&project, &[], "exit 3");
    let records = records(&project);
    let outcomes: Vec<_> = records.iter().map(|r| r["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["begun", "done"]);
    let done = &records[1];
    assert_eq!(done["id"], records[0]["id"]);
    assert_eq!(done["tool"], "run");
    assert_eq!(done["run"]["command"], "sh -c 'exit 3'");
    assert_eq!(done["run"]["exit_code"], 3);
    assert!(done["run"]["backend"].is_string(), "{done}");

    sh(&project, &["--timeout", "200ms"], "sleep 9");
    project.zonekeep(["run", "--", "no-such-program"]);
    sh(&project, &["--strict", "--backend", "none"], "true");
    let log = project.zonekeep(["log", "--tool", "run"]);
    let lines: Vec<String> = log
        .ok()
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split("  ").skip(2).collect();
            let line = words.join("  ");
            line.replace("by namespaces", "by [B]").replace("by bubblewrap", "by [B]")
        })
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    allow done    run sh -c 'exit 3'  exit 3  by [B]
    allow done    run sh -c 'sleep 9'  over time  signal 9  by [B]
    allow done    run no-such-program  exit 127  by [B]
    allow not_started run sh -c true unconfined
    ");
    let json = project.zonekeep(["log", "--tool", "run", "--json", "-n", "1"]);
    let last: Value = serde_json::from_str(json.ok()).unwrap();
    assert_eq!((&last["outcome"], &last["code"]), (&"not_started".into(), &"unconfined".into()));
}

#[test]
fn what_cannot_be_recorded_does_not_run() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if is_root() && !std::path::Path::new("/dev/full").exists() {
        return skip("the superuser writes everywhere, and there is no /dev/full");
    }
    let project = project();
    sh(&project, &[], "true").ok();
    let audit = project.state().join("zonekeep/audit");
    let log = std::fs::read_dir(&audit).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink("/dev/full", &log).unwrap();
    let run = sh(&project, &[], "echo x > /output/ran");
    assert_eq!((run.exit, run.stdout.as_str()), (125, ""), "{run}");
    assert!(!project.exists("out/ran"), "{run}");
}

#[test]
fn nothing_is_left_of_a_command() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let run = sh(&project, &[], "sleep 4242 & setsid sleep 4243 & echo done");
    assert_eq!(run.ok(), "done");
    assert!(run.stderr.contains("left running in the background"), "{run}");
    let left = |seconds: &str| {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
        lines.filter(|line| *line == format!("sleep\0{seconds}\0").as_bytes()).count()
    };
    assert_eq!((left("4242"), left("4243")), (0, 0));

    // A killed caller leaves nothing either.
    let mut command = project.command();
    command.args(["run", "--", "sh", "-c", "echo begun; sleep 4244"]).stdout(Stdio::piped());
    let mut child = Stopped(command.spawn().unwrap());
    let mut begun = [0; 6];
    child.0.stdout.take().unwrap().read_exact(&mut begun).unwrap();
    child.0.kill().unwrap();
    eventually("the end of what it left", || (left("4244") == 0).then_some(()));
}

#[test]
fn signals_reach_the_command() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "trap 'echo caught; exit 7' TERM INT; echo begun; while :; do sleep 0.05; done";
    for signal in ["TERM", "INT"] {
        let mut command = project.command();
        command.args(["run", "--", "sh", "-c", script]).stdout(Stdio::piped());
        let mut child = Stopped(command.spawn().unwrap());
        let mut output = child.0.stdout.take().unwrap();
        let mut begun = [0; 6];
        output.read_exact(&mut begun).unwrap();
        kill(signal, child.0.id());
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), child.0.wait().unwrap().code()), ("caught\n", Some(7)));
    }
    // A second one ends a command that does not listen; so does a hangup.
    for signals in [&["TERM", "TERM"][..], &["HUP"]] {
        let script = "trap '' TERM HUP; echo begun; while :; do sleep 0.05; done";
        let mut command = project.command();
        command.args(["run", "--", "sh", "-c", script]).stdout(Stdio::piped());
        let mut child = Stopped(command.spawn().unwrap());
        let mut begun = [0; 6];
        child.0.stdout.take().unwrap().read_exact(&mut begun).unwrap();
        for signal in signals {
            kill(signal, child.0.id());
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(child.0.wait().unwrap().code(), Some(137), "{signals:?}");
    }
}

#[test]
fn what_the_caller_ignores_is_ignored() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" run -- sh -c 'echo begun; sleep 1; exit 5'";
    command.args(["-c", script]).arg(PROGRAM);
    project.prepare(&mut command);
    let mut child = Stopped(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut begun = [0; 6];
    child.0.stdout.take().unwrap().read_exact(&mut begun).unwrap();
    kill("HUP", child.0.id());
    assert_eq!(child.0.wait().unwrap().code(), Some(5), "as under nohup");
}

fn kill(signal: &str, pid: u32) {
    let done = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(done.unwrap().success());
}
