//! What is refused is on record, and nobody is asked without end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Attack, Bench, said};

#[test]
fn much_that_is_refused_does_not_hide_what_matters() {
    let Some(attack) = Attack::new("junk", &["allowed.test"]) else { return };
    attack.confined();
    attack.bench.recorded("junk0.denied.test");
    attack.bench.recorded("matters.denied.test");
}

/// A project that asks about some hosts, and somebody who answers `answer` and
/// counts.
fn asking(answer: &str) -> Option<Attack> {
    let lines = "  network: { allow: [allowed.test], ask: [\"*.allowed.test\"] }\n";
    let attack = Attack::on(Bench::with(lines)?, "asked");
    let count = attack.bench.project.beside("questions");
    let program = attack.bench.project.beside("approver");
    let script = format!(
        "#!/bin/sh\ncat >>{}\necho '{{\"approved\": {answer}, \"remember\": \"session\"}}'\n",
        count.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&count, "").unwrap();
    Some(attack)
}

/// Runs the attack with that approver, and returns how often each name was asked about.
fn questions(attack: &Attack) -> (zonekeep_testkit::Run, Vec<usize>) {
    let project = &attack.bench.project;
    let mut command = attack.bench.zonekeep();
    command.arg("run").arg("--approver").arg(project.beside("approver"));
    command.args(["--", "sh", "-c", &attack.line("bare")]);
    let run = project.finish(&mut command);
    let asked = fs::read_to_string(project.beside("questions")).unwrap();
    let about = |number| asked.matches(&format!("\"name{number}.allowed.test")).count();
    (run, (0..30).map(about).collect())
}

#[test]
fn a_no_is_remembered_and_questions_come_to_an_end() {
    let Some(attack) = asking("false") else { return };
    let (run, asked) = questions(&attack);
    assert!(asked.iter().all(|count| *count <= 1), "{asked:?}: {run}");
    assert!((1..=25).contains(&asked.iter().sum::<usize>()), "{asked:?}: {run}");
    attack.unseen(&run);
    attack.bench.recorded("name0.allowed.test");
}

#[test]
fn a_yes_opens_that_host() {
    let Some(attack) = asking("true") else { return };
    let (run, asked) = questions(&attack);
    assert!(said(&run, "first")[0].contains("hello from"), "{run}");
    assert_eq!(asked[0], 1, "{run}");
}
