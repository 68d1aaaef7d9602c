//! The home directory of an agent that runs inside a sandbox as a whole (`--profile`).
//!
//! Each project has directories of its own below the state directory, one set for each
//! profile and each set of directories that commands can write, as caches have. A run starts
//! with a copy of the user's settings there, and changes of these wait in the quarantine when
//! it has ended. Whatever else the agent writes stays for its next run in the project.
//!
//! The agent can put anything at any path below a kept directory, also while this module
//! works there: nothing here follows a link.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use zonekeep_confine::quarantine::{self, Waiting};
use zonekeep_confine::{Caught, Fate};
#[cfg(target_os = "linux")]
use zonekeep_policy::RelPath;
use zonekeep_policy::config::AgentProfile;

use crate::caches::{self, Owner};
use crate::exposure;
use crate::state::StateDir;

/// The directory of all agents' homes, below the state directory.
pub(crate) const AGENTS: &str = "agents";
/// The directory of one home that is placed inside.
const HOME: &str = "home";
/// The file that runs of one home hold locked.
const LOCK: &str = "lock";
/// The largest file of settings that is copied or kept.
const MAX_FILE: u64 = 4 << 20;
/// How many files of settings are copied.
const MAX_FILES: usize = 2_000;
/// How deep directories of settings are looked through.
const MAX_DEPTH: usize = 12;
/// How many changes of one run are kept, and how many bytes of them.
const MAX_HELD: (usize, usize) = (100, 64 << 20);
/// The reason that stands in the place of a pattern in the quarantine.
const REASON: &str = "settings of the agent";

/// A file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    content: Vec<u8>,
    mode: u32,
}

/// The home directory of an agent, for one run.
#[derive(Debug)]
pub(crate) struct AgentHome {
    profile: AgentProfile,
    /// What is placed inside.
    dir: PathBuf,
    /// The user's home directory.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only the quarantine asks"))]
    host: PathBuf,
    /// The settings that the run started with.
    settings: BTreeMap<String, Setting>,
    /// What was not copied, and why.
    pub(crate) notes: Vec<String>,
    /// Removed at the end, where nothing may be kept.
    fleeting: Option<PathBuf>,
    /// Shared with other runs of this home.
    _lock: File,
}

/// Where a home is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// For the next run in this project.
    Kept,
    /// For this session alone.
    Session,
}

/// Returns the directory of an agent's home, which may not exist.
fn place(profile: &AgentProfile, owner: &Owner, lasting: Lasting, session: &str) -> String {
    let id = match lasting {
        Lasting::Kept => owner.id(),
        Lasting::Session => format!("session-{session}"),
    };
    format!("{AGENTS}/{id}-{}", profile.name)
}

/// Returns what of a home is placed inside: the path below the home directory, its
/// directory on the host, and whether it can be written.
pub(crate) fn binds(
    profile: &AgentProfile,
    state: &StateDir,
    owner: &Owner,
    lasting: Lasting,
    session: &str,
) -> Vec<(String, PathBuf, bool)> {
    let dir = state.path().join(place(profile, owner, lasting, session)).join(HOME);
    let kept = profile.keep.iter().map(|path| (path.clone(), dir.join(path), true));
    let alone = profile.settings.iter().filter(|path| profile.kept(path).is_none());
    kept.chain(alone.map(|path| (path.clone(), dir.join(path), false))).collect()
}

impl AgentHome {
    /// Makes the home of an agent ready for a run: the user's settings are copied to it,
    /// unless another run uses it. `allowed` is whether an agent may have a real path.
    pub(crate) fn open(
        profile: &AgentProfile,
        state: &StateDir,
        owner: &Owner,
        lasting: Lasting,
        session: &str,
        allowed: &dyn Fn(&Path) -> bool,
    ) -> io::Result<Self> {
        let host = std::env::home_dir().filter(|home| home.is_absolute());
        let host = host.ok_or_else(|| io::Error::other("HOME is no absolute path"))?;
        let name = place(profile, owner, lasting, session);
        let top = state.make(&name)?;
        owner.write(&top)?;
        let dir = state.make(&format!("{name}/{HOME}"))?;
        let lock = File::options().create(true).append(true).open(top.join(LOCK))?;
        let alone = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        let (settings, notes) = read_host(profile, &host, &owner.writes, allowed);
        if alone {
            let home = open_dir(rustix::fs::CWD, &dir)?;
            for path in &profile.keep {
                // The agent may have closed it to itself.
                rustix::fs::fchmod(make_dirs(&home, path.split('/'))?, Mode::RWXU)?;
            }
            for path in &profile.settings {
                remove(&home, path)?;
            }
            for (path, setting) in &settings {
                put(&home, path, setting)?;
            }
            for (path, content) in &profile.files {
                if take(&home, path).is_none() {
                    let content = content.clone().into_bytes();
                    put(&home, path, &Setting { content, mode: 0o600 })?;
                }
            }
        }
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        let fleeting = (lasting == Lasting::Session).then_some(top);
        let profile = profile.clone();
        Ok(AgentHome { profile, dir, host, settings, notes, fleeting, _lock: lock })
    }

