//! `copy_file`.

use serde_json::Value;

use super::relocation::{self, Arguments};
use super::{CHANGES, Output, Tool, arguments};
use crate::error::Error;
use crate::sandbox::Sandbox;

pub(super) const TOOL: Tool = Tool {
    name: "copy_file",
    title: "Copy file",
    description: "Copy a file. Fails if the destination exists, unless `overwrite` is set.",
    hints: CHANGES,
    schema: relocation::schema,
    output: relocation::output_schema,
    run,
};

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    sandbox.copy(&args.source, &args.destination, args.overwrite())?;
    Ok(relocation::output(sandbox, "Copied", &args))
}
