//! Launcher processes that fail, panic or abort at any of their steps: the caller
//! is told which one, nothing is left running, and nothing hangs.
//!
//! The program is its own launcher, and so has a `main` of its own. Faults are
//! injected in debug builds only.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

#[cfg(all(target_os = "linux", debug_assertions))]
mod linux {
    use std::fs;
    use std::os::fd::AsFd;
    use std::panic::catch_unwind;
    use std::path::Path;
    use std::process::ExitCode;
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, WaitOptions};
    use zonekeep_confine::plan::{
        Access, Backend, Bind, Entry, Gateway, Listen, Network, Plan, Role, Start, Watch, ZoneRules,
    };
    use zonekeep_confine::probe;
    use zonekeep_confine::tree::{self, Failed, Launcher, Tree};
    use zonekeep_policy::guard::Guards;
    use zonekeep_policy::limit::Limits;
    use zonekeep_policy::planted::{Caller, CommandGuards};

    /// How long anything may take.
    const PATIENCE: Duration = Duration::from_secs(120);
    /// The error number of forced failures.
    const FORCED: i32 = libc::EDOTDOT;
    /// More steps than any process has.
    const MOST: u32 = 2000;

    type Test = fn(&Path);

    const TESTS: &[(&str, Test)] = &[
        ("a_step_that_fails_is_named", a_step_that_fails_is_named),
        ("a_step_of_handles_that_fails_is_named", a_step_of_handles_that_fails_is_named),
        ("steps_fail_by_name_on_every_backend", steps_fail_by_name_on_every_backend),
        ("a_panic_is_reported", a_panic_is_reported),
        ("an_abort_ends_the_first_process", an_abort_ends_the_first_process),
    ];

    pub(super) fn main() -> ExitCode {
        zonekeep_confine::launcher::become_if_asked();
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let filters: Vec<_> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
        let wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
        let tests: Vec<_> = TESTS.iter().filter(|(name, _)| wanted(name)).collect();
        if arguments.iter().any(|word| word == "--list") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
            return ExitCode::SUCCESS;
        }
        // All that a launcher leaves behind becomes a child of this process.
        rustix::process::set_child_subreaper(Pid::from_raw(1)).unwrap();
        let mut failed = Vec::new();
        for (name, test) in tests {
            let dir = tempfile::Builder::new().prefix("zk-faults-").tempdir().unwrap();
            match catch_unwind(|| test(dir.path())) {
                Ok(()) => println!("test {name} ... ok"),
                Err(_) => {
                    println!("test {name} ... FAILED");
                    failed.push(name);
                }
            }
        }
        println!("{} tests, failed: {failed:?}", TESTS.len());
        ExitCode::from(u8::from(!failed.is_empty()))
    }

    fn is_available(backend: Backend) -> bool {
        let offer = probe::probe(backend, &Launcher::this_program());
        if !offer.available {
            zonekeep_testkit::skip(&format!("{backend} is not available: {:?}", offer.why));
        }
        offer.available
    }

    fn plan(backend: Backend, dir: &Path) -> Plan {
        let own = backend.has_own_tree();
        let system = ["/usr", "/bin", "/lib", "/lib64"].map(|path| match fs::read_link(path) {
            Ok(to) if own => Entry::Link { at: path.into(), to },
            _ => bind(Path::new(path), path, Access::Ro, Role::System),
        });
        let zone = |name: &str, access| {
            let host = dir.join(name);
            fs::create_dir_all(host.join(".git/hooks")).unwrap();
            bind(&host.canonicalize().unwrap(), &format!("/{name}"), access, Role::Zone)
        };
        let mut entries: Vec<_> = system.into();
        entries.push(zone("in", Access::Ro));
        entries.push(zone("out", Access::Rw));
        entries.push(Entry::File { at: "/etc/hello".into(), content: "hello\n".into() });
        entries.push(Entry::Private { at: "/cache".into() });
        let listen = Listen { at: "127.0.0.1:3128".parse().unwrap(), udp: false };
        let network = match own {
            true => Network::Gate(Gateway { sockets: vec![listen], ..Gateway::default() }),
            false => Network::Off,
        };
        let watch = Watch {
            home: dir.into(),
            guards: CommandGuards::of(&Guards::default(), Caller::Agent),
            quarantine: dir.join("quarantine"),
            git_may_configure: false,
            git: zonekeep_testkit::program("git").unwrap_or_default(),
            ..Watch::default()
        };
        let home = if own { "/home/agent".into() } else { dir.join("home") };
        let limits = Limits { memory: Some(1 << 30), processes: Some(100), ..Limits::none() };
        let (watch, rules) = (Some(watch), ZoneRules::default());
        Plan {
            backend,
            entries,
            home,
            network,
            limits,
            watch,
            rules,
            prove: false,
            calls: Default::default(),
            dialers: 0,
        }
    }

    fn bind(host: &Path, at: &str, access: Access, role: Role) -> Entry {
        Entry::Bind(Bind { host: host.into(), at: at.into(), access, role, identity: None })
    }

    /// Runs a command in a sandbox whose launcher has a fault.
    fn run(backend: Backend, dir: &Path, fault: &str) -> Result<Option<i32>, Failed> {
        let plan = plan(backend, dir);
        let start = Start {
            argv: vec!["true".into()],
            env: [("PATH".into(), "/usr/bin:/bin".into())].into(),
            cwd: if backend.has_own_tree() { "/out".into() } else { dir.join("out") },
            limits: Limits::none(),
            terminal: [false; 3],
        };
        let launcher = Launcher::this_program().with_fault(fault);
        let null = fs::File::open("/dev/null").unwrap();
        let tree = Tree::start(plan, &launcher)?;
        tree.layers()?;
        let process = tree.command(start, &[null.as_fd(), null.as_fd(), null.as_fd()])?;
        let ended = process.wait()?;
        Ok(ended.code)
    }

    /// Has something done in time, and checks that no process is left of it.
    fn in_time<T: Send + 'static>(what: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::channel();
        let thread = thread::spawn(move || done.send(act()));
        let result = match result.recv_timeout(PATIENCE) {
            Ok(result) => result,
            // The thread still hangs, and with it what it waits for.
            Err(_) => panic!("{what}: no answer in {PATIENCE:?}"),
        };
        thread.join().unwrap().unwrap();
        let since = Instant::now();
        while rustix::process::wait(WaitOptions::NOHANG).err() != Some(rustix::io::Errno::CHILD) {
            assert!(since.elapsed() < PATIENCE, "{what}: processes are left");
            thread::sleep(Duration::from_millis(1));
        }
        result
    }

    fn with_fault(backend: Backend, dir: &Path, fault: &str) -> Result<Option<i32>, Failed> {
        let (dir, owned) = (dir.to_owned(), fault.to_owned());
        in_time(fault, move || run(backend, &dir, &owned))
    }

    /// Fails one step after the other of a process, until there are no more; returns
    /// their names.
    fn fail_each(process: &str, mut act: impl FnMut(&str) -> Result<(), Failed>) -> Vec<String> {
        let (mut steps, mut passed) = (Vec::new(), 0);
        for number in 1..MOST {
            match act(&format!("fail:{process}:{number}")) {
                // A first process that is started ahead, for a plan that turns out to
                // have no use for it, may fail.
                Ok(()) if passed == 8 => return steps,
                Ok(()) => passed += 1,
                Err(Failed::Step { step, errno: Some(FORCED), .. }) => steps.push(step),
                Err(other) => panic!("{process}, step {number}, after {steps:?}: {other:?}"),
            }
        }
        panic!("{process} never ends: {steps:?}")
    }

    fn a_step_that_fails_is_named(dir: &Path) {
        let backend = Backend::Namespaces;
        if !is_available(backend) {
            return;
        }
        let act =
            |fault: &str| with_fault(backend, dir, fault).map(|code| assert_eq!(code, Some(0)));
        // A process, and some of its steps.
        let cases: [(&str, &[&str]); 4] = [
            ("keeper", &["watch processes", "make namespaces", "start the first process"]),
            (
                "init",
                &[
                    "close the keeper's descriptors",
                    "mount /proc",
                    "close user namespaces",
                    "listen on 127.0.0.1:3128",
                    "place /usr",
                    "place /out",
                    "guard /out/.git/hooks",
                    "make the root read-only",
                    "enter the tree",
                    "give up capabilities",
                    "filter system calls",
                    "start a process",
                ],
            ),
            ("supervisor", &["take care of orphans", "prepare the command"]),
            ("command", &["prepare the command", "limit the command", "enter the directory"]),
        ];
        for (process, some) in cases {
            let steps = fail_each(process, act);
            for step in some {
                assert!(steps.iter().any(|name| name == step), "{process}: {step} in {steps:?}");
            }
            assert!(steps.iter().all(|step| !step.is_empty()), "{process}: {steps:?}");
        }
    }

    fn a_step_of_handles_that_fails_is_named(dir: &Path) {
        if !is_available(Backend::Namespaces) {
            return;
        }
        for more in ["", "without:mount_setattr"] {
            let act = |fault: &str| {
                let plan = plan(Backend::Namespaces, dir);
                let launcher = Launcher::this_program().with_fault(fault).with_fault(more);
                in_time(fault, move || tree::handles(&plan, &launcher)).map(drop)
            };
            let steps = fail_each("keeper", act);
            assert!(steps.iter().any(|step| step.starts_with("take /")), "{steps:?}");
        }
    }

    fn steps_fail_by_name_on_every_backend(dir: &Path) {
        for backend in [Backend::Bubblewrap, Backend::Landlock, Backend::None] {
            if !is_available(backend) {
                continue;
            }
            let act =
                |fault: &str| with_fault(backend, dir, fault).map(|code| assert_eq!(code, Some(0)));
            let steps = fail_each("keeper", act);
            assert!(steps.len() > 3, "{backend}: {steps:?}");
            // `bwrap` starts the first process as a program of its own.
            if backend != Backend::Bubblewrap {
                let steps = fail_each("init", act);
                let some = "let go of what is the keeper's";
                assert!(steps.iter().any(|step| step == some), "{backend}: {steps:?}");
            }
        }
    }

    /// Returns what the caller hears of a fault.
    fn heard(fault: &str, dir: &Path) -> (String, String) {
        match with_fault(Backend::Namespaces, dir, fault) {
            Err(Failed::Step { step, errno: None, why }) => (step, why),
            other => panic!("{fault}: {other:?}"),
        }
    }

    fn a_panic_is_reported(dir: &Path) {
        if !is_available(Backend::Namespaces) {
            return;
        }
        for (process, step) in [
            ("keeper", "start the sandbox"),
            // The first process of its namespace.
            ("init", "start the sandbox"),
            ("supervisor", "supervise the command"),
        ] {
            let mut steps = 0;
            for number in 1..MOST {
                let fault = format!("panic:{process}:{number}");
                // The others are the same, and there are many.
                if number > 8 {
                    break;
                }
                let (what, why) = match with_fault(Backend::Namespaces, dir, &fault) {
                    Err(Failed::Step { step, errno: None, why }) => (step, why),
                    // Before an order a supervisor has no caller.
                    Err(Failed::Gone) if process == "supervisor" && number < 4 => continue,
                    Ok(Some(0)) => break,
                    other => panic!("{fault}: {other:?}"),
                };
                steps += 1;
                assert_eq!(what, step, "{fault}");
                assert!(why.contains("forced by a test"), "{fault}: {why}");
                assert!(why.contains("faults.rs"), "{fault}: {why}");
            }
            assert!(steps > 1, "{process}: {steps}");
        }
    }

    fn an_abort_ends_the_first_process(dir: &Path) {
        if !is_available(Backend::Namespaces) {
            return;
        }
        // The status of the handler, not a signal: that cannot end such a process.
        for number in [1, 5, 30] {
            let (step, why) = heard(&format!("abort:init:{number}"), dir);
            assert_eq!(step, "start the sandbox");
            assert_eq!(why, "its first process ended with status 134", "{number}");
        }
    }
}

#[cfg(all(target_os = "linux", debug_assertions))]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(all(target_os = "linux", debug_assertions)))]
fn main() {}
