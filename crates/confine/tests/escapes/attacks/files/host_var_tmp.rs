//! Reads a file of the host's `/var/tmp`, where things stay longer.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/host_var_tmp",
    what: "reads the host's lasting temporary files",
    attempt: |t| {
        Outcome::when(
            "read a host file in /var/tmp",
            Target::is_secret(&fs::read(Path::new("/var/tmp").join(&t.token))),
        )
    },
    ..BASE
};
