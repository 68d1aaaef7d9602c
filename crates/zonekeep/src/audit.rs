//! The audit log: every action and every refusal, one JSON object on a line.
//!
//! The log lies in the state directory, one file for each project. A record is
//! appended in one piece, so that processes appending at the same time lose and
//! interleave nothing (on a local file system; over NFS they can). What changes files is written
//! down twice under one id, before (`"outcome":"begun"`) and after, so that
//! nothing happens that could not be recorded; [`read`] puts the two together.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::state::StateDir;

/// How much room the line of a record is given at first.
const USUAL_LINE: usize = 512;

/// The line that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord<'a> {
    /// The file, where a file decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Cow<'a, str>>,
    /// The line, where a file decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What the rule says.
    pub says: Cow<'a, str>,
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord<'a> {
    /// Whether it was a yes.
    pub approved: bool,
    /// Who gave it.
    pub by: Cow<'a, str>,
    /// `once`, `session` or `pattern: …`.
    pub remember: Cow<'a, str>,
    /// Their words to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Cow<'a, str>>,
}

/// A command, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// The command line.
    pub command: String,
    /// How it was confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The limit that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Whether the self-probe held before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proved: Option<bool>,
    /// What is not fully enforced by the backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
    /// Guarded files that it made and that were moved away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caught: Vec<String>,
    /// The hosts that were connected to while it ran, and how much was said.
    /// What ended later is counted with the command that ends next. Where there are
    /// very many, those that an entry such as `*.example.org` stands for are counted
    /// together under it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRecord>,
    /// How many connections were refused beyond those that have a record of their
    /// own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_more: u64,
    /// How the rules came to their verdict, where they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedRecord>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A host that was connected to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// Its name and port.
    pub host: String,
    /// How many connections there were.
    pub connections: u64,
    /// Bytes that went there.
    pub bytes_out: u64,
    /// Bytes that came from there.
    pub bytes_in: u64,
}

/// What the rules said about an agent's command line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JudgedRecord {
    /// `bash` or `argv`.
    pub mode: String,
    /// Where it was to start, as the agent sees it.
    pub cwd: String,
    /// Whether the operating system would hold it to its boundaries.
    pub os_sandbox: bool,
    /// Whether it was to go on in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Why the line could not be taken apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<String>,
    /// The commands in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRecord>,
    /// What the rules gave it beyond what every command has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<String>,
}

/// What the rules said about one command of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// The command as written.
    pub text: String,
    /// `preApproved`, `ask` or `blocked`.
    pub approval: String,
    /// The rule.
    pub rule: RuleRecord<'static>,
    /// What of it needs consent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// A run of a worker, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkRecord {
    /// The worker.
    pub worker: String,
    /// Who called whom, from the first worker to this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Names of the files that it was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// The session whose run this one goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// How often the model was asked.
    #[serde(default)]
    pub turns: u64,
    /// How many tools it called.
    #[serde(default)]
    pub calls: u64,
    /// How many tokens the model read.
    #[serde(default)]
    pub input_tokens: u64,
    /// How many it wrote.
    #[serde(default)]
    pub output_tokens: u64,
    /// Why the run ended: `answer`, `max_turns`, `budget`, `time`, `stopped` or
    /// `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// One action, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<'a> {
    /// The session and a number in it.
    pub id: Cow<'a, str>,
    /// When the action was judged, in UTC.
    pub time: Cow<'a, str>,
    /// The session.
    pub session: Cow<'a, str>,
    /// The project directory.
    pub project: Cow<'a, str>,
    /// The worker; none for the project itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Cow<'a, str>>,
    /// The tool that was called.
    pub tool: Cow<'a, str>,
    /// What was to be done.
    pub action: Cow<'a, str>,
    /// The path as the agent sees it, normalised.
    pub path: Cow<'a, str>,
    /// The second path of a move or copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Cow<'a, str>>,
    /// `allow`, `ask` or `deny`.
    pub verdict: Cow<'a, str>,
    /// What decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRecord<'a>>,
    /// What was answered, where somebody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerRecord<'a>>,
    /// `asked` and `begun` for what has no end yet; `done`, `refused` or `failed`.
    pub outcome: Cow<'a, str>,
    /// The code of the refusal or failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
    /// The refusal or failure in words for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'a, str>>,
    /// How many bytes were read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The command, where one was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RunRecord>>,
    /// The worker's run, where one was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<WorkRecord>>,
    /// The zone that is not to be trusted and that this action read from, where
    /// it was the first to do so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taints: Option<Cow<'a, str>>,
    /// Whether the worker had read something that is not to be trusted before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl RuleRecord<'_> {
    /// Returns the rule with everything that it borrows.
    pub fn into_owned(self) -> RuleRecord<'static> {
        RuleRecord { file: self.file.map(own), line: self.line, says: own(self.says) }
    }
}

