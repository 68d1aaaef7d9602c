//! What an agent wants to run: judged, asked about, confined and written down.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use zonekeep_files::Fault;
use zonekeep_policy::denial::shown;
use zonekeep_policy::hosts::PresetHosts;
use zonekeep_policy::judge::Cause;
use zonekeep_policy::policy::Network;
use zonekeep_policy::shell::{
    self, CommandJudgement, CommandPermit, CommandQuestion, CommandText, CommandVerdict, Decided,
    Decision, Request, ShellMode,
};
use zonekeep_policy::{AgentPath, Approval, At, Denial, Grant, Rule, Spot, Verb};

use super::{Command, Confinement, Judged, Outcome, exit};
use crate::approve::{self, CommandAsked, Key, Part, Remember};
use crate::ask;
use crate::audit::{JudgedRecord, PartRecord, Record, RuleRecord, RunRecord};
use crate::error::Error;
use crate::perform::{name_what_exists, refused, rule_record};
use crate::sandbox::Sandbox;

/// How long a command of an agent may take that does not say.
const USUAL_TIME: Duration = Duration::from_secs(30);

/// Variables by which a shell that starts runs something else first, or reads
/// the line in another way than it was judged.
const FOR_SHELLS: &[&str] =
    &["BASHOPTS", "BASH_COMPAT", "BASH_ENV", "ENV", "IFS", "POSIXLY_CORRECT", "PS4", "SHELLOPTS"];

/// Whether `/bin/bash` reads a line as it is judged: macOS has a much older one.
const BASH_IS_KNOWN: bool = cfg!(target_os = "linux");

/// What an agent wants to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellCall {
    /// The command line.
    pub command: String,
    /// Where it starts, as the agent writes it; the working directory when left
    /// out.
    pub cwd: Option<String>,
    /// How long it may take; half a minute when left out. In the background as
    /// long as the rules allow.
    pub timeout: Option<Duration>,
    /// Whether it goes on while the agent does something else.
    pub background: bool,
    /// The hosts that it may reach, out of those that are allowed. All of them
    /// when this and `managers` are left out.
    pub hosts: Option<Vec<String>>,
    /// The package managers whose hosts it may reach, out of those that are
    /// allowed.
    pub managers: Option<Vec<String>>,
}

