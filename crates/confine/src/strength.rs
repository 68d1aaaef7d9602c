//! What a backend really enforces, rule by rule.

use serde::Serialize;

use crate::plan::{Access, Backend, Calls, Network, Plan};
use crate::report::Layers;

/// How far a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// Not at all.
    Not,
    /// In part: a note says what not.
    Partly,
    /// By the kernel, without a known way round.
    Full,
}

impl Held {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Held::Not => "not",
            Held::Partly => "partly",
            Held::Full => "full",
        }
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rule that a sandbox enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// No file is read or written that no zone and no toolchain grants.
    FilesOutside,
    /// Zones of mode `ro` are not changed.
    ReadOnlyDirectories,
    /// Guarded files in writable zones are not planted or changed.
    GuardedFiles,
    /// Files with other names outside are not changed by their names in a zone.
    HardLinks,
    /// Files in zones whose `delete` is blocked are neither removed nor renamed.
    BlockedDeletion,
    /// No connection leaves the sandbox.
    NetworkOff,
    /// Connections reach only the listed hosts.
    NetworkList,
    /// Processes outside cannot be seen, read or changed.
    OtherProcesses,
    /// Processes outside cannot be signalled.
    Signals,
    /// Unix sockets outside cannot be reached.
    HostSockets,
    /// The caller's terminal cannot be typed into.
    Terminal,
    /// The caller's environment is not inherited.
    Environment,
    /// System calls that commands do not need are refused.
    KernelSurface,
    /// The limit on memory.
    MemoryLimit,
    /// The limit on processes.
    ProcessLimit,
    /// The limits on processor time and on elapsed time.
    TimeLimit,
    /// The limit on files in `/tmp` and in the private home.
    PrivateFilesLimit,
    /// No process outlives the sandbox.
    EverythingEnds,
}

impl Rule {
    /// Every rule, in the order of reports.
    pub const ALL: [Rule; 18] = [
        Rule::FilesOutside,
        Rule::ReadOnlyDirectories,
        Rule::GuardedFiles,
        Rule::HardLinks,
        Rule::BlockedDeletion,
        Rule::NetworkOff,
        Rule::NetworkList,
        Rule::OtherProcesses,
        Rule::Signals,
        Rule::HostSockets,
        Rule::Terminal,
        Rule::Environment,
        Rule::KernelSurface,
        Rule::MemoryLimit,
        Rule::ProcessLimit,
        Rule::TimeLimit,
        Rule::PrivateFilesLimit,
        Rule::EverythingEnds,
    ];

