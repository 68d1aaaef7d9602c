//! Asks the person at the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Mutex;

use rustix::event::{PollFd, PollFlags, poll};

use super::{Answer, Approver, CommandAsked, Part, Request, visible};
use crate::stop::Stop;

/// The most lines that are shown before the rest is shown on request.
const MAX_DIFF_LINES: usize = 200;
/// The most lines that a form shows of a command or of what would change.
const MAX_FORM_LINES: usize = 400;
/// Where a line is folded, so that it cannot run on into lines of ours; earlier
/// on a terminal that is narrower.
const FOLD: usize = 100;
/// Columns for what stands before a folded line.
const MARGIN: usize = 8;
/// The least that a line is folded at, however narrow the terminal says it is.
const MIN_FOLD: usize = 20;
/// Columns from one tab stop to the next.
const TAB: usize = 8;
/// The most parts of a command that are shown before the rest is on request.
const MAX_PARTS: usize = 20;
/// A question with more lines than this ends with what is asked: its head may have
/// scrolled off the screen.
const SHORT: usize = 16;
/// How often an answer that means nothing is asked again.
const MAX_TRIES: usize = 3;

/// The person at the controlling terminal.
///
/// Questions are asked one after another, also when several threads ask.
#[derive(Debug)]
pub struct Terminal {
    tty: Mutex<File>,
    stop: Stop,
}

impl Terminal {
    /// Opens the controlling terminal, whatever the standard streams are.
    pub fn open() -> io::Result<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Ok(Terminal { tty: Mutex::new(tty), stop: Stop::new() })
    }

    /// Returns the same, who need not answer any more once `stop` is said.
    #[must_use]
    pub fn stopped_by(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }
}

impl Approver for Terminal {
    fn ask(&self, request: &Request) -> Answer {
        let Ok(tty) = self.tty.lock() else { return Answer::unasked("the terminal is gone") };
        let page = Page::of(&tty);
        let answer = tty.try_clone().and_then(|mut out| {
            out.write_all(page.render(request, Amount::Beginning).as_bytes())?;
            // What was typed before the question was shown is not an answer to it.
            let _ = rustix::termios::tcflush(&*tty, rustix::termios::QueueSelector::IFlush);
            let keys = Keys { tty: &tty, stop: &self.stop };
            page.converse(request, &mut BufReader::new(keys), &mut out)
        });
        answer.unwrap_or_else(|_| match self.stop.is_said() {
            true => Answer::unasked("the user stopped the run"),
            false => Answer::unasked("the terminal is gone"),
        })
    }

    fn name(&self) -> &str {
        "terminal"
    }
}

/// What is typed, until somebody says stop.
struct Keys<'a> {
    tty: &'a File,
    stop: &'a Stop,
}

impl Read for Keys<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stop = self.stop.fd()?;
        loop {
            let mut polled =
                [PollFd::new(self.tty, PollFlags::IN), PollFd::new(&stop, PollFlags::IN)];
            match poll(&mut polled, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if self.stop.is_said() {
                return Err(io::Error::other("stopped"));
            }
            if !polled[0].revents().is_empty() {
                return (&*self.tty).read(buffer);
            }
        }
    }
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

/// Writes a question out for a form: who wants what, why it is asked, what would
/// change. Nothing in it can hide, or look like a line of Zonekeep's own. Also returns
/// whether that is all; where it is not, the text begins by saying so.
pub fn written(request: &Request) -> (String, bool) {
    let page = Page { fold: FOLD };
    let mut text = page.question(request, Amount::Form);
    page.head_again(&mut text, request);
    let text = text.trim_start_matches('\n');
    let shown = |text: &str| text.lines().count() <= MAX_FORM_LINES;
    let command = request.command.as_ref();
    let whole = !request.partial
        && request.diff.as_deref().is_none_or(shown)
        && command.is_none_or(|command| {
            command.line.len() <= MAX_FORM_LINES * FOLD / 4
                && shown(&command.line)
                && command.parts.len() <= MAX_PARTS
        });
    match whole {
        true => (text.to_owned(), true),
        false => (format!("  Only part of it is shown here.\n{text}"), false),
    }
}

