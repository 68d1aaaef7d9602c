//! Project files that reach outside their own directory, and the user's consent to it.
//!
//! A cloned repository must not be able to hand out the user's files. A file that opens
//! something elsewhere takes effect only after the user has seen the list. The record of
//! that consent holds the rules as they were, and the real path of each directory outside.
//! A changed file needs no new consent where its rules are provably nowhere looser
//! ([`zonekeep_policy::tighten`] compares every key) and its zones lead to the same
//! directories: comments, the order of keys and stricter values change nothing. The flags of
//! the user are not part of it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zonekeep_policy::config::{self, Overrides};
use zonekeep_policy::tighten::Withheld;
use zonekeep_policy::{Mode, Policy};

use crate::project::Project;
use crate::session;
use crate::state::StateDir;

/// The file with the records, a line of JSON each.
const RECORDS: &str = "trusted";
/// The most records of one project file: each branch can have its own.
const MAX_RECORDS: usize = 8;
/// The directory with the rules that running servers withhold, a file for each server.
const WITHHELD: &str = "withheld";
/// The most entries of a list in a message.
const MAX_SHOWN: usize = 20;

/// Something that a project file opens outside its own directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// What it opens, such as `read and write /srv/data as /data`.
    pub what: String,
    /// Where it says so.
    pub at: String,
    /// The key of the file that it comes from, such as `sandbox.zones.data`.
    pub key: String,
    /// The directory, where it is one.
    pub dir: Option<ZoneDir>,
}

/// A directory outside that a zone opens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ZoneDir {
    /// The zone's name.
    pub zone: String,
    /// The real path, with bytes that are not UTF-8 written out.
    pub path: String,
    /// Whether it can be written.
    pub writable: bool,
}

impl ZoneDir {
    pub(crate) fn new(zone: &str, real: &Path, mode: Mode) -> Self {
        ZoneDir { zone: zone.to_owned(), path: shown(real), writable: mode == Mode::Rw }
    }
}

/// Writes a path so that no two paths read the same. Real paths start with a slash, and the
/// form with escapes with a quotation mark.
pub(crate) fn shown(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned)
}

/// Whether the user has trusted a project file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// The user has, with everything that it opens now.
    Trusted,
    /// The user never has.
    New,
    /// The user has, and there is only the hash that earlier versions kept.
    Outdated,
    /// The user has, and the file may open more since then.
    Changed(Changes),
}

/// How a file differs from the one that was trusted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// What it opens now and did not then, each with its line.
    pub added: Vec<String>,
    /// What it does not open any more.
    pub gone: Vec<String>,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (mark, list) in [('+', &self.added), ('-', &self.gone)] {
            for line in list.iter().take(MAX_SHOWN) {
                write!(f, "\n  {mark} {}", line.replace('\n', "\\n"))?;
            }
            if let Some(more) = list.len().checked_sub(MAX_SHOWN).filter(|&more| more > 0) {
                write!(f, "\n  {mark} and {more} more")?;
            }
        }
        Ok(())
    }
}

/// The rules that a file loosens, each as its key and its line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Looser {
    /// Rules that running servers withhold until the user trusts the file.
    pub withheld: Vec<String>,
    /// Rules that may be looser than the defaults, where the user never trusted the file.
    pub than_defaults: Vec<String>,
}

impl Looser {
    /// Returns whether no rule is looser.
    pub fn is_empty(&self) -> bool {
        self.withheld.is_empty() && self.than_defaults.is_empty()
    }
}

/// The rules of a file that a running server withholds until the user trusts the file.
#[derive(Debug, Serialize, Deserialize)]
struct WithheldRules {
    place: String,
    /// The hash of the file's text.
    text: String,
    rules: Vec<String>,
}

/// The files that the user has trusted.
#[derive(Debug)]
pub struct TrustStore {
    state: StateDir,
}

/// What the user has seen and said yes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The hash of the place of the file.
    place: String,
    /// The file, for people who read the list.
    file: String,
    /// The text, from which the rules are read again.
    text: String,
    /// What it opened: the key and the words.
    opens: Vec<(String, String)>,
    /// The directories outside.
    dirs: Vec<ZoneDir>,
    /// Whether an organisation's file was in force: then the list showed what was left of the
    /// file's rules, and the text may open more than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    bounded: bool,
}

impl TrustStore {
    /// Returns the list in a state directory.
    pub fn new(state: &StateDir) -> Self {
        TrustStore { state: state.clone() }
    }

    /// Returns whether the user has trusted a file that opens this much.
    pub fn standing(&self, project: &Project, reach: &BTreeSet<Reach>) -> Standing {
        let list = self.read();
        let records: Vec<Record> = records_of(&list, project).collect();
        let now = own_rules(project, &project.text);
        let covers = |record: &Record| {
            reach.iter().all(|reach| record.opened(reach, now.as_ref()))
                && record.looser(project, now.as_ref()).is_some_and(|looser| looser.is_empty())
        };
        match records.last() {
            _ if records.iter().rev().any(covers) => Standing::Trusted,
            Some(last) => Standing::Changed(last.changes(project, now.as_ref(), reach)),
            None if is_outdated(&list, project) => Standing::Outdated,
            None => Standing::New,
        }
    }

