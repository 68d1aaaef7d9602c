//! `zonekeep quarantine`: guarded files that commands made.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const ID: &str = "6733a1c0-2f-0";

/// A project with one caught file.
fn project() -> Project {
    let project = Project::new(PROGRAM).dir("repo/.git");
    put_entry(&project, ID, 1_731_436_992, ".git/hooks/pre-commit", "#!/bin/sh\necho caught\n");
    project
}

/// Writes an entry as the guard writes it.
fn put_entry(project: &Project, id: &str, time: u64, path: &str, content: &str) {
    let dir = project.state().join("zonekeep/quarantine").join(id);
    fs::create_dir_all(dir.join("content")).unwrap();
    fs::write(dir.join("content/0"), content).unwrap();
    let entry = json!({
        "id": id,
        "time": time,
        "zone": project.path("repo"),
        "path": path,
        "agent_path": format!("/repo/{path}"),
        "pattern": ".git/hooks/",
        "kind": "file",
        "items": [{ "path": "", "kind": "file", "mode": 0o755, "content": 0, "size": content.len() }],
    });
    fs::write(dir.join("entry.json"), entry.to_string()).unwrap();
}

#[test]
fn what_was_caught_is_listed_and_shown() {
    let project = project();
    assert_snapshot!(project.zonekeep(["quarantine"]).to_string(), @"
    exit 0
    --- stdout
    6733a1c0-2f-0  2024-11-12T18:43:12  file      [TEMP]/project/repo/.git/hooks/pre-commit  (.git/hooks/)
    --- stderr
    ");
    assert_eq!(project.zonekeep(["quarantine", "list"]), project.zonekeep(["quarantine"]));
    assert_snapshot!(project.zonekeep(["quarantine", "show", ID]).to_string(), @"
    exit 0
    --- stdout
    6733a1c0-2f-0: file
      was at:  [TEMP]/project/repo/.git/hooks/pre-commit
      for the command: /repo/.git/hooks/pre-commit
      caught:  2024-11-12T18:43:12
      guarded: .git/hooks/

    .: file, mode 755, 22 bytes
      | #!/bin/sh
      | echo caught
    --- stderr
    ");
    let list: Value =
        serde_json::from_str(project.zonekeep(["quarantine", "--json"]).ok()).unwrap();
    assert_eq!(list[0]["id"], ID);
    let shown = project.zonekeep(["quarantine", "show", ID, "--json"]);
    let shown: Value = serde_json::from_str(shown.ok()).unwrap();
    assert_eq!(shown, list[0]);
    assert_snapshot!(Project::new(PROGRAM).zonekeep(["quarantine"]).to_string(), @"
    exit 0
    --- stdout

    --- stderr
    the quarantine is empty
    ");
}

#[test]
fn an_entry_is_put_back_once_and_over_nothing() {
    let project = project();
    project.put("repo/.git/hooks/pre-commit", "mine\n");
    assert_snapshot!(project.zonekeep(["quarantine", "restore", ID]).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: '[TEMP]/project/repo/.git/hooks/pre-commit' is there already

    hint: nothing was changed; move what is there away, and restore again
    ");
    assert_eq!(project.read("repo/.git/hooks/pre-commit"), "mine\n");
    fs::remove_file(project.path("repo/.git/hooks/pre-commit")).unwrap();
    assert_snapshot!(project.zonekeep(["quarantine", "restore", ID]).to_string(), @"
    exit 0
    --- stdout
    restored [TEMP]/project/repo/.git/hooks/pre-commit
    --- stderr
    ");
    assert_eq!(project.read("repo/.git/hooks/pre-commit"), "#!/bin/sh\necho caught\n");
    let mode = fs::metadata(project.path("repo/.git/hooks/pre-commit")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    assert_snapshot!(project.zonekeep(["quarantine", "restore", ID]).to_string(), @"
    exit 2
    --- stdout

    --- stderr
    error: there is no entry '6733a1c0-2f-0' in the quarantine: No such file or directory (os error 2)

    hint: `zonekeep quarantine` lists the entries
    ");
    let json = project.zonekeep(["quarantine", "restore", ID, "--json"]);
    let value: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.exit, &value["error"]["code"]), (2, &"usage".into()));
}

#[test]
fn entries_are_removed_for_good() {
    let project = project();
    put_entry(&project, "6733a1c1-2f-1", 1_731_436_993, "x", "x");
    put_entry(&project, "6733a1c1-2f-2", 1_731_436_994, "y", "y");
    assert_eq!(project.zonekeep(["quarantine", "drop"]).exit, 2);
    assert_eq!(project.zonekeep(["quarantine", "drop", ID, "--all"]).exit, 2);
    assert_eq!(project.zonekeep(["quarantine", "drop", ID]).ok(), "dropped 1 entry");
    assert!(!project.state().join("zonekeep/quarantine").join(ID).exists());
    assert_eq!(project.zonekeep(["quarantine", "drop", ID]).exit, 2);
    assert_eq!(project.zonekeep(["quarantine"]).ok().lines().count(), 2);
    assert_eq!(project.zonekeep(["quarantine", "drop", "--all"]).ok(), "dropped 2 entries");
    assert_eq!(project.zonekeep(["quarantine"]).ok(), "");
    assert!(project.path("repo/.git").exists());
}

#[test]
fn a_name_leads_nowhere_else() {
    let project = project();
    project.put("victim", "v");
    for id in ["..", ".", "../audit", "/etc", "", "6733a1c0-2f-0/../6733a1c0-2f-0", "x\u{1b}[31m"] {
        for task in ["show", "restore", "drop"] {
            let run = project.zonekeep(["quarantine", task, id]);
            assert_eq!(run.exit, 2, "{task} {id}: {run}");
            assert!(!run.stderr.contains('\x1b'), "{task} {id}");
        }
    }
    assert_eq!(project.zonekeep(["quarantine"]).ok().lines().count(), 1);
}

#[test]
fn content_cannot_pass_for_a_line_of_ours() {
    let project = Project::new(PROGRAM).dir("repo");
    put_entry(&project, ID, 0, "a\\nb", "one\n\x1b[2Jtwo\u{202e}\n");
    let run = project.zonekeep(["quarantine", "show", ID]);
    assert!(!run.ok().contains(['\x1b', '\u{202e}']), "{run}");
    assert!(run.ok().contains("  | one\n  | \\u{1b}[2Jtwo"), "{run}");
    let list = project.zonekeep(["quarantine"]);
    assert_eq!(list.ok().lines().count(), 1, "{list}");
    put_entry(&project, ID, 0, "bin", "a\0b");
    assert!(project.zonekeep(["quarantine", "show", ID]).ok().contains("(not text)"));
}

// Needs the guard of `zonekeep_confine::launcher`.
#[test]
fn a_planted_hook_is_caught_listed_and_restored() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = Project::new(PROGRAM).file(".git/HEAD", "ref: refs/heads/main\n");
    let script = "mkdir .git/hooks; printf '#!/bin/sh\\n' > .git/hooks/post-checkout; \
                  chmod +x .git/hooks/post-checkout; echo free > a.txt";
    let run = project.zonekeep(["run", "--rw", ".", "--", "sh", "-c", script]);
    assert!(!project.exists(".git/hooks/post-checkout"), "{run}");
    assert_eq!(project.read("a.txt"), "free\n");
    assert!(run.stderr.contains(".git/hooks/post-checkout' is a guarded file"), "{run}");

    let list = project.zonekeep(["quarantine", "--json"]);
    let list: Value = serde_json::from_str(list.ok()).unwrap();
    let entries = list.as_array().unwrap();
    assert_eq!(entries.len(), 1, "{list}");
    assert_eq!(entries[0]["agent_path"], "[TEMP]/project/.git/hooks/post-checkout");
    let id = entries[0]["id"].as_str().unwrap();
    let log = project.zonekeep(["log", "--tool", "run"]);
    let caught = log.ok().lines().last().unwrap();
    assert!(caught.starts_with("    caught ") && caught.contains(id), "{log}");

    let restored = project.zonekeep(["quarantine", "restore", id]);
    assert_eq!(restored.ok(), "restored [TEMP]/project/.git/hooks/post-checkout");
    assert_eq!(project.read(".git/hooks/post-checkout"), "#!/bin/sh\n");
    assert_eq!(project.zonekeep(["quarantine"]).ok(), "");
}

// Needs the guard of `zonekeep_confine::launcher`.
#[test]
fn hooks_that_are_there_cannot_be_changed() {
    let project = Project::new(PROGRAM)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/hooks/pre-push", "#!/bin/sh\n");
    let script = "echo bad >> .git/hooks/pre-push; rm -rf .git/hooks; true";
    project.zonekeep(["run", "--rw", ".", "--", "sh", "-c", script]);
    assert_eq!(project.read(".git/hooks/pre-push"), "#!/bin/sh\n");
}

#[test]
fn what_the_user_writes_after_a_run_is_the_users() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = Project::new(PROGRAM).dir("work");
    for round in 0..10 {
        let run = project.zonekeep(["run", "--rw", "work", "--", "true"]);
        assert_eq!(run.exit, 0, "{run}");
        project.put("work/.envrc", "mine");
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(project.path("work/.envrc").exists(), "round {round}");
        fs::remove_file(project.path("work/.envrc")).unwrap();
    }
    assert_eq!(project.zonekeep(["quarantine"]).ok(), "");
}

#[test]
fn a_part_of_a_file_is_restored_only_as_a_part() {
    let project = project();
    let path = project.state().join("zonekeep/quarantine").join(ID).join("entry.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen(
            "\"kind\":\"file\",\"mode\"",
            "\"truncated\":true,\"kind\":\"file\",\"mode\"",
            1,
        ),
    )
    .unwrap();
    assert_snapshot!(project.zonekeep(["quarantine", "restore", ID]).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: only a part of '[TEMP]/project/repo/.git/hooks/pre-commit' was kept: the first 22 bytes

    hint: nothing was changed; --incomplete puts the part back, and keeps the entry
    ");
    assert!(!project.exists("repo/.git/hooks/pre-commit"));
    project.zonekeep(["quarantine", "restore", ID, "--incomplete"]).ok();
    assert_eq!(project.read("repo/.git/hooks/pre-commit"), "#!/bin/sh\necho caught\n");
    assert!(project.zonekeep(["quarantine"]).ok().contains(ID), "the entry stays");
}
