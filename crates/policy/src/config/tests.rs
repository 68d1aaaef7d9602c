use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::guard::Guard;
use crate::hosts::HostPattern;
use crate::limit::Limits;
use crate::path::AgentPath;
use crate::policy::{Audit, BackendChoice, Consent, Layout, Network, OsSandbox};
use crate::source::{At, Ruled};
use crate::taint::WhenTainted;
use crate::zone::{Approval, Mode, Zone};

fn load_with(text: &str, set: &[(&str, &str)]) -> Loaded {
    let set = set.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &overrides)
}

fn policy(text: &str) -> Policy {
    let loaded = load_with(text, &[]);
    loaded.policy.unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.problems))
}

/// Returns each problem as "line:column+width code", errors without a mark and
/// warnings with a question mark.
fn found(loaded: &Loaded) -> Vec<String> {
    let show = |p: &Problem| {
        let doubt = if p.severity == Severity::Warning { "?" } else { "" };
        format!("{}:{}+{} {}{doubt}", p.line, p.column, p.width, p.code)
    };
    loaded.problems.iter().map(show).collect()
}

fn zone<'a>(policy: &'a Policy, name: &str) -> &'a Zone {
    policy.zone(name).unwrap_or_else(|| panic!("no zone {name}"))
}

fn at(line: u32, column: u32) -> At {
    At::File { file: "zonekeep.yaml".into(), line, column }
}

#[test]
fn a_silent_file_and_no_file_mean_the_same() {
    let none = defaults(Path::new("/p"), &Overrides::default()).policy.unwrap();
    for text in ["", "\u{feff}", "# nothing\n", "---\n", "sandbox:\n", "sandbox: {}\n", "name: x\n"]
    {
        let policy = policy(text);
        assert_eq!(
            policy,
            Policy { file: Some("/p/zonekeep.yaml".into()), ..none.clone() },
            "{text:?}"
        );
    }
    let zones: Vec<_> =
        none.zones.iter().map(|z| (&*z.name, z.path.value.to_str().unwrap(), z.create)).collect();
    let want = [("cache", "/p/.sandbox/cache", true), ("workspace", "/p/.sandbox/workspace", true)];
    assert_eq!(zones, want);
    assert!(none.zones.iter().all(|z| z.mode.value == Mode::Rw && z.at == At::Default));
    assert_eq!(policy("sandbox: { zones: {} }").zones, []);
}

