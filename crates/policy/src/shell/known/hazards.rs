//! By what a program does more than its name says: options, arguments and
//! subcommands that run other programs, write files or change what follows.
//!
//! A rule that allows a program without a question does not cover these, unless
//! its pattern names them.

use crate::shell::args::Flag;
use crate::shell::facts::Facts;
use crate::shell::known::wrappers;
use crate::shell::line::{RedirectKind, Word};

/// Something a command does beyond what its name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The option, word or operator that does it; a pattern with it names it.
    pub what: String,
    /// What it does; follows "it".
    pub why: &'static str,
}

/// What makes a command dangerous.
enum What {
    /// The program as such.
    Program,
    /// Any of these options.
    Flags(&'static [&'static str]),
    /// One of these as the first operand.
    Sub(&'static [&'static str]),
    /// Any of these options before the first operand.
    Globals(&'static [&'static str]),
    /// Any of these options after one of these first operands.
    SubFlags(&'static [&'static str], &'static [&'static str]),
    /// More operands than so many.
    Operands(usize),
    /// No operand at all: the program reads what it runs.
    NoOperand,
    /// An operand that begins so.
    Begins(&'static [&'static str]),
    /// An operand, or the value of one of these options, that looks so.
    Text(&'static [&'static str], fn(&str) -> bool),
    /// A script that looks so: the values of the first option or, where neither
    /// option is there, the first operand.
    Script(&'static str, &'static str, fn(&str) -> bool),
}

use What::{Begins, Flags, Globals, NoOperand, Operands, Program, Script, Sub, SubFlags, Text};

type Row = (&'static [&'static str], What, &'static str);

const RUNS: &str = "runs another program";
const WRITES: &str = "writes a file";
const CODE: &str = "runs code that is given as an argument";
const CHANGES: &str = "changes what the rest of the line does";
const READS_CODE: &str = "runs what it reads";
const SENDS: &str = "sends a file over the network";

