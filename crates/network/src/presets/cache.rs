//! What programs and indexes have answered, so that they are not asked each time.
//!
//! The file holds no credentials, and what it says is checked again like a new
//! answer. Who can write it can add hosts, so it counts only where the user alone
//! can.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How long an answer is used without asking again.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a failure is: long enough that a machine without a network is not
/// slowed down by each command.
const FAILED: Duration = Duration::from_secs(10 * 60);
/// How long an old answer is better than none.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MAX_BYTES: u64 = 1 << 20;
const VERSION: u32 = 1;

/// What one question led to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// What was found out, in words that the asker understands.
    pub(super) values: Vec<String>,
    /// Where redirects led, as URLs without paths.
    pub(super) passed: Vec<String>,
}

/// An answer or why there is none, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// Seconds since 1970.
    at: u64,
    answer: Option<Answer>,
    /// Why the last attempt failed, and when.
    fault: Option<(u64, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    version: u32,
    kept: BTreeMap<String, Kept>,
}

/// The answers for one preset.
pub(super) struct Cache {
    path: Option<PathBuf>,
    kept: BTreeMap<String, Kept>,
    changed: bool,
    now: u64,
}

/// What the cache knows about a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// An answer that is new enough.
    Fresh(Answer),
    /// A failure a moment ago, and an old answer if there is one.
    Failed(String, Option<Answer>),
    /// Nothing but perhaps an old answer.
    Unknown(Option<Answer>),
}

impl Cache {
    /// Opens the file of a preset; one that is damaged or that others can write is
    /// as if it were not there.
    pub(super) fn open(dir: Option<&Path>, preset: &str) -> Cache {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let path = dir.filter(|dir| is_private(dir)).map(|dir| dir.join(format!("{preset}.json")));
        let kept = path.as_deref().and_then(|path| read(path).ok()).unwrap_or_default();
        Cache { path, kept, changed: false, now }
    }

    /// Returns what is known. An answer from the future is not one.
    pub(super) fn known(&self, key: &str) -> Known {
        let Some(kept) = self.kept.get(key) else { return Known::Unknown(None) };
        let is = |at: u64, limit: Duration| at <= self.now && self.now - at < limit.as_secs();
        let usable = kept.answer.clone().filter(|_| is(kept.at, KEPT));
        match (&usable, &kept.fault) {
            (Some(answer), _) if is(kept.at, FRESH) => Known::Fresh(answer.clone()),
            (_, Some((at, fault))) if is(*at, FAILED) => Known::Failed(fault.clone(), usable),
            _ => Known::Unknown(usable),
        }
    }

    /// Keeps an answer.
    pub(super) fn keep(&mut self, key: String, answer: Answer) {
        self.changed = true;
        self.kept.insert(key, Kept { at: self.now, answer: Some(answer), fault: None });
    }

    /// Keeps a failure, beside the answer that is there.
    pub(super) fn keep_fault(&mut self, key: String, fault: String) {
        self.changed = true;
        let empty = Kept { at: 0, answer: None, fault: None };
        self.kept.entry(key).or_insert(empty).fault = Some((self.now, fault));
    }

    /// Writes the file if something was learned. That it cannot be is no error:
    /// the next time takes longer.
    pub(super) fn save(mut self) {
        let Some(path) = self.path.filter(|_| self.changed) else { return };
        let (now, limit) = (self.now, KEPT.as_secs());
        self.kept.retain(|_, kept| {
            let last = kept.fault.as_ref().map_or(kept.at, |(at, _)| kept.at.max(*at));
            last <= now && now - last < limit
        });
        let _ = write(&path, &Content { version: VERSION, kept: self.kept });
    }
}

/// Returns a short name for all that an answer depends on.
pub(super) fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether the directory is the user's own and nobody else's, making it
/// if need be.
fn is_private(dir: &Path) -> bool {
    let _ = DirBuilder::new().mode(0o700).recursive(true).create(dir);
    let Ok(meta) = fs::symlink_metadata(dir) else { return false };
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    meta.is_dir() && own && meta.mode() & 0o022 == 0
}

