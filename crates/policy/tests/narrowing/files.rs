//! Random project files and trees of worker files, as text.

use proptest::collection::{btree_map, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

pub(crate) const ZONES: [&str; 4] = ["a", "b", "c", "d"];
const SUFFIXES: [&str; 3] = [".md", ".txt", ".tar.gz"];
const HOSTS: [&str; 9] = [
    "*.x.org",
    "a.x.org",
    "b.x.org",
    "*.a.x.org",
    "x.net",
    "b.x.org:22",
    "*.x.org:443",
    "10.0.0.0/8",
    "10.1.2.3",
];
pub(crate) const SECRETS: [&str; 2] = ["KEY", "TOKEN"];
const TOOLS: [&str; 7] =
    ["read_file", "write_file", "edit_file", "delete_file", "copy_file", "shell", "call_worker"];
const DIRS: [&str; 5] = ["/", "/a", "/a/sub", "/b", "/c/sub"];
const PATTERNS: [&str; 16] = [
    "make",
    "make test",
    "git",
    "git push",
    "ls",
    "rm",
    "rm -rf",
    "fetch",
    "./run.sh",
    "/a/run.sh",
    "sub/run.sh",
    "env",
    "timeout",
    "*",
    "{git,fetch} x",
    "sudo",
];

/// A worker in a tree of calls.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    /// Its file.
    pub(crate) text: String,
    /// Who calls it: a worker before it in the list, or the project.
    pub(crate) caller: Option<usize>,
    /// Whether its caller has read untrusted content by then.
    pub(crate) taints: bool,
}

/// Puts the values that are there into a map.
fn map<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let entries = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn consent() -> impl Strategy<Value = Value> {
    select(vec!["preApproved", "preApproved", "ask", "blocked"]).prop_map(Value::from)
}

fn approvals() -> impl Strategy<Value = Value> {
    [of(consent()), of(consent()), of(consent())].prop_map(|[read, write, delete]| {
        map([("read", read), ("write", write), ("delete", delete)])
    })
}

fn suffixes() -> impl Strategy<Value = Value> {
    subsequence(SUFFIXES.to_vec(), 1..=3).prop_map(Value::from)
}

