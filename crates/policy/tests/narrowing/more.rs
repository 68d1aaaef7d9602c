//! Whether one grant holds more than another, on any axis.

use std::fmt::Debug;

use zonekeep_policy::call::{CallRequest, CallVerdict, Callees, judge_call};
use zonekeep_policy::hosts::{
    ConnectPermit, ConnectVerdict, Destination, HostPattern, PresetHosts, judge_connect,
};
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::shell::{CommandVerdict, Request, ShellMode, decide, judge_command};
use zonekeep_policy::tool_name::{FILE_TOOLS, OTHER_TOOLS};
use zonekeep_policy::view::Mount;
use zonekeep_policy::zone::Mode;
use zonekeep_policy::{Action, AgentPath, Denial, Grant, Ruled, Target, Verb, Verdict, judge};

use crate::files::ZONES;

const NAMES: [&str; 6] = ["x.md", "x.txt", "x.tar.gz", "x.gz", "plain", ".envrc"];
const REACHED: [&str; 14] = [
    "x.org",
    "a.x.org",
    "a.x.org:80",
    "b.x.org",
    "b.x.org:22",
    "b.x.org:80",
    "c.x.org",
    "u.a.x.org",
    "x.net",
    "y.x.net:80",
    "10.1.2.3",
    "10.1.2.4:80",
    "registry.test",
    "mirror.test:80",
];
/// Where names may lead.
const LED: [&str; 3] = ["10.1.2.3", "10.9.9.9", "203.0.113.7"];
const CWDS: [&str; 4] = ["/", "/a", "/a/sub", "/b"];
/// Command lines: plain, with paths, wrapped, several at once, unclear, unparsable.
pub(crate) const LINES: [&str; 30] = [
    "make",
    "make test",
    "make test x > /a/out.md",
    "git status",
    "git push --force",
    "ls /a",
    "cat /a/x.md | sort",
    "rm x",
    "rm -rf /b/sub",
    "fetch x",
    "git x",
    "./run.sh",
    "/a/run.sh",
    "sub/run.sh",
    "/a/sub/run.sh",
    "/c/sub/run.sh",
    "/run.sh",
    "env",
    "env A=1 make",
    "env rm x",
    "timeout 5 make",
    "sudo make",
    "nice -n 5 env fetch x",
    "make; rm -rf x",
    "make && fetch x",
    "sh -c 'rm -rf x'",
    "$X",
    "make $(rm x)",
    "unknown-program rm x",
    "make ( '",
];
const VERBS: [(&str, Verb); 10] = [
    ("read_file", Verb::Read),
    ("list_files", Verb::List),
    ("list_files", Verb::Find),
    ("search_files", Verb::Search),
    ("file_info", Verb::Info),
    ("write_file", Verb::Write),
    ("edit_file", Verb::Edit),
    ("delete_file", Verb::Delete),
    ("move_file", Verb::Move),
    ("copy_file", Verb::Copy),
];

/// How the two grants are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The one was called by the other, or by one that it called.
    Called,
    /// The one is the other after it has read untrusted content.
    Tainted,
}

fn path(text: &str) -> AgentPath {
    AgentPath::absolute(text).unwrap()
}

/// Adds what is wrong to the list.
macro_rules! must {
    ($wrong:ident, $holds:expr, $($what:tt)+) => {
        if !$holds {
            $wrong.push(format!($($what)+));
        }
    };
}

/// Returns every way in which `less` is more than `more`.
pub(crate) fn excess(less: &Grant, more: &Grant, step: Step) -> Vec<String> {
    let mut wrong = Vec::new();
    zones(less, more, &mut wrong);
    files(less, more, &mut wrong);
    commands(less, more, &mut wrong);
    calls(less, more, &mut wrong);
    reach("every command", &less.network().value, &more.network().value, &mut wrong);
    limits(less, more, &mut wrong);
    for tool in FILE_TOOLS.iter().chain(OTHER_TOOLS) {
        must!(wrong, !less.has_tool(tool) || more.has_tool(tool), "tool {tool}");
    }
    let depth = (less.depth_left(), more.depth_left());
    let shrinks = if step == Step::Called { depth.0 < depth.1 } else { depth.0 == depth.1 };
    must!(wrong, shrinks && less.max_depth() == more.max_depth(), "depth {depth:?}");
    let required = (less.require_os_sandbox().value, more.require_os_sandbox().value);
    must!(wrong, required.0 >= required.1, "require_os_sandbox");
    must!(wrong, less.env() == more.env() && less.pass_env() == more.pass_env(), "environment");
    for (name, secret) in less.secrets() {
        must!(wrong, more.secrets().get(name) == Some(secret), "secret {name}");
    }
    must!(wrong, less.prove() == more.prove(), "prove");
    must!(wrong, less.guards() == more.guards(), "guards");
    must!(wrong, less.is_tainted() >= more.is_tainted(), "taint");
    let freshly = less.is_tainted() && !more.is_tainted();
    must!(wrong, freshly || less.backend() == more.backend(), "backend");
    must!(wrong, less.backend().value.holds_what(more.backend().value), "strength of the backend");
    must!(wrong, freshly || less.consent() == more.consent(), "consent");
    must!(wrong, strictness(less) >= strictness(more), "consent gets looser");
    let argv = |grant: &Grant| grant.shell().mode().is_some_and(|m| m.value == ShellMode::Argv);
    must!(wrong, argv(less) >= argv(more), "shell mode");
    for dir in [less.view().working_dir(), less.view().home()] {
        must!(wrong, less.view().locate(dir).is_some(), "{dir} is outside");
    }
    wrong
}

