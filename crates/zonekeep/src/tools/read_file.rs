//! `read_file`: a page of text, or an image.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::read::{Content, Cut, Page, Text};
use zonekeep_files::text::LineEndings;

use super::schema::{self, Shape};
use super::{Image, LOOKS, Output, Tool, arguments};
use crate::error::Error;
use crate::sandbox::Sandbox;

/// The most characters of text that one call returns.
pub(super) const MAX_CHARS: usize = 200_000;
/// How many characters are returned when the call does not say.
pub(super) const DEFAULT_CHARS: usize = 50_000;
/// How many lines are returned when the call does not say.
pub(super) const DEFAULT_LINES: u64 = 2_000;
/// How many bytes base64 reading returns when the call does not say.
const DEFAULT_BYTES: usize = 48 * 1024;

pub(super) const TOOL: Tool = Tool {
    name: "read_file",
    title: "Read file",
    description: "Read text file from sandbox. Returns up to 2000 lines and 50000 characters from \
                  `offset`; when more follow, the result says with which `offset` to continue. PNG, JPEG, GIF and \
                  WebP files are returned as images. Other binary files: set `encoding` to \
                  \"base64\".",
    hints: LOOKS,
    schema: || {
        schema::object(
            &[
                ("path", schema::path()),
                (
                    "offset",
                    schema::number(
                        0,
                        "First line to return, counted from 1 (for base64: first byte, counted from 0)",
                    ),
                ),
                (
                    "limit",
                    schema::number(
                        1,
                        "How many lines to return, 2000 if left out (for base64: bytes)",
                    ),
                ),
                (
                    "max_chars",
                    schema::number(
                        1,
                        "Cut the text after this many characters, 50000 if left out, at most 200000",
                    ),
                ),
                (
                    "encoding",
                    json!({
                        "type": "string", "enum": ["text", "base64"], "default": "text",
                        "description": "How to return the content",
                    }),
                ),
            ],
            &["path"],
        )
    },
    output,
    run,
};

fn output() -> Value {
    let whole = |description| schema::number(0, description);
    let next = schema::or_null(whole("Where to go on, when more follows"));
    let cut = schema::choice(&["lines", "bytes"], "What ended the page");
    let endings = schema::choice(&["none", "lf", "crlf", "mixed"], "How its lines end");
    schema::shapes(
        &[
            ("type", schema::choice(&["text", "image", "base64"], "How the content is given")),
            ("content", schema::text("The page; an image is given beside this")),
            ("bytes", whole("The size of the file")),
            ("total_lines", schema::or_null(whole("How many lines the file has, where known"))),
            ("first_line", whole("The number of the first line of the page")),
            ("output_lines", whole("How many lines the page has")),
            ("truncated", schema::truth("Whether more follows")),
            ("truncated_by", schema::or_null(cut)),
            ("next_offset", next),
            ("encoding", schema::text("How the text is written in the file")),
            ("line_endings", endings),
            ("mime_type", schema::text("The type of an image")),
            ("hash", schema::or_null(schema::hash())),
        ],
        &["type", "bytes", "hash"],
        &[
            Shape {
                told_by: Some(("type", "text")),
                has: &[
                    "content",
                    "total_lines",
                    "first_line",
                    "output_lines",
                    "truncated",
                    "truncated_by",
                    "next_offset",
                    "encoding",
                    "line_endings",
                ],
            },
            Shape { told_by: Some(("type", "image")), has: &["mime_type"] },
            Shape {
                told_by: Some(("type", "base64")),
                has: &["content", "truncated", "next_offset"],
            },
        ],
    )
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Text,
    Base64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    max_chars: Option<usize>,
    encoding: Option<Encoding>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    if let Encoding::Base64 = args.encoding.unwrap_or_default() {
        let limit = args.limit.map_or(DEFAULT_BYTES, |n| usize::try_from(n).unwrap_or(usize::MAX));
        return base64(sandbox, &args.path, args.offset.unwrap_or(0), limit);
    }
    let page = Page {
        offset: args.offset.unwrap_or(1).max(1),
        limit: args.limit.unwrap_or(DEFAULT_LINES).max(1),
        max_chars: args.max_chars.unwrap_or(DEFAULT_CHARS).clamp(1, MAX_CHARS),
    };
    match sandbox.read(&args.path, &page) {
        Ok(Content::Text(text)) => Ok(show_text(text)),
        Ok(Content::Image { bytes, mime, hash }) => Ok(Output {
            text: format!("[Image: {mime}, {} bytes]", bytes.len()),
            value: json!({ "type": "image", "mime_type": mime, "bytes": bytes.len(), "hash": hash }),
            image: Some(Image { bytes, mime }),
        }),
        Err(error) => Err(error),
    }
}

fn base64(sandbox: &Sandbox, path: &str, offset: u64, limit: usize) -> Result<Output, Error> {
    // Four characters for three bytes.
    let limit = limit.clamp(1, MAX_CHARS / 4 * 3);
    let read = sandbox.read_bytes(path, offset, limit)?;
    if offset > read.size {
        let reason =
            format!("offset {offset} is beyond the end: the file has {} bytes.", read.size);
        return Err(Error::BadArguments { tool: TOOL.name.to_owned(), reason });
    }
    let end = offset + read.bytes.len() as u64;
    let next = (end < read.size).then_some(end);
    let content = BASE64.encode(&read.bytes);
    let mut text = content.clone();
    if let Some(next) = next {
        let (length, size) = (read.bytes.len(), read.size);
        text.push_str(&format!(
            "\n[{length} bytes from {offset} on, of {size}. Continue with offset {next}.]"
        ));
    }
    let value = json!({
        "type": "base64", "content": content, "bytes": read.size,
        "truncated": next.is_some(), "next_offset": next, "hash": read.hash,
    });
    Ok(Output::new(text, value))
}

pub(super) fn show_text(page: Text) -> Output {
    let last = page.first_line + page.output_lines.saturating_sub(1);
    let of = match page.total_lines {
        Some(total) => format!(" of {total}"),
        None => format!(" of a file of {} bytes", page.bytes),
    };
    let mut text = page.content.clone();
    let mut note = |words: String| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{words}]"));
    };
    match (page.truncated, page.next_offset) {
        _ if page.bytes == 0 => note("The file is empty.".to_owned()),
        (true, _) if page.cut_line => {
            let next = match page.next_offset {
                Some(next) => format!(" The next line is at offset {next}."),
                None => String::new(),
            };
            note(format!(
                "Line {last}{of} is too long and was cut.{next} To read on in it, use encoding \"base64\"."
            ));
        }
        (true, Some(next)) => {
            note(format!("Lines {} to {last}{of}. Continue with offset {next}.", page.first_line));
        }
        _ => {}
    }
    let value = json!({
        "type": "text",
        "content": page.content,
        "bytes": page.bytes,
        "total_lines": page.total_lines,
        "first_line": page.first_line,
        "output_lines": page.output_lines,
        "truncated": page.truncated,
        "truncated_by": page.truncated_by.map(|cut| match cut {
            Cut::Lines => "lines",
            Cut::Bytes => "bytes",
        }),
        "next_offset": page.next_offset,
        "encoding": page.encoding.name(),
        "line_endings": match page.line_endings {
            LineEndings::None => "none",
            LineEndings::Lf => "lf",
            LineEndings::CrLf => "crlf",
            LineEndings::Mixed => "mixed",
        },
        "hash": page.hash(),
    });
    Output::new(text, value)
}
