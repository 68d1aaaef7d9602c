mod guards;
mod network;
mod profile;
mod zones;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use zonekeep_policy::guard::{Guards, Reach};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::path::AgentPath;

use super::judge::{Form, allows, read};
use super::*;
use crate::plan::{Backend, Bind, Gateway, Role, ZoneRules};

fn plan(binds: &[(&str, Access, Role)]) -> Plan {
    let entry = |(host, access, role): &(&str, Access, Role)| bind(host.into(), *access, *role);
    let home = "/private/var/zonekeep/1/home";
    let mut entries: Vec<_> = binds.iter().map(entry).collect();
    entries.push(Entry::Private { at: home.into() });
    entries.push(Entry::Private { at: "/private/var/zonekeep/1/tmp".into() });
    Plan {
        backend: Backend::Seatbelt,
        entries,
        home: home.into(),
        network: Network::Off,
        limits: Limits::none(),
        watch: None,
        rules: ZoneRules::default(),
        prove: false,
        calls: Default::default(),
        dialers: 0,
    }
}

fn bind(host: PathBuf, access: Access, role: Role) -> Entry {
    Entry::Bind(Bind { at: host.clone(), host, access, role, identity: None })
}

fn watching(plan: Plan, patterns: &[&str]) -> Plan {
    let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Plan { watch: Some(Watch { patterns, ..Watch::default() }), ..plan }
}

fn zones() -> Plan {
    plan(&[
        ("/Users/me/in", Access::Ro, Role::Zone),
        ("/Users/me/out", Access::Rw, Role::Zone),
        ("/opt/tools", Access::Ro, Role::Tool),
    ])
}

/// Returns the parts whose comment has these words.
fn parts(profile: &Profile, words: &[&str]) -> String {
    let parts: Vec<&str> = profile
        .text
        .split("\n\n")
        .filter(|part| words.iter().any(|word| part.replace("\n; ", " ").contains(word)))
        .collect();
    parts.join("\n\n")
}
