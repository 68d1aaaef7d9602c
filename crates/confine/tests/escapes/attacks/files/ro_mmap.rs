//! Maps the read-only file shared, turns the mapping writable and writes to it.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_mmap",
    what: "writes to a read-only file through memory",
    attempt: |t| {
        let file = sys::open(t.ro_file(), libc::O_RDWR, 0)
            .or_else(|_| sys::open(t.ro_file(), libc::O_RDONLY, 0));
        let Ok(file) = file else { return Outcome::Held("it cannot be opened".into()) };
        let Ok(address) = call(
            libc::SYS_mmap,
            &[
                0,
                4096,
                libc::PROT_READ as usize,
                libc::MAP_SHARED as usize,
                file.as_raw_fd() as usize,
                0,
            ],
        ) else {
            return Outcome::Held("it cannot be mapped".into());
        };
        let turned = call(
            libc::SYS_mprotect,
            &[address, 4096, (libc::PROT_READ | libc::PROT_WRITE) as usize],
        );
        if turned.is_ok() {
            // SAFETY: the kernel just made these bytes writable.
            unsafe { std::ptr::write_volatile(address as *mut u8, b'!') };
        }
        Outcome::of("wrote through memory", turned)
    },
    ..BASE
};
