//! Asks for a namespace the 32-bit way, with the number that `unshare` has there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/entry_32_bit_namespace",
    what: "makes a namespace the 32-bit way",
    attempt: |_| {
        Outcome::of(
            "made a namespace",
            sys::in_child(|| {
                let (mut number, flags): (u64, u64) = (310, libc::CLONE_NEWUSER as u64);
                // SAFETY: the call takes one number, in a register that must be kept.
                unsafe {
                    std::arch::asm!(
                        "xchg {0}, rbx",
                        "int 0x80",
                        "xchg {0}, rbx",
                        inout(reg) flags => _,
                        inout("rax") number,
                        out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                    );
                }
                if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
            }),
        )
    },
    control: Control::Depends("the kernel runs no 32-bit programs"),
    ..BASE
};
