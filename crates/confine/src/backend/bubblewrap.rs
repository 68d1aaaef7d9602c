//! The tree made by the system's `bwrap`, for machines that let it make
//! namespaces and no other program.
//!
//! `bwrap` takes host paths and not open directories, so another process could
//! put a link where a zone was. What it has mounted is therefore compared with
//! what was opened before, from outside and before the sandbox gets anything to
//! do. For the kernel the superuser stays the superuser here, with another
//! number and without capabilities. Nor has the launcher inside any, at any
//! time: the sockets of a gateway are made from outside.

mod arguments;
mod program;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, ResolveFlags};
use rustix::process::{Pid, Signal, WaitOptions};

pub(crate) use self::program::{Bwrap, find};

use crate::launcher::{Fixed, Group, INSIDE, PLACE, Trouble, Try, attempt, gateway, inotify};
use crate::plan::{Access, Identity, Plan};
use crate::sys;
use crate::wire::{self, Build};

/// How long the tree may take to stand.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the first process of the sandbox; returns the number of `bwrap`, with
/// which the sandbox ends.
pub(crate) fn start(
    plan: &Plan,
    sandbox: &UnixStream,
    fixed: &[Fixed],
    unwatched: Option<&str>,
    group: Option<&Group>,
) -> Result<Pid, Trouble> {
    let bwrap = find().during(|| "use bwrap".to_owned())?;
    not_granted(plan, &bwrap.path)?;
    leave_the_session()?;
    let (expected, fixed) = look(plan, fixed)?;
    let mut kept = Kept::default();
    let launcher = launcher(&mut kept).during(|| "find the launcher".to_owned())?;
    let options = arguments::arguments(plan, &fixed, &bwrap, &launcher, &mut |content| {
        kept.text(content.as_bytes())
    })
    .during(|| "write files of the tree".to_owned())?;
    let starting = Starting::spawn(&bwrap, &options, kept)?;
    let finished = starting.wait_until_it_stands().and_then(|init| {
        verify(init, &expected)?;
        if plan.network.gateway().is_some() || plan.dialers > 0 {
            gateway::hand_out_inside(init, plan, sandbox)?;
        }
        // Not every system leaves the right to; commands may take all watches then.
        let unlimited = inotify::limit_inside(init).err().map(|trouble| trouble.to_string());
        let build = Build {
            plan: plan.clone(),
            what: crate::wire::What::Sandbox,
            own: 0,
            groups: false,
            unwatched: unwatched.map(str::to_owned).or(unlimited),
            shares_tmp: false,
        };
        let group = group.filter(|group| group.add(Some(init)).is_ok());
        let beside = [Some(sandbox.as_fd()), group.map(Group::events)];
        let beside: Vec<BorrowedFd<'_>> = beside.into_iter().flatten().collect();
        let step = || "speak to the sandbox".to_owned();
        attempt(step, || wire::send(&starting.socket, &build, &beside))
    });
    match finished {
        Ok(()) => Ok(starting.pid),
        Err(trouble) => {
            starting.end();
            Err(trouble)
        }
    }
}

/// Refuses a `bwrap` that commands could change.
fn not_granted(plan: &Plan, program: &Path) -> Result<(), Trouble> {
    let real = program.canonicalize().during(|| "use bwrap".to_owned())?;
    let granted = plan.binds().filter(|bind| bind.access == Access::Rw).any(|bind| {
        let host = bind.host.canonicalize().unwrap_or_else(|_| bind.host.clone());
        real.starts_with(host)
    });
    match granted {
        true => {
            let why = format!("{} is in a directory that commands can write", real.display());
            Err(Trouble::new("use bwrap", io::Error::other(why)))
        }
        false => Ok(()),
    }
}

/// Leaves what the sandbox would have from the caller's session.
fn leave_the_session() -> Result<(), Trouble> {
    if rustix::process::geteuid().is_root() {
        // Groups of the superuser give rights that are not meant.
        let _ = sys::leave_groups();
    }
    // Without keyrings in the kernel there is none to leave.
    match sys::new_keyring() {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        result => result.during(|| "leave the caller's keyring".to_owned()),
    }
}

