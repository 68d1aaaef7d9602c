//! The first process inside: starts a supervisor for each command.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitOptions};

use super::command::{self, Post};
use super::layers::Rules;
use super::{Pace, Trouble, Try, fatal, faults, processes};
use crate::plan::Plan;
use crate::sys::{self, Side};
use crate::wire::{self, Built, Private};

/// The uid that the kernel shows for users that have none in a namespace.
const OVERFLOW_UID: u32 = 65534;

/// What is known of a sandbox besides its plan.
pub(super) struct Known {
    /// What could not be watched, and why.
    pub(super) unwatched: Option<String>,
    /// Closes when the keeper ends.
    pub(super) keeper: Option<UnixStream>,
    pub(super) pace: Pace,
    /// What tells of the control group, where there is one.
    pub(super) events: Option<OwnedFd>,
    /// A mount of `/tmp` for another sandbox.
    pub(super) spare_tmp: Option<OwnedFd>,
}

/// Serves orders until the caller is gone.
pub(super) fn serve(plan: &Plan, socket: UnixStream, signals: OwnedFd, known: Known) -> i32 {
    match Init::new(plan, socket, signals, known) {
        Ok(init) => init.stay(),
        Err((trouble, socket)) => {
            trouble.tell(&socket);
            1
        }
    }
}

struct Init<'p> {
    plan: &'p Plan,
    socket: UnixStream,
    signals: OwnedFd,
    /// Closes when the keeper ends.
    keeper: Option<UnixStream>,
    rules: Rules,
    /// What supervisors notice the end of this process by.
    life: (OwnedFd, OwnedFd),
    /// What a supervisor says that it has an order by.
    busy: (OwnedFd, OwnedFd),
    supervisors: Vec<Pid>,
    /// Whether nobody waits for the next order.
    unposted: bool,
    pace: Pace,
    /// What tells of the control group, where there is one.
    events: Option<OwnedFd>,
}

impl<'p> Init<'p> {
    fn new(
        plan: &'p Plan,
        socket: UnixStream,
        signals: OwnedFd,
        known: Known,
    ) -> Result<Self, (Trouble, UnixStream)> {
        let Known { unwatched, keeper, pace, events, spare_tmp } = known;
        let make = || {
            let rules = Rules::new(plan)?;
            let pipe = || {
                rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                    .during(|| "make a pipe".to_owned())
            };
            let (life, busy) = (pipe()?, pipe()?);
            rustix::process::set_child_subreaper(Pid::from_raw(1))
                .during(|| "take care of orphans".to_owned())?;
            let away = plan.backend.has_own_tree() && is_mapped_away();
            // From here on this process has no right that commands do not have.
            rules.restrict_all()?;
            Ok((rules, life, busy, away))
        };
        let (rules, life, busy, away) = match make() {
            Ok(made) => made,
            Err(trouble) => return Err((trouble, socket)),
        };
        let own = plan.backend.has_own_tree();
        let mut layers = rules.layers.clone();
        layers.tree = own;
        layers.processes = own;
        layers.network = own && plan.network.is_apart();
        layers.root_mapped_away = away;
        layers.group = events.is_some();
        layers.unwatched = unwatched;
        let mut init = Init {
            plan,
            socket,
            signals,
            keeper,
            rules,
            life,
            busy,
            supervisors: Vec::new(),
            unposted: false,
            pace,
            events,
        };
        if let Err(trouble) = init.post().during(|| "start a process".to_owned()) {
            return Err((trouble, init.socket));
        }
        let (dirs, handed) = if own { private_dirs(plan, spare_tmp) } else { Default::default() };
        let beside: Vec<_> = handed.iter().map(AsFd::as_fd).collect();
        // A caller that is gone is noticed below.
        let _ = wire::send(&init.socket, &Built::Ready { layers, dirs }, &beside);
        if let Some(keeper) = &init.keeper {
            let _ = wire::send(keeper, &Built::Answered, &[]);
        }
        Ok(init)
    }

