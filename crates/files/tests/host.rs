//! What only a host's directory can hold: pipes, devices, owners, hard links,
//! names that are not text, and sizes that do not fit in memory.

#![allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use common::{Case, code, on_host_stores, place, rel};
use rustix::fs::{CWD, Mode};
use zonekeep_files::delete::delete;
use zonekeep_files::edit::{Edit, edit};
use zonekeep_files::list::{GlobOptions, glob, names};
use zonekeep_files::read::{Content, Page, Text, read};
use zonekeep_files::relocate::{copy, rename};
use zonekeep_files::search::{Query, search};
use zonekeep_files::stat::info;
use zonekeep_files::write::{WriteOptions, write};
use zonekeep_files::{HostStore, Kind, Overwrite};
use zonekeep_policy::Place;
use zonekeep_policy::path::RelPath;

fn page(case: &Case, path: &str, offset: u64, limit: u64) -> Text {
    let page = Page { offset, limit, ..Page::default() };
    match read(case.store(), &place(path), &page).unwrap() {
        Content::Text(text) => text,
        Content::Image { .. } => panic!("an image"),
    }
}

fn appending() -> WriteOptions<'static> {
    WriteOptions { append: true, ..WriteOptions::default() }
}

/// Says why a test does not run here. Tests run as root and as an ordinary user,
/// and each of the two leaves some to the other: no failure, whatever is required.
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    on_host_stores(|case| {
        rustix::fs::mkfifoat(CWD, case.host("pipe"), Mode::RWXU).unwrap();
        let _socket = UnixListener::bind(case.host("socket")).unwrap();
        case.link("zero", "/dev/zero").link("tty", "/dev/tty").dir("d");
        let mut special = vec!["pipe", "socket"];
        let device = rustix::fs::makedev(1, 5);
        let made = rustix::fs::mknodat(
            CWD,
            case.host("device"),
            rustix::fs::FileType::CharacterDevice,
            Mode::RWXU,
            device,
        );
        match made {
            Ok(()) => special.push("device"),
            Err(_) => eprintln!("without a device: this user cannot make one"),
        }
        let started = Instant::now();
        let store = case.store();
        for name in special {
            let at = place(name);
            let edits = [Edit { old: "a".into(), new: "b".into(), replace_all: false }];
            for (verb, outcome) in [
                ("read", code(&read(store, &at, &Page::default()))),
                ("write", code(&write(store, &at, b"x", &WriteOptions::default()))),
                ("append", code(&write(store, &at, b"x", &appending()))),
                ("edit", code(&edit(store, &at, &edits, None))),
                ("copy", code(&copy(store, &at, store, &place("c"), Overwrite::No))),
            ] {
                assert_eq!(outcome, "special", "{verb} {name}");
            }
            assert_eq!(info(store, &at).unwrap().kind, Kind::Special);
        }
        for name in ["zero", "tty"] {
            assert_eq!(code(&read(store, &place(name), &Page::default())), "link");
        }
        let got = search(store, &place(""), &Query { pattern: "x", ..Query::default() }).unwrap();
        assert_eq!((got.files_searched, got.unreadable), (0, 0));
        assert!(started.elapsed() < Duration::from_secs(60), "something waited");
        rename(store, &place("pipe"), store, &place("d/pipe"), Overwrite::No).unwrap();
        assert_eq!(delete(store, &place("d/pipe")).unwrap(), Kind::Special);
    });
}

#[test]
fn other_names_of_a_file_keep_their_content() {
    on_host_stores(|case| {
        case.file("a", "old");
        // As if the second name were outside: it must not change.
        fs::hard_link(case.host("a"), case.host("other")).unwrap();
        write(case.store(), &place("a"), b"+1", &appending()).unwrap();
        assert_eq!(case.content("a").unwrap(), b"old+1");
        assert_eq!(case.content("other").unwrap(), b"old");
        fs::remove_file(case.host("other")).unwrap();
        fs::hard_link(case.host("a"), case.host("other")).unwrap();
        write(case.store(), &place("a"), b"new", &WriteOptions::default()).unwrap();
        let edits = [Edit { old: "old".into(), new: "edited".into(), replace_all: false }];
        edit(case.store(), &place("other"), &edits, None).unwrap();
        assert_eq!(case.content("a").unwrap(), b"new");
        assert_eq!(case.content("other").unwrap(), b"edited+1");
    });
}

