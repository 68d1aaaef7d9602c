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
/// Lines of the screen that a question takes beside the diff.
const AROUND: usize = 12;
/// The least lines of a diff that are shown, however low the terminal says it is.
const MIN_DIFF_LINES: usize = 8;
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
    let page = Page::PLAIN;
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
    /// How many lines of a diff or command are shown at first.
    lines: usize,
    /// Whether diffs are coloured.
    colour: bool,
}

impl Page {
    const PLAIN: Page = Page { fold: FOLD, lines: MAX_DIFF_LINES, colour: false };

    /// Returns the page for a terminal, so that a question fits on its screen.
    fn of(tty: &File) -> Self {
        let size = rustix::termios::tcgetwinsize(tty).ok();
        let (columns, rows) =
            size.map_or((0, 0), |size| (size.ws_col.into(), usize::from(size.ws_row)));
        let lines = match rows {
            0 => MAX_DIFF_LINES,
            rows => rows.saturating_sub(AROUND).clamp(MIN_DIFF_LINES, MAX_DIFF_LINES),
        };
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let colour = set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb");
        Page { lines, colour, ..Page::wide(columns) }
    }

    /// Returns the page for a terminal of so many columns; 0 if it does not say.
    fn wide(columns: usize) -> Self {
        match columns {
            0 => Page::PLAIN,
            columns => {
                Page { fold: columns.saturating_sub(MARGIN).clamp(MIN_FOLD, FOLD), ..Page::PLAIN }
            }
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
            let pattern = request.pattern().filter(|_| !request.last_call);
            match (line.trim().to_ascii_lowercase().as_str(), pattern) {
                ("y" | "yes", _) => return Ok(Answer::yes()),
                ("s" | "session", _) if !request.last_call => {
                    return Ok(Answer::yes_for_session());
                }
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
                _ if request.last_call => out.write_all(b"please answer y or n\n")?,
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
            // A yes for the session would be one for this call.
            _ if request.last_call => {}
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
            let most = amount.of(self.lines);
            for line in diff.lines().take(most) {
                self.diff_line(&mut text, &visible(line));
            }
            amount.more(&mut text, diff.lines().count().saturating_sub(most), "lines");
        }
        text
    }

    /// Writes a line of a diff out, in the colour of what happens to it.
    fn diff_line(self, text: &mut String, line: &str) {
        let colour = match line.chars().next().filter(|_| self.colour) {
            Some('+') => 32,
            Some('-') => 31,
            Some('@') => 36,
            _ => return self.fold(text, "  | ", line),
        };
        let mut folded = String::new();
        self.fold(&mut folded, "  | ", line);
        for line in folded.lines() {
            text.push_str(&format!("\x1b[{colour}m{line}\x1b[0m\n"));
        }
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
        let most = amount.of(self.lines);
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
        if !request.reasons.is_empty() {
            let reasons = one_line(&request.reasons.join("; "));
            self.fold(text, "  ", &format!("asked because: {reasons}"));
        }
    }

    /// Writes out which tool is called, why it is asked, and the arguments.
    fn about(self, text: &mut String, request: &Request) {
        if request.partial {
            text.push_str("  only part of what would change is shown\n");
        }
        let parts = request.command.iter().flat_map(|command| &command.parts);
        if request.command.is_none() {
            self.fold(text, "  ", &format!("tool: {}", one_line(&request.tool)));
        }
        // The parts of a command say it one by one.
        if parts.filter(|part| part.needs_consent()).count() == 0 {
            self.reasons(text, request);
        }
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
            let rule = part.rule.as_deref();
            let reason = match (part.why.join("; "), rule) {
                (why, None) => why,
                (why, Some(rule)) if why.is_empty() => rule.to_owned(),
                (why, Some(rule)) => format!("{why}; {rule}"),
            };
            let what = match parts.len() == 1 && part.text == command.line.trim() {
                true => "asked because".to_owned(),
                false => format!("needs consent: {}", quoted(&part.text)),
            };
            self.fold(text, "  ", &format!("{what}: {}", one_line(&reason)));
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
#[path = "terminal_tests.rs"]
mod tests;
