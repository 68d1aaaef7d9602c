//! The levels of guarded files: what `zonekeep run` reports is held for an agent.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::{Value, json};
use zonekeep_testkit::{Project, enforced};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "\
sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw, approval: { write: preApproved } }
shell:
  rules:
    - { pattern: sh, approval: preApproved }
  default: preApproved
";

const WORKFLOW: &str = "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/ci.yml
    echo x=y > .npmrc; echo {} > .mcp.json";

#[test]
fn a_users_command_reports_and_an_agents_is_held() {
    if !enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
    let run =
        project.zonekeep(["run", "--json", "--", "sh", "-c", &format!("cd /repo; {WORKFLOW}")]);
    let result: Value = serde_json::from_str(run.ok()).unwrap();
    let fates: Vec<(&str, &str)> = result["caught"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), file["fate"].as_str().unwrap()))
        .collect();
    assert!(fates.contains(&("/repo/.github/workflows/ci.yml", "reported")), "{run}");
    assert!(fates.contains(&("/repo/.npmrc", "reported")), "{run}");
    assert!(fates.contains(&("/repo/.mcp.json", "held")), "{run}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("2 guarded changes to review"), "{run}");
    assert!(project.exists("repo/.github/workflows/ci.yml") && project.exists("repo/.npmrc"));
    assert!(!project.exists("repo/.mcp.json"));

    let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
    let call = json!({ "command": WORKFLOW, "cwd": "/repo" }).to_string();
    let run = project.zonekeep(["tool", "--approve", "all", "shell", &call]);
    for path in ["repo/.github/workflows/ci.yml", "repo/.npmrc", "repo/.mcp.json"] {
        assert!(!project.exists(path), "{path}: {run}");
    }
    assert!(run.stdout.contains("guarded changes held"), "{run}");
    assert!(project.zonekeep(["quarantine"]).ok().contains("repo/.npmrc"), "{run}");
}

#[test]
fn a_commit_of_the_user_can_be_checked_out_by_an_agent() {
    if !enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
    let script = "set -e; git init -q -b main .; git config user.name U; git config user.email u@x
        mkdir -p .github/workflows; echo one > .github/workflows/ci.yml; git add -A; git commit -qm 1
        echo two > .github/workflows/ci.yml; echo {} > .mcp.json; git add -A; git commit -qm 2";
    let made = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(project.path("repo"))
        .status();
    assert!(made.unwrap().success());
    for (commit, workflow, has_servers) in [("main~1", "one\n", false), ("main", "two\n", true)] {
        let line = format!("git checkout -q {commit}");
        let call = json!({ "command": line, "cwd": "/repo" }).to_string();
        let run = project.zonekeep(["tool", "--approve", "all", "shell", &call]);
        run.ok();
        assert_eq!(project.read("repo/.github/workflows/ci.yml"), workflow, "{run}");
        assert_eq!(project.exists("repo/.mcp.json"), has_servers, "{run}");
        assert!(!run.stdout.contains("guarded changes held"), "{run}");
    }
}

