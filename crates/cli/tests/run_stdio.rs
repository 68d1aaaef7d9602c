//! `zonekeep run` with files, sockets and other redirected descriptors: the command
//! gets pipes, and whatever is behind them works as if it had the descriptors.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use zonekeep_testkit::{PATIENCE, Project, Run, Stopped, eventually};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn project() -> Project {
    Project::new(PROGRAM).file("a.txt", "one\ntwo\nthree\n").dir("zone")
}

/// Runs a script of the host, with the program and its flags as `$ZK`.
fn host(project: &Project, script: &str) -> Run {
    let mut shell = Command::new("bash");
    // Without the program nothing may run on the host instead.
    shell.args(["-uc", script]);
    project.prepare(&mut shell);
    project.finish(shell.env("ZK", format!("{PROGRAM} run --rw zone --")))
}

/// Prepares a command that only has the pipes and descriptors that it is given.
fn run(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command();
    command.args(["run", "--rw", "zone"]).args(args);
    command
}

#[test]
fn redirected_files_are_read_and_written() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project().file("log.txt", "before\n");
    let script = "$ZK cat <a.txt >out.txt && $ZK sh -c 'echo more' >>log.txt \
                  && $ZK sh -c 'for i in 1 2 3; do echo out; echo err >&2; done' >both.txt 2>&1 \
                  && $ZK sh -c 'cat; echo err >&2; exit 7' <a.txt 2>err.txt; echo $?";
    let done = host(&project, script);
    assert_eq!(done.ok(), "one\ntwo\nthree\n7", "{done}");
    assert_eq!(project.read("out.txt"), "one\ntwo\nthree\n");
    assert_eq!(project.read("log.txt"), "before\nmore\n");
    assert_eq!(project.read("both.txt"), "out\nerr\n".repeat(3), "in the order of writing");
    assert_eq!(project.read("err.txt"), "err\n");
}

#[test]
fn the_command_has_pipes_and_not_the_files() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "$ZK sh -c 'ls -l /proc/self/fd/0 /proc/self/fd/2; : >/proc/self/fd/2' \
                  <a.txt 2>err.txt | grep -c 'pipe:'; $ZK sh -c 'test -p /proc/self/fd/1' >out.txt";
    let done = host(&project, script);
    assert_eq!((done.exit, done.stdout.trim()), (0, "2"), "{done} {}", project.read("err.txt"));
    assert_eq!(project.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_command_takes_no_more_of_a_file_than_it_reads() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    // A loop over a list whose commands share its standard input.
    let script = "while read -r line; do echo \"$line\"; $ZK true; done <a.txt";
    assert_eq!(host(&project, script).ok(), "one\ntwo\nthree");
    let script = "{ $ZK sh -c 'read -r x; echo \"$x\"'; cat; } <a.txt";
    assert_eq!(host(&project, script).ok(), "one\ntwo\nthree");
    // What is larger than a pipe, too.
    project.put("big.txt", "0123456789abcde\n".repeat(20_000));
    let script = "{ $ZK head -c 160000 | wc -c; wc -c; } <big.txt";
    let done = host(&project, script);
    let numbers: Vec<u64> = done.ok().split_whitespace().map(|n| n.parse().unwrap()).collect();
    // `head` takes its input in pieces.
    assert_eq!(numbers[0], 160_000);
    assert!((140_000..=160_000).contains(&numbers[1]), "{done}");
}

#[test]
fn large_files_go_through_as_they_are() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let line: Vec<u8> = (0..=255).collect();
    let size = 64 << 20;
    project.put("big.bin", line.repeat(size / line.len()));
    let done = host(&project, "$ZK cat <big.bin >copy.bin && cmp big.bin copy.bin");
    assert_eq!(done.exit, 0, "{done}");
    let done = host(&project, ": >copy.bin; $ZK cat <big.bin >>copy.bin && cmp big.bin copy.bin");
    assert_eq!(done.exit, 0, "{done}");
}

#[test]
fn a_file_that_takes_no_more_is_an_error() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let done = host(&project, "$ZK sh -c 'echo lost' >/dev/full");
    assert_eq!(done.exit, 125, "{done}");
    assert!(done.stderr.contains("cannot write standard output: No space left"), "{done}");
    // The limit for files holds for redirected ones too.
    let script = format!(
        "{PROGRAM} run --rw zone --limit file_size=100K -- head -c 300000 /dev/zero >out.bin"
    );
    let done = host(&project, &script);
    assert_ne!(done.exit, 0, "{done}");
    assert!(done.stderr.contains("cannot write standard output: File too large"), "{done}");
    let size = fs::metadata(project.path("out.bin")).unwrap().len();
    assert_eq!(size, 100 * 1024);
    let script = format!(
        "{PROGRAM} run --rw zone --limit file_size=100K -- head -c 102400 /dev/zero >out.bin"
    );
    assert_eq!(host(&project, &script).exit, 0);
}

