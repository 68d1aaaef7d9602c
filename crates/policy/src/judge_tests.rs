//! Tables and properties for [`judge`].

use proptest::prelude::*;

use super::*;
use crate::path::AgentPath;
use crate::policy::{Policy, ToolRule};
use crate::zone::Zone;

/// Reads `name:mode[,read=…][,write=…][,delete=…][,max=…][,suffix=.md]` words.
fn policy(zones: &str) -> Policy {
    let mut policy = Policy::empty("/project");
    for word in zones.split_whitespace() {
        let (name, rest) = word.split_once(':').unwrap();
        let mut parts = rest.split(',');
        let mode = if parts.next() == Some("rw") { Mode::Rw } else { Mode::Ro };
        let mut zone = Zone::new(name, format!("/project/{name}"), mode, At::flag("test"));
        for part in parts {
            let (key, value) = part.split_once('=').unwrap();
            let approval = || {
                let value = match value {
                    "pre" => Approval::PreApproved,
                    "ask" => Approval::Ask,
                    _ => Approval::Blocked,
                };
                Ruled::new(value, At::flag("test"))
            };
            match key {
                "read" => zone.approval.read = approval(),
                "write" => zone.approval.write = approval(),
                "delete" => zone.approval.delete = approval(),
                "max" => {
                    zone.max_file_bytes = Some(Ruled::new(value.parse().unwrap(), At::Default));
                }
                _ => zone.suffixes = Some(Ruled::new(vec![value.to_owned()], At::Default)),
            }
        }
        policy.zones.push(zone);
    }
    policy
}

fn tool(verb: Verb) -> &'static str {
    match verb {
        Verb::Read => "read_file",
        Verb::List | Verb::Find => "list_files",
        Verb::Search => "search_files",
        Verb::Info => "file_info",
        Verb::Write => "write_file",
        Verb::Edit => "edit_file",
        Verb::Delete => "delete_file",
        Verb::Move => "move_file",
        Verb::Copy => "copy_file",
    }
}

fn action(grant: &Grant, verb: Verb, path: &str) -> Action {
    let (from, to) = path.split_once(" > ").map_or((path, None), |(f, t)| (f, Some(t)));
    let action = Action::new(tool(verb), verb, Target::parse(from, grant.view()).unwrap());
    match to {
        Some(to) => action.to(Target::parse(to, grant.view()).unwrap()),
        None => action,
    }
}

/// Judges and returns `allow`, `ask` or the denial's code.
fn verdict(policy: &Policy, verb: Verb, path: &str) -> &'static str {
    let grant = Grant::of(policy);
    match judge(&grant, &action(&grant, verb, path)).verdict {
        Verdict::Allow(_) => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(denial) => denial.code(),
    }
}

#[test]
fn modes_limits_and_consent_decide() {
    let zones = "in:ro out:rw,write=pre draft:rw,delete=pre final:rw,delete=blocked \
                 docs:rw,write=pre,suffix=.md small:rw,write=pre,max=3 quiet:rw,read=ask \
                 dark:rw,read=blocked";
    let policy = policy(zones);
    let cases = [
        (Verb::Read, "/in/a", "allow"),
        (Verb::List, "/in", "allow"),
        (Verb::List, "/", "allow"),
        (Verb::Write, "/in/a", "read_only"),
        (Verb::Edit, "/in/a", "read_only"),
        (Verb::Delete, "/in/a", "read_only"),
        (Verb::Move, "/in/a > /out/a", "read_only"),
        (Verb::Copy, "/in/a > /out/a", "allow"),
        (Verb::Copy, "/out/a > /in/a", "read_only"),
        (Verb::Read, "/nowhere/a", "outside"),
        (Verb::Read, "/in/../nowhere", "outside"),
        (Verb::Read, "/in/../out/x", "allow"),
        (Verb::Write, "/in/../out/x", "allow"),
        // The path that is judged is the normalised one.
        (Verb::Delete, "/draft/../final/x", "blocked"),
        (Verb::Write, "/out/x", "allow"),
        (Verb::Delete, "/out/x", "ask"),
        (Verb::Write, "/draft/x", "ask"),
        (Verb::Delete, "/draft/x", "allow"),
        (Verb::Delete, "/final/x", "blocked"),
        (Verb::Move, "/final/x > /out/x", "blocked"),
        (Verb::Move, "/draft/x > /out/x", "allow"),
        (Verb::Write, "/docs/x.md", "allow"),
        (Verb::Write, "/docs/x.MD", "allow"),
        (Verb::Write, "/docs/x.sh", "suffix"),
        (Verb::Read, "/docs/x.sh", "suffix"),
        (Verb::Delete, "/docs/x.sh", "suffix"),
        (Verb::Read, "/docs/.md", "suffix"),
        (Verb::List, "/docs/sub", "allow"),
        (Verb::Copy, "/out/x.md > /docs/x.sh", "suffix"),
        (Verb::Read, "/quiet/x", "ask"),
        (Verb::List, "/quiet", "ask"),
        (Verb::Search, "/", "ask"),
        (Verb::Edit, "/dark/x", "blocked"),
        (Verb::Copy, "/dark/x > /out/x", "blocked"),
        (Verb::Move, "/dark/x > /out/x", "blocked"),
        (Verb::List, "/dark", "blocked"),
        (Verb::Delete, "/out", "top_directory"),
        (Verb::Write, "/", "top_directory"),
        (Verb::Write, "/out/sub/zonekeep.yaml", "guarded"),
        (Verb::Write, "/out/.git/hooks/pre-commit", "guarded"),
        (Verb::Delete, "/draft/.git/config", "guarded"),
        (Verb::Copy, "/out/a > /out/.bashrc", "guarded"),
        (Verb::Move, "/out/a > /out/.git", "guarded"),
        (Verb::Move, "/draft/a > /out/.cargo", "guarded"),
        (Verb::Move, "/draft/a > /out/.yarn", "ask"),
        (Verb::Read, "/out/.git/config", "allow"),
        (Verb::Write, "/out/.vscode/tasks.json", "ask"),
    ];
    for (verb, path, want) in cases {
        assert_eq!(verdict(&policy, verb, path), want, "{verb} {path}");
    }
}

