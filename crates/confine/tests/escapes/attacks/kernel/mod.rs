//! System calls that no command needs.

use std::io;

use crate::attack::Attack;
use crate::sys::{self, call};

mod accounting;
mod ambient;
mod bpf;
mod clock;
mod clock_adjust;
mod core_dump;
#[cfg(target_arch = "x86_64")]
mod entry_32_bit;
#[cfg(target_arch = "x86_64")]
mod entry_32_bit_namespace;
#[cfg(target_arch = "x86_64")]
mod entry_x32;
mod fanotify;
mod filter_answer;
mod filter_loosen;
mod filter_present;
mod filter_strict;
mod hang_up;
mod host_name;
mod io_uring;
mod io_uring_rest;
mod kexec;
mod landlock_nested;
mod log;
mod memory_layout;
mod memory_marks;
mod modules;
#[cfg(target_arch = "x86_64")]
mod old_calls;
mod pages;
mod perf;
mod personality;
#[cfg(target_arch = "x86_64")]
mod ports;
mod privileges_back;
mod quota;
mod raise_limits;
mod realtime;
mod reboot;
mod security_attributes;
#[cfg(target_arch = "x86_64")]
mod segments;
mod speculation;
mod swap;
mod userfaultfd;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Kernel surface", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &accounting::ATTACK,
    &ambient::ATTACK,
    &bpf::ATTACK,
    &clock::ATTACK,
    &clock_adjust::ATTACK,
    &core_dump::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &entry_32_bit::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &entry_32_bit_namespace::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &entry_x32::ATTACK,
    &fanotify::ATTACK,
    &filter_answer::ATTACK,
    &filter_loosen::ATTACK,
    &filter_present::ATTACK,
    &filter_strict::ATTACK,
    &hang_up::ATTACK,
    &host_name::ATTACK,
    &io_uring::ATTACK,
    &io_uring_rest::ATTACK,
    &kexec::ATTACK,
    &landlock_nested::ATTACK,
    &log::ATTACK,
    &memory_layout::ATTACK,
    &memory_marks::ATTACK,
    &modules::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &old_calls::ATTACK,
    &pages::ATTACK,
    &perf::ATTACK,
    &personality::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &ports::ATTACK,
    &privileges_back::ATTACK,
    &quota::ATTACK,
    &raise_limits::ATTACK,
    &realtime::ATTACK,
    &reboot::ATTACK,
    &security_attributes::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &segments::ATTACK,
    &speculation::ATTACK,
    &swap::ATTACK,
    &userfaultfd::ATTACK,
];

/// Adds a filter that answers every call with `action`.
fn install(operation: usize, flags: usize, action: u32) -> io::Result<usize> {
    let program = [instruction(0x06, 0, 0, action)];
    add(operation, flags, &program)
}

/// Adds a filter that answers one call with `action` and allows the others.
fn install_for(operation: usize, flags: usize, number: u32, action: u32) -> io::Result<usize> {
    let program = [
        instruction(0x20, 0, 0, 0),
        instruction(0x15, 0, 1, number),
        instruction(0x06, 0, 0, action),
        instruction(0x06, 0, 0, 0x7fff_0000),
    ];
    add(operation, flags, &program)
}

fn instruction(code: u64, yes: u64, no: u64, value: u32) -> u64 {
    code | yes << 16 | no << 24 | u64::from(value) << 32
}

fn add(operation: usize, flags: usize, program: &[u64]) -> io::Result<usize> {
    call(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0])?;
    let program = [program.len(), sys::at(program)];
    call(libc::SYS_seccomp, &[operation, flags, sys::at(&program)])
}
