//! Makes addresses a network's own: whoever sends to one of them reaches the
//! sockets of that network and nothing else.
//!
//! What is asked of the kernel is written by hand, as it takes it: numbers in
//! the order of this machine, addresses in the order of the network.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::plan::Route;

/// The loopback interface, which every network has first.
const LOOPBACK: u32 = 1;
/// The length of what begins every message, and of what begins one on routes.
const HEADER: usize = 16;
const ABOUT: usize = 12;

/// How the kernel is asked about routes of this network.
#[derive(Debug)]
pub(crate) struct Routes(OwnedFd);

impl Routes {
    pub(crate) fn open() -> io::Result<Self> {
        let (kind, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, None)?;
        Ok(Routes(socket))
    }

    /// Makes the addresses of a route this network's own.
    pub(crate) fn add(&self, route: &Route) -> io::Result<()> {
        if route.bits == 0 {
            let why = "all addresses at once lead nowhere";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        match self.ask(&request(libc::RTM_NEWROUTE, flags, route)) {
            // Loopback has some from the start.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    /// Takes a route away.
    pub(crate) fn remove(&self, route: &Route) -> io::Result<()> {
        self.ask(&request(libc::RTM_DELROUTE, 0, route))
    }

    fn ask(&self, request: &[u8]) -> io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, request, SendFlags::empty(), &kernel)?;
        let mut answer = [0; 1024];
        let (_, length) = rustix::io::retry_on_intr(|| {
            rustix::net::recv(&self.0, &mut answer, RecvFlags::empty())
        })?;
        read(answer.get(..length).unwrap_or_default())
    }
}

/// Returns what asks for a change of a route.
fn request(what: u16, flags: libc::c_int, route: &Route) -> Vec<u8> {
    let (family, address) = match route.base {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let mut message = Vec::new();
    // Its length, which is known in the end; its number, and who asks.
    message.extend([0; 4]);
    message.extend(what.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    // No source and no kind of service.
    message.extend([family as u8, route.bits, 0, 0]);
    message.extend([libc::RT_TABLE_LOCAL, libc::RTPROT_STATIC]);
    message.extend([libc::RT_SCOPE_HOST, libc::RTN_LOCAL]);
    message.extend([0; 4]);
    debug_assert_eq!(message.len(), HEADER + ABOUT);
    for (name, value) in
        [(libc::RTA_DST, &address[..]), (libc::RTA_OIF, &LOOPBACK.to_ne_bytes()[..])]
    {
        // Both are whole multiples of the four bytes that each begins at.
        message.extend((4 + value.len() as u16).to_ne_bytes());
        message.extend(name.to_ne_bytes());
        message.extend(value);
    }
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

/// Reads the kernel's answer: an error, which may be none.
fn read(answer: &[u8]) -> io::Result<()> {
    let unclear = || io::Error::from(io::ErrorKind::InvalidData);
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let errno = answer.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok());
    match (kind.map(libc::c_int::from), errno.map(i32::from_ne_bytes)) {
        (Some(libc::NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(libc::NLMSG_ERROR), Some(errno @ ..0)) => {
            Err(io::Error::from_raw_os_error(errno.saturating_neg()))
        }
        _ => Err(unclear()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as `ip route add local 198.18.0.0/15 dev lo` asks for.
    #[test]
    #[cfg(target_endian = "little")]
    fn a_request_is_what_the_kernel_takes() {
        let route = Route { base: "198.18.0.0".parse().unwrap(), bits: 15 };
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let message = request(libc::RTM_NEWROUTE, flags, &route);
        let head = [44, 0, 0, 0, 24, 0, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0];
        let about = [2, 15, 0, 0, 255, 4, 254, 2, 0, 0, 0, 0];
        let to = [8, 0, 1, 0, 198, 18, 0, 0];
        let by = [8, 0, 4, 0, 1, 0, 0, 0];
        assert_eq!(message, [&head[..], &about, &to, &by].concat());
        let route = Route { base: "fd00::5".parse().unwrap(), bits: 128 };
        assert_eq!(request(libc::RTM_NEWROUTE, flags, &route).len(), 56);
    }

    #[test]
    fn an_answer_says_whether_it_was_done() {
        let answer = |kind: u16, errno: i32| {
            let (mut bytes, length) = (vec![0; 36], 36u32);
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[16..20].copy_from_slice(&errno.to_ne_bytes());
            read(&bytes).map_err(|error| error.raw_os_error())
        };
        assert_eq!(answer(2, 0), Ok(()));
        assert_eq!(answer(2, -libc::EPERM), Err(Some(libc::EPERM)));
        assert_eq!(answer(2, 7), Err(None));
        assert_eq!(answer(24, 0), Err(None));
        for short in [0, 5, 19] {
            assert!(read(&vec![0; short]).is_err());
        }
    }
}
