//! The organisation's file: the keys of a project file that have a bound.

use std::collections::BTreeSet;
use std::path::Path;

use super::problem::{Mark, Problem, Problems, Severity, Source};
use super::yaml::{self, Node, Origin};
use super::{check, keys, project};
use crate::policy::{Layout, Policy};
use crate::source::Ruled;

/// The keys that can be compared with those of a project. All others are refused, so that
/// no line of the file looks like a bound and is none.
const KEYS: [&str; 24] = [
    "name",
    "version",
    "description",
    "sandbox.zones",
    "sandbox.network",
    "sandbox.secrets",
    "sandbox.require_os_sandbox",
    "sandbox.limits",
    "sandbox.backend",
    "sandbox.prove",
    "sandbox.caches",
    "sandbox.pass_env",
    "sandbox.guard",
    "sandbox.allow_hard_links",
    "sandbox.allow_sensitive",
    "approval.mode",
    "delegation",
    "when_tainted.network",
    "when_tainted.approval",
    "when_tainted.tools",
    "tools",
    "tool_rules",
    "shell",
    "audit",
];

/// Keys that describe the file, and bound nothing.
const DESCRIBING: [&str; 3] = ["name", "version", "description"];

/// An organisation's file: its rules, which keys it has, and its values.
type Read = (Policy, BTreeSet<&'static str>, Option<Node>);

/// Reads an organisation's file.
pub(crate) fn organisation(text: &str, file: &str) -> Result<Read, Vec<Problem>> {
    let mut problems = Problems::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let origin = Origin::whole(Source::File(file.into()));
    let mut policy =
        Policy { layout: Ruled::default_of(Layout::Direct), ..Policy::empty(Path::new("/")) };
    let mut written = BTreeSet::new();
    let root = yaml::parse(text, &origin, &mut problems);
    if let Some(root) = &root {
        check::check(root, &keys::PROJECT, "", &mut problems);
        only_known(root, "", &mut problems);
        no_nulls(root, &mut problems);
        absolute(root, &mut problems);
        project::fill(&mut policy, root, &mut problems);
        written.extend(KEYS.into_iter().filter(|key| find(root, key).is_some()));
        if let Some(presets) = find(root, "shell.presets")
            && policy.shell.default.is_none()
        {
            let message = "'shell.presets' bounds nothing without 'shell.default'".to_owned();
            let hint = "write what holds for all other commands, such as default: ask";
            problems.error("no_bound", &presets.mark, message).hint(hint);
        }
    }
    // A file that was cut short must not lift the bounds.
    if !problems.any_error() && written.iter().all(|key| DESCRIBING.contains(key)) {
        let mark = Mark::start(Source::File(file.into()));
        let hint = "write the rules of the organisation, or remove the file";
        problems.error("no_bound", &mark, "the file is empty, and so bounds nothing").hint(hint);
    }
    match problems.any_error() {
        false => Ok((policy, written, root)),
        true => {
            let mut problems = problems.sorted(file);
            problems.retain(|problem| problem.severity == Severity::Error);
            Err(problems)
        }
    }
}

fn find<'n>(root: &'n Node, key: &str) -> Option<&'n Node> {
    key.split('.').try_fold(root, |node, name| node.get(name))
}

fn only_known(node: &Node, above: &str, problems: &mut Problems) {
    for (key, value) in node.entries() {
        let name =
            if above.is_empty() { key.text.clone() } else { format!("{above}.{}", key.text) };
        if KEYS.contains(&name.as_str()) {
            continue;
        }
        let begins = |known: &&str| known.strip_prefix(&name).is_some_and(|r| r.starts_with('.'));
        if KEYS.iter().any(begins) {
            only_known(value, &name, problems);
            continue;
        }
        let message = format!("'{name}' cannot be in an organisation's file");
        let hint = "it cannot be compared with the same key of a project; remove it";
        problems.error("no_bound", &key.mark, message).hint(hint);
    }
}

/// Refuses keys without a value: elsewhere they count as left out, and would bound nothing.
fn no_nulls(node: &Node, problems: &mut Problems) {
    for (key, value) in node.entries() {
        if value.is_null() {
            let message = format!("'{}' has no value, and so bounds nothing", key.text);
            problems.error("no_bound", &key.mark, message).hint("write a value, or remove it");
        }
        no_nulls(value, problems);
    }
    node.items().unwrap_or_default().iter().for_each(|item| no_nulls(item, problems));
}

/// Refuses directories that each project would have of its own.
fn absolute(root: &Node, problems: &mut Problems) {
    let Some(zones) = find(root, "sandbox.zones") else { return };
    for (name, zone) in zones.entries() {
        let dir = zone.get("path").or(Some(zone)).and_then(Node::text);
        if !dir.is_some_and(|dir| Path::new(dir).is_absolute()) {
            let message = format!("the zone '{}' has no absolute path", name.text);
            let hint = "write the directory below which projects may have zones, such as /home";
            problems.error("bad_path", &name.mark, message).hint(hint);
        }
        if let Some(at) = zone.get("at") {
            let message = "'at' cannot be in an organisation's file".to_owned();
            problems.error("no_bound", &at.mark, message).hint("remove it");
        }
    }
}
