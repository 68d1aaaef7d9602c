//! `zonekeep run`: the flags that add to a project, the hints that name a missing one, and
//! the result as JSON.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, Stopped, eventually, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw }
    closed: { path: ./closed, mode: ro, approval: { read: blocked } }
  working_dir: /repo
";

fn value(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

/// Answers one request on the machine's loopback.
fn serve_once() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    });
    (port, served)
}

#[test]
fn flags_add_hosts_to_those_of_the_file() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, "sandbox: { network: false }\n");
    let (port, served) = serve_once();
    let url = format!("http://localhost:{port}/");
    let get = ["--", "curl", "-sS", "-m", "10", &url];
    let run = |flags: &[&str]| project.zonekeep(["run"].iter().chain(flags).chain(&get));
    assert_ne!(run(&["--rw", "."]).exit, 0, "the control: the file gives no network");
    let host = format!("localhost:{port}");
    assert_eq!(run(&["--rw", ".", "--allow-host", &host]).ok(), "hello");
    served.join().unwrap();

    let plan = ["explain", "run", "--json", "--net", "python,node", "--", "true"];
    let plan = value(&project.zonekeep(plan));
    let hosts = plan["hosts"].to_string();
    for preset in ["python", "node"] {
        assert!(hosts.contains(preset), "{preset}: {hosts}");
    }
    assert_ne!(plan["network"], "off");
}

#[test]
fn flags_set_and_pass_variables() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM);
    let run = |flags: &[&str]| {
        let mut command = project.command();
        command.env("ZK_MINE", "from the caller").env("ZK_OTHER", "kept out");
        command.args(["run", "--rw", "."]).args(flags);
        command.args(["--", "sh", "-c", "echo \"$ZK_MINE,$ZK_SET,$ZK_OTHER,$ZONEKEEP\""]);
        project.finish(&mut command)
    };
    assert_eq!(run(&[]).ok(), ",,,1");
    let flags = ["--env", "ZK_SET=a=b: [c", "--pass-env", "ZK_MINE"];
    assert_eq!(run(&flags).ok(), "from the caller,a=b: [c,,1");
    assert_eq!(run(&["--env", "ZONEKEEP=0"]).ok(), ",,,1", "a command cannot be told otherwise");
    for log in project.log_lines() {
        assert!(!log.contains("a=b"), "the value may be a secret: {log}");
    }
}

#[test]
fn a_wrong_flag_is_a_usage_error_that_names_the_right_one() {
    let project = Project::new(PROGRAM);
    let cases: [(&[&str], &str); 5] = [
        (&["--net", "pyton"], "did you mean 'python'?"),
        (&["--allow-host", "https://a.test/"], "write the host name alone"),
        (&["--env", "HOME"], "--pass-env HOME"),
        (&["--pass-env", "PATH"], "never passed to commands"),
        (&["--pass-env", "A=B"], "without '='"),
    ];
    for (flags, says) in cases {
        let run = project.zonekeep(["run"].iter().chain(flags).chain(&["--", "true"]));
        assert_eq!(run.exit, 2, "{flags:?}: {run}");
        assert!(run.stderr.contains(says), "{flags:?}: {run}");
    }
}

#[test]
fn the_result_is_data() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM);
    let script =
        "cat; echo oops >&2; (mkdir -p .vscode; echo {} > .vscode/tasks.json) 2>&-; exit 3";
    let args = ["run", "--json", "--rw", ".", "--", "sh", "-c", script];
    let run = project.zonekeep_with_input(args, "typed\n");
    assert_eq!((run.exit, run.stderr.as_str()), (3, ""), "the status is the command's: {run}");
    let result = value(&run);
    assert_eq!((&result["exit_code"], &result["status"]), (&json!(3), &json!(3)));
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("typed\n"), &json!("oops\n")));
    assert!(result["notes"].is_array() && result["hints"].is_array(), "{run}");
    let caught = result["caught"].as_array().unwrap();
    assert!(!caught.is_empty(), "{run}");
    for file in caught {
        assert!(file["path"].is_string() && file["pattern"].is_string(), "{file}");
    }

    let killed = project.zonekeep(["run", "--json", "--rw", ".", "--", "sh", "-c", "kill -9 $$"]);
    let result = value(&killed);
    assert_eq!(
        (killed.exit, &result["signal"], &result["exit_code"]),
        (137, &json!(9), &json!(null))
    );
    let late = ["run", "--json", "--rw", ".", "--timeout", "1s", "--", "sleep", "100"];
    let late = project.zonekeep(late);
    assert_eq!((late.exit, &value(&late)["timed_out"]), (124, &json!(true)));
    let refused = project.zonekeep(["run", "--json", "--rw", "/", "--", "true"]);
    assert_eq!(refused.exit, 125, "{refused}");
    assert!(value(&refused)["error"]["message"].is_string(), "{refused}");
}

