//! A model whose replies are in a file, so that everything runs without one.
//!
//! The file is YAML: for each worker a list of turns, or a list of lists with
//! words that the run's input must have.
//!
//! ```yaml
//! main:
//!   - say: I look at the inbox.
//!     call: { list_files: { path: /inbox } }
//!   - expect: a.txt
//!     call: { call_worker: { worker: analyst, input: a.txt } }
//!   - say: "The analyst says: {{answer}}"
//! analyst:
//!   - when: a.txt
//!     turns:
//!       - say: fine
//!   - turns:
//!       - say: I do not know it.
//! ```
//!
//! Which turn it is follows from how often the model has spoken, so a
//! conversation can be taken up again at any time.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use zonekeep::Stop;
use zonekeep::policy::config::yaml_value;
use zonekeep::project::read_text;

use super::open::Settings;
use super::{Call, CallResult, Delta, Message, Model, ModelError, Reply, Request, Usage};

/// As much of what was there as an error shows.
const MAX_SHOWN: usize = 500;

/// A model whose replies are in a file.
#[derive(Debug)]
pub(super) struct Scripted {
    name: String,
    file: String,
    workers: BTreeMap<String, Vec<Script>>,
}

/// The turns of a worker, for inputs with certain words.
#[derive(Debug)]
struct Script {
    when: Option<String>,
    turns: Vec<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    expect: Vec<String>,
    say: String,
    calls: Vec<(String, Value)>,
    usage: Option<Usage>,
    delay: Duration,
}

impl Scripted {
    pub(super) fn open(spec: &str, file: &str, settings: &Settings) -> Result<Self, ModelError> {
        let failed = |why: String| ModelError::Script { file: file.to_owned(), why };
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(file).components().all(inside) {
            return Err(failed("the file has to be in the project directory".to_owned()));
        }
        let path = settings.project_dir.join(file);
        // A link counts for where it leads.
        if let (Ok(real), Ok(dir)) = (path.canonicalize(), settings.project_dir.canonicalize())
            && !real.starts_with(dir)
        {
            return Err(failed("the file has to be in the project directory".to_owned()));
        }
        let text = read_text(&path);
        let text = text.map_err(|error| failed(error.to_string()))?;
        let value = yaml_value(&text, file).map_err(|problems| {
            let problem = problems.into_iter().next();
            let why = problem.map(|problem| format!("line {}: {}", problem.line, problem.message));
            failed(why.unwrap_or_default())
        })?;
        let workers = Reader { text: &text }.file(&value).map_err(failed)?;
        Ok(Scripted { name: spec.to_owned(), file: file.to_owned(), workers })
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn respond(
        &self,
        request: &Request<'_>,
        tell: &mut dyn FnMut(Delta<'_>),
        stop: &Stop,
    ) -> Result<Reply, ModelError> {
        let failed = |why: String| ModelError::Script { file: self.file.clone(), why };
        let heard = Heard::of(request.messages);
        let (number, turn) = self.turn(request.worker, &heard).map_err(failed)?;
        let place = format!("{}, turn {number}", request.worker);
        for words in &turn.expect {
            if !heard.texts().any(|text| text.contains(words.as_str())) {
                let there = heard.shown();
                return Err(failed(format!("{place}: expected '{words}', and there is {there}")));
            }
        }
        self.wait(turn.delay, request.deadline, stop)?;
        let fill = |text: &str| heard.fill(text).map_err(|why| failed(format!("{place}: {why}")));
        let text = fill(&turn.say)?;
        let mut calls = Vec::new();
        for ((name, arguments), n) in turn.calls.iter().zip(1..) {
            let arguments = fill_all(arguments, &fill)?;
            let malformed = (!arguments.is_object()).then(|| "it is not a JSON object".to_owned());
            let arguments = if malformed.is_some() { Value::Null } else { arguments };
            let id = format!("call-{number}-{n}");
            calls.push(Call { id, name: name.clone(), arguments, malformed });
        }
        if !text.is_empty() {
            tell(Delta::Text(&text));
        }
        for call in &calls {
            tell(Delta::Call(&call.name));
        }
        let usage = turn.usage.unwrap_or_else(|| count(request, &text, &calls));
        Ok(Reply { text, calls, usage, ..Reply::default() })
    }
}

impl Scripted {
    /// Returns the turn that is next, with its number from 1.
    fn turn(&self, worker: &str, heard: &Heard<'_>) -> Result<(usize, &Turn), String> {
        let Some(scripts) = self.workers.get(worker) else {
            let known = self.workers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(format!("there are no turns for the worker '{worker}' (only for {known})"));
        };
        let fits = |script: &&Script| {
            script.when.as_ref().is_none_or(|words| heard.input.contains(words.as_str()))
        };
        let Some(script) = scripts.iter().find(fits) else {
            return Err(format!("{worker}: no 'when' is in the input: {}", shown(heard.input)));
        };
        let number = heard.spoken + 1;
        let turn = script.turns.get(heard.spoken).ok_or_else(|| {
            format!("{worker}: there are {} turns, and this is turn {number}", script.turns.len())
        })?;
        Ok((number, turn))
    }

    fn wait(
        &self,
        time: Duration,
        deadline: Option<Instant>,
        stop: &Stop,
    ) -> Result<(), ModelError> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if stop.is_said() || stop.wait(left.map_or(time, |left| left.min(time))) {
            return Err(ModelError::Stopped);
        }
        match left {
            Some(left) if left <= time => Err(ModelError::TimedOut { name: self.name.clone() }),
            _ => Ok(()),
        }
    }
}

/// What the model was told so far.
struct Heard<'a> {
    /// The first words.
    input: &'a str,
    /// How often the model has spoken.
    spoken: usize,
    /// What was said to it since then.
    since: &'a [Message],
    results: Vec<&'a CallResult>,
}

