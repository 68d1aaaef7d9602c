//! What the rules say about a whole line.
//!
//! Every layer of a grant decides every command of the line by itself, and the
//! strictest answer holds. Nothing here knows whether anybody can be asked; that
//! is for [`judge_command`](super::judge_command).

use super::facts::Facts;
use super::known::hazards::{self, Hazard};
use super::known::wrappers::{self, MAX_COMMANDS, MAX_DEPTH};
use super::known::{base_name, options, presets};
use super::line::{Line, Simple, Unparsed, Within, Word};
use super::parse::parse;
use super::rule::{Rules, Say};
use crate::grant::Grant;
use crate::hosts::{self, Bounds};
use crate::path::AgentPath;
use crate::policy::Network;
use crate::source::At;
use crate::taint::TAINTED;
use crate::zone::Approval;

/// What the rules say about one command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The command.
    pub command: Simple,
    /// The strictest answer of the layers.
    pub approval: Approval,
    /// The layer that gave it, and the number of the rule there.
    pub rule: Option<(usize, usize)>,
    /// What that rule says.
    pub says: String,
    /// Where it is written.
    pub at: At,
    /// What the command does beyond what its name says.
    pub hazards: Vec<Hazard>,
    /// What cannot be known of it, in words.
    pub unknown: Option<String>,
    /// Whether a rule that blocks might be for it, so that nobody but a person
    /// can say yes.
    pub must_ask: bool,
    /// What its rules give it beyond what every command has.
    pub grants: Network,
    /// Hosts that its rules refuse it or ask about, whatever else it may reach.
    pub bounds: Bounds,
    /// Whether it only hands on another command of the line.
    pub wrapper: bool,
    /// Whether it may start in another directory than the line does.
    pub moved: bool,
}

/// What the rules say about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The strictest answer for its commands.
    pub approval: Approval,
    /// The commands, in the order written; those in wrappers after them.
    pub parts: Vec<Decided>,
    /// Whether only a person can say yes.
    pub must_ask: bool,
    /// Why the line cannot be taken apart.
    pub unparsed: Option<Unparsed>,
    /// What the line gets beyond what every command has: what the rules of each
    /// of its commands give.
    pub grants: Network,
    /// Hosts that a rule of any of its commands refuses or asks about, whatever
    /// else it may reach.
    pub bounds: Bounds,
    /// Whether it would run without a question if an OS sandbox held it.
    pub degraded: bool,
    /// What decided.
    pub says: String,
    /// Where that is written.
    pub at: At,
}

/// Decides a line as bash would run it from `cwd`.
pub fn decide(grant: &Grant, cwd: &AgentPath, line: &str, os_sandbox: bool) -> Decision {
    match parse(line) {
        Ok(line) => decide_line(grant, cwd, &line, os_sandbox),
        Err(unparsed) => decide_unparsed(grant, unparsed),
    }
}

/// Decides words that run without a shell.
pub fn decide_argv(grant: &Grant, cwd: &AgentPath, words: &[String], os_sandbox: bool) -> Decision {
    decide_line(grant, cwd, &Line { commands: vec![of_words(words)] }, os_sandbox)
}

fn of_words(words: &[String]) -> Simple {
    Simple {
        words: words.iter().cloned().map(Word::Known).collect(),
        assignments: Vec::new(),
        redirects: Vec::new(),
        text: words.join(" "),
        within: Vec::new(),
        redefined: false,
    }
}

/// Returns what the rule says, and where it is written, that blocks words which
/// somebody else than an agent wants to run.
pub fn blocked_argv(grant: &Grant, cwd: &AgentPath, words: &[String]) -> Option<(String, At)> {
    // What is known about programs is read for nothing where nothing is blocked.
    if !grant.shell().layers().iter().any(|layer| layer.blocks()) {
        return None;
    }
    parts(&Line { commands: vec![of_words(words)] }).iter().find_map(|part| {
        let facts = Facts::of(&part.simple, part.moved, cwd);
        let rule = grant.shell().layers().iter().find_map(|layer| layer.blocking(&facts))?;
        Some((rule.says(), rule.at.clone()))
    })
}

