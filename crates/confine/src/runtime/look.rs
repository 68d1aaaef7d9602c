//! Looks at the files of the host, below a root that tests choose.
//!
//! Paths given and returned are the host's own, without that root. Links are
//! followed here, component by component, so that an absolute link stays below
//! the root and every link on the way is known.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// How many links a path may go through, as in the kernel.
const MAX_LINKS: usize = 40;

/// The files of the host, each looked at once.
#[derive(Debug)]
pub(super) struct Look<'h> {
    root: &'h Path,
    seen: RefCell<HashMap<PathBuf, Option<Seen>>>,
    resolved: RefCell<HashMap<PathBuf, Option<Rc<Resolved>>>>,
    links: RefCell<HashMap<PathBuf, Links>>,
    used: RefCell<Used>,
}

/// What the answers were taken from, as paths outside.
#[derive(Debug, Default)]
pub(super) struct Used {
    /// Single names, whether or not they exist.
    pub(super) names: BTreeSet<PathBuf>,
    /// Directories whose list of names was read.
    pub(super) lists: BTreeSet<PathBuf>,
    /// Files whose content was read.
    pub(super) texts: BTreeSet<PathBuf>,
}

/// The links in a directory: their names and texts.
type Links = Rc<Vec<(OsString, PathBuf)>>;

/// What is known about a name.
#[derive(Debug, Clone)]
enum Seen {
    /// A link, and its text.
    Link(PathBuf),
    /// Anything else.
    Other(Metadata),
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The path without links.
    pub(super) real: PathBuf,
    /// The links on the way: where each one is, and its text.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

impl<'h> Look<'h> {
    /// Looks at the files below `root`.
    pub(super) fn new(root: &'h Path) -> Self {
        Self {
            root,
            seen: RefCell::default(),
            resolved: RefCell::default(),
            links: RefCell::default(),
            used: RefCell::default(),
        }
    }

    /// Returns what all answers so far were taken from.
    pub(super) fn used(&self) -> std::cell::Ref<'_, Used> {
        self.used.borrow()
    }

    fn read_dir(&self, real: &Path) -> Option<fs::ReadDir> {
        let outside = self.outside(real);
        let entries = fs::read_dir(&outside).ok();
        self.used.borrow_mut().lists.insert(outside);
        entries
    }

    /// Follows `path` to what exists there.
    pub(super) fn resolve(&self, path: &Path) -> Option<Rc<Resolved>> {
        if let Some(known) = self.resolved.borrow().get(path) {
            return known.clone();
        }
        let found = self.follow(path).map(Rc::new);
        self.resolved.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }

