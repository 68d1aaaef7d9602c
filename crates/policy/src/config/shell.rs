//! Rules for commands, in both forms.

use super::network::network;
use super::problem::{Mark, Problems};
use super::rules::approval;
use super::suggest;
use super::yaml::{Key, Node};
use crate::path::AgentPath;
use crate::policy::{Network, Shell, ShellDefault, ShellRule};
use crate::shell::check::{Example, example, shadow};
use crate::shell::{Pattern, Preset, ShellMode};
use crate::source::Ruled;
use crate::zone::Approval;

/// Reads `shell`, or `shell_rules` and `shell_default`, of the file whose root is
/// `root`. Flags beat the file, in whichever form that is written.
pub(crate) fn shell(root: &Node, problems: &mut Problems) -> Shell {
    let new = entry(root, "shell");
    let old = [entry(root, "shell_rules"), entry(root, "shell_default")];
    for (key, _) in old.into_iter().flatten() {
        if let Some((other, _)) = new
            && key.mark.is_flag() == other.mark.is_flag()
        {
            let message = format!("the file has both 'shell' and '{}'", key.text);
            let place = if key.text == "shell_rules" { "shell.rules" } else { "shell.default" };
            problems.error("conflict", &key.mark, message).hint(format!("write {place} instead"));
        }
    }
    let mut shell = Shell::default();
    let get = |key: &str| new.and_then(|(_, node)| node.get(key));
    shell.mode =
        get("mode").and_then(|node| Some(Ruled::new(ShellMode::parse(node.text()?)?, node.at())));
    for item in get("presets").and_then(Node::items).unwrap_or_default() {
        if let Some(preset) = item.text().and_then(Preset::parse) {
            shell.presets.push(Ruled::new(preset, item.at()));
        }
    }
    let listed = get("rules").and_then(Node::items);
    let old_items = old[0].and_then(|(_, node)| node.items());
    let flagged = old[0].is_some_and(|(key, _)| key.mark.is_flag());
    let newer = listed.filter(|_| !flagged || old_items.is_none());
    shell.rules = match (newer, old_items) {
        (Some(items), _) => items.iter().filter_map(|item| rule(item, problems)).collect(),
        (None, Some(items)) => items.iter().filter_map(|item| old_rule(item, problems)).collect(),
        (None, None) => Vec::new(),
    };
    let default = get("default")
        .and_then(|node| Some(Ruled::new(ShellDefault::parse(node.text()?)?, node.at())));
    let older = old[1].map(|(_, node)| {
        let Ruled { value, at } = approval(node);
        Ruled::new(value.into(), at)
    });
    let flagged = old[1].is_some_and(|(key, _)| key.mark.is_flag());
    shell.default = if flagged { older.or(default) } else { default.or(older) };
    warn_shadowed(&shell, problems);
    shell
}

fn entry<'n>(root: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    root.entries().find(|(key, node)| key.text == name && !node.is_null())
}

fn word(node: &Node) -> Option<Approval> {
    match node.text()? {
        "preApproved" => Some(Approval::PreApproved),
        "ask" => Some(Approval::Ask),
        "blocked" => Some(Approval::Blocked),
        _ => None,
    }
}

/// Reads an item of `shell.rules`.
fn rule(node: &Node, problems: &mut Problems) -> Option<ShellRule> {
    let mut paths = Vec::new();
    if let Some((list, items)) = node.get("paths").and_then(|list| Some((list, list.items()?))) {
        if items.is_empty() {
            let message = "the list of paths is empty, so no command could match";
            let problem = problems.error("bad_value", &list.mark, message);
            problem.hint("leave 'paths' out, or write a directory such as /workspace");
        }
        paths.extend(items.iter().filter_map(|item| path(item, problems)));
    }
    let rule = ShellRule {
        pattern: pattern(node, problems)?,
        sandbox_paths: Vec::new(),
        paths,
        approval: node.get("approval").and_then(word).unwrap_or(Approval::Ask),
        grants: grants(node, problems),
        at: node.at(),
    };
    for (key, wanted) in [("match", true), ("not_match", false)] {
        for item in node.get(key).and_then(Node::items).unwrap_or_default() {
            if let Some(line) = item.text() {
                check_example(&rule, line, wanted, &item.mark, problems);
            }
        }
    }
    Some(rule)
}

