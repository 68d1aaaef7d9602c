//! Adds a filter that asks a supervisor, and is the supervisor that says "go on":
//! what was refused stays refused.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/filter_answer",
    what: "answers its own filter",
    attempt: |_| {
        Outcome::of(
            "got past the filter",
            sys::in_child(|| {
                const ADD: usize = 1;
                const LISTEN: usize = 8;
                const CONTINUE: u64 = 1;
                let listener =
                    super::install_for(ADD, LISTEN, libc::SYS_adjtimex as u32, 0x7fc0_0000)
                        .map(sys::owned)?;
                let fd = listener.as_raw_fd();
                std::thread::spawn(move || {
                    let mut request = [0_u64; 10];
                    let ioctl = |number: usize, value: usize| {
                        call(libc::SYS_ioctl, &[fd as usize, number, value])
                    };
                    if ioctl(0xc050_2100, sys::at_mut(&mut request)).is_ok() {
                        let answer = [request[0], 0, CONTINUE << 32];
                        let _ = ioctl(0xc018_2101, sys::at(&answer));
                    }
                });
                // Reads how the clock is adjusted.
                let mut state = [0_u64; 32];
                call(libc::SYS_adjtimex, &[sys::at_mut(&mut state)]).map(|_| ())
            }),
        )
    },
    control: Control::Depends("the kernel has no supervisors for filters"),
    ..BASE
};
