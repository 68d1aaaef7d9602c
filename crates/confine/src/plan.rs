//! All that a backend must do for a sandbox and for a command in it, as plain
//! data: what prints as an explanation is what is carried out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use zonekeep_policy::limit::Limits;
use zonekeep_policy::planted::CommandGuards;

/// A way to confine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Namespaces of our own making, with Landlock and seccomp.
    Namespaces,
    /// Namespaces made by the system's `bwrap`, with Landlock and seccomp.
    Bubblewrap,
    /// Landlock and seccomp alone, on host paths.
    Landlock,
    /// The sandbox of macOS.
    Seatbelt,
    /// Nothing but limits and an end to every process.
    None,
}

impl Backend {
    /// All of them, the strongest first.
    pub const ALL: [Backend; 5] = [
        Backend::Namespaces,
        Backend::Bubblewrap,
        Backend::Landlock,
        Backend::Seatbelt,
        Backend::None,
    ];

    /// Returns the name used in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Backend::Namespaces => "namespaces",
            Backend::Bubblewrap => "bubblewrap",
            Backend::Landlock => "landlock",
            Backend::Seatbelt => "seatbelt",
            Backend::None => "none",
        }
    }

    /// Returns the backend of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.as_str() == name)
    }

    /// Returns whether commands see the tree of the plan; otherwise they see
    /// host paths.
    pub fn has_own_tree(self) -> bool {
        matches!(self, Backend::Namespaces | Backend::Bubblewrap)
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether something can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reading and running only.
    Ro,
    /// Writing too.
    Rw,
}

/// Why a host path is in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A directory that the user granted.
    Zone,
    /// Part of the system that programs need to run.
    System,
    /// A toolchain that `PATH` leads to.
    Tool,
    /// A cache of the sandbox's own that outlives it.
    Cache,
}

/// The identity of an open directory, to notice that a path leads elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The number on it.
    pub inode: u64,
}

/// A host path placed in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// The host path.
    #[serde(with = "text")]
    pub host: PathBuf,
    /// Where it is in the tree.
    #[serde(with = "text")]
    pub at: PathBuf,
    /// Whether it can be written.
    pub access: Access,
    /// Why it is there.
    pub role: Role,
    /// What must be at the host path, where that was looked at before.
    pub identity: Option<Identity>,
}

impl From<Bind> for Entry {
    fn from(bind: Bind) -> Self {
        Entry::Bind(bind)
    }
}

/// One thing in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    /// A host path. A missing one that is not a zone is left out.
    Bind(Bind),
    /// A symbolic link.
    Link {
        /// Where.
        #[serde(with = "text")]
        at: PathBuf,
        /// Its text.
        #[serde(with = "text")]
        to: PathBuf,
    },
    /// A directory of its own, in memory and writable, gone with the sandbox.
    Private {
        /// Where.
        #[serde(with = "text")]
        at: PathBuf,
    },
    /// A small read-only file with this content.
    File {
        /// Where.
        #[serde(with = "text")]
        at: PathBuf,
        /// What it says.
        content: String,
    },
}

impl Entry {
    /// Returns where it is in the tree.
    pub fn at(&self) -> &Path {
        match self {
            Entry::Bind(bind) => &bind.at,
            Entry::Link { at, .. } | Entry::Private { at } | Entry::File { at, .. } => at,
        }
    }
}

/// What commands can reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing but a loopback of their own.
    #[default]
    Off,
    /// What the host can reach.
    Host,
    /// What the caller lets through, which answers whoever connects.
    Gate(Gateway),
}

impl Network {
    /// Returns whether commands are kept from the host's own network.
    pub fn is_apart(&self) -> bool {
        *self != Network::Host
    }

    /// Returns the way out that the caller answers at, where there is one.
    pub fn gateway(&self) -> Option<&Gateway> {
        match self {
            Network::Gate(gateway) => Some(gateway),
            Network::Off | Network::Host => None,
        }
    }

    /// Returns whether names are looked up as the host does it, as far as they
    /// can be.
    pub(crate) fn has_names_of_host(&self) -> bool {
        match self {
            Network::Off => false,
            Network::Host => true,
            Network::Gate(gateway) => gateway.proxy.is_some(),
        }
    }
}

/// The one way out of a sandbox, as the caller answers it.
///
/// A sandbox with a network of its own has `routes` and `sockets`, which are
/// handed to the caller. Elsewhere there is nothing of these, and `proxy` is
/// where the caller listens by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gateway {
    /// Sockets inside, in the order in which they are handed out.
    pub sockets: Vec<Listen>,
    /// Addresses that lead to these sockets; all others lead nowhere.
    pub routes: Vec<Route>,
    /// A port of the host's loopback, for a sandbox without a network of its own.
    pub proxy: Option<u16>,
}

/// A socket inside that the caller answers at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    /// Its address.
    pub at: SocketAddr,
    /// Whether it is for UDP; else it is for TCP, and listens.
    pub udp: bool,
}

/// Addresses that are the sandbox's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The first of them.
    pub base: IpAddr,
    /// How many bits they have in common.
    pub bits: u8,
}

impl Route {
    /// Returns whether an address is one of these.
    pub fn has(&self, address: IpAddr) -> bool {
        let top = |bits: u128, width: u32| bits.checked_shr(width.saturating_sub(self.bits.into()));
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                top(base.to_bits().into(), 32) == top(address.to_bits().into(), 32)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                top(base.to_bits(), 128) == top(address.to_bits(), 128)
            }
            _ => false,
        }
    }
}

