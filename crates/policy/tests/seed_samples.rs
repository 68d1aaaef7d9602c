//! The configuration samples of the five design documents, word for word, and
//! what each of them means.

use std::path::{Path, PathBuf};

use zonekeep_policy::config::{Loaded, Overrides, Problem, Severity, load};
use zonekeep_policy::needs::ZoneNeeds;
use zonekeep_policy::policy::{Consent, Layout, Network, OsSandbox, Policy};
use zonekeep_policy::tool_name::FILE_TOOLS;
use zonekeep_policy::worker_file::{WorkerFile, check, inline_zones, parse};
use zonekeep_policy::zone::{Approval, Mode};

fn read(text: &str) -> Loaded {
    load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &Overrides::default())
}

/// Returns the rules of a sample that has nothing doubtful in it.
fn clean(text: &str) -> Policy {
    let loaded = read(text);
    assert_eq!(loaded.problems, []);
    loaded.policy.expect("no problems, so a policy")
}

fn clean_worker(text: &str) -> WorkerFile {
    let parsed = parse(text, "sample.worker");
    assert_eq!(parsed.problems, []);
    parsed.worker.expect("no problems, so a worker")
}

/// Puts a sample that is only the `sandbox` part of a worker into a whole file.
fn in_worker(sample: &str) -> String {
    format!("---\nname: sample\n{sample}---\n")
}

fn zones(policy: &Policy) -> Vec<(&str, PathBuf, Mode, bool)> {
    policy
        .zones
        .iter()
        .map(|z| (z.name.as_str(), z.path.value.clone(), z.mode.value, z.create))
        .collect()
}

fn requests(worker: &WorkerFile) -> Vec<(&str, Mode)> {
    match &worker.needs.zones {
        ZoneNeeds::Named(needs) => {
            needs.iter().map(|need| (need.name.as_str(), need.mode.value)).collect()
        }
        ZoneNeeds::None => Vec::new(),
        ZoneNeeds::All => panic!("no sample asks for all"),
    }
}

fn codes(problems: &[Problem]) -> Vec<(&str, u32)> {
    problems.iter().map(|problem| (problem.code, problem.line)).collect()
}

#[test]
fn s0_tools_and_network_stand_next_to_the_boundaries() {
    let policy = clean(include_str!("seeds/s0_example.yaml"));
    assert_eq!(zones(&policy), [("portfolio", "/p/portfolio".into(), Mode::Rw, false)]);
    assert_eq!(policy.network.value, Network::Off);
    assert!(policy.network.is_written());
    let tools = policy.tools.expect("the sample lists tools").value;
    assert_eq!(tools.len(), FILE_TOOLS.len() + 1);
    assert!(tools.iter().any(|tool| tool == "shell"));
    let approval = policy.tool_rules["shell"].approval().expect("the sample has a rule");
    assert_eq!(
        (approval.value, approval.at.file_line()),
        (Approval::Ask, Some(("zonekeep.yaml", 11)))
    );
}

#[test]
fn s0_paths_have_suffixes_and_sizes() {
    let policy = clean(include_str!("seeds/s0_sandbox.yaml"));
    let want = [
        ("portfolio", "/p/portfolio".into(), Mode::Rw, false),
        ("pipeline", "/p/pipeline".into(), Mode::Ro, false),
        ("framework", "/p/framework".into(), Mode::Ro, false),
    ];
    assert_eq!(zones(&policy), want);
    let portfolio = policy.zone("portfolio").expect("defined");
    assert_eq!(portfolio.suffixes.as_ref().expect("written").value, [".md", ".pdf"]);
    assert_eq!(portfolio.max_file_bytes.as_ref().expect("written").value, 10_000_000);
    let framework = policy.zone("framework").expect("defined");
    assert_eq!((&framework.suffixes, &framework.max_file_bytes), (&None, &None));
    assert_eq!(policy.require_os_sandbox.value, OsSandbox::Optional);
}

#[test]
fn s0_and_s1_samples_are_worker_settings_too() {
    for sample in [
        include_str!("seeds/s0_example.yaml"),
        include_str!("seeds/s0_sandbox.yaml"),
        include_str!("seeds/s0_grants.yaml"),
        include_str!("seeds/s1_precedence.yaml"),
    ] {
        clean_worker(&in_worker(sample));
    }
}

#[test]
fn s0_grants_give_one_command_the_network() {
    let rules = clean(include_str!("seeds/s0_grants.yaml")).shell.rules;
    assert_eq!((rules[0].pattern.as_str(), rules[0].approval), ("git push", Approval::Ask));
    assert_eq!(rules[0].grants, Network::On);
}

#[test]
fn s0_old_sandboxes_become_paths_with_one_warning() {
    let sample = include_str!("seeds/s0_migration.yaml");
    let (before, after) = sample.split_once("\n\n").expect("two halves");
    let old = read(before);
    assert_eq!(codes(&old.problems), [("deprecated", 2)]);
    let hint = "write sandbox: { paths: { portfolio: { root: ./portfolio, mode: rw } } }";
    assert_eq!(old.problems[0].hint.as_deref(), Some(hint));
    assert_eq!(zones(&old.policy.expect("a warning only")), zones(&clean(after)));
    // Both halves in one file define the zone twice.
    let both = read(sample);
    assert_eq!(codes(&both.problems), [("deprecated", 2), ("duplicate_zone", 3)]);
    assert!(both.policy.is_none());
}

