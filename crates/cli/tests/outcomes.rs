//! The outcome of a command whose sandbox dies: never a false one.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, enforced, eventually};

use crate::mcp_common::{Client, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    work: { path: ./work, mode: rw }
    input: { path: ./in, mode: ro }
  working_dir: /work
shell: { default: contained }
";

/// Returns the processes below a process, nearer ones first.
fn below(pid: u32) -> Vec<u32> {
    let mut pids = vec![pid];
    let mut at = 0;
    while let Some(&pid) = pids.get(at) {
        at += 1;
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            pids.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    pids.split_off(1)
}

/// Returns the processes of Zonekeep's own among them.
fn own(pid: u32) -> Vec<u32> {
    let mut pids = below(pid);
    pids.retain(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.starts_with("zonekeep")
    });
    pids
}

/// Returns the last record of a command.
fn last(project: &Project) -> Value {
    let lines = project.log_lines();
    let records = lines.iter().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut runs = records.filter(|record| record["run"].is_object());
    runs.next().unwrap()
}

#[test]
fn a_command_whose_sandbox_is_killed_has_an_unknown_outcome() {
    if !enforced(PROGRAM) {
        return;
    }
    let line = "echo changed > file; touch begun; until [ -e go ]; do sleep 0.05; done; echo whole";
    let mut unknown = 0;
    // Each process of Zonekeep's below the server in turn: the holder of the zones for file
    // tools, and the keeper, init and supervisor of the command.
    for (piece, background) in (0..6).flat_map(|piece| [(piece, false), (piece, true)]) {
        let project = Project::with_config(PROGRAM, CONFIG).dir("work").dir("in");
        let mut client = Client::open(&project, &[], &json!({}));
        let call = client.begin("shell", json!({ "command": line, "background": background }));
        eventually("the command", || project.exists("work/begun").then_some(()));
        let Some(&pid) = own(client.pid()).get(piece) else {
            assert!(piece >= 3, "there are a keeper, an init and a supervisor");
            break;
        };
        kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
        // A command that is not concerned ends.
        project.put("work/go", "");
        let answer = client.answer_to(call)["result"].clone();
        let says = match background {
            false => text(&answer).to_owned(),
            true => eventually("the end", || {
                let job = client.tool("shell_job", json!({ "action": "read", "job": 1 }));
                // A note may have the word, too: about processes that were left running.
                let state = &job["structuredContent"]["jobs"][0]["state"];
                let state =
                    if state.is_null() { &job["structuredContent"]["state"] } else { state };
                assert!(state.is_string(), "{job}");
                (state != "running").then(|| text(&job).to_owned())
            }),
        };
        assert_eq!(project.read("work/file"), "changed\n");
        assert!(
            !says.contains("not run") && !says.contains("nothing was changed"),
            "{piece}: {says}"
        );
        let record = eventually("the record", || {
            Some(last(&project)).filter(|record| record["outcome"] != "begun")
        });
        if record["outcome"] == "done" {
            let is_whole = says.contains("whole") && record["run"]["exit_code"] == 0;
            assert!(is_whole || record["run"]["signal"] == 9, "{piece}: {says}: {record}");
        } else {
            let found = (&record["outcome"], &record["code"]);
            assert_eq!(found, (&json!("unknown"), &json!("unknown")), "{piece}: {says}");
            let wants =
                "ended: its sandbox ended while it ran.\nIt may have changed files in: /work.";
            assert!(says.contains(wants), "{piece}: {says}");
            unknown += 1;
        }
        // The next command gets a new sandbox.
        let next = client.tool("shell", json!({ "command": "cat file" }));
        assert!(text(&next).contains("changed"), "{next}");
        assert_eq!(client.end(), Some(0));
    }
    assert!(unknown >= 2, "the keeper and init take the command with them");
}
