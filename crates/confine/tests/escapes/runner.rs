//! Runs every attack on every ground and says what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use zonekeep_confine::plan::Backend;

use crate::attack::{Attack, Control, EVERY};
use crate::attacks;
use crate::case::{Finding, limit};
use crate::options::Options;
use crate::rule;
use crate::scene::{clean_up_after, open_to_all};
use crate::sys;

/// How many attacks run at once.
const THREADS: usize = 3;

/// Who attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Root,
    Ordinary,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            User::Root => "root",
            User::Ordinary => "user",
        })
    }
}

/// What a control or a confined attack came to.
#[derive(Debug, Clone)]
enum Verdict {
    Good(String),
    Skipped(String),
    Failed(String),
}

impl Verdict {
    fn of(good: bool, words: String) -> Verdict {
        if good { Verdict::Good(words) } else { Verdict::Failed(words) }
    }

    fn words(&self) -> &str {
        match self {
            Verdict::Good(words) | Verdict::Skipped(words) | Verdict::Failed(words) => words,
        }
    }
}

/// A line of the table.
struct Line {
    attack: &'static Attack,
    user: User,
    control: Verdict,
    /// One for each backend that claims the attack.
    confined: Vec<(Backend, Verdict)>,
}

impl Line {
    /// Prints the control and each confined case as a line of JSON.
    fn print_json(&self) {
        let attack = self.attack;
        let print = |ground: &str, claimed: bool, words: [&str; 3], verdict: &Verdict| {
            let (verdict, detail) = match verdict {
                Verdict::Good(detail) => (words[0], detail),
                Verdict::Skipped(detail) => (words[1], detail),
                Verdict::Failed(detail) => (words[2], detail),
            };
            let case = serde_json::json!({
                "attack": attack.name,
                "rule": rule::of(attack.name),
                "user": self.user.to_string(),
                "ground": ground,
                "claimed": claimed,
                "promised": !attack.held_by.is_empty(),
                "verdict": verdict,
                "detail": detail.trim(),
            });
            println!("{case}");
        };
        print("control", false, ["works", "none", "failed"], &self.control);
        for (backend, verdict) in &self.confined {
            let claimed = attack.is_claimed_by(*backend, self.user == User::Root);
            print(backend.as_str(), claimed, ["held", "skipped", "broke"], verdict);
        }
    }
}

/// Runs what the arguments ask for.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let options = Options::read(args);
    check_names();
    let chosen = options.attacks();
    if options.list {
        for attack in &chosen {
            println!("{}: test", attack.name);
        }
        return ExitCode::SUCCESS;
    }
    let dir = tempfile::Builder::new().prefix("zk-escapes-").tempdir().unwrap();
    open_to_all(dir.path());
    let attacker = dir.path().join("attacker");
    fs::copy(std::env::current_exe().unwrap(), &attacker).unwrap();
    open_to_all(&attacker);

    let users = users(&options);
    let jobs = users.iter().flat_map(|&user| chosen.iter().map(move |&attack| (attack, user)));
    let jobs: Mutex<VecDeque<_>> = Mutex::new(jobs.enumerate().collect());
    let lines = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some((number, (attack, user))) = jobs.lock().unwrap().pop_front() else {
                        break;
                    };
                    let dir = dir.path().join(number.to_string());
                    let line = Ground { dir, user, options: &options }.line(attack, &attacker);
                    let mut lines = lines.lock().unwrap();
                    if options.json {
                        line.print_json();
                    }
                    lines.insert(number, line);
                }
            });
        }
    });
    let lines: Vec<Line> = lines.into_inner().unwrap().into_values().collect();
    if options.json {
        return ExitCode::SUCCESS;
    }
    report(&lines, options.everything)
}

