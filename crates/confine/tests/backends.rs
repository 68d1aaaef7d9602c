//! The same tests on every backend that this machine offers.
//!
//! The program is its own launcher, and so has a `main` of its own: words among
//! its arguments are parts of the names of the tests to run, options of the
//! usual test programs are ignored.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use zonekeep_confine::Over;
use zonekeep_confine::plan::{
    Access, Backend, Bind, Entry, Identity, Network, Plan, Role, Start, Watch, ZoneRules,
};
use zonekeep_confine::probe;
use zonekeep_confine::prove::prove;
use zonekeep_confine::tree::{self, Ended, Event, Failed, Launcher, Process, Tree};
use zonekeep_policy::limit::Limits;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How soon nothing may be left after an end: on a busy machine far sooner than what runs
/// there would end by itself.
const SOON: Duration = Duration::from_secs(60);

type Test = fn(&World);

const TESTS: &[(&str, Test)] = &[
    ("the_self_probe_finds_nothing_open", the_self_probe_finds_nothing_open),
    ("exit_statuses_and_signals_pass_through", exit_statuses_and_signals_pass_through),
    ("commands_that_are_not_there_say_so", commands_that_are_not_there_say_so),
    ("the_environment_is_what_was_given", the_environment_is_what_was_given),
    ("directory_input_and_output", directory_input_and_output),
    ("zones_are_as_the_plan_says", zones_are_as_the_plan_says),
    ("a_zone_that_was_swapped_is_refused", a_zone_that_was_swapped_is_refused),
    ("children_in_the_background_end_with_the_command", children_in_the_background_end),
    ("a_command_can_be_killed", a_command_can_be_killed),
    ("commands_cannot_disturb_each_other", commands_cannot_disturb_each_other),
    ("nothing_outlives_a_killed_caller", nothing_outlives_a_killed_caller),
    ("nothing_outlives_a_killed_keeper", nothing_outlives_a_killed_keeper),
    ("a_stopped_supervisor_ends_the_sandbox", a_stopped_supervisor_ends_the_sandbox),
    ("a_process_that_runs_away_is_ended", a_process_that_runs_away_is_ended),
    ("handles_are_as_writable_as_their_zones", handles_are_as_writable_as_their_zones),
    ("mounts_below_a_read_only_zone_are_read_only", mounts_below_a_read_only_zone),
    ("too_many_processes_end_a_command", too_many_processes_end_a_command),
    ("too_much_memory_ends_a_command", too_much_memory_ends_a_command),
    ("private_files_are_limited", private_files_are_limited),
    ("a_terminal_of_its_own", a_terminal_of_its_own),
    ("a_large_program_with_threads_starts_sandboxes", a_large_program_with_threads),
    ("a_launcher_that_was_split_off_serves_many", a_launcher_that_was_split_off_serves_many),
];

fn main() {
    zonekeep_confine::launcher::become_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "helper") {
        return help(&arguments[1..]);
    }
    let filters: Vec<_> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let (mut failed, mut ran) = (Vec::new(), 0);
    for (backend, lacks) in GROUNDS {
        let ground = lacks.map_or(backend.to_string(), |_| format!("{backend} on Linux 5.10"));
        let names = TESTS.iter().map(|(name, test)| (format!("{ground}::{name}"), test));
        let wanted: Vec<_> = names
            .filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(*f)))
            .collect();
        if arguments.iter().any(|word| word == "--list") {
            wanted.iter().for_each(|(name, _)| println!("{name}: test"));
            continue;
        }
        let offer = probe::probe(backend, &launcher(lacks));
        if !wanted.is_empty() && !offer.available {
            eprintln!("skipped: {ground} is not available: {offer:?}");
            if std::env::var_os("ZONEKEEP_TEST_REQUIRE").is_some_and(|what| what == "all") {
                failed.push(ground);
            }
            continue;
        }
        for (name, test) in wanted {
            let since = Instant::now();
            let world = World::new(backend, lacks);
            ran += 1;
            match catch_unwind(|| test(&world)) {
                Ok(()) => println!("test {name} ... ok ({} ms)", since.elapsed().as_millis()),
                Err(_) => {
                    println!("test {name} ... FAILED");
                    failed.push(name);
                }
            }
        }
    }
    println!("{ran} tests, failed: {failed:?}");
    std::process::exit(i32::from(!failed.is_empty()));
}

