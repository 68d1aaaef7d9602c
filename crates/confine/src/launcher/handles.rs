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
use super::{Trouble, Try, tree};
use crate::plan::Plan;
use crate::sys::{self, Side};
use crate::wire::{self, Built, MAX_FDS};

/// Makes the handles and hands them out.
pub(super) fn hand_out(plan: &Plan, caller: &UnixStream) -> Result<(), Trouble> {
    // The superuser needs no namespace for it.
    match take(plan) {
        Ok(handles) => hand(&handles, caller),
        Err(trouble) if trouble.source.raw_os_error() == Some(libc::EPERM) => {
            take_in_namespace(plan, caller)
        }
        Err(trouble) => Err(trouble),
    }
}

fn take(plan: &Plan) -> Result<Vec<OwnedFd>, Trouble> {
    plan.zones().map(tree::handle).collect()
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

fn take_in_namespace(plan: &Plan, caller: &UnixStream) -> Result<(), Trouble> {
    let owners = Owners::of_caller();
    let (go, wait) = UnixStream::pair().during(|| "make a socket".to_owned())?;
    let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    match sys::clone(namespaces).during(|| "make namespaces".to_owned())? {
        Side::Parent(pid) => {
            drop(wait);
            let mapped = owners
                .write(pid)
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
            if let Err(trouble) = take(plan).and_then(|handles| hand(&handles, caller)) {
                trouble.tell(caller);
            }
            sys::exit(0)
        }
    }
}
