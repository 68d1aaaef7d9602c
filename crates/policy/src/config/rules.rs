//! Tools and limits: the rules that both kinds of file can have.

use std::collections::BTreeMap;

use super::problem::{Mark, Problems};
use super::suggest;
use super::yaml::Node;
use crate::limit::{self, LimitError, Limits};
use crate::policy::ToolRule;
use crate::source::{At, Ruled};
use crate::tool_name::{self, ALIASES, DEPRECATED, FILE_TOOLS, OTHER_TOOLS};
use crate::zone::Approval;

/// Reads `tools`.
///
/// The file tools belong to the sandbox itself: a list that names none of them
/// adds to them, one that names some chooses among them, and an empty list is
/// no tools at all.
pub(crate) fn tools(node: &Node, problems: &mut Problems) -> Option<Ruled<Vec<String>>> {
    let mut listed: Vec<String> = Vec::new();
    for item in node.items()? {
        if let Some(tool) = item.text().and_then(|text| tool(text, &item.mark, problems))
            && let tool = file_tool(tool)
            && !listed.iter().any(|name| name == tool)
        {
            listed.push(tool.to_owned());
        }
    }
    if !listed.is_empty() && !listed.iter().any(|tool| FILE_TOOLS.contains(&tool.as_str())) {
        let file_tools = FILE_TOOLS.iter().map(|&tool| tool.to_owned());
        listed = file_tools.chain(listed).collect();
    }
    Some(Ruled::new(listed, node.at()))
}

/// Returns the file tool that a tool belongs to, or the tool itself.
fn file_tool(tool: &'static str) -> &'static str {
    match tool_name::main_tool(tool) {
        main if FILE_TOOLS.contains(&main) => main,
        _ => tool,
    }
}

/// Returns the canonical name of a tool, with a problem where there is none.
pub(super) fn tool(name: &str, mark: &Mark, problems: &mut Problems) -> Option<&'static str> {
    let canonical = tool_name::canonical(name);
    match canonical {
        None => {
            let known: Vec<&str> = FILE_TOOLS.iter().chain(OTHER_TOOLS).copied().collect();
            let aliases = ALIASES.iter().map(|(alias, _)| *alias);
            let hint = match suggest::nearest(name, aliases.filter(|a| !DEPRECATED.contains(a))) {
                Some(alias) if suggest::nearest(name, known.iter().copied()).is_none() => {
                    format!("did you mean '{alias}'? tools: {}", known.join(", "))
                }
                _ => suggest::hint(name, "tools", &known),
            };
            let message = format!("there is no tool '{name}'");
            problems.error("unknown_tool", mark, message).hint(hint);
        }
        Some(canonical) if DEPRECATED.contains(&name) => {
            let message = format!("'{name}' is an old name of '{canonical}'");
            let problem = problems.warning("deprecated", mark, message);
            problem.hint(format!("write {canonical}"));
        }
        Some(_) => {}
    }
    canonical
}

/// Reads `tool_rules`.
pub(crate) fn tool_rules(node: &Node, problems: &mut Problems) -> BTreeMap<String, ToolRule> {
    let mut rules = BTreeMap::new();
    for (key, node) in node.entries() {
        let Some(tool) = tool(&key.text, &key.mark, problems) else { continue };
        if file_tool(tool) != tool {
            let main = file_tool(tool);
            let message = format!("the rules of '{main}' hold for '{tool}' too");
            problems.error("unknown_tool", &key.mark, message).hint(format!("write {main}"));
            continue;
        }
        let rule = ToolRule {
            allowed: flag(node, "allowed"),
            approval_required: flag(node, "approval_required"),
        };
        if rules.insert(tool.to_owned(), rule).is_some() {
            let message = format!("the tool '{tool}' has two rules, under different names");
            problems.error("duplicate_key", &key.mark, message).hint("remove one of the two");
        }
    }
    rules
}

pub(super) fn flag(node: &Node, key: &str) -> Option<Ruled<bool>> {
    let node = node.get(key)?;
    Some(Ruled::new(node.bool()?, node.at()))
}

/// Reads `allowed` and `approval_required`; who says neither is asked.
pub(super) fn approval(node: &Node) -> Ruled<Approval> {
    let rule = ToolRule {
        allowed: flag(node, "allowed"),
        approval_required: flag(node, "approval_required"),
    };
    rule.approval().unwrap_or_else(|| Ruled::new(Approval::Ask, node.at()))
}

/// Reads `limits` onto those that hold without it; returns where each is written.
pub(crate) fn limits(
    limits: &mut Limits,
    node: &Node,
    problems: &mut Problems,
) -> BTreeMap<&'static str, At> {
    let mut lines = BTreeMap::new();
    let mut seen: Vec<(&str, &Mark)> = Vec::new();
    for (key, value) in node.entries() {
        let (Some(name), Some(text)) = (limit::canonical(&key.text), value.text()) else {
            continue;
        };
        // Flags stand after what the file says, and so beat it.
        let twin =
            |(seen, mark): &(&str, &Mark)| *seen == name && mark.is_flag() == value.mark.is_flag();
        let result = match seen.iter().any(twin) {
            true => Err(LimitError::Twice { key: name }),
            false => limits.set(name, text),
        };
        if let Err(error) = result {
            let code = match error {
                LimitError::Twice { .. } => "conflict",
                _ => "bad_value",
            };
            problems.error(code, &value.mark, error.to_string()).hint(error.hint());
        }
        seen.push((name, &value.mark));
        lines.insert(name, value.at());
    }
    lines
}
