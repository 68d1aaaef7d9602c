//! Writes a file of the writable zone that is a file outside too, by a hard link that
//! was there before.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/linked_write",
    what: "writes a file outside by its name in the zone",
    setup: |scene| {
        let outside = scene.dir().join("outside/shared.txt");
        fs::write(&outside, "as it was").unwrap();
        fs::hard_link(outside, scene.rw("linked.txt")).unwrap();
    },
    attempt: |t| Outcome::of("wrote to it", fs::write(t.rw.join("linked.txt"), MARK)),
    check: |scene| match fs::read_to_string(scene.dir().join("outside/shared.txt")).as_deref() {
        Ok("as it was") => Ok(()),
        _ => Err("the file outside is changed".to_owned()),
    },
    held_by: OWN_TREE,
    ..BASE
};