/// Reads an item of `shell_rules`.
fn old_rule(node: &Node, problems: &mut Problems) -> Option<ShellRule> {
    let zones = node.get("sandbox_paths").and_then(Node::items).unwrap_or_default();
    Some(ShellRule {
        pattern: pattern(node, problems)?,
        sandbox_paths: zones.iter().filter_map(Node::text).map(str::to_owned).collect(),
        paths: Vec::new(),
        approval: approval(node).value,
        grants: grants(node, problems),
        at: node.at(),
    })
}

fn grants(node: &Node, problems: &mut Problems) -> Network {
    let written = node.get("grants").and_then(|grants| grants.get("network"));
    written.map_or(Network::Off, |node| network(node, problems).value)
}

fn pattern(node: &Node, problems: &mut Problems) -> Option<Pattern> {
    let node = node.get("pattern")?;
    let error = match Pattern::parse(node.text()?) {
        Ok(pattern) => return Some(pattern),
        Err(error) => error,
    };
    problems.error("bad_value", &node.mark, error.to_string()).hint(error.hint());
    None
}

fn path(node: &Node, problems: &mut Problems) -> Option<Ruled<AgentPath>> {
    let text = node.text()?;
    let path = AgentPath::absolute(text);
    let reason = match &path {
        Ok(_) if text.starts_with('/') => return Some(Ruled::new(path.ok()?, node.at())),
        Ok(_) => "it does not start with '/'".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("a rule cannot have the path '{text}': {reason}");
    let problem = problems.error("bad_path", &node.mark, message);
    problem.hint("write '/' or a path in a zone, such as /workspace");
    None
}

fn check_example(rule: &ShellRule, line: &str, wanted: bool, mark: &Mark, problems: &mut Problems) {
    let pattern = &rule.pattern;
    let (message, hint) = match (example(rule, line), wanted) {
        (Example::Matches, true) | (Example::Differs(_), false) => return,
        (Example::Matches, false) => (
            format!("the rule for '{pattern}' matches '{line}'"),
            "make the pattern longer, or remove the example".to_owned(),
        ),
        (Example::Differs(why), true) => {
            (format!("the rule for '{pattern}' does not match '{line}'"), why)
        }
        (Example::Unclear(why), _) => {
            (format!("'{line}' cannot be an example: {why}"), "write one plain command".to_owned())
        }
    };
    problems.error("bad_example", mark, message).hint(hint);
}

/// Warns where a rule that blocks never gets to.
fn warn_shadowed(shell: &Shell, problems: &mut Problems) {
    for (index, rule) in shell.rules.iter().enumerate() {
        if rule.approval != Approval::Blocked {
            continue;
        }
        if let Some(earlier) = shadow(&shell.rules[..index], rule) {
            let message = format!(
                "the rule that blocks '{}' never gets to: '{}' comes first",
                rule.pattern, earlier.pattern
            );
            let problem = problems.warning("shadowed_rule", &Mark::of(&rule.at, 1), message);
            problem.hint(format!("put it before the rule at {}", earlier.at));
        }
    }
}

/// Adds a problem for each path of a rule that is in no zone, and each zone that
/// there is not.
pub(crate) fn check_zones(
    shell: &Shell,
    zones: &[&str],
    dirs: &[AgentPath],
    problems: &mut Problems,
) {
    for path in shell.rules.iter().flat_map(|rule| &rule.paths) {
        let Some((first, _)) = path.value.split_first() else { continue };
        let in_dir = dirs.iter().any(|dir| path.value.below(dir).is_some());
        if !in_dir && !zones.iter().any(|zone| zone.as_bytes() == first) {
            let message = format!("the path '{}' of a rule is not in a zone", path.value);
            let first = String::from_utf8_lossy(first).into_owned();
            let mark = Mark::of(&path.at, path.value.to_string().chars().count());
            let problem = problems.error("unknown_zone", &mark, message);
            problem.hint(suggest::hint(&first, "zones", zones));
        }
    }
}
