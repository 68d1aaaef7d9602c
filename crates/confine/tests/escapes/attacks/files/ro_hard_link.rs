//! Makes a second name for the read-only file in the writable zone and writes
//! through that name.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_hard_link",
    what: "writes to a read-only file by another name",
    attempt: |t| {
        let name = t.rw.join("second-name");
        let written = fs::hard_link(t.ro_file(), &name).and_then(|()| fs::write(&name, MARK));
        Outcome::of("wrote to it", written)
    },
    ..BASE
};