impl<'a> Heard<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let input = messages.iter().find_map(|message| match message {
            Message::User { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let is_model = |message: &Message| matches!(message, Message::Model { .. });
        let since = messages.iter().rposition(is_model).map_or(0, |last| last + 1);
        let since = &messages[since..];
        let results = since.iter().flat_map(|message| match message {
            Message::Results { results } => results.as_slice(),
            _ => &[],
        });
        Heard {
            input: input.unwrap_or_default(),
            spoken: messages.iter().filter(|message| is_model(message)).count(),
            since,
            results: results.collect(),
        }
    }

    /// Returns all that was said to it since it spoke.
    fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.since.iter().flat_map(|message| match message {
            Message::User { text, .. } => vec![text.as_str()],
            Message::Results { results } => results.iter().map(|one| one.text.as_str()).collect(),
            Message::Model { .. } => Vec::new(),
        })
    }

    fn shown(&self) -> String {
        let texts: Vec<_> = self.texts().collect();
        if texts.is_empty() { "nothing".to_owned() } else { shown(&texts.join("\n")) }
    }

    /// Replaces `{{input}}`, `{{result}}`, `{{result 2}}` and `{{answer}}`; what
    /// was put in is not looked at again.
    fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let (name, next) = after.split_once("}}").unwrap_or((after, ""));
            let name = name.trim();
            match name.strip_prefix("result").map(|number| number.trim().parse::<usize>()) {
                _ if name == "input" => filled.push_str(self.input),
                _ if name == "answer" => filled.push_str(self.result(1)?.trim()),
                _ if name == "result" => filled.push_str(self.result(1)?),
                Some(Ok(number)) => filled.push_str(self.result(number)?),
                // Something else, which is left as it is.
                _ => {
                    filled.push_str("{{");
                    rest = after;
                    continue;
                }
            }
            rest = next;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn result(&self, number: usize) -> Result<&'a str, String> {
        let result = number.checked_sub(1).and_then(|index| self.results.get(index));
        let have = self.results.len();
        let missing = || format!("there is no result {number}: the turn before has {have}");
        result.map(|result| result.text.as_str()).ok_or_else(missing)
    }
}

/// Replaces in all texts of a value.
fn fill_all(
    value: &Value,
    fill: &impl Fn(&str) -> Result<String, ModelError>,
) -> Result<Value, ModelError> {
    Ok(match value {
        Value::String(text) => Value::String(fill(text)?),
        Value::Array(items) => {
            items.iter().map(|item| fill_all(item, fill)).collect::<Result<_, _>>()?
        }
        Value::Object(entries) => {
            let filled =
                entries.iter().map(|(key, value)| Ok((key.clone(), fill_all(value, fill)?)));
            Value::Object(filled.collect::<Result<Map<_, _>, ModelError>>()?)
        }
        other => other.clone(),
    })
}

/// Counts a token for each four characters.
fn count(request: &Request<'_>, text: &str, calls: &[Call]) -> Usage {
    let letters = |text: &str| text.chars().count();
    let called = |calls: &[Call]| -> usize {
        calls.iter().map(|call| letters(&call.name) + letters(&call.arguments.to_string())).sum()
    };
    let read = request.messages.iter().map(|message| match message {
        Message::User { text, files } => {
            letters(text) + files.iter().map(|file| file.bytes.len()).sum::<usize>()
        }
        Message::Model { text, calls, .. } => letters(text) + called(calls),
        Message::Results { results } => results.iter().map(|result| letters(&result.text)).sum(),
    });
    let input = letters(request.system) + read.sum::<usize>();
    let output = letters(text) + called(calls);
    Usage { input: input.div_ceil(4) as u64, output: output.div_ceil(4) as u64, cached: 0 }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}

