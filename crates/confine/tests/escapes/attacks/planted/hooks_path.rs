//! Changes a hook in the directory that the settings of the repository name.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hooks_path",
    what: "changes a hook in a directory of its own",
    setup: |scene| {
        scene.repository("");
        scene.put(".git/config", "[core]\n\thooksPath = tools/hooks\n");
        scene.put("tools/hooks/pre-commit", "#!/bin/sh\n");
    },
    attempt: |t| super::plant(t, "tools/hooks/pre-commit"),
    check: |scene| scene.not_planted(&["tools/hooks/pre-commit"]),
    ..BASE
};
