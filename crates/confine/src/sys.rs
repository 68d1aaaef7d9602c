//! The system calls that no safe library offers: all unsafe code is here.
//!
//! Everything but [`exit`], [`hold_all_signals`] and the locks of bytes is for the launcher, which has a single
//! thread, as the process has that it is split off from; that is what makes [`fork`] and
//! [`clone`] safe to go on from.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::mem::size_of;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;

use crate::launcher::faults::{self, Call, lacks};
use crate::seccomp::Instruction;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// On which side of a fork the program goes on.
#[derive(Debug)]
pub(crate) enum Side {
    /// In the new process.
    Child,
    /// In the old one, with the number of the new one.
    Parent(Pid),
}

fn side(pid: i64) -> io::Result<Side> {
    // The number of a failure, -1, would mean every process to a signal.
    match i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw) {
        None if pid == 0 => Ok(Side::Child),
        Some(pid) => Ok(Side::Parent(pid)),
        None => Err(io::Error::last_os_error()),
    }
}

/// Splits the process in two.
pub(crate) fn fork() -> io::Result<Side> {
    // SAFETY: the launcher, and what it is split off from, has one thread, so no
    // lock is held by another one.
    side(i64::from(unsafe { libc::fork() }))
}

/// Splits the process in two, the new one in new namespaces.
pub(crate) fn clone(namespaces: libc::c_int) -> io::Result<Side> {
    let flags = namespaces | libc::SIGCHLD;
    // SAFETY: without a stack and without CLONE_VM this is a fork; the launcher
    // has one thread.
    side(unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_long, 0, 0, 0, 0) })
}

/// What this process was given when its program started, and where that lies
/// in its memory: its arguments and its environment.
#[derive(Debug)]
pub(crate) struct Given {
    arguments: Range<usize>,
    environment: Range<usize>,
}

impl Given {
    /// Finds it; `None` unless it lies where every program has it and this
    /// process has a single thread.
    pub(crate) fn find() -> Option<Self> {
        let mut buffer = [0; 4096];
        let length = File::open("/proc/self/stat").ok()?.read(&mut buffer).ok()?;
        // The name is in parentheses and may hold anything.
        let name = buffer[..length].iter().rposition(|&byte| byte == b')')?;
        let numbers = std::str::from_utf8(&buffer[name + 1..length]).ok()?;
        let mut numbers = numbers.split_whitespace().skip(17).map(str::parse::<usize>);
        let threads = numbers.next()?.ok()?;
        let mut numbers = numbers.skip(27);
        let mut range = || Some(numbers.next()?.ok()?..numbers.next()?.ok()?);
        let given = Given { arguments: range()?, environment: range()? };
        let here = (&raw const given).addr();
        let (arguments, environment) = (&given.arguments, &given.environment);
        // On the stack, before anything that this program has put there.
        let bounds = [here, arguments.start, arguments.end, environment.start, environment.end];
        let fits = bounds.is_sorted() && environment.end - here < Self::FARTHEST;
        (threads == 1 && fits).then_some(given)
    }

    /// How far it can be from what this program has on its stack: the system
    /// takes no more than 6 MiB.
    const FARTHEST: usize = 16 * 1024 * 1024;

    /// Overwrites it, so that others see `name` for the arguments, and nothing
    /// else. The process must not ask for its arguments again.
    pub(crate) fn forget(self, name: &str) {
        let Given { arguments, environment } = self;
        let start = std::ptr::with_exposed_provenance_mut::<u8>(arguments.start);
        // SAFETY: the kernel put the arguments and the environment there, on the
        // stack and so writable, for this process to use as it likes. Nothing in
        // the program holds on to them but the lists of the C library, one of
        // which is emptied here; the other leads to strings that are shorter now.
        unsafe {
            libc::explicit_bzero(start.cast(), arguments.len());
            let variables = std::ptr::with_exposed_provenance_mut(environment.start);
            libc::explicit_bzero(variables, environment.len());
            libc::clearenv();
            // Without a null byte at their end the arguments go on until there
            // is one, into the environment; and end where there is one before.
            let room = match arguments.end == environment.start {
                true => environment.end - arguments.start,
                false => arguments.len(),
            };
            if arguments.len() > name.len() + 1 {
                start.add(arguments.len() - 1).write(b'.');
            }
            start.copy_from_nonoverlapping(name.as_ptr(), name.len().min(room));
        }
    }
}

