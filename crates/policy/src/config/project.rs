//! From the tree of a project file to a policy.
//!
//! The tree has been held against its shape before, and what did not fit is
//! already a problem; here such values are passed over in silence. What this
//! module adds are the rules between values: names that must exist, directories
//! that must stay somewhere, two keys that say the same.

use super::dirs;
use super::flags;
use super::network;
use super::problem::{Mark, Problems};
use super::rules;
use super::run;
use super::secrets;
use super::shell;
use super::suggest;
use super::taint;
use super::yaml::Node;
use super::zones::{self, Form, Written};
use crate::guard::{self, Guard};
use crate::path::AgentPath;
use crate::policy::{
    Audit, BackendChoice, Caches, Consent, Layout, OsSandbox, Policy, is_never_passed,
};
use crate::source::{At, Ruled};
use crate::zone::{self, Approval, Approvals, Mode, Placement, Zone};

/// Patterns of files that say what the agent may do.
const OWN_FILES: [&str; 3] = ["zonekeep.yaml", "*.worker", "golem-forge.config.yaml"];

/// Fills `policy`, which has the rules of a silent file, from the tree.
pub(crate) fn fill(policy: &mut Policy, root: &Node, problems: &mut Problems) {
    if let Some(sandbox) = root.get("sandbox") {
        boundaries(policy, sandbox, problems);
    }
    policy.zones = all_zones(policy, root, problems);
    warn_overlaps(&policy.zones, problems);
    check_placements(&policy.zones, problems);
    if let Some(sandbox) = root.get("sandbox") {
        policy.working_dir = agent_dir(sandbox, "working_dir", &policy.zones, problems);
        policy.home = agent_dir(sandbox, "home", &policy.zones, problems);
    }
    if let Some(mode) = root.get("approval").and_then(|node| node.get("mode")) {
        policy.consent = Ruled::new(consent(mode.text().unwrap_or_default()), mode.at());
    }
    if let Some(node) = root.get("delegation") {
        policy.max_depth = max_depth(node, problems).unwrap_or(policy.max_depth.clone());
        policy.run = run::defaults(node, problems);
    }
    policy.model = root.get("model").and_then(|n| Some(Ruled::new(n.text()?.to_owned(), n.at())));
    policy.prices = root.get("prices").map(|n| run::prices(n, problems)).unwrap_or_default();
    policy.when_tainted = taint::when_tainted(root, &policy.zones, problems);
    taint::warn_unasked(policy, problems);
    policy.tools = root.get("tools").and_then(|node| rules::tools(node, problems));
    if let Some(node) = root.get("tool_rules") {
        policy.tool_rules = rules::tool_rules(node, problems);
    }
    policy.shell = shell::shell(root, problems);
    network::warn_open(policy, problems);
    secrets::check(policy, problems);
    check_shell_zones(root, &policy.zones, problems);
    let names: Vec<&str> = policy.zones.iter().map(|zone| zone.name.as_str()).collect();
    let dirs: Vec<AgentPath> = policy.zones.iter().map(Zone::agent_path).collect();
    shell::check_zones(&policy.shell, &names, &dirs, problems);
    if let Some(audit) = root.get("audit") {
        let best_effort = audit.text() == Some("best_effort");
        let value = if best_effort { Audit::BestEffort } else { Audit::Required };
        policy.audit = Ruled::new(value, audit.at());
    }
}

