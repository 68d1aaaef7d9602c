//! Programs that run the command in their arguments.
//!
//! The command inside is what matters, so it is taken out and decided by itself.
//! Some wrappers change nothing about it; others are decided as well.

use crate::shell::known::{base_name, is_system};
use crate::shell::line::{RedirectKind, Simple, Within, Word};
use crate::shell::parse::parse;

/// The most wrappers within each other.
pub(crate) const MAX_DEPTH: usize = 10;
/// The most commands that a line can come to.
pub(crate) const MAX_COMMANDS: usize = 1000;

/// How the inner command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inner {
    /// As words, after so many operands.
    Words(usize),
    /// As words after assignments.
    Env,
    /// As words to which others are added that nobody knows yet.
    Xargs,
    /// As words that are joined and given to a shell, after so many operands.
    Joined(usize),
    /// As the text after `-c`, where there is one.
    Shell,
    /// As the value of `-c`.
    Command,
    /// As all words, joined.
    Eval,
    /// As the first word.
    Trap,
    /// After `-exec` and the like.
    Find,
    /// After `-x` and the like.
    Fd,
    /// After `--args`.
    Gdb,
    /// In a way that is not followed.
    Lost,
}

/// What is known of a wrapper.
struct Row {
    names: &'static [&'static str],
    /// Whether the inner command is all that matters.
    transparent: bool,
    inner: Inner,
    /// Options without a value.
    bare: &'static [&'static str],
    /// Options with one.
    values: &'static [&'static str],
    /// Options by which there is no inner command at all.
    none: &'static [&'static str],
    /// Whether the inner command may start in another directory: always, or by
    /// one of these options.
    moves: &'static [&'static str],
}

const ROW: Row = Row {
    names: &[],
    transparent: false,
    inner: Inner::Words(0),
    bare: &[],
    values: &[],
    none: &[],
    moves: &[],
};