/// Files inside writable zones that must not come into being or change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watch {
    /// The guarded files.
    pub guards: CommandGuards,
    /// Patterns of files that a backend without a keeper refuses to change by name.
    pub patterns: Vec<String>,
    /// The state directory's quarantine, where what is caught goes.
    #[serde(with = "text")]
    pub quarantine: PathBuf,
    /// The user's home directory, which configurations call `~`; empty where that is
    /// not known.
    #[serde(with = "text")]
    pub home: PathBuf,
    /// The program git, which reads objects of repositories; empty where there is none.
    #[serde(with = "text")]
    pub git: PathBuf,
    /// Whether git may rewrite configuration that exists, as far as it stays
    /// harmless; otherwise it is read-only.
    pub git_may_configure: bool,
}

/// What holds inside zones besides being read-only or writable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ZoneRules {
    /// Patterns of files that stay writable although they have other names outside the
    /// writable zones (hard links), as `zonekeep_policy::guard` matches them.
    pub allow_hard_links: Vec<String>,
    /// Places of writable zones in which no name can be removed, replaced or moved away.
    #[serde(with = "paths")]
    pub keep_names: Vec<PathBuf>,
    /// Places in zones that commands cannot look into: credentials.
    #[serde(with = "paths")]
    pub hidden: Vec<PathBuf>,
}

/// What a sandbox is made of: everything that holds for all its commands.
///
/// `/proc`, `/dev`, `/tmp`, `/run`, `/dev/shm` and the home directory are always
/// private and not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How it is confined.
    pub backend: Backend,
    /// What is in the tree, in the order in which it is placed.
    pub entries: Vec<Entry>,
    /// The home directory, in the tree; private unless a zone lies there.
    #[serde(with = "text")]
    pub home: PathBuf,
    /// What commands can reach.
    pub network: Network,
    /// How much commands may use.
    pub limits: Limits,
    /// Guarded files, where zones can be written.
    pub watch: Option<Watch>,
    /// What holds inside zones besides their access.
    pub rules: ZoneRules,
    /// Whether the self-probe runs before every command.
    pub prove: bool,
    /// Which system calls commands can make.
    #[serde(default)]
    pub calls: Calls,
    /// How many pairs of sockets the caller gets that connect to servers inside, by IPv4 and
    /// by IPv6. Where the kernel has no IPv6, both are for IPv4.
    #[serde(default)]
    pub dialers: u16,
}

/// Which system calls commands can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calls {
    /// Those that programs need.
    #[default]
    Usual,
    /// Those that debuggers and profilers need too, for processes of the sandbox.
    Debug,
}

impl Plan {
    /// Returns the host paths in the tree.
    pub fn binds(&self) -> impl Iterator<Item = &Bind> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Bind(bind) => Some(bind),
            _ => None,
        })
    }

    /// Returns the zones.
    pub fn zones(&self) -> impl Iterator<Item = &Bind> {
        self.binds().filter(|bind| bind.role == Role::Zone)
    }
}

/// A command to start in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The program and its arguments. A name without a slash is looked for in
    /// the `PATH` of `env`, inside the sandbox.
    #[serde(with = "texts")]
    pub argv: Vec<OsString>,
    /// The whole environment.
    #[serde(with = "text_map")]
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory, in the tree.
    #[serde(with = "text")]
    pub cwd: PathBuf,
    /// How much this command may use: never more than the sandbox.
    pub limits: Limits,
    /// Which of standard input, output and error are a terminal of its own.
    pub terminal: [bool; 3],
}

/// Bytes as text: escaped where they are not UTF-8.
pub(crate) mod text {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};
    use zonekeep_policy::path::{escape, unescape};

    pub(super) fn write(value: &OsStr) -> String {
        escape(value.as_bytes())
    }

    pub(super) fn read(text: &str) -> OsString {
        OsString::from_vec(unescape(text).into_owned())
    }

    pub(crate) fn serialize<S: Serializer, T: AsRef<OsStr>>(
        value: &T,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        s.serialize_str(&write(value.as_ref()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<PathBuf, D::Error> {
        Ok(PathBuf::from(read(&String::deserialize(d)?)))
    }
}

/// Lists of bytes as text.
mod texts {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(values: &[OsString], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(values.iter().map(|value| super::text::write(value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<OsString>, D::Error> {
        let texts = Vec::<String>::deserialize(d)?;
        Ok(texts.iter().map(|text| super::text::read(text)).collect())
    }
}

/// Lists of paths as text.
mod paths {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(values: &[PathBuf], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(values.iter().map(|value| super::text::write(value.as_os_str())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(d)?;
        Ok(texts.iter().map(|text| PathBuf::from(super::text::read(text))).collect())
    }
}

/// Maps of bytes as text.
pub(crate) mod text_map {
    use std::collections::BTreeMap;
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::text::{read, write};

    pub(crate) fn serialize<S: Serializer>(
        values: &BTreeMap<OsString, OsString>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        s.collect_map(values.iter().map(|(key, value)| (write(key), write(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<BTreeMap<OsString, OsString>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(d)?;
        Ok(texts.iter().map(|(key, value)| (read(key), read(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_has_what_shares_its_bits() {
        let cases = [
            ("198.18.0.0", 15, "198.19.255.255", true),
            ("198.18.0.0", 15, "198.20.0.0", false),
            ("192.0.2.1", 32, "192.0.2.1", true),
            ("192.0.2.1", 32, "192.0.2.2", false),
            ("0.0.0.0", 0, "192.0.2.1", true),
            ("fd00::", 8, "fdff::1", true),
            ("fd00::", 8, "fe00::1", false),
            ("::", 0, "fe00::1", true),
            ("::", 0, "192.0.2.1", false),
        ];
        for (base, bits, address, has) in cases {
            let route = Route { base: base.parse().unwrap(), bits };
            assert_eq!(route.has(address.parse().unwrap()), has, "{base}/{bits} {address}");
        }
    }
}
