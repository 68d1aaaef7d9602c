//! Directories that have several paths, because a mount shows them elsewhere.
//!
//! Paths alone do not say whether one directory lies in another: `/mnt/b` may be
//! a second mount of `/data/a/b`, where neither the path nor any directory above
//! it tells. The table of mounts says which part of which file system each mount
//! shows; device and inode number confirm it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The mounts that this process sees.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// The file system, as the system numbers it.
    device: String,
    /// The directory of the file system that is shown.
    root: PathBuf,
    /// Where it is shown.
    point: PathBuf,
}

impl Mounts {
    /// Reads the table. Where the system has none, paths and inode numbers have to do.
    pub(crate) fn read() -> Self {
        fs::read("/proc/self/mountinfo")
            .map_or_else(|_| Mounts::default(), |text| Self::parse(&text))
    }

    fn parse(text: &[u8]) -> Self {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|&byte| byte == b' ').skip(2);
            let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
            let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
            Some(Mount { device, root, point })
        };
        Mounts(text.split(|&byte| byte == b'\n').filter_map(mount).collect())
    }

    /// Returns whether the tree below `outer` shows the directory `inner`, or would
    /// once it is made. Both paths are absolute and without links.
    pub(crate) fn holds(&self, outer: &Path, inner: &Path) -> bool {
        if inner.starts_with(outer) {
            return true;
        }
        // What does not exist yet will be where its parent is.
        let Some(inner) = inner.ancestors().find(|above| identity(above).is_ok()) else {
            return false;
        };
        let Ok(own) = identity(outer) else { return false };
        if inner.ancestors().any(|above| identity(above).is_ok_and(|above| above == own)) {
            return true;
        }
        let Some((device, place)) = self.origin(inner) else { return false };
        self.shown(outer).any(|(point, shows)| {
            if shows.0 != device {
                return false;
            }
            let Ok(below) = place.strip_prefix(shows.1) else { return false };
            match (identity(&point.join(below)), identity(inner)) {
                (Ok(found), Ok(inner)) => found == inner,
                // Another mount covers it there.
                (Err(error), _) if error.kind() == io::ErrorKind::NotFound => false,
                _ => true,
            }
        })
    }

    /// Returns whether the tree below `outer` shows any of what the tree below `inner`
    /// shows: that directory, or one that is mounted below it.
    pub(crate) fn holds_any(&self, outer: &Path, inner: &Path) -> bool {
        let below = self.0.iter().map(|mount| &*mount.point);
        let mut tops = below.filter(|point| point.starts_with(inner)).chain([inner]);
        tops.any(|top| self.holds(outer, top))
    }

    /// Returns where in which file system a path lies.
    fn origin(&self, path: &Path) -> Option<(&str, PathBuf)> {
        let over = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        // The last of several mounts at a place covers the others.
        let mount = over.max_by_key(|mount| mount.point.components().count())?;
        let below = path.strip_prefix(&mount.point).ok()?;
        Some((&mount.device, mount.root.join(below)))
    }

    /// Returns what a tree shows: the directory itself, and all that is mounted below
    /// it, each with its path and where that lies.
    fn shown<'m>(
        &'m self,
        dir: &'m Path,
    ) -> impl Iterator<Item = (&'m Path, (&'m str, PathBuf))> + 'm {
        let own = self.origin(dir).map(|origin| (dir, origin));
        let below = self.0.iter().filter(move |mount| mount.point.starts_with(dir));
        let below = below.map(|mount| (&*mount.point, (mount.device.as_str(), mount.root.clone())));
        own.into_iter().chain(below)
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|facts| (facts.dev(), facts.ino()))
}

/// Returns a path of the table, where blanks and the like are written in octal.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_as_the_system_writes_it() {
        let text = b"21 1 0:20 / / rw - overlay overlay rw\n\
                     30 21 8:1 /data/a\\040b /mnt/a\\134b\\011 rw,nosuid shared:7 - ext4 /dev/sda1 rw\n\
                     short line\n";
        let mounts = Mounts::parse(text);
        let mount = |device: &str, root: &str, point: &str| Mount {
            device: device.into(),
            root: root.into(),
            point: point.into(),
        };
        assert_eq!(mounts.0, [mount("0:20", "/", "/"), mount("8:1", "/data/a b", "/mnt/a\\b\t")]);
        let origin = |path: &str| mounts.origin(Path::new(path)).unwrap();
        assert_eq!(origin("/etc/x"), ("0:20", PathBuf::from("/etc/x")));
        assert_eq!(origin("/mnt/a\\b\t/c"), ("8:1", PathBuf::from("/data/a b/c")));
    }

    /// The table says what the mounts would be; the directories are real, so that
    /// their numbers can be compared.
    #[test]
    fn a_directory_is_found_behind_another_mount() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in ["data/sub/deep", "other"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        let at = |path: &str| base.join(path);
        let none = Mounts::default();
        for (outer, inner, holds) in [
            ("data", "data/sub", true),
            ("data", "data/missing/deep", true),
            ("data/sub", "data", false),
            ("data", "other", false),
            ("missing", "data", false),
        ] {
            assert_eq!(none.holds(&at(outer), &at(inner)), holds, "{outer} {inner}");
        }
        let text = base.to_str().unwrap();
        // As if `other` were another mount of what `data` lies in: it is not, and
        // its number says so.
        let table = format!("1 1 9:9 / {text} rw\n2 1 9:9 /data/sub {text}/other rw\n");
        let mounts = Mounts::parse(table.as_bytes());
        assert_eq!(mounts.origin(&at("other/deep")).unwrap().1, Path::new("/data/sub/deep"));
        assert!(!mounts.holds(&at("data"), &at("other")));
    }
}
