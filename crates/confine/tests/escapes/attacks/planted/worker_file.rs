//! Leaves a worker with rights of its own, at `workers/helper.worker`: it must
//! not be there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/worker_file",
    what: "leaves a worker with rights of its own",
    attempt: |t| super::plant(t, "workers/helper.worker"),
    check: |scene| scene.not_planted(&["workers/helper.worker"]),
    ..BASE
};
