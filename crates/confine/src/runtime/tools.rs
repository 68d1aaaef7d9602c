//! Places the toolchains that `PATH` leads to.
//!
//! What is in the table is placed as its row says, what has a known layout as
//! that says. Of anything else come the usual directories beside its `bin`,
//! never the directory that holds them; of a directory of mixed files only the
//! programs; of a link into a home directory only the program.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::look::fits;
use super::table::{
    LAYOUTS, Layout, PREFIX, PREFIX_VARIABLES, SECRET_WORDS, SETTINGS_INSIDE, Share, TOOLS, Tool,
    VERSIONS, When,
};
use super::tree::{Placed, Tree};
use super::{Host, Settings};
use crate::plan::{Network, Role};

/// How far links are followed from one toolchain to the next.
const DEPTH: usize = 3;
/// How many programs of a directory of mixed files are placed.
const MAX_PROGRAMS: usize = 64;
/// How large a file of settings may be to be looked through.
const MAX_SETTINGS: u64 = 256 * 1024;

/// Where git keeps the addresses of repositories.
const GIT_ADDRESSES: &[&str] = &["config", "FETCH_HEAD", ".git/config", ".git/FETCH_HEAD"];

/// The toolchains so far.
pub(super) struct Tools<'h> {
    /// The entries so far.
    pub(super) tree: Tree<'h>,
    /// What was left out.
    pub(super) notes: Vec<String>,
    host: &'h Host<'h>,
    settings: &'h Settings<'h>,
    /// Directories beside the home that are private and at the caller's path.
    private: &'h [PathBuf],
    env: BTreeMap<OsString, OsString>,
    taken: Vec<(&'static str, Vec<PathBuf>)>,
    followed: BTreeSet<PathBuf>,
}

/// What was found.
pub(super) struct Found<'h> {
    /// The entries.
    pub(super) tree: Tree<'h>,
    /// The variables that toolchains need.
    pub(super) env: BTreeMap<OsString, OsString>,
    /// What was found and what was left out.
    pub(super) notes: Vec<String>,
}

impl<'h> Tools<'h> {
    /// Starts with the entries of the system.
    pub(super) fn new(
        tree: Tree<'h>,
        host: &'h Host<'h>,
        settings: &'h Settings<'h>,
        private: &'h [PathBuf],
    ) -> Self {
        Self {
            tree,
            private,
            notes: Vec::new(),
            host,
            settings,
            env: BTreeMap::new(),
            taken: Vec::new(),
            followed: BTreeSet::new(),
        }
    }

    /// Places a directory of `PATH` and what belongs to it, and returns whether
    /// its programs are in the tree.
    pub(super) fn take_dir(&mut self, dir: &Path) -> bool {
        let Some(at) = self.tree.look.resolve(dir) else { return false };
        if self.tree.covers(&at.real) {
            self.tree.place(dir, Role::Tool);
            self.take_rows(&at.real, DEPTH, |_| true);
            self.follow(&at.real, DEPTH);
            return true;
        }
        let known = self.take_rows(&at.real, DEPTH, |_| true) || self.take_layout(&at.real, DEPTH);
        if !known {
            self.take_unknown(&at.real, DEPTH);
        }
        if self.tree.covers(&at.real) {
            self.tree.place(dir, Role::Tool);
            return true;
        }
        self.take_mixed(dir)
    }

    /// Places the interpreters that a virtual environment in a granted directory
    /// leads to. The links may be planted: they lead to known rows or nowhere.
    pub(super) fn take_interpreters(&mut self, bin: &Path) {
        for (name, _) in self.tree.look.links_in(bin).iter() {
            let link = bin.join(name);
            let Some(at) = self.tree.look.resolve(&link) else { continue };
            if self.take_rows(&at.real, 1, |tool| tool.interpreters) {
                self.tree.place(&link, Role::Tool);
            }
        }
    }

    /// Places the interpreters of the virtual environments that granted
    /// directories hold, as `uv run` and scripts use them without `PATH`.
    pub(super) fn take_environments(&mut self) {
        for dir in self.settings.granted {
            for name in [".venv/bin", "venv/bin"] {
                self.take_interpreters(&dir.join(name));
            }
        }
    }

