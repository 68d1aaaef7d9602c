//! Files that run code or grant rights later, and so are guarded inside
//! writable directories: at any depth, whether they exist yet or not.
//!
//! The list is data. A project file changes an entry, or adds one, under
//! `sandbox.guard`; names are compared without regard to case, because some
//! file systems do the same.

use crate::path::RelPath;
use crate::source::{At, Ruled};

/// What happens when a guarded file is about to be created, changed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Guard {
    /// It goes ahead as any other file would.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is refused.
    #[default]
    Deny,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Names separated by slashes, found at any depth. `*` stands for any part
    /// of a name, a last `**` for everything below. One that was declared begins with
    /// a slash, and is found at the top of a zone only.
    pub pattern: String,
    /// What happens.
    pub guard: Ruled<Guard>,
    /// Why the file is guarded, to follow "it ".
    pub why: String,
}

impl Entry {
    /// Returns whether it was [declared](Guards::declare).
    pub fn is_declared(&self) -> bool {
        self.pattern.starts_with('/')
    }

    /// Returns the pattern by which a project file could take the guard away.
    pub(crate) fn changeable(&self) -> &str {
        if self.is_declared() { GIT_DIR } else { &self.pattern }
    }
}

/// The guarded files of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guards {
    entries: Vec<Entry>,
}

const GIT_DIR: &str = ".git/**";

const OWN: &str = "says what you may do";
const GIT: &str = "can make git run programs";
const SHELL: &str = "runs when a shell starts";
const EDITOR: &str = "can make an editor run programs";
const TOOL: &str = "can make a build tool run programs";
/// Of the file tools alone: package managers write there, and are commands.
pub(crate) const PROGRAM: &str = "is run by its name alone";
const AGENT: &str = "can make a coding agent run programs";
const KEYS: &str = "holds keys";

