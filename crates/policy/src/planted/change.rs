//! The judgement of one change that a command made to a guarded file.
//!
//! A change is the file before and after the command. Its source is a comparison that the
//! keeper makes; any other source that knows both sides can be judged the same way.

use super::Level;

/// A guarded path before or after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side<'c> {
    /// Nothing was there.
    Missing,
    /// A file with this content.
    File(&'c [u8]),
    /// A symbolic link to this path.
    Link(&'c [u8]),
    /// Something else, or a file that is too large to be compared.
    Other,
}

/// Whether a commit has content at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Committed {
    /// No commit that counts has it.
    #[default]
    No,
    /// One has it of the repository that a command made there in a new directory: a clone.
    InClone,
    /// One has it that no command made.
    ByUser,
}

/// What a command did to a guarded path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'c> {
    /// The path before the command.
    pub old: Side<'c>,
    /// The path after it.
    pub new: Side<'c>,
    /// Whether the old content is committed at this path.
    pub old_committed: Committed,
    /// Whether the new content is committed at this path.
    pub new_committed: Committed,
}

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It stays.
    Accept,
    /// It stays, and is named in the summary.
    Report,
    /// The new version goes to the quarantine, and the old one is put back.
    Hold,
}

impl Change<'_> {
    /// Returns what becomes of the change at a level.
    pub fn judge(&self, level: Level) -> Outcome {
        let is_same = self.old == self.new && self.old != Side::Other;
        match level {
            _ if is_same => Outcome::Accept,
            // An older version of such a file may allow more than the present one.
            Level::Block => Outcome::Hold,
            _ if self.new_committed == Committed::ByUser => Outcome::Accept,
            Level::Report => Outcome::Report,
            // Programs ask about a directory that they have never opened, and CI of a clone
            // runs nowhere before a push.
            Level::Ask if self.new_committed == Committed::InClone => Outcome::Report,
            // Git can bring it back.
            Level::Ask if self.new == Side::Missing && self.old_committed > Committed::No => {
                Outcome::Report
            }
            Level::Ask => Outcome::Hold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_judged_by_its_level_and_by_what_is_committed() {
        use Committed::{ByUser, InClone, No};
        use Outcome::*;
        use Side::{File, Link, Missing, Other};
        let cases = [
            // old, new, is the old, the new content committed; block, ask, report
            (Missing, File(b"x"), No, No, [Hold, Hold, Report]),
            (Missing, File(b"x"), No, InClone, [Hold, Report, Report]),
            (Missing, File(b"x"), No, ByUser, [Hold, Accept, Accept]),
            (File(b"x"), File(b"y"), ByUser, No, [Hold, Hold, Report]),
            (File(b"x"), File(b"y"), InClone, No, [Hold, Hold, Report]),
            (File(b"x"), File(b"y"), ByUser, ByUser, [Hold, Accept, Accept]),
            (File(b"x"), File(b"x"), No, No, [Accept, Accept, Accept]),
            (File(b"x"), Link(b"x"), ByUser, No, [Hold, Hold, Report]),
            (File(b"x"), Missing, ByUser, No, [Hold, Report, Report]),
            (File(b"x"), Missing, InClone, No, [Hold, Report, Report]),
            (File(b"x"), Missing, No, No, [Hold, Hold, Report]),
            (Missing, Other, No, No, [Hold, Hold, Report]),
            (Other, Other, No, No, [Hold, Hold, Report]),
        ];
        for (old, new, old_committed, new_committed, want) in cases {
            let change = Change { old, new, old_committed, new_committed };
            let levels = [Level::Block, Level::Ask, Level::Report];
            assert_eq!(levels.map(|level| change.judge(level)), want, "{change:?}");
        }
    }

    #[test]
    fn a_stricter_level_never_lets_more_through() {
        let sides =
            [Side::Missing, Side::File(b"x"), Side::File(b"y"), Side::Link(b"x"), Side::Other];
        for old in sides {
            for new in sides {
                let all = [Committed::No, Committed::InClone, Committed::ByUser];
                for (old_committed, new_committed) in
                    all.iter().flat_map(|old| all.iter().map(move |new| (*old, *new)))
                {
                    let change = Change { old, new, old_committed, new_committed };
                    let rank = |level| match change.judge(level) {
                        Outcome::Accept => 0,
                        Outcome::Report => 1,
                        Outcome::Hold => 2,
                    };
                    assert!(rank(Level::Report) <= rank(Level::Ask), "{change:?}");
                    assert!(rank(Level::Ask) <= rank(Level::Block), "{change:?}");
                }
            }
        }
    }
}
