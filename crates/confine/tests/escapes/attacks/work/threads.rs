//! Starts threads, which libraries do by the newest call and then by the older.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/threads",
    what: "starts threads",
    attempt: |_| {
        let threads: Vec<_> =
            (0..8).map(|number| std::thread::Builder::new().spawn(move || number * 2)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| {
                thread.and_then(|thread| thread.join().map_err(|_| io::Error::other("it failed")))
            })
            .collect::<io::Result<Vec<i32>>>();
        Outcome::ordinary("threads", joined)
    },
    ..BASE
};
