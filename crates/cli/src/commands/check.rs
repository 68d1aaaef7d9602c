//! `zonekeep check`: finds every problem in the project's files.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use zonekeep::approve::visible;
use zonekeep::confine::plan::Backend;
use zonekeep::confine::probe;
use zonekeep::confine::tree::Launcher;
use zonekeep::explain::connect::{look_up_presets, short_secrets, unusable_secrets};
use zonekeep::explain::run::HostLine;
use zonekeep::policy::call::Callees;
use zonekeep::policy::config::{Problem, Severity};
use zonekeep::policy::policy::ShellDefault;
use zonekeep::policy::tighten::Withheld;
use zonekeep::policy::worker_file::{self, WorkerFile};
use zonekeep::policy::{Approval, At, Ruled, Zone};
use zonekeep::trust::{Standing, TrustStore};
use zonekeep::{OpenError, Project, ProjectError, Session, StateDir, project};
use zonekeep_worker::model;
use zonekeep_worker::schema::OutputSchema;

use crate::failure::{Failure, NEGATIVE, answer_in_json};
use crate::output;
use crate::project_args::{ProjectArgs, here, state};
use crate::report;

/// Names that are easily taken for the project file's.
const MISNAMED: [&str; 4] =
    ["zonekeep.yml", ".zonekeep.yaml", ".zonekeep.yml", "golem-forge.config.yml"];

/// Find every problem in the project file and the worker files
///
/// Exit status 0 when there are none or only warnings, 1 when there are errors.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print the problems as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

/// What was found, with the texts of the files it was found in.
#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    texts: BTreeMap<String, String>,
    zones: usize,
    workers: usize,
    file: Option<String>,
    /// Where it is said that the sandbox is the boundary of commands.
    contained: Option<String>,
    /// Where package managers go.
    hosts: Vec<HostLine>,
    /// The organisation's file, if it is in force.
    organisation: Option<String>,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let mut found = Findings::default();
    match args.project.load() {
        Ok(project) => {
            inspect(&project, &mut found)?;
            warn_misnamed(&args.project, &project, &mut found)?;
        }
        Err(failure) => match failure.error.downcast::<ProjectError>() {
            Ok(ProjectError::Invalid { file, problems, text }) => {
                found.texts.insert(file.clone(), text);
                found.file = Some(file);
                found.problems = problems;
            }
            // What cannot be read as a project file is wrong in it as well.
            Ok(error @ (ProjectError::NotText { .. } | ProjectError::TooLarge { .. })) => {
                return Err(Failure { status: NEGATIVE, ..error.into() });
            }
            Ok(other) => return Err(other.into()),
            Err(error) => {
                return Err(Failure { error, ..failure_like(failure.status, failure.hint) });
            }
        },
    }
    let errors = found.problems.iter().filter(|p| p.severity == Severity::Error).count();
    if args.json {
        let problems: Vec<Value> =
            found.problems.iter().map(|p| problem_value(p, &found)).collect();
        let hosts = &found.hosts;
        let mut value = json!({ "ok": errors == 0, "problems": problems, "hosts": hosts });
        if let Some(file) = &found.organisation {
            value["organisation"] = json!(file);
        }
        output::json(&value)?;
    } else {
        report::problems(&found.problems, &|file| found.texts.get(file).cloned());
        let file = found.file.as_deref().unwrap_or("no project file (the defaults hold)");
        let warnings = found.problems.len() - errors;
        if errors == 0 {
            output::text(&format!(
                "{file}: ok, {} zone(s), {} worker(s), {warnings} warning(s)",
                found.zones, found.workers
            ))?;
            if let Some(at) = &found.contained {
                output::text(&visible(&format!(
                    "  commands: any line runs without a question where the sandbox is fully \
                     enforced and no effect would leave it (shell.default: contained, {at})"
                )))?;
            }
            if let Some(file) = &found.organisation {
                let count = found.problems.iter().filter(|p| p.code == "organisation").count();
                output::text(&visible(&format!(
                    "  organisation: {file} is in force; {count} value(s) of this project are \
                     looser, and its own hold in their place"
                )))?;
            }
            for HostLine { host, from } in &found.hosts {
                output::text(&visible(&format!("  host: {host} ({from})")))?;
            }
        } else {
            output::text(&format!("{file}: {errors} error(s), {warnings} warning(s)"))?;
        }
    }
    Ok(ExitCode::from(if errors == 0 { 0 } else { NEGATIVE }))
}

