//! Why an action would be allowed, asked about or refused, and the smallest
//! change that would allow it. Nothing is done and nothing is written down.

pub mod connect;
pub mod line;
pub mod past;
pub mod run;

use serde::Serialize;
use zonekeep_policy::change::{self, Edit};
use zonekeep_policy::judge::{Cause, Rule};
use zonekeep_policy::{Action, At, Denial, Policy, RelPath, Spot, Target, Verb, Verdict, judge};

use crate::audit::RuleRecord;
use crate::sandbox::Sandbox;
use crate::session::Backing;

/// The directory that a path lies in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MountShown {
    /// As the agent sees it.
    pub path: String,
    /// Where it is on the host.
    pub host: String,
    /// `ro` or `rw`.
    pub mode: String,
}

/// One value to write in the project file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditShown {
    /// The file, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line that says otherwise now, or the one to add it below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The key with dots.
    pub key: String,
    /// The value, as YAML.
    pub value: String,
    /// The same as a flag.
    pub flag: String,
    /// What else it would open.
    pub opens: String,
}

/// The smallest change that would allow an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeShown {
    /// The change in words.
    pub text: String,
    /// The values to write; all are needed.
    pub edits: Vec<EditShown>,
}

/// Why an action would be allowed, asked about or refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What would be done.
    pub action: String,
    /// The path, normalised.
    pub path: String,
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// The code of the refusal.
    pub code: Option<String>,
    /// What the agent would read.
    pub message: Option<String>,
    /// What decided.
    pub rule: RuleRecord<'static>,
    /// The directory that the path lies in.
    pub mount: Option<MountShown>,
    /// What would allow it; none when it is allowed, or when nothing would.
    pub change: Option<ChangeShown>,
}

/// Explains reading, writing or deleting a path.
pub fn explain(sandbox: &Sandbox, verb: Verb, given: &str) -> Explanation {
    let grant = sandbox.grant();
    let target = match Target::parse(given, grant.view()) {
        Ok(target) => target,
        Err(reason) => {
            let readable = grant.view().readable();
            let denial = Denial::BadPath { path: given.to_owned(), reason, readable };
            let rule = RuleRecord { file: None, line: None, says: "the text is not a path".into() };
            return Explanation {
                action: verb.to_string(),
                path: given.to_owned(),
                verdict: "deny".to_owned(),
                code: Some(denial.code().to_owned()),
                message: Some(denial.to_string()),
                rule,
                mount: None,
                change: None,
            };
        }
    };
    let path = target.path.to_string();
    let spot = grant.view().locate(&target.path);
    let action = Action::new(tool(verb), verb, target);
    let judgement = judge(grant, &action);
    let mut rule = judgement.rule;
    let (mut verdict, mut denial) = match judgement.verdict {
        Verdict::Allow(_) => ("allow", None),
        Verdict::Ask(_) => ("ask", None),
        Verdict::Deny(denial) => ("deny", Some(denial)),
    };
    let mut shows = None;
    if denial.is_none()
        && let Some(Spot::In { mount, path: below }) = &spot
        && let Some(pattern) = sandbox.sensitive_pattern(*mount, below)
    {
        // What the file tools find out on the host: its own places, and links.
        rule = Rule::sensitive(pattern.clone());
        verdict = "deny";
        denial = Some(Denial::Sensitive { verb: verb.phrase(), path: given.to_owned() });
        shows = Some(pattern);
    }
    let mut too_large = None;
    if verb == Verb::Read
        && denial.is_none()
        && let Some(Spot::In { mount, path: below }) = &spot
        && let Some(limit) = &grant.view().mounts()[*mount].zone.max_file_bytes
        && let Some(size) = size(sandbox, *mount, below)
        && size > limit.value
    {
        // What the file tools find out on the open file.
        let zone = &grant.view().mounts()[*mount].zone;
        let says = format!("zones.{}.max_file_bytes: {}", zone.name, limit.value);
        rule = Rule { at: limit.at.clone(), says, cause: Cause::Size(zone.name.clone()) };
        let limit = limit.value;
        verdict = "deny";
        denial =
            Some(Denial::TooLarge { verb: verb.phrase(), path: given.to_owned(), size, limit });
        too_large = Some((zone.key.clone(), zone.name.clone(), size));
    }
    let mount = match &spot {
        Some(Spot::In { mount, .. }) => Some(shown_mount(sandbox, *mount)),
        _ => None,
    };
    let place = rule.at.file_line().map(|(file, line)| (file.to_owned(), line));
    let change = match (verdict, shows, too_large) {
        ("allow", ..) => None,
        (_, Some(pattern), _) => {
            let mut trial = sandbox.shared().policy.clone();
            Some(shown_change(vec![change::show(&mut trial, &pattern)]))
        }
        (_, None, Some((key, zone, size))) => Some(shown_change(vec![Edit {
            key: format!("{key}.max_file_bytes"),
            value: size.to_string(),
            at: rule.at.clone(),
            opens: format!("files of up to {size} bytes below /{zone}"),
        }])),
        _ => proposal(sandbox, &action),
    };
    Explanation {
        action: verb.to_string(),
        path,
        verdict: verdict.to_owned(),
        code: denial.as_ref().map(|denial| denial.code().to_owned()),
        message: denial.map(|denial| denial.to_string()),
        rule: RuleRecord {
            file: place.as_ref().map(|(file, _)| file.clone().into()),
            line: place.map(|(_, line)| line),
            says: rule.says.into(),
        },
        mount,
        change,
    }
}

