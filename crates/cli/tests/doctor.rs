//! `zonekeep doctor`: what this machine offers, and whether it holds.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::Value;
use zonekeep_testkit::{Project, Run, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn value(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

#[test]
fn what_is_offered_is_proven() {
    let project = Project::new(PROGRAM).file("a.txt", "a\n");
    let run = project.zonekeep(["doctor", "--json"]);
    let report = value(&run);
    let backends = report["backends"].as_array().unwrap();
    let names: Vec<_> = backends.iter().map(|b| b["backend"].as_str().unwrap()).collect();
    assert_eq!(names, ["namespaces", "bubblewrap", "landlock", "seatbelt", "none"]);
    for backend in backends {
        let missing = backend["available"] == false;
        assert!(!missing || backend["why"].is_string(), "it says why: {backend}");
    }
    if report["confined"] == false {
        assert_eq!((run.exit, &report["holds"]), (1, &Value::Bool(false)), "{run}");
        return skip("this machine offers no OS sandbox");
    }
    assert_eq!(run.exit, 0, "{run}");
    assert_eq!(report["holds"], true);
    let examined = &report["examined"];
    assert_eq!(examined["plan"], "scratch", "there is no project file: {run}");
    let rules: Vec<_> =
        examined["strength"].as_array().unwrap().iter().map(|row| &row["rule"]).collect();
    for rule in
        ["files outside", "read-only directories", "guarded files", "network off", "network list"]
    {
        assert!(rules.iter().any(|held| **held == rule), "{rule} in {rules:?}");
    }
    assert_eq!(examined["problem"], Value::Null);
    let proof = examined["proof"].as_array().unwrap();
    assert!(proof.len() > 20, "{run}");
    assert!(proof.iter().all(|check| check["held"] != false), "{run}");
    assert!(project.log_lines().is_empty(), "nothing was done that is on record");
    assert_eq!(project.tree(""), ["a.txt"], "and nothing left behind");
}

#[test]
fn the_text_says_the_same_in_eighty_columns() {
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["doctor"]);
    let report = value(&project.zonekeep(["doctor", "--json"]));
    assert_eq!(run.exit == 0, report["holds"] == true, "{run}");
    for part in ["Backends\n", "  namespaces ", "  landlock ", "  none "] {
        assert!(run.stdout.contains(part), "{part:?} in {run}");
    }
    if report["confined"] == true {
        for part in [
            "Examined: ",
            "\nRules\n",
            "\nProof: ",
            "  held  ",
            "attempts were stopped by",
            "seccomp",
        ] {
            assert!(run.stdout.contains(part), "{part:?} in {run}");
        }
    }
    // Long words, as paths, are not broken.
    let wide = run.stdout.lines().filter(|line| line.chars().count() > 80);
    let wide: Vec<_> = wide.filter(|line| line.split_whitespace().all(|w| w.len() < 50)).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(!run.stdout.contains('\x1b'), "no colour");
}

#[test]
fn every_backend_that_is_offered_holds_what_it_claims() {
    let project = Project::new(PROGRAM).file("a.txt", "a\n");
    let report = value(&project.zonekeep(["doctor", "--json"]));
    for offer in report["backends"].as_array().unwrap() {
        let name = offer["backend"].as_str().unwrap();
        let run = project.zonekeep(["doctor", "--backend", name, "--json"]);
        let examined = &value(&run)["examined"];
        assert_eq!(examined["backend"], name);
        match offer["available"] == true {
            true => {
                let proof = examined["proof"].as_array().unwrap();
                assert!(proof.iter().all(|check| check["held"] != false), "{name}: {run}");
                assert_eq!(run.exit == 0, report["confined"] == true, "{name}: {run}");
            }
            false => {
                assert_eq!(run.exit, 1, "{name}: {run}");
                assert!(examined["problem"].is_string(), "{name}: {run}");
            }
        }
    }
    let run = project.zonekeep(["doctor", "--backend", "sorcery"]);
    assert_eq!(run.exit, 2, "{run}");
    assert!(run.stderr.contains("namespaces, bubblewrap"), "{run}");
}

#[test]
fn a_project_is_examined_as_it_is() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  mode: direct\n  zones: { in: { path: ./in, mode: ro } }\n",
    )
    .dir("in");
    let run = project.zonekeep(["doctor", "--json"]);
    let report = value(&run);
    if report["confined"] == false {
        return skip("this machine offers no OS sandbox");
    }
    assert_eq!((run.exit, &report["examined"]["plan"]), (0, &"project".into()), "{run}");
    assert!(!run.stdout.contains("guarded files"), "nothing can be written: {run}");
    if report["examined"]["backend"] == "namespaces" {
        assert_eq!(report["examined"]["files_held"], true, "{run}");
    }
}

