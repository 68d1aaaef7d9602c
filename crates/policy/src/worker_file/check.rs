//! A worker file held against a project, before anything runs.

use std::path::PathBuf;

use super::WorkerFile;
use crate::config::problem::{Mark, Problem, Problems};
use crate::config::{dirs, project, shell, suggest};
use crate::grant::ExceedsParent;
use crate::hosts;
use crate::needs::{ZoneNeed, ZoneNeeds};
use crate::policy::Policy;
use crate::source::At;
use crate::zone::{Approvals, Zone};

/// Holds what a worker asks for against what the project has.
pub fn check(worker: &WorkerFile, policy: &Policy) -> Vec<Problem> {
    let mut problems = Problems::default();
    let project: Vec<&str> = policy.zones.iter().map(|zone| zone.name.as_str()).collect();
    let held: Vec<&str> = match &worker.needs.zones {
        ZoneNeeds::None => Vec::new(),
        ZoneNeeds::All => project.clone(),
        ZoneNeeds::Named(needs) => {
            for need in needs {
                check_need(need, policy, &project, &mut problems);
            }
            needs.iter().map(|need| need.name.as_str()).collect()
        }
    };
    if let Some(dir) = &worker.needs.working_dir {
        let mark = Mark::of(&dir.at, dir.value.to_string().chars().count());
        project::check_in_zone(&dir.value, "working_dir", &mark, &held, &mut problems);
    }
    if let Some(network) = &worker.needs.network
        && let Err(error) = hosts::narrow(&policy.network.value, &network.value)
    {
        let what = match error {
            ExceedsParent::Host { host } => format!("the host '{host}'"),
            ExceedsParent::Preset { preset } => format!("the hosts of '{preset}'"),
            _ => "network access".to_owned(),
        };
        let message = format!("the worker asks for {what}, which the project does not give");
        let hint = format!("ask for less, or change sandbox.network ({})", policy.network.at);
        problems.error("exceeds_project", &Mark::of(&network.at, 1), message).hint(hint);
    }
    check_secrets(worker, policy, &mut problems);
    for rule in &worker.needs.shell.rules {
        for zone in rule.sandbox_paths.iter().filter(|zone| !held.contains(&zone.as_str())) {
            let message = format!(
                "the rule for '{}' names the zone '{zone}', which the worker does not ask for",
                rule.pattern
            );
            let hint = suggest::hint(zone, "zones", &held);
            problems.error("unknown_zone", &Mark::of(&rule.at, 1), message).hint(hint);
        }
    }
    // A worker file is for every machine, so it calls zones by their names.
    shell::check_zones(&worker.needs.shell, &held, &[], &mut problems);
    check_limits(worker, policy, &mut problems);
    let file = worker.at.file_line().map_or("", |(file, _)| file);
    problems.sorted(file)
}

/// Returns the zones that a worker defines itself, in its `paths`.
///
/// A worker can do so only in a project that leaves its zones to the defaults,
/// and only with directories of that project; [`check`] says where it cannot.
pub fn inline_zones(worker: &WorkerFile, policy: &Policy) -> Vec<Zone> {
    let ZoneNeeds::Named(needs) = &worker.needs.zones else { return Vec::new() };
    needs
        .iter()
        .filter(|need| defines(need, policy))
        .filter_map(|need| {
            let dir = directory(need, policy).filter(|dir| dir.starts_with(&policy.project))?;
            let mut zone = Zone::new(&need.name, dir, need.mode.value, need.at.clone());
            zone.suffixes = need.suffixes.clone();
            zone.max_file_bytes = need.max_file_bytes.clone();
            zone.untrusted = need.untrusted.clone();
            Some(zone)
        })
        .collect()
}

/// Returns the host directory that a `paths` entry names.
fn directory(need: &ZoneNeed, policy: &Policy) -> Option<PathBuf> {
    need.path.as_ref().map(|path| dirs::normal(&policy.project.join(&path.value)))
}

/// Returns whether a request is a definition as well: nobody else defines zones.
fn defines(need: &ZoneNeed, policy: &Policy) -> bool {
    let silent = policy.zones.iter().any(|zone| zone.at == At::Default);
    let taken = policy.zone(&need.name).is_some_and(|zone| zone.at != At::Default);
    need.path.is_some() && silent && !taken
}

