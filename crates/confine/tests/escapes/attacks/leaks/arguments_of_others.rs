//! Reads the arguments of every other process, where a launcher may have left
//! host paths.

use std::os::unix::ffi::OsStrExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/arguments_of_others",
    what: "reads the launcher's arguments",
    attempt: |t| {
        // The facts of this test have host paths in them, but do not begin with one.
        let host = t.host.as_os_str().as_bytes();
        let told = t.others().into_iter().any(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).any(|argument| argument.starts_with(host))
        });
        Outcome::when("was told a host path", told)
    },
    held_by: OWN_TREE,
    ..BASE
};
