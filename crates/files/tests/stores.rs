//! One body of tests for every store and every way to look paths up.

#![allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

pub mod common;

use common::{Case, SECRET, code, on_every_store, place, rel};
use zonekeep_files::delete::delete;
use zonekeep_files::edit::{Edit, edit};
use zonekeep_files::list::{Entry, GlobOptions, glob, names};
use zonekeep_files::read::{Content, Page, Text, read, read_bytes, read_whole};
use zonekeep_files::relocate::{copy, rename};
use zonekeep_files::search::{Query, search};
use zonekeep_files::stat::info;
use zonekeep_files::write::{WriteOptions, write};
use zonekeep_files::{Fault, Kind, Overwrite, hash, preview};

fn text(case: &Case, path: &str) -> Result<String, Fault> {
    Ok(page(case, path, &Page::default())?.content)
}

fn page(case: &Case, path: &str, page: &Page) -> Result<Text, Fault> {
    match read(case.store(), &place(path), page)? {
        Content::Text(text) => Ok(text),
        Content::Image { .. } => panic!("an image"),
    }
}

fn put(case: &Case, path: &str, content: &str) -> Result<(), Fault> {
    write(case.store(), &place(path), content.as_bytes(), &WriteOptions::default()).map(drop)
}

fn replacing(old: &str, new: &str) -> Vec<Edit> {
    vec![Edit { old: old.into(), new: new.into(), replace_all: false }]
}

fn found(case: &Case, at: &str, pattern: &str) -> Result<Vec<String>, Fault> {
    let globbed = glob(case.store(), &place(at), pattern, &GlobOptions::default())?;
    Ok(globbed.paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect())
}

#[test]
fn what_is_written_is_read() {
    on_every_store(|case| {
        let store = case.store();
        let written =
            write(store, &place("a/b/c.txt"), b"one\n", &WriteOptions::default()).unwrap();
        assert_eq!((written.bytes, written.created), (4, true));
        assert_eq!(written.hash.as_deref(), Some(hash::hash(b"one\n").as_str()));
        assert_eq!(text(case, "a/b/c.txt").unwrap(), "one\n");
        let written =
            write(store, &place("a/b/c.txt"), b"two\n", &WriteOptions::default()).unwrap();
        assert!(!written.created);
        assert_eq!(text(case, "a/b/c.txt").unwrap(), "two\n");
        let append = WriteOptions { append: true, ..WriteOptions::default() };
        let written = write(store, &place("a/b/c.txt"), b"three\n", &append).unwrap();
        assert_eq!((written.bytes, written.created), (10, false));
        assert_eq!(written.hash, Some(hash::hash(b"two\nthree\n")));
        let written = write(store, &place("a/new"), b"x", &append).unwrap();
        assert_eq!((written.bytes, written.created), (1, true));
        assert_eq!(text(case, "a/b/c.txt").unwrap(), "two\nthree\n");
        put(case, "empty", "").unwrap();
        assert_eq!(text(case, "empty").unwrap(), "");
    });
}

#[test]
fn a_write_can_insist_on_what_it_replaces() {
    on_every_store(|case| {
        case.file("a", "old");
        let write = |path: &str, content: &str, options: &WriteOptions<'_>| {
            write(case.store(), &place(path), content.as_bytes(), options)
        };
        let new = WriteOptions { overwrite: Overwrite::No, ..WriteOptions::default() };
        assert_eq!(code(&write("a", "new", &new)), "exists");
        assert_eq!(code(&write("b", "new", &new)), "ok");
        let old = hash::hash(b"old");
        let checked = WriteOptions { expected_hash: Some(&old), ..WriteOptions::default() };
        assert_eq!(code(&write("a", "new", &checked)), "ok");
        let stale = write("a", "newer", &checked);
        assert!(
            matches!(&stale, Err(Fault::Stale { current: Some(current) }) if *current == hash::hash(b"new")),
            "{stale:?}"
        );
        assert_eq!(code(&write("missing", "x", &checked)), "stale");
        let no_parents = WriteOptions { create_parents: false, ..WriteOptions::default() };
        assert_eq!(code(&write("x/y", "z", &no_parents)), "not_found");
        assert!(!case.exists("x") && !case.exists("missing"));
        assert_eq!(text(case, "a").unwrap(), "new");
    });
}

