//! What the command line changes: `--set` edits the tree before it is looked
//! at, so that flags and file are held to the same rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::problem::{Mark, Problems, Source};
use super::profile::{self, AgentProfile};
use super::yaml::{self, Key, Kind, Node, Origin};
use crate::path::AgentPath;
use crate::source::At;
use crate::zone::{self, Mode};

/// The zones that exist where no file defines any, both writable.
const DEFAULT_ZONES: [&str; 2] = ["cache", "workspace"];

/// What the command line, or the embedding program, changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Zones that are added, or take the place of the file's.
    pub zones: Vec<ZoneFlag>,
    /// Directories that become zones at their host paths, each with a name of its own.
    pub dirs: Vec<DirFlag>,
    /// Where relative paths start, as a host path in one of these directories, unless the
    /// file says so.
    pub working_dir: Option<PathBuf>,
    /// Single values: a dotted key and the value as YAML. A name that has dots
    /// itself stands in quotes, as in `sandbox.guard.".envrc"`.
    pub set: Vec<(String, String)>,
    /// Values that join those of the file.
    pub add: Vec<Addition>,
    /// The agent whose needs join the file's values, before all other flags.
    pub profile: Option<AgentProfile>,
}

/// A value from the command line that joins those of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addition {
    /// `--net NAME`: the hosts of a preset.
    Preset(String),
    /// `--allow-host HOST`.
    Host(String),
    /// `--env NAME=VALUE`.
    Env(String, String),
    /// `--pass-env NAME`.
    PassEnv(String),
}

impl Addition {
    /// Returns the name of the flag, and the value behind it. The value of a variable may be
    /// a secret: it is left out of messages and records.
    fn flag(&self) -> (&'static str, String) {
        match self {
            Addition::Preset(name) => ("--net", name.clone()),
            Addition::Host(host) => ("--allow-host", host.clone()),
            Addition::Env(name, _) => ("--env", name.clone()),
            Addition::PassEnv(name) => ("--pass-env", name.clone()),
        }
    }
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

/// A directory from the command line: `--rw DIR` or `--ro DIR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirFlag {
    /// The directory, absolute and without links.
    pub path: PathBuf,
    /// Reading only, or writing too.
    pub mode: Mode,
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

/// Adds what an agent needs to the tree of a file. Its secrets and variables take the place
/// of the file's; a guard of the file stays.
pub(crate) fn profile(root: Node, overrides: &Overrides, problems: &mut Problems) -> Node {
    let mut root = root;
    let Some(profile) = &overrides.profile else { return root };
    let mark = Mark::start(Source::Flag(profile::flag(&profile.name).into()));
    let names = |key: &[&str]| key.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let hosts = profile.node("hosts").and_then(Node::items).unwrap_or_default();
    if list_network(&mut root, &mark) {
        for host in hosts {
            let key = names(&["sandbox", "network", "allow"]);
            append(&mut root, &key, host.clone(), &mark, problems);
        }
    }
    for key in ["secrets", "env", "guard"] {
        for (name, value) in profile.node(key).into_iter().flat_map(Node::entries) {
            let has = key != "secrets" || profile.secrets.contains_key(&name.text);
            let stays = key == "guard" && find(&mut root, &["sandbox", key, &name.text]).is_some();
            if has && !stays {
                remove(&mut root, &["sandbox", key], &name.text);
                let names = names(&["sandbox", key, &name.text]);
                put(&mut root, &names, value.clone(), &mark, problems);
            }
        }
    }
    for name in &profile.pass_env {
        let kind = Kind::Scalar { text: name.clone(), plain: false };
        let item = Node { kind, mark: mark.clone() };
        append(&mut root, &names(&["sandbox", "pass_env"]), item, &mark, problems);
    }
    root
}

/// Adds the values of [`Overrides::add`] to the tree of a file.
pub(crate) fn additions(root: Node, overrides: &Overrides, problems: &mut Problems) -> Node {
    let mut root = root;
    for addition in &overrides.add {
        let (flag, value) = addition.flag();
        let mut mark = Mark::start(Source::Flag(format!("{flag} {value}").into()));
        mark.column = columns(flag) + 2;
        mark.width = columns(&value).max(1);
        let scalar = |text: &str| Node {
            kind: Kind::Scalar { text: text.to_owned(), plain: false },
            mark: mark.clone(),
        };
        let names = |key: &[&str]| key.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        match addition {
            Addition::Env(name, value) => {
                put(&mut root, &names(&["sandbox", "env", name]), scalar(value), &mark, problems);
            }
            Addition::PassEnv(name) => {
                append(&mut root, &names(&["sandbox", "pass_env"]), scalar(name), &mark, problems);
            }
            Addition::Preset(item) | Addition::Host(item) => {
                if list_network(&mut root, &mark) {
                    let key =
                        if matches!(addition, Addition::Preset(_)) { "presets" } else { "allow" };
                    let names = names(&["sandbox", "network", key]);
                    append(&mut root, &names, scalar(item), &mark, problems);
                }
            }
        }
    }
    root
}

/// Gives `sandbox.network` its long form; returns whether hosts can be added to it. An open
/// network has them all.
fn list_network(root: &mut Node, mark: &Mark) -> bool {
    let Some(network) = find(root, &["sandbox", "network"]) else { return true };
    let (is_off, is_list) = (network.bool() == Some(false), network.items().is_some());
    if is_off {
        *network = Node { kind: Kind::Map(Vec::new()), mark: mark.clone() };
    } else if is_list {
        let key = Key { text: "allow".to_owned(), mark: network.mark.clone() };
        network.kind = Kind::Map(vec![(key, network.clone())]);
    }
    network.bool() != Some(true)
}

/// Adds an item to a list, which is made where there is none.
fn append(root: &mut Node, names: &[String], item: Node, mark: &Mark, problems: &mut Problems) {
    let path: Vec<&str> = names.iter().map(String::as_str).collect();
    match find(root, &path) {
        Some(Node { kind: Kind::List(items), .. }) => items.push(item),
        // The file has that problem anyway.
        Some(node) if !node.is_null() => {}
        _ => {
            let list = Node { kind: Kind::List(vec![item]), mark: mark.clone() };
            put(root, names, list, mark, problems);
        }
    }
}

fn find<'n>(root: &'n mut Node, names: &[&str]) -> Option<&'n mut Node> {
    let mut node = root;
    for name in names {
        let Kind::Map(entries) = &mut node.kind else { return None };
        node = entries.iter_mut().find(|(key, _)| key.text == *name).map(|(_, below)| below)?;
    }
    Some(node)
}

