//! What happens when the ground gives way: permissions, loops, a full disk,
//! and being killed.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, Stopped, as_nobody, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw, approval: { write: preApproved, delete: preApproved } }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).file("in/a.txt", "input\n").file("out/a.txt", "old")
}

fn call(project: &Project, tool: &str, arguments: Value) -> Run {
    project.zonekeep(["tool", tool, &arguments.to_string()])
}

fn code(run: &Run) -> String {
    let value: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"));
    value["error"]["code"].as_str().unwrap_or("none").to_owned()
}

/// Returns the program as a user whom file permissions bind.
fn ordinary(project: &Project) -> Option<Command> {
    if !is_root() {
        return Some(project.command());
    }
    fs::set_permissions(project.beside(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(project.state()).unwrap();
    std::os::unix::fs::chown(project.state(), Some(65534), Some(65534)).unwrap();
    let runs = as_nobody()?.arg(project.program()).arg("--version").output().ok()?;
    if !runs.status.success() {
        return None;
    }
    let mut command = as_nobody()?;
    command.arg(project.program());
    project.prepare(&mut command);
    Some(command)
}

/// Runs a script in a mount namespace where it may mount; `$0` is the program.
/// `None` where this user cannot have one.
fn with_mounts(project: &Project, script: &str) -> Option<Run> {
    let mut probe = Command::new("unshare");
    project.prepare(&mut probe);
    probe.args(["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs \"$0\""]);
    let works = probe.arg(project.path("out")).output().ok()?.status.success();
    if !works {
        return None;
    }
    let mut command = Command::new("unshare");
    project.prepare(&mut command);
    Some(project.finish(command.args(["-Urm", "sh", "-c", script]).arg(project.program())))
}

#[test]
fn what_cannot_be_read_is_said_to_be_so() {
    let project = project().file("in/locked/x.txt", "input\n").file("in/closed.txt", "input\n");
    let Some(_) = ordinary(&project) else { return skip("no ordinary user to run as") };
    let set = |path: &str, mode: u32| {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("in/locked", 0o000);
    set("in/closed.txt", 0o000);
    let run = |tool: &str, arguments: Value| {
        let mut command = ordinary(&project).unwrap();
        project.finish(command.args(["tool", tool, &arguments.to_string()]))
    };
    assert_snapshot!(run("read_file", json!({ "path": "/input/closed.txt" })).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot read '/input/closed.txt': the file's permissions do not allow it.
    ");
    assert_snapshot!(run("list_files", json!({ "path": "/input/locked" })).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot list '/input/locked': the file's permissions do not allow it.
    ");
    assert_snapshot!(run("read_file", json!({ "path": "/input/locked/x.txt" })).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot read '/input/locked/x.txt': the file's permissions do not allow it.
    ");
    assert_snapshot!(run("list_files", json!({ "path": "/input", "pattern": "**/*" })).to_string(), @"
    exit 0
    --- stdout
    a.txt
    closed.txt
    [1 directory could not be read.]
    --- stderr
    ");
    assert_snapshot!(run("search_files", json!({ "path": "/input", "pattern": "input" })).to_string(), @"
    exit 0
    --- stdout
    a.txt:1:input
    [1 match in 1 file.]
    [Not searched: 2 files, not readable.]
    [Paths are relative to /input.]
    --- stderr
    ");

    // A zone that cannot be opened at all is a matter for the operator.
    set("in", 0o000);
    let closed = run("list_files", json!({ "path": "/" }));
    set("in", 0o755);
    set("in/locked", 0o755);
    assert_snapshot!(closed.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: zone 'input': [TEMP]/project/in cannot be read: permission denied

    hint: name a directory that you can read (zonekeep.yaml:4)
    ");
}

#[test]
fn a_granted_directory_that_cannot_be_read_is_named() {
    let project = project().dir("closed");
    let Some(_) = ordinary(&project) else { return skip("no ordinary user to run as") };
    let closed = project.path("closed");
    let set = |mode: u32| {
        fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    };
    let run = |args: &[&str]| {
        let mut command = ordinary(&project).unwrap();
        project.finish(command.args(args))
    };
    set(0);
    assert_snapshot!(run(&["run", "--rw", "closed", "--", "true"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: closed cannot be read: permission denied

    hint: name a directory that you can read (--rw)
    ");
    let zone = ["--zone", "closed=closed:rw"];
    let calls: [&[&str]; 4] = [
        &["run", "--ro", "closed", "--", "true"],
        &["run", "--rw", "closed", "--accept-weaker", "--", "true"],
        &["run", zone[0], zone[1], "--", "true"],
        &["tool", "shell", "{\"command\":\"true\"}", zone[0], zone[1]],
    ];
    for call in calls {
        let run = run(call);
        assert_eq!(run.exit, 125, "{call:?}: {run}");
        assert!(run.stderr.contains("closed cannot be read: permission denied"), "{run}");
        assert!(!run.stderr.contains("--accept-weaker"), "{run}");
    }
    let check = run(&["check", zone[0], zone[1]]);
    assert!(check.exit == 1 && check.to_string().contains("cannot be read"), "{check}");

    // It is closed only when the launcher looks: the machine has the sandbox all the same.
    set(0o755);
    if run(&["run", "--rw", "closed", "--", "true"]).exit == 125 {
        return skip("this machine does not fully enforce the boundaries of commands");
    }
    if is_root() {
        std::os::unix::fs::chown(&closed, Some(65534), Some(65534)).unwrap();
    }
    let launcher = project.path("launcher");
    // It waits until its caller, which has looked already, has the directory open.
    let script = format!(
        "#!/bin/bash\nfor i in {{1..1000}}; do\n  if [ ! -r '{0}' ] || /bin/ls -l /proc/$PPID/fd | \
         /bin/grep -q '{0}'; then break; fi\n  /bin/sleep 0.02\ndone\n/bin/chmod 0 '{0}'\n\
         exec -a zonekeep-launcher '{1}' \"$@\"\n",
        closed.display(),
        project.program().display()
    );
    fs::write(&launcher, script).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = ordinary(&project).unwrap();
    command.env("ZONEKEEP_LAUNCHER", &launcher);
    let run = project.finish(command.args(["run", "--rw", "closed", "--", "true"]));
    set(0o755);
    assert_snapshot!(run.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: cannot read [TEMP]/project/closed: Permission denied (os error 13)

    hint: this machine has the sandbox: look at the directory or value that the message names
    ");
}

#[test]
fn a_directory_that_cannot_be_written_fails_the_write_alone() {
    let project = project().dir("out/fixed");
    if is_root() {
        // Belongs to root, so that nobody else may write there.
        let Some(_) = ordinary(&project) else { return skip("no ordinary user to run as") };
    }
    let fixed = project.path("out/fixed");
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = ordinary(&project).unwrap();
    let arguments = json!({ "path": "/output/fixed/x.txt", "content": "x" }).to_string();
    let run = project.finish(command.args(["tool", "write_file", &arguments, "--json"]));
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((run.exit, code(&run).as_str()), (1, "unreadable"), "{run}");
    assert_eq!(project.tree("out/fixed"), Vec::<String>::new());
}

#[test]
fn links_that_go_round_end() {
    let project = project()
        .link("in/one", "two")
        .link("in/two", "one")
        .link("in/self", "self")
        .link("in/here", ".")
        .link("in/deep", "here/here/here");
    for path in ["/input/one", "/input/self", "/input/one/x", "/input/self/x/y"] {
        for tool in ["read_file", "list_files", "search_files"] {
            let mut arguments = json!({ "path": path });
            if tool == "search_files" {
                arguments["pattern"] = json!("x");
            }
            let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--json"]);
            assert_eq!(run.exit, 1, "{tool} {path}: {run}");
            assert!(
                ["loop", "link", "not_a_directory", "not_found"].contains(&code(&run).as_str()),
                "{run}"
            );
        }
    }
    let list = call(&project, "list_files", json!({ "path": "/input", "pattern": "**/*.txt" }));
    assert_eq!(list.ok(), "a.txt", "each file once");
    let found = call(&project, "search_files", json!({ "path": "/input", "pattern": "input" }));
    assert_eq!(found.ok(), "a.txt:1:input\n[1 match in 1 file.]\n[Paths are relative to /input.]");
}

#[test]
fn a_full_disk_loses_nothing_and_leaves_nothing() {
    let project = project();
    fs::write(project.path("in/large.bin"), vec![7; 1 << 20]).unwrap();
    let big = json!({ "path": "/output/a.txt", "content": "x".repeat(1 << 20) });
    let new = json!({ "path": "/output/deep/new.txt", "content": "x".repeat(1 << 20) });
    let more = json!({ "path": "/output/a.txt", "content": "x".repeat(1 << 20), "append": true });
    fs::write(project.beside("big.json"), big.to_string()).unwrap();
    fs::write(project.beside("new.json"), new.to_string()).unwrap();
    fs::write(project.beside("more.json"), more.to_string()).unwrap();
    let run = with_mounts(
        &project,
        r#"mount -t tmpfs -o size=256k tmpfs out && printf old > out/a.txt
        for call in big new more; do
            "$0" tool write_file - < "../$call.json"
            echo "exit $?"
        done
        "$0" tool copy_file '{"source": "/input/large.bin", "destination": "/output/l.bin"}'
        echo "exit $?"
        find out -type f; ls -A out
        cat out/a.txt; echo
        "$0" tool write_file '{"path": "/output/a.txt", "content": "fits"}' >/dev/null && cat out/a.txt"#,
    );
    let Some(run) = run else { return skip("this user cannot mount in a namespace of their own") };
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    exit 1
    exit 1
    exit 1
    exit 1
    out/a.txt
    a.txt
    old
    fits
    --- stderr
    Cannot write to '/output/a.txt': no space is left.
    Nothing was changed
    Cannot write to '/output/deep/new.txt': no space is left.
    Nothing was changed
    Cannot write to '/output/a.txt': no space is left.
    Nothing was changed
    Cannot copy '/input/large.bin' to '/output/l.bin': no space is left.
    Nothing was changed
    ");
}

#[test]
fn a_full_disk_under_the_log_stops_changes() {
    let project = project();
    let run = with_mounts(
        &project,
        r#"mkdir -p "$XDG_STATE_HOME" && mount -t tmpfs -o size=64k tmpfs "$XDG_STATE_HOME"
        mkdir -p "$XDG_STATE_HOME/zonekeep/audit"
        dd if=/dev/zero of="$XDG_STATE_HOME/fill" bs=4k 2>/dev/null
        "$0" tool write_file '{"path": "/output/a.txt", "content": "new"}'
        echo "exit $?"; cat out/a.txt; echo; ls out
        "$0" tool read_file '{"path": "/output/a.txt"}'
        echo "exit $?"
        "$0" tool write_file '{"path": "/output/a.txt", "content": "new"}' --set audit=best_effort >/dev/null
        echo "exit $?"; cat out/a.txt"#,
    );
    let Some(run) = run else { return skip("this user cannot mount in a namespace of their own") };
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    exit 125
    old
    a.txt
    exit 125
    exit 0
    new
    --- stderr
    Cannot write to '/output/a.txt': the action could not be written to the audit log, so it was not done.
    Tell the user; nothing was changed.
    Cannot read '/output/a.txt': the action could not be written to the audit log, so it was not done.
    Tell the user; nothing was changed.
    ");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_signal() {
    let project = project();
    let script = r#"ulimit -f 4; "$0" tool write_file '{"path": "/output/a.txt", "content": "new"}'
        echo "exit $?"; i=0; while [ $i -lt 20 ]; do
            "$0" tool read_file '{"path": "/output/a.txt"}' >/dev/null 2>&1; last=$?
            i=$((i + 1)); done; echo "last $last""#;
    let mut command = std::process::Command::new("sh");
    project.prepare(command.args(["-c", script, PROGRAM]));
    let run = project.finish(&mut command);
    // 153 would be the signal.
    assert!(run.ok().contains("exit 0") && run.ok().ends_with("last 125"), "{run}");
    // Commands inside get the signal that they expect.
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let limited = "ulimit -f 1; dd if=/dev/zero of=/tmp/x bs=4k count=8 2>/dev/null";
    let run = project.zonekeep(["run", "--", "sh", "-c", &format!("{limited}; echo $?")]);
    assert!(run.stdout.contains("153"), "{run}");
}

#[test]
fn a_log_that_fills_up_in_the_middle_of_a_line_stays_whole() {
    let project = project();
    // Leaves room for a page, and calls until that is used up.
    let run = with_mounts(
        &project,
        r#"mkdir -p "$XDG_STATE_HOME" && mount -t tmpfs -o size=64k tmpfs "$XDG_STATE_HOME"
        mkdir -p "$XDG_STATE_HOME/zonekeep/audit"
        "$0" tool read_file '{"path": "/input/a.txt"}' >/dev/null || exit 9
        dd if=/dev/zero of="$XDG_STATE_HOME/fill" bs=4k 2>/dev/null
        i=0; while [ $i -lt 100 ]; do
            "$0" tool read_file '{"path": "/input/a.txt"}' >/dev/null 2>&1
            status=$?; [ $status = 0 ] || break
            i=$((i + 1))
        done
        echo "exit $status"
        cat "$XDG_STATE_HOME"/zonekeep/audit/*"#,
    );
    let Some(run) = run else { return skip("this user cannot mount in a namespace of their own") };
    let mut lines = run.ok().lines();
    assert_eq!(lines.next(), Some("exit 125"), "{run}");
    let mut count = 0;
    for line in lines {
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}"));
        count += 1;
    }
    assert!((2..100).contains(&count), "{count} records in one page");
}

#[test]
fn being_killed_leaves_the_old_content_or_the_new() {
    const KILLS: u32 = 50;
    let project = project();
    let content = |fill: &str| fill.repeat(1 << 20);
    let calls = [("a", content("a")), ("b", content("b"))];
    for (name, content) in &calls {
        let replace = json!({ "path": "/output/a.txt", "content": content }).to_string();
        fs::write(project.beside(&format!("{name}.json")), replace).unwrap();
    }
    fs::write(project.path("out/a.txt"), &calls[0].1).unwrap();
    let write = |name: &str| {
        let mut command = project.command();
        command.args(["tool", "write_file", "-"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.stdin(fs::File::open(project.beside(&format!("{name}.json"))).unwrap());
        Stopped(command.spawn().unwrap())
    };
    let start = Instant::now();
    assert!(write("a").0.wait().unwrap().success());
    let whole = start.elapsed();
    let mut new_ones = 0;
    for kill in 0..KILLS {
        let (name, _) = &calls[(kill % 2) as usize];
        let before = project.read("out/a.txt");
        let mut child = write(name);
        // Early, in the middle and late, over and over.
        std::thread::sleep(whole * (kill % 10) / 8);
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        let after = project.read("out/a.txt");
        assert!(calls.iter().any(|(_, content)| *content == after), "{} bytes", after.len());
        new_ones += u32::from(before != after);
    }
    eprintln!("{new_ones} of {KILLS} writes came through");
    // A file has a name of ours only in the moment before it replaces another.
    let litter: Vec<String> =
        project.tree("out").into_iter().filter(|name| name != "a.txt").collect();
    assert!(litter.len() <= 5, "{litter:?}");
    for name in &litter {
        assert!(name.starts_with(".zonekeep-"), "{name}");
        let text = project.read(&format!("out/{name}"));
        assert!(calls.iter().any(|(_, content)| *content == text), "{name} is complete");
    }
    for line in project.log_lines() {
        serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}"));
    }
}
