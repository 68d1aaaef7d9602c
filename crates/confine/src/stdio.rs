//! Standard input, output and error of a command, as far as they are not a
//! terminal of its own.
//!
//! An open descriptor carries the rights it was opened with, past every namespace
//! and every ruleset: a socket belongs to the network it was made in, a file can be
//! truncated, reopened by way of `/proc/self/fd` and asked for its path, and a
//! directory leads to everything below it. A command therefore gets anonymous pipes
//! and `/dev/null` only. A thread of the caller copies between such a pipe and every
//! other kind of descriptor; the supervisor refuses what is not one of the two.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketType, sockopt};
use rustix::pipe::SpliceFlags;

use crate::report::Failed;
use crate::sys;

/// The names of the three, for messages.
const NAMES: [&str; 3] = ["standard input", "standard output", "standard error"];
/// What a pipe holds unless told otherwise; nothing larger arrives in one piece.
const PIECE: usize = 64 * 1024;

/// Returns whether a command may have this descriptor itself: an anonymous pipe,
/// which has no name and no owner to speak of, or `/dev/null`.
pub(crate) fn is_harmless(fd: BorrowedFd<'_>) -> io::Result<bool> {
    /// The file system of pipes without a name. A FIFO is a file of the host.
    const PIPEFS: u64 = 0x5049_5045;
    let stat = rustix::fs::fstat(fd)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => rustix::fs::fstatfs(fd)?.f_type as u64 == PIPEFS,
        FileType::CharacterDevice => stat.st_rdev == rustix::fs::makedev(1, 3),
        _ => false,
    })
}

/// Returns whether commands can be connected with these descriptors, which stand for
/// standard input, output and error.
pub fn check(stdio: [BorrowedFd<'_>; 3]) -> Result<(), Failed> {
    for (place, fd) in stdio.into_iter().enumerate() {
        Kind::of(fd).and_then(|kind| kind.usable()).map_err(|error| unusable(place, &error))?;
    }
    Ok(())
}

fn unusable(place: usize, error: &io::Error) -> Failed {
    let step = format!("use {}", NAMES[place]);
    Failed::Step { step, errno: error.raw_os_error(), why: error.to_string() }
}

/// What is on the caller's side of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Handed over as it is.
    Harmless,
    /// A file of the host, which may be anywhere in it.
    File,
    /// A connected stream.
    Stream,
    /// A FIFO.
    Fifo,
    /// A device, also a terminal.
    Device,
    Directory,
    /// A socket that takes connections or carries messages.
    OtherSocket,
    Unknown,
}

impl Kind {
    fn of(fd: BorrowedFd<'_>) -> io::Result<Kind> {
        if is_harmless(fd)? {
            return Ok(Kind::Harmless);
        }
        Ok(match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
            FileType::RegularFile | FileType::BlockDevice => Kind::File,
            FileType::CharacterDevice => Kind::Device,
            FileType::Fifo => Kind::Fifo,
            FileType::Directory => Kind::Directory,
            FileType::Socket => match sockopt::socket_type(fd)? == SocketType::STREAM
                && !sockopt::socket_acceptconn(fd)?
            {
                true => Kind::Stream,
                false => Kind::OtherSocket,
            },
            _ => Kind::Unknown,
        })
    }

    fn usable(self) -> io::Result<Kind> {
        let why = match self {
            Kind::Directory => "it is a directory",
            Kind::OtherSocket => "it is a socket that is not a connected stream",
            Kind::Unknown => "it is not a file, a pipe, a socket or a device",
            _ => return Ok(self),
        };
        Err(io::Error::other(why))
    }
}

/// The descriptors that a command gets, and what has to be copied for that.
#[derive(Debug)]
pub(crate) struct Streams<'c> {
    given: Vec<Given<'c>>,
    flows: Vec<Flow>,
}

/// What stands for one descriptor of the caller's.
#[derive(Debug)]
enum Given<'c> {
    Own(BorrowedFd<'c>),
    Pipe(OwnedFd),
}

/// What a thread copies.
#[derive(Debug)]
struct Flow {
    place: usize,
    kind: Kind,
    /// The caller's side.
    outer: OwnedFd,
    /// This process's end of the command's pipe.
    pipe: OwnedFd,
    /// How many bytes may be written to a file.
    room: Option<u64>,
}

