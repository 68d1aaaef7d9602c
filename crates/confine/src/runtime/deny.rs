//! What never gets a place in the tree by itself, whatever leads to it.
//!
//! A secret is refused with all that is in it and all that it is in, whether it
//! exists or not: it may come to exist while a command runs. A crowd, a directory
//! in which unrelated things live together, is refused only as a whole.

use std::path::{Path, PathBuf};

use zonekeep_policy::path::RelPath;

/// Secrets below a home directory, anybody's.
const HOME_SECRETS: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".pki",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/pass",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".Xauthority",
    ".ICEauthority",
    ".age",
    ".sops",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    "Library/Keychains",
    // Clouds and servers.
    ".aws",
    ".azure",
    ".boto",
    ".docker",
    ".fly",
    ".gsutil",
    ".kube",
    ".my.cnf",
    ".oci",
    ".pgpass",
    ".s3cfg",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".vault-token",
    // Registries of packages and models.
    ".bundle/config",
    ".cache/huggingface",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".condarc",
    ".dotnet/corefx",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".kaggle",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".npmrc",
    ".nuget/NuGet",
    ".pypirc",
    ".yarnrc",
    ".yarnrc.yml",
    "go/pkg/mod/cache/vcs",
    // What was typed.
    ".bash_history",
    ".histfile",
    ".lesshst",
    ".mysql_history",
    ".node_repl_history",
    ".psql_history",
    ".python_history",
    ".sqlite_history",
    ".viminfo",
    ".wget-hsts",
    ".zsh_history",
    ".local/share/fish",
    ".local/state/bash",
    ".local/state/python_history",
    // Agents and editors.
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".vscode",
    ".vscode-server",
    // Browsers, mail and messages.
    ".mozilla",
    ".thunderbird",
    ".var/app",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/BraveSoftware",
    ".config/Code",
    ".config/Signal",
    ".config/Slack",
    ".config/chromium",
    ".config/composer/auth.json",
    ".config/configstore",
    ".config/containers",
    ".config/gcloud",
    ".config/gh",
    ".config/git",
    ".config/github-copilot",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/pip",
    ".config/pulumi",
    ".config/rclone",
    ".config/systemd",
];

/// Crowds below a home directory; the home directory is one too.
const HOME_CROWDS: &[&str] = &[
    ".cache",
    ".cargo",
    ".config",
    ".config/*",
    ".gradle",
    ".local",
    ".local/share",
    ".local/state",
    ".m2",
    ".npm",
    ".var",
    "Desktop",
    "Documents",
    "Downloads",
    "Library",
    "src",
    "work",
];

/// Secrets of the system, and what leads to the host's running programs.
const SECRETS: &[&str] = &[
    "/dev",
    "/proc",
    "/sys",
    "/run",
    "/boot",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/NetworkManager",
    "/etc/wireguard",
    "/etc/kubernetes",
    "/etc/docker",
    "/var/lib/docker",
    "/var/log",
    "/var/mail",
    "/var/run",
    "/var/spool",
];

/// Crowds of the system.
const CROWDS: &[&str] = &[
    "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib",
    "/var/tmp",
];

/// Names of files that hold secrets wherever they are.
const NAMES: &[&str] =
    &[".env", ".env.*", ".netrc", "id_rsa*", "id_ed25519*", "id_ecdsa*", "*.key", "credentials*"];

/// The list, with the home directory of the caller.
#[derive(Debug, Clone)]
pub(super) struct Deny {
    homes: Vec<PathBuf>,
}

impl Deny {
    /// Makes the list for a caller with this home directory, under all its names.
    pub(super) fn new(homes: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { homes: homes.into_iter().filter(|home| home.parent().is_some()).collect() }
    }

    /// Returns whether `path`, which has no links in it, gets no place.
    pub(super) fn refuses(&self, path: &Path) -> bool {
        is_crowd(path, CROWDS)
            || SECRETS.iter().any(|secret| meets(path, Path::new(secret)))
            || path
                .file_name()
                .is_some_and(|name| NAMES.iter().any(|part| super::look::fits(part, name)))
            || self.homes.iter().any(|home| home.starts_with(path))
            || self.home_of(path).is_some_and(|home| refuses_in(&home, path))
    }

