//! Whatever is written as a command line is taken apart or refused, and what
//! stands around a line does not change what is in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zonekeep_policy::shell::{Line, Unparsed, Word, parse, split};

fuzz_target!(|text: &str| {
    let plain = split(text);
    if let Err(refusal) = &plain {
        assert!(!refusal.to_string().is_empty());
    }
    let line = match parse(text) {
        Ok(line) => line,
        Err(Unparsed { why, at }) => {
            assert!(!why.is_empty() && at <= text.len());
            return;
        }
    };
    for command in &line.commands {
        assert!(text.contains(&command.text) && !command.text.is_empty(), "{command:?}");
        let nothing = command.words.is_empty()
            && command.assignments.is_empty()
            && command.redirects.is_empty();
        assert!(!nothing, "{command:?}");
        for word in &command.words {
            match word {
                Word::Known(_) => {}
                Word::Glob { text, fixed } => {
                    assert!(text.starts_with(fixed.as_str()));
                    assert!(text[fixed.len()..].starts_with(['*', '?', '[']));
                }
                Word::Unknown { raw } => assert!(text.contains(raw.as_str())),
            }
        }
    }

    // Blanks and line ends around it are nothing; parentheses leave its commands.
    for (around, must) in [
        (format!(" {text}"), true),
        (format!("{text}\n"), true),
        (format!("( {text}\n)"), false),
        (format!("{{ {text}\n}}"), false),
    ] {
        match parse(&around) {
            Ok(same) => assert_eq!(words(&same), words(&line), "{around}"),
            Err(why) => assert!(!must || around.len() > 64 * 1024, "{around}: {why}"),
        }
    }

    // Where no shell is needed, the two ways to read a line agree.
    if let (Ok(plain), [command]) = (plain, line.commands.as_slice()) {
        let known: Option<Vec<&str>> = command.words.iter().map(Word::known).collect();
        if let Some(known) = known {
            // `time` is not part of the command.
            assert!(
                plain.ends_with(&known.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            );
        }
    }
});

fn words(line: &Line) -> Vec<&[Word]> {
    line.commands.iter().map(|command| command.words.as_slice()).collect()
}
