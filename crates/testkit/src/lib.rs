//! For Zonekeep's own tests: a temporary project, and the real program in it.

// A test kit may fail loudly, and says what it skips.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
pub mod internet;
pub mod provider;
mod terminal;

pub use terminal::{Step, Terminal, Typed};

/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A project in a temporary directory, with a state and a home directory
/// beside it.
#[derive(Debug)]
pub struct Project {
    _temp: tempfile::TempDir,
    /// The temporary directory, as it really is.
    base: PathBuf,
    program: PathBuf,
}

impl Project {
    /// Returns an empty project for the program at `program`
    /// (`env!("CARGO_BIN_EXE_zonekeep")`).
    pub fn new(program: &str) -> Self {
        let temp = tempfile::Builder::new().prefix("zk-test-").tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir(base.join("project")).unwrap();
        fs::create_dir(base.join("home")).unwrap();
        Project { _temp: temp, base, program: program.into() }
    }

    /// Returns the project with a project file of that content.
    pub fn with_config(program: &str, config: &str) -> Self {
        Project::new(program).file("zonekeep.yaml", config)
    }

    /// Writes a file of the project.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.put(path, content);
        self
    }

    /// Writes a file of the project.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Makes a directory of the project.
    pub fn dir(self, path: &str) -> Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// Makes a symbolic link in the project.
    pub fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    /// Returns the host path of a file of the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.base.join("project").join(path)
    }

    /// Returns the host path of something beside the project.
    pub fn beside(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    /// Returns the content of a file of the project.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Returns whether there is something in the project at `path`.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Returns the names of all that lies below a directory of the project, sorted.
    pub fn tree(&self, path: &str) -> Vec<String> {
        fn walk(base: &Path, dir: &Path, names: &mut Vec<String>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.strip_prefix(base).unwrap().display().to_string());
                if path.is_dir() && !path.is_symlink() {
                    walk(base, &path, names);
                }
            }
        }
        let mut names = Vec::new();
        walk(&self.path(path), &self.path(path), &mut names);
        names.sort();
        names
    }

    /// Returns the state directory.
    pub fn state(&self) -> PathBuf {
        self.base.join("state")
    }

    /// Returns the lines of all audit logs, as they are on disk.
    pub fn log_lines(&self) -> Vec<String> {
        let Ok(logs) = fs::read_dir(self.state().join("zonekeep/audit")) else {
            return Vec::new();
        };
        let logs = logs.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        logs.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Returns the program, ready to be started in the project, without a
    /// terminal and with an environment of its own.
    pub fn command(&self) -> Command {
        let mut command = match terminal::setsid() {
            // Whoever runs the tests may sit at a terminal that must not be asked.
            Some(setsid) => {
                let mut command = Command::new(setsid);
                command.arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        self.prepare(&mut command);
        command
    }

    /// Gives a command the working directory and environment of the project.
    pub fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.beside("home"))
            .env("XDG_STATE_HOME", self.state())
            // The groups of this machine are not for tests, where nobody gave them some.
            .env("ZONEKEEP_CGROUP", std::env::var_os("ZONEKEEP_CGROUP").unwrap_or("off".into()))
            .stdin(Stdio::null());
    }

    /// Returns what makes commands that an ordinary user runs in the project, or `None`
    /// where nobody can be one or run the program.
    pub fn as_ordinary(&self) -> Option<fn() -> Command> {
        if !is_root() {
            return Some(|| Command::new("env"));
        }
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.beside(""), open).unwrap();
        fs::create_dir_all(self.state()).unwrap();
        std::os::unix::fs::chown(self.state(), Some(65534), Some(65534)).unwrap();
        let runs = as_nobody()?.arg(self.program()).arg("--version").output().ok()?;
        runs.status.success().then_some(|| as_nobody().unwrap())
    }

    /// Returns the program itself.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program in the project.
    pub fn zonekeep<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(&self, args: I) -> Run {
        self.finish(self.command().args(args))
    }

    /// Runs the program in a directory of the project.
    pub fn zonekeep_in<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(
        &self,
        dir: &str,
        args: I,
    ) -> Run {
        self.finish(self.command().current_dir(self.path(dir)).args(args))
    }

    /// Runs the program in the project, with text on its standard input.
    pub fn zonekeep_with_input<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(
        &self,
        args: I,
        input: &str,
    ) -> Run {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        self.run_of(child.wait_with_output().unwrap())
    }

    /// Runs a prepared command and returns what it came to.
    pub fn finish(&self, command: &mut Command) -> Run {
        self.run_of(command.output().unwrap())
    }

    fn run_of(&self, output: std::process::Output) -> Run {
        Run::of(output, &self.base)
    }
}

