//! Attacks on processes outside, and attempts to outlive the command.

use std::io;

use crate::attack::Attack;

mod advise;
mod after_death;
mod compare;
mod compare_reached;
mod daemon;
mod daemon_holds_output;
mod daemon_many;
mod daemon_running_away;
mod daemon_stopped;
mod exists;
mod fork_bomb;
mod kill;
mod kill_by_pipe;
mod kill_descriptor;
mod kill_group;
mod kill_queue;
mod kill_thread;
mod limits;
mod list;
mod memory_churn;
mod memory_file;
mod memory_hog;
mod memory_hogs;
mod memory_leaderless;
mod memory_shared;
mod memory_shared_hidden;
mod memory_sockets;
mod out_of_memory;
mod out_of_memory_own;
mod read_memory;
mod read_memory_file;
mod renice;
mod robust_list;
mod schedule;
mod signal_caller;
mod stop;
mod take_descriptor;
mod thread_bomb;
mod trace;
mod trace_reached;
mod write_memory;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Processes", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &advise::ATTACK,
    &after_death::ATTACK,
    &compare::ATTACK,
    &compare_reached::ATTACK,
    &daemon::ATTACK,
    &daemon_holds_output::ATTACK,
    &daemon_many::ATTACK,
    &daemon_running_away::ATTACK,
    &daemon_stopped::ATTACK,
    &exists::ATTACK,
    &fork_bomb::ATTACK,
    &kill::ATTACK,
    &kill_by_pipe::ATTACK,
    &kill_descriptor::ATTACK,
    &kill_group::ATTACK,
    &kill_queue::ATTACK,
    &kill_thread::ATTACK,
    &limits::ATTACK,
    &list::ATTACK,
    &memory_churn::ATTACK,
    &memory_file::ATTACK,
    &memory_hog::ATTACK,
    &memory_hogs::ATTACK,
    &memory_leaderless::ATTACK,
    &memory_shared::ATTACK,
    &memory_shared_hidden::ATTACK,
    &memory_sockets::ATTACK,
    &out_of_memory::ATTACK,
    &out_of_memory_own::ATTACK,
    &read_memory::ATTACK,
    &read_memory_file::ATTACK,
    &renice::ATTACK,
    &robust_list::ATTACK,
    &schedule::ATTACK,
    &signal_caller::ATTACK,
    &stop::ATTACK,
    &take_descriptor::ATTACK,
    &thread_bomb::ATTACK,
    &trace::ATTACK,
    &trace_reached::ATTACK,
    &write_memory::ATTACK,
];

/// How long an attack holds memory that the limit does not allow.
const HOLD: std::time::Duration = std::time::Duration::from_secs(4);

/// Maps this many bytes that other processes may have too, and writes to them.
pub(super) fn touch_shared(bytes: u64) -> io::Result<usize> {
    let size = usize::try_from(bytes).map_err(io::Error::other)?;
    let (rw, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    let args = [0, size, rw as usize, shared as usize, usize::MAX, 0];
    let address = crate::sys::call(libc::SYS_mmap, &args)?;
    for page in (0..size).step_by(4096) {
        // SAFETY: the kernel just mapped these bytes for nobody else.
        unsafe { std::ptr::write_volatile((address + page) as *mut u8, 1) };
    }
    Ok(address)
}

/// Gets and writes to this many bytes of memory.
fn touch(bytes: u64) -> io::Result<()> {
    let mut memory: Vec<u8> = Vec::new();
    let size = usize::try_from(bytes).map_err(io::Error::other)?;
    memory.try_reserve_exact(size).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
    // In pieces: byte by byte would take too long without optimisation.
    let piece = [1; 1 << 16];
    while memory.len() + piece.len() <= size {
        memory.extend_from_slice(&piece);
    }
    // Kept until the process ends.
    std::mem::forget(std::hint::black_box(memory));
    Ok(())
}
