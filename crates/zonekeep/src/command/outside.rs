//! What the gates of a session share: presets that were looked up, secrets, the
//! authority that vouches inside, and how much has passed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use zonekeep_confine::plan::{Entry, Gateway, Listen, Network as Planned, Route};
use zonekeep_confine::tree::Launcher;
use zonekeep_network::presets::{self, Found, Machine};
use zonekeep_network::{Account, Authority, Layout, Secret};
use zonekeep_policy::hosts::HostPattern;
use zonekeep_policy::policy::{Network, Policy};
use zonekeep_policy::secret as rules;
use zonekeep_policy::{At, Ruled};

use super::asking;
use super::exit::Reach;
use crate::explain::run::HostLine;
use crate::sandbox::Sandbox;
use crate::session::{Backing, Shared};

/// Where the certificates are inside that commands trust.
const AUTHORITIES: &str = "/etc/zonekeep/authorities.pem";

/// Variables by which programs are told which certificates to trust.
const TRUST: &[&str] = &[
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "npm_config_cafile",
];

/// Where systems keep the certificates that they trust, in one file.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What the gates of a session share.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    pub(crate) account: Arc<Account>,
    authority: OnceLock<Option<Arc<Authority>>>,
    found: OnceLock<Found>,
    /// By name; what cannot be used is why not.
    secrets: OnceLock<BTreeMap<String, Result<Secret, String>>>,
}

impl Shared {
    /// Returns what the presets of the project stand for; looks it up once.
    pub(crate) fn presets(&self) -> &Found {
        self.outside.found.get_or_init(|| {
            let names = preset_names(&self.policy);
            if names.is_empty() {
                return Found::default();
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let launcher = self.confine.launcher.clone();
            let mut machine = machine(&self.policy, self.state.as_ref(), self.written(), launcher);
            for name in &self.confine.withheld {
                machine.env.remove(name);
            }
            presets::find(&names, &machine)
        })
    }

    /// Returns the host directories in which an agent may have written.
    fn written(&self) -> Vec<PathBuf> {
        let zones = self.backings.iter().filter_map(|(_, backing)| match backing {
            Backing::Host(ground) => Some(ground.real.clone()),
            Backing::Memory(_) => None,
        });
        let places = self.confine.places.iter().map(|place| place.host.clone());
        zones.chain(places).collect()
    }

    fn secrets(&self) -> &BTreeMap<String, Result<Secret, String>> {
        self.outside.secrets.get_or_init(|| {
            let all = self.policy.secrets.iter();
            all.map(|(name, rule)| (name.clone(), secret(name, &rule.value))).collect()
        })
    }

    fn authority(&self) -> Option<&Arc<Authority>> {
        let made = self.outside.authority.get_or_init(|| Authority::new().ok().map(Arc::new));
        made.as_ref()
    }
}

/// Has nobody look into this process, which leaves no copy of itself either.
#[cfg(target_os = "linux")]
fn hide() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Systems that have no word for that keep processes of one user apart themselves.
#[cfg(not(target_os = "linux"))]
fn hide() {}

/// Reads a secret; fails with why it cannot be used.
fn secret(name: &str, rule: &rules::Secret) -> Result<Secret, String> {
    let unset = |_| format!("the secret {name}: the variable {} is not set", rule.env);
    let value = std::env::var(&rule.env).map_err(unset)?;
    hide();
    Secret::new(name, value, rule.hosts.clone(), &rule.header).map_err(|error| error.to_string())
}

/// Returns why secrets of a project cannot be used here.
pub(crate) fn unusable_secrets(policy: &Policy) -> Vec<(At, String)> {
    let all = policy.secrets.iter();
    all.filter_map(|(name, rule)| Some((rule.at.clone(), secret(name, &rule.value).err()?)))
        .collect()
}

/// Returns which secrets of a project are too short to be kept out of answers.
pub(crate) fn short_secrets(policy: &Policy) -> Vec<(At, String)> {
    let all = policy.secrets.iter();
    let is_short = |name: &str, rule| secret(name, rule).is_ok_and(|secret| secret.is_short());
    all.filter(|(name, rule)| is_short(name, &rule.value))
        .map(|(name, rule)| (rule.at.clone(), short(name)))
        .collect()
}

fn short(name: &str) -> String {
    format!(
        "the secret {name}: the value has fewer than 8 bytes, so answers that repeat it are not \
         changed, and commands can read it there"
    )
}

/// Returns the machine as presets see it.
pub(crate) fn machine(
    policy: &Policy,
    state: Option<&crate::state::StateDir>,
    mut written: Vec<PathBuf>,
    launcher: Option<Launcher>,
) -> Machine {
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    // Where the home directory is the project, its zones are what agents write.
    if !home.starts_with(&policy.project) {
        written.push(policy.project.clone());
    }
    let runner = asking::runner(launcher, written.clone());
    let cache = state.and_then(|state| state.make("presets").ok());
    let mut machine = Machine { runner, ..Machine::of_process(home, cache, written) };
    // Nothing of a secret can get into an address that is set inside.
    for secret in policy.secrets.values() {
        machine.env.remove(&secret.value.env);
    }
    machine
}

/// Returns the presets that a project names, in its network and in its rules.
pub(crate) fn preset_names(policy: &Policy) -> BTreeSet<String> {
    let grants = policy.shell.rules.iter().map(|rule| &rule.grants);
    let networks = std::iter::once(&policy.network.value).chain(grants);
    networks.flat_map(names_of).collect()
}

fn names_of(network: &Network) -> Vec<String> {
    match network {
        Network::Hosts(hosts) => hosts.presets.iter().map(|name| name.value.clone()).collect(),
        Network::Off | Network::On => Vec::new(),
    }
}

/// What a command's network is made of.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) reach: Reach,
    pub(super) layout: Layout,
    pub(super) secrets: Vec<Secret>,
    pub(super) authority: Option<Arc<Authority>>,
    found: Found,
    /// What could not be found or used.
    pub(super) notes: Vec<String>,
    /// Host directories in which an agent may have written.
    written: Vec<PathBuf>,
}

