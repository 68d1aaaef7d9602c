//! Watching a path: every change is noticed, nothing outside is, and the right to
//! look is judged and written down.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{self, files, in_memory, open};
use zonekeep::approve::{AllYes, Answer, Callback, Nobody, Request};
use zonekeep_testkit::Project as Files;

/// Longer than the time stamps of files take to go on.
const TICK: Duration = Duration::from_millis(20);

type Step = fn(&Files);

#[test]
fn every_change_of_a_file_is_noticed_once() {
    let cases: &[(&str, &[(&str, Step)])] = &[
        (
            "/output/b.txt",
            &[
                ("other content", |files| files.put("out/b.txt", "longer\n")),
                ("as long as before", |files| files.put("out/b.txt", "LONGER\n")),
                ("replaced by a rename", |files| {
                    files.put("out/new", "LONGER\n");
                    fs::rename(files.path("out/new"), files.path("out/b.txt")).unwrap();
                }),
                ("deleted", |files| fs::remove_file(files.path("out/b.txt")).unwrap()),
                ("there again", |files| files.put("out/b.txt", "LONGER\n")),
                ("a directory now", |files| {
                    fs::remove_file(files.path("out/b.txt")).unwrap();
                    fs::create_dir(files.path("out/b.txt")).unwrap();
                }),
                ("with something in it", |files| files.put("out/b.txt/x", "")),
            ],
        ),
        (
            "/output/deep/er/new.txt",
            &[
                ("appeared", |files| files.put("out/deep/er/new.txt", "")),
                ("its directory is gone", |files| {
                    fs::remove_dir_all(files.path("out/deep")).unwrap();
                }),
                ("appeared again", |files| files.put("out/deep/er/new.txt", "")),
            ],
        ),
        ("/output/b.txt/below", &[]),
        ("/output", &[("a name is new", |files| files.put("out/new", ""))]),
        ("/", &[]),
    ];
    for (path, steps) in cases {
        let files = files();
        let sandbox = open(&files, Nobody).sandbox();
        let mut watch = sandbox.watch(path).unwrap();
        assert_eq!(watch.path(), *path);
        assert!(!watch.changed(), "{path}: nothing has happened");
        for (what, step) in *steps {
            thread::sleep(TICK);
            step(&files);
            assert!(watch.changed(), "{path}: {what}");
            assert!(!watch.changed(), "{path}: {what}, and nothing since");
        }
        thread::sleep(TICK);
        files.put("in/a.txt", "another file");
        assert!(!watch.changed(), "{path}: another file");
    }
}

#[test]
fn changes_by_the_agent_are_noticed_in_memory_and_on_disk() {
    let files = files();
    for session in [open(&files, AllYes), in_memory(common::CONFIG, AllYes)] {
        let sandbox = session.sandbox();
        sandbox.write("/output/b.txt", "1").unwrap();
        let mut watch = sandbox.watch("b.txt").unwrap();
        let mut dir = sandbox.watch("/output").unwrap();
        assert_eq!(watch.path(), "/output/b.txt");
        for text in ["2", "3"] {
            thread::sleep(TICK);
            sandbox.write("/output/b.txt", text).unwrap();
            assert!(watch.changed() && !watch.changed(), "{text}");
        }
        dir.changed();
        thread::sleep(TICK);
        sandbox.write("/output/c.txt", "").unwrap();
        assert!(dir.changed() && !dir.changed() && !watch.changed());
        sandbox.delete("/output/b.txt").unwrap();
        assert!(watch.changed() && !watch.changed());
        sandbox.write("/output/b.txt", "3").unwrap();
        assert!(watch.changed() && !watch.changed());
    }
}

