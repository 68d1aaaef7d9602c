//! What a worker holds, and how the workers it calls get less.
//!
//! A [`Grant`] is made once, from the project's policy, and from then on only
//! shrinks: [`Grant::narrow`] is the one way to make a child's grant, and where
//! a child asks for more than its parent has it refuses instead of trimming.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::guard::Guards;
use crate::hosts;
use crate::limit::Limits;
use crate::needs::{Needs, ZoneNeed, ZoneNeeds};
use crate::path::AgentPath;
use crate::policy::{BackendChoice, Consent, Network, Policy, ToolRule};
use crate::shell::Rules;
use crate::source::Ruled;
use crate::tool_name::{self, FILE_TOOLS, OTHER_TOOLS};
use crate::view::{Mount, View};
use crate::zone::{Approval, Mode, Zone};

/// A worker file asked for more than its caller holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExceedsParent {
    /// The caller does not have the zone.
    #[error("Child requests zone '{zone}' but parent doesn't have it")]
    NoZone {
        /// The zone.
        zone: String,
    },
    /// The caller can only read the zone.
    #[error("Child requests 'rw' on '{zone}' but parent only has 'ro'")]
    ReadOnly {
        /// The zone.
        zone: String,
    },
    /// The caller may not use files with that ending.
    #[error("Child requests suffix '{suffix}' in '{zone}' but parent doesn't have it")]
    Suffix {
        /// The zone.
        zone: String,
        /// The ending.
        suffix: String,
    },
    /// The caller may only use smaller files.
    #[error("Child requests files of {wanted} bytes in '{zone}' but parent only has {held}")]
    Size {
        /// The zone.
        zone: String,
        /// The size asked for.
        wanted: u64,
        /// The caller's limit.
        held: u64,
    },
    /// The caller does not have the tool.
    #[error("Child requests tool '{tool}' but parent doesn't have it")]
    NoTool {
        /// The tool.
        tool: String,
    },
    /// The caller may not reach everything.
    #[error("Child requests network access but parent doesn't have it")]
    Network,
    /// The caller may not reach the host.
    #[error("Child requests host '{host}' but parent doesn't have it")]
    Host {
        /// The host.
        host: String,
    },
    /// The caller may not reach the hosts of a package manager.
    #[error("Child requests the hosts of '{preset}' but parent doesn't have them")]
    Preset {
        /// The package manager.
        preset: String,
    },
    /// The path where relative paths would start is not in the child's view.
    #[error("Child starts in '{path}', which is not in a directory that it requests")]
    WorkingDir {
        /// The path.
        path: String,
    },
    /// Workers have called workers often enough.
    #[error("Child would run deeper than the {max} levels that the project allows")]
    TooDeep {
        /// The limit.
        max: u32,
    },
}

/// What a worker holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    worker: Option<String>,
    view: View,
    project_zones: Arc<Vec<String>>,
    guards: Arc<Guards>,
    consent: Ruled<Consent>,
    tools: Option<Ruled<Vec<String>>>,
    /// The project's rules first, then those of each worker down the chain.
    tool_rules: Vec<BTreeMap<String, ToolRule>>,
    shell: Rules,
    network: Ruled<Network>,
    env: Arc<BTreeMap<String, Ruled<String>>>,
    pass_env: Arc<[Ruled<String>]>,
    limits: Limits,
    require_os_sandbox: Ruled<bool>,
    backend: Ruled<BackendChoice>,
    prove: Ruled<bool>,
    max_depth: u32,
    depth_left: u32,
}

impl Grant {
    /// Returns all that a project has: the ceiling for everything below.
    pub fn of(policy: &Policy) -> Self {
        let mounts = policy.zones.iter().map(|zone| Mount { zone: zone.clone() }).collect();
        Grant {
            worker: None,
            view: View::new(mounts, policy.working_dir.value.clone(), policy.home.value.clone()),
            project_zones: Arc::new(policy.zones.iter().map(|z| z.name.clone()).collect()),
            guards: Arc::new(policy.guards.clone()),
            consent: policy.consent.clone(),
            tools: policy.tools.clone(),
            tool_rules: vec![policy.tool_rules.clone()],
            shell: Rules::project(&policy.shell, policy.tool_rules.get("shell")),
            network: policy.network.clone(),
            env: Arc::new(policy.env.clone()),
            pass_env: policy.pass_env.clone().into(),
            limits: policy.limits.clone(),
            require_os_sandbox: policy.require_os_sandbox.clone(),
            backend: policy.backend.clone(),
            prove: policy.prove.clone(),
            max_depth: policy.max_depth.value,
            depth_left: policy.max_depth.value,
        }
    }

