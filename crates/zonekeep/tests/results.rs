//! What the file tools return to programs is as their schemas say.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use crate::common::{files, in_memory, open};
use crate::schemas::Checked;
use serde_json::{Value, json};
use zonekeep::approve::{AllYes, Answer, Callback, Request};
use zonekeep::{Sandbox, tools};

/// The smallest thing that counts as a picture.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

fn sandbox() -> Sandbox {
    let config = "sandbox:
  mode: direct
  zones:
    work: { path: ./work, mode: rw, approval: { write: preApproved, delete: preApproved } }
    shy: { path: ./shy, mode: rw, approval: { read: ask, write: preApproved } }
  working_dir: /work
";
    let sandbox = in_memory(config, AllYes).sandbox();
    for (path, content) in [
        ("a.txt", b"one\ntwo\nthree\n".as_slice()),
        ("b/c.txt", b"two\r\n"),
        ("empty.txt", b""),
        ("picture.png", PNG),
        ("data.bin", b"\0\x01two\0"),
        ("/shy/a.txt", b"x"),
    ] {
        sandbox.write(path, content).unwrap();
    }
    sandbox
}

#[test]
fn results_in_memory_are_as_the_schemas_say() {
    let cases = [
        // tool, arguments, something that tells the shape
        ("read_file", json!({ "path": "a.txt" }), "type", json!("text")),
        ("read_file", json!({ "path": "a.txt", "limit": 1 }), "truncated_by", json!("lines")),
        ("read_file", json!({ "path": "a.txt", "max_chars": 5 }), "truncated_by", json!("bytes")),
        ("read_file", json!({ "path": "b/c.txt" }), "line_endings", json!("crlf")),
        ("read_file", json!({ "path": "empty.txt" }), "bytes", json!(0)),
        ("read_file", json!({ "path": "picture.png" }), "type", json!("image")),
        ("read_file", json!({ "path": "data.bin", "encoding": "base64" }), "type", json!("base64")),
        (
            "read_file",
            json!({ "path": "data.bin", "encoding": "base64", "limit": 2 }),
            "next_offset",
            json!(2),
        ),
        ("write_file", json!({ "path": "new.txt", "content": "x" }), "created", json!(true)),
        ("write_file", json!({ "path": "new.txt", "content": "y" }), "created", json!(false)),
        (
            "write_file",
            json!({ "path": "/shy/a.txt", "content": "y", "append": true }),
            "hash",
            Value::Null,
        ),
        (
            "edit_file",
            json!({ "path": "a.txt", "old_string": "one", "new_string": "1" }),
            "replacements",
            json!(1),
        ),
        ("list_files", json!({}), "truncated", json!(false)),
        ("list_files", json!({ "path": "/" }), "total", json!(2)),
        ("list_files", json!({ "limit": 1 }), "truncated", json!(true)),
        ("list_files", json!({ "gitignore": true }), "truncated", json!(false)),
        ("list_files", json!({ "pattern": "**/*.txt" }), "pattern", json!("**/*.txt")),
        ("list_files", json!({ "pattern": "nothing" }), "files", json!([])),
        ("search_files", json!({ "pattern": "two", "context": 1 }), "total_matches", json!(2)),
        ("search_files", json!({ "pattern": "two", "limit": 1 }), "truncated", json!(true)),
        ("search_files", json!({ "pattern": "nothing" }), "files", json!([])),
        ("read_many", json!({ "paths": ["a.txt", "empty.txt"] }), "truncated", json!(false)),
        (
            "read_many",
            json!({ "paths": ["a.txt", "gone", "picture.png", "data.bin", "/shy/a.txt", "b/c.txt"], "max_chars": 4 }),
            "truncated",
            json!(true),
        ),
        ("tree", json!({}), "depth", json!(3)),
        ("tree", json!({ "path": "/", "depth": 1 }), "total", json!(2)),
        ("tree", json!({ "limit": 1 }), "truncated", json!(true)),
        ("file_info", json!({ "path": "a.txt" }), "type", json!("file")),
        ("file_info", json!({ "path": "b" }), "type", json!("directory")),
        ("file_info", json!({ "path": "/" }), "modified", Value::Null),
        (
            "copy_file",
            json!({ "source": "a.txt", "destination": "d.txt" }),
            "destination",
            json!("/work/d.txt"),
        ),
        (
            "move_file",
            json!({ "source": "d.txt", "destination": "e.txt" }),
            "source",
            json!("/work/d.txt"),
        ),
        ("delete_file", json!({ "path": "e.txt" }), "path", json!("/work/e.txt")),
    ];
    let sandbox = sandbox();
    for (tool, arguments, name, want) in &cases {
        let value = Checked::new(sandbox.clone(), tool).call(arguments.clone());
        assert_eq!(value[name], *want, "{tool} {arguments}: {value}");
    }
    // Commands are run in a test of their own.
    for tool in tools::all().iter().filter(|tool| !tool.name.starts_with("shell")) {
        assert!(cases.iter().any(|(name, ..)| *name == tool.name), "{}", tool.name);
    }
}

#[test]
fn results_on_disk_are_as_the_schemas_say() {
    let files = files().link("out/link", "b.txt");
    let session = open(&files, Callback(|_: &Request| Answer::yes()));
    let cases = [
        ("file_info", json!({ "path": "/output/link" }), "type", json!("link")),
        ("file_info", json!({ "path": "/output/b.txt" }), "size", json!(2)),
        ("list_files", json!({ "path": "/output" }), "total", json!(2)),
        ("read_file", json!({ "path": "/output/b.txt" }), "content", json!("b\n")),
    ];
    for (tool, arguments, name, want) in cases {
        let value = Checked::new(session.sandbox(), tool).call(arguments.clone());
        assert_eq!(value[name], want, "{tool} {arguments}: {value}");
    }
}

#[test]
fn a_shape_is_not_taken_for_another() {
    let validator = |name: &str| {
        let tool = tools::all().iter().find(|tool| tool.name == name).unwrap();
        jsonschema::draft202012::new(&tool.output_schema()).unwrap()
    };
    let cases = [
        (
            "read_file",
            json!({ "type": "text", "bytes": 1, "hash": null, "mime_type": "image/png" }),
        ),
        ("read_file", json!({ "type": "pdf", "bytes": 1, "hash": null, "mime_type": "x" })),
        ("list_files", json!({ "path": "/a", "total": 0, "truncated": false })),
        ("list_files", json!({ "path": "/a", "total": 0, "truncated": false, "files": [] })),
        ("read_many", json!({ "files": [{ "path": "/a", "type": "text" }], "truncated": false })),
        ("read_many", json!({ "files": [{ "path": "/a", "type": "error" }], "truncated": false })),
        ("tree", json!({ "path": "/", "entries": [{ "path": "a" }] })),
        ("shell", json!({})),
        ("shell", json!({ "stdout": "", "exit_code": 0 })),
        ("shell_job", json!({ "job": 1 })),
        ("shell_job", json!({ "jobs": [{ "job": 1 }] })),
        ("shell_job", json!({ "stopped": true })),
        ("file_info", json!([])),
    ];
    for (tool, value) in cases {
        assert!(!validator(tool).is_valid(&value), "{tool}: {value}");
    }
}
