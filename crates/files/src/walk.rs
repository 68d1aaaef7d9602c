//! Walking a tree by several threads, one open directory at a time.
//!
//! Each directory is opened from the handle of the one above it and never
//! through a link, so the walk stays in the tree that it started in, whatever
//! is moved meanwhile. The number of handles that wait for their turn is
//! bounded; beyond it a directory is opened again, beneath the store's root.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::ignored::Rules;
use crate::root::{Dir, Kind, Store};

/// How many directories may be kept open for what is below them.
const MAX_OPEN: usize = 192;
/// How many files are handed to another thread at once.
const BATCH: usize = 64;
/// How many such batches may wait.
const MAX_BATCHES: usize = 256;
/// The most threads that are used when nobody says.
const MAX_THREADS: usize = 8;
/// The most threads that are used at all.
const MAX_ASKED: usize = 64;

/// What to walk.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) store: &'a dyn Store,
    /// Whether what git would leave out is left out.
    pub(crate) gitignore: bool,
    /// How many threads; 0 for as many as are useful.
    pub(crate) threads: usize,
    /// How many levels to go down; 1 is only the directory itself.
    pub(crate) max_depth: usize,
}

/// What one thread does with what it finds. Links and special files are not
/// shown. A `path` is relative to where the walk started.
pub(crate) trait Visit: Send {
    /// Sees an entry; returns whether to be called again with its directory.
    fn see(&mut self, path: &[u8], name: &[u8], kind: Kind) -> bool;

    /// Uses a file that was asked for.
    fn visit(&mut self, dir: &dyn Dir, path: &[u8], name: &[u8]);
}

/// What a walk came to.
#[derive(Debug)]
pub(crate) struct Walked<V> {
    /// What each thread collected.
    pub(crate) visitors: Vec<V>,
    /// How many directories could not be read.
    pub(crate) unreadable: u64,
}

/// Returns the number of threads to use.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS),
        wanted => wanted.min(MAX_ASKED),
    }
}

impl Walk<'_> {
    /// Walks from `start`; each thread has a visitor of its own.
    pub(crate) fn run<V: Visit>(
        &self,
        start: Box<dyn Dir>,
        visitor: impl Fn() -> V,
    ) -> Result<Walked<V>, Fault> {
        let threads = threads(self.threads);
        let rules = match self.gitignore {
            true => Rules::leading_to(self.store, &*start)?,
            false => None,
        };
        let path = start.real_path().as_bytes().to_vec();
        let shared = Shared {
            walk: self,
            base: if path.is_empty() { 0 } else { path.len() + 1 },
            queue: Mutex::new(Queue { working: threads, ..Queue::default() }),
            ready: Condvar::new(),
            open: Arc::new(AtomicUsize::new(0)),
            unreadable: AtomicU64::new(0),
        };
        let mut visitors: Vec<V> = (0..threads).map(|_| visitor()).collect();
        // The first directory is listed here, so that its fault is the walk's.
        let (first, others) = visitors.split_first_mut().expect("there is at least one thread");
        let root = Opened::new(start, &shared.open);
        Worker { shared: &shared, visitor: first, path: Vec::new() }.list(root, path, 1, rules)?;
        thread::scope(|scope| {
            for visitor in others {
                let shared = &shared;
                scope.spawn(move || Worker { shared, visitor, path: Vec::new() }.run());
            }
            Worker { shared: &shared, visitor: first, path: Vec::new() }.run();
        });
        let unreadable = shared.unreadable.load(Ordering::Relaxed);
        drop(shared);
        Ok(Walked { visitors, unreadable })
    }
}

struct Shared<'a> {
    walk: &'a Walk<'a>,
    /// How much of a path leads to where the walk started.
    base: usize,
    queue: Mutex<Queue>,
    ready: Condvar,
    open: Arc<AtomicUsize>,
    unreadable: AtomicU64,
}

#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    batches: usize,
    /// How many threads may still add tasks.
    working: usize,
}

enum Task {
    Dir {
        above: Arc<Node>,
        name: Box<[u8]>,
        depth: usize,
        rules: Option<Arc<Rules>>,
    },
    /// Names, each ended by a NUL.
    Files {
        above: Arc<Node>,
        names: Vec<u8>,
    },
}

/// A directory that is being listed, or was.
struct Node {
    /// The path from the store's root.
    path: Vec<u8>,
    /// The handle, unless too many are open.
    opened: Option<Opened>,
}

/// A handle that is counted.
struct Opened {
    dir: Box<dyn Dir>,
    open: Arc<AtomicUsize>,
}

