//! The live handle of one worker: what it may use, and the ways to use it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use zonekeep_confine::child::{Ear, Hear};
use zonekeep_confine::plan::Access;
use zonekeep_files::edit::{Edit, Edited};
use zonekeep_files::list::{GlobOptions, Listing};
use zonekeep_files::preview::Preview;
use zonekeep_files::read::{Content, Page};
use zonekeep_files::search::{Found, Line, Query};
use zonekeep_files::stat::Facts;
use zonekeep_files::text::Decoded;
use zonekeep_files::write::{WriteOptions, Written};
use zonekeep_files::{self as files, Fault, MemoryStore, Overwrite, Store};
use zonekeep_policy::{
    Action, AgentPath, Approval, Denial, ExceedsParent, Grant, Mode, Needs, Permit, Place, RelPath,
    Spot, Verb,
};

use crate::ask::Given;
use crate::command::{Background, Enclosure, Placed};
use crate::error::Error;
use crate::held::Held;

use crate::perform::{Call, Done};
use crate::session::{Backing, Shared};
use crate::stop::Stop;

/// What one worker may use, and the ways to use it.
///
/// All methods take paths as the agent writes them: absolute (`/input/a.txt`),
/// relative to [`working_dir`](Sandbox::working_dir), or starting with `~`.
/// Every method that touches a file judges first, asks where the rules say so,
/// and writes down what happened.
///
/// ```
/// use zonekeep::{Session, approve::AllYes, policy::{Policy, Zone, Mode, At}};
///
/// let mut policy = Policy::empty("/project");
/// policy.zones.push(Zone::new("notes", "/project/notes", Mode::Rw, At::flag("example")));
/// let sandbox = Session::in_memory(&policy, AllYes)?.sandbox();
///
/// sandbox.write("/notes/today.md", "buy milk\n")?;
/// assert_eq!(sandbox.read_text("/notes/today.md")?, "buy milk\n");
/// assert!(sandbox.can_write("/notes/today.md") && !sandbox.can_read("/etc/passwd"));
///
/// let refusal = sandbox.read_text("/etc/passwd").unwrap_err();
/// assert_eq!(
///     refusal.to_string(),
///     "Cannot access '/etc/passwd': path is outside sandbox.\nReadable paths: /notes",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    hold: Arc<Hold>,
    /// What holds once the worker has read what is not to be trusted.
    later: Arc<OnceLock<Tainted>>,
    /// Whether `hold` is kept until one action is done, whatever is read
    /// meanwhile: what was judged by it is done by it.
    pinned: bool,
    /// Whether commands get the directories that the session's opener named.
    placed: bool,
    background: Arc<Background>,
    stop: Stop,
    /// Where it waits for no answer: those that it was given.
    given: Option<Arc<Vec<Given>>>,
    /// Hears what commands print.
    ear: Option<Ear>,
}

/// A grant, and all that it is carried out with.
#[derive(Debug)]
struct Hold {
    grant: Grant,
    /// By mount.
    backings: Vec<Backing>,
    enclosure: Enclosure,
    held: Held,
}

impl Hold {
    fn new(shared: &Shared, grant: Grant) -> Arc<Self> {
        let backings = grant.view().mounts().iter().map(|mount| {
            shared.backing(&mount.zone.name).cloned().expect("a grant only holds opened zones")
        });
        let backings = backings.collect();
        let held = Held::new(grant.view().mounts().len());
        Arc::new(Hold { grant, backings, enclosure: Enclosure::default(), held })
    }
}

/// What a worker holds since it has read what is not to be trusted.
#[derive(Debug)]
struct Tainted {
    hold: Arc<Hold>,
    by: String,
}

/// The most characters of a diff that a question shows.
const MAX_DIFF: usize = 100_000;
/// The most bytes of matching lines that a search returns.
const MAX_MATCHED: usize = 400_000;
/// The most edits that a question writes out beside the diff.
const MAX_SHOWN_EDITS: usize = 20;
/// The largest file that a question compares.
const MAX_COMPARED: u64 = 4 * 1024 * 1024;

