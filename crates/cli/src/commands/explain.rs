//! `zonekeep explain`: why an action would be allowed or not.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use zonekeep::Sandbox;
use zonekeep::approve::visible;
use zonekeep::explain::connect::explain_connect;
use zonekeep::explain::line::explain_line;
use zonekeep::explain::run::explain_run;
use zonekeep::explain::{Explanation, explain};
use zonekeep::policy::Verb;
use zonekeep::policy::organisation::Organisation;
use zonekeep::policy::tighten::Withheld;
use zonekeep_worker::{Registry, explain_worker};

use super::run::ConfineArgs;
use super::work::registry_failure;
use crate::failure::{Failure, UNSAFE, USAGE, answer_in_json};
use crate::output;

/// Say whether an action would be allowed, by which rule, and what would change that
///
/// Nothing is done and nothing is recorded.
///
/// Examples:
///   zonekeep explain read /input/a.txt
///   zonekeep explain write /input/a.txt --json
///   zonekeep explain run 'git log | head' # what the rules say about an agent's line
///   zonekeep explain connect example.org:443 # whether commands reach a host
///   zonekeep explain worker publisher --from main # what a call would end in
///   zonekeep explain run --rw . -- cargo test # what the command would see and reach
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// What would be done
    #[arg(value_enum)]
    verb: Explained,
    /// The path, as an agent would write it; after `explain run` the command line, after
    /// `explain worker` the worker, after `explain connect` the host
    #[arg(required_unless_present = "command", value_name = "PATH|LINE|WORKER|HOST[:PORT]")]
    path: Option<String>,
    /// Where the command line would start, as an agent would write it
    #[arg(long, value_name = "PATH")]
    cwd: Option<String>,
    /// The worker that would call it, after `explain worker`; the project itself if left out
    #[arg(long, value_name = "CALLER")]
    from: Option<String>,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
    /// After `explain run -- COMMAND`, list every directory, variable and backend
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    confine: ConfineArgs,
    /// The command whose plan is shown, after `explain run`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(clap::ValueEnum, Clone, Copy)]
enum Explained {
    Read,
    Write,
    Delete,
    Run,
    Worker,
    Connect,
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    args.confine.prepare()?;
    let usage = |text: &str| Err(Failure::message(USAGE, text));
    if args.from.is_some() && !matches!(args.verb, Explained::Worker) {
        return usage("--from is for `explain worker`");
    }
    if args.cwd.is_some() && !matches!(args.verb, Explained::Run) {
        return usage("--cwd is for `explain run`");
    }
    let verb = match args.verb {
        Explained::Worker => return worker(&args),
        Explained::Connect => return connect(&args),
        Explained::Run => {
            return match (&args.path, args.command.is_empty()) {
                (Some(line), true) => explain_text(&args, line),
                (None, false) if args.cwd.is_none() => {
                    plan(&args.confine, &args.command, shown(args.json, args.all))
                }
                (None, false) => {
                    usage("--cwd is for a command line, not for a command behind two dashes")
                }
                _ => usage(
                    "write a command line as one word, or a command behind two dashes: zonekeep explain run 'LINE', or zonekeep explain run -- COMMAND",
                ),
            };
        }
        Explained::Read => Verb::Read,
        Explained::Write => Verb::Write,
        Explained::Delete => Verb::Delete,
    };
    let Some(path) = args.path.filter(|_| args.command.is_empty()) else {
        return Err(Failure::message(USAGE, "a command can only be explained with `explain run`"));
    };
    let sandbox = args.confine.open()?;
    let explanation = explain(&sandbox, verb, &path);
    print(args.json, &explanation, &show(&explanation), &Bounds::of(&sandbox))
}

/// Prints whether commands reach a host.
fn connect(args: &Args) -> Result<ExitCode, Failure> {
    let Some(host) = args.path.as_deref().filter(|_| args.command.is_empty()) else {
        return Err(Failure::message(USAGE, "no host is named"));
    };
    let sandbox = args.confine.open()?;
    let explained = explain_connect(&sandbox, host);
    print(args.json, &explained, &show(&explained), &Bounds::of(&sandbox))
}

/// Prints what a call of a worker would end in.
fn worker(args: &Args) -> Result<ExitCode, Failure> {
    let Some(name) = args.path.as_deref().filter(|_| args.command.is_empty()) else {
        return Err(Failure::message(USAGE, "no worker is named"));
    };
    let project = args.confine.project().load()?;
    let registry = Registry::find(&project).map_err(registry_failure)?;
    let explained = explain_worker(&registry, &project.policy, name, args.from.as_deref())
        .map_err(registry_failure)?;
    let bounds = Bounds::new(&project.policy.organisations, &project.narrowed);
    print(args.json, &explained, &explained.to_string(), &bounds)
}

