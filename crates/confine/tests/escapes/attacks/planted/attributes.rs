//! Leaves filters that git runs, at `.gitattributes`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/attributes",
    what: "leaves filters that git runs",
    attempt: |t| super::plant(t, ".gitattributes"),
    check: |scene| scene.not_planted(&[".gitattributes"]),
    ..BASE
};
