//! Moves the directory above a read-only one away, and puts another in its place.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_inner_parent",
    what: "replaces what lies above a read-only directory",
    setup: |scene| {
        let _ = fs::create_dir_all(scene.rw("above/inner"));
        let _ = fs::write(scene.rw("above/inner/tool"), "honest");
    },
    attempt: |t| {
        let moved = fs::rename(t.rw.join("above"), t.rw.join("away"));
        let _ = fs::create_dir_all(t.rw.join("above/inner"));
        let _ = fs::write(t.rw.join("above/inner/tool"), MARK);
        let _ = moved;
        Outcome::Tried
    },
    check: |scene| match fs::read_to_string(scene.rw("above/inner/tool")) {
        Ok(text) if text.contains(MARK) => Err("the tool is another one".to_owned()),
        _ => Ok(()),
    },
    held_by: &[Backend::Namespaces],
    ..BASE
};
