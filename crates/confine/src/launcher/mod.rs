//! The program that builds the confined tree, stays as its first process, and
//! starts commands in it.
//!
//! Three kinds of process come of it. The *keeper* stays outside, with the
//! caller's own rights: it watches guarded files, and cleans up when the caller
//! or the sandbox is gone, however they went. *Init* is the first process
//! inside and starts a *supervisor* for each command, which waits for it and
//! ends all that it leaves behind. None of them has a second thread.

mod command;
mod fatal;
pub(crate) mod faults;
mod first;
pub(crate) mod gateway;
mod group;
mod guard;
mod handles;
mod init;
pub(crate) mod inotify;
mod layers;
mod maps;
mod processes;
mod remount;
pub(crate) mod routes;
mod tree;

pub(crate) use group::Group;
pub(crate) use tree::{Fixed, PROC_HIDDEN, PROC_READ_ONLY};

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};

use self::first::First;
use self::guard::Guard;
use self::init::Known;
use crate::activity::Quiet;
use crate::links::{HardLinks, Shared};
use crate::plan::{Access, Backend, Plan};
use crate::sys::{self, Given, Side};
use crate::wire::{self, Build, Built, Errand, Settled, What};

/// The name under which a program is asked to be the launcher.
pub(crate) const NAME: &str = "zonekeep-launcher";
/// The argument that skips the keeper, where another program made the tree.
pub(crate) const INSIDE: &str = "inside";
/// Where the launcher is in a tree that another program made. Not every such
/// program can give it its name.
pub(crate) const PLACE: &str = "/.zonekeep-launcher";

/// Becomes the launcher if this process was started as one, and never returns
/// then.
///
/// A program that wants to confine commands calls this first in its `main`,
/// before it starts a thread; [`Launcher::this_program`](crate::tree::Launcher)
/// relies on it.
pub fn become_if_asked() {
    become_or_get_ready();
}

/// Does what [`become_if_asked`] does, and [`split_off`] where the first argument
/// is `word`.
pub fn become_or_split_off(word: &str) {
    if become_or_get_ready() == word.as_bytes() {
        split_off();
    }
}

/// Splits the launcher for the first sandbox off this process.
///
/// That costs less than to start a program, and is for those that confine a
/// command and do little else: what is split off is a copy of this process, so
/// it comes before anything is read that a sandbox is not to have. A process
/// with a second thread is not split; its launcher is started as always.
pub fn split_off() {
    crate::tree::split_off();
}

/// Becomes the launcher if asked; else returns the first argument.
fn become_or_get_ready() -> Vec<u8> {
    let mut args = std::env::args_os().map(OsString::into_encoded_bytes);
    let (name, first) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
    let inside = first == INSIDE.as_bytes();
    if name == NAME.as_bytes() || inside && name == PLACE.as_bytes() {
        std::iter::once(first).chain(args).for_each(|fault| faults::arm(&fault));
        let code = if inside { run_inside() } else { run(Pace::Ahead) };
        sys::exit(code);
    }
    // A launcher that is split off has no copy of the others.
    args.for_each(sys::forget);
    crate::tree::this_program_can_launch();
    first
}

/// Splits off a process that is the launcher, with nothing of this one but the
/// program: returns its number and its socket, or `None` where it would not be
/// as good as one that was started.
pub(crate) fn split() -> Option<(Pid, UnixStream)> {
    // What is loaded into this program does not belong into that one.
    if ["LD_PRELOAD", "LD_AUDIT"].into_iter().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    let given = Given::find()?;
    let (keeper, end) = UnixStream::pair().ok()?;
    match sys::fork().ok()? {
        Side::Parent(pid) => Some((pid, keeper)),
        Side::Child => {
            given.forget(NAME);
            let connected = || {
                let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
                sys::place_fd(end.as_fd(), 0)?;
                sys::place_fd(null.as_fd(), 1)?;
                sys::place_fd(null.as_fd(), 2)
            };
            // All else that is open is closed there.
            sys::exit(if connected().is_ok() { run(Pace::OnDemand) } else { 1 })
        }
    }
}

