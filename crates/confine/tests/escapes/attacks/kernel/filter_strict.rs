//! Changes to the strict mode and to none at all: neither replaces the filter.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/filter_strict",
    what: "replaces the filter",
    attempt: |_| {
        Outcome::of(
            "made a namespace",
            sys::in_child(|| {
                for mode in [0, 1] {
                    // Refused where there is a filter; strict mode would end a process
                    // that had none, so that is only asked for with one.
                    if mode == 0 || sys::status("Seccomp").as_deref() == Some("2") {
                        let _ = call(libc::SYS_prctl, &[libc::PR_SET_SECCOMP as usize, mode, 0]);
                    }
                }
                call(libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]).map(|_| ())
            }),
        )
    },
    control: Control::Namespaces,
    ..BASE
};
