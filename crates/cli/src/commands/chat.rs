//! `zonekeep chat`: a conversation with a worker.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use zonekeep::Stop;
use zonekeep_worker::Ended;

use super::work::{self, RunArgs};
use crate::failure::Failure;
use crate::output;
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
    // First: a thread that is started before the signals are held would die of them.
    work::stop_on_signals(&stop)?;
    let view = View::new(false, &stop);
    let runner = args.run.open(Some(&args.worker), &stop, &view)?;
    let mut conversation = runner.begin(&args.worker).map_err(work::failure)?;
    let ask = || {
        if io::stdin().is_terminal() {
            output::beside(&format!("{}> ", args.worker));
        }
    };
    ask();
    let mut status = 0;
    let mut lines = Lines::of_stdin()?;
    while let Some(line) = lines.next(&stop)? {
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
    if stop.is_said() {
        status = work::INTERRUPTED;
    }
    view.end();
    view.report(runner.session().id(), &runner.report());
    Ok(ExitCode::from(status))
}

/// The lines of standard input, for whoever may be told to stop meanwhile.
struct Lines {
    input: File,
    /// What was read and is no line yet, or not the next one.
    kept: Vec<u8>,
}

impl Lines {
    fn of_stdin() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Lines { input, kept: Vec::new() })
    }

    /// Returns the next line; `None` at the end, or once `stop` is said. Nothing is
    /// read ahead while somebody else may ask on the same terminal.
    fn next(&mut self, stop: &Stop) -> io::Result<Option<String>> {
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|_| io::Error::other("the input is not UTF-8 text"))
        };
        loop {
            if let Some(end) = self.kept.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.kept.drain(..=end).collect();
                line.truncate(end);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return text(line).map(Some);
            }
            let mut polled = [PollFd::new(&self.input, PollFlags::IN)];
            // Signals are held, so that none ends a wait.
            let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            match rustix::event::poll(&mut polled, Some(&wait)) {
                _ if stop.is_said() => return Ok(None),
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let mut part = [0; 4096];
            match self.input.read(&mut part)? {
                0 if self.kept.is_empty() => return Ok(None),
                0 => return text(std::mem::take(&mut self.kept)).map(Some),
                n => self.kept.extend_from_slice(&part[..n]),
            }
        }
    }
}