    /// Places what belongs to programs in the directories of `path`.
    pub(super) fn take_programs(&mut self, path: &[PathBuf]) {
        for tool in TOOLS {
            let look = Rc::clone(&self.tree.look);
            let has = |name: &&str| path.iter().any(|dir| look.is_program(&dir.join(name)));
            if !tool.programs.iter().any(has) {
                continue;
            }
            let home = self.host.home;
            let roots = tool.roots.iter().filter_map(|root| self.root(root, home));
            if let Some(root) = roots.into_iter().find(|root| look.is_dir(root)) {
                self.take_row(tool, &root, None, DEPTH);
            }
        }
    }

    /// Places what variables of the caller name, and returns those to keep.
    pub(super) fn take_prefixes(&mut self) -> Vec<(&'static str, PathBuf)> {
        let mut kept = Vec::new();
        for name in PREFIX_VARIABLES {
            let Some(value) = self.host.env.get(OsStr::new(name)) else { continue };
            let prefix = PathBuf::from(value);
            let bin = prefix.join("bin");
            let Some(at) = self.tree.look.resolve(&bin) else { continue };
            if self.tree.is_granted(&at.real) {
                self.take_interpreters(&bin);
            } else if !self.take_dir(&bin) {
                self.notes.push(format!("{name}: {} has no place", self.short(&prefix)));
                continue;
            }
            kept.push((*name, prefix));
        }
        kept
    }

