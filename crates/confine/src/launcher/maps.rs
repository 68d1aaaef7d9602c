//! Who the caller is inside: never the superuser.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, WaitOptions};

use super::{Trouble, Try};
use crate::sys::{self, Side};

/// Who the superuser is inside.
const INSIDE: u32 = 1000;
/// Who that is outside: a user that no machine has, so that nothing of the
/// host belongs to it.
const NOBODY: u32 = 2_053_074_533;

/// Returns the user and group that commands run as, as they see it.
pub(crate) fn inside() -> (u32, u32) {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if uid == 0 { (INSIDE, INSIDE) } else { (uid, gid) }
}

/// How users inside are translated to users outside.
#[derive(Debug)]
pub(crate) enum Owners {
    /// The caller stays itself.
    Same { uid: u32, gid: u32 },
    /// The superuser is another one by name, and itself to the kernel.
    Renamed,
    /// The superuser is nobody, and its files belong to that nobody.
    Away { namespace: OwnedFd },
}

impl Owners {
    /// Returns how the caller, whoever it is, stays itself.
    pub(crate) fn of_caller() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Owners::Same { uid, gid }
    }

    /// Returns the strongest that can be had. Whether it works for the zones is
    /// seen when they are taken.
    pub(crate) fn strongest() -> Self {
        let (uid, gid) = inside();
        if !rustix::process::geteuid().is_root() {
            return Owners::Same { uid, gid };
        }
        match translating() {
            Ok(namespace) => Owners::Away { namespace },
            Err(_) => Owners::Renamed,
        }
    }

    /// Leaves the groups of the superuser, which give rights that are not meant.
    pub(crate) fn leave_groups(&self) {
        if !matches!(self, Owners::Same { .. }) {
            let _ = sys::leave_groups();
        }
    }

    /// Returns whether there are groups to leave that somebody could miss.
    pub(crate) fn has_groups_to_leave(&self) -> bool {
        let own = rustix::process::getegid();
        !matches!(self, Owners::Same { .. })
            && rustix::process::getgroups().is_ok_and(|all| all.iter().any(|gid| *gid != own))
    }

    pub(crate) fn namespace(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Owners::Away { namespace } => Some(namespace.as_fd()),
            _ => None,
        }
    }

    /// Writes the maps of a process in a new user namespace.
    pub(crate) fn write(&self, pid: Pid) -> Result<(), Trouble> {
        let (uids, gids) = match self {
            Owners::Same { uid, gid } => (format!("{uid} {uid} 1"), format!("{gid} {gid} 1")),
            Owners::Renamed => {
                let gid = rustix::process::getegid().as_raw();
                (format!("{INSIDE} 0 1"), format!("{INSIDE} {gid} 1"))
            }
            Owners::Away { .. } => {
                let map = format!("{INSIDE} {NOBODY} 1");
                (map.clone(), map)
            }
        };
        write_maps(pid, &uids, &gids).during(|| "say who the user is inside".to_owned())
    }

    /// Becomes the user inside.
    pub(crate) fn become_inside(&self) -> Result<(), Trouble> {
        match self {
            Owners::Same { .. } => Ok(()),
            _ => sys::become_user(INSIDE, INSIDE).during(|| "become the user inside".to_owned()),
        }
    }
}

fn write_maps(pid: Pid, uids: &str, gids: &str) -> io::Result<()> {
    let proc = format!("/proc/{}", pid.as_raw_nonzero());
    fs::write(format!("{proc}/setgroups"), "deny")?;
    fs::write(format!("{proc}/uid_map"), uids)?;
    fs::write(format!("{proc}/gid_map"), gids)
}

/// Makes a user namespace in which the superuser's files are nobody's.
fn translating() -> io::Result<OwnedFd> {
    // Its other end closes with this process, however that ends.
    let (held, wait) = std::os::unix::net::UnixStream::pair()?;
    let Side::Parent(pid) = sys::clone(libc::CLONE_NEWUSER)? else {
        drop(held);
        let _ = std::io::Read::read(&mut &wait, &mut [0]);
        sys::exit(0)
    };
    drop(wait);
    let map = format!("0 {NOBODY} 1\n1 1 {}\n", NOBODY - 1);
    let made = write_maps(pid, &map, &map).and_then(|()| {
        let path = format!("/proc/{}/ns/user", pid.as_raw_nonzero());
        Ok(OwnedFd::from(fs::File::open(path)?))
    });
    drop(held);
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    made
}
