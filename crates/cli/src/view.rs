//! What happens in a run, for the person at the terminal.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use zonekeep::Stop;
use zonekeep::approve::{Answer, Approver, Opening, Request, Unfit, visible};
use zonekeep_worker::event::{Event, Watcher, What};
use zonekeep_worker::{Ended, Report};

use crate::failure::hint_for;
use crate::output;

/// How often the line that moves is drawn.
const TICK: Duration = Duration::from_millis(120);
/// How much of a call, and of an answer to it, is shown.
const MAX_SHOWN: usize = 100;
const SIGNS: [char; 4] = ['|', '/', '-', '\\'];

/// Shows what happens: lines for people, or a JSON object for each event.
#[derive(Clone)]
pub(crate) struct View(Arc<Shared>);

struct Shared {
    as_json: bool,
    stop: Stop,
    begun: Instant,
    over: AtomicBool,
    screen: Mutex<Screen>,
}

#[derive(Default)]
struct Screen {
    /// What each run waits for, the newest last.
    waits: Vec<(u64, String)>,
    /// What was said and may be an answer.
    said: BTreeMap<u64, String>,
    /// What each call was.
    calls: BTreeMap<(u64, String), String>,
    is_drawn: bool,
    /// How many questions there are, so that nothing may be drawn.
    asking: usize,
    /// Lines that came meanwhile.
    held: Vec<String>,
    tick: usize,
}

impl View {
    /// Returns a view on standard error, or JSON on standard output.
    pub(crate) fn new(as_json: bool, stop: &Stop) -> Self {
        let moves = !as_json && io::stderr().is_terminal();
        let shared = Shared {
            as_json,
            stop: stop.clone(),
            begun: Instant::now(),
            over: AtomicBool::new(false),
            screen: Mutex::default(),
        };
        let view = View(Arc::new(shared));
        if moves {
            let drawn = view.clone();
            std::thread::spawn(move || {
                while !drawn.0.over.load(Ordering::Relaxed) {
                    std::thread::sleep(TICK);
                    drawn.draw();
                }
            });
        }
        view
    }

