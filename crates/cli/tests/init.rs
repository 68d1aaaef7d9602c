//! `zonekeep init`.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use insta::assert_snapshot;
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

#[test]
fn init_writes_a_file_that_works_at_once() {
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["init"]);
    assert_snapshot!(run.to_string(), @r#"
    exit 0
    --- stdout
    wrote ./zonekeep.yaml
    next: edit zonekeep.yaml, then run `zonekeep check` and `zonekeep tool list_files '{"path": "/"}'`
    --- stderr
    "#);
    assert!(project.read("zonekeep.yaml").contains("# "), "the file has comments");

    let list = project.zonekeep(["tool", "list_files", r#"{"path": "/"}"#]);
    assert_eq!(list.ok(), "input/\noutput/");
}

#[test]
fn a_repository_gets_the_template_for_one() {
    let project = Project::new(PROGRAM).dir(".git");
    let run = project.zonekeep(["init"]);
    assert!(run.ok().contains("`zonekeep mcp install claude-code`"), "{run}");
    assert!(project.read("zonekeep.yaml").contains("working_dir: /repo"), "{run}");
    assert!(!project.exists("input"), "{run}");
    let named = Project::new(PROGRAM).dir(".git");
    named.zonekeep(["init", "--template", "minimal"]).ok();
    assert!(named.exists("input"));
    // A work tree and a submodule have a file of that name.
    let linked = Project::new(PROGRAM).file(".git", "gitdir: elsewhere\n");
    linked.zonekeep(["init"]).ok();
    assert!(linked.read("zonekeep.yaml").contains("working_dir: /repo"));
}

#[test]
fn every_template_passes_check_without_a_warning() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    for template in ["minimal", "repo", "pipeline"] {
        let project = Project::new(PROGRAM);
        project.zonekeep(["init", "--template", template]).ok();
        let check = project.zonekeep(["check"]);
        assert_eq!((check.exit, check.stderr.as_str()), (0, ""), "{template}: {check}");
        assert!(check.stdout.contains(" 0 warning(s)"), "{template}: {check}");
    }
}

#[test]
fn the_pipeline_template_brings_workers() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(["init", "--template", "pipeline", "sub/dir"]);
    assert_snapshot!(run.to_string(), @r#"
    exit 0
    --- stdout
    wrote sub/dir/workers/analyst.worker
    wrote sub/dir/workers/publisher.worker
    wrote sub/dir/main.worker
    wrote sub/dir/zonekeep.yaml
    next: in sub/dir, edit zonekeep.yaml, then run `zonekeep check` and `zonekeep tool list_files '{"path": "/"}'`
    --- stderr
    "#);
    let check = project.zonekeep(["check", "--project", "sub/dir"]);
    assert_snapshot!(check.to_string(), @"
    exit 0
    --- stdout
    zonekeep.yaml: ok, 2 zone(s), 3 worker(s), 0 warning(s)
    --- stderr
    ");
}

#[test]
fn init_never_overwrites_and_then_writes_nothing() {
    let project = Project::with_config(PROGRAM, "# mine\n");
    let run = project.zonekeep(["init", "--template", "pipeline"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout

    --- stderr
    error: zonekeep.yaml exists already

    hint: nothing was written; move the file away to start anew
    ");
    assert_eq!(project.tree(""), ["zonekeep.yaml"]);
    assert_eq!(project.read("zonekeep.yaml"), "# mine\n");

    // A worker file in the way stops it just the same.
    let project = Project::new(PROGRAM).file("workers/analyst.worker", "mine");
    assert_eq!(project.zonekeep(["init", "--template", "pipeline"]).exit, 1);
    assert_eq!(project.tree(""), ["workers", "workers/analyst.worker"]);
}

#[test]
fn a_link_is_in_the_way_too() {
    let project = Project::new(PROGRAM);
    let elsewhere = project.beside("elsewhere.yaml");
    let project = project.link("zonekeep.yaml", &elsewhere);
    assert_eq!(project.zonekeep(["init"]).exit, 1);
    assert!(!elsewhere.exists());
}

#[test]
fn an_unknown_template_is_wrong_usage() {
    let run = Project::new(PROGRAM).zonekeep(["init", "--template", "huge"]);
    assert_eq!(run.exit, 2);
    assert!(run.stderr.contains("minimal, repo, pipeline"), "{run}");
}
