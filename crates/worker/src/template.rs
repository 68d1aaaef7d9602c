//! What instructions include from other files.
//!
//! Two forms are known, each with one quoted name: `{% include "NAME" %}` puts
//! the file there and looks for more in it, `{{ file("NAME") }}` puts it there
//! as it is. A name is looked for in the worker's directory and then in
//! `templates/`, and cannot lead out of them. All other braces are text.

use std::cell::Cell;
use std::path::Path;

use zonekeep::project;

/// How deep files include files.
const MAX_DEPTH: usize = 8;
/// How many files are included in all.
const MAX_FILES: usize = 1_000;
/// How long instructions are, with all that they include.
const MAX_TEXT: usize = 1 << 20;

/// Why something cannot be included.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It is written in a way that is not known.
    #[error("'{text}' is no include: write {{% include \"NAME\" %}}")]
    Malformed {
        /// What is written.
        text: String,
    },
    /// The name leads out of the directories.
    #[error("'{name}' cannot be included: a name lies below the worker's directory or templates/")]
    Outside {
        /// The name.
        name: String,
    },
    /// There is no such file.
    #[error("'{name}' cannot be included: there is no such file")]
    Missing {
        /// The name.
        name: String,
    },
    /// Agents could change it, and so what workers are told.
    #[error("'{name}' cannot be included: agents can write it, or it is untrusted")]
    Writable {
        /// The name.
        name: String,
    },
    /// It cannot be read.
    #[error("'{name}' cannot be included: {why}")]
    Unreadable {
        /// The name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Files include each other.
    #[error("'{name}' cannot be included: files include each other more than {MAX_DEPTH} deep")]
    TooDeep {
        /// The name.
        name: String,
    },
    /// It is too much.
    #[error(
        "the instructions are longer than 1 MiB with all that they include, or include more than {MAX_FILES} files"
    )]
    TooLong,
}

/// Puts files where a text includes them. The directories count only where they
/// really lie in the project.
pub(crate) fn expand(
    text: &str,
    project: &Path,
    dirs: &[&Path],
    may_use: &dyn Fn(&Path) -> bool,
) -> Result<String, TemplateError> {
    let mut out = String::new();
    let left = Cell::new(MAX_FILES);
    Expansion { project, dirs, may_use, left }.add(text, &mut out, 0)?;
    Ok(out)
}

struct Expansion<'a> {
    project: &'a Path,
    dirs: &'a [&'a Path],
    may_use: &'a dyn Fn(&Path) -> bool,
    /// How many files may still be included.
    left: Cell<usize>,
}

impl Expansion<'_> {
    fn add(&self, mut text: &str, out: &mut String, depth: usize) -> Result<(), TemplateError> {
        while let Some((before, tag, after)) = next(text)? {
            push(out, before)?;
            self.left.set(self.left.get().checked_sub(1).ok_or(TemplateError::TooLong)?);
            let (Tag::Include(name) | Tag::File(name)) = &tag;
            let content = self.read(name)?;
            match tag {
                Tag::File(_) => push(out, &content)?,
                Tag::Include(_) if depth + 1 >= MAX_DEPTH => {
                    return Err(TemplateError::TooDeep { name: name.clone() });
                }
                Tag::Include(_) => self.add(&content, out, depth + 1)?,
            }
            text = after;
        }
        push(out, text)
    }

    fn read(&self, name: &str) -> Result<String, TemplateError> {
        let outside = || TemplateError::Outside { name: name.to_owned() };
        let plain = |part| matches!(part, std::path::Component::Normal(_));
        if name.is_empty() || name.contains('\0') || !Path::new(name).components().all(plain) {
            return Err(outside());
        }
        for dir in self.dirs {
            let path = dir.join(name);
            let (Ok(real), Ok(root)) = (path.canonicalize(), dir.canonicalize()) else { continue };
            let Ok(project) = self.project.canonicalize() else { continue };
            if !real.starts_with(&root) || !root.starts_with(&project) {
                return Err(outside());
            }
            if !(self.may_use)(&path) {
                return Err(TemplateError::Writable { name: name.to_owned() });
            }
            return read(&real, name);
        }
        Err(TemplateError::Missing { name: name.to_owned() })
    }
}

fn read(path: &Path, name: &str) -> Result<String, TemplateError> {
    let text = project::read_text(path).map_err(|error| TemplateError::Unreadable {
        name: name.to_owned(),
        why: error.to_string(),
    })?;
    Ok(text.replace("\r\n", "\n"))
}

fn push(out: &mut String, text: &str) -> Result<(), TemplateError> {
    if out.len() + text.len() > MAX_TEXT {
        return Err(TemplateError::TooLong);
    }
    out.push_str(text);
    Ok(())
}

enum Tag {
    Include(String),
    File(String),
}