#[test]
fn links_inside_are_followed_on_the_way_and_never_at_the_end() {
    on_every_store(|case| {
        case.file("real/deep/a.txt", "text")
            .link("way", "real/deep")
            .link("real/up", "../real/./deep")
            .link("chain", "way")
            .link("last", "real/deep/a.txt")
            .link("real/back", "../real/../last");
        for path in ["way/a.txt", "real/up/a.txt", "chain/a.txt"] {
            assert_eq!(text(case, path).unwrap(), "text", "{path}");
        }
        let dir = case.store().open_dir(&rel("chain")).unwrap();
        assert_eq!(dir.real_path(), &rel("real/deep"));
        for path in ["last", "real/back"] {
            let outcome = text(case, path);
            assert_eq!(code(&outcome), "link", "{path}");
            assert_eq!(code(&put(case, path, "x")), "link", "{path}");
            let append = WriteOptions { append: true, ..WriteOptions::default() };
            assert_eq!(code(&write(case.store(), &place(path), b"x", &append)), "link", "{path}");
            assert_eq!(code(&edit(case.store(), &place(path), &replacing("t", "x"), None)), "link");
            let copied = copy(case.store(), &place(path), case.store(), &place("c"), Overwrite::No);
            assert_eq!(code(&copied), "link", "{path}");
        }
        let fault = text(case, "last").unwrap_err();
        assert!(fault.to_string().ends_with("\nIt leads to: real/deep/a.txt"), "{fault}");
        put(case, "way/b.txt", "new").unwrap();
        assert_eq!(case.content("real/deep/b.txt").unwrap(), b"new");
        put(case, "way/more/c.txt", "new").unwrap();
        assert_eq!(case.content("real/deep/more/c.txt").unwrap(), b"new");
    });
}

#[test]
fn links_that_leave_are_refused_by_every_verb() {
    on_every_store(|case| {
        let outside = case.outside();
        case.file("in", "x")
            .dir("sub")
            .link("abs", &outside)
            .link("rel", "../outside")
            .link("sub/rel", "../../outside")
            .link("zigzag", "sub/../../outside")
            .link("hop", "abs")
            .link("slash", "/")
            .link("proc", "/proc/self/root")
            .link("cwd", "/proc/self/cwd");
        let store = case.store();
        for way in ["abs", "rel", "sub/rel", "zigzag", "hop", "slash", "proc", "cwd"] {
            let at = format!("{way}/secret");
            let at = place(&at);
            let new = place(&format!("{way}/new"));
            let outcomes = [
                ("read", code(&read(store, &at, &Page::default()))),
                ("read_bytes", code(&read_bytes(store, &at, 0, 9))),
                ("read_whole", code(&read_whole(store, &at, 99))),
                ("write", code(&write(store, &at, b"x", &WriteOptions::default()))),
                ("create", code(&write(store, &new, b"x", &WriteOptions::default()))),
                ("make", code(&store.make_dirs(&rel(&format!("{way}/d/e"))))),
                ("edit", code(&edit(store, &at, &replacing("secret", "x"), None))),
                ("list", code(&names(store, &place(way), 9))),
                ("glob", code(&glob(store, &place(way), "**", &GlobOptions::default()))),
                (
                    "search",
                    code(&search(store, &place(way), &Query { pattern: "s", ..Query::default() })),
                ),
                ("info", code(&info(store, &at))),
                ("delete", code(&delete(store, &at))),
                ("move out", code(&rename(store, &place("in"), store, &new, Overwrite::No))),
                ("move in", code(&rename(store, &at, store, &place("got"), Overwrite::No))),
                ("copy out", code(&copy(store, &place("in"), store, &new, Overwrite::No))),
                ("copy in", code(&copy(store, &at, store, &place("got"), Overwrite::No))),
                ("preview", code(&preview::preview(store, &at, b"x", 99))),
            ];
            for (verb, outcome) in outcomes {
                assert_eq!(outcome, "outside", "{verb} {way}");
            }
        }
        // Seen from above, they are links and nothing more.
        assert_eq!(found(case, "", "**").unwrap(), ["in"]);
        let all =
            search(store, &place(""), &Query { pattern: "secret", ..Query::default() }).unwrap();
        assert_eq!((all.total_matches, all.files_searched), (0, 1));
        assert_eq!(info(store, &place("abs")).unwrap().link_target, None);
        assert!(!case.exists("got"));
        // Deleting removes the link, not what it leads to.
        assert_eq!(delete(store, &place("abs")).unwrap(), Kind::Link);
        assert!(!case.exists("abs"));
    });
}

