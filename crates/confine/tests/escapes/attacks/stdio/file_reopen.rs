//! Opens the file that is its standard input once more, for writing.

use std::io::Write;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/file_reopen",
    what: "opens its standard input for writing",
    given: |scene| Given::input(fs::File::open(scene.dir().join("outside/secret.txt")).unwrap()),
    attempt: |_| {
        if let Ok(fd) = sys::open_for_writing("/proc/self/fd/0") {
            let _ = fs::File::from(fd).write_all(MARK.as_bytes());
        }
        Outcome::Tried
    },
    ..BASE
};
