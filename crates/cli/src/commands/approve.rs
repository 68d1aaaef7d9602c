//! `zonekeep approve`: answers the questions of running sessions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use zonekeep::approve::socket::{self, Answering, Client, How, Notice};
use zonekeep::approve::{Answer, Approver, Request, Terminal, listed, visible};

use crate::failure::{Failure, NEGATIVE, UNSAFE, answer_in_json};
use crate::output;
use crate::project_args::state;

/// How often sessions are looked for that have begun meanwhile.
const LOOK: Duration = Duration::from_secs(2);

/// Answer the questions of sessions that were started with --approve socket
///
/// Attaches to all such sessions of yours, shows each question on the terminal
/// and sends your answer, until you stop it. What you leave open goes on waiting.
///
/// Examples:
///   zonekeep approve
///   zonekeep approve --list
///   zonekeep approve 0a1b2c3d4e5f6071-3 no --note 'write to /draft instead'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Answer this question only
    #[arg(requires = "answer")]
    id: Option<String>,
    /// The answer to it
    #[arg(value_enum)]
    answer: Option<Word>,
    /// Words for the agent
    #[arg(long, value_name = "TEXT", requires = "id")]
    note: Option<String>,
    /// Show the questions that wait, and end
    #[arg(long, conflicts_with = "id")]
    list: bool,
    /// Show the questions that wait as JSON, one a line, and end
    #[arg(long)]
    json: bool,
    /// Attach to this socket instead of looking for sessions
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// An answer as it is typed.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Yes, this once
    Yes,
    /// No
    No,
    /// Yes, and do not ask about this again in its session
    Session,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    match (&args.id, args.answer) {
        (Some(id), Some(word)) => answer(&args, id, word),
        _ if args.list || args.json => list(&args),
        _ => attend(&args),
    }
}

impl Args {
    fn sockets(&self) -> Result<Vec<PathBuf>, Failure> {
        match &self.socket {
            Some(path) => Ok(vec![path.clone()]),
            None => Ok(socket::running(&state()?)),
        }
    }

    /// Attaches to all sessions, and reads what waits there.
    fn attach(&self) -> Result<Vec<(Client, Vec<Request>)>, Failure> {
        let mut all = Vec::new();
        for path in self.sockets()? {
            match Client::attach(&path).and_then(waiting) {
                Ok(attached) => all.push(attached),
                Err(error) if self.socket.is_some() => return Err(unattached(&path, &error)),
                // It may have ended just now.
                Err(error) => tell!("warning: {}", unattached(&path, &error).error),
            }
        }
        Ok(all)
    }
}

fn waiting(mut client: Client) -> std::io::Result<(Client, Vec<Request>)> {
    let mut requests = Vec::new();
    while requests.len() < client.pending {
        match client.next()? {
            Some(Notice::Request(request)) => requests.push(*request),
            Some(_) => {}
            None => break,
        }
    }
    Ok((client, requests))
}

fn unattached(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::message(UNSAFE, format!("cannot attach to {path}: {error}"))
        .hint("a session that was started with `--approve socket` says where it listens")
}

