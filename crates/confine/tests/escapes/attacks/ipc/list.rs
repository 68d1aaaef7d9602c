//! Finds the host's System V objects by counting through their numbers.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/list",
    what: "finds the host's shared objects",
    attempt: |t| {
        let listed =
            fs::read_to_string("/proc/sysvipc/shm").is_ok_and(|list| list.lines().count() > 1);
        let mut info = [0_u64; 64];
        let stat = call(
            libc::SYS_shmctl,
            &[t.sysv[0] as usize, libc::IPC_STAT as usize, sys::at_mut(&mut info)],
        );
        Outcome::any([
            Outcome::when("saw segments of the host", listed),
            Outcome::of("asked about one", stat),
        ])
    },
    held_by: OWN_TREE,
    ..BASE
};
