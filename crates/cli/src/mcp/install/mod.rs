//! `zonekeep mcp install`: writes the entry that makes a client start the server.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use serde_json::Value;
use similar::TextDiff;
use zonekeep::approve::visible;
use zonekeep::project;

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE};
use crate::output;
use crate::project_args::project_dir;

mod clients;
mod edit_json;
mod edit_toml;
mod file;
mod jsonc;
mod place;
pub(crate) mod uninstall;

use clients::{CLIENTS, Client, Deny, Format, Start};
use file::Settings;
use place::Place;

/// Set up a client to use the sandbox
///
/// Shows the file and the change, and asks before it writes. The old file is kept
/// beside the new one; what is there already is left as it is.
///
/// Examples:
///   zonekeep mcp install claude-code
///   zonekeep mcp install codex --user --yes
///   zonekeep mcp install gemini --deny-native
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The client
    #[arg(value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,
    /// Print what belongs in the file, and write nothing
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Write your own settings instead of the project's; the server is for this project
    #[arg(long)]
    user: bool,
    /// What the client calls the server
    #[arg(long, default_value = "zonekeep")]
    name: String,
    /// Give the agent what this worker file needs instead of the whole project
    #[arg(long, value_name = "FILE")]
    worker: Option<PathBuf>,
    /// Use the project in this directory instead of searching upward
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Switch the client's own shell, file and web tools off too, where it can
    #[arg(long)]
    deny_native: bool,
}

/// A change of one value.
#[derive(Debug, Clone)]
struct Edit {
    path: Vec<String>,
    to: To,
}

#[derive(Debug, Clone)]
enum To {
    /// This and nothing else.
    Value(Value),
    /// A list that has these too.
    With(Vec<String>),
    /// Nothing; where a value is given, only if it stands there.
    Gone(Option<Value>),
    /// A list without these.
    Without(Vec<String>),
}

impl Edit {
    fn set(path: &[&str], value: Value) -> Self {
        Edit { path: path.iter().map(ToString::to_string).collect(), to: To::Value(value) }
    }

    fn add(path: &[&str], items: &[&str]) -> Self {
        let items = items.iter().map(ToString::to_string).collect();
        Edit { path: path.iter().map(ToString::to_string).collect(), to: To::With(items) }
    }

    /// Returns the edit that takes this one back.
    fn undone(&self) -> Self {
        let to = match &self.to {
            To::Value(value) => To::Gone(Some(value.clone())),
            To::With(items) => To::Without(items.clone()),
            other => other.clone(),
        };
        Edit { path: self.path.clone(), to }
    }

    /// Returns whether it adds nothing.
    fn removes(&self) -> bool {
        matches!(self.to, To::Gone(_) | To::Without(_))
    }

    /// Returns whether there is nothing to take back in what stands there.
    fn is_idle(&self, before: Option<&Value>) -> bool {
        match (&self.to, before) {
            (To::Gone(Some(own)), Some(found)) => own != found,
            (To::Gone(_) | To::Without(_), None) => true,
            _ => false,
        }
    }

    /// Returns what stands there afterwards; null is nothing.
    fn result(&self, before: &Value) -> Result<Value, String> {
        let (items, adds) = match &self.to {
            To::Value(value) => return Ok(value.clone()),
            To::Gone(_) => return Ok(Value::Null),
            To::With(items) => (items, true),
            To::Without(items) => (items, false),
        };
        let mut list = match before {
            Value::Null => Vec::new(),
            Value::Array(list) => list.clone(),
            _ => return Err(format!("'{}' in it is not a list", self.path.join("."))),
        };
        for item in items.iter().map(|item| Value::from(item.as_str())) {
            if !adds {
                list.retain(|held| *held != item);
            } else if !list.contains(&item) {
                list.push(item);
            }
        }
        Ok(Value::Array(list))
    }
}

