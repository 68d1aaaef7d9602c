//! Leaves a process behind that holds the command's output open: neither does the
//! caller wait for it nor does it stay.

use std::os::unix::process::CommandExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/daemon_holds_output",
    what: "leaves a process that holds the output",
    attempt: |t| {
        let _ = t.lingering().process_group(0).spawn();
        std::thread::sleep(Duration::from_millis(50));
        Outcome::Tried
    },
    check: Scene::nothing_lingers,
    ..BASE
};
