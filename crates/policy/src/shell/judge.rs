//! Whether a command may run: the decision of the rules, and what becomes of
//! questions.

use super::decide::{Decision, decide, decide_argv};
use super::leaving::{Leaving, Remedy};
use super::line::TOO_LONG;
use super::parse::MAX_TEXT;
use crate::denial::Denial;
use crate::grant::Grant;
use crate::judge::{Cause, Rule};
use crate::path::{AgentPath, RelPath};
use crate::policy::{Consent, Network};
use crate::source::At;
use crate::zone::Approval;

/// A command that somebody wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is to run.
    pub text: CommandText,
    /// Where it starts.
    pub cwd: AgentPath,
}

/// What is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandText {
    /// A line for bash.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Request {
    /// Returns a request to run a line in bash.
    pub fn line(line: impl Into<String>, cwd: AgentPath) -> Self {
        Request { text: CommandText::Line(line.into()), cwd }
    }

    /// Returns a request to run words without a shell.
    pub fn words(words: Vec<String>, cwd: AgentPath) -> Self {
        Request { text: CommandText::Words(words), cwd }
    }

    /// Returns the command as it is shown.
    pub fn shown(&self) -> String {
        match &self.text {
            CommandText::Line(line) => line.clone(),
            CommandText::Words(words) => {
                words.iter().map(|word| super::change::quoted(word)).collect::<Vec<_>>().join(" ")
            }
        }
    }

    fn decide(&self, grant: &Grant, os_sandbox: bool) -> Decision {
        match &self.text {
            CommandText::Line(line) => decide(grant, &self.cwd, line, os_sandbox),
            CommandText::Words(words) => decide_argv(grant, &self.cwd, words, os_sandbox),
        }
    }
}

/// The rules' answer.
#[derive(Debug)]
pub enum CommandVerdict {
    /// It may run.
    Allow(CommandPermit),
    /// It may run after a yes.
    Ask(CommandQuestion),
    /// It may not run.
    Deny(Denial),
}

/// A verdict, the rule it rests on, and how the rules came to it.
#[derive(Debug)]
pub struct CommandJudgement {
    /// The answer.
    pub verdict: CommandVerdict,
    /// What decided.
    pub rule: Rule,
    /// What the rules say about each command.
    pub decision: Decision,
}

impl CommandJudgement {
    /// Returns the same for an approver that reads no question.
    #[must_use]
    pub fn unread(self) -> Self {
        let verdict = match self.verdict {
            CommandVerdict::Ask(question) => CommandVerdict::Ask(question.unread()),
            verdict => verdict,
        };
        CommandJudgement { verdict, ..self }
    }
}

/// Proof that a command was judged.
///
/// Only this module makes such permits. What runs is the command inside, in the
/// directory inside, with the network inside.
#[derive(Debug)]
pub struct CommandPermit {
    request: Request,
    network: Network,
    granted: Network,
    secrets: bool,
    guarded: Vec<RelPath>,
}

impl CommandPermit {
    /// Returns the guarded files that somebody has said yes to, as paths below their zones.
    pub fn guarded(&self) -> &[RelPath] {
        &self.guarded
    }

    /// Returns what may run.
    pub fn text(&self) -> &CommandText {
        &self.request.text
    }

    /// Returns where it starts.
    pub fn cwd(&self) -> &AgentPath {
        &self.request.cwd
    }

    /// Returns what it may reach: what every command of the worker may, and what
    /// its rules give it.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns what its rules give it beyond what every command has.
    pub fn granted(&self) -> &Network {
        &self.granted
    }

    /// Returns whether it may use the worker's secrets: not where it runs by
    /// `shell.default: contained` alone.
    pub fn has_secrets(&self) -> bool {
        self.secrets
    }
}

/// A permit that waits for somebody's yes.
#[derive(Debug)]
pub struct CommandQuestion {
    permit: CommandPermit,
    /// The same with what the rules give where no person reads the line.
    unread: Box<CommandPermit>,
    /// What needs consent, in words for the person who is asked.
    pub reasons: Vec<String>,
}

impl CommandQuestion {
    /// Returns what is asked about.
    pub fn request(&self) -> &Request {
        &self.permit.request
    }

    /// Returns what the command would reach.
    pub fn network(&self) -> &Network {
        &self.permit.network
    }

    /// Returns what the command would get beyond what every command has.
    pub fn granted(&self) -> &Network {
        &self.permit.granted
    }

    /// Returns the same question for an approver that reads none: a grant of one command
    /// of the line is not one for the others then.
    #[must_use]
    pub fn unread(mut self) -> Self {
        self.permit.guarded = Vec::new();
        self.permit.network = self.unread.network.clone();
        self.permit.granted = self.unread.granted.clone();
        self
    }

    /// Returns the permit, after a yes.
    pub fn approved(self) -> CommandPermit {
        self.permit
    }
}