fn hosts(count: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Value> {
    subsequence(HOSTS.to_vec(), count).prop_map(Value::from)
}

fn network() -> impl Strategy<Value = Value> {
    let presets = || subsequence(vec!["cargo", "npm"], 0..=2).prop_map(Value::from);
    let ask = weighted(0.5, hosts(1..=2));
    prop_oneof![
        1 => Just(json!(false)),
        1 => Just(json!(true)),
        1 => hosts(1..=2),
        5 => (hosts(0..=5), ask, weighted(0.6, hosts(1..=2)), of(presets())).prop_map(
            |(allow, ask, deny, presets)| {
                let allow = Some(allow);
                map([("allow", allow), ("ask", ask), ("deny", deny), ("presets", presets)])
            }
        ),
    ]
}

fn secrets() -> impl Strategy<Value = Value> {
    subsequence(SECRETS.to_vec(), 1..=2).prop_map(|names| {
        let secret = |name: &str| json!({ "env": name, "hosts": ["a.x.org"] });
        names.into_iter().map(|name| (name.to_owned(), secret(name))).collect()
    })
}

fn limits() -> impl Strategy<Value = Value> {
    let keys = vec![
        "time",
        "cpu_time",
        "memory",
        "processes",
        "open_files",
        "file_size",
        "output",
        "tmp",
        "network_in",
        "network_out",
        "connections",
    ];
    let value = prop_oneof![4 => (1u64..9).prop_map(Value::from), 1 => Just(json!("none"))];
    btree_map(select(keys), value, 0..4)
        .prop_map(|limits| limits.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn tools() -> impl Strategy<Value = Value> {
    subsequence(TOOLS.to_vec(), 0..=7).prop_map(Value::from)
}

fn tool_rules() -> impl Strategy<Value = Value> {
    let rule = (weighted(0.2, any::<bool>()), of(any::<bool>())).prop_map(|(allowed, asks)| {
        map([("allowed", allowed.map(Value::from)), ("approval_required", asks.map(Value::from))])
    });
    btree_map(select(TOOLS.to_vec()), rule, 0..4)
        .prop_map(|rules| rules.into_iter().map(|(tool, rule)| (tool.to_owned(), rule)).collect())
}

fn shell() -> impl Strategy<Value = Value> {
    let rule = (
        select(PATTERNS.to_vec()),
        consent(),
        weighted(0.2, subsequence(vec!["/a", "/b/sub", "/"], 1..=2)),
        weighted(0.3, network()),
    )
        .prop_map(|(pattern, approval, paths, grants)| {
            map([
                ("pattern", Some(json!(pattern))),
                ("approval", Some(approval)),
                ("paths", paths.map(Value::from)),
                ("grants", grants.map(|network| json!({ "network": network }))),
            ])
        });
    (
        vec(rule, 0..4),
        of(select(vec!["preApproved", "contained", "ask", "blocked"]).prop_map(Value::from)),
        of(select(vec![
            json!(["read_only"]),
            json!(["build", "test", "edit", "git_local"]),
            json!(["read_only", "edit"]),
        ])),
        of(select(vec!["argv", "bash"])),
    )
        .prop_map(|(rules, default, presets, mode)| {
            map([
                ("rules", Some(rules.into())),
                ("default", default),
                ("presets", presets),
                ("mode", mode.map(Value::from)),
            ])
        })
}

/// A zone of the project; the rules refer to `a` and `b`, so those are always there.
fn zone(name: &'static str) -> impl Strategy<Value = Value> {
    (
        select(vec!["rw", "rw", "ro"]),
        of(suffixes()),
        of(1u64..9),
        of(approvals()),
        weighted(0.2, any::<bool>()),
    )
        .prop_map(move |(mode, suffixes, max, approval, untrusted)| {
            map([
                ("path", Some(json!(name))),
                ("mode", Some(json!(mode))),
                ("suffixes", suffixes),
                ("max_file_bytes", max.map(Value::from)),
                ("approval", approval),
                ("untrusted", untrusted.map(Value::from)),
            ])
        })
}

fn when_tainted() -> impl Strategy<Value = Value> {
    (
        of(Just(json!(false))),
        of(subsequence(ZONES.to_vec(), 0..=2)),
        of(select(vec!["namespaces", "landlock"])),
        of(select(vec!["manual", "strict"])),
        of(subsequence(TOOLS.to_vec(), 0..=2)),
    )
        .prop_map(|(network, without, backend, approval, tools)| {
            map([
                ("network", network),
                ("without", without.map(Value::from)),
                ("backend", backend.map(Value::from)),
                ("approval", approval.map(Value::from)),
                ("tools", tools.map(Value::from)),
            ])
        })
}

/// Returns the text of a project file. JSON is YAML.
pub(crate) fn project() -> impl Strategy<Value = String> {
    let sandbox = (
        ZONES.map(zone),
        weighted(0.8, network()),
        of(limits()),
        of(any::<bool>()),
        of(select(DIRS.to_vec())),
        of(select(DIRS.to_vec())),
        weighted(0.7, secrets()),
    )
        .prop_map(|(zones, network, limits, required, working_dir, home, secrets)| {
            let zones: Map<_, _> = ZONES.map(str::to_owned).into_iter().zip(zones).collect();
            map([
                ("zones", Some(zones.into())),
                ("network", network),
                ("limits", limits),
                ("require_os_sandbox", required.map(Value::from)),
                ("working_dir", working_dir.map(Value::from)),
                ("home", home.map(Value::from)),
                ("env", Some(json!({ "A": "1" }))),
                ("pass_env", Some(json!(["PATH"]))),
                ("secrets", secrets),
            ])
        });
    let mode = select(vec!["tool", "tool", "tool", "manual", "auto", "strict"]);
    (
        sandbox,
        of(mode),
        1u32..6,
        weighted(0.2, tools()),
        of(tool_rules()),
        weighted(0.8, shell()),
        of(when_tainted()),
    )
        .prop_map(|(sandbox, mode, depth, tools, rules, shell, when_tainted)| {
            map([
                ("sandbox", Some(sandbox)),
                ("approval", mode.map(|mode| json!({ "mode": mode }))),
                ("delegation", Some(json!({ "maxDepth": depth }))),
                ("tools", tools),
                ("tool_rules", rules),
                ("shell", shell),
                ("when_tainted", when_tainted),
            ])
            .to_string()
        })
}

/// Returns what a worker asks for: in the list, in `paths`, everything or nothing.
fn needs() -> impl Strategy<Value = (Option<Value>, Option<Value>)> {
    let wish = (
        select(vec!["ro", "ro", "ro", "rw"]),
        of(approvals()),
        weighted(0.1, any::<bool>()),
        weighted(0.2, suffixes()),
        weighted(0.2, 1u64..9),
        weighted(0.3, Just(())),
    );
    let named = btree_map(select(ZONES.to_vec()), wish, 0..4).prop_map(|wishes| {
        let (mut listed, mut paths) = (Vec::new(), Map::new());
        for (name, (mode, approval, untrusted, suffixes, max, inline)) in wishes {
            let (mode, untrusted) = (Some(json!(mode)), untrusted.map(Value::from));
            if inline.is_some() {
                let entry = map([
                    ("root", Some(json!(format!("./{name}")))),
                    ("mode", mode),
                    ("approval", approval),
                    ("untrusted", untrusted),
                    ("suffixes", suffixes),
                    ("max_file_bytes", max.map(Value::from)),
                ]);
                paths.insert(name.to_owned(), entry);
            } else {
                listed.push(map([
                    ("name", Some(json!(name))),
                    ("mode", mode),
                    ("approval", approval),
                    ("untrusted", untrusted),
                ]));
            }
        }
        (Some(listed.into()), Some(paths.into()))
    });
    prop_oneof![
        6 => named,
        3 => Just((Some(json!("all")), None)),
        1 => Just((None, None)),
    ]
}

fn worker() -> impl Strategy<Value = String> {
    let sandbox = (
        needs(),
        weighted(0.3, network()),
        of(limits()),
        weighted(0.2, any::<bool>()),
        weighted(0.2, select(DIRS.to_vec())),
        weighted(0.3, subsequence(SECRETS.to_vec(), 0..=2)),
    )
        .prop_map(|((zones, paths), network, limits, required, working_dir, secrets)| {
            map([
                ("zones", zones),
                ("paths", paths),
                ("network", network),
                ("limits", limits),
                ("require_os_sandbox", required.map(Value::from)),
                ("working_dir", working_dir.map(Value::from)),
                ("secrets", secrets.map(Value::from)),
            ])
        });
    (
        weighted(0.9, sandbox),
        weighted(0.2, tools()),
        of(tool_rules()),
        of(shell()),
        of(select(vec![json!("all"), json!(["x"])])),
    )
        .prop_map(|(sandbox, tools, rules, shell, workers)| {
            let front = map([
                ("name", Some(json!("w"))),
                ("sandbox", sandbox),
                ("tools", tools),
                ("tool_rules", rules),
                ("shell", shell),
                ("workers", workers),
            ]);
            format!("---\n{front}\n---\nDo it.\n")
        })
}

/// Returns workers that call each other, each after its caller.
pub(crate) fn tree() -> impl Strategy<Value = Vec<Worker>> {
    let node = (worker(), any::<prop::sample::Index>(), weighted(0.8, Just(())), any::<u8>());
    vec(node, 1..8).prop_map(|nodes| {
        let nodes = nodes.into_iter().enumerate();
        nodes
            .map(|(place, (text, caller, called, taints))| Worker {
                text,
                caller: called.filter(|()| place > 0).map(|()| caller.index(place)),
                taints: taints % 5 == 0,
            })
            .collect()
    })
}
