//! `zonekeep run` as a whole process: against bubblewrap with the same mounts,
//! against other sandboxes for agents where they are installed, and what a
//! command loses by running inside. Prints ratios; see `measure`.
//!
//! `benches/peers/install` installs the other sandboxes.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

#[path = "../../zonekeep/benches/measure/mod.rs"]
mod measure;

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use measure::{Options, Table, side_by_side};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers");

/// Creates, reads, renames and removes files.
const FILES: &str = r#"
import os, sys
count = int(sys.argv[1])
for i in range(count):
    with open(f"file-{i}", "w") as file:
        file.write("x" * 200)
for i in range(count):
    with open(f"file-{i}") as file:
        file.read()
for i in range(count):
    os.rename(f"file-{i}", f"moved-{i}")
for i in range(count):
    os.remove(f"moved-{i}")
"#;

/// Works on a tree of files with ordinary programs.
const TREE: &str = "cp -r tree copy && ! grep -rq nowhere copy && tar -cf tree.tar copy && \
                    rm -r copy && tar -xf tree.tar && rm -r copy tree.tar";

fn main() {
    let options = Options::of_process();
    let mut table = Table::new(&options);
    let bench = Bench::new();
    if !bench.works() {
        for name in ["run_true_bwrap", "throughput_compile", "throughput_files", "throughput_tree"]
        {
            table.skipped(name, name, "namespaces are not available");
        }
        return table.print();
    }
    run_true(&options, &mut table, &bench);
    throughput(&options, &mut table, &bench);
    table.print();
}

/// What `zonekeep run` hides of `/proc`.
const HIDDEN: [&str; 15] = [
    "acpi",
    "asound",
    "config.gz",
    "driver",
    "interrupts",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
    "timer_stats",
];

/// The small files that it makes in `/etc`.
const SMALL: [&str; 7] =
    ["group", "hostname", "hosts", "nsswitch.conf", "passwd", "resolv.conf", "shells"];

/// A place with one directory that commands may write.
struct Bench {
    _temp: tempfile::TempDir,
    base: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("zonekeep-bench-").tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for name in ["work", "home", "project"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        Bench { _temp: temp, base }
    }

    fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    /// Returns a program, to be run in the directory.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.work())
            .env("HOME", self.base.join("home"))
            .env("XDG_STATE_HOME", self.base.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Returns `zonekeep` with the directory as a zone, in a project elsewhere.
    fn zonekeep(&self, verb: &[&str], argv: &[&str]) -> Command {
        let mut command = self.command(PROGRAM);
        command.current_dir(self.base.join("project"));
        let zone = format!("work={}:rw", self.work().display());
        command.args(verb).args(["--backend", "namespaces", "--zone", &zone, "--"]).args(argv);
        command
    }

    /// Returns `zonekeep run` with the directory at its own path, where the
    /// command starts.
    fn inside(&self, argv: &[&str]) -> Command {
        let mut command = self.command(PROGRAM);
        command.args(["run", "--backend", "namespaces", "--rw", ".", "--"]).args(argv);
        command
    }

    fn works(&self) -> bool {
        runs(self.zonekeep(&["run"], &["true"]))
    }

    /// Returns the arguments that have `bwrap` isolate as `zonekeep run` does, as
    /// far as it can: without a filter for system calls, Landlock, limits, a guard
    /// and a record.
    fn bubblewrap(&self, argv: &[&str]) -> Vec<OsString> {
        let mut explain = self.zonekeep(&["explain", "run", "--json"], argv);
        let explained = explain.stdout(Stdio::piped()).output().unwrap();
        let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
        let mut args: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        add(&["--unshare-all", "--unshare-user", "--disable-userns"]);
        add(&["--new-session", "--die-with-parent"]);
        add(&["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--clearenv"]);
        add(&["--hostname", "zonekeep", "--proc", "/proc", "--dev", "/dev"]);
        for name in HIDDEN {
            let path = format!("/proc/{name}");
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => add(&["--tmpfs", &path, "--remount-ro", &path]),
                Ok(_) => add(&["--ro-bind", "/dev/null", &path]),
                Err(_) => {}
            }
        }
        let list = |name: &str| explained[name].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        for path in list("private").map(text).filter(|path| !path.starts_with("/dev")) {
            add(&["--tmpfs", &path]);
        }
        for path in ["/bin", "/sbin", "/lib", "/lib64"] {
            if let Ok(to) = fs::read_link(path) {
                add(&["--symlink", to.to_str().unwrap(), path]);
            }
        }
        for name in SMALL {
            let file = self.base.join(name);
            fs::write(&file, "small\n").unwrap();
            add(&["--ro-bind", file.to_str().unwrap(), &format!("/etc/{name}")]);
        }
        for (at, to) in
            [("/etc/mtab", "/proc/self/mounts"), ("/etc/os-release", "../usr/lib/os-release")]
        {
            add(&["--symlink", to, at]);
        }
        for mount in list("mounts") {
            let flag = if mount["access"] == "rw" { "--bind" } else { "--ro-bind" };
            add(&[flag, &text(&mount["host"]), &text(&mount["at"])]);
        }
        for pair in list("environment") {
            add(&["--setenv", &text(&pair[0]), &text(&pair[1])]);
        }
        add(&["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work", "--"]);
        add(argv);
        args
    }
}

