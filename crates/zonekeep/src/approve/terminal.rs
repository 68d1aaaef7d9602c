//! Asks the person at the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Mutex;

use super::{Answer, Approver, Request, visible};

/// The most lines that are shown before the rest is shown on request.
const MAX_DIFF_LINES: usize = 200;
/// Where a line is folded, so that it cannot run on into lines of ours.
const FOLD: usize = 100;
/// How often an answer that means nothing is asked again.
const MAX_TRIES: usize = 3;

/// The person at the controlling terminal.
///
/// Questions are asked one after another, also when several threads ask.
#[derive(Debug)]
pub struct Terminal {
    tty: Mutex<File>,
}

impl Terminal {
    /// Opens the controlling terminal, whatever the standard streams are.
    pub fn open() -> io::Result<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Ok(Terminal { tty: Mutex::new(tty) })
    }
}

impl Approver for Terminal {
    fn ask(&self, request: &Request) -> Answer {
        let Ok(tty) = self.tty.lock() else { return Answer::unasked("the terminal is gone") };
        let answer = tty.try_clone().and_then(|mut out| {
            out.write_all(render(request, MAX_DIFF_LINES).as_bytes())?;
            // What was typed before the question was shown is not an answer to it.
            let _ = rustix::termios::tcflush(&*tty, rustix::termios::QueueSelector::IFlush);
            converse(request, &mut BufReader::new(&*tty), &mut out)
        });
        answer.unwrap_or_else(|_| Answer::unasked("the terminal is gone"))
    }

    fn name(&self) -> &str {
        "terminal"
    }
}

/// Reads the answer to a question that was shown. The end of the input is a no.
fn converse(request: &Request, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<Answer> {
    for _ in 0..MAX_TRIES {
        out.write_all(b"zonekeep> ")?;
        out.flush()?;
        let Some(line) = read_line(input)? else { return Ok(Answer::no()) };
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Answer::yes()),
            "s" | "session" => return Ok(Answer::yes_for_session()),
            "n" | "no" => {
                out.write_all(b"note to the agent (Enter for none): ")?;
                out.flush()?;
                let note = read_line(input)?.unwrap_or_default();
                let note = note.trim();
                return Ok(if note.is_empty() { Answer::no() } else { Answer::no_because(note) });
            }
            "v" | "view" => out.write_all(render(request, usize::MAX).as_bytes())?,
            _ => out.write_all(b"please answer y, s or n\n")?,
        }
    }
    Ok(Answer::no())
}

/// Reads a line of at most 4096 bytes; `None` at the end of the input.
fn read_line(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match input.read(&mut byte)? {
            0 if line.is_empty() => return Ok(None),
            0 => break,
            _ if byte[0] == b'\n' || line.len() >= 4096 => break,
            _ => line.push(byte[0]),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// Writes a question out: who wants what, why it is asked, what would change.
/// At most `lines` of a long text are shown.
fn render(request: &Request, lines: usize) -> String {
    let one_line = |text: &str| visible(text).replace('\n', "\\n").replace('\t', "\\t");
    let who = request.worker.as_deref().unwrap_or("The agent");
    let mut text = String::from("\n");
    let mut field = |name: &str, value: &str| fold(&mut text, "  ", &format!("{name}{value}"));
    field(&format!("{} wants to {} ", one_line(who), request.verb), &quoted(&request.path));
    if let Some(to) = &request.to {
        field("to ", &quoted(to));
    }
    field("tool: ", &one_line(&request.tool));
    for reason in &request.reasons {
        field("asked because: ", &one_line(reason));
    }
    for (name, value) in &request.details {
        field(&format!("{}: ", one_line(name)), &one_line(value));
    }
    if let Some(diff) = &request.diff {
        for line in diff.lines().take(lines) {
            fold(&mut text, "  | ", &visible(line));
        }
        let left = diff.lines().count().saturating_sub(lines);
        if left > 0 {
            text.push_str(&format!("  … {left} more lines: v shows them\n"));
        }
    }
    text.push_str("  y  yes, this once\n");
    text.push_str("  s  yes, and do not ask about this again in this session: ");
    fold(&mut text, "", &format!("{} {}", request.verb, quoted(&request.path)));
    text.push_str("  n  no\n");
    text
}

/// Writes a path so that its end can be seen.
fn quoted(path: &str) -> String {
    format!("'{}'", visible(path).replace('\n', "\\n").replace('\t', "\\t"))
}

/// Adds a line, folded where it is long, so that it can neither be pushed out
/// of sight by blanks nor run on into what looks like a line of ours.
fn fold(text: &mut String, prefix: &str, line: &str) {
    let chars: Vec<char> = line.chars().collect();
    if chars.is_empty() {
        text.push_str(prefix);
        text.push('\n');
    }
    for (i, part) in chars.chunks(FOLD).enumerate() {
        text.push_str(prefix);
        if i > 0 {
            text.push_str("↪ ");
        }
        text.extend(part);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approve::Remember;
    use zonekeep_policy::Verb;

    fn request() -> Request {
        Request {
            worker: None,
            tool: "write_file".into(),
            verb: Verb::Write,
            path: "/output/a\u{202e}.md".into(),
            to: None,
            reasons: vec!["zones.output.approval.write: ask (zonekeep.yaml:4)".into()],
            details: vec![("append".into(), "false".into())],
            diff: Some("-old\n+new\x1b[2J\n".into()),
        }
    }

    fn answer(typed: &str) -> Answer {
        converse(&request(), &mut typed.as_bytes(), &mut Vec::new()).unwrap()
    }

    #[test]
    fn answers_are_read() {
        let cases = [
            ("y\n", Answer::yes()),
            ("YES\n", Answer::yes()),
            ("s\n", Answer::yes_for_session()),
            ("n\n\n", Answer::no()),
            ("n\nuse /draft instead\n", Answer::no_because("use /draft instead")),
            ("", Answer::no()),
            ("what\ny\n", Answer::yes()),
            ("a\nb\nc\ny\n", Answer::no()),
        ];
        for (typed, want) in cases {
            assert_eq!(answer(typed), want, "{typed:?}");
        }
        assert_eq!(answer("s\n").remember, Remember::Session);
    }

    #[test]
    fn the_question_shows_everything_and_nothing_disguised() {
        let shown = render(&request(), 1);
        for part in [
            "write '/output/a\\u{202e}.md'",
            "zonekeep.yaml:4",
            "append: false",
            "| -old",
            "1 more lines: v shows them",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        let whole = render(&request(), usize::MAX);
        assert!(whole.contains("+new\\u{1b}[2J"), "{whole}");
        assert!(!whole.contains('\x1b') && !whole.contains('\u{202e}'));
    }

    #[test]
    fn a_long_line_cannot_run_on_into_a_line_of_ours() {
        let mut request = request();
        request.path = format!("/output/a{}  y  yes", " ".repeat(200));
        request.diff = Some(format!("+{}  y  yes", " ".repeat(300)));
        let shown = render(&request, 10);
        assert!(shown.lines().all(|line| line.chars().count() <= FOLD + 64), "{shown}");
        assert!(shown.lines().filter(|line| line.contains("y  yes,")).count() == 1, "{shown}");
        assert!(shown.contains('↪'), "{shown}");
    }
}
