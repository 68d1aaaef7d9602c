//! What was taken away, until it is written to the quarantine.
//!
//! A file is unlinked as soon as it is seen, and held open: what the command
//! still writes into it belongs to what is kept.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use zonekeep_policy::path::{RelPath, escape};

use super::Zone;
use crate::quarantine::{Entry, Item, Kind, Room, Store};
use crate::report::{Caught, Fate};

/// How many files are held open.
const MAX_OPEN: usize = 256;
/// How many files are kept between two reports; the rest is only removed.
const MAX_ITEMS: usize = 10_000;
/// How many paths are reported at once.
const MAX_PATHS: usize = 1_000;
/// How many bytes are kept between two reports.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// A part of what was taken.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) link: Option<Vec<u8>>,
    pub(super) file: Option<File>,
}

#[derive(Debug, Default)]
struct Content {
    /// Still open.
    file: Option<File>,
    /// One that was at the same path before, and had something in it.
    older: Option<File>,
    /// Copied already: number, size, whether it was cut.
    stored: Option<(u32, u64, bool)>,
}

#[derive(Debug)]
struct Slot {
    kind: Kind,
    mode: u32,
    link: Option<Vec<u8>>,
    content: Content,
}

/// One path that was caught, perhaps more than once.
#[derive(Debug)]
struct Holding {
    zone: usize,
    path: RelPath,
    pattern: String,
    fate: Fate,
    /// Why it is still there.
    stuck: Option<String>,
    failed: Option<String>,
    /// Why not all of it was kept.
    lost: Option<String>,
    slots: BTreeMap<Vec<u8>, Slot>,
    left_out: u64,
    store: Option<Store>,
}

/// All that was caught since the last report.
#[derive(Debug)]
pub(super) struct Held {
    quarantine: PathBuf,
    /// The host paths of the zones, which share a part of the quarantine.
    zones: Vec<PathBuf>,
    holdings: Vec<Holding>,
    index: HashMap<(usize, RelPath), usize>,
    open: usize,
    items: usize,
    bytes: u64,
    /// Paths that there was no room for.
    more: u64,
    /// What the quarantine can still take, once something is to be kept.
    room: Option<Room>,
}

/// A path that is being taken; `None` where there are too many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(Option<usize>);

impl Held {
    pub(super) fn new(quarantine: &Path, zones: Vec<PathBuf>) -> Self {
        Held {
            quarantine: quarantine.to_owned(),
            zones,
            holdings: Vec::new(),
            index: HashMap::new(),
            open: 0,
            items: 0,
            bytes: 0,
            more: 0,
            room: None,
        }
    }

    /// Notes that a path is caught.
    pub(super) fn catch(
        &mut self,
        zone: usize,
        path: &RelPath,
        pattern: &str,
        fate: Fate,
    ) -> Ticket {
        if let Some(&number) = self.index.get(&(zone, path.clone())) {
            self.holdings[number].fate = fate;
            (self.holdings[number].stuck, self.holdings[number].failed) = (None, None);
            return Ticket(Some(number));
        }
        if self.holdings.len() >= MAX_PATHS {
            self.more += 1;
            return Ticket(None);
        }
        let number = self.holdings.len();
        self.holdings.push(Holding {
            zone,
            path: path.clone(),
            pattern: pattern.to_owned(),
            fate,
            stuck: None,
            failed: None,
            lost: None,
            slots: BTreeMap::new(),
            left_out: 0,
            store: None,
        });
        self.index.insert((zone, path.clone()), number);
        Ticket(Some(number))
    }

    /// Notes why it could not be taken away.
    pub(super) fn stick(&mut self, ticket: Ticket, why: String) {
        if let Some(holding) = ticket.0.and_then(|number| self.holdings.get_mut(number)) {
            holding.stuck = Some(why);
        }
    }

    /// Notes that nothing is at a path any more, whoever took it away.
    pub(super) fn is_gone(&mut self, zone: usize, path: &RelPath) {
        if let Some(&number) = self.index.get(&(zone, path.clone())) {
            self.holdings[number].stuck = None;
        }
    }

    /// Notes what else went wrong.
    pub(super) fn fail(&mut self, ticket: Ticket, why: String) {
        if let Some(holding) = ticket.0.and_then(|number| self.holdings.get_mut(number)) {
            holding.failed = Some(why);
        }
    }

    /// Takes over a part that was removed; `below` is empty for the path itself.
    pub(super) fn take(&mut self, ticket: Ticket, below: &[u8], part: Part) {
        let Some(number) = ticket.0 else { return };
        if self.open >= MAX_OPEN {
            self.close_all();
        }
        let Some(holding) = self.holdings.get_mut(number) else { return };
        let Part { kind, mode, link, file } = part;
        match holding.slots.get_mut(below) {
            None if self.items >= MAX_ITEMS => holding.left_out += 1,
            None => {
                self.items += 1;
                self.open += usize::from(file.is_some());
                let content = Content { file, ..Content::default() };
                holding.slots.insert(below.to_vec(), Slot { kind, mode, link, content });
            }
            Some(slot) => {
                self.open += usize::from(file.is_some());
                let mut content = std::mem::take(&mut slot.content);
                let (old, older) = (content.file.take(), content.older.take());
                // The last one with something in it counts.
                let (keep, forget) = match old {
                    Some(old) if has_content(&old) => (Some(old), older),
                    old => (older, old),
                };
                self.open -= usize::from(forget.is_some());
                (content.file, content.older) = (file, keep);
                *slot = Slot { kind, mode, link, content };
            }
        }
    }

