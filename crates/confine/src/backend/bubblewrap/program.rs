//! The `bwrap` of the system.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where systems put it. Nothing is looked for in `PATH`, which may lead to
/// places that others can write.
const PLACES: [&str; 6] = [
    "/usr/bin",
    "/usr/local/bin",
    "/bin",
    "/run/wrappers/bin",
    "/run/current-system/sw/bin",
    "/run/current-system/profile/bin",
];

/// What `bwrap` there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bwrap {
    pub(crate) path: PathBuf,
    /// As it says.
    pub(crate) version: String,
    /// Whether it can close user namespaces inside.
    pub(crate) closes_namespaces: bool,
    /// Whether it can limit private memory.
    pub(crate) limits_memory: bool,
}

/// Finds it, and asks what it can do.
pub(crate) fn find() -> io::Result<Bwrap> {
    let paths = || PLACES.iter().map(|place| Path::new(place).join("bwrap"));
    let path = paths().find(|path| is_of_the_system(path)).ok_or_else(|| {
        match paths().find(|path| path.exists()) {
            Some(path) => {
                let why = "can be changed by others than the superuser";
                io::Error::other(format!("{} {why}", path.display()))
            }
            None => io::Error::new(io::ErrorKind::NotFound, "bwrap is not installed"),
        }
    })?;
    let version = ask(&path, "--version")?;
    let version = version.split_whitespace().last().unwrap_or("unknown").to_owned();
    let help = ask(&path, "--help")?;
    let offers = |option: &str| help.split_whitespace().any(|word| word == option);
    let set_uid = path.metadata()?.mode() & 0o4000 != 0;
    if !["--args", "--perms", "--info-fd", "--as-pid-1"].into_iter().all(offers) {
        return Err(io::Error::other(format!("bwrap {version} is too old; 0.5 is needed")));
    }
    Ok(Bwrap {
        closes_namespaces: offers("--disable-userns") && !set_uid,
        limits_memory: offers("--size") && !set_uid,
        path,
        version,
    })
}

/// Returns whether a program is there that only the superuser can change.
fn is_of_the_system(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    real.is_file()
        && real.ancestors().all(|part| {
            part.metadata().is_ok_and(|stat| stat.uid() == 0 && stat.mode() & 0o022 == 0)
        })
}

fn ask(path: &Path, option: &str) -> io::Result<String> {
    let output = Command::new(path)
        .arg(option)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
