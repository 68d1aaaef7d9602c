//! `zonekeep chat`: a conversation with a worker.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use zonekeep::Stop;
use zonekeep_worker::Ended;

use super::work::{self, RunArgs};
use crate::failure::Failure;
use crate::view::View;

/// Talk with a worker
///
/// What you write goes to the worker, and its answer is printed; the worker
/// remembers what was said. An empty line or the end of the input ends the
/// conversation. `zonekeep work --resume SESSION "…"` goes on with it later.
///
/// Examples:
///   zonekeep chat assistant
///   printf 'What is new?\n' | zonekeep chat assistant --model scripted:replies.yaml
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The worker, by name or by its file's path in the project
    worker: String,
    #[command(flatten)]
    run: RunArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let stop = Stop::new();
    let view = View::new(false, &stop);
    work::stop_on_signals(&stop)?;
    let runner = args.run.open(Some(&args.worker), &stop, &view)?;
    let mut conversation = runner.begin(&args.worker).map_err(work::failure)?;
    let ask = || {
        if io::stdin().is_terminal() {
            eprint!("{}> ", args.worker);
            let _ = io::stderr().flush();
        }
    };
    ask();
    let mut status = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() || stop.is_said() {
            break;
        }
        let outcome = conversation.say(&line, Vec::new()).map_err(work::failure)?;
        work::answer(&outcome)?;
        status = work::status(&outcome);
        if outcome.ended == Ended::Stopped {
            break;
        }
        ask();
    }
    view.end();
    view.report(runner.session().id(), &runner.report());
    Ok(ExitCode::from(status))
}
