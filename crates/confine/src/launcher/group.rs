//! A control group for a sandbox, where one can be had: the kernel then counts all that
//! its processes use together, also what belongs to none of them, and refuses more.
//!
//! The keeper makes the group before anything runs, puts the first process in it, and
//! removes it when nothing of the sandbox is left. A group of a keeper that was killed is
//! empty, and the next keeper removes it. Nothing but directories with this program's
//! name is ever made, and no process is moved but the first one of a sandbox.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Access;
use rustix::process::Pid;
use zonekeep_policy::limit::Limits;

/// What the names of groups begin with.
const NAME: &str = "zonekeep-";
/// The group that the superuser's groups are in, below the root of the second version.
const TOP: &str = "zonekeep";
/// Memory for the processes of the sandbox that are no command's, and for what the
/// kernel keeps for all of them.
const OWN_MEMORY: u64 = 32 << 20;
/// Processes that are no command's.
const OWN_PROCESSES: u64 = 64;

/// A group that exists, in one directory or in one for each of two hierarchies.
#[derive(Debug)]
pub(crate) struct Group {
    dirs: Vec<PathBuf>,
    /// Tells how many processes were ended for want of memory.
    events: OwnedFd,
}

impl Group {
    /// Makes a group that holds these limits; `None` where none can be had.
    pub(super) fn make(limits: &Limits, own_tree: bool) -> Option<Self> {
        let memory = limits.memory?;
        // Private files are in memory, and have a limit of their own.
        let private = limits.tmp.filter(|_| own_tree).unwrap_or(0);
        let memory = memory.saturating_add(private).saturating_add(OWN_MEMORY);
        let processes = limits.processes.map(|most| most.saturating_add(OWN_PROCESSES));
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let places = Places::of(&mounts, &own);
        let name = own_name()?;
        let limits = (memory, processes);
        Group::unified(&places, &name, limits).or_else(|| Group::separate(&places, &name, limits))
    }

    /// Makes one in the second version.
    fn unified(places: &Places, name: &str, limits: (u64, Option<u64>)) -> Option<Self> {
        let unified = places.unified.as_ref()?;
        let is_root = rustix::process::geteuid().is_root();
        // Only the root of all groups has no type; it may have both processes and groups.
        let top = unified.mount.join(TOP);
        let is_whole = is_root && !unified.mount.join("cgroup.type").exists();
        if is_whole && lists(&unified.mount, "cgroup.controllers", "memory") {
            offer(&unified.mount);
            let _ = fs::create_dir(&top);
        }
        let top = is_whole.then_some(top);
        // A group that others have been given controllers in is next to the caller's own.
        let above = unified.own.ancestors().skip(1);
        let above = above.take_while(|dir| dir.starts_with(&unified.mount)).map(Path::to_owned);
        top.into_iter().chain(above).find_map(|parent| {
            let may = |path: PathBuf| rustix::fs::access(path, Access::WRITE_OK).is_ok();
            if !may(parent.clone()) || !may(parent.join("cgroup.procs")) {
                return None;
            }
            offer(&parent);
            if !lists(&parent, "cgroup.subtree_control", "memory") {
                return None;
            }
            remove_stale(&parent);
            let dir = Dir::make(parent.join(name))?;
            set(&dir.0, "memory.max", limits.0).ok()?;
            // Without swap there is nothing to hold.
            let _ = set(&dir.0, "memory.swap.max", 0);
            if let Some(processes) = limits.1 {
                let _ = set(&dir.0, "pids.max", processes);
            }
            let events = fs::File::open(dir.0.join("memory.events")).ok()?.into();
            Some(Group { dirs: vec![dir.keep()], events })
        })
    }

    /// Makes one in the first version, which has a hierarchy for each kind of limit.
    fn separate(places: &Places, name: &str, limits: (u64, Option<u64>)) -> Option<Self> {
        let make = |parent: &Path| {
            remove_stale(parent);
            Dir::make(parent.join(name))
        };
        let memory = make(&places.memory.as_ref()?.own)?;
        set(&memory.0, "memory.limit_in_bytes", limits.0).ok()?;
        // With swap together; without a count of swap there is nothing to hold.
        let _ = set(&memory.0, "memory.memsw.limit_in_bytes", limits.0);
        let events = fs::File::open(memory.0.join("memory.oom_control")).ok()?.into();
        let processes = limits.1.and_then(|most| {
            let dir = make(&places.pids.as_ref()?.own)?;
            set(&dir.0, "pids.max", most).ok()?;
            Some(dir.keep())
        });
        let dirs = [Some(memory.keep()), processes].into_iter().flatten().collect();
        Some(Group { dirs, events })
    }

    /// Puts a process into the group, or this one.
    pub(crate) fn add(&self, pid: Option<Pid>) -> io::Result<()> {
        let number = pid.map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
        self.dirs.iter().try_for_each(|dir| set(dir, "cgroup.procs", number.into()))
    }

