//! What a worker file asks for, from its tree.

use std::path::{Path, PathBuf};

use crate::config::problem::{Mark, Problems};
use crate::config::yaml::Node;
use crate::config::zones::{self, Form, Written};
use crate::config::{dirs, network, project, rules, secrets, shell};
use crate::limit::Limits;
use crate::needs::{Needs, ZoneNeed, ZoneNeeds};
use crate::policy::OsSandbox;
use crate::source::Ruled;
use crate::zone::Mode;

/// Reads what a worker asks for.
pub(super) fn needs(
    root: &Node,
    worker: String,
    listed: Option<Ruled<Vec<String>>>,
    problems: &mut Problems,
) -> Needs {
    let sandbox = |key: &str| root.get("sandbox").and_then(|sandbox| sandbox.get(key));
    let working_dir = sandbox("working_dir").and_then(|node| {
        Some(Ruled::new(project::agent_path(node, "working_dir", problems)?, node.at()))
    });
    let mut limits = Limits::none();
    if let Some(node) = sandbox("limits") {
        rules::limits(&mut limits, node, problems);
    }
    Needs {
        worker,
        zones: zone_needs(root, problems),
        working_dir,
        tools: root.get("tools").and_then(|node| rules::tools(node, problems)).or(listed),
        tool_rules: root
            .get("tool_rules")
            .map(|node| rules::tool_rules(node, problems))
            .unwrap_or_default(),
        shell: shell::shell(root, problems),
        network: sandbox("network").map(|node| network::network(node, problems)),
        secrets: secret_needs(sandbox("secrets"), problems),
        limits,
        require_os_sandbox: sandbox("require_os_sandbox")
            .and_then(|node| Some(Ruled::new(OsSandbox::written(node.bool()?), node.at())))
            .unwrap_or_default(),
    }
}

/// Reads the names of the secrets that a worker asks for.
fn secret_needs(node: Option<&Node>, problems: &mut Problems) -> Vec<Ruled<String>> {
    let mut needs: Vec<Ruled<String>> = Vec::new();
    for item in node.and_then(Node::items).unwrap_or_default() {
        if let Some(name) = item.text()
            && secrets::check_name(name, &item.mark, problems)
            && needs.iter().all(|listed| listed.value != name)
        {
            needs.push(Ruled::new(name.to_owned(), item.at()));
        }
    }
    needs
}

fn zone_needs(root: &Node, problems: &mut Problems) -> ZoneNeeds {
    let in_sandbox = |key: &str| root.get("sandbox").and_then(|sandbox| sandbox.get(key));
    let listed = in_sandbox("zones");
    let mut written = in_sandbox("paths")
        .map(|node| zones::read_map(node, Form::Paths, problems))
        .unwrap_or_default();
    if let Some((key, node)) = root.entries().find(|(key, _)| key.text == "sandboxes") {
        let old = zones::read_map(node, Form::Old, problems);
        zones::warn_old(&key.mark, &old, problems);
        written.extend(old);
    }
    if let Some(all) = listed.filter(|node| node.text() == Some("all")) {
        if !written.is_empty() {
            let message = "'zones: all' leaves nothing for 'paths' to add";
            problems.error("conflict", &all.mark, message).hint("remove 'paths'");
        }
        return ZoneNeeds::All;
    }
    let items = listed.and_then(Node::items).unwrap_or_default();
    let listed: Vec<ZoneNeed> =
        items.iter().filter_map(|item| listed_need(item, problems)).collect();
    let mut needs: Vec<ZoneNeed> = Vec::new();
    let inline = written.into_iter().filter_map(|zone| inline_need(zone, problems));
    for need in listed.into_iter().chain(inline.collect::<Vec<_>>()) {
        if needs.iter().any(|other| other.name == need.name) {
            let message = format!("the zone '{}' is asked for twice", need.name);
            let mark = Mark::of(&need.at, need.name.chars().count());
            problems.error("duplicate_zone", &mark, message).hint("remove one of the two");
        } else {
            needs.push(need);
        }
    }
    if needs.is_empty() { ZoneNeeds::None } else { ZoneNeeds::Named(needs) }
}

/// Reads an item of `sandbox.zones`: a name, or a map with one.
fn listed_need(item: &Node, problems: &mut Problems) -> Option<ZoneNeed> {
    let name = if item.text().is_some() { item } else { item.get("name")? };
    let text = name.text()?;
    if !zones::check_name(text, &name.mark, problems) {
        return None;
    }
    let suggestion = format!("write {{ name: {text}, mode: ro }}, or mode: rw to ask for writing");
    let consent = zones::consent(item, problems);
    Some(ZoneNeed {
        name: text.to_owned(),
        mode: zones::mode(item, &name.mark, text, Mode::Rw, &suggestion, problems),
        read: consent.read,
        write: consent.write,
        delete: consent.delete,
        suffixes: None,
        max_file_bytes: None,
        untrusted: zones::untrusted(item),
        path: None,
        at: name.at(),
    })
}

fn inline_need(zone: Written, problems: &mut Problems) -> Option<ZoneNeed> {
    let at = zone.at();
    let (text, mark) = zone.directory?;
    if let Err(error) = dirs::anywhere(Path::new("/"), &text) {
        let message = format!("the zone '{}' cannot be '{text}': {error}", zone.name);
        problems.error("bad_path", &mark, message).hint(error.hint());
    }
    Some(ZoneNeed {
        name: zone.name,
        mode: zone.mode,
        read: zone.consent.read,
        write: zone.consent.write,
        delete: zone.consent.delete,
        suffixes: zone.suffixes,
        max_file_bytes: zone.max_file_bytes,
        untrusted: zone.untrusted,
        path: Some(Ruled::new(PathBuf::from(text), mark.at())),
        at,
    })
}