/// Decides a line that is taken apart.
pub fn decide_line(grant: &Grant, cwd: &AgentPath, line: &Line, os_sandbox: bool) -> Decision {
    let rules = grant.shell();
    let parts: Vec<Decided> =
        parts(line).iter().filter_map(|part| decide_part(rules, part, cwd)).collect();
    let mut decision = Decision {
        approval: Approval::PreApproved,
        must_ask: parts.iter().any(|part| part.must_ask),
        unparsed: None,
        grants: Network::Off,
        bounds: Bounds::default(),
        degraded: false,
        says: "the line has no command".to_owned(),
        at: At::Default,
        parts,
    };
    let real = || decision.parts.iter().filter(|part| !part.wrapper);
    let strictest =
        decision.parts.iter().reduce(|a, b| if b.approval > a.approval { b } else { a });
    match strictest {
        // What does nothing needs no yes, and gets none unasked either.
        None => decision.approval = Approval::Ask,
        Some(part) => {
            let grants = real().map(|part| part.grants.clone());
            let grants = grants.reduce(|a, b| hosts::meet(&a, &b)).unwrap_or_default();
            let (approval, says, at) = (part.approval, part.says.clone(), part.at.clone());
            (decision.approval, decision.says, decision.at) = (approval, says, at);
            if approval != Approval::Blocked {
                decision.bounds = real().fold(Bounds::default(), |all, part| all.and(&part.bounds));
                decision.grants = grants;
            }
        }
    }
    if !os_sandbox && decision.approval == Approval::PreApproved {
        decision.approval = Approval::Ask;
        decision.degraded = true;
        decision.says = "nothing but the rules would hold the command".to_owned();
        decision.at = At::Default;
    }
    decision
}

/// Decides a line that nothing is known of.
fn decide_unparsed(grant: &Grant, unparsed: Unparsed) -> Decision {
    let rules = grant.shell();
    let says: Vec<Say> = rules.layers().iter().map(|layer| layer.rest(true, false)).collect();
    let strictest = strictest(&says);
    Decision {
        approval: strictest.map_or(Approval::Ask, |say| say.approval),
        parts: Vec::new(),
        must_ask: rules.blocks(),
        unparsed: Some(unparsed),
        grants: Network::Off,
        bounds: Bounds::default(),
        degraded: false,
        says: strictest.map(|say| say.says.clone()).unwrap_or_default(),
        at: strictest.map(|say| say.at.clone()).unwrap_or_default(),
    }
}

/// Returns the first of the strictest answers.
fn strictest(says: &[Say]) -> Option<&Say> {
    says.iter().reduce(|a, b| if b.approval > a.approval { b } else { a })
}

/// A command that is to be decided.
#[derive(Debug)]
struct Part {
    simple: Simple,
    moved: bool,
    /// Whether only rules that block it matter.
    wrapper: bool,
}

/// Returns every command of a line, those in wrappers too.
fn parts(line: &Line) -> Vec<Part> {
    let mut parts = Vec::new();
    for (simple, moved) in line.commands.iter().zip(moved_by(line.commands.iter())) {
        unwrap(simple.clone(), moved, false, 0, &mut parts);
    }
    if parts.len() > MAX_COMMANDS {
        let part =
            |raw| Part { simple: wrappers::unknown_command(raw), moved: true, wrapper: false };
        parts.push(part("more commands than can be looked at"));
    }
    parts
}

/// Returns the one command that a line comes to, once wrappers that change
/// nothing are taken off.
pub(crate) fn single(line: &Line) -> Option<Simple> {
    let mut real = parts(line).into_iter().filter(|part| !part.wrapper);
    let first = real.next()?;
    real.next().is_none().then_some(first.simple)
}

/// Returns for each command whether relative paths may mean something else for it
/// than where the line starts.
fn moved_by<'s>(commands: impl Iterator<Item = &'s Simple> + Clone) -> Vec<bool> {
    let first = commands.clone().position(moves);
    let again = |within: &Within| matches!(within, Within::Compound | Within::Function);
    commands
        .enumerate()
        .map(|(index, simple)| match simple.within.iter().any(again) {
            // What stands in a loop or a function may run after what follows it.
            true => first.is_some(),
            false => first.is_some_and(|first| first < index),
        })
        .collect()
}

/// Returns whether relative paths may mean something else after a command.
fn moves(simple: &Simple) -> bool {
    const MOVERS: &[&str] = &["cd", "pushd", "popd", "eval", "source", ".", "builtin", "command"];
    match simple.words.first() {
        None => false,
        Some(word) => word.known().is_none_or(|name| MOVERS.contains(&name)) || simple.redefined,
    }
}