/// Names found in one directory of the view, or at its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The listed path.
    pub path: String,
    /// Names and whether each is a directory, sorted.
    pub entries: Vec<(String, files::Kind)>,
    /// How many there are in all.
    pub total: u64,
}

/// Paths found below a directory of the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paths {
    /// Paths relative to the directory that was looked through, sorted.
    pub paths: Vec<String>,
    /// How many there are in all.
    pub total: u64,
    /// How many directories could not be read.
    pub unreadable: u64,
}

/// Lines found below a directory of the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Path, relative to the directory that was searched, and lines; sorted.
    pub files: Vec<(String, Vec<Line>)>,
    /// How many lines match in all.
    pub total_matches: u64,
    /// How many files have one.
    pub files_with_matches: u64,
    /// How many files were searched.
    pub files_searched: u64,
    /// How many were passed over because they are larger than allowed.
    pub skipped_large: u64,
    /// How many were passed over because they are binary.
    pub skipped_binary: u64,
    /// How many files and directories could not be read.
    pub unreadable: u64,
}

impl Matches {
    fn add(&mut self, found: Found, at_root: bool, name: &str) {
        self.total_matches += found.total_matches;
        self.files_with_matches += found.files_with_matches;
        self.files_searched += found.files_searched;
        self.skipped_large += found.skipped_large;
        self.skipped_binary += found.skipped_binary;
        self.unreadable += found.unreadable;
        let files = found.matches.into_iter();
        self.files.extend(files.map(|file| (shown(at_root, name, &file.path), file.lines)));
    }

    /// Drops what is beyond the first `limit` matches, or more than fits.
    fn keep(&mut self, limit: usize) {
        let mut left = limit;
        let mut room = MAX_MATCHED;
        for (_, lines) in &mut self.files {
            let fits = lines.iter().position(|line| {
                room = room.saturating_sub(line.text.len() + 8);
                room == 0
            });
            if let Some(end) = fits {
                lines.truncate(end);
            }
            let mut kept = 0;
            let end = lines.iter().position(|line| {
                kept += usize::from(line.is_match);
                kept > left
            });
            if let Some(end) = end {
                lines.truncate(end);
            }
            left -= lines.iter().filter(|line| line.is_match).count();
        }
        self.files.retain(|(_, lines)| lines.iter().any(|line| line.is_match));
    }
}

/// Writes a found path so that it is relative to where the search began.
fn shown(at_root: bool, name: &str, path: &[u8]) -> String {
    let path = zonekeep_policy::path::escape(path);
    if at_root { format!("{name}/{path}") } else { path }
}

/// Returns what a pattern means below one top directory, when it is given for
/// the root of the view: the part after the name, if the name fits.
fn below_root<'p>(at_root: bool, pattern: &'p str, name: &str) -> Result<Option<&'p str>, Fault> {
    if !at_root || pattern.starts_with("**") {
        return Ok(Some(pattern));
    }
    let Some((first, rest)) = pattern.split_once('/') else { return Ok(None) };
    // The root as a store of its own, to have names matched as everywhere.
    let root = MemoryStore::new();
    root.make_dirs(&RelPath::root().join(name.as_bytes()))?;
    let place = Place::unchecked(RelPath::root());
    let fits = files::list::glob(&root, &place, &format!("{first}/"), &GlobOptions::default())?;
    Ok((fits.total > 0).then_some(rest))
}

