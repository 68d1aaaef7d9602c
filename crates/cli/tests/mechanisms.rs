//! Machines that lack mechanisms: commands run where the kernel enforces their
//! boundaries, and elsewhere only if the user accepts that.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, eventually, is_root, program, skip};

use crate::mcp_common::{Client, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const CONFIG: &str = "sandbox:\n  mode: direct\n  zones:\n    work: { path: ./work, mode: rw }\n";
const SECRET: &str = "the-word-outside-8812";
const MECHANISMS: [&str; 4] = ["user-namespaces", "bwrap", "landlock", "seccomp"];
const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// A user on a machine without some of the mechanisms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    /// A bit for each mechanism that it has, in the order of `MECHANISMS`.
    has: u8,
    /// Whether root drops to an ordinary user there.
    drops: bool,
}

impl Machine {
    fn lacks(has: u8) -> String {
        let lacks = MECHANISMS.iter().enumerate().filter(|(n, _)| has & 1 << n == 0);
        let lacks: Vec<&str> = lacks.map(|(_, name)| *name).collect();
        if lacks.is_empty() { "none".to_owned() } else { lacks.join(",") }
    }

    /// Returns the backend that the machine comes to, by what it has: the table that
    /// the program is held against. bwrap makes user namespaces too.
    fn backend(self) -> &'static str {
        let [namespaces, _, landlock, seccomp] = [0, 1, 2, 3].map(|n| self.has & 1 << n != 0);
        match (namespaces && seccomp, landlock && seccomp) {
            (true, _) => "namespaces",
            (false, true) => "landlock",
            (false, false) => "none",
        }
    }
}

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Zonekeep refused to start it.
    Refused,
    /// It ran under this backend.
    Ran(String),
}

/// Returns the program as on a machine that lacks mechanisms.
fn on(project: &Project, machine: Machine) -> Command {
    let mut command = Command::new("python3");
    command.arg(script()).args(["--without", &Machine::lacks(machine.has)]);
    if machine.drops {
        command.args(NOBODY);
    }
    command.arg(PROGRAM);
    project.prepare(&mut command);
    command
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/plain-container")
}

/// Returns a project, and a file outside that everybody may read.
fn project() -> (Project, PathBuf) {
    let project = Project::with_config(PROGRAM, CONFIG).dir("work");
    let secret = project.beside("secret");
    std::fs::write(&secret, SECRET).unwrap();
    (project, secret)
}

/// Returns the users that tests can be here, with a project of each. Says why where
/// this machine has not all mechanisms itself.
fn users() -> Option<Vec<(bool, Project, PathBuf)>> {
    static USERS: OnceLock<Result<Vec<bool>, String>> = OnceLock::new();
    let users = match USERS.get_or_init(find_users) {
        Ok(users) => users,
        Err(why) => {
            skip(why);
            return None;
        }
    };
    let mut all = Vec::new();
    for &drops in users {
        let (project, secret) = project();
        if drops {
            project.as_ordinary().unwrap();
        }
        all.push((drops, project, secret));
    }
    Some(all)
}

/// Returns whether root drops its rights, for each user that tests can be.
fn find_users() -> Result<Vec<bool>, String> {
    if program("python3").is_none() {
        return Err("there is no python3".to_owned());
    }
    let mut users = Vec::new();
    for drops in [false, true] {
        let (project, _) = project();
        if drops && (!is_root() || project.as_ordinary().is_none()) {
            continue;
        }
        for has in [0b1111, 0b1101, 0b1100] {
            let machine = Machine { has, drops };
            let doctor = project.finish(on(&project, machine).args(["doctor", "--json"]));
            let Ok(report) = serde_json::from_str::<Value>(&doctor.stdout) else {
                return Err(format!("mechanisms cannot be taken away here: {doctor}"));
            };
            if report["examined"]["backend"] != machine.backend() {
                return Err(format!("this machine itself lacks mechanisms: {doctor}"));
            }
        }
        users.push(drops);
    }
    Ok(users)
}

fn last_record(project: &Project) -> Value {
    serde_json::from_str(project.log_lines().last().unwrap()).unwrap()
}

/// Has a command read the file outside.
fn read_outside(project: &Project, machine: Machine, flags: &[&str], secret: &Path) -> (End, Run) {
    let mut command = on(project, machine);
    command.arg("run").args(flags).args(["--", "sh", "-c"]);
    // The status of a command that ran is its own.
    command.arg(format!("cat {} 2>/dev/null; exit 7", secret.display()));
    let run = project.finish(&mut command);
    let end = match run.exit {
        7 => End::Ran(last_record(project)["run"]["backend"].as_str().unwrap().to_owned()),
        125 => End::Refused,
        _ => panic!("{machine:?} {flags:?}: {run}"),
    };
    (end, run)
}