/// Where something of the host is to be in the tree.
#[derive(Debug)]
struct Expected {
    host: PathBuf,
    at: PathBuf,
    identity: Identity,
}

/// Looks at zones and guarded files as they are now; returns what must be where,
/// and the guarded files that are there.
fn look(plan: &Plan, fixed: &[Fixed]) -> Result<(Vec<Expected>, Vec<Guarded>), Trouble> {
    let mut expected = Vec::new();
    let mut guarded = Vec::new();
    for zone in plan.zones() {
        let what = || format!("take {}", zone.host.display());
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&zone.host, flags, Mode::empty()).during(what)?;
        let found = identity(handle.as_fd()).during(what)?;
        let identity = zone.identity.unwrap_or(found);
        if identity != found {
            return Err(elsewhere(&zone.host));
        }
        for path in fixed.iter().filter(|path| path.zone == zone.at) {
            let (host, at) = (zone.host.join(&path.below), zone.at.join(&path.below));
            if is_covered(plan, &zone.at, &at) {
                continue;
            }
            let what = || format!("guard {}", at.display());
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let found = rustix::fs::openat2(&handle, &path.below, flags, Mode::empty(), resolve);
            let found = match found {
                // It went away since it was found, or became a link, which the
                // keeper sees.
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP) => continue,
                result => result.during(what)?,
            };
            let identity = self::identity(found.as_fd()).during(what)?;
            let access = path.access;
            guarded.push(Guarded { host: host.clone(), at: at.clone(), access });
            expected.push(Expected { host, at, identity });
        }
        if !is_covered(plan, &zone.at, &zone.at) {
            expected.push(Expected { host: zone.host.clone(), at: zone.at.clone(), identity });
        }
    }
    Ok((expected, guarded))
}

/// A guarded file or directory that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guarded {
    pub(crate) host: PathBuf,
    pub(crate) at: PathBuf,
    pub(crate) access: Access,
}

/// Returns whether something else than the entry at `by` is seen at `at`.
fn is_covered(plan: &Plan, by: &Path, at: &Path) -> bool {
    let last = plan.entries.iter().rposition(|entry| entry.at() == by).unwrap_or(0);
    let later = plan.entries[last..].iter().skip(1);
    later.map(|entry| entry.at()).any(|other| at.starts_with(other))
}

fn identity(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
}

fn elsewhere(host: &Path) -> Trouble {
    let why = "another directory is there than the one that was opened";
    Trouble::new(format!("take {}", host.display()), io::Error::other(why))
}

/// Compares the tree with what was looked at before.
fn verify(init: Pid, expected: &[Expected]) -> Result<(), Trouble> {
    let what = || "look at the tree that bwrap made".to_owned();
    let root = format!("/proc/{}/root", init.as_raw_nonzero());
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty()).during(what)?;
    for Expected { host, at, identity: wanted } in expected {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let below = at.strip_prefix("/").unwrap_or(at);
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let found =
            rustix::fs::openat2(&root, below, flags, Mode::empty(), resolve).during(what)?;
        if identity(found.as_fd()).during(what)? != *wanted {
            return Err(elsewhere(host));
        }
    }
    Ok(())
}

/// Where `bwrap` finds the launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// At a host path.
    Path(PathBuf),
    /// In an open file, where it has no path.
    Open(RawFd),
}

/// Finds the program that runs now.
fn launcher(kept: &mut Kept) -> io::Result<Source> {
    let own = Path::new("/proc/self/exe");
    let path = std::fs::read_link(own)?;
    let same =
        |a: std::fs::Metadata, b: std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    if path.metadata().is_ok_and(|found| own.metadata().is_ok_and(|own| same(found, own))) {
        return Ok(Source::Path(path));
    }
    let file = OwnedFd::from(File::open(own)?);
    let number = file.as_raw_fd();
    kept.0.push(file);
    Ok(Source::Open(number))
}

