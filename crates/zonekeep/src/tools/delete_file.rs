//! `delete_file`: removes a file or an empty directory.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{CHANGES, Hints, Output, Tool, arguments, schema};
use crate::error::Error;
use crate::sandbox::Sandbox;

pub(super) const TOOL: Tool = Tool {
    name: "delete_file",
    title: "Delete file",
    description: "Delete a file, a link, or an empty directory. There is no way back.",
    hints: Hints { idempotent: true, ..CHANGES },
    schema: || schema::object(&[("path", schema::path())], &["path"]),
    output: || schema::result(&[("path", schema::real_path())]),
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
    sandbox.delete(&args.path)?;
    let path = sandbox.shown_path(&args.path);
    Ok(Output::new(format!("Deleted {path}."), json!({ "path": path })))
}
