//! Prepares another kernel, with a request that can never be carried out.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/kexec",
    what: "prepares another kernel",
    attempt: |_| {
        Outcome::any([
            Outcome::refused("kexec_load", call(libc::SYS_kexec_load, &[0, 17, 0, usize::MAX])),
            Outcome::refused(
                "kexec_file_load",
                call(libc::SYS_kexec_file_load, &[usize::MAX, usize::MAX, 0, 0, usize::MAX]),
            ),
        ])
    },
    control: Control::Depends("only root may, where the kernel can"),
    ..BASE
};
