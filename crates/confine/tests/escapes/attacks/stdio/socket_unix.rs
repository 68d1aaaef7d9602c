//! Takes a descriptor of the host that arrives at the socket which is its standard
//! input.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/socket_unix",
    what: "takes a descriptor from the socket that is its standard input",
    given: |scene| {
        use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
        let (own, other) = UnixStream::pair().unwrap();
        let dir = fs::File::open(scene.dir().join("outside")).unwrap();
        let fds = [dir.as_fd()];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        assert!(beside.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&own, &[io::IoSlice::new(b"!")], &mut beside, SendFlags::empty()).unwrap();
        std::mem::forget(own);
        Given::input(other)
    },
    attempt: |_| {
        use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let (mut byte, flags) = ([0], RecvFlags::empty());
        let received =
            recvmsg(io::stdin(), &mut [io::IoSliceMut::new(&mut byte)], &mut beside, flags);
        let taken = received.map_err(io::Error::from).and_then(|_| {
            let fds = beside.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
                _ => None,
            });
            let dir = fds.ok_or(io::ErrorKind::NotFound)?;
            let name = text("secret.txt");
            call(libc::SYS_openat, &[dir.as_raw_fd() as usize, name.at(), 0, 0])
        });
        Outcome::of("opened the secret", taken)
    },
    ..BASE
};