static TABLE: &[Row] = &[
    Row {
        names: &["env"],
        transparent: true,
        inner: Inner::Env,
        bare: &["-i", "--ignore-environment", "-0", "--null", "-v", "--debug", "-"],
        values: &["-u", "--unset", "-C", "--chdir"],
        moves: &["-C", "--chdir"],
        ..ROW
    },
    Row {
        names: &["timeout", "gtimeout"],
        transparent: true,
        inner: Inner::Words(1),
        bare: &["--preserve-status", "--foreground", "-v", "--verbose", "-p", "-f"],
        values: &["-k", "--kill-after", "-s", "--signal"],
        ..ROW
    },
    Row {
        names: &["nice"],
        transparent: true,
        values: &["-n", "--adjustment"],
        bare: &["-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"],
        ..ROW
    },
    Row { names: &["nohup"], transparent: true, ..ROW },
    Row {
        names: &["time"],
        transparent: true,
        bare: &["-p", "--portability", "-v", "--verbose", "-q", "--quiet"],
        values: &["-f", "--format"],
        ..ROW
    },
    Row { names: &["command"], transparent: true, bare: &["-p"], none: &["-v", "-V"], ..ROW },
    Row { names: &["builtin", "noglob", "nocorrect", "-"], transparent: true, ..ROW },
    Row {
        names: &["stdbuf"],
        transparent: true,
        values: &["-i", "--input", "-o", "--output", "-e", "--error"],
        ..ROW
    },
    Row {
        names: &["ionice"],
        transparent: true,
        bare: &["-t", "--ignore"],
        values: &["-c", "--class", "-n", "--classdata"],
        none: &["-p", "--pid", "-P", "--pgid", "-u", "--uid"],
        ..ROW
    },
    Row {
        names: &["setsid"],
        transparent: true,
        bare: &["-c", "--ctty", "-f", "--fork", "-w", "--wait"],
        ..ROW
    },
    Row {
        names: &["chrt"],
        transparent: true,
        inner: Inner::Words(1),
        bare: &[
            "-f",
            "--fifo",
            "-r",
            "--rr",
            "-o",
            "--other",
            "-b",
            "--batch",
            "-i",
            "--idle",
            "-d",
            "--deadline",
            "-v",
            "--verbose",
            "-R",
            "--reset-on-fork",
        ],
        values: &["-T", "--sched-runtime", "-P", "--sched-period", "-D", "--sched-deadline"],
        none: &["-p", "--pid", "-m", "--max"],
        ..ROW
    },
    Row {
        names: &["taskset"],
        transparent: true,
        inner: Inner::Words(1),
        bare: &["-c", "--cpu-list", "-a", "--all-tasks"],
        none: &["-p", "--pid"],
        ..ROW
    },
    Row { names: &["unbuffer"], transparent: true, bare: &["-p"], ..ROW },
    // Those that matter themselves.
    Row {
        names: &["sudo"],
        inner: Inner::Env,
        bare: &[
            "-A",
            "-b",
            "-E",
            "-H",
            "-i",
            "-K",
            "-k",
            "-n",
            "-P",
            "-S",
            "-s",
            "-B",
            "-N",
            "--askpass",
            "--background",
            "--preserve-env",
            "--set-home",
            "--login",
            "--non-interactive",
            "--stdin",
            "--shell",
            "--reset-timestamp",
        ],
        values: &[
            "-u",
            "--user",
            "-g",
            "--group",
            "-h",
            "--host",
            "-p",
            "--prompt",
            "-C",
            "--close-from",
            "-r",
            "--role",
            "-t",
            "--type",
            "-T",
            "--command-timeout",
            "-U",
            "--other-user",
            "-D",
            "--chdir",
            "-R",
            "--chroot",
        ],
        none: &["-e", "--edit", "-l", "--list", "-v", "--validate", "-V", "--version"],
        moves: &["-D", "--chdir", "-i", "--login", "-R", "--chroot"],
        ..ROW
    },
    Row {
        names: &["doas"],
        inner: Inner::Env,
        bare: &["-n", "-s", "-L"],
        values: &["-u", "-C"],
        ..ROW
    },
    Row {
        names: &["pkexec"],
        bare: &["--disable-internal-agent", "--keep-cwd"],
        values: &["--user"],
        moves: &["*"],
        ..ROW
    },
    Row { names: &["su", "runuser", "sg"], inner: Inner::Command, moves: &["*"], ..ROW },
    Row {
        names: &["xargs"],
        inner: Inner::Xargs,
        bare: &[
            "-0",
            "--null",
            "-r",
            "--no-run-if-empty",
            "-t",
            "--verbose",
            "-p",
            "--interactive",
            "-x",
            "--exit",
            "-o",
            "--open-tty",
        ],
        values: &[
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-L",
            "-s",
            "--max-chars",
            "-a",
            "--arg-file",
            "-d",
            "--delimiter",
            "-E",
            "-I",
        ],
        ..ROW
    },
    Row { names: &["find"], inner: Inner::Find, ..ROW },
    Row { names: &["fd", "fdfind"], inner: Inner::Fd, ..ROW },
    Row { names: SHELLS, inner: Inner::Shell, ..ROW },
    Row {
        names: &["watch"],
        inner: Inner::Joined(0),
        bare: &[
            "-b",
            "--beep",
            "-c",
            "--color",
            "-C",
            "--no-color",
            "-d",
            "--differences",
            "-e",
            "--errexit",
            "-g",
            "--chgexit",
            "-p",
            "--precise",
            "-r",
            "--no-rerun",
            "-t",
            "--no-title",
            "-w",
            "--no-wrap",
            "-x",
            "--exec",
        ],
        values: &["-n", "--interval", "-q", "--equexit"],
        ..ROW
    },
    Row {
        names: &["parallel", "entr", "expect", "at", "batch", "fish", "csh", "tcsh", "nu", "pwsh"],
        inner: Inner::Lost,
        ..ROW
    },
    Row {
        names: &["ssh"],
        inner: Inner::Joined(1),
        bare: &[
            "-4", "-6", "-A", "-a", "-C", "-f", "-G", "-g", "-K", "-k", "-M", "-N", "-n", "-q",
            "-s", "-T", "-t", "-V", "-v", "-X", "-x", "-Y", "-y",
        ],
        values: &[
            "-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O",
            "-o", "-P", "-p", "-Q", "-R", "-S", "-W", "-w",
        ],
        moves: &["*"],
        ..ROW
    },
    Row { names: &["script"], inner: Inner::Command, ..ROW },
    Row {
        names: &["strace", "ltrace"],
        bare: &[
            "-f", "-ff", "-F", "-c", "-C", "-d", "-i", "-k", "-n", "-N", "-q", "-qq", "-r", "-t",
            "-tt", "-T", "-v", "-w", "-x", "-xx", "-y", "-yy", "-Y", "-z", "-Z", "-D",
        ],
        values: &[
            "-e", "-o", "-p", "-s", "-u", "-a", "-E", "-P", "-S", "-b", "-I", "-X", "-O", "-U",
            "-l",
        ],
        ..ROW
    },
    Row { names: &["gdb", "lldb"], inner: Inner::Gdb, ..ROW },
    Row {
        names: &["chroot"],
        inner: Inner::Words(1),
        bare: &["--skip-chdir"],
        values: &["--userspec", "--groups"],
        moves: &["*"],
        ..ROW
    },
    Row {
        names: &["unshare"],
        bare: &[
            "-m",
            "--mount",
            "-u",
            "--uts",
            "-i",
            "--ipc",
            "-n",
            "--net",
            "-p",
            "--pid",
            "-U",
            "--user",
            "-C",
            "--cgroup",
            "-T",
            "--time",
            "-f",
            "--fork",
            "-r",
            "--map-root-user",
            "-c",
            "--map-current-user",
            "--map-auto",
            "--mount-proc",
            "--keep-caps",
            "--kill-child",
        ],
        values: &[
            "--map-user",
            "--map-group",
            "--map-users",
            "--map-groups",
            "--propagation",
            "--setgroups",
            "-R",
            "--root",
            "-w",
            "--wd",
            "-S",
            "--setuid",
            "-G",
            "--setgid",
        ],
        moves: &["-R", "--root", "-w", "--wd"],
        ..ROW
    },
    Row {
        names: &["nsenter"],
        bare: &[
            "-a",
            "--all",
            "-m",
            "--mount",
            "-u",
            "--uts",
            "-i",
            "--ipc",
            "-n",
            "--net",
            "-p",
            "--pid",
            "-U",
            "--user",
            "-C",
            "--cgroup",
            "-F",
            "--no-fork",
            "--preserve-credentials",
            "-r",
            "--root",
            "-w",
            "--wd",
        ],
        values: &["-t", "--target", "-S", "--setuid", "-G", "--setgid"],
        moves: &["*"],
        ..ROW
    },
    Row {
        names: &["flock"],
        inner: Inner::Words(1),
        bare: &[
            "-s",
            "--shared",
            "-x",
            "-e",
            "--exclusive",
            "-n",
            "--nonblock",
            "--nb",
            "-u",
            "--unlock",
            "-o",
            "--close",
            "-F",
            "--no-fork",
            "--verbose",
        ],
        values: &["-w", "--timeout", "--wait", "-E", "--conflict-exit-code"],
        ..ROW
    },
    Row { names: &["busybox", "toybox"], ..ROW },
    Row { names: &["exec"], bare: &["-c", "-l"], values: &["-a"], ..ROW },
    Row { names: &["eval"], inner: Inner::Eval, ..ROW },
    Row { names: &["trap"], inner: Inner::Trap, ..ROW },
    Row {
        names: &[
            "fakeroot",
            "catchsegv",
            "eatmydata",
            "dbus-run-session",
            "proxychains",
            "proxychains4",
            "torsocks",
            "firejail",
            "bwrap",
            "proot",
            "systemd-run",
            "prlimit",
            "numactl",
            "faketime",
            "xvfb-run",
            "caffeinate",
            "systemd-inhibit",
            "cgexec",
            "valgrind",
            "perf",
            "rlwrap",
            "winpty",
        ],
        inner: Inner::Words(0),
        ..ROW
    },
];

