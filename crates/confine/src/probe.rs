//! Which backends this machine offers, and what it takes to have the others.

mod facts;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use zonekeep_policy::limit::Limits;

use self::facts::Facts;
use crate::backend::bubblewrap;
use crate::plan::{Access, Backend, Bind, Entry, Network, Plan, Role, ZoneRules};
use crate::report::Layers;
pub use crate::report::Offer;
use crate::sys;
use crate::tree::{Failed, Launcher, Tree};

impl Offer {
    fn available(backend: Backend, version: Option<String>) -> Self {
        Offer { backend, available: true, why: None, raise: None, version, layers: None }
    }

    fn missing(backend: Backend, why: impl Into<String>, raise: Option<&str>) -> Self {
        let (why, raise) = (Some(why.into()), raise.map(str::to_owned));
        Offer { backend, available: false, why, raise, version: None, layers: None }
    }
}

/// Returns what this machine offers, the strongest first.
pub fn all(launcher: &Launcher) -> Vec<Offer> {
    Backend::ALL.into_iter().map(|backend| probe(backend, launcher)).collect()
}

/// Returns whether a backend can be used here: a small sandbox of it is started.
pub fn probe(backend: Backend, launcher: &Launcher) -> Offer {
    match backend {
        Backend::Namespaces => match stands(smallest(backend), launcher) {
            Ok(layers) => {
                Offer { layers: Some(layers), ..Offer::available(backend, Facts::read().kernel) }
            }
            Err(failed) => explain(backend, &failed),
        },
        Backend::Bubblewrap => probe_bubblewrap(launcher),
        Backend::Landlock => probe_landlock(launcher),
        Backend::Seatbelt => Offer::missing(backend, "it is a part of macOS", None),
        Backend::None => Offer::available(backend, None),
    }
}

fn stands(plan: Plan, launcher: &Launcher) -> Result<Layers, Failed> {
    Tree::start(plan, launcher)?.layers().cloned()
}

/// Returns the smallest sandbox: the system, read-only, for a launcher that
/// needs libraries.
fn smallest(backend: Backend) -> Plan {
    let system = ["/usr", "/bin", "/lib", "/lib64", "/nix/store", "/gnu/store"].map(|path| {
        let path = Path::new(path);
        match std::fs::read_link(path) {
            Ok(to) => Entry::Link { at: path.into(), to },
            Err(_) => Entry::Bind(Bind {
                host: path.into(),
                at: path.into(),
                access: Access::Ro,
                role: Role::System,
                identity: None,
            }),
        }
    });
    Plan {
        backend,
        entries: system.into(),
        home: if backend.has_own_tree() { "/home/agent".into() } else { private_home() },
        network: Network::Off,
        limits: Limits::none(),
        watch: None,
        rules: ZoneRules::default(),
        prove: false,
        calls: Default::default(),
        dialers: 0,
    }
}

/// Returns a path for the home directory of a sandbox on host paths. Its launcher
/// makes the directory and removes it.
fn private_home() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("zonekeep-probe-{}-{number}", std::process::id()))
}

fn probe_bubblewrap(launcher: &Launcher) -> Offer {
    let backend = Backend::Bubblewrap;
    let bwrap = match bubblewrap::find() {
        Ok(bwrap) => bwrap,
        Err(error) => {
            let raise = (error.kind() == std::io::ErrorKind::NotFound)
                .then(|| Facts::read().install("bubblewrap"));
            return Offer::missing(backend, error.to_string(), raise.as_deref());
        }
    };
    match stands(smallest(backend), launcher) {
        Ok(layers) => {
            Offer { layers: Some(layers), ..Offer::available(backend, Some(bwrap.version)) }
        }
        Err(failed) => Offer { version: Some(bwrap.version), ..explain(backend, &failed) },
    }
}

fn probe_landlock(launcher: &Launcher) -> Offer {
    let offer = landlock(sys::landlock_version());
    if !offer.available {
        return offer;
    }
    // The system call filter is part of this backend, and can be missing alone.
    match stands(smallest(Backend::Landlock), launcher) {
        Ok(layers) => Offer { layers: Some(layers), ..offer },
        Err(failed) => Offer { version: offer.version, ..explain(Backend::Landlock, &failed) },
    }
}

/// Returns what a version of Landlock is good for.
fn landlock(version: u32) -> Offer {
    let backend = Backend::Landlock;
    if version == 0 {
        return Offer::missing(
            backend,
            "the kernel has no Landlock, or it is switched off",
            Some(
                "a kernel from 5.13 on with CONFIG_SECURITY_LANDLOCK, \
                 started with landlock in its lsm= list (lsm=landlock,…)",
            ),
        );
    }
    // Each version has what those before it have.
    let lacks = [
        (2, "moving files between directories is refused"),
        (3, "files outside can be cut short"),
        (4, "TCP connections are not stopped"),
        (5, "devices that are open can be controlled"),
        (6, "other processes can be signalled and abstract sockets reached"),
    ];
    let lacks: Vec<_> =
        lacks.iter().filter(|(since, _)| version < *since).map(|(_, lack)| *lack).collect();
    let why = match lacks.is_empty() {
        true => None,
        false => Some(format!("with version {version} {}", lacks.join("; "))),
    };
    Offer { why, ..Offer::available(backend, Some(version.to_string())) }
}

/// Says why a tree of a backend could not be made, and what would help.
pub fn explain(backend: Backend, failed: &Failed) -> Offer {
    let (step, errno) = match failed {
        Failed::Step { step, errno, why } => (format!("cannot {step}: {why}"), *errno),
        other => (other.to_string(), None),
    };
    let (why, raise) = Facts::read().explain(backend, &step, errno);
    Offer::missing(backend, why, raise.as_deref())
}

/// Returns an AppArmor profile that lets a program make user namespaces, to be
/// put in `/etc/apparmor.d/zonekeep`.
pub fn apparmor_profile(program: &Path) -> String {
    // The path is quoted, and in it what a pattern would mean is taken literally.
    let path = program.to_string_lossy();
    let mut quoted = String::new();
    for letter in path.chars() {
        if "\\\"*?[]{}^@".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    format!(
        "abi <abi/4.0>,\n\
         include <tunables/global>\n\
         \n\
         profile zonekeep \"{quoted}\" flags=(unconfined) {{\n  \
           userns,\n\
         \n  \
           include if exists <local/zonekeep>\n\
         }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_landlock_says_what_it_lacks() {
        let all: Vec<_> = [0, 1, 4, 6].map(landlock).into();
        let text = all.iter().map(|offer| {
            let why = offer.why.as_deref().unwrap_or("nothing");
            format!("{} {}: {why}", offer.available, offer.version.as_deref().unwrap_or("-"))
        });
        let text = text.collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @"
        false -: the kernel has no Landlock, or it is switched off
        true 1: with version 1 moving files between directories is refused; files outside can be cut short; TCP connections are not stopped; devices that are open can be controlled; other processes can be signalled and abstract sockets reached
        true 4: with version 4 devices that are open can be controlled; other processes can be signalled and abstract sockets reached
        true 6: nothing
        ");
    }

    #[test]
    fn a_profile_names_the_program_literally() {
        insta::assert_snapshot!(apparmor_profile(Path::new("/opt/a b{c}/zonekeep")), @r#"
        abi <abi/4.0>,
        include <tunables/global>

        profile zonekeep "/opt/a b\{c\}/zonekeep" flags=(unconfined) {
          userns,

          include if exists <local/zonekeep>
        }
        "#);
    }
}
