//! The tests of the workers, in one program that is linked once.
//!
//! `cargo test -p zonekeep-worker --test all taint::` runs those of one file.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;
mod delegation;
mod http;
mod model;
mod model_remote;
mod model_scripted;
mod run;
mod taint;
