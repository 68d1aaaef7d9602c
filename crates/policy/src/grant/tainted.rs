//! What is left of a grant once its worker has read untrusted content.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Grant;
use crate::policy::{Consent, Network, OsSandbox, ToolRule};
use crate::shell;
use crate::source::{At, Ruled};
use crate::taint::TAINTED;
use crate::tool_name;
use crate::view::{Mount, View};
use crate::zone::Approval;

/// The tools that change files.
const CHANGING: [&str; 5] = ["write_file", "edit_file", "delete_file", "move_file", "copy_file"];

impl Grant {
    /// Returns what the worker holds once it has read untrusted content: on no
    /// axis more than now. Reading stays as it is; what changes anything asks at
    /// least, and what the project withholds `when_tainted` is gone.
    ///
    /// There is no way back, and workers called from here are tainted too.
    pub fn tainted(&self) -> Grant {
        if self.taint.is_some() {
            return self.clone();
        }
        let when = &self.when_tainted;
        let at = self.taint_line();
        let mut grant = self.clone();
        grant.view = self.tainted_view(&at);
        grant.tool_rules.push(self.tainted_tools(&at));
        if let Some(off) = &when.network_off {
            grant.network = Ruled::new(Network::Off, off.clone());
            // There is nobody left to send them to.
            grant.secrets = Arc::default();
        }
        let no_grants = when.network_off.is_some();
        grant.shell = self.shell.tainted(shell::rule::Taint { at: at.clone(), no_grants });
        if let Some(backend) = &when.backend
            && backend.value.holds_what(self.backend.value)
        {
            grant.backend = backend.clone();
        }
        if let Some(consent) = &when.approval
            && consent.value.strictness() > self.consent.value.strictness()
        {
            grant.consent = consent.clone();
        }
        if grant.require_os_sandbox.value != OsSandbox::Required {
            grant.require_os_sandbox = Ruled::new(OsSandbox::Required, at.clone());
        }
        grant.taint = Some(at);
        grant
    }

    /// Returns whether the worker, or one that called it, has read untrusted content.
    pub fn is_tainted(&self) -> bool {
        self.taint.is_some()
    }

    /// Returns the line that says what taint changes, where the worker is tainted.
    pub fn taint(&self) -> Option<&At> {
        self.taint.as_ref()
    }

    /// Returns what a rule at that place says, with a word where taint made it.
    pub(crate) fn marked(&self, at: &At, says: String) -> String {
        let when = &self.when_tainted;
        let consent = when.approval.iter().map(|approval| &approval.at);
        let mut lines = self.taint.iter().chain(when.tools.iter().map(|tool| &tool.at));
        let ours = lines.any(|line| line == at) || consent.into_iter().any(|line| line == at);
        match self.is_tainted() && ours && *at != At::Default {
            true => says + TAINTED,
            false => says,
        }
    }

    /// Returns the names of the worker's zones whose content is not to be trusted.
    pub fn untrusted_zones(&self) -> Vec<&str> {
        let zones = self.view.mounts().iter().map(|mount| &mount.zone);
        zones.filter(|zone| zone.untrusted.is_some()).map(|zone| zone.name.as_str()).collect()
    }

    /// Returns the line to name where taint decides: that of `when_tainted`, or of
    /// the first zone that is untrusted.
    fn taint_line(&self) -> At {
        match &self.when_tainted.at {
            At::Default => self.untrusted.clone().unwrap_or_default(),
            written => written.clone(),
        }
    }

    fn tainted_view(&self, at: &At) -> View {
        let gone = |mount: &&Mount| {
            self.when_tainted.without.iter().all(|zone| zone.value != mount.zone.name)
        };
        let mut mounts: Vec<Mount> = self.view.mounts().iter().filter(gone).cloned().collect();
        for mount in &mut mounts {
            let approval = &mut mount.zone.approval;
            for rule in [&mut approval.write, &mut approval.delete] {
                if rule.value < Approval::Ask {
                    *rule = Ruled::new(Approval::Ask, at.clone());
                }
            }
        }
        self.view.over(mounts)
    }

    /// Returns the rules for tools that come on top of those that hold.
    fn tainted_tools(&self, at: &At) -> BTreeMap<String, ToolRule> {
        let asks = |at: &At| ToolRule {
            allowed: None,
            approval_required: Some(Ruled::new(true, at.clone())),
        };
        let mut rules = BTreeMap::new();
        for tool in CHANGING {
            if self.tool_rule(tool).is_some_and(|rule| rule.value == Approval::PreApproved) {
                rules.insert(tool.to_owned(), asks(at));
            }
        }
        // Whoever asked about every call still does, where questions are refused now.
        if self.consent.value == Consent::Manual {
            rules.insert("call_worker".to_owned(), asks(&self.consent.at));
        }
        for tool in &self.when_tainted.tools {
            let gone = ToolRule {
                allowed: Some(Ruled::new(false, tool.at.clone())),
                approval_required: None,
            };
            rules.insert(tool_name::main_tool(&tool.value).to_owned(), gone);
        }
        rules
    }
}

#[cfg(test)]
#[path = "tainted_tests.rs"]
mod tests;
