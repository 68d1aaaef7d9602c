//! Connects a command with the terminal or the pipes that zonekeep was started
//! with.
//!
//! A command never gets the caller's terminal itself: it gets one of its own,
//! and what goes through is passed on here. Nothing in this file waits for the
//! command or for the screen alone: a command that reads nothing, or a screen
//! that takes nothing, must not keep signals and time limits from taking effect.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::termios::{LocalModes, OptionalActions, Termios};
use zonekeep::command::{Command, Outcome};
use zonekeep::confine::Over;
use zonekeep::confine::signals::Signals;
use zonekeep::confine::tree::{Ended, Event, Failed, Process};
use zonekeep::{Error, Sandbox};

/// Signals that are for the command, or that the terminal needs.
const HELD: [Signal; 7] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::TSTP,
    Signal::CONT,
    Signal::WINCH,
];

/// How long a command that was asked to end may take.
const GRACE: Duration = Duration::from_secs(10);
/// How long a server may take to end once its client has gone, and a reader to take
/// the last output.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long a terminal is left alone that no process has open.
const SILENCE: Duration = Duration::from_millis(50);

/// The key that ends the input, of a terminal that was not told of another one.
const END_OF_INPUT: u8 = 0x04;

/// What a pipe or a socket says once nobody writes to it any more, whatever is
/// still to be read from it.
#[cfg(target_os = "linux")]
pub(crate) const CLOSED: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
pub(crate) const CLOSED: PollFlags = PollFlags::HUP;

/// Runs a command with this program's standard input, output and error.
pub(crate) fn run(sandbox: &Sandbox, command: &Command) -> Result<Outcome, Error> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let stdio = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let terminal = stdio.map(rustix::termios::isatty);
    let given: Vec<BorrowedFd<'_>> =
        stdio.iter().zip(terminal).filter(|(_, own)| !own).map(|(fd, _)| *fd).collect();
    let signals = Signals::hold(&wanted_signals()).ok();
    attend(sandbox, command, &given, stdio, terminal, signals, None)
}

/// Runs a server with the streams of its client. It never gets a terminal, and ends
/// when its client has gone.
pub(crate) fn serve(sandbox: &Sandbox, command: &Command) -> Result<Outcome, Error> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    // Before there is a second thread.
    let signals = Signals::hold(&wanted_signals()).ok();
    let stdio = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    attend(sandbox, command, &stdio, stdio, [false; 3], signals, Some(stdin.as_fd()))
}

