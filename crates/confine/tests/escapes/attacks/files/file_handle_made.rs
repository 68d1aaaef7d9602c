//! Asks for a file handle, from which those of other files can be guessed.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/file_handle_made",
    what: "asks for a file's handle",
    attempt: |t| {
        let (path, mut handle, mut mount) = (text(&t.rw), [0_u8; 136], 0_i32);
        handle[..4].copy_from_slice(&128_u32.to_ne_bytes());
        let args = [sys::HERE, path.at(), sys::at_mut(&mut handle), sys::at_mut(&mut mount), 0];
        Outcome::refused("asking for a handle", call(libc::SYS_name_to_handle_at, &args))
    },
    ..BASE
};
