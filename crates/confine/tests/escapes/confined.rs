//! The one place where an attack meets the sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zonekeep_confine::Over;
use zonekeep_confine::child::{Capture, Running};
use zonekeep_confine::plan::{
    Access, Backend, Bind, Entry, Gateway, Listen, Network, Plan, Role, Route, Start, Watch,
    ZoneRules,
};
use zonekeep_confine::runtime::{self, Host, Settings};
use zonekeep_confine::sensitive;
use zonekeep_confine::tree::{Ended, Failed, Launcher, Tree};
use zonekeep_policy::guard::Guards;
use zonekeep_policy::limit::Limits;
use zonekeep_policy::planted::{Caller, CommandGuards};
use zonekeep_policy::sensitive::Sensitive;

use crate::attack::Given;
use crate::scene::{MAX_MEMORY, MAX_PROCESSES, Scene};
use crate::sys;

/// What a confined command came to.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Its exit status; 128 and the number for a signal.
    pub(crate) exit: i32,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it said beside that.
    pub(crate) stderr: String,
}

/// Runs a command on a backend, as the user of this process, or says why that
/// backend is not to be had here.
///
/// The zones are at `/rw` and `/ro` and the attacker at `/attacker` where the
/// backend has a tree of its own, and at their host paths otherwise. The working
/// directory is the writable zone, the network is off or a gateway that nobody
/// answers at, the limits are `MAX_PROCESSES` and `MAX_MEMORY`.
pub(crate) fn run(
    backend: Backend,
    scene: &Scene,
    argv: &[String],
    given: Given,
) -> Result<Confined, String> {
    let plan = plan(backend, scene, argv);
    let (cwd, env) = (plan.0.zones().next().map(|zone| zone.at.clone()), plan.1);
    let plan = plan.0;
    let limits = plan.limits.clone();
    let tree = Tree::start(plan, &Launcher::this_program()).map_err(|failed| failed.to_string())?;
    tree.layers().map_err(|failed| failed.to_string())?;
    let start = Start {
        argv: argv.iter().map(OsString::from).collect(),
        env,
        cwd: cwd.unwrap_or_default(),
        limits,
        terminal: [false; 3],
    };
    let (ended, stdout, stderr) = match finish(&tree, start, given) {
        Ok(finished) => finished,
        // A descriptor that no command gets.
        Err(Failed::Step { step, why, .. }) if step == "use standard input" => {
            let stdout = format!("HELD refused: {why}\n");
            return Ok(Confined { exit: 125, stdout, stderr: String::new() });
        }
        Err(failed) => return Err(failed.to_string()),
    };
    if tree.plan().watch.is_some() {
        tree.settle().map_err(|failed| failed.to_string())?;
    }
    Ok(Confined {
        exit: ended.code.unwrap_or_else(|| 128 + ended.signal.unwrap_or(0)),
        stdout: format!("{stdout}{}", over(ended.over)),
        stderr,
    })
}

/// Runs a command to its end; returns how it ended and what it printed.
fn finish(tree: &Tree, start: Start, given: Given) -> Result<(Ended, String, String), Failed> {
    let Some(errors) = given.errors else {
        let input = given.input.as_ref().map(AsFd::as_fd);
        let capture = Capture { keep: 1 << 20, input, ..Capture::default() };
        let output = Running::start(tree, start, capture).and_then(Running::wait)?;
        return Ok((output.ended, output.stdout.text(), output.stderr.text()));
    };
    let input = given.input.unwrap_or(std::fs::File::open("/dev/null")?.into());
    let (mut reader, writer) = std::io::pipe()?;
    let process = tree.command(start, &[input.as_fd(), writer.as_fd(), errors.as_fd()])?;
    drop(writer);
    let mut stdout = String::new();
    reader.read_to_string(&mut stdout)?;
    Ok((process.wait()?, stdout, String::new()))
}

/// An attack that was ended for what it used did not get away with it.
fn over(over: Option<Over>) -> String {
    match over {
        Some(over @ (Over::Memory | Over::Processes)) => format!("HELD ended: {over:?}\n"),
        _ => String::new(),
    }
}

