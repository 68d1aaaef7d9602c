//! Makes a file executable and runs it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/permissions",
    what: "makes a program and runs it",
    attempt: |t| {
        Outcome::ordinary(
            "running a program",
            (|| -> io::Result<()> {
                let program = t.rw.join("program");
                fs::write(&program, "#!/bin/sh\nexit 7\n")?;
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
                let status = Command::new(&program).status()?;
                if status.code() == Some(7) {
                    Ok(())
                } else {
                    Err(io::Error::other(format!("{status}")))
                }
            })(),
        )
    },
    ..BASE
};