impl Sandbox {
    pub(crate) fn new(shared: Arc<Shared>, grant: Grant) -> Self {
        Sandbox {
            hold: Hold::new(&shared, grant),
            shared,
            later: Arc::default(),
            pinned: false,
            placed: true,
            background: Arc::default(),
            stop: Stop::new(),
            given: None,
            ear: None,
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns what holds for the next action.
    fn hold(&self) -> &Arc<Hold> {
        match self.later.get() {
            Some(tainted) if !self.pinned => &tainted.hold,
            _ => &self.hold,
        }
    }

    /// Returns the sandbox as it is now, for one action.
    pub(crate) fn now(&self) -> Sandbox {
        Sandbox { hold: Arc::clone(self.hold()), pinned: true, ..self.clone() }
    }

    /// Returns the sandbox as it is for a command of an agent's. Such a command can
    /// read, and run, all that it sees in one go: where that is not to be trusted,
    /// it is held to what holds afterwards.
    pub(crate) fn now_for_command(&self) -> Sandbox {
        let now = self.now();
        match now.grant().is_tainted() || now.grant().untrusted_zones().is_empty() {
            true => now,
            false => {
                let hold = Hold::new(&self.shared, now.hold.grant.tainted());
                Sandbox { hold, ..now }
            }
        }
    }

    /// Returns the directories that commands get beside the zones.
    pub(crate) fn places(&self) -> &[Placed] {
        if self.placed { &self.shared.confine.places } else { &[] }
    }

    pub(crate) fn held(&self) -> &Held {
        &self.hold().held
    }

    pub(crate) fn enclosure(&self) -> &Enclosure {
        &self.hold().enclosure
    }

    pub(crate) fn backing(&self, mount: usize) -> &Backing {
        &self.hold().backings[mount]
    }

    /// Returns the name of the session, which stands in each of its records.
    pub fn session_id(&self) -> &str {
        &self.shared.id
    }

    /// Returns the project's directory, for the embedding program only.
    pub fn project_dir(&self) -> &Path {
        &self.shared.policy.project
    }

    /// Returns how the agents of this session can get at what a host path lies in
    /// or leads through, for the embedding program only; `None` where they cannot.
    pub fn reachable(&self, host: &Path) -> Option<Access> {
        self.shared.exposure.find(host).map(|(_, access)| access)
    }

    /// Returns the background commands of this sandbox.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Returns a path as it is understood, for showing; the text itself when it
    /// is no path.
    pub(crate) fn shown_path(&self, given: &str) -> String {
        self.parse(given).map_or_else(|_| given.to_owned(), |path| path.to_string())
    }

    /// Returns what the worker holds.
    pub fn grant(&self) -> &Grant {
        &self.hold().grant
    }

    /// Returns the same sandbox, whose commands end when `stop` is said.
    #[must_use]
    pub fn stopped_by(&self, stop: &Stop) -> Self {
        Sandbox { stop: stop.clone(), ..self.clone() }
    }

    /// Returns the same sandbox, which waits for no answer and has these.
    pub(crate) fn with_given(&self, given: Vec<Given>) -> Self {
        Sandbox { given: Some(Arc::new(given)), ..self.clone() }
    }

    pub(crate) fn given(&self) -> Option<&[Given]> {
        self.given.as_deref().map(Vec::as_slice)
    }

    /// Returns the same sandbox, which passes on what its commands print, as it
    /// comes: standard output and standard error, in pieces of any length that may
    /// end within a character.
    ///
    /// Commands in the background are not heard, nor are those of the workers that
    /// are called from here. The function is called by whoever waits for the command
    /// and holds it up while it runs, so it should only pass the bytes on.
    #[must_use]
    pub fn heard_by(&self, hear: Arc<Hear>) -> Self {
        Sandbox { ear: Some(Ear::new(hear)), ..self.clone() }
    }

    /// Returns the same sandbox, whose commands nobody hears.
    pub(crate) fn unheard(&self) -> Self {
        Sandbox { ear: None, ..self.clone() }
    }

    pub(crate) fn ear(&self) -> Option<&Ear> {
        self.ear.as_ref()
    }

    /// Returns the word that ends this sandbox's commands.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the sandbox of a worker called from this one: what it needs, and
    /// never more than this one has.
    pub fn narrow(&self, needs: &Needs) -> Result<Sandbox, ExceedsParent> {
        let child = Sandbox::new(Arc::clone(&self.shared), self.grant().narrow(needs)?);
        // Asked after narrowing, and never less than what was narrowed from: a taint
        // in between counts, and tainting twice is tainting once.
        if let Some(by) = self.tainted() {
            child.taint(by);
        }
        Ok(Sandbox { placed: false, stop: self.stop.clone(), ..child })
    }

    // ---- what is not to be trusted

    /// Returns by what the worker was tainted: since then the project's
    /// `when_tainted` holds for all that it does.
    pub fn tainted(&self) -> Option<&str> {
        self.later.get().map(|tainted| tainted.by.as_str())
    }

    /// Notes that the worker knows something that is not to be trusted. What it
    /// does from now on is judged as the project's `when_tainted` says; this
    /// never gives it more. Returns whether that is news.
    pub fn taint(&self, by: &str) -> bool {
        let mut news = false;
        self.later.get_or_init(|| {
            news = true;
            let hold = match self.hold.grant.is_tainted() {
                true => Arc::clone(&self.hold),
                false => Hold::new(&self.shared, self.hold.grant.tainted()),
            };
            Tainted { hold, by: by.to_owned() }
        });
        news
    }

    // ---- asking without doing

    /// Returns whether a path lies where reading is possible, if need be after
    /// a question.
    pub fn can_read(&self, path: &str) -> bool {
        self.rights(path).is_some_and(|zone| zone.approval.read.value != Approval::Blocked)
    }

    /// Returns whether a path lies where writing is possible, if need be after
    /// a question.
    pub fn can_write(&self, path: &str) -> bool {
        self.rights(path).is_some_and(|zone| {
            zone.mode.value == Mode::Rw && zone.approval.write.value != Approval::Blocked
        })
    }

    fn rights(&self, path: &str) -> Option<&zonekeep_policy::Zone> {
        match self.grant().view().locate(&self.parse(path).ok()?)? {
            Spot::Root => None,
            Spot::In { mount, .. } => Some(&self.grant().view().mounts()[mount].zone),
        }
    }

    /// Returns the host path behind a path of the agent's, for the embedding
    /// program only; an agent never sees it. Links are not resolved.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        use std::os::unix::ffi::OsStrExt;
        match self.grant().view().locate(&self.parse(path)?) {
            Some(Spot::In { mount, path: below }) => {
                let base = match self.backing(mount) {
                    Backing::Host(ground) => ground.real.clone(),
                    Backing::Memory(_) => {
                        self.grant().view().mounts()[mount].zone.path.value.clone()
                    }
                };
                Ok(match below.is_root() {
                    true => base,
                    false => base.join(std::ffi::OsStr::from_bytes(below.as_bytes())),
                })
            }
            _ => Err(self.outside(path).into()),
        }
    }

    /// Returns the agent's path for a host path inside a zone, for the
    /// embedding program only.
    pub fn agent_path(&self, host: &Path) -> Option<AgentPath> {
        use std::os::unix::ffi::OsStrExt;
        self.hold().backings.iter().enumerate().find_map(|(mount, backing)| {
            let zone = &self.grant().view().mounts()[mount].zone;
            let root = match backing {
                Backing::Host(ground) => ground.real.as_path(),
                Backing::Memory(_) => zone.path.value.as_path(),
            };
            let below = host.strip_prefix(root).ok()?;
            if below.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
                return None;
            }
            let text = zonekeep_policy::path::escape(below.as_os_str().as_bytes());
            AgentPath::absolute(&format!("/{}/{text}", zone.name)).ok()
        })
    }

