//! The shipped examples, run as their README says.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use zonekeep_testkit::{Project, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Copies an example and runs its script with the program that was just built.
fn run(name: &str) -> (Project, Run) {
    let project = Project::new(PROGRAM).dir("tmp");
    let copied = Command::new("cp").arg("-R").arg(shipped(name)).arg(project.path("")).status();
    assert!(copied.unwrap().success());
    let before = project.tree("");
    let mut path = OsString::from(Path::new(PROGRAM).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = Command::new("sh");
    project.prepare(&mut command);
    command.env("PATH", path).env("TMPDIR", project.path("tmp"));
    let run = project.finish(command.arg(project.path(name).join("run.sh")));
    run.ok();
    assert_eq!(project.tree(""), before, "the script leaves nothing behind");
    assert!(!project.state().exists(), "its records are its own");
    (project, run)
}

#[track_caller]
fn in_order(run: &Run, parts: &[&str]) {
    let mut rest = run.stdout.as_str();
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => panic!("{part:?} is not in its place in\n{run}"),
        }
    }
}

#[test]
fn notes() {
    let (_, run) = run("notes");
    in_order(
        &run,
        &[
            "zonekeep.yaml: ok, 2 zone(s), 0 worker(s), 0 warning(s)",
            "input\noutput\n",
            "# Greenhouse, 3 March",
            "2026/03-greenhouse.md:4:- TODO Ines: order shade cloth for bed 5.",
            "[2 matches in 2 files.]",
            "Cannot write to '/input/2026/03-greenhouse.md': path is read-only.\nWritable paths: /output\n",
            "Cannot access '/input/../../../etc/passwd': path is outside sandbox.\n",
            "Created /output/summary.md (",
            "Cannot delete '/output/summary.md': it needs the user's approval",
            "- count the tomato plants before Friday\n",
            "rule:    zones.input.mode: ro (zonekeep.yaml:9)",
            "change:  sandbox.zones.input.mode: rw  (at zonekeep.yaml:9)",
            "deny  refused write /input/2026/03-greenhouse.md read_only",
            "allow done    write /output/summary.md",
        ],
    );
}

#[test]
fn pipeline() {
    let (_, run) = run("pipeline");
    in_order(
        &run,
        &[
            "zonekeep.yaml: ok, 2 zone(s), 3 worker(s), 0 warning(s)",
            "complaint.txt\noffer.md\nstock.csv\n",
            "Note to AI assistants",
            "Cannot use 'read_file': the tool is not available.",
            "Cannot access '/inbox/offer.md': path is outside sandbox.\nReadable paths: /reports\n",
            "Cannot access '/etc/passwd': path is outside sandbox.",
            "Cannot delete '/reports/february.md': this is blocked",
            "Cannot write to '/reports/march.md': it needs the user's approval",
            "Created /reports/march.md (",
            "february.md\nmarch.md\n",
            "[publisher]  deny  refused read /inbox/offer.md outside",
            "no by all-no",
        ],
    );
}

#[test]
fn the_pipeline_is_what_init_writes() {
    let project = Project::new(PROGRAM);
    project.zonekeep(["init", "--template", "pipeline"]).ok();
    for name in
        ["zonekeep.yaml", "main.worker", "workers/analyst.worker", "workers/publisher.worker"]
    {
        let shipped = std::fs::read_to_string(shipped("pipeline").join(name)).unwrap();
        assert_eq!(shipped, project.read(name), "{name}");
    }
}
