//! What a session has lying around: a terminal, another process, descriptors,
//! shared memory, queues, keys.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use crate::scene::SECRET;
use crate::sys::{self, at, at_mut, call, text};

/// Makes a terminal and, in a new session, the session's own.
pub(crate) fn terminal() -> (File, File, PathBuf) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = PathBuf::from(ptsname(&master, Vec::new()).unwrap().to_str().unwrap());
    let slave = sys::open(&name, libc::O_RDWR | libc::O_CLOEXEC, 0).unwrap();
    let _ = sys::ioctl(&slave, libc::TIOCSCTTY as usize, 0);
    rustix::io::ioctl_fionbio(&master, true).unwrap();
    (File::from(master), File::from(slave), name)
}

/// Starts the process that attacks are aimed at, and returns where the secret is
/// in its memory and which descriptor it has.
pub(crate) fn start_victim(attacker: &Path, outside: &Path, token: &str) -> (Child, usize, i32) {
    let mut child = Command::new(attacker)
        .args(["--victim", token])
        .arg(outside)
        .current_dir(outside)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, fd) = line.trim().split_once(' ').unwrap();
    (child, address.parse().unwrap(), fd.parse().unwrap())
}

/// The process that attacks are aimed at: it has the secret in its memory and
/// open, and does nothing.
pub(crate) fn victim() -> ExitCode {
    // Where only descendants may be looked into, this one allows anybody; and it
    // ends with the case that started it.
    // SAFETY: takes numbers only.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let secret = String::from(SECRET);
    let file = File::open("secret.txt").unwrap();
    println!("{} {}", secret.as_ptr() as usize, file.as_raw_fd());
    io::stdout().flush().unwrap();
    thread::sleep(sys::scaled(Duration::from_secs(60)));
    drop(secret);
    ExitCode::SUCCESS
}

/// The process that attacks leave behind: it minds nothing and stays.
pub(crate) fn linger() -> ExitCode {
    sys::ignore(&[libc::SIGHUP, libc::SIGTERM, libc::SIGINT, libc::SIGPIPE, libc::SIGUSR1]);
    thread::sleep(sys::scaled(Duration::from_secs(20)));
    ExitCode::SUCCESS
}

/// Leaves descriptors of a directory open for whoever is started: a low number,
/// one in the middle, a high one.
pub(crate) fn leak(outside: &Path) -> (Vec<OwnedFd>, Vec<i32>) {
    let dir = File::open(outside).unwrap();
    let copies = [3, 77, 1000].into_iter().filter_map(|least| {
        let fd = dir.as_raw_fd() as usize;
        call(libc::SYS_fcntl, &[fd, libc::F_DUPFD as usize, least]).ok().map(sys::owned)
    });
    let copies: Vec<OwnedFd> = copies.collect();
    let numbers = copies.iter().map(AsRawFd::as_raw_fd).collect();
    (copies, numbers)
}

/// Makes shared memory, a message queue and a semaphore that only the user may open.
pub(crate) fn system_v() -> [i32; 3] {
    let mode = (libc::IPC_CREAT | 0o600) as usize;
    let memory = call(libc::SYS_shmget, &[0, 4096, mode]).unwrap();
    let address = call(libc::SYS_shmat, &[memory, 0, 0]).unwrap();
    // SAFETY: the kernel just mapped 4096 bytes there.
    unsafe { std::ptr::copy_nonoverlapping(SECRET.as_ptr(), address as *mut u8, SECRET.len()) };
    call(libc::SYS_shmdt, &[address]).unwrap();
    let messages = call(libc::SYS_msgget, &[0, mode]).unwrap();
    let mut message = 1_u64.to_ne_bytes().to_vec();
    message.extend(SECRET.as_bytes());
    call(libc::SYS_msgsnd, &[messages, at(&message[..]), SECRET.len(), 0]).unwrap();
    let semaphores = call(libc::SYS_semget, &[0, 1, mode]).unwrap();
    call(libc::SYS_semctl, &[semaphores, 0, libc::SETVAL as usize, 42]).unwrap();
    [memory as i32, messages as i32, semaphores as i32]
}

/// Makes a POSIX message queue with the secret in it, where there are any.
pub(crate) fn message_queue(name: &str) {
    let flags = (libc::O_CREAT | libc::O_RDWR) as usize;
    if let Ok(queue) = call(libc::SYS_mq_open, &[text(name).at(), flags, 0o600, 0]) {
        let queue = sys::owned(queue);
        let fd = queue.as_raw_fd() as usize;
        let _ = call(libc::SYS_mq_timedsend, &[fd, at(SECRET), SECRET.len(), 0, 0]);
    }
}

/// Puts a key into a session keyring of our own, where the kernel has keys.
pub(crate) fn key(name: &str) -> Option<i32> {
    const JOIN: usize = 1;
    const SESSION: usize = -3_isize as usize;
    call(libc::SYS_keyctl, &[JOIN, 0]).ok()?;
    let (kind, name) = (text("user"), text(name));
    let args = [kind.at(), name.at(), at(SECRET), SECRET.len(), SESSION];
    call(libc::SYS_add_key, &args).ok().map(|id| id as i32)
}

/// Returns the kernel's handle of a file: size, type, bytes.
pub(crate) fn handle(path: &Path) -> Vec<u8> {
    let mut handle = vec![0_u8; 8 + 128];
    handle[..4].copy_from_slice(&128_u32.to_ne_bytes());
    let mut mount = 0_i32;
    let path = text(path);
    let args = [sys::HERE, path.at(), at_mut(&mut handle[..]), at_mut(&mut mount), 0];
    let _ = call(libc::SYS_name_to_handle_at, &args);
    handle
}

/// Returns names in directories that belong to the host alone.
pub(crate) fn names() -> BTreeMap<PathBuf, Vec<String>> {
    let list = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).into_iter().flatten().take(40);
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    };
    let mut dirs: Vec<PathBuf> = ["/root", "/run", "/var/lib", "/var/log", "/var/spool", "/boot"]
        .map(PathBuf::from)
        .to_vec();
    dirs.extend(list(Path::new("/home")).iter().map(|name| Path::new("/home").join(name)));
    dirs.into_iter().map(|dir| (dir.clone(), list(&dir))).collect()
}
