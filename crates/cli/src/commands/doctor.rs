//! `zonekeep doctor`: what this machine offers, and whether it holds.

use std::fmt::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use zonekeep::approve::{AllNo, visible};
use zonekeep::command::{Command, Confine, Planned};
use zonekeep::confine::Layers;
use zonekeep::confine::ladder;
use zonekeep::confine::plan::{Backend, Gateway, Network, Plan, Role, ZoneRules};
use zonekeep::confine::probe::{self, Offer};
use zonekeep::confine::prove::{self, Check};
use zonekeep::confine::strength::{self, Held, Rule, Strength};
use zonekeep::confine::tree::{Launcher, Tree};
use zonekeep::policy::Mode;
use zonekeep::policy::config::{Overrides, ZoneFlag};
use zonekeep::policy::policy::BackendChoice;
use zonekeep::{Project, ProjectError, Sandbox, Session, StateDir};

use super::health::{self, HealthCheck};
use crate::failure::{Failure, NEGATIVE, UNSAFE, USAGE, answer_in_json};
use crate::output;
use crate::project_args::{ProjectArgs, state};

/// Show what can confine commands here, and prove that it does
///
/// Starts a sandbox as `zonekeep run` would, and has a confined process try what
/// must not work. Exits with 1 when something does not hold that should, when this
/// machine offers no sandbox, or when something is missing that Zonekeep needs while
/// it runs, such as space for its records.
///
/// Examples:
///   zonekeep doctor
///   zonekeep doctor --check # is this machine healthy? for scripts and monitors
///   zonekeep doctor --backend landlock
///   zonekeep doctor --json | jq .holds
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Prove this one instead of the strongest: namespaces, bubblewrap, landlock or none
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Check only the state directory, backends, file watches, limits and clock
    #[arg(long, conflicts_with = "backend")]
    check: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    answer_in_json(args.json);
    let named = args.backend.as_deref().filter(|name| *name != "auto").map(|name| {
        Backend::named(name).ok_or_else(|| {
            let names = Backend::ALL.map(Backend::as_str).join(", ");
            Failure::message(USAGE, format!("there is no backend '{name}'"))
                .hint(format!("the backends are {names}"))
        })
    });
    let named = named.transpose()?;
    let organisation = zonekeep::organisation::read().map_err(ProjectError::from)?;
    let organisation = organisation.map(|held| Bounds {
        file: held.file().to_owned(),
        keys: held.keys().collect(),
        narrowed: args.project.load().map(|project| narrowed_keys(&project)).unwrap_or_default(),
    });
    let launcher = Launcher::find()
        .ok_or_else(|| Failure::message(UNSAFE, "no program was found that builds sandboxes"))?;
    let backends = probe::all(&launcher);
    let health = health::checks(StateDir::of_user(), &backends);
    let healthy = health.iter().all(|check| check.healthy);
    if args.check {
        let report = Health { version: FORMAT, healthy, checks: health };
        match args.json {
            true => output::json(&report)?,
            false => output::text(&visible(&report.text()))?,
        }
        return Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(NEGATIVE) });
    }
    let is_offered =
        |backend: Backend| backends.iter().any(|offer| offer.backend == backend && offer.available);
    let strongest = ladder::pick(BackendChoice::Auto, &backends);
    let strongest = strongest.filter(|backend| *backend != Backend::None);
    let examined = match named.or(strongest) {
        None => None,
        Some(backend) if !is_offered(backend) => {
            Some(Examined::failed(backend, "it is not available here".to_owned()))
        }
        Some(backend) => Some(examine(backend, &args.project, &launcher)?),
    };
    let holds = strongest.is_some() && examined.as_ref().is_some_and(Examined::holds);
    let enforced = examined.as_ref().is_some_and(Examined::enforces_all);
    let confined = strongest.is_some();
    let version = FORMAT;
    let report = Report {
        version,
        holds,
        confined,
        enforced,
        healthy,
        organisation,
        backends,
        health,
        examined,
    };
    match args.json {
        true => output::json(&report)?,
        false => output::text(&visible(&report.text()))?,
    }
    let is_well = report.holds && report.healthy;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(NEGATIVE) })
}

