//! Ready-made policies for programs that bring their own idea of permissions.

use std::path::{Component, Path, PathBuf};

use crate::path::{AgentPath, RelPath};
use crate::policy::{Layout, Policy};
use crate::source::{At, Ruled};
use crate::zone::{Approval, Mode, Zone, check_name};

/// Permissions as lists of directories, as assistants with a home directory
/// keep them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPermissions {
    /// Where relative paths start.
    pub working_dir: PathBuf,
    /// Directories that can be written, beside the home directory.
    pub write_dirs: Vec<PathBuf>,
    /// Directories that can be read.
    pub read_dirs: Vec<PathBuf>,
}

/// Why permissions cannot be turned into zones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A directory is not written out from the root.
    #[error("{} is not an absolute path", .0.display())]
    Relative(PathBuf),
    /// The working directory is in none of the directories.
    #[error("the working directory {} is in none of the directories", .0.display())]
    WorkingDir(PathBuf),
}

/// Returns the policy of an assistant that lives in a home directory: the home
/// can be read and written without questions and is what `~` means; the working
/// directory is where relative paths start.
///
/// The home is seen as `/home`; every other directory under its own last name.
/// A directory inside another one is part of that one: rights to write win, as
/// they do in such lists.
///
/// ```
/// use zonekeep_policy::profile::{SessionPermissions, home};
///
/// let permissions = SessionPermissions {
///     working_dir: "/data/users/u1/home/desktop".into(),
///     read_dirs: vec!["/data/skills".into()],
///     ..SessionPermissions::default()
/// };
/// let policy = home("/data/users/u1/home".as_ref(), &permissions)?;
/// assert_eq!(policy.working_dir.value.to_string(), "/home/desktop");
/// assert_eq!(policy.home.value.to_string(), "/home");
/// # Ok::<(), zonekeep_policy::profile::ProfileError>(())
/// ```
pub fn home(home: &Path, permissions: &SessionPermissions) -> Result<Policy, ProfileError> {
    let at = || At::flag("the embedding program");
    let mut policy = Policy::empty(home);
    policy.layout = Ruled::new(Layout::Direct, at());
    let writable = std::iter::once(home).chain(permissions.write_dirs.iter().map(PathBuf::as_path));
    let readable = permissions.read_dirs.iter().map(PathBuf::as_path);
    let wanted = writable.map(|dir| (dir, Mode::Rw)).chain(readable.map(|dir| (dir, Mode::Ro)));
    for (dir, mode) in wanted {
        let dir = plain(dir)?;
        if policy.zones.iter().any(|zone| dir.starts_with(&zone.path.value)) {
            continue;
        }
        // A directory around earlier ones takes their place, if it gives as much.
        policy.zones.retain(|zone| {
            zone.name == "home" || zone.mode.value > mode || !zone.path.value.starts_with(&dir)
        });
        let name = if policy.zones.is_empty() { "home".to_owned() } else { name(&policy, &dir) };
        let mut zone = Zone::new(name, dir, mode, at());
        zone.approval.write = Ruled::new(Approval::PreApproved, at());
        zone.approval.delete = Ruled::new(Approval::PreApproved, at());
        policy.zones.push(zone);
    }
    let working_dir = plain(&permissions.working_dir)?;
    let inside = agent_path(&policy, &working_dir);
    let inside = inside.ok_or(ProfileError::WorkingDir(working_dir))?;
    policy.working_dir = Ruled::new(inside, at());
    policy.home = Ruled::new(AgentPath::of("home", &RelPath::root()), at());
    Ok(policy)
}

/// Removes dots by text; a relative path is refused.
fn plain(path: &Path) -> Result<PathBuf, ProfileError> {
    if !path.is_absolute() {
        return Err(ProfileError::Relative(path.to_owned()));
    }
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    Ok(out)
}

fn agent_path(policy: &Policy, host: &Path) -> Option<AgentPath> {
    policy.zones.iter().find_map(|zone| {
        let below = host.strip_prefix(&zone.path.value).ok()?;
        let text = crate::path::escape(below.as_os_str().as_encoded_bytes());
        AgentPath::absolute(&format!("/{}/{text}", zone.name)).ok()
    })
}

/// Returns a name for a directory that no zone has yet.
fn name(policy: &Policy, dir: &Path) -> String {
    let last = dir.file_name().unwrap_or_default().to_string_lossy();
    let mut base: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .take(48)
        .collect();
    if check_name(&base).is_err() {
        base = format!("dir-{}", base.trim_start_matches(['.', '-', '_']));
    }
    let taken = |name: &str| policy.zones.iter().any(|zone| zone.name == name);
    let mut candidates = (2..).map(|n| format!("{base}-{n}"));
    let mut name = base.clone();
    while taken(&name) {
        name = candidates.next().expect("numbers do not run out");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(home_dir: &str, write: &[&str], read: &[&str], cwd: &str) -> Result<String, String> {
        let dirs = |list: &[&str]| list.iter().map(PathBuf::from).collect();
        let permissions = SessionPermissions {
            working_dir: cwd.into(),
            write_dirs: dirs(write),
            read_dirs: dirs(read),
        };
        let policy = home(home_dir.as_ref(), &permissions).map_err(|e| e.to_string())?;
        let zones = policy.zones.iter().map(|zone| {
            format!("/{}={}:{}", zone.name, zone.path.value.display(), zone.mode.value)
        });
        Ok(format!("{} cwd {}", zones.collect::<Vec<_>>().join(" "), policy.working_dir.value))
    }

    #[test]
    fn lists_of_directories_become_zones() {
        let cases = [
            (&["/u/home"][..], &[][..], "/u/home/desktop", "/home=/u/home:rw cwd /home/desktop"),
            // Inside the home: part of it, whatever the list says.
            (&["/u/home/x"], &["/u/home/y"], "/u/home", "/home=/u/home:rw cwd /home"),
            (
                &["/srv/a"],
                &["/opt/a", "/etc"],
                "/srv/a/b/..",
                "/home=/u/home:rw /a=/srv/a:rw /a-2=/opt/a:ro /dir-etc=/etc:ro cwd /a",
            ),
            (&[], &["/s/one", "/s"], "/u/home", "/home=/u/home:rw /s=/s:ro cwd /home"),
        ];
        for (write, read, cwd, want) in cases {
            assert_eq!(shown("/u/home", write, read, cwd).as_deref(), Ok(want));
        }
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        assert!(shown("home", &[], &[], "/home").is_err());
        assert!(shown("/u/home", &[], &[], "/elsewhere").is_err());
        assert!(shown("/u/home", &["rel"], &[], "/u/home").is_err());
    }
}
