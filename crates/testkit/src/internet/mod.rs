//! An Internet of our own, for tests of what a sandbox lets out.
//!
//! Zonekeep asks the system for the addresses of names, and refuses private
//! ones, so a test of it needs names and public addresses that no machine has
//! to have. Here they are made: [`Internet::shared`] puts up network namespaces
//! in which every address there is belongs to servers of ours, and names lead
//! where [`NAMES`] says. Nothing leaves these namespaces, and an ordinary user
//! can make them.
//!
//! - *the host*: where Zonekeep runs, and what it confines.
//! - *the control*: a second host just like it, where commands run unconfined.
//!   What fails on the host has to work there, or the test shows nothing.
//! - *beyond*: the servers (`world/`). Whatever arrives is written down, down to
//!   single packets, with the side it came from.
//!
//! All of it ends with the test program, however that ends: the namespaces are
//! held by processes that read from a pipe nobody writes to.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use serde_json::json;

use crate::{Project, eventually, is_root, program, skip};

mod authority;
mod names;
mod seen;
mod services;
#[cfg(test)]
mod tests;

pub use names::{CONTROL, DENIED, HOST, IN_FILE, NAMES, RESOLVER};
pub use seen::{Mark, Seen};
pub use services::Service;

/// The longest that one command may take.
const LONGEST: &str = "60";

/// The user that commands and services are in namespaces that an ordinary user
/// made: root there, they would be root to themselves.
const ORDINARY: u32 = 1000;

/// The servers, as they are put into the temporary directory.
const WORLD: &[(&str, &str)] = &[
    ("world.py", include_str!("world/world.py")),
    ("datagrams.py", include_str!("world/datagrams.py")),
    ("files.py", include_str!("world/files.py")),
    ("goods.py", include_str!("world/goods.py")),
    ("log.py", include_str!("world/log.py")),
    ("packets.py", include_str!("world/packets.py")),
    ("raw.py", include_str!("world/raw.py")),
    ("sockets.py", include_str!("world/sockets.py")),
    ("web.py", include_str!("world/web.py")),
];

/// Which machine of the made-up Internet a command runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The host of Zonekeep.
    Host,
    /// The second host.
    Control,
    /// Where the servers are.
    Beyond,
}

/// The namespaces and the servers in them.
#[derive(Debug)]
pub struct Internet {
    dir: tempfile::TempDir,
    host: u32,
    control: u32,
    beyond: u32,
    marks: Mutex<u64>,
    services: Mutex<Vec<(Service, Child)>>,
    /// Its standard input holds everything; nothing is written to it.
    _holder: Child,
}

impl Internet {
    /// Returns the Internet of this test program, made when it is first asked
    /// for, or `None`, after saying why, where it cannot be.
    pub fn shared() -> Option<&'static Internet> {
        static SHARED: OnceLock<Result<Internet, String>> = OnceLock::new();
        match SHARED.get_or_init(Internet::make) {
            Ok(internet) => Some(internet),
            Err(why) => {
                skip(why);
                None
            }
        }
    }

    fn make() -> Result<Internet, String> {
        for needed in ["unshare", "nsenter", "setpriv", "timeout", "git"] {
            program(needed).ok_or_else(|| format!("there is no {needed}"))?;
        }
        if !["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].iter().any(|ip| Path::new(ip).exists()) {
            return Err("there is no ip (iproute2)".into());
        }
        let python = python().ok_or("there is no python3")?;
        let dir = tempfile::Builder::new().prefix("zk-internet-").tempdir().unwrap();
        prepare(dir.path());
        let mut holder = Command::new("unshare");
        if !is_root() {
            holder.args(["--user", "--map-root-user"]);
        }
        holder.args(["--net", "--mount", "sh"]).arg(dir.path().join("setup.sh"));
        holder.arg(dir.path()).arg(python).stdin(Stdio::piped()).stdout(Stdio::piped());
        holder.stderr(fs::File::create(dir.path().join("setup.err")).unwrap());
        let mut holder = holder.spawn().map_err(|error| format!("unshare: {error}"))?;
        let (control, beyond) = announced(&mut holder).ok_or_else(|| {
            let said = fs::read_to_string(dir.path().join("setup.err")).unwrap_or_default();
            format!("networks of its own cannot be made here: {}", said.trim())
        })?;
        let (marks, services) = (Mutex::new(0), Mutex::new(Vec::new()));
        Ok(Internet { host: holder.id(), control, beyond, dir, marks, services, _holder: holder })
    }

    /// Returns a command of the project on one of the machines, in the
    /// project's directory and environment, that ends at last whatever happens.
    pub fn command(&self, side: Side, project: &Project, program: &str) -> Command {
        let mut command = self.enter(side);
        command.args(["env", "-C"]).arg(project.path(""));
        // Whoever runs the tests may sit at a terminal that must not be asked.
        command.args(["setsid", "timeout", "--kill-after=2", LONGEST]).arg(program);
        project.prepare(&mut command);
        command.current_dir("/").env("SSL_CERT_FILE", self.certificates());
        command
    }

    /// Returns Zonekeep on the host, in the project.
    pub fn zonekeep(&self, project: &Project) -> Command {
        self.command(Side::Host, project, &project.program().display().to_string())
    }

    /// Returns a command line that runs what follows on one of the machines.
    fn enter(&self, side: Side) -> Command {
        let mut command = Command::new("nsenter");
        if !is_root() {
            command.arg(format!("--user=/proc/{}/ns/user", self.host));
            command.arg("--preserve-credentials");
        }
        let net = match side {
            Side::Host => self.host,
            Side::Control => self.control,
            Side::Beyond => self.beyond,
        };
        command.arg(format!("--net=/proc/{net}/ns/net"));
        if side == Side::Beyond {
            command.arg(format!("--mount=/proc/{net}/ns/mnt"));
            command.arg(format!("--pid=/proc/{net}/ns/pid_for_children"));
        } else {
            command.arg(format!("--mount=/proc/{}/ns/mnt", self.host));
        }
        if !is_root() {
            command.args(["unshare", "--user"]);
            command.arg(format!("--map-user={ORDINARY}"));
            command.arg(format!("--map-group={ORDINARY}"));
        } else if side == Side::Beyond {
            command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command
    }

    /// Returns the file with the one authority that signs for every server.
    pub fn certificates(&self) -> PathBuf {
        self.dir.path().join("authority.pem")
    }

    /// Returns where the repositories are that git serves.
    pub fn repositories(&self) -> PathBuf {
        self.dir.path().join("repositories")
    }

    /// Returns what the servers and the host's Python said when they failed.
    pub fn complaints(&self) -> String {
        fs::read_to_string(self.dir.path().join("setup.err")).unwrap_or_default()
    }
}

