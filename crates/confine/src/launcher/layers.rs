//! What every command carries whatever tree it is in: Landlock and the filter
//! for system calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::{Trouble, Try};
use crate::plan::{Access, Backend, Identity, Plan, Role};
use crate::report::Layers;
use crate::seccomp::{self, Arch, Instruction};
use crate::sys;

/// The rules of a sandbox, made once.
#[derive(Debug)]
pub(crate) struct Rules {
    files: Option<OwnedFd>,
    scope: Option<Scoped>,
    filter: Option<Vec<Instruction>>,
    /// Which of them there are.
    pub(crate) layers: Layers,
}

/// Two rules about signals, one inside the other.
#[derive(Debug)]
struct Scoped {
    supervisor: OwnedFd,
    command: OwnedFd,
}

/// Proof that this process can signal nothing but what it started.
#[derive(Debug)]
pub(crate) struct Alone(());

impl Rules {
    /// Makes the rules for a plan whose tree is in place.
    pub(crate) fn new(plan: &Plan) -> Result<Self, Trouble> {
        let version = sys::landlock_version();
        let mut layers = Layers::default();
        let scope = scoped(version, plan)?;
        if plan.backend == Backend::None {
            return Ok(Rules { files: None, scope, filter: None, layers });
        }
        let files = match version {
            // Without it this backend would be a filter for system calls and no more.
            0 if plan.backend == Backend::Landlock => {
                let why = io::Error::other("the kernel has no Landlock, or it is switched off");
                return Err(Trouble::new("restrict files", why));
            }
            0 => None,
            _ => Some(files(plan, version)?),
        };
        layers.landlock = version;
        let filter = Arch::native().map(|arch| seccomp::compile(plan.calls, arch));
        layers.seccomp = filter.is_some();
        if filter.is_none() {
            let why = io::Error::other("there is no filter for this processor");
            return Err(Trouble::new("filter system calls", why));
        }
        Ok(Rules { files, scope, filter, layers })
    }

    /// Puts this process, and all that comes of it, under the rules about files
    /// and system calls, without any right to get out.
    pub(crate) fn restrict_all(&self) -> Result<(), Trouble> {
        if self.filter.is_none() {
            return Ok(());
        }
        sys::drop_capabilities().during(|| "give up capabilities".to_owned())?;
        sys::forbid_new_rights().during(|| "forbid new rights".to_owned())?;
        if let Some(files) = &self.files {
            sys::restrict(files.as_fd()).during(|| "restrict files".to_owned())?;
        }
        if let Some(filter) = &self.filter {
            sys::load_filter(filter).during(|| "filter system calls".to_owned())?;
        }
        Ok(())
    }

    /// Puts this process, which is about to start a command, out of reach of
    /// everything but its own children.
    pub(crate) fn restrict_supervisor(&self) -> Result<Option<Alone>, Trouble> {
        let Some(scope) = &self.scope else { return Ok(None) };
        if self.filter.is_none() {
            sys::forbid_new_rights().during(|| "forbid new rights".to_owned())?;
        }
        sys::restrict(scope.supervisor.as_fd()).during(|| "restrict signals".to_owned())?;
        // The parent is outside: being able to signal it would mean that the
        // restriction is not there.
        let parent = rustix::process::getppid();
        let refused = parent.map(rustix::process::test_kill_process);
        Ok(matches!(refused, Some(Err(rustix::io::Errno::PERM))).then_some(Alone(())))
    }

    /// Returns what a command is put under and its supervisor is not: it cannot
    /// signal that one.
    pub(crate) fn for_command(&self) -> Option<BorrowedFd<'_>> {
        self.scope.as_ref().map(|scope| scope.command.as_fd())
    }
}

fn descriptor(rules: RulesetCreated) -> io::Result<OwnedFd> {
    Option::<OwnedFd>::from(rules)
        .ok_or_else(|| io::Error::other("the kernel did not take the rules"))
}

fn abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    }
}

/// Returns rules about signals and abstract sockets, where the kernel has them.
fn scoped(version: u32, plan: &Plan) -> Result<Option<Scoped>, Trouble> {
    // KERNEL(6.12): Landlock 6.
    if version < 6 {
        return Ok(None);
    }
    let make = || {
        let scopes = match plan.backend {
            Backend::None => BitFlags::from(Scope::Signal),
            _ => Scope::Signal | Scope::AbstractUnixSocket,
        };
        // Every ruleset forbids to move files between directories, unless it
        // says otherwise.
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .scope(scopes)
            .and_then(|rules| rules.handle_access(AccessFs::Refer))
            .and_then(Ruleset::create)
            .and_then(|rules| rules.add_rule(PathBeneath::new(root, AccessFs::Refer)))
            .map_err(io::Error::other)
            .and_then(descriptor)
    };
    let what = || "make rules about signals".to_owned();
    Ok(Some(Scoped { supervisor: make().during(what)?, command: make().during(what)? }))
}

