//! What a command would get, and who enforces it.

use std::fmt;

use serde::Serialize;
use zonekeep_confine::links::HardLinks;
use zonekeep_confine::plan::{Access, Backend, Entry, Network, Plan, Role};
use zonekeep_confine::probe::{self, Offer};
use zonekeep_confine::strength::{self, Held, Strength};
use zonekeep_confine::tree::Launcher;

use crate::command::Command;
use crate::command::weaker::lack;
use crate::error::Error;
use crate::sandbox::Sandbox;

/// What a command would get.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct RunExplanation {
    /// The command line.
    pub command: String,
    /// The backend that would be used here.
    pub backend: Backend,
    /// The rules that it does not fully enforce, where the command is refused for
    /// that.
    pub refused: Vec<String>,
    /// Where it would start.
    pub cwd: String,
    /// Host directories that it would see.
    pub mounts: Vec<MountLine>,
    /// Directories of its own that are empty at first.
    pub private: Vec<String>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// Its limits.
    pub limits: Vec<(String, String)>,
    /// What it could reach.
    pub network: Network,
    /// The hosts that it could reach, where that is a list, and where each comes
    /// from.
    pub hosts: Vec<HostLine>,
    /// How many patterns of files are guarded in what it can write.
    pub guarded: usize,
    /// What was found and left out on the way.
    pub notes: Vec<String>,
    /// What each backend here would enforce.
    pub backends: Vec<BackendLine>,
}

/// A host directory or file that a command would see.
#[derive(Debug, Serialize)]
pub struct MountLine {
    /// Where it would be.
    pub at: String,
    /// The host path.
    pub host: String,
    /// Whether it could be written.
    pub access: Access,
    /// Why it is there.
    pub role: Role,
}

/// A host that a command could reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostLine {
    /// The host, as a rule names it.
    pub host: String,
    /// Where that is written, or was found.
    pub from: String,
}

/// What one backend would enforce.
#[derive(Debug, Serialize)]
pub struct BackendLine {
    /// Whether it works here.
    pub offer: Offer,
    /// What it enforces, where it works.
    pub strength: Vec<Strength>,
}

/// Explains what a command would get; runs nothing of it and records nothing.
pub fn explain_run(sandbox: &Sandbox, command: &Command) -> Result<RunExplanation, Error> {
    let launcher = sandbox.shared().confine.launcher.clone().or_else(Launcher::find);
    let offers = launcher.as_ref().map(probe::all).unwrap_or_default();
    let backend = sandbox.preferred(&offers);
    let planned = sandbox.plan(backend, command)?;
    let layers = offers.iter().find(|offer| offer.backend == backend);
    let layers = layers.and_then(|offer| offer.layers.as_ref());
    let refused = sandbox.unmet(command, &planned.plan, layers);
    let (cwd, host) = sandbox.start_dir(&planned.plan, command.cwd.as_deref())?;
    let mut private = match backend.has_own_tree() {
        true => vec!["/tmp".to_owned(), "/run".to_owned(), "/dev/shm".to_owned()],
        false => Vec::new(),
    };
    if !planned.plan.zones().any(|zone| planned.plan.home.starts_with(&zone.at)) {
        private.push(planned.plan.home.display().to_string());
    }
    let mut notes = planned.notes.clone();
    if !backend.has_own_tree() && command.cwd.is_none() && sandbox.working_dir().is_root() {
        let host = host.display();
        notes.push(format!("{backend} shows commands host paths: it starts in {host}, not in /"));
    }
    let plan = &planned.plan;
    let mounts = plan.binds().map(|bind| MountLine {
        at: bind.at.display().to_string(),
        host: bind.host.display().to_string(),
        access: bind.access,
        role: bind.role,
    });
    private.extend(plan.entries.iter().filter_map(|entry| match entry {
        Entry::Private { at } => Some(at.display().to_string()),
        _ => None,
    }));
    let text = |value: &std::ffi::OsString| value.to_string_lossy().into_owned();
    let backends = offers.into_iter().map(|offer| {
        let strength = match offer.available {
            true => sandbox
                .plan(offer.backend, command)
                .map(|planned| strength::strength(&planned.plan, offer.layers.as_ref()))
                .unwrap_or_default(),
            false => Vec::new(),
        };
        BackendLine { offer, strength }
    });
    let limits = plan.limits.tightest(&command.limits);
    notes.extend(hard_links(plan));
    Ok(RunExplanation {
        command: command.line(),
        backend,
        refused,
        cwd,
        mounts: mounts.collect(),
        private,
        environment: planned.env.iter().map(|(name, value)| (text(name), text(value))).collect(),
        limits: limits.entries().into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
        network: plan.network.clone(),
        hosts: planned.hosts(),
        guarded: plan.watch.as_ref().map_or(0, |watch| watch.patterns.len()),
        notes,
        backends: backends.collect(),
    })
}