    /// Returns what was found.
    pub(super) fn finish(self) -> Found<'h> {
        let said = self.taken.iter().filter(|(_, paths)| !paths.is_empty());
        let mut notes: Vec<_> = said
            .map(|(name, paths)| {
                let paths: Vec<_> = paths.iter().map(|path| self.short(path)).collect();
                format!("{name}: {}, read-only", paths.join(", "))
            })
            .collect();
        notes.extend(self.notes);
        Found { tree: self.tree, env: self.env, notes }
    }

    /// Returns `path` with the caller's home directory as `~`.
    pub(super) fn short(&self, path: &Path) -> String {
        match self.host.home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(inner) => Path::new("~").join(inner).display().to_string(),
            None => path.display().to_string(),
        }
    }

    /// Places what the rows say that `real` lies in, and returns whether it is
    /// in the tree then.
    fn take_rows(&mut self, real: &Path, depth: usize, wanted: impl Fn(&Tool) -> bool) -> bool {
        let home = self.tree.deny.home_of(real);
        for tool in TOOLS.iter().filter(|tool| wanted(tool)) {
            for root in tool.roots {
                let Some(root) = self.root(root, home.as_deref()) else { continue };
                let Some(at) = self.tree.look.resolve(&root) else { continue };
                let Ok(inner) = real.strip_prefix(&at.real) else { continue };
                let matched = tool.on.iter().find_map(|on| matched(on, inner));
                if let Some(matched) = matched {
                    self.take_row(tool, &root, Some(&matched), depth);
                }
            }
        }
        self.tree.covers(real)
    }

    fn take_row(&mut self, tool: &'static Tool, root: &Path, hit: Option<&Path>, depth: usize) {
        let offline = *self.settings.network == Network::Off;
        if tool.offline_only && !offline {
            return;
        }
        let not = |path: &Path| {
            tool.takes
                .iter()
                .any(|take| take.strip_prefix('!').is_some_and(|name| path == Path::new(name)))
        };
        let takes = tool.takes.iter().filter(|take| !take.starts_with('!'));
        let paths = takes.flat_map(|take| match (*take, hit) {
            ("@", hit) => hit.map(Path::to_path_buf).into_iter().collect(),
            (pattern, _) => self.tree.look.matches(root, pattern),
        });
        let paths = paths.filter(|path| !not(path)).map(|path| root.join(path));
        let paths = paths.flat_map(|path| self.without_secrets(path)).collect::<Vec<_>>();
        self.take(tool.name, &paths, depth);
        if offline {
            for share in tool.shares {
                self.share(tool.name, root, share);
            }
        }
        for (name, value) in tool.env {
            let mut text = OsString::new();
            let value = value.replace("{home}", &self.settings.home.to_string_lossy());
            match value.strip_prefix("{root}") {
                Some(rest) => {
                    text.push(root);
                    text.push(rest);
                }
                None => text.push(value),
            }
            self.env.insert((*name).into(), text);
        }
    }

    /// Returns `path`, or what it is made of but for the settings inside that hold
    /// secrets.
    fn without_secrets(&self, path: PathBuf) -> Vec<PathBuf> {
        let look = Rc::clone(&self.tree.look);
        let below = VERSIONS.iter().find(|(name, _)| path.ends_with(name)).map_or("", |v| v.1);
        let inside =
            SETTINGS_INSIDE.iter().flat_map(|name| look.matches(&path, &format!("{below}{name}")));
        let inside = inside.map(|inner| path.join(inner));
        let secrets: Vec<_> = inside.filter(|file| !self.is_harmless(file, SECRET_WORDS)).collect();
        let mut whole = vec![path];
        // Each secret splits what it is in.
        while let Some(at) =
            whole.iter().position(|path| secrets.iter().any(|s| s.starts_with(path)))
        {
            let path = whole.swap_remove(at);
            if !secrets.contains(&path) {
                whole.extend(look.names(&path).into_iter().map(|name| path.join(name)));
            }
        }
        whole.sort();
        whole
    }

    /// Returns whether a file of settings holds none of the words, and no login.
    fn is_harmless(&self, file: &Path, words: &[&str]) -> bool {
        self.tree.look.text(file, MAX_SETTINGS).is_some_and(|text| {
            let text = text.to_lowercase();
            !words.iter().any(|word| text.contains(word)) && !has_login(&text)
        })
    }

    fn share(&mut self, name: &'static str, root: &Path, share: &Share) {
        for path in self.tree.look.matches(root, share.from) {
            let from = root.join(&path);
            if !self.may_share(root, &from, share.when) {
                self.leave_out(name, &from);
                continue;
            }
            let at = match self.private.iter().any(|dir| from.starts_with(dir)) {
                true => from.clone(),
                false => self.settings.home.join(share.at).join(&path),
            };
            if self.tree.is_granted(&at) {
                continue;
            }
            match self.tree.place_at(&from, at, Role::Tool) {
                Placed::New => self.record(name, &from),
                Placed::Refused => self.leave_out(name, &from),
                Placed::Covered | Placed::Missing => {}
            }
        }
    }

    fn may_share(&self, root: &Path, from: &Path, when: When) -> bool {
        let look = Rc::clone(&self.tree.look);
        match when {
            When::Always => true,
            When::Without(words) => self.is_harmless(from, words),
            When::NoLogin => GIT_ADDRESSES.iter().all(|name| {
                let file = from.join(name);
                !look.exists(&file) || self.is_harmless(&file, &[])
            }),
            When::Unpacked => look.names(&root.join("registry/cache")).iter().all(|registry| {
                let there = look.names(&from.join(registry));
                let archives = look.names(&root.join("registry/cache").join(registry));
                archives
                    .iter()
                    .filter_map(|name| Path::new(name).file_stem())
                    .all(|stem| there.binary_search_by(|name| name.as_os_str().cmp(stem)).is_ok())
            }),
        }
    }

    /// Places what has a known layout around `real`.
    fn take_layout(&mut self, real: &Path, depth: usize) -> bool {
        for prefix in real.ancestors().take(4) {
            if self.tree.deny.home_of(prefix).is_some_and(|home| home == prefix) {
                break;
            }
            let look = Rc::clone(&self.tree.look);
            let fits =
                |layout: &&Layout| layout.marks.iter().all(|mark| look.exists(&prefix.join(mark)));
            let Some(layout) = LAYOUTS.iter().find(fits) else { continue };
            let takes = if layout.takes.is_empty() { &[""] } else { layout.takes };
            let paths = takes.iter().flat_map(|take| look.matches(prefix, take));
            let paths = paths.map(|path| prefix.join(path)).collect::<Vec<_>>();
            self.take(layout.name, &paths, depth);
            return self.tree.covers(real);
        }
        false
    }

    /// Places a directory of programs of which nothing else is known.
    fn take_unknown(&mut self, dir: &Path, depth: usize) {
        let (Some(name), Some(prefix)) = (dir.file_name(), dir.parent()) else { return };
        if name == ".bin" && prefix.ends_with("node_modules") {
            self.take("PATH", &[prefix.to_path_buf()], depth);
        } else if name == "bin" || name == "sbin" || name == "shims" {
            let mut paths = vec![dir.to_path_buf()];
            if !self.tree.deny.refuses(prefix) {
                paths.extend(PREFIX.iter().map(|take| prefix.join(take)));
            }
            self.take("PATH", &paths, depth);
        }
    }

    /// Places the programs of a directory, and nothing else that is in it.
    fn take_mixed(&mut self, dir: &Path) -> bool {
        let look = Rc::clone(&self.tree.look);
        let names = look.names(dir).into_iter().map(|name| dir.join(name));
        let programs: Vec<_> = names.filter(|path| look.is_program(path)).collect();
        if programs.len() > MAX_PROGRAMS {
            return false;
        }
        let mut any = false;
        for program in programs {
            any |= self.tree.place(&program, Role::Tool).is_there();
        }
        if any {
            self.notes.push(format!("PATH: only the programs of {}, read-only", self.short(dir)));
        }
        any
    }

    /// Places the paths of a toolchain, and then what the links in them lead to.
    fn take(&mut self, name: &'static str, paths: &[PathBuf], depth: usize) {
        let mut new = Vec::new();
        for path in paths {
            match self.tree.place(path, Role::Tool) {
                Placed::New => {
                    self.record(name, path);
                    new.push(path);
                }
                Placed::Refused => self.leave_out(name, path),
                Placed::Covered | Placed::Missing => {}
            }
        }
        for path in new {
            self.follow(path, depth);
            self.follow(&path.join("bin"), depth);
        }
    }

    /// Places what the links of a directory lead to.
    fn follow(&mut self, dir: &Path, depth: usize) {
        if depth == 0 {
            return;
        }
        let Some(at) = self.tree.look.resolve(dir) else { return };
        if !self.followed.insert(at.real.clone()) {
            return;
        }
        let alternatives = self.tree.covers(Path::new("/etc/alternatives"));
        for (name, text) in self.tree.look.links_in(dir).iter() {
            // Most of them by far, and there are hundreds.
            if stays_in_system(&at.real, text, alternatives) || self.tree.covers(&joined(dir, text))
            {
                continue;
            }
            let link = dir.join(name);
            let Some(at) = self.tree.look.resolve(&link) else { continue };
            if !self.tree.covers(&at.real) {
                self.take_target(&at.real, depth - 1);
            }
            if self.tree.covers(&at.real) {
                self.tree.place(&link, Role::Tool);
            }
        }
    }

    /// Places what a link leads to.
    fn take_target(&mut self, real: &Path, depth: usize) {
        let look = Rc::clone(&self.tree.look);
        if self.take_rows(real, depth, |_| true) || self.take_layout(real, depth) {
            return;
        }
        if look.is_dir(real) {
            if look.is_dir(&real.join("bin")) {
                self.take_unknown(&real.join("bin"), depth);
            }
            return;
        }
        if !look.is_program(real) {
            return;
        }
        let in_home = self.tree.deny.home_of(real).is_some();
        match real.parent() {
            Some(dir) if !in_home && dir.ends_with("bin") => self.take_unknown(dir, depth),
            Some(dir) if real.starts_with("/opt") && !self.tree.deny.refuses(dir) => {
                self.take("PATH", &[dir.to_path_buf()], depth);
            }
            _ => self.take("PATH", &[real.to_path_buf()], depth),
        }
    }

    fn leave_out(&mut self, name: &str, path: &Path) {
        let note = format!("{name}: {} is left out", self.short(path));
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn record(&mut self, name: &'static str, path: &Path) {
        match self.taken.iter_mut().find(|(known, _)| *known == name) {
            Some((_, paths)) => paths.push(path.to_path_buf()),
            None => self.taken.push((name, vec![path.to_path_buf()])),
        }
    }

    /// Returns the path that a root of the table stands for.
    fn root(&self, root: &str, home: Option<&Path>) -> Option<PathBuf> {
        let path = if let Some(rest) = root.strip_prefix('~') {
            home?.join(rest.trim_start_matches('/'))
        } else if let Some(rest) = root.strip_prefix('$') {
            let (name, inner) = rest.split_once('/').unwrap_or((rest, ""));
            let value = self.host.env.get(OsStr::new(name))?;
            // `GOPATH` can be a list.
            let path = std::env::split_paths(value).next()?.join(inner);
            // A whole home directory is no toolchain, whatever it is called.
            let home = self.tree.deny.home_of(&path);
            (home.as_deref() != Some(path.as_path())).then_some(path)?
        } else {
            PathBuf::from(root)
        };
        // Not the root itself, with all of the host below it.
        (path.is_absolute() && path.parent().is_some()).then_some(path)
    }
}

