//! The way out of sandboxes whose network is a list of hosts: who is asked about a
//! connection, what is written down about it, and what the agent is told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use zonekeep_confine::plan::{Network as Planned, Plan};
use zonekeep_network::{Account, Desk, Event, Gate, Reason, Refused, Setting};
use zonekeep_policy::denial::{list, shown};
use zonekeep_policy::hosts::{
    self, ConnectQuestion, Destination, HostPattern, NamePattern, PresetHosts,
};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::{At, Denial, Rule, Ruled};

use super::outside::Way;
use super::refusals::{Refusal, Refusals};
use crate::approve::{Key, Remember, Request};
use crate::ask::{self, Asker};
use crate::audit::{HostRecord, Record};
use crate::perform::rule_record;
use crate::sandbox::Sandbox;
use crate::session::Shared;
use crate::stop::Stop;

/// How many different hosts are written down for one command. Names below `*.` can be
/// made up without end.
const MAX_HOSTS: usize = 1000;
/// How many open files this process wants to have where there are connections.
const MANY_FILES: u64 = 16_384;
/// How long the connections of a command that has ended may take to end.
const SETTLING: Duration = Duration::from_millis(100);
/// Why a question is not put, or an answer does not count.
const TOO_LATE: &str = "the command has ended";
/// How many hosts somebody is asked about for one command.
const MAX_QUESTIONS: usize = 20;
/// How many of them an agent reads about.
const MAX_TOLD: usize = 5;

/// What commands of one sandbox may reach, with all that decides about it.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    pub(super) network: Network,
    /// Where that is written.
    pub(super) at: At,
    pub(super) presets: PresetHosts,
    pub(super) consent: Ruled<Consent>,
}

impl Reach {
    /// Returns the rule for a destination.
    fn rule(&self, to: &Destination) -> Rule {
        let rule = hosts::judge_connect(&self.network, &self.presets, &self.consent, to).rule;
        match rule.at {
            // Nothing in the list is for it, so it is the list that decides.
            At::Default => Rule { at: self.at.clone(), ..rule },
            _ => rule,
        }
    }

    /// Returns what can be reached, in words.
    pub(super) fn allowed(&self) -> Vec<String> {
        allowed(&self.network, &self.presets)
    }

    /// Returns the name that a connection is counted under: its host, and where there
    /// are too many the entry of the list that stands for it.
    fn counted_as(&self, hosts: &BTreeMap<String, HostRecord>, to: &Destination) -> String {
        let name = to.to_string();
        if hosts.len() < MAX_HOSTS || hosts.contains_key(&name) {
            return name;
        }
        self.wide_entry(to).unwrap_or(name)
    }

    /// Returns the entry of the list that stands for a destination and for others
    /// too; none where one names it.
    fn wide_entry(&self, to: &Destination) -> Option<String> {
        let Network::Hosts(listed) = &self.network else { return None };
        let presets = listed.presets.iter().filter_map(|preset| self.presets.get(&preset.value));
        let all = listed.allow.iter().map(|host| &host.value).chain(presets.flatten());
        let fitting: Vec<&HostPattern> = all.filter(|pattern| pattern.allows(to)).collect();
        let names = |pattern: &&HostPattern| {
            matches!(pattern.name, NamePattern::Exact(_) | NamePattern::Address(_))
        };
        match fitting.iter().any(names) {
            true => None,
            false => fitting.first().map(ToString::to_string),
        }
    }
}

/// Returns what can be reached, in words.
pub(crate) fn allowed(network: &Network, presets: &PresetHosts) -> Vec<String> {
    let Network::Hosts(listed) = network else { return network.shown() };
    let names = listed.allow.iter().map(|host| match listed.ask.contains(host) {
        true => format!("{} (after a question)", host.value),
        false => host.value.to_string(),
    });
    let found = listed.presets.iter().filter_map(|preset| presets.get(&preset.value)).flatten();
    names.chain(found.map(ToString::to_string)).collect()
}

/// Whom the gate of a sandbox asks and tells.
#[derive(Debug)]
pub(super) struct Doorkeeper {
    shared: Arc<Shared>,
    worker: Option<String>,
    tainted: bool,
    reach: Reach,
    /// Held by whoever asks.
    turn: Mutex<()>,
    seen: Mutex<Seen>,
}

/// The gate of one sandbox, and who stands at it.
#[derive(Debug)]
pub(super) struct Door {
    way: Way,
    account: Arc<Account>,
    limits: Limits,
    keeper: Arc<Doorkeeper>,
    gate: OnceLock<Gate>,
}