/// Returns the user and group that commands run as, as they see it: never the
/// superuser in a tree of their own.
pub fn inside_ids(own_tree: bool) -> (u32, u32) {
    match own_tree {
        true => maps::inside(),
        false => (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
    }
}

/// A step that failed, and what the system said.
#[derive(Debug)]
pub(crate) struct Trouble {
    step: String,
    source: io::Error,
}

impl Trouble {
    pub(crate) fn new(step: impl Into<String>, source: io::Error) -> Self {
        Trouble { step: step.into(), source }
    }

    /// Returns one that another process has told of.
    pub(crate) fn told(step: String, errno: Option<i32>, why: String) -> Self {
        let source = match errno {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::other(why),
        };
        Trouble { step, source }
    }

    /// Returns that of a first process which has ended and told nothing.
    fn of_end(how: Option<WaitStatus>) -> Self {
        let signal = how.and_then(|status| status.terminating_signal());
        let why = match (signal, how.and_then(|status| status.exit_status())) {
            (Some(signal), _) => format!("its first process was killed by signal {signal}"),
            (None, Some(status)) => format!("its first process ended with status {status}"),
            (None, None) => "its first process ended".to_owned(),
        };
        Trouble::new("start the sandbox", io::Error::other(why))
    }

    fn tell(&self, socket: &UnixStream) {
        let errno = self.source.raw_os_error();
        let why = self.source.to_string();
        // Nobody is left to tell when this fails.
        let _ = wire::send(socket, &Built::Failed { step: self.step.clone(), errno, why }, &[]);
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {}: {}", self.step, self.source)
    }
}

/// Names the step that an error belongs to.
pub(crate) trait Try<T> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Trouble>;
}

impl<T, E: Into<io::Error>> Try<T> for Result<T, E> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Trouble> {
        match self {
            Ok(value) => match faults::at(step) {
                Some(trouble) => Err(trouble),
                None => Ok(value),
            },
            Err(error) => Err(Trouble::new(step(), error.into())),
        }
    }
}

/// Takes a step that cannot be taken back, such as a new process or a message: a test
/// fails it before.
pub(crate) fn attempt<T>(
    step: impl Fn() -> String,
    act: impl FnOnce() -> io::Result<T>,
) -> Result<T, Trouble> {
    match faults::at(&step) {
        Some(trouble) => Err(trouble),
        None => act().map_err(|error| Trouble::new(step(), error)),
    }
}

/// Prepares this process: it has nothing of the caller's, and no signal stops it.
/// An error is for the caller, once its socket for that arrives; `None` where there
/// is no caller.
fn settle_in() -> Option<(UnixStream, Result<OwnedFd, Trouble>)> {
    fatal::install();
    let closed = sys::close_from(3);
    let socket = UnixStream::from(sys::inherited(0).ok()?);
    fatal::report_to_sandbox(&socket);
    let signals = closed
        .during(|| "close the caller's descriptors".to_owned())
        .and_then(|()| sys::watch_children().during(|| "watch processes".to_owned()));
    // What the caller ignored, or the language's own runtime, is not ignored by
    // commands.
    sys::usual_signals();
    sys::exit_on_abort();
    Some((socket, signals))
}

/// Receives what to build, the socket of the sandbox, by what to tell whether commands
/// run, and a mount for `/tmp`.
fn receive_build(
    socket: &UnixStream,
) -> Option<(Build, UnixStream, Option<OwnedFd>, Option<OwnedFd>)> {
    let (build, mut fds) = wire::receive::<Build>(socket).ok()??;
    let tmp = build.shares_tmp.then(|| fds.pop()).flatten();
    let mut fds = fds.into_iter();
    Some((build, UnixStream::from(fds.next()?), fds.next(), tmp))
}

/// Returns whether nothing has come yet.
fn is_silent(socket: &UnixStream) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

/// When a supervisor is made for the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Pace {
    /// As soon as the one before has a command, so that none has to wait.
    Ahead,
    /// When there is a command: where there is one as a rule, another supervisor
    /// would only be in its way.
    OnDemand,
}

