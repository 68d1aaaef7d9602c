//! A sandbox with a gateway, and commands in it.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zonekeep_confine::plan::{
    Access, Backend, Bind, Entry, Gateway, Listen, Network, Plan, Role, Route, Start, ZoneRules,
};
use zonekeep_confine::tree::{Ended, Event, Launcher, Process, Tree};
use zonekeep_policy::limit::Limits;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Where names live in these tests, and one of them.
pub(crate) const NAMES: (&str, u8) = ("198.18.0.0", 15);
pub(crate) const NAME: &str = "198.18.0.5";
/// Ports with a listener for all names, and for one address.
pub(crate) const WEB: u16 = 443;
pub(crate) const HIGH: u16 = 8443;
/// An address that is listed, of each kind.
pub(crate) const LISTED: &str = "10.1.2.3";
pub(crate) const LISTED_V6: &str = "fd00::5";

/// Returns whether the kernel has IPv6.
pub(crate) fn has_v6() -> bool {
    Path::new("/proc/self/net/if_inet6").exists()
}

/// One backend, and a directory of its own.
pub(crate) struct World {
    pub(crate) backend: Backend,
    pub(crate) dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(backend: Backend) -> Self {
        let dir = tempfile::Builder::new().prefix("zk-gateway-").tempdir().unwrap();
        World { backend, dir }
    }

    /// Returns what a list of names and addresses comes to.
    pub(crate) fn gateway() -> Gateway {
        let tcp = |at: String| Listen { at: at.parse().unwrap(), udp: false };
        let route = |base: &str, bits| Route { base: base.parse().unwrap(), bits };
        let mut gateway = Gateway {
            sockets: vec![
                Listen { at: "127.0.0.1:53".parse().unwrap(), udp: true },
                tcp("127.0.0.1:53".to_owned()),
                tcp(format!("0.0.0.0:{WEB}")),
                tcp(format!("{NAME}:{HIGH}")),
                tcp(format!("{LISTED}:{HIGH}")),
                tcp(format!("[{LISTED_V6}]:{HIGH}")),
                tcp(format!("[::1]:{HIGH}")),
            ],
            routes: vec![route(NAMES.0, NAMES.1), route(LISTED, 32), route(LISTED_V6, 128)],
            proxy: None,
        };
        gateway.sockets.retain(|listen| has_v6() || listen.at.is_ipv4());
        gateway.routes.retain(|route| has_v6() || route.base.is_ipv4());
        gateway
    }

    pub(crate) fn plan(&self, network: Network) -> Plan {
        let own = self.backend.has_own_tree();
        let bind = |host: PathBuf, at: &Path, role| {
            let (at, access) = (at.to_owned(), Access::Ro);
            Entry::Bind(Bind { host, at, access, role, identity: None })
        };
        let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"].map(|path| {
            match std::fs::read_link(path) {
                Ok(to) if own => Entry::Link { at: path.into(), to },
                _ => bind(path.into(), Path::new(path), Role::System),
            }
        });
        let mut entries: Vec<_> = system.into();
        entries.push(bind(std::env::current_exe().unwrap(), Path::new("/helper"), Role::Tool));
        let home = match own {
            true => PathBuf::from("/home/agent"),
            false => self.dir.path().canonicalize().unwrap().join("home"),
        };
        Plan {
            backend: self.backend,
            entries,
            home,
            network,
            limits: Limits::none(),
            watch: None,
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        }
    }

    pub(crate) fn tree(&self) -> Tree {
        let plan = self.plan(Network::Gate(Self::gateway()));
        Tree::start(plan, &Launcher::this_program()).unwrap()
    }

    /// Starts the helper inside.
    pub(crate) fn begin(&self, tree: &Tree, words: &[&str]) -> Running {
        let helper = match self.backend.has_own_tree() {
            true => "/helper".into(),
            false => std::env::current_exe().unwrap(),
        };
        let argv = [helper.as_os_str(), "helper".as_ref()];
        let start = Start {
            argv: argv.into_iter().chain(words.iter().map(AsRef::as_ref)).map(Into::into).collect(),
            env: Default::default(),
            cwd: "/".into(),
            limits: Limits::none(),
            terminal: [false; 3],
        };
        let (stdin, input) = std::io::pipe().unwrap();
        let (output, stdout) = std::io::pipe().unwrap();
        let stdio = [stdin.as_fd(), stdout.as_fd(), stdout.as_fd()];
        let process = tree.command(start, &stdio).unwrap();
        Running { process, input, output: BufReader::new(output) }
    }

    /// Runs the helper to its end; returns what it said.
    pub(crate) fn run(&self, tree: &Tree, words: &[&str]) -> String {
        self.begin(tree, words).end()
    }
}

/// A helper that runs.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) input: PipeWriter,
    output: BufReader<PipeReader>,
}

impl Running {
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn end(mut self) -> String {
        drop(self.input);
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        let ended = wait(&self.process);
        assert_eq!(ended.code, Some(0), "{ended:?}: {text}");
        text
    }
}

/// Waits for an end, but not for ever.
fn wait(process: &Process) -> Ended {
    use rustix::event::{PollFd, PollFlags, Timespec};
    loop {
        let mut polled = [PollFd::new(process, PollFlags::IN)];
        let limit = Timespec { tv_sec: PATIENCE.as_secs() as _, tv_nsec: 0 };
        assert_ne!(rustix::event::poll(&mut polled, Some(&limit)).unwrap(), 0, "it goes on");
        if let Event::Ended(ended) = process.next().unwrap() {
            return ended;
        }
    }
}
