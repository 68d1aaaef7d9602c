//! How often agents would have to wait for an answer: a corpus of lines that they write,
//! and which of them ask.

use std::path::Path;

use zonekeep_policy::config::{Overrides, load};
use zonekeep_policy::shell::decide;
use zonekeep_policy::zone::Approval;
use zonekeep_policy::{AgentPath, Grant};

const CORPUS: &str = include_str!("agent_lines.txt");

/// Returns the project file of the corpus, the lines whose effects stay in the sandbox, and
/// those whose effects leave it.
fn corpus() -> (&'static str, Vec<String>, Vec<String>) {
    let mut parts = CORPUS.split("\n----\n");
    let head = parts.next().expect("a project file");
    let mut lines = || {
        let lines = parts.next().expect("lines").lines();
        lines.filter(|line| !line.starts_with("# ")).map(|line| line.replace('⏎', "\n")).collect()
    };
    let harmless = lines();
    (head, harmless, lines())
}

fn grant(shell: &str) -> Grant {
    let text = format!("{}\nshell: {{ {shell} }}\n", corpus().0);
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(&text, "agent_lines.txt", path, &Overrides::default());
    assert_eq!(loaded.problems, []);
    Grant::of(&loaded.policy.expect("no problems"))
}

/// Returns the lines that ask.
fn asking<'l>(grant: &Grant, lines: &'l [String]) -> Vec<&'l str> {
    let cwd = AgentPath::absolute("/repo").expect("a path");
    let asks = |line: &&String| decide(grant, &cwd, line, true).approval != Approval::PreApproved;
    lines.iter().filter(asks).map(String::as_str).collect()
}

#[test]
fn contained_asks_about_what_leaves_the_sandbox_and_nothing_else() {
    let (_, harmless, leaving) = corpus();
    assert_eq!((harmless.len(), leaving.len()), (250, 50));
    let grant = grant("default: contained");
    assert_eq!(asking(&grant, &harmless), Vec::<&str>::new());
    assert_eq!(asking(&grant, &leaving), leaving);
}

#[test]
fn presets_ask_about_one_line_in_ten_at_most() {
    let (_, harmless, leaving) = corpus();
    let grant = grant("presets: [read_only, build, test, edit, git_local]");
    let asked = asking(&grant, &harmless);
    // The target is 25; the guide says how many they are.
    assert_eq!(asked.len(), 22, "{}", asked.join("\n"));
    assert_eq!(asking(&grant, &leaving), leaving);
}
