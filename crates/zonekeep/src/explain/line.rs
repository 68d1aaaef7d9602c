//! Why a command line would run, be asked about or be refused: its parts, the
//! rule for each, and the narrowest rule that would let it run.
//!
//! No sandbox is started for this: how far the operating system would confine the
//! command is taken from the project's `backend`.

use std::fmt;

use serde::Serialize;
use zonekeep_policy::change::{self, Edit, open_to};
use zonekeep_policy::hosts::{Destination, PresetHosts};
use zonekeep_policy::judge::Cause;
use zonekeep_policy::policy::{BackendChoice, Consent};
use zonekeep_policy::shell::change::insert;
use zonekeep_policy::shell::{
    CommandJudgement, CommandVerdict, Decided, Decision, Insert, Remedy, ShellMode, Within, Word,
};
use zonekeep_policy::{AgentPath, Approval, At, Denial, Grant, Policy, Ruled, Target};

use super::{EditShown, by_organisation, flat, ruled, shown_edit, verdict_shown};
use crate::audit::RuleRecord;
use crate::command::shell::{self, Judging};
use crate::command::{Confinement, quoted};
use crate::perform::rule_record;
use crate::sandbox::Sandbox;

/// The most changes that a proposal has.
const MAX_STEPS: usize = 8;

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordShown {
    /// The word: its value where that is known, else as it is written.
    pub text: String,
    /// `known`, `glob` for a pattern that becomes names of files, or `unknown`.
    pub kind: &'static str,
}

/// One command of a line, and what the rules say about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartShown {
    /// The command as written.
    pub text: String,
    /// Its words; none for assignments alone.
    pub words: Vec<WordShown>,
    /// What it stands in, outermost first.
    pub within: Vec<&'static str>,
    /// `preApproved`, `ask` or `blocked`.
    pub approval: String,
    /// The rule.
    pub rule: RuleRecord<'static>,
    /// What of it needs consent, beside the rule.
    pub why: Vec<String>,
    /// The hosts that its rules give it.
    pub grants: Option<String>,
}

/// A rule to add to the project file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleShown {
    /// The file, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line that it goes before or after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// `before` or `after` that line; `in` where there are no rules yet.
    pub place: &'static str,
    /// The item of `shell.rules`, as YAML.
    pub rule: String,
    /// What else it would open.
    pub opens: String,
}

/// The smallest change after which a line runs without a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineChange {
    /// The change in words.
    pub text: String,
    /// The rules to add; all are needed.
    pub rules: Vec<RuleShown>,
    /// The values to write; all are needed.
    pub edits: Vec<EditShown>,
    /// The same as flags, where flags can say it.
    pub flags: Option<String>,
}

/// Why a command line would run, be asked about or be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineExplanation {
    /// `run`.
    pub action: &'static str,
    /// The command line.
    pub command: String,
    /// Where it would start.
    pub cwd: String,
    /// `bash` or `argv`.
    pub mode: &'static str,
    /// Whether it is assumed that the operating system would fully confine it.
    pub os_sandbox: bool,
    #[serde(skip)]
    confinement: Confinement,
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// The code of the refusal.
    pub code: Option<String>,
    /// What the agent would read.
    pub message: Option<String>,
    /// What decided.
    pub rule: RuleRecord<'static>,
    /// Why the line cannot be taken apart.
    pub unparsed: Option<String>,
    /// The commands in it.
    pub parts: Vec<PartShown>,
    /// The hosts that its rules give it beyond what every command has.
    pub grants: Option<String>,
    /// What it could reach.
    pub network: Option<String>,
    /// What would let it run; none when it does, or when nothing narrow would.
    pub change: Option<LineChange>,
    /// The directory as it was given.
    #[serde(skip)]
    given: Option<String>,
}

/// Explains a command line that would start in `cwd`, or in the working
/// directory; runs nothing and records nothing.
pub fn explain_line(sandbox: &Sandbox, line: &str, cwd: Option<&str>) -> LineExplanation {
    let grant = sandbox.grant();
    let confinement = confined(grant);
    let mut explanation = LineExplanation {
        action: "run",
        command: line.to_owned(),
        cwd: cwd.map_or_else(|| grant.view().working_dir().to_string(), str::to_owned),
        mode: shell::mode(grant, confinement).as_str(),
        os_sandbox: confinement.is_full(),
        confinement,
        verdict: "deny",
        code: None,
        message: None,
        rule: RuleRecord { file: None, line: None, says: "".into() },
        unparsed: None,
        parts: Vec::new(),
        grants: None,
        network: None,
        change: None,
        given: cwd.map(str::to_owned),
    };
    let start = match start(sandbox, cwd) {
        Ok(start) => start,
        Err((denial, says)) => {
            explanation.rule.says = says.into();
            explanation.refuse(&denial);
            return explanation;
        }
    };
    explanation.cwd = start.to_string();
    match sandbox.judge_line(line, &start, confinement) {
        Ok(judging) => explanation.fill(judging, grant),
        Err(denial) => {
            explanation.rule = shell::mode_rule(grant, confinement);
            explanation.refuse(&denial);
        }
    }
    if explanation.verdict != "allow" {
        explanation.change = proposal(sandbox, line, &start);
    }
    explanation
}

