//! Leaves a hook below a directory whose name is not text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_strange_name",
    what: "leaves a hook below a strange name",
    attempt: |t| {
        let dir = t.rw.join(OsStr::from_bytes(b"\xff\n\x1b")).join(".git/hooks");
        let _ = fs::create_dir_all(&dir).and_then(|()| fs::write(dir.join("pre-commit"), MARK));
        Outcome::Tried
    },
    check: |scene| {
        let file = scene
            .dir()
            .join("rw")
            .join(OsStr::from_bytes(b"\xff\n\x1b"))
            .join(".git/hooks/pre-commit");
        if fs::read_to_string(file).is_ok_and(|text| text.contains(MARK)) {
            Err("the hook is there".to_owned())
        } else {
            Ok(())
        }
    },
    ..BASE
};
