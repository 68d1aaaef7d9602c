//! The tool `shell`: what runs at once, what asks, what never runs.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw }
    input: { path: ./in, mode: ro }
shell:
  presets: [read_only]
  rules:
    - { pattern: 'touch *', approval: preApproved, paths: [/repo] }
    - { pattern: 'rm -rf *', approval: blocked, match: [rm -rf /, /bin/rm -fr x], not_match: [rm file] }
    - { pattern: 'curl *', approval: preApproved }
    - { pattern: 'python3 -c *', approval: preApproved }
    - { pattern: 'sh -c *', approval: ask }
";

fn project_with(config: &str) -> Project {
    Project::with_config(PROGRAM, config)
        .file("repo/a.txt", "a\n")
        .file("in/b.txt", "b\n")
        .file("tight.worker", "---\nname: tight\nsandbox: { zones: all }\nshell: { rules: [{ pattern: ls, approval: blocked }] }\n---\n")
        .file("loose.worker", "---\nname: loose\nsandbox: { zones: all }\nshell: { rules: [{ pattern: 'rm -rf *', approval: preApproved }, { pattern: 'make *', approval: preApproved }], default: preApproved }\n---\n")
}

fn project() -> Project {
    project_with(CONFIG)
}

fn shell(project: &Project, command: &str, flags: &[&str]) -> Run {
    call(project, json!({ "command": command }), flags)
}

fn call(project: &Project, arguments: Value, flags: &[&str]) -> Run {
    project.zonekeep(["tool", "shell", &arguments.to_string()].iter().chain(flags))
}

const NO: &[&str] = &["--approve", "none"];
const YES: &[&str] = &["--approve", "all"];

#[test]
fn harmless_lines_run_at_once_and_see_the_directories_of_the_file_tools() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    assert_snapshot!(shell(&project, "cat /repo/a.txt /input/b.txt | sort -r && ls -d /repo /input", NO), @r"
    exit 0
    --- stdout
    b
    a
    /input
    /repo
    [exit status 0]
    --- stderr
    ");
    let run = call(&project, json!({ "command": "pwd; ls", "cwd": "/input" }), NO);
    assert_eq!(run.ok(), "/input\nb.txt\n[exit status 0]");
    for (cwd, why) in
        [("/repo/nope", "there is no such directory"), ("/repo/a.txt", "it is not a directory")]
    {
        let run = call(&project, json!({ "command": "pwd", "cwd": cwd }), NO);
        assert!(run.exit != 0 && run.stderr.contains(&format!("cwd '{cwd}': ")), "{run}");
        assert!(run.stderr.contains(why) && !run.stderr.contains("confined"), "{run}");
    }
    let run = shell(&project, "ls /nowhere", NO);
    assert!(run.exit == 0 && run.stdout.contains("[exit status 2]"), "{run}");
}

#[test]
fn what_is_not_known_to_be_harmless_asks() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    for line in [
        "make",
        "echo x > /repo/new",
        "ls $(touch /repo/new)",
        "find . -name a -delete",
        "$CMD /repo",
        "cat /repo/a.txt | xargs touch",
        "LD_PRELOAD=/repo/x.so ls",
        "ls() { touch /repo/new; }; ls",
        "touch /input/new",
        "bash /repo/x.sh --version",
        "git diff -U --output=/repo/new",
        "cd /repo && uniq a*",
        "printf 'abc%1n' PATH",
        "test -v 'a[b]'",
        "cd /repo && git status",
        "eval ls -R; make",
        "ls\nmake",
        "echo 'unclosed",
    ] {
        let run = shell(&project, line, NO);
        assert_eq!(run.exit, 1, "{line}: {run}");
        assert!(run.stderr.contains("it needs the user's approval"), "{line}: {run}");
    }
    assert_eq!(project.tree("repo"), ["a.txt"]);
    assert_eq!(shell(&project, "touch /repo/new", NO).exit, 0);
    assert_eq!(project.tree("repo"), ["a.txt", "new"]);
}

