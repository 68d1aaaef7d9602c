//! Runs a command so that the operating system holds what it may use.

pub mod plan;
pub mod seccomp;