#[test]
fn s1_shell_rules_stand_beside_tool_rules() {
    let policy = clean(include_str!("seeds/s1_precedence.yaml"));
    assert_eq!(policy.tool_rules["shell"].approval().expect("written").value, Approval::Ask);
    let rule = &policy.shell.rules[0];
    assert_eq!((rule.pattern.as_str(), rule.approval), ("git status", Approval::PreApproved));
    assert_eq!(policy.shell.default, None);
    assert_eq!(policy.tools, None);
    let names: Vec<&str> = policy.zones.iter().map(|zone| zone.name.as_str()).collect();
    assert_eq!(names, ["cache", "workspace"]);
}

#[test]
fn s2_and_s3_projects_define_three_zones() {
    for (sample, consent) in [
        (include_str!("seeds/s2_project.yaml"), Consent::Tool),
        (include_str!("seeds/s3_project.yaml"), Consent::Auto),
    ] {
        let policy = clean(sample);
        let want = [
            ("cache", "/p/.sandbox/cache".into(), Mode::Rw, true),
            ("workspace", "/p/.sandbox/workspace".into(), Mode::Rw, true),
            ("data", "/p/.sandbox/data".into(), Mode::Ro, true),
        ];
        assert_eq!(zones(&policy), want);
        assert_eq!(policy.layout.value, Layout::Sandboxed);
        assert_eq!(policy.root.value, PathBuf::from("/p/.sandbox"));
        assert_eq!(policy.consent.value, consent);
        assert_eq!(policy.max_depth.value, 5);
    }
}

#[test]
fn s2_and_s3_workers_say_what_they_need() {
    type Found = &'static [(&'static str, Severity)];
    type Case = (&'static str, &'static str, &'static [(&'static str, Mode)], Found);
    let project = clean(include_str!("seeds/s3_project.yaml"));
    let exceeds: Found = &[("exceeds_project", Severity::Error)];
    let cases: &[Case] = &[
        ("formatter", include_str!("seeds/s2_formatter.worker"), &[("data", Mode::Rw)], exceeds),
        ("formatter", include_str!("seeds/s3_formatter.worker"), &[("data", Mode::Rw)], exceeds),
        ("validator", include_str!("seeds/s3_validator.worker"), &[], &[]),
        ("validator", include_str!("seeds/s3_pure.worker"), &[], &[]),
        (
            "report-generator",
            include_str!("seeds/s3_report_generator.worker"),
            &[("data", Mode::Ro), ("workspace", Mode::Rw)],
            &[],
        ),
    ];
    for (name, sample, wanted, problems) in cases {
        let worker = clean_worker(sample);
        assert_eq!(worker.name, *name);
        assert!(worker.description.is_some() && worker.instructions.is_empty());
        assert_eq!(requests(&worker), *wanted, "{name}");
        let found: Vec<_> = check(&worker, &project).iter().map(|p| (p.code, p.severity)).collect();
        assert_eq!(found, *problems, "{name}");
    }
}

#[test]
fn s2_requests_carry_consent_rules() {
    let worker = clean_worker(&in_worker(include_str!("seeds/s2_approval.yaml")));
    let wanted = [("input", Mode::Ro), ("drafts", Mode::Rw), ("final", Mode::Rw)];
    assert_eq!(requests(&worker), wanted);
    let ZoneNeeds::Named(needs) = &worker.needs.zones else { unreachable!("named above") };
    let consent: Vec<_> = needs
        .iter()
        .map(|need| (need.write.as_ref().map(|r| r.value), need.delete.as_ref().map(|r| r.value)))
        .collect();
    let want = [
        (None, None),
        (Some(Approval::PreApproved), Some(Approval::PreApproved)),
        (Some(Approval::Ask), Some(Approval::Blocked)),
    ];
    assert_eq!(consent, want);
    // As a project file the list is refused, and the hint says where it belongs.
    let as_project = read(include_str!("seeds/s2_approval.yaml"));
    assert_eq!(codes(&as_project.problems), [("wrong_type", 3)]);
    assert!(as_project.problems[0].hint.as_ref().expect("a hint").contains("worker file"));
}

#[test]
fn s3_paths_in_a_worker_define_zones_of_a_silent_project() {
    let sample = include_str!("seeds/s3_worker_paths.yaml");
    let worker = clean_worker(&in_worker(sample));
    assert_eq!(requests(&worker), [("cache", Mode::Rw)]);
    let silent = clean("");
    assert_eq!(check(&worker, &silent), []);
    let zone = &inline_zones(&worker, &silent)[0];
    assert_eq!(zone.path.value, PathBuf::from("/p/cache"));
    assert_eq!(zone.suffixes.as_ref().expect("written").value, [".json", ".txt"]);
    let defined = clean(include_str!("seeds/s3_project.yaml"));
    assert_eq!(codes(&check(&worker, &defined)), [("exceeds_project", 6)]);
}

#[test]
fn s2_direct_mode_takes_the_short_form() {
    let loaded = read(
        "sandbox:\n  mode: direct\n  zones:\n    cache: ./downloads\n    workspace: ./reports\n",
    );
    assert_eq!(codes(&loaded.problems), [("mode_missing", 4), ("mode_missing", 5)]);
    let policy = loaded.policy.expect("warnings only");
    let want = [
        ("cache", "/p/downloads".into(), Mode::Rw, false),
        ("workspace", "/p/reports".into(), Mode::Rw, false),
    ];
    assert_eq!(zones(&policy), want);
}
