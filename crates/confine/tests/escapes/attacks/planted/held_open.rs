//! Keeps a file open, gives it a guarded name and writes when nobody looks.

use std::io::Write;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/held_open",
    what: "writes to a file that it keeps open",
    attempt: |t| {
        let mut file = fs::File::create(t.rw.join("innocent")).unwrap();
        let _ = fs::rename(t.rw.join("innocent"), t.rw.join(".envrc"));
        std::thread::sleep(Duration::from_millis(300));
        let _ = file.write_all(MARK.as_bytes());
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".envrc"]),
    ..BASE
};
