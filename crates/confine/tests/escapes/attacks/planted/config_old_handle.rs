//! Gives the settings of a new repository the file that it holds open under
//! another name, and writes to it later.

use std::io::{Seek, Write};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_old_handle",
    what: "writes settings by a handle that is older than their name",
    attempt: |t| {
        for dir in [".git/objects", ".git/refs/heads"] {
            let _ = fs::create_dir_all(t.rw.join(dir));
        }
        let Ok(mut file) = fs::File::create(t.rw.join("innocent")) else { return Outcome::Tried };
        let _ = file.write_all(b"[core]\n\tbare = false\n");
        let _ = fs::hard_link(t.rw.join("innocent"), t.rw.join(".git/config"));
        let _ = fs::remove_file(t.rw.join("innocent"));
        std::thread::sleep(Duration::from_millis(300));
        let _ = file.rewind();
        let _ = file.write_all(format!("[core]\n\tpager = {MARK}\n").as_bytes());
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
