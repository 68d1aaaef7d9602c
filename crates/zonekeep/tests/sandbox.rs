//! The sandbox as an embedding program uses it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::Path;

use crate::common::{CONFIG, files, in_memory, needs, open};
use zonekeep::approve::{AllYes, Nobody};
use zonekeep::files::list::GlobOptions;
use zonekeep::files::read::{Content, Page};
use zonekeep::files::search::Query;
use zonekeep::files::{Kind, Overwrite};
use zonekeep::policy::{Mode, Needs};
use zonekeep::{Error, Sandbox, tools};

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.map(|value| format!("{value:?}")).expect_err("it is refused").code()
}

#[test]
fn questions_are_answered_without_doing_anything() {
    let files = files().file("in/big.txt", "x".repeat(101));
    let files = files.file("out/.ssh/id_rsa", "KEY").link("out/keys", ".ssh");
    let sandbox = open(&files, Nobody).sandbox();
    let cases = [
        // path, can_read, can_write, check_suffix, check_size
        ("/input/a.txt", true, false, "ok", "ok"),
        ("/input/new.txt", true, false, "ok", "not_found"),
        ("/input/a.exe", true, false, "suffix", "not_found"),
        ("/input/big.txt", true, false, "ok", "too_large"),
        ("~/a.txt", true, false, "ok", "ok"),
        ("/output/b.txt", true, true, "ok", "ok"),
        ("b.txt", true, true, "ok", "ok"),
        ("../output/x/../b.exe", true, true, "ok", "ok"),
        ("/asked/c.txt", true, true, "ok", "ok"),
        ("/shut/d.txt", false, false, "ok", "ok"),
        ("/output/.ssh/id_rsa", false, false, "ok", "ok"),
        ("/output/keys/id_rsa", false, false, "ok", "ok"),
        ("/", false, false, "ok", "outside"),
        ("/etc/passwd", false, false, "outside", "outside"),
        ("/input/../etc", false, false, "outside", "outside"),
        ("/inputs/a.txt", false, false, "outside", "outside"),
        ("", false, false, "bad_path", "outside"),
        ("~x", false, false, "bad_path", "outside"),
        ("a\0b", false, false, "bad_path", "outside"),
    ];
    for (path, can_read, can_write, suffix, size) in cases {
        assert_eq!(sandbox.can_read(path), can_read, "can_read {path:?}");
        assert_eq!(sandbox.can_write(path), can_write, "can_write {path:?}");
        let shown = |result: Result<(), Error>| result.map_or_else(|error| error.code(), |()| "ok");
        assert_eq!(shown(sandbox.check_suffix(path)), suffix, "check_suffix {path:?}");
        assert_eq!(shown(sandbox.check_size(path)), size, "check_size {path:?}");
    }
    assert_eq!(sandbox.readable_roots(), ["/input", "/output", "/asked", "/shut"]);
    assert_eq!(sandbox.writable_roots(), ["/output", "/asked", "/shut"]);
    assert_eq!(sandbox.zones(), ["input", "output", "asked", "shut"]);
    let access = ["input", "output", "none"].map(|zone| sandbox.zone_access(zone));
    assert_eq!(access, [Some(Mode::Ro), Some(Mode::Rw), None]);
    assert_eq!(sandbox.working_dir().to_string(), "/output");
    assert_eq!(sandbox.home().to_string(), "/input");
}

#[test]
fn host_paths_are_for_the_embedding_program_only() {
    let files = files();
    let sandbox = open(&files, Nobody).sandbox();
    let cases = [
        ("/input/a.txt", "in/a.txt"),
        ("b.txt", "out/b.txt"),
        ("/output/../input/./a.txt", "in/a.txt"),
        ("/input", "in"),
        ("~/x/y", "in/x/y"),
    ];
    for (path, host) in cases {
        let resolved = sandbox.resolve(path).unwrap();
        assert_eq!(resolved, files.path(host), "{path}");
        let back = sandbox.agent_path(&resolved).unwrap();
        assert_eq!(sandbox.resolve(&back.to_string()).unwrap(), resolved, "{path}");
    }
    for path in ["/", "/etc/passwd", "/input/../.."] {
        assert_eq!(code(sandbox.resolve(path)), "outside", "{path}");
    }
    let outside = [files.path(""), files.path("in/../out/b.txt"), files.path("input"), "/".into()];
    for host in outside {
        assert_eq!(sandbox.agent_path(&host), None, "{}", host.display());
    }
    // Where a host path is inside, it can be turned into one of the agent's.
    let path = sandbox.agent_path(&files.path("out/b.txt")).unwrap().to_string();
    assert_eq!(sandbox.read_text(&path).unwrap(), "b\n");
}

