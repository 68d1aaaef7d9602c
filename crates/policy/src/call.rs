//! Whether a worker may call another one.
//!
//! What the called worker gets is another question, for
//! [`Grant::narrow`](crate::Grant::narrow); here it is whether it is called at all.

use crate::denial::Denial;
use crate::grant::Grant;
use crate::judge::{Cause, Rule};
use crate::policy::Consent;
use crate::source::{At, Ruled};
use crate::zone::Approval;

/// The tool that calls workers.
pub const TOOL: &str = "call_worker";

/// The workers that a worker may call (`workers`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Callees {
    /// None.
    #[default]
    None,
    /// Every worker of the project.
    All,
    /// These.
    Named(Vec<Ruled<String>>),
}

impl Callees {
    /// Returns those of `workers` that may be called.
    pub fn among(&self, workers: &[String]) -> Vec<String> {
        let listed = |name: &&String| match self {
            Callees::None => false,
            Callees::All => true,
            Callees::Named(names) => names.iter().any(|listed| listed.value == **name),
        };
        workers.iter().filter(listed).cloned().collect()
    }
}

/// A worker that somebody wants to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRequest<'a> {
    /// Its name, as the agent wrote it.
    pub worker: &'a str,
    /// Whom the caller's file lets it call.
    pub callees: &'a Callees,
    /// The workers that there are.
    pub workers: &'a [String],
    /// The workers that are running, from the first one down to the caller.
    pub chain: &'a [String],
}

/// The rules' answer.
#[derive(Debug)]
pub enum CallVerdict {
    /// It may be called.
    Allow(CallPermit),
    /// It may be called after a yes.
    Ask(CallQuestion),
    /// It may not be called.
    Deny(Denial),
}

/// A verdict and the rule it rests on.
#[derive(Debug)]
pub struct CallJudgement {
    /// The answer.
    pub verdict: CallVerdict,
    /// What decided.
    pub rule: Rule,
}

/// Proof that a call was judged.
///
/// Only this module makes such permits. Who runs is the worker inside, at the end
/// of the chain inside.
#[derive(Debug)]
pub struct CallPermit {
    worker: String,
    chain: Vec<String>,
}

impl CallPermit {
    /// Returns the worker that may be called.
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// Returns the workers that run then, from the first one down to the called one.
    pub fn chain(&self) -> &[String] {
        &self.chain
    }
}

/// A permit that waits for somebody's yes.
#[derive(Debug)]
pub struct CallQuestion {
    permit: CallPermit,
    /// What needs consent, in words for the person who is asked.
    pub reasons: Vec<String>,
}

impl CallQuestion {
    /// Returns the worker that is asked about.
    pub fn worker(&self) -> &str {
        self.permit.worker()
    }

    /// Returns the workers that would run, from the first one down.
    pub fn chain(&self) -> &[String] {
        self.permit.chain()
    }

    /// Returns the permit, after a yes.
    pub fn approved(self) -> CallPermit {
        self.permit
    }
}

/// Answers whether a worker that holds `grant` may call another one.
pub fn judge_call(grant: &Grant, request: CallRequest<'_>) -> CallJudgement {
    let CallRequest { worker, callees, workers, chain } = request;
    let deny = |denial, rule| CallJudgement { verdict: CallVerdict::Deny(denial), rule };
    let by_call = |at: At, says: String| Rule { at, says, cause: Cause::Call };
    let tool_rule = grant.tool_rule(TOOL);
    if !grant.has_tool(TOOL) {
        let denial = Denial::NoTool { tool: TOOL.to_owned(), available: grant.tools() };
        return deny(denial, no_tool(grant));
    }
    let available = callees.among(workers);
    if !available.iter().any(|name| name == worker) {
        let says = match callees {
            Callees::Named(names) if names.iter().any(|name| name.value == worker) => {
                "there is no such worker".to_owned()
            }
            Callees::All => "there is no such worker".to_owned(),
            _ => format!("workers: [{}]", available.join(", ")),
        };
        let at = match callees {
            Callees::Named(names) => names.first().map(|name| name.at.clone()),
            _ => None,
        };
        let denial = Denial::NoWorker { worker: worker.to_owned(), available };
        return deny(denial, by_call(at.unwrap_or_default(), says));
    }
    let path: Vec<String> = chain.iter().cloned().chain([worker.to_owned()]).collect();
    if chain.iter().any(|running| running == worker) {
        let available = available.into_iter().filter(|name| !chain.contains(name)).collect();
        let says = format!("'{worker}' is already running");
        let denial = Denial::Cycle { worker: worker.to_owned(), path, available };
        return deny(denial, by_call(At::Default, says));
    }
    if grant.depth_left() == 0 {
        let Ruled { value: max, at } = grant.max_depth().clone();
        let says = format!("delegation.maxDepth: {max}");
        let denial = Denial::TooDeep { worker: worker.to_owned(), max, path };
        return deny(denial, by_call(at, says));
    }
    let permit = CallPermit { worker: worker.to_owned(), chain: path };
    consent(grant, tool_rule, permit)
}

/// Returns why the tool does not exist.
fn no_tool(grant: &Grant) -> Rule {
    let blocked = grant.tool_rule(TOOL).filter(|rule| rule.value == Approval::Blocked);
    match (blocked, grant.tools_line()) {
        (Some(rule), _) => Rule {
            says: grant.marked(&rule.at, format!("tool_rules.{TOOL}.allowed: false")),
            at: rule.at,
            cause: Cause::ToolRule,
        },
        (None, line) => Rule {
            at: line.map(|tools| tools.at.clone()).unwrap_or_default(),
            says: "tools".to_owned(),
            cause: Cause::Tools,
        },
    }
}

/// Turns the rules' consent into a verdict: a call is a side effect.
fn consent(grant: &Grant, tool_rule: Option<Ruled<Approval>>, permit: CallPermit) -> CallJudgement {
    let consent = grant.consent();
    let by_mode = |says: &str| Rule {
        at: consent.at.clone(),
        says: grant.marked(&consent.at, says.to_owned()),
        cause: Cause::Consent,
    };
    let asks = tool_rule.as_ref().is_some_and(|rule| rule.value == Approval::Ask);
    let rule = match tool_rule {
        Some(rule) => Rule {
            says: grant.marked(&rule.at, format!("tool_rules.{TOOL}.approval_required: {asks}")),
            at: rule.at,
            cause: Cause::ToolRule,
        },
        None => Rule {
            at: At::Default,
            says: "the called worker gets no more than its caller".to_owned(),
            cause: Cause::Nothing,
        },
    };
    let ask = |permit, rule: Rule| {
        let reasons = vec![rule.says.clone()];
        CallJudgement { verdict: CallVerdict::Ask(CallQuestion { permit, reasons }), rule }
    };
    match (asks, consent.value) {
        (false, Consent::Manual) => ask(permit, by_mode("approval.mode: manual")),
        (false, _) => CallJudgement { verdict: CallVerdict::Allow(permit), rule },
        (true, Consent::Auto) => CallJudgement {
            verdict: CallVerdict::Allow(permit),
            rule: by_mode("approval.mode: auto"),
        },
        (true, Consent::Strict) => {
            let reason = "questions are turned off".to_owned();
            let denial = Denial::CallUnasked { worker: permit.worker, reason };
            let rule = by_mode("approval.mode: strict");
            CallJudgement { verdict: CallVerdict::Deny(denial), rule }
        }
        (true, Consent::Tool | Consent::Manual) => ask(permit, rule),
    }
}

#[cfg(test)]
mod tests;
