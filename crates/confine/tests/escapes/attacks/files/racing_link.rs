//! Swaps a link between the zone and the outside while reading through it: no
//! moment of the race leads out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/racing_link",
    what: "races a link against its own reads",
    attempt: |t| {
        let (name, inside, outside) = (t.rw.join("racing"), t.rw.join("file.txt"), t.secret());
        let (stop, found) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..2000 {
                    let goal = if round % 2 == 0 { &inside } else { &outside };
                    let new = t.rw.join("racing-new");
                    let _ = std::os::unix::fs::symlink(goal, &new);
                    let _ = fs::rename(&new, &name);
                }
                stop.store(true, Ordering::Relaxed);
            });
            while !stop.load(Ordering::Relaxed) {
                if Target::is_secret(&fs::read(&name)) {
                    found.store(true, Ordering::Relaxed);
                }
            }
        });
        Outcome::when("read the secret", found.into_inner())
    },
    ..BASE
};
