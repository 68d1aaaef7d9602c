//! System calls that the filter must refuse, tried with arguments that make
//! them harmless where it does not.

use std::collections::BTreeMap;

use super::attempts::Outcome;
use crate::plan::Calls;
use crate::seccomp::{self, Arch, Effect};
use crate::sys::{self, Side};

/// The kernel's numbers for architectures.
fn audit(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

/// Tries every line of the table that such arguments meet; returns what came of
/// it, for each reason that the table gives.
pub(super) fn by_reason(calls: Calls) -> BTreeMap<&'static str, Outcome> {
    let mut reasons = BTreeMap::<_, (usize, Vec<String>)>::new();
    let Some(arch) = Arch::native() else { return BTreeMap::new() };
    for line in seccomp::lines(calls) {
        let Some(number) = line.number(arch) else { continue };
        let Some(effect) = seccomp::decide(calls, arch, audit(arch), number, &[u64::MAX; 6]) else {
            continue;
        };
        let wanted = match effect {
            Effect::Deny => libc::EPERM,
            Effect::Absent => libc::ENOSYS,
        };
        let Some(errno) = sys::ask_for_nonsense(line) else { continue };
        let (tried, open) = reasons.entry(line.why).or_default();
        *tried += 1;
        if errno != wanted {
            open.push(format!("{}: {}", line.name, describe(errno)));
        }
    }
    let outcome = |(tried, open): (usize, Vec<String>)| match open.is_empty() {
        true => Outcome::Held(format!("{tried} refused")),
        false => Outcome::Open(open.join(", ")),
    };
    reasons.into_iter().map(|(why, found)| (why, outcome(found))).collect()
}

fn describe(errno: i32) -> String {
    match errno {
        0 => "worked".to_owned(),
        errno => std::io::Error::from_raw_os_error(errno).to_string(),
    }
}

/// Makes a user namespace, in a process that ends at once.
pub(super) fn user_namespace() -> Outcome {
    match sys::clone(libc::CLONE_NEWUSER) {
        Ok(Side::Child) => sys::exit(0),
        Ok(Side::Parent(pid)) => {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            Outcome::Open("a user namespace was made".to_owned())
        }
        Err(error) => Outcome::Held(error.to_string()),
    }
}

/// Enters the kernel in other ways than the usual one.
#[cfg(target_arch = "x86_64")]
pub(super) fn other_entries() -> Outcome {
    let x32 = sys::ask_by_x32();
    if !matches!(x32, libc::EPERM | libc::ENOSYS) {
        return Outcome::Open(format!("x32: {}", describe(x32)));
    }
    // A kernel without the entry ends the process that uses it.
    let pid = match sys::fork() {
        Ok(Side::Child) => sys::exit(sys::ask_by_interrupt().clamp(0, 255)),
        Ok(Side::Parent(pid)) => pid,
        Err(error) => return Outcome::Untried(error.to_string()),
    };
    let ended = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    match ended {
        Ok(Some((_, status))) => match status.exit_status() {
            None => Outcome::Held("the kernel has no 32-bit entry".to_owned()),
            Some(libc::EPERM | libc::ENOSYS) => Outcome::Held("refused".to_owned()),
            Some(errno) => Outcome::Open(format!("int 0x80: {}", describe(errno))),
        },
        _ => Outcome::Untried("the child cannot be waited for".to_owned()),
    }
}

/// Elsewhere there is one entry.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn other_entries() -> Outcome {
    Outcome::Untried("this processor has one entry".to_owned())
}
