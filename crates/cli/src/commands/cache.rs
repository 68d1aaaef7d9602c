//! `zonekeep cache`: the caches of toolchains that outlive a sandbox.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use zonekeep::approve::visible;
use zonekeep::caches::{self, Caches};

use crate::failure::{Failure, NEGATIVE, answer_in_json};
use crate::output;
use crate::project_args::{project_dir, state};

/// Show the caches of commands, and remove them
///
/// Cargo, go, npm, pip and others keep what they download and build in caches of the
/// sandbox's own, one set for each project and worker; yours are never written. They stay
/// until you remove them, unless the project file has `sandbox.caches: fresh`. The private
/// homes of agents (`run --profile`) are listed too; they hold conversations, and are removed
/// by their id or with --agents.
///
/// Examples:
///   zonekeep cache list
///   zonekeep cache clear          # of this project
///   zonekeep cache clear --all
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Option<Task>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Task {
    /// List the caches of all projects, the largest first
    List,
    /// Remove the caches of this project and its workers
    Clear {
        /// Remove these, as the list names them, instead
        #[arg(conflicts_with = "all")]
        id: Option<String>,
        /// Remove the caches of all projects
        #[arg(long)]
        all: bool,
        /// Remove the private homes of agents too
        #[arg(long)]
        agents: bool,
    },
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let state = state()?;
    let mut all = caches::list(&state)?;
    match args.task {
        None | Some(Task::List) => list(&all, args.json)?,
        Some(Task::Clear { id, all: every, agents }) => {
            if id.is_none() && !agents {
                all.retain(|one| !one.agent);
            }
            match &id {
                Some(id) => {
                    all.retain(|one| one.id == *id);
                    if all.is_empty() {
                        let text = format!("there is no cache '{}'", visible(id));
                        return Err(Failure::message(NEGATIVE, text)
                            .hint("`zonekeep cache list` shows what there is"));
                    }
                }
                None if every => {}
                None => {
                    let project = project_dir(None)?;
                    all.retain(|one| one.project == project);
                }
            }
            for one in &all {
                caches::clear(&state, one)?;
            }
            let bytes: u64 = all.iter().map(|one| one.bytes).sum();
            match args.json {
                true => output::json(&json!({ "cleared": all }))?,
                false => tell!("removed {} cache(s), {}", all.len(), size(bytes)),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(all: &[Caches], as_json: bool) -> Result<(), Failure> {
    if as_json {
        return output::json(&all);
    }
    for one in all {
        let used = zonekeep::time::utc(UNIX_EPOCH + Duration::from_secs(one.used));
        let worker = one.worker.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let project: &Path = &one.project;
        let line =
            format!("{}  {:>9}  {used}  {}{worker}", one.id, size(one.bytes), project.display());
        output::text(&visible(&line).replace('\n', "\\n"))?;
    }
    if all.is_empty() {
        tell!("there are no caches");
    }
    Ok(())
}

fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    let unit = units.iter().rposition(|_| true).unwrap_or(0);
    let fits = (0..=unit).find(|&unit| bytes >> (10 * unit) < 1024).unwrap_or(unit);
    match fits {
        0 => format!("{bytes} B"),
        fits => format!("{:.1} {}", bytes as f64 / f64::from(1_u32 << (10 * fits)), units[fits]),
    }
}
