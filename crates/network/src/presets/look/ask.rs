//! Asks programs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::cache::{self, Answer, Known};
use super::super::url::without_credentials;
use super::super::{Ask, SCRATCH};
use super::Look;

/// Nothing listens there, so a program that would use the network fails at once.
pub(in super::super) const NOWHERE: &str = "http://127.0.0.1:9";

/// Variables that say where toolchains are. Programs need them to be found by
/// what starts them, and they configure nothing else.
const TOOLCHAINS: [&str; 19] = [
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "COREPACK_HOME",
    "DOTNET_ROOT",
    "GOROOT",
    "GRADLE_HOME",
    "JAVA_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "VOLTA_HOME",
    "XDG_DATA_HOME",
];

/// A question to a program.
pub(in super::super) struct Question {
    name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    files: Vec<(String, String)>,
    limit: Duration,
}

impl Question {
    /// Asks a program, called by a name, with arguments.
    pub(in super::super) fn new(name: &'static str, program: &Path, args: &[&str]) -> Question {
        Question {
            name,
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            files: Vec::new(),
            limit: Duration::from_secs(20),
        }
    }

    /// Sets a variable for it.
    pub(in super::super) fn var(mut self, name: &str, value: &str) -> Question {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes a file in its scratch directory.
    pub(in super::super) fn file(mut self, path: &str, text: &str) -> Question {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// Gives it the time that starting twice on a Java machine takes.
    pub(in super::super) fn slow(mut self) -> Question {
        self.limit = Duration::from_secs(60);
        self
    }
}

impl Look<'_> {
    /// Returns the first of some programs that is installed where only the user
    /// and the system write.
    pub(in super::super) fn program(&mut self, names: &[&str]) -> Option<PathBuf> {
        names.iter().find_map(|name| self.find_program(name))
    }

    fn find_program(&mut self, name: &str) -> Option<PathBuf> {
        let machine = self.machine;
        for dir in machine.path.iter().filter(|dir| dir.is_absolute()) {
            let path = dir.join(name);
            let Ok(real) = fs::canonicalize(&path) else { continue };
            let Ok(meta) = fs::metadata(&real) else { continue };
            if !meta.is_file() || meta.mode() & 0o111 == 0 {
                continue;
            }
            if self.is_path_trusted(dir) && !self.is_untrusted(&real) && meta.mode() & 0o002 == 0 {
                return Some(path);
            }
            let shown = self.shown(&path);
            self.warn(format!("{shown} is not asked, because others may have written it"));
        }
        None
    }

    fn is_path_trusted(&self, dir: &Path) -> bool {
        let Ok(real) = fs::canonicalize(dir) else { return false };
        let open = fs::metadata(&real).is_ok_and(|meta| meta.mode() & 0o002 != 0);
        dir.is_absolute() && !open && !self.is_untrusted(&real)
    }

    /// Asks a program, and returns what `read` makes of its output.
    ///
    /// An answer without anything in it is none, and worth a warning.
    pub(in super::super) fn ask(
        &mut self,
        question: &Question,
        read: impl Fn(&str) -> Vec<String>,
    ) -> Vec<String> {
        self.try_ask(question, read).unwrap_or_else(|fault| {
            let name = question.name;
            self.warn(format!("{name} does not say where it goes by default: {fault}"));
            Vec::new()
        })
    }

    /// Asks a program; why there is no answer is for the asker to say.
    pub(in super::super) fn try_ask(
        &mut self,
        question: &Question,
        read: impl Fn(&str) -> Vec<String>,
    ) -> Result<Vec<String>, String> {
        let env = self.program_env(question);
        let key = question_key(question, &env);
        let old = match self.cache.known(&key) {
            Known::Fresh(answer) => return Ok(answer.values),
            Known::Failed(fault, old) => return old.map(|answer| answer.values).ok_or(fault),
            Known::Unknown(old) => old,
        };
        match self.run(question, &env, read) {
            Ok(values) => {
                self.cache.keep(key, Answer { values: values.clone(), passed: Vec::new() });
                Ok(values)
            }
            Err(fault) => {
                self.cache.keep_fault(key, fault.clone());
                old.map(|answer| answer.values).ok_or(fault)
            }
        }
    }

    fn run(
        &self,
        question: &Question,
        env: &[(String, String)],
        read: impl Fn(&str) -> Vec<String>,
    ) -> Result<Vec<String>, String> {
        let runner = self.machine.runner.as_ref();
        let runner = runner.ok_or("no program is asked here, where none can be confined")?;
        let output = runner.0(&Ask {
            program: question.program.clone(),
            args: question.args.clone(),
            env: env.to_vec(),
            files: question.files.clone(),
            limit: question.limit,
        })?;
        let values = read(&without_credentials(&output));
        if values.is_empty() { Err("its answer names nothing".to_owned()) } else { Ok(values) }
    }

    /// Returns all variables of a program that is asked: where things are, nothing
    /// that configures it, and a proxy that leads nowhere.
    fn program_env(&self, question: &Question) -> Vec<(String, String)> {
        let dirs = self.machine.path.iter().filter(|dir| self.is_path_trusted(dir));
        let path = std::env::join_paths(dirs).unwrap_or_default();
        let mut env: Vec<(String, String)> = Vec::new();
        let mut set = |name: &str, value: &str| env.push((name.to_owned(), value.to_owned()));
        set("PATH", &path.to_string_lossy());
        // What is configured is read from the files themselves.
        for name in ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            set(name, SCRATCH);
        }
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            set(name, NOWHERE);
            set(&name.to_ascii_uppercase(), NOWHERE);
        }
        let plain = [("LANG", "C"), ("LC_ALL", "C"), ("TERM", "dumb"), ("NO_COLOR", "1")];
        plain.into_iter().chain([("COLUMNS", "500")]).for_each(|(name, value)| set(name, value));
        for name in TOOLCHAINS {
            let is_ours =
                |value: &String| fs::canonicalize(value).is_ok_and(|real| self.is_untrusted(&real));
            if let Some(value) = self.var(name).filter(|value| !is_ours(value)) {
                set(name, &value);
            }
        }
        env.extend(question.env.iter().cloned());
        env
    }
}

/// Returns all that an answer of a program depends on. A program's own files may
/// change without it, which is one reason to ask again each day.
fn question_key(question: &Question, env: &[(String, String)]) -> String {
    let real = fs::canonicalize(&question.program).unwrap_or_else(|_| question.program.clone());
    let identity = fs::metadata(&real).map_or_else(
        |_| String::new(),
        |meta| format!("{} {} {}", meta.len(), meta.mtime(), meta.mtime_nsec()),
    );
    let mut parts = vec![b"program".to_vec(), real.to_string_lossy().as_bytes().to_vec()];
    parts.push(identity.into_bytes());
    parts.extend(question.args.iter().map(|arg| arg.as_bytes().to_vec()));
    for (name, value) in env.iter().chain(&question.files) {
        parts.push(name.as_bytes().to_vec());
        parts.push(value.as_bytes().to_vec());
    }
    cache::key(parts.iter().map(Vec::as_slice))
}