/// The shells that take a line with `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "zsh", "mksh", "rbash"];

/// What a command comes to once it is unwrapped.
#[derive(Debug)]
pub(crate) struct Unwrapped {
    /// The commands inside.
    pub(crate) inner: Vec<(Simple, bool)>,
    /// Whether those are all that matters.
    pub(crate) transparent: bool,
}

/// Returns whether a wrapper is decided itself too.
pub(crate) fn is_opaque(name: &str) -> bool {
    TABLE.iter().any(|row| {
        !row.transparent
            && row.names.contains(&name)
            && !matches!(row.inner, Inner::Find | Inner::Fd)
    })
}

/// Returns whether a program is a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Returns whether a shell has neither a line nor a file to run, and so runs
/// what it reads.
pub(crate) fn reads_commands(simple: &Simple) -> bool {
    let (line, operands) = shell_words(simple.words.get(1..).unwrap_or_default());
    let prints = ["--version", "--help"];
    let reads = |word: &Word| matches!(word.known(), Some("-" | "/dev/stdin" | "/dev/fd/0"));
    !line
        && operands.first().is_none_or(reads)
        && !simple.words.iter().any(|word| word.known().is_some_and(|w| prints.contains(&w)))
}

/// Takes the command out of a wrapper; `None` where there is none.
///
/// The flag with each inner command is whether it may start elsewhere.
pub(crate) fn unwrap(simple: &Simple) -> Option<Unwrapped> {
    let program = simple.words.first()?.known()?;
    let name = base_name(program);
    let row = TABLE.iter().find(|row| row.names.contains(&name))?;
    let words = &simple.words[1..];
    let always = row.moves.contains(&"*");
    let mut found = match row.inner {
        Inner::Find => find(words),
        Inner::Fd => fd(words),
        Inner::Shell => shell(simple),
        // Without a command these start a shell, which runs what it reads.
        Inner::Command => value_of(words, &["-c", "--command", "--session-command"])
            .map_or_else(|| vec![lost(simple)], |word| text(&word)),
        Inner::Eval => joined(words),
        Inner::Trap => words
            .iter()
            .find(|word| word.known() != Some("--"))
            .filter(|word| !word.known().is_some_and(|w| w.is_empty() || w.starts_with('-')))
            .filter(|_| words.len() > 1)
            .map(text)
            .unwrap_or_default(),
        Inner::Gdb => {
            let at = words.iter().position(|word| word.known() == Some("--args"));
            at.map(|at| plain(&words[at + 1..])).unwrap_or_default()
        }
        Inner::Lost => vec![lost(simple)],
        Inner::Words(_) | Inner::Env | Inner::Xargs | Inner::Joined(_) => {
            return by_options(simple, row, always);
        }
    };
    if found.is_empty() {
        return None;
    }
    let away = matches!(row.inner, Inner::Find)
        && words.iter().any(|w| matches!(w.known(), Some("-execdir" | "-okdir")));
    for inner in &mut found {
        inner.within.insert(0, Within::Wrapper);
    }
    let inner = found.into_iter().map(|simple| (simple, always || away)).collect();
    Some(Unwrapped { inner, transparent: false })
}

