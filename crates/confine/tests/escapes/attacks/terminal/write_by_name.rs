//! Writes to the caller's terminal by its name, and to every other there is.

use std::io::Write;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/write_by_name",
    what: "writes to terminals by name",
    attempt: |t| {
        let mut names = vec![t.terminal.clone()];
        if t.own_tree {
            names.extend(
                fs::read_dir("/dev/pts").into_iter().flatten().flatten().map(|entry| entry.path()),
            );
        }
        for name in names {
            if let Ok(fd) = sys::open_for_writing(&name) {
                let _ = fs::File::from(fd).write_all(MARK.as_bytes());
            }
        }
        Outcome::Tried
    },
    check: Scene::terminal_is_silent,
    ..BASE
};
