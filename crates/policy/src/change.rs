//! The smallest change to a project file that would turn a refusal, or a
//! question, into a yes – and what else it would open.
//!
//! A proposal is found by trying: each edit is applied to a copy of the rules
//! and the action is judged again, until it is allowed. What is shown is
//! therefore what works.

mod connect;

use std::path::PathBuf;

pub use connect::{change_for_connect, open_to};

use crate::action::{Action, Target};
use crate::grant::Grant;
use crate::guard::Guard;
use crate::judge::{Access, Cause, Judgement, Verdict, judge};
use crate::policy::{Consent, Policy};
use crate::source::{At, Ruled};
use crate::tool_name::FILE_TOOLS;
use crate::zone::{Approval, Mode, Zone, check_name};

/// One value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The key with dots, as `--set` takes it.
    pub key: String,
    /// The value, as YAML.
    pub value: String,
    /// Where the value stands now, or the closest line above it.
    pub at: At,
    /// What else becomes possible.
    pub opens: String,
}

/// The most edits that a proposal has.
const MAX_EDITS: usize = 6;

/// Returns the edits after which `action` is allowed, or `None` when no edit
/// of the project file can do that.
pub fn smallest(policy: &Policy, action: &Action) -> Option<Vec<Edit>> {
    let mut trial = policy.clone();
    let mut edits: Vec<Edit> = Vec::new();
    for _ in 0..=MAX_EDITS {
        let judgement = judge(&Grant::of(&trial), action);
        if matches!(judgement.verdict, Verdict::Allow(_)) {
            let allows = |policy: &Policy| {
                matches!(judge(&Grant::of(policy), action).verdict, Verdict::Allow(_))
            };
            return can_hold(&trial, allows).then_some(edits);
        }
        let edit = next(&mut trial, action, &judgement)?;
        // An edit of the same key again replaces the first.
        edits.retain(|held| held.key != edit.key);
        edits.push(edit);
    }
    None
}

/// Returns whether changed rules allow something within the organisation's bounds.
pub fn can_hold(policy: &Policy, allows: impl Fn(&Policy) -> bool) -> bool {
    policy.organisations.iter().all(|held| held.allows(policy, &allows))
}

