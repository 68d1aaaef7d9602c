//! A yes is for what the question showed: a source or a base that is swapped while the
//! question is open does not arrive.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::open;
use zonekeep::approve::{AllYes, Answer, Callback, Request};
use zonekeep::files::Overwrite;
use zonekeep::files::edit::Edit;
use zonekeep::files::write::WriteOptions;
use zonekeep::{Error, Sandbox};
use zonekeep_testkit::Project as Files;

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    free: { path: ./free, mode: rw, approval: { write: preApproved, delete: preApproved } }
    ask: { path: ./ask, mode: rw, approval: { write: ask, delete: ask } }
";

fn files() -> Files {
    Files::with_config("", CONFIG)
        .file("free/a", "harmless\n")
        .file("free/large", vec![b'x'; 5 << 20])
        .file("ask/b", "one\n")
}

type Deed = fn(&Sandbox) -> Result<(), Error>;
type Swap = fn(&Path);

/// Does something that is asked about, and swaps files while the question is open.
/// Returns the questions and how it ended.
fn swapped(files: &Files, deed: Deed, swap: Option<Swap>) -> (Vec<Request>, Result<(), Error>) {
    let (asked, base) = (Arc::new(Mutex::new(Vec::new())), files.path(""));
    let held = Arc::clone(&asked);
    let session = open(
        files,
        Callback(move |request: &Request| {
            held.lock().unwrap().push(request.clone());
            if let Some(swap) = swap {
                swap(&base);
            }
            Answer::yes()
        }),
    );
    let outcome = deed(&session.sandbox());
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    (asked, outcome)
}

#[test]
fn what_is_swapped_while_the_question_is_open_does_not_arrive() {
    let swap_a: Swap = |base| fs::write(base.join("free/a"), "harmful!\n").unwrap();
    let swap_large: Swap = |base| fs::write(base.join("free/large"), vec![b'y'; 5 << 20]).unwrap();
    let swap_b: Swap = |base| fs::write(base.join("ask/b"), "one\nmore\n").unwrap();
    let cases: [(&str, Deed, Swap, &str); 9] = [
        ("copy", |s| s.copy("/free/a", "/ask/new", Overwrite::No).map(drop), swap_a, "ask/new"),
        ("copy over", |s| s.copy("/free/a", "/ask/b", Overwrite::Yes).map(drop), swap_a, "ask/b"),
        (
            "copy onto another",
            |s| s.copy("/free/a", "/ask/b", Overwrite::Yes).map(drop),
            swap_b,
            "ask/b",
        ),
        (
            "copy large",
            |s| s.copy("/free/large", "/ask/new", Overwrite::No).map(drop),
            swap_large,
            "ask/new",
        ),
        ("move", |s| s.rename("/free/a", "/ask/new", Overwrite::No), swap_a, "ask/new"),
        ("move within", |s| s.rename("/ask/b", "/ask/new", Overwrite::No), swap_b, "ask/new"),
        ("write", |s| s.write("/ask/b", "two\n").map(drop), swap_b, "ask/b"),
        (
            "append",
            |s| {
                let options = WriteOptions { append: true, ..WriteOptions::default() };
                s.write_with("/ask/b", "two\n", &options).map(drop)
            },
            swap_b,
            "ask/b",
        ),
        (
            "edit",
            |s| {
                let edit = Edit { old: "one".into(), new: "1".into(), replace_all: false };
                s.edit("/ask/b", &[edit], None).map(drop)
            },
            swap_b,
            "ask/b",
        ),
    ];
    for (name, deed, swap, there) in cases {
        let files = files();
        let (asked, outcome) = swapped(&files, deed, Some(swap));
        assert_eq!(asked.len(), 1, "{name}");
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), "changed", "{name}: {error}");
        let said = error.to_string();
        assert!(said.contains(" changed while the question was open.\n"), "{name}: {said}");
        assert!(!said.contains("/ask/ask") && !said.contains("sha"), "{name}: {said}");
        let found = fs::read_to_string(files.path(there)).unwrap_or_default();
        assert!(["", "one\n", "one\nmore\n"].contains(&found.as_str()), "{name}: {found}");
        let log = files.log_lines();
        let last = log.last().unwrap();
        assert!(last.contains(r#""outcome":"failed","code":"changed""#), "{name}: {last}");
        // The control: nothing is swapped, and it is done.
        let files = self::files();
        let (asked, outcome) = swapped(&files, deed, None);
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(asked.len(), 1, "{name}");
        assert!(asked[0].sha256.is_some(), "{name}");
        assert!(files.exists(there), "{name}");
    }
}

