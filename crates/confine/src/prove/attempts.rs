//! What is tried inside.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, RawProtocol, SocketFlags, SocketType};
use rustix::process::{Pid, Resource};
use rustix::pty::OpenptFlags;

use super::outside::{ABSTRACT, Asked, TCP, UDP, name_of_machine, namespaces, random};
use super::{Check, Layer, Report, calls};
use crate::launcher::routes::Routes;
use crate::plan::Route;
use crate::sys;

/// An address that no machine has, and no machine has a route to.
const RESERVED: Route = Route { base: IpAddr::V4(Ipv4Addr::new(240, 0, 0, 1)), bits: 32 };
/// The longest question.
const MAX_QUESTION: u64 = 4 * 1024 * 1024;

/// What came of it, and what the system said.
#[derive(Debug)]
pub(super) enum Outcome {
    Held(String),
    Open(String),
    Untried(String),
}

use Outcome::{Held, Open, Untried};

/// One thing to try.
struct Attempt {
    name: &'static str,
    group: &'static str,
    /// Each of these alone is enough to claim that it does not work.
    holds_with: &'static [Layer],
    run: fn(&Asked) -> Outcome,
}

const fn attempt_to(
    group: &'static str,
    name: &'static str,
    holds_with: &'static [Layer],
    run: fn(&Asked) -> Outcome,
) -> Attempt {
    Attempt { name, group, holds_with, run }
}

const LAUNCH: &[Layer] = &[Layer::Launch];
const TREE: &[Layer] = &[Layer::Tree];
const TREE_OR_FILES: &[Layer] = &[Layer::Tree, Layer::Files];
const PROCESSES: &[Layer] = &[Layer::Processes];
const PROCESSES_OR_FILES: &[Layer] = &[Layer::Processes, Layer::Files];
const SCOPE: &[Layer] = &[Layer::Scope];
const NETWORK: &[Layer] = &[Layer::Network];
const NETWORK_OR_TCP: &[Layer] = &[Layer::Network, Layer::Connections];
const NETWORK_OR_SCOPE: &[Layer] = &[Layer::Network, Layer::Scope];
const SECCOMP: &[Layer] = &[Layer::Seccomp];

