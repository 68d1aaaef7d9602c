//! `zonekeep tool`: the file tools as an agent calls them.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro, suffixes: [.md, .csv, .png, .bin], max_file_bytes: 5000 }
    output: { path: ./out, mode: rw, approval: { write: preApproved, delete: preApproved } }
  working_dir: /output
  home: /input
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("in/a.md", "one\ntwo\nthree\n")
        .file("in/sub/b.csv", "x,y\n1,2\n")
        .file("out/draft.txt", "hello world\n")
}

fn call(project: &Project, tool: &str, arguments: Value) -> Run {
    project.zonekeep(["tool", tool, &arguments.to_string()])
}

fn value(project: &Project, tool: &str, arguments: Value) -> Value {
    let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--json"]);
    serde_json::from_str(run.ok()).unwrap()
}

/// The code of a refusal or failure, with the exit status.
fn code(project: &Project, tool: &str, arguments: Value) -> (i32, String) {
    let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--json"]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    (run.exit, value["error"]["code"].as_str().unwrap_or("none").to_owned())
}

#[test]
fn the_tools_are_listed_with_a_line_each() {
    let project = project();
    let run = project.zonekeep(["tool"]);
    let lines: Vec<&str> = run.ok().lines().take_while(|line| !line.is_empty()).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    for line in lines {
        let says = line.split_once(' ').unwrap().1.trim();
        assert!(says.ends_with('.') && line.len() < 120, "{line}");
    }
    let all = [
        "read_file",
        "write_file",
        "edit_file",
        "list_files",
        "search_files",
        "delete_file",
        "move_file",
        "copy_file",
        "file_info",
        "read_many",
        "tree",
        "shell",
        "shell_job",
    ];
    assert_eq!(names, all);

    let listed: Value = serde_json::from_str(project.zonekeep(["tool", "--json"]).ok()).unwrap();
    for (tool, name) in listed.as_array().unwrap().iter().zip(all) {
        assert_eq!(tool["name"], name);
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}");
    }
}