#[test]
fn a_command_without_a_grant_is_told_the_flag() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM).file("a.txt", "a\n").dir("here");
    let run = project.zonekeep(["run", "--", "true"]);
    assert_eq!(run.exit, 0);
    assert!(run.stderr.starts_with("hint: add --rw . "), "{run}");
    for flags in [["--rw", "."], ["--ro", "."], ["--zone", "here=here"]] {
        let run = project.zonekeep(["run"].iter().chain(&flags).chain(&["--", "true"]));
        assert_eq!((run.exit, run.stderr.as_str()), (0, ""), "{flags:?}");
    }
    let data = value(&project.zonekeep(["run", "--json", "--", "true"]));
    assert!(data["hints"][0].as_str().unwrap().starts_with("add --rw . "), "{data}");
}

#[test]
fn a_project_command_starts_where_it_was_called() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).dir("repo/a/b").dir("closed/d");
    let pwd = |dir: &str| {
        let run = project.zonekeep_in(dir, ["run", "--", "pwd"]);
        run.ok().to_owned()
    };
    assert_eq!(pwd(""), "/repo");
    assert_eq!(pwd("repo"), "/repo");
    assert_eq!(pwd("repo/a/b"), "/repo/a/b");
    assert_eq!(pwd("closed/d"), "/repo", "commands do not get a zone that is not read");
    let plan = project.zonekeep_in("repo/a/b", ["explain", "run", "--", "pwd"]);
    assert!(plan.ok().contains("  starts:  /repo/a/b\n"), "{plan}");
    // Where a flag names the project, the caller may be anywhere.
    let mut command = project.command();
    command.current_dir("/").arg("run").arg("--project").arg(project.path(""));
    assert_eq!(project.finish(command.args(["--", "pwd"])).ok(), "/repo");
    // A directory that a flag grants besides is not where the caller is.
    let other = project.beside("other");
    std::fs::create_dir(&other).unwrap();
    let beside = ["run", "--rw", other.to_str().unwrap(), "--", "pwd"];
    assert_eq!(project.zonekeep_in("repo/a", beside).ok(), "/repo/a");
    let around = "sandbox:\n  mode: direct\n  zones:\n    all: { path: ., mode: rw, at: same }\n  \
                  working_dir: /all\n";
    project.put("zonekeep.yaml", around);
    for (dir, starts) in [("", "[TEMP]/project"), ("repo/a", "[TEMP]/project/repo/a")] {
        assert_eq!(project.zonekeep_in(dir, beside).ok(), starts);
    }
    // The directory of the project itself keeps the file's choice.
    project.put("zonekeep.yaml", CONFIG.replace("working_dir: /repo", "working_dir: /repo/a"));
    assert_eq!(pwd(""), "/repo/a");
    assert_eq!(pwd("repo/a/b"), "/repo/a/b");
}

#[test]
fn a_program_of_the_host_that_is_missing_inside_is_named_with_its_flag() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM).dir("work/bin");
    let tools = project.beside("tools");
    std::fs::create_dir(&tools).unwrap();
    // Everybody can write there, so that PATH inside leaves it out.
    std::fs::set_permissions(&tools, std::fs::Permissions::from_mode(0o777)).unwrap();
    for path in [tools.join("zk-odd-tool"), project.path("work/bin/zk-own-tool")] {
        std::fs::write(&path, "#!/bin/sh\necho it runs\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!(
        "{}:{}:{}",
        tools.display(),
        project.path("work/bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = |args: &[&str]| {
        let mut command = project.command();
        command.current_dir(project.path("work")).env("PATH", &path);
        project.finish(command.args(["run", "--rw", "."]).args(args))
    };
    let odd = run(&["--", "zk-odd-tool"]);
    assert_eq!(odd.exit, 127, "{odd}");
    let says = "hint: zk-odd-tool is a program of this machine; add --ro [TEMP]/tools and run \
                [TEMP]/tools/zk-odd-tool";
    assert!(odd.stderr.contains(says), "{odd}");
    let (dir, tool) = (tools.display().to_string(), tools.join("zk-odd-tool"));
    assert_eq!(run(&["--ro", &dir, "--", tool.to_str().unwrap()]).ok(), "it runs");
    let own = run(&["--", "zk-own-tool"]);
    assert_eq!(own.exit, 127, "{own}");
    assert!(own.stderr.contains("run [TEMP]/project/work/bin/zk-own-tool"), "{own}");
    let shell = run(&["--", "sh", "-c", "exit 127"]);
    assert_eq!((shell.exit, shell.stderr.as_str()), (127, ""), "sh itself was found");
    let none = run(&["--", "zk-no-such-program"]);
    assert_eq!(none.exit, 127);
    assert!(!none.stderr.contains("hint:"), "{none}");
}

#[test]
fn a_rule_that_is_not_enforced_is_named_with_its_reason_and_remedy() {
    let project = Project::new(PROGRAM);
    let offered = value(&project.zonekeep(["doctor", "--json"]));
    let backends = offered["backends"].as_array().unwrap();
    if !backends.iter().any(|b| b["backend"] == "landlock" && b["available"] == true) {
        return skip("landlock is not available here");
    }
    let run = project.zonekeep(["run", "--backend", "landlock", "--rw", ".", "--", "true"]);
    assert_eq!(run.exit, 0, "{run}");
    let says = "zonekeep: Not everything is enforced here:\n  files outside: only partly enforced \
                (names, sizes, owners and times can be seen";
    assert!(run.stderr.starts_with(says), "{run}");
    let remedy = "to raise: make the namespaces or the bubblewrap backend available";
    assert!(run.stderr.contains(&format!("\n    {remedy}")), "{run}");
    let doctor = project.zonekeep(["doctor", "--backend", "landlock"]);
    let words = doctor.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(remedy), "{doctor}");
}

