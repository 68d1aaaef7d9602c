//! Joins the user namespace that the sandbox was made in, through every process
//! that can be seen and its threads: whoever is in it could undo everything.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/joined_user_namespace",
    what: "joins the sandbox's own user namespace",
    attempt: |t| {
        let own = fs::read_link("/proc/self/ns/user").ok();
        Outcome::any(t.others().into_iter().map(|pid| {
            let path = format!("/proc/{pid}/ns/user");
            if fs::read_link(&path).ok() == own {
                return Outcome::Held("it is the same".into());
            }
            Outcome::of(
                "joined it",
                fs::File::open(path).and_then(|file| {
                    call(
                        libc::SYS_setns,
                        &[file.as_raw_fd() as usize, libc::CLONE_NEWUSER as usize],
                    )
                }),
            )
        }))
    },
    control: Control::None("without a sandbox there is only one"),
    ..BASE
};
