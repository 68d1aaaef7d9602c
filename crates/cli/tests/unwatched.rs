//! Guards where the kernel gives out no more watches.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::Command;

use zonekeep_testkit::{Project, Run, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Makes a user namespace of its own without inotify, as if all were taken, so that no
/// other program of the user goes without.
const WITHOUT: &str = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"";

fn without_inotify(project: &Project, args: &[&str]) -> Run {
    let mut command = Command::new("unshare");
    project.prepare(&mut command);
    command.args(["--user", "--map-root-user", "sh", "-c", WITHOUT, "sh"]);
    command.arg(project.program()).args(args);
    project.finish(&mut command)
}

#[test]
fn every_backend_says_that_it_does_not_watch() {
    let probe = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", WITHOUT, "sh", "true"])
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        return skip("no user namespace can be made here");
    }
    let project = Project::new(PROGRAM);
    for backend in ["auto", "namespaces", "bubblewrap"] {
        let setting = format!("sandbox.backend={backend}");
        let args = ["run", "--set", &setting, "--strict", "--", "true"];
        let strict = without_inotify(&project, &args);
        assert_eq!(strict.exit, 125, "{backend}: {strict}");
        if backend == "auto" {
            assert!(strict.stderr.contains("directories are watched"), "{strict}");
        }
        let run = without_inotify(&project, &["run", "--set", &setting, "--", "true"]);
        if run.exit == 0 {
            assert!(run.stderr.contains("guarded files"), "{backend}: {run}");
        }
    }
    let run = project.zonekeep(["run", "--", "cat", "/proc/sys/user/max_inotify_instances"]);
    assert!(run.exit != 0 || run.stdout.trim() != "0", "the limit above is the test's own: {run}");
}
