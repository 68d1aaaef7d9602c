//! The tools that a model can call: names, schemas, arguments and texts.
//!
//! There is one table for every front door. A tool reads its arguments, calls
//! the [`Sandbox`], and writes the result twice: as text for the model, and as
//! a JSON value for programs. It has no checks of its own.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zonekeep_policy::tool_name;

use crate::error::Error;
use crate::sandbox::Sandbox;

mod copy_file;
mod delete_file;
mod edit_file;
mod file_info;
mod list_files;
mod move_file;
mod read_file;
mod read_many;
mod relocation;
mod schema;
mod search_files;
mod shell;
mod shell_job;
mod tree;
mod write_file;

/// What a client may assume about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It can lose what was there.
    pub destructive: bool,
    /// Calling it twice is calling it once.
    pub idempotent: bool,
    /// It reaches beyond the sandbox.
    pub open_world: bool,
}

const LOOKS: Hints =
    Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
const CHANGES: Hints =
    Hints { read_only: false, destructive: true, idempotent: false, open_world: false };

/// A function that a model can call.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// The name.
    pub name: &'static str,
    /// A short name for people.
    pub title: &'static str,
    /// What the model reads about it.
    pub description: &'static str,
    /// What a client may assume.
    pub hints: Hints,
    schema: fn() -> Value,
    output: fn() -> Value,
    run: fn(&Sandbox, Value) -> Result<Output, Error>,
}

impl Tool {
    /// Returns the JSON Schema of the arguments.
    pub fn schema(&self) -> Value {
        (self.schema)()
    }

    /// Returns the JSON Schema of [`Output::value`].
    pub fn output_schema(&self) -> Value {
        (self.output)()
    }

    /// Returns all of it as one JSON object.
    pub fn describe(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema(),
            "outputSchema": self.output_schema(),
            "annotations": {
                "readOnlyHint": self.hints.read_only,
                "destructiveHint": self.hints.destructive,
                "idempotentHint": self.hints.idempotent,
                "openWorldHint": self.hints.open_world,
            },
        })
    }
}

/// A picture in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// The MIME type.
    pub mime: &'static str,
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What the model reads.
    pub text: String,
    /// The same for programs.
    pub value: Value,
    /// A picture, where the file was one.
    pub image: Option<Image>,
}

impl Output {
    fn new(text: impl Into<String>, value: Value) -> Self {
        Output { text: text.into(), value, image: None }
    }
}

/// The tools, in the order in which they are shown.
pub fn all() -> &'static [Tool] {
    const TOOLS: &[Tool] = &[
        read_file::TOOL,
        write_file::TOOL,
        edit_file::TOOL,
        list_files::TOOL,
        search_files::TOOL,
        delete_file::TOOL,
        move_file::TOOL,
        copy_file::TOOL,
        file_info::TOOL,
        read_many::TOOL,
        tree::TOOL,
        shell::TOOL,
        shell_job::TOOL,
    ];
    TOOLS
}

/// Returns the tools that exist for a sandbox.
pub fn available(sandbox: &Sandbox) -> impl Iterator<Item = &'static Tool> {
    all().iter().filter(|tool| sandbox.grant().has_tool(tool.name))
}

/// Calls a tool by any of its names.
pub fn call(sandbox: &Sandbox, name: &str, arguments: Value) -> Result<Output, Error> {
    let canonical = tool_name::canonical(name);
    match all().iter().find(|tool| Some(tool.name) == canonical) {
        // Whether this worker has the tool is judged, and written down, with the call.
        Some(tool) => match (tool.run)(sandbox, arguments) {
            Err(Error::BadArguments { reason, .. }) => Err(sandbox.bad_call(tool.name, reason)),
            other => other,
        },
        None => {
            let available = available(sandbox).map(|tool| tool.name.to_owned()).collect();
            Err(sandbox.no_such_tool(name, available))
        }
    }
}

/// Returns the refusal of a tool that does not exist, which is written down;
/// `available` are those that do.
pub fn unknown(sandbox: &Sandbox, name: &str, available: Vec<String>) -> Error {
    sandbox.no_such_tool(name, available)
}

/// Returns the refusal of a call with arguments that the tool does not take,
/// which is written down; `reason` says what is wrong.
pub fn misused(sandbox: &Sandbox, tool: &'static str, reason: String) -> Error {
    sandbox.bad_call(tool, reason)
}

/// Writes an error out for programs.
pub fn error_value(error: &Error) -> Value {
    let text = error.to_string();
    let mut lines = text.lines();
    json!({
        "error": {
            "code": error.code(),
            "message": lines.next().unwrap_or_default(),
            "hint": lines.collect::<Vec<_>>().join("\n"),
            "path": error.path(),
        }
    })
}

/// Reads a tool's arguments; what does not fit is an error that says so.
fn arguments<T: DeserializeOwned>(tool: &Tool, arguments: Value) -> Result<T, Error> {
    let bad = |reason: String| Error::BadArguments { tool: tool.name.to_owned(), reason };
    if !arguments.is_object() {
        return Err(bad("the arguments must be one JSON object.".to_owned()));
    }
    serde_json::from_value(arguments).map_err(|error| {
        let schema = tool.schema();
        let names = schema["properties"].as_object().into_iter().flat_map(|map| map.keys());
        let names: Vec<&str> = names.map(String::as_str).collect();
        let error = error.to_string();
        let reason = error.split(", expected one of").next().unwrap_or_default();
        bad(format!("{reason}.\nArguments: {}", names.join(", ")))
    })
}

/// The most characters that a result shows a model.
const MAX_TEXT: usize = 200_000;

/// Cuts a text at a line, and says so.
fn cut(text: &mut String, max: usize) {
    if let Some((at, _)) = text.char_indices().nth(max) {
        let end = text[..at].rfind('\n').map_or(at, |newline| newline + 1);
        let left = text[end..].lines().count();
        text.truncate(end);
        text.push_str(&format!("[{left} more lines are not shown.]"));
    }
}

/// Writes a count with its noun.
fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