fn run(pace: Pace) -> i32 {
    sys::set_name(c"zonekeep-keeper");
    faults::enter(faults::Process::Keeper);
    let Some((socket, signals)) = settle_in() else { return 1 };
    // Away from the caller's terminal.
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    let _ = rustix::process::set_child_subreaper(Pid::from_raw(1));
    let score = Score::first_to_go();
    // What nearly every plan needs is made while there is none to work on.
    let early = signals.is_ok() && is_silent(&socket);
    let mut ahead = if early { First::ahead(&socket) } else { None };
    let Some((build, sandbox, activity, tmp)) = receive_build(&socket) else { return 1 };
    let Build { plan, what, own, groups, .. } = build;
    fatal::report_to_sandbox(&sandbox);
    if what == What::Handles || plan.backend != Backend::Namespaces {
        ahead.take().map(|ahead| ahead.map(First::end));
    }
    let begun = signals.and_then(|signals| {
        if what == What::Handles {
            handles::hand_out(&plan, &sandbox)?;
            return Ok(None);
        }
        let home = PrivateHome::make(&plan)?;
        // Without it nothing is taken for the user's.
        let quiet = activity.and_then(|activity| Quiet::of(activity, own).ok());
        let group = groups.then(|| Group::make(&plan.limits, plan.backend.has_own_tree()));
        let group = group.flatten();
        let begun = Begun { ahead, pace, tmp };
        let started = start(&plan, &sandbox, &socket, begun, quiet, group.as_ref())?;
        Ok(Some((signals, home, started, group)))
    });
    match begun {
        Ok(Some((signals, _home, Started { guard, shared, init, life }, _group))) => {
            fatal::report_to(None);
            drop(score);
            let _ = hide();
            // The first process in a tree of `bwrap` has no socket to the keeper.
            let unready = (plan.backend != Backend::Bubblewrap).then_some(sandbox);
            let told = false;
            Keeper { socket, signals, guard, shared, init, unready, life, told, _group, _home }
                .stay()
        }
        Ok(None) => 0,
        Err(trouble) => {
            trouble.tell(&sandbox);
            1
        }
    }
}

/// What this process was worth to a machine that runs out of memory, while all that it
/// starts is the first to go: before anything of the user's.
struct Score(Option<String>);

impl Score {
    const FILE: &str = "/proc/self/oom_score_adj";

    fn first_to_go() -> Self {
        let usual = std::fs::read_to_string(Self::FILE).ok();
        // Where that fails, limits hold as they do.
        Score(usual.filter(|_| std::fs::write(Self::FILE, "1000").is_ok()))
    }
}

impl Drop for Score {
    fn drop(&mut self) {
        if let Some(usual) = &self.0 {
            let _ = std::fs::write(Self::FILE, usual);
        }
    }
}

/// Is the first process of a tree that another program made.
fn run_inside() -> i32 {
    sys::set_name(c"zonekeep");
    let Some((socket, signals)) = settle_in() else { return 1 };
    let Some((build, sandbox, events, _)) = receive_build(&socket) else { return 1 };
    let Build { plan, unwatched, .. } = build;
    drop(socket);
    fatal::report_to_sandbox(&sandbox);
    let ready = signals.and_then(|signals| {
        hide().during(|| "hide".to_owned())?;
        Ok(signals)
    });
    match ready {
        Ok(signals) => {
            let (keeper, pace, spare_tmp) = (None, Pace::Ahead, None);
            let known = Known { unwatched, keeper, pace, events, spare_tmp };
            init::serve(&plan, sandbox, signals, known)
        }
        Err(trouble) => {
            trouble.tell(&sandbox);
            1
        }
    }
}

/// Has nobody look into this process, or into what is split off from it, until
/// that becomes another program.
fn hide() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// A sandbox whose first process was started.
struct Started {
    guard: Option<Guard>,
    /// Files that are read-only because they have other names outside.
    shared: Shared,
    init: Pid,
    /// What the first process notices the end of the keeper by.
    life: UnixStream,
}

/// What the first process of a sandbox begins with.
struct Begun {
    /// The process itself, where it was started ahead.
    ahead: Option<Result<First, Trouble>>,
    pace: Pace,
    /// A mount for `/tmp`.
    tmp: Option<OwnedFd>,
}