#[test]
fn circles_end() {
    on_every_store(|case| {
        case.link("a", "b").link("b", "a").link("self", "self/x").link("dot", ".");
        for n in 0..60 {
            case.link(&format!("l{n}"), &format!("l{}", n + 1));
        }
        case.dir("l60");
        assert_eq!(code(&text(case, "a/x")), "loop");
        assert_eq!(code(&text(case, "self/x")), "loop");
        assert_eq!(code(&text(case, "l0/x")), "loop");
        assert_eq!(code(&text(case, "l55/x")), "not_found");
        case.file("f", "1");
        assert_eq!(text(case, "dot/dot/dot/f").unwrap(), "1");
        assert_eq!(code(&found(case, "a", "**")), "loop");
        assert_eq!(found(case, "", "**").unwrap(), ["f"]);
    });
}

#[test]
fn the_wrong_kind_is_named() {
    on_every_store(|case| {
        case.file("file", "x")
            .dir("dir/sub")
            .link("dangling", "nowhere")
            .link("d2/x", "../nowhere");
        let rename = |from: &str, to: &str, overwrite| {
            rename(case.store(), &place(from), case.store(), &place(to), overwrite)
        };
        let table = [
            ("read a directory", code(&text(case, "dir")), "is_directory"),
            ("read the root", code(&text(case, "")), "is_directory"),
            ("read below a file", code(&text(case, "file/x")), "not_a_directory"),
            ("read nothing", code(&text(case, "none")), "not_found"),
            ("read in nothing", code(&text(case, "none/x")), "not_found"),
            ("write a directory", code(&put(case, "dir", "x")), "is_directory"),
            ("write the root", code(&put(case, "", "x")), "is_directory"),
            ("write below a file", code(&put(case, "file/x", "x")), "not_a_directory"),
            ("write through nowhere", code(&put(case, "dangling/x", "x")), "not_found"),
            ("write deep through nowhere", code(&put(case, "d2/x/y/z", "x")), "not_found"),
            ("list a file", code(&names(case.store(), &place("file"), 9)), "not_a_directory"),
            ("glob a file", code(&found(case, "file", "*")), "not_a_directory"),
            ("delete a full directory", code(&delete(case.store(), &place("dir"))), "not_empty"),
            ("delete nothing", code(&delete(case.store(), &place("none"))), "not_found"),
            ("delete the root", code(&delete(case.store(), &place(""))), "is_directory"),
            ("move nothing", code(&rename("none", "x", Overwrite::No)), "not_found"),
            ("move onto a file", code(&rename("dangling", "file", Overwrite::No)), "exists"),
            ("move onto a directory", code(&rename("file", "dir", Overwrite::No)), "exists"),
            ("move over a directory", code(&rename("file", "dir", Overwrite::Yes)), "is_directory"),
            (
                "move a directory over a file",
                code(&rename("dir", "file", Overwrite::Yes)),
                "not_a_directory",
            ),
            ("move into itself", code(&rename("dir", "dir/sub/x", Overwrite::No)), "into_itself"),
            ("a long name", code(&put(case, &"n".repeat(255), "x")), "ok"),
        ];
        for (what, got, want) in table {
            assert_eq!(got, want, "{what} on {}", case.label);
        }
        assert_eq!(case.content("file").unwrap(), b"x");
        assert_eq!(code(&delete(case.store(), &place("dir/sub"))), "ok");
        assert_eq!(delete(case.store(), &place("dir")).unwrap(), Kind::Dir);
        assert_eq!(delete(case.store(), &place("file")).unwrap(), Kind::File);
    });
}

