//! The commands, a file each.

pub(crate) mod approve;
#[cfg(target_os = "linux")]
pub(crate) mod cache;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod explain;
mod health;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod profile;
#[cfg(target_os = "linux")]
pub(crate) mod quarantine;
pub(crate) mod replay;
pub(crate) mod run;
mod run_hints;
pub(crate) mod schema;
pub(crate) mod tool;
pub(crate) mod trust;
pub(crate) mod work;
