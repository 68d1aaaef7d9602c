//! Where names lead: what a link stands for, and where git looks for what its
//! configuration names.
//!
//! All of this is looked at by path, on the host. It only ever guards more.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// How many links are followed, as in the kernel.
const MAX_LINKS: usize = 40;
/// How many work trees of a repository are looked for.
const MAX_TREES: usize = 1000;
/// How much is read of a file that names a work tree.
const MAX_NAME: u64 = 4096;

/// Follows an absolute path and returns every link on the way, and the end of it,
/// which need not exist. A path that leads nowhere for sure has no end.
pub(super) fn follow(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut real = PathBuf::from("/");
    let mut ahead: Vec<PathBuf> = names(path);
    while let Some(name) = ahead.pop() {
        if name == Path::new("..") {
            real.pop();
            continue;
        }
        let next = real.join(name);
        match fs::read_link(&next) {
            Ok(_) if found.len() >= MAX_LINKS => return found,
            Ok(text) => {
                if text.is_absolute() {
                    real = PathBuf::from("/");
                }
                ahead.extend(names(&text));
                found.push(next);
            }
            Err(_) => real = next,
        }
    }
    found.push(real);
    found
}

/// Returns the names in a path, the last one first.
fn names(path: &Path) -> Vec<PathBuf> {
    let matters =
        |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().rev().filter(matters).map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Returns the paths that a text in a configuration of git can mean: from the home
/// directory, from the configuration's own, or from a work tree.
pub(super) fn meant(text: &[u8], git_dir: &Path, home: &Path) -> Vec<PathBuf> {
    let path = Path::new(OsStr::from_bytes(text));
    if path.is_absolute() {
        return vec![path.to_owned()];
    }
    if let Some(rest) = text.strip_prefix(b"~/") {
        let path = home.join(OsStr::from_bytes(rest));
        return if path.is_absolute() { vec![path] } else { Vec::new() };
    }
    let mut bases = work_trees(git_dir);
    bases.push(git_dir.to_owned());
    bases.iter().map(|base| base.join(path)).collect()
}

/// Returns the work trees of a repository: the one around it, and those that were
/// added to it.
fn work_trees(git_dir: &Path) -> Vec<PathBuf> {
    let is_around = git_dir.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    let around = git_dir.parent().filter(|_| is_around).map(Path::to_owned);
    let added = fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten();
    let added = added.take(MAX_TREES).filter_map(|entry| {
        let dir = entry.path();
        let mut text = Vec::new();
        let file = fs::File::open(dir.join("gitdir")).ok()?;
        file.take(MAX_NAME).read_to_end(&mut text).ok()?;
        // The file `.git` in the tree.
        let named = dir.join(OsStr::from_bytes(text.trim_ascii_end()));
        named.parent().map(Path::to_owned)
    });
    around.into_iter().chain(added).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        symlink("b", top.join("a/to-b")).unwrap();
        symlink(top.join("a/to-b/./file"), top.join("first")).unwrap();
        symlink("../nowhere/x", top.join("a/dangling")).unwrap();
        symlink("round", top.join("round")).unwrap();
        let cases: [(&str, &[&str]); 5] = [
            ("first", &["first", "a/to-b", "a/b/file"]),
            ("a/dangling", &["a/dangling", "nowhere/x"]),
            ("a//./b/../b/file", &["a/b/file"]),
            ("missing/../x", &["x"]),
            ("../../../../../../../../..", &["/"]),
        ];
        for (path, want) in cases {
            let want: Vec<PathBuf> = want.iter().map(|path| top.join(path)).collect();
            assert_eq!(follow(&top.join(path)), want, "{path}");
        }
        assert_eq!(follow(&top.join("round")).len(), MAX_LINKS);
    }

    #[test]
    fn what_a_configuration_means_depends_on_where_it_is() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        let git = top.join("repo/.git");
        for (name, text) in [("one", "/trees/one/.git\n"), ("two", "../../../../two/.git\n")] {
            fs::create_dir_all(git.join("worktrees").join(name)).unwrap();
            fs::write(git.join("worktrees").join(name).join("gitdir"), text).unwrap();
        }
        let home = Path::new("/home/ann");
        let meant = |text: &str| {
            let mut found = meant(text.as_bytes(), &git, home);
            found.sort();
            found
        };
        assert_eq!(meant("/x//y"), [Path::new("/x//y")]);
        assert_eq!(meant("~/h"), [Path::new("/home/ann/h")]);
        let worktrees = git.join("worktrees/two/../../../../two/h");
        let mut want = vec!["/trees/one/h".into(), top.join("repo/h"), git.join("h"), worktrees];
        want.sort();
        assert_eq!(meant("h"), want);
        let bare = super::meant(b"h", &top.join("repo.git"), home);
        assert_eq!(bare, [top.join("repo.git/h")]);
    }
}
