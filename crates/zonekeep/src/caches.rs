//! Caches of toolchains that outlive a sandbox (`sandbox.caches: keep`).
//!
//! Each project has directories of its own below the state directory, one set for each worker
//! and each set of directories that commands can write: what one wrote is executed by the
//! next, so a sandbox that can write less must not write for one that can write more.
//! Commands in sandboxes are the only ones that read them; nothing here follows a link or
//! opens a file that lies in one.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::agent::AGENTS;
use crate::state::StateDir;

/// The directory of all caches, below the state directory.
const CACHES: &str = "caches";
/// The file that says whose caches these are.
const OWNER: &str = "owner";
/// How many directories are open at a time; deeper ones are not counted, and moved up to be
/// removed.
const MAX_DEPTH: usize = 100;

/// A set of caches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Caches {
    /// The name of their directory.
    pub id: String,
    /// The project's directory.
    pub project: PathBuf,
    /// The worker; `None` for commands of the project itself.
    pub worker: Option<String>,
    /// The directories of the host that the commands can write which use them.
    pub writes: Vec<PathBuf>,
    /// The space that they take, in bytes.
    pub bytes: u64,
    /// How many files they have.
    pub files: u64,
    /// When a sandbox used them last, in seconds since 1970.
    pub used: u64,
    /// Whether this is the private home of an agent, with its conversations.
    pub agent: bool,
}

impl Caches {
    /// Returns the directory that it lies in, below the state directory.
    fn above(&self) -> &'static str {
        if self.agent { AGENTS } else { CACHES }
    }
}

/// Whose caches they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Owner {
    /// The project's directory.
    pub(crate) project: PathBuf,
    /// The worker; `None` for commands of the project itself.
    pub(crate) worker: Option<String>,
    /// The directories of the host that its commands can write, sorted.
    pub(crate) writes: Vec<PathBuf>,
}

impl Owner {
    /// Returns the name of the directory of its caches.
    pub(crate) fn id(&self) -> String {
        use std::os::unix::ffi::OsStrExt;
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(self.project.as_os_str().as_bytes());
        add(self.worker.as_deref().unwrap_or_default().as_bytes());
        for path in &self.writes {
            add(path.as_os_str().as_bytes());
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the directory of one cache, which may not exist.
    pub(crate) fn path(&self, state: &StateDir, name: &str) -> PathBuf {
        state.path().join(CACHES).join(self.id()).join(name)
    }

    /// Notes that its caches are used now.
    pub(crate) fn note_use(&self, state: &StateDir) -> io::Result<()> {
        self.write(&state.make(&format!("{CACHES}/{}", self.id()))?)
    }

    /// Notes in a directory that it is used now, and by whom.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        let file = dir.join(OWNER);
        if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            fs::write(&file, text)?;
        }
        File::open(&file)?.set_modified(SystemTime::now())
    }

    /// Makes the directory of one cache.
    pub(crate) fn open(&self, state: &StateDir, name: &str) -> io::Result<()> {
        let cache = state.make(&format!("{CACHES}/{}/{name}", self.id()))?;
        let facts = fs::symlink_metadata(&cache)?;
        match facts.is_dir() && facts.uid() == rustix::process::geteuid().as_raw() {
            true => Ok(()),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }
}

/// Returns whether a cache has nothing in it, or is not there.
pub(crate) fn is_empty(cache: &Path) -> bool {
    fs::read_dir(cache).map_or(true, |mut names| names.next().is_none())
}

/// Returns all caches and the private homes of agents, the largest first.
pub fn list(state: &StateDir) -> io::Result<Vec<Caches>> {
    let mut all = list_in(state, false)?;
    all.extend(list_in(state, true)?);
    all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.id.cmp(&b.id)));
    Ok(all)
}

