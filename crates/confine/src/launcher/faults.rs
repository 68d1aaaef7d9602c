//! Faults that tests inject into launcher processes. A release build injects none.
//!
//! The first argument of a launcher names a fault: `fail:init:7` fails the seventh
//! step of the first process, `panic:` and `abort:` end it there in another way, and
//! `without:mount_setattr` has it do without a system call as on an older kernel.
//! The caller that starts the launcher chooses the argument; nothing in a plan, an
//! order or an environment can.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::Trouble;

/// The error number of forced failures; no system call returns it.
const FORCED: i32 = libc::EDOTDOT;

/// A kind of launcher process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Process {
    Keeper = 1,
    Init = 2,
    Supervisor = 3,
    /// A command before its program runs.
    Command = 4,
}

static PROCESS: AtomicU8 = AtomicU8::new(0);
/// The process in which the fault lies, and its kind; zero is none.
static TARGET: AtomicU8 = AtomicU8::new(0);
static KIND: AtomicU8 = AtomicU8::new(0);
/// How many steps the process may still take.
static LEFT: AtomicU32 = AtomicU32::new(0);
/// Which system calls are treated as missing, as bits of [`Call`].
static MISSING: AtomicU8 = AtomicU8::new(0);

/// A system call, or a flag of one, that older kernels do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Call {
    MountSetattr = 1,
    CloseRangeOnExec = 2,
    Landlock = 4,
    Idmap = 8,
}

/// Arms the fault that an argument names, if it names one.
pub(super) fn arm(argument: &[u8]) {
    if !cfg!(debug_assertions) {
        return;
    }
    let Ok(argument) = std::str::from_utf8(argument) else { return };
    if let Some(names) = argument.strip_prefix("without:") {
        for name in names.split(',') {
            let call = match name {
                "mount_setattr" => Call::MountSetattr,
                "close_range_on_exec" => Call::CloseRangeOnExec,
                "landlock" => Call::Landlock,
                "idmap" => Call::Idmap,
                _ => continue,
            };
            MISSING.fetch_or(call as u8, Ordering::Relaxed);
        }
        return;
    }
    let mut words = argument.split(':');
    let kind = match words.next() {
        Some("fail") => 1,
        Some("panic") => 2,
        Some("abort") => 3,
        _ => return,
    };
    let target = match words.next() {
        Some("keeper") => Process::Keeper,
        Some("init") => Process::Init,
        Some("supervisor") => Process::Supervisor,
        Some("command") => Process::Command,
        _ => return,
    };
    let Some(number) = words.next().and_then(|number| number.parse().ok()) else { return };
    TARGET.store(target as u8, Ordering::Relaxed);
    KIND.store(kind, Ordering::Relaxed);
    LEFT.store(number, Ordering::Relaxed);
}

/// Notes which kind of process this is now.
pub(crate) fn enter(process: Process) {
    PROCESS.store(process as u8, Ordering::Relaxed);
}

/// Returns whether a test has a system call treated as missing.
pub(crate) fn lacks(call: Call) -> bool {
    cfg!(debug_assertions) && MISSING.load(Ordering::Relaxed) & call as u8 != 0
}

/// Counts a step that succeeded; returns the error number if it is to fail.
pub(crate) fn step() -> Option<i32> {
    let target = TARGET.load(Ordering::Relaxed);
    if !cfg!(debug_assertions) || target == 0 || target != PROCESS.load(Ordering::Relaxed) {
        return None;
    }
    if LEFT.fetch_sub(1, Ordering::Relaxed) != 1 {
        return None;
    }
    match KIND.load(Ordering::Relaxed) {
        1 => Some(FORCED),
        2 => panic!("forced by a test"),
        _ => std::process::abort(),
    }
}

/// Does the same for a step that has a name.
pub(super) fn at(step: impl FnOnce() -> String) -> Option<Trouble> {
    self::step().map(|errno| Trouble::new(step(), io::Error::from_raw_os_error(errno)))
}
