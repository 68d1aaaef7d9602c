//! Directories that a second mount shows under another path.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use zonekeep_testkit::{Project, Run, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Runs a script where it may mount, with the program as `$0`; `None` where this user
/// cannot.
fn with_mounts(project: &Project, script: &str) -> Option<Run> {
    let flags = if is_root() { "-m" } else { "-Urm" };
    let mut probe = Command::new("unshare");
    probe.args([flags, "mount", "-t", "tmpfs", "none", "/tmp"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    project.prepare(&mut command);
    command.args([flags, "sh", "-c", script]).arg(project.program());
    Some(project.finish(&mut command))
}

/// Runs a tool in a project with two zones, after `mounts` were made.
fn two_zones(first: &str, second: &str, mounts: &str) -> Option<Run> {
    let config = format!(
        "sandbox:\n  mode: direct\n  zones:\n    one: {{ path: {first}, mode: ro }}\n    two: {{ path: {second}, mode: rw }}\n"
    );
    let project = Project::with_config(PROGRAM, &config)
        .file("data/sub/deep/a.txt", "a\n")
        .dir("m/a")
        .dir("m/b")
        .dir("other");
    with_mounts(&project, &format!("{mounts}\nexec \"$0\" tool list_files '{{\"path\": \"/\"}}'"))
}

#[test]
fn zones_overlap_by_whichever_mount() {
    let bind = |from: &str, to: &str| format!("mount --bind {from} {to} || exit 99\n");
    let sub = bind("data/sub", "m/a");
    let cases = [
        ("the same directory", "data", "m/a", bind("data", "m/a"), true),
        ("a directory of a read-only zone", "data", "m/a", sub.clone(), true),
        ("deeper, behind the mount", "data", "m/a/deep", sub.clone(), true),
        ("the zone above, behind a mount", "m/a", "data", sub.clone(), true),
        ("a mount of a mount", "data", "m/b", format!("{sub}{}", bind("m/a/deep", "m/b")), true),
        (
            "a mount within a zone",
            "data",
            "other",
            format!("mkdir other/in\n{}", bind("data/sub", "other/in")),
            true,
        ),
        ("without a mount", "data", "m/a", String::new(), false),
        ("another directory", "data", "m/a", bind("other", "m/a"), false),
        (
            "a mount that covers it",
            "data",
            "m/a",
            format!("{sub}mount -t tmpfs none m/a || exit 99\n"),
            false,
        ),
    ];
    for (what, first, second, mounts, overlap) in cases {
        let Some(run) = two_zones(first, second, &mounts) else { return skip("cannot mount") };
        assert_eq!(run.exit, if overlap { 125 } else { 0 }, "{what}: {run}");
        assert_eq!(run.stderr.contains("zones 'one' and 'two' overlap"), overlap, "{what}: {run}");
    }
}

#[test]
fn forbidden_directories_stay_forbidden_behind_a_mount() {
    let config = "sandbox:\n  mode: direct\n  zones:\n    zone: { path: ./m/zone, mode: rw }\n";
    for (what, from, says) in [
        (
            "the state directory",
            "\"$XDG_STATE_HOME/zonekeep\"",
            "where Zonekeep keeps its own records",
        ),
        (
            "a part of it",
            "\"$XDG_STATE_HOME/zonekeep/audit\"",
            "where Zonekeep keeps its own records",
        ),
        ("what holds it", "\"$XDG_STATE_HOME\"", "a directory that holds Zonekeep's own records"),
        ("a home", "\"$HOME\"", "a home directory, or holds one"),
        ("the root", "/", "the root of the file system"),
        ("something else", "own", ""),
    ] {
        let project = Project::with_config(PROGRAM, config)
            .dir("m/zone")
            .dir("own")
            .dir("../state/zonekeep/audit")
            .dir("../home");
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(project.state().join("zonekeep"), private).unwrap();
        let script = format!(
            "export HOME=\"$(dirname \"$XDG_STATE_HOME\")/home\"\n\
             mount --bind {from} m/zone || mount --rbind {from} m/zone || exit 99\n\
             exec \"$0\" tool list_files '{{\"path\": \"/zone\"}}'"
        );
        let Some(run) = with_mounts(&project, &script) else { return skip("cannot mount") };
        match says {
            "" => assert_eq!(run.exit, 0, "the control: {run}"),
            says => {
                assert_eq!(run.exit, 125, "{what}: {run}");
                assert!(run.stderr.contains(says), "{what}: {run}");
            }
        }
    }
}

#[test]
fn an_approver_behind_a_mount_of_a_zone_is_refused() {
    let config = "sandbox:\n  mode: direct\n  zones:\n    zone: { path: ./zone, mode: rw }\n";
    let project = Project::with_config(PROGRAM, config)
        .file("zone/bin/answer", "#!/bin/sh\necho '{\"approved\": true}'\n")
        .dir("safe/bin");
    let program = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path("zone/bin/answer"), program).unwrap();
    let run = |mount: &str| {
        let script = format!(
            "{mount}\nexec \"$0\" tool write_file '{{\"path\": \"/zone/x\", \"content\": \"x\"}}' --approve \"$PWD/safe/bin/answer\""
        );
        with_mounts(&project, &script)
    };
    let Some(refused) = run("mount --bind zone/bin safe/bin || exit 99") else {
        return skip("cannot mount");
    };
    assert_eq!(refused.exit, 125, "{refused}");
    assert!(
        refused.stderr.contains("lies in the zone 'zone', which agents can write"),
        "{refused}"
    );
    let control = run("cp -r zone/bin safe/").unwrap();
    assert_eq!(control.exit, 0, "the control: {control}");
}
