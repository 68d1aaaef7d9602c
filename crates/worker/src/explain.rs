//! What a call of a worker would end in, without making it.

use std::fmt;

use serde::Serialize;
use zonekeep::policy::call::{CallRequest, CallVerdict, Callees, judge_call};
use zonekeep::policy::policy::{Network, OsSandbox};
use zonekeep::policy::worker_file::WorkerFile;
use zonekeep::policy::{Grant, Policy};

use crate::registry::{Registry, RegistryError};

/// What a call of a worker would end in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The worker.
    pub worker: String,
    /// Who would call it; the project itself when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// What it would hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<Holds>,
    /// Why it would not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a worker holds, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// Its directories.
    pub zones: Vec<HeldZone>,
    /// The tools that exist for it.
    pub tools: Vec<String>,
    /// What its commands may reach.
    pub network: String,
    /// Whether its commands run only under an OS sandbox.
    pub require_os_sandbox: bool,
    /// The limits of its commands.
    pub limits: Vec<(String, String)>,
    /// The workers that it may call.
    pub workers: Vec<String>,
    /// Whether it starts with what is not to be trusted.
    pub tainted: bool,
}

/// A directory that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldZone {
    /// The zone.
    pub name: String,
    /// Where the worker sees it.
    pub path: String,
    /// `ro` or `rw`.
    pub mode: String,
    /// Whether what is in it is not to be trusted.
    pub untrusted: bool,
    /// Whether reading, writing and deleting ask.
    pub approval: [String; 3],
    /// Endings of names that may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<Vec<String>>,
    /// The largest file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<u64>,
}

impl Holds {
    /// Writes out a grant of a worker's.
    pub fn of(grant: &Grant, worker: &WorkerFile, registry: &Registry) -> Self {
        let zones = grant.view().mounts().iter().map(|mount| {
            let zone = &mount.zone;
            let approval = [&zone.approval.read, &zone.approval.write, &zone.approval.delete];
            HeldZone {
                name: zone.name.clone(),
                path: zone.agent_path().to_string(),
                mode: zone.mode.value.to_string(),
                untrusted: zone.untrusted.is_some(),
                approval: approval.map(|rule| rule.value.to_string()),
                suffixes: zone.suffixes.as_ref().map(|suffixes| suffixes.value.clone()),
                max_file_bytes: zone.max_file_bytes.as_ref().map(|limit| limit.value),
            }
        });
        let limits = grant.limits().entries().into_iter();
        let mut tools = grant.tools();
        let calls = grant.has_tool("call_worker") && worker.calls != Callees::None;
        tools.retain(|tool| tool != "call_worker" || calls);
        let mut workers: Vec<String> = registry.names().map(str::to_owned).collect();
        workers = if calls { worker.calls.among(&workers) } else { Vec::new() };
        Holds {
            zones: zones.collect(),
            tools,
            network: match &grant.network().value {
                Network::Off => "none".to_owned(),
                Network::On => "everything".to_owned(),
                Network::Hosts(hosts) => {
                    let sets =
                        hosts.presets.iter().map(|preset| format!("hosts of {}", preset.value));
                    let hosts = hosts.allow.iter().map(|host| host.value.to_string());
                    hosts.chain(sets).collect::<Vec<_>>().join(", ")
                }
            },
            require_os_sandbox: grant.require_os_sandbox().value == OsSandbox::Required,
            limits: limits.map(|(name, value)| (name.to_owned(), value)).collect(),
            workers,
            tainted: grant.is_tainted(),
        }
    }
}

/// Says what a call of `name` would end in: from the project, or from a worker
/// that the project has started.
pub fn explain_worker(
    registry: &Registry,
    policy: &Policy,
    name: &str,
    from: Option<&str>,
) -> Result<Explained, RegistryError> {
    let name = registry.name_of(name)?;
    let worker = registry.get(&name)?;
    let mut explained =
        Explained { worker: name.clone(), from: None, verdict: "allow", grant: None, error: None };
    let mut grant = Grant::of(policy);
    if let Some(from) = from {
        let from = registry.name_of(from)?;
        let caller = registry.get(&from)?;
        explained.from = Some(from.clone());
        grant = match grant.narrow(&caller.file.needs) {
            Ok(grant) => grant,
            Err(error) => return Ok(denied(explained, format!("'{from}' cannot run: {error}"))),
        };
        let request = CallRequest {
            worker: &name,
            callees: &caller.file.calls,
            workers: &registry.names().map(str::to_owned).collect::<Vec<_>>(),
            chain: std::slice::from_ref(&from),
        };
        match judge_call(&grant, request).verdict {
            CallVerdict::Allow(_) => {}
            CallVerdict::Ask(_) => explained.verdict = "ask",
            CallVerdict::Deny(denial) => return Ok(denied(explained, denial.for_operator())),
        }
    }
    match grant.narrow(&worker.file.needs) {
        Ok(grant) => {
            explained.grant = Some(Holds::of(&grant, &worker.file, registry));
            Ok(explained)
        }
        Err(error) => Ok(denied(explained, error.to_string())),
    }
}

fn denied(explained: Explained, error: String) -> Explained {
    Explained { verdict: "deny", error: Some(error), ..explained }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict {
            "allow" => "allowed",
            "ask" => "asked about",
            _ => "denied",
        };
        match &self.from {
            Some(from) => writeln!(f, "call {} from {from}: {word}", self.worker)?,
            None => writeln!(f, "work {}: {word}", self.worker)?,
        }
        if let Some(error) = &self.error {
            for line in error.lines() {
                writeln!(f, "  | {line}")?;
            }
        }
        let Some(grant) = &self.grant else { return Ok(()) };
        for zone in &grant.zones {
            let [read, write, delete] = &zone.approval;
            write!(f, "  {}  {}  read {read}", zone.path, zone.mode)?;
            if zone.mode == "rw" {
                write!(f, ", write {write}, delete {delete}")?;
            }
            if let Some(suffixes) = &zone.suffixes {
                write!(f, ", only {}", suffixes.join(" "))?;
            }
            if let Some(limit) = zone.max_file_bytes {
                write!(f, ", at most {limit} bytes")?;
            }
            writeln!(f, "{}", if zone.untrusted { ", untrusted" } else { "" })?;
        }
        if grant.zones.is_empty() {
            writeln!(f, "  no directories: a pure function")?;
        }
        let list = |items: &[String]| match items {
            [] => "none".to_owned(),
            items => items.join(", "),
        };
        writeln!(f, "  tools:    {}", list(&grant.tools))?;
        writeln!(f, "  network:  {}", grant.network)?;
        writeln!(f, "  workers:  {}", list(&grant.workers))
    }
}
