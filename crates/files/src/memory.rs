//! A store in memory, for tests and for trees that are not on disk.
//!
//! Keeps the rules of the host's directories, links included, so that whatever
//! holds for one holds for the other.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use zonekeep_policy::path::{RelPath, is_plain_name};

use crate::fault::Fault;
use crate::fingerprint;
use crate::lookup::{self, link_target};
use crate::root::{
    Dir, File, Held, Kind, Lock, Meta, Overwrite, Permissions, Source, Store, Version,
};

/// How long somebody else may hold a directory before we give up.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many entries are copied at once for a listing.
const LISTING: usize = 1024;
/// How much is copied at once.
const CHUNK: usize = 128 * 1024;
const ROOT: u64 = 0;

/// A tree of files in memory. Clones share the tree.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    tree: Arc<Tree>,
}

#[derive(Debug, Default)]
struct Tree {
    nodes: Mutex<Nodes>,
    locked: Mutex<HashSet<u64>>,
    unlocked: Condvar,
}

#[derive(Debug)]
struct Nodes {
    nodes: HashMap<u64, Node>,
    last: u64,
}

#[derive(Debug, Clone)]
enum Node {
    File(Content),
    Dir { parent: u64, entries: BTreeMap<Vec<u8>, u64> },
    Link(Vec<u8>),
}

#[derive(Debug, Clone)]
struct Content {
    bytes: Arc<Vec<u8>>,
    mode: u32,
    modified: SystemTime,
    changes: i64,
}

impl Default for Nodes {
    fn default() -> Self {
        let root = Node::Dir { parent: ROOT, entries: BTreeMap::new() };
        Nodes { nodes: HashMap::from([(ROOT, root)]), last: ROOT }
    }
}

impl Nodes {
    fn dir(&self, id: u64) -> Result<&BTreeMap<Vec<u8>, u64>, Fault> {
        match self.nodes.get(&id) {
            Some(Node::Dir { entries, .. }) => Ok(entries),
            Some(_) => Err(Fault::NotADirectory),
            None => Err(Fault::not_found()),
        }
    }

    fn dir_mut(&mut self, id: u64) -> Result<&mut BTreeMap<Vec<u8>, u64>, Fault> {
        match self.nodes.get_mut(&id) {
            Some(Node::Dir { entries, .. }) => Ok(entries),
            Some(_) => Err(Fault::NotADirectory),
            None => Err(Fault::not_found()),
        }
    }

    fn find(&self, dir: u64, name: &[u8]) -> Result<Option<(u64, &Node)>, Fault> {
        if !is_plain_name(name) {
            return Err(Fault::Outside);
        }
        if name.len() > 255 {
            return Err(Fault::NameTooLong);
        }
        let id = self.dir(dir)?.get(name);
        Ok(id.and_then(|&id| Some((id, self.nodes.get(&id)?))))
    }

    fn get(&self, dir: u64, name: &[u8]) -> Result<(u64, &Node), Fault> {
        self.find(dir, name)?.ok_or_else(Fault::not_found)
    }

    fn add(&mut self, dir: u64, name: &[u8], node: Node) -> Result<(), Fault> {
        self.last += 1;
        let id = self.last;
        self.dir_mut(dir)?.insert(name.to_vec(), id);
        self.nodes.insert(id, node);
        Ok(())
    }

    fn remove(&mut self, dir: u64, name: &[u8]) -> Result<(), Fault> {
        if let Some(id) = self.dir_mut(dir)?.remove(name) {
            self.nodes.remove(&id);
        }
        Ok(())
    }

    /// Returns whether `inner` is `outer` or below it.
    fn is_within(&self, mut inner: u64, outer: u64) -> bool {
        loop {
            match self.nodes.get(&inner) {
                _ if inner == outer => return true,
                Some(&Node::Dir { parent, .. }) if inner != ROOT => inner = parent,
                _ => return false,
            }
        }
    }
}

fn meta(id: u64, node: &Node) -> Meta {
    let plain = |kind, size, mode| Meta {
        kind,
        size,
        mode,
        modified: SystemTime::UNIX_EPOCH,
        links: 1,
        owner: None,
        version: Version { node: id, size, ..Version::default() },
    };
    match node {
        Node::Dir { .. } => plain(Kind::Dir, 0, 0o755),
        Node::Link(target) => plain(Kind::Link, target.len() as u64, 0o777),
        Node::File(content) => {
            let mut meta = plain(Kind::File, content.bytes.len() as u64, content.mode);
            meta.modified = content.modified;
            meta.version.changed.0 = content.changes;
            meta
        }
    }
}

impl MemoryStore {
    /// Returns an empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a link with the text `target`, and the directories above it.
    pub fn symlink(&self, path: &RelPath, target: &[u8]) -> Result<(), Fault> {
        let (parent, name) = path.split_last().ok_or(Fault::Exists)?;
        let dir = self.make_dirs(&parent)?;
        let dir = dir.as_any().downcast_ref::<MemoryDir>().expect("our own directories");
        let mut nodes = self.tree.nodes();
        if nodes.find(dir.id, name)?.is_some() {
            return Err(Fault::Exists);
        }
        nodes.add(dir.id, name, Node::Link(target.to_vec()))
    }
}