/// Finds a change of the project file; where the project already allows the
/// action, it is the worker's own file that asks for too little.
fn proposal(sandbox: &Sandbox, action: &Action) -> Option<ChangeShown> {
    let policy = &sandbox.shared().policy;
    match change::smallest(policy, action) {
        Some(edits) => proposed(sandbox, edits),
        None => by_organisation(policy, |free| change::smallest(free, action).is_some()),
    }
}

/// Returns the reason why no change of the project file helps, where it is the
/// organisation's file: without that one, `helps` finds a change.
fn by_organisation(policy: &Policy, helps: impl FnOnce(&Policy) -> bool) -> Option<ChangeShown> {
    let file = policy.organisations.last()?.file();
    let free = Policy { organisations: Vec::new(), ..policy.clone() };
    let text = format!("{file} of your organisation does not allow it; the project file cannot");
    helps(&free).then(|| ChangeShown { text, edits: Vec::new() })
}

/// Returns the change that these edits are, for a worker or the project.
fn proposed(sandbox: &Sandbox, edits: Vec<Edit>) -> Option<ChangeShown> {
    match (edits.is_empty(), sandbox.grant().worker()) {
        (true, Some(worker)) => Some(ChangeShown {
            text: format!(
                "the project allows it: the file of worker '{worker}' has to ask for it, or ask for less consent"
            ),
            edits: Vec::new(),
        }),
        (true, None) => None,
        _ => Some(shown_change(edits)),
    }
}

fn shown_change(edits: Vec<Edit>) -> ChangeShown {
    let edits: Vec<EditShown> = edits.into_iter().map(shown_edit).collect();
    let words = edits.iter().map(|edit| {
        let place = match (&edit.file, edit.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            _ => String::new(),
        };
        format!("{place}{}: {}", edit.key, edit.value)
    });
    ChangeShown { text: words.collect::<Vec<_>>().join("; "), edits }
}

fn shown_edit(edit: Edit) -> EditShown {
    let (file, line) = match &edit.at {
        At::File { file, line, .. } => (Some(file.to_string()), Some(*line)),
        _ => (None, None),
    };
    let flag = format!("--set '{}={}'", edit.key, edit.value);
    EditShown { file, line, key: edit.key, value: edit.value, flag, opens: edit.opens }
}

/// Writes a rule out with the line it is on.
pub(crate) fn ruled(rule: &RuleRecord<'_>) -> String {
    match (&rule.file, rule.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", rule.says),
        _ => format!("{} (not in a file)", rule.says),
    }
}

/// Returns a text without line breaks, so that it cannot pass for several lines.
pub(crate) fn flat(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Returns the words for a verdict.
fn verdict_shown(verdict: &str) -> &'static str {
    match verdict {
        "allow" => "allowed",
        "ask" => "asked about",
        _ => "denied",
    }
}

fn shown_mount(sandbox: &Sandbox, mount: usize) -> MountShown {
    let shown = sandbox.grant().view().mount_at(mount);
    let path = shown.path().to_string();
    let host = sandbox.resolve(&path).unwrap_or_else(|_| shown.zone.path.value.clone());
    MountShown { path, host: host.display().to_string(), mode: shown.zone.mode.value.to_string() }
}

fn size(sandbox: &Sandbox, mount: usize, below: &RelPath) -> Option<u64> {
    let (parent, name) = below.split_last()?;
    let store = Backing::store(sandbox.backing(mount))?;
    Some(store.open_dir(&parent).ok()?.stat(name).ok()?.size)
}

fn tool(verb: Verb) -> &'static str {
    match verb {
        Verb::Read => "read_file",
        Verb::List | Verb::Find => "list_files",
        Verb::Search => "search_files",
        Verb::Info => "file_info",
        Verb::Write => "write_file",
        Verb::Edit => "edit_file",
        Verb::Delete => "delete_file",
        Verb::Move => "move_file",
        Verb::Copy => "copy_file",
    }
}