    /// Returns what tells of processes that were ended for want of memory; see [`ended`].
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for dir in &self.dirs {
            // KERNEL(5.14): ends what could not be ended otherwise.
            let _ = set(dir, "cgroup.kill", 1);
            // What has ended is still counted for a moment.
            for _ in 0..200 {
                match fs::remove_dir(dir) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Returns how many processes of a group were ended for want of memory.
pub(super) fn ended(events: BorrowedFd<'_>) -> u64 {
    let mut buffer = [0; 1024];
    let length = rustix::io::pread(events, &mut buffer, 0).unwrap_or(0);
    let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
    // Both versions have this line.
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// A new directory, removed again unless it is kept.
struct Dir(PathBuf);

impl Dir {
    fn make(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).ok()?;
        Some(Dir(path))
    }

    fn keep(self) -> PathBuf {
        let path = self.0.clone();
        std::mem::forget(self);
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Offers the groups below one what limits need, where nobody did.
fn offer(dir: &Path) {
    for controller in ["memory", "pids"] {
        if lists(dir, "cgroup.controllers", controller)
            && !lists(dir, "cgroup.subtree_control", controller)
        {
            // Refused where it has processes of its own.
            let _ = write(&dir.join("cgroup.subtree_control"), &format!("+{controller}"));
        }
    }
}

fn lists(dir: &Path, file: &str, word: &str) -> bool {
    let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
    text.split_whitespace().any(|listed| listed == word)
}

fn set(dir: &Path, file: &str, value: u64) -> io::Result<()> {
    write(&dir.join(file), &value.to_string())
}

/// Writes to a file that exists, in one go.
fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Returns the name of this process's group, by which it can be told whether the process
/// still runs.
fn own_name() -> Option<String> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    Some(format!("{NAME}{pid}-{}", begun(pid)?))
}

/// Returns when a process began, in the kernel's own measure.
fn begun(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything.
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(19)?.parse().ok()
}

/// Removes the groups of keepers that were killed. One that has processes stays.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let keeper = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split_once('-'));
        let Some((pid, since)) = keeper else { continue };
        let (Ok(pid), Ok(since)) = (pid.parse(), since.parse::<u64>()) else { continue };
        if begun(pid) != Some(since) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where the groups of this process are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Places {
    unified: Option<Place>,
    memory: Option<Place>,
    pids: Option<Place>,
}

/// A hierarchy of groups, and the directory of this process's own group in it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    mount: PathBuf,
    own: PathBuf,
}

impl Places {
    fn of(mounts: &str, own: &str) -> Self {
        let path_in = |controller: &str| {
            own.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                let (controllers, path) = (fields.next()?, fields.next()?);
                controllers.split(',').any(|known| known == controller).then_some(path)
            })
        };
        let mut places = Places::default();
        for line in mounts.lines() {
            let Some((before, after)) = line.split_once(" - ") else { continue };
            let before: Vec<&str> = before.split(' ').collect();
            let after: Vec<&str> = after.split(' ').collect();
            let ([_, _, _, root, mount, ..], [kind, _, options, ..]) = (&before[..], &after[..])
            else {
                continue;
            };
            let place = |controller: &str| {
                let path = Path::new(path_in(controller)?);
                let below = path.strip_prefix(root).ok()?;
                // With a blank in its name it is written in another way.
                let mount = Path::new(mount).exists().then(|| PathBuf::from(mount))?;
                Some(Place { own: mount.join(below), mount })
            };
            let has = |controller| options.split(',').any(|option| option == controller);
            match *kind {
                "cgroup2" if places.unified.is_none() => places.unified = place(""),
                "cgroup" if has("memory") => places.memory = place("memory"),
                "cgroup" if has("pids") => places.pids = place("pids"),
                _ => {}
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_as_the_kernel_tells_of_them() {
        let place = |mount: &str, own: &str| Some(Place { mount: mount.into(), own: own.into() });
        // The mounts of these lines have to exist.
        let mounts = "30 23 0:26 / /sys rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
                      31 23 0:27 / /proc rw - cgroup cgroup rw,memory\n\
                      32 23 0:28 /outer /dev rw - cgroup cgroup rw,pids\n";
        let own = "4:memory:/a\n3:cpu,pids:/outer/b\n0::/user.slice/app.scope\n";
        let places = Places::of(mounts, own);
        assert_eq!(places.unified, place("/sys", "/sys/user.slice/app.scope"));
        assert_eq!(places.memory, place("/proc", "/proc/a"));
        assert_eq!(places.pids, place("/dev", "/dev/b"));
        // A group outside of what is mounted is not guessed at.
        let other = Places::of(mounts, "3:pids:/elsewhere\n");
        assert_eq!(other, Places::default());
    }

    #[test]
    fn names_tell_whether_their_keeper_runs() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join(own_name().unwrap());
        let (gone, other) = (dir.path().join("zonekeep-1-0"), dir.path().join("zonekeep-x"));
        for path in [&own, &gone, &other] {
            fs::create_dir(path).unwrap();
        }
        remove_stale(dir.path());
        assert!(own.exists() && other.exists() && !gone.exists());
    }

    #[test]
    fn ended_processes_are_counted_in_both_versions() {
        let dir = tempfile::tempdir().unwrap();
        let texts = [
            ("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n", 2),
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", 7),
            ("", 0),
        ];
        for (text, count) in texts {
            let path = dir.path().join("events");
            fs::write(&path, text).unwrap();
            assert_eq!(ended(fs::File::open(path).unwrap().as_fd()), count, "{text}");
        }
    }
}