/// All that is to be done to one file.
struct Change {
    place: Place,
    path: PathBuf,
    edits: Vec<Edit>,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let Some(client) = clients::find(&args.client) else {
        return Err(Failure::message(USAGE, format!("'{}' is not a client", args.client)));
    };
    check_name(&args.name)?;
    let dir = project_dir(args.project.as_deref())?;
    let changes = changes(&args, client, &dir)?;
    if args.print {
        for change in &changes {
            tell!("# for {}", visible(&change.path.display().to_string()));
            output::text(&snippet(client, change)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    install(&args, client, &dir, &changes)
}

/// Checks what a client is to call the server.
fn check_name(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        true => Ok(()),
        false => Err(Failure::message(USAGE, format!("--name cannot be '{name}'"))
            .hint("write letters, digits, '-' and '_'")),
    }
}

/// Adds a change, to that of the same file where there is one.
fn join(changes: &mut Vec<Change>, more: Option<Change>) {
    let Some(more) = more else { return };
    match changes.iter_mut().find(|change| change.path == more.path) {
        Some(change) => change.edits.extend(more.edits),
        None => changes.push(more),
    }
}

/// Returns what is to be done, a file each.
fn changes(args: &Args, client: &Client, dir: &Path) -> Result<Vec<Change>, Failure> {
    let title = client.title;
    let place = client.place(args.user)?;
    let (command, arguments) = command_line(args, client, dir, place)?;
    let entry = client.shape.entry(&command, &arguments);
    let edits = vec![Edit::set(&[client.key, &args.name], entry)];
    let mut changes = vec![Change { place, path: place.path(dir)?, edits }];
    if args.deny_native {
        let (project, user, edits) = match &client.deny {
            Deny::By { project, user, edits, .. } => (project, user, edits),
            Deny::Cannot(why) => {
                let text = format!("--deny-native cannot be done for {title}: {why}");
                return Err(Failure::message(NEGATIVE, text)
                    .hint("nothing was written; without --deny-native the server is set up"));
            }
        };
        let place = project.filter(|_| !args.user).unwrap_or(*user);
        let (path, edits) = (place.path(dir)?, edits(&args.name));
        join(&mut changes, Some(Change { place, path, edits }));
    }
    Ok(changes)
}

/// Returns the program and the arguments that the client is to start.
fn command_line(
    args: &Args,
    client: &Client,
    dir: &Path,
    place: Place,
) -> Result<(String, Vec<String>), Failure> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::message(UNSAFE, format!("{} is not UTF-8 text", path.display()))
        })
    };
    let start = if place.is_in_project() { client.start } else { Start::Told };
    let mut arguments = vec!["mcp".to_owned()];
    match start {
        Start::Inside => {}
        Start::Word(word) => arguments.extend(["--project".to_owned(), word.to_owned()]),
        Start::Told => arguments.extend(["--project".to_owned(), text(dir)?]),
    }
    if let Some(worker) = &args.worker {
        let real = worker
            .canonicalize()
            .map_err(|error| Failure::message(UNSAFE, format!("{}: {error}", worker.display())))?;
        let worker = match (start, real.strip_prefix(dir)) {
            (Start::Inside, Ok(inside)) => text(inside)?,
            (Start::Word(word), Ok(inside)) => format!("{word}/{}", text(inside)?),
            _ => text(&real)?,
        };
        arguments.extend(["--worker".to_owned(), worker]);
    }
    let own = std::env::current_exe()?.canonicalize()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join("zonekeep"))
        .find(|file| file.is_file())
        .and_then(|file| file.canonicalize().ok());
    // A desktop program has not the PATH of a shell.
    let by_name = found.as_ref() == Some(&own) && client.name != "claude-desktop";
    Ok((if by_name { "zonekeep".to_owned() } else { text(&own)? }, arguments))
}

fn snippet(client: &Client, change: &Change) -> Result<String, Failure> {
    let text = match client.format {
        Format::Json => edit_json::snippet(&change.edits),
        Format::Toml => edit_toml::apply("", &change.edits),
    };
    text.map_err(|why| Failure::message(UNSAFE, why))
}

/// A change with the settings as they are, and the text that they become.
type Todo<'c> = (&'c Change, Settings, String);

/// Returns the changes that change something.
fn apply<'c>(client: &Client, changes: &'c [Change]) -> Result<Vec<Todo<'c>>, Failure> {
    let mut todo = Vec::new();
    for change in changes {
        let settings = Settings::read(&change.path)?;
        let applied = match client.format {
            _ if settings.text.is_empty() && change.edits.iter().all(Edit::removes) => continue,
            Format::Json => edit_json::apply(&settings.text, &change.edits),
            Format::Toml => edit_toml::apply(&settings.text, &change.edits),
        };
        let text = match applied {
            Ok(text) => text,
            Err(why) => {
                output::text(&visible(&by_hand(client, change)?))?;
                let shown = change.path.display();
                return Err(Failure::message(UNSAFE, format!("{shown} is left as it is: {why}"))
                    .hint("put the lines above into it by hand"));
            }
        };
        if text != settings.text {
            todo.push((change, settings, text));
        }
    }
    Ok(todo)
}

