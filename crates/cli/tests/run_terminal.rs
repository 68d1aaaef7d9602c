//! `zonekeep run` at a terminal.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::Command;

use zonekeep_testkit::{Project, Terminal, eventually, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn project() -> Project {
    Project::new(PROGRAM).file("a.txt", "a\n")
}

/// Starts a command in the sandbox at a terminal.
fn start(project: &Project, command: &[&str]) -> Option<Terminal> {
    let terminal = project.zonekeep_at_terminal(["run", "--rw", ".", "--"].iter().chain(command));
    if terminal.is_none() {
        skip("there is no way to make a terminal");
    }
    terminal
}

/// Starts a shell of the host at a terminal, with the program as `$ZK`.
fn shell(project: &Project) -> Option<Terminal> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noediting", "-i"]).env("PS1", "host> ").env("ZK", PROGRAM);
    let mut terminal = project.at_terminal(&bash);
    match &mut terminal {
        Some(terminal) => terminal.wait_for("host> "),
        None => skip("there is no way to make a terminal"),
    }
    terminal
}

fn kill(signal: &str, pid: u32) {
    let done = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(done.unwrap().success());
}

#[test]
fn a_shell_is_interactive() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let bash = ["bash", "--norc", "-i"];
    let Some(mut terminal) = start(&project, &bash) else { return };
    let usual = terminal.settings();
    terminal.type_in("PS1='in''side> '\n");
    terminal.wait_for("inside> ");
    assert_ne!(terminal.settings(), usual, "what is typed is for the command");
    terminal.type_in("tty -s && echo is-a-$((1+1))-tty\n");
    terminal.wait_for("is-a-2-tty");
    terminal.type_in("sleep 100\n");
    terminal.wait_for("sleep 100");
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.type_in("\x03");
    terminal.wait_for("inside> ");
    terminal.type_in("echo status-$?\n");
    terminal.wait_for("status-130");
    // Job control inside is the shell's own.
    terminal.wait_for("inside> ");
    terminal.type_in("sleep 100\n");
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.type_in("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("inside> ");
    terminal.type_in("kill -KILL %1; disown %1; echo go''ne\n");
    terminal.wait_for("gone");
    terminal.type_in("exit 9\n");
    let (exit, settings, screen) = terminal.end();
    assert_eq!((exit, settings), (9, usual), "{screen}");
    assert!(!screen.contains("no job control"), "{screen}");
}

#[test]
fn ctrl_c_interrupts_a_command() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = start(&project, &["sh", "-c", "echo begun; exec sleep 100"]) else {
        return;
    };
    terminal.wait_for("begun");
    terminal.type_in("\x03");
    let (exit, _, screen) = terminal.end();
    assert_eq!(exit, 130, "{screen}");
}

#[test]
fn the_size_is_passed_on() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done";
    let Some(mut terminal) = start(&project, &["sh", "-c", script]) else { return };
    terminal.wait_for("24 80");
    terminal.resize(33, 99);
    terminal.wait_for("33 99");
    terminal.type_in("\x03");
    assert_eq!(terminal.end().0, 130);
}

#[test]
fn ctrl_z_stops_the_job_and_fg_continues_it() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    let usual = terminal.settings();
    terminal.type_in("$ZK run --rw . -- sh -c 'echo be''gun; sleep 1; read x; echo got-$x'\n");
    terminal.wait_for("begun");
    terminal.type_in("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("host> ");
    assert_eq!(terminal.settings(), usual);
    terminal.type_in("echo here-$((40+2)); jobs\n");
    terminal.wait_for("here-42");
    terminal.wait_for("Stopped");
    terminal.wait_for("host> ");
    terminal.type_in("fg\n");
    terminal.wait_for("$ZK run");
    // What is typed is the command's again once the terminal is.
    let of_command = || (terminal.settings() != usual).then_some(());
    eventually("the terminal to be the command's", of_command);
    terminal.type_in("word\n");
    terminal.wait_for("got-word");
    terminal.wait_for("host> ");
    assert_eq!(terminal.settings(), usual);
    terminal.type_in("exit 3\n");
    assert_eq!(terminal.end().0, 3);
}

