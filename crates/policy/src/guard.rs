//! Files that run code or grant rights later, and so are guarded inside
//! writable directories: at any depth, whether they exist yet or not.
//!
//! The list is data. A project file changes an entry, or adds one, under
//! `sandbox.guard`; names are compared without regard to case, because some
//! file systems do the same.

use crate::path::RelPath;
use crate::source::{At, Ruled};

/// What happens when a guarded file is created, changed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Guard {
    /// The file is treated like any other.
    Allow,
    /// File tools ask. A command of `zonekeep run` changes the file and the change is named
    /// in its summary; a command of an agent's `shell` is treated as under `Ask`.
    Report,
    /// File tools ask. A change by a command is moved to the quarantine until it is
    /// approved, and the old version is put back.
    Ask,
    /// File tools refuse. A change by a command is undone.
    #[default]
    Block,
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
    /// Returns whether other programs of the user load the file without being asked, so
    /// that a change cannot wait until the command has ended.
    pub(crate) fn is_loaded_unasked(&self) -> bool {
        let is_live = matches!(self.why.as_str(), SHELL | EDITOR | AGENT);
        self.guard.value == Guard::Block || is_live && self.guard.value == Guard::Ask
    }

    /// Returns whether the pattern applies below directories of dependencies and build
    /// results too, because the project wrote it.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.guard.is_written()
    }

    /// Returns whether a directory that the project exempts can hold this file freely.
    pub(crate) fn can_be_exempt(&self) -> bool {
        let is_kept = self.why == OWN || self.is_declared() || is_in_repository(&self.pattern);
        !is_kept && !self.guard.is_written()
    }

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
pub(crate) const PASSWORDS: &str = "holds passwords";
const CI: &str = "runs in continuous integration";

/// Directories of dependencies and build results, in small letters. A file below one of
/// them is not the project's own configuration, so the built-in patterns do not apply.
const GENERATED: &[&str] = &[
    "node_modules",
    "bower_components",
    "vendor",
    "target",
    ".venv",
    "venv",
    "site-packages",
    ".tox",
    ".nox",
    ".gradle",
    "build",
    "dist",
    ".next",
    ".nuxt",
    ".terraform",
    "pods",
    ".dart_tool",
];

/// Files that programs read in any directory below one that is open, with the reason. A clone
/// brings in other files of the level `ask`, because nothing reads them before the user opens
/// the clone, and editors, agents and shells ask then; these take effect where the user works.
const READ_BELOW: &[(&str, &str)] = &[
    (".zed/**", "Zed applies settings of a subdirectory to the files in it, formatters included"),
    (".claude/skills/**", "Claude Code loads skills of subdirectories that it works in"),
];

/// Returns whether programs that are running read a file, in small letters, where it lies.
pub(crate) fn is_read_below(names: &[Vec<u8>], reach: Reach) -> bool {
    READ_BELOW.iter().any(|(pattern, _)| covers(pattern, names, reach))
}