    /// Returns the home directory that `path` lies in, the caller's or another.
    pub(super) fn home_of(&self, path: &Path) -> Option<PathBuf> {
        if let Some(home) = self.homes.iter().find(|home| path.starts_with(home)) {
            return Some(home.clone());
        }
        let mut parts = path.iter().skip(1);
        match parts.next()?.to_str()? {
            "root" => Some("/root".into()),
            top @ ("home" | "Users") => Some(Path::new("/").join(top).join(parts.next()?)),
            _ => None,
        }
    }
}

/// Returns the secrets that lie below a directory without links in it, whether they exist
/// or not; none where the directory is one itself.
pub fn secrets_below(dir: &Path) -> Vec<RelPath> {
    let deny = Deny::new(std::env::home_dir());
    let home = deny.home_of(dir);
    let system = SECRETS.iter().map(PathBuf::from);
    let own = home.iter().flat_map(|home| HOME_SECRETS.iter().map(|secret| home.join(secret)));
    let below = system.chain(own).filter_map(|secret| RelPath::below(dir, &secret));
    below.filter(|path| !path.is_root()).collect()
}

fn refuses_in(home: &Path, path: &Path) -> bool {
    let Ok(inner) = path.strip_prefix(home) else { return false };
    inner.as_os_str().is_empty()
        || is_crowd(inner, HOME_CROWDS)
        || HOME_SECRETS.iter().any(|secret| meets(inner, Path::new(secret)))
}

/// Returns whether one lies in the other.
fn meets(path: &Path, secret: &Path) -> bool {
    path.starts_with(secret) || secret.starts_with(path)
}

/// Returns whether `path` is or contains a crowd.
fn is_crowd(path: &Path, crowds: &[&str]) -> bool {
    crowds.iter().any(|crowd| match crowd.strip_suffix("/*") {
        Some(parent) => path.parent() == Some(Path::new(parent)),
        None => Path::new(crowd).starts_with(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_crowds_and_homes_are_refused() {
        let deny = Deny::new([PathBuf::from("/data/ann")]);
        let refused = [
            "/",
            "/home",
            "/home/bob",
            "/root",
            "/data",
            "/data/ann",
            "/etc",
            "/opt",
            "/run/user/1",
            "/etc/ssl",
            "/etc/ssl/private",
            "/proc/1/root",
            "/var/lib",
            "/data/ann/.ssh",
            "/data/ann/.ssh/id_rsa",
            "/home/bob/.ssh/config",
            "/root/.aws",
            "/data/ann/.config",
            "/data/ann/.config/foo",
            "/data/ann/.config/gh/bin",
            "/data/ann/.local",
            "/data/ann/.local/share",
            "/data/ann/.local/share/keyrings/a",
            "/data/ann/.cargo",
            "/data/ann/.cargo/credentials.toml",
            "/data/ann/.npmrc",
            "/data/ann/.m2",
            "/data/ann/.docker",
            "/data/ann/.git-credentials",
            "/data/ann/.bash_history",
            "/data/ann/.mozilla/firefox",
            "/data/ann/tool/.env",
            "/srv/tool/server.key",
            "/data/ann/go/pkg/mod/cache",
            "/data/ann/go",
            "/data/ann/.dotnet",
            "/data/ann/.composer",
        ];
        for path in refused {
            assert!(deny.refuses(Path::new(path)), "{path} got a place");
        }
        let fine = [
            "/usr",
            "/nix/store",
            "/opt/jdk",
            "/etc/ssl/certs",
            "/etc/alternatives",
            "/data/ann/.cargo/bin",
            "/data/ann/.rustup/toolchains",
            "/data/ann/bin",
            "/data/ann/.local/bin",
            "/data/ann/.local/share/uv/python/cpython-3.12",
            "/data/ann/.config/composer/vendor",
            "/data/ann/.m2/repository",
            "/data/ann/go/pkg/mod/github.com",
            "/data/ann/go/pkg/mod/cache/download",
            "/data/ann/.dotnet/shared",
            "/home/linuxbrew/.linuxbrew/Cellar",
        ];
        for path in fine {
            assert!(!deny.refuses(Path::new(path)), "{path} was refused");
        }
    }
}
