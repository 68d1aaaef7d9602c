//! What a preset looks with: the one way to variables, files, programs and
//! indexes, and the place where what was found is put together.

mod ask;
mod index;

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use zonekeep_policy::hosts::HostPattern;

pub(super) use ask::{NOWHERE, Question};
pub(super) use index::{Index, MAX_PAGE, Need};

use super::cache::Cache;
use super::url::{Credentials, Url};
use super::{FoundHost, Machine, PresetFound};

/// The largest configuration file that is read.
const MAX_FILE: u64 = 1 << 20;

/// A value, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) from: String,
}

/// The text of a configuration file, and how it is called.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) text: String,
    pub(super) shown: String,
}

impl Config {
    /// Returns a value that stands in a line of it.
    pub(super) fn said(&self, text: &str, line: usize) -> Said {
        Said { text: text.to_owned(), from: format!("{}:{line}", self.shown) }
    }
}

/// One preset's look at the machine.
pub(super) struct Look<'a> {
    machine: &'a Machine,
    untrusted: Vec<PathBuf>,
    cache: Cache,
    found: PresetFound,
}

impl<'a> Look<'a> {
    pub(super) fn new(machine: &'a Machine, preset: &str) -> Look<'a> {
        let real = |dir: &PathBuf| fs::canonicalize(dir).unwrap_or_else(|_| dir.clone());
        let untrusted: Vec<PathBuf> = machine.untrusted.iter().map(real).collect();
        let own = machine.cache.as_deref().filter(|dir| {
            let real = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
            !untrusted.iter().any(|other| real.starts_with(other))
        });
        let cache = Cache::open(own, preset);
        Look { machine, untrusted, cache, found: PresetFound::default() }
    }

    /// Returns what was found, and keeps what was learned for the next time.
    pub(super) fn done(self) -> PresetFound {
        self.cache.save();
        let mut found = self.found;
        found.hosts.sort_by(|a, b| a.pattern.cmp(&b.pattern));
        found
    }

    // What configures a program.

    /// Returns a variable that is set to something.
    pub(super) fn var(&self, name: &str) -> Option<String> {
        self.machine.env.get(name).filter(|value| !value.trim().is_empty()).cloned()
    }

    /// Returns the value of the first variable of some that is set.
    pub(super) fn said(&self, names: &[&str]) -> Option<Said> {
        let (name, text) = names.iter().find_map(|name| Some((*name, self.var(name)?)))?;
        Some(Said { text, from: format!("the variable {name}") })
    }

    /// Returns all variables.
    pub(super) fn vars(&self) -> &'a std::collections::BTreeMap<String, String> {
        &self.machine.env
    }

    /// Returns a path below the home directory.
    pub(super) fn home(&self, path: &str) -> PathBuf {
        self.machine.home.join(path)
    }

    /// Returns a path of the system.
    pub(super) fn system(&self, path: &str) -> PathBuf {
        self.machine.root.join(path)
    }

    /// Returns a path below the directory for the user's configuration.
    pub(super) fn config(&self, path: &str) -> PathBuf {
        let own = self.var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        own.unwrap_or_else(|| self.home(".config")).join(path)
    }

    /// Returns the path that a variable names, if it is absolute.
    pub(super) fn path_var(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns a file's text; `None` if there is none to read.
    pub(super) fn read(&mut self, path: &Path) -> Option<Config> {
        let real = fs::canonicalize(path).ok()?;
        let shown = self.shown(path);
        if self.is_untrusted(&real) {
            self.warn(format!("{shown} is not read, because others may have written it"));
            return None;
        }
        // A pipe must not hold us up.
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(&real).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || meta.len() > MAX_FILE {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(Config { text: text.trim_start_matches('\u{feff}').to_owned(), shown })
    }

    /// Returns the files of a directory whose names end in one of some ways.
    pub(super) fn list(&self, dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            let name = path.to_string_lossy().to_ascii_lowercase();
            endings.iter().any(|ending| name.ends_with(ending))
        });
        paths.sort();
        paths
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.machine.home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn is_untrusted(&self, real: &Path) -> bool {
        self.untrusted.iter().any(|dir| real.starts_with(dir))
    }

    // What was found.

    /// Adds the host of a URL, and returns the URL without credentials. Something
    /// that leads to no host of the web, such as a directory, is `None`.
    pub(super) fn name(&mut self, said: &Said) -> Option<Url> {
        let Some(url) = Url::parse(&said.text) else {
            // It is not shown: who knows what is in it.
            if said.text.contains("://") && !said.text.trim_start().starts_with("file:") {
                self.warn(format!("{} has something that is no web address", said.from));
            }
            return None;
        };
        if url.credentials == Credentials::Dropped {
            self.warn(format!(
                "{} has credentials for {}, which stay outside; use `secrets` to send them",
                said.from,
                url.authority()
            ));
        }
        self.add(url.pattern.clone(), &said.from);
        Some(url)
    }

    /// Adds a host. The first who names it is the one who is shown.
    pub(super) fn add(&mut self, pattern: HostPattern, from: &str) {
        if !self.found.hosts.iter().any(|host| host.pattern == pattern) {
            self.found.hosts.push(FoundHost { pattern, from: from.to_owned() });
        }
    }

    /// Sets a variable inside.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.found.env.insert(name.to_owned(), value.to_owned());
    }

    /// Makes a file in the home directory inside.
    pub(super) fn file(&mut self, path: &str, text: String) {
        self.found.files.push((path.to_owned(), text));
    }

    /// Says something to the user, once.
    pub(super) fn warn(&mut self, warning: String) {
        if !self.found.warnings.contains(&warning) {
            self.found.warnings.push(warning);
        }
    }

    /// Says that none of a preset's programs is there, as in "cargo is not installed".
    pub(super) fn warn_missing(&mut self, what: &str) {
        self.warn(format!("{what}, so only what is configured is known"));
    }
}