/// Everything but the table of system calls.
const ATTEMPTS: &[Attempt] = &[
    attempt_to("files", "see files of the host", TREE, see_outside),
    attempt_to("files", "read files of the host", TREE_OR_FILES, read_outside),
    attempt_to("files", "read /etc/shadow", TREE_OR_FILES, |_| reading(&["/etc/shadow"])),
    attempt_to("files", "make a file where nothing can be written", TREE_OR_FILES, make_files),
    attempt_to("files", "change a directory that cannot be written", TREE, change_directories),
    attempt_to("files", "open devices of the machine", TREE_OR_FILES, open_devices),
    attempt_to("files", "write to the machine's settings", TREE_OR_FILES, write_settings),
    attempt_to("files", "read the kernel's memory and keys", TREE, read_kernel),
    attempt_to("files", "leave a file that runs with its owner's rights", SECCOMP, set_id),
    attempt_to("files", "be in the caller's tree", TREE, |asked| namespace(asked, "mnt")),
    attempt_to("processes", "see the caller", PROCESSES, see_caller),
    attempt_to("processes", "be among the caller's processes", PROCESSES, |asked| {
        namespace(asked, "pid")
    }),
    attempt_to("processes", "read the first process", PROCESSES_OR_FILES, read_first),
    attempt_to("processes", "signal the first process", SCOPE, |_| signal(Pid::INIT)),
    attempt_to("processes", "signal any other process", SCOPE, signal_others),
    attempt_to("processes", "share memory with the host", TREE, |asked| namespace(asked, "ipc")),
    attempt_to("network", TCP, NETWORK_OR_TCP, connect_to_caller),
    attempt_to("network", UDP, NETWORK, send_to_caller),
    attempt_to("network", ABSTRACT, NETWORK_OR_SCOPE, connect_abstract),
    attempt_to("network", "connect to a socket of the host", TREE, connect_sockets),
    attempt_to("network", "connect to the Internet", NETWORK_OR_TCP, connect_nowhere),
    attempt_to("network", "send to the Internet", NETWORK, send_nowhere),
    attempt_to("network", "have another interface than loopback", NETWORK, interfaces),
    attempt_to("network", "change where addresses lead", NETWORK, change_routes),
    attempt_to("network", "be in the caller's network", NETWORK, |asked| namespace(asked, "net")),
    attempt_to("network", "open sockets that no rule sees", SECCOMP, sockets),
    attempt_to("network", "speak multipath TCP", SECCOMP, |_| {
        socket(AddressFamily::INET, SocketType::STREAM, 262)
    }),
    attempt_to("network", "send raw packets", SECCOMP, |_| {
        // Refused for want of a capability.
        socket(AddressFamily::INET, SocketType::RAW, 1)
    }),
    attempt_to("kernel", "make a user namespace", SECCOMP, |_| calls::user_namespace()),
    attempt_to("kernel", "call the kernel by another entry", SECCOMP, |_| calls::other_entries()),
    attempt_to("kernel", "type into a terminal", SECCOMP, type_into_terminal),
    attempt_to("kernel", "be named like the host", TREE, host_name),
    attempt_to("rights", "have a capability", SECCOMP, |_| {
        let none = "0000000000000000";
        status(&[("CapEff", none), ("CapPrm", none), ("CapInh", none), ("CapAmb", none)])
    }),
    attempt_to("rights", "gain rights by running a program", SECCOMP, |_| {
        status(&[("NoNewPrivs", "1")])
    }),
    attempt_to("rights", "run without the filter", SECCOMP, |_| status(&[("Seccomp", "2")])),
    attempt_to("rights", "be the superuser", TREE, superuser),
    attempt_to("rights", "hold rights over the caller", TREE, |asked| namespace(asked, "user")),
    attempt_to("leaks", "keep a descriptor of the launcher", LAUNCH, descriptors),
    attempt_to("leaks", "read the caller's environment", LAUNCH, environment),
    attempt_to("leaks", "have a terminal of the caller", LAUNCH, terminal),
    attempt_to("leaks", "leave an image of memory behind", LAUNCH, core),
];

