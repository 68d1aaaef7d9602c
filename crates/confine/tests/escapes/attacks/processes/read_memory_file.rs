//! Reads the secret from the memory of a process outside through `/proc`.

use std::os::unix::fs::FileExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/read_memory_file",
    what: "reads a process's memory by its file",
    attempt: |t| {
        let mut buffer = vec![0_u8; SECRET.len()];
        let read = fs::File::open(format!("/proc/{}/mem", t.victim))
            .and_then(|file| file.read_exact_at(&mut buffer, t.victim_address as u64));
        Outcome::when("read the secret", read.is_ok() && buffer == SECRET.as_bytes())
    },
    ..BASE
};