#[test]
fn everything_an_agent_does_to_files_can_be_done() {
    let files = files();
    for sandbox in [open(&files, AllYes).sandbox(), in_memory(CONFIG, AllYes).sandbox()] {
        sandbox.write("/output/d/new.txt", "one\n").unwrap();
        assert!(sandbox.exists("/output/d/new.txt").unwrap());
        assert!(!sandbox.exists("/output/d/none.txt").unwrap());
        sandbox.copy("/output/d/new.txt", "/output/d/copy.txt", Overwrite::No).unwrap();
        sandbox.rename("/output/d/copy.txt", "/asked/m.txt", Overwrite::No).unwrap();
        assert_eq!(sandbox.read_text("/asked/m.txt").unwrap(), "one\n");
        let listed = sandbox.list("/output/d", 10).unwrap();
        assert_eq!(listed.entries, [("new.txt".to_owned(), Kind::File)]);
        let found = sandbox.find("/", "**/new.txt", &GlobOptions::default()).unwrap();
        assert_eq!(found.paths, ["output/d/new.txt"]);
        let query = Query { pattern: "one", ..Query::default() };
        assert_eq!(sandbox.search("/output/d", &query).unwrap().total_matches, 1);
        let info = sandbox.info("/output/d/new.txt").unwrap().unwrap();
        assert_eq!((info.kind, info.size), (Kind::File, 4));
        assert!(sandbox.info("/").unwrap().is_none());
        let Content::Text(page) = sandbox.read("/output/d/new.txt", &Page::default()).unwrap()
        else {
            panic!("it is text")
        };
        assert_eq!((page.content.as_str(), page.hash()), ("one\n", info.hash));
        sandbox.delete("/output/d/new.txt").unwrap();
        sandbox.delete("/output/d").unwrap();
        assert!(!sandbox.exists("/output/d").unwrap());
    }
}

#[test]
fn a_project_in_memory_touches_no_disk_and_keeps_the_rules() {
    let sandbox = in_memory(CONFIG, Nobody).sandbox();
    sandbox.write("/output/a.txt", "x").unwrap();
    assert!(!Path::new("/p").exists());
    assert_eq!(code(sandbox.write("/input/a.txt", "x")), "read_only");
    assert_eq!(code(sandbox.write("/asked/a.txt", "x")), "declined");
    assert_eq!(code(sandbox.write("/shut/a.txt", "x")), "blocked");
    assert_eq!(code(sandbox.write("/output/.git/hooks/x", "x")), "guarded");
    assert_eq!(code(sandbox.read_text("/input/a.exe")), "suffix");
}

#[test]
fn consent_never_widens() {
    let files = files().file("in/big.txt", "x".repeat(101)).file("in/a.exe", "x");
    let sandbox = open(&files, AllYes).sandbox();
    let before = files.tree("");
    assert_eq!(code(sandbox.read_text("/etc/passwd")), "outside");
    assert_eq!(code(sandbox.read_text("/input/../../etc/passwd")), "outside");
    assert_eq!(code(sandbox.write("/input/a.txt", "x")), "read_only");
    assert_eq!(code(sandbox.delete("/input/a.txt")), "read_only");
    assert_eq!(code(sandbox.read_text("/input/a.exe")), "suffix");
    assert_eq!(code(sandbox.read_text("/input/big.txt")), "too_large");
    assert_eq!(code(sandbox.read_text("/shut/d.txt")), "blocked");
    assert_eq!(code(sandbox.write("/shut/d.txt", "x")), "blocked");
    assert_eq!(code(sandbox.delete("/shut/d.txt")), "blocked");
    assert_eq!(code(sandbox.write("/output/.git/hooks/pre-commit", "x")), "guarded");
    assert_eq!(code(sandbox.write("/output/zonekeep.yaml", "x")), "guarded");
    assert_eq!(code(sandbox.delete("/output")), "top_directory");
    assert_eq!(files.tree(""), before);
}

#[test]
fn a_child_gets_what_it_names_and_never_more() {
    let session = in_memory(CONFIG, AllYes);
    let parent = session.sandbox();
    parent.write("/output/a.txt", "shared\n").unwrap();

    let child = parent.narrow(&needs("sandbox: { zones: [{ name: output, mode: ro }] }")).unwrap();
    assert_eq!(child.zones(), ["output"]);
    assert_eq!(child.read_text("/output/a.txt").unwrap(), "shared\n", "the same files");
    assert_eq!(code(child.write("/output/a.txt", "x")), "read_only");
    assert_eq!(code(child.read_text("/asked/c.txt")), "outside");
    assert_eq!(code(child.read_text("/output/../asked/c.txt")), "outside");

    let more = needs("sandbox: { zones: [{ name: output, mode: rw }] }");
    let error = child.narrow(&more).unwrap_err().to_string();
    assert_eq!(error, "Child requests 'rw' on 'output' but parent only has 'ro'");
    let other = needs("sandbox: { zones: [{ name: input, mode: ro }] }");
    let error = child.narrow(&other).unwrap_err().to_string();
    assert_eq!(error, "Child requests zone 'input' but parent doesn't have it");

    // A worker may ask to be asked; it cannot excuse itself from it.
    let strict = "sandbox: { zones: [{ name: output, mode: rw, approval: { write: blocked } }] }";
    let strict = parent.narrow(&needs(strict)).unwrap();
    assert_eq!(code(strict.write("/output/a.txt", "x")), "blocked");
    let bold = "sandbox: { zones: [{ name: asked, mode: rw, approval: { write: preApproved } }] }";
    let bold = in_memory(CONFIG, Nobody).sandbox().narrow(&needs(bold)).unwrap();
    assert_eq!(code(bold.write("/asked/a.txt", "x")), "declined");
}

