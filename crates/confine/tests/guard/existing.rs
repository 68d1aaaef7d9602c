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
