//! Opens programs that it can run for writing: they stay what they are for
//! everybody.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/write_programs",
    what: "writes to programs that it can run",
    attempt: |_| {
        Outcome::any(
            ["/usr/bin/env", "/usr/bin/id", "/usr/bin/true"]
                .map(|path| Outcome::of(path, sys::open_for_writing(path))),
        )
    },
    control: Control::NeedsRoot("the programs are root's"),
    ..BASE
};
