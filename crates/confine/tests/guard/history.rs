//! Files of commits are not planted: git works as outside, whatever it brings back.

use std::sync::OnceLock;

use super::*;

/// Makes twelve commits on two branches in which guarded files come, change and go.
const COMMITS: &str = r#"
set -e
git init -q -b main .
git config user.name User; git config user.email user@example.org
for n in 1 2 3 4 5 6 7 8; do
  mkdir -p src; echo "line $n" >> src/main.txt
  mkdir -p .github/workflows; echo "on: push # $n" > .github/workflows/ci.yml
  [ $n -lt 3 ] || { mkdir -p .vscode; echo "{\"n\": $n}" > .vscode/settings.json; }
  [ $n -lt 3 ] || [ $n -gt 6 ] || { mkdir -p .claude; echo "{\"m\": $((n / 2))}" > .claude/settings.json; }
  [ $n -ne 5 ] || { echo "repos: []" > .pre-commit-config.yaml; mkdir -p sub/.devcontainer
    echo "{}" > sub/.devcontainer/devcontainer.json; ln -s src/main.txt .envrc; }
  [ $n -ne 7 ] || git rm -qr .claude sub .envrc
  git add -A; git commit -qm "main $n"
done
git checkout -q -b topic HEAD~5
for n in 1 2 3 4; do
  echo "topic $n" > src/topic.txt; mkdir -p .github/workflows
  echo "on: pull_request # $n" > .github/workflows/topic.yml
  git add -A; git commit -qm "topic $n"
done
git checkout -q main
"#;

/// What git does with guarded files, each in a fresh copy of the repository.
const OPERATIONS: &[&str] = &[
    "git checkout -q HEAD~3",
    "for n in 1 2 3 4 5 6 7; do git checkout -q main~$n || exit 1; done; git checkout -q main",
    "git switch -q topic",
    "git reset -q --hard HEAD~4",
    "git rebase -q main topic",
    "git rebase -q -x 'test -e src/main.txt' main~3 >&- 2>&-",
    "git merge -q -m merged topic",
    "git cherry-pick -x topic~3 >&-",
    "git revert --no-edit HEAD >&-",
    "echo more >> src/main.txt; echo 'on: x' > .github/workflows/ci.yml; git add -A; git stash -q
     git checkout -q main~2; git checkout -q main; git reset -q --hard",
    "git bisect start main main~7 >l; git bisect run sh -c '! grep -q 4 src/main.txt' >>l
     git bisect reset >>l 2>&1; rm l",
    "git worktree add -q tree topic",
    "git clone -q . copy",
    "git format-patch -q -o p main..topic; git checkout -q main~5; git am -q p/*; rm -r p",
    "git diff main~3 main~4 > p; git checkout -q main~3; git apply p; rm p",
    "rm -rf .github .vscode; git checkout -q -- .",
    "git checkout -q main~6; git clean -qfd",
];

