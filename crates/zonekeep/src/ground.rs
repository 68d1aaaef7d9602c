//! The host directories behind the zones: opened once, and checked on the
//! handles that will be used.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use zonekeep_confine::plan::Access;
use zonekeep_confine::runtime::secrets_below;
use zonekeep_files::{Fault, HostStore, Store};
use zonekeep_policy::guard::Guard;
use zonekeep_policy::limit::Limits;
use zonekeep_policy::organisation::Beyond;
use zonekeep_policy::planted::hooks_dirs;
use zonekeep_policy::policy::{
    BackendChoice, Consent, Layout, Network, OsSandbox, is_never_passed,
};
use zonekeep_policy::sensitive::Sensitive;
use zonekeep_policy::{Approval, At, Mode, Placement, Policy, RelPath, Zone};

use crate::command::{Placed, most_memory};
use crate::exposure;
use crate::mounts::Mounts;
use crate::organisation;
use crate::state::StateDir;
use crate::trust::{self, Reach, ZoneDir};

/// Why a zone cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroundError {
    /// The directory is not there.
    #[error("zone '{zone}': the directory {} does not exist", path.display())]
    Missing {
        /// The zone.
        zone: String,
        /// The directory.
        path: PathBuf,
        /// Where the zone is declared.
        at: At,
    },
    /// There is something else than a directory.
    #[error("zone '{zone}': {} cannot be opened as a directory: {source}", path.display())]
    Open {
        /// The zone.
        zone: String,
        /// The directory.
        path: PathBuf,
        /// Where the zone is declared.
        at: At,
        /// What the system said.
        source: io::Error,
    },
    /// The user cannot read the directory.
    #[error("{}{} cannot be read: permission denied", zone_of(zone, at), path.display())]
    Unreadable {
        /// The zone.
        zone: String,
        /// The directory.
        path: PathBuf,
        /// Where the zone is declared.
        at: At,
    },
    /// The directory is one that nobody should hand to an agent whole.
    #[error("zone '{zone}': {} is {what}", path.display())]
    Forbidden {
        /// The zone.
        zone: String,
        /// The directory.
        path: PathBuf,
        /// What it is, such as "a home directory".
        what: &'static str,
        /// Where the zone is declared.
        at: At,
    },
    /// The directory is one whose files are guarded, and it can be written.
    #[error("zone '{zone}': {} is writable, and its files are guarded ({pattern})", path.display())]
    Guarded {
        /// The zone.
        zone: String,
        /// The directory.
        path: PathBuf,
        /// The pattern that guards it.
        pattern: String,
        /// Where the zone is declared.
        at: At,
    },
    /// The project file leads into the directory, and it can be written.
    #[error("zone '{zone}': the project file leads to {}, which is writable there", path.display())]
    Rules {
        /// The zone.
        zone: String,
        /// What the project file leads to.
        path: PathBuf,
        /// Where the zone is declared.
        at: At,
    },
    /// The path of a zone at its host path has symbolic links in it.
    #[error("zone '{zone}': {} cannot be its path for agents, because it leads to {}", path.display(), real.display())]
    Linked {
        /// The zone.
        zone: String,
        /// The path as written.
        path: PathBuf,
        /// The directory that it leads to.
        real: PathBuf,
        /// Where the zone is declared.
        at: At,
    },
    /// The organisation's file does not allow the directory.
    #[error("'{zone}': {source}")]
    Organisation {
        /// The zone, or the directory of a flag.
        zone: String,
        /// Why not.
        source: Beyond,
        /// Where the zone is declared.
        at: At,
    },
    /// Two zones are one in another.
    #[error("zones '{first}' and '{second}' overlap: {} and {}", first_path.display(), second_path.display())]
    Overlap {
        /// One zone.
        first: String,
        /// Its directory.
        first_path: PathBuf,
        /// The other zone.
        second: String,
        /// Its directory.
        second_path: PathBuf,
        /// Where the second is declared.
        at: At,
    },
}

