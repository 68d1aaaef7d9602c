//! What the rules say about a whole line.
//!
//! Every layer of a grant decides every command of the line by itself, and the
//! strictest answer holds. Nothing here knows whether anybody can be asked; that
//! is for [`judge_command`](super::judge_command).

use super::facts::Facts;
use super::known::hazards::{self, Hazard};
use super::known::wrappers::{self, MAX_COMMANDS, MAX_DEPTH};
use super::known::{base_name, options, presets};
use super::leaving::{self, Leaving};
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
    /// Whether a rule of any layer gives it something.
    pub gives: bool,
    /// Hosts that its rules refuse it or ask about, whatever else it may reach.
    pub bounds: Bounds,
    /// Whether it only hands on another command of the line.
    pub wrapper: bool,
    /// Whether it may start in another directory than the line does.
    pub moved: bool,
    /// Whether `shell.default: contained` decides.
    pub contained: bool,
    /// What its words show that would leave the sandbox, where `contained` or a preset
    /// decides.
    pub leaves: Vec<Leaving>,
    /// Whether it is known to only look: it connects to nothing and runs nothing else.
    pub looks: bool,
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
    /// What the line gets beyond what every command has, where no person says yes to
    /// it: what the rules give to each of its commands that does not only look.
    pub grants: Network,
    /// What it gets where a person says yes to the line as it is. Where `contained`
    /// decides about one of its commands, that is all that the rules give to any of them.
    pub approved_grants: Network,
    /// Whether a command in it runs by `shell.default: contained` alone, so that without
    /// a yes the line gets no secrets.
    pub contained: bool,
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

impl Decision {
    /// Returns the effects that need consent, in words that the agent may read.
    pub fn effects(&self) -> Vec<String> {
        let leaves = self.parts.iter().flat_map(|part| &part.leaves);
        let mut effects: Vec<String> = leaves.map(|leaving| leaving.effect.clone()).collect();
        effects.dedup();
        effects
    }
}

