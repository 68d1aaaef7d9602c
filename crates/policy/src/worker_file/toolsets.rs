//! `toolsets`: tools, command rules and callees in one map, as worker files of
//! earlier systems write them.

use crate::config::problem::Problems;
use crate::config::yaml::{Key, Kind, Node};
use crate::source::Ruled;
use crate::tool_name::FILE_TOOLS;

/// What `toolsets` says that the tree cannot.
#[derive(Debug, Default)]
pub(super) struct Toolsets {
    /// The tools: exactly those of the sets that are listed.
    pub(super) tools: Option<Ruled<Vec<String>>>,
}

/// Puts what `toolsets` says into the tree under the keys of today, and warns.
pub(super) fn translate(root: Node, problems: &mut Problems) -> (Node, Toolsets) {
    let sets = root.entries().find(|(key, _)| key.text == "toolsets");
    let Some((key, sets)) = sets.map(|(key, sets)| (key.clone(), sets.clone())) else {
        return (root, Toolsets::default());
    };
    let mut root = root;
    let mut tools: Vec<String> = Vec::new();
    let mut instead = Vec::new();
    for (set, node) in sets.entries() {
        match set.text.as_str() {
            "filesystem" => tools.extend(FILE_TOOLS.iter().map(|&tool| tool.to_owned())),
            "shell" => {
                tools.push("shell".to_owned());
                for (from, to) in [("rules", "shell_rules"), ("default", "shell_default")] {
                    if let Some(node) = node.get(from) {
                        put(&mut root, to, &["shell", to], set, node, problems);
                        instead.push(to);
                    }
                }
            }
            "delegation" | "workers" => {
                tools.push("call_worker".to_owned());
                let names = node.get("allow_workers").or(node.get("allowed_workers"));
                if let Some(names) = names {
                    let taken = ["workers", "allow_workers"];
                    put(&mut root, "workers", &taken, set, names, problems);
                    instead.push("workers");
                }
            }
            // Not one of ours: that is a problem already.
            _ => {}
        }
    }
    if let Some((other, _)) = root.entries().find(|(key, _)| key.text == "tools") {
        let message = "the file has both 'tools' and 'toolsets'";
        problems.error("conflict", &other.mark, message).hint("remove 'toolsets'");
    }
    let shown = if tools.len() < FILE_TOOLS.len() { tools.join(", ") } else { "…".to_owned() };
    let mut hint = format!("write tools: [{shown}]");
    for key in instead {
        hint.push_str(&format!(", and {key}"));
    }
    let message = "'toolsets' is an old form of 'tools', 'shell' and 'workers'";
    problems.warning("deprecated", &key.mark, message).hint(hint);
    (root, Toolsets { tools: Some(Ruled::new(tools, sets.at())) })
}

/// Adds a key to the root, unless one that says the same is there.
fn put(
    root: &mut Node,
    name: &str,
    taken: &[&str],
    set: &Key,
    value: &Node,
    problems: &mut Problems,
) {
    if let Some((other, _)) = root.entries().find(|(key, _)| taken.contains(&key.text.as_str())) {
        let message = format!("'{}' and 'toolsets.{}' both say this", other.text, set.text);
        let problem = problems.error("conflict", &other.mark, message);
        problem.hint(format!("remove 'toolsets.{}'", set.text));
    } else if let Kind::Map(entries) = &mut root.kind {
        let key = Key { text: name.to_owned(), mark: set.mark.clone() };
        entries.push((key, value.clone()));
    }
}
