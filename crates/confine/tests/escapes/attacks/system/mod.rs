//! Attacks on the host through what the kernel shows in /proc, /sys and /dev.

use crate::attack::Attack;

mod binfmt;
mod cgroup_agent;
mod cgroup_mount;
mod core_pattern;
mod devices;
mod firmware;
mod inotify;
mod kernel_log;
mod kernel_memory;
mod kernel_symbols;
mod keys;
mod launcher_memory;
mod launcher_program;
mod launcher_trace;
mod make_device;
mod sysctl_kernel;
mod sysctl_memory;
mod sysctl_network;
mod sysctl_users;
mod sysfs_power;
mod sysfs_write;
mod sysrq;
mod timers;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Root", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &binfmt::ATTACK,
    &cgroup_agent::ATTACK,
    &cgroup_mount::ATTACK,
    &core_pattern::ATTACK,
    &devices::ATTACK,
    &firmware::ATTACK,
    &inotify::ATTACK,
    &kernel_log::ATTACK,
    &kernel_memory::ATTACK,
    &kernel_symbols::ATTACK,
    &keys::ATTACK,
    &launcher_memory::ATTACK,
    &launcher_program::ATTACK,
    &launcher_trace::ATTACK,
    &make_device::ATTACK,
    &sysctl_kernel::ATTACK,
    &sysctl_memory::ATTACK,
    &sysctl_network::ATTACK,
    &sysctl_users::ATTACK,
    &sysfs_power::ATTACK,
    &sysfs_write::ATTACK,
    &sysrq::ATTACK,
    &timers::ATTACK,
];