impl LineExplanation {
    fn refuse(&mut self, denial: &Denial) {
        self.verdict = "deny";
        self.code = Some(denial.code().to_owned());
        self.message = Some(denial.to_string());
    }

    fn fill(&mut self, judging: Judging, grant: &Grant) {
        let granted = shell::granted(&judging.judgement).clone();
        let CommandJudgement { verdict, rule, decision } = judging.judgement;
        self.rule = rule_record(&rule).into_owned();
        self.unparsed = decision.unparsed.as_ref().map(ToString::to_string);
        self.parts = decision.parts.iter().map(part).collect();
        self.grants = shell::hosts(&granted);
        self.network = shell::network_words(&granted, &grant.network().value);
        self.verdict = shell::verdict_word(&verdict);
        if let CommandVerdict::Deny(denial) = verdict {
            self.refuse(&denial);
            self.network = None;
        }
    }
}

/// Returns how far the operating system would confine commands, as far as the
/// rules have a say.
fn confined(grant: &Grant) -> Confinement {
    Confinement::presumed(grant.backend().value)
}

/// Reads where a line would start; a refusal comes with what decided.
fn start(sandbox: &Sandbox, cwd: Option<&str>) -> Result<AgentPath, (Denial, &'static str)> {
    let view = sandbox.grant().view();
    let Some(given) = cwd else { return Ok(view.working_dir().clone()) };
    let path = match Target::parse(given, view) {
        Ok(target) => target.path,
        Err(reason) => {
            let denial =
                Denial::BadPath { path: given.to_owned(), reason, readable: view.readable() };
            return Err((denial, "the text is not a path"));
        }
    };
    // Directories beside the zones are found only when a command is planned.
    let placed = !sandbox.shared().confine.places.is_empty();
    match view.locate(&path).is_some() || placed {
        true => Ok(path),
        false => Err((sandbox.outside(given), "no zone holds the path")),
    }
}

fn part(decided: &Decided) -> PartShown {
    let record = shell::part_record(decided);
    let word = |word: &Word| WordShown {
        text: word.to_string(),
        kind: match word {
            Word::Known(_) => "known",
            Word::Glob { .. } => "glob",
            Word::Unknown { .. } => "unknown",
        },
    };
    let within = |within: &Within| match within {
        Within::Pipeline => "pipeline",
        Within::Background => "background",
        Within::Subshell => "subshell",
        Within::Substitution => "substitution",
        Within::ProcessSubstitution => "process_substitution",
        Within::Function => "function",
        Within::Compound => "compound",
        Within::Wrapper => "wrapper",
    };
    PartShown {
        text: record.text,
        words: decided.command.words.iter().map(word).collect(),
        within: decided.command.within.iter().map(within).collect(),
        approval: record.approval,
        rule: record.rule,
        why: record.why,
        grants: shell::hosts(&decided.grants),
    }
}

/// One change on the way.
enum Step {
    /// Nothing more is needed.
    Allowed,
    Rule(Insert),
    Values(Vec<Edit>),
}

/// Finds the smallest change of the project file by trying: each is made on a copy
/// of the rules, and the line is judged again as it would be here.
fn proposal(sandbox: &Sandbox, line: &str, cwd: &AgentPath) -> Option<LineChange> {
    let policy = &sandbox.shared().policy;
    match steps(policy, line, cwd) {
        Some((rules, edits)) => shown(policy, rules, edits, sandbox.grant().worker()),
        None => {
            let text = by_organisation(policy, |free| steps(free, line, cwd).is_some())?.text;
            Some(LineChange { text, rules: Vec::new(), edits: Vec::new(), flags: None })
        }
    }
}

/// Returns the rules and values after which a line runs without a question.
fn steps(policy: &Policy, line: &str, cwd: &AgentPath) -> Option<(Vec<Insert>, Vec<Edit>)> {
    let mut trial = policy.clone();
    let (mut rules, mut edits) = (Vec::new(), Vec::new());
    let judged = |policy: &Policy| {
        let grant = Grant::of(policy);
        shell::judge_line(&grant, line, cwd, confined(&grant))
    };
    for _ in 0..=MAX_STEPS {
        let now = judged(&trial);
        match step(&mut trial, now)? {
            Step::Allowed => {
                let allows = |policy: &Policy| {
                    let verdict = judged(policy).map(|judging| judging.judgement.verdict);
                    matches!(verdict, Ok(CommandVerdict::Allow(_)))
                };
                return change::can_hold(&trial, allows).then_some((rules, edits));
            }
            Step::Rule(insert) => rules.push(insert),
            Step::Values(values) => values.into_iter().for_each(|edit| add(&mut edits, edit)),
        }
    }
    None
}

