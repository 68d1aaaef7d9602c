//! What a worker holds, and how the workers it calls get less.
//!
//! A [`Grant`] is made once, from the project's policy, and from then on only
//! shrinks: [`Grant::narrow`] is the one way to make a child's grant, and where
//! a child asks for more than its parent has it refuses instead of trimming.

mod exceeds;
mod tainted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use exceeds::ExceedsParent;

use crate::guard::Guards;
use crate::hosts::{self, Bounds};
use crate::limit::Limits;
use crate::needs::{Needs, ZoneNeed, ZoneNeeds};
use crate::path::AgentPath;
use crate::policy::{BackendChoice, Consent, Network, OsSandbox, Policy, ToolRule};
use crate::secret::Secret;
use crate::sensitive::Sensitive;
use crate::shell::Rules;
use crate::source::{At, Ruled};
use crate::taint::WhenTainted;
use crate::tool_name::{self, FILE_TOOLS, OTHER_TOOLS};
use crate::view::{Mount, View};
use crate::zone::{Approval, Mode, Zone};

/// What a worker holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    worker: Option<String>,
    view: View,
    /// The names and agent paths of all zones of the project.
    project_zones: Arc<Vec<(String, AgentPath)>>,
    guards: Arc<Guards>,
    /// Credentials that are hidden by their names.
    sensitive: Arc<Sensitive>,
    consent: Ruled<Consent>,
    tools: Option<Ruled<Vec<String>>>,
    /// The project's rules first, then those of each worker down the chain.
    tool_rules: Vec<BTreeMap<String, ToolRule>>,
    shell: Rules,
    network: Ruled<Network>,
    /// What somebody up the chain refuses or is asked about, whatever a rule gives.
    bounds: Bounds,
    secrets: Arc<BTreeMap<String, Ruled<Secret>>>,
    /// What commands are asked about, whatever a worker below has lost of it.
    asked: Arc<Asked>,
    env: Arc<BTreeMap<String, Ruled<String>>>,
    pass_env: Arc<[Ruled<String>]>,
    limits: Limits,
    require_os_sandbox: Ruled<OsSandbox>,
    backend: Ruled<BackendChoice>,
    prove: Ruled<bool>,
    max_depth: Ruled<u32>,
    depth_left: u32,
    when_tainted: Arc<WhenTainted>,
    /// The line that makes a zone untrusted, where one is.
    untrusted: Option<At>,
    /// The line that says what taint changes, where the worker is tainted.
    taint: Option<At>,
}

/// What the words of a command can show that is asked about (`shell.default: contained`).
/// Workers further down have fewer zones and secrets, and ask no less.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Asked {
    /// Directories of zones in which commands may write and somebody is asked about
    /// deletions, with the keys of their rules.
    pub(crate) deletions: BTreeMap<String, (AgentPath, String)>,
    /// The names of secrets.
    pub(crate) secrets: BTreeSet<String>,
}

impl Asked {
    /// Returns the same with what is asked about in these zones.
    fn with(&self, mounts: &[Mount]) -> Self {
        let asks =
            |zone: &Zone| zone.commands_write() && zone.approval.delete.value >= Approval::Ask;
        let mut asked = self.clone();
        asked.deletions.extend(mounts.iter().filter(|mount| asks(&mount.zone)).map(|mount| {
            let key = format!("{}.approval.delete", mount.zone.key);
            (mount.zone.name.clone(), (mount.path(), key))
        }));
        asked
    }
}

