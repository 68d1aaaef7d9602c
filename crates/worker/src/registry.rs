//! Finds a project's workers, and reads what they are told.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zonekeep::policy::config::{Problem, Severity};
use zonekeep::policy::guard::{Guard, Reach};
use zonekeep::policy::worker_file::{self, WorkerFile};
use zonekeep::policy::{Mode, Policy, RelPath, Zone};
use zonekeep::{Project, ProjectError, project};

use crate::schema::OutputSchema;
use crate::template::{self, TemplateError};

/// The most worker files that a project has.
const MAX_WORKERS: usize = 1_000;

/// Why there is no such worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The project's directories cannot be listed.
    #[error("the workers of {} cannot be listed: {source}", dir.display())]
    List {
        /// The project.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There are more files than a project has.
    #[error("{} has more than {MAX_WORKERS} worker files", dir.display())]
    TooMany {
        /// The project.
        dir: PathBuf,
    },
    /// No file has that name.
    #[error("there is no worker '{name}'; this project has {}", names(known))]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The path leads out of the project.
    #[error("'{path}' is not a worker file of this project")]
    Outside {
        /// The path as given.
        path: String,
    },
    /// Two files have the same name.
    #[error("the worker '{name}' is defined twice, in {} and in {}", one.display(), other.display())]
    Twice {
        /// The name.
        name: String,
        /// A file.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Agents could change the file, and so what workers may do.
    #[error("{} lies in the zone '{zone}', which agents can write or which is untrusted, so it defines nothing", path.display())]
    Writable {
        /// The file.
        path: PathBuf,
        /// The zone.
        zone: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ProjectError),
    /// The file has errors.
    #[error("{} has {} problem(s)", path.display(), problems.iter().filter(|p| p.severity == Severity::Error).count())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All that is wrong with it.
        problems: Vec<Problem>,
        /// Its text, for showing the lines.
        text: String,
    },
    /// What it includes cannot be had.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The schema of its results is none.
    #[error("{}: output_schema cannot be used: {why}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// A worker, ready to be run.
#[derive(Debug)]
pub struct Worker {
    /// The file.
    pub file: WorkerFile,
    /// Where it lies.
    pub path: PathBuf,
    /// What it is told, with all that it includes.
    pub instructions: String,
    /// What its result looks like.
    pub schema: Option<OutputSchema>,
}

/// A worker file, whether or not it can be used.
#[derive(Debug)]
pub struct Found {
    /// Where it lies, relative to the project.
    pub path: PathBuf,
    /// What it says.
    pub worker: Result<WorkerFile, RegistryError>,
}

/// The workers of a project.
#[derive(Debug)]
pub struct Registry {
    dir: PathBuf,
    policy: Policy,
    files: BTreeMap<String, PathBuf>,
    found: Vec<Found>,
}

impl Registry {
    /// Finds the worker files of a project: `NAME.worker` and
    /// `NAME/worker.worker`, at the top and in `workers/`.
    ///
    /// A file that has errors is no worker; the others still are.
    pub fn find(project: &Project) -> Result<Self, RegistryError> {
        let dir = project.dir.clone();
        let paths = project::worker_files(&dir)
            .map_err(|source| RegistryError::List { dir: dir.clone(), source })?;
        if paths.len() > MAX_WORKERS {
            return Err(RegistryError::TooMany { dir });
        }
        let mut registry = Registry {
            dir,
            policy: project.policy.clone(),
            files: BTreeMap::new(),
            found: Vec::new(),
        };
        for path in paths {
            registry.add(path)?;
        }
        Ok(registry)
    }

    fn add(&mut self, path: PathBuf) -> Result<(), RegistryError> {
        let worker = self.read(&path);
        if let Ok(worker) = &worker
            && let Some(other) = self.files.insert(worker.name.clone(), path.clone())
        {
            let name = worker.name.clone();
            return Err(RegistryError::Twice { name, one: other, other: path });
        }
        let path = path.strip_prefix(&self.dir).unwrap_or(&path).to_owned();
        self.found.push(Found { path, worker });
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<WorkerFile, RegistryError> {
        // A link counts for where it leads.
        if path.canonicalize().is_ok_and(|real| !real.starts_with(&self.dir)) {
            return Err(RegistryError::Outside { path: path.display().to_string() });
        }
        check_unwritable(path, &self.policy)?;
        let text = project::read_text(path)?;
        let shown = path.strip_prefix(&self.dir).unwrap_or(path).display().to_string();
        let parsed = worker_file::parse(&text, &shown);
        match parsed.worker {
            Some(worker) => Ok(worker),
            None => {
                let (path, problems) = (path.to_owned(), parsed.problems);
                Err(RegistryError::Invalid { path, problems, text })
            }
        }
    }

    /// Returns all files, those with errors too, in the order of their paths.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Returns the names of the workers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns what a worker's file says.
    pub fn file(&self, name: &str) -> Option<&WorkerFile> {
        self.found.iter().filter_map(|found| found.worker.as_ref().ok()).find(|w| w.name == name)
    }

    /// Returns the name of the worker that a name, or a path in the project,
    /// stands for.
    pub fn name_of(&self, given: &str) -> Result<String, RegistryError> {
        if self.files.contains_key(given) {
            return Ok(given.to_owned());
        }
        if !given.contains('/') && !given.ends_with(".worker") {
            return Err(self.unknown(given));
        }
        let outside = || RegistryError::Outside { path: given.to_owned() };
        let relative = Path::new(given.strip_prefix("./").unwrap_or(given));
        let is_plain = |part| matches!(part, std::path::Component::Normal(_));
        if !relative.components().all(is_plain) {
            return Err(outside());
        }
        match self.found.iter().find(|found| found.path == relative) {
            Some(Found { worker: Ok(worker), .. }) => Ok(worker.name.clone()),
            // Read once more, to say what is wrong with it.
            Some(_) => self.read(&self.dir.join(relative)).map(|worker| worker.name),
            None => Err(outside()),
        }
    }

    /// Returns a worker, ready to be run. Its file is read anew.
    pub fn get(&self, name: &str) -> Result<Arc<Worker>, RegistryError> {
        let path = self.files.get(name).ok_or_else(|| self.unknown(name))?.clone();
        let file = self.read(&path)?;
        // It may have become another one meanwhile.
        if file.name != name {
            return Err(self.unknown(name));
        }
        let problems = worker_file::check(&file, &self.policy);
        if problems.iter().any(|p| p.severity == Severity::Error && p.code != "exceeds_project") {
            let text = project::read_text(&path)?;
            return Err(RegistryError::Invalid { path, problems, text });
        }
        let home = path.parent().unwrap_or(&self.dir);
        let instructions = template::expand(
            &file.instructions,
            &self.dir,
            &[home, &self.dir.join("templates")],
            &|path| check_unwritable(path, &self.policy).is_ok(),
        )?;
        let schema = match file.run.output_schema.as_ref().map(|s| OutputSchema::compile(&s.value))
        {
            Some(Err(why)) => return Err(RegistryError::Schema { path, why }),
            Some(Ok(schema)) => Some(schema),
            None => None,
        };
        Ok(Arc::new(Worker { file, path, instructions, schema }))
    }

    fn unknown(&self, name: &str) -> RegistryError {
        let known = self.files.keys().cloned().collect();
        RegistryError::Unknown { name: name.to_owned(), known }
    }
}

/// Fails for a file that agents could change, or that came from strangers: one in
/// a zone that can be written, unless its name is guarded there, or in an untrusted
/// one.
fn check_unwritable(path: &Path, policy: &Policy) -> Result<(), RegistryError> {
    use std::os::unix::ffi::OsStrExt;
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    let risky = |zone: &&Zone| zone.mode.value == Mode::Rw || zone.untrusted.is_some();
    for zone in policy.zones.iter().filter(risky) {
        let Ok(root) = zone.path.value.canonicalize() else { continue };
        if zone.mode.value == Mode::Rw
            && zonekeep::other_name(&real, &root, &policy.guards).is_some()
        {
            let (path, zone) = (path.to_owned(), zone.name.clone());
            return Err(RegistryError::Writable { path, zone });
        }
        let Ok(below) = real.strip_prefix(&root) else { continue };
        let below = below.iter().fold(RelPath::root(), |at, name| at.join(name.as_bytes()));
        let guard = policy.guards.find(&below, Reach::File).map(|entry| entry.guard.value);
        let is_guarded = guard.is_some_and(|guard| guard != Guard::Allow);
        if zone.untrusted.is_some() || !is_guarded {
            let (path, zone) = (path.to_owned(), zone.name.clone());
            return Err(RegistryError::Writable { path, zone });
        }
    }
    Ok(())
}

fn names(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
