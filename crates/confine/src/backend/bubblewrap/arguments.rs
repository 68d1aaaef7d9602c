//! A plan in the words of `bwrap`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::RawFd;
use std::path::Path;

use rustix::fs::FileType;

use super::{Bwrap, Guarded, Source, exists};
use crate::launcher::{PLACE, PROC_HIDDEN, PROC_READ_ONLY};
use crate::plan::{Access, Entry, Plan, Role};

/// Who the superuser is inside.
const INSIDE: &str = "1000";
/// Returns the options, without the command. `data` puts a text where `bwrap`
/// finds it.
pub(super) fn arguments(
    plan: &Plan,
    fixed: &[Guarded],
    bwrap: &Bwrap,
    launcher: &Source,
    data: &mut dyn FnMut(&str) -> io::Result<RawFd>,
) -> io::Result<Vec<OsString>> {
    let mut options = Options::default();
    options.add([
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--as-pid-1",
        "--new-session",
    ]);
    if plan.network.is_apart() {
        options.add(["--unshare-net"]);
    }
    if bwrap.closes_namespaces {
        options.add(["--disable-userns"]);
    }
    options.add(["--hostname", "zonekeep", "--cap-drop", "ALL", "--clearenv"]);
    if rustix::process::geteuid().is_root() {
        options.add(["--uid", INSIDE, "--gid", INSIDE]);
    }
    proc_and_dev(&mut options);
    let privates = private(plan);
    let sizes = sizes(plan, privates.len());
    if plan.limits.tmp.is_some() && !bwrap.limits_memory {
        let why = format!("bwrap {} cannot limit private memory", bwrap.version);
        return Err(io::Error::other(why));
    }
    let mut size = privates.iter().zip(sizes);
    let placed_first = privates.iter().filter(|private| private.entry.is_none()).count();
    for (private, size) in size.by_ref().take(placed_first) {
        options.memory(private.at, private.mode, size);
    }
    options.add(["--remount-ro", "/dev"]);
    for (number, entry) in plan.entries.iter().enumerate() {
        match entry {
            Entry::Bind(bind) => {
                // What is missing fails only where it was asked for by name.
                let option = match (bind.access, bind.role) {
                    (Access::Ro, Role::Zone) => "--ro-bind",
                    (Access::Rw, Role::Zone) => "--bind",
                    (Access::Ro, _) => "--ro-bind-try",
                    (Access::Rw, _) => "--bind-try",
                };
                options.add([OsStr::new(option), bind.host.as_ref(), bind.at.as_ref()]);
            }
            Entry::Link { at, to } => {
                let earlier = &plan.entries[..number];
                let is_below =
                    |entry: &Entry| matches!(entry, Entry::Bind(bind) if at.starts_with(&bind.at));
                // What is there is not changed.
                if !earlier.iter().any(is_below) {
                    options.add([OsStr::new("--symlink"), to.as_ref(), at.as_ref()]);
                }
            }
            Entry::Private { .. } => {
                if let Some((private, size)) = size.next() {
                    options.memory(private.at, private.mode, size);
                }
            }
            Entry::File { at, content } => {
                let fd = data(content)?.to_string();
                options.add(["--perms", "0444", "--ro-bind-data", &fd]);
                options.add([at]);
            }
        }
    }
    for Guarded { host, at, access } in fixed {
        let option = match access {
            Access::Ro => "--ro-bind-try",
            Access::Rw => "--bind-try",
        };
        options.add([OsStr::new(option), host.as_ref(), at.as_ref()]);
    }
    for bind in plan.zones() {
        let hidden =
            plan.rules.hidden.iter().filter_map(|at| Some((at, at.strip_prefix(&bind.at).ok()?)));
        for (at, below) in hidden {
            options.hide(at, exists(&bind.host.join(below)));
        }
    }
    match launcher {
        Source::Path(path) => {
            options.add([OsStr::new("--ro-bind"), path.as_ref(), OsStr::new(PLACE)]);
        }
        Source::Open(fd) => {
            options.add(["--perms", "0555", "--ro-bind-data", &fd.to_string(), PLACE]);
        }
    }
    options.add(["--remount-ro", "/", "--chdir", "/"]);
    Ok(options.0)
}

#[derive(Debug, Default)]
struct Options(Vec<OsString>);

impl Options {
    fn add<T: AsRef<OsStr>>(&mut self, options: impl IntoIterator<Item = T>) {
        self.0.extend(options.into_iter().map(|option| option.as_ref().to_owned()));
    }

    /// Puts something empty over a path.
    fn hide(&mut self, at: &Path, is: Option<FileType>) {
        let [perms, mode, tmpfs, again] =
            ["--perms", "0555", "--tmpfs", "--remount-ro"].map(OsStr::new);
        match is {
            Some(FileType::Directory) => {
                self.add([perms, mode, tmpfs, at.as_ref(), again, at.as_ref()]);
            }
            Some(FileType::Symlink) | None => {}
            Some(_) => self.add([OsStr::new("--ro-bind"), OsStr::new("/dev/null"), at.as_ref()]),
        }
    }

    /// Places a directory in memory.
    fn memory(&mut self, at: &Path, mode: &str, size: Option<u64>) {
        self.add(["--perms", mode]);
        if let Some(size) = size {
            self.add(["--size", &size.to_string()]);
        }
        self.add([OsStr::new("--tmpfs"), at.as_ref()]);
    }
}

fn proc_and_dev(options: &mut Options) {
    options.add(["--proc", "/proc"]);
    for name in PROC_READ_ONLY {
        let path = format!("/proc/{name}");
        options.add(["--ro-bind-try", &path, &path]);
    }
    for name in PROC_HIDDEN {
        let path = Path::new("/proc").join(name);
        options.hide(&path, exists(&path));
    }
    options.add(["--dev", "/dev"]);
}