#[test]
fn blocked_is_blocked_in_every_mode_and_from_every_door() {
    let project = project();
    let lines = [
        "rm -rf /repo",
        "ls; rm -fr /repo",
        "rm -r -f /repo",
        "/bin/rm -rf /repo",
        "r''m -rf /repo",
        "timeout 5 rm -rf /repo",
        "env A=1 nice -n 5 rm --recursive --force /repo",
        "find / -exec rm -rf {} +",
        "bash -c 'rm -rf /repo'",
        "echo /repo | xargs rm -rf",
        "true && (cd / && { rm -rf repo; })",
        "ls $(rm -rf /repo)",
        "find /repo -not -name -exec -exec rm -rf /repo ';'",
        "{ bash <<<'rm -rf /repo'; } <<<ls",
        "eval 'rm -rf' /repo",
    ];
    let modes: &[&[&str]] = &[
        NO,
        YES,
        &["--approve", "all", "--set", "approval.mode=auto"],
        &["--approve", "all", "--set", "approval.mode=manual"],
        &["--approve", "all", "--set", "approval.mode=strict"],
        &["--approve", "all", "--worker", "loose.worker"],
        &["--approve", "all", "--set", "shell.default=preApproved"],
        &["--approve", "all", "--set", "sandbox.backend=landlock"],
    ];
    for line in lines {
        for mode in modes {
            let run = shell(&project, line, mode);
            assert_eq!(run.exit, 1, "{line} {mode:?}: {run}");
            assert!(run.stderr.contains("this command is not allowed"), "{line} {mode:?}: {run}");
        }
    }
    let run = project.zonekeep(["run", "--", "rm", "-rf", "repo"]);
    assert!(run.exit == 125 && run.stderr.contains("not allowed"), "{run}");
    let run = project.zonekeep(["run", "--", "sh", "-c", "rm -rf /repo"]);
    assert!(run.exit == 125 && run.stderr.contains("not allowed"), "{run}");
    // Also where agents have no shell at all.
    let run = project.zonekeep([
        "run",
        "--set",
        "tool_rules.shell.allowed=false",
        "--",
        "rm",
        "-rf",
        "repo",
    ]);
    assert!(run.exit == 125 && run.stderr.contains("not allowed"), "{run}");
    assert_eq!(project.tree("repo"), ["a.txt"]);
}

/// Files of any name make a repository, and its configuration names programs.
#[test]
fn a_planted_repository_runs_nothing() {
    let project = project()
        .file("repo/bare/HEAD", "ref: refs/heads/main\n")
        .file("repo/bare/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = /repo\n\tfsmonitor = touch /repo/planted\n")
        .file("repo/bare/objects/.keep", "")
        .file("repo/bare/refs/heads/.keep", "");
    // The control: on the host, the same files run the program.
    let Some(git) = zonekeep_testkit::program("git") else {
        return zonekeep_testkit::skip("there is no git");
    };
    let (repo, config) = (project.path("repo"), project.read("repo/bare/config"));
    let on_host = config.replace("/repo", repo.to_str().unwrap());
    project.put("repo/bare/config", &on_host);
    let mut status = std::process::Command::new(git);
    status.arg("status").current_dir(repo.join("bare")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let _ = status.env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
    assert!(project.exists("repo/planted"), "the control does not work");
    std::fs::remove_file(project.path("repo/planted")).unwrap();
    project.put("repo/bare/config", &config);
    for line in ["git status", "git diff"] {
        call(&project, json!({ "command": line, "cwd": "/repo/bare" }), YES);
        shell(&project, &format!("cd /repo/bare && {line}"), YES);
        assert!(!project.exists("repo/planted"), "{line}");
    }
}

#[test]
fn nobody_who_does_not_look_says_yes_to_what_a_rule_may_forbid() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    for line in [
        "$(echo rm) -rf /repo",
        "X=rm; $X -rf /repo",
        "${SHELL:-sh} x",
        "rm $FLAGS /repo",
        "x=-c; sh $x 'rm -rf /repo'",
        "echo \"-c 'rm -rf /repo'\" | xargs sh",
        "bash -posix -c 'rm -rf /repo'",
        "bash 3<<<'rm -rf /repo' <<<ls <&3",
        "bash <(echo rm -rf /repo)",
        "choom -n 0 -- rm -rf /repo",
        "x=-exec; find /repo -maxdepth 0 $x rm -rf {} ';'",
        "git -c alias.x='!rm -rf /repo' x",
        "alias ls='rm -rf /repo'",
        "bash -noprofile -c 'rm -rf /repo' a",
        "bash --rcfile /repo/a.txt -ic ls",
        "bash -kc 'ls PATH=/repo'",
        "echo 'm -rf /repo' | xargs -tI% sh -c 'r%'",
    ] {
        for flags in [YES, &["--set", "approval.mode=auto"][..]] {
            let run = shell(&project, line, flags);
            assert_eq!(run.exit, 1, "{line}: {run}");
            let why = "only the user can tell whether a rule forbids it";
            assert!(run.stderr.contains(why), "{line}: {run}");
        }
    }
    assert_eq!(project.tree("repo"), ["a.txt"]);
}

