//! Races, floods and kills: nothing is left.

use super::*;

/// Returns everything below a directory that is guarded by its name.
pub(super) fn planted(dir: &Path) -> Vec<PathBuf> {
    let out = Command::new("find")
        .arg(dir)
        .args(["(", "-name", ".envrc", "-o", "-name", ".vscode", "-o", "-path"])
        .args(["*/.git/hooks/pre-commit", ")"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&out.stdout).lines().map(PathBuf::from).collect()
}

const HOSTILE: &str = "
    swap() { while :; do mkdir -p a/b/c; echo x > a/b/c/.envrc; mv a z; mv z/b y; rm -rf z;
             mv y a 2>/dev/null; rm -rf a/c/d; done; }
    fill() { while :; do mkdir -p .vscode/d; echo x > .vscode/d/$1; echo x > .vscode/$1; done; }
    link() { while :; do mkdir -p l/m; echo x > l/m/.envrc; rm -rf l; ln -s /usr l; rm l; done; }
    hook() { while :; do git init -q g; echo x > g/.git/hooks/pre-commit; mv g h; rm -rf h; done; }
    swap 2>/dev/null & fill 1 2>/dev/null & fill 2 2>/dev/null & link 2>/dev/null &
    hook 2>/dev/null &";

pub(super) fn nothing_is_left_after_races() {
    for _ in 0..3 {
        let project = Project::new();
        let sandbox = project.start();
        let run = sandbox.run(&format!("{HOSTILE} sleep 0.7"));
        assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new(), "{:?}", run.paths());
        assert!(!run.caught.is_empty());
        let failed = run.caught.iter().filter(|c| c.failed.is_some()).collect::<Vec<_>>();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

/// Stops the keeper for a while; returns who lets it go on.
pub(super) fn keeper_stands_still(
    sandbox: &Sandbox<'_>,
    time: Duration,
) -> std::thread::JoinHandle<()> {
    sandbox.tree.layers().unwrap();
    let keeper = sandbox.tree.keeper_pid().unwrap().to_string();
    let signal = move |name: &str| {
        assert!(Command::new("kill").args([name, &keeper]).status().unwrap().success());
    };
    signal("-STOP");
    std::thread::spawn(move || {
        std::thread::sleep(time);
        signal("-CONT");
    })
}

/// A directory goes away while the keeper is busy, something is planted in it, and
/// it is back before the keeper comes to see where it went.
pub(super) fn goes_and_comes_back() {
    let project = Project::new().file("a/b/main.c", "").file("a/lib.c", "");
    let sandbox = project.start();
    let run = sandbox.run(
        "mkdir j T U; for t in T U; do seq 0 3999 | sed s,^,$t/, | xargs mkdir; done; sleep 1
         mv T T1; mkdir q; mv a/b q/b; echo x > q/b/.envrc; git init -q j; echo x > j/.bashrc
         mv U U1; mkdir r; mv q/b r/b; rmdir q
         i=0; while [ -e j/.bashrc ] && [ $i -lt 3000000 ]; do i=$((i+1)); done
         mv a r2; mkdir a; mv r/b a/b; rmdir r; mv r2/lib.c a/; rmdir r2
         ls a/b a",
    );
    assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new());
    assert_eq!(run.output, "a:\nb\nlib.c\n\na/b:\nmain.c\n", "{run:?}");
    // Something else stands where it was.
    let project = Project::new().file("a/b/main.c", "").file("a/lib.c", "");
    let sandbox = project.start();
    let waker = keeper_stands_still(&sandbox, Duration::from_secs(1));
    sandbox.run("mkdir q; mv a/b q/b; mkdir a/b; echo x > q/b/.envrc; mv q a/q");
    waker.join().unwrap();
    assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new());
    // It comes back into a repository, where what is in it means something else.
    let project = Project::new();
    let run = project.run(
        "mkdir T; seq 0 2999 | sed s,^,T/, | xargs mkdir; mkdir -p a/hooks
         echo x > a/hooks/pre-commit; sleep 1; [ -e a/hooks/pre-commit ] || exit 3
         mv T T1; mkdir q; mv a/hooks q/hooks; rmdir a; mkdir a a/objects a/refs
         echo 'ref: refs/heads/main' > a/HEAD; mv q/hooks a/hooks; rmdir q; sleep 0.5",
    );
    run.succeeded();
    assert!(project.has("a/HEAD") && !project.has("a/hooks/pre-commit"), "{:?}", run.paths());
}

