//! Attacks on files outside the zones, and on zones that can only be read.

use crate::attack::Attack;

mod dots;
mod file_handle;
mod file_handle_made;
mod hard_link_in;
mod hard_link_out;
mod hidden_keys;
mod host_homes;
mod host_run;
mod host_state;
mod host_tmp;
mod host_tmp_write;
mod host_var_tmp;
mod kept_delete;
mod kept_rename;
mod lease;
mod linked_moved;
mod linked_write;
mod list;
mod make_directory;
mod openat2;
mod place;
mod private_keys;
mod proc_cwd;
mod proc_fd;
mod proc_map_files;
mod proc_root;
mod proc_root_of_others;
mod racing_link;
mod read_absolute;
mod read_link;
mod rename_in;
mod rename_out;
mod ro_chmod;
mod ro_chown;
mod ro_create;
mod ro_exchange;
mod ro_flags;
mod ro_hard_link;
mod ro_inner_parent;
mod ro_mmap;
mod ro_rename;
mod ro_rename_zone;
mod ro_reopen;
mod ro_tmpfile;
mod ro_truncate;
mod ro_unlink;
mod ro_utime;
mod ro_write;
mod ro_xattr;
mod shadow;
mod stat;
mod write_absolute;
mod write_link;
mod write_programs;
mod write_system;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Files outside", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &ro_inner_parent::ATTACK,
    &dots::ATTACK,
    &file_handle::ATTACK,
    &file_handle_made::ATTACK,
    &hard_link_in::ATTACK,
    &hard_link_out::ATTACK,
    &hidden_keys::ATTACK,
    &host_homes::ATTACK,
    &host_run::ATTACK,
    &host_state::ATTACK,
    &host_tmp::ATTACK,
    &host_tmp_write::ATTACK,
    &host_var_tmp::ATTACK,
    &kept_delete::ATTACK,
    &kept_rename::ATTACK,
    &lease::ATTACK,
    &linked_moved::ATTACK,
    &linked_write::ATTACK,
    &list::ATTACK,
    &make_directory::ATTACK,
    &openat2::ATTACK,
    &place::ATTACK,
    &private_keys::ATTACK,
    &proc_cwd::ATTACK,
    &proc_fd::ATTACK,
    &proc_map_files::ATTACK,
    &proc_root::ATTACK,
    &proc_root_of_others::ATTACK,
    &racing_link::ATTACK,
    &read_absolute::ATTACK,
    &read_link::ATTACK,
    &rename_in::ATTACK,
    &rename_out::ATTACK,
    &ro_chmod::ATTACK,
    &ro_chown::ATTACK,
    &ro_create::ATTACK,
    &ro_exchange::ATTACK,
    &ro_flags::ATTACK,
    &ro_hard_link::ATTACK,
    &ro_mmap::ATTACK,
    &ro_rename::ATTACK,
    &ro_rename_zone::ATTACK,
    &ro_reopen::ATTACK,
    &ro_tmpfile::ATTACK,
    &ro_truncate::ATTACK,
    &ro_unlink::ATTACK,
    &ro_utime::ATTACK,
    &ro_write::ATTACK,
    &ro_xattr::ATTACK,
    &shadow::ATTACK,
    &stat::ATTACK,
    &write_absolute::ATTACK,
    &write_link::ATTACK,
    &write_programs::ATTACK,
    &write_system::ATTACK,
];
