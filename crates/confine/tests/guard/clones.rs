//! A clone that a command makes in a new directory ends as outside, and is no way to plant.

use super::*;

/// Makes a bare repository `NAME.git` with three commits, whose content no other one has.
fn other(project: &Project, name: &str) {
    let script = format!(
        r#"set -e
        git init -q -b main {name}; cd {name}
        git config user.name U; git config user.email u@x
        for n in 1 2 3; do
          mkdir -p .vscode .claude .github/workflows sub
          echo "{name} $n" | tee .vscode/settings.json .claude/settings.json .envrc \
            .github/workflows/ci.yml sub/.mcp.json > a.txt
          [ $n -eq 3 ] || echo "{name} $n" > .pre-commit-config.yaml
          git add -A; git commit -qm $n; [ $n -ne 2 ] || git rm -q .pre-commit-config.yaml
        done
        cd ..; git clone -q --bare {name} {name}.git; rm -r {name}"#
    );
    sh(&project.zone(), &script);
}

fn sh(dir: &Path, script: &str) {
    let done = Command::new("sh").args(["-ec", script]).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{script}: {done:?}");
}

/// A zone with an unrelated repository of the user's at its top, or without one.
fn project(has_own: bool) -> Project {
    let project = Project::new();
    other(&project, "other");
    if has_own {
        project.git(&["init", "-q"]);
        project.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    }
    project
}

/// Each runs as a command of its own, and ends with the same tree and status as outside.
const LINES: &[&str] = &[
    "git clone -q --template= other.git dir; test -z \"$(git -C dir status --porcelain)\"",
    "git -C dir checkout -q HEAD~1",
    "git -C dir checkout -q main; git -C dir clean -qfdx",
    "git clone -q --template= other.git more/deep/dir; git -C more/deep/dir checkout -q HEAD~2",
    "rm -rf more; mv dir moved",
    "git -C moved checkout -q HEAD~2",
    "rm -rf moved",
    "git clone -q --template= other.git dir",
];

pub(super) fn a_clone_of_another_repository_ends_as_outside() {
    for backend in [Backend::Namespaces, Backend::Landlock] {
        for (has_own, keeps_sandbox) in [(true, false), (false, false), (true, true)] {
            let mut project = project(has_own);
            project.backend = backend;
            // Else its configuration is read-only by a mount, as hooks of a template would be,
            // and a later sandbox could not remove the clone.
            project.git_may_configure = true;
            let outside = project.dir.join("outside");
            let copied =
                Command::new("cp").arg("-a").args([project.zone(), outside.clone()]).status();
            assert!(copied.unwrap().success());
            let mut sandbox = project.start();
            for line in LINES {
                sh(&outside, line);
                if !keeps_sandbox {
                    drop(sandbox);
                    sandbox = project.start();
                }
                let run = sandbox.run(line);
                let what = format!("{backend:?} {has_own} {keeps_sandbox} {line}: {run:#?}");
                run.succeeded();
                let held = run.caught.iter().filter(|caught| caught.fate != Fate::Reported);
                assert_eq!(held.count(), 0, "{what}");
                assert_eq!(files(&project.zone()), files(&outside), "{what}");
            }
            assert!(project.has("dir/.vscode/settings.json"));
        }
    }
}

