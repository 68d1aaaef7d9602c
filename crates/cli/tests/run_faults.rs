//! `zonekeep run` when something gives way: processes killed at any moment, and
//! a machine without room, descriptors, processes or `/proc`.
//!
//! Whatever happens, a command runs confined or not at all, and nothing is left
//! of it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};
use zonekeep_testkit::{Project, Run, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
/// How soon nothing should be left; printed, not judged, since other work on
/// the machine counts in.
const SOON: Duration = Duration::from_millis(100);
/// How soon nothing must be left.
const LATE: Duration = Duration::from_secs(120);
/// How many runs go on at once.
const AT_ONCE: usize = 4;
/// The least time over which the moments of kills are spread.
const SPREAD: Duration = Duration::from_millis(15);

/// Leaves a process behind that ignores what can be ignored, writes in the zone
/// and in `/tmp`, and plants a file that other programs would run.
const RESTLESS: &str = r#"
    (trap "" HUP INT TERM; setsid sh -c 'while :; do sleep 60; done' >/dev/null 2>&1 &)
    echo made > "made-$TOKEN"
    echo made > "/tmp/zonekeep-$TOKEN"
    mkdir -p "/tmp/zonekeep-dir-$TOKEN" && chmod 0 "/tmp/zonekeep-dir-$TOKEN"
    echo 'echo planted' > .envrc
    case $TOKEN in *0) ;; *) sleep 60 ;; esac
"#;

/// What a command prints only in a sandbox: the name of the machine.
const WHERE: [&str; 2] = ["cat", "/proc/sys/kernel/hostname"];

/// Has the tests of this file run one by one: each looks at all that this
/// process has started.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let held = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Whatever loses its parent becomes a child of this process, and is seen.
    rustix::process::set_child_subreaper(Pid::from_raw(1)).unwrap();
    held
}

/// Returns the children of a process; `None` once it is gone.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut pids = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let Ok(text) = fs::read_to_string(task.ok()?.path().join("children")) else { continue };
        pids.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Some(pids)
}

/// Returns what is left of programs that have ended, after collecting those
/// that only wait to be.
fn left() -> Vec<u32> {
    let mut pids = children(std::process::id()).unwrap();
    pids.retain(|&pid| {
        let pid = Pid::from_raw(pid as i32);
        matches!(rustix::process::waitpid(pid, WaitOptions::NOHANG), Ok(None))
    });
    pids
}

/// Returns the name of a process, which is empty once it has ended.
fn name(pid: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let ended = fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")));
    if ended { String::new() } else { text.trim_end().to_owned() }
}

/// Describes a process and those below it for a failure.
fn describe(pid: u32) -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let below: Vec<String> = children(pid).unwrap_or_default().into_iter().map(describe).collect();
    format!("{} {pid} in {} ({})", name(pid), read("wchan"), below.join(", "))
}

fn kill(pid: u32) {
    let _ = rustix::process::kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
}

/// Waits until nothing is left and returns how long that was after `since`;
/// otherwise says what stays, and ends it.
fn nothing_left(since: Instant) -> Result<Duration, String> {
    let begun = Instant::now();
    loop {
        let pids = left();
        if pids.is_empty() {
            return Ok(since.elapsed());
        }
        if begun.elapsed() > LATE {
            let names: Vec<String> = pids.iter().copied().map(describe).collect();
            pids.iter().for_each(|&pid| kill(pid));
            while !left().is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            return Err(format!("processes are left: {}", names.join("; ")));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a program ends; kills it when that takes too long.
fn ends(child: &mut Child) -> Result<ExitStatus, String> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status);
        }
        if since.elapsed() > LATE {
            let what = describe(child.id());
            kill(child.id());
            let _ = child.wait();
            return Err(format!("it does not end: {what}"));
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// Numbers that look random and come again with the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// What the host has that a run must leave as it is.
#[derive(Debug, PartialEq)]
struct Ground {
    mounts: Vec<String>,
    cgroups: BTreeSet<PathBuf>,
    temporary: BTreeSet<PathBuf>,
    zone: Vec<(String, u32, u32, String)>,
}

impl Ground {
    /// Looks at it, without what commands wrote in the zone, which is theirs. A
    /// guarded file stays when the keeper itself is killed: see the test below.
    fn of(project: &Project) -> Self {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let base = project.beside("");
        let base = base.to_str().unwrap();
        let ours = |line: &&str| line.contains(base) || line.contains("zonekeep");
        let mut zone: Vec<_> = project
            .tree("")
            .into_iter()
            .filter(|name| !name.starts_with("made-") && name != ".envrc")
            .map(|name| {
                let meta = project.path(&name).symlink_metadata().unwrap();
                let content = fs::read_to_string(project.path(&name)).unwrap_or_default();
                (name, meta.mode(), meta.uid(), content)
            })
            .collect();
        let meta = fs::metadata(project.path("")).unwrap();
        zone.push((".".to_owned(), meta.mode(), meta.uid(), String::new()));
        Ground {
            mounts: mountinfo.lines().filter(ours).map(str::to_owned).collect(),
            cgroups: cgroups(Path::new("/sys/fs/cgroup"), 3),
            temporary: names(&project.beside("tmp"), ""),
            zone,
        }
    }
}

/// Returns the paths of a directory whose names contain `part`.
fn names(dir: &Path, part: &str) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains(part)).collect()
}

