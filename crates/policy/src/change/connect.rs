//! The smallest change that would let commands connect somewhere.

use super::{Edit, MAX_EDITS, can_hold};
use crate::hosts::{
    ConnectVerdict, Destination, Host, HostPattern, Hosts, NamePattern, PresetHosts, is_web,
    judge_connect,
};
use crate::policy::{Network, Policy};
use crate::source::{At, Ruled};

/// Returns the edits after which every command of the project may connect to a
/// destination without a question, or `None` when no edit of the project file can
/// do that.
///
/// A name that leads to a private address needs that address listed too, which
/// nobody knows before it is resolved.
pub fn change_for_connect(
    policy: &Policy,
    presets: &PresetHosts,
    to: &Destination,
) -> Option<Vec<Edit>> {
    open_to(&mut policy.clone(), presets, to)
}

/// Changes rules so that every command may connect to a destination without a question;
/// returns the edits.
pub fn open_to(trial: &mut Policy, presets: &PresetHosts, to: &Destination) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = Vec::new();
    // A list alone may be written without its key.
    let allow = match &trial.network.value {
        Network::Hosts(Hosts { ask, deny, presets, .. })
            if !(ask.is_empty() && deny.is_empty() && presets.is_empty()) =>
        {
            "sandbox.network.allow"
        }
        _ => "sandbox.network",
    };
    for _ in 0..=MAX_EDITS {
        let judgement = judge_connect(&trial.network.value, presets, &trial.consent, to);
        if matches!(judgement.verdict, ConnectVerdict::Allow(_)) {
            let allows = |policy: &Policy| {
                let judgement = judge_connect(&policy.network.value, presets, &policy.consent, to);
                matches!(judgement.verdict, ConnectVerdict::Allow(_))
            };
            return can_hold(trial, allows).then_some(edits);
        }
        let new = next(trial, allow, to)?;
        // An edit of the same key again replaces the first.
        edits.retain(|held| new.iter().all(|edit| edit.key != held.key));
        edits.extend(new);
    }
    None
}

/// Changes the one list that stands in the way.
fn next(policy: &mut Policy, allow: &str, to: &Destination) -> Option<Vec<Edit>> {
    let at = policy.network.at.clone();
    let hosts = match &mut policy.network.value {
        Network::On => return None,
        Network::Off => &mut Hosts::default(),
        Network::Hosts(hosts) => hosts,
    };
    let mut edits = Vec::new();
    if let Some(index) = hosts.deny.iter().position(|denied| denied.value.denies(to)) {
        let denied = hosts.deny.remove(index);
        edits.push(Edit {
            key: "sandbox.network.deny".to_owned(),
            value: list(&hosts.deny),
            at: denied.at,
            opens: format!("what is allowed of {}", meant(&denied.value, "every port")),
        });
    } else if let Some(index) = hosts.ask.iter().position(|asked| asked.value.asks(to)) {
        let asked = hosts.ask.remove(index);
        let (opens, at) = (meant(&asked.value, "ports 80 and 443"), asked.at.clone());
        let opens = format!("connections to {opens} need no yes");
        let (key, value) = ("sandbox.network.ask".to_owned(), list(&hosts.ask));
        edits.push(Edit { key, value, at: at.clone(), opens: opens.clone() });
        edits.push(Edit { key: allow.to_owned(), value: list(&plain(hosts)), at, opens });
    } else {
        let host = pattern(to)?;
        let opens = format!("every command can connect to {}", meant(&host, "ports 80 and 443"));
        hosts.allow.push(Ruled::new(host, At::flag("a proposal")));
        let value = list(&plain(hosts));
        edits.push(Edit { key: allow.to_owned(), value, at, opens });
    }
    policy.network.value = Network::Hosts(hosts.clone());
    Some(edits)
}

/// Returns the narrowest rule for a destination, if there can be one.
fn pattern(to: &Destination) -> Option<HostPattern> {
    let name = match &to.host {
        Host::Name(name) => NamePattern::Exact(name.clone()),
        Host::Address(address) => NamePattern::Address(*address),
    };
    let port = Some(to.port).filter(|port| !is_web(*port));
    HostPattern::parse(&HostPattern { name, port }.to_string()).ok()
}

/// Returns what is allowed without a question: what is asked about stands in the
/// other list.
fn plain(hosts: &Hosts) -> Vec<Ruled<HostPattern>> {
    let asked = |host: &&Ruled<HostPattern>| hosts.ask.iter().any(|ask| ask.value == host.value);
    hosts.allow.iter().filter(|host| !asked(host)).cloned().collect()
}