/// Writes a question out for a list of those that wait, for a terminal of so many
/// columns: its id on a line of its own, and below it what is wanted, why it is
/// asked and in which project. Only the line of the id begins at the margin.
///
/// 0 columns are those of a terminal that does not say how wide it is.
pub fn listed(request: &Request, project: &str, columns: usize) -> String {
    let page = Page::wide(columns);
    let mut text = String::new();
    page.fold(&mut text, "", &one_line(&request.id));
    page.wants(&mut text, request, Amount::Form);
    page.reasons(&mut text, request);
    page.fold(&mut text, "  ", &format!("project: {}", quoted(project)));
    text
}

/// How much of a long question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Beginning,
    All,
    /// What a form can show, where nobody can ask for more.
    Form,
}

impl Amount {
    /// Returns `most`, unless all is to be shown.
    fn of(self, most: usize) -> usize {
        match self {
            Amount::Beginning => most,
            Amount::All => usize::MAX,
            Amount::Form => MAX_FORM_LINES,
        }
    }

    /// Says that there is more to see.
    fn more(self, text: &mut String, left: usize, of: &str) {
        if left > 0 {
            let where_to = if self == Amount::Form { " are not shown" } else { ": v shows them" };
            text.push_str(&format!("  … {left} more {of}{where_to}\n"));
        }
    }
}

/// How questions are laid out.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// Where lines are folded.
    fold: usize,
}

impl Page {
    fn of(tty: &File) -> Self {
        let columns = rustix::termios::tcgetwinsize(tty).map_or(0, |size| size.ws_col.into());
        Page::wide(columns)
    }

    /// Returns the page for a terminal of so many columns; 0 if it does not say.
    fn wide(columns: usize) -> Self {
        match columns {
            0 => Page { fold: FOLD },
            columns => Page { fold: columns.saturating_sub(MARGIN).clamp(MIN_FOLD, FOLD) },
        }
    }

    /// Reads the answer to a question that was shown. The end of the input is a no.
    fn converse(
        self,
        request: &Request,
        input: &mut dyn BufRead,
        out: &mut dyn Write,
    ) -> io::Result<Answer> {
        for _ in 0..MAX_TRIES {
            out.write_all(b"zonekeep> ")?;
            out.flush()?;
            let Some(line) = read_line(input)? else { return Ok(Answer::no()) };
            match (line.trim().to_ascii_lowercase().as_str(), request.pattern()) {
                ("y" | "yes", _) => return Ok(Answer::yes()),
                ("s" | "session", _) => return Ok(Answer::yes_for_session()),
                ("p" | "pattern", Some(pattern)) => {
                    if self.confirm(pattern, input, out)? {
                        return Ok(Answer::yes_for_pattern(pattern));
                    }
                }
                ("n" | "no", _) => {
                    out.write_all(b"note to the agent (Enter for none): ")?;
                    out.flush()?;
                    let note = read_line(input)?.unwrap_or_default();
                    return Ok(match note.trim() {
                        "" => Answer::no(),
                        note => Answer::no_because(note),
                    });
                }
                ("v" | "view", _) => {
                    out.write_all(self.render(request, Amount::All).as_bytes())?;
                }
                (_, Some(_)) => out.write_all(b"please answer y, s, p or n\n")?,
                (_, None) => out.write_all(b"please answer y, s or n\n")?,
            }
        }
        Ok(Answer::no())
    }

