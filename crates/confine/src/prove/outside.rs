//! What the self-probe is asked to reach, set out by the caller.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use serde::{Deserialize, Serialize};

use super::{Layer, Report, holding};
use crate::plan::{Access, Calls, Plan};
use crate::tree::{Failed, Tree};

/// Names of the checks that the caller decides, because it sees who arrives.
pub(super) const TCP: &str = "connect to a service of the host";
pub(super) const UDP: &str = "send to a service of the host";
pub(super) const ABSTRACT: &str = "connect to an abstract socket of the host";

/// The longest name of a thread that Linux keeps.
const MAX_THREAD_NAME: usize = 15;

/// What the probe is asked.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// What holds here.
    pub(super) holding: Vec<Layer>,
    /// Which system calls are open.
    pub(super) calls: Calls,
    /// Places that cannot be written.
    pub(super) read_only: Vec<String>,
    /// Files and directories that are not for commands.
    pub(super) outside: Vec<Place>,
    /// Sockets that are not for commands.
    pub(super) sockets: Vec<String>,
    /// The caller's namespaces, as `/proc/self/ns` names them.
    pub(super) namespaces: BTreeMap<String, String>,
    /// The machine's name.
    pub(super) host_name: String,
    pub(super) tcp: Option<u16>,
    pub(super) udp: Option<u16>,
    pub(super) abstract_name: Option<String>,
    /// An address that leads nowhere in every network.
    pub(super) nowhere: Option<Ipv4Addr>,
    /// The name of a thread of the calling process.
    pub(super) caller: Option<String>,
}

/// A file of the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// What is set out while the probe runs.
pub(super) struct Outside {
    asked: Asked,
    tcp: Option<TcpListener>,
    udp: Option<UdpSocket>,
    unix: Option<UnixListener>,
    _caller: Option<Marker>,
}

/// A thread of the caller by whose name the caller is known; it ends with this value.
///
/// The name and start time of a process are not enough: the caller and the launcher
/// have one name, and start within one tick of the clock.
pub(super) struct Marker {
    pub(super) name: String,
    _end: Sender<()>,
}

impl Marker {
    pub(super) fn start() -> Option<Self> {
        let name = random()[..MAX_THREAD_NAME].to_owned();
        let (end, ended) = channel();
        let (begin, begun) = channel();
        let wait = move || {
            // The thread has its name by now.
            let _ = begin.send(());
            let _ = ended.recv();
        };
        std::thread::Builder::new().name(name.clone()).spawn(wait).ok()?;
        begun.recv().ok()?;
        Some(Marker { name, _end: end })
    }
}

impl Outside {
    pub(super) fn set_out(tree: &Tree) -> Result<Self, Failed> {
        let plan = tree.plan();
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        let name = format!("zonekeep-probe-{}-{}", std::process::id(), random());
        let unix = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixListener::bind_addr(&address))
            .ok();
        let caller = Marker::start();
        let asked = Asked {
            holding: holding(tree)?,
            calls: plan.calls,
            read_only: read_only(plan),
            outside: candidates().into_iter().filter_map(|path| place(plan, &path)).collect(),
            sockets: sockets(plan),
            namespaces: namespaces(),
            host_name: name_of_machine(),
            tcp: tcp.as_ref().and_then(|socket| Some(socket.local_addr().ok()?.port())),
            udp: udp.as_ref().and_then(|socket| Some(socket.local_addr().ok()?.port())),
            abstract_name: unix.as_ref().map(|_| name),
            nowhere: nowhere(plan),
            caller: caller.as_ref().map(|marker| marker.name.clone()),
        };
        Ok(Outside { asked, tcp, udp, unix, _caller: caller })
    }

    pub(super) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Decides what only this side can: who has arrived.
    pub(super) fn judge(&self, mut report: Report) -> Report {
        let tcp = self.tcp.as_ref().map(|socket| {
            socket.set_nonblocking(true)?;
            socket.accept().map(drop)
        });
        let udp = self.udp.as_ref().map(|socket| {
            socket.set_nonblocking(true)?;
            socket.recv(&mut [0; 16]).map(drop)
        });
        let unix = self.unix.as_ref().map(|socket| {
            socket.set_nonblocking(true)?;
            socket.accept().map(drop)
        });
        for (name, arrived) in [(TCP, tcp), (UDP, udp), (ABSTRACT, unix)] {
            let arrived = arrived.map(|result: io::Result<()>| result.is_ok());
            let check = report.checks.iter_mut().find(|check| check.name == name);
            let (Some(check), Some(arrived)) = (check, arrived) else { continue };
            if check.held == Some(false) && !arrived {
                // Something else inside has the same number.
                check.held = Some(true);
                check.detail = "did not arrive".to_owned();
            } else if arrived && check.held.is_some() {
                check.held = Some(false);
                check.detail = "it arrived".to_owned();
            }
        }
        report
    }
}