/// Finds the next include: what is before it, the include, what is after it.
fn next(text: &str) -> Result<Option<(&str, Tag, &str)>, TemplateError> {
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| at + from) {
        let rest = &text[at..];
        for (open, close, word) in [("{%", "%}", "include"), ("{{", "}}", "file")] {
            let Some(inner) = rest.strip_prefix(open) else { continue };
            let Some(said) = inner.trim_start().strip_prefix(word) else { continue };
            if said.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            // `{{ file }}` is text: only a call is meant.
            if word == "file" && !said.trim_start().starts_with('(') {
                continue;
            }
            let malformed = || TemplateError::Malformed {
                text: rest.lines().next().unwrap_or_default().chars().take(60).collect(),
            };
            let (argument, after) = said.split_once(close).ok_or_else(malformed)?;
            let argument = argument.trim();
            let argument = match word {
                "file" => argument.strip_prefix('(').and_then(|a| a.strip_suffix(')')),
                _ => Some(argument),
            };
            let name = argument.and_then(|text| unquoted(text.trim())).ok_or_else(malformed)?;
            let tag = match word {
                "file" => Tag::File(name.to_owned()),
                _ => Tag::Include(name.to_owned()),
            };
            return Ok(Some((&text[..at], tag, after)));
        }
        from = at + 1;
    }
    Ok(None)
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(['"', '\''])).then_some(inner)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_put_where_they_are_included() {
        let dir = tempfile::tempdir().unwrap();
        let (own, shared) = (dir.path().join("w"), dir.path().join("templates"));
        fs::create_dir_all(own.join("sub")).unwrap();
        fs::create_dir_all(&shared).unwrap();
        for (path, text) in [
            (own.join("a.md"), "A"),
            (own.join("sub/b.md"), "[{% include 'a.md' %}]"),
            (shared.join("a.md"), "other"),
            (shared.join("c.md"), "{% include \"a.md\" %}"),
            (own.join("loop.md"), "{% include 'loop.md' %}"),
            (own.join("locked.md"), "x"),
            (dir.path().join("secret"), "secret"),
        ] {
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink(dir.path().join("secret"), own.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path(), own.join("up")).unwrap();
        let cases = [
            ("no include", Ok("no include")),
            ("x {% include \"a.md\" %} y", Ok("x A y")),
            ("{%include 'sub/b.md'%}{{file('sub/b.md')}}", Ok("[A][{% include 'a.md' %}]")),
            ("{% include 'c.md' %}", Ok("A")),
            ("{{ name }} {% if x %} {{ file }} { {", Ok("{{ name }} {% if x %} {{ file }} { {")),
            ("{% include 'secret' %}", Err("there is no such file")),
            ("{% include '../secret' %}", Err("a name lies below")),
            ("{% include '/etc/passwd' %}", Err("a name lies below")),
            ("{% include 'link' %}", Err("a name lies below")),
            ("{{ file('up/secret') }}", Err("a name lies below")),
            ("{% include '' %}", Err("a name lies below")),
            ("{% include 'loop.md' %}", Err("include each other")),
            ("{% include 'locked.md' %}", Err("agents can write it, or it is untrusted")),
            ("{% include a.md %}", Err("is no include")),
            ("{% include 'a.md'", Err("is no include")),
        ];
        let may_use = |path: &Path| !path.ends_with("locked.md");
        for (text, want) in cases {
            let got = expand(text, dir.path(), &[&own, &shared], &may_use);
            match (got, want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
                (Err(error), Err(want)) => {
                    assert!(error.to_string().contains(want), "{text}: {error}")
                }
                (got, want) => panic!("{text}: {got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn includes_of_nothing_end_too() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("0"), "").unwrap();
        for level in 1..7 {
            let text = format!("{{% include '{}' %}}", level - 1).repeat(100);
            fs::write(dir.path().join(level.to_string()), text).unwrap();
        }
        let got = expand("{% include '6' %}", dir.path(), &[dir.path()], &|_| true);
        assert_eq!(got, Err(TemplateError::TooLong));
    }

    #[test]
    fn directories_that_lie_elsewhere_have_nothing() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("a.md"), "secret").unwrap();
        for target in [other.path(), Path::new("/proc/self")] {
            let link = dir.path().join("templates");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
            for name in ["a.md", "environ"] {
                let text = format!("{{{{ file('{name}') }}}}");
                assert!(expand(&text, dir.path(), &[&link], &|_| true).is_err(), "{target:?}");
            }
        }
        // The control: it could be read, were it not for where it lies.
        let text = "{{ file('a.md') }}";
        let got = expand(text, other.path(), &[other.path()], &|_| true);
        assert_eq!(got.as_deref(), Ok("secret"));
    }

    #[test]
    fn instructions_do_not_grow_without_end() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("0"), "x".repeat(1000)).unwrap();
        for level in 1..7 {
            let text = format!("{{% include '{}' %}}", level - 1).repeat(20);
            fs::write(dir.path().join(level.to_string()), text).unwrap();
        }
        let got = expand("{% include '6' %}", dir.path(), &[dir.path()], &|_| true);
        assert_eq!(got, Err(TemplateError::TooLong));
    }
}
