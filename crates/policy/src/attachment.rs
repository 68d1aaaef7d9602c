//! Which files may be handed to a worker (`attachment_policy`).

use crate::view::has_suffix;

/// Which files may be handed to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentPolicy {
    /// How many at most.
    pub max_attachments: u64,
    /// How many bytes at most, in all together.
    pub max_total_bytes: u64,
    /// How many bytes at most in one.
    pub max_file_bytes: u64,
    /// Endings of names that may be attached, with their dot; empty is all.
    pub allowed_suffixes: Vec<String>,
    /// Endings of names that may not.
    pub denied_suffixes: Vec<String>,
}

impl Default for AttachmentPolicy {
    fn default() -> Self {
        AttachmentPolicy {
            max_attachments: 4,
            max_total_bytes: 10_000_000,
            max_file_bytes: 10_000_000,
            allowed_suffixes: Vec::new(),
            denied_suffixes: Vec::new(),
        }
    }
}

impl AttachmentPolicy {
    /// Returns whether files of that name may be attached. What is denied is denied,
    /// even where it is allowed too.
    pub fn suffix_allowed(&self, name: &[u8]) -> bool {
        let listed = self.allowed_suffixes.is_empty() || has_suffix(name, &self.allowed_suffixes);
        listed && !has_suffix(name, &self.denied_suffixes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_wins() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let cases = [
            ("", "", "a.txt", true),
            (".md .gz", "", "a.txt", false),
            (".md .gz", "", "a.MD", true),
            (".md .gz", ".tar.gz", "a.gz", true),
            (".md .gz", ".tar.gz", "a.tar.gz", false),
            ("", ".exe", "a.EXE", false),
            ("", ".exe", "exe", true),
        ];
        for (allowed, denied, name, want) in cases {
            let policy = AttachmentPolicy {
                allowed_suffixes: list(allowed),
                denied_suffixes: list(denied),
                ..AttachmentPolicy::default()
            };
            assert_eq!(policy.suffix_allowed(name.as_bytes()), want, "{allowed}/{denied} {name}");
        }
    }
}
