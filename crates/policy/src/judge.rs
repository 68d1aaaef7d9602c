//! The heart: whether an action may happen.
//!
//! [`judge`] looks at a grant and an action and at nothing else. It answers
//! allow, ask or deny, and names the line that decided. An allow carries a
//! [`Permit`], and effects need one.

use std::sync::Arc;

use crate::action::{Action, Target, Verb};
use crate::denial::Denial;
use crate::fingerprint::Fingerprint;
use crate::grant::Grant;
use crate::guard::{Guard, Guards, Reach};
use crate::path::RelPath;
use crate::policy::Consent;
use crate::source::{At, Ruled};
use crate::view::{Mount, Spot, has_suffix};
use crate::zone::{Approval, Mode};

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Where it is written.
    pub at: At,
    /// What it says, such as `zones.input.mode: ro`.
    pub says: String,
    /// Which rule it is.
    pub cause: Cause,
}

impl Rule {
    /// Returns the rule that hides credentials which a pattern would show.
    pub fn sensitive(pattern: String) -> Self {
        let says = format!("credentials \"{pattern}\": hidden");
        Rule { at: At::Default, says, cause: Cause::Sensitive(pattern) }
    }
}

/// What kind of rule decided, and about what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The project or worker has no such directory.
    Outside,
    /// The root or a top directory cannot be the object of this.
    Top,
    /// The mode of a zone.
    Mode(String),
    /// The endings that a zone allows.
    Suffix(String),
    /// The size that a zone allows.
    Size(String),
    /// A zone's consent rule.
    Approval(String, Access),
    /// A guarded file, by its pattern.
    Guard(String),
    /// Hidden credentials, by the pattern that shows them.
    Sensitive(String),
    /// A rule for the tool.
    ToolRule,
    /// The list of tools.
    Tools,
    /// A rule for commands.
    Command,
    /// Who may call whom, and how deep.
    Call,
    /// The hosts that commands may reach.
    Network,
    /// The approval mode.
    Consent,
    /// Nothing had to be decided.
    Nothing,
}

/// The rules' answer.
#[derive(Debug)]
pub enum Verdict {
    /// It may happen.
    Allow(Permit),
    /// It may happen after a yes.
    Ask(Question),
    /// It may not happen.
    Deny(Denial),
}

/// A verdict and the rule it rests on.
#[derive(Debug)]
pub struct Judgement {
    /// The answer.
    pub verdict: Verdict,
    /// What decided.
    pub rule: Rule,
}

/// A permit that waits for somebody's yes.
#[derive(Debug)]
pub struct Question {
    action: Action,
    permit: Permit,
    /// What needs consent, in words for the person who is asked.
    pub reasons: Vec<String>,
}

impl Question {
    /// Returns the action that is asked about.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Returns the places that are asked about, to show what would change there.
    /// Nothing is permitted yet.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Returns the permit, after a yes that holds whatever the content is.
    pub fn approved(self) -> Permit {
        self.permit
    }

    /// Returns the permit, after a yes to what was shown: the fingerprints of the
    /// places, in their order. Effects refuse a place where something else is found.
    pub fn approved_as_shown(mut self, shown: &[Fingerprint]) -> Permit {
        for (place, shown) in self.permit.places.iter_mut().zip(shown) {
            place.shown = Some(*shown);
        }
        self.permit
    }
}

/// Proof that an action was judged.
///
/// Only this module makes permits, and effects act on the places inside one
/// rather than on arguments of their own, so that no effect can skip the rules
/// or differ from what was judged.
#[derive(Debug)]
pub struct Permit {
    places: Vec<Place>,
}

impl Permit {
    /// Returns the first place: what is read, or moved, or written.
    pub fn place(&self) -> Option<&Place> {
        self.places.first()
    }

    /// Returns the second place: where a move or copy leads.
    pub fn to(&self) -> Option<&Place> {
        self.places.get(1)
    }

