//! Gives the settings of a repository that it makes itself a second name, and
//! changes them by that one.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_hard_link_new",
    what: "changes new settings by another name",
    attempt: |t| {
        for dir in [".git/objects", ".git/refs/heads", "other/.git/objects", "other/.git/refs"] {
            let _ = fs::create_dir_all(t.rw.join(dir));
        }
        let evil = format!("[core]\n\tpager = {MARK}\n");
        let _ = fs::write(t.rw.join("innocent"), "");
        let _ = fs::hard_link(t.rw.join("innocent"), t.rw.join(".git/config"));
        let _ = fs::write(t.rw.join("innocent"), &evil);
        let _ = fs::write(t.rw.join("other/.git/config"), "[core]\n\tbare = false\n");
        std::thread::sleep(Duration::from_millis(100));
        let _ = fs::hard_link(t.rw.join("other/.git/config"), t.rw.join("another"));
        let _ = fs::write(t.rw.join("another"), &evil);
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config", "other/.git/config"]),
    ..BASE
};
