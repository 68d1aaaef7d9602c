//! Lists the home directories of the host: none of what is in them shows.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/host_homes",
    what: "lists home directories",
    attempt: |t| {
        Outcome::any(
            t.names
                .iter()
                .filter(|(dir, _)| dir.starts_with("/root") || dir.starts_with("/home"))
                .flat_map(|(dir, names)| {
                    names.iter().map(move |name| {
                        Outcome::of("saw a file of a home", dir.join(name).symlink_metadata())
                    })
                }),
        )
    },
    control: Control::Depends("no home directory here that this user can list"),
    held_by: OWN_TREE,
    ..BASE
};
