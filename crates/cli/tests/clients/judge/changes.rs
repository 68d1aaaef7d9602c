//! A project file that changes under the server.

use serde_json::json;

use super::{Steps, TOOLS, refused, text};

pub(super) fn judge(steps: &Steps) {
    // The last two follow the first and the third.
    let left = ["read_file", "write_file", "list_files", "read_many", "tree"];
    assert_eq!(*steps.get("fewer tools"), json!({ "told": true, "names": left }));
    let words = "Cannot use 'shell': the tool is not available.\n\
                 Available tools: list_files, read_file, read_many, tree, write_file";
    refused(steps.get("shell is gone"), "no_tool", words);

    let invalid = steps.get("invalid file");
    assert_eq!(invalid["warned"], json!(true));
    assert_eq!(invalid["names"], json!(left), "the rules from before hold");
    assert_eq!(text(&invalid["result"]), "ask/\nnotes/\nout/");
    let note = invalid["result"]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("still hold") && note.contains("zonekeep check"), "{note}");
    let stderr = invalid["stderr"].as_str().unwrap();
    assert!(stderr.contains("the rules from before stay in force"), "{stderr}");

    assert_eq!(*steps.get("tools again"), json!({ "told": true, "names": TOOLS }));
}
