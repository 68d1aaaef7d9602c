//! Effects on places that a question showed: what arrives is what was shown.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]

pub mod common;

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Case, code, on_every_store, on_host_stores, place};
use zonekeep_files::edit::{Edit, edit};
use zonekeep_files::preview::{self, Shown};
use zonekeep_files::relocate::{copy, rename};
use zonekeep_files::write::{WriteOptions, write};
use zonekeep_files::{Fault, Kind, Overwrite};
use zonekeep_policy::Place;

const MAX: usize = 10_000;

/// Returns places as a question showed them.
fn places<const N: usize>(shown: &Shown, paths: [&str; N]) -> [Place; N] {
    assert_eq!(shown.fingerprints.len(), N);
    let mut fingerprints = shown.fingerprints.iter();
    paths.map(|path| place(path).as_shown(*fingerprints.next().unwrap()))
}

type Relocate = fn(&Case, &Place, &Place, Overwrite) -> Result<u64, Fault>;
type Show = fn(&Case, &str, &str) -> Shown;

/// Returns copying and moving, each with its preview.
fn relocations() -> [(&'static str, Show, Relocate); 2] {
    [
        (
            "copy",
            |case, from, to| {
                let store = Some(case.store());
                preview::copying(store, &place(from), store, &place(to), MAX)
            },
            |case, from, to, overwrite| {
                copy(case.store(), from, case.store(), to, overwrite).map(|copied| copied.bytes)
            },
        ),
        (
            "move",
            |case, from, to| {
                let store = Some(case.store());
                preview::moving(store, &place(from), store, &place(to), MAX)
            },
            |case, from, to, overwrite| {
                rename(case.store(), from, case.store(), to, overwrite).map(|moved| moved.bytes)
            },
        ),
    ]
}

#[test]
fn a_source_that_was_swapped_does_not_arrive() {
    on_every_store(|case| {
        for (verb, show, relocate) in relocations() {
            case.file("a", "harmless\n");
            let shown = show(case, "a", "to/b");
            assert!(shown.preview.as_ref().unwrap().text.contains("+harmless"), "{shown:?}");
            let [from, to] = places(&shown, ["a", "to/b"]);
            case.file("a", "harmful!\n");
            let outcome = relocate(case, &from, &to, Overwrite::Yes);
            assert_eq!(code(&outcome), "changed", "{verb}");
            assert!(!case.exists("to"), "{verb}: nothing is left of it");
            assert_eq!(case.content("a").unwrap(), b"harmful!\n", "{verb}");
            // The control: a place that no question showed takes what is there.
            assert_eq!(code(&relocate(case, &place("a"), &to, Overwrite::Yes)), "ok", "{verb}");
            assert_eq!(case.content("to/b").unwrap(), b"harmful!\n", "{verb}");
            // The other control: what was shown arrives.
            case.file("a", "harmless\n").file("to/b", "old\n");
            let [from, to] = places(&show(case, "a", "to/b"), ["a", "to/b"]);
            assert_eq!(relocate(case, &from, &to, Overwrite::Yes).unwrap(), 9, "{verb}");
            assert_eq!(case.content("to/b").unwrap(), b"harmless\n", "{verb}");
            assert_eq!(case.exists("a"), verb == "copy", "{verb}");
            rename(case.store(), &place("to"), case.store(), &place(verb), Overwrite::No).unwrap();
        }
    });
}

#[test]
fn a_source_too_large_to_show_is_compared_whole() {
    on_host_stores(|case| {
        for (verb, show, relocate) in relocations() {
            let mut content = vec![b'x'; 5 << 20];
            case.file("a", &content);
            let shown = show(case, "a", "b");
            let preview = shown.preview.as_ref().unwrap();
            assert!(!preview.whole && preview.text.contains("SHA-256 "), "{preview:?}");
            let [from, to] = places(&shown, ["a", "b"]);
            // One byte, in place, behind the back of the modification time.
            let file = std::fs::OpenOptions::new().write(true).open(case.host("a")).unwrap();
            let modified = file.metadata().unwrap().modified().unwrap();
            std::os::unix::fs::FileExt::write_at(&file, b"y", 4 << 20).unwrap();
            file.set_modified(modified).unwrap();
            assert_eq!(code(&relocate(case, &from, &to, Overwrite::No)), "changed", "{verb}");
            assert!(!case.exists("b"), "{verb}");
            content[4 << 20] = b'y';
            let [from, to] = places(&show(case, "a", "b"), ["a", "b"]);
            assert_eq!(code(&relocate(case, &from, &to, Overwrite::No)), "ok", "{verb}");
            assert_eq!(case.content("b").unwrap(), content, "{verb}");
            std::fs::remove_file(case.host("b")).unwrap();
        }
    });
}

#[test]
fn a_destination_that_changed_is_left_alone() {
    on_every_store(|case| {
        for (verb, show, relocate) in relocations() {
            for before in [None, Some("old\n")] {
                case.file("a", "new\n");
                let _ = before.map(|before| case.file("b", before));
                let [from, to] = places(&show(case, "a", "b"), ["a", "b"]);
                case.file("b", "meanwhile\n");
                let outcome = relocate(case, &from, &to, Overwrite::Yes);
                let text = outcome.unwrap_err().to_string();
                assert!(text.starts_with("the destination changed while"), "{verb}: {text}");
                assert_eq!(case.content("b").unwrap(), b"meanwhile\n", "{verb}");
                assert_eq!(case.content("a").unwrap(), b"new\n", "{verb}");
                zonekeep_files::delete::delete(case.store(), &place("b")).unwrap();
            }
        }
    });
}

#[test]
fn permissions_are_part_of_what_is_shown() {
    on_host_stores(|case| {
        let mode = |path: &str, mode| {
            std::fs::set_permissions(case.host(path), PermissionsExt::from_mode(mode)).unwrap();
        };
        let executable = |path: &str| case.host(path).metadata().unwrap().permissions().mode();
        for (verb, show, relocate) in relocations() {
            case.file("a", "#!/bin/sh\n");
            mode("a", 0o644);
            let shown = show(case, "a", "b");
            assert!(!shown.executable, "{verb}");
            let [from, to] = places(&shown, ["a", "b"]);
            mode("a", 0o755);
            assert_eq!(code(&relocate(case, &from, &to, Overwrite::No)), "changed", "{verb}");
            let shown = show(case, "a", "b");
            assert!(shown.executable, "{verb}");
            let [from, to] = places(&shown, ["a", "b"]);
            assert_eq!(code(&relocate(case, &from, &to, Overwrite::No)), "ok", "{verb}");
            assert_eq!(executable("b") & 0o777, 0o755, "{verb}");
            // Over another file: a copy takes on its permissions, a move brings its own.
            case.file("a", "#!/bin/sh\n").file("b", "plain\n");
            mode("a", 0o755);
            mode("b", 0o644);
            let shown = show(case, "a", "b");
            assert_eq!(shown.executable, verb == "move");
            let [from, to] = places(&shown, ["a", "b"]);
            assert_eq!(code(&relocate(case, &from, &to, Overwrite::Yes)), "ok", "{verb}");
            assert_eq!(executable("b") & 0o111 != 0, verb == "move");
            std::fs::remove_file(case.host("b")).unwrap();
        }
    });
}

#[test]
fn a_moved_directory_is_the_one_that_was_shown() {
    on_every_store(|case| {
        case.file("d/x", "one").file("d/sub/y", "two").link("d/l", "x");
        let show = || {
            let store = Some(case.store());
            preview::moving(store, &place("d"), store, &place("e/d"), MAX)
        };
        let moved = |shown: &Shown| {
            let [from, to] = places(shown, ["d", "e/d"]);
            rename(case.store(), &from, case.store(), &to, Overwrite::No)
        };
        let text = show().preview.unwrap().text;
        for line in ["a directory with 4 entries:", "l: a link to x", "sub/y: 3 bytes", "x: 3"] {
            assert!(text.contains(line), "{text}");
        }
        let shown = show();
        case.file("d/sub/y", "TWO");
        assert_eq!(code(&moved(&shown)), "changed");
        case.file("d/sub/y", "two").file("d/sub/z", "");
        assert_eq!(code(&moved(&shown)), "changed");
        assert!(case.exists("d/sub/z") && !case.exists("e"));
        zonekeep_files::delete::delete(case.store(), &place("d/sub/z")).unwrap();
        assert_eq!(moved(&shown).unwrap().kind, Kind::Dir);
        assert_eq!(case.content("e/d/sub/y").unwrap(), b"two");
    });
}

#[test]
fn a_link_or_another_kind_is_not_what_was_shown() {
    on_host_stores(|case| {
        let show = || {
            let store = Some(case.store());
            preview::moving(store, &place("a"), store, &place("b"), MAX)
        };
        let moved = |shown: &Shown| {
            let [from, to] = places(shown, ["a", "b"]);
            rename(case.store(), &from, case.store(), &to, Overwrite::No)
        };
        case.file("a", "x");
        let file = show();
        std::fs::remove_file(case.host("a")).unwrap();
        let nothing = show();
        case.link("a", "x");
        let link = show();
        assert_eq!(link.preview.as_ref().unwrap().text, "a symbolic link to x\n");
        for shown in [&file, &nothing] {
            assert_eq!(code(&moved(shown)), "changed");
        }
        std::fs::remove_file(case.host("a")).unwrap();
        case.link("a", "y");
        assert_eq!(code(&moved(&link)), "changed");
        assert_eq!(moved(&show()).unwrap().kind, Kind::Link);
        case.file("a", "x");
        std::fs::remove_file(case.host("b")).unwrap();
        assert_eq!(code(&moved(&nothing)), "changed");
        assert_eq!(code(&moved(&file)), "ok");
    });
}

#[test]
fn a_write_or_edit_starts_from_what_was_shown() {
    on_every_store(|case| {
        let store = case.store();
        let edits = [Edit { old: "one".into(), new: "1".into(), replace_all: false }];
        for append in [false, true] {
            let options = WriteOptions { append, ..WriteOptions::default() };
            for before in [None, Some("one\n")] {
                let _ = before.map(|before| case.file("a", before));
                let shown = preview::writing(Some(store), &place("a"), b"new\n", append, MAX);
                let [at] = places(&shown, ["a"]);
                case.file("a", "meanwhile\n");
                let outcome = write(store, &at, b"new\n", &options);
                assert_eq!(code(&outcome), "changed", "{append} {before:?}");
                assert_eq!(case.content("a").unwrap(), b"meanwhile\n");
                let shown = preview::writing(Some(store), &place("a"), b"new\n", append, MAX);
                let [at] = places(&shown, ["a"]);
                write(store, &at, b"new\n", &options).unwrap();
                let want: &[u8] = if append { b"meanwhile\nnew\n" } else { b"new\n" };
                assert_eq!(case.content("a").unwrap(), want);
                zonekeep_files::delete::delete(store, &place("a")).unwrap();
            }
        }
        case.file("a", "one\r\n");
        let shown = preview::editing(Some(store), &place("a"), &edits, MAX);
        assert!(shown.preview.as_ref().unwrap().text.contains("+1"), "{shown:?}");
        let [at] = places(&shown, ["a"]);
        case.file("a", "one; two\r\n");
        assert_eq!(code(&edit(store, &at, &edits, None)), "changed");
        // An edit that fits nothing when it is shown fits nothing that comes later.
        case.file("a", "nothing\n");
        let shown = preview::editing(Some(store), &place("a"), &edits, MAX);
        assert_eq!(shown.preview, None);
        let [at] = places(&shown, ["a"]);
        assert_eq!(code(&edit(store, &at, &edits, None)), "no_match");
        case.file("a", "one\n");
        assert_eq!(code(&edit(store, &at, &edits, None)), "changed");
        let [at] = places(&preview::editing(Some(store), &place("a"), &edits, MAX), ["a"]);
        edit(store, &at, &edits, None).unwrap();
        assert_eq!(case.content("a").unwrap(), b"1\n");
    });
}

#[test]
fn nothing_else_arrives_while_the_source_is_swapped() {
    on_host_stores(|case| {
        let (good, bad) = ("g".repeat(300_000), "b".repeat(300_000));
        for (verb, show, relocate) in relocations() {
            case.file("a", &good);
            let [from, to] = places(&show(case, "a", "b"), ["a", "b"]);
            let over = AtomicBool::new(false);
            let (source, other) = (case.host("a"), case.host("other"));
            std::thread::scope(|scope| {
                // Renames over it and writes into it, for as long as the other goes on.
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        for content in [&bad, &good] {
                            std::fs::write(&other, content).unwrap();
                            std::fs::rename(&other, &source).unwrap();
                            std::fs::write(&source, content).unwrap();
                        }
                    }
                });
                for _ in 0..200 {
                    let outcome = relocate(case, &from, &to, Overwrite::No);
                    match code(&outcome) {
                        "changed" | "not_found" => {}
                        // It was written to after it had arrived, and so stays.
                        "ok" | "stale" => {
                            let arrived = std::fs::read(case.host("b")).unwrap();
                            assert!(arrived == good.as_bytes(), "{verb}: other content arrived");
                        }
                        code => panic!("{verb}: {code}"),
                    }
                    let _ = std::fs::remove_file(case.host("b"));
                }
                over.store(true, Ordering::Relaxed);
            });
            for path in ["a", "other"] {
                let _ = std::fs::remove_file(case.host(path));
            }
        }
    });
}
