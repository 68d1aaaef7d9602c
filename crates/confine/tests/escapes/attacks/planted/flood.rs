//! Makes so many directories with guarded files at once that notices get lost.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/flood",
    what: "plants more than can be watched",
    attempt: |t| {
        for number in 0..1500 {
            let _ = super::plant(t, &format!("flood/{number}/.envrc"));
        }
        Outcome::Tried
    },
    check: |scene| {
        let left = (0..1500)
            .filter(|number| scene.not_planted(&[&format!("flood/{number}/.envrc")]).is_err())
            .count();
        if left > 0 { Err(format!("{left} files are left")) } else { Ok(()) }
    },
    ..BASE
};
