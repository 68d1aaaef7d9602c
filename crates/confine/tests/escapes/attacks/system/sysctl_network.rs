//! Opens settings of the network for writing; nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysctl_network",
    what: "opens network settings for writing",
    attempt: |_| {
        Outcome::any(
            [
                "net/ipv4/ip_forward",
                "net/ipv4/ip_unprivileged_port_start",
                "net/ipv4/ping_group_range",
                "net/ipv4/tcp_fastopen",
                "net/core/somaxconn",
                "net/ipv6/conf/all/forwarding",
                "net/unix/max_dgram_qlen",
            ]
            .map(|name| {
                Outcome::of(name, sys::open_for_writing(Path::new("/proc/sys").join(name)))
            }),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
