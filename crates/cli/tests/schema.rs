//! `zonekeep schema`.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::Value;
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn schema(args: &[&str]) -> Value {
    let run = Project::new(PROGRAM).zonekeep(["schema"].iter().chain(args));
    serde_json::from_str(run.ok()).unwrap()
}

#[test]
fn both_files_have_a_schema_that_editors_understand() {
    let both = schema(&[]);
    assert_eq!(both["project"], schema(&["project"]));
    assert_eq!(both["worker"], schema(&["worker"]));
    for which in ["project", "worker"] {
        let schema = &both[which];
        assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"), "{which}");
        assert_eq!(schema["additionalProperties"], false, "{which}: unknown keys are errors");
        assert!(schema["properties"]["sandbox"].is_object(), "{which}");
    }
}

#[test]
fn the_schema_names_what_the_project_file_accepts() {
    let project = schema(&["project"]);
    let keys: Vec<&String> = project["properties"].as_object().unwrap().keys().collect();
    for key in ["sandbox", "approval", "delegation", "tools", "tool_rules", "audit"] {
        assert!(keys.iter().any(|k| *k == key), "{key} in {keys:?}");
    }
    let text = project.to_string();
    for word in ["sandboxed", "direct", "preApproved", "blocked", "strict", "best_effort"] {
        assert!(text.contains(&format!("\"{word}\"")), "{word}");
    }
}

#[test]
fn an_unknown_file_is_wrong_usage() {
    assert_eq!(Project::new(PROGRAM).zonekeep(["schema", "nothing"]).exit, 2);
}
