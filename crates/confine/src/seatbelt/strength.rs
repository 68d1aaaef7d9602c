//! How far a profile holds what a plan promises, as data for documentation and
//! for reports.

use std::fmt;

/// How far something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Degree {
    /// The kernel refuses it.
    Held,
    /// The kernel refuses some of it.
    Partly,
    /// Nothing refuses it.
    NotHeld,
}

impl fmt::Display for Degree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Degree::Held => "held",
            Degree::Partly => "partly held",
            Degree::NotHeld => "not held",
        })
    }
}

/// One promise, and how far it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strength {
    /// The promise.
    pub what: &'static str,
    /// How far it holds.
    pub degree: Degree,
    /// Why so far and no further.
    pub why: &'static str,
}

/// Returns what the sandbox of macOS holds, and what it does not.
///
/// Read from the profile and from what others have measured; none of it has been
/// run on a Mac by this project.
pub fn strength() -> &'static [Strength] {
    &TABLE
}

const fn line(what: &'static str, degree: Degree, why: &'static str) -> Strength {
    Strength { what, degree, why }
}

const TABLE: [Strength; 19] = [
    line(
        "Files outside of the granted directories are not read",
        Degree::Held,
        "only granted paths and a list of system paths are allowed; a hard link that was there \
         before is read by its name inside",
    ),
    line(
        "Files outside of the granted directories are not written",
        Degree::Held,
        "only writable zones and private directories are allowed; hard links cannot be made, and \
         what is granted cannot be moved",
    ),
    line(
        "Files outside of the granted directories are not looked at",
        Degree::Partly,
        "directories above what is granted answer to their exact names, and the names in the root \
         directory can be listed",
    ),
    line(
        "Guarded files in writable zones do not come into being or change",
        Degree::Partly,
        "names are refused at any depth, in any case, before they exist; but a directory that was \
         filled in a private directory on the same volume can be moved into a zone whole, which \
         only a look afterwards finds, and HFS+ ignores characters that the rules do not",
    ),
    line(
        "Git may change its harmless settings",
        Degree::NotHeld,
        "rules cannot look into files: guarded configuration is read-only here",
    ),
    line(
        "Commands see the tree of the plan",
        Degree::NotHeld,
        "commands see host paths; names and places of the user's directories show in them",
    ),
    line(
        "/tmp and the home directory are private",
        Degree::Partly,
        "TMPDIR and HOME lead to private directories; a program that insists on /tmp is refused, \
         and the directories are on disk, not in memory",
    ),
    line(
        "With the network off, nothing is reached",
        Degree::Held,
        "no address, no socket of another program, no look-up of names",
    ),
    line(
        "With the network off, commands have a loopback of their own",
        Degree::NotHeld,
        "macOS has one loopback for all, with the host's services on it: no address can be used \
         at all, and programs have to talk over Unix sockets",
    ),
    line(
        "With a list of hosts, nothing else is reached",
        Degree::Held,
        "one port of the loopback can be reached, where every connection is judged; no look-up of \
         names, which the proxy does",
    ),
    line(
        "With a list of hosts, programs need not know about it",
        Degree::NotHeld,
        "only programs that use a proxy get anywhere; those that have the system check \
         certificates do not, as it fetches from where a certificate says",
    ),
    line(
        "With the network on, services of the host are not reached",
        Degree::NotHeld,
        "the host's loopback is part of the host's network; Unix sockets of others stay closed",
    ),
    line(
        "Other processes are not signalled, traced or asked about",
        Degree::Held,
        "signals and process information go to the same sandbox only; kern.proc is not readable",
    ),
    line(
        "Commands have processes of their own numbering",
        Degree::NotHeld,
        "there are no process namespaces: numbers of other processes can be guessed, and what \
         leaves its process group has to be found to be ended",
    ),
    line(
        "Shared memory and semaphores are private",
        Degree::Partly,
        "there are no IPC namespaces: named semaphores are shared with the host, shared memory \
         only under the names of Python and OpenMP; System V IPC is closed",
    ),
    line(
        "Nothing is started outside",
        Degree::Held,
        "LaunchServices, Apple Events, job creation and every service that is not listed are closed",
    ),
    line(
        "The keychain, the pasteboard and preferences of the user stay out",
        Degree::Held,
        "their services cannot be looked up; with the network on, certificates that the user \
         trusts are used",
    ),
    line(
        "No program gets another user's rights",
        Degree::Held,
        "set-user-id programs do not start in a sandbox, and the bits cannot be set",
    ),
    line(
        "Limits on memory, processes and disk hold for all processes together",
        Degree::NotHeld,
        "there are no control groups: limits are those of setrlimit, for one process or one user",
    ),
];
