//! Makes a process outside the owner of a pipe, so that the kernel sends it a
//! signal of choice when something arrives.

use std::io::Write;
use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/kill_by_pipe",
    what: "has the kernel send the signal",
    attempt: |t| {
        let (reader, mut writer) = io::pipe().unwrap();
        let fd = reader.as_raw_fd() as usize;
        let set = |what: i32, value: usize| call(libc::SYS_fcntl, &[fd, what as usize, value]);
        let owned = set(libc::F_SETOWN, t.victim as usize);
        const SET_SIGNAL: i32 = 10;
        let _ = set(SET_SIGNAL, libc::SIGUSR1 as usize);
        let _ = set(libc::F_SETFL, libc::O_ASYNC as usize);
        let _ = writer.write_all(b"!");
        std::thread::sleep(Duration::from_millis(50));
        if owned.is_err() { Outcome::Held("it cannot own the pipe".into()) } else { Outcome::Tried }
    },
    ..BASE
};
