//! The tree that an agent sees: a directory for each zone it has, at `/NAME` or at the
//! zone's host path.

use std::sync::LazyLock;

use crate::path::{AgentPath, PathError, RelPath};
use crate::source::{At, Ruled};
use crate::zone::{Mode, Placement, Zone};

/// The private directory of commands that file tools can read.
const TMP: &str = "/tmp";

/// It as a mount: the one after those of a view.
static TMP_MOUNT: LazyLock<Mount> = LazyLock::new(|| {
    let mut zone = Zone::new("tmp", TMP, Mode::Ro, At::Default);
    zone.placement = Ruled::default_of(Placement::Same);
    Mount { zone }
});

/// A zone placed at an agent path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The zone, with the mode, limits and consent that hold for this worker.
    pub zone: Zone,
}

impl Mount {
    /// Returns the path the agent sees.
    pub fn path(&self) -> AgentPath {
        self.zone.agent_path()
    }

    /// Returns whether names with this ending may be used.
    pub fn suffix_allowed(&self, name: &[u8]) -> bool {
        match &self.zone.suffixes {
            None => true,
            Some(suffixes) => has_suffix(name, &suffixes.value),
        }
    }
}

/// Returns whether `name` ends in one of `suffixes`, in any case of letters.
pub fn has_suffix(name: &[u8], suffixes: &[String]) -> bool {
    suffixes.iter().any(|suffix| {
        name.len() > suffix.len()
            && name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
    })
}

/// Where in the view a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// The root, which lists the mounts.
    Root,
    /// In a mount, at a path below it.
    In {
        /// The mount's number.
        mount: usize,
        /// The path below it.
        path: RelPath,
    },
}

/// All the mounts of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    mounts: Vec<Mount>,
    working_dir: AgentPath,
    home: AgentPath,
}

impl View {
    /// Returns a view of `mounts`; their names must differ.
    pub fn new(mounts: Vec<Mount>, working_dir: AgentPath, home: AgentPath) -> Self {
        let view = View { mounts, working_dir: AgentPath::root(), home: AgentPath::root() };
        let (working_dir, home) = (view.canonical(working_dir), view.canonical(home));
        View { working_dir, home, ..view }
    }

    /// Returns a view of other mounts. Relative paths start where they did and `~` is what
    /// it was, where that is still in the tree; else both are the root.
    pub(crate) fn over(&self, mounts: Vec<Mount>) -> Self {
        let view = View { mounts, ..View::default() };
        let kept = |path: &AgentPath| match view.locate(path) {
            Some(_) => path.clone(),
            None => AgentPath::root(),
        };
        let (working_dir, home) = (kept(&self.working_dir), kept(&self.home));
        View { working_dir, home, ..view }
    }

    /// Returns the view with relative paths starting in `dir`, if that is in the tree.
    pub(crate) fn working_in(mut self, dir: AgentPath) -> Option<Self> {
        let dir = self.canonical(dir);
        self.locate(&dir)?;
        self.working_dir = dir;
        Some(self)
    }

    /// Returns the mounts, in the order of the project file.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Returns the mount of that number. One that is no number of a zone is the private
    /// `/tmp` of commands.
    pub fn mount_at(&self, number: usize) -> &Mount {
        self.mounts.get(number).unwrap_or(&TMP_MOUNT)
    }

    /// Returns the number of the private `/tmp` of commands, and the path below it, for a
    /// path that lies there and in no zone.
    pub fn in_tmp(&self, path: &AgentPath) -> Option<(usize, RelPath)> {
        // Every call of a file tool comes here, and nearly all end here.
        if path.as_rel().names().next() != Some(&TMP.as_bytes()[1..]) {
            return None;
        }
        let below = path.below(&TMP_MOUNT.path())?;
        self.locate(path).is_none().then_some((self.mounts.len(), below))
    }

    /// Returns where relative paths start.
    pub fn working_dir(&self) -> &AgentPath {
        &self.working_dir
    }

    /// Returns what `~` is.
    pub fn home(&self) -> &AgentPath {
        &self.home
    }

