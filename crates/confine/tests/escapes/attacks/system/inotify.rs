//! Takes the user's inotify instances, without which the guards of other sandboxes see
//! nothing.

use super::BASE;
use crate::prelude::*;

/// More than a quarter of the user's is too much.
const PART: usize = 4;

pub(super) const ATTACK: Attack = Attack {
    name: "system/inotify",
    what: "takes many of the user's inotify instances and watches",
    attempt: |_| {
        let number = |path: &str| {
            let text = fs::read_to_string(Path::new("/proc/sys").join(path)).unwrap_or_default();
            text.trim().parse::<usize>().unwrap_or(usize::MAX)
        };
        let most = number("fs/inotify/max_user_instances") / PART;
        let made = (0..most).take_while(|_| call(libc::SYS_inotify_init1, &[0]).is_ok()).count();
        let watches = number("fs/inotify/max_user_watches") / PART;
        Outcome::any([
            Outcome::when("took a quarter of the instances", made >= most),
            Outcome::when(
                "may take a quarter of the watches",
                number("user/max_inotify_watches") >= watches,
            ),
        ])
    },
    control: Control::None("it would disarm the guards of this user's other sandboxes"),
    held_by: OWN_TREE,
    ..BASE
};