/// Prints what the rules say about a command line of an agent's.
fn explain_text(args: &Args, line: &str) -> Result<ExitCode, Failure> {
    let sandbox = args.confine.open()?;
    let explained = explain_line(&sandbox, line, args.cwd.as_deref());
    print(args.json, &explained, &explained.to_string(), &Bounds::of(&sandbox))
}

/// How much of a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Json,
    All,
    Short,
}

pub(super) fn shown(json: bool, all: bool) -> Shown {
    match (json, all) {
        (true, _) => Shown::Json,
        (false, true) => Shown::All,
        (false, false) => Shown::Short,
    }
}

/// Prints the plan of a command.
pub(super) fn plan(
    confine: &ConfineArgs,
    argv: &[OsString],
    shown: Shown,
) -> Result<ExitCode, Failure> {
    let sandbox = confine.open()?;
    let command = confine.command(&sandbox, argv)?;
    let explained = explain_run(&sandbox, &command).map_err(|error| Failure::new(UNSAFE, error))?;
    let text = if shown == Shown::All { explained.to_string() } else { explained.short() };
    print(shown == Shown::Json, &explained, &text, &Bounds::of(&sandbox))
}

/// The organisation's file, where it is in force.
#[derive(Serialize)]
struct Bounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    organisation: Option<InForce>,
}

#[derive(Serialize)]
struct InForce {
    file: String,
    /// The keys that were looser.
    narrowed: Vec<String>,
}

impl Bounds {
    fn of(sandbox: &Sandbox) -> Self {
        Bounds::new(sandbox.organisations(), sandbox.narrowed())
    }

    fn new(organisations: &[Arc<Organisation>], narrowed: &[Withheld]) -> Self {
        let organisation = organisations.last().map(|held| InForce {
            file: held.file().to_owned(),
            narrowed: narrowed.iter().map(|one| one.key.clone()).collect(),
        });
        Bounds { organisation }
    }
}

/// Prints an explanation, and whether the organisation's file is in force.
fn print(
    json: bool,
    explained: &impl Serialize,
    text: &str,
    bounds: &Bounds,
) -> Result<ExitCode, Failure> {
    #[derive(Serialize)]
    struct Whole<'a, T> {
        #[serde(flatten)]
        explained: &'a T,
        #[serde(flatten)]
        bounds: &'a Bounds,
    }
    if json {
        match &bounds.organisation {
            Some(_) => output::json(&Whole { explained, bounds })?,
            None => output::json(explained)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    output::text(&visible(text))?;
    if let Some(InForce { file, narrowed }) = &bounds.organisation {
        let narrowed = match narrowed.is_empty() {
            true => "narrows nothing of this project".to_owned(),
            false => format!("narrows {}", narrowed.join(", ")),
        };
        output::text(&visible(&format!("  organisation: {file} is in force and {narrowed}")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(explanation: &Explanation) -> String {
    let Explanation { action, path, verdict, code, .. } = explanation;
    let word = match verdict.as_str() {
        "allow" => "allowed",
        "ask" => "asked about",
        _ => "denied",
    };
    let code = code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    let mut text = format!("{action} {path}: {word}{code}\n");
    for line in explanation.message.iter().flat_map(|message| message.lines()) {
        text.push_str(&format!("  | {line}\n"));
    }
    let rule = &explanation.rule;
    let place = match (&rule.file, rule.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => "not in a file".to_owned(),
    };
    text.push_str(&format!("  rule:    {} ({place})\n", rule.says));
    match &explanation.mount {
        Some(mount) => text
            .push_str(&format!("  mount:   {} ({}) from {}\n", mount.path, mount.mode, mount.host)),
        None if action == "connect" => {}
        None => text.push_str("  mount:   none\n"),
    }
    match &explanation.change {
        Some(change) if change.edits.is_empty() => {
            text.push_str(&format!("  change:  {}\n", change.text))
        }
        Some(change) => {
            for edit in &change.edits {
                let place = match (&edit.file, edit.line) {
                    (Some(file), Some(line)) => format!("  (at {file}:{line})"),
                    _ => String::new(),
                };
                text.push_str(&format!("  change:  {}: {}{place}\n", edit.key, edit.value));
                text.push_str(&format!("  opens:   {}\n", edit.opens));
            }
            let flags: Vec<&str> = change.edits.iter().map(|edit| edit.flag.as_str()).collect();
            text.push_str(&format!(
                "  to try:  zonekeep explain {action} {} {}\n",
                quoted(path),
                flags.join(" ")
            ));
        }
        None if verdict != "allow" => {
            text.push_str("  change:  no change of the project file would allow this\n")
        }
        None => {}
    }
    text
}

/// Writes a word so that a shell reads it as one.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