impl Sandbox {
    /// Returns the way out for commands whose network is a list of hosts; `None`
    /// where nothing is on it, or it is no list. `with_secrets` is whether they may use
    /// the worker's.
    pub(super) fn way(&self, network: &Network, with_secrets: bool) -> Option<Way> {
        let Network::Hosts(hosts) = network else { return None };
        let names = names_of(network);
        let found = match names.is_empty() {
            true => Found::default(),
            false => {
                let all = self.shared().presets().presets.iter();
                let wanted = all.filter(|(name, _)| names.contains(name));
                Found { presets: wanted.map(|(k, v)| (k.clone(), v.clone())).collect() }
            }
        };
        let presets = found.hosts();
        if hosts.allow.is_empty() && presets.values().all(Vec::is_empty) {
            return None;
        }
        let held = self.grant().secrets();
        let (mut secrets, mut notes) = (Vec::new(), found.warnings());
        if with_secrets && !held.is_empty() {
            let all = self.shared().secrets().iter();
            for (_, secret) in all.filter(|(name, _)| held.contains_key(*name)) {
                match secret {
                    Ok(secret) => {
                        notes.extend(secret.is_short().then(|| short(secret.name())));
                        secrets.push(secret.clone());
                    }
                    Err(why) => notes.push(why.clone()),
                }
            }
        }
        let authority = match secrets.is_empty() {
            true => None,
            false => self.shared().authority().cloned(),
        };
        let layout = Layout::of(network, &presets);
        let consent = self.grant().consent().clone();
        let at = self.grant().network().at.clone();
        let reach = Reach { network: network.clone(), at, presets, consent };
        let mut written = self.shared().written();
        written.push(self.shared().policy.project.clone());
        Some(Way { reach, layout, secrets, authority, found, notes, written })
    }
}

impl Way {
    /// Returns the hosts that can be reached, and where each comes from.
    pub(super) fn hosts(&self) -> Vec<HostLine> {
        let Network::Hosts(listed) = &self.reach.network else { return Vec::new() };
        let mut lines: Vec<HostLine> = listed
            .allow
            .iter()
            .map(|host| HostLine { host: host.value.to_string(), from: host.at.to_string() })
            .collect();
        for host in lines.iter_mut().filter(|line| is_among(&listed.ask, &line.host)) {
            host.from.push_str(", after a question");
        }
        lines.extend(found_lines(&self.found));
        lines.extend(listed.deny.iter().map(|host| HostLine {
            host: host.value.to_string(),
            from: format!("{}, never", host.at),
        }));
        lines
    }

