//! Opens the files that other processes have mapped, by address.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/proc_map_files",
    what: "opens files that other processes have mapped",
    attempt: |t| {
        let opened = t.others().into_iter().any(|pid| {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/map_files")) else { return false };
            files.flatten().any(|file| {
                fs::read_link(file.path())
                    .is_ok_and(|path| path.starts_with(&t.host) || path.ends_with("attacker"))
                    && fs::File::open(file.path()).is_ok()
            })
        });
        Outcome::when("opened a mapped file of the host", opened)
    },
    control: Control::NeedsRoot("only root with all capabilities opens these"),
    held_by: OWN_TREE,
    ..BASE
};
