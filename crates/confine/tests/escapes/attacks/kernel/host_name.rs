//! Gives the machine the name that it has.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/host_name",
    what: "names the machine",
    attempt: |_| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let domain = fs::read_to_string("/proc/sys/kernel/domainname").unwrap_or_default();
        Outcome::any([
            Outcome::refused(
                "sethostname",
                call(libc::SYS_sethostname, &[sys::at(name.trim()), name.trim().len()]),
            ),
            Outcome::refused(
                "setdomainname",
                call(libc::SYS_setdomainname, &[sys::at(domain.trim()), domain.trim().len()]),
            ),
        ])
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