#[test]
fn each_key_is_read_with_its_place() {
    let text = "\
sandbox:
  mode: direct
  root: boxes
  zones:
    data: { path: ../data, mode: ro, suffixes: [.CSV, .md], max_file_bytes: 9 }
    out: { path: /srv/out, mode: rw, approval: { read: ask, delete: blocked } }
  paths:
    old: { root: old/./x/.., mode: rw, read_approval: true, write_approval: false }
  working_dir: /data/sub
  home: /out
  network:
    allow: [Example.com, '*.bücher.example', 'localhost:5432', 10.0.0.0/8, 'git.example.org:22']
    ask: ['*.example.net', Example.com]
    deny: [a.example.com, '*.com']
    presets: [cargo, python, pip]
  secrets:
    API_KEY: { env: HOST_KEY, hosts: [example.com, '*.example.net'] }
    TOKEN: { env: TOKEN, hosts: ['localhost:5432'], header: X-Token }
  require_os_sandbox: true
  env: { A: 1, B: true, C: 'x y' }
  pass_env: [PAGER]
  guard: { '*.key': deny, .envrc: allow }
  limits: { timeout: 5m, memory: 512M, processes: 64, tmp: none, network_in: 1G, connections: 9 }
  backend: landlock
  prove: true
approval: { mode: approve_all }
delegation: { max_depth: 2 }
audit: best_effort
";
    let policy = policy(text);
    assert_eq!(policy.layout, Ruled::new(Layout::Direct, at(2, 9)));
    assert_eq!(policy.root, Ruled::new("/p/boxes".into(), at(3, 9)));
    let data = zone(&policy, "data");
    assert_eq!((&data.at, &data.path), (&at(5, 5), &Ruled::new("/data".into(), at(5, 19))));
    assert_eq!(data.mode, Ruled::new(Mode::Ro, at(5, 34)));
    let suffixes = vec![".csv".to_owned(), ".md".to_owned()];
    assert_eq!(data.suffixes, Some(Ruled::new(suffixes, at(5, 48))));
    assert_eq!(data.max_file_bytes.as_ref().unwrap().value, 9);
    assert!(!data.create);
    let out = zone(&policy, "out");
    assert_eq!(out.path.value, PathBuf::from("/srv/out"));
    assert_eq!(out.approval.read.value, Approval::Ask);
    assert_eq!(out.approval.write, Ruled::default_of(Approval::Ask));
    assert_eq!(out.approval.delete, Ruled::new(Approval::Blocked, at(6, 69)));
    let old = zone(&policy, "old");
    assert_eq!(old.path.value, PathBuf::from("/p/old"));
    let approvals = (old.approval.read.value, old.approval.write.value);
    assert_eq!(approvals, (Approval::Ask, Approval::PreApproved));
    assert_eq!(policy.working_dir.value.to_string(), "/data/sub");
    assert_eq!(policy.home.value.to_string(), "/out");
    let Network::Hosts(hosts) = &policy.network.value else { panic!() };
    let shown = |hosts: &[Ruled<HostPattern>]| {
        hosts.iter().map(|host| host.value.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        shown(&hosts.allow),
        "example.com *.xn--bcher-kva.example localhost:5432 10.0.0.0/8 git.example.org:22 \
         *.example.net"
    );
    assert_eq!(shown(&hosts.ask), "*.example.net example.com");
    assert_eq!(shown(&hosts.deny), "a.example.com *.com");
    assert_eq!((&hosts.allow[0].at, &hosts.ask[1].at), (&at(12, 13), &at(13, 28)));
    let presets: Vec<_> = hosts.presets.iter().map(|preset| &*preset.value).collect();
    assert_eq!((presets, &hosts.presets[1].at), (vec!["rust", "python"], &at(15, 22)));
    let key = &policy.secrets["API_KEY"];
    assert_eq!((&*key.value.env, &*key.value.header), ("HOST_KEY", "Authorization"));
    let sent: Vec<_> = key.value.hosts.iter().map(HostPattern::to_string).collect();
    assert_eq!((sent, &key.at), (vec!["example.com".into(), "*.example.net".into()], &at(17, 5)));
    assert_eq!(policy.secrets["TOKEN"].value.header, "X-Token");
    assert_eq!(policy.require_os_sandbox.value, OsSandbox::Required);
    let env: Vec<_> = policy.env.iter().map(|(k, v)| (&**k, &*v.value)).collect();
    assert_eq!(env, [("A", "1"), ("B", "true"), ("C", "x y")]);
    assert_eq!(policy.pass_env, [Ruled::new("PAGER".to_owned(), at(21, 14))]);
    let guard = |pattern: &str| {
        policy.guards.entries().iter().find(|e| e.pattern == pattern).unwrap().guard.value
    };
    assert_eq!((guard("*.key"), guard(".envrc")), (Guard::Block, Guard::Allow));
    let limits = Limits {
        wall_ms: Some(300_000),
        memory: Some(512 << 20),
        processes: Some(64),
        tmp: None,
        network_in: Some(1 << 30),
        connections: Some(9),
        ..Limits::default()
    };
    assert_eq!(policy.limits, limits);
    assert_eq!(policy.backend, Ruled::new(BackendChoice::Landlock, at(24, 12)));
    assert_eq!(policy.prove, Ruled::new(true, at(25, 10)));
    assert_eq!(policy.consent, Ruled::new(Consent::Auto, at(26, 19)));
    assert_eq!(policy.max_depth, Ruled::new(2, at(27, 26)));
    assert_eq!(policy.audit, Ruled::new(Audit::BestEffort, at(28, 8)));
}

#[test]
fn what_runs_cost_and_lose_is_read_with_its_place() {
    let text = "\
model: a:b
prices: { currency: EUR, 'a:*': { input: 3, output: 15.25 } }
delegation: { maxDepth: 3, time: 10m, budget: 200000, max_turns: 9 }
sandbox:
  zones:
    inbox: { path: inbox, mode: ro, untrusted: true }
    data: { path: data, mode: ro, untrusted: false }
  paths:
    mail: { root: mail, mode: ro, untrusted: true }
when_tainted:
  network: false
  without: [data]
  backend: landlock
  approval: strict
  tools: [shell, write]
";
    let policy = policy(text);
    assert_eq!(policy.model, Some(Ruled::new("a:b".to_owned(), at(1, 8))));
    assert_eq!(policy.prices.currency.as_ref().map(|c| &*c.value), Some("EUR"));
    let price = policy.prices.of("a:x").unwrap();
    assert_eq!((price.input, price.output), (3_000_000, 15_250_000));
    assert_eq!(price.pattern.at, at(2, 26));
    assert_eq!(policy.run.max_turns, Ruled::new(9, at(3, 66)));
    assert_eq!(policy.run.budget, Some(Ruled::new(200_000, at(3, 47))));
    assert_eq!(policy.run.time_ms, Some(Ruled::new(600_000, at(3, 34))));
    assert_eq!(zone(&policy, "inbox").untrusted, Some(at(6, 48)));
    assert_eq!(zone(&policy, "data").untrusted, None);
    assert_eq!(zone(&policy, "mail").untrusted, Some(at(9, 46)));
    let want = WhenTainted {
        network_off: Some(at(11, 12)),
        without: vec![Ruled::new("data".to_owned(), at(12, 13))],
        backend: Some(Ruled::new(BackendChoice::Landlock, at(13, 12))),
        approval: Some(Ruled::new(Consent::Strict, at(14, 13))),
        tools: vec![
            Ruled::new("shell".to_owned(), at(15, 11)),
            Ruled::new("write_file".to_owned(), at(15, 18)),
        ],
        at: at(10, 1),
    };
    assert_eq!(policy.when_tainted, want);
}

#[test]
fn flags_beat_the_file_and_the_file_beats_the_defaults() {
    type Show = fn(&Policy) -> String;
    let cases: [(&str, &str, &str, [&str; 3], Show); 15] = [
        ("sandbox.mode", "direct", "sandboxed", ["Sandboxed", "Direct", "Sandboxed"], |p| {
            format!("{:?}", p.layout.value)
        }),
        ("sandbox.root", "a", "b", ["/p/.sandbox", "/p/a", "/p/b"], |p| {
            p.root.value.display().to_string()
        }),
        ("sandbox.working_dir", "/cache", "/workspace", ["/", "/cache", "/workspace"], |p| {
            p.working_dir.value.to_string()
        }),
        ("sandbox.home", "/cache", "/workspace", ["/", "/cache", "/workspace"], |p| {
            p.home.value.to_string()
        }),
        ("sandbox.network", "true", "false", ["Off", "On", "Off"], |p| {
            format!("{:?}", p.network.value)
        }),
        ("sandbox.require_os_sandbox", "true", "false", ["unset", "required", "optional"], |p| {
            p.require_os_sandbox.value.as_str().to_owned()
        }),
        ("sandbox.backend", "landlock", "none", ["auto", "landlock", "none"], |p| {
            p.backend.value.to_string()
        }),
        ("sandbox.prove", "true", "false", ["false", "true", "false"], |p| {
            p.prove.value.to_string()
        }),
        ("sandbox.limits.processes", "9", "none", ["Some(1024)", "Some(9)", "None"], |p| {
            format!("{:?}", p.limits.processes)
        }),
        ("sandbox.limits.timeout", "9", "2ms", ["None", "Some(9000)", "Some(2)"], |p| {
            format!("{:?}", p.limits.wall_ms)
        }),
        ("approval.mode", "manual", "auto_deny", ["Tool", "Manual", "Strict"], |p| {
            format!("{:?}", p.consent.value)
        }),
        ("delegation.maxDepth", "7", "3", ["5", "7", "3"], |p| p.max_depth.value.to_string()),
        ("audit", "best_effort", "required", ["Required", "BestEffort", "Required"], |p| {
            format!("{:?}", p.audit.value)
        }),
        ("tools", "[read, shell]", "[list]", ["all", "read_file shell", "list_files"], |p| {
            p.tools.as_ref().map_or("all".to_owned(), |tools| tools.value.join(" "))
        }),
        ("sandbox.env.A", "1", "2", ["none", "1", "2"], |p| {
            p.env.get("A").map_or("none".to_owned(), |v| v.value.clone())
        }),
    ];
    for (key, in_file, in_flag, [default, file, flag], show) in cases {
        let names: Vec<&str> = key.split('.').collect();
        let text: String = names
            .iter()
            .enumerate()
            .map(|(depth, name)| format!("{}{name}:\n", "  ".repeat(depth)))
            .collect();
        let text = format!("{} {in_file}\n", text.trim_end());
        assert_eq!(show(&policy("")), default, "{key} by default");
        assert_eq!(show(&policy(&text)), file, "{key} in the file");
        let both = load_with(&text, &[(key, in_flag)]);
        let none = defaults(
            Path::new("/p"),
            &Overrides { set: vec![(key.into(), in_flag.into())], ..Overrides::default() },
        );
        assert_eq!(show(&both.policy.unwrap()), flag, "{key} in file and flag");
        assert_eq!(show(&none.policy.unwrap()), flag, "{key} in the flag alone");
    }
}

#[test]
fn a_set_value_says_that_it_is_a_flag() {
    let loaded = load_with("delegation: { max_depth: 2 }\n", &[("delegation.maxDepth", "9")]);
    let depth = loaded.policy.unwrap().max_depth;
    assert_eq!(depth, Ruled::new(9, At::flag("--set delegation.maxDepth=9")));
    let loaded = load_with(
        "",
        &[("sandbox.mode", "dirct"), ("sandbox.x", "1"), ("a..b", "1"), ("audit", "{")],
    );
    let shown: Vec<_> =
        loaded.problems.iter().map(|p| (&*p.file, p.code, p.line, p.column)).collect();
    let want = [
        ("--set a..b=1", "bad_flag", 1, 7),
        ("--set sandbox.x=1", "unknown_key", 1, 7),
        ("--set audit={", "syntax", 1, 13),
        ("--set sandbox.mode=dirct", "bad_value", 1, 20),
    ];
    assert_eq!(shown, want);
    let loaded = load_with("audit: required\n", &[("audit.x", "1")]);
    assert_eq!(found(&loaded), ["1:7+7 bad_flag"]);
    let loaded =
        load_with("sandbox: { limits: { time: 9 } }\n", &[("sandbox.limits.timeout", "1")]);
    assert_eq!(loaded.policy.unwrap().limits.wall_ms, Some(1000));
    let loaded = load_with("", &[("sandbox.guard.\".envrc\"", "deny")]);
    assert!(loaded.policy.is_some());
}

#[test]
fn set_reaches_zones_in_every_form() {
    let cases = [
        // file, key, value
        ("", "sandbox.zones.cache.mode", "ro"),
        ("sandbox: { mode: direct }\n", "sandbox.zones.cache.mode", "ro"),
        ("sandbox: { zones: { cache: ./c } }\n", "sandbox.zones.cache.mode", "ro"),
        (
            "sandbox: { paths: { cache: { root: c, mode: rw } } }\n",
            "sandbox.paths.cache.mode",
            "ro",
        ),
        ("sandboxes: { cache: { path: c, mode: rw } }\n", "sandboxes.cache.mode", "ro"),
    ];
    for (text, key, value) in cases {
        let policy = load_with(text, &[(key, value)]).policy.unwrap();
        let cache = zone(&policy, "cache");
        assert_eq!(
            cache.mode,
            Ruled::new(Mode::Ro, At::flag(format!("--set {key}={value}"))),
            "{text}"
        );
        assert_eq!(format!("{}.mode", cache.key), key, "{text}");
        assert_eq!(cache.create, cache.path.value.starts_with("/p/.sandbox"), "{text}");
    }
    let text = "sandbox: { paths: { a.b: { root: c, mode: rw, write_approval: true } } }\n";
    let loaded = load_with(text, &[("sandbox.paths.\"a.b\".approval.write", "preApproved")]);
    let policy = loaded.policy.unwrap();
    let odd = zone(&policy, "a.b");
    assert_eq!(odd.approval.write.value, Approval::PreApproved);
    assert_eq!(odd.key, "sandbox.paths.\"a.b\"");
    let policy =
        load_with("", &[("sandbox.zones.mail", "{ path: ./mail, mode: ro }")]).policy.unwrap();
    let names: Vec<_> = policy.zones.iter().map(|z| z.name.as_str()).collect();
    assert_eq!(names, ["cache", "workspace", "mail"]);
}

#[test]
fn zone_flags_add_to_the_zones_or_replace_them() {
    let flag =
        |name: &str, path: &str, mode| ZoneFlag { name: name.into(), path: path.into(), mode };
    let zones = vec![flag("cache", "/c/../d", Some(Mode::Rw)), flag("in", "/in", None)];
    let overrides = Overrides { zones, ..Overrides::default() };
    let policy = defaults(Path::new("/p"), &overrides).policy.unwrap();
    let names: Vec<_> = policy.zones.iter().map(|z| z.name.as_str()).collect();
    assert_eq!(names, ["cache", "workspace", "in"]);
    let cache = zone(&policy, "cache");
    assert_eq!(cache.path, Ruled::new("/d".into(), At::flag("--zone cache=/c/../d:rw")));
    assert!(!cache.create);
    assert_eq!(zone(&policy, "in").mode, Ruled::new(Mode::Ro, At::flag("--zone in=/in")));
    let overrides = Overrides {
        zones: vec![flag("etc", "/x", None), flag("a", "x", None)],
        ..Overrides::default()
    };
    let loaded = defaults(Path::new("/p"), &overrides);
    assert_eq!(found(&loaded), ["1:8+1 bad_path", "1:8+3 bad_zone_name"]);
}

#[test]
fn every_kind_of_problem_has_its_code_and_place() {
    let cases: &[(&str, &[&str])] = &[
        ("sandbox: [", &["1:10+1 syntax"]),
        ("a: 1\nb: {\n", &["2:4+1 syntax"]),
        ("audit: required\n---\nx: 1\n", &["2:1+3 syntax"]),
        ("name: !thing x\n", &["1:14+1 syntax"]),
        (": b\n", &["1:1+1 syntax"]),
        ("? [a]\n: b\n", &["1:3+3 syntax"]),
        ("audit: required\n<<: {}\n", &["2:1+2 syntax"]),
        ("- a\n", &["1:1+1 wrong_type"]),
        ("text\n", &["1:1+4 wrong_type"]),
        ("sandbxo: {}\n", &["1:1+7 unknown_key"]),
        ("sandbox:\n  child_sandbox: {}\n", &["2:3+13 unknown_key"]),
        ("audit: required\naudit: required\n", &["2:1+5 duplicate_key"]),
        ("audit: maybe\n", &["1:8+5 bad_value"]),
        ("audit:\n", &["1:1+5 wrong_type"]),
        ("tools: shell\n", &["1:8+5 wrong_type"]),
        ("tools:\n", &["1:1+5 wrong_type"]),
        ("sandbox: { require_os_sandbox: yes }\n", &["1:32+3 wrong_type"]),
        ("sandbox: { require_os_sandbox: 'true' }\n", &["1:32+6 wrong_type"]),
        ("sandbox: { network: maybe }\n", &["1:21+5 wrong_type"]),
        ("sandbox: { network: ['*'] }\n", &["1:22+3 bad_host"]),
        ("sandbox: { network: { presets: [A B] } }\n", &["1:33+3 unknown_preset"]),
        ("delegation: { maxDepth: 0 }\n", &["1:25+1 bad_value"]),
        ("delegation: { maxDepth: -1 }\n", &["1:25+2 bad_value"]),
        ("delegation: { maxDepth: 99999999999999999999 }\n", &["1:25+20 bad_value"]),
        ("delegation: { maxDepth: 1_0 }\n", &["1:25+3 wrong_type"]),
        ("delegation: { maxDepth: '5' }\n", &["1:25+3 wrong_type"]),
        ("delegation: { maxDepth: 1, max_depth: 1 }\n", &["1:39+1 conflict"]),
        ("delegation: { max_turns: 0 }\n", &["1:26+1 bad_value"]),
        ("delegation: { time: x }\n", &["1:21+1 bad_value"]),
        ("delegation: { turns: 1 }\n", &["1:15+5 unknown_key"]),
        ("prices: { 'a:*': { input: 1 } }\n", &["1:18+12 missing_key"]),
        ("prices: { 'a:*': { input: -1, output: 1 } }\n", &["1:27+2 bad_value"]),
        ("prices: { 'a:*': { input: 1e3, output: 1 } }\n", &["1:27+3 wrong_type"]),
        ("prices: { 'a:*': 3 }\n", &["1:18+1 wrong_type"]),
        ("prices: { currency: { input: 1, output: 1 } }\n", &["1:21+23 wrong_type"]),
        ("when_tainted: { network: false }\n", &["1:1+12 unused?"]),
        (
            "sandbox: { zones: { a: { path: a, mode: ro, untrusted: true } } }\n\
             when_tainted: { network: true }\n",
            &["2:26+4 bad_value"],
        ),
        (
            "sandbox: { zones: { a: { path: a, mode: ro, untrusted: true } } }\n\
             when_tainted: { without: [b], backend: none, approval: tool, tools: [x] }\n",
            &["2:27+1 unknown_zone", "2:40+4 bad_value", "2:56+4 bad_value", "2:70+1 unknown_tool"],
        ),
        (
            "sandbox: { zones: { a: { path: a, mode: ro, untrusted: true } } }\n\
             approval: { mode: auto }\n",
            &["1:56+4 taint_unasked?"],
        ),
        ("sandbox: { zones: [{ name: a }] }\n", &["1:19+13 wrong_type"]),
        ("sandbox: { zones: { a: { mode: ro } } }\n", &["1:24+12 missing_key"]),
        ("sandbox: { zones: { a: } }\n", &["1:21+1 wrong_type"]),
        ("sandbox: { zones: { a: ./x } }\n", &["1:21+1 mode_missing?"]),
        ("sandbox: { paths: { a: { root: ./x } } }\n", &["1:21+1 mode_missing?"]),
        ("sandbox: { zones: { etc: { path: x, mode: ro } } }\n", &["1:21+3 bad_zone_name"]),
        ("sandbox: { zones: { a: { path: /x, mode: ro } } }\n", &["1:32+2 bad_path"]),
        ("sandbox: { zones: { a: { path: ../x, mode: ro } } }\n", &["1:32+4 bad_path"]),
        ("sandbox: { paths: { a: { root: ~/x, mode: ro } } }\n", &["1:32+3 bad_path"]),
        ("sandbox: { root: ~/x }\n", &["1:18+3 bad_path"]),
        ("sandbox: { zones: { a: { path: x, mode: ro, suffixes: [] } } }\n", &["1:55+2 bad_value"]),
        (
            "sandbox: { zones: { a: { path: x, mode: ro, suffixes: [md] } } }\n",
            &["1:56+2 bad_value"],
        ),
        (
            "sandbox: { zones: { a: { path: x, mode: ro } }, paths: { a: { root: y, mode: ro } } }\n",
            &["1:58+1 duplicate_zone"],
        ),
        (
            "sandbox: { paths: { a: { root: y, mode: ro } } }\nsandboxes: { a: { path: y, mode: ro } }\n",
            &["2:1+9 deprecated?", "2:14+1 duplicate_zone"],
        ),
        (
            "sandbox: { paths: { a: { root: y, mode: ro, read_approval: true, approval: { read: ask } } } }\n",
            &["1:60+4 conflict"],
        ),
        (
            "sandbox: { paths: { a: { root: y, mode: ro }, b: { root: y/z, mode: rw } } }\n",
            &["1:21+1 overlapping_zones?"],
        ),
        ("sandbox: { working_dir: cache }\n", &["1:25+5 bad_path"]),
        ("sandbox: { working_dir: /cash/x }\n", &["1:25+7 unknown_zone"]),
        ("sandbox: { env: { 'A=B': 1 } }\n", &["1:19+5 bad_value"]),
        ("sandbox: { pass_env: [''] }\n", &["1:23+2 bad_value"]),
        (
            "sandbox: { pass_env: [PATH, A, LD_PRELOAD, GLIBC_TUNABLES] }\n",
            &["1:23+4 unused?", "1:32+10 unused?", "1:44+14 unused?"],
        ),
        ("sandbox: { limits: 5m }\n", &["1:20+2 wrong_type"]),
        ("sandbox: { limits: { memry: 1 } }\n", &["1:22+5 unknown_key"]),
        (
            "sandbox:\n  limits:\n    memory: lots\n    time: 0\n    tmp: 99999999T\n    output:\n",
            &["3:13+4 bad_value", "4:11+1 bad_value", "5:10+9 bad_value", "6:5+6 wrong_type"],
        ),
        ("sandbox: { limits: { memory: [1] } }\n", &["1:30+3 wrong_type"]),
        ("sandbox: { limits: { time: 1, timeout: 2 } }\n", &["1:40+1 conflict"]),
        ("sandbox: { backend: docker }\n", &["1:21+6 bad_value"]),
        ("sandbox: { prove: 1 }\n", &["1:19+1 wrong_type"]),
        ("sandbox: { guard: { /a: deny } }\n", &["1:21+2 bad_pattern"]),
        ("sandbox: { guard: { '*.worker': allow } }\n", &["1:33+5 guard_off?"]),
        ("tools: [reed]\n", &["1:9+4 unknown_tool"]),
        ("tool_rules: { tree: { allowed: false } }\n", &["1:15+4 unknown_tool"]),
        ("tools: [sandbox_list]\n", &["1:9+12 deprecated?"]),
        ("tool_rules: { read: {}, read_file: {} }\n", &["1:25+9 duplicate_key"]),
        ("shell_rules: [{ allowed: true }]\n", &["1:15+17 missing_key"]),
        ("shell_rules: [{ pattern: ' ' }]\n", &["1:26+3 bad_value"]),
        ("shell_rules: [{ pattern: ls, sandbox_paths: [cach] }]\n", &["1:46+4 unknown_zone"]),
    ];
    for (text, want) in cases {
        let loaded = load_with(text, &[]);
        assert_eq!(found(&loaded), *want, "{text}{:#?}", loaded.problems);
        let error = want.iter().any(|problem| !problem.ends_with('?'));
        assert_eq!(loaded.policy.is_none(), error, "{text}");
        for problem in &loaded.problems {
            assert!(problem.hint.is_some(), "no hint: {problem}");
        }
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = "\
sandbox:
  mode: sandbx
  zones:
    data: { path: /abs }
    usr: { path: x, mode: rx }
    data: { path: y, mode: ro }
  network: on
delegaton: {}
tools: [read_file, wirte_file]
";
    let want = [
        "2:9+6 bad_value",
        "4:5+4 mode_missing?",
        "4:19+4 bad_path",
        "5:5+3 bad_zone_name",
        "5:27+2 bad_value",
        "6:5+4 duplicate_key",
        "7:12+2 wrong_type",
        "8:1+9 unknown_key",
        "9:20+10 unknown_tool",
    ];
    let loaded = load_with(text, &[]);
    assert_eq!(found(&loaded), want);
    let hint = |code: &str| {
        loaded.problems.iter().find(|p| p.code == code).and_then(|p| p.hint.clone()).unwrap()
    };
    assert_eq!(hint("bad_value"), "did you mean 'sandboxed'? it can be: sandboxed, direct");
    assert!(hint("unknown_key").starts_with("did you mean 'delegation'? known keys: name,"));
    assert!(hint("unknown_tool").starts_with("did you mean 'write_file'?"));
    assert!(hint("bad_path").contains("mode: direct"));
    assert_eq!(hint("wrong_type"), "write true or false");
    let twice = loaded.problems.iter().find(|p| p.code == "duplicate_key").unwrap();
    assert_eq!(twice.message, "the key 'data' is on line 4 and again on line 6");
}

#[test]
fn aliases_are_expanded_within_a_budget() {
    let text = "sandbox: { paths: { a: &z { root: x, mode: ro }, b: *z } }\n";
    assert_eq!(zone(&policy(text), "b").path.value, PathBuf::from("/p/x"));
    let mut bomb = "name: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..9 {
        let items = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(&format!("k{i}: &a{i} [{items}]\n"));
    }
    let cases = [
        (bomb, "too_large"),
        ("a: &a [*a]\n".to_owned(), "syntax"),
        ("a: *b\n".to_owned(), "syntax"),
        (format!("a: {}{}\n", "[".repeat(500), "]".repeat(500)), "syntax"),
        (format!("[{}]", "x, ".repeat(10_001)), "too_large"),
        (format!("# {}\n", "x".repeat(yaml::MAX_BYTES)), "too_large"),
    ];
    for (text, code) in cases {
        let loaded = load_with(&text, &[]);
        let codes: Vec<_> = loaded.problems.iter().map(|p| p.code).collect();
        assert_eq!(codes, [code], "{}", &text[..40.min(text.len())]);
    }
}

#[test]
fn tools_and_commands_follow_their_tables() {
    let file_tools = crate::tool_name::FILE_TOOLS.join(" ");
    let cases = [
        ("[]", String::new()),
        ("[shell]", format!("{file_tools} shell")),
        ("[exec, shell]", format!("{file_tools} shell")),
        ("[read, shell, read_file]", "read_file shell".to_owned()),
        ("[read_many, tree, read_file]", "read_file list_files".to_owned()),
    ];
    for (list, want) in cases {
        let tools = policy(&format!("tools: {list}\n")).tools.unwrap();
        assert_eq!(tools.value.join(" "), want, "{list}");
    }
    let cases = [
        ("", Approval::Ask),
        ("allowed: true", Approval::Ask),
        ("allowed: false", Approval::Blocked),
        ("allowed: false, approval_required: false", Approval::Blocked),
        ("approval_required: false", Approval::PreApproved),
        ("approval_required: true", Approval::Ask),
    ];
    for (rule, want) in cases {
        let comma = if rule.is_empty() { "" } else { ", " };
        let text =
            format!("shell_rules: [{{ pattern: ls{comma}{rule} }}]\nshell_default: {{ {rule} }}\n");
        let shell = policy(&text).shell;
        assert_eq!(shell.rules[0].approval, want, "{rule}");
        assert_eq!(shell.default.unwrap().value.approval(), want, "{rule}");
    }
    assert_eq!(policy("").shell.default, None);
    let rules = policy("tool_rules: { exec: { allowed: false } }\n").tool_rules;
    assert_eq!(rules["shell"].approval(), Some(Ruled::new(Approval::Blocked, at(1, 32))));
}

/// Lines that are likely to reach the deeper steps.
fn line() -> impl Strategy<Value = String> {
    let keys = "sandbox|zones|paths|sandboxes|mode|root|path|cache|a|tools|approval|network|guard|\
                shell_rules|pattern|delegation|maxDepth";
    let values = "|rw|ro|direct|true|5|\\./x|/x|\\[shell\\]|\\{a: b\\}|&a x|\
                  \\*a|\\{ path: x, mode: ro \\}|\\{ root: x \\}|\\[|\"";
    (0..4_usize, "(- )?", keys, values).prop_map(|(indent, dash, key, value)| {
        format!("{}{dash}{key}: {value}\n", "  ".repeat(indent))
    })
}

fn sound(loaded: &Loaded) {
    let error = loaded.problems.iter().any(|p| p.severity == Severity::Error);
    assert_eq!(loaded.policy.is_none(), error);
    for p in &loaded.problems {
        assert!(p.line >= 1 && p.column >= 1 && p.width >= 1 && !p.message.is_empty());
    }
    if let Some(policy) = &loaded.policy {
        let mut names: Vec<_> = policy.zones.iter().map(|z| &z.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), policy.zones.len());
        assert!(policy.zones.iter().all(|z| z.path.value.is_absolute()));
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(
        text in "\\PC{0,80}",
        key in "\\PC{0,12}",
        value in "\\PC{0,12}",
    ) {
        sound(&load_with(&text, &[(&key, &value)]));
        sound(&load_with(&text.replace(' ', "\n"), &[]));
    }

    #[test]
    fn any_lines_are_read_without_panic(lines in prop::collection::vec(line(), 0..12)) {
        sound(&load_with(&lines.concat(), &[]));
    }

    #[test]
    fn any_zones_that_are_accepted_stay_below_the_root(path in "[a.~/]{1,12}") {
        let text = format!("sandbox: {{ zones: {{ z: {{ path: '{path}', mode: rw }} }} }}");
        if let Some(policy) = load_with(&text, &[]).policy {
            prop_assert!(policy.zones[0].path.value.starts_with("/p/.sandbox"));
        }
    }
}

#[test]
fn shell_rules_are_read_in_both_forms() {
    use crate::shell::{Preset, ShellMode};
    let text = "\
shell:
  mode: bash
  default: blocked
  presets: [read_only]
  rules:
    - { pattern: git push, approval: ask, grants: { network: [a.org] } }
    - { pattern: ls, approval: preApproved, paths: [/cache, /workspace/x] }
    - pattern: rm
      approval: blocked
      match: [rm x, /bin/rm -f x]
      not_match: [rmdir x]
    - pattern: make
";
    let shell = policy(text).shell;
    assert_eq!(shell.mode, Some(Ruled::new(ShellMode::Bash, at(2, 9))));
    assert_eq!(shell.default, Some(Ruled::new(Approval::Blocked.into(), at(3, 12))));
    assert_eq!(shell.presets, [Ruled::new(Preset::ReadOnly, at(4, 13))]);
    let rules: Vec<_> = shell.rules.iter().map(|r| (r.pattern.as_str(), r.approval)).collect();
    let want = [
        ("git push", Approval::Ask),
        ("ls", Approval::PreApproved),
        ("rm", Approval::Blocked),
        ("make", Approval::Ask),
    ];
    assert_eq!(rules, want);
    assert_eq!(
        shell.rules[1].paths[1],
        Ruled::new(AgentPath::absolute("/workspace/x").unwrap(), at(7, 61))
    );
    assert!(matches!(&shell.rules[0].grants, Network::Hosts(hosts) if hosts.allow.len() == 1));
    assert_eq!(shell.rules[0].at, at(6, 7));
    let old = policy("shell_rules: [{ pattern: ls, sandbox_paths: [cache] }]\n").shell;
    assert_eq!(old.rules[0].sandbox_paths, ["cache"]);
    assert_eq!((old.mode, old.default, old.presets), (None, None, vec![]));
}

#[test]
fn what_is_wrong_in_shell_rules_is_said_with_its_place() {
    let cases: &[(&str, &[&str])] = &[
        ("shell: { rules: [{ pattern: ls, aproval: ask }] }\n", &["1:33+7 unknown_key"]),
        ("shell: { rules: [{ approval: ask }] }\n", &["1:18+17 missing_key"]),
        ("shell: { rules: [{ pattern: ls, approval: maybe }] }\n", &["1:43+5 bad_value"]),
        ("shell: { rules: [{ pattern: '' }] }\n", &["1:29+2 bad_value"]),
        ("shell: { rules: [{ pattern: 'a | b' }] }\n", &["1:29+7 bad_value"]),
        ("shell: { rules: [{ pattern: \"ls 'x\" }] }\n", &["1:29+7 bad_value"]),
        ("shell: { mode: fish }\n", &["1:16+4 bad_value"]),
        ("shell: { default: never }\n", &["1:19+5 bad_value"]),
        ("shell: { presets: [readonly] }\n", &["1:20+8 bad_value"]),
        ("shell: [ls]\n", &["1:8+4 wrong_type"]),
        ("shell: { rules: ls }\n", &["1:17+2 wrong_type"]),
        ("shell: { rules: [{ pattern: ls, paths: [/cach] }] }\n", &["1:41+5 unknown_zone"]),
        ("shell: { rules: [{ pattern: ls, paths: [cache] }] }\n", &["1:41+5 bad_path"]),
        ("shell: { rules: [{ pattern: ls, paths: [] }] }\n", &["1:40+2 bad_value"]),
        ("shell: { default: ask }\nshell_rules: []\n", &["2:1+11 conflict"]),
        ("shell: {}\nshell_default: { allowed: false }\n", &["2:1+13 conflict"]),
        (
            "shell: { rules: [{ pattern: ls, match: [cat, 'ls; ls', 'ls (', ls] }] }\n",
            &["1:41+3 bad_example", "1:46+8 bad_example", "1:56+6 bad_example"],
        ),
        ("shell: { rules: [{ pattern: ls, not_match: [cat, ls -l] }] }\n", &["1:50+5 bad_example"]),
        (
            "shell: { rules: [{ pattern: find, approval: preApproved, match: [find -delete] }] }\n",
            &["1:66+12 bad_example"],
        ),
        (
            "shell: { rules: [{ pattern: git, approval: ask }, { pattern: git push, approval: blocked }] }\n",
            &["1:51+1 shadowed_rule?"],
        ),
        // A rule that does not cover a hazard leaves it to the next one.
        (
            "shell: { rules: [{ pattern: find, approval: preApproved }, { pattern: find -delete, approval: blocked }] }\n",
            &[],
        ),
        (
            "shell: { rules: [{ pattern: git push, approval: blocked }, { pattern: git, approval: ask }] }\n",
            &[],
        ),
    ];
    for (text, want) in cases {
        assert_eq!(found(&load_with(text, &[])), *want, "{text}");
    }
    let hint = load_with("shell: { defalt: ask }\n", &[]).problems[0].hint.clone().unwrap();
    assert!(hint.starts_with("did you mean 'default'?"), "{hint}");
}

#[test]
fn flags_change_shell_rules_as_they_change_the_rest() {
    let with = |text: &str, key: &str, value: &str| {
        let loaded = load_with(text, &[(key, value)]);
        loaded.policy.unwrap_or_else(|| panic!("{text} {key}\n{:#?}", loaded.problems)).shell
    };
    let default = |shell: &crate::policy::Shell| shell.default.as_ref().map(|d| d.value.approval());
    assert_eq!(default(&with("", "shell.default", "ask")), Some(Approval::Ask));
    assert_eq!(
        default(&with("shell: { default: blocked }\n", "shell.default", "ask")),
        Some(Approval::Ask)
    );
    let old = "shell_rules: [{ pattern: ls }]\nshell_default: { allowed: false }\n";
    let mixed = with(old, "shell.default", "ask");
    assert_eq!((default(&mixed), mixed.rules.len()), (Some(Approval::Ask), 1));
    let new = "shell: { default: ask, rules: [{ pattern: ls }] }\n";
    let mixed = with(new, "shell_default", "{ allowed: false }");
    assert_eq!((default(&mixed), mixed.rules.len()), (Some(Approval::Blocked), 1));
    let listed = with(new, "shell.rules", "[{ pattern: rm, approval: blocked }]");
    assert_eq!(listed.rules[0].pattern.as_str(), "rm");
    assert!(with("", "shell.presets", "[read_only]").presets[0].at.file_line().is_none());
    assert!(load_with("", &[("shell.defult", "ask")]).policy.is_none());
}

#[test]
fn a_zone_is_at_its_name_or_at_its_host_path() {
    let text = "\
sandbox:
  mode: direct
  zones:
    repo: { path: ., mode: rw, at: same }
    data: { path: ./data, mode: ro, at: name }
  paths:
    other: { root: /srv/other, mode: ro, at: same }
  working_dir: /repo/sub
";
    let policy = policy(text);
    let dir = |name: &str| zone(&policy, name).agent_path().to_string();
    assert_eq!([dir("repo"), dir("data"), dir("other")], ["/p", "/data", "/srv/other"]);
    assert_eq!(policy.working_dir.value.to_string(), "/repo/sub");
    assert_eq!(crate::Grant::of(&policy).view().working_dir().to_string(), "/p/sub");
    let own = load_with(&text.replace("/repo/sub", "/p/sub"), &[]).policy.unwrap();
    assert_eq!(crate::Grant::of(&own).view().working_dir().to_string(), "/p/sub");
    let set = load_with(text, &[("sandbox.zones.repo.at", "name")]).policy.unwrap();
    assert_eq!(zone(&set, "repo").agent_path().to_string(), "/repo");
}

#[test]
fn a_zone_is_not_at_its_host_path_where_something_else_is() {
    let zones = |zones: &str| {
        found(&load_with(&format!("sandbox:\n  mode: direct\n  zones:\n{zones}"), &[]))
    };
    for path in ["/", "/usr/src/x", "/etc", "/proc/1", "/dev", "/dev/shm/x", "/run/x", "/tmp"] {
        let text = format!("    x: {{ path: {path}, mode: ro, at: same }}\n");
        let column = text.find("same").unwrap() + 1;
        assert_eq!(zones(&text), [format!("4:{column}+4 bad_place")], "{path}");
    }
    for path in ["/tmp/x", "/home/ann/x", "/var/lib/x", "/opt/x", "/srv"] {
        let text = format!("    x: {{ path: {path}, mode: ro, at: same }}\n");
        assert_eq!(zones(&text), [] as [String; 0], "{path}");
    }
    // `/srv` is the agent path of one and above the other.
    let overlap = "    srv1: { path: /srv/b, mode: ro, at: same }
    x: { path: /srv1/a, mode: ro, at: same }\n";
    assert_eq!(zones(overlap), [] as [String; 0]);
    let overlap = "    home: { path: /data/a, mode: ro }
    x: { path: /home/b, mode: ro, at: same }\n";
    assert_eq!(zones(overlap), ["5:39+4 bad_place"]);
}

#[test]
fn directories_of_flags_are_zones_at_their_host_paths() {
    let dir = |path: &str, mode| DirFlag { path: path.into(), mode };
    let overrides = Overrides {
        dirs: vec![dir("/w/proj", Mode::Rw), dir("/w/.x/proj", Mode::Ro), dir("/w/.x y", Mode::Ro)],
        working_dir: Some("/w/proj/sub".into()),
        ..Overrides::default()
    };
    let loaded = defaults(Path::new("/p"), &overrides).policy.unwrap();
    let zones: Vec<String> = loaded
        .zones
        .iter()
        .map(|zone| {
            format!("{} {} {} {}", zone.name, zone.agent_path(), zone.mode.value, zone.create)
        })
        .collect();
    let want = ["proj /w/proj rw false", "proj-2 /w/.x/proj ro false", "dir-x-y /w/.x y ro false"];
    assert_eq!(zones, want);
    let proj = zone(&loaded, "proj");
    assert_eq!(proj.approval.write.value, Approval::PreApproved);
    assert_eq!(proj.approval.delete.value, Approval::Ask);
    assert_eq!(loaded.working_dir.value.to_string(), "/w/proj/sub");
    // A file's zones stay, and so does where its relative paths start.
    let text =
        "sandbox: { mode: direct, zones: { proj: { path: ., mode: ro } }, working_dir: /proj }";
    let both =
        load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &overrides).policy.unwrap();
    let names: Vec<&str> = both.zones.iter().map(|zone| zone.name.as_str()).collect();
    assert_eq!(names, ["proj", "proj-2", "proj-3", "dir-x-y"]);
    assert_eq!(both.working_dir.value.to_string(), "/proj");
    let system = Overrides { dirs: vec![dir("/usr/src", Mode::Rw)], ..Overrides::default() };
    assert_eq!(found(&defaults(Path::new("/p"), &system)), ["1:1+4 bad_place"]);
}