/// Decides a line as bash would run it from `cwd`.
pub fn decide(grant: &Grant, cwd: &AgentPath, line: &str, os_sandbox: bool) -> Decision {
    match parse(line) {
        Ok(line) => decide_line(grant, cwd, &line, os_sandbox),
        Err(unparsed) => decide_unparsed(grant, line, unparsed, os_sandbox),
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
        parts(line).iter().filter_map(|part| decide_part(grant, part, cwd)).collect();
    let mut decision = Decision {
        approval: Approval::PreApproved,
        must_ask: parts.iter().any(|part| part.must_ask),
        unparsed: None,
        grants: Network::Off,
        approved_grants: Network::Off,
        contained: parts.iter().any(|part| part.contained && !part.looks),
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
        None if is_contained(rules) => decision.says = "shell.default: contained".to_owned(),
        // What does nothing needs no yes, and gets none unasked either.
        None => decision.approval = Approval::Ask,
        Some(part) => {
            let (approval, says, at) = (part.approval, part.says.clone(), part.at.clone());
            // What only looks sends nothing, whatever the line may reach.
            let using = real().filter(|part| !(part.looks && part.grants == Network::Off));
            let each = using.map(|part| part.grants.clone());
            let each = each.reduce(|a, b| hosts::meet(&a, &b)).unwrap_or_default();
            let any = match decision.contained {
                true => real().fold(Network::Off, |all, part| hosts::join(&all, &part.grants)),
                false => each.clone(),
            };
            let bounds = real().fold(Bounds::default(), |all, part| all.and(&part.bounds));
            (decision.approval, decision.says, decision.at) = (approval, says, at);
            if approval != Approval::Blocked {
                (decision.bounds, decision.grants, decision.approved_grants) = (bounds, each, any);
            }
        }
    }
    // Otherwise a command that `contained` lets run would use what a rule gives to another.
    // A layer that gives nothing itself changes nothing about that: it asks no less.
    let giving = decision.parts.iter().find(|part| part.gives && !part.wrapper);
    if let Some(part) = giving.filter(|_| decision.contained)
        && decision.approval == Approval::PreApproved
    {
        decision.says = format!("{}, whose network the whole line would have", part.says);
        (decision.approval, decision.at) = (Approval::Ask, part.at.clone());
    }
    confined(decision, os_sandbox)
}

/// Returns the decision as it is where nothing, or not all, holds the command.
fn confined(mut decision: Decision, os_sandbox: bool) -> Decision {
    if !os_sandbox && decision.approval == Approval::PreApproved {
        decision.approval = Approval::Ask;
        decision.degraded = true;
        decision.says = "nothing but the rules would hold the command".to_owned();
        decision.at = At::Default;
    }
    decision
}

/// Returns whether `contained` holds for what no rule speaks of, in every layer.
fn is_contained(rules: &Rules) -> bool {
    let mut says = rules.layers().iter().map(|layer| layer.rest(true, false));
    rules.taint().is_none() && says.all(|say| say.contained)
}

/// Decides a line that nothing is known of.
fn decide_unparsed(grant: &Grant, line: &str, unparsed: Unparsed, os_sandbox: bool) -> Decision {
    let rules = grant.shell();
    let mut says: Vec<Say> = rules.layers().iter().map(|layer| layer.rest(true, false)).collect();
    let contained = says.iter().any(|say| say.contained);
    if contained {
        let mut leaves = leaving::of_text(grant, line);
        if rules.asks() || rules.blocks() {
            leaves.insert(0, "a rule may be for a command in it".to_owned().into());
        }
        says.iter_mut().for_each(|say| hold_back(say, &leaves));
    }
    let strictest = strictest(&says);
    let mut decision = Decision {
        approval: strictest.map_or(Approval::Ask, |say| say.approval),
        parts: Vec::new(),
        must_ask: rules.blocks(),
        unparsed: Some(unparsed),
        grants: Network::Off,
        approved_grants: Network::Off,
        contained,
        bounds: Bounds::default(),
        degraded: false,
        says: strictest.map(|say| say.says.clone()).unwrap_or_default(),
        at: strictest.map(|say| say.at.clone()).unwrap_or_default(),
    };
    if let Some(taint) = rules.taint()
        && decision.approval == Approval::PreApproved
    {
        (decision.approval, decision.at) = (Approval::Ask, taint.at.clone());
        decision.says = format!("{}, now ask{TAINTED}", decision.says);
    }
    confined(decision, os_sandbox)
}

/// Has `contained` or a preset ask about a command, for what of it would leave the sandbox.
fn hold_back(say: &mut Say, leaves: &[Leaving]) {
    if let Some(first) = leaves.first().filter(|_| say.in_sandbox) {
        say.approval = say.approval.max(Approval::Ask);
        say.says = format!("{}: {first}", say.says);
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
fn decide_part(grant: &Grant, part: &Part, cwd: &AgentPath) -> Option<Decided> {
    let rules = grant.shell();
    let facts = Facts::of(&part.simple, part.moved, cwd);
    let mut says: Vec<Say> = rules.layers().iter().map(|layer| layer.say(&facts)).collect();
    let leaves = match says.iter().any(|say| say.in_sandbox) {
        true => leaving::of(grant, &facts),
        false => Vec::new(),
    };
    for (say, layer) in says.iter_mut().zip(rules.layers()) {
        // Where a preset does not cover a command, the default decides about it.
        if say.in_sandbox && !say.contained && !leaves.is_empty() {
            let rest = layer.default_say(&facts, say.must_ask);
            if rest.approval != Approval::Ask {
                *say = rest;
            }
        }
        hold_back(say, &leaves);
    }
    let contained = says.iter().any(|say| say.contained);
    let must_ask = says.iter().any(|say| say.must_ask)
        || rules.blocks() && (hazards::hides(&facts) || hands_on(rules, part, &facts, cwd));
    // What a layer blocks by a rule is blocked, whatever another layer's default is.
    let blocks = |say: &&Say| say.approval == Approval::Blocked && say.rule.is_some();
    let blocking = says.iter().find(blocks);
    let deciding = blocking.or_else(|| strictest(&says))?;
    let wrapper = part.wrapper && blocking.is_none() && leaves.is_empty();
    if wrapper && !must_ask {
        return None;
    }
    let layer = says.iter().position(|say| std::ptr::eq(say, deciding)).unwrap_or_default();
    let gives = says.iter().any(|say| say.grants != Network::Off);
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
        contained,
        leaves,
        looks: presets::only_looks(&facts),
        hazards: facts.hazards,
        must_ask,
        grants,
        gives,
        bounds,
        wrapper,
        moved: part.moved,
        command: part.simple.clone(),
    })
}
