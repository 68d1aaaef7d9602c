//! `search_files`: lines that match a regular expression.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::search::Query;
use zonekeep_policy::path::escape;

use super::{LOOKS, MAX_TEXT, Output, Tool, arguments, count, cut, schema};
use crate::error::Error;
use crate::sandbox::{Matches, Sandbox};

const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 10_000;
const MAX_CONTEXT: usize = 50;

pub(super) const TOOL: Tool = Tool {
    name: "search_files",
    title: "Search files",
    description: "Search the contents of the files below a directory with a regular expression \
                  (Rust syntax). Returns path, line number and line of each match, sorted, \
                  with paths relative to the directory that is searched. Binary files are passed \
                  over.",
    hints: LOOKS,
    schema: || {
        schema::object(
            &[
                ("pattern", schema::text("The regular expression")),
                (
                    "path",
                    schema::text(
                        "The directory or file to search; the working directory if left out",
                    ),
                ),
                (
                    "glob",
                    schema::text(
                        "Search only files whose path matches this glob, such as \"**/*.rs\"",
                    ),
                ),
                ("literal", schema::flag("Take the pattern as plain text")),
                ("ignore_case", schema::flag("Do not tell upper from lower case")),
                (
                    "context",
                    schema::number(0, "How many lines to show before and after each match"),
                ),
                ("gitignore", schema::flag("Leave out what .gitignore files exclude")),
                ("limit", schema::number(1, "How many matches to return, 200 if left out")),
            ],
            &["pattern"],
        )
    },
    output: || {
        let line = schema::result(&[
            ("line", schema::number(1, "Its number")),
            ("text", schema::text("The line; the beginning of a long one")),
            ("match", schema::truth("Whether it matches, or stands beside one that does")),
        ]);
        let file = schema::result(&[
            ("path", schema::text("The path, relative to where the search began")),
            ("lines", schema::list(line, "Its lines")),
        ]);
        schema::result(&[
            ("files", schema::list(file, "The files with matches, sorted")),
            ("total_matches", schema::number(0, "How many lines match in all")),
            ("files_with_matches", schema::number(0, "How many files have one")),
            ("files_searched", schema::number(0, "How many files were searched")),
            ("skipped_binary", schema::number(0, "How many were not text")),
            ("skipped_large", schema::number(0, "How many were too large")),
            ("unreadable", schema::number(0, "How many could not be read")),
            ("truncated", schema::truth("Whether there are more matches than these")),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(alias = "file_path")]
    path: Option<String>,
    glob: Option<String>,
    literal: Option<bool>,
    ignore_case: Option<bool>,
    context: Option<usize>,
    gitignore: Option<bool>,
    limit: Option<usize>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let query = Query {
        pattern: &args.pattern,
        ignore_case: args.ignore_case.unwrap_or(false),
        literal: args.literal.unwrap_or(false),
        glob: args.glob.as_deref(),
        gitignore: args.gitignore.unwrap_or(false),
        context: args.context.unwrap_or(0).min(MAX_CONTEXT),
        limit: args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
        ..Query::default()
    };
    let found = sandbox.search(args.path.as_deref().unwrap_or("."), &query)?;
    let files = found.files.iter().map(|(path, lines)| {
        let lines = lines
            .iter()
            .map(|line| json!({ "line": line.number, "text": line.text, "match": line.is_match }));
        json!({ "path": path, "lines": lines.collect::<Vec<_>>() })
    });
    let (mut text, shown) = show(&found);
    // Other tools take paths from the working directory. A file that is searched itself has
    // its name alone.
    let dir = args.path.as_deref().map(|path| path.trim_end_matches('/'));
    if let (Some(dir), Some((first, _))) = (dir, found.files.first())
        && !matches!(dir, "." | "./")
        && dir.rsplit('/').next() != Some(first)
    {
        let dir = if dir.is_empty() { "/" } else { dir };
        text.push_str(&format!("\n[Paths are relative to {}.]", escape(dir.as_bytes())));
    }
    let value = json!({
        "files": files.collect::<Vec<_>>(),
        "total_matches": found.total_matches,
        "files_with_matches": found.files_with_matches,
        "files_searched": found.files_searched,
        "skipped_binary": found.skipped_binary,
        "skipped_large": found.skipped_large,
        "unreadable": found.unreadable,
        "truncated": shown < found.total_matches,
    });
    Ok(Output::new(text, value))
}

/// Writes matches as `path:line:text`, lines around them as `path-line-text`;
/// returns how many matches that are, too.
fn show(found: &Matches) -> (String, u64) {
    let mut text = String::new();
    let mut shown = 0;
    for (path, lines) in &found.files {
        let mut last = None;
        for line in lines {
            if last.is_some_and(|last: u64| line.number > last + 1) {
                text.push_str("--\n");
            }
            last = Some(line.number);
            shown += u64::from(line.is_match);
            let mark = if line.is_match { ':' } else { '-' };
            text.push_str(&format!("{path}{mark}{}{mark}{}\n", line.number, line.text));
        }
    }
    cut(&mut text, MAX_TEXT);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let searched = count(found.files_searched, "file");
    match found.total_matches {
        0 => text.push_str(&format!("[No match in {searched}.]")),
        total if shown < total => {
            let files = count(found.files_with_matches, "file");
            text.push_str(&format!(
                "[{shown} of {total} matches in {files}. Narrow the search or raise the limit.]"
            ));
        }
        total => {
            let files = count(found.files_with_matches, "file");
            let total = format!("{total} match{}", if total == 1 { "" } else { "es" });
            text.push_str(&format!("[{total} in {files}.]"));
        }
    }
    for (n, why) in [
        (found.skipped_large, "too large"),
        (found.skipped_binary, "not text"),
        (found.unreadable, "not readable"),
    ] {
        if n > 0 {
            text.push_str(&format!("\n[Not searched: {}, {why}.]", count(n, "file")));
        }
    }
    (text, shown)
}
