//! Tells at a glance which names cannot matter.
//!
//! Nearly every name in a tree matches nothing, and for those no path is built.
//! The sieve lets through what a pattern *could* cover; the policy decides.

use std::collections::HashMap;

use zonekeep_policy::planted::CommandGuards;

/// One name of a pattern, in small letters.
#[derive(Debug)]
enum Part {
    Name(Box<[u8]>),
    /// Its beginning and end; what is between the stars is left to the policy.
    Glob(Box<[u8]>, Box<[u8]>),
    /// All below.
    Rest,
}

impl Part {
    fn new(text: &[u8]) -> Self {
        let text = text.to_ascii_lowercase();
        match text.iter().position(|&byte| byte == b'*') {
            _ if text == b"**" => Part::Rest,
            Some(first) => {
                let last = text.iter().rposition(|&byte| byte == b'*').unwrap_or(first);
                Part::Glob(text[..first].into(), text[last + 1..].into())
            }
            None => Part::Name(text.into()),
        }
    }

    fn may_match(&self, lower: &[u8]) -> bool {
        match self {
            Part::Name(name) => **name == *lower,
            Part::Glob(head, tail) => lower.starts_with(head) && lower.ends_with(tail),
            Part::Rest => true,
        }
    }
}

/// What a name could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Nothing that matters.
    Plain,
    /// Something of version control.
    Repository,
    /// Something that a pattern covers.
    Pattern,
}

/// How far the names down to a directory go along with patterns.
#[derive(Debug, Clone, Default)]
pub(super) struct Trail {
    /// Whether a directory of version control is among them.
    pub(super) in_repository: bool,
    /// Patterns, and how many of their names are matched.
    along: Vec<(u32, u32)>,
}

/// All patterns.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    patterns: Vec<Vec<Part>>,
    /// Patterns by their first name.
    firsts: HashMap<Box<[u8]>, Vec<u32>>,
    /// Patterns that begin with a star.
    globs: Vec<u32>,
    /// Names of version control.
    repository: Vec<&'static [u8]>,
    /// Which bytes the names begin with.
    starts: Vec<bool>,
}

impl Sieve {
    /// Makes a sieve of the patterns, and of the names of version control.
    pub(super) fn new(guards: &CommandGuards) -> Self {
        let mut sieve = Sieve { starts: vec![false; 256], ..Sieve::default() };
        guards.repository_names().for_each(|name| sieve.name(name.as_bytes()));
        guards.patterns().for_each(|pattern| sieve.add(pattern.as_bytes()));
        sieve
    }

    fn name(&mut self, name: &'static [u8]) {
        self.starts[usize::from(name[0])] = true;
        self.repository.push(name);
    }

    /// Adds a pattern.
    pub(super) fn add(&mut self, pattern: &[u8]) {
        let parts: Vec<Part> = pattern.split(|&byte| byte == b'/').map(Part::new).collect();
        let number = self.patterns.len() as u32;
        match parts.first() {
            Some(Part::Name(name)) if !name.is_empty() => {
                self.starts[usize::from(name[0])] = true;
                self.firsts.entry(name.clone()).or_default().push(number);
            }
            _ => self.globs.push(number),
        }
        self.patterns.push(parts);
    }

    /// Returns what an entry of that name could be, in a directory that a trail
    /// leads to.
    pub(super) fn class(&self, trail: &Trail, name: &[u8]) -> Class {
        let start = name.first().map_or(0, u8::to_ascii_lowercase);
        let begins = self.starts.get(usize::from(start)).copied().unwrap_or(true);
        let simple = !begins && self.globs.is_empty() && trail.along.is_empty();
        if simple {
            return if trail.in_repository { Class::Repository } else { Class::Plain };
        }
        let mut buffer = [0; 256];
        let lower = lowered(name, &mut buffer);
        let along = |&(pattern, at): &(u32, u32)| match self.parts(pattern).get(at as usize) {
            Some(part) => part.may_match(lower),
            // Below all of a pattern.
            None => true,
        };
        let first =
            |&pattern: &u32| self.parts(pattern).first().is_some_and(|p| p.may_match(lower));
        if begins && self.firsts.contains_key(lower)
            || self.globs.iter().any(first)
            || trail.along.iter().any(along)
        {
            return Class::Pattern;
        }
        match trail.in_repository || begins && self.repository.contains(&lower) {
            true => Class::Repository,
            false => Class::Plain,
        }
    }

    /// Returns the trail one directory further down.
    pub(super) fn step(&self, trail: &Trail, name: &[u8]) -> Trail {
        let class = self.class(trail, name);
        if class == Class::Plain {
            return Trail::default();
        }
        let mut buffer = [0; 256];
        let lower = lowered(name, &mut buffer);
        let mut along = Vec::new();
        if class == Class::Pattern {
            for &(pattern, at) in &trail.along {
                match self.parts(pattern).get(at as usize) {
                    None | Some(Part::Rest) => along.push((pattern, at)),
                    Some(part) if part.may_match(lower) => along.push((pattern, at + 1)),
                    Some(_) => {}
                }
            }
            let firsts = self.firsts.get(lower).into_iter().flatten();
            for &pattern in firsts.chain(&self.globs) {
                if self.parts(pattern).first().is_some_and(|part| part.may_match(lower)) {
                    along.push((pattern, 1));
                }
            }
        }
        let in_repository = trail.in_repository || self.repository.contains(&lower);
        Trail { in_repository, along }
    }

    fn parts(&self, pattern: u32) -> &[Part] {
        self.patterns.get(pattern as usize).map_or(&[], Vec::as_slice)
    }
}

fn lowered<'b>(name: &'b [u8], buffer: &'b mut [u8; 256]) -> &'b [u8] {
    // Longer names than any file system has are compared as they are.
    let Some(lower) = buffer.get_mut(..name.len()) else { return name };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    lower
}

#[cfg(test)]
mod tests {
    use zonekeep_policy::guard::Guards;
    use zonekeep_policy::planted::Caller;

    use super::*;

    fn class(path: &str) -> Class {
        let sieve = Sieve::new(&CommandGuards::of(&Guards::default(), Caller::Agent));
        let mut names: Vec<&str> = path.split('/').collect();
        let last = names.pop().unwrap();
        let trail =
            names.iter().fold(Trail::default(), |trail, name| sieve.step(&trail, name.as_bytes()));
        sieve.class(&trail, last.as_bytes())
    }

    #[test]
    fn what_no_pattern_can_cover_is_plain() {
        let cases = [
            ("src/main.rs", Class::Plain),
            ("ZoneKeep.yaml", Class::Pattern),
            ("a/b/x.worker", Class::Pattern),
            ("x.workers", Class::Plain),
            (".vscode", Class::Pattern),
            (".vscode/a/b", Class::Pattern),
            (".cargo", Class::Pattern),
            (".cargo/config.toml", Class::Pattern),
            (".cargo/registry", Class::Plain),
            (".cargo/registry/config.toml", Class::Plain),
            ("a/.git", Class::Repository),
            ("a/.GIT/config", Class::Repository),
            ("a/.git/x/y", Class::Repository),
            ("a/.git/x/zonekeep.yaml", Class::Pattern),
        ];
        for (path, want) in cases {
            assert_eq!(class(path), want, "{path}");
        }
    }
}
