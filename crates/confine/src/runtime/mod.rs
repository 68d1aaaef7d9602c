//! What a command needs of the host to run at all: the system read-only, the
//! toolchains that `PATH` leads to, a few small files and an environment.
//!
//! Nothing is inherited. The system comes from an allow-list (`system`),
//! toolchains from a table (`table`) and a careful rule for what is in no
//! table (`tools`), the environment from its own lists (`env`), and whatever
//! asks for a place in the tree passes the list of what never gets one
//! (`deny`).
//!
//! The entries go into a plan before its zones, so that a zone that lies in a
//! directory of the system, such as a project in `/usr/src`, is placed over it.

mod cache;
mod caches;
mod deny;
mod env;
mod files;
mod git;
mod look;
mod search_path;
mod system;
mod table;
mod tools;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::plan::{Entry, Network};
pub use deny::secrets_below;
use look::Look;
use tools::Tools;
use tree::Tree;

/// What the runtime is found from.
#[derive(Debug, Clone, Copy)]
pub struct Host<'h> {
    /// The environment of the caller.
    pub env: &'h BTreeMap<OsString, OsString>,
    /// The home directory of the caller.
    pub home: Option<&'h Path>,
    /// The root of the host's files: `/`, but for tests.
    pub root: &'h Path,
}

/// What the sandbox will be like.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'s> {
    /// The home directory inside. Where it has the caller's path, so have the directories
    /// that the caller's variables name for caches.
    pub home: &'s Path,
    /// The name of the user inside.
    pub user: &'s str,
    /// The number of the user inside.
    pub uid: u32,
    /// The number of the user's group inside.
    pub gid: u32,
    /// The name of the machine inside.
    pub hostname: &'s str,
    /// Whether commands see the entries of the runtime: not with a backend that leaves
    /// them the host's files.
    pub own_tree: bool,
    /// What commands can reach.
    pub network: &'s Network,
    /// Host paths that are placed at their own path by the caller. They are
    /// taken to be writable: what is found there is not trusted.
    pub granted: &'s [PathBuf],
    /// Variables of the caller to hand on.
    pub pass_env: &'s [String],
    /// Variables to set, whatever the rest says.
    pub env: &'s BTreeMap<String, String>,
}

/// What a command needs of the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runtime {
    /// What goes into the tree, before the zones.
    pub entries: Vec<Entry>,
    /// The whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Directories inside that could outlive the sandbox, by the name of the cache.
    pub caches: Vec<(String, PathBuf)>,
    /// What was found and what was left out, in sentences for an explanation.
    pub notes: Vec<String>,
}

/// Finds what a command needs of the host.
///
/// What cannot be read is left out: a runtime is never refused, but may lack a
/// tool, and the notes say so. Where `kept` is a directory that only the user can
/// write to, what is found is kept there for the next time.
pub fn find(host: &Host<'_>, settings: &Settings<'_>, kept: Option<&Path>) -> Runtime {
    // Nothing else of the environment can have a part in what is found.
    let names = env::names().chain(tools::names());
    let names: BTreeSet<&OsStr> = names.map(OsStr::new).collect();
    let has_part = |name: &OsStr| names.contains(name) || env::is_about_language(name);
    let chosen = host.env.iter().filter(|(name, _)| has_part(name));
    let chosen: BTreeMap<_, _> = chosen.map(|(k, v)| (k.clone(), v.clone())).collect();
    let narrow = Host { env: &chosen, ..*host };
    let known = kept.and_then(|dir| cache::recall(dir, &narrow, settings));
    let mut runtime = known.unwrap_or_else(|| {
        let look = Rc::new(Look::new(host.root));
        let runtime = look_for(&narrow, settings, Rc::clone(&look));
        if let Some(dir) = kept {
            cache::keep(dir, &narrow, settings, &look.used(), &runtime);
        }
        runtime
    });
    env::add(host, settings, &mut runtime);
    runtime
}

fn look_for(host: &Host<'_>, settings: &Settings<'_>, look: Rc<Look<'_>>) -> Runtime {
    let mut tree = Tree::new(look, host.home, settings.granted);
    system::place(&mut tree, settings.network);
    files::place(&mut tree, host, settings);
    let private = env::private_dirs(host, settings, &tree.look);
    for dir in &private {
        tree.private(dir);
    }

    let mut tools = Tools::new(tree, host, settings, &private);
    let path = search_path::build(&mut tools, host.env.get(OsStr::new("PATH")));
    tools.take_programs(&path);
    tools.take_environments();
    let kept = tools.take_prefixes();
    let look = Rc::clone(&tools.tree.look);
    let found = tools.finish();

    let env = env::build(
        &env::Parts { host, settings, path: &path, kept: &kept, tools: &found.env },
        &found.tree,
    );
    let has_program = |name: &str| path.iter().any(|dir| look.is_program(&dir.join(name)));
    let caches = caches::find(&env, settings.home, has_program);
    Runtime { entries: found.tree.into_entries(), env, caches, notes: found.notes }
}