    /// Fails when the ending of a file's name is not allowed.
    pub fn check_suffix(&self, path: &str) -> Result<(), Error> {
        let parsed = self.parse(path)?;
        match (self.grant().view().locate(&parsed), parsed.as_rel().file_name()) {
            (Some(Spot::In { mount, .. }), Some(name)) => {
                let mount = &self.grant().view().mounts()[mount];
                match &mount.zone.suffixes {
                    Some(suffixes) if !mount.suffix_allowed(name) => {
                        let allowed = suffixes.value.clone();
                        Err(Denial::Suffix { path: path.to_owned(), allowed }.into())
                    }
                    _ => Ok(()),
                }
            }
            (Some(Spot::Root), _) => Ok(()),
            _ => Err(self.outside(path).into()),
        }
    }

    /// Fails when a file is larger than its directory allows.
    pub fn check_size(&self, path: &str) -> Result<(), Error> {
        let limit = self.rights(path).and_then(|zone| zone.max_file_bytes.as_ref());
        let Some(limit) = limit.map(|limit| limit.value) else {
            return if self.rights(path).is_some() {
                Ok(())
            } else {
                Err(self.outside(path).into())
            };
        };
        match self.info(path)?.map_or(0, |facts| facts.size) {
            size if size > limit => {
                let path = path.to_owned();
                Err(Denial::TooLarge { verb: "read", path, size, limit }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the directories that can be read, in the order of the project file.
    pub fn readable_roots(&self) -> Vec<String> {
        self.grant().view().readable()
    }

    /// Returns the directories that can be written, in the order of the project file.
    pub fn writable_roots(&self) -> Vec<String> {
        self.grant().view().writable()
    }

    /// Returns the mode of a zone; `None` when this worker does not have it.
    pub fn zone_access(&self, zone: &str) -> Option<Mode> {
        self.grant().zone_access(zone)
    }

    /// Returns the names of the zones that this worker has.
    pub fn zones(&self) -> Vec<&str> {
        self.grant().view().mounts().iter().map(|mount| mount.zone.name.as_str()).collect()
    }

    /// Returns where relative paths start.
    pub fn working_dir(&self) -> &AgentPath {
        self.grant().view().working_dir()
    }

    /// Returns what `~` is.
    pub fn home(&self) -> &AgentPath {
        self.grant().view().home()
    }

    fn parse(&self, given: &str) -> Result<AgentPath, Denial> {
        let view = self.grant().view();
        AgentPath::parse(given, view.working_dir(), view.home()).map_err(|reason| Denial::BadPath {
            path: given.to_owned(),
            reason,
            readable: view.readable(),
        })
    }

    pub(crate) fn outside(&self, path: &str) -> Denial {
        let readable = self.readable_roots();
        Denial::Outside { path: path.to_owned(), readable, zone: None }
    }

    // ---- doing

    /// Reads a page of a text file, or an image.
    pub fn read(&self, path: &str, page: &Page) -> Result<Content, Error> {
        let target = self.target("read_file", Verb::Read, path)?;
        self.perform(Call::of(Action::new("read_file", Verb::Read, target)), |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let content = files::read::read(&*store, place, page)?;
            let bytes = match &content {
                Content::Text(text) => text.content.len() as u64,
                Content::Image { bytes, .. } => bytes.len() as u64,
            };
            Ok(Done { value: content, bytes: Some(bytes) })
        })
    }

    /// Reads bytes as they are, from `offset` on, with the hash of the whole
    /// file where that is known.
    pub fn read_bytes(
        &self,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<files::read::Bytes, Error> {
        let target = self.target("read_file", Verb::Read, path)?;
        self.perform(Call::of(Action::new("read_file", Verb::Read, target)), |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let value = files::read::read_bytes(&*store, place, offset, limit)?;
            let bytes = Some(value.bytes.len() as u64);
            Ok(Done { value, bytes })
        })
    }

    /// Reads a whole text file.
    ///
    /// Fails for a file that is longer than one page, so that nothing is cut
    /// without notice; use [`read`](Sandbox::read) for those.
    pub fn read_text(&self, path: &str) -> Result<String, Error> {
        let page = Page { limit: u64::MAX, ..Page::default() };
        match self.read(path, &page)? {
            Content::Text(text) if !text.truncated => Ok(text.content),
            Content::Text(text) => Err(self.failed(
                Verb::Read,
                path,
                Fault::TooLarge { size: text.bytes, limit: page.max_chars as u64 },
            )),
            Content::Image { bytes, mime, .. } => {
                Err(self.failed(Verb::Read, path, Fault::Binary { mime, size: bytes.len() as u64 }))
            }
        }
    }

    /// Creates or replaces a file, with the directories above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.write_with(path, content, &WriteOptions::default())
    }

    /// Creates, replaces or appends to a file, with the directories above it.
    pub fn write_with(
        &self,
        path: &str,
        content: impl AsRef<[u8]>,
        options: &WriteOptions<'_>,
    ) -> Result<Written, Error> {
        let content = content.as_ref();
        let target = self.target("write_file", Verb::Write, path)?;
        let action = Action::new("write_file", Verb::Write, target).bytes(content.len() as u64);
        let diff = |this: &Sandbox, permit: &Permit| {
            let place = permit.place()?;
            let store = this.store(place.mount());
            let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
            let mut after = Vec::new();
            if options.append {
                after = files::read::read_whole(&*store, place, MAX_COMPARED).unwrap_or_default();
            }
            after.extend_from_slice(content);
            files::preview::preview(&*store, place, &after, MAX_DIFF).ok()
        };
        let mut details = vec![("bytes".to_owned(), content.len().to_string())];
        if options.append {
            details.push(("append".to_owned(), "true".to_owned()));
        }
        self.perform(Call { action, details, diff: Some(&diff) }, |this, permit| {
            let (store, place) = this.made(permit.place())?;
            let mut value = files::write::write(&*store, place, content, options)?;
            let zone = &this.grant().view().mounts()[place.mount()].zone;
            if options.append && zone.approval.read.value != Approval::PreApproved {
                // It would tell whether a guess at what was there is right.
                value.hash = None;
            }
            Ok(Done { value, bytes: Some(content.len() as u64) })
        })
    }

    /// Replaces parts of a text file: all of `edits`, or nothing.
    pub fn edit(
        &self,
        path: &str,
        edits: &[Edit],
        expected_hash: Option<&str>,
    ) -> Result<Edited, Error> {
        let target = self.target("edit_file", Verb::Edit, path)?;
        let action = Action::new("edit_file", Verb::Edit, target);
        let diff = |this: &Sandbox, permit: &Permit| {
            let place = permit.place()?;
            let store = this.store(place.mount())?;
            let before = files::read::read_whole(&*store, place, MAX_COMPARED).ok()?;
            let before = Decoded::new(&before)?;
            let after = files::edit::apply_within(&before.text, edits, 4 * MAX_COMPARED).ok()?;
            let after = before.encode(&after.text).ok()?;
            files::preview::preview(&*store, place, &after, MAX_DIFF).ok()
        };
        let mut details = Vec::new();
        for edit in edits.iter().take(MAX_SHOWN_EDITS) {
            details.push(("old_string".to_owned(), edit.old.clone()));
            details.push(("new_string".to_owned(), edit.new.clone()));
            if edit.replace_all {
                details.push(("replace_all".to_owned(), "true".to_owned()));
            }
        }
        if edits.len() > MAX_SHOWN_EDITS {
            details.push(("edits".to_owned(), format!("{} in all", edits.len())));
        }
        let call = Call { action, details, diff: Some(&diff) };
        self.perform(call, |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let value = files::edit::edit(&*store, place, edits, expected_hash)?;
            let bytes = Some(value.bytes);
            Ok(Done { value, bytes })
        })
    }

    /// Returns the names in a directory, at most `limit` of them.
    pub fn list(&self, path: &str, limit: usize) -> Result<Listed, Error> {
        self.list_with(path, limit, |store, place| files::list::names(store, place, limit))
    }

    /// Returns the names of the files and directories in a directory that git
    /// would not leave out, at most `limit` of them.
    pub fn list_unignored(&self, path: &str, limit: usize) -> Result<Listed, Error> {
        let options = GlobOptions { gitignore: true, limit, ..GlobOptions::default() };
        self.list_with(path, limit, |store, place| {
            let mut listing = Listing { entries: Vec::new(), total: 0, truncated: false };
            for (pattern, kind) in [("*", files::Kind::File), ("*/", files::Kind::Dir)] {
                let found = files::list::glob(store, place, pattern, &options)?;
                listing.total += found.total;
                let names = found.paths.into_iter();
                listing.entries.extend(names.map(|name| files::list::Entry { name, kind }));
            }
            listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
            listing.entries.truncate(limit);
            Ok(listing)
        })
    }

    fn list_with(
        &self,
        path: &str,
        limit: usize,
        look: impl Fn(&dyn Store, &Place) -> Result<Listing, Fault>,
    ) -> Result<Listed, Error> {
        let target = self.target("list_files", Verb::List, path)?;
        let shown = target.path.to_string();
        self.perform(Call::of(Action::new("list_files", Verb::List, target)), |this, permit| {
            let listing = match permit.place() {
                None => this.list_root(limit),
                Some(place) => match this.store(place.mount()) {
                    Some(store) => look(&*store, place)?,
                    None if place.path().is_root() => {
                        Listing { entries: Vec::new(), total: 0, truncated: false }
                    }
                    None => return Err(missing()),
                },
            };
            let entries = listing.entries.iter().map(|e| (e.shown(), e.kind)).collect();
            let value = Listed { path: shown, entries, total: listing.total };
            Ok(Done { value, bytes: None })
        })
    }

    fn list_root(&self, limit: usize) -> Listing {
        let mut names = self.zones();
        names.sort_unstable();
        let total = names.len() as u64;
        let entries = names.into_iter().take(limit).map(|name| files::list::Entry {
            name: name.as_bytes().to_vec(),
            kind: files::Kind::Dir,
        });
        Listing { entries: entries.collect(), total, truncated: total > limit as u64 }
    }

    /// Returns the files below a directory whose paths match a pattern.
    pub fn find(&self, path: &str, pattern: &str, options: &GlobOptions) -> Result<Paths, Error> {
        let target = self.target("list_files", Verb::Find, path)?;
        let at_root = target.path.is_root();
        self.perform(Call::of(Action::new("list_files", Verb::Find, target)), |this, permit| {
            let mut found = Paths::default();
            for place in permit.places() {
                let Some(store) = this.store(place.mount()) else {
                    if place.path().is_root() { continue } else { return Err(missing()) }
                };
                let name = this.zones()[place.mount()];
                let Some(pattern) = below_root(at_root, pattern, name)? else { continue };
                if at_root && pattern.is_empty() {
                    // The pattern is for the top directories themselves.
                    found.total += 1;
                    found.paths.push(name.to_owned());
                    continue;
                }
                let globbed = files::list::glob(&*store, place, pattern, options)?;
                found.total += globbed.total;
                found.unreadable += globbed.unreadable;
                found.paths.extend(globbed.paths.iter().map(|path| shown(at_root, name, path)));
            }
            if permit.places().len() > 1 {
                found.paths.sort();
                found.paths.truncate(options.limit);
            }
            Ok(Done { value: found, bytes: None })
        })
    }

    /// Returns the lines below a directory that match a regular expression.
    pub fn search(&self, path: &str, query: &Query<'_>) -> Result<Matches, Error> {
        let target = self.target("search_files", Verb::Search, path)?;
        let at_root = target.path.is_root();
        self.perform(Call::of(Action::new("search_files", Verb::Search, target)), |this, permit| {
            let mut all = Matches::default();
            for place in permit.places() {
                let Some(store) = this.store(place.mount()) else {
                    if place.path().is_root() { continue } else { return Err(missing()) }
                };
                let name = this.zones()[place.mount()];
                let glob = match query.glob {
                    None => None,
                    // Without a slash it is for names at any depth.
                    Some(glob) if !glob.contains('/') => Some(glob),
                    Some(glob) => match below_root(at_root, glob, name)? {
                        Some(glob) => Some(glob),
                        None => continue,
                    },
                };
                let query = Query { glob, ..query.clone() };
                all.add(files::search::search(&*store, place, &query)?, at_root, name);
            }
            all.files.sort_by(|a, b| a.0.cmp(&b.0));
            all.keep(query.limit);
            Ok(Done { value: all, bytes: None })
        })
    }

    /// Removes a file, a link or an empty directory.
    pub fn delete(&self, path: &str) -> Result<(), Error> {
        let target = self.target("delete_file", Verb::Delete, path)?;
        self.perform(Call::of(Action::new("delete_file", Verb::Delete, target)), |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            files::delete::delete(&*store, place)?;
            Ok(Done { value: (), bytes: None })
        })
    }