    /// Prints a line of JSON. Where nobody reads any more, nothing more is done.
    fn print(&self, value: &impl serde::Serialize) {
        let line = output::escaped(&serde_json::to_string(value).unwrap_or_default());
        let mut out = io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            self.0.stop.say();
        }
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.0.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        let mut screen = self.screen();
        if screen.asking > 0 || self.0.over.load(Ordering::Relaxed) {
            return;
        }
        let Some((_, wait)) = screen.waits.last().cloned() else { return };
        screen.tick += 1;
        let sign = SIGNS[screen.tick % SIGNS.len()];
        let seconds = self.0.begun.elapsed().as_secs();
        let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| size.ws_col);
        let line = format!("{sign} {}:{:02} {wait}", seconds / 60, seconds % 60);
        let line: String = line.chars().take(usize::from(columns.max(20)) - 1).collect();
        put(&format!("\r\x1b[K{line}"));
        screen.is_drawn = true;
    }

    fn line(&self, screen: &mut Screen, line: String) {
        if screen.asking > 0 {
            return screen.held.push(line);
        }
        if std::mem::take(&mut screen.is_drawn) {
            put("\r\x1b[K");
        }
        put(&format!("{line}\n"));
    }

    /// Ends what moves.
    pub(crate) fn end(&self) {
        self.0.over.store(true, Ordering::Relaxed);
        let mut screen = self.screen();
        if std::mem::take(&mut screen.is_drawn) {
            put("\r\x1b[K");
        }
    }

    /// Shows what all came to.
    pub(crate) fn report(&self, session: &str, report: &Report) {
        if self.0.as_json {
            let mut value = serde_json::to_value(report).unwrap_or_default();
            value["event"] = "report".into();
            value["session"] = session.into();
            return self.print(&value);
        }
        let mut screen = self.screen();
        for line in report_lines(session, report) {
            self.line(&mut screen, line);
        }
    }

    /// Returns an approver whose questions have the screen for themselves.
    pub(crate) fn asking<A: Approver>(&self, approver: A) -> Asking<A> {
        Asking { view: self.clone(), approver }
    }

    fn show(&self, event: &Event<'_>) {
        let mut screen = self.screen();
        let (run, indent) = (event.run, "  ".repeat(event.depth));
        let worker = one_line(event.worker);
        match &event.what {
            What::Started { model, attachments, resumes, .. } => {
                let mut line = format!("{indent}{worker} ({})", one_line(model));
                if !attachments.is_empty() {
                    line.push_str(&format!(", with {}", one_line(&attachments.join(", "))));
                }
                if let Some(session) = resumes {
                    line.push_str(&format!(", going on from {session}"));
                }
                screen.waits.push((run, format!("{worker} thinks")));
                self.line(&mut screen, line);
            }
            What::Turn { .. } => wait_for(&mut screen, run, format!("{worker} thinks")),
            What::Text { .. } => {}
            What::Said { text, .. } => {
                screen.said.insert(run, (*text).to_owned());
            }
            What::Retrying { wait_ms, why, .. } => {
                let seconds = *wait_ms as f64 / 1000.0;
                let line = format!("{indent}  asking again in {seconds:.1} s: {}", one_line(why));
                self.line(&mut screen, line);
            }
            What::Call { id, tool, arguments } => {
                if let Some(said) = screen.said.remove(&run).filter(|said| !said.trim().is_empty())
                {
                    self.line(&mut screen, format!("{indent}  \"{}\"", one_line(&said)));
                }
                let call = format!("{} {}", one_line(tool), one_line(&about(arguments)));
                let call = call.trim_end().to_owned();
                wait_for(&mut screen, run, call.clone());
                screen.calls.insert((run, (*id).to_owned()), call);
            }
            What::Result { id, tool, text, refused_by, code, detail, remedy, .. } => {
                let call = screen.calls.remove(&(run, (*id).to_owned()));
                let call = call.unwrap_or_else(|| one_line(tool));
                let first = one_line(text.lines().next().unwrap_or_default());
                let line = match (refused_by, code) {
                    (Some(layer), Some("held")) => {
                        let why = one_line(held_by(text).unwrap_or(&first));
                        format!(
                            "{indent}  held     {call}\n{indent}           {}: {why}",
                            layer.as_str()
                        )
                    }
                    (Some(layer), _) => format!(
                        "{indent}  refused  {call}\n{indent}           {}: {first}",
                        layer.as_str()
                    ),
                    (None, Some(code)) if let Some(status) = code.strip_prefix("exit_") => {
                        format!(
                            "{indent}  ended    {call}\n{indent}           exit status {status}"
                        )
                    }
                    (None, Some(_)) => {
                        format!("{indent}  failed   {call}\n{indent}           {first}")
                    }
                    (None, None) => format!("{indent}  ok       {call}"),
                };
                self.line(&mut screen, line);
                for line in detail.iter().flat_map(|detail| detail.lines()) {
                    self.line(&mut screen, format!("{indent}           {}", visible(line)));
                }
                if let Some(remedy) = remedy {
                    self.line(
                        &mut screen,
                        format!("{indent}           hint: {}", hint_for(*remedy)),
                    );
                }
            }
            What::Tainted { by } => {
                let line = format!("{indent}  tainted  by {}", one_line(by));
                self.line(&mut screen, line);
            }
            What::Ended { ended, output, .. } => {
                screen.waits.retain(|(waiting, _)| *waiting != run);
                screen.said.remove(&run);
                // What the first worker has to say is said at the end.
                if *ended != Ended::Answer && event.depth > 0 {
                    let line = format!("{indent}{worker} has no answer: {}", one_line(output));
                    self.line(&mut screen, line);
                }
            }
            _ => {}
        }
    }
}

