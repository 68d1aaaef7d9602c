//! What other rules would have said about all that happened.
//!
//! Each record of the audit log is judged again under another project file, from
//! what the record holds. Nothing is done, nobody is asked and nothing is written
//! down. What somebody answered is no part of a verdict: a question stays a
//! question, whoever said no to it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use serde::Serialize;
use zonekeep_policy::config::Severity;
use zonekeep_policy::tool_name::FILE_TOOLS;
use zonekeep_policy::worker_file::{self, WorkerFile};
use zonekeep_policy::{
    Action, AgentPath, Denial, Grant, Policy, Rule, Target, Verb, Verdict, judge, shell,
};

use crate::audit::{self, Record, RuleRecord};
use crate::command::Confinement;
use crate::command::shell::{blocks, judge_line, mode_rule, verdict_word};
use crate::explain::{flat, ruled};
use crate::perform::rule_record;
use crate::project::{self, Project};

/// What is held by those whose records are judged again.
#[derive(Debug, Clone)]
pub struct Grants {
    project: Grant,
    /// By name; why not, for those that cannot have what they ask for.
    workers: BTreeMap<String, Result<Grant, String>>,
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictShown {
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// The code of the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What decided.
    pub rule: Option<RuleRecord<'static>>,
}

/// A record that was judged again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rejudged {
    /// The record's id.
    pub id: String,
    /// When it was judged first.
    pub time: String,
    /// The worker; none for the project itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The tool that was called.
    pub tool: String,
    /// What was to be done.
    pub action: String,
    /// The path, or the command line.
    pub about: String,
    /// The second path of a move or copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The verdict in the record.
    pub old: VerdictShown,
    /// The verdict now.
    pub new: VerdictShown,
}

impl Rejudged {
    /// Returns whether the verdict is another one.
    pub fn changed(&self) -> bool {
        self.old.verdict != self.new.verdict
    }
}

/// How many verdicts would be others, by what they would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Changed {
    /// What would be allowed and was not.
    pub allow: u64,
    /// What would be asked about and was not.
    pub ask: u64,
    /// What would be denied and was not.
    pub deny: u64,
}

impl Changed {
    /// Returns how many there are.
    pub fn total(self) -> u64 {
        self.allow + self.ask + self.deny
    }
}

/// What came of judging a log again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// How many records were judged.
    pub judged: u64,
    /// How many verdicts would be others.
    pub changed: Changed,
    /// How many records could not be judged, by why.
    pub not_judged: BTreeMap<String, u64>,
    /// How many lines of the log are not records.
    pub bad_lines: usize,
}

