//! `zonekeep check`: every problem, with its place and what to write instead.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use insta::assert_snapshot;
use serde_json::Value;
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn check(config: &str) -> (Project, zonekeep_testkit::Run) {
    let project = Project::with_config(PROGRAM, config).dir("in").dir("out");
    let run = project.zonekeep(["check"]);
    (project, run)
}

#[test]
fn a_good_file_is_counted() {
    let (_, run) = check(
        "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw }
",
    );
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    zonekeep.yaml: ok, 2 zone(s), 0 worker(s), 0 warning(s)
    --- stderr
    ");
}

#[test]
fn without_a_file_the_defaults_are_checked() {
    let run = Project::new(PROGRAM).zonekeep(["check"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    no project file (the defaults hold): ok, 2 zone(s), 0 worker(s), 0 warning(s)
    --- stderr
    ");
}

#[test]
fn all_problems_are_shown_at_once_with_line_column_and_a_suggestion() {
    let (_, run) = check(
        "sandbox:
  mdoe: direct
  zones:
    input: { path: ./in, mode: read }
    output: { path: ./out, mode: rw, sufixes: [.md] }
  network: maybe
aproval: { mode: tool }
",
    );
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout
    zonekeep.yaml: 5 error(s), 0 warning(s)
    --- stderr
    error[unknown_key]: unknown key 'mdoe' in 'sandbox'
     --> zonekeep.yaml:2:3
      |
    2 |   mdoe: direct
      |   ^^^^
      |
      = help: did you mean 'mode'? known keys: mode, root, zones, paths, working_dir, home, network, secrets, require_os_sandbox, limits, backend, prove, caches, env, pass_env, guard, allow_hard_links, allow_sensitive

    error[bad_value]: 'sandbox.zones.input.mode' cannot be 'read'
     --> zonekeep.yaml:4:32
      |
    4 |     input: { path: ./in, mode: read }
      |                                ^^^^
      |
      = help: it can be: ro, rw

    error[unknown_key]: unknown key 'sufixes' in 'sandbox.zones.output'
     --> zonekeep.yaml:5:38
      |
    5 |     output: { path: ./out, mode: rw, sufixes: [.md] }
      |                                      ^^^^^^^
      |
      = help: did you mean 'suffixes'? known keys: path, mode, at, suffixes, max_file_bytes, approval, untrusted

    error[wrong_type]: 'sandbox.network' must be true or false, or a list, or a map, not 'maybe'
     --> zonekeep.yaml:6:12
      |
    6 |   network: maybe
      |            ^^^^^
      |
      = help: write true or false

    error[unknown_key]: unknown key 'aproval'
     --> zonekeep.yaml:7:1
      |
    7 | aproval: { mode: tool }
      | ^^^^^^^
      |
      = help: did you mean 'approval'? known keys: name, version, description, model, prices, sandbox, approval, when_tainted, delegation, tools, tool_rules, shell, shell_rules, shell_default, audit
    ");
}

#[test]
fn missing_directories_are_shown_with_the_errors_of_the_file() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:
  mode: direct
  zones:
    a: { path: ./nope, mode: ro }
    b: { path: ./in, mode: rx }
",
    )
    .dir("in");
    assert_snapshot!(project.zonekeep(["check"]).to_string(), @"
    exit 1
    --- stdout
    zonekeep.yaml: 2 error(s), 0 warning(s)
    --- stderr
    error[directory]: zone 'a': the directory [TEMP]/project/nope does not exist
     --> zonekeep.yaml:4:16
      |
    4 |     a: { path: ./nope, mode: ro }
      |                ^
      |
      = help: make it with `mkdir -p '[TEMP]/project/nope'`, or correct the path

    error[bad_value]: 'sandbox.zones.b.mode' cannot be 'rx'
     --> zonekeep.yaml:5:28
      |
    5 |     b: { path: ./in, mode: rx }
      |                            ^^
      |
      = help: did you mean 'ro'? it can be: ro, rw
    ");
}

#[test]
fn a_zone_that_is_empty_beside_a_directory_of_its_name_is_doubted() {
    let config = "sandbox:
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw }
";
    let project = Project::with_config(PROGRAM, config).file("in/a.txt", "a").dir("out");
    assert_snapshot!(project.zonekeep(["check"]).to_string(), @"
    exit 0
    --- stdout
    zonekeep.yaml: ok, 2 zone(s), 0 worker(s), 1 warning(s)
    --- stderr
    warning[other_directory]: the zone 'input' is the empty directory .sandbox/in, not ./in of the project
     --> zonekeep.yaml:3:20
      |
    3 |     input: { path: ./in, mode: ro }
      |                    ^
      |
      = help: write `mode: direct` below `sandbox:` if ./in is meant, else `mode: sandboxed`
    ");
    // Whoever wrote the mode, or has put files there, means it.
    let written = project.zonekeep(["check", "--set", "sandbox.mode=sandboxed"]);
    assert!(written.ok().contains("0 warning(s)"), "{written}");
    let used = project.file(".sandbox/in/b.txt", "b").zonekeep(["check"]);
    assert!(used.ok().contains("0 warning(s)"), "{used}");
}

#[test]
fn problems_are_data_with_json() {
    let config = "sandbox:
  zones:
    input: { path: in, mode: read }
  netwrok: false
";
    let project = Project::with_config(PROGRAM, config);
    let run = project.zonekeep(["check", "--json"]);
    assert_eq!((run.exit, run.stderr.as_str()), (1, ""));
    assert_snapshot!(run.stdout, @r#"
    {
      "ok": false,
      "problems": [
        {
          "severity": "error",
          "code": "bad_value",
          "message": "'sandbox.zones.input.mode' cannot be 'read'",
          "file": "zonekeep.yaml",
          "line": 3,
          "column": 30,
          "source": "    input: { path: in, mode: read }",
          "hint": "it can be: ro, rw"
        },
        {
          "severity": "error",
          "code": "unknown_key",
          "message": "unknown key 'netwrok' in 'sandbox'",
          "file": "zonekeep.yaml",
          "line": 4,
          "column": 3,
          "source": "  netwrok: false",
          "hint": "did you mean 'network'? known keys: mode, root, zones, paths, working_dir, home, network, secrets, require_os_sandbox, limits, backend, prove, caches, env, pass_env, guard, allow_hard_links, allow_sensitive"
        }
      ],
      "hosts": []
    }
    "#);

    let good = Project::new(PROGRAM).zonekeep(["check", "--json"]);
    let value: Value = serde_json::from_str(good.ok()).unwrap();
    assert_eq!(value, serde_json::json!({ "ok": true, "problems": [], "hosts": [] }));
}

#[test]
fn a_mode_that_is_left_out_is_a_warning_in_each_form() {
    let cases = [
        ("sandbox: { mode: direct, zones: { input: { path: in } } }\n", "so it is rw"),
        ("sandbox: { mode: direct, zones: { input: in } }\n", "so it is rw"),
        ("sandbox: { mode: direct, paths: { input: { root: in } } }\n", "so it is ro"),
    ];
    for (config, want) in cases {
        let (_, run) = check(config);
        assert_eq!(run.exit, 0, "{run}");
        assert!(run.stderr.contains("warning[mode_missing]"), "{run}");
        assert!(run.stderr.contains(want), "{run}");
        assert!(run.stdout.contains("1 warning(s)"), "{run}");
    }
}

#[test]
fn the_old_form_loads_with_one_deprecation_warning() {
    let (project, run) = check(
        "sandboxes:
  input: { path: ./in, mode: ro }
  output: { path: ./out, mode: rw }
",
    );
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    zonekeep.yaml: ok, 2 zone(s), 0 worker(s), 1 warning(s)
    --- stderr
    warning[deprecated]: 'sandboxes' is an old form of 'sandbox.paths'
     --> zonekeep.yaml:1:1
      |
    1 | sandboxes:
      | ^^^^^^^^^
      |
      = help: write sandbox: { paths: { input: { root: ./in, mode: ro }, output: { root: ./out, mode: rw } } }
    ");
    assert_eq!(project.zonekeep(["tool", "list"]).ok(), "input/\noutput/");
}

#[test]
fn duplicate_keys_and_zones_are_errors() {
    let (_, run) = check("sandbox: { mode: direct }\nsandbox: { mode: sandboxed }\n");
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout
    zonekeep.yaml: 1 error(s), 0 warning(s)
    --- stderr
    error[duplicate_key]: the key 'sandbox' is on line 1 and again on line 2
     --> zonekeep.yaml:2:1
      |
    2 | sandbox: { mode: sandboxed }
      | ^^^^^^^
      |
      = help: remove one of the two
    ");
    let (_, run) = check(
        "sandbox:
  mode: direct
  zones: { input: { path: in, mode: ro } }
  paths: { input: { root: out, mode: ro } }
",
    );
    assert_eq!(run.exit, 1);
    assert!(run.stderr.contains("error[duplicate_zone]"), "{run}");
}

#[test]
fn malformed_and_mistyped_files_are_errors_not_crashes() {
    let cases: &[(&str, &[u8])] = &[
        ("unclosed", b"sandbox: { mode: direct\n"),
        ("tab", b"sandbox:\n\tmode: direct\n"),
        ("list", b"- a\n- b\n"),
        ("number", b"7\n"),
        ("wrong type", b"sandbox: { zones: [a, b] }\n"),
        ("wrong type below", b"sandbox: { zones: { a: { path: [x], mode: ro } } }\n"),
        ("no path", b"sandbox: { zones: { a: { mode: ro } } }\n"),
        ("two documents", b"sandbox: {}\n---\nsandbox: {}\n"),
        ("bomb", b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"),
        ("negative depth", b"delegation: { maxDepth: -1 }\n"),
    ];
    for (label, config) in cases {
        let project = Project::new(PROGRAM).file("zonekeep.yaml", config);
        let run = project.zonekeep(["check"]);
        assert_eq!(run.exit, 1, "{label}: {run}");
        assert!(run.stderr.contains("--> zonekeep.yaml:"), "{label}: {run}");
        // The file tools refuse to work by it.
        let tool = project.zonekeep(["tool", "list_files"]);
        assert_eq!(tool.exit, 125, "{label}: {tool}");
        assert!(tool.stderr.contains("zonekeep check"), "{label}: {tool}");
    }
}

#[test]
fn a_file_that_cannot_be_read_as_text_is_an_error() {
    let project = Project::new(PROGRAM).file("zonekeep.yaml", b"sandbox: \xff\xfe\n");
    let run = project.zonekeep(["check"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: [TEMP]/project/zonekeep.yaml is not UTF-8 text

    hint: save it as UTF-8
    ");
    let project = Project::new(PROGRAM).file("zonekeep.yaml", vec![b'#'; (1 << 20) + 1]);
    let run = project.zonekeep(["check"]);
    assert_eq!(run.exit, 1, "{run}");
    // Neither is a pipe, which would have it wait for ever.
    let project = Project::new(PROGRAM);
    let made = std::process::Command::new("mkfifo").arg(project.path("zonekeep.yaml")).status();
    assert!(made.unwrap().success());
    assert_eq!(project.zonekeep(["check"]).exit, 125);
}

#[test]
fn worker_files_are_checked_against_the_project() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox: { mode: direct, zones: { input: { path: in, mode: ro } } }\n",
    )
    .dir("in")
    .file(
        "main.worker",
        "---\nname: main\nsandbox:\n  zones:\n    - { name: input, mode: rw }\n    - { name: inptu, mode: ro }\n---\nGo.\n",
    )
    .file("workers/pure.worker", "---\nname: pure\nchild_sandbox: {}\n---\n")
    .file("workers/nested/worker.worker", "no front matter\n");
    let run = project.zonekeep(["check"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout
    zonekeep.yaml: 4 error(s), 0 warning(s)
    --- stderr
    error[exceeds_project]: the worker asks for rw on 'input', which the project gives as ro
     --> main.worker:5:28
      |
    5 |     - { name: input, mode: rw }
      |                            ^^
      |
      = help: ask for ro, or change the zone's mode (zonekeep.yaml:1)

    error[unknown_zone]: the worker asks for the zone 'inptu', which the project does not have
     --> main.worker:6:15
      |
    6 |     - { name: inptu, mode: ro }
      |               ^^^^^
      |
      = help: did you mean 'input'? zones: input

    error[front_matter]: the file does not start with a line '---'
     --> workers/nested/worker.worker:1:1
      |
    1 | no front matter
      | ^
      |
      = help: write a line '---', the settings, another line '---', then the instructions

    error[unknown_key]: unknown key 'child_sandbox'
     --> workers/pure.worker:3:1
      |
    3 | child_sandbox: {}
      | ^^^^^^^^^^^^^
      |
      = help: known keys: name, description, model, compatible_models, sandbox, tools, tool_rules, shell, shell_rules, shell_default, workers, workers_as_tools, attachment_policy, output_schema, output_retries, max_turns, budget, time, max_tokens, temperature, locked, mode, max_context_tokens, allow_empty_input
    ");
}

#[test]
fn two_workers_of_one_name_are_an_error() {
    let worker = "---\nname: twin\n---\n";
    let project = Project::new(PROGRAM).file("a.worker", worker).file("workers/b.worker", worker);
    let run = project.zonekeep(["check"]);
    assert_eq!(run.exit, 1);
    assert!(run.stderr.contains("the worker name 'twin' is taken by a.worker"), "{run}");
}

#[test]
fn directories_are_looked_at_too() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    input: { path: ./missing, mode: ro }\n",
    );
    let run = project.zonekeep(["check"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout
    zonekeep.yaml: 1 error(s), 0 warning(s)
    --- stderr
    error[directory]: zone 'input': the directory [TEMP]/project/missing does not exist
     --> zonekeep.yaml:4:20
      |
    4 |     input: { path: ./missing, mode: ro }
      |                    ^
      |
      = help: make it with `mkdir -p '[TEMP]/project/missing'`, or correct the path
    ");
}

#[test]
fn what_reaches_outside_is_a_warning_until_it_is_trusted() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones:\n    other: { path: ../other, mode: ro }\n",
    )
    .dir("../other");
    let run = project.zonekeep(["check"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    zonekeep.yaml: ok, 1 zone(s), 0 worker(s), 1 warning(s)
    --- stderr
    warning[untrusted]: the project reaches outside its own directory: read [TEMP]/other as /other (zonekeep.yaml:4)
     |
     = help: run `zonekeep trust` before it is used
    ");
    project.zonekeep(["trust", "--yes"]).ok();
    assert!(project.zonekeep(["check"]).ok().ends_with("0 warning(s)"));
}

#[test]
fn flags_are_checked_like_the_file() {
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["check", "--set", "sandbox.mode=dirct", "--set", "approval.mod=x"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout
    the command line: 2 error(s), 0 warning(s)
    --- stderr
    error[unknown_key]: unknown key 'mod' in 'approval'
     --> the command line:1:7
      |
    1 | --set approval.mod=x
      |       ^^^^^^^^^^^^
      |
      = help: did you mean 'mode'? known keys: mode

    error[bad_value]: 'sandbox.mode' cannot be 'dirct'
     --> the command line:1:20
      |
    1 | --set sandbox.mode=dirct
      |                    ^^^^^
      |
      = help: did you mean 'direct'? it can be: sandboxed, direct
    ");
    for flags in [["--set", "novalue"], ["--zone", "noequals"], ["--zone", "=x"]] {
        let run = project.zonekeep(["check"].into_iter().chain(flags));
        assert_eq!(run.exit, 2, "{flags:?}: {run}");
    }
}

#[test]
fn a_file_that_only_looks_like_the_project_file_is_a_warning() {
    let project = Project::new(PROGRAM).file("zonekeep.yml", "approval: { mode: strict }\n");
    assert_snapshot!(project.zonekeep(["check"]).to_string(), @"
    exit 0
    --- stdout
    no project file (the defaults hold): ok, 2 zone(s), 0 worker(s), 1 warning(s)
    --- stderr
    warning[not_read]: zonekeep.yml is not read; the name is zonekeep.yaml
     |
     = help: rename it, and its rules hold
    ");
    // From below, and where the file that is read lies further up.
    let project = project.dir("sub/deep").file("sub/.zonekeep.yaml", "");
    let stderr = project.zonekeep_in("sub/deep", ["check"]).stderr;
    for file in ["/project/zonekeep.yml", "/project/sub/.zonekeep.yaml"] {
        assert!(stderr.contains(&format!("{file} is not read")), "{stderr}");
    }
    project.put("zonekeep.yaml", "approval: { mode: strict }\n");
    let stderr = project.zonekeep_in("sub/deep", ["check"]).stderr;
    assert!(stderr.contains("/project/sub/.zonekeep.yaml is not read"), "{stderr}");
    assert!(!stderr.contains("zonekeep.yml"), "{stderr}");
    assert_eq!(project.zonekeep(["check"]).stderr, "");
}

#[test]
fn variables_that_are_never_passed_are_a_warning_and_need_no_trust() {
    let (_, run) = check("sandbox:\n  pass_env: [PATH, LD_PRELOAD]\n");
    assert_eq!(run.exit, 0, "{run}");
    assert!(run.stdout.contains("2 warning(s)"), "{run}");
    for name in ["PATH", "LD_PRELOAD"] {
        let says = format!("warning[unused]: '{name}' is never passed to commands");
        assert!(run.stderr.contains(&says), "{run}");
    }
    assert!(!run.stderr.contains("untrusted"), "{run}");
}

#[test]
fn what_would_keep_a_worker_from_running_is_found_before() {
    let worker = |name: &str, keys: &str| format!("---\nname: {name}\n{keys}---\nDo it.\n");
    let bad = "model: foo:bar\nworkers: [kid, publishr]\noutput_schema: { type: objekt }\n";
    let project = Project::with_config(PROGRAM, "model: nonsense\n")
        .file("main.worker", worker("main", bad))
        .file("kid.worker", worker("kid", "model: openai:any-name\n"));
    let run = project.zonekeep(["check"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stdout.contains("3 error(s), 1 warning(s)"), "{run}");
    let places = [
        ("error[unknown_model]: the model 'nonsense' is not known", "--> zonekeep.yaml:1:8"),
        ("error[unknown_model]: the model 'foo:bar' is not known", "--> main.worker:2:7"),
        ("error[bad_schema]: output_schema cannot be used", "--> main.worker:5:"),
        ("warning[unknown_worker]: there is no worker 'publishr'", "--> main.worker:4:16"),
    ];
    for (says, at) in places {
        let rest = run.stderr.split(says).nth(1).unwrap_or_else(|| panic!("{says}: {run}"));
        assert!(rest.split("\n\n").next().unwrap().contains(at), "{at}: {run}");
    }
    // Where a worker cannot be read, it may be the one that is meant.
    let project = Project::with_config(PROGRAM, "sandbox: {}\n")
        .file("main.worker", worker("main", "workers: [kid]\n"))
        .file("kid.worker", "---\nnom: kid\n---\nX\n");
    assert!(!project.zonekeep(["check"]).stderr.contains("unknown_worker"));
}

#[test]
fn a_secret_that_is_too_short_to_be_kept_out_of_answers_is_warned_of() {
    let config = "sandbox:
  network: { allow: [api.test] }
  secrets:
    API_KEY: { env: MY_API_KEY, hosts: [api.test] }
";
    let project = Project::with_config(PROGRAM, config);
    for (value, warned) in [("hunter2", true), ("hunter22", false)] {
        let mut command = project.command();
        let run = project.finish(command.env("MY_API_KEY", value).arg("check"));
        let why = "the secret API_KEY: the value has fewer than 8 bytes";
        assert_eq!(run.to_string().contains(why), warned, "{run}");
        assert_eq!(run.exit, 0, "{run}");
        assert!(!run.to_string().contains("hunter"), "{run}");
    }
}

/// Runs a command whose output goes to a pipe that its reader has closed.
fn into_a_closed_pipe(project: &Project, args: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = project.command();
    command.args(args).stdout(writer.try_clone().unwrap()).stderr(writer);
    command.status().unwrap().code()
}

#[test]
fn a_closed_pipe_does_not_turn_errors_into_success() {
    let project = Project::with_config(PROGRAM, "sandbix: {}\n");
    for (args, status) in [
        (&["check"][..], 1),
        (&["check", "--json"], 1),
        (&["explain", "read", "/a"], 125),
        (&["run", "--json", "--", "true"], 125),
        (&["schema"], 0),
        (&["log"], 0),
    ] {
        assert_eq!(into_a_closed_pipe(&project, args), Some(status), "{args:?}");
    }
    let config = "sandbox: { mode: direct, zones: { in: { path: ./in, mode: ro } } }\n";
    let changed = config.replace("mode: ro", "mode: rw, approval: { write: preApproved }");
    let project = Project::with_config(PROGRAM, config).dir("in").file("new.yaml", changed);
    let write = r#"{"path": "/in/a", "content": "x"}"#;
    for (args, status) in [
        (&["check"][..], 0),
        (&["tool", "--json", "write_file", write], 1),
        (&["replay", "--config", "new.yaml"], 1),
        (&["replay", "--json", "--config", "new.yaml"], 1),
        (&["replay", "--config", "zonekeep.yaml"], 0),
        (&["log", "--follow"], 0),
    ] {
        assert_eq!(into_a_closed_pipe(&project, args), Some(status), "{args:?}");
    }
}
