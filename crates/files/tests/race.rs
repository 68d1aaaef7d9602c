//! File work against an attacker who swaps what it works on.
//!
//! Threads exchange a directory with a link to a directory outside, and a file
//! with a link to a file outside, as fast as they can, while every verb runs.
//! Nothing outside may be read, written, made or removed.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;
use zonekeep_files::delete::delete;
use zonekeep_files::edit::{Edit, edit};
use zonekeep_files::list::{GlobOptions, glob, names};
use zonekeep_files::read::{Content, Page, read};
use zonekeep_files::relocate::{copy, rename};
use zonekeep_files::search::{Query, search};
use zonekeep_files::write::{WriteOptions, write};
use zonekeep_files::{HostStore, Lookup, Overwrite};
use zonekeep_policy::Place;
use zonekeep_policy::path::AgentPath;

const SECRET: &str = "secret-marker-4711";
/// Over both lookups.
const OPERATIONS: u64 = 1_000_000;

#[test]
fn nothing_outside_is_reached_while_links_are_swapped() {
    for lookup in [Lookup::Openat2, Lookup::Walk] {
        race(lookup, OPERATIONS / 2);
    }
}

/// The control: checking a path and then opening it does fall for this attacker.
#[test]
fn a_check_by_path_falls_for_the_same_attack() {
    let (_temp, base) = scene();
    let inside = base.join("inside");
    let stop = AtomicBool::new(false);
    let fell = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let swap = RenameFlags::EXCHANGE;
                let _ = renameat_with(CWD, inside.join("dir"), CWD, inside.join("dir-link"), swap);
            }
        });
        let path = inside.join("dir/file");
        let fell = (0..1_000_000).any(|_| {
            let checked = path.canonicalize().is_ok_and(|real| real.starts_with(&inside));
            checked && fs::read_to_string(&path).is_ok_and(|text| text == SECRET)
        });
        stop.store(true, Ordering::Relaxed);
        fell
    });
    assert!(fell, "the attacker is too slow to show anything");
}

fn race(lookup: Lookup, operations: u64) {
    let (_temp, base) = scene();
    let store = HostStore::open(&base.join("inside")).unwrap();
    if lookup == Lookup::Openat2 && store.lookup() != Lookup::Openat2 {
        eprintln!("skipped: the kernel has no lookup beneath a directory");
        assert!(std::env::var("ZONEKEEP_TEST_REQUIRE").as_deref() != Ok("all"));
        return;
    }
    let store = store.with_lookup(lookup);
    let stop = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let escapes = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        let inside = base.join("inside");
        let (stop, swaps, escapes, done, store) = (&stop, &swaps, &escapes, &done, &store);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for (a, b) in [("dir", "dir-link"), ("a/b", "a/b-link"), ("file", "file-link")] {
                    let swap = RenameFlags::EXCHANGE;
                    let _ = renameat_with(CWD, inside.join(a), CWD, inside.join(b), swap);
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                scope.spawn(move || {
                    let mut succeeded = 0;
                    let mut n = worker;
                    while done.fetch_add(1, Ordering::Relaxed) < operations {
                        let outcome = operate(store, n);
                        escapes
                            .fetch_add(u64::from(outcome == Outcome::Escaped), Ordering::Relaxed);
                        succeeded += u64::from(outcome == Outcome::Worked);
                        n += 1;
                    }
                    succeeded
                })
            })
            .collect();
        let succeeded: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        stop.store(true, Ordering::Relaxed);
        println!("{lookup:?}: {succeeded} of {operations} succeeded");
        assert!(
            succeeded > operations / 20,
            "{lookup:?}: only {succeeded} operations did anything"
        );
    });
    let swaps = swaps.into_inner();
    println!("{lookup:?}: {swaps} swaps");
    assert!(swaps > 1_000, "{lookup:?}: only {swaps} swaps");
    assert_eq!(escapes.into_inner(), 0, "{lookup:?}: the secret was read");
    assert_eq!(listed(&base.join("outside")), ["file", "keep", "sub"], "{lookup:?}");
    assert_eq!(listed(&base.join("outside/sub")), ["file", "keep"], "{lookup:?}");
    for path in ["file", "keep", "sub/file", "sub/keep"] {
        let content = fs::read_to_string(base.join("outside").join(path)).unwrap();
        assert_eq!(content, SECRET, "{lookup:?}: {path} was changed");
    }
}

