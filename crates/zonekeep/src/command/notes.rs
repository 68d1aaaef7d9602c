//! What an agent should know about how its command ended: from what the plan
//! allowed and what happened, in words it can act on.

use std::os::unix::ffi::OsStrExt;

use zonekeep_confine::plan::{Access, Network, Plan, Role};
use zonekeep_confine::tree::Ended;
use zonekeep_confine::{Caught, Fate, Over};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::path::escape;

use super::exit::{self, Passed};

/// Words by which programs say that something could not be written or opened.
const FILE_TROUBLE: &[&str] = &[
    "read-only file system",
    "erofs",
    "permission denied",
    "eacces",
    "operation not permitted",
    "eperm",
];

/// Words by which programs say that a host could not be reached.
const NETWORK_TROUBLE: &[&str] = &[
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "no address associated with hostname",
    "failed to lookup address",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "network is unreachable",
    "enetunreach",
    "couldn't connect to server",
    "could not connect to",
    "failed to connect to",
    "no matching distribution found",
    "network request failed",
    "unable to access 'http",
    "unknown host",
    "unknownhostexception",
    "no such host",
    "server misbehaving",
    "failed to download",
    "failed to fetch",
    "attempting to make an http request, but --offline",
    "you're using offline mode",
    "in offline mode",
    "dial tcp",
];

/// What is known about a command that ended.
pub(super) struct Facts<'f> {
    pub(super) plan: &'f Plan,
    pub(super) limits: &'f Limits,
    pub(super) ended: &'f Ended,
    pub(super) stdout: &'f str,
    pub(super) stderr: &'f str,
    /// Directories that can be written, as the agent names them.
    pub(super) writable: &'f [String],
    /// What was seen of connections, and what could be reached, where that was a
    /// list of hosts.
    pub(super) passed: Option<(&'f Passed, &'f [String])>,
    /// Which files share their content with files outside.
    pub(super) shared: Option<&'f str>,
    /// What was caught, with the path as the agent names it.
    pub(super) caught: &'f [(String, Caught)],
}

