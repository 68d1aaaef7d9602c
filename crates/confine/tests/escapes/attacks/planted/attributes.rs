//! Leaves filters that git runs, at `.gitattributes`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/attributes",
    what: "leaves filters that git runs",
    attempt: |t| super::plant_text(t, ".gitattributes", &format!("* filter=evil\n# {MARK}\n")),
    check: |scene| scene.not_planted(&[".gitattributes"]),
    ..BASE
};
