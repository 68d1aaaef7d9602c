//! System calls by number, and a few things built from them.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// The number of `fchmodat2` on every architecture; `libc` does not have it for all.
pub(crate) const SYS_FCHMODAT2: libc::c_long = 452;

/// Makes a system call with plain words as arguments.
///
/// Attacks pass what no program should, and whatever the kernel does with it is
/// what they are about; addresses come from [`at`], [`at_mut`] and
/// [`Text::at`], of values that outlive the call.
pub(crate) fn call(number: libc::c_long, args: &[usize]) -> io::Result<usize> {
    let arg = |index: usize| args.get(index).copied().unwrap_or(0);
    // SAFETY: every caller passes addresses of live values, or bad ones on
    // purpose, which the kernel answers with an error.
    let result = unsafe { libc::syscall(number, arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}

/// The address of a value that the kernel reads.
pub(crate) fn at<T: ?Sized>(value: &T) -> usize {
    std::ptr::from_ref(value).cast::<u8>() as usize
}

/// The address of a value that the kernel writes.
pub(crate) fn at_mut<T: ?Sized>(value: &mut T) -> usize {
    std::ptr::from_mut(value).cast::<u8>() as usize
}

/// The current directory, where a call wants a descriptor.
pub(crate) const HERE: usize = libc::AT_FDCWD as usize;

/// Text with a zero at its end.
pub(crate) struct Text(CString);

impl Text {
    /// Its address.
    pub(crate) fn at(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

/// Returns text for the kernel.
pub(crate) fn text(value: impl AsRef<OsStr>) -> Text {
    Text(CString::new(value.as_ref().as_bytes()).expect("no zero inside"))
}

/// Returns whether this is how a call is refused, rather than how it fails.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

/// Takes over a descriptor that a call returned.
pub(crate) fn owned(fd: usize) -> OwnedFd {
    // SAFETY: the call just returned it and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Opens a path with these flags and mode, by the plainest call there is.
pub(crate) fn open(path: impl AsRef<Path>, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let path = text(path.as_ref());
    let flags = flags as u32 as usize;
    call(libc::SYS_openat, &[HERE, path.at(), flags, mode as usize]).map(owned)
}

/// Opens a path for writing without changing anything.
pub(crate) fn open_for_writing(path: impl AsRef<Path>) -> io::Result<OwnedFd> {
    open(path, libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY, 0)
}

/// Opens a path for reading, without waiting and without gaining a terminal.
pub(crate) fn open_for_reading(path: impl AsRef<Path>) -> io::Result<OwnedFd> {
    open(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY, 0)
}

/// Makes a socket.
pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC;
    call(libc::SYS_socket, &[family as usize, kind as usize, protocol as usize]).map(owned)
}

/// An ioctl.
pub(crate) fn ioctl(fd: &impl AsRawFd, request: usize, arg: usize) -> io::Result<usize> {
    call(libc::SYS_ioctl, &[fd.as_raw_fd() as usize, request, arg])
}

/// Ignores signals.
pub(crate) fn ignore(signals: &[i32]) {
    for &signal in signals {
        // SAFETY: no handler is involved.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Forks, runs `child` there, and returns its process number.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> io::Result<i32> {
    // SAFETY: these programs have one thread where they fork.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = child();
            // SAFETY: ends this process and nothing else.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Waits for a child and returns its status as `wait` gives it.
pub(crate) fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the address is of a local variable.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

/// Runs something in a forked process and returns what it said, or an error
/// that names the signal it died of.
pub(crate) fn in_child(child: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let pid = fork(|| match child() {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(254),
    })?;
    let status = wait(pid);
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(()),
        (true, errno) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::other(format!("ended by signal {}", libc::WTERMSIG(status)))),
    }
}

/// Has the kernel answer this process and all that it starts as if it had no Landlock.
pub(crate) fn mask_landlock() -> io::Result<()> {
    const CREATE_RULESET: u32 = 444;
    let step = |code: u16, value: u32, on_false: u8| libc::sock_filter {
        code,
        jt: 0,
        jf: on_false,
        k: value,
    };
    let mut filter = [
        // The number of the call.
        step(0x20, 0, 0),
        step(0x15, CREATE_RULESET, 1),
        step(0x06, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0),
        step(0x06, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program =
        libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
    call(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1])?;
    let mode = libc::SECCOMP_SET_MODE_FILTER as usize;
    call(libc::SYS_seccomp, &[mode, 0, at(&program)]).map(drop)
}

/// Becomes a session of its own.
pub(crate) fn setsid() {
    // SAFETY: takes nothing.
    unsafe { libc::setsid() };
}

/// Ends a process or group; nothing happens if it is gone.
pub(crate) fn kill(pid: i32) {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Returns whether this process has all that makes root what it is.
pub(crate) fn is_full_root() -> bool {
    rustix::process::geteuid().is_root() && may_administer()
}

/// Returns whether this process may change mounts and the like, at least in its
/// own namespace.
fn may_administer() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    capabilities() & SYS_ADMIN != 0
}

/// Returns the effective capabilities.
pub(crate) fn capabilities() -> u64 {
    u64::from_str_radix(&status("CapEff").unwrap_or_default(), 16).unwrap_or(0)
}

/// Returns a line of this process's status.
pub(crate) fn status(key: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Gets a mount namespace to play with, so that nothing stays on the host when
/// there is no sandbox. Confined, an attack goes on without, and does not leave
/// a namespace in which it has a say already.
pub(crate) fn own_mounts(confined: bool) -> io::Result<()> {
    if confined && may_administer() {
        return Ok(());
    }
    let both = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as usize;
    let made = if is_full_root() && !confined {
        call(libc::SYS_unshare, &[libc::CLONE_NEWNS as usize])
    } else {
        call(libc::SYS_unshare, &[both])
    };
    let root = text("/");
    let private = (libc::MS_REC | libc::MS_PRIVATE) as usize;
    match made.and_then(|_| call(libc::SYS_mount, &[0, root.at(), 0, private, 0])) {
        Err(error) if !confined => Err(error),
        _ => Ok(()),
    }
}

/// Returns a duration of this machine for one of a usual machine: multiplied by
/// `ZONEKEEP_TEST_SLOWNESS`, which an emulator sets.
pub(crate) fn scaled(usual: Duration) -> Duration {
    let slowness = std::env::var("ZONEKEEP_TEST_SLOWNESS").ok().and_then(|n| n.parse().ok());
    usual * slowness.unwrap_or(1)
}
