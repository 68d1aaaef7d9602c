//! Connects a command with the terminal or the pipes that zonekeep was started
//! with.
//!
//! A command never gets the caller's terminal itself: it gets one of its own,
//! and what goes through is passed on here.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios};
use zonekeep::command::{Attached, Command, Outcome};
use zonekeep::confine::Over;
use zonekeep::confine::signals::Signals;
use zonekeep::confine::tree::{Ended, Event, Failed};
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

/// Runs a command with this program's standard input, output and error.
pub(crate) fn run(sandbox: &Sandbox, command: &Command) -> Result<Outcome, Error> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let stdio = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let terminal = stdio.map(rustix::termios::isatty);
    let given: Vec<BorrowedFd<'_>> =
        stdio.iter().zip(terminal).filter(|(_, own)| !own).map(|(fd, _)| *fd).collect();
    let signals = Signals::hold(&HELD.map(Signal::as_raw)).ok();
    let attached = sandbox.attach(command, &given, terminal)?;
    let wall = sandbox.grant().limits().tightest(&command.limits).wall_ms;
    let mut relay = Relay {
        attached: &attached,
        signals,
        // What is typed goes to the command, and what it shows goes to the
        // first of these that is the caller's terminal.
        keyboard: terminal[0].then(|| stdio[0]),
        screen: [1, 2, 0].into_iter().find(|&i| terminal[i]).map(|i| stdio[i]),
        usual: None,
        deadline: wall.map(|ms| Instant::now() + Duration::from_millis(ms)),
        over: None,
    };
    relay.make_raw();
    relay.resize();
    let ended = relay.stay();
    relay.drain();
    relay.make_usual();
    let over = relay.over;
    drop(relay);
    attached.finish(ended, over)
}

struct Relay<'a> {
    attached: &'a Attached,
    signals: Option<Signals>,
    keyboard: Option<BorrowedFd<'a>>,
    screen: Option<BorrowedFd<'a>>,
    /// How the terminal was.
    usual: Option<Termios>,
    deadline: Option<Instant>,
    over: Option<Over>,
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        self.make_usual();
    }
}

impl Relay<'_> {
    fn stay(&mut self) -> Result<Ended, Failed> {
        loop {
            let process = self.attached.process();
            let mut polled = vec![PollFd::new(process, PollFlags::IN)];
            let terminal = process.terminal();
            polled.extend(self.signals.as_ref().map(|signals| PollFd::new(signals, PollFlags::IN)));
            let signals_at = polled.len() - 1;
            let mut shown_at = None;
            let mut typed_at = None;
            if let Some(terminal) = terminal {
                shown_at = Some(polled.len());
                polled.push(PollFd::from_borrowed_fd(terminal, PollFlags::IN));
                if let Some(keyboard) = self.keyboard {
                    typed_at = Some(polled.len());
                    polled.push(PollFd::from_borrowed_fd(keyboard, PollFlags::IN));
                }
            }
            let wait = self.deadline.filter(|_| self.over.is_none()).map(|deadline| {
                let left = deadline.saturating_duration_since(Instant::now());
                Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ }
            });
            match rustix::event::poll(&mut polled, wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
            let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
            let is_ready = |at: Option<usize>| at.is_some_and(|at| ready[at]);
            if is_ready(shown_at) {
                self.show();
            }
            if is_ready(typed_at) {
                self.type_in();
            }
            if self.signals.is_some() && signals_at > 0 && ready[signals_at] {
                self.take_signals();
            }
            if ready[0] {
                match self.attached.process().next()? {
                    Event::Ended(ended) => return Ok(ended),
                    Event::Stopped => self.stop(),
                    _ => {}
                }
            }
            if self.over.is_none() && self.deadline.is_some_and(|at| Instant::now() >= at) {
                self.over = Some(Over::Time);
                let _ = self.attached.process().kill();
            }
        }
    }

    /// Passes on what the command shows; returns whether there was anything.
    fn show(&self) -> bool {
        let (Some(terminal), Some(screen)) = (self.attached.process().terminal(), self.screen)
        else {
            return false;
        };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(terminal, &mut buffer) {
            Ok(n) if n > 0 => {
                let _ = write_all(screen, &buffer[..n]);
                true
            }
            Err(rustix::io::Errno::INTR) => true,
            _ => false,
        }
    }

    fn type_in(&mut self) {
        let (Some(terminal), Some(keyboard)) = (self.attached.process().terminal(), self.keyboard)
        else {
            return;
        };
        let mut buffer = [0; 4 * 1024];
        match rustix::io::read(keyboard, &mut buffer) {
            Ok(n) if n > 0 => {
                let _ = write_all(terminal, &buffer[..n]);
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // The terminal went away.
            _ => self.keyboard = None,
        }
    }

    fn take_signals(&mut self) {
        while let Some(number) = self.signals.as_ref().and_then(Signals::next) {
            let process = self.attached.process();
            match Signal::from_named_raw(number) {
                Some(Signal::WINCH) => self.resize(),
                Some(Signal::HUP) => {
                    let _ = process.kill();
                }
                Some(Signal::TSTP) => {
                    let _ = process.signal(Signal::STOP.as_raw());
                    self.stop();
                }
                Some(Signal::CONT) | None => {}
                Some(signal) => {
                    let _ = process.signal(signal.as_raw());
                }
            }
        }
    }

    /// Stops with the command, and goes on with it.
    fn stop(&mut self) {
        self.make_usual();
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        self.make_raw();
        self.resize();
        let _ = self.attached.process().signal(Signal::CONT.as_raw());
    }

    fn resize(&self) {
        let (Some(terminal), Some(screen)) = (self.attached.process().terminal(), self.screen)
        else {
            return;
        };
        if let Ok(size) = rustix::termios::tcgetwinsize(screen) {
            let _ = rustix::termios::tcsetwinsize(terminal, size);
        }
    }

    /// Passes on what was shown last.
    fn drain(&self) {
        let Some(terminal) = self.attached.process().terminal() else { return };
        loop {
            let mut polled = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            match rustix::event::poll(&mut polled, Some(&now)) {
                Ok(n) if n > 0 && self.show() => {}
                _ => return,
            }
        }
    }

    fn make_raw(&mut self) {
        let (Some(keyboard), Some(_)) = (self.keyboard, self.attached.process().terminal()) else {
            return;
        };
        let Ok(usual) = rustix::termios::tcgetattr(keyboard) else { return };
        let mut raw = usual.clone();
        raw.make_raw();
        if rustix::termios::tcsetattr(keyboard, OptionalActions::Drain, &raw).is_ok() {
            self.usual = Some(usual);
        }
    }

    fn make_usual(&mut self) {
        if let (Some(keyboard), Some(usual)) = (self.keyboard, self.usual.take()) {
            let _ = rustix::termios::tcsetattr(keyboard, OptionalActions::Drain, &usual);
        }
    }
}

fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
