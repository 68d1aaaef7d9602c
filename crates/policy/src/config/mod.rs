//! The project file: from text to a [`Policy`], or to every problem at once.
//!
//! Reading happens in steps, each in its module: `yaml` makes a tree that knows
//! its lines, `flags` puts default zones and what the command line says into it, `check`
//! holds it against the tables in `keys`, and `project` turns it into rules. All steps go on past a
//! problem where they can. Flags beat the file, and the file beats the defaults.

pub(crate) mod check;
pub(crate) mod dirs;
mod flags;
pub(crate) mod json;
pub(crate) mod keys;
pub(crate) mod network;
mod organisation;
pub(crate) mod problem;
mod profile;
pub(crate) mod project;
pub(crate) mod rules;
pub(crate) mod run;
mod schema;
pub(crate) mod secrets;
mod shape;
pub(crate) mod shell;
pub(crate) mod suggest;
mod taint;
pub(crate) mod yaml;
pub(crate) mod zones;

use std::path::Path;

pub use flags::{Addition, DirFlag, Overrides, ZoneFlag};
pub use json::yaml_value;
pub(crate) use organisation::organisation;
pub use problem::{Problem, Severity};
pub use profile::AgentProfile;
pub use schema::{project_schema, worker_schema};
pub(crate) use yaml::Node;

use crate::policy::Policy;
use problem::{Problems, Source};
use yaml::Origin;

/// What came of reading a project file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The rules, unless a problem is an error.
    pub policy: Option<Policy>,
    /// The rules as far as they could be read, where a problem is an error: to find further
    /// problems, and never to be obeyed.
    pub unfit: Option<Box<Policy>>,
    /// Everything wrong or doubtful, in the order of the lines.
    pub problems: Vec<Problem>,
}

/// Reads the text of a project file.
///
/// `file` is the name to show, `path` is where the file is on the host; the
/// directory that holds it is the project.
pub fn load(text: &str, file: &str, path: &Path, overrides: &Overrides) -> Loaded {
    let project = path.parent().unwrap_or(Path::new("/"));
    let policy = Policy { file: Some(path.to_path_buf()), ..Policy::empty(project) };
    read(text, file, policy, overrides)
}

/// Returns the rules of a project without a file: the zones `cache` and
/// `workspace` in `.sandbox`, and what the flags say.
pub fn defaults(project: &Path, overrides: &Overrides) -> Loaded {
    read("", "the defaults", Policy::empty(project), overrides)
}

fn read(text: &str, file: &str, mut policy: Policy, overrides: &Overrides) -> Loaded {
    let mut problems = Problems::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let origin = Origin::whole(Source::File(file.into()));
    if let Some(root) = yaml::parse(text, &origin, &mut problems) {
        let root = flags::default_zones(root, overrides);
        let root = flags::dirs(root, overrides, &mut problems);
        let root = flags::zones(root, overrides, &mut problems);
        let root = flags::profile(root, overrides, &mut problems);
        let root = flags::set(root, overrides, &mut problems);
        let root = flags::additions(root, overrides, &mut problems);
        check::check(&root, &keys::PROJECT, "", &mut problems);
        project::fill(&mut policy, &root, &mut problems);
    }
    let (policy, unfit) = match problems.any_error() {
        true => (None, Some(Box::new(policy))),
        false => (Some(policy), None),
    };
    Loaded { policy, unfit, problems: problems.sorted(file) }
}

#[cfg(test)]
mod tests;
