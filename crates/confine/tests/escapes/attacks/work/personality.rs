//! Asks for its personality and sets the ones that weaken nothing.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/personality",
    what: "has an ordinary personality",
    attempt: |_| {
        let set = |value: usize| call(libc::SYS_personality, &[value]);
        let work = set(0xffff_ffff).and_then(|own| {
            set(0)?;
            set(0x8)?;
            set(0)?;
            // As a debugger restores what it found.
            if own == 0 { set(own).map(drop) } else { Ok(()) }
        });
        Outcome::ordinary("an ordinary personality", work)
    },
    ..BASE
};
