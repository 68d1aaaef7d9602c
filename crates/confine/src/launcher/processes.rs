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
    /// Memory of its own, also what is swapped out.
    memory: u64,
    /// Memory that others may have too.
    shared: u64,
}

/// What the processes below one come to.
#[derive(Debug, Default)]
pub(crate) struct Below {
    pub(crate) pids: Vec<Pid>,
    pub(crate) threads: u64,
    /// The most memory that they can have: what several of them have in common is in
    /// it more than once.
    pub(crate) bound: u64,
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
    for pid in numbers("/proc") {
        if let Some(process) = look(pid) {
            seen.insert(pid, process);
        }
    }
    let ancestor = ancestor.as_raw_nonzero().get();
    let pids: Vec<i32> = seen.keys().copied().collect();
    let mut below = Below::default();
    for pid in pids {
        if comes_from(pid, ancestor, &mut seen)
            && let Some(process) = seen.get(&pid)
        {
            below.pids.extend(Pid::from_raw(pid));
            below.threads += process.threads;
            below.bound += process.memory + process.shared;
        }
    }
    below
}

/// Returns whether a process comes from `ancestor`. One whose parent has ended since it
/// was looked at has another parent by now, and is looked at again.
fn comes_from(mut pid: i32, ancestor: i32, seen: &mut HashMap<i32, Seen>) -> bool {
    // Bounded: a process may change parents while this looks.
    for _ in 0..seen.len() + 8 {
        let Some(&process) = seen.get(&pid) else { return false };
        if process.parent == ancestor {
            return true;
        }
        if process.parent <= 1 {
            return false;
        }
        if !seen.contains_key(&process.parent) {
            let (number, found) = match look(process.parent) {
                Some(parent) => (process.parent, parent),
                None => match look(pid) {
                    Some(again) if again.parent != process.parent => (pid, again),
                    _ => return false,
                },
            };
            seen.insert(number, found);
            continue;
        }
        pid = process.parent;
    }
    false
}

/// Returns how much memory processes have, where what they have in common counts once.
/// `pieces` is System V shared memory, of which some may be mapped by none of them.
pub(crate) fn memory(pids: &[Pid], pieces: u64) -> u64 {
    let mut buffer = Vec::new();
    let mut total = pieces;
    for pid in pids {
        let pid = pid.as_raw_nonzero().get();
        let Some(base) = live(pid) else { continue };
        // The kernel divides each page by how many map it.
        let own = read_whole(&format!("{base}/smaps_rollup"), &mut buffer).and_then(|rollup| {
            let size = |name| size(rollup, name);
            // KERNEL(5.3): by kind.
            Some(size("Pss_Anon:")? + size("Pss_Shmem:")? + size("SwapPss:").unwrap_or(0))
        });
        // A process that does not let others look into it is counted in full.
        let own = own.or_else(|| look(pid).map(|process| process.memory + process.shared));
        total += own.unwrap_or(0);
        if pieces > 0
            && let Some(maps) = read_whole(&format!("{base}/smaps"), &mut buffer)
        {
            total = total.saturating_sub(mapped_pieces(maps));
        }
    }
    total
}

/// Returns how much of a process's memory is its share of System V shared memory.
fn mapped_pieces(smaps: &str) -> u64 {
    let mut total = 0;
    let mut is_piece = false;
    for line in smaps.lines() {
        match line.strip_prefix("Pss:") {
            Some(_) if is_piece => total += size(line, "Pss:").unwrap_or(0),
            Some(_) => {}
            // The line of a mapping begins with its address, the others with a name.
            None if line.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_lowercase()) => {
                is_piece = line.split_whitespace().nth(5).is_some_and(|at| at.starts_with("/SYSV"));
            }
            None => {}
        }
    }
    total
}

fn numbers(dir: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn look(pid: i32) -> Option<Seen> {
    let mut buffer = [0; 4096];
    let stat = read(&format!("/proc/{pid}/stat"), &mut buffer)?;
    // The name is in parentheses and may hold anything.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let (parent, threads) = (number(1)? as i32, number(17)?);
    let sizes = |base: &str| {
        let mut buffer = [0; 4096];
        let status = read(&format!("{base}/status"), &mut buffer)?;
        let size = |name| size(&status, name);
        Some((size("RssAnon:")? + size("VmSwap:").unwrap_or(0), size("RssShmem:").unwrap_or(0)))
    };
    let own = sizes(&format!("/proc/{pid}"));
    // A first thread that has ended has no memory, and the others have it.
    let own = own.or_else(|| sizes(&live(pid).filter(|_| threads > 1)?));
    let (memory, shared) = own.unwrap_or((0, 0));
    Some(Seen { parent, threads, memory, shared })
}

/// Returns the directory of `/proc` that tells of a process's memory: that of a thread
/// which has not ended.
fn live(pid: i32) -> Option<String> {
    let has_memory = |base: &String| {
        let mut buffer = [0; 4096];
        read(&format!("{base}/status"), &mut buffer).is_some_and(|text| text.contains("RssAnon:"))
    };
    let own = format!("/proc/{pid}");
    if has_memory(&own) {
        return Some(own);
    }
    let tasks = format!("/proc/{pid}/task");
    numbers(&tasks).map(|task| format!("{tasks}/{task}")).find(has_memory)
}

/// Returns a size that `/proc` gives in kilobytes.
fn size(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(number * 1024)
}

/// Reads a file of `/proc` that may be long.
fn read_whole<'b>(path: &str, buffer: &'b mut Vec<u8>) -> Option<&'b str> {
    buffer.clear();
    fs::File::open(path).ok()?.read_to_end(buffer).ok()?;
    std::str::from_utf8(buffer).ok()
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

    #[test]
    fn shares_of_pieces_are_added_up() {
        let smaps = "\
7f00-7f10 rw-s 00000000 00:01 5 /SYSV00000000 (deleted)
Size:               64 kB
Pss:                12 kB
Pss_Dirty:          12 kB
7f20-7f30 rw-s 00000000 00:01 6 /dev/zero (deleted)
Pss:               100 kB
VmFlags: rd wr sh
a000-b000 rw-s 00000000 00:01 7 /SYSV00000001 (deleted)
Pss:                 4 kB
";
        assert_eq!(mapped_pieces(smaps), 16 * 1024);
    }

    #[test]
    fn a_process_is_looked_at() {
        let own = rustix::process::getpid();
        let seen = look(own.as_raw_nonzero().get()).unwrap();
        assert!(seen.threads >= 1 && seen.memory > 0);
        let exact = memory(&[own], 0);
        assert!(exact > 0 && exact <= 2 * (seen.memory + seen.shared) + (64 << 20), "{exact}");
    }
}