impl Grant {
    /// Returns all that a project has: the ceiling for everything below.
    pub fn of(policy: &Policy) -> Self {
        let mounts: Vec<Mount> =
            policy.zones.iter().map(|zone| Mount { zone: zone.clone() }).collect();
        let secrets = policy.secrets.keys().cloned().collect();
        let asked = Asked { secrets, ..Asked::default() }.with(&mounts);
        let untrusted = policy.zones.iter().find_map(|zone| zone.untrusted.clone());
        let view = View::new(mounts, policy.working_dir.value.clone(), policy.home.value.clone());
        let tool = policy.tool_rules.get("shell");
        let shell = Rules::project(&policy.shell, tool, &view);
        let shell = policy.shell_before.iter().fold(shell, |all, one| all.below(one, tool, &view));
        // The organisation's layers are made anew: they hold the project's rules as well.
        let bounds = policy.organisations.iter().filter_map(|held| held.shell(&policy.shell));
        let shell = bounds.fold(shell, |all, one| all.below(&one, tool, &view));
        Grant {
            worker: None,
            view,
            project_zones: Arc::new(
                policy.zones.iter().map(|zone| (zone.name.clone(), zone.agent_path())).collect(),
            ),
            guards: Arc::new(policy.guards.clone()),
            sensitive: Arc::new(policy.sensitive(Vec::new())),
            consent: policy.consent.clone(),
            tools: policy.tools.clone(),
            tool_rules: vec![policy.tool_rules.clone()],
            shell,
            network: policy.network.clone(),
            bounds: Bounds::of(&policy.network.value),
            secrets: Arc::new(policy.secrets.clone()),
            asked: Arc::new(asked),
            env: Arc::new(policy.env.clone()),
            pass_env: policy.pass_env.clone().into(),
            limits: policy.limits.clone(),
            require_os_sandbox: required(&policy.require_os_sandbox, &untrusted),
            backend: policy.backend.clone(),
            prove: policy.prove.clone(),
            max_depth: policy.max_depth.clone(),
            depth_left: policy.max_depth.value,
            when_tainted: Arc::new(policy.when_tainted.clone()),
            untrusted,
            taint: None,
        }
    }

    /// Returns the grant of a worker called from here: exactly what `needs`
    /// names, never more than `self`.
    pub fn narrow(&self, needs: &Needs) -> Result<Grant, ExceedsParent> {
        let depth_left = self
            .depth_left
            .checked_sub(1)
            .ok_or(ExceedsParent::TooDeep { max: self.max_depth.value })?;
        let mounts = match &needs.zones {
            ZoneNeeds::None => Vec::new(),
            ZoneNeeds::All => self.view.mounts().to_vec(),
            ZoneNeeds::Named(named) => {
                named.iter().map(|need| self.narrow_zone(need)).collect::<Result<_, _>>()?
            }
        };
        // A list without file tools has them all, which says nothing where there is
        // no directory to use them in.
        let asked = |tool: &&String| !(mounts.is_empty() && FILE_TOOLS.contains(&tool.as_str()));
        if let Some(tools) = &needs.tools
            && let Some(tool) = tools.value.iter().filter(asked).find(|tool| !self.has_tool(tool))
        {
            return Err(ExceedsParent::NoTool { tool: tool.clone() });
        }
        let untrusted = mounts.iter().find_map(|mount: &Mount| mount.zone.untrusted.clone());
        let mut view = self.view.over(mounts);
        if let Some(dir) = &needs.working_dir {
            view = view
                .working_in(dir.value.clone())
                .ok_or_else(|| ExceedsParent::WorkingDir { path: dir.value.to_string() })?;
        }
        // A worker that does not ask for the network gets none.
        let network = match &needs.network {
            Some(wanted) => {
                let network = hosts::narrow(&self.network.value, &wanted.value)?;
                Ruled::new(network, wanted.at.clone())
            }
            None => Ruled::default(),
        };
        let bounds = self.bounds.and(&Bounds::of(&network.value));
        let secrets = self.narrow_secrets(&needs.secrets)?;
        let untrusted = self.untrusted.clone().or(untrusted);
        // A worker file tightens this and never loosens it.
        let require_os_sandbox = match (self.require_os_sandbox.value, &needs.require_os_sandbox) {
            (held, own) if own.value == OsSandbox::Required && held != own.value => own.clone(),
            _ => required(&self.require_os_sandbox, &untrusted),
        };
        let shell = self.shell.below(&needs.shell, needs.tool_rules.get("shell"), &view);
        let mut tool_rules = self.tool_rules.clone();
        tool_rules.push(needs.tool_rules.clone());
        let asked = self.asked.with(view.mounts());
        Ok(Grant {
            worker: Some(needs.worker.clone()),
            view,
            project_zones: Arc::clone(&self.project_zones),
            guards: Arc::clone(&self.guards),
            sensitive: Arc::clone(&self.sensitive),
            consent: self.consent.clone(),
            tools: needs.tools.clone().or_else(|| self.tools.clone()),
            tool_rules,
            shell,
            network,
            bounds,
            secrets: Arc::new(secrets),
            asked: Arc::new(asked),
            env: Arc::clone(&self.env),
            pass_env: Arc::clone(&self.pass_env),
            limits: self.limits.tightest(&needs.limits),
            require_os_sandbox,
            backend: self.backend.clone(),
            prove: self.prove.clone(),
            max_depth: self.max_depth.clone(),
            depth_left,
            when_tainted: Arc::clone(&self.when_tainted),
            untrusted,
            taint: self.taint.clone(),
        })
    }

