//! Asks a namespace for its parent and its owner, to join those.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/namespace_parent",
    what: "asks a namespace for its parent",
    attempt: |_| {
        const GET_PARENT: usize = 0xb702;
        const GET_USER: usize = 0xb701;
        let Ok(file) = fs::File::open("/proc/self/ns/pid") else {
            return Outcome::Held("no /proc".into());
        };
        Outcome::any([GET_PARENT, GET_USER].map(|request| {
            Outcome::of(
                "got the namespace above",
                sys::ioctl(&file, request, 0).and_then(|fd| {
                    let fd = sys::owned(fd);
                    call(libc::SYS_setns, &[std::os::fd::AsRawFd::as_raw_fd(&fd) as usize, 0])
                }),
            )
        }))
    },
    control: Control::None("the host's first namespaces have none above"),
    ..BASE
};
