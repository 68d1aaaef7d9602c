//! What the steps of a client must have come to.

use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run};

mod agents;
mod changes;
mod commands;
mod questions;
mod resources;
mod suite;

pub(crate) use agents::task;
pub(crate) use suite::conformance;

/// The tools, as a client without a worker file sees them.
pub(crate) const TOOLS: [&str; 13] = [
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

/// Which kind of protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With an initial handshake, and questions of the server's.
    Before,
    /// Revision 2026-07-28, where questions are results.
    Of2026,
}

/// The steps that a client went through, with what each came to.
#[derive(Debug)]
pub(crate) struct Steps {
    run: Run,
    steps: Vec<(String, Value)>,
}

impl Steps {
    /// Reads what a client printed.
    #[track_caller]
    pub(crate) fn of(run: Run) -> Self {
        let step = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap_or_else(|error| {
                panic!("{error} in {line:?}: {run}");
            });
            (line["step"].as_str().unwrap().to_owned(), line["value"].take())
        };
        let steps: Vec<_> = run.stdout.lines().map(step).collect();
        assert_eq!(run.exit, 0, "after {:?}: {}", steps.last(), run.stderr);
        Steps { run, steps }
    }

    /// Returns what a step came to.
    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> &Value {
        let found = self.steps.iter().find(|(step, _)| step == name);
        &found.unwrap_or_else(|| panic!("no step {name:?}: {}", self.run)).1
    }

    /// Returns what all steps of a name came to.
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        self.steps.iter().filter(|(step, _)| step == name).map(|(_, value)| value).collect()
    }

    /// Returns whether there is a step.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.steps.iter().any(|(step, _)| step == name)
    }
}

/// Returns the names in a list of tools.
pub(crate) fn names(tools: &Value) -> Vec<&str> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Returns the text of a result, the first of its parts.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// Asserts that a result is an error in the agent's words.
#[track_caller]
pub(crate) fn refused(result: &Value, code: &str, words: &str) {
    assert_eq!(result["isError"], json!(true), "{result}");
    // A step has the error itself, other results have it where the server put it.
    let problem = result.get("problem").unwrap_or(&result["_meta"]["zonekeep/error"]);
    assert_eq!(problem["code"], json!(code), "{result}");
    assert_eq!(text(result), words);
}

/// Judges a whole session.
pub(crate) fn session(project: &Project, steps: &Steps, era: Era) {
    hello(project, steps, era);
    files(steps);
    questions::judge(project, steps, era);
    commands::judge(steps);
    mistakes(steps);
    resources::judge(steps, era);
    changes::judge(steps);
    let ms = steps.get("closed")["ms"].as_u64().unwrap();
    assert!(ms < 1_900, "it had to be ended: {ms} ms");
    if steps.has("server") {
        assert_eq!(*steps.get("server"), json!({ "exit": 0, "signal": null }));
    }
    if steps.has("strangers") {
        let want = json!({
            "no token": 401, "wrong token": 401, "web page": 403, "with the token": 200,
        });
        assert_eq!(*steps.get("strangers"), want);
    }
}

fn hello(project: &Project, steps: &Steps, era: Era) {
    let hello = steps.get("hello");
    let protocol = match era {
        Era::Before => "2025-11-25",
        Era::Of2026 => "2026-07-28",
    };
    assert_eq!(hello["protocol"], json!(protocol));
    let server = json!({
        "name": "zonekeep", "title": "Zonekeep", "version": env!("CARGO_PKG_VERSION"),
    });
    assert_eq!(hello["server"], server);
    let capabilities =
        json!({ "resources": { "subscribe": true }, "tools": { "listChanged": true } });
    assert_eq!(hello["capabilities"], capabilities);
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.contains("list_files"), "{instructions}");
    assert!(!instructions.contains("/notes"), "directories are not named: {instructions}");

    // The same table as at every other door.
    let shown = project.zonekeep(["tool", "--json"]);
    let mut shown: Value = serde_json::from_str(shown.ok()).unwrap();
    let mut tools = steps.get("tools").clone();
    assert_eq!(names(&tools), TOOLS);
    for tool in tools.as_array_mut().unwrap() {
        assert_eq!(tool["annotations"]["title"].take(), tool["title"], "{tool}");
        tool["annotations"].as_object_mut().unwrap().remove("title");
        let output = tool.as_object_mut().unwrap().remove("outputSchema").unwrap();
        assert_eq!(output["type"], json!("object"), "{output}");
    }
    for tool in shown.as_array_mut().unwrap() {
        tool.as_object_mut().unwrap().remove("outputSchema");
    }
    assert_eq!(tools, shown);
}

fn files(steps: &Steps) {
    let entry = |name: &str| json!({ "name": name, "type": "directory" });
    let list = json!({
        "content": [{ "type": "text", "text": "ask/\nnotes/\nout/" }],
        "structuredContent": {
            "path": "/", "entries": [entry("ask"), entry("notes"), entry("out")],
            "total": 3, "truncated": false,
        },
        "isError": false,
    });
    assert_eq!(*steps.get("list"), list);
    let read = json!({
        "content": [{ "type": "text", "text": "hello\n" }],
        "structuredContent": {
            "type": "text", "content": "hello\n", "bytes": 6, "total_lines": 1, "first_line": 1,
            "output_lines": 1, "truncated": false, "truncated_by": null, "next_offset": null,
            "encoding": "UTF-8", "line_endings": "lf", "hash": "5891b5b522d5df08",
        },
        "isError": false,
    });
    assert_eq!(*steps.get("read text"), read);
    assert_eq!(*steps.get("after cancel"), read);
    let image = steps.get("read image");
    let content = json!([
        { "type": "text", "text": "[Image: image/png, 70 bytes]" },
        { "type": "image", "mimeType": "image/png", "data": super::DOT },
    ]);
    assert_eq!(image["content"], content);
    assert_eq!(image["structuredContent"]["mime_type"], json!("image/png"));
}

fn mistakes(steps: &Steps) {
    let cases = [
        (
            "outside",
            "outside",
            "Cannot access '/etc/passwd': path is outside sandbox.\nReadable paths: /ask, /notes, /out",
        ),
        ("missing", "not_found", "Cannot read '/notes/none.txt': no such file."),
        (
            "read-only",
            "read_only",
            "Cannot write to '/notes/a.txt': path is read-only.\nWritable paths: /ask, /out",
        ),
        (
            "unknown tool",
            "no_tool",
            "Cannot use 'launch_rocket': the tool is not available.\nAvailable tools: copy_file, \
             delete_file, edit_file, file_info, list_files, move_file, read_file, read_many and 5 more",
        ),
        (
            "unknown argument",
            "bad_arguments",
            "Cannot use read_file: unknown field `colour`.\nArguments: path, offset, limit, max_chars, encoding",
        ),
        (
            "wrong type",
            "bad_arguments",
            "Cannot use read_file: invalid type: integer `7`, expected a string.\n\
             Arguments: path, offset, limit, max_chars, encoding",
        ),
        (
            "no argument",
            "bad_arguments",
            "Cannot use read_file: missing field `path`.\nArguments: path, offset, limit, max_chars, encoding",
        ),
    ];
    for (name, code, words) in cases {
        refused(steps.get(&format!("error {name}")), code, words);
    }
}
