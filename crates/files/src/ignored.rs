//! What git would leave out: `.gitignore` files at every level.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::fault::Fault;
use crate::read::read_up_to;
use crate::root::{Dir, Kind, Store};

/// Larger lists are left alone: nobody wrote them by hand.
const MAX_LIST: u64 = 256 * 1024;

/// The rules of a directory and of those above it, up to the repository.
#[derive(Debug)]
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    matcher: Gitignore,
    /// How much of a path leads to the directory that the rules are in.
    prefix: usize,
}

impl Rules {
    /// Returns the rules that hold in `dir`, reading those of each directory
    /// from the store's root down.
    pub(crate) fn leading_to(
        store: &dyn Store,
        dir: &dyn Dir,
    ) -> Result<Option<Arc<Rules>>, Fault> {
        let mut rules = None;
        let mut at = store.root()?;
        let mut path = Vec::new();
        for name in dir.real_path().names() {
            rules = Rules::below(&*at, &path, rules);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            at = at.open_dir(name)?;
        }
        Ok(rules)
    }

    /// Returns the rules that hold in `dir`, which is at `path`, given those of
    /// the directory above it. A repository starts afresh.
    pub(crate) fn below(
        dir: &dyn Dir,
        path: &[u8],
        above: Option<Arc<Rules>>,
    ) -> Option<Arc<Rules>> {
        let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
        let add = |above: Option<Arc<Rules>>, list: Option<Gitignore>| match list {
            None => above,
            Some(matcher) => Some(Arc::new(Rules { above, matcher, prefix })),
        };
        let above = match dir.stat(b".git") {
            Ok(meta) if meta.kind == Kind::Dir => {
                let git = dir.open_dir(b".git").and_then(|git| git.open_dir(b"info"));
                add(None, git.ok().and_then(|info| read_list(&*info, b"exclude")))
            }
            Ok(_) => None,
            Err(_) => above,
        };
        add(above, read_list(dir, b".gitignore"))
    }

    /// Returns whether git would leave out `path`, given from the store's root.
    /// The last rule that matches decides, and the deepest list comes last.
    pub(crate) fn leave_out(&self, path: &[u8], kind: Kind) -> bool {
        let mut rules = Some(self);
        while let Some(at) = rules {
            let below = Path::new(OsStr::from_bytes(&path[at.prefix..]));
            match at.matcher.matched(below, kind == Kind::Dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = at.above.as_deref(),
            }
        }
        false
    }
}

/// Reads a list; one that cannot be read, or is a link, holds nothing.
fn read_list(dir: &dyn Dir, name: &[u8]) -> Option<Gitignore> {
    let bytes = read_up_to(&*dir.open_file(name).ok()?, MAX_LIST).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in bytes.split(|&b| b == b'\n') {
        if let Ok(line) = std::str::from_utf8(line) {
            // A line that is no pattern matches nothing, as in git.
            let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
        }
    }
    builder.build().ok().filter(|list| !list.is_empty())
}
