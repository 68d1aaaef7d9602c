//! Starts one command, waits for it, and ends all that it leaves behind.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, Signal, WaitOptions, WaitStatus};
use rustix::pty::OpenptFlags;
use zonekeep_policy::limit::Limits;

use super::fatal::{self, Channel};
use super::layers::{Alone, Rules};
use super::{Trouble, Try, attempt, group, processes};
use crate::plan::{Plan, Start};
use crate::report::Over;
use crate::sys::{self, Program, Side};
use crate::wire::{self, Ask, End, Order, Told};

/// How often a running command is held against its limits.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often at most, when it has nearly all of the memory that it may have.
const LOOK_SOON: Duration = Duration::from_millis(5);
/// How many bytes of memory a command can fill in a millisecond.
const FILLED_PER_MILLISECOND: u64 = 16 << 20;
/// How often at least, where looking takes long.
const LOOK_AT_LEAST: Duration = Duration::from_millis(500);
/// The part of its time that this process looks: one in so many.
const IDLE_FOR_EACH: u32 = 4;
/// How long ended processes may take to go away.
const LINGER: Duration = Duration::from_secs(5);
/// Processes that are not the command's own: the first one, the command's
/// supervisor, and the one that waits for the next order.
const OWN_PROCESSES: u64 = 3;

/// What a supervisor needs.
pub(super) struct Post<'i> {
    pub(super) plan: &'i Plan,
    pub(super) rules: &'i Rules,
    /// Where orders come from.
    pub(super) orders: &'i UnixStream,
    pub(super) signals: &'i OwnedFd,
    /// Closes when the first process ends.
    pub(super) life: &'i OwnedFd,
    /// What tells of the control group, where there is one.
    pub(super) events: Option<&'i OwnedFd>,
    /// Takes a byte once an order came, so that somebody else takes the next.
    pub(super) busy: OwnedFd,
}

