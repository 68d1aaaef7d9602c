//! Reads the objects of a repository, and hashes each again.
//!
//! Git only reads them, in a directory of its own without the repository's configuration.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// How many objects are read from one repository.
const MAX_OBJECTS: usize = 40_000;
/// The largest object that is read.
const MAX_OBJECT: u64 = 16 * 1024 * 1024;

/// The id of an object: SHA-1 or SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Id(pub(super) String);

impl Id {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let is_hex = text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let text = std::str::from_utf8(text).ok()?;
        (is_hex && matches!(text.len(), 40 | 64)).then(|| Id(text.to_owned()))
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Id(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// How a repository names objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Sha1,
    Sha256,
}

impl Format {
    pub(super) fn of(id: &Id) -> Self {
        if id.0.len() == 64 { Format::Sha256 } else { Format::Sha1 }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Format::Sha1 => 20,
            Format::Sha256 => 32,
        }
    }

    pub(super) fn id(self, kind: &str, content: &[u8]) -> Id {
        let head = format!("{kind} {}\0", content.len());
        match self {
            Format::Sha1 => {
                Id::of_bytes(&Sha1::new().chain_update(head).chain_update(content).finalize())
            }
            Format::Sha256 => {
                Id::of_bytes(&Sha256::new().chain_update(head).chain_update(content).finalize())
            }
        }
    }
}

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tree,
    File,
    Link,
}

impl Kind {
    pub(super) fn of(is_link: bool) -> Self {
        if is_link { Kind::Link } else { Kind::File }
    }

    fn of_mode(mode: &[u8]) -> Option<Self> {
        match mode {
            b"40000" => Some(Kind::Tree),
            b"120000" => Some(Kind::Link),
            mode if mode.starts_with(b"100") => Some(Kind::File),
            _ => None,
        }
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: Id,
    pub(super) kind: Kind,
}

/// Goes through the commits, as far as they are asked for.
#[derive(Debug)]
pub(super) struct Walk {
    reader: Option<Reader>,
    format: Format,
    /// Commits to be read.
    ahead: VecDeque<Id>,
    seen: HashSet<Id>,
    /// The trees of the commits that were read, each once.
    roots: VecDeque<Id>,
    entries: HashMap<(Id, Vec<u8>), Option<Found>>,
    left: usize,
}

impl Walk {
    pub(super) fn new(git: &Path, state: &Path, dir: &Path, tips: &[Id], format: Format) -> Self {
        // The latest are the likeliest.
        let ahead: VecDeque<Id> = tips.iter().rev().cloned().collect();
        Walk {
            reader: Reader::start(git, state, dir, format).ok(),
            format,
            seen: ahead.iter().cloned().collect(),
            ahead,
            roots: VecDeque::new(),
            entries: HashMap::new(),
            left: MAX_OBJECTS,
        }
    }

    /// Returns whether any commit has an entry at a path.
    pub(super) fn finds(&mut self, names: &[&[u8]], wanted: &Found) -> bool {
        let mut tried = HashSet::new();
        let mut next = 0;
        loop {
            while next < self.roots.len() {
                let root = self.roots[next].clone();
                next += 1;
                if self.descend(root, names, &mut tried).as_ref() == Some(wanted) {
                    return true;
                }
            }
            if !self.read_commit() {
                return false;
            }
        }
    }

    /// Reads the next commit; returns whether there was one.
    fn read_commit(&mut self) -> bool {
        let Some(id) = self.ahead.pop_front() else { return false };
        let Some((kind, content)) = self.object(&id) else { return self.left > 0 };
        let head = content.split(|&byte| byte == b'\n').take_while(|line| !line.is_empty());
        for line in head {
            let Some(space) = line.iter().position(|&byte| byte == b' ') else { continue };
            let Some(named) = Id::parse(&line[space + 1..]) else { continue };
            let list = match (kind.as_str(), &line[..space]) {
                ("commit", b"parent") | ("tag", b"object") => &mut self.ahead,
                ("commit", b"tree") => &mut self.roots,
                _ => continue,
            };
            if self.seen.insert(named.clone()) {
                list.push_back(named);
            }
        }
        true
    }

    /// Goes down from a tree; returns nothing for what was tried before.
    fn descend(
        &mut self,
        root: Id,
        names: &[&[u8]],
        tried: &mut HashSet<(Id, usize)>,
    ) -> Option<Found> {
        let mut here = Found { id: root, kind: Kind::Tree };
        for (depth, name) in names.iter().enumerate() {
            if here.kind != Kind::Tree || !tried.insert((here.id.clone(), depth)) {
                return None;
            }
            here = self.entry(&here.id, name)?;
        }
        Some(here)
    }