/// What a debugger asks of the kernel, about a child, the first process and the supervisor;
/// each line is a name and 0 or an error number.
const DEBUGGER: &str = r#"
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
def tell(name, result):
    print(name, 0 if result >= 0 else ctypes.get_errno())
child = os.fork()
if child == 0:
    time.sleep(100)
    os._exit(0)
ATTACH, DETACH, NR_PERF = 16, 17, 298 if os.uname().machine == "x86_64" else 241
tell("child", libc.ptrace(ATTACH, child, 0, 0))
os.kill(child, 9)
os.waitpid(child, 0)
tell("first", libc.ptrace(ATTACH, 1, 0, 0))
tell("supervisor", libc.ptrace(ATTACH, os.getppid(), 0, 0))
tell("memfd", libc.syscall(319 if NR_PERF == 298 else 279, b"x", 0))
attr = ctypes.create_string_buffer(128)
tell("all", libc.syscall(NR_PERF, attr, -1, 0, -1, 0))
tell("unshare", libc.unshare(0x10000000))
"#;

#[test]
fn debuggers_reach_commands_and_nothing_else() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    if zonekeep_testkit::program("python3").is_none() {
        return skip("python3 is not installed");
    }
    let project = Project::new(PROGRAM).file("debugger.py", DEBUGGER);
    let run = |flags: &[&str]| {
        let python = ["--rw", ".", "--", "python3", "debugger.py"];
        project.zonekeep(["run"].iter().chain(flags).chain(&python))
    };
    let usual = run(&[]);
    assert_eq!(usual.ok(), "child 1\nfirst 1\nsupervisor 1\nmemfd 38\nall 1\nunshare 1", "{usual}");
    let debug = run(&["--debug"]);
    assert_eq!(debug.ok(), "child 0\nfirst 1\nsupervisor 1\nmemfd 0\nall 1\nunshare 1", "{debug}");
    let says = "kernel surface: only partly enforced (processes of the sandbox can be traced and \
                profiled, and files in memory made (--debug))\n    to raise: run without --debug";
    assert!(debug.stderr.contains(says), "{debug}");
    let strict = run(&["--debug", "--strict"]);
    assert_eq!(strict.exit, 125, "{strict}");
    let weak = run(&["--debug", "--backend", "landlock"]);
    assert_eq!(weak.exit, 125, "it has no processes of its own: {weak}");
    let proved = run(&["--debug", "--set", "sandbox.prove=true"]);
    assert_eq!(proved.exit, 0, "the self-probe knows: {proved}");
}

#[test]
fn a_command_that_succeeds_within_its_limit_of_processes_succeeds() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["run", "--limit", "processes=1", "--rw", ".", "--", "true"]);
    assert!(run.exit == 0 && run.stderr.is_empty(), "{run}");
    let many = "sleep 30 & sleep 30 & sleep 30 & wait; echo ended";
    let limit = ["run", "--limit", "processes=2", "--rw", ".", "--", "sh", "-c", many];
    let over = project.zonekeep(limit);
    assert_eq!(over.exit, 137, "{over}");
    assert!(over.stderr.contains("because it reached its limit of 2 processes"), "{over}");
}

