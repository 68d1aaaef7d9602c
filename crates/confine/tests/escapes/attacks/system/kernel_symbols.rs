//! Looks for addresses of the kernel, with which exploits begin.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/kernel_symbols",
    what: "reads addresses of the kernel",
    attempt: |_| {
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let shown = symbols.lines().take(100).any(|line| !line.starts_with("0000000000000000"));
        Outcome::when("saw addresses of the kernel", shown)
    },
    control: Control::Depends("the kernel shows no addresses to this user"),
    ..BASE
};