/// Adds an edit. One of the same key replaces the first, and opens both.
fn add(edits: &mut Vec<Edit>, edit: Edit) {
    match edits.iter_mut().find(|held| held.key == edit.key) {
        Some(held) => {
            let opens = format!("{}; {}", held.opens, edit.opens);
            *held = Edit { opens, ..edit };
        }
        None => edits.push(edit),
    }
}

/// Takes away what stands in the way first.
fn step(trial: &mut Policy, judged: Result<Judging, Denial>) -> Option<Step> {
    let Ok(judging) = judged else { return unfit(trial).map(|edit| Step::Values(vec![edit])) };
    let CommandJudgement { verdict, rule, decision } = judging.judgement;
    if matches!(verdict, CommandVerdict::Allow(_)) {
        return Some(Step::Allowed);
    }
    let at = rule.at.clone();
    let by_rules = || "every command, as the rules for commands say".to_owned();
    let edit = match (&rule.cause, decision.approval) {
        (Cause::ToolRule, _) => {
            let tool = trial.tool_rules.entry("shell".to_owned()).or_default();
            tool.allowed = Some(Ruled::new(true, proposed()));
            let (key, value) = ("tool_rules.shell.allowed".to_owned(), "true".to_owned());
            Edit { key, value, at, opens: by_rules() }
        }
        (Cause::Tools, _) => {
            let tools = &mut trial.tools.as_mut()?.value;
            tools.push("shell".to_owned());
            let value = format!("[{}]", tools.join(", "));
            Edit { key: "tools".to_owned(), value, at, opens: by_rules() }
        }
        (Cause::Consent, Approval::PreApproved) => {
            trial.consent = Ruled::new(Consent::Tool, proposed());
            let (key, value) = ("approval.mode".to_owned(), "tool".to_owned());
            let opens = "every action, as the rules of its directory and tool say".to_owned();
            Edit { key, value, at, opens }
        }
        (_, Approval::Ask) if decision.degraded => backend(trial)?,
        (_, Approval::Ask) => {
            return match unlisted(&decision) {
                Some(to) => open_to(trial, &PresetHosts::default(), to).map(Step::Values),
                None => insert(trial, &decision).map(Step::Rule),
            };
        }
        (_, Approval::PreApproved | Approval::Blocked) => return None,
    };
    Some(Step::Values(vec![edit]))
}

/// Returns a host that a command of a line connects to and that is not listed, where that is
/// why the first command that is asked about is.
fn unlisted(decision: &Decision) -> Option<&Destination> {
    let part = decision.parts.iter().find(|part| part.approval == Approval::Ask)?;
    match &part.leaves.first()?.remedy {
        Some(Remedy::Network(to)) => to.as_ref(),
        _ => None,
    }
}

/// Has the line read in another way, or lets the operating system confine it.
fn unfit(trial: &mut Policy) -> Option<Edit> {
    let argv = trial.shell.mode.as_ref().filter(|mode| mode.value == ShellMode::Argv);
    let Some(at) = argv.map(|mode| mode.at.clone()) else { return backend(trial) };
    trial.shell.mode = Some(Ruled::new(ShellMode::Bash, proposed()));
    Some(Edit {
        key: "shell.mode".to_owned(),
        value: ShellMode::Bash.to_string(),
        at,
        opens:
            "lines with pipes, lists and all else of bash, each command in them as its rule says"
                .to_owned(),
    })
}

fn backend(trial: &mut Policy) -> Option<Edit> {
    if trial.backend.value != BackendChoice::None {
        return None;
    }
    let at = trial.backend.at.clone();
    trial.backend = Ruled::new(BackendChoice::Auto, proposed());
    Some(Edit {
        key: "sandbox.backend".to_owned(),
        value: "auto".to_owned(),
        at,
        opens: "every command that a rule pre-approves, where the system can confine it".to_owned(),
    })
}

fn proposed() -> At {
    At::flag("a proposal")
}