fn done(mut command: Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn runs(mut command: Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Another sandbox for agents.
struct Peer {
    name: &'static str,
    what: &'static str,
    program: Option<PathBuf>,
    args: Vec<String>,
    bar: f64,
}

fn peers() -> [Peer; 3] {
    let codex = || ["sandbox", "--"].map(str::to_owned).into();
    [
        Peer {
            name: "run_true_codex",
            what: "codex sandbox",
            program: installed("codex"),
            args: codex(),
            bar: 0.1,
        },
        // What the script above starts.
        Peer {
            name: "run_true_codex_native",
            what: "codex sandbox, without its script",
            program: native_codex(),
            args: codex(),
            bar: 0.1,
        },
        Peer {
            name: "run_true_srt",
            what: "srt",
            program: installed("srt"),
            args: vec!["--settings".to_owned(), format!("{PEERS}/srt.json")],
            bar: 0.01,
        },
    ]
}

/// Finds a program that `benches/peers/install` installs, or that is in `PATH`.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let own = Path::new(PEERS).join("node_modules/.bin");
    let dirs = [own].into_iter().chain(std::env::split_paths(&path));
    dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Returns where codex keeps what it needs, which must not be a temporary
/// directory.
fn codex_home() -> PathBuf {
    let own = || Path::new(PEERS).join("node_modules/.codex-home");
    let dir = std::env::var_os("CODEX_HOME").map_or_else(own, PathBuf::from);
    let _ = fs::create_dir_all(&dir);
    dir
}

fn native_codex() -> Option<PathBuf> {
    let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    entries(Path::new(PEERS).join("node_modules/@openai"))
        .flat_map(|package| entries(package.path().join("vendor")))
        .map(|target| target.path().join("bin/codex"))
        .find(|path| path.is_file())
}

fn run_true(options: &Options, table: &mut Table, bench: &Bench) {
    let ours = || done(bench.zonekeep(&["run"], &["true"]));
    if options.wants("run_true_bwrap") {
        let what = "zonekeep run -- true / bwrap that isolates as much as it can";
        let args = bench.bubblewrap(&["true"]);
        let bwrap = || {
            let mut command = bench.command("bwrap");
            command.args(&args);
            command
        };
        match runs(bwrap()) {
            true => {
                let pair = side_by_side(options.size(301, 11), ours, || done(bwrap()));
                table.ratio("run_true_bwrap", what, Some(0.7), pair);
            }
            false => table.skipped("run_true_bwrap", what, "bwrap does not run here"),
        }
    }
    for Peer { name, what, program, args, bar } in peers() {
        if !options.wants(name) {
            continue;
        }
        let what = format!("zonekeep run -- true / {what}");
        let theirs = |program: &Path| {
            let mut command = bench.command(program);
            command.env("CODEX_HOME", codex_home()).args(&args).arg("true");
            command
        };
        match program {
            Some(program) if runs(theirs(&program)) => {
                let pair = side_by_side(options.size(21, 3), ours, || done(theirs(&program)));
                table.ratio(name, &what, Some(bar), pair);
            }
            Some(_) => table.skipped(name, &what, "it does not run here"),
            None => table.skipped(name, &what, "it is not installed (benches/peers/install)"),
        }
    }
    if options.wants("run_true_unshare") {
        let what = "zonekeep run -- true / unshare with the same namespaces, and nothing else";
        let unshare = || {
            let mut command = bench.command("unshare");
            command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
            command.args(["--net", "--ipc", "--uts", "--cgroup", "true"]);
            command
        };
        match runs(unshare()) {
            true => {
                let pair = side_by_side(options.size(201, 11), ours, || done(unshare()));
                table.ratio("run_true_unshare", what, None, pair);
            }
            false => table.skipped("run_true_unshare", what, "unshare does not run here"),
        }
    }
    if options.wants("run_true_plain") {
        let what = "zonekeep run -- true / true";
        let pair = side_by_side(options.size(201, 11), ours, || done(bench.command("true")));
        table.ratio("run_true_plain", what, None, pair);
    }
}

/// What a long command loses: starting is a small part of it.
fn throughput(options: &Options, table: &mut Table, bench: &Bench) {
    let slowest = Some(1.0 / 0.97);
    let mut measure = |name: &str, what: &str, needs: &str, argv: &[&str]| {
        if !options.wants(name) {
            return;
        }
        let theirs = || {
            let mut command = bench.command(argv[0]);
            command.args(&argv[1..]);
            command
        };
        if !runs(theirs()) || !runs(bench.inside(argv)) {
            return table.skipped(name, what, &format!("it needs {needs}"));
        }
        let pair =
            side_by_side(options.size(15, 3), || done(bench.inside(argv)), || done(theirs()));
        table.ratio(name, what, slowest, pair);
    };
    fs::write(bench.work().join("large.c"), large_c(options.size(3000, 100))).unwrap();
    let compile = ["gcc", "-O1", "-c", "-o", "large.o", "large.c"];
    measure("throughput_compile", "gcc -O1 of 3,000 lines, inside / plain", "gcc", &compile);
    fs::write(bench.work().join("files.py"), FILES).unwrap();
    let count = options.size("5000", "50");
    let files = ["python3", "files.py", count];
    let what = "5,000 files made, read, renamed, removed, inside / plain";
    measure("throughput_files", what, "python3", &files);
    for dir in 0..options.size(100, 2) {
        let dir = bench.work().join(format!("tree/{dir}"));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..40 {
            fs::write(dir.join(format!("{file}.txt")), "some words of a file\n".repeat(200))
                .unwrap();
        }
    }
    let tree = ["sh", "-c", TREE];
    let what = "4,000 files copied, searched, packed, unpacked by cp, grep, tar, inside / plain";
    measure("throughput_tree", what, "cp, grep and tar", &tree);
}

/// Returns a C program of about that many lines, for the compiler to work on.
fn large_c(lines: usize) -> String {
    let mut text = String::from("#include <stdio.h>\n#include <string.h>\n");
    for i in 0..lines / 10 {
        let _ = write!(
            text,
            "static int table_{i}[16] = {{{i}, 1, 2, 3}};\n\
             int work_{i}(const char *name, int count)\n\
             {{\n    \
                 int sum = (int) strlen(name);\n    \
                 for (int i = 0; i < count; i++) {{\n        \
                     sum += table_{i}[i & 15] * (i ^ {i});\n        \
                     if (sum > 100000) sum -= {i} + 7;\n    \
                 }}\n    \
                 return sum;\n\
             }}\n"
        );
    }
    text
}