fn check_need(need: &ZoneNeed, policy: &Policy, project: &[&str], problems: &mut Problems) {
    let name = &need.name;
    let mark = Mark::of(&need.at, name.chars().count());
    let written = need.path.as_ref().map(|path| {
        (path.value.display().to_string(), Mark::of(&path.at, path.value.as_os_str().len()))
    });
    if defines(need, policy) {
        if let Some((text, mark)) = written
            && !directory(need, policy).is_some_and(|dir| dir.starts_with(&policy.project))
        {
            let message = format!("the worker's zone '{name}' is '{text}', outside the project");
            let problem = problems.error("exceeds_project", &mark, message);
            problem.hint("define the zone in the project file");
        }
        check_consent(need, &Approvals::default(), problems);
        return;
    }
    let Some(zone) = policy.zone(name) else {
        let message =
            format!("the worker asks for the zone '{name}', which the project does not have");
        let hint = suggest::hint(name, "zones", project);
        problems.error("unknown_zone", &mark, message).hint(hint);
        return;
    };
    if let Some((text, mark)) = written
        && directory(need, policy).as_ref() != Some(&zone.path.value)
    {
        let message = format!(
            "the worker takes the zone '{name}' to be '{text}', and the project has it elsewhere"
        );
        let problem = problems.error("exceeds_project", &mark, message);
        problem
            .hint(format!("ask by name: zones: [{{ name: {name}, mode: {} }}]", need.mode.value));
    }
    if need.mode.value > zone.mode.value {
        let mark = if need.mode.is_written() { Mark::of(&need.mode.at, 2) } else { mark };
        let (wanted, held) = (need.mode.value, zone.mode.value);
        let message =
            format!("the worker asks for {wanted} on '{name}', which the project gives as {held}");
        let hint = format!("ask for {held}, or change the zone's mode ({})", zone.mode.at);
        problems.error("exceeds_project", &mark, message).hint(hint);
    }
    check_consent(need, &zone.approval, problems);
}

/// Warns where a worker hopes for fewer questions than the project asks.
fn check_consent(need: &ZoneNeed, project: &Approvals, problems: &mut Problems) {
    for (verb, wanted, held) in [
        ("read", &need.read, &project.read),
        ("write", &need.write, &project.write),
        ("delete", &need.delete, &project.delete),
    ] {
        if let Some(wanted) = wanted
            && wanted.value < held.value
        {
            let (w, h, name) = (wanted.value, held.value, &need.name);
            let mark = Mark::of(&wanted.at, w.to_string().len());
            let message =
                format!("the worker has {verb} as {w} on '{name}', and the project has it as {h}");
            let problem = problems.warning("looser_approval", &mark, message);
            problem.hint(format!("the project's stricter rule holds ({})", held.at));
        }
    }
}

/// Holds the secrets that a worker asks for against those of the project.
fn check_secrets(worker: &WorkerFile, policy: &Policy, problems: &mut Problems) {
    let known: Vec<&str> = policy.secrets.keys().map(String::as_str).collect();
    for need in worker.needs.secrets.iter().filter(|need| !known.contains(&need.value.as_str())) {
        let name = &need.value;
        let message =
            format!("the worker asks for the secret '{name}', which the project does not have");
        let mark = Mark::of(&need.at, name.chars().count());
        let hint = suggest::hint(name, "secrets", &known);
        problems.error("unknown_secret", &mark, message).hint(hint);
    }
}

/// Warns where a worker hopes to run longer than the project lets it.
fn check_limits(worker: &WorkerFile, policy: &Policy, problems: &mut Problems) {
    let (own, project) = (&worker.run, &policy.run);
    let turns = Some(&project.max_turns).filter(|turns| turns.is_written());
    for (key, wanted, held) in [
        ("max_turns", &own.max_turns, turns),
        ("budget", &own.budget, project.budget.as_ref()),
        ("time", &own.time_ms, project.time_ms.as_ref()),
    ] {
        if let (Some(wanted), Some(held)) = (wanted, held)
            && wanted.value > held.value
        {
            let message = format!("the worker has a larger '{key}' than the project");
            let problem = problems.warning("looser_limit", &Mark::of(&wanted.at, 1), message);
            problem.hint(format!("the project's smaller one holds ({})", held.at));
        }
    }
}
