//! Places where programs keep credentials, which a granted directory does not hand out.
//!
//! A directory is granted for what is in it as a whole. Keys and passwords that lie
//! below are rarely meant: they stay hidden unless the granted directory is such a place
//! itself, or `sandbox.allow_sensitive` has them.

use crate::guard::{Reach, covers, matches_file};
use crate::path::RelPath;

/// Names that hold credentials wherever they are, compared without regard to case. Files
/// that projects have for themselves (`.env`, `*.key`, `.npmrc`) are not among them.
const PATTERNS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".aws/credentials",
    ".aws/sso",
    ".azure",
    ".boto",
    ".docker/config.json",
    ".kube/config",
    ".my.cnf",
    ".oci",
    ".pgpass",
    ".s3cfg",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".pypirc",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".local/share/keyrings",
];

/// What is hidden in one granted directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sensitive {
    paths: Vec<RelPath>,
    allow: Vec<String>,
}

impl Sensitive {
    /// Hides well-known names, and these paths below the directory, but for what the
    /// patterns of `allow` cover.
    pub fn new(paths: Vec<RelPath>, allow: Vec<String>) -> Self {
        Sensitive { paths, allow }
    }

    /// Returns the paths that are hidden by where they are.
    pub fn paths(&self) -> &[RelPath] {
        &self.paths
    }

    /// Returns whether a path is hidden, or lies in what is.
    pub fn hides(&self, path: &RelPath) -> bool {
        self.meets(path, Reach::File)
    }

    /// Returns whether a path is shown by `sandbox.allow_sensitive`.
    pub fn allows(&self, path: &RelPath) -> bool {
        self.allow.iter().any(|pattern| matches_file(pattern, path))
    }

    /// Returns the pattern that, listed in `sandbox.allow_sensitive`, shows a hidden path:
    /// the well-known name, or the place itself; `None` for a path that is not hidden.
    pub fn pattern(&self, path: &RelPath) -> Option<String> {
        if !self.hides(path) {
            return None;
        }
        let names: Vec<Vec<u8>> = path.names().map(<[u8]>::to_ascii_lowercase).collect();
        let known = PATTERNS.iter().find(|pattern| covers(pattern, &names, Reach::File));
        let placed = || self.paths.iter().find(|own| path.starts_with(own));
        known.map(|known| (*known).to_owned()).or_else(|| Some(format!("/{}", placed()?)))
    }

    /// Returns whether a path is hidden, or could hold what is: under another name it
    /// would not be any more.
    pub fn hides_in(&self, path: &RelPath) -> bool {
        self.meets(path, Reach::Tree) || self.paths.iter().any(|own| own.starts_with(path))
    }

    fn meets(&self, path: &RelPath, reach: Reach) -> bool {
        let by_place = self.paths.iter().any(|own| path.starts_with(own));
        // Nearly all paths end here.
        if !by_place && !path.names().any(|name| name.first() == Some(&b'.')) {
            return false;
        }
        let names: Vec<Vec<u8>> = path.names().map(<[u8]>::to_ascii_lowercase).collect();
        let is_sensitive =
            by_place || PATTERNS.iter().any(|pattern| covers(pattern, &names, reach));
        is_sensitive && !self.allows(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::AgentPath;

    #[test]
    fn credentials_are_hidden_and_files_of_projects_are_not() {
        let path = |text: &str| AgentPath::absolute(text).unwrap().as_rel().clone();
        let sensitive =
            Sensitive::new(vec![path("/shadow"), path("/ssl/private")], vec!["a/.ssh/**".into()]);
        let hidden = [
            "/.ssh",
            "/.SSH/id_rsa",
            "/home/ann/.ssh/config",
            "/.aws/credentials",
            "/x/.netrc",
            "/x/.config/gh/hosts.yml",
            "/shadow",
            "/ssl/private/key.pem",
        ];
        for text in hidden {
            assert!(sensitive.hides(&path(text)), "{text}");
            // What is proposed shows it, in a list of its own.
            let pattern = sensitive.pattern(&path(text)).unwrap();
            let shown = Sensitive::new(sensitive.paths.clone(), vec![pattern.clone()]);
            assert!(!shown.hides(&path(text)), "{text}: {pattern}");
        }
        let open = [
            "/",
            "/ssh",
            "/.env",
            "/server.key",
            "/.npmrc",
            "/.aws/config",
            "/.docker/Dockerfile",
            "/.config/app",
            "/.config",
            "/a/.ssh/id_rsa",
            "/a/.ssh",
            "/ssl/certs/x",
            "/x/shadow",
        ];
        for text in open {
            assert!(!sensitive.hides(&path(text)), "{text}");
            assert_eq!(sensitive.pattern(&path(text)), None, "{text}");
        }
        for text in ["/.config", "/x/.docker", "/ssl", "/.ssh"] {
            assert!(sensitive.hides_in(&path(text)), "{text}");
        }
        assert!(!sensitive.hides_in(&path("/src")));
    }
}
