//! Attempts to leave a file that runs with its owner's rights.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::attack::Attack;
use crate::scene::Scene;

mod capabilities;
mod capability;
mod chmod;
#[cfg(target_arch = "x86_64")]
mod chmod_old;
mod directory;
mod fchmod;
mod fchmodat2;
mod groups;
mod inheritable;
mod mknod;
mod no_new_privileges;
mod open;
#[cfg(target_arch = "x86_64")]
mod open_old;
mod openat2;
mod other_user;
mod root_user;
mod tmpfile;
mod wide_argument;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Files planted for later", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &capabilities::ATTACK,
    &capability::ATTACK,
    &chmod::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &chmod_old::ATTACK,
    &directory::ATTACK,
    &fchmod::ATTACK,
    &fchmodat2::ATTACK,
    &groups::ATTACK,
    &inheritable::ATTACK,
    &mknod::ATTACK,
    &no_new_privileges::ATTACK,
    &open::ATTACK,
    #[cfg(target_arch = "x86_64")]
    &open_old::ATTACK,
    &openat2::ATTACK,
    &other_user::ATTACK,
    &root_user::ATTACK,
    &tmpfile::ATTACK,
    &wide_argument::ATTACK,
];

/// Fails if something in the writable zone has a set-uid or set-gid bit.
fn no_bits(scene: &Scene) -> Result<(), String> {
    for entry in fs::read_dir(scene.rw("")).unwrap() {
        let entry = entry.unwrap();
        if entry.metadata().unwrap().mode() & 0o6000 != 0 {
            return Err(format!("{:?} has the bit", entry.file_name()));
        }
    }
    Ok(())
}
