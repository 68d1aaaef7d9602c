//! Reads a file of the host's `/tmp`: the command's `/tmp` is its own.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/host_tmp",
    what: "reads the host's temporary files",
    attempt: |t| {
        Outcome::when("read a host file in /tmp", Target::is_secret(&fs::read(t.in_tmp(".txt"))))
    },
    ..BASE
};
