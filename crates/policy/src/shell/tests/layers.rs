//! Layers, modes and grants.

use super::*;

/// Returns the grant of a worker with these lines in its file.
fn worker(parent: &Grant, lines: &str) -> Grant {
    let text = format!("---\nname: w\nsandbox: {{ zones: all }}\n{lines}---\n");
    let parsed = crate::worker_file::parse(&text, "w.worker");
    let worker = parsed.worker.unwrap_or_else(|| panic!("{lines}\n{:#?}", parsed.problems));
    parent.narrow(&worker.needs).unwrap()
}

#[test]
fn a_worker_can_only_tighten() {
    let project = rules(&["yes ls", "ask make", "blocked rm"]);
    let silent = worker(&project, "");
    check(&silent, &[("ls", "yes"), ("make", "ask"), ("rm x", "no"), ("cat", "ask")]);
    assert_eq!(silent.shell().layers().len(), 1);
    let loose = worker(&project, &shell(&["yes *"]));
    check(&loose, &[("ls", "yes"), ("make", "ask"), ("rm x", "no"), ("cat", "ask")]);
    let strict = worker(
        &loose,
        "shell: { default: blocked, rules: [{ pattern: ls -l, approval: preApproved }] }\n",
    );
    check(&strict, &[("ls", "no"), ("ls -l", "yes"), ("make", "no")]);
    let asked = worker(&project, "tool_rules: { shell: { approval_required: true } }\n");
    check(&asked, &[("ls", "ask"), ("rm x", "no")]);
    let eased = worker(&project, "tool_rules: { shell: { approval_required: false } }\n");
    check(&eased, &[("ls", "yes"), ("make", "ask"), ("cat", "ask")]);
    let preset = worker(&project, "shell: { presets: [read_only] }\n");
    check(&preset, &[("ls", "yes"), ("cat x", "ask"), ("make", "ask")]);
    assert!(!worker(&project, "tool_rules: { shell: { allowed: false } }\n").has_tool("shell"));
}

#[test]
fn the_mode_gets_stricter_only() {
    let mode = |grant: &Grant| grant.shell().mode().map(|mode| mode.value);
    let unset = Grant::of(&project(""));
    let argv = Grant::of(&project("shell: { mode: argv }\n"));
    let bash = Grant::of(&project("shell: { mode: bash }\n"));
    let (says_argv, says_bash) = ("shell: { mode: argv }\n", "shell: { mode: bash }\n");
    assert_eq!(mode(&unset), None);
    assert_eq!(mode(&argv), Some(ShellMode::Argv));
    assert_eq!(mode(&worker(&argv, says_bash)), Some(ShellMode::Argv));
    assert_eq!(mode(&worker(&bash, says_argv)), Some(ShellMode::Argv));
    assert_eq!(mode(&worker(&bash, "")), Some(ShellMode::Bash));
    assert_eq!(mode(&worker(&unset, says_bash)), Some(ShellMode::Bash));
    assert_eq!(mode(&worker(&worker(&unset, says_bash), says_argv)), Some(ShellMode::Argv));
}

#[test]
fn within_a_layer_the_order_is_the_seeds() {
    let text = |tool: &str, rest: &str| format!("tool_rules: {{ shell: {{ {tool} }} }}\n{rest}");
    let rule = "shell_rules: [{ pattern: ls, approval_required: false }]\n";
    let both = format!("{rule}shell_default: {{ allowed: false }}\n");
    let cases = [
        // tool_rules.shell, the rest, ls, make
        ("allowed: false", both.as_str(), "no", "no"),
        ("approval_required: true", both.as_str(), "yes", "no"),
        ("approval_required: true", rule, "yes", "ask"),
        ("approval_required: false", rule, "yes", "yes"),
        ("approval_required: false", "shell_default: { approval_required: true }\n", "ask", "ask"),
        ("allowed: true", rule, "yes", "ask"),
    ];
    for (tool, rest, ls, make) in cases {
        let grant = Grant::of(&project(&text(tool, rest)));
        check(&grant, &[("ls", ls), ("make", make)]);
    }
    check(&Grant::of(&project("")), &[("ls", "ask"), ("", "ask"), ("# x", "ask")]);
    let first = rules(&["ask git", "blocked git push"]);
    check(&first, &[("git push", "ask")]);
}

#[test]
fn modes_turn_questions_into_answers() {
    use Consent::{Auto, Manual, Strict, Tool};
    let cases = [
        // line, tool, manual, auto, strict
        ("ls", ["yes", "ask", "yes", "yes"]),
        ("make", ["ask", "ask", "yes", "declined"]),
        ("$x", ["ask", "ask", "declined", "declined"]),
        ("(", ["ask", "ask", "declined", "declined"]),
        ("rm x", ["blocked"; 4]),
        ("ls; rm x", ["blocked"; 4]),
    ];
    for (line, want) in cases {
        let modes = [Tool, Manual, Auto, Strict].map(|mode| {
            let mut policy = project(&shell(&["yes ls", "blocked rm"]));
            policy.consent = Ruled::default_of(mode);
            let request = Request::line(line, at("/repo"));
            match judge_command(&Grant::of(&policy), &request, true).verdict {
                CommandVerdict::Allow(permit) => {
                    assert_eq!(permit.text(), &CommandText::Line(line.to_owned()));
                    "yes"
                }
                CommandVerdict::Ask(question) => {
                    assert!(!question.reasons.is_empty());
                    "ask"
                }
                CommandVerdict::Deny(denial) => denial.code(),
            }
        });
        assert_eq!(modes, want, "{line}");
    }
    let grant = rules(&["yes ls"]);
    let judged = judge_command(&grant, &Request::line("ls", at("/")), false);
    assert!(matches!(judged.verdict, CommandVerdict::Ask(_)), "nothing holds it");
    assert!(judged.decision.degraded);
}

