//! Looks at its capabilities and takes all there are: none are left, not even
//! over a namespace of its own.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/capabilities",
    what: "has capabilities or takes them",
    attempt: |_| {
        let mut header = [0x2008_0522_u32, 0];
        let all = [u32::MAX, u32::MAX, 0, u32::MAX, u32::MAX, 0];
        let _ = call(libc::SYS_capset, &[sys::at_mut(&mut header), sys::at(&all)]);
        Outcome::when("has capabilities", sys::capabilities() != 0)
    },
    control: Control::NeedsRoot("an ordinary user has none"),
    ..BASE
};
