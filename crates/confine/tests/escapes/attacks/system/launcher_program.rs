//! Asks whether it could write to the program of every other process, as a
//! runaway container once did to the one that starts containers: the launcher
//! cannot be changed. A program that runs cannot be opened for writing, so it is
//! the permission that counts.

use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/launcher_program",
    what: "could write to the launcher's program",
    setup: |scene| {
        let program = scene.dir().join("launcher");
        fs::copy("/usr/bin/sleep", &program).unwrap();
        scene.start("launcher", Command::new(&program).arg("30").stdin(Stdio::null()));
    },
    attempt: |t| {
        let pids = if t.confined { t.others() } else { vec![t.facts["launcher"].parse().unwrap()] };
        Outcome::any(pids.into_iter().map(|pid| {
            let program = format!("/proc/{pid}/exe");
            if sealed(&program) {
                return Outcome::Held("it is sealed".into());
            }
            let path = text(&program);
            Outcome::of(
                "may write to the program",
                call(libc::SYS_faccessat, &[sys::HERE, path.at(), libc::W_OK as usize]),
            )
        }))
    },
    held_by: OWN_TREE,
    ..BASE
};

/// Returns whether this is a file in memory that nobody can write to any more.
fn sealed(program: &str) -> bool {
    let Ok(file) = fs::File::open(program) else { return false };
    let seals = call(libc::SYS_fcntl, &[file.as_raw_fd() as usize, libc::F_GET_SEALS as usize]);
    seals.is_ok_and(|seals| seals & libc::F_SEAL_WRITE as usize != 0)
}