impl ShellCall {
    /// Returns a call that runs a line.
    pub fn new(command: impl Into<String>) -> Self {
        ShellCall { command: command.into(), ..ShellCall::default() }
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ran {
    /// It has ended.
    Ended(Box<Outcome>),
    /// It goes on under this number.
    Background(u64),
}

/// A line that was judged.
pub(crate) struct Judging {
    pub(crate) mode: ShellMode,
    pub(crate) confinement: Confinement,
    pub(crate) request: Request,
    pub(crate) judgement: CommandJudgement,
}

/// A line that may run.
struct Permitted {
    permit: CommandPermit,
    /// What it reaches: never more than it was permitted.
    network: Network,
    mode: ShellMode,
    confinement: Confinement,
}

impl Sandbox {
    /// Runs a command line of an agent: as the rules say, at once, after a
    /// question, or never.
    pub fn shell(&self, call: &ShellCall) -> Result<Ran, Error> {
        self.now_for_command().shell_now(call)
    }

    /// Fails for a directory to start in that is missing, or is none.
    fn check_start(&self, given: &str, path: &AgentPath) -> Result<(), Error> {
        let Some(Spot::In { mount, path }) = self.grant().view().locate(path) else {
            return Ok(());
        };
        let why = match self.store(mount).map(|store| store.open_dir(&path)) {
            Some(Err(Fault::NotFound { .. })) => "there is no such directory",
            Some(Err(Fault::NotADirectory)) => "it is not a directory",
            // A link is the business of the shell that enters it.
            _ => return Ok(()),
        };
        Err(self.bad_call("shell", format!("cwd '{}': {why}", shown(given))))
    }

    fn shell_now(&self, call: &ShellCall) -> Result<Ran, Error> {
        let begun = Instant::now();
        if call.background && self.background().is_full() {
            let reason = "too many commands run in the background. Stop one with shell_job first.";
            return Err(Error::BadArguments {
                tool: "shell".to_owned(),
                reason: reason.to_owned(),
            });
        }
        let cwd = match &call.cwd {
            Some(given) => {
                let path = self.target("shell", Verb::Info, given)?.path;
                self.check_start(given, &path)?;
                path
            }
            None => self.working_dir().clone(),
        };
        let mut record = self.record("shell", Verb::Info, cwd.to_string(), None);
        record.action = "run".into();
        record.run =
            Some(Box::new(RunRecord { command: recorded(&call.command), ..RunRecord::default() }));
        let mut record = record.into_owned();
        let judged = self.judge_here(&call.command, &cwd);
        let permit = judged.and_then(|mut judging| {
            if !self.is_considered() {
                judging.judgement = judging.judgement.unread();
            }
            note(&mut record, call, &judging);
            self.permit(judging, call, &mut record)
        });
        let permitted = match permit {
            Ok(permitted) => permitted,
            Err(error @ Error::Open(_)) => return Err(error),
            Err(error) => {
                record.duration_us = begun.elapsed().as_micros() as u64;
                match &error {
                    Error::Denied(denial) => refused(&mut record, denial),
                    error => {
                        record.outcome = "failed".into();
                        record.code = Some(error.code().into());
                        record.error = Some(error.detail().unwrap_or_default().to_owned().into());
                    }
                }
                self.write_down(&record).map_err(|source| Error::Unrecorded {
                    verb: "run",
                    path: call.command.clone(),
                    source,
                })?;
                return Err(error);
            }
        };
        let command = command(permitted, call);
        let written = self.begin_as(record, &command)?;
        match call.background {
            true => self.background_begun(written, &command).map(Ran::Background),
            false => self.run_begun(written, &command, None).map(|o| Ran::Ended(Box::new(o))),
        }
    }

    /// Judges a line as it would be judged on this machine. Fails where it could not
    /// run here, so that the user is not asked about it.
    pub(crate) fn judge_here(&self, line: &str, cwd: &AgentPath) -> Result<Judging, Error> {
        let presumed = Confinement::presumed(self.grant().backend().value);
        let judging = self.judge_line(line, cwd, presumed)?;
        // A refused command never starts a sandbox.
        if matches!(judging.judgement.verdict, CommandVerdict::Deny(_)) {
            return Ok(judging);
        }
        let reached = self.reached().map_err(|error| error.about(line))?;
        // The rules are about the directory that it really starts in.
        let (start, _) = self.start_dir(&reached.plan, Some(&cwd.to_string()))?;
        let start = AgentPath::absolute(&start).unwrap_or_else(|_| cwd.clone());
        if reached.confinement == presumed && start == *cwd {
            return Ok(judging);
        }
        Ok(self.judge_line(line, &start, reached.confinement)?)
    }

    /// Judges a line, given how far the operating system would confine it.
    pub(crate) fn judge_line(
        &self,
        line: &str,
        cwd: &AgentPath,
        confinement: Confinement,
    ) -> Result<Judging, Denial> {
        judge_line(self.grant(), line, cwd, confinement)
    }

    /// Writes down that a background command was sent a signal.
    pub(crate) fn note_signal(&self, job: u64, signal: &str, sent: bool) -> Result<(), Error> {
        let mut record = self.record("shell_job", Verb::Info, String::new(), None);
        record.action = "signal".into();
        record.outcome = if sent { "done".into() } else { "failed".into() };
        let command = format!("{signal} job {job}");
        record.run = Some(Box::new(RunRecord { command: command.clone(), ..RunRecord::default() }));
        self.write_down(&record).map_err(|source| Error::HalfRecorded { path: command, source })
    }

    /// Returns the rule that blocks a command which somebody else decided on.
    pub(super) fn blocks(&self, command: &Command) -> Option<(Denial, Rule)> {
        let words = command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        blocks(self.grant(), words)
    }

    fn permit(
        &self,
        judging: Judging,
        call: &ShellCall,
        record: &mut Record<'static>,
    ) -> Result<Permitted, Error> {
        let Judging { mode, confinement, judgement, .. } = judging;
        let CommandJudgement { verdict, rule, decision } = judgement;
        let reachable = match &verdict {
            CommandVerdict::Allow(permit) => Some(permit.network()),
            CommandVerdict::Ask(question) => Some(question.network()),
            CommandVerdict::Deny(_) => None,
        };
        // What a call chooses for itself is out of what it could have.
        let chosen = reachable.map(|network| {
            network.chosen(call.hosts.as_deref(), call.managers.as_deref()).map_err(|reason| {
                Denial::CommandUnfit { line: call.command.clone(), reason: reason.to_string() }
            })
        });
        let network = chosen.transpose()?.unwrap_or_default();
        let permit = match verdict {
            CommandVerdict::Allow(permit) => permit,
            CommandVerdict::Deny(mut denial) => {
                name_what_exists(&mut denial);
                return Err(denial.into());
            }
            CommandVerdict::Ask(question) => {
                self.ask_command(question, &rule, &decision, mode, call, record)?
            }
        };
        Ok(Permitted { permit, network, mode, confinement })
    }

    /// Puts a question about a command, unless the answer is remembered.
    fn ask_command(
        &self,
        question: CommandQuestion,
        rule: &Rule,
        decision: &Decision,
        mode: ShellMode,
        call: &ShellCall,
        record: &mut Record<'static>,
    ) -> Result<CommandPermit, Error> {
        let cwd = question.request().cwd.to_string();
        let gets = format!("{:?}", hosts(question.granted()));
        let worker = self.grant().worker().map(str::to_owned);
        let line = Key::Line {
            worker: worker.clone(),
            mode: mode.as_str(),
            line: call.command.clone(),
            cwd: cwd.clone(),
            background: call.background,
            gets: gets.clone(),
        };
        let pattern = |pattern: &str| Key::Pattern {
            worker: worker.clone(),
            pattern: pattern.to_owned(),
            // The same words do something else in another directory.
            cwd: cwd.clone(),
            background: call.background,
            gets: gets.clone(),
        };
        let remembered = |recall: &dyn Fn(Key) -> Option<String>| {
            recall(line.clone()).or_else(|| {
                // Every command that needs a yes must have one.
                let asked = decision.parts.iter().filter(|part| needs_yes(part));
                let held = asked.map(|part| recall(pattern(&shell::suggest(part)?)));
                let clear = !decision.must_ask
                    && !decision.degraded
                    && decision.unparsed.is_none()
                    && gives_alike(decision);
                held.collect::<Option<Vec<_>>>().filter(|_| clear)?.pop()
            })
        };
        if self.remembers(remembered, record) {
            return Ok(question.approved());
        }
        let unasked = |reason: String| {
            let (line, effects) = (call.command.clone(), decision.effects());
            Denial::CommandUnasked { line, reason, effects }
        };
        if decision.must_ask && !self.is_considered() {
            let reason = "only the user can tell whether a rule forbids it";
            return Err(unasked(reason.to_owned()).into());
        }
        let asked = CommandAsked {
            line: call.command.clone(),
            cwd: cwd.clone(),
            parts: decision.parts.iter().map(asked_part).collect(),
            network: network_words(question.granted(), &self.grant().network().value),
            pattern: offer(decision),
            background: call.background,
        };
        let request = approve::Request {
            worker: worker.clone(),
            reasons: match &rule.at {
                At::Default => question.reasons.clone(),
                _ => ask::reasons(&question.reasons, rule),
            },
            ..approve::Request::of_command(record.id.to_string(), "shell", asked)
        };
        let summary = request.summary();
        let keep = |remember: &Remember| match remember {
            Remember::Once => None,
            Remember::Session => Some((line.clone(), summary)),
            Remember::Pattern(given) => Some((pattern(given), format!("run {given} …"))),
        };
        match self.put(request, keep, record) {
            Ok(()) => Ok(question.approved()),
            Err(not_yes) => Err(not_yes.error(
                |note| Denial::CommandDeclined { line: call.command.clone(), note },
                unasked,
            )),
        }
    }
}

/// Returns a command as it is written down: what is too long to run is not kept
/// whole either.
fn recorded(line: &str) -> String {
    match line.len() > shell::MAX_TEXT {
        true => format!("{}…", line.chars().take(1000).collect::<String>()),
        false => line.to_owned(),
    }
}

/// Judges a line under a grant, given how far the operating system would confine
/// it.
pub(crate) fn judge_line(
    grant: &Grant,
    line: &str,
    cwd: &AgentPath,
    confinement: Confinement,
) -> Result<Judging, Denial> {
    let mode = mode(grant, confinement);
    let unfit = |reason: String| Denial::CommandUnfit { line: line.to_owned(), reason };
    let request = match mode {
        ShellMode::Bash if !BASH_IS_KNOWN => {
            return Err(unfit(
                "the shell of this system reads lines in another way than they are judged"
                    .to_owned(),
            ));
        }
        ShellMode::Bash if confinement == Confinement::Nothing => {
            return Err(unfit(
                "the shell runs only where the operating system confines it, which it does \
                 not here"
                    .to_owned(),
            ));
        }
        ShellMode::Bash => Request::line(line, cwd.clone()),
        ShellMode::Argv => {
            let words = shell::split(line).map_err(|error| unfit(error.to_string()))?;
            Request::words(words, cwd.clone())
        }
    };
    let judgement = shell::judge_command(grant, &request, confinement.is_full());
    Ok(Judging { mode, confinement, request, judgement })
}

/// Returns how the text of a command is understood.
pub(crate) fn mode(grant: &Grant, confinement: Confinement) -> ShellMode {
    match grant.shell().mode() {
        Some(mode) => mode.value,
        None if confinement != Confinement::Nothing && BASH_IS_KNOWN => ShellMode::Bash,
        None => ShellMode::Argv,
    }
}

/// Returns the rule by which a line was not fit to be judged.
pub(crate) fn mode_rule(grant: &Grant, confinement: Confinement) -> RuleRecord<'static> {
    let place = grant.shell().mode().and_then(|mode| mode.at.file_line());
    RuleRecord {
        file: place.map(|(file, _)| file.to_owned().into()),
        line: place.map(|(_, line)| line),
        says: format!("shell.mode: {}", mode(grant, confinement)).into(),
    }
}

/// Returns the rule that blocks a command which somebody else decided on.
pub(crate) fn blocks(grant: &Grant, words: Vec<String>) -> Option<(Denial, Rule)> {
    let cwd = grant.view().working_dir();
    let (says, at) = shell::blocked_argv(grant, cwd, &words)?;
    let line = Request::words(words, cwd.clone()).shown();
    let denial = Denial::CommandBlocked { line, allowed: Vec::new() };
    Some((denial, Rule { at, says, cause: Cause::Command }))
}

/// Has programs speak English, whatever characters they use: what they say is
/// explained to the agent.
pub(super) fn speak_plainly(env: &mut BTreeMap<OsString, OsString>) {
    env.remove(OsStr::new("LANGUAGE"));
    if let Some(all) = env.remove(OsStr::new("LC_ALL")) {
        env.insert("LANG".into(), all);
    }
    env.insert("LC_MESSAGES".into(), "C".into());
}

/// Adds a setting of git: what looks like a repository is none unless it is named
/// so. Files of any name can make one, and its configuration names programs.
pub(super) fn distrust(env: &mut BTreeMap<OsString, OsString>) {
    let count = env.get(OsStr::new("GIT_CONFIG_COUNT")).and_then(|count| count.to_str());
    let count: u32 = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    env.insert(format!("GIT_CONFIG_KEY_{count}").into(), "safe.bareRepository".into());
    env.insert(format!("GIT_CONFIG_VALUE_{count}").into(), "explicit".into());
    env.insert("GIT_CONFIG_COUNT".into(), (count + 1).to_string().into());
}

/// Makes the environment one in which bash reads a line as it was judged.
pub(super) fn prepare(env: &mut BTreeMap<OsString, OsString>) {
    env.retain(|name, _| {
        let name = name.to_string_lossy();
        !FOR_SHELLS.contains(&&*name) && !name.starts_with("BASH_FUNC_")
    });
    // In other encodings, what is a letter here can end in a sign of the shell's.
    let ours = |value: &OsString| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        let charset = value.split_once('.').map(|(_, charset)| charset);
        charset.is_none_or(|charset| charset.starts_with("utf-8") || charset.starts_with("utf8"))
            && (charset.is_some() || matches!(&*value, "" | "c" | "posix"))
    };
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    if names.iter().any(|name| env.get(&OsString::from(name)).is_some_and(|value| !ours(value))) {
        env.insert("LC_ALL".into(), "C.UTF-8".into());
    }
}

