//! Proposals.

use super::*;

#[test]
fn the_narrowest_rule_is_proposed_and_works() {
    let policy = project(&shell(&["blocked rm", "ask git"]));
    let cases: &[(&str, Option<&[&str]>)] = &[
        ("git push origin main", Some(&["git push"])),
        ("git -C /repo push", Some(&["git push"])),
        ("mytool --fast -x a", Some(&["mytool --fast -x"])),
        ("ls -l; wc -l f", Some(&["ls -l", "wc -l"])),
        ("cargo test --all", Some(&["cargo test"])),
        ("./run.sh x", Some(&["./run.sh"])),
        ("timeout 5 mytool", Some(&["mytool"])),
        ("rm x", None),
        ("bash x.sh", None),
        ("python x.py", None),
        ("sudo ls", None),
        ("xargs ls", None),
        ("git", None),
        ("mytool $x", None),
        ("mytool > f", None),
        ("find . -delete", None),
        ("$x", None),
        ("(", None),
        ("git -c a=b push", None),
    ];
    for (line, want) in cases {
        let got = smallest(&policy, &at("/"), line);
        let got: Option<Vec<String>> =
            got.map(|inserts| inserts.into_iter().map(|insert| insert.rule).collect());
        let want = want.map(|patterns| {
            let yaml = |p: &&str| format!("{{ pattern: \"{p}\", approval: preApproved }}");
            patterns.iter().map(yaml).collect::<Vec<_>>()
        });
        assert_eq!(got, want, "{line}");
    }
    let inserts = smallest(&policy, &at("/"), "git push").unwrap();
    assert_eq!(inserts[0].before.file_line(), Some(("zonekeep.yaml", 8)));
    assert_eq!(smallest(&project(&shell(&["yes ls"])), &at("/"), "ls"), Some(vec![]));
}