/// Reads what `sandbox` says besides zones and the places in them.
fn boundaries(policy: &mut Policy, sandbox: &Node, problems: &mut Problems) {
    if let Some(mode) = sandbox.get("mode") {
        let direct = mode.text() == Some("direct");
        let layout = if direct { Layout::Direct } else { Layout::Sandboxed };
        policy.layout = Ruled::new(layout, mode.at());
    }
    if let Some((root, text)) = sandbox.get("root").and_then(|node| Some((node, node.text()?))) {
        match dirs::anywhere(&policy.project, text) {
            Ok(path) => policy.root = Ruled::new(path, root.at()),
            Err(error) => {
                let message = format!("'sandbox.root' cannot be '{text}': {error}");
                problems.error("bad_path", &root.mark, message).hint(error.hint());
            }
        }
    }
    if let Some(node) = sandbox.get("network") {
        policy.network = network::network(node, problems);
    }
    if let Some(node) = sandbox.get("secrets") {
        policy.secrets = secrets::secrets(node, problems);
    }
    if let Some(node) = sandbox.get("require_os_sandbox") {
        let value = node.bool().map(OsSandbox::written).unwrap_or_default();
        policy.require_os_sandbox = Ruled::new(value, node.at());
    }
    if let Some(node) = sandbox.get("limits") {
        policy.limit_lines = rules::limits(&mut policy.limits, node, problems);
    }
    if let Some(node) = sandbox.get("backend") {
        let choice = node.text().and_then(BackendChoice::parse);
        policy.backend = Ruled::new(choice.unwrap_or_default(), node.at());
    }
    if let Some(node) = sandbox.get("prove") {
        policy.prove = Ruled::new(node.bool().unwrap_or_default(), node.at());
    }
    if let Some(node) = sandbox.get("caches") {
        let fresh = node.text() == Some("fresh");
        let caches = if fresh { Caches::Fresh } else { Caches::Keep };
        policy.caches = Ruled::new(caches, node.at());
    }
    for (key, value) in sandbox.get("env").into_iter().flat_map(Node::entries) {
        if let Some(text) = value.text()
            && check_variable(&key.text, &key.mark, problems)
        {
            policy.env.insert(key.text.clone(), Ruled::new(text.to_owned(), value.at()));
        }
    }
    for item in sandbox.get("pass_env").and_then(Node::items).unwrap_or_default() {
        if let Some(name) = item.text()
            && check_variable(name, &item.mark, problems)
        {
            if is_never_passed(name) {
                let message = format!("'{name}' is never passed to commands");
                let problem = problems.warning("unused", &item.mark, message);
                problem.hint("remove it: commands have their own, or do without");
            }
            policy.pass_env.push(Ruled::new(name.to_owned(), item.at()));
        }
    }
    let mut patterns = |key: &str, list: &mut Vec<Ruled<String>>| {
        for item in sandbox.get(key).and_then(Node::items).unwrap_or_default() {
            if let Some(pattern) = item.text()
                && check_pattern(pattern, &item.mark, problems)
            {
                list.push(Ruled::new(pattern.to_owned(), item.at()));
            }
        }
    };
    patterns("allow_hard_links", &mut policy.allow_hard_links);
    patterns("allow_sensitive", &mut policy.allow_sensitive);
    for (key, value) in sandbox.get("guard").into_iter().flat_map(Node::entries) {
        let guard = match value.text() {
            Some("allow") => Guard::Allow,
            Some("report") => Guard::Report,
            Some("ask") => Guard::Ask,
            _ => Guard::Block,
        };
        let pattern = &key.text;
        if !check_pattern(pattern, &key.mark, problems) {
            continue;
        }
        if guard == Guard::Allow && OWN_FILES.iter().any(|own| own.eq_ignore_ascii_case(pattern)) {
            let message = format!("agents may change '{pattern}', which says what they may do");
            let problem = problems.warning("guard_off", &value.mark, message);
            problem.hint("write ask to be asked each time");
        }
        policy.guards.set(pattern, guard, value.at());
    }
}

fn check_pattern(pattern: &str, mark: &Mark, problems: &mut Problems) -> bool {
    let good = guard::is_pattern(pattern);
    if !good {
        let message = format!("the pattern '{pattern}' cannot match any file");
        let problem = problems.error("bad_pattern", mark, message);
        problem.hint("write names with slashes between them, such as .vscode/** or *.key");
    }
    good
}

fn check_variable(name: &str, mark: &Mark, problems: &mut Problems) -> bool {
    let good = !name.is_empty() && !name.contains(|c: char| c == '=' || c.is_control());
    if !good {
        let message = format!("'{name}' cannot be the name of an environment variable");
        problems.error("bad_value", mark, message).hint("write the name alone, without '='");
    }
    good
}