/// Is a supervisor: waits for an order, starts the command, and stays with it.
/// Returns the exit status, which is 0 unless something may have been left.
pub(super) fn supervise(post: Post<'_>) -> i32 {
    sys::set_name(c"zonekeep-super");
    let made = rustix::process::setsid()
        .and_then(|_| rustix::process::set_child_subreaper(Pid::from_raw(1)))
        .during(|| "take care of orphans".to_owned())
        .and_then(|()| post.rules.restrict_supervisor());
    // Waits until there is an order, or nobody left who could give one.
    let mut polled =
        [PollFd::new(post.orders, PollFlags::IN), PollFd::new(post.life, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = rustix::event::poll(&mut polled, None) {}
    if !polled[1].revents().is_empty() {
        return 0;
    }
    let Ok(Some((order, mut fds))) = wire::receive::<Order>(post.orders) else { return 0 };
    let busy = || {
        let _ = rustix::io::write(&post.busy, b"!");
    };
    if fds.is_empty() {
        busy();
        return 0;
    }
    let status = UnixStream::from(fds.remove(0));
    fatal::report_to(status.try_clone().ok().map(Channel::Command));
    let begun = made.and_then(|alone| begin(&post, order, fds, &status, alone));
    // Only now, so that making the next supervisor does not hold this command up.
    busy();
    match begun {
        Ok(mut supervisor) => supervisor.stay(),
        Err(trouble) => {
            let errno = trouble.source.raw_os_error().unwrap_or(libc::EIO);
            // Nothing was started, and so nothing is left.
            let _ = wire::send(&status, &Told::NotStarted { step: trouble.step, errno }, &[]);
            0
        }
    }
}

fn begin<'i>(
    post: &Post<'i>,
    order: Order,
    fds: Vec<OwnedFd>,
    status: &UnixStream,
    alone: Option<Alone>,
) -> Result<Supervisor<'i>, Trouble> {
    let (start, proves) = match order {
        Order::Start(start) => (start, false),
        Order::Prove(start) => (start, true),
    };
    // Without a tree of its own there is no place for terminals of its own: the
    // caller made one and sends it.
    let terminal = match start.terminal.contains(&true) && post.plan.backend.has_own_tree() {
        true => Some(open_terminal(status).during(|| "open a terminal".to_owned())?),
        false => None,
    };
    let mut fds = fds.into_iter();
    let mut stdio = Vec::new();
    for own in start.terminal {
        let fd = match &terminal {
            Some(terminal) if own => terminal.try_clone(),
            // Everything that was sent, in order.
            _ => fds.next().ok_or(io::ErrorKind::InvalidInput.into()).and_then(|fd| {
                let fits = match own {
                    true => rustix::termios::isatty(&fd),
                    false => crate::stdio::is_harmless(fd.as_fd())?,
                };
                // The caller's side copies everything else. A command that has it as it
                // is has what it was opened for, outside too.
                if fits { Ok(fd) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
            }),
        };
        stdio.push(fd.during(|| "connect the command".to_owned())?);
    }
    if let (None, Some(sent)) = (&terminal, start.terminal.iter().position(|&own| own)) {
        rustix::process::ioctl_tiocsctty(&stdio[sent]).during(|| "take the terminal".to_owned())?;
    }
    let limits = post.plan.limits.tightest(&start.limits);
    let program =
        program(post, &start, &stdio, &limits).during(|| "prepare the command".to_owned())?;
    let before = post.events.map_or(0, |events| group::ended(events.as_fd()));
    let main = match proves {
        false => sys::start(&program).map_err(|(step, errno)| {
            Trouble::new(sys::STEPS[step], io::Error::from_raw_os_error(errno))
        })?,
        true => match attempt(|| "start a process".to_owned(), sys::fork)? {
            Side::Parent(pid) => pid,
            Side::Child => match sys::prepare_here(&program) {
                Ok(()) => sys::exit(crate::prove::attempt()),
                Err(_) => sys::exit(127),
            },
        },
    };
    drop(stdio);
    Ok(Supervisor {
        main,
        status: status.try_clone().during(|| "keep the command's socket".to_owned())?,
        signals: post.signals.as_fd(),
        life: post.life.as_fd(),
        events: post.events.map(|events| (events.as_fd(), before)),
        alone,
        memory: limits.memory,
        processes: limits.processes,
        has_own_memory: post.plan.backend.has_own_tree(),
        look_every: look_again_in(limits.memory, 0),
        exact_after: None,
        over: None,
    })
}

/// Prepares all that the new process needs.
fn program<'s>(
    post: &'s Post<'_>,
    start: &Start,
    stdio: &'s [OwnedFd],
    limits: &Limits,
) -> io::Result<Program<'s>> {
    let text = |text: &OsStr| CString::new(text.as_bytes());
    let argv = start.argv.iter().map(|arg| text(arg)).collect::<Result<Vec<_>, _>>()?;
    let env = start
        .env
        .iter()
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
    let name = start.argv.first().map(|name| name.as_bytes()).unwrap_or_default();
    let path = start.env.get(OsStr::new("PATH"));
    let path = path.map_or(&b"/usr/local/bin:/usr/bin:/bin"[..], |path| path.as_bytes());
    let paths = match name.contains(&b'/') {
        _ if name.is_empty() => Vec::new(),
        true => vec![CString::new(name)?],
        false => path
            .split(|&byte| byte == b':')
            .filter(|dir| dir.starts_with(b"/"))
            .map(|dir| CString::new([dir, b"/", name].concat()))
            .collect::<Result<_, _>>()?,
    };
    let [input, output, errors] = stdio else { return Err(io::ErrorKind::InvalidInput.into()) };
    Ok(Program {
        stdio: [input.as_fd(), output.as_fd(), errors.as_fd()],
        terminal: start.terminal.iter().position(|&own| own),
        limits: rlimits(post.plan, limits),
        rules: post.rules.for_command(),
        cwd: CString::new(start.cwd.as_os_str().as_bytes())?,
        paths,
        argv,
        env: env.collect::<Result<_, _>>()?,
    })
}

/// Returns how long a command that has `used` so much memory is left alone: no longer than
/// it takes to fill the rest.
fn look_again_in(limit: Option<u64>, used: u64) -> Duration {
    let Some(limit) = limit else { return LOOK_EVERY };
    let rest = limit.saturating_sub(used) / FILLED_PER_MILLISECOND;
    Duration::from_millis(rest).clamp(LOOK_SOON, LOOK_EVERY)
}

