//! The same tree on every store, for tests that run on all of them.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;
use zonekeep_files::write::{WriteOptions, write};
use zonekeep_files::{Fault, HostStore, Lookup, MemoryStore, Store};
use zonekeep_policy::Place;
use zonekeep_policy::path::{AgentPath, RelPath};

/// A store to test, with ways to put things in it from outside.
pub struct Case {
    /// For messages.
    pub label: &'static str,
    kind: Kind,
}

enum Kind {
    Host { store: HostStore, _temp: TempDir, base: PathBuf },
    Memory(MemoryStore),
}

/// Runs a test on every store and every way to look paths up.
pub fn on_every_store(test: impl Fn(&Case)) {
    for case in host_cases().into_iter().chain([memory_case()]) {
        println!("store: {}", case.label);
        test(&case);
        case.check_outside();
    }
}

/// Runs a test on the host's stores only.
pub fn on_host_stores(test: impl Fn(&Case)) {
    for case in host_cases() {
        println!("store: {}", case.label);
        test(&case);
        case.check_outside();
    }
}

fn host_cases() -> Vec<Case> {
    [("openat2", Lookup::Openat2), ("walk", Lookup::Walk)]
        .into_iter()
        .filter_map(|(label, lookup)| host_case(label, lookup))
        .collect()
}

/// How directories become stores, where another crate runs these tests.
pub static OPENER: OnceLock<fn(&Path) -> HostStore> = OnceLock::new();

/// A directory with a neighbour outside of it that holds a secret.
pub fn host_case(label: &'static str, lookup: Lookup) -> Option<Case> {
    let temp = TempDir::new().unwrap();
    let base = temp.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("inside")).unwrap();
    std::fs::create_dir(base.join("outside")).unwrap();
    std::fs::write(base.join("outside/secret"), SECRET).unwrap();
    let store = OPENER.get().map_or_else(
        || HostStore::open(&base.join("inside")).unwrap(),
        |open| open(&base.join("inside")),
    );
    if lookup == Lookup::Openat2 && store.lookup() != Lookup::Openat2 {
        eprintln!("skipped: the kernel has no lookup beneath a directory");
        assert!(std::env::var("ZONEKEEP_TEST_REQUIRE").as_deref() != Ok("all"));
        return None;
    }
    Some(Case { label, kind: Kind::Host { store: store.with_lookup(lookup), _temp: temp, base } })
}

fn memory_case() -> Case {
    Case { label: "memory", kind: Kind::Memory(MemoryStore::new()) }
}

pub const SECRET: &str = "secret-marker-4711";

impl Case {
    pub fn store(&self) -> &dyn Store {
        match &self.kind {
            Kind::Host { store, .. } => store,
            Kind::Memory(store) => store,
        }
    }

    /// The host directory of the store.
    pub fn root(&self) -> PathBuf {
        match &self.kind {
            Kind::Host { base, .. } => base.join("inside"),
            Kind::Memory(_) => panic!("a store in memory has no host directory"),
        }
    }

    pub fn is_host(&self) -> bool {
        matches!(self.kind, Kind::Host { .. })
    }

    /// The path of the neighbour.
    pub fn outside(&self) -> String {
        match &self.kind {
            Kind::Host { base, .. } => base.join("outside").to_str().unwrap().to_owned(),
            Kind::Memory(_) => "/outside".to_owned(),
        }
    }

    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        match &self.kind {
            Kind::Host { .. } => {
                let host = self.host(path);
                std::fs::create_dir_all(host.parent().unwrap()).unwrap();
                std::fs::write(host, content).unwrap();
            }
            Kind::Memory(store) => {
                write(store, &place(path), content.as_ref(), &WriteOptions::default()).unwrap();
            }
        }
        self
    }

    pub fn dir(&self, path: &str) -> &Self {
        match &self.kind {
            Kind::Host { .. } => std::fs::create_dir_all(self.host(path)).unwrap(),
            Kind::Memory(store) => drop(store.make_dirs(&rel(path)).unwrap()),
        }
        self
    }

    pub fn link(&self, path: &str, target: &str) -> &Self {
        match &self.kind {
            Kind::Host { .. } => {
                let host = self.host(path);
                std::fs::create_dir_all(host.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, host).unwrap();
            }
            Kind::Memory(store) => store.symlink(&rel(path), target.as_bytes()).unwrap(),
        }
        self
    }

    /// Reads a file from outside; `None` if it is not there.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::Host { .. } => std::fs::read(self.host(path)).ok(),
            Kind::Memory(store) => {
                zonekeep_files::read::read_whole(store, &place(path), u64::MAX).ok()
            }
        }
    }

    pub fn exists(&self, path: &str) -> bool {
        zonekeep_files::stat::info(self.store(), &place(path)).is_ok()
    }

    pub fn host(&self, path: &str) -> PathBuf {
        self.root().join(OsStr::from_bytes(rel(path).as_bytes()))
    }

    /// Checks that the neighbour is as it was, and that no temporary file is left.
    fn check_outside(&self) {
        if let Kind::Host { base, .. } = &self.kind {
            let names: Vec<_> = std::fs::read_dir(base.join("outside"))
                .unwrap()
                .map(|e| e.unwrap().file_name())
                .collect();
            assert_eq!(names, ["secret"], "{}", self.label);
            assert_eq!(std::fs::read_to_string(base.join("outside/secret")).unwrap(), SECRET);
            assert_eq!(litter(&base.join("inside")), Vec::<PathBuf>::new(), "{}", self.label);
        }
    }
}

/// Finds temporary files of ours.
pub fn litter(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(b".zonekeep-") {
            found.push(entry.path());
        }
        if entry.file_type().unwrap().is_dir() {
            found.extend(litter(&entry.path()));
        }
    }
    found
}

pub fn rel(path: &str) -> RelPath {
    AgentPath::absolute(&format!("/{path}")).unwrap().as_rel().clone()
}

pub fn place(path: &str) -> Place {
    Place::unchecked(rel(path))
}

/// The code of a failure, or `ok`.
pub fn code<T>(outcome: &Result<T, Fault>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(fault) => fault.code(),
    }
}
