//! Tells the person at the desktop that a question waits.
//!
//! The text is fixed: desktops read markup and links in notifications, and a question is
//! about words that an agent chose.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Answer, Approver, Opening, Program, Request, Unfit};

/// The title and the text of every notification.
const TEXT: [&str; 2] = ["Zonekeep", "A question waits for your answer."];

/// Starts a program, such as `notify-send`, that shows a notification.
///
/// It gets the title and the text as arguments, runs as the user outside of the sandbox,
/// and must be a program that no agent and no other user can change. Nobody waits for it:
/// while it runs, further questions start no second one.
#[derive(Debug)]
pub struct Notifier {
    program: Program,
    running: Mutex<Option<Child>>,
}

impl Notifier {
    /// Takes the program at `path`; a name without a slash is looked for in `PATH`.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, Unfit> {
        let path = path.as_ref();
        let program = Program::new(find(path).unwrap_or_else(|| path.to_owned()))?;
        Ok(Notifier { program, running: Mutex::default() })
    }

    /// Shows the notification, unless one is being shown.
    pub fn notify(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let is_shown = running.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        if !is_shown {
            // A question without a notification waits all the same.
            *running = self.program.start(&TEXT).ok();
        }
    }
}

/// Returns the program of that name in an absolute directory of `PATH`.
fn find(name: &Path) -> Option<PathBuf> {
    if name.as_os_str().as_encoded_bytes().contains(&b'/') {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// An approver whose questions are announced.
#[derive(Debug)]
pub struct Notifying<A> {
    inner: A,
    notifier: Arc<Notifier>,
}

impl<A> Notifying<A> {
    /// Announces the questions of `inner`.
    pub fn new(inner: A, notifier: Arc<Notifier>) -> Self {
        Notifying { inner, notifier }
    }
}

impl<A: Approver> Approver for Notifying<A> {
    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        self.notifier.program.begin(opening)?;
        self.inner.begin(opening)
    }

    fn ask(&self, request: &Request) -> Answer {
        self.notifier.notify();
        self.inner.ask(request)
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn considers(&self) -> bool {
        self.inner.considers()
    }
}
