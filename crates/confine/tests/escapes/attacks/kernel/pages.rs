//! Moves its own pages between memories, by the calls that also move others'.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/pages",
    what: "moves pages",
    attempt: |_| {
        Outcome::any([
            Outcome::refused("move_pages", call(libc::SYS_move_pages, &[0, 0, 0, 0, 0, 0])),
            Outcome::refused("migrate_pages", call(libc::SYS_migrate_pages, &[0, 0, 0, 0])),
        ])
    },
    control: Control::Depends("the kernel has one memory only"),
    ..BASE
};