/// Overwrites what is not needed any more.
pub(crate) fn forget(mut bytes: Vec<u8>) {
    // SAFETY: the bytes are this function's own.
    unsafe { libc::explicit_bzero(bytes.as_mut_ptr().cast(), bytes.len()) };
}

/// Ends the process at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: ends the process; runs nothing of this program.
    unsafe { libc::_exit(code) }
}

/// Takes over a descriptor that the process was started with.
pub(crate) fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: asks only whether it is open.
    check(unsafe { libc::fcntl(fd, libc::F_GETFD) })?;
    // SAFETY: it is open, and the caller is the first to take it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: the descriptors above are owned by nothing that is used later.
    check_long(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) }).map(drop)
}

/// Closes every descriptor but one, and standard input, output and error.
pub(crate) fn close_all_but(kept: BorrowedFd<'_>) -> io::Result<()> {
    let kept = kept.as_raw_fd().unsigned_abs();
    for (first, last) in [(3, kept.saturating_sub(1)), (kept + 1, u32::MAX)] {
        if first <= last {
            // SAFETY: the others are owned by nothing that is used later.
            check_long(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) })?;
        }
    }
    Ok(())
}

/// Has every descriptor from `first` on closed when another program starts.
fn close_from_on_exec(first: RawFd) -> io::Result<()> {
    let flag = libc::CLOSE_RANGE_CLOEXEC;
    let done = match lacks(Call::CloseRangeOnExec) {
        true => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        // SAFETY: changes a flag of descriptors.
        false => check_long(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flag) }),
    };
    // KERNEL(5.11): CLOSE_RANGE_CLOEXEC.
    match done {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            for entry in std::fs::read_dir("/proc/self/fd")? {
                let name = entry?.file_name();
                let fd = name.to_str().and_then(|name| name.parse().ok());
                let fd: RawFd = fd.ok_or(io::ErrorKind::InvalidData)?;
                if fd >= first {
                    // SAFETY: changes a flag of a descriptor.
                    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
                }
            }
            Ok(())
        }
        result => result.map(drop),
    }
}

/// Puts an open descriptor in the place of another one, which is closed by that.
pub(crate) fn cover_fd(fd: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    // SAFETY: both are plain numbers to the system; what had the number `to` is
    // not used again.
    check(unsafe { libc::dup3(fd.as_raw_fd(), to, libc::O_CLOEXEC) }).map(drop)
}

/// Makes `to` another name of an open descriptor, open in the next program too.
pub(crate) fn place_fd(fd: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == to {
        // SAFETY: clears the flag that closes it in the next program.
        return check(unsafe { libc::fcntl(to, libc::F_SETFD, 0) }).map(drop);
    }
    // SAFETY: both are plain numbers to the system; `to` is one of 0, 1, 2.
    check(unsafe { libc::dup2(fd.as_raw_fd(), to) }).map(drop)
}

/// Mount attributes, as `mount_setattr` takes them.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// What can be set on a mount.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attributes<'f> {
    pub(crate) read_only: bool,
    pub(crate) no_suid: bool,
    pub(crate) no_dev: bool,
    pub(crate) no_exec: bool,
    pub(crate) private: bool,
    /// A user namespace whose map translates the owners of files.
    pub(crate) owners: Option<BorrowedFd<'f>>,
}

/// Sets attributes on a mount, and on those below it.
pub(crate) fn set_mount(
    mount: BorrowedFd<'_>,
    attributes: Attributes<'_>,
    recursive: bool,
) -> io::Result<()> {
    const IDMAP: u64 = 0x10_0000;
    if lacks(Call::MountSetattr) {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    if attributes.owners.is_some() && lacks(Call::Idmap) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut attr = MountAttr { set: 0, clear: 0, propagation: 0, userns_fd: 0 };
    let bits = [
        (attributes.read_only, 0x1),
        (attributes.no_suid, 0x2),
        (attributes.no_dev, 0x4),
        (attributes.no_exec, 0x8),
    ];
    attr.set = bits.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum();
    if attributes.private {
        attr.propagation = libc::MS_PRIVATE;
    }
    if let Some(userns) = attributes.owners {
        attr.set |= IDMAP;
        attr.userns_fd = userns.as_raw_fd() as u64;
    }
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, the structure has the stated size.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    })
    .map(drop)
}

