//! The parser of command lines against bash itself.
//!
//! Random lines of harmless stubs are taken apart, and whatever the parser says
//! it understood must be right: bash accepts the line, and runs no command that
//! is not in the list. `ZONEKEEP_SHELL_LINES` sets the number of lines,
//! `ZONEKEEP_SHELL_SEED` where they begin.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail loudly")]

#[path = "shell_bash/lines.rs"]
mod lines;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lines::{Dice, Made};
use zonekeep_policy::shell::{Line, RedirectKind, Simple, Within, Word, parse};

/// A line that runs for longer is stopped.
const PATIENCE: Duration = Duration::from_secs(3);

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn bash() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("bash")).find(|file| file.is_file())
}

/// A directory with the stubs, and one to run lines in.
struct Place {
    temp: tempfile::TempDir,
    bash: PathBuf,
}

impl Place {
    fn new(bash: &Path) -> Self {
        let temp = tempfile::Builder::new().prefix("zk-shell-").tempdir().unwrap();
        let place = Place { temp, bash: bash.to_owned() };
        fs::create_dir(place.path("stubs")).unwrap();
        let log = place.path("log");
        // In one write, so that stubs that run at once do not mix.
        let script = format!(
            "#!/bin/sh\nprintf '%s\\0' \"${{0##*/}}\" $# \"$@\" >>'{}'\necho 7\n",
            log.display()
        );
        for number in 1..=9 {
            let stub = place.path("stubs").join(format!("c{number}"));
            fs::write(&stub, &script).unwrap();
            fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.bash);
        command.env_clear().current_dir(self.temp.path());
        command.args(["--norc", "--noprofile"]).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Returns a bash that can write nothing but this directory, and reach nothing.
    /// Its processes are not ended with it: those in `<( )` may take longer.
    fn confined(&self) -> Command {
        let mut command =
            Command::new(zonekeep_testkit::program("bwrap").unwrap_or("bwrap".into()));
        command.env_clear().args(["--unshare-net", "--unshare-ipc", "--die-with-parent"]);
        command.args(["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind"]);
        command.args([self.temp.path(), self.temp.path()]).arg("--").arg(&self.bash);
        command.args(["--norc", "--noprofile"]).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Returns whether lines can be run.
    fn confines(&self) -> bool {
        let tried = self.confined().args(["-c", ":"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    }

    /// Returns what bash says against a line, without running it.
    fn complaint(&self, text: &str) -> Option<String> {
        let output = self.command().args(["-n", "-c", text]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success() || !said.is_empty()).then_some(said)
    }

    /// Runs a line and returns the commands that ran; nothing if it took too long.
    fn run(&self, text: &str) -> Option<Vec<Vec<String>>> {
        let _ = fs::remove_file(self.path("log"));
        let _ = fs::remove_dir_all(self.path("work"));
        fs::create_dir(self.path("work")).unwrap();
        fs::write(self.path("work").join("in"), "c9 in\n").unwrap();
        let mut command = self.confined();
        command.args(["-c", text]).current_dir(self.path("work"));
        command.env("PATH", self.path("stubs")).env("HOME", self.path("work"));
        // Its own group, to be stopped as one.
        let mut child = command.stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        // Everything that the line starts holds the other end of this pipe.
        let reader = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = errors.read_to_end(&mut said);
            let _ = sender.send(());
        });
        let ended = receiver.recv_timeout(PATIENCE).is_ok();
        if !ended {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-9", "--", &group]).status();
        }
        child.wait().unwrap();
        reader.join().unwrap();
        ended.then(|| records(&fs::read(self.path("log")).unwrap_or_default()))
    }
}

/// Reads what the stubs wrote: name, number of arguments, arguments.
fn records(log: &[u8]) -> Vec<Vec<String>> {
    let mut parts =
        log.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut records = Vec::new();
    while let Some(name) = parts.next().filter(|name| !name.is_empty()) {
        let count: usize = parts.next().unwrap().parse().unwrap();
        let mut record = vec![name];
        record.extend(parts.by_ref().take(count));
        records.push(record);
    }
    records
}

/// Returns whether a command could have run with these arguments.
fn could_be(words: &[Word], ran: &[String]) -> bool {
    match words.split_first() {
        None => ran.is_empty(),
        Some((Word::Known(text), rest)) => ran.first() == Some(text) && could_be(rest, &ran[1..]),
        Some((Word::Glob { fixed, .. }, rest)) => {
            let names = ran.iter().take_while(|name| name.starts_with(fixed.as_str())).count();
            (1..=names).any(|taken| could_be(rest, &ran[taken..]))
        }
        Some((Word::Unknown { .. }, rest)) => {
            (0..=ran.len()).any(|taken| could_be(rest, &ran[taken..]))
        }
    }
}

/// Assigns each run a listed command of its own; returns a run without one.
fn unlisted<'a>(listed: &[&Simple], ran: &'a [Vec<String>]) -> Option<&'a Vec<String>> {
    fn place(
        run: usize,
        listed: &[&Simple],
        ran: &[Vec<String>],
        owner: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for command in 0..listed.len() {
            if seen[command] || !could_be(&listed[command].words, &ran[run]) {
                continue;
            }
            seen[command] = true;
            if owner[command].is_none_or(|other| place(other, listed, ran, owner, seen)) {
                owner[command] = Some(run);
                return true;
            }
        }
        false
    }
    let mut owner = vec![None; listed.len()];
    (0..ran.len())
        .find(|run| !place(*run, listed, ran, &mut owner, &mut vec![false; listed.len()]))
        .map(|run| &ran[run])
}