/// Judges every record of a log again, and hands over each with what came of it;
/// the text says why one could not be judged.
pub fn replay(
    grants: &Grants,
    log: impl io::Read,
    mut take: impl FnMut(&Record<'_>, Result<Rejudged, String>),
) -> io::Result<Summary> {
    let mut summary = Summary::default();
    summary.bad_lines = audit::each(log, |record| {
        let again = grants.judge_again(&record);
        match &again {
            Ok(again) => {
                summary.judged += 1;
                match again.new.verdict.as_str() {
                    _ if !again.changed() => {}
                    "allow" => summary.changed.allow += 1,
                    "ask" => summary.changed.ask += 1,
                    _ => summary.changed.deny += 1,
                }
            }
            Err(why) => *summary.not_judged.entry(why.clone()).or_default() += 1,
        }
        take(&record, again);
    })?;
    Ok(summary)
}

impl Grants {
    /// Returns what a project and its workers hold.
    pub fn new(policy: &Policy, workers: &[WorkerFile]) -> Self {
        let mut grants = Grants { project: Grant::of(policy), workers: BTreeMap::new() };
        for worker in workers {
            let grant = match grants.workers.contains_key(&worker.name) {
                true => Err(format!("more than one worker is called '{}'", worker.name)),
                false => worker_grant(policy, worker),
            };
            grants.workers.insert(worker.name.clone(), grant);
        }
        grants
    }

    /// Returns what a project and the workers in its directory hold.
    ///
    /// A worker file that cannot be read gives no worker.
    pub fn of(project: &Project) -> io::Result<Self> {
        let mut workers = Vec::new();
        for path in project::worker_files(&project.dir)? {
            let shown = path.strip_prefix(&project.dir).unwrap_or(&path).to_string_lossy();
            let text = project::read_text(&path).unwrap_or_default();
            workers.extend(worker_file::parse(&text, &shown).worker);
        }
        Ok(Grants::new(&project.policy, &workers))
    }

    /// Judges what a record tells of; the error says why that cannot be done.
    pub fn judge_again(&self, record: &Record<'_>) -> Result<Rejudged, String> {
        let grant = match &record.worker {
            None => &self.project,
            Some(name) => match self.workers.get(&**name) {
                Some(grant) => grant.as_ref().map_err(Clone::clone)?,
                None => return Err(format!("no worker file is for '{name}'")),
            },
        };
        let new = match (&*record.tool, &*record.action) {
            (_, "call") => return Err("the call itself was wrong".to_owned()),
            _ if record.code.as_deref() == Some("bad_path") => {
                return Err("what was given is not a path".to_owned());
            }
            ("run", "run") => raw_run(grant, record)?,
            ("shell", "run") => shell_line(grant, record)?,
            _ => file_action(grant, record)?,
        };
        let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
        Ok(Rejudged {
            id: record.id.to_string(),
            time: record.time.to_string(),
            worker: text(&record.worker),
            tool: record.tool.to_string(),
            action: record.action.to_string(),
            about: record.about().to_owned(),
            to: text(&record.to),
            old: VerdictShown {
                verdict: record.verdict.to_string(),
                code: text(&record.code).filter(|_| record.verdict == "deny"),
                rule: record.rule.clone().map(RuleRecord::into_owned),
            },
            new,
        })
    }
}

/// Returns what a worker holds that the project itself calls.
fn worker_grant(policy: &Policy, worker: &WorkerFile) -> Result<Grant, String> {
    let name = &worker.name;
    let mut policy = policy.clone();
    policy.zones.extend(worker_file::inline_zones(worker, &policy));
    let grant = Grant::of(&policy)
        .narrow(&worker.needs)
        .map_err(|error| format!("the worker '{name}' cannot be granted: {error}"))?;
    let problems = worker_file::check(worker, &policy);
    match problems.iter().find(|problem| problem.severity == Severity::Error) {
        Some(problem) => Err(format!("the worker '{name}' cannot be used: {}", problem.message)),
        None => Ok(grant),
    }
}

/// Judges what a file tool was to do.
fn file_action(grant: &Grant, record: &Record<'_>) -> Result<VerdictShown, String> {
    let tool = FILE_TOOLS.iter().find(|tool| **tool == record.tool);
    let (Some(tool), Some(verb)) = (tool, Verb::parse(&record.action)) else {
        return Err(format!("'{} {}' is not known", record.tool, record.action));
    };
    if record.code.as_deref() == Some("too_large") && record.verdict == "deny" {
        return Err("the size of what was refused is not in the record".to_owned());
    }
    // What was allowed there was there.
    let has_tmp = record.verdict != "deny";
    let target = |path: &str| {
        let target = Target::parse(path, grant.view());
        let target = target.map(|target| target.with_tmp(has_tmp));
        target.map_err(|_| "the record's path cannot be read".to_owned())
    };
    let mut action = Action::new(tool, verb, target(&record.path)?);
    action.to = record.to.as_deref().map(target).transpose()?;
    if verb == Verb::Write {
        action.bytes = record.bytes;
    }
    let judgement = judge(grant, &action);
    Ok(match judgement.verdict {
        Verdict::Allow(_) => verdict("allow", None, Some(&judgement.rule)),
        Verdict::Ask(_) => verdict("ask", None, Some(&judgement.rule)),
        Verdict::Deny(denial) => verdict("deny", Some(&denial), Some(&judgement.rule)),
    })
}

/// Judges a command of the user's, which rules can only block.
fn raw_run(grant: &Grant, record: &Record<'_>) -> Result<VerdictShown, String> {
    let words = record.run.as_ref().and_then(|run| shell::split(&run.command).ok());
    let words = words.ok_or("the words of the command cannot be read from the record")?;
    Ok(match blocks(grant, words) {
        Some((denial, rule)) => verdict("deny", Some(&denial), Some(&rule)),
        None => {
            let rule = RuleRecord { file: None, line: None, says: "no rule blocks it".into() };
            VerdictShown { rule: Some(rule), ..verdict("allow", None, None) }
        }
    })
}

/// Judges a command line of an agent's, as the operating system would have
/// confined it then.
fn shell_line(grant: &Grant, record: &Record<'_>) -> Result<VerdictShown, String> {
    let Some(run) = &record.run else {
        return Err("the command line is not in the record".to_owned());
    };
    let presumed = Confinement::presumed(grant.backend().value);
    let (cwd, confinement) = match &run.judged {
        Some(judged) => (judged.cwd.as_str(), Confinement::recorded(judged).min(presumed)),
        // What was not fit to be judged may be so now.
        None if record.verdict == "deny" => (&*record.path, presumed),
        None => return Err("the command line was never judged".to_owned()),
    };
    let cwd = AgentPath::absolute(cwd).map_err(|_| "the record's path cannot be read")?;
    Ok(match judge_line(grant, &run.command, &cwd, confinement) {
        Ok(judging) => {
            let judgement = judging.judgement;
            let word = verdict_word(&judgement.verdict);
            let denial = match &judgement.verdict {
                shell::CommandVerdict::Deny(denial) => Some(denial),
                _ => None,
            };
            verdict(word, denial, Some(&judgement.rule))
        }
        Err(denial) => VerdictShown {
            rule: Some(mode_rule(grant, confinement)),
            ..verdict("deny", Some(&denial), None)
        },
    })
}

fn verdict(word: &str, denial: Option<&Denial>, rule: Option<&Rule>) -> VerdictShown {
    VerdictShown {
        verdict: word.to_owned(),
        code: denial.map(|denial| denial.code().to_owned()),
        rule: rule.map(|rule| rule_record(rule).into_owned()),
    }
}

impl fmt::Display for Rejudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rejudged { id, old, new, action, about, .. } = self;
        let worker = self.worker.as_ref().map(|name| format!(" [{name}]")).unwrap_or_default();
        let verdicts = match self.changed() {
            true => format!("{} → {}", old.verdict, new.verdict),
            false => old.verdict.clone(),
        };
        let to = self.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        let code = new.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        write!(f, "{id}{worker}  {verdicts:<12} {action} {}{to}{code}", flat(about))?;
        match &new.rule {
            Some(rule) => write!(f, "  {}", ruled(rule)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changed { allow, ask, deny } = self.changed;
        match self.changed.total() {
            0 => write!(f, "no verdict of {} would change", self.judged)?,
            total => write!(
                f,
                "{total} of {} verdict(s) would change: {allow} now allowed, {ask} now asked \
                 about, {deny} now denied",
                self.judged
            )?,
        }
        for (why, records) in &self.not_judged {
            write!(f, "\n{records} not judged: {why}")?;
        }
        Ok(())
    }
}
