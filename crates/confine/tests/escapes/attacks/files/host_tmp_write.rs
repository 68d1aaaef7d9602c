//! Leaves a file in `/tmp`: it must not be in the host's.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/host_tmp_write",
    what: "leaves a file in the host's /tmp",
    attempt: |t| {
        let _ = fs::write(t.in_tmp(".left"), MARK);
        Outcome::Tried
    },
    check: |scene| {
        let left = scene.target(None).in_tmp(".left");
        let there = left.exists();
        let _ = fs::remove_file(left);
        if there { Err("a file was left in the host's /tmp".to_owned()) } else { Ok(()) }
    },
    ..BASE
};
