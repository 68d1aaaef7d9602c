//! Opens the files of control groups for writing: the release agent runs as root
//! on the host, and the list of processes moves one out of its limits.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/cgroup_agent",
    what: "opens files of control groups for writing",
    attempt: |_| {
        let Ok(groups) = fs::read_dir("/sys/fs/cgroup") else {
            return Outcome::Held("no control groups".into());
        };
        let mut dirs: Vec<PathBuf> = groups.flatten().map(|entry| entry.path()).collect();
        dirs.push("/sys/fs/cgroup".into());
        Outcome::any(dirs.iter().flat_map(|dir| {
            ["release_agent", "cgroup.procs", "cgroup.subtree_control", "notify_on_release"]
                .map(|name| Outcome::of(name, sys::open_for_writing(dir.join(name))))
        }))
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