#[test]
fn permissions_stay_and_set_uid_does_not() {
    on_host_stores(|case| {
        let mode = |path: &str| fs::metadata(case.host(path)).unwrap().mode() & 0o7777;
        case.file("script", "one");
        for (before, after) in [(0o755, 0o755), (0o600, 0o600), (0o4755, 0o755), (0o2711, 0o711)] {
            fs::set_permissions(case.host("script"), fs::Permissions::from_mode(before)).unwrap();
            copy(case.store(), &place("script"), case.store(), &place("copied"), Overwrite::No)
                .unwrap();
            assert_eq!(mode("copied"), after & 0o777, "a copy");
            delete(case.store(), &place("copied")).unwrap();
            if before & 0o400 != 0 {
                write(case.store(), &place("script"), b"two", &WriteOptions::default()).unwrap();
                assert_eq!(mode("script"), after, "{before:o}");
            }
        }
        write(case.store(), &place("new"), b"x", &WriteOptions::default()).unwrap();
        fs::write(case.host("by-hand"), "x").unwrap();
        assert_eq!(mode("new"), mode("by-hand"));
    });
}

#[test]
fn the_owner_stays_when_root_writes() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give files away");
    }
    on_host_stores(|case| {
        case.file("a", "old");
        std::os::unix::fs::chown(case.host("a"), Some(1234), Some(1235)).unwrap();
        write(case.store(), &place("a"), b"new", &WriteOptions::default()).unwrap();
        let meta = fs::metadata(case.host("a")).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (1234, 1235));
    });
}