#[test]
fn a_project_that_cannot_be_used_does_not_matter() {
    let project =
        Project::with_config(PROGRAM, "sandbox: { zones: { a: { path: /etc, mode: ro } } }\n");
    let run = project.zonekeep(["doctor", "--json"]);
    let report = value(&run);
    if report["confined"] == false {
        return skip("this machine offers no OS sandbox");
    }
    assert_eq!(run.exit, 0, "{run}");
    assert_eq!(report["examined"]["plan"], "scratch", "{run}");
    assert!(report["examined"]["project_problem"].is_string(), "{run}");
    let text = project.zonekeep(["doctor"]);
    assert!(text.ok().contains("temporary directories"), "{text}");
    assert!(text.ok().contains("read-only directories"), "there is one to read: {text}");
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let own = format!("zonekeep-doctor-{}", std::process::id());
    assert!(!left.into_iter().any(|e| e.file_name().to_string_lossy().starts_with(&own)));
}

#[test]
fn a_launcher_that_does_not_confine_is_found_out() {
    let project = Project::new(PROGRAM);
    let mut command = project.command();
    command.env("ZONEKEEP_LAUNCHER", "/bin/true").args(["doctor", "--json"]);
    let run = project.finish(&mut command);
    assert_eq!((run.exit, &value(&run)["holds"]), (1, &Value::Bool(false)), "{run}");
}

#[test]
fn the_health_check_finds_what_is_missing() {
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["doctor", "--check", "--json"]);
    let report = value(&run);
    assert_eq!(report["version"], 1);
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<_> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    let all = ["state directory", "backend", "file watches", "open files", "processes", "clock"];
    assert_eq!(names, all);
    assert_eq!(run.exit == 0, report["healthy"] == true, "{run}");
    let failing = |script: &str| {
        let mut command = std::process::Command::new("sh");
        project.prepare(command.args(["-c", script, PROGRAM]));
        project.finish(&mut command)
    };
    let broken = |run: &Run, name: &str| {
        let report = value(run);
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name).unwrap();
        assert_eq!((run.exit, &check["healthy"]), (1, &Value::Bool(false)), "{name}: {run}");
        assert!(check["remedy"].is_string(), "{name}: {run}");
    };
    broken(&failing("ulimit -n 100; \"$0\" doctor --check --json"), "open files");
    let file = "mkdir -p h; touch h/zonekeep; XDG_STATE_HOME=$PWD/h \"$0\" doctor --check --json";
    broken(&failing(file), "state directory");
    let text = failing("ulimit -n 100; \"$0\" doctor --check");
    assert!(text.exit == 1 && text.stdout.contains("NOT healthy."), "{text}");
    assert!(text.stdout.contains("  open files       NOT OK 100, and 256 are needed"), "{text}");
    assert!(text.stdout.contains("to correct: raise the limit"), "{text}");
    // A disk that is full, where a mount namespace can be had.
    let full = "unshare -Urm sh -c 'mkdir -p s && mount -t tmpfs -o size=1m none s && \
                XDG_STATE_HOME=$PWD/s \"$0\" doctor --check --json' \"$0\" || exit $?";
    let run = failing(full);
    match run.stdout.starts_with('{') {
        true => broken(&run, "state directory"),
        false => skip("this user cannot mount in a namespace of their own"),
    }
    assert!(project.log_lines().is_empty(), "nothing is on record");
}
