//! Questions: the form, what each answer does, and what a client cannot forge.

use serde_json::json;
use zonekeep_testkit::Project;

use super::{Era, Steps, refused, text};

pub(super) fn judge(project: &Project, steps: &Steps, era: Era) {
    let once = steps.get("write once");
    let asked = once["asked"].as_array().unwrap();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let message = asked[0]["message"].as_str().unwrap();
    for part in ["write '/ask/once.txt'", "zones.ask.approval.write: ask", "-before", "+once"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let schema = &asked[0]["requestedSchema"];
    assert_eq!(schema["required"], json!(["decision"]));
    assert_eq!(schema["properties"]["decision"]["enum"], json!(["deny", "once", "session"]));
    assert_eq!(schema["properties"]["note"]["type"], json!("string"));

    let next = "Continue with what needs no approval, and tell the user what you wanted to do.";
    // step, why it was refused
    let refusals = [
        ("deny", Some("the user declined.\nTheir note: use /out instead")),
        ("declined", Some("the user declined.")),
        ("cancelled", Some("the user declined.")),
        (
            "empty",
            Some(
                "it needs the user's approval, and the client accepted the question without a \
                 decision of the user's.",
            ),
        ),
        (
            "nonsense",
            Some(
                "it needs the user's approval, and the client accepted the question without a \
                 decision of the user's.",
            ),
        ),
        ("once", None),
        ("session", None),
    ];
    for (step, why) in refusals {
        let done = steps.get(&format!("write {step}"));
        assert_eq!(done["asked"].as_array().unwrap().len(), 1, "{step}: {done}");
        let path = format!("ask/{step}.txt");
        match why {
            None => assert_eq!(done["result"]["isError"], json!(false), "{step}: {done}"),
            Some(why) => {
                let words = text(&done["result"]);
                assert!(words.starts_with(&format!("Cannot write to '/{path}': {why}")), "{words}");
                assert_eq!(done["result"]["isError"], json!(true), "{step}: {done}");
                assert!(!project.exists(&path), "{step}");
            }
        }
    }
    assert_eq!(project.read("ask/once.txt"), "once\n");
    let again = steps.get("write session again");
    assert_eq!(again["asked"], json!([]), "nobody is asked twice in a session");
    assert!(text(&again["result"]).starts_with("Replaced /ask/session.txt"), "{again}");
    assert_eq!(project.read("ask/session.txt"), "session again\n");

    let alone = format!(
        "Cannot write to '/ask/alone.txt': it needs the user's approval, and this client cannot \
         ask the user. The user can answer in a terminal: run `zonekeep approve` there and call \
         this again.\n{next}"
    );
    refused(steps.get("write alone"), "declined", &alone);
    assert!(!project.exists("ask/alone.txt"));
    if era == Era::Of2026 {
        by_hand(project, steps);
    }
}

/// Judges what came of a client that answers by hand and tampers with the state.
fn by_hand(project: &Project, steps: &Steps) {
    let question = steps.get("question");
    assert_eq!(question["resultType"], json!("input_required"));
    assert_eq!(question["sealed"], json!("string"));
    let request = &question["inputRequests"]["approve"];
    assert_eq!(request["method"], json!("elicitation/create"), "{question}");
    assert_eq!(request["params"]["requestedSchema"]["required"], json!(["decision"]));

    for name in ["tampered", "another content", "another path", "used twice"] {
        let came = steps.get(&format!("state: {name}"));
        assert_eq!(came["error"]["code"], json!(-32602), "{name}: {came}");
    }
    assert_eq!(*steps.get("state: no state"), json!({ "asked": ["approve"] }));
    for name in ["no answer", "another question"] {
        let came = steps.get(&format!("state: {name}"));
        assert_eq!(came["isError"], json!(true), "{name}: {came}");
    }
    let answered = steps.get("state: answered");
    assert!(text(answered).starts_with("Created /ask/by-hand.txt"), "{answered}");
    assert_eq!(project.read("ask/by-hand.txt"), "by hand\n");
    assert!(!project.exists("ask/other.txt"));
}
