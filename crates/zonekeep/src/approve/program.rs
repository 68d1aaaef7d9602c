//! Asks a program.
//!
//! The program gets the question as JSON on its standard input and prints the
//! answer as JSON. Everything that is not plainly an answer is a no.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use zonekeep_confine::plan::Access;

use super::answer::in_words;
use super::{Answer, Approver, Opening, Request, Unfit, WAIT, visible};

/// The most bytes that an answer may have.
const MAX_ANSWER: usize = 64 * 1024;
/// How often a program that says nothing is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How often a program is looked at that has closed its output.
const LOOK_CLOSELY: Duration = Duration::from_millis(2);
/// The most characters of a problem that are passed on.
const MAX_PROBLEM: usize = 120;

/// A program that answers.
///
/// It runs as the user, outside of the sandbox, without a shell and without
/// arguments, in `/`, with the environment of the caller and
/// `ZONEKEEP_PROJECT` and `ZONEKEEP_SESSION`. Its standard error is the
/// caller's. It is a process group of its own, which is killed at the limit.
#[derive(Debug)]
pub struct Program {
    given: PathBuf,
    real: PathBuf,
    limit: Duration,
    /// The project and the session.
    serves: OnceLock<(PathBuf, String)>,
}

impl Program {
    /// Takes the program at `path`. A relative path starts at the current
    /// directory; where it leads is looked up here and never again. Whether others
    /// could have changed it is looked at again for each question.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, Unfit> {
        let path = path.as_ref();
        let not = |what: String| Unfit::NotAProgram { path: path.to_owned(), what };
        let given =
            std::path::absolute(path).map_err(|error| not(format!("cannot be used: {error}")))?;
        let real = fs::canonicalize(&given).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not("does not exist".to_owned()),
            _ => not(format!("cannot be used: {error}")),
        })?;
        check(&real).map_err(|fault| match fault {
            Fault::OthersCanWrite => Unfit::OthersCanWrite { path: path.to_owned() },
            Fault::HardLinked => Unfit::HardLinked { path: path.to_owned() },
            Fault::NotAProgram(what) => not(what),
        })?;
        Ok(Program { given, real, limit: WAIT, serves: OnceLock::new() })
    }

    /// Sets how long it may take to answer; five minutes unless said otherwise.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Starts the program with arguments, connected with nothing.
    pub(super) fn start(&self, arguments: &[&str]) -> io::Result<Child> {
        check(&self.real).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
        let mut command = Command::new(&self.real);
        command.args(arguments).current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Runs the program and returns what it printed.
    fn run(&self, question: &[u8]) -> Result<Vec<u8>, Trouble> {
        let until = Instant::now() + self.limit;
        // Much may have happened since the last question.
        check(&self.real).map_err(|fault| match fault {
            Fault::OthersCanWrite => Trouble::OthersCanWrite,
            Fault::HardLinked => Trouble::HardLinked,
            Fault::NotAProgram(_) => Trouble::Start,
        })?;
        let mut command = Command::new(&self.real);
        if let Some((project, session)) = self.serves.get() {
            command.env("ZONEKEEP_PROJECT", project).env("ZONEKEEP_SESSION", session);
        }
        // What lies where it starts is nothing that an agent could have put there.
        command.current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running(command.spawn().map_err(|_| Trouble::Start)?);
        let pipes = (running.0.stdin.take(), running.0.stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else { return Err(Trouble::Start) };
        let printed = talk(&mut running.0, stdin, stdout, question, until)?;
        let status = loop {
            match running.0.try_wait().map_err(|_| Trouble::Lost)? {
                Some(status) => break status,
                None if Instant::now() >= until => return Err(Trouble::Late),
                None => thread::sleep(LOOK_CLOSELY),
            }
        };
        if status.success() { Ok(printed) } else { Err(Trouble::Status(status)) }
    }
}

/// What is wrong with a program.
enum Fault {
    NotAProgram(String),
    OthersCanWrite,
    /// Another name of the file may lie where agents can write.
    HardLinked,
}

/// Looks whether there is a program that nobody but the user and the superuser can
/// change or replace.
///
/// Where that is so it stays so until one of the two changes it, and what is started
/// then is what was looked at.
fn check(real: &Path) -> Result<(), Fault> {
    let facts = fs::symlink_metadata(real)
        .map_err(|error| Fault::NotAProgram(format!("cannot be used: {error}")))?;
    if !facts.is_file() {
        return Err(Fault::NotAProgram("is not a file".to_owned()));
    }
    if facts.mode() & 0o111 == 0 {
        return Err(Fault::NotAProgram("is not executable".to_owned()));
    }
    if facts.nlink() > 1 {
        return Err(Fault::HardLinked);
    }
    let mut directories = real.ancestors().skip(1);
    match is_kept(&facts) && directories.all(keeps_its_entries) {
        true => Ok(()),
        false => Err(Fault::OthersCanWrite),
    }
}

/// Returns whether no other user can change a file.
fn is_kept(facts: &fs::Metadata) -> bool {
    facts.mode() & 0o022 == 0 && is_ours(facts)
}

/// Returns whether no other user can put something else in the place of what lies in
/// a directory and is kept.
fn keeps_its_entries(directory: &Path) -> bool {
    const STICKY: u32 = 0o1000;
    fs::symlink_metadata(directory).is_ok_and(|facts| {
        let open = facts.mode() & 0o022 != 0 && facts.mode() & STICKY == 0;
        facts.is_dir() && is_ours(&facts) && !open
    })
}

fn is_ours(facts: &fs::Metadata) -> bool {
    // In a user namespace the superuser may go by another number, as at the root.
    let root = fs::symlink_metadata("/").map_or(0, |root| root.uid());
    [0, geteuid().as_raw(), root].contains(&facts.uid())
}

impl Approver for Program {
    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        if let Some((within, Access::Rw)) = opening.exposed(&self.given) {
            return Err(Unfit::Writable { path: self.given.clone(), within: within.to_owned() });
        }
        // Of several sessions, the first one is told.
        let _ = self.serves.set((opening.project.to_owned(), opening.session.to_owned()));
        Ok(())
    }

    fn ask(&self, request: &Request) -> Answer {
        let Ok(mut question) = serde_json::to_vec(request) else {
            return Answer::unasked("the question could not be written as JSON");
        };
        question.push(b'\n');
        let printed = match self.run(&question) {
            Ok(printed) => printed,
            Err(trouble) => return Answer::unasked(trouble.in_words(self.limit)),
        };
        serde_json::from_slice(&printed).unwrap_or_else(|error| {
            let problem = visible(&error.to_string()).replace('\n', " ");
            let problem: String = problem.chars().take(MAX_PROBLEM).collect();
            Answer::unasked(format!("the approver's answer was not understood ({problem})"))
        })
    }

    fn name(&self) -> &str {
        "program"
    }
}