/// Starts the first process of the sandbox.
fn start(
    plan: &Plan,
    sandbox: &UnixStream,
    keeper: &UnixStream,
    begun: Begun,
    quiet: Option<Quiet>,
    group: Option<&Group>,
) -> Result<Started, Trouble> {
    let Begun { ahead, pace, tmp } = begun;
    gateway::fits(plan)?;
    if !plan.backend.has_own_tree() {
        std::fs::create_dir_all(&plan.home).during(|| format!("make {}", plan.home.display()))?;
    }
    let guard = || {
        let links = match HardLinks::find(plan) {
            Ok(links) => Ok::<_, io::Error>(links).during(|| "look for hard links".to_owned())?,
            Err((zone, error)) => {
                return Err(Trouble::new(format!("read {}", zone.display()), error));
            }
        };
        let guard = plan.watch.as_ref().map(|watch| Guard::start(plan, watch, quiet));
        let guard = guard.transpose()?;
        let mut fixed = guard.as_ref().map_or_else(Vec::new, |guard| guard.fixed().to_vec());
        if plan.backend.has_own_tree() {
            let linked = links.fixed(plan.backend);
            fixed.extend(linked.during(|| "protect files outside".to_owned())?);
        }
        // What cannot be looked into need not be read-only, and must not be seen again.
        let is_hidden = |path: &Fixed| {
            let at = path.zone.join(&path.below);
            plan.rules.hidden.iter().any(|hidden| at.starts_with(hidden))
        };
        fixed.retain(|path| !is_hidden(path));
        // First, because a mount covers those in it.
        fixed.splice(..0, above_hidden(plan));
        Ok::<_, Trouble>((guard, fixed, links.shared()))
    };
    if plan.backend == Backend::Namespaces {
        let first =
            First::of(plan, ahead, keeper)?.build(plan, sandbox, keeper, pace, group, tmp)?;
        // It builds while this process looks at the zones.
        let (guard, fixed, shared) = guard()?;
        let (init, life) = first.guard(&fixed, guard.as_ref().and_then(Guard::unwatched))?;
        return Ok(Started { guard, shared, init, life });
    }
    let (guard, fixed, shared) = guard()?;
    let (life, seen) = UnixStream::pair().during(|| "make a socket".to_owned())?;
    let keeper = Above { socket: keeper, life: &life, seen };
    let init = match plan.backend {
        Backend::Bubblewrap => {
            let unwatched = guard.as_ref().and_then(Guard::unwatched);
            crate::backend::bubblewrap::start(plan, sandbox, &fixed, unwatched, group)?
        }
        Backend::Landlock | Backend::None => {
            match attempt(|| "start the first process".to_owned(), sys::fork)? {
                Side::Parent(pid) => pid,
                Side::Child => {
                    sys::set_name(c"zonekeep");
                    faults::enter(faults::Process::Init);
                    // Without keyrings in the kernel there is none to leave.
                    let _ = sys::new_keyring();
                    // A flood of processes must not keep supervisors from
                    // seeing it; the commands themselves get no more than usual.
                    let _ = rustix::process::nice(-10);
                    let group = group.filter(|group| group.add(None).is_ok());
                    be_first(plan, sandbox, keeper, guard.as_ref(), pace, group)
                }
            }
        }
        Backend::Namespaces | Backend::Seatbelt => {
            let why = io::Error::other("this is not macOS");
            return Err(Trouble::new("use the sandbox of macOS", why));
        }
    };
    Ok(Started { guard, shared, init, life })
}

/// Returns the directories of writable zones that hidden paths lie in, the outer ones
/// first. Moved elsewhere, they would be known by other names to the next sandbox.
fn above_hidden(plan: &Plan) -> Vec<Fixed> {
    let mut above = std::collections::BTreeSet::new();
    for zone in plan.zones().filter(|zone| zone.access == Access::Rw) {
        for hidden in &plan.rules.hidden {
            let Ok(below) = hidden.strip_prefix(&zone.at) else { continue };
            let dirs = below.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
            above.extend(
                dirs.map(|dir| (dir.components().count(), zone.at.clone(), dir.to_owned())),
            );
        }
    }
    let fix = |(_, zone, below)| Fixed { zone, below, access: Access::Rw };
    above.into_iter().map(fix).collect()
}

/// What the first process of a sandbox has of the keeper's.
struct Above<'k> {
    socket: &'k UnixStream,
    life: &'k UnixStream,
    /// Closes when the keeper ends.
    seen: UnixStream,
}

impl Above<'_> {
    /// Lets go of what is the keeper's alone; returns what it is noticed by.
    fn leave(self) -> io::Result<UnixStream> {
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        for own in [self.socket, self.life] {
            sys::cover_fd(null.as_fd(), own.as_raw_fd())?;
        }
        Ok(self.seen)
    }
}