/// The list that holds unless the project file says otherwise.
const BUILT_IN: &[(&str, Guard, &str)] = &[
    ("zonekeep.yaml", Guard::Deny, OWN),
    ("golem-forge.config.yaml", Guard::Deny, OWN),
    ("*.worker", Guard::Deny, OWN),
    // All of it: hooks, configuration, unfinished rebases, alternates, modules.
    (GIT_DIR, Guard::Deny, GIT),
    (".hg/**", Guard::Deny, GIT),
    (".hgrc", Guard::Deny, GIT),
    (".svn/**", Guard::Deny, GIT),
    (".jj/**", Guard::Deny, GIT),
    (".githooks/**", Guard::Ask, GIT),
    ("lefthook.yml", Guard::Ask, GIT),
    ("lefthook.yaml", Guard::Ask, GIT),
    ("lefthook.toml", Guard::Ask, GIT),
    ("lefthook.json", Guard::Ask, GIT),
    ("lefthook-local.yml", Guard::Ask, GIT),
    (".lefthook.yml", Guard::Ask, GIT),
    (".lefthook.yaml", Guard::Ask, GIT),
    (".gitattributes", Guard::Ask, GIT),
    (".gitmodules", Guard::Ask, GIT),
    (".gitconfig", Guard::Deny, GIT),
    (".husky/**", Guard::Ask, GIT),
    (".pre-commit-config.yaml", Guard::Ask, GIT),
    (".bashrc", Guard::Deny, SHELL),
    (".bash_profile", Guard::Deny, SHELL),
    (".bash_login", Guard::Deny, SHELL),
    (".bash_logout", Guard::Deny, SHELL),
    (".bash_aliases", Guard::Deny, SHELL),
    (".profile", Guard::Deny, SHELL),
    (".zshrc", Guard::Deny, SHELL),
    (".zshenv", Guard::Deny, SHELL),
    (".zprofile", Guard::Deny, SHELL),
    (".zlogin", Guard::Deny, SHELL),
    (".zlogout", Guard::Deny, SHELL),
    (".cshrc", Guard::Deny, SHELL),
    (".tcshrc", Guard::Deny, SHELL),
    (".kshrc", Guard::Deny, SHELL),
    (".login", Guard::Deny, SHELL),
    (".xsessionrc", Guard::Deny, SHELL),
    (".config/nushell/**", Guard::Deny, SHELL),
    (".config/powershell/**", Guard::Deny, SHELL),
    (".config/tmux/**", Guard::Deny, SHELL),
    (".config/mise/**", Guard::Deny, SHELL),
    (".config/fish/**", Guard::Deny, SHELL),
    (".config/git/**", Guard::Deny, GIT),
    (".config/jj/**", Guard::Deny, GIT),
    (".jjconfig.toml", Guard::Deny, GIT),
    (".config/autostart/**", Guard::Deny, SHELL),
    (".config/systemd/**", Guard::Deny, SHELL),
    (".config/direnv/**", Guard::Deny, SHELL),
    (".config/environment.d/**", Guard::Deny, SHELL),
    (".xprofile", Guard::Deny, SHELL),
    (".xinitrc", Guard::Deny, SHELL),
    (".xsession", Guard::Deny, SHELL),
    (".pam_environment", Guard::Deny, SHELL),
    (".inputrc", Guard::Deny, SHELL),
    (".tmux.conf", Guard::Deny, SHELL),
    (".screenrc", Guard::Deny, SHELL),
    (".direnvrc", Guard::Deny, SHELL),
    (".local/bin/**", Guard::Ask, SHELL),
    (".envrc", Guard::Ask, SHELL),
    (".mise.toml", Guard::Ask, SHELL),
    ("mise.toml", Guard::Ask, SHELL),
    (".mise.local.toml", Guard::Ask, SHELL),
    ("mise.local.toml", Guard::Ask, SHELL),
    (".mise/**", Guard::Ask, SHELL),
    (".tool-versions", Guard::Ask, SHELL),
    (".vscode/**", Guard::Ask, EDITOR),
    (".idea/**", Guard::Ask, EDITOR),
    (".devcontainer/**", Guard::Ask, EDITOR),
    (".devcontainer.json", Guard::Ask, EDITOR),
    (".zed/**", Guard::Ask, EDITOR),
    (".config/nvim/**", Guard::Deny, EDITOR),
    (".config/helix/**", Guard::Deny, EDITOR),
    (".config/zed/**", Guard::Deny, EDITOR),
    (".config/Code/**", Guard::Deny, EDITOR),
    (".config/emacs/**", Guard::Deny, EDITOR),
    (".config/vim/**", Guard::Deny, EDITOR),
    (".helix/**", Guard::Ask, EDITOR),
    (".vim/**", Guard::Deny, EDITOR),
    (".emacs", Guard::Deny, EDITOR),
    (".emacs.d/**", Guard::Deny, EDITOR),
    (".gdbinit", Guard::Ask, EDITOR),
    (".lldbinit", Guard::Ask, EDITOR),
    (".Rprofile", Guard::Ask, EDITOR),
    (".vimrc", Guard::Deny, EDITOR),
    (".exrc", Guard::Ask, EDITOR),
    (".nvimrc", Guard::Ask, EDITOR),
    (".nvim.lua", Guard::Ask, EDITOR),
    (".dir-locals.el", Guard::Ask, EDITOR),
    ("node_modules/.bin/**", Guard::Ask, PROGRAM),
    (".venv/bin/**", Guard::Ask, PROGRAM),
    ("venv/bin/**", Guard::Ask, PROGRAM),
    (".npmrc", Guard::Ask, TOOL),
    (".yarnrc", Guard::Ask, TOOL),
    (".yarnrc.yml", Guard::Ask, TOOL),
    (".yarn/plugins/**", Guard::Ask, TOOL),
    (".yarn/releases/**", Guard::Ask, TOOL),
    (".pnpmfile.cjs", Guard::Ask, TOOL),
    ("bunfig.toml", Guard::Ask, TOOL),
    (".cargo/config", Guard::Ask, TOOL),
    (".cargo/config.toml", Guard::Ask, TOOL),
    (".cargo/bin/**", Guard::Deny, TOOL),
    (".gradle/**", Guard::Ask, TOOL),
    (".bazelrc", Guard::Ask, TOOL),
    (".mvn/**", Guard::Ask, TOOL),
    (".github/workflows/**", Guard::Ask, "runs in continuous integration"),
    (".github/actions/**", Guard::Ask, "runs in continuous integration"),
    (".gitlab-ci.yml", Guard::Ask, "runs in continuous integration"),
    (".circleci/**", Guard::Ask, "runs in continuous integration"),
    (".gitea/workflows/**", Guard::Ask, "runs in continuous integration"),
    (".forgejo/workflows/**", Guard::Ask, "runs in continuous integration"),
    (".buildkite/**", Guard::Ask, "runs in continuous integration"),
    (".travis.yml", Guard::Ask, "runs in continuous integration"),
    ("azure-pipelines.yml", Guard::Ask, "runs in continuous integration"),
    ("bitbucket-pipelines.yml", Guard::Ask, "runs in continuous integration"),
    ("Jenkinsfile", Guard::Ask, "runs in continuous integration"),
    (".mcp.json", Guard::Ask, AGENT),
    (".claude/**", Guard::Ask, AGENT),
    (".codex/**", Guard::Ask, AGENT),
    (".cursor/**", Guard::Ask, AGENT),
    (".gemini/**", Guard::Ask, AGENT),
    (".claude.json", Guard::Deny, AGENT),
    (".opencode/**", Guard::Ask, AGENT),
    ("opencode.json", Guard::Ask, AGENT),
    ("opencode.jsonc", Guard::Ask, AGENT),
    (".qwen/**", Guard::Ask, AGENT),
    (".amp/**", Guard::Ask, AGENT),
    (".kiro/**", Guard::Ask, AGENT),
    (".cline/**", Guard::Ask, AGENT),
    (".copilot/**", Guard::Ask, AGENT),
    (".github/mcp.json", Guard::Ask, AGENT),
    (".codeium/**", Guard::Ask, AGENT),
    (".windsurf/**", Guard::Ask, AGENT),
    (".continue/**", Guard::Ask, AGENT),
    (".aider.conf.yml", Guard::Ask, AGENT),
    (".roo/**", Guard::Ask, AGENT),
    (".kilocode/**", Guard::Ask, AGENT),
    (".crush.json", Guard::Ask, AGENT),
    ("crush.json", Guard::Ask, AGENT),
    (".trae/**", Guard::Ask, AGENT),
    (".junie/**", Guard::Ask, AGENT),
    (".amazonq/**", Guard::Ask, AGENT),
    (".factory/**", Guard::Ask, AGENT),
    (".augment/**", Guard::Ask, AGENT),
    (".openhands/**", Guard::Ask, AGENT),
    (".ssh/**", Guard::Deny, KEYS),
    (".gnupg/**", Guard::Deny, KEYS),
    (".aws/**", Guard::Deny, KEYS),
    (".docker/**", Guard::Deny, KEYS),
    (".kube/**", Guard::Deny, KEYS),
    (".git-credentials", Guard::Deny, KEYS),
    (".cargo/credentials.toml", Guard::Deny, KEYS),
    (".pypirc", Guard::Deny, KEYS),
    (".netrc", Guard::Deny, KEYS),
];

