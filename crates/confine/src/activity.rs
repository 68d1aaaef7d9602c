//! Whether commands run anywhere: how keepers tell what commands write from what the
//! user writes.
//!
//! While no command of the user's runs, in no session, whatever changes in a zone is the
//! user's own doing, or was asked for. A file that no command can reach has two bytes:
//! whoever runs commands holds the first, a keeper that takes changes in as the user's
//! the second. Each takes its own before it looks at the other one: so a command that
//! starts meanwhile waits, or the keeper sees it and leaves the changes alone. While only
//! commands of others run, their keepers see to them, and this one waits: each session
//! holds a byte of its own too.
//!
//! A session's lock belongs to its open file, which its keepers have too: when the
//! session is killed while a command runs, the lock stays until they have cleaned up.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::sys;

/// Held while commands run.
const RUNNING: i64 = 0;
/// Held while changes are taken in.
const TAKING_IN: i64 = 1;

/// How long a command waits until changes have been taken in.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How often it looks.
const STEP: Duration = Duration::from_micros(200);

/// What a session tells of its commands.
#[derive(Debug)]
pub struct Activity {
    file: OwnedFd,
    own: i64,
}

impl Activity {
    /// Uses the file at a path, the same for all sessions of a user, and makes it if it
    /// is not there. Fails where the file system has no such locks.
    pub fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        sys::is_byte_held(file.as_fd(), RUNNING)?;
        // Nobody else has the same by chance.
        let own = RandomState::new().build_hasher().finish() >> 2 | 1 << 32;
        Ok(Activity { file, own: own.cast_signed() })
    }

    /// Returns the byte that this session holds while its commands run.
    pub(crate) fn own(&self) -> i64 {
        self.own
    }

    /// Says that commands run from now on; waits until nobody takes changes in any more.
    pub fn begin(&self) -> io::Result<()> {
        sys::hold_byte(self.file.as_fd(), self.own)?;
        sys::hold_byte(self.file.as_fd(), RUNNING)?;
        let since = Instant::now();
        loop {
            match sys::is_byte_held(self.file.as_fd(), TAKING_IN) {
                Ok(false) => return Ok(()),
                Ok(true) if since.elapsed() < MAX_WAIT => std::thread::sleep(STEP),
                result => {
                    self.end();
                    result?;
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        }
    }

    /// Says that none runs any more.
    pub fn end(&self) {
        // Should it fail, nothing is taken in, which is safe.
        let _ = sys::release_byte(self.file.as_fd(), RUNNING);
        let _ = sys::release_byte(self.file.as_fd(), self.own);
    }
}

impl AsFd for Activity {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What a keeper knows by.
#[derive(Debug)]
pub(crate) struct Quiet {
    file: OwnedFd,
    own: i64,
    /// Keeps the session's lock as long as this process runs.
    _session: OwnedFd,
}

/// Whose commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Those of this session, or nobody can tell.
    Own,
    /// Those of other sessions only.
    Others,
}

impl Quiet {
    /// Looks by way of the file that a session has sent, and the byte of its own.
    pub(crate) fn of(session: OwnedFd, own: i64) -> io::Result<Self> {
        let path = crate::quarantine::handles::path_of(session.as_fd());
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Quiet { file, own, _session: session })
    }

    /// Does something unless commands run, or begin to; returns what came of it.
    pub(crate) fn during<T>(&self, act: impl FnOnce() -> T) -> Result<T, Runs> {
        let file = self.file.as_fd();
        sys::hold_byte(file, TAKING_IN).map_err(|_| Runs::Own)?;
        let done = match sys::is_byte_held(file, RUNNING) {
            Ok(false) => Ok(act()),
            Ok(true) if sys::is_byte_held(file, self.own).is_ok_and(|held| !held) => {
                Err(Runs::Others)
            }
            _ => Err(Runs::Own),
        };
        let _ = sys::release_byte(file, TAKING_IN);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet_of(activity: &Activity) -> Quiet {
        Quiet::of(activity.file.try_clone().unwrap(), activity.own).unwrap()
    }

    fn both() -> (tempfile::TempDir, Activity, Quiet) {
        let dir = tempfile::tempdir().unwrap();
        let activity = Activity::at(&dir.path().join("running")).unwrap();
        let quiet = quiet_of(&activity);
        (dir, activity, quiet)
    }

    #[test]
    fn nothing_is_taken_in_while_commands_run_in_any_session() {
        let (dir, activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        assert_eq!(quiet.during(|| 1), Ok(1));
        activity.begin().unwrap();
        assert_eq!(quiet.during(|| 1), Err(Runs::Own));
        other.begin().unwrap();
        assert_eq!(quiet.during(|| 1), Err(Runs::Own));
        activity.end();
        assert_eq!(quiet.during(|| 1), Err(Runs::Others));
        other.end();
        assert_eq!(quiet.during(|| 1), Ok(1));
    }

    #[test]
    fn a_session_that_is_gone_is_busy_until_its_keeper_is_gone_too() {
        let (dir, activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        let elsewhere = quiet_of(&other);
        activity.begin().unwrap();
        drop(activity);
        assert_eq!(quiet.during(|| 1), Err(Runs::Own));
        assert_eq!(elsewhere.during(|| 1), Err(Runs::Others));
        drop(quiet);
        assert_eq!(elsewhere.during(|| 1), Ok(1));
    }

    #[test]
    fn several_may_take_in_at_once_and_a_command_waits_for_all() {
        let (dir, activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        let second = quiet_of(&other);
        let order = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let done = quiet.during(|| {
                second.during(|| {
                    scope.spawn(|| {
                        activity.begin().unwrap();
                        order.lock().unwrap().push("begun");
                    });
                    std::thread::sleep(Duration::from_millis(50));
                    order.lock().unwrap().push("taken in");
                })
            });
            assert_eq!(done, Ok(Ok(())));
        });
        assert_eq!(order.into_inner().unwrap(), ["taken in", "begun"]);
    }
}