#[test]
fn consent_modes_change_questions_and_nothing_else() {
    let zones = "in:ro pre:rw,write=pre,delete=pre ask:rw no:rw,write=blocked";
    let cases = [
        // path, tool, manual, auto, strict
        ("/pre/x", "allow", "ask", "allow", "allow"),
        ("/ask/x", "ask", "ask", "allow", "declined"),
        ("/no/x", "blocked", "blocked", "blocked", "blocked"),
        ("/in/x", "read_only", "read_only", "read_only", "read_only"),
        ("/pre/zonekeep.yaml", "guarded", "guarded", "guarded", "guarded"),
    ];
    for (path, by_tool, manual, auto, strict) in cases {
        for (consent, want) in [
            (Consent::Tool, by_tool),
            (Consent::Manual, manual),
            (Consent::Auto, auto),
            (Consent::Strict, strict),
        ] {
            let mut policy = policy(zones);
            policy.consent = Ruled::new(consent, At::flag("test"));
            assert_eq!(verdict(&policy, Verb::Write, path), want, "{consent:?} {path}");
        }
    }
    let mut policy = policy(zones);
    policy.consent = Ruled::new(Consent::Manual, At::flag("test"));
    assert_eq!(verdict(&policy, Verb::Read, "/in/x"), "allow");
}

#[test]
fn tool_rules_and_zone_rules_both_count() {
    let rule = |allowed: Option<bool>, required: Option<bool>| ToolRule {
        allowed: allowed.map(|v| Ruled::new(v, At::flag("test"))),
        approval_required: required.map(|v| Ruled::new(v, At::flag("test"))),
    };
    let cases = [
        // zone, rule, verdict of write_file
        ("z:rw", rule(None, None), "ask"),
        ("z:rw", rule(Some(true), None), "ask"),
        ("z:rw", rule(None, Some(false)), "allow"),
        ("z:rw", rule(None, Some(true)), "ask"),
        ("z:rw", rule(Some(false), None), "no_tool"),
        ("z:rw", rule(Some(false), Some(false)), "no_tool"),
        ("z:rw,write=pre", rule(None, Some(true)), "ask"),
        ("z:rw,write=ask", rule(None, Some(false)), "ask"),
        ("z:rw,write=blocked", rule(None, Some(false)), "blocked"),
    ];
    for (zone, rule, want) in cases {
        let mut policy = policy(zone);
        policy.tool_rules.insert("write_file".to_owned(), rule.clone());
        assert_eq!(verdict(&policy, Verb::Write, "/z/x"), want, "{zone} {rule:?}");
        assert_eq!(verdict(&policy, Verb::Delete, "/z/x"), "ask");
    }
}