    /// Copies all that is held open, as it is by now.
    fn close_all(&mut self) {
        let quarantine = &self.quarantine;
        for holding in &mut self.holdings {
            for slot in holding.slots.values_mut() {
                let (file, older) = (slot.content.file.take(), slot.content.older.take());
                let file = match file {
                    Some(file) if has_content(&file) => Some(file),
                    file if older.is_none() && slot.content.stored.is_none() => file,
                    _ => older,
                };
                let Some(file) = file else { continue };
                let room = self.room.get_or_insert_with(|| Room::of(quarantine, &self.zones));
                let copied = store(&mut holding.store, quarantine, room)
                    .and_then(|store| slot.content.copy(&file, store, &mut self.bytes, room));
                match copied {
                    Ok(()) => {}
                    Err(error) => {
                        holding.lost.get_or_insert_with(|| format!("{error}"));
                    }
                }
            }
        }
        self.open = 0;
    }

    /// Writes everything to the quarantine, and tells what there is.
    pub(super) fn settle(&mut self, zones: &[Zone]) -> Vec<Caught> {
        self.close_all();
        let mut caught = Vec::new();
        let quarantine = &self.quarantine;
        for holding in self.holdings.drain(..) {
            let Some(zone) = zones.get(holding.zone) else { continue };
            let room = self.room.get_or_insert_with(|| Room::of(quarantine, &self.zones));
            caught.push(holding.finish(zone, quarantine, room));
        }
        if self.more > 0 {
            caught.push(Caught {
                fate: Fate::Undone,
                path: String::new(),
                pattern: String::new(),
                id: None,
                failed: None,
                lost: Some(format!("{} more were removed without being kept", self.more)),
            });
        }
        // Entries may be dropped by the user before more is caught.
        self.room = None;
        self.index.clear();
        (self.items, self.bytes, self.more) = (0, 0, 0);
        caught
    }
}

impl Content {
    fn copy(
        &mut self,
        file: &File,
        store: &mut Store,
        used: &mut u64,
        room: &mut Room,
    ) -> io::Result<()> {
        let number = self.stored.map(|(number, ..)| number);
        let most = MAX_BYTES.saturating_sub(*used).min(room.bytes);
        let stored = store.keep(file, most, number)?;
        *used += stored.data;
        room.bytes = room.bytes.saturating_sub(stored.data);
        self.stored = Some((stored.number, stored.size, stored.truncated));
        Ok(())
    }
}

impl Holding {
    fn finish(mut self, zone: &Zone, quarantine: &Path, room: &mut Room) -> Caught {
        let host = join(zone.host.as_os_str().as_bytes(), &self.path);
        let mut caught = Caught {
            fate: self.fate,
            path: escape(&host),
            pattern: self.pattern.clone(),
            id: None,
            failed: self.stuck.take().or(self.failed.take()),
            lost: self.lost.take().or_else(|| self.cut()),
        };
        if self.slots.is_empty() {
            return caught;
        }
        let mut slot = None;
        std::mem::swap(&mut slot, &mut self.store);
        let written = store(&mut slot, quarantine, room).and_then(|store| {
            let entry = self.entry(zone, store);
            store.finish(&entry).map(|()| entry.id)
        });
        match written {
            Ok(id) => caught.id = Some(id),
            Err(error) => {
                let _ = slot.map(Store::discard);
                caught.lost.get_or_insert_with(|| error.to_string());
            }
        }
        caught
    }

    /// Says that only a part was kept, where that is so.
    fn cut(&self) -> Option<String> {
        let is_cut = |slot: &Slot| slot.content.stored.is_some_and(|(.., cut)| cut);
        let cut = self.left_out > 0 || self.slots.values().any(is_cut);
        cut.then(|| "it is larger than what is kept of one file or at once".to_owned())
    }

    fn entry(&self, zone: &Zone, store: &Store) -> Entry {
        let items: Vec<Item> = self.slots.iter().map(|(path, slot)| slot.item(path)).collect();
        let kind = match self.slots.get(&b""[..]) {
            Some(slot) if self.slots.len() == 1 => slot.kind,
            _ => Kind::Directory,
        };
        Entry {
            id: store.id().to_owned(),
            time: store.time(),
            zone: escape(zone.host.as_os_str().as_bytes()),
            path: escape(self.path.as_bytes()),
            agent_path: escape(&join(zone.at.as_os_str().as_bytes(), &self.path)),
            pattern: self.pattern.clone(),
            kind,
            items,
            left_out: self.left_out,
            session: None,
        }
    }
}

impl Slot {
    fn item(&self, path: &[u8]) -> Item {
        let stored = self.content.stored;
        Item {
            path: escape(path),
            kind: self.kind,
            mode: self.mode,
            link: self.link.as_ref().map(|link| escape(link)),
            content: stored.map(|(number, ..)| number),
            size: stored.map_or(0, |(_, size, _)| size),
            truncated: stored.is_some_and(|(.., truncated)| truncated),
        }
    }
}

fn store<'s>(
    store: &'s mut Option<Store>,
    quarantine: &Path,
    room: &mut Room,
) -> io::Result<&'s mut Store> {
    match store {
        Some(store) => Ok(store),
        None => {
            room.check()?;
            room.entries -= 1;
            Ok(store.insert(Store::new(quarantine)?))
        }
    }
}

fn has_content(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

fn join(dir: &[u8], path: &RelPath) -> Vec<u8> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    [dir, b"/", path.as_bytes()].concat()
}
