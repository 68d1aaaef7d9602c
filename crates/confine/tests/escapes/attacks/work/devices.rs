//! Uses the devices that every program expects.

use std::io::{Read, Write};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/devices",
    what: "uses ordinary devices",
    attempt: |_| {
        Outcome::ordinary(
            "ordinary devices",
            (|| -> io::Result<()> {
                let mut bytes = [0; 8];
                for name in ["/dev/zero", "/dev/urandom", "/dev/random"] {
                    fs::File::open(name)?.read_exact(&mut bytes)?;
                }
                fs::OpenOptions::new().write(true).open("/dev/null")?.write_all(b"x")
            })(),
        )
    },
    ..BASE
};
