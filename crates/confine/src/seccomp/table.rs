//! What commands may not ask of the kernel, with the reason for each line.
//!
//! The numbers of both architectures stand here, so that the filter of either
//! can be made and checked anywhere.

use super::{Argument, Effect, Line};

/// Refused with "not permitted".
const DENY: Effect = Effect::Deny;
/// As if the kernel did not have it, so that libraries use the older call.
const ABSENT: Effect = Effect::Absent;

/// Any bit that makes a namespace: time, mount, cgroup, uts, ipc, user, pid, net.
const NEW_NAMESPACE: u64 = 0x80
    | 0x2_0000
    | 0x200_0000
    | 0x400_0000
    | 0x800_0000
    | 0x1000_0000
    | 0x2000_0000
    | 0x4000_0000;
/// Set-uid and set-gid.
const SET_ID: u64 = 0o6000;

const fn line(
    name: &'static str,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    effect: Effect,
    why: &'static str,
) -> Line {
    Line { name, x86_64, aarch64, when: &[], effect, why }
}

const fn when(line: Line, when: &'static [Argument]) -> Line {
    Line { when, ..line }
}

const MOUNTS: &str = "changes what is mounted where";
const NAMESPACES: &str = "makes or joins namespaces, and with them new privileges";
const OTHERS: &str = "looks into or controls other processes";
const PROGRAMS: &str = "loads code into the kernel or watches it";
const RING: &str = "carries other calls past this filter";
const KEYS: &str = "keyrings are shared with the user's session";
const MACHINE: &str = "is for whoever runs the machine";
const CLOCK: &str = "changes the machine's clock";
const OLD: &str = "is old and unused, and one thing less to get right";
const MEMORY: &str = "steers memory of other processes or helps exploits wait";
const UNCOUNTED: &str = "is memory of no process, which no limit would count";
const HANDLES: &str = "opens files by handle, past every directory";
const SET_ID_BITS: &str = "would leave a file that runs with its owner's rights";
const SOCKETS: &str = "only Unix, IPv4, IPv6 and route information sockets are needed";
const TERMINAL: &str = "types into, or reprograms, a terminal";
const LIMITS: &str = "changes the limits of other processes";
const HARDENING: &str = "switches off what makes a process harder to exploit";
const DISGUISE: &str = "rewrites what is told about a process";

/// Calls that debuggers and profilers make. The kernel lets them reach processes of the same
/// user, in the same process namespace, that are dumpable: commands, and neither the first
/// process nor the supervisors. What is traced stays under this filter, whichever calls the
/// tracer has it make.
pub(super) const DEBUGGERS: &[&str] =
    &["ptrace", "process_vm_readv", "process_vm_writev", "perf_event_open", "memfd_create"];

/// What holds in their place.
pub(super) const WHILE_DEBUGGING: &[Line] = &[
    // All processes of a processor, and those of a control group.
    when(
        line("perf_event_open", Some(298), Some(241), DENY, PROGRAMS),
        &[Argument::is(1, u32::MAX)],
    ),
    when(
        line("perf_event_open", Some(298), Some(241), DENY, PROGRAMS),
        &[Argument::any_bit(4, 0x4)],
    ),
];

