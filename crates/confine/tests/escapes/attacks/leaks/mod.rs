//! What the caller has that must not be found inside.

use crate::attack::Attack;

mod agent_socket;
mod arguments_of_others;
mod descriptor_climb;
mod descriptors;
mod descriptors_all;
mod environment;
mod environment_of_others;
mod host_name;
mod machine_identity;
mod mount_sources;
mod program_path;
mod serial_numbers;
mod working_directory;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Leaks from the caller", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &agent_socket::ATTACK,
    &arguments_of_others::ATTACK,
    &descriptor_climb::ATTACK,
    &descriptors::ATTACK,
    &descriptors_all::ATTACK,
    &environment::ATTACK,
    &environment_of_others::ATTACK,
    &host_name::ATTACK,
    &machine_identity::ATTACK,
    &mount_sources::ATTACK,
    &program_path::ATTACK,
    &serial_numbers::ATTACK,
    &working_directory::ATTACK,
];
