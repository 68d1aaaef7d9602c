//! Writes down every process that ends, to a path that does not exist.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/accounting",
    what: "turns accounting on",
    attempt: |_| {
        let path = text("/nonexistent/zonekeep");
        Outcome::refused("acct", call(libc::SYS_acct, &[path.at()]))
    },
    control: Control::Depends("only root may, where the kernel can"),
    ..BASE
};
