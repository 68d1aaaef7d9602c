//! The first process of a sandbox in namespaces of its own.
//!
//! It needs no plan to begin with, and so is started while the caller still
//! makes one: what every tree has is there when the plan comes. What it is told
//! then comes from the keeper, by a socket that only these two have.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::init::{self, Known};
use super::maps::Owners;
use super::tree::{Fixed, Ground, Sources};
use super::{Pace, Trouble, Try, attempt, fatal, faults, gateway, hide};
use crate::plan::{Network, Plan};
use crate::sys::{self, Side};
use crate::wire::{self, Built, MAX_FDS};

/// What the first process is told first: what to build, and which of the plan's
/// binds are taken already. Beside it are the socket of the sandbox, the events of its
/// control group and a mount for `/tmp`, as far as it has them; what is taken follows,
/// beside empty messages.
#[derive(Debug, Serialize, Deserialize)]
struct Task<'w> {
    plan: Cow<'w, Plan>,
    taken: Option<Kinds>,
    pace: Pace,
    shares_tmp: bool,
}

/// For each bind that is there, whether it is a directory.
type Kinds = Vec<Option<bool>>;

/// What it is told last: what is to be read-only, and what is not watched.
#[derive(Debug, Serialize, Deserialize)]
struct Guarded<'w> {
    fixed: Cow<'w, [Fixed]>,
    unwatched: Option<Cow<'w, str>>,
}

/// The first process, as the keeper has it.
#[derive(Debug)]
pub(super) struct First {
    pid: Pid,
    words: UnixStream,
    owners: Owners,
    space: Space,
}

/// Whose network the first process is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Own,
    Host,
}

impl Space {
    fn of(network: &Network) -> Self {
        if network.is_apart() { Space::Own } else { Space::Host }
    }
}

impl First {
    /// Starts it before there is a plan; `None` where it is better to wait.
    pub(super) fn ahead(keeper: &UnixStream) -> Option<Result<Self, Trouble>> {
        let owners = Owners::strongest();
        match owners.has_groups_to_leave() {
            // They are not given up for a plan that may need them.
            true => None,
            false => Some(First::start(owners, Space::Own, keeper)),
        }
    }

    /// Starts it for a plan, unless the one that was started ahead fits.
    pub(super) fn of(
        plan: &Plan,
        ahead: Option<Result<First, Trouble>>,
        keeper: &UnixStream,
    ) -> Result<Self, Trouble> {
        let space = Space::of(&plan.network);
        match ahead {
            Some(Ok(first)) if first.space == space => Ok(first),
            Some(Ok(first)) => {
                let owners = first.end();
                First::start(owners, space, keeper)
            }
            // It would fail again.
            Some(Err(trouble)) if space == Space::Own => Err(trouble),
            Some(Err(_)) | None => First::start(Owners::strongest(), space, keeper),
        }
    }

    fn start(owners: Owners, space: Space, keeper: &UnixStream) -> Result<Self, Trouble> {
        owners.leave_groups();
        let (words, own) = UnixStream::pair().during(|| "make a socket".to_owned())?;
        let namespaces = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP
            | if space == Space::Own { libc::CLONE_NEWNET } else { 0 };
        match attempt(|| "make namespaces".to_owned(), || sys::clone(namespaces))? {
            Side::Parent(pid) => {
                drop(own);
                let first = First { pid, words, owners, space };
                let mapped = first.owners.write(pid).and_then(|()| {
                    io::Write::write_all(&mut &first.words, b"!").during(|| "go on".to_owned())
                });
                match mapped {
                    Ok(()) => Ok(first),
                    Err(trouble) => Err(first.ended_by_itself().unwrap_or(trouble)),
                }
            }
            Side::Child => {
                drop(words);
                be(own, &owners, space, keeper)
            }
        }
    }

    /// Ends it, and returns how its users were translated.
    pub(super) fn end(self) -> Owners {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let wait = || rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        let _ = rustix::io::retry_on_intr(wait);
        self.owners
    }