#[test]
fn size_is_judged_before_anything_is_written() {
    let policy = policy("small:rw,write=pre,max=3");
    let grant = Grant::of(&policy);
    for (bytes, fits) in [(3, true), (4, false)] {
        let action = action(&grant, Verb::Write, "/small/x").bytes(bytes);
        let allowed = matches!(judge(&grant, &action).verdict, Verdict::Allow(_));
        assert_eq!(allowed, fits, "{bytes}");
    }
}

#[test]
fn a_place_covers_only_what_was_cleared() {
    let policy = policy("out:rw,write=pre");
    let grant = Grant::of(&policy);
    let rel = |path: &str| AgentPath::absolute(path).unwrap().as_rel().clone();
    let Verdict::Allow(permit) = judge(&grant, &action(&grant, Verb::Write, "/out/a/x")).verdict
    else {
        panic!("a plain write is allowed")
    };
    let place = permit.place().unwrap();
    assert!(place.covers(&rel("/b/x"), Reach::File));
    assert!(!place.covers(&rel("/.git/hooks/x"), Reach::File));
    assert!(!place.covers(&rel("/.vscode/x"), Reach::File));
}

fn zones_strategy() -> impl Strategy<Value = String> {
    let approval = prop_oneof![Just("pre"), Just("ask"), Just("blocked")];
    let zone = (
        "[a-z]{1,6}",
        prop_oneof![Just("ro"), Just("rw")],
        approval.clone(),
        approval.clone(),
        approval,
    );
    prop::collection::btree_map("[a-z]{1,6}", zone, 0..12).prop_map(|zones| {
        let words = zones.into_iter().map(|(name, (_, mode, read, write, delete))| {
            format!("{name}:{mode},read={read},write={write},delete={delete}")
        });
        words.collect::<Vec<_>>().join(" ")
    })
}

fn any_verb() -> impl Strategy<Value = Verb> {
    prop::sample::select(vec![
        Verb::Read,
        Verb::List,
        Verb::Find,
        Verb::Search,
        Verb::Info,
        Verb::Write,
        Verb::Edit,
        Verb::Delete,
        Verb::Move,
        Verb::Copy,
    ])
}

proptest! {
    /// Whatever is configured and asked: a refusal has two lines, names at most
    /// eight alternatives, and speaks neither of zones nor of the host.
    #[test]
    fn refusals_teach_and_leak_nothing(
        zones in zones_strategy(),
        verb in any_verb(),
        path in "/?([a-z]{1,6}|\\.\\.|\\.)(/([a-z.]{1,8}|\\.\\.)){0,4}",
        to in "/[a-z]{1,6}/[a-z.]{1,6}",
        strict in any::<bool>(),
    ) {
        let mut policy = policy(&zones);
        if strict {
            policy.consent = Ruled::new(Consent::Strict, At::flag("test"));
        }
        let grant = Grant::of(&policy);
        let path = if matches!(verb, Verb::Move | Verb::Copy) { format!("{path} > {to}") } else { path };
        if let Verdict::Deny(denial) = judge(&grant, &action(&grant, verb, &path)).verdict {
            let text = denial.to_string();
            prop_assert!(text.starts_with("Cannot "), "{}", text);
            prop_assert_eq!(text.lines().count(), 2, "{}", text);
            prop_assert!(!text.to_lowercase().contains("zone"), "{}", text);
            prop_assert!(!text.contains("/project"), "{}", text);
            prop_assert!(text.lines().last().unwrap().split(", ").count() <= 8, "{}", text);
        }
    }

    /// What is allowed lies in a mount, and what changes it lies in a writable one.
    #[test]
    fn nothing_is_allowed_outside_or_against_a_mode(
        zones in zones_strategy(),
        verb in any_verb(),
        path in "(/([a-z]{1,3}|\\.\\.)){1,5}",
        auto in any::<bool>(),
    ) {
        let mut policy = policy(&zones);
        if auto {
            policy.consent = Ruled::new(Consent::Auto, At::flag("test"));
        }
        let grant = Grant::of(&policy);
        let path = if matches!(verb, Verb::Move | Verb::Copy) { format!("{path} > {path}") } else { path };
        let permit = match judge(&grant, &action(&grant, verb, &path)).verdict {
            Verdict::Allow(permit) => permit,
            Verdict::Ask(question) => question.approved(),
            Verdict::Deny(_) => return Ok(()),
        };
        for place in permit.places() {
            let zone = &grant.view().mounts()[place.mount()].zone;
            prop_assert!(zone.approval.read.value != Approval::Blocked || verb == Verb::Write || verb == Verb::Delete);
            if verb.changes() && verb != Verb::Copy {
                prop_assert_eq!(zone.mode.value, Mode::Rw);
            }
        }
    }
}
