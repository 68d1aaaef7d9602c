//! `zonekeep replay`: what another project file would have said.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use zonekeep::approve::visible;
use zonekeep::replay::{Grants, Rejudged, Summary, replay};
use zonekeep::{Project, audit};

use crate::failure::{Failure, NEGATIVE, answer_in_json};
use crate::output;
use crate::project_args::{ProjectArgs, state};

/// Judge the audit log again under another project file
///
/// Lists every verdict that would be another one, and the line that would decide.
/// The file counts as if it lay in the project directory. Nothing is done, nobody
/// is asked and nothing is recorded. Exit status 0 when nothing would change, 1 when
/// something would.
///
/// Examples:
///   zonekeep replay --config new.yaml
///   zonekeep replay --config zonekeep.yaml --set approval.mode=strict --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The other project file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// List what stays the same and what cannot be judged, too
    #[arg(long)]
    all: bool,
    /// Print the changes as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let dir = args.project.dir()?;
    let project = Project::as_if(&dir, &args.config, &args.project.overrides()?)
        // What is wrong with it is shown; `check` would look at another file.
        .map_err(|error| Failure { hint: None, ..Failure::from(error) })?;
    let grants = Grants::of(&project)?;
    let summary = match args.json {
        true => in_json(&args, &grants, log(&dir)?)?,
        false => in_text(&args, &grants, log(&dir)?)?,
    };
    if summary.bad_lines > 0 {
        tell!("warning: {} line(s) of the log are not records", summary.bad_lines);
    }
    Ok(ExitCode::from(if summary.changed.total() == 0 { 0 } else { NEGATIVE }))
}

/// Opens the log of a project, as long as it is now; a missing one is empty.
fn log(dir: &std::path::Path) -> Result<Box<dyn Read>, Failure> {
    match File::open(audit::log_path(&state()?, dir)) {
        Ok(file) => {
            let length = file.metadata()?.len();
            Ok(Box::new(file.take(length)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Box::new(io::empty())),
        Err(error) => Err(error.into()),
    }
}

fn in_text(args: &Args, grants: &Grants, log: impl Read) -> Result<Summary, Failure> {
    let mut failed = None;
    let summary = replay(grants, log, |record, again| {
        let line = match again {
            Ok(again) if again.changed() || args.all => again.to_string(),
            Err(why) if args.all => {
                let about = record.about();
                format!("{}  {:<12} {} {about}  {why}", record.id, "not judged", record.action)
            }
            _ => return,
        };
        if failed.is_none() {
            failed = output::text(&visible(&line).replace('\n', "\\n")).err();
        }
    })?;
    match failed {
        Some(failure) => Err(failure),
        None => {
            output::text(&visible(&summary.to_string()))?;
            Ok(summary)
        }
    }
}

fn in_json(args: &Args, grants: &Grants, log: impl Read) -> Result<Summary, Failure> {
    let (mut changes, mut same): (Vec<Rejudged>, Vec<Rejudged>) = Default::default();
    let mut skipped = Vec::new();
    let summary = replay(grants, log, |record, again| match again {
        Ok(again) if again.changed() => changes.push(again),
        Ok(again) if args.all => same.push(again),
        Err(why) if args.all => skipped.push(json!({ "id": record.id, "why": why })),
        _ => {}
    })?;
    let mut value = Map::new();
    let mut put = |key: &str, item: Value| value.insert(key.to_owned(), item);
    put("judged", json!(summary.judged));
    put("changed", json!(summary.changed));
    put("changes", json!(changes));
    let not_judged = summary.not_judged.iter();
    let not_judged = not_judged.map(|(why, records)| json!({ "why": why, "records": records }));
    put("not_judged", not_judged.collect());
    if args.all {
        put("same", json!(same));
        put("skipped", json!(skipped));
    }
    output::json(&value)?;
    Ok(summary)
}
