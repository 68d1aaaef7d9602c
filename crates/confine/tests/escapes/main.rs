//! Attacks on the sandbox, each first shown to work without one.
//!
//! The same executable is all three parts of a test. Without a flag it is the
//! runner: it takes every attack, as root and as an ordinary user, first
//! unconfined and then on every backend. For each of these it starts itself
//! with `--case`: that process plays the user's session, with a terminal, a
//! secret, open descriptors, sockets, keys and other processes, runs the
//! attack from there and looks afterwards at what became of it all. The attack
//! itself is `--attack`, in the sandbox or, as its own control, outside.
//!
//! `cargo test -p zonekeep-confine --test escapes -- [--list] [NAME…]`, and with
//! `ZONEKEEP_TEST_NETWORK=gate` where a list of hosts can be reached. For
//! `scripts/kernels`, `--json` prints every case for each `--backend NAME`, `--pick
//! COUNT` takes a selection, `--this-user` and `--no-control` leave cases out, and
//! `ZONEKEEP_TEST_SLOWNESS` multiplies every deadline on an emulated machine.

// Attacks are system calls, most of them ones that no safe wrapper would make,
// and a runner without a harness prints its own results.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod attack;
#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod case;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod prelude;
#[cfg(target_os = "linux")]
mod rule;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod scene;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    zonekeep_confine::launcher::become_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--attack", name, facts] => attack::main(name, facts),
        ["--case", name, ground, dir, attacker] => case::main(name, ground, dir, attacker),
        ["--victim", ..] => host::victim(),
        ["--linger", ..] => host::linger(),
        _ => runner::main(&args),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
