//! The limits and guards that come with a judged place.

#![allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod common;

use common::{code, on_every_store};
use zonekeep_files::delete::delete;
use zonekeep_files::edit::{Edit, edit};
use zonekeep_files::read::{Page, read, read_bytes, read_whole};
use zonekeep_files::relocate::{copy, rename};
use zonekeep_files::search::{Query, search};
use zonekeep_files::write::{WriteOptions, write};
use zonekeep_files::{Fault, Overwrite};
use zonekeep_policy::{
    Action, At, Grant, Mode, Place, Policy, Ruled, Target, Verb, Verdict, Zone, judge,
};

/// Judges what is about to happen in a directory with limits, and says yes.
fn judged(verb: Verb, path: &str, to: Option<&str>) -> Vec<Place> {
    let mut zone = Zone::new("z", "/project/z", Mode::Rw, At::Default);
    zone.max_file_bytes = Some(Ruled::new(10, At::Default));
    let mut policy = Policy::empty("/project");
    policy.zones.push(zone);
    let grant = Grant::of(&policy);
    let tool = match verb {
        Verb::Read => "read_file",
        Verb::Search => "search_files",
        Verb::Write => "write_file",
        Verb::Edit => "edit_file",
        Verb::Delete => "delete_file",
        Verb::Move => "move_file",
        Verb::Copy => "copy_file",
        other => panic!("no tool for {other:?}"),
    };
    let target = |path: &str| Target::parse(&format!("/z/{path}"), grant.view()).unwrap();
    let mut action = Action::new(tool, verb, target(path));
    if let Some(to) = to {
        action = action.to(target(to));
    }
    let permit = match judge(&grant, &action).verdict {
        Verdict::Allow(permit) => permit,
        Verdict::Ask(question) => question.approved(),
        Verdict::Deny(denial) => panic!("{denial:?}"),
    };
    permit.places().to_vec()
}

fn one(verb: Verb, path: &str) -> Place {
    judged(verb, path, None).remove(0)
}

fn replacing(old: &str, new: &str) -> [Edit; 1] {
    [Edit { old: old.into(), new: new.into(), replace_all: true }]
}

#[test]
fn sizes_are_limited_for_every_verb() {
    on_every_store(|case| {
        let store = case.store();
        case.file("big", "0123456789ab").file("fits", "0123456789").file("line", "a");
        let reading = |path: &str| one(Verb::Read, path);
        let fault = read(store, &reading("big"), &Page::default()).unwrap_err();
        assert_eq!(fault.to_string(), "file too large (12 bytes).\nMaximum allowed: 10 bytes");
        assert_eq!(code(&read(store, &reading("fits"), &Page::default())), "ok");
        assert_eq!(code(&read_bytes(store, &reading("big"), 0, 1)), "too_large");
        assert_eq!(code(&read_whole(store, &reading("big"), 99)), "too_large");

        let writing = |path: &str| one(Verb::Write, path);
        let append = WriteOptions { append: true, ..WriteOptions::default() };
        assert_eq!(
            code(&write(store, &writing("new"), &[b'x'; 11], &WriteOptions::default())),
            "too_large"
        );
        assert_eq!(code(&write(store, &writing("fits"), b"x", &append)), "too_large");
        assert_eq!(code(&write(store, &writing("line"), b"x", &append)), "ok");

        let editing = |path: &str| one(Verb::Edit, path);
        assert_eq!(
            code(&edit(store, &editing("line"), &replacing("a", &"b".repeat(11)), None)),
            "too_large"
        );
        assert_eq!(code(&edit(store, &editing("big"), &replacing("0", ""), None)), "too_large");

        let two = judged(Verb::Copy, "big", Some("copied"));
        assert_eq!(code(&copy(store, &two[0], store, &two[1], Overwrite::No)), "too_large");
        let two = judged(Verb::Move, "big", Some("moved"));
        assert_eq!(code(&rename(store, &two[0], store, &two[1], Overwrite::No)), "too_large");
        for path in ["new", "copied", "moved"] {
            assert!(!case.exists(path), "{path}");
        }
        assert_eq!(case.content("fits").unwrap(), b"0123456789");

        let query = Query { pattern: ".", ..Query::default() };
        let found = search(store, &one(Verb::Search, ""), &query).unwrap();
        assert_eq!((found.files_searched, found.skipped_large), (2, 1));
        assert_eq!(code(&search(store, &one(Verb::Search, "big"), &query)), "too_large");
    });
}

#[test]
fn links_do_not_lead_to_guarded_files() {
    on_every_store(|case| {
        let store = case.store();
        case.file(".git/config", "guard")
            .file("a", "x")
            .link("way", ".git")
            .dir("plain")
            .link("same", "plain");
        let check = |what: &str, outcome: &'static str| assert_eq!(outcome, "guarded", "{what}");
        let writing = one(Verb::Write, "way/config");
        check("write", code(&write(store, &writing, b"x", &WriteOptions::default())));
        let deep = one(Verb::Write, "way/hooks/pre-commit");
        check("create", code(&write(store, &deep, b"x", &WriteOptions::default())));
        assert!(!case.exists(".git/hooks"), "made before the check");
        check(
            "edit",
            code(&edit(store, &one(Verb::Edit, "way/config"), &replacing("g", "x"), None)),
        );
        check("delete", code(&delete(store, &one(Verb::Delete, "way/config"))));
        let two = judged(Verb::Move, "way/config", Some("b"));
        check("move from", code(&rename(store, &two[0], store, &two[1], Overwrite::No)));
        let two = judged(Verb::Move, "a", Some("way/config"));
        check("move to", code(&rename(store, &two[0], store, &two[1], Overwrite::Yes)));
        let two = judged(Verb::Copy, "a", Some("way/config"));
        check("copy to", code(&copy(store, &two[0], store, &two[1], Overwrite::Yes)));
        assert_eq!(case.content(".git/config").unwrap(), b"guard");
        // Where nothing is guarded, the link is as good as the path.
        assert_eq!(
            code(&write(store, &one(Verb::Write, "same/f"), b"x", &WriteOptions::default())),
            "ok"
        );
        assert_eq!(case.content("plain/f").unwrap(), b"x");
    });
}

#[test]
fn a_directory_does_not_bring_guarded_files_with_it() {
    on_every_store(|case| {
        let store = case.store();
        case.file("stage/config.toml", "[build]").file("file", "x").dir("plain");
        // `.cargo` as a file is nothing; as a directory it holds `.cargo/config.toml`.
        // A consent that was given for a file does not stretch to that.
        let moved = |from: &str, to: &str| {
            let (from, to) = (one(Verb::Delete, from), one(Verb::Write, to));
            rename(store, &from, store, &to, Overwrite::No)
        };
        assert!(matches!(moved("stage", ".cargo"), Err(Fault::Guarded)));
        assert!(!case.exists(".cargo") && case.exists("stage/config.toml"));
        assert_eq!(code(&moved("plain", "renamed")), "ok");
        case.file("evil/deep/.vscode/tasks.json", "{}");
        assert_eq!(code(&moved("evil", "app")), "guarded");
        assert!(case.exists("evil/deep/.vscode/tasks.json") && !case.exists("app"));
        assert_eq!(code(&moved("file", ".cargo")), "ok");
        assert_eq!(case.content(".cargo").unwrap(), b"x");
        assert!(!case.exists("file"));
    });
}
