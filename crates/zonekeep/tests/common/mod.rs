//! A project on disk, opened as an embedding program would.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

use std::panic::catch_unwind;

use zonekeep::approve::{AllYes, Approver};
use zonekeep::command::Command;
use zonekeep::policy::config::{self, Overrides};
use zonekeep::policy::{Needs, worker_file};
use zonekeep::trust::TrustStore;
use zonekeep::{Project, Session, StateDir};
use zonekeep_testkit::{Project as Files, skip};

/// A directory to read, one to write, one that asks, one that is blocked.
pub const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro, suffixes: [.md, .txt], max_file_bytes: 100 }
    output: { path: ./out, mode: rw, approval: { write: preApproved, delete: preApproved } }
    asked: { path: ./asked, mode: rw, approval: { read: ask, write: ask, delete: ask } }
    shut: { path: ./shut, mode: rw, approval: { read: blocked, write: blocked, delete: blocked } }
  working_dir: /output
  home: /input
";

/// Returns the files of that project.
pub fn files() -> Files {
    Files::with_config("", CONFIG)
        .file("in/a.txt", "one\ntwo\n")
        .file("out/b.txt", "b\n")
        .file("asked/c.txt", "c\n")
        .file("shut/d.txt", "d\n")
}

/// Opens a project on disk, which its user trusts.
pub fn open(files: &Files, approver: impl Approver + 'static) -> Session {
    let project = Project::at(&files.path(""), &Overrides::default()).unwrap();
    let state = StateDir::at(files.state().join("zonekeep"));
    let reach = Session::reach(&project, &state).unwrap();
    if !reach.is_empty() {
        TrustStore::new(&state).trust(&project, &reach).unwrap();
    }
    Session::open(&project, &state, approver).unwrap()
}

/// Opens a project whose directories are in memory.
pub fn in_memory(config: &str, approver: impl Approver + 'static) -> Session {
    let loaded =
        config::load(config, "zonekeep.yaml", "/p/zonekeep.yaml".as_ref(), &Overrides::default());
    let policy = loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems));
    Session::in_memory(&policy, approver).unwrap()
}

/// Reads what a worker needs from the front matter of its file.
pub fn needs(front: &str) -> Needs {
    let parsed = worker_file::parse(&format!("---\nname: child\n{front}\n---\n"), "child.worker");
    parsed.worker.unwrap_or_else(|| panic!("{:#?}", parsed.problems)).needs
}

/// Runs tests that run commands, as a harness would.
///
/// A program with such tests has none: it is its own launcher, which it must become
/// before there is a second thread.
pub fn run_all(tests: &[(&str, fn())]) {
    zonekeep::confine::launcher::become_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<_> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let fits = |name: &str| filters.is_empty() || filters.iter().any(|word| name.contains(*word));
    let wanted = || tests.iter().filter(|(name, _)| fits(name));
    if arguments.iter().any(|word| word == "--list") {
        return wanted().for_each(|(name, _)| println!("{name}: test"));
    }
    let files = files();
    if let Err(error) = open(&files, AllYes).sandbox().run(&Command::new(["true"])) {
        return skip(&format!("commands cannot be run: {error}"));
    }
    let mut failed = Vec::new();
    for (name, test) in wanted() {
        let passed = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            failed.push(*name);
        }
    }
    println!("{} tests, failed: {failed:?}", wanted().count());
    std::process::exit(i32::from(!failed.is_empty()));
}