/// The list that holds unless the project file says otherwise.
const BUILT_IN: &[(&str, Guard, &str)] = &[
    ("zonekeep.yaml", Guard::Block, OWN),
    ("golem-forge.config.yaml", Guard::Block, OWN),
    ("*.worker", Guard::Block, OWN),
    // All of it: hooks, configuration, unfinished rebases, alternates, modules.
    (GIT_DIR, Guard::Block, GIT),
    (".hg/**", Guard::Block, GIT),
    (".hgrc", Guard::Block, GIT),
    (".svn/**", Guard::Block, GIT),
    (".jj/**", Guard::Block, GIT),
    (".githooks/**", Guard::Ask, GIT),
    ("lefthook.yml", Guard::Report, GIT),
    ("lefthook.yaml", Guard::Report, GIT),
    ("lefthook.toml", Guard::Report, GIT),
    ("lefthook.json", Guard::Report, GIT),
    ("lefthook-local.yml", Guard::Report, GIT),
    (".lefthook.yml", Guard::Report, GIT),
    (".lefthook.yaml", Guard::Report, GIT),
    (".gitattributes", Guard::Ask, GIT),
    (".gitmodules", Guard::Ask, GIT),
    (".gitconfig", Guard::Block, GIT),
    (".husky/**", Guard::Ask, GIT),
    (".pre-commit-config.yaml", Guard::Report, GIT),
    (".bashrc", Guard::Block, SHELL),
    (".bash_profile", Guard::Block, SHELL),
    (".bash_login", Guard::Block, SHELL),
    (".bash_logout", Guard::Block, SHELL),
    (".bash_aliases", Guard::Block, SHELL),
    (".profile", Guard::Block, SHELL),
    (".zshrc", Guard::Block, SHELL),
    (".zshenv", Guard::Block, SHELL),
    (".zprofile", Guard::Block, SHELL),
    (".zlogin", Guard::Block, SHELL),
    (".zlogout", Guard::Block, SHELL),
    (".cshrc", Guard::Block, SHELL),
    (".tcshrc", Guard::Block, SHELL),
    (".kshrc", Guard::Block, SHELL),
    (".login", Guard::Block, SHELL),
    (".xsessionrc", Guard::Block, SHELL),
    (".config/nushell/**", Guard::Block, SHELL),
    (".config/powershell/**", Guard::Block, SHELL),
    (".config/tmux/**", Guard::Block, SHELL),
    (".config/mise/**", Guard::Block, SHELL),
    (".config/fish/**", Guard::Block, SHELL),
    (".config/git/**", Guard::Block, GIT),
    (".config/jj/**", Guard::Block, GIT),
    (".jjconfig.toml", Guard::Block, GIT),
    (".config/autostart/**", Guard::Block, SHELL),
    (".config/systemd/**", Guard::Block, SHELL),
    (".config/direnv/**", Guard::Block, SHELL),
    (".config/environment.d/**", Guard::Block, SHELL),
    (".xprofile", Guard::Block, SHELL),
    (".xinitrc", Guard::Block, SHELL),
    (".xsession", Guard::Block, SHELL),
    (".pam_environment", Guard::Block, SHELL),
    (".inputrc", Guard::Block, SHELL),
    (".tmux.conf", Guard::Block, SHELL),
    (".screenrc", Guard::Block, SHELL),
    (".direnvrc", Guard::Block, SHELL),
    (".local/bin/**", Guard::Ask, SHELL),
    (".envrc", Guard::Ask, SHELL),
    (".mise.toml", Guard::Ask, SHELL),
    ("mise.toml", Guard::Ask, SHELL),
    (".mise.local.toml", Guard::Ask, SHELL),
    ("mise.local.toml", Guard::Ask, SHELL),
    (".mise/**", Guard::Ask, SHELL),
    (".tool-versions", Guard::Report, SHELL),
    (".vscode/**", Guard::Ask, EDITOR),
    (".idea/**", Guard::Ask, EDITOR),
    (".devcontainer/**", Guard::Report, EDITOR),
    (".devcontainer.json", Guard::Report, EDITOR),
    (".zed/**", Guard::Ask, EDITOR),
    (".config/nvim/**", Guard::Block, EDITOR),
    (".config/helix/**", Guard::Block, EDITOR),
    (".config/zed/**", Guard::Block, EDITOR),
    (".config/Code/**", Guard::Block, EDITOR),
    (".config/emacs/**", Guard::Block, EDITOR),
    (".config/vim/**", Guard::Block, EDITOR),
    (".helix/**", Guard::Ask, EDITOR),
    (".vim/**", Guard::Block, EDITOR),
    (".emacs", Guard::Block, EDITOR),
    (".emacs.d/**", Guard::Block, EDITOR),
    (".gdbinit", Guard::Ask, EDITOR),
    (".lldbinit", Guard::Ask, EDITOR),
    (".Rprofile", Guard::Ask, EDITOR),
    (".vimrc", Guard::Block, EDITOR),
    (".exrc", Guard::Ask, EDITOR),
    (".nvimrc", Guard::Ask, EDITOR),
    (".nvim.lua", Guard::Ask, EDITOR),
    (".dir-locals.el", Guard::Ask, EDITOR),
    ("node_modules/.bin/**", Guard::Ask, PROGRAM),
    (".venv/bin/**", Guard::Ask, PROGRAM),
    ("venv/bin/**", Guard::Ask, PROGRAM),
    (".npmrc", Guard::Report, TOOL),
    (".yarnrc", Guard::Report, TOOL),
    (".yarnrc.yml", Guard::Report, TOOL),
    (".yarn/plugins/**", Guard::Report, TOOL),
    (".yarn/releases/**", Guard::Report, TOOL),
    (".pnpmfile.cjs", Guard::Report, TOOL),
    ("bunfig.toml", Guard::Report, TOOL),
    (".cargo/config", Guard::Report, TOOL),
    (".cargo/config.toml", Guard::Report, TOOL),
    (".cargo/bin/**", Guard::Block, TOOL),
    (".gradle/init.gradle", Guard::Report, TOOL),
    (".gradle/init.d/**", Guard::Report, TOOL),
    (".gradle/gradle.properties", Guard::Report, TOOL),
    (".bazelrc", Guard::Report, TOOL),
    (".mvn/**", Guard::Report, TOOL),
    (".github/workflows/**", Guard::Report, CI),
    (".github/actions/**", Guard::Report, CI),
    (".gitlab-ci.yml", Guard::Report, CI),
    (".circleci/**", Guard::Report, CI),
    (".gitea/workflows/**", Guard::Report, CI),
    (".forgejo/workflows/**", Guard::Report, CI),
    (".buildkite/**", Guard::Report, CI),
    (".travis.yml", Guard::Report, CI),
    ("azure-pipelines.yml", Guard::Report, CI),
    ("bitbucket-pipelines.yml", Guard::Report, CI),
    ("Jenkinsfile", Guard::Report, CI),
    (".mcp.json", Guard::Ask, AGENT),
    (".claude/**", Guard::Ask, AGENT),
    (".codex/**", Guard::Ask, AGENT),
    (".cursor/**", Guard::Ask, AGENT),
    (".gemini/**", Guard::Ask, AGENT),
    (".claude.json", Guard::Block, AGENT),
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
    (".ssh/**", Guard::Block, KEYS),
    (".gnupg/**", Guard::Block, KEYS),
    (".aws/**", Guard::Block, KEYS),
    (".docker/**", Guard::Block, KEYS),
    (".kube/**", Guard::Block, KEYS),
    (".git-credentials", Guard::Block, PASSWORDS),
    (".cargo/credentials.toml", Guard::Block, PASSWORDS),
    (".pypirc", Guard::Block, PASSWORDS),
    (".netrc", Guard::Block, PASSWORDS),
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

    /// Returns the directories that the project exempts from the built-in patterns.
    pub(crate) fn exemptions(&self) -> impl Iterator<Item = &str> {
        let exempt = |entry: &&Entry| {
            let is_tree = entry.pattern.ends_with("/**") && !is_in_repository(&entry.pattern);
            entry.guard.is_written() && entry.guard.value == Guard::Allow && is_tree
        };
        self.entries.iter().filter(exempt).map(|entry| entry.pattern.as_str())
    }

    /// Returns the strictest entry that covers `path`, where it asks or refuses.
    pub fn find(&self, path: &RelPath, reach: Reach) -> Option<&Entry> {
        let names: Vec<Vec<u8>> = path.names().map(<[u8]>::to_ascii_lowercase).collect();
        let exempt = self.exemptions().filter_map(|tree| first_match(tree, &names, Reach::File));
        let exempt = exempt.min();
        let is_exempt = |entry: &Entry| {
            entry.can_be_exempt()
                && exempt.is_some_and(|from| {
                    matches(&entry.pattern, &names, reach).all(|start| start > from)
                })
        };
        // Who lets agents have all of git lets them have what it leads to.
        let git = self.entries.iter().find(|entry| entry.pattern == GIT_DIR);
        let git_is_open = git.is_some_and(|entry| entry.guard.value == Guard::Allow);
        self.entries
            .iter()
            .filter(|entry| {
                entry.guard.value > Guard::Allow
                    && !(git_is_open && entry.is_declared())
                    && covers(&entry.pattern, &names, reach)
                    && !is_exempt(entry)
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
    first_match(pattern, names, reach).is_some()
}

/// Returns how many names come before the first match of a pattern.
pub(crate) fn first_match(pattern: &str, names: &[Vec<u8>], reach: Reach) -> Option<usize> {
    matches(pattern, names, reach).next()
}

/// Returns how many names come before each match of a pattern.
pub(crate) fn matches(
    pattern: &str,
    names: &[Vec<u8>],
    reach: Reach,
) -> impl Iterator<Item = usize> {
    let (pattern, starts) = match pattern.strip_prefix('/') {
        Some(pattern) => (pattern, names.len().min(1)),
        None => (pattern, names.len()),
    };
    (0..starts).filter(move |&start| covers_from(pattern, &names[start..], reach))
}

/// Returns how many names lead to the first directory of dependencies or build results,
/// with that directory.
pub(crate) fn generated_from(names: &[Vec<u8>]) -> Option<usize> {
    let is_generated = |name: &Vec<u8>| GENERATED.iter().any(|known| known.as_bytes() == name);
    names.iter().position(is_generated).map(|at| at + 1)
}

/// Returns whether a pattern begins with a directory of version control.
pub(crate) fn is_in_repository(pattern: &str) -> bool {
    const TREES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
    let first = pattern.split('/').next().unwrap_or_default();
    TREES.iter().any(|tree| tree.eq_ignore_ascii_case(first))
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
            ("zonekeep.yaml", Some(("zonekeep.yaml", Guard::Block))),
            ("a/b/ZoneKeep.YAML", Some(("zonekeep.yaml", Guard::Block))),
            ("workers/main.worker", Some(("*.worker", Guard::Block))),
            (".worker", Some(("*.worker", Guard::Block))),
            ("main.worker.md", None),
            (".git/hooks/pre-commit", Some((".git/**", Guard::Block))),
            ("sub/.GIT/Hooks/x/y", Some((".git/**", Guard::Block))),
            (".git", Some((".git/**", Guard::Block))),
            ("zonekeep.yaml/x", Some(("zonekeep.yaml", Guard::Block))),
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
        assert_eq!(find("/x/.cargo", Reach::Tree).map(|e| e.1), Some(Guard::Block));
        assert_eq!(find("/x/.yarn", Reach::Tree).map(|e| e.1), Some(Guard::Report));
        assert_eq!(find("/x/.config", Reach::Tree).map(|e| e.1), Some(Guard::Block));
        assert_eq!(find("/x/src", Reach::Tree), None);
    }

    #[test]
    fn the_strictest_entry_wins_and_the_project_can_change_one() {
        let mut guards = Guards::default();
        let tasks = AgentPath::absolute("/.vscode/tasks.json").unwrap();
        guards.set("tasks.json", Guard::Block, At::flag("test"));
        assert_eq!(guards.find(tasks.as_rel(), Reach::File).unwrap().pattern, "tasks.json");
        guards.set("tasks.json", Guard::Allow, At::flag("test"));
        guards.set(".vscode/**", Guard::Allow, At::flag("test"));
        assert_eq!(guards.find(tasks.as_rel(), Reach::File), None);
    }

    #[test]
    fn a_directory_that_the_project_exempts_wins_over_built_in_patterns() {
        let mut guards = Guards::default();
        let at = || At::File { file: "zonekeep.yaml".into(), line: 1, column: 1 };
        guards.set("packages/**", Guard::Allow, at());
        guards.set("*.key", Guard::Block, at());
        let found = |text: &str| {
            let path = AgentPath::absolute(text).unwrap();
            guards.find(path.as_rel(), Reach::File).map(|entry| entry.pattern.as_str())
        };
        assert_eq!(found("/packages/a/.vscode/tasks.json"), None);
        assert_eq!(found("/x/packages/.envrc"), None);
        assert_eq!(found("/.vscode/packages/x"), Some(".vscode/**"));
        // Not from what agents may do, from git, or from the project's own patterns.
        assert_eq!(found("/packages/zonekeep.yaml"), Some("zonekeep.yaml"));
        assert_eq!(found("/packages/a.key"), Some("*.key"));
        assert_eq!(found("/packages/.git/config"), Some(".git/**"));
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