impl Default for Guards {
    fn default() -> Self {
        let entries = BUILT_IN
            .iter()
            .map(|&(pattern, guard, why)| Entry {
                pattern: pattern.to_owned(),
                guard: Ruled::default_of(guard),
                why: why.to_owned(),
            })
            .collect();
        Guards { entries }
    }
}

/// What is about to be put at, or taken from, a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// One file.
    File,
    /// A directory with all that is in it.
    Tree,
}

impl Guards {
    /// Returns the entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Guards a path at the top of a zone, and all below it: one from which git as it
    /// is set up runs programs. Commands are held to such paths by the keeper, which
    /// finds them itself.
    pub fn declare(&mut self, path: &RelPath) {
        let Ok(path) = std::str::from_utf8(path.as_bytes()) else { return };
        let pattern = format!("/{path}/**");
        if path.is_empty() || self.entries.iter().any(|entry| entry.pattern == pattern) {
            return;
        }
        let guard = Ruled::new(Guard::Ask, At::Default);
        self.entries.push(Entry { pattern, guard, why: GIT.to_owned() });
    }

    /// Changes the entry with that pattern, or adds one.
    pub fn set(&mut self, pattern: &str, guard: Guard, at: At) {
        let guard = Ruled::new(guard, at);
        match self.entries.iter_mut().find(|entry| entry.pattern == pattern) {
            Some(entry) => entry.guard = guard,
            None => self.entries.push(Entry {
                pattern: pattern.to_owned(),
                guard,
                why: "is guarded by the project".to_owned(),
            }),
        }
    }

    /// Takes away what was [declared](Guards::declare).
    pub fn remove_declared(&mut self) {
        self.entries.retain(|entry| !entry.is_declared());
    }

