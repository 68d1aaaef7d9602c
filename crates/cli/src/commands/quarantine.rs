//! `zonekeep quarantine`: guarded files that commands made, and that were moved
//! away.

use std::fmt::Write as _;
use std::io::{IsTerminal, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use zonekeep::Project;
use zonekeep::approve::visible;
use zonekeep::confine::quarantine::{self, Entry, Incomplete, Kind, Present, RestoreError};
use zonekeep::policy::config::Overrides;

use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, answer_in_json};
use crate::output;
use crate::project_args::{here, state};

/// The files that make a directory a project.
const PROJECT_FILES: [&str; 2] = ["zonekeep.yaml", "golem-forge.config.yaml"];
/// The most that is shown of one file.
const SHOWN: u64 = 16 * 1024;

/// Show guarded files that commands made, and put them back or remove them
///
/// A command cannot leave files behind that other programs would run or trust,
/// such as git hooks: they are moved here. Look at one before you restore it. Entries of
/// the current project, or of the current directory, are listed; --everywhere lists all.
///
/// Examples:
///   zonekeep quarantine
///   zonekeep quarantine show 6733a1c0-2f-0
///   zonekeep quarantine restore 6733a1c0-2f-0 6733a1c0-2f-1
///   zonekeep quarantine drop --all
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Option<Task>,
    /// Include entries of other projects
    #[arg(long, global = true)]
    everywhere: bool,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Task {
    /// List what was caught, the oldest first
    List,
    /// Show what is in entries
    Show {
        /// The entries, as the list has them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Put entries back to where they were
    Restore {
        /// The entries, as the list has them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Replace the file that is there, such as the old version of a held change
        #[arg(long)]
        replace: bool,
        /// Also put back an entry of which only a part was kept
        #[arg(long)]
        incomplete: bool,
    },
    /// Remove entries for good
    Drop {
        /// The entries, as the list has them
        #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
        ids: Vec<String>,
        /// Remove all entries that the list has
        #[arg(long)]
        all: bool,
        /// Do not ask
        #[arg(long, requires = "all")]
        yes: bool,
    },
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let dir = state()?.path().join("quarantine");
    let of = if args.everywhere { None } else { Some(Scope::here()?) };
    match args.task {
        None | Some(Task::List) => list(&dir, of.as_ref(), args.json)?,
        Some(Task::Show { ids }) => show(&dir, &ids, args.json)?,
        Some(Task::Restore { ids, incomplete, replace }) => {
            let incomplete = if incomplete { Incomplete::Restore } else { Incomplete::Refuse };
            let present = if replace { Present::Replace } else { Present::Keep };
            restore_all(&dir, &ids, incomplete, present, args.json)?
        }
        Some(Task::Drop { ids, .. }) if !ids.is_empty() => {
            let found = ids.iter().map(|id| Ok(find(&dir, id)?.id));
            let mut ids = found.collect::<Result<Vec<String>, Failure>>()?;
            ids.sort();
            ids.dedup();
            drop_entries(&dir, ids, args.json)?
        }
        Some(Task::Drop { yes, .. }) => {
            let ids: Vec<String> =
                entries(&dir, of.as_ref()).into_iter().map(|entry| entry.id).collect();
            if !yes && !ids.is_empty() {
                confirm(ids.len())?;
            }
            drop_entries(&dir, ids, args.json)?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The project whose entries are meant.
struct Scope {
    /// Its top directory; without a project, the current one.
    top: PathBuf,
    /// The real paths of its zones, which may lie elsewhere.
    zones: Vec<PathBuf>,
}

impl Scope {
    fn here() -> Result<Self, Failure> {
        let here = here()?;
        let here = here.canonicalize().unwrap_or(here);
        let is_project = |dir: &&Path| PROJECT_FILES.iter().any(|name| dir.join(name).is_file());
        let top = here.ancestors().find(is_project).unwrap_or(&here).to_owned();
        // A file that cannot be read hides no entry below its directory.
        let project = Project::at(&top, &Overrides::default()).ok();
        let zones = project.into_iter().flat_map(|project| project.policy.zones);
        let zones = zones.filter_map(|zone| zone.path.value.canonicalize().ok()).collect();
        Ok(Scope { top, zones })
    }

    /// Returns whether an entry lay below the project, in a zone around it or in one of its.
    fn has(&self, entry: &Entry) -> bool {
        let zone = entry.host_zone();
        zone.starts_with(&self.top) || self.top.starts_with(&zone) || self.zones.contains(&zone)
    }
}

fn entries(dir: &Path, of: Option<&Scope>) -> Vec<Entry> {
    let belongs = |entry: &Entry| of.is_none_or(|scope| scope.has(entry));
    quarantine::list(dir).into_iter().filter(belongs).collect()
}

/// Asks whether so many entries are to be removed.
fn confirm(count: usize) -> Result<(), Failure> {
    let plural = if count == 1 { "entry" } else { "entries" };
    if !std::io::stdin().is_terminal() {
        let words = format!("{count} {plural} would be removed for good");
        return Err(Failure::message(USAGE, words).hint("add --yes where nobody can be asked"));
    }
    std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("Remove {count} {plural} for good? [y/N] "),
    )?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::message(NEGATIVE, "nothing was removed".to_owned())),
    }
}

fn list(dir: &Path, of: Option<&Scope>, json: bool) -> Result<(), Failure> {
    let entries = entries(dir, of);
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
    let others = quarantine::list(dir).len() - entries.len();
    if others > 0 {
        let plural = if others == 1 { "entry" } else { "entries" };
        tell!("{others} {plural} of other projects: zonekeep quarantine --everywhere");
    } else if entries.is_empty() {
        tell!("the quarantine is empty");
    }
    Ok(())
}

/// Shows entries. One alone is an object in JSON, several are a list.
fn show(dir: &Path, ids: &[String], json: bool) -> Result<(), Failure> {
    let entries = ids.iter().map(|id| find(dir, id)).collect::<Result<Vec<Entry>, Failure>>()?;
    match (&entries[..], json) {
        ([entry], true) => output::json(entry),
        (entries, true) => output::json(&entries),
        (entries, false) => {
            let texts = entries.iter().map(|entry| in_words(dir, entry));
            let texts = texts.collect::<Result<Vec<String>, Failure>>()?;
            output::text(&visible(&texts.join("\n")))
        }
    }
}

fn in_words(dir: &Path, entry: &Entry) -> Result<String, Failure> {
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
            show_content(&mut text, dir, entry, item)?;
        }
    }
    Ok(text)
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

