//! Learns the host's path of the file that is its standard input.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/file_path",
    what: "learns the path of its standard input",
    given: |scene| Given::input(fs::File::open(scene.dir().join("outside/secret.txt")).unwrap()),
    attempt: |t| {
        let told = fs::read_link("/proc/self/fd/0").is_ok_and(|path| path.starts_with(&t.host));
        Outcome::when("was told a host path", told)
    },
    ..BASE
};
