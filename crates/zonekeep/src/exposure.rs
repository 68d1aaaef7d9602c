//! The host directories that agents can reach, to keep out of them what decides
//! about agents.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use zonekeep_confine::links;
use zonekeep_confine::plan::Access;
use zonekeep_policy::guard::{Guards, Reach};
use zonekeep_policy::{Mode, Policy, RelPath};

use crate::command::Placed;
use crate::ground::Ground;
use crate::mounts::Mounts;

/// How many links are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// The host directories that the agents of a session can reach.
#[derive(Debug, Default)]
pub(crate) struct Exposure(Vec<Exposed>);

/// A host directory that agents can reach.
#[derive(Debug)]
struct Exposed {
    name: String,
    real: PathBuf,
    /// Device and number, because a mount can give it another path.
    identity: Option<(u64, u64)>,
    access: Access,
}

impl Exposure {
    /// Returns the directories of all zones, and those that commands get at
    /// their own path.
    pub(crate) fn of(policy: &Policy, grounds: &[Ground], places: &[Placed]) -> Self {
        let zones = policy.zones.iter().zip(grounds).map(|(zone, ground)| Exposed {
            name: format!("the zone '{}'", zone.name),
            real: ground.real.clone(),
            identity: ground.identity(),
            access: if zone.mode.value == Mode::Rw { Access::Rw } else { Access::Ro },
        });
        let places = places.iter().map(|place| Exposed {
            name: place.host.display().to_string(),
            real: place.host.clone(),
            identity: identity(&place.host),
            access: place.access,
        });
        Exposure(zones.chain(places).collect())
    }

    /// Returns the directory that `path` lies in or leads through, one that can
    /// be written before one that cannot.
    ///
    /// Every link on the way counts: whoever can change one decides where the
    /// path leads.
    pub(crate) fn find(&self, path: &Path) -> Option<(&str, Access)> {
        let trail = trail(path);
        let mounts = Mounts::read();
        let identities: Vec<_> = trail.iter().map(|step| identity(step)).collect();
        let on_the_way = |exposed: &&Exposed| {
            trail.iter().any(|step| mounts.holds(&exposed.real, step))
                || exposed.identity.is_some() && identities.contains(&exposed.identity)
        };
        let found: Vec<&Exposed> = self.0.iter().filter(on_the_way).collect();
        let mut writable = self.0.iter().filter(|exposed| exposed.access == Access::Rw);
        let linked = || writable.find(|exposed| has_other_name(path, &exposed.real));
        let worst = found.iter().copied().find(|found| found.access == Access::Rw);
        let worst = worst.or_else(linked).or_else(|| found.first().copied())?;
        Some((&worst.name, worst.access))
    }
}

/// Returns whether a file has a name in a directory, or may have one that cannot be seen.
fn has_other_name(file: &Path, dir: &Path) -> bool {
    names_of(file, dir).is_none_or(|names| !names.is_empty())
}

/// Returns a name of a file in a directory that agents can write (a hard link) and no
/// guard covers: by that name they could change the file.
pub fn other_name(file: &Path, dir: &Path, guards: &Guards) -> Option<PathBuf> {
    let Some(names) = names_of(file, dir) else { return Some(dir.to_owned()) };
    let unguarded = |name: &&RelPath| guards.find(name, Reach::File).is_none();
    let name = names.iter().find(unguarded)?;
    Some(dir.join(OsStr::from_bytes(name.as_bytes())))
}

/// Returns the names of a file in a directory, where it has more than one at all; `None`
/// where the directory cannot be looked through.
fn names_of(file: &Path, dir: &Path) -> Option<Vec<RelPath>> {
    match fs::metadata(file) {
        Ok(facts) if facts.is_file() && facts.nlink() > 1 => {
            links::names_in(dir, facts.dev(), facts.ino()).ok()
        }
        _ => Some(Vec::new()),
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let facts = fs::symlink_metadata(path).ok()?;
    Some((facts.dev(), facts.ino()))
}

/// Returns every file, directory and link that an absolute path leads through.
pub(crate) fn trail(path: &Path) -> Vec<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> {
        let named = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        });
        named.collect()
    };
    let mut rest: VecDeque<OsString> = names(path).into();
    let mut at = PathBuf::from("/");
    let mut steps = vec![at.clone()];
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        steps.push(next.clone());
        match fs::read_link(&next) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for name in names(&target).into_iter().rev() {
                    rest.push_front(name);
                }
            }
            _ => at = next,
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_found_in_whatever_it_leads_through() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in ["rw/sub", "ro", "safe", "rwx"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        fs::write(base.join("safe/program"), "").unwrap();
        symlink("../safe", base.join("rw/link")).unwrap();
        symlink(base.join("rw/link/program"), base.join("safe/chain")).unwrap();
        symlink("rw/sub", base.join("into")).unwrap();
        let exposed = |name: &str, access| {
            let real = base.join(name);
            Exposed { name: name.into(), identity: identity(&real), real, access }
        };
        let all = Exposure(vec![exposed("ro", Access::Ro), exposed("rw", Access::Rw)]);
        let cases = [
            ("safe/program", None),
            ("rwx/program", None),
            ("rw/sub/program", Some(("rw", Access::Rw))),
            ("rw/missing/program", Some(("rw", Access::Rw))),
            ("ro/program", Some(("ro", Access::Ro))),
            ("into/program", Some(("rw", Access::Rw))),
            // Both end at safe/program.
            ("rw/link/program", Some(("rw", Access::Rw))),
            ("safe/chain", Some(("rw", Access::Rw))),
            ("ro/../rw/../safe/program", Some(("rw", Access::Rw))),
        ];
        for (path, want) in cases {
            assert_eq!(all.find(&base.join(path)), want, "{path}");
        }
    }

    #[test]
    fn a_directory_is_known_by_its_number_too() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir(base.join("zone")).unwrap();
        // As if another mount led there.
        let elsewhere = Exposed {
            name: "zone".into(),
            real: "/elsewhere".into(),
            identity: identity(&base.join("zone")),
            access: Access::Rw,
        };
        let all = Exposure(vec![elsewhere]);
        assert!(all.find(&base.join("zone/program")).is_some());
        assert!(all.find(&base.join("program")).is_none());
    }
}
