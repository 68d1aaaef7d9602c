//! Resources: the files, the records, and news of changes.

use serde_json::{Value, json};

use super::{Era, Steps};

pub(super) fn judge(steps: &Steps, era: Era) {
    let listed = steps.get("resources");
    // More than 200 come on pages, which some clients put together by themselves.
    assert!([1, 2].contains(&listed["pages"].as_u64().unwrap()), "{}", listed["pages"]);
    let found = listed["found"].as_array().unwrap();
    let one = |uri: &str| found.iter().find(|resource| resource["uri"] == json!(uri));
    let audit = json!({
        "uri": "zonekeep://audit/session", "name": "audit",
        "title": "What was done in this session", "mimeType": "application/jsonl",
    });
    assert_eq!(found[0], audit);
    let note = json!({ "uri": "zonekeep:///notes/a.txt", "name": "notes/a.txt", "mimeType": "text/plain" });
    assert_eq!(one("zonekeep:///notes/a.txt"), Some(&note));
    for number in 0..250 {
        let uri = format!("zonekeep:///out/many/{number:03}.txt");
        assert!(one(&uri).is_some(), "{uri}");
    }
    let mut uris: Vec<&str> = found.iter().map(|one| one["uri"].as_str().unwrap()).collect();
    let count = uris.len();
    uris.sort_unstable();
    uris.dedup();
    assert_eq!(uris.len(), count, "each is listed once");

    let template = json!([{
        "uriTemplate": "zonekeep:///{+path}", "name": "file", "title": "File",
        "description": "A file of the sandbox, by its path",
    }]);
    assert_eq!(*steps.get("templates"), template);
    let text =
        json!([{ "uri": "zonekeep:///notes/a.txt", "mimeType": "text/plain", "text": "hello\n" }]);
    assert_eq!(steps.get("resource text")["contents"], text);
    let image = json!([{
        "uri": "zonekeep:///notes/dot.png", "mimeType": "image/png", "blob": super::super::DOT,
    }]);
    assert_eq!(steps.get("resource image")["contents"], image);

    let missing = match era {
        Era::Before => -32002,
        Era::Of2026 => -32602,
    };
    let cases = [("missing", missing), ("outside", -32602), ("elsewhere", missing)];
    for (name, code) in cases {
        let came = steps.get(&format!("resource {name}"));
        assert_eq!(came["error"]["code"], json!(code), "{name}: {came}");
    }
    let updates = json!({ "told": true, "uris": ["zonekeep:///out/watched.txt"], "later": 0 });
    assert_eq!(*steps.get("updates"), updates);
    records(steps.get("audit"));
}

/// Judges the records of the session.
fn records(audit: &Value) {
    assert_eq!(audit["count"], json!(1));
    assert_eq!(audit["uri"], json!("zonekeep://audit/session"));
    assert_eq!(audit["mimeType"], json!("application/jsonl"));
    let records = audit["records"].as_array().unwrap();
    // tool, path, verdict, outcome
    let cases = [
        ("read_file", "/notes/a.txt", "allow", "done"),
        ("read_file", "/etc/passwd", "deny", "refused"),
        ("write_file", "/ask/once.txt", "ask", "done"),
        ("write_file", "/ask/declined.txt", "ask", "refused"),
    ];
    for (tool, path, verdict, outcome) in cases {
        let fits = |record: &&Value| {
            record["tool"] == json!(tool)
                && record["path"] == json!(path)
                && record["verdict"] == json!(verdict)
                && record["outcome"] == json!(outcome)
        };
        assert!(records.iter().find(fits).is_some(), "{tool} {path}: {records:#?}");
    }
    let once = records.iter().find(|record| record["path"] == json!("/ask/once.txt")).unwrap();
    assert_eq!(once["answer"]["approved"], json!(true), "{once}");
    assert!(once["answer"]["by"].as_str().unwrap().starts_with("client "), "{once}");
    assert!(!audit.to_string().contains("zk-test-"), "no host path: {audit}");
}