fn command(permitted: Permitted, call: &ShellCall) -> Command {
    let Permitted { permit, network, mode, confinement } = permitted;
    let argv = match permit.text() {
        CommandText::Words(words) => words.clone(),
        CommandText::Line(line) => {
            let shell = ["/bin/bash", "--norc", "--noprofile", "-c"];
            // A line that begins with a dash is no option.
            shell.into_iter().chain(["--", line.as_str()]).map(str::to_owned).collect()
        }
    };
    let judged = Judged {
        text: call.command.clone(),
        bash: mode == ShellMode::Bash,
        network,
        secrets: permit.has_secrets(),
        guarded: permit.guarded().to_vec(),
        confinement,
    };
    let mut command = Command::judged(argv, judged);
    command.cwd = Some(permit.cwd().to_string());
    match (call.timeout, call.background) {
        (Some(timeout), _) => command.timeout(timeout),
        (None, false) => command.timeout(USUAL_TIME),
        (None, true) => command,
    }
}

/// Notes how the rules came to their verdict.
fn note(record: &mut Record<'static>, call: &ShellCall, judging: &Judging) {
    let Judging { mode, confinement, request, judgement } = judging;
    record.rule = Some(rule_record(&judgement.rule).into_owned());
    record.verdict = verdict_word(&judgement.verdict).into();
    if let Some(run) = &mut record.run {
        run.judged = Some(JudgedRecord {
            mode: mode.as_str().to_owned(),
            cwd: request.cwd.to_string(),
            os_sandbox: confinement.is_full(),
            background: call.background,
            unparsed: judgement.decision.unparsed.as_ref().map(ToString::to_string),
            parts: judgement.decision.parts.iter().map(part_record).collect(),
            grants: hosts(granted(judgement)),
        });
    }
}