    /// Has it build the tree of a plan, and returns it: where the strongest
    /// translation of owners does not work for the zones, that is another one.
    pub(super) fn build(
        mut self,
        plan: &Plan,
        sandbox: &UnixStream,
        keeper: &UnixStream,
        pace: Pace,
        group: Option<&Group>,
        tmp: Option<OwnedFd>,
    ) -> Result<Self, Trouble> {
        let sources = match self.owners.namespace() {
            // Translating owners takes the host's own rights.
            Some(namespace) => Sources::take(plan, Some(namespace))?,
            None => None,
        };
        if sources.is_none() && self.owners.namespace().is_some() {
            let space = self.space;
            self.end();
            self = First::start(Owners::Renamed, space, keeper)?;
        }
        let taken = sources.as_ref().map(Sources::kinds);
        // Before it can start anything; where it cannot be moved there is no group.
        let group = group.filter(|group| group.add(Some(self.pid)).is_ok());
        let tmp = tmp.as_ref().map(AsFd::as_fd);
        let beside = [Some(sandbox.as_fd()), group.map(Group::events), tmp];
        let beside: Vec<BorrowedFd<'_>> = beside.into_iter().flatten().collect();
        let (plan, shares_tmp) = (Cow::Borrowed(plan), tmp.is_some());
        self.tell(&Task { plan, taken, pace, shares_tmp }, &beside)?;
        let fds: Vec<BorrowedFd<'_>> = sources.iter().flat_map(Sources::mounts).collect();
        for part in fds.chunks(MAX_FDS) {
            self.tell(&(), part)?;
        }
        Ok(self)
    }

    /// Tells what is guarded, without which it does not serve; returns its
    /// number, and the socket with which it ends.
    pub(super) fn guard(
        self,
        fixed: &[Fixed],
        unwatched: Option<&str>,
    ) -> Result<(Pid, UnixStream), Trouble> {
        let (fixed, unwatched) = (Cow::Borrowed(fixed), unwatched.map(Cow::Borrowed));
        self.tell(&Guarded { fixed, unwatched }, &[])?;
        Ok((self.pid, self.words))
    }