    fn stay(mut self) -> i32 {
        loop {
            // Orders are for the supervisor that waits, where there is one; this
            // is for the end.
            let order = match self.pace {
                Pace::OnDemand if self.unposted => PollFlags::IN,
                _ => PollFlags::empty(),
            };
            let mut polled = [
                PollFd::new(&self.socket, order),
                PollFd::new(&self.signals, PollFlags::IN),
                PollFd::new(&self.busy.0, PollFlags::IN),
                // Without the keeper nothing is guarded.
                PollFd::new(self.keeper.as_ref().unwrap_or(&self.socket), PollFlags::empty()),
            ];
            match rustix::event::poll(&mut polled, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
            let [asked, ended, busy, alone] = polled.map(|fd| fd.revents());
            let gone = !asked.difference(PollFlags::IN).is_empty() || !alone.is_empty();
            if gone || !ended.is_empty() && !self.reap() {
                break;
            }
            if !busy.is_empty() {
                let mut byte = [0];
                if rustix::io::read(&self.busy.0, &mut byte).is_err() {
                    break;
                }
                self.unposted = true;
            }
            if self.unposted && (self.pace == Pace::Ahead || !asked.is_empty()) {
                self.unposted = self.post().is_err();
                if self.unposted && self.supervisors.is_empty() {
                    break;
                }
                // Where there is no room for a process now there is when one has
                // ended, and not before.
                if self.unposted {
                    self.pace = Pace::Ahead;
                }
            }
        }
        self.end()
    }

    /// Has a supervisor wait for the next order.
    fn post(&mut self) -> std::io::Result<()> {
        match sys::fork()? {
            Side::Parent(pid) => {
                self.supervisors.push(pid);
                Ok(())
            }
            Side::Child => {
                faults::enter(faults::Process::Supervisor);
                // This process's copy.
                fatal::report_to(None);
                let (Ok(end), Ok(busy)) = (self.life.0.try_clone(), self.busy.1.try_clone()) else {
                    sys::exit(1)
                };
                // Replaced, and so closed here.
                self.life.1 = end;
                sys::exit(command::supervise(Post {
                    plan: self.plan,
                    rules: &self.rules,
                    orders: &self.socket,
                    signals: &self.signals,
                    life: &self.life.0,
                    events: self.events.as_ref(),
                    busy,
                }));
            }
        }
    }

    /// Collects ended children; returns whether all is well. A supervisor that
    /// did not end by itself leaves processes that nobody watches.
    fn reap(&mut self) -> bool {
        let mut buffer = [0; 1024];
        while rustix::io::read(&self.signals, &mut buffer).is_ok_and(|n| n > 0) {}
        loop {
            let any = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
            match rustix::process::wait(any) {
                Ok(Some((pid, status))) => {
                    let Some(at) = self.supervisors.iter().position(|held| *held == pid) else {
                        continue;
                    };
                    // KERNEL(6.12): before Landlock 6 commands can stop a supervisor,
                    // which would then hold nothing to its limits.
                    if status.stopped() || status.continued() {
                        return false;
                    }
                    self.supervisors.swap_remove(at);
                    if status.exit_status() != Some(0) {
                        return false;
                    }
                }
                _ => return true,
            }
        }
    }

    /// Ends everything inside.
    fn end(self) -> i32 {
        let own = rustix::process::getpid();
        if own.as_raw_nonzero().get() == 1 {
            // The kernel ends what is left in the namespace.
            return 0;
        }
        let Init { socket, life, signals, .. } = self;
        drop(socket);
        // Supervisors end what they watch when this closes.
        drop(life);
        for _ in 0..40 {
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
            if rustix::process::wait(WaitOptions::NOHANG).is_err() {
                return 0;
            }
            let mut polled = [PollFd::new(&signals, PollFlags::IN)];
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            let _ = rustix::event::poll(&mut polled, Some(&wait));
            let mut buffer = [0; 1024];
            while rustix::io::read(&signals, &mut buffer).is_ok_and(|n| n > 0) {}
        }
        processes::kill_below(own);
        0
    }
}

/// Returns the private directories for the caller to look into. It does without those that
/// cannot be opened.
fn private_dirs(plan: &Plan, spare_tmp: Option<OwnedFd>) -> (Vec<Private>, Vec<OwnedFd>) {
    let open = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).ok()
    };
    let dirs = [
        (Private::Tmp, open(Path::new("/tmp"))),
        (Private::Home, open(&plan.home)),
        (Private::SpareTmp, spare_tmp),
    ];
    dirs.into_iter().filter_map(|(name, dir)| Some((name, dir?))).unzip()
}

/// Returns whether the user inside is another one than the superuser outside, to whom the
/// kernel does not apply limits on processes.
fn is_mapped_away() -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    match std::fs::metadata("/proc/sys") {
        // Its owner is the superuser. One without a uid in this namespace is shown with the
        // overflow uid, which the caller can have as well: `nobody`.
        Ok(meta) if meta.uid() == own => {
            let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
            let outside = map.split_ascii_whitespace().nth(1);
            own == OVERFLOW_UID && outside.is_some_and(|outside| outside != "0")
        }
        Ok(_) => true,
        Err(_) => false,
    }
}