/// Follows a wrapper whose options come before the command.
fn by_options(simple: &Simple, row: &Row, always: bool) -> Option<Unwrapped> {
    let words = &simple.words[1..];
    let mut moved = always;
    let mut clear = true;
    let mut replaces: Option<String> = None;
    let mut execs = false;
    let mut shells = false;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            // What is not known may be an option, or the command.
            break;
        };
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || (text == "-" && !row.bare.contains(&"-")) {
            break;
        }
        if row.none.iter().any(|none| is_option(text, none)) {
            return None;
        }
        let option = read_option(text, row);
        moved |= row.moves.iter().any(|moves| is_option(text, moves));
        execs |= matches!(text, "-x" | "--exec");
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let has = |option: &&str| {
            option.len() == 2 && letters.is_some_and(|letters| letters.contains(&option[1..]))
        };
        // A letter may stand in the middle of others, or before its value.
        moved |= row.moves.iter().any(has);
        let asks = matches!(row.names[0], "sudo" | "doas");
        shells |= asks && (matches!(text, "--login" | "--shell") || has(&"-i") || has(&"-s"));
        if row.inner == Inner::Xargs {
            replaces = replacement(text, words.get(at + 1)).or(replaces);
        }
        match option {
            Some(width) => at += width,
            None if row.inner == Inner::Xargs && is_xargs_optional(text) => at += 1,
            None => {
                clear = false;
                at += 1;
            }
        }
    }
    if !clear {
        // What an unknown option takes is not known, so neither is the command.
        return Some(Unwrapped { inner: vec![(wrapped(lost(simple)), true)], transparent: false });
    }
    let skip = match row.inner {
        Inner::Words(skip) | Inner::Joined(skip) => skip,
        _ => 0,
    };
    let mut rest = words.get(at + skip..).unwrap_or_default();
    if words[at.min(words.len())..].iter().take(skip).any(|word| word.known().is_none()) && skip > 0
    {
        // A word that may be several could hold the command.
        return Some(Unwrapped { inner: vec![(wrapped(lost(simple)), true)], transparent: false });
    }
    if let (Some("-c" | "--command"), "flock") = (rest.first().and_then(Word::known), row.names[0])
    {
        let inner = rest.get(1).map(text).unwrap_or_default();
        let inner = inner.into_iter().map(|simple| (wrapped(simple), moved)).collect();
        return Some(Unwrapped { inner, transparent: false });
    }
    let mut assignments = Vec::new();
    if row.inner == Inner::Env {
        while let Some(Some((name, value))) =
            rest.first().map(|word| word.known().and_then(|text| text.split_once('=')))
        {
            assignments.push((name.to_owned(), Word::Known(value.to_owned())));
            rest = &rest[1..];
        }
    }
    if rest.is_empty() && row.inner != Inner::Xargs {
        let shell = ["chroot", "unshare", "nsenter", "ssh"].contains(&row.names[0]) || shells;
        // Without a command these start a shell, which runs what it reads.
        return shell
            .then(|| Unwrapped { inner: vec![(wrapped(lost(simple)), true)], transparent: false });
    }
    let trusted = simple.words[0].known().is_some_and(is_system);
    let transparent = row.transparent && trusted;
    let mut inner = match row.inner {
        Inner::Joined(_) if !(execs && row.names[0] == "watch") => joined(rest),
        Inner::Xargs => xargs(rest, replaces.as_deref()),
        _ => plain(rest),
    };
    for command in &mut inner {
        command.within.insert(0, Within::Wrapper);
        command.assignments.splice(0..0, assignments.iter().cloned());
        if transparent {
            // Nobody else answers for what stands around a transparent wrapper.
            command.assignments.splice(0..0, simple.assignments.iter().cloned());
            command.redirects.extend(simple.redirects.iter().cloned());
            command.text.clone_from(&simple.text);
        }
    }
    let inner = inner.into_iter().map(|simple| (simple, moved)).collect();
    Some(Unwrapped { inner, transparent })
}

