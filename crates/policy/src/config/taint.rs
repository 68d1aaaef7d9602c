//! What workers lose that have read untrusted content.

use super::problem::{Mark, Problems};
use super::project::consent;
use super::rules;
use super::suggest;
use super::yaml::Node;
use crate::policy::{BackendChoice, Consent, Policy};
use crate::source::Ruled;
use crate::taint::WhenTainted;
use crate::zone::Zone;

/// Reads `when_tainted` of the file whose root is `root`.
pub(super) fn when_tainted(root: &Node, zones: &[Zone], problems: &mut Problems) -> WhenTainted {
    let written = root.entries().find(|(key, node)| key.text == "when_tainted" && !node.is_null());
    let Some((key, node)) = written else { return WhenTainted::default() };
    if zones.iter().all(|zone| zone.untrusted.is_none()) {
        let message = "no zone is untrusted, so 'when_tainted' never holds";
        let problem = problems.warning("unused", &key.mark, message);
        problem.hint("write untrusted: true at a zone, or remove 'when_tainted'");
    }
    let text = |key: &str| node.get(key).and_then(|node| Some((node, node.text()?)));
    WhenTainted {
        network_off: node.get("network").and_then(|network| match network.bool()? {
            false => Some(network.at()),
            true => {
                let message = "'when_tainted.network' cannot be true: taint only takes away";
                let problem = problems.error("bad_value", &network.mark, message);
                problem.hint("write false, or leave it out to keep what sandbox.network gives");
                None
            }
        }),
        without: without(node, zones, problems),
        backend: text("backend").and_then(|(node, word)| {
            let choice = BackendChoice::parse(word)?;
            (choice != BackendChoice::None).then(|| Ruled::new(choice, node.at()))
        }),
        approval: text("approval").map(|(node, word)| Ruled::new(consent(word), node.at())),
        tools: tools(node, problems),
        at: key.mark.at(),
    }
}

/// Reads the zones that are gone.
fn without(node: &Node, zones: &[Zone], problems: &mut Problems) -> Vec<Ruled<String>> {
    let names: Vec<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
    let mut gone = Vec::new();
    for item in node.get("without").and_then(Node::items).unwrap_or_default() {
        let Some(name) = item.text() else { continue };
        if names.contains(&name) {
            gone.push(Ruled::new(name.to_owned(), item.at()));
        } else {
            let message = format!("there is no zone '{name}'");
            let hint = suggest::hint(name, "zones", &names);
            problems.error("unknown_zone", &item.mark, message).hint(hint);
        }
    }
    gone
}

/// Reads the tools that are gone.
fn tools(node: &Node, problems: &mut Problems) -> Vec<Ruled<String>> {
    let items = node.get("tools").and_then(Node::items).unwrap_or_default();
    let tool = |item: &Node| {
        let name = rules::tool(item.text()?, &item.mark, problems)?;
        Some(Ruled::new(name.to_owned(), item.at()))
    };
    items.iter().filter_map(tool).collect()
}

/// Warns where taint turns rules into questions that nobody is asked.
pub(super) fn warn_unasked(policy: &Policy, problems: &mut Problems) {
    let untrusted = policy.zones.iter().find(|zone| zone.untrusted.is_some());
    if let Some(zone) = untrusted
        && policy.consent.value == Consent::Auto
        && policy.when_tainted.approval.is_none()
    {
        let message = "every question is answered yes, also after untrusted content was read";
        let mark = Mark::of(zone.untrusted.as_ref().unwrap_or(&zone.at), 4);
        let problem = problems.warning("taint_unasked", &mark, message);
        problem.hint("write when_tainted: { approval: manual }, or strict");
    }
}
