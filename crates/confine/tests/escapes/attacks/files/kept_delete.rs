//! Removes files and directories of a writable zone in which that is blocked.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/kept_delete",
    what: "deletes where it may only write",
    setup: Scene::kept_zone,
    attempt: |t| {
        let kept = t.kept();
        Outcome::any([
            Outcome::of("removed a file", fs::remove_file(kept.join("file.txt"))),
            Outcome::of("removed a file further down", fs::remove_file(kept.join("dir/file.txt"))),
            Outcome::of("removed a directory", fs::remove_dir(kept.join("dir/empty"))),
        ])
    },
    check: Scene::all_kept,
    ..BASE
};
