//! Running commands: begun, done and written down on one road.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use zonekeep_confine::child::{Capture, Output, Running};
use zonekeep_confine::plan::{Access, Start};
use zonekeep_confine::strength;
use zonekeep_confine::tree::{Ended, Failed, Process};
use zonekeep_confine::{Caught, Fate, Over};
use zonekeep_policy::Verb;

use super::busy::Runs;
use super::enclose::Enclosed;
use super::notes::{self, Facts};
use super::{CaughtFile, Command, Outcome, shell, weaker};
use crate::audit::{Record, RunRecord};
use crate::error::Error;
use crate::perform::{refused, rule_record};
use crate::sandbox::Sandbox;

/// The prompt of shells that a person types into: every POSIX shell expands the variable.
const PROMPT: &str = "(zonekeep) $PWD $ ";

impl Sandbox {
    /// Runs a command and keeps what it prints.
    ///
    /// The caller has decided that it may run: nobody is asked here, and only what
    /// the rules block is refused. The kernel holds it to what this worker has;
    /// what it does is written down. [`Sandbox::shell`] is for what an agent
    /// wants to run.
    pub fn run(&self, command: &Command) -> Result<Outcome, Error> {
        self.run_with_input(command, None)
    }

    /// Runs a command that reads `input`.
    pub fn run_with_input(
        &self,
        command: &Command,
        input: Option<BorrowedFd<'_>>,
    ) -> Result<Outcome, Error> {
        let this = self.now();
        let written = this.begin(command)?;
        this.run_begun(written, command, input)
    }

    /// Runs a command that was written down.
    pub(super) fn run_begun(
        &self,
        written: Written,
        command: &Command,
        input: Option<BorrowedFd<'_>>,
    ) -> Result<Outcome, Error> {
        let written = self.announced(written, command)?;
        let started = self.enclosed(command, |enclosed| {
            let start = self.start(enclosed, command, [false; 3]);
            match start {
                Ok((cwd, start)) => {
                    let stop = self.stop().fd().ok().map(Into::into);
                    let ear = self.ear().cloned();
                    let capture = Capture { input, stop, ear, ..Capture::default() };
                    let running = Running::start(&enclosed.tree, start, capture);
                    let running = running.inspect_err(|_| enclosed.leave(&command.line()));
                    Ok(Ok((cwd, running?)))
                }
                Err(error) => Ok(Err(error)),
            }
        });
        let (enclosed, (cwd, running)) = match started {
            Ok((enclosed, Ok(started))) => (enclosed, started),
            Ok((_, Err(error))) | Err(error) => return self.not_run(written, error),
        };
        match running.wait() {
            Ok(output) => self.finish(written, command, &enclosed, cwd, Some(output)),
            Err(failed) => self.ended_badly(written, command, &enclosed, cwd, failed),
        }
    }

    /// Starts a command that goes on in the background; returns its number.
    pub fn run_in_background(&self, command: &Command) -> Result<u64, Error> {
        let this = self.now();
        let written = this.begin(command)?;
        this.background_begun(written, command)
    }

    /// Starts a command that was written down, and goes on.
    pub(super) fn background_begun(
        &self,
        written: Written,
        command: &Command,
    ) -> Result<u64, Error> {
        let written = self.announced(written, command)?;
        let started =
            self.enclosed(command, |enclosed| match self.start(enclosed, command, [false; 3]) {
                Ok((cwd, start)) => {
                    let stop = self.stop().fd().ok().map(Into::into);
                    let capture = Capture { stop, ..Capture::default() };
                    let running = Running::start(&enclosed.tree, start, capture);
                    let running = running.inspect_err(|_| enclosed.leave(&command.line()));
                    Ok(Ok((cwd, running?)))
                }
                Err(error) => Ok(Err(error)),
            });
        let (enclosed, (cwd, running)) = match started {
            Ok((enclosed, Ok(started))) => (enclosed, started),
            Ok((_, Err(error))) | Err(error) => {
                return self.not_run(written, error).map(|_: Outcome| 0);
            }
        };
        let (sandbox, command) = (self.unheard(), command.clone());
        let line = command.line();
        self.background().add(line, running, move |output| match output {
            Ok(output) => sandbox.finish(written, &command, &enclosed, cwd, Some(output)),
            Err(failed) => sandbox.ended_badly(written, &command, &enclosed, cwd, failed),
        })
    }

