//! The program against `cat`: what one tool call costs as a whole process.
//! Prints a ratio; see `measure`.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

#[path = "../../zonekeep/benches/measure/mod.rs"]
mod measure;

use std::fs;
use std::process::{Command, Stdio};

use measure::{Options, Table, side_by_side};

const CONFIG: &str = "\
sandbox:
  mode: direct
  zones:
    data: { path: ./data, mode: ro }
";

fn main() {
    let options = Options::of_process();
    let temp = tempfile::Builder::new().prefix("zonekeep-bench-").tempdir().unwrap();
    let project = temp.path().join("project");
    fs::create_dir_all(project.join("data")).unwrap();
    fs::write(project.join("zonekeep.yaml"), CONFIG).unwrap();
    let line = "The quick brown fox jumps over the lazy dog, again and again.\n";
    fs::write(project.join("data/file.txt"), &line.repeat(67)[..4096]).unwrap();

    let run = |program: &str, args: &[&str]| {
        let status = Command::new(program)
            .args(args)
            .current_dir(&project)
            .env("XDG_STATE_HOME", temp.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    };
    let tool = ["tool", "read_file", r#"{"path": "/data/file.txt"}"#];
    let pair = side_by_side(
        options.size(501, 21),
        || run(env!("CARGO_BIN_EXE_zonekeep"), &tool),
        || run("cat", &["data/file.txt"]),
    );
    let mut table = Table::new(&options);
    if options.wants("process_read") {
        table.ratio("process_read", "zonekeep tool read_file / cat", Some(5.0), pair);
    }
    table.print();
}
