//! What the policy says about an entry.

use zonekeep_policy::path::{RelPath, is_plain_name};
use zonekeep_policy::planted::{CommandGuards, Content, Planted};

use super::before::Is;
use super::sieve::{Class, Sieve};

/// What is reported for a directory of hooks, or an included file, that an
/// existing configuration of git names.
const DECLARED: &str = "core.hooksPath";
/// What is reported for a link in a repository.
const LINK: &str = ".git/**";

/// All rules.
#[derive(Debug)]
pub(super) struct Rules {
    guards: CommandGuards,
    /// Without the plain patterns, for the many files of repositories.
    repository: CommandGuards,
    pub(super) sieve: Sieve,
    /// Paths that configurations name, with their zones.
    declared: Vec<(usize, RelPath)>,
}

impl Rules {
    pub(super) fn new(lines: &[String]) -> Self {
        let of_repository: Vec<String> =
            lines.iter().filter(|line| line.starts_with('/')).cloned().collect();
        Rules {
            guards: CommandGuards::from_lines(lines),
            repository: CommandGuards::from_lines(&of_repository),
            sieve: Sieve::new(lines),
            declared: Vec::new(),
        }
    }

    /// Returns what becomes of an entry. `bares` are its paths below all
    /// directories on the way that are laid out as a repository.
    pub(super) fn find(
        &self,
        zone: usize,
        path: &RelPath,
        bares: &[RelPath],
        is: Is,
        class: Class,
    ) -> Planted<'_> {
        let declared = |(at, named): &(usize, RelPath)| {
            let stands_for = is == Is::Link && named.starts_with(path);
            *at == zone && (path.starts_with(named) || stands_for)
        };
        if self.declared.iter().any(declared) {
            return Planted::Guarded(DECLARED);
        }
        let guards = match class {
            Class::Pattern => &self.guards,
            _ => &self.repository,
        };
        let mut found = match class {
            Class::Plain => Planted::Free,
            _ if is == Is::Link => guards.find_link(path),
            _ => guards.find(path, is == Is::Directory),
        };
        for below in bares {
            match self.repository.find_in_bare(below, is == Is::Directory) {
                Planted::Free => {}
                _ if is == Is::Link => found = Planted::Guarded(LINK),
                guarded @ Planted::Guarded(_) => found = guarded,
                depends => {
                    if found == Planted::Free {
                        found = depends;
                    }
                }
            }
        }
        found
    }

    /// Returns whether a link is guarded for its own name, and not only because
    /// it could stand for a directory.
    pub(super) fn is_named(&self, path: &RelPath) -> bool {
        self.guards.find(path, false) != Planted::Free
    }

    /// Returns whether any file in a directory would be guarded.
    pub(super) fn guards_all_in(
        &self,
        zone: usize,
        dir: &RelPath,
        bares: &[RelPath],
        class: Class,
    ) -> bool {
        const ANY: &[u8] = b"\x01";
        let bares: Vec<RelPath> = bares.iter().map(|below| below.join(ANY)).collect();
        let found = self.find(zone, &dir.join(ANY), &bares, Is::File, class);
        matches!(found, Planted::Guarded(_))
    }

    /// Guards what the configuration at `config` takes hooks from, or includes;
    /// returns whether there is anything new.
    pub(super) fn declare(
        &mut self,
        zone: usize,
        host: &[u8],
        at: &[u8],
        config: &RelPath,
        named: &[String],
    ) -> bool {
        let mut new = false;
        let dir = config.split_last().map(|(dir, _)| dir).unwrap_or_default();
        let work_tree = match dir.split_last() {
            Some((above, name)) if name.eq_ignore_ascii_case(b".git") => Some(above),
            _ => None,
        };
        for text in named {
            let text = text.as_bytes();
            let inside = [host, at].iter().find_map(|top| {
                let below = text.strip_prefix(*top)?;
                below.strip_prefix(b"/").map(|below| resolve(&RelPath::root(), below))
            });
            let paths = match inside {
                Some(path) => vec![path],
                None if text.starts_with(b"/") || text.starts_with(b"~") => Vec::new(),
                None => {
                    let bases = [Some(dir.clone()), work_tree.clone()];
                    bases.iter().flatten().map(|base| resolve(base, text)).collect()
                }
            };
            for path in paths.into_iter().flatten() {
                let place = (zone, path);
                if !self.declared.contains(&place) {
                    self.sieve.add(&[place.1.as_bytes(), b"/**"].concat());
                    self.declared.push(place);
                    new = true;
                }
            }
        }
        new
    }
}

/// Returns the path that a text leads to from a directory, if it stays below the
/// zone and is not the zone, nor the directory or one above it.
fn resolve(base: &RelPath, text: &[u8]) -> Option<RelPath> {
    let mut path = base.clone();
    for name in text.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => path = path.split_last()?.0,
            name if is_plain_name(name) => path = path.join(name),
            _ => return None,
        }
    }
    (!base.starts_with(&path)).then_some(path)
}

/// Returns what is reported for a file that depends on what is in it.
pub(super) fn pattern_of(content: Content) -> &'static str {
    match content {
        Content::GitConfig => ".git/config",
        Content::GitModules => ".gitmodules",
        Content::GitAttributes => ".gitattributes",
        Content::GitLink => ".git",
        Content::CommonDir => ".git/commondir",
        _ => ".git/**",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        let names = text.split('/').filter(|name| !name.is_empty());
        names.fold(RelPath::root(), |path, name| path.join(name.as_bytes()))
    }

    #[test]
    fn what_a_configuration_names_is_found_inside_the_zone_only() {
        let cases = [
            (".git/config", "tools/hooks", &[".git/tools/hooks", "tools/hooks"][..]),
            ("a/.git/config", "../x", &["a/x", "x"]),
            (".git/config", "/host/p/h", &["h"]),
            (".git/config", "/rw/h", &["h"]),
            (".git/config", "/etc/h", &[]),
            (".git/config", "/hostile", &[]),
            (".git/config", "~/h", &[]),
            (".git/config", "../../h", &[]),
            (".git/config", ".", &[]),
            (".git/config", "..", &[]),
            ("b.git/config", "h", &["b.git/h"]),
        ];
        for (config, named, want) in cases {
            let mut rules = Rules::new(&[]);
            rules.declare(0, b"/host/p", b"/rw", &path(config), &[named.to_owned()]);
            let found: Vec<String> =
                rules.declared.iter().map(|(_, path)| path.to_string()).collect();
            assert_eq!(found, want, "{config} {named}");
        }
    }
}