    /// Returns the name used in reports and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::FilesOutside => "files outside",
            Rule::ReadOnlyDirectories => "read-only directories",
            Rule::GuardedFiles => "guarded files",
            Rule::HardLinks => "hard links",
            Rule::BlockedDeletion => "blocked deletion",
            Rule::NetworkOff => "network off",
            Rule::NetworkList => "network list",
            Rule::OtherProcesses => "other processes",
            Rule::Signals => "signals",
            Rule::HostSockets => "host sockets",
            Rule::Terminal => "terminal",
            Rule::Environment => "environment",
            Rule::KernelSurface => "kernel surface",
            Rule::MemoryLimit => "memory limit",
            Rule::ProcessLimit => "process limit",
            Rule::TimeLimit => "time limit",
            Rule::PrivateFilesLimit => "limit of private files",
            Rule::EverythingEnds => "everything ends",
        }
    }

    /// Returns whether the rule is about the amount that a command uses and not
    /// about the things that it reaches. Limits are partly polled, on every
    /// backend.
    pub fn is_limit(self) -> bool {
        match self {
            Rule::MemoryLimit | Rule::ProcessLimit | Rule::TimeLimit | Rule::PrivateFilesLimit => {
                true
            }
            Rule::FilesOutside
            | Rule::ReadOnlyDirectories
            | Rule::GuardedFiles
            | Rule::HardLinks
            | Rule::BlockedDeletion
            | Rule::NetworkOff
            | Rule::NetworkList
            | Rule::OtherProcesses
            | Rule::Signals
            | Rule::HostSockets
            | Rule::Terminal
            | Rule::Environment
            | Rule::KernelSurface
            | Rule::EverythingEnds => false,
        }
    }

    /// Returns whether a sandbox that does not hold the rule fully is refused
    /// unless the user accepted it.
    pub fn is_essential(self) -> bool {
        matches!(self, Rule::FilesOutside | Rule::NetworkOff | Rule::NetworkList | Rule::Signals)
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How far one rule holds, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Strength {
    /// The rule.
    pub rule: Rule,
    /// How far it holds.
    pub held: Held,
    /// The layers that hold it, "nothing" where there is none.
    pub by: String,
    /// What is not held, or how it is.
    pub note: Option<String>,
}

/// Returns how far each rule holds that the plan has: rules that it does not
/// ask for, as an open network or a limit that is not set, are left out.
///
/// Without `layers` it is what the backend enforces where the kernel has all
/// that it uses; with them, what was found in a sandbox that stands.
pub fn strength(plan: &Plan, layers: Option<&Layers>) -> Vec<Strength> {
    let expected = expected(plan);
    let table = Table { plan, layers: layers.unwrap_or(&expected) };
    table.rows()
}

/// Returns what holds where the kernel has everything.
fn expected(plan: &Plan) -> Layers {
    let (own, some) = (plan.backend.has_own_tree(), plan.backend != Backend::None);
    Layers {
        landlock: if some { 6 } else { 0 },
        seccomp: some,
        processes: own,
        tree: own,
        network: own && plan.network.is_apart(),
        root_mapped_away: own,
        // Not every machine has one to give.
        group: false,
        unwatched: None,
    }
}

/// Returns the least that a sandbox of the plan has once it stands: the layers
/// without which its launcher fails.
fn guaranteed(plan: &Plan) -> Layers {
    let own = plan.backend.has_own_tree();
    let network = own && plan.network.is_apart();
    let seccomp = plan.backend != Backend::None;
    Layers { tree: own, processes: own, network, seccomp, ..Layers::default() }
}

/// Returns the essential rules of the plan that a sandbox with these layers does
/// not hold fully; without `layers`, those that one may not hold although it
/// stands.
pub fn lost(plan: &Plan, layers: Option<&Layers>) -> Vec<Strength> {
    let least = guaranteed(plan);
    let mut rows = strength(plan, Some(layers.unwrap_or(&least)));
    rows.retain(|row| row.rule.is_essential() && row.held != Held::Full);
    rows
}

/// Returns how this machine or the project can be made to enforce a rule fully; `None` where
/// it does.
pub fn remedy(backend: Backend, row: &Strength) -> Option<&'static str> {
    if row.held == Held::Full {
        return None;
    }
    Some(match (backend, row.rule) {
        (Backend::Namespaces | Backend::Bubblewrap, Rule::KernelSurface) => "run without --debug",
        (Backend::None, _) => {
            "choose another backend: `zonekeep doctor` lists those of this machine"
        }
        (Backend::Seatbelt, _) => "there is none on macOS: run it in a Linux virtual machine",
        (_, Rule::MemoryLimit) => {
            "start zonekeep in a control group that is delegated to you, as systemd does with \
             Delegate=yes"
        }
        (Backend::Landlock, _) => {
            "make the namespaces or the bubblewrap backend available: `zonekeep doctor` says how"
        }
        (Backend::Namespaces, Rule::GuardedFiles) => "sysctl fs.inotify.max_user_watches=524288",
        (_, Rule::HostSockets) => {
            // KERNEL(6.12): Landlock 6.
            "use Linux 6.12 or later, or list the hosts in sandbox.network instead of `true`"
        }
        (Backend::Namespaces | Backend::Bubblewrap, _) => {
            "`zonekeep doctor` shows which layers this machine lacks"
        }
    })
}

struct Table<'p> {
    plan: &'p Plan,
    layers: &'p Layers,
}

fn row(rule: Rule, held: Held, by: &str, note: Option<&str>) -> Strength {
    Strength { rule, held, by: by.to_owned(), note: note.map(str::to_owned) }
}

fn full(rule: Rule, by: &str) -> Strength {
    row(rule, Held::Full, by, None)
}

fn partly(rule: Rule, by: &str, note: &str) -> Strength {
    row(rule, Held::Partly, by, Some(note))
}

fn not(rule: Rule, note: &str) -> Strength {
    row(rule, Held::Not, "nothing", Some(note))
}