fn read(path: &Path) -> io::Result<BTreeMap<String, Kept>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_file() || !own || meta.mode() & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    let content: Content = serde_json::from_str(&text)?;
    if content.version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(content.kept)
}

fn write(path: &Path, content: &Content) -> io::Result<()> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let new = path.with_extension(format!("{:016x}", u64::from_ne_bytes(bytes)));
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written =
        file.write_all(&serde_json::to_vec(content)?).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn answer(text: &str) -> Answer {
        Answer { values: vec![text.to_owned()], passed: Vec::new() }
    }

    fn saved(dir: &Path) -> PathBuf {
        let mut cache = Cache::open(Some(dir), "python");
        cache.keep("k".into(), answer("a"));
        cache.save();
        dir.join("python.json")
    }

    #[test]
    fn an_answer_is_found_again_and_grows_old() {
        let dir = tempfile::tempdir().expect("dir");
        saved(dir.path());
        let day = FRESH.as_secs();
        let cases = [
            (0, Known::Fresh(answer("a"))),
            (day - 60, Known::Fresh(answer("a"))),
            (day + 60, Known::Unknown(Some(answer("a")))),
            (31 * day, Known::Unknown(None)),
        ];
        for (later, known) in cases {
            let mut cache = Cache::open(Some(dir.path()), "python");
            cache.now += later;
            assert_eq!(cache.known("k"), known, "{later} s later");
        }
        let mut cache = Cache::open(Some(dir.path()), "python");
        cache.now -= 3600;
        assert_eq!(cache.known("k"), Known::Unknown(None), "an answer from the future");
        assert_eq!(cache.known("other"), Known::Unknown(None));
        assert_eq!(Cache::open(Some(dir.path()), "node").known("k"), Known::Unknown(None));
    }

    #[test]
    fn a_failure_is_remembered_for_a_moment_and_the_old_answer_stays() {
        let dir = tempfile::tempdir().expect("dir");
        saved(dir.path());
        let mut cache = Cache::open(Some(dir.path()), "python");
        cache.now += FRESH.as_secs() + 60;
        cache.keep_fault("k".into(), "no network".into());
        cache.keep_fault("new".into(), "no network".into());
        let failed = Known::Failed("no network".into(), Some(answer("a")));
        assert_eq!(cache.known("k"), failed);
        assert_eq!(cache.known("new"), Known::Failed("no network".into(), None));
        cache.now += FAILED.as_secs();
        assert_eq!(cache.known("k"), Known::Unknown(Some(answer("a"))));
    }

    #[test]
    fn a_file_that_is_damaged_or_open_to_others_counts_as_none() {
        let dir = tempfile::tempdir().expect("dir");
        let path = saved(dir.path());
        let whole = fs::read_to_string(&path).expect("text");
        let known = || Cache::open(Some(dir.path()), "python").known("k");
        assert_eq!(known(), Known::Fresh(answer("a")));
        for text in ["", "{", "[]", &whole[..whole.len() / 2], &whole.replace(":1,", ":9,")] {
            fs::write(&path, text).expect("write");
            assert_eq!(known(), Known::Unknown(None), "{text}");
        }
        fs::write(&path, &whole).expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("mode");
        assert_eq!(known(), Known::Unknown(None), "others can write the file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("mode");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("mode");
        assert_eq!(known(), Known::Unknown(None), "others can write the directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).expect("mode");
        let elsewhere = dir.path().join("elsewhere.json");
        fs::rename(&path, &elsewhere).expect("move");
        std::os::unix::fs::symlink(&elsewhere, &path).expect("link");
        assert_eq!(known(), Known::Unknown(None), "a link");
    }

    #[test]
    fn keys_tell_parts_apart() {
        let of = |parts: &[&str]| key(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["ab", ""]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
    }
}
