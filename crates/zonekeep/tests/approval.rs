//! What an approver sees, and how long an answer holds.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::sync::{Arc, Mutex};

use crate::common::{CONFIG, files, in_memory, needs, open};
use zonekeep::Session;
use zonekeep::approve::{Answer, Callback, Request};
use zonekeep::files::Overwrite;
use zonekeep::files::edit::Edit;

type Seen = Arc<Mutex<Vec<Request>>>;
type Ask = Box<dyn Fn(&Request) -> Answer + Send + Sync>;

/// A session whose approver writes down what it is asked, and answers alike.
fn asking(answer: Answer, open: impl FnOnce(Ask) -> Session) -> (Session, Seen) {
    let seen = Seen::default();
    let held = Arc::clone(&seen);
    let session = open(Box::new(move |request: &Request| {
        held.lock().unwrap().push(request.clone());
        answer.clone()
    }));
    (session, seen)
}

fn in_memory_asking(answer: Answer) -> (Session, Seen) {
    asking(answer, |ask| in_memory(CONFIG, Callback(ask)))
}

#[test]
fn the_approver_sees_the_normalised_path_the_reason_and_the_diff() {
    let files = files();
    let (session, seen) = asking(Answer::no_because("not now"), |ask| open(&files, Callback(ask)));
    let sandbox = session.sandbox();
    let error = sandbox.write("/output/../asked/./c.txt", "changed\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Cannot write to '/output/../asked/./c.txt': the user declined.\nTheir note: not now"
    );
    let edit = [Edit { old: "c".into(), new: "d".into(), replace_all: false }];
    sandbox.edit("/asked/c.txt", &edit, None).unwrap_err();
    sandbox.rename("/asked/c.txt", "/output/../output/c.txt", Overwrite::Yes).unwrap_err();
    sandbox.read_text("/asked/c.txt").unwrap_err();
    assert_eq!(files.read("asked/c.txt"), "c\n");

    let seen = seen.lock().unwrap();
    let [write, edit, rename, read] = seen.as_slice() else { panic!("{seen:#?}") };
    assert_eq!(
        (write.tool.as_str(), write.verb.as_str(), write.path.as_str()),
        ("write_file", "write", "/asked/c.txt")
    );
    assert_eq!(write.reasons, ["zones.asked.approval.write: ask (zonekeep.yaml:6)"]);
    assert_eq!(write.diff.as_deref(), Some("@@ -1 +1 @@\n-c\n+changed\n"));
    assert!(write.details.contains(&("bytes".to_owned(), "8".to_owned())), "{:?}", write.details);
    assert_eq!(write.summary(), "write /asked/c.txt");
    assert_eq!(edit.diff.as_deref(), Some("@@ -1 +1 @@\n-c\n+d\n"));
    assert_eq!(
        (rename.path.as_str(), rename.to.as_deref()),
        ("/asked/c.txt", Some("/output/c.txt"))
    );
    assert!(rename.details.contains(&("overwrite".to_owned(), "true".to_owned())));
    assert_eq!((read.verb.as_str(), read.diff.as_deref()), ("read", None));
    for request in seen.iter() {
        assert!(
            !format!("{request:?}").contains(&files.path("").display().to_string()),
            "{request:?}"
        );
    }
}

#[test]
fn the_approver_sees_who_asks_and_why_a_file_is_guarded() {
    let (session, seen) = in_memory_asking(Answer::yes());
    let child = session.sandbox_for(&needs("sandbox: { zones: all }")).unwrap();
    child.write("/output/.vscode/tasks.json", "{}").unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].worker.as_deref(), Some("child"));
    assert_eq!(
        seen[0].reasons,
        ["guard \".vscode/**\": ask (the default)", "the file can make an editor run programs"]
    );
}

