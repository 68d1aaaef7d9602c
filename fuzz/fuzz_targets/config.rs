//! Whatever a project file or a worker file says, it is read into sound rules
//! or into problems that point at a place in it.
//!
//! An input is the text of a file. After a NUL may come `key=value`, as for
//! `--set`, and after another the text of a worker file.

#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use zonekeep_policy::config::{Overrides, Problem, Severity, load};
use zonekeep_policy::{Grant, Policy, worker_file, zone};

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, '\0');
    let text = parts.next().unwrap_or_default();
    let set = parts.next().and_then(|set| set.split_once('='));
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
    let overrides = Overrides { set, ..Overrides::default() };

    let loaded = load(text, "zonekeep.yaml", Path::new("/project/zonekeep.yaml"), &overrides);
    check_problems(&loaded.problems, loaded.policy.is_some());
    if let Some(policy) = &loaded.policy {
        check_policy(policy);
    }
    for worker in [Some(text), parts.next()].into_iter().flatten() {
        let parsed = worker_file::parse(worker, "some.worker");
        check_problems(&parsed.problems, parsed.worker.is_some());
        let (Some(worker), Some(policy)) = (&parsed.worker, &loaded.policy) else { continue };
        worker_file::check(worker, policy);
        for zone in worker_file::inline_zones(worker, policy) {
            assert!(zone.path.value.starts_with("/project"), "{zone:?}");
        }
        let all = Grant::of(policy);
        if let Ok(grant) = all.narrow(&worker.needs) {
            for mount in grant.view().mounts() {
                let name = &mount.zone.name;
                assert!(grant.zone_access(name) <= all.zone_access(name), "{name} grew");
            }
        }
    }
});

fn check_problems(problems: &[Problem], usable: bool) {
    let any_error = problems.iter().any(|problem| problem.severity == Severity::Error);
    assert_eq!(usable, !any_error, "{problems:?}");
    for problem in problems {
        assert!(problem.line > 0 && problem.column > 0 && problem.width > 0, "{problem:?}");
        assert!(!problem.message.is_empty() && !problem.code.is_empty(), "{problem:?}");
    }
}

fn check_policy(policy: &Policy) {
    let names: BTreeSet<&str> = policy.zones.iter().map(|zone| zone.name.as_str()).collect();
    assert_eq!(names.len(), policy.zones.len(), "two zones of one name");
    for zone in &policy.zones {
        assert_eq!(zone::check_name(&zone.name), Ok(()));
        assert!(zone.path.value.is_absolute(), "{zone:?}");
    }
    let grant = Grant::of(policy);
    for path in [&policy.working_dir.value, &policy.home.value] {
        assert!(grant.view().locate(path).is_some(), "{path} is outside");
    }
}
