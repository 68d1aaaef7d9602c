//! What an attack is, and the process that carries one out.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use zonekeep_confine::plan::Backend;

use crate::attacks;
use crate::scene::{Scene, Target};
use crate::sys;

/// All backends of this system that hold anything.
pub(crate) const EVERY: &[Backend] = &[Backend::Namespaces, Backend::Bubblewrap, Backend::Landlock];
/// Those that show commands a tree and processes of their own.
pub(crate) const OWN_TREE: &[Backend] = &[Backend::Namespaces, Backend::Bubblewrap];

/// One attempt to get out, and how to tell whether it did.
pub(crate) struct Attack {
    /// The group and the file it is in.
    pub(crate) name: &'static str,
    /// The heading in `docs/THREATS.md`.
    pub(crate) threat: &'static str,
    /// What it does, in a few words after "it ".
    pub(crate) what: &'static str,
    /// Prepares the host.
    pub(crate) setup: fn(&Scene),
    /// What it is started with: its standard input and error, where that is not nothing
    /// and a pipe.
    pub(crate) given: fn(&Scene) -> Given,
    /// Whether it is only claimed where the sandbox has a control group: with
    /// `ZONEKEEP_CGROUP=on`, and never on a machine whose groups are not for tests.
    pub(crate) needs_group: bool,
    /// The attack itself.
    pub(crate) attempt: fn(&Target) -> Outcome,
    /// Looks at the host afterwards. That the secret, the read-only zone and
    /// the other process are untouched is looked at after every attack.
    pub(crate) check: fn(&Scene) -> Result<(), String>,
    /// The backends that claim to hold it.
    pub(crate) held_by: &'static [Backend],
    /// Those of them that do not claim it for the superuser.
    pub(crate) not_for_root: &'static [Backend],
    /// What happens without a sandbox.
    pub(crate) control: Control,
}

impl Attack {
    /// An attack that every group starts from.
    pub(crate) const BASE: Attack = Attack {
        name: "",
        threat: "",
        what: "",
        setup: |_| {},
        given: |_| Given::default(),
        needs_group: false,
        attempt: |_| Outcome::Tried,
        check: |_| Ok(()),
        held_by: EVERY,
        not_for_root: &[],
        control: Control::Works,
    };

    /// Returns whether a backend claims to hold it, for root or an ordinary user.
    pub(crate) fn is_claimed_by(&self, backend: Backend, is_root: bool) -> bool {
        self.held_by.contains(&backend) && !(is_root && self.not_for_root.contains(&backend))
    }
}

/// Descriptors that the caller of an attack redirected.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Standard input.
    pub(crate) input: Option<OwnedFd>,
    /// Standard error.
    pub(crate) errors: Option<OwnedFd>,
}

impl Given {
    /// Redirects standard input.
    pub(crate) fn input(fd: impl Into<OwnedFd>) -> Given {
        Given { input: Some(fd.into()), errors: None }
    }

    /// Redirects standard error.
    pub(crate) fn errors(fd: impl Into<OwnedFd>) -> Given {
        Given { input: None, errors: Some(fd.into()) }
    }
}

/// What an attack does without a sandbox.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Control {
    /// It succeeds.
    Works,
    /// It succeeds as root with all capabilities, and is not tried otherwise.
    NeedsRoot(&'static str),
    /// It succeeds as root, and for users who may make user namespaces.
    Namespaces,
    /// It succeeds where the kernel or the machine has what it needs.
    Depends(&'static str),
    /// It is never run without a sandbox.
    None(&'static str),
    /// It is no attack but ordinary work, which has to go well everywhere.
    Ordinary,
}

/// What an attack found.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The sandbox held.
    Held(String),
    /// The attack got what it wanted.
    Broke(String),
    /// The attack did what it could; the look at the host decides.
    Tried,
    /// Ordinary work that needs a program which is not here.
    Missing(String),
}

impl Outcome {
    /// Broke if there is a result, whatever it is.
    pub(crate) fn of<T, E: fmt::Display>(what: &str, result: Result<T, E>) -> Outcome {
        match result {
            Ok(_) => Outcome::Broke(what.to_owned()),
            Err(error) => Outcome::Held(format!("{what}: {error}")),
        }
    }

    /// Broke if that is so.
    pub(crate) fn when(what: &str, so: bool) -> Outcome {
        if so { Outcome::Broke(what.to_owned()) } else { Outcome::Held(format!("not so: {what}")) }
    }

    /// Held only if the call was refused before the kernel looked at its
    /// arguments: any other error means that it was carried out.
    pub(crate) fn refused<T>(what: &str, result: io::Result<T>) -> Outcome {
        match result {
            Ok(_) => Outcome::Broke(format!("{what} works")),
            Err(error) if sys::is_refusal(&error) => Outcome::Held(format!("{what}: {error}")),
            Err(error) => Outcome::Broke(format!("{what} reaches the kernel: {error}")),
        }
    }

    /// Held if the ordinary thing works.
    pub(crate) fn ordinary<T, E: fmt::Display>(what: &str, result: Result<T, E>) -> Outcome {
        match result {
            Ok(_) => Outcome::Held(format!("{what} works")),
            Err(error) => Outcome::Broke(format!("{what} does not work: {error}")),
        }
    }

    /// Broke if one of them is; otherwise as the last.
    pub(crate) fn any(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
        let mut last = Outcome::Held("nothing to try".to_owned());
        for outcome in outcomes {
            last = outcome;
            if matches!(last, Outcome::Broke(_)) {
                break;
            }
        }
        last
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Held(why) => write!(f, "HELD {why}"),
            Outcome::Broke(what) => write!(f, "BROKE {what}"),
            Outcome::Tried => f.write_str("HELD as far as it goes; the host decides"),
            Outcome::Missing(what) => write!(f, "MISSING {what}"),
        }
    }
}

/// Carries out the attack of that name and prints what came of it.
pub(crate) fn main(name: &str, facts: &str) -> ExitCode {
    // A background process that touches the terminal must get an error or its
    // way, and not be stopped.
    sys::ignore(&[libc::SIGTTOU, libc::SIGTTIN, libc::SIGHUP, libc::SIGPIPE]);
    let attack = attacks::named(name).expect("an attack's name");
    let target: Target = serde_json::from_str(facts).expect("facts");
    let outcome = (attack.attempt)(&target);
    println!("{}", outcome.to_string().replace('\n', " "));
    ExitCode::from(u8::from(matches!(outcome, Outcome::Broke(_))))
}