/// Returns the rules about files, and about connections where nothing else
/// stops them.
fn files(plan: &Plan, version: u32) -> Result<OwnedFd, Trouble> {
    let what = || "make rules about files".to_owned();
    let abi = abi(version);
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let file = AccessFs::from_file(abi);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .map_err(io::Error::other)
        .during(what)?;
    // KERNEL(6.7): Landlock 4. In a network of its own there is nothing to stop.
    let stops_connections = version >= 4 && plan.network.is_apart() && !plan.backend.has_own_tree();
    let ruleset = match stops_connections {
        true => ruleset.handle_access(AccessNet::from_all(abi)).map_err(io::Error::other),
        false => Ok(ruleset),
    };
    let mut rules =
        ruleset.and_then(|rules| rules.create().map_err(io::Error::other)).during(what)?;
    if !plan.backend.has_own_tree() {
        same_zones(plan)?;
    }
    let proxy = plan.network.gateway().and_then(|gateway| gateway.proxy);
    if let (true, Some(port)) = (stops_connections, proxy) {
        rules = rules
            .add_rule(NetPort::new(port, AccessNet::ConnectTcp))
            .map_err(io::Error::other)
            .during(|| format!("make a rule about port {port}"))?;
    }
    for (path, access) in places(plan) {
        let Some((fd, is_dir)) =
            open(&path).during(|| format!("make a rule about {}", path.display()))?
        else {
            continue;
        };
        let rights = match access {
            Right::Read => read,
            Right::ReadWrite => all,
            // To rename a file takes the right to remove it from where it is, and what
            // it replaces.
            Right::KeepNames => all & !(AccessFs::RemoveFile | AccessFs::RemoveDir),
            Right::Device => {
                (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | device(abi)) & all
            }
        };
        let rights = if is_dir { rights } else { rights & file };
        rules = rules
            .add_rule(PathBeneath::new(fd, rights))
            .map_err(io::Error::other)
            .during(|| format!("make a rule about {}", path.display()))?;
    }
    descriptor(rules).during(what)
}

/// Fails where a zone's path leads to another directory than the one that was
/// opened.
fn same_zones(plan: &Plan) -> Result<(), Trouble> {
    for zone in plan.zones() {
        let what = || format!("take {}", zone.host.display());
        let stat = rustix::fs::stat(&zone.host).during(what)?;
        let found = Identity { device: stat.st_dev, inode: stat.st_ino };
        if zone.identity.is_some_and(|wanted| wanted != found) {
            let why = "another directory is there than the one that was opened";
            return Err(Trouble::new(what(), io::Error::other(why)));
        }
    }
    Ok(())
}

fn device(abi: ABI) -> BitFlags<AccessFs> {
    (AccessFs::IoctlDev | AccessFs::Truncate) & AccessFs::from_all(abi)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Read,
    ReadWrite,
    /// Making and changing files, and removing none.
    KeepNames,
    Device,
}

/// Returns which paths may be used how.
fn places(plan: &Plan) -> Vec<(PathBuf, Right)> {
    let mut places = Vec::new();
    if plan.backend.has_own_tree() {
        // The tree holds nothing else than what may be read.
        places.push((PathBuf::from("/"), Right::Read));
        for path in ["/tmp", "/run", "/dev/shm"] {
            places.push((path.into(), Right::ReadWrite));
        }
        places.extend(plan.entries.iter().filter_map(|entry| match entry {
            crate::plan::Entry::Private { at } => Some((at.clone(), Right::ReadWrite)),
            _ => None,
        }));
        for path in ["/dev", "/proc"] {
            places.push((path.into(), Right::Device));
        }
    } else {
        // Not the directory of terminals: the caller's own are there.
        for name in ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "fd"] {
            places.push((Path::new("/dev").join(name), Right::Device));
        }
        // What a process finds out about itself; others are not its own.
        places.push(("/proc".into(), Right::Read));
    }
    // In a zone the zone's own right holds for it: the rights of all directories above
    // a file add up.
    if !plan.zones().any(|zone| plan.home.starts_with(&zone.at)) {
        places.push((plan.home.clone(), Right::ReadWrite));
    }
    for bind in plan.binds() {
        let path = if plan.backend.has_own_tree() { &bind.at } else { &bind.host };
        let right = match bind.access {
            Access::Ro => Right::Read,
            Access::Rw if plan.rules.keep_names.contains(&bind.at) => Right::KeepNames,
            Access::Rw => Right::ReadWrite,
        };
        if bind.access == Access::Rw || bind.role != Role::System || !plan.backend.has_own_tree() {
            places.push((path.clone(), right));
        }
    }
    places
}

fn open(path: &Path) -> io::Result<Option<(OwnedFd, bool)>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let fd = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        result => result?,
    };
    let stat = rustix::fs::fstat(&fd)?;
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    Ok(Some((fd, kind == rustix::fs::FileType::Directory)))
}