/// The calls that Linux 5.10 does not have.
const NEWER: Option<&str> = Some("without:mount_setattr,close_range_on_exec,landlock,idmap");
/// Where the tests run: a backend, and what it has to do without.
const GROUNDS: [(Backend, Option<&str>); 5] = [
    (Backend::Namespaces, None),
    // Only a debug build does without them where they are there.
    (Backend::Namespaces, NEWER),
    (Backend::Bubblewrap, None),
    (Backend::Landlock, None),
    (Backend::None, None),
];

fn launcher(lacks: Option<&str>) -> Launcher {
    lacks.into_iter().fold(Launcher::this_program(), Launcher::with_fault)
}

/// A place on the host, for one test.
struct World {
    backend: Backend,
    lacks: Option<&'static str>,
    dir: tempfile::TempDir,
}

impl World {
    fn new(backend: Backend, lacks: Option<&'static str>) -> Self {
        let dir = tempfile::Builder::new().prefix("zk-backends-").tempdir().unwrap();
        for name in ["in", "out"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("in/a.txt"), "a\n").unwrap();
        World { backend, lacks, dir }
    }

    fn own_tree(&self) -> bool {
        self.backend.has_own_tree()
    }

    fn host(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Returns where a command finds a zone.
    fn at(&self, name: &str) -> PathBuf {
        if self.own_tree() { Path::new("/").join(name) } else { self.host(name) }
    }

    /// Returns where a command finds this program.
    fn helper(&self) -> String {
        match self.own_tree() {
            true => "/helper".to_owned(),
            false => std::env::current_exe().unwrap().to_str().unwrap().to_owned(),
        }
    }

    fn plan(&self) -> Plan {
        use std::os::unix::fs::MetadataExt;
        let system =
            ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"].map(|path| match fs::read_link(
                path,
            ) {
                Ok(to) if self.own_tree() => Entry::Link { at: path.into(), to },
                _ => bind(path, path, Access::Ro, Role::System),
            });
        let zone = |name: &str, access| {
            let host = self.host(name);
            let stat = host.metadata().unwrap();
            let identity = Some(Identity { device: stat.dev(), inode: stat.ino() });
            let at = Path::new("/").join(name);
            Entry::Bind(Bind { host, at, access, role: Role::Zone, identity })
        };
        let own = std::env::current_exe().unwrap();
        let mut entries: Vec<_> = system.into();
        entries.push(zone("in", Access::Ro));
        entries.push(zone("out", Access::Rw));
        entries.push(bind(own, "/helper", Access::Ro, Role::Tool));
        entries.push(Entry::File { at: "/etc/hello".into(), content: "hello\n".into() });
        entries.push(Entry::Private { at: "/cache".into() });
        Plan {
            backend: self.backend,
            entries,
            home: if self.own_tree() { "/home/agent".into() } else { self.host("home") },
            network: Network::Off,
            limits: Limits::none(),
            watch: None,
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        }
    }

    fn tree(&self) -> Tree {
        Tree::start(self.plan(), &launcher(self.lacks)).unwrap()
    }

    fn tree_with(&self, limits: Limits) -> Tree {
        Tree::start(Plan { limits, ..self.plan() }, &launcher(self.lacks)).unwrap()
    }

    fn start(&self, argv: &[&str]) -> Start {
        let env = [("PATH", "/usr/bin:/bin"), ("HELPER", &self.helper())];
        Start {
            argv: argv.iter().map(Into::into).collect(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: self.at("out"),
            limits: Limits::none(),
            terminal: [false; 3],
        }
    }

    fn run(&self, tree: &Tree, argv: &[&str]) -> Run {
        self.begin(tree, self.start(argv), b"").end()
    }

    fn sh(&self, tree: &Tree, script: &str) -> Run {
        self.run(tree, &["sh", "-c", script])
    }

    fn begin(&self, tree: &Tree, start: Start, input: &[u8]) -> Running {
        let (stdin, mut to) = std::io::pipe().unwrap();
        let (output, stdout) = std::io::pipe().unwrap();
        let stdio = [stdin.as_fd(), stdout.as_fd(), stdout.as_fd()];
        let process = tree.command(start, &stdio).unwrap();
        drop((stdin, stdout));
        to.write_all(input).unwrap();
        Running { process, output }
    }
}

fn bind(host: impl Into<PathBuf>, at: &str, access: Access, role: Role) -> Entry {
    Entry::Bind(Bind { host: host.into(), at: at.into(), access, role, identity: None })
}

struct Running {
    process: Process,
    output: PipeReader,
}

