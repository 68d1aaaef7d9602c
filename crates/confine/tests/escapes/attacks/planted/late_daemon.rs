//! Leaves a process that plants a file after the command has ended.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/late_daemon",
    what: "plants a file after its end",
    attempt: |t| {
        let _ = sys::fork(|| {
            sys::setsid();
            std::thread::sleep(Duration::from_millis(300));
            let _ = super::plant(t, ".envrc");
            0
        });
        Outcome::Tried
    },
    check: |scene| {
        std::thread::sleep(Duration::from_millis(600));
        scene.not_planted(&[".envrc"])
    },
    ..BASE
};
