//! The filter that every command carries: which system calls are refused.
//!
//! [`TABLE`] is data with a reason on every line; [`compile`] turns it into the
//! program that the kernel runs for each call. The program looks at the
//! architecture first, then at the number, then at arguments. What is behind a
//! pointer cannot be looked at: calls that hide their flags there are absent.

mod table;

pub use table::TABLE;

use crate::plan::Calls;

/// An architecture that a filter can be made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Arch {
    /// Returns the architecture that this program runs on, where a filter can
    /// be made for it.
    pub fn native() -> Option<Arch> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Arch::X86_64),
            "aarch64" => Some(Arch::Aarch64),
            _ => None,
        }
    }

    /// Returns the kernel's number for it.
    fn audit(self) -> u32 {
        match self {
            Arch::X86_64 => 0xc000_003e,
            Arch::Aarch64 => 0xc000_00b7,
        }
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Fails with `EPERM`.
    Deny,
    /// Fails with `ENOSYS`.
    Absent,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The call.
    pub name: &'static str,
    /// Its number on x86_64, where it has one.
    pub x86_64: Option<u32>,
    /// Its number on aarch64, where it has one.
    pub aarch64: Option<u32>,
    /// What must hold of the arguments, all of it.
    pub when: &'static [Argument],
    /// What becomes of the call then.
    pub effect: Effect,
    /// Why.
    pub why: &'static str,
}

impl Line {
    /// Returns the call's number.
    pub fn number(&self, arch: Arch) -> Option<u32> {
        match arch {
            Arch::X86_64 => self.x86_64,
            Arch::Aarch64 => self.aarch64,
        }
    }
}

/// A condition on an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    index: u8,
    test: Test,
}

/// What is asked. Numbers are compared in their low half: they are an `int` or
/// smaller in the kernel, which ignores the upper half too. Pointers are whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Is(u32),
    Not(u32),
    AnyBit(u32),
    NotNull,
}

impl Argument {
    const fn is(index: u8, value: u32) -> Self {
        Argument { index, test: Test::Is(value) }
    }

    const fn not(index: u8, value: u32) -> Self {
        Argument { index, test: Test::Not(value) }
    }

    const fn any_bit(index: u8, bits: u64) -> Self {
        Argument { index, test: Test::AnyBit(bits as u32) }
    }

    const fn not_null(index: u8) -> Self {
        Argument { index, test: Test::NotNull }
    }

    /// Returns whether the condition holds.
    fn holds(&self, arguments: &[u64; 6]) -> bool {
        let whole = arguments[self.index as usize];
        let low = whole as u32;
        match self.test {
            Test::Is(value) => low == value,
            Test::Not(value) => low != value,
            Test::AnyBit(bits) => low & bits != 0,
            Test::NotNull => whole != 0,
        }
    }
}

/// Returns the lines that hold for commands with these calls.
pub fn lines(calls: Calls) -> impl Iterator<Item = &'static Line> + Clone {
    let (open, more) = match calls {
        Calls::Usual => (&[][..], &[][..]),
        Calls::Debug => (table::DEBUGGERS, table::WHILE_DEBUGGING),
    };
    TABLE.iter().filter(move |line| !open.contains(&line.name)).chain(more)
}

/// Returns what the table says about a call on a foreign architecture, or on
/// the one the filter is for. `None` is: it goes ahead.
pub fn decide(
    calls: Calls,
    filter: Arch,
    audit: u32,
    number: u32,
    arguments: &[u64; 6],
) -> Option<Effect> {
    if audit != filter.audit() || is_x32(filter, number) {
        return Some(Effect::Deny);
    }
    if number > LAST_KNOWN {
        return Some(Effect::Absent);
    }
    let line = lines(calls).find(|line| {
        line.number(filter) == Some(number) && line.when.iter().all(|test| test.holds(arguments))
    });
    line.map(|line| line.effect)
}

