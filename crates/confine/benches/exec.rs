//! A running sandbox: what one more command costs, what it holds in memory
//! while nothing runs, and what handles of zones cost. Prints ratios; see
//! `measure`.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

#[path = "../../zonekeep/benches/measure/mod.rs"]
mod measure;

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use measure::{Options, Table, side_by_side};
use zonekeep_confine::plan::{
    Access, Backend, Bind, Entry, Identity, Network, Plan, Role, Start, ZoneRules,
};
use zonekeep_confine::probe;
use zonekeep_confine::tree::{Launcher, Tree, handles};
use zonekeep_policy::limit::Limits;

const KIB: f64 = 1024.0;
/// What every command has.
const ENV: [(&str, &str); 3] = [("PATH", "/usr/bin:/bin"), ("HOME", "/"), ("LANG", "C")];

fn main() {
    zonekeep_confine::launcher::become_if_asked();
    let options = Options::of_process();
    let mut table = Table::new(&options);
    let launcher = Launcher::this_program();
    let offer = probe::probe(Backend::Namespaces, &launcher);
    if !offer.available {
        let why = offer.why.unwrap_or_default();
        for name in ["warm_exec", "idle_memory", "handles"] {
            table.skipped(name, name, &why);
        }
        return table.print();
    }
    let temp = tempfile::Builder::new().prefix("zonekeep-bench-").tempdir().unwrap();
    let zone = temp.path().canonicalize().unwrap();
    if options.wants("warm_exec") {
        warm_exec(&options, &mut table, &zone, &launcher);
    }
    if options.wants("idle_memory") {
        idle_memory(&mut table, &zone, &launcher);
    }
    if options.wants("handles") {
        take_handles(&options, &mut table, &zone, &launcher);
    }
    table.print();
}

/// A sandbox with the limits that a project has by itself.
fn plan(zone: &Path) -> Plan {
    let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"].map(|path| {
        match fs::read_link(path) {
            Ok(to) => Entry::Link { at: path.into(), to },
            Err(_) => bind(path, path, Access::Ro, Role::System),
        }
    });
    let mut entries: Vec<_> = system.into();
    entries.push(bind(zone, "/work", Access::Rw, Role::Zone));
    Plan {
        backend: Backend::Namespaces,
        entries,
        home: "/home/agent".into(),
        network: Network::Off,
        limits: Limits { memory: Some(8 << 30), ..Limits::default() },
        watch: None,
        rules: ZoneRules::default(),
        prove: false,
        calls: Default::default(),
        dialers: 0,
    }
}

fn bind(host: impl Into<PathBuf>, at: &str, access: Access, role: Role) -> Entry {
    let host = host.into();
    let identity = match role {
        Role::Zone => {
            let stat = host.metadata().unwrap();
            Some(Identity { device: stat.dev(), inode: stat.ino() })
        }
        _ => None,
    };
    Entry::Bind(Bind { host, at: at.into(), access, role, identity })
}

fn program() -> &'static str {
    ["/usr/bin/true", "/bin/true"].into_iter().find(|path| Path::new(path).exists()).unwrap()
}

/// One more command in a sandbox that stands / the same program started plainly.
fn warm_exec(options: &Options, table: &mut Table, zone: &Path, launcher: &Launcher) {
    let tree = Tree::start(plan(zone), launcher).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let stdio: [BorrowedFd<'_>; 3] = [null.as_fd(); 3];
    let ours = || {
        let start = Start {
            argv: vec![program().into()],
            env: ENV.map(|(name, value)| (name.into(), value.into())).into(),
            cwd: "/work".into(),
            limits: Limits::none(),
            terminal: [false; 3],
        };
        let ended = tree.command(start, &stdio).unwrap().wait().unwrap();
        assert_eq!(ended.code, Some(0));
    };
    let theirs = || {
        let status = Command::new(program())
            .env_clear()
            .envs(ENV)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    };
    let pair = side_by_side(options.size(2001, 21), ours, theirs);
    let what = "a command in a running sandbox / posix_spawn and wait";
    table.ratio("warm_exec", what, Some(1.5), pair);
}

/// What the processes of a sandbox hold while nothing runs in it.
fn idle_memory(table: &mut Table, zone: &Path, launcher: &Launcher) {
    let tree = Tree::start(plan(zone), launcher).unwrap();
    tree.layers().unwrap();
    // The supervisor of the first command is made after that.
    thread::sleep(Duration::from_millis(300));
    let keeper = tree.keeper_pid().unwrap();
    let mut pids = vec![keeper];
    let mut next = 0;
    while let Some(pid) = pids.get(next) {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        pids.extend(text.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
        next += 1;
    }
    assert_eq!(pids.len(), 3, "the keeper, the first process, a supervisor that waits");
    let what = "an idle sandbox: memory that is its own or its share (PSS)";
    match sum(&pids, "smaps_rollup", "Pss:") {
        Some(kib) => table.amount("idle_memory", what, 4.0, kib / KIB, "MiB"),
        None => table.skipped("idle_memory", what, "its processes cannot be looked into"),
    }
    let what = "the same, with all that is shared counted in each process (RSS)";
    let rss = sum(&pids, "status", "VmRSS:").unwrap();
    table.amount("idle_memory_rss", what, 12.0, rss / KIB, "MiB");
}

/// Adds up a line of a file of some processes, in KiB.
fn sum(pids: &[u32], file: &str, line: &str) -> Option<f64> {
    let mut sum = 0.0;
    for pid in pids {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find_map(|text| text.strip_prefix(line))?;
        sum += line.trim().trim_end_matches(" kB").trim().parse::<f64>().ok()?;
    }
    Some(sum)
}

/// Handles of one zone / starting the same program to do nothing.
fn take_handles(options: &Options, table: &mut Table, zone: &Path, launcher: &Launcher) {
    let plan = plan(zone);
    let pair = side_by_side(
        options.size(501, 11),
        || assert_eq!(handles(&plan, launcher).unwrap().len(), 1),
        || {
            let status = Command::new(program()).stdin(Stdio::null()).status();
            assert!(status.unwrap().success());
        },
    );
    table.ratio("handles", "handles of one zone / posix_spawn and wait", None, pair);
}