#[test]
fn a_link_out_of_the_zone_is_never_followed() {
    let files = files();
    let outside = files.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "1").unwrap();
    symlink(outside.join("secret.txt"), files.path("out/link.txt")).unwrap();
    symlink(&outside, files.path("out/dir")).unwrap();
    fs::create_dir(files.path("out/real")).unwrap();
    files.put("out/real/secret.txt", "1");
    let sandbox = open(&files, Nobody).sandbox();

    // The link itself is watched.
    let mut link = sandbox.watch("/output/link.txt").unwrap();
    // A directory on the way that leads out is refused.
    assert_eq!(sandbox.watch("/output/dir/secret.txt").unwrap_err().code(), "outside");
    // And one that is put there later leads nowhere.
    let mut swapped = sandbox.watch("/output/real/secret.txt").unwrap();
    fs::rename(files.path("out/real"), files.path("out/moved")).unwrap();
    symlink(&outside, files.path("out/real")).unwrap();
    assert!(swapped.changed(), "it is gone");

    thread::sleep(TICK);
    fs::write(outside.join("secret.txt"), "changed").unwrap();
    fs::remove_file(outside.join("secret.txt")).unwrap();
    assert!(!link.changed() && !swapped.changed());
    fs::remove_file(files.path("out/link.txt")).unwrap();
    assert!(link.changed());
}

#[test]
fn the_right_to_look_is_judged_asked_for_and_written_down_once() {
    let files = files();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let approver = Callback(move |request: &Request| {
        count.fetch_add(1, Ordering::SeqCst);
        assert_eq!(request.details, [("watch".to_owned(), "true".to_owned())]);
        Answer { approved: request.path == "/asked/c.txt", ..Answer::default() }
    });
    let sandbox = open(&files, approver).sandbox();
    let cases = [
        // path, code, outcome in the record
        ("/output/b.txt", None, "done"),
        ("/output/none.txt", None, "done"),
        ("/etc/passwd", Some("outside"), "refused"),
        ("/shut/d.txt", Some("blocked"), "refused"),
        ("a\0b", Some("bad_path"), "refused"),
        ("/asked/c.txt", None, "done"),
        ("/asked/other.txt", Some("declined"), "refused"),
    ];
    for (path, code, outcome) in cases {
        let before = files.log_lines().len();
        let watch = sandbox.watch(path);
        assert_eq!(watch.as_ref().err().map(zonekeep::Error::code), code, "{path}");
        let lines = files.log_lines();
        let last: serde_json::Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        assert_eq!((&last["action"], &last["tool"]), (&"info".into(), &"file_info".into()));
        assert_eq!(last["outcome"], outcome, "{path}: {last}");
        assert!(lines.len() > before);
        if let Ok(mut watch) = watch {
            (0..3).for_each(|_| assert!(!watch.changed(), "{path}"));
        }
        assert_eq!(files.log_lines(), lines, "{path}: looking again is not written down");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // A worker without the tool has not got the right.
    let needs =
        common::needs("tools: [read_file]\nsandbox: { zones: [{ name: output, mode: rw }] }");
    let child = sandbox.narrow(&needs).unwrap();
    assert_eq!(child.watch("/output/b.txt").unwrap_err().code(), "no_tool");
}

#[test]
fn a_tainted_worker_sees_no_change_where_it_may_not_look_any_more() {
    let config = "sandbox:
  mode: direct
  zones:
    inbox: { path: ./inbox, mode: ro, untrusted: true }
    keys: { path: ./keys, mode: ro }
    out: { path: ./out, mode: rw }
    shy: { path: ./shy, mode: ro, approval: { read: ask } }
when_tainted: { without: [keys] }
";
    let files = Files::with_config("", config);
    let change = |text: &str| {
        for path in ["inbox/a", "keys/a", "out/a", "shy/a"] {
            files.put(path, text);
        }
        thread::sleep(TICK);
    };
    change("1");
    let sandbox = open(&files, Callback(|_: &Request| Answer::yes_for_session())).sandbox();
    let paths = ["/inbox/a", "/keys/a", "/out/a", "/shy/a"];
    let mut watches = paths.map(|path| sandbox.watch(path).unwrap());
    let mut changed = || [0, 1, 2, 3].map(|at: usize| watches[at].changed());
    assert_eq!(changed(), [false; 4]);
    change("22");
    assert_eq!(changed(), [true; 4]);
    assert_eq!(sandbox.tainted(), None, "looking is not reading");
    sandbox.read_text("/inbox/a").unwrap();
    assert!(sandbox.tainted().is_some());
    assert_eq!(changed(), [false; 4], "the same entries as before");
    change("333");
    assert_eq!(changed(), [true, false, true, false]);
    // What begins after that is judged by what holds then.
    assert_eq!(sandbox.watch("/keys/a").unwrap_err().code(), "outside");
    let mut later = sandbox.watch("/out/a").unwrap();
    change("4444");
    assert!(later.changed());
}
