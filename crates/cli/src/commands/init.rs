//! `zonekeep init`: writes a project file to start from.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use zonekeep::approve::visible;

use crate::failure::{Failure, NEGATIVE};
use crate::output;

/// Write a commented zonekeep.yaml to start from
///
/// Nothing that exists is overwritten. In a git repository the template is `repo`, unless
/// another one is named.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where; the current directory if left out
    dir: Option<PathBuf>,
    /// What to start from: repo in a git repository, else minimal
    #[arg(long, value_enum)]
    template: Option<Template>,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Template {
    /// One directory to read, one to write
    Minimal,
    /// A code repository that an agent works in
    Repo,
    /// Documents in, reports out, with workers that call each other
    Pipeline,
}

/// The files of a template; a path that ends in a slash is a directory.
fn files(template: Template) -> &'static [(&'static str, &'static str)] {
    match template {
        Template::Minimal => &[
            ("input/", ""),
            ("output/", ""),
            ("zonekeep.yaml", include_str!("../templates/minimal.yaml")),
        ],
        Template::Repo => &[("zonekeep.yaml", include_str!("../templates/repo.yaml"))],
        Template::Pipeline => &[
            ("inbox/", ""),
            ("reports/", ""),
            ("workers/analyst.worker", include_str!("../templates/analyst.worker")),
            ("workers/publisher.worker", include_str!("../templates/publisher.worker")),
            ("main.worker", include_str!("../templates/main.worker")),
            ("zonekeep.yaml", include_str!("../templates/pipeline.yaml")),
        ],
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let is_here = args.dir.is_none();
    let dir = args.dir.unwrap_or_else(|| PathBuf::from("."));
    let template = args.template.unwrap_or_else(|| {
        let is_repository = dir.join(".git").symlink_metadata().is_ok();
        if is_repository { Template::Repo } else { Template::Minimal }
    });
    let files = files(template);
    // Looks first, so that a refusal leaves nothing half done.
    for (name, _) in files.iter().filter(|(name, _)| !name.ends_with('/')) {
        if fs::symlink_metadata(dir.join(name)).is_ok() {
            return Err(exists(name));
        }
    }
    for (name, content) in files {
        let path = dir.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(&path)?;
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(name),
            _ => error.into(),
        })?;
        file.write_all(content.as_bytes())?;
        output::text(&format!("wrote {}", path.display()))?;
    }
    let there = if is_here {
        String::new()
    } else {
        format!("in {}, ", visible(&dir.display().to_string()))
    };
    output::text(&format!(
        "next: {there}edit zonekeep.yaml, then run `zonekeep check` and `zonekeep tool list_files '{{\"path\": \"/\"}}'`",
    ))?;
    if template == Template::Repo {
        output::text(
            "to give it to an agent: `zonekeep mcp install claude-code`, or another client \
             (`zonekeep mcp install --help` lists them)",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn exists(name: &str) -> Failure {
    Failure::message(NEGATIVE, format!("{name} exists already"))
        .hint("nothing was written; move the file away to start anew")
}
