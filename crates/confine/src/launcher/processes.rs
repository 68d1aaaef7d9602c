//! The processes that a command has started, however deep.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;

use rustix::process::{Pid, Signal};

/// A process as `/proc` shows it.
#[derive(Debug, Clone, Copy)]
struct Seen {
    parent: i32,
    threads: u64,
    memory: u64,
    shared: u64,
}

/// What the processes below one come to.
#[derive(Debug, Default)]
pub(crate) struct Below {
    pub(crate) pids: Vec<Pid>,
    pub(crate) threads: u64,
    /// Memory of their own.
    pub(crate) memory: u64,
    /// Memory that they have in common, as far as one of them has it.
    pub(crate) shared: u64,
}

/// A piece of System V shared memory, which no process need have.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    id: i32,
    /// Who made it.
    maker: i32,
    /// How many have it.
    attached: u64,
}

fn piece(line: &str) -> Option<Piece> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    let attached = fields.get(6)?.parse().ok()?;
    Some(Piece { id: number(1)?, maker: number(4)?, attached })
}

/// Removes the shared memory that nobody has any more and whose maker has ended.
pub(crate) fn remove_pieces() {
    if crate::sys::shared_memory().0 == 0 {
        return;
    }
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    for Piece { id, maker, attached } in text.lines().skip(1).filter_map(piece) {
        if attached == 0 && look(maker).is_none() {
            crate::sys::remove_shared_memory(id);
        }
    }
}

/// Looks at all processes that come from `ancestor`.
pub(crate) fn below(ancestor: Pid) -> Below {
    let mut seen = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some(process) = look(pid) {
            seen.insert(pid, process);
        }
    }
    let ancestor = ancestor.as_raw_nonzero().get();
    let comes_from = |mut pid: i32| {
        // Bounded: a process may change parents while this looks.
        for _ in 0..seen.len() {
            match seen.get(&pid) {
                Some(process) if process.parent == ancestor => return true,
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    let mut below = Below::default();
    for (&pid, process) in seen.iter().filter(|(pid, _)| comes_from(**pid)) {
        below.pids.extend(Pid::from_raw(pid));
        below.threads += process.threads;
        below.memory += process.memory;
        // Once: most of it is the same memory in each of them.
        below.shared = below.shared.max(process.shared);
    }
    below
}

fn look(pid: i32) -> Option<Seen> {
    let mut buffer = [0; 4096];
    let stat = read(&format!("/proc/{pid}/stat"), &mut buffer)?;
    // The name is in parentheses and may hold anything.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let (parent, threads) = (number(1)? as i32, number(17)?);
    let status = read(&format!("/proc/{pid}/status"), &mut buffer)?;
    let size = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    Some(Seen { parent, threads, memory: size("RssAnon:"), shared: size("RssShmem:") })
}

/// Reads a file of `/proc` in one go: each of these is made anew for every read.
fn read<'b>(path: &str, buffer: &'b mut [u8; 4096]) -> Option<Cow<'b, str>> {
    let length = fs::File::open(path).ok()?.read(buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]))
}

/// Returns how many threads this user has on the machine.
pub(crate) fn of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::getuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == own))
        .filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?))
        .map(|process| process.threads)
        .sum()
}

/// Ends all processes that come from `ancestor`, as well as that can be done by
/// looking: all are stopped before any is killed, so that none can start more.
pub(crate) fn kill_below(ancestor: Pid) {
    if ancestor == rustix::process::getpid() && kill_children() {
        return;
    }
    let mut known = 0;
    for _ in 0..100 {
        let now = below(ancestor).pids;
        for pid in &now {
            let _ = rustix::process::kill_process(*pid, Signal::STOP);
        }
        if now.len() == known {
            break;
        }
        known = now.len();
    }
    for pid in below(ancestor).pids {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Kills the children of this process, which adopts what they leave behind, until no
/// more appear; returns false where the kernel does not list them.
///
/// A process that forks and ends again and again is always gone when a walk through
/// `/proc` gets to it. This list is read and acted on faster than it forks.
fn kill_children() -> bool {
    /// How often no new child is seen before there are no more for now. Callers look
    /// again while there are children.
    const CALM: u32 = 4;
    let (mut killed, mut calm) = (HashSet::new(), 0);
    // Bounded: whoever starts processes faster than that is ended with the sandbox.
    for _ in 0..20_000 {
        let Ok(children) = fs::read_to_string("/proc/thread-self/children") else { return false };
        let mut new = false;
        for pid in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            if let Some(pid) = Pid::from_raw(pid)
                && killed.insert(pid)
            {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                new = true;
            }
        }
        calm = if new { 0 } else { calm + 1 };
        if calm == CALM {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_read_as_the_kernel_writes_it() {
        let line = "         0          3   600              20971520    17     18      1  1000  \
                    1000  1000  1000 1763260000 1763260000 1763260000              20971520       4096";
        let want = Piece { id: 3, maker: 17, attached: 1 };
        assert_eq!(piece(line), Some(want));
        assert_eq!(piece(""), None);
        assert_eq!(piece("0 3 600 20971520 17"), None);
    }
}
