//! Attempts to change what is mounted where.

use crate::attack::{Attack, Control};

mod bind;
mod chroot;
mod clone3;
mod clone3_reached;
mod clone_each;
mod clone_wide;
mod fsopen;
mod fspick;
mod joined_user_namespace;
mod namespace_parent;
mod open_tree;
mod open_tree_plain;
mod overlay;
mod pivot_root;
mod proc;
mod remount;
mod setattr;
mod setattr_reached;
mod setns;
mod setns_reached;
mod tmpfs;
mod umount;
mod unshare_each;
mod user_namespace;

/// What these attacks have in common.
const BASE: Attack =
    Attack { threat: "User namespaces", control: Control::Namespaces, ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &bind::ATTACK,
    &chroot::ATTACK,
    &clone3::ATTACK,
    &clone3_reached::ATTACK,
    &clone_each::ATTACK,
    &clone_wide::ATTACK,
    &fsopen::ATTACK,
    &fspick::ATTACK,
    &joined_user_namespace::ATTACK,
    &namespace_parent::ATTACK,
    &open_tree::ATTACK,
    &open_tree_plain::ATTACK,
    &overlay::ATTACK,
    &pivot_root::ATTACK,
    &proc::ATTACK,
    &remount::ATTACK,
    &setattr::ATTACK,
    &setattr_reached::ATTACK,
    &setns::ATTACK,
    &setns_reached::ATTACK,
    &tmpfs::ATTACK,
    &umount::ATTACK,
    &unshare_each::ATTACK,
    &user_namespace::ATTACK,
];
