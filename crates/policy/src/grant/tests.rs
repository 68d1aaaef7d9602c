use proptest::prelude::*;

use super::*;
use crate::hosts::{ConnectVerdict, Destination, HostPattern, Hosts, PresetHosts, judge_connect};
use crate::secret::Secret;
use crate::source::At;

/// Reads `data:rw tmp:ro` into a project's grant.
fn grant(zones: &str) -> Grant {
    let mut policy = Policy::empty("/project");
    for (name, mode) in words(zones) {
        policy.zones.push(Zone::new(name, format!("/project/{name}"), mode, At::Default));
    }
    Grant::of(&policy)
}

fn needs(zones: &str) -> Needs {
    let named = words(zones).map(|(name, mode)| ZoneNeed {
        name: name.to_owned(),
        mode: Ruled::default_of(mode),
        read: None,
        write: None,
        delete: None,
        suffixes: None,
        max_file_bytes: None,
        untrusted: None,
        path: None,
        at: At::Default,
    });
    Needs { zones: ZoneNeeds::Named(named.collect()), ..Needs::default() }
}

fn words(zones: &str) -> impl Iterator<Item = (&str, Mode)> {
    zones.split_whitespace().map(|word| {
        let (name, mode) = word.split_once(':').unwrap();
        (name, if mode == "rw" { Mode::Rw } else { Mode::Ro })
    })
}

