//! `read_many`: the beginnings of several text files in one result.
//!
//! Each file is read as `read_file` reads it: judged, asked about, recorded and tainting on
//! its own. A file that cannot be read is an entry with the refusal.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::read::{Content, Page};

use super::read_file::{self, DEFAULT_CHARS, DEFAULT_LINES, MAX_CHARS};
use super::schema::{self, Shape};
use super::{LOOKS, Output, Tool, arguments, count, error_value};
use crate::error::Error;
use crate::sandbox::Sandbox;

/// The most files that one call reads.
const MAX_FILES: usize = 50;

pub(super) const TOOL: Tool = Tool {
    name: "read_many",
    title: "Read several files",
    description: "Read several text files in one call. Each is returned from its beginning, under \
                  its path, as far as `max_chars` for all of them reaches; the result says where \
                  read_file continues. A file that cannot be read is named with the reason.",
    hints: LOOKS,
    schema: || {
        let path = json!({ "type": "string" });
        schema::object(
            &[
                ("paths", schema::list(path, "Paths of the files, at most 50")),
                (
                    "max_chars",
                    schema::number(
                        1,
                        "The most characters of all files together, 50000 if left out, at most 200000",
                    ),
                ),
            ],
            &["paths"],
        )
    },
    output,
    run,
};

fn output() -> Value {
    let whole = |description| schema::number(0, description);
    let error = schema::result(&[
        ("code", schema::text("A stable name of the reason")),
        ("message", schema::text("The reason")),
        ("hint", schema::text("What would work")),
    ]);
    let file = schema::shapes(
        &[
            ("path", schema::real_path()),
            ("type", schema::choice(&["text", "image", "error", "left_out"], "What follows")),
            ("content", schema::text("The first lines")),
            ("bytes", whole("The size of the file")),
            ("total_lines", schema::or_null(whole("How many lines the file has, where known"))),
            ("truncated", schema::truth("Whether more follows")),
            ("next_offset", schema::or_null(whole("Where read_file continues"))),
            ("hash", schema::or_null(schema::hash())),
            ("mime_type", schema::text("The type of an image, which read_file returns")),
            ("error", error),
        ],
        &["path", "type"],
        &[
            Shape {
                told_by: Some(("type", "text")),
                has: &["content", "bytes", "total_lines", "truncated", "next_offset", "hash"],
            },
            Shape { told_by: Some(("type", "image")), has: &["mime_type", "bytes"] },
            Shape { told_by: Some(("type", "error")), has: &["error"] },
            Shape { told_by: Some(("type", "left_out")), has: &[] },
        ],
    );
    schema::result(&[
        ("files", schema::list(file, "The files, in the order of the call")),
        ("truncated", schema::truth("Whether a file is left out or not whole")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    paths: Vec<String>,
    max_chars: Option<usize>,
}

/// One file of the result.
struct Entry {
    text: String,
    value: Value,
    /// How many characters of the file it holds.
    chars: usize,
    whole: bool,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let bad = |reason: &str| Error::BadArguments {
        tool: TOOL.name.to_owned(),
        reason: reason.to_owned(),
    };
    if args.paths.is_empty() {
        return Err(bad("give at least one path."));
    }
    if args.paths.len() > MAX_FILES {
        return Err(bad("give at most 50 paths; call again for the others."));
    }
    let mut left = args.max_chars.unwrap_or(DEFAULT_CHARS).clamp(1, MAX_CHARS);
    let (mut text, mut files, mut whole) = (String::new(), Vec::new(), true);
    let mut first_error = None;
    for given in &args.paths {
        let path = sandbox.shown_path(given);
        let entry = match left {
            0 => left_out(&path),
            left => match read(sandbox, given, &path, left) {
                // The same refusal for all is the refusal of the call.
                Err(error) if error.is_internal() => return Err(error),
                Err(error) => {
                    let entry = failed(&path, &error);
                    first_error.get_or_insert(error);
                    entry
                }
                Ok(entry) => entry,
            },
        };
        left -= entry.chars.min(left);
        whole &= entry.whole;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("==> {path} <==\n{}", entry.text));
        files.push(entry.value);
    }
    match first_error {
        Some(error) if files.iter().all(|file| file["type"] == "error") => Err(error),
        _ => Ok(Output::new(text, json!({ "files": files, "truncated": !whole }))),
    }
}

fn read(sandbox: &Sandbox, given: &str, path: &str, max_chars: usize) -> Result<Entry, Error> {
    let page = Page { offset: 1, limit: DEFAULT_LINES, max_chars };
    let content = match sandbox.read(given, &page) {
        // One call has one question at most: this one would wait behind the others.
        Err(Error::Open(request)) => {
            sandbox.close_question(&request, None, "read_many waits for no answer");
            return Ok(unasked(path));
        }
        read => read?,
    };
    Ok(match content {
        Content::Text(page) => {
            let (chars, whole) = (page.content.chars().count(), !page.truncated);
            let shown = read_file::show_text(page);
            let mut value = shown.value;
            value["path"] = json!(path);
            Entry { text: shown.text, value, chars, whole }
        }
        Content::Image { bytes, mime, .. } => {
            let size = bytes.len() as u64;
            Entry {
                text: format!("[Image: {mime}, {}. Use read_file.]", count(size, "byte")),
                value: json!({ "path": path, "type": "image", "mime_type": mime, "bytes": size }),
                chars: 0,
                whole: false,
            }
        }
    })
}

fn failed(path: &str, error: &Error) -> Entry {
    let mut value = error_value(error);
    value["path"] = json!(path);
    value["type"] = json!("error");
    Entry { text: error.to_string(), value, chars: 0, whole: false }
}

fn unasked(path: &str) -> Entry {
    let (message, hint) =
        (format!("Cannot read '{path}': the user is asked first."), "Use read_file for this file.");
    let error = json!({ "code": "open", "message": message, "hint": hint });
    Entry {
        text: format!("{message}\n{hint}"),
        value: json!({ "path": path, "type": "error", "error": error }),
        chars: 0,
        whole: false,
    }
}

fn left_out(path: &str) -> Entry {
    Entry {
        text: "[Not read: the result is full. Call again for this file.]".to_owned(),
        value: json!({ "path": path, "type": "left_out" }),
        chars: 0,
        whole: false,
    }
}