/// The version of the JSON that is printed; raised when a key changes its meaning or goes.
const FORMAT: u32 = 1;

/// The result of `--check`.
#[derive(Serialize)]
struct Health {
    version: u32,
    healthy: bool,
    checks: Vec<HealthCheck>,
}

impl Health {
    fn text(&self) -> String {
        let mut text = String::new();
        show_health(&mut text, &self.checks);
        text.push_str(if self.healthy { "\nHealthy.\n" } else { "\nNOT healthy.\n" });
        text
    }
}

fn show_health(text: &mut String, checks: &[HealthCheck]) {
    text.push_str("Machine\n");
    for HealthCheck { name, healthy, found, remedy } in checks {
        let word = if *healthy { "ok" } else { "NOT OK" };
        wrap(text, &format!("  {name:<16} {word:<6} "), found, 26);
        if let Some(remedy) = remedy {
            wrap(text, &" ".repeat(26), &format!("to correct: {remedy}"), 28);
        }
    }
}

/// What was found.
#[derive(Serialize)]
struct Report {
    version: u32,
    /// Whether there is an OS sandbox, and everything claimed of the examined
    /// one holds.
    holds: bool,
    /// Whether this machine offers an OS sandbox.
    confined: bool,
    /// Whether the examined one fully enforces the essential rules, so that
    /// commands run under it without `--accept-weaker`.
    enforced: bool,
    /// Whether every health check passed.
    healthy: bool,
    /// The keys that the organisation's file bounds, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    organisation: Option<Bounds>,
    backends: Vec<Offer>,
    health: Vec<HealthCheck>,
    examined: Option<Examined>,
}

/// The organisation's file.
#[derive(Serialize)]
struct Bounds {
    file: String,
    /// The keys that it bounds.
    keys: Vec<&'static str>,
    /// The keys of this project that are looser.
    narrowed: Vec<String>,
}

fn narrowed_keys(project: &Project) -> Vec<String> {
    project.narrowed.iter().map(|one| one.key.clone()).collect()
}

/// What was found about one backend.
#[derive(Serialize)]
struct Examined {
    backend: Backend,
    /// Why it could not be examined to the end.
    problem: Option<String>,
    /// Whose plan the sandbox was made by: the project's, or one for this.
    plan: &'static str,
    /// Why it is not the project's.
    project_problem: Option<String>,
    layers: Option<Layers>,
    strength: Vec<Strength>,
    /// The essential rules of the plan that are not fully enforced.
    lost: Vec<Rule>,
    /// Whether the file tools are held by mounts.
    files_held: bool,
    /// Where toolchains are that commands get.
    toolchains: Vec<String>,
    /// What was found and left out on the way.
    notes: Vec<String>,
    proof: Vec<Check>,
}

impl Examined {
    fn failed(backend: Backend, problem: String) -> Self {
        Examined {
            backend,
            problem: Some(problem),
            plan: "none",
            project_problem: None,
            layers: None,
            strength: Vec::new(),
            lost: Vec::new(),
            files_held: false,
            toolchains: Vec::new(),
            notes: Vec::new(),
            proof: Vec::new(),
        }
    }

    fn holds(&self) -> bool {
        let proof = prove::Report { checks: self.proof.clone() };
        self.problem.is_none() && proof.holds()
    }

    fn enforces_all(&self) -> bool {
        self.layers.is_some() && self.lost.is_empty()
    }
}

