//! The library against what a program without it would do: plain system calls,
//! ripgrep, sed. Prints ratios; see `measure`.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

mod measure;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

use measure::{Options, Table, side_by_side};
use zonekeep::approve::Nobody;
use zonekeep::files::list::GlobOptions;
use zonekeep::files::read::{Content, Page};
use zonekeep::files::search::Query;
use zonekeep::policy::config::Overrides;
use zonekeep::{Project, Sandbox, Session, StateDir, tools};

const CONFIG: &str = "\
sandbox:
  mode: direct
  zones:
    data: { path: ./data, mode: ro }
";
/// Asks for one page in a process of its own: the file's directory, the line.
const CHILD: &str = "--page-in-child";
const MIB: f64 = 1024.0 * 1024.0;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == CHILD) {
        println!("{}", page_growth(Path::new(&args[at + 1]), args[at + 2].parse().unwrap()));
        return;
    }
    let options = Options::of_process();
    let mut table = Table::new(&options);
    read(&options, &mut table);
    walk(&options, &mut table);
    large(&options, &mut table);
    page(&options, &mut table);
    table.print();
}

/// A project with one zone, whose files are in `data`.
struct Bench {
    temp: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("zonekeep-bench-").tempdir().unwrap();
        fs::create_dir_all(temp.path().join("project/data")).unwrap();
        fs::write(temp.path().join("project/zonekeep.yaml"), CONFIG).unwrap();
        Bench { temp }
    }

    fn data(&self) -> std::path::PathBuf {
        self.temp.path().join("project/data")
    }
}

/// Opens the project below `dir` as a program would: with its audit log.
fn sandbox(dir: &Path) -> Sandbox {
    let project = Project::at(&dir.join("project"), &Overrides::default()).unwrap();
    let state = StateDir::at(dir.join("state"));
    Session::open(&project, &state, Nobody).unwrap().sandbox()
}

fn read(options: &Options, table: &mut Table) {
    if !options.wants("read_4k") {
        return;
    }
    let bench = Bench::new();
    let path = bench.data().join("file.txt");
    let line = "The quick brown fox jumps over the lazy dog, again and again.\n";
    fs::write(&path, &line.repeat(4096 / line.len() + 1)[..4096]).unwrap();
    let sandbox = sandbox(bench.temp.path());
    // Turns far shorter than a time slice: the median turn is one that nothing
    // interrupted, on either side.
    let times = 20;
    let rounds = options.size(5_001, 101);
    let plain = || {
        for _ in 0..times {
            let mut file = File::open(&path).unwrap();
            let mut buffer = vec![0; 4096];
            assert_eq!(file.read(&mut buffer).unwrap(), 4096);
            black_box(buffer);
        }
    };
    let library = || {
        for _ in 0..times {
            black_box(sandbox.read("/data/file.txt", &Page::default()).unwrap());
        }
    };
    let pair = side_by_side(rounds, library, plain);
    table.ratio("read_4k", "read 4 KiB / open, read, close", Some(3.0), pair);
    let tool = || {
        for _ in 0..times {
            let arguments = serde_json::json!({ "path": "/data/file.txt" });
            black_box(tools::call(&sandbox, "read_file", arguments).unwrap());
        }
    };
    let pair = side_by_side(rounds, tool, plain);
    let what = "read_file of 4 KiB as a tool call, hashed, in JSON / the same";
    table.ratio("read_4k_tool", what, None, pair);
}

/// Returns ripgrep on `dir`, over the same files as ours, writing to nowhere.
fn ripgrep(dir: &Path, threads: usize, args: &[&str]) -> Command {
    let mut command = Command::new("rg");
    command
        .args(["--no-config", "--no-ignore", "--hidden", "-j", &threads.to_string()])
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Returns how many lines ripgrep prints: both sides must find the same.
fn count(command: &mut Command) -> u64 {
    let output = command.stdout(Stdio::piped()).output().unwrap();
    output.stdout.iter().filter(|&&b| b == b'\n').count() as u64
}

fn thread_counts() -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, NonZero::get).min(8);
    if all == 1 { vec![1] } else { vec![1, all] }
}

/// Many small files: the walk, and opening, cost more than the search.
fn walk(options: &Options, table: &mut Table) {
    if !options.wants("find") && !options.wants("search_small") {
        return;
    }
    let files = options.size(100_000, 2_000);
    let bench = Bench::new();
    let data = bench.data();
    for dir in 0..files / 100 {
        let dir = data.join(format!("part{}/group{}/dir{}", dir % 10, dir / 10 % 10, dir / 100));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..100 {
            let mut text = source_text(12);
            if file == 50 {
                text.push_str("let needle42 = here;\n");
            }
            fs::write(dir.join(format!("module_{file}.rs")), text).unwrap();
        }
    }
    let sandbox = sandbox(bench.temp.path());
    let rounds = options.size(15, 3);
    for threads in thread_counts() {
        let name = format!("find_{threads}");
        let what = format!("find **/* in {files} files / rg --files, {threads} thread(s)");
        if options.wants(&name) {
            let glob = GlobOptions { limit: files, threads, ..GlobOptions::default() };
            find(table, &name, &what, rounds, (&sandbox, &data), &glob);
        }
        let name = format!("search_small_{threads}");
        let what = format!("search {files} small files / rg -n, {threads} thread(s)");
        if options.wants(&name) {
            search(table, &name, &what, rounds, (&sandbox, &data), threads);
        }
    }
}