/// Puts entries back one after the other, up to the first that cannot be. One alone is an
/// object in JSON, several are a list.
fn restore_all(
    dir: &Path,
    ids: &[String],
    incomplete: Incomplete,
    present: Present,
    json: bool,
) -> Result<(), Failure> {
    if let [_, _, ..] = ids {
        ids.iter().try_for_each(|id| find(dir, id).map(|_| ()))?;
    }
    let mut restored: Vec<(&String, PathBuf)> = Vec::new();
    for id in ids {
        let path = match restore(dir, id, incomplete, present) {
            Ok(path) => path,
            Err(failure) => {
                for (id, path) in &restored {
                    tell!("restored {id}: {}", one_line(path));
                }
                return Err(failure);
            }
        };
        restored.push((id, path));
    }
    let value = |(id, path): &(&String, PathBuf)| serde_json::json!({ "id": id, "path": path.display().to_string() });
    let line = |(_, path): &(&String, PathBuf)| format!("restored {}", one_line(path));
    match (&restored[..], json) {
        ([one], true) => output::json(&value(one)),
        (all, true) => output::json(&all.iter().map(value).collect::<Vec<_>>()),
        (all, false) => output::text(&all.iter().map(line).collect::<Vec<_>>().join("\n")),
    }
}

fn restore(
    dir: &Path,
    id: &str,
    incomplete: Incomplete,
    present: Present,
) -> Result<PathBuf, Failure> {
    quarantine::restore_over(dir, id, incomplete, present).map_err(|error| {
        let hint = match &error {
            RestoreError::NoEntry { .. } => "`zonekeep quarantine` lists the entries",
            RestoreError::Occupied { .. } => {
                "nothing was changed; --replace puts it in the place of the file that is there"
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
    })
}

fn drop_entries(dir: &Path, ids: Vec<String>, json: bool) -> Result<(), Failure> {
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
