//! Reads the host's POSIX shared memory, and leaves some: both are files below
//! `/dev/shm`, and the command's is its own.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/shared_files",
    what: "reads the host's /dev/shm",
    attempt: |t| {
        let _ = fs::write(Path::new("/dev/shm").join(format!("{}-left", t.token)), MARK);
        Outcome::when("read the secret", Target::is_secret(&fs::read(t.shared_memory())))
    },
    check: |scene| {
        let left = Path::new("/dev/shm").join(format!("{}-left", scene.token()));
        let there = left.exists();
        let _ = fs::remove_file(left);
        if there { Err("shared memory was left on the host".to_owned()) } else { Ok(()) }
    },
    ..BASE
};
