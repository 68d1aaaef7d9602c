//! `zonekeep quarantine`: guarded files that commands made.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, enforced};

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
    put_entry_of(project, "repo", id, time, path, content);
}

fn put_entry_of(project: &Project, zone: &str, id: &str, time: u64, path: &str, content: &str) {
    let zone = project.path(zone);
    let dir = project.state().join("zonekeep/quarantine").join(id);
    fs::create_dir_all(dir.join("content")).unwrap();
    fs::write(dir.join("content/0"), content).unwrap();
    let entry = json!({
        "id": id,
        "time": time,
        "zone": zone.canonicalize().unwrap_or(zone),
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

    hint: nothing was changed; --replace puts it in the place of the file that is there
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
    // Where nobody can be asked, nothing is removed.
    assert_eq!(project.zonekeep(["quarantine", "drop", "--all"]).exit, 2);
    assert_eq!(project.zonekeep(["quarantine"]).ok().lines().count(), 2);
    let dropped = project.zonekeep(["quarantine", "drop", "--all", "--yes"]);
    assert_eq!(dropped.ok(), "dropped 2 entries");
    assert_eq!(project.zonekeep(["quarantine"]).ok(), "");
    assert!(project.path("repo/.git").exists());
}

#[test]
fn a_held_change_replaces_the_old_version() {
    let project = project();
    project.put("repo/.git/hooks/pre-commit", "old\n");
    let restored = project.zonekeep(["quarantine", "restore", ID, "--replace"]);
    assert!(restored.ok().starts_with("restored "), "{restored}");
    assert_eq!(project.read("repo/.git/hooks/pre-commit"), "#!/bin/sh\necho caught\n");
    assert_eq!(project.tree("repo/.git/hooks").len(), 1);
    // A directory is never replaced.
    put_entry(&project, ID, 1, "x", "x");
    fs::create_dir(project.path("repo/x")).unwrap();
    assert_eq!(project.zonekeep(["quarantine", "restore", ID, "--replace"]).exit, 1);
    assert!(project.path("repo/x").is_dir());
}

#[test]
fn entries_of_other_projects_are_listed_everywhere_only() {
    let project = project();
    let dir = project.state().join("zonekeep/quarantine/6733a1c1-2f-9");
    put_entry(&project, "6733a1c1-2f-9", 2, "x", "x");
    let entry = fs::read_to_string(dir.join("entry.json")).unwrap();
    let other = entry.replace(project.path("repo").to_str().unwrap(), "/elsewhere");
    fs::write(dir.join("entry.json"), other).unwrap();
    let list = project.zonekeep(["quarantine"]);
    assert_eq!(list.ok().lines().count(), 1);
    assert!(list.stderr.contains("1 entry of other projects"), "{list}");
    assert_eq!(project.zonekeep(["quarantine", "--everywhere"]).ok().lines().count(), 2);
    project.zonekeep(["quarantine", "drop", "--all", "--yes"]).ok();
    assert!(dir.exists(), "it belongs to another project");
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

#[test]
fn a_project_that_fills_its_part_stops_itself_alone() {
    if !enforced(PROGRAM) {
        return;
    }
    let config = "sandbox:
  mode: direct
  zones: { repo: { path: ./repo, mode: rw }, out: { path: ../out, mode: rw } }
shell: { default: preApproved }
";
    let project = Project::with_config(PROGRAM, config).dir("repo").dir("../out");
    project.zonekeep(["trust", "--yes"]).ok();
    let project = project.file("../other/zonekeep.yaml", "{}\n");
    project.zonekeep(["run", "--", "true"]).ok();
    // Two zones share the part of their project; one lies outside its directory.
    for number in 0..250 {
        put_entry(&project, &format!("a-{number:x}"), 1, "x", "x");
        put_entry_of(&project, "../out", &format!("b-{number:x}"), 1, "x", "x");
    }
    assert_snapshot!(project.zonekeep(["run", "--", "true"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: the quarantine is full for this project (500 entries or 512 MiB)

    hint: `zonekeep quarantine` lists the entries of this project, and `zonekeep quarantine drop --all` removes them; with --everywhere those of all projects
    ");
    let call = ["tool", "--json", "shell", r#"{"command": "true"}"#];
    let refused = project.zonekeep(call);
    let value: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!((refused.exit, &value["error"]["code"]), (125, &"quarantine_full".into()));
    assert!(!refused.to_string().contains("accept-weaker"), "{refused}");
    // The others go on.
    project.zonekeep_in("../other", ["run", "--", "true"]).ok();
    project.zonekeep_in("../other", ["run", "--rw", ".", "--", "true"]).ok();
    // The command that the message names helps.
    let dropped = project.zonekeep(["quarantine", "drop", "--all", "--yes"]);
    assert_eq!(dropped.ok(), "dropped 500 entries");
    project.zonekeep(["run", "--", "true"]).ok();
    // All together have a bound, too.
    let quarantine = project.state().join("zonekeep/quarantine");
    for number in 0..2_000 {
        fs::create_dir_all(quarantine.join(format!("c-{number:x}"))).unwrap();
    }
    let run = project.zonekeep_in("../other", ["run", "--rw", ".", "--", "true"]);
    assert!(run.exit == 125 && !run.stderr.contains("accept-weaker"), "{run}");
    assert!(run.stderr.contains("zonekeep quarantine drop --all --everywhere"), "{run}");
}

#[test]
fn a_message_about_caught_files_names_a_command_that_works() {
    if !enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM).dir("work");
    let caught = |script: &str| {
        let run = project.zonekeep(["run", "--rw", "work", "--", "sh", "-c", script]);
        let (_, ids) = run.stderr.split_once("zonekeep quarantine show ").unwrap_or_else(|| {
            panic!("{run}");
        });
        let ids = ids.lines().next().unwrap().split(' ').map(str::to_owned);
        ids.collect::<Vec<String>>()
    };
    let task = |task: &str, ids: &[String]| {
        project.zonekeep(["quarantine", task].into_iter().chain(ids.iter().map(String::as_str)))
    };
    let one = caught("cd work; echo x > .envrc");
    assert_eq!(one.len(), 1);
    assert!(task("show", &one).ok().contains("work/.envrc"));
    let two = caught("cd work; mkdir a b; echo 1 > a/.envrc; echo 2 > b/.envrc");
    assert_eq!(two.len(), 2);
    let shown = task("show", &two);
    assert!(shown.ok().contains("work/a/.envrc") && shown.ok().contains("work/b/.envrc"));
    let list = project.zonekeep(
        ["quarantine", "show", "--json"].into_iter().chain(two.iter().map(String::as_str)),
    );
    let list: Value = serde_json::from_str(list.ok()).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2);
    // None is touched where one is wrong.
    let wrong = [two[0].clone(), "aa-0".to_owned()];
    for name in ["show", "restore", "drop"] {
        assert_eq!(task(name, &wrong).exit, 2, "{name}");
    }
    assert_eq!(task("restore", &two).ok().lines().count(), 2);
    assert_eq!(project.read("work/b/.envrc"), "2\n");
    let more = caught("cd work; mkdir c d; echo 1 > c/.envrc; echo 2 > d/.envrc");
    assert_eq!(task("drop", &[&more[..], &one].concat()).ok(), "dropped 3 entries");
}
