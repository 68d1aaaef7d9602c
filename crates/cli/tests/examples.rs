//! The shipped examples, run as their README says.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use zonekeep_testkit::{Project, Run, enforced, program, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Copies an example and runs its script with the program that was just built.
fn run(name: &str) -> (Project, Run) {
    run_by(Command::new("sh"), name)
}

/// Runs an example as in a container that lets programs make no namespaces.
fn run_in_plain_container(name: &str) -> Run {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/plain-container");
    let mut command = Command::new("python3");
    command.arg(script).arg("sh");
    run_by(command, name).1
}

fn run_by(mut command: Command, name: &str) -> (Project, Run) {
    let project = Project::new(PROGRAM).dir("tmp");
    let copied = Command::new("cp").arg("-R").arg(shipped(name)).arg(project.path("")).status();
    assert!(copied.unwrap().success());
    let before = project.tree("");
    let mut path = OsString::from(Path::new(PROGRAM).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
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
            "input/\noutput/\n",
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
    if !enforced(PROGRAM) {
        return;
    }
    let (_, run) = run("pipeline");
    in_order(
        &run,
        &[
            "zonekeep.yaml: ok, 4 zone(s), 4 worker(s), 0 warning(s)",
            "analyst (workers/analyst.worker)",
            "directories: none: a pure function",
        ],
    );
    let refusals = [
        ("policy", "Cannot access '~/.ssh/id_ed25519': path is outside sandbox."),
        ("policy", "Cannot access '/root/.aws/credentials': path is outside sandbox."),
        ("policy", "Cannot access '/inbox/../../../../etc/passwd': path is outside sandbox."),
        ("kernel", "Cannot read '/inbox/statement.txt': it is a symbolic link"),
        ("kernel", "Cannot read '/inbox/older/2026.csv': a link on the way leads outside"),
        ("policy", "Cannot access '/ledger/2026.csv': path is outside sandbox."),
        ("kernel", "cat: /ledger/2026.csv: No such file or directory"),
        ("policy", "Cannot access '/customers/list.csv': path is outside sandbox."),
        ("kernel", "/bin/bash: line 1: /dev/tcp/192.0.2.1/443: "),
        ("approval", "Cannot run 'curl --data-binary @february.md"),
        ("policy", "Cannot write to '/inbox/offer.md': path is read-only."),
        ("kernel", "/bin/bash: line 1: /inbox/offer.md: Read-only file system"),
        ("policy", "Cannot delete '/reports/february.md': this is blocked"),
        ("policy", "Cannot use 'move_file': the tool is not available."),
        ("policy", "Cannot run 'rm -f february.md': this command is not allowed"),
        ("policy", "Cannot call 'bookkeeper': it needs more than this worker has."),
        ("policy", "Cannot access '/reports/.envrc': suffix not allowed."),
        ("policy", "Cannot call 'root-helper': this worker may not call it."),
        ("approval", "Cannot write to '/reports/february.md': the user declined."),
        ("policy", "Cannot use 'read_file': the tool is not available."),
    ];
    let lines: Vec<String> =
        refusals.iter().map(|(layer, words)| format!("{layer}: {words}")).collect();
    in_order(&run, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    in_order(
        &run,
        &[
            "tainted  by ",
            "question: write /reports/march.md – yes",
            "The report is in /reports/march.md.",
            "none with a network: 0 bytes out",
            "true: the report is there\n",
            "\nEvery attack was refused, and the work is done.\n",
        ],
    );
    // In either order: entries of one second are sorted by their ids.
    for caught in ["pipeline/reports/.envrc  (.envrc)", "reports/helper.worker  (*.worker)"] {
        assert!(run.stdout.contains(caught), "{caught} is not in\n{run}");
    }
    for figure in ["4187302956", "3820617349"] {
        assert!(!run.stdout.contains(figure), "{figure} of the ledger is in\n{run}");
    }
}

#[test]
fn the_pipeline_grew_from_what_init_writes() {
    let project = Project::new(PROGRAM);
    project.zonekeep(["init", "--template", "pipeline"]).ok();
    for name in ["workers/analyst.worker", "workers/publisher.worker"] {
        let shipped = std::fs::read_to_string(shipped("pipeline").join(name)).unwrap();
        assert_eq!(shipped, project.read(name), "{name}");
    }
}

#[test]
fn code_analyst() {
    if !enforced(PROGRAM) {
        return;
    }
    if Command::new("git").arg("--version").output().is_err() {
        return skip("there is no git");
    }
    let (_, run) = run("code-analyst");
    in_order(
        &run,
        &[
            "zonekeep.yaml: ok, 2 zone(s), 2 worker(s), 0 warning(s)",
            "ok       shell git log --oneline --no-decorate",
            "ok       shell git diff HEAD~2 -- src | head -n 40",
            "held     shell ./check.sh",
            "kernel: ",
            "policy: Cannot write to '/repo/src/cart.sh': path is read-only.",
            "approval: Cannot run 'sed -i",
            "policy: Cannot call 'fixer': it needs more than this worker has.",
            "approval: Cannot run 'git push origin main': it needs the user's approval",
            "policy: Cannot run 'rm -rf /repo/src': this command is not allowed",
            "ok       write_file /reports/review.md",
            "\"findings\"",
            "true: nothing in the repository was changed or added\n",
            "\nThe code was read, run and reviewed, and is as it was.\n",
        ],
    );
}

#[test]
fn assistant() {
    if !enforced(PROGRAM) {
        return;
    }
    let (_, run) = run("assistant");
    in_order(
        &run,
        &[
            "zonekeep.yaml: ok, 1 zone(s), 1 worker(s), 0 warning(s)",
            "/home (rw)",
            "ok       shell bin/watch-downloads.sh",
            "ok       move_file",
            "ok       edit_file ~/notes/todo.md",
            "approval: Cannot delete '~/downloads/setup-old.txt'",
            "ok       shell_job",
            "The bill is in ~/documents/invoices/0412.txt",
            "Cannot read '~/.ssh/id_ed25519'",
            "policy: Cannot access '/root/.ssh/id_ed25519': path is outside sandbox.",
            "policy: Cannot write to '~/.bashrc': the file is protected",
            "policy: Cannot write to '~/bin/watch-downloads.sh': the file is protected",
            "I have no keys, and I cannot get any.",
            "Hello. What can I do for you?",
            "It is on your list.",
            "true: it has never seen the key\n",
            "\nThe home is in order, and yours was never there.\n",
        ],
    );
}

#[test]
fn every_example_runs_in_a_plain_container_and_says_what_is_not_enforced() {
    if program("python3").is_none() || program("git").is_none() {
        return skip("there is no python3, or no git");
    }
    let cases = [
        ("pipeline", "it could not be confined, so it was not run", "Every attack was refused"),
        ("code-analyst", "Cannot run './check.sh': it needs the user's approval", "is as it was"),
        ("assistant", "Cannot run 'cat /etc/shadow': it needs", "yours was never there"),
    ];
    for (name, refused, end) in cases {
        let run = run_in_plain_container(name);
        let says = "# This machine does not fully enforce the boundaries of commands:";
        in_order(&run, &[says, "namespaces not available", refused, end]);
    }
    in_order(&run_in_plain_container("notes"), &["path is outside sandbox."]);
}
