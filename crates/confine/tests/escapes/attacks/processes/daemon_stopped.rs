//! Leaves a stopped process behind, which handles no signal but the last.

use std::os::unix::process::CommandExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/daemon_stopped",
    what: "leaves a stopped process behind",
    attempt: |t| {
        if let Ok(child) = t.lingering().process_group(0).spawn() {
            std::thread::sleep(Duration::from_millis(50));
            let _ = call(libc::SYS_kill, &[child.id() as usize, libc::SIGSTOP as usize]);
        }
        Outcome::Tried
    },
    check: Scene::nothing_lingers,
    ..BASE
};
