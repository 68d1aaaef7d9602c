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
}

impl Edit {
    fn set(path: &[&str], value: Value) -> Self {
        Edit { path: path.iter().map(ToString::to_string).collect(), to: To::Value(value) }
    }

    fn add(path: &[&str], items: &[&str]) -> Self {
        let items = items.iter().map(ToString::to_string).collect();
        Edit { path: path.iter().map(ToString::to_string).collect(), to: To::With(items) }
    }

    /// Returns what stands there afterwards.
    fn result(&self, before: &Value) -> Result<Value, String> {
        let items = match &self.to {
            To::Value(value) => return Ok(value.clone()),
            To::With(items) => items,
        };
        let mut list = match before {
            Value::Null => Vec::new(),
            Value::Array(list) => list.clone(),
            _ => return Err(format!("'{}' in it is not a list", self.path.join("."))),
        };
        for item in items.iter().map(|item| Value::from(item.as_str())) {
            if !list.contains(&item) {
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
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if args.name.is_empty() || args.name.len() > 64 || !args.name.chars().all(plain) {
        return Err(Failure::message(USAGE, format!("--name cannot be '{}'", args.name))
            .hint("write letters, digits, '-' and '_'"));
    }
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

/// Returns what is to be done, a file each.
fn changes(args: &Args, client: &Client, dir: &Path) -> Result<Vec<Change>, Failure> {
    let title = client.title;
    let place = match (args.user, client.project, client.user) {
        (false, Some(place), _) => place,
        // Without files of a project there is only one place.
        (true, _, Some(place)) | (false, None, Some(place)) => place,
        _ => return Err(Failure::message(USAGE, format!("{title} has no settings of that kind"))),
    };
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
        match changes.iter_mut().find(|change| change.path == path) {
            Some(change) => change.edits.extend(edits),
            None => changes.push(Change { place, path, edits }),
        }
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

/// Shows what is to be done, asks, and does it.
fn install(
    args: &Args,
    client: &Client,
    dir: &Path,
    changes: &[Change],
) -> Result<ExitCode, Failure> {
    let mut todo = Vec::new();
    for change in changes {
        let settings = Settings::read(&change.path)?;
        let applied = match client.format {
            Format::Json => edit_json::apply(&settings.text, &change.edits),
            Format::Toml => edit_toml::apply(&settings.text, &change.edits),
        };
        let text = match applied {
            Ok(text) => text,
            Err(why) => {
                output::text(&visible(&snippet(client, change)?))?;
                let shown = change.path.display();
                return Err(Failure::message(UNSAFE, format!("{shown} is left as it is: {why}"))
                    .hint("put the lines above into it by hand"));
            }
        };
        if text != settings.text {
            show(&settings, &text)?;
            todo.push((change, settings, text));
        }
    }
    if todo.is_empty() {
        output::text(&format!("{} is set up already; nothing was changed.", client.title))?;
        return Ok(ExitCode::SUCCESS);
    }
    let leads_out = |(change, settings, _): &&(&Change, Settings, String)| {
        change.place.is_in_project() && !settings.real.starts_with(dir)
    };
    if let Some((_, settings, _)) = todo.iter().find(leads_out).filter(|_| args.yes) {
        let text = format!("a link in the project leads to {}", settings.real.display());
        return Err(Failure::message(UNSAFE, text)
            .hint("nothing was written; run it without --yes in a terminal, to be asked"));
    }
    if !args.yes && !ask(client, changes)? {
        return Err(Failure::message(NEGATIVE, "nothing was written"));
    }
    for (change, settings, text) in &todo {
        let usual = if change.place.is_in_project() { 0o666 } else { 0o600 };
        let backup = settings.replace(text, usual)?;
        output::text(&visible(&format!("wrote {}", settings.real.display())))?;
        if let Some(backup) = backup {
            output::text(&visible(&format!("kept the old one as {}", backup.display())))?;
        }
    }
    next(args, client, dir)
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
            output::text(&visible(&snippet(client, change)?))?;
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
