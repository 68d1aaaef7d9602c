//! Makes a second name for the secret inside the writable zone: what is outside
//! cannot be brought in.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/hard_link_in",
    what: "brings a file in by a hard link",
    attempt: |t| {
        let name = t.rw.join("brought-in");
        let linked = fs::hard_link(t.secret(), &name);
        Outcome::when("read the secret", linked.is_ok() && Target::is_secret(&fs::read(name)))
    },
    ..BASE
};
