//! Programs that people use reach the hosts that are allowed, and no others.
//!
//! Each client runs in an Internet of our own (`testkit::internet`): unconfined
//! on a second host, where both names have to work, and then in the sandbox,
//! with the proxy that Zonekeep offers and without it. An allowed name works; a
//! name that is not on the list fails at once, nothing of it is ever seen beyond
//! the host, and the refusal is on record.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "network/bench/mod.rs"]
mod bench;
#[path = "network/clients/mod.rs"]
mod clients;
