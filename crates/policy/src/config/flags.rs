//! What the command line changes: `--set` edits the tree before it is looked
//! at, so that flags and file are held to the same rules.

use std::path::PathBuf;
use std::sync::Arc;

use super::problem::{Mark, Problems, Source};
use super::yaml::{self, Key, Kind, Node, Origin};
use crate::source::At;
use crate::zone::Mode;

/// The zones that exist where no file defines any, both writable.
const DEFAULT_ZONES: [&str; 2] = ["cache", "workspace"];

/// What the command line, or the embedding program, changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Zones that are added, or take the place of the file's.
    pub zones: Vec<ZoneFlag>,
    /// Single values: a dotted key and the value as YAML. A name that has dots
    /// itself stands in quotes, as in `sandbox.guard.".envrc"`.
    pub set: Vec<(String, String)>,
}

/// A zone from the command line: `--zone NAME=PATH[:MODE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneFlag {
    /// The zone's name.
    pub name: String,
    /// The directory, absolute.
    pub path: PathBuf,
    /// The mode; reading only when left out.
    pub mode: Option<Mode>,
}

/// Puts the `--set` values into the tree of a file.
pub(crate) fn set(root: Node, overrides: &Overrides, problems: &mut Problems) -> Node {
    let mut root = root;
    for (key, value) in &overrides.set {
        let shown: Arc<str> = format!("--set {key}={value}").into();
        let source = Source::Flag(shown);
        let mut mark = Mark::start(source.clone());
        mark.column = columns("--set ") + 1;
        mark.width = columns(key).max(1);
        let Some(names) = split(key) else {
            let message = format!("'{key}' is not a dotted key");
            let problem = problems.error("bad_flag", &mark, message);
            problem.hint("write names with dots between them, such as sandbox.mode");
            continue;
        };
        let origin = Origin { source, lines: 0, columns: columns("--set =") + columns(key) };
        if let Some(value) = yaml::parse(value, &origin, problems) {
            put(&mut root, &names, value, &mark, problems);
        }
    }
    root
}

/// Puts the zones of a silent file into the tree of one that defines none, so
/// that `--set` can change them.
pub(crate) fn default_zones(root: Node) -> Node {
    let mut root = root;
    let sandbox = root.get("sandbox");
    let written = [
        root.get("sandboxes"),
        sandbox.and_then(|sandbox| sandbox.get("zones")),
        sandbox.and_then(|sandbox| sandbox.get("paths")),
    ];
    if written.iter().any(Option::is_some) {
        return root;
    }
    let mark = Mark::start(Source::Default);
    for name in DEFAULT_ZONES {
        for (key, value) in [("path", name), ("mode", "rw")] {
            let names = ["sandbox", "zones", name, key].map(str::to_owned);
            let kind = Kind::Scalar { text: value.to_owned(), plain: true };
            let value = Node { kind, mark: mark.clone() };
            // Where there is no map to put them in, the file has that problem anyway.
            put(&mut root, &names, value, &mark, &mut Problems::default());
        }
    }
    root
}

/// How a `--zone` flag is shown, and known again.
const ZONE: &str = "--zone ";

/// Puts the `--zone` zones into the tree, where they take the place of the
/// file's; `--set` can change them like any other.
pub(crate) fn zones(root: Node, overrides: &Overrides, problems: &mut Problems) -> Node {
    let mut root = root;
    for flag in &overrides.zones {
        let mut shown = format!("{ZONE}{}={}", flag.name, flag.path.display());
        if let Some(mode) = flag.mode {
            shown.push_str(&format!(":{mode}"));
        }
        let mut mark = Mark::start(Source::Flag(shown.into()));
        mark.column = columns(ZONE) + 1;
        mark.width = columns(&flag.name).max(1);
        let Some(path) = flag.path.to_str().filter(|_| flag.path.is_absolute()) else {
            let message = format!("the directory '{}' cannot be used", flag.path.display());
            problems.error("bad_path", &mark, message).hint("write the whole path, in UTF-8");
            continue;
        };
        for place in [&["sandbox", "paths"][..], &["sandboxes"]] {
            remove(&mut root, place, &flag.name);
        }
        let mode = flag.mode.unwrap_or_default().to_string();
        let scalar = |text: &str| Node {
            kind: Kind::Scalar { text: text.to_owned(), plain: false },
            mark: mark.clone(),
        };
        let key = |text: &str| Key { text: text.to_owned(), mark: mark.clone() };
        let entries = vec![(key("path"), scalar(path)), (key("mode"), scalar(&mode))];
        let zone = Node { kind: Kind::Map(entries), mark: mark.clone() };
        let names = ["sandbox".to_owned(), "zones".to_owned(), flag.name.clone()];
        put(&mut root, &names, zone, &mark, problems);
    }
    root
}

