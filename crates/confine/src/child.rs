//! A command whose output is kept: timeouts, and how much is kept of what it
//! prints.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::plan::Start;
use crate::report::Over;
use crate::tree::{Ended, Event, Failed, Process, Tree};

/// The most of one stream that is kept unless asked otherwise: as many bytes
/// as an agent can use, from the beginning and from the end.
pub const KEPT: usize = 50_000;

/// What is kept of a stream: its beginning and its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Where the next byte of `last` goes, once it is full.
    at: usize,
    half: usize,
    total: u64,
}

impl Kept {
    /// Keeps at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Kept { half: most.div_ceil(2).max(1), ..Kept::default() }
    }

    /// Takes what was printed.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half - self.first.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend_from_slice(first);
        // Only the end of a long text can still be there at the end.
        bytes = &rest[rest.len().saturating_sub(self.half)..];
        for part in bytes.chunks(self.half) {
            let room = self.half - self.last.len();
            let (grow, wrap) = part.split_at(room.min(part.len()));
            self.last.extend_from_slice(grow);
            for byte in wrap {
                self.last[self.at] = *byte;
                self.at = (self.at + 1) % self.half;
            }
        }
    }

    /// Returns how many bytes were printed in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns whether some of them are not kept.
    pub fn is_cut(&self) -> bool {
        self.total > (self.first.len() + self.last.len()) as u64
    }

    /// Returns the text, with a line that says how much is missing in between.
    pub fn text(&self) -> String {
        let (newer, older) = (&self.last[..self.at], &self.last[self.at..]);
        if !self.is_cut() {
            let all = [&self.first[..], older, newer].concat();
            return String::from_utf8_lossy(&all).into_owned();
        }
        let missing = self.total - (self.first.len() + self.last.len()) as u64;
        let first = String::from_utf8_lossy(&self.first).into_owned();
        let last = [older, newer].concat();
        let last = String::from_utf8_lossy(&last);
        // Half a character at a cut is no use.
        let (first, last) =
            (first.trim_end_matches('\u{fffd}'), last.trim_start_matches('\u{fffd}'));
        format!("{first}\n[... {missing} bytes left out ...]\n{last}")
    }
}

/// A function that takes what a command prints.
pub type Hear = dyn Fn(&[u8]) + Send + Sync;

/// Hears what a command prints, as it comes.
#[derive(Clone)]
pub struct Ear(Arc<Hear>);

impl Ear {
    /// Returns an ear that passes what it hears to a function.
    pub fn new(hear: Arc<Hear>) -> Self {
        Ear(hear)
    }
}

impl std::fmt::Debug for Ear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ear").finish_non_exhaustive()
    }
}

/// How a captured command is run.
#[derive(Debug)]
pub struct Capture<'i> {
    /// What it reads; nothing when left out.
    pub input: Option<BorrowedFd<'i>>,
    /// How much of each stream is kept.
    pub keep: usize,
    /// Ends the command once something can be read from it, or it is closed.
    pub stop: Option<Arc<OwnedFd>>,
    /// Hears both streams, all of them, beside what is kept. It is called by whoever
    /// waits for the command: while it takes its time, time limits wait too.
    pub ear: Option<Ear>,
}

impl Default for Capture<'_> {
    fn default() -> Self {
        Capture { input: None, keep: KEPT, stop: None, ear: None }
    }
}

/// What a captured command came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: Kept,
    /// What it said beside that.
    pub stderr: Kept,
    /// How long it ran.
    pub duration: Duration,
}

/// A running command whose output is kept.
#[derive(Debug)]
pub struct Running {
    process: Process,
    pipes: [Option<OwnedFd>; 2],
    kept: [Kept; 2],
    begun: Instant,
    deadline: Option<Instant>,
    limit: Option<u64>,
    stop: Option<Arc<OwnedFd>>,
    ear: Option<Ear>,
    over: Option<Over>,
    ended: Option<Ended>,
}

impl Running {
    /// Starts a command in a sandbox.
    pub fn start(tree: &Tree, start: Start, capture: Capture<'_>) -> Result<Self, Failed> {
        let begun = Instant::now();
        let limits = tree.plan().limits.tightest(&start.limits);
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let null;
        let input = match capture.input {
            Some(input) => input,
            None => {
                null = std::fs::File::open("/dev/null")?;
                null.as_fd()
            }
        };
        let process = tree.command(start, &[input, stdout_end.as_fd(), stderr_end.as_fd()])?;
        Ok(Running {
            process,
            pipes: [Some(stdout.into()), Some(stderr.into())],
            kept: [Kept::new(capture.keep), Kept::new(capture.keep)],
            begun,
            deadline: limits.wall_ms.map(|ms| begun + Duration::from_millis(ms)),
            limit: limits.output,
            stop: capture.stop,
            ear: capture.ear,
            over: None,
            ended: None,
        })
    }