    /// Returns all places: for the root of the view, one for each directory.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

/// A place that a permit allows to be used, with the limits that hold there.
#[derive(Debug, Clone)]
pub struct Place {
    mount: usize,
    path: RelPath,
    suffixes: Option<Arc<[String]>>,
    max_file_bytes: Option<u64>,
    guards: Option<Arc<Guards>>,
    /// The strictest guard that the consent given covers.
    cleared: Guard,
    shown: Option<Fingerprint>,
}

impl Place {
    /// Returns a place without limits, for callers that have rules of their own.
    pub fn unchecked(path: RelPath) -> Self {
        Place {
            mount: 0,
            path,
            suffixes: None,
            max_file_bytes: None,
            guards: None,
            cleared: Guard::Block,
            shown: None,
        }
    }

    /// Returns the place as a question showed it.
    #[must_use]
    pub fn as_shown(mut self, shown: Fingerprint) -> Self {
        self.shown = Some(shown);
        self
    }

    /// Returns the fingerprint of what the question showed there, where consent was
    /// given for that and nothing else.
    pub fn shown(&self) -> Option<Fingerprint> {
        self.shown
    }

    /// Returns the path below the mount.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns the number of the mount in the view.
    pub fn mount(&self) -> usize {
        self.mount
    }

    /// Returns the largest size that a file may have.
    pub fn max_file_bytes(&self) -> Option<u64> {
        self.max_file_bytes
    }

    /// Returns whether files of that name may be used.
    pub fn suffix_allowed(&self, name: &[u8]) -> bool {
        self.suffixes.as_ref().is_none_or(|suffixes| has_suffix(name, suffixes))
    }

    /// Returns the endings that names may have; `None` is all.
    pub fn suffixes(&self) -> Option<&[String]> {
        self.suffixes.as_deref()
    }

    /// Returns whether what was allowed for this path is also allowed for the
    /// path it really leads to, once the links in its directories are resolved.
    pub fn covers(&self, real: &RelPath, reach: Reach) -> bool {
        let guard = self.guards.as_ref().and_then(|guards| guards.find(real, reach));
        guard.is_none_or(|entry| entry.guard.value <= self.cleared)
    }
}

/// What an action needs of one of its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Looking at it.
    Read,
    /// Creating or changing it.
    Write,
    /// Removing it.
    Delete,
}

impl Access {
    /// Returns the key under `approval` that rules it.
    pub fn as_str(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Delete => "delete",
        }
    }
}

/// What judging one path came to.
struct Finding {
    place: Place,
    approval: Ruled<Approval>,
    says: String,
    cause: Cause,
    reason: Option<String>,
}

/// Answers whether `action` may happen under `grant`.
pub fn judge(grant: &Grant, action: &Action) -> Judgement {
    match findings(grant, action) {
        Err((denial, rule)) => Judgement { verdict: Verdict::Deny(*denial), rule },
        Ok(findings) => conclude(grant, action, findings),
    }
}

type Refusal = (Box<Denial>, Rule);

fn refuse(denial: Denial, at: At, says: impl Into<String>, cause: Cause) -> Refusal {
    (Box::new(denial), Rule { at, says: says.into(), cause })
}

