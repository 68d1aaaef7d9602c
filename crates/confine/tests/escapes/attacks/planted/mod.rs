//! Files that would run later, on the host.

use std::fs;

use crate::attack::{Attack, Outcome};
use crate::scene::{MARK, Target};

mod again_and_again;
mod attributes;
mod bashrc;
mod cargo_config;
mod claude_settings;
mod config_append;
mod config_by_git;
mod config_hard_link;
mod config_hard_link_new;
mod config_include;
mod config_link;
mod config_lock;
mod config_old_handle;
mod config_rename_over;
mod config_second_name;
mod devcontainer;
mod envrc;
mod flood;
mod git_bare;
mod git_common_directory;
mod git_exchange;
mod git_file;
mod git_in_objects;
mod git_info_attributes;
mod git_link;
mod git_parent_swap;
mod git_swap;
mod gitconfig;
mod held_open;
mod hook;
mod hook_closed_directory;
mod hook_nested;
mod hook_new_repository;
mod hook_strange_name;
mod hook_submodule;
mod hook_through_link;
mod hook_upper_case;
mod hook_worktree;
mod hooks_path;
mod idea;
mod late_daemon;
mod mcp_servers;
mod npmrc;
mod own_program;
mod pre_commit;
mod project_file;
mod rename_at_the_end;
mod rename_into_place;
mod too_deep;
mod vscode;
mod worker_file;
mod workflow;
mod yarnrc;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Files planted for later", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &git_in_objects::ATTACK,
    &config_old_handle::ATTACK,
    &again_and_again::ATTACK,
    &attributes::ATTACK,
    &bashrc::ATTACK,
    &cargo_config::ATTACK,
    &claude_settings::ATTACK,
    &config_append::ATTACK,
    &config_by_git::ATTACK,
    &config_hard_link::ATTACK,
    &config_hard_link_new::ATTACK,
    &config_include::ATTACK,
    &config_link::ATTACK,
    &config_lock::ATTACK,
    &config_rename_over::ATTACK,
    &config_second_name::ATTACK,
    &devcontainer::ATTACK,
    &envrc::ATTACK,
    &flood::ATTACK,
    &git_bare::ATTACK,
    &git_common_directory::ATTACK,
    &git_exchange::ATTACK,
    &git_file::ATTACK,
    &git_info_attributes::ATTACK,
    &git_link::ATTACK,
    &git_parent_swap::ATTACK,
    &git_swap::ATTACK,
    &gitconfig::ATTACK,
    &held_open::ATTACK,
    &hook::ATTACK,
    &hook_closed_directory::ATTACK,
    &hook_nested::ATTACK,
    &hook_new_repository::ATTACK,
    &hook_strange_name::ATTACK,
    &hook_submodule::ATTACK,
    &hook_through_link::ATTACK,
    &hook_upper_case::ATTACK,
    &hook_worktree::ATTACK,
    &hooks_path::ATTACK,
    &idea::ATTACK,
    &late_daemon::ATTACK,
    &mcp_servers::ATTACK,
    &npmrc::ATTACK,
    &own_program::ATTACK,
    &pre_commit::ATTACK,
    &project_file::ATTACK,
    &rename_at_the_end::ATTACK,
    &rename_into_place::ATTACK,
    &too_deep::ATTACK,
    &vscode::ATTACK,
    &worker_file::ATTACK,
    &workflow::ATTACK,
    &yarnrc::ATTACK,
];

/// Writes a file of the writable zone, and the directories above it.
fn plant(target: &Target, path: &str) -> Outcome {
    plant_text(target, path, &format!("# {MARK}\n"))
}

/// The same with a content that does harm.
fn plant_text(target: &Target, path: &str, text: &str) -> Outcome {
    let path = target.rw.join(path);
    let dir = path.parent().expect("a directory above it");
    let _ = fs::create_dir_all(dir).and_then(|()| fs::write(&path, text));
    Outcome::Tried
}

/// Makes what git takes for a repository, with settings that run a program.
fn craft(target: &Target, path: &str) {
    let dir = target.rw.join(path);
    for name in ["objects", "refs/heads", "hooks"] {
        let _ = fs::create_dir_all(dir.join(name));
    }
    let _ = fs::write(dir.join("HEAD"), "ref: refs/heads/main\n");
    let _ = fs::write(dir.join("config"), format!("[core]\n\tfsmonitor = {MARK}\n"));
}