/// Returns whether a line is safe to run, and sure to be over when it seems so.
fn can_run(made: &Made, line: &Line) -> bool {
    let text = &made.text;
    let endless = ["while", "until", "select", "((;", "for (("];
    let parallel = text.contains("<(")
        || text.contains(">(")
        || line.commands.iter().any(|simple| simple.within.contains(&Within::Background));
    let hides_errors = ["2>", "&>", ">&", "|&"].iter().any(|sign| text.contains(sign));
    let recursive = |simple: &Simple| simple.redefined && simple.within.contains(&Within::Function);
    let sources = |simple: &Simple| simple.words.first().and_then(Word::known) == Some(".");
    // Without a slash the name of a file is one in the directory.
    let outside = text.replace("//a/", "").contains('/');
    let loops = made.mutated && endless.iter().any(|word| text.contains(word));
    let calls = line.commands.iter().any(|simple| recursive(simple) || sources(simple));
    !(outside || loops || calls || parallel && hides_errors)
}

/// Compares what ran with what is listed.
fn compare(made: &Made, line: &Line, ran: &[Vec<String>]) -> Result<(), String> {
    let listed: Vec<_> = line.commands.iter().filter(|simple| !simple.words.is_empty()).collect();
    // A target that is more than one word is expanded again for the message.
    let repeats = |simple: &&Simple| {
        simple.within.iter().any(|within| matches!(within, Within::Compound | Within::Function))
            || simple.redirects.iter().any(|redirect| redirect.target.known().is_none())
    };
    let braces = made.text.contains(',') || made.text.contains("..");
    if listed.iter().any(repeats) || braces {
        let known = |run: &&Vec<String>| listed.iter().any(|simple| could_be(&simple.words, run));
        return match ran.iter().find(|run| !known(run)) {
            Some(run) => Err(format!("ran {run:?}, which is not listed")),
            None => Ok(()),
        };
    }
    if let Some(run) = unlisted(&listed, ran) {
        return Err(format!("ran {run:?}, which is not listed as often"));
    }
    let stub = |simple: &&&Simple| {
        let name = simple.words[0].known().unwrap_or_default();
        name.len() == 2 && name.starts_with('c')
    };
    // `<&` may fail when nothing is open there.
    let fails = |simple: &&Simple| {
        simple.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Duplicate)
    };
    let expected = listed.iter().filter(stub).count();
    if made.straight && !made.mutated && !listed.iter().any(fails) && ran.len() != expected {
        return Err(format!("{} of {expected} commands ran: {ran:?}", ran.len()));
    }
    Ok(())
}

#[test]
fn what_is_understood_of_a_shell_line_is_what_bash_does() {
    let Some(bash) = bash() else { return zonekeep_testkit::skip("no bash") };
    if !Place::new(&bash).confines() {
        return zonekeep_testkit::skip("no bwrap to run lines in");
    }
    let count = number("ZONEKEEP_SHELL_LINES", 3000);
    let seed = number("ZONEKEEP_SHELL_SEED", 1);
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8) as u64;
    let faults = Mutex::new(Vec::new());
    let [understood, run, slow] = [const { AtomicUsize::new(0) }; 3];
    thread::scope(|scope| {
        for worker in 0..workers {
            let (bash, faults) = (&bash, &faults);
            let (understood, run, slow) = (&understood, &run, &slow);
            scope.spawn(move || {
                let place = Place::new(bash);
                for number in (worker..count).step_by(workers as usize) {
                    let made = lines::line(&mut Dice::new(seed.wrapping_mul(1 << 32) + number + 1));
                    let Ok(line) = parse(&made.text) else { continue };
                    understood.fetch_add(1, Ordering::Relaxed);
                    let fault = |why: String| {
                        let listed: Vec<_> = line.commands.iter().map(|c| &c.text).collect();
                        let text = &made.text;
                        faults.lock().unwrap().push(format!("{text:?}\n  {why}\n  {listed:?}"));
                    };
                    if let Some(said) = place.complaint(&made.text) {
                        fault(format!("bash says {said:?}"));
                        continue;
                    }
                    if !can_run(&made, &line) {
                        continue;
                    }
                    match place.run(&made.text) {
                        Some(ran) => {
                            run.fetch_add(1, Ordering::Relaxed);
                            if let Err(why) = compare(&made, &line, &ran) {
                                fault(why);
                            }
                        }
                        None => {
                            slow.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let [understood, run, slow] = [understood, run, slow].map(AtomicUsize::into_inner);
    eprintln!("{count} lines: {understood} understood, {run} run, {slow} too slow");
    let faults = faults.into_inner().unwrap();
    assert!(
        faults.is_empty(),
        "{} lines differ:\n{}",
        faults.len(),
        faults[..faults.len().min(20)].join("\n")
    );
    assert!(understood > count as usize / 4, "too few lines are understood to say much");
}