/// What a program came to, with the temporary directory written as `[TEMP]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The exit status; 128 and the number for a signal.
    pub exit: i32,
    /// What it printed.
    pub stdout: String,
    /// What it said beside that.
    pub stderr: String,
}

impl Run {
    fn of(output: std::process::Output, temp: &Path) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let clean = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&temp.display().to_string(), "[TEMP]")
        };
        let status = output.status;
        Run {
            exit: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: clean(&output.stdout),
            stderr: clean(&output.stderr),
        }
    }

    /// Returns what it printed, after asserting that it went well.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.exit, 0, "{self}");
        self.stdout.trim_end()
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit {}", self.exit)?;
        writeln!(f, "--- stdout\n{}", self.stdout.trim_end())?;
        write!(f, "--- stderr\n{}", self.stderr.trim_end())
    }
}

/// Looks again and again until `found` returns something.
///
/// # Panics
/// When that takes longer than [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "never came: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A child process that is stopped when the test is done with it.
#[derive(Debug)]
pub struct Stopped(pub Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns whether this process may do what file permissions forbid.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns a command that runs another one as the user `nobody`, or `None`
/// where this user cannot do that.
pub fn as_nobody() -> Option<Command> {
    if !is_root() {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let works = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    works.then_some(command)
}

/// Returns where a program is that `PATH` leads to.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Says that a test cannot run here, and why; with `ZONEKEEP_TEST_REQUIRE=all`
/// that is a failure. Where `ZONEKEEP_TEST_SKIPPED` names a file, the test and the
/// reason become a line of it, so that skipped tests can be counted.
///
/// # Panics
/// When the environment requires every test to run.
pub fn skip(why: &str) {
    let required = std::env::var("ZONEKEEP_TEST_REQUIRE").is_ok_and(|value| value == "all");
    assert!(!required, "this test has to run here, and cannot: {why}");
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("ZONEKEEP_TEST_SKIPPED") {
        let thread = thread::current();
        let first = why.lines().next().unwrap_or_default();
        let line = format!("{}: {first}\n", thread.name().unwrap_or("a test"));
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Returns whether this machine fully enforces the boundaries of commands, as `doctor`
/// of the program at `program` says; where it does not, skips the test.
///
/// # Panics
/// When it does not and the environment requires every test to run.
pub fn enforced(program: &str) -> bool {
    static ENFORCED: OnceLock<bool> = OnceLock::new();
    let enforced = *ENFORCED.get_or_init(|| {
        let project = Project::new(program);
        project.zonekeep(["doctor", "--json"]).stdout.contains("\"enforced\": true")
    });
    if !enforced {
        skip("this machine does not fully enforce the boundaries of commands");
    }
    enforced
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// A crate that names its test programs has each file of tests in one of them.
    #[test]
    fn no_file_of_tests_is_left_out() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut seen = 0;
        for member in fs::read_dir(crates).unwrap() {
            let member = member.unwrap().path();
            let Ok(all) = fs::read_to_string(member.join("tests/all.rs")) else { continue };
            let programs = fs::read_to_string(member.join("Cargo.toml")).unwrap();
            for file in fs::read_dir(member.join("tests")).unwrap() {
                let file = file.unwrap().path();
                let name = file.file_stem().unwrap().to_str().unwrap();
                let program = file.join("main.rs").exists();
                if !program && file.extension().is_none_or(|end| end != "rs") {
                    continue;
                }
                let own = programs.contains(&format!("[[test]]\nname = \"{name}\"\n"));
                let module = all.contains(&format!("\nmod {name};\n"));
                assert!(own != module, "{} is in no test program, or in two", file.display());
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
    }
}