impl Running {
    fn end(mut self) -> Run {
        // Read while it runs, so that it never waits for its output.
        let reader = thread::spawn(move || {
            let mut text = Vec::new();
            self.output.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let ended = wait(&self.process).unwrap();
        Run { output: reader.join().unwrap(), ended }
    }

    /// Reads until a line has come.
    fn line(&mut self) -> String {
        let (mut text, mut byte) = (Vec::new(), [0]);
        while self.output.read(&mut byte).unwrap() > 0 && byte != *b"\n" {
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }
}

struct Run {
    output: String,
    ended: Ended,
}

/// Waits for an end, but not for ever.
fn wait(process: &Process) -> Result<Ended, Failed> {
    use rustix::event::{PollFd, PollFlags, Timespec};
    loop {
        let mut polled = [PollFd::new(process, PollFlags::IN)];
        let limit = Timespec { tv_sec: PATIENCE.as_secs() as _, tv_nsec: 0 };
        assert_ne!(rustix::event::poll(&mut polled, Some(&limit)).unwrap(), 0, "it goes on");
        if let Event::Ended(ended) = process.next()? {
            return Ok(ended);
        }
    }
}

/// Returns how long it takes until nobody has the other side of a pipe.
fn until_closed(pipe: &mut PipeReader) -> Duration {
    let since = Instant::now();
    pipe.read_to_end(&mut Vec::new()).unwrap();
    since.elapsed()
}

fn soon(took: Duration) {
    assert!(took <= SOON, "it took {took:?}");
}

fn the_self_probe_finds_nothing_open(world: &World) {
    let tree = world.tree();
    let since = Instant::now();
    let report = prove(&tree).unwrap();
    let took = since.elapsed();
    let broken: Vec<_> = report.broken().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(report.holds());
    if std::env::var_os("ZONEKEEP_TEST_SHOW").is_some() {
        report.checks.iter().for_each(|check| println!("  {check:?}"));
        println!("  in {took:?}; layers {:?}", tree.layers().unwrap());
    }
    let held = report.checks.iter().filter(|check| check.held == Some(true)).count();
    let least = match world.backend {
        Backend::Namespaces | Backend::Bubblewrap => 45,
        Backend::Landlock => 25,
        _ => 3,
    };
    assert!(held >= least, "only {held} held: {:#?}", report.checks);
    assert!(took < Duration::from_secs(60), "it took {took:?}");
    // The sandbox goes on as before.
    assert_eq!(world.sh(&tree, "echo still here").output, "still here\n");
}

fn exit_statuses_and_signals_pass_through(world: &World) {
    let tree = world.tree();
    for code in [0, 1, 7, 125, 255] {
        let ended = world.sh(&tree, &format!("exit {code}")).ended;
        assert_eq!((ended.code, ended.signal), (Some(code), None));
    }
    for signal in [2, 9, 15] {
        let ended = world.sh(&tree, &format!("kill -{signal} $$")).ended;
        assert_eq!((ended.code, ended.signal), (None, Some(signal)));
    }
    let mut running = world.begin(&tree, world.start(&["sh", "-c", "echo on; sleep 60"]), b"");
    assert_eq!(running.line(), "on");
    running.process.signal(15).unwrap();
    assert_eq!(running.end().ended.signal, Some(15));
}

fn commands_that_are_not_there_say_so(world: &World) {
    let tree = world.tree();
    let null = File::open("/dev/null").unwrap();
    let null = [null.as_fd(), null.as_fd(), null.as_fd()];
    for (argv, cwd, errno) in [
        ("no-such-program", None, 2),
        ("/in/a.txt", None, if world.own_tree() { 13 } else { 2 }),
        ("true", Some("/no/such/place"), 2),
    ] {
        let mut start = world.start(&[argv]);
        start.cwd = cwd.map_or(start.cwd, PathBuf::from);
        let ended = tree.command(start, &null).and_then(|process| wait(&process));
        match ended {
            Err(Failed::Step { errno: Some(found), .. }) => assert_eq!(found, errno, "{argv}"),
            other => panic!("{argv}: {other:?}"),
        }
    }
    assert_eq!(world.sh(&tree, "exit 3").ended.code, Some(3));
}

fn the_environment_is_what_was_given(world: &World) {
    let tree = world.tree();
    let mut start = world.start(&["env", "-0"]);
    start.env = BTreeMap::from([
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("ODD".into(), "a b\n'\"$x é".into()),
        ("EMPTY".into(), "".into()),
    ]);
    let output = world.begin(&tree, start, b"").end().output;
    assert_eq!(output, "EMPTY=\0ODD=a b\n'\"$x é\0PATH=/usr/bin:/bin\0");
}

fn directory_input_and_output(world: &World) {
    let tree = world.tree();
    let mut start = world.start(&["sh", "-c", "pwd; cat; ls /proc/self/fd | wc -l"]);
    start.cwd = world.at("in");
    let run = world.begin(&tree, start, b"typed\n").end();
    // Three and the directory that is listed.
    assert_eq!(run.output, format!("{}\ntyped\n4\n", world.at("in").display()));
}

fn zones_are_as_the_plan_says(world: &World) {
    if world.backend == Backend::None {
        return;
    }
    let tree = world.tree();
    let (input, output) = (world.at("in"), world.at("out"));
    let script = format!(
        "cat {0}/a.txt; echo x > {1}/b && echo written; echo x 2>&- > {0}/b || echo refused; \
         rm -f {0}/a.txt 2>&- || echo refused",
        input.display(),
        output.display()
    );
    assert_eq!(world.sh(&tree, &script).output, "a\nwritten\nrefused\nrefused\n");
    assert_eq!(fs::read_to_string(world.host("out/b")).unwrap(), "x\n");
    if world.own_tree() {
        let script = "cat /etc/hello; { echo x > /etc/hello; } 2>&- || echo refused; \
                      echo x > /cache/x && echo private; hostname";
        let output = world.sh(&tree, script).output;
        assert_eq!(output, "hello\nrefused\nprivate\nzonekeep\n");
    }
}

fn a_zone_that_was_swapped_is_refused(world: &World) {
    if !world.own_tree() {
        return;
    }
    let plan = world.plan();
    fs::rename(world.host("out"), world.host("moved")).unwrap();
    fs::create_dir(world.host("out")).unwrap();
    let tree = Tree::start(plan, &launcher(world.lacks)).unwrap();
    let failed = tree.layers().unwrap_err().to_string();
    assert!(failed.contains("another directory"), "{failed}");
}

fn children_in_the_background_end(world: &World) {
    let tree = world.tree();
    let scripts = [
        "sleep 600 & exit 5",
        "setsid sleep 600 & exit 5",
        "setsid sh -c 'trap \"\" TERM HUP INT; sleep 600; sleep 600' & sleep 0.1; exit 5",
        "(setsid sh -c 'sleep 600 & sleep 600 & sleep 600' &) ; sleep 0.1; exit 5",
    ];
    for script in scripts {
        let mut running = world.begin(&tree, world.start(&["sh", "-c", script]), b"");
        let since = Instant::now();
        let ended = wait(&running.process).unwrap();
        assert!(since.elapsed() < Duration::from_secs(300), "{script}: {:?}", since.elapsed());
        soon(until_closed(&mut running.output));
        assert_eq!(ended.code, Some(5), "{script}");
        assert!(ended.left >= 1, "{script}: {ended:?}");
    }
}

fn a_command_can_be_killed(world: &World) {
    let tree = world.tree();
    let script = "trap '' TERM; setsid sleep 60 & echo on; sleep 60; sleep 60";
    for by_drop in [false, true] {
        let mut running = world.begin(&tree, world.start(&["sh", "-c", script]), b"");
        assert_eq!(running.line(), "on");
        let since = Instant::now();
        if by_drop {
            let Running { process, mut output } = running;
            drop(process);
            soon(until_closed(&mut output));
        } else {
            running.process.kill().unwrap();
            let ended = wait(&running.process).unwrap();
            assert_eq!(ended.signal, Some(9));
            soon(since.elapsed());
            soon(until_closed(&mut running.output));
        }
    }
    // And the sandbox with everything in it.
    let mut running = world.begin(&tree, world.start(&["sh", "-c", script]), b"");
    assert_eq!(running.line(), "on");
    let since = Instant::now();
    drop(tree);
    soon(since.elapsed());
    soon(until_closed(&mut running.output));
}

fn commands_cannot_disturb_each_other(world: &World) {
    let tree = world.tree();
    // Elsewhere a mistake would reach the whole machine.
    if !world.own_tree() || tree.layers().unwrap().landlock < 6 {
        return;
    }
    let script = "echo on; read go; echo done";
    let mut running: Vec<_> = (0..7)
        .map(|_| {
            let (stdin, to) = std::io::pipe().unwrap();
            let (output, stdout) = std::io::pipe().unwrap();
            let stdio = [stdin.as_fd(), stdout.as_fd(), stdout.as_fd()];
            let process = tree.command(world.start(&["sh", "-c", script]), &stdio).unwrap();
            (Running { process, output }, to)
        })
        .collect();
    for (running, _) in &mut running {
        assert_eq!(running.line(), "on");
    }
    let attack = "kill -9 -1; for p in /proc/[0-9]*; do p=${p#/proc/}; \
                  [ $p = $$ ] || kill -9 $p 2>&-; done; echo tried";
    let run = world.sh(&tree, attack);
    assert!(run.output.contains("tried") || run.ended.signal.is_some(), "{}", run.output);
    for (running, mut to) in running {
        to.write_all(b"go\n").unwrap();
        drop(to);
        let run = running.end();
        assert_eq!((run.output.as_str(), run.ended.code), ("done\n", Some(0)));
    }
    assert_eq!(world.sh(&tree, "echo fine").output, "fine\n");
}

/// Starts this program as a caller, which starts a sandbox and waits.
fn caller(world: &World) -> (Child, PipeReader, BufReader<ChildStdout>, String) {
    let (output, stdout) = std::io::pipe().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["helper", "caller", world.backend.as_str(), world.dir.path().to_str().unwrap()])
        .args(world.lacks.and(Some("older")))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stdout)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    (child, output, said, line.trim().to_owned())
}

fn nothing_outlives_a_killed_caller(world: &World) {
    for _ in 0..3 {
        let (mut child, mut output, _, _) = caller(world);
        child.kill().unwrap();
        soon(until_closed(&mut output));
        child.wait().unwrap();
    }
}

fn nothing_outlives_a_killed_keeper(world: &World) {
    let (mut child, mut output, mut said, keeper) = caller(world);
    let keeper = rustix::process::Pid::from_raw(keeper.parse().unwrap()).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    if world.own_tree() {
        let since = Instant::now();
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "ended\n");
        soon(since.elapsed());
    }
    child.kill().unwrap();
    soon(until_closed(&mut output));
    child.wait().unwrap();
}

