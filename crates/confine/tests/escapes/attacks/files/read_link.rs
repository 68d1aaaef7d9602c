//! Puts a link to the secret into the writable zone and reads through it: a link
//! is followed inside, where there is nothing at its end.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/read_link",
    what: "reads through a link that leads outside",
    attempt: |t| {
        let link = t.rw.join("link");
        let _ = std::os::unix::fs::symlink(t.secret(), &link);
        let up = t.rw.join("up");
        let _ = std::os::unix::fs::symlink("../outside", &up);
        let found =
            [link, up.join("secret.txt")].iter().any(|path| Target::is_secret(&fs::read(path)));
        Outcome::when("read the secret", found)
    },
    ..BASE
};