    /// Returns the grant of a worker called from here: exactly what `needs`
    /// names, never more than `self`.
    pub fn narrow(&self, needs: &Needs) -> Result<Grant, ExceedsParent> {
        let depth_left =
            self.depth_left.checked_sub(1).ok_or(ExceedsParent::TooDeep { max: self.max_depth })?;
        let mounts = match &needs.zones {
            ZoneNeeds::None => Vec::new(),
            ZoneNeeds::All => self.view.mounts().to_vec(),
            ZoneNeeds::Named(named) => {
                named.iter().map(|need| self.narrow_zone(need)).collect::<Result<_, _>>()?
            }
        };
        if let Some(tools) = &needs.tools
            && let Some(tool) = tools.value.iter().find(|tool| !self.has_tool(tool))
        {
            return Err(ExceedsParent::NoTool { tool: tool.clone() });
        }
        let inside = |path: &AgentPath, mounts: &[Mount]| {
            View::new(mounts.to_vec(), AgentPath::root(), AgentPath::root()).locate(path).is_some()
        };
        let working_dir = match &needs.working_dir {
            Some(dir) if !inside(&dir.value, &mounts) => {
                return Err(ExceedsParent::WorkingDir { path: dir.value.to_string() });
            }
            Some(dir) => dir.value.clone(),
            None if inside(self.view.working_dir(), &mounts) => self.view.working_dir().clone(),
            None => AgentPath::root(),
        };
        let home = Some(self.view.home().clone()).filter(|home| inside(home, &mounts));
        // A worker that does not ask for the network gets none.
        let network = match &needs.network {
            Some(wanted) => {
                let network = hosts::narrow(&self.network.value, &wanted.value)?;
                Ruled::new(network, wanted.at.clone())
            }
            None => Ruled::default(),
        };
        let required = match self.require_os_sandbox.value {
            true => &self.require_os_sandbox,
            false => &needs.require_os_sandbox,
        };
        let mut tool_rules = self.tool_rules.clone();
        tool_rules.push(needs.tool_rules.clone());
        Ok(Grant {
            worker: Some(needs.worker.clone()),
            view: View::new(mounts, working_dir, home.unwrap_or_default()),
            project_zones: Arc::clone(&self.project_zones),
            guards: Arc::clone(&self.guards),
            consent: self.consent.clone(),
            tools: needs.tools.clone().or_else(|| self.tools.clone()),
            tool_rules,
            shell: self.shell.below(&needs.shell, needs.tool_rules.get("shell")),
            network,
            env: Arc::clone(&self.env),
            pass_env: Arc::clone(&self.pass_env),
            limits: self.limits.tightest(&needs.limits),
            require_os_sandbox: required.clone(),
            backend: self.backend.clone(),
            prove: self.prove.clone(),
            max_depth: self.max_depth,
            depth_left,
        })
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

    /// Returns whether its commands may only run under an OS sandbox.
    pub fn require_os_sandbox(&self) -> &Ruled<bool> {
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

    /// Returns whether the project has a zone of that name, granted or not.
    pub fn project_has_zone(&self, name: &str) -> bool {
        self.project_zones.iter().any(|zone| zone == name)
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

fn tighten(held: &mut Ruled<Approval>, wanted: &Option<Ruled<Approval>>) {
    if let Some(wanted) = wanted
        && (wanted.value > held.value || wanted.value == held.value && !held.is_written())
    {
        *held = wanted.clone();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::At;

    /// Reads `data:rw tmp:ro` into a project's grant.
    fn grant(zones: &str) -> Grant {
        let mut policy = Policy::empty("/project");
        for (name, mode) in words(zones) {
            policy.zones.push(Zone::new(name, format!("/project/{name}"), mode, At::Default));
        }
        Grant::of(&policy)
    }

    fn needs(zones: &str) -> Needs {
        let named = words(zones).map(|(name, mode)| ZoneNeed {
            name: name.to_owned(),
            mode: Ruled::default_of(mode),
            read: None,
            write: None,
            delete: None,
            suffixes: None,
            max_file_bytes: None,
            path: None,
            at: At::Default,
        });
        Needs { zones: ZoneNeeds::Named(named.collect()), ..Needs::default() }
    }

    fn words(zones: &str) -> impl Iterator<Item = (&str, Mode)> {
        zones.split_whitespace().map(|word| {
            let (name, mode) = word.split_once(':').unwrap();
            (name, if mode == "rw" { Mode::Rw } else { Mode::Ro })
        })
    }

    fn shown(grant: &Grant) -> String {
        let mounts = grant.view().mounts().iter();
        mounts
            .map(|m| format!("{}:{}", m.zone.name, m.zone.mode.value))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_child_gets_what_it_needs_and_never_more_than_its_parent() {
        let cases = [
            // parent, needs, child
            ("data:rw tmp:rw", "data:rw", Ok("data:rw")),
            ("data:rw tmp:rw", "data:ro", Ok("data:ro")),
            ("data:rw tmp:rw", "", Ok("")),
            ("data:ro", "data:rw", Err("Child requests 'rw' on 'data' but parent only has 'ro'")),
            (
                "data:rw",
                "data:ro mail:ro",
                Err("Child requests zone 'mail' but parent doesn't have it"),
            ),
        ];
        for (parent, wants, child) in cases {
            let got = grant(parent).narrow(&needs(wants));
            let got = got.map(|child| shown(&child)).map_err(|error| error.to_string());
            let want = child.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(got, want, "parent {parent:?}, needs {wants:?}");
        }
    }

    #[test]
    fn a_worker_without_directories_has_no_file_tool_and_no_shell() {
        let child = grant("data:rw").narrow(&Needs::default()).unwrap();
        assert_eq!(child.tools(), ["call_worker"]);
        assert!(grant("data:rw").has_tool("read_file"));
    }

    #[test]
    fn consent_only_gets_stricter() {
        let parent = grant("data:rw");
        let with = |write| {
            let mut needs = needs("data:rw");
            if let ZoneNeeds::Named(named) = &mut needs.zones {
                named[0].write = Some(Ruled::default_of(write));
            }
            parent.narrow(&needs).unwrap().view().mounts()[0].zone.approval.write.value
        };
        assert_eq!(with(Approval::PreApproved), Approval::Ask);
        assert_eq!(with(Approval::Ask), Approval::Ask);
        assert_eq!(with(Approval::Blocked), Approval::Blocked);
    }

    #[test]
    fn a_workers_tool_rules_cannot_loosen_the_projects() {
        let rule = |required| ToolRule {
            allowed: None,
            approval_required: Some(Ruled::default_of(required)),
        };
        let child = |required| {
            let mut needs = needs("data:rw");
            needs.tool_rules.insert("write_file".to_owned(), rule(required));
            grant("data:rw").narrow(&needs).unwrap().tool_rule("write_file").map(|r| r.value)
        };
        assert_eq!(child(false), None);
        assert_eq!(child(true), Some(Approval::Ask));
    }

    #[test]
    fn what_commands_get_is_inherited_and_only_shrinks() {
        let mut policy = Policy::empty("/project");
        policy.network.value = Network::On;
        policy.env.insert("A".to_owned(), Ruled::default_of("1".to_owned()));
        policy.pass_env.push(Ruled::default_of("PATH".to_owned()));
        policy.backend.value = BackendChoice::Landlock;
        policy.prove.value = true;
        policy.limits.set("memory", "1G").unwrap();
        let parent = Grant::of(&policy);
        let silent = parent.narrow(&Needs::default()).unwrap();
        assert_eq!(silent.network().value, Network::Off);
        assert_eq!((silent.env(), silent.pass_env()), (parent.env(), parent.pass_env()));
        assert_eq!((silent.backend(), silent.prove()), (parent.backend(), parent.prove()));
        assert_eq!(silent.limits(), parent.limits());
        assert!(!silent.require_os_sandbox().value);
        let mut needs = Needs { network: Some(Ruled::default_of(Network::On)), ..Needs::default() };
        needs.limits.parse_flag("memory=2G,processes=8,time=1m").unwrap();
        needs.require_os_sandbox.value = true;
        let child = parent.narrow(&needs).unwrap();
        assert_eq!(child.network().value, Network::On);
        let limits = child.limits();
        let got = (limits.memory, limits.processes, limits.wall_ms);
        assert_eq!(got, (Some(1 << 30), Some(8), Some(60_000)));
        assert!(child.require_os_sandbox().value);
        assert!(child.narrow(&Needs::default()).unwrap().require_os_sandbox().value);
        assert_eq!(silent.narrow(&needs), Err(ExceedsParent::Network));
    }

    #[test]
    fn depth_runs_out() {
        let mut grant = grant("data:rw");
        for _ in 0..5 {
            grant = grant.narrow(&needs("data:rw")).unwrap();
        }
        assert_eq!(grant.narrow(&needs("data:rw")), Err(ExceedsParent::TooDeep { max: 5 }));
    }

    /// Makes a network from a number: off, on, or some of three hosts.
    fn network(pick: u8) -> Network {
        let hosts = ["*.org", "a.org", "b.a.org"];
        let bits = |bits: u8| {
            let picked = hosts.iter().enumerate().filter(move |(i, _)| bits >> i & 1 == 1);
            picked.map(|(_, host)| Ruled::default_of((*host).to_owned())).collect()
        };
        match pick % 8 {
            0 => Network::Off,
            7 => Network::On,
            allow => Network::Hosts { allow: bits(allow), deny: bits(pick / 8), presets: vec![] },
        }
    }

    /// Returns whether commands with that network can reach a host.
    fn reaches(network: &Network, host: &str) -> bool {
        let matches = |hosts: &[Ruled<String>]| {
            hosts.iter().any(|held| match held.value.strip_prefix('*') {
                Some(below) => host.ends_with(below) && host.len() > below.len(),
                None => held.value == host,
            })
        };
        match network {
            Network::Off => false,
            Network::On => true,
            Network::Hosts { allow, deny, .. } => matches(allow) && !matches(deny),
        }
    }

    proptest! {
        #[test]
        fn what_commands_get_never_widens(
            start in (any::<u8>(), prop::option::of(1u64..9), any::<bool>()),
            chain in prop::collection::vec(
                (prop::option::of(any::<u8>()), prop::option::of(1u64..9), any::<bool>()),
                0..5,
            ),
        ) {
            let mut policy = Policy::empty("/project");
            policy.network.value = network(start.0);
            policy.limits = Limits { memory: start.1, ..Limits::none() };
            policy.require_os_sandbox.value = start.2;
            let mut held = Grant::of(&policy);
            for (wanted, memory, required) in chain {
                let needs = Needs {
                    network: wanted.map(|pick| Ruled::default_of(network(pick))),
                    limits: Limits { memory, ..Limits::none() },
                    require_os_sandbox: Ruled::default_of(required),
                    ..Needs::default()
                };
                let Ok(child) = held.narrow(&needs) else { continue };
                for host in ["org", "a.org", "b.a.org", "c.org", "x.net"] {
                    let reached = reaches(&child.network().value, host);
                    prop_assert!(!reached || reaches(&held.network().value, host), "{host}");
                    prop_assert!(!reached || wanted.is_some_and(|pick| reaches(&network(pick), host)));
                }
                let limit = |grant: &Grant| grant.limits().memory.unwrap_or(u64::MAX);
                prop_assert!(limit(&child) <= limit(&held).min(memory.unwrap_or(u64::MAX)));
                let both = held.require_os_sandbox().value || required;
                prop_assert_eq!(child.require_os_sandbox().value, both);
                prop_assert_eq!((child.env(), child.pass_env()), (held.env(), held.pass_env()));
                prop_assert_eq!((child.backend(), child.prove()), (held.backend(), held.prove()));
                held = child;
            }
        }

        #[test]
        fn rights_only_shrink_down_any_chain(
            start in prop::collection::btree_map("[a-d]", any::<bool>(), 0..4),
            chain in prop::collection::vec(prop::collection::btree_map("[a-d]", any::<bool>(), 0..3), 0..5),
        ) {
            let text = |zones: &BTreeMap<String, bool>| {
                let words = zones.iter().map(|(n, rw)| format!("{n}:{}", if *rw { "rw" } else { "ro" }));
                words.collect::<Vec<_>>().join(" ")
            };
            let mut held = grant(&text(&start));
            for wants in &chain {
                match held.narrow(&needs(&text(wants))) {
                    Ok(child) => {
                        for mount in child.view().mounts() {
                            let parent = held.zone_access(&mount.zone.name);
                            prop_assert!(parent.is_some_and(|mode| mount.zone.mode.value <= mode));
                        }
                        prop_assert_eq!(child.view().mounts().len(), wants.len());
                        held = child;
                    }
                    Err(_) => {
                        let excess = wants.iter().any(|(name, rw)| {
                            held.zone_access(name).is_none_or(|mode| *rw && mode == Mode::Ro)
                        });
                        prop_assert!(excess);
                    }
                }
            }
        }
    }
}
