//! `edit_file`: exact replacements in a text file.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::edit::Edit;

use super::{CHANGES, Output, Tool, arguments, count, cut, schema};
use crate::error::Error;
use crate::sandbox::Sandbox;

/// The most characters of a diff that are returned.
const MAX_DIFF: usize = 20_000;

pub(super) const TOOL: Tool = Tool {
    name: "edit_file",
    title: "Edit file",
    description: "Replace text in a file. `old_string` must match exactly, white space included, \
                  and only once, unless `replace_all` is set. Several replacements can be given \
                  as `edits`: they are applied in order, all or none. Returns a diff.",
    hints: CHANGES,
    schema: || {
        let one = [
            ("old_string", schema::text("The text to replace, exactly as in the file")),
            ("new_string", schema::text("The text to put in its place")),
            ("replace_all", schema::flag("Replace every occurrence instead of exactly one")),
        ];
        let [old, new, all] = one.clone();
        let edits = json!({
            "type": "array",
            "minItems": 1,
            "items": schema::object(&one, &["old_string", "new_string"]),
            "description": "Several replacements, instead of old_string and new_string",
        });
        let hash = schema::text(
            "The hash from the last read; if the file has changed since, nothing is written",
        );
        schema::object(
            &[("path", schema::path()), old, new, all, ("edits", edits), ("expected_hash", hash)],
            &["path"],
        )
    },
    output: || {
        schema::result(&[
            ("path", schema::real_path()),
            ("replacements", schema::number(0, "How many were made")),
            ("bytes", schema::number(0, "The new size of the file")),
            ("hash", schema::hash()),
            ("diff", schema::text("What changed; the beginning of a long one")),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    edits: Option<Vec<One>>,
    expected_hash: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let edits = match (args.old_string, args.new_string, args.edits) {
        (Some(old), Some(new), None) => {
            vec![Edit { old, new, replace_all: args.replace_all.unwrap_or(false) }]
        }
        (None, None, Some(edits)) if !edits.is_empty() && args.replace_all.is_none() => edits
            .into_iter()
            .map(|one| Edit {
                old: one.old_string,
                new: one.new_string,
                replace_all: one.replace_all.unwrap_or(false),
            })
            .collect(),
        _ => {
            let reason = "give either old_string and new_string, or a list of edits.".to_owned();
            return Err(Error::BadArguments { tool: TOOL.name.to_owned(), reason });
        }
    };
    let mut edited = sandbox.edit(&args.path, &edits, args.expected_hash.as_deref())?;
    cut(&mut edited.diff, MAX_DIFF);
    let path = sandbox.shown_path(&args.path);
    let text = format!(
        "Edited {path} ({}, hash {}).\n{}",
        count(edited.replacements as u64, "replacement"),
        edited.hash,
        edited.diff
    );
    let value = json!({
        "path": path, "replacements": edited.replacements, "bytes": edited.bytes,
        "hash": edited.hash, "diff": edited.diff,
    });
    Ok(Output::new(text, value))
}
