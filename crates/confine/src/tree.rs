//! A confined tree from the outside: start it, start commands in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, WaitOptions};

use crate::activity::Activity;
use crate::beside;
use crate::launcher;
use crate::links::Shared;
use crate::plan::{Plan, Start};
use crate::report::{Caught, Layers};
pub use crate::report::{Ended, Event, Failed};
use crate::stdio::{Relay, Streams};
use crate::wire::{self, Ask, Build, Built, Errand, Order, Private, Settled, Told, What};

/// The variable of the environment that keeps sandboxes out of control groups: `off`.
const GROUPS: &str = "ZONEKEEP_CGROUP";

/// Whether this program can be its own launcher.
static READY: AtomicBool = AtomicBool::new(false);

/// Notes that this program becomes the launcher when it is asked.
pub(crate) fn this_program_can_launch() {
    READY.store(true, Ordering::Relaxed);
}

/// The program that builds trees: one that calls
/// [`become_if_asked`](launcher::become_if_asked) first of all, such as
/// `zonekeep` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    /// Faults that a test injects.
    faults: Vec<String>,
}

impl Launcher {
    /// Uses the program at a path.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Launcher { program: program.into(), faults: Vec::new() }
    }

    /// Has the launcher fail at a step, or do without a system call, as a test of
    /// this library asks for; in a release build nothing of it happens.
    #[doc(hidden)]
    #[must_use]
    pub fn with_fault(mut self, fault: impl Into<String>) -> Self {
        self.faults.push(fault.into());
        self
    }

    /// Uses this program, which has called
    /// [`become_if_asked`](launcher::become_if_asked).
    pub fn this_program() -> Self {
        Launcher::at("/proc/self/exe")
    }

    /// Finds a launcher: the one that `ZONEKEEP_LAUNCHER` names, this program if
    /// it can be one, else `zonekeep` in `PATH`.
    pub fn find() -> Option<Self> {
        if let Some(named) = Self::named() {
            return Some(named);
        }
        if READY.load(Ordering::Relaxed) {
            return Some(Self::this_program());
        }
        let path = std::env::var_os("PATH")?;
        let found = std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("zonekeep"))
            .find(|program| program.is_file())?;
        Some(Launcher::at(found))
    }

    fn named() -> Option<Self> {
        let named = std::env::var_os("ZONEKEEP_LAUNCHER").filter(|name| !name.is_empty());
        named.map(Launcher::at)
    }

    /// Returns the program's path.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts the program already, for the first sandbox to come: it is loaded
    /// while this one still finds out what is wanted. Where that fails, nothing
    /// is lost: it is tried again, and told, when a sandbox is started.
    pub fn start_early(&self) {
        let mut early = lock(&EARLY);
        if early.as_ref().is_none_or(|(launcher, _)| launcher != self)
            && let Ok(waiting) = Waiting::start(self)
        {
            *early = Some((self.clone(), waiting));
        }
    }
}

/// Splits the launcher for the first sandbox off this process, unless another
/// program is named for that, or it cannot be done well.
pub(crate) fn split_off() {
    if Launcher::named().is_none()
        && let Some((pid, keeper)) = launcher::split()
    {
        let waiting = Waiting { child: Child::SplitOff(pid), keeper };
        *lock(&EARLY) = Some((Launcher::this_program(), waiting));
    }
}

/// The launcher that was started early, until it is used.
static EARLY: Mutex<Option<(Launcher, Waiting)>> = Mutex::new(None);

/// A launcher that waits for its plan. It ends when the socket is closed.
#[derive(Debug)]
struct Waiting {
    child: Child,
    keeper: UnixStream,
}

impl Waiting {
    fn start(launcher: &Launcher) -> Result<Self, Failed> {
        let (keeper, keeper_end) = UnixStream::pair()?;
        let child = Command::new(&launcher.program)
            .arg0(launcher::NAME)
            .args(&launcher.faults)
            .env_clear()
            .stdin(OwnedFd::from(keeper_end))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| Failed::Launcher { program: launcher.program.clone(), source })?;
        Ok(Waiting { child: Child::Started(child), keeper })
    }

    fn of(launcher: &Launcher) -> Result<Self, Failed> {
        match lock(&EARLY).take_if(|(early, _)| early == launcher) {
            Some((_, waiting)) => Ok(waiting),
            None => Waiting::start(launcher),
        }
    }
}

/// The process that is a launcher.
#[derive(Debug)]
enum Child {
    Started(process::Child),
    SplitOff(Pid),
}