/// Starts a command and stays with it until it has ended. Where there is a
/// `client`, its going away ends the command.
fn attend(
    sandbox: &Sandbox,
    command: &Command,
    given: &[BorrowedFd<'_>],
    stdio: [BorrowedFd<'_>; 3],
    terminal: [bool; 3],
    signals: Option<Signals>,
    client: Option<BorrowedFd<'_>>,
) -> Result<Outcome, Error> {
    let attached = sandbox.attach(command, given, terminal)?;
    let wall = sandbox.grant().limits().tightest(&command.limits).wall_ms;
    // What is typed goes to the command, and what it shows goes to the first of
    // these that is the caller's terminal. Where only standard input is, the output was
    // redirected: nothing is shown, whichever way the command writes to its terminal.
    let screen = [1, 2].into_iter().find(|&i| terminal[i]).map(|i| stdio[i]);
    let mut relay = Relay {
        process: attached.process(),
        signals,
        keyboard: terminal[0].then(|| stdio[0]),
        screen,
        own_screen: screen.and_then(own_description),
        typed: Vec::new(),
        shown: Vec::new(),
        usual: None,
        unused_until: None,
        deadline: wall.map(|ms| Instant::now() + Duration::from_millis(ms)),
        patience: None,
        grace: client.map_or(GRACE, |_| FAREWELL),
        client,
        is_server: client.is_some(),
        stop_is_wanted: terminal.contains(&true),
        is_stopped: false,
        over: None,
    };
    if let Some(terminal) = relay.process.terminal() {
        // It is nobody else's: the other side has a description of its own.
        let _ = rustix::fs::fcntl_setfl(terminal, OFlags::RDWR | OFlags::NONBLOCK);
    }
    relay.come_to_front();
    let ended = relay.stay();
    relay.drain();
    relay.make_usual();
    relay.deliver();
    let over = relay.over;
    drop(relay);
    attached.finish(ended, over)
}

struct Relay<'a> {
    process: &'a Process,
    signals: Option<Signals>,
    keyboard: Option<BorrowedFd<'a>>,
    screen: Option<BorrowedFd<'a>>,
    /// The screen again, so that writing to it can be told not to wait without
    /// telling everybody else who has it.
    own_screen: Option<OwnedFd>,
    /// What was typed and is not with the command yet.
    typed: Vec<u8>,
    /// What the command printed and is not on the screen yet.
    shown: Vec<u8>,
    /// How the terminal was, while it is not like that.
    usual: Option<Termios>,
    /// Until when the command's terminal is not looked at: no process has it
    /// open, which is told again and again.
    unused_until: Option<Instant>,
    deadline: Option<Instant>,
    /// When a command that was asked to end is ended.
    patience: Option<Instant>,
    /// How long it may take then.
    grace: Duration,
    /// The pipe from a client, until it is closed.
    client: Option<BorrowedFd<'a>>,
    is_server: bool,
    /// Whether a command that stops is to stop this program too: there is
    /// somebody who could continue it.
    stop_is_wanted: bool,
    is_stopped: bool,
    over: Option<Over>,
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        self.make_usual();
    }
}

/// What something to wait for is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Command,
    Signals,
    Terminal,
    Keyboard,
    Screen,
    Client,
}