#[test]
fn a_plain_sleep_stops_and_continues_in_the_background() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    terminal.type_in("$ZK run --rw . -- sleep 2; echo st''opped-$?\n");
    std::thread::sleep(std::time::Duration::from_millis(700));
    terminal.type_in("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("stopped-1");
    terminal.wait_for("host> ");
    terminal.type_in("bg; wait; echo wai''ted-$?\n");
    terminal.wait_for("waited-0");
    // And one that begins there is not stopped for it.
    terminal.type_in("$ZK run --rw . -- sh -c 'exit 6' & wait $!; echo sta''tus-$?\n");
    terminal.wait_for("status-6");
    terminal.type_in("exit\n");
    terminal.end();
}

#[test]
fn a_pipeline_stops_as_one() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    terminal.type_in("$ZK run --rw . -- sh -c 'echo be''gun >&2; sleep 1; echo end' | cat\n");
    terminal.wait_for("begun");
    terminal.type_in("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("host> ");
    terminal.type_in("fg\n");
    terminal.wait_for("end\n");
    terminal.wait_for("host> ");
    terminal.type_in("exit\n");
    terminal.end();
}

#[test]
fn a_stop_from_outside_is_one_stop() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    terminal.type_in("$ZK run --rw . -- sh -c 'echo be''gun; sleep 1; echo e''nd' </dev/null & \n");
    terminal.wait_for("begun");
    terminal.type_in("kill -TSTP $!; wait -f $! & sleep 0.3; jobs %1\n");
    terminal.wait_for("Stopped");
    terminal.type_in("fg %1\n");
    terminal.wait_for("end");
    terminal.type_in("exit\n");
    terminal.type_in("exit\n");
    terminal.end();
}

#[test]
fn without_a_shell_above_a_stop_does_not_last() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "echo begun; sleep 1; echo still-here";
    let Some(mut terminal) = start(&project, &["sh", "-c", script]) else { return };
    terminal.wait_for("begun");
    terminal.type_in("\x1a");
    terminal.wait_for("still-here");
    assert_eq!(terminal.end().0, 0);
}

/// In a container, the session and the job are often those of a process outside.
#[test]
fn a_job_that_began_outside_of_the_pid_namespace_is_served_too() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    terminal.type_in(
        "unshare --user --map-root-user --pid --fork --mount-proc \
         $ZK run --rw . -- sh -c 'echo be''gun; sleep 1; echo still''-here'; echo exit=$?\n",
    );
    terminal.wait_for("begun");
    terminal.type_in("\x1a");
    terminal.wait_for("still-here");
    terminal.wait_for("exit=0");
    terminal.type_in("exit\n");
    terminal.end();
}

#[test]
fn nothing_can_be_typed_for_the_caller() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "use strict; open(my $t, '+<', '/dev/tty') or die \"open: $!\"; \
                  my $c = 'x'; print ioctl($t, 0x5412, $c) ? \"TYPED\\n\" : \"refused: $!\\n\";";
    let Some(mut terminal) = start(&project, &["perl", "-e", script]) else { return };
    terminal.wait_for("refused");
    let (exit, _, screen) = terminal.end();
    assert!(exit == 0 && !screen.contains("TYPED"), "{screen}");
}

#[test]
fn the_terminal_is_as_it_was_after_any_end() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "stty raw -echo; echo begun; sleep 100";
    for (signal, want) in [("TERM", 143), ("HUP", 137)] {
        let Some(mut terminal) = start(&project, &["sh", "-c", script]) else { return };
        let usual = terminal.settings();
        terminal.wait_for("begun");
        assert_ne!(terminal.settings(), usual);
        kill(signal, terminal.pid());
        let (exit, settings, screen) = terminal.end();
        assert_eq!((exit, settings), (want, usual), "{signal}: {screen}");
    }
}

#[test]
fn all_that_is_shown_arrives() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "i=0; while [ $i -lt 20000 ]; do echo line-$i; i=$((i+1)); done";
    let Some(terminal) = start(&project, &["sh", "-c", script]) else { return };
    let (exit, _, screen) = terminal.end();
    assert_eq!(exit, 0);
    let wanted: Vec<String> = (0..20_000).map(|i| format!("line-{i}")).collect();
    let got: Vec<&str> = screen.lines().collect();
    assert_eq!(got.len(), wanted.len());
    assert!(got.iter().zip(&wanted).all(|(got, want)| got == want));
}