impl<'c> Streams<'c> {
    /// Finds what a command gets for these descriptors; `terminal` says which of the
    /// three are not among them. Files do not grow beyond `file_size`.
    pub(crate) fn of(
        stdio: &[BorrowedFd<'c>],
        terminal: [bool; 3],
        file_size: Option<u64>,
    ) -> Result<Self, Failed> {
        let mut made = Streams { given: Vec::new(), flows: Vec::new() };
        let places = (0..3).filter(|&place| !terminal[place]);
        for (place, &fd) in places.zip(stdio) {
            made.add(place, fd, file_size).map_err(|error| unusable(place, &error))?;
        }
        Ok(made)
    }

    fn add(&mut self, place: usize, fd: BorrowedFd<'c>, most: Option<u64>) -> io::Result<()> {
        let kind = Kind::of(fd)?.usable()?;
        if kind == Kind::Harmless {
            self.given.push(Given::Own(fd));
            return Ok(());
        }
        // `> log 2>&1` is one stream: two pipes would lose the order.
        let same =
            |flow: &Flow| flow.place == 1 && is_same(flow.outer.as_fd(), fd).unwrap_or(false);
        if let (2, Some(Given::Pipe(pipe)), true) =
            (place, self.given.last(), self.flows.iter().any(same))
        {
            let pipe = pipe.try_clone()?;
            self.given.push(Given::Pipe(pipe));
            return Ok(());
        }
        let (reader, writer) = io::pipe()?;
        let (inner, pipe) = match place {
            0 => (OwnedFd::from(reader), OwnedFd::from(writer)),
            _ => (OwnedFd::from(writer), OwnedFd::from(reader)),
        };
        // The other end is another open file and waits as always.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let outer = fd.try_clone_to_owned()?;
        let room = match (kind, most) {
            (Kind::File, Some(most)) if place > 0 => Some(most.saturating_sub(end_of(&outer)?)),
            _ => None,
        };
        self.given.push(Given::Pipe(inner));
        self.flows.push(Flow { place, kind, outer, pipe, room });
        Ok(())
    }

    /// Returns what the command gets.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.given.iter().map(|given| match given {
            Given::Own(fd) => *fd,
            Given::Pipe(pipe) => pipe.as_fd(),
        })
    }

    /// Starts to copy, once the command has its descriptors.
    pub(crate) fn start(self) -> io::Result<Option<Relay>> {
        // The command's ends: held open here, it would never see the other one close.
        drop(self.given);
        if self.flows.is_empty() {
            return Ok(None);
        }
        let (ended, ended_end) = io::pipe()?;
        let (cancel, cancel_end) = io::pipe()?;
        let (done, done_end) = io::pipe()?;
        let failed: Arc<Mutex<Option<(usize, io::Error)>>> = Arc::default();
        for flow in self.flows {
            let stop = if flow.place == 0 { ended.try_clone()? } else { cancel.try_clone()? };
            // A read that waits for somebody else's input holds nobody up.
            let awaited = flow.place != 0 || flow.kind == Kind::File;
            let done = awaited.then(|| done_end.try_clone()).transpose()?;
            let failed = Arc::clone(&failed);
            let copy = move || {
                sys::hold_all_signals();
                let place = flow.place;
                if let Err(error) = flow.copy(&stop) {
                    lock(&failed).get_or_insert((place, error));
                }
                drop(done);
            };
            thread::Builder::new().name("zonekeep-stdio".to_owned()).spawn(copy)?;
        }
        let (ended, cancel) = (Mutex::new(Some(ended_end)), Mutex::new(Some(cancel_end)));
        Ok(Some(Relay { ended, cancel, done, failed }))
    }
}

/// Returns whether two descriptors write to the same place in the same way.
fn is_same(one: BorrowedFd<'_>, two: BorrowedFd<'_>) -> io::Result<bool> {
    let about = |fd: BorrowedFd<'_>| {
        let stat = rustix::fs::fstat(fd)?;
        let flags = rustix::fs::fcntl_getfl(fd)?;
        Ok::<_, Errno>((stat.st_dev, stat.st_ino, stat.st_rdev, flags))
    };
    Ok(about(one)? == about(two)?)
}