    fn entry(&mut self, tree: &Id, name: &[u8]) -> Option<Found> {
        let key = (tree.clone(), name.to_vec());
        if let Some(known) = self.entries.get(&key) {
            return known.clone();
        }
        let object = self.object(tree).filter(|(kind, _)| kind == "tree");
        let found = object.and_then(|(_, content)| find(&content, name, self.format.bytes()));
        self.entries.insert(key, found.clone());
        found
    }

    /// Reads an object that has the content that its id says.
    fn object(&mut self, id: &Id) -> Option<(String, Vec<u8>)> {
        self.left = self.left.checked_sub(1)?;
        let (kind, content) = match self.reader.as_mut()?.read(id) {
            Ok(object) => object?,
            Err(_) => {
                self.reader = None;
                self.left = 0;
                return None;
            }
        };
        (self.format.id(&kind, &content) == *id).then_some((kind, content))
    }
}

/// Finds an entry in the content of a tree.
fn find(content: &[u8], name: &[u8], id_bytes: usize) -> Option<Found> {
    let mut rest = content;
    while !rest.is_empty() {
        let space = rest.iter().position(|&byte| byte == b' ')?;
        let end = rest.iter().position(|&byte| byte == 0).filter(|&end| end > space)?;
        let id = rest.get(end + 1..end + 1 + id_bytes)?;
        if &rest[space + 1..end] == name {
            return Some(Found { id: Id::of_bytes(id), kind: Kind::of_mode(&rest[..space])? });
        }
        rest = &rest[end + 1 + id_bytes..];
    }
    None
}

/// A running `git cat-file`.
#[derive(Debug)]
struct Reader {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Reader {
    fn start(git: &Path, state: &Path, dir: &Path, format: Format) -> io::Result<Self> {
        let view = own_git_dir(state, format)?;
        let mut child = Command::new(git)
            .args(["--no-replace-objects", "-c", "core.commitGraph=false", "cat-file", "--batch"])
            .env_clear()
            .env("GIT_DIR", &view)
            .env("GIT_OBJECT_DIRECTORY", dir.join("objects"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .current_dir(&view)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Reader { child, input, output: BufReader::new(output) })
    }

    /// Returns the type and content of an object, where there is one.
    fn read(&mut self, id: &Id) -> io::Result<Option<(String, Vec<u8>)>> {
        self.input.write_all(format!("{}\n", id.0).as_bytes())?;
        let mut head = String::new();
        if self.output.by_ref().take(1024).read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let words: Vec<&str> = head.split_ascii_whitespace().collect();
        let [_, kind, size] = words[..] else { return Ok(None) };
        let size: u64 = size.parse().map_err(io::Error::other)?;
        if size > MAX_OBJECT {
            io::copy(&mut self.output.by_ref().take(size + 1), &mut io::sink())?;
            return Ok(None);
        }
        let mut content = vec![0; size as usize + 1];
        self.output.read_exact(&mut content)?;
        content.pop();
        Ok(Some((kind.to_owned(), content)))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a directory that git takes for a repository, without objects or settings.
fn own_git_dir(state: &Path, format: Format) -> io::Result<PathBuf> {
    let (name, config) = match format {
        Format::Sha1 => ("sha1", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
        Format::Sha256 => (
            "sha256",
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n",
        ),
    };
    let dir = state.join(name);
    for part in ["objects", "refs"] {
        fs::create_dir_all(dir.join(part))?;
    }
    for (name, text) in [("config", config), ("HEAD", "ref: refs/heads/none\n")] {
        let path = dir.join(name);
        // Git of another sandbox may be reading it: a file that is rewritten in place is
        // empty for a moment, and that git then finds no repository and no commits.
        if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        let fresh = dir.join(format!("{name}.{}.new", std::process::id()));
        fs::write(&fresh, text)?;
        fs::rename(fresh, path)?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_second_reader_does_not_rewrite_what_the_first_reads() {
        let state = tempfile::tempdir().unwrap();
        let dir = own_git_dir(state.path(), Format::Sha1).unwrap();
        let files = ["config", "HEAD"].map(|name| dir.join(name));
        for file in &files {
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        own_git_dir(state.path(), Format::Sha1).unwrap();
        for file in &files {
            let modified = fs::metadata(file).unwrap().modified().unwrap();
            assert_eq!(modified, SystemTime::UNIX_EPOCH, "{}", file.display());
        }
    }
}