    /// Moves the settings that the run changed to the quarantine; `inside` is the home
    /// directory of the command.
    pub(crate) fn hold(&self, quarantine: &Path, inside: &Path) -> Vec<Caught> {
        let Ok(home) = open_dir(rustix::fs::CWD, &self.dir) else { return Vec::new() };
        let mut found = BTreeSet::new();
        let kept = self.profile.settings.iter().filter(|path| self.profile.kept(path).is_some());
        for path in kept {
            names_below(&home, path, 0, &mut found);
        }
        let mut caught = Vec::new();
        let mut bytes = 0;
        for path in found.into_iter().filter(|path| !self.profile.is_excepted(path)) {
            let changed = match take(&home, &path) {
                Some(Ok(setting)) if self.settings.get(&path) == Some(&setting) => continue,
                Some(Ok(setting)) => {
                    bytes += setting.content.len();
                    match caught.len() < MAX_HELD.0 && bytes <= MAX_HELD.1 {
                        true => self.keep(quarantine, inside, &path, &setting),
                        false => Err(io::Error::other("the run changed too many settings")),
                    }
                }
                Some(Err(why)) => Err(io::Error::other(why)),
                None => continue,
            };
            let (id, failed) = match changed {
                Ok(id) => (Some(id), None),
                Err(error) => (None, Some(error.to_string())),
            };
            caught.push(Caught {
                fate: Fate::Held,
                path: inside.join(&path).display().to_string(),
                pattern: REASON.to_owned(),
                id,
                failed: None,
                lost: failed,
            });
        }
        self.forget();
        caught
    }

    /// Removes what may not be kept: this process may end without dropping anything.
    fn forget(&self) {
        if let Some(dir) = &self.fleeting {
            let _ = caches::remove_dir(dir);
        }
    }

    /// Systems without a quarantine have no backend that agents run in either.
    #[cfg(not(target_os = "linux"))]
    fn keep(&self, _: &Path, _: &Path, _: &str, _: &Setting) -> io::Result<String> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(target_os = "linux")]
    fn keep(
        &self,
        quarantine: &Path,
        inside: &Path,
        path: &str,
        setting: &Setting,
    ) -> io::Result<String> {
        // To where the user's own file really is, so that restoring follows no link either.
        let home = self.host.canonicalize()?;
        let own = own_path(&home, path);
        let real = own.canonicalize();
        let mode = real.as_ref().ok().and_then(|real| Some(real.metadata().ok()?.mode()));
        let real = real.unwrap_or(own);
        let (zone, name) = match (RelPath::below(&home, &real), real.parent(), real.file_name()) {
            (Some(below), ..) => (home.as_path(), below),
            (None, Some(above), Some(name)) => (above, RelPath::root().join(name.as_bytes())),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        quarantine::keep(
            quarantine,
            &Waiting {
                zone,
                path: &name,
                agent_path: &inside.join(path),
                pattern: REASON,
                content: &setting.content,
                mode: mode.unwrap_or(setting.mode),
            },
        )
    }
}

impl Drop for AgentHome {
    fn drop(&mut self) {
        self.forget();
    }
}

// ---- the user's own settings

/// Directories below the home directory that variables can put elsewhere.
const MOVED: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
];

/// Returns the variables that an agent gets beside those of the policy: its paths, and the
/// usual places of the directories that are kept.
pub(crate) fn variables(profile: &AgentProfile, home: &Path) -> Vec<(OsString, OsString)> {
    let named = profile.home_env.iter().map(|(name, path)| (name.as_str(), path.as_str()));
    named.chain(MOVED).map(|(name, path)| (name.into(), home.join(path).into())).collect()
}

