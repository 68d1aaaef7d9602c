//! Every path that an agent writes is normalised or refused, can be shown and
//! read back, and is never allowed outside the view.
//!
//! An input is three lines of text: where relative paths start, what `~` is,
//! and the path, which may have further lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zonekeep_policy::path::{MAX_NAME, escape, is_plain_name, unescape};
use zonekeep_policy::{
    Action, AgentPath, At, Grant, Mode, Permit, Placement, Policy, Ruled, Spot, Target, Verb,
    Verdict, Zone, judge,
};

const VERBS: [Verb; 10] = [
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
];

fuzz_target!(|data: &[u8]| {
    assert_eq!(unescape(&escape(data)), data, "what is shown reads back as what it was");
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let base = AgentPath::absolute(next()).unwrap_or_default();
    let home = AgentPath::absolute(next()).unwrap_or_default();
    let given = next();
    let Ok(path) = AgentPath::parse(given, &base, &home) else { return };

    for name in path.as_rel().names() {
        assert!(is_plain_name(name) && name.len() <= MAX_NAME, "{name:?}");
    }
    let shown = path.to_string();
    assert!(shown.starts_with('/') && !shown.contains(|c: char| c < ' ' || c == '\x7f'));
    assert_eq!(AgentPath::absolute(&shown).as_ref(), Ok(&path), "{shown}");

    let mut policy = Policy::empty("/project");
    for (name, host, mode, placement) in [
        ("in", "/hidden/in", Mode::Ro, Placement::Named),
        ("out", "/hidden/out", Mode::Rw, Placement::Named),
        ("own", "/shared/own", Mode::Rw, Placement::Same),
    ] {
        let mut zone = Zone::new(name, host, mode, At::flag("fuzz"));
        zone.placement = Ruled::new(placement, At::flag("fuzz"));
        policy.zones.push(zone);
    }
    policy.working_dir.value = base;
    policy.home.value = home;
    let grant = Grant::of(&policy);
    let view = grant.view();
    let Ok(target) = Target::parse(given, view) else {
        // The view reads the working directory in its canonical form, which can be longer.
        assert!(view.parse(given).is_err());
        return;
    };
    assert_eq!(view.canonical(target.path.clone()), target.path, "a canonical path stays");
    if view.locate(&path).is_some() {
        assert_eq!(view.canonical(path.clone()), path, "an agent path is no host path");
    }
    let names_host = text.contains("hidden");
    for verb in VERBS {
        let mut action = Action::new("read_file", verb, target.clone());
        if matches!(verb, Verb::Move | Verb::Copy) {
            action = action.to(Target::of(AgentPath::absolute("/out/x").expect("a plain path")));
        }
        match judge(&grant, &action).verdict {
            // A refusal repeats the text of the agent, and names no host path of its own.
            Verdict::Deny(denial) => assert!(names_host || !denial.to_string().contains("/hidden")),
            Verdict::Allow(permit) => check(&grant, &action, &permit),
            Verdict::Ask(question) => check(&grant, &action, &question.approved()),
        }
    }
});

/// Holds a permit against the view and the modes.
fn check(grant: &Grant, action: &Action, permit: &Permit) {
    let view = grant.view();
    let Action { verb, target, .. } = action;
    match view.locate(&target.path).expect("nothing outside is ever permitted") {
        Spot::Root => assert!(!verb.changes(), "the root cannot change"),
        Spot::In { mount, path } => {
            let place = permit.place().expect("a path in a mount has a place");
            assert_eq!((place.mount(), place.path()), (mount, &path));
            assert_eq!(view.agent_path(mount, &path), target.path);
            let changes_it = verb.changes() && *verb != Verb::Copy;
            assert!(!changes_it || view.mounts()[mount].zone.mode.value == Mode::Rw);
        }
    }
}
