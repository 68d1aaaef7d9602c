//! `file_info`: what is known about an entry without reading it.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::Kind;

use super::list_files::{kind, kind_name};
use super::{LOOKS, Output, Tool, arguments, count, schema};
use crate::error::Error;
use crate::sandbox::Sandbox;
use crate::time;

pub(super) const TOOL: Tool = Tool {
    name: "file_info",
    title: "File information",
    description: "Return type, size, time of the last change, content hash and writability of a \
                  file or directory.",
    hints: LOOKS,
    schema: || schema::object(&[("path", schema::path())], &["path"]),
    output: || {
        let modified = schema::text("When the content last changed: UTC, as in RFC 3339");
        let mode = schema::text("The permission bits, three octal digits");
        schema::result(&[
            ("path", schema::real_path()),
            ("type", kind()),
            ("size", schema::number(0, "The size in bytes")),
            ("modified", schema::or_null(modified)),
            ("mode", schema::or_null(mode)),
            ("writable", schema::truth("Whether it may be written, if need be after a question")),
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
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let info = sandbox.info(&args.path)?;
    let path = sandbox.shown_path(&args.path);
    let kind = kind_name(info.as_ref().map_or(Kind::Dir, |info| info.kind));
    let size = info.as_ref().map_or(0, |info| info.size);
    // To the second: nobody reads the rest.
    let modified = info.as_ref().map(|info| format!("{}Z", &time::utc(info.modified)[..19]));
    let writable = sandbox.can_write(&args.path);
    let mut text = format!("{path}: {kind}, {}", count(size, "byte"));
    if let Some(modified) = &modified {
        text.push_str(&format!(", changed {modified}"));
    }
    text.push_str(if writable { ", writable" } else { ", read-only" });
    let hash = info.as_ref().and_then(|info| info.hash.as_deref());
    if let Some(hash) = hash {
        text.push_str(&format!(", hash {hash}"));
    }
    let value = json!({
        "path": path, "type": kind, "size": size, "modified": modified,
        "mode": info.as_ref().map(|info| format!("{:03o}", info.mode & 0o777)),
        "writable": writable, "hash": hash,
    });
    Ok(Output::new(text, value))
}