/// Machines that stand for all of their kind.
const SOME: [u8; 5] = [0b1111, 0b1101, 0b1100, 0b0110, 0b0000];

/// The ways to start a command: the flags, and the weakest backend that will do. The
/// first of them are tried on every machine.
const WAYS: [(&[&str], &str); 8] = [
    (&[], "namespaces"),
    (&["--accept-weaker"], "none"),
    (&["--accept-weaker", "--set", "sandbox.require_os_sandbox=true"], "namespaces"),
    (&["--set", "sandbox.require_os_sandbox=false"], "none"),
    (&["--accept-weaker", "--set", "sandbox.prove=true"], "namespaces"),
    (&["--accept-weaker", "--strict"], "namespaces"),
    (&["--set", "sandbox.require_os_sandbox=true", "--set", "sandbox.prove=true"], "namespaces"),
    (&["--accept-weaker", "--zone", "inbox=inbox:ro", "--set", UNTRUSTED], "namespaces"),
];
const UNTRUSTED: &str = "sandbox.zones.inbox.untrusted=true";

/// Returns the place of a backend among the others, the strongest last.
fn rank(backend: &str) -> usize {
    ["none", "landlock", "namespaces"].iter().position(|name| *name == backend).unwrap()
}

#[test]
fn commands_run_where_their_boundaries_hold_or_weaker_ones_are_accepted() {
    let Some(users) = users() else { return };
    for (drops, project, secret) in users {
        std::fs::create_dir_all(project.path("inbox")).unwrap();
        // Which machines ran a command, for each way.
        let mut ran: Vec<Vec<u8>> = vec![Vec::new(); WAYS.len()];
        let is_tried = |n: usize, has: u8| n < 3 || SOME.contains(&has);
        for has in 0..16 {
            let machine = Machine { has, drops };
            for (n, (flags, weakest)) in WAYS.iter().enumerate().filter(|w| is_tried(w.0, has)) {
                let (end, run) = read_outside(&project, machine, flags, &secret);
                let expected = match rank(machine.backend()) >= rank(weakest) {
                    true => End::Ran(machine.backend().to_owned()),
                    false => End::Refused,
                };
                let lacks = Machine::lacks(has);
                assert_eq!(end, expected, "without {lacks}, {flags:?}, drops {drops}: {run}");
                // The control: with nothing to stop it, the file outside is read.
                let read = run.stdout.contains(SECRET);
                assert_eq!(read, end == End::Ran("none".to_owned()), "{lacks} {flags:?}: {run}");
                let record = last_record(&project);
                let proves = flags.contains(&"sandbox.prove=true") && end != End::Refused;
                assert_eq!(record["run"]["proved"] == true, proves, "{record}");
                if end == End::Refused {
                    assert!(run.stderr.contains("\nhint: "), "{run}");
                } else {
                    ran[n].push(has);
                }
            }
        }
        for (n, (way, ran)) in WAYS.iter().zip(&ran).enumerate() {
            let wrong = ran.iter().find(|&&weak| {
                let stronger = |strong: &u8| strong & weak == weak && is_tried(n, *strong);
                (0..16u8).filter(stronger).any(|strong| !ran.contains(&strong))
            });
            assert_eq!(wrong, None, "a stronger machine refuses what {wrong:?} runs, by {way:?}");
        }
    }
}

#[test]
fn a_backend_that_is_named_is_used_or_the_command_is_refused() {
    let Some(users) = users() else { return };
    for (drops, project, secret) in users {
        for has in [0b1111, 0b1100, 0b1000, 0b0100, 0b0000] {
            let machine = Machine { has, drops };
            for name in ["namespaces", "landlock", "none"] {
                let (end, run) = read_outside(&project, machine, &["--backend", name], &secret);
                let expected = match rank(machine.backend()) >= rank(name) {
                    true => End::Ran(name.to_owned()),
                    false => End::Refused,
                };
                assert_eq!(end, expected, "{machine:?} {name}: {run}");
                // Naming it accepts what it lacks, and does not overrule the project.
                let flags = ["--backend", name, "--set", "sandbox.require_os_sandbox=true"];
                let (end, run) = read_outside(&project, machine, &flags, &secret);
                let full = name == "namespaces" && expected != End::Refused;
                assert_eq!(end != End::Refused, full, "{machine:?} {name}: {run}");
            }
        }
    }
}

/// Calls the shell as an agent would.
fn shell(project: &Project, machine: Machine, flags: &[&str], line: &str) -> Run {
    let call = serde_json::json!({ "command": line }).to_string();
    project.finish(on(project, machine).args(["tool", "shell", &call]).args(flags))
}