/// Reads the zones in all their forms.
fn all_zones(policy: &Policy, root: &Node, problems: &mut Problems) -> Vec<Zone> {
    let in_sandbox = |key: &str| root.get("sandbox").and_then(|sandbox| sandbox.get(key));
    let (zones, paths) = (in_sandbox("zones"), in_sandbox("paths"));
    let old = root.entries().find(|(key, node)| key.text == "sandboxes" && !node.is_null());
    let mut written = Vec::new();
    for (node, form) in [(zones, Form::Zones), (paths, Form::Paths)] {
        written.extend(node.into_iter().flat_map(|node| zones::read_map(node, form, problems)));
    }
    if let Some((key, node)) = old {
        let old = zones::read_map(node, Form::Old, problems);
        zones::warn_old(&key.mark, &old, problems);
        written.extend(old);
    }
    let written = zones::unique(written, problems);
    written.into_iter().filter_map(|zone| resolve(zone, policy, problems)).collect()
}

fn resolve(zone: Written, policy: &Policy, problems: &mut Problems) -> Option<Zone> {
    let (at, key) = (zone.at(), zone.key());
    // Default zones lie under the root in every layout: nobody chose real
    // directories for them.
    let below = policy.layout.value == Layout::Sandboxed || at == At::Default;
    let create = zone.form == Form::Zones && below && !flags::is_zone_flag(&at);
    let (text, mark) = zone.directory?;
    let found = if create {
        dirs::below(&policy.root.value, &text)
    } else {
        dirs::anywhere(&policy.project, &text)
    };
    let path = match found {
        Ok(path) => path,
        Err(error) => {
            let message = format!("the zone '{}' cannot be '{text}': {error}", zone.name);
            problems.error("bad_path", &mark, message).hint(error.hint());
            return None;
        }
    };
    let approval =
        |written: Option<Ruled<Approval>>, silent: Ruled<Approval>| written.unwrap_or(silent);
    let silent = Approvals::default();
    Some(Zone {
        name: zone.name,
        key,
        at,
        path: Ruled::new(path, mark.at()),
        placement: zone.placement,
        create,
        mode: zone.mode,
        suffixes: zone.suffixes,
        max_file_bytes: zone.max_file_bytes,
        untrusted: zone.untrusted,
        approval: Approvals {
            read: approval(zone.consent.read, silent.read),
            write: approval(zone.consent.write, silent.write),
            delete: approval(zone.consent.delete, silent.delete),
        },
    })
}

/// Warns where a directory that is read-only in one zone can be written in another.
fn warn_overlaps(zones: &[Zone], problems: &mut Problems) {
    for closed in zones.iter().filter(|zone| zone.mode.value == Mode::Ro) {
        let (ro, path) = (&closed.name, &closed.path.value);
        let open = zones.iter().find(|zone| {
            let other = &zone.path.value;
            zone.mode.value == Mode::Rw && (path.starts_with(other) || other.starts_with(path))
        });
        if let Some(Zone { name: rw, .. }) = open {
            let message =
                format!("the read-only zone '{ro}' can be changed through the zone '{rw}'");
            let mark = Mark::of(&closed.at, ro.chars().count());
            let problem = problems.warning("overlapping_zones", &mark, message);
            problem.hint("give the two zones directories that are not inside each other");
        }
    }
}

/// Adds a problem for each zone that cannot be at its host path: the system that commands
/// see is there, or another zone.
fn check_placements(zones: &[Zone], problems: &mut Problems) {
    for zone in zones.iter().filter(|zone| zone.placement.value == Placement::Same) {
        let (name, path) = (&zone.name, &zone.path.value);
        let mark = Mark::of(&zone.placement.at, 4);
        let mut refuse = |why: String, hint: &str| {
            let message = format!("the zone '{name}' cannot be at {}: {why}", path.display());
            problems.error("bad_place", &mark, message).hint(hint);
        };
        if let Some(system) = zone::system_overlap(path) {
            refuse(format!("commands have {system} there"), "remove 'at: same'");
            continue;
        }
        let own = zone.agent_path();
        let mut others = zones.iter().filter(|other| other.name != *name);
        let meets = |other: &&Zone| {
            let other = other.agent_path();
            own.below(&other).is_some() || other.below(&own).is_some()
        };
        if let Some(other) = others.find(meets) {
            let why = format!("the zone '{}' is at {}", other.name, other.agent_path());
            refuse(why, "give the other zone another name, or remove 'at: same'");
        }
    }
}

