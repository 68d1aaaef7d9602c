//! The narrowest rule that would let a command run without a question.

use super::args::Args;
use super::decide::{Decided, Decision, decide};
use super::known::hazards::{self, Hazard};
use super::known::options::{self, OVERBROAD};
use super::known::{base_name, is_system, lists, without_version, wrappers};
use super::line::Word;
use super::pattern::Pattern;
use crate::grant::Grant;
use crate::hosts::HostPattern;
use crate::path::AgentPath;
use crate::policy::{Network, Policy, ShellRule};
use crate::source::{At, Ruled};
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

/// Programs, their subcommands that say nothing without more words, and how many
/// more it takes: `npm run` is every script there is, `npm run build` is one. An
/// empty list is every subcommand.
const NAMED_BY_MORE: &[(&str, &str, usize)] = &[
    ("npm pnpm yarn", "run run-script rum urn", 1),
    ("yarn", "workspace", 2),
    ("yarn", "workspaces", 1),
    ("turbo nx lerna moon lage", "run run-many exec", 1),
    ("cargo", "nextest xtask make hack miri llvm-cov", 1),
    ("swift", "package run", 1),
    ("cabal stack", "run exec", 1),
    ("zig", "build run", 1),
    ("mix", "run do cmd", 1),
    ("dart flutter", "run pub", 1),
    ("dotnet", "tool", 2),
    ("dotnet", "nuget", 1),
    ("git", "stash remote reflog lfs flow bundle", 1),
    ("jj", "git bookmark branch operation op workspace", 1),
    ("brew", "services bundle", 1),
    ("gh glab aws gcloud az", "", 1),
];

/// Returns how many words name what a program is told to do.
fn named_by(name: &str, sub: &str) -> usize {
    let names = |(programs, subs, _): &&(&str, &str, usize)| {
        lists(programs, name) && (subs.is_empty() || lists(subs, sub))
    };
    1 + NAMED_BY_MORE.iter().find(names).map_or(0, |(.., more)| *more)
}

/// Returns the narrowest pattern for a command that was asked about.
///
/// There is none for what is blocked, not known or dangerous, and none that
/// would open more than the program, where it works, and what it is told to do.
pub fn suggest(decided: &Decided) -> Option<String> {
    let clear = decided.approval == Approval::Ask
        && decided.hazards.iter().all(|hazard| hazard.moves)
        && decided.unknown.is_none()
        && !decided.must_ask
        && !decided.contained
        && decided.leaves.is_empty()
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
    // A pattern does not say which directory an earlier command of the line left.
    let relative = !is_system(program) && !program.starts_with('/');
    if decided.moved && (relative || hazards::depends_on_directory(name)) {
        return None;
    }
    let shown = if is_system(program) { name } else { program };
    let mut pattern = vec![quoted(shown)];
    if options.subcommands {
        // The options of the program itself come before what it is told to do.
        let args = Args::read(decided.command.words.get(1..)?, options);
        for hazard in &decided.hazards {
            pattern.extend(place(&args, hazard)?);
        }
        let operand = |at: usize| {
            let operand = args.operands.get(at).filter(|operand| operand.after.is_none())?;
            operand.word.known()
        };
        for at in 0..named_by(name, operand(0)?) {
            pattern.push(quoted(operand(at)?));
        }
    } else if !decided.hazards.is_empty() {
        return None;
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

/// Returns an option that has a program work elsewhere, with the place; `None`
/// where it is not clear which word that is.
fn place(args: &Args<'_>, hazard: &Hazard) -> Option<Vec<String>> {
    let mut held = args.flags.iter().filter(|flag| flag.name == hazard.what);
    let flag = held.next().filter(|_| held.next().is_none())?;
    let value = flag.value.as_ref()?.known()?;
    Some(match flag.name.starts_with("--") {
        true => vec![quoted(&format!("{}={value}", flag.name))],
        false => vec![quoted(&flag.name), quoted(value)],
    })
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
    let rule = part.rule.filter(|(layer, _)| *layer == 0).map(|(_, index)| index);
    // What the rule gives that decides now, it gives without a question then.
    let grants = rule.and_then(|index| Some(policy.shell.rules.get(index)?.grants.clone()));
    let grants = grants.unwrap_or_default();
    let (given, reaches) = match written(&grants) {
        None => (String::new(), String::new()),
        Some(network) => {
            let hosts = grants.shown().join(", ");
            (format!(", grants: {{ network: {network} }}"), format!(", and reaches {hosts}"))
        }
    };
    let place = rule.unwrap_or(policy.shell.rules.len());
    let rule = ShellRule {
        pattern: Pattern::parse(&text).ok()?,
        sandbox_paths: Vec::new(),
        paths: Vec::new(),
        approval: Approval::PreApproved,
        grants,
        at: At::flag("a proposal"),
    };
    policy.shell.rules.insert(place, rule);
    let yaml = text.replace('\\', "\\\\").replace('"', "\\\"");
    Some(Insert {
        rule: format!("{{ pattern: \"{yaml}\", approval: preApproved{given} }}"),
        before: part.at.clone(),
        opens: format!(
            "every command that starts with {text} runs without a question{reaches}, unless it does more than that says"
        ),
    })
}

/// Returns a network as a project file writes it; `None` where it is none.
fn written(network: &Network) -> Option<String> {
    let hosts = match network {
        Network::Off => return None,
        Network::On => return Some("true".to_owned()),
        Network::Hosts(hosts) => hosts,
    };
    let list = |names: Vec<String>| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let names = |hosts: &[Ruled<HostPattern>]| hosts.iter().map(|h| h.value.to_string()).collect();
    // Hosts that are asked about are among the allowed ones.
    let asked: Vec<String> = names(&hosts.ask);
    let mut allowed: Vec<String> = names(&hosts.allow);
    allowed.retain(|name| !asked.contains(name));
    if asked.is_empty() && hosts.deny.is_empty() && hosts.presets.is_empty() {
        return Some(list(allowed));
    }
    let presets = hosts.presets.iter().map(|preset| preset.value.clone()).collect();
    let keys =
        [("allow", allowed), ("ask", asked), ("deny", names(&hosts.deny)), ("presets", presets)];
    let keys: Vec<String> = keys
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(key, names)| format!("{key}: {}", list(names)))
        .collect();
    Some(format!("{{ {} }}", keys.join(", ")))
}

/// Writes a word so that a pattern, or a shell, reads it as it is.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