    fn tell(&self, word: &impl Serialize, beside: &[BorrowedFd<'_>]) -> Result<(), Trouble> {
        let step = || "start the first process".to_owned();
        let told = attempt(step, || wire::send(&self.words, word, beside));
        told.map_err(|trouble| match trouble.source.kind() {
            io::ErrorKind::BrokenPipe => self.why_it_ended(),
            _ => trouble,
        })
    }

    /// Ends it; returns why it had ended before, where it had.
    fn ended_by_itself(self) -> Option<Trouble> {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let told = wire::receive(&self.words);
        let wait = || rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        let ended = rustix::io::retry_on_intr(wait).ok().flatten();
        match told {
            Ok(Some((Built::Failed { step, errno, why }, _))) => {
                Some(Trouble::told(step, errno, why))
            }
            _ => {
                let status = ended.map(|(_, status)| status);
                let status = status.filter(|status| status.exit_status().is_some());
                status.map(|status| Trouble::of_end(Some(status)))
            }
        }
    }

    /// Returns why it has ended, as far as it said that.
    fn why_it_ended(&self) -> Trouble {
        if let Ok(Some((Built::Failed { step, errno, why }, _))) = wire::receive(&self.words) {
            return Trouble::told(step, errno, why);
        }
        let wait = || rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        let ended = rustix::io::retry_on_intr(wait).ok().flatten();
        Trouble::of_end(ended.map(|(_, status)| status))
    }
}

/// Is the first process.
fn be(words: UnixStream, owners: &Owners, space: Space, keeper: &UnixStream) -> ! {
    sys::set_name(c"zonekeep");
    faults::enter(faults::Process::Init);
    // A copy of the keeper's, which is closed below by its number.
    fatal::report_to(None);
    let alone = sys::close_all_but(words.as_fd());
    // Until the socket of the sandbox arrives the keeper passes it on.
    fatal::report_to_sandbox(&words);
    let alone = alone.during(|| "close the keeper's descriptors".to_owned());
    // Without the keeper, or where it has no use for this, there is no word.
    if io::Read::read_exact(&mut &words, &mut [0]).is_err() {
        sys::exit(1);
    }
    let ground = alone.and_then(|()| prepare(owners, space, keeper));
    let Some((task, sandbox, events, tmp)) = hear_task(&words) else { sys::exit(1) };
    fatal::report_to_sandbox(&sandbox);
    let Task { plan, taken: kinds, pace, .. } = task;
    let built = ground.and_then(|ground| {
        gateway::hand_out(&plan, &sandbox)?;
        // Where the keeper says nothing more it has given up, and has told why.
        let sources = match kinds {
            Some(kinds) => hear_sources(&words, kinds).unwrap_or_else(|| sys::exit(1)),
            None => Sources::take(&plan, None)?
                .ok_or_else(|| Trouble::new("take the zones", io::ErrorKind::NotFound.into()))?,
        };
        let mut unwatched = None;
        let spare_tmp = ground.build(&plan, sources, tmp, || {
            let (fixed, missed) = hear_guarded(&words).unwrap_or_else(|| sys::exit(1));
            unwatched = missed;
            Ok(fixed)
        })?;
        let signals = sys::watch_children().during(|| "watch processes".to_owned())?;
        Ok((signals, unwatched, spare_tmp))
    });
    sys::exit(match built {
        Ok((signals, unwatched, spare_tmp)) => {
            let known = Known { unwatched, keeper: Some(words), pace, events, spare_tmp };
            init::serve(&plan, sandbox, signals, known)
        }
        Err(trouble) => {
            trouble.tell(&sandbox);
            1
        }
    })
}

/// Does all that needs no plan.
fn prepare(owners: &Owners, space: Space, keeper: &UnixStream) -> Result<Ground, Trouble> {
    let what = || "let go of what is the keeper's".to_owned();
    // One of the three that everybody has.
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    sys::cover_fd(null.during(what)?.as_fd(), keeper.as_raw_fd()).during(what)?;
    hide().during(|| "hide".to_owned())?;
    // Still as who may get at them.
    let devices = Ground::devices()?;
    owners.become_inside()?;
    // After that, which forgets it.
    sys::die_with_parent().during(|| "die with the keeper".to_owned())?;
    if space == Space::Own {
        sys::loopback_up().during(|| "switch loopback on".to_owned())?;
    }
    Ground::new(devices)
}

/// Returns the task, the socket of the sandbox, the events of its control group, and a
/// mount for `/tmp`.
fn hear_task(
    words: &UnixStream,
) -> Option<(Task<'static>, UnixStream, Option<OwnedFd>, Option<OwnedFd>)> {
    let (task, mut fds) = wire::receive::<Task<'_>>(words).ok()??;
    let tmp = task.shares_tmp.then(|| fds.pop()).flatten();
    let mut fds = fds.into_iter();
    Some((task, UnixStream::from(fds.next()?), fds.next(), tmp))
}

fn hear_sources(words: &UnixStream, kinds: Kinds) -> Option<Sources> {
    let wanted = kinds.iter().flatten().count();
    let mut mounts = Vec::new();
    while mounts.len() < wanted {
        let ((), fds) = wire::receive(words).ok()??;
        if fds.is_empty() {
            return None;
        }
        mounts.extend(fds);
    }
    Sources::of(kinds, mounts)
}

fn hear_guarded(words: &UnixStream) -> Option<(Vec<Fixed>, Option<String>)> {
    let (Guarded { fixed, unwatched }, _) = wire::receive::<Guarded<'_>>(words).ok()??;
    Some((fixed.into_owned(), unwatched.map(Cow::into_owned)))
}
