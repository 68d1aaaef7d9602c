//! Reads the secret by its host path: nothing outside the zones is readable.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/read_absolute",
    what: "reads a file outside by its host path",
    attempt: |t| Outcome::when("read the secret", Target::is_secret(&fs::read(t.secret()))),
    ..BASE
};
