//! Starts a process in a session of its own, as servers for tests do, and sees it
//! work while the command lasts.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/background",
    what: "starts a background process",
    attempt: |t| {
        Outcome::ordinary(
            "a background process",
            (|| -> io::Result<()> {
                let mut child = Command::new("sh")
                    .args(["-c", "sleep 0.1; echo 1 > done"])
                    .current_dir(&t.rw)
                    .process_group(0)
                    .spawn()?;
                child.wait()?;
                fs::read(t.rw.join("done")).map(|_| ())
            })(),
        )
    },
    ..BASE
};
