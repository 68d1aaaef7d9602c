//! Finding and reading a project's file.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zonekeep_policy::config::{self, Overrides, Problem, Severity};
use zonekeep_policy::organisation::Organisation;
use zonekeep_policy::tighten::Withheld;
use zonekeep_policy::{At, Policy};

use crate::ground;
use crate::organisation::{self, OrganisationError};

/// The names a project file can have, the first one first.
pub const FILE_NAMES: &[&str] = &["zonekeep.yaml", "golem-forge.config.yaml"];
/// The largest project file that is read.
const MAX_FILE: u64 = 1 << 20;

/// Why a project could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The file, or a directory above it, could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file belongs to another user, who could hand out this user's files.
    #[error("{} belongs to another user (uid {owner})", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// The file is larger than a project file is.
    #[error("{} is larger than {MAX_FILE} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("{} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The organisation's file cannot be used, and so no project can.
    #[error(transparent)]
    Organisation(#[from] OrganisationError),
    /// The file has errors.
    #[error("{} has {} problem(s)", file, problems.iter().filter(|p| p.severity == Severity::Error).count())]
    Invalid {
        /// The file's name as shown.
        file: String,
        /// All that is wrong with it.
        problems: Vec<Problem>,
        /// The file's text, for showing the lines.
        text: String,
    },
}

/// A project: its directory, its file and what the file says.
#[derive(Debug)]
pub struct Project {
    /// The project directory, as it really is.
    pub dir: PathBuf,
    /// The project file, where there is one.
    pub file: Option<PathBuf>,
    /// The file's text; empty without a file.
    pub text: String,
    /// The rules.
    pub policy: Policy,
    /// What `check` would warn about.
    pub warnings: Vec<Problem>,
    /// The keys that were looser than the organisation's file allows.
    pub narrowed: Vec<Withheld>,
}

impl Project {
    /// Finds the project that `start` lies in, and reads its file.
    ///
    /// The search goes up from `start`; without a file the project is `start`
    /// itself, with the zones `cache` and `workspace`. A file that has errors
    /// is an error: the search never passes it over.
    pub fn find(start: &Path, overrides: &Overrides) -> Result<Self, ProjectError> {
        let dir = real(start)?;
        for above in dir.ancestors() {
            for name in FILE_NAMES {
                let file = above.join(name);
                match fs::symlink_metadata(&file) {
                    Ok(_) => return Self::read(above, &file, overrides),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(source) => return Err(ProjectError::Read { path: file, source }),
                }
            }
        }
        Self::without_file(dir, overrides)
    }

    /// Reads the project in `dir`, without looking further up.
    pub fn at(dir: &Path, overrides: &Overrides) -> Result<Self, ProjectError> {
        let dir = real(dir)?;
        for name in FILE_NAMES {
            let file = dir.join(name);
            if fs::symlink_metadata(&file).is_ok() {
                return Self::read(&dir, &file, overrides);
            }
        }
        Self::without_file(dir, overrides)
    }

    /// Reads `file` as if it were the project file of `dir`.
    pub fn as_if(dir: &Path, file: &Path, overrides: &Overrides) -> Result<Self, ProjectError> {
        Self::read(&real(dir)?, file, overrides)
    }

    fn read(dir: &Path, file: &Path, overrides: &Overrides) -> Result<Self, ProjectError> {
        let text = read_text(file)?;
        let name = file.file_name().unwrap_or_default();
        let shown = name.to_string_lossy().into_owned();
        let loaded = config::load(&text, &shown, &dir.join(name), overrides);
        match loaded.policy {
            Some(mut policy) => Ok(Project {
                narrowed: organisation::apply(&mut policy)?,
                dir: dir.to_owned(),
                file: Some(file.to_owned()),
                text,
                policy,
                warnings: loaded.problems,
            }),
            None => {
                let mut problems = loaded.problems;
                problems.extend(loaded.unfit.iter().flat_map(|policy| unusable_zones(policy)));
                problems.sort_by_key(|problem| (*problem.file != *shown, problem.line));
                Err(ProjectError::Invalid { file: shown, problems, text })
            }
        }
    }

    /// Holds the rules to one more version of the organisation's file, beside those that they
    /// are held to. For programs that read a project again: what held before must not become
    /// looser because that file did.
    pub fn bound_by(&mut self, organisation: &Arc<Organisation>) {
        self.narrowed.extend(organisation::hold(&mut self.policy, organisation));
    }

    fn without_file(dir: PathBuf, overrides: &Overrides) -> Result<Self, ProjectError> {
        let loaded = config::defaults(&dir, overrides);
        match loaded.policy {
            Some(mut policy) => {
                let (narrowed, warnings) = (organisation::apply(&mut policy)?, loaded.problems);
                Ok(Project { dir, file: None, text: String::new(), policy, warnings, narrowed })
            }
            None => Err(ProjectError::Invalid {
                file: "the command line".to_owned(),
                problems: loaded.problems,
                text: String::new(),
            }),
        }
    }
}

/// Returns what is wrong with the directories of zones that the project file declares.
fn unusable_zones(policy: &Policy) -> Vec<Problem> {
    let errors = policy.zones.iter().filter_map(|zone| ground::unusable(policy, zone));
    let problems = errors.filter_map(|error| match error.at() {
        At::File { file, line, column } => Some(Problem {
            severity: Severity::Error,
            code: "directory",
            message: error.to_string(),
            file,
            line,
            column,
            width: 1,
            hint: Some(error.hint()),
        }),
        _ => None,
    });
    problems.collect()
}

/// Returns the worker files of a project: `NAME.worker` and
/// `NAME/worker.worker`, at the top and in `workers/`.
pub fn worker_files(project: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for dir in [project.to_owned(), project.join("workers")] {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let path = entry?.path();
            let nested = path.join("worker.worker");
            if path.extension().is_some_and(|ext| ext == "worker") && path.is_file() {
                files.push(path);
            } else if nested.is_file() {
                files.push(nested);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn real(dir: &Path) -> Result<PathBuf, ProjectError> {
    fs::canonicalize(dir).map_err(|source| ProjectError::Read { path: dir.to_owned(), source })
}

/// Reads a file that decides about rights: it must belong to this user or to
/// root, so that nobody else's file in a shared directory is obeyed.
pub fn read_text(path: &Path) -> Result<String, ProjectError> {
    let failed = |source| ProjectError::Read { path: path.to_owned(), source };
    // Never waits, should somebody have put a pipe there.
    let flags =
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let fd =
        rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map_err(|e| failed(e.into()))?;
    let file = fs::File::from(fd);
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(failed(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        )));
    }
    let me = rustix::process::geteuid().as_raw();
    // A link counts as well: whoever made it chose the file.
    let link = fs::symlink_metadata(path).map_err(failed)?;
    for owner in [meta.uid(), link.uid()] {
        if owner != me && owner != 0 {
            return Err(ProjectError::Owner { path: path.to_owned(), owner });
        }
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ProjectError::TooLarge { path: path.to_owned() });
    }
    // The kernel makes up what such files say, secrets of this process among it.
    if meta.len() == 0 && !bytes.is_empty() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is no file on disk")));
    }
    let not_text = || ProjectError::NotText { path: path.to_owned() };
    let text = String::from_utf8(bytes).map_err(|_| not_text())?;
    if text.contains('\0') { Err(not_text()) } else { Ok(text) }
}