fn shown(
    policy: &Policy,
    rules: Vec<Insert>,
    edits: Vec<Edit>,
    worker: Option<&str>,
) -> Option<LineChange> {
    if rules.is_empty() && edits.is_empty() {
        // The project allows it, so it is the worker's own file that does not.
        let text =
            format!("the project allows it: the file of worker '{}' has to allow it too", worker?);
        return Some(LineChange { text, rules: Vec::new(), edits: Vec::new(), flags: None });
    }
    let edits: Vec<EditShown> = edits.into_iter().map(shown_edit).collect();
    // A flag writes the whole list, so that it fits only where there is none.
    let fits = rules.is_empty() || policy.shell.rules.is_empty();
    let items: Vec<&str> = rules.iter().map(|insert| insert.rule.as_str()).collect();
    let set = (!items.is_empty())
        .then(|| format!("--set {}", quoted(&format!("shell.rules=[{}]", items.join(", ")))));
    let flags = fits.then(|| {
        edits.iter().map(|edit| edit.flag.clone()).chain(set).collect::<Vec<_>>().join(" ")
    });
    let rules: Vec<RuleShown> =
        rules.into_iter().map(|insert| shown_rule(policy, insert)).collect();
    let values = edits.iter().map(|edit| format!("{}: {}", edit.key, edit.value));
    let added = rules.iter().map(|rule| format!("shell.rules: - {}", rule.rule));
    let mut text = values.chain(added).collect::<Vec<_>>().join("; ");
    if let Some(worker) = worker {
        text.push_str(&format!("; the file of worker '{worker}' may have to allow it too"));
    }
    Some(LineChange { text, rules, edits, flags })
}

/// Says where in the project file a rule goes: before the one that decides now, or
/// else at the end of the list.
fn shown_rule(policy: &Policy, insert: Insert) -> RuleShown {
    let rules = &policy.shell.rules;
    let (place, at) = match rules.iter().any(|rule| rule.at == insert.before) {
        true => ("before", Some(&insert.before)),
        false => ("after", rules.last().map(|rule| &rule.at)),
    };
    let found = at.and_then(At::file_line);
    RuleShown {
        file: found.map(|(file, _)| file.to_owned()),
        line: found.map(|(_, line)| line),
        place: if found.is_some() { place } else { "in" },
        rule: insert.rule,
        opens: insert.opens,
    }
}

impl fmt::Display for LineExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        writeln!(f, "run {}: {}{code}", flat(&self.command), verdict_shown(self.verdict))?;
        for line in self.message.iter().flat_map(|message| message.lines()) {
            writeln!(f, "  | {line}")?;
        }
        writeln!(f, "  rule:    {}", ruled(&self.rule))?;
        let (mode, cwd, confinement) = (self.mode, &self.cwd, self.confinement);
        writeln!(f, "  mode:    {mode}, from {cwd}, {confinement} (assumed)")?;
        if self.verdict != "deny" {
            writeln!(f, "  network: {}", self.network.as_deref().unwrap_or("none"))?;
        }
        if let Some(unparsed) = &self.unparsed {
            writeln!(f, "  parse:   the line cannot be taken apart: {unparsed}")?;
        }
        for part in &self.parts {
            part.fmt(f)?;
        }
        match &self.change {
            Some(change) => self.show_change(change, f),
            None if self.verdict != "allow" => {
                writeln!(f, "  change:  no narrow rule would let this run")
            }
            None => Ok(()),
        }
    }
}

impl LineExplanation {
    fn show_change(&self, change: &LineChange, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if change.edits.is_empty() && change.rules.is_empty() {
            return writeln!(f, "  change:  {}", change.text);
        }
        for edit in &change.edits {
            let place = match (&edit.file, edit.line) {
                (Some(file), Some(line)) => format!("  (at {file}:{line})"),
                _ => String::new(),
            };
            writeln!(f, "  change:  {}: {}{place}", edit.key, edit.value)?;
            writeln!(f, "  opens:   {}", edit.opens)?;
        }
        for rule in &change.rules {
            let place = match (&rule.file, rule.line) {
                (Some(file), Some(line)) => format!("  ({} {file}:{line})", rule.place),
                _ => String::new(),
            };
            writeln!(f, "  change:  shell.rules: - {}{place}", rule.rule)?;
            writeln!(f, "  opens:   {}", rule.opens)?;
        }
        if let Some(flags) = &change.flags {
            let cwd = self.given.as_ref().map(|cwd| format!(" --cwd {}", quoted(cwd)));
            let (line, cwd) = (quoted(&self.command), cwd.unwrap_or_default());
            writeln!(f, "  to try:  zonekeep explain run {line}{cwd} {flags}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PartShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  command: {}", flat(&self.text))?;
        if !self.words.is_empty() {
            let words = self.words.iter().map(|word| match word.kind {
                "known" => flat(&quoted(&word.text)),
                "glob" => format!("{} (names of files)", flat(&word.text)),
                _ => format!("{} (unknown)", flat(&word.text)),
            });
            writeln!(f, "    words: {}", words.collect::<Vec<_>>().join(", "))?;
        }
        if !self.within.is_empty() {
            writeln!(f, "    in:    {}", self.within.join(", "))?;
        }
        super::past::show_part(f, &self.approval, &self.rule, &self.why)?;
        if let Some(grants) = &self.grants {
            writeln!(f, "    gives: {grants}")?;
        }
        Ok(())
    }
}