/// Returns what becomes of files that have other names outside, where there are any.
fn hard_links(plan: &Plan) -> Option<String> {
    let shared = match HardLinks::find(plan) {
        Ok(links) => links.shared(),
        Err((zone, error)) => return Some(format!("{} cannot be read: {error}", zone.display())),
    };
    let becomes = match plan.backend.has_own_tree() {
        true => "is read-only",
        false => "is changed outside too by a command that writes it",
    };
    (shared.count > 0).then(|| {
        format!(
            "a file with another name outside the writable directories (a hard link) {becomes} \
             unless sandbox.allow_hard_links has it; there are {}: {}",
            shared.count,
            shared.list()
        )
    })
}

/// How many lines of one kind the short form has.
const SHORT: usize = 6;

impl RunExplanation {
    /// Returns what a person asks first, on one screen: the directories that are granted,
    /// the network, the limits and the rules that are not enforced.
    pub fn short(&self) -> String {
        let mut text = self.head();
        let mut list = |title: &str, lines: Vec<String>| {
            for line in lines.iter().take(SHORT) {
                text.push_str(&format!("  {title:9}{line}\n"));
            }
            if lines.len() > SHORT {
                text.push_str(&format!("  {title:9}and {} more\n", lines.len() - SHORT));
            }
        };
        let of = |role: Role| self.mounts.iter().filter(move |mount| mount.role == role);
        list("granted:", of(Role::Zone).map(MountLine::shown).collect());
        let (tools, system) = (of(Role::Tool).count(), of(Role::System).count());
        if let caches @ 1.. = of(Role::Cache).count() {
            list("caches:", vec![format!("{caches} directories, kept for the next command")]);
        }
        list("tools:", vec![format!("{tools} directories and files, read-only")]);
        list("system:", vec![format!("{system} directories and files, read-only")]);
        list("private:", vec![self.private.join(", ")]);
        list("network:", vec![self.network_words().to_owned()]);
        let hosts = self.hosts.iter();
        list("host:", hosts.map(|HostLine { host, from }| format!("{host} ({from})")).collect());
        let limits = self.limits.iter().map(|(name, value)| format!("{name} {value}"));
        list("limits:", vec![limits.collect::<Vec<_>>().join(", ")]);
        list("guarded:", vec![format!("{} patterns in what can be written", self.guarded)]);
        list("env:", vec![format!("{} variables", self.environment.len())]);
        let used = self.backends.iter().find(|line| line.offer.backend == self.backend);
        let weak = used.into_iter().flat_map(|line| &line.strength);
        let weak = weak.filter(|row| row.held != Held::Full && !row.rule.is_limit());
        list("weaker:", weak.map(lack).collect());
        let notes = self.notes.iter().filter(|note| !note.ends_with(", read-only"));
        list("note:", notes.cloned().collect());
        text.push_str("  (--all lists every directory, variable and backend)\n");
        text
    }

    fn head(&self) -> String {
        let mut text = format!("{}\n  backend: {}\n", self.command, self.backend);
        for rule in &self.refused {
            text.push_str(&format!("  refused: {rule}\n"));
        }
        text.push_str(&format!("  starts:  {}\n", self.cwd));
        text
    }

    fn network_words(&self) -> &'static str {
        match &self.network {
            Network::Off if self.backend.has_own_tree() => "none; a loopback of its own",
            Network::Off => "none",
            Network::Host => "all that the host can reach",
            Network::Gate(gateway) if gateway.proxy.is_some() => {
                "these hosts, for programs that use a proxy"
            }
            Network::Gate(_) => "these hosts; a loopback of its own",
        }
    }
}

impl MountLine {
    fn shown(&self) -> String {
        let access = match self.access {
            Access::Ro => "ro",
            Access::Rw => "rw",
        };
        let from = match self.at == self.host {
            true => String::new(),
            false => format!(" from {}", self.host),
        };
        format!("{access} {}{from}", self.at)
    }
}

impl fmt::Display for RunExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head())?;
        for (role, title) in [
            (Role::Zone, "granted"),
            (Role::Cache, "caches"),
            (Role::Tool, "tools"),
            (Role::System, "system"),
        ] {
            for mount in self.mounts.iter().filter(|mount| mount.role == role) {
                writeln!(f, "  {:9}{}", format!("{title}:"), mount.shown())?;
            }
        }
        writeln!(f, "  private: {}", self.private.join(", "))?;
        writeln!(f, "  network: {}", self.network_words())?;
        for HostLine { host, from } in &self.hosts {
            writeln!(f, "  host:    {host} ({from})")?;
        }
        for (name, value) in &self.limits {
            writeln!(f, "  limit:   {name} {value}")?;
        }
        writeln!(f, "  guarded: {} patterns in what can be written", self.guarded)?;
        for (name, value) in &self.environment {
            writeln!(f, "  env:     {name}={value}")?;
        }
        for note in &self.notes {
            writeln!(f, "  note:    {note}")?;
        }
        for line in &self.backends {
            let offer = &line.offer;
            let word = if offer.available { "available" } else { "not available" };
            let why = offer.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            writeln!(f, "  {}: {word}{why}", offer.backend)?;
            for strength in &line.strength {
                let note = strength.note.as_ref().map(|n| format!(" ({n})")).unwrap_or_default();
                writeln!(f, "    {:8} {}: {}{note}", strength.held, strength.rule, strength.by)?;
            }
        }
        Ok(())
    }
}
