//! A sandbox whose caller answers at its sockets, on every backend that this
//! machine offers.
//!
//! The program is its own launcher, and so has a `main` of its own: words among
//! its arguments are parts of the names of the tests to run. With `helper` it is
//! what runs inside.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

#[cfg(target_os = "linux")]
#[path = "gateway/inside.rs"]
mod inside;
#[cfg(target_os = "linux")]
#[path = "gateway/outside.rs"]
mod outside;
#[cfg(target_os = "linux")]
#[path = "gateway/world.rs"]
mod world;

#[cfg(target_os = "linux")]
fn main() {
    use std::panic::catch_unwind;
    use zonekeep_confine::plan::Backend;
    use zonekeep_confine::{launcher, probe, tree::Launcher};

    launcher::become_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "helper") {
        return inside::main(&arguments[1..]);
    }
    let filters: Vec<_> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let list = arguments.iter().any(|word| word == "--list");
    let (mut failed, mut ran) = (Vec::new(), 0);
    for backend in [Backend::Namespaces, Backend::Bubblewrap, Backend::Landlock, Backend::None] {
        let tests = if backend.has_own_tree() { outside::OWN } else { outside::SHARED };
        let names = tests.iter().map(|(name, test)| (format!("{backend}::{name}"), test));
        let wanted: Vec<_> = names
            .filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(*f)))
            .collect();
        if list {
            wanted.iter().for_each(|(name, _)| println!("{name}: test"));
            continue;
        }
        let offer = probe::probe(backend, &Launcher::this_program());
        if !wanted.is_empty() && !offer.available {
            zonekeep_testkit::skip(&format!("{backend} is not available: {offer:?}"));
            continue;
        }
        for (name, test) in wanted {
            ran += 1;
            match catch_unwind(|| test(&world::World::new(backend))) {
                Ok(()) => println!("test {name} ... ok"),
                Err(_) => {
                    println!("test {name} ... FAILED");
                    failed.push(name);
                }
            }
        }
    }
    println!("{ran} tests, failed: {failed:?}");
    std::process::exit(i32::from(!failed.is_empty()));
}

#[cfg(not(target_os = "linux"))]
fn main() {}