impl Table<'_> {
    fn rows(&self) -> Vec<Strength> {
        let limits = &self.plan.limits;
        let zones = |access| self.plan.zones().any(|zone| zone.access == access);
        let rows = [
            Some(self.files_outside()),
            zones(Access::Ro).then(|| self.read_only_zones()),
            (zones(Access::Rw) && self.plan.watch.is_some()).then(|| self.guarded_files()),
            zones(Access::Rw).then(|| self.hard_links()),
            (!self.plan.rules.keep_names.is_empty()).then(|| self.kept_names()),
            (self.plan.network == Network::Off).then(|| self.network_off()),
            self.plan.network.gateway().map(|_| self.network_list()),
            Some(self.other_processes()),
            Some(self.signals()),
            Some(self.host_sockets()),
            Some(self.terminal()),
            Some(full(Rule::Environment, "launcher")),
            Some(self.kernel_surface()),
            limits.memory.map(|_| self.memory_limit()),
            limits.processes.map(|_| self.process_limit()),
            (limits.cpu_seconds.is_some() || limits.wall_ms.is_some()).then(|| self.time_limit()),
            limits.tmp.map(|_| self.tmp_limit()),
            Some(self.everything_ends()),
        ];
        rows.into_iter().flatten().collect()
    }

    /// Returns "Landlock 6", with what comes before it.
    fn and_landlock(&self, first: &str) -> String {
        match self.layers.landlock {
            0 => first.to_owned(),
            version => format!("{first}, Landlock {version}"),
        }
    }

    fn landlock(&self) -> String {
        format!("Landlock {}", self.layers.landlock)
    }

    fn files_outside(&self) -> Strength {
        let rule = Rule::FilesOutside;
        match self.layers.landlock {
            _ if self.layers.tree => full(rule, &self.and_landlock("mounts")),
            0 => not(rule, "all files of the user can be read and written"),
            version => {
                let note = match version {
                    // KERNEL(6.2): Landlock 3.
                    ..3 => {
                        "names, sizes, owners and times can be seen; modes, owners and times \
                            can be changed; files can be cut short"
                    }
                    _ => {
                        "names, sizes, owners and times can be seen; modes, owners and times \
                          can be changed"
                    }
                };
                partly(rule, &self.landlock(), note)
            }
        }
    }

    fn read_only_zones(&self) -> Strength {
        let rule = Rule::ReadOnlyDirectories;
        match self.layers.landlock {
            _ if self.layers.tree => full(rule, &self.and_landlock("read-only mounts")),
            0 => not(rule, "they can be written"),
            1 | 2 => {
                let note = "files can be cut short; modes, owners and times can be changed";
                partly(rule, &self.landlock(), note)
            }
            _ => partly(rule, &self.landlock(), "modes, owners and times can be changed"),
        }
    }

    fn guarded_files(&self) -> Strength {
        let rule = Rule::GuardedFiles;
        match &self.layers.unwatched {
            Some(why) if self.layers.tree => {
                let note = format!("new ones are only found at the end: {why}");
                partly(rule, "read-only mounts", &note)
            }
            Some(why) => not(rule, &format!("they are only found at the end: {why}")),
            None if self.layers.tree => {
                let note = "new ones are taken away as soon as they appear";
                row(rule, Held::Full, "read-only mounts, keeper", Some(note))
            }
            None => {
                let note = "changes are undone as soon as they are seen, and not prevented";
                partly(rule, "keeper", note)
            }
        }
    }

    fn hard_links(&self) -> Strength {
        let rule = Rule::HardLinks;
        match self.layers.tree {
            true => full(rule, "read-only mounts"),
            false => not(rule, "files with other names outside can be written, and change there"),
        }
    }

    fn kept_names(&self) -> Strength {
        let rule = Rule::BlockedDeletion;
        match self.layers.landlock {
            0 => not(rule, "files can be removed and renamed wherever they can be written"),
            _ => full(rule, &self.landlock()),
        }
    }

    fn network_off(&self) -> Strength {
        let rule = Rule::NetworkOff;
        match self.layers.landlock {
            _ if self.layers.network => full(rule, "network namespace"),
            // KERNEL(6.7): Landlock 4.
            0..4 => not(rule, "commands reach what this machine reaches"),
            _ => {
                let note = "TCP only: UDP, and with it name lookups, can leave";
                partly(rule, &self.landlock(), note)
            }
        }
    }

    fn network_list(&self) -> Strength {
        let rule = Rule::NetworkList;
        match (self.plan.backend, self.layers.landlock) {
            _ if self.layers.network => full(rule, "network namespace, gate"),
            (Backend::Seatbelt, _) => {
                let note = "only programs that use the proxy get anywhere; that the profile holds \
                            was never tried";
                partly(rule, "profile, gate", note)
            }
            // KERNEL(6.7): Landlock 4.
            (_, 0..4) => {
                let note = "commands reach what this machine reaches; only programs that use the \
                            proxy are held to the list";
                not(rule, note)
            }
            _ => {
                let note = "TCP only, and by port: the proxy's port of every machine can be \
                            reached; UDP, and with it name lookups, can leave; only programs \
                            that use the proxy get to the hosts of the list";
                partly(rule, &format!("{}, gate", self.landlock()), note)
            }
        }
    }

    fn other_processes(&self) -> Strength {
        let rule = Rule::OtherProcesses;
        match self.layers.landlock {
            _ if self.layers.processes => full(rule, &self.and_landlock("process namespace")),
            0 => not(rule, "processes of the user can be seen and read"),
            _ => partly(rule, &self.landlock(), "they can be seen, but neither read nor changed"),
        }
    }

    fn signals(&self) -> Strength {
        let rule = Rule::Signals;
        // KERNEL(6.12): Landlock 6.
        match (self.layers.processes, self.layers.landlock) {
            (true, 6..) => full(rule, &self.and_landlock("process namespace")),
            (true, _) => {
                let note = "commands of the same sandbox can signal each other";
                row(rule, Held::Full, "process namespace", Some(note))
            }
            (false, 6..) => full(rule, &self.landlock()),
            (false, _) => not(rule, "all processes of the user can be signalled"),
        }
    }

    fn host_sockets(&self) -> Strength {
        let rule = Rule::HostSockets;
        match (self.layers.tree, self.layers.network, self.layers.landlock) {
            (true, true, _) => full(rule, "mounts, network namespace"),
            (true, false, 6..) => full(rule, &self.and_landlock("mounts")),
            (true, false, _) => partly(rule, "mounts", "abstract sockets can be reached"),
            (false, _, 6..) => partly(rule, &self.landlock(), "sockets with a path can be reached"),
            (false, _, _) => not(rule, "all sockets of the user can be reached"),
        }
    }

    fn terminal(&self) -> Strength {
        let rule = Rule::Terminal;
        match self.layers.seccomp {
            true => full(rule, "own terminal, seccomp"),
            false => partly(rule, "own terminal", "commands can type into their own one"),
        }
    }

    fn kernel_surface(&self) -> Strength {
        let rule = Rule::KernelSurface;
        match self.layers.seccomp {
            true if self.plan.calls == Calls::Debug => {
                let note = "processes of the sandbox can be traced and profiled, and files in \
                            memory made (--debug)";
                partly(rule, "seccomp, no capabilities", note)
            }
            true => full(rule, "seccomp, no capabilities"),
            false => not(rule, "every system call can be made"),
        }
    }

    fn memory_limit(&self) -> Strength {
        if self.layers.group {
            let by = "control group, supervisor";
            // Private files are in memory too, and the group counts both.
            return match self.plan.limits.tmp {
                None | Some(0) => full(Rule::MemoryLimit, by),
                Some(_) => {
                    let note = "the sum of memory and tmp by the kernel, memory alone twenty \
                                times a second";
                    partly(Rule::MemoryLimit, by, note)
                }
            };
        }
        // Memory of the kernel is nobody's: only a control group counts it.
        let note = match self.plan.calls {
            Calls::Usual => {
                "counted twenty times a second, and more often close to the limit; buffers of \
                 sockets and pipes are not counted"
            }
            Calls::Debug => {
                "counted twenty times a second, and more often close to the limit; buffers of \
                 sockets and pipes are not counted, nor are files in memory (--debug)"
            }
        };
        partly(Rule::MemoryLimit, "supervisor", note)
    }

    fn process_limit(&self) -> Strength {
        let rule = Rule::ProcessLimit;
        match (self.layers.processes, self.layers.root_mapped_away) {
            (true, true) => full(rule, "rlimit, process namespace, supervisor"),
            (true, false) => {
                let note = "the kernel does not hold the superuser to it: counted twenty times a \
                            second, a burst is seen after it began";
                partly(rule, "supervisor", note)
            }
            (false, _) => {
                let note = "counted twenty times a second: a burst is seen after it began";
                partly(rule, "supervisor", note)
            }
        }
    }

    fn time_limit(&self) -> Strength {
        let (rule, by) = (Rule::TimeLimit, "rlimit, supervisor");
        // KERNEL(6.12): Landlock 6. In a process namespace a supervisor that is stopped
        // ends the sandbox.
        match (self.layers.processes, self.layers.landlock) {
            (true, _) | (false, 6..) => full(rule, by),
            (false, _) => partly(rule, by, "commands can stop the process that watches the clock"),
        }
    }

    fn tmp_limit(&self) -> Strength {
        let rule = Rule::PrivateFilesLimit;
        match (self.layers.tree, self.plan.backend) {
            (true, Backend::Bubblewrap) => {
                let note = "half of it is for /tmp, the rest is shared out";
                row(rule, Held::Full, "memory of limited size", Some(note))
            }
            (true, _) => full(rule, "memory of limited size"),
            (false, _) => not(rule, "the home directory is as large as the disk"),
        }
    }

    fn everything_ends(&self) -> Strength {
        let rule = Rule::EverythingEnds;
        match (self.layers.processes, self.layers.landlock) {
            (true, _) => full(rule, "process namespace"),
            (false, 6..) => full(rule, &self.and_landlock("supervisor")),
            (false, _) => {
                partly(rule, "supervisor", "a process that starts others fast may get away")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use zonekeep_policy::limit::Limits;

    use super::*;
    use crate::plan::{Bind, Entry, Gateway, Role, Watch, ZoneRules};

    fn plan(backend: Backend) -> Plan {
        let zone = |at: &str, access| {
            let (host, at) = (format!("/host{at}").into(), at.into());
            Entry::Bind(Bind { host, at, access, role: Role::Zone, identity: None })
        };
        Plan {
            backend,
            entries: vec![zone("/input", Access::Ro), zone("/output", Access::Rw)],
            home: "/home/agent".into(),
            network: Network::Off,
            limits: Limits {
                memory: Some(1),
                processes: Some(1),
                cpu_seconds: Some(1),
                tmp: Some(1),
                ..Limits::none()
            },
            watch: Some(Watch::default()),
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        }
    }

    fn text(plan: &Plan, layers: Option<&Layers>) -> String {
        let mut text = String::new();
        for row in strength(plan, layers) {
            let note = row.note.map(|note| format!(" ({note})")).unwrap_or_default();
            let held = row.held.as_str();
            writeln!(text, "{}: {held} by {}{note}", row.rule, row.by).unwrap();
        }
        text
    }

    #[test]
    fn namespaces_hold_nearly_everything() {
        insta::assert_snapshot!(text(&plan(Backend::Namespaces), None), @"
        files outside: full by mounts, Landlock 6
        read-only directories: full by read-only mounts, Landlock 6
        guarded files: full by read-only mounts, keeper (new ones are taken away as soon as they appear)
        hard links: full by read-only mounts
        network off: full by network namespace
        other processes: full by process namespace, Landlock 6
        signals: full by process namespace, Landlock 6
        host sockets: full by mounts, network namespace
        terminal: full by own terminal, seccomp
        environment: full by launcher
        kernel surface: full by seccomp, no capabilities
        memory limit: partly by supervisor (counted twenty times a second, and more often close to the limit; buffers of sockets and pipes are not counted)
        process limit: full by rlimit, process namespace, supervisor
        time limit: full by rlimit, supervisor
        limit of private files: full by memory of limited size
        everything ends: full by process namespace
        ");
        let bubblewrap = strength(&plan(Backend::Bubblewrap), None);
        let less: Vec<_> = bubblewrap.iter().filter(|row| row.held != Held::Full).collect();
        assert_eq!(less.iter().map(|row| row.rule).collect::<Vec<_>>(), [Rule::MemoryLimit]);
    }

    #[test]
    fn landlock_holds_what_its_version_can() {
        let plan = plan(Backend::Landlock);
        let with = |landlock| Layers { landlock, seccomp: true, ..Layers::default() };
        insta::assert_snapshot!(text(&plan, Some(&with(6))), @"
        files outside: partly by Landlock 6 (names, sizes, owners and times can be seen; modes, owners and times can be changed)
        read-only directories: partly by Landlock 6 (modes, owners and times can be changed)
        guarded files: partly by keeper (changes are undone as soon as they are seen, and not prevented)
        hard links: not by nothing (files with other names outside can be written, and change there)
        network off: partly by Landlock 6 (TCP only: UDP, and with it name lookups, can leave)
        other processes: partly by Landlock 6 (they can be seen, but neither read nor changed)
        signals: full by Landlock 6
        host sockets: partly by Landlock 6 (sockets with a path can be reached)
        terminal: full by own terminal, seccomp
        environment: full by launcher
        kernel surface: full by seccomp, no capabilities
        memory limit: partly by supervisor (counted twenty times a second, and more often close to the limit; buffers of sockets and pipes are not counted)
        process limit: partly by supervisor (counted twenty times a second: a burst is seen after it began)
        time limit: full by rlimit, supervisor
        limit of private files: not by nothing (the home directory is as large as the disk)
        everything ends: full by supervisor, Landlock 6
        ");
        insta::assert_snapshot!(text(&plan, Some(&with(1))), @"
        files outside: partly by Landlock 1 (names, sizes, owners and times can be seen; modes, owners and times can be changed; files can be cut short)
        read-only directories: partly by Landlock 1 (files can be cut short; modes, owners and times can be changed)
        guarded files: partly by keeper (changes are undone as soon as they are seen, and not prevented)
        hard links: not by nothing (files with other names outside can be written, and change there)
        network off: not by nothing (commands reach what this machine reaches)
        other processes: partly by Landlock 1 (they can be seen, but neither read nor changed)
        signals: not by nothing (all processes of the user can be signalled)
        host sockets: not by nothing (all sockets of the user can be reached)
        terminal: full by own terminal, seccomp
        environment: full by launcher
        kernel surface: full by seccomp, no capabilities
        memory limit: partly by supervisor (counted twenty times a second, and more often close to the limit; buffers of sockets and pipes are not counted)
        process limit: partly by supervisor (counted twenty times a second: a burst is seen after it began)
        time limit: partly by rlimit, supervisor (commands can stop the process that watches the clock)
        limit of private files: not by nothing (the home directory is as large as the disk)
        everything ends: partly by supervisor (a process that starts others fast may get away)
        ");
    }

    #[test]
    fn nothing_holds_next_to_nothing() {
        insta::assert_snapshot!(text(&plan(Backend::None), None), @"
        files outside: not by nothing (all files of the user can be read and written)
        read-only directories: not by nothing (they can be written)
        guarded files: partly by keeper (changes are undone as soon as they are seen, and not prevented)
        hard links: not by nothing (files with other names outside can be written, and change there)
        network off: not by nothing (commands reach what this machine reaches)
        other processes: not by nothing (processes of the user can be seen and read)
        signals: not by nothing (all processes of the user can be signalled)
        host sockets: not by nothing (all sockets of the user can be reached)
        terminal: partly by own terminal (commands can type into their own one)
        environment: full by launcher
        kernel surface: not by nothing (every system call can be made)
        memory limit: partly by supervisor (counted twenty times a second, and more often close to the limit; buffers of sockets and pipes are not counted)
        process limit: partly by supervisor (counted twenty times a second: a burst is seen after it began)
        time limit: partly by rlimit, supervisor (commands can stop the process that watches the clock)
        limit of private files: not by nothing (the home directory is as large as the disk)
        everything ends: partly by supervisor (a process that starts others fast may get away)
        ");
    }

    #[test]
    fn rules_that_are_not_asked_for_are_left_out() {
        let plan = Plan {
            entries: Vec::new(),
            network: Network::Host,
            limits: Limits::none(),
            watch: None,
            ..plan(Backend::Namespaces)
        };
        insta::assert_snapshot!(text(&plan, None), @"
        files outside: full by mounts, Landlock 6
        other processes: full by process namespace, Landlock 6
        signals: full by process namespace, Landlock 6
        host sockets: full by mounts, Landlock 6
        terminal: full by own terminal, seccomp
        environment: full by launcher
        kernel surface: full by seccomp, no capabilities
        everything ends: full by process namespace
        ");
    }

    #[test]
    fn a_list_of_hosts_is_held_as_far_as_the_network_is_apart() {
        let plan = |backend| Plan { network: Network::Gate(Gateway::default()), ..plan(backend) };
        let with = |landlock| Layers { landlock, ..Layers::default() };
        let found = [
            (Backend::Namespaces, None),
            (Backend::Bubblewrap, None),
            (Backend::Landlock, Some(with(6))),
            (Backend::Landlock, Some(with(3))),
            (Backend::Seatbelt, Some(with(0))),
            (Backend::None, Some(with(0))),
        ];
        let mut all = String::new();
        for (backend, layers) in found {
            let text = text(&plan(backend), layers.as_ref());
            assert!(!text.contains("network off"), "{text}");
            let line = text.lines().find(|line| line.starts_with("network list")).unwrap();
            writeln!(all, "{backend}: {line}").unwrap();
        }
        insta::assert_snapshot!(all, @"
        namespaces: network list: full by network namespace, gate
        bubblewrap: network list: full by network namespace, gate
        landlock: network list: partly by Landlock 6, gate (TCP only, and by port: the proxy's port of every machine can be reached; UDP, and with it name lookups, can leave; only programs that use the proxy get to the hosts of the list)
        landlock: network list: not by nothing (commands reach what this machine reaches; only programs that use the proxy are held to the list)
        seatbelt: network list: partly by profile, gate (only programs that use the proxy get anywhere; that the profile holds was never tried)
        none: network list: not by nothing (commands reach what this machine reaches; only programs that use the proxy are held to the list)
        ");
        // All else is as with no network at all.
        let own = strength(&plan(Backend::Namespaces), None);
        assert!(own.iter().filter(|row| row.held != Held::Full).count() == 1, "{own:?}");
    }

    #[test]
    fn blocked_deletion_is_held_by_landlock_of_any_version() {
        for backend in [Backend::Namespaces, Backend::Bubblewrap, Backend::Landlock] {
            let rules = ZoneRules { keep_names: vec!["/output".into()], ..ZoneRules::default() };
            let plan = Plan { rules, ..plan(backend) };
            for (landlock, held) in [(0, Held::Not), (1, Held::Full), (6, Held::Full)] {
                let layers = Layers { landlock, ..expected(&plan) };
                let rows = strength(&plan, Some(&layers));
                let row = rows.iter().find(|row| row.rule == Rule::BlockedDeletion).unwrap();
                assert_eq!(row.held, held, "{backend} with Landlock {landlock}");
            }
        }
    }

    #[test]
    fn limits_and_essential_rules_are_told_apart_by_value() {
        let limits = Rule::ALL.into_iter().filter(|rule| rule.is_limit());
        let named = Rule::ALL.into_iter().filter(|rule| rule.as_str().contains("limit"));
        assert_eq!(limits.collect::<Vec<_>>(), named.collect::<Vec<_>>());
        let essential = Rule::ALL.into_iter().filter(|rule| rule.is_essential());
        let names: Vec<&str> = essential.map(Rule::as_str).collect();
        assert_eq!(names, ["files outside", "network off", "network list", "signals"]);
        assert!(Rule::ALL.is_sorted(), "reports have the order of the enum");
    }

    #[test]
    fn only_a_tree_of_its_own_holds_the_essential_rules() {
        let names = |backend, network, layers: Option<&Layers>| {
            let lost = lost(&Plan { network, ..plan(backend) }, layers);
            lost.iter().map(|row| row.rule.as_str()).collect::<Vec<_>>().join(", ")
        };
        let layers = |landlock| Layers { landlock, seccomp: landlock > 0, ..Layers::default() };
        let off = || Network::Off;
        let listed = || Network::Gate(Gateway::default());
        for backend in [Backend::Namespaces, Backend::Bubblewrap] {
            for network in [off(), listed(), Network::Host] {
                assert_eq!(names(backend, network, None), "");
            }
        }
        let landlock = Backend::Landlock;
        assert_eq!(names(landlock, off(), Some(&layers(6))), "files outside, network off");
        assert_eq!(names(landlock, off(), Some(&layers(5))), "files outside, network off, signals");
        assert_eq!(names(landlock, listed(), None), "files outside, network list, signals");
        assert_eq!(names(landlock, Network::Host, None), "files outside, signals");
        assert_eq!(names(Backend::None, off(), None), "files outside, network off, signals");
        // A tree that reports less than its backend promises is taken at its word.
        assert_eq!(
            names(Backend::Namespaces, off(), Some(&Layers::default())),
            "files outside, network off, signals"
        );
    }

    #[test]
    fn what_is_not_watched_is_said() {
        let layers = Layers {
            unwatched: Some("too many directories".to_owned()),
            ..expected(&plan(Backend::Namespaces))
        };
        let rows = strength(&plan(Backend::Namespaces), Some(&layers));
        let row = rows.iter().find(|row| row.rule == Rule::GuardedFiles).unwrap();
        assert_eq!(row.held, Held::Partly);
    }
}
