//! Zones as the files write them, in each of the three forms.

use super::problem::{Mark, Problems};
use super::yaml::{Key, Node};
use crate::source::{At, Ruled};
use crate::zone::{self, Approval, Mode, Placement};

/// The form that a zone is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `sandbox.zones`.
    Zones,
    /// `sandbox.paths`.
    Paths,
    /// `sandboxes`.
    Old,
}

impl Form {
    /// Returns the mode that holds when none is written.
    fn default_mode(self) -> Mode {
        match self {
            Form::Zones => Mode::Rw,
            Form::Paths | Form::Old => Mode::Ro,
        }
    }

    /// Returns the key that holds zones of this form, with dots.
    fn key(self) -> &'static str {
        match self {
            Form::Zones => "sandbox.zones",
            Form::Paths => "sandbox.paths",
            Form::Old => "sandboxes",
        }
    }

    /// Returns the key that has the directory.
    fn directory(self) -> &'static str {
        match self {
            Form::Zones | Form::Old => "path",
            Form::Paths => "root",
        }
    }
}

/// A zone as written; its directory is still text.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) name: String,
    /// The zone's name, to point at.
    pub(crate) mark: Mark,
    pub(crate) form: Form,
    pub(crate) directory: Option<(String, Mark)>,
    pub(crate) mode: Ruled<Mode>,
    pub(crate) placement: Ruled<Placement>,
    pub(crate) suffixes: Option<Ruled<Vec<String>>>,
    pub(crate) max_file_bytes: Option<Ruled<u64>>,
    pub(crate) consent: Consent,
    pub(crate) untrusted: Option<At>,
}

/// The consent rules that a zone or a request writes.
#[derive(Debug, Default)]
pub(crate) struct Consent {
    pub(crate) read: Option<Ruled<Approval>>,
    pub(crate) write: Option<Ruled<Approval>>,
    pub(crate) delete: Option<Ruled<Approval>>,
}

/// Reads the zones of one map.
pub(crate) fn read_map(node: &Node, form: Form, problems: &mut Problems) -> Vec<Written> {
    node.entries()
        .filter_map(|(key, node)| {
            let zone = read(key, node, form, problems);
            check_name(&key.text, &key.mark, problems).then_some(zone)
        })
        .collect()
}

fn read(key: &Key, node: &Node, form: Form, problems: &mut Problems) -> Written {
    let name = &key.text;
    let directory = match node.text() {
        Some(_) => Some(node),
        None => node.get(form.directory()),
    };
    let directory = directory.and_then(|n| Some((n.text()?.to_owned(), n.mark.clone())));
    let suggestion = match (form, &directory) {
        (Form::Zones, Some((path, _))) if node.text().is_some() => {
            format!("write {name}: {{ path: {path}, mode: ro }}, or mode: rw to allow writing")
        }
        _ => "write mode: ro, or mode: rw to allow writing".to_owned(),
    };
    Written {
        name: name.clone(),
        mark: key.mark.clone(),
        form,
        directory,
        mode: mode(node, &key.mark, name, form.default_mode(), &suggestion, problems),
        placement: placement(node),
        suffixes: node.get("suffixes").and_then(|node| suffixes(node, problems)),
        max_file_bytes: node
            .get("max_file_bytes")
            .and_then(|node| Some(Ruled::new(node.int()?, node.at()))),
        consent: consent(node, problems),
        untrusted: untrusted(node),
    }
}

fn placement(node: &Node) -> Ruled<Placement> {
    match node.get("at") {
        Some(at) if at.text() == Some("same") => Ruled::new(Placement::Same, at.at()),
        Some(at) => Ruled::new(Placement::Named, at.at()),
        None => Ruled::default(),
    }
}

/// Returns where a zone or a request says that it is not to be trusted.
pub(crate) fn untrusted(node: &Node) -> Option<At> {
    node.get("untrusted").filter(|node| node.bool() == Some(true)).map(Node::at)
}

/// Says whether a zone can have this name, and adds a problem where not.
pub(crate) fn check_name(name: &str, mark: &Mark, problems: &mut Problems) -> bool {
    match zone::check_name(name) {
        Ok(()) => true,
        Err(error) => {
            let problem = problems.error("bad_zone_name", mark, error.to_string());
            problem
                .hint("choose another name; the agent sees the zone as a directory of that name");
            false
        }
    }
}

/// Reads a mode; one that is left out is a warning, because forms differ in it.
pub(crate) fn mode(
    node: &Node,
    mark: &Mark,
    name: &str,
    default: Mode,
    suggestion: &str,
    problems: &mut Problems,
) -> Ruled<Mode> {
    match node.get("mode") {
        Some(written) => {
            let mode = if written.text() == Some("rw") { Mode::Rw } else { Mode::Ro };
            Ruled::new(mode, written.at())
        }
        // What is neither a name nor a map has worse problems than its mode.
        None if node.is_null() || node.items().is_some() => Ruled::default_of(default),
        None => {
            let message = format!("the zone '{name}' has no mode, so it is {default}");
            problems.warning("mode_missing", mark, message).hint(suggestion);
            Ruled::default_of(default)
        }
    }
}