#[test]
fn a_read_prints_what_the_agent_would_read() {
    let project = project();
    assert_eq!(
        call(&project, "read_file", json!({ "path": "/input/a.md" })).stdout,
        "one\ntwo\nthree\n"
    );
    let page =
        call(&project, "read_file", json!({ "path": "/input/a.md", "offset": 2, "limit": 1 }));
    assert_snapshot!(page.to_string(), @"
    exit 0
    --- stdout
    two
    [Lines 2 to 2 of 3. Continue with offset 3.]
    --- stderr
    ");
    let structured = value(&project, "read_file", json!({ "path": "/input/a.md", "limit": 2 }));
    assert_snapshot!(serde_json::to_string_pretty(&structured).unwrap(), @r#"
    {
      "type": "text",
      "content": "one\ntwo\n",
      "bytes": 14,
      "total_lines": 3,
      "first_line": 1,
      "output_lines": 2,
      "truncated": true,
      "truncated_by": "lines",
      "next_offset": 3,
      "encoding": "UTF-8",
      "line_endings": "lf",
      "hash": "b6285c57e8797db5"
    }
    "#);
    let past = call(&project, "read_file", json!({ "path": "/input/a.md", "offset": 9 }));
    assert_snapshot!(past.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot read '/input/a.md': the file has only 3 lines.
    The first line is number 1
    ");
    let cut = value(&project, "read_file", json!({ "path": "/input/a.md", "max_chars": 5 }));
    assert_eq!((&cut["truncated"], &cut["truncated_by"]), (&json!(true), &json!("bytes")));
}

#[test]
fn the_root_shows_the_directories_and_paths_resolve_as_a_shell_would() {
    let project = project();
    assert_eq!(call(&project, "list_files", json!({ "path": "/" })).ok(), "input/\noutput/");
    let same = [
        "draft.txt",
        "./draft.txt",
        "/output/draft.txt",
        "/output//x/../draft.txt",
        "../output/draft.txt",
    ];
    for path in same {
        let run = call(&project, "read_file", json!({ "path": path }));
        assert_eq!(run.ok(), "hello world", "{path}");
    }
    for path in ["~/a.md", "~//sub/../a.md"] {
        assert_eq!(call(&project, "read_file", json!({ "path": path })).ok(), "one\ntwo\nthree");
    }
    assert_eq!(call(&project, "list_files", json!({ "path": "~" })).ok(), "a.md\nsub/");
    assert_eq!(call(&project, "list_files", json!({})).ok(), "draft.txt");
    // Above the root there is only the root.
    assert_eq!(
        call(&project, "list_files", json!({ "path": "/../../.." })).ok(),
        "input/\noutput/"
    );
}

#[test]
fn host_paths_are_paths_of_the_agents_only_in_a_zone() {
    let project = project().file("other.txt", "x");
    let host = |path: &str| json!({ "path": project.path(path).display().to_string() });
    assert!(call(&project, "read_file", host("out/draft.txt")).ok().contains("hello world"));
    let run = call(&project, "read_file", host("other.txt"));
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot access '[TEMP]/project/other.txt': path is outside sandbox.
    Readable paths: /input, /output
    ");
}

#[test]
fn refusals_use_the_agreed_sentences_and_leave_everything_as_it_was() {
    let project = project().file("in/huge.md", "x".repeat(5001)).file("in/x.exe", "MZ");
    let before = project.tree("");
    let refused = |tool, arguments| {
        let run = call(&project, tool, arguments);
        assert_eq!((run.exit, run.stdout.as_str()), (1, ""), "{run}");
        run.stderr
    };
    assert_snapshot!(refused("read_file", json!({ "path": "/etc/passwd" })), @"
    Cannot access '/etc/passwd': path is outside sandbox.
    Readable paths: /input, /output
    ");
    assert_snapshot!(refused("write_file", json!({ "path": "/input/a.md", "content": "x" })), @"
    Cannot write to '/input/a.md': path is read-only.
    Writable paths: /output
    ");
    assert_snapshot!(refused("read_file", json!({ "path": "/input/x.exe" })), @"
    Cannot access '/input/x.exe': suffix not allowed.
    Allowed suffixes: .bin, .csv, .md, .png
    ");
    assert_snapshot!(refused("read_file", json!({ "path": "/input/huge.md" })), @"
    Cannot read '/input/huge.md': file too large (5001 bytes).
    Maximum allowed: 5000 bytes
    ");
    assert_snapshot!(refused("delete_file", json!({ "path": "/output" })), @"
    Cannot delete '/output': it is a top-level directory.
    Name a file in one of these: /output
    ");
    assert_snapshot!(refused("read_file", json!({ "path": "a\0b" })), @r"
    Cannot access 'a\u{0}b': the path contains a NUL character.
    Readable paths: /input, /output
    ");
    assert_snapshot!(refused("read_file", json!({ "path": "/output/drft.txt" })), @"
    Cannot read '/output/drft.txt': no such file.
    Similar names: draft.txt
    ");
    assert_eq!(project.tree(""), before);
    assert_eq!(project.read("in/a.md"), "one\ntwo\nthree\n");
}

#[test]
fn suffixes_and_sizes_hold_for_every_way_in_and_out() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:
  mode: direct
  zones:
    docs: { path: ./docs, mode: rw, suffixes: [.md], max_file_bytes: 10, approval: { write: preApproved, delete: preApproved } }
    any: { path: ./any, mode: rw, approval: { write: preApproved, delete: preApproved } }
",
    )
    .file("docs/a.md", "small")
    .file("docs/x.sh", "small")
    .file("any/big.md", "more than ten bytes")
    .file("any/b.sh", "small");
    let suffix = || (1, "suffix".to_owned());
    let large = || (1, "too_large".to_owned());
    let cases = [
        ("read_file", json!({ "path": "/docs/x.sh" }), suffix()),
        ("write_file", json!({ "path": "/docs/y.sh", "content": "" }), suffix()),
        (
            "edit_file",
            json!({ "path": "/docs/x.sh", "old_string": "s", "new_string": "S" }),
            suffix(),
        ),
        ("delete_file", json!({ "path": "/docs/x.sh" }), suffix()),
        ("move_file", json!({ "source": "/docs/x.sh", "destination": "/any/x.sh" }), suffix()),
        ("move_file", json!({ "source": "/docs/a.md", "destination": "/docs/a.sh" }), suffix()),
        ("copy_file", json!({ "source": "/any/b.sh", "destination": "/docs/b.sh" }), suffix()),
        ("write_file", json!({ "path": "/docs/b.md", "content": "more than ten bytes" }), large()),
        (
            "write_file",
            json!({ "path": "/docs/a.md", "content": "123456", "append": true }),
            large(),
        ),
        (
            "edit_file",
            json!({ "path": "/docs/a.md", "old_string": "small", "new_string": "more than ten" }),
            large(),
        ),
        ("copy_file", json!({ "source": "/any/big.md", "destination": "/docs/b.md" }), large()),
        ("move_file", json!({ "source": "/any/big.md", "destination": "/docs/b.md" }), large()),
    ];
    let before = project.tree("");
    for (tool, arguments, want) in cases {
        assert_eq!(code(&project, tool, arguments.clone()), want, "{tool} {arguments}");
    }
    assert_eq!(project.tree(""), before);
    assert_eq!(project.read("docs/a.md"), "small");
}

#[test]
fn writing_creates_replaces_and_appends() {
    let project = project();
    let run = call(&project, "write_file", json!({ "path": "new/deep/a.txt", "content": "1\n" }));
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    Created /output/new/deep/a.txt (2 bytes written, hash 4355a46b19d348dc).
    --- stderr
    ");
    let run = call(
        &project,
        "write_file",
        json!({ "path": "new/deep/a.txt", "content": "2\n", "append": true }),
    );
    assert!(run.ok().starts_with("Appended to /output/new/deep/a.txt (2 bytes written"), "{run}");
    assert_eq!(project.read("out/new/deep/a.txt"), "1\n2\n");
    let run = call(&project, "write_file", json!({ "path": "new/deep/a.txt", "content": "" }));
    assert!(run.ok().starts_with("Replaced "), "{run}");
    assert_eq!(project.read("out/new/deep/a.txt"), "");
    assert_eq!(project.tree("out"), ["draft.txt", "new", "new/deep", "new/deep/a.txt"]);
}

#[test]
fn a_stale_hash_is_refused() {
    let project = project();
    let hash = value(&project, "read_file", json!({ "path": "draft.txt" }))["hash"].clone();
    project.put("out/draft.txt", "changed meanwhile\n");
    let write = json!({ "path": "draft.txt", "content": "mine", "expected_hash": hash });
    assert_snapshot!(call(&project, "write_file", write.clone()).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to 'draft.txt': the file has changed since it was read.
    Read it again before changing it
    ");
    let edit = json!({ "path": "draft.txt", "old_string": "changed", "new_string": "x", "expected_hash": hash });
    assert_eq!(code(&project, "edit_file", edit), (1, "stale".to_owned()));
    assert_eq!(project.read("out/draft.txt"), "changed meanwhile\n");

    let hash = value(&project, "file_info", json!({ "path": "draft.txt" }))["hash"].clone();
    let write = json!({ "path": "draft.txt", "content": "mine", "expected_hash": hash });
    call(&project, "write_file", write).ok();
    assert_eq!(project.read("out/draft.txt"), "mine");
}

#[test]
fn edits_are_exact_unique_and_all_or_nothing() {
    let project = project().file("out/code.rs", "fn a() {}\nfn b() {}\nfn a2() {}\n");
    let edit = |arguments: Value| call(&project, "edit_file", arguments);
    let done = edit(json!({ "path": "code.rs", "old_string": "fn b()", "new_string": "fn c()" }));
    assert_snapshot!(done.stdout, @"
    Edited /output/code.rs (1 replacement, hash 3bef8e0bc0bb6ce9).
    @@ -1,3 +1,3 @@
     fn a() {}
    -fn b() {}
    +fn c() {}
     fn a2() {}
    ");
    let twice = edit(json!({ "path": "code.rs", "old_string": "fn ", "new_string": "pub fn " }));
    assert_snapshot!(twice.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to 'code.rs': the text to replace occurs 3 times, at lines 1, 2, 3.
    Give more of the text around it, or replace all
    ");
    let none = edit(json!({ "path": "code.rs", "old_string": "fn  c()", "new_string": "x" }));
    assert_snapshot!(none.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to 'code.rs': the text to replace was not found.
    Nearest text, at line 2:
    fn c() {}
    ");
    let half = edit(json!({ "path": "code.rs", "edits": [
        { "old_string": "fn c()", "new_string": "fn d()" },
        { "old_string": "not there", "new_string": "x" },
    ] }));
    assert_eq!(half.exit, 1);
    assert_eq!(project.read("out/code.rs"), "fn a() {}\nfn c() {}\nfn a2() {}\n");
    edit(json!({ "path": "code.rs", "edits": [
        { "old_string": "fn c()", "new_string": "fn d()" },
        { "old_string": "fn ", "new_string": "pub fn ", "replace_all": true },
    ] }))
    .ok();
    assert_eq!(project.read("out/code.rs"), "pub fn a() {}\npub fn d() {}\npub fn a2() {}\n");
    let both = json!({ "path": "code.rs", "old_string": "a", "new_string": "b", "edits": [] });
    assert_eq!(code(&project, "edit_file", both), (2, "bad_arguments".to_owned()));
}

#[test]
fn listing_takes_globs_and_honours_gitignore_on_request() {
    let project =
        project().file("out/.gitignore", "*.log\n").file("out/x.log", "").file("out/d/y.md", "");
    let list = |arguments| call(&project, "list_files", arguments).ok().to_owned();
    assert_eq!(
        list(json!({ "path": "/", "pattern": "**/*.{md,csv}" })),
        "input/a.md\ninput/sub/b.csv\noutput/d/y.md"
    );
    assert_eq!(list(json!({ "path": "/input", "pattern": "*.md" })), "a.md");
    assert_eq!(
        list(json!({ "pattern": "**/*", "gitignore": true })),
        ".gitignore\nd/y.md\ndraft.txt"
    );
    assert_eq!(list(json!({ "gitignore": true })), ".gitignore\nd/\ndraft.txt");
    assert_eq!(list(json!({ "pattern": "*.none" })), "[Nothing found.]");
    assert_eq!(list(json!({ "path": "/", "pattern": "*/" })), "input\noutput");
    assert_eq!(list(json!({ "path": "/", "pattern": "{in,x}put/*" })), "input/a.md");
    assert_eq!(list(json!({ "path": "/", "pattern": "out*/*/" })), "output/d");
    assert_eq!(
        list(json!({ "limit": 1 })).lines().last().unwrap(),
        "[The first 1 of 4. Use a pattern or a higher limit.]"
    );
    for pattern in ["/etc/*", "../*", "", "[a"] {
        let got = code(&project, "list_files", json!({ "pattern": pattern }));
        assert_eq!(got, (1, "bad_pattern".to_owned()), "{pattern}");
    }
}

#[test]
fn searching_shows_path_line_and_context() {
    let project = project();
    let run = call(
        &project,
        "search_files",
        json!({ "path": "/", "pattern": "t(wo|hree)", "context": 1 }),
    );
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    input/a.md-1-one
    input/a.md:2:two
    input/a.md:3:three
    [2 matches in 1 file.]
    [Paths are relative to /.]
    --- stderr
    ");
    let run = call(&project, "search_files", json!({ "path": "/input/a.md", "pattern": "two" }));
    assert_eq!(run.ok(), "a.md:2:two\n[1 match in 1 file.]");
    let run = call(
        &project,
        "search_files",
        json!({ "path": "/input", "pattern": "(", "literal": true }),
    );
    assert_eq!(run.ok(), "[No match in 2 files.]");
    assert_eq!(
        code(&project, "search_files", json!({ "pattern": "(" })),
        (1, "bad_pattern".to_owned())
    );
    let capped =
        value(&project, "search_files", json!({ "path": "/input", "pattern": ".", "limit": 2 }));
    assert_eq!((&capped["truncated"], &capped["total_matches"]), (&json!(true), &json!(5)));
}

#[test]
fn moving_copying_and_deleting() {
    let project = project();
    let run = call(
        &project,
        "copy_file",
        json!({ "source": "/input/a.md", "destination": "/output/n/a.md" }),
    );
    assert_eq!(run.ok(), "Copied /input/a.md to /output/n/a.md.");
    let run = call(&project, "move_file", json!({ "source": "n/a.md", "destination": "b.md" }));
    assert_eq!(run.ok(), "Moved /output/n/a.md to /output/b.md.");
    let taken = json!({ "source": "b.md", "destination": "draft.txt" });
    assert_eq!(code(&project, "move_file", taken.clone()), (1, "exists".to_owned()));
    assert_eq!(code(&project, "copy_file", taken), (1, "exists".to_owned()));
    call(
        &project,
        "move_file",
        json!({ "source": "b.md", "destination": "draft.txt", "overwrite": true }),
    )
    .ok();
    assert_eq!(project.read("out/draft.txt"), "one\ntwo\nthree\n");
    assert_eq!(
        call(&project, "delete_file", json!({ "path": "draft.txt" })).ok(),
        "Deleted /output/draft.txt."
    );
    assert_eq!(
        code(&project, "delete_file", json!({ "path": "draft.txt" })),
        (1, "not_found".to_owned())
    );
    call(&project, "delete_file", json!({ "path": "n" })).ok();
    assert_eq!(project.tree("out"), Vec::<String>::new());
    // A move out of a read-only directory would change it.
    let out = json!({ "source": "/input/a.md", "destination": "/output/a.md" });
    assert_eq!(code(&project, "move_file", out), (1, "read_only".to_owned()));
}

#[test]
fn file_info_says_what_there_is() {
    let project = project();
    let info = value(&project, "file_info", json!({ "path": "/input/a.md" }));
    assert_eq!(
        (&info["type"], &info["size"], &info["writable"]),
        (&json!("file"), &json!(14), &json!(false))
    );
    let read = value(&project, "read_file", json!({ "path": "/input/a.md" }));
    assert_eq!(info["hash"], read["hash"]);
    let text = call(&project, "file_info", json!({ "path": "/output" }));
    assert!(text.ok().starts_with("/output: directory, "), "{text}");
    assert_eq!(value(&project, "file_info", json!({ "path": "/" }))["type"], "directory");
}

#[test]
fn images_come_with_their_type_and_other_binary_files_say_how_to_read_them() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let project = project().file("in/p.png", png).file("in/x.bin", b"\0\x01\x02\xff");
    let image = call(&project, "read_file", json!({ "path": "/input/p.png" }));
    assert_eq!(image.ok(), "[Image: image/png, 16 bytes]");
    let image = value(&project, "read_file", json!({ "path": "/input/p.png" }));
    assert_eq!(image["mime_type"], "image/png");
    assert_eq!(image["content"], "iVBORw0KGgoAAAANSUhEUg==");
    let binary = call(&project, "read_file", json!({ "path": "/input/x.bin" }));
    assert_snapshot!(binary.to_string(), @r#"
    exit 1
    --- stdout

    --- stderr
    Cannot read '/input/x.bin': the content is binary (application/octet-stream, 4 bytes), not text.
    To read it, set encoding to "base64"
    "#);
    let binary =
        call(&project, "read_file", json!({ "path": "/input/x.bin", "encoding": "base64" }));
    assert_eq!(binary.ok(), "AAEC/w==");
}

#[test]
fn special_files_are_refused_instead_of_hanging() {
    let project = project();
    let fifo = project.path("out/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(project.path("out/socket")).unwrap();
    for name in ["pipe", "socket"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": name })),
            ("copy_file", json!({ "source": name, "destination": "copy" })),
            ("edit_file", json!({ "path": name, "old_string": "a", "new_string": "b" })),
            ("write_file", json!({ "path": name, "content": "x", "append": true })),
        ] {
            assert_eq!(code(&project, tool, arguments), (1, "special".to_owned()), "{tool} {name}");
        }
    }
    call(&project, "search_files", json!({ "pattern": "hello" })).ok();
}

#[test]
fn arguments_can_come_from_standard_input() {
    let project = project();
    let run = project.zonekeep_with_input(["tool", "read_file", "-"], r#"{"path": "draft.txt"}"#);
    assert_eq!(run.ok(), "hello world");
    let run = project.zonekeep_with_input(["tool", "read_file", "-"], "{");
    assert_eq!(run.exit, 2);
}

#[test]
fn file_path_and_other_names_are_accepted() {
    let project = project();
    let read = json!({ "file_path": "draft.txt" });
    for name in ["read_file", "read"] {
        let run = call(&project, name, read.clone());
        assert_eq!((run.ok(), run.stderr.as_str()), ("hello world", ""), "{name}");
    }
    assert_eq!(call(&project, "move_file", json!({ "from": "draft.txt", "to": "d.txt" })).exit, 0);
}

#[test]
fn old_names_work_and_say_that_they_are_old() {
    let project = project();
    let run = call(&project, "sandbox_read_text", json!({ "path": "draft.txt" }));
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    hello world
    --- stderr
    warning: the name 'sandbox_read_text' is deprecated; use 'read_file'
    ");
    let write = json!({ "path": "w.txt", "content": "x" });
    assert!(call(&project, "sandbox_write_text", write).stderr.contains("use 'write_file'"));
    assert!(call(&project, "sandbox_list", json!({})).stderr.contains("use 'list_files'"));
    assert_eq!(project.read("out/w.txt"), "x");
}

#[test]
fn wrong_usage_exits_with_2_and_says_what_is_right() {
    let project = project();
    assert_snapshot!(project.zonekeep(["tool", "read_file", "{nope"]).to_string(), @r#"
    exit 2
    --- stdout

    --- stderr
    error: the arguments are not JSON: key must be a string at line 1 column 2

    hint: write a JSON object, such as `zonekeep tool read_file '{"path": "/"}'`
    "#);
    assert_snapshot!(call(&project, "read_file", json!({ "path": "a", "lines": 3 })).to_string(), @"
    exit 2
    --- stdout

    --- stderr
    Cannot use read_file: unknown field `lines`.
    Arguments: path, offset, limit, max_chars, encoding
    ");
    assert_snapshot!(project.zonekeep(["tool", "read_file", "[1]"]).to_string(), @"
    exit 2
    --- stdout

    --- stderr
    Cannot use read_file: the arguments must be one JSON object.
    ");
    assert_snapshot!(project.zonekeep(["tool", "raed_file", "{}"]).to_string(), @"
    exit 2
    --- stdout

    --- stderr
    Cannot use 'raed_file': the tool is not available.
    Available tools: copy_file, delete_file, edit_file, file_info, list_files, move_file, read_file, read_many and 5 more
    ");
    for bad in [json!({}), json!({ "path": 3 }), json!({ "path": "a", "offset": -1 })] {
        assert_eq!(
            code(&project, "read_file", bad.clone()),
            (2, "bad_arguments".to_owned()),
            "{bad}"
        );
    }
}

#[test]
fn errors_are_data_with_json() {
    let project = project();
    let run = project.zonekeep(["tool", "read_file", r#"{"path":"/etc/passwd"}"#, "--json"]);
    assert_snapshot!(run.to_string(), @r#"
    exit 1
    --- stdout
    {
      "error": {
        "code": "outside",
        "message": "Cannot access '/etc/passwd': path is outside sandbox.",
        "hint": "Readable paths: /input, /output",
        "path": "/etc/passwd"
      }
    }
    --- stderr
    "#);
}

#[test]
fn text_in_other_forms_is_read_and_kept() {
    let project = project()
        .file("out/crlf.txt", "a\r\nb\r\n")
        .file("out/bom.txt", "\u{feff}a\n")
        .file("out/utf16.txt", [0xff, 0xfe, b'h', 0, b'i', 0, b'\n', 0])
        .file("out/empty.txt", "");
    let read = |path: &str| value(&project, "read_file", json!({ "path": path }));
    assert_eq!(read("crlf.txt")["line_endings"], "crlf");
    assert_eq!(read("utf16.txt")["content"], "hi\n");
    assert_eq!(read("bom.txt")["content"], "a\n");
    assert_eq!(
        call(&project, "read_file", json!({ "path": "empty.txt" })).ok(),
        "[The file is empty.]"
    );
    let edit = |path: &str, old: &str, new: &str| {
        call(&project, "edit_file", json!({ "path": path, "old_string": old, "new_string": new }))
            .ok();
    };
    edit("crlf.txt", "a\nb", "a\nc");
    edit("utf16.txt", "hi", "ho");
    edit("bom.txt", "a", "b");
    assert_eq!(project.read("out/crlf.txt"), "a\r\nc\r\n");
    assert_eq!(project.read("out/bom.txt"), "\u{feff}b\n");
    assert_eq!(
        std::fs::read(project.path("out/utf16.txt")).unwrap(),
        [0xff, 0xfe, b'h', 0, b'o', 0, b'\n', 0]
    );
}

#[test]
fn names_that_are_not_utf_8_can_be_listed_and_used() {
    use std::os::unix::ffi::OsStrExt;
    let project = project();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    if std::fs::write(project.path("out").join(name), "latin").is_err() {
        return zonekeep_testkit::skip("the file system takes only UTF-8 names");
    }
    let listed = call(&project, "list_files", json!({ "path": "/output" }));
    assert_eq!(listed.ok(), "caf\\xe9.txt\ndraft.txt");
    let read = call(&project, "read_file", json!({ "path": "/output/caf\\xe9.txt" }));
    assert_eq!(read.ok(), "latin");
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let project = project().file("out/dir/x.txt", "x\n");
    let cases = [
        ("write_file", json!({ "path": "draft.txt/below", "content": "" }), "not_a_directory"),
        ("write_file", json!({ "path": "dir", "content": "" }), "is_directory"),
        ("write_file", json!({ "path": "/", "content": "" }), "top_directory"),
        ("write_file", json!({ "path": "/elsewhere/a", "content": "" }), "outside"),
        ("read_file", json!({ "path": "dir" }), "is_directory"),
        ("list_files", json!({ "path": "draft.txt" }), "not_a_directory"),
        ("list_files", json!({ "path": "none" }), "not_found"),
        ("move_file", json!({ "source": "dir", "destination": "dir/sub" }), "into_itself"),
        ("move_file", json!({ "source": "draft.txt", "destination": "dir" }), "exists"),
        ("copy_file", json!({ "source": "dir", "destination": "dir2" }), "is_directory"),
        ("delete_file", json!({ "path": "dir" }), "not_empty"),
        (
            "edit_file",
            json!({ "path": "draft.txt", "old_string": "", "new_string": "x" }),
            "bad_edit",
        ),
        (
            "edit_file",
            json!({ "path": "draft.txt", "old_string": "h", "new_string": "h" }),
            "bad_edit",
        ),
        ("edit_file", json!({ "path": "none", "old_string": "h", "new_string": "x" }), "not_found"),
    ];
    let before = project.tree("");
    for (tool, arguments, want) in cases {
        let got = code(&project, tool, arguments.clone());
        assert_eq!(got, (1, want.to_owned()), "{tool} {arguments}");
    }
    // Onto itself is nothing to do, and loses nothing.
    for tool in ["move_file", "copy_file"] {
        let same =
            json!({ "source": "draft.txt", "destination": "./draft.txt", "overwrite": true });
        call(&project, tool, same).ok();
    }
    assert_eq!(project.tree(""), before);
    assert_eq!(project.read("out/draft.txt"), "hello world\n");
}

#[test]
fn a_tree_of_the_root_begins_with_the_directories_wherever_they_are() {
    let config = "sandbox:\n  mode: direct\n  zones:\n    repo: { path: ./repo, mode: rw, at: same }\n    \
                  in: { path: ./in, mode: ro }\n";
    let project =
        Project::with_config(PROGRAM, config).file("repo/src/a.rs", "").file("in/b.txt", "");
    let run = project.zonekeep(["tool", "tree", r#"{"path": "/", "depth": 2}"#]);
    let top = project.path("repo").display().to_string();
    let top = format!("{}/", top.trim_start_matches('/'));
    // Their order depends on where the project lies.
    let trees = ["in/\n  b.txt".to_owned(), format!("{top}\n  src/")];
    let lines = trees.iter().map(|tree| tree.lines().count()).sum::<usize>();
    assert_eq!(run.stdout.lines().count(), lines, "{run}");
    let shown = run.stdout.replace("[TEMP]", &project.beside("").display().to_string());
    for tree in trees {
        assert!(shown.contains(&tree), "{tree}\n{run}");
    }
}