static TABLE: &[Row] = &[
    // What changes the shell itself.
    (
        &[
            "eval",
            "source",
            ".",
            "exec",
            "trap",
            "set",
            "shopt",
            "enable",
            "hash",
            "export",
            "declare",
            "typeset",
            "readonly",
            "local",
            "unset",
            "read",
            "mapfile",
            "readarray",
            "alias",
            "unalias",
            "let",
            "getopts",
            "complete",
            "compgen",
            "compopt",
            "bind",
            "history",
            "fc",
            "ulimit",
            "umask",
            "coproc",
            "((",
            "setopt",
            "unsetopt",
            "autoload",
            "caller",
            "logout",
            "suspend",
        ],
        Program,
        CHANGES,
    ),
    (&["printf"], Flags(&["-v"]), CHANGES),
    (&["printf"], Text(&[], |text| text.contains("%n")), CHANGES),
    (
        &["[[", "test", "[", "printf", "let", "read", "declare", "typeset", "unset", "export"],
        Text(&["-v"], |text| text.contains("$(") || text.contains('`')),
        "can run what stands in its argument, because the shell reads it again",
    ),
    // Programs whose work is to write.
    (&["tee", "sponge"], Program, WRITES),
    (&["dd"], Begins(&["of="]), WRITES),
    (&["truncate", "fallocate", "shred"], Program, "changes files"),
    // Programs that run others.
    (
        &[
            "parallel",
            "expect",
            "at",
            "batch",
            "crontab",
            "systemd-run",
            "start-stop-daemon",
            "screen",
            "tmux",
            "dtach",
            "entr",
            "inotifywait",
            "socat",
            "gdbserver",
        ],
        Program,
        RUNS,
    ),
    (&["find"], Flags(&["-exec", "-execdir", "-ok", "-okdir"]), RUNS),
    (&["find"], Flags(&["-delete"]), "removes files"),
    (&["find"], Flags(&["-fprint", "-fprint0", "-fprintf", "-fls"]), WRITES),
    (&["fd", "fdfind"], Flags(&["-x", "--exec", "-X", "--exec-batch"]), RUNS),
    (&["sort"], Flags(&["-o"]), WRITES),
    (&["sort"], Flags(&["--compress-program"]), RUNS),
    (&["uniq"], Operands(1), "writes its second file"),
    (&["xxd"], Operands(1), "writes its second file"),
    (&["xxd"], Flags(&["-r", "-revert", "--revert"]), "turns text into other data"),
    (&["tree"], Flags(&["-o", "--output", "-R"]), WRITES),
    (&["file"], Flags(&["-C", "--compile"]), WRITES),
    (&["file"], Flags(&["-z", "-Z", "--uncompress", "--uncompress-noreport"]), RUNS),
    (&["split", "csplit"], Program, "writes files"),
    // Text that is a program.
    (&["sed"], Flags(&["-i"]), "changes files in place"),
    (&["sed"], Flags(&["-f"]), "runs commands from a file"),
    (
        &["sed"],
        Script("-e", "-f", sed_script),
        "has a command that writes a file or runs a program",
    ),
    (
        &["awk", "gawk", "mawk", "nawk"],
        Flags(&["-f", "-E", "--exec", "-i", "-l", "--load"]),
        "runs code from a file",
    ),
    (
        &["gawk", "awk"],
        Flags(&["-d", "--dump-variables", "-o", "--pretty-print", "-p", "--profile"]),
        WRITES,
    ),
    (
        &["awk", "gawk", "mawk", "nawk"],
        Script("-e", "-f", awk_script),
        "has code that runs a program, or reads or writes files",
    ),
    (&["python", "python3", "pypy", "pypy3"], Flags(&["-c"]), CODE),
    (&["python", "python3", "pypy", "pypy3"], Flags(&["-m"]), "runs a module"),
    (&["python", "python3", "pypy", "pypy3"], Flags(&["-i"]), READS_CODE),
    (&["perl"], Flags(&["-e", "-E", "-i", "-n", "-p"]), CODE),
    (&["perl"], Flags(&["-M", "-m", "-I", "-x", "-d"]), "loads code"),
    (&["ruby"], Flags(&["-e", "-i", "-n", "-p"]), CODE),
    (&["ruby"], Flags(&["-r", "--require", "-I", "-x"]), "loads code"),
    (&["node", "nodejs"], Flags(&["-e", "-p", "-pe", "-i", "--interactive"]), CODE),
    (
        &["node", "nodejs"],
        Flags(&[
            "-r",
            "--import",
            "--loader",
            "--experimental-loader",
            "--env-file",
            "--inspect",
            "--inspect-brk",
        ]),
        "loads code",
    ),
    (&["php"], Flags(&["-r", "-B", "-R", "-E", "-F", "-a", "-d", "-c", "-z"]), CODE),
    (&["lua", "luajit"], Flags(&["-e", "-l", "-i"]), CODE),
    (&["deno"], Sub(&["eval", "repl"]), CODE),
    (&["bun"], Flags(&["-e", "--eval", "-p", "--print", "--preload", "-r"]), CODE),
    (&["R", "Rscript"], Flags(&["-e"]), CODE),
    (&["osascript"], Program, CODE),
    (
        &[
            "python", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "php", "lua",
            "luajit", "tclsh", "R", "psql", "mysql", "sqlite3", "irb", "ghci", "ocaml", "bc", "dc",
        ],
        NoOperand,
        READS_CODE,
    ),
    (
        &["sqlite3"],
        Text(&["-cmd"], |text| {
            let text = text.to_ascii_lowercase();
            [
                ".shell",
                ".system",
                ".output",
                ".once",
                ".import",
                ".load",
                ".excel",
                ".save",
                ".backup",
                ".read",
                "load_extension",
                "writefile",
                "edit(",
            ]
            .iter()
            .any(|word| text.contains(word))
        }),
        "has a command that runs a program or writes a file",
    ),
    (
        &["psql"],
        Text(&["-c", "--command"], |text| {
            text.contains('\\') || text.to_ascii_lowercase().contains("program")
        }),
        RUNS,
    ),
    (
        &["psql"],
        Flags(&["-f", "--file", "-o", "--output", "-L", "--log-file"]),
        "reads or writes files",
    ),
    // Editors and pagers.
    (
        &[
            "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "pico", "joe", "mc",
            "ranger", "vimdiff",
        ],
        Program,
        "can run programs and write files",
    ),
    (&["less", "more", "most"], Program, "can run programs from its prompt"),
    (
        &["man"],
        Flags(&[
            "-P",
            "--pager",
            "-H",
            "--html",
            "-C",
            "--config-file",
            "-X",
            "--gxditview",
            "-T",
            "-Z",
        ]),
        RUNS,
    ),
    // git.
    (&["git"], Globals(&["-c", "--config-env"]), "sets configuration, which can name programs"),
    (&["git"], Globals(&["--exec-path", "-p"]), RUNS),
    (&["git"], Flags(&["--upload-pack", "--receive-pack"]), RUNS),
    (&["git"], Globals(&["--git-dir", "--work-tree"]), "takes its configuration from elsewhere"),
    (&["git"], Flags(&["--ext-diff", "--textconv", "--open-files-in-pager"]), RUNS),
    (&["git"], Flags(&["--output", "--output-directory"]), WRITES),
    (&["git"], Flags(&["--pathspec-from-file"]), "takes its paths from a file"),
    (&["git"], Flags(&["--template", "--separate-git-dir"]), "can install hooks"),
    (&["git"], SubFlags(&["grep"], &["-O"]), RUNS),
    (&["git"], SubFlags(&["push", "ls-remote"], &["--exec"]), RUNS),
    (&["git"], SubFlags(&["rebase"], &["-x", "--exec", "-i", "--interactive"]), RUNS),
    (&["git"], SubFlags(&["clone"], &["-u", "-c", "--config"]), RUNS),
    (&["git"], SubFlags(&["format-patch"], &["-o"]), WRITES),
    (&["git"], SubFlags(&["archive"], &["-o", "--remote", "--exec"]), WRITES),
    (
        &["git"],
        SubFlags(&["add", "commit", "checkout", "reset", "stash"], &["-i", "-e", "--edit"]),
        "opens an editor",
    ),
    (
        &["git"],
        Sub(&[
            "config",
            "bisect",
            "filter-branch",
            "submodule",
            "difftool",
            "mergetool",
            "hook",
            "daemon",
            "instaweb",
            "gui",
            "citool",
            "web--browse",
            "help",
            "credential",
            "send-email",
            "svn",
            "p4",
            "cvsimport",
            "fast-import",
            "upload-pack",
            "receive-pack",
            "shell",
            "maintenance",
            "update-index",
            "interpret-trailers",
            "am",
            "alias",
            "var",
            "init",
            "worktree",
            "sparse-checkout",
            "replace",
            "notes",
        ]),
        "can run programs or change configuration",
    ),
    (&["git"], Begins(&["ext::"]), RUNS),
    // Archives and copies.
    (
        &["tar", "bsdtar"],
        Flags(&[
            "-I",
            "-F",
            "--to-command",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
        ]),
        RUNS,
    ),
    (
        &["tar", "bsdtar"],
        Flags(&["--absolute-names", "-P", "--unlink-first", "--recursive-unlink", "--index-file"]),
        "writes outside of the directory",
    ),
    (&["zip"], Flags(&["-T", "-TT", "--test", "--unzip-command"]), RUNS),
    (&["zip"], Flags(&["-m", "--move"]), "removes files"),
    (&["rsync"], Flags(&["-e", "--rsync-path", "-M", "--early-input"]), RUNS),
    (&["rsync"], Flags(&["--log-file", "--write-batch", "--only-write-batch"]), WRITES),
    (&["scp", "sftp"], Flags(&["-o", "-S", "-F", "-D", "-b"]), RUNS),
    (
        &["ssh"],
        Flags(&["-o", "-F", "-S", "-E", "-I", "-W", "-L", "-R", "-D", "-w", "-P"]),
        "can run programs and open connections",
    ),
    (&["ssh-keygen", "ssh-agent", "ssh-add"], Flags(&["-D", "-s", "-P"]), "loads code"),
    // Searches.
    (&["rg"], Flags(&["--pre", "--hostname-bin", "-z"]), RUNS),
    (&["ag", "ack"], Flags(&["--pager", "--ackrc"]), RUNS),
    (&["jq"], Flags(&["-f", "--from-file", "-L", "--library-path"]), "runs code from a file"),
    (&["yq"], Flags(&["-i", "--inplace", "-s", "--split-exp"]), "changes files in place"),
    // Building.
    (
        &["make", "gmake"],
        Flags(&["--eval", "-E", "-f", "-I", "--include-dir"]),
        "runs rules that are given as an argument",
    ),
    (
        &["make", "gmake"],
        Text(&[], |text| text.contains('=')),
        "sets a variable, which can name programs",
    ),
    (&["cargo"], Flags(&["--config", "-Z"]), "sets configuration, which can name programs"),
    (
        &["cargo"],
        Sub(&["install", "run", "publish", "login", "yank", "owner", "fix"]),
        "runs or publishes programs",
    ),
    (
        &["npm", "pnpm", "yarn", "bun"],
        Flags(&[
            "--script-shell",
            "--node-options",
            "--shell",
            "-c",
            "--call",
            "--userconfig",
            "--globalconfig",
            "--init-module",
            "--git",
        ]),
        RUNS,
    ),
    (
        &["npm", "pnpm", "yarn", "bun"],
        Sub(&[
            "exec", "x", "dlx", "explore", "edit", "config", "set", "publish", "init", "create",
            "link",
        ]),
        RUNS,
    ),
    (&["npx", "bunx", "pnpx", "uvx", "pipx"], Program, "downloads and runs programs"),
    (
        &["go"],
        Flags(&[
            "-exec",
            "-toolexec",
            "-vettool",
            "-overlay",
            "-modfile",
            "-ldflags",
            "-gcflags",
            "-o",
        ]),
        RUNS,
    ),
    (&["go"], Sub(&["run", "generate", "install", "env", "tool", "get"]), RUNS),
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        Flags(&["-wrapper", "-fplugin", "-specs", "-B", "-o"]),
        "runs another program or writes a file",
    ),
    (
        &["terraform", "tofu"],
        Sub(&["apply", "destroy", "import", "taint", "console", "init"]),
        "changes infrastructure",
    ),
    (
        &["pytest", "py.test"],
        Flags(&["-p", "-c", "--rootdir", "--confcutdir", "--pdbcls"]),
        "loads code",
    ),
    (
        &["docker", "podman", "nerdctl"],
        Sub(&[
            "run",
            "exec",
            "build",
            "compose",
            "cp",
            "load",
            "import",
            "plugin",
            "create",
            "container",
            "buildx",
            "start",
        ]),
        "runs programs outside of the sandbox",
    ),
    (
        &["kubectl", "oc"],
        Sub(&[
            "exec",
            "run",
            "apply",
            "cp",
            "delete",
            "edit",
            "proxy",
            "port-forward",
            "debug",
            "create",
            "replace",
            "patch",
            "attach",
        ]),
        "changes or runs something in a cluster",
    ),
    // The network.
    (
        &["curl"],
        Flags(&[
            "-o",
            "-O",
            "-D",
            "-c",
            "--output-dir",
            "--libcurl",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--remote-name-all",
            "-J",
            "--remote-header-name",
            "--etag-save",
            "--hsts",
            "--alt-svc",
        ]),
        WRITES,
    ),
    (&["curl"], Flags(&["-K", "--engine", "--proto-default"]), "takes its options from a file"),
    (
        &["curl"],
        Flags(&[
            "-T",
            "-F",
            "-d",
            "--data-binary",
            "--data-raw",
            "--data-urlencode",
            "--data-ascii",
            "--json",
            "--form-string",
            "--url-query",
        ]),
        SENDS,
    ),
    (&["wget"], Program, WRITES),
    (&["nc", "ncat", "netcat"], Program, "opens connections, and can run programs"),
    (
        &["openssl"],
        Sub(&["s_client", "s_server", "engine", "enc", "rsautl"]),
        "opens connections or writes files",
    ),
    (
        &["openssl"],
        Flags(&["-out", "-engine", "-provider", "-provider-path", "-writerand", "-config"]),
        "writes a file or loads code",
    ),
    // The machine.
    (&["date"], Flags(&["-s", "--set"]), "sets the clock"),
    (&["date"], Text(&[], |text| !text.starts_with('+')), "sets the clock"),
    (&["hostname"], Operands(0), "renames the machine"),
    (&["hostname"], Flags(&["-F", "--file", "-b"]), "renames the machine"),
    (
        &[
            "mount", "umount", "insmod", "modprobe", "sysctl", "iptables", "nft", "reboot",
            "shutdown", "halt", "poweroff",
        ],
        Program,
        "changes the machine",
    ),
    (&["env"], Flags(&["-S", "--split-string"]), "splits a text into a command"),
    (&["time"], Flags(&["-o", "--output"]), WRITES),
    (&["script"], Program, "writes what it shows to a file"),
    (&["strace", "ltrace"], Flags(&["-o", "--output"]), WRITES),
    (&["gdb", "lldb"], Flags(&["-x", "-ex", "--command", "--eval-command", "-o", "-s"]), CODE),
    (&["busctl", "dbus-send", "gdbus"], Program, "talks to other programs"),
    (&["ffmpeg", "convert", "magick", "mogrify"], Program, WRITES),
    (&["patch"], Program, "changes files"),
    (&["xargs"], Flags(&["-a", "--arg-file"]), "takes its words from a file"),
];