#[test]
fn words_without_a_shell_are_held_to_the_same_rules() {
    let grant = rules(&["blocked rm -rf", "yes ls", "yes sh"]);
    let words = |line: &[&str]| {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        decide_argv(&grant, &at("/"), &words, true).approval
    };
    assert_eq!(words(&["ls", "$x", "*", ";"]), Approval::PreApproved, "no shell reads them");
    assert_eq!(words(&["rm", "-fr", "x"]), Approval::Blocked);
    assert_eq!(words(&["sh", "-c", "rm -rf x"]), Approval::Blocked);
    assert_eq!(words(&["sh", "-c", "ls"]), Approval::PreApproved);
    assert_eq!(words(&["sh", "-c", "$0", "rm"]), Approval::Ask);
    assert_eq!(words(&[]), Approval::Ask);
}

#[test]
fn the_network_is_given_to_lines_of_which_every_command_has_it_or_only_looks() {
    use crate::policy::Network;
    let text = "shell:
  rules:
    - { pattern: git push, approval: ask, grants: { network: true } }
    - { pattern: git fetch, approval: preApproved, grants: { network: [a.org, b.org] } }
    - { pattern: echo, approval: preApproved }
";
    let project = Grant::of(&project(text));
    let shown = |grant: &Grant, line: &str| match decide(grant, &at("/"), line, true).grants {
        Network::Off => "off".to_owned(),
        Network::On => "on".to_owned(),
        Network::Hosts(hosts) => hosts.shown().join(" "),
    };
    let cases = [
        ("git push", "on"),
        ("git fetch", "a.org b.org"),
        ("git push && git fetch", "a.org b.org"),
        ("git push; echo x", "on"),
        ("git push | tail -1", "on"),
        ("git push; echo x > y", "off"),
        ("git push; echo $(make)", "off"),
        ("echo() { make; }; git push; echo x", "off"),
        ("git push; make", "off"),
        ("git push | curl x", "off"),
        ("git push $(curl x)", "off"),
        ("timeout 5 git push", "on"),
        ("sudo git push", "off"),
        ("git status", "off"),
    ];
    for (line, want) in cases {
        assert_eq!(shown(&project, line), want, "{line}");
    }
    let wide = worker(
        &project,
        "shell: { rules: [{ pattern: git, approval: preApproved, grants: { network: true } }, { pattern: curl, grants: { network: true } }] }\n",
    );
    assert_eq!(shown(&wide, "git push"), "on");
    assert_eq!(shown(&wide, "git fetch"), "a.org b.org", "no more than the project gives");
    assert_eq!(shown(&wide, "curl x"), "off", "the project gives it nothing");
    let narrow = worker(
        &project,
        "shell: { rules: [{ pattern: git, approval: preApproved, grants: { network: [b.org] } }] }\n",
    );
    assert_eq!(shown(&narrow, "git fetch"), "b.org");
    assert_eq!(shown(&worker(&narrow, ""), "git push"), "b.org");
    let silent = worker(&project, "shell: { default: ask }\n");
    assert_eq!(shown(&silent, "git push"), "off");
    let request = Request::line("git push", at("/"));
    let CommandVerdict::Ask(question) = judge_command(&project, &request, true).verdict else {
        panic!()
    };
    assert_eq!(question.granted(), &Network::On);
    assert_eq!(question.approved().network(), &Network::On);
}

#[test]
fn refusals_speak_to_the_agent() {
    let grant = rules(&["blocked rm", "yes ls", "yes git status"]);
    let deny =
        |grant: &Grant, line: &str| match judge_command(grant, &Request::line(line, at("/")), true)
            .verdict
        {
            CommandVerdict::Deny(denial) => denial.to_string(),
            other => panic!("{other:?}"),
        };
    assert_eq!(
        deny(&grant, "rm -rf /"),
        "Cannot run 'rm -rf /': this command is not allowed, and asking the user will not change it.\nCommands that need no approval: git status, ls"
    );
    let silent = rules(&["blocked rm"]);
    assert_eq!(
        deny(&silent, "rm\n-rf"),
        "Cannot run 'rm\\u{a}-rf': this command is not allowed, and asking the user will not change it.\nUse another command or a file tool, or tell the user what you wanted to do."
    );
    let mut policy = project(&shell(&["blocked rm"]));
    policy.consent = Ruled::default_of(Consent::Auto);
    let must = deny(&Grant::of(&policy), "$x");
    policy.consent = Ruled::default_of(Consent::Strict);
    let strict = deny(&Grant::of(&policy), "make");
    for text in [must, strict] {
        assert!(text.starts_with("Cannot run '"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
        for word in ["zone", "policy", "grant", "layer", "sandbox", "zonekeep"] {
            assert!(!text.to_lowercase().contains(word), "{text}");
        }
    }
}
