//! The same for macOS, where the system's own sandbox confines a command and no
//! process of ours stays with it.

pub mod activity;
pub mod launcher;
pub mod links;
pub mod probe;
pub mod prove;
pub mod sensitive;
pub mod signals;
pub mod tree;