    /// Returns whether the user has trusted a file whose rules are nowhere stricter than
    /// those that this file has now, whatever its zones lead to.
    pub fn covers_rules(&self, project: &Project) -> bool {
        let now = own_rules(project, &project.text);
        let covers = |record: Record| {
            record.looser(project, now.as_ref()).is_some_and(|looser| looser.is_empty())
        };
        records_of(&self.read(), project).any(covers)
    }

    /// Returns the rules that the user's yes would loosen and that no entry of `reach` shows.
    /// Rules that are looser than the trusted ones are in [`Standing::Changed`].
    pub fn looser(&self, project: &Project, reach: &BTreeSet<Reach>) -> Looser {
        let withheld = self.withheld(project);
        let mut than_defaults = Vec::new();
        if records_of(&self.read(), project).next().is_none() {
            let defaults = config::defaults(&project.dir, &Overrides::default()).policy;
            let compared = defaults.zip(own_rules(project, &project.text));
            than_defaults = match compared.map(|(old, new)| session::tighten(&old, &new).withheld) {
                Some(rules) => {
                    rules.iter().filter(|rule| !is_shown(rule, reach)).map(named).collect()
                }
                None => vec!["rules that cannot be compared".to_owned()],
            };
            than_defaults.retain(|rule| !withheld.contains(rule));
        }
        Looser { withheld, than_defaults }
    }