fn check_names() {
    let mut names: Vec<&str> = attacks::all().map(|attack| attack.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(count, names.len(), "two attacks have the same name");
    for attack in attacks::all() {
        assert!(!attack.threat.is_empty() && !attack.what.is_empty(), "{}", attack.name);
        assert!(rule::of(attack.name).is_some(), "{} tests no rule", attack.name);
    }
}

fn users(options: &Options) -> Vec<User> {
    if !zonekeep_testkit::is_root() {
        return vec![User::Ordinary];
    }
    if options.this_user {
        return vec![User::Root];
    }
    let ordinary = zonekeep_testkit::as_nobody().map(|_| User::Ordinary);
    if ordinary.is_none() {
        zonekeep_testkit::skip("no ordinary user can be had by setpriv");
    }
    [User::Root].into_iter().chain(ordinary).collect()
}

/// Where the cases of one attack and one user are played.
struct Ground<'o> {
    dir: PathBuf,
    user: User,
    options: &'o Options,
}

impl Ground<'_> {
    fn line(&self, attack: &'static Attack, attacker: &Path) -> Line {
        let control = match self.options.no_control {
            true => Verdict::Skipped("not asked for".to_owned()),
            false => self.control(attack, attacker),
        };
        let is_root = self.user == User::Root;
        let runs = |backend: &&Backend| self.options.runs_on(attack, is_root, **backend);
        let confined = EVERY.iter().filter(runs).map(|&backend| {
            let finding = self.case(attack, attacker, backend.as_str());
            (backend, finding.map_or_else(Verdict::Failed, |finding| confined(&finding)))
        });
        let confined: Vec<(Backend, Verdict)> = confined.collect();
        let none_runs = confined.iter().all(|(_, case)| matches!(case, Verdict::Skipped(_)));
        // Where the machine refuses the attack to everybody, and every sandbox too, there is
        // nothing to compare.
        let control = match control {
            Verdict::Failed(why) if none_runs && !confined.is_empty() => {
                Verdict::Skipped(format!("no backend runs here ({why})"))
            }
            control => control,
        };
        Line { attack, user: self.user, control, confined }
    }

    fn control(&self, attack: &Attack, attacker: &Path) -> Verdict {
        match attack.control {
            Control::None(why) => return Verdict::Skipped(why.to_owned()),
            Control::NeedsRoot(why) if self.user != User::Root || !sys::is_full_root() => {
                return Verdict::Skipped(why.to_owned());
            }
            _ => {}
        }
        let finding = match self.case(attack, attacker, "control") {
            Ok(finding) => finding,
            Err(why) => return Verdict::Failed(why),
        };
        let said = finding.said.clone().unwrap_or_else(|| finding.ended.clone());
        let broke = said.starts_with("BROKE") || finding.found.is_some();
        match attack.control {
            _ if said.starts_with("MISSING") => Verdict::Skipped(said),
            Control::Ordinary => {
                let good = said.starts_with("HELD") && finding.found.is_none();
                Verdict::of(good, format!("{said} {}", finding.found.unwrap_or_default()))
            }
            Control::Namespaces if !broke && self.user == User::Ordinary => {
                Verdict::Skipped(format!("this user may not make user namespaces ({said})"))
            }
            Control::Depends(why) if !broke => Verdict::Skipped(format!("{why} ({said})")),
            _ => Verdict::of(broke, finding.found.unwrap_or(said)),
        }
    }

    /// Plays one case in a process of its own, as the user.
    fn case(&self, attack: &Attack, attacker: &Path, ground: &str) -> Result<Finding, String> {
        let dir = self.dir.with_extension(ground);
        fs::create_dir(&dir).unwrap();
        let mut command = Command::new(attacker);
        if self.user == User::Ordinary && zonekeep_testkit::is_root() {
            std::os::unix::fs::chown(&dir, Some(65534), Some(65534)).unwrap();
            command = zonekeep_testkit::as_nobody().expect("it was there before");
            command.arg(attacker);
        }
        command.arg("--case").args([attack.name, ground]).arg(&dir).arg(attacker);
        command.env("HOME", &dir).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = finish(&mut command);
        let removed = remove(&dir);
        let (stdout, stderr) = output?;
        let finding = stdout.lines().last().and_then(|line| serde_json::from_str(line).ok());
        removed.map_err(|error| format!("what was left cannot be removed: {error}"))?;
        finding.ok_or_else(|| format!("the case failed: {stdout}{stderr}"))
    }
}

