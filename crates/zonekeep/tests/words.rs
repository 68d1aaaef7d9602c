//! What an agent reads never speaks of the host, of zones, or of nothing to do.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use crate::common::{CONFIG, open};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use zonekeep::approve::{AllYes, Nobody};
use zonekeep::policy::{Approval, At, Mode, Policy, Ruled, Zone};
use zonekeep::{Error, Sandbox, Session, tools};
use zonekeep_testkit::Project as Files;

/// Codes that programs may rely on.
const CODES: &[&str] = &[
    "ambiguous",
    "bad_arguments",
    "bad_edit",
    "bad_path",
    "bad_pattern",
    "binary",
    "blocked",
    "busy",
    "declined",
    "exists",
    "guarded",
    "into_itself",
    "is_directory",
    "link",
    "loop",
    "name_too_long",
    "no_match",
    "no_tool",
    "not_a_directory",
    "not_empty",
    "not_found",
    "outside",
    "past_end",
    "read_only",
    "sensitive",
    "special",
    "stale",
    "suffix",
    "too_large",
    "top_directory",
    "unreadable",
];

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => prop::sample::select(vec![
            "input", "output", "asked", "shut", "a.txt", "b.txt", "c.txt", "sub", "deep", "abs",
            "file", "up", "dangling", "one", "pipe", "bin.md", "big.txt", "..", ".", "", "~",
            ".git", "hooks", "config", "new.txt", "x.exe", ".ssh", ".netrc",
        ]).prop_map(str::to_owned),
        1 => "[a-y .*?\\\\/\u{202e}\u{1b}é]{0,6}",
        1 => Just("n".repeat(300)),
    ];
    (any::<bool>(), prop::collection::vec(part, 0..5)).prop_map(|(absolute, parts)| {
        format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-y\n*?(\\[]{0,8}",
        Just("**/*".to_owned()),
        Just("o".to_owned()),
        Just("../*".to_owned())
    ]
}

/// Fills a tool's arguments as its schema has them, with some left out.
fn arguments(schema: &Value, paths: &[String], texts: &[String], mask: u32) -> Value {
    let mut arguments = Map::new();
    let required: Vec<&str> =
        schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for (i, (name, property)) in schema["properties"].as_object().unwrap().iter().enumerate() {
        if !required.contains(&name.as_str()) && mask & (1 << i) == 0 {
            continue;
        }
        let value = match (name.as_str(), property["type"].as_str()) {
            ("path" | "source", _) => json!(paths[0]),
            ("destination", _) => json!(paths[1]),
            ("encoding", _) => json!("base64"),
            ("edits", _) => json!([{ "old_string": texts[0], "new_string": texts[1] }]),
            (_, Some("boolean")) => json!(mask & (1 << (i + 8)) != 0),
            (_, Some("integer")) => json!(mask >> 20),
            (_, _) => json!(texts[i % texts.len()]),
        };
        arguments.insert(name.clone(), value);
    }
    Value::Object(arguments)
}

/// Calls a tool and checks every word that comes back.
fn check(
    sandbox: &Sandbox,
    tool: &tools::Tool,
    arguments: Value,
    host: &str,
) -> Result<(), TestCaseError> {
    let label = format!("{} {arguments}", tool.name);
    match tools::call(sandbox, tool.name, arguments) {
        Ok(output) => {
            let all = format!("{} {}", output.text, output.value);
            prop_assert!(!all.contains(host), "{label}: {all}");
        }
        Err(error) => {
            let message = error.to_string();
            let all = format!("{message} {}", tools::error_value(&error));
            prop_assert!(!all.contains(host), "{label}: {all}");
            prop_assert!(!all.to_lowercase().contains("zone"), "{label}: {all}");
            for word in ["os error", "errno", "Permission denied", "openat", "landlock"] {
                prop_assert!(!all.contains(word), "{label}: {all}");
            }
            prop_assert!(message.starts_with("Cannot "), "{label}: {message}");
            // There is no launcher here.
            let unconfined = tool.name == "shell" && error.code() == "unconfined";
            let known = CODES.contains(&error.code()) || unconfined;
            prop_assert!(known, "{label}: {}", error.code());
            if matches!(error, Error::Denied(_)) {
                prop_assert!(
                    message.lines().count() >= 2,
                    "{label}: nothing to do instead: {message}"
                );
            }
        }
    }
    Ok(())
}

fn tree() -> Files {
    let files = Files::with_config("", CONFIG)
        .file("in/a.txt", "one\ntwo\n")
        .file("in/bin.md", b"\0\x01\xff")
        .file("in/big.txt", "o".repeat(101))
        .file("out/b.txt", "o b\n")
        .file("out/sub/deep/b.txt", "b\n")
        .dir("out/.git/hooks")
        .file("asked/c.txt", "c\n")
        .file("shut/a.txt", "d\n")
        .file("../secret/a.txt", "secret\n");
    let secret = files.beside("secret");
    let files = files
        .link("out/abs", &secret)
        .link("out/file", secret.join("a.txt"))
        .link("out/dangling", secret.join("none"))
        .link("out/up", "../..")
        .link("out/one", "one");
    let pipe = files.path("out/pipe");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    files
}

#[test]
fn no_tool_ever_shows_a_host_path_or_speaks_of_zones() {
    let files = tree();
    let host = files.beside("").display().to_string();
    let host = host.trim_end_matches('/');
    let sandboxes = [open(&files, AllYes).sandbox(), open(&files, Nobody).sandbox()];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let call = (
        0..tools::all().len(),
        prop::collection::vec(path(), 2),
        prop::collection::vec(text(), 3),
        any::<u32>(),
        0..2_usize,
    );
    runner
        .run(&call, |(tool, paths, texts, mask, which)| {
            let tool = &tools::all()[tool];
            let arguments = arguments(&tool.schema(), &paths, &texts, mask);
            check(&sandboxes[which], tool, arguments, host)
        })
        .unwrap();
    assert_eq!(files.tree("../secret"), ["a.txt"]);
    let secret = std::fs::read_to_string(files.beside("secret/a.txt")).unwrap();
    assert_eq!(secret, "secret\n");
}

fn zone() -> impl Strategy<Value = Zone> {
    let approval =
        || prop::sample::select(vec![Approval::PreApproved, Approval::Ask, Approval::Blocked]);
    (
        "[a-y]{1,3}[0-9]{0,2}",
        any::<bool>(),
        (approval(), approval(), approval()),
        prop::option::of(prop::sample::subsequence(vec![".txt", ".md", ".csv"], 1..3)),
        prop::option::of(0..20_u64),
    )
        .prop_map(|(name, rw, (read, write, delete), suffixes, limit)| {
            let mode = if rw { Mode::Rw } else { Mode::Ro };
            let at = || At::flag("test");
            let mut zone = Zone::new(&name, format!("/hostpath/{name}"), mode, at());
            zone.approval.read = Ruled::new(read, at());
            zone.approval.write = Ruled::new(write, at());
            zone.approval.delete = Ruled::new(delete, at());
            zone.suffixes = suffixes
                .map(|list| Ruled::new(list.into_iter().map(str::to_owned).collect(), at()));
            zone.max_file_bytes = limit.map(|limit| Ruled::new(limit, at()));
            zone
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_rules_refusals_are_short_sorted_and_name_what_works(
        zones in prop::collection::vec(zone(), 0..12),
        below in path(),
        pick in any::<prop::sample::Index>(),
        inside in any::<bool>(),
        tool in 0..tools::all().len(),
        texts in prop::collection::vec(text(), 3),
        mask in any::<u32>(),
    ) {
        let mut policy = Policy::empty("/hostpath");
        for zone in zones {
            if policy.zone(&zone.name).is_none() {
                policy.zones.push(zone);
            }
        }
        let sandbox = Session::in_memory(&policy, Nobody).unwrap().sandbox();
        let path = match policy.zones.is_empty() || !inside {
            true => below,
            false => format!("/{}/{below}", pick.get(&policy.zones).name),
        };
        let tool = &tools::all()[tool];
        let arguments = arguments(&tool.schema(), &[path.clone(), path], &texts, mask);
        check(&sandbox, tool, arguments.clone(), "hostpath")?;
        if let Err(Error::Denied(denial)) = tools::call(&sandbox, tool.name, arguments) {
            let text = denial.to_string();
            let second = text.lines().nth(1).unwrap();
            let lists = ["Readable paths: ", "Writable paths: ", "Allowed suffixes: ", "Available tools: "];
            if let Some(list) = lists.iter().find_map(|start| second.strip_prefix(start)) {
                let list = list.split(" and ").next().unwrap();
                let names: Vec<&str> = list.split(", ").collect();
                prop_assert!(names.len() <= 8, "{}", text);
                prop_assert!(names.is_sorted(), "{}", text);
            }
        }
    }
}
