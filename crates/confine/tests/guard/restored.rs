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
        quarantine::restore(&state, &id("a/.envrc"), Incomplete::Refuse).unwrap(),
        project.zone().join("a/.envrc")
    );
    assert_eq!(project.read("a/.envrc"), "one\n");
    let mode = project.zone().join("a/.envrc").metadata().unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755);
    quarantine::restore(&state, &id(".bashrc"), Incomplete::Refuse).unwrap();
    assert_eq!(fs::read_link(project.zone().join(".bashrc")).unwrap(), Path::new("x"));
    fs::create_dir(project.zone().join(".vscode")).unwrap();
    let occupied = quarantine::restore(&state, &id(".vscode"), Incomplete::Refuse);
    assert!(matches!(occupied, Err(RestoreError::Occupied { .. })), "{occupied:?}");
    fs::remove_dir(project.zone().join(".vscode")).unwrap();
    quarantine::restore(&state, &id(".vscode"), Incomplete::Refuse).unwrap();
    assert_eq!(project.read(".vscode/d/t"), "two\n");
    assert_eq!(project.read(".vscode/l/t"), "two\n");
    let special = quarantine::restore(&state, &id(".npmrc"), Incomplete::Refuse);
    assert!(matches!(special, Err(RestoreError::NotKept { .. })), "{special:?}");
    assert_eq!(quarantine::read(&state, &id(".npmrc")).unwrap().kind, Kind::Special);
    quarantine::drop(&state, &id(".npmrc")).unwrap();
    quarantine::restore(&state, &id("b.worker"), Incomplete::Refuse).unwrap();
    assert!(quarantine::list(&state).is_empty());
    for bad in ["", "..", "../x", "a/b"] {
        assert!(matches!(
            quarantine::restore(&state, bad, Incomplete::Refuse),
            Err(RestoreError::NoEntry { .. })
        ));
        assert!(quarantine::drop(&state, bad).is_err());
    }
    // A link in the way is not followed; missing directories are made.
    let project = Project::new();
    let run = project.run("mkdir -p a/b; echo one > a/b/.envrc");
    let id = run.caught[0].id.clone().unwrap();
    fs::remove_dir_all(project.zone().join("a")).unwrap();
    symlink(&project.dir, project.zone().join("a")).unwrap();
    let crooked = quarantine::restore(&project.quarantine(), &id, Incomplete::Refuse);
    assert!(matches!(crooked, Err(RestoreError::Crooked { .. })), "{crooked:?}");
    fs::remove_file(project.zone().join("a")).unwrap();
    // Neither one that stands for the zone.
    let (zone, elsewhere) = (project.zone(), project.dir.join("elsewhere"));
    fs::rename(&zone, &elsewhere).unwrap();
    symlink(&elsewhere, &zone).unwrap();
    let crooked = quarantine::restore(&project.quarantine(), &id, Incomplete::Refuse);
    assert!(matches!(crooked, Err(RestoreError::Crooked { .. })), "{crooked:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(&zone).unwrap();
    fs::rename(&elsewhere, &zone).unwrap();
    quarantine::restore(&project.quarantine(), &id, Incomplete::Refuse).unwrap();
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

/// Returns how many bytes of disk the entries take.
fn disk_of(quarantine: &Path) -> u64 {
    let entries = fs::read_dir(quarantine).unwrap().flatten();
    let files = entries.flat_map(|entry| fs::read_dir(entry.path().join("content")).unwrap());
    files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512).sum()
}

pub(super) fn holes_are_kept() {
    let project = Project::new();
    let run = project.run("echo begin > x; truncate -s 4G x; mv x .envrc");
    run.caught(&[".envrc"]);
    assert!(disk_of(&project.quarantine()) < 1 << 20, "{}", disk_of(&project.quarantine()));
    let id = run.caught[0].id.clone().unwrap();
    let path = quarantine::restore(&project.quarantine(), &id, Incomplete::Refuse).unwrap();
    let facts = path.metadata().unwrap();
    assert_eq!(facts.len(), 4 << 30);
    assert!(facts.blocks() * 512 < 1 << 20, "{}", facts.blocks());
    let mut begin = [0; 6];
    fs::File::open(path).unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"begin\n");
}