/// Shows what is to be done, asks, and does it.
fn install(
    args: &Args,
    client: &Client,
    dir: &Path,
    changes: &[Change],
) -> Result<ExitCode, Failure> {
    let todo = apply(client, changes)?;
    if todo.is_empty() {
        output::text(&format!("{} is set up already; nothing was changed.", client.title))?;
        return Ok(ExitCode::SUCCESS);
    }
    write(client, dir, changes, &todo, args.yes)?;
    next(args, client, dir)
}

/// Shows changes, asks, and writes them.
fn write(
    client: &Client,
    dir: &Path,
    changes: &[Change],
    todo: &[Todo<'_>],
    yes: bool,
) -> Result<(), Failure> {
    for (_, settings, text) in todo {
        show(settings, text)?;
    }
    let leads_out = |(change, settings, _): &&Todo<'_>| {
        change.place.is_in_project() && !settings.real.starts_with(dir)
    };
    if let Some((_, settings, _)) = todo.iter().find(leads_out).filter(|_| yes) {
        let text = format!("a link in the project leads to {}", settings.real.display());
        return Err(Failure::message(UNSAFE, text)
            .hint("nothing was written; run it without --yes in a terminal, to be asked"));
    }
    if !yes && !ask(client, changes)? {
        return Err(Failure::message(NEGATIVE, "nothing was written"));
    }
    for (change, settings, text) in todo {
        let usual = if change.place.is_in_project() { 0o666 } else { 0o600 };
        let backup = settings.replace(text, usual)?;
        output::text(&visible(&format!("wrote {}", settings.real.display())))?;
        if let Some(backup) = backup {
            output::text(&visible(&format!("kept the old one as {}", backup.display())))?;
        }
    }
    Ok(())
}

/// Returns what somebody has to write into a file, or to take out of it.
fn by_hand(client: &Client, change: &Change) -> Result<String, Failure> {
    if !change.edits.iter().all(Edit::removes) {
        return snippet(client, change);
    }
    let names = change.edits.iter().map(|edit| edit.path.join(".")).collect::<Vec<_>>();
    Ok(format!("take out: {}", names.join(", ")))
}

/// Shows the change of one file.
fn show(settings: &Settings, text: &str) -> Result<(), Failure> {
    let path = settings.path.display();
    let mut head = match settings.is_linked() {
        true => format!("{path}, which is {}\n", settings.real.display()),
        false => format!("{path}\n"),
    };
    let diff = TextDiff::from_lines(settings.text.as_str(), text);
    head.push_str(&diff.unified_diff().context_radius(3).to_string());
    output::text(&visible(&head))
}

fn ask(client: &Client, changes: &[Change]) -> Result<bool, Failure> {
    let Ok(mut tty) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        for change in changes {
            output::text(&visible(&format!("This belongs in {}:", change.path.display())))?;
            output::text(&visible(&by_hand(client, change)?))?;
        }
        return Err(Failure::message(
            UNSAFE,
            "nothing was written: there is no terminal to ask on",
        )
        .hint("add --yes if this is what you want, or put the lines into the file by hand"));
    };
    // What was typed before the question was shown is not an answer to it; what is
    // typed as soon as it is shown is one.
    let _ = rustix::termios::tcflush(&tty, rustix::termios::QueueSelector::IFlush);
    tty.write_all(b"Write it? [y/N] ")?;
    let mut line = String::new();
    BufReader::new(tty).read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Says what is left to do and to know.
fn next(args: &Args, client: &Client, dir: &Path) -> Result<ExitCode, Failure> {
    if let Deny::By { left, .. } = &client.deny
        && args.deny_native
    {
        output::text(&format!("left open: {left}"))?;
    }
    output::text(&format!("next: {}", client.then))?;
    if !project::FILE_NAMES.iter().any(|name| dir.join(name).is_file()) {
        output::text(&visible(&format!(
            "{} has no project file yet: `zonekeep init` writes one",
            dir.display()
        )))?;
    }
    Ok(ExitCode::SUCCESS)
}