fn failure_like(status: u8, hint: Option<String>) -> Failure {
    Failure { hint, ..Failure::message(status, "") }
}

fn problem_value(problem: &Problem, found: &Findings) -> Value {
    let text = found.texts.get(problem.file.as_ref()).map(String::as_str).unwrap_or_default();
    json!({
        "severity": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "code": problem.code,
        "message": problem.message,
        "file": problem.file.as_ref(),
        "line": problem.line,
        "column": problem.column,
        "source": report::line_of(problem, text),
        "hint": problem.hint,
    })
}

/// Warns about files that look like the project file and are passed over, where the
/// search found no project file beside them: their rules do not hold.
fn warn_misnamed(
    args: &ProjectArgs,
    project: &Project,
    found: &mut Findings,
) -> Result<(), Failure> {
    let start = match &args.project {
        Some(_) => project.dir.clone(),
        None => here()?.canonicalize()?,
    };
    let searched = start.ancestors().take_while(|dir| match (&project.file, &args.project) {
        (Some(_), _) => *dir != project.dir,
        (None, Some(_)) => *dir == project.dir,
        (None, None) => true,
    });
    for file in searched.flat_map(|dir| MISNAMED.map(|name| dir.join(name))) {
        if file.symlink_metadata().is_err() {
            continue;
        }
        let shown = file.strip_prefix(&start).unwrap_or(&file).display().to_string();
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "not_read",
            message: format!("{shown} is not read; the name is {}", project::FILE_NAMES[0]),
            hint: Some("rename it, and its rules hold".to_owned()),
            ..at_problem(&At::Default, found)
        });
    }
    Ok(())
}