/// Returns the names of all variables of the caller that lead to tools.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let roots = TOOLS.iter().flat_map(|tool| tool.roots);
    let named = roots.filter_map(|root| root.strip_prefix('$')?.split('/').next());
    named.chain(PREFIX_VARIABLES.iter().copied())
}

/// Returns the beginning of `path` that matches `pattern`.
fn matched(pattern: &str, path: &Path) -> Option<PathBuf> {
    let mut parts = path.iter();
    let mut found = PathBuf::new();
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let name = parts.next()?;
        if !fits(part, name) {
            return None;
        }
        found.push(name);
    }
    // An empty pattern is the root itself, nothing below it.
    (!pattern.is_empty() || parts.next().is_none()).then_some(found)
}

/// Returns where a link in `dir` leads by its text alone.
fn joined(dir: &Path, text: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in dir.join(text).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

/// Returns whether a text has an address with a login in it, such as
/// `https://user:word@host/`. A user alone, as in `ssh://git@host/`, is none.
fn has_login(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', ' ', '\t', '\n', '"', '\'']).next().unwrap_or_default();
        host.rsplit_once('@').is_some_and(|(login, _)| login != "git")
    })
}

/// Returns whether the text of a link in a directory of `/usr` leads to `/usr`,
/// or to where the system keeps the choice between programs, which is looked
/// through by itself.
fn stays_in_system(dir: &Path, text: &Path, alternatives: bool) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let (dir, text) = (dir.as_os_str().as_bytes(), text.as_os_str().as_bytes());
    let climbs = |text: &[u8]| text.windows(2).any(|two| two == b"..");
    if !text.starts_with(b"/") {
        let up = text.strip_prefix(b"../").filter(|_| dir.len() > b"/usr/".len());
        return dir.starts_with(b"/usr/") && !climbs(up.unwrap_or(text));
    }
    !climbs(text)
        && (text.starts_with(b"/usr/") || alternatives && text.starts_with(b"/etc/alternatives/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_stay_in_the_system() {
        let cases = [
            ("/usr/bin", "python3.11", true),
            ("/usr/bin", "../lib/x/y", true),
            ("/usr/bin", "../../opt/x", false),
            ("/usr/bin", "a/../../../opt", false),
            ("/usr/bin", "/usr/lib/x", true),
            ("/usr/bin", "/usr/../opt/x", false),
            ("/usr/bin", "/etc/alternatives/java", true),
            ("/usr/bin", "/opt/x", false),
            ("/opt/a", "x", false),
            ("/etc/alternatives", "/usr/bin/x", true),
        ];
        for (dir, text, stays) in cases {
            assert_eq!(stays_in_system(dir.as_ref(), text.as_ref(), true), stays, "{dir} {text}");
        }
    }

    #[test]
    fn patterns_match_beginnings() {
        let cases = [
            ("bin", "bin", Some("bin")),
            ("bin", "bin/x", Some("bin")),
            ("bin", "lib", None),
            ("versions/*", "versions/3.12/bin/python", Some("versions/3.12")),
            ("versions/*", "versions", None),
            ("", "", Some("")),
            ("", "anything", None),
        ];
        for (pattern, path, found) in cases {
            assert_eq!(
                matched(pattern, Path::new(path)),
                found.map(PathBuf::from),
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn logins_in_addresses_are_seen() {
        let cases = [
            ("url = \"https://example.com/a@b\"", false),
            ("url = ssh://git@example.com/a", false),
            ("https://ann:word@example.com/", true),
            ("https://ghp_abc@example.com/x", true),
            ("no address, a@b", false),
        ];
        for (text, login) in cases {
            assert_eq!(has_login(text), login, "{text}");
        }
    }
}