fn list_in(state: &StateDir, agent: bool) -> io::Result<Vec<Caches>> {
    let entries = match fs::read_dir(state.path().join(if agent { AGENTS } else { CACHES })) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Some(dir) = open_dir(rustix::fs::CWD, entry.path().as_path())? else { continue };
        let owner = entry.path().join(OWNER);
        let text = fs::read_to_string(&owner).unwrap_or_default();
        let Owner { project, worker, writes } = serde_json::from_str(&text).unwrap_or_default();
        let used = fs::metadata(&owner).ok().and_then(|facts| facts.mtime().try_into().ok());
        let mut size = Size::default();
        measure(&dir, &mut size, 0)?;
        all.push(Caches {
            id: entry.file_name().to_string_lossy().into_owned(),
            project,
            worker,
            writes,
            bytes: size.bytes,
            files: size.files.saturating_sub(1),
            used: used.unwrap_or_default(),
            agent,
        });
    }
    Ok(all)
}

/// Removes caches, links and all, and nothing that a link leads to. A sandbox that runs
/// meanwhile goes on with what it has open.
pub fn clear(state: &StateDir, caches: &Caches) -> io::Result<()> {
    let above = state.path().join(caches.above());
    let above = open_dir(rustix::fs::CWD, &above)?.ok_or(io::ErrorKind::NotADirectory)?;
    // Under another name first, so that no sandbox begins with half of it.
    let gone = format!(".{}-{}", caches.id, std::process::id());
    rustix::fs::renameat(&above, caches.id.as_str(), &above, gone.as_str())?;
    let top = open_dir(&above, Path::new(&gone))?.ok_or(io::ErrorKind::NotADirectory)?;
    let mut moved = 0_u64;
    loop {
        let names = names(&top)?;
        if names.is_empty() {
            break;
        }
        for (name, _) in names {
            remove(&top, &top, as_path(&name), 0, &mut moved)?;
        }
    }
    Ok(rustix::fs::unlinkat(&above, gone.as_str(), AtFlags::REMOVEDIR)?)
}

#[derive(Debug, Default)]
struct Size {
    bytes: u64,
    files: u64,
}

/// Opens a directory below another; `None` where there is something else. One that its owner
/// cannot read is made readable first, through a descriptor that no rename can redirect.
pub(crate) fn open_dir(above: impl AsFd, name: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |flags| rustix::fs::openat(&above, name, flags, Mode::empty());
    match open(flags | OFlags::RDONLY) {
        Ok(dir) => Ok(Some(dir)),
        Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Ok(None),
        #[cfg(target_os = "linux")]
        Err(rustix::io::Errno::ACCESS) => {
            let path = open(flags | OFlags::PATH)?;
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&path));
            rustix::fs::chmod(path, Mode::RWXU)?;
            Ok(Some(open(flags | OFlags::RDONLY)?))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the names in a directory, and whether each may be a directory.
pub(crate) fn names(dir: &OwnedFd) -> io::Result<Vec<(std::ffi::CString, bool)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let may_be_dir = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            _ => names.push((entry.file_name().to_owned(), may_be_dir)),
        }
    }
    Ok(names)
}

fn measure(dir: &OwnedFd, size: &mut Size, depth: usize) -> io::Result<()> {
    for (name, may_be_dir) in names(dir)? {
        let name = as_path(&name);
        // It may be gone since.
        let Ok(stat) = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        size.bytes = size.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0) * 512);
        match may_be_dir && depth < MAX_DEPTH {
            true => match open_dir(dir, name) {
                Ok(Some(below)) => measure(&below, size, depth + 1)?,
                Ok(None) => size.files += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            },
            false => size.files += 1,
        }
    }
    Ok(())
}

/// Removes a name in a directory and all below it. A directory that lies too deep is moved
/// to `top`, for the next round.
fn remove(
    top: &OwnedFd,
    above: &OwnedFd,
    name: &Path,
    depth: usize,
    moved: &mut u64,
) -> io::Result<()> {
    let Some(dir) = open_dir(above, name)? else {
        return Ok(rustix::fs::unlinkat(above, name, AtFlags::empty())?);
    };
    // Without this right nothing can be removed from it, and it cannot be moved.
    rustix::fs::fchmod(&dir, Mode::RWXU)?;
    if depth >= MAX_DEPTH {
        *moved += 1;
        // No cache has such a name.
        return Ok(rustix::fs::renameat(above, name, top, format!(" {moved}"))?);
    }
    for (name, may_be_dir) in names(&dir)? {
        let name = as_path(&name);
        match may_be_dir {
            true => remove(top, &dir, name, depth + 1, moved)?,
            false => rustix::fs::unlinkat(&dir, name, AtFlags::empty())?,
        }
    }
    Ok(rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?)
}

