//! What was there before, and git, which goes on working.

use super::*;

pub(super) fn what_exists_does_not_change() {
    let project = Project::new()
        .file(".envrc", "use x")
        .file(".vscode/settings.json", "{}")
        .file("a/.npmrc", "a=b")
        .file(".gitattributes", "*.x filter=mine\n");
    project.git(&["init", "-q"]);
    project.git(&["init", "-q", "--bare", "bare"]);
    let project = project.file(".git/hooks/pre-commit", "#!/bin/sh\n");
    let config = project.read(".git/config");
    let run = project.run(
        "for f in .envrc .vscode/settings.json a/.npmrc .git/config .git/hooks/pre-commit \\
            bare/config; do
           echo evil > $f; rm -f $f; mv -f $f x; echo evil > y; mv -f y $f; ln -f y $f
         done
         rm -rf .vscode .git/hooks; mv .vscode z; mv .git/hooks z; rmdir .vscode
         echo evil > .vscode/tasks.json; echo evil > .git/hooks/post-commit
         echo evil > bare/hooks/update; git config core.fsmonitor evil
         echo '*.y text' >> .gitattributes
         true",
    );
    run.succeeded().caught(&[]);
    assert_eq!(project.read(".envrc"), "use x");
    assert_eq!(project.read(".vscode/settings.json"), "{}");
    assert_eq!(project.read("a/.npmrc"), "a=b");
    assert_eq!(project.read(".git/config"), config);
    assert_eq!(project.read(".git/hooks/pre-commit"), "#!/bin/sh\n");
    assert_eq!(project.read(".gitattributes"), "*.x filter=mine\n*.y text\n");
    for path in [".vscode/tasks.json", ".git/hooks/post-commit", "bare/hooks/update"] {
        assert!(!project.has(path), "{path}");
    }
    let run = project.run("echo '*.z filter=evil' >> .gitattributes");
    run.caught(&[".gitattributes"]);
    assert_eq!(project.read(".gitattributes"), "*.x filter=mine\n*.y text\n");
}

pub(super) fn what_exists_stays_when_it_is_moved() {
    let project = Project::new()
        .file("sub/.envrc", "use x")
        .file("sub/.vscode/settings.json", "{}")
        .file("sub/.gitattributes", "*.x filter=mine\n")
        .file("sub/deep/er/.npmrc", "a=b");
    project.git(&["init", "-q", "sub"]);
    project.git(&["-C", "sub", "config", "alias.x", "!echo"]);
    let project = project.file("sub/.git/hooks/pre-commit", "#!/bin/sh\n");
    let config = project.read("sub/.git/config");
    project.run("mv sub other; sleep 0.2; mkdir in; mv other in/sub").succeeded().caught(&[]);
    assert_eq!(project.read("in/sub/.envrc"), "use x");
    assert_eq!(project.read("in/sub/.vscode/settings.json"), "{}");
    assert_eq!(project.read("in/sub/.gitattributes"), "*.x filter=mine\n");
    assert_eq!(project.read("in/sub/deep/er/.npmrc"), "a=b");
    assert_eq!(project.read("in/sub/.git/config"), config);
    assert_eq!(project.read("in/sub/.git/hooks/pre-commit"), "#!/bin/sh\n");
}

pub(super) fn existing_links_are_put_back() {
    let project = Project::new().file("real", "use x");
    symlink("real", project.zone().join(".envrc")).unwrap();
    project.run("cat .envrc; touch real").caught(&[]);
    let run = project.run("ln -sfn /tmp .envrc");
    run.caught(&[".envrc"]);
    assert_eq!(fs::read_link(project.zone().join(".envrc")).unwrap(), Path::new("real"));
}

pub(super) fn ordinary_git_works_in_new_repositories() {
    for _ in 0..3 {
        let project = Project::new();
        let run = project.run(
            "set -e
             git init -q lib; cd lib; echo 1 > f; git add f; git commit -qm one; cd ..
             git init -q app; cd app; echo '*.png binary' > .gitattributes; echo 2 > g
             git add -A; git commit -qm two
             git branch topic; git worktree add -q ../tree topic
             cd ../tree; echo 3 > h; git add h; git commit -qm three; cd ../app
             git merge -q topic; git tag v1; git remote add origin ../lib
             git -c protocol.file.allow=always submodule add -q ../lib vendor/lib
             git commit -qm four; git submodule status; git worktree list
             git checkout -q -b other; echo 5 > i; git add i; git commit -qm five
             git rebase -q main; git stash list; git gc -q; cd ..
             git -c protocol.file.allow=always clone -q --recurse-submodules app copy
             cd copy; git status --short; git log --oneline | wc -l",
        );
        run.succeeded().caught(&[]);
        let config = project.read("app/.git/config");
        assert!(!config.contains("symlinks"), "{config}");
        assert!(project.read("tree/.git").starts_with("gitdir: "));
        assert!(project.read("copy/vendor/lib/f").contains('1'));
        assert!(project.has("app/.git/hooks"));
        assert!(quarantine::list(&project.quarantine()).is_empty());
    }
}

