//! Who is asked before files change, and what they see.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use insta::assert_snapshot;
use serde_json::json;
use zonekeep_testkit::{Project, Run, Typed, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    ask: { path: ./ask, mode: rw, approval: { write: ask, delete: ask } }
    free: { path: ./free, mode: rw, approval: { write: preApproved, delete: preApproved } }
    shut: { path: ./shut, mode: rw, approval: { write: blocked, delete: blocked } }
    secret: { path: ./secret, mode: ro, approval: { read: ask } }
    input: { path: ./in, mode: ro }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("ask/a.txt", "one\ntwo\n")
        .file("free/a.txt", "free\n")
        .file("shut/a.txt", "shut\n")
        .file("secret/a.txt", "secret\n")
        .file("in/a.txt", "input\n")
}

fn write(project: &Project, path: &str, flags: &[&str]) -> Run {
    let arguments = json!({ "path": path, "content": "one\n2\n" }).to_string();
    project.zonekeep(["tool", "write_file", &arguments].iter().chain(flags))
}

fn typed(project: &Project, path: &str, content: &str, steps: &[(&str, &str)]) -> Option<Typed> {
    let arguments = json!({ "path": path, "content": content }).to_string();
    project.zonekeep_typed(["tool", "write_file", &arguments], steps)
}