/// Returns whether a zone was written as a `--zone` flag.
pub(crate) fn is_zone_flag(at: &At) -> bool {
    matches!(at, At::Flag(text) if text.starts_with(ZONE))
}

fn remove(root: &mut Node, place: &[&str], name: &str) {
    let mut node = root;
    for step in place {
        let Kind::Map(entries) = &mut node.kind else { return };
        let Some((_, below)) = entries.iter_mut().find(|(key, _)| key.text == *step) else {
            return;
        };
        node = below;
    }
    if let Kind::Map(entries) = &mut node.kind {
        entries.retain(|(key, _)| key.text != name);
    }
}

fn columns(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// Splits a dotted key; names may stand in quotes.
fn split(key: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = key;
    loop {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (name, after) = match quote {
            Some(quote) => rest[1..].split_once(quote)?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if name.is_empty() {
            return None;
        }
        names.push(name.to_owned());
        match after.strip_prefix('.') {
            Some(after) => rest = after,
            None if after.is_empty() => break,
            None => return None,
        }
    }
    (names.len() <= yaml::MAX_DEPTH).then_some(names)
}

/// Sets one value, making the maps that lead to it.
fn put(root: &mut Node, names: &[String], value: Node, mark: &Mark, problems: &mut Problems) {
    let mut node = root;
    for (depth, name) in names.iter().enumerate() {
        if node.is_null() {
            *node = Node { kind: Kind::Map(Vec::new()), mark: mark.clone() };
        }
        if depth == 3 && names[..2] == ["sandbox", "zones"] && node.text().is_some() {
            // The short form of a zone is its path.
            let key = Key { text: "path".to_owned(), mark: node.mark.clone() };
            node.kind = Kind::Map(vec![(key, node.clone())]);
        }
        let Kind::Map(entries) = &mut node.kind else {
            let place = names[..depth].join(".");
            let place = if place.is_empty() { "the file" } else { &place };
            let message = format!("{place} is not a map, so nothing can be set in it");
            problems.error("bad_flag", mark, message).hint("set the whole value instead");
            return;
        };
        let found = entries.iter().position(|(key, _)| key.text == *name);
        let index = found.unwrap_or_else(|| {
            let key = Key { text: name.clone(), mark: mark.clone() };
            let empty = Kind::Scalar { text: String::new(), plain: true };
            entries.push((key, Node { kind: empty, mark: mark.clone() }));
            entries.len() - 1
        });
        let (key, below) = &mut entries[index];
        if depth + 1 == names.len() {
            key.mark = mark.clone();
            *below = value;
            return;
        }
        node = below;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_keys_are_split_and_quotes_keep_dots() {
        let cases: [(&str, Option<&[&str]>); 9] = [
            ("sandbox.mode", Some(&["sandbox", "mode"])),
            ("audit", Some(&["audit"])),
            ("sandbox.guard.\".envrc\"", Some(&["sandbox", "guard", ".envrc"])),
            ("a.'b.c'.d", Some(&["a", "b.c", "d"])),
            ("", None),
            ("a.", None),
            (".a", None),
            ("a.\"b", None),
            ("a.\"b\"c", None),
        ];
        for (key, want) in cases {
            let want = want.map(|names| names.iter().map(|&n| n.to_owned()).collect());
            assert_eq!(split(key), want, "{key}");
        }
    }
}
