//! Adds a filter that allows everything, and for all threads: a filter only ever
//! takes away.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/filter_loosen",
    what: "adds a filter that allows everything",
    attempt: |_| {
        Outcome::of(
            "made a namespace",
            sys::in_child(|| {
                const ADD: usize = 1;
                const ALL_THREADS: usize = 1;
                super::install(ADD, ALL_THREADS, 0x7fff_0000)?;
                call(libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]).map(|_| ())
            }),
        )
    },
    control: Control::Namespaces,
    ..BASE
};