/// A command that stops its supervisor would be held to no limit.
fn a_stopped_supervisor_ends_the_sandbox(world: &World) {
    let tree = world.tree();
    // Elsewhere the first process could be stopped as well.
    if !world.own_tree() {
        return;
    }
    let landlock = tree.layers().unwrap().landlock;
    for signals in ["kill -STOP $PPID", "kill -KILL $PPID"] {
        let tree = world.tree();
        let script = format!("{signals}; sleep 0.3; echo refused; exit 7");
        let start = world.start(&["sh", "-c", &script]);
        let Running { process, mut output } = world.begin(&tree, start, b"");
        let ended = wait(&process);
        // KERNEL(6.12): Landlock 6.
        match landlock {
            6.. => assert_eq!(ended.unwrap().code, Some(7), "{signals}"),
            _ => assert!(matches!(ended, Err(Failed::Gone)), "{signals}: {ended:?}"),
        }
        soon(until_closed(&mut output));
    }
}

/// A process that forks and ends again and again is caught, and the sandbox goes on.
fn a_process_that_runs_away_is_ended(world: &World) {
    let tree = world.tree();
    // Elsewhere whatever got away would run on this machine.
    if !world.own_tree() {
        return;
    }
    for _ in 0..3 {
        let run = world.sh(&tree, "r() { (r) & exit; }; (r) & exit 3");
        assert_eq!(run.ended.code, Some(3));
        assert!(run.ended.left > 0, "{:?}", run.ended);
        assert_eq!(world.sh(&tree, "echo fine").output, "fine\n");
    }
}

