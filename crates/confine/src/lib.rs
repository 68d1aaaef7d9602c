//! Runs a command so that the operating system holds what it may use.
//!
//! So far this is the filter for system calls alone, as data and as the program
//! that the kernel runs ([`seccomp`]); nothing starts a command yet.

pub mod seccomp;
