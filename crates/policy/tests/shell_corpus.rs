//! Runs the corpus of command lines: what each is made of, and what the rules in
//! the head of the file say about it.

use std::path::Path;

use zonekeep_policy::config::{Overrides, load};
use zonekeep_policy::shell::{RedirectKind, Simple, Word, decide, parse};
use zonekeep_policy::zone::Approval;
use zonekeep_policy::{AgentPath, Grant};

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''").replace('\n', "⏎")),
    }
}

fn shown(word: &Word) -> String {
    match word {
        Word::Known(text) => quoted(text),
        Word::Glob { text, .. } => format!("<{text}>"),
        Word::Unknown { .. } => "?".to_owned(),
    }
}

fn command(simple: &Simple) -> String {
    let set = simple.assignments.iter().map(|(name, value)| format!("@{name}={}", shown(value)));
    let words = simple.words.iter().map(shown);
    let redirects = simple.redirects.iter().map(|redirect| {
        let sign = match redirect.kind {
            RedirectKind::Read => "<",
            RedirectKind::Write => ">",
            RedirectKind::Append => ">>",
            RedirectKind::Both => "<>",
            RedirectKind::Duplicate => "&",
            RedirectKind::Text => "<<",
        };
        format!("{sign}{}", shown(&redirect.target))
    });
    set.chain(words).chain(redirects).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_line_of_the_corpus_is_understood() {
    let text = include_str!("shell_corpus.txt");
    let (head, lines) = text.split_once("\n----\n").expect("a line of dashes");
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(head, "shell_corpus.txt", path, &Overrides::default());
    assert_eq!(loaded.problems, []);
    let grant = Grant::of(&loaded.policy.expect("no problems"));
    let cwd = AgentPath::absolute("/repo").expect("a path");
    let mut lines = lines.lines();
    let mut wrong = Vec::new();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let comment = line.starts_with("# ")
            && !lines.clone().next().is_some_and(|next| next.starts_with("    "));
        if comment {
            continue;
        }
        count += 1;
        let want = lines.next().expect("what is expected").trim();
        let line = line.replace('⏎', "\n");
        let parsed = match parse(&line) {
            Err(_) => "!".to_owned(),
            Ok(parsed) if parsed.commands.is_empty() => "-".to_owned(),
            Ok(parsed) => parsed.commands.iter().map(command).collect::<Vec<_>>().join(" ¦ "),
        };
        let decision = decide(&grant, &cwd, &line, true);
        let verdict = match decision.approval {
            Approval::PreApproved => "yes",
            Approval::Ask if decision.must_ask => "must",
            Approval::Ask => "ask",
            Approval::Blocked => "no",
        };
        let got = format!("{verdict} | {parsed}");
        if got != want {
            wrong.push(format!("{line}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(count >= 320, "{count} lines");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
