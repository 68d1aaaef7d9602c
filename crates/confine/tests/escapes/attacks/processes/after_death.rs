//! Ends itself by the signal that cannot be handled, while a child goes on: the
//! child ends with it.

use std::io::Write;
use std::os::unix::process::CommandExt;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/after_death",
    what: "dies while its child goes on",
    attempt: |t| {
        let _ = t.lingering().process_group(0).stdout(std::process::Stdio::null()).spawn();
        std::thread::sleep(Duration::from_millis(50));
        println!("{}", Outcome::Tried);
        let _ = io::stdout().flush();
        sys::kill(std::process::id() as i32);
        Outcome::Tried
    },
    check: Scene::nothing_lingers,
    ..BASE
};