/// Returns where the user's own file of a path below the home directory is.
fn own_path(home: &Path, path: &str) -> PathBuf {
    let moved = MOVED.iter().find_map(|(name, usual)| {
        let rest = path.strip_prefix(usual)?.strip_prefix('/')?;
        let dir = std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute())?;
        Some(dir.join(rest))
    });
    moved.unwrap_or_else(|| home.join(path))
}

/// Reads the user's settings, and says which are left out. `writes` are the directories that
/// the command can write: a link there could lead to any file of the user's. `allowed` is
/// whether an agent may have a real path.
fn read_host(
    profile: &AgentProfile,
    home: &Path,
    writes: &[PathBuf],
    allowed: &dyn Fn(&Path) -> bool,
) -> (BTreeMap<String, Setting>, Vec<String>) {
    let (mut settings, mut notes) = (BTreeMap::new(), Vec::new());
    let known: Vec<String> = profile
        .secrets
        .values()
        .filter_map(|secret| std::env::var(&secret.env).ok())
        .filter(|value| value.len() >= 8)
        .collect();
    let mut queue: Vec<(String, usize)> =
        profile.settings.iter().rev().map(|path| (path.clone(), 0)).collect();
    while let Some((path, depth)) = queue.pop() {
        let host = own_path(home, &path);
        let Ok(facts) = fs::symlink_metadata(&host) else { continue };
        if profile.is_excepted(&path) {
            continue;
        }
        let mut leave_out = |why: &str| notes.push(format!("~/{path} is not copied: {why}"));
        if profile.is_credential(&path) {
            leave_out("its name is one of credentials");
            continue;
        }
        if depth == 0 && facts.is_symlink() || exposure::trail(&host).len() > path_len(&host) {
            let real = host.canonicalize();
            if !real.as_ref().is_ok_and(|real| real.file_name() == host.file_name()) {
                leave_out("it is a link to something of another name");
                continue;
            }
        }
        let is_written = |step: &PathBuf| writes.iter().any(|dir| step.starts_with(dir));
        if exposure::trail(&host).iter().any(is_written) {
            leave_out("it lies in a directory that the command can write");
            continue;
        }
        let facts = if depth == 0 { fs::metadata(&host).unwrap_or(facts) } else { facts };
        if facts.is_dir() {
            let names = fs::read_dir(&host).into_iter().flatten().flatten();
            let names = names.filter_map(|entry| entry.file_name().into_string().ok());
            let mut below: Vec<_> = names.map(|n| (format!("{path}/{n}"), depth + 1)).collect();
            below.sort();
            if depth < MAX_DEPTH {
                queue.extend(below.into_iter().rev());
            }
            continue;
        }
        if !facts.is_file() {
            leave_out("it is no file");
            continue;
        }
        if !host.canonicalize().is_ok_and(|real| allowed(&real)) {
            leave_out("your organisation does not let agents have it");
            continue;
        }
        if settings.len() >= MAX_FILES {
            leave_out("there are too many files");
            break;
        }
        match read(&host) {
            Ok(content) if has_secret(&content, &known) => {
                leave_out("it seems to hold a key; use a variable for it");
            }
            Ok(content) => {
                let mode = facts.permissions().mode() & 0o700 | 0o600;
                settings.insert(path, Setting { content, mode });
            }
            Err(error) => leave_out(&error.to_string()),
        }
    }
    (settings, notes)
}

/// Counts the steps of a path that leads over no link.
fn path_len(path: &Path) -> usize {
    path.components().count()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    contents(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn contents(file: File) -> io::Result<Vec<u8>> {
    let facts = file.metadata()?;
    if !facts.is_file() || facts.len() > MAX_FILE {
        return Err(io::Error::other(format!("it is no file of at most {MAX_FILE} bytes")));
    }
    let mut content = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut content)?;
    match content.len() as u64 > MAX_FILE {
        true => Err(io::Error::other("it grows")),
        false => Ok(content),
    }
}

/// How keys of well-known services begin.
const KEYS: [&str; 12] = [
    "sk-",
    "sk_live_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AIza",
    "AKIA",
    "hf_",
    "gsk_",
];
/// Words that keys are assigned to.
const NAMES: [&str; 6] = ["apikey", "api_key", "api-key", "token", "secret", "password"];
/// The shortest text that is taken for a key.
const MIN_KEY: usize = 16;

/// Returns whether a file of settings holds one of the known values, or a text that looks
/// like a key: well-known by its beginning, or long and assigned to a name of keys.
fn has_secret(content: &[u8], known: &[String]) -> bool {
    let text = String::from_utf8_lossy(content);
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_.+/=".contains(c);
    let length = |rest: &str| rest.chars().take_while(|c| is_key(*c)).count();
    if known.iter().any(|value| text.contains(value.as_str()))
        || text.contains("-----BEGIN") && text.contains("PRIVATE KEY-----")
    {
        return true;
    }
    let begins = |start: &str| {
        text.match_indices(start).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            !before.is_some_and(is_word) && length(&text[at + start.len()..]) >= MIN_KEY
        })
    };
    if KEYS.into_iter().any(begins) {
        return true;
    }
    text.lines().any(|line| {
        let Some((name, value)) = line.split_once([':', '=']) else { return false };
        let name = name.to_ascii_lowercase();
        let value = value.trim().trim_start_matches(['"', '\'']);
        let word = &value[..value.find(|c| !is_key(c)).unwrap_or(value.len())];
        let mixed = word.chars().any(|c| c.is_ascii_digit())
            && word.chars().any(|c| c.is_ascii_alphabetic())
            && !word.contains('/');
        NAMES.iter().any(|one| name.contains(one)) && word.len() >= MIN_KEY && mixed
    })
}