/// Forbids to gain rights by running programs.
pub(crate) fn forbid_new_rights() -> io::Result<()> {
    // SAFETY: plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// Gives up every capability, and the means to get one back.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: plain numbers.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if dropped < 0 {
            match io::Error::last_os_error().raw_os_error() {
                // Past the last one that the kernel knows.
                Some(libc::EINVAL) => break,
                // Without the right to change the set there is nothing in it to use.
                Some(libc::EPERM) => break,
                _ => return Err(io::Error::last_os_error()),
            }
        }
    }
    // SAFETY: plain numbers.
    check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) })?;
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: version 3 takes a header and two sets of three words.
    check_long(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })
        .map(drop)
}

/// Loads a filter for system calls, for this process and what comes of it.
pub(crate) fn load_filter(program: &[Instruction]) -> io::Result<()> {
    #[repr(C)]
    struct Program {
        length: u16,
        instructions: *const Instruction,
    }
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = Program { length, instructions: program.as_ptr() };
    // SAFETY: the instructions are laid out as the kernel takes them and live
    // through the call.
    check_long(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    })
    .map(drop)
}

/// Leaves the caller's session keyring for an empty one.
pub(crate) fn new_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name makes an anonymous keyring.
    check_long(unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0, 0, 0, 0) })
        .map(drop)
}

/// Becomes another user and group.
pub(crate) fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: plain numbers.
    check(unsafe { libc::setresgid(gid, gid, gid) })?;
    // SAFETY: plain numbers.
    check(unsafe { libc::setresuid(uid, uid, uid) }).map(drop)
}

/// Leaves all supplementary groups.
pub(crate) fn leave_groups() -> io::Result<()> {
    // SAFETY: a list of no groups.
    check(unsafe { libc::setgroups(0, std::ptr::null()) }).map(drop)
}

/// Switches the loopback interface of this network namespace on.
pub(crate) fn loopback_up() -> io::Result<()> {
    // SAFETY: makes a socket.
    let socket =
        check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: it is new and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all zeroes are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is complete and lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
        .map(drop)
}

/// Returns the user namespace that another namespace belongs to.
pub(crate) fn owner_of(namespace: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // KERNEL(4.9): `_IO(0xb7, 1)`.
    const NS_GET_USERNS: libc::Ioctl = 0xb701;
    // SAFETY: takes no argument; returns a new descriptor.
    let owner = check(unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS) })?;
    // SAFETY: it is new and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(owner) })
}

/// Puts this process under a Landlock ruleset.
pub(crate) fn restrict(rules: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers.
    check_long(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) })
        .map(drop)
}

/// All that a new process does before it becomes a program, prepared so that
/// nothing has to be made or looked up on the way.
#[derive(Debug)]
pub(crate) struct Program<'f> {
    /// Becomes standard input, output and error.
    pub(crate) stdio: [BorrowedFd<'f>; 3],
    /// Which of them is the controlling terminal of this session.
    pub(crate) terminal: Option<usize>,
    pub(crate) limits: Vec<(libc::__rlimit_resource_t, u64, u64)>,
    /// A Landlock ruleset.
    pub(crate) rules: Option<BorrowedFd<'f>>,
    pub(crate) cwd: CString,
    /// Tried in this order.
    pub(crate) paths: Vec<CString>,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
}

/// The steps of a [`Program`], to follow "cannot".
pub(crate) const STEPS: [&str; 5] = [
    "prepare the command",
    "limit the command",
    "restrict the command",
    "enter the directory",
    "run",
];

/// What the new process works on; it lies in the memory of the old one, which
/// waits.
struct Shared<'p, 'f> {
    program: &'p Program<'f>,
    paths: Vec<*const libc::c_char>,
    argv: Vec<*const libc::c_char>,
    /// `sh`, a place for the path, and the arguments.
    script: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
    failed: Option<(usize, i32)>,
}

