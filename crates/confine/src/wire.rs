//! What the library and the launcher say to each other: length, JSON, and open
//! descriptors beside it.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::links::Shared;
use crate::plan::{Plan, Start};
use crate::report::{Caught, Layers, Over};

/// The most descriptors beside one message.
pub(crate) const MAX_FDS: usize = 64;
/// The longest message; a plan with thousands of entries is far below.
const MAX_LENGTH: usize = 16 * 1024 * 1024;

/// The first message: what to build. Beside it are the socket of the sandbox, by what to
/// tell whether commands run, and a mount for `/tmp`, as far as there are any.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Build {
    pub(crate) plan: Plan,
    pub(crate) what: What,
    /// The byte that the session holds while its commands run; see `activity`.
    pub(crate) own: i64,
    /// What could not be watched, and why, where the keeper has looked before.
    pub(crate) unwatched: Option<String>,
    /// Whether a control group may be made.
    pub(crate) groups: bool,
    /// Whether `/tmp` is that of another sandbox.
    pub(crate) shares_tmp: bool,
}

/// How much of a plan is to be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    /// The sandbox.
    Sandbox,
    /// Handles of the zones, and nothing that runs.
    Handles,
}

/// A private directory of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Private {
    Tmp,
    Home,
    /// A mount of `/tmp` for another sandbox.
    SpareTmp,
}

/// What the sandbox says once it stands, or does not. Beside `Ready` are the
/// directories that it names; beside `Handles` are handles of zones, beside `Sockets` those
/// of the gateway, in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Built {
    Ready {
        layers: Layers,
        dirs: Vec<Private>,
    },
    Sockets,
    Handles {
        last: bool,
    },
    Failed {
        step: String,
        errno: Option<i32>,
        why: String,
    },
    /// For the keeper: the first process has answered the caller.
    Answered,
}

/// What the library asks of the sandbox. Beside `Start` are standard input,
/// output and error, as far as they are not a terminal of its own, and the
/// socket of the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    Start(Start),
    /// The self-probe as a command: it prints what it tried.
    Prove(Start),
}

/// What is said about one command, on its own socket. Beside `Terminal` is the
/// other side of its terminal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    Terminal,
    /// It could not be started; the number is what the system said.
    NotStarted {
        step: String,
        errno: i32,
    },
    /// Its supervisor failed, and nothing of it goes on.
    Failed {
        step: String,
        why: String,
    },
    /// It stopped, as by Ctrl-Z.
    Stopped,
    Ended(End),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) over: Option<Over>,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_memory: u64,
    /// How many processes were still there and were ended.
    pub(crate) left: u64,
}

/// What the library asks of a running command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Sends a signal to the command's own process group.
    Signal(i32),
    /// Ends all its processes.
    Kill,
}

/// What the library asks of the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Errand {
    /// Catches what is still to be caught, and tells what was.
    Settle,
    /// Does the same for the last time: what appears from now on is the user's.
    Finish,
    /// Takes in what has changed as the user's own doing, unless commands run.
    TakeIn,
}

/// What the keeper answers. Beside the first answer is what it hears of changes by, where
/// it hears of them: what waits there has not been looked at.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) caught: Vec<Caught>,
    /// Files that commands cannot write, or should not, because they have other names
    /// outside.
    pub(crate) shared: Shared,
    /// Repositories that a command has removed but for their guarded files.
    pub(crate) half_removed: Vec<String>,
}

/// Sends a message, with descriptors beside it.
pub(crate) fn send<T: Serialize>(
    socket: &UnixStream,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(body);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = rustix::io::retry_on_intr(|| {
        sendmsg(socket, &[IoSlice::new(&bytes)], &mut beside, SendFlags::NOSIGNAL)
    })?;
    (&*socket).write_all(&bytes[sent..])
}

/// Receives a message and what is beside it; `None` at the end.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let got = rustix::io::retry_on_intr(|| {
        let mut buffers = [IoSliceMut::new(&mut length)];
        recvmsg(socket, &mut buffers, &mut beside, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    match got.bytes {
        0 => return Ok(None),
        n => (&*socket).read_exact(&mut length[n..])?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_LENGTH {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    (&*socket).read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, fds)))
}