#[test]
fn a_command_that_reads_nothing_can_be_ended() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "stty raw -echo; echo begun; exec sleep 100";
    let args = ["run", "--rw", ".", "--timeout", "3s", "--", "sh", "-c", script];
    let Some(mut terminal) = project.zonekeep_at_terminal(args) else {
        return skip("there is no way to make a terminal");
    };
    terminal.wait_for("begun");
    // More than the command's terminal holds.
    terminal.type_in(&"x".repeat(3000));
    std::thread::sleep(std::time::Duration::from_millis(200));
    terminal.type_in(&"x".repeat(3000));
    std::thread::sleep(std::time::Duration::from_millis(200));
    terminal.type_in(&"x".repeat(3000));
    let (exit, _, screen) = terminal.end();
    assert_eq!(exit, 124, "{screen}");
}

#[test]
fn a_command_that_leaves_its_terminal_costs_nothing() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "exec </dev/null >/dev/null 2>&1; sleep 1; echo back > /dev/tty";
    let Some(mut terminal) = start(&project, &["sh", "-c", script]) else { return };
    std::thread::sleep(std::time::Duration::from_millis(900));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", terminal.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    assert!(ticks < 30, "it is not asked again and again: {ticks}");
    terminal.wait_for("back");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn input_from_a_file_and_output_to_a_terminal() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    terminal
        .type_in("$ZK run --rw . -- sh -c 'cat; test -t 0; echo $?; test -t 1; echo $?' <a.txt\n");
    terminal.wait_for("a\n1\n0\n");
    terminal.type_in("$ZK run --rw . -- sh -c 'test -t 0; echo $?; test -t 1; echo $?' | cat\n");
    terminal.wait_for("0\n1\n");
    // What is typed before that is for the command.
    terminal.wait_for("host> ");
    terminal.type_in("exit\n");
    terminal.end();
}

#[test]
fn where_only_the_input_is_a_terminal_nothing_is_written_to_it() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    let script =
        "echo le\"\"ak >&0; echo le\"\"ak >/dev/tty; echo asked >asked; read x; echo got-$x; cat";
    let line = |redirected: &str| format!("$ZK run --rw . -- sh -c '{script}' {redirected}\n");
    terminal.type_in(&line(">out 2>err"));
    eventually("the question", || project.exists("asked").then_some(()));
    // What is typed is seen, and the keys that end a line and the input work.
    terminal.type_in("wo");
    terminal.wait_for("wo");
    terminal.type_in("rd\nmore\n\x04");
    terminal.wait_for("host> ");
    assert_eq!(project.read("out"), "got-word\nmore\n");
    std::fs::remove_file(project.path("asked")).unwrap();
    // The control: standard error is the terminal as well.
    terminal.type_in("echo con''trol\n");
    terminal.wait_for("control");
    terminal.wait_for("host> ");
    terminal.type_in(&line(">out"));
    eventually("the question", || project.exists("asked").then_some(()));
    terminal.type_in("word\n\x04");
    terminal.wait_for("host> ");
    terminal.type_in("exit\n");
    let (_, _, screen) = terminal.end();
    let (before, after) = screen.split_once("control").unwrap();
    assert!(!before.contains("leak"), "{screen}");
    assert!(after.contains("leak"), "{screen}");
}

#[test]
fn a_password_is_not_shown_where_only_the_input_is_a_terminal() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    let usual = terminal.settings();
    let script = "stty -echo; echo asked >asked; echo prompt >&0; read x; stty echo; echo $x";
    terminal.type_in(&format!("$ZK run --rw . -- sh -c '{script}' >out 2>err; echo do''ne\n"));
    eventually("the question", || project.exists("asked").then_some(()));
    eventually("silence", || (terminal.settings() != usual).then_some(()));
    terminal.type_in("hidden-word\n");
    terminal.wait_for("done");
    terminal.wait_for("host> ");
    assert_eq!(terminal.settings(), usual);
    terminal.type_in("exit\n");
    let (_, _, screen) = terminal.end();
    assert!(!screen.contains("hidden-word"), "{screen}");
    assert_eq!(project.read("out"), "hidden-word\n");
}

#[test]
fn ctrl_c_and_ctrl_z_work_where_only_the_input_is_a_terminal() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let Some(mut terminal) = shell(&project) else { return };
    terminal.type_in("$ZK run --rw . -- sh -c 'echo x >begun; exec sleep 100' >out 2>&1\n");
    eventually("the command", || project.exists("begun").then_some(()));
    terminal.type_in("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("host> ");
    terminal.type_in("fg\n");
    terminal.wait_for("$ZK run");
    terminal.type_in("\x03");
    terminal.wait_for("host> ");
    terminal.type_in("echo status-$?\n");
    terminal.wait_for("status-130");
    terminal.type_in("exit\n");
    terminal.end();
}