/// Returns the notes, a sentence or two each.
pub(super) fn notes(facts: &Facts<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let ended = facts.ended;
    let shown = |key: &str| {
        let entries = facts.limits.entries();
        entries.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    match ended.over {
        Some(Over::Time) => notes.push(format!(
            "Note: The command was ended because it ran longer than {}.",
            shown("time").unwrap_or_default()
        )),
        Some(Over::Memory) => notes.push(format!(
            "Note: The command was ended because it used more memory than {}.",
            shown("memory").unwrap_or_default()
        )),
        Some(Over::Processes) => notes.push(format!(
            "Note: The command was ended because it reached its limit of {} processes.",
            shown("processes").unwrap_or_default()
        )),
        Some(Over::Output) => notes.push(format!(
            "Note: The command was ended because it printed more than {}.",
            shown("output").unwrap_or_default()
        )),
        Some(Over::Stopped) => {
            let why = "the run is over or the settings of the sandbox have changed";
            notes.push(format!("Note: The command was stopped, because {why}."))
        }
        _ => {}
    }
    if is_out_of_cpu_time(facts) {
        notes.push(format!(
            "Note: The command was ended because it used more processor time than {}.",
            shown("cpu_time").unwrap_or_default()
        ));
    }
    // SIGXFSZ.
    if ended.signal == Some(25) {
        notes.push(format!(
            "Note: The command was ended because a file grew larger than {}.",
            shown("file_size").unwrap_or_default()
        ));
    }
    let failed = ended.code != Some(0);
    let said = [facts.stderr, facts.stdout].map(str::to_lowercase);
    let says =
        |words: &[&str]| said.iter().any(|text| words.iter().any(|word| text.contains(word)));
    if failed && (says(FILE_TROUBLE) || names_what_is_not_there(facts, &said)) {
        let list = match facts.writable.is_empty() {
            true => "none".to_owned(),
            false => facts.writable.join(", "),
        };
        notes.push(format!("Note: This worker's writable paths are: {list}"));
    }
    if let Some(shared) = facts.shared
        && failed
        && (says(FILE_TROUBLE) || says(&["resource busy", "ebusy"]))
    {
        notes.push(shared.to_owned());
    }
    if failed && says(&["permission denied", "eacces"]) {
        notes.extend(hidden(facts.plan, &said));
    }
    if failed && facts.plan.network == Network::Off && says(NETWORK_TROUBLE) {
        notes.push("Note: Network access is disabled for this worker.".to_owned());
    }
    if let Some((passed, allowed)) = facts.passed {
        let before = notes.len();
        notes.extend(exit::notes(passed, allowed, failed));
        // An address is refused by the kernel, and nobody else sees that.
        if failed && notes.len() == before && says(NETWORK_TROUBLE) {
            notes.push(exit::reachable(allowed));
        }
    }
    if failed
        && (says(&["no space left on device", "enospc"]))
        && let Some(tmp) = shown("tmp")
    {
        notes.push(format!("Note: /tmp and the home directory hold {tmp} together."));
    }
    if ended.left > 0 && ended.over.is_none() {
        let many = if ended.left == 1 { "One process" } else { "Some processes" };
        notes.push(format!(
            "Note: {many} that the command left running in the background ended with it."
        ));
    }
    // Git goes on after it, and often ends with 0. What such a command prints on standard
    // output is not about itself.
    let is_busy = match failed {
        true => says(&["resource busy", "ebusy"]),
        false => said[0].contains("device or resource busy"),
    };
    if facts.plan.watch.is_some() && is_busy {
        notes.push(
            "Note: Guarded files that exist are read-only for commands, and cannot be removed or \
             replaced. zonekeep.yaml is one: the user can move between branches that differ in it."
                .to_owned(),
        );
    }
    notes.extend(guarded(facts.caught));
    notes
}

/// Returns a note about the hidden files that a failed command names, by their paths below
/// their zones.
fn hidden(plan: &Plan, said: &[String; 2]) -> Option<String> {
    let is_met = |path: &&std::path::PathBuf| {
        let below = plan.zones().filter_map(|zone| path.strip_prefix(&zone.at).ok());
        let below = below.min_by_key(|below| below.as_os_str().len());
        let name = below.map(|below| below.to_string_lossy().to_lowercase());
        name.is_some_and(|name| said.iter().any(|text| text.contains(&name)))
    };
    let met = plan.rules.hidden.iter().filter(is_met);
    let names: Vec<String> = met
        .take(MAX_NAMED)
        .map(|path| format!("'{}'", escape(path.as_os_str().as_bytes())))
        .collect();
    let (first, rest) = names.split_first()?;
    let (verb, list) = match rest {
        [] => ("is", first.clone()),
        _ => ("are", names.join(", ")),
    };
    Some(format!(
        "Note: {list} {verb} hidden from commands. The user can list such files in \
         sandbox.allow_sensitive."
    ))
}

/// How many guarded files a note names.
const MAX_NAMED: usize = 8;

/// Returns the notes about guarded files that the command changed.
fn guarded(caught: &[(String, Caught)]) -> Vec<String> {
    let is_whole = |caught: &Caught| caught.failed.is_none() && caught.lost.is_none();
    let with = |fate: Fate| {
        let is_such =
            move |(_, caught): &&(String, Caught)| caught.fate == fate && is_whole(caught);
        caught.iter().filter(is_such).collect::<Vec<_>>()
    };
    let mut notes = Vec::new();
    let moved: Vec<_> = [with(Fate::Undone), with(Fate::Held)].concat();
    match &moved[..] {
        [] => {}
        [(path, caught)] => {
            let show = caught.id.as_deref().map(|id| format!(": zonekeep quarantine show {id}"));
            notes.push(format!(
                "Note: '{path}' is a guarded file ({}), and what was put there while the \
                 command ran was moved away. The user can restore it{}",
                caught.pattern,
                show.as_deref().unwrap_or(".")
            ));
        }
        many => {
            let ids = many.iter().filter_map(|(_, caught)| caught.id.as_deref());
            let ids: Vec<&str> = ids.take(MAX_NAMED).collect();
            // A removal that was undone left nothing to restore.
            let restore = match ids.is_empty() {
                true => ".".to_owned(),
                false => format!(
                    ". The user can restore them: zonekeep quarantine show {}",
                    ids.join(" ")
                ),
            };
            let (count, names) = (many.len(), named(many));
            notes.push(format!("Note: {count} guarded changes held: {names}{restore}"));
        }
    }
    let reported = with(Fate::Reported);
    if !reported.is_empty() {
        let changes = if reported.len() == 1 { "change" } else { "changes" };
        let (count, names) = (reported.len(), named(&reported));
        notes.push(format!("Note: {count} guarded {changes} to review: {names}."));
    }
    for (path, caught) in caught.iter().filter(|(_, caught)| !is_whole(caught)) {
        notes.push(match (&caught.failed, caught.lost.as_deref().unwrap_or_default()) {
            (None, why) if caught.path.is_empty() => format!("Note: Of guarded files {why}."),
            (None, why) => format!(
                "Note: '{path}' is a guarded file ({}), and what was put there while the command \
                 ran was removed. Not all of it could be kept for the user: {why}. Tell the user.",
                caught.pattern
            ),
            (Some(why), _) => format!(
                "Note: '{path}' is a guarded file ({}) and could not be moved away: {why}. Tell \
                 the user.",
                caught.pattern
            ),
        });
    }
    notes
}

/// Names guarded files with their patterns, up to a number of them.
fn named(caught: &[&(String, Caught)]) -> String {
    let one = |(path, caught): &&(String, Caught)| format!("'{path}' ({})", caught.pattern);
    let mut names: Vec<String> = caught.iter().take(MAX_NAMED).map(one).collect();
    if caught.len() > MAX_NAMED {
        names.push(format!("{} more", caught.len() - MAX_NAMED));
    }
    names.join(", ")
}

/// Returns whether the kernel ended the command for its processor time.
fn is_out_of_cpu_time(facts: &Facts<'_>) -> bool {
    let Some(limit) = facts.limits.cpu_seconds else { return false };
    let ended = facts.ended;
    // A shell says with its own status how what it ran has ended.
    let signal = ended.signal.or(ended.code.map(|code| code - 128));
    match signal {
        // SIGXCPU, the warning of the kernel.
        Some(24) => true,
        // SIGKILL for who does not heed it, which others send too. The kernel counts
        // in ticks, so that a little may be missing here.
        Some(9) => ended.over.is_none() && ended.cpu_seconds >= limit as f64 * 0.9,
        _ => false,
    }
}

/// Returns whether a program complains about an absolute path that is not in
/// the tree, or that it tried to write where only reading is possible.
fn names_what_is_not_there(facts: &Facts<'_>, said: &[String; 2]) -> bool {
    if !said
        .iter()
        .any(|text| text.contains("no such file or directory") || text.contains("enoent"))
    {
        return false;
    }
    let known = |path: &str| {
        let here = |at: &std::path::Path| std::path::Path::new(path).starts_with(at);
        facts.plan.entries.iter().any(|entry| match entry {
            zonekeep_confine::plan::Entry::Bind(bind) => {
                here(&bind.at) && (bind.role != Role::Zone || bind.access == Access::Rw)
            }
            entry => here(entry.at()),
        }) || ["/tmp", "/dev", "/proc", "/run"].iter().any(|at| here(at.as_ref()))
            || here(&facts.plan.home)
    };
    let words = said
        .iter()
        .flat_map(|text| text.split(|c: char| c.is_whitespace() || "'\"`:,;()[]".contains(c)));
    words.filter(|word| word.len() > 1 && word.starts_with('/')).any(|path| !known(path))
}
