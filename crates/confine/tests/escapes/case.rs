//! One attack on one ground: the user's session that it is made from.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zonekeep_confine::plan::Backend;

use crate::attack::{Attack, Given};
use crate::attacks;
use crate::confined::{self, Confined};
use crate::scene::{SECRET, SECRET_VARIABLE, Scene};
use crate::sys;

/// Returns how long an attempt may take.
pub(crate) fn limit() -> Duration {
    sys::scaled(Duration::from_secs(10))
}

/// What a case found, for the runner.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The line that the attack printed.
    pub(crate) said: Option<String>,
    /// How it ended, and what it said beside that.
    pub(crate) ended: String,
    /// Whether the kernel ended it for a call that it made.
    pub(crate) killed_by_filter: bool,
    /// What was found on the host afterwards, if something was.
    pub(crate) found: Option<String>,
    /// Why there is no such backend here.
    pub(crate) unavailable: Option<String>,
}

/// Plays the session, runs the attack and prints the finding.
pub(crate) fn main(name: &str, ground: &str, dir: &str, attacker: &str) -> ExitCode {
    sys::setsid();
    sys::ignore(&[libc::SIGHUP, libc::SIGTTOU, libc::SIGTTIN]);
    // What an attack leaves behind without a sandbox comes to this process,
    // which ends it.
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let outside = Path::new(dir).join("outside");
    // SAFETY: this process has one thread yet.
    unsafe {
        std::env::set_var(SECRET_VARIABLE, SECRET);
        std::env::set_var("SSH_AUTH_SOCK", outside.join("stream.sock"));
    }
    let attack = attacks::all().find(|attack| attack.name == name).expect("an attack's name");
    let scene = Scene::new(Path::new(dir), Path::new(attacker));
    (attack.setup)(&scene);

    let backend = Backend::named(ground);
    let target = scene.target(backend);
    let facts = serde_json::to_string(&target).unwrap();
    let argv = [target.attacker.display().to_string(), "--attack".into(), name.into(), facts];
    let run = match backend {
        Some(backend) => run_on(backend, attack, &scene, &argv),
        None => unconfined(&argv, attack, &scene).map_err(|error| error.to_string()),
    };
    let finding = match run {
        Err(why) => Finding { unavailable: Some(why), ..Finding::default() },
        Ok(run) => {
            let found = (attack.check)(&scene).and_then(|()| scene.unharmed());
            finding(&run, found.err())
        }
    };
    drop(scene);
    end_descendants();
    println!("{}", serde_json::to_string(&finding).unwrap());
    ExitCode::SUCCESS
}

/// Runs an attack under a launcher that was split off this process, and so was
/// a copy of it. Where it is about what comes from the caller, one that was
/// started has to hold too.
fn run_on(
    backend: Backend,
    attack: &Attack,
    scene: &Scene,
    argv: &[String],
) -> Result<Confined, String> {
    zonekeep_confine::launcher::split_off();
    let run = || confined::run(backend, scene, argv, (attack.given)(scene));
    let held = run()?;
    let again = ["leaks/", "stdio/"].iter().any(|group| attack.name.starts_with(group));
    if !again || !held.stdout.contains("HELD") {
        return Ok(held);
    }
    // What comes with a descriptor is not a matter of Landlock.
    if attack.name.starts_with("stdio/") && backend.has_own_tree() {
        sys::mask_landlock().map_err(|error| error.to_string())?;
    }
    run()
}

fn finding(run: &Confined, found: Option<String>) -> Finding {
    let verdict = |line: &&str| ["HELD", "BROKE", "MISSING"].iter().any(|w| line.starts_with(w));
    let stderr: Vec<&str> = run.stderr.lines().rev().take(3).collect();
    Finding {
        said: run.stdout.lines().rev().find(verdict).map(str::to_owned),
        ended: format!("exit {} {}", run.exit, stderr.join(" | ")).trim().to_owned(),
        killed_by_filter: run.exit == 128 + libc::SIGSYS,
        found,
        unavailable: None,
    }
}

fn unconfined(argv: &[String], attack: &Attack, scene: &Scene) -> io::Result<Confined> {
    let mut command = Command::new(&argv[0]);
    capture(command.args(&argv[1..]).current_dir(scene.rw("")), (attack.given)(scene))
}

/// Runs a command, ends its group when it takes too long, and returns as soon as
/// it has ended, also when something that it left behind holds its output open.
fn capture(command: &mut Command, given: Given) -> io::Result<Confined> {
    command.stdin(given.input.map_or_else(Stdio::null, Stdio::from));
    command.stdout(Stdio::piped()).stderr(given.errors.map_or_else(Stdio::piped, Stdio::from));
    let mut child = command.process_group(0).spawn()?;
    let mut stdout = Output::of(child.stdout.take().expect("a pipe"))?;
    let mut stderr = child.stderr.take().map(Output::of).transpose()?;
    let start = Instant::now();
    let status = loop {
        let status = child.try_wait()?;
        // All that a command wrote is in the pipe when it has ended.
        stdout.drain();
        stderr.iter_mut().for_each(Output::drain);
        if let Some(status) = status {
            break status;
        }
        if start.elapsed() > limit() {
            sys::kill(-(child.id() as i32));
        }
        thread::sleep(Duration::from_millis(2));
    };
    let exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    let stderr = stderr.map_or_else(String::new, |stderr| stderr.text());
    Ok(Confined { exit, stdout: stdout.text(), stderr })
}

/// A pipe that is read without waiting.
struct Output {
    pipe: File,
    bytes: Vec<u8>,
}

impl Output {
    fn of(pipe: impl Into<OwnedFd>) -> io::Result<Output> {
        let pipe = pipe.into();
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Output { pipe: pipe.into(), bytes: Vec::new() })
    }

    /// Takes what is in the pipe.
    fn drain(&mut self) {
        // It ends with an error where there is nothing to read yet.
        let _ = self.pipe.read_to_end(&mut self.bytes);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Ends every process that came from this one, until none is left.
fn end_descendants() {
    for _ in 0..200 {
        let children = descendants(std::process::id() as i32);
        if children.is_empty() {
            break;
        }
        for pid in children {
            sys::kill(pid);
        }
        // SAFETY: no status is asked for.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
        thread::sleep(Duration::from_millis(5));
    }
}

fn descendants(pid: i32) -> Vec<i32> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
            all.push(child);
            all.extend(descendants(child));
        }
    }
    all
}