impl Tree {
    /// No method leaves the tree half changed, so a panic elsewhere does no harm.
    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn root(&self) -> Result<Box<dyn Dir>, Fault> {
        Ok(Box::new(MemoryDir { tree: Arc::clone(&self.tree), id: ROOT, real: RelPath::root() }))
    }

    fn open_plain_dir(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault> {
        path.names().try_fold(self.root()?, |dir, name| dir.open_dir(name))
    }

    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn open_dir(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault> {
        lookup::open_dir(self, path)
    }
}

#[derive(Debug)]
struct MemoryDir {
    tree: Arc<Tree>,
    id: u64,
    real: RelPath,
}

impl MemoryDir {
    fn link_fault(&self, target: &[u8]) -> Fault {
        Fault::Link { target: link_target(&self.real, target) }
    }

    fn file<'a>(&self, node: &'a Node) -> Result<&'a Content, Fault> {
        match node {
            Node::File(content) => Ok(content),
            Node::Dir { .. } => Err(Fault::IsDirectory),
            Node::Link(target) => Err(self.link_fault(target)),
        }
    }
}

impl Dir for MemoryDir {
    fn real_path(&self) -> &RelPath {
        &self.real
    }

    fn open_file(&self, name: &[u8]) -> Result<Box<dyn File>, Fault> {
        let nodes = self.tree.nodes();
        let (id, node) = nodes.get(self.id, name)?;
        let bytes = Arc::clone(&self.file(node)?.bytes);
        Ok(Box::new(MemoryFile { bytes, meta: meta(id, node) }))
    }

    fn open_dir(&self, name: &[u8]) -> Result<Box<dyn Dir>, Fault> {
        match self.tree.nodes().get(self.id, name)? {
            (id, Node::Dir { .. }) => Ok(Box::new(MemoryDir {
                tree: Arc::clone(&self.tree),
                id,
                real: self.real.join(name),
            })),
            (_, Node::Link(target)) => Err(self.link_fault(target)),
            (_, Node::File(_)) => Err(Fault::NotADirectory),
        }
    }

    fn stat(&self, name: &[u8]) -> Result<Meta, Fault> {
        self.tree.nodes().get(self.id, name).map(|(id, node)| meta(id, node))
    }

    fn meta(&self) -> Result<Meta, Fault> {
        let nodes = self.tree.nodes();
        nodes.nodes.get(&self.id).map(|node| meta(self.id, node)).ok_or(Fault::Gone)
    }

    fn read_link(&self, name: &[u8]) -> Result<Vec<u8>, Fault> {
        match self.tree.nodes().get(self.id, name)? {
            (_, Node::Link(target)) => Ok(target.clone()),
            _ => Err(Fault::Io { source: std::io::ErrorKind::InvalidInput.into() }),
        }
    }

    fn entries(&self, each: &mut dyn FnMut(&[u8], Kind) -> ControlFlow<()>) -> Result<(), Fault> {
        let mut after: Option<Vec<u8>> = None;
        loop {
            // A part at a time, because `each` may come back to this tree.
            let part: Vec<(Vec<u8>, Kind)> = {
                let nodes = self.tree.nodes();
                let start = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let entries = nodes.dir(self.id)?.range::<Vec<u8>, _>((start, Bound::Unbounded));
                entries
                    .take(LISTING)
                    .filter_map(|(name, id)| {
                        Some((name.clone(), meta(*id, nodes.nodes.get(id)?).kind))
                    })
                    .collect()
            };
            for (name, kind) in &part {
                if each(name, *kind).is_break() {
                    return Ok(());
                }
            }
            match part.into_iter().next_back() {
                Some((name, _)) => after = Some(name),
                None => return Ok(()),
            }
        }
    }

    fn replace(
        &self,
        name: &[u8],
        source: Source<'_>,
        overwrite: Overwrite,
    ) -> Result<bool, Fault> {
        let (bytes, mode) = match source {
            Source::Bytes(bytes) => (bytes.to_vec(), 0o644),
            Source::File { file, limit, shown, .. } => {
                let (bytes, mode) = (read_all(file, limit)?, file.meta().mode);
                fingerprint::is_shown(shown, &fingerprint::sha256(&bytes), mode)?;
                (bytes, mode & 0o777)
            }
            Source::Joined { file, tail } => {
                let mut bytes = read_all(file, None)?;
                bytes.extend_from_slice(tail);
                (bytes, file.meta().mode & 0o777)
            }
        };
        let mut nodes = self.tree.nodes();
        let (mode, created) = match nodes.find(self.id, name)? {
            None => (mode, true),
            Some((_, node)) => {
                let replaced = self.file(node)?.mode & 0o777;
                let mode = match source {
                    Source::File { permissions: Permissions::OfSource, .. } => mode,
                    _ => replaced,
                };
                if overwrite == Overwrite::No {
                    return Err(Fault::Exists);
                }
                (mode, false)
            }
        };
        nodes.remove(self.id, name)?;
        let content =
            Content { bytes: bytes.into(), mode, modified: SystemTime::now(), changes: 0 };
        nodes.add(self.id, name, Node::File(content))?;
        Ok(created)
    }