/// Writes to standard error, as long as somebody reads there.
fn put(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn wait_for(screen: &mut Screen, run: u64, what: String) {
    if let Some((_, wait)) = screen.waits.iter_mut().find(|(waiting, _)| *waiting == run) {
        *wait = what;
    }
}

impl Watcher for View {
    fn see(&self, event: &Event<'_>) {
        match self.0.as_json {
            // Parts of a text come again as a whole.
            true if matches!(event.what, What::Text { .. }) => {}
            true => {
                let _screen = self.screen();
                self.print(event);
            }
            false => self.show(event),
        }
    }
}

/// An approver whose questions have the screen for themselves.
pub(crate) struct Asking<A> {
    view: View,
    approver: A,
}

impl<A: Approver> Approver for Asking<A> {
    fn ask(&self, request: &Request) -> Answer {
        {
            let mut screen = self.view.screen();
            if std::mem::take(&mut screen.is_drawn) {
                put("\r\x1b[K");
            }
            screen.asking += 1;
        }
        let answer = self.approver.ask(request);
        let mut screen = self.view.screen();
        screen.asking -= 1;
        // Others may still be asked: nothing may be written below their question.
        if screen.asking == 0 {
            for line in std::mem::take(&mut screen.held) {
                put(&format!("{line}\n"));
            }
        }
        answer
    }

    fn name(&self) -> &str {
        self.approver.name()
    }

    fn considers(&self) -> bool {
        self.approver.considers()
    }

    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        self.approver.begin(opening)
    }
}

/// Returns what a call is about, from its arguments.
fn about(arguments: &Value) -> String {
    for key in ["command", "worker", "path", "source", "pattern"] {
        if let Some(text) = arguments[key].as_str() {
            let to = arguments["destination"].as_str();
            let to = to.map(|to| format!(" to {to}")).unwrap_or_default();
            return format!("{text}{to}");
        }
    }
    if let Some(job) = arguments["job"].as_u64() {
        return format!("job {job}");
    }
    match arguments {
        Value::Object(map) => map.values().find_map(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Returns what held a command back: what it said last, or else the last note.
fn held_by(text: &str) -> Option<&str> {
    let note = text.lines().rev().find_map(|line| line.strip_prefix("Note: "));
    let taken = note.filter(|note| note.contains("guarded file"));
    let said = text.split_once("[stderr]\n").and_then(|(_, rest)| {
        let said = rest.lines().take_while(|line| !line.starts_with("[exit status"));
        said.filter(|line| !line.trim().is_empty()).last()
    });
    taken.or(said).or(note)
}

/// Writes a text on one line, without anything that a terminal would act on.
fn one_line(text: &str) -> String {
    short(&visible(text))
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn report_lines(session: &str, report: &Report) -> Vec<String> {
    let refused: u64 = report.refused.values().sum();
    let by: Vec<String> = report.refused.iter().map(|(who, n)| format!("{who} {n}")).collect();
    let refused = match refused {
        0 => "none refused".to_owned(),
        n => format!("{n} refused or held back: {}", by.join(", ")),
    };
    let bytes = match (report.commands, report.commands_with_network) {
        (0, _) => "no commands: 0 bytes out".to_owned(),
        (n, 0) => format!("{}, none with a network: 0 bytes out", count(n, "command")),
        (n, with) => format!("{}, {with} with a network", count(n, "command")),
    };
    let currency = one_line(report.currency.as_deref().unwrap_or_default());
    let cost = report.cost.map(|cost| format!(", cost {cost:.4} {currency}"));
    let cost = cost.unwrap_or_default();
    let rest = (report.duration_ms - report.model_ms - report.tools_ms).max(0.0);
    vec![
        String::new(),
        format!("{}, {refused}", count(report.calls, "call")),
        bytes,
        format!("{} tokens read, {} written{cost}", report.usage.input, report.usage.output),
        format!(
            "{:.0} ms: models {:.0}, tools and commands {:.0}, everything else {rest:.0}",
            report.duration_ms, report.model_ms, report.tools_ms
        ),
        format!("session {session}: `zonekeep log --session {session}` shows every action"),
    ]
}
