//! Raises capabilities that survive starting a program.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/ambient",
    what: "raises ambient capabilities",
    attempt: |_| {
        Outcome::any((0..41).map(|capability| {
            Outcome::of(
                "raised a capability",
                sys::in_child(|| {
                    // Inheritable first: version, self; then effective, permitted, inheritable.
                    let (mut header, mut sets) = ([0x2008_0522_u32, 0], [0_u32; 6]);
                    call(libc::SYS_capget, &[sys::at_mut(&mut header), sys::at_mut(&mut sets)])?;
                    (sets[2], sets[5]) = (sets[1], sets[4]);
                    call(libc::SYS_capset, &[sys::at_mut(&mut header), sys::at(&sets)])?;
                    call(
                        libc::SYS_prctl,
                        &[
                            libc::PR_CAP_AMBIENT as usize,
                            libc::PR_CAP_AMBIENT_RAISE as usize,
                            capability,
                            0,
                            0,
                        ],
                    )
                    .map(|_| ())
                }),
            )
        }))
    },
    control: Control::NeedsRoot("an ordinary user has none"),
    ..BASE
};