impl GroundError {
    /// Returns where the zone is declared.
    pub fn at(&self) -> At {
        match self {
            GroundError::Missing { at, .. }
            | GroundError::Open { at, .. }
            | GroundError::Unreadable { at, .. }
            | GroundError::Forbidden { at, .. }
            | GroundError::Guarded { at, .. }
            | GroundError::Rules { at, .. }
            | GroundError::Linked { at, .. }
            | GroundError::Organisation { at, .. }
            | GroundError::Overlap { at, .. } => at.clone(),
        }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> String {
        match self {
            GroundError::Missing { path, .. } => {
                let path = path.display().to_string().replace('\'', "'\\''");
                format!("make it with `mkdir -p '{path}'`, or correct the path")
            }
            GroundError::Open { .. } | GroundError::Unreadable { .. } => {
                "name a directory that you can read".to_owned()
            }
            GroundError::Forbidden { what: RECORDS, .. } => "name a directory elsewhere".to_owned(),
            GroundError::Forbidden { .. } => {
                "name a directory below it that holds only what the agent needs".to_owned()
            }
            GroundError::Guarded { pattern, at, .. } => {
                let instead = match at {
                    At::Flag(flag) if &**flag == "--rw" => "give --ro",
                    _ => "write mode: ro",
                };
                format!(
                    "{instead}; or, to let agents change such files, set sandbox.guard.\"{pattern}\": allow"
                )
            }
            GroundError::Rules { .. } => {
                "keep the rules where no agent can write: put the file itself in the link's place"
                    .to_owned()
            }
            GroundError::Linked { real, .. } => {
                format!("write path: {}, or remove 'at: same'", real.display())
            }
            GroundError::Organisation { .. } => {
                "your organisation decides this, and a project file or a flag cannot change it: \
                 name a directory that its file allows"
                    .to_owned()
            }
            GroundError::Overlap { .. } => {
                "give each zone a directory of its own, or drop one of the two".to_owned()
            }
        }
    }
}

/// Returns the words that name a zone, before its directory; none for a directory that a
/// flag names.
fn zone_of(zone: &str, at: &At) -> String {
    match at {
        At::Flag(flag) if ["--ro", "--rw"].contains(&&**flag) => String::new(),
        _ => format!("zone '{zone}': "),
    }
}

/// The ground of one zone: an open directory, or the place where it will be.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The directory's real path.
    pub(crate) real: PathBuf,
    /// The deepest directory that exists.
    base: HostStore,
    /// What is missing below it; nothing for a zone that exists.
    missing: RelPath,
    /// How much of `missing` is the sandbox root, which gets a `.gitignore`.
    root_depth: usize,
    made: OnceLock<Arc<dyn Store>>,
    /// Credentials that are not handed out with it.
    pub(crate) hidden: Sensitive,
}

/// Returns what is hidden in a granted directory.
pub(crate) fn hidden(policy: &Policy, real: &Path) -> Sensitive {
    policy.sensitive(secrets_below(real))
}

impl Ground {
    /// Returns the device and number of the directory; `None` while it is not
    /// there yet.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        let stat = match self.missing.is_root() {
            true => rustix::fs::fstat(&self.base).ok()?,
            false => rustix::fs::fstat(&self.base.subtree(&self.missing).ok()?).ok()?,
        };
        // Devices are numbers of another width on other systems.
        #[allow(clippy::unnecessary_cast)]
        Some((stat.st_dev as u64, stat.st_ino))
    }

    /// Returns the store, or `None` while the directory is not there yet.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        if let Some(store) = self.made.get() {
            return Some(Arc::clone(store));
        }
        // Somebody else may have made it meanwhile.
        let store = self.base.subtree(&self.missing).ok()?.hiding(self.hidden.clone());
        Some(Arc::clone(self.made.get_or_init(|| Arc::new(store))))
    }

    /// Returns the path of a directory below without links in it, hidden or not; `None`
    /// where it cannot be looked up.
    pub(crate) fn real_dir(&self, path: &RelPath) -> Option<RelPath> {
        let nothing = Sensitive::new(Vec::new(), vec!["**".to_owned()]);
        let store = self.base.subtree(&self.missing).ok()?.hiding(nothing);
        Some(store.open_dir(path).ok()?.real_path().clone())
    }

    /// Returns the store, and makes the directory where it is missing.
    pub(crate) fn make(&self) -> Result<Arc<dyn Store>, Fault> {
        if let Some(store) = self.store() {
            return Ok(store);
        }
        let mut path = RelPath::root();
        for (depth, name) in self.missing.names().enumerate() {
            path = path.join(name);
            let dir = self.base.make_dirs(&path)?;
            if depth + 1 == self.root_depth {
                // Keeps what agents write out of `git status`.
                let ignore = zonekeep_files::root::Source::Bytes(b"*\n");
                match dir.replace(b".gitignore", ignore, zonekeep_files::Overwrite::No) {
                    Ok(_) | Err(Fault::Exists) => {}
                    Err(fault) => return Err(fault),
                }
            }
        }
        self.store().ok_or(Fault::Gone)
    }
}