    fn append(&self, name: &[u8], added: &[u8]) -> Result<u64, Fault> {
        let mut nodes = self.tree.nodes();
        let (id, node) = nodes.get(self.id, name)?;
        self.file(node)?;
        let Some(Node::File(content)) = nodes.nodes.get_mut(&id) else {
            return Err(Fault::not_found());
        };
        Arc::make_mut(&mut content.bytes).extend_from_slice(added);
        content.modified = SystemTime::now();
        content.changes += 1;
        Ok(content.bytes.len() as u64)
    }

    fn make_dir(&self, name: &[u8]) -> Result<(), Fault> {
        let mut nodes = self.tree.nodes();
        if nodes.find(self.id, name)?.is_some() {
            return Err(Fault::Exists);
        }
        nodes.add(self.id, name, Node::Dir { parent: self.id, entries: BTreeMap::new() })
    }

    fn remove_file(&self, name: &[u8]) -> Result<(), Fault> {
        let mut nodes = self.tree.nodes();
        if let (_, Node::Dir { .. }) = nodes.get(self.id, name)? {
            return Err(Fault::IsDirectory);
        }
        nodes.remove(self.id, name)
    }

    fn remove_dir(&self, name: &[u8]) -> Result<(), Fault> {
        let mut nodes = self.tree.nodes();
        match nodes.get(self.id, name)? {
            (_, Node::Dir { entries, .. }) if entries.is_empty() => nodes.remove(self.id, name),
            (_, Node::Dir { .. }) => Err(Fault::NotEmpty),
            _ => Err(Fault::NotADirectory),
        }
    }

    fn rename(
        &self,
        name: &[u8],
        to: &dyn Dir,
        to_name: &[u8],
        overwrite: Overwrite,
    ) -> Result<Option<()>, Fault> {
        let Some(to) = to.as_any().downcast_ref::<MemoryDir>() else { return Ok(None) };
        if !Arc::ptr_eq(&self.tree, &to.tree) {
            return Ok(None);
        }
        let mut nodes = self.tree.nodes();
        let (id, node) = nodes.get(self.id, name)?;
        let is_dir = matches!(node, Node::Dir { .. });
        if is_dir && nodes.is_within(to.id, id) {
            return Err(Fault::IntoItself);
        }
        match nodes.find(to.id, to_name)? {
            None => {}
            Some(_) if overwrite == Overwrite::No => return Err(Fault::Exists),
            Some((there, _)) if there == id => return Ok(Some(())),
            Some((_, Node::Dir { .. })) if !is_dir => return Err(Fault::IsDirectory),
            Some((_, Node::Dir { entries, .. })) if !entries.is_empty() => {
                return Err(Fault::Exists);
            }
            Some((_, Node::File(_) | Node::Link(_))) if is_dir => {
                return Err(Fault::NotADirectory);
            }
            Some(_) => nodes.remove(to.id, to_name)?,
        }
        nodes.dir_mut(self.id)?.remove(name);
        nodes.dir_mut(to.id)?.insert(to_name.to_vec(), id);
        if let Some(Node::Dir { parent, .. }) = nodes.nodes.get_mut(&id) {
            *parent = to.id;
        }
        Ok(Some(()))
    }

    fn lock(&self) -> Result<Lock, Fault> {
        let deadline = Instant::now() + PATIENCE;
        let mut locked = self.tree.locked.lock().unwrap_or_else(PoisonError::into_inner);
        while !locked.insert(self.id) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Fault::Busy);
            }
            let waited = self.tree.unlocked.wait_timeout(locked, left);
            locked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(Lock::new(HeldDir { tree: Arc::clone(&self.tree), id: self.id }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn read_all(file: &dyn File, limit: Option<u64>) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let size = bytes.len() as u64;
        if let Some(limit) = limit.filter(|&limit| size > limit) {
            return Err(Fault::TooLarge { size: file.meta().size.max(size), limit });
        }
        match file.read_at(&mut buffer, size)? {
            0 => return Ok(bytes),
            length => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

#[derive(Debug)]
struct HeldDir {
    tree: Arc<Tree>,
    id: u64,
}

impl Held for HeldDir {}

impl Drop for HeldDir {
    fn drop(&mut self) {
        let mut locked = self.tree.locked.lock().unwrap_or_else(PoisonError::into_inner);
        locked.remove(&self.id);
        self.tree.unlocked.notify_all();
    }
}

/// The content as it was when the file was opened.
#[derive(Debug)]
struct MemoryFile {
    bytes: Arc<Vec<u8>>,
    meta: Meta,
}

impl File for MemoryFile {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Fault> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        let length = buffer.len().min(self.bytes.len() - start);
        buffer[..length].copy_from_slice(&self.bytes[start..start + length]);
        Ok(length)
    }
}