impl Relay<'_> {
    fn stay(&mut self) -> Result<Ended, Failed> {
        loop {
            let ready = self.wait()?;
            if ready.contains(&For::Terminal) {
                self.pass_in();
                self.take_output();
            }
            if ready.contains(&For::Screen) {
                self.pass_out();
            }
            if ready.contains(&For::Keyboard) {
                self.take_input();
            }
            if ready.contains(&For::Signals) {
                self.take_signals();
            }
            if ready.contains(&For::Client) {
                self.client = None;
                // It sees that too, and may end by itself.
                self.patience.get_or_insert(Instant::now() + self.grace);
            }
            if ready.contains(&For::Command) {
                match self.process.next()? {
                    Event::Ended(ended) => return Ok(ended),
                    Event::Stopped => {
                        self.is_stopped = true;
                        self.stop();
                    }
                    _ => {}
                }
            }
            let past = |at: Option<Instant>| at.is_some_and(|at| Instant::now() >= at);
            if self.over.is_none() && past(self.deadline) {
                self.over = Some(Over::Time);
                let _ = self.process.kill();
            }
            if past(self.patience) {
                self.patience = None;
                let _ = self.process.kill();
            }
        }
    }

    /// Waits until something is to be done.
    fn wait(&mut self) -> Result<Vec<For>, Failed> {
        self.follow_echo();
        let now = Instant::now();
        self.unused_until = self.unused_until.filter(|until| *until > now);
        let mut what = vec![For::Command];
        let mut polled = vec![PollFd::new(self.process, PollFlags::IN)];
        if let Some(signals) = &self.signals {
            what.push(For::Signals);
            polled.push(PollFd::new(signals, PollFlags::IN));
        }
        if let Some(terminal) = self.process.terminal() {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, self.shown.is_empty());
            flags.set(PollFlags::OUT, !self.typed.is_empty());
            if !flags.is_empty() && self.unused_until.is_none() {
                what.push(For::Terminal);
                polled.push(PollFd::from_borrowed_fd(terminal, flags));
            }
        }
        // In the background what is typed is for somebody else.
        let in_front = |keyboard: &BorrowedFd<'_>| match self.screen {
            Some(_) => self.usual.is_some(),
            None => is_in_front(*keyboard),
        };
        if let Some(keyboard) = self.keyboard.filter(in_front)
            && self.typed.is_empty()
        {
            what.push(For::Keyboard);
            polled.push(PollFd::from_borrowed_fd(keyboard, PollFlags::IN));
        }
        if let Some(screen) = self.output().filter(|_| !self.shown.is_empty()) {
            what.push(For::Screen);
            polled.push(PollFd::from_borrowed_fd(screen, PollFlags::OUT));
        }
        if let Some(client) = self.client {
            what.push(For::Client);
            polled.push(PollFd::from_borrowed_fd(client, CLOSED));
        }
        let deadline = self.deadline.filter(|_| self.over.is_none());
        let next = [deadline, self.patience, self.unused_until].into_iter().flatten().min();
        let wait = next.map(|next| timespec(next.saturating_duration_since(now)));
        match rustix::event::poll(&mut polled, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
        let ready = polled.iter().map(|fd| !fd.revents().is_empty());
        Ok(what.into_iter().zip(ready).filter(|(_, ready)| *ready).map(|(what, _)| what).collect())
    }

    fn output(&self) -> Option<BorrowedFd<'_>> {
        self.own_screen.as_ref().map(AsFd::as_fd).or(self.screen)
    }

    /// Takes what the command shows; returns whether there was anything.
    fn take_output(&mut self) -> bool {
        let Some(terminal) = self.process.terminal().filter(|_| self.shown.is_empty()) else {
            return false;
        };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(terminal, &mut buffer) {
            Ok(n) if n > 0 => {
                self.shown.extend_from_slice(&buffer[..n]);
                self.pass_out();
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            _ => {
                self.unused_until = Some(Instant::now() + SILENCE);
                false
            }
        }
    }

    /// Passes on what the command showed, as far as the screen takes it.
    fn pass_out(&mut self) {
        let Some(screen) = self.output() else { return self.shown.clear() };
        match rustix::io::write(screen, &self.shown) {
            Ok(n) => drop(self.shown.drain(..n)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // The screen is gone.
            Err(_) => self.shown.clear(),
        }
    }

    fn take_input(&mut self) {
        let Some(keyboard) = self.keyboard else { return };
        let mut buffer = [0; 4 * 1024];
        match rustix::io::read(keyboard, &mut buffer) {
            Ok(n) if n > 0 || self.screen.is_none() => {
                self.typed.extend_from_slice(&buffer[..n]);
                // The terminal took the key that ends a line or the input.
                if self.screen.is_none() && buffer[..n].last() != Some(&b'\n') {
                    self.typed.push(END_OF_INPUT);
                }
                self.pass_in();
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            // The terminal went away.
            _ => {
                self.make_usual();
                self.keyboard = None;
            }
        }
    }

    /// Passes on what was typed, as far as the command takes it.
    fn pass_in(&mut self) {
        let Some(terminal) = self.process.terminal().filter(|_| !self.typed.is_empty()) else {
            return;
        };
        match rustix::io::write(terminal, &self.typed) {
            Ok(n) => drop(self.typed.drain(..n)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.typed.clear(),
        }
    }

    fn take_signals(&mut self) {
        while let Some(number) = self.signals.as_ref().and_then(Signals::next) {
            match Signal::from_named_raw(number) {
                Some(Signal::WINCH) => self.resize(),
                Some(Signal::CONT) => {
                    self.come_to_front();
                    self.go_on();
                }
                Some(Signal::TSTP) => {
                    self.stop_is_wanted = true;
                    match self.is_stopped {
                        true => self.stop(),
                        // It says so when it has stopped.
                        false => self.tell(Signal::STOP),
                    }
                }
                // Nobody is there who could ask a server twice.
                Some(Signal::INT) if self.is_server => {
                    self.patience.get_or_insert(Instant::now() + self.grace);
                    self.tell(Signal::INT);
                }
                Some(Signal::TERM) if self.patience.is_none() => {
                    self.patience = Some(Instant::now() + self.grace);
                    self.tell(Signal::TERM);
                    // What has stopped does not end before it goes on.
                    self.go_on();
                }
                Some(Signal::HUP | Signal::TERM) => {
                    let _ = self.process.kill();
                }
                Some(signal) => self.tell(signal),
                None => {}
            }
        }
    }

    /// Sends a signal to the command, which may be gone by now.
    fn tell(&self, signal: Signal) {
        let _ = self.process.signal(signal.as_raw());
    }

    /// Has a command that stopped go on.
    fn go_on(&mut self) {
        if std::mem::take(&mut self.is_stopped) {
            self.tell(Signal::CONT);
        }
    }

    /// Stops with the command, and goes on with it.
    fn stop(&mut self) {
        if !self.stop_is_wanted {
            // A command must not be able to stop what ends it in time.
            return;
        }
        if somebody_continues() {
            self.make_usual();
            // Those that were started together stop together, as if the key had
            // been pressed for all of them. This one holds the signal back, and
            // it is forgotten when all are continued.
            let _ = rustix::process::kill_current_process_group(Signal::TSTP);
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
            self.come_to_front();
        }
        self.go_on();
    }

    /// Takes the terminal, unless it is somebody else's at the moment.
    fn come_to_front(&mut self) {
        self.make_raw();
        self.resize();
    }

    fn resize(&self) {
        let seen = self.screen.or(self.keyboard);
        let (Some(terminal), Some(screen)) = (self.process.terminal(), seen) else { return };
        if let Ok(size) = rustix::termios::tcgetwinsize(screen) {
            let _ = rustix::termios::tcsetwinsize(terminal, size);
        }
    }

    /// Passes on what was shown last; a signal ends the wait for the screen.
    fn drain(&mut self) {
        loop {
            if self.shown.is_empty() && !self.take_output() {
                return;
            }
            let Some(screen) = self.output().filter(|_| !self.shown.is_empty()) else { continue };
            let mut polled = vec![PollFd::from_borrowed_fd(screen, PollFlags::OUT)];
            polled.extend(self.signals.as_ref().map(|signals| PollFd::new(signals, PollFlags::IN)));
            let waited = rustix::event::poll(&mut polled, None);
            if waited.is_err() || polled.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
                let last = self.signals.as_ref().and_then(Signals::next);
                let passing = [Signal::WINCH, Signal::CONT].map(Signal::as_raw);
                if last.is_none_or(|number| !passing.contains(&number)) {
                    return;
                }
            }
            self.pass_out();
        }
    }

    /// Waits until the rest of the output has arrived, but for a signal; and not long
    /// for a reader that takes nothing once the command's time is over.
    fn deliver(&self) {
        let now = Instant::now();
        let until = match self.over {
            Some(_) => Some(now + FAREWELL),
            None => self.deadline.map(|deadline| deadline.max(now + FAREWELL)),
        };
        let signals = self.signals.as_ref().map(AsFd::as_fd);
        // What went wrong is told with how the command ended.
        let _ = self.process.deliver(signals, until);
    }

    fn make_raw(&mut self) {
        let (Some(keyboard), Some(_)) = (self.keyboard, self.process.terminal()) else { return };
        // Without a screen the terminal itself shows what is typed, line by line: the
        // command's terminal would show it among other things.
        if self.screen.is_none() || self.usual.is_some() || !is_in_front(keyboard) {
            return;
        }
        let Ok(usual) = rustix::termios::tcgetattr(keyboard) else { return };
        let mut raw = usual.clone();
        raw.make_raw();
        if rustix::termios::tcsetattr(keyboard, OptionalActions::Drain, &raw).is_ok() {
            self.usual = Some(usual);
        }
    }

    /// Has a terminal that shows what is typed itself stop that while the command wants
    /// none of it shown, as for a password.
    fn follow_echo(&mut self) {
        let (Some(keyboard), Some(terminal), None) =
            (self.keyboard, self.process.terminal(), self.screen)
        else {
            return;
        };
        let echo = LocalModes::ECHO;
        let Ok(wanted) = rustix::termios::tcgetattr(terminal) else { return };
        match (wanted.local_modes.contains(echo), self.usual.is_some()) {
            (true, true) => self.make_usual(),
            (false, false) if is_in_front(keyboard) => {
                let Ok(usual) = rustix::termios::tcgetattr(keyboard) else { return };
                let mut silent = usual.clone();
                silent.local_modes.remove(echo);
                let now = OptionalActions::Now;
                if rustix::termios::tcsetattr(keyboard, now, &silent).is_ok() {
                    self.usual = Some(usual);
                }
            }
            _ => {}
        }
    }

    fn make_usual(&mut self) {
        if let (Some(keyboard), Some(usual)) = (self.keyboard, self.usual.take()) {
            let _ = rustix::termios::tcsetattr(keyboard, OptionalActions::Drain, &usual);
        }
    }
}

/// Returns the signals to hold. Those that the caller has this program ignore,
/// as `nohup` does, stay ignored: one that is held would arrive.
fn wanted_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let numbers = HELD.map(Signal::as_raw).into_iter();
    numbers.filter(|number| ignored >> (number - 1) & 1 == 0).collect()
}

/// Opens a terminal once more, to write to it without waiting.
fn own_description(screen: BorrowedFd<'_>) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{}", screen.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// Returns whether the terminal is this program's at the moment. Whoever changes
/// it from the background is stopped.
fn is_in_front(terminal: BorrowedFd<'_>) -> bool {
    // One that controls nobody here is always free, and so is one whose owner is
    // outside of this program's pid namespace.
    match (rustix::termios::tcgetpgrp(terminal), Standing::own()) {
        (Ok(group), Some(own)) => Some(group) == own.group,
        _ => true,
    }
}

/// Returns whether there is a shell that could continue this program when it
/// has stopped: the nearest process above that is not of the same job is of the
/// same session.
fn somebody_continues() -> bool {
    let Some(own) = Standing::own() else { return false };
    let mut above = own.parent.and_then(Standing::of);
    while let Some(process) = above.filter(|process| process.session == own.session) {
        if process.group != own.group {
            return process.group.is_some();
        }
        above = process.parent.and_then(Standing::of);
    }
    false
}

/// Where a process stands among the others. What is outside of this program's
/// pid namespace has no number here: the kernel says 0 for it.
struct Standing {
    parent: Option<Pid>,
    group: Option<Pid>,
    session: Option<Pid>,
}

impl Standing {
    #[cfg(target_os = "linux")]
    fn own() -> Option<Self> {
        Self::of(rustix::process::getpid())
    }

    #[cfg(target_os = "linux")]
    fn of(pid: Pid) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name of the program stands in brackets and may contain anything.
        let rest = &stat[stat.iter().rposition(|&byte| byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace().skip(1);
        let mut next = || fields.next()?.parse().ok();
        let (parent, group, session) = (next()?, next()?, next()?);
        Some(Self {
            parent: Pid::from_raw(parent),
            group: Pid::from_raw(group),
            session: Pid::from_raw(session),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn own() -> Option<Self> {
        let mut own = Self::of(rustix::process::getpid())?;
        own.parent = rustix::process::getppid();
        Some(own)
    }

    #[cfg(not(target_os = "linux"))]
    fn of(pid: Pid) -> Option<Self> {
        let group = rustix::process::getpgid(Some(pid)).ok()?;
        let session = rustix::process::getsid(Some(pid)).ok()?;
        Some(Self { parent: None, group: Some(group), session: Some(session) })
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as _, tv_nsec: duration.subsec_nanos() as _ }
}