impl Record<'_> {
    /// Returns what the record is about: the command, the path, or else the tool.
    pub fn about(&self) -> &str {
        match (&self.run, &self.work) {
            (Some(run), _) => &run.command,
            (None, Some(work)) => &work.worker,
            (None, None) if self.path.is_empty() => &self.tool,
            (None, None) => &self.path,
        }
    }

    /// Returns the record with everything that it borrows.
    pub fn into_owned(self) -> Record<'static> {
        Record {
            id: own(self.id),
            time: own(self.time),
            session: own(self.session),
            project: own(self.project),
            worker: self.worker.map(own),
            tool: own(self.tool),
            action: own(self.action),
            path: own(self.path),
            to: self.to.map(own),
            verdict: own(self.verdict),
            rule: self.rule.map(RuleRecord::into_owned),
            answer: self.answer.map(|answer| AnswerRecord {
                approved: answer.approved,
                by: own(answer.by),
                remember: own(answer.remember),
                note: answer.note.map(own),
            }),
            outcome: own(self.outcome),
            code: self.code.map(own),
            error: self.error.map(own),
            bytes: self.bytes,
            run: self.run,
            work: self.work,
            taints: self.taints.map(own),
            tainted: self.tainted,
            duration_us: self.duration_us,
        }
    }
}

/// Where the log of a project lies.
pub fn log_path(state: &StateDir, project: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let digest = Sha256::digest(project.as_os_str().as_bytes());
    let key: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let name: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(40).collect();
    state.path().join("audit").join(format!("{name}-{key}.jsonl"))
}

/// A log that is open for appending.
#[derive(Debug)]
pub struct Log {
    state: StateDir,
    path: PathBuf,
    /// One writer at a time in this process, because of the position in the file.
    open: Mutex<OpenLog>,
}

/// The file that records go to, and what tells it from another one at its path.
#[derive(Debug)]
struct OpenLog {
    file: File,
    identity: (u64, u64),
}

impl Log {
    /// Opens the log of a project, and makes it where it is missing.
    pub fn open(state: &StateDir, project: &Path) -> io::Result<Self> {
        let path = log_path(state, project);
        let open = Mutex::new(open_log(state, &path)?);
        Ok(Log { state: state.clone(), path, open })
    }

    /// Appends one record. After a failure there is no part of it in the log. Where the file
    /// was removed or moved away, a new one is made in its place first, so that nothing is
    /// recorded where no one reads it.
    ///
    /// The system appends a write as a whole, so that processes need no lock.
    pub fn append(&self, record: &Record<'_>) -> io::Result<()> {
        let mut line = Vec::with_capacity(USUAL_LINE);
        serde_json::to_writer(&mut line, record)?;
        line.push(b'\n');
        let mut open = self.open.lock().map_err(|_| io::Error::other("a writer panicked"))?;
        let at_path = self.path.symlink_metadata().ok();
        if at_path.is_none_or(|facts| (facts.dev(), facts.ino()) != open.identity) {
            *open = open_log(&self.state, &self.path)?;
        }
        let file = &mut open.file;
        let written = file.write(&line)?;
        if written == line.len() {
            return Ok(());
        }
        // Part of a line is worse than none: it becomes a blank one. Others may
        // have appended since, so it cannot be cut off.
        let end = file.stream_position()?;
        let mut blank = vec![b' '; written];
        if let Some(last) = blank.last_mut() {
            *last = b'\n';
        }
        let whole = open_own(&self.state, &self.path, OpenOptions::new().write(true))?;
        whole.write_all_at(&blank, end.saturating_sub(written as u64))?;
        Err(io::ErrorKind::StorageFull.into())
    }
}

/// Opens a log for appending, and makes it where it is missing.
fn open_log(state: &StateDir, path: &Path) -> io::Result<OpenLog> {
    state.make("audit")?;
    let mut options = OpenOptions::new();
    let file = open_own(state, path, options.append(true).create(true).mode(0o600))?;
    let facts = file.metadata()?;
    Ok(OpenLog { identity: (facts.dev(), facts.ino()), file })
}

/// Opens a file of the user's own in the directory of the logs: no link, and nothing that
/// waits for a reader.
fn open_own(state: &StateDir, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let name = path.strip_prefix(state.path()).unwrap_or(path);
    state.open_own(name, options)
}

/// Reads records, oldest first. The two lines of a change count as one record.
///
/// A line that is not a record is passed over and counted.
pub fn read(input: impl io::Read) -> io::Result<(Vec<Record<'static>>, usize)> {
    let mut records: Vec<Record<'static>> = Vec::new();
    let mut bad = 0;
    for line in BufReader::new(input).split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(&line) {
            Some(record) => merge(&mut records, record),
            None => bad += 1,
        }
    }
    Ok((records, bad))
}