fn findings(grant: &Grant, action: &Action) -> Result<Vec<Finding>, Refusal> {
    if !grant.has_tool(action.tool) {
        let denial = Denial::NoTool { tool: action.tool.to_owned(), available: grant.tools() };
        let (at, says, cause) = match (grant.tool_rule(action.tool), grant.tools_line()) {
            (Some(rule), _) if rule.value == Approval::Blocked => {
                let says = format!("tool_rules.{}.allowed: false", action.tool);
                let says = grant.marked(&rule.at, says);
                (rule.at, says, Cause::ToolRule)
            }
            (_, Some(tools)) => (tools.at.clone(), "tools".to_owned(), Cause::Tools),
            _ => (At::Default, "no directory is granted".to_owned(), Cause::Outside),
        };
        return Err(refuse(denial, at, says, cause));
    }
    let target = &action.target;
    let from = |access| needs(grant, action, target, access);
    let to = |access| {
        let to = action.to.as_ref().unwrap_or(target);
        needs(grant, action, to, access)
    };
    let mut all = Vec::new();
    match action.verb {
        Verb::Read | Verb::List | Verb::Find | Verb::Search | Verb::Info => {
            all.extend(from(Access::Read)?);
        }
        Verb::Write => all.extend(from(Access::Write)?),
        // An edit shows what is there when nothing matches.
        Verb::Edit => {
            let read = from(Access::Read)?;
            all.extend(from(Access::Write)?);
            merge(&mut all, read);
        }
        Verb::Delete => all.extend(from(Access::Delete)?),
        // A move carries content to where other rules for reading may hold.
        Verb::Move => {
            let read = from(Access::Read)?;
            all.extend(from(Access::Delete)?);
            merge(&mut all, read);
            all.extend(to(Access::Write)?);
        }
        Verb::Copy => {
            all.extend(from(Access::Read)?);
            all.extend(to(Access::Write)?);
        }
    }
    Ok(all)
}

/// Adds a second need on the same path to the first: the stricter one stays.
fn merge(findings: &mut [Finding], other: Vec<Finding>) {
    for (finding, other) in findings.iter_mut().zip(other) {
        if other.approval.value > finding.approval.value {
            finding.approval = other.approval;
            finding.says = other.says;
            finding.cause = other.cause;
            finding.reason = other.reason;
        }
    }
}

/// Judges one path of an action.
fn needs(
    grant: &Grant,
    action: &Action,
    target: &Target,
    access: Access,
) -> Result<Vec<Finding>, Refusal> {
    let view = grant.view();
    let verb = action.verb.phrase();
    let given = || target.given.clone();
    match view.locate(&target.path) {
        // What commands leave in their private directory is read as their output is.
        None if access == Access::Read
            && target.has_tmp
            && let Some((number, path)) = view.in_tmp(&target.path) =>
        {
            let mount = view.mount_at(number);
            Ok(vec![finding(grant, action, mount, number, path, target, access)?])
        }
        None => {
            let zone = grant.project_zone_of(&target.path).map(str::to_owned);
            let says = match &zone {
                Some(zone) => format!("the worker does not have zone '{zone}'"),
                None => "no zone holds the path".to_owned(),
            };
            let denial = Denial::Outside { path: given(), readable: view.readable(), zone };
            Err(refuse(denial, At::Default, says, Cause::Outside))
        }
        // The root shows the names of the mounts; looking further needs each one's consent.
        Some(Spot::Root) if matches!(action.verb, Verb::List | Verb::Info) => Ok(Vec::new()),
        Some(Spot::Root) if matches!(action.verb, Verb::Find | Verb::Search) => {
            let mounts = view.mounts().iter().enumerate();
            let open = mounts.filter(|(_, m)| m.zone.approval.read.value != Approval::Blocked);
            open.map(|(i, mount)| finding(grant, action, mount, i, RelPath::root(), target, access))
                .collect()
        }
        Some(Spot::Root) => {
            let dirs = if access == Access::Read { view.readable() } else { view.writable() };
            let denial = Denial::TopDirectory { verb, path: given(), dirs };
            Err(refuse(denial, At::Default, "the root holds only directories", Cause::Top))
        }
        Some(Spot::In { mount, path }) => {
            let m = &view.mounts()[mount];
            Ok(vec![finding(grant, action, m, mount, path, target, access)?])
        }
    }
}