    /// Notes for [`TrustStore::looser`] which rules of a changed file a running server
    /// withholds; an empty list takes the note back. `server` is a name of the server's own.
    pub fn withhold(&self, project: &Project, server: &str, rules: &[Withheld]) -> io::Result<()> {
        let place = place(project);
        let name = format!("{place}-{server}");
        if rules.is_empty() {
            return match fs::remove_file(self.state.path().join(WITHHELD).join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let text = hash(&project.text);
        let rules = rules.iter().map(named).collect();
        let note = serde_json::to_string(&WithheldRules { place, text, rules })?;
        self.replace(&format!("{WITHHELD}/{name}"), &note)
    }

    /// Returns the rules of this file that running servers withhold.
    fn withheld(&self, project: &Project) -> Vec<String> {
        let (place, text) = (place(project), hash(&project.text));
        let mut rules = Vec::new();
        for name in self.withheld_files(&place) {
            let mut note = String::new();
            let file = self.state.open_own(&name, OpenOptions::new().read(true));
            let read = file.and_then(|mut file| file.read_to_string(&mut note));
            let note = read.ok().and_then(|_| serde_json::from_str::<WithheldRules>(&note).ok());
            let note = note.filter(|note| note.place == place && note.text == text);
            rules.extend(note.into_iter().flat_map(|note| note.rules));
        }
        rules.sort();
        rules.dedup();
        rules
    }

    fn withheld_files(&self, place: &str) -> Vec<String> {
        let files = fs::read_dir(self.state.path().join(WITHHELD)).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let names = names.filter(|name| name.starts_with(place));
        names.map(|name| format!("{WITHHELD}/{name}")).collect()
    }

    /// Remembers that the user trusts this file with what it opens.
    pub fn trust(&self, project: &Project, reach: &BTreeSet<Reach>) -> io::Result<()> {
        let shown = project.file.as_deref().unwrap_or(&project.dir).to_string_lossy();
        let record = Record {
            place: place(project),
            file: shown.into_owned(),
            text: project.text.clone(),
            opens: reach.iter().map(|reach| (reach.key.clone(), reach.what.clone())).collect(),
            dirs: reach.iter().filter_map(|reach| reach.dir.clone()).collect(),
            bounded: !project.policy.organisations.is_empty(),
        };
        let list = self.read();
        let mut own: Vec<Record> =
            records_of(&list, project).filter(|held| *held != record).collect();
        own.push(record);
        let kept = &own[own.len().saturating_sub(MAX_RECORDS)..];
        let others = list.lines().filter(|line| !is_of(line, project));
        let mut text: String = others.map(|line| format!("{line}\n")).collect();
        for record in kept {
            text.push_str(&serde_json::to_string(record).map_err(io::Error::from)?);
            text.push('\n');
        }
        self.replace(RECORDS, &text)?;
        // Servers that still run use the file now, and notes of others are of no use.
        for name in self.withheld_files(&place(project)) {
            let _ = fs::remove_file(self.state.path().join(name));
        }
        Ok(())
    }

    /// Returns the list; an empty one where another user could have written it.
    fn read(&self) -> String {
        let mut list = String::new();
        let file = self.state.open_own(RECORDS, OpenOptions::new().read(true));
        match file.and_then(|mut file| file.read_to_string(&mut list)) {
            Ok(_) => list,
            Err(_) => String::new(),
        }
    }

    /// Puts another text in the place of a file, all at once.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let (dir, name) = name.rsplit_once('/').unwrap_or(("", name));
        let dir = self.state.make(dir)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let made = dir.join(format!(".{name}.{}", hex(&random)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let replaced = written.and_then(|()| fs::rename(&made, dir.join(name)));
        if replaced.is_err() {
            let _ = fs::remove_file(&made);
        }
        replaced
    }
}

impl Record {
    /// Returns whether the user has seen this. A directory has to be the one that the zone
    /// led to then. Of all else, the list showed the key; [`Record::looser`] compares its value.
    fn opened(&self, reach: &Reach, now: Option<&Policy>) -> bool {
        if self.opens.iter().any(|(_, what)| *what == reach.what) {
            return true;
        }
        let Some(dir) = &reach.dir else {
            return !self.bounded && self.opens.iter().any(|(key, _)| *key == reach.key);
        };
        // A zone that a worker file declares is not among the rules that are compared.
        now.is_some_and(|now| now.zone(&dir.zone).is_some())
            && self.dirs.iter().any(|held| {
                (&held.zone, &held.path) == (&dir.zone, &dir.path) && held.writable >= dir.writable
            })
    }

    /// Returns the rules that may be looser than the trusted ones; `None` where they cannot
    /// be compared. The same text is the same rules.
    fn looser(&self, project: &Project, now: Option<&Policy>) -> Option<Vec<Withheld>> {
        if self.text == project.text {
            return Some(Vec::new());
        }
        let held = own_rules(project, &self.text)?;
        Some(session::tighten(&held, now?).withheld)
    }

    fn changes(&self, project: &Project, now: Option<&Policy>, reach: &BTreeSet<Reach>) -> Changes {
        let was_open = |what: &str| self.opens.iter().any(|(_, held)| held == what);
        let added: Vec<&Reach> = reach.iter().filter(|reach| !was_open(&reach.what)).collect();
        let is_told = |rule: &&Withheld| is_shown(rule, added.iter().copied());
        let looser = self.looser(project, now);
        let mut rules: Vec<String> = match &looser {
            Some(rules) => rules.iter().filter(|rule| !is_told(rule)).map(told).collect(),
            None => vec!["the rules that were trusted cannot be read any more".to_owned()],
        };
        rules.dedup();
        let added = added.iter().map(|reach| format!("{} ({})", reach.what, reach.at));
        let opened = self.opens.iter().map(|(_, what)| what);
        let is_gone = |what: &&String| reach.iter().all(|reach| reach.what != **what);
        Changes {
            added: added.chain(rules).collect(),
            gone: opened.filter(is_gone).cloned().collect(),
        }
    }
}

fn named(rule: &Withheld) -> String {
    match rule.at.file_line() {
        Some(_) => format!("{} ({})", rule.key, rule.at),
        None => format!("{} (no longer written)", rule.key),
    }
}

/// Returns whether a list of what a file opens has the key of a rule, or one around it.
fn is_shown<'r>(rule: &Withheld, reach: impl IntoIterator<Item = &'r Reach>) -> bool {
    reach.into_iter().any(|reach| {
        let rest = rule.key.strip_prefix(&reach.key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

fn told(rule: &Withheld) -> String {
    match rule.at.file_line() {
        Some(_) => format!("{} may be looser than before ({})", rule.key, rule.at),
        None => format!("{} is no longer written", rule.key),
    }
}

/// Returns the rules of a project with this text as its file, without flags.
fn own_rules(project: &Project, text: &str) -> Option<Policy> {
    let none = Overrides::default();
    let name = project.file.as_deref().and_then(Path::file_name);
    let loaded = match name {
        Some(name) => config::load(text, &name.to_string_lossy(), &project.dir.join(name), &none),
        None => config::defaults(&project.dir, &none),
    };
    loaded.policy
}

fn records_of<'a>(list: &'a str, project: &Project) -> impl Iterator<Item = Record> + use<'a> {
    let place = place(project);
    let records = list.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok());
    records.filter(move |record| record.place == place)
}

fn is_of(line: &str, project: &Project) -> bool {
    records_of(line, project).next().is_some() || is_outdated(line, project)
}

/// Returns whether there is a line of earlier versions for a file: `HASH FILE`.
fn is_outdated(list: &str, project: &Project) -> bool {
    let Some(file) = &project.file else { return false };
    let shown = file.to_string_lossy().replace('\n', " ");
    list.lines().any(|line| {
        let hash = line.split_once(' ').filter(|(_, file)| *file == shown);
        hash.is_some_and(|(hash, _)| {
            hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit())
        })
    })
}

/// Returns the hash of the place of a project's file.
fn place(project: &Project) -> String {
    let mut hash = Sha256::new();
    for path in [project.dir.as_path(), project.file.as_deref().unwrap_or(Path::new(""))] {
        let bytes = path.as_os_str().as_bytes();
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    hex(&hash.finalize())
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
