//! Zones at their host paths (`zones.NAME.at: same`).

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use crate::mcp_common::{Client, text};
use serde_json::{Value, json};
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw, at: same, approval: { write: preApproved } }
    data: { path: ./data, mode: ro }
  working_dir: /repo
shell:
  default: preApproved
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("repo/a.txt", "one\n")
        .file("data/b.txt", "two\n")
        .file("secret.txt", "outside\n")
}

fn value(project: &Project, tool: &str, arguments: Value) -> Value {
    let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--json"]);
    serde_json::from_str(run.ok()).unwrap()
}

fn refusal(project: &Project, tool: &str, arguments: Value) -> (String, String) {
    let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--json"]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |key: &str| value["error"][key].as_str().unwrap_or_default().to_owned();
    (text("code"), format!("{}\n{}", text("message"), text("hint")))
}

fn host(project: &Project, path: &str) -> String {
    project.path(path).to_str().unwrap().to_owned()
}

/// Returns a host path of the project as output of the program has it in tests.
fn shown(path: &str) -> String {
    format!("[TEMP]/project/{path}").trim_end_matches('/').to_owned()
}

#[test]
fn file_tools_use_the_host_path_of_a_zone() {
    let project = project();
    let file = host(&project, "repo/a.txt");
    for path in [file.as_str(), "a.txt", "/repo/a.txt", "./sub/../a.txt"] {
        let read = value(&project, "read_file", json!({ "path": path }));
        assert!(read.to_string().contains("one"), "{path}: {read}");
    }
    let wrote = value(&project, "write_file", json!({ "path": "/repo/new.txt", "content": "x" }));
    assert_eq!(wrote["path"], shown("repo/new.txt"), "results name the one path");
    assert_eq!(project.read("repo/new.txt"), "x");
    let listed = value(&project, "list_files", json!({ "path": "/" })).to_string();
    assert!(listed.contains(host(&project, "repo").trim_start_matches('/')), "{listed}");
    for (pattern, count) in [("**/*.txt", 3), ("data/*", 1), ("tmp/**/a.txt", 1)] {
        let top = host(&project, "repo");
        let first = top.split('/').nth(1).unwrap();
        let pattern = pattern.replace("tmp", first);
        let found = value(&project, "list_files", json!({ "path": "/", "pattern": pattern }));
        assert_eq!(found["files"].as_array().unwrap().len(), count, "{pattern}: {found}");
    }
    let found = value(&project, "search_files", json!({ "path": "/", "pattern": "one" }));
    assert!(found.to_string().contains(file.trim_start_matches('/')), "{found}");
}

#[test]
fn a_pasted_host_path_means_the_zone_that_holds_it() {
    let project = project();
    let read = value(&project, "read_file", json!({ "path": host(&project, "data/b.txt") }));
    assert!(read.to_string().contains("two"), "{read}");
    let copied = json!({ "source": host(&project, "data/b.txt"), "destination": "b.txt" });
    value(&project, "copy_file", copied);
    assert_eq!(project.read("repo/b.txt"), "two\n");
    // It is held to the rules of the zone.
    let write = json!({ "path": host(&project, "data/b.txt"), "content": "x" });
    assert_eq!(refusal(&project, "write_file", write).0, "read_only");
}

#[test]
fn a_host_path_outside_every_zone_stays_outside() {
    let project = project();
    for path in ["secret.txt", "", "data/../secret.txt", "repo/../secret.txt", "zonekeep.yaml"] {
        let path = host(&project, path);
        let (code, message) = refusal(&project, "read_file", json!({ "path": path }));
        assert_eq!(code, "outside", "{path}: {message}");
        // The zone that is at its name is not given away by its host path.
        let (_, readable) = message.split_once('\n').unwrap();
        assert!(!readable.contains(&shown("data")), "{message}");
        assert!(message.ends_with(&format!("/data, {}", shown("repo"))), "{message}");
    }
}

