//! The flag that `zonekeep run` lacked, named after a command that needed it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use zonekeep::Sandbox;
use zonekeep::command::Outcome;
use zonekeep::policy::At;
use zonekeep::policy::config::AgentProfile;

use super::explain::quoted;
use super::profile;
use super::run::ConfineArgs;

/// Returns the hints for a command that has ended.
pub(super) fn find(
    sandbox: &Sandbox,
    confine: &ConfineArgs,
    argv: &[OsString],
    outcome: &Outcome,
) -> Vec<String> {
    let mut hints = Vec::new();
    let granted: Vec<PathBuf> =
        confine.places().filter_map(|dir| dir.canonicalize().ok()).collect();
    let program = argv.first().filter(|name| {
        // A command can end with that status by itself, as shells do.
        let says = format!("{}: command not found\n", name.to_string_lossy());
        outcome.exit_code == Some(127) && outcome.stderr == says
    });
    if let Some(name) = program {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_agent = |agent: &&AgentProfile| profile::is_program(agent, argv);
        match (missing_program(name, &path, &granted), confine.agent().filter(is_agent)) {
            (None, Some(agent)) => hints.push(format!(
                "the profile {} runs {}, which is not in your PATH: install it outside first",
                agent.name, agent.program
            )),
            (hint, _) => hints.extend(hint),
        }
    }
    let zones = sandbox.grant().view().mounts();
    if granted.is_empty() && zones.iter().all(|mount| matches!(mount.zone.path.at, At::Default)) {
        hints.push(
            "add --rw . to let the command use this directory, or --ro . to let it read".to_owned(),
        );
    }
    hints
}

/// Returns the flags that would give a command a program of the host that it does not see:
/// the directory of the program, and of the file that a link to it leads to. The `PATH`
/// inside has no directory that a flag grants, because commands may be able to write it.
fn missing_program(name: &OsStr, path: &OsStr, granted: &[PathBuf]) -> Option<String> {
    let program = on_host(name, path)?;
    let real = program.canonicalize().ok()?;
    let dirs: BTreeSet<PathBuf> =
        [program.parent()?.canonicalize().ok()?, real.parent()?.to_owned()]
            .into_iter()
            .filter(|dir| !granted.iter().any(|granted| dir.starts_with(granted)))
            .collect();
    let shown = quoted(&program.to_string_lossy());
    let flags = dirs.iter().map(|dir| format!("--ro {}", quoted(&dir.to_string_lossy())));
    let flags: Vec<String> = flags.collect();
    let shown_name = name.display();
    if !flags.is_empty() {
        let flags = flags.join(" ");
        return Some(format!(
            "{shown_name} is a program of this machine; add {flags} and run {shown}"
        ));
    }
    // Where the path is right already, the interpreter or a library is missing.
    (name != program.as_os_str()).then(|| {
        format!("{shown_name} is in a granted directory, which PATH leaves out; run {shown}")
    })
}

/// Returns the path of a program of the host, as a shell would find it.
fn on_host(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let meta = path.metadata();
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.as_encoded_bytes().contains(&b'/') {
        return std::path::absolute(name).ok().filter(is_program);
    }
    std::env::split_paths(path).map(|dir| dir.join(name)).find(is_program)
}
