//! Reads both zones, and makes, changes, renames and removes files in the
//! writable one.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/files",
    what: "works with files",
    attempt: |t| {
        Outcome::ordinary(
            "working with files",
            (|| -> io::Result<()> {
                fs::read(t.ro_file())?;
                fs::create_dir_all(t.rw.join("a/b"))?;
                fs::write(t.rw.join("a/b/one"), "1")?;
                fs::rename(t.rw.join("a/b/one"), t.rw.join("a/two"))?;
                fs::hard_link(t.rw.join("a/two"), t.rw.join("a/three"))?;
                std::os::unix::fs::symlink("two", t.rw.join("a/four"))?;
                fs::read(t.rw.join("a/four"))?;
                fs::remove_dir_all(t.rw.join("a"))
            })(),
        )
    },
    ..BASE
};
