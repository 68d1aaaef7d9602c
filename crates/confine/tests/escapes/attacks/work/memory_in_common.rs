//! Has memory that its processes share: what the limit allows, in each of them.

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "work/memory_in_common",
    what: "shares memory among processes",
    attempt: |_| {
        let size = (MAX_MEMORY / 4) as usize;
        let memory = vec![1_u8; size];
        let Ok(address) = super::super::processes::touch_shared(size as u64) else {
            return Outcome::Broke("no shared memory".to_owned());
        };
        let children: Vec<i32> = (0..4)
            .filter_map(|_| {
                sys::fork(|| {
                    let mut sum = 0_u64;
                    for page in (0..size).step_by(4096) {
                        // SAFETY: the parent mapped these bytes, and nobody writes.
                        let other =
                            unsafe { std::ptr::read_volatile((address + page) as *const u8) };
                        sum += u64::from(std::hint::black_box(memory[page])) + u64::from(other);
                    }
                    // Long enough to be looked at several times.
                    std::thread::sleep(Duration::from_secs(1));
                    i32::from(sum != size as u64 / 4096 * 2)
                })
                .ok()
            })
            .collect();
        let good = children.iter().filter(|&&pid| sys::wait(pid) == 0).count();
        match good {
            4 => Outcome::Held("sharing memory works".to_owned()),
            _ => Outcome::Broke(format!("{good} of 4 processes went well")),
        }
    },
    ..BASE
};
