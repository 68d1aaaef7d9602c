//! `list_files`: the names in a directory, or the files that match a pattern.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::Kind;
use zonekeep_files::list::GlobOptions;

use super::schema::{self, Shape};
use super::{LOOKS, Output, Tool, arguments};
use crate::error::Error;
use crate::sandbox::Sandbox;

const DEFAULT_LIMIT: usize = 1_000;
const MAX_LIMIT: usize = 100_000;

pub(super) const TOOL: Tool = Tool {
    name: "list_files",
    title: "List files",
    description: "List files in sandbox. Without `pattern`: the names in the directory, with \
                  a last / for directories; \"/\" shows the directories that exist. With `pattern`: the files below the directory \
                  that match the glob, such as \"**/*.md\", with paths relative to it.",
    hints: LOOKS,
    schema: || {
        schema::object(
            &[
                ("path", schema::text("The directory; the working directory if left out")),
                (
                    "pattern",
                    schema::text(
                        "A glob: * and ? stay within a name, ** crosses directories, {a,b} are alternatives; a last / matches directories",
                    ),
                ),
                ("gitignore", schema::flag("Leave out what .gitignore files exclude")),
                ("limit", schema::number(1, "How many names to return, 1000 if left out")),
            ],
            &[],
        )
    },
    output: || {
        let entry = schema::result(&[("name", schema::text("The name")), ("type", kind())]);
        let file = json!({ "type": "string" });
        schema::shapes(
            &[
                ("path", schema::text("The absolute path of the directory")),
                ("entries", schema::list(entry, "Without a pattern: what is in it, sorted")),
                ("pattern", schema::text("The pattern, where one was given")),
                ("files", schema::list(file, "With a pattern: paths below it, sorted")),
                ("total", schema::number(0, "How many there are in all")),
                ("truncated", schema::truth("Whether there are more than these")),
                ("unreadable", schema::number(0, "How many directories could not be read")),
            ],
            &["path", "total", "truncated"],
            &[
                Shape { told_by: None, has: &["entries"] },
                Shape { told_by: None, has: &["pattern", "files", "unreadable"] },
            ],
        )
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: Option<String>,
    pattern: Option<String>,
    gitignore: Option<bool>,
    limit: Option<usize>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let path = args.path.as_deref().unwrap_or(".");
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let gitignore = args.gitignore.unwrap_or(false);
    let Some(pattern) = args.pattern.as_deref() else {
        let listed = match gitignore {
            true => sandbox.list_unignored(path, limit)?,
            false => sandbox.list(path, limit)?,
        };
        let names: Vec<String> =
            listed.entries.iter().map(|(name, kind)| marked(name, *kind)).collect();
        let text = show(&names, listed.total, 0, "pattern");
        let entries = listed
            .entries
            .iter()
            .map(|(name, kind)| json!({ "name": name, "type": kind_name(*kind) }));
        let value = json!({
            "path": listed.path, "entries": entries.collect::<Vec<_>>(), "total": listed.total,
            "truncated": (names.len() as u64) < listed.total,
        });
        return Ok(Output::new(text, value));
    };
    let options = GlobOptions { gitignore, limit, ..GlobOptions::default() };
    let found = sandbox.find(path, pattern, &options)?;
    let names = &found.paths;
    let text = show(names, found.total, found.unreadable, "pattern");
    let value = json!({
        "path": sandbox.shown_path(path), "pattern": pattern, "files": found.paths,
        "total": found.total, "truncated": (names.len() as u64) < found.total,
        "unreadable": found.unreadable,
    });
    Ok(Output::new(text, value))
}

/// Writes a name so that a directory is told from a file.
pub(super) fn marked(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Dir => format!("{name}/"),
        _ => name.to_owned(),
    }
}

/// Writes lines out; `narrower` names what would make them fewer.
pub(super) fn show(names: &[String], total: u64, unreadable: u64, narrower: &str) -> String {
    let mut text = names.join("\n");
    let mut note = |words: String| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{words}]"));
    };
    if total == 0 {
        note("Nothing found.".to_owned());
    } else if (names.len() as u64) < total {
        let first = names.len();
        note(format!("The first {first} of {total}. Use a {narrower} or a higher limit."));
    }
    match unreadable {
        0 => {}
        1 => note("1 directory could not be read.".to_owned()),
        n => note(format!("{n} directories could not be read.")),
    }
    text
}

/// The schema of what [`kind_name`] returns.
pub(super) fn kind() -> Value {
    schema::choice(&["file", "directory", "link", "special"], "What it is")
}

pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "directory",
        Kind::Link => "link",
        Kind::Special => "special",
    }
}