/// A directory in memory.
struct Private<'p> {
    at: &'p Path,
    mode: &'static str,
    /// The entry that it is for.
    entry: Option<usize>,
}

/// Returns all directories in memory, in the order in which they are placed:
/// those of every sandbox come first.
fn private(plan: &Plan) -> Vec<Private<'_>> {
    let own = |at, mode| Private { at: Path::new(at), mode, entry: None };
    let mut all = vec![own("/tmp", "1777"), own("/run", "0755"), own("/dev/shm", "1777")];
    let home_is_granted = plan.zones().any(|zone| plan.home.starts_with(&zone.at));
    if !home_is_granted {
        all.push(Private { at: &plan.home, mode: "0700", entry: None });
    }
    for (number, entry) in plan.entries.iter().enumerate() {
        if let Entry::Private { at } = entry {
            all.push(Private { at, mode: "0700", entry: Some(number) });
        }
    }
    all
}

/// Returns how much each directory in memory may hold, so that all together do
/// not hold more than the limit: half of it is for `/tmp`, which comes first.
fn sizes(plan: &Plan, count: usize) -> Vec<Option<u64>> {
    let Some(limit) = plan.limits.tmp else { return vec![None; count] };
    let others = count.saturating_sub(1).max(1) as u64;
    // A size of 0 is none.
    let other = (limit / 2 / others).max(1);
    let mut sizes = vec![Some(other); count];
    if let Some(first) = sizes.first_mut() {
        *first = Some((limit / 2).max(1));
    }
    sizes
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use zonekeep_policy::limit::Limits;

    use super::*;
    use crate::plan::{Backend, Bind, Gateway, Network, ZoneRules};

    fn bind(host: &str, at: &str, access: Access, role: Role) -> Entry {
        let (host, at) = (host.into(), at.into());
        Entry::Bind(Bind { host, at, access, role, identity: None })
    }

    #[test]
    fn a_plan_in_the_words_of_bwrap() {
        let plan = Plan {
            backend: Backend::Bubblewrap,
            entries: vec![
                bind("/usr", "/usr", Access::Ro, Role::System),
                Entry::Link { at: "/bin".into(), to: "usr/bin".into() },
                Entry::Link { at: "/usr/x".into(), to: "y".into() },
                Entry::File { at: "/etc/passwd".into(), content: "x".into() },
                bind("/host/in", "/input", Access::Ro, Role::Zone),
                bind("/host/out", "/output", Access::Rw, Role::Zone),
                Entry::Private { at: "/cache".into() },
            ],
            home: "/home/agent".into(),
            network: Network::Off,
            limits: Limits { tmp: Some(8000), ..Limits::none() },
            watch: None,
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        };
        let fixed = [Guarded {
            host: "/host/out/.git".into(),
            at: "/output/.git".into(),
            access: Access::Ro,
        }];
        let bwrap = Bwrap {
            path: PathBuf::from("/usr/bin/bwrap"),
            version: "0.8.0".into(),
            closes_namespaces: true,
            limits_memory: true,
        };
        let launcher = Source::Path("/opt/zonekeep".into());
        let options = arguments(&plan, &fixed, &bwrap, &launcher, &mut |_| Ok(7)).unwrap();
        let text = options.join(OsStr::new(" ")).into_string().unwrap();
        let text = text.replace(" --", "\n--");
        // Who runs the test, and what the kernel has, differ.
        let text = text.lines().filter(|line| {
            let own = ["--uid", "--gid", "--ro-bind /dev/null", "--remount-ro /proc"];
            !own.iter().any(|start| line.starts_with(start))
                && !line.starts_with("--tmpfs /proc")
                && *line != "--perms 0555"
        });
        let text = text.collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @"
        --unshare-user
        --unshare-pid
        --unshare-ipc
        --unshare-uts
        --unshare-cgroup-try
        --die-with-parent
        --as-pid-1
        --new-session
        --unshare-net
        --disable-userns
        --hostname zonekeep
        --cap-drop ALL
        --clearenv
        --proc /proc
        --ro-bind-try /proc/sys /proc/sys
        --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger
        --ro-bind-try /proc/irq /proc/irq
        --ro-bind-try /proc/bus /proc/bus
        --ro-bind-try /proc/fs /proc/fs
        --dev /dev
        --perms 1777
        --size 4000
        --tmpfs /tmp
        --perms 0755
        --size 1000
        --tmpfs /run
        --perms 1777
        --size 1000
        --tmpfs /dev/shm
        --perms 0700
        --size 1000
        --tmpfs /home/agent
        --remount-ro /dev
        --ro-bind-try /usr /usr
        --symlink usr/bin /bin
        --perms 0444
        --ro-bind-data 7 /etc/passwd
        --ro-bind /host/in /input
        --bind /host/out /output
        --perms 0700
        --size 1000
        --tmpfs /cache
        --ro-bind-try /host/out/.git /output/.git
        --ro-bind /opt/zonekeep /.zonekeep-launcher
        --remount-ro /
        --chdir /
        ");
        // No right more is left inside for a gateway, which is made from outside.
        let gate = Plan { network: Network::Gate(Gateway::default()), ..plan.clone() };
        let same = arguments(&gate, &fixed, &bwrap, &launcher, &mut |_| Ok(7)).unwrap();
        assert_eq!(same, options);
        let starved = Bwrap { limits_memory: false, ..bwrap };
        assert!(arguments(&plan, &[], &starved, &launcher, &mut |_| Ok(7)).is_err());
    }
}