/// Reads an agent path that must be `/` or in a zone.
fn agent_dir(
    sandbox: &Node,
    key: &str,
    zones: &[Zone],
    problems: &mut Problems,
) -> Ruled<AgentPath> {
    let Some(node) = sandbox.get(key) else { return Ruled::default() };
    let names: Vec<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
    match agent_path(node, key, problems) {
        Some(path) => {
            if !zones.iter().any(|zone| path.below(&zone.agent_path()).is_some()) {
                check_in_zone(&path, key, &node.mark, &names, problems);
            }
            Ruled::new(path, node.at())
        }
        None => Ruled::default(),
    }
}

/// Reads an absolute agent path.
pub(crate) fn agent_path(node: &Node, key: &str, problems: &mut Problems) -> Option<AgentPath> {
    let text = node.text()?;
    let path = AgentPath::absolute(text);
    let reason = match &path {
        Ok(_) if text.starts_with('/') => return path.ok(),
        Ok(_) => "it does not start with '/'".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("'sandbox.{key}' cannot be '{text}': {reason}");
    let problem = problems.error("bad_path", &node.mark, message);
    problem.hint("write '/' or a path in a zone, such as /workspace");
    None
}

/// Adds a problem where an agent path is neither `/` nor in a zone.
pub(crate) fn check_in_zone(
    path: &AgentPath,
    key: &str,
    mark: &Mark,
    zones: &[&str],
    problems: &mut Problems,
) {
    let Some((first, _)) = path.split_first() else { return };
    if !zones.iter().any(|zone| zone.as_bytes() == first) {
        let message = format!("'sandbox.{key}' is '{path}', which is not in a zone");
        let first = String::from_utf8_lossy(first).into_owned();
        problems.error("unknown_zone", mark, message).hint(suggest::hint(&first, "zones", zones));
    }
}

pub(super) fn consent(text: &str) -> Consent {
    match text {
        "manual" => Consent::Manual,
        "auto" | "approve_all" => Consent::Auto,
        "strict" | "auto_deny" => Consent::Strict,
        _ => Consent::Tool,
    }
}

/// Reads the depth under either of its names; a flag beats the file.
fn max_depth(node: &Node, problems: &mut Problems) -> Option<Ruled<u32>> {
    let written = match (node.get("maxDepth"), node.get("max_depth")) {
        (Some(a), Some(b)) if a.mark.is_flag() == b.mark.is_flag() => {
            let message = "'delegation' has both 'maxDepth' and 'max_depth'";
            problems.error("conflict", &b.mark, message).hint("remove 'max_depth'");
            a
        }
        (Some(a), Some(b)) => {
            if a.mark.is_flag() {
                a
            } else {
                b
            }
        }
        (a, b) => a.or(b)?,
    };
    Some(Ruled::new(u32::try_from(written.int()?).ok()?, written.at()))
}

fn check_shell_zones(root: &Node, zones: &[Zone], problems: &mut Problems) {
    let names: Vec<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
    let rules = root.get("shell_rules").and_then(Node::items).unwrap_or_default();
    for rule in rules {
        for item in rule.get("sandbox_paths").and_then(Node::items).unwrap_or_default() {
            if let Some(name) = item.text()
                && !names.contains(&name)
            {
                let message = format!("there is no zone '{name}'");
                let hint = suggest::hint(name, "zones", &names);
                problems.error("unknown_zone", &item.mark, message).hint(hint);
            }
        }
    }
}
