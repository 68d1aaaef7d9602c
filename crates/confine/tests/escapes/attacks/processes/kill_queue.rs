//! Sends a signal with a value, which takes another way through the kernel.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/kill_queue",
    what: "sends a signal with a value",
    attempt: |t| {
        let mut info = [0_i32; 32];
        info[0] = libc::SIGUSR1;
        info[2] = libc::SI_QUEUE;
        let args = [t.victim as usize, libc::SIGUSR1 as usize, sys::at(&info)];
        Outcome::of("signalled it", call(libc::SYS_rt_sigqueueinfo, &args))
    },
    ..BASE
};
