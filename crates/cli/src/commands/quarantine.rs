//! `zonekeep quarantine`: guarded files that commands made, and that were moved
//! away.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use zonekeep::approve::visible;
use zonekeep::confine::quarantine::{self, Entry, Incomplete, Kind, RestoreError};

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, answer_in_json};
use crate::output;
use crate::project_args::state;

/// The most that is shown of one file.
const SHOWN: u64 = 16 * 1024;

/// Show guarded files that commands made, and put them back or remove them
///
/// A command cannot leave files behind that other programs would run or trust,
/// such as git hooks: they are moved here. Look at one before you restore it.
///
/// Examples:
///   zonekeep quarantine
///   zonekeep quarantine show 6733a1c0-2f-0
///   zonekeep quarantine restore 6733a1c0-2f-0
///   zonekeep quarantine drop --all
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Option<Task>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Task {
    /// List what was caught, the oldest first
    List,
    /// Show what is in an entry
    Show {
        /// The entry, as the list has it
        id: String,
    },
    /// Put an entry back to where it was; nothing is replaced
    Restore {
        /// The entry, as the list has it
        id: String,
        /// Also put back an entry of which only a part was kept
        #[arg(long)]
        incomplete: bool,
    },
    /// Remove an entry for good
    Drop {
        /// The entry, as the list has it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Remove all entries
        #[arg(long)]
        all: bool,
    },
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let dir = state()?.path().join("quarantine");
    match args.task {
        None | Some(Task::List) => list(&dir, args.json)?,
        Some(Task::Show { id }) => show(&dir, &id, args.json)?,
        Some(Task::Restore { id, incomplete }) => {
            let incomplete = if incomplete { Incomplete::Restore } else { Incomplete::Refuse };
            restore(&dir, &id, incomplete, args.json)?
        }
        Some(Task::Drop { id, .. }) => drop_entries(&dir, id, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(dir: &Path, json: bool) -> Result<(), Failure> {
    let entries = quarantine::list(dir);
    if json {
        return output::json(&entries);
    }
    for entry in &entries {
        let line = format!(
            "{}  {}  {:<9} {}  ({})",
            entry.id,
            time(entry.time),
            kind(entry.kind),
            entry.host_path().display(),
            entry.pattern
        );
        output::text(&visible(&line).replace('\n', "\\n"))?;
    }
    if entries.is_empty() {
        tell!("the quarantine is empty");
    }
    Ok(())
}

fn show(dir: &Path, id: &str, json: bool) -> Result<(), Failure> {
    let entry = find(dir, id)?;
    if json {
        return output::json(&entry);
    }
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", entry.id, kind(entry.kind));
    let _ = writeln!(text, "  was at:  {}", one_line(&entry.host_path()));
    let _ = writeln!(text, "  for the command: {}", entry.agent_path);
    let _ = writeln!(text, "  caught:  {}", time(entry.time));
    let _ = writeln!(text, "  guarded: {}", entry.pattern);
    if entry.left_out > 0 {
        let _ = writeln!(text, "  not kept: {} more", entry.left_out);
    }
    for item in &entry.items {
        let name = if item.path.is_empty() { "." } else { &item.path };
        let _ = write!(text, "\n{name}: {}, mode {:o}", kind(item.kind), item.mode & 0o7777);
        match &item.link {
            Some(link) => {
                let _ = writeln!(text, ", to {link}");
            }
            None => {
                let _ = writeln!(text, ", {} bytes", item.size);
            }
        }
        if item.kind == Kind::File && item.content.is_some() {
            show_content(&mut text, dir, &entry, item)?;
        }
    }
    output::text(&visible(&text))
}

/// Shows the beginning of a file, each line marked, so that none can pass for
/// a line of this program.
fn show_content(
    text: &mut String,
    dir: &Path,
    entry: &Entry,
    item: &quarantine::Item,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    quarantine::open(dir, &entry.id, item)?.take(SHOWN).read_to_end(&mut bytes)?;
    let is_cut = item.truncated || item.size > bytes.len() as u64;
    if bytes.contains(&0) {
        text.push_str("  (not text)\n");
        return Ok(());
    }
    for line in String::from_utf8_lossy(&bytes).lines() {
        let _ = writeln!(text, "  | {line}");
    }
    if is_cut {
        text.push_str("  (cut here)\n");
    }
    Ok(())
}

fn restore(dir: &Path, id: &str, incomplete: Incomplete, json: bool) -> Result<(), Failure> {
    let path = quarantine::restore(dir, id, incomplete).map_err(|error| {
        let hint = match &error {
            RestoreError::NoEntry { .. } => "`zonekeep quarantine` lists the entries",
            RestoreError::Occupied { .. } => {
                "nothing was changed; move what is there away, and restore again"
            }
            RestoreError::Incomplete { .. } => {
                "nothing was changed; --incomplete puts the part back, and keeps the entry"
            }
            RestoreError::NotKept { .. } => "`zonekeep quarantine drop` removes the entry",
            _ => "nothing else was changed; the entry is still there",
        };
        let status = match error {
            RestoreError::NoEntry { .. } => USAGE,
            _ => NEGATIVE,
        };
        Failure::new(status, error).hint(hint)
    })?;
    match json {
        true => output::json(&serde_json::json!({ "id": id, "path": path.display().to_string() })),
        false => output::text(&format!("restored {}", one_line(&path))),
    }
}

fn drop_entries(dir: &Path, id: Option<String>, json: bool) -> Result<(), Failure> {
    let ids = match id {
        Some(id) => vec![find(dir, &id)?.id],
        None => quarantine::list(dir).into_iter().map(|entry| entry.id).collect(),
    };
    for id in &ids {
        quarantine::drop(dir, id).map_err(|error| {
            Failure::message(UNSAFE, format!("'{id}' cannot be removed: {error}"))
        })?;
    }
    match json {
        true => output::json(&serde_json::json!({ "dropped": ids })),
        false => {
            let plural = if ids.len() == 1 { "entry" } else { "entries" };
            output::text(&format!("dropped {} {plural}", ids.len()))
        }
    }
}

fn find(dir: &Path, id: &str) -> Result<Entry, Failure> {
    quarantine::read(dir, id).map_err(|_| {
        Failure::message(USAGE, format!("there is no entry '{id}' in the quarantine"))
            .hint("`zonekeep quarantine` lists the entries")
    })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Link => "link",
        _ => "special",
    }
}

fn one_line(path: &Path) -> String {
    visible(&path.display().to_string()).replace('\n', "\\n")
}

/// Writes seconds since 1970 as a date and a time, in UTC.
fn time(seconds: u64) -> String {
    let text = zonekeep::time::utc(UNIX_EPOCH + Duration::from_secs(seconds));
    text.split('.').next().unwrap_or_default().to_owned()
}