/// Few large files: the search itself is what costs.
fn large(options: &Options, table: &mut Table) {
    if !options.wants("search_large") {
        return;
    }
    let files = options.size(1_000, 20);
    let bench = Bench::new();
    let data = bench.data();
    for file in 0..files {
        let mut text = source_text(5_000);
        text.push_str("let needle42 = here;\n");
        fs::write(data.join(format!("module_{file}.rs")), text).unwrap();
    }
    let sandbox = sandbox(bench.temp.path());
    for threads in thread_counts() {
        let name = format!("search_large_{threads}");
        let what = format!("search {files} files of 200 KiB / rg -n, {threads} thread(s)");
        if options.wants(&name) {
            search(table, &name, &what, options.size(15, 3), (&sandbox, &data), threads);
        }
    }
}

fn source_text(lines: usize) -> String {
    (0..lines).map(|line| format!("    let value{line} = compute({line}, other);\n")).collect()
}

fn find(
    table: &mut Table,
    name: &str,
    what: &str,
    rounds: usize,
    (sandbox, data): (&Sandbox, &Path),
    options: &GlobOptions,
) {
    let files = ["--files"];
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_err() {
        return table.skipped(name, what, "ripgrep is not installed");
    }
    let ours = || sandbox.find("/data", "**/*", options).unwrap();
    assert_eq!(ours().paths.len() as u64, count(&mut ripgrep(data, options.threads, &files)));
    let pair = side_by_side(
        rounds,
        || {
            black_box(ours());
        },
        || assert!(ripgrep(data, options.threads, &files).status().unwrap().success()),
    );
    table.ratio(name, what, Some(1.5), pair);
}

fn search(
    table: &mut Table,
    name: &str,
    what: &str,
    rounds: usize,
    (sandbox, data): (&Sandbox, &Path),
    threads: usize,
) {
    let lines = ["-n", "needle[0-9]+ = h"];
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_err() {
        return table.skipped(name, what, "ripgrep is not installed");
    }
    let query = Query { pattern: lines[1], limit: 100_000, threads, ..Query::default() };
    let ours = || sandbox.search("/data", &query).unwrap();
    assert_eq!(ours().total_matches, count(&mut ripgrep(data, threads, &lines)));
    let pair = side_by_side(
        rounds,
        || {
            black_box(ours());
        },
        || assert!(ripgrep(data, threads, &lines).status().unwrap().success()),
    );
    table.ratio(name, what, Some(1.5), pair);
}

/// A page far down a file that is larger than memory should be.
fn page(options: &Options, table: &mut Table) {
    if !options.wants("page") {
        return;
    }
    let bench = Bench::new();
    let lines: u64 = options.size(16 * 1024 * 1024, 2 * 1024 * 1024);
    let mut file = BufWriter::new(File::create(bench.data().join("large.log")).unwrap());
    for line in 0..lines {
        writeln!(file, "{line:>10} a line of a log that nobody has ever read to its end").unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    let gib = lines as f64 * 64.0 / MIB / 1024.0;
    for (name, line) in [("page_middle", 1_000_000), ("page_end", lines - 1_000)] {
        let what = format!("page at line {line} of {gib:.2} GiB: more memory");
        let output = Command::new(std::env::current_exe().unwrap())
            .args([CHILD, bench.temp.path().to_str().unwrap(), &line.to_string()])
            .output()
            .unwrap();
        let growth: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        table.amount(&format!("{name}_memory"), &what, 16.0, growth / MIB, "MiB");

        let sandbox = sandbox(bench.temp.path());
        let page = Page { offset: line, ..Page::default() };
        let last = line + page.limit - 1;
        let pair = side_by_side(
            options.size(7, 3),
            || {
                black_box(sandbox.read("/data/large.log", &page).unwrap());
            },
            || {
                let sed = Command::new("sed")
                    .args(["-n", &format!("{line},{last}p;{last}q"), "large.log"])
                    .current_dir(bench.data())
                    .stdout(Stdio::null())
                    .status();
                assert!(sed.unwrap().success());
            },
        );
        let what = format!("page at line {line} of {gib:.2} GiB / sed -n");
        table.ratio(name, &what, None, pair);
    }
}

/// Reads a page and returns by how many bytes the most memory ever used grew.
fn page_growth(dir: &Path, line: u64) -> u64 {
    let sandbox = sandbox(dir);
    let before = status("VmHWM:");
    let page = Page { offset: line, ..Page::default() };
    let Content::Text(text) = sandbox.read("/data/large.log", &page).unwrap() else {
        panic!("a log is text")
    };
    assert!(text.content.starts_with(&format!("{:>10} ", line - 1)));
    status("VmHWM:") - before
}

/// Reads a size from what the kernel says of this process.
fn status(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