/// Tries everything and prints what came of it; returns the exit status.
///
/// Runs in a process that is confined like a command. What to reach is on
/// standard input.
pub(crate) fn attempt() -> i32 {
    let asked = question();
    let mut checks = try_all(&asked);
    let filtered = asked.holding.contains(&Layer::Seccomp);
    for (why, outcome) in if filtered { calls::by_reason(asked.calls) } else { Default::default() }
    {
        checks.push(check(&format!("system calls: {why}"), "kernel", outcome));
    }
    let report = Report { checks };
    let Ok(text) = serde_json::to_vec(&report) else { return 1 };
    match io::stdout().write_all(&text).and_then(|()| io::stdout().flush()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn try_all(asked: &Asked) -> Vec<Check> {
    ATTEMPTS.iter().map(|attempt| attempt.check(asked)).collect()
}

fn question() -> Asked {
    let mut text = Vec::new();
    let read = io::stdin().take(MAX_QUESTION).read_to_end(&mut text);
    read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

impl Attempt {
    fn check(&self, asked: &Asked) -> Check {
        let claimed = self.holds_with.iter().any(|layer| asked.holding.contains(layer));
        let outcome = match claimed {
            true => (self.run)(asked),
            false => Untried("not claimed".to_owned()),
        };
        check(self.name, self.group, outcome)
    }
}

fn check(name: &str, group: &str, outcome: Outcome) -> Check {
    let (held, detail) = match outcome {
        Held(detail) => (Some(true), detail),
        Open(detail) => (Some(false), detail),
        Untried(detail) => (None, detail),
    };
    Check { name: name.to_owned(), group: group.to_owned(), held, detail }
}

/// Holds when all of them fail; says which did not.
fn all_fail<T, E: std::fmt::Display>(
    tried: impl IntoIterator<Item = (String, Result<T, E>)>,
) -> Outcome {
    let (mut open, mut said) = (Vec::new(), None);
    for (what, result) in tried {
        match result {
            Ok(_) => open.push(what),
            Err(error) => said = Some(error.to_string()),
        }
    }
    match said {
        _ if !open.is_empty() => Open(open.join(", ")),
        Some(said) => Held(said),
        None => Untried("there is nothing to try".to_owned()),
    }
}

fn reading(paths: &[&str]) -> Outcome {
    all_fail(paths.iter().map(|path| ((*path).to_owned(), File::open(path))))
}

fn see_outside(asked: &Asked) -> Outcome {
    all_fail(asked.outside.iter().map(|place| {
        let seen = match fs::metadata(&place.path) {
            Ok(stat) if (stat.dev(), stat.ino()) == (place.device, place.inode) => Ok(()),
            Ok(_) => Err("something else is there".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        (place.path.clone(), seen)
    }))
}

fn read_outside(asked: &Asked) -> Outcome {
    all_fail(asked.outside.iter().map(|place| {
        let read = File::open(&place.path).and_then(|file| file.metadata());
        let read = match read {
            Ok(stat) if (stat.dev(), stat.ino()) == (place.device, place.inode) => Ok(()),
            Ok(_) => Err("something else is there".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        (place.path.clone(), read)
    }))
}

fn make_files(asked: &Asked) -> Outcome {
    let name = format!(".zonekeep-probe-{}", random());
    all_fail(asked.read_only.iter().map(|place| {
        let path = Path::new(place).join(&name);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        if made.is_ok() {
            let _ = fs::remove_file(&path);
        }
        (place.clone(), made)
    }))
}

/// Sets the modes of directories to what they are.
fn change_directories(asked: &Asked) -> Outcome {
    let places = asked.read_only.iter().filter(|place| place.as_str() != "/proc");
    all_fail(places.map(|place| {
        let changed = fs::metadata(place).and_then(|stat| {
            let mode = Mode::from_raw_mode(stat.mode() & 0o7777);
            Ok(rustix::fs::chmod(place.as_str(), mode)?)
        });
        (place.clone(), changed)
    }))
}

fn open_devices(_: &Asked) -> Outcome {
    reading(&[
        "/dev/mem",
        "/dev/port",
        "/dev/kmsg",
        "/dev/kvm",
        "/dev/fuse",
        "/dev/loop-control",
        "/dev/net/tun",
        "/dev/sda",
        "/dev/vda",
        "/dev/nvme0n1",
        "/dev/dm-0",
        "/dev/tty1",
        "/dev/input/event0",
        "/dev/dri/card0",
    ])
}

/// Opens them without a word written.
fn write_settings(_: &Asked) -> Outcome {
    let paths = [
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/sys/power/state",
        "/sys/fs/cgroup/cgroup.procs",
    ];
    all_fail(paths.map(|path| (path.to_owned(), OpenOptions::new().write(true).open(path))))
}

/// Reads a byte: what is covered is there and empty.
fn read_kernel(_: &Asked) -> Outcome {
    let paths = ["/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/kmsg", "/proc/config.gz"];
    all_fail(paths.map(|path| {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let read = opened.and_then(|mut file| match file.read(&mut [0])? {
            0 => Err(io::Error::other("it is empty")),
            _ => Ok(()),
        });
        (path.to_owned(), read)
    }))
}

/// Sets the bit on a file that has no name.
fn set_id(_: &Asked) -> Outcome {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let make = |dir: &str| rustix::fs::open(dir, flags, Mode::from_raw_mode(0o600));
    let file = match make(".").or_else(|_| make("/tmp")) {
        Ok(file) => file,
        Err(error) => return Untried(format!("there is no file to try it on: {error}")),
    };
    let bits = [("set-uid", 0o4700), ("set-gid", 0o2700)];
    all_fail(bits.map(|(name, mode)| {
        (name.to_owned(), rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)))
    }))
}

fn namespace(asked: &Asked, name: &str) -> Outcome {
    match (asked.namespaces.get(name), namespaces().get(name)) {
        (Some(theirs), Some(ours)) if theirs == ours => Open(format!("it is the same {ours}")),
        (Some(_), Some(_)) => Held("it is another one".to_owned()),
        _ => Untried("namespaces cannot be compared".to_owned()),
    }
}

fn pids() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// Returns the names of the threads of a process.
fn threads(pid: &str) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned())
}

fn see_caller(asked: &Asked) -> Outcome {
    let Some(caller) = &asked.caller else { return Untried("the caller is not known".to_owned()) };
    let pids = pids();
    match pids.iter().find(|pid| threads(pid).any(|name| name == *caller)) {
        Some(pid) => Open(format!("it is process {pid}")),
        None => Held(format!("not among {} processes", pids.len())),
    }
}

fn read_first(_: &Asked) -> Outcome {
    reading(&["/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/fd/0", "/proc/1/root/."])
}

fn signal(pid: Pid) -> Outcome {
    match rustix::process::test_kill_process(pid) {
        Ok(()) => Open(format!("process {} can be signalled", pid.as_raw_nonzero())),
        Err(error) => Held(error.to_string()),
    }
}

fn signal_others(_: &Asked) -> Outcome {
    let own = rustix::process::getpid();
    let others = pids()
        .into_iter()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .filter(|pid| *pid != own)
        .map(|pid| (pid.as_raw_nonzero().to_string(), rustix::process::test_kill_process(pid)));
    all_fail(others)
}

fn connect_to_caller(asked: &Asked) -> Outcome {
    let Some(port) = asked.tcp else { return Untried("nothing listens".to_owned()) };
    all_fail([("it connected".to_owned(), connect(Ipv4Addr::LOCALHOST, port))])
}

fn connect_nowhere(asked: &Asked) -> Outcome {
    let Some(nowhere) = asked.nowhere else { return Untried("every address is taken".to_owned()) };
    all_fail([("it was tried".to_owned(), connect(nowhere, 80))])
}

/// Starts to connect, without waiting.
fn connect(address: Ipv4Addr, port: u16) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    let address = std::net::SocketAddrV4::new(address, port);
    match rustix::net::connect(&socket, &address) {
        Err(rustix::io::Errno::INPROGRESS) => Ok(()),
        result => result,
    }
}

fn send_to_caller(asked: &Asked) -> Outcome {
    let Some(port) = asked.udp else { return Untried("nothing listens".to_owned()) };
    match send(Ipv4Addr::LOCALHOST, port) {
        // It went somewhere: the caller knows whether to it.
        Ok(()) => Open("it was sent".to_owned()),
        Err(error) => Held(error.to_string()),
    }
}

fn send_nowhere(asked: &Asked) -> Outcome {
    let Some(nowhere) = asked.nowhere else { return Untried("every address is taken".to_owned()) };
    all_fail([("it was sent".to_owned(), send(nowhere, 53))])
}

fn send(address: Ipv4Addr, port: u16) -> io::Result<()> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.send_to(b"zonekeep", (address, port)).map(drop)
}

fn connect_abstract(asked: &Asked) -> Outcome {
    let Some(name) = &asked.abstract_name else { return Untried("nothing listens".to_owned()) };
    let connected =
        SocketAddr::from_abstract_name(name).and_then(|address| UnixStream::connect_addr(&address));
    all_fail([("it connected".to_owned(), connected)])
}

fn connect_sockets(asked: &Asked) -> Outcome {
    all_fail(asked.sockets.iter().map(|path| (path.clone(), UnixStream::connect(path))))
}

fn interfaces(_: &Asked) -> Outcome {
    let Ok(text) = fs::read_to_string("/proc/self/net/dev") else {
        return Untried("interfaces cannot be listed".to_owned());
    };
    let names = text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let others: Vec<_> = names.filter(|name| *name != "lo").collect();
    match others.is_empty() {
        true => Held("there is none".to_owned()),
        false => Open(others.join(", ")),
    }
}

/// Takes a route away that is not there, which tells whether it could.
fn change_routes(_: &Asked) -> Outcome {
    let refused = match Routes::open().and_then(|routes| routes.remove(&RESERVED)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    };
    all_fail([("routes can be changed".to_owned(), refused)])
}

/// Families of sockets that are not for commands: AX.25, packet, Bluetooth,
/// ALG, NFC, VSOCK, SMC, XDP; and route information of other kinds.
fn sockets(_: &Asked) -> Outcome {
    const FAMILIES: [(u16, SocketType, u32); 10] = [
        (3, SocketType::DGRAM, 0),
        (17, SocketType::RAW, 0),
        (31, SocketType::RAW, 1),
        (38, SocketType::SEQPACKET, 0),
        (39, SocketType::RAW, 0),
        (40, SocketType::STREAM, 0),
        (43, SocketType::STREAM, 0),
        (44, SocketType::RAW, 0),
        (16, SocketType::RAW, 9),
        (16, SocketType::RAW, 12),
    ];
    all_fail(FAMILIES.map(|(family, kind, protocol)| {
        let opened = open_socket(AddressFamily::from_raw(family), kind, protocol);
        let refused = match opened {
            // Anything else is said by the kernel, and not by the filter.
            Err(rustix::io::Errno::PERM) => Err(rustix::io::Errno::PERM),
            _ => Ok(()),
        };
        (format!("family {family}, protocol {protocol}"), refused)
    }))
}

fn socket(family: AddressFamily, kind: SocketType, protocol: u32) -> Outcome {
    all_fail([("it was opened".to_owned(), open_socket(family, kind, protocol))])
}

fn open_socket(
    family: AddressFamily,
    kind: SocketType,
    protocol: u32,
) -> rustix::io::Result<std::os::fd::OwnedFd> {
    let protocol = RawProtocol::new(protocol).map(rustix::net::Protocol::from_raw);
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol)
}