/// Returns the limits that the kernel holds for each process.
///
/// The limit on memory is not among them: `RLIMIT_DATA` counts address space that is
/// reserved and never used, of which sanitizers and Go's race detector take terabytes.
fn rlimits(plan: &Plan, limits: &Limits) -> Vec<(libc::__rlimit_resource_t, u64, u64)> {
    let mut wanted = vec![
        (Resource::Core, libc::RLIMIT_CORE, Some(0)),
        (Resource::Cpu, libc::RLIMIT_CPU, limits.cpu_seconds),
        (Resource::Nofile, libc::RLIMIT_NOFILE, limits.open_files),
        (Resource::Fsize, libc::RLIMIT_FSIZE, limits.file_size),
    ];
    // Without a tree of its own all processes of the user count, and the
    // superuser's not at all.
    let others = match plan.backend.has_own_tree() {
        true => 0,
        false => processes::of_this_user(),
    };
    let processes =
        limits.processes.map(|n| n.saturating_add(OWN_PROCESSES).saturating_add(others));
    wanted.push((Resource::Nproc, libc::RLIMIT_NPROC, processes));
    let held = |resource, limit: u64| {
        rustix::process::getrlimit(resource).maximum.map_or(limit, |most| most.min(limit))
    };
    wanted
        .into_iter()
        .filter_map(|(resource, number, limit)| {
            let limit = limit?;
            let hard = held(resource, limit);
            if number != libc::RLIMIT_CPU {
                return Some((number, hard, hard));
            }
            // The kernel warns a second before it ends a process, and most end of the
            // warning. Without one nobody could tell why the process ended.
            let soft = hard.saturating_sub(1).max(1);
            let hard = held(resource, limit.max(2));
            Some((number, soft.min(hard), hard))
        })
        .collect()
}

/// Opens a terminal inside, and gives the other side to the caller.
fn open_terminal(status: &UnixStream) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&outer)?;
    let inner = rustix::pty::ioctl_tiocgptpeer(&outer, flags)?;
    // The supervisor leads the session, and the command is a job in it: so it
    // can be stopped, which a session without anybody above it cannot be.
    rustix::process::ioctl_tiocsctty(&inner)?;
    wire::send(status, &Told::Terminal, &[outer.as_fd()])?;
    Ok(inner)
}

/// Waits for a command.
struct Supervisor<'i> {
    main: Pid,
    status: UnixStream,
    signals: BorrowedFd<'i>,
    life: BorrowedFd<'i>,
    /// What tells of the control group, and how many processes it had ended before.
    events: Option<(BorrowedFd<'i>, u64)>,
    alone: Option<Alone>,
    memory: Option<u64>,
    processes: Option<u64>,
    /// Whether shared memory is that of this sandbox alone.
    has_own_memory: bool,
    look_every: Duration,
    /// Until when it is not found out again how much memory is shared, which takes time.
    exact_after: Option<Instant>,
    over: Option<Over>,
}

