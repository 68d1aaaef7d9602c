//! Which effects of a command would leave the sandbox, as far as its words show them.
//!
//! `shell.default: contained` runs a line without a question because the kernel confines it.
//! For some effects the user wants to be asked all the same: connections beyond the list,
//! guarded files, secrets, and deletions in a zone that asks about them. The checks here
//! read words only, so a program can have such an effect without showing it. Then no
//! question is asked, and the enforcement decides: the gate refuses hosts beyond the list,
//! guarded files are read-only or quarantined, and a line that nobody was asked about has
//! no secrets.

use super::facts::Facts;
use super::known::clients::{self, Peer};
use super::known::{base_name, lists};
use super::line::{RedirectKind, Word};
use crate::grant::Grant;
use crate::guard::{self, Guard, Reach};
use crate::hosts::{Destination, Host};
use crate::path::{AgentPath, RelPath};
use crate::policy::Network;
use crate::view::Spot;

/// Programs that remove the files that they name.
const REMOVERS: &str = "rm rmdir unlink shred trash trash-put";
/// Programs that write the files that they name.
const WRITERS: &str = "tee sponge touch mkdir truncate chmod chown";
/// Programs that write to their last operand.
const COPIERS: &str = "cp mv install ln rsync scp";

/// An effect that the user is asked about, shown as words that follow the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The effect, in words that the agent may read.
    pub effect: String,
    /// The line of the project file that would change the answer, for the user.
    pub remedy: Option<Remedy>,
}

/// The part of a project file that decides about an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// The key that asks about it.
    Key(String),
    /// `sandbox.network`, which does not list the host, where its name is known: an approval
    /// runs the command, and opens no connection.
    Network(Option<Destination>),
    /// The guard of a file, at this path below its zone: an approval lets the change stay.
    Guard(RelPath),
}

impl std::fmt::Display for Leaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.remedy {
            Some(Remedy::Key(key)) => write!(f, "{}, and {key} asks", self.effect),
            Some(Remedy::Network(_)) => write!(f, "{}; a yes does not open it", self.effect),
            Some(Remedy::Guard(_)) => write!(f, "{}; a yes lets that stay", self.effect),
            None => f.write_str(&self.effect),
        }
    }
}

impl From<String> for Leaving {
    fn from(effect: String) -> Self {
        Leaving { effect, remedy: None }
    }
}

/// Returns what of a command would leave the sandbox.
pub(crate) fn of(grant: &Grant, facts: &Facts<'_>) -> Vec<Leaving> {
    let mut found = Vec::new();
    found.extend(removal(grant, facts));
    found.extend(guarded(grant, facts));
    let mut peers = clients::peers(facts).into_iter();
    found.extend(peers.find_map(|peer| beyond(grant, facts.name, &peer)));
    found.extend(secret(grant, &facts.simple.text).map(Leaving::from));
    found
}

/// Returns the same for a line that cannot be taken apart, where any word counts.
pub(crate) fn of_text(grant: &Grant, line: &str) -> Vec<Leaving> {
    let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let words: Vec<&str> = line.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    let removes = |word: &&str| lists(REMOVERS, base_name(word)) || *word == "-delete";
    let asking = grant.asked().deletions.values().next();
    if let (Some(word), Some((_, key))) = (words.iter().find(|word| removes(word)), asking) {
        let effect = format!("'{word}' may remove files");
        found.push(Leaving { effect, remedy: Some(Remedy::Key(key.clone())) });
    }
    let connects = |at: &usize| clients::names(base_name(words[*at]), &words[*at + 1..]);
    if let Some(at) = (0..words.len()).find(connects) {
        found.extend(beyond(grant, base_name(words[at]), &Peer::Unnamed));
    }
    found.extend(secret(grant, line).map(Leaving::from));
    found
}

/// Returns the zone that a path lies in, also where this worker has lost it, and the path
/// below it.
fn zone(grant: &Grant, path: &AgentPath) -> Option<(String, RelPath)> {
    match grant.view().locate(path) {
        Some(Spot::Root) => None,
        Some(Spot::In { mount, path }) => {
            Some((grant.view().mounts()[mount].zone.name.clone(), path))
        }
        None => {
            let (name, below) = path.split_first()?;
            let name = std::str::from_utf8(name).ok()?;
            grant.project_has_zone(name).then(|| (name.to_owned(), below))
        }
    }
}