fn strictness(grant: &Grant) -> u8 {
    match grant.consent().value {
        Consent::Auto => 0,
        Consent::Tool => 1,
        Consent::Manual => 2,
        Consent::Strict => 3,
    }
}

fn zones(less: &Grant, more: &Grant, wrong: &mut Vec<String>) {
    for Mount { zone } in less.view().mounts() {
        let name = &zone.name;
        let Some(Mount { zone: held }) = more.view().mount(name) else {
            wrong.push(format!("zone {name}"));
            continue;
        };
        must!(wrong, zone.path == held.path && zone.create == held.create, "directory of {name}");
        must!(wrong, zone.mode.value <= held.mode.value, "mode of {name}");
        for file in NAMES {
            let allows =
                |grant: &Grant| grant.view().mount(name).unwrap().suffix_allowed(file.as_bytes());
            must!(wrong, !allows(less) || allows(more), "suffix of {file} in {name}");
        }
        let size = |limit: &Option<zonekeep_policy::Ruled<u64>>| {
            limit.as_ref().map_or(u64::MAX, |limit| limit.value)
        };
        must!(wrong, size(&zone.max_file_bytes) <= size(&held.max_file_bytes), "size in {name}");
        let (own, theirs) = (&zone.approval, &held.approval);
        for (access, own, theirs) in [
            ("read", &own.read, &theirs.read),
            ("write", &own.write, &theirs.write),
            ("delete", &own.delete, &theirs.delete),
        ] {
            must!(wrong, own.value >= theirs.value, "{access} approval of {name}");
        }
        must!(wrong, zone.untrusted.is_some() || held.untrusted.is_none(), "trust in {name}");
    }
}

/// The rank of a verdict, and what a permit for it would allow.
fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow(_) => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}

/// Compares what happens to files: the same paths, the same tools.
fn files(less: &Grant, more: &Grant, wrong: &mut Vec<String>) {
    for action in actions() {
        let (own, theirs) = (judge(less, &action), judge(more, &action));
        let ranks = (rank(&own.verdict), rank(&theirs.verdict));
        must!(wrong, ranks.0 >= ranks.1, "{action:?}: {:?} instead of {:?}", own.rule, theirs.rule);
    }
}

fn actions() -> Vec<Action> {
    let mut actions = Vec::new();
    for zone in ZONES {
        for (index, name) in NAMES.iter().enumerate() {
            for (tool, verb) in VERBS {
                let target = Target::of(path(&format!("/{zone}/{name}")));
                let mut action = Action::new(tool, verb, target);
                if matches!(verb, Verb::Move | Verb::Copy) {
                    let to = ZONES[(index + 1) % ZONES.len()];
                    action = action.to(Target::of(path(&format!("/{to}/sub/{name}"))));
                }
                actions.push(action.clone());
                if verb == Verb::Write {
                    actions.push(action.bytes(index as u64 * 2));
                }
            }
        }
    }
    actions
}

/// Compares what commands may run, and what they reach.
fn commands(less: &Grant, more: &Grant, wrong: &mut Vec<String>) {
    let asked_again = more.consent().value == Consent::Auto && less.consent() != more.consent();
    for cwd in CWDS {
        let cwd = path(cwd);
        for line in LINES {
            for os_sandbox in [true, false] {
                let request = Request::line(line, cwd.clone());
                let own = judge_command(less, &request, os_sandbox);
                let theirs = judge_command(more, &request, os_sandbox);
                compare_commands(line, own.verdict, theirs.verdict, asked_again, wrong);
            }
            let (own, theirs) = (decide(less, &cwd, line, true), decide(more, &cwd, line, true));
            must!(wrong, own.approval >= theirs.approval, "rules for {line} in {cwd}");
            must!(wrong, own.must_ask >= theirs.must_ask, "must ask for {line} in {cwd}");
        }
    }
}

/// Compares two verdicts about a command. What only a person may say yes to is
/// refused where every question is answered yes; a person who is asked instead,
/// because taint made consent stricter, is no looser rule.
fn compare_commands(
    line: &str,
    own: CommandVerdict,
    theirs: CommandVerdict,
    asked_again: bool,
    wrong: &mut Vec<String>,
) {
    let open = |verdict: CommandVerdict| match verdict {
        CommandVerdict::Allow(permit) => (0, Some(permit)),
        CommandVerdict::Ask(question) => (1, Some(question.approved())),
        CommandVerdict::Deny(Denial::CommandUnasked { .. }) if asked_again => (1, None),
        CommandVerdict::Deny(_) => (2, None),
    };
    let ((own, permit), (theirs, held)) = (open(own), open(theirs));
    must!(wrong, own >= theirs, "command {line}: {own} instead of {theirs}");
    if let (Some(permit), Some(held)) = (permit, held) {
        reach(line, permit.network(), held.network(), wrong);
    }
}

