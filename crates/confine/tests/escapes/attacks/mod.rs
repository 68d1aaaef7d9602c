//! The attacks, by what they are aimed at: one file for each.

use crate::attack::Attack;

mod files;
mod ipc;
mod kernel;
mod leaks;
mod mounts;
mod network;
mod planted;
mod processes;
mod setid;
mod stdio;
mod system;
mod terminal;
mod work;

const GROUPS: &[&[&Attack]] = &[
    files::ALL,
    system::ALL,
    setid::ALL,
    mounts::ALL,
    processes::ALL,
    terminal::ALL,
    ipc::ALL,
    network::ALL,
    kernel::ALL,
    planted::ALL,
    leaks::ALL,
    stdio::ALL,
    work::ALL,
];

/// Returns the attack of that name.
pub(crate) fn named(name: &str) -> Option<&'static Attack> {
    every().find(|attack| attack.name == name)
}

/// Returns all attacks that are claimed here.
pub(crate) fn all() -> impl Iterator<Item = &'static Attack> {
    let has_groups = std::env::var_os("ZONEKEEP_CGROUP").is_some_and(|word| word == "on");
    every().filter(move |attack| has_groups || !attack.needs_group)
}

fn every() -> impl Iterator<Item = &'static Attack> {
    GROUPS.iter().flat_map(|group| group.iter().copied())
}