#[test]
fn a_zone_at_its_host_path_has_no_links_on_the_way() {
    let project = Project::with_config(PROGRAM, &CONFIG.replace("./repo", "./way"))
        .file("real/a.txt", "one\n")
        .dir("data")
        .link("way", "real");
    let check = project.zonekeep(["check"]);
    assert_ne!(check.exit, 0, "{check}");
    let text = check.to_string();
    assert!(text.contains("cannot be its path for agents"), "{check}");
    assert!(text.contains(&shown("real")), "{check}");
    assert_ne!(project.zonekeep(["tool", "list_files", r#"{"path": "/"}"#]).exit, 0);
}

#[test]
fn explain_and_check_name_the_place() {
    let project = project();
    let file = host(&project, "repo/a.txt");
    let explained = project.zonekeep(["explain", "read", &file]);
    assert!(explained.ok().contains(&shown("repo")), "{explained}");
    let system = CONFIG.replace("./repo", "/usr/src");
    let check = Project::with_config(PROGRAM, &system).dir("data").zonekeep(["check"]);
    assert!(check.to_string().contains("commands have /usr there"), "{check}");
}

#[test]
fn directories_of_flags_are_at_their_own_paths() {
    let project = Project::new(PROGRAM).file("repo/a.txt", "one\n").file("data/b.txt", "two\n");
    let tool = |dir: &str, tool: &str, arguments: Value| {
        let data = host(&project, "data");
        let repo = host(&project, "repo");
        let arguments = arguments.to_string();
        let flags = ["tool", "--rw", &repo, "--ro", &data, "--json", tool, &arguments];
        let run = project.zonekeep_in(dir, flags);
        serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{run}"))
    };
    let read = tool("", "read_file", json!({ "path": "a.txt" }));
    assert!(read.to_string().contains("one"), "starts in the first: {read}");
    let read = tool("data", "read_file", json!({ "path": "b.txt" }));
    assert!(read.to_string().contains("two"), "starts where it is called: {read}");
    let path = host(&project, "repo/new.txt");
    tool("", "write_file", json!({ "path": path, "content": "x" }));
    assert_eq!(project.read("repo/new.txt"), "x", "--rw needs no question");
    let path = host(&project, "data/b.txt");
    let refused = tool("", "write_file", json!({ "path": path, "content": "x" }));
    assert_eq!(refused["error"]["code"], "read_only", "{refused}");
    let outside = tool("", "read_file", json!({ "path": host(&project, "zonekeep.yaml") }));
    assert_eq!(outside["error"]["code"], "outside", "{outside}");
    let asked = tool("", "delete_file", json!({ "path": "a.txt" }));
    assert_eq!(asked["error"]["code"], "declined", "{asked}");
    assert!(!project.exists(".sandbox"), "no zones that nobody asked for");
    for (flag, dir) in [("--rw", "/"), ("--rw", "missing"), ("--ro", "/proc"), ("--rw", "/etc")] {
        let run = project.zonekeep(["tool", flag, dir, "list_files", "{}"]);
        assert_ne!(run.exit, 0, "{flag} {dir}: {run}");
    }
    let help = |command: &str| project.zonekeep([command, "--help"]).ok().to_owned();
    for command in ["mcp", "tool", "work", "chat", "run"] {
        assert!(help(command).contains("--rw <DIR>"), "{command}");
        assert!(help(command).contains("--ro <DIR>"), "{command}");
    }
}

#[test]
fn a_server_and_a_worker_have_the_directories_of_flags_too() {
    let project = Project::new(PROGRAM)
        .file("repo/a.txt", "one\n")
        .file("all.worker", "---\nname: all\nsandbox: { zones: all }\n---\nWork.\n")
        .file("secret.txt", "outside\n");
    let (repo, file) = (host(&project, "repo"), host(&project, "repo/a.txt"));
    let outside = host(&project, "secret.txt");
    let mut client = Client::open(&project, &["--rw", &repo], &json!({}));
    for path in [file.as_str(), "a.txt"] {
        let read = client.tool("read_file", json!({ "path": path }));
        assert_eq!(text(&read), "one\n", "{read}");
    }
    let new = json!({ "path": host(&project, "repo/served"), "content": "x" });
    client.tool("write_file", new);
    assert_eq!(project.read("repo/served"), "x");
    let refused = client.tool("read_file", json!({ "path": outside }));
    assert!(text(&refused).contains("path is outside sandbox"), "{refused}");
    client.end();

    let replies = format!(
        "all:\n  - calls:\n      - read_file: {{ path: {file} }}\n      - write_file: {{ path: {repo}/worked, content: x }}\n      - read_file: {{ path: {outside} }}\n  - expect: path is outside sandbox\n    say: done\n"
    );
    project.put("replies.yaml", replies);
    let work = ["work", "--rw", &repo, "--model", "scripted:replies.yaml", "all", "go"];
    assert_eq!(project.zonekeep(work).ok().trim(), "done");
    assert_eq!(project.read("repo/worked"), "x");
}

#[cfg(target_os = "linux")]
mod commands {
    use super::*;

    fn shell(project: &Project, arguments: Value) -> String {
        let run = project.zonekeep([
            "tool",
            "--approve",
            "all",
            "--json",
            "shell",
            &arguments.to_string(),
        ]);
        let value: Value = serde_json::from_str(run.ok()).unwrap();
        assert_eq!(value["exit_code"], 0, "{value}");
        value["stdout"].as_str().unwrap().trim_end().to_owned()
    }

    /// Landlock adds up the rights of the directories above a file, and in `/tmp` commands
    /// may delete.
    #[test]
    fn blocked_deletion_is_not_promised_in_a_private_directory() {
        if !zonekeep_testkit::enforced(PROGRAM) {
            return;
        }
        let config =
            CONFIG.replace("write: preApproved }", "write: preApproved, delete: blocked }");
        let in_tmp = host(&project(), "").starts_with("/tmp/");
        let run = |config: &str| {
            let project =
                Project::with_config(PROGRAM, config).file("repo/a.txt", "one\n").dir("data");
            let run = project.zonekeep(["run", "--", "rm", "-f", "a.txt"]);
            (run.exit, run.to_string(), project.exists("repo/a.txt"))
        };
        let (exit, text, kept) = run(&config);
        assert!(kept && exit != 0, "{text}");
        assert_eq!(in_tmp, text.contains("deletion is blocked in"), "{text}");
        // At its name it is held, and without the rule the file is removed.
        let (exit, text, kept) = run(&config.replace("at: same, ", ""));
        assert!(kept && exit != 0, "{text}");
        let (exit, text, kept) = run(CONFIG);
        assert!(!kept && exit == 0, "{text}");
    }

    #[test]
    fn commands_see_a_zone_at_its_host_path() {
        if !zonekeep_testkit::enforced(PROGRAM) {
            return;
        }
        let project = project();
        let repo = host(&project, "repo");
        assert_eq!(
            shell(&project, json!({ "command": "pwd; cat a.txt" })),
            format!("{}\none", shown("repo"))
        );
        let line = format!("cat {repo}/a.txt; cat /data/b.txt; echo x > {repo}/made");
        assert_eq!(shell(&project, json!({ "command": line })), "one\ntwo");
        assert_eq!(project.read("repo/made"), "x\n");
        // Beside the zone there is nothing of the host.
        let beside = format!("ls -A {}", host(&project, ""));
        assert_eq!(shell(&project, json!({ "command": beside })), "repo");
        assert_eq!(
            shell(&project, json!({ "command": "ls -d /repo 2>&1 || true" })),
            "ls: cannot access '/repo': No such file or directory"
        );
        // A pasted directory is one to start in.
        let data = host(&project, "data");
        assert_eq!(shell(&project, json!({ "command": "pwd", "cwd": data })), "/data");
        assert_eq!(shell(&project, json!({ "command": "pwd", "cwd": "/repo" })), shown("repo"));
        let run = project.zonekeep(["run", "--", "pwd"]);
        assert_eq!(run.ok().trim_end(), shown("repo"));
    }
}
