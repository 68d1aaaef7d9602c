//! Looks for what the host's services keep in `/run`, sockets above all.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/host_run",
    what: "lists the host's /run",
    attempt: |t| {
        Outcome::any(t.names.iter().filter(|(dir, _)| dir.starts_with("/run")).flat_map(
            |(dir, names)| {
                names
                    .iter()
                    .filter(|name| *name != "lock" && *name != "user" && *name != "shm")
                    .map(move |name| {
                        Outcome::of("saw a service's files", dir.join(name).symlink_metadata())
                    })
            },
        ))
    },
    control: Control::Depends("nothing in /run here that this user can list"),
    held_by: OWN_TREE,
    ..BASE
};
