//! Reads a log that its standard error is appended to, by opening it once more.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/errors_file_read",
    what: "reads the log that is its standard error",
    given: |scene| {
        let path = scene.dir().join("outside/log.txt");
        fs::write(&path, SECRET).unwrap();
        Given::errors(fs::File::options().append(true).open(path).unwrap())
    },
    attempt: |_| {
        let read = sys::open_for_reading("/proc/self/fd/2").and_then(|fd| {
            let mut bytes = vec![0; 4096];
            let count = rustix::io::read(&fd, &mut bytes)?;
            bytes.truncate(count);
            Ok(bytes)
        });
        Outcome::when("read the log", Target::is_secret(&read))
    },
    ..BASE
};