/// What stays open for `bwrap`.
#[derive(Debug, Default)]
struct Kept(Vec<OwnedFd>);

impl Kept {
    /// Puts a text where `bwrap` reads it.
    fn text(&mut self, content: &[u8]) -> io::Result<RawFd> {
        let memory = rustix::fs::memfd_create("zonekeep", MemfdFlags::CLOEXEC)?;
        let mut file = File::from(memory);
        file.write_all(content)?;
        io::Seek::rewind(&mut file)?;
        let number = file.as_raw_fd();
        self.0.push(file.into());
        Ok(number)
    }
}

/// A `bwrap` that builds.
struct Starting {
    pid: Pid,
    /// The other side of the launcher's standard input.
    socket: UnixStream,
    /// Ends when the launcher runs, which closes all that it does not know; or
    /// when `bwrap` ends.
    begun: PipeReader,
    /// Where `bwrap` says which process is the first one.
    told: PipeReader,
    errors: PipeReader,
}

impl Starting {
    fn spawn(bwrap: &Bwrap, options: &[impl AsRef<OsStr>], kept: Kept) -> Result<Self, Trouble> {
        let what = || "start bwrap".to_owned();
        let mut kept = kept;
        let (socket, inside) = UnixStream::pair().during(what)?;
        let (begun, begun_end) = io::pipe().during(what)?;
        let (told, told_end) = io::pipe().during(what)?;
        let (errors, errors_end) = io::pipe().during(what)?;
        let told_number = told_end.as_raw_fd().to_string();
        kept.0.extend([begun_end.into(), told_end.into()]);
        let mut text = Vec::new();
        let more = [OsStr::new("--info-fd"), OsStr::new(&told_number)];
        for option in options.iter().map(AsRef::as_ref).chain(more) {
            text.extend_from_slice(option.as_bytes());
            text.push(0);
        }
        // Not as arguments, which every user of the machine sees.
        let options = kept.text(&text).during(what)?;
        for fd in &kept.0 {
            sys::keep_on_exec(fd.as_fd()).during(what)?;
        }
        let child = Command::new(&bwrap.path)
            .args(["--args", &options.to_string(), "--", PLACE, INSIDE])
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(inside))
            .stdout(Stdio::null())
            .stderr(errors_end)
            .spawn()
            .map_err(|error| Trouble::new(what(), error))?;
        let pid = Pid::from_raw(child.id() as i32);
        let pid = pid.ok_or_else(|| Trouble::new(what(), io::ErrorKind::Other.into()))?;
        // The command is dropped, and with it this side's copies.
        Ok(Starting { pid, socket, begun, told, errors })
    }

    /// Waits until the launcher runs inside; returns its number outside.
    fn wait_until_it_stands(&self) -> Result<Pid, Trouble> {
        let what = || "build the tree with bwrap".to_owned();
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let wait = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
            let mut polled = [PollFd::new(&self.begun, PollFlags::IN)];
            match rustix::event::poll(&mut polled, Some(&wait)) {
                Ok(0) => return Err(Trouble::new(what(), io::ErrorKind::TimedOut.into())),
                Err(rustix::io::Errno::INTR) => continue,
                result => drop(result.during(what)?),
            }
            break;
        }
        let mut text = [0; 4096];
        // It comes in one piece, far smaller than what a pipe takes at once.
        let length = (&self.told).read(&mut text).during(what)?;
        #[derive(serde::Deserialize)]
        struct Told {
            #[serde(rename = "child-pid")]
            pid: i32,
        }
        let told = serde_json::from_slice::<Told>(&text[..length]).ok();
        let pid = told.filter(|told| told.pid > 0).and_then(|told| Pid::from_raw(told.pid));
        // A process that ends lets go of its program before its descriptors.
        let runs = |pid: &Pid| {
            let program = format!("/proc/{}/exe", pid.as_raw_nonzero());
            rustix::fs::readlink(program, Vec::new()).is_ok()
        };
        pid.filter(runs).ok_or_else(|| Trouble::new(what(), io::Error::other(self.complaint())))
    }

    /// Returns what `bwrap` has said, which is why it ends.
    fn complaint(&self) -> String {
        let mut text = [0; 4096];
        // Said before the end, or not at all.
        let length = rustix::fs::fcntl_setfl(&self.errors, OFlags::NONBLOCK)
            .and_then(|()| rustix::io::read(&self.errors, &mut text));
        let text = String::from_utf8_lossy(&text[..length.unwrap_or(0)]);
        let text = text.trim().trim_start_matches("bwrap: ");
        if text.is_empty() { "bwrap ended without a word".to_owned() } else { text.to_owned() }
    }

    fn end(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Returns whether a name is there, without following it.
fn exists(path: &Path) -> Option<rustix::fs::FileType> {
    let stat = rustix::fs::statat(CWD, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(rustix::fs::FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
mod tests {
    use zonekeep_policy::limit::Limits;

    use super::*;
    use crate::plan::{Backend, Bind, Entry, Network, Role, ZoneRules};

    fn plan(zones: &[(&Path, &str)]) -> Plan {
        let bind = |(host, at): &(&Path, &str)| {
            let (host, at) = (host.to_path_buf(), at.into());
            let (access, role) = (Access::Rw, Role::Zone);
            Entry::Bind(Bind { host, at, access, role, identity: None })
        };
        Plan {
            backend: Backend::Bubblewrap,
            entries: zones.iter().map(bind).collect(),
            home: "/home/agent".into(),
            network: Network::Off,
            limits: Limits::none(),
            watch: None,
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        }
    }

    #[test]
    fn guarded_files_that_are_there_are_mounted_and_compared() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/.git/hooks")).unwrap();
        std::fs::create_dir_all(dir.path().join("b/.git")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("a/.vscode")).unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let fixed =
            |below: &str| Fixed { zone: "/a".into(), below: below.into(), access: Access::Ro };
        let fixed = [".git/hooks", ".vscode", "gone", "b/.git"].map(fixed);
        let plan = plan(&[(&a, "/a"), (&b, "/a/b")]);
        let (expected, guarded) = look(&plan, &fixed).unwrap();
        // Not the link, not what is gone, and not what another zone covers.
        let hooks =
            Guarded { host: a.join(".git/hooks"), at: "/a/.git/hooks".into(), access: Access::Ro };
        assert_eq!(guarded, [hooks]);
        let at: Vec<_> = expected.iter().map(|expected| expected.at.to_str().unwrap()).collect();
        assert_eq!(at, ["/a/.git/hooks", "/a", "/a/b"]);
    }

    #[test]
    fn a_zone_that_another_one_covers_is_not_compared() {
        let dir = tempfile::tempdir().unwrap();
        let (expected, _) = look(&plan(&[(dir.path(), "/a/b"), (dir.path(), "/a")]), &[]).unwrap();
        let at: Vec<_> = expected.iter().map(|expected| expected.at.to_str().unwrap()).collect();
        assert_eq!(at, ["/a"]);
    }

    #[test]
    fn a_tree_with_something_else_in_it_is_refused() {
        let own = rustix::process::getpid();
        let usr = File::open("/usr").unwrap();
        let mut expected = Expected {
            host: "/usr".into(),
            at: "/usr".into(),
            identity: identity(usr.as_fd()).unwrap(),
        };
        verify(own, std::slice::from_ref(&expected)).unwrap();
        expected.identity.inode += 1;
        assert!(verify(own, &[expected]).is_err());
    }

    #[test]
    fn a_program_that_commands_can_write_is_not_used() {
        let program = Path::new("/usr/bin/env").canonicalize().unwrap();
        assert!(not_granted(&plan(&[(Path::new("/usr"), "/usr")]), &program).is_err());
        assert!(not_granted(&plan(&[(Path::new("/etc"), "/etc")]), &program).is_ok());
    }
}