/// Returns whether `ZONEKEEP_TEST_NETWORK` asks for a list of hosts instead of no
/// network.
pub(crate) fn has_gate() -> bool {
    std::env::var("ZONEKEEP_TEST_NETWORK").is_ok_and(|network| network == "gate")
}

fn network(own: bool) -> Network {
    let listen = |at: &str, udp| Listen { at: at.parse().unwrap(), udp };
    match has_gate() {
        true if own => Network::Gate(Gateway {
            sockets: vec![
                listen("127.0.0.1:53", true),
                listen("127.0.0.1:3128", false),
                listen("0.0.0.0:443", false),
            ],
            routes: vec![Route { base: "198.18.0.0".parse().unwrap(), bits: 15 }],
            proxy: None,
        }),
        true => Network::Gate(Gateway { proxy: Some(1), ..Gateway::default() }),
        false => Network::Off,
    }
}

fn plan(backend: Backend, scene: &Scene, argv: &[String]) -> (Plan, BTreeMap<OsString, OsString>) {
    let own = backend.has_own_tree();
    let home = match own {
        true => PathBuf::from("/home/agent"),
        false => scene.dir().join("private-home"),
    };
    let network = network(own);
    let (uid, gid) = zonekeep_confine::launcher::inside_ids(own);
    let host_env = BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
    let host = Host { env: &host_env, home: None, root: Path::new("/") };
    let found = runtime::find(
        &host,
        &Settings {
            home: &home,
            user: "agent",
            uid,
            gid,
            hostname: "zonekeep",
            own_tree: own,
            network: &network,
            granted: &[],
            pass_env: &[],
            env: &BTreeMap::new(),
        },
        None,
    );
    let bind = |host: PathBuf, at: &str, access, role| {
        let at = if own { PathBuf::from(at) } else { host.clone() };
        Entry::Bind(Bind { host, at, access, role, identity: None })
    };
    let mut entries = found.entries;
    entries.push(bind(scene.rw(""), "/rw", Access::Rw, Role::Zone));
    if scene.rw("above/inner").is_dir() {
        let at = if own { PathBuf::from("/rw/above/inner") } else { scene.rw("above/inner") };
        let (host, access, role) = (scene.rw("above/inner"), Access::Ro, Role::Zone);
        entries.push(Entry::Bind(Bind { host, at, access, role, identity: None }));
    }
    let mut rules = ZoneRules::default();
    if scene.dir().join("kept").is_dir() {
        entries.push(bind(scene.dir().join("kept"), "/kept", Access::Rw, Role::Zone));
        rules.keep_names = entries.last().map(|entry| entry.at().to_owned()).into_iter().collect();
    }
    if own {
        let found = sensitive::find(
            &scene.rw(""),
            Access::Rw,
            &Sensitive::default(),
            sensitive::Depth::All,
        );
        let found = [found.credentials, found.doors].concat();
        let hidden = found.iter().map(|path| Path::new("/rw").join(path.to_string()));
        rules.hidden = hidden.collect();
    }
    entries.push(bind(scene.dir().join("ro"), "/ro", Access::Ro, Role::Zone));
    entries.push(bind(scene.attacker(), "/attacker", Access::Ro, Role::Tool));
    let limits = Limits {
        processes: Some(MAX_PROCESSES),
        memory: Some(MAX_MEMORY),
        wall_ms: u64::try_from(sys::scaled(Duration::from_secs(20)).as_millis()).ok(),
        ..Limits::default()
    };
    let watch = Watch {
        home: std::env::home_dir().unwrap_or_default(),
        guards: CommandGuards::of(&Guards::default(), Caller::Agent),
        quarantine: scene.dir().join("quarantine"),
        git_may_configure: argv.iter().any(|word| word.contains("submodule")),
        git: zonekeep_testkit::program("git").unwrap_or_default(),
        ..Watch::default()
    };
    let mut env = found.env;
    if !own {
        env.insert("TMPDIR".into(), home.join("tmp").into());
    }
    let plan = Plan {
        backend,
        entries,
        home,
        network,
        limits,
        watch: Some(watch),
        rules,
        prove: false,
        calls: Default::default(),
        dialers: 0,
    };
    (plan, env)
}
