//! Clients that others wrote drive whole sessions: the official SDKs, the
//! inspector, the conformance suite, and agents of two frameworks.
//!
//! `scripts/clients` installs them. A client prints a line of JSON for each step
//! (`clients/ts`, `clients/py`); what the steps came to is judged here.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use zonekeep_testkit::{Project, skip};

#[path = "clients/judge/mod.rs"]
mod judge;

use judge::{Era, Steps};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    notes: { path: ./notes, mode: ro }
    out: { path: ./out, mode: rw, approval: { write: preApproved, delete: preApproved } }
    ask: { path: ./ask, mode: rw, approval: { write: ask } }
shell:
  default: preApproved
";

/// The smallest picture.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn project() -> Project {
    use base64::Engine;
    let dot = base64::engine::general_purpose::STANDARD.decode(DOT).unwrap();
    let project = Project::with_config(PROGRAM, CONFIG)
        .file("notes/a.txt", "hello\n")
        .file("notes/dot.png", dot)
        .file("out/watched.txt", "one\n")
        .file("ask/once.txt", "before\n");
    for number in 0..250 {
        project.put(&format!("out/many/{number:03}.txt"), "");
    }
    project
}

fn clients() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Returns a command in the project that ends at last whatever happens.
fn bounded(project: &Project, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    project.prepare(&mut command);
    command.args(["--kill-after=5", "150"]).arg(program);
    command
}

/// Returns a command in the project that runs a file with Node, or `None` where
/// the packages are not installed.
fn node(project: &Project, file: &str) -> Option<Command> {
    let node = zonekeep_testkit::program("node")?;
    clients().join("node_modules/.installed").exists().then(|| {
        let mut command = bounded(project, &node);
        command.arg(clients().join(file));
        command
    })
}

/// Returns a command in the project that runs a file with Python and one set of
/// packages.
fn python(project: &Project, file: &str, packages: &str) -> Option<Command> {
    let packages = clients().join(".python").join(packages);
    // The one that the packages were installed for, whoever runs this.
    let usual = Some(PathBuf::from("/usr/bin/python3")).filter(|python| python.exists());
    let python = usual.or_else(|| zonekeep_testkit::program("python3"))?;
    packages.join(".installed").exists().then(|| {
        let mut command = bounded(project, &python);
        // Nothing is written into the checkout, which may be somebody else's.
        command.env("PYTHONPATH", packages).arg("-B").arg(clients().join(file));
        command
    })
}

/// Returns whether commands of agents run here.
fn runs_commands(project: &Project) -> bool {
    project.zonekeep(["tool", "shell", r#"{"command": "echo one; echo two"}"#]).exit == 0
}

/// Has a client drive a session, and judges it.
fn session(era: Era, client: impl Fn(&Project) -> Option<Command>) {
    let project = project();
    // The client changes the file and puts it back: what it allowed more holds again only
    // if the user has trusted that text.
    project.zonekeep(["trust", "--yes"]).ok();
    let Some(mut command) = client(&project) else { return skip(MISSING) };
    if !runs_commands(&project) {
        return skip("no OS sandbox for commands here");
    }
    let steps = Steps::of(project.finish(&mut command));
    judge::session(&project, &steps, era);
}

const MISSING: &str = "the clients are not installed; scripts/clients installs them";

/// Makes a test of each session: name, era, client, arguments.
macro_rules! sessions {
    ($($name:ident: $era:expr, $client:expr, [$($arg:literal),*];)*) => {$(
        #[test]
        fn $name() {
            session($era, |project| {
                let mut command = $client(project)?;
                command.arg(PROGRAM).args([$($arg),*]);
                Some(command)
            });
        }
    )*};
}

fn typescript(project: &Project) -> Option<Command> {
    node(project, "ts/session.mjs")
}

fn typescript_2026(project: &Project) -> Option<Command> {
    node(project, "ts/session-2026.mjs")
}

fn python_sdk(project: &Project) -> Option<Command> {
    python(project, "py/session.py", "sdk")
}

sessions! {
    the_typescript_sdk_over_stdio: Era::Before, typescript, ["stdio"];
    the_typescript_sdk_over_http: Era::Before, typescript, ["http"];
    the_typescript_sdk_of_2026_over_stdio: Era::Of2026, typescript_2026, ["stdio"];
    the_typescript_sdk_of_2026_over_http: Era::Of2026, typescript_2026, ["http"];
    the_python_sdk_over_stdio: Era::Before, python_sdk, ["stdio", "legacy"];
    the_python_sdk_over_http: Era::Before, python_sdk, ["http", "legacy"];
    the_python_sdk_of_2026_over_stdio: Era::Of2026, python_sdk, ["stdio", "2026"];
    the_python_sdk_of_2026_over_http: Era::Of2026, python_sdk, ["http", "2026"];
}

/// Runs the inspector's command line and returns the result that it printed.
fn inspect(project: &Project, era: &str, args: &[&str]) -> Option<Value> {
    let file = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut command = node(project, file)?;
    let state = format!("XDG_STATE_HOME={}", project.state().display());
    command.args(["--cli", PROGRAM, "mcp", "-e", &state, "--protocol-era", era]);
    let run = project.finish(command.args(["--quiet", "--format", "json"]).args(args));
    let printed: Result<Value, _> = serde_json::from_str(&run.stdout);
    let printed = printed.unwrap_or_else(|error| panic!("{error}: {run}"));
    Some(printed["result"].clone())
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let project = project();
    for era in ["legacy", "modern"] {
        let Some(listed) = inspect(&project, era, &["--method", "tools/list"]) else {
            return skip(MISSING);
        };
        assert_eq!(judge::names(&listed["tools"]), judge::TOOLS, "{era}");
        let read = |path: &str| {
            let path = format!("path={path}");
            let call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", &path];
            inspect(&project, era, &call).unwrap()
        };
        let content = json!([{ "type": "text", "text": "hello\n" }]);
        assert_eq!(read("/notes/a.txt")["content"], content, "{era}");
        let words = "Cannot access '/etc/passwd': path is outside sandbox.\n\
                     Readable paths: /ask, /notes, /out";
        judge::refused(&read("/etc/passwd"), "outside", words);
        let resource = ["--method", "resources/read", "--uri", "zonekeep:///notes/a.txt"];
        let resource = inspect(&project, era, &resource).unwrap();
        assert_eq!(resource["contents"][0]["text"], json!("hello\n"), "{era}");
    }
}

#[test]
fn the_conformance_suite_passes() {
    let project = project();
    let Some(mut command) = node(&project, "ts/conformance.mjs") else { return skip(MISSING) };
    let steps = Steps::of(project.finish(command.arg(PROGRAM).arg("http")));
    judge::conformance(&steps);
}

/// Has an agent do its task, and judges that.
fn task(file: &str, packages: &str) {
    let project = project();
    let Some(mut command) = python(&project, file, packages) else { return skip(MISSING) };
    if !runs_commands(&project) {
        return skip("no OS sandbox for commands here");
    }
    let steps = Steps::of(project.finish(command.arg(PROGRAM)));
    judge::task(&project, &steps);
}

#[test]
fn a_pydantic_ai_agent_does_its_task() {
    task("py/pydantic_agent.py", "sdk");
}

#[test]
fn a_langchain_agent_does_its_task() {
    task("py/langchain_agent.py", "langchain");
}
