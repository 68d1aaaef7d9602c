//! Reading the organisation's file, and holding directories to it.
//!
//! The file lies at one path, which neither a flag nor a variable changes: it bounds the
//! users of the machine, and root alone can write it. A file that cannot be used refuses
//! every session; only a file that does not exist bounds nothing.
//!
//! Every session reads it when it opens, those of programs that use this library included.
//! A session that takes another's place keeps the versions that the other was held to.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use zonekeep_confine::plan::Access;
use zonekeep_policy::config::Problem;
use zonekeep_policy::organisation::{Beyond, Organisation};
use zonekeep_policy::tighten::Withheld;
use zonekeep_policy::zone::Zone;
use zonekeep_policy::{Mode, Policy};

use crate::command::{Placed, most_memory};

/// The organisation's file.
pub const PATH: &str = "/etc/zonekeep/policy.yaml";
/// The largest file that is read.
const MAX_FILE: u64 = 1 << 20;

/// Why nothing runs although no project is at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrganisationError {
    /// The file, or its directory, cannot be read.
    #[error("the organisation's file {} cannot be read: {source}", path.display())]
    Read {
        /// The file or its directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A user could have written it.
    #[error(
        "{} belongs to uid {owner}: the organisation's file {} and all directories above it must \
         belong to root", path.display(), file.display()
    )]
    Owner {
        /// The organisation's file.
        file: PathBuf,
        /// The file, or a directory above it.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// A user can write it.
    #[error(
        "{} can be written by other users than root (mode {mode:o}): the organisation's file {} \
         and all directories above it must be root's alone", path.display(), file.display()
    )]
    Writable {
        /// The organisation's file.
        file: PathBuf,
        /// The file, or a directory above it.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It has changed while the program runs.
    #[error(
        "the organisation's file {} has changed, and its rules cannot hold beside those that it \
         had before: start the program again", file.display()
    )]
    Versions {
        /// The organisation's file.
        file: PathBuf,
    },
    /// It has errors.
    #[error(
        "the organisation's file {} cannot be used:{}",
        path.display(),
        problems.iter().map(|p| format!("\n  line {}: {}", p.line, p.message)).collect::<String>()
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All that is wrong with it.
        problems: Vec<Problem>,
    },
}

/// Returns the organisation's bounds, if the machine has any.
pub fn read() -> Result<Option<Organisation>, OrganisationError> {
    read_at(Path::new(PATH), 0, Path::new("/"))
}

/// Reads the file at a path; it and the directories from `top` down to it must belong to
/// `root`, and to it alone.
fn read_at(path: &Path, root: u32, top: &Path) -> Result<Option<Organisation>, OrganisationError> {
    let (dir, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let failed = |path: &Path, source| OrganisationError::Read { path: path.to_owned(), source };
    // Each is checked on its open handle; neither may be a link.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let none = rustix::fs::Mode::empty();
    let held = match rustix::fs::open(dir, flags | OFlags::DIRECTORY, none) {
        Ok(held) => fs::File::from(held),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(dir, error.into())),
    };
    let file = match rustix::fs::openat(&held, name, flags, none) {
        Ok(file) => fs::File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(path, error.into())),
    };
    let check = |part: &Path, facts: io::Result<fs::Metadata>| {
        let facts = facts.map_err(|source| failed(part, source))?;
        let (file, part) = (path.to_owned(), part.to_owned());
        let (owner, mode) = (facts.uid(), facts.mode() & 0o7777);
        if owner != root {
            return Err(OrganisationError::Owner { file, path: part, owner });
        }
        match mode & 0o022 == 0 {
            true => Ok(()),
            false => Err(OrganisationError::Writable { file, path: part, mode }),
        }
    };
    check(path, file.metadata())?;
    check(dir, held.metadata())?;
    // `/etc` itself can be a link of the system's.
    let real = dir.canonicalize().map_err(|source| failed(dir, source))?;
    let above = dir.ancestors().chain(real.ancestors());
    for part in above.filter(|part| part.starts_with(top)) {
        check(part, fs::metadata(part))?;
    }
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return Err(failed(path, io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|source| failed(path, source))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(failed(path, io::Error::other(format!("it is larger than {MAX_FILE} bytes"))));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(failed(path, io::Error::other("it is not UTF-8 text")));
    };
    match Organisation::parse(&text, &path.to_string_lossy()) {
        Ok(organisation) => Ok(Some(organisation)),
        Err(problems) => {
            let path = path.to_owned();
            Err(OrganisationError::Invalid { path, problems })
        }
    }
}

/// Holds rules to the organisation's file. Returns the keys that were looser. Zones that lie
/// elsewhere stay, for [`check_zone`] to refuse.
pub(crate) fn apply(policy: &mut Policy) -> Result<Vec<Withheld>, OrganisationError> {
    hold_all(policy, read()?.map(Arc::new))
}

