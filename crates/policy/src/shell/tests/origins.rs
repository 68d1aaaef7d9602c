//! What went wrong in earlier systems.

use super::*;

#[test]
fn origin_git_add_with_paths_does_not_approve_what_lies_outside() {
    let text = "shell:\n  rules:\n    - { pattern: git add, approval: preApproved, paths: [/portfolio] }\n";
    let old = "shell_rules: [{ pattern: git add, sandbox_paths: [portfolio], approval_required: false }]\n";
    for text in [text, old] {
        let grant = Grant::of(&project(text));
        check(
            &grant,
            &[
                ("git add portfolio/a.md", "yes"),
                ("git add /portfolio/a.md portfolio/b", "yes"),
                ("git add ./portfolio/./x/../a.md", "yes"),
                ("git add /etc/passwd", "ask"),
                ("git add secret.env", "ask"),
                ("git add ../secret.env", "ask"),
                ("git add portfolio/../secret.env", "ask"),
                ("git add -A", "ask"),
                ("git add --all", "ask"),
                ("git add -A portfolio/a.md", "ask"),
                ("git add -u", "ask"),
                ("git add .", "ask"),
                ("git add", "ask"),
                ("git add portfolio/*.md", "yes"),
                ("git add p*", "ask"),
                ("git add portfolio/*/../../x", "ask"),
                ("git add portfolio/.*", "ask"),
                ("git add *", "ask"),
                ("git add $x", "ask"),
                ("git add --pathspec-from-file=portfolio/l", "ask"),
                ("cd /etc && git add passwd", "ask"),
                ("cd /etc; git add portfolio/a", "ask"),
                ("git -C /etc add portfolio/a", "ask"),
                ("git -C /portfolio add a", "ask"),
                ("git add portfolio/a < /etc/passwd", "ask"),
            ],
        );
        assert_eq!(verdict(&grant, "/portfolio", "git add secret.env"), "yes");
        assert_eq!(verdict(&grant, "/portfolio", "git add -A"), "yes");
        assert_eq!(verdict(&grant, "/portfolio/sub", "git add -A"), "yes");
        assert_eq!(verdict(&grant, "/portfolio", "git add .."), "ask");
        assert_eq!(verdict(&grant, "/portfolio/sub", "git add .."), "yes");
        assert_eq!(verdict(&grant, "/portfolio", "git add ../x"), "ask");
    }
}

#[test]
fn origin_patterns_match_words_and_not_text() {
    let grant = rules(&["yes git status"]);
    check(
        &grant,
        &[
            ("git status", "yes"),
            ("git  status   -s", "yes"),
            ("git statusx", "ask"),
            ("git status-x", "ask"),
            ("gitstatus", "ask"),
            ("'git status'", "ask"),
            ("git \"status\"", "yes"),
            ("git", "ask"),
        ],
    );
}

#[test]
fn origin_a_block_holds_however_the_command_is_spelt() {
    let grant = rules(&["blocked rm -rf", "yes *"]);
    for line in [
        "rm -rf /",
        "rm  -rf /",
        "rm -fr /",
        "rm -r -f /",
        "rm -f -r /",
        "rm -rfv /",
        "rm / -rf",
        "rm -R -f /",
        "rm --recursive --force /",
        "rm --recurs --forc /",
        "rm -r --force /",
        "/bin/rm -rf /",
        "/usr/bin/rm -fr /",
        "./rm -rf /",
        "\\rm -rf /",
        "r''m -rf /",
        "\"rm\" '-rf' /",
        "r\\m -r\\f /",
        "$'rm' -rf /",
        "ls; rm -rf /",
        "ls && rm -rf /",
        "ls | rm -rf /",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "echo $(rm -rf /)",
        "echo `rm -rf /`",
        "if true; then rm -rf /; fi",
        "f() { rm -rf /; }",
        "env rm -rf /",
        "FOO=1 rm -rf /",
        "timeout 5 rm -rf /",
        "nohup nice -n 5 rm -rf /",
        "sudo rm -rf /",
        "sudo -u root rm -rf /",
        "xargs rm -rf",
        "find . -exec rm -rf {} +",
        "sh -c 'rm -rf /'",
        "bash -lc \"rm -rf /\"",
        "bash -c 'bash -c \"rm -rf /\"'",
        "eval rm -rf /",
        "eval 'rm -rf' /",
        "command rm -rf /",
        "exec rm -rf /",
        "busybox rm -rf /",
        "watch rm -rf /",
        "ssh host rm -rf /",
        "trap 'rm -rf /' EXIT",
        "bash <<< 'rm -rf /'",
    ] {
        assert_eq!(verdict(&grant, "/", line), "no", "{line}");
    }
    for (line, want) in [
        ("rm -r x", "yes"),
        ("rm -f x", "yes"),
        ("rm -- -rf", "yes"),
        ("rm x -- -rf", "yes"),
        ("rmdir -rf", "yes"),
        ("rm $flags /", "must"),
        ("$x -rf /", "must"),
        ("$(echo rm) -rf /", "must"),
        ("bash -c \"$x\"", "must"),
        ("curl x | sh", "must"),
        ("sudo --unknown-option rm -rf /", "must"),
    ] {
        assert_eq!(verdict(&grant, "/", line), want, "{line}");
    }
}

#[test]
fn origin_quoted_operators_are_text_and_hidden_programs_are_not() {
    let grant = rules(&["yes git commit", "yes grep", "yes find", "yes awk", "ask rm"]);
    check(
        &grant,
        &[
            ("git commit -m \"a & b\"", "yes"),
            ("grep \"a|b\" f", "yes"),
            ("grep 'a;b' f", "yes"),
            ("find . -name '*.rs'", "yes"),
            ("find . -exec rm {} +", "ask"),
            ("find . -exec grep x {} +", "ask"),
            ("find . -delete", "ask"),
            ("awk '{print $1}' f", "yes"),
            ("awk 'BEGIN { system(\"id\") }'", "ask"),
            ("awk '{ print > \"x\" }' f", "ask"),
            ("awk -f x f", "ask"),
        ],
    );
    let grant = rules(&["yes find -exec", "yes find", "yes cat"]);
    assert_eq!(
        verdict(&grant, "/", "find . -exec cat {} +"),
        "ask",
        "what find puts in is not known"
    );
}

#[test]
fn origin_a_rule_that_asks_is_not_overridden_by_the_tools_rule() {
    let text = "tool_rules: { shell: { approval_required: false } }\nshell_rules: [{ pattern: git push, approval_required: true }]\n";
    let grant = Grant::of(&project(text));
    check(&grant, &[("git push", "ask"), ("make", "yes"), ("make $x", "ask")]);
}

#[test]
fn origin_blocked_is_blocked_in_every_mode() {
    for consent in [Consent::Tool, Consent::Manual, Consent::Auto, Consent::Strict] {
        let mut policy = project(&shell(&["blocked rm"]));
        policy.consent = Ruled::default_of(consent);
        let request = Request::line("rm x", at("/repo"));
        let judged = judge_command(&Grant::of(&policy), &request, true);
        let CommandVerdict::Deny(denial) = judged.verdict else { panic!("{consent:?}") };
        assert_eq!(denial.code(), "blocked");
        assert_eq!(judged.rule.at.file_line().unwrap().1, 7);
    }
}
