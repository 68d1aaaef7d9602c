//! Looks for what the host keeps below `/var` and `/boot`.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/host_state",
    what: "lists the host's state directories",
    attempt: |t| {
        Outcome::any(
            t.names
                .iter()
                .filter(|(dir, _)| dir.starts_with("/var") || dir.starts_with("/boot"))
                .flat_map(|(dir, names)| {
                    names.iter().map(move |name| {
                        Outcome::of("saw the host's state", dir.join(name).symlink_metadata())
                    })
                }),
        )
    },
    control: Control::Depends("no state directory here that this user can list"),
    held_by: OWN_TREE,
    ..BASE
};