/// The worked example of the design: consent decides whether, never what.
#[test]
fn a_yes_does_not_open_the_network() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let came = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&came);
    std::thread::spawn(move || {
        for stream in listener.incoming().take(16) {
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = stream.and_then(|mut stream| stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhi"));
        }
    });
    let connect = format!(
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('out')\""
    );
    // The control: outside of the sandbox it works.
    assert!(std::process::Command::new("sh").args(["-c", &connect]).status().unwrap().success());
    assert_eq!(came.load(Ordering::SeqCst), 1);
    let project = project();
    for flags in [YES, &["--set", "approval.mode=auto"][..]] {
        let run = shell(&project, &connect, flags);
        assert!(run.exit == 0 && !run.stdout.contains("out\n"), "{run}");
        assert!(run.stdout.contains("[exit status 1]"), "{run}");
    }
    if zonekeep_testkit::program("curl").is_some() {
        let run = shell(&project, &format!("curl -sS http://127.0.0.1:{port}/"), YES);
        assert!(run.stdout.contains("Network access is disabled for this worker."), "{run}");
    }
    assert_eq!(came.load(Ordering::SeqCst), 1, "nothing came out of the sandbox");
}

#[test]
fn without_an_os_sandbox_even_harmless_commands_ask_and_there_is_no_shell() {
    let project = project();
    let bare = ["--set", "sandbox.backend=none"];
    // A file that says so would need trust; here the user says it.
    let run = shell(&project, "ls /repo", &[&bare[..], NO].concat());
    assert!(run.exit == 1 && run.stderr.contains("needs the user's approval"), "{run}");
    let run = shell(&project, "ls | cat", &[&bare[..], YES].concat());
    assert_snapshot!(run, @r"
    exit 1
    --- stdout

    --- stderr
    Cannot run 'ls | cat': the character '|' (at byte 3) has a meaning for shells only, and this command runs without one; quote it if it is text.
    Write it in another way, or use a file tool.
    ");
    let run = shell(&project, "ls", &[&bare[..], YES, &["--set", "shell.mode=bash"]].concat());
    assert!(run.exit == 1 && run.stderr.contains("runs only where the operating system"), "{run}");
}

#[test]
fn without_a_shell_signs_in_quotes_are_text() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let config = CONFIG.replace("  presets: [read_only]", "  presets: [read_only]\n  mode: argv");
    let project = project_with(&config);
    assert_eq!(
        shell(&project, "echo \"a & b\" 'c | d' e\\;f", NO).ok(),
        "a & b c | d e;f\n[exit status 0]"
    );
    for (line, sign) in
        [("echo a & b", "'&'"), ("echo a;ls", "';'"), ("echo $HOME", "'$'"), ("ls *", "'*'")]
    {
        let run = shell(&project, line, YES);
        assert!(
            run.exit == 1 && run.stderr.contains(&format!("the character {sign}")),
            "{line}: {run}"
        );
    }
}

#[test]
fn a_worker_can_tighten_the_rules_and_never_loosen_them() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let run = shell(&project, "ls", &["--worker", "tight.worker", "--approve", "all"]);
    assert!(run.exit == 1 && run.stderr.contains("not allowed"), "{run}");
    let run = shell(&project, "make", &["--worker", "loose.worker", "--approve", "none"]);
    assert!(run.exit == 1 && run.stderr.contains("needs the user's approval"), "{run}");
}

#[test]
fn a_long_command_is_ended_and_says_so() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let run = call(&project, json!({ "command": "echo begun; sleep 60", "timeout": 1 }), YES);
    assert!(run.stdout.starts_with("begun\n[ended after 1."), "{run}");
    assert!(run.stdout.contains("it took too long"), "{run}");
}