/// Variables that change only how things look.
const HARMLESS: &[&str] = &[
    "LC_ALL",
    "LANG",
    "LANGUAGE",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "RUST_BACKTRACE",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "DEBIAN_FRONTEND",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
];

/// Files that a command can write without writing anything.
const NOWHERE: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// Returns everything that a command does beyond what its name says.
pub(crate) fn of(facts: &Facts<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    let mut add = |what: &str, why| {
        let hazard = Hazard { what: what.to_owned(), why };
        if !found.contains(&hazard) {
            found.push(hazard);
        }
    };
    for (names, what, why) in TABLE {
        if names.contains(&facts.name) {
            shows(facts, what, |what| add(what, why));
        }
    }
    if wrappers::is_opaque(facts.name) {
        add(facts.name, RUNS);
    }
    if wrappers::is_shell(facts.name) && wrappers::reads_commands(facts.simple) {
        add("-s", READS_CODE);
    }
    for redirect in &facts.simple.redirects {
        let target = redirect.target.known();
        match redirect.kind {
            RedirectKind::Write | RedirectKind::Append | RedirectKind::Both => {
                if !target.is_some_and(|target| NOWHERE.contains(&target)) {
                    add(">", WRITES);
                }
            }
            RedirectKind::Duplicate => {
                let number = |text: &str| {
                    let digits = text.strip_suffix('-').unwrap_or(text);
                    digits.bytes().all(|b| b.is_ascii_digit())
                };
                if !target.is_some_and(number) {
                    add(">", WRITES);
                }
            }
            RedirectKind::Read => {
                let net = ["/dev/tcp/", "/dev/udp/"];
                if target.is_some_and(|target| net.iter().any(|dir| target.starts_with(dir))) {
                    add("<", "opens a connection");
                }
            }
            RedirectKind::Text => {}
        }
    }
    for (name, value) in &facts.simple.assignments {
        let plain = value.known().is_some_and(|value| !value.contains('/'));
        if !(HARMLESS.contains(&name.as_str()) && plain) {
            add(&format!("{name}="), CHANGES);
        }
    }
    found
}