/// Returns the path that a word means; `None` where only the running shell knows it.
fn place(grant: &Grant, facts: &Facts<'_>, word: &Word) -> Option<AgentPath> {
    let text = match word {
        Word::Known(text) => text.as_str(),
        // Every name that it stands for lies in this directory.
        Word::Glob { text, fixed } if !text[fixed.len().min(text.len())..].contains("..") => {
            fixed.rfind('/').map_or(".", |at| &fixed[..=at])
        }
        Word::Glob { .. } | Word::Unknown { .. } => return None,
    };
    if facts.moved && !text.starts_with('/') {
        return None;
    }
    let dotted = if text.starts_with('/') { text.to_owned() } else { format!("./{text}") };
    let path = AgentPath::parse(&dotted, facts.cwd, &AgentPath::root()).ok()?;
    Some(grant.view().canonical(path))
}

/// Returns the deletion that a command's words show, in a zone that asks about it.
fn removal(grant: &Grant, facts: &Facts<'_>) -> Option<Leaving> {
    let operands = || facts.args.operands.iter().map(|operand| operand.word);
    let here = Word::Known(".".to_owned());
    let nowhere = Word::Unknown { raw: String::new() };
    let has = |names: &[&str]| names.iter().any(|name| facts.has_flag(name));
    let mut words: Vec<&Word> = match facts.name {
        name if lists(REMOVERS, name) => {
            let named: Vec<&Word> = operands().collect();
            // Another program adds the names.
            if named.is_empty() && !facts.simple.within.is_empty() { vec![&nowhere] } else { named }
        }
        "find" if has(&["-delete"]) => {
            let words = facts.simple.words.get(1..).unwrap_or_default().iter();
            let start = |word: &&Word| word.known().is_none_or(|w| !w.starts_with(['-', '(', '!']));
            let starts: Vec<&Word> = words.take_while(start).collect();
            if starts.is_empty() { vec![&here] } else { starts }
        }
        "git" if facts.operand(0) == Some("clean") && !has(&["-n", "--dry-run"]) => vec![&here],
        "git" if facts.operand(0) == Some("rm") && !has(&["--cached", "-n", "--dry-run"]) => {
            operands().skip(1).collect()
        }
        // Out of the zone. Where the target is not known, it may be another name in it.
        "mv" if leads_out(grant, facts) => operands().collect(),
        "rsync" if facts.args.flags.iter().any(|flag| flag.name.starts_with("--del")) => {
            operands().next_back().into_iter().collect()
        }
        _ => return None,
    };
    words.retain(|word| word.known() != Some("-"));
    let asked = &grant.asked().deletions;
    words.into_iter().find_map(|word| {
        let path = place(grant, facts, word);
        let (_, key) = match &path {
            // In the zone, or a directory that holds it.
            Some(path) => asked
                .values()
                .find(|(dir, _)| path.below(dir).is_some() || dir.below(path).is_some())?,
            None => asked.values().next()?,
        };
        let what = path.map_or_else(|| "files".to_owned(), |path| format!("'{path}'"));
        let remedy = Some(Remedy::Key(key.clone()));
        Some(Leaving { effect: format!("it removes {what}"), remedy })
    })
}

/// Returns whether the words of `mv` show a target in none of the zones that ask.
fn leads_out(grant: &Grant, facts: &Facts<'_>) -> bool {
    let target = facts.args.flags.iter().find(|flag| flag.is("-t")).and_then(|f| f.value.as_ref());
    let target = target.or_else(|| Some(facts.args.operands.last()?.word));
    let path = target.and_then(|word| place(grant, facts, word));
    let asked = &grant.asked().deletions;
    path.is_some_and(|path| asked.values().all(|(dir, _)| path.below(dir).is_none()))
}

