//! Looks at the capabilities that it could use or hand on to programs that it
//! starts: there are none.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/inheritable",
    what: "could hand on capabilities",
    attempt: |_| {
        let read =
            |key| u64::from_str_radix(&sys::status(key).unwrap_or_default(), 16).unwrap_or(0);
        Outcome::when(
            "could hand on capabilities",
            ["CapInh", "CapPrm", "CapAmb"].iter().any(|key| read(key) != 0),
        )
    },
    control: Control::NeedsRoot("an ordinary user has none"),
    ..BASE
};