pub(super) fn a_part_is_not_restored_as_the_whole() {
    let project = Project::new();
    let run = project.run("head -c 70000000 /dev/zero | tr '\\0' x > x; mv x .envrc");
    let [caught] = &run.caught[..] else { panic!("{run:#?}") };
    assert!(caught.failed.is_none() && caught.lost.is_some(), "{caught:?}");
    let id = caught.id.clone().unwrap();
    let refused = quarantine::restore(&project.quarantine(), &id, Incomplete::Refuse).unwrap_err();
    assert!(refused.to_string().ends_with("was kept: the first 67108864 bytes"), "{refused}");
    assert!(!project.has(".envrc"));
    quarantine::restore(&project.quarantine(), &id, Incomplete::Restore).unwrap();
    assert_eq!(project.zone().join(".envrc").metadata().unwrap().len(), 64 << 20);
    assert_eq!(quarantine::list(&project.quarantine()).len(), 1, "the entry stays");
}

pub(super) fn the_quarantine_has_a_bound() {
    let project = Project::new();
    let fill = |count: u32| {
        for number in 0..count {
            fs::create_dir_all(project.quarantine().join(format!("{number:x}/content"))).unwrap();
        }
    };
    fill(1_998);
    let sandbox = project.start();
    let run =
        sandbox.run("for i in 1 2 3 4; do mkdir d$i; echo x > d$i/t; mv d$i/t d$i/.envrc; done");
    let kept = run.caught.iter().filter(|caught| caught.id.is_some()).count();
    let lost = run.caught.iter().filter_map(|caught| caught.lost.as_deref());
    let lost: Vec<&str> = lost.collect();
    assert_eq!((kept, lost.len(), run.caught.len()), (2, 2, 4), "{run:#?}");
    assert!(lost.iter().all(|why| why.contains("the quarantine is full")), "{lost:?}");
    assert!((1..5).all(|number| !project.has(format!("d{number}/.envrc"))), "all are removed");
    assert_eq!(quarantine::list(&project.quarantine()).len(), 2, "and none pushed out");
    drop(sandbox);
    let refused = project.start().tree.layers().unwrap_err().to_string();
    assert!(refused.contains("zonekeep quarantine drop"), "{refused}");
}

pub(super) fn one_project_fills_only_its_part_of_the_quarantine() {
    let project = Project::new();
    let entry = |number: u32, zone: &Path| {
        let dir = project.quarantine().join(format!("{number:x}"));
        fs::create_dir_all(dir.join("content")).unwrap();
        let entry = serde_json::json!({
            "id": format!("{number:x}"), "time": 0, "zone": zone, "path": "x", "agent_path": "/x",
            "pattern": "x", "kind": "file", "items": [],
        });
        fs::write(dir.join("entry.json"), entry.to_string()).unwrap();
    };
    let plant = "mkdir d; echo x > d/t; mv d/t d/.envrc";
    // Another project, whose zone lies around, has used up its part.
    let around = project.zone().parent().unwrap().to_owned();
    (0..500).for_each(|number| entry(number, &around));
    let room = |zone: &Path| quarantine::check_room(&project.quarantine(), &[zone.to_owned()]);
    assert_eq!(room(&around), Err(quarantine::Full::Project));
    assert_eq!(room(&project.zone()), Ok(()));
    project.run(plant).caught(&["d/.envrc"]);
    // This one uses up its own.
    (501..1_000).for_each(|number| entry(number, &project.zone()));
    assert_eq!(room(&project.zone()), Err(quarantine::Full::Project));
    let refused = project.start().tree.layers().unwrap_err().to_string();
    assert!(refused.contains("full for this project (500 entries or 512 MiB)"), "{refused}");
    assert_eq!(room(Path::new("/elsewhere")), Ok(()));
    (1_001..2_001).for_each(|number| entry(number, Path::new("/others")));
    assert_eq!(room(Path::new("/elsewhere")), Err(quarantine::Full::Everywhere));
}

pub(super) fn what_cannot_be_kept_is_not_said_to_be_there() {
    let project = Project::new();
    let sandbox = project.start();
    // As if the disk were full: no entry can be made.
    fs::remove_dir_all(project.quarantine()).unwrap();
    fs::write(project.quarantine(), "").unwrap();
    let run = sandbox.run("echo x > t; mv t .envrc");
    let [caught] = &run.caught[..] else { panic!("{run:#?}") };
    assert!(caught.id.is_none() && caught.failed.is_none() && caught.lost.is_some(), "{caught:?}");
    assert!(!project.has(".envrc"));
}
