//! The tests of the library, in one program that is linked once.
//!
//! `cargo test -p zonekeep --test all words::` runs those of one file.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod approval;
mod approvers;
mod common;
mod deferring;
mod results;
mod sandbox;
mod schemas;
mod shown;
mod trust;
mod watch;
mod withdrawn;
mod words;