/// Opens the directories behind all zones and checks them against each other
/// and against what must never be a zone; returns all that is wrong.
pub(crate) fn open(policy: &Policy, state: &StateDir) -> Result<Vec<Ground>, Vec<GroundError>> {
    let forbidden = Forbidden::of_user(state);
    let mut grounds: Vec<(&Zone, Ground)> = Vec::with_capacity(policy.zones.len());
    let mut errors = Vec::new();
    for zone in &policy.zones {
        let ground = match open_zone(policy, zone) {
            Ok(ground) => ground,
            Err(error) => {
                errors.push(*error);
                continue;
            }
        };
        let path = &zone.path.value;
        if zone.placement.value == Placement::Same && ground.real != *path {
            let (zone, path, at) = (zone.name.clone(), path.clone(), zone.placement.at.clone());
            errors.push(GroundError::Linked { zone, path, real: ground.real, at });
            continue;
        }
        if let Some(pattern) = guarded(policy, zone, &ground.real) {
            let (zone, path, at) = (zone.name.clone(), ground.real, zone.path.at.clone());
            errors.push(GroundError::Guarded { zone, path, pattern, at });
            continue;
        }
        if let Err(source) = organisation::check_zone(policy, zone, &ground.real) {
            let (zone, at) = (zone.name.clone(), zone.path.at.clone());
            errors.push(GroundError::Organisation { zone, source, at });
            continue;
        }
        if let Some(what) = forbidden.find(&ground.real) {
            let (zone, path, at) = (zone.name.clone(), ground.real, zone.path.at.clone());
            errors.push(GroundError::Forbidden { zone, path, what, at });
            continue;
        }
        if zone.mode.value != Mode::Ro && organisation::is_near(&ground.real) {
            let (zone, path, at) = (zone.name.clone(), ground.real, zone.path.at.clone());
            errors.push(GroundError::Forbidden { zone, path, what: BOUNDS, at });
            continue;
        }
        if zone.mode.value != Mode::Ro
            && let Some(path) = rules_in(policy, &ground.real)
        {
            let (zone, at) = (zone.name.clone(), zone.path.at.clone());
            errors.push(GroundError::Rules { zone, path, at });
            continue;
        }
        let overlapping = grounds.iter().find(|(_, held)| {
            let mounts = &forbidden.mounts;
            mounts.holds_any(&held.real, &ground.real) || mounts.holds_any(&ground.real, &held.real)
        });
        if let Some((other, held)) = overlapping {
            errors.push(GroundError::Overlap {
                first: other.name.clone(),
                first_path: held.real.clone(),
                second: zone.name.clone(),
                second_path: ground.real,
                at: zone.path.at.clone(),
            });
            continue;
        }
        grounds.push((zone, ground));
    }
    match errors.is_empty() {
        true => Ok(grounds.into_iter().map(|(_, ground)| ground).collect()),
        false => Err(errors),
    }
}