pub(super) fn ordinary_git_works_in_an_existing_repository() {
    let mut project = Project::new().file("f", "1");
    project.git(&["init", "-q"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "one"]);
    let work = "set -e; echo 2 >> f; git commit -qam two; git checkout -q -b topic
                git worktree add -q w main; cd w; echo 3 > g; git add g; git commit -qm three";
    project.run(work).succeeded().caught(&[]);
    project.git_may_configure = true;
    let run = project.run(
        "set -e; git init -q lib; cd lib; echo 1 > f; git add f; git commit -qm one; cd ..
         git remote add origin https://example.org/x; git branch -q --set-upstream-to main topic
         git -c protocol.file.allow=always submodule add -q ./lib vendor; git commit -qm four",
    );
    run.succeeded().caught(&[]);
    let config = project.read(".git/config");
    assert!(config.contains("example.org") && config.contains("submodule"), "{config}");
    assert!(project.has("vendor/f") && project.has(".git/modules/vendor/config"));
}

pub(super) fn a_bad_configuration_is_put_back() {
    let mut project = Project::new();
    project.git(&["init", "-q"]);
    project.git(&["config", "alias.mine", "!echo mine"]);
    project.git_may_configure = true;
    let path = project.zone().join(".git/config");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let run = project.run(
        "git remote add origin https://example.org/x; sleep 0.2
         git config core.fsmonitor evil; sleep 0.2; git config user.name N",
    );
    run.caught(&[".git/config"]);
    let config = project.read(".git/config");
    assert!(config.contains("mine") && config.contains("example.org"), "{config}");
    assert!(config.contains("name = N") && !config.contains("evil"), "{config}");
    assert!(project.kept(".git/config", "").unwrap().contains("evil"));
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
    // A repository that the command made itself.
    let run = project.run("git init -q new; cd new; sleep 0.2; git config core.pager evil");
    run.caught(&["new/.git/config"]);
    let config = project.read("new/.git/config");
    assert!(config.contains("bare = false") && !config.contains("pager"), "{config}");
}

pub(super) fn named_directories_are_guarded() {
    let project = Project::new().file("tools/hooks/pre-commit", "#!/bin/sh\n").file("inc", "");
    project.git(&["init", "-q"]);
    project.git(&["config", "core.hooksPath", "tools/hooks"]);
    project.git(&["config", "include.path", "../inc"]);
    let run = project.run("echo x > tools/hooks/pre-commit; echo x > inc; rm -rf tools; true");
    run.caught(&[]);
    assert_eq!(project.read("tools/hooks/pre-commit"), "#!/bin/sh\n");
    assert_eq!(project.read("inc"), "");
    // One that is not there yet.
    project.git(&["config", "core.hooksPath", "later/hooks"]);
    let run = project.run("mkdir -p later/hooks later/other; echo x > later/hooks/pre-commit");
    run.caught(&["later/hooks"]);
    assert!(project.has("later/other") && !project.has("later/hooks"));
}

pub(super) fn directories_named_in_any_way() {
    let project = Project::new().file("tools/pre-commit", "#!/bin/sh\n");
    project.git(&["init", "-q"]);
    project.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let zone = project.zone().canonicalize().unwrap();
    symlink(&zone, project.dir.join("way")).unwrap();
    symlink("tools", project.zone().join("short")).unwrap();
    let zone = zone.to_str().unwrap();
    let way = project.dir.join("way/tools");
    let named = [
        "tools".to_owned(),
        format!("{zone}/tools"),
        format!("{}//tools", zone.replacen('/', "//", 1)),
        format!("{zone}/./x/../tools"),
        way.to_str().unwrap().to_owned(),
        "short".to_owned(),
        format!("{zone}/short/"),
    ];
    for name in named {
        project.git(&["config", "core.hooksPath", &name]);
        let run = project.run("echo x > tools/pre-commit; echo x > tools/post-commit; true");
        assert_eq!(project.read("tools/pre-commit"), "#!/bin/sh\n", "{name}: {run:?}");
        assert!(!project.has("tools/post-commit"), "{name}: {run:?}");
        // Neither the link on the way.
        project.run("rm -f short; mkdir evil; ln -s evil short; true");
        let link = fs::read_link(project.zone().join("short")).unwrap();
        let is_on_the_way = name.contains("short");
        assert_eq!(link == Path::new("tools"), is_on_the_way, "{name}: {link:?}");
        let _ = fs::remove_file(project.zone().join("short"));
        let _ = fs::remove_dir(project.zone().join("evil"));
        symlink("tools", project.zone().join("short")).unwrap();
    }
    // From the home directory, and from a work tree that was added.
    project.git(&["config", "core.hooksPath", "~/zone/tools"]);
    project.run("echo x > tools/pre-commit; true");
    assert_eq!(project.read("tools/pre-commit"), "#!/bin/sh\n");
    project.git(&["worktree", "add", "-q", "tree"]);
    project.git(&["config", "core.hooksPath", "hooks"]);
    let run = project.run("mkdir tree/hooks; echo x > tree/hooks/pre-commit");
    run.caught(&["tree/hooks"]);
}

