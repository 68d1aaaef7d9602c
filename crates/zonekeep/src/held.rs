//! Zones that the kernel holds for the file tools: each is a mount of its own,
//! read-only where the worker may only read, and with no way out of it.
//!
//! Where the system offers no such mounts, the open directories themselves are
//! used, and every lookup is held by the kernel beneath them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zonekeep_confine::plan::{Backend, Network, Plan, ZoneRules};
use zonekeep_confine::tree::{self, Launcher};
use zonekeep_files::{HostStore, Store};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::BackendChoice;

use crate::sandbox::Sandbox;
use crate::session::Backing;

/// The mounts of one worker's zones, made when the first is needed.
#[derive(Debug)]
pub(crate) struct Held {
    stores: Vec<OnceLock<Arc<dyn Store>>>,
    /// Whether asking again is of no use, and one at a time does.
    refused: Mutex<bool>,
}

impl Held {
    pub(crate) fn new(mounts: usize) -> Self {
        Held { stores: (0..mounts).map(|_| OnceLock::new()).collect(), refused: Mutex::new(false) }
    }
}

impl Sandbox {
    /// Returns the store behind a mount, or `None` for a directory that is not
    /// there yet, such as `/tmp` before the first command.
    pub(crate) fn store(&self, mount: usize) -> Option<Arc<dyn Store>> {
        let Some(held) = self.held().stores.get(mount) else {
            return self.enclosure().tmp();
        };
        if let Some(store) = held.get() {
            return Some(Arc::clone(store));
        }
        let plain = self.backing(mount).store()?;
        if matches!(self.backing(mount), Backing::Memory(_)) {
            return Some(plain);
        }
        self.hold_zones();
        Some(held.get().map_or(plain, Arc::clone))
    }

    /// Returns whether the kernel holds the file tools to what commands can do.
    pub fn files_are_held(&self) -> bool {
        self.hold_zones();
        self.held().stores.iter().any(|store| store.get().is_some())
    }

    /// Has every zone that exists held by a mount.
    fn hold_zones(&self) {
        let mut refused = self.held().refused.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted =
            matches!(self.grant().backend().value, BackendChoice::Auto | BackendChoice::Namespaces);
        if *refused || !wanted {
            return;
        }
        let confine = &self.shared().confine;
        let Some(launcher) = confine.launcher.clone().or_else(Launcher::find) else {
            *refused = true;
            return;
        };
        let binds = self.zone_binds(true);
        let missing = |(mount, _): &(usize, _)| self.held().stores[*mount].get().is_none();
        let binds: Vec<_> = binds.into_iter().filter(missing).collect();
        let plan = Plan {
            backend: Backend::Namespaces,
            entries: binds.iter().map(|(_, bind)| bind.clone().into()).collect(),
            home: "/".into(),
            network: Network::Off,
            limits: Limits::none(),
            watch: None,
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        };
        match tree::handles(&plan, &launcher) {
            Ok(handles) => {
                for ((mount, _), handle) in binds.iter().zip(handles) {
                    let Backing::Host(ground) = self.backing(*mount) else { continue };
                    let store = HostStore::from_fd(handle).hiding(ground.hidden.clone());
                    let store: Arc<dyn Store> = Arc::new(store);
                    let _ = self.held().stores[*mount].set(store);
                }
            }
            Err(_) => *refused = true,
        }
    }
}