/// The table. A number may have several lines: the first whose conditions all
/// hold decides, and where none does the call goes ahead.
pub const TABLE: &[Line] = &[
    line("mount", Some(165), Some(40), DENY, MOUNTS),
    line("umount2", Some(166), Some(39), DENY, MOUNTS),
    line("pivot_root", Some(155), Some(41), DENY, MOUNTS),
    line("chroot", Some(161), Some(51), DENY, MOUNTS),
    line("open_tree", Some(428), Some(428), DENY, MOUNTS),
    line("move_mount", Some(429), Some(429), DENY, MOUNTS),
    line("fsopen", Some(430), Some(430), DENY, MOUNTS),
    line("fsconfig", Some(431), Some(431), DENY, MOUNTS),
    line("fsmount", Some(432), Some(432), DENY, MOUNTS),
    line("fspick", Some(433), Some(433), DENY, MOUNTS),
    line("mount_setattr", Some(442), Some(442), DENY, MOUNTS),
    line("open_tree_attr", Some(467), Some(467), DENY, MOUNTS),
    line("unshare", Some(272), Some(97), DENY, NAMESPACES),
    line("setns", Some(308), Some(268), DENY, NAMESPACES),
    // Lists namespaces that the command is not in.
    line("listns", Some(470), Some(470), ABSENT, NAMESPACES),
    when(
        line("clone", Some(56), Some(220), DENY, NAMESPACES),
        &[Argument::any_bit(0, NEW_NAMESPACE)],
    ),
    // Its flags are behind a pointer; libraries fall back to clone.
    line("clone3", Some(435), Some(435), ABSENT, NAMESPACES),
    line("ptrace", Some(101), Some(117), DENY, OTHERS),
    line("process_vm_readv", Some(310), Some(270), DENY, OTHERS),
    line("process_vm_writev", Some(311), Some(271), DENY, OTHERS),
    line("process_madvise", Some(440), Some(440), DENY, OTHERS),
    line("kcmp", Some(312), Some(272), DENY, OTHERS),
    line("pidfd_getfd", Some(438), Some(438), DENY, OTHERS),
    when(
        line("prlimit64", Some(302), Some(261), DENY, LIMITS),
        &[Argument::not(0, 0), Argument::not_null(2)],
    ),
    // To ask, Linux itself, 32-bit Linux, and an old version number for either. Every
    // other bit switches address randomisation off, makes readable memory executable
    // or maps the first page, also for the programs that are started next.
    when(
        line("personality", Some(135), Some(92), DENY, HARDENING),
        &[
            Argument::not(0, 0xffff_ffff),
            Argument::not(0, 0),
            Argument::not(0, 0x8),
            Argument::not(0, 0x2_0000),
            Argument::not(0, 0x2_0008),
        ],
    ),
    // PR_SET_SPECULATION_CTRL with PR_SPEC_ENABLE; switching it off is allowed.
    when(
        line("prctl", Some(157), Some(167), DENY, HARDENING),
        &[Argument::is(0, 53), Argument::is(2, 2)],
    ),
    // PR_PAC_SET_ENABLED_KEYS: the keys that sign pointers.
    when(line("prctl", None, Some(167), DENY, HARDENING), &[Argument::is(0, 60)]),
    // PR_SET_MM: program, arguments and limits of memory as `/proc` shows them.
    when(line("prctl", Some(157), Some(167), DENY, DISGUISE), &[Argument::is(0, 35)]),
    line("bpf", Some(321), Some(280), DENY, PROGRAMS),
    line("perf_event_open", Some(298), Some(241), DENY, PROGRAMS),
    line("init_module", Some(175), Some(105), DENY, PROGRAMS),
    line("finit_module", Some(313), Some(273), DENY, PROGRAMS),
    line("delete_module", Some(176), Some(106), DENY, PROGRAMS),
    line("kexec_load", Some(246), Some(104), DENY, PROGRAMS),
    line("kexec_file_load", Some(320), Some(294), DENY, PROGRAMS),
    line("lsm_set_self_attr", Some(460), Some(460), DENY, PROGRAMS),
    line("fanotify_init", Some(300), Some(262), DENY, PROGRAMS),
    line("io_uring_setup", Some(425), Some(425), DENY, RING),
    line("io_uring_enter", Some(426), Some(426), DENY, RING),
    line("io_uring_register", Some(427), Some(427), DENY, RING),
    line("add_key", Some(248), Some(217), DENY, KEYS),
    line("request_key", Some(249), Some(218), DENY, KEYS),
    line("keyctl", Some(250), Some(219), DENY, KEYS),
    line("reboot", Some(169), Some(142), DENY, MACHINE),
    line("swapon", Some(167), Some(224), DENY, MACHINE),
    line("swapoff", Some(168), Some(225), DENY, MACHINE),
    line("quotactl", Some(179), Some(60), DENY, MACHINE),
    line("quotactl_fd", Some(443), Some(443), DENY, MACHINE),
    line("acct", Some(163), Some(89), DENY, MACHINE),
    line("syslog", Some(103), Some(116), DENY, MACHINE),
    line("sethostname", Some(170), Some(161), DENY, MACHINE),
    line("setdomainname", Some(171), Some(162), DENY, MACHINE),
    line("vhangup", Some(153), Some(58), DENY, MACHINE),
    line("iopl", Some(172), None, DENY, MACHINE),
    line("ioperm", Some(173), None, DENY, MACHINE),
    line("settimeofday", Some(164), Some(170), DENY, CLOCK),
    line("clock_settime", Some(227), Some(112), DENY, CLOCK),
    // With a mode of 0 it only reads; that is behind a pointer.
    line("adjtimex", Some(159), Some(171), DENY, CLOCK),
    line("clock_adjtime", Some(305), Some(266), DENY, CLOCK),
    line("userfaultfd", Some(323), Some(282), DENY, MEMORY),
    line("memfd_create", Some(319), Some(279), ABSENT, UNCOUNTED),
    line("memfd_secret", Some(447), Some(447), ABSENT, UNCOUNTED),
    line("move_pages", Some(279), Some(239), DENY, MEMORY),
    line("migrate_pages", Some(256), Some(238), DENY, MEMORY),
    line("open_by_handle_at", Some(304), Some(265), DENY, HANDLES),
    line("name_to_handle_at", Some(303), Some(264), DENY, HANDLES),
    line("modify_ldt", Some(154), None, DENY, OLD),
    line("uselib", Some(134), None, DENY, OLD),
    line("ustat", Some(136), None, DENY, OLD),
    line("sysfs", Some(139), None, DENY, OLD),
    line("_sysctl", Some(156), None, DENY, OLD),
    line("lookup_dcookie", Some(212), Some(18), DENY, OLD),
    line("nfsservctl", Some(180), Some(42), DENY, OLD),
    line("create_module", Some(174), None, DENY, OLD),
    line("get_kernel_syms", Some(177), None, DENY, OLD),
    line("query_module", Some(178), None, DENY, OLD),
    line("getpmsg", Some(181), None, DENY, OLD),
    line("putpmsg", Some(182), None, DENY, OLD),
    line("afs_syscall", Some(183), None, DENY, OLD),
    line("tuxcall", Some(184), None, DENY, OLD),
    line("security", Some(185), None, DENY, OLD),
    line("vserver", Some(236), None, DENY, OLD),
    when(line("chmod", Some(90), None, DENY, SET_ID_BITS), &[Argument::any_bit(1, SET_ID)]),
    when(line("fchmod", Some(91), Some(52), DENY, SET_ID_BITS), &[Argument::any_bit(1, SET_ID)]),
    when(line("fchmodat", Some(268), Some(53), DENY, SET_ID_BITS), &[Argument::any_bit(2, SET_ID)]),
    when(
        line("fchmodat2", Some(452), Some(452), DENY, SET_ID_BITS),
        &[Argument::any_bit(2, SET_ID)],
    ),
    when(
        line("open", Some(2), None, DENY, SET_ID_BITS),
        &[Argument::any_bit(1, 0o100 | 0o20_000_000), Argument::any_bit(2, SET_ID)],
    ),
    when(
        line("openat", Some(257), Some(56), DENY, SET_ID_BITS),
        &[Argument::any_bit(2, 0o100 | 0o20_000_000), Argument::any_bit(3, SET_ID)],
    ),
    when(line("creat", Some(85), None, DENY, SET_ID_BITS), &[Argument::any_bit(1, SET_ID)]),
    when(line("mknod", Some(133), None, DENY, SET_ID_BITS), &[Argument::any_bit(1, SET_ID)]),
    when(line("mknodat", Some(259), Some(33), DENY, SET_ID_BITS), &[Argument::any_bit(2, SET_ID)]),
    // Its mode is behind a pointer; libraries fall back to openat.
    line("openat2", Some(437), Some(437), ABSENT, SET_ID_BITS),
    when(
        line("socket", Some(41), Some(198), DENY, SOCKETS),
        &[Argument::not(0, 1), Argument::not(0, 2), Argument::not(0, 10), Argument::not(0, 16)],
    ),
    when(
        line("socket", Some(41), Some(198), DENY, SOCKETS),
        &[Argument::is(0, 16), Argument::not(2, 0)],
    ),
    // Multipath TCP is not seen by rules about TCP.
    when(line("socket", Some(41), Some(198), DENY, SOCKETS), &[Argument::is(2, 262)]),
    when(line("socketpair", Some(53), Some(199), DENY, SOCKETS), &[Argument::not(0, 1)]),
    when(line("ioctl", Some(16), Some(29), DENY, TERMINAL), &[Argument::is(1, 0x5412)]),
    when(line("ioctl", Some(16), Some(29), DENY, TERMINAL), &[Argument::is(1, 0x541c)]),
    when(line("ioctl", Some(16), Some(29), DENY, TERMINAL), &[Argument::is(1, 0x541d)]),
    when(line("ioctl", Some(16), Some(29), DENY, TERMINAL), &[Argument::is(1, 0x5423)]),
];