/// Adds a command and what it wraps; `named` is whether only rules that block it
/// matter, because a rule for what wraps it speaks of it too.
fn unwrap(simple: Simple, moved: bool, named: bool, depth: usize, parts: &mut Vec<Part>) {
    if parts.len() > MAX_COMMANDS {
        return;
    }
    if depth > MAX_DEPTH {
        let simple = wrappers::unknown_command(&simple.text);
        parts.push(Part { simple, moved: true, wrapper: false });
        return;
    }
    match wrappers::unwrap(&simple) {
        None => parts.push(Part { simple, moved, wrapper: named }),
        Some(unwrapped) => {
            parts.push(Part { simple, moved, wrapper: named || unwrapped.transparent });
            // What a text for another shell does before, as on a line.
            let moved_by: Vec<bool> = moved_by(unwrapped.inner.iter().map(|(inner, _)| inner));
            for ((inner, away), before) in unwrapped.inner.into_iter().zip(moved_by) {
                let moved = moved || away || before;
                unwrap(inner, moved, named || unwrapped.named, depth + 1, parts);
            }
        }
    }
}

/// The most words before a command that a program of which nothing is known may
/// hand on.
const MAX_BEFORE: usize = 6;

/// Returns whether a program of which nothing is known has a command among its
/// words that a rule blocks, and so may run it.
fn hands_on(rules: &Rules, part: &Part, facts: &Facts<'_>, cwd: &AgentPath) -> bool {
    if presets::knows(facts.name) || options::is_known(facts.name) {
        return false;
    }
    let words = &part.simple.words;
    (1..words.len().min(1 + MAX_BEFORE)).any(|at| {
        let name = words[at].known().map(base_name);
        let may = |name| rules.layers().iter().any(|layer| layer.may_block(name));
        if !name.is_some_and(may) {
            return false;
        }
        let simple = Simple { words: words[at..].to_vec(), ..part.simple.clone() };
        let facts = Facts::of(&simple, true, cwd);
        let says = rules.layers().iter().map(|layer| layer.say(&facts));
        let mut says = says.filter(|say| say.approval == Approval::Blocked);
        says.any(|say| say.rule.is_some())
    })
}

/// Decides one command; a wrapper that no rule blocks is no part of the answer.
fn decide_part(rules: &Rules, part: &Part, cwd: &AgentPath) -> Option<Decided> {
    let facts = Facts::of(&part.simple, part.moved, cwd);
    let says: Vec<Say> = rules.layers().iter().map(|layer| layer.say(&facts)).collect();
    let must_ask = says.iter().any(|say| say.must_ask)
        || rules.blocks() && (hazards::hides(&facts) || hands_on(rules, part, &facts, cwd));
    // What a layer blocks by a rule is blocked, whatever another layer's default is.
    let blocks = |say: &&Say| say.approval == Approval::Blocked && say.rule.is_some();
    let blocking = says.iter().find(blocks);
    let deciding = blocking.or_else(|| strictest(&says))?;
    let wrapper = part.wrapper && blocking.is_none();
    if wrapper && !must_ask {
        return None;
    }
    let layer = says.iter().position(|say| std::ptr::eq(say, deciding)).unwrap_or_default();
    let grants = says.iter().map(|say| say.grants.clone());
    let mut grants = grants.reduce(|a, b| hosts::meet(&a, &b)).unwrap_or_default();
    // What one layer refuses stays refused where another gives nothing.
    let bounds = says.iter().fold(Bounds::default(), |all, say| all.and(&Bounds::of(&say.grants)));
    let (mut approval, mut says, mut at) =
        (deciding.approval, deciding.says.clone(), deciding.at.clone());
    if wrapper {
        approval = Approval::PreApproved;
    } else if must_ask {
        approval = approval.max(Approval::Ask);
    }
    if let Some(taint) = rules.taint() {
        if approval == Approval::PreApproved && !wrapper {
            (approval, at) = (Approval::Ask, taint.at.clone());
            says = format!("{says}, now ask{TAINTED}");
        }
        if taint.no_grants {
            grants = Network::Off;
        }
    }
    Some(Decided {
        approval,
        rule: deciding.rule.map(|rule| (layer, rule)),
        says,
        at,
        unknown: facts.unknown.clone(),
        hazards: facts.hazards,
        must_ask,
        grants,
        bounds,
        wrapper,
        moved: part.moved,
        command: part.simple.clone(),
    })
}
