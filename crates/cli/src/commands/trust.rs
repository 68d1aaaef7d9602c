//! `zonekeep trust`: shows what a project file opens, and remembers the answer.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;

use zonekeep::Session;
use zonekeep::approve::visible;
use zonekeep::trust::TrustStore;

use crate::failure::{Failure, NEGATIVE, UNSAFE};
use crate::output;
use crate::project_args::{ProjectArgs, state};

/// Let a project file reach outside its own directory
///
/// Shows what the file opens and asks. The answer holds for exactly this file,
/// with exactly this content, opening exactly this.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let project = args.project.load()?;
    let state = state()?;
    let reach = Session::reach(&project, &state)?;
    let store = TrustStore::new(&state);
    if reach.is_empty() {
        let mut text =
            "This project stays inside its own directory; there is nothing to trust.".to_owned();
        // A server that runs waits for this before it uses looser rules.
        if project.file.is_some() {
            store.trust(&project, &reach)?;
            text.push_str("\nServers that are running use the file as it is now.");
        }
        output::text(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if store.is_trusted(&project, &reach) {
        output::text("This project file is trusted already.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = project.file.as_deref().unwrap_or(&project.dir);
    let mut text = format!("{} lets agents\n", file.display());
    for reach in &reach {
        text.push_str(&format!("  {}  ({})\n", reach.what.replace('\n', "\\n"), reach.at));
    }
    output::text(&visible(&text))?;
    if !args.yes && !ask()? {
        return Err(Failure::message(NEGATIVE, "not trusted"));
    }
    store.trust(&project, &reach)?;
    output::text("Trusted. If the file changes, it has to be trusted again.")?;
    Ok(ExitCode::SUCCESS)
}

fn ask() -> Result<bool, Failure> {
    let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut tty = tty.map_err(|_| {
        Failure::message(UNSAFE, "there is no terminal to ask on")
            .hint("run `zonekeep trust` in a terminal, or `zonekeep trust --yes` if you have read the list")
    })?;
    // What was typed before the question is not an answer to it; what comes after it is.
    let _ = rustix::termios::tcflush(&tty, rustix::termios::QueueSelector::IFlush);
    tty.write_all(b"Trust it? [y/N] ")?;
    let mut line = String::new();
    BufReader::new(tty).read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