#[test]
fn rules_that_ask_nobody_are_for_commands_that_are_confined() {
    let Some(users) = users() else { return };
    for (drops, project, secret) in users {
        let line = format!("cat {}", secret.display());
        let rule = ["--approve", "none", "--set", "shell.default=preApproved"];
        for has in [0b1111, 0b1100, 0b0000] {
            let machine = Machine { has, drops };
            let is_full = machine.backend() == "namespaces";
            let run = shell(&project, machine, &rule, &line);
            // Where it is confined it runs unasked, and finds no such file.
            assert_eq!(run.exit, if is_full { 0 } else { 125 }, "{machine:?}: {run}");
            assert!(!run.stdout.contains(SECRET), "{machine:?}: {run}");
            assert_eq!(run.stderr.contains("--accept-weaker"), !is_full, "{machine:?}: {run}");
            // Accepted, a command that is not confined is asked about.
            let accepted = [&rule[..], &["--accept-weaker"]].concat();
            let run = shell(&project, machine, &accepted, &line);
            assert_eq!(run.exit, if is_full { 0 } else { 1 }, "{machine:?}: {run}");
            assert!(!run.stdout.contains(SECRET), "{machine:?}: {run}");
            // A written `false` is the same, and a written `true` refuses.
            for (value, exit) in [("false", 1), ("true", 125)] {
                let set = format!("sandbox.require_os_sandbox={value}");
                let flags = [&accepted[..], &["--set", &set]].concat();
                let run = shell(&project, machine, &flags, &line);
                assert_eq!(run.exit, if is_full { 0 } else { exit }, "{machine:?}: {run}");
            }
        }
    }
}

