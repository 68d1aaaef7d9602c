//! `tree`: what lies below a directory, some levels down.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::Kind;
use zonekeep_files::list::GlobOptions;

use super::list_files::{kind, kind_name, marked, show};
use super::{LOOKS, Output, Tool, arguments, schema};
use crate::error::Error;
use crate::sandbox::Sandbox;

const DEFAULT_DEPTH: usize = 3;
const MAX_DEPTH: usize = 32;
const DEFAULT_LIMIT: usize = 500;
const MAX_LIMIT: usize = 10_000;

pub(super) const TOOL: Tool = Tool {
    name: "tree",
    title: "Show directory tree",
    description: "Show the files and directories below a directory as an indented tree, with a \
                  last / for directories. What .gitignore files exclude is left out unless \
                  `gitignore` is false. Where there is more than `limit`, the upper levels are \
                  shown.",
    hints: LOOKS,
    schema: || {
        let mut gitignore = schema::flag("Leave out what .gitignore files exclude, and .git");
        gitignore["default"] = json!(true);
        schema::object(
            &[
                ("path", schema::text("The directory; the working directory if left out")),
                ("depth", schema::number(1, "How many levels to show, 3 if left out, at most 32")),
                ("gitignore", gitignore),
                (
                    "limit",
                    schema::number(1, "How many entries to show, 500 if left out, at most 10000"),
                ),
            ],
            &[],
        )
    },
    output: || {
        let entry = schema::result(&[
            ("path", schema::text("The path, relative to the directory")),
            ("type", kind()),
        ]);
        schema::result(&[
            ("path", schema::text("The absolute path of the directory")),
            ("depth", schema::number(1, "How many levels were looked through")),
            ("entries", schema::list(entry, "Each directory is followed by what lies below it")),
            ("total", schema::number(0, "How many there are down to that level")),
            ("truncated", schema::truth("Whether there are more than these")),
            ("unreadable", schema::number(0, "How many directories could not be read")),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: Option<String>,
    depth: Option<usize>,
    gitignore: Option<bool>,
    limit: Option<usize>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let path = args.path.as_deref().unwrap_or(".");
    let depth = args.depth.unwrap_or(DEFAULT_DEPTH).clamp(1, MAX_DEPTH);
    let options = GlobOptions {
        gitignore: args.gitignore.unwrap_or(true),
        limit: args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
        ..GlobOptions::default()
    };
    let found = sandbox.tree(path, depth, &options)?;
    let line = |(path, level, kind): &(String, usize, Kind)| {
        let name = if *level == 0 { path } else { path.rsplit('/').next().unwrap_or(path) };
        format!("{}{}", "  ".repeat(*level), marked(name, *kind))
    };
    let lines: Vec<String> = found.entries.iter().map(line).collect();
    let text = show(&lines, found.total, found.unreadable, "directory below");
    let entries = found
        .entries
        .iter()
        .map(|(path, _, kind)| json!({ "path": path, "type": kind_name(*kind) }));
    let value = json!({
        "path": sandbox.shown_path(path), "depth": depth, "entries": entries.collect::<Vec<_>>(),
        "total": found.total, "truncated": (lines.len() as u64) < found.total,
        "unreadable": found.unreadable,
    });
    Ok(Output::new(text, value))
}
