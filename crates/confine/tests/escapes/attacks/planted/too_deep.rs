//! Plants a file so deep that its path is longer than any path may be.

use std::os::fd::{AsRawFd, OwnedFd};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/too_deep",
    what: "plants a file at a path that is too long",
    attempt: |t| {
        let (name, file) = (text("n".repeat(200)), text(".envrc"));
        let Ok(mut dir) = sys::open(&t.rw, libc::O_PATH, 0) else {
            return Outcome::Held("no zone".into());
        };
        for _ in 0..25 {
            let _ = call(libc::SYS_mkdirat, &[dir.as_raw_fd() as usize, name.at(), 0o755]);
            let Ok(next) = below(&dir, &name, libc::O_PATH) else { return Outcome::Tried };
            dir = next;
        }
        if let Ok(file) = below(&dir, &file, libc::O_CREAT | libc::O_WRONLY) {
            let _ = io::Write::write_all(&mut fs::File::from(file), MARK.as_bytes());
        }
        Outcome::Tried
    },
    check: |scene| {
        let (name, file) = (text("n".repeat(200)), text(".envrc"));
        let mut dir = sys::open(scene.rw(""), libc::O_PATH, 0).unwrap();
        for _ in 0..25 {
            let Ok(next) = below(&dir, &name, libc::O_PATH) else { return Ok(()) };
            dir = next;
        }
        let Ok(file) = below(&dir, &file, libc::O_RDONLY) else { return Ok(()) };
        let read = io::read_to_string(fs::File::from(file));
        if read.is_ok_and(|text| text.contains(MARK)) {
            Err("the file is there".to_owned())
        } else {
            Ok(())
        }
    },
    // Deeper than any path can be written, git and editors do not go either:
    // reported, and not promised.
    held_by: &[],
    ..BASE
};

fn below(dir: &OwnedFd, name: &sys::Text, flags: i32) -> io::Result<OwnedFd> {
    let flags = flags as u32 as usize;
    call(libc::SYS_openat, &[dir.as_raw_fd() as usize, name.at(), flags, 0o644]).map(sys::owned)
}
