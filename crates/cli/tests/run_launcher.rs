//! What the processes of `zonekeep run` have of their caller: nothing, whether
//! the launcher was split off `zonekeep` itself or started as a program.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use zonekeep_testkit::{Project, Stopped, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const SECRET: &str = "swordfish-4711";

fn project() -> Project {
    Project::with_config(PROGRAM, "sandbox:\n  zones:\n    out: { path: ./out, mode: rw }\n")
        .file("out/a.txt", "a\n")
        .file("descriptor.txt", SECRET)
}

/// How the launcher comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    SplitOff,
    Started,
}

impl Form {
    const ALL: [Form; 2] = [Form::SplitOff, Form::Started];

    fn apply(self, command: &mut Command) {
        command.env_remove("ZONEKEEP_LAUNCHER");
        if self == Form::Started {
            command.env("ZONEKEEP_LAUNCHER", PROGRAM);
        }
    }
}

/// All that can be told about a process from outside.
#[derive(Debug, PartialEq, Eq)]
struct Traits {
    arguments: String,
    environment: String,
    name: String,
    /// Whether it leads its session, and its group.
    leads: (bool, bool),
    ignored: u64,
    blocked: u64,
    directory: String,
    /// What it has open, without numbers.
    open: Vec<String>,
}

impl Traits {
    fn of(pid: u32) -> Self {
        let stat = text(pid, "stat");
        let stat: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
        let own = pid.to_string();
        let status = text(pid, "status");
        // Two signals are the C library's own, and nobody can do anything about them.
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap() & !(0b11 << 31)
        };
        let mut open: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
            .map(|to| to.to_string_lossy().trim_end_matches(|c| "[]0123456789".contains(c)).into())
            .collect();
        open.sort();
        Traits {
            arguments: text(pid, "cmdline"),
            environment: text(pid, "environ"),
            name: text(pid, "comm"),
            leads: (stat[3] == own, stat[2] == own),
            ignored: field("SigIgn:"),
            blocked: field("SigBlk:"),
            directory: fs::read_link(format!("/proc/{pid}/cwd")).unwrap().display().to_string(),
            open,
        }
    }
}

fn text(pid: u32, file: &str) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{file}")).unwrap()).into_owned()
}

/// Returns whether the secret is anywhere in the memory of a process that it
/// can write, or could.
fn remembers(pid: u32) -> bool {
    let mut memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let maps = text(pid, "maps");
    maps.lines().filter(|line| line.contains(" rw")).any(|line| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; (end - start) as usize];
        memory.seek(SeekFrom::Start(start)).unwrap();
        let read = memory.read_exact(&mut bytes);
        read.is_ok() && bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
    })
}

/// Returns a process and its descendants, as far down as each has one child.
fn line_of(pid: u32) -> Vec<u32> {
    let mut line = vec![pid];
    while let Some(child) = line.last().and_then(|pid| {
        let children = text(*pid, &format!("task/{pid}/children"));
        children.split_whitespace().next()?.parse().ok()
    }) {
        line.push(child);
    }
    line
}

#[test]
fn the_launcher_has_nothing_of_its_caller() {
    if !is_root() {
        return skip("only the superuser can look into these processes");
    }
    let project = project();
    let found = Form::ALL.map(|form| {
        // Ignores a signal, and has a descriptor open.
        let script = "trap '' INT; exec 9<descriptor.txt; exec \"$@\"";
        let mut command = Command::new("sh");
        project.prepare(&mut command);
        form.apply(&mut command);
        command.env("CALLERS", SECRET).env("LONG", "x".repeat(20_000));
        command.args(["-c", script, "sh"]).arg(project.program());
        command.args(["run", "--backend", "namespaces", "--", "sh", "-c", "echo begun; read end"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Stopped(command.spawn().unwrap());
        let mut begun = [0; 6];
        if child.0.stdout.take().unwrap().read_exact(&mut begun).is_err() {
            return None;
        }
        let line = line_of(child.0.id());
        let [caller, keeper, init, ..] = line[..] else { panic!("{line:?}") };
        // The control: all of it is there to be found.
        let own = Traits::of(caller);
        assert!(own.environment.contains(SECRET) && remembers(caller), "{own:?}");
        assert!(own.open.iter().any(|to| to.ends_with("descriptor.txt")), "{own:?}");
        assert!(own.ignored & 0b10 != 0 && own.arguments.contains("--backend"), "{own:?}");
        // A program that was started is loaded somewhere else.
        let place = |pid| text(pid, "maps").lines().next().map(str::to_owned);
        assert_eq!(place(caller) == place(keeper), form == Form::SplitOff, "{form:?}");

        let inner: Vec<Traits> = [keeper, init].map(Traits::of).into();
        for (pid, traits) in [keeper, init].into_iter().zip(&inner) {
            assert_eq!(traits.arguments, "zonekeep-launcher\0", "{form:?}");
            assert_eq!(traits.environment.trim_end_matches('\0'), "", "{form:?}");
            assert!(!remembers(pid), "{form:?}: {traits:?}");
            assert!(!traits.open.iter().any(|to| to.contains("descriptor")), "{traits:?}");
        }
        Some(inner)
    });
    let [Some(mut split), Some(started)] = found else {
        return skip("namespaces are not available");
    };
    // The room is still there, with nothing in it.
    for (split, started) in split.iter_mut().zip(&started) {
        split.environment.clone_from(&started.environment);
    }
    assert_eq!(split, started);
}

#[test]
fn arguments_of_any_length_are_not_seen_inside() {
    let project = project();
    let script = b"tr '\\0' '|' < /proc/1/cmdline; cat /proc/1/comm /proc/1/environ 2>/dev/null";
    for form in Form::ALL {
        for (name, variables) in [("z", 0), ("z", 30), (PROGRAM, 0), (PROGRAM, 30)] {
            let mut command = Command::new(project.program());
            project.prepare(&mut command);
            command.arg0(name);
            for number in 0..variables {
                command.env(format!("V{number}"), "v".repeat(number * 10));
            }
            form.apply(&mut command);
            command.args(["run", "--", "sh"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(script).unwrap();
            let output = child.wait_with_output().unwrap();
            let output = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.contains("zonekeep-launcher") {
                assert_eq!(output, "zonekeep-launcher|zonekeep\n", "{form:?} {name} {variables}");
            } else {
                skip("there is no tree of its own here");
            }
        }
    }
}