/// Goes on as the first process of a sandbox that is ready to be served.
fn be_first(
    plan: &Plan,
    sandbox: &UnixStream,
    keeper: Above<'_>,
    guard: Option<&Guard>,
    pace: Pace,
    group: Option<&Group>,
) -> ! {
    let ready = || {
        sys::die_with_parent().during(|| "die with the keeper".to_owned())?;
        hide().during(|| "hide".to_owned())?;
        let own = sandbox.try_clone().during(|| "keep the socket of the sandbox".to_owned())?;
        let signals = sys::watch_children().during(|| "watch processes".to_owned())?;
        let keeper = keeper.leave().during(|| "let go of what is the keeper's".to_owned())?;
        let events = group.map(|group| group.events().try_clone_to_owned()).transpose();
        let events = events.during(|| "keep the events of the control group".to_owned())?;
        Ok::<_, Trouble>((own, signals, keeper, events))
    };
    sys::exit(match ready() {
        Ok((sandbox, signals, keeper, events)) => {
            let unwatched = guard.and_then(Guard::unwatched).map(str::to_owned);
            let (keeper, spare_tmp) = (Some(keeper), None);
            let known = Known { unwatched, keeper, pace, events, spare_tmp };
            init::serve(plan, sandbox, signals, known)
        }
        Err(trouble) => {
            trouble.tell(sandbox);
            1
        }
    })
}

/// A home directory that was made for a sandbox without a tree of its own, and
/// is removed with it. What was there before is never touched.
struct PrivateHome(std::path::PathBuf);

impl PrivateHome {
    fn make(plan: &Plan) -> Result<Option<Self>, Trouble> {
        use std::os::unix::fs::DirBuilderExt;
        let granted = plan.zones().any(|zone| plan.home.starts_with(&zone.host));
        if plan.backend.has_own_tree() || granted {
            return Ok(None);
        }
        let what = || format!("make {}", plan.home.display());
        let make = |path: &std::path::Path| std::fs::DirBuilder::new().mode(0o700).create(path);
        match make(&plan.home) {
            // Another sandbox of the same caller has it, and removes it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return match is_own(&plan.home) {
                    true => Ok(None),
                    false => Err(Trouble::new(what(), error)),
                };
            }
            made => made.during(what)?,
        }
        let home = PrivateHome(plan.home.clone());
        make(&plan.home.join("tmp")).during(what)?;
        Ok(Some(home))
    }
}

/// Returns whether a directory is the caller's and nobody else can enter it.
fn is_own(path: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == own && meta.mode() & 0o077 == 0)
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How long files may be there before they are looked at, when there are many.
const BREATH: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Lets this process have as many descriptors as it may. Commands have been given
/// their own limit by now.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some() && current != maximum {
        // With fewer, some things are looked at later.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// What stays outside.
struct Keeper {
    socket: UnixStream,
    signals: OwnedFd,
    guard: Option<Guard>,
    shared: Shared,
    init: Pid,
    /// The socket of the sandbox, until its first process has answered on it: the
    /// caller is told when that process ends before it could.
    unready: Option<UnixStream>,
    /// Connected to the first process of the sandbox, which ends when it closes.
    life: UnixStream,
    /// Whether the caller has what the guard hears of changes by.
    told: bool,
    /// Removed at the end.
    _group: Option<Group>,
    _home: Option<PrivateHome>,
}

