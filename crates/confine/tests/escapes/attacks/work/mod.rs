//! Ordinary things, which have to work inside.

use std::process::Command;

use crate::attack::{Attack, Control, Outcome};
use crate::scene::Target;

mod background;
mod devices;
mod files;
mod generated_code;
mod git_clone;
mod git_commit;
mod git_commit_existing;
mod git_submodule;
mod git_worktree;
mod limits;
mod loopback;
mod memory_in_common;
mod permissions;
mod personality;
mod processes;
mod standard_input;
mod temporary_files;
mod terminal;
mod threads;
mod unix_sockets;
mod waiting;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Normal work", control: Control::Ordinary, ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &background::ATTACK,
    &devices::ATTACK,
    &files::ATTACK,
    &generated_code::ATTACK,
    &git_clone::ATTACK,
    &git_commit::ATTACK,
    &git_commit_existing::ATTACK,
    &git_submodule::ATTACK,
    &git_worktree::ATTACK,
    &limits::ATTACK,
    &loopback::ATTACK,
    &memory_in_common::ATTACK,
    &permissions::ATTACK,
    &personality::ATTACK,
    &processes::ATTACK,
    &standard_input::ATTACK,
    &temporary_files::ATTACK,
    &terminal::ATTACK,
    &threads::ATTACK,
    &unix_sockets::ATTACK,
    &waiting::ATTACK,
];

/// Runs git in the writable zone, one command after the other.
fn git(target: &Target, commands: &[&[&str]]) -> Outcome {
    for arguments in commands {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
        command.args(["-c", "init.defaultBranch=main"]).args(*arguments).current_dir(&target.rw);
        match command.env("GIT_CONFIG_NOSYSTEM", "1").output() {
            Err(error) => return Outcome::Missing(format!("git: {error}")),
            Ok(output) if !output.status.success() => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                return Outcome::Broke(format!("git {arguments:?} does not work: {said}"));
            }
            Ok(_) => {}
        }
    }
    Outcome::Held("git works".to_owned())
}