fn finding(
    grant: &Grant,
    action: &Action,
    mount: &Mount,
    index: usize,
    path: RelPath,
    target: &Target,
    access: Access,
) -> Result<Finding, Refusal> {
    let zone = &mount.zone;
    let verb = match (action.verb, access) {
        (Verb::Move | Verb::Copy, Access::Write) => "write to",
        (Verb::Edit | Verb::Move | Verb::Copy, Access::Read) => "read",
        (verb, _) => verb.phrase(),
    };
    let given = || target.given.clone();
    let key = |name: &str| format!("zones.{}.{name}", zone.name);
    let changes = access != Access::Read;

    if changes && zone.mode.value == Mode::Ro {
        let writable = grant.view().writable();
        let denial = Denial::ReadOnly { verb, path: given(), writable, zone: zone.name.clone() };
        let cause = Cause::Mode(zone.name.clone());
        return Err(refuse(denial, zone.mode.at.clone(), format!("{}: ro", key("mode")), cause));
    }
    if changes && path.is_root() {
        let dirs = grant.view().writable();
        let denial = Denial::TopDirectory { verb, path: given(), dirs };
        return Err(refuse(denial, zone.at.clone(), key("path"), Cause::Top));
    }
    let looks_around = matches!(action.verb, Verb::List | Verb::Find | Verb::Search | Verb::Info);
    if let Some(suffixes) = &zone.suffixes
        && !looks_around
        && let Some(name) = path.file_name()
        && !has_suffix(name, &suffixes.value)
    {
        let denial = Denial::Suffix { path: given(), allowed: suffixes.value.clone() };
        let cause = Cause::Suffix(zone.name.clone());
        return Err(refuse(denial, suffixes.at.clone(), key("suffixes"), cause));
    }
    if let (Some(limit), Some(size), Access::Write) = (&zone.max_file_bytes, action.bytes, access)
        && size > limit.value
    {
        let denial = Denial::TooLarge { verb, path: given(), size, limit: limit.value };
        let says = format!("{}: {}", key("max_file_bytes"), limit.value);
        return Err(refuse(denial, limit.at.clone(), says, Cause::Size(zone.name.clone())));
    }

    // The directory above shows the name, and `file_info` no more than that.
    if action.verb != Verb::Info
        && let Some(pattern) = grant.sensitive().pattern(&path)
    {
        let denial = Denial::Sensitive { verb, path: given() };
        return Err((Box::new(denial), Rule::sensitive(pattern)));
    }

    let (mut approval, mut says, mut cause) = zone_approval(grant, action.tool, mount, access);
    let mut reason = None;
    let mut cleared = Guard::Allow;
    if changes {
        let reach = if action.verb == Verb::Move { Reach::Tree } else { Reach::File };
        if let Some(entry) = grant.guards().find(&path, reach) {
            let line = format!("guard \"{}\"", entry.pattern);
            if entry.guard.value == Guard::Block {
                let denial = Denial::Guarded { verb, path: given(), why: entry.why.clone() };
                let cause = Cause::Guard(entry.changeable().to_owned());
                return Err(refuse(denial, entry.guard.at.clone(), format!("{line}: deny"), cause));
            }
            cleared = Guard::Ask;
            reason = Some(format!("the file {}", entry.why));
            if approval.value < Approval::Ask {
                approval = Ruled::new(Approval::Ask, entry.guard.at.clone());
                says = format!("{line}: ask");
                cause = Cause::Guard(entry.changeable().to_owned());
            }
        }
    }
    if approval.value == Approval::Blocked {
        let left = [
            ("read", &zone.approval.read),
            ("write", &zone.approval.write),
            ("delete", &zone.approval.delete),
        ];
        let allowed = left
            .into_iter()
            .filter(|(_, a)| a.value != Approval::Blocked)
            .map(|(name, _)| name.to_owned())
            .collect();
        let dir = mount.path().to_string();
        let denial = Denial::Blocked { verb, path: given(), dir, allowed };
        return Err(refuse(denial, approval.at, says, cause));
    }
    let place = Place {
        mount: index,
        path,
        suffixes: zone.suffixes.as_ref().map(|s| s.value.clone().into()),
        max_file_bytes: zone.max_file_bytes.as_ref().map(|limit| limit.value),
        guards: changes.then(|| Arc::clone(grant.guards())),
        cleared,
        shown: None,
    };
    Ok(Finding { place, approval, says, cause, reason })
}