// ---- the private copy, where the agent may have put anything

/// Opens a directory, also one that the agent has closed to everybody.
fn open_dir(above: impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    caches::open_dir(above, name)?.ok_or_else(|| io::ErrorKind::NotADirectory.into())
}

/// Opens a directory below another, and makes what is missing; whatever else is on the way
/// is removed.
fn make_dirs<'p>(home: &OwnedFd, names: impl Iterator<Item = &'p str>) -> io::Result<OwnedFd> {
    let mut dir = home.try_clone()?;
    for name in names {
        match rustix::fs::mkdirat(&dir, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        dir = match open_dir(&dir, Path::new(name)) {
            Ok(below) => below,
            Err(error) if error.kind() != io::ErrorKind::NotADirectory => return Err(error),
            Err(_) => {
                rustix::fs::unlinkat(&dir, name, AtFlags::empty())?;
                rustix::fs::mkdirat(&dir, name, Mode::RWXU)?;
                open_dir(&dir, Path::new(name))?
            }
        };
    }
    Ok(dir)
}

/// Opens the directory that a path lies in.
fn above(home: &OwnedFd, path: &str) -> io::Result<OwnedFd> {
    let mut dir = home.try_clone()?;
    for name in path.rsplit_once('/').into_iter().flat_map(|(above, _)| above.split('/')) {
        dir = open_dir(&dir, Path::new(name))?;
    }
    Ok(dir)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn remove(home: &OwnedFd, path: &str) -> io::Result<()> {
    match above(home, path) {
        Ok(dir) => caches::remove_below(&dir, Path::new(last(path))),
        // Nothing is there, or something that is no directory and is replaced.
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(()),
            _ => Err(error),
        },
    }
}

fn put(home: &OwnedFd, path: &str, setting: &Setting) -> io::Result<()> {
    let names = path.rsplit_once('/').into_iter().flat_map(|(above, _)| above.split('/'));
    let dir = make_dirs(home, names)?;
    caches::remove_below(&dir, Path::new(last(path)))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Modes are numbers of another width on other systems.
    #[allow(clippy::unnecessary_cast)]
    let mode = Mode::from_raw_mode((setting.mode & 0o7777) as rustix::fs::RawMode);
    let mut file = File::from(rustix::fs::openat(&dir, last(path), flags, mode)?);
    file.write_all(&setting.content)
}

/// Reads a file; `None` where there is none, and why it cannot be kept where it is something
/// else.
fn take(home: &OwnedFd, path: &str) -> Option<Result<Setting, String>> {
    let dir = above(home, path).ok()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&dir, last(path), flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return None,
        Err(errno) => return Some(Err(format!("it cannot be read ({errno})"))),
    };
    let mode = file.metadata().map_or(0o600, |facts| facts.mode()) & 0o700 | 0o600;
    Some(contents(file).map(|content| Setting { content, mode }).map_err(|e| e.to_string()))
}

