//! Ways around the list of hosts, tried one by one.
//!
//! Each attack is a few lines of Python (`network/programs/probe.py` has what it
//! is made of) that run in the sandbox, in an Internet of our own where every
//! address answers. What got out is decided by what the servers and the wire
//! saw, and a control shows that the attack would have worked.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "network/bench/mod.rs"]
mod bench;
#[path = "network/bypass/mod.rs"]
mod bypass;