/// Prints what waits.
fn list(args: &Args) -> Result<ExitCode, Failure> {
    let mut any = false;
    for (client, requests) in args.attach()? {
        for request in requests {
            any = true;
            if args.json {
                let (session, project) = (&client.session, &client.project);
                output::json_line(
                    &json!({ "session": session, "project": project, "request": request }),
                )?;
            } else {
                output::text(&listed(&request, &client.project, columns()))?;
            }
        }
    }
    if !any && !args.json {
        output::text("No question waits.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns how wide the terminal is; 0 where there is none that says.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let size = size.or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()));
    size.map_or(0, |size| size.ws_col.into())
}

/// Answers one question.
fn answer(args: &Args, id: &str, word: Word) -> Result<ExitCode, Failure> {
    let answer = match word {
        Word::Yes => Answer::yes(),
        Word::No => Answer::no(),
        Word::Session => Answer::yes_for_session(),
    };
    let answer = Answer { note: args.note.clone(), ..answer };
    for (mut client, requests) in args.attach()? {
        if !requests.iter().any(|request| request.id == id) {
            continue;
        }
        client.answer(id, &answer)?;
        loop {
            match client.next()? {
                Some(Notice::Accepted { id: accepted }) if accepted == id => {
                    return Ok(ExitCode::SUCCESS);
                }
                Some(Notice::Error { message, .. }) => {
                    return Err(Failure::message(NEGATIVE, message));
                }
                Some(_) => {}
                None => return Err(Failure::message(NEGATIVE, "the session has ended")),
            }
        }
    }
    Err(Failure::message(NEGATIVE, format!("no question '{id}' waits"))
        .hint("`zonekeep approve --list` shows those that do"))
}

/// What the threads tell that are attached to a session each.
enum Event {
    Attached(PathBuf, String, Answering),
    Said(PathBuf, Notice),
    Left(PathBuf),
}

/// Asks the person at the terminal whatever sessions ask.
fn attend(args: &Args) -> Result<ExitCode, Failure> {
    let no_terminal = || {
        Failure::message(UNSAFE, "there is no terminal to ask on").hint(
            "`zonekeep approve --list` shows what waits, and `zonekeep approve ID yes` answers",
        )
    };
    let terminal = Terminal::open().map_err(|_| no_terminal())?;
    let (tell, events) = mpsc::channel();
    let mut sessions: BTreeMap<PathBuf, (String, Answering)> = BTreeMap::new();
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    let mut waiting: VecDeque<(PathBuf, Request)> = VecDeque::new();
    let mut next_look = Instant::now();
    tell!("zonekeep: waiting for questions; Ctrl-C ends this");
    loop {
        if Instant::now() >= next_look {
            for path in args.sockets()? {
                if known.insert(path.clone()) {
                    let tell = tell.clone();
                    thread::spawn(move || follow(path, &tell));
                }
            }
            next_look = Instant::now() + LOOK;
        }
        let patience = if waiting.is_empty() { LOOK } else { Duration::ZERO };
        match events.recv_timeout(patience) {
            Ok(Event::Attached(path, project, answering)) => {
                sessions.insert(path, (project, answering));
            }
            Ok(Event::Said(path, notice)) => match notice {
                Notice::Request(request) => waiting.push_back((path, *request)),
                Notice::Settled { id, how } => {
                    let before = waiting.len();
                    waiting.retain(|(_, request)| request.id != id);
                    let gone = match how {
                        How::TimedOut => Some("was not answered in time"),
                        How::Withdrawn => Some("is not asked any more"),
                        _ => None,
                    };
                    if let Some(gone) = gone.filter(|_| waiting.len() < before) {
                        tell!("zonekeep: {} {gone}", visible(&id));
                    }
                }
                Notice::Error { message, .. } => tell!("zonekeep: {}", visible(&message)),
                _ => {}
            },
            Ok(Event::Left(path)) => {
                if args.socket.is_some() {
                    return left(sessions.contains_key(&path), &path);
                }
                waiting.retain(|(of, _)| *of != path);
                sessions.remove(&path);
                known.remove(&path);
            }
            // All that was told is known: time for a question.
            Err(RecvTimeoutError::Timeout) => {
                let Some((path, request)) = waiting.pop_front() else { continue };
                let Some((project, answering)) = sessions.get_mut(&path) else { continue };
                tell!("zonekeep: {} of {}", visible(&request.id), visible(project));
                let answer = terminal.ask(&request);
                if answer.unasked.is_some() {
                    return Err(no_terminal());
                }
                // Where the session has ended meanwhile, its thread says so.
                let _ = answering.answer(&request.id, &answer);
            }
            Err(RecvTimeoutError::Disconnected) => continue,
        }
    }
}

/// Ends when the one session has ended that was to be attended to.
fn left(was_attached: bool, path: &Path) -> Result<ExitCode, Failure> {
    match was_attached {
        true => Ok(ExitCode::SUCCESS),
        false => Err(unattached(path, &std::io::ErrorKind::ConnectionRefused.into())),
    }
}

/// Attaches to a session and tells what it says, until it ends.
fn follow(path: PathBuf, tell: &Sender<Event>) {
    let attached = Client::attach(&path).and_then(|client| {
        let answering = client.answering()?;
        Ok((client, answering))
    });
    if let Ok((mut client, answering)) = attached {
        let _ = tell.send(Event::Attached(path.clone(), client.project.clone(), answering));
        while let Ok(Some(notice)) = client.next() {
            if tell.send(Event::Said(path.clone(), notice)).is_err() {
                return;
            }
        }
    }
    let _ = tell.send(Event::Left(path));
}
