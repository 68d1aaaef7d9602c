//! Makes a process in a new namespace of each kind, by `clone`.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/clone_each",
    what: "makes namespaces by clone",
    attempt: |_| Outcome::any(KINDS.map(|kind| Outcome::of("made a namespace", clone(kind)))),
    ..BASE
};

/// Users alone, then users with mounts, names, messages, processes, network,
/// groups.
const KINDS: [usize; 7] =
    [0x1000_0000, 0x1002_0000, 0x1400_0000, 0x1800_0000, 0x3000_0000, 0x5000_0000, 0x1200_0000];

fn clone(flags: usize) -> io::Result<()> {
    let pid = call(libc::SYS_clone, &[flags | libc::SIGCHLD as usize, 0, 0, 0, 0])?;
    if pid == 0 {
        // SAFETY: ends the new process and nothing else.
        unsafe { libc::_exit(0) }
    }
    sys::wait(pid as i32);
    Ok(())
}