/// Returns all files outside of git directories, with their content, and each status.
fn files(dir: &Path) -> String {
    let script = "find . -name '*.git' -prune -o -type f -print0 | sort -z | xargs -0 -r sha256sum
        for t in $(find . -name .git | sort); do git -C $t/.. status --porcelain; done";
    let output = Command::new("sh").args(["-c", script]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a clone brings in is named, and hooks and the project's own files never stay.
pub(super) fn files_of_a_clone_are_reported() {
    let project = project(true);
    let run = project.run(
        "git clone -q --template= other.git dir; mkdir dir/.git/hooks
         echo x > dir/.git/hooks/pre-commit",
    );
    run.caught(&[
        "dir/.claude/settings.json",
        "dir/.envrc",
        "dir/.git/hooks/pre-commit",
        "dir/.github/workflows/ci.yml",
        "dir/.vscode/settings.json",
        "dir/sub/.mcp.json",
    ]);
    assert!(!project.has("dir/.git/hooks/pre-commit"));
    let reported = run.caught.iter().filter(|caught| caught.fate == Fate::Reported);
    assert_eq!(reported.count(), 5, "{run:#?}");
}

/// Makes a repository with planted files, all committed.
const EVIL: &str = "evil() {
      git init -q $1; ( cd $1
      mkdir -p .vscode .zed .claude/skills/x .git/info; echo evil > .vscode/tasks.json
      echo evil > .zed/settings.json; echo evil > .claude/skills/x/SKILL.md; echo evil > .bashrc
      echo evil > zonekeep.yaml; git add -f -A; git commit -qm evil )
    }\n";

pub(super) fn a_clone_is_no_way_to_plant() {
    let cases: &[(&[&str], &[&str])] = &[
        // The levels above and files that running programs read below an open directory.
        (
            &["evil x"],
            &[
                "x/.zed/settings.json",
                "x/.claude/skills/x/SKILL.md",
                "x/.bashrc",
                "x/zonekeep.yaml",
            ],
        ),
        // No commit has it.
        (
            &["evil x; mkdir x/.idea; echo evil > x/.idea/y; echo evil > x/.envrc"],
            &["x/.idea", "x/.envrc"],
        ),
        (&["evil x; echo worse > x/.vscode/tasks.json"], &["x/.vscode/tasks.json"]),
        // In the place of a directory that was there.
        (&["rm -rf pkg; evil pkg"], &["pkg/.vscode"]),
        (&["mv pkg old; evil pkg"], &["pkg/.vscode"]),
        (&["evil x; rm -rf pkg; mv x pkg"], &["pkg/.vscode"]),
        (&["evil x", "rm -rf pkg; mv x pkg"], &["pkg/.vscode"]),
        (&["rm -rf own; evil own"], &["own/.vscode/tasks.json"]),
        (&["rm -rf own", "evil own"], &["own/.vscode/tasks.json"]),
        (&["evil own"], &["own/.vscode/tasks.json"]),
        (&["evil pkg"], &["pkg/.vscode"]),
        (&["evil ."], &[".vscode"]),
        // A work tree below the guarded name.
        (
            &[
                "git init -q .vscode; cd .vscode; echo evil > tasks.json; git add -A; git commit -qm x",
            ],
            &[".vscode"],
        ),
        (
            &[
                "mkdir .idea; git init -q .idea/y; cd .idea/y; echo evil > z; git add -A; git commit -qm x",
            ],
            &[".idea"],
        ),
        // What stays in a clone is a plant elsewhere.
        (&["evil x; mv x/.vscode .vscode"], &[".vscode"]),
        (&["evil x", "mv x/.vscode .vscode"], &[".vscode/tasks.json"]),
        (&["evil x", "mkdir .vscode; mv x/.vscode/tasks.json .vscode"], &[".vscode/tasks.json"]),
        (&["evil x", "mkdir .vscode; ln x/.vscode/tasks.json .vscode"], &[".vscode/tasks.json"]),
        (&["evil x", "cp -r x/.vscode .vscode"], &[".vscode/tasks.json"]),
        (&["evil x", "ln -s x/.vscode .vscode"], &[".vscode"]),
        (&["evil x", "mv x/.vscode own/.vscode"], &["own/.vscode/tasks.json"]),
        // Later commits of commands do not count.
        (
            &["evil x", "cd x; echo worse > .vscode/tasks.json; git commit -qam worse"],
            &["x/.vscode/tasks.json worse"],
        ),
        (&["git init -q x", "evil x"], &["x/.vscode/tasks.json"]),
    ];
    for backend in [Backend::Namespaces, Backend::Landlock] {
        for (lines, gone) in cases {
            for keeps_sandbox in [false, true] {
                let mut project = Project::new().file("pkg/a.txt", "").file("own/a.txt", "");
                project.backend = backend;
                project.git(&["init", "-q", "own"]);
                project.git(&["-C", "own", "add", "-A"]);
                project.git(&["-C", "own", "commit", "-q", "-m", "mine"]);
                let mut sandbox = project.start();
                let mut runs = Vec::new();
                for line in *lines {
                    if !keeps_sandbox {
                        drop(sandbox);
                        sandbox = project.start();
                    }
                    runs.push(sandbox.run(&format!("{EVIL}{line}")));
                }
                for path in *gone {
                    let what = format!("{backend:?} {keeps_sandbox} {lines:?} {path}: {runs:#?}");
                    match path.split_once(' ') {
                        Some((path, bad)) => assert_ne!(project.read(path).trim(), bad, "{what}"),
                        None => assert!(is_empty(&project.zone().join(path)), "{what}"),
                    }
                }
            }
        }
    }
}

/// Returns whether nothing is at a path, or a directory without files.
fn is_empty(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            fs::read_dir(path).unwrap().flatten().all(|entry| is_empty(&entry.path()))
        }
        found => found.is_err(),
    }
}
