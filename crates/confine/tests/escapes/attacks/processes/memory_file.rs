//! Uses more memory than the limit allows in a file that is only in memory.

use std::io::Write;

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_file",
    what: "fills a file in memory",
    attempt: |t| {
        let filled = sys::in_child(|| {
            let name = text(&t.token);
            let fd = call(libc::SYS_memfd_create, &[name.at(), 0]).map(sys::owned)?;
            let (mut file, part) = (fs::File::from(fd), vec![1_u8; 1 << 20]);
            for _ in 0..(MAX_MEMORY >> 20) + 64 {
                file.write_all(&part)?;
            }
            Ok(())
        });
        Outcome::of("filled a file in memory", filled)
    },
    ..BASE
};
