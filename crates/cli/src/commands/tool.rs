//! `zonekeep tool`: calls a tool exactly as an agent would.

use std::io::Read;
use std::process::ExitCode;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use zonekeep::approve::visible;
use zonekeep::policy::tool_name;
use zonekeep::tools::{self, Output};
use zonekeep::{Error, Sandbox};

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, answer_in_json, hint_for};
use crate::output;
use crate::project_args::{DirArgs, SandboxArgs};

/// Call a tool as an agent would; without a name, list the tools
///
/// Prints what the agent would read. Exit status: 0 done, 1 refused or failed,
/// 2 wrong usage, 125 when zonekeep could not act safely.
///
/// Examples:
///   zonekeep tool
///   zonekeep tool read_file '{"path": "/input/notes.md"}'
///   zonekeep tool --rw . list_files '{"path": "."}'
///   echo '{"path": "/output/a.md", "content": "hello"}' | zonekeep tool write_file -
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The tool; without it the tools are listed
    name: Option<String>,
    /// The arguments as a JSON object, or - to read them from standard input
    arguments: Option<String>,
    /// Print the structured result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    dirs: DirArgs,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    args.sandbox.project.dirs = args.dirs;
    let sandbox = args.sandbox.open()?;
    match args.name {
        None => list(&sandbox, args.json),
        Some(name) => call(&sandbox, &name, args.arguments.as_deref().unwrap_or("{}"), args.json),
    }
}

fn list(sandbox: &Sandbox, as_json: bool) -> Result<ExitCode, Failure> {
    let tools: Vec<_> = tools::available(sandbox).collect();
    if as_json {
        output::json(&tools.iter().map(|tool| tool.describe()).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for tool in tools {
        let first = tool.description.split_inclusive(". ").next().unwrap_or_default();
        text.push_str(&format!("{:<13} {}\n", tool.name, first.trim_end()));
    }
    text.push_str("\n`zonekeep tool --json` has the arguments of each.");
    output::text(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn call(
    sandbox: &Sandbox,
    name: &str,
    arguments: &str,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let mut text = arguments.to_owned();
    if arguments == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text)?;
    }
    let arguments: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::message(USAGE, format!("the arguments are not JSON: {error}")).hint(format!(
            "write a JSON object, such as `zonekeep tool {name} '{{\"path\": \"/\"}}'`"
        ))
    })?;
    if tool_name::DEPRECATED.contains(&name)
        && let Some(new) = tool_name::canonical(name)
    {
        tell!("warning: the name '{name}' is deprecated; use '{new}'");
    }
    match tools::call(sandbox, name, arguments) {
        Ok(output) => {
            if as_json {
                output::json(&value_of(output))?
            } else {
                output::text(&output.text)?
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            if as_json {
                output::json(&tools::error_value(&error))?;
            } else {
                tell!("{error}");
                if let (Some(detail), Some(remedy)) = (error.detail(), error.remedy()) {
                    tell!("\nzonekeep: {}\n\nhint: {}", visible(detail), hint_for(remedy));
                }
            }
            Ok(ExitCode::from(status(&error, name)))
        }
    }
}

fn status(error: &Error, name: &str) -> u8 {
    match error {
        error if error.is_internal() => UNSAFE,
        Error::BadArguments { .. } => USAGE,
        Error::Denied(_) if tool_name::canonical(name).is_none() => USAGE,
        _ => NEGATIVE,
    }
}

/// Returns the structured result, with an image's bytes as base64.
fn value_of(output: Output) -> Value {
    let mut value = output.value;
    if let (Some(image), Some(map)) = (output.image, value.as_object_mut()) {
        map.insert("content".to_owned(), json!(BASE64.encode(image.bytes)));
    }
    value
}
