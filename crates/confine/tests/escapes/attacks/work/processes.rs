//! Starts programs in a pipe, waits, and signals its own children.

use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/processes",
    what: "starts programs and signals them",
    attempt: |_| {
        Outcome::ordinary(
            "own processes",
            (|| -> io::Result<()> {
                let output = Command::new("sh").args(["-c", "echo one | cat; exit 3"]).output()?;
                if output.stdout != b"one\n" || output.status.code() != Some(3) {
                    return Err(io::Error::other(format!("{output:?}")));
                }
                let mut child = Command::new("sleep").arg("20").spawn()?;
                call(libc::SYS_kill, &[child.id() as usize, libc::SIGTERM as usize])?;
                child.wait().map(|_| ())
            })(),
        )
    },
    ..BASE
};