#[test]
fn a_directory_that_changes_while_the_question_is_open_does_not_move() {
    let config = CONFIG.replace("delete: preApproved", "delete: ask");
    let files = || Files::with_config("", &config).file("free/dir/a", "harmless\n").dir("ask");
    let deed: Deed = |s| s.rename("/free/dir", "/free/moved", Overwrite::No);
    let swap: Swap = |base| fs::write(base.join("free/dir/a"), "harmful!\n").unwrap();
    let project = files();
    let (asked, outcome) = swapped(&project, deed, Some(swap));
    assert_eq!(outcome.unwrap_err().code(), "changed");
    let diff = asked[0].diff.as_deref().unwrap();
    assert!(asked[0].partial && diff.contains("a: 9 bytes"), "{diff}");
    assert!(!project.exists("free/moved") && project.exists("free/dir/a"));
    let project = files();
    swapped(&project, deed, None).1.unwrap();
    assert_eq!(project.read("free/moved/a"), "harmless\n");
}

#[test]
fn the_question_says_that_a_file_can_be_executed() {
    let deeds: [Deed; 2] = [
        |s| s.copy("/free/a", "/ask/new", Overwrite::No).map(drop),
        |s| s.rename("/free/a", "/ask/new", Overwrite::No),
    ];
    let executable = ("executable".to_owned(), "true".to_owned());
    for deed in deeds {
        for (mode, want) in [(0o644, false), (0o755, true), (0o744, true)] {
            let files = files();
            fs::set_permissions(files.path("free/a"), PermissionsExt::from_mode(mode)).unwrap();
            let (asked, outcome) = swapped(&files, deed, None);
            outcome.unwrap();
            assert_eq!(asked[0].details.contains(&executable), want, "{mode:o}");
            let now = fs::metadata(files.path("ask/new")).unwrap().permissions().mode();
            assert_eq!(now & 0o777, mode);
            let chmod: Swap = |base| {
                let path = base.join("free/a");
                let mode = fs::metadata(&path).unwrap().permissions().mode() ^ 0o111;
                fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
            };
            let files = self::files();
            let (_, outcome) = swapped(&files, deed, Some(chmod));
            assert_eq!(outcome.unwrap_err().code(), "changed");
            assert!(!files.exists("ask/new"));
        }
    }
}

#[test]
fn a_yes_for_the_session_holds_for_any_content() {
    let files = files();
    let session = open(&files, Callback(|_: &Request| Answer::yes_for_session()));
    let sandbox = session.sandbox();
    sandbox.copy("/free/a", "/ask/b", Overwrite::Yes).unwrap();
    sandbox.write("/free/a", "another\n").unwrap();
    sandbox.copy("/free/a", "/ask/b", Overwrite::Yes).unwrap();
    assert_eq!(files.read("ask/b"), "another\n");
}

#[test]
fn an_answer_given_later_is_for_a_content_that_cannot_be_shown() {
    let files = files();
    let sandbox = open(&files, AllYes).sandbox();
    let copy = |sandbox: &Sandbox| sandbox.copy("/free/large", "/ask/new", Overwrite::No);
    let Err(Error::Open(request)) = copy(&sandbox.deferring(Vec::new())) else { panic!() };
    let given = vec![zonekeep::Given::new(*request, Answer::yes(), "test")];
    fs::write(files.path("free/large"), vec![b'y'; 5 << 20]).unwrap();
    // The same size, the same question in words, and still another question.
    assert!(matches!(copy(&sandbox.deferring(given.clone())), Err(Error::Open(_))));
    assert!(!files.exists("ask/new"));
    fs::write(files.path("free/large"), vec![b'x'; 5 << 20]).unwrap();
    copy(&sandbox.deferring(given)).unwrap();
}