impl Child {
    fn id(&self) -> u32 {
        match self {
            Child::Started(child) => child.id(),
            Child::SplitOff(pid) => pid.as_raw_pid().unsigned_abs(),
        }
    }

    /// Waits until it has ended.
    fn wait(&mut self) {
        match self {
            Child::Started(child) => drop(child.wait()),
            Child::SplitOff(pid) => {
                let wait = || rustix::process::waitpid(Some(*pid), WaitOptions::empty());
                let _ = rustix::io::retry_on_intr(wait);
            }
        }
    }
}

/// What failed, as it is told more than once.
#[derive(Debug)]
struct Unready {
    step: String,
    errno: Option<i32>,
    why: String,
}

/// A running sandbox. Everything in it ends when this is dropped, or when this
/// process ends, however it does.
#[derive(Debug)]
pub struct Tree {
    plan: Plan,
    keeper: Mutex<UnixStream>,
    init: Mutex<UnixStream>,
    ready: OnceLock<Result<Layers, Unready>>,
    /// Those of the gateway, until they are handed out.
    sockets: Mutex<Option<Vec<OwnedFd>>>,
    /// The private `/tmp` and home directory of its commands, once the sandbox stands.
    tmp: OnceLock<OwnedFd>,
    home: OnceLock<OwnedFd>,
    /// A mount of `/tmp` for another sandbox, until that has it.
    spare_tmp: Mutex<Option<OwnedFd>>,
    /// What the keeper hears of changes by, once it has been asked anything.
    changes: OnceLock<OwnedFd>,
    /// Files with other names outside, once the keeper has been asked anything.
    shared: OnceLock<Shared>,
    half_removed: Mutex<Vec<String>>,
    child: Mutex<Option<Child>>,
}

impl Tree {
    /// Starts a sandbox. Returns before it stands: the first use waits for that.
    pub fn start(plan: Plan, launcher: &Launcher) -> Result<Self, Failed> {
        Tree::start_for(plan, launcher, None, None)
    }

    /// Starts a sandbox of a session: what changes in its zones while `activity` says
    /// that no command runs is taken for the user's own doing. Without that nothing is.
    /// Its commands have the `/tmp` of the sandbox that `tmp` is of ([`Tree::spare_tmp`]),
    /// unless something is granted below it or the backend cannot do that.
    pub fn start_for(
        plan: Plan,
        launcher: &Launcher,
        activity: Option<&Activity>,
        tmp: Option<OwnedFd>,
    ) -> Result<Self, Failed> {
        let (child, keeper, init) = launch(launcher, &plan, What::Sandbox, activity, tmp)?;
        Ok(Tree {
            plan,
            keeper: Mutex::new(keeper),
            init: Mutex::new(init),
            ready: OnceLock::new(),
            sockets: Mutex::new(None),
            tmp: OnceLock::new(),
            home: OnceLock::new(),
            spare_tmp: Mutex::new(None),
            changes: OnceLock::new(),
            shared: OnceLock::new(),
            half_removed: Mutex::default(),
            child: Mutex::new(Some(child)),
        })
    }

    /// Returns the plan that the sandbox was made by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns which layers hold; waits until the sandbox stands.
    pub fn layers(&self) -> Result<&Layers, Failed> {
        let init = lock(&self.init);
        let ready = self.ready.get_or_init(|| {
            let Stands { layers, sockets, dirs } = hear(&init, &lock(&self.keeper))?;
            *lock(&self.sockets) = Some(sockets);
            for (name, dir) in dirs {
                let _ = match name {
                    Private::Tmp => self.tmp.set(dir),
                    Private::Home => self.home.set(dir),
                    Private::SpareTmp => {
                        *lock(&self.spare_tmp) = Some(dir);
                        Ok(())
                    }
                };
            }
            Ok(layers)
        });
        ready.as_ref().map_err(|unready| Failed::Step {
            step: unready.step.clone(),
            errno: unready.errno,
            why: unready.why.clone(),
        })
    }