/// Resolves directories that commands get at their own path, and refuses those
/// that nobody should hand to an agent whole.
pub(crate) fn check_places(
    places: &mut [Placed],
    policy: &Policy,
    state: &StateDir,
) -> Result<(), Vec<GroundError>> {
    let forbidden = Forbidden::of_user(state);
    let mut errors = Vec::new();
    for place in places {
        let flag = match place.access {
            Access::Ro => "--ro",
            Access::Rw => "--rw",
        };
        let (zone, path, at) =
            (place.host.display().to_string(), place.host.clone(), At::flag(flag));
        // Commands get it as a whole: the launcher reads it before they do.
        let real = fs::canonicalize(&place.host).and_then(|real| match real.is_dir() {
            true => fs::read_dir(&real).map(|_| real),
            false => Ok(real),
        });
        let real = match real {
            Ok(real) if real.is_dir() => real,
            Ok(_) => {
                let source = io::ErrorKind::NotADirectory.into();
                errors.push(GroundError::Open { zone, path, at, source });
                continue;
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                errors.push(GroundError::Missing { zone, path, at });
                continue;
            }
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                errors.push(GroundError::Unreadable { zone, path, at });
                continue;
            }
            Err(source) => {
                errors.push(GroundError::Open { zone, path, at, source });
                continue;
            }
        };
        let system = [
            "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys", "/dev", "/run",
            "/boot", "/var",
        ];
        if let Some(what) = forbidden.find(&real) {
            errors.push(GroundError::Forbidden { zone, path: real, what, at });
        } else if place.access == Access::Rw && system.iter().any(|dir| real == Path::new(dir)) {
            let what = "a directory of the system";
            errors.push(GroundError::Forbidden { zone, path: real, what, at });
        } else if place.access == Access::Rw && organisation::is_near(&real) {
            errors.push(GroundError::Forbidden { zone, path: real, what: BOUNDS, at });
        } else if let (Access::Rw, Some(pattern)) = (place.access, guarded_place(policy, &real)) {
            errors.push(GroundError::Guarded { zone, path: real, pattern, at });
        } else if let (Access::Rw, Some(path)) = (place.access, rules_in(policy, &real)) {
            errors.push(GroundError::Rules { zone, path, at });
        } else {
            place.host = real;
            if let Err(source) = organisation::check_place(policy, place) {
                errors.push(GroundError::Organisation { zone, source, at });
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Returns where in a directory the project file leads, if it is a link, symbolic or
/// hard: to a name that nothing guards there, so that whoever writes there decides about
/// the rules.
fn rules_in(policy: &Policy, dir: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let file = policy.file.as_ref()?;
    if let Some(name) = exposure::other_name(file, dir, &policy.guards) {
        return Some(name);
    }
    // Under its own name it is guarded as the project says.
    if fs::canonicalize(file).is_ok_and(|real| real == *file) {
        return None;
    }
    let unguarded = |step: &PathBuf| {
        let Ok(below) = step.strip_prefix(dir) else { return false };
        let path = below.iter().fold(RelPath::root(), |path, name| path.join(name.as_bytes()));
        let reach = zonekeep_policy::guard::Reach::File;
        step != dir && policy.guards.find(&path, reach).is_none()
    };
    exposure::trail(file).into_iter().find(unguarded)
}

/// Returns the guard that a directory as a whole falls under, by its last names.
fn guarded_place(policy: &Policy, real: &Path) -> Option<String> {
    use std::os::unix::ffi::OsStrExt;
    let all: Vec<_> = real.iter().skip(1).collect();
    let names = &all[all.len().saturating_sub(2)..];
    let path = names.iter().fold(RelPath::root(), |path, name| path.join(name.as_bytes()));
    let entry = policy.guards.find(&path, zonekeep_policy::guard::Reach::Tree)?;
    Some(entry.pattern.clone())
}

/// Returns why the directory of a zone cannot be opened, by itself.
pub(crate) fn unusable(policy: &Policy, zone: &Zone) -> Option<GroundError> {
    open_zone(policy, zone).err().map(|error| *error)
}

fn open_zone(policy: &Policy, zone: &Zone) -> Result<Ground, Box<GroundError>> {
    let wanted = &zone.path.value;
    let failed = |source: io::Error| {
        Box::new(GroundError::Open {
            zone: zone.name.clone(),
            path: wanted.clone(),
            at: zone.path.at.clone(),
            source,
        })
    };
    let mut existing = wanted.as_path();
    let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
    let base = loop {
        match HostStore::open(existing) {
            Ok(store) => break store,
            Err(Fault::NotFound { .. }) if !zone.create => {
                let (zone, path, at) = (zone.name.clone(), wanted.clone(), zone.path.at.clone());
                return Err(Box::new(GroundError::Missing { zone, path, at }));
            }
            Err(Fault::NotFound { .. }) => match (existing.parent(), existing.file_name()) {
                // A link that leads nowhere is not a directory to be made.
                _ if fs::symlink_metadata(existing).is_ok() => {
                    return Err(failed(io::Error::other("it is a link that leads nowhere")));
                }
                (Some(parent), Some(name)) => {
                    missing.push(name);
                    existing = parent;
                }
                _ => return Err(failed(io::ErrorKind::NotFound.into())),
            },
            Err(Fault::Unreadable { .. }) => {
                let (zone, path, at) = (zone.name.clone(), wanted.clone(), zone.path.at.clone());
                return Err(Box::new(GroundError::Unreadable { zone, path, at }));
            }
            Err(fault) => return Err(failed(io::Error::other(fault.to_string()))),
        }
    };
    let mut real = base.host_path().map_err(|fault| failed(io::Error::other(fault.to_string())))?;
    let missing_path = {
        use std::os::unix::ffi::OsStrExt;
        missing.iter().rev().fold(RelPath::root(), |path, name| path.join(name.as_bytes()))
    };
    real.extend(missing.iter().rev());
    let in_root = policy.layout.value == Layout::Sandboxed && zone.create;
    let above_root = wanted.components().count() - missing.len();
    let root_depth = match in_root {
        true => policy.root.value.components().count().saturating_sub(above_root),
        false => 0,
    };
    let (hidden, made) = (hidden(policy, &real), OnceLock::new());
    Ok(Ground { real, base, missing: missing_path, root_depth, made, hidden })
}

/// What Zonekeep's own state directory is, and everything below it.
const RECORDS: &str = "where Zonekeep keeps its own records";

/// What a directory is that agents cannot write, because the organisation's file is there.
const BOUNDS: &str = "where the organisation's file is kept, or holds it";

/// Directories that are never a zone.
struct Forbidden {
    homes: Vec<PathBuf>,
    state: PathBuf,
    mounts: Mounts,
}

impl Forbidden {
    fn of_user(state: &StateDir) -> Self {
        Forbidden { homes: homes(), state: resolve(state.path()), mounts: Mounts::read() }
    }

    fn find(&self, path: &Path) -> Option<&'static str> {
        let mounts = &self.mounts;
        if mounts.holds(path, Path::new("/")) {
            Some("the root of the file system")
        } else if self.homes.iter().any(|home| mounts.holds(path, home)) {
            Some("a home directory, or holds one")
        } else if mounts.holds_any(&self.state, path) {
            Some(RECORDS)
        } else if mounts.holds_any(path, &self.state) {
            Some("a directory that holds Zonekeep's own records")
        } else {
            None
        }
    }
}

/// Returns the home directories that are known: by the environment, by the
/// list of users, and by custom.
fn homes() -> Vec<PathBuf> {
    let me = rustix::process::geteuid().as_raw().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mine = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        (fields.nth(2) == Some(&me)).then(|| fields.nth(2).map(PathBuf::from))?
    });
    let usual = ["/home", "/root", "/Users"].map(PathBuf::from);
    let named = std::env::home_dir().into_iter().chain(mine).chain(usual);
    let named = named.filter(|home| home.is_absolute() && home != Path::new("/"));
    named.flat_map(|home| [fs::canonicalize(&home).ok(), Some(home)]).flatten().collect()
}