/// Answers whether a command may run under `grant`; `os_sandbox` is whether the
/// operating system would hold it to its boundaries.
pub fn judge_command(grant: &Grant, request: &Request, os_sandbox: bool) -> CommandJudgement {
    let decision = request.decide(grant, os_sandbox);
    let consent = grant.consent();
    let shown = request.shown();
    let rule = Rule { at: decision.at.clone(), says: decision.says.clone(), cause: Cause::Command };
    let by_mode = |says: &str| Rule {
        at: consent.at.clone(),
        says: grant.marked(&consent.at, says.to_owned()),
        cause: Cause::Consent,
    };
    if !grant.has_tool("shell") {
        let denial = Denial::NoTool { tool: "shell".to_owned(), available: grant.tools() };
        let blocked = grant.tool_rule("shell").filter(|rule| rule.value == Approval::Blocked);
        let rule = match (blocked, grant.tools_line()) {
            (Some(rule), _) => Rule {
                says: grant.marked(&rule.at, "tool_rules.shell.allowed: false".to_owned()),
                at: rule.at,
                cause: Cause::ToolRule,
            },
            (None, Some(tools)) => {
                Rule { at: tools.at.clone(), says: "tools".to_owned(), cause: Cause::Tools }
            }
            (None, None) => {
                Rule { at: At::Default, says: "no such tool".to_owned(), cause: Cause::Tools }
            }
        };
        return CommandJudgement { verdict: CommandVerdict::Deny(denial), rule, decision };
    }
    if decision.approval != Approval::Blocked
        && let Some(reason) = excess(request, &decision)
    {
        let denial = Denial::CommandUnfit { line: shown, reason };
        return CommandJudgement { verdict: CommandVerdict::Deny(denial), rule, decision };
    }
    let permit = |granted: &Network, secrets| CommandPermit {
        request: request.clone(),
        network: grant.reach(granted, &decision.bounds),
        granted: granted.clone(),
        secrets,
        guarded: Vec::new(),
    };
    // A person says yes to the whole line, with all that it would get.
    let unread = || permit(&decision.grants, !decision.contained);
    let question = |reasons| CommandQuestion {
        permit: CommandPermit {
            guarded: guarded(&decision),
            ..permit(&decision.approved_grants, true)
        },
        unread: Box::new(unread()),
        reasons,
    };
    let unasked = |reason: &str| {
        let (line, reason) = (shown.clone(), reason.to_owned());
        let denial = Denial::CommandUnasked { line, reason, effects: decision.effects() };
        CommandVerdict::Deny(denial)
    };
    let (verdict, rule) = match (decision.approval, consent.value) {
        (Approval::Blocked, _) => {
            let allowed = grant.shell().open();
            let denial = Denial::CommandBlocked { line: shown.clone(), allowed };
            (CommandVerdict::Deny(denial), rule)
        }
        (Approval::PreApproved, Consent::Manual) => {
            let rule = by_mode("approval.mode: manual");
            let reasons = vec![rule.says.clone()];
            (CommandVerdict::Ask(question(reasons)), rule)
        }
        (Approval::PreApproved, _) => (CommandVerdict::Allow(unread()), rule),
        (Approval::Ask, Consent::Strict) => {
            (unasked("questions are turned off"), by_mode("approval.mode: strict"))
        }
        (Approval::Ask, Consent::Auto) if decision.must_ask => {
            let reason = "only the user can tell whether a rule forbids it";
            (unasked(reason), by_mode("approval.mode: auto"))
        }
        (Approval::Ask, Consent::Auto) => {
            (CommandVerdict::Allow(unread()), by_mode("approval.mode: auto"))
        }
        (Approval::Ask, Consent::Tool | Consent::Manual) => {
            (CommandVerdict::Ask(question(reasons(&decision))), rule)
        }
    };
    CommandJudgement { verdict, rule, decision }
}

/// Returns why a command is more than anybody could look at.
fn excess(request: &Request, decision: &Decision) -> Option<String> {
    let long = match &request.text {
        CommandText::Line(line) => line.len() > MAX_TEXT,
        CommandText::Words(words) => words.iter().map(String::len).sum::<usize>() > MAX_TEXT,
    };
    let deep = decision.unparsed.as_ref().filter(|unparsed| unparsed.is_excess());
    let why = if long { Some(TOO_LONG) } else { deep.map(|unparsed| unparsed.why) };
    why.map(|why| format!("{why}; write a script with a file tool, or do it in several steps"))
}

/// Returns the guarded files that the words of a line show, below their zones.
fn guarded(decision: &Decision) -> Vec<RelPath> {
    let leaves = decision.parts.iter().flat_map(|part| &part.leaves);
    let guarded = leaves.filter_map(|leaving| match &leaving.remedy {
        Some(Remedy::Guard(path)) => Some(path.clone()),
        _ => None,
    });
    guarded.collect()
}

/// Returns what a person should know before they say yes.
fn reasons(decision: &Decision) -> Vec<String> {
    let mut reasons = vec![decision.says.clone()];
    let mut add = |reason: String| {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    };
    if let Some(unparsed) = &decision.unparsed {
        add(format!("the line cannot be taken apart: {unparsed}"));
    }
    for part in &decision.parts {
        part.leaves.iter().skip(1).map(Leaving::to_string).for_each(&mut add);
        if part.contained || !part.leaves.is_empty() {
            continue;
        }
        for hazard in &part.hazards {
            add(format!("'{}' {}", hazard.what, hazard.why));
        }
        if let Some(unknown) = &part.unknown {
            add(unknown.clone());
        }
    }
    for part in &decision.parts {
        if part.must_ask {
            add(format!("a rule that blocks may be for '{}'", part.command.text));
        }
    }
    reasons
}