impl Supervisor<'_> {
    fn stay(&mut self) -> i32 {
        let mut ended = None;
        let mut looked = Instant::now();
        while ended.is_none() {
            let mut polled = [
                PollFd::from_borrowed_fd(self.signals, PollFlags::IN),
                PollFd::new(&self.status, PollFlags::IN),
                PollFd::from_borrowed_fd(self.life, PollFlags::IN),
            ];
            let wait = self.look_every.saturating_sub(looked.elapsed());
            let wait = Timespec { tv_sec: wait.as_secs() as _, tv_nsec: wait.subsec_nanos() as _ };
            match rustix::event::poll(&mut polled, Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
            let (asked, orphaned) =
                (!polled[1].revents().is_empty(), !polled[2].revents().is_empty());
            self.forget_signals();
            ended = self.reap();
            if ended.is_some() {
                break;
            }
            if orphaned || asked && !self.obey() {
                self.kill();
                ended = self.wait_for_main();
                break;
            }
            if looked.elapsed() >= self.look_every {
                self.hold_to_limits();
                looked = Instant::now();
                if self.over.is_some() {
                    ended = self.wait_for_main();
                }
            }
        }
        let left = self.end_the_rest();
        if self.has_own_memory {
            processes::remove_pieces();
        }
        // The kernel may have refused more before this process looked, unless all went well.
        let failed = ended.and_then(|status| status.exit_status()) != Some(0);
        if failed
            && self.over.is_none()
            && self.processes.is_some_and(|limit| left.unwrap_or(0) + 1 >= limit)
        {
            self.over = Some(Over::Processes);
        }
        if let (None, Some((events, before))) = (self.over, self.events)
            && group::ended(events) > before
        {
            self.over = Some(Over::Memory);
        }
        let (cpu_seconds, peak_memory) = sys::used_by_children();
        let end = End {
            code: ended.and_then(|status| status.exit_status()),
            signal: ended.and_then(|status| status.terminating_signal()),
            over: self.over,
            cpu_seconds,
            peak_memory,
            left: left.unwrap_or(0),
        };
        let _ = wire::send(&self.status, &Told::Ended(end), &[]);
        if left.is_some() { 0 } else { 1 }
    }

    fn forget_signals(&self) {
        let mut buffer = [0; 1024];
        while rustix::io::read(self.signals, &mut buffer).is_ok_and(|n| n > 0) {}
    }

    /// Collects ended children; returns how the command ended, once it has.
    fn reap(&self) -> Option<WaitStatus> {
        let mut ended = None;
        while let Ok(Some((pid, status))) =
            rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
        {
            if pid != self.main {
                continue;
            }
            if status.stopped() {
                let _ = wire::send(&self.status, &Told::Stopped, &[]);
            } else {
                ended = Some(status);
            }
        }
        ended
    }

    /// Does what the caller asks; returns false when all is to end.
    fn obey(&self) -> bool {
        match wire::receive::<Ask>(&self.status) {
            Ok(Some((Ask::Signal(number), _))) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    let _ = rustix::process::kill_process_group(self.main, signal);
                }
                true
            }
            _ => false,
        }
    }

    fn hold_to_limits(&mut self) {
        if self.memory.is_none() && self.processes.is_none() {
            return;
        }
        let begun = Instant::now();
        let below = processes::below(rustix::process::getpid());
        if self.memory.is_some_and(|limit| self.has_too_much(&below, limit)) {
            self.over = Some(Over::Memory);
        } else if self.processes.is_some_and(|limit| below.threads >= limit) {
            // More than that the kernel does not allow, where it counts.
            self.over = Some(Over::Processes);
        }
        if self.over.is_some() {
            self.kill();
        }
        let every = look_again_in(self.memory, below.bound);
        self.look_every = every.max(begun.elapsed() * IDLE_FOR_EACH).min(LOOK_AT_LEAST);
    }

    /// Returns whether processes have more memory together than the limit.
    fn has_too_much(&mut self, below: &processes::Below, limit: u64) -> bool {
        // Some of it may be mapped by none of them.
        let pieces = if self.has_own_memory { sys::shared_memory().1 } else { 0 };
        if below.bound.saturating_add(pieces) <= limit {
            return false;
        }
        let begun = Instant::now();
        if self.exact_after.is_some_and(|after| begun < after) {
            return false;
        }
        let memory = processes::memory(&below.pids, pieces);
        self.exact_after = Some(Instant::now() + begun.elapsed() * IDLE_FOR_EACH);
        memory > limit
    }

    /// Kills all that came of the command.
    fn kill(&self) {
        match &self.alone {
            // One call, with no gap for a new process to slip through.
            Some(Alone { .. }) => sys::kill_every(),
            None => processes::kill_below(rustix::process::getpid()),
        }
    }

    fn wait_for_main(&self) -> Option<WaitStatus> {
        let since = Instant::now();
        while since.elapsed() < LINGER {
            if let Some(status) = self.reap() {
                return Some(status);
            }
            self.wait_for_signal();
        }
        None
    }

    fn wait_for_signal(&self) {
        let mut polled = [PollFd::from_borrowed_fd(self.signals, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        let _ = rustix::event::poll(&mut polled, Some(&wait));
        self.forget_signals();
    }

    /// Ends what the command left; returns how many processes that were, or
    /// `None` when some did not go.
    fn end_the_rest(&self) -> Option<u64> {
        let since = Instant::now();
        let mut left = 0;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => left += 1,
                Err(_) => return Some(left),
                Ok(None) => {
                    if since.elapsed() > LINGER {
                        return None;
                    }
                    self.kill();
                    self.wait_for_signal();
                }
            }
        }
    }
}