/// Returns the guarded files that a command's words say it writes or removes.
fn guarded(grant: &Grant, facts: &Facts<'_>) -> Vec<Leaving> {
    let operands = || facts.args.operands.iter().map(|operand| operand.word);
    let in_place = lists("sed perl ruby", facts.name)
        && facts.args.flags.iter().any(|flag| flag.name.starts_with("-i") || flag.is("--in-place"));
    let of = |word: &Word| {
        let text = word.known()?.strip_prefix("of=")?;
        Some(Word::Known(text.to_owned()))
    };
    let mut words: Vec<Word> = facts
        .simple
        .redirects
        .iter()
        .filter(|redirect| {
            use RedirectKind::{Append, Both, Write};
            matches!(redirect.kind, Append | Both | Write)
        })
        .map(|redirect| redirect.target.clone())
        .collect();
    let names = |list: &str| lists(list, facts.name);
    if names(WRITERS) || names(REMOVERS) || names("mv") || in_place {
        words.extend(operands().cloned());
    } else if names(COPIERS) {
        words.extend(operands().next_back().cloned());
    }
    if names("dd") {
        words.extend(operands().filter_map(of));
    }
    if names(COPIERS) {
        let target = facts.args.flags.iter().find(|flag| flag.is("-t"));
        let target = target.and_then(|flag| flag.value.as_ref()?.known());
        let into = target.or_else(|| operands().next_back()?.known());
        // Into a directory, under the name that it has.
        words.extend(operands().filter_map(|word| {
            let name = base_name(word.known()?.trim_end_matches('/'));
            Some(Word::Known(format!("{}/{name}", into?)))
        }));
    }
    let found = words.iter().filter_map(|word| {
        word.known()?;
        let path = place(grant, facts, word)?;
        let (_, below) = zone(grant, &path)?;
        let entry = grant.guards().find(&below, Reach::File)?;
        if entry.why == guard::PROGRAM {
            return None;
        }
        let effect = format!("it changes the guarded file '{path}', which {}", entry.why);
        // What is blocked stays so, whoever says yes.
        let remedy = (entry.guard.value != Guard::Block).then_some(Remedy::Guard(below));
        Some(Leaving { effect, remedy })
    });
    let mut found: Vec<Leaving> = found.collect();
    found.dedup();
    found
}

/// Returns why a connection goes beyond what the worker's commands may reach.
fn beyond(grant: &Grant, name: &str, peer: &Peer) -> Option<Leaving> {
    let leaving = |effect, to| Leaving { effect, remedy: Some(Remedy::Network(to)) };
    let hosts = match &grant.network().value {
        Network::On => return None,
        Network::Off => None,
        Network::Hosts(hosts) if hosts.allow.is_empty() && hosts.presets.is_empty() => None,
        Network::Hosts(hosts) => Some(hosts),
    };
    match (peer, hosts) {
        // The gate knows the host, and the list has some.
        (Peer::Unnamed, Some(_)) => None,
        (Peer::Unnamed, None) => {
            Some(leaving(format!("'{name}' needs the network, and there is none"), None))
        }
        (Peer::Host(text, port), hosts) => {
            let to = destination(text, *port);
            // A service that runs in the sandbox.
            let own = |host: &Host| match host {
                Host::Address(ip) => ip.is_loopback() || ip.is_unspecified(),
                name => name.is_localhost(),
            };
            let listed = |to: &Destination| {
                hosts.is_some_and(|hosts| hosts.allow.iter().any(|host| host.value.allows(to)))
            };
            match &to {
                Some(to) if own(&to.host) || listed(to) => None,
                _ => {
                    let effect =
                        format!("it connects to '{text}', which sandbox.network does not list");
                    Some(leaving(effect, to))
                }
            }
        }
    }
}

fn destination(text: &str, port: u16) -> Option<Destination> {
    let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
        (!host.contains(':') || host.ends_with(']')) && port.bytes().all(|b| b.is_ascii_digit())
    });
    let to = Destination::parse(text).ok()?;
    Some(if has_port { to } else { Destination::new(to.host, port) })
}

/// Returns the secret that a text names.
fn secret(grant: &Grant, text: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = text.split(|c| !is_name(c));
    words
        .find(|word| grant.asked().secrets.contains(*word))
        .map(|name| format!("it names the secret {name}"))
}