#[test]
fn real_debuggers_work() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM);
    let debuggers: [(&str, &[&str], &str); 2] = [
        ("strace", &["-f", "-e", "trace=execve", "sh", "-c", "echo traced; true"], "traced"),
        ("gdb", &["-q", "-batch", "-ex", "run", "--args", "/bin/echo", "debugged"], "debugged"),
    ];
    for (name, args, prints) in debuggers {
        if zonekeep_testkit::program(name).is_none() {
            skip(&format!("{name} is not installed"));
            continue;
        }
        let run = |flags: &[&str]| {
            project
                .zonekeep(["run", "--rw", "."].iter().chain(flags).chain(&["--", name]).chain(args))
        };
        assert!(run(&["--debug"]).ok().contains(prints), "{name}");
        // The control: without the flag the kernel refuses to trace.
        let usual = run(&[]);
        assert!(!usual.stdout.contains(prints), "{name}: {usual}");
    }
}

/// A server on one address of its loopback, which says what it was told and ends.
const SERVER: &str = r#"
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
open("ready", "w").close()
for _ in range(int(sys.argv[3])):
    client, _ = server.accept()
    said = b""
    while part := client.recv(65536):
        said += part
    client.sendall(b"heard " + str(len(said)).encode())
    client.close()
"#;

/// Returns a port that nobody has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn talk(port: u16, bytes: usize) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(zonekeep_testkit::PATIENCE))?;
    stream.write_all(&vec![b'x'; bytes])?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_server_inside_is_reached_at_a_port_of_the_host() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    if zonekeep_testkit::program("python3").is_none() {
        return skip("python3 is not installed");
    }
    // More connections than there are sockets to carry them at once.
    const CONNECTIONS: usize = 40;
    for (address, network) in
        [("127.0.0.1", "false"), ("::1", "false"), ("127.0.0.1", "[example.org]")]
    {
        let project = Project::new(PROGRAM).file("server.py", SERVER);
        let (port, inside) = (free_port(), free_port());
        let start = |flags: &[&str]| {
            let many = CONNECTIONS.to_string();
            let network = format!("sandbox.network={network}");
            let mut command = project.command();
            command.args(["run", "--rw", ".", "--set", &network]).args(flags);
            command.args(["--", "python3", "server.py", address, &inside.to_string(), &many]);
            let child = Stopped(command.spawn().unwrap());
            eventually("the server", || project.exists("ready").then_some(()));
            std::fs::remove_file(project.path("ready")).unwrap();
            child
        };
        let closed = start(&[]);
        talk(inside, 1).expect_err("the control: without the flag nobody listens outside");
        drop(closed);

        let mut served = start(&["--port", &format!("{port}:{inside}")]);
        let long = 3_000_000;
        assert_eq!(talk(port, long).unwrap(), format!("heard {long}"), "{address}");
        for _ in 1..CONNECTIONS {
            assert_eq!(talk(port, 5).unwrap(), "heard 5", "{address}");
        }
        assert!(served.0.wait().unwrap().success());
        talk(port, 1).expect_err("the port is closed with the sandbox");
    }
}

#[test]
fn a_port_leads_only_where_it_is_said_to() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = project.zonekeep(["run", "--rw", ".", "--port", &port, "--", "true"]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains(&format!("listen on 127.0.0.1:{port}")), "{run}");
    // The command gets no way out by it: the service of the host stays out of reach.
    let own = free_port().to_string();
    let script = format!(
        "! python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'"
    );
    let args = ["run", "--rw", ".", "--port", &own, "--", "sh", "-c", &script];
    let run = project.zonekeep(args);
    assert_eq!(run.exit, 0, "{run}");
    for wrong in ["0", "70000", "a", "1:", ":1", "1:2:3"] {
        assert_eq!(project.zonekeep(["run", "--port", wrong, "--", "true"]).exit, 2, "{wrong}");
    }
    let weak = ["run", "--rw", ".", "--backend", "landlock", "--port", &own, "--", "true"];
    assert_eq!(project.zonekeep(weak).exit, 125);
}

#[test]
fn a_shell_inside_has_a_prompt_of_its_own() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::new(PROGRAM);
    for shell in [&["sh", "-i"][..], &["bash", "-i"]] {
        let args = ["run", "--rw", ".", "--"].iter().chain(shell);
        let Some(mut terminal) = project.zonekeep_at_terminal(args) else {
            return skip("there is no way to make a terminal");
        };
        terminal.wait_for(
            &format!("(zonekeep) {} $ ", project.path("").display()).replace("/ $", " $"),
        );
        terminal.type_in("exit 4\n");
        assert_eq!(terminal.end().0, 4);
    }
    let piped = project.zonekeep(["run", "--rw", ".", "--", "env"]);
    assert!(!piped.ok().contains("PS1="), "scripts take a prompt for a person");
}
