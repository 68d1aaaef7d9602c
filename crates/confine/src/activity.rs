//! Whether commands run anywhere: how keepers tell what commands write from what the
//! user writes.
//!
//! While no command of the user's that could write there runs, in no session, whatever
//! changes in a zone is the user's own doing, or was asked for. A file that no command
//! can reach has a byte for each directory: whoever runs commands holds those of the
//! directories they can write, and others for what these lie in. A keeper that takes
//! changes in as the user's holds another one. Each takes its own before it looks at the
//! other's: so a command that starts meanwhile waits, or the keeper sees it and leaves the
//! changes alone. While only commands of others run, their keepers see to them, and this
//! one waits: each session holds a byte of its own too.
//!
//! A session's locks belong to its open file, which its keepers have too: when the
//! session is killed while a command runs, they stay until the keepers have cleaned up.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::sys;

/// Held while changes are taken in.
const TAKING_IN: i64 = 0;
/// From here on are the bytes of directories and sessions.
const FIRST: i64 = 16;

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
        sys::is_byte_held(file.as_fd(), TAKING_IN)?;
        // Nobody else has the same by chance.
        let own = byte(RandomState::new().build_hasher().finish());
        Ok(Activity { file, own })
    }

    /// Returns the byte that this session holds while its commands run.
    pub(crate) fn own(&self) -> i64 {
        self.own
    }

    /// Says that commands run from now on that can write these directories; waits until
    /// nobody takes changes in any more.
    pub fn begin<'d>(&self, writable: impl IntoIterator<Item = &'d Path>) -> io::Result<()> {
        sys::hold_byte(self.file.as_fd(), self.own)?;
        for directory in writable {
            sys::hold_byte(self.file.as_fd(), Of::Itself.byte(directory))?;
            for above in directory.ancestors().skip(1) {
                sys::hold_byte(self.file.as_fd(), Of::Below.byte(above))?;
            }
        }
        let since = Instant::now();
        loop {
            match sys::is_byte_held(self.file.as_fd(), TAKING_IN) {
                Ok(false) => return Ok(()),
                Ok(true) if since.elapsed() < MAX_WAIT => std::thread::sleep(STEP),
                Ok(true) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Says that none runs any more.
    pub fn end(&self) {
        // Should it fail, nothing is taken in, which is safe.
        let _ = sys::release_bytes(self.file.as_fd(), FIRST);
    }
}

/// What a byte stands for.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// A directory that commands can write.
    Itself,
    /// One that such a directory lies in.
    Below,
}

impl Of {
    /// Returns the byte for a directory, the same for everybody. Two may have the same by
    /// chance, which only makes somebody wait.
    fn byte(self, directory: &Path) -> i64 {
        let kind = self as u8;
        let bytes = std::iter::once(&kind).chain(directory.as_os_str().as_bytes());
        // FNV-1a.
        byte(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }
}

/// Returns a byte behind the first ones.
fn byte(hash: u64) -> i64 {
    (hash >> 2).cast_signed() | FIRST
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

    /// Does something unless commands run, or begin to, that can write these directories
    /// or a part of them; returns what came of it.
    pub(crate) fn during<'d, T>(
        &self,
        directories: impl IntoIterator<Item = &'d Path>,
        act: impl FnOnce() -> T,
    ) -> Result<T, Runs> {
        let file = self.file.as_fd();
        sys::hold_byte(file, TAKING_IN).map_err(|_| Runs::Own)?;
        let done = match self.runs(directories) {
            Ok(None) => Ok(act()),
            Ok(Some(runs)) => Err(runs),
            Err(_) => Err(Runs::Own),
        };
        let _ = sys::release_byte(file, TAKING_IN);
        done
    }

    /// Returns the byte of the session.
    pub(crate) fn own(&self) -> i64 {
        self.own
    }

    /// Returns whether commands of other sessions may run that can write any of these
    /// directories, whatever this session runs.
    pub(crate) fn others_run<'d>(&self, directories: impl IntoIterator<Item = &'d Path>) -> bool {
        // The session's own locks are those of this open file.
        let is_held = |byte| sys::is_byte_held(self._session.as_fd(), byte).unwrap_or(true);
        directories.into_iter().any(|directory| {
            is_held(Of::Below.byte(directory))
                || directory.ancestors().any(|above| is_held(Of::Itself.byte(above)))
        })
    }

    /// Returns whose commands run that can write any of these directories.
    fn runs<'d>(
        &self,
        directories: impl IntoIterator<Item = &'d Path>,
    ) -> io::Result<Option<Runs>> {
        let is_held = |byte| sys::is_byte_held(self.file.as_fd(), byte);
        if is_held(self.own)? {
            return Ok(Some(Runs::Own));
        }
        for directory in directories {
            let mut bytes = vec![Of::Below.byte(directory)];
            bytes.extend(directory.ancestors().map(|above| Of::Itself.byte(above)));
            for byte in bytes {
                if is_held(byte)? {
                    return Ok(Some(Runs::Others));
                }
            }
        }
        Ok(None)
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

    const ZONE: [&str; 1] = ["/p/zone"];

    fn paths<const N: usize>(paths: [&'static str; N]) -> [&'static Path; N] {
        paths.map(Path::new)
    }

    fn taken(quiet: &Quiet) -> Result<(), Runs> {
        quiet.during(paths(ZONE), || ())
    }

    #[test]
    fn nothing_is_taken_in_while_commands_run_in_any_session() {
        let (dir, activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        assert_eq!(taken(&quiet), Ok(()));
        activity.begin(paths(ZONE)).unwrap();
        assert_eq!(taken(&quiet), Err(Runs::Own));
        other.begin(paths(ZONE)).unwrap();
        assert_eq!(taken(&quiet), Err(Runs::Own));
        activity.end();
        assert_eq!(taken(&quiet), Err(Runs::Others));
        other.end();
        assert_eq!(taken(&quiet), Ok(()));
        // Whatever its own commands can write.
        activity.begin([]).unwrap();
        assert_eq!(taken(&quiet), Err(Runs::Own));
    }

    #[test]
    fn only_commands_that_can_write_there_count() {
        let (dir, _activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        let cases = [
            ("/p/zone", true),
            ("/p", true),
            ("/", true),
            ("/p/zone/deep/er", true),
            ("/p/zone2", false),
            ("/p/other", false),
            ("/q/zone", false),
        ];
        for (writable, counts) in cases {
            other.begin(paths(["/elsewhere", writable])).unwrap();
            let want = if counts { Err(Runs::Others) } else { Ok(()) };
            assert_eq!(taken(&quiet), want, "{writable}");
            assert_eq!(quiet.during(paths(["/x", "/p/zone"]), || ()), want, "{writable}");
            other.end();
        }
        assert_eq!(taken(&quiet), Ok(()));
    }

    #[test]
    fn a_session_that_is_gone_is_busy_until_its_keeper_is_gone_too() {
        let (dir, activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        let elsewhere = quiet_of(&other);
        activity.begin(paths(ZONE)).unwrap();
        drop(activity);
        assert_eq!(taken(&quiet), Err(Runs::Own));
        assert_eq!(taken(&elsewhere), Err(Runs::Others));
        drop(quiet);
        assert_eq!(taken(&elsewhere), Ok(()));
    }

    #[test]
    fn several_may_take_in_at_once_and_a_command_waits_for_all() {
        let (dir, activity, quiet) = both();
        let other = Activity::at(&dir.path().join("running")).unwrap();
        let second = quiet_of(&other);
        let order = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let done = quiet.during(paths(ZONE), || {
                second.during(paths(ZONE), || {
                    scope.spawn(|| {
                        activity.begin(paths(ZONE)).unwrap();
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