    fn narrow_secrets(
        &self,
        needs: &[Ruled<String>],
    ) -> Result<BTreeMap<String, Ruled<Secret>>, ExceedsParent> {
        let held = |need: &Ruled<String>| {
            let name = need.value.clone();
            match self.secrets.get(&name) {
                Some(secret) => Ok((name, secret.clone())),
                None => Err(ExceedsParent::Secret { secret: name }),
            }
        };
        needs.iter().map(held).collect()
    }

    fn narrow_zone(&self, need: &ZoneNeed) -> Result<Mount, ExceedsParent> {
        let zone = || need.name.clone();
        let held =
            self.view.mount(&need.name).ok_or_else(|| ExceedsParent::NoZone { zone: zone() })?;
        let mut narrowed: Zone = held.zone.clone();
        if need.mode.value > held.zone.mode.value {
            return Err(ExceedsParent::ReadOnly { zone: zone() });
        }
        if need.mode.value < held.zone.mode.value {
            narrowed.mode = need.mode.clone();
        }
        if let Some(suffixes) = &need.suffixes {
            if let Some(held) = &held.zone.suffixes
                && let Some(suffix) = suffixes.value.iter().find(|s| !held.value.contains(s))
            {
                return Err(ExceedsParent::Suffix { zone: zone(), suffix: suffix.clone() });
            }
            narrowed.suffixes = Some(suffixes.clone());
        }
        if let Some(limit) = &need.max_file_bytes {
            if let Some(held) = &held.zone.max_file_bytes
                && limit.value > held.value
            {
                let (wanted, held) = (limit.value, held.value);
                return Err(ExceedsParent::Size { zone: zone(), wanted, held });
            }
            narrowed.max_file_bytes = Some(limit.clone());
        }
        let approval = &mut narrowed.approval;
        tighten(&mut approval.read, &need.read);
        tighten(&mut approval.write, &need.write);
        tighten(&mut approval.delete, &need.delete);
        narrowed.untrusted = narrowed.untrusted.or_else(|| need.untrusted.clone());
        Ok(Mount { zone: narrowed })
    }

    /// Returns the worker's name; `None` for the project itself.
    pub fn worker(&self) -> Option<&str> {
        self.worker.as_deref()
    }

    /// Returns the tree that the worker sees.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns the guarded files.
    pub fn guards(&self) -> &Arc<Guards> {
        &self.guards
    }

    /// Returns the credentials that are hidden by their names.
    pub fn sensitive(&self) -> &Sensitive {
        &self.sensitive
    }

    /// Returns what becomes of questions.
    pub fn consent(&self) -> &Ruled<Consent> {
        &self.consent
    }

    /// Returns the rules for the worker's commands.
    pub fn shell(&self) -> &Rules {
        &self.shell
    }

    /// Returns what the worker's commands may reach.
    pub fn network(&self) -> &Ruled<Network> {
        &self.network
    }

    /// Returns what a command may reach whose rules give it `more`, and refuse it
    /// some hosts or ask about them.
    pub(crate) fn reach(&self, more: &Network, bounds: &Bounds) -> Network {
        hosts::without(hosts::join(&self.network.value, more), &self.bounds.and(bounds))
    }

    /// Returns the secrets that its commands use, by the variable that they see.
    pub fn secrets(&self) -> &BTreeMap<String, Ruled<Secret>> {
        &self.secrets
    }

    /// Returns what commands are asked about.
    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Returns the environment variables that its commands get.
    pub fn env(&self) -> &BTreeMap<String, Ruled<String>> {
        &self.env
    }

