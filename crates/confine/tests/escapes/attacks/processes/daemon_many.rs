//! Leaves many processes in many sessions behind.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/daemon_many",
    what: "leaves many processes behind",
    attempt: |t| {
        for _ in 0..20 {
            let mut command = t.lingering();
            let _ = sys::fork(|| {
                sys::setsid();
                command
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .exec()
                    .raw_os_error()
                    .unwrap_or(1)
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        Outcome::Tried
    },
    check: Scene::nothing_lingers,
    ..BASE
};
