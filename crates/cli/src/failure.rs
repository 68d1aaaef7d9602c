//! How the program ends when it could not do what was asked.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use zonekeep::approve::visible;
use zonekeep::{OpenError, ProjectError, Remedy};

use crate::output;
use crate::report;

/// Exit status: refused, failed, or something was found.
pub(crate) const NEGATIVE: u8 = 1;
/// Exit status: the command line makes no sense.
pub(crate) const USAGE: u8 = 2;
/// Exit status: Zonekeep itself could not act safely.
pub(crate) const UNSAFE: u8 = 125;

/// Returns what the user can do about a command that was not run.
pub(crate) fn hint_for(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::RaiseOrAccept => {
            "`zonekeep doctor` shows what would make this machine enforce them; to run commands \
             without that, use --accept-weaker, set ZONEKEEP_ACCEPT_WEAKER=1, or write \
             `sandbox.require_os_sandbox: false` in a project file that you trust"
        }
        Remedy::DropOwnEntries => {
            "`zonekeep quarantine` lists the entries of this project, and `zonekeep quarantine drop \
             --all` removes them; with --everywhere those of all projects"
        }
        Remedy::DropAllEntries => {
            "`zonekeep quarantine --everywhere` lists the entries of all projects, and `zonekeep \
             quarantine drop --all --everywhere` removes them; without --everywhere those of this \
             project"
        }
        Remedy::Correct => {
            "this machine has the sandbox: look at the directory or value that the message names"
        }
        _ => "`zonekeep doctor` shows what this machine offers, and what would raise it",
    }
}

/// Whether `--json` was given.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Remembers that `--json` was given, for the case that something fails.
pub(crate) fn answer_in_json(json: bool) {
    AS_JSON.store(json, Ordering::Relaxed);
}

/// Why the program ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: u8,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(status: u8, error: impl Into<anyhow::Error>) -> Self {
        Failure { status, error: error.into(), hint: None }
    }

    pub(crate) fn message(status: u8, message: impl Into<String>) -> Self {
        Failure { status, error: anyhow::anyhow!(message.into()), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the error and the hint, and returns the status. Where data was
    /// asked for, the error is data too.
    pub(crate) fn report(mut self) -> ExitCode {
        if let Some(limit) = few_descriptors().filter(|_| self.status == UNSAFE) {
            self.hint = Some(format!(
                "at most {limit} files may be open at once (`ulimit -n`), and a sandbox needs about \
                 {ENOUGH_DESCRIPTORS}: whatever failed, raise that first"
            ));
        }
        if AS_JSON.load(Ordering::Relaxed) {
            let value = serde_json::json!({
                "error": {
                    "code": if self.status == USAGE { "usage" } else { "failed" },
                    "message": self.error.to_string(),
                    "hint": self.hint,
                }
            });
            // The status tells the rest where even this cannot be printed.
            let _ = output::json(&value);
        }
        if let Some(ProjectError::Invalid { problems, text, .. }) = self.error.downcast_ref() {
            report::problems(problems, &|_| Some(text.clone()));
        }
        // A reader that went away is not worth a word.
        if !is_broken_pipe(&self.error) {
            tell!("error: {}", visible(&self.error.to_string()));
        }
        if let Some(hint) = self.hint {
            tell!("\nhint: {}", visible(&hint));
        }
        ExitCode::from(self.status)
    }
}

/// How many descriptors a sandbox with all toolchains needs, roughly.
const ENOUGH_DESCRIPTORS: u64 = 256;

/// Returns how many files may be open, where that is too few for most sandboxes: whichever
/// step met the limit first, the limit is the cause.
fn few_descriptors() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.filter(|&most| most < ENOUGH_DESCRIPTORS)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// The hint for an organisation's file that cannot be used.
const ORGANISATION: &str = "nothing runs until an administrator of this machine has corrected it; no project file or \
     flag can";

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let hint = match error {
            ProjectError::Organisation(_) => Some(ORGANISATION.to_owned()),
            ProjectError::Invalid { problems, text, .. } if report::only_in_flags(&problems) => {
                let file = "the command line".to_owned();
                return Failure::new(USAGE, ProjectError::Invalid { file, problems, text });
            }
            ProjectError::Invalid { .. } => Some("`zonekeep check` shows all problems".to_owned()),
            ProjectError::NotText { .. } => Some("save it as UTF-8".to_owned()),
            ProjectError::Owner { .. } => Some(
                "a project file must belong to you or to root; copy it to make it yours".to_owned(),
            ),
            _ => None,
        };
        Failure { status: UNSAFE, error: error.into(), hint }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let hint = match &error {
            OpenError::Ground { errors } => {
                let hints = errors.iter().map(|error| format!("{} ({})", error.hint(), error.at()));
                Some(hints.collect::<Vec<_>>().join("\n      "))
            }
            OpenError::Untrusted { .. } => Some(
                "if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer".to_owned(),
            ),
            OpenError::Organisation(_) => Some(ORGANISATION.to_owned()),
            OpenError::Debug { .. } => Some("leave out --debug".to_owned()),
            OpenError::Unseen { .. } => {
                Some("leave out --approve all, so that somebody is asked".to_owned())
            }
            OpenError::Approver(unfit) => Some(unfit.hint().to_owned()),
            OpenError::Audit { .. } => Some(
                "make the state directory writable, set XDG_STATE_HOME, or write `audit: best_effort` in the project file".to_owned(),
            ),
            _ => None,
        };
        Failure { status: UNSAFE, error: error.into(), hint }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::new(UNSAFE, error)
    }
}
