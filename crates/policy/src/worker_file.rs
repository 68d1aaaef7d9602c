//! Worker files: what a worker is called, what it needs, and what it is told.
//!
//! A worker file is YAML between two lines of `---`, and then the instructions.
//! [`parse`] reads one by itself; [`check`] holds its needs against a project's
//! rules, before anything runs.

use std::path::{Path, PathBuf};

use crate::config::check::check as check_shape;
use crate::config::problem::{Mark, Problem, Problems, Source};
use crate::config::yaml::{self, Node, Origin};
use crate::config::zones::{self, Form, Written};
use crate::config::{dirs, keys, project, rules, shell, suggest};
use crate::grant::ExceedsParent;
use crate::hosts;
use crate::limit::Limits;
use crate::needs::{Needs, ZoneNeed, ZoneNeeds};
use crate::policy::Policy;
use crate::source::{At, Ruled};
use crate::tool_name;
use crate::zone::{Approvals, Mode, Zone};

/// A worker file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerFile {
    /// The worker's name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The model it uses.
    pub model: Option<String>,
    /// The models it works with; `None` is any.
    pub compatible_models: Option<Vec<String>>,
    /// What it is told: the text below the front matter.
    pub instructions: String,
    /// What it asks for.
    pub needs: Needs,
    /// Where its name is written.
    pub at: At,
}

/// What came of reading a worker file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedWorker {
    /// The worker, unless a problem is an error.
    pub worker: Option<WorkerFile>,
    /// Everything wrong or doubtful, in the order of the lines.
    pub problems: Vec<Problem>,
}

/// Reads the text of a worker file; `file` is the name to show.
pub fn parse(text: &str, file: &str) -> ParsedWorker {
    let mut problems = Problems::default();
    let worker = read(text, file, &mut problems).filter(|_| !problems.any_error());
    ParsedWorker { worker, problems: problems.sorted(file) }
}

fn read(text: &str, file: &str, problems: &mut Problems) -> Option<WorkerFile> {
    let source = Source::File(file.into());
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > yaml::MAX_BYTES {
        let message = "the file is larger than 1 MiB";
        problems.error("too_large", &Mark::start(source), message).hint("shorten the instructions");
        return None;
    }
    let parts = match split(text) {
        Ok(parts) => parts,
        Err(Unframed { line, message }) => {
            let mark = Mark { line, ..Mark::start(source) };
            let problem = problems.error("front_matter", &mark, message);
            problem.hint(
                "write a line '---', the settings, another line '---', then the instructions",
            );
            return None;
        }
    };
    let origin = Origin { source, lines: parts.lines, columns: 0 };
    let root = yaml::parse(parts.front, &origin, problems)?;
    check_shape(&root, &keys::WORKER, "", problems);

    let text = |key: &str| root.get(key).and_then(Node::text).map(str::to_owned);
    let name = root.get("name");
    let needs = needs(&root, text("name").unwrap_or_default(), problems);
    let worker = WorkerFile {
        name: text("name").unwrap_or_default(),
        description: text("description"),
        model: text("model"),
        compatible_models: root.get("compatible_models").and_then(|n| models(n, problems)),
        instructions: parts.body.trim().replace("\r\n", "\n"),
        needs,
        at: name.map(Node::at).unwrap_or_default(),
    };
    if let Some(node) = name {
        check_worker_name(&worker.name, &node.mark, problems);
    }
    Some(worker)
}

/// The two parts of a worker file.
struct Parts<'a> {
    front: &'a str,
    /// Lines above the front matter.
    lines: u32,
    body: &'a str,
}

/// Why a file has no front matter.
struct Unframed {
    line: u32,
    message: &'static str,
}

/// Finds the front matter; blank lines and comments may stand above it.
fn split(text: &str) -> Result<Parts<'_>, Unframed> {
    let mut start: Option<(usize, u32)> = None;
    let mut offset = 0;
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        count += 1;
        let end = offset + line.len();
        match (start, line.trim_end()) {
            (None, "---") => start = Some((end, count)),
            (None, other) if other.is_empty() || other.starts_with('#') => {}
            (None, _) => {
                let message = "the file does not start with a line '---'";
                return Err(Unframed { line: count, message });
            }
            (Some((start, lines)), "---") => {
                return Ok(Parts { front: &text[start..offset], lines, body: &text[end..] });
            }
            (Some(_), _) => {}
        }
        offset = end;
    }
    Err(match start {
        Some((_, line)) => Unframed { line, message: "the front matter has no end" },
        None => Unframed { line: 1, message: "the file has no line '---'" },
    })
}

