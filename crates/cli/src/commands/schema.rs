//! `zonekeep schema`: the JSON Schemas of the files that users write.

use std::process::ExitCode;

use serde_json::json;
use zonekeep::policy::config;

use crate::failure::Failure;
use crate::output;

/// Print the JSON Schema of the project file and of worker files
///
/// Editors complete and validate with it; put this in the first line of the file:
///   # yaml-language-server: $schema=zonekeep.schema.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Which file; without it both, as an object with the keys project and worker
    #[arg(value_enum)]
    file: Option<Which>,
}

#[derive(clap::ValueEnum, Clone, Copy)]
enum Which {
    Project,
    Worker,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let schema = match args.file {
        Some(Which::Project) => config::project_schema(),
        Some(Which::Worker) => config::worker_schema(),
        None => json!({ "project": config::project_schema(), "worker": config::worker_schema() }),
    };
    output::json(&schema)?;
    Ok(ExitCode::SUCCESS)
}
