//! The self-probe: a confined process tries what must not work.
//!
//! [`prove`] sets out what there is to reach – listeners, the caller's own
//! processes and files – and asks a process that is confined exactly like a
//! command to reach it. What the backend does not claim to hold is not tried.

mod attempts;
mod calls;
mod outside;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};
use zonekeep_policy::limit::Limits;

use self::outside::Outside;
use crate::plan::{Backend, Start};
pub use crate::report::{Check, Report};
use crate::tree::{Failed, Tree};

pub(crate) use self::attempts::attempt;

/// How long the self-probe may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest report.
const MAX_REPORT: usize = 1024 * 1024;

/// What can hold a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Layer {
    /// The launcher, whatever else there is.
    Launch,
    /// A tree of its own.
    Tree,
    /// A process namespace.
    Processes,
    /// A network namespace.
    Network,
    /// The filter for system calls.
    Seccomp,
    /// Landlock's rules about files.
    Files,
    /// Landlock's rules about connections.
    Connections,
    /// Landlock's rules about signals and abstract sockets.
    Scope,
}

/// Returns the layers that hold in a tree that stands.
fn holding(tree: &Tree) -> Result<Vec<Layer>, Failed> {
    let (plan, layers) = (tree.plan(), tree.layers()?);
    let apart = plan.network.is_apart();
    let landlock = layers.landlock;
    let all = [
        (Layer::Launch, true),
        (Layer::Tree, layers.tree),
        (Layer::Processes, layers.processes),
        (Layer::Network, layers.network),
        (Layer::Seccomp, layers.seccomp),
        (Layer::Files, landlock >= 1),
        (Layer::Connections, landlock >= 4 && apart && !plan.backend.has_own_tree()),
        (Layer::Scope, landlock >= 6 && plan.backend != Backend::None),
    ];
    Ok(all.into_iter().filter(|(_, holds)| *holds).map(|(layer, _)| layer).collect())
}

/// Has a process in the sandbox try all that must not work there.
///
/// An error is a sandbox that cannot be asked, or that does not answer in time:
/// it proves nothing, and is not to be used.
pub fn prove(tree: &Tree) -> Result<Report, Failed> {
    let outside = Outside::set_out(tree)?;
    let text = serde_json::to_vec(outside.asked()).map_err(std::io::Error::from)?;
    let (input, mut question) = std::io::pipe()?;
    let (mut answer, output) = std::io::pipe()?;
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    let plan = tree.plan();
    let start = Start {
        argv: vec!["zonekeep-probe".into()],
        env: Default::default(),
        cwd: if plan.backend.has_own_tree() { "/tmp".into() } else { plan.home.clone() },
        limits: Limits::none(),
        terminal: [false; 3],
    };
    let process = tree.probe(start, &[input.as_fd(), output.as_fd(), nowhere.as_fd()])?;
    drop((input, output));
    // A process that is gone says why below.
    let _ = question.write_all(&text);
    drop(question);
    let report = read_in_time(&mut answer);
    if report.is_err() {
        process.kill()?;
    }
    let ended = process.wait()?;
    let report = report?;
    if ended.code != Some(0) {
        return Err(unproven(format!("the self-probe ended early ({ended:?})")));
    }
    let report: Report = serde_json::from_slice(&report)
        .map_err(|error| unproven(format!("the self-probe cannot be read: {error}")))?;
    Ok(outside.judge(report))
}

fn unproven(why: String) -> Failed {
    Failed::Step { step: "prove that the sandbox holds".to_owned(), errno: None, why }
}

/// Reads to the end, as long as that takes no longer than it may.
fn read_in_time(answer: &mut std::io::PipeReader) -> Result<Vec<u8>, Failed> {
    let end = Instant::now() + PATIENCE;
    let mut all = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
        let mut polled = [PollFd::new(answer, PollFlags::IN)];
        match rustix::event::poll(&mut polled, Some(&wait)) {
            Ok(0) => return Err(unproven(format!("no answer in {PATIENCE:?}"))),
            Err(rustix::io::Errno::INTR) => continue,
            result => result.map_err(std::io::Error::from)?,
        };
        match answer.read(&mut buffer)? {
            0 => return Ok(all),
            n if all.len() + n > MAX_REPORT => {
                return Err(unproven("the answer is too long".to_owned()));
            }
            n => all.extend_from_slice(&buffer[..n]),
        }
    }
}
