//! Lists the directory of the secret: nothing outside the zones can be listed.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/list",
    what: "lists a directory outside",
    attempt: |t| Outcome::of("listed the directory outside", fs::read_dir(t.outside())),
    ..BASE
};
