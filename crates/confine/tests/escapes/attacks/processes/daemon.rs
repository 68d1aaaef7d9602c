//! Leaves a process in a session of its own behind: it is gone as soon as the
//! command has ended.

use std::os::unix::process::CommandExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/daemon",
    what: "leaves a process behind",
    attempt: |t| {
        let mut command = t.lingering();
        let _ = sys::fork(|| {
            sys::setsid();
            let _ = sys::fork(|| {
                let error = command
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .exec();
                error.raw_os_error().unwrap_or(1)
            });
            0
        })
        .map(sys::wait);
        std::thread::sleep(Duration::from_millis(50));
        Outcome::Tried
    },
    check: Scene::nothing_lingers,
    ..BASE
};