/// Changes the one rule that stands in the way.
fn next(policy: &mut Policy, action: &Action, judgement: &Judgement) -> Option<Edit> {
    let at = judgement.rule.at.clone();
    match &judgement.rule.cause {
        Cause::Top | Cause::Command | Cause::Call | Cause::Network | Cause::Nothing => None,
        Cause::Outside => outside(policy, action),
        Cause::Mode(name) => {
            let zone = zone_mut(policy, name)?;
            zone.mode.value = Mode::Rw;
            let dir = zone.agent_path();
            Some(Edit {
                key: format!("{}.mode", zone.key),
                value: "rw".to_owned(),
                at: or(at, &zone.at),
                opens: format!(
                    "every file below {dir} can be changed, with the consent that its approval rules ask for"
                ),
            })
        }
        Cause::Suffix(name) => {
            let path = [Some(&action.target), action.to.as_ref()];
            let zone = zone_mut(policy, name)?;
            let dir = zone.agent_path();
            let allowed = &mut zone.suffixes.as_mut()?.value;
            let refused = path.into_iter().flatten().filter_map(|target| {
                target.path.below(&dir)?;
                target.path.as_rel().file_name()
            });
            let suffix = refused
                .map(suffix_of)
                .find(|suffix| suffix.as_ref().is_some_and(|suffix| !allowed.contains(suffix)))??;
            allowed.push(suffix.clone());
            let value = format!("[{}]", allowed.join(", "));
            Some(Edit {
                key: format!("{}.suffixes", zone.key),
                value,
                at,
                opens: format!("every file below {dir} whose name ends in {suffix}"),
            })
        }
        Cause::Size(name) => {
            let size = action.bytes?;
            let zone = zone_mut(policy, name)?;
            zone.max_file_bytes.as_mut()?.value = size;
            let dir = zone.agent_path();
            Some(Edit {
                key: format!("{}.max_file_bytes", zone.key),
                value: size.to_string(),
                at,
                opens: format!("files of up to {size} bytes below {dir}"),
            })
        }
        Cause::Approval(name, access) => {
            let zone = zone_mut(policy, name)?;
            let dir = zone.agent_path();
            let (rule, opens) = match access {
                Access::Read => (&mut zone.approval.read, "read"),
                Access::Write => (&mut zone.approval.write, "created and changed"),
                Access::Delete => (&mut zone.approval.delete, "removed"),
            };
            *rule = Ruled::new(Approval::PreApproved, At::flag("a proposal"));
            Some(Edit {
                key: format!("{}.approval.{}", zone.key, access.as_str()),
                value: "preApproved".to_owned(),
                at: or(at, &zone.at),
                opens: format!("every file below {dir} can be {opens} without a question"),
            })
        }
        Cause::Guard(pattern) => {
            policy.guards.set(pattern, Guard::Allow, At::flag("a proposal"));
            Some(Edit {
                key: format!("sandbox.guard.\"{pattern}\""),
                value: "allow".to_owned(),
                at,
                opens: format!("every file that matches {pattern}, in every writable directory"),
            })
        }
        Cause::Sensitive(pattern) => Some(show(policy, pattern)),
        Cause::ToolRule => {
            let tool = action.tool;
            let blocked = matches!(judgement.verdict, Verdict::Deny(_));
            let rule = policy.tool_rules.entry(tool.to_owned()).or_default();
            let flag = |value| Some(Ruled::new(value, At::flag("a proposal")));
            let (key, value) = if blocked && rule.allowed.as_ref().is_some_and(|a| !a.value) {
                rule.allowed = flag(true);
                ("allowed", "true")
            } else {
                rule.approval_required = flag(false);
                ("approval_required", "false")
            };
            Some(Edit {
                key: format!("tool_rules.{tool}.{key}"),
                value: value.to_owned(),
                at,
                opens: format!("every call of {tool} that the directories' own rules allow"),
            })
        }
        Cause::Tools => {
            let tools = &mut policy.tools.as_mut()?.value;
            tools.push(action.tool.to_owned());
            let value = format!("[{}]", tools.join(", "));
            let opens =
                format!("every call of {} that the directories' own rules allow", action.tool);
            Some(Edit { key: "tools".to_owned(), value, at, opens })
        }
        Cause::Consent => {
            policy.consent = Ruled::new(Consent::Tool, At::flag("a proposal"));
            Some(Edit {
                key: "approval.mode".to_owned(),
                value: "tool".to_owned(),
                at,
                opens: "every action, as the rules of its directory and tool say".to_owned(),
            })
        }
    }
}

/// Shows credentials that are hidden.
pub fn show(policy: &mut Policy, pattern: &str) -> Edit {
    let at = policy.allow_sensitive.first().map_or(At::Default, |first| first.at.clone());
    policy.allow_sensitive.push(Ruled::new(pattern.to_owned(), At::flag("a proposal")));
    let all = policy.allow_sensitive.iter().map(|pattern| format!("{:?}", pattern.value));
    Edit {
        key: "sandbox.allow_sensitive".to_owned(),
        value: format!("[{}]", all.collect::<Vec<_>>().join(", ")),
        at,
        opens: format!("credentials that match {pattern}, in every granted directory"),
    }
}

/// Adds the zone that a path would be in.
fn outside(policy: &mut Policy, action: &Action) -> Option<Edit> {
    let known =
        |policy: &Policy, name: &[u8]| policy.zones.iter().any(|zone| zone.name.as_bytes() == name);
    let targets = [Some(&action.target), action.to.as_ref()];
    let lies = |target: &&Target| {
        let mut zones = policy.zones.iter();
        zones.any(|zone| target.path.below(&zone.agent_path()).is_some())
    };
    let outside = targets.into_iter().flatten().filter(|target| !lies(target));
    let name = outside.into_iter().find_map(|target| {
        let (name, _) = target.path.split_first()?;
        (!known(policy, name)).then(|| String::from_utf8(name.to_vec()).ok())?
    })?;
    check_name(&name).ok()?;
    let tools = FILE_TOOLS.contains(&action.tool);
    let mode = if action.verb.changes() && tools { Mode::Rw } else { Mode::Ro };
    let zone = Zone::new(&name, PathBuf::from(&name), mode, At::flag("a proposal"));
    let key = zone.key.clone();
    policy.zones.push(zone);
    let verb = if mode == Mode::Rw { "read, and changed after a question" } else { "read" };
    Some(Edit {
        key,
        value: format!("{{ path: ./{name}, mode: {mode} }}"),
        at: At::Default,
        opens: format!("every file in that directory can be {verb}"),
    })
}