    /// Returns the names of environment variables that its commands inherit.
    pub fn pass_env(&self) -> &[Ruled<String>] {
        &self.pass_env
    }

    /// Returns how much its commands may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns whether its commands may run where their boundaries are not fully
    /// enforced.
    pub fn require_os_sandbox(&self) -> &Ruled<OsSandbox> {
        &self.require_os_sandbox
    }

    /// Returns what holds its commands to their boundaries.
    pub fn backend(&self) -> &Ruled<BackendChoice> {
        &self.backend
    }

    /// Returns whether the boundaries are tried out before its commands run.
    pub fn prove(&self) -> &Ruled<bool> {
        &self.prove
    }

    /// Returns how deep workers may call workers.
    pub fn max_depth(&self) -> &Ruled<u32> {
        &self.max_depth
    }

    /// Returns how many more levels of workers there may be below this one.
    pub fn depth_left(&self) -> u32 {
        self.depth_left
    }

    /// Returns whether the project has a zone of that name, granted or not.
    pub fn project_has_zone(&self, name: &str) -> bool {
        self.project_zones.iter().any(|(zone, _)| zone == name)
    }

    /// Returns the name of the project's zone that a path lies in, granted or not.
    pub(crate) fn project_zone_of(&self, path: &AgentPath) -> Option<&str> {
        let mut zones = self.project_zones.iter();
        zones.find(|(_, dir)| path.below(dir).is_some()).map(|(name, _)| name.as_str())
    }

    /// Returns the mode of a zone, where the worker has it.
    pub fn zone_access(&self, name: &str) -> Option<Mode> {
        self.view.mount(name).map(|mount| mount.zone.mode.value)
    }

    /// Returns whether the tool exists for this worker. A worker without any
    /// directory is a pure function: no file tool and no shell exists for it.
    pub fn has_tool(&self, tool: &str) -> bool {
        let tool = tool_name::main_tool(tool);
        let listed =
            self.tools.as_ref().is_none_or(|tools| tools.value.iter().any(|name| name == tool));
        let pure = self.view.mounts().is_empty() && (FILE_TOOLS.contains(&tool) || tool == "shell");
        let blocked = self.tool_rule(tool).is_some_and(|rule| rule.value == Approval::Blocked);
        listed && !pure && !blocked
    }

    /// Returns the tools that exist for this worker.
    pub fn tools(&self) -> Vec<String> {
        let all = FILE_TOOLS.iter().chain(OTHER_TOOLS);
        all.filter(|tool| self.has_tool(tool)).map(|tool| (*tool).to_owned()).collect()
    }

    /// Returns the line that lists the tools, where one does.
    pub fn tools_line(&self) -> Option<&Ruled<Vec<String>>> {
        self.tools.as_ref()
    }

    /// Returns what the rules for a tool come to. A worker can make the
    /// project's rule stricter, never looser.
    pub fn tool_rule(&self, tool: &str) -> Option<Ruled<Approval>> {
        let mut rules = self.tool_rules.iter().filter_map(|rules| rules.get(tool)?.approval());
        let project = self.tool_rules.first().and_then(|rules| rules.get(tool)?.approval());
        let strictest = rules.by_ref().reduce(|a, b| if b.value > a.value { b } else { a })?;
        // A worker's own "no approval needed" counts only where the project said it too.
        match project {
            None if strictest.value == Approval::PreApproved => None,
            _ => Some(strictest),
        }
    }
}

/// Returns whether commands may only run under an OS sandbox: where somebody says
/// so, and where content is not to be trusted.
fn required(written: &Ruled<OsSandbox>, untrusted: &Option<At>) -> Ruled<OsSandbox> {
    match untrusted {
        Some(at) if written.value != OsSandbox::Required => {
            Ruled::new(OsSandbox::Required, at.clone())
        }
        _ => written.clone(),
    }
}

fn tighten(held: &mut Ruled<Approval>, wanted: &Option<Ruled<Approval>>) {
    if let Some(wanted) = wanted
        && (wanted.value > held.value || wanted.value == held.value && !held.is_written())
    {
        *held = wanted.clone();
    }
}

#[cfg(test)]
mod chain_tests;
#[cfg(test)]
mod tests;
