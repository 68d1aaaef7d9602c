//! Agents of frameworks: a small task, with a refusal and a question on the way.

use serde_json::{Value, json};
use zonekeep_testkit::Project;

use super::{Steps, TOOLS};

/// Judges the task of `py/task.py`.
pub(crate) fn task(project: &Project, steps: &Steps) {
    let mut tools = TOOLS;
    tools.sort_unstable();
    assert_eq!(*steps.get("tools"), json!(tools));
    let results = [steps.all("result"), steps.all("retry")].concat();
    let said: Vec<String> = results.iter().map(|result| result["content"].to_string()).collect();
    // What the agent has read, in the words of its framework.
    for (tool, words) in [
        ("list_files", "notes"),
        ("read_file", "hello"),
        ("write_file", "Cannot write to '/notes/summary.txt': path is read-only."),
        ("write_file", "/out/summary.txt"),
        ("write_file", "/ask/summary.txt"),
        ("shell", "1 /out/summary.txt"),
    ] {
        let fits = |(result, said): (&&Value, &String)| {
            result["tool"] == json!(tool) && said.contains(words)
        };
        assert!(results.iter().zip(&said).any(fits), "{tool}, {words}: {said:#?}");
    }
    assert_eq!(results.len(), 6, "{said:#?}");
    assert_eq!(*steps.get("asked"), json!(1));
    assert_eq!(*steps.get("final"), json!("The summary is in /out/summary.txt."));
    assert_eq!(project.read("out/summary.txt"), "one line, hello\n");
    assert_eq!(project.read("ask/summary.txt"), "one line, hello\n");
    assert!(!project.exists("notes/summary.txt"));
}