fn suffixes(node: &Node, problems: &mut Problems) -> Option<Ruled<Vec<String>>> {
    let items = node.items()?;
    if items.is_empty() {
        let problem = problems.error("bad_value", &node.mark, "the list of suffixes is empty");
        problem.hint("leave 'suffixes' out to allow all files");
    }
    Some(Ruled::new(endings(items, problems), node.at()))
}

/// Reads endings of file names, in small letters and each once.
pub(crate) fn endings(items: &[Node], problems: &mut Problems) -> Vec<String> {
    let mut suffixes: Vec<String> = Vec::new();
    for item in items {
        let Some(text) = item.text() else { continue };
        let suffix = text.to_lowercase();
        if suffix.len() < 2 || !suffix.starts_with('.') || suffix.contains(['/', '\0']) {
            let message = format!("the suffix '{text}' does not start with a dot and a letter");
            let rest = text.trim_start_matches(['*', '.']).replace('/', "");
            let example = if rest.is_empty() { "txt" } else { &rest };
            problems.error("bad_value", &item.mark, message).hint(format!("write .{example}"));
        } else if !suffixes.contains(&suffix) {
            suffixes.push(suffix);
        }
    }
    suffixes
}

/// Reads `approval`, and `read_approval` and `write_approval` of the older forms.
pub(crate) fn consent(node: &Node, problems: &mut Problems) -> Consent {
    let written = |key: &str| node.get("approval")?.get(key);
    let mut either = |key: &str, new: &str| {
        let (old, new_node) = (node.get(key), written(new));
        match (old, new_node) {
            // A flag beats the file, under whichever name.
            (Some(old), Some(new)) if old.mark.is_flag() != new.mark.is_flag() => {
                if old.mark.is_flag() { from_bool(old) } else { from_word(new) }
            }
            (Some(old), Some(_)) => {
                let message = format!("'{key}' and 'approval.{new}' both say whether to ask");
                problems.error("conflict", &old.mark, message).hint(format!("remove '{key}'"));
                from_bool(old)
            }
            (Some(old), None) => from_bool(old),
            (None, new) => from_word(new?),
        }
    };
    Consent {
        read: either("read_approval", "read"),
        write: either("write_approval", "write"),
        delete: written("delete").and_then(from_word),
    }
}

fn from_bool(node: &Node) -> Option<Ruled<Approval>> {
    let approval = if node.bool()? { Approval::Ask } else { Approval::PreApproved };
    Some(Ruled::new(approval, node.at()))
}

fn from_word(node: &Node) -> Option<Ruled<Approval>> {
    let approval = match node.text()? {
        "preApproved" => Approval::PreApproved,
        "ask" => Approval::Ask,
        "blocked" => Approval::Blocked,
        _ => return None,
    };
    Some(Ruled::new(approval, node.at()))
}

/// Warns, once, that `sandboxes` is an old form, and shows the new one.
pub(crate) fn warn_old(key: &Mark, zones: &[Written], problems: &mut Problems) {
    let entries: Vec<String> = zones
        .iter()
        .map(|zone| {
            let root = zone.directory.as_ref().map_or(".", |(text, _)| text);
            format!("{}: {{ root: {root}, mode: {} }}", zone.name, zone.mode.value)
        })
        .collect();
    problems
        .warning("deprecated", key, "'sandboxes' is an old form of 'sandbox.paths'")
        .hint(format!("write sandbox: {{ paths: {{ {} }} }}", entries.join(", ")));
}

/// Removes zones whose name is taken, with a problem for each.
pub(crate) fn unique(zones: Vec<Written>, problems: &mut Problems) -> Vec<Written> {
    let mut kept: Vec<Written> = Vec::new();
    for zone in zones {
        match kept.iter().find(|other| other.name == zone.name) {
            Some(other) => {
                let message = format!(
                    "the zone '{}' is defined twice, first at {}",
                    zone.name,
                    other.mark.at()
                );
                problems.error("duplicate_zone", &zone.mark, message).hint("remove one of the two");
            }
            None => kept.push(zone),
        }
    }
    kept
}

impl Written {
    /// Returns the zone's key with dots, as `--set` takes it.
    pub(crate) fn key(&self) -> String {
        let quote = if self.name.contains('.') { "\"" } else { "" };
        format!("{}.{quote}{}{quote}", self.form.key(), self.name)
    }

    /// Returns where the zone is written.
    pub(crate) fn at(&self) -> At {
        self.mark.at()
    }
}
