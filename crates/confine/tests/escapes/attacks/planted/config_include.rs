//! Changes the file that the settings of a repository include.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_include",
    what: "changes a file that settings include",
    setup: |scene| {
        scene.repository("");
        scene.put(".git/config", "[include]\n\tpath = more\n");
        scene.put(".git/more", "");
    },
    attempt: |t| super::plant(t, ".git/more"),
    check: |scene| scene.not_planted(&[".git/more"]),
    ..BASE
};