    /// Starts a command with the caller's own standard input, output and error,
    /// or a terminal of its own where `terminal` says so. Anonymous pipes and
    /// `/dev/null` are handed to it; files, sockets and devices are copied through
    /// pipes, and directories are refused.
    pub fn attach(
        &self,
        command: &Command,
        stdio: &[BorrowedFd<'_>],
        terminal: [bool; 3],
    ) -> Result<Attached, Error> {
        self.now().attach_now(command, stdio, terminal)
    }

    fn attach_now(
        &self,
        command: &Command,
        stdio: &[BorrowedFd<'_>],
        terminal: [bool; 3],
    ) -> Result<Attached, Error> {
        let written = self.announced(self.begin(command)?, command)?;
        let started =
            self.enclosed(command, |enclosed| match self.start(enclosed, command, terminal) {
                Ok((cwd, start)) => {
                    let process = enclosed.tree.command(start, stdio);
                    let process = process.inspect_err(|_| enclosed.leave(&command.line()));
                    Ok(Ok((cwd, process?)))
                }
                Err(error) => Ok(Err(error)),
            });
        match started {
            Ok((enclosed, Ok((cwd, process)))) => Ok(Attached {
                sandbox: self.clone(),
                command: command.clone(),
                enclosed,
                cwd,
                process,
                written,
            }),
            Ok((_, Err(error))) | Err(error) => {
                self.not_run(written, error).map(|_: Outcome| unreachable!("always an error"))
            }
        }
    }

    fn start(
        &self,
        enclosed: &Arc<Enclosed>,
        command: &Command,
        terminal: [bool; 3],
    ) -> Result<(String, Start), Error> {
        let plan = enclosed.tree.plan();
        let (shown, cwd) = self.start_dir(plan, command.cwd.as_deref())?;
        if let Some(door) = &enclosed.door {
            door.begin(&command.line());
        }
        let mut env = enclosed.env.clone();
        env.extend(command.env.iter().map(|(name, value)| (name.into(), value.into())));
        if command.judged.is_none() {
            prefer_environment(&mut env);
        }
        if let Some(judged) = &command.judged {
            shell::distrust(&mut env);
            shell::speak_plainly(&mut env);
            if judged.bash {
                shell::prepare(&mut env);
            }
        }
        if terminal[0] {
            env.entry("PS1".into()).or_insert_with(|| PROMPT.into());
        }
        env.insert("HOME".into(), plan.home.clone().into());
        env.insert("PWD".into(), cwd.clone().into());
        let argv = command.argv.clone();
        Ok((shown, Start { argv, env, cwd, limits: command.limits.clone(), terminal }))
    }

    /// Writes down that a command is about to run, unless a rule blocks it.
    fn begin(&self, command: &Command) -> Result<Written, Error> {
        let mut record = self.record("run", Verb::Info, String::new(), None);
        record.action = "run".into();
        let run = RunRecord { command: command.line(), ..RunRecord::default() };
        record.run = Some(Box::new(run));
        let mut record = record.into_owned();
        if let Some((denial, rule)) = self.blocks(command) {
            record.rule = Some(rule_record(&rule).into_owned());
            refused(&mut record, &denial);
            self.put_down(&record, command)?;
            return Err(denial.into());
        }
        self.begin_as(record, command)
    }

    /// Writes down that a command is about to run, with all that is known of it.
    pub(super) fn begin_as(
        &self,
        mut record: Record<'static>,
        command: &Command,
    ) -> Result<Written, Error> {
        record.outcome = "begun".into();
        // Whatever it can read, it may have read.
        if let Some(zone) = self.grant().untrusted_zones().first() {
            let by = format!("a command that can read /{zone}");
            record.taints = self.taint(&by).then(|| zone.to_string().into());
        }
        self.put_down(&record, command)?;
        Ok(Written { record, begun: Instant::now(), runs: None })
    }

    /// Tells the keepers of all sandboxes that a command is about to run.
    fn announced(&self, mut written: Written, command: &Command) -> Result<Written, Error> {
        let shared = self.shared();
        match shared.busy.begin(shared.state.as_ref(), &shared.trees, &self.writable_hosts()) {
            Ok(runs) => {
                written.runs = Some(runs);
                Ok(written)
            }
            Err(error) => {
                let reason = format!("what has changed could not be told from its doing: {error}");
                self.not_run(written, Error::unconfined_because(&command.line(), reason))
            }
        }
    }

    pub(super) fn put_down(&self, record: &Record<'_>, command: &Command) -> Result<(), Error> {
        self.write_down(record).map_err(|source| Error::Unrecorded {
            verb: "run",
            path: command.line(),
            source,
        })
    }

    /// Writes down that a command did not run.
    fn not_run<T>(&self, written: Written, error: Error) -> Result<T, Error> {
        self.end_with(written, "not_started", error)
    }

    /// Writes down that a command has no known end.
    fn end_with<T>(
        &self,
        mut written: Written,
        outcome: &'static str,
        error: Error,
    ) -> Result<T, Error> {
        if let Some(runs) = written.runs.take()
            && self.shared().trees.settle(None, false).complete
        {
            self.shared().busy.end(runs);
        }
        let mut record = written.ended();
        record.outcome = outcome.into();
        record.code = Some(error.code().into());
        record.error = Some(error.to_string().into());
        // The refusal stands whether or not it could be written down.
        let _ = self.write_down(&record);
        Err(error)
    }

    fn ended_badly(
        &self,
        written: Written,
        command: &Command,
        enclosed: &Arc<Enclosed>,
        cwd: String,
        failed: Failed,
    ) -> Result<Outcome, Error> {
        match not_found(&failed, command) {
            Some((code, text)) => {
                let ended = ended_with(code);
                self.conclude(written, command, enclosed, cwd, &ended, None, Some(text))
            }
            None => {
                enclosed.leave(&command.line());
                let line = command.line();
                match failed {
                    // The step of its start that failed came before it.
                    Failed::Launcher { .. } | Failed::Step { .. } => {
                        self.not_run(written, Error::unconfined(&line, &failed))
                    }
                    _ => {
                        let (reason, writable) = (failed.to_string(), self.writable_names());
                        let lost = Error::Lost { command: line, reason, writable };
                        self.end_with(written, "unknown", lost)
                    }
                }
            }
        }
    }

    /// Returns the directories that commands can write, as the agent names them.
    fn writable_names(&self) -> Vec<String> {
        let mut writable = self.writable_roots();
        let places = self.places().iter().filter(|place| place.access == Access::Rw);
        writable.extend(places.map(|place| place.host.display().to_string()));
        writable
    }

    fn finish(
        &self,
        written: Written,
        command: &Command,
        enclosed: &Arc<Enclosed>,
        cwd: String,
        output: Option<Output>,
    ) -> Result<Outcome, Error> {
        let ended = output.as_ref().map_or_else(|| ended_with(0), |output| output.ended.clone());
        self.conclude(written, command, enclosed, cwd, &ended, output, None)
    }

    /// Settles what the command left, and writes down how it ended.
    #[expect(clippy::too_many_arguments, reason = "the end of a command has many sides")]
    fn conclude(
        &self,
        mut written: Written,
        command: &Command,
        enclosed: &Arc<Enclosed>,
        cwd: String,
        ended: &Ended,
        output: Option<Output>,
        said: Option<String>,
    ) -> Result<Outcome, Error> {
        let plan = enclosed.tree.plan();
        let settled = self.shared().trees.settle(Some(enclosed), self.shared().confine.once);
        if let (Some(runs), true) = (written.runs.take(), settled.complete) {
            self.shared().busy.end(runs);
        }
        let told = settled.told.into_iter();
        let caught = told.flat_map(|s| s.unwrap_or_else(|failed| vec![unsettled(&failed)]));
        let caught: Vec<Caught> = caught.collect();
        let mut caught: Vec<(String, Caught)> =
            caught.into_iter().map(|caught| (self.agent_name(&caught.path), caught)).collect();
        let limits = plan.limits.tightest(&command.limits);
        let text =
            |kept: Option<&zonekeep_confine::child::Kept>| kept.map_or(String::new(), |k| k.text());
        let stdout = text(output.as_ref().map(|output| &output.stdout));
        let stderr = said.unwrap_or_else(|| text(output.as_ref().map(|output| &output.stderr)));
        let writable = self.writable_names();
        let passed = enclosed.door.as_ref();
        let passed = passed.map(|door| (door.end(&command.line()), door.allowed()));
        let shared = enclosed.shared(|path| self.agent_name(path));
        let mut notes = notes::notes(&Facts {
            plan,
            limits: &limits,
            ended,
            stdout: &stdout,
            stderr: &stderr,
            writable: &writable,
            passed: passed.as_ref().map(|(passed, allowed)| (passed, allowed.as_slice())),
            shared: shared.as_ref().map(|(text, _)| text.as_str()),
            caught: &caught,
        });
        let refused = passed.as_ref().is_some_and(|(passed, _)| passed.is_refused());
        let held = ended.code != Some(0) && ended.over.is_none() && !notes.is_empty() || refused;
        if let Some((text, true)) = shared
            && !notes.contains(&text)
        {
            notes.push(text);
        }
        notes.extend(enclosed.left_beside());
        notes.extend(enclosed.half_removed());
        if let (Some(Ok(agent)), Some(state)) = (self.shared().agent.get(), &self.shared().state) {
            let changed = agent.hold(&state.path().join("quarantine"), &plan.home);
            notes.extend(agent.notes.iter().take(MAX_SAID).map(|note| format!("Note: {note}.")));
            notes.extend(changed_settings(&changed));
            caught.extend(changed.into_iter().map(|one| (one.path.clone(), one)));
        }
        if !enclosed.weaker().is_empty() && self.shared().warn_once() {
            let rows = enclosed.weaker();
            notes.push(match &command.judged {
                Some(_) => weaker::note(plan.backend, rows),
                None => weaker::note_for_user(plan.backend, rows),
            });
        }
        let outcome = Outcome {
            truncated: output.as_ref().is_some_and(|o| o.stdout.is_cut() || o.stderr.is_cut()),
            stdout,
            stderr,
            exit_code: ended.code,
            signal: ended.signal,
            failed: ended.code != Some(0) || ended.over.is_some(),
            timed_out: ended.over == Some(Over::Time),
            over: ended.over,
            cwd: cwd.clone(),
            duration_ms: written.begun.elapsed().as_millis() as u64,
            notes,
            backend: plan.backend,
            network: plan.network != zonekeep_confine::plan::Network::Off
                || enclosed.weaker().iter().any(|row| row.rule == strength::Rule::NetworkOff),
            held: held || caught.iter().any(|(_, caught)| caught.fate != Fate::Reported),
            caught: caught.iter().map(|(path, caught)| CaughtFile::new(path, caught)).collect(),
        };
        let mut record = written.ended();
        record.path = cwd.into();
        record.outcome = "done".into();
        record.bytes = output.as_ref().map(|o| o.stdout.total() + o.stderr.total());
        if let Some(run) = &mut record.run {
            run.backend = Some(plan.backend.as_str().to_owned());
            run.exit_code = ended.code;
            run.signal = ended.signal;
            run.over = ended.over.map(|over| format!("{over:?}").to_lowercase());
            run.proved = plan.prove.then_some(true);
            run.weaker = enclosed.weaker().iter().map(weaker::lack).collect();
            if let Some((passed, _)) = passed {
                run.refused_more = passed.more;
                run.hosts = passed.hosts;
            }
            run.caught = caught.iter().map(|(path, caught)| caught_line(path, caught)).collect();
        }
        self.write_down(&record)
            .map_err(|source| Error::HalfRecorded { path: command.line(), source })?;
        Ok(outcome)
    }

    /// Returns what an agent calls a host path that it can write.
    fn agent_name(&self, host: &str) -> String {
        let path = std::path::PathBuf::from(host);
        self.agent_path(&path).map_or_else(|| host.to_owned(), |path| path.to_string())
    }
}

/// How many settings are named in one note.
const MAX_SAID: usize = 8;

/// Returns the notes about settings of an agent that it changed in its private copy.
fn changed_settings(changed: &[Caught]) -> Vec<String> {
    let held: Vec<&Caught> = changed.iter().filter(|one| one.id.is_some()).collect();
    let mut notes = Vec::new();
    if let [first, ..] = &held[..] {
        let named = held
            .iter()
            .take(MAX_SAID)
            .map(|one| format!("'{}' ({})", one.path, one.id.as_deref().unwrap_or_default()));
        let mut named: Vec<String> = named.collect();
        if held.len() > MAX_SAID {
            named.push(format!("{} more", held.len() - MAX_SAID));
        }
        let (count, changes) = (held.len(), if held.len() == 1 { "change" } else { "changes" });
        let id = first.id.as_deref().unwrap_or_default();
        notes.push(format!(
            "Note: {count} {changes} of settings held, yours are as before: {}. Look with \
             `zonekeep quarantine show {id}`, and take over with `zonekeep quarantine restore \
             {id} --replace`.",
            named.join(", ")
        ));
    }
    let lost = changed.iter().filter_map(|one| Some((&one.path, one.lost.as_ref()?)));
    notes.extend(
        lost.take(MAX_SAID)
            .map(|(path, why)| format!("Note: The change of '{path}' could not be kept: {why}.")),
    );
    notes
}

/// The record of a command that has begun.
#[derive(Debug)]
pub(super) struct Written {
    record: Record<'static>,
    begun: Instant,
    /// Once the command runs.
    runs: Option<Runs>,
}

impl Written {
    /// Returns the record as it is when the command has ended.
    fn ended(&self) -> Record<'static> {
        let duration_us = self.begun.elapsed().as_micros() as u64;
        Record { duration_us, ..self.record.clone() }
    }
}

/// A command that has the caller's own standard input, output and error.
#[derive(Debug)]
pub struct Attached {
    sandbox: Sandbox,
    command: Command,
    enclosed: Arc<Enclosed>,
    cwd: String,
    process: Process,
    written: Written,
}

impl Attached {
    /// Returns the process, to talk to it.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Settles and writes down how it ended; `over` is the limit that the
    /// caller ended it for.
    pub fn finish(
        self,
        ended: Result<Ended, Failed>,
        over: Option<Over>,
    ) -> Result<Outcome, Error> {
        let Attached { sandbox, command, enclosed, cwd, process, written } = self;
        match ended {
            Ok(mut ended) => {
                let delivered = process.deliver(None, None);
                drop(process);
                ended.over = over.or(ended.over);
                let concluded =
                    sandbox.conclude(written, &command, &enclosed, cwd, &ended, None, None);
                concluded.map(|mut outcome| {
                    if let Err(failed) = delivered {
                        outcome.notes.push(format!("Note: {failed}."));
                        outcome.failed = true;
                        // The command could not know: its success is not one.
                        outcome.exit_code = outcome.exit_code.filter(|code| *code != 0);
                    }
                    outcome
                })
            }
            Err(failed) => sandbox.ended_badly(written, &command, &enclosed, cwd, failed),
        }
    }
}

/// Puts the programs of the virtual environment that the user has activated first, as they are
/// outside. For an agent they stay last: a planted program could have the name of one that a
/// rule allows.
fn prefer_environment(env: &mut BTreeMap<OsString, OsString>) {
    let (Some(dir), Some(path)) = (env.get(OsStr::new("VIRTUAL_ENV")), env.get(OsStr::new("PATH")))
    else {
        return;
    };
    let programs = Path::new(dir).join("bin");
    let (mut first, others): (Vec<_>, Vec<_>) =
        std::env::split_paths(path).partition(|dir| *dir == programs);
    first.truncate(1);
    if let Ok(path) = std::env::join_paths(first.into_iter().chain(others)) {
        env.insert("PATH".into(), path);
    }
}

fn ended_with(code: i32) -> Ended {
    Ended { code: Some(code), signal: None, over: None, cpu_seconds: 0.0, peak_memory: 0, left: 0 }
}

/// Returns the status and words of shells for a program that cannot be run.
fn not_found(failed: &Failed, command: &Command) -> Option<(i32, String)> {
    let Failed::Step { step, errno: Some(errno), why } = failed else { return None };
    if step != "run" {
        return None;
    }
    let name = command.argv.first().map(|name| name.to_string_lossy()).unwrap_or_default();
    Some(match *errno {
        // ENOENT and ENOTDIR.
        2 | 20 => (127, format!("{name}: command not found\n")),
        // EACCES.
        13 => (126, format!("{name}: cannot be run\n")),
        _ => (126, format!("{name}: cannot be run: {why}\n")),
    })
}

fn unsettled(failed: &Failed) -> Caught {
    Caught {
        fate: Fate::Undone,
        path: "guarded files".to_owned(),
        pattern: "all".to_owned(),
        id: None,
        failed: Some(failed.to_string()),
        lost: None,
    }
}

fn caught_line(path: &str, caught: &Caught) -> String {
    let lost = caught.lost.as_ref().map(|why| format!(", not all kept: {why}"));
    let lost = lost.unwrap_or_default();
    match (&caught.id, &caught.failed) {
        (_, Some(why)) => format!("{path} ({}): not moved away: {why}{lost}", caught.pattern),
        (Some(id), None) => format!("{path} ({}): quarantine {id}{lost}", caught.pattern),
        (None, None) if caught.fate == Fate::Reported => {
            format!("{path} ({}): reported", caught.pattern)
        }
        (None, None) if !lost.is_empty() => format!("{path} ({}): removed{lost}", caught.pattern),
        (None, None) => format!("{path} ({}): put back", caught.pattern),
    }
}
