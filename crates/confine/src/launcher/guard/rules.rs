//! What the policy says about an entry.

use zonekeep_policy::path::{RelPath, is_plain_name};
use zonekeep_policy::planted::{CommandGuards, Content, Planted};

use super::before::Is;
use super::sieve::{Class, Sieve};

/// What is reported for a directory of hooks, or an included file, that an
/// existing configuration of git names.
pub(super) const DECLARED: &str = "core.hooksPath";
/// What is reported for a link in a repository.
const LINK: &str = ".git/**";

/// How many paths are guarded because something names them. Those that exist before
/// commands run come first, so that commands cannot take their place.
const MAX_DECLARED: usize = 2000;

/// All rules.
#[derive(Debug)]
pub(super) struct Rules {
    guards: CommandGuards,
    /// Without the plain patterns, for the many files of repositories.
    repository: CommandGuards,
    pub(super) sieve: Sieve,
    /// The names of each plain pattern.
    names: Vec<Vec<String>>,
    /// Paths that configurations name or guarded links lead to, with their zones
    /// and what is reported for them.
    declared: Vec<(usize, RelPath, String)>,
}

impl Rules {
    pub(super) fn new(lines: &[String]) -> Self {
        let of_repository: Vec<String> =
            lines.iter().filter(|line| line.starts_with('/')).cloned().collect();
        Rules {
            guards: CommandGuards::from_lines(lines),
            repository: CommandGuards::from_lines(&of_repository),
            sieve: Sieve::new(lines),
            names: lines
                .iter()
                .filter(|line| !line.starts_with('/'))
                .map(|line| line.split('/').map(str::to_owned).collect())
                .collect(),
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
        let declared = self.declared.iter().find(|(at, named, _)| {
            let stands_for = is == Is::Link && named.starts_with(path);
            *at == zone && (path.starts_with(named) || stands_for)
        });
        if let Some((_, _, pattern)) = declared {
            return Planted::Guarded(pattern);
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
                new |= self.declare_at(zone, path, DECLARED);
            }
        }
        new
    }

    /// Returns what is guarded below a directory of that path by patterns that name
    /// it.
    pub(super) fn rests_below(&self, path: &RelPath) -> Vec<RelPath> {
        let above: Vec<&[u8]> = path.names().collect();
        let mut rests = Vec::new();
        for names in &self.names {
            for count in 1..names.len().min(above.len() + 1) {
                let (head, rest) = names.split_at(count);
                let last = &above[above.len() - count..];
                let fits = |(name, at): (&String, &&[u8])| name.as_bytes().eq_ignore_ascii_case(at);
                let rest = rest.strip_suffix(&["**".to_owned()]).unwrap_or(rest);
                let is_plain =
                    |name: &String| !name.contains('*') && is_plain_name(name.as_bytes());
                if head.iter().zip(last).all(fits) && rest.iter().all(is_plain) {
                    rests
                        .push(rest.iter().fold(RelPath::root(), |p, name| p.join(name.as_bytes())));
                }
            }
        }
        rests
    }

    /// Guards a path, and all below it; returns whether that is new.
    pub(super) fn declare_at(&mut self, zone: usize, path: RelPath, pattern: &str) -> bool {
        let known = |(at, named, _): &(usize, RelPath, String)| *at == zone && *named == path;
        if self.declared.len() >= MAX_DECLARED || self.declared.iter().any(known) {
            return false;
        }
        self.sieve.add(&[path.as_bytes(), b"/**"].concat());
        self.declared.push((zone, path, pattern.to_owned()));
        true
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
    fn only_so_many_paths_are_declared_and_the_first_ones_stay() {
        let mut rules = Rules::new(&[]);
        for number in 0..2 * MAX_DECLARED {
            let new = rules.declare_at(0, path(&format!("d{number}")), DECLARED);
            assert_eq!(new, number < MAX_DECLARED, "{number}");
        }
        let find = |at: &str| rules.find(0, &path(at), &[], Is::File, Class::Pattern);
        assert!(matches!(find("d0/hook"), Planted::Guarded(_)));
        assert!(matches!(find(&format!("d{}/hook", MAX_DECLARED - 1)), Planted::Guarded(_)));
        assert_eq!(find(&format!("d{MAX_DECLARED}/hook")), Planted::Free);
    }

    #[test]
    fn what_is_guarded_below_a_name_is_found() {
        let lines = [".cargo/config.toml", ".cargo/bin/**", "a/.cargo/x", "*.worker", "/git"];
        let rules = Rules::new(&lines.map(str::to_owned));
        let below = |at: &str| {
            let rests = rules.rests_below(&path(at));
            rests.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(below(".cargo"), ["config.toml", "bin"]);
        assert_eq!(below("z/.CARGO"), ["config.toml", "bin"]);
        assert_eq!(below("z/a/.cargo"), ["config.toml", "bin", "x"]);
        assert_eq!(below("a"), [".cargo/x"]);
        assert_eq!(below(".cargo/bin"), [""]);
        assert!(below("other").is_empty());
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
                rules.declared.iter().map(|(_, path, _)| path.to_string()).collect();
            assert_eq!(found, want, "{config} {named}");
        }
    }
}