/// Returns what a line gets beyond what every command has, once it may run.
pub(crate) fn granted(judgement: &CommandJudgement) -> &Network {
    match &judgement.verdict {
        CommandVerdict::Allow(permit) => permit.granted(),
        CommandVerdict::Ask(question) => question.granted(),
        CommandVerdict::Deny(_) => &judgement.decision.grants,
    }
}

/// Returns the word for a verdict.
pub(crate) fn verdict_word(verdict: &CommandVerdict) -> &'static str {
    match verdict {
        CommandVerdict::Allow(_) => "allow",
        CommandVerdict::Ask(_) => "ask",
        CommandVerdict::Deny(_) => "deny",
    }
}

/// Returns what the rules said about one command.
pub(crate) fn part_record(part: &Decided) -> PartRecord {
    let place = part.at.file_line();
    PartRecord {
        text: part.command.text.clone(),
        approval: part.approval.to_string(),
        rule: RuleRecord {
            file: place.map(|(file, _)| file.to_owned().into()),
            line: place.map(|(_, line)| line),
            says: part.says.clone().into(),
        },
        why: why(part),
    }
}

/// Returns what a rule says, with the line where it stands, if it stands anywhere.
fn with_line(says: &str, at: &At) -> String {
    match at {
        At::Default => says.to_owned(),
        at => format!("{says} ({at})"),
    }
}