/// Puts the zones of a silent file into the tree of one that defines none, so
/// that `--set` can change them.
pub(crate) fn default_zones(root: Node, overrides: &Overrides) -> Node {
    let mut root = root;
    if !overrides.dirs.is_empty() {
        return root;
    }
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

/// Puts the directories of `--rw` and `--ro` into the tree, as zones at their host paths.
/// Whoever writes `--rw` has agreed to writing; deleting still asks.
pub(crate) fn dirs(root: Node, overrides: &Overrides, problems: &mut Problems) -> Node {
    let mut root = root;
    for DirFlag { path, mode } in &overrides.dirs {
        let shown = format!("--{mode} {}", path.display());
        let mut mark = Mark::start(Source::Flag(shown.into()));
        mark.column = columns("--rw ") + 1;
        let Some(text) = path.to_str().filter(|_| path.is_absolute()) else {
            let message = format!("the directory '{}' cannot be used", path.display());
            problems.error("bad_path", &mark, message).hint("write the whole path, in UTF-8");
            continue;
        };
        let mode = mode.to_string();
        let zone = ["sandbox".to_owned(), "zones".to_owned(), free_name(&root, path)];
        let values = [
            (&["path"][..], text),
            (&["mode"], mode.as_str()),
            (&["at"], "same"),
            (&["approval", "write"], "preApproved"),
        ];
        for (key, value) in values {
            let names: Vec<String> =
                zone.iter().cloned().chain(key.iter().map(|&key| key.to_owned())).collect();
            let kind = Kind::Scalar { text: value.to_owned(), plain: false };
            put(&mut root, &names, Node { kind, mark: mark.clone() }, &mark, problems);
        }
    }
    let written = root.get("sandbox").is_some_and(|sandbox| sandbox.get("working_dir").is_some());
    let start = overrides.working_dir.as_deref().filter(|_| !written);
    if let Some(start) = start.and_then(AgentPath::of_host) {
        let mark = Mark::start(Source::Flag("--rw".into()));
        let kind = Kind::Scalar { text: start.to_string(), plain: false };
        let names = ["sandbox", "working_dir"].map(str::to_owned);
        put(&mut root, &names, Node { kind, mark: mark.clone() }, &mark, problems);
    }
    root
}

/// Returns a name for a directory that no zone of the tree has.
fn free_name(root: &Node, path: &Path) -> String {
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut base: String = last.chars().map(|c| if plain(c) { c } else { '-' }).take(48).collect();
    if zone::check_name(&base).is_err() {
        base = format!("dir-{}", base.trim_start_matches(['.', '-', '_']));
    }
    let sandbox = root.get("sandbox");
    let maps = [
        root.get("sandboxes"),
        sandbox.and_then(|sandbox| sandbox.get("zones")),
        sandbox.and_then(|sandbox| sandbox.get("paths")),
    ];
    let taken = |name: &str| maps.iter().flatten().any(|map| map.get(name).is_some());
    let mut names = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
    names.find(|name| !taken(name)).expect("numbers do not run out")
}

/// Returns whether a zone was written as a flag that names a directory.
pub(crate) fn is_zone_flag(at: &At) -> bool {
    matches!(at, At::Flag(text) if [ZONE, "--rw ", "--ro "].iter().any(|f| text.starts_with(f)))
}

fn remove(root: &mut Node, place: &[&str], name: &str) {
    if let Some(Node { kind: Kind::Map(entries), .. }) = find(root, place) {
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
    use std::path::Path;

    use super::*;
    use crate::config::{Loaded, load};
    use crate::policy::Network;
    use crate::source::Ruled;

    fn codes(loaded: &Loaded) -> Vec<String> {
        let show =
            |p: &crate::config::Problem| format!("{}:{}+{} {}", p.line, p.column, p.width, p.code);
        loaded.problems.iter().map(show).collect()
    }

    #[test]
    fn added_values_join_those_of_the_file() {
        let add = vec![
            Addition::Preset("pip".into()),
            Addition::Preset("node".into()),
            Addition::Host("b.test".into()),
            Addition::Env("N".into(), "1: x".into()),
            Addition::PassEnv("TOKEN".into()),
        ];
        let load = |text: &str, add: &[Addition]| {
            let overrides = Overrides { add: add.to_vec(), ..Overrides::default() };
            load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &overrides)
        };
        // The network of the file, and the hosts and presets that hold then.
        let cases: [(&str, &[&str], &[&str]); 6] = [
            ("", &["b.test"], &["python", "node"]),
            ("sandbox:\n  network:\n", &["b.test"], &["python", "node"]),
            ("sandbox: { network: false }", &["b.test"], &["python", "node"]),
            ("sandbox: { network: [a.test] }", &["a.test", "b.test"], &["python", "node"]),
            ("sandbox: { network: { presets: [rust] } }", &["b.test"], &["rust", "python", "node"]),
            (
                "sandbox: { network: { allow: [a.test], deny: [b.test] } }",
                &["a.test", "b.test"],
                &["python", "node"],
            ),
        ];
        for (text, allow, presets) in cases {
            let policy = load(text, &add).policy.unwrap();
            let Network::Hosts(hosts) = &policy.network.value else { panic!("{text}") };
            let names: Vec<String> =
                hosts.allow.iter().map(|host| host.value.to_string()).collect();
            assert_eq!(names, allow, "{text}");
            let names: Vec<&str> =
                hosts.presets.iter().map(|preset| preset.value.as_str()).collect();
            assert_eq!(names, presets, "{text}");
            assert_eq!(hosts.allow.last().unwrap().at, At::flag("--allow-host b.test"), "{text}");
            let denied = text.contains("deny");
            assert_eq!(
                hosts.deny.len(),
                usize::from(denied),
                "{text}: a refused host stays refused"
            );
            let value = Ruled::new("1: x".to_owned(), At::flag("--env N"));
            assert_eq!(policy.env["N"], value, "{text}: the value of a variable is not a name");
            let passed = Ruled::new("TOKEN".to_owned(), At::flag("--pass-env TOKEN"));
            assert_eq!(policy.pass_env, [passed], "{text}");
        }
        let open = load("sandbox: { network: true }", &add).policy.unwrap();
        assert_eq!(open.network.value, Network::On, "an open network has these hosts already");
        let listed = load("sandbox: { pass_env: [A] }", &add).policy.unwrap();
        assert_eq!(listed.pass_env.len(), 2);

        let wrong = [
            (Addition::Preset("pithon".into()), "1:7+6 unknown_preset"),
            (Addition::Host("http://a.test".into()), "1:14+13 bad_host"),
            (Addition::PassEnv("A=B".into()), "1:12+3 bad_value"),
            (Addition::Env(String::new(), "x".into()), "1:7+1 bad_value"),
        ];
        for (add, want) in wrong {
            assert_eq!(codes(&load("", std::slice::from_ref(&add))), [want], "{add:?}");
        }
        let twice = load("sandbox: { network: { allow: x } }", &add);
        assert_eq!(codes(&twice), ["1:30+1 wrong_type"], "the file's own mistake is told once");
    }

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