    /// Takes what is printed for a while; returns whether the command has ended
    /// and everything it printed is taken.
    pub fn pump(&mut self, patience: Option<Duration>) -> Result<bool, Failed> {
        let until = patience.map(|patience| Instant::now() + patience);
        loop {
            if self.ended.is_some() && self.pipes.iter().all(Option::is_none) {
                return Ok(true);
            }
            let now = Instant::now();
            if until.is_some_and(|until| now >= until) {
                return Ok(false);
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                self.end(Over::Time);
            }
            let deadline = self.deadline.filter(|_| self.over.is_none());
            let next = [until, deadline].into_iter().flatten().min();
            self.step(next.map(|next| next.saturating_duration_since(now)))?;
        }
    }

    /// Waits for one thing to happen.
    fn step(&mut self, patience: Option<Duration>) -> Result<(), Failed> {
        let mut polled = Vec::with_capacity(4);
        for pipe in self.pipes.iter().flatten() {
            polled.push(PollFd::new(pipe, PollFlags::IN));
        }
        if self.ended.is_none() {
            polled.push(PollFd::new(&self.process, PollFlags::IN));
            let stop = self.stop.as_deref().filter(|_| self.over.is_none());
            polled.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
        }
        let wait = patience.map(|patience| Timespec {
            tv_sec: patience.as_secs() as _,
            tv_nsec: patience.subsec_nanos() as _,
        });
        match rustix::event::poll(&mut polled, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let open = [self.pipes[0].is_some(), self.pipes[1].is_some()];
        for (stream, open) in open.into_iter().enumerate() {
            if open && ready.next() == Some(true) {
                self.take(stream)?;
            }
        }
        if self.ended.is_some() {
            return Ok(());
        }
        let (spoke, stopped) = (ready.next() == Some(true), ready.next() == Some(true));
        if spoke && let Event::Ended(ended) = self.process.next()? {
            self.ended = Some(ended);
        } else if stopped {
            self.end(Over::Stopped);
        }
        Ok(())
    }

    fn take(&mut self, stream: usize) -> Result<(), Failed> {
        let Some(pipe) = &self.pipes[stream] else { return Ok(()) };
        let mut buffer = [0; 64 * 1024];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipes[stream] = None,
            Ok(n) => {
                self.kept[stream].push(&buffer[..n]);
                if let Some(Ear(hear)) = &self.ear {
                    hear(&buffer[..n]);
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
        let printed = self.kept[0].total() + self.kept[1].total();
        if self.limit.is_some_and(|limit| printed > limit) {
            self.end(Over::Output);
        }
        Ok(())
    }

    fn end(&mut self, over: Over) {
        if self.over.is_none() {
            self.over = Some(over);
            // A command that is gone already has ended.
            let _ = self.process.kill();
        }
    }

    /// Returns what it has printed so far.
    pub fn printed(&self) -> (&Kept, &Kept) {
        (&self.kept[0], &self.kept[1])
    }

    /// Returns the process, to signal it.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Waits until it has ended.
    pub fn wait(mut self) -> Result<Output, Failed> {
        self.pump(None)?;
        self.output().ok_or(Failed::Gone)
    }

    /// Returns what it came to, once it has ended.
    pub fn output(&self) -> Option<Output> {
        let mut ended = self.ended.clone()?;
        ended.over = self.over.or(ended.over);
        let [stdout, stderr] = self.kept.clone();
        Some(Output { ended, stdout, stderr, duration: self.begun.elapsed() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let cases: [(usize, &[&str], &str); 5] = [
            (8, &["abc"], "abc"),
            (8, &["abcd", "efgh"], "abcdefgh"),
            (8, &["abcdefghi"], "abcd\n[... 1 bytes left out ...]\nfghi"),
            (8, &["abcdef", "ghij", "klmnopqrst"], "abcd\n[... 12 bytes left out ...]\nqrst"),
            (4, &["aé", "é", "z"], "a\n[... 2 bytes left out ...]\nz"),
        ];
        for (most, parts, want) in cases {
            let mut kept = Kept::new(most);
            for part in parts {
                kept.push(part.as_bytes());
            }
            assert_eq!(kept.text(), want, "{most} {parts:?}");
        }
    }

    #[test]
    fn bytes_one_by_one_come_to_the_same() {
        let text: Vec<u8> = (0..1000u32).map(|i| b'a' + (i % 26) as u8).collect();
        for most in [1, 2, 7, 100, 999, 1000, 2000] {
            let (mut whole, mut single) = (Kept::new(most), Kept::new(most));
            whole.push(&text);
            text.iter().for_each(|byte| single.push(&[*byte]));
            assert_eq!(whole.text(), single.text(), "{most}");
            assert_eq!(whole.total(), 1000);
        }
    }
}