impl Sandbox {
    /// Returns a door for a sandbox that is about to be started.
    pub(super) fn door(&self, way: Way, limits: &Limits) -> Door {
        let keeper = Doorkeeper {
            shared: self.shared_arc(),
            worker: self.grant().worker().map(str::to_owned),
            tainted: self.grant().is_tainted(),
            reach: way.reach.clone(),
            turn: Mutex::default(),
            seen: Mutex::default(),
        };
        Door {
            account: Arc::clone(&self.shared().outside.account),
            limits: self.grant().limits().tightest(limits),
            keeper: Arc::new(keeper),
            way,
            gate: OnceLock::new(),
        }
    }
}

impl Door {
    fn setting(&self, token: Option<String>) -> Setting {
        let Reach { network, presets, consent, .. } = self.way.reach.clone();
        Setting {
            network,
            presets,
            consent,
            secrets: self.way.secrets.clone(),
            authority: self.way.authority.clone(),
            limits: self.limits.clone(),
            account: Arc::clone(&self.account),
            token,
        }
    }

    fn desk(&self) -> Arc<dyn Desk> {
        Arc::clone(&self.keeper) as Arc<dyn Desk>
    }

    /// Serves the sockets of a sandbox with a network of its own.
    pub(super) fn open(&self, sockets: Vec<OwnedFd>) -> io::Result<()> {
        allow_many_files();
        let gate = Gate::open(self.setting(None), self.way.layout.clone(), sockets, self.desk())?;
        let _ = self.gate.set(gate);
        Ok(())
    }

    /// Serves a port of the host, for a sandbox that has no network of its own.
    /// Other users of the machine can connect to it, so it wants a password.
    pub(super) fn open_on_host(
        &mut self,
        plan: &mut Plan,
        env: &mut BTreeMap<OsString, OsString>,
    ) -> io::Result<()> {
        allow_many_files();
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| io::Error::other("no random numbers"))?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        // KNOWN: without a tree of its own, a command has no place for the
        // certificate that goes with secrets, and gets none.
        self.way.secrets.clear();
        self.way.authority = None;
        let (gate, port) = Gate::on_host(self.setting(Some(token.clone())), self.desk())?;
        let _ = self.gate.set(gate);
        if let Planned::Gate(gateway) = &mut plan.network {
            gateway.proxy = Some(port);
        }
        for (name, value) in
            zonekeep_network::environment(&format!("zonekeep:{token}@127.0.0.1:{port}"))
        {
            env.insert(name.into(), value.into());
        }
        Ok(())
    }

    /// Returns what can be reached, in words.
    pub(super) fn allowed(&self) -> Vec<String> {
        self.way.reach.allowed()
    }

    /// Notes that a command is about to run.
    pub(super) fn begin(&self, command: &str) {
        let mut seen = self.keeper.seen();
        seen.commands.push(command.to_owned());
        if let Some(gate) = self.gate.get() {
            gate.reopen();
        }
    }

    /// Notes that a command has ended; returns what there was since the last time.
    pub(super) fn end(&self, command: &str) -> Passed {
        self.leave(command);
        self.keeper.take()
    }

    /// Notes that a command runs no more. Where it was the last one here, its
    /// connections end with it, and nobody can make any until the next begins: what
    /// was handed on to another sandbox is of no use there.
    pub(super) fn leave(&self, command: &str) {
        {
            let commands = &mut self.keeper.seen().commands;
            if let Some(at) = commands.iter().position(|held| held == command) {
                commands.remove(at);
            }
        }
        let Some(gate) = self.gate.get() else { return };
        gate.settle(SETTLING);
        let seen = self.keeper.seen();
        // Another may have begun meanwhile.
        if seen.commands.is_empty() {
            gate.shut();
            drop(seen);
            gate.settle(SETTLING);
        }
    }
}

/// Lets this process have the descriptors that many connections take, as far as it
/// may. Commands have limits of their own.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(MANY_FILES, |maximum| maximum.min(MANY_FILES));
    if current.is_some_and(|current| current < wanted) {
        // With fewer, connections wait for each other.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// What there was since the last command ended.
#[derive(Debug, Default)]
struct Seen {
    /// The commands that run, as they are shown.
    commands: Vec<String>,
    /// How many have ended.
    ended: u64,
    refusals: Refusals,
    /// What was answered, until a command has ended: a no is not asked about
    /// again either.
    answers: BTreeMap<Destination, Result<(), String>>,
    hosts: BTreeMap<String, HostRecord>,
}

/// What there was to see of connections while a command ran.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub(super) refusals: Vec<Refusal>,
    pub(super) more: u64,
    pub(super) hosts: Vec<HostRecord>,
}