fn check_worker_name(name: &str, mark: &Mark, problems: &mut Problems) {
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        let message = "a worker's name is not empty and has no control characters";
        problems.error("bad_name", mark, message).hint("write a name such as report-writer");
    } else if tool_name::canonical(name).is_some() {
        let message = format!("the name '{name}' is taken by a tool");
        problems.error("bad_name", mark, message).hint("choose another name");
    }
}

fn models(node: &Node, problems: &mut Problems) -> Option<Vec<String>> {
    let items = node.items()?;
    if items.is_empty() {
        let message = "the list of compatible models is empty, so no model could run the worker";
        let problem = problems.error("bad_value", &node.mark, message);
        problem.hint("leave 'compatible_models' out to allow any model");
    }
    Some(items.iter().filter_map(Node::text).map(str::to_owned).collect())
}

fn needs(root: &Node, worker: String, problems: &mut Problems) -> Needs {
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
        tools: root.get("tools").and_then(|node| rules::tools(node, problems)),
        tool_rules: root
            .get("tool_rules")
            .map(|node| rules::tool_rules(node, problems))
            .unwrap_or_default(),
        shell: shell::shell(root, problems),
        network: sandbox("network").map(|node| rules::network(node, problems)),
        limits,
        require_os_sandbox: sandbox("require_os_sandbox")
            .and_then(|node| Some(Ruled::new(node.bool()?, node.at())))
            .unwrap_or_default(),
    }
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
        path: Some(Ruled::new(PathBuf::from(text), mark.at())),
        at,
    })
}

/// Holds what a worker asks for against what the project has.
pub fn check(worker: &WorkerFile, policy: &Policy) -> Vec<Problem> {
    let mut problems = Problems::default();
    let project: Vec<&str> = policy.zones.iter().map(|zone| zone.name.as_str()).collect();
    let held: Vec<&str> = match &worker.needs.zones {
        ZoneNeeds::None => Vec::new(),
        ZoneNeeds::All => project.clone(),
        ZoneNeeds::Named(needs) => {
            for need in needs {
                check_need(need, policy, &project, &mut problems);
            }
            needs.iter().map(|need| need.name.as_str()).collect()
        }
    };
    if let Some(dir) = &worker.needs.working_dir {
        let mark = Mark::of(&dir.at, dir.value.to_string().chars().count());
        project::check_in_zone(&dir.value, "working_dir", &mark, &held, &mut problems);
    }
    if let Some(network) = &worker.needs.network
        && let Err(error) = hosts::narrow(&policy.network.value, &network.value)
    {
        let what = match error {
            ExceedsParent::Host { host } => format!("the host '{host}'"),
            ExceedsParent::Preset { preset } => format!("the hosts of '{preset}'"),
            _ => "network access".to_owned(),
        };
        let message = format!("the worker asks for {what}, which the project does not give");
        let hint = format!("ask for less, or change sandbox.network ({})", policy.network.at);
        problems.error("exceeds_project", &Mark::of(&network.at, 1), message).hint(hint);
    }
    for rule in &worker.needs.shell.rules {
        for zone in rule.sandbox_paths.iter().filter(|zone| !held.contains(&zone.as_str())) {
            let message = format!(
                "the rule for '{}' names the zone '{zone}', which the worker does not ask for",
                rule.pattern
            );
            let hint = suggest::hint(zone, "zones", &held);
            problems.error("unknown_zone", &Mark::of(&rule.at, 1), message).hint(hint);
        }
    }
    shell::check_zones(&worker.needs.shell, &held, &mut problems);
    let file = worker.at.file_line().map_or("", |(file, _)| file);
    problems.sorted(file)
}

