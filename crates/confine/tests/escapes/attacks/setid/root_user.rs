//! Becomes root.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/root_user",
    what: "becomes root",
    attempt: |_| {
        let became = sys::in_child(|| {
            call(libc::SYS_setresuid, &[0, 0, 0])?;
            if rustix::process::getuid().is_root() {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(libc::EPERM))
            }
        });
        let was = rustix::process::getuid().is_root();
        Outcome::when("became root", became.is_ok() && !was)
    },
    control: Control::None("nobody becomes root by asking"),
    ..BASE
};
