//! Host directories as the files write them, resolved by their text alone.

use std::path::{Component, Path, PathBuf};

/// Why a text cannot be a zone's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DirError {
    #[error("the directory is empty")]
    Empty,
    #[error("the directory contains a control character")]
    Control,
    #[error("the directory starts with '~', which is not expanded")]
    Home,
    #[error("the directory is absolute, and the sandboxed layout keeps zones below 'sandbox.root'")]
    Absolute,
    #[error("the directory leaves 'sandbox.root', and the sandboxed layout keeps zones below it")]
    Leaves,
}

impl DirError {
    /// Returns what to write instead.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            DirError::Empty => "write '.' for the directory itself",
            DirError::Control => "remove the character",
            DirError::Home => "write the directory out, or './~' for a name that starts with '~'",
            DirError::Absolute | DirError::Leaves => {
                "set 'sandbox.mode: direct' to use directories outside 'sandbox.root'"
            }
        }
    }
}

/// Returns `text` below `base`, or wherever else it leads.
pub(crate) fn anywhere(base: &Path, text: &str) -> Result<PathBuf, DirError> {
    match text {
        "" => Err(DirError::Empty),
        text if text.contains(char::is_control) => Err(DirError::Control),
        text if text.starts_with('~') => Err(DirError::Home),
        text => Ok(normal(&base.join(text))),
    }
}

/// Returns `text` below `root`, where it must stay.
pub(crate) fn below(root: &Path, text: &str) -> Result<PathBuf, DirError> {
    let dir = anywhere(root, text)?;
    if Path::new(text).is_absolute() {
        return Err(DirError::Absolute);
    }
    let mut depth = 0_usize;
    for component in Path::new(text).components() {
        match component {
            Component::ParentDir => depth = depth.checked_sub(1).ok_or(DirError::Leaves)?,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    Ok(dir)
}

/// Removes `.` and `..` by the text alone; `..` at the root stays there.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_resolved_by_their_text() {
        let base = Path::new("/p/q");
        let cases = [
            // text, anywhere, below
            ("data", Ok("/p/q/data"), Ok("/p/q/data")),
            ("./data/", Ok("/p/q/data"), Ok("/p/q/data")),
            (".", Ok("/p/q"), Ok("/p/q")),
            ("a/../b", Ok("/p/q/b"), Ok("/p/q/b")),
            ("../b", Ok("/p/b"), Err(DirError::Leaves)),
            ("a/../../q/b", Ok("/p/q/b"), Err(DirError::Leaves)),
            ("../../../../b", Ok("/b"), Err(DirError::Leaves)),
            ("/srv/x/../y", Ok("/srv/y"), Err(DirError::Absolute)),
            ("/p/q/data", Ok("/p/q/data"), Err(DirError::Absolute)),
            ("~/x", Err(DirError::Home), Err(DirError::Home)),
            ("~", Err(DirError::Home), Err(DirError::Home)),
            ("./~", Ok("/p/q/~"), Ok("/p/q/~")),
            ("", Err(DirError::Empty), Err(DirError::Empty)),
            ("a\0b", Err(DirError::Control), Err(DirError::Control)),
            ("a\x1b[31mb", Err(DirError::Control), Err(DirError::Control)),
        ];
        for (text, want_anywhere, want_below) in cases {
            assert_eq!(anywhere(base, text), want_anywhere.map(PathBuf::from), "{text:?}");
            assert_eq!(below(base, text), want_below.map(PathBuf::from), "{text:?}");
        }
    }
}
