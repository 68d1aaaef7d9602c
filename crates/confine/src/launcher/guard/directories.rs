//! Which directories were there before a command ran.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use zonekeep_policy::path::RelPath;

/// Paths of directories, each as a hash. Two that have the same by chance, or differ in
/// case only, count as one: a directory is then not taken for a new one.
#[derive(Debug, Default)]
pub(super) struct Directories {
    hasher: RandomState,
    before: HashSet<u64>,
    /// Those that appeared since the last command ended.
    new: HashSet<u64>,
}

impl Directories {
    /// Notes a directory that is the user's, or that an earlier command left.
    pub(super) fn see_old(&mut self, zone: &Path, path: &RelPath) {
        self.before.insert(self.hash(zone, path));
    }

    /// Notes a directory while commands may run.
    pub(super) fn see(&mut self, zone: &Path, path: &RelPath) {
        let hash = self.hash(zone, path);
        if !self.before.contains(&hash) {
            self.new.insert(hash);
        }
    }

    /// Returns whether nothing was at the path of a directory before the command.
    pub(super) fn is_new(&self, zone: &Path, path: &RelPath) -> bool {
        let hash = self.hash(zone, path);
        self.new.contains(&hash) && !self.before.contains(&hash)
    }

    /// Counts all that is there as old.
    pub(super) fn end_command(&mut self) {
        self.before.extend(self.new.drain());
    }

    fn hash(&self, zone: &Path, path: &RelPath) -> u64 {
        let mut names: Vec<Vec<u8>> = Vec::new();
        names.extend(zone.iter().map(|name| name.as_encoded_bytes().to_ascii_lowercase()));
        names.extend(path.names().map(<[u8]>::to_ascii_lowercase));
        self.hasher.hash_one(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_new_until_the_command_has_ended() {
        let path = |text: &str| text.split('/').fold(RelPath::root(), |p, n| p.join(n.as_bytes()));
        let (zone, inner) = (Path::new("/z"), Path::new("/z/a"));
        let mut directories = Directories::default();
        directories.see_old(zone, &path("a/old"));
        for name in ["a/old", "a/OLD", "a/new"] {
            directories.see(zone, &path(name));
        }
        assert!(directories.is_new(zone, &path("a/new")));
        assert!(directories.is_new(inner, &path("new")), "by a zone in the zone");
        assert!(!directories.is_new(zone, &path("a/old")) && !directories.is_new(zone, &path("x")));
        assert!(!directories.is_new(zone, &path("a/OLD")));
        directories.end_command();
        directories.see(zone, &path("a/new"));
        assert!(!directories.is_new(zone, &path("a/new")));
    }
}
