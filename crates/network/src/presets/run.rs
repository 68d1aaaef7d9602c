//! Runs a package manager to ask it something: nothing of the user's environment
//! but what it needs, no input, no way to the network, and not for long.

use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::SCRATCH;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// The most of a program's output that is read.
const MAX_OUTPUT: usize = 1 << 20;

/// A program to run, in full.
pub(super) struct Run<'a> {
    pub(super) program: &'a Path,
    pub(super) args: &'a [String],
    /// All of its environment.
    pub(super) env: &'a [(String, String)],
    /// Files to make in the scratch directory first.
    pub(super) files: &'a [(String, String)],
    pub(super) limit: Duration,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunFault {
    #[error("it could not be started: {0}")]
    Start(#[from] io::Error),
    #[error("it took longer than {} s", .0.as_secs())]
    Time(Duration),
}

/// Runs a program in `/`, and returns what it wrote to both of its outputs.
///
/// Its status does not count: some are asked by having them fail, since the
/// message says where they wanted to go. All that it starts ends with it.
pub(super) fn run(run: &Run<'_>, within: &Path) -> Result<String, RunFault> {
    let scratch = Scratch::new(within)?;
    for (name, text) in run.files {
        let path = scratch.0.join(name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(path, scratch.fill(text))?;
    }
    let mut command = Command::new(run.program);
    command
        .args(run.args.iter().map(|arg| scratch.fill(arg)))
        .env_clear()
        .envs(run.env.iter().map(|(name, value)| (name, scratch.fill(value))))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = start(&mut command)?;
    let mut group = Group(child);
    let output = collect(&mut group.0, run.limit)?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Starts a program. One that is being written at this moment is waited for.
fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 0..50 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            started => return started,
        }
    }
    command.spawn()
}

/// A process and all in its group, which end when this is dropped.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // The leader is not waited for before this, so its number is still its own.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// A directory for one run, which goes away with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(within: &Path) -> io::Result<Scratch> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let path = within.join(format!("ask-{:016x}", u64::from_ne_bytes(bytes)));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Scratch(path))
    }

    fn fill(&self, text: &str) -> String {
        text.replace(SCRATCH, &self.0.to_string_lossy())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads both outputs until they end, the limit of bytes or the time is reached.
///
/// Something that a program leaves behind may keep them open, so the end of the
/// program is an end, too: a moment after it what has arrived is all.
fn collect(child: &mut Child, limit: Duration) -> Result<Vec<u8>, RunFault> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("no pipes").into());
    };
    let (mut out, mut err) = (Some(out), Some(err));
    let deadline = Instant::now() + limit;
    let mut ended: Option<Instant> = None;
    let mut bytes = Vec::new();
    while (out.is_some() || err.is_some()) && bytes.len() < MAX_OUTPUT {
        let now = Instant::now();
        if now >= deadline {
            return Err(RunFault::Time(limit));
        }
        if ended.is_some_and(|at| now >= at + Duration::from_millis(200)) {
            break;
        }
        if ended.is_none() && has_ended(child) {
            ended = Some(now);
        }
        read_ready(&mut out, &mut bytes)?;
        read_ready(&mut err, &mut bytes)?;
        wait_for(&out, &err)?;
    }
    Ok(bytes)
}

/// Returns whether a process has ended, without taking its status: as long as
/// that is there, its number cannot become another's.
fn has_ended(child: &Child) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// Takes what is there, and the pipe away when it has ended.
fn read_ready<R: Read + std::os::fd::AsFd>(
    pipe: &mut Option<R>,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let Some(open) = pipe else { return Ok(()) };
    let mut fds = [PollFd::new(open, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut fds, Some(&now)).unwrap_or(0) == 0 {
        return Ok(());
    }
    let mut buffer = [0; 16 << 10];
    match open.read(&mut buffer)? {
        0 => *pipe = None,
        read => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
    }
    Ok(())
}

/// Waits until one of the pipes has something, for 20 ms at most.
fn wait_for(
    out: &Option<impl std::os::fd::AsFd>,
    err: &Option<impl std::os::fd::AsFd>,
) -> io::Result<()> {
    let mut fds = Vec::new();
    fds.extend(out.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    fds.extend(err.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    match poll(&mut fds, Some(&moment)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(dir: &Path, text: &str) -> PathBuf {
        let path = dir.join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("mode");
        path
    }

    fn output(text: &str, limit: Duration) -> Result<String, RunFault> {
        let dir = tempfile::tempdir().expect("dir");
        let program = script(dir.path(), text);
        let env = [("PATH", "/usr/bin:/bin"), ("PLACE", "{scratch}/x")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let files = [("in/a.txt".to_owned(), "at {scratch}".to_owned())];
        let args = ["{scratch}/in/a.txt".to_owned()];
        let asked = Run { program: &program, args: &args, env: &env, files: &files, limit };
        let got = run(&asked, dir.path());
        let left: Vec<_> = fs::read_dir(dir.path()).expect("list").collect();
        assert_eq!(left.len(), 1, "the scratch directory is gone");
        got
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_gets_its_files_and_variables_and_nothing_else() {
        let text = "read x || echo no input; pwd; env | cut -d= -f1 | sort | tr '\\n' ' '; \
                    cat \"$1\"; echo to stderr >&2; exit 3";
        let got = output(text, LONG).expect("output");
        assert!(got.starts_with("no input\n/\n"), "{got}");
        assert!(got.contains("PATH PLACE PWD "), "{got}");
        assert!(got.contains("at /") && got.contains("to stderr"), "{got}");
        assert!(!got.contains("HOME"), "{got}");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_all_that_it_started() {
        let dir = tempfile::tempdir().expect("dir");
        let note = dir.path().join("pid");
        let text = format!("sleep 300 & echo $! > '{}'; wait", note.display());
        let got = output(&text, Duration::from_millis(500));
        assert!(matches!(got, Err(RunFault::Time(_))), "{got:?}");
        let pid: i32 = fs::read_to_string(note).expect("note").trim().parse().expect("number");
        let pid = Pid::from_raw(pid).expect("pid");
        let gone = (0..3_000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let status = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            status.map_or(true, |stat| stat.contains(") Z "))
        });
        assert!(gone, "the program's own child still runs");
    }

    #[test]
    fn what_stays_behind_does_not_hold_up_the_answer() {
        let started = Instant::now();
        let got = output("sleep 300 & echo done", LONG).expect("output");
        assert_eq!(got, "done\n");
        assert!(started.elapsed() < Duration::from_secs(120));
    }

    #[test]
    fn output_without_end_is_cut() {
        let got = output("while :; do echo 0123456789012345678901234567890123456789; done", LONG);
        let length = got.expect("output").len();
        assert!((MAX_OUTPUT..MAX_OUTPUT + (64 << 10)).contains(&length), "{length}");
    }
}
