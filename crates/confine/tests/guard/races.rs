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

pub(super) fn lost_events_are_made_up_for() {
    let project = Project::new();
    // Many more than the kernel queues, while the keeper stands still.
    let sandbox = project.start();
    sandbox.tree.layers().unwrap();
    let keeper = sandbox.tree.keeper_pid().unwrap().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &keeper]).status().unwrap().success());
    };
    signal("-STOP");
    let waker = std::thread::spawn({
        let keeper = keeper.clone();
        move || {
            std::thread::sleep(Duration::from_secs(3));
            Command::new("kill").args(["-CONT", &keeper]).status().unwrap();
        }
    });
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
            assert!(since.elapsed() < Duration::from_secs(2), "{:?}", planted(&project.zone()));
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
    assert!(took < Duration::from_secs(2), "{took:?}");
    sandbox.run("echo x > n99/m99/.envrc").caught(&["n99/m99/.envrc"]);
}