/// The directory to work in, and one outside that looks the same but for the secret.
fn scene() -> (TempDir, PathBuf) {
    // In memory where that is possible: a million writes need no disk.
    let memory = Path::new("/dev/shm");
    let temp = match memory.is_dir() {
        true => TempDir::new_in(memory).or_else(|_| TempDir::new()),
        false => TempDir::new(),
    };
    let temp = temp.unwrap();
    let base = temp.path().canonicalize().unwrap();
    for dir in ["outside/sub", "inside/dir", "inside/a/b", "inside/mine"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    for path in ["file", "keep", "sub/file", "sub/keep"] {
        fs::write(base.join("outside").join(path), SECRET).unwrap();
    }
    for path in ["file", "dir/file", "dir/keep", "a/b/file", "a/b/keep"] {
        fs::write(base.join("inside").join(path), "plain text\n").unwrap();
    }
    let outside = base.join("outside");
    std::os::unix::fs::symlink(&outside, base.join("inside/dir-link")).unwrap();
    std::os::unix::fs::symlink("../../outside/sub", base.join("inside/a/b-link")).unwrap();
    std::os::unix::fs::symlink(outside.join("file"), base.join("inside/file-link")).unwrap();
    (temp, base)
}

fn listed(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[derive(PartialEq)]
enum Outcome {
    Worked,
    Failed,
    Escaped,
}

fn operate(store: &HostStore, n: u64) -> Outcome {
    let dirs = ["dir", "a/b", "dir", "dir-link"];
    let dir = dirs[(n / 16 % 4) as usize];
    let at = |path: String| Place::unchecked(AgentPath::absolute(&path).unwrap().as_rel().clone());
    let file = at(format!("/{dir}/file"));
    let mine = at(format!("/mine/{}", n % 7));
    let worked = |ok: bool| if ok { Outcome::Worked } else { Outcome::Failed };
    let leaked = |text: &str, ok: bool| match text.contains(SECRET) {
        true => Outcome::Escaped,
        false => worked(ok),
    };
    let page = Page::default();
    match n % 16 {
        0..=5 => {
            let place = if n.is_multiple_of(3) { at("/file".into()) } else { file };
            match read(store, &place, &page) {
                Ok(Content::Text(text)) => leaked(&text.content, true),
                _ => Outcome::Failed,
            }
        }
        6 => worked(write(store, &file, b"plain text\n", &WriteOptions::default()).is_ok()),
        7 => {
            let options = WriteOptions { append: !n.is_multiple_of(5), ..WriteOptions::default() };
            worked(write(store, &at(format!("/{dir}/log")), b"+", &options).is_ok())
        }
        8 => match names(store, &at(format!("/{dir}")), 100) {
            // Only the directory outside has an entry of that name.
            Ok(listing) if listing.entries.iter().any(|entry| entry.name == b"sub") => {
                Outcome::Escaped
            }
            other => worked(other.is_ok()),
        },
        9 => worked(delete(store, &file).is_ok()),
        10 => worked(rename(store, &file, store, &mine, Overwrite::Yes).is_ok()),
        11 => worked(rename(store, &mine, store, &file, Overwrite::Yes).is_ok()),
        12 => {
            let copied = copy(store, &file, store, &mine, Overwrite::Yes).is_ok();
            match read(store, &mine, &page) {
                Ok(Content::Text(text)) => leaked(&text.content, copied),
                _ => worked(copied),
            }
        }
        13 => {
            let (old, new) =
                if n.is_multiple_of(2) { ("plain", "PLAIN") } else { ("PLAIN", "plain") };
            let edits = [Edit { old: old.into(), new: new.into(), replace_all: true }];
            match edit(store, &at(format!("/{dir}/keep")), &edits, None) {
                Ok(edited) => leaked(&edited.diff, true),
                Err(fault) => leaked(&fault.to_string(), false),
            }
        }
        14 if n.is_multiple_of(5) => {
            let query = Query { pattern: "marker", threads: 1, ..Query::default() };
            match search(store, &at("/".into()), &query) {
                Ok(found) if found.total_matches > 0 => Outcome::Escaped,
                other => worked(other.is_ok()),
            }
        }
        14 => match glob(
            store,
            &at("/".into()),
            "**",
            &GlobOptions { threads: 1, ..GlobOptions::default() },
        ) {
            Ok(got) if got.paths.iter().any(|path| path.windows(3).any(|w| w == b"sub")) => {
                Outcome::Escaped
            }
            other => worked(other.is_ok()),
        },
        _ => {
            let made =
                write(store, &at(format!("/{dir}/n/m")), b"x", &WriteOptions::default()).is_ok();
            let _ = delete(store, &at(format!("/{dir}/n/m")));
            let _ = delete(store, &at(format!("/{dir}/n")));
            worked(made)
        }
    }
}