/// Closed directories in one another: the way back up leads through them as well.
pub(super) fn closed_directories_in_one_another() {
    let project = Project::new();
    let run = project.run(
        "mkdir n z; cd n; i=0; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i+1)); done
         echo x > .envrc; while [ $i -gt 0 ]; do cd ..; chmod 000 d; i=$((i-1)); done
         cd ..; chmod 000 n; mv n m; echo x > z/.envrc; mv z a",
    );
    let deep = format!("m/{}.envrc", "d/".repeat(200));
    let paths = run.paths();
    assert!(paths.iter().any(|path| path.ends_with(&deep[1..])), "{} caught", paths.len());
    assert!(!project.has("a/.envrc") && !project.has("z/.envrc"), "{} caught", paths.len());
    assert!(run.caught.iter().all(|c| c.failed.is_none()), "{run:?}");
    let open = Command::new("chmod").args(["-R", "u+rwX"]).arg(project.zone()).status().unwrap();
    assert!(open.success());
}

pub(super) fn lost_events_are_made_up_for() {
    let project = Project::new();
    // Many more than the kernel queues, while the keeper stands still.
    let sandbox = project.start();
    let waker = keeper_stands_still(&sandbox, Duration::from_secs(3));
    let run = sandbox.run(
        "mkdir s a; i=0; while [ $i -lt 20000 ]; do : > s/$i.worker; i=$((i+1)); done
         mkdir -p a/b; echo x > a/b/.envrc; mkdir .vscode; echo x > .vscode/y",
    );
    waker.join().unwrap();
    assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new());
    assert_eq!(fs::read_dir(project.zone().join("s")).unwrap().count(), 0);
    assert!(run.caught.len() <= 1001);
}

/// Starts a sandbox that plants for ever; is killed meanwhile.
pub(super) fn plant_until_killed(dir: &Path) {
    let project = Project::at(dir);
    project.start().run(&format!("{HOSTILE} wait"));
}

pub(super) fn nothing_is_left_when_the_caller_is_killed() {
    let project = Project::new();
    for delay in [150, 400, 700] {
        let mut helper = Command::new(std::env::current_exe().unwrap())
            .arg("plant-until-killed")
            .arg(&project.dir)
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        helper.kill().unwrap();
        helper.wait().unwrap();
        let since = Instant::now();
        // Nothing is left, and nothing comes any more.
        let mut clean = 0;
        while clean < 4 {
            clean = if planted(&project.zone()).is_empty() { clean + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(50));
            assert!(since.elapsed() < Duration::from_secs(60), "{:?}", planted(&project.zone()));
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(!quarantine::list(&project.quarantine()).is_empty());
}

pub(super) fn large_trees_start_quickly() {
    let project = Project::new();
    for i in 0..100 {
        for j in 0..100 {
            let dir = project.zone().join(format!("n{i}/m{j}"));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("index.js"), "").unwrap();
        }
    }
    let since = Instant::now();
    let sandbox = project.start();
    sandbox.tree.layers().unwrap();
    let took = since.elapsed();
    println!("      10,000 directories: {took:?}");
    assert!(took < Duration::from_secs(60), "{took:?}");
    sandbox.run("echo x > n99/m99/.envrc").caught(&["n99/m99/.envrc"]);
}

/// Each repository in another is gone through once more, so there must not be many.
pub(super) fn repositories_in_repositories() {
    const NEST: &str = "nest() { i=0; while [ $i -lt $1 ]; do mkdir objects refs d; : > HEAD; cd d;
                        i=$((i+1)); done; }; ";
    // From the inside to the outside, and the other way.
    let build = [
        "mkdir n; cd n; nest 150; echo x > /rw/.envrc".to_owned(),
        "mkdir n; cd n; i=0; while [ $i -lt 60 ]; do mkdir d; cd d; i=$((i+1)); done
         while [ $i -gt 0 ]; do mkdir objects refs; : > HEAD; cd ..; i=$((i-1)); done
         echo x > /rw/.envrc"
            .to_owned(),
    ];
    for script in build {
        let project = Project::new();
        let run = project.run(&format!("{NEST}{script}"));
        assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new(), "{:?}", run.paths());
        let deep = format!("n/{}", "d/".repeat(20));
        assert!(!project.has(&deep), "{:?}", run.paths());
        assert!(project.has("n"), "{:?}", run.paths());
    }
    // What the user has made stays.
    let project = Project::new().file("script", NEST);
    let made = Command::new("sh")
        .current_dir(project.zone())
        .args(["-c", &format!("{NEST} mkdir n; cd n; nest 12")])
        .status()
        .unwrap();
    assert!(made.success());
    let run = project.run(": > n/d/d/d/d/d/d/d/d/d/d/file; mv n m; mv m n");
    run.succeeded();
    assert!(project.has("n/d/d/d/d/d/d/d/d/d/d/file") && run.paths().is_empty(), "{run:?}");
}

pub(super) fn nothing_is_taken_away_after_the_end() {
    let project = Project::new();
    let sandbox = project.start();
    let run = sandbox.run("echo x > .envrc");
    run.caught(&[".envrc"]);
    assert_eq!(sandbox.tree.finish().unwrap().len(), 0);
    fs::write(project.zone().join(".envrc"), "mine").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop(sandbox);
    assert_eq!(project.read(".envrc"), "mine");
}