    /// Returns the sockets of the plan's gateway, in its order, to answer at, and behind them
    /// those that connect to servers inside ([`Plan::dialers`]); waits until the sandbox stands. They are handed out once, and nobody
    /// connects to them any more when the sandbox has ended. In place of an IPv6
    /// one, where the kernel has no IPv6, is one that nobody knows the address of.
    pub fn sockets(&self) -> Result<Vec<OwnedFd>, Failed> {
        self.layers()?;
        let wanted = self.plan.network.gateway().map_or(0, |gateway| gateway.sockets.len());
        let wanted = wanted + 2 * usize::from(self.plan.dialers);
        let unusable = |why: &str| {
            let step = "take the sockets of the gateway".to_owned();
            Failed::Step { step, errno: None, why: why.to_owned() }
        };
        match lock(&self.sockets).take() {
            _ if wanted == 0 => Ok(Vec::new()),
            Some(sockets) if sockets.len() == wanted => Ok(sockets),
            Some(_) => Err(unusable("there are not as many as there should be")),
            None => Err(unusable("they were taken before")),
        }
    }

    /// Returns the private `/tmp` of its commands, once the sandbox stands, where it has a
    /// tree of its own. What is below it is the commands' doing: links there may lead
    /// anywhere.
    pub fn tmp(&self) -> Option<BorrowedFd<'_>> {
        self.tmp.get().map(AsFd::as_fd)
    }

    /// Hands out a mount of that directory for one other sandbox; waits until this one
    /// stands.
    pub fn spare_tmp(&self) -> Option<OwnedFd> {
        self.layers().ok()?;
        lock(&self.spare_tmp).take()
    }

    /// Returns what commands have put beside granted directories, in private directories
    /// that end with the sandbox; entries whose names begin with a dot aside.
    pub fn left_beside(&self) -> Vec<PathBuf> {
        let private = [(self.plan.home.as_path(), &self.home), (Path::new("/tmp"), &self.tmp)];
        let private: Vec<_> =
            private.into_iter().filter_map(|(at, dir)| Some((at, dir.get()?.as_fd()))).collect();
        beside::left(&self.plan, &private)
    }

    /// Starts a command. `stdio` are its standard input, output and error, as
    /// far as they are not a terminal of its own. Anonymous pipes and `/dev/null` are
    /// handed over; all else is copied by a thread of this process, because a
    /// descriptor carries rights of the host.
    pub fn command(&self, start: Start, stdio: &[BorrowedFd<'_>]) -> Result<Process, Failed> {
        self.order(Order::Start(start), stdio)
    }

    /// Starts the self-probe, as confined as a command, with its result on
    /// standard output.
    pub fn probe(&self, start: Start, stdio: &[BorrowedFd<'_>]) -> Result<Process, Failed> {
        self.order(Order::Prove(start), stdio)
    }

    fn order(&self, order: Order, stdio: &[BorrowedFd<'_>]) -> Result<Process, Failed> {
        let (wanted, limits) = match &order {
            Order::Start(start) | Order::Prove(start) => (start.terminal, &start.limits),
        };
        let file_size = self.plan.limits.tightest(limits).file_size;
        let stdio = Streams::of(stdio, wanted, file_size)?;
        let (status, status_end) = UnixStream::pair()?;
        let mut process = Process { status, terminal: None, relay: None };
        let made = match wanted.contains(&true) && !self.plan.backend.has_own_tree() {
            true => Some(open_terminal()?),
            false => None,
        };
        let mut fds = vec![status_end.as_fd()];
        match &made {
            // Its ends take their places among the others.
            Some((_, inner)) => {
                let mut given = stdio.fds();
                for own in wanted {
                    fds.extend(if own { Some(inner.as_fd()) } else { given.next() });
                }
            }
            None => fds.extend(stdio.fds()),
        }
        let sent = wire::send(&lock(&self.init), &order, &fds);
        drop(status_end);
        // What went wrong before tells more than that nobody listens.
        self.layers()?;
        sent.map_err(|_| Failed::Gone)?;
        match made {
            Some((outer, _)) => process.terminal = Some(outer),
            None if wanted.contains(&true) => match wire::receive::<Told>(&process.status)? {
                Some((Told::Terminal, mut fds)) => process.terminal = fds.pop(),
                Some((Told::NotStarted { step, errno }, _)) => {
                    return Err(not_started(step, errno));
                }
                Some((Told::Failed { step, why }, _)) => {
                    return Err(Failed::Step { step, errno: None, why });
                }
                _ => return Err(Failed::Gone),
            },
            None => {}
        }
        process.relay = stdio.start()?;
        Ok(process)
    }

    /// Has the keeper catch what is still to be caught; returns all that was
    /// since the last time.
    pub fn settle(&self) -> Result<Vec<Caught>, Failed> {
        self.send_errand(&Errand::Settle)
    }

    /// Does the same for the last time, once nothing runs any more: the keeper takes
    /// nothing away after that, for it would be the user's own.
    pub fn finish(&self) -> Result<Vec<Caught>, Failed> {
        self.send_errand(&Errand::Finish)
    }

    /// Returns whether something may have changed in its zones that the keeper has not
    /// looked at.
    pub fn has_news(&self) -> bool {
        let waiting = |fd: &OwnedFd| rustix::io::ioctl_fionread(fd).map_or(true, |bytes| bytes > 0);
        self.plan.watch.is_some() && self.changes.get().is_none_or(waiting)
    }

    /// Has the keeper take in what has changed, unless commands run.
    pub fn take_in(&self) -> Result<(), Failed> {
        self.send_errand(&Errand::TakeIn).map(drop)
    }

    /// Returns the files in writable zones that have other names outside (hard links), once
    /// the keeper was asked anything; in a tree of its own they are read-only.
    pub fn shared(&self) -> Option<&Shared> {
        self.shared.get()
    }

    /// Returns the repositories that commands have removed but for their guarded files, as
    /// the keeper last found them.
    pub fn half_removed(&self) -> Vec<String> {
        lock(&self.half_removed).clone()
    }

    fn send_errand(&self, errand: &Errand) -> Result<Vec<Caught>, Failed> {
        let keeper = lock(&self.keeper);
        wire::send(&keeper, errand, &[])?;
        match wire::receive::<Settled>(&keeper)? {
            Some((Settled { caught, shared, half_removed }, fds)) => {
                let _ = self.shared.set(shared);
                *lock(&self.half_removed) = half_removed;
                for changes in fds {
                    let _ = self.changes.set(changes);
                }
                Ok(caught)
            }
            None => Err(Failed::Gone),
        }
    }

    /// Returns the number of the process that keeps the sandbox, outside of it.
    pub fn keeper_pid(&self) -> Option<u32> {
        lock(&self.child).as_ref().map(Child::id)
    }

    /// Ends the sandbox without waiting until all of it is gone: for a program
    /// that is about to end itself.
    pub fn leave(self) {
        *lock(&self.child) = None;
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        for socket in [&mut self.keeper, &mut self.init] {
            let socket = socket.get_mut().unwrap_or_else(PoisonError::into_inner);
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        if let Some(mut child) = child {
            child.wait();
        }
    }
}

/// What is known of a sandbox that stands.
struct Stands {
    layers: Layers,
    /// Those of its gateway.
    sockets: Vec<OwnedFd>,
    dirs: Vec<(Private, OwnedFd)>,
}

/// Hears what the sandbox says until it stands.
fn hear(init: &UnixStream, keeper: &UnixStream) -> Result<Stands, Unready> {
    let mut sockets = Vec::new();
    loop {
        match wire::receive::<Built>(init) {
            Ok(Some((Built::Sockets, fds))) => sockets.extend(fds),
            Ok(Some((Built::Ready { layers, dirs }, handed))) => {
                let dirs = dirs.into_iter().zip(handed).collect();
                return Ok(Stands { layers, sockets, dirs });
            }
            Ok(Some((Built::Failed { step, errno, why }, _))) => {
                return Err(Unready { step, errno, why });
            }
            Ok(_) | Err(_) => return Err(last_word(keeper)),
        }
    }
}

/// Returns what a launcher that has ended said on the socket of its keeper, which is
/// the only one until it has a plan.
fn last_word(keeper: &UnixStream) -> Unready {
    let mut polled = [PollFd::new(keeper, PollFlags::IN)];
    let waits = rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    match waits.is_ok_and(|count| count > 0).then(|| wire::receive::<Built>(keeper)) {
        Some(Ok(Some((Built::Failed { step, errno, why }, _)))) => Unready { step, errno, why },
        _ => {
            let why = "the launcher ended without a word".to_owned();
            Unready { step: "start the sandbox".to_owned(), errno: None, why }
        }
    }
}

/// Opens a terminal; returns its outer and its inner side.
fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::pty::OpenptFlags;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&outer)?;
    let inner = rustix::pty::ioctl_tiocgptpeer(&outer, flags)?;
    Ok((outer, inner))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_started(step: String, errno: i32) -> Failed {
    let why = io::Error::from_raw_os_error(errno).to_string();
    Failed::Step { step, errno: Some(errno), why }
}

fn launch(
    launcher: &Launcher,
    plan: &Plan,
    what: What,
    activity: Option<&Activity>,
    tmp: Option<OwnedFd>,
) -> Result<(Child, UnixStream, UnixStream), Failed> {
    let Waiting { child, keeper } = Waiting::of(launcher)?;
    let (init, init_end) = UnixStream::pair()?;
    let own = activity.map_or(0, Activity::own);
    let groups = match std::env::var(GROUPS).as_deref() {
        Ok("on") => true,
        Ok("off") => false,
        // Tests leave the groups of the machine that they run on alone.
        _ => !cfg!(debug_assertions),
    };
    let (plan, tmp) = (plan.clone(), tmp.as_ref().map(AsFd::as_fd));
    let build = Build { plan, what, own, groups, unwatched: None, shares_tmp: tmp.is_some() };
    let beside = [Some(init_end.as_fd()), activity.map(AsFd::as_fd), tmp];
    let beside: Vec<BorrowedFd<'_>> = beside.into_iter().flatten().collect();
    match wire::send(&keeper, &build, &beside) {
        // It has ended; `init` is closed now, and it may have said why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => {
            sent.map_err(|source| Failed::Launcher { program: launcher.program.clone(), source })?
        }
    }
    Ok((child, keeper, init))
}

/// Returns a handle of each zone of a plan: a mount of its own, read-only where
/// the zone is. File work beneath it cannot leave it, and cannot write what
/// commands cannot write.
pub fn handles(plan: &Plan, launcher: &Launcher) -> Result<Vec<OwnedFd>, Failed> {
    let (mut child, keeper, init) = launch(launcher, plan, What::Handles, None, None)?;
    let mut handles = Vec::new();
    let result = loop {
        match wire::receive::<Built>(&init) {
            Ok(Some((Built::Handles { last }, fds))) => {
                handles.extend(fds);
                if last {
                    break Ok(());
                }
            }
            Ok(Some((Built::Failed { step, errno, why }, _))) => {
                break Err(Failed::Step { step, errno, why });
            }
            _ => {
                let Unready { step, errno, why } = last_word(&keeper);
                break Err(Failed::Step { step, errno, why });
            }
        }
    };
    drop((keeper, init));
    child.wait();
    result?;
    match handles.len() == plan.zones().count() {
        true => Ok(handles),
        false => Err(Failed::Gone),
    }
}

/// A running command. It ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    status: UnixStream,
    terminal: Option<OwnedFd>,
    /// Where some of its descriptors are copied to or from.
    relay: Option<Relay>,
}

