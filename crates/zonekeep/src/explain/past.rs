//! Why something was done, or was not, from its record.

use std::fmt;

use super::{flat, ruled, verdict_shown};
use crate::audit::{AnswerRecord, JudgedRecord, Record, RuleRecord, RunRecord};
use crate::command::Confinement;

/// A record, written out with all that was decided about it.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a>(pub &'a Record<'a>);

impl fmt::Display for Past<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.0;
        let to = record.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        let code = record.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        let verdict = verdict_shown(&record.verdict);
        let (action, outcome) = (&record.action, &record.outcome);
        writeln!(f, "{action} {}{to}: {verdict}, {outcome}{code}", flat(record.about()))?;
        for line in record.error.iter().flat_map(|error| error.lines()) {
            writeln!(f, "  | {line}")?;
        }
        writeln!(f, "  id:      {}", record.id)?;
        writeln!(f, "  time:    {}", record.time)?;
        if let Some(worker) = &record.worker {
            writeln!(f, "  worker:  {worker}")?;
        }
        writeln!(f, "  tool:    {}", record.tool)?;
        if let Some(rule) = &record.rule {
            writeln!(f, "  rule:    {}", ruled(rule))?;
        }
        if let Some(judged) = record.run.as_ref().and_then(|run| run.judged.as_ref()) {
            show_judged(f, judged)?;
        }
        if let Some(answer) = &record.answer {
            show_answer(f, answer)?;
        }
        if let Some(run) = &record.run {
            show_run(f, run)?;
        }
        match record.bytes {
            Some(bytes) => writeln!(f, "  bytes:   {bytes}"),
            None => Ok(()),
        }
    }
}

fn show_judged(f: &mut fmt::Formatter<'_>, judged: &JudgedRecord) -> fmt::Result {
    let confinement = Confinement::recorded(judged);
    let ground = if judged.background { ", in the background" } else { "" };
    let JudgedRecord { mode, cwd, .. } = judged;
    writeln!(f, "  mode:    {mode}, from {cwd}, {confinement}{ground}")?;
    if let Some(grants) = &judged.grants {
        writeln!(f, "  network: {grants}, by its rules")?;
    }
    if let Some(unparsed) = &judged.unparsed {
        writeln!(f, "  parse:   the line cannot be taken apart: {unparsed}")?;
    }
    for part in &judged.parts {
        writeln!(f, "  command: {}", flat(&part.text))?;
        show_part(f, &part.approval, &part.rule, &part.why)?;
    }
    Ok(())
}

/// Writes what the rules say about one command.
pub(super) fn show_part(
    f: &mut fmt::Formatter<'_>,
    approval: &str,
    rule: &RuleRecord<'_>,
    why: &[String],
) -> fmt::Result {
    writeln!(f, "    says:  {approval}")?;
    writeln!(f, "    rule:  {}", ruled(rule))?;
    for why in why {
        writeln!(f, "    why:   {}", flat(why))?;
    }
    Ok(())
}

fn show_answer(f: &mut fmt::Formatter<'_>, answer: &AnswerRecord<'_>) -> fmt::Result {
    let word = if answer.approved { "yes" } else { "no" };
    let remembered = match &*answer.remember {
        "once" => String::new(),
        "session" => ", for the session".to_owned(),
        other => format!(", {other}"),
    };
    writeln!(f, "  answer:  {word} by {}{remembered}", answer.by)?;
    match &answer.note {
        Some(note) => writeln!(f, "  note:    {}", flat(note)),
        None => Ok(()),
    }
}

fn show_run(f: &mut fmt::Formatter<'_>, run: &RunRecord) -> fmt::Result {
    let over = run.over.as_ref().map(|over| format!("over {over}"));
    let status = match (run.exit_code, run.signal) {
        (Some(code), _) => Some(format!("exit {code}")),
        (None, signal) => signal.map(|signal| format!("signal {signal}")),
    };
    let ended: Vec<String> = over.into_iter().chain(status).collect();
    if !ended.is_empty() {
        writeln!(f, "  ended:   {}", ended.join(", "))?;
    }
    if let Some(backend) = &run.backend {
        writeln!(f, "  held by: {backend}")?;
    }
    for weaker in &run.weaker {
        writeln!(f, "  weaker:  {}", flat(weaker))?;
    }
    for caught in &run.caught {
        writeln!(f, "  caught:  {}", flat(caught))?;
    }
    Ok(())
}
