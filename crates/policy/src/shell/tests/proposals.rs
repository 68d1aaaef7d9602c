//! Proposals.

use super::*;

#[test]
fn the_narrowest_rule_is_proposed_and_works() {
    let policy = project(&shell(&["blocked rm", "ask git"]));
    let cases: &[(&str, Option<&[&str]>)] = &[
        ("git push origin main", Some(&["git push"])),
        ("git -C /repo push", Some(&["git -C /repo push"])),
        ("git -C sub push origin x", Some(&["git -C sub push"])),
        ("git -C a -C b push", None),
        ("npm --prefix=web run build", Some(&["npm --prefix=web run build"])),
        ("npm -C web run build", Some(&["npm --prefix=web run build"])),
        ("pnpm --dir=web run build", Some(&["pnpm -C web run build"])),
        ("yarn --cwd web build", Some(&["yarn --cwd=web build"])),
        (
            "cargo test --manifest-path x/Cargo.toml",
            Some(&["cargo --manifest-path=x/Cargo.toml test"]),
        ),
        ("make -C vendor/x test", Some(&["make -C vendor/x test"])),
        ("uv --directory x lock", Some(&["uv --directory=x lock"])),
        ("go -C x test", Some(&["go -C x test"])),
        // The name of the script is kept.
        ("npm run build", Some(&["npm run build"])),
        ("npm run build -- --watch", Some(&["npm run build"])),
        ("npm run --silent build", Some(&["npm run build"])),
        ("npm run-script build", Some(&["npm run-script build"])),
        ("npm test", Some(&["npm test"])),
        ("npm run", None),
        ("npm run --foo build x", None),
        ("pnpm run build", Some(&["pnpm run build"])),
        ("yarn run build", Some(&["yarn run build"])),
        ("yarn build", Some(&["yarn build"])),
        ("yarn workspace web build", Some(&["yarn workspace web build"])),
        ("yarn workspace web", None),
        ("bun run build", None),
        ("make test", Some(&["make test"])),
        ("make", None),
        ("just test", Some(&["just test"])),
        ("task test", Some(&["task test"])),
        ("rake db:migrate", Some(&["rake db:migrate"])),
        ("rake", None),
        ("ninja check", Some(&["ninja check"])),
        ("gulp build", Some(&["gulp build"])),
        ("turbo run build", Some(&["turbo run build"])),
        ("./gradlew test", Some(&["./gradlew test"])),
        ("gh pr view 1", Some(&["gh pr view"])),
        ("git stash list", Some(&["git stash list"])),
        ("git stash", None),
        ("deno task build", None),
        ("composer run-script x", None),
        ("uv run x", None),
        ("cargo run --example x", None),
        ("python3 -m pytest", None),
        // Where an earlier command leads is not part of a pattern.
        ("cd x && make test", None),
        ("cd x && git push", None),
        ("cd x && ./run.sh", None),
        ("cd x && wc -l f", Some(&["cd", "wc -l"])),
        ("env -C x make test", None),
        ("sh -c 'cd x; make test'", None),
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

#[test]
fn a_proposal_keeps_what_the_rule_gives() {
    let cases = [
        ("true", ", grants: { network: true }", ", and reaches every host"),
        ("[a.org]", ", grants: { network: [\"a.org\"] }", ", and reaches a.org"),
        (
            "{ allow: [a.org], ask: [b.org], deny: [c.a.org], presets: [node] }",
            ", grants: { network: { allow: [\"a.org\"], ask: [\"b.org\"], deny: [\"c.a.org\"], presets: [\"node\"] } }",
            ", and reaches ",
        ),
        ("false", "", ""),
    ];
    for (network, given, reaches) in cases {
        let rule =
            format!("{{ pattern: git push, approval: ask, grants: {{ network: {network} }} }}");
        let policy = project(&format!("shell:\n  rules:\n    - {rule}\n"));
        let inserts = smallest(&policy, &at("/"), "git push origin").unwrap();
        let want = format!("{{ pattern: \"git push\", approval: preApproved{given} }}");
        assert_eq!(inserts[0].rule, want);
        let opens = format!("runs without a question{reaches}");
        assert!(inserts[0].opens.contains(&opens), "{}", inserts[0].opens);
        // As it is written, it gives the same.
        let rules = |rule: &str| project(&format!("shell:\n  rules:\n    - {rule}\n"));
        let grants =
            |policy: &Policy| decide(&Grant::of(policy), &at("/"), "git push", true).grants;
        let shown = |policy: &Policy| grants(policy).shown();
        assert_eq!(shown(&rules(&inserts[0].rule)), shown(&policy), "{network}");
    }
}