impl Passed {
    /// Returns whether a rule refused a connection.
    pub(super) fn is_refused(&self) -> bool {
        self.refusals.iter().any(Refusal::is_by_rule)
    }
}

impl Doorkeeper {
    /// Returns what there was since the last time. A yes that was given once does
    /// not hold any longer.
    pub(super) fn take(&self) -> Passed {
        let mut seen = self.seen();
        let commands = std::mem::take(&mut seen.commands);
        let left = Seen { commands, ended: seen.ended + 1, ..Seen::default() };
        let Seen { refusals, hosts, .. } = std::mem::replace(&mut *seen, left);
        let (refusals, more) = refusals.into_parts();
        Passed { refusals, more, hosts: hosts.into_values().collect() }
    }

    /// Returns the commands that may be behind a connection, for whoever is asked.
    fn running(&self) -> Vec<(String, String)> {
        let seen = self.seen();
        let commands = seen.commands.iter().take(MAX_TOLD);
        commands.map(|command| ("for".to_owned(), shown(command))).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, to: &str) -> Record<'_> {
        Record {
            worker: self.worker.as_deref().map(Into::into),
            action: "connect".into(),
            tainted: self.tainted,
            ..self.shared.record("network", shown(to))
        }
    }

    /// Writes down a connection that was refused, with the rule that it fell under.
    fn refused(&self, to: &str, reason: Reason, why: &str) {
        let mut record = self.record(to);
        record.verdict = if reason == Reason::Declined { "ask" } else { "deny" }.into();
        record.outcome = "refused".into();
        record.code = Some(
            match reason {
                // The same as in the refusal that is explained.
                Reason::NotAllowed | Reason::Denied | Reason::Name => "host",
                reason => reason.code(),
            }
            .into(),
        );
        record.error = Some(shown(why).into());
        if let Ok(to) = Destination::parse(to) {
            record.rule = Some(rule_record(&self.reach.rule(&to)).into_owned());
        }
        // The refusal stands whether or not it could be written down.
        let _ = self.shared.write_down(&record);
    }

    fn put(&self, question: &ConnectQuestion) -> Result<(), Denial> {
        let to = question.to().to_string();
        let mut record = self.record(&to);
        record.verdict = "ask".into();
        let rule = self.reach.rule(question.to());
        record.rule = Some(rule_record(&rule).into_owned());
        let key = Key::Connect { worker: self.worker.clone(), to: to.clone() };
        if ask::remembers(&self.shared, self.tainted, |recall| recall(key.clone()), &mut record) {
            return Ok(());
        }
        let request = Request {
            id: record.id.to_string(),
            worker: self.worker.clone(),
            tool: "network".to_owned(),
            verb: "connect".to_owned(),
            path: to.clone(),
            reasons: ask::reasons(&question.reasons, &rule),
            details: self.running(),
            ..Request::default()
        };
        let summary = format!("connect to {to}");
        let keep = |remember: &Remember| (*remember == Remember::Session).then_some((key, summary));
        let (shared, tainted) = (&*self.shared, self.tainted);
        // Nobody makes the call again that a connection belongs to: it waits here.
        let asker = Asker { shared, stop: &Stop::new(), tainted, given: None };
        match asker.put(request, keep, &mut record) {
            Ok(()) => {
                record.outcome = "done".into();
                if shared.write_down(&record).is_err() {
                    let reason = "the answer could not be written to the audit log".to_owned();
                    return Err(Denial::HostUnasked { host: to, reason });
                }
                Ok(())
            }
            Err(ask::NotYes::No(note)) => Err(Denial::HostDeclined { host: to, note }),
            Err(ask::NotYes::Unasked(reason)) => Err(Denial::HostUnasked { host: to, reason }),
            Err(ask::NotYes::Open(_)) => {
                let reason = "nobody waits for an answer".to_owned();
                Err(Denial::HostUnasked { host: to, reason })
            }
        }
    }
}

impl Desk for Doorkeeper {
    fn ask(&self, question: &ConnectQuestion) -> Result<(), Refused> {
        let to = question.to().clone();
        // One after the other: a person reads one question at a time.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self.seen().ended;
        let known = |seen: &Seen| match seen.answers.get(&to) {
            _ if seen.commands.is_empty() => Some(Err(TOO_LATE.to_owned())),
            None if seen.answers.len() >= MAX_QUESTIONS => {
                Some(Err("this command has asked about too many hosts".to_owned()))
            }
            answer => answer.cloned(),
        };
        let answer = known(&self.seen());
        let answer = answer.unwrap_or_else(|| {
            let answer = self.put(question);
            let answer = answer.map_err(|denial| reason_of(&denial.to_string()).to_owned());
            let mut seen = self.seen();
            // An answer that comes after the command's end is none for the next.
            match (seen.commands.is_empty(), seen.ended == ended) {
                (true, _) => return Err(TOO_LATE.to_owned()),
                (false, false) => {}
                (false, true) => drop(seen.answers.insert(to, answer.clone())),
            }
            answer
        });
        answer.map_err(Refused::new)
    }

