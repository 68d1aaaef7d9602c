//! Asks for a new namespace of each kind, one at a time.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/unshare_each",
    what: "makes namespaces by unshare",
    attempt: |t| {
        Outcome::any(KINDS.map(|kind| {
            let both = if t.confined { kind } else { kind | libc::CLONE_NEWUSER as usize };
            Outcome::of(
                "made a namespace",
                sys::in_child(|| call(libc::SYS_unshare, &[both]).map(|_| ())),
            )
        }))
    },
    ..BASE
};

/// Mounts, names, messages, processes, network, groups, time.
const KINDS: [usize; 7] =
    [0x2_0000, 0x400_0000, 0x800_0000, 0x2000_0000, 0x4000_0000, 0x200_0000, 0x80];