/// Returns where the next byte that is written to a file goes.
fn end_of(file: &OwnedFd) -> io::Result<u64> {
    match rustix::fs::fcntl_getfl(file)?.contains(OFlags::APPEND) {
        true => Ok(rustix::fs::fstat(file)?.st_size.unsigned_abs()),
        false => Ok(rustix::fs::tell(file)?),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads that copy for one command.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Closed when the command has ended: nobody reads its input any more.
    ended: Mutex<Option<PipeWriter>>,
    /// Closed when its output is not wanted any more.
    cancel: Mutex<Option<PipeWriter>>,
    /// Closes when all that it printed has arrived.
    done: PipeReader,
    failed: Arc<Mutex<Option<(usize, io::Error)>>>,
}

impl Relay {
    /// Waits until all that an ended command printed has arrived; not longer than
    /// until `stop` can be read from, or until that time.
    pub(crate) fn finish(
        &self,
        stop: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
    ) -> Result<(), Failed> {
        lock(&self.ended).take();
        while lock(&self.cancel).is_some() {
            let mut polled = vec![PollFd::new(&self.done, PollFlags::IN)];
            polled.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN)));
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let wait = left.map(|left| Timespec {
                tv_sec: left.as_secs() as _,
                tv_nsec: left.subsec_nanos() as _,
            });
            match rustix::event::poll(&mut polled, wait.as_ref()) {
                Err(Errno::INTR) => continue,
                // Done, or to be waited for no longer.
                _ => drop(lock(&self.cancel).take()),
            }
        }
        match &*lock(&self.failed) {
            None => Ok(()),
            Some((place, error)) => {
                let verb = if *place == 0 { "read" } else { "write" };
                let step = format!("{verb} {}", NAMES[*place]);
                Err(Failed::Step { step, errno: error.raw_os_error(), why: error.to_string() })
            }
        }
    }
}

impl Flow {
    fn copy(self, stop: &PipeReader) -> io::Result<()> {
        let copied = match self.place {
            0 => self.feed(stop),
            _ => self.deliver(stop),
        };
        match copied {
            // Nobody reads any more: the command learns that from its own pipe.
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            copied => Ok(copied?),
        }
    }

    /// Copies the caller's input to the command. By copying, not by splicing: a pipe
    /// of the command's never holds pages of a file.
    fn feed(self, stop: &PipeReader) -> Result<(), Errno> {
        let Flow { kind, outer, pipe, .. } = self;
        let mut buffer = vec![0; PIECE];
        let mut unread = 0;
        let read = loop {
            // For room first, so that no more is taken than the command could read.
            if !wait((&pipe, PollFlags::OUT), &pipe, stop)?
                || !wait((&outer, PollFlags::IN), &pipe, stop)?
            {
                break Ok(());
            }
            let count = match rustix::io::read(&outer, &mut buffer[..]) {
                Ok(0) => break Ok(()),
                Ok(count) => count,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                // It is open for writing only, and so there is nothing to read.
                Err(Errno::BADF) => break Ok(()),
                Err(errno) => break Err(errno),
            };
            unread = count - write_all(&pipe, &buffer[..count], stop)?;
            if unread > 0 {
                break Ok(());
            }
        };
        if kind == Kind::File {
            // Where that fails, the command has read more than it took.
            let _ = give_back(&outer, pipe, unread, stop);
        }
        read
    }