    /// Returns the network of a plan: with an own one, what is listened on there.
    pub(super) fn planned(&self, own: bool) -> Planned {
        if !own {
            // The port is known once it is listened on.
            return Planned::Gate(Gateway { proxy: Some(0), ..Gateway::default() });
        }
        let sockets = self.layout.sockets.iter().map(|(at, udp)| Listen { at: *at, udp: *udp });
        let routes =
            self.layout.routes.iter().map(|(base, bits)| Route { base: *base, bits: *bits });
        Planned::Gate(Gateway { sockets: sockets.collect(), routes: routes.collect(), proxy: None })
    }

    /// Adds what commands need to find the way: variables, and files where they
    /// have a tree of their own. What the project sets itself stays.
    pub(super) fn equip(
        &self,
        own: bool,
        home: Option<&Path>,
        env: &mut BTreeMap<OsString, OsString>,
        is_set: impl Fn(&str) -> bool,
    ) -> Vec<Entry> {
        let mut set = |name: &str, value: String| {
            if !is_set(name) {
                env.insert(name.into(), value.into());
            }
        };
        for (name, value) in self.found.env() {
            set(&name, value);
        }
        let mut entries = Vec::new();
        if let Some(home) = home {
            let files = self.found.files().into_iter();
            entries
                .extend(files.map(|(path, content)| Entry::File { at: home.join(path), content }));
        }
        if !own {
            return entries;
        }
        let proxy = format!("127.0.0.1:{}", self.layout.proxy);
        for (name, value) in zonekeep_network::environment(&proxy) {
            set(name, value);
        }
        for secret in &self.secrets {
            env.insert(secret.name().into(), secret.placeholder().into());
        }
        if let Some(authority) = &self.authority {
            let content =
                format!("{}\n{}", bundle(&self.written).unwrap_or_default(), authority.pem());
            entries.push(Entry::File { at: AUTHORITIES.into(), content });
            for name in TRUST {
                env.insert(name.into(), AUTHORITIES.into());
            }
        }
        entries
    }
}

fn is_among(hosts: &[Ruled<HostPattern>], name: &str) -> bool {
    hosts.iter().any(|host| host.value.to_string() == name)
}

/// Returns the hosts of presets, and where each was found.
pub(crate) fn found_lines(found: &Found) -> Vec<HostLine> {
    let all = found.presets.iter().flat_map(|(preset, found)| {
        found.hosts.iter().map(move |host| HostLine {
            host: host.pattern.to_string(),
            from: format!("preset {preset}: {}", host.from),
        })
    });
    all.collect()
}

/// The most bytes of certificates that are read.
const MAX_BUNDLE: u64 = 4 * 1024 * 1024;

/// Returns the certificates that the user's programs trust, without anything else
/// that stands in the file. What agents can write is not asked: a link there could
/// lead to any file of the user's.
fn bundle(written: &[PathBuf]) -> Option<String> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let usual = BUNDLES.iter().map(PathBuf::from);
    named.into_iter().chain(usual).find_map(|path| {
        let real = path.canonicalize().ok()?;
        let theirs = |at: &Path| written.iter().any(|dir| at.starts_with(dir));
        if theirs(&path) || theirs(&real) || !real.is_file() {
            return None;
        }
        let mut text = String::new();
        let file = std::fs::File::open(&real).ok().filter(is_regular)?;
        file.take(MAX_BUNDLE).read_to_string(&mut text).ok()?;
        Some(certificates(&text)).filter(|found| !found.is_empty())
    })
}

fn is_regular(file: &std::fs::File) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file())
}

/// Returns the certificates in a text.
fn certificates(text: &str) -> String {
    let mut found = String::new();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        inside |= line == "-----BEGIN CERTIFICATE-----";
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"+/= -".contains(&b);
        if inside && line.bytes().all(plain) {
            found.push_str(line);
            found.push('\n');
        }
        inside &= line != "-----END CERTIFICATE-----";
    }
    found
}

#[cfg(test)]
mod tests {
    use super::certificates;

    #[test]
    fn nothing_but_certificates_is_taken_over() {
        let one = "-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n";
        let text = format!(
            "# a root\n{one}root:x:0:0\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n{one}"
        );
        assert_eq!(certificates(&text), format!("{one}{one}"));
        assert_eq!(certificates("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"), "");
        assert_eq!(certificates("secret"), "");
    }
}
