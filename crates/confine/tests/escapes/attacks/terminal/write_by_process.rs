//! Writes to the caller's terminal through the descriptors of other processes.

use std::io::Write;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/write_by_process",
    what: "writes to terminals that others have open",
    attempt: |t| {
        let mut pids = t.others();
        if !t.confined {
            pids.push(t.caller)
        }
        for fd in pids
            .into_iter()
            .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten())
        {
            let terminal = fs::read_link(fd.path()).is_ok_and(|path| path == t.terminal);
            if let (true, Ok(fd)) = (terminal, sys::open_for_writing(fd.path())) {
                let _ = fs::File::from(fd).write_all(MARK.as_bytes());
            }
        }
        Outcome::Tried
    },
    check: Scene::terminal_is_silent,
    ..BASE
};