fn cgroups(dir: &Path, depth: u32) -> BTreeSet<PathBuf> {
    let mut found = names(dir, "zonekeep");
    if depth > 0 {
        let dirs = names(dir, "").into_iter().filter(|path| path.is_dir() && !path.is_symlink());
        dirs.for_each(|dir| found.extend(cgroups(&dir, depth - 1)));
    }
    found
}

fn project() -> Project {
    let project = Project::new(PROGRAM)
        .file("kept.txt", "kept\n")
        .file("private.txt", "private\n")
        .file("sub/script", "#!/bin/sh\n")
        .dir("../tmp");
    let set = |path: &str, mode: u32| {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("private.txt", 0o600);
    set("sub/script", 0o755);
    project
}

fn run(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command();
    command.env("TMPDIR", project.beside("tmp")).args(["run", "--rw", "."]).args(args);
    command
}

/// Whom a kill is for.
#[derive(Debug, Clone, Copy)]
enum Victim {
    /// `zonekeep run` itself.
    Program,
    /// Its child, which keeps the sandbox.
    Keeper,
    /// The first process inside.
    Init,
}

/// Starts a run and kills one of its processes; returns when that was.
fn one_kill(
    project: &Project,
    token: &str,
    victim: Victim,
    delay: Duration,
) -> Result<Instant, String> {
    let script = RESTLESS.replace("$TOKEN", token);
    let mut child = run(project, &["--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let since = Instant::now();
    let keeper = || children(child.id())?.first().copied();
    let init = || children(keeper()?)?.into_iter().find(|&pid| name(pid) == "zonekeep");
    let find = || match victim {
        Victim::Program => Some(child.id()),
        Victim::Keeper => keeper(),
        Victim::Init => init(),
    };
    // The moment counts from when there is somebody to kill. The run itself is
    // not collected meanwhile, so that its number stays its own.
    let mut found = find();
    while found.is_none() && !name(child.id()).is_empty() && since.elapsed() < LATE {
        thread::sleep(Duration::from_micros(50));
        found = find();
    }
    thread::sleep(delay);
    let own = keeper();
    let mut last = find().filter(|pid| found == Some(*pid));
    last.into_iter().for_each(kill);
    let mut killed = Instant::now();
    // A first process that was made ahead, and had nothing to do yet, is replaced by
    // the same keeper.
    while matches!(victim, Victim::Init) && !name(child.id()).is_empty() && since.elapsed() < LATE {
        let next = find().filter(|next| last != Some(*next) && keeper() == own);
        if let Some(next) = next {
            kill(next);
            (last, killed) = (Some(next), Instant::now());
        }
        thread::sleep(Duration::from_millis(1));
    }
    ends(&mut child)?;
    Ok(killed)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_kill_at_any_moment_leaves_nothing() {
    let _alone = alone();
    if !Path::new(&format!("/proc/self/task/{}/children", std::process::id())).exists() {
        return skip("/proc does not tell who is whose child");
    }
    let project = project();
    if project.finish(run(&project, &["--"]).args(WHERE)).stdout.trim() != "zonekeep" {
        return skip("no namespaces here");
    }
    let required = std::env::var("ZONEKEEP_TEST_REQUIRE").is_ok_and(|value| value == "all");
    let kills = number("ZONEKEEP_TEST_KILLS").unwrap_or(if required { 1000 } else { 200 });
    let seed = number("ZONEKEEP_TEST_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_nanos() as u64
    });
    // Over all of a run, however slow the machine is.
    let begun = Instant::now();
    project.finish(&mut run(&project, &["--", "true"])).ok();
    let spread = SPREAD.max(begun.elapsed());
    eprintln!("{kills} kills over {spread:?} each, ZONEKEEP_TEST_SEED={seed}");

    let before = Ground::of(&project);
    let mut dice = Dice(seed);
    let mut failures = Vec::new();
    let mut times = Vec::new();
    let mut done = 0;
    while done < kills {
        let batch: Vec<_> = (done..kills.min(done + AT_ONCE as u64))
            .map(|number| {
                let victim =
                    [Victim::Program, Victim::Keeper, Victim::Init][dice.below(3) as usize];
                // Early moments more often: most happens then.
                let part = dice.below(1000) * dice.below(1000);
                let delay = spread.mul_f64(part as f64 / 1e6);
                (format!("{seed:x}-{number}"), victim, delay)
            })
            .collect();
        done += batch.len() as u64;
        let killed: Vec<Result<Instant, String>> = thread::scope(|scope| {
            let runs: Vec<_> = batch
                .iter()
                .map(|(token, victim, delay)| {
                    scope.spawn(|| one_kill(&project, token, *victim, *delay))
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let last = killed.iter().flatten().max().copied().unwrap_or_else(Instant::now);
        let killed = killed.into_iter().filter_map(Result::err);
        failures.extend(killed.map(|why| format!("{batch:?}: {why}")));
        match nothing_left(last) {
            Ok(time) => times.push(time),
            Err(why) => failures.push(format!("{batch:?}: {why}")),
        }
        let after = Ground::of(&project);
        if after != before {
            failures.push(format!("{batch:?}: {after:#?}\nwas before: {before:#?}"));
        }
        for (token, ..) in &batch {
            let seen = names(Path::new("/tmp"), token);
            if !seen.is_empty() {
                failures.push(format!("the host has {seen:?}"));
            }
        }
        if failures.len() > 10 {
            break;
        }
    }
    times.sort_unstable();
    if let (Some(worst), Some(median)) = (times.last(), times.get(times.len() / 2)) {
        let late = times.iter().filter(|time| **time > SOON).count();
        eprintln!(
            "nothing left after {median:?} (median), {worst:?} (worst); {late} over {SOON:?}"
        );
    }
    assert!(
        failures.is_empty(),
        "ZONEKEEP_TEST_SEED={seed}, {done} kills:\n{}",
        failures.join("\n")
    );
    // And it still works.
    project.finish(&mut run(&project, &["--", "true"])).ok();
}

/// Asserts that a run was refused, with a sentence that names what failed, and
/// that nothing is left of it.
#[track_caller]
fn assert_refused(run: &Run, says: &str) {
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.starts_with("error: "), "{run}");
    assert!(run.stderr.contains(says), "not {says:?}: {run}");
    assert_eq!(run.stdout, "", "{run}");
    nothing_left(Instant::now()).unwrap();
}

/// Asserts that a run went well in a sandbox, or was refused and ran nothing.
#[track_caller]
fn assert_confined_or_refused(run: &Run, what: &str) {
    match run.exit {
        0 => assert_eq!(run.stdout.trim(), "zonekeep", "{what}: {run}"),
        _ => {
            assert_eq!((run.exit, run.stdout.as_str()), (125, ""), "{what}: {run}");
            let says = ["cannot", "could not", "the sandbox ended unexpectedly"];
            let says = says.iter().any(|words| run.stderr.contains(words));
            assert!(says && run.stderr.starts_with("error: "), "{what}: {run}");
        }
    }
    nothing_left(Instant::now()).unwrap_or_else(|why| panic!("{what}: {why}"));
}

/// Returns a command that runs a script where it may mount, with the program as
/// `$0`; `None` where this user cannot.
fn with_mounts(project: &Project, script: &str) -> Option<Command> {
    let flags = if is_root() { "-m" } else { "-Urm" };
    let mut probe = Command::new("unshare");
    probe.args([flags, "mount", "-t", "tmpfs", "none", "/tmp"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    project.prepare(&mut command);
    command.env("TMPDIR", project.beside("tmp"));
    command.args([flags, "sh", "-c", script]).arg(project.program());
    Some(command)
}

#[test]
fn without_room_for_the_record_nothing_runs() {
    let _alone = alone();
    let project = project().dir("../state");
    let before = Ground::of(&project);
    let script = "mount -t tmpfs -o size=16k tmpfs \"$XDG_STATE_HOME\" || exit 99
        mkdir -p \"$XDG_STATE_HOME/zonekeep\"
        cat /dev/zero > \"$XDG_STATE_HOME/full\" 2>/dev/null
        exec \"$0\" run --rw . -- touch made-it";
    let Some(mut command) = with_mounts(&project, script) else { return skip("cannot mount") };
    assert_refused(&project.finish(&mut command), "could not be written to the audit log");
    assert!(!project.exists("made-it"));
    assert_eq!(Ground::of(&project), before);
}

#[test]
fn with_a_state_directory_that_cannot_be_written_nothing_runs() {
    let _alone = alone();
    let project = project().dir("../state");
    let before = Ground::of(&project);
    let script = "mount -t tmpfs -o ro tmpfs \"$XDG_STATE_HOME\" || exit 99
        exec \"$0\" run --rw . -- touch made-it";
    let Some(mut command) = with_mounts(&project, script) else { return skip("cannot mount") };
    assert_refused(&project.finish(&mut command), "Read-only file system");

    // A file where the directory should be.
    fs::write(project.beside("file"), "").unwrap();
    let mut command = run(&project, &["--", "touch", "made-it"]);
    let refused = project.finish(command.env("XDG_STATE_HOME", project.beside("file")));
    assert_refused(&refused, "Not a directory");
    assert!(!project.exists("made-it"));
    assert_eq!(Ground::of(&project), before);
}

#[test]
fn without_proc_nothing_runs() {
    let _alone = alone();
    let project = project();
    let before = Ground::of(&project);
    let script = "mount -t tmpfs tmpfs /proc || exit 99
        exec \"$0\" run --rw . -- touch made-it";
    let Some(mut command) = with_mounts(&project, script) else { return skip("cannot mount") };
    assert_refused(&project.finish(&mut command), "the launcher /proc/self/exe cannot be started");
    assert!(!project.exists("made-it"));
    assert_eq!(Ground::of(&project), before);
}

#[test]
fn with_few_descriptors_a_command_is_confined_or_refused() {
    let _alone = alone();
    let project = project();
    let before = Ground::of(&project);
    let mut refused = 0;
    // Fewer are not enough to start any program.
    for most in 5..40 {
        let mut command = Command::new("prlimit");
        project.prepare(&mut command);
        command.env("TMPDIR", project.beside("tmp"));
        command.arg(format!("--nofile={most}")).arg(project.program());
        command.args(["run", "--rw", ".", "--"]).args(WHERE);
        let run = project.finish(&mut command);
        assert_confined_or_refused(&run, &format!("{most} descriptors"));
        refused += u32::from(run.exit == 125);
        // Whichever step met the limit, the limit is named.
        let named = format!("hint: at most {most} files may be open at once (`ulimit -n`)");
        assert!(run.exit == 0 || run.stderr.contains(&named), "{most} descriptors: {run}");
        assert_eq!(Ground::of(&project), before, "{most} descriptors");
    }
    assert!(refused > 0, "no limit was low enough");
}

#[test]
fn with_few_processes_a_command_is_confined_or_refused() {
    let _alone = alone();
    let project = project();
    let Some(setpriv) = project.as_ordinary() else { return skip("no ordinary user to run as") };
    let mut refused = 0;
    for most in 1..10 {
        let mut command = setpriv();
        command.arg("prlimit").arg(format!("--nproc={most}")).arg(project.program());
        project.prepare(&mut command);
        command.env("TMPDIR", project.beside("tmp"));
        command.args(["run", "--ro", ".", "--"]).args(WHERE);
        let run = project.finish(&mut command);
        assert_confined_or_refused(&run, &format!("{most} processes"));
        refused += u32::from(run.exit == 125);
    }
    assert!(refused > 0, "no limit was low enough");
}

#[test]
fn a_launcher_that_is_none_is_named() {
    let _alone = alone();
    let project = project().file("../launcher", "#!/bin/sh\n");
    let before = Ground::of(&project);
    let plain = project.beside("launcher");
    let script = |name: &str, text: &str| {
        let path = project.beside(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let missing = PathBuf::from("/nonexistent/launcher");
    let cases = [
        (missing, "the launcher /nonexistent/launcher cannot be started"),
        (project.path(""), "cannot be started"),
        (plain, "cannot be started"),
        // Which of its ends is noticed first is a matter of luck.
        (script("silent", "#!/bin/sh\nexit 0\n"), "namespaces: "),
        (script("deaf", "#!/bin/sh\nexec cat\n"), "cannot start the sandbox"),
        (script("chatty", "#!/bin/sh\necho nonsense >&0\n"), "namespaces: "),
    ];
    for (launcher, says) in cases {
        let mut command = run(&project, &["--", "touch", "made-it"]);
        let refused = project.finish(command.env("ZONEKEEP_LAUNCHER", &launcher));
        assert_refused(&refused, says);
        assert!(!project.exists("made-it"), "{}", launcher.display());
        assert_eq!(Ground::of(&project), before);
    }
}

#[test]
fn a_zone_that_goes_away_or_changes_meanwhile_is_refused() {
    // First: the other tests collect every child of this process.
    let _alone = alone();
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let swapped = "another directory is there";
    let changes = [
        ("removed", "rm -r \"$zone\"", "No such file or directory"),
        ("swapped", "mv \"$zone\" \"$zone-away\"; mkdir \"$zone\"", swapped),
        ("a file", "mv \"$zone\" \"$zone-away\"; echo > \"$zone\"", swapped),
        ("a link", "mv \"$zone\" \"$zone-away\"; ln -s /etc \"$zone\"", swapped),
        // The file may get the number that the directory had.
        ("a new file", "rm -r \"$zone\"; echo > \"$zone\"", "cannot"),
    ];
    if !Path::new("/bin/bash").exists() {
        return skip("no bash, which can start a program under another name");
    }
    for (name, change, says) in changes {
        let project = project().dir("zone");
        // It is changed once the launcher has its orders, and so the plan is made.
        let zone = project.path("zone");
        let text = format!(
            "#!/bin/bash\nPATH=/usr/bin:/bin\nzone='{}'\n\
             for i in {{1..2000}}; do read -t 0 && break; sleep 0.01; done\n\
             if mkdir '{}'; then {change}; fi\nexec -a zonekeep-launcher '{}'\n",
            zone.display(),
            project.beside("changed").display(),
            project.program().display(),
        );
        let launcher = project.beside("launcher");
        fs::write(&launcher, text).unwrap();
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = project.command();
        command.env("ZONEKEEP_LAUNCHER", &launcher).env("TMPDIR", project.beside("tmp"));
        command.args(["run", "--rw", "zone", "--", "touch", "made-it"]);
        let refused = project.finish(&mut command);
        assert_refused(&refused, says);
        let named = refused.stderr.contains("cannot take [TEMP]/project/zone");
        assert!(named || says == "cannot", "{name}: {refused}");
        let made = project.tree("").into_iter().any(|path| path.contains("made-it"));
        assert!(!made, "{name}: {:?}", project.tree(""));
        assert_eq!(names(&project.beside("tmp"), ""), BTreeSet::new(), "{name}");
    }
}

/// As long as the keeper lives, what was planted is taken away, whoever else is
/// killed, and when.
#[test]
fn a_kill_does_not_save_what_was_planted() {
    let _alone = alone();
    let project = project();
    if project.finish(run(&project, &["--"]).args(WHERE)).stdout.trim() != "zonekeep" {
        return skip("no namespaces here");
    }
    for number in 0..40 {
        let victim = [Victim::Program, Victim::Init][number % 2];
        let delay = Duration::from_millis(number as u64);
        let killed = one_kill(&project, &format!("planted-{number}"), victim, delay).unwrap();
        nothing_left(killed).unwrap();
        assert!(!project.exists(".envrc"), "kill {number} of {victim:?}");
    }
}
