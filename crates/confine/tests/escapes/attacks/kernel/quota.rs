//! Asks for quotas of a device that does not exist.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/quota",
    what: "manages quotas",
    attempt: |_| {
        let device = text("/nonexistent/zonekeep");
        Outcome::any([
            Outcome::refused(
                "quotactl",
                call(libc::SYS_quotactl, &[0x80_0007 << 8, device.at(), 0, 0]),
            ),
            Outcome::refused(
                "quotactl_fd",
                call(libc::SYS_quotactl_fd, &[usize::MAX, 0x80_0007 << 8, 0, 0]),
            ),
        ])
    },
    control: Control::Depends("the kernel has no quotas"),
    ..BASE
};