#[test]
fn names_that_are_not_one_name_are_refused_by_a_handle() {
    on_every_store(|case| {
        case.file("d/f", "x");
        let dir = case.store().open_dir(&rel("d")).unwrap();
        for name in [&b".."[..], b".", b"", b"../d", b"a/b", b"/etc", b"f\0"] {
            assert_eq!(code(&dir.open_file(name)), "outside", "{name:?}");
            assert_eq!(code(&dir.open_dir(name)), "outside", "{name:?}");
            assert_eq!(code(&dir.stat(name)), "outside", "{name:?}");
            assert_eq!(code(&dir.make_dir(name)), "outside", "{name:?}");
            assert_eq!(code(&dir.remove_dir(name)), "outside", "{name:?}");
            assert_eq!(code(&dir.remove_file(name)), "outside", "{name:?}");
            assert_eq!(code(&dir.rename(b"f", &*dir, name, Overwrite::Yes)), "outside", "{name:?}");
            assert_eq!(code(&dir.rename(name, &*dir, b"g", Overwrite::Yes)), "outside", "{name:?}");
        }
    });
}

#[test]
fn a_missing_name_brings_similar_ones() {
    on_every_store(|case| {
        case.file("d/report.txt", "").file("d/Readme.md", "").file("d/other", "");
        let fault = text(case, "d/readme.md").unwrap_err();
        assert_eq!(fault.to_string(), "no such file.\nSimilar names: Readme.md");
        let fault = text(case, "d/repotr.txt").unwrap_err();
        assert_eq!(fault.to_string(), "no such file.\nSimilar names: report.txt");
        assert_eq!(text(case, "d/zzz").unwrap_err().to_string(), "no such file.");
    });
}

#[test]
fn moving_and_copying() {
    on_every_store(|case| {
        let store = case.store();
        case.file("a", "A").file("b", "B").dir("d/e").link("l", "a");
        let rename = |from: &str, to: &str, overwrite| {
            rename(store, &place(from), store, &place(to), overwrite)
        };
        let copy = |from: &str, to: &str, overwrite| {
            copy(store, &place(from), store, &place(to), overwrite)
        };
        assert_eq!(code(&copy("a", "b", Overwrite::No)), "exists");
        assert_eq!(code(&copy("a", "n/m/c", Overwrite::No)), "ok");
        assert_eq!(case.content("n/m/c").unwrap(), b"A");
        assert_eq!(code(&copy("a", "b", Overwrite::Yes)), "ok");
        assert_eq!(case.content("b").unwrap(), b"A");
        assert_eq!(code(&copy("d", "x", Overwrite::No)), "is_directory");
        assert_eq!(code(&rename("a", "z/a", Overwrite::No)), "ok");
        assert!(!case.exists("a"));
        assert_eq!(code(&rename("z/a", "b", Overwrite::No)), "exists");
        assert_eq!(code(&rename("z/a", "b", Overwrite::Yes)), "ok");
        assert_eq!(rename("d", "dd", Overwrite::No).unwrap().kind, Kind::Dir);
        assert!(case.exists("dd/e"));
        assert_eq!(rename("l", "ll", Overwrite::No).unwrap().kind, Kind::Link);
        assert_eq!(info(store, &place("ll")).unwrap().link_target, Some(rel("a")));
        // A failed move leaves no directories made for it.
        assert_eq!(code(&rename("none", "made/for/it", Overwrite::No)), "not_found");
        assert_eq!(code(&copy("dd", "made/for/it", Overwrite::No)), "is_directory");
        assert!(!case.exists("made"));
    });
}