#[test]
fn everything_is_on_record_with_what_decided() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    shell(&project, "ls /repo | wc -l", NO);
    shell(&project, "rm -rf /repo", YES);
    shell(&project, "make x", NO);
    let lines: Vec<Value> =
        project.log_lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |command: &str| {
        let is = |line: &&Value| {
            line["run"]["command"] == command
                && line["outcome"] != "begun"
                && line["outcome"] != "asked"
        };
        lines.iter().find(is).unwrap_or_else(|| panic!("{command} in {lines:?}"))
    };
    let done = of("ls /repo | wc -l");
    assert_eq!(done["verdict"], "allow");
    assert_eq!(done["run"]["exit_code"], 0);
    assert_eq!(done["run"]["judged"]["mode"], "bash");
    let parts = done["run"]["judged"]["parts"].as_array().unwrap();
    let texts: Vec<&str> = parts.iter().map(|part| part["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["ls /repo", "wc -l"]);
    assert_eq!(parts[0]["rule"]["says"], "shell.presets: read_only");
    let blocked = of("rm -rf /repo");
    assert_eq!((&blocked["verdict"], &blocked["code"]), (&json!("deny"), &json!("blocked")));
    assert_eq!(blocked["rule"]["line"], 10);
    let asked = of("make x");
    assert_eq!((&asked["verdict"], &asked["outcome"]), (&json!("ask"), &json!("refused")));
}

#[test]
fn a_person_sees_the_exact_command_and_can_say_for_how_much() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let arguments = json!({ "command": "make all\u{202e} # \u{1b}[31m" }).to_string();
    let steps = [("make all", ""), ("zonekeep> ", "n\n"), ("note", "not now\n")];
    let Some(typed) = project.zonekeep_typed(["tool", "shell", &arguments], &steps) else {
        return zonekeep_testkit::skip("there is no way to make a terminal");
    };
    assert!(
        !typed.screen.contains('\u{202e}') && !typed.screen.contains("\u{1b}[31m"),
        "{}",
        typed.screen
    );
    assert_eq!(typed.run.exit, 1);
    assert!(typed.run.stderr.contains("the user declined"), "{}", typed.run);
    assert!(typed.run.stderr.contains("not now"), "{}", typed.run);
}

#[test]
fn a_shell_reads_nothing_that_was_not_judged() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let config = CONFIG.replace(
        "    input:",
        "    extra: { path: ./extra, mode: rw }\n    input:",
    ).replace("shell:\n", "  env: { BASH_ENV: /repo/evil.sh, ENV: /repo/evil.sh, SHELLOPTS: xtrace, 'BASH_FUNC_ls%%': '() { echo evil; }' }\nshell:\n");
    let project = project_with(&config).dir("extra").file("repo/evil.sh", "echo evil\n");
    let run = shell(&project, "ls /repo", NO);
    assert_eq!(run.ok(), "a.txt\nevil.sh\n[exit status 0]", "{run}");
}

#[test]
fn what_nobody_could_look_at_is_refused_at_once() {
    let project = project();
    let deep =
        |open: &str, close: &str| format!("{}ls{}", open.repeat(10_000), close.repeat(10_000));
    for line in [
        format!("echo {}", "x".repeat(1_000_000)),
        format!("ls {}", "a ".repeat(500_000)),
        deep("$(", ")"),
        deep("( ", ")"),
    ] {
        let arguments = json!({ "command": line }).to_string();
        let run =
            project.zonekeep_with_input(["tool", "shell", "-", "--approve", "all"], &arguments);
        assert!(run.exit == 1, "{}", run.stderr);
        assert!(
            run.stderr.contains("too long") || run.stderr.contains("too deeply"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.len() < 2_000, "{}", run.stderr.len());
    }
    assert!(project.log_lines().iter().all(|line| line.len() < 100_000));
}

/// A text that is data to the parser, and code to the shell that reads it again.
#[test]
fn a_default_does_not_cover_a_text_that_is_read_again() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let line = "for b in 'x[$(touch /repo/planted)]'; do test -v 'a[b]'; done";
    // The control: bash runs what stands in the text.
    let host = line.replace("/repo", project.path("repo").to_str().unwrap());
    assert!(std::process::Command::new("bash").args(["-c", &host]).output().is_ok());
    assert!(project.exists("repo/planted"), "the control does not work");
    std::fs::remove_file(project.path("repo/planted")).unwrap();
    let flags = ["--approve", "none", "--set", "shell.default=preApproved"];
    let run = shell(&project, line, &flags);
    assert!(run.exit == 1 && run.stderr.contains("needs the user's approval"), "{run}");
    assert!(!project.exists("repo/planted"));
}