/// Removes a name in a directory and all below it, where there is something.
pub(crate) fn remove_below(above: &OwnedFd, name: &Path) -> io::Result<()> {
    let (mut moved, mut done) = (0, 0);
    match remove(above, above, name, 0, &mut moved) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    }
    while done < moved {
        done += 1;
        remove(above, above, Path::new(&format!(" {done}")), 0, &mut moved)?;
    }
    Ok(())
}

/// Removes a directory of ours and all below it.
pub(crate) fn remove_dir(dir: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (dir.parent(), dir.file_name()) else { return Ok(()) };
    let above = open_dir(rustix::fs::CWD, above)?.ok_or(io::ErrorKind::NotADirectory)?;
    remove_below(&above, Path::new(name))
}

fn as_path(name: &std::ffi::CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn owner(project: &str, worker: Option<&str>, writes: &[&str]) -> Owner {
        let writes = writes.iter().map(PathBuf::from).collect();
        Owner { project: project.into(), worker: worker.map(str::to_owned), writes }
    }

    #[test]
    fn caches_are_apart_by_project_worker_and_what_can_be_written() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::at(temp.path().join("state"));
        let open = |owner: &Owner| {
            owner.note_use(&state).unwrap();
            owner.open(&state, "go-build").unwrap();
            owner.path(&state, "go-build")
        };
        let cache = open(&owner("/p", None, &["/p"]));
        assert!(is_empty(&cache) && cache.starts_with(state.path()));
        fs::write(cache.join("a"), vec![1; 10_000]).unwrap();
        assert_eq!(open(&owner("/p", None, &["/p"])), cache);
        assert!(!is_empty(&cache));
        let others = [
            owner("/p", Some("w"), &["/p"]),
            owner("/q", None, &["/p"]),
            owner("/p", None, &[]),
            owner("/p", None, &["/p", "/q"]),
            owner("/p", None, &["/p/q"]),
        ];
        for other in &others {
            assert!(is_empty(&open(other)), "{other:?}");
        }
        let all = list(&state).unwrap();
        assert_eq!(all.len(), 1 + others.len());
        assert_eq!((all[0].project.to_str(), all[0].files), (Some("/p"), 1));
        assert!(all[0].bytes >= 10_000 && all[0].used > 0, "{:?}", all[0]);
        assert_eq!(all.iter().filter(|one| one.worker.as_deref() == Some("w")).count(), 1);
    }

    /// A cache is written by commands: links, directories without rights and names of every
    /// kind are removed, and nothing outside is touched.
    #[test]
    fn clearing_follows_no_link() {
        let temp = tempfile::tempdir().unwrap();
        let outside = temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a"), "kept").unwrap();
        fs::write(outside.join("large"), vec![1; 1_000_000]).unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
        let state = StateDir::at(temp.path().join("state"));
        let owner = owner("/p", None, &["/p"]);
        owner.note_use(&state).unwrap();
        owner.open(&state, "npm").unwrap();
        let cache = owner.path(&state, "npm");
        symlink(&outside, cache.join("dir")).unwrap();
        symlink(outside.join("a"), cache.join("file")).unwrap();
        fs::create_dir_all(cache.join("closed/below")).unwrap();
        symlink(&outside, cache.join("closed/below/dir")).unwrap();
        fs::set_permissions(cache.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        // A link in the place of a cache is none.
        symlink(&outside, owner.path(&state, "pip")).unwrap();
        assert!(owner.open(&state, "pip").is_err());

        let all = list(&state).unwrap();
        assert!(all[0].bytes < 100_000, "what links lead to is not counted");
        // Deeper than any path can be.
        let mut deep = open_dir(rustix::fs::CWD, &cache).unwrap().unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&deep, "d", Mode::RWXU).unwrap();
            deep = open_dir(&deep, Path::new("d")).unwrap().unwrap();
        }
        clear(&state, &all[0]).unwrap();
        assert_eq!(list(&state).unwrap(), []);
        assert!(fs::read_dir(state.path().join(CACHES)).unwrap().next().is_none());
        assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "kept");
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
