//! Why a connection would be allowed, asked about or refused.

use serde::Serialize;
use zonekeep_network::presets;
use zonekeep_policy::change::change_for_connect;
use zonekeep_policy::denial::shown;
use zonekeep_policy::hosts::{self, ConnectVerdict, Destination, Host, PresetHosts};
use zonekeep_policy::judge::Cause;
use zonekeep_policy::policy::Network;
use zonekeep_policy::{At, Denial};

use super::run::HostLine;
use super::{Explanation, by_organisation, proposed};
use crate::audit::RuleRecord;
use crate::command::allowed;
use crate::command::outside::{self, found_lines, machine, preset_names};
use crate::perform::rule_record;
use crate::project::Project;
use crate::sandbox::Sandbox;
use crate::state::StateDir;

/// What the presets of a project stand for on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PresetHostsFound {
    /// The hosts, and where each was found.
    pub hosts: Vec<HostLine>,
    /// What could not be found out, a sentence each.
    pub warnings: Vec<String>,
}

/// Looks up what the presets of a project stand for: asks the package managers
/// where they would go, and their indexes where downloads come from.
pub fn look_up_presets(project: &Project, state: &StateDir) -> PresetHostsFound {
    let names = preset_names(&project.policy);
    if names.is_empty() {
        return PresetHostsFound::default();
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let zones = project.policy.zones.iter().map(|zone| zone.path.value.clone());
    let machine = machine(&project.policy, Some(state), zones.collect(), None);
    let found = presets::find(&names, &machine);
    PresetHostsFound { hosts: found_lines(&found), warnings: found.warnings() }
}

/// Returns why secrets of a project cannot be used here, with where each is written.
pub fn unusable_secrets(project: &Project) -> Vec<(At, String)> {
    outside::unusable_secrets(&project.policy)
}

/// Returns which secrets of a project are too short to be kept out of answers, with
/// where each is written.
pub fn short_secrets(project: &Project) -> Vec<(At, String)> {
    outside::short_secrets(&project.policy)
}

/// Returns what a connection from inside is taken for: at the addresses of the
/// loopback, listed services of the machine are found.
fn as_meant(network: &Network, to: Destination) -> Destination {
    let local = Destination::new(Host::Name(hosts::LOCALHOST.to_owned()), to.port);
    match (&to.host, network) {
        (Host::Address(address), Network::Hosts(listed))
            if address.is_loopback()
                && listed.allow.iter().any(|host| host.value.allows(&local))
                && !listed.allow.iter().any(|host| host.value.allows(&to)) =>
        {
            local
        }
        _ => to,
    }
}

/// Explains a connection of a command to a host, written `HOST[:PORT]`; without a
/// port it is 443. Nothing is connected to.
pub fn explain_connect(sandbox: &Sandbox, given: &str) -> Explanation {
    let grant = sandbox.grant();
    let network = &grant.network().value;
    let presets = match network {
        Network::Hosts(listed) if !listed.presets.is_empty() => sandbox.shared().presets().hosts(),
        _ => PresetHosts::new(),
    };
    let blank = |path: String| Explanation {
        action: "connect".to_owned(),
        path,
        verdict: "deny".to_owned(),
        code: None,
        message: None,
        rule: RuleRecord { file: None, line: None, says: "the text is no host".into() },
        mount: None,
        change: None,
    };
    let to = match Destination::parse_written(given) {
        Ok(to) => as_meant(network, to),
        Err(fault) => {
            let allowed = allowed(network, &presets);
            let denial =
                Denial::HostRefused { host: given.to_owned(), allowed, reason: fault.to_string() };
            return Explanation {
                code: Some(denial.code().to_owned()),
                message: Some(denial.to_string()),
                ..blank(shown(given))
            };
        }
    };
    let mut judgement = hosts::judge_connect(network, &presets, grant.consent(), &to);
    if judgement.rule.cause == Cause::Network && judgement.rule.at == At::Default {
        judgement.rule.at = grant.network().at.clone();
    }
    let rule = rule_record(&judgement.rule).into_owned();
    let explained = Explanation { rule, ..blank(to.to_string()) };
    let policy = &sandbox.shared().policy;
    let change = || match change_for_connect(policy, &presets, &to) {
        Some(edits) => proposed(sandbox, edits),
        None => by_organisation(policy, |free| change_for_connect(free, &presets, &to).is_some()),
    };
    match judgement.verdict {
        ConnectVerdict::Allow(_) => Explanation { verdict: "allow".to_owned(), ..explained },
        ConnectVerdict::Ask(_) => {
            Explanation { verdict: "ask".to_owned(), change: change(), ..explained }
        }
        ConnectVerdict::Deny(denial) => Explanation {
            code: Some(denial.code().to_owned()),
            message: Some(denial.to_string()),
            change: change(),
            ..explained
        },
    }
}