/// Looks at the zones' directories and the worker files of a valid project.
fn inspect(project: &Project, found: &mut Findings) -> Result<(), Failure> {
    found.problems.clone_from(&project.warnings);
    found.zones = project.policy.zones.len();
    let default = project.policy.shell.default.as_ref();
    let contained = default.filter(|default| default.value == ShellDefault::Contained);
    found.contained = contained.map(|default| default.at.to_string());
    let shown = project.file.as_deref().and_then(Path::file_name);
    let shown = shown.map(|name| name.to_string_lossy().into_owned());
    if let Some(file) = &shown {
        found.texts.insert(file.clone(), project.text.clone());
    }
    found.file = shown;
    if let Some(organisation) = project.policy.organisations.last() {
        found.organisation = Some(organisation.file().to_owned());
        for Withheld { key, at } in &project.narrowed {
            found.problems.push(Problem {
                severity: Severity::Warning,
                code: "organisation",
                message: format!(
                    "{key} is looser than {} allows",
                    organisation.line(&project.policy, key)
                ),
                hint: Some("your organisation's rule holds in its place".to_owned()),
                ..at_problem(at, found)
            });
        }
    }
    let state = state()?;
    match Session::reach(project, &state) {
        Ok(reach) => {
            let standing = TrustStore::new(&state).standing(project, &reach);
            if !reach.is_empty() && standing != Standing::Trusted {
                let list = || reach.iter().map(|r| format!("{} ({})", r.what, r.at));
                let message = match standing {
                    Standing::Changed(changes) => format!(
                        "the file has changed since you trusted it, and may open more:{changes}"
                    ),
                    _ => format!(
                        "the project reaches outside its own directory: {}",
                        list().collect::<Vec<_>>().join("; ")
                    ),
                };
                found.problems.push(Problem {
                    severity: Severity::Warning,
                    code: "untrusted",
                    message,
                    hint: Some("run `zonekeep trust` before it is used".to_owned()),
                    ..at_problem(&At::Default, found)
                });
            }
        }
        Err(OpenError::Ground { errors }) => {
            for error in errors {
                let problem = Problem {
                    severity: Severity::Error,
                    code: "directory",
                    message: error.to_string(),
                    hint: Some(error.hint()),
                    ..at_problem(&error.at(), found)
                };
                found.problems.push(problem);
            }
        }
        Err(error) => return Err(error.into()),
    }
    warn_other_directories(project, found);
    warn_hard_links(project, &state, found);
    warn_deletions(project, found);
    for (at, message) in unusable_secrets(project) {
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "secret",
            message,
            hint: Some("set it where zonekeep is started; commands go without it".to_owned()),
            ..at_problem(&at, found)
        });
    }
    for (at, message) in short_secrets(project) {
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "secret",
            message,
            hint: Some("use a longer value".to_owned()),
            ..at_problem(&at, found)
        });
    }
    let presets = look_up_presets(project, &state);
    found.hosts = presets.hosts;
    for message in presets.warnings {
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "preset",
            message,
            hint: Some("add the host to sandbox.network.allow if commands need it".to_owned()),
            ..at_problem(&project.policy.network.at, found)
        });
    }
    if let Some(model) = &project.policy.model {
        found.problems.extend(unknown_model(&model.value, &model.at, found));
    }
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut called: Vec<Ruled<String>> = Vec::new();
    let mut all_read = true;
    for path in project::worker_files(&project.dir)? {
        let file = path.strip_prefix(&project.dir).unwrap_or(&path).to_string_lossy().into_owned();
        let inside = path.canonicalize().is_ok_and(|real| real.starts_with(&project.dir));
        let read = match inside {
            true => project::read_text(&path).map_err(|error| error.to_string()),
            false => Err(format!("{file} leads out of the project")),
        };
        let text = match read {
            Ok(text) => text,
            Err(message) => {
                found.problems.push(Problem {
                    severity: Severity::Error,
                    code: "unreadable",
                    message,
                    hint: Some("a worker file is UTF-8 text that belongs to you or to root".into()),
                    ..at_problem(&At::flag(file), found)
                });
                all_read = false;
                continue;
            }
        };
        let parsed = worker_file::parse(&text, &file);
        found.problems.extend(parsed.problems);
        found.texts.insert(file.clone(), text);
        found.workers += 1;
        if let Some(worker) = parsed.worker {
            found.problems.extend(worker_file::check(&worker, &project.policy));
            found.problems.extend(how_it_runs(&worker, found));
            if let Callees::Named(workers) = &worker.calls {
                called.extend(workers.iter().cloned());
            }
            if let Some(other) = names.insert(worker.name.clone(), file.clone()) {
                found.problems.push(Problem {
                    severity: Severity::Error,
                    code: "duplicate_worker",
                    message: format!("the worker name '{}' is taken by {other}", worker.name),
                    file: file.into(),
                    line: 1,
                    column: 1,
                    width: 1,
                    hint: Some("give each worker a name of its own".to_owned()),
                });
            }
        } else {
            all_read = false;
        }
    }
    // What cannot be read may be the worker that is meant.
    for worker in called.iter().filter(|worker| all_read && !names.contains_key(&worker.value)) {
        let known: Vec<&str> = names.keys().map(String::as_str).collect();
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "unknown_worker",
            message: format!("there is no worker '{}'", worker.value),
            hint: Some(format!("this project has {}", known.join(", "))),
            width: u32::try_from(worker.value.chars().count()).unwrap_or(1),
            ..at_problem(&worker.at, found)
        });
    }
    Ok(())
}