/// Holds rules to the versions of the organisation's file that they are held to, and to one
/// more. Versions that cannot hold together are an error.
fn hold_all(
    policy: &mut Policy,
    more: Option<Arc<Organisation>>,
) -> Result<Vec<Withheld>, OrganisationError> {
    let held = std::mem::take(&mut policy.organisations).into_iter();
    let narrowed = held.chain(more).flat_map(|organisation| hold(policy, &organisation)).collect();
    let mut all = policy.clone();
    all.limits.memory = all.limits.memory.or(most_memory());
    match all.organisations.iter().find(|organisation| !organisation.holds(&all)) {
        None => Ok(narrowed),
        Some(lost) => Err(OrganisationError::Versions { file: lost.file().into() }),
    }
}

/// Holds rules to one version of the organisation's file, beside those that they are held to.
pub(crate) fn hold(policy: &mut Policy, organisation: &Arc<Organisation>) -> Vec<Withheld> {
    // A limit that is left out is the machine's: a bound above that must not raise it.
    let (unset, most) = (policy.limits.memory.is_none(), most_memory());
    policy.limits.memory = policy.limits.memory.or(most);
    let bounded = organisation.bound(policy);
    let mut narrowed = bounded.narrowed;
    *policy = bounded.policy;
    if unset && policy.limits.memory == most {
        policy.limits.memory = None;
    }
    let dirs = dirs(organisation);
    for zone in &mut policy.zones {
        let real = resolved(&zone.path.value);
        let Some(kept) = dirs.as_ref().and_then(|dirs| organisation.zone(zone, &real, dirs).ok())
        else {
            continue;
        };
        if kept != *zone {
            narrowed.push(Withheld { key: zone.key.clone(), at: zone.at.clone() });
            *zone = kept;
        }
    }
    narrowed
}

/// Checks that an open zone is within the organisation's bounds, as it stands.
pub(crate) fn check_zone(policy: &Policy, zone: &Zone, real: &Path) -> Result<(), Beyond> {
    for organisation in &policy.organisations {
        let Some(dirs) = dirs(organisation) else { continue };
        let kept = organisation.zone(zone, real, &dirs)?;
        // Its path led elsewhere when the rules were made.
        if kept != *zone {
            let (path, at) = (real.to_owned(), kept.at);
            return Err(Beyond::Stricter { path, bound: "another directory's rules", at });
        }
    }
    Ok(())
}

/// Checks a directory that commands get at its own path.
pub(crate) fn check_place(policy: &Policy, place: &Placed) -> Result<(), Beyond> {
    let mode = match place.access {
        Access::Ro => Mode::Ro,
        Access::Rw => Mode::Rw,
    };
    check_path(policy, &place.host, mode)
}

/// Checks a real path whose content an agent gets.
pub(crate) fn check_path(policy: &Policy, real: &Path, mode: Mode) -> Result<(), Beyond> {
    for organisation in &policy.organisations {
        if let Some(dirs) = dirs(organisation) {
            organisation.place(real, mode, &dirs)?;
        }
    }
    Ok(())
}

/// Returns whether a directory holds the organisation's file, or lies beside it: who writes
/// there writes the bounds.
pub(crate) fn is_near(real: &Path) -> bool {
    let own = resolved(Path::new(PATH).parent().unwrap_or(Path::new("/")));
    own.starts_with(real) || real.starts_with(&own)
}

/// Returns the organisation's directories with where they lead.
fn dirs(organisation: &Organisation) -> Option<Vec<(PathBuf, &Zone)>> {
    let dirs = organisation.dirs()?.iter();
    Some(dirs.map(|zone| (resolved(&zone.path.value), zone)).collect())
}

