//! Secrets that commands use without seeing them, from the tree of a file.

use std::collections::BTreeMap;

use super::network;
use super::problem::{Mark, Problems};
use super::yaml::Node;
use crate::hosts::{HostPattern, NamePattern};
use crate::policy::{Network, Policy};
use crate::secret::{DEFAULT_HEADER, Secret};
use crate::source::Ruled;

/// Headers that say where a message ends or who it is for, and those that a proxy
/// keeps to itself.
const TAKEN: [&str; 12] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
    "proxy-connection",
    "proxy-authorization",
];

/// Reads `secrets` of a project file.
pub(super) fn secrets(node: &Node, problems: &mut Problems) -> BTreeMap<String, Ruled<Secret>> {
    let mut secrets = BTreeMap::new();
    for (key, entry) in node.entries() {
        let name = check_name(&key.text, &key.mark, problems);
        let env = entry.get("env").and_then(|node| Some((node, node.text()?)));
        let env = env.filter(|(node, text)| check_name(text, &node.mark, problems));
        let hosts = hosts(&key.text, entry, problems);
        let header = header(entry, problems);
        if let (true, Some((_, env)), Some(header)) = (name, env, header) {
            let secret = Secret { env: env.to_owned(), hosts, header };
            secrets.insert(key.text.clone(), Ruled::new(secret, key.mark.at()));
        }
    }
    secrets
}

/// Adds a problem where a text is not the name of a variable.
pub(crate) fn check_name(name: &str, mark: &Mark, problems: &mut Problems) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let good = name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit());
    if !good {
        let message = format!("'{name}' cannot be the name of an environment variable");
        let problem = problems.error("bad_value", mark, message);
        problem.hint("write letters, digits and '_' alone, such as API_KEY");
    }
    good
}

fn hosts(name: &str, entry: &Node, problems: &mut Problems) -> Vec<HostPattern> {
    let Some(node) = entry.get("hosts") else { return Vec::new() };
    let listed = network::allowed(Some(node), problems);
    if node.items().is_some_and(<[Node]>::is_empty) {
        let message = format!("the secret '{name}' is for no host");
        let problem = problems.error("bad_value", &node.mark, message);
        problem.hint("write the hosts that it is sent to, or remove the secret");
    }
    for host in &listed {
        if matches!(host.value.name, NamePattern::Address(_) | NamePattern::Range { .. }) {
            let message = format!("the secret '{name}' is for an address, '{}'", host.value);
            let mark = Mark::of(&host.at, host.value.to_string().len());
            let problem = problems.error("bad_host", &mark, message);
            problem.hint("write the name of the host: nobody can prove to be an address");
        }
    }
    listed.into_iter().map(|host| host.value).collect()
}

/// Reads the header that carries a secret.
fn header(entry: &Node, problems: &mut Problems) -> Option<String> {
    let Some((node, text)) = entry.get("header").and_then(|node| Some((node, node.text()?))) else {
        return Some(DEFAULT_HEADER.to_owned());
    };
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let (message, hint) = if text.is_empty() || !text.bytes().all(token) {
        let message = format!("'{text}' cannot be the name of a header");
        (message, "write the name alone, without ':', such as X-Api-Key")
    } else if TAKEN.contains(&text.to_ascii_lowercase().as_str()) {
        let message = format!("the header '{text}' cannot carry a secret");
        (message, "write the header that the service reads, such as Authorization")
    } else {
        return Some(text.to_owned());
    };
    problems.error("bad_value", &node.mark, message).hint(hint);
    None
}

/// Holds the secrets against the rest of the file.
pub(super) fn check(policy: &Policy, problems: &mut Problems) {
    for (name, secret) in &policy.secrets {
        let mark = Mark::of(&secret.at, name.chars().count());
        let passed = policy.pass_env.iter().any(|passed| passed.value == *name);
        if passed || policy.env.contains_key(name) {
            let key = if passed { "pass_env" } else { "env" };
            let message = format!("'{name}' is a secret, and sandbox.{key} has it too");
            let problem = problems.error("conflict", &mark, message);
            problem.hint(format!("remove it from sandbox.{key}, or give the secret another name"));
        }
        let env = &secret.value.env;
        if let Some(shown) = policy.pass_env.iter().find(|p| p.value == *env && p.value != *name) {
            let message = format!("commands can read the secret '{name}': they get '{env}'");
            let mark = Mark::of(&shown.at, env.chars().count());
            let problem = problems.warning("secret_shown", &mark, message);
            problem.hint(format!("remove '{env}' from sandbox.pass_env"));
        }
        for host in secret.value.hosts.iter().filter(|host| !is_used(policy, host)) {
            let message = format!(
                "the secret '{name}' is never used for '{host}', which no list of hosts allows"
            );
            let problem = problems.warning("unused", &mark, message);
            problem.hint(format!("add {host} to sandbox.network.allow"));
        }
    }
}

/// Returns whether commands can reach a host of a secret through a list. Where they
/// reach everything nobody stands between, and nothing is put in.
fn is_used(policy: &Policy, host: &HostPattern) -> bool {
    let grants = policy.shell.rules.iter().map(|rule| &rule.grants);
    let mut lists = grants.chain([&policy.network.value]);
    lists.any(|network| match network {
        Network::Off | Network::On => false,
        Network::Hosts(hosts) => {
            // What a package manager's hosts are is not known here.
            let overlap = |held: &Ruled<HostPattern>| {
                let names = (&held.value.name, &host.name);
                let either = names.0.covers(names.1) || names.1.covers(names.0);
                either && host.ports().into_iter().any(|port| held.value.has_port(port))
            };
            !hosts.presets.is_empty() || hosts.allow.iter().any(overlap)
        }
    })
}
