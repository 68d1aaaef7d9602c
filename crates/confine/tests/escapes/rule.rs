//! The rule of [`strength`] that each attack puts to the test.
//!
//! [`strength`]: zonekeep_confine::strength

use crate::confined;

/// The pseudo-rule of ordinary work, which every backend must let through.
pub(crate) const WORK: &str = "ordinary work";

/// Name prefixes of attacks and the rule they test; the first match counts.
const RULES: &[(&str, &str)] = &[
    ("files/ro_", "read-only directories"),
    ("files/kept_", "blocked deletion"),
    ("files/linked_", "hard links"),
    ("files/", "files outside"),
    ("ipc/key_", "kernel surface"),
    ("ipc/shared_files", "files outside"),
    ("ipc/", "host sockets"),
    ("kernel/", "kernel surface"),
    ("leaks/agent_socket", "host sockets"),
    ("leaks/arguments_of_others", "other processes"),
    ("leaks/environment_of_others", "other processes"),
    ("leaks/descriptor", "environment"),
    ("leaks/environment", "environment"),
    ("leaks/", "files outside"),
    ("mounts/", "kernel surface"),
    ("network/bluetooth", "kernel surface"),
    ("network/crypto", "kernel surface"),
    ("network/express", "kernel surface"),
    ("network/families", "kernel surface"),
    ("network/multipath", "kernel surface"),
    ("network/netlink_families", "kernel surface"),
    ("network/packet", "kernel surface"),
    ("network/pairs", "kernel surface"),
    ("network/raw", "kernel surface"),
    ("network/vsock", "kernel surface"),
    ("network/wide_arguments", "kernel surface"),
    ("network/", "network off"),
    ("planted/", "guarded files"),
    ("processes/after_death", "everything ends"),
    ("processes/daemon", "everything ends"),
    ("processes/fork_bomb", "process limit"),
    ("processes/thread_bomb", "process limit"),
    ("processes/kill", "signals"),
    ("processes/signal", "signals"),
    ("processes/stop", "signals"),
    ("processes/memory_", "memory limit"),
    ("processes/", "other processes"),
    ("setid/", "kernel surface"),
    ("stdio/errors_terminal", "terminal"),
    ("stdio/socket_unix", "host sockets"),
    ("stdio/socket_", "network off"),
    ("stdio/", "files outside"),
    ("system/launcher_", "other processes"),
    ("system/", "files outside"),
    ("terminal/", "terminal"),
    ("work/", WORK),
];

/// Returns the rule that the attack of that name tests.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let (_, rule) = RULES.iter().find(|(prefix, _)| name.starts_with(prefix))?;
    match *rule {
        "network off" if confined::has_gate() => Some("network list"),
        rule => Some(rule),
    }
}
