//! What a command plants is caught.

use super::*;

pub(super) fn plants_of_every_kind_are_caught() {
    let cases: &[(&str, &[&str])] = &[
        ("echo x > .envrc", &[".envrc"]),
        ("mkdir -p a/b; echo x > a/b/.ENVRC", &["a/b/.ENVRC"]),
        ("echo x > main.worker", &["main.worker"]),
        ("mkdir -p .vscode/x; echo x > .vscode/x/tasks.json", &[".vscode"]),
        ("mkdir .cargo; echo x > .cargo/config.toml", &[".cargo/config.toml"]),
        ("ln -s /etc/passwd .bashrc", &[".bashrc"]),
        ("mkdir e; echo x > e/config.toml; ln -s e .cargo", &[".cargo"]),
        ("mkfifo .npmrc", &[".npmrc"]),
        ("echo x > y; ln y .envrc", &[".envrc"]),
        ("echo x > y; mv y .envrc", &[".envrc"]),
        ("mkdir y; echo x > y/z; mv y .vscode", &[".vscode"]),
        ("mkdir -p y/.vscode; echo x > y/.vscode/z; mv y z", &["z/.vscode"]),
        (
            "mkdir -p t/config; echo x > t/config/config.toml; mv t/config .cargo",
            &[".cargo/config.toml"],
        ),
        ("(umask 777; echo x > .envrc)", &[".envrc"]),
        ("git init -q; echo x > .git/hooks/pre-commit", &[".git/hooks/pre-commit"]),
        ("git init -q; mkdir .git/hooks/x; echo x > .git/hooks/x/y", &[".git/hooks/x"]),
        (
            "git init -q t; mkdir h; echo x > h/pre-commit; rm -r t/.git/hooks; mv h t/.git/hooks",
            &["t/.git/hooks/pre-commit"],
        ),
        ("git init -q t; mv t/.git/hooks h; ln -s ../../h t/.git/hooks", &["t/.git/hooks"]),
        ("git init -q; printf '[core]\\n\\tfsmonitor=x' > .git/config", &[".git/config"]),
        (
            "mkdir -p g/.git; printf '[core]\\n\\tfsmonitor=x' > g/.git/config; mv g h",
            &["h/.git/config"],
        ),
        ("echo '* filter=x' > .gitattributes", &[".gitattributes"]),
        ("echo '* filter=x' > a; ln a .gitattributes", &[".gitattributes"]),
        ("ln -s /dev/null .gitattributes", &[".gitattributes"]),
        ("mkfifo .gitattributes", &[".gitattributes"]),
        ("echo 'gitdir: /tmp/x' > .git", &[".git"]),
        ("mkdir g; ln -s g .git", &[".git"]),
    ];
    for (script, paths) in cases {
        let project = Project::new();
        let run = project.run(script);
        let mut found = run.paths();
        // Caught more than once where the keeper was quick.
        found.retain(|path| *path != "g/.git/config");
        let want: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        if script.contains("mv y z") || script.contains("mv g h") {
            let old = ["y/.vscode", "g/.git/config"];
            found.retain(|path| !old.contains(&path.as_str()));
            assert!(found.is_empty() || found == want, "{script}: {run:#?}");
        } else {
            // Where the keeper was quick, what comes after finds nothing.
            assert_eq!(found, want, "{script}: {run:#?}");
        }
        let is_fresh_config = script.contains("git init -q; printf");
        for path in *paths {
            assert!(!project.has(path) || is_fresh_config, "{script}: {path} is left");
        }
        if is_fresh_config {
            assert!(!project.read(".git/config").contains("fsmonitor"));
        }
        assert!(run.caught.iter().all(|c| c.failed.is_none() && c.id.is_some()), "{run:#?}");
        let entries = quarantine::list(&project.quarantine());
        assert_eq!(entries.len(), run.caught.len(), "{script}");
    }
}