/// Starts a program in a new process; an error names the step.
///
/// The new process uses the memory of this one until it is a program of its
/// own, which costs nothing however large this one is; until then this one
/// stands still.
pub(crate) fn start(program: &Program<'_>) -> Result<Pid, (usize, i32)> {
    const STACK: usize = 64 * 1024;
    not_inherited()?;
    let list = |strings: &[CString]| {
        let pointers = strings.iter().map(|string| string.as_ptr());
        pointers.chain([std::ptr::null()]).collect::<Vec<_>>()
    };
    let argv = list(&program.argv);
    let mut script = vec![c"sh".as_ptr(), std::ptr::null()];
    script.extend(argv.iter().skip(1));
    let mut shared = Shared {
        program,
        paths: list(&program.paths),
        argv,
        script,
        env: list(&program.env),
        failed: None,
    };
    let mut stack: Vec<u128> = vec![0; STACK / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is the child's own and large enough for what it calls;
    // everything it reads outlives it, because this process goes on only once
    // the child has become a program or has ended.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast();
        libc::clone(become_program, top, flags, (&raw mut shared).cast())
    };
    let last = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    // The child noted there what it was.
    faults::enter(faults::Process::Supervisor);
    match (side(i64::from(pid)), shared.failed) {
        (Ok(Side::Parent(pid)), None) => Ok(pid),
        (Ok(Side::Parent(pid)), Some(failed)) => {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            Err(failed)
        }
        _ => Err((0, last)),
    }
}