/// Returns what a mount's and a tool's rules come to for one kind of access.
///
/// A rule that somebody wrote for the zone and one for the tool both count: the
/// stricter holds. A zone that is silent leaves it to the tool's rule.
fn zone_approval(
    grant: &Grant,
    tool: &str,
    mount: &Mount,
    access: Access,
) -> (Ruled<Approval>, String, Cause) {
    let approvals = &mount.zone.approval;
    let zone = match access {
        Access::Read => &approvals.read,
        Access::Write => &approvals.write,
        Access::Delete => &approvals.delete,
    };
    let says = |approval: &Ruled<Approval>| {
        let word = match approval.value {
            Approval::PreApproved => "preApproved",
            Approval::Ask => "ask",
            Approval::Blocked => "blocked",
        };
        ["zones.", &mount.zone.name, ".approval.", access.as_str(), ": ", word].concat()
    };
    match grant.tool_rule(tool) {
        Some(rule) if rule.value > zone.value || !zone.is_written() => {
            let required = rule.value == Approval::Ask;
            let says = format!("tool_rules.{tool}.approval_required: {required}");
            (rule.clone(), grant.marked(&rule.at, says), Cause::ToolRule)
        }
        _ => {
            let cause = Cause::Approval(mount.zone.name.clone(), access);
            (zone.clone(), grant.marked(&zone.at, says(zone)), cause)
        }
    }
}

/// Turns findings into a verdict: the strictest decides.
fn conclude(grant: &Grant, action: &Action, findings: Vec<Finding>) -> Judgement {
    let consent = grant.consent();
    let mut strictest: Option<(Ruled<Approval>, String, Cause)> = None;
    let mut reasons = Vec::new();
    let mut places = Vec::with_capacity(findings.len());
    for finding in findings {
        if let Some(reason) = finding.reason {
            reasons.push(reason);
        }
        if strictest.as_ref().is_none_or(|(held, ..)| finding.approval.value > held.value) {
            strictest = Some((finding.approval, finding.says, finding.cause));
        }
        places.push(finding.place);
    }
    let (mut approval, mut says, mut cause) = strictest.unwrap_or((
        Ruled::default_of(Approval::PreApproved),
        "the root lists what is granted".to_owned(),
        Cause::Nothing,
    ));
    if consent.value == Consent::Manual
        && action.verb.changes()
        && approval.value == Approval::PreApproved
    {
        approval = Ruled::new(Approval::Ask, consent.at.clone());
        says = grant.marked(&consent.at, "approval.mode: manual".to_owned());
        cause = Cause::Consent;
    }
    let permit = Permit { places };
    let rule = Rule { at: approval.at, says, cause };
    let by_mode = |says: &str| Rule {
        at: consent.at.clone(),
        says: grant.marked(&consent.at, says.to_owned()),
        cause: Cause::Consent,
    };
    match (approval.value, consent.value) {
        (Approval::PreApproved, _) => Judgement { verdict: Verdict::Allow(permit), rule },
        (_, Consent::Auto) => {
            Judgement { verdict: Verdict::Allow(permit), rule: by_mode("approval.mode: auto") }
        }
        (_, Consent::Strict) => {
            let denial = Denial::Unasked {
                verb: action.verb.phrase(),
                path: action.target.given.clone(),
                reason: "questions are turned off".to_owned(),
            };
            Judgement { verdict: Verdict::Deny(denial), rule: by_mode("approval.mode: strict") }
        }
        _ => {
            reasons.insert(0, rule.says.clone());
            Judgement {
                verdict: Verdict::Ask(Question { action: action.clone(), permit, reasons }),
                rule,
            }
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