#[test]
fn what_the_user_may_not_read_is_counted() {
    if rustix::process::geteuid().is_root() {
        return skip("root may read everything");
    }
    on_host_stores(|case| {
        case.file("closed/a", "needle")
            .file("open/b", "needle")
            .file("file", "needle")
            .file("pass/c", "needle");
        let set = |path: &str, mode| {
            fs::set_permissions(case.host(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        set("closed", 0o000);
        set("file", 0o000);
        set("pass", 0o300);
        let store = case.store();
        assert_eq!(code(&read(store, &place("closed/a"), &Page::default())), "unreadable");
        assert_eq!(code(&names(store, &place("closed"), 9)), "unreadable");
        assert_eq!(code(&names(store, &place("pass"), 9)), "unreadable");
        assert_eq!(code(&read(store, &place("file"), &Page::default())), "unreadable");
        // A directory that can be passed but not listed works by name.
        assert_eq!(code(&read(store, &place("pass/c"), &Page::default())), "ok");
        assert_eq!(code(&write(store, &place("pass/d"), b"x", &WriteOptions::default())), "ok");
        let got = glob(store, &place(""), "**", &GlobOptions::default()).unwrap();
        assert_eq!((got.total, got.unreadable), (2, 2));
        let got =
            search(store, &place(""), &Query { pattern: "needle", ..Query::default() }).unwrap();
        assert_eq!((got.total_matches, got.unreadable), (1, 3));
        for path in ["closed", "pass"] {
            set(path, 0o700);
        }
    });
}

#[test]
fn names_that_are_not_text_work() {
    on_host_stores(|case| {
        let raw = b"caf\xE9\n\x1b.txt";
        fs::write(case.root().join(OsStr::from_bytes(raw)), "needle").unwrap();
        let listing = names(case.store(), &place(""), 9).unwrap();
        assert_eq!(listing.entries[0].name, raw);
        assert_eq!(listing.entries[0].shown(), "caf\\xe9\\x0a\\x1b.txt");
        let at = Place::unchecked(RelPath::root().join(raw));
        assert_eq!(code(&read(case.store(), &at, &Page::default())), "ok");
        assert_eq!(
            code(&read(case.store(), &place(&listing.entries[0].shown()), &Page::default())),
            "ok"
        );
        let got = glob(case.store(), &place(""), "*.txt", &GlobOptions::default()).unwrap();
        assert_eq!(got.paths, [raw.to_vec()]);
        let got =
            search(case.store(), &place(""), &Query { pattern: "needle", ..Query::default() })
                .unwrap();
        assert_eq!(got.matches[0].path, raw);
        delete(case.store(), &at).unwrap();
    });
}

#[test]
fn a_page_of_a_huge_file_is_quick() {
    on_host_stores(|case| {
        let mut file = fs::File::create(case.host("huge")).unwrap();
        file.write_all("line\n".repeat(200_000).as_bytes()).unwrap();
        file.set_len(5 << 30).unwrap();
        let started = Instant::now();
        let text = page(case, "huge", 1, 3);
        assert_eq!(text.content, "line\nline\nline\n");
        assert_eq!((text.bytes, text.total_lines, text.next_offset), (5 << 30, None, Some(4)));
        assert_eq!(text.hash(), None);
        let text = page(case, "huge", 150_000, 1);
        assert_eq!(text.content, "line\n");
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    });
}

#[test]
fn a_large_file_is_paged_to_its_end() {
    on_host_stores(|case| {
        let mut file = fs::File::create(case.host("large")).unwrap();
        let lines = "0123456789abcde\n".repeat(65_536);
        for _ in 0..66 {
            file.write_all(lines.as_bytes()).unwrap();
        }
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"last").unwrap();
        let text = page(case, "large", 66 * 65_536, 5);
        assert_eq!(text.content, "0123456789abcde\nlast");
        assert_eq!((text.total_lines, text.next_offset), (Some(66 * 65_536 + 1), None));
        let at = place("large");
        let after = Page { offset: 66 * 65_536 + 2, ..Page::default() };
        assert_eq!(code(&read(case.store(), &at, &after)), "past_end");
        let edits = [Edit { old: "last".into(), new: "x".into(), replace_all: false }];
        assert_eq!(code(&edit(case.store(), &at, &edits, None)), "too_large");
        // Found in a stream, without the file in memory.
        let got =
            search(case.store(), &place(""), &Query { pattern: "^last$", ..Query::default() })
                .unwrap();
        assert_eq!(got.matches[0].lines[0].number, 66 * 65_536 + 1);
    });
}

fn many_entries(count: usize) {
    on_host_stores(|case| {
        for n in 0..count {
            fs::File::create(case.root().join(format!("f{n:07}"))).unwrap();
        }
        let listing = names(case.store(), &place(""), 3).unwrap();
        let shown: Vec<String> = listing.entries.iter().map(|entry| entry.shown()).collect();
        assert_eq!(shown, ["f0000000", "f0000001", "f0000002"]);
        assert_eq!((listing.total, listing.truncated), (count as u64, true));
        let got = glob(case.store(), &place(""), "*7", &GlobOptions::default()).unwrap();
        assert_eq!(got.total, count as u64 / 10);
        let started = Instant::now();
        assert_eq!(code(&read(case.store(), &place("f000000x"), &Page::default())), "not_found");
        assert!(started.elapsed() < Duration::from_secs(60), "looking for similar names took long");
    });
}

#[test]
fn a_directory_of_20_000_entries() {
    many_entries(20_000);
}

#[test]
#[ignore = "makes a million files"]
fn a_directory_of_a_million_entries() {
    many_entries(1_000_000);
}

#[test]
fn a_removed_root_is_noticed() {
    on_host_stores(|case| {
        fs::remove_dir(case.root()).unwrap();
        let store = case.store();
        assert_eq!(code(&store.check()), "gone");
        assert_eq!(code(&read(store, &place("a"), &Page::default())), "gone");
        assert_eq!(code(&names(store, &place(""), 9)), "gone");
        assert_eq!(code(&glob(store, &place(""), "**", &GlobOptions::default())), "gone");
        assert_eq!(code(&write(store, &place("a/b"), b"x", &WriteOptions::default())), "gone");
        assert_eq!(code(&write(store, &place("a"), b"x", &WriteOptions::default())), "gone");
        assert_eq!(code(&delete(store, &place("a"))), "gone");
        fs::create_dir(case.root()).unwrap();
        assert_eq!(code(&store.check()), "gone", "another directory of that name is not ours");
    });
}

#[test]
fn a_moved_root_is_still_the_same_directory() {
    let temp = tempfile::TempDir::new().unwrap();
    let base = temp.path().canonicalize().unwrap();
    fs::create_dir(base.join("a")).unwrap();
    let store = HostStore::open(&base.join("a")).unwrap();
    assert_eq!(store.host_path().unwrap(), base.join("a"));
    fs::rename(base.join("a"), base.join("b")).unwrap();
    assert_eq!(store.host_path().unwrap(), base.join("b"));
    write(&store, &place("x"), b"1", &WriteOptions::default()).unwrap();
    assert!(base.join("b/x").exists());
}

#[test]
fn a_lock_that_somebody_keeps_ends_in_busy() {
    on_host_stores(|case| {
        case.dir("d");
        let held = fs::File::open(case.host("d")).unwrap();
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let outcome = write(case.store(), &place("d/x"), b"1", &WriteOptions::default());
        assert_eq!(code(&outcome), "busy");
        assert!(!case.exists("d/x"));
    });
}

#[test]
fn every_descriptor_is_closed_again() {
    on_host_stores(|case| {
        let open = || fs::read_dir("/proc/self/fd").map(Iterator::count);
        let Ok(_) = open() else { return skip("there is no /proc") };
        case.file("a/b", "x").link("l", "a");
        let dir = case.store().open_dir(&rel("l")).unwrap();
        drop(dir);
        // Other tests run beside this one: only growth by a lot is a leak.
        let before = open().unwrap();
        for _ in 0..2_000 {
            let _ = read(case.store(), &place("l/b"), &Page::default());
            let _ = read(case.store(), &place("l"), &Page::default());
            let _ = delete(case.store(), &place("l/c"));
        }
        assert!(open().unwrap() < before + 500);
    });
}
