//! Runs a command so that the operating system holds what it may use.

pub mod plan;
pub mod runtime;
pub mod seatbelt;
pub mod seccomp;

#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
pub mod child;
#[cfg(target_os = "linux")]
pub mod launcher;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod prove;
#[cfg(target_os = "linux")]
pub mod quarantine;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(target_os = "linux")]
pub mod strength;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
pub mod tree;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use wire::{Caught, Layers, Over};
