//! Leaves a hook and closes the directory above it, so that a later look fails.

use std::os::unix::fs::PermissionsExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_closed_directory",
    what: "leaves a hook in a closed directory",
    attempt: |t| {
        let _ = super::plant(t, "closed/.git/hooks/pre-commit");
        let _ = fs::set_permissions(t.rw.join("closed"), fs::Permissions::from_mode(0o000));
        Outcome::Tried
    },
    check: |scene| {
        let _ = fs::set_permissions(scene.rw("closed"), fs::Permissions::from_mode(0o755));
        scene.not_planted(&["closed/.git/hooks/pre-commit"])
    },
    ..BASE
};