fn shows(facts: &Facts<'_>, what: &What, mut add: impl FnMut(&str)) {
    let flags = &facts.args.flags;
    let operands = || facts.args.operands.iter().filter_map(|operand| operand.word.known());
    let is_sub = |subs: &[&str]| facts.operand(0).is_some_and(|first| subs.contains(&first));
    match what {
        Flags(list) => any_flag(flags, list, add),
        Globals(list) => any_flag(flags.iter().filter(|flag| flag.global), list, add),
        SubFlags(subs, list) if is_sub(subs) => any_flag(flags, list, add),
        Program => add(facts.name),
        Sub(subs) => {
            if let Some(sub) = facts.operand(0).filter(|first| subs.contains(first)) {
                add(sub);
            }
        }
        SubFlags(..) => {}
        Operands(most) => {
            if let Some(operand) = facts.args.operands.get(*most) {
                add(&operand.word.to_string());
            }
        }
        NoOperand => {
            // An option that prints and ends needs no operand.
            let looks = ["--version", "-V", "-v", "--help", "-h"];
            if facts.args.operands.is_empty()
                && !flags.iter().any(|flag| looks.contains(&&*flag.name))
            {
                add(facts.name);
            }
        }
        Begins(list) => {
            for operand in operands() {
                if let Some(hazard) = list.iter().find(|begin| operand.starts_with(**begin)) {
                    add(hazard);
                }
            }
        }
        Text(values, looks) => {
            let values = flags
                .iter()
                .filter(|flag| values.contains(&&*flag.name))
                .filter_map(|flag| flag.value.as_ref().and_then(Word::known));
            for text in operands().chain(values).filter(|text| looks(text)) {
                add(text);
            }
        }
        Script(text, file, looks) => {
            let named = |name: &'static str| flags.iter().filter(move |flag| flag.name == name);
            let values = named(text).filter_map(|flag| flag.value.as_ref()?.known());
            for text in values.filter(|text| looks(text)) {
                add(text);
            }
            let first = facts.operand(0).filter(|text| looks(text));
            if let Some(first) = first
                && named(text).chain(named(file)).next().is_none()
            {
                add(first);
            }
        }
    }
}

