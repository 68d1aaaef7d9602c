//! What the policy says about an entry.

use zonekeep_policy::path::{RelPath, is_plain_name};
use zonekeep_policy::planted::{CommandGuards, Content, Level, Listed, Planted};

use super::before::Is;
use super::judge::Ward;
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
    /// Paths that configurations name or guarded links lead to, with their zones.
    declared: Vec<(usize, RelPath, Ward)>,
}

impl Rules {
    pub(super) fn new(guards: &CommandGuards) -> Self {
        let split = |pattern: &str| pattern.split('/').map(str::to_owned).collect();
        Rules {
            guards: guards.clone(),
            repository: guards.of_repositories(),
            sieve: Sieve::new(guards),
            names: guards.patterns().map(split).collect(),
            declared: Vec::new(),
        }
    }

    /// Returns whether the user has said yes to a change of a file below a directory.
    pub(super) fn approves_below(&self, dir: &RelPath) -> bool {
        self.guards.approves_below(dir)
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
        let declared = self.declared.iter().filter(|(at, named, _)| {
            let stands_for = is == Is::Link && named.starts_with(path);
            *at == zone && (path.starts_with(named) || stands_for)
        });
        let declared = declared.map(|(_, _, ward)| ward).max_by_key(|ward| ward.level);
        let found = match declared {
            Some(ward) if ward.level == Level::Block => Planted::Guarded(&ward.pattern),
            _ => self.find_by_pattern(path, bares, is, class),
        };
        match (declared, found) {
            (None, found) | (_, found @ Planted::Guarded(_)) => found,
            (Some(ward), Planted::Depends(_)) => Planted::Guarded(&ward.pattern),
            (Some(ward), Planted::Listed(listed)) if listed.level >= ward.level => {
                let at_once = listed.at_once || ward.at_once;
                Planted::Listed(Listed { at_once, clone_depth: None, ..listed })
            }
            (Some(Ward { pattern, level, at_once, .. }), _) => {
                let (level, at_once, depth, clone_depth) = (*level, *at_once, 0, None);
                Planted::Listed(Listed { pattern, level, at_once, depth, clone_depth })
            }
        }
    }

    fn find_by_pattern(
        &self,
        path: &RelPath,
        bares: &[RelPath],
        is: Is,
        class: Class,
    ) -> Planted<'_> {
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
                guarded @ (Planted::Guarded(_) | Planted::Listed(_)) => found = guarded,
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

    /// Returns the rule for any file in a directory, where there is one.
    pub(super) fn for_all_in(
        &self,
        zone: usize,
        dir: &RelPath,
        bares: &[RelPath],
        class: Class,
    ) -> Planted<'_> {
        const ANY: &[u8] = b"\x01";
        let bares: Vec<RelPath> = bares.iter().map(|below| below.join(ANY)).collect();
        match self.find(zone, &dir.join(ANY), &bares, Is::File, class) {
            Planted::Depends(_) => Planted::Free,
            found => found,
        }
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
                new |= self.declare_at(zone, path, &Ward::strict(DECLARED));
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
    pub(super) fn declare_at(&mut self, zone: usize, path: RelPath, ward: &Ward) -> bool {
        let known = |(at, named, _): &&mut (usize, RelPath, Ward)| *at == zone && *named == path;
        if let Some((_, _, held)) = self.declared.iter_mut().find(known) {
            let stricter = ward.level > held.level || ward.at_once && !held.at_once;
            if stricter {
                let at_once = held.at_once || ward.at_once;
                *held = Ward { at_once, level: held.level.max(ward.level), ..ward.clone() };
            }
            return stricter;
        }
        if self.declared.len() >= MAX_DECLARED {
            return false;
        }
        self.sieve.add(&[path.as_bytes(), b"/**"].concat());
        self.declared.push((zone, path, ward.clone()));
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
        let mut rules = Rules::new(&CommandGuards::default());
        for number in 0..2 * MAX_DECLARED {
            let new = rules.declare_at(0, path(&format!("d{number}")), &Ward::strict(DECLARED));
            assert_eq!(new, number < MAX_DECLARED, "{number}");
        }
        let find = |at: &str| rules.find(0, &path(at), &[], Is::File, Class::Pattern);
        assert!(matches!(find("d0/hook"), Planted::Guarded(_)));
        assert!(matches!(find(&format!("d{}/hook", MAX_DECLARED - 1)), Planted::Guarded(_)));
        assert_eq!(find(&format!("d{MAX_DECLARED}/hook")), Planted::Free);
    }

    #[test]
    fn the_strictest_of_all_guards_of_a_path_holds() {
        use zonekeep_policy::guard::Guards;
        use zonekeep_policy::planted::Caller;

        let ward =
            |level, at_once| Ward { pattern: "link".to_owned(), level, at_once, clone_depth: None };
        let guards = CommandGuards::of(&Guards::default(), Caller::Agent);
        let found = |wards: &[Ward], at: &str| {
            let mut rules = Rules::new(&guards);
            for ward in wards {
                rules.declare_at(0, path(at), ward);
            }
            match rules.find(0, &path(at), &[], Is::File, Class::Pattern) {
                Planted::Free => None,
                Planted::Listed(Listed { level, at_once, .. }) => Some((level, at_once)),
                Planted::Guarded(_) => Some((Level::Block, true)),
                _ => panic!("{at}"),
            }
        };
        let (ask, block) = (ward(Level::Ask, false), ward(Level::Block, true));
        assert_eq!(found(&[], "src/a"), None);
        assert_eq!(found(std::slice::from_ref(&ask), "src/a"), Some((Level::Ask, false)));
        for wards in [[ask.clone(), block.clone()], [block.clone(), ask.clone()]] {
            assert_eq!(found(&wards, "src/a"), Some((Level::Block, true)));
        }
        let early = [ask.clone(), ward(Level::Ask, true)];
        assert_eq!(found(&early, "src/a"), Some((Level::Ask, true)));
        // A file that is judged by its content is strictly guarded as the end of a link.
        assert_eq!(found(std::slice::from_ref(&ask), ".git/config"), Some((Level::Block, true)));
        assert_eq!(found(&[ask], ".git/hooks/pre-commit"), Some((Level::Block, true)));
    }

    #[test]
    fn what_is_guarded_below_a_name_is_found() {
        use zonekeep_policy::guard::{Guard, Guards};
        use zonekeep_policy::planted::Caller;
        use zonekeep_policy::source::At;

        let mut guards = Guards::default();
        guards.set("a/.cargo/x", Guard::Ask, At::flag("test"));
        let rules = Rules::new(&CommandGuards::of(&guards, Caller::Agent));
        let below = |at: &str| {
            let rests = rules.rests_below(&path(at));
            rests.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(below(".cargo"), ["config", "config.toml", "bin", "credentials.toml"]);
        assert_eq!(below("z/.CARGO"), ["config", "config.toml", "bin", "credentials.toml"]);
        assert_eq!(below("z/a/.cargo"), ["config", "config.toml", "bin", "credentials.toml", "x"]);
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
            let mut rules = Rules::new(&CommandGuards::default());
            rules.declare(0, b"/host/p", b"/rw", &path(config), &[named.to_owned()]);
            let found: Vec<String> =
                rules.declared.iter().map(|(_, path, _)| path.to_string()).collect();
            assert_eq!(found, want, "{config} {named}");
        }
    }
}
