//! Secrets that commands use without seeing them.
//!
//! A command gets a placeholder in a variable; what the host's variable holds is
//! put in its place on the way to the listed hosts, in one header.

use crate::hosts::HostPattern;

/// The header that carries a secret unless its entry names another.
pub const DEFAULT_HEADER: &str = "Authorization";

/// A secret that commands use without seeing it (`sandbox.secrets.NAME`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The variable of the host that holds it.
    pub env: String,
    /// The hosts that it is sent to: names, never addresses.
    pub hosts: Vec<HostPattern>,
    /// The header that carries it.
    pub header: String,
}
