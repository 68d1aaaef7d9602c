//! Keeps what was found from one run to the next.
//!
//! Finding the toolchains means reading thousands of names. What was found stays
//! true as long as what it was found from does: the variables, the settings, and
//! every name, list of names and text that was looked at. All of these are kept
//! beside it and compared first; where anything differs, or cannot be compared,
//! everything is looked at again.
//!
//! Nothing of `sandbox.env` and `sandbox.pass_env` is kept: those are added later.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use zonekeep_policy::path::{escape, unescape};

use super::look::Used;
use super::{Host, Runtime, Settings};
use crate::plan::{Entry, Network, text_map};

/// How many answers are kept; a user has about one for each project.
const MOST: usize = 64;
/// A directory that has not changed for so long stands for all names in it.
const QUIET: Duration = Duration::from_secs(24 * 60 * 60);
/// What changed so recently could change again without a trace in its times.
const UNSURE: Duration = Duration::from_secs(2);

/// What was found, and the question.
///
/// What it was found from follows in the same file, a line for each path: how it
/// was, and its name. It is compared as text, for that is read faster.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    key: String,
    entries: Vec<Entry>,
    #[serde(with = "text_map")]
    env: BTreeMap<OsString, OsString>,
    caches: Vec<(String, PathBuf)>,
    notes: Vec<String>,
}

/// How much of a path matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matters {
    /// What it is: of a directory only its device, number, mode and owner.
    Name,
    /// What is in it as well: the same, its size and its times.
    Content,
}

impl Matters {
    /// Returns how what stands in a line was looked at.
    fn of(how: &str) -> Self {
        if how.starts_with('=') { Matters::Content } else { Matters::Name }
    }

    /// Writes how a path is; it has no space in it.
    fn describe(self, state: &State, out: &mut String) {
        let meta = match state {
            State::There(meta) => meta,
            State::Missing => return out.push('-'),
            State::Closed => return out.push('!'),
        };
        let (dev, ino, mode, uid) = (meta.dev(), meta.ino(), meta.mode(), meta.uid());
        // Writing to a string does not fail.
        let _ = match self {
            Matters::Name if meta.is_dir() => write!(out, "/{dev},{ino},{mode},{uid}"),
            _ => write!(
                out,
                "={dev},{ino},{mode},{uid},{},{},{},{},{}",
                meta.size(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
            ),
        };
    }
}

/// What a look at a path comes to.
#[derive(Debug)]
enum State {
    There(Metadata),
    Missing,
    /// The user may not look there.
    Closed,
}

impl State {
    /// Looks at a path; `None` where the answer may be another one next time.
    fn of(path: &Path) -> Option<Self> {
        match fs::symlink_metadata(path) {
            Ok(meta) => Some(State::There(meta)),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => Some(State::Missing),
                Some(libc::EACCES) => Some(State::Closed),
                _ => None,
            },
        }
    }
}

/// Returns whether everything is as it was.
fn is_same(seen: &str) -> bool {
    let mut now = String::new();
    seen.lines().all(|line| {
        let Some((how, name)) = line.split_once(' ') else { return false };
        let path = unescape(name);
        let Some(state) = State::of(Path::new(OsStr::from_bytes(&path))) else { return false };
        now.clear();
        Matters::of(how).describe(&state, &mut now);
        now == how
    })
}

/// Returns what was found before for the same question, if it is still true.
pub(super) fn recall(dir: &Path, host: &Host<'_>, settings: &Settings<'_>) -> Option<Runtime> {
    let key = key(host, settings)?;
    let text = fs::read_to_string(dir.join(name(&key))).ok()?;
    let (kept, seen) = text.split_once('\n')?;
    let kept: Kept = serde_json::from_str(kept).ok()?;
    (kept.key == key && is_same(seen)).then_some(Runtime {
        entries: kept.entries,
        env: kept.env,
        caches: kept.caches,
        notes: kept.notes,
    })
}