    /// Shows what a yes to a pattern covers, and asks whether that is meant.
    fn confirm(
        self,
        pattern: &str,
        input: &mut dyn BufRead,
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        let mut text = String::new();
        self.fold(&mut text, "  ", &format!("commands that begin with: {}", one_line(pattern)));
        text.push_str("  run without a question until the session ends? [y/n] ");
        out.write_all(text.as_bytes())?;
        out.flush()?;
        let line = read_line(input)?.unwrap_or_default();
        Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Writes a question out, with the answers that there are.
    fn render(self, request: &Request, amount: Amount) -> String {
        let mut text = self.question(request, amount);
        text.push_str("  y  yes, this once\n");
        match &request.command {
            Some(command) => {
                text.push_str(
                    "  s  yes, and do not ask about this exact command again in this session\n",
                );
                if let Some(pattern) = &command.pattern {
                    let offer =
                        "p  yes, and do not ask in this session about commands that begin with: ";
                    self.fold(&mut text, "  ", &format!("{offer}{}", one_line(pattern)));
                }
            }
            None => {
                let offer = "s  yes, and do not ask about this again in this session: ";
                self.fold(&mut text, "  ", &format!("{offer}{}", deed(request)));
            }
        }
        text.push_str("  n  no\n");
        self.head_again(&mut text, request);
        text
    }

    /// Ends a long question with what is asked, so that it stands above the prompt.
    fn head_again(self, text: &mut String, request: &Request) {
        if text.lines().count() <= SHORT {
            return;
        }
        if request.partial {
            text.push_str("  only part of what would change is shown\n");
        }
        for (name, value) in request.details.iter().filter(|(name, _)| name == "executable") {
            self.fold(text, "  ", &format!("{}: {}", one_line(name), one_line(value)));
        }
        let who = one_line(request.worker.as_deref().unwrap_or("The agent"));
        let what = match &request.command {
            None => deed(request),
            Some(command) => {
                let line = one_line(&command.line);
                let length = line.chars().count();
                match length <= self.fold {
                    true => format!("run in {}: {line}", quoted(&command.cwd)),
                    false => {
                        let cwd = quoted(&command.cwd);
                        format!("run the command of {length} characters above, in {cwd}")
                    }
                }
            }
        };
        self.fold(text, "  ", &format!("{who} wants to {what}"));
    }

    /// Writes out who wants what, why it is asked, what would change.
    fn question(self, request: &Request, amount: Amount) -> String {
        let mut text = String::from("\n");
        self.wants(&mut text, request, amount);
        self.about(&mut text, request);
        if let Some(command) = &request.command {
            self.consent(&mut text, command, amount);
        }
        if let Some(diff) = &request.diff {
            let most = amount.of(MAX_DIFF_LINES);
            for line in diff.lines().take(most) {
                self.fold(&mut text, "  | ", &visible(line));
            }
            amount.more(&mut text, diff.lines().count().saturating_sub(most), "lines");
        }
        text
    }

    /// Writes out who wants what.
    fn wants(self, text: &mut String, request: &Request, amount: Amount) {
        let who = one_line(request.worker.as_deref().unwrap_or("The agent"));
        let verb = one_line(&request.verb);
        let Some(command) = &request.command else {
            self.fold(text, "  ", &format!("{who} wants to {verb} {}", quoted(&request.path)));
            if let Some(to) = &request.to {
                self.fold(text, "  ", &format!("to {}", quoted(to)));
            }
            return;
        };
        self.fold(text, "  ", &format!("{who} wants to {verb}"));
        let mut shown = String::new();
        for line in command.line.split('\n') {
            self.fold(&mut shown, "  | ", &one_line(line));
        }
        let most = amount.of(MAX_DIFF_LINES);
        for line in shown.lines().take(most) {
            text.push_str(line);
            text.push('\n');
        }
        amount.more(text, shown.lines().count().saturating_sub(most), "lines");
        self.fold(text, "  ", &format!("in {}", quoted(&command.cwd)));
        if command.background {
            text.push_str("  in the background, where it goes on by itself\n");
        }
    }

    /// Writes out why it is asked.
    fn reasons(self, text: &mut String, request: &Request) {
        for reason in &request.reasons {
            self.fold(text, "  ", &format!("asked because: {}", one_line(reason)));
        }
    }

    /// Writes out which tool is called, why it is asked, and the arguments.
    fn about(self, text: &mut String, request: &Request) {
        if request.partial {
            text.push_str("  only part of what would change is shown\n");
        }
        self.fold(text, "  ", &format!("tool: {}", one_line(&request.tool)));
        self.reasons(text, request);
        for (name, value) in &request.details {
            self.fold(text, "  ", &format!("{}: {}", one_line(name), one_line(value)));
        }
    }

    /// Writes out what of a command needs consent and why, and the network that it
    /// would get.
    fn consent(self, text: &mut String, command: &CommandAsked, amount: Amount) {
        let parts: Vec<&Part> = command.parts.iter().filter(|part| part.needs_consent()).collect();
        let most = amount.of(MAX_PARTS);
        for part in parts.iter().take(most) {
            self.fold(text, "  ", &format!("needs consent: {}", quoted(&part.text)));
            for why in &part.why {
                self.fold(text, "    ", &format!("because: {}", one_line(why)));
            }
            if let Some(rule) = &part.rule {
                self.fold(text, "    ", &format!("by the rule: {}", one_line(rule)));
            }
        }
        amount.more(text, parts.len().saturating_sub(most), "parts that need consent");
        let network = command.network.as_deref().map_or("none".to_owned(), one_line);
        self.fold(text, "  ", &format!("network: {network}"));
    }

    /// Adds a line, folded where it is long, so that it can neither be pushed out
    /// of sight by blanks nor run on into what looks like a line of ours.
    fn fold(self, text: &mut String, prefix: &str, line: &str) {
        text.push_str(prefix);
        let mut column = 0;
        for c in without_tabs(line).chars() {
            let width = columns_of(c);
            if column + width > self.fold {
                text.push('\n');
                text.push_str(prefix);
                text.push_str("↪ ");
                column = 0;
            }
            column += width;
            text.push(c);
        }
        text.push('\n');
    }
}

/// Returns how many columns a character takes at most.
fn columns_of(c: char) -> usize {
    // What is not ASCII may be two columns wide.
    if c.is_ascii() { 1 } else { 2 }
}

/// Writes tabs out as blanks: nobody else knows how wide a terminal makes them.
fn without_tabs(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    for c in line.chars() {
        let width = if c == '\t' { TAB - column % TAB } else { columns_of(c) };
        match c {
            '\t' => out.extend(std::iter::repeat_n(' ', width)),
            c => out.push(c),
        }
        column += width;
    }
    out
}

/// Returns what would be done to files, on one line.
fn deed(request: &Request) -> String {
    let deed = format!("{} {}", one_line(&request.verb), quoted(&request.path));
    match &request.to {
        Some(to) => format!("{deed} to {}", quoted(to)),
        None => deed,
    }
}

/// Writes a text so that it stays on its line and hides nothing.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Writes a text so that its end can be seen.
fn quoted(path: &str) -> String {
    format!("'{}'", one_line(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approve::Remember;

    const PAGE: Page = Page { fold: FOLD };

    fn request() -> Request {
        Request {
            tool: "write_file".into(),
            verb: "write".into(),
            path: "/output/a\u{202e}.md".into(),
            reasons: vec!["zones.output.approval.write: ask (zonekeep.yaml:4)".into()],
            details: vec![("append".into(), "false".into())],
            diff: Some("-old\n+new\x1b[2J\n".into()),
            ..Request::default()
        }
    }

    fn command(line: &str) -> Request {
        let part = |text: &str, approval: &str, why: &[&str], rule: Option<&str>| Part {
            text: text.into(),
            approval: approval.into(),
            why: why.iter().map(|why| (*why).to_owned()).collect(),
            rule: rule.map(str::to_owned),
        };
        let command = CommandAsked {
            line: line.into(),
            cwd: "/repo".into(),
            parts: vec![
                part("git status", "preApproved", &[], Some("zonekeep.yaml:7 git status")),
                part("git push", "ask", &["it sends"], Some("zonekeep.yaml:9 git push *: ask")),
                part("rm x", "ask", &["no rule says anything about it"], None),
            ],
            network: Some("example.org".into()),
            pattern: Some("git push".into()),
            background: true,
        };
        Request::of_command("s-1", "shell", command)
    }

    fn answer(typed: &str) -> Answer {
        PAGE.converse(&request(), &mut typed.as_bytes(), &mut Vec::new()).unwrap()
    }

    /// Returns the answer to a question about a command, and what was shown.
    fn answer_to(request: &Request, typed: &str) -> (Answer, String) {
        let mut shown = Vec::new();
        let answer = PAGE.converse(request, &mut typed.as_bytes(), &mut shown).unwrap();
        (answer, String::from_utf8(shown).unwrap())
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
        let mut long = request();
        long.diff = Some(format!("-old\n{}", "+more\n".repeat(MAX_DIFF_LINES)));
        let shown = PAGE.render(&long, Amount::Beginning);
        for part in [
            "write '/output/a\\u{202e}.md'",
            "zonekeep.yaml:4",
            "append: false",
            "| -old",
            "1 more lines: v shows them",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        let whole = PAGE.render(&request(), Amount::All);
        assert!(whole.contains("+new\\u{1b}[2J"), "{whole}");
        assert!(!whole.contains('\x1b') && !whole.contains('\u{202e}'));
    }

    #[test]
    fn a_long_question_ends_with_what_is_asked() {
        let head = "The agent wants to write '/output/a\\u{202e}.md'";
        let mut long = Request { worker: None, ..request() };
        let shown = PAGE.render(&long, Amount::Beginning);
        assert_eq!(shown.matches(head).count(), 1, "{shown}");
        long.diff = Some("+  y  yes\n".repeat(MAX_DIFF_LINES));
        long.partial = true;
        long.details.push(("executable".into(), "true".into()));
        for amount in [Amount::Beginning, Amount::All] {
            let shown = PAGE.render(&long, amount);
            let last: Vec<&str> = shown.lines().rev().take(4).collect();
            let want = [head, "executable: true", "only part of what would change is shown"];
            assert_eq!(last[..3].iter().map(|line| line.trim()).collect::<Vec<_>>(), want);
            assert_eq!(last[3], "  n  no");
        }
        assert!(written(&long).0.trim_end().ends_with(head), "{}", written(&long).0);
        for (line, want) in [
            ("true\n".repeat(30), "run the command of 180 characters above, in '/repo'"),
            ("true".to_owned(), "run in '/repo': true"),
        ] {
            let mut asked = command(&line);
            let parts = &mut asked.command.as_mut().unwrap().parts;
            *parts = vec![parts[1].clone(); 10];
            let shown = PAGE.render(&asked, Amount::Beginning);
            assert!(shown.trim_end().ends_with(want), "{shown}");
        }
    }

    #[test]
    fn a_long_line_cannot_run_on_into_a_line_of_ours() {
        let mut request = request();
        request.path = format!("/output/a{}  y  yes", " ".repeat(200));
        request.diff = Some(format!("+{}  y  yes", " ".repeat(300)));
        let shown = PAGE.render(&request, Amount::Beginning);
        let widest = |page: Page| {
            let shown = page.render(&request, Amount::Beginning);
            shown.lines().map(|line| line.chars().count()).max().unwrap_or_default()
        };
        assert!(widest(PAGE) <= FOLD + MARGIN, "{shown}");
        assert!(widest(Page::wide(80)) <= 80, "{shown}");
        assert!(shown.lines().filter(|line| line.contains("y  yes,")).count() == 1, "{shown}");
        assert!(shown.contains('↪'), "{shown}");
    }

    #[test]
    fn tabs_cannot_carry_a_line_over_the_margin() {
        let mut request = request();
        let tabs = "\t".repeat(10);
        request.diff = Some(format!("+#{tabs}.zonekeep: nothing changes\n+\tx = 1\t# one\n"));
        for columns in [0, 40, 80] {
            let page = Page::wide(columns);
            let shown = page.render(&request, Amount::Beginning);
            assert!(!shown.contains('\t'), "{shown}");
            let mut diff = shown.lines().filter(|line| line.starts_with("  | "));
            assert!(diff.all(|line| line.chars().count() <= page.fold + MARGIN), "{shown}");
            assert!(shown.contains("  | +       x = 1   # one\n"), "{shown}");
        }
    }

    #[test]
    fn in_a_list_one_question_cannot_look_like_two() {
        let fill = |text: &str| format!("{text}{}", " ".repeat(78 - text.len()));
        let disguised = ["/out/a.md", "  project: /home/me", "aaaaaaaaaaaaaaaa-9  write /out/b"];
        let path = disguised.map(fill).concat();
        let file = Request { path: format!("{path}\tx"), id: "0a-1".into(), ..request() };
        let line = Request { id: "0a-2".into(), ..command(&format!("{path}\naaaa-9  run")) };
        for (request, columns) in [(&file, 80), (&file, 40), (&line, 80), (&line, 0)] {
            let list = listed(request, "/projects/app", columns);
            let (id, rest) = list.split_once('\n').unwrap();
            assert_eq!(id, request.id);
            assert!(rest.lines().all(|line| line.starts_with("  ")), "{list}");
            let widest = rest.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= Page::wide(columns).fold + MARGIN, "{list}");
            let last = rest.lines().filter(|line| line.starts_with("  project: "));
            assert_eq!(last.collect::<Vec<_>>(), ["  project: '/projects/app'"], "{list}");
        }
        let list = listed(&file, "/projects/app", 0);
        assert!(list.starts_with("0a-1\n  The agent wants to write '/out/a.md   "), "{list}");
        assert!(list.contains("\n  asked because: zones.output.approval.write: ask "), "{list}");
    }

    #[test]
    fn a_command_is_shown_with_all_that_matters() {
        let shown = PAGE.render(&command("git status && git push; rm x"), Amount::Beginning);
        let want = "
  The agent wants to run
  | git status && git push; rm x
  in '/repo'
  in the background, where it goes on by itself
  tool: shell
  needs consent: 'git push'
    because: it sends
    by the rule: zonekeep.yaml:9 git push *: ask
  needs consent: 'rm x'
    because: no rule says anything about it
  network: example.org
  y  yes, this once
  s  yes, and do not ask about this exact command again in this session
  p  yes, and do not ask in this session about commands that begin with: git push
  n  no
";
        assert_eq!(shown, want);
        let mut plain = command("ls");
        let asked = plain.command.as_mut().unwrap();
        (asked.network, asked.pattern, asked.background) = (None, None, false);
        let shown = PAGE.render(&plain, Amount::Beginning);
        assert!(shown.contains("network: none\n"), "{shown}");
        assert!(!shown.contains("  p  ") && !shown.contains("background"), "{shown}");
    }

    #[test]
    fn a_pattern_is_shown_before_it_is_accepted() {
        let request = command("git push");
        let cases = [
            ("y\n", Answer::yes()),
            ("s\n", Answer::yes_for_session()),
            ("p\ny\n", Answer::yes_for_pattern("git push")),
            ("p\nn\ny\n", Answer::yes()),
            ("p\n\nn\n\n", Answer::no()),
            ("p\n", Answer::no()),
            ("p\nn\np\nn\np\nn\ny\n", Answer::no()),
            ("n\nask me later\n", Answer::no_because("ask me later")),
        ];
        for (typed, want) in cases {
            let (answer, shown) = answer_to(&request, typed);
            assert_eq!(answer, want, "{typed:?}");
            let asked = shown.contains("commands that begin with: git push\n  run without");
            assert_eq!(asked, typed.starts_with('p'), "{shown}");
        }
        let mut without = request;
        without.command.as_mut().unwrap().pattern = None;
        let (next, shown) = answer_to(&without, "p\ny\n");
        assert_eq!(next, Answer::yes(), "the y is the next answer");
        assert!(shown.contains("please answer y, s or n"), "{shown}");
        // Neither is one offered for a file.
        assert_eq!(answer("p\nn\n\n"), Answer::no());
    }

    #[test]
    fn a_command_cannot_disguise_itself() {
        let line = format!(
            "echo a\u{202e}b\u{200b}\tc\r\x1b[2J\n  y  yes, this once\n{} rm -rf /repo",
            " ".repeat(300)
        );
        let mut request = command(&line);
        let asked = request.command.as_mut().unwrap();
        asked.pattern = Some("git\npush\u{202e}".into());
        asked.parts[1].text = format!("x\n  y  yes{}", "y".repeat(500));
        asked.cwd = "/re\npo".into();
        for columns in [0, 40, 80, 1] {
            let page = Page::wide(columns);
            let shown = page.render(&request, Amount::Beginning);
            assert!(!shown.contains(['\x1b', '\r', '\t', '\u{202e}', '\u{200b}']), "{shown}");
            for part in ["\\u{202e}", "\\t", "\\u{d}", "rm -rf /repo"] {
                assert!(shown.replace("\n  | ↪ ", "").contains(part), "{part} in {shown}");
            }
            let ours = shown.lines().filter(|line| line.starts_with("  y  ")).count();
            assert_eq!(ours, 1, "{shown}");
            let widest = shown
                .lines()
                .filter(|line| !line.starts_with("  s  ") && !line.starts_with("  in the back"))
                .map(|line| line.chars().count());
            assert!(widest.max() <= Some(page.fold + MARGIN), "{columns}: {shown}");
        }
        let wide = Page { fold: 20 };
        let mut text = String::new();
        wide.fold(&mut text, "", &"漢".repeat(25));
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[test]
    fn of_a_very_long_command_the_rest_is_shown_on_request() {
        let mut request = command(&"Q".repeat(100_000));
        let asked = request.command.as_mut().unwrap();
        asked.parts = vec![asked.parts[1].clone(); 50];
        let shown = PAGE.render(&request, Amount::Beginning);
        assert!(shown.contains("800 more lines: v shows them"), "{shown}");
        assert!(shown.contains("30 more parts that need consent: v shows them"), "{shown}");
        let (_, all) = answer_to(&request, "v\ny\n");
        assert_eq!(all.matches('Q').count(), 100_000);
        assert_eq!(all.matches("needs consent").count(), 50);
    }
}