    /// Finds the mount of that name.
    pub fn mount(&self, name: &str) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.zone.name == name)
    }

    /// Reads a path as the agent wrote it, and returns the one agent path that stands for
    /// it in every check, effect and record.
    pub fn parse(&self, text: &str) -> Result<AgentPath, PathError> {
        AgentPath::parse(text, &self.working_dir, &self.home).map(|path| self.canonical(path))
    }

    /// Returns the agent path of what a path means in this view.
    ///
    /// An agent path is returned as it is. `/NAME` of a zone that lies at its host path
    /// becomes that path, so that a project file need not name directories of one
    /// machine. A host path in a zone, which a user may have pasted, becomes the zone's
    /// agent path. Any other path is returned as it is, and lies outside.
    pub fn canonical(&self, path: AgentPath) -> AgentPath {
        if self.locate(&path).is_some() {
            return path;
        }
        let by_name = self.mounts.iter().filter(|m| m.zone.placement.value == Placement::Same);
        let mut by_name = by_name.map(|m| (m, AgentPath::of(&m.zone.name, &RelPath::root())));
        let named = by_name.find_map(|(m, name)| Some((m, path.below(&name)?)));
        let hosts = self.mounts.iter();
        let hosts = hosts.filter_map(|m| Some((m, AgentPath::of_host(&m.zone.path.value)?)));
        let mut held = hosts.filter_map(|(m, host)| Some((m, path.below(&host)?)));
        match named.or_else(|| held.next()) {
            Some((mount, below)) => mount.path().join_rel(&below),
            None => path,
        }
    }

    /// Replaces `/NAME` at the start of a text, where that is a zone at its host path.
    pub(crate) fn place_text(&self, text: &mut String) {
        let is_below = |text: &str, dir: &str| {
            text.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.mounts.iter().any(|mount| is_below(text, &mount.path().to_string())) {
            return;
        }
        let mut named = self.mounts.iter().map(|mount| (mount, format!("/{}", mount.zone.name)));
        if let Some((mount, name)) = named.find(|(_, name)| is_below(text, name)) {
            *text = format!("{}{}", mount.path(), &text[name.len()..]);
        }
    }

    /// Returns the zones that lie at their host paths.
    pub(crate) fn tops(&self) -> Vec<AgentPath> {
        let same = self.mounts.iter().filter(|m| m.zone.placement.value == Placement::Same);
        same.map(Mount::path).collect()
    }

    /// Returns where `path` lies, or `None` when it is outside.
    pub fn locate(&self, path: &AgentPath) -> Option<Spot> {
        let Some((first, below)) = path.split_first() else { return Some(Spot::Root) };
        let own = self.mounts.iter().position(|mount| mount.zone.name.as_bytes() == first);
        let own = own.filter(|&i| self.mounts[i].zone.placement.value == Placement::Named);
        let at_host = self.mounts.iter().enumerate().find_map(|(mount, m)| {
            let same = m.zone.placement.value == Placement::Same;
            Some((mount, path.below(&m.path()).filter(|_| same)?))
        });
        // A zone at its host path is the deeper one where both hold the path.
        let (mount, path) = at_host.or_else(|| own.map(|mount| (mount, below)))?;
        Some(Spot::In { mount, path })
    }

    /// Returns the agent path of a place in a mount.
    pub fn agent_path(&self, mount: usize, below: &RelPath) -> AgentPath {
        self.mount_at(mount).path().join_rel(below)
    }

    /// Returns the paths that can be read.
    pub fn readable(&self) -> Vec<String> {
        self.mounts.iter().map(|mount| mount.path().to_string()).collect()
    }

    /// Returns the paths that can be written.
    pub fn writable(&self) -> Vec<String> {
        let writable = self.mounts.iter().filter(|mount| mount.zone.mode.value == Mode::Rw);
        writable.map(|mount| mount.path().to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{At, Ruled};

    /// Returns a view of `NAME=HOST` and, at its host path, `NAME@HOST`.
    fn view(zones: &[&str], working_dir: &str) -> View {
        let mounts = zones.iter().map(|text| {
            let (name, host) = text.split_once(['=', '@']).unwrap();
            let mut zone = Zone::new(name, host, Mode::Rw, At::flag("test"));
            if text.contains('@') {
                zone.placement = Ruled::new(Placement::Same, At::Default);
            }
            Mount { zone }
        });
        let dir = AgentPath::absolute(working_dir).unwrap();
        View::new(mounts.collect(), dir, AgentPath::root())
    }

    #[test]
    fn every_spelling_of_a_path_is_one_agent_path() {
        let view = view(&["repo@/home/ann/work", "data=/srv/data"], "/repo/sub");
        let cases = [
            ("a.txt", "/home/ann/work/sub/a.txt", Some("sub/a.txt")),
            ("../a.txt", "/home/ann/work/a.txt", Some("a.txt")),
            ("/home/ann/work", "/home/ann/work", Some("")),
            ("/home/ann/work/a", "/home/ann/work/a", Some("a")),
            ("/repo/a", "/home/ann/work/a", Some("a")),
            // A host path that a user pasted, of a zone that is at its name.
            ("/srv/data/x", "/data/x", Some("x")),
            ("/data/x", "/data/x", Some("x")),
            // By whole names, after dots are gone, and no further.
            ("/home/ann/work2/a", "/home/ann/work2/a", None),
            ("/home/ann/work/../other", "/home/ann/other", None),
            ("/repo/../x", "/x", None),
            ("/srv/data/../x", "/srv/x", None),
            ("/home/ann", "/home/ann", None),
            ("/home", "/home", None),
        ];
        for (given, path, below) in cases {
            let parsed = view.parse(given).unwrap();
            assert_eq!(parsed.to_string(), path, "{given}");
            let spot = match view.locate(&parsed) {
                Some(Spot::In { path, .. }) => Some(path.to_string()),
                Some(Spot::Root) => Some("the root".to_owned()),
                None => None,
            };
            assert_eq!(spot.as_deref(), below, "{given}");
        }
    }

    #[test]
    fn an_agent_path_is_never_taken_for_a_host_path() {
        // The host path of one zone is also an agent path in another.
        let view = view(&["home=/srv/x", "work=/home/ann/work"], "/");
        let parsed = view.parse("/home/ann/work/a").unwrap();
        assert_eq!(parsed.to_string(), "/home/ann/work/a");
        let Some(Spot::In { mount: 0, path }) = view.locate(&parsed) else { panic!("{parsed}") };
        assert_eq!(path.to_string(), "ann/work/a");
    }

    #[test]
    fn roots_and_rule_texts_name_the_place() {
        let view = view(&["repo@/home/ann/work", "data=/srv/data"], "/");
        assert_eq!(view.readable(), ["/home/ann/work", "/data"]);
        let cases = [
            ("/repo/run.sh", "/home/ann/work/run.sh"),
            ("/repo", "/home/ann/work"),
            ("/repository/run.sh", "/repository/run.sh"),
            ("/data/run.sh", "/data/run.sh"),
            ("/srv/data/run.sh", "/srv/data/run.sh"),
            ("repo/run.sh", "repo/run.sh"),
        ];
        for (text, want) in cases {
            let mut placed = text.to_owned();
            view.place_text(&mut placed);
            assert_eq!(placed, want, "{text}");
        }
    }
}
