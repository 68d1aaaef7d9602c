//! Commands: output while they run, an end when the client wants one, jobs.

use serde_json::{Value, json};

use super::{Steps, text};

pub(super) fn judge(steps: &Steps) {
    let progress = steps.get("progress");
    assert_eq!(text(&progress["result"]), "one\ntwo\nthree\n[exit status 0]");
    assert_eq!(progress["result"]["structuredContent"]["stdout"], json!("one\ntwo\nthree\n"));
    let seen = progress["seen"].as_array().unwrap();
    let told: String = seen.iter().filter_map(|one| one["message"].as_str()).collect();
    assert!(told.starts_with("one\ntwo\n"), "the output, as it comes: {seen:?}");
    assert!(seen[0]["early"].as_bool().unwrap(), "while it runs: {seen:?}");
    let counts: Vec<f64> = seen.iter().map(|one| one["progress"].as_f64().unwrap()).collect();
    assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "it only grows: {counts:?}");

    assert_eq!(*steps.get("cancel"), json!({ "started": true, "ended": true, "gone": true }));
    let started = |job: u64| {
        let words = format!("Started as job {job}. Read its output or stop it with shell_job.");
        json!({
            "content": [{ "type": "text", "text": words }],
            "structuredContent": { "job": job },
            "isError": false,
        })
    };
    assert_eq!(*steps.get("background"), started(1));
    let job = steps.get("job");
    assert_eq!(text(job), "early\nlate\n[exit status 0]");
    let value = &job["structuredContent"];
    let shown = |name: &str| -> Value { value[name].clone() };
    assert_eq!(
        [shown("job"), shown("state"), shown("stdout")],
        [json!(1), json!("ended"), json!("early\nlate\n")]
    );
    assert_eq!(*steps.get("background long"), started(2));
    assert_eq!(text(steps.get("stop")), "Job 2 is being ended.");
    assert_eq!(*steps.get("stopped"), json!({ "started": true, "gone": true }));
}