#[test]
fn files_move_between_stores_and_directories_do_not() {
    on_every_store(|from| {
        on_every_store(|to| {
            from.file("a", "content").dir("d").link("l", "a");
            let across = |name: &str| {
                let (from_place, to_place) = (place(name), place(&format!("x/{name}")));
                rename(from.store(), &from_place, to.store(), &to_place, Overwrite::No)
            };
            assert_eq!(code(&across("d")), "is_directory");
            assert_eq!(code(&across("l")), "link");
            assert!(!to.exists("x"));
            assert_eq!(across("a").unwrap().bytes, 7);
            assert!(!from.exists("a"));
            assert_eq!(to.content("x/a").unwrap(), b"content");
            delete(from.store(), &place("l")).unwrap();
            delete(from.store(), &place("d")).unwrap();
        });
    });
}

#[test]
fn edits_keep_encoding_and_line_endings() {
    let utf16 = |text: &str| -> Vec<u8> {
        [0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect()
    };
    let cases: Vec<(Vec<u8>, &str, &str, Vec<u8>)> = vec![
        (b"one\ntwo\n".to_vec(), "two\n", "2\n3\n", b"one\n2\n3\n".to_vec()),
        (b"one\r\ntwo\r\n".to_vec(), "one\ntwo", "1\n2", b"1\r\n2\r\n".to_vec()),
        (b"one\r\ntwo\r\n".to_vec(), "one\r\n", "1\r\n", b"1\r\ntwo\r\n".to_vec()),
        (b"one\r\ntwo\nx\n".to_vec(), "two\n", "2\n", b"one\r\n2\nx\n".to_vec()),
        (b"\xEF\xBB\xBFone\n".to_vec(), "one", "1", b"\xEF\xBB\xBF1\n".to_vec()),
        (b"caf\xE9 x\n".to_vec(), "x", "\u{20ac}", b"caf\xE9 \x80\n".to_vec()),
        (utf16("\u{e9}\r\nx\r\n"), "x", "\u{1d11e}", utf16("\u{e9}\r\n\u{1d11e}\r\n")),
    ];
    on_every_store(|case| {
        for (before, old, new, after) in &cases {
            case.file("f", before);
            let edited =
                edit(case.store(), &place("f"), &replacing(old, new), Some(&hash::hash(before)))
                    .unwrap();
            assert_eq!(&case.content("f").unwrap(), after);
            assert_eq!((edited.hash, edited.bytes), (hash::hash(after), after.len() as u64));
            assert_eq!(edited.replacements, 1);
            assert!(edited.diff.starts_with("@@ -"), "{}", edited.diff);
        }
        case.file("f", b"caf\xE9 x\n");
        let edit = |old: &str, new: &str, expected| {
            edit(case.store(), &place("f"), &replacing(old, new), expected)
        };
        assert_eq!(code(&edit("x", "漢", None)), "bad_edit");
        assert_eq!(code(&edit("q", "x", None)), "no_match");
        assert_eq!(code(&edit("x", "y", Some("0000000000000000"))), "stale");
        assert_eq!(case.content("f").unwrap(), b"caf\xE9 x\n");
        case.file("f", b"bin\0ary");
        assert_eq!(code(&edit("bin", "x", None)), "binary");
        let shown = edit("a", "b", None).unwrap_err();
        assert!(!shown.to_string().contains(SECRET));
    });
}

#[test]
fn edits_at_the_same_time_are_all_kept() {
    on_every_store(|case| {
        let lines: String = (0..40).map(|n| format!("line {n}.\n")).collect();
        case.file("f", &lines);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for n in (thread..40).step_by(4) {
                        let edits = replacing(&format!("line {n}.\n"), &format!("done {n}.\n"));
                        edit(case.store(), &place("f"), &edits, None).unwrap();
                    }
                });
            }
        });
        assert_eq!(text(case, "f").unwrap(), lines.replace("line", "done"));
    });
}

