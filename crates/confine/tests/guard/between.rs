//! What changes between commands is the user's; what commands make of it is not.

use super::*;

/// Does something in the zone once for each backend that takes things in, between two
/// commands of one sandbox.
fn between(project: impl Fn() -> Project, then: impl Fn(&Project, &Sandbox<'_>)) {
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let mut project = project();
        project.backend = backend;
        let sandbox = project.start();
        sandbox.run("echo x > .envrc").caught(&[".envrc"]);
        then(&project, &sandbox);
    }
}

/// Changes a file by another name of it, and another one in memory.
const UNTOLD: &str = r#"ln .envrc y; echo evil > y; rm y
    python3 -c 'import mmap
with open("a/b/.npmrc", "r+b") as file:
    mmap.mmap(file.fileno(), 4)[0:4] = b"evil"'"#;

fn put(project: &Project, path: &str, content: &str) {
    let path = project.zone().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(super) fn what_the_user_writes_between_commands() {
    between(Project::new, |project, sandbox| {
        put(project, ".envrc", "mine");
        put(project, "a/b/.npmrc", "mine");
        put(project, ".vscode/deep/settings.json", "mine");
        project.git(&["init", "-q", "repo"]);
        project.git(&["-C", "repo", "config", "alias.mine", "!echo"]);
        put(project, "repo/.git/hooks/pre-commit", "mine");
        symlink("/nowhere", project.zone().join(".bashrc")).unwrap();
        let config = project.read("repo/.git/config");
        sandbox.run("cat .envrc a/b/.npmrc .vscode/deep/settings.json").caught(&[]);
        let check = |run: &Run| {
            assert_eq!(project.read(".envrc"), "mine", "{run:?}");
            assert_eq!(project.read("a/b/.npmrc"), "mine", "{run:?}");
            assert_eq!(project.read(".vscode/deep/settings.json"), "mine", "{run:?}");
            assert_eq!(project.read("repo/.git/hooks/pre-commit"), "mine", "{run:?}");
            assert_eq!(project.read("repo/.git/config"), config, "{run:?}");
            let link = fs::read_link(project.zone().join(".bashrc")).unwrap();
            assert_eq!(link, Path::new("/nowhere"), "{run:?}");
        };
        // What commands make of it is not the user's, whichever way they go about it.
        let changed = [
            "for f in .envrc a/b/.npmrc .vscode/deep/settings.json repo/.git/hooks/pre-commit; do
               echo evil > $f; done; ln -sfn /tmp .bashrc; git -C repo config core.fsmonitor evil",
            "for f in .envrc a/b/.npmrc .vscode/deep/settings.json repo/.git/hooks/pre-commit; do
               echo evil > x; mv x $f; done
             printf '[core]\\nfsmonitor = evil\\n' >> repo/.git/config",
        ];
        for script in changed {
            let run = sandbox.run(script);
            assert!(run.caught.len() >= 5, "{run:?}");
            check(&run);
        }
        // Ways that the kernel tells nobody of are seen at the end.
        sandbox.run(UNTOLD).caught(&[".envrc", "a/b/.npmrc"]);
        check(&sandbox.run("true"));
        // Nor is what they put beside it.
        let run = sandbox.run(
            "echo evil > .vscode/tasks.json; mkdir .vscode/new; echo evil > .vscode/deep/x
             echo evil > repo/.git/hooks/post-commit; echo evil > a/.envrc; mkdir .idea",
        );
        for path in [".vscode/tasks.json", ".vscode/new", ".vscode/deep/x", "a/.envrc", ".idea"] {
            assert!(!project.has(path), "{path}: {run:?}");
        }
        assert!(!project.has("repo/.git/hooks/post-commit"), "{run:?}");
        check(&run);
    });
}

pub(super) fn what_the_user_changes_between_commands() {
    let before = || {
        let project = Project::new().file(".npmrc", "old").file(".vscode/settings.json", "old");
        let project = project.file("kept/.npmrc", "old");
        project.git(&["init", "-q"]);
        project
    };
    between(before, |project, sandbox| {
        // In place, by another file in its place, and by ordinary git.
        put(project, ".npmrc", "new");
        put(project, "new", "new");
        let zone = project.zone();
        fs::rename(zone.join("new"), zone.join("kept/.npmrc")).unwrap();
        fs::remove_dir_all(zone.join(".vscode")).unwrap();
        put(project, ".vscode/settings.json", "new");
        project.git(&["config", "alias.mine", "!echo mine"]);
        project.git(&["config", "core.hooksPath", "tools/hooks"]);
        put(project, "tools/hooks/pre-commit", "new");
        let config = project.read(".git/config");
        sandbox.run("true").caught(&[]);
        let run = sandbox.run(
            "for f in .npmrc kept/.npmrc .vscode/settings.json tools/hooks/pre-commit; do
               echo evil > $f; done; git config core.fsmonitor evil
             echo evil > tools/hooks/post-commit; true",
        );
        for path in [".npmrc", "kept/.npmrc", ".vscode/settings.json", "tools/hooks/pre-commit"] {
            assert_eq!(project.read(path).trim(), "new", "{path}: {run:?}");
        }
        assert_eq!(project.read(".git/config"), config, "{run:?}");
        assert!(!project.has("tools/hooks/post-commit"), "{run:?}");
    });
}

/// More than the kernel queues, at once with the next command.
pub(super) fn much_that_happens_between_commands() {
    between(Project::new, |project, sandbox| {
        let waker = races::keeper_stands_still(sandbox, Duration::from_secs(1));
        for number in 0..18_000 {
            put(project, &format!("s{}/{number}.worker", number % 10), "");
        }
        put(project, "last/.envrc", "mine");
        sandbox.run("echo x > s1/.envrc").caught(&["s1/.envrc"]);
        waker.join().unwrap();
        assert_eq!(project.read("last/.envrc"), "mine");
        assert!(project.has("s9/17999.worker") && project.has("s0/0.worker"));
        sandbox.run("echo evil > last/.envrc").caught(&["last/.envrc"]);
        assert_eq!(project.read("last/.envrc"), "mine");
    });
}

pub(super) fn while_another_session_is_busy() {
    between(Project::new, |project, sandbox| {
        let other = project.activity();
        // The other one sees to what its commands do, and the user's is left alone.
        put(project, ".npmrc", "mine");
        other.begin([&*project.zone()]).unwrap();
        put(project, ".envrc", "mine or not");
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(project.read(".npmrc"), "mine");
        assert_eq!(project.read(".envrc"), "mine or not");
        // Where a command of this one begins meanwhile, nobody can tell whose it is.
        sandbox.run("echo evil > .npmrc").caught(&[".envrc", ".npmrc"]);
        other.end();
        put(project, ".envrc", "mine");
        sandbox.run("true").caught(&[]);
        other.begin([&*project.zone()]).unwrap();
        put(project, ".yarnrc.yml", "mine");
        std::thread::sleep(Duration::from_millis(50));
        other.end();
        sandbox.run("true").caught(&[]);
        assert_eq!(project.read(".envrc"), "mine");
        assert_eq!(project.read(".yarnrc.yml"), "mine");
    });
}

/// The command of one session shows something to another one that rests, for that one's
/// command to bring it back.
pub(super) fn what_was_there_for_a_moment() {
    between(Project::new, |project, sandbox| {
        let zone = project.zone();
        let other = project.activity();
        put(project, "a", "evil");
        other.begin([&*project.zone()]).unwrap();
        let waker = races::keeper_stands_still(sandbox, Duration::from_millis(300));
        for _ in 0..100 {
            fs::rename(zone.join("a"), zone.join(".envrc")).unwrap();
            fs::rename(zone.join(".envrc"), zone.join("a")).unwrap();
        }
        // Ends, and has nothing left where it must not be.
        other.end();
        waker.join().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let run = sandbox.run("mv a .envrc");
        assert!(!project.has(".envrc"), "{run:?}");
    });
}

/// What the user restores while a command runs is the user's, as it is and where it is.
pub(super) fn what_the_user_restores_while_a_command_runs() {
    let plant = "echo x > .envrc; mkdir -p v/d; echo x > v/d/t; ln -s d v/l; mv v .vscode
        mkdir -p a; echo x > a/.envrc; echo y > .mcp.json; true";
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let mut project = Project::new();
        project.backend = backend;
        let run = project.run(plant);
        let ids: Vec<String> = run.caught.iter().filter_map(|caught| caught.id.clone()).collect();
        assert_eq!(ids.len(), 4, "{run:#?}");
        // The control: a user's file that nobody has restored is not told from a command's.
        put(&project, "wait", "");
        let sandbox = project.start();
        let run = std::thread::scope(|scope| {
            let waits = "touch ready; while [ -e wait ]; do sleep 0.02; done; echo z > a/.mcp.json";
            let command = scope.spawn(|| sandbox.run(waits));
            while !project.has("ready") && !command.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            for id in &ids {
                quarantine::restore(&project.quarantine(), id, Incomplete::Refuse).unwrap();
            }
            put(&project, ".npmrc", "mine");
            // The keeper looks at all of it while the command runs.
            std::thread::sleep(Duration::from_millis(200));
            fs::remove_file(project.zone().join("wait")).unwrap();
            command.join().unwrap()
        });
        run.succeeded().caught(&[".npmrc", "a/.mcp.json"]);
        assert_eq!(project.read(".envrc"), "x\n", "{backend:?}");
        assert_eq!(project.read("a/.envrc"), "x\n");
        assert_eq!(project.read(".vscode/d/t"), "x\n");
        assert!(project.has(".vscode/l"));
        assert_eq!(project.read(".mcp.json"), "y\n");
        // Other content and other files beside it are held as ever.
        let run = sandbox.run("echo z > .envrc; echo z > .vscode/d/u");
        run.caught(&[".envrc", ".vscode/d/u"]);
        assert_eq!(project.read(".envrc"), "x\n");
        // And so is the same content in a later session, once the user has removed it.
        drop(sandbox);
        fs::remove_file(project.zone().join(".envrc")).unwrap();
        project.run("echo x > .envrc").caught(&[".envrc"]);
    }
}