fn type_into_terminal(_: &Asked) -> Outcome {
    use std::os::fd::AsFd;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let made = rustix::pty::openpt(flags).and_then(|outer| {
        rustix::pty::unlockpt(&outer)?;
        let inner = rustix::pty::ioctl_tiocgptpeer(&outer, flags)?;
        Ok((outer, inner))
    });
    match made {
        Ok((_outer, inner)) => {
            all_fail([("it was typed".to_owned(), sys::type_into(inner.as_fd()))])
        }
        Err(error) => Untried(format!("there is no terminal to try it on: {error}")),
    }
}

fn host_name(asked: &Asked) -> Outcome {
    let name = name_of_machine();
    match name == asked.host_name && name != "zonekeep" {
        true => Open(name),
        false => Held(name),
    }
}

/// Compares lines of this process's status.
fn status(wanted: &[(&str, &str)]) -> Outcome {
    let Ok(text) = fs::read_to_string("/proc/self/status") else {
        return Open("the status cannot be read".to_owned());
    };
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    };
    let other = wanted.iter().find(|(name, wanted)| value(name) != Some(*wanted));
    match other {
        Some((name, _)) => Open(format!("{name} is {}", value(name).unwrap_or("not there"))),
        None => Held("none".to_owned()),
    }
}

fn superuser(_: &Asked) -> Outcome {
    let ids = [rustix::process::getuid().as_raw(), rustix::process::geteuid().as_raw()];
    match ids.contains(&0) {
        true => Open("the user is 0".to_owned()),
        false => Held(format!("the user is {}", ids[0])),
    }
}

