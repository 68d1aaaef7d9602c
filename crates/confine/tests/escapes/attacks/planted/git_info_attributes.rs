//! Names filters in the repository's own attributes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_info_attributes",
    what: "names filters in a repository",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        super::plant_text(t, ".git/info/attributes", &format!("* filter=evil\n# {MARK}\n"))
    },
    check: |scene| scene.not_planted(&[".git/info/attributes"]),
    ..BASE
};
