//! Fatal errors of launcher processes: the caller is told of every one of them.
//!
//! A panic must not unwind or abort here. `abort` cannot kill the first process
//! of a process namespace, and a caller that waits for an answer would get
//! none. The panic hook therefore sends the message over the socket of the
//! sandbox or of the command, and ends the process with `_exit`; an `abort` that
//! does not come from a panic, as that of a failed allocation, ends in `_exit` by
//! a signal handler, and the keeper tells the caller.

use std::os::unix::net::UnixStream;
use std::panic::PanicHookInfo;
use std::sync::Mutex;

use crate::sys;
use crate::wire::{self, Built, Told};

/// The exit status of a launcher process that panicked.
const PANICKED: i32 = 101;

/// The socket on which a panic is reported.
#[derive(Debug)]
pub(super) enum Channel {
    /// That of a sandbox that is being built.
    Sandbox(UnixStream),
    /// That of a command.
    Command(UnixStream),
}

static CHANNEL: Mutex<Option<Channel>> = Mutex::new(None);

/// Has panics of this process, and of those forked from it, end in `_exit`.
pub(super) fn install() {
    std::panic::set_hook(Box::new(report));
}

/// Sets the socket on which a panic is reported from now on, and closes this
/// process's copy of the one before.
pub(super) fn report_to(channel: Option<Channel>) {
    // Only a panic holds the lock for longer, and no process goes on after one.
    if let Ok(mut held) = CHANNEL.try_lock() {
        *held = channel;
    }
}

/// Reports panics on the socket of a sandbox.
pub(super) fn report_to_sandbox(socket: &UnixStream) {
    report_to(socket.try_clone().ok().map(Channel::Sandbox));
}

fn report(panic: &PanicHookInfo<'_>) {
    if let Ok(held) = CHANNEL.try_lock() {
        let why = format!("internal error: {panic}").replace('\n', " ");
        // The process ends whether the caller hears of it or not.
        let _ = match &*held {
            Some(Channel::Sandbox(socket)) => {
                let step = "start the sandbox".to_owned();
                wire::send(socket, &Built::Failed { step, errno: None, why }, &[])
            }
            Some(Channel::Command(socket)) => {
                let step = "supervise the command".to_owned();
                wire::send(socket, &Told::Failed { step, why }, &[])
            }
            None => Ok(()),
        };
    }
    sys::exit(PANICKED)
}
