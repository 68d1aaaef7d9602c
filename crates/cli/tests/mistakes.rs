//! What people get wrong at the command line, and what they are told.

use std::fs;

use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn project() -> Project {
    let config = "sandbox: { mode: direct, zones: { work: { path: ./work, mode: rw } } }\n";
    Project::with_config(PROGRAM, config).dir("work")
}

/// Asserts that a command line ends with a status and words.
#[track_caller]
fn says(project: &Project, args: &[&str], exit: i32, words: &[&str]) {
    let run = project.zonekeep(args);
    assert_eq!(run.exit, exit, "{args:?}: {run}");
    for words in words {
        assert!(run.stderr.contains(words), "{args:?}: {words} in {run}");
    }
}

#[test]
fn a_wrong_flag_is_wrong_usage_and_no_problem_of_the_project_file() {
    let project = project();
    let none = ["--backend", "none", "--", "true"];
    let run = |flags: &[&'static str]| [&["run"], flags, &none[..]].concat();
    says(&project, &["run", "--backend", "docker", "--", "true"], 2, &["docker", "namespaces"]);
    says(&project, &run(&["--set", "foo=1"]), 2, &["unknown key 'foo'", "error: the command line"]);
    says(&project, &run(&["--answer-within", "x"]), 2, &["--answer-within cannot be 'x'"]);
    says(&project, &run(&["--limit", "memory=0"]), 2, &["three quarters"]);
    says(&project, &run(&["--limit", "time=0s"]), 2, &["none for no limit"]);
    says(&project, &run(&["--zone", "a=work:rx"]), 2, &["NAME=PATH:ro or NAME=PATH:rw"]);
    says(&project, &["run", "ls"], 2, &["write -- before the command"]);
    says(&project, &["explain", "connect", "http://x.test"], 0, &[]);
    let explained = project.zonekeep(["explain", "connect", "http://x.test"]);
    assert!(explained.stdout.contains("is a URL"), "{explained}");

    // One that is in the file stays there, whatever flags say.
    project.put("zonekeep.yaml", "sandbox: { zonse: {} }\n");
    let words = ["unknown key 'zonse'", "error: zonekeep.yaml", "`zonekeep check` shows"];
    says(&project, &run(&["--set", "foo=1"]), 125, &words);
    project.put("zonekeep.yaml", [0xff, 0xfe, 0x41]);
    says(&project, &["check"], 1, &["not UTF-8", "save it as UTF-8"]);
}

#[test]
fn a_directory_whose_name_ends_like_a_mode_can_be_a_zone() {
    let project = project().dir("a:rx").file("a:rx/file", "text");
    let read = r#"{"path": "/odd/file"}"#;
    let run = project.zonekeep(["tool", "read_file", read, "--zone", "odd=a:rx"]);
    assert!(run.ok().contains("text"), "{run}");
}

#[test]
fn a_home_that_is_no_absolute_path_is_refused_before_anything_is_made() {
    let project = project();
    let list = ["tool", "list_files", r#"{"path": "/"}"#];
    for home in ["work", "./work", ".."] {
        let mut command = project.command();
        let run = project.finish(command.env_remove("XDG_STATE_HOME").env("HOME", home).args(list));
        assert_eq!(run.exit, 125, "{run}");
        assert!(run.stderr.contains("HOME must be an absolute path"), "{run}");
    }
    assert_eq!(fs::read_dir(project.path("work")).unwrap().count(), 0);
    // A relative XDG_STATE_HOME is passed over, as its specification says.
    let run = project.finish(project.command().env("XDG_STATE_HOME", "work").args(list));
    assert_eq!(run.ok(), "work/");
    assert_eq!(fs::read_dir(project.path("work")).unwrap().count(), 0);
}

#[test]
fn a_working_directory_that_is_gone_is_named() {
    let project = project().dir("gone");
    let script = format!("rmdir ../gone && exec '{PROGRAM}' check");
    let mut command = std::process::Command::new("sh");
    project.prepare(&mut command);
    let run = project.finish(command.current_dir(project.path("gone")).args(["-c", &script]));
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("the working directory"), "{run}");
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let project = project().file("state-file", "");
    let mut command = project.command();
    command.env("XDG_STATE_HOME", project.path("state-file"));
    let run = project.finish(command.args(["tool", "list_files", r#"{"path": "/"}"#]));
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("state-file/zonekeep"), "{run}");
}

#[test]
fn the_next_step_after_init_is_said_for_where_the_file_is() {
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["init", "there"]);
    assert!(run.ok().contains("next: in there, edit zonekeep.yaml"), "{run}");
    assert_eq!(project.zonekeep_in("there", ["check"]).exit, 0);
}
