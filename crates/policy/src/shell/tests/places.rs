//! Rules for zones that commands see at their host paths.

use super::*;

/// Returns a project whose zone `repo` is at its host path, `/p/.sandbox/repo`.
fn same(lines: &str) -> Grant {
    let mut policy = project(lines);
    let zone = policy.zones.iter_mut().find(|zone| zone.name == "repo").unwrap();
    zone.placement = Ruled::new(crate::Placement::Same, crate::At::Default);
    Grant::of(&policy)
}

const REPO: &str = "/p/.sandbox/repo";

#[test]
fn paths_of_rules_follow_their_zone() {
    let text =
        "shell:\n  rules:\n    - { pattern: git add, approval: preApproved, paths: [/repo] }\n";
    let old =
        "shell_rules: [{ pattern: git add, sandbox_paths: [repo], approval_required: false }]\n";
    for text in [text, old] {
        let grant = same(text);
        let cases = [
            ("git add a.md", "yes"),
            ("git add -A", "yes"),
            ("git add /p/.sandbox/repo/a.md", "yes"),
            ("git add ../a.md", "ask"),
            ("git add /p/a.md", "ask"),
            // Nothing is there for commands.
            ("git add /repo/a.md", "ask"),
        ];
        for (line, want) in cases {
            assert_eq!(verdict(&grant, REPO, line), want, "{line}");
        }
        assert_eq!(verdict(&grant, "/p/.sandbox/repo/sub", "git add -A"), "yes");
        assert_eq!(verdict(&grant, "/portfolio", "git add -A"), "ask");
    }
    let below =
        "shell:\n  rules:\n    - { pattern: git add, approval: preApproved, paths: [/repo/sub] }\n";
    let grant = same(below);
    assert_eq!(verdict(&grant, "/p/.sandbox/repo/sub", "git add a"), "yes");
    assert_eq!(verdict(&grant, "/p/.sandbox/repo/sub", "git add -A"), "ask", "all of the zone");
}

#[test]
fn patterns_follow_their_zone() {
    let rules = shell(&["blocked rm /repo/keep", "blocked tee /repo/*", "yes /repo/run.sh"]);
    let cases = [
        ("rm /p/.sandbox/repo/keep", "no"),
        ("echo x | tee /p/.sandbox/repo/x", "no"),
        ("./run.sh", "yes"),
        ("/p/.sandbox/repo/run.sh", "yes"),
        ("/repo/run.sh", "ask"),
        ("/p/.sandbox/repo/other.sh", "ask"),
    ];
    for (line, want) in cases {
        assert_eq!(verdict(&same(&rules), REPO, line), want, "{line}");
    }
}
