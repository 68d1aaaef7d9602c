//! No worker ever holds more than its caller: over random project files and
//! random trees of worker files, on every axis, tainted or not.
//!
//! The files are text, and go through the parsers that real ones go through.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "narrowing/files.rs"]
mod files;
#[path = "narrowing/more.rs"]
mod more;

use std::path::Path;

use files::Worker;
use more::{Step, excess, held, online, shown, unasked};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use zonekeep_policy::config::{Overrides, Problem, Severity, load};
use zonekeep_policy::needs::{Needs, ZoneNeeds};
use zonekeep_policy::policy::{Consent, Network, OsSandbox};
use zonekeep_policy::worker_file::parse;
use zonekeep_policy::{Grant, Policy};

fn no_errors(problems: &[Problem], text: &str) {
    let error = problems.iter().find(|problem| problem.severity == Severity::Error);
    assert!(error.is_none(), "{}\n{text}", error.unwrap());
}

fn policy(text: &str) -> Policy {
    let loaded = load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &Overrides::default());
    no_errors(&loaded.problems, text);
    loaded.policy.unwrap()
}

fn needs(text: &str) -> Needs {
    let parsed = parse(text, "w.worker");
    no_errors(&parsed.problems, text);
    parsed.worker.unwrap().needs
}

/// What a tree came to.
#[derive(Debug, Default)]
struct Tally {
    called: usize,
    refused: usize,
    /// Called by a worker that was called by a worker.
    deep: usize,
    tainted: usize,
}

/// Makes the grants of a tree, and holds each against those above it.
fn check(project: &str, tree: &[Worker]) -> Result<Tally, String> {
    let policy = policy(project);
    let ceiling = Grant::of(&policy);
    let untrusted = !ceiling.untrusted_zones().is_empty();
    let required = ceiling.require_os_sandbox().value == OsSandbox::Required;
    assert!(required || !untrusted, "untrusted without an OS sandbox");
    let mut tally = Tally::default();
    // Each worker's grant, and those of its callers up to the project.
    let mut grants: Vec<Option<Vec<Grant>>> = Vec::new();
    for worker in tree {
        let callers = match worker.caller {
            None => Some(vec![ceiling.clone()]),
            Some(caller) => grants[caller].clone(),
        };
        let Some(mut callers) = callers else {
            grants.push(None);
            continue;
        };
        if worker.taints {
            let before = callers.last().unwrap().clone();
            callers.push(taint(&before, &policy)?);
        }
        let caller = callers.last().unwrap();
        let needs = needs(&worker.text);
        match caller.narrow(&needs) {
            Err(_) => {
                tally.refused += 1;
                grants.push(None);
            }
            Ok(child) => {
                tally.called += 1;
                tally.deep += usize::from(worker.caller.is_some());
                tally.tainted += usize::from(child.is_tainted());
                for above in &callers {
                    let wrong = excess(&child, above, Step::Called);
                    shown("a worker has more than one above it", &wrong, (project, worker))?;
                }
                let wrong = unneeded(&child, caller, &needs);
                shown("a worker has more than it asked for", &wrong, (project, worker))?;
                callers.push(child);
                grants.push(Some(callers));
            }
        }
    }
    Ok(tally)
}

/// Taints a grant, and checks what is left.
fn taint(before: &Grant, policy: &Policy) -> Result<Grant, String> {
    let after = before.tainted();
    shown("taint gives more", &excess(&after, before, Step::Tainted), policy)?;
    assert!(after.is_tainted());
    assert_eq!(after.tainted(), after, "tainting twice is tainting once");
    assert_eq!(after.require_os_sandbox().value, OsSandbox::Required);
    if after.consent().value != Consent::Auto {
        shown("after taint, without a question", &unasked(&after), policy)?;
    }
    let when = &policy.when_tainted;
    for zone in &when.without {
        assert!(after.view().mount(&zone.value).is_none(), "{}", zone.value);
    }
    for tool in &when.tools {
        assert!(!after.has_tool(&tool.value), "{}", tool.value);
    }
    if when.network_off.is_some() {
        assert_eq!(after.network().value, Network::Off);
        assert!(after.secrets().is_empty());
        shown("after taint, with a network", &online(&after), policy)?;
    }
    if let (false, Some(backend)) = (before.is_tainted(), &when.backend) {
        let stays = !backend.value.holds_what(before.backend().value);
        assert_eq!(after.backend(), if stays { before.backend() } else { backend });
    }
    Ok(after)
}

/// Returns what a worker got without asking for it.
fn unneeded(child: &Grant, caller: &Grant, needs: &Needs) -> Vec<String> {
    let mut wrong = Vec::new();
    let want = match &needs.zones {
        ZoneNeeds::None => Vec::new(),
        ZoneNeeds::All => held(caller),
        ZoneNeeds::Named(named) => {
            let mut zones: Vec<_> =
                named.iter().map(|need| (need.name.clone(), need.mode.value)).collect();
            zones.sort_unstable();
            zones
        }
    };
    if held(child) != want {
        wrong.push(format!("{:?} instead of {want:?}", held(child)));
    }
    if needs.network.is_none() && child.network().value != Network::Off {
        wrong.push("network".to_owned());
    }
    let asked = |name: &String| needs.secrets.iter().any(|need| need.value == *name);
    wrong.extend(child.secrets().keys().filter(|name| !asked(name)).cloned());
    if let Some(tools) = &needs.tools {
        let extra = child.tools().into_iter().filter(|tool| {
            let tool = zonekeep_policy::tool_name::main_tool(tool);
            !tools.value.iter().any(|wanted| wanted == tool)
        });
        wrong.extend(extra);
    }
    wrong
}

proptest! {
    #![proptest_config(Config { max_shrink_iters: 400, ..Config::default() })]

    #[test]
    fn no_worker_holds_more_than_its_callers(project in files::project(), tree in files::tree()) {
        if let Err(wrong) = check(&project, &tree) {
            prop_assert!(false, "{}", wrong);
        }
    }
}

#[test]
fn the_trees_are_deep_enough_to_tell() {
    let mut runner = TestRunner::deterministic();
    let mut sum = Tally::default();
    for _ in 0..80 {
        let (project, tree) =
            (files::project(), files::tree()).new_tree(&mut runner).unwrap().current();
        let tally = check(&project, &tree).unwrap();
        sum.called += tally.called;
        sum.refused += tally.refused;
        sum.deep += tally.deep;
        sum.tainted += tally.tainted;
    }
    assert!(sum.called > 60 && sum.refused > 20 && sum.deep > 20 && sum.tainted > 10, "{sum:?}");
}