/// Returns what a rule is for, in words.
fn meant(host: &HostPattern, silent: &str) -> String {
    let ports = host.port.map_or_else(|| silent.to_owned(), |port| format!("port {port}"));
    let names = match &host.name {
        NamePattern::Below(name) => format!("every name below {name}"),
        NamePattern::Range { .. } => format!("every address in {}", host.name),
        NamePattern::Exact(_) | NamePattern::Address(_) => host.name.to_string(),
    };
    format!("{ports} of {names}")
}

/// Writes a list as YAML.
fn list(hosts: &[Ruled<HostPattern>]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let quoted = |host: &Ruled<HostPattern>| {
        let text = host.value.to_string();
        // A word alone may be one of YAML's own.
        match text.chars().all(plain) && text.contains('.') {
            true => text,
            false => format!("\"{text}\""),
        }
    };
    format!("[{}]", hosts.iter().map(quoted).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Overrides, load};

    /// Keys and values, as `--set` takes them.
    type Set<'a> = &'a [(&'a str, &'a str)];

    fn policy(text: &str, overrides: &Overrides) -> Policy {
        let loaded = load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), overrides);
        loaded.policy.unwrap_or_else(|| panic!("{text}: {:?}", loaded.problems))
    }

    #[test]
    fn proposals_open_what_is_asked_for_when_they_are_set() {
        let allow = "sandbox.network.allow";
        let deny = "sandbox.network.deny";
        let ask = "sandbox.network.ask";
        let cases: &[(&str, &str, Option<Set<'_>>)] = &[
            ("true", "a.test:22", Some(&[])),
            ("[a.test]", "a.test:80", Some(&[])),
            ("false", "a.test", Some(&[("sandbox.network", "[a.test]")])),
            ("[a.test]", "b.test:22", Some(&[("sandbox.network", "[a.test, \"b.test:22\"]")])),
            ("{ allow: [a.test] }", "b", Some(&[("sandbox.network", "[a.test, \"b\"]")])),
            (
                "{ allow: ['*.a.test'], ask: [c.test], presets: [go] }",
                "[fd00::5]:8080",
                Some(&[(allow, "[\"*.a.test\", \"[fd00::5]:8080\"]")]),
            ),
            (
                "{ allow: ['*.a.test'], deny: [x.a.test, y.test] }",
                "x.a.test:80",
                Some(&[(deny, "[y.test]")]),
            ),
            ("{ deny: ['*.a.test'] }", "x.a.test", Some(&[(deny, "[]"), (allow, "[x.a.test]")])),
            (
                "{ allow: [a.test], ask: ['*.a.test', b.test] }",
                "x.a.test",
                Some(&[(ask, "[b.test]"), (allow, "[a.test, \"*.a.test\"]")]),
            ),
            ("false", "169.254.169.254", Some(&[("sandbox.network", "[169.254.169.254]")])),
            ("false", "0.0.0.0", None),
            ("false", "224.0.0.1", None),
        ];
        let presets = PresetHosts::new();
        for (network, to, want) in cases {
            let text = format!("sandbox: {{ network: {network} }}\n");
            let before = policy(&text, &Overrides::default());
            let to = Destination::parse(to).unwrap();
            let edits = change_for_connect(&before, &presets, &to);
            let edits = edits.map(|edits| {
                edits.into_iter().map(|edit| (edit.key, edit.value)).collect::<Vec<_>>()
            });
            let shown: Option<Vec<(&str, &str)>> =
                edits.as_ref().map(|all| all.iter().map(|(k, v)| (&**k, &**v)).collect());
            assert_eq!(shown.as_deref(), *want, "{network} {to}");
            let Some(set) = edits else { continue };
            let after = policy(&text, &Overrides { set, ..Overrides::default() });
            let judgement = judge_connect(&after.network.value, &presets, &after.consent, &to);
            let allowed = matches!(judgement.verdict, ConnectVerdict::Allow(_));
            assert!(allowed, "{network} {to}: {judgement:?}");
        }
    }

    #[test]
    fn what_nobody_is_asked_about_is_proposed_without_a_question() {
        let text = "sandbox:\n  network: { ask: [a.test] }\napproval: { mode: strict }\n";
        let policy = policy(text, &Overrides::default());
        let to = Destination::parse("a.test").unwrap();
        let edits = change_for_connect(&policy, &PresetHosts::new(), &to).unwrap();
        let shown: Vec<_> = edits.iter().map(|e| (&*e.key, &*e.value, e.at.to_string())).collect();
        let at = || "zonekeep.yaml:2".to_owned();
        let want =
            [("sandbox.network.ask", "[]", at()), ("sandbox.network.allow", "[a.test]", at())];
        assert_eq!(shown, want);
        assert_eq!(edits[1].opens, "connections to ports 80 and 443 of a.test need no yes");
    }
}
