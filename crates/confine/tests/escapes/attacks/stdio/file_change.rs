//! Truncates, overwrites and changes the mode of a file of the host that is its
//! standard input.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/file_change",
    what: "changes the file that is its standard input",
    given: |scene| {
        let path = scene.dir().join("outside/secret.txt");
        Given::input(fs::File::options().read(true).write(true).open(path).unwrap())
    },
    attempt: |_| {
        Outcome::any([
            Outcome::of("cut the file", call(libc::SYS_ftruncate, &[0, 3])),
            Outcome::of("wrote", call(libc::SYS_pwrite64, &[0, sys::at(b"x"), 1, 0])),
            // The mode of a pipe is nobody's.
            match rustix::fs::fstat(io::stdin())
                .is_ok_and(|stat| stat.st_nlink > 0 && stat.st_size > 0)
            {
                true => Outcome::of("changed the mode", call(libc::SYS_fchmod, &[0, 0o666])),
                false => Outcome::Held("it is no file".to_owned()),
            },
        ])
    },
    ..BASE
};