impl Keeper {
    /// Stays until the caller is gone and nothing of the sandbox is left.
    fn stay(mut self) -> i32 {
        allow_many_files();
        let mut running = true;
        let mut retired = None;
        loop {
            let guard = self.guard.as_ref().map_or(self.signals.as_fd(), |guard| guard.events());
            let life = match &self.unready {
                Some(_) => self.life.as_fd(),
                None => self.signals.as_fd(),
            };
            let mut polled = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(&self.signals, PollFlags::IN),
                PollFd::from_borrowed_fd(guard, PollFlags::IN),
                PollFd::from_borrowed_fd(life, PollFlags::IN),
            ];
            match rustix::event::poll(&mut polled, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
            let asked = !polled[0].revents().is_empty();
            let busy = self.guard.is_some() && !polled[2].revents().is_empty();
            let answered = self.unready.is_some() && !polled[3].revents().is_empty();
            if answered {
                self.hear_init();
            }
            if running && let Some(how) = self.init_ended() {
                running = false;
                self.tell_of_end(how);
                // Something may have been left that could not be ended.
                self.guard.as_mut().map(Guard::distrust);
            }
            if let Some(guard) = &mut self.guard
                && !asked
            {
                guard.look();
            }
            if busy && !asked {
                // Whoever makes one file makes more. Being woken for each of them
                // would cost the command as much as making it.
                let mut polled = [
                    PollFd::new(&self.socket, PollFlags::IN),
                    PollFd::new(&self.signals, PollFlags::IN),
                ];
                let _ = rustix::event::poll(&mut polled, Some(&BREATH));
            }
            if asked {
                let Ok(Some((errand, _))) = wire::receive::<Errand>(&self.socket) else { break };
                let caught = match (&mut self.guard, &errand) {
                    (None, _) => Vec::new(),
                    (Some(guard), Errand::TakeIn) => {
                        guard.take_all_in();
                        Vec::new()
                    }
                    (Some(guard), Errand::Settle | Errand::Finish) => guard.settle(),
                };
                if matches!(errand, Errand::Finish) {
                    // Out of sight, and put away after the answer: the kernel takes its
                    // time to forget what was watched.
                    retired = self.guard.take();
                }
                let hears_by = self.guard.as_ref().and_then(Guard::hears_by);
                let hears_by = hears_by.filter(|_| !self.told);
                self.told |= hears_by.is_some();
                let half_removed = match (&self.guard, &retired) {
                    (Some(guard), _) | (None, Some(guard)) => guard.half_removed(),
                    (None, None) => Vec::new(),
                };
                let settled = Settled { caught, shared: self.shared.clone(), half_removed };
                if wire::send(&self.socket, &settled, hears_by.as_slice()).is_err() {
                    break;
                }
            }
        }
        if running {
            let _ = rustix::process::kill_process(self.init, Signal::KILL);
        }
        self.wait_for_all();
        if let Some(guard) = &mut self.guard {
            guard.finish();
        }
        drop(retired);
        0
    }

    /// Waits until nothing of the sandbox is left: what lost its parent on the
    /// way became a child of this process.
    fn wait_for_all(&self) {
        for _ in 0..500 {
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
            if rustix::process::wait(WaitOptions::NOHANG).is_err() {
                return;
            }
            let mut polled = [PollFd::new(&self.signals, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let _ = rustix::event::poll(&mut polled, Some(&wait));
            let mut buffer = [0; 1024];
            while rustix::io::read(&self.signals, &mut buffer).is_ok_and(|n| n > 0) {}
        }
        processes::kill_below(rustix::process::getpid());
    }

    /// Receives the answer of the first process: it has spoken to the caller itself,
    /// or had no socket to do so.
    fn hear_init(&mut self) {
        match wire::receive::<Built>(&self.life) {
            Ok(Some((answer, _))) => {
                let sandbox = self.unready.take();
                if let (Some(sandbox), Built::Failed { .. }) = (sandbox, &answer) {
                    let _ = wire::send(&sandbox, &answer, &[]);
                }
            }
            // It ends; how is known in a moment.
            _ => {
                let mut polled = [PollFd::new(&self.signals, PollFlags::IN)];
                let _ = rustix::event::poll(&mut polled, Some(&BREATH));
            }
        }
    }

    /// Tells the caller that the first process has ended, unless that process has
    /// answered. Where it told the caller why, the caller has read that before this.
    fn tell_of_end(&mut self, how: Option<WaitStatus>) {
        if let Some(sandbox) = self.unready.take() {
            Trouble::of_end(how).tell(&sandbox);
        }
    }

    /// Returns how the first process of the sandbox has ended, as far as that is
    /// known; `None` while it runs.
    fn init_ended(&self) -> Option<Option<WaitStatus>> {
        let mut buffer = [0; 1024];
        while rustix::io::read(&self.signals, &mut buffer).is_ok_and(|n| n > 0) {}
        match rustix::process::waitpid(Some(self.init), WaitOptions::NOHANG) {
            Ok(None) => None,
            Ok(Some((_, status))) => Some(Some(status)),
            Err(_) => Some(None),
        }
    }
}
