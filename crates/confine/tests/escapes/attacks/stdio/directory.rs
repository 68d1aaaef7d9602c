//! Reads and writes below a directory that is its standard input.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/directory",
    what: "works below a directory that is its standard input",
    given: |scene| Given::input(fs::File::open(scene.dir().join("outside")).unwrap()),
    attempt: |_| {
        let (secret, planted) = (text("secret.txt"), text("planted"));
        let create = (libc::O_CREAT | libc::O_WRONLY) as usize;
        Outcome::any([
            Outcome::of("opened the secret", call(libc::SYS_openat, &[0, secret.at(), 0, 0])),
            Outcome::of("made a file", call(libc::SYS_openat, &[0, planted.at(), create, 0o600])),
        ])
    },
    ..BASE
};