/// Warns about zones below the sandbox root that are empty, where the project has a directory
/// with files at the path that the file names: `sandbox.mode` was probably forgotten.
fn warn_other_directories(project: &Project, found: &mut Findings) {
    let policy = &project.policy;
    if policy.layout.is_written() {
        return;
    }
    let has_files =
        |dir: &Path| std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    for zone in policy.zones.iter().filter(|zone| zone.create && zone.path.is_written()) {
        let dir = &zone.path.value;
        let Ok(below) = dir.strip_prefix(&policy.root.value) else { continue };
        if has_files(dir) || !has_files(&project.dir.join(below)) {
            continue;
        }
        let (own, meant) = (dir.strip_prefix(&project.dir).unwrap_or(dir), below.display());
        let message = format!(
            "the zone '{}' is the empty directory {}, not ./{meant} of the project",
            zone.name,
            own.display()
        );
        let hint = format!(
            "write `mode: direct` below `sandbox:` if ./{meant} is meant, else `mode: sandboxed`"
        );
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "other_directory",
            message: visible(&message).to_string(),
            hint: Some(visible(&hint).to_string()),
            ..at_problem(&zone.path.at, found)
        });
    }
}

/// Warns about files in writable zones that have other names outside.
fn warn_hard_links(project: &Project, state: &StateDir, found: &mut Findings) {
    // Where zones cannot be opened, that is said already.
    let Ok(links) = Session::hard_links(project, state) else { return };
    let shared = links.shared();
    if shared.count > 0 {
        let message = format!(
            "{} file(s) in writable zones have other names outside (hard links) and are read-only \
             for commands: {}",
            shared.count,
            shared.list()
        );
        let hint = "copy them, or list patterns in sandbox.allow_hard_links to let commands \
                    write them";
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "hard_links",
            message: visible(&message).to_string(),
            hint: Some(hint.to_owned()),
            ..at_problem(&At::Default, found)
        });
    }
}

/// Warns about zones that block deletion where this machine cannot hold commands to it.
fn warn_deletions(project: &Project, found: &mut Findings) {
    let keeps =
        |zone: &&Zone| zone.commands_write() && zone.approval.delete.value == Approval::Blocked;
    let mut zones = project.policy.zones.iter().filter(keeps).peekable();
    let Some(launcher) = zones.peek().and_then(|_| Launcher::find()) else { return };
    if probe::probe(Backend::Landlock, &launcher).available {
        return;
    }
    for zone in zones {
        found.problems.push(Problem {
            severity: Severity::Warning,
            code: "deletion",
            message: format!(
                "the zone '{}' blocks deletion, but commands can delete there: this machine has \
                 no Landlock",
                zone.name
            ),
            hint: Some("write mode: ro, or block write, which commands are held to".to_owned()),
            ..at_problem(&zone.approval.delete.at, found)
        });
    }
}

/// Returns what would keep a worker from running that its file alone shows.
fn how_it_runs(worker: &WorkerFile, found: &Findings) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(model) = &worker.model {
        problems.extend(unknown_model(model, &worker.at, found));
    }
    let schema = worker.run.output_schema.as_ref();
    if let Some(Err(why)) = schema.map(|schema| OutputSchema::compile(&schema.value)) {
        problems.push(Problem {
            code: "bad_schema",
            message: format!("output_schema cannot be used: {why}"),
            hint: Some("write a JSON Schema".to_owned()),
            ..at_problem(schema.map_or(&worker.at, |schema| &schema.at), found)
        });
    }
    problems
}

fn unknown_model(name: &str, at: &At, found: &Findings) -> Option<Problem> {
    let error = model::check_name(name).err()?;
    Some(Problem {
        code: "unknown_model",
        message: error.to_string(),
        hint: Some(
            "models are anthropic:NAME, openai:NAME, gemini:NAME, ollama:NAME and scripted:FILE"
                .to_owned(),
        ),
        ..at_problem(at, found)
    })
}

/// Returns a problem at a place, to be filled in.
fn at_problem(at: &At, found: &Findings) -> Problem {
    let (file, line, column) = match at {
        At::File { file, line, column } => (file.clone(), *line, *column),
        At::Flag(text) => (text.clone(), 0, 0),
        At::Default => (found.file.clone().unwrap_or_default().into(), 0, 0),
    };
    Problem {
        severity: Severity::Error,
        code: "",
        message: String::new(),
        file,
        line,
        column,
        width: 1,
        hint: None,
    }
}
