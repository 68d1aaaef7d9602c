//! The organisation's file: projects, users and flags can only narrow it.
//!
//! It lies at one path that nothing changes, so these tests put another root directory with
//! a copy of `/etc` in the place of the machine's, in a mount namespace of their own.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, eventually, is_root, skip};

use crate::mcp_common::Client;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Makes a root directory of the test's own, whose `/etc` is a copy, and runs a command
/// there. All of it belongs to root, which is the user of the test in a user namespace.
const ENTER: &str = r#"set -e
base=$1 change=$2; shift 2
root=$base/root etc=$base/etc
mkdir -p "$root"
if [ ! -d "$etc" ]; then
    mkdir "$etc"
    cp -a /etc/. "$etc" 2>/dev/null || :
    rm -rf "$etc/zonekeep"
    mkdir "$etc/zonekeep"
    cp "$base/policy.yaml" "$etc/zonekeep/policy.yaml"
    chmod 644 "$etc/zonekeep/policy.yaml"
fi
chmod 755 "$base" "$root" "$etc" "$etc/zonekeep"
(cd "$etc/zonekeep" && eval "$change")
here=$PWD
mount --bind "$root" "$root"
cd "$root"
for top in /*; do
    name=${top#/}
    if [ -L "$top" ]; then
        [ -L "$name" ] || cp -P "$top" "$name"
    elif [ "$name" = etc ]; then
        mkdir -p etc
        mount --bind "$etc" etc
    elif [ -d "$top" ]; then
        mkdir -p "$name"
        mount --rbind "$top" "$name" 2>/dev/null || :
    fi
done
mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old
cd "$here"
exec "$@"
"#;

/// A machine whose administrator has written an organisation's file.
struct Machine {
    project: Project,
    /// What is done with the file before it is used, in its directory.
    change: &'static str,
}

impl Machine {
    /// Returns `None` where this user cannot have a mount namespace.
    fn new(project: Project, policy: &str) -> Option<Self> {
        std::fs::create_dir(project.beside("machine")).unwrap();
        project.put("../machine/policy.yaml", policy);
        let machine = Machine { project, change: "" };
        let here = machine.enter().args(["test", "-f", "/etc/zonekeep/policy.yaml"]).output();
        match here {
            Ok(output) if output.status.success() => return Some(machine),
            Ok(output) => skip(&format!(
                "a mount namespace with another root directory cannot be made here: {}",
                String::from_utf8_lossy(&output.stderr)
            )),
            Err(error) => skip(&format!("setsid and unshare are needed: {error}")),
        }
        None
    }

    fn enter(&self) -> Command {
        let mut command = Command::new("setsid");
        self.project.prepare(&mut command);
        command.args(["-w", "unshare", "--mount"]);
        // Inside, the owner of the copy is root.
        if !is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--", "sh", "-c", ENTER, "sh"]).arg(self.project.beside("machine"));
        command.arg(self.change);
        command
    }

    fn zonekeep<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.zonekeep_with(&[], args)
    }

    fn zonekeep_with<S: AsRef<OsStr>>(
        &self,
        env: &[(&str, &str)],
        args: impl IntoIterator<Item = S>,
    ) -> Run {
        let mut command = self.enter();
        command.envs(env.iter().copied()).arg(self.project.program()).args(args);
        self.project.finish(&mut command)
    }

    /// Starts a server.
    fn serve(&self, flags: &[&str]) -> Client {
        let mut command = self.enter();
        command.arg(self.project.program()).arg("mcp").args(flags);
        let mut client = Client::of(command);
        client.listen();
        client.greet(&json!({}));
        client
    }

    /// Returns the organisation's file, as it lies outside.
    fn file(&self) -> PathBuf {
        self.project.beside("machine/etc/zonekeep/policy.yaml")
    }

    /// Writes the organisation's file in one step, as administrators should.
    fn write(&self, text: &str) {
        let new = self.file().with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, Permissions::from_mode(0o644)).unwrap();
        std::fs::rename(new, self.file()).unwrap();
    }
}

const PROJECT: &str = "sandbox:
  mode: direct
  zones:
    work: { path: ./work, mode: rw, approval: { write: preApproved, delete: preApproved } }
    docs: { path: ./docs, mode: rw, approval: { write: preApproved } }
  limits: { time: 60s }
shell: { default: preApproved, rules: [{ pattern: 'git *', approval: preApproved }] }
";

fn project() -> Project {
    Project::with_config(PROGRAM, PROJECT).dir("work").file("docs/a.txt", "a\n")
}

/// Returns a machine whose directories for agents are those of the project.
fn machine(more: &str) -> Option<Machine> {
    let project = project();
    let dir = project.path("").canonicalize().unwrap();
    let policy = format!(
        "sandbox:\n  zones:\n    all: {{ path: {0}, mode: rw }}\n    docs: {{ path: {0}/docs, mode: ro }}\n{more}",
        dir.display()
    );
    Machine::new(project, &policy)
}

const WRITE: &str = r#"{"path": "/docs/a.txt", "content": "x"}"#;

#[test]
fn zones_get_the_organisations_mode_and_explain_names_its_line() {
    let Some(machine) = machine("") else { return };
    let run = machine.zonekeep(["tool", "write_file", WRITE]);
    assert!(
        run.exit == 1 && run.stdout.contains("read-only") || run.stderr.contains("read-only"),
        "{run}"
    );
    assert_eq!(machine.project.read("docs/a.txt"), "a\n");
    machine.zonekeep(["tool", "write_file", &WRITE.replace("/docs", "/work")]).ok();
    let run = machine.zonekeep(["explain", "write", "/docs/a.txt"]);
    assert!(run.stdout.contains("/etc/zonekeep/policy.yaml:4"), "{run}");
    assert!(
        run.stdout.contains("/etc/zonekeep/policy.yaml of your organisation does not allow it"),
        "{run}"
    );
    assert!(!run.stdout.contains("--set"), "{run}");
    let run = machine.zonekeep(["check"]);
    let says = "sandbox.zones.docs is looser than /etc/zonekeep/policy.yaml:4 allows";
    assert!(run.exit == 0 && run.stderr.contains(says), "{run}");
    let says = "/etc/zonekeep/policy.yaml is in force; 1 value(s) of this project are looser";
    assert!(run.stdout.contains(says), "{run}");
    let data =
        |args: &[&str]| -> Value { serde_json::from_str(&machine.zonekeep(args).stdout).unwrap() };
    assert_eq!(data(&["check", "--json"])["organisation"], "/etc/zonekeep/policy.yaml");
    // Explanations of every kind say so.
    let says = "organisation: /etc/zonekeep/policy.yaml is in force and narrows sandbox.zones.docs";
    let explanations: [&[&str]; 4] = [
        &["explain", "read", "/work"],
        &["explain", "connect", "a.example.org"],
        &["explain", "run", "git status"],
        &["explain", "run", "--", "true"],
    ];
    for args in explanations {
        let run = machine.zonekeep(args);
        assert!(run.exit == 0 && run.stdout.contains(says), "{args:?}: {run}");
        assert!(!machine.project.zonekeep(args).stdout.contains("organisation"), "the control");
    }
    let explained = data(&["explain", "read", "/work", "--json"]);
    assert_eq!(explained["organisation"]["narrowed"], json!(["sandbox.zones.docs"]));
    assert_eq!(explained["verdict"], "allow");
    let run = machine.zonekeep(["doctor"]);
    assert!(run.stdout.contains("/etc/zonekeep/policy.yaml bounds: sandbox.zones"), "{run}");
    assert!(run.stdout.contains("narrows here: sandbox.zones.docs"), "{run}");
    // The control: without the file the project's own rules hold.
    machine.project.zonekeep(["tool", "write_file", WRITE]).ok();
    assert_eq!(machine.project.read("docs/a.txt"), "x");
}

#[test]
fn no_flag_opens_a_directory_that_the_organisation_does_not_allow() {
    let Some(machine) = machine("") else { return };
    let project = &machine.project;
    let far = project.beside("far");
    std::fs::create_dir(&far).unwrap();
    std::fs::write(far.join("a.txt"), "far").unwrap();
    std::os::unix::fs::symlink(&far, project.path("work/link")).unwrap();
    let far = far.to_str().unwrap();
    let zone = format!("other={far}");
    let link = format!("other={}", project.path("work/link").display());
    let set = format!("sandbox.zones.other={{ path: {far}, mode: ro }}");
    let read = r#"{"path": "/other/a.txt"}"#;
    let attempts: [&[&str]; 7] = [
        &["tool", "read_file", read, "--zone", &zone],
        &["tool", "read_file", read, "--zone", &link],
        &["tool", "read_file", read, "--set", &set],
        &["tool", "list_files", "--ro", far],
        &["run", "--ro", far, "--", "true"],
        &["run", "--rw", far, "--", "true"],
        &["run", "--rw", "docs", "--", "true"],
    ];
    for args in attempts {
        let run = machine.zonekeep(args);
        assert!(
            run.exit == 125 && run.stderr.contains("/etc/zonekeep/policy.yaml"),
            "{args:?}: {run}"
        );
        assert!(run.stderr.contains("your organisation decides this"), "{args:?}: {run}");
    }
    // The control: the flags work without the file.
    for args in &attempts[..2] {
        assert_eq!(project.zonekeep(*args).ok(), "far");
    }
}

#[test]
fn hosts_variables_and_questions_are_bounded_whatever_flags_say() {
    let more = "  network: { allow: [a.example.org], deny: [x.example.org] }
  pass_env: []
  require_os_sandbox: true
  limits: { memory: 1G }
approval: { mode: tool }
shell: { rules: [{ pattern: 'git push', approval: ask }, { pattern: 'dd *', approval: blocked }] }
";
    let Some(machine) = machine(more) else { return };
    let net = ["--set", "sandbox.network=[a.example.org, b.example.org]"];
    let connect = |host: &str, flags: &[&str]| {
        machine.zonekeep(["explain", "connect", host].iter().chain(flags))
    };
    let run = connect("a.example.org", &net);
    assert!(run.stdout.contains("allowed"), "{run}");
    for flags in [&net[..], &["--set", "sandbox.network=true"], &[]] {
        let run = connect("b.example.org", flags);
        assert!(run.stdout.contains("denied"), "{flags:?}: {run}");
        assert!(run.stdout.contains("/etc/zonekeep/policy.yaml of your organisation"), "{run}");
    }
    // What the organisation allows and the project does not can be proposed.
    let run = connect("a.example.org", &[]);
    assert!(run.stdout.contains("sandbox.network: [a.example.org]"), "{run}");
    for line in ["git push", "dd if=a"] {
        let run = machine.zonekeep(["explain", "run", line]);
        assert!(run.stdout.contains("/etc/zonekeep/policy.yaml:"), "{line}: {run}");
        assert!(run.stdout.contains("of your organisation does not allow it"), "{line}: {run}");
    }
    let run = machine.zonekeep(["explain", "run", "git status"]);
    assert!(run.stdout.contains("allowed"), "{run}");
    let plan = ["explain", "run", "--json", "--pass-env", "PASSED", "--limit", "memory=900G"];
    let run =
        machine.zonekeep(plan.iter().chain(&["--set", "sandbox.limits.memory=900G", "--", "true"]));
    assert!(!run.stdout.contains("PASSED") && run.stdout.contains("1 GiB"), "{run}");
    let run = machine.zonekeep(["tool", "list_files", "--approve", "all"]);
    assert!(
        run.exit == 125 && run.stderr.contains("policy.yaml:9 of your organisation forbids"),
        "{run}"
    );
    // Whoever accepts weaker enforcement accepts it for himself, not for the organisation.
    let weak = [
        "run",
        "--accept-weaker",
        "--backend",
        "none",
        "--set",
        "sandbox.require_os_sandbox=false",
        "--",
        "true",
    ];
    let run = machine.zonekeep(weak);
    assert!(
        run.exit == 125
            && run.stderr.contains("Your organisation requires it (/etc/zonekeep/policy.yaml:7)"),
        "{run}"
    );
    assert_eq!(machine.project.zonekeep(weak).exit, 0, "the control");
    let debug = ["run", "--debug", "--", "true"];
    let run = machine.zonekeep(debug);
    assert!(
        run.exit == 125 && run.stderr.contains("policy.yaml:7 of your organisation forbids"),
        "{run}"
    );
    assert!(run.stderr.contains("leave out --debug"), "{run}");
    assert_eq!(machine.project.zonekeep(debug).exit, 0, "the control");
    // Variables and another home directory change nothing either.
    let env = [("ZONEKEEP_ACCEPT_WEAKER", "1"), ("HOME", "/"), ("XDG_CONFIG_HOME", "/")];
    let weak = ["run", "--backend", "none", "--", "true"];
    let run = machine.zonekeep_with(&env, weak);
    assert!(run.exit == 125 && run.stderr.contains("Your organisation requires it"), "{run}");
}

/// Everything that can declare a directory is held to the same bounds.
#[test]
fn workers_profiles_and_projects_without_a_file_are_bounded() {
    let Some(machine) = machine("  network: false\n") else { return };
    let project = &machine.project;
    let worker = |zone: &str| format!("---\nname: w\nsandbox:\n  zones: [{zone}]\n---\nWork.\n");
    project.put("w.worker", worker("{ name: docs, mode: rw }"));
    project.put("far.worker", worker("{ name: own, path: ../far, mode: rw }"));
    let far = project.beside("far");
    std::fs::create_dir(&far).unwrap();
    std::fs::write(far.join("a.txt"), "far").unwrap();
    let tool = |worker: &str, path: &str| {
        let write = json!({ "path": path, "content": "x" }).to_string();
        ["tool".to_owned(), "--worker".into(), worker.into(), "write_file".into(), write]
    };
    for (worker, path) in [("w.worker", "/docs/a.txt"), ("far.worker", "/own/a.txt")] {
        let run = machine.zonekeep(tool(worker, path));
        assert!(run.exit != 0, "{worker}: {run}");
    }
    assert_eq!(project.read("docs/a.txt"), "a\n");
    assert_eq!(std::fs::read_to_string(far.join("a.txt")).unwrap(), "far");
    project.zonekeep(tool("w.worker", "/docs/a.txt")).ok();
    assert_eq!(project.read("docs/a.txt"), "x", "the control");
    // A server with a directory of a flag.
    let far = far.to_str().unwrap();
    let run = machine.zonekeep(["mcp", "--rw", far]);
    assert!(run.exit == 125 && run.stderr.contains("/etc/zonekeep/policy.yaml"), "{run}");
    // A profile opens no host.
    let profile = ["explain", "connect", "api.anthropic.com", "--profile", "claude-code"];
    let (run, free) = (machine.zonekeep(profile), project.zonekeep(profile));
    assert!(run.stdout.contains("denied") && free.stdout.contains("allowed"), "{run}{free}");
    // Without a project file.
    std::fs::remove_file(project.path("zonekeep.yaml")).unwrap();
    let shell = ["run", "--rw", "docs", "--", "sh", "-c", "echo y > docs/a.txt"];
    let run = machine.zonekeep(shell);
    assert!(run.exit == 125 && run.stderr.contains("/etc/zonekeep/policy.yaml"), "{run}");
    let run = machine.zonekeep(["run", "--rw", far, "--", "true"]);
    assert!(run.exit == 125 && run.stderr.contains("/etc/zonekeep/policy.yaml"), "{run}");
    let net = ["explain", "connect", "b.example.org", "--set", "sandbox.network=true"];
    let (run, free) = (machine.zonekeep(net), project.zonekeep(net));
    assert!(run.stdout.contains("denied") && free.stdout.contains("allowed"), "{run}{free}");
    assert_eq!(project.read("docs/a.txt"), "x");
}

#[test]
fn a_file_that_cannot_be_used_refuses_everything_and_is_named() {
    let Some(mut machine) = machine("") else { return };
    let mut changes = vec![
        ("chmod 666 policy.yaml", "can be written by other users than root (mode 666)"),
        ("chmod 777 .", "/etc/zonekeep can be written by other users than root (mode 777)"),
        ("chmod 775 ..", "/etc can be written by other users than root (mode 775)"),
        ("chmod 1777 ../../root", "/ can be written by other users than root (mode 1777)"),
        ("echo 'sandbox: {' > policy.yaml", "cannot be used"),
        ("echo 'sandbox: { env: { A: b } }' > policy.yaml", "line 1: 'sandbox.env' cannot be in"),
        ("echo 'sandbox: { network: }' > policy.yaml", "line 1: 'network' has no value"),
        ("mv policy.yaml p; ln -s p policy.yaml", "cannot be read"),
        ("rm policy.yaml; ln -s /nonexistent policy.yaml", "cannot be read"),
        ("rm policy.yaml; mkdir policy.yaml", "not a regular file"),
        ("rm policy.yaml; mkfifo policy.yaml", "not a regular file"),
        ("cd ..; mv zonekeep z; ln -s z zonekeep", "cannot be read"),
    ];
    if is_root() {
        changes.extend([
            ("chown 65534 policy.yaml", "/etc/zonekeep/policy.yaml belongs to uid 65534"),
            ("chown 65534 .", "/etc/zonekeep belongs to uid 65534"),
            ("chown 65534 ..", "/etc belongs to uid 65534"),
        ]);
    }
    for (change, says) in changes {
        machine.change = change;
        let list: [&[&str]; 4] = [
            &["tool", "list_files"],
            &["run", "--rw", "work", "--", "true"],
            &["explain", "read", "/work"],
            &["check"],
        ];
        for args in &list[..1] {
            let run = machine.zonekeep(*args);
            assert!(run.exit == 125 && run.stderr.contains(says), "{change}: {args:?}: {run}");
            assert!(run.stderr.contains("/etc/zonekeep"), "{run}");
            assert!(run.stderr.contains("until an administrator of this machine"), "{run}");
        }
        if change.contains("env") {
            for args in &list[1..] {
                let run = machine.zonekeep(*args);
                assert!(
                    run.exit != 0 && run.stderr.contains("/etc/zonekeep/policy.yaml"),
                    "{args:?}: {run}"
                );
            }
            assert_snapshot!(machine.zonekeep(list[0]).to_string(), @"
            exit 125
            --- stdout

            --- stderr
            error: the organisation's file /etc/zonekeep/policy.yaml cannot be used:
              line 1: 'sandbox.env' cannot be in an organisation's file

            hint: nothing runs until an administrator of this machine has corrected it; no project file or flag can
            ");
        }
        // The next one begins with a copy of its own.
        std::fs::remove_dir_all(machine.project.beside("machine/etc")).unwrap();
    }
    machine.change = "";
    machine.zonekeep(["tool", "list_files"]).ok();
}

/// Neither a variable nor a flag names another file.
#[test]
fn the_path_of_the_file_cannot_be_changed() {
    let Some(machine) = machine("  network: false\n") else { return };
    let mut command = machine.enter();
    for name in [
        "ZONEKEEP_POLICY",
        "ZONEKEEP_ORGANISATION",
        "ZONEKEEP_ETC",
        "XDG_CONFIG_DIRS",
        "XDG_CONFIG_HOME",
    ] {
        command.env(name, machine.project.path(""));
    }
    command.arg(PROGRAM).args(["tool", "write_file", WRITE]);
    let run = machine.project.finish(&mut command);
    assert!(run.exit != 0 && !run.stderr.contains("not found"), "{run}");
    assert_eq!(machine.project.read("docs/a.txt"), "a\n");
}

const BOUND: &str = "/etc/zonekeep/policy.yaml has changed";

/// Waits until a server has said something once more.
#[track_caller]
fn hears(client: &Client, says: &str, before: usize) {
    eventually(says, || (client.said().matches(says).count() > before).then_some(()));
}

fn writes(client: &mut Client) -> bool {
    let write = json!({ "path": "/work/a", "content": "x" });
    client.tool("write_file", write)["isError"] == false
}

fn reads(client: &mut Client) -> bool {
    client.tool("read_file", json!({ "path": "/docs/a.txt" }))["isError"] == false
}

#[test]
fn a_running_server_takes_a_stricter_file_and_keeps_it_when_it_is_looser_or_gone() {
    let Some(mut machine) = machine("") else { return };
    let open = std::fs::read_to_string(machine.file()).unwrap();
    let strict = open.replace("mode: rw", "mode: ro");
    // The file appears while the server runs.
    machine.change = "rm -f policy.yaml";
    let mut client = machine.serve(&[]);
    assert!(writes(&mut client) && reads(&mut client), "the control");
    machine.write(&strict);
    hears(&client, "its rules are in force", 0);
    assert!(!writes(&mut client) && reads(&mut client));
    // Neither a looser file, nor none, nor the user's trust takes the bounds away.
    let said = client.said().matches(BOUND).count();
    machine.write(&open);
    hears(&client, BOUND, said);
    assert!(!writes(&mut client) && reads(&mut client));
    let said = client.said().matches(BOUND).count();
    std::fs::remove_file(machine.file()).unwrap();
    hears(&client, BOUND, said);
    assert!(!writes(&mut client) && reads(&mut client));
    // A comment is no other rule, although the project alone would be looser than the bounds.
    client.rest();
    machine.project.put("zonekeep.yaml", format!("{PROJECT}# a comment\n"));
    let news = |message: &Value| message["method"] == "notifications/tools/list_changed";
    assert!(client.within(Duration::from_millis(1_500), news).is_none());
    assert!(!client.said().contains("the project's files have changed"), "{}", client.said());
    let other = format!("{PROJECT}# changed\n");
    machine.project.put("zonekeep.yaml", other.replace("60s", "50s"));
    hears(&client, "their rules are in force", 0);
    assert!(!writes(&mut client) && reads(&mut client));
    machine.project.put("zonekeep.yaml", &other);
    machine.project.zonekeep(["trust", "--yes"]).ok();
    hears(&client, "their rules are in force", 1);
    assert!(!writes(&mut client) && reads(&mut client));
    assert_eq!(client.end(), Some(0));
    // A new start does.
    let mut client = machine.serve(&[]);
    assert!(writes(&mut client) && reads(&mut client));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_running_server_refuses_everything_while_the_file_cannot_be_used() {
    let Some(machine) = machine("") else { return };
    let open = std::fs::read_to_string(machine.file()).unwrap();
    let mut client = machine.serve(&[]);
    assert!(writes(&mut client) && reads(&mut client), "the control");
    let refused = "everything is refused because of /etc/zonekeep/policy.yaml";
    let writable = |mode| {
        std::fs::set_permissions(machine.file(), Permissions::from_mode(mode)).unwrap();
    };
    let broken: [&dyn Fn(); 3] = [
        &|| machine.write("sandbox: ["),
        &|| writable(0o666),
        // The directory above it is another user's as much as the file.
        &|| {
            let etc = machine.project.beside("machine/etc");
            std::fs::set_permissions(etc, Permissions::from_mode(0o777)).unwrap();
        },
    ];
    for (number, break_it) in broken.into_iter().enumerate() {
        let said = client.said().matches(refused).count();
        break_it();
        hears(&client, refused, said);
        let answer = client.tool("read_file", json!({ "path": "/docs/a.txt" }));
        assert_eq!(answer["isError"], true, "{number}: {answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("the organisation's file /etc/zonekeep/policy.yaml"), "{text}");
        assert!(!writes(&mut client));
        let answer = client.tool("shell", json!({ "command": "true" }));
        assert_eq!(answer["isError"], true, "{number}: {answer}");
        for uri in ["zonekeep:///docs/a.txt", "zonekeep://audit/session"] {
            let answer = client.call("resources/read", json!({ "uri": uri }));
            assert!(answer["error"].is_object(), "{number}: {answer}");
        }
        machine.write(&open);
        let etc = machine.project.beside("machine/etc");
        std::fs::set_permissions(etc, Permissions::from_mode(0o755)).unwrap();
        eventually("the file to be used again", || reads(&mut client).then_some(()));
        assert!(writes(&mut client), "{number}: the same rules as before");
        let audit = json!({ "uri": "zonekeep://audit/session" });
        assert!(client.call("resources/read", audit)["result"].is_object(), "the control");
    }
    // Bounds that the directories of this project are not within.
    let said = client.said().matches(refused).count();
    machine.write("sandbox: { zones: { far: { path: /nonexistent, mode: rw } } }\n");
    hears(&client, refused, said);
    assert!(!reads(&mut client));
    assert!(client.said().contains("is in no directory that /etc/zonekeep/policy.yaml"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_empty_file_refuses_everything() {
    for text in ["", "# nothing\n", "name: acme\n"] {
        let Some(machine) = Machine::new(project(), text) else { return };
        let run = machine.zonekeep(["tool", "list_files", r#"{"path": "/work"}"#]);
        assert!(run.exit == 125 && run.stderr.contains("so bounds nothing"), "{text:?}: {run}");
    }
}

#[test]
fn trust_given_under_the_organisations_bounds_covers_no_more_than_was_shown() {
    let network = "sandbox:\n  network: { allow: [\"*.example.org\"] }\n";
    for (reach, shown, later) in [
        ("true", "reach *.example.org", "reach every host on the network"),
        ("[a.example.org, evil.example]", "reach a.example.org", "reach evil.example"),
    ] {
        let config = PROJECT.replace("  limits:", &format!("  network: {reach}\n  limits:"));
        let project = Project::with_config(PROGRAM, &config).dir("work").dir("docs");
        let Some(machine) = Machine::new(project, network) else { return };
        let run = machine.zonekeep(["trust", "--yes"]);
        assert!(run.ok().contains(shown) && !run.ok().contains(later), "{run}");
        machine.zonekeep(["run", "--", "true"]).ok();
        // The organisation's file is gone.
        let run = machine.project.zonekeep(["run", "--", "true"]);
        assert!(run.exit == 125 && run.stderr.contains(later), "{reach}: {run}");
        // Another text changes nothing about that.
        machine.project.put("zonekeep.yaml", format!("# a comment\n{config}"));
        let run = machine.project.zonekeep(["run", "--", "true"]);
        assert!(run.exit == 125 && run.stderr.contains(later), "{reach}: {run}");
        machine.project.zonekeep(["trust", "--yes"]).ok();
        machine.project.zonekeep(["run", "--", "true"]).ok();
    }
}
