//! Content that is not to be trusted, and what changes once it was read.
//!
//! A zone can be `untrusted`: what lies there may have been written to mislead
//! whoever reads it. A worker that has read from such a zone is tainted, and so is
//! every worker that it calls: from then on nothing that changes anything goes
//! ahead without a question, and what the project lists under `when_tainted`
//! holds. [`by`] says which actions read; [`Grant::tainted`](crate::Grant::tainted)
//! is what is left.

use crate::action::Verb;
use crate::path::AgentPath;
use crate::policy::{BackendChoice, Consent};
use crate::source::{At, Ruled};
use crate::view::{Mount, Spot, View};

/// What is added to the words of a rule that holds because of taint.
pub(crate) const TAINTED: &str = " (tainted)";

/// What a project withholds from workers that have read untrusted content
/// (`when_tainted`), beyond that nothing is pre-approved for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WhenTainted {
    /// Where it says that commands reach nothing any more, if it does.
    pub network_off: Option<At>,
    /// Zones that are gone.
    pub without: Vec<Ruled<String>>,
    /// What holds commands to their boundaries; never nothing.
    pub backend: Option<Ruled<BackendChoice>>,
    /// What becomes of questions, where that is stricter.
    pub approval: Option<Ruled<Consent>>,
    /// Tools that are gone, by canonical name.
    pub tools: Vec<Ruled<String>>,
    /// Where it is written.
    pub at: At,
}

/// Returns the untrusted zone that an action reads from, if it does.
///
/// `path` is what is looked at, or moved or copied from, as it really lies: with
/// the links in it resolved. Looking at an entry's size and time is no reading, and
/// neither is listing the root, which shows the names of the zones alone.
pub fn by<'v>(view: &'v View, verb: Verb, path: &AgentPath) -> Option<&'v str> {
    let reads = match verb {
        Verb::Read | Verb::List | Verb::Find | Verb::Search => true,
        // These show what was there, or carry it to where it would be trusted.
        Verb::Edit | Verb::Copy | Verb::Move => true,
        Verb::Info | Verb::Write | Verb::Delete => false,
    };
    match view.locate(path)? {
        _ if !reads => None,
        Spot::Root if matches!(verb, Verb::Find | Verb::Search) => by_command(view),
        Spot::Root => None,
        Spot::In { mount, .. } => untrusted(&view.mounts()[mount]),
    }
}

/// Returns the untrusted zone that a command can read from, if it can: nobody
/// knows what it reads, so it counts as having read all that it sees.
pub fn by_command(view: &View) -> Option<&str> {
    view.mounts().iter().find_map(untrusted)
}

fn untrusted(mount: &Mount) -> Option<&str> {
    mount.zone.untrusted.as_ref().map(|_| mount.zone.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Mount;
    use crate::zone::{Mode, Zone};

    fn view(zones: &[(&str, bool)]) -> View {
        let mounts = zones.iter().map(|(name, untrusted)| {
            let mut zone = Zone::new(*name, format!("/p/{name}"), Mode::Rw, At::Default);
            zone.untrusted = untrusted.then_some(At::Default);
            Mount { zone }
        });
        View::new(mounts.collect(), AgentPath::root(), AgentPath::root())
    }

    #[test]
    fn what_reads_untrusted_content_is_told_from_what_does_not() {
        use Verb::{Copy, Delete, Edit, Find, Info, List, Move, Read, Search, Write};
        let view_of = view(&[("data", false), ("inbox", true)]);
        let all = [Read, List, Find, Search, Info, Write, Edit, Delete, Move, Copy];
        for verb in all {
            let reads = !matches!(verb, Info | Write | Delete);
            let everywhere = matches!(verb, Find | Search);
            let cases = [
                ("/inbox", reads),
                ("/inbox/a/b.md", reads),
                ("/data", false),
                ("/data/inbox", false),
                ("/inbo", false),
                ("/", everywhere),
            ];
            for (path, want) in cases {
                let got = by(&view_of, verb, &AgentPath::absolute(path).unwrap());
                assert_eq!(got, want.then_some("inbox"), "{verb} {path}");
            }
            let trusted = view(&[("data", false)]);
            assert_eq!(by(&trusted, verb, &AgentPath::root()), None, "{verb}");
        }
        assert_eq!(by_command(&view_of), Some("inbox"));
        assert_eq!(by_command(&view(&[("data", false)])), None);
        assert_eq!(by_command(&view(&[])), None);
    }
}
