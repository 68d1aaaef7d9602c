//! Renames the read-only zone itself, to put a directory of its own in place.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_rename_zone",
    what: "renames the read-only zone",
    attempt: |t| Outcome::of("renamed the zone", fs::rename(&t.ro, t.ro.with_file_name("was-ro"))),
    check: |scene| {
        let away = scene.dir().join("was-ro");
        if !away.exists() {
            return Ok(());
        }
        fs::rename(away, scene.dir().join("ro")).unwrap();
        Err("the read-only zone was renamed".to_owned())
    },
    ..BASE
};