    /// Copies what the command prints to the caller's descriptor.
    fn deliver(mut self, stop: &PipeReader) -> Result<(), Errno> {
        let mut buffer = Vec::new();
        let mut splices = matches!(self.kind, Kind::File | Kind::Fifo);
        loop {
            // A pipe whose output nobody reads is closed, so that the command learns it.
            if !wait((&self.pipe, PollFlags::IN), &self.outer, stop)?
                || !wait((&self.outer, PollFlags::OUT), &self.outer, stop)?
            {
                return Ok(());
            }
            let most = self.room.map_or(PIECE, |room| PIECE.min(room.try_into().unwrap_or(PIECE)));
            if most == 0 {
                // Only what is too much is an error.
                return match rustix::io::read(&self.pipe, &mut [0])? {
                    0 => Ok(()),
                    _ => Err(Errno::FBIG),
                };
            }
            let passed = if splices {
                let flags = SpliceFlags::NONBLOCK;
                match rustix::pipe::splice(&self.pipe, None, &self.outer, None, most, flags) {
                    // A file that is appended to, or a file system that cannot.
                    Err(Errno::INVAL) => {
                        splices = false;
                        continue;
                    }
                    passed => passed,
                }
            } else {
                buffer.resize(PIECE, 0);
                match rustix::io::read(&self.pipe, &mut buffer[..most]) {
                    Ok(count) => self.put(&buffer[..count], stop).map(|()| count),
                    failed => failed,
                }
            };
            match passed {
                Ok(0) => return Ok(()),
                Ok(count) => self.room = self.room.map(|room| room.saturating_sub(count as u64)),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    fn put(&self, mut bytes: &[u8], stop: &PipeReader) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let put = match self.kind {
                Kind::Stream => rustix::net::send(&self.outer, bytes, flags),
                _ => rustix::io::write(&self.outer, bytes),
            };
            match put {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !wait((&self.outer, PollFlags::OUT), &self.outer, stop)? {
                        return Ok(());
                    }
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// Waits until one descriptor is ready; returns false when it is to stop, or nobody
/// takes what is written to `sink` any more.
fn wait(on: (&OwnedFd, PollFlags), sink: &OwnedFd, stop: &PipeReader) -> Result<bool, Errno> {
    let mut polled = [
        PollFd::new(stop, PollFlags::IN),
        PollFd::new(sink, PollFlags::empty()),
        PollFd::new(on.0, on.1),
    ];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None))?;
    let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    Ok(polled[0].revents().is_empty() && !polled[1].revents().intersects(broken))
}

/// Writes to a pipe that does not wait; returns how much was written before it was to
/// stop, or nobody read any more.
fn write_all(pipe: &OwnedFd, bytes: &[u8], stop: &PipeReader) -> Result<usize, Errno> {
    let mut written = 0;
    while written < bytes.len() {
        match rustix::io::write(pipe, &bytes[written..]) {
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(Errno::PIPE) => break,
            Err(Errno::AGAIN) => {
                if !wait((pipe, PollFlags::OUT), pipe, stop)? {
                    break;
                }
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(written)
}

/// Sets a file back to where the command stopped reading, as if it had read from the
/// file itself: `while read line; do zonekeep run …; done < list` goes on.
fn give_back(file: &OwnedFd, pipe: OwnedFd, unread: usize, stop: &PipeReader) -> Result<(), Errno> {
    // The end of the file is the end of the input, so the pipe is closed for writing;
    // the bytes in it are still to be counted when the command has ended.
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let kept = rustix::fs::open(path, flags, Mode::empty())?;
    drop(pipe);
    rustix::io::retry_on_intr(|| {
        rustix::event::poll(&mut [PollFd::new(stop, PollFlags::IN)], None)
    })?;
    let left = rustix::io::ioctl_fionread(&kept)?.saturating_add(unread as u64);
    let back = i64::try_from(left).unwrap_or(0).saturating_neg();
    match back {
        0 => Ok(()),
        _ => rustix::fs::seek(file, SeekFrom::Current(back)).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_pipes_without_a_name_and_null_are_handed_over() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::from(0o600)).unwrap();
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        let fifo = rustix::fs::open(&fifo, flags, Mode::empty()).unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let (stream, _other) = UnixStream::pair().unwrap();
        let file = File::create(dir.path().join("file")).unwrap();
        let reopened = File::open(format!("/proc/self/fd/{}", reader.as_raw_fd())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let device = File::open("/dev/zero").unwrap();
        let cases: [(&str, OwnedFd, Kind, bool); 11] = [
            ("a pipe to read", reader.into(), Kind::Harmless, true),
            ("a pipe to write", writer.into(), Kind::Harmless, true),
            ("a pipe by its name", reopened.into(), Kind::Harmless, true),
            ("null", File::open("/dev/null").unwrap().into(), Kind::Harmless, true),
            ("a FIFO", fifo, Kind::Fifo, true),
            ("a file", file.into(), Kind::File, true),
            ("a device", device.into(), Kind::Device, true),
            ("a stream", stream.into(), Kind::Stream, true),
            ("a listener", listener.into(), Kind::OtherSocket, false),
            ("datagrams", datagrams.into(), Kind::OtherSocket, false),
            ("a directory", File::open(dir.path()).unwrap().into(), Kind::Directory, false),
        ];
        for (what, fd, kind, usable) in cases {
            assert_eq!(Kind::of(fd.as_fd()).unwrap(), kind, "{what}");
            assert_eq!(is_harmless(fd.as_fd()).unwrap(), kind == Kind::Harmless, "{what}");
            assert_eq!(kind.usable().is_ok(), usable, "{what}");
        }
    }

    #[test]
    fn a_relay_that_is_dropped_lets_go_of_everything() {
        let (own, other) = UnixStream::pair().unwrap();
        let other = OwnedFd::from(other);
        let streams = Streams::of(&[other.as_fd(); 3], [false; 3], None).unwrap();
        let given: Vec<OwnedFd> =
            streams.fds().map(|fd| fd.try_clone_to_owned().unwrap()).collect();
        let relay = streams.start().unwrap();
        drop(other);
        let mut output = File::from(given[1].try_clone().unwrap());
        output.write_all(b"all").unwrap();
        let mut came = [0; 3];
        (&own).read_exact(&mut came).unwrap();
        assert_eq!(&came, b"all");
        drop(relay);
        // The last copies of the socket are closed with the threads.
        assert_eq!((&own).read(&mut came).unwrap(), 0);
    }
}
