//! `zonekeep profile`: the agents that `run --profile` knows.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use zonekeep::ProjectError;
use zonekeep::approve::visible;
use zonekeep::policy::config::AgentProfile;
use zonekeep::project;

use crate::failure::{Failure, USAGE, answer_in_json};
use crate::output;

/// Show the agents that `zonekeep run --profile` runs inside as a whole
///
/// A profile says which hosts an agent needs, which variable holds its key, and which of its
/// settings are copied into the sandbox. A file of yours,
/// ~/.config/zonekeep/profiles/NAME.yaml, adds one or takes the place of one.
///
/// Examples:
///   zonekeep profile list
///   zonekeep profile show claude-code
///   zonekeep explain run --profile claude-code -- claude
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
    /// List the profiles
    List,
    /// Print a profile
    Show {
        /// The profile, as the list has it
        name: String,
    },
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    match args.task {
        None | Some(Task::List) => {
            let mut rows = Vec::new();
            for name in names() {
                let AgentProfile { about, program, secrets, .. } = read(&name)?.profile;
                let keys: Vec<String> = secrets.into_keys().collect();
                rows.push((name, about, program, keys));
            }
            if args.json {
                let row = |(name, about, program, keys)| json!({ "name": name, "about": about, "program": program, "keys": keys });
                output::json(&rows.into_iter().map(row).collect::<Vec<_>>())?;
                return Ok(ExitCode::SUCCESS);
            }
            for (name, about, program, keys) in rows {
                let line = format!("{name:12} {about:12} {program:9} {}", keys.join(", "));
                output::text(&visible(line.trim_end()))?;
            }
        }
        Some(Task::Show { name }) => {
            let read = read(&name)?;
            match args.json {
                true => {
                    output::json(&json!({ "name": name, "from": read.from, "text": read.text }))?
                }
                false => output::text(&visible(&format!("# {}\n{}", read.from, read.text)))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A profile, and the text that it was read from.
struct Read {
    profile: AgentProfile,
    from: String,
    text: String,
}

/// Returns a profile with the keys that the user has; says where there are none.
pub(super) fn usable(name: &str) -> Result<AgentProfile, Failure> {
    let mut profile = read(name)?.profile;
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let wanted: Vec<String> = profile.secrets.values().map(|secret| secret.env.clone()).collect();
    profile.secrets.retain(|_, secret| is_set(&secret.env));
    if profile.secrets.is_empty() && !wanted.is_empty() {
        let (names, program) = (wanted.join(", "), visible(&profile.program));
        tell!("zonekeep: {program} gets no key, because none of these variables is set: {names}");
    }
    Ok(profile)
}

/// Returns whether a command is the program of an agent.
pub(super) fn is_program(agent: &AgentProfile, argv: &[OsString]) -> bool {
    let name = argv.first().and_then(|program| Path::new(program).file_name());
    name == Some(OsStr::new(&agent.program))
}

fn read(name: &str) -> Result<Read, Failure> {
    let file = own_dir().map(|dir| dir.join(format!("{name}.yaml"))).filter(|_| is_name(name));
    let own = file.filter(|file| file.symlink_metadata().is_ok());
    let (text, from) = match (own, AgentProfile::built_in(name)) {
        (Some(file), _) => (project::read_text(&file)?, file.display().to_string()),
        (None, Some(text)) => (text.to_owned(), format!("the profile {name} of zonekeep")),
        (None, None) => {
            let names: Vec<String> = names().into_iter().collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let text = format!("there is no profile '{}'", visible(name));
            return Err(Failure::message(USAGE, text).hint(AgentProfile::hint(name, &names)));
        }
    };
    match AgentProfile::parse(name, &text, &from) {
        Ok(profile) => Ok(Read { profile, from, text }),
        Err(problems) => Err(ProjectError::Invalid { file: from, problems, text }.into()),
    }
}

/// Returns the names of all profiles, the user's own among them.
fn names() -> BTreeSet<String> {
    let own = own_dir().and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten();
    let own = own.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(name.strip_suffix(".yaml")?.to_owned()).filter(|name| is_name(name))
    });
    own.chain(AgentProfile::names().map(str::to_owned)).collect()
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

/// Returns where the user's own profiles are.
fn own_dir() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|dir| dir.is_absolute());
    let config = config.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    Some(config.join("zonekeep/profiles")).filter(|dir| dir.is_absolute())
}