    /// Takes the entry with that pattern away.
    pub(crate) fn remove(&mut self, pattern: &str) {
        self.entries.retain(|entry| entry.pattern != pattern);
    }

    /// Returns the patterns that are looser than the list says by itself, with
    /// what they were set to.
    pub fn loosened(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| {
            let built_in = BUILT_IN.iter().find(|(pattern, ..)| *pattern == entry.pattern);
            match built_in {
                Some((_, guard, _)) => entry.guard.value < *guard,
                // It can free part of what a pattern of the list covers.
                None => entry.guard.value == Guard::Allow,
            }
        })
    }

    /// Returns the strictest entry that covers `path`, where it asks or denies.
    pub fn find(&self, path: &RelPath, reach: Reach) -> Option<&Entry> {
        let names: Vec<Vec<u8>> = path.names().map(<[u8]>::to_ascii_lowercase).collect();
        // Who lets agents have all of git lets them have what it leads to.
        let git = self.entries.iter().find(|entry| entry.pattern == GIT_DIR);
        let git_is_open = git.is_some_and(|entry| entry.guard.value == Guard::Allow);
        self.entries
            .iter()
            .filter(|entry| {
                entry.guard.value > Guard::Allow
                    && !(git_is_open && entry.is_declared())
                    && covers(&entry.pattern, &names, reach)
            })
            .max_by_key(|entry| entry.guard.value)
    }
}

/// Checks that a pattern can match anything.
pub fn is_pattern(pattern: &str) -> bool {
    let mut names = pattern.split('/').peekable();
    let mut any = false;
    while let Some(name) = names.next() {
        let last = names.peek().is_none();
        match name {
            "" | "." | ".." => return false,
            "**" if !last || !any => return false,
            name if name.contains('\0') => return false,
            _ => any = true,
        }
    }
    any
}

/// Returns whether a pattern covers a file.
pub fn matches_file(pattern: &str, path: &RelPath) -> bool {
    let names: Vec<Vec<u8>> = path.names().map(<[u8]>::to_ascii_lowercase).collect();
    covers(pattern, &names, Reach::File)
}

/// Returns whether a pattern covers a path, given by its names in small letters.
pub(crate) fn covers(pattern: &str, names: &[Vec<u8>], reach: Reach) -> bool {
    if let Some(pattern) = pattern.strip_prefix('/') {
        return covers_from(pattern, names, reach);
    }
    (0..names.len()).any(|start| covers_from(pattern, &names[start..], reach))
}

/// Matches from a given depth on; `.cargo/config` covers `.cargo/config` and, as
/// a tree, `.cargo`, because a directory put there brings its own `config`.
fn covers_from(pattern: &str, names: &[Vec<u8>], reach: Reach) -> bool {
    for (i, part) in pattern.split('/').enumerate() {
        if part == "**" {
            // The directory itself too: replacing it replaces what is below.
            return true;
        }
        match names.get(i) {
            None => return reach == Reach::Tree,
            Some(name) if !part_matches(part, name) => return false,
            Some(_) => {}
        }
    }
    // Something below a file's name counts too: a directory of that name stands
    // in the file's way.
    true
}

/// Matches one name in small letters against a part in any.
fn part_matches(part: &str, name: &[u8]) -> bool {
    match part.contains('*') {
        true => name_matches(part.to_ascii_lowercase().as_bytes(), name),
        false => part.as_bytes().eq_ignore_ascii_case(name),
    }
}

