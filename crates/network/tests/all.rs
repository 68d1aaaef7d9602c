//! The tests of the network, in one program that is linked once.
//!
//! `cargo test -p zonekeep-network --test all proxy::` runs those of one file. Tests that
//! change or count what belongs to a whole process have their own.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;
mod proxy;
mod resolver;
mod transparent;