pub(super) fn what_a_command_writes_later_is_kept() {
    let project = Project::new();
    let run = project.run("exec 3> .envrc; sleep 0.2; echo evil >&3; ls .envrc");
    run.caught(&[".envrc"]);
    assert!(run.output.contains("No such file"), "{}", run.output);
    assert_eq!(project.kept(".envrc", "").as_deref(), Some("evil\n"));
    let run = project.run("for i in 1 2 3; do echo $i > .envrc; sleep 0.05; done; : > .envrc");
    run.caught(&[".envrc"]);
    assert_eq!(project.kept(".envrc", "").as_deref(), Some("3\n"), "the last with content");
    let entries = quarantine::list(&project.quarantine());
    assert_eq!(entries.len(), 2);
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    let dir = project.quarantine().join(&entries[0].id);
    assert_eq!([mode(&dir), mode(&dir.join("entry.json"))], [0o700, 0o600]);
    assert_eq!(entries[0].agent_path, "/rw/.envrc");
}

pub(super) fn plants_are_caught_while_the_command_runs() {
    let cases = [
        "echo x > .envrc; sleep 0.3; test ! -e .envrc",
        // A work tree has a top of its own.
        "git init -q old; echo x > old/.envrc; sleep 0.3; test ! -e old/.envrc",
        "mkdir .vscode; sleep 0.3; test ! -e .vscode",
        // Never closed, and without an end of line.
        "exec 3> .gitattributes; printf '* filter=x' >&3; sleep 0.4; test ! -e .gitattributes",
        "git init -q; exec 3>> .git/config; printf '[core]\\nfsmonitor=x' >&3; sleep 0.4
         ! grep fsmonitor .git/config && git status",
        "mkdir x; mv x/ y; git init -q y; echo x > y/.bashrc; mv y z; sleep 0.3; test ! -e z/.bashrc",
    ];
    for script in cases {
        let project = Project::new().file("old/a.txt", "");
        let run = project.run(script);
        assert_eq!(run.code, Some(0), "{script}: {run:#?}");
        assert_eq!(run.caught.len(), 1, "{script}: {run:#?}");
    }
}

pub(super) fn plants_below_the_top_are_caught_at_the_end() {
    let cases = [
        ("mkdir -p a/b; echo x > a/b/.envrc; sleep 0.3; test -e a/b/.envrc", "a/b/.envrc"),
        (
            "mkdir -p a/.claude; echo x > a/.claude/settings.json; sleep 0.3; test -e a/.claude",
            "a/.claude",
        ),
        ("echo x > .npmrc; sleep 0.3; test -e .npmrc", ".npmrc"),
        // No program has a new directory open, and it may become a clone.
        ("git init -q a; echo x > a/.envrc; sleep 0.3; test -e a/.envrc", "a/.envrc"),
        (
            "mkdir x; mv x/ y; git init -q y; echo x > y/.envrc; mv y z; sleep 0.3; test -e z/.envrc",
            "z/.envrc",
        ),
        ("mkdir -p a; echo x > a/.bashrc; sleep 0.3; test -e a/.bashrc", "a/.bashrc"),
    ];
    for (script, path) in cases {
        let project = Project::new();
        let run = project.run(script);
        run.succeeded().caught(&[path]);
        assert!(!project.has(path), "{script}");
    }
    // Dependencies and build results are no configuration.
    let project = Project::new();
    let run = project.run(
        "for d in node_modules/p vendor/p target .venv/lib/site-packages/p build; do
           mkdir -p $d/.github/workflows $d/.vscode; echo x > $d/.npmrc
           echo x > $d/.vscode/tasks.json; echo x > $d/.github/workflows/ci.yml; done
         git init -q vendor/lib; echo x > vendor/lib/.git/hooks/pre-commit",
    );
    run.succeeded().caught(&["vendor/lib/.git/hooks/pre-commit"]);
    assert!(project.has("build/.vscode/tasks.json"));
}

