//! What was caught can be had back.

use super::*;

pub(super) fn what_was_caught_can_be_restored() {
    let project = Project::new();
    let run = project.run(
        "mkdir -p a v/d; echo one > a/t; chmod 755 a/t; mv a/t a/.envrc; ln -s x .bashrc
         echo two > v/d/t; ln -s d v/l; mv v .vscode; mkfifo .npmrc; echo three > b.worker",
    );
    run.caught(&["a/.envrc", ".bashrc", ".vscode", ".npmrc", "b.worker"]);
    let state = project.quarantine();
    let id = |path: &str| {
        let end = format!("zone/{path}");
        run.caught.iter().find(|c| c.path.ends_with(&end)).unwrap().id.clone().unwrap()
    };
    assert_eq!(
        quarantine::restore(&state, &id("a/.envrc")).unwrap(),
        project.zone().join("a/.envrc")
    );
    assert_eq!(project.read("a/.envrc"), "one\n");
    let mode = project.zone().join("a/.envrc").metadata().unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755);
    quarantine::restore(&state, &id(".bashrc")).unwrap();
    assert_eq!(fs::read_link(project.zone().join(".bashrc")).unwrap(), Path::new("x"));
    fs::create_dir(project.zone().join(".vscode")).unwrap();
    let occupied = quarantine::restore(&state, &id(".vscode"));
    assert!(matches!(occupied, Err(RestoreError::Occupied { .. })), "{occupied:?}");
    fs::remove_dir(project.zone().join(".vscode")).unwrap();
    quarantine::restore(&state, &id(".vscode")).unwrap();
    assert_eq!(project.read(".vscode/d/t"), "two\n");
    assert_eq!(project.read(".vscode/l/t"), "two\n");
    let special = quarantine::restore(&state, &id(".npmrc"));
    assert!(matches!(special, Err(RestoreError::NotKept { .. })), "{special:?}");
    assert_eq!(quarantine::read(&state, &id(".npmrc")).unwrap().kind, Kind::Special);
    quarantine::drop(&state, &id(".npmrc")).unwrap();
    quarantine::restore(&state, &id("b.worker")).unwrap();
    assert!(quarantine::list(&state).is_empty());
    for bad in ["", "..", "../x", "a/b"] {
        assert!(matches!(quarantine::restore(&state, bad), Err(RestoreError::NoEntry { .. })));
        assert!(quarantine::drop(&state, bad).is_err());
    }
    // A link in the way is not followed; missing directories are made.
    let project = Project::new();
    let run = project.run("mkdir -p a/b; echo one > a/b/.envrc");
    let id = run.caught[0].id.clone().unwrap();
    fs::remove_dir_all(project.zone().join("a")).unwrap();
    symlink(&project.dir, project.zone().join("a")).unwrap();
    let crooked = quarantine::restore(&project.quarantine(), &id);
    assert!(matches!(crooked, Err(RestoreError::Crooked { .. })), "{crooked:?}");
    fs::remove_file(project.zone().join("a")).unwrap();
    // Neither one that stands for the zone.
    let (zone, elsewhere) = (project.zone(), project.dir.join("elsewhere"));
    fs::rename(&zone, &elsewhere).unwrap();
    symlink(&elsewhere, &zone).unwrap();
    let crooked = quarantine::restore(&project.quarantine(), &id);
    assert!(matches!(crooked, Err(RestoreError::Crooked { .. })), "{crooked:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(&zone).unwrap();
    fs::rename(&elsewhere, &zone).unwrap();
    quarantine::restore(&project.quarantine(), &id).unwrap();
    assert_eq!(project.read("a/b/.envrc"), "one\n");
}

pub(super) fn files_are_put_back_without_a_tree() {
    let mut project = Project::new()
        .file(".envrc", "use x")
        .file(".vscode/settings.json", "{}")
        .file(".vscode/more/x", "y");
    project.git(&["init", "-q"]);
    project.git(&["config", "alias.mine", "!echo mine"]);
    project.backend = Backend::None;
    let run = project.run(
        "echo evil > .envrc; echo evil > .vscode/settings.json; mkdir .vscode/new
         echo evil > .vscode/tasks.json; git config core.fsmonitor evil; cat .vscode/more/x",
    );
    run.caught(&[
        ".envrc",
        ".git/config",
        ".vscode/new",
        ".vscode/settings.json",
        ".vscode/tasks.json",
    ]);
    assert_eq!(project.read(".envrc"), "use x");
    assert_eq!(project.read(".vscode/settings.json"), "{}");
    assert_eq!(project.read(".vscode/more/x"), "y");
    assert!(!project.has(".vscode/tasks.json") && !project.has(".vscode/new"));
    let config = project.read(".git/config");
    assert!(config.contains("mine") && !config.contains("evil"), "{config}");
    project.run("git commit --allow-empty -qm x; cat .envrc").succeeded().caught(&[]);
    // By another name, which the kernel tells nobody of.
    for backend in [Backend::None, Backend::Landlock] {
        project.backend = backend;
        project.run("ln .envrc y; echo evil > y; rm y").succeeded().caught(&[".envrc"]);
        assert_eq!(project.read(".envrc"), "use x");
    }
}