#[test]
fn commands_on_host_paths_start_in_the_first_zone() {
    let Some(users) = users() else { return };
    for (drops, project, _) in users {
        for has in [0b1100, 0b0000] {
            let machine = Machine { has, drops };
            let flags = ["--approve", "all", "--accept-weaker"];
            let run = shell(&project, machine, &flags, "pwd");
            let work = "[TEMP]/project/work";
            assert!(run.ok().contains(work), "{machine:?}: {run}");
            // Also where it is asked to start in the directory of all zones.
            let call = r#"{"command": "pwd", "cwd": "/"}"#;
            let mut command = on(&project, machine);
            command.args(["tool", "shell", call]).args(flags);
            assert!(project.finish(&mut command).ok().contains(work), "{machine:?}");
            let mut command = on(&project, machine);
            command.args(["run", "--accept-weaker", "--", "pwd"]);
            assert_eq!(project.finish(&mut command).ok(), work, "{machine:?}");
            let mut command = on(&project, machine);
            command.args(["explain", "run", "--accept-weaker", "--", "pwd"]);
            let explained = project.finish(&mut command);
            assert!(explained.ok().contains("  starts:  /work\n"), "{explained}");
            assert!(explained.stdout.contains(&format!("it starts in {work}, not in /")));
            // A directory that does not exist for agents is refused before anybody is asked.
            let call = r#"{"command": "pwd", "cwd": "/elsewhere"}"#;
            let asks = project.state().join("asked");
            let mut command = on(&project, machine);
            command.args(["tool", "shell", call, "--accept-weaker", "--approver"]);
            command.arg(approver(&project));
            let run = project.finish(&mut command);
            assert_eq!((run.exit, asks.exists()), (1, false), "{run}");
        }
        // What could not run is not asked about.
        for flags in [&[][..], &["--accept-weaker", "--set", "sandbox.require_os_sandbox=true"]] {
            let machine = Machine { has: 0b0000, drops };
            let mut command = on(&project, machine);
            command.args(["tool", "shell", r#"{"command": "pwd"}"#]).args(flags);
            command.arg("--approver").arg(approver(&project));
            let run = project.finish(&mut command);
            assert_eq!((run.exit, project.state().join("asked").exists()), (125, false), "{run}");
        }
        // The control: what can run is asked about.
        let mut command = on(&project, Machine { has: 0b0000, drops });
        command.args(["tool", "shell", r#"{"command": "pwd"}"#, "--accept-weaker"]);
        command.arg("--approver").arg(approver(&project));
        let run = project.finish(&mut command);
        assert!(project.state().join("asked").exists(), "{run}");
    }
}

/// Returns a program that notes that it was asked, and says no.
fn approver(project: &Project) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = project.beside("approver");
    let asked = project.state().join("asked");
    if !path.exists() {
        let text = format!(
            "#!/bin/sh\ncat >/dev/null\ntouch {}\necho '{{\"version\": 1, \"approved\": false}}'\n",
            asked.display()
        );
        std::fs::write(&path, text).unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, open).unwrap();
    }
    path
}

#[test]
fn the_environment_accepts_what_the_flag_accepts() {
    let Some(users) = users() else { return };
    let (drops, project, _) = &users[0];
    let machine = Machine { has: 0, drops: *drops };
    for (value, exit) in [("1", 0), ("0", 125), ("", 125), ("yes", 2)] {
        let mut command = on(project, machine);
        command.env("ZONEKEEP_ACCEPT_WEAKER", value).args(["run", "--", "true"]);
        let run = project.finish(&mut command);
        assert_eq!(run.exit, exit, "{value}: {run}");
    }
}

#[test]
fn a_file_that_accepts_weaker_enforcement_needs_trust() {
    let config = format!("{CONFIG}  require_os_sandbox: false\n");
    let project = Project::with_config(PROGRAM, &config).dir("work");
    let run = project.zonekeep(["tool", "list_files", r#"{"path": "/"}"#]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(
        run.stderr.contains("does not fully enforce their boundaries (zonekeep.yaml:5)"),
        "{run}"
    );
    // The user's own flag needs none, and `true` opens nothing.
    project.put("zonekeep.yaml", config.replace("false", "true"));
    project.zonekeep(["tool", "list_files", r#"{"path": "/"}"#]).ok();
    let flag = ["--set", "sandbox.require_os_sandbox=false"];
    project.zonekeep([&["tool", "list_files", r#"{"path": "/"}"#], &flag[..]].concat()).ok();
}

#[test]
fn workers_and_servers_refuse_what_nobody_accepted() {
    let Some(users) = users() else { return };
    for (drops, project, _) in users {
        project.put("zonekeep.yaml", format!("model: scripted:replies.yaml\n{CONFIG}"));
        project.put(
            "main.worker",
            "---\nname: main\nsandbox: { zones: [{ name: work, mode: rw }] }\n---\nWork.\n",
        );
        let turns =
            "main:\n  - turns:\n      - calls: [{ shell: { command: pwd } }]\n      - say: done\n";
        project.put("replies.yaml", turns);
        let accepts = ["--accept-weaker", "--approve", "all"];
        for has in [0b1100, 0b0000] {
            let machine = Machine { has, drops };
            let start = |args: &[&str]| {
                let mut command = on(&project, machine);
                command.args(args);
                command
            };
            for worker in [&["work", "main", "go"][..], &["chat", "main"]] {
                if worker[0] == "chat" {
                    project.put("said", "go\n");
                }
                let say = |command: &mut Command| {
                    let said = std::fs::File::open(project.path("said"));
                    if let (Ok(said), "chat") = (said, worker[0]) {
                        command.stdin(said);
                    }
                };
                let mut command = start(worker);
                say(command.args(["--approve", "all"]));
                let run = project.finish(&mut command);
                assert!(run.stderr.contains("hint: `zonekeep doctor`"), "{machine:?}: {run}");
                assert!(run.stderr.contains("--accept-weaker"), "{machine:?}: {run}");
                assert_eq!(last_command(&project)["outcome"], "failed");
                let mut command = start(worker);
                say(command.args(accepts));
                let run = project.finish(&mut command);
                assert_eq!(last_command(&project)["run"]["exit_code"], 0, "{machine:?}: {run}");
                assert!(!run.stderr.contains("--accept-weaker"), "{machine:?}: {run}");
            }
            let mut server = Client::of(start(&["mcp", "--approve", "all"]));
            server.listen();
            server.greet(&json!({}));
            let refused = server.tool("shell", json!({ "command": "pwd" }));
            assert_eq!(refused["isError"], true, "{refused}");
            assert!(text(&refused).contains("it could not be confined"), "{refused}");
            // How to get round a rule is for the user, not for the agent.
            assert!(!refused.to_string().contains("accept"), "{refused}");
            eventually("the remedy", || server.said().contains("--accept-weaker").then_some(()));
            let mut server = Client::of(start(&["mcp", "--accept-weaker", "--approve", "all"]));
            server.listen();
            server.greet(&json!({}));
            let ran = server.tool("shell", json!({ "command": "pwd" }));
            assert!(text(&ran).contains("/work"), "{ran}");
            let wrap = project.finish(&mut start(&["mcp", "wrap", "--", "true"]));
            assert_eq!(wrap.exit, 125, "{machine:?}: {wrap}");
            assert!(wrap.stderr.contains("--accept-weaker"), "{wrap}");
            project.finish(&mut start(&["mcp", "wrap", "--accept-weaker", "--", "true"])).ok();
        }
    }
}

/// Returns the last record of a command.
fn last_command(project: &Project) -> Value {
    let lines = project.log_lines();
    let mut records = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.rfind(|record| record["run"].is_object()).unwrap()
}