/// Starts a sandbox and looks at it.
fn examine(
    backend: Backend,
    project: &ProjectArgs,
    launcher: &Launcher,
) -> Result<Examined, Failure> {
    let scratch;
    let (sandbox, plan, project_problem) = match of_project(project, backend) {
        Ok(Some(sandbox)) => (sandbox, "project", None),
        Err(failure) if failure.status == USAGE => return Err(failure),
        other => {
            scratch = Scratch::new()?;
            let problem = other.err().map(|failure| failure.error.to_string());
            (scratch.open(backend)?, "scratch", problem)
        }
    };
    let nothing = Examined { plan, project_problem, ..Examined::failed(backend, String::new()) };
    let planned = match sandbox.plan(backend, &Command::new(["true"])) {
        Ok(planned) => planned,
        Err(error) => {
            let problem = error.detail().map_or_else(|| error.to_string(), str::to_owned);
            return Ok(Examined { problem: Some(problem), ..nothing });
        }
    };
    let Planned { plan, notes, .. } = planned;
    let known = Examined {
        files_held: sandbox.files_are_held(),
        toolchains: toolchains(&plan),
        notes,
        ..nothing
    };
    let tree = match Tree::start(plan, launcher) {
        Ok(tree) => tree,
        Err(failed) => return Ok(Examined { problem: Some(failed.to_string()), ..known }),
    };
    let layers = match tree.layers() {
        Ok(layers) => layers,
        Err(failed) => return Ok(Examined { problem: Some(failed.to_string()), ..known }),
    };
    let known = Examined {
        layers: Some(layers.clone()),
        strength: all_strength(tree.plan(), layers),
        lost: strength::lost(tree.plan(), Some(layers)).iter().map(|row| row.rule).collect(),
        ..known
    };
    Ok(match prove::prove(&tree) {
        Ok(report) => Examined { problem: None, proof: report.checks, ..known },
        Err(failed) => Examined { problem: Some(failed.to_string()), ..known },
    })
}

/// Opens the project, to be confined by a backend; `None` where there is none.
fn of_project(args: &ProjectArgs, backend: Backend) -> Result<Option<Sandbox>, Failure> {
    let mut args = args.clone();
    args.set.push(format!("sandbox.backend={backend}"));
    let project = args.load()?;
    if project.file.is_none() && args.overrides()?.zones.is_empty() {
        return Ok(None);
    }
    let session = Session::open_with(&project, &state()?, AllNo, Confine::default())?;
    Ok(Some(session.sandbox()))
}

fn toolchains(plan: &Plan) -> Vec<String> {
    let tools = plan.binds().filter(|bind| bind.role == Role::Tool);
    tools.map(|bind| bind.at.display().to_string()).collect()
}

