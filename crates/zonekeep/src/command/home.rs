//! Directories of the sandbox's own that outlive it: whose they are, and the home of an agent.

use std::path::{Path, PathBuf};

use zonekeep_confine::plan::{Access, Bind, Entry, Role};
use zonekeep_policy::config::AgentProfile;
use zonekeep_policy::{Mode, policy};

use super::enclose::{Purpose, identity};
use crate::agent::{self, AgentHome, Lasting};
use crate::caches::Owner;
use crate::error::Error;
use crate::organisation;
use crate::sandbox::Sandbox;

impl Sandbox {
    /// Returns how long directories of the sandbox's own are kept.
    pub(super) fn keeps(&self) -> Lasting {
        let grant = self.grant();
        let doubtful = grant.is_tainted() || !grant.untrusted_zones().is_empty();
        match doubtful || self.shared().policy.caches.value == policy::Caches::Fresh {
            true => Lasting::Session,
            false => Lasting::Kept,
        }
    }

    /// Returns whose directories commands with these rights use.
    pub(super) fn owner(&self, granted: &[Bind]) -> Owner {
        let writable = granted.iter().filter(|bind| bind.access == Access::Rw);
        let mut writes: Vec<PathBuf> = writable.map(|bind| bind.host.clone()).collect();
        writes.sort();
        let project = self.shared().policy.project.clone();
        Owner { project, worker: self.grant().worker().map(str::to_owned), writes }
    }

    /// Adds the home of the agent that runs inside as a whole; returns what was left out of
    /// it. Makes it ready unless the plan is only looked at.
    pub(super) fn add_agent(
        &self,
        profile: &AgentProfile,
        home: &Path,
        granted: &[Bind],
        entries: &mut Vec<Entry>,
        purpose: Purpose,
    ) -> Result<Vec<String>, Error> {
        let shared = self.shared();
        let failed = |why: String| {
            let why = format!("the profile {} cannot be used: {why}", profile.name);
            Error::unconfined_because("commands", why)
        };
        let Some(state) = &shared.state else { return Err(failed("there is no state".into())) };
        let (owner, lasting) = (self.owner(granted), self.keeps());
        let binds = agent::binds(profile, state, &owner, lasting, &shared.id);
        for (path, ..) in &binds {
            let at = home.join(path);
            let meets = |bind: &&Bind| bind.at.starts_with(&at) || at.starts_with(&bind.at);
            if let Some(bind) = granted.iter().find(meets) {
                let bind = bind.at.display();
                return Err(failed(format!("~/{path} is private, and {bind} is granted")));
            }
        }
        let dirs: Vec<String> = profile.keep.iter().map(|path| format!("~/{path}")).collect();
        let mut notes = vec![format!(
            "the agent has its own {}, with a copy of your settings; changes wait in the quarantine",
            dirs.join(", ")
        )];
        if purpose == Purpose::Run {
            let opened = shared.agent.get_or_init(|| {
                let allowed =
                    |real: &Path| organisation::check_path(&shared.policy, real, Mode::Ro).is_ok();
                let opened = AgentHome::open(profile, state, &owner, lasting, &shared.id, &allowed);
                opened.map_err(|error| error.to_string())
            });
            notes = opened.as_ref().map_err(|why| failed(why.clone()))?.notes.clone();
        }
        for (path, host, writable) in binds {
            let identity = identity(&host);
            let is_missing = identity.is_none() && (purpose == Purpose::Run || !writable);
            if is_missing {
                continue;
            }
            let at = home.join(path);
            entries.retain(|entry| !entry.at().starts_with(&at));
            let access = if writable { Access::Rw } else { Access::Ro };
            entries.push(Entry::Bind(Bind { host, at, access, role: Role::Cache, identity }));
        }
        Ok(notes)
    }
}
