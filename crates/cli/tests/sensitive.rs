//! Credentials in granted directories.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use crate::mcp_common::{Client, text};
use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    data: { path: ./data, mode: rw, approval: { read: preApproved, write: preApproved, delete: preApproved } }
  working_dir: /data
";

fn project(config: &str) -> Project {
    Project::with_config(PROGRAM, config)
        .file("data/.ssh/id_rsa", "KEY")
        .file("data/ann/.netrc", "KEY")
        .file("data/.pgpass", "KEY")
        .file("data/.config/gh/hosts.yml", "KEY")
        .file("data/.env", "open")
        .link("data/link", ".ssh")
}

const SECRETS: [&str; 5] =
    [".ssh/id_rsa", "ann/.netrc", ".pgpass", ".config/gh/hosts.yml", "link/id_rsa"];

fn call(project: &Project, tool: &str, arguments: Value) -> Run {
    project.zonekeep(["tool", tool, &arguments.to_string()])
}

fn has_own_tree(project: &Project) -> bool {
    let run = project.zonekeep(["doctor", "--json"]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let backend = value["examined"]["backend"].as_str().unwrap_or_default();
    matches!(backend, "namespaces" | "bubblewrap")
}

#[test]
fn commands_do_not_read_credentials_in_granted_directories() {
    let project = project(CONFIG);
    if !has_own_tree(&project) {
        return skip("they are hidden by mounts of a tree of its own");
    }
    for path in SECRETS {
        let run = project.zonekeep(["run", "--", "cat", path]);
        assert!(run.exit != 0 && !run.stdout.contains("KEY"), "{path}: {run}");
    }
    assert_eq!(project.zonekeep(["run", "--", "cat", ".env"]).ok(), "open");
    let explained = project.zonekeep(["explain", "run", "--", "true"]);
    assert!(
        explained.ok().contains("credentials in granted directories are hidden"),
        "{explained}"
    );
    assert!(explained.ok().contains("/data/ann/.netrc"), "{explained}");
    // A directory of --ro, and one that is named itself.
    let data = project.path("data");
    let [data, ssh] = [data.clone(), data.join(".ssh")].map(|path| path.display().to_string());
    let run = project.zonekeep(["run", "--ro", &data, "--", "cat", &format!("{data}/.ssh/id_rsa")]);
    assert!(run.exit != 0 && !run.stdout.contains("KEY"), "{run}");
    let run = project.zonekeep(["run", "--ro", &ssh, "--", "cat", &format!("{ssh}/id_rsa")]);
    assert_eq!(run.ok(), "KEY", "it was asked for by name");
    if is_root() {
        let run = project.zonekeep(["run", "--ro", "/etc", "--", "cat", "/etc/shadow"]);
        assert!(run.exit != 0 && run.stdout.is_empty(), "{run}");
        project.zonekeep(["run", "--ro", "/etc", "--", "cat", "/etc/passwd"]).ok();
    }
}

#[test]
fn commands_of_a_running_server_do_not_read_credentials_written_since() {
    let config = format!("{CONFIG}shell: {{ default: contained }}\n");
    let project = Project::with_config(PROGRAM, &config).file("data/.config/app", "open");
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let mut client = Client::open(&project, &[], &json!({}));
    let mut run = |line: &str| {
        let result = client.tool("shell", json!({ "command": line }));
        text(&result).to_owned()
    };
    let kept = run("echo kept > /tmp/kept; cat .config/app");
    assert!(kept.contains("open"), "{kept}");
    for path in [".netrc", ".SSH/id_rsa", ".config/gh/hosts.yml"] {
        project.put(&format!("data/{path}"), "KEY");
        let read = run(&format!("cat {path}"));
        assert!(!read.contains("KEY") && read.contains("Permission denied"), "{path}: {read}");
        assert!(read.contains("is hidden from commands"), "{path}: {read}");
    }
    // The control: other files that are written meanwhile are there, and so is /tmp.
    project.put("data/.env", "open");
    let read = run("cat .env /tmp/kept");
    assert!(read.contains("open") && read.contains("kept"), "{read}");
}

#[test]
fn file_tools_do_not_read_credentials_in_zones() {
    let project = project(CONFIG);
    for path in SECRETS {
        let run = call(&project, "read_file", json!({ "path": format!("/data/{path}") }));
        assert!(run.exit == 1 && !run.stdout.contains("KEY"), "{path}: {run}");
        let copy = json!({ "from": format!("/data/{path}"), "to": "/data/copy" });
        let run = call(&project, "copy_file", copy.clone());
        assert!(run.exit == 1 && !project.exists("data/copy"), "{path}: {run}");
        let run = call(&project, "move_file", copy);
        assert!(run.exit == 1 && !project.exists("data/copy"), "{path}: {run}");
    }
    for dir in [".ssh", ".config"] {
        let run =
            call(&project, "move_file", json!({ "from": format!("/data/{dir}"), "to": "/data/x" }));
        assert_eq!(run.exit, 1, "{dir}: {run}");
        assert!(!project.exists("data/x"), "{dir}: {run}");
    }
    let found = call(&project, "search_files", json!({ "pattern": "KEY", "path": "/data" }));
    assert!(!found.stdout.contains("id_rsa") && !found.stdout.contains("netrc"), "{found}");
    assert_eq!(call(&project, "read_file", json!({ "path": "/data/.env" })).ok(), "open");
}

#[test]
fn refusals_and_explanations_name_the_rule_that_hides_credentials() {
    let project = project(CONFIG).file("data/.gem/notes", "open");
    let read = |path: &str| call(&project, "read_file", json!({ "path": path }));
    assert_snapshot!(read(".ssh/id_rsa").to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot read '.ssh/id_rsa': it is a well-known place of credentials, which is hidden.
    The user can list it in sandbox.allow_sensitive.
    ");
    assert_snapshot!(project.zonekeep(["explain", "read", "ann/.netrc"]).to_string(), @r#"
    exit 0
    --- stdout
    read /data/ann/.netrc: denied (sensitive)
      | Cannot read 'ann/.netrc': it is a well-known place of credentials, which is hidden.
      | The user can list it in sandbox.allow_sensitive.
      rule:    credentials ".netrc": hidden (not in a file)
      mount:   /data (rw) from [TEMP]/project/data
      change:  sandbox.allow_sensitive: [".netrc"]
      opens:   credentials that match .netrc, in every granted directory
      to try:  zonekeep explain read /data/ann/.netrc --set 'sandbox.allow_sensitive=[".netrc"]'
    --- stderr
    "#);
    for path in SECRETS {
        let value = project.zonekeep(["explain", "read", path, "--json"]);
        let value: Value = serde_json::from_str(value.ok()).unwrap();
        assert_eq!(value["verdict"], "deny", "{path}");
        assert_eq!(value["code"], "sensitive", "{path}");
        // By links and by the path itself, what is explained is what happens.
        let calls = [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            (
                "edit_file",
                json!({ "path": path, "edits": [{ "old_string": "K", "new_string": "x" }] }),
            ),
            ("delete_file", json!({ "path": path })),
            ("copy_file", json!({ "source": path, "destination": "copy" })),
            ("copy_file", json!({ "source": ".env", "destination": path })),
            ("move_file", json!({ "source": path, "destination": "copy" })),
            ("move_file", json!({ "source": ".env", "destination": path })),
        ];
        for (tool, arguments) in calls {
            let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--json"]);
            assert!(
                run.exit == 1 && run.to_string().contains("\"sensitive\""),
                "{arguments}: {run}"
            );
        }
    }
    for path in [".ssh/id_rsa", "ann/.netrc", ".pgpass", ".config/gh/hosts.yml"] {
        assert_eq!(project.read(&format!("data/{path}")), "KEY");
    }
    let moved = call(&project, "move_file", json!({ "source": ".gem", "destination": "x" }));
    assert_snapshot!(moved.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot move '.gem' to 'x': directories of this name can hold credentials, which are hidden.
    Move the files in it one by one
    ");
}

#[test]
fn credentials_are_allowed_by_pattern_after_trust() {
    let project = project(&format!("{CONFIG}  allow_sensitive: [\".ssh/**\"]\n"));
    let read = |path: &str| call(&project, "read_file", json!({ "path": path }));
    assert_snapshot!(read("/data/.ssh/id_rsa").to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file reaches outside its own directory and is not trusted yet:
      read credentials in granted directories that match .ssh/** (zonekeep.yaml:6)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
    project.zonekeep(["trust", "--yes"]).ok();
    assert_eq!(read("/data/.ssh/id_rsa").ok(), "KEY");
    assert_eq!(read("/data/ann/.netrc").exit, 1);
    if has_own_tree(&project) {
        assert_eq!(project.zonekeep(["run", "--", "cat", ".ssh/id_rsa"]).ok(), "KEY");
        assert_ne!(project.zonekeep(["run", "--", "cat", "ann/.netrc"]).exit, 0);
    }
}

#[test]
fn a_credential_file_that_a_commit_has_is_no_secret() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project =
        Project::with_config(PROGRAM, &CONFIG.replace("./data", "./repo")).dir("repo/sub");
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(project.path("repo")).args(["-c", "user.name=a", "-c", "user.email=b"]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    for version in ["one", "two"] {
        project.put("repo/sub/.netrc", version);
        git(&["add", "-A"]);
        git(&["commit", "-qm", version]);
    }
    let cat = || project.zonekeep(["run", "--", "cat", "/data/sub/.netrc"]);
    assert_eq!(cat().ok(), "two");
    // Git writes it as outside, also in a clone and a new work tree.
    let line = "git checkout -q HEAD~1 && git clone -q . ../data/clone && git worktree add -q tree";
    let run = project.zonekeep(["run", "--", "sh", "-c", &format!("cd /data; {line}")]);
    assert!(run.exit == 0 && !run.stderr.contains("zonekeep:"), "{run}");
    for path in ["repo/sub/.netrc", "repo/clone/sub/.netrc", "repo/tree/sub/.netrc"] {
        assert_eq!(project.read(path), "one", "{path}");
    }
    assert_eq!(git(&["status", "--porcelain"]), "?? clone/\n?? tree/\n");
    // Other content is the user's secret, and none of a command's stays.
    project.put("repo/sub/.netrc", "KEY");
    let run = cat();
    assert!(run.exit != 0 && run.stdout.is_empty(), "{run}");
    let plant = "echo planted > /data/.netrc; echo planted > /data/tree/sub/.netrc";
    project.zonekeep(["run", "--", "sh", "-c", plant]);
    assert!(!project.exists("repo/.netrc"));
    assert_eq!(project.read("repo/tree/sub/.netrc"), "one");
}

#[test]
fn commands_reach_no_socket_or_pipe_of_a_program_outside() {
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;

    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    if zonekeep_testkit::program("python3").is_none() {
        return skip("python3 is not installed");
    }
    let project = Project::new(PROGRAM).dir("zone/deep");
    let dir = project.path("zone");
    let serve = |path: &str| {
        let listener = UnixListener::bind(dir.join(path)).unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let _ = client.unwrap().write_all(b"HOST");
            }
        });
    };
    serve("a.sock");
    serve("deep/b.sock");
    // Under another name than the one that it was bound to, as servers do it that replace one
    // another.
    serve("new.sock");
    std::fs::rename(dir.join("new.sock"), dir.join("moved.sock")).unwrap();
    // Nobody listens any more: servers remove such a file when they start.
    drop(UnixListener::bind(dir.join("stale.sock")).unwrap());
    let made = std::process::Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap();
    assert!(made.success());
    let connect = |path: &str| {
        let say = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
                   print(s.recv(9))";
        ["python3".to_owned(), "-c".to_owned(), say.to_owned(), path.to_owned()]
    };
    let zone = dir.display().to_string();
    for flag in ["--rw", "--ro"] {
        for path in ["a.sock", "deep/b.sock", "moved.sock"] {
            let path = format!("{zone}/{path}");
            let mut control = std::process::Command::new("python3");
            let control = control.args(&connect(&path)[1..]).output().unwrap();
            assert!(control.stdout.starts_with(b"b'HOST'"), "{control:?}");
            let args = ["run", "--strict", flag, &zone, "--"].map(str::to_owned);
            let run = project.zonekeep(args.into_iter().chain(connect(&path)));
            assert!(run.exit != 0 && !run.stdout.contains("HOST"), "{flag} {path}: {run}");
        }
        let explained = project.zonekeep(["explain", "run", flag, &zone, "--", "true"]);
        assert!(explained.ok().contains("sockets and named pipes"), "{explained}");
    }
    let write = format!("echo x > {zone}/pipe");
    let run = project.zonekeep(["run", "--ro", &zone, "--", "sh", "-c", &write]);
    assert!(run.exit != 0 && run.stderr.contains("pipe: "), "{run}");
    // Commands have their own sockets, also at the place of one that is stale.
    let own = format!(
        "import os, socket, threading\nos.unlink('{zone}/stale.sock')\n\
         s = socket.socket(socket.AF_UNIX); s.bind('{zone}/stale.sock'); s.listen()\n\
         c = socket.socket(socket.AF_UNIX); c.connect('{zone}/stale.sock'); print('own')"
    );
    let run = project.zonekeep(["run", "--rw", &zone, "--", "python3", "-c", &own]);
    assert_eq!(run.ok(), "own");
    // By the user's own word.
    let allow = ["--set", "sandbox.allow_sensitive=[a.sock]"];
    let args = ["run", "--ro", &zone].into_iter().chain(allow).chain(["--"]).map(str::to_owned);
    let run = project.zonekeep(args.chain(connect(&format!("{zone}/a.sock"))));
    assert!(run.ok().contains("HOST"), "{run}");
}