/// Returns a number that nobody guesses, to name things by.
pub(super) fn random() -> String {
    let mut bytes = [0u8; 8];
    // Only names depend on it: in the worst case one is taken.
    let _ = std::fs::File::open("/dev/urandom")
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes));
    format!("{:016x}", u64::from_le_bytes(bytes))
}

/// Returns an address that is nobody's, for examples (RFC 5737), and that does
/// not lead to the gateway either.
pub(super) fn nowhere(plan: &Plan) -> Option<Ipv4Addr> {
    let routes = plan.network.gateway().map_or(&[][..], |gateway| &gateway.routes);
    let all = [[192, 0, 2, 1], [198, 51, 100, 1], [203, 0, 113, 1]].map(Ipv4Addr::from);
    all.into_iter().find(|address| !routes.iter().any(|route| route.has((*address).into())))
}

/// Returns the directories that cannot be written, as commands name them.
fn read_only(plan: &Plan) -> Vec<String> {
    let own = plan.backend.has_own_tree();
    let mut places: Vec<PathBuf> = ["/", "/usr", "/etc", "/dev"].map(PathBuf::from).into();
    let binds = plan.binds().filter(|bind| bind.access == Access::Ro && bind.host.is_dir());
    places.extend(binds.map(|bind| if own { bind.at.clone() } else { bind.host.clone() }));
    // A read-only place below a writable one is only held where mounts hold it.
    let writable = |path: &Path| {
        plan.binds().any(|bind| {
            let at = if own { &bind.at } else { &bind.host };
            bind.access == Access::Rw && if own { path == at } else { path.starts_with(at) }
        })
    };
    places.retain(|path| !writable(path));
    places.sort();
    places.dedup();
    places.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Returns paths of the caller and the machine that are worth having.
fn candidates() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        ["/root", "/etc/shadow", "/boot", "/var/log", "/var/lib", "/sys/kernel", "/lost+found"]
            .map(PathBuf::from)
            .into();
    paths.extend(std::env::current_exe());
    paths.extend(std::env::home_dir());
    paths.extend(std::env::current_dir());
    paths.push(std::env::temp_dir());
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the identity of a path that the plan does not grant.
fn place(plan: &Plan, path: &Path) -> Option<Place> {
    let path = path.canonicalize().ok()?;
    let own = plan.backend.has_own_tree();
    let hosts = plan.binds().filter_map(|bind| bind.host.canonicalize().ok());
    // In a tree of its own a home at the host's path is another directory, and so is one
    // on the way to what is granted.
    let mut hosts = hosts.chain((!own).then(|| plan.home.clone()));
    if hosts.any(|host| path.starts_with(&host) || !own && host.starts_with(&path)) {
        return None;
    }
    let stat = path.metadata().ok()?;
    Some(Place { path: path.to_str()?.to_owned(), device: stat.dev(), inode: stat.ino() })
}

fn sockets(plan: &Plan) -> Vec<String> {
    let known = [
        "/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/podman/podman.sock",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/systemd/journal/socket",
    ];
    let mut paths: Vec<PathBuf> = known.map(PathBuf::from).into();
    paths.extend(std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from));
    if let Some(dir) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        paths.extend(["bus", "podman/podman.sock", "wayland-0"].map(|name| dir.join(name)));
    }
    paths
        .iter()
        .filter(|path| path.metadata().is_ok_and(|stat| stat.file_type().is_socket()))
        .filter_map(|path| place(plan, path))
        .map(|place| place.path)
        .collect()
}

/// Returns the namespaces of this process.
pub(super) fn namespaces() -> BTreeMap<String, String> {
    let names = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
    let link = |name: &str| {
        let link = std::fs::read_link(format!("/proc/self/ns/{name}")).ok()?;
        Some((name.to_owned(), link.to_str()?.to_owned()))
    };
    names.into_iter().filter_map(link).collect()
}

pub(super) fn name_of_machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