/// Runs a script in the zone outside, as the user does.
fn outside(project: &Project, script: &str) {
    let done = std::process::Command::new("sh")
        .args(["-ec", script])
        .current_dir(project.path("repo"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(done.unwrap().success(), "{script}");
}

const HISTORY: &str = "git init -q -b main .; git config user.name U; git config user.email u@x
    mkdir -p .github/workflows .vscode; for n in 1 2 3; do
      echo $n > .github/workflows/ci.yml; echo $n > .vscode/settings.json; echo $n > a
      git add -A; git commit -qm $n; done";

/// The caller of commands: the user, or an agent.
const CALLERS: [&str; 2] = ["run", "shell"];

fn inside(project: &Project, caller: &str, line: &str) -> String {
    let run = match caller {
        "run" => project.zonekeep(["run", "--", "sh", "-ec", &format!("cd /repo; {line}")]),
        _ => {
            let call = json!({ "command": line, "cwd": "/repo" }).to_string();
            project.zonekeep(["tool", "--approve", "all", "shell", &call])
        }
    };
    assert_eq!(run.exit, 0, "{caller} {line}: {run}");
    run.to_string()
}

fn status(project: &Project, dir: &str) -> String {
    let shown = std::process::Command::new("git")
        .args(["-c", "safe.directory=*", "status", "--porcelain"])
        .current_dir(project.path(dir))
        .output();
    String::from_utf8(shown.unwrap().stdout).unwrap()
}

#[test]
fn a_repository_that_an_earlier_command_cloned_can_be_checked_out() {
    if !enforced(PROGRAM) {
        return;
    }
    for caller in CALLERS {
        let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
        outside(&project, HISTORY);
        inside(&project, caller, "git clone -q . copy");
        let run = inside(&project, caller, "git -C copy checkout -q HEAD~2");
        assert_eq!(project.read("repo/copy/.vscode/settings.json"), "1\n", "{run}");
        assert_eq!(project.read("repo/copy/.github/workflows/ci.yml"), "1\n", "{run}");
        assert_eq!(status(&project, "repo/copy"), "", "{run}");

        let add = "git -c protocol.file.allow=always submodule --quiet add ./. one";
        let update = "git -c protocol.file.allow=always submodule --quiet update";
        inside(&project, caller, add);
        inside(&project, caller, "git -C one checkout -q HEAD~1");
        let run = inside(&project, caller, update);
        assert_eq!(project.read("repo/one/.vscode/settings.json"), "3\n", "{run}");
        assert_eq!(status(&project, "repo/one"), "", "{run}");
    }
}

#[test]
fn a_clone_of_a_repository_with_unknown_commits_ends_as_outside() {
    if !enforced(PROGRAM) {
        return;
    }
    for caller in CALLERS {
        let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
        outside(&project, HISTORY);
        // Its commits are not those of the zone's own repository.
        let other = HISTORY.replace("echo $n", "echo other $n");
        outside(&project, &format!("mkdir o; cd o; {other}; git clone -q --bare . ../o.git"));
        outside(&project, "rm -rf o");
        let run = inside(&project, caller, "git clone -q o.git dir");
        assert_eq!(status(&project, "repo/dir"), "", "{run}");
        assert!(run.contains("2 guarded changes to review"), "{run}");
        let run = inside(&project, caller, "git -C dir checkout -q HEAD~2");
        assert_eq!(project.read("repo/dir/.vscode/settings.json"), "other 1\n", "{run}");
        assert_eq!(project.read("repo/dir/.github/workflows/ci.yml"), "other 1\n", "{run}");
        assert_eq!(status(&project, "repo/dir"), "", "{run}");
        // In the clone too no other content stays, and out of it none.
        let plant = "echo x > dir/.vscode/settings.json; mkdir -p .vscode
            mv dir/.vscode/settings.json .vscode/tasks.json || true";
        let run = inside(&project, caller, plant);
        assert!(!project.exists("repo/.vscode/tasks.json"), "{run}");
    }
}

/// The index has the uid of each file, which differs inside where the user is root.
#[test]
fn the_index_that_git_wrote_outside_is_as_good_inside() {
    if !enforced(PROGRAM) {
        return;
    }
    for caller in CALLERS {
        let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
        outside(&project, HISTORY);
        outside(&project, "git diff HEAD~1 HEAD -- a > p; git status");
        inside(&project, caller, "git apply --index -R p");
        assert_eq!(project.read("repo/a"), "2\n");
        assert_eq!(status(&project, "repo"), "M  a\n?? p\n");
        let config = project.read("repo/.git/config");
        assert!(!config.to_lowercase().contains("checkstat"), "{config}");
        // The repository's own setting wins.
        outside(&project, "git config core.checkStat default");
        let shown = inside(&project, caller, "git config core.checkStat");
        assert!(shown.contains("default"), "{shown}");
    }
}

#[test]
fn a_repository_that_could_not_be_removed_is_told() {
    if !enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
    let clone = "git init -q sub && cd sub && git config user.name x && touch a";
    project.zonekeep(["run", "--", "sh", "-c", &format!("cd /repo; {clone}")]).ok();
    assert!(project.exists("repo/sub/.git/HEAD"));
    let run = project.zonekeep(["run", "--", "rm", "-rf", "/repo/sub"]);
    assert_ne!(run.exit, 0, "{run}");
    let note = "The git repository '/repo/sub' is removed but for guarded files";
    assert!(run.stderr.contains(note), "{run}");
    // The control: a repository that is whole, and one that is gone.
    let run = project.zonekeep(["run", "--", "sh", "-c", "cd /repo; git init -q new; rm -rf new"]);
    assert!(run.ok().is_empty() && !project.exists("repo/new"), "{run}");
    std::fs::remove_dir_all(project.path("repo/sub")).unwrap();
    let run = project.zonekeep(["run", "--", "git", "init", "-q", "/repo/sub"]);
    run.ok();
    assert!(!run.stderr.contains("is removed but"), "{run}");
}

#[test]
fn a_repository_cannot_be_moved_away_and_replaced() {
    if !enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).dir("repo/sub");
    let script = "for d in . sub; do git -C $d init -q; git -C $d remote add origin good; done
        printf '#!/bin/sh\nexit 1\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    let mut git = std::process::Command::new("sh");
    let made = git.args(["-c", script]).current_dir(project.path("repo")).status().unwrap();
    assert!(made.success());
    let attack = "mv .git gg; git init -q; cp -r gg/objects gg/refs gg/HEAD .git/
        git remote add origin evil; mv sub/.git sub/gg; true";
    let backends: &[&[&str]] = match zonekeep_testkit::program("bwrap").is_some() {
        true => &[&[], &["--backend", "bubblewrap"]],
        false => &[&[]],
    };
    for flags in backends {
        let args = ["--", "sh", "-c", &format!("cd /repo; {attack}")].map(str::to_owned);
        let flags = flags.iter().map(|flag| (*flag).to_owned());
        project.zonekeep(["run".to_owned()].into_iter().chain(flags).chain(args));
        for config in ["repo/.git/config", "repo/sub/.git/config"] {
            let text = project.read(config);
            assert!(text.contains("good") && !text.contains("evil"), "{config}: {text}");
        }
        assert!(project.exists("repo/.git/hooks/pre-commit") && !project.exists("repo/gg"));
    }
}

#[test]
fn branches_with_and_without_a_project_file_can_be_checked_out() {
    if !enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM).dir("repo");
    let config = "sandbox:\n  mode: direct\n  zones:\n    repo: { path: ., mode: rw, at: same }\n  \
                  working_dir: /repo\n";
    let sh = |script: &str| {
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-ec", script]).current_dir(project.path("repo")).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    sh("git init -qb main; git config user.name a; git config user.email b; echo a > a
        git add -A; git commit -qm one; git branch old");
    project.put("repo/zonekeep.yaml", config);
    sh("git add -A; git commit -qm two; git checkout -q old; echo f > f; git add f
        git commit -qm three; git checkout -q main");
    let run = |line: &str| project.zonekeep_in("repo", ["run", "--", "sh", "-c", line]);
    // The file stays, and is in the way of nothing.
    for line in ["git checkout old && git checkout main", "git switch old", "git switch main"] {
        let ran = run(line);
        assert_eq!(ran.exit, 0, "{line}: {ran}");
        assert_eq!(project.read("repo/zonekeep.yaml"), config);
        assert_eq!(sh("git status --porcelain").replace("?? zonekeep.yaml\n", ""), "", "{line}");
    }
    // Git that has to replace it fails, and the note says why.
    let call = json!({ "command": "git switch old && git rebase main; git switch main" });
    let call = call.to_string();
    let ran = project.zonekeep_in("repo", ["tool", "--approve", "all", "shell", &call]);
    assert!(ran.stdout.contains("Guarded files that exist are read-only"), "{ran}");
    assert_eq!(sh("git status --porcelain; git branch --show-current"), "main\n");
    // A work tree and a clone are whole, and a commit there keeps the file.
    let ran = run(
        "git worktree add -q -b wt wt && cd wt && echo x > x && git add -A && git commit -qm x",
    );
    assert_eq!(ran.exit, 0, "{ran}");
    assert_eq!(
        sh("git show --stat --format= wt --"),
        " x | 1 +\n 1 file changed, 1 insertion(+)\n"
    );
    run("git clone -q . cl").ok();
    assert_eq!(project.read("repo/cl/zonekeep.yaml"), config);
    // Not so other content, in the same places.
    run("echo 'sandbox: { network: true }' | tee wt/zonekeep.yaml cl/zonekeep.yaml > new.yaml");
    for path in ["repo/wt/zonekeep.yaml", "repo/cl/zonekeep.yaml"] {
        assert_eq!(project.read(path), config, "{path}");
    }
}

#[test]
fn a_guarded_change_that_the_user_approves_stays() {
    if !enforced(PROGRAM) {
        return;
    }
    let config = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw, approval: { write: preApproved } }
  working_dir: /repo
shell: { default: contained }
";
    let project = Project::with_config(PROGRAM, config)
        .file("repo/.github/workflows/old.yml", "old\n")
        .file("approve", "#!/bin/sh\necho '{\"approved\": true}'\n");
    let approve = project.path("approve");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&approve, mode).unwrap();
    let approve = approve.display().to_string();
    let shell = |line: &str, approver: &str| {
        let call = json!({ "command": line }).to_string();
        project.zonekeep(["tool", "--approve", approver, "shell", &call])
    };
    let line = "echo new > .github/workflows/new.yml; echo x >> .github/workflows/old.yml";
    // Without a person who reads it, nothing is asked or kept.
    assert_eq!(shell(line, "none").exit, 1);
    let run = shell(line, &approve);
    assert!(run.exit == 0 && !run.stdout.contains("moved away"), "{run}");
    assert_eq!(project.read("repo/.github/workflows/new.yml"), "new\n");
    assert_eq!(project.read("repo/.github/workflows/old.yml"), "old\nx\n");
    // The yes is for the files of the line, and for no others.
    project.put("repo/more.sh", "echo 3 > .github/workflows/more.yml\n");
    let run = shell("echo 2 > .github/workflows/new.yml; sh more.sh", &approve);
    assert_eq!(project.read("repo/.github/workflows/new.yml"), "2\n", "{run}");
    assert!(!project.exists("repo/.github/workflows/more.yml"), "{run}");
    // What is blocked stays so.
    let run = shell("mkdir -p .git/hooks; echo x > .bashrc", &approve);
    assert!(!project.exists("repo/.bashrc"), "{run}");
}
