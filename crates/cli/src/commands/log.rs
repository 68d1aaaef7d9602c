//! `zonekeep log`: shows what happened.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use zonekeep::approve::visible;
use zonekeep::audit::{self, Record, RunRecord};
use zonekeep::explain::past::Past;

use crate::failure::{Failure, NEGATIVE, answer_in_json};
use crate::output;
use crate::project_args::{ProjectArgs, state};

/// Show the audit records of the project
///
/// Examples:
///   zonekeep log --verdict deny
///   zonekeep log --path /output --follow
///   zonekeep log --json -n 0 | jq -r .path
///   zonekeep log --why 4f1c-12
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Keep showing records as they are written
    #[arg(short, long)]
    follow: bool,
    /// Show all that was decided about one record; the end of its id will do
    #[arg(long, value_name = "ID", conflicts_with_all = ["follow", "n"])]
    why: Option<String>,
    /// How many of the newest records to show; 0 for all
    #[arg(short, default_value_t = 50)]
    n: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Records of all projects, not only this one's
    #[arg(long)]
    all_projects: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(clap::Args)]
struct Filter {
    /// Only this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only this verdict
    #[arg(long, value_parser = ["allow", "ask", "deny"])]
    verdict: Option<String>,
    /// Only this outcome
    #[arg(long, value_parser = ["asked", "begun", "done", "refused", "failed", "not_started", "unknown"])]
    outcome: Option<String>,
    /// Only this worker
    #[arg(long)]
    worker: Option<String>,
    /// Only this session
    #[arg(long)]
    session: Option<String>,
    /// Only this path and what is below it
    #[arg(long)]
    path: Option<String>,
}

