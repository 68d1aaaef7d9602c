//! Worker files: what a worker is called, what it needs, and what it is told.
//!
//! A worker file is YAML between two lines of `---`, and then the instructions.
//! [`parse`] reads one by itself; [`check()`] holds its needs against a project's
//! rules, before anything runs.

mod check;
mod needs;
mod settings;
mod toolsets;

use crate::attachment::AttachmentPolicy;
use crate::call::{self, Callees};
use crate::config::check::check as check_shape;
use crate::config::keys;
use crate::config::problem::{Mark, Problem, Problems, Source};
use crate::config::yaml::{self, Node, Origin};
use crate::model_name;
use crate::needs::Needs;
use crate::run::RunSettings;
use crate::source::At;
use crate::tool_name;

pub use check::{check, inline_zones};

/// A worker file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerFile {
    /// The worker's name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The model it uses.
    pub model: Option<String>,
    /// The models it works with; `None` is any.
    pub compatible_models: Option<Vec<String>>,
    /// What it is told: the text below the front matter.
    pub instructions: String,
    /// What it asks for.
    pub needs: Needs,
    /// Whom it may call.
    pub calls: Callees,
    /// Whether each of those is a tool of its own.
    pub workers_as_tools: bool,
    /// Which files may be handed to it.
    pub attachments: AttachmentPolicy,
    /// How it runs.
    pub run: RunSettings,
    /// Whether a worker may not overwrite the file.
    pub locked: bool,
    /// Where its name is written.
    pub at: At,
}

impl WorkerFile {
    /// Returns whether the worker works with a model.
    pub fn works_with(&self, model: &str) -> bool {
        let fits = |pattern: &String| model_name::matches(pattern, model);
        self.compatible_models.as_ref().is_none_or(|patterns| patterns.iter().any(fits))
    }
}

/// What came of reading a worker file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedWorker {
    /// The worker, unless a problem is an error.
    pub worker: Option<WorkerFile>,
    /// Everything wrong or doubtful, in the order of the lines.
    pub problems: Vec<Problem>,
}

/// Reads the text of a worker file; `file` is the name to show.
pub fn parse(text: &str, file: &str) -> ParsedWorker {
    let mut problems = Problems::default();
    let worker = read(text, file, &mut problems).filter(|_| !problems.any_error());
    ParsedWorker { worker, problems: problems.sorted(file) }
}

fn read(text: &str, file: &str, problems: &mut Problems) -> Option<WorkerFile> {
    let source = Source::File(file.into());
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > yaml::MAX_BYTES {
        let message = "the file is larger than 1 MiB";
        problems.error("too_large", &Mark::start(source), message).hint("shorten the instructions");
        return None;
    }
    let parts = match split(text) {
        Ok(parts) => parts,
        Err(Unframed { line, message }) => {
            let mark = Mark { line, ..Mark::start(source) };
            let problem = problems.error("front_matter", &mark, message);
            problem.hint(
                "write a line '---', the settings, another line '---', then the instructions",
            );
            return None;
        }
    };
    let origin = Origin { source, lines: parts.lines, columns: 0 };
    let root = yaml::parse(parts.front, &origin, problems)?;
    check_shape(&root, &keys::WORKER, "", problems);
    let (root, old) = toolsets::translate(root, problems);

    let text = |key: &str| root.get(key).and_then(Node::text).map(str::to_owned);
    let flag = |key: &str| root.get(key).and_then(Node::bool).unwrap_or_default();
    let name = root.get("name");
    let needs = needs::needs(&root, text("name").unwrap_or_default(), old.tools, problems);
    let worker = WorkerFile {
        name: text("name").unwrap_or_default(),
        description: text("description"),
        model: text("model"),
        compatible_models: root.get("compatible_models").and_then(|n| models(n, problems)),
        instructions: parts.body.trim().replace("\r\n", "\n"),
        needs,
        calls: settings::callees(&root, problems),
        workers_as_tools: flag("workers_as_tools"),
        attachments: settings::attachments(root.get("attachment_policy"), problems),
        run: settings::run(&root, problems),
        locked: flag("locked"),
        at: name.map(Node::at).unwrap_or_default(),
    };
    if let Some(node) = name {
        check_worker_name(&worker.name, &node.mark, problems);
    }
    if let Some((node, model)) = root.get("model").zip(worker.model.as_ref())
        && !worker.works_with(model)
    {
        let message = format!("the model '{model}' is none of the compatible models");
        let problem = problems.error("bad_value", &node.mark, message);
        problem.hint("choose a model that fits, or add it to 'compatible_models'");
    }
    check_calls(&worker, problems);
    Some(worker)
}

/// The two parts of a worker file.
struct Parts<'a> {
    front: &'a str,
    /// Lines above the front matter.
    lines: u32,
    body: &'a str,
}

/// Why a file has no front matter.
struct Unframed {
    line: u32,
    message: &'static str,
}

/// Finds the front matter; blank lines and comments may stand above it.
fn split(text: &str) -> Result<Parts<'_>, Unframed> {
    let mut start: Option<(usize, u32)> = None;
    let mut offset = 0;
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        count += 1;
        let end = offset + line.len();
        match (start, line.trim_end()) {
            (None, "---") => start = Some((end, count)),
            (None, other) if other.is_empty() || other.starts_with('#') => {}
            (None, _) => {
                let message = "the file does not start with a line '---'";
                return Err(Unframed { line: count, message });
            }
            (Some((start, lines)), "---") => {
                return Ok(Parts { front: &text[start..offset], lines, body: &text[end..] });
            }
            (Some(_), _) => {}
        }
        offset = end;
    }
    Err(match start {
        Some((_, line)) => Unframed { line, message: "the front matter has no end" },
        None => Unframed { line: 1, message: "the file has no line '---'" },
    })
}

fn check_worker_name(name: &str, mark: &Mark, problems: &mut Problems) {
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        let message = "a worker's name is not empty and has no control characters";
        problems.error("bad_name", mark, message).hint("write a name such as report-writer");
    } else if tool_name::canonical(name).is_some() {
        let message = format!("the name '{name}' is taken by a tool");
        problems.error("bad_name", mark, message).hint("choose another name");
    }
}

fn models(node: &Node, problems: &mut Problems) -> Option<Vec<String>> {
    let items = node.items()?;
    if items.is_empty() {
        let message = "the list of compatible models is empty, so no model could run the worker";
        let problem = problems.error("bad_value", &node.mark, message);
        problem.hint("leave 'compatible_models' out to allow any model");
    }
    Some(items.iter().filter_map(Node::text).map(str::to_owned).collect())
}

/// Warns about callees that can never be called.
fn check_calls(worker: &WorkerFile, problems: &mut Problems) {
    let Callees::Named(names) = &worker.calls else { return };
    if let Some(own) = names.iter().find(|name| name.value == worker.name) {
        let mark = Mark::of(&own.at, own.value.chars().count());
        let message = "a worker cannot call itself";
        problems.warning("unused", &mark, message).hint("remove the name");
    }
    if let Some(tools) = &worker.needs.tools
        && !tools.value.iter().any(|tool| tool == call::TOOL)
    {
        let message = "the worker may call others, and its tools do not let it";
        let problem = problems.warning("unused", &Mark::of(&tools.at, 1), message);
        problem.hint(format!("add {} to 'tools', or remove 'workers'", call::TOOL));
    }
}

#[cfg(test)]
mod tests;
