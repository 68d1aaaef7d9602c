//! Git's settings inside: who commits, and little else.

use std::ffi::OsStr;
use std::path::Path;

use super::look::Look;
use super::{Host, Settings};

/// How large a file of settings may be.
const MAX_SETTINGS: u64 = 256 * 1024;

/// What is kept of the caller's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Kept {
    name: Option<String>,
    email: Option<String>,
    branch: Option<String>,
    excludes: Option<String>,
}

/// The file of settings that every git inside reads first. The home directory's own file,
/// which `git config --global` writes, and each repository's win over it.
pub(super) const SYSTEM_FILE: &str = "/etc/gitconfig";

/// The file with the caller's patterns of files to ignore.
pub(super) const EXCLUDES_FILE: &str = "/etc/gitexcludes";

/// The project file cannot be removed or replaced by commands. Where a branch has none, it would
/// be an untracked file in the way of the next checkout; git overwrites ignored ones.
const OWN_EXCLUDES: &str = "/zonekeep.yaml\n";

/// Settings that git is given.
#[derive(Debug)]
pub(super) struct GitSettings {
    /// Defaults that a repository's own settings win over.
    pub(super) defaults: Vec<(&'static str, String)>,
    /// Settings that hold for every repository.
    pub(super) fixed: Vec<(&'static str, String)>,
    /// Patterns of files that git leaves alone.
    pub(super) excludes: String,
}

impl GitSettings {
    /// Returns the defaults as a file.
    pub(super) fn file(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.defaults {
            let Some((section, name)) = key.split_once('.') else { continue };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            text.push_str(&format!("[{section}]\n\t{name} = \"{value}\"\n"));
        }
        text
    }
}

/// Reads the settings that git is given from the caller's files.
pub(super) fn settings(host: &Host<'_>, look: &Look<'_>, settings: &Settings<'_>) -> GitSettings {
    let mut kept = Kept::default();
    let config = match host.env.get(OsStr::new("XDG_CONFIG_HOME")) {
        Some(dir) => Some(Path::new(dir).to_path_buf()),
        None => host.home.map(|home| home.join(".config")),
    };
    // The second wins, as with git.
    let files = [
        config.as_ref().map(|dir| dir.join("git/config")),
        host.home.map(|home| home.join(".gitconfig")),
    ];
    for file in files.into_iter().flatten() {
        if let Some(text) = look.text(&file, MAX_SETTINGS) {
            read(&text, &mut kept);
        }
    }
    let ignore = match (&kept.excludes, host.home) {
        (None, _) => config.map(|dir| dir.join("git/ignore")),
        (Some(path), Some(home)) if path.starts_with("~/") => Some(home.join(&path[2..])),
        (Some(path), _) => Some(Path::new(path).to_path_buf()).filter(|path| path.is_absolute()),
    };
    let mut excludes = ignore.and_then(|path| look.text(&path, MAX_SETTINGS)).unwrap_or_default();
    if !excludes.is_empty() && !excludes.ends_with('\n') {
        excludes.push('\n');
    }
    excludes.push_str(OWN_EXCLUDES);
    let mut defaults = vec![
        ("user.name", kept.name.unwrap_or_else(|| "agent".into())),
        ("user.email", kept.email.unwrap_or_else(|| "agent@localhost".into())),
        ("init.defaultBranch", kept.branch.unwrap_or_else(|| "main".into())),
    ];
    // The index has the uid of each file. Where the uid inside differs, every file that git
    // outside has added would look changed, and `git apply --index` would refuse it.
    if settings.own_tree && settings.uid != rustix::process::geteuid().as_raw() {
        defaults.push(("core.checkStat", "minimal".into()));
    }
    if settings.own_tree {
        defaults.push(("core.excludesFile", EXCLUDES_FILE.into()));
    }
    let fixed = vec![
        // Zones belong to another user where the uid inside differs.
        ("safe.directory", "*".into()),
        // Every process ends with its command, so maintenance in the background would be
        // killed halfway. Git before 2.47 knows only the second key.
        ("maintenance.autoDetach", "false".into()),
        ("gc.autoDetach", "false".into()),
    ];
    GitSettings { defaults, fixed, excludes }
}

/// Reads what is kept from a file of settings. Includes are not followed, and
/// what is not understood is passed over.
fn read(text: &str, kept: &mut Kept) {
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.split(']').next().unwrap_or_default().trim().to_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let slot = match (section.as_str(), key.trim().to_lowercase().as_str()) {
            ("user", "name") => &mut kept.name,
            ("user", "email") => &mut kept.email,
            ("init", "defaultbranch") => &mut kept.branch,
            ("core", "excludesfile") => &mut kept.excludes,
            _ => continue,
        };
        let value = unquoted(value.trim());
        if !value.is_empty() {
            *slot = Some(value);
        }
    }
}

/// Returns a value without its quotes and comment.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut quoted = false;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => text.extend(chars.next().filter(|c| matches!(c, '"' | '\\'))),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_quotes_its_values() {
        let defaults = vec![("user.name", "A \"B\" \\ # C".to_owned()), ("x.y", "z".to_owned())];
        let file = GitSettings { defaults, fixed: Vec::new(), excludes: String::new() }.file();
        assert_eq!(file, "[user]\n\tname = \"A \\\"B\\\" \\\\ # C\"\n[x]\n\ty = \"z\"\n");
    }

    #[test]
    fn the_identity_is_read_and_nothing_else() {
        let cases = [
            ("[user]\n name = Ann Lee\n email = ann@x.org", "Ann Lee", "ann@x.org", ""),
            ("[User]\nNAME=\"Ann # Lee\" ; c\n", "Ann # Lee", "", ""),
            ("[user \"sub\"]\nname = no\n[init]\ndefaultBranch = trunk", "", "", "trunk"),
            ("[credential]\nhelper = store\n[include]\npath = x\nrubbish", "", "", ""),
            ("name = no\n[user\nname = yes", "yes", "", ""),
        ];
        for (text, name, email, branch) in cases {
            let mut kept = Kept::default();
            read(text, &mut kept);
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let want =
                Kept { name: some(name), email: some(email), branch: some(branch), excludes: None };
            assert_eq!(kept, want, "{text}");
        }
    }
}