/// Returns where a path leads, also if its last parts do not exist yet.
fn resolved(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            // `join` of an empty path would add a slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn read(dir: &Path) -> Result<bool, OrganisationError> {
        let me = rustix::process::geteuid().as_raw();
        read_at(&dir.join("policy.yaml"), me, dir.parent().unwrap()).map(|found| found.is_some())
    }

    #[test]
    fn only_a_file_that_does_not_exist_bounds_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let etc = temp.path().canonicalize().unwrap();
        let dir = etc.join("zonekeep");
        let file = dir.join("policy.yaml");
        assert!(!read(&dir).unwrap(), "no directory");
        fs::create_dir(&dir).unwrap();
        assert!(!read(&dir).unwrap(), "no file");
        let chmod = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(&dir, 0o755);
        fs::write(&file, "sandbox: { network: false }\n").unwrap();
        chmod(&file, 0o644);
        assert!(read(&dir).unwrap(), "the control");
        for (path, mode, usual) in [
            (&file, 0o664, 0o644),
            (&file, 0o646, 0o644),
            (&dir, 0o775, 0o755),
            (&dir, 0o757, 0o755),
            (&etc, 0o775, 0o755),
            (&etc, 0o1777, 0o755),
        ] {
            chmod(path, mode);
            let error = read(&dir).unwrap_err();
            assert!(matches!(error, OrganisationError::Writable { .. }), "{mode:o}: {error}");
            assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
            chmod(path, usual);
        }
        let error = read_at(&file, 12345, &etc).unwrap_err();
        assert!(matches!(error, OrganisationError::Owner { .. }), "{error}");
        for text in ["sandbox: [", "sandbox: { network: maybe }", "a: b", "\u{0}"] {
            fs::write(&file, text).unwrap();
            let error = read(&dir).unwrap_err().to_string();
            assert!(error.contains(file.to_str().unwrap()), "{text}: {error}");
        }
        fs::write(&file, [0xff]).unwrap();
        read(&dir).unwrap_err();
        fs::write(&file, "#".repeat((MAX_FILE + 1) as usize)).unwrap();
        read(&dir).unwrap_err();
        // Neither a link nor a directory is passed over as if it were missing.
        fs::remove_file(&file).unwrap();
        symlink("/nonexistent", &file).unwrap();
        read(&dir).unwrap_err();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        read(&dir).unwrap_err();
        let other = temp.path().join("link");
        symlink(&dir, &other).unwrap();
        read(&other).unwrap_err();
        fs::write(temp.path().join("plain"), "").unwrap();
        read(&temp.path().join("plain")).unwrap_err();
    }

    #[test]
    fn a_bound_above_what_the_machine_has_raises_nothing() {
        let held = |limits: &str| {
            let mut policy = Policy::empty("/p");
            let text = format!("sandbox: {{ limits: {{ memory: {limits} }} }}\n");
            hold(&mut policy, &Arc::new(Organisation::parse(&text, PATH).unwrap()));
            policy.limits.memory
        };
        assert_eq!(Policy::empty("/p").limits.memory, None, "the control");
        assert_eq!(held("1000000T"), None);
        assert_eq!(held("1M"), Some(1 << 20));
    }

    #[test]
    fn versions_that_cannot_hold_together_are_refused() {
        let version = |text: &str| Arc::new(Organisation::parse(text, PATH).unwrap());
        let modes = ["strict", "manual"].map(|m| version(&format!("approval: {{ mode: {m} }}\n")));
        let memory = version("sandbox: { limits: { memory: 1000000T } }\n");
        let mut policy = Policy::empty("/p");
        for fits in [&memory, &modes[0], &memory, &modes[0]] {
            hold_all(&mut policy, Some(Arc::clone(fits))).unwrap();
        }
        assert_eq!(policy.organisations.len(), 2);
        let error = hold_all(&mut policy, Some(Arc::clone(&modes[1]))).unwrap_err();
        assert!(matches!(error, OrganisationError::Versions { .. }), "{error}");
        // Nor does that one go away with the file.
        hold_all(&mut policy, None).unwrap_err();
    }

    #[test]
    fn no_agent_writes_where_the_bounds_come_from() {
        let etc = Path::new("/etc").canonicalize().unwrap();
        for near in [&etc, &etc.join("zonekeep"), &etc.join("zonekeep/sub"), Path::new("/")] {
            assert!(is_near(near), "{}", near.display());
        }
        for other in [&etc.join("zonekeeper"), Path::new("/home")] {
            assert!(!is_near(other), "{}", other.display());
        }
    }

    /// A zone that is a link is bounded where it leads.
    #[test]
    fn zones_are_bounded_where_they_lead() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().canonicalize().unwrap();
        for dir in ["open", "shut", "p"] {
            fs::create_dir(real.join(dir)).unwrap();
        }
        symlink(real.join("shut"), real.join("open/link")).unwrap();
        symlink(real.join("open"), real.join("alias")).unwrap();
        let text = format!(
            "sandbox: {{ zones: {{ a: {{ path: {0}/alias, mode: ro }}, p: {{ path: {0}/p, mode: rw }} }} }}\n",
            real.display()
        );
        let bounds = Arc::new(Organisation::parse(&text, PATH).unwrap());
        let policy = |path: &str| {
            let mut policy = Policy::empty(real.join("p"));
            let at = zonekeep_policy::At::Default;
            policy.zones.push(Zone::new("w", real.join(path), Mode::Rw, at));
            let narrowed = hold(&mut policy, &bounds);
            (policy, narrowed.len())
        };
        let (clamped, narrowed) = policy("open/new/dir");
        assert_eq!((clamped.zones[0].mode.value, narrowed), (Mode::Ro, 1));
        check_zone(&clamped, &clamped.zones[0], &real.join("open/new/dir")).unwrap();
        // It leads elsewhere now than when the rules were made.
        let error = check_zone(&clamped, &clamped.zones[0], &real.join("shut")).unwrap_err();
        assert!(matches!(error, Beyond::Elsewhere { .. }), "{error}");
        let (free, narrowed) = policy("p/w");
        assert_eq!((free.zones[0].mode.value, narrowed), (Mode::Rw, 0));
        let error = check_zone(&free, &free.zones[0], &real.join("open/x")).unwrap_err();
        assert!(matches!(error, Beyond::Stricter { .. }), "{error}");
        let (linked, _) = policy("open/link");
        check_zone(&linked, &linked.zones[0], &real.join("shut")).unwrap_err();
    }
}