/// Handles for file tools are read-only where the zone is, and lead nowhere else.
fn handles_are_as_writable_as_their_zones(world: &World) {
    use rustix::fs::{Mode, OFlags, openat};
    // Those that commands of other backends get are plain directories.
    if world.backend != Backend::Namespaces {
        return;
    }
    let handles = tree::handles(&world.plan(), &launcher(world.lacks)).unwrap();
    let [read_only, writable] = &handles[..] else { panic!("{handles:?}") };
    let flags = OFlags::CREATE | OFlags::WRONLY;
    let mode = Mode::from_raw_mode(0o600);
    let refused = openat(read_only, "new", flags, mode).unwrap_err();
    assert_eq!(refused, rustix::io::Errno::ROFS);
    let refused = openat(read_only, "a.txt", OFlags::WRONLY, mode).unwrap_err();
    assert_eq!(refused, rustix::io::Errno::ROFS);
    openat(read_only, "a.txt", OFlags::RDONLY, mode).unwrap();
    openat(writable, "new", flags, mode).unwrap();
    assert!(world.host("out/new").exists());
    for handle in &handles {
        let above = openat(handle, "..", OFlags::PATH, mode).unwrap();
        let identity = |fd| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino)).unwrap();
        assert_eq!(identity(above.as_fd()), identity(handle.as_fd()));
    }
    // Nothing of it is mounted on the host.
    let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounted.contains(world.dir.path().to_str().unwrap()), "{mounted}");
}