/// Hands over records one after the other as they are complete, and at the end
/// those that have no end; holds no more than those that wait for theirs.
///
/// A line that is not a record is passed over; returns how many there were.
pub fn each(input: impl io::Read, mut take: impl FnMut(Record<'static>)) -> io::Result<usize> {
    let mut open: BTreeMap<String, (usize, Record<'static>)> = BTreeMap::new();
    let mut bad = 0;
    for (number, line) in BufReader::new(input).split(b'\n').enumerate() {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let Some(record) = parse(&line) else {
            bad += 1;
            continue;
        };
        let begun = open.remove(&*record.id).map_or(number, |(begun, _)| begun);
        match &*record.outcome {
            "begun" | "asked" => {
                open.insert(record.id.to_string(), (begun, record));
            }
            _ => take(record),
        }
    }
    let mut left: Vec<_> = open.into_values().collect();
    left.sort_by_key(|(begun, _)| *begun);
    left.into_iter().for_each(|(_, record)| take(record));
    Ok(bad)
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Option<Record<'static>> {
    serde_json::from_slice(line).ok()
}

/// Adds a record, or completes the one that was begun under the same id.
fn merge(records: &mut Vec<Record<'static>>, record: Record<'static>) {
    let begun = records
        .iter_mut()
        .rev()
        .take(4096)
        .find(|held| held.id == record.id && matches!(&*held.outcome, "begun" | "asked"));
    match begun {
        Some(held) => *held = record,
        None => records.push(record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<'a>(id: &'a str, outcome: &'a str) -> Record<'a> {
        Record {
            id: id.into(),
            time: "2026-01-01T00:00:00Z".into(),
            session: "s".into(),
            project: "/p".into(),
            worker: None,
            tool: "write_file".into(),
            action: "write".into(),
            path: "/out/a".into(),
            to: None,
            verdict: "allow".into(),
            rule: None,
            answer: None,
            outcome: outcome.into(),
            code: None,
            error: None,
            bytes: Some(1),
            run: None,
            work: None,
            taints: None,
            tainted: false,
            duration_us: 5,
        }
    }

    #[test]
    fn what_is_appended_is_read_back_and_completed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("state"));
        let log = Log::open(&state, Path::new("/p")).unwrap();
        for (id, outcome) in [("1", "begun"), ("2", "begun"), ("1", "done"), ("3", "refused")] {
            log.append(&record(id, outcome)).unwrap();
        }
        let file = File::open(log_path(&state, Path::new("/p"))).unwrap();
        let (records, bad) = read(file).unwrap();
        let shown: Vec<_> = records.iter().map(|r| (&*r.id, &*r.outcome)).collect();
        assert_eq!(shown, [("1", "done"), ("2", "begun"), ("3", "refused")]);
        assert_eq!(bad, 0);
    }

    #[test]
    fn records_are_handed_over_when_they_are_complete() {
        let lines =
            [("1", "asked"), ("2", "begun"), ("3", "refused"), ("1", "begun"), ("1", "done")];
        let mut text = String::from("not a record\n\n");
        for (id, outcome) in lines {
            text += &serde_json::to_string(&record(id, outcome)).unwrap();
            text.push('\n');
        }
        let mut shown = Vec::new();
        let bad = each(text.as_bytes(), |r| shown.push(format!("{} {}", r.id, r.outcome)));
        assert_eq!(bad.unwrap(), 1);
        assert_eq!(shown, ["3 refused", "1 done", "2 begun"]);
    }

    #[test]
    fn a_log_that_is_taken_away_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("state"));
        let log = Log::open(&state, Path::new("/p")).unwrap();
        let path = log_path(&state, Path::new("/p"));
        let ids =
            || read(File::open(&path).unwrap()).unwrap().0.into_iter().map(|r| r.id.to_string());
        log.append(&record("1", "done")).unwrap();
        std::fs::remove_file(&path).unwrap();
        log.append(&record("2", "done")).unwrap();
        assert!(ids().eq(["2"]), "removed");
        std::fs::rename(&path, dir.path().join("moved")).unwrap();
        log.append(&record("3", "done")).unwrap();
        assert!(ids().eq(["3"]), "moved");
        std::fs::rename(state.path(), dir.path().join("elsewhere")).unwrap();
        log.append(&record("4", "done")).unwrap();
        assert!(ids().eq(["4"]), "the directory was moved");
        // Neither a link nor a pipe stands in for it.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(dir.path().join("target"), &path).unwrap();
        assert!(log.append(&record("5", "done")).is_err() && !dir.path().join("target").exists());
        std::fs::remove_file(&path).unwrap();
        let pipe = rustix::fs::CWD;
        rustix::fs::mkfifoat(pipe, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        assert!(log.append(&record("6", "done")).is_err(), "a pipe without a reader");
        assert!(Log::open(&state, Path::new("/p")).is_err());
        std::fs::remove_file(&path).unwrap();
        log.append(&record("7", "done")).unwrap();
        assert!(ids().eq(["7"]));
    }

    #[test]
    fn only_the_user_can_read_the_log() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("state"));
        Log::open(&state, Path::new("/p")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&log_path(&state, Path::new("/p"))), 0o600);
        assert_eq!(mode(state.path()), 0o700);
    }

    #[test]
    fn projects_of_one_name_have_logs_of_their_own() {
        let state = StateDir::at("/s");
        let one = log_path(&state, Path::new("/a/app"));
        assert_ne!(one, log_path(&state, Path::new("/b/app")));
        assert!(one.to_string_lossy().starts_with("/s/audit/app-"));
    }
}