fn reach(what: &str, less: &Network, more: &Network, wrong: &mut Vec<String>) {
    for host in REACHED {
        let (own, theirs) = (connect(less, host), connect(more, host));
        must!(wrong, own.0 >= theirs.0, "{what} reaches {host}: {} not {}", own.0, theirs.0);
        if let (Some(own), Some(theirs)) = (own.1, theirs.1) {
            for ip in LED.map(|ip| ip.parse().unwrap()) {
                let leads = own.may_dial(ip).is_err() || theirs.may_dial(ip).is_ok();
                must!(wrong, leads, "{what}: {host} leads to {ip}");
            }
        }
    }
}

/// Returns the rank of a verdict about a connection, and the permit for it.
fn connect(network: &Network, host: &str) -> (u8, Option<ConnectPermit>) {
    let pattern = |host: &str| HostPattern::parse(host).unwrap();
    let presets = PresetHosts::from([
        ("rust".to_owned(), vec![pattern("registry.test"), pattern("10.9.0.0/16")]),
        ("node".to_owned(), vec![pattern("mirror.test:80")]),
    ]);
    let to = Destination::parse(host).unwrap();
    match judge_connect(network, &presets, &Ruled::default(), &to).verdict {
        ConnectVerdict::Allow(permit) => (0, Some(permit)),
        ConnectVerdict::Ask(question) => (1, Some(question.approved())),
        ConnectVerdict::Deny(_) => (2, None),
    }
}

fn limits(less: &Grant, more: &Grant, wrong: &mut Vec<String>) {
    let all = |grant: &Grant| {
        let limits = grant.limits();
        let all = [
            limits.wall_ms,
            limits.cpu_seconds,
            limits.memory,
            limits.processes,
            limits.open_files,
            limits.file_size,
            limits.output,
            limits.tmp,
            limits.network_in,
            limits.network_out,
            limits.connections,
        ];
        all.map(|limit| limit.unwrap_or(u64::MAX))
    };
    for (index, (own, theirs)) in all(less).into_iter().zip(all(more)).enumerate() {
        must!(wrong, own <= theirs, "limit {index}: {own} instead of {theirs}");
    }
}

/// Compares whom a worker may call, leaving out how deep it is.
fn calls(less: &Grant, more: &Grant, wrong: &mut Vec<String>) {
    let workers = ["x".to_owned()];
    let rank = |grant: &Grant| {
        let request =
            CallRequest { worker: "x", callees: &Callees::All, workers: &workers, chain: &[] };
        match judge_call(grant, request).verdict {
            CallVerdict::Allow(_) => 0,
            CallVerdict::Ask(_) => 1,
            CallVerdict::Deny(_) => 2,
        }
    };
    must!(wrong, rank(less) >= rank(more), "calling workers");
}

/// Returns what a tainted worker still does without a question.
pub(crate) fn unasked(grant: &Grant) -> Vec<String> {
    let changes = actions().into_iter().filter(|action| action.verb.changes());
    let mut all: Vec<String> = changes
        .filter(|action| matches!(judge(grant, action).verdict, Verdict::Allow(_)))
        .map(|action| format!("{action:?}"))
        .collect();
    for line in LINES {
        let request = Request::line(line, AgentPath::root());
        if let CommandVerdict::Allow(_) = judge_command(grant, &request, true).verdict {
            all.push(line.to_owned());
        }
    }
    all
}

/// Returns the commands that reach anything.
pub(crate) fn online(grant: &Grant) -> Vec<String> {
    let reaches = |line: &&&str| {
        let request = Request::line(**line, AgentPath::root());
        let permit = match judge_command(grant, &request, true).verdict {
            CommandVerdict::Allow(permit) => permit,
            CommandVerdict::Ask(question) => question.approved(),
            CommandVerdict::Deny(_) => return false,
        };
        *permit.network() != Network::Off
    };
    LINES.iter().filter(reaches).map(|line| (*line).to_owned()).collect()
}

/// Returns the zones of a grant with their modes.
pub(crate) fn held(grant: &Grant) -> Vec<(String, Mode)> {
    let mounts = grant.view().mounts().iter();
    let mut zones: Vec<_> = mounts.map(|m| (m.zone.name.clone(), m.zone.mode.value)).collect();
    zones.sort_unstable();
    zones
}

/// Shows a list of faults, or nothing.
pub(crate) fn shown<T: Debug>(step: &str, wrong: &[String], context: T) -> Result<(), String> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{step}:\n  {}\n{context:#?}", wrong.join("\n  "))),
    }
}