fn asked_part(part: &Decided) -> Part {
    Part {
        text: part.command.text.clone(),
        approval: part.approval.to_string(),
        why: why(part),
        rule: Some(with_line(&part.says, &part.at)),
    }
}

/// Returns what of a command needs consent, beside the rule.
pub(crate) fn why(part: &Decided) -> Vec<String> {
    let hazards = part.hazards.iter().map(|hazard| format!("'{}' {}", hazard.what, hazard.why));
    let mut why: Vec<String> = match part.contained || !part.leaves.is_empty() {
        // The rule says the first.
        true => part.leaves.iter().skip(1).map(ToString::to_string).collect(),
        false => hazards.chain(part.unknown.clone()).collect(),
    };
    if part.must_ask {
        why.push("a rule that blocks may be for it".to_owned());
    }
    why
}

/// Returns whether the line gets the same without a person's yes to all of it. A yes to
/// one command of it is none for what the others would reach then.
fn gives_alike(decision: &Decision) -> bool {
    decision.grants == decision.approved_grants && !decision.contained
}

fn needs_yes(part: &Decided) -> bool {
    part.approval == Approval::Ask && !part.wrapper
}

/// Returns the pattern that a yes can be given for, where there is just one.
fn offer(decision: &Decision) -> Option<String> {
    if decision.must_ask || decision.degraded || decision.unparsed.is_some() {
        return None;
    }
    if !gives_alike(decision) {
        return None;
    }
    let asked = decision.parts.iter().filter(|part| needs_yes(part));
    let mut offers = asked.map(shell::suggest).collect::<Option<Vec<_>>>()?;
    offers.dedup();
    let first = offers.pop()?;
    offers.is_empty().then_some(first)
}

/// Returns what a rule gives, in words.
pub(crate) fn hosts(network: &Network) -> Option<String> {
    match network {
        Network::Off => None,
        Network::On => Some("all hosts".to_owned()),
        Network::Hosts(hosts) => {
            let names = exit::allowed(network, &PresetHosts::new());
            let sets = hosts.presets.iter().map(|preset| format!("those of {}", preset.value));
            Some(names.into_iter().chain(sets).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns the network that a command would get, for the person who is asked.
pub(crate) fn network_words(granted: &Network, usual: &Network) -> Option<String> {
    hosts(granted).or_else(|| hosts(usual))
}