/// What the next program would get; this one still has the launcher's own.
fn descriptors(_: &Asked) -> Outcome {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else {
        return Untried("descriptors cannot be listed".to_owned());
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let left: Vec<_> = numbers
        .filter(|&fd: &i32| fd > 2 && sys::survives_exec(fd) == Some(true))
        .map(|fd| fd.to_string())
        .collect();
    match left.is_empty() {
        true => Held("there is none".to_owned()),
        false => Open(left.join(", ")),
    }
}

/// The launcher's environment is empty before it is started, so that nothing of
/// the caller's can be read from its memory.
fn environment(_: &Asked) -> Outcome {
    // `bwrap` names the directory that it starts a program in.
    let own = |name: &OsString, value: &OsString| name == "PWD" && value == "/";
    let names: Vec<_> = std::env::vars_os()
        .filter(|(name, value)| !own(name, value))
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    match names.is_empty() {
        true => Held("there is none".to_owned()),
        false => Open(names.join(", ")),
    }
}

fn terminal(_: &Asked) -> Outcome {
    all_fail([("/dev/tty".to_owned(), File::open("/dev/tty"))])
}

fn core(_: &Asked) -> Outcome {
    match rustix::process::getrlimit(Resource::Core) {
        limit if limit.maximum == Some(0) => Held("the limit is 0".to_owned()),
        limit => Open(format!("the limit is {:?}", limit.maximum)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::outside::{Marker, Place};
    use super::*;

    /// Everything that is tried works where nothing confines: an attempt that
    /// always fails would prove nothing.
    #[test]
    fn what_is_tried_works_in_a_process_that_is_not_confined() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().metadata().unwrap();
        let path = dir.path().to_str().unwrap().to_owned();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let name = format!("zonekeep-test-{}", random());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _unix = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
        let by_path = dir.path().join("socket");
        let _by_path = std::os::unix::net::UnixListener::bind(&by_path).unwrap();
        let caller = Marker::start().unwrap();
        let asked = Asked {
            calls: Default::default(),
            holding: [LAUNCH, TREE_OR_FILES, PROCESSES, SCOPE, NETWORK_OR_TCP, SECCOMP].concat(),
            read_only: vec![path.clone()],
            outside: vec![Place { path, device: stat.dev(), inode: stat.ino() }],
            sockets: vec![by_path.to_str().unwrap().to_owned()],
            namespaces: namespaces(),
            host_name: name_of_machine(),
            tcp: Some(tcp.local_addr().unwrap().port()),
            udp: Some(udp.local_addr().unwrap().port()),
            abstract_name: Some(name),
            nowhere: Some(Ipv4Addr::new(192, 0, 2, 1)),
            caller: Some(caller.name.clone()),
        };
        // Somebody of the same user has to be there to be signalled.
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let checks = try_all(&asked);
        other.kill().unwrap();
        other.wait().unwrap();
        // Some need the superuser, a network, an old kernel, or a terminal.
        let mut never = vec![
            "read /etc/shadow",
            "open devices of the machine",
            "write to the machine's settings",
            "read the kernel's memory and keys",
            "read the first process",
            "signal the first process",
            "connect to the Internet",
            "send to the Internet",
            "have another interface than loopback",
            "change where addresses lead",
            "speak multipath TCP",
            "send raw packets",
            "make a user namespace",
            "call the kernel by another entry",
            "type into a terminal",
            "be named like the host",
            "have a capability",
            "gain rights by running a program",
            "run without the filter",
            "be the superuser",
            "keep a descriptor of the launcher",
            "have a terminal of the caller",
            "leave an image of memory behind",
        ];
        if rustix::process::geteuid().is_root() {
            let with_rights = ["read /etc/shadow", "be the superuser"];
            never.retain(|name| !with_rights.contains(name));
        }
        let held = checks.iter().filter(|check| check.held != Some(false));
        let held: Vec<_> = held.filter(|check| !never.contains(&check.name.as_str())).collect();
        assert!(held.is_empty(), "{held:#?}");
    }
}
