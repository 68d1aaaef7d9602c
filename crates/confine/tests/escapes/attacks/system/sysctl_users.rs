//! Opens the limits of namespaces for writing: inside they may be at zero, and
//! have to stay there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysctl_users",
    what: "opens the limits of namespaces for writing",
    attempt: |_| {
        Outcome::any(
            [
                "max_user_namespaces",
                "max_mnt_namespaces",
                "max_net_namespaces",
                "max_pid_namespaces",
            ]
            .map(|name| {
                Outcome::of(name, sys::open_for_writing(Path::new("/proc/sys/user").join(name)))
            }),
        )
    },
    control: Control::Depends("only root with all capabilities may"),
    ..BASE
};
