//! Whether what a command wrote into one of git's files runs nothing.

use std::collections::BTreeMap;

use super::Content;
use super::allowed::{is_allowed, is_place, is_submodule_name};
use super::attributes;
use super::config_text::{MAX_BYTES, Setting, parse, parse_into};
use crate::path::RelPath;

/// Ways to merge that are part of git; any other name is a program.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// Returns whether the bytes `now` in the file at `path` cannot make git run a
/// program, or only one that the bytes `before` named already.
///
/// What cannot be read as git reads it, has a NUL byte or is larger than 1 MiB
/// is not harmless.
pub fn is_harmless(content: Content, path: &RelPath, now: &[u8], before: Option<&[u8]>) -> bool {
    if now.len() > MAX_BYTES || now.contains(&0) {
        return false;
    }
    let names: Vec<&[u8]> = path.names().collect();
    match content {
        Content::GitConfig => settings(now, before, |setting| is_allowed(setting, &names)),
        Content::GitModules => settings(now, before, is_plain_submodule),
        Content::GitAttributes => attributes::is_harmless(now, before),
        Content::GitLink => is_own_link(now),
        Content::CommonDir => is_worktree(&names) && trimmed(now) == b"../..",
        Content::Unfinished => before == Some(now) || unfinished(&names, now),
    }
}

/// Returns the directories that an existing configuration takes hooks from, and
/// the files it includes, as they are written there.
pub fn hooks_dirs(git_config: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    // Up to a fault, if there is one: an older or newer git may read past it.
    let _ = parse_into(git_config, &mut all);
    let names_dir = |setting: &Setting| match setting.section.as_slice() {
        b"core" => setting.name == b"hookspath" && setting.subsection.is_none(),
        b"include" | b"includeif" => setting.name == b"path",
        _ => false,
    };
    let dirs = all.iter().filter(|setting| names_dir(setting));
    let values = dirs.filter_map(|setting| setting.value.as_deref());
    values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// Returns whether every setting is harmless by itself or was there before; one
/// that was there once may be there once.
fn settings(now: &[u8], before: Option<&[u8]>, harmless: impl Fn(&Setting) -> bool) -> bool {
    let Ok(now) = parse(now) else { return false };
    let mut own: BTreeMap<Setting, usize> = BTreeMap::new();
    for setting in before.and_then(|before| parse(before).ok()).into_iter().flatten() {
        *own.entry(setting).or_default() += 1;
    }
    now.iter().all(|setting| {
        harmless(setting)
            || own.get_mut(setting).is_some_and(|left| {
                let any = *left > 0;
                *left = left.saturating_sub(1);
                any
            })
    })
}

/// Returns whether a setting of `.gitmodules` keeps to the submodule.
fn is_plain_submodule(setting: &Setting) -> bool {
    if setting.section != b"submodule" {
        return true; // Git reads nothing else from the file.
    }
    let value = setting.value.as_deref();
    setting.subsection.as_deref().is_none_or(is_submodule_name)
        && match setting.name.as_slice() {
            b"path" => value.is_some_and(is_plain_path),
            b"url" => value.is_some_and(is_place),
            b"update" => value.is_some_and(|value| !value.starts_with(b"!")),
            _ => true,
        }
}

/// Returns whether a path leads down into a work tree.
fn is_plain_path(path: &[u8]) -> bool {
    let plain = |name: &[u8]| name != b".." && !name.eq_ignore_ascii_case(b".git");
    !path.starts_with(b"-")
        && !path.starts_with(b"/")
        && !path.iter().any(u8::is_ascii_control)
        && path.split(|&byte| byte == b'/').all(plain)
}

/// Returns whether a file `.git` leads to where a worktree or a submodule of
/// some repository has its own: there the configuration and hooks are guarded.
fn is_own_link(text: &[u8]) -> bool {
    let Some(path) = trimmed(text).strip_prefix(b"gitdir: ") else { return false };
    if path.iter().any(u8::is_ascii_control) {
        return false;
    }
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    if names.contains(&&b"objects"[..]) {
        return false;
    }
    (0..names.len()).any(|git| match &names[git..] {
        [b".git", b"worktrees", name] => is_plain(name),
        [b".git", b"worktrees", name, b"modules", module @ ..] => {
            is_plain(name) && is_module(module)
        }
        [b".git", b"modules", module @ ..] => is_module(module),
        _ => false,
    })
}

/// Returns whether names after `modules` lead to a submodule's repository, and
/// not to the objects of one, where nobody looks.
fn is_module(names: &[&[u8]]) -> bool {
    !names.is_empty() && names.iter().all(|name| is_plain(name) && *name != b"objects")
}

fn is_plain(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b".." | b".git")
}

/// Returns whether the file lies in the part of a repository that belongs to a
/// worktree, so that `../..` is the repository itself.
fn is_worktree(names: &[&[u8]]) -> bool {
    let [above @ .., worktrees, name, _] = names else { return false };
    let git = above.iter().rposition(|name| name.eq_ignore_ascii_case(b".git"));
    let inside = git.map(|git| &above[git + 1..]);
    let repository = inside.is_some_and(|inside| {
        inside.is_empty() || inside.len() > 1 && inside[0].eq_ignore_ascii_case(b"modules")
    });
    repository
        && worktrees.eq_ignore_ascii_case(b"worktrees")
        && !name.eq_ignore_ascii_case(b".git")
}

/// Returns whether an unfinished rebase or cherry-pick goes on without a command.
fn unfinished(names: &[&[u8]], now: &[u8]) -> bool {
    let is_strategy = |name: &[u8]| STRATEGIES.iter().any(|known| known.as_bytes() == name);
    let last = names.last().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    match last.as_slice() {
        b"strategy" => is_strategy(trimmed(now)),
        b"opts" => settings(now, None, |setting| {
            setting.name != b"strategy" || setting.value.as_deref().is_some_and(is_strategy)
        }),
        _ => now.split(|&byte| byte == b'\n').all(|line| {
            let line = line.trim_ascii_start();
            let word = line.iter().take_while(|byte| !byte.is_ascii_whitespace());
            !matches!(&line[..word.count()], b"exec" | b"x")
        }),
    }
}

/// Returns a text without the ends of its last lines.
fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
    &text[..end.map_or(0, |end| end + 1)]
}
