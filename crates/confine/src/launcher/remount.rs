//! Attributes of mounts on kernels without `mount_setattr`.
//!
//! There a mount has to be attached before its attributes can be changed, and
//! each mount below it is changed by itself. The process must be alone in a mount
//! namespace of its own: nothing may use a mount between those steps, and none of
//! them may reach the host's namespace.
// KERNEL(5.12): `mount_setattr` does all of this, on a mount that is attached nowhere.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags};
use rustix::mount::MountFlags;

use crate::sys::Attributes;

/// Sets attributes on an attached mount, and on those below it.
pub(super) fn remount(
    mount: BorrowedFd<'_>,
    attributes: Attributes<'_>,
    recursive: bool,
) -> io::Result<()> {
    set(mount, attributes)?;
    if !recursive {
        return Ok(());
    }
    let mounts = mounts(&fs::read("/proc/self/mountinfo")?).ok_or(io::ErrorKind::InvalidData)?;
    for below in reachable_below(&mounts, id(mount)?) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let found = rustix::fs::openat2(CWD, &below.at, flags, Mode::empty(), resolve)?;
        if id(found.as_fd())? != below.id {
            let why = format!("{} changed while it was mounted", below.at.display());
            return Err(io::Error::other(why));
        }
        set(found.as_fd(), attributes)?;
    }
    Ok(())
}

/// Sets attributes on one attached mount. Those that it has stay: some of them must
/// not be cleared, and none is meant to be.
fn set(mount: BorrowedFd<'_>, attributes: Attributes<'_>) -> io::Result<()> {
    let wanted = [
        (attributes.read_only, StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (attributes.no_suid, StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (attributes.no_dev, StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (attributes.no_exec, StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let held = rustix::fs::fstatvfs(mount)?.f_flag;
    let mut flags = MountFlags::BIND;
    for (wanted, attribute, flag) in wanted {
        if wanted || held.contains(attribute) {
            flags |= flag;
        }
    }
    let path = format!("/proc/self/fd/{}", mount.as_raw_fd());
    rustix::mount::mount_remount(path, flags, c"")?;
    let held = rustix::fs::fstatvfs(mount)?.f_flag;
    match wanted.iter().all(|(wanted, attribute, _)| !wanted || held.contains(*attribute)) {
        true => Ok(()),
        false => Err(io::Error::other("the kernel did not take the attributes of the mount")),
    }
}

/// Returns the number by which `/proc/self/mountinfo` lists the mount of a file.
fn id(file: BorrowedFd<'_>) -> io::Result<u64> {
    // KERNEL(5.8): STATX_MNT_ID.
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    match stat.stx_mask & StatxFlags::MNT_ID.bits() {
        0 => Err(io::ErrorKind::Unsupported.into()),
        _ => Ok(stat.stx_mnt_id),
    }
}

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mounted {
    id: u64,
    parent: u64,
    at: PathBuf,
}

fn mounts(text: &[u8]) -> Option<Vec<Mounted>> {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(mounted).collect()
}

fn mounted(line: &[u8]) -> Option<Mounted> {
    let mut fields = line.split(|&byte| byte == b' ');
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    let (id, parent) = (number(fields.next()?)?, number(fields.next()?)?);
    let at = unescape(fields.nth(2)?)?;
    Some(Mounted { id, parent, at })
}

/// Reads a path in which some bytes are written as a backslash and three octal
/// digits.
fn unescape(field: &[u8]) -> Option<PathBuf> {
    let mut path = Vec::new();
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        let (digits, after) = after.split_at_checked(3)?;
        path.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?);
        rest = after;
    }
    Some(OsString::from_vec(path).into())
}

/// Returns the mounts below one that a path leads to: one that lies under a later
/// mount is out of reach for everybody.
fn reachable_below(mounts: &[Mounted], top: u64) -> Vec<&Mounted> {
    let mut found: Vec<&Mounted> = Vec::new();
    let mut seen = HashSet::from([top]);
    let mut above = vec![top];
    while let Some(parent) = above.pop() {
        let children: Vec<_> = mounts.iter().filter(|mount| mount.parent == parent).collect();
        for child in &children {
            let covers =
                |other: &&&Mounted| child.at != other.at && child.at.starts_with(&other.at);
            // A mount can be its own parent.
            if children.iter().find(covers).is_none() && seen.insert(child.id) {
                above.push(child.id);
                found.push(child);
            }
        }
    }
    // One that another is stacked on.
    let stacked = |mount: &Mounted| {
        mounts.iter().any(|other| other.parent == mount.id && other.at == mount.at)
    };
    found.retain(|mount| !stacked(mount));
    found
}

/// Returns whether an error says that the kernel has no `mount_setattr`.
pub(super) fn is_needed(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_as_the_kernel_writes_them() {
        let text = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                     40 22 0:31 /a /home/a\\040b\\134c rw - tmpfs t rw\n";
        let want = [
            Mounted { id: 22, parent: 1, at: "/".into() },
            Mounted { id: 40, parent: 22, at: "/home/a b\\c".into() },
        ];
        assert_eq!(mounts(text).unwrap(), want);
        for wrong in ["22\n", "x 1 8:1 / / rw\n", "22 1 8:1 / /a\\04 rw\n"] {
            assert_eq!(mounts(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn mounts_that_lie_under_others_are_left_out() {
        // id, parent, place
        let table = [
            (1, 0, "/"),
            (2, 1, "/zone"),
            (3, 2, "/zone/a"),
            (4, 3, "/zone/a/deep"),
            // Over the same directory.
            (5, 2, "/zone/b"),
            (6, 5, "/zone/b"),
            // Below a directory that was covered later.
            (7, 2, "/zone/c/d"),
            (8, 7, "/zone/c/d/e"),
            (9, 2, "/zone/c"),
            // Not below the zone's mount, and one that only begins like it.
            (10, 1, "/zonex"),
            (11, 1, "/other"),
        ];
        let mounts = table.map(|(id, parent, at)| Mounted { id, parent, at: at.into() });
        let mut found: Vec<u64> = reachable_below(&mounts, 2).iter().map(|m| m.id).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4, 6, 9]);
    }
}
