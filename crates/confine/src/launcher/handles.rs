//! Handles of zones for a caller that does file work itself: each is a mount of
//! its own, read-only where the zone is, and there is no way out of it.
//!
//! Nothing stays behind to hold them: a mount that is nowhere in a tree lives
//! as long as its descriptor.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Signal, WaitOptions};

use super::maps::Owners;
use super::tree::{self, Mounts};
use super::{Trouble, Try, attempt};
use crate::plan::Plan;
use crate::sys::{self, Side};
use crate::wire::{self, Built, MAX_FDS};

/// Makes the handles and hands them out.
pub(super) fn hand_out(plan: &Plan, caller: &UnixStream) -> Result<(), Trouble> {
    let taken = take(plan, Mounts::Host);
    match taken.as_ref().map_err(|trouble| trouble.source.raw_os_error()) {
        Err(Some(libc::EPERM)) => take_in_namespace(plan, caller, Who::User),
        // KERNEL(5.12): `mount_setattr`, without which the superuser needs mounts of its
        // own too.
        Err(Some(libc::ENOSYS)) => take_in_namespace(plan, caller, Who::Superuser),
        _ => hand(&taken?, caller),
    }
}

fn take(plan: &Plan, mounts: Mounts) -> Result<Vec<OwnedFd>, Trouble> {
    plan.zones().map(|zone| tree::handle(zone, mounts)).collect()
}

/// Who takes the zones in a mount namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// It has the right to make one.
    Superuser,
    /// It has that in a user namespace.
    User,
}

fn hand(handles: &[OwnedFd], caller: &UnixStream) -> Result<(), Trouble> {
    let mut parts = handles.chunks(MAX_FDS).peekable();
    if parts.peek().is_none() {
        return wire::send(caller, &Built::Handles { last: true }, &[])
            .during(|| "hand out handles".to_owned());
    }
    while let Some(part) = parts.next() {
        let fds: Vec<_> = part.iter().map(AsFd::as_fd).collect();
        let last = parts.peek().is_none();
        wire::send(caller, &Built::Handles { last }, &fds)
            .during(|| "hand out handles".to_owned())?;
    }
    Ok(())
}

fn take_in_namespace(plan: &Plan, caller: &UnixStream, who: Who) -> Result<(), Trouble> {
    let owners = Owners::of_caller();
    let (go, wait) = UnixStream::pair().during(|| "make a socket".to_owned())?;
    let namespaces = match who {
        Who::Superuser => libc::CLONE_NEWNS,
        Who::User => libc::CLONE_NEWUSER | libc::CLONE_NEWNS,
    };
    match attempt(|| "make namespaces".to_owned(), || sys::clone(namespaces))? {
        Side::Parent(pid) => {
            drop(wait);
            let mapped = match who {
                Who::Superuser => Ok(()),
                Who::User => owners.write(pid),
            };
            let mapped = mapped
                .and_then(|()| io::Write::write_all(&mut &go, b"!").during(|| "go on".to_owned()));
            if mapped.is_err() {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            let ended = rustix::process::waitpid(Some(pid), WaitOptions::empty());
            mapped?;
            match ended {
                Ok(Some((_, status))) if status.exit_status().is_some() => Ok(()),
                _ => Err(Trouble::new("take the zones", io::Error::other("it was ended"))),
            }
        }
        Side::Child => {
            drop(go);
            let mut byte = [0];
            if io::Read::read_exact(&mut &wait, &mut byte).is_err() {
                sys::exit(1);
            }
            let taken = tree::keep_apart().and_then(|()| take(plan, Mounts::Own));
            if let Err(trouble) = taken.and_then(|handles| hand(&handles, caller)) {
                trouble.tell(caller);
            }
            sys::exit(0)
        }
    }
}