/// Removes a directory, closed ones inside it too.
fn remove(dir: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir).or_else(|_| {
        open_up(dir);
        fs::remove_dir_all(dir)
    })
}

fn open_up(dir: &Path) {
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Runs a case to its end, and ends it when it forgets to.
fn finish(command: &mut Command) -> Result<(String, String), String> {
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut stderr = child.stderr.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let (mut out, mut err) = (String::new(), String::new());
        let _ = stdout.read_to_string(&mut out);
        let _ = stderr.read_to_string(&mut err);
        (out, err)
    });
    let start = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if start.elapsed() > limit() * 12 {
            sys::kill(-(child.id() as i32));
            let _ = child.kill();
            let _ = child.wait();
            clean_up_after(child.id());
            return Err("the case took too long".to_owned());
        }
        thread::sleep(Duration::from_millis(2));
    }
    reader.join().map_err(|_| "the output cannot be read".to_owned())
}

fn confined(finding: &Finding) -> Verdict {
    if let Some(why) = &finding.unavailable {
        return Verdict::Skipped(why.clone());
    }
    if let Some(found) = &finding.found {
        return Verdict::Failed(found.clone());
    }
    match &finding.said {
        Some(said) if said.starts_with("HELD") => Verdict::Good(said.clone()),
        Some(said) if said.starts_with("MISSING") => Verdict::Skipped(said.clone()),
        Some(said) => Verdict::Failed(said.clone()),
        None if finding.killed_by_filter => Verdict::Good("HELD the kernel ended it".to_owned()),
        None => Verdict::Failed(format!("it said nothing: {}", finding.ended)),
    }
}

fn report(lines: &[Line], everything: bool) -> ExitCode {
    let (mut held, mut skipped, mut uncontrolled, mut failed) = (0, BTreeMap::new(), 0, 0);
    println!("{:<40} {:<5} {:<10} backends", "attack", "user", "control");
    for line in lines {
        let mut row = format!("{:<40} {:<5} ", line.attack.name, line.user);
        let mut notes = Vec::new();
        row += match &line.control {
            Verdict::Good(_) => "works     ",
            Verdict::Skipped(why) => {
                uncontrolled += 1;
                notes.push(format!("no control here: {why}"));
                "none      "
            }
            Verdict::Failed(why) => {
                failed += 1;
                notes.push(format!("the control proves nothing: {why}"));
                "FAILED    "
            }
        };
        for (backend, verdict) in &line.confined {
            let word = match verdict {
                Verdict::Good(_) => {
                    held += 1;
                    "held"
                }
                Verdict::Skipped(why) => {
                    *skipped.entry(format!("{backend}, {}: {why}", line.user)).or_insert(0) += 1;
                    "-"
                }
                Verdict::Failed(why) => {
                    failed += 1;
                    notes.push(format!("{backend}: it {}: {why}", line.attack.what));
                    "BROKE"
                }
            };
            row += &format!(" {backend} {word}");
        }
        println!("{row}");
        if everything {
            println!("    control: {}", line.control.words().trim());
            for (backend, verdict) in &line.confined {
                println!("    {backend}: {}", verdict.words().trim());
            }
            continue;
        }
        for note in notes {
            println!("    {}", note.trim());
        }
    }
    for (why, count) in skipped {
        zonekeep_testkit::skip(&format!("{count} × {why}"));
    }
    println!(
        "{} attacks, {} cases: {held} held, {failed} failed, {uncontrolled} without a control here",
        attacks::all()
            .filter(|attack| lines.iter().any(|line| line.attack.name == attack.name))
            .count(),
        lines.iter().map(|line| line.confined.len()).sum::<usize>(),
    );
    ExitCode::from(u8::from(failed > 0))
}
