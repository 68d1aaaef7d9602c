//! The inside of a git repository: which files can make git run a program.

use super::{Content, Planted, stricter};

/// Where a repository is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In a directory `.git`.
    Main,
    /// The part of it that belongs to a linked worktree.
    Worktree,
    /// The repository of a submodule.
    Module,
    /// In a directory of any name.
    Bare,
}

/// Returns what becomes of an entry in a repository; names are in small letters.
pub(super) fn find(below: &[Vec<u8>], is_dir: bool, kind: Kind) -> Planted<'static> {
    let names: Vec<&[u8]> = below.iter().map(Vec::as_slice).collect();
    let depends = |content| if is_dir { Planted::Free } else { Planted::Depends(content) };
    match names.as_slice() {
        [] if kind == Kind::Main => depends(Content::GitLink),
        [b"config" | b"config.worktree"] => depends(Content::GitConfig),
        [b"commondir"] => depends(Content::CommonDir),
        [b"info", b"attributes"] => depends(Content::GitAttributes),
        [b"hooks", inside @ ..] => hooks(inside, is_dir, kind),
        // Remotes in an old form, which git still reads and no longer writes.
        [b"remotes", _, ..] if !is_dir => Planted::Guarded(".git/remotes/**"),
        [b"branches", _, ..] if !is_dir => Planted::Guarded(".git/branches/**"),
        [b"rebase-merge", b"git-rebase-todo" | b"git-rebase-todo.backup" | b"strategy"]
        | [b"sequencer", b"opts"] => depends(Content::Unfinished),
        [b"worktrees", _, _, ..] => find(&below[2..], is_dir, Kind::Worktree),
        // A submodule's name can have slashes: its repository can be at any depth.
        // `refs/remotes` are not the remotes of a repository `refs`.
        [b"modules", _, ..] => (1..below.len())
            .filter(|&start| names[start] != b"remotes" || names[start - 1] != b"refs")
            .map(|start| find(&below[start..], is_dir, Kind::Module))
            .fold(Planted::Free, stricter),
        _ => Planted::Free,
    }
}

fn hooks(inside: &[&[u8]], is_dir: bool, kind: Kind) -> Planted<'static> {
    match inside.last() {
        None if is_dir => Planted::Free,
        // Git itself puts samples there, and does not run them.
        Some(name) if !is_dir && name.ends_with(b".sample") => Planted::Free,
        _ => Planted::Guarded(match kind {
            Kind::Main => ".git/hooks/**",
            Kind::Worktree => ".git/worktrees/*/hooks/**",
            Kind::Module => ".git/modules/**/hooks/**",
            Kind::Bare => "hooks/**",
        }),
    }
}

/// Returns whether a directory that holds these names is one that git takes for
/// a repository, whatever the directory is called.
pub fn bare_repository(names: &[&[u8]]) -> bool {
    let has = |wanted: &[u8]| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    has(b"head") && (has(b"objects") && has(b"refs") || has(b"commondir"))
}