/// Returns whether a number is of the second, 32-bit entry of x86_64.
fn is_x32(arch: Arch, number: u32) -> bool {
    arch == Arch::X86_64 && number >= X32
}

const X32: u32 = 0x4000_0000;
/// The last call that was looked at when the table was written, on every
/// architecture. What comes later is not there until somebody has looked at it.
const LAST_KNOWN: u32 = 470;

/// One instruction of a filter, as the kernel takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    code: u16,
    on_true: u8,
    on_false: u8,
    value: u32,
}

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// Where the kernel puts what a filter looks at.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

fn load(at: u32) -> Instruction {
    Instruction { code: LOAD, on_true: 0, on_false: 0, value: at }
}

fn jump(code: u16, value: u32, on_true: u8, on_false: u8) -> Instruction {
    Instruction { code, on_true, on_false, value }
}

fn answer(effect: Option<Effect>) -> Instruction {
    let value = match effect {
        None => ALLOW,
        Some(Effect::Deny) => ERRNO | EPERM,
        Some(Effect::Absent) => ERRNO | ENOSYS,
    };
    Instruction { code: RETURN, on_true: 0, on_false: 0, value }
}

/// Makes the filter for an architecture.
pub fn compile(calls: Calls, arch: Arch) -> Vec<Instruction> {
    let mut program = vec![
        load(ARCH_AT),
        jump(JUMP_EQUAL, arch.audit(), 1, 0),
        answer(Some(Effect::Deny)),
        load(NUMBER_AT),
    ];
    if arch == Arch::X86_64 {
        program.push(jump(JUMP_AT_LEAST, X32, 0, 1));
        program.push(answer(Some(Effect::Deny)));
    }
    program.push(jump(JUMP_AT_LEAST, LAST_KNOWN + 1, 0, 1));
    program.push(answer(Some(Effect::Absent)));
    let mut numbers: Vec<u32> = lines(calls).filter_map(|line| line.number(arch)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    program.extend(search(calls, arch, &numbers));
    program
}

/// Finds a number by halves, so that every call costs a few comparisons.
fn search(calls: Calls, arch: Arch, numbers: &[u32]) -> Vec<Instruction> {
    if let [] | [_] = numbers {
        let Some(&number) = numbers.first() else { return vec![answer(None)] };
        let lines = lines(calls).filter(|line| line.number(arch) == Some(number));
        let bodies: Vec<Instruction> = lines.flat_map(body).collect();
        let past = u8::try_from(bodies.len()).expect("a call has few lines");
        let mut leaf = vec![jump(JUMP_EQUAL, number, 0, past)];
        leaf.extend(bodies);
        leaf.push(answer(None));
        return leaf;
    }
    let (low, high) = numbers.split_at(numbers.len() / 2);
    let low = search(calls, arch, low);
    let mut program = match u8::try_from(low.len()) {
        Ok(past) => vec![jump(JUMP_AT_LEAST, high[0], past, 0)],
        Err(_) => {
            let past = u32::try_from(low.len()).expect("a filter is short");
            vec![jump(JUMP_AT_LEAST, high[0], 0, 1), jump(JUMP, past, 0, 0)]
        }
    };
    program.extend(low);
    program.extend(search(calls, arch, high));
    program
}

/// Returns the tests of a line and its answer; what fails jumps behind them.
fn body(line: &Line) -> Vec<Instruction> {
    // From the last to the first, so that the distance to the end is known.
    let mut reversed = vec![answer(Some(line.effect))];
    for argument in line.when.iter().rev() {
        let past_end = u8::try_from(reversed.len()).expect("a line is short");
        let at = ARGUMENTS_AT + 8 * u32::from(argument.index);
        match argument.test {
            Test::Is(value) => reversed.push(jump(JUMP_EQUAL, value, 0, past_end)),
            Test::Not(value) => reversed.push(jump(JUMP_EQUAL, value, past_end, 0)),
            Test::AnyBit(bits) => reversed.push(jump(JUMP_ANY_BIT, bits, 0, past_end)),
            Test::NotNull => {
                reversed.push(jump(JUMP_EQUAL, 0, past_end, 0));
                reversed.push(load(at + 4));
                reversed.push(jump(JUMP_EQUAL, 0, 0, 2));
            }
        }
        reversed.push(load(at));
    }
    reversed.reverse();
    reversed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel would.
    fn run(program: &[Instruction], audit: u32, number: u32, arguments: &[u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(audit.to_le_bytes());
        data.extend(0u64.to_le_bytes());
        for argument in arguments {
            data.extend(argument.to_le_bytes());
        }
        let mut held = 0u32;
        let mut at = 0;
        loop {
            let Instruction { code, on_true, on_false, value } = program[at];
            let mut jump = |taken: bool| at += usize::from(if taken { on_true } else { on_false });
            match code {
                LOAD => {
                    let bytes = &data[value as usize..value as usize + 4];
                    held = u32::from_le_bytes(bytes.try_into().unwrap());
                }
                JUMP => at += value as usize,
                JUMP_EQUAL => jump(held == value),
                JUMP_AT_LEAST => jump(held >= value),
                JUMP_ANY_BIT => jump(held & value != 0),
                RETURN => return value,
                _ => panic!("unknown instruction"),
            }
            at += 1;
        }
    }

    #[test]
    fn the_filter_does_what_the_table_says_for_every_number_and_architecture() {
        let values = [
            0u64,
            1,
            2,
            10,
            16,
            17,
            29,
            38,
            40,
            262,
            35,
            53,
            60,
            0xffff_ffff,
            0x4_0000,
            0o100,
            0o4755,
            0o2755,
            0o644,
            0x5412,
            0x541c,
            0x5413,
            0x1000_0000,
            0x1_0000_0000,
            0x1_0000_5412,
            0x200_0000,
            u64::MAX,
        ];
        let both = [Calls::Usual, Calls::Debug];
        let all =
            both.into_iter().flat_map(|calls| [(calls, Arch::X86_64), (calls, Arch::Aarch64)]);
        for (calls, arch) in all {
            let program = compile(calls, arch);
            assert!(program.len() < 4096);
            let numbers = (0..600).chain(X32..X32 + 600).chain([u32::MAX]);
            for number in numbers {
                for audit in [Arch::X86_64.audit(), Arch::Aarch64.audit(), 0x4000_0003, 0x4000_0028]
                {
                    for (i, value) in values.iter().enumerate() {
                        let other = values[(i * 7 + number as usize) % values.len()];
                        for arguments in [
                            [*value; 6],
                            [*value, other, *value, other, 0, 0],
                            [other, *value, other, *value, 0, 0],
                        ] {
                            let want = answer(decide(calls, arch, audit, number, &arguments)).value;
                            let got = run(&program, audit, number, &arguments);
                            assert_eq!(
                                got, want,
                                "{calls:?} {arch:?} {audit:x} {number} {arguments:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn examples() {
        let on = |name: &str| {
            TABLE.iter().find(|line| line.name == name).and_then(|line| line.x86_64).unwrap()
        };
        let decide = |name, arguments: [u64; 6]| {
            decide(Calls::Usual, Arch::X86_64, Arch::X86_64.audit(), on(name), &arguments)
        };
        let args = |list: &[u64]| {
            let mut all = [0; 6];
            all[..list.len()].copy_from_slice(list);
            all
        };
        let deny = Some(Effect::Deny);
        let cases: &[(&str, &[u64], Option<Effect>)] = &[
            ("mount", &[], deny),
            ("clone", &[0x11], None),
            ("clone", &[0x11 | 0x1000_0000], deny),
            ("clone3", &[], Some(Effect::Absent)),
            ("openat", &[3, 5, 0o101, 0o644], None),
            ("openat", &[3, 5, 0o101, 0o4755], deny),
            // Without creating, the mode is whatever is in the register.
            ("openat", &[3, 5, 0, 0o4755], None),
            ("chmod", &[1, 0o755], None),
            ("chmod", &[1, 0o4755], deny),
            ("socket", &[1, 1, 0], None),
            ("socket", &[2, 2, 17], None),
            ("socket", &[16, 3, 0], None),
            ("socket", &[16, 3, 9], deny),
            ("socket", &[17, 3, 0], deny),
            ("socket", &[40, 1, 0], deny),
            ("socket", &[2, 1, 262], deny),
            ("ioctl", &[0, 0x5412], deny),
            ("ioctl", &[0, 0xffff_ffff_0000_5412], deny),
            ("ioctl", &[0, 0x5413], None),
            ("personality", &[0xffff_ffff], None),
            ("personality", &[u64::MAX], None),
            ("personality", &[0], None),
            ("personality", &[0x8], None),
            ("personality", &[0x4_0000], deny),
            ("personality", &[0x40_0000], deny),
            ("personality", &[0x4_0008], deny),
            ("personality", &[0xffff_ffff_0004_0000], deny),
            ("prctl", &[53, 0, 2], deny),
            ("prctl", &[53, 0, 4], None),
            ("prctl", &[52, 0, 2], None),
            ("prctl", &[35, 14], deny),
            ("prctl", &[15, 14], None),
            ("prctl", &[38, 1], None),
            ("prlimit64", &[0, 7, 0xdead], None),
            ("prlimit64", &[1, 7, 0], None),
            ("prlimit64", &[1, 7, 0x1_0000_0000], deny),
        ];
        for (name, list, want) in cases {
            assert_eq!(decide(name, args(list)), *want, "{name} {list:x?}");
        }
    }

    #[test]
    fn debugging_opens_what_debuggers_need_and_nothing_else() {
        let arch = Arch::X86_64;
        let decide = |calls, number, arguments: &[u64; 6]| {
            super::decide(calls, arch, arch.audit(), number, arguments)
        };
        for line in TABLE {
            let Some(number) = line.number(arch) else { continue };
            let opened = table::DEBUGGERS.contains(&line.name);
            for arguments in [[0; 6], [u64::MAX; 6]] {
                let usual = decide(Calls::Usual, number, &arguments);
                let debug = decide(Calls::Debug, number, &arguments);
                let is_all = line.name == "perf_event_open" && arguments[1] == u64::MAX;
                let want = if opened && !is_all { None } else { usual };
                assert_eq!(debug, want, "{} {arguments:x?}", line.name);
            }
        }
        // A process, every process of a processor, those of a control group.
        let perf = |arguments| decide(Calls::Debug, 298, &arguments);
        assert_eq!(perf([1, 7, u64::MAX, u64::MAX, 0, 0]), None);
        assert_eq!(perf([1, u64::MAX, 0, u64::MAX, 0, 0]), Some(Effect::Deny));
        assert_eq!(perf([1, 7, 0, u64::MAX, 4, 0]), Some(Effect::Deny));
    }

    /// The numbers against those of the C library, for what it knows.
    #[test]
    #[cfg(target_os = "linux")]
    fn numbers_are_those_of_the_system() {
        let Some(arch) = Arch::native() else { return };
        let known = [
            ("mount", libc::SYS_mount),
            ("umount2", libc::SYS_umount2),
            ("pivot_root", libc::SYS_pivot_root),
            ("chroot", libc::SYS_chroot),
            ("open_tree", libc::SYS_open_tree),
            ("move_mount", libc::SYS_move_mount),
            ("fsopen", libc::SYS_fsopen),
            ("fsconfig", libc::SYS_fsconfig),
            ("fsmount", libc::SYS_fsmount),
            ("fspick", libc::SYS_fspick),
            ("mount_setattr", libc::SYS_mount_setattr),
            ("unshare", libc::SYS_unshare),
            ("setns", libc::SYS_setns),
            ("clone", libc::SYS_clone),
            ("clone3", libc::SYS_clone3),
            ("ptrace", libc::SYS_ptrace),
            ("process_vm_readv", libc::SYS_process_vm_readv),
            ("process_vm_writev", libc::SYS_process_vm_writev),
            ("process_madvise", libc::SYS_process_madvise),
            ("kcmp", libc::SYS_kcmp),
            ("pidfd_getfd", libc::SYS_pidfd_getfd),
            ("prlimit64", libc::SYS_prlimit64),
            ("bpf", libc::SYS_bpf),
            ("perf_event_open", libc::SYS_perf_event_open),
            ("init_module", libc::SYS_init_module),
            ("finit_module", libc::SYS_finit_module),
            ("delete_module", libc::SYS_delete_module),
            ("kexec_load", libc::SYS_kexec_load),
            ("kexec_file_load", libc::SYS_kexec_file_load),
            ("fanotify_init", libc::SYS_fanotify_init),
            ("io_uring_setup", libc::SYS_io_uring_setup),
            ("io_uring_enter", libc::SYS_io_uring_enter),
            ("io_uring_register", libc::SYS_io_uring_register),
            ("add_key", libc::SYS_add_key),
            ("request_key", libc::SYS_request_key),
            ("keyctl", libc::SYS_keyctl),
            ("reboot", libc::SYS_reboot),
            ("swapon", libc::SYS_swapon),
            ("swapoff", libc::SYS_swapoff),
            ("quotactl", libc::SYS_quotactl),
            ("quotactl_fd", libc::SYS_quotactl_fd),
            ("acct", libc::SYS_acct),
            ("syslog", libc::SYS_syslog),
            ("sethostname", libc::SYS_sethostname),
            ("setdomainname", libc::SYS_setdomainname),
            ("vhangup", libc::SYS_vhangup),
            ("settimeofday", libc::SYS_settimeofday),
            ("clock_settime", libc::SYS_clock_settime),
            ("adjtimex", libc::SYS_adjtimex),
            ("clock_adjtime", libc::SYS_clock_adjtime),
            ("userfaultfd", libc::SYS_userfaultfd),
            ("memfd_create", libc::SYS_memfd_create),
            ("move_pages", libc::SYS_move_pages),
            ("migrate_pages", libc::SYS_migrate_pages),
            ("open_by_handle_at", libc::SYS_open_by_handle_at),
            ("name_to_handle_at", libc::SYS_name_to_handle_at),
            ("fchmod", libc::SYS_fchmod),
            ("fchmodat", libc::SYS_fchmodat),
            ("fchmodat2", libc::SYS_fchmodat2),
            ("openat", libc::SYS_openat),
            ("mknodat", libc::SYS_mknodat),
            ("openat2", libc::SYS_openat2),
            ("socket", libc::SYS_socket),
            ("socketpair", libc::SYS_socketpair),
            ("ioctl", libc::SYS_ioctl),
            ("personality", libc::SYS_personality),
        ];
        #[cfg(target_arch = "x86_64")]
        let more = [
            ("iopl", libc::SYS_iopl),
            ("ioperm", libc::SYS_ioperm),
            ("modify_ldt", libc::SYS_modify_ldt),
            ("chmod", libc::SYS_chmod),
            ("open", libc::SYS_open),
            ("creat", libc::SYS_creat),
            ("mknod", libc::SYS_mknod),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let more: [(&str, libc::c_long); 0] = [];
        for (name, number) in known.into_iter().chain(more) {
            let lines = TABLE.iter().filter(|line| line.name == name);
            assert!(lines.clone().count() > 0, "{name}");
            for line in lines {
                assert_eq!(line.number(arch).map(i64::from), Some(number), "{name}");
            }
        }
    }
}