#[test]
fn a_worker_that_names_nothing_is_a_pure_function() {
    let files = files();
    let session = open(&files, AllYes);
    let pure = session.sandbox_for(&Needs::default()).unwrap();
    assert_eq!(tools::available(&pure).count(), 0);
    assert_eq!(pure.readable_roots(), Vec::<String>::new());
    assert_eq!(code(pure.read_text("/input/a.txt")), "no_tool");
    assert_eq!(code(pure.list("/", 10)), "no_tool");
    let call = tools::call(&pure, "read_file", serde_json::json!({ "path": "/input/a.txt" }));
    assert_eq!(code(call), "no_tool");
}

#[test]
fn workers_go_only_so_deep() {
    let mut sandbox =
        in_memory(&format!("{CONFIG}delegation: {{ maxDepth: 2 }}\n"), AllYes).sandbox();
    for _ in 0..2 {
        sandbox = sandbox.narrow(&needs("sandbox: { zones: all }")).unwrap();
    }
    assert!(sandbox.narrow(&needs("sandbox: { zones: all }")).is_err());
}

#[test]
fn a_link_does_not_hide_a_guarded_file() {
    let files = files()
        .dir("out/.git/hooks")
        .dir("out/sub")
        .link("out/a", ".git")
        .link("out/b", ".git/hooks")
        .link("out/sub/c", "../.git/hooks")
        .link("out/config", ".git/config");
    let sandbox = open(&files, AllYes).sandbox();
    let before = files.tree("out");
    for path in [
        "/output/a/hooks/x",
        "/output/b/x",
        "/output/sub/c/x",
        "/output/a/config",
        "/output/config",
    ] {
        let result = sandbox.write(path, "x");
        let refused = result.expect_err(path).code();
        assert!(["guarded", "link"].contains(&refused), "{path}: {refused}");
    }
    let moved = sandbox.rename("/output/b.txt", "/output/a/hooks/x", Overwrite::No);
    assert_eq!(code(moved), "guarded");
    let copied = sandbox.copy("/output/b.txt", "/output/sub/c/x", Overwrite::No);
    assert_eq!(code(copied), "guarded");
    // Neither can the whole directory be put in place under another name first.
    sandbox.write("/output/mine/hooks/x", "x").unwrap();
    assert_eq!(code(sandbox.rename("/output/mine", "/output/sub/.git", Overwrite::No)), "guarded");
    sandbox.delete("/output/mine/hooks/x").unwrap();
    sandbox.delete("/output/mine/hooks").unwrap();
    sandbox.delete("/output/mine").unwrap();
    assert_eq!(files.tree("out"), before);
}

#[test]
fn a_directory_that_vanishes_is_a_failure_and_is_not_made_again() {
    let files = files();
    let sandbox = open(&files, AllYes).sandbox();
    std::fs::remove_dir_all(files.path("out")).unwrap();
    type Attempt = fn(&Sandbox) -> Result<(), Error>;
    let calls: [(&str, Attempt); 6] = [
        ("read", |s| s.read_text("/output/b.txt").map(drop)),
        ("write", |s| s.write("/output/b.txt", "x").map(drop)),
        ("write deep", |s| s.write("/output/d/e/b.txt", "x").map(drop)),
        ("delete", |s| s.delete("/output/b.txt")),
        ("copy in", |s| s.copy("/input/a.txt", "/output/a.txt", Overwrite::No).map(drop)),
        ("move in", |s| s.rename("/asked/c.txt", "/output/c.txt", Overwrite::No)),
    ];
    for (label, call) in calls {
        let error = call(&sandbox).expect_err(label);
        assert!(["gone", "not_found"].contains(&error.code()), "{label}: {error}");
        assert!(!error.to_string().contains("os error"), "{label}: {error}");
    }
    assert!(!files.exists("out"));
    // What is put in its place is another directory, which nobody opened.
    let files = files.file("out/b.txt", "imposter\n");
    assert!(sandbox.read_text("/output/b.txt").is_err());
    assert!(sandbox.write("/output/x.txt", "x").is_err());
    assert_eq!(files.tree("out"), ["b.txt"]);
    // The other directories work on.
    assert_eq!(sandbox.read_text("/input/a.txt").unwrap(), "one\ntwo\n");
}

#[test]
fn sandboxes_are_used_from_many_threads() {
    let files = files();
    let sandbox = open(&files, AllYes).sandbox();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let sandbox = sandbox.clone();
            scope.spawn(move || {
                for i in 0..25 {
                    let path = format!("/output/{thread}/{i}.txt");
                    sandbox.write(&path, path.as_bytes()).unwrap();
                    assert_eq!(sandbox.read_text(&path).unwrap(), path);
                }
            });
        }
    });
    // Each write is two lines, each read one.
    let lines = files.log_lines();
    assert_eq!(lines.len(), 4 * 25 * 3);
    for line in &lines {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}