impl Opened {
    fn new(dir: Box<dyn Dir>, open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Opened { dir, open: Arc::clone(open) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared<'_> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a task; `None` when no thread can add one any more.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        queue.working -= 1;
        loop {
            if let Some(task) = queue.tasks.pop() {
                queue.working += 1;
                queue.batches -= usize::from(matches!(task, Task::Files { .. }));
                return Some(task);
            }
            if queue.working == 0 {
                self.ready.notify_all();
                return None;
            }
            queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Opens a directory from the one above it, or beneath the root.
    fn open(&self, above: &Node, name: &[u8]) -> Result<Opened, Fault> {
        let dir = match &above.opened {
            Some(opened) => opened.dir.open_dir(name)?,
            None => {
                let names = above.path.split(|&b| b == b'/').filter(|name| !name.is_empty());
                let path = names.chain([name]).fold(RelPath::root(), |path, name| path.join(name));
                self.walk.store.open_plain_dir(&path)?
            }
        };
        Ok(Opened::new(dir, &self.open))
    }

    /// Counts what could not be read; what is gone or became a link is no loss.
    fn missed(&self, fault: &Fault) {
        if !matches!(fault, Fault::NotFound { .. } | Fault::NotADirectory | Fault::Link { .. }) {
            self.unreadable.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Worker<'a, 's, V> {
    shared: &'a Shared<'s>,
    visitor: &'a mut V,
    /// A path being put together.
    path: Vec<u8>,
}

impl<V: Visit> Worker<'_, '_, V> {
    fn run(&mut self) {
        while let Some(task) = self.shared.next() {
            match task {
                Task::Dir { above, name, depth, rules } => {
                    let path = join(&above.path, &name);
                    let outcome = self
                        .shared
                        .open(&above, &name)
                        .and_then(|opened| self.list(opened, path, depth, rules));
                    if let Err(fault) = outcome {
                        self.shared.missed(&fault);
                    }
                }
                Task::Files { above, names } => {
                    let opened = above.opened.as_ref().expect("files are queued with a handle");
                    self.visit(&*opened.dir, &above.path, &names);
                }
            }
        }
    }

    fn list(
        &mut self,
        opened: Opened,
        path: Vec<u8>,
        depth: usize,
        rules: Option<Arc<Rules>>,
    ) -> Result<(), Fault> {
        let Walk { gitignore, max_depth, .. } = *self.shared.walk;
        let rules = match gitignore {
            true => Rules::below(&*opened.dir, &path, rules),
            false => None,
        };
        // Past the bound the handle is only for this listing.
        let keep = self.shared.open.load(Ordering::Relaxed) <= MAX_OPEN;
        let (node, own) = match keep {
            true => (Arc::new(Node { path, opened: Some(opened) }), None),
            false => (Arc::new(Node { path, opened: None }), Some(opened)),
        };
        let opened = node.opened.as_ref().or(own.as_ref()).expect("kept in one of the two");
        let mut dirs = Vec::new();
        let mut files = Vec::new();
        let mut waiting = 0;
        self.path.clear();
        self.path.extend_from_slice(&node.path);
        if !node.path.is_empty() {
            self.path.push(b'/');
        }
        let prefix = self.path.len();
        let base = self.shared.base;
        let outcome = opened.dir.entries(&mut |name, kind| {
            if !matches!(kind, Kind::File | Kind::Dir) {
                return ControlFlow::Continue(());
            }
            self.path.truncate(prefix);
            self.path.extend_from_slice(name);
            if gitignore {
                let git = kind == Kind::Dir && name == b".git";
                if git || rules.as_ref().is_some_and(|rules| rules.leave_out(&self.path, kind)) {
                    return ControlFlow::Continue(());
                }
            }
            let wanted = self.visitor.see(&self.path[base..], name, kind);
            if kind == Kind::Dir {
                if depth < max_depth {
                    dirs.push(Task::Dir {
                        above: Arc::clone(&node),
                        name: name.into(),
                        depth: depth + 1,
                        rules: rules.clone(),
                    });
                }
            } else if wanted {
                files.extend_from_slice(name);
                files.push(0);
                waiting += 1;
                if waiting == BATCH {
                    let batch = std::mem::take(&mut files);
                    waiting = 0;
                    if let Some(batch) = self.hand_on(&node, batch) {
                        self.visit(&*opened.dir, &node.path, &batch);
                        // Visiting used the buffer.
                        self.path.clear();
                        self.path.extend_from_slice(&node.path);
                        if !node.path.is_empty() {
                            self.path.push(b'/');
                        }
                    }
                }
            }
            ControlFlow::Continue(())
        });
        if !dirs.is_empty() {
            let count = dirs.len();
            self.shared.queue().tasks.append(&mut dirs);
            match count {
                1 => self.shared.ready.notify_one(),
                _ => self.shared.ready.notify_all(),
            }
        }
        self.visit(&*opened.dir, &node.path, &files);
        outcome
    }

    /// Leaves files to whichever thread is free; gives them back when enough wait.
    fn hand_on(&self, above: &Arc<Node>, names: Vec<u8>) -> Option<Vec<u8>> {
        let mut queue = self.shared.queue();
        if above.opened.is_none() || queue.batches >= MAX_BATCHES || self.shared.walk.threads == 1 {
            return Some(names);
        }
        queue.batches += 1;
        queue.tasks.push(Task::Files { above: Arc::clone(above), names });
        drop(queue);
        self.shared.ready.notify_one();
        None
    }

    fn visit(&mut self, dir: &dyn Dir, path: &[u8], names: &[u8]) {
        for name in names.split(|&b| b == 0).filter(|name| !name.is_empty()) {
            self.path.clear();
            self.path.extend_from_slice(path);
            if !path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name);
            self.visitor.visit(dir, &self.path[self.shared.base..], name);
        }
    }
}

impl<V> Drop for Worker<'_, '_, V> {
    /// Lets the others end when this thread panics instead of waiting for it.
    fn drop(&mut self) {
        if thread::panicking() {
            let mut queue = self.shared.queue();
            queue.tasks.clear();
            queue.batches = 0;
            queue.working = 0;
            self.shared.ready.notify_all();
        }
    }
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(path.len() + 1 + name.len());
    joined.extend_from_slice(path);
    if !path.is_empty() {
        joined.push(b'/');
    }
    joined.extend_from_slice(name);
    joined
}