pub(super) fn what_guarded_links_lead_to() {
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let mut project = Project::new()
            .file("scripts/check.sh", "#!/bin/sh\n")
            .file("shared/envrc", "good\n")
            .file("editor/tasks.json", "{}\n")
            .file("plain", "free\n")
            .file("rust/config.toml", "good\n");
        project.backend = backend;
        project.git(&["init", "-q"]);
        let link = |to: &str, at: &str| symlink(to, project.zone().join(at)).unwrap();
        link("../../scripts/check.sh", ".git/hooks/pre-commit");
        link("other", ".envrc");
        link("shared/envrc", "other");
        link("editor", ".vscode");
        link("conf/bashrc", ".bashrc");
        link("rust", ".cargo");
        let run = project.run(
            "echo x > scripts/check.sh; echo x > shared/envrc; echo x > editor/tasks.json
             echo x > editor/launch.json; mkdir -p conf; echo x > conf/bashrc
             ln -sf plain other; echo ok > plain; echo ok > scripts/new
             echo x > rust/config.toml; mkdir -p rust/bin; echo x > rust/bin/cargo
             echo ok > rust/free",
        );
        assert_eq!(project.read("rust/config.toml"), "good\n", "{backend}: {run:?}");
        assert!(!project.has("rust/bin/cargo"), "{backend}: {run:?}");
        assert_eq!(project.read("rust/free"), "ok\n", "{backend}: {run:?}");
        let content = ["scripts/check.sh", "shared/envrc", "editor/tasks.json", "plain"]
            .map(|path| project.read(path));
        assert_eq!(content, ["#!/bin/sh\n", "good\n", "{}\n", "ok\n"], "{backend}: {run:?}");
        assert!(!project.has("editor/launch.json") && !project.has("conf/bashrc"), "{run:?}");
        assert_eq!(fs::read_link(project.zone().join("other")).unwrap(), Path::new("shared/envrc"));
        assert_eq!(project.read("scripts/new"), "ok\n");
    }
    // A repository that is reached by a link is worked in as before.
    let project = Project::new();
    project.git(&["init", "-q", "--separate-git-dir", "store", "repo"]);
    fs::remove_file(project.zone().join("repo/.git")).unwrap();
    symlink("../store", project.zone().join("repo/.git")).unwrap();
    let run = project.run("cd repo && echo a > a && git add a && git commit -q -m one");
    run.succeeded().caught(&[]);
}

/// What the user has, and nobody changes, is left alone.
pub(super) fn what_is_as_it_was_stays() {
    let project = Project::new();
    project.git(&["init", "-q", "--separate-git-dir", "../store", "."]);
    let number = || fs::symlink_metadata(project.zone().join(".git")).unwrap().ino();
    let before = number();
    for _ in 0..2 {
        project.run("true").succeeded().caught(&[]);
        assert_eq!(number(), before);
    }
    project.run("echo 'gitdir: /elsewhere' > other; mv other .git");
    assert!(project.read(".git").contains("store"), "{}", project.read(".git"));
}

pub(super) fn guarded_files_with_other_names() {
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let mut project = Project::new().file(".envrc", "good\n").file(".vscode/tasks.json", "{}");
        project.backend = backend;
        project.git(&["init", "-q"]);
        let config = project.read(".git/config");
        let hook = project.zone().join(".git/hooks/pre-commit");
        fs::write(&hook, "#!/bin/sh\n").unwrap();
        let guarded = [".envrc", ".vscode/tasks.json", ".git/config", ".git/hooks/pre-commit"];
        for (number, path) in guarded.iter().enumerate() {
            let other = project.zone().join(format!("other-{number}"));
            fs::hard_link(project.zone().join(path), other).unwrap();
        }
        let run = project.run("for i in 0 1 2 3; do echo '[alias] a = !x' >> other-$i; done");
        run.caught(&guarded);
        let content = guarded.map(|path| project.read(path));
        assert_eq!(content, ["good\n", "{}", &config, "#!/bin/sh\n"], "{backend}");
        // What is not changed stays what it is.
        let project = Project::new().file(".envrc", "good\n");
        fs::hard_link(project.zone().join(".envrc"), project.zone().join("other")).unwrap();
        project.run("cat other .envrc").succeeded().caught(&[]);
        assert_eq!(fs::metadata(project.zone().join(".envrc")).unwrap().nlink(), 2);
    }
}