#[test]
fn without_a_terminal_a_question_is_refused_with_the_reason() {
    let project = project();
    assert_snapshot!(write(&project, "/ask/a.txt", &[]).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/ask/a.txt': it needs the user's approval, and there is no terminal to ask on.
    Continue with what needs no approval, and tell the user what you wanted to do.
    ");
    assert_eq!(project.read("ask/a.txt"), "one\ntwo\n");
}

#[test]
fn all_and_none_answer_for_everybody() {
    let project = project();
    assert_snapshot!(write(&project, "/ask/a.txt", &["--approve", "none"]).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/ask/a.txt': it needs the user's approval, and all questions are answered no.
    Continue with what needs no approval, and tell the user what you wanted to do.
    ");
    write(&project, "/ask/a.txt", &["--approve", "all"]).ok();
    assert_eq!(project.read("ask/a.txt"), "one\n2\n");
    let read = ["tool", "read_file", r#"{"path": "/secret/a.txt"}"#];
    assert_eq!(project.zonekeep(read).exit, 1);
    assert_eq!(project.zonekeep(read.iter().chain(&["--approve", "all"])).ok(), "secret");
}

#[test]
fn what_is_pre_approved_asks_nobody_and_what_is_read_only_neither() {
    let project = project();
    write(&project, "/free/a.txt", &["--approve", "none"]).ok();
    let run = write(&project, "/input/a.txt", &["--approve", "all"]);
    assert!(run.stderr.starts_with("Cannot write to '/input/a.txt': path is read-only."), "{run}");
    if let Some(typed) = typed(&project, "/input/a.txt", "x", &[]) {
        assert_eq!((typed.run.exit, typed.screen.as_str()), (1, ""), "nobody is asked");
    }
}

#[test]
fn blocked_wins_whoever_answers_and_in_every_mode() {
    let project = project();
    assert_snapshot!(write(&project, "/shut/a.txt", &["--approve", "all"]).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/shut/a.txt': this is blocked, and asking the user will not change it.
    Allowed in /shut: read
    ");
    for mode in ["tool", "manual", "auto", "strict", "approve_all"] {
        let set = format!("approval.mode={mode}");
        let run = write(&project, "/shut/a.txt", &["--approve", "all", "--set", &set]);
        assert!(run.exit == 1 && run.stderr.contains("this is blocked"), "{mode}: {run}");
        let delete = ["tool", "delete_file", r#"{"path": "/shut/a.txt"}"#, "--approve", "all"];
        let run = project.zonekeep(delete.iter().chain(&["--set", &set]));
        assert!(run.exit == 1 && run.stderr.contains("this is blocked"), "{mode}: {run}");
    }
    assert_eq!(project.read("shut/a.txt"), "shut\n");
}

#[test]
fn modes_change_what_becomes_of_questions() {
    // mode, path, who answers, exit status
    let cases = [
        ("tool", "/ask/a.txt", "none", 1),
        ("tool", "/free/a.txt", "none", 0),
        ("manual", "/free/a.txt", "none", 1),
        ("manual", "/free/a.txt", "all", 0),
        ("auto", "/ask/a.txt", "none", 0),
        ("auto", "/input/a.txt", "all", 1),
        ("strict", "/ask/a.txt", "all", 1),
        ("strict", "/free/a.txt", "none", 0),
        ("interactive", "/ask/a.txt", "none", 1),
        ("approve_all", "/ask/a.txt", "none", 0),
        ("auto_deny", "/ask/a.txt", "all", 1),
    ];
    let project = project();
    for (mode, path, who, want) in cases {
        let set = format!("approval.mode={mode}");
        let run = write(&project, path, &["--approve", who, "--set", &set]);
        assert_eq!(run.exit, want, "{mode} {path} {who}: {run}");
    }
    let strict = write(&project, "/ask/a.txt", &["--set", "approval.mode=strict"]);
    assert_snapshot!(strict.stderr, @"
    Cannot write to '/ask/a.txt': it needs the user's approval, and questions are turned off.
    Continue with what needs no approval, and tell the user what you wanted to do.
    ");
}

#[test]
fn whoever_the_flags_name_is_asked_although_the_file_answers_itself() {
    let auto = project().file("zonekeep.yaml", format!("{CONFIG}approval: {{ mode: auto }}\n"));
    let refuses = auto.path("no");
    std::fs::write(&refuses, "#!/bin/sh\necho '{\"approved\": false}'\n").unwrap();
    std::fs::set_permissions(&refuses, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let note = "zonekeep: approval.mode: auto (zonekeep.yaml:9) is overridden by --approve";
    let cases: [&[&str]; 5] = [
        &["--approve", "none"],
        &["--approve", "terminal"],
        &["--approve", "./no"],
        &["--approver", "./no"],
        &["--approve", "socket", "--answer-within", "1ms"],
    ];
    // Whoever is asked need not trust a file that does not answer any more.
    for trusted in [false, true] {
        if trusted {
            auto.zonekeep(["trust", "--yes"]).ok();
        }
        for flags in cases {
            let run = write(&auto, "/ask/a.txt", flags);
            assert_eq!(run.exit, 1, "{flags:?}: {run}");
            assert!(run.stderr.contains(note), "{flags:?}: {run}");
            assert_eq!(auto.read("ask/a.txt"), "one\ntwo\n", "{flags:?}");
        }
        for flags in [&[][..], &["--approve", "all"]] {
            let run = write(&auto, "/ask/a.txt", flags);
            assert_eq!(run.exit, if trusted { 0 } else { 125 }, "{flags:?}: {run}");
            assert!(!run.stderr.contains("overridden"), "{run}");
        }
    }
    let mut client = crate::mcp_common::Client::open(&auto, &["--approve", "none"], &json!({}));
    let arguments = json!({ "path": "/ask/a.txt", "content": "three\n" });
    let said = client.tool("write_file", arguments);
    assert_eq!(said["isError"], true, "{said}");
    zonekeep_testkit::eventually("the note", || client.said().contains(note).then_some(()));
    assert_ne!(auto.read("ask/a.txt"), "three\n");
}

#[test]
fn a_person_sees_the_path_the_reason_and_the_diff_and_says_yes() {
    let project = project();
    let typed = typed(&project, "/ask/../ask/./a.txt", "one\n2\n", &[("zonekeep> ", "y\n")]);
    let Some(Typed { run, screen }) = typed else { return skip("no terminal can be made here") };
    assert!(run.ok().starts_with("Replaced /ask/a.txt"), "{run}");
    assert_snapshot!(screen, @"

      The agent wants to write '/ask/a.txt'
      tool: write_file
      asked because: zones.ask.approval.write: ask (zonekeep.yaml:4)
      bytes: 6
      | @@ -1,2 +1,2 @@
      |  one
      | -two
      | +2
      y  yes, this once
      n  no
    zonekeep> y
    ");
    assert_eq!(project.read("ask/a.txt"), "one\n2\n");
    let log = project.log_lines().join("\n");
    assert!(
        log.contains(r#""answer":{"approved":true,"by":"terminal","remember":"once"}"#),
        "{log}"
    );
}

#[test]
fn a_person_says_no_with_a_note_for_the_agent() {
    let project = project();
    let steps = [("zonekeep> ", "n\n"), ("note to the agent", "use /free instead\n")];
    let Some(Typed { run, .. }) = typed(&project, "/ask/a.txt", "x", &steps) else {
        return skip("no terminal can be made here");
    };
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/ask/a.txt': the user declined.
    Their note: use /free instead
    ");
    let steps = [("zonekeep> ", "n\n"), ("note to the agent", "\n")];
    let run = typed(&project, "/ask/a.txt", "x", &steps).unwrap().run;
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/ask/a.txt': the user declined.
    Do not try this again unless the user asks for it.
    ");
    assert_eq!(project.read("ask/a.txt"), "one\ntwo\n");
    let log = project.log_lines().join("\n");
    assert!(log.contains("use /free instead"), "{log}");
}

#[test]
fn a_yes_for_the_session_is_not_offered_where_that_ends_with_the_call() {
    let project = project();
    let steps = [("zonekeep> ", "s\n"), ("zonekeep> ", "y\n")];
    let Some(Typed { run, screen }) = typed(&project, "/ask/new.txt", "x\n", &steps) else {
        return skip("no terminal can be made here");
    };
    run.ok();
    assert!(screen.contains("+x"), "a new file is shown as well: {screen}");
    let log = project.log_lines().join("\n");
    assert!(log.contains(r#""remember":"once""#), "{log}");
    assert!(!screen.contains("in this session"), "{screen}");
    assert!(screen.contains("please answer y or n"), "{screen}");
}

#[test]
fn a_question_fits_on_the_screen_and_its_diff_is_coloured_unless_that_is_not_wanted() {
    let project = project();
    let content: String = (0..100).map(|number| format!("line {number}\n")).collect();
    let arguments = json!({ "path": "/ask/a.txt", "content": content }).to_string();
    for (environment, coloured) in [
        (&["TERM=xterm"][..], true),
        (&["TERM=xterm", "NO_COLOR=1"], false),
        (&["TERM=dumb"], false),
    ] {
        let mut command = std::process::Command::new("env");
        command.args(environment).arg(PROGRAM).args(["tool", "write_file", &arguments]);
        let Some(mut person) = project.at_terminal(&command) else {
            return skip("no terminal can be made here");
        };
        person.wait_for("zonekeep> ");
        person.type_in("n\n");
        person.wait_for("note");
        person.type_in("\n");
        let (_, _, screen) = person.end();
        let question = screen.split("zonekeep> ").next().unwrap();
        assert!(question.lines().count() <= 24, "{screen}");
        assert!(question.contains("more lines: v shows them"), "{screen}");
        assert_eq!(question.contains("\x1b[31m  | -one\x1b[0m\n"), coloured, "{screen}");
        assert_eq!(question.contains('\x1b'), coloured, "{screen}");
    }
}

#[test]
fn an_answer_that_means_nothing_is_a_no_in_the_end() {
    let project = project();
    let again = ("zonekeep> ", "perhaps\n");
    let Some(Typed { run, screen }) = typed(&project, "/ask/a.txt", "x", &[again, again, again])
    else {
        return skip("no terminal can be made here");
    };
    assert_eq!(run.exit, 1, "{run}");
    assert!(screen.contains("please answer y or n"), "{screen}");
    // So is the end of the input.
    let end = typed(&project, "/ask/a.txt", "x", &[("zonekeep> ", "\x04")]).unwrap();
    assert_eq!(end.run.exit, 1, "{}", end.run);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let project = project();
    // Typed while the program is still waiting for its arguments.
    let steps = [("", "y\ny\ny\n"), ("zonekeep> ", "n\n"), ("note to the agent", "\n")];
    let Some(Typed { run, .. }) = typed(&project, "/ask/a.txt", "x", &steps) else {
        return skip("no terminal can be made here");
    };
    assert_eq!(run.exit, 1, "{run}");
    assert_eq!(project.read("ask/a.txt"), "one\ntwo\n");
}

#[test]
fn nothing_in_a_question_can_disguise_itself() {
    let project = project();
    let path = "/ask/safe\u{202e}txt.exe\u{1b}[2J";
    let content = "\u{1b}[31mred\rover\n\u{200b}hidden\n";
    let steps = [("zonekeep> ", "n\n"), ("note to the agent", "\n")];
    let Some(Typed { screen, .. }) = typed(&project, path, content, &steps) else {
        return skip("no terminal can be made here");
    };
    let odd = |c: &char| (c.is_control() && *c != '\n') || "\u{202e}\u{200b}".contains(*c);
    assert_eq!(screen.chars().find(odd), None, "{screen:?}");
    for part in ["safe\\u{202e}txt.exe", "\\u{1b}[31mred\\u{d}", "\\u{200b}hidden"] {
        assert!(screen.contains(part), "{part} in {screen}");
    }
}

#[test]
fn tool_rules_ask_and_block_as_well() {
    let rules = "tool_rules:\n  write_file: { approval_required: true }\n  delete_file: { allowed: false }\n";
    let project = project().file("zonekeep.yaml", format!("{CONFIG}{rules}"));
    // The stricter of zone and tool holds.
    assert_eq!(write(&project, "/free/a.txt", &["--approve", "none"]).exit, 1);
    assert_eq!(write(&project, "/free/a.txt", &["--approve", "all"]).exit, 0);
    let delete = ["tool", "delete_file", r#"{"path": "/free/a.txt"}"#, "--approve", "all"];
    assert_snapshot!(project.zonekeep(delete).to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot use 'delete_file': the tool is not available.
    Available tools: copy_file, edit_file, file_info, list_files, move_file, read_file, read_many, search_files and 4 more
    ");
    assert!(!project.zonekeep(["tool"]).ok().contains("delete_file\n"));
}

#[test]
fn guarded_files_ask_or_are_refused_inside_a_writable_directory() {
    let project = project();
    let run = write(&project, "/free/repo/.git/hooks/pre-commit", &["--approve", "all"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    Cannot write to '/free/repo/.git/hooks/pre-commit': the file is protected because it can make git run programs.
    Other files can be changed; the user can change this one.
    ");
    let ask = |flags: &[&str]| write(&project, "/free/.vscode/tasks.json", flags).exit;
    assert_eq!((ask(&[]), ask(&["--approve", "all"])), (1, 0));
    let allow = ["--set", "sandbox.guard.\".vscode/**\"=allow"];
    assert_eq!(ask(&allow), 0);
}
