//! Renames a file to a guarded name as the last thing before it is killed.

use std::io::Write;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/rename_at_the_end",
    what: "renames and dies at once",
    attempt: |t| {
        let _ = fs::write(t.rw.join("innocent"), MARK);
        println!("{}", Outcome::Tried);
        let _ = io::stdout().flush();
        let _ = fs::rename(t.rw.join("innocent"), t.rw.join(".envrc"));
        sys::kill(std::process::id() as i32);
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".envrc"]),
    ..BASE
};