pub(super) fn permissions_are_not_in_the_way() {
    let project = Project::new();
    let run = project.run(
        "mkdir d; echo x > d/.envrc; chmod 000 d
         mkdir e; echo x > e/.envrc; chmod 555 e
         mkdir -p f/.vscode/g; echo x > f/.vscode/g/h; chmod 000 f/.vscode/g f/.vscode f
         mkdir -m 000 i; sleep 0.2; chmod 700 i; echo x > i/.envrc; chmod 000 i",
    );
    run.caught(&["d/.envrc", "e/.envrc", "f/.vscode", "i/.envrc"]);
    let mode = |path| project.zone().join(path).metadata().unwrap().mode() & 0o777;
    assert_eq!([mode("d"), mode("e"), mode("f"), mode("i")], [0, 0o555, 0, 0]);
    for dir in ["d", "e", "f", "i"] {
        let path = project.zone().join(dir);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!project.has(format!("{dir}/.envrc")) && !project.has(format!("{dir}/.vscode")));
    }
    // A directory that nobody could look into when the sandbox started.
    let project = Project::new().file("d/x", "");
    let dir = project.zone().join("d");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o000)).unwrap();
    let run = project.run("chmod 700 d; echo x > d/.envrc; chmod 000 d");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!project.has("d/.envrc"), "{run:#?}");
}

pub(super) fn strange_names_and_deep_trees_are_caught() {
    let project = Project::new();
    let run = project.run(
        "n=$(printf 'a\\nb\\377c'); mkdir \"$n\"; echo x > \"$n/.envrc\"
         i=0; while [ $i -lt 500 ]; do mkdir d && cd -P d; i=$((i+1)); done; echo x > .envrc",
    );
    let deep = format!("{}.envrc", "d/".repeat(500));
    run.caught(&["a\\x0ab\\xffc/.envrc", &deep]);
    let name = Path::new(OsStr::from_bytes(b"a\nb\xffc"));
    assert!(!project.has(name.join(".envrc")) && project.has(name) && !project.has(&deep));
    // Deeper than any path that a program can use.
    let run = project.run(
        "mkdir y; cd y; perl -e 'for (1..3000) { mkdir \"d\"; chdir \"d\" }'; mv ../y ../.vscode",
    );
    assert!(!project.has(".vscode"), "{run:#?}");
    let project = Project::new();
    let run = project.run("perl -e 'for (1..2200) { mkdir \"d\"; chdir \"d\" }'");
    assert!(run.caught.iter().any(|c| c.failed.is_some()), "{:#?}", run.caught.len());
    let removed = Command::new("rm").arg("-rf").arg(project.zone()).status().unwrap();
    assert!(removed.success());
}

pub(super) fn repositories_of_any_name_are_guarded() {
    let orders = [
        "mkdir r; cd r; mkdir objects refs hooks; echo x > hooks/update; echo ref > HEAD",
        "mkdir r; cd r; echo ref > HEAD; mkdir refs; sleep 0.1; mkdir objects; sleep 0.1
         mkdir hooks; sleep 0.1; echo x > hooks/update",
        "git init -q --bare r; echo x > r/hooks/update",
        // Hooks that look like a repository themselves.
        "git init -q --bare r; cd r/hooks; mkdir objects refs; echo x > HEAD; sleep 0.1
         echo x > update",
    ];
    for script in orders {
        let project = Project::new();
        let run = project.run(script);
        assert!(!project.has("r/hooks/update"), "{script}: {run:#?}");
        assert!(run.paths().contains(&"r/hooks/update".to_owned()), "{script}: {run:#?}");
        assert!(project.has("r/HEAD"), "{script}");
    }
    let project = Project::new();
    let run = project.run("git init -q --bare r; printf '[core]\\nsshCommand=x\\n' > r/config");
    run.caught(&["r/config"]);
    assert!(!project.read("r/config").contains("ssh"));
}

pub(super) fn zones_in_zones_are_guarded() {
    let mut project = Project::new().file("sub/.vscode/x", "y");
    project.inner_zone = true;
    let run = project.run(
        "echo x > /inner/.envrc; mkdir -p /inner/a; echo x > /inner/a/.envrc; echo x > .envrc
         echo evil > /inner/.vscode/x; echo evil > sub/.vscode/x; echo x > sub/a/b.worker; true",
    );
    run.caught(&[".envrc", "sub/.envrc", "sub/a/.envrc", "sub/a/b.worker"]);
    assert_eq!(project.read("sub/.vscode/x"), "y");
}
