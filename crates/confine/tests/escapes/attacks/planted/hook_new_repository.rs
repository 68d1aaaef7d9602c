//! Makes a repository by hand, with a hook in it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_new_repository",
    what: "makes a repository with a hook",
    attempt: |t| {
        super::craft(t, ".git");
        super::plant(t, ".git/hooks/post-checkout")
    },
    check: |scene| scene.not_planted(&[".git/hooks/post-checkout", ".git/config"]),
    ..BASE
};
