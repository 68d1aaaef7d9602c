//! Attacks on the terminal of whoever started the sandbox.

use std::path::Path;

use crate::attack::{Attack, Outcome};
use crate::scene::Target;
use crate::sys;

mod console_steal;
mod consoles;
mod discipline;
mod inject;
mod inject_own;
mod inject_wide;
mod selection;
mod write;
mod write_by_name;
mod write_by_process;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Leaks from the caller", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &console_steal::ATTACK,
    &consoles::ATTACK,
    &discipline::ATTACK,
    &inject::ATTACK,
    &inject_own::ATTACK,
    &inject_wide::ATTACK,
    &selection::ATTACK,
    &write::ATTACK,
    &write_by_name::ATTACK,
    &write_by_process::ATTACK,
];

/// Types a letter into the caller's terminal with that request.
fn type_into(target: &Target, request: usize) -> Outcome {
    let open = |path: &Path| sys::open(path, libc::O_RDWR | libc::O_NOCTTY, 0);
    Outcome::any([Path::new("/dev/tty"), &target.terminal].map(|path| {
        let typed = open(path).and_then(|fd| sys::ioctl(&fd, request, sys::at(b"x")));
        Outcome::of("typed into the terminal", typed)
    }))
}