/// Returns the zones that a worker defines itself, in its `paths`.
///
/// A worker can do so only in a project that leaves its zones to the defaults,
/// and only with directories of that project; [`check`] says where it cannot.
pub fn inline_zones(worker: &WorkerFile, policy: &Policy) -> Vec<Zone> {
    let ZoneNeeds::Named(needs) = &worker.needs.zones else { return Vec::new() };
    needs
        .iter()
        .filter(|need| defines(need, policy))
        .filter_map(|need| {
            let dir = directory(need, policy).filter(|dir| dir.starts_with(&policy.project))?;
            let mut zone = Zone::new(&need.name, dir, need.mode.value, need.at.clone());
            zone.suffixes = need.suffixes.clone();
            zone.max_file_bytes = need.max_file_bytes.clone();
            Some(zone)
        })
        .collect()
}

/// Returns the host directory that a `paths` entry names.
fn directory(need: &ZoneNeed, policy: &Policy) -> Option<PathBuf> {
    need.path.as_ref().map(|path| dirs::normal(&policy.project.join(&path.value)))
}

/// Returns whether a request is a definition as well: nobody else defines zones.
fn defines(need: &ZoneNeed, policy: &Policy) -> bool {
    let silent = policy.zones.iter().any(|zone| zone.at == At::Default);
    let taken = policy.zone(&need.name).is_some_and(|zone| zone.at != At::Default);
    need.path.is_some() && silent && !taken
}

fn check_need(need: &ZoneNeed, policy: &Policy, project: &[&str], problems: &mut Problems) {
    let name = &need.name;
    let mark = Mark::of(&need.at, name.chars().count());
    let written = need.path.as_ref().map(|path| {
        (path.value.display().to_string(), Mark::of(&path.at, path.value.as_os_str().len()))
    });
    if defines(need, policy) {
        if let Some((text, mark)) = written
            && !directory(need, policy).is_some_and(|dir| dir.starts_with(&policy.project))
        {
            let message = format!("the worker's zone '{name}' is '{text}', outside the project");
            let problem = problems.error("exceeds_project", &mark, message);
            problem.hint("define the zone in the project file");
        }
        check_consent(need, &Approvals::default(), problems);
        return;
    }
    let Some(zone) = policy.zone(name) else {
        let message =
            format!("the worker asks for the zone '{name}', which the project does not have");
        let hint = suggest::hint(name, "zones", project);
        problems.error("unknown_zone", &mark, message).hint(hint);
        return;
    };
    if let Some((text, mark)) = written
        && directory(need, policy).as_ref() != Some(&zone.path.value)
    {
        let message = format!(
            "the worker takes the zone '{name}' to be '{text}', and the project has it elsewhere"
        );
        let problem = problems.error("exceeds_project", &mark, message);
        problem
            .hint(format!("ask by name: zones: [{{ name: {name}, mode: {} }}]", need.mode.value));
    }
    if need.mode.value > zone.mode.value {
        let mark = if need.mode.is_written() { Mark::of(&need.mode.at, 2) } else { mark };
        let (wanted, held) = (need.mode.value, zone.mode.value);
        let message =
            format!("the worker asks for {wanted} on '{name}', which the project gives as {held}");
        let hint = format!("ask for {held}, or change the zone's mode ({})", zone.mode.at);
        problems.error("exceeds_project", &mark, message).hint(hint);
    }
    check_consent(need, &zone.approval, problems);
}

/// Warns where a worker hopes for fewer questions than the project asks.
fn check_consent(need: &ZoneNeed, project: &Approvals, problems: &mut Problems) {
    for (verb, wanted, held) in [
        ("read", &need.read, &project.read),
        ("write", &need.write, &project.write),
        ("delete", &need.delete, &project.delete),
    ] {
        if let Some(wanted) = wanted
            && wanted.value < held.value
        {
            let (w, h, name) = (wanted.value, held.value, &need.name);
            let mark = Mark::of(&wanted.at, w.to_string().len());
            let message =
                format!("the worker has {verb} as {w} on '{name}', and the project has it as {h}");
            let problem = problems.warning("looser_approval", &mark, message);
            problem.hint(format!("the project's stricter rule holds ({})", held.at));
        }
    }
}

#[cfg(test)]
mod tests;
