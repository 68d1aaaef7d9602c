//! A project on disk, opened as an embedding program would.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use zonekeep::approve::Approver;
use zonekeep::policy::config::{self, Overrides};
use zonekeep::policy::{Needs, worker_file};
use zonekeep::{Project, Session, StateDir};
use zonekeep_testkit::Project as Files;

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

/// Opens a project on disk.
pub fn open(files: &Files, approver: impl Approver + 'static) -> Session {
    let project = Project::at(&files.path(""), &Overrides::default()).unwrap();
    Session::open(&project, &StateDir::at(files.state().join("zonekeep")), approver).unwrap()
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
