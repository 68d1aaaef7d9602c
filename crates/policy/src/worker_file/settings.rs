//! Whom a worker calls, what it is handed and how it runs, from its tree.

use crate::attachment::AttachmentPolicy;
use crate::call::Callees;
use crate::config::problem::Problems;
use crate::config::yaml::{Key, Node};
use crate::config::{json, run as config_run, zones};
use crate::run::{RunMode, RunSettings};
use crate::source::Ruled;

/// Reads `workers`, or its old name.
pub(super) fn callees(root: &Node, problems: &mut Problems) -> Callees {
    let entry = |name: &str| {
        root.entries().find(|(key, node): &(&Key, &Node)| key.text == name && !node.is_null())
    };
    let (new, old) = (entry("workers"), entry("allow_workers"));
    if let Some((key, _)) = old {
        let problem = match new {
            Some(_) => {
                let message = "the file has both 'workers' and 'allow_workers'";
                problems.error("conflict", &key.mark, message)
            }
            None => {
                let message = "'allow_workers' is an old name of 'workers'";
                problems.warning("deprecated", &key.mark, message)
            }
        };
        problem.hint("write workers instead");
    }
    let Some((_, node)) = new.or(old) else { return Callees::None };
    if node.text().is_some() {
        return Callees::All;
    }
    let mut names: Vec<Ruled<String>> = Vec::new();
    for item in node.items().unwrap_or_default() {
        let Some(name) = item.text() else { continue };
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let message = "a worker's name is not empty and has no control characters";
            problems.error("bad_name", &item.mark, message).hint("write a name such as analyst");
        } else if names.iter().any(|listed| listed.value == name) {
            let message = format!("the worker '{name}' is listed twice");
            problems.error("duplicate_key", &item.mark, message).hint("remove one of the two");
        } else {
            names.push(Ruled::new(name.to_owned(), item.at()));
        }
    }
    if names.is_empty() { Callees::None } else { Callees::Named(names) }
}

/// Reads `attachment_policy`.
pub(super) fn attachments(node: Option<&Node>, problems: &mut Problems) -> AttachmentPolicy {
    let silent = AttachmentPolicy::default();
    let number = |key: &str| node?.get(key)?.int();
    let mut endings = |key: &str| {
        let items = node.and_then(|node| node.get(key)).and_then(Node::items);
        items.map(|items| zones::endings(items, problems)).unwrap_or_default()
    };
    let max_total_bytes = number("max_total_bytes").unwrap_or(silent.max_total_bytes);
    AttachmentPolicy {
        max_attachments: number("max_attachments").unwrap_or(silent.max_attachments),
        max_total_bytes,
        max_file_bytes: number("max_file_bytes").unwrap_or(max_total_bytes),
        allowed_suffixes: endings("allowed_suffixes"),
        denied_suffixes: endings("denied_suffixes"),
    }
}

/// Reads how a worker runs.
pub(super) fn run(root: &Node, problems: &mut Problems) -> RunSettings {
    let silent = RunSettings::default();
    let number = |key: &str| root.get(key).and_then(Node::int);
    let thousandths = root.get("temperature").and_then(|node| node.decimal(3));
    let retries = number("output_retries").and_then(|retries| u32::try_from(retries).ok());
    RunSettings {
        mode: match root.get("mode").and_then(Node::text) {
            Some("chat") => RunMode::Chat,
            _ => RunMode::Single,
        },
        allow_empty_input: root.get("allow_empty_input").and_then(Node::bool).unwrap_or_default(),
        max_turns: config_run::count(root, "max_turns"),
        budget: config_run::count(root, "budget"),
        time_ms: config_run::time(root, problems),
        max_tokens: number("max_tokens"),
        max_context_tokens: number("max_context_tokens"),
        temperature: thousandths.and_then(|thousandths| u32::try_from(thousandths).ok()),
        output_schema: root
            .get("output_schema")
            .map(|node| Ruled::new(json::value(node, problems), node.at())),
        output_retries: retries.unwrap_or(silent.output_retries),
    }
}
