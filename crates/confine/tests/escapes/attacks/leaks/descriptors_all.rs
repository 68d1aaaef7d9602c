//! Counts its descriptors: there are three, and the one that it counts by.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/descriptors_all",
    what: "has more descriptors than three",
    attempt: |_| {
        let known = |path: &Path| fs::read_link(path).is_ok_and(|to| to.starts_with("/proc"));
        let names = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let more = names.filter(|entry| {
            let number: i32 =
                entry.file_name().to_str().and_then(|name| name.parse().ok()).unwrap_or(0);
            number > 2 && !known(&entry.path())
        });
        let more: Vec<String> = more
            .map(|entry| format!("{:?} is {:?}", entry.file_name(), fs::read_link(entry.path())))
            .collect();
        Outcome::when(&more.join(", "), !more.is_empty())
    },
    ..BASE
};
