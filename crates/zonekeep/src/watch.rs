//! Noticing that an entry has changed, for programs that tell somebody about it.

use std::ops::ControlFlow;
use std::sync::Arc;

use zonekeep_files::{Dir, Fault, Kind, Meta, Store};
use zonekeep_policy::{Action, Place, Verb, Verdict, judge};

use crate::error::Error;
use crate::perform::{Call, Done};
use crate::sandbox::Sandbox;

/// A look at one entry, again and again.
///
/// Made by [`Sandbox::watch`]. It keeps its session open.
#[derive(Debug)]
pub struct Watch {
    sandbox: Sandbox,
    action: Action,
    spot: Spot,
    /// Whether the right to look was judged by what holds for a tainted worker.
    tainted: bool,
    /// Whether the right to look is gone.
    ended: bool,
    seen: Seen,
}

impl Sandbox {
    /// Watches a file or directory, or a path where there may be one later.
    ///
    /// The right to look is judged here, asked for where the rules say so, and
    /// written down, as for [`info`](Sandbox::info). A link itself is watched, not
    /// what it leads to.
    ///
    /// ```
    /// # use zonekeep::{Session, approve::AllYes, policy::{Policy, Zone, Mode, At}};
    /// # let mut policy = Policy::empty("/project");
    /// # policy.zones.push(Zone::new("notes", "/project/notes", Mode::Rw, At::flag("example")));
    /// # let sandbox = Session::in_memory(&policy, AllYes)?.sandbox();
    /// let mut watch = sandbox.watch("/notes/today.md")?;
    /// assert!(!watch.changed());
    /// sandbox.write("/notes/today.md", "buy milk\n")?;
    /// assert!(watch.changed() && !watch.changed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(&self, path: &str) -> Result<Watch, Error> {
        let target = self.target("file_info", Verb::Info, path)?;
        let action = Action::new("file_info", Verb::Info, target);
        let details = vec![("watch".to_owned(), "true".to_owned())];
        let call = Call { action: action.clone(), details, diff: None };
        let (spot, seen, tainted) = self.perform(call, |this, permit| {
            let mut spot = Spot::new(permit.place());
            let seen = match spot.look(this) {
                Err(Fault::NotFound { .. } | Fault::NotADirectory) => Seen::Nothing,
                other => other?,
            };
            Ok(Done { value: (spot, seen, this.grant().is_tainted()), bytes: None })
        })?;
        let sandbox = self.unheard();
        Ok(Watch { sandbox, action, spot, tainted, ended: false, seen })
    }
}

impl Watch {
    /// Returns the path that is watched.
    pub fn path(&self) -> String {
        self.action.target.path.to_string()
    }

    /// Returns whether the entry has changed since the last look: its content, its
    /// kind, its permissions, which file it is, or whether there is one. A look is
    /// not written down.
    ///
    /// Once the worker is tainted, and may not look there any more without a question,
    /// nothing changes for it. Two contents of the same length that were written in
    /// place within the resolution of the system's clock are not told apart.
    pub fn changed(&mut self) -> bool {
        let now = self.sandbox.now();
        if now.grant().is_tainted() != self.tainted {
            self.judge_again(&now);
        }
        if self.ended {
            return false;
        }
        // What cannot be looked at is as good as not there.
        let seen = self.spot.look(&now).unwrap_or(Seen::Nothing);
        let before = std::mem::replace(&mut self.seen, seen);
        before != self.seen
    }

    fn judge_again(&mut self, now: &Sandbox) {
        self.tainted = now.grant().is_tainted();
        match judge(now.grant(), &self.action).verdict {
            Verdict::Allow(permit) => self.spot = Spot::new(permit.place()),
            Verdict::Ask(_) | Verdict::Deny(_) => self.ended = true,
        }
    }
}

/// Where is looked, as it was judged.
#[derive(Debug)]
struct Spot {
    /// `None` is the root of the view.
    place: Option<Place>,
    /// Kept from the first look at it on.
    store: Option<Arc<dyn Store>>,
}

/// What a look came to.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// There is nothing.
    Nothing,
    /// The root of the view, which is always the same.
    Root,
    /// This entry, with the names in it where only those tell of a change.
    Entry(Meta, Vec<Vec<u8>>),
}

impl Spot {
    fn new(place: Option<&Place>) -> Self {
        Spot { place: place.cloned(), store: None }
    }

    fn look(&mut self, sandbox: &Sandbox) -> Result<Seen, Fault> {
        let Some(place) = &self.place else { return Ok(Seen::Root) };
        if self.store.is_none() {
            self.store = sandbox.store(place.mount());
        }
        let Some(store) = &self.store else { return Ok(Seen::Nothing) };
        let Some((parent, name)) = place.path().split_last() else {
            store.check()?;
            let meta = store.root()?.meta()?;
            let names = names(&meta, || store.root())?;
            return Ok(Seen::Entry(meta, names));
        };
        let dir = store.open_dir(&parent)?;
        let meta = dir.stat(name)?;
        let names = names(&meta, || dir.open_dir(name))?;
        Ok(Seen::Entry(meta, names))
    }
}

/// Returns the names in a directory of a store that keeps no time for it.
fn names(
    meta: &Meta,
    open: impl FnOnce() -> Result<Box<dyn Dir>, Fault>,
) -> Result<Vec<Vec<u8>>, Fault> {
    let mut names = Vec::new();
    if meta.kind == Kind::Dir && meta.modified == std::time::UNIX_EPOCH {
        open()?.entries(&mut |name, _| {
            names.push(name.to_vec());
            ControlFlow::Continue(())
        })?;
        names.sort();
    }
    Ok(names)
}
