//! Where package managers go, found out on the machine itself.
//!
//! A preset reads what configures a package manager (variables and files of the
//! user and of the system), asks the installed program for its built-in default,
//! and asks the index at which hosts its downloads lie. So mirrors and private
//! registries work, and there is no list of hosts that grows old.
//!
//! Files of a project are not read, and programs in it are not run: an agent may
//! have written them, or whoever wrote the repository. A host that only a project
//! names has to be in `allow`.
//!
//! What goes inside the sandbox is only where to go: variables and small files
//! with URLs. Credentials stay outside.

mod cache;
mod dart;
mod dotnet;
mod get;
mod go;
mod ini;
mod java;
mod links;
mod look;
mod node;
mod php;
mod python;
mod ruby;
#[cfg(test)]
mod run;
mod rust;
#[cfg(test)]
mod tests;
mod url;
mod uv;
mod xml;
mod yaml;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use zonekeep_policy::hosts::{HostPattern, PRESETS, PresetHosts};

use look::Look;

/// The names of the presets.
pub const NAMES: [&str; 9] = PRESETS;

/// What presets may look at.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The environment of this process.
    pub env: BTreeMap<String, String>,
    /// The user's home directory.
    pub home: PathBuf,
    /// The directory that configuration of the system lies under: `/`.
    pub root: PathBuf,
    /// The directories that programs are looked for in; relative ones are skipped.
    pub path: Vec<PathBuf>,
    /// A directory that only the user can write, for what was found out before.
    pub cache: Option<PathBuf>,
    /// Directories whose content others may have written: zones, and the project.
    /// Nothing in them is read or run.
    pub untrusted: Vec<PathBuf>,
    /// Whether indexes are asked over the network.
    pub online: bool,
    /// What runs programs; without it none is asked.
    pub runner: Option<Runner>,
}

/// What stands for a directory of its own in what a program is given.
pub const SCRATCH: &str = "{scratch}";

/// A program to ask something.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: Vec<(String, String)>,
    /// Files to make in the scratch directory first.
    pub files: Vec<(String, String)>,
    /// How long it may take.
    pub limit: Duration,
}

/// Runs a program, and returns what it wrote to both of its outputs, or why there is
/// nothing.
///
/// Programs load more than their own files: plugins, settings, whatever a directory
/// on some path holds. A runner has to see to it that nothing is there that an agent
/// may have written, and that nothing comes of what they do.
#[derive(Clone)]
pub struct Runner(Arc<Run>);

type Run = dyn Fn(&Ask) -> Result<String, String> + Send + Sync;

impl Runner {
    /// Returns what runs programs by a function.
    pub fn new(run: impl Fn(&Ask) -> Result<String, String> + Send + Sync + 'static) -> Runner {
        Runner(Arc::new(run))
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runner")
    }
}

impl Machine {
    /// Returns the machine as this process sees it.
    pub fn of_process(home: PathBuf, cache: Option<PathBuf>, untrusted: Vec<PathBuf>) -> Machine {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        Machine {
            env: std::env::vars_os().filter_map(text).collect(),
            home,
            root: PathBuf::from("/"),
            path: std::env::split_paths(&path).collect(),
            cache,
            untrusted,
            online: true,
            runner: None,
        }
    }
}

/// What was found out, by preset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The presets that were asked for.
    pub presets: BTreeMap<String, PresetFound>,
}

/// What was found out for one preset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresetFound {
    /// The hosts, in order, each once.
    pub hosts: Vec<FoundHost>,
    /// Variables to set inside, so that programs go there.
    pub env: BTreeMap<String, String>,
    /// Files to make inside: the path below the home directory, and the text.
    pub files: Vec<(String, String)>,
    /// What could not be found out or is left out, in words for the user.
    pub warnings: Vec<String>,
}

/// A host that a package manager goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHost {
    /// The host and its port.
    pub pattern: HostPattern,
    /// Who says so, such as `~/.npmrc:3`.
    pub from: String,
}

impl Found {
    /// Returns the hosts of each preset.
    pub fn hosts(&self) -> PresetHosts {
        let patterns = |found: &PresetFound| {
            found.hosts.iter().map(|host| host.pattern.clone()).collect::<Vec<_>>()
        };
        self.presets.iter().map(|(name, found)| (name.clone(), patterns(found))).collect()
    }

    /// Returns the variables to set inside.
    pub fn env(&self) -> BTreeMap<String, String> {
        self.presets.values().flat_map(|found| found.env.clone()).collect()
    }

    /// Returns the files to make inside, by path below the home directory.
    pub fn files(&self) -> BTreeMap<String, String> {
        self.presets.values().flat_map(|found| found.files.clone()).collect()
    }

    /// Returns the warnings, each with its preset.
    pub fn warnings(&self) -> Vec<String> {
        let named = |(name, found): (&String, &PresetFound)| {
            let line = |warning: &String| format!("preset {name}: {warning}");
            found.warnings.iter().map(line).collect::<Vec<_>>()
        };
        self.presets.iter().flat_map(named).collect()
    }
}

/// Finds out where the package managers of presets go.
///
/// It never fails: what cannot be found out is a warning, and a host that is not
/// found is a host that is not allowed. Names that are no presets are skipped.
pub fn find(names: &[&str], machine: &Machine) -> Found {
    let wanted: Vec<&'static str> = NAMES.into_iter().filter(|name| names.contains(name)).collect();
    let found = thread::scope(|scope| {
        let start = |name| {
            let thread =
                thread::Builder::new().spawn_scoped(scope, move || find_one(name, machine));
            (name, thread)
        };
        let asked: Vec<_> = wanted.into_iter().map(start).collect();
        let found = |(name, thread): (&'static str, io::Result<_>)| match thread {
            Ok(thread) => (name.to_owned(), joined(thread)),
            // There may be no more threads; then one after the other.
            Err(_) => (name.to_owned(), find_one(name, machine)),
        };
        asked.into_iter().map(found).collect()
    });
    Found { presets: found }
}

fn joined(thread: thread::ScopedJoinHandle<'_, PresetFound>) -> PresetFound {
    thread.join().unwrap_or_else(|_| PresetFound {
        warnings: vec!["nothing was found out, because of a fault in Zonekeep".to_owned()],
        ..PresetFound::default()
    })
}

fn find_one(name: &'static str, machine: &Machine) -> PresetFound {
    let mut look = Look::new(machine, name);
    match name {
        "python" => python::find(&mut look),
        "node" => node::find(&mut look),
        "rust" => rust::find(&mut look),
        "go" => go::find(&mut look),
        "java" => java::find(&mut look),
        "ruby" => ruby::find(&mut look),
        "php" => php::find(&mut look),
        "dart" => dart::find(&mut look),
        "dotnet" => dotnet::find(&mut look),
        _ => {}
    }
    look.done()
}