fn repository() -> Project {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-c", COMMITS]).current_dir(dir.path()).status();
        assert!(made.unwrap().success());
        dir
    });
    let project = Project::new();
    copy(&made.path().join("."), &project.zone());
    project
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Returns the state of a repository: files with their content, index, status, branches.
fn state(dir: &Path) -> String {
    let script = "find . -name .git -prune -o -type f -print0 \
                  | sort -z | xargs -0 -r sha256sum; find . -type l -not -path '*/.git/*' -printf '%p %l\\n'
                  find . -type d -not -path '*/.git*' | sort
                  git ls-files -s; git status --porcelain; git log --all --format='%T %s' | sort";
    let output = Command::new("sh").args(["-c", script]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(super) fn git_ends_as_outside() {
    for backend in [Backend::Namespaces, Backend::Landlock] {
        for script in OPERATIONS {
            let mut project = repository();
            project.backend = backend;
            let outside = project.dir.join("outside");
            copy(&project.zone(), &outside);
            let control = Command::new("sh")
                .args(["-c", script])
                .current_dir(&outside)
                .env("GIT_EDITOR", "true")
                .env("GIT_COMMITTER_NAME", "Agent")
                .env("GIT_COMMITTER_EMAIL", "agent@example.org")
                .output()
                .unwrap();
            assert!(control.status.success(), "{script}: {control:?}");
            let run = project.run(script);
            run.succeeded();
            let (inside, outside) = (state(&project.zone()), state(&outside));
            assert_eq!(inside, outside, "{backend:?} {script}: {run:#?}");
            let held = run.caught.iter().filter(|caught| caught.fate != Fate::Reported);
            assert_eq!(held.count(), 0, "{script}: {run:#?}");
        }
    }
}

/// What git does by one command after the other, in a repository that the first one makes.
const SEQUENCES: &[&[&str]] = &[
    &["git clone -q . copy", "git -C copy checkout -q HEAD~5", "git -C copy checkout -q main"],
    &[
        "git -c protocol.file.allow=always submodule --quiet add ./. modules/one",
        "git -C modules/one checkout -q HEAD~4",
        "git -c protocol.file.allow=always submodule --quiet update",
    ],
    &["git worktree add -q tree topic", "git -C tree checkout -q --detach main~2"],
];

/// The commits of a repository that a command made do not count, but those of the
/// repository that it was cloned from do.
pub(super) fn git_ends_as_outside_over_several_commands() {
    for backend in [Backend::Namespaces, Backend::Landlock] {
        for scripts in SEQUENCES {
            // Each in a sandbox of its own, and all in one.
            for keeps_sandbox in [false, true] {
                let mut project = repository();
                project.backend = backend;
                // `git submodule` notes the submodule there.
                project.git_may_configure = true;
                let outside = project.dir.join("outside");
                copy(&project.zone(), &outside);
                let mut sandbox = project.start();
                for script in *scripts {
                    let control =
                        Command::new("sh").args(["-c", script]).current_dir(&outside).output();
                    let control = control.unwrap();
                    assert!(control.status.success(), "{script}: {control:?}");
                    if !keeps_sandbox {
                        drop(sandbox);
                        sandbox = project.start();
                    }
                    let run = sandbox.run(script);
                    run.succeeded();
                    let (inside, outside) = (state(&project.zone()), state(&outside));
                    assert_eq!(inside, outside, "{backend:?} {script}: {run:#?}");
                }
            }
        }
    }
    // A clone is no way to bring in content that no commit of the user's has.
    let project = repository();
    project.run("git clone -q . copy").succeeded();
    let run = project.run(
        "cd copy; echo evil > .vscode/settings.json; git commit -qam evil
         git checkout -q HEAD~3; git checkout -q main",
    );
    run.caught(&["copy/.vscode/settings.json"]);
}

/// The end of a guarded link is guarded as the link is: git can replace it.
pub(super) fn git_replaces_what_a_guarded_link_leads_to() {
    for script in ["git checkout -q main", "git reset -q --hard main~6", "git checkout -q main~7"] {
        let project = repository();
        let outside = project.dir.join("outside");
        let git = |script: &str, dir: &Path| {
            let done = Command::new("sh").args(["-c", script]).current_dir(dir).status();
            assert!(done.unwrap().success(), "{script}");
        };
        git("git checkout -q main~3; test -L .envrc", &project.zone());
        copy(&project.zone(), &outside);
        git(script, &outside);
        let run = project.run(script);
        run.succeeded();
        assert_eq!(state(&project.zone()), state(&outside), "{script}: {run:#?}");

        git("git checkout -q main~3", &project.zone());
        let before = state(&project.zone());
        let run = project.run("echo evil >> src/main.txt");
        run.caught(&["src/main.txt"]);
        assert_eq!(state(&project.zone()), before, "what no commit has is held");
    }
}

/// The control: a rebase that the command ends itself runs its lines, as in
/// [`git_ends_as_outside`].
pub(super) fn a_rebase_that_is_left_with_a_command_is_taken_away() {
    let project = repository();
    let run = project.run("git rebase -q -x false main~2 >&- 2>&-; test -d .git/rebase-merge");
    run.succeeded();
    assert!(run.caught.iter().any(|caught| caught.path.ends_with("git-rebase-todo")), "{run:#?}");
    let todo = project.zone().join(".git/rebase-merge/git-rebase-todo");
    let left = fs::read_to_string(todo).unwrap_or_default();
    assert!(!left.lines().any(|line| line.starts_with("exec")), "{left}");
}

pub(super) fn what_no_commit_has_is_held() {
    let project = repository();
    let before = state(&project.zone());
    let run = project.run(
        "echo evil > .vscode/settings.json; echo evil > .vscode/tasks.json
         echo evil > .github/workflows/ci.yml; mkdir .idea; echo evil > .idea/x
         cp .github/workflows/ci.yml .github/workflows/new.yml",
    );
    run.caught(&[
        ".github/workflows/ci.yml",
        ".github/workflows/new.yml",
        ".idea/x",
        ".vscode/settings.json",
        ".vscode/tasks.json",
    ]);
    assert!(run.caught.iter().all(|caught| caught.fate == Fate::Held && caught.id.is_some()));
    assert_eq!(state(&project.zone()), before);
    // First the content of a commit, which is accepted, and then another one.
    let project = repository();
    let run = project.run(
        "git show main~3:.claude/settings.json > x; mkdir .claude; sleep 0.1
         mv x .claude/settings.json; sleep 0.3; echo evil > .claude/settings.json",
    );
    run.caught(&[".claude/settings.json"]);
    assert!(!project.read(".claude/settings.json").contains("evil"), "{run:#?}");
    // The content of a commit, at a path where no commit has it.
    let run = project.run("git show main~3:.claude/settings.json > .vscode/tasks.json");
    run.caught(&[".vscode/tasks.json"]);
    // A file that is in a commit can be removed; another one is put back.
    let project = repository().file(".vscode/launch.json", "mine");
    let run = project.run("rm -r .vscode");
    run.caught(&[".vscode/launch.json", ".vscode/settings.json"]);
    let fates: Vec<Fate> = run.caught.iter().map(|caught| caught.fate).collect();
    assert!(fates.contains(&Fate::Reported) && fates.contains(&Fate::Held), "{fates:?}");
    assert_eq!(project.read(".vscode/launch.json"), "mine");
    assert!(!project.has(".vscode/settings.json"));
}

pub(super) fn commits_of_commands_do_not_count() {
    // One command commits, without the file in the work tree; another one checks out.
    let commit = "id=$(echo evil | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$id,.claude/settings.json
        git commit -qm evil; git branch evil; git reset -q --hard HEAD~1";
    for checkout in
        ["git checkout -q evil", "git checkout -q evil -- .claude", "git reset -q --hard evil"]
    {
        let project = repository();
        project.run(commit).succeeded();
        assert!(!project.has(".claude/settings.json"));
        let run = project.run(checkout);
        run.caught(&[".claude/settings.json"]);
        assert!(!project.has(".claude/settings.json"), "{checkout}");
        // In the same session as well.
        let project = repository();
        let sandbox = project.start();
        sandbox.run(commit).succeeded();
        sandbox.run(checkout).caught(&[".claude/settings.json"]);
        // The user's own commit on top makes it the user's.
        project.git(&["checkout", "-q", "-f", "evil"]);
        project.git(&["commit", "-q", "--allow-empty", "-m", "reviewed"]);
        project.git(&["checkout", "-q", "main~7"]);
        sandbox.run("git checkout -q evil").succeeded().caught(&[]);
        assert_eq!(project.read(".claude/settings.json"), "evil\n");
    }
}

pub(super) fn repositories_of_commands_do_not_count() {
    let evil = "echo evil > .vscode/tasks.json";
    let commit = "id=$(echo evil | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$id,.vscode/tasks.json; git commit -qm evil";
    let makers = [
        format!("git init -q x; cd x; {commit}"),
        // By a file that leads to the repository.
        format!(
            "git init -q y; cd y; {commit}; cd ..
            git -c protocol.file.allow=always submodule add -q ./y z; rm -rf y"
        ),
        // A stash, which another entry comes before.
        "mkdir -p n; echo evil > n/x; git add n; git stash -q; git stash drop -q; true".to_owned(),
    ];
    for maker in makers {
        let project = repository();
        project.run(&maker);
        project.run(evil).caught(&[".vscode/tasks.json"]);
        assert!(!project.has(".vscode/tasks.json"), "{maker}");
    }
    // More references than are compared: which of them are the user's cannot be told.
    let project = repository();
    project
        .run(&format!(
            "{commit}; id=$(git rev-parse HEAD); git reset -q --hard HEAD~1
             seq 20000 | sed \"s|.*|create refs/heads/n& $id|\" | git update-ref --stdin"
        ))
        .succeeded();
    project.git(&["pack-refs", "--all"]);
    project.run(evil).caught(&[".vscode/tasks.json"]);
    // A session that was cut off: its references are not taken over.
    let project = repository();
    let sandbox = project.start();
    sandbox.run(commit).succeeded();
    let records = fs::read_dir(project.dir.join("state/history")).unwrap().flatten();
    for record in records.filter(|entry| entry.path().extension().is_some_and(|e| e == "json")) {
        // As it was before the command.
        let text = fs::read_to_string(record.path()).unwrap();
        let (tips, _) = text.split_once("\"left\"").unwrap();
        fs::write(record.path(), format!("{tips}\"left\":{{}}}}")).unwrap();
        fs::write(record.path().with_extension("1.1.open"), "").unwrap();
    }
    let fresh = project.start();
    fresh.run(evil).caught(&[".vscode/tasks.json"]);
    // The same before there was a record: nothing counts, and what exists is read-only.
    drop((fresh, sandbox));
    for entry in fs::read_dir(project.dir.join("state/history")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|e| e == "json") {
            fs::remove_file(entry.path()).unwrap();
            fs::write(entry.path().with_extension("1.1.open"), "").unwrap();
        }
    }
    project.run(evil);
    assert!(!project.has(".vscode/tasks.json"));
}

pub(super) fn commits_of_the_user_count_from_the_first_command_on() {
    let project = repository();
    project.run("true").succeeded();
    // In a session that has ended since.
    let commit = "mkdir -p .cursor; echo mine > .cursor/rules; git add -A; git commit -qm mine
        git checkout -q HEAD~1";
    let made = Command::new("sh").args(["-c", commit]).current_dir(project.zone()).status();
    assert!(made.unwrap().success());
    project.run("git checkout -q main").succeeded().caught(&[]);
    assert_eq!(project.read(".cursor/rules"), "mine\n");
    let marks = fs::read_dir(project.dir.join("state/history")).unwrap().flatten();
    let left = marks.filter(|entry| entry.path().extension().is_some_and(|e| e == "open"));
    assert_eq!(left.count(), 0);
}

pub(super) fn objects_with_other_content_do_not_count() {
    // The id of a tree that a commit of the user's has, with the content of another one.
    let forge = r#"
        id=$(echo evil | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$id,.vscode/tasks.json
        evil=$(git write-tree --prefix=.vscode/); git read-tree HEAD
        good=$(git rev-parse HEAD:.vscode)
        of() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }
        chmod u+w $(of $good); cp $(of $evil) $(of $good)
        echo evil > .vscode/tasks.json"#;
    let project = repository();
    project.run(forge).caught(&[".vscode/tasks.json"]);
    assert!(!project.has(".vscode/tasks.json"));
}

fn outside(project: &Project, script: &str) {
    let done = Command::new("sh").args(["-ec", script]).current_dir(project.zone()).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{script}: {done:?}");
}

pub(super) fn files_that_the_user_staged_count() {
    for (version, format) in [("2", "sha1"), ("3", "sha256"), ("4", "sha1"), ("4", "sha256")] {
        let project = Project::new();
        let init = format!(
            "git init -q -b main --object-format={format} .
             git config user.name U; git config user.email u@x; git config index.version {version}
             mkdir .vscode; echo 1 > .vscode/settings.json; echo 1 > a; git add -A
             git commit -qm 1; mkdir .cursor sub; echo staged > .cursor/rules
             echo staged > .vscode/settings.json; ln -s a .envrc; echo staged > sub/.mcp.json
             git add -A; git update-index --skip-worktree a"
        );
        outside(&project, &init);
        outside(&project, "rm -rf .cursor .vscode .envrc sub");
        let run = project.run("git checkout -q -- .cursor .vscode .envrc sub");
        run.succeeded().caught(&[]);
        assert_eq!(project.read(".cursor/rules"), "staged\n", "{version} {format}");
        assert_eq!(project.read(".vscode/settings.json"), "staged\n");
        assert!(project.has(".envrc") && project.has("sub/.mcp.json"));
        // At its own path alone, and as what it was.
        let run = project.run("cp sub/.mcp.json .mcp.json; ln -s staged .idea");
        run.caught(&[".idea", ".mcp.json"]);
        // Staged between two commands.
        outside(&project, "echo later > .cursor/rules; git add -A; rm .cursor/rules");
        project.run("git checkout -q -- .cursor").succeeded().caught(&[]);
        assert_eq!(project.read(".cursor/rules"), "later\n");
    }
    // A command that stashes what the user staged ends as outside.
    let project = repository();
    outside(&project, "echo new > .vscode/launch.json; git add -A");
    let copied = project.dir.join("outside");
    copy(&project.zone(), &copied);
    for script in ["git stash -q", "git stash pop -q --index"] {
        let done = Command::new("sh").args(["-c", script]).current_dir(&copied).status();
        assert!(done.unwrap().success());
        let run = project.run(script);
        run.succeeded();
        let [inside, outside] = [project.zone(), copied.clone()].map(|dir| {
            let script = "git ls-files -s; git status --porcelain; cat .vscode/*";
            let shown = Command::new("sh").args(["-c", script]).current_dir(dir).output();
            String::from_utf8(shown.unwrap().stdout).unwrap()
        });
        assert_eq!(inside, outside, "{script}: {run:#?}");
    }
}

pub(super) fn files_that_a_command_staged_do_not_count() {
    let stage = "id=$(echo evil | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$id,.claude/settings.json";
    // What the command leaves, and what the user's git makes of it.
    let cases = [
        ("", "git status; echo x > b; git add b"),
        ("git update-index --split-index", "git update-index --no-split-index"),
        ("git update-index --index-version 4", "git update-index --index-version 2"),
        ("truncate -s -30 .git/index", "git read-tree HEAD"),
        // A reference that looks like an entry.
        ("echo $id index File .claude/settings.json >> .git/packed-refs", "true"),
    ];
    for (left, then) in cases {
        let project = repository();
        let run = project.run(&format!("{stage}\n{left}"));
        outside(&project, then);
        let next = project.run("mkdir -p .claude; echo evil > .claude/settings.json");
        assert!(!project.has(".claude/settings.json"), "{left}: {run:#?} {next:#?}");
    }
}