/// Matches one name against a part with `*`.
pub(crate) fn name_matches(part: &[u8], name: &[u8]) -> bool {
    let mut pieces = part.split(|&b| b == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.windows(piece.len().max(1)).position(|window| window == piece) {
            _ if piece.is_empty() => {}
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::AgentPath;

    fn find(path: &str, reach: Reach) -> Option<(String, Guard)> {
        let path = AgentPath::absolute(path).unwrap();
        let guards = Guards::default();
        guards.find(path.as_rel(), reach).map(|e| (e.pattern.clone(), e.guard.value))
    }

    #[test]
    fn what_is_declared_is_guarded_at_the_top_only() {
        let path = |text: &str| AgentPath::absolute(text).unwrap().as_rel().clone();
        let mut guards = Guards::default();
        guards.declare(&path("/tools/hooks"));
        guards.declare(&path("/tools/hooks"));
        guards.declare(&RelPath::root());
        assert_eq!(guards.entries().len(), BUILT_IN.len() + 1);
        for covered in ["/tools/hooks", "/Tools/HOOKS/pre-commit", "/tools/hooks/a/b"] {
            let found = guards.find(&path(covered), Reach::File).map(|entry| entry.guard.value);
            assert_eq!(found, Some(Guard::Ask), "{covered}");
        }
        assert!(guards.find(&path("/tools"), Reach::Tree).is_some());
        for free in ["/tools", "/tools/hook", "/sub/tools/hooks/pre-commit", "/toolshooks"] {
            assert!(guards.find(&path(free), Reach::File).is_none(), "{free}");
        }
        // Who lets agents have all of git lets them have this.
        let mut open = Guards::default();
        open.set(GIT_DIR, Guard::Allow, At::flag("--set"));
        open.declare(&path("/tools/hooks"));
        assert!(open.find(&path("/tools/hooks/a"), Reach::File).is_none());
    }

    #[test]
    fn guarded_files_are_found_at_any_depth_and_in_any_case() {
        let cases = [
            ("zonekeep.yaml", Some(("zonekeep.yaml", Guard::Deny))),
            ("a/b/ZoneKeep.YAML", Some(("zonekeep.yaml", Guard::Deny))),
            ("workers/main.worker", Some(("*.worker", Guard::Deny))),
            (".worker", Some(("*.worker", Guard::Deny))),
            ("main.worker.md", None),
            (".git/hooks/pre-commit", Some((".git/**", Guard::Deny))),
            ("sub/.GIT/Hooks/x/y", Some((".git/**", Guard::Deny))),
            (".git", Some((".git/**", Guard::Deny))),
            ("zonekeep.yaml/x", Some(("zonekeep.yaml", Guard::Deny))),
            ("git/config", None),
            (".gitignore", None),
            (".vscode/tasks.json", Some((".vscode/**", Guard::Ask))),
            (".vscode", Some((".vscode/**", Guard::Ask))),
            ("src/main.rs", None),
            ("", None),
        ];
        for (path, want) in cases {
            let want = want.map(|(p, g)| (p.to_owned(), g));
            assert_eq!(find(&format!("/{path}"), Reach::File), want, "{path}");
        }
    }

    #[test]
    fn a_tree_is_guarded_where_a_guarded_file_could_be_in_it() {
        assert_eq!(find("/x/.cargo", Reach::File), None);
        assert_eq!(find("/x/.cargo", Reach::Tree).map(|e| e.1), Some(Guard::Deny));
        assert_eq!(find("/x/.yarn", Reach::Tree).map(|e| e.1), Some(Guard::Ask));
        assert_eq!(find("/x/.config", Reach::Tree).map(|e| e.1), Some(Guard::Deny));
        assert_eq!(find("/x/src", Reach::Tree), None);
    }

    #[test]
    fn the_strictest_entry_wins_and_the_project_can_change_one() {
        let mut guards = Guards::default();
        let tasks = AgentPath::absolute("/.vscode/tasks.json").unwrap();
        guards.set("tasks.json", Guard::Deny, At::flag("test"));
        assert_eq!(guards.find(tasks.as_rel(), Reach::File).unwrap().pattern, "tasks.json");
        guards.set("tasks.json", Guard::Allow, At::flag("test"));
        guards.set(".vscode/**", Guard::Allow, At::flag("test"));
        assert_eq!(guards.find(tasks.as_rel(), Reach::File), None);
    }

    #[test]
    fn stars_match_inside_a_name() {
        let cases = [
            ("*.worker", "a.worker", true),
            ("*.worker", "a.workers", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("a*a", "a", false),
        ];
        for (part, name, want) in cases {
            assert_eq!(name_matches(part.as_bytes(), name.as_bytes()), want, "{part} {name}");
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_told_apart() {
        for good in ["a", "*.x", "a/b", "a/**", ".git/hooks/**"] {
            assert!(is_pattern(good), "{good}");
        }
        for bad in ["", "/a", "a/", "**", "a/../b", "a/**/b", "./a"] {
            assert!(!is_pattern(bad), "{bad}");
        }
        assert!(BUILT_IN.iter().all(|(pattern, ..)| is_pattern(pattern)));
    }
}