#[test]
fn a_yes_for_the_session_holds_for_the_same_action_only() {
    let (session, seen) = in_memory_asking(Answer::yes_for_session());
    let sandbox = session.sandbox();
    let asked = || seen.lock().unwrap().len();
    sandbox.write("/asked/a.txt", "1").unwrap();
    sandbox.write("/asked/x/../a.txt", "2").unwrap();
    sandbox.write("/output/../asked/a.txt", "3").unwrap();
    assert_eq!(asked(), 1, "the same action, however it is spelled");
    sandbox.write("/asked/b.txt", "1").unwrap();
    assert_eq!(asked(), 2, "another path is another action");
    sandbox.read_text("/asked/a.txt").unwrap();
    sandbox.delete("/asked/a.txt").unwrap();
    assert_eq!(asked(), 4, "so is another verb");
    sandbox.rename("/asked/b.txt", "/output/b.txt", Overwrite::No).unwrap();
    sandbox.write("/asked/b.txt", "1").unwrap();
    sandbox.rename("/asked/b.txt", "/output/c.txt", Overwrite::No).unwrap();
    assert_eq!(asked(), 6, "so is another destination");

    let held: Vec<(String, String)> =
        session.remembered().into_iter().map(|held| (held.what, held.by)).collect();
    let want = [
        "delete /asked/a.txt",
        "move /asked/b.txt to /output/b.txt",
        "move /asked/b.txt to /output/c.txt",
        "read /asked/a.txt",
        "write /asked/a.txt",
        "write /asked/b.txt",
    ];
    assert_eq!(held, want.map(|what| (what.to_owned(), "callback".to_owned())));
}

#[test]
fn an_answer_can_be_taken_back() {
    let (session, seen) = in_memory_asking(Answer::yes_for_session());
    let sandbox = session.sandbox();
    sandbox.write("/asked/a.txt", "1").unwrap();
    let id = session.remembered()[0].id;
    assert!(session.revoke(id));
    assert!(!session.revoke(id), "it is gone");
    assert!(session.remembered().is_empty());
    sandbox.write("/asked/a.txt", "2").unwrap();
    assert_eq!(seen.lock().unwrap().len(), 2, "asked again");
}

#[test]
fn a_yes_once_and_a_no_are_not_remembered() {
    for answer in [Answer::yes(), Answer::no()] {
        let (session, seen) = in_memory_asking(answer.clone());
        for _ in 0..2 {
            let result = session.sandbox().write("/asked/a.txt", "1");
            assert_eq!(result.is_ok(), answer.approved);
        }
        assert_eq!(seen.lock().unwrap().len(), 2);
        assert!(session.remembered().is_empty());
    }
}

#[test]
fn an_answer_of_another_session_does_not_count() {
    let (first, _) = in_memory_asking(Answer::yes_for_session());
    first.sandbox().write("/asked/a.txt", "1").unwrap();
    let (second, seen) = in_memory_asking(Answer::no());
    assert!(second.sandbox().write("/asked/a.txt", "1").is_err());
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[test]
fn an_answer_holds_down_the_chain_of_workers() {
    let (session, seen) = in_memory_asking(Answer::yes_for_session());
    session.sandbox().write("/asked/a.txt", "1").unwrap();
    let child = session.sandbox().narrow(&needs("sandbox: { zones: all }")).unwrap();
    child.write("/asked/a.txt", "2").unwrap();
    assert_eq!(seen.lock().unwrap().len(), 1);
    // It does not give a child what it does not have.
    let poor = "sandbox: { zones: [{ name: asked, mode: ro }] }";
    let poor = session.sandbox().narrow(&needs(poor)).unwrap();
    assert_eq!(poor.write("/asked/a.txt", "3").unwrap_err().code(), "read_only");
}

#[test]
fn nobody_is_asked_about_what_is_refused_anyway() {
    let (session, seen) = in_memory_asking(Answer::yes());
    let sandbox = session.sandbox();
    for path in
        ["/input/a.txt", "/shut/a.txt", "/etc/passwd", "/asked", "/output/.git/config", "\0"]
    {
        assert!(sandbox.write(path, "x").is_err(), "{path}");
    }
    assert_eq!(seen.lock().unwrap().len(), 0);
}
