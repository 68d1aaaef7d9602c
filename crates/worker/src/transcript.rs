//! What was said in a run, on disk as it happens, so that a run which was
//! killed can go on.
//!
//! One file for each session, in the state directory: a line of JSON for how it
//! began, one for each turn that was completed, one for how it ended. A line
//! that is not whole is as good as none.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use zonekeep::StateDir;

use crate::model::{Message, Usage};
use crate::run::Ended;

/// How large a file is that is read back.
const MAX_FILE: u64 = 512 << 20;
/// How long files are kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// There is no such run.
    #[error("there is no run of session '{session}' to go on with")]
    Unknown {
        /// The session.
        session: String,
    },
    /// It belongs to another project.
    #[error("the run of session '{session}' belongs to another project: {project}")]
    Elsewhere {
        /// The session.
        session: String,
        /// That project.
        project: String,
    },
    /// What is there is no run.
    #[error("the run of session '{session}' cannot be read: {why}")]
    Unreadable {
        /// The session.
        session: String,
        /// What is wrong.
        why: String,
    },
}

/// How far a conversation has come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The worker.
    pub worker: String,
    /// The project's directory.
    pub project: String,
    /// The model.
    pub model: String,
    /// What was said.
    pub messages: Vec<Message>,
    /// How often the model was asked.
    pub turns: u64,
    /// What that cost, with the workers below.
    pub usage: Usage,
    /// By what the worker was tainted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<String>,
    /// How it ended, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
enum Line<'a> {
    Start {
        version: u32,
        #[serde(flatten)]
        progress: Progress,
    },
    More {
        messages: std::borrow::Cow<'a, [Message]>,
        turns: u64,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tainted: Option<String>,
    },
    End {
        ended: Ended,
    },
}

/// The file of a run that goes on.
#[derive(Debug)]
pub(crate) struct Transcript(fs::File);

impl Transcript {
    /// Begins a file, and removes those that are old.
    pub(crate) fn begin(state: &StateDir, session: &str, from: &Progress) -> io::Result<Self> {
        let dir = state.make("runs")?;
        remove_old(&dir);
        let path = dir.join(format!("{session}.jsonl"));
        let file = OpenOptions::new().create_new(true).append(true).mode(0o600).open(path)?;
        let mut transcript = Transcript(file);
        transcript.add(&Line::Start { version: 1, progress: from.clone() })?;
        Ok(transcript)
    }

    /// Adds what was said since; `now` is where the conversation stands.
    pub(crate) fn more(&mut self, messages: &[Message], now: &Progress) -> io::Result<()> {
        let messages = messages.into();
        let Progress { turns, usage, tainted, .. } = now.clone();
        self.add(&Line::More { messages, turns, usage, tainted })
    }

    /// Adds how it ended.
    pub(crate) fn end(&mut self, ended: Ended) -> io::Result<()> {
        self.add(&Line::End { ended })
    }

    fn add(&mut self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.0.write_all(&text)
    }
}

/// Reads how far the run of a session has come.
pub(crate) fn read(
    state: &StateDir,
    session: &str,
    project: &Path,
) -> Result<Progress, ResumeError> {
    let unknown = || ResumeError::Unknown { session: session.to_owned() };
    if session.is_empty() || !session.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    let path = state.path().join("runs").join(format!("{session}.jsonl"));
    let file = fs::File::open(&path).map_err(|_| unknown())?;
    let unreadable = |why: String| ResumeError::Unreadable { session: session.to_owned(), why };
    let mut text = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut text).map_err(|e| unreadable(e.to_string()))?;
    if text.len() as u64 > MAX_FILE {
        return Err(unreadable(format!("it is larger than {MAX_FILE} bytes")));
    }
    let progress = replay(&text).ok_or_else(|| unreadable("it has no beginning".to_owned()))?;
    if progress.project != project.display().to_string() {
        let (session, project) = (session.to_owned(), progress.project);
        return Err(ResumeError::Elsewhere { session, project });
    }
    Ok(progress)
}

/// Puts the lines of a file together, up to the first that is not whole.
fn replay(text: &[u8]) -> Option<Progress> {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n")?;
        serde_json::from_slice::<Line<'_>>(line).ok()
    });
    let Some(Some(Line::Start { version: 1, mut progress })) = lines.next() else { return None };
    for line in lines {
        match line {
            Some(Line::More { messages, turns, usage, tainted }) => {
                progress.messages.extend(messages.into_owned());
                (progress.turns, progress.usage) = (turns, usage);
                progress.tainted = tainted.or(progress.tainted);
                progress.ended = None;
            }
            Some(Line::End { ended }) => progress.ended = Some(ended),
            _ => break,
        }
    }
    Some(progress)
}

fn remove_old(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let age = entry.metadata().and_then(|facts| facts.modified()).ok();
        let age = age.and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned(), files: Vec::new() }
    }

    #[test]
    fn what_was_written_is_read_back_up_to_the_last_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("state"));
        let start = Progress {
            worker: "main".to_owned(),
            project: "/p".to_owned(),
            messages: vec![user("a")],
            ..Progress::default()
        };
        let mut transcript = Transcript::begin(&state, "0a", &start).unwrap();
        let usage = Usage { input: 7, output: 2, cached: 0 };
        let now = Progress { turns: 1, usage, tainted: Some("x".to_owned()), ..start.clone() };
        transcript.more(&[user("b"), user("c")], &now).unwrap();
        let path = state.path().join("runs/0a.jsonl");
        let want = Progress { messages: ["a", "b", "c"].map(user).to_vec(), ..now };
        let got = |project: &str| read(&state, "0a", Path::new(project));
        assert_eq!(got("/p").unwrap(), want);
        assert!(matches!(got("/q"), Err(ResumeError::Elsewhere { .. })));
        // Killed while it wrote.
        let mut text = fs::read(&path).unwrap();
        let whole = text.len();
        text.extend_from_slice(b"{\"line\":\"more\",\"messages\":[],\"turns\":9");
        for end in whole..=text.len() {
            fs::write(&path, &text[..end]).unwrap();
            assert_eq!(got("/p").unwrap(), want, "{end}");
        }
        for end in 0..20 {
            fs::write(&path, &text[..end]).unwrap();
            assert!(matches!(got("/p"), Err(ResumeError::Unreadable { .. })), "{end}");
        }
        for session in ["", "../0a", "0A/..", "zz", "0b"] {
            let got = read(&state, session, Path::new("/p"));
            assert!(matches!(got, Err(ResumeError::Unknown { .. })), "{session}");
        }
    }
}
