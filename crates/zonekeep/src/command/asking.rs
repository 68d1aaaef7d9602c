//! Asks programs of the user's where they would go, without trusting what they
//! load: in a sandbox with the system and the toolchains, an empty home directory, no
//! network, and nothing in it that an agent may have written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use zonekeep_confine::child::{Capture, Running};
use zonekeep_confine::plan::{Backend, Entry, Gateway, Network, Plan, Start, ZoneRules};
use zonekeep_confine::runtime::{self, Host, Settings};
use zonekeep_confine::tree::{Launcher, Tree};
use zonekeep_network::presets::{Ask, Runner, SCRATCH};
use zonekeep_policy::limit::Limits;

/// The home directory inside.
const HOME: &str = "/home/agent";
/// The scratch directory inside.
const PLACE: &str = "/tmp/ask";
/// Makes files, and becomes the program.
const PREPARE: &str = "n=$1; shift; mkdir -p /tmp/ask; while [ \"$n\" -gt 0 ]; do \
    mkdir -p \"${1%/*}\"; printf %s \"$2\" >\"$1\"; shift 2; n=$((n-1)); done; cd /; exec \"$@\"";

/// Returns what asks programs; `None` where no sandbox can be had for that, and so
/// none is asked. `written` are the directories in which an agent may have written.
pub(super) fn runner(launcher: Option<Launcher>, written: Vec<PathBuf>) -> Option<Runner> {
    let launcher = launcher.or_else(Launcher::find)?;
    let tree: Mutex<Option<Arc<Asking>>> = Mutex::default();
    Some(Runner::new(move |ask| {
        let mut held = tree.lock().unwrap_or_else(PoisonError::into_inner);
        let asking = match &*held {
            Some(asking) => Arc::clone(asking),
            None => Arc::clone(held.insert(Arc::new(Asking::start(&launcher, &written)?))),
        };
        drop(held);
        asking.ask(ask)
    }))
}

/// Returns whether the environment inside has a directory for this already.
fn is_toolchain(name: &str, env: &BTreeMap<OsString, OsString>) -> bool {
    let is_about_toolchains =
        ["_HOME", "_ROOT", "_DIR", "ROOT"].iter().any(|end| name.ends_with(end));
    let is_scratch = name.starts_with("XDG_") || name == "TMPDIR";
    is_about_toolchains && !is_scratch && env.contains_key(std::ffi::OsStr::new(name))
}

/// A sandbox to ask programs in.
struct Asking {
    tree: Tree,
    env: BTreeMap<OsString, OsString>,
}

impl Asking {
    fn start(launcher: &Launcher, written: &[PathBuf]) -> Result<Self, String> {
        let host_env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let host_home = std::env::home_dir();
        let (uid, gid) = zonekeep_confine::launcher::inside_ids(true);
        let settings = Settings {
            home: Path::new(HOME),
            user: "agent",
            uid,
            gid,
            hostname: "zonekeep",
            own_tree: true,
            // Without the variables that tell tools that there is none.
            network: &Network::Gate(Gateway::default()),
            granted: written,
            pass_env: &[],
            env: &BTreeMap::new(),
        };
        let host = Host { env: &host_env, home: host_home.as_deref(), root: Path::new("/") };
        let found = runtime::find(&host, &settings, None);
        let mut why = String::new();
        for backend in [Backend::Namespaces, Backend::Bubblewrap] {
            let plan = Plan {
                backend,
                entries: without(found.entries.clone(), written),
                home: HOME.into(),
                network: Network::Off,
                limits: Limits::default(),
                watch: None,
                rules: ZoneRules::default(),
                prove: false,
                calls: Default::default(),
                dialers: 0,
            };
            let started = Tree::start(plan, launcher).and_then(|tree| {
                tree.layers()?;
                Ok(tree)
            });
            match started {
                Ok(tree) => return Ok(Asking { tree, env: found.env }),
                Err(failed) => why = failed.to_string(),
            }
        }
        Err(why)
    }

    fn ask(&self, ask: &Ask) -> Result<String, String> {
        let filled = |text: &str| OsString::from(text.replace(SCRATCH, PLACE));
        let mut env = self.env.clone();
        for (name, value) in &ask.env {
            // Where programs and toolchains are inside is known better here.
            if name != "PATH" && (name == "HOME" || !is_toolchain(name, &env)) {
                env.insert(name.into(), filled(value));
            }
        }
        let mut limits = Limits::none();
        limits.wall_ms = Some(u64::try_from(ask.limit.as_millis()).unwrap_or(u64::MAX).max(1));
        let mut argv: Vec<OsString> = ["/bin/sh", "-c", PREPARE, "sh"].map(Into::into).into();
        argv.push(ask.files.len().to_string().into());
        for (name, text) in &ask.files {
            argv.extend([format!("{PLACE}/{name}").into(), filled(text)]);
        }
        // By its name: what starts toolchains is not always where they are.
        argv.push(ask.program.file_name().unwrap_or(ask.program.as_os_str()).to_owned());
        argv.extend(ask.args.iter().map(|arg| filled(arg)));
        let start = Start { argv, env, cwd: "/tmp".into(), limits, terminal: [false; 3] };
        let output = Running::start(&self.tree, start, Capture::default())
            .and_then(Running::wait)
            .map_err(|failed| failed.to_string())?;
        if output.ended.over.is_some() {
            return Err(format!("it took longer than {} s", ask.limit.as_secs()));
        }
        Ok(output.stdout.text() + &output.stderr.text())
    }
}

/// Leaves out of a tree all that lies in some directories, and covers these where
/// they lie in something else.
fn without(entries: Vec<Entry>, written: &[PathBuf]) -> Vec<Entry> {
    let written: Vec<PathBuf> = written
        .iter()
        .flat_map(|dir| [Some(dir.clone()), dir.canonicalize().ok()])
        .flatten()
        .collect();
    let inside = |host: &Path| written.iter().any(|dir| host.starts_with(dir));
    let mut kept = Vec::new();
    let mut covers = Vec::new();
    for entry in entries {
        if let Entry::Bind(bind) = &entry {
            let real = bind.host.canonicalize().unwrap_or_else(|_| bind.host.clone());
            if inside(&bind.host) || inside(&real) {
                continue;
            }
            for dir in &written {
                for base in [&bind.host, &real] {
                    if let Ok(below) = dir.strip_prefix(base) {
                        covers.push(bind.at.join(below));
                    }
                }
            }
        }
        kept.push(entry);
    }
    covers.sort();
    covers.dedup();
    kept.extend(covers.into_iter().map(|at| Entry::Private { at }));
    kept
}

#[cfg(test)]
mod tests {
    use zonekeep_confine::plan::{Access, Bind, Role};

    use super::*;

    #[test]
    fn what_an_agent_may_have_written_is_not_there() {
        let bind = |host: &str| {
            let (access, role) = (Access::Ro, Role::Tool);
            let (host, at) = (PathBuf::from(host), PathBuf::from(host));
            Entry::Bind(Bind { host, at, access, role, identity: None })
        };
        let entries = vec![bind("/usr"), bind("/work/venv"), bind("/opt/tools")];
        let written = [PathBuf::from("/work"), PathBuf::from("/usr/src/mine")];
        let cover = Entry::Private { at: "/usr/src/mine".into() };
        assert_eq!(without(entries, &written), [bind("/usr"), bind("/opt/tools"), cover]);
    }
}
