//! Secrets that only one host may see, and that no command knows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zonekeep_testkit::Run;
use zonekeep_testkit::internet::Seen;

use super::{Attack, Bench, said};

const VALUE: &str = "v4lue-that-no-command-may-know";

fn attack(name: &'static str) -> Option<Attack> {
    let lines = "  network: { allow: [api.test, allowed.test, \"allowed.test:9000\"] }\n  \
                 secrets:\n    API_KEY: { env: HOST_VAR, hosts: [api.test] }\n";
    Bench::with(lines).map(|bench| Attack::on(bench, name))
}

/// Runs the attack in the sandbox, for a caller who has the secret.
fn run(attack: &Attack) -> Run {
    let mut command = attack.bench.zonekeep();
    command.env("HOST_VAR", VALUE).args(["run", "--", "sh", "-ec", &attack.line("bare")]);
    attack.bench.project.finish(&mut command)
}

/// Returns whether something that a server saw has a text in it.
fn holds(seen: &Seen, text: &str) -> bool {
    ["data", "target", "body", "name"].iter().any(|key| seen.text(key).contains(text))
}

#[test]
fn a_secret_reaches_its_host_and_no_command() {
    let Some(attack) = attack("secret") else { return };
    let run = run(&attack);
    assert_eq!(run.exit, 0, "{run}");
    assert!(said(&run, "key")[0].starts_with("zonekeep-secret-"), "{run}");
    assert!(!run.stdout.contains(VALUE), "{run}");
    assert_eq!(run.stdout.matches("hello from api.test").count(), 4, "{run}");
    assert!(said(&run, "looked through")[0].parse::<usize>().unwrap() > 1000, "{run}");
    assert_eq!(said(&run, "known"), ["False"], "{run}");

    let all = attack.internet().all_of_host();
    let header = |path: &str| {
        let one = all.iter().find(|one| one.kind() == "http" && one.text("target") == path);
        one.unwrap_or_else(|| panic!("no {path}: {run}")).header("authorization")
    };
    let basic = format!("Basic {}", STANDARD.encode(format!("user:{VALUE}")));
    assert_eq!(header("/bearer"), Some(format!("Bearer {VALUE}").as_str()));
    assert_eq!(header("/basic"), Some(basic.as_str()));
    assert_eq!(header("/curl"), Some(VALUE));
    assert_eq!(header("/none"), None);
    let log = attack.bench.project.log_lines().join("\n");
    assert!(!log.contains(VALUE), "the secret is on record: {log}");
}

/// A placeholder where it does not belong is stopped, and never becomes the value.
#[test]
fn a_placeholder_elsewhere_stays_one_and_is_stopped() {
    let Some(attack) = attack("placeholder") else { return };
    let run = run(&attack);
    assert_eq!(run.exit, 0, "{run}");
    assert_eq!(said(&run, "plain").len(), 10, "{run}");
    assert!(!run.stdout.contains("hello from"), "{run}");
    let all = attack.internet().all_of_host();
    let leaks: Vec<&Seen> = all.iter().filter(|one| holds(one, "zonekeep-secret-")).collect();
    assert!(leaks.is_empty(), "the placeholder got out: {run}\n{leaks:#?}");
    let leaks: Vec<&Seen> =
        all.iter().filter(|one| attack.tells(one) && holds(one, VALUE)).collect();
    assert!(leaks.is_empty(), "the secret got out: {run}\n{leaks:#?}");
    attack.bench.recorded("allowed.test");
}

/// Where answers have the value taken out, nothing passes that cannot be read.
#[test]
fn a_host_that_gets_secrets_speaks_only_what_can_be_read() {
    let lines = "  network: { allow: [\"api.test:9000\", allowed.test] }\n  \
                 secrets:\n    API_KEY: { env: HOST_VAR, hosts: [\"api.test:9000\"] }\n";
    let Some(bench) = Bench::with(lines) else { return };
    let attack = Attack::on(bench, "unread");
    attack.control();
    let run = run(&attack);
    assert_eq!(said(&run, "direct").len(), 5, "{run}");
    attack.unseen(&run);
}

/// What is hidden in answers must not tell whether a guess is right.
#[test]
fn guesses_come_back_the_same_whether_right_or_wrong() {
    let Some(attack) = attack("oracle") else { return };
    let run = run(&attack);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines, ["whole soon"; 8], "{run}");
}
