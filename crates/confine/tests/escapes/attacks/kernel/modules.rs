//! Loads a module that is none, and removes one that does not exist.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/modules",
    what: "loads and removes modules",
    attempt: |_| {
        let name = text("zonekeep_no_such_module");
        Outcome::any([
            Outcome::refused("init_module", call(libc::SYS_init_module, &[0, 0, name.at()])),
            Outcome::refused(
                "finit_module",
                call(libc::SYS_finit_module, &[usize::MAX, name.at(), 0]),
            ),
            Outcome::refused(
                "delete_module",
                call(libc::SYS_delete_module, &[name.at(), libc::O_NONBLOCK as usize]),
            ),
        ])
    },
    control: Control::Depends("only root may, where the kernel has modules"),
    ..BASE
};
