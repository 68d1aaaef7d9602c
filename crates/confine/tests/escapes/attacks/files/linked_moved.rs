//! Gets at a file of the zone that is a file outside too by other ways than its path:
//! its directory moved, a new name, the permissions, a mapping.

use std::os::unix::fs::PermissionsExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/linked_moved",
    what: "writes a file outside by another way to its name in the zone",
    setup: |scene| {
        let outside = scene.dir().join("outside/shared.txt");
        fs::write(&outside, "as it was").unwrap();
        scene.put("dir/beside", "");
        fs::hard_link(outside, scene.rw("dir/linked.txt")).unwrap();
    },
    attempt: |t| {
        let (before, after) = (t.rw.join("dir"), t.rw.join("moved"));
        let name = t.rw.join("name");
        let moved = fs::rename(&before, &after).and_then(|()| {
            let linked = after.join("linked.txt");
            let open = fs::set_permissions(&linked, PermissionsExt::from_mode(0o666));
            open.or(fs::hard_link(&linked, &name)).or(fs::rename(&linked, &name))?;
            fs::write(&name, MARK).or(fs::write(&linked, MARK))
        });
        Outcome::of("wrote to it", moved)
    },
    check: |scene| match fs::read_to_string(scene.dir().join("outside/shared.txt")).as_deref() {
        Ok("as it was") => Ok(()),
        _ => Err("the file outside is changed".to_owned()),
    },
    held_by: OWN_TREE,
    ..BASE
};