/// Returns the guard that a writable zone as a whole falls under: its files
/// would be below the name that guards them, where no guard sees it.
fn guarded(policy: &Policy, zone: &Zone, real: &Path) -> Option<String> {
    use std::os::unix::ffi::OsStrExt;
    if zone.mode.value == Mode::Ro {
        return None;
    }
    // Inside the project all names count; elsewhere the last two, so that where
    // the user keeps projects is the user's affair.
    let names: Vec<&std::ffi::OsStr> = match real.strip_prefix(&policy.project) {
        Ok(below) => below.iter().collect(),
        Err(_) => {
            let all: Vec<_> = real.iter().skip(1).collect();
            all[all.len().saturating_sub(2)..].to_vec()
        }
    };
    let path = names.iter().fold(RelPath::root(), |path, name| path.join(name.as_bytes()));
    let entry = policy.guards.find(&path, zonekeep_policy::guard::Reach::Tree)?;
    Some(entry.pattern.clone())
}

/// Resolves the part of a path that exists.
fn resolve(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = fs::canonicalize(above) {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// The largest configuration of git that is read.
const MAX_GIT_CONFIG: u64 = 1024 * 1024;

/// Guards what the repositories at the top of writable zones run hooks from: where
/// their configurations say, and where their hooks are links to.
pub(crate) fn declare_hooks(policy: &mut Policy, grounds: &[Ground]) {
    let writable = policy.zones.iter().zip(grounds).filter(|(zone, _)| zone.mode.value == Mode::Rw);
    let tops: Vec<PathBuf> = writable.map(|(_, ground)| ground.real.clone()).collect();
    for top in &tops {
        let git = top.join(".git");
        let mut config = Vec::new();
        if let Ok(file) = fs::File::open(git.join("config")) {
            let _ = file.take(MAX_GIT_CONFIG).read_to_end(&mut config);
        }
        let named = hooks_dirs(&config).into_iter().flat_map(|text| {
            let from_home = text.strip_prefix("~/").zip(std::env::home_dir());
            match from_home.map(|(rest, home)| home.join(rest)) {
                Some(path) => vec![path],
                // Hooks are found from the work tree, included files from the other.
                None => vec![top.join(&text), git.join(&text)],
            }
        });
        let hooks = fs::read_dir(git.join("hooks")).into_iter().flatten().flatten();
        let linked = hooks.map(|entry| entry.path()).filter(|path| path.is_symlink());
        for path in named.chain(linked) {
            // What is not there yet is taken as it is written.
            let real = path.canonicalize().or_else(|_| std::path::absolute(&path));
            for top in &tops {
                if let Some(path) = real.as_ref().ok().and_then(|real| RelPath::below(top, real))
                    && path.names().next() != Some(b".git")
                {
                    policy.guards.declare(&path);
                }
            }
        }
    }
}

/// Returns what a project file opens outside its own directory.
///
/// What the user's own flags open is not counted: it is the user who says it.
pub(crate) fn reach(policy: &Policy, grounds: &[Ground]) -> BTreeSet<Reach> {
    let from_file = |at: &At| matches!(at, At::File { .. });
    let mut reach = BTreeSet::new();
    // What a file in a home directory opens there is the user's own.
    let at_home = homes().iter().any(|home| home.starts_with(&policy.project));
    for (zone, ground) in policy.zones.iter().zip(grounds) {
        // A default zone counts too: a link can stand in its way.
        let inside = ground.real.starts_with(&policy.project);
        let own = matches!(zone.path.at, At::Default) || !at_home;
        if matches!(zone.path.at, At::Flag(_)) || inside && own {
            continue;
        }
        let verb = if zone.mode.value == Mode::Rw { "read and write" } else { "read" };
        let what = format!("{verb} {} as {}", trust::shown(&ground.real), zone.agent_path());
        let dir = Some(ZoneDir::new(&zone.name, &ground.real, zone.mode.value));
        reach.insert(Reach { what, at: zone.path.at.to_string(), key: zone.key.clone(), dir });
    }
    let passed = policy.pass_env.iter().filter(|name| !is_never_passed(&name.value));
    for name in passed.filter(|name| from_file(&name.at)) {
        let what = format!("pass the environment variable {} to commands", name.value);
        reach.insert(opened(what, &name.at, "sandbox.pass_env"));
    }
    for entry in policy.guards.loosened().filter(|entry| from_file(&entry.guard.at)) {
        let word = match entry.guard.value {
            Guard::Allow => "without a question",
            _ => "after a question",
        };
        let what = format!("change files that match {} {word}", entry.pattern);
        let key = format!("sandbox.guard.\"{}\"", entry.pattern);
        reach.insert(opened(what, &entry.guard.at, key));
    }
    for pattern in policy.allow_hard_links.iter().filter(|pattern| from_file(&pattern.at)) {
        let what = format!("write files outside by hard links that match {}", pattern.value);
        reach.insert(opened(what, &pattern.at, "sandbox.allow_hard_links"));
    }
    for pattern in policy.allow_sensitive.iter().filter(|pattern| from_file(&pattern.at)) {
        let what = format!("read credentials in granted directories that match {}", pattern.value);
        reach.insert(opened(what, &pattern.at, "sandbox.allow_sensitive"));
    }
    reach.extend(networks(policy));
    if policy.consent.value == Consent::Auto && from_file(&policy.consent.at) {
        let what = "have every question answered with yes".to_owned();
        reach.insert(opened(what, &policy.consent.at, "approval.mode"));
    }
    // Commands use up what the whole machine has.
    let memory = most_memory();
    let filled = |limits: &Limits| Limits { memory: limits.memory.or(memory), ..limits.clone() };
    for (name, value) in filled(&policy.limits).above(&filled(&Limits::default())) {
        let Some(at) = policy.limit_lines.get(name).filter(|at| from_file(at)) else { continue };
        let what = match value {
            Some(value) => format!("raise the limit '{name}' to {value}"),
            None => format!("lift the limit '{name}'"),
        };
        reach.insert(opened(what, at, format!("sandbox.limits.{name}")));
    }
    for (name, secret) in policy.secrets.iter().filter(|(_, secret)| from_file(&secret.at)) {
        let hosts: Vec<String> = secret.value.hosts.iter().map(ToString::to_string).collect();
        let what = format!(
            "send the environment variable {} to {} as {name}",
            secret.value.env,
            hosts.join(", ")
        );
        reach.insert(opened(what, &secret.at, format!("sandbox.secrets.{name}")));
    }
    let tainted = policy.when_tainted.backend.iter().map(|b| (b, "when_tainted.backend"));
    let backends = std::iter::once((&policy.backend, "sandbox.backend")).chain(tainted);
    for (backend, key) in backends.filter(|(b, _)| from_file(&b.at) && b.value.is_weak()) {
        let what = match backend.value {
            BackendChoice::Landlock => {
                "run commands under landlock alone, which leaves sockets of other programs, UDP \
                 and the modes of files outside open to them"
            }
            _ => "run commands without an operating-system sandbox",
        };
        reach.insert(opened(what, &backend.at, key));
    }
    let required = &policy.require_os_sandbox;
    if from_file(&required.at) && required.value == OsSandbox::Optional {
        let what =
            "run commands where the operating system does not fully enforce their boundaries";
        reach.insert(opened(what, &required.at, "sandbox.require_os_sandbox"));
    }
    reach
}

fn opened(what: impl Into<String>, at: &At, key: impl Into<String>) -> Reach {
    Reach { what: what.into(), at: at.to_string(), key: key.into(), dir: None }
}

/// Returns what a project file lets commands reach, in its network and its rules.
fn networks(policy: &Policy) -> BTreeSet<Reach> {
    let from_file = |at: &At| matches!(at, At::File { .. });
    // What is asked about first is given by whoever says yes. Where the file itself
    // answers, nobody does.
    let answers = policy.consent.value == Consent::Auto && from_file(&policy.consent.at);
    let unasked = policy.shell.rules.iter().filter(|rule| match rule.approval {
        Approval::PreApproved => true,
        Approval::Ask => answers,
        Approval::Blocked => false,
    });
    let grants = unasked.map(|rule| (&rule.grants, &rule.at, "shell"));
    let own = (&policy.network.value, &policy.network.at, "sandbox.network");
    let all = std::iter::once(own).chain(grants);
    let mut reach = BTreeSet::new();
    for (network, at, key) in all {
        match network {
            Network::Off => {}
            Network::On if from_file(at) => {
                reach.insert(opened("reach every host on the network", at, key));
            }
            Network::On => {}
            Network::Hosts(hosts) => {
                let names = hosts.allow.iter().map(|host| (host.value.to_string(), &host.at));
                let sets = hosts.presets.iter().map(|preset| {
                    (format!("the hosts of the {} package managers", preset.value), &preset.at)
                });
                let listed = names.chain(sets).filter(|(_, at)| from_file(at));
                reach.extend(listed.map(|(name, at)| opened(format!("reach {name}"), at, key)));
            }
        }
    }
    reach
}
