//! `zonekeep explain run`: what a command would get.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::Value;
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw }
  limits: { time: 5m, memory: 1G }
  working_dir: /output
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).dir("in").dir("out")
}

#[test]
fn the_plan_is_printed_and_nothing_runs() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let run = project.zonekeep(["explain", "run", "--all", "--", "touch", "/output/x", "it's"]);
    let text = run.ok();
    assert!(text.starts_with("touch /output/x 'it'\\''s'\n"), "{run}");
    for part in
        ["  limit:   time 5 min", "  limit:   memory 1 GiB", "  network: none", "  env:     HOME="]
    {
        assert!(text.contains(part), "{part:?} in {run}");
    }
    if text.contains("backend: namespaces") {
        assert!(text.contains("granted: ro /input from [TEMP]/project/in"), "{run}");
        assert!(text.contains("granted: rw /output from [TEMP]/project/out"), "{run}");
        assert!(text.contains("  starts:  /output\n"), "{run}");
    }
    assert!(!project.exists("out/x"));
    assert!(project.log_lines().is_empty(), "nothing is recorded");
    let short = project.zonekeep(["explain", "run", "--", "touch", "/output/x", "it's"]);
    let flag = project.zonekeep(["run", "--explain", "--", "touch", "/output/x", "it's"]);
    assert_eq!(flag.ok(), short.ok(), "the flag says the same");
    let lines = short.ok().lines().count();
    assert!(lines <= 24, "it fits a screen: {lines} lines\n{short}");
    for part in ["  limits:  ", "time 5 min", "memory 1 GiB", "  network: none", "(--all lists"] {
        assert!(short.ok().contains(part), "{part:?} in {short}");
    }
    if text.contains("backend: namespaces") {
        assert!(short.ok().contains("granted: rw /output from [TEMP]/project/out"), "{short}");
        assert!(short.ok().contains("  starts:  /output\n"), "{short}");
    }
    assert!(!project.exists("out/x"));
}

#[test]
fn the_plan_is_data_too() {
    let project = project();
    let args = ["explain", "run", "--json", "--rw", "out", "--limit", "memory=100M", "--", "true"];
    let run = project.zonekeep(args);
    let plan: Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(plan["command"], "true");
    assert_eq!(plan["cwd"], "[TEMP]/project/out");
    assert_eq!(plan["network"], "off");
    let limits = plan["limits"].to_string();
    assert!(limits.contains(r#"["memory","100 MiB"]"#), "the tightest: {limits}");
    let granted: Vec<_> = plan["mounts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|mount| mount["role"] == "zone")
        .map(|mount| (mount["at"].as_str().unwrap(), mount["access"].as_str().unwrap()))
        .collect();
    assert!(granted.contains(&("[TEMP]/project/out", "rw")), "{granted:?}");
    let backends = plan["backends"].as_array().unwrap();
    assert_eq!(backends.len(), 5);
    for line in backends {
        let offered = line["offer"]["available"] == true;
        assert_eq!(offered, !line["strength"].as_array().unwrap().is_empty(), "{line}");
    }
}

#[test]
fn the_callers_secrets_are_not_in_it() {
    let project = project();
    let mut command = project.command();
    command.env("MY_SECRET", "hunter2").args(["explain", "run", "--", "true"]);
    let run = project.finish(&mut command);
    assert!(!run.ok().contains("hunter2"), "{run}");
}

#[test]
fn what_cannot_be_explained_is_said() {
    let project = project();
    assert_eq!(project.zonekeep(["explain", "run"]).exit, 2);
    assert_eq!(project.zonekeep(["explain", "read", "--", "true"]).exit, 2);
    let run = project.zonekeep(["explain", "run", "--rw", "/", "--", "true"]);
    assert_eq!(run.exit, 125, "{run}");
}
