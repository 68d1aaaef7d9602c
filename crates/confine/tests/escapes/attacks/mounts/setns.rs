//! Joins the namespaces of every other process, by file and by descriptor of the
//! process.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/setns",
    what: "joins other processes' namespaces",
    attempt: |t| {
        let joined = t.others().into_iter().any(|pid| {
            let by_file = ["user", "mnt", "uts", "ipc", "net", "pid"].iter().any(|kind| {
                fs::File::open(format!("/proc/{pid}/ns/{kind}"))
                    .and_then(|file| call(libc::SYS_setns, &[file.as_raw_fd() as usize, 0]))
                    .is_ok()
            });
            let by_process =
                call(libc::SYS_pidfd_open, &[pid as usize, 0]).map(sys::owned).and_then(|fd| {
                    call(libc::SYS_setns, &[fd.as_raw_fd() as usize, libc::CLONE_NEWUTS as usize])
                });
            by_file || by_process.is_ok()
        });
        Outcome::when("joined a namespace", joined)
    },
    control: Control::NeedsRoot("only root joins another process's namespaces"),
    ..BASE
};