/// A project that is only there to be looked at: a directory to read and one to
/// write.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let id = std::process::id();
        let dir = (0..).map(|n| std::env::temp_dir().join(format!("zonekeep-doctor-{id}-{n}")));
        for dir in dir {
            match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                result => {
                    result?;
                    let scratch = Scratch(dir);
                    for name in ["project", "state"] {
                        std::fs::create_dir(scratch.0.join(name))?;
                    }
                    return Ok(scratch);
                }
            }
        }
        unreachable!("some name is free")
    }

    fn open(&self, backend: Backend) -> Result<Sandbox, Failure> {
        let dir = self.0.join("project");
        let mut set = vec![("sandbox.backend".to_owned(), backend.to_string())];
        // Examined is the machine: no directory at all is within every organisation's bounds.
        let organisation = zonekeep::organisation::read().map_err(ProjectError::from)?;
        let bounded = organisation.is_some_and(|held| held.dirs().is_some());
        let zone = |name: &str, mode| -> Result<ZoneFlag, Failure> {
            let path = dir.join(name);
            std::fs::create_dir(&path)?;
            Ok(ZoneFlag { name: name.to_owned(), path, mode: Some(mode) })
        };
        let zones = match bounded {
            true => {
                set.push(("sandbox.zones".to_owned(), "{}".to_owned()));
                Vec::new()
            }
            false => vec![zone("read", Mode::Ro)?, zone("write", Mode::Rw)?],
        };
        let overrides = Overrides { zones, set, ..Overrides::default() };
        let project = Project::at(&dir, &overrides)?;
        let state = StateDir::at(self.0.join("state"));
        Ok(Session::open_with(&project, &state, AllNo, Confine::default())?.sandbox())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How wide the text is.
const WIDTH: usize = 80;

impl Report {
    fn text(&self) -> String {
        let mut text = String::new();
        text.push_str("Backends\n");
        for offer in &self.backends {
            show_offer(&mut text, offer);
        }
        if let Some(examined) = &self.examined {
            text.push('\n');
            examined.show(&mut text);
        }
        if let Some(Bounds { file, keys, narrowed }) = &self.organisation {
            let listed = |keys: &[&str]| match keys.is_empty() {
                true => "nothing".to_owned(),
                false => keys.join(", "),
            };
            text.push_str("\nOrganisation\n");
            wrap(&mut text, &format!("  {file} bounds: "), &listed(keys), 2);
            let narrowed: Vec<&str> = narrowed.iter().map(String::as_str).collect();
            wrap(&mut text, "  narrows here: ", &listed(&narrowed), 2);
        }
        text.push('\n');
        show_health(&mut text, &self.health);
        text.push('\n');
        text.push_str(&self.verdict());
        text
    }

    fn verdict(&self) -> String {
        let mut text = String::new();
        if !self.confined {
            text.push_str("This machine offers no OS sandbox.\n");
        }
        if !self.healthy {
            text.push_str("This machine lacks something that Zonekeep needs: see above.\n");
        }
        let Some(examined) = &self.examined else { return text };
        let Examined { backend, proof, .. } = examined;
        let count = |held| proof.iter().filter(|check| check.held == held).count();
        let (held, broken) = (count(Some(true)), count(Some(false)));
        match &examined.problem {
            Some(problem) => wrap(&mut text, &format!("{backend} is not proven: "), problem, 2),
            None if broken > 0 => {
                let all = held + broken;
                let _ = writeln!(text, "{broken} of {all} attempts were NOT stopped by {backend}.");
            }
            None => {
                let _ = writeln!(text, "All {held} attempts were stopped by {backend}.");
            }
        }
        let lost: Vec<&str> = examined.lost.iter().map(|rule| rule.as_str()).collect();
        if !lost.is_empty() {
            let says = format!(
                "it does not fully enforce {}. Commands are refused under it unless you accept \
                 that (--accept-weaker).",
                lost.join(", ")
            );
            wrap(&mut text, &format!("{backend}: "), &says, 2);
        }
        text
    }
}

fn show_offer(text: &mut String, offer: &Offer) {
    let version = offer.version.as_ref().map(|v| format!(" ({v})")).unwrap_or_default();
    let first = match (offer.available, offer.backend) {
        (true, Backend::None) => "no OS sandbox: only where it is asked for".to_owned(),
        (true, _) => format!("available{version}"),
        (false, _) => "not available".to_owned(),
    };
    let why = match (&offer.why, offer.available) {
        (Some(why), true) => format!("{first}; {why}"),
        (Some(why), false) => format!("{first}: {why}"),
        (None, _) => first,
    };
    wrap(text, &format!("  {:<11}", offer.backend.as_str()), &why, 13);
    if let Some(raise) = &offer.raise {
        wrap(text, &format!("{:13}to raise: ", ""), raise, 15);
    }
}

impl Examined {
    fn show(&self, text: &mut String) {
        let whose = match self.plan {
            "project" => "a sandbox as this project has it",
            "scratch" => "a sandbox with temporary directories",
            _ => "not started",
        };
        let _ = writeln!(text, "Examined: {}, {whose}", self.backend);
        if let Some(problem) = &self.project_problem {
            wrap(text, "  the project is not used: ", problem, 4);
        }
        if let Some(layers) = &self.layers {
            show_layers(text, layers, self.backend);
        }
        if self.layers.is_some() {
            let held = match self.files_held {
                true => "held by mounts, as commands are",
                false => "held by lookups beneath open directories",
            };
            let _ = writeln!(text, "  {:<18} {held}", "file tools");
        }
        for (n, note) in self.notes.iter().enumerate() {
            let title = if n == 0 { "toolchains" } else { "" };
            wrap(text, &format!("  {title:<18} "), note, 23);
        }
        if !self.strength.is_empty() {
            text.push_str("\nRules\n");
        }
        for (n, row) in self.strength.iter().enumerate() {
            let held = match row.held {
                Held::Full => "full",
                Held::Partly => "PARTLY",
                Held::Not => "NOT",
            };
            let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let says = format!("{}{note}", row.by);
            wrap(text, &format!("  {:<22} {held:<7}", row.rule), &says, 32);
            let remedy = strength::remedy(self.backend, row);
            let next = self.strength.get(n + 1);
            let next = next.and_then(|next| strength::remedy(self.backend, next));
            if let Some(remedy) = remedy.filter(|_| remedy != next) {
                wrap(text, &format!("{:32}to raise: ", ""), remedy, 34);
            }
        }
        if !self.proof.is_empty() {
            text.push_str("\nProof: what a confined process tried\n");
        }
        for check in &self.proof {
            let held = match check.held {
                Some(true) => "held",
                Some(false) => "NOT HELD",
                None => "not claimed",
            };
            wrap(text, &format!("  {held:<12} {:<10} ", check.group), &check.name, 28);
            if check.held == Some(false) {
                wrap(text, &format!("{:26}", ""), &check.detail, 26);
            }
        }
    }
}

fn show_layers(text: &mut String, layers: &Layers, backend: Backend) {
    let yes = |held| if held { "yes" } else { "no" };
    let landlock = match layers.landlock {
        0 => "no".to_owned(),
        version => format!("version {version}"),
    };
    let mut lines = vec![
        ("Landlock", landlock),
        ("seccomp", yes(layers.seccomp).to_owned()),
        ("own tree", yes(layers.tree).to_owned()),
        ("own processes", yes(layers.processes).to_owned()),
        ("own network", yes(layers.network).to_owned()),
    ];
    if backend.has_own_tree() {
        lines.push(("root mapped away", yes(layers.root_mapped_away).to_owned()));
    }
    for (name, value) in lines {
        let _ = writeln!(text, "  {name:<18} {value}");
    }
    if let Some(unwatched) = &layers.unwatched {
        wrap(text, &format!("  {:<18} ", "not watched"), unwatched, 21);
        if let Some(watches) = most_watches() {
            let says = format!(
                "this machine lets a user watch {watches} directories; \
                 sysctl fs.inotify.max_user_watches=524288 lets it watch more"
            );
            wrap(text, &format!("  {:<18} ", "to raise"), &says, 21);
        }
    }
}

fn most_watches() -> Option<u64> {
    let path = Path::new("/proc/sys/fs/inotify/max_user_watches");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Writes a text on lines that are not too wide, the first of them behind
/// `start`, the others indented.
fn wrap(text: &mut String, start: &str, says: &str, indent: usize) {
    let mut line = start.to_owned();
    let mut is_empty = true;
    for word in says.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Returns what a backend enforces, with what it would of a list of hosts.
fn all_strength(plan: &Plan, layers: &Layers) -> Vec<Strength> {
    let rules = ZoneRules { keep_names: vec!["/".into()], ..plan.rules.clone() };
    let network = Network::Gate(Gateway::default());
    let mut rows = strength::strength(plan, Some(layers));
    // Rules that only some projects have.
    let others = Plan { network, rules, ..plan.clone() };
    let others = strength::strength(&others, Some(layers));
    let pairs = [(Rule::NetworkOff, Rule::NetworkList), (Rule::HardLinks, Rule::BlockedDeletion)];
    for (after, rule) in pairs {
        if rows.iter().any(|row| row.rule == rule) {
            continue;
        }
        let at = rows.iter().position(|row| row.rule == after).map_or(rows.len(), |at| at + 1);
        rows.splice(at..at, others.iter().filter(|row| row.rule == rule).cloned());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_and_long_words_are_not() {
        let mut text = String::new();
        wrap(&mut text, "  landlock   ", &"word ".repeat(20), 13);
        wrap(&mut text, "  x ", &"y".repeat(90), 4);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(widths, [77, 47, 94]);
        assert!(text.lines().nth(1).unwrap().starts_with("             word"));
    }
}