    fn tell(&self, event: &Event) {
        match event {
            Event::Closed { to, out, into, .. } => {
                let mut seen = self.seen();
                let name = self.reach.counted_as(&seen.hosts, to);
                let host = seen.hosts.entry(name).or_insert_with_key(|name| HostRecord {
                    host: name.clone(),
                    ..HostRecord::default()
                });
                host.connections += 1;
                host.bytes_out += out;
                host.bytes_in += into;
            }
            Event::Refused { to, reason, detail } => {
                let why = reason_of(detail);
                let refusal = Refusal::new(*reason, to, why);
                let by_rule = refusal.is_by_rule();
                if self.seen().refusals.keep(refusal) && by_rule {
                    self.refused(to, *reason, why);
                }
            }
            _ => {}
        }
    }
}

/// Returns why, out of a refusal that also says what was refused and what would be
/// allowed.
fn reason_of(refusal: &str) -> &str {
    let first = refusal.lines().next().unwrap_or_default();
    let why = match first.starts_with("Cannot connect to ") {
        true => first.split_once("': ").map_or(first, |(_, why)| why),
        false => first,
    };
    why.trim_end_matches('.')
}

/// Returns what an agent should know about the connections of its command.
pub(super) fn notes(passed: &Passed, allowed: &[String], failed: bool) -> Vec<String> {
    let refused = passed.refusals.iter().filter(|refusal| refusal.is_by_rule());
    let mut notes: Vec<String> = refused
        .clone()
        .take(MAX_TOLD)
        .map(|refusal| {
            format!("Note: Connecting to '{}' was refused: {}.", refusal.to, refusal.why)
        })
        .collect();
    let more = refused.count().saturating_sub(MAX_TOLD) as u64 + passed.more;
    if more > 0 {
        notes.push(format!("Note: {more} more connections were refused."));
    }
    if !notes.is_empty() {
        notes.push(reachable(allowed));
    }
    let missed = passed.refusals.iter().filter(|refusal| !refusal.is_by_rule() && failed);
    notes.extend(missed.take(MAX_TOLD).map(|refusal| {
        format!("Note: '{}' is allowed but could not be reached: {}.", refusal.to, refusal.why)
    }));
    notes
}

/// Returns what can be reached, as a note.
pub(super) fn reachable(allowed: &[String]) -> String {
    format!("Note: Hosts that can be reached: {}", list(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonekeep_policy::hosts::Hosts;

    #[test]
    fn hosts_without_end_are_counted_together_and_hide_no_other() {
        let allow = ["api.test", "*.wild.test", "*.other.test:8443", "in.wild.test:80"];
        let pattern = |text: &str| Ruled::default_of(HostPattern::parse(text).unwrap());
        let allow = allow.map(pattern).to_vec();
        let reach = Reach {
            network: Network::Hosts(Hosts { allow, ..Hosts::default() }),
            at: At::Default,
            presets: PresetHosts::new(),
            consent: Ruled::default_of(Consent::Tool),
        };
        let mut hosts = BTreeMap::new();
        let mut connect = |to: &str| {
            let name = reach.counted_as(&hosts, &Destination::parse(to).unwrap());
            hosts.entry(name.clone()).or_insert_with(HostRecord::default).connections += 1;
            name
        };
        for n in 0..MAX_HOSTS {
            let to = format!("n{n}.wild.test:443");
            assert_eq!(connect(&to), to);
        }
        let cases = [
            ("n0.wild.test:443", "n0.wild.test:443"),
            ("more.wild.test:443", "*.wild.test"),
            ("yet.more.wild.test:80", "*.wild.test"),
            ("in.wild.test:80", "in.wild.test:80"),
            ("a.other.test:8443", "*.other.test:8443"),
            ("api.test:443", "api.test:443"),
        ];
        for (to, name) in cases {
            assert_eq!(connect(to), name);
        }
        assert_eq!(hosts.len(), MAX_HOSTS + 4);
        assert_eq!(hosts["*.wild.test"].connections, 2);
    }
}
