//! Runs a command so that the operating system holds what it may use.
//!
//! A [`plan`] says what a sandbox is made of; a [`tree`] is one that runs, and
//! commands are started in it. [`probe`] says what the machine offers,
//! [`strength`] how far each rule holds, [`prove`] tries.

pub mod child;
pub mod ladder;
pub mod plan;
pub mod runtime;
pub mod seatbelt;
pub mod seccomp;
pub mod strength;

mod report;

#[cfg(target_os = "linux")]
pub mod activity;
#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
mod beside;
#[cfg(target_os = "linux")]
mod committed;
#[cfg(target_os = "linux")]
pub mod launcher;
#[cfg(target_os = "linux")]
pub mod links;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod prove;
#[cfg(target_os = "linux")]
pub mod quarantine;
#[cfg(target_os = "linux")]
pub mod sensitive;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(target_os = "linux")]
pub mod stdio;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
pub mod tree;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
mod macos;
#[cfg(not(target_os = "linux"))]
pub use macos::{activity, launcher, links, probe, prove, sensitive, signals, tree};

pub use report::{Caught, Fate, Layers, Over};