/// Mounts in a zone are as read-only as the zone, also those that lie over others.
fn mounts_below_a_read_only_zone(world: &World) {
    if !world.own_tree() {
        return;
    }
    let root = rustix::process::geteuid().is_root();
    if world.backend == Backend::Bubblewrap && !root {
        return zonekeep_testkit::skip(
            "in a user namespace bwrap does not belong to the superuser",
        );
    }
    let how = if root { "-m" } else { "-rm" };
    let works = Command::new("unshare").args([how, "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        return zonekeep_testkit::skip("unshare makes no mount namespace here");
    }
    let output = Command::new("unshare")
        .arg(how)
        .arg(std::env::current_exe().unwrap())
        .args(["helper", "mounts", world.backend.as_str()])
        .arg(world.dir.path())
        .args(world.lacks.and(Some("older")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fine\n");
}

/// Does that in a mount namespace of this process.
fn mount_below(world: &World) {
    use rustix::mount::{MountFlags, mount};
    for below in ["in/a b", "in/a b/deep", "in/stacked", "in/stacked"] {
        fs::create_dir_all(world.host(below)).unwrap();
        let options = Some(c"mode=0777");
        mount("t", world.host(below), "tmpfs", MountFlags::empty(), options).unwrap();
    }
    let tree = world.tree();
    let script = "for d in /in '/in/a b' '/in/a b/deep' /in/stacked; do \
                  touch \"$d/x\" 2>&- && echo \"$d\"; done; touch /out/x && echo fine";
    print!("{}", world.sh(&tree, script).output);
}

fn too_many_processes_end_a_command(world: &World) {
    let tree = world.tree_with(Limits { processes: Some(40), ..Limits::none() });
    let since = Instant::now();
    let run = world.run(&tree, &["bash", "-c", "while :; do sleep 600 & done 2>&-"]);
    assert_eq!(run.ended.over, Some(Over::Processes), "{:?}", run.ended);
    assert!(since.elapsed() < Duration::from_secs(300), "{:?}", since.elapsed());
    // Below the limit nothing happens, and the sandbox goes on.
    assert_eq!(world.sh(&tree, "sleep 0.3 & sleep 0.3 & wait; echo fine").output, "fine\n");
    // Elsewhere only looking stops it, and thousands of processes slow the look.
    if !world.own_tree() || !tree.layers().unwrap().root_mapped_away {
        return;
    }
    let bomb = "b() { b | b & }; b; sleep 600";
    let mut start = world.start(&["bash", "-c", bomb]);
    start.limits.processes = Some(30);
    let since = Instant::now();
    let ended = world.begin(&tree, start, b"").end().ended;
    assert_eq!(ended.over, Some(Over::Processes), "{ended:?}");
    assert!(since.elapsed() < Duration::from_secs(300), "{:?}", since.elapsed());
}

fn too_much_memory_ends_a_command(world: &World) {
    let tree = world.tree_with(Limits { memory: Some(200 << 20), ..Limits::none() });
    let helper = world.helper();
    let run = world.run(&tree, &[&helper, "helper", "hog", "400"]);
    assert_eq!(run.ended.over, Some(Over::Memory), "{:?} {}", run.ended, run.output);
    let script = "for i in 1 2 3 4; do $HELPER helper hog 90 & done; wait";
    let run = world.sh(&tree, script);
    assert_eq!(run.ended.over, Some(Over::Memory), "{:?} {}", run.ended, run.output);
    assert_eq!(world.sh(&tree, "echo fine").output, "fine\n");
    if world.own_tree() {
        // Memory that no process has; it does not stay for the next command.
        let script = "perl -e 'for (1..30) { my $i = shmget(0, 20 << 20, 0x380); \
                      shmwrite($i, \"x\" x (20 << 20), 0, 20 << 20) } sleep 9'";
        let run = world.sh(&tree, script);
        assert_eq!(run.ended.over, Some(Over::Memory), "{:?} {}", run.ended, run.output);
        assert_eq!(world.sh(&tree, "wc -l < /proc/sysvipc/shm").output, "1\n");
    }
}

fn private_files_are_limited(world: &World) {
    if !world.own_tree() {
        return;
    }
    let tree = world.tree_with(Limits { tmp: Some(16 << 20), ..Limits::none() });
    let script = "for d in /tmp /home/agent /dev/shm /run /cache; do \
                  head -c 20000000 /dev/zero > $d/x 2>&-; done; \
                  cat /tmp/x /home/agent/x /dev/shm/x /run/x /cache/x 2>&- | wc -c";
    let output = world.sh(&tree, script).output;
    let bytes: u64 = output.trim().parse().unwrap();
    assert!((1 << 20..=17 << 20).contains(&bytes), "{bytes}");
    if world.backend == Backend::Namespaces {
        let script = "cd /run; seq 1 6000 | xargs touch 2>&-; ls | wc -l";
        let output = world.sh(&tree, script).output;
        let files: u64 = output.trim().parse().unwrap();
        assert!((1000..=4096).contains(&files), "{files}");
    }
}

fn a_terminal_of_its_own(world: &World) {
    use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
    let tree = world.tree();
    let at_terminal = |argv: &[&str], typed: &str, resize: bool| {
        let mut start = world.start(argv);
        start.terminal = [true; 3];
        start.env.insert("TERM".into(), "dumb".into());
        let process = tree.command(start, &[]).unwrap();
        let outer: OwnedFd = process.terminal().unwrap().try_clone_to_owned().unwrap();
        if resize {
            let size = Winsize { ws_row: 33, ws_col: 99, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&outer, size).unwrap();
            assert_eq!(tcgetwinsize(&outer).unwrap().ws_col, 99);
        }
        let mut outer = File::from(outer);
        let mut reading = outer.try_clone().unwrap();
        let reader = thread::spawn(move || {
            let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
            // The end of a terminal is an error.
            while let Ok(n @ 1..) = reading.read(&mut buffer) {
                text.extend_from_slice(&buffer[..n]);
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        thread::sleep(Duration::from_millis(300));
        outer.write_all(typed.as_bytes()).unwrap();
        let ended = wait(&process).unwrap();
        (reader.join().unwrap(), ended)
    };
    let script = "test -t 0 && test -t 1 && test -t 2 && tty && read x && stty size && echo [$x]";
    let (screen, ended) = at_terminal(&["sh", "-c", script], "word\n", true);
    assert_eq!(ended.code, Some(0), "{screen}");
    assert!(screen.contains("33 99") && screen.contains("[word]"), "{screen}");
    assert!(!world.own_tree() || screen.contains("/dev/pts/0"), "{screen}");
    // Ctrl-C reaches what runs.
    let (screen, ended) = at_terminal(&["sleep", "60"], "\x03", false);
    assert_eq!(ended.signal, Some(2), "{screen}");
    // Job control.
    let script = "sleep 60 & jobs; kill %1; wait; set -m; sleep 0.1; echo controlled";
    let (screen, ended) = at_terminal(&["bash", "-ic", script], "", false);
    assert_eq!(ended.code, Some(0), "{screen}");
    assert!(screen.contains("Running") && screen.contains("controlled"), "{screen}");
    assert!(!screen.contains("no job control"), "{screen}");
    if world.backend != Backend::None && Path::new("/usr/bin/perl").exists() {
        let script =
            "my $x = 'x'; ioctl(STDIN, 0x5412, $x) and print 'typed' or print qq(refused $!)";
        let (screen, _) = at_terminal(&["perl", "-e", script], "", false);
        assert!(screen.contains("refused Operation not permitted"), "{screen}");
    }
}

fn a_large_program_with_threads(world: &World) {
    let large: Vec<u8> = (0..300u64 << 20).map(|n| n as u8).collect();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let starters: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..3 {
                        let since = Instant::now();
                        let tree = world.tree();
                        assert_eq!(world.sh(&tree, "echo fine").output, "fine\n");
                        let took = since.elapsed();
                        assert!(took < Duration::from_secs(60), "{took:?}");
                    }
                })
            })
            .collect();
        let results: Vec<_> = starters.into_iter().map(|starter| starter.join()).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    assert_eq!(large[255], 255);
}

/// What this program does as another one.
/// Commands one after another and at once, each of which says how many supervisors
/// there are.
fn a_launcher_that_was_split_off_serves_many(world: &World) {
    let served = |how: &str| {
        let dir = world.dir.path().to_str().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["helper", "serve", how, world.backend.as_str(), dir])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let (split, started) = (served("split"), served("started"));
    if world.backend == Backend::Namespaces {
        // The one that has the command; and one more, which waits for the next.
        assert_eq!((split.as_str(), started.as_str()), ("1 1 1\n", "2 2 2\n"));
    }
}

fn serve(world: &World) {
    let tree = world.tree();
    let count = "sleep 0.1; cat /proc/[0-9]*/comm | grep -c zonekeep-super";
    let mut counts = Vec::new();
    for _ in 0..3 {
        let run = world.sh(&tree, &format!("{count}; exit 3"));
        assert_eq!(run.ended.code, Some(3));
        counts.push(run.output.trim().to_owned());
    }
    let running: Vec<_> = (0..8)
        .map(|i| world.begin(&tree, world.start(&["sh", "-c", "read x; echo $x"]), &[b'0' + i, 10]))
        .collect();
    let outputs: String = running.into_iter().map(|running| running.end().output).collect();
    assert_eq!(outputs, "0\n1\n2\n3\n4\n5\n6\n7\n");
    println!("{}", counts.join(" "));
}

fn help(words: &[String]) {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Has that many mebibytes for a while.
        ["hog", size] => {
            let size: usize = size.parse().unwrap();
            let mut memory = Vec::<u8>::new();
            if memory.try_reserve_exact(size << 20).is_err() {
                println!("there is no memory");
                std::process::exit(9);
            }
            for _ in 0..size {
                memory.extend_from_slice(&[1; 1 << 20]);
            }
            thread::sleep(Duration::from_secs(10));
            assert_eq!(memory[size], 1);
        }
        // Starts a sandbox and commands in it.
        ["serve", how, backend, dir] => {
            if how == "split" {
                zonekeep_confine::launcher::split_off();
            }
            let mut world = World::new(Backend::named(backend).unwrap(), None);
            world.dir = tempfile::Builder::new().prefix("serve-").tempdir_in(dir).unwrap();
            for name in ["in", "out"] {
                fs::create_dir(world.host(name)).unwrap();
            }
            serve(&world);
        }
        // Makes mounts in a zone and tries to write to them.
        ["mounts", backend, dir, ref older @ ..] => {
            let lacks = NEWER.filter(|_| !older.is_empty());
            let mut world = World::new(Backend::named(backend).unwrap(), lacks);
            world.dir = tempfile::Builder::new().prefix("mounts-").tempdir_in(dir).unwrap();
            for name in ["in", "out"] {
                fs::create_dir(world.host(name)).unwrap();
            }
            mount_below(&world);
            // The mounts go with the namespace, and then it can be removed.
            let _ = world.dir.keep();
        }
        // Starts a sandbox with processes that have its standard error.
        ["caller", backend, dir, ref older @ ..] => {
            let lacks = NEWER.filter(|_| !older.is_empty());
            let mut world = World::new(Backend::named(backend).unwrap(), lacks);
            world.dir = tempfile::Builder::new().prefix("caller-").tempdir_in(dir).unwrap();
            for name in ["in", "out"] {
                fs::create_dir(world.host(name)).unwrap();
            }
            let plan = Plan { watch: None::<Watch>, ..world.plan() };
            let tree = Tree::start(plan, &launcher(lacks)).unwrap();
            let null = File::open("/dev/null").unwrap();
            let errors = std::io::stderr();
            let (output, stdout) = std::io::pipe().unwrap();
            let script = "trap '' TERM HUP; setsid sleep 60 & (setsid sh -c 'sleep 60; :' &); \
                          echo on; sleep 60; :";
            let stdio = [null.as_fd(), stdout.as_fd(), errors.as_fd()];
            let process = tree.command(world.start(&["sh", "-c", script]), &stdio).unwrap();
            let mut running = Running { process, output };
            assert_eq!(running.line(), "on");
            println!("{}", tree.keeper_pid().unwrap());
            // Stays even when it has ended: it was not asked to go.
            let _ = wait(&running.process);
            println!("ended");
            thread::sleep(PATIENCE);
        }
        _ => panic!("{words:?}"),
    }
}