impl Process {
    /// Returns the outer side of its terminal, where it has one of its own.
    pub fn terminal(&self) -> Option<BorrowedFd<'_>> {
        self.terminal.as_ref().map(AsFd::as_fd)
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, number: i32) -> Result<(), Failed> {
        Ok(wire::send(&self.status, &Ask::Signal(number), &[])?)
    }

    /// Ends all processes of the command.
    pub fn kill(&self) -> Result<(), Failed> {
        Ok(wire::send(&self.status, &Ask::Kill, &[])?)
    }

    /// Waits for the next thing that it does. [`AsFd`] tells when there is one.
    pub fn next(&self) -> Result<Event, Failed> {
        match wire::receive::<Told>(&self.status)? {
            Some((Told::Stopped, _)) => Ok(Event::Stopped),
            Some((Told::Ended(end), _)) => Ok(Event::Ended(Ended {
                code: end.code,
                signal: end.signal,
                over: end.over,
                cpu_seconds: end.cpu_seconds,
                peak_memory: end.peak_memory,
                left: end.left,
            })),
            Some((Told::NotStarted { step, errno }, _)) => Err(not_started(step, errno)),
            Some((Told::Failed { step, why }, _)) => Err(Failed::Step { step, errno: None, why }),
            Some((Told::Terminal, _)) | None => Err(Failed::Gone),
        }
    }

    /// Waits, once it has ended, until all that it printed has arrived where it goes;
    /// no longer than until `stop` can be read from, or until that time.
    pub fn deliver(
        &self,
        stop: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
    ) -> Result<(), Failed> {
        self.relay.as_ref().map_or(Ok(()), |relay| relay.finish(stop, until))
    }

    /// Waits until it has ended, and all that it printed has arrived.
    pub fn wait(&self) -> Result<Ended, Failed> {
        loop {
            if let Event::Ended(ended) = self.next()? {
                self.deliver(None, None)?;
                return Ok(ended);
            }
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.status.as_fd()
    }
}