/// Adds the files below a path; directories that cannot be read count as files.
fn names_below(home: &OwnedFd, path: &str, depth: usize, found: &mut BTreeSet<String>) {
    if found.len() >= MAX_FILES {
        return;
    }
    let dir = above(home, path).and_then(|dir| open_dir(&dir, Path::new(last(path))));
    match dir.and_then(|dir| caches::names(&dir)) {
        Ok(names) if depth < MAX_DEPTH => {
            for (name, _) in names {
                if let Ok(name) = name.into_string() {
                    names_below(home, &format!("{path}/{name}"), depth + 1, found);
                }
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn profile(text: &str) -> AgentProfile {
        AgentProfile::parse("test", text, "test.yaml").unwrap()
    }

    #[test]
    fn keys_in_settings_are_found_and_words_are_not() {
        let none: [&str; 7] = [
            "{\"theme\": \"dark\"}",
            "Never print a token or password: they are secrets.",
            "api_key = \"${MY_KEY}\"",
            "\"apiKeyHelper\": \"~/bin/key.sh\"",
            "task-force-one-two-three-four",
            "max_tokens: 200000",
            "token_budget = 1234567890123456789",
        ];
        for text in none {
            assert!(!has_secret(text.as_bytes(), &["unrelated-value".to_owned()]), "{text}");
        }
        let some = [
            "OPENAI_API_KEY=sk-proj-abcdefghijklmnop",
            "  \"token\": \"a1b2c3d4e5f6a7b8c9\"",
            "see ghp_abcdefghijklmnop1234",
            "x = known-value-1",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ];
        for text in some {
            assert!(has_secret(text.as_bytes(), &["known-value-1".to_owned()]), "{text}");
        }
    }

    /// A link that an agent left in a repository of settings leads to no other file.
    #[test]
    fn settings_are_read_over_links_of_the_same_name_only() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (home, dots) = (top.join("home"), top.join("dots"));
        for dir in [home.join(".a/dir"), dots.clone(), home.join(".ssh")] {
            fs::create_dir_all(dir).unwrap();
        }
        fs::write(home.join(".ssh/id_rsa"), "private").unwrap();
        fs::write(dots.join("linked.json"), "linked").unwrap();
        fs::write(home.join(".a/plain.json"), "plain").unwrap();
        fs::write(home.join(".a/dir/auth.json"), "private").unwrap();
        fs::write(home.join(".a/dir/note.md"), "note").unwrap();
        symlink(dots.join("linked.json"), home.join(".a/linked.json")).unwrap();
        symlink(home.join(".ssh/id_rsa"), home.join(".a/stolen.json")).unwrap();
        symlink(home.join(".ssh/id_rsa"), home.join(".a/dir/stolen.md")).unwrap();
        let text = "program: x\nhosts: [a.test]\nkeep: [.a]\n\
                    settings: [.a/plain.json, .a/linked.json, .a/stolen.json, .a/dir]\n";
        let (found, notes) = read_host(&profile(text), &home, &[], &|_| true);
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, [".a/dir/note.md", ".a/linked.json", ".a/plain.json"], "{notes:?}");
        assert_eq!(notes.len(), 3, "{notes:?}");
        // The same where the command can write what the link leads to.
        let written = [dots.clone()];
        let (found, notes) = read_host(&profile(text), &home, &written, &|_| true);
        assert!(!found.contains_key(".a/linked.json"), "{notes:?}");
        // And where the organisation does not let agents have it.
        let allowed = |real: &Path| !real.starts_with(&dots);
        let (found, notes) = read_host(&profile(text), &home, &[], &allowed);
        assert_eq!(found.len(), 2, "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("your organisation")), "{notes:?}");
    }

    #[test]
    fn nothing_in_a_private_copy_leads_out_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let outside = temp.path().join("outside");
        let dir = temp.path().join("home");
        fs::create_dir_all(dir.join(".a")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("canary"), "canary").unwrap();
        let home = open_dir(rustix::fs::CWD, &dir).unwrap();
        let setting = Setting { content: b"new".to_vec(), mode: 0o600 };
        symlink(&outside, dir.join(".a/sub")).unwrap();
        symlink(outside.join("canary"), dir.join(".a/file")).unwrap();
        assert!(matches!(take(&home, ".a/file"), Some(Err(_))), "a link is not read");
        assert!(take(&home, ".a/sub/canary").is_none());
        let mut names = BTreeSet::new();
        names_below(&home, ".a", 0, &mut names);
        assert_eq!(names.iter().collect::<Vec<_>>(), [".a/file", ".a/sub"]);
        put(&home, ".a/file", &setting).unwrap();
        put(&home, ".a/sub/canary", &setting).unwrap();
        remove(&home, ".a/sub").unwrap();
        assert_eq!(fs::read_to_string(outside.join("canary")).unwrap(), "canary");
        assert_eq!(take(&home, ".a/file"), Some(Ok(setting)));
        assert!(!dir.join(".a/sub").exists());
    }
}