/// Keeps what was found. Nothing is kept where that fails, or where it could
/// not be told later whether it is still true.
pub(super) fn keep(
    dir: &Path,
    host: &Host<'_>,
    settings: &Settings<'_>,
    used: &Used,
    found: &Runtime,
) {
    let Some(key) = key(host, settings) else { return };
    let Some(seen) = seen(used) else { return };
    let file = dir.join(name(&key));
    let Runtime { entries, env, caches, notes } = found.clone();
    let kept = Kept { key, entries, env, caches, notes };
    let Ok(mut text) = serde_json::to_string(&kept) else { return };
    text.push('\n');
    text.push_str(&seen);
    make_room(dir);
    // Named by process: two that keep the same answer do not meet.
    let fresh = file.with_extension(std::process::id().to_string());
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&fresh, &file));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
}

/// Returns how everything is that was looked at, in lines; `None` where something
/// of it has just changed.
fn seen(used: &Used) -> Option<String> {
    let now = SystemTime::now();
    let age = |meta: &Metadata| {
        let changed = Duration::new(meta.ctime().try_into().ok()?, meta.ctime_nsec() as u32);
        now.duration_since(SystemTime::UNIX_EPOCH + changed).ok()
    };
    let mut quiet: BTreeMap<PathBuf, bool> = BTreeMap::new();
    let mut wholes: BTreeSet<PathBuf> = used.lists.iter().chain(&used.texts).cloned().collect();
    let mut names = Vec::new();
    for name in &used.names {
        let Some(parent) = name.parent() else { continue };
        let quiet = *quiet.entry(parent.to_owned()).or_insert_with(|| {
            fs::symlink_metadata(parent)
                .is_ok_and(|meta| meta.is_dir() && age(&meta).is_some_and(|age| age > QUIET))
        });
        if quiet {
            wholes.insert(parent.to_owned());
        }
        // Its mode is not told by the directory that it is in.
        let is_dir = || fs::symlink_metadata(name).is_ok_and(|meta| meta.is_dir());
        if !quiet || is_dir() {
            names.push(name);
        }
    }
    let names = names.into_iter().filter(|name| !wholes.contains(*name));
    let all = wholes
        .iter()
        .map(|path| (path, Matters::Content))
        .chain(names.map(|path| (path, Matters::Name)));
    let mut seen = String::new();
    for (path, matters) in all {
        let state = State::of(path)?;
        let is_sure = match (&state, matters) {
            (State::There(meta), Matters::Content) => age(meta).is_some_and(|age| age >= UNSURE),
            (State::Missing, Matters::Content) => false,
            (State::Closed, _) | (_, Matters::Name) => true,
        };
        if !is_sure {
            return None;
        }
        matters.describe(&state, &mut seen);
        let _ = writeln!(seen, " {}", escape(path.as_os_str().as_bytes()));
    }
    Some(seen)
}

/// Returns the whole question as text: all that the answer depends on, but for
/// the files.
fn key(host: &Host<'_>, settings: &Settings<'_>) -> Option<String> {
    // Another build may find other things.
    let program = fs::metadata("/proc/self/exe").ok()?;
    let build = (program.dev(), program.ino(), program.size(), program.mtime(), program.ctime());
    let Settings {
        home,
        user,
        uid,
        gid,
        hostname,
        own_tree,
        network,
        granted,
        pass_env: _,
        env: _,
    } = *settings;
    // What leads out, and where, is not found on the host.
    let network = match network {
        Network::Gate(_) if network.has_names_of_host() => "gate on the host",
        Network::Gate(_) => "gate",
        Network::Host => "host",
        Network::Off => "off",
    };
    let asked = (home, user, uid, gid, hostname, own_tree, network, granted);
    Some(format!("{build:?} {:?} {:?} {:?} {asked:?}", host.env, host.home, host.root))
}

fn name(key: &str) -> String {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    format!("{:016x}.json", hasher.finish())
}

/// Removes the oldest answers when there are many.
fn make_room(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut kept: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if kept.len() < MOST {
        return;
    }
    kept.sort();
    for (_, path) in &kept[..=kept.len() - MOST] {
        let _ = fs::remove_file(path);
    }
}