fn is_option(text: &str, option: &str) -> bool {
    text == option
        || (option.starts_with("--")
            && text.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
}

/// Returns how many words an option takes; `None` when it is not known.
fn read_option(text: &str, row: &Row) -> Option<usize> {
    if row.bare.contains(&text) {
        return Some(1);
    }
    if row.values.contains(&text) {
        return Some(2);
    }
    if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
        let known = row.values.contains(&name) || row.bare.contains(&name);
        return known.then_some(1);
    }
    if text.starts_with("--") {
        return None;
    }
    // A cluster: letters without values, the last one perhaps with one.
    for (at, letter) in text.char_indices().skip(1) {
        let name = format!("-{letter}");
        if row.values.contains(&name.as_str()) {
            let attached = at + letter.len_utf8() < text.len();
            return Some(if attached { 1 } else { 2 });
        }
        if !row.bare.contains(&name.as_str()) {
            return None;
        }
    }
    Some(1)
}

/// Returns the text that `xargs` replaces, where an option says so.
fn replacement(text: &str, next: Option<&Word>) -> Option<String> {
    if text == "-I" {
        return Some(next.and_then(Word::known).unwrap_or_default().to_owned());
    }
    if text == "-i" || text == "--replace" {
        return Some("{}".to_owned());
    }
    let attached = ["-I", "-i", "--replace="].iter().find_map(|option| text.strip_prefix(option));
    attached.map(str::to_owned)
}

