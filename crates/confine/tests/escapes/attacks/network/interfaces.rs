//! Looks for interfaces of the host.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/interfaces",
    what: "lists the host's interfaces",
    attempt: |_| {
        let list = fs::read_to_string("/proc/net/dev").unwrap_or_default();
        let other = |line: &str| line.split_once(':').is_some_and(|(name, _)| name.trim() != "lo");
        let in_tree = fs::read_dir("/sys/class/net")
            .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() != "lo"));
        Outcome::when("saw an interface of the host", in_tree || list.lines().any(other))
    },
    control: Control::Depends("the host has no interface but loopback"),
    held_by: OWN_TREE,
    ..BASE
};