/// Returns the interpreter that every user can use.
pub fn python() -> Option<PathBuf> {
    let usual = Some(PathBuf::from("/usr/bin/python3")).filter(|python| python.exists());
    usual.or_else(|| program("python3"))
}

/// Waits until both sets of servers serve, and returns the processes that hold
/// the namespaces of the control and beyond.
fn announced(holder: &mut Child) -> Option<(u32, u32)> {
    let (mut control, mut beyond, mut serving) = (None, None, 0);
    for line in BufReader::new(holder.stdout.take()?).lines() {
        match line.ok()?.split_once(' ')? {
            ("control", pid) => control = pid.parse().ok(),
            ("beyond" | "host", "serves") => serving += 1,
            ("beyond", pid) => beyond = pid.parse().ok(),
            _ => {}
        }
        if let (Some(control), Some(beyond), 2) = (control, beyond, serving) {
            return Some((control, beyond));
        }
    }
    None
}

/// Writes all that the servers need.
fn prepare(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // Services are another user where root makes this.
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    for sub in ["etc", "empty", "world", "files", "repositories", "services"] {
        fs::create_dir(dir.join(sub)).unwrap();
    }
    fs::set_permissions(dir.join("services"), fs::Permissions::from_mode(0o777)).unwrap();
    for (name, text) in WORLD {
        fs::write(dir.join("world").join(name), text).unwrap();
    }
    fs::write(dir.join("setup.sh"), include_str!("setup.sh")).unwrap();
    let service = if is_root() { 65534 } else { ORDINARY };
    let home = dir.join("services");
    let home = home.display();
    let etc = [
        ("hosts", format!("127.0.0.1 localhost\n::1 localhost\n{IN_FILE} hosts.test\n")),
        (
            "resolv.conf",
            format!("nameserver {RESOLVER}\nsearch search.test\noptions timeout:2 attempts:2\n"),
        ),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
        (
            "passwd",
            format!(
                "root:x:0:0::/root:/bin/sh\ngit:x:{service}:{service}::{home}:/bin/sh\n\
                 sshd:x:101:65534::/:/usr/sbin/nologin\n"
            ),
        ),
    ];
    for (name, text) in etc {
        fs::write(dir.join("etc").join(name), text).unwrap();
    }
    authority::write(dir);
    let names: serde_json::Map<_, _> =
        NAMES.iter().map(|(name, sets)| ((*name).to_owned(), json!(sets))).collect();
    let config = json!({
        "dir": dir,
        "log": dir.join("log.jsonl"),
        "files": dir.join("files"),
        "repositories": dir.join("repositories"),
        "certificate": dir.join("server.pem"),
        "key": dir.join("server.key"),
        "names": names,
        "host": HOST[0],
        "sides": {
            HOST[0]: "host", HOST[1]: "host", "127.0.0.1": "host", "::1": "host",
            CONTROL[0]: "control", CONTROL[1]: "control",
        },
    });
    fs::write(dir.join("world.json"), config.to_string()).unwrap();
    fs::write(dir.join("log.jsonl"), "").unwrap();
    fs::set_permissions(dir.join("log.jsonl"), fs::Permissions::from_mode(0o666)).unwrap();
}
