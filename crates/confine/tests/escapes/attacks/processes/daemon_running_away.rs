//! Leaves a process behind that forks and ends again and again, so that whoever
//! looks for it always finds the one before.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/daemon_running_away",
    what: "leaves a process that keeps changing its number",
    attempt: |t| {
        let _ = sys::fork(|| {
            sys::setsid();
            let start = std::time::Instant::now();
            while start.elapsed() < Duration::from_secs(2) {
                // The parent ends; the child goes on.
                std::thread::sleep(Duration::from_millis(1));
                // SAFETY: forks a process of one thread.
                if unsafe { libc::fork() } > 0 {
                    // SAFETY: ends this process and nothing else.
                    unsafe { libc::_exit(0) }
                }
            }
            let _ = fs::write(t.rw.join("ran-away"), MARK);
            0
        });
        Outcome::Tried
    },
    check: |scene| {
        std::thread::sleep(Duration::from_millis(2500));
        scene.not_planted(&["ran-away"])
    },
    ..BASE
};
