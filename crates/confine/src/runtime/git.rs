//! Git's settings inside: who commits, and little else.

use std::ffi::OsStr;
use std::path::Path;

use super::Host;
use super::look::Look;

/// How large a file of settings may be.
const MAX_SETTINGS: u64 = 256 * 1024;

/// What is kept of the caller's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Kept {
    name: Option<String>,
    email: Option<String>,
    branch: Option<String>,
}

/// Returns the settings that git is given in its environment.
///
/// Not in a file: the home directory inside is writable, and `git config
/// --global` has to work there.
pub(super) fn settings(host: &Host<'_>, look: &Look<'_>) -> Vec<(&'static str, String)> {
    let mut kept = Kept::default();
    let config = match host.env.get(OsStr::new("XDG_CONFIG_HOME")) {
        Some(dir) => Some(Path::new(dir).to_path_buf()),
        None => host.home.map(|home| home.join(".config")),
    };
    // The second wins, as with git.
    let files = [config.map(|dir| dir.join("git/config")), host.home.map(|h| h.join(".gitconfig"))];
    for file in files.into_iter().flatten() {
        if let Some(text) = look.text(&file, MAX_SETTINGS) {
            read(&text, &mut kept);
        }
    }
    vec![
        ("user.name", kept.name.unwrap_or_else(|| "agent".into())),
        ("user.email", kept.email.unwrap_or_else(|| "agent@localhost".into())),
        ("init.defaultBranch", kept.branch.unwrap_or_else(|| "main".into())),
        // Zones belong to somebody else where the user inside has another number.
        ("safe.directory", "*".into()),
    ]
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
            let want = Kept { name: some(name), email: some(email), branch: some(branch) };
            assert_eq!(kept, want, "{text}");
        }
    }
}
