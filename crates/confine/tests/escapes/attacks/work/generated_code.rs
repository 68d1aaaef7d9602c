//! Writes code into memory and runs it, as interpreters do.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/generated_code",
    what: "runs generated code",
    attempt: |_| {
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
        let ran = call(
            libc::SYS_mmap,
            &[0, 4096, (libc::PROT_READ | libc::PROT_WRITE) as usize, flags, usize::MAX, 0],
        )
        .and_then(|address| {
            #[cfg(target_arch = "x86_64")]
            let code = [0xb8_u8, 42, 0, 0, 0, 0xc3, 0, 0];
            #[cfg(target_arch = "aarch64")]
            let code = [0x40_u8, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6];
            // SAFETY: the page is there, and the bytes load a number and return.
            unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), address as *mut u8, 8) };
            call(
                libc::SYS_mprotect,
                &[address, 4096, (libc::PROT_READ | libc::PROT_EXEC) as usize],
            )?;
            // SAFETY: as above.
            let function: extern "C" fn() -> i32 =
                unsafe { std::mem::transmute(address as *const ()) };
            if function() == 42 { Ok(()) } else { Err(io::Error::other("another number")) }
        });
        Outcome::ordinary("generated code", ran)
    },
    ..BASE
};