impl Filter {
    fn admits(&self, record: &Record) -> bool {
        let is = |wanted: &Option<String>, held: &str| wanted.as_deref().is_none_or(|w| w == held);
        let below = |path: &str, base: &str| {
            let base = base.trim_end_matches('/');
            path == base || path.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'))
        };
        is(&self.tool, &record.tool)
            && is(&self.verdict, &record.verdict)
            && is(&self.outcome, &record.outcome)
            && is(&self.worker, record.worker.as_deref().unwrap_or_default())
            && is(&self.session, &record.session)
            && self.path.as_deref().is_none_or(|base| {
                below(&record.path, base) || record.to.as_deref().is_some_and(|to| below(to, base))
            })
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let files = logs(&args)?;
    if let Some(id) = &args.why {
        return why(&args, &files, id);
    }
    let mut shown: VecDeque<Record> = VecDeque::new();
    let mut bad = 0;
    let mut ends = Vec::new();
    for path in &files {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                ends.push(0);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let length = file.metadata()?.len();
        ends.push(length);
        let (records, skipped) = audit::read(std::io::Read::take(file, length))?;
        bad += skipped;
        for record in records.into_iter().filter(|record| args.filter.admits(record)) {
            shown.push_back(record);
            if args.n > 0 && files.len() == 1 && shown.len() > args.n {
                shown.pop_front();
            }
        }
    }
    let mut shown: Vec<Record> = shown.into();
    if files.len() > 1 {
        shown.sort_by(|a, b| a.time.cmp(&b.time));
        if args.n > 0 {
            shown.drain(..shown.len().saturating_sub(args.n));
        }
    }
    for record in &shown {
        print(record, args.json)?;
    }
    if bad > 0 {
        tell!("warning: {bad} line(s) of the log are not records");
    }
    if args.follow {
        follow(&args, &files, ends)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows one record with all that was decided.
fn why(args: &Args, files: &[PathBuf], id: &str) -> Result<ExitCode, Failure> {
    let mut found: Vec<Record> = Vec::new();
    for path in files {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        audit::each(file, |record| {
            if is_meant(&record.id, id) && args.filter.admits(&record) {
                found.push(record);
            }
        })?;
    }
    if let Some(exact) = found.iter().position(|record| record.id == id) {
        found = vec![found.swap_remove(exact)];
    }
    match found.as_slice() {
        [] => Err(Failure::message(NEGATIVE, format!("no record has the id '{id}'"))
            .hint("`zonekeep log -n 0` shows the ids of all records")),
        [record] => {
            match args.json {
                true => output::json(record)?,
                false => output::text(&visible(&Past(record).to_string()))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        several => {
            let ids: Vec<&str> = several.iter().rev().take(8).map(|record| &*record.id).collect();
            let more = several.len().saturating_sub(ids.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(Failure::message(NEGATIVE, format!("'{id}' is the end of {} ids", several.len()))
                .hint(format!("write more of it: {}{more}", ids.join(", "))))
        }
    }
}

/// Returns whether a text stands for an id: all of it, or its end. A number alone
/// is the number in a session.
fn is_meant(id: &str, text: &str) -> bool {
    match id.strip_suffix(text) {
        _ if text.is_empty() => false,
        Some(rest) => rest.is_empty() || text.contains('-') || rest.ends_with('-'),
        None => false,
    }
}

fn logs(args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let state = state()?;
    if !args.all_projects {
        return Ok(vec![audit::log_path(&state, &args.project.dir()?)]);
    }
    let Ok(entries) = std::fs::read_dir(state.path().join("audit")) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    Ok(files)
}

/// Shows records as they are completed, until the program is stopped.
fn follow(args: &Args, files: &[PathBuf], mut ends: Vec<u64>) -> Result<(), Failure> {
    use std::io::{Seek, SeekFrom};
    loop {
        for (path, end) in files.iter().zip(&mut ends) {
            let Ok(mut file) = File::open(path) else { continue };
            file.seek(SeekFrom::Start(*end))?;
            let mut lines = BufReader::new(file);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
                *end += line.len() as u64;
                if let Some(record) = audit::parse(&line)
                    && !matches!(&*record.outcome, "begun" | "asked")
                    && args.filter.admits(&record)
                {
                    print(&record, args.json)?;
                }
                line.clear();
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

fn print(record: &Record, as_json: bool) -> Result<(), Failure> {
    if as_json {
        output::json_line(record)?
    } else {
        output::text(&show(record))?
    }
    if output::is_closed() {
        // No reader is left, and `--follow` has no other end.
        std::process::exit(0);
    }
    Ok(())
}

/// Writes a record on one line: when, what, the verdict, how it ended and why.
/// Guarded files that a command made follow, a line each.
fn show(record: &Record) -> String {
    let seconds = record.time.split('.').next().unwrap_or_default().trim_end_matches('Z');
    let to = record.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
    let worker = record.worker.as_ref().map(|worker| format!(" [{worker}]")).unwrap_or_default();
    let code = record.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
    let bytes = record.bytes.map(|bytes| format!(" {bytes}B")).unwrap_or_default();
    let rule = record.rule.as_ref().map(|rule| match (&rule.file, rule.line) {
        (Some(file), Some(line)) => format!("  {} ({file}:{line})", rule.says),
        _ => format!("  {}", rule.says),
    });
    let answer = record
        .answer
        .as_ref()
        .map(|answer| format!("  {} by {}", if answer.approved { "yes" } else { "no" }, answer.by));
    let taint = match (&record.taints, record.tainted) {
        (Some(zone), _) => format!("  taints: {zone} is untrusted"),
        (None, true) => "  tainted".to_owned(),
        (None, false) => String::new(),
    };
    let run = record.run.as_deref();
    let about = record.about();
    let ended = run.map(how_it_ended).unwrap_or_default();
    let line = format!(
        "{seconds}  {}{worker}  {:<5} {:<7} {} {about}{to}{code}{ended}{bytes}{}{}{taint}",
        record.id,
        record.verdict,
        record.outcome,
        record.action,
        rule.unwrap_or_default(),
        answer.unwrap_or_default()
    );
    let mut text = one_line(&line);
    for caught in run.iter().flat_map(|run| &run.caught) {
        text.push_str("\n    caught ");
        text.push_str(&one_line(caught));
    }
    text
}

fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Says what ended a command, and how it was confined.
fn how_it_ended(run: &RunRecord) -> String {
    let mut text = String::new();
    if let Some(over) = &run.over {
        text.push_str(&format!("  over {over}"));
    }
    match (run.exit_code, run.signal) {
        (Some(code), _) => text.push_str(&format!("  exit {code}")),
        (None, Some(signal)) => text.push_str(&format!("  signal {signal}")),
        (None, None) => {}
    }
    if let Some(backend) = &run.backend {
        text.push_str(&format!("  by {backend}"));
    }
    text
}
