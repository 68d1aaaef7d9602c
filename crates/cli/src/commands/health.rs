//! The health checks of `zonekeep doctor --check`: state directory, backend, file watches,
//! limits and clock.

use std::fs;
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime};

use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use zonekeep::StateDir;
use zonekeep::confine::ladder;
use zonekeep::confine::plan::Backend;
use zonekeep::confine::probe::Offer;
use zonekeep::policy::policy::BackendChoice;

/// Free space below which the state directory counts as full: a few thousand records.
const MIN_FREE: u64 = 16 << 20;
/// The fewest open files with which a server with a few sandboxes works.
const MIN_FILES: u64 = 256;
/// The fewest processes of the user with which a sandbox and its command start.
const MIN_PROCESSES: u64 = 64;
/// A clock before this is not set: 2025-01-01, in seconds since 1970.
const MIN_TIME: u64 = 1_735_689_600;

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct HealthCheck {
    pub(super) name: &'static str,
    pub(super) healthy: bool,
    /// The value that was found, or the error.
    pub(super) found: String,
    /// The way to make it healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl HealthCheck {
    fn new(name: &'static str, found: Result<String, String>, remedy: &str) -> Self {
        let healthy = found.is_ok();
        let found = found.unwrap_or_else(|error| error);
        HealthCheck { name, healthy, found, remedy: (!healthy).then(|| remedy.to_owned()) }
    }
}

/// Runs every check; writes one small file to the state directory, and removes it.
pub(super) fn checks(state: io::Result<StateDir>, backends: &[Offer]) -> Vec<HealthCheck> {
    let state = state.map_err(|error| error.to_string()).and_then(|state| writable(&state));
    let at_least = |what: Resource, least: u64| match getrlimit(what).current {
        None => Ok("unlimited".to_owned()),
        Some(limit) if limit >= least => Ok(limit.to_string()),
        Some(limit) => Err(format!("{limit}, and {least} are needed")),
    };
    vec![
        HealthCheck::new(
            "state directory",
            state,
            "free disk space, or set XDG_STATE_HOME to a directory of yours that can be written",
        ),
        HealthCheck::new(
            "backend",
            backend(backends),
            "see `zonekeep doctor` for the reason of each backend",
        ),
        HealthCheck::new(
            "file watches",
            watches(),
            "raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl",
        ),
        HealthCheck::new(
            "open files",
            at_least(Resource::Nofile, MIN_FILES),
            "raise the limit: `ulimit -n 4096`, or LimitNOFILE= of the systemd unit",
        ),
        HealthCheck::new(
            "processes",
            at_least(Resource::Nproc, MIN_PROCESSES),
            "raise the limit: `ulimit -u 4096`, or TasksMax= of the systemd unit",
        ),
        HealthCheck::new("clock", clock(), "set the clock: records and certificates need it"),
    ]
}

/// Writes and removes a file as records are written, and looks at the free space.
fn writable(state: &StateDir) -> Result<String, String> {
    let dir = state.path().display().to_string();
    let said = |error: io::Error| format!("{dir}: {error}");
    let audit = state.make("audit").map_err(said)?;
    let path = audit.join(format!(".health-{}", std::process::id()));
    let written = fs::File::create_new(&path).and_then(|mut file| {
        file.write_all(&[b'x'; 4096])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&path);
    written.and(removed).map_err(said)?;
    let space = rustix::fs::statvfs(&audit).map_err(|error| said(error.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let mebibytes = free >> 20;
    match free >= MIN_FREE {
        true => Ok(format!("{dir}, {mebibytes} MiB free")),
        false => Err(format!("{dir}: {mebibytes} MiB free, and {} are needed", MIN_FREE >> 20)),
    }
}

fn backend(backends: &[Offer]) -> Result<String, String> {
    match ladder::pick(BackendChoice::Auto, backends) {
        Some(backend) if backend != Backend::None => Ok(backend.to_string()),
        _ => Err("this machine offers no OS sandbox".to_owned()),
    }
}

#[cfg(target_os = "linux")]
fn watches() -> Result<String, String> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let limit = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/max_user_{name}"));
        text.map_or_else(|_| "?".to_owned(), |text| text.trim().to_owned())
    };
    let limits =
        format!("at most {} instances and {} watches", limit("instances"), limit("watches"));
    let tried = init(CreateFlags::CLOEXEC)
        .and_then(|instance| add_watch(&instance, "/", WatchFlags::CREATE));
    match tried {
        Ok(_) => Ok(limits),
        Err(errno) => Err(format!("{}: {limits}", io::Error::from(errno))),
    }
}

#[cfg(not(target_os = "linux"))]
fn watches() -> Result<String, String> {
    Ok("not used here".to_owned())
}

fn clock() -> Result<String, String> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    match since.as_secs() >= MIN_TIME {
        true => Ok("set".to_owned()),
        false => Err("it shows a time before 2025".to_owned()),
    }
}