/// What the new process of [`start`] does: system calls, and nothing else.
extern "C" fn become_program(shared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` passes a `Shared` that nobody else uses meanwhile.
    let shared = unsafe { &mut *shared.cast::<Shared<'_, '_>>() };
    faults::enter(faults::Process::Command);
    let failed = match prepare(shared.program) {
        Ok(()) => (4, run(shared)),
        Err(failed) => failed,
    };
    shared.failed = Some(failed);
    127
}

/// Does in this process, which goes on as it is, what comes before a program.
pub(crate) fn prepare_here(program: &Program<'_>) -> Result<(), (usize, i32)> {
    not_inherited()?;
    prepare(program)
}

/// Keeps all descriptors but the first three from the program: they are closed when it
/// starts, for its rules are still needed until then.
fn not_inherited() -> Result<(), (usize, i32)> {
    let errno = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    close_from_on_exec(3).map_err(|error| (0, errno(error)))
}

fn prepare(program: &Program<'_>) -> Result<(), (usize, i32)> {
    let failed = |step| (step, io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
    let done = |step, result: libc::c_long| match faults::step() {
        _ if result < 0 => Err(failed(step)),
        Some(errno) => Err((step, errno)),
        None => Ok(()),
    };
    // SAFETY: system calls with plain numbers, and pointers to what lives
    // longer than this process.
    unsafe {
        match program.terminal {
            // A session of its own would be one that nobody in it could continue
            // when it stops; the caller leads the one that the terminal is for.
            Some(_) => done(0, libc::setpgid(0, 0).into())?,
            None => done(0, libc::setsid().into())?,
        }
        if libc::getpriority(libc::PRIO_PROCESS, 0) < 0 {
            done(0, libc::setpriority(libc::PRIO_PROCESS, 0, 0).into())?;
        }
        if let Some(terminal) = program.terminal {
            let fd = program.stdio[terminal].as_raw_fd();
            // All signals are still held back, so this does not stop.
            done(0, libc::tcsetpgrp(fd, libc::getpid()).into())?;
        }
        for (number, fd) in program.stdio.iter().enumerate() {
            place_fd(*fd, number as RawFd).map_err(|_| failed(0))?;
        }
        for &(resource, soft, hard) in &program.limits {
            let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
            done(1, libc::setrlimit(resource, &raw const limit).into())?;
        }
        if let Some(rules) = program.rules {
            restrict(rules).map_err(|_| failed(2))?;
        }
        done(3, libc::chdir(program.cwd.as_ptr()).into())?;
    }
    let_signals_through();
    Ok(())
}

/// Becomes the first program that is there; returns why none was.
fn run(shared: &mut Shared<'_, '_>) -> i32 {
    let mut worst = libc::ENOENT;
    for &path in shared.paths.iter().take_while(|path| !path.is_null()) {
        // SAFETY: all lists end in a null pointer, and their strings live.
        unsafe { libc::execve(path, shared.argv.as_ptr(), shared.env.as_ptr()) };
        let mut errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        if errno == libc::ENOEXEC {
            // A text without a first line that says how is a script for the
            // shell, as everywhere.
            shared.script[1] = path;
            let shell = c"/bin/sh".as_ptr();
            // SAFETY: as above.
            unsafe { libc::execve(shell, shared.script.as_ptr(), shared.env.as_ptr()) };
            errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        }
        match errno {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => worst = errno,
            _ => return errno,
        }
    }
    worst
}

/// Kills every process that this one may signal, but itself and the first one.
///
/// The caller must have made sure that it can signal nothing but what it started.
pub(crate) fn kill_every() {
    // SAFETY: plain numbers.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Returns the size of a page of memory.
///
/// The one of `rustix` panics on kernels before 6.4 in a process that is not dumpable:
/// it reads `/proc/self/auxv`, which is closed then.
pub(crate) fn page_size() -> u64 {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096).max(1)
}

/// Returns how many pieces of System V shared memory there are in this namespace, and
/// how many bytes of them take up memory.
pub(crate) fn shared_memory() -> (u32, u64) {
    /// What the kernel calls `shm_info`; the sizes are in pages.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        pieces: libc::c_int,
        total: libc::c_ulong,
        resident: libc::c_ulong,
        swapped: libc::c_ulong,
        attempts: libc::c_ulong,
        successes: libc::c_ulong,
    }
    const SHM_INFO: libc::c_int = 14;
    let mut info = Info::default();
    // SAFETY: with this command the kernel writes a structure of that kind.
    let done = unsafe { libc::shmctl(0, SHM_INFO, (&raw mut info).cast()) };
    if done < 0 {
        return (0, 0);
    }
    let pages = info.resident.saturating_add(info.swapped);
    let bytes = pages.saturating_mul(page_size());
    (u32::try_from(info.pieces).unwrap_or(0), bytes)
}

/// Removes a piece of System V shared memory.
pub(crate) fn remove_shared_memory(id: i32) {
    // SAFETY: this command takes no buffer.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
}

/// Locks one byte of a file, for the open file and not for the process: the lock stays
/// as long as anybody has it open. Others may hold the same lock.
pub(crate) fn hold_byte(file: BorrowedFd<'_>, byte: i64) -> io::Result<()> {
    lock_bytes(file, libc::F_OFD_SETLK, libc::F_RDLCK, (byte, 1)).map(drop)
}

/// Lets go of a byte, for everybody who has the same open file.
pub(crate) fn release_byte(file: BorrowedFd<'_>, byte: i64) -> io::Result<()> {
    lock_bytes(file, libc::F_OFD_SETLK, libc::F_UNLCK, (byte, 1)).map(drop)
}

/// Lets go of all bytes from one on.
pub(crate) fn release_bytes(file: BorrowedFd<'_>, first: i64) -> io::Result<()> {
    lock_bytes(file, libc::F_OFD_SETLK, libc::F_UNLCK, (first, 0)).map(drop)
}

/// Returns whether a byte is held by way of another open file.
pub(crate) fn is_byte_held(file: BorrowedFd<'_>, byte: i64) -> io::Result<bool> {
    Ok(lock_bytes(file, libc::F_OFD_GETLK, libc::F_WRLCK, (byte, 1))? != libc::F_UNLCK)
}

/// Has the kernel do something with the lock of some bytes, given by the first and how
/// many there are: 0 for all that follow.
fn lock_bytes(
    file: BorrowedFd<'_>,
    command: libc::c_int,
    kind: libc::c_int,
    (first, count): (i64, i64),
) -> io::Result<libc::c_int> {
    let mut lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: first,
        l_len: count,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, and the kernel reads and writes a `flock`, which
    // lives on this stack.
    check(unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) })?;
    Ok(libc::c_int::from(lock.l_type))
}

/// Has a signal sent to this process when its parent ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Sets what `ps` shows.
pub(crate) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the name ends in a null byte.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Blocks every signal, and returns a descriptor that tells of ended children.
pub(crate) fn watch_children() -> io::Result<OwnedFd> {
    // SAFETY: the sets are filled before they are used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()))?;
        let mut child = std::mem::zeroed();
        libc::sigemptyset(&raw mut child);
        libc::sigaddset(&raw mut child, libc::SIGCHLD);
        let fd =
            check(libc::signalfd(-1, &raw const child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Blocks some signals, and returns a descriptor to read them from.
pub(crate) fn hold_signals(numbers: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: the set is emptied before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &number in numbers {
            check(libc::sigaddset(&raw mut set, number))?;
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd = check(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Blocks every signal in this thread: a signal is for the program's own threads, and a
/// closed pipe is an error here.
pub(crate) fn hold_all_signals() {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

/// Makes a write past the limit of file sizes an error instead of a signal that ends the
/// program.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: plain numbers.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Has every signal have its usual effect: once, for this process and all that
/// comes of it.
pub(crate) fn usual_signals() {
    for signal in 1..=64 {
        // SAFETY: plain numbers.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Has `abort` end this process with `_exit`: as the first process of a namespace it
/// cannot be killed by its own signal.
pub(crate) fn exit_on_abort() {
    extern "C" fn end(signal: libc::c_int) {
        exit(128 + signal)
    }
    let handler: extern "C" fn(libc::c_int) = end;
    // SAFETY: the handler makes one system call, and never returns.
    unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
}

/// Lets every signal through again.
fn let_signals_through() {
    // SAFETY: a set that is emptied before it is used.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Returns which Landlock the kernel has; 0 is none.
pub(crate) fn landlock_version() -> u32 {
    if lacks(Call::Landlock) {
        return 0;
    }
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the call only returns a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// What ended children have used: seconds of processor time and the most
/// memory that one of them had, in bytes.
pub(crate) fn used_by_children() -> (f64, u64) {
    // SAFETY: the structure is filled by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}

/// Asks for what a line of the filter's table names, with arguments that no
/// call takes; returns the error, or 0.
pub(crate) fn ask_for_nonsense(line: &crate::seccomp::Line) -> Option<i32> {
    let arch = crate::seccomp::Arch::native()?;
    let number =
        crate::seccomp::TABLE.iter().find(|known| known.name == line.name)?.number(arch)?;
    let none = usize::MAX;
    // SAFETY: where the filter lets it through, the highest address is nobody's,
    // the highest descriptor is not open, and no call of the table does anything
    // with such lengths and flags.
    let result =
        unsafe { libc::syscall(libc::c_long::from(number), none, none, none, none, none, none) };
    Some(if result < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 })
}

/// Asks who this process is by the second, 32-bit table of x86_64; returns the
/// error, or 0.
#[cfg(target_arch = "x86_64")]
pub(crate) fn ask_by_x32() -> i32 {
    const X32: libc::c_long = 0x4000_0000;
    // SAFETY: takes no arguments and only returns a number.
    let result = unsafe { libc::syscall(X32 + libc::SYS_getpid) };
    if result < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 }
}

/// Asks who this process is by the old, 32-bit entry of the kernel; returns the
/// error, or 0. A kernel without it sends a signal.
#[cfg(target_arch = "x86_64")]
pub(crate) fn ask_by_interrupt() -> i32 {
    const GETPID: i64 = 20;
    let mut result = GETPID;
    // SAFETY: takes no arguments and only returns a number; the entry may
    // change the named registers and no others.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inout("rax") result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    // The entry is of 32 bits.
    let result = result as i32;
    if result < 0 { -result } else { 0 }
}

/// Puts a space into the input of a terminal.
pub(crate) fn type_into(terminal: BorrowedFd<'_>) -> io::Result<()> {
    let space = b' ';
    // SAFETY: the call reads one byte, which lives through it.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSTI, &raw const space) }).map(drop)
}

/// Returns whether a descriptor stays open in the next program; `None` when it
/// is not open at all.
pub(crate) fn survives_exec(fd: RawFd) -> Option<bool> {
    // SAFETY: asks for a flag.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    (flags >= 0).then_some(flags & libc::FD_CLOEXEC == 0)
}

/// Lets a descriptor stay open in the next program.
pub(crate) fn keep_on_exec(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: changes a flag of a descriptor.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) }).map(drop)
}