fn shown(grant: &Grant) -> String {
    let mounts = grant.view().mounts().iter();
    mounts.map(|m| format!("{}:{}", m.zone.name, m.zone.mode.value)).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_child_gets_what_it_needs_and_never_more_than_its_parent() {
    let cases = [
        // parent, needs, child
        ("data:rw tmp:rw", "data:rw", Ok("data:rw")),
        ("data:rw tmp:rw", "data:ro", Ok("data:ro")),
        ("data:rw tmp:rw", "", Ok("")),
        ("data:ro", "data:rw", Err("Child requests 'rw' on 'data' but parent only has 'ro'")),
        (
            "data:rw",
            "data:ro mail:ro",
            Err("Child requests zone 'mail' but parent doesn't have it"),
        ),
    ];
    for (parent, wants, child) in cases {
        let got = grant(parent).narrow(&needs(wants));
        let got = got.map(|child| shown(&child)).map_err(|error| error.to_string());
        let want = child.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(got, want, "parent {parent:?}, needs {wants:?}");
    }
}

#[test]
fn a_worker_without_directories_has_no_file_tool_and_no_shell() {
    let child = grant("data:rw").narrow(&Needs::default()).unwrap();
    assert_eq!(child.tools(), ["call_worker"]);
    assert!(grant("data:rw").has_tool("read_file"));
}

#[test]
fn consent_only_gets_stricter() {
    let parent = grant("data:rw");
    let with = |write| {
        let mut needs = needs("data:rw");
        if let ZoneNeeds::Named(named) = &mut needs.zones {
            named[0].write = Some(Ruled::default_of(write));
        }
        parent.narrow(&needs).unwrap().view().mounts()[0].zone.approval.write.value
    };
    assert_eq!(with(Approval::PreApproved), Approval::Ask);
    assert_eq!(with(Approval::Ask), Approval::Ask);
    assert_eq!(with(Approval::Blocked), Approval::Blocked);
}

#[test]
fn a_workers_tool_rules_cannot_loosen_the_projects() {
    let rule =
        |required| ToolRule { allowed: None, approval_required: Some(Ruled::default_of(required)) };
    let child = |required| {
        let mut needs = needs("data:rw");
        needs.tool_rules.insert("write_file".to_owned(), rule(required));
        grant("data:rw").narrow(&needs).unwrap().tool_rule("write_file").map(|r| r.value)
    };
    assert_eq!(child(false), None);
    assert_eq!(child(true), Some(Approval::Ask));
}

#[test]
fn what_commands_get_is_inherited_and_only_shrinks() {
    let mut policy = Policy::empty("/project");
    policy.network.value = Network::On;
    policy.env.insert("A".to_owned(), Ruled::default_of("1".to_owned()));
    policy.pass_env.push(Ruled::default_of("PATH".to_owned()));
    policy.backend.value = BackendChoice::Landlock;
    policy.prove.value = true;
    policy.limits.set("memory", "1G").unwrap();
    let parent = Grant::of(&policy);
    let silent = parent.narrow(&Needs::default()).unwrap();
    assert_eq!(silent.network().value, Network::Off);
    assert_eq!((silent.env(), silent.pass_env()), (parent.env(), parent.pass_env()));
    assert_eq!((silent.backend(), silent.prove()), (parent.backend(), parent.prove()));
    assert_eq!(silent.limits(), parent.limits());
    assert_eq!(silent.require_os_sandbox().value, OsSandbox::Unset);
    let mut needs = Needs { network: Some(Ruled::default_of(Network::On)), ..Needs::default() };
    needs.limits.parse_flag("memory=2G,processes=8,time=1m").unwrap();
    needs.require_os_sandbox.value = OsSandbox::Required;
    let child = parent.narrow(&needs).unwrap();
    assert_eq!(child.network().value, Network::On);
    let limits = child.limits();
    let got = (limits.memory, limits.processes, limits.wall_ms);
    assert_eq!(got, (Some(1 << 30), Some(8), Some(60_000)));
    assert_eq!(child.require_os_sandbox().value, OsSandbox::Required);
    let grandchild = child.narrow(&Needs::default()).unwrap();
    assert_eq!(grandchild.require_os_sandbox().value, OsSandbox::Required);
    assert_eq!(silent.narrow(&needs), Err(ExceedsParent::Network));
}

#[test]
fn a_worker_gets_the_secrets_that_it_names_of_those_that_its_caller_has() {
    let mut policy = Policy::empty("/project");
    for name in ["A", "B"] {
        let hosts = vec![HostPattern::parse("api.test").unwrap()];
        let secret = Secret { env: name.to_owned(), hosts, header: "X-Key".to_owned() };
        policy.secrets.insert(name.to_owned(), Ruled::default_of(secret));
    }
    let names = |grant: &Grant| grant.secrets().keys().cloned().collect::<Vec<_>>();
    let needs = |names: &[&str]| Needs {
        secrets: names.iter().map(|name| Ruled::default_of((*name).to_owned())).collect(),
        ..Needs::default()
    };
    let project = Grant::of(&policy);
    assert_eq!(names(&project), ["A", "B"]);
    assert_eq!(names(&project.narrow(&Needs::default()).unwrap()), Vec::<String>::new());
    let child = project.narrow(&needs(&["B"])).unwrap();
    assert_eq!(names(&child), ["B"]);
    assert_eq!(child.secrets()["B"], project.secrets()["B"]);
    let error = child.narrow(&needs(&["A"])).unwrap_err();
    assert_eq!(error, ExceedsParent::Secret { secret: "A".to_owned() });
    assert_eq!(error.to_string(), "Child requests secret 'A' but parent doesn't have it");
    assert_eq!(error.for_agent(), "It needs the secret 'A', which this worker does not have.");
}

#[test]
fn depth_runs_out() {
    let mut grant = grant("data:rw");
    for _ in 0..5 {
        grant = grant.narrow(&needs("data:rw")).unwrap();
    }
    assert_eq!(grant.narrow(&needs("data:rw")), Err(ExceedsParent::TooDeep { max: 5 }));
}

/// Makes a network from a number: off, on, or some of three hosts.
fn network(pick: u8) -> Network {
    let hosts = ["*.x.org", "a.x.org", "b.a.x.org:443"];
    let bits = |bits: u8| {
        let picked = hosts.iter().enumerate().filter(move |(i, _)| bits >> i & 1 == 1);
        picked.map(|(_, host)| Ruled::default_of(HostPattern::parse(host).unwrap())).collect()
    };
    match pick % 8 {
        0 => Network::Off,
        7 => Network::On,
        allow => {
            let (ask, deny) = (bits(pick >> 5), bits(pick / 8));
            Network::Hosts(Hosts { allow: bits(allow), ask, deny, presets: vec![] })
        }
    }
}

/// Returns whether commands with that network can reach a host, if only after a yes.
fn reaches(network: &Network, host: &str) -> bool {
    let to = Destination::parse(host).unwrap();
    let consent = Ruled::default();
    let judgement = judge_connect(network, &PresetHosts::new(), &consent, &to);
    !matches!(judgement.verdict, ConnectVerdict::Deny(_))
}

fn os_sandbox() -> impl Strategy<Value = OsSandbox> {
    prop::sample::select(vec![OsSandbox::Optional, OsSandbox::Unset, OsSandbox::Required])
}

proptest! {
    #[test]
    fn what_commands_get_never_widens(
        start in (any::<u8>(), prop::option::of(1u64..9), os_sandbox()),
        chain in prop::collection::vec(
            (prop::option::of(any::<u8>()), prop::option::of(1u64..9), os_sandbox()),
            0..5,
        ),
    ) {
        let mut policy = Policy::empty("/project");
        policy.network.value = network(start.0);
        policy.limits = Limits { memory: start.1, ..Limits::none() };
        policy.require_os_sandbox.value = start.2;
        let mut held = Grant::of(&policy);
        for (wanted, memory, required) in chain {
            let needs = Needs {
                network: wanted.map(|pick| Ruled::default_of(network(pick))),
                limits: Limits { memory, ..Limits::none() },
                require_os_sandbox: Ruled::default_of(required),
                ..Needs::default()
            };
            let Ok(child) = held.narrow(&needs) else { continue };
            for host in ["x.org", "a.x.org", "b.a.x.org", "b.a.x.org:80", "c.x.org", "x.net"] {
                let reached = reaches(&child.network().value, host);
                prop_assert!(!reached || reaches(&held.network().value, host), "{host}");
                prop_assert!(!reached || wanted.is_some_and(|pick| reaches(&network(pick), host)));
            }
            let limit = |grant: &Grant| grant.limits().memory.unwrap_or(u64::MAX);
            prop_assert!(limit(&child) <= limit(&held).min(memory.unwrap_or(u64::MAX)));
            let expected = match required {
                OsSandbox::Required => OsSandbox::Required,
                OsSandbox::Optional | OsSandbox::Unset => held.require_os_sandbox().value,
            };
            prop_assert_eq!(child.require_os_sandbox().value, expected);
            prop_assert!(child.require_os_sandbox().value >= held.require_os_sandbox().value);
            prop_assert_eq!(child.tainted().require_os_sandbox().value, OsSandbox::Required);
            prop_assert_eq!((child.env(), child.pass_env()), (held.env(), held.pass_env()));
            prop_assert_eq!((child.backend(), child.prove()), (held.backend(), held.prove()));
            held = child;
        }
    }

    #[test]
    fn rights_only_shrink_down_any_chain(
        start in prop::collection::btree_map("[a-d]", any::<bool>(), 0..4),
        chain in prop::collection::vec(prop::collection::btree_map("[a-d]", any::<bool>(), 0..3), 0..5),
    ) {
        let text = |zones: &BTreeMap<String, bool>| {
            let words = zones.iter().map(|(n, rw)| format!("{n}:{}", if *rw { "rw" } else { "ro" }));
            words.collect::<Vec<_>>().join(" ")
        };
        let mut held = grant(&text(&start));
        for wants in &chain {
            match held.narrow(&needs(&text(wants))) {
                Ok(child) => {
                    for mount in child.view().mounts() {
                        let parent = held.zone_access(&mount.zone.name);
                        prop_assert!(parent.is_some_and(|mode| mount.zone.mode.value <= mode));
                    }
                    prop_assert_eq!(child.view().mounts().len(), wants.len());
                    held = child;
                }
                Err(_) => {
                    let excess = wants.iter().any(|(name, rw)| {
                        held.zone_access(name).is_none_or(|mode| *rw && mode == Mode::Ro)
                    });
                    prop_assert!(excess);
                }
            }
        }
    }
}