    /// Gives a file or directory another path.
    pub fn rename(&self, from: &str, to: &str, overwrite: Overwrite) -> Result<(), Error> {
        let target = self.target("move_file", Verb::Move, from)?;
        let second = self.target("move_file", Verb::Move, to)?;
        let action = Action::new("move_file", Verb::Move, target).to(second);
        let details = vec![("overwrite".to_owned(), (overwrite == Overwrite::Yes).to_string())];
        self.perform(Call { action, details, diff: Some(&arriving) }, |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let (to_store, to_place) = this.made(permit.to())?;
            let moved = files::relocate::rename(&*store, place, &*to_store, to_place, overwrite)?;
            Ok(Done { value: (), bytes: Some(moved.bytes) })
        })
    }

    /// Copies a file; returns how many bytes it has.
    pub fn copy(&self, from: &str, to: &str, overwrite: Overwrite) -> Result<u64, Error> {
        let target = self.target("copy_file", Verb::Copy, from)?;
        let second = self.target("copy_file", Verb::Copy, to)?;
        let action = Action::new("copy_file", Verb::Copy, target).to(second);
        let details = vec![("overwrite".to_owned(), (overwrite == Overwrite::Yes).to_string())];
        self.perform(Call { action, details, diff: Some(&arriving) }, |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let (to_store, to_place) = this.made(permit.to())?;
            let copied = files::relocate::copy(&*store, place, &*to_store, to_place, overwrite)?;
            Ok(Done { value: copied.bytes, bytes: Some(copied.bytes) })
        })
    }

    /// Returns kind, size, time and content hash of an entry.
    ///
    /// `None` stands for a directory that is not on disk: the root of the view,
    /// or one that is made on the first write.
    pub fn info(&self, path: &str) -> Result<Option<Facts>, Error> {
        let target = self.target("file_info", Verb::Info, path)?;
        self.perform(Call::of(Action::new("file_info", Verb::Info, target)), |this, permit| {
            let value = match permit.place() {
                None => None,
                Some(place) => match this.store(place.mount()) {
                    Some(store) => Some(files::stat::info(&*store, place)?),
                    None if place.path().is_root() => None,
                    None => return Err(missing()),
                },
            };
            Ok(Done { value, bytes: None })
        })
    }

    /// Returns whether there is something at a path.
    pub fn exists(&self, path: &str) -> Result<bool, Error> {
        match self.info(path) {
            Ok(_) => Ok(true),
            Err(Error::Failed(failure))
                if matches!(failure.fault, Fault::NotFound { .. } | Fault::NotADirectory) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn failed(&self, verb: Verb, path: &str, fault: Fault) -> Error {
        Error::failed(verb.phrase(), path, fault)
    }

    /// Returns the store behind a place, for work on what is there.
    fn existing<'p>(&self, place: Option<&'p Place>) -> Result<(Arc<dyn Store>, &'p Place), Fault> {
        let place = place.ok_or(Fault::IsDirectory)?;
        let store = self.store(place.mount()).ok_or_else(missing)?;
        Ok((store, place))
    }

    /// Returns the store behind a place, for work that may make it.
    fn made<'p>(&self, place: Option<&'p Place>) -> Result<(Arc<dyn Store>, &'p Place), Fault> {
        let place = place.ok_or(Fault::IsDirectory)?;
        self.backing(place.mount()).make()?;
        Ok((self.store(place.mount()).ok_or(Fault::Gone)?, place))
    }
}

/// Writes out what would be at the second place of a move or copy, so that a yes is
/// for this content and no other.
fn arriving(this: &Sandbox, permit: &Permit) -> Option<Preview> {
    let (from, to) = (permit.place()?, permit.to()?);
    let store = this.store(from.mount())?;
    if let Ok(content) = files::read::read_whole(&*store, from, MAX_COMPARED) {
        let to_store = this.store(to.mount()).unwrap_or_else(|| Arc::new(MemoryStore::new()));
        return files::preview::preview(&*to_store, to, &content, MAX_DIFF).ok();
    }
    let facts = files::stat::info(&*store, from).ok()?;
    let time = crate::time::utc(facts.modified);
    let kind = if facts.kind == files::Kind::Dir { "a directory" } else { "a file" };
    let text = format!("{kind} of {} bytes that is not shown, last changed {time}\n", facts.size);
    Some(Preview { text, whole: false })
}

fn missing() -> Fault {
    Fault::NotFound { similar: Vec::new() }
}
