//! Hides a repository among the objects of another one, and leads git to it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_in_objects",
    what: "hides a repository among objects",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        super::craft(t, ".git/objects/ab/q/.git/modules/x");
        let _ = super::plant(t, ".git/objects/ab/q/.envrc");
        super::plant_text(t, "sub/.git", "gitdir: ../.git/objects/ab/q/.git/modules/x\n")
    },
    check: |scene| {
        scene.not_planted(&[".git/objects/ab/q/.git/modules/x/config", ".git/objects/ab/q/.envrc"])
    },
    ..BASE
};
