//! Where sockets lie: a directory that only the user can enter.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::approve::{Opening, Unfit};
use crate::state::StateDir;

/// The longest path that the address of a socket has room for.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Where a socket is to lie.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// Where `zonekeep approve` looks.
    OfUser(StateDir),
    /// At this path.
    At(PathBuf),
}

/// A socket that is listened on, and the key that opens it.
pub(super) struct Bound {
    pub(super) listener: UnixListener,
    pub(super) path: PathBuf,
    pub(super) key: String,
}

impl Place {
    /// Makes the socket of a session, if its place is fit for one.
    pub(super) fn bind(&self, opening: &Opening<'_>) -> Result<Bound, Unfit> {
        let path = match self {
            Place::OfUser(state) => runtime_dir()
                .unwrap_or_else(|| state.path().join("approve"))
                .join(format!("{}-{}.sock", project_key(opening.project), opening.session)),
            Place::At(path) => std::path::absolute(path).map_err(failed(path))?,
        };
        if let Some((within, _)) = opening.exposed(&path) {
            let within = within.to_owned();
            return Err(Unfit::Reachable { path, within });
        }
        let dir = path.parent().unwrap_or(Path::new("/")).to_owned();
        if let Place::OfUser(state) = self {
            state.make("").map_err(failed(state.path()))?;
            super::running(state);
        }
        make_private(&dir)?;
        bind(&dir, &path)
    }
}

/// Binds under another name and moves the socket into place once it is
/// listened on: whoever finds it can attach, and what refuses them is stale.
fn bind(dir: &Path, path: &Path) -> Result<Bound, Unfit> {
    let mut random = [0; 36];
    getrandom::fill(&mut random).map_err(|error| failed(path)(io::Error::other(error)))?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let (name, key) = hex.split_at(8);
    let temporary = dir.join(format!(".{name}"));
    let longest = [path, &temporary].map(|path| path.as_os_str().len()).into_iter().max();
    if longest > Some(MAX_PATH) {
        return Err(Unfit::TooLong { path: path.to_owned(), max: MAX_PATH });
    }
    let taken = |what| Unfit::Taken { path: path.to_owned(), what };
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.file_type().is_socket() => return Err(taken("something else")),
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(taken("a session's socket")),
        _ => {}
    }
    let listener = UnixListener::bind(&temporary).map_err(failed(path))?;
    let made = (|| {
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        write_key(&key_path(path), key)?;
        fs::rename(&temporary, path)
    })();
    if let Err(error) = made {
        let _ = fs::remove_file(&temporary);
        return Err(failed(path)(error));
    }
    Ok(Bound { listener, path: path.to_owned(), key: key.to_owned() })
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Unfit {
    move |source| Unfit::Failed { path: path.to_owned(), source }
}

/// Returns where the key of a socket lies.
pub(super) fn key_path(socket: &Path) -> PathBuf {
    socket.with_extension("key")
}

fn write_key(path: &Path, key: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, key.as_bytes())
}

/// Removes a socket and its key.
pub(super) fn remove(socket: &Path) {
    let _ = fs::remove_file(socket);
    let _ = fs::remove_file(key_path(socket));
}

/// Returns the sockets of the user's sessions, stale ones included.
pub(super) fn sockets(state: &StateDir) -> Vec<PathBuf> {
    let dirs = runtime_dir().into_iter().chain([state.path().join("approve")]);
    let mut found = Vec::new();
    for dir in dirs.filter(|dir| is_private(dir)) {
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path()).filter(|path| {
            path.extension().is_some_and(|ext| ext == "sock")
                && fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket())
        }));
    }
    found.sort();
    found
}

/// Returns the directory for sockets that the system empties when the user
/// logs out, where there is one and it is the user's alone.
fn runtime_dir() -> Option<PathBuf> {
    let dir = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    (dir.is_absolute() && is_private(&dir)).then(|| dir.join("zonekeep"))
}

/// Returns whether nobody but the user can enter a directory.
fn is_private(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|facts| {
        facts.is_dir() && facts.uid() == geteuid().as_raw() && facts.mode() & 0o077 == 0
    })
}

fn make_private(dir: &Path) -> Result<(), Unfit> {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failed(dir)(error));
        }
        _ => {}
    }
    if is_private(dir) { Ok(()) } else { Err(Unfit::NotPrivate { path: dir.to_owned() }) }
}

fn project_key(project: &Path) -> String {
    let digest = Sha256::digest(project.as_os_str().as_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