/// Why there is no answer.
enum Trouble {
    Start,
    OthersCanWrite,
    HardLinked,
    Lost,
    Late,
    TooLong,
    Status(ExitStatus),
}

impl Trouble {
    /// Says it so that it can follow "approval, and".
    fn in_words(&self, limit: Duration) -> String {
        match self {
            Trouble::Start => "the approver could not be started".to_owned(),
            Trouble::OthersCanWrite => "the approver can be changed by other users".to_owned(),
            Trouble::HardLinked => "the approver has another name (a hard link)".to_owned(),
            Trouble::Lost => "the approver was lost".to_owned(),
            Trouble::Late => format!("the approver did not answer within {}", in_words(limit)),
            Trouble::TooLong => {
                format!("the approver's answer was longer than {MAX_ANSWER} bytes")
            }
            Trouble::Status(status) => format!("the approver failed ({status})"),
        }
    }
}

/// A program that does not outlive the question, unless it has ended by itself.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The number is its own as long as nobody has waited for it.
        if let Ok(None) = self.0.try_wait() {
            if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Gives the question, and reads until the output ends or the program does.
fn talk(
    child: &mut Child,
    stdin: ChildStdin,
    mut stdout: ChildStdout,
    question: &[u8],
    until: Instant,
) -> Result<Vec<u8>, Trouble> {
    let lost = |_| Trouble::Lost;
    for fd in [rustix::fd::AsFd::as_fd(&stdin), rustix::fd::AsFd::as_fd(&stdout)] {
        rustix::io::ioctl_fionbio(fd, true).map_err(lost)?;
    }
    // Closed as soon as all is given, or nobody wants it.
    let mut stdin = Some(stdin);
    let mut left = question;
    let mut printed = Vec::new();
    loop {
        // Others may still hold its output; they are not waited for.
        let ended = child.try_wait().map_err(|_| Trouble::Lost)?.is_some();
        let end = read_some(&mut stdout, &mut printed).map_err(|_| Trouble::Lost)?;
        if printed.len() > MAX_ANSWER {
            return Err(Trouble::TooLong);
        }
        if ended || end == End::Yes {
            return Ok(printed);
        }
        if let Some(pipe) = &mut stdin {
            match pipe.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if is_not_yet(&error) => {}
                Err(_) => left = &[],
            }
        }
        if left.is_empty() {
            stdin = None;
        }
        let now = Instant::now();
        if now >= until {
            return Err(Trouble::Late);
        }
        let wait = Timespec::try_from(LOOK.min(until - now)).map_err(|_| Trouble::Lost)?;
        let mut fds = vec![PollFd::new(&stdout, PollFlags::IN)];
        fds.extend(stdin.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Err(Trouble::Lost),
        }
    }
}

/// Whether there can be more to read.
#[derive(PartialEq, Eq)]
enum End {
    Yes,
    NotYet,
}

/// Reads what is there, and a little more than an answer may have at most.
fn read_some(stdout: &mut ChildStdout, printed: &mut Vec<u8>) -> io::Result<End> {
    let mut buffer = [0; 8192];
    while printed.len() <= MAX_ANSWER {
        match stdout.read(&mut buffer) {
            Ok(0) => return Ok(End::Yes),
            Ok(read) => printed.extend_from_slice(&buffer[..read]),
            Err(error) if is_not_yet(&error) => return Ok(End::NotYet),
            Err(error) => return Err(error),
        }
    }
    Ok(End::NotYet)
}

fn is_not_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