fn zone_mut<'p>(policy: &'p mut Policy, name: &str) -> Option<&'p mut Zone> {
    policy.zones.iter_mut().find(|zone| zone.name == name)
}

/// Returns the first place, or the second when nobody wrote the first.
fn or(first: At, second: &At) -> At {
    if first == At::Default { second.clone() } else { first }
}

/// Returns the ending of a name, with its dot.
fn suffix_of(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let dot = name.rfind('.').filter(|dot| *dot > 0)?;
    Some(name[dot..].to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{Target, Verb};

    fn policy() -> Policy {
        let mut policy = Policy::empty("/project");
        let at = || At::flag("test");
        policy.zones.push(Zone::new("in", "/project/in", Mode::Ro, at()));
        let mut docs = Zone::new("docs", "/project/docs", Mode::Rw, at());
        docs.suffixes = Some(Ruled::new(vec![".md".to_owned()], at()));
        docs.max_file_bytes = Some(Ruled::new(10, at()));
        docs.approval.delete = Ruled::new(Approval::Blocked, at());
        policy.zones.push(docs);
        policy
    }

    fn edits(policy: &Policy, tool: &'static str, verb: Verb, path: &str) -> Option<Vec<String>> {
        let grant = Grant::of(policy);
        let target = Target::parse(path, grant.view()).unwrap();
        let action = Action::new(tool, verb, target).bytes(20);
        let edits = smallest(policy, &action)?;
        Some(edits.into_iter().map(|edit| format!("{}={}", edit.key, edit.value)).collect())
    }

    #[test]
    fn proposals_name_what_stands_in_the_way_and_no_more() {
        let policy = policy();
        let cases: &[(&str, Verb, &str, Option<&[&str]>)] = &[
            ("read_file", Verb::Read, "/in/a", Some(&[])),
            (
                "write_file",
                Verb::Write,
                "/in/a",
                Some(&["sandbox.zones.in.mode=rw", "sandbox.zones.in.approval.write=preApproved"]),
            ),
            (
                "delete_file",
                Verb::Delete,
                "/docs/a.md",
                Some(&["sandbox.zones.docs.approval.delete=preApproved"]),
            ),
            (
                "write_file",
                Verb::Write,
                "/docs/a.sh",
                Some(&[
                    "sandbox.zones.docs.suffixes=[.md, .sh]",
                    "sandbox.zones.docs.max_file_bytes=20",
                    "sandbox.zones.docs.approval.write=preApproved",
                ]),
            ),
            (
                "read_file",
                Verb::Read,
                "/mail/a",
                Some(&["sandbox.zones.mail={ path: ./mail, mode: ro }"]),
            ),
            ("read_file", Verb::Read, "/etc/passwd", None),
            (
                "read_file",
                Verb::Read,
                "/in/ann/.aws/credentials",
                Some(&["sandbox.allow_sensitive=[\".aws/credentials\"]"]),
            ),
            ("delete_file", Verb::Delete, "/docs", None),
        ];
        for (tool, verb, path, want) in cases {
            let got = edits(&policy, tool, *verb, path);
            let got: Option<Vec<&str>> =
                got.as_ref().map(|e| e.iter().map(String::as_str).collect());
            assert_eq!(got.as_deref(), *want, "{verb} {path}");
        }
    }

    #[test]
    fn modes_tools_and_guards_are_proposed_too() {
        let mut policy = policy();
        policy.consent = Ruled::new(Consent::Strict, At::flag("test"));
        policy.tools = Some(Ruled::new(vec!["read_file".to_owned()], At::flag("test")));
        let got = edits(&policy, "write_file", Verb::Write, "/docs/zonekeep.yaml").unwrap();
        assert_eq!(
            got,
            [
                "tools=[read_file, write_file]",
                "sandbox.zones.docs.suffixes=[.md, .yaml]",
                "sandbox.zones.docs.max_file_bytes=20",
                "sandbox.guard.\"zonekeep.yaml\"=allow",
                "approval.mode=tool",
                "sandbox.zones.docs.approval.write=preApproved",
            ]
        );
    }
}