#[test]
fn directories_and_sockets_that_are_no_streams_are_refused() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (stream, _other) = UnixStream::pair().unwrap();
    let seqpacket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let cases: [(&str, OwnedFd, Option<&str>); 4] = [
        ("directory", File::open(project.path("zone")).unwrap().into(), Some("it is a directory")),
        ("datagrams", seqpacket.into(), Some("it is a socket that is not a connected stream")),
        ("listener", listener.into(), Some("it is a socket that is not a connected stream")),
        ("stream", stream.into(), None),
    ];
    for (what, fd, refusal) in cases {
        for place in 0..3 {
            let mut command = run(&project, &["--", "true"]);
            let fd = Stdio::from(fd.try_clone().unwrap());
            match place {
                0 => command.stdin(fd),
                1 => command.stdout(fd),
                _ => command.stderr(fd),
            };
            if place != 2 {
                command.stderr(Stdio::piped());
            }
            let output = command.spawn().unwrap().wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            match refusal {
                None => assert_eq!(output.status.code(), Some(0), "{what} {place}: {said}"),
                Some(refusal) => {
                    assert_eq!(output.status.code(), Some(125), "{what} {place}: {said}");
                    assert!(place == 2 || said.contains(refusal), "{what} {place}: {said}");
                }
            }
        }
    }
}

#[test]
fn sockets_carry_what_is_sent_both_ways() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    let (one, two) = (OwnedFd::from(server.try_clone().unwrap()), OwnedFd::from(server));
    // As inetd starts a service.
    let mut command = run(&project, &["--", "sh", "-c", "cat; echo end"]);
    command.stdin(Stdio::from(one)).stdout(Stdio::from(two));
    let mut child = Stopped(command.spawn().unwrap());
    drop(command);
    let size = 3 << 20;
    let mut sender = client.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        sender.write_all(&vec![b'x'; size]).unwrap();
        sender.shutdown(Shutdown::Write).unwrap();
    });
    let mut came = Vec::new();
    (&client).read_to_end(&mut came).unwrap();
    writer.join().unwrap();
    assert_eq!(came.len(), size + 4);
    assert!(came.ends_with(b"xend\n"));
    assert!(child.0.wait().unwrap().success());
}

#[test]
fn an_answer_arrives_while_the_input_is_open() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (own, other) = UnixStream::pair().unwrap();
    let other = OwnedFd::from(other);
    let mut command = run(&project, &["--", "sh", "-c", "while read -r x; do echo got-$x; done"]);
    command.stdin(Stdio::from(other.try_clone().unwrap())).stdout(Stdio::from(other));
    let mut child = Stopped(command.spawn().unwrap());
    drop(command);
    own.set_read_timeout(Some(PATIENCE)).unwrap();
    for word in ["one", "two"] {
        (&own).write_all(format!("{word}\n").as_bytes()).unwrap();
        let mut answer = vec![0; 8];
        (&own).read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), format!("got-{word}\n"));
    }
    own.shutdown(Shutdown::Write).unwrap();
    assert!(child.0.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (own, other) = UnixStream::pair().unwrap();
    let mut command = run(&project, &["--", "yes"]);
    command.stdout(Stdio::from(OwnedFd::from(other))).stderr(Stdio::null());
    let mut child = Stopped(command.spawn().unwrap());
    drop(command);
    let mut some = [0; 2];
    (&own).read_exact(&mut some).unwrap();
    drop(own);
    let status = eventually("the end", || child.0.try_wait().unwrap());
    assert_eq!(status.code(), Some(128 + 13));

    // The same for a FIFO.
    let script = "mkfifo pipe; head -c 2 pipe >/dev/null & $ZK yes >pipe; echo $?";
    assert_eq!(host(&project, script).ok(), "141");
}

#[test]
fn fifos_are_read_to_their_end() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let script = "mkfifo pipe; cat a.txt >pipe & $ZK cat <pipe";
    assert_eq!(host(&project, script).ok(), "one\ntwo\nthree");
    let script = "cat pipe >copy.txt & $ZK echo hello >pipe; wait";
    assert_eq!(host(&project, script).exit, 0);
    assert_eq!(project.read("copy.txt"), "hello\n");
}

#[test]
fn a_reader_that_takes_nothing_cannot_outlast_the_time_limit() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    for script in ["yes", "head -c 60000 /dev/zero; sleep 1000"] {
        let (_own, other) = UnixStream::pair().unwrap();
        let mut command = run(&project, &["--timeout", "1s", "--", "sh", "-c", script]);
        command.stdout(Stdio::from(OwnedFd::from(other))).stderr(Stdio::null());
        let mut child = Stopped(command.spawn().unwrap());
        let status = eventually("the end", || child.0.try_wait().unwrap());
        assert_eq!(status.code(), Some(124), "{script}");
    }
}

#[test]
fn waiting_costs_nothing() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let (own, other) = UnixStream::pair().unwrap();
    let other = OwnedFd::from(other);
    let mut command = run(&project, &["--", "sh", "-c", "echo begun; sleep 1000"]);
    command.stdin(Stdio::from(other.try_clone().unwrap())).stdout(Stdio::from(other));
    command.stderr(File::create(project.path("err.txt")).unwrap());
    let child = Stopped(command.spawn().unwrap());
    drop(command);
    (&own).read_exact(&mut [0; 6]).unwrap();
    let ticks = || -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let before = ticks();
    // More is there than anybody reads, and the writer is gone.
    (&own).write_all(&[b'x'; 100_000]).unwrap();
    own.shutdown(Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(ticks() - before < 20, "{} ticks", ticks() - before);
}

#[test]
fn what_is_closed_for_reading_is_empty() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let done = host(&project, "$ZK sh -c 'cat; echo end' 0>out.txt");
    assert_eq!(done.ok(), "end");
    // A device has no end.
    let done = host(&project, "$ZK sh -c 'head -c 3 | wc -c' </dev/zero");
    assert_eq!(done.ok(), "3");
}