/// Returns whether an option of `xargs` has its value attached or none.
fn is_xargs_optional(text: &str) -> bool {
    ["-i", "-l", "-e", "--replace", "--max-lines", "--eof", "--process-slot-var"]
        .iter()
        .any(|option| text.starts_with(option))
}

fn xargs(words: &[Word], replaces: Option<&str>) -> Vec<Simple> {
    let echo = [Word::Known("echo".to_owned())];
    let words = if words.is_empty() { &echo[..] } else { words };
    let unknown = || Word::Unknown { raw: "what xargs reads".to_owned() };
    let mut words = words.to_vec();
    match replaces {
        Some(mark) => {
            for word in &mut words {
                let holds = word.known().is_some_and(|text| mark.is_empty() || text.contains(mark));
                if holds {
                    *word = unknown();
                }
            }
        }
        None => words.push(unknown()),
    }
    plain(&words)
}

fn find(words: &[Word]) -> Vec<Simple> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if matches!(words[at].known(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            let rest = &words[at + 1..];
            let end = |(i, word): (usize, &Word)| match word.known() {
                Some(";") => true,
                Some("+") => i > 0 && rest[i - 1].known() == Some("{}"),
                _ => false,
            };
            let length = rest.iter().enumerate().position(end).unwrap_or(rest.len());
            found.extend(plain(&placed(&rest[..length], &["{}"], false)));
            at += length + 1;
        }
        at += 1;
    }
    found
}

fn fd(words: &[Word]) -> Vec<Simple> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
        let long = text.starts_with("--exec");
        if short || long {
            let mut rest = words[at + 1..].to_vec();
            if let Some((_, first)) = text.split_once('=').filter(|_| long) {
                rest.insert(0, Word::Known(first.to_owned()));
            }
            let length = rest.iter().position(|word| word.known() == Some(";"));
            let marks = ["{}", "{/}", "{//}", "{.}", "{/.}"];
            let rest = placed(&rest[..length.unwrap_or(rest.len())], &marks, true);
            found.extend(plain(&rest));
        }
    }
    found
}

/// Replaces the marks for a file by a word that nobody knows yet.
fn placed(words: &[Word], marks: &[&str], append: bool) -> Vec<Word> {
    let unknown = || Word::Unknown { raw: "{}".to_owned() };
    let mut any = false;
    let mut words: Vec<Word> = words
        .iter()
        .map(|word| match word.known() {
            Some(text) if marks.iter().any(|mark| text.contains(mark)) => {
                any = true;
                unknown()
            }
            _ => word.clone(),
        })
        .collect();
    if append && !any {
        words.push(unknown());
    }
    words
}

