//! Whether a repository has the content of a file: then hiding the file hides nothing, because
//! every command that can read the repository can read the content there.
//!
//! The answer is found without git, whose settings could make it run programs: the content is
//! hashed as git does it, and the hash is looked up among the loose objects and in the indexes
//! of the packs. A command that plants an object would have to know the hash, and so the
//! content.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha1::{Digest, Sha1};

/// The largest file that is compared.
const MAX_FILE: u64 = 1024 * 1024;
/// The largest file of a repository that leads to another directory.
const MAX_LINK: u64 = 4096;
/// How many packs are searched.
const MAX_PACKS: usize = 256;

/// Returns whether the repository that a file below `top` lies in, and that lies below `top`
/// itself, has the content of the file.
pub(crate) fn is_committed(top: &Path, file: &Path) -> bool {
    let found = || {
        let content = read(file, MAX_FILE)?;
        let head = format!("blob {}\0", content.len());
        let hash = Sha1::new().chain_update(head).chain_update(&content).finalize();
        Some(has_object(&objects(top, file)?, &hash))
    };
    found().unwrap_or(false)
}

/// Returns the directory of the objects of the repository that a file lies in.
fn objects(top: &Path, file: &Path) -> Option<PathBuf> {
    let above = file.ancestors().skip(1).take_while(|dir| dir.starts_with(top));
    let git = above.map(|dir| dir.join(".git")).find(|git| git.symlink_metadata().is_ok())?;
    // Linked work trees and submodules have a file that leads to the directory.
    let git = match git.is_dir() {
        true => git,
        false => git.parent()?.join(text(&git)?.strip_prefix("gitdir: ")?),
    };
    let common = text(&git.join("commondir")).map(|common| git.join(common)).unwrap_or(git);
    let objects = common.join("objects").canonicalize().ok()?;
    // Commands can read it there.
    objects.starts_with(top.canonicalize().ok()?).then_some(objects)
}

fn text(path: &Path) -> Option<String> {
    let text = String::from_utf8(read(path, MAX_LINK)?).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

fn open(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

/// Reads a whole regular file that is no link.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let file = open(path)?;
    let mut content = Vec::new();
    (&file).take(most + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= most).then_some(content)
}

fn has_object(objects: &Path, hash: &[u8]) -> bool {
    let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let (dir, rest) = name.split_at(2);
    if open(&objects.join(dir).join(rest)).is_some() {
        return true;
    }
    let packs = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    let mut indexes = packs
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "idx"));
    indexes.by_ref().take(MAX_PACKS).any(|index| in_index(&index, hash).unwrap_or(false))
}

/// Looks up a hash in the index of a pack, version 2: a header, 256 counts by first byte, and
/// the hashes in order.
fn in_index(path: &Path, hash: &[u8]) -> Option<bool> {
    const HEADER: u64 = 8;
    const HASHES: u64 = HEADER + 256 * 4;
    let index = open(path)?;
    let mut header = [0; HEADER as usize];
    index.read_exact_at(&mut header, 0).ok()?;
    if header != *b"\xfftOc\0\0\0\x02" {
        return None;
    }
    let count = |byte: u8| {
        let mut count = [0; 4];
        index.read_exact_at(&mut count, HEADER + u64::from(byte) * 4).ok()?;
        Some(u64::from(u32::from_be_bytes(count)))
    };
    let first = *hash.first()?;
    let mut low = first.checked_sub(1).map_or(Some(0), count)?;
    let mut high = count(first)?;
    let mut held = vec![0; hash.len()];
    while low < high {
        let middle = low + (high - low) / 2;
        index.read_exact_at(&mut held, HASHES + middle * hash.len() as u64).ok()?;
        match held.as_slice().cmp(hash) {
            std::cmp::Ordering::Equal => return Some(true),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[track_caller]
    fn git(dir: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir);
        command.args(["-c", "user.name=a", "-c", "user.email=b", "-c", "gc.auto=0"]);
        let output = command.args(args).output().expect("git runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn content_of_a_commit_is_found_loose_packed_and_in_linked_work_trees() {
        let temp = tempfile::tempdir().expect("a directory");
        let top = temp.path().join("top");
        let (repo, secret) = (top.join("repo"), top.join("repo/sub/.netrc"));
        fs::create_dir_all(repo.join("sub")).expect("directories");
        fs::write(&secret, "machine a\n").expect("a file");
        assert!(!is_committed(&top, &secret), "there is no repository");
        git(&repo, &["init", "-q"]);
        assert!(!is_committed(&top, &secret), "it is not tracked");
        git(&repo, &["add", "."]);
        assert!(is_committed(&top, &secret), "it is staged");
        for number in 0..300 {
            fs::write(repo.join(format!("{number}")), format!("{number}")).expect("a file");
        }
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "-qm", "1"]);
        git(&repo, &["repack", "-qad"]);
        git(&repo, &["prune-packed"]);
        for number in 0..300 {
            assert!(is_committed(&top, &repo.join(format!("{number}"))), "{number}");
        }
        assert!(is_committed(&top, &secret), "it is packed");
        git(&repo, &["worktree", "add", "-q", "../linked"]);
        assert!(is_committed(&top, &top.join("linked/sub/.netrc")));
        // Commands that get the work tree alone do not see the objects.
        assert!(!is_committed(&top.join("linked"), &top.join("linked/sub/.netrc")));
        fs::write(&secret, "machine b\n").expect("a file");
        assert!(!is_committed(&top, &secret), "it has other content");
        let link = repo.join("sub/link");
        std::os::unix::fs::symlink("../1", &link).expect("a link");
        assert!(!is_committed(&top, &link), "a link is no file");
    }
}