#[test]
fn directories_are_listed_in_order() {
    on_every_store(|case| {
        case.file("d/b", "").file("d/a", "").dir("d/c").link("d/l", "a");
        let listing = names(case.store(), &place("d"), 10).unwrap();
        let kinds: Vec<(String, Kind)> =
            listing.entries.iter().map(|e| (e.shown(), e.kind)).collect();
        let want = [("a", Kind::File), ("b", Kind::File), ("c", Kind::Dir), ("l", Kind::Link)];
        assert_eq!(kinds, want.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!((listing.total, listing.truncated), (4, false));
        let listing = names(case.store(), &place("d"), 2).unwrap();
        assert_eq!(
            listing.entries,
            [b"a", b"b"].map(|name| Entry { name: name.to_vec(), kind: Kind::File })
        );
        assert_eq!((listing.total, listing.truncated), (4, true));
        // A handle can be listed again and again.
        let dir = case.store().open_dir(&rel("d")).unwrap();
        for _ in 0..3 {
            let mut count = 0;
            dir.entries(&mut |_, _| {
                count += 1;
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(count, 4);
        }
    });
}

#[test]
fn patterns_find_paths() {
    on_every_store(|case| {
        for file in ["a.rs", "b.txt", "src/c.rs", "src/deep/d.rs", "src/deep/e.md", ".hidden/f.rs"]
        {
            case.file(file, "");
        }
        case.link("loop", ".").link("src/l.rs", "c.rs").dir("empty");
        let cases: [(&str, &str, &[&str]); 13] = [
            (
                "",
                "**",
                &[".hidden/f.rs", "a.rs", "b.txt", "src/c.rs", "src/deep/d.rs", "src/deep/e.md"],
            ),
            ("", "**/*.rs", &[".hidden/f.rs", "a.rs", "src/c.rs", "src/deep/d.rs"]),
            ("", "*.rs", &["a.rs"]),
            ("", "*/*.rs", &[".hidden/f.rs", "src/c.rs"]),
            ("", "src/**/*.{rs,md}", &["src/c.rs", "src/deep/d.rs", "src/deep/e.md"]),
            ("src", "**/*", &["c.rs", "deep/d.rs", "deep/e.md"]),
            ("src", "deep/?.rs", &["deep/d.rs"]),
            ("", "src/", &["src"]),
            ("", "**/", &[".hidden", "empty", "src", "src/deep"]),
            ("", "src/c.rs", &["src/c.rs"]),
            ("", "none/*.rs", &[]),
            ("", "loop/*.rs", &[]),
            ("loop", "*.rs", &["a.rs"]),
        ];
        for (at, pattern, want) in cases {
            for threads in [1, 3] {
                let options = GlobOptions { threads, ..GlobOptions::default() };
                let got = glob(case.store(), &place(at), pattern, &options).unwrap();
                let paths: Vec<String> =
                    got.paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect();
                assert_eq!(paths, want, "{at:?} {pattern:?}");
            }
        }
        let options = GlobOptions { limit: 2, ..GlobOptions::default() };
        let got = glob(case.store(), &place(""), "**/*.rs", &options).unwrap();
        assert_eq!(got.paths, [b".hidden/f.rs".to_vec(), b"a.rs".to_vec()]);
        assert_eq!((got.total, got.truncated, got.unreadable), (4, true, 0));
        for bad in ["/etc/*", "../*", "src/../../*", "a["] {
            assert_eq!(code(&found(case, "", bad)), "bad_pattern", "{bad}");
        }
    });
}

#[test]
fn what_git_leaves_out_is_left_out() {
    on_every_store(|case| {
        case.file(".gitignore", "*.log\n/target/\n!keep.log\nbuild\n# comment\n\\#odd\n")
            .file(".git/config", "")
            .file(".git/info/exclude", "private\n")
            .file("a.log", "")
            .file("keep.log", "")
            .file("private", "")
            .file("#odd", "")
            .file("target/x", "")
            .file("sub/target/y", "")
            .file("sub/.gitignore", "*.tmp\n!special.log\n/only-here\n")
            .file("sub/b.tmp", "")
            .file("sub/special.log", "")
            .file("sub/only-here", "")
            .file("sub/deep/only-here", "")
            .file("sub/deep/c.log", "")
            .file("x/build/z", "")
            .file("nested/.git/HEAD", "")
            .file("nested/d.log", "");
        let ignoring = |at: &str| {
            let options = GlobOptions { gitignore: true, ..GlobOptions::default() };
            let got = glob(case.store(), &place(at), "**", &options).unwrap();
            got.paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(
            ignoring(""),
            [
                ".gitignore",
                "keep.log",
                "nested/d.log",
                "sub/.gitignore",
                "sub/deep/only-here",
                "sub/special.log",
                "sub/target/y"
            ]
        );
        assert_eq!(ignoring("sub/deep"), ["only-here"]);
        // Asked for by name, it is shown.
        assert_eq!(ignoring("target"), ["x"]);
    });
}

#[test]
fn text_is_searched() {
    on_every_store(|case| {
        case.file("a.txt", "one\ntwo needle\nthree\n")
            .file("b/c.txt", "Needle\r\nneedle.\r\n")
            .file("b/d.md", "needle needle\n")
            .file("bin", b"needle\0")
            .file("latin", b"caf\xE9 needle\n")
            .link("l", "a.txt");
        let utf16: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain("x\nneedle \u{e9}\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        case.file("wide", utf16);
        for threads in [1, 2, 5] {
            let query = Query { pattern: "needle", threads, ..Query::default() };
            let got = search(case.store(), &place(""), &query).unwrap();
            let lines: Vec<(String, u64, String)> = got
                .matches
                .iter()
                .flat_map(|file| {
                    let path = String::from_utf8(file.path.clone()).unwrap();
                    file.lines
                        .iter()
                        .map(move |line| (path.clone(), line.number, line.text.clone()))
                })
                .collect();
            let want = [
                ("a.txt", 2, "two needle"),
                ("b/c.txt", 2, "needle."),
                ("b/d.md", 1, "needle needle"),
                ("latin", 1, "café needle"),
                ("wide", 2, "needle é"),
            ];
            assert_eq!(
                lines,
                want.map(|(path, number, text)| (path.to_owned(), number, text.to_owned()))
            );
            assert_eq!((got.total_matches, got.files_with_matches), (5, 5));
            assert_eq!((got.files_searched, got.skipped_binary, got.unreadable), (5, 1, 0));
            assert!(!got.truncated);
        }
        let count =
            |query: Query<'_>| search(case.store(), &place(""), &query).unwrap().total_matches;
        assert_eq!(count(Query { pattern: "NEEDLE", ignore_case: true, ..Query::default() }), 6);
        assert_eq!(count(Query { pattern: "needle.", literal: true, ..Query::default() }), 1);
        assert_eq!(count(Query { pattern: "needle$", ..Query::default() }), 3);
        assert_eq!(count(Query { pattern: "^Needle$", ..Query::default() }), 1);
        assert_eq!(count(Query { pattern: "needle", glob: Some("*.txt"), ..Query::default() }), 2);
        assert_eq!(count(Query { pattern: "needle", glob: Some("b/*"), ..Query::default() }), 2);
        let one = search(
            case.store(),
            &place("b/d.md"),
            &Query { pattern: "needle", ..Query::default() },
        )
        .unwrap();
        assert_eq!(one.matches[0].path, b"d.md");
        assert_eq!(
            code(&search(case.store(), &place("l"), &Query { pattern: "x", ..Query::default() })),
            "link"
        );
        for bad in ["(", "", "a\nb"] {
            let query = Query { pattern: bad, ..Query::default() };
            assert_eq!(code(&search(case.store(), &place(""), &query)), "bad_pattern", "{bad:?}");
        }
    });
}

#[test]
fn a_search_keeps_the_first_matches_and_counts_all() {
    on_every_store(|case| {
        for n in 0..30 {
            case.file(&format!("d{}/f{n:02}", n % 7), "before\nhit\nafter\nhit\n");
        }
        let query = |threads, limit| Query {
            pattern: "hit",
            context: 1,
            threads,
            limit,
            ..Query::default()
        };
        let all = search(case.store(), &place(""), &query(1, 1000)).unwrap();
        for limit in [0, 1, 2, 3, 17, 59, 60, 61] {
            for threads in [1, 4] {
                let got = search(case.store(), &place(""), &query(threads, limit)).unwrap();
                let matches: usize =
                    got.matches.iter().flat_map(|f| &f.lines).filter(|line| line.is_match).count();
                assert_eq!(matches, limit.min(60), "limit {limit}");
                assert_eq!(got.total_matches, 60);
                assert_eq!(got.truncated, limit < 60);
                for (file, want) in got.matches.iter().zip(&all.matches) {
                    assert_eq!(file.path, want.path);
                    assert!(want.lines.starts_with(&file.lines));
                }
            }
        }
    });
}

#[test]
fn raw_bytes_are_read() {
    on_every_store(|case| {
        let bytes: Vec<u8> = (0..=255).collect();
        case.file("b", &bytes);
        let got = read_bytes(case.store(), &place("b"), 10, 5).unwrap();
        assert_eq!((got.bytes.as_slice(), got.size, got.more), (&bytes[10..15], 256, true));
        assert_eq!(got.hash, Some(hash::hash(&bytes)));
        let got = read_bytes(case.store(), &place("b"), 250, 50).unwrap();
        assert_eq!((got.bytes.len(), got.more), (6, false));
        let got = read_bytes(case.store(), &place("b"), 999, 50).unwrap();
        assert_eq!((got.bytes.len(), got.more), (0, false));
        assert_eq!(code(&read_whole(case.store(), &place("b"), 255)), "too_large");
        assert_eq!(read_whole(case.store(), &place("b"), 256).unwrap(), bytes);
    });
}

#[test]
fn a_preview_shows_the_change_and_makes_none() {
    on_every_store(|case| {
        case.file("f", "a\nb\nc\n");
        let preview = |path: &str, content: &[u8]| {
            preview::preview(case.store(), &place(path), content, 1000).unwrap().text
        };
        assert_eq!(preview("f", b"a\nB\nc\n"), "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(preview("new", b"x\n"), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(
            preview("f", b"\0"),
            "@@ -1,3 +1 @@\n-a\n-b\n-c\n+\0\n\\ No newline at end of file\n"
        );
        assert!(!case.exists("new"));
    });
}

#[test]
fn deep_trees_are_walked() {
    on_every_store(|case| {
        // More levels than the walk keeps handles for.
        let mut path = String::from("d");
        for _ in 0..400 {
            path.push_str("/d");
        }
        case.file(&format!("{path}/leaf"), "needle\n");
        case.file("d/d/other", "needle\n");
        let got = glob(
            case.store(),
            &place(""),
            "**",
            &GlobOptions { threads: 2, ..GlobOptions::default() },
        )
        .unwrap();
        assert_eq!((got.total, got.unreadable), (2, 0));
        let got =
            search(case.store(), &place(""), &Query { pattern: "needle", ..Query::default() })
                .unwrap();
        assert_eq!((got.total_matches, got.unreadable), (2, 0));
    });
}

#[test]
fn a_lock_keeps_others_out_until_it_is_dropped() {
    on_every_store(|case| {
        case.dir("d");
        let dir = case.store().open_dir(&rel("d")).unwrap();
        let lock = dir.lock().unwrap();
        let started = std::time::Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _lock = dir.lock().unwrap();
                started.elapsed()
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(lock);
            assert!(waiting.join().unwrap().as_millis() >= 90);
        });
        assert_eq!(names(case.store(), &place("d"), 9).unwrap().total, 0);
    });
}