/// Reads the words of a shell: whether it has a `-c`, and its operands.
fn shell_words(words: &[Word]) -> (bool, &[Word]) {
    let mut line = false;
    let mut at = 0;
    while let Some(text) = words.get(at).and_then(Word::known) {
        if text == "--" || text == "-" {
            // A single dash ends the options of a shell as well.
            at += usize::from(text == "--" || words.len() > at + 1);
            break;
        }
        if !text.starts_with(['-', '+']) || text.len() < 2 {
            break;
        }
        if text.starts_with("--") {
            line |= text == "--command" || text.starts_with("--command=");
            at += if matches!(text, "--rcfile" | "--init-file") { 2 } else { 1 };
            continue;
        }
        line |= text.starts_with('-') && text.contains('c');
        // `-o` and `-O` take a word each.
        let takes = text.chars().skip(1).filter(|c| matches!(c, 'o' | 'O')).count();
        at += 1 + takes;
    }
    (line, words.get(at..).unwrap_or_default())
}

fn shell(simple: &Simple) -> Vec<Simple> {
    let words = &simple.words[1..];
    let (line, operands) = shell_words(words);
    if line {
        return operands.first().map(text).unwrap_or_default();
    }
    if !reads_commands(simple) {
        return Vec::new();
    }
    // Text that stands in the line itself can be looked at.
    let given = simple.redirects.iter().rev().find(|redirect| {
        redirect.fd.as_deref().is_none_or(|fd| fd == "0")
            && matches!(redirect.kind, RedirectKind::Text | RedirectKind::Read)
    });
    match given {
        Some(redirect) if redirect.kind == RedirectKind::Text => text(&redirect.target),
        _ => vec![unknown_command("what the shell reads")],
    }
}

/// Returns the value of the first of some options.
fn value_of(words: &[Word], options: &[&str]) -> Option<Word> {
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.known() else {
            return Some(Word::Unknown { raw: word.to_string() });
        };
        if let Some(value) = options.iter().find_map(|option| {
            option.starts_with("--").then(|| text.strip_prefix(&format!("{option}="))).flatten()
        }) {
            return Some(Word::Known(value.to_owned()));
        }
        let cluster = text.starts_with('-') && !text.starts_with("--") && text.contains('c');
        if options.contains(&text) || (cluster && text.ends_with('c')) {
            return words.get(at + 1).cloned();
        }
        if cluster {
            let at = text.find('c').unwrap_or_default();
            return Some(Word::Known(text[at + 1..].to_owned()));
        }
    }
    None
}

/// Reads a word as a line of its own.
fn text(word: &Word) -> Vec<Simple> {
    match word.known().map(parse) {
        Some(Ok(line)) => line.commands,
        _ => vec![unknown_command(&word.to_string())],
    }
}

/// Reads words as a line, as a program does that gives them to a shell.
fn joined(words: &[Word]) -> Vec<Simple> {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match known {
        Some(words) => text(&Word::Known(words.join(" "))),
        None => {
            let raw: Vec<String> = words.iter().map(Word::to_string).collect();
            vec![unknown_command(&raw.join(" "))]
        }
    }
}

/// Reads words as a command.
fn plain(words: &[Word]) -> Vec<Simple> {
    if words.is_empty() {
        return Vec::new();
    }
    let shown: Vec<String> = words.iter().map(Word::to_string).collect();
    vec![Simple {
        words: words.to_vec(),
        assignments: Vec::new(),
        redirects: Vec::new(),
        text: shown.join(" "),
        within: Vec::new(),
        redefined: false,
    }]
}

fn wrapped(mut simple: Simple) -> Simple {
    simple.within.insert(0, Within::Wrapper);
    simple
}

/// Returns a command that could be any.
fn lost(simple: &Simple) -> Simple {
    unknown_command(&simple.text)
}

/// Returns a command that could be any, to be shown as `raw`.
pub(crate) fn unknown_command(raw: &str) -> Simple {
    Simple {
        words: vec![Word::Unknown { raw: raw.to_owned() }],
        assignments: Vec::new(),
        redirects: Vec::new(),
        text: raw.to_owned(),
        within: Vec::new(),
        redefined: false,
    }
}
