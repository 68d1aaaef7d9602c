//! Lists the directories of private keys of the system.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/private_keys",
    what: "lists the host's private keys",
    attempt: |_| {
        Outcome::any(
            ["/etc/ssl/private", "/etc/ssh", "/etc/pki/tls/private", "/var/lib/private"]
                .map(|path| Outcome::of(path, fs::read_dir(path))),
        )
    },
    control: Control::Depends("there are no such directories here"),
    ..BASE
};
