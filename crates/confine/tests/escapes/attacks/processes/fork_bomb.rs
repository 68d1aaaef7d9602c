//! Makes more processes than the limit allows: the limit holds, as root too.

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_PROCESSES;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/fork_bomb",
    what: "makes too many processes",
    attempt: |_| {
        let mut made = Vec::new();
        for _ in 0..=MAX_PROCESSES {
            match sys::fork(|| {
                std::thread::sleep(Duration::from_secs(8));
                0
            }) {
                Ok(pid) => made.push(pid),
                Err(_) => break,
            }
        }
        for &pid in &made {
            sys::kill(pid);
        }
        for &pid in &made {
            sys::wait(pid);
        }
        Outcome::when("made too many processes", made.len() as u64 > MAX_PROCESSES)
    },
    held_by: OWN_TREE,
    not_for_root: &[Backend::Bubblewrap],
    ..BASE
};
