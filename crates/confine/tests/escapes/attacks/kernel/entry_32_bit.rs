//! Enters the kernel as a 32-bit program does, where the numbers of calls are
//! others: the architecture is looked at first.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/entry_32_bit",
    what: "enters the kernel the 32-bit way",
    attempt: |_| {
        let own = std::process::id();
        Outcome::of(
            "the 32-bit way works",
            sys::in_child(|| {
                // The number of `getppid` there: what it returns is known here.
                let mut result: u64 = 64;
                // SAFETY: the call takes nothing; the kernel may change r8 to r11.
                unsafe {
                    std::arch::asm!(
                        "int 0x80",
                        inout("rax") result,
                        out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                    );
                }
                if result == u64::from(own) {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(libc::ENOSYS))
                }
            }),
        )
    },
    control: Control::Depends("the kernel runs no 32-bit programs"),
    ..BASE
};
