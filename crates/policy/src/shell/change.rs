//! The narrowest rule that would let a command run without a question.

use super::decide::{Decided, Decision, decide};
use super::known::base_name;
use super::known::is_system;
use super::known::options::{self, OVERBROAD};
use super::known::{lists, without_version, wrappers};
use super::line::Word;
use super::pattern::Pattern;
use crate::grant::Grant;
use crate::path::AgentPath;
use crate::policy::{Network, Policy, ShellRule};
use crate::source::At;
use crate::zone::Approval;

/// A rule to add to a project file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insert {
    /// The item of `shell.rules`, as YAML on one line.
    pub rule: String,
    /// The rule or value that decides now; the new rule goes before it.
    pub before: At,
    /// What else becomes possible.
    pub opens: String,
}

/// The most rules that a proposal has.
const MAX_RULES: usize = 4;

/// Returns the narrowest pattern for a command that was asked about.
///
/// There is none for what is blocked, not known or dangerous, and none that
/// would open more than the program and what it is told to do.
pub fn suggest(decided: &Decided) -> Option<String> {
    let clear = decided.approval == Approval::Ask
        && decided.hazards.is_empty()
        && decided.unknown.is_none()
        && !decided.must_ask
        && !decided.wrapper;
    if !clear {
        return None;
    }
    let words: Option<Vec<&str>> = decided.command.words.iter().map(Word::known).collect();
    let words = words?;
    let (program, rest) = words.split_first()?;
    let name = base_name(program);
    let broad = lists(OVERBROAD, name) || lists(OVERBROAD, without_version(name));
    if broad || wrappers::is_opaque(name) || name.is_empty() {
        return None;
    }
    let options = options::of(name);
    let shown = if is_system(program) { name } else { program };
    let mut pattern = vec![quoted(shown)];
    if options.subcommands {
        // The options of the program itself come before what it is told to do.
        let args = super::args::Args::read(decided.command.words.get(1..)?, options);
        let sub = args.operands.first().filter(|operand| operand.after.is_none())?;
        pattern.push(quoted(sub.word.known()?));
    }
    let mut flags: Vec<&str> = Vec::new();
    for word in rest.iter().take_while(|word| **word != "--") {
        let flag = word.split_once('=').map_or(*word, |(name, _)| name);
        if flag.starts_with('-') && flag.len() > 1 && !flags.contains(&flag) && !options.subcommands
        {
            flags.push(flag);
        }
    }
    pattern.extend(flags.iter().map(|flag| quoted(flag)));
    Some(pattern.join(" "))
}

/// Returns the rules after which a line runs without a question, or `None` when
/// no narrow rule does that.
pub fn smallest(policy: &Policy, cwd: &AgentPath, line: &str) -> Option<Vec<Insert>> {
    let mut trial = policy.clone();
    let mut inserts: Vec<Insert> = Vec::new();
    for _ in 0..=MAX_RULES {
        let decision = decide(&Grant::of(&trial), cwd, line, true);
        if decision.approval == Approval::PreApproved {
            return Some(inserts);
        }
        inserts.push(insert(&mut trial, &decision)?);
    }
    None
}

/// Adds the narrowest rule for the first command of a line that is asked about.
pub fn insert(policy: &mut Policy, decision: &Decision) -> Option<Insert> {
    let part = decision.parts.iter().find(|part| part.approval == Approval::Ask)?;
    let text = suggest(part)?;
    let place = part.rule.map_or(policy.shell.rules.len(), |(_, index)| index);
    let rule = ShellRule {
        pattern: Pattern::parse(&text).ok()?,
        sandbox_paths: Vec::new(),
        paths: Vec::new(),
        approval: Approval::PreApproved,
        grants: Network::Off,
        at: At::flag("a proposal"),
    };
    policy.shell.rules.insert(place, rule);
    let yaml = text.replace('\\', "\\\\").replace('"', "\\\"");
    Some(Insert {
        rule: format!("{{ pattern: \"{yaml}\", approval: preApproved }}"),
        before: part.at.clone(),
        opens: format!(
            "every command that starts with {text} runs without a question, unless it does more than that says"
        ),
    })
}

/// Writes a word so that a pattern, or a shell, reads it as it is.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
