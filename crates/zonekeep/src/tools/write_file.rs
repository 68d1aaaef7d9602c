//! `write_file`: a whole file, or more at its end.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::write::WriteOptions;

use super::{CHANGES, Hints, Output, Tool, arguments, count, schema};
use crate::error::Error;
use crate::sandbox::Sandbox;

pub(super) const TOOL: Tool = Tool {
    name: "write_file",
    title: "Write file",
    description: "Write text file to sandbox. Creates the file and the directories above it, or \
                  replaces the whole file; with `append` adds to its end. To change part of a \
                  file use edit_file.",
    hints: Hints { idempotent: true, ..CHANGES },
    schema: || {
        schema::object(
            &[
                ("path", schema::path()),
                ("content", schema::text("The text, written exactly as given")),
                ("append", schema::flag("Add to the end instead of replacing the file")),
                (
                    "expected_hash",
                    schema::text(
                        "The hash from the last read; if the file has changed since, nothing is written",
                    ),
                ),
            ],
            &["path", "content"],
        )
    },
    output: || {
        schema::result(&[
            ("path", schema::real_path()),
            ("bytes", schema::number(0, "How many bytes were written")),
            ("size", schema::number(0, "The new size of the file")),
            ("created", schema::truth("Whether the file is new")),
            ("hash", schema::or_null(schema::hash())),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    content: String,
    append: Option<bool>,
    expected_hash: Option<String>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let append = args.append.unwrap_or(false);
    let options = WriteOptions {
        append,
        expected_hash: args.expected_hash.as_deref(),
        ..WriteOptions::default()
    };
    let written = sandbox.write_with(&args.path, &args.content, &options)?;
    let path = sandbox.shown_path(&args.path);
    let done = match (append, written.created) {
        (_, true) => "Created",
        (true, false) => "Appended to",
        (false, false) => "Replaced",
    };
    let bytes = args.content.len() as u64;
    let hash = written.hash.as_ref().map(|hash| format!(", hash {hash}")).unwrap_or_default();
    let text = format!("{done} {path} ({} written{hash}).", count(bytes, "byte"));
    let value = json!({
        "path": path, "bytes": bytes, "size": written.bytes,
        "created": written.created, "hash": written.hash,
    });
    Ok(Output::new(text, value))
}
