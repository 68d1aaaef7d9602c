//! The `PATH` inside: the caller's, without what a command could have planted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::tools::Tools;

/// What is looked through where nothing of the caller's `PATH` is kept.
const DEFAULT: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];

/// Places what the caller's `PATH` leads to, and returns the directories to look
/// through inside.
///
/// A relative directory, one that everybody can write and one in a granted
/// directory would let a planted `git` stand for the real one, and are left out.
/// The programs of a project's own packages are kept, after all others.
pub(super) fn build(tools: &mut Tools<'_>, path: Option<&OsString>) -> Vec<PathBuf> {
    let mut first: Vec<PathBuf> = Vec::new();
    let mut last: Vec<PathBuf> = Vec::new();
    for dir in path.iter().flat_map(std::env::split_paths) {
        if first.contains(&dir) || last.contains(&dir) {
            continue;
        }
        match judge(tools, &dir) {
            Verdict::First => first.push(dir),
            Verdict::Last => last.push(dir),
            Verdict::Absent => {}
            Verdict::Out(why) => {
                let note = format!("PATH: '{}' is left out: {why}", tools.short(&dir));
                if !tools.notes.contains(&note) {
                    tools.notes.push(note);
                }
            }
        }
    }
    // The choices of the distribution lead out of the system, as to `/opt`.
    tools.take_dir(Path::new("/etc/alternatives"));
    if first.is_empty() {
        first.extend(DEFAULT.iter().map(PathBuf::from));
    }
    first.extend(last);
    first
}

/// What becomes of a directory of `PATH`.
enum Verdict {
    First,
    Last,
    Absent,
    Out(&'static str),
}

fn judge(tools: &mut Tools<'_>, dir: &Path) -> Verdict {
    if !dir.is_absolute() {
        return Verdict::Out("it is relative");
    }
    let look = Rc::clone(&tools.tree.look);
    let Some(at) = look.resolve(dir).filter(|_| look.is_dir(dir)) else {
        return Verdict::Absent;
    };
    if tools.tree.is_granted(&at.real) || tools.tree.is_granted(dir) {
        if dir.ends_with("node_modules/.bin") {
            return Verdict::Last;
        }
        if dir.ends_with("bin") && look.exists(&dir.with_file_name("pyvenv.cfg")) {
            tools.take_interpreters(dir);
            return Verdict::Last;
        }
        return Verdict::Out("commands can write to it");
    }
    if look.is_open_to_all(&at.real) {
        return Verdict::Out("everybody can write to it");
    }
    if tools.take_dir(dir) {
        Verdict::First
    } else {
        Verdict::Out("it has no place in the sandbox")
    }
}