/// Makes turns of a file.
struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn file(&self, value: &Value) -> Result<BTreeMap<String, Vec<Script>>, String> {
        let workers = value.as_object().ok_or("it has to be a map from workers to turns")?;
        let scripts = |(worker, value): (&String, &Value)| {
            let scripts = self.scripts(value).map_err(|why| format!("{worker}: {why}"))?;
            Ok((worker.clone(), scripts))
        };
        workers.iter().map(scripts).collect()
    }

    fn scripts(&self, value: &Value) -> Result<Vec<Script>, String> {
        let items = value.as_array().ok_or("it has to be a list of turns")?;
        let is_script = |item: &Value| item.get("turns").is_some() || item.get("when").is_some();
        if !items.iter().any(is_script) {
            return Ok(vec![Script { when: None, turns: self.turns(items)? }]);
        }
        let script = |item: &Value| {
            self.keys(item, &["when", "turns"])?;
            let when = item.get("when").map(|words| text(words, "when")).transpose()?;
            let turns = item.get("turns").and_then(Value::as_array);
            Ok(Script { when, turns: self.turns(turns.ok_or("'turns' has to be a list")?)? })
        };
        items.iter().map(script).collect()
    }

    fn turns(&self, items: &[Value]) -> Result<Vec<Turn>, String> {
        let turn = |(item, number): (&Value, usize)| {
            self.turn(item).map_err(|why| format!("turn {number}: {why}"))
        };
        items.iter().zip(1..).map(turn).collect()
    }

    fn turn(&self, item: &Value) -> Result<Turn, String> {
        self.keys(item, &["expect", "say", "call", "calls", "usage", "delay"])?;
        let mut turn = Turn::default();
        match item.get("expect") {
            Some(Value::Array(all)) => {
                let all = all.iter().map(|words| text(words, "expect"));
                turn.expect = all.collect::<Result<_, _>>()?;
            }
            Some(one) => turn.expect.push(text(one, "expect")?),
            None => {}
        }
        if let Some(say) = item.get("say") {
            turn.say = text(say, "say")?;
        }
        if let Some(one) = item.get("call") {
            turn.calls.push(call(one)?);
        }
        if let Some(calls) = item.get("calls") {
            let calls = calls.as_array().ok_or("'calls' has to be a list")?;
            turn.calls.extend(calls.iter().map(call).collect::<Result<Vec<_>, _>>()?);
        }
        if turn.say.is_empty() && turn.calls.is_empty() {
            return Err("it says nothing and calls nothing".to_owned());
        }
        if let Some(usage) = item.get("usage") {
            self.keys(usage, &["input", "output"])?;
            let number = |key: &str| match usage.get(key) {
                None => Ok(0),
                Some(value) => value.as_u64().ok_or_else(|| format!("'{key}' has to be a number")),
            };
            let (input, output) = (number("input")?, number("output")?);
            turn.usage = Some(Usage { input, output, cached: 0 });
        }
        if let Some(delay) = item.get("delay") {
            let delay = time(&text(delay, "delay")?);
            turn.delay = delay.ok_or("'delay' has to be a time such as 200ms or 2s")?;
        }
        Ok(turn)
    }

    /// Refuses keys that mean nothing.
    fn keys(&self, value: &Value, known: &[&str]) -> Result<(), String> {
        let entries = value.as_object().ok_or("it has to be a map")?;
        match entries.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let line = self.line(key).map(|line| format!(" on line {line}"));
                let line = line.unwrap_or_default();
                Err(format!("the key '{key}'{line} is not known (there are {})", known.join(", ")))
            }
        }
    }

    /// Returns the first line that has this key.
    fn line(&self, key: &str) -> Option<usize> {
        let has = |line: &str| {
            line.match_indices(key).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
                before.is_none_or(|c| " {,'\"-\t".contains(c)) && after.starts_with(':')
            })
        };
        self.text.lines().position(has).map(|index| index + 1)
    }
}

/// Returns a scalar as text.
fn text(value: &Value, key: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(yes) => Ok(yes.to_string()),
        _ => Err(format!("'{key}' has to be text")),
    }
}

/// Returns a tool and its arguments.
fn call(value: &Value) -> Result<(String, Value), String> {
    let entries = value.as_object().filter(|entries| entries.len() == 1);
    let entry = entries.and_then(|entries| entries.iter().next());
    let (tool, arguments) = entry.ok_or("a call has to be a map with one tool in it")?;
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        arguments => arguments.clone(),
    };
    Ok((tool.clone(), arguments))
}

fn time(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let factor = match unit.trim() {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        _ => return None,
    };
    number.checked_mul(factor).map(Duration::from_millis)
}