    fn follow(&self, path: &Path) -> Option<Resolved> {
        if !path.is_absolute() {
            return None;
        }
        let mut real = PathBuf::from("/");
        let mut links = Vec::new();
        let mut ahead: Vec<OsString> = components(path).rev().collect();
        while let Some(name) = ahead.pop() {
            if name == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&name);
            let text = match self.look(&next)? {
                Seen::Link(text) => text,
                Seen::Other(_) => {
                    real = next;
                    continue;
                }
            };
            if links.len() == MAX_LINKS {
                return None;
            }
            if text.is_absolute() {
                real = PathBuf::from("/");
            }
            ahead.extend(components(&text).rev());
            links.push((next, text));
        }
        Some(Resolved { real, links })
    }

    /// Returns the text of a link.
    pub(super) fn link(&self, path: &Path) -> Option<PathBuf> {
        match self.look(path)? {
            Seen::Link(text) => Some(text),
            Seen::Other(_) => None,
        }
    }

    /// Returns whether `path` leads to a directory.
    pub(super) fn is_dir(&self, path: &Path) -> bool {
        self.followed(path).is_some_and(|meta| meta.is_dir())
    }

    /// Returns whether `path` leads to anything.
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.followed(path).is_some()
    }

    /// Returns whether `path` leads to a file that can be run.
    pub(super) fn is_program(&self, path: &Path) -> bool {
        self.followed(path)
            .is_some_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }

    /// Returns whether everybody may write to what `path` leads to.
    pub(super) fn is_open_to_all(&self, path: &Path) -> bool {
        self.followed(path).is_some_and(|meta| meta.permissions().mode() & 0o002 != 0)
    }

    /// Returns the names in a directory, sorted.
    pub(super) fn names(&self, path: &Path) -> Vec<OsString> {
        let Some(at) = self.resolve(path) else { return Vec::new() };
        let Some(entries) = self.read_dir(&at.real) else { return Vec::new() };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names
    }

    /// Returns the links in a directory, sorted: their names and texts.
    pub(super) fn links_in(&self, path: &Path) -> Links {
        let Some(at) = self.resolve(path) else { return Rc::default() };
        if let Some(known) = self.links.borrow().get(&at.real) {
            return Rc::clone(known);
        }
        let links = Rc::new(self.read_links(&at.real));
        self.links.borrow_mut().insert(at.real.clone(), Rc::clone(&links));
        links
    }

    fn read_links(&self, real: &Path) -> Vec<(OsString, PathBuf)> {
        let Some(entries) = self.read_dir(real) else { return Vec::new() };
        let mut links: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
            .filter_map(|entry| Some((entry.file_name(), fs::read_link(entry.path()).ok()?)))
            .collect();
        links.sort();
        links
    }

    /// Returns the text of a regular file of at most `most` bytes.
    pub(super) fn text(&self, path: &Path, most: u64) -> Option<String> {
        let at = self.resolve(path)?;
        let meta = self.meta(&at.real)?;
        if !meta.is_file() || meta.len() > most {
            return None;
        }
        let mut bytes = Vec::new();
        let outside = self.outside(&at.real);
        self.used.borrow_mut().texts.insert(outside.clone());
        File::open(outside).ok()?.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the existing paths below `base` that match `pattern`, in which
    /// `*` stands for any run of characters in one name. Paths are relative to
    /// `base`, sorted.
    pub(super) fn matches(&self, base: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut found = vec![PathBuf::new()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for path in found {
                if part.contains('*') {
                    let names = self.names(&base.join(&path));
                    let names = names.into_iter().filter(|name| fits(part, name));
                    next.extend(names.map(|name| path.join(name)));
                } else {
                    next.push(path.join(part));
                }
            }
            found = next;
        }
        found.retain(|path| self.exists(&base.join(path)));
        found
    }

    fn followed(&self, path: &Path) -> Option<Metadata> {
        self.meta(&self.resolve(path)?.real)
    }

    fn meta(&self, path: &Path) -> Option<Metadata> {
        match self.look(path)? {
            Seen::Link(_) => None,
            Seen::Other(meta) => Some(meta),
        }
    }

    fn look(&self, path: &Path) -> Option<Seen> {
        if let Some(known) = self.seen.borrow().get(path) {
            return known.clone();
        }
        let outside = self.outside(path);
        self.used.borrow_mut().names.insert(outside.clone());
        let found = fs::symlink_metadata(&outside).ok().and_then(|meta| match meta.is_symlink() {
            true => fs::read_link(outside).ok().map(Seen::Link),
            false => Some(Seen::Other(meta)),
        });
        self.seen.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }

    fn outside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// Returns whether `name` fits `part`, in which `*` stands for any characters.
/// A `*` does not stand for a leading dot.
pub(super) fn fits(part: &str, name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return part == "*" };
    let mut pieces = part.split('*');
    let first = pieces.next().unwrap_or_default();
    if first.is_empty() && part.starts_with('*') && name.starts_with('.') {
        return false;
    }
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn components(path: &Path) -> impl DoubleEndedIterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_fit_patterns() {
        let cases = [
            ("*", "github.com", true),
            ("*", ".git", false),
            ("python3*", "python3.11", true),
            ("python3*", "python3", true),
            ("java-*", "javac", false),
            ("*-linux-gnu", "x86_64-conda-linux-gnu", true),
            ("*-linux-gnu", "linux", false),
            ("*.crate", "a-1.0.crate.crate", true),
            ("a*b*c", "a-c", false),
            ("bin", "bin", true),
            ("bin", "bin2", false),
            (".java", ".java", true),
        ];
        for (part, name, fit) in cases {
            assert_eq!(fits(part, name.as_ref()), fit, "{part:?} {name:?}");
        }
    }

    #[test]
    fn links_stay_below_the_root_and_are_all_reported() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("usr/lib/jvm/17/bin")).unwrap();
        fs::create_dir_all(root.join("etc/alternatives")).unwrap();
        symlink("usr/bin", root.join("bin")).unwrap();
        fs::create_dir(root.join("usr/bin")).unwrap();
        fs::write(root.join("usr/lib/jvm/17/bin/java"), "").unwrap();
        symlink("/etc/alternatives/java", root.join("usr/bin/java")).unwrap();
        symlink("/usr/lib/../lib/jvm/17/bin/java", root.join("etc/alternatives/java")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let look = Look::new(root);
        let found = look.resolve(Path::new("/bin/java")).unwrap();
        assert_eq!(found.real, Path::new("/usr/lib/jvm/17/bin/java"));
        let places: Vec<_> = found.links.iter().map(|(at, _)| at.to_str().unwrap()).collect();
        assert_eq!(places, ["/bin", "/usr/bin/java", "/etc/alternatives/java"]);
        for path in ["/loop", "/missing", "/bin/missing", "relative"] {
            assert_eq!(look.resolve(Path::new(path)), None, "{path}");
        }
    }
}
