//! How far commands must be held to their boundaries, and how far they are.

use zonekeep_confine::plan::{Backend, Plan};
use zonekeep_confine::strength::{self, Held, Rule, Strength};
use zonekeep_policy::At;
use zonekeep_policy::policy::{BackendChoice, OsSandbox};

use super::Command;
use crate::audit::JudgedRecord;
use crate::sandbox::Sandbox;

/// Whether the program that opens a session accepts, for its user, a sandbox that
/// does not fully enforce the essential rules: files outside, the network, signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weaker {
    /// Commands are refused there, unless the project says otherwise.
    #[default]
    Refused,
    /// Commands run there, unless the project requires full enforcement. Their
    /// results and records name the rules that are not enforced.
    Accepted,
}

/// The enforcement that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// The strongest that there is, however weak.
    Any,
    /// All essential rules, because the user has not accepted less.
    Unaccepted,
    /// All essential rules, whatever the user accepts.
    Full,
}

/// How far the operating system holds a command to its boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Confinement {
    /// Files outside are open to it.
    Nothing,
    /// One of the essential rules is not fully enforced.
    Partial,
    /// All essential rules are fully enforced.
    Full,
}

impl Confinement {
    /// Returns it for a sandbox that does not fully enforce these rules.
    pub(super) fn without(lost: &[Strength]) -> Self {
        let open = |row: &Strength| row.rule == Rule::FilesOutside && row.held == Held::Not;
        match lost.is_empty() {
            true => Confinement::Full,
            false if lost.iter().any(open) => Confinement::Nothing,
            false => Confinement::Partial,
        }
    }

    /// Returns the most that a choice of backends comes to.
    pub(crate) fn presumed(choice: BackendChoice) -> Self {
        match choice {
            BackendChoice::Auto | BackendChoice::Namespaces | BackendChoice::Bubblewrap => {
                Confinement::Full
            }
            BackendChoice::Landlock | BackendChoice::Seatbelt => Confinement::Partial,
            BackendChoice::None => Confinement::Nothing,
        }
    }

    /// Returns it as it was when a command line was judged: bash reads no line
    /// that nothing confines.
    pub(crate) fn recorded(judged: &JudgedRecord) -> Self {
        match (judged.os_sandbox, judged.mode.as_str()) {
            (true, _) => Confinement::Full,
            (false, "bash") => Confinement::Partial,
            (false, _) => Confinement::Nothing,
        }
    }

    /// Returns whether all essential rules are enforced.
    pub(crate) fn is_full(self) -> bool {
        self == Confinement::Full
    }
}

/// Words to follow "from /output,".
impl std::fmt::Display for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Confinement::Nothing => "without an OS sandbox",
            Confinement::Partial => "in an OS sandbox that enforces only part of the boundaries",
            Confinement::Full => "in an OS sandbox",
        })
    }
}

impl Sandbox {
    /// Returns the enforcement that a command needs.
    pub(super) fn demand(&self, command: &Command) -> Demand {
        let (grant, confine) = (self.grant(), &self.shared().confine);
        // A yes, or a rule that needs none, was for a command that is confined.
        let judged = command.judged.as_ref().is_some_and(|judged| judged.confinement.is_full());
        let required = grant.require_os_sandbox().value;
        // A file names a backend that enforces less only after trust.
        let backend = grant.backend();
        let by_user = !matches!(backend.at, At::File { .. });
        let chosen = backend.value.is_weak() || backend.value != BackendChoice::Auto && by_user;
        match required {
            OsSandbox::Required => Demand::Full,
            _ if confine.strict || grant.prove().value || judged => Demand::Full,
            OsSandbox::Optional => Demand::Any,
            OsSandbox::Unset if chosen || confine.weaker == Weaker::Accepted => Demand::Any,
            OsSandbox::Unset => Demand::Unaccepted,
        }
    }

    /// Returns why nothing confines a command.
    pub(super) fn unconfined(&self, demand: Demand, tried: Vec<(Backend, String)>) -> Unconfined {
        let at = &self.grant().require_os_sandbox().at;
        let file = at.file_line().map(|(file, _)| file);
        let is_bound = self.organisations().iter().any(|held| file == Some(held.file()));
        let by = (is_bound && demand == Demand::Full).then(|| at.clone());
        Unconfined { demand, tried, by }
    }

    /// Returns the essential rules that would stop a command from running by a
    /// plan, because a sandbox with these layers does not fully enforce them.
    pub(crate) fn unmet(
        &self,
        command: &Command,
        plan: &Plan,
        layers: Option<&zonekeep_confine::Layers>,
    ) -> Vec<String> {
        match self.demand(command) {
            Demand::Any => Vec::new(),
            Demand::Unaccepted | Demand::Full => {
                strength::lost(plan, layers).iter().map(lack).collect()
            }
        }
    }
}

/// Why nothing confines a command.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct Unconfined {
    /// The enforcement that it needs.
    pub demand: Demand,
    /// What was tried, and why it did not work.
    pub tried: Vec<(Backend, String)>,
    /// The line of the organisation's file that needs it, where it is that one.
    pub by: Option<At>,
}

impl Unconfined {
    fn text(&self) -> String {
        let mut text = match self.demand {
            Demand::Full => "OS sandbox required but unavailable".to_owned(),
            Demand::Unaccepted => {
                "this machine does not fully enforce the boundaries of commands".to_owned()
            }
            Demand::Any => "the sandbox that was asked for is unavailable".to_owned(),
        };
        for (backend, why) in &self.tried {
            text.push_str(&format!("\n  {backend}: {why}"));
        }
        if let Some(at) = &self.by {
            text.push_str(&format!("\nYour organisation requires it ({at})."));
        }
        text
    }
}

/// Returns a rule that is not fully enforced, in words for the user.
pub(crate) fn lack(strength: &Strength) -> String {
    let word = match strength.held {
        Held::Full => "enforced",
        Held::Partly => "only partly enforced",
        Held::Not => "not enforced",
    };
    match &strength.note {
        Some(note) => format!("{}: {word} ({note})", strength.rule),
        None => format!("{}: {word}", strength.rule),
    }
}

/// Returns what the user should know about a sandbox that does not enforce everything: the
/// rules, the reason and the remedy of each.
pub(super) fn note_for_user(backend: Backend, weaker: &[Strength]) -> String {
    if backend == Backend::None {
        return note(backend, weaker);
    }
    let mut text = "Note: Not everything is enforced here:".to_owned();
    for (n, row) in weaker.iter().enumerate() {
        text.push_str(&format!("\n  {}", lack(row)));
        let remedy = strength::remedy(backend, row);
        let next = weaker.get(n + 1).and_then(|next| strength::remedy(backend, next));
        if let Some(remedy) = remedy.filter(|_| remedy != next) {
            text.push_str(&format!("\n    to raise: {remedy}"));
        }
    }
    text
}

/// Returns what the agent should know about a sandbox that does not enforce
/// everything.
pub(super) fn note(backend: Backend, weaker: &[Strength]) -> String {
    let names: Vec<&str> = weaker.iter().map(|row| row.rule.as_str()).collect();
    match backend {
        Backend::None => "Note: This command ran without an operating-system sandbox.".to_owned(),
        _ => format!("Note: Not everything is enforced here: {}.", names.join(", ")),
    }
}