fn any_flag<'f>(
    flags: impl IntoIterator<Item = &'f Flag<'f>>,
    list: &[&str],
    mut add: impl FnMut(&str),
) {
    for flag in flags {
        if let Some(hazard) = list.iter().find(|hazard| flag.is(hazard)) {
            add(hazard);
        }
    }
}

/// Returns whether a sed script might write a file, read another or run a program.
///
/// `w`, `W`, `e`, `r`, `R` and the flags `w` and `e` of `s` do. What is not one of
/// a few shapes that surely do not is taken to.
fn sed_script(text: &str) -> bool {
    !text.split([';', '\n']).all(|part| sed_is_plain(part.trim()))
}

/// Returns whether one sed command is an address with a command of one letter
/// that only handles text, or a replacement with harmless flags.
fn sed_is_plain(part: &str) -> bool {
    let address = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' ' | '~' | '+');
    let rest = part.trim_start_matches(address);
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        // An address by pattern: what follows it is a command of its own.
        Some('/') => match rest[1..].split_once('/') {
            Some((pattern, after)) if !pattern.contains(['\\', '[']) => {
                sed_is_plain(after.trim_start_matches(['I', 'M']))
            }
            _ => false,
        },
        Some(
            'p' | 'd' | 'q' | '=' | 'Q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'z',
        ) => chars.as_str().trim_matches(|c: char| c == ' ' || c == '}').is_empty(),
        Some(kind @ ('s' | 'y')) => {
            let Some(mark) = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\') else {
                return false;
            };
            let body = chars.as_str();
            // An escaped mark, or one in brackets, does not end a part.
            if body.contains(&format!("\\{mark}")) || body.contains('[') {
                return false;
            }
            let parts: Vec<&str> = body.split(mark).collect();
            let harmless = |c: char| c.is_ascii_digit() || "gpiIM".contains(c);
            match (kind, parts.as_slice()) {
                ('s', [_, _, flags]) => flags.trim_end().chars().all(harmless),
                ('y', [_, _, flags]) => flags.trim_end().is_empty(),
                _ => false,
            }
        }
        Some(_) => false,
    }
}

/// Returns whether an awk program might run something, or touch other files.
fn awk_script(text: &str) -> bool {
    // `>` and `|` are comparisons and alternatives too; the text alone does not say.
    ["system", "getline", "|", ">", "close", "@", "\\"].iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts_that_only_change_text_are_plain() {
        for plain in [
            "s/a/b/",
            "s/a/b/g",
            "1,5p",
            "$d",
            "/x/d",
            "/x/,/y/p",
            "s|a|b|",
            "y/ab/cd/",
            "5q",
            "=",
            "s/a b/c d/",
            "$!N",
            "1!G;h;$!d",
        ] {
            assert!(!sed_script(plain), "{plain}");
        }
        for bad in [
            "s/a/b/w out",
            "s/a/b/e",
            "w out",
            "1e id",
            "e",
            "s/a/b/;w x",
            "W x",
            "wout.txt",
            "1,2w/tmp/x",
            "/x/w y",
            "s/a/b/gw x",
            "s/[/]/x/e",
            "r /etc/passwd",
            "eid.sh",
            "file.txt",
            "s/a/b/\ne",
            "s,a,b,e",
            "s/\\//x/e",
            "/[/]/e",
        ] {
            assert!(sed_script(bad), "{bad}");
        }
    }
}
