//! Takes files of a writable zone in which deleting is blocked away by renaming:
//! elsewhere, over one another, in exchange.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/kept_rename",
    what: "renames where it may only write",
    setup: Scene::kept_zone,
    attempt: |t| {
        let kept = t.kept();
        let at = |name: &str| kept.join(name);
        let new = fs::write(at("new.txt"), MARK);
        let exchange = || {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let (from, to) = (at("new.txt"), at("dir/file.txt"));
            rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags)
        };
        Outcome::any([
            Outcome::when("could not write a new file", new.is_err()),
            Outcome::of("renamed a file", fs::rename(at("file.txt"), at("other.txt"))),
            Outcome::of("moved a file out", fs::rename(at("file.txt"), t.rw.join("moved.txt"))),
            Outcome::of("replaced a file", fs::rename(at("new.txt"), at("file.txt"))),
            Outcome::of("moved one in over it", {
                let from = t.rw.join("from.txt");
                fs::write(&from, MARK).and_then(|()| fs::rename(&from, at("file.txt")))
            }),
            Outcome::of("exchanged two files", exchange()),
            Outcome::of("renamed a directory", fs::rename(at("dir"), at("directory"))),
        ])
    },
    check: Scene::all_kept,
    ..BASE
};
