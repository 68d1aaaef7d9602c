//! `shell.default: contained`.

use super::*;
use crate::policy::Network;

fn contained(lines: &str) -> Grant {
    let text = format!("shell:\n  default: contained\n{lines}");
    Grant::of(&project(&text))
}

#[test]
fn any_line_runs_whatever_it_is_made_of() {
    check(
        &contained(""),
        &[
            ("make -j4 2>&1 | tee /repo/build.log", "yes"),
            ("echo $? > /repo/x", "yes"),
            ("FOO=1 BAR=$x python3 -c 'print(1)'", "yes"),
            ("for f in *.py; do python3 -m py_compile \"$f\"; done", "yes"),
            ("ls | xargs -n1 wc -l", "yes"),
            ("$CMD x", "yes"),
            ("eval \"$x\"", "yes"),
            ("source /repo/.venv/bin/activate && pytest", "yes"),
            ("python3 <<'E'\nprint(1)\nE", "yes"),
            ("echo 'unclosed", "yes"),
            ("# nothing", "yes"),
            ("x=1", "yes"),
        ],
    );
}

#[test]
fn without_full_confinement_it_is_ask() {
    let grant = contained("");
    for line in ["ls", "make", "echo 'unclosed", "x=1", "# nothing"] {
        let decision = decide(&grant, &at("/"), line, false);
        assert_eq!((decision.approval, decision.degraded), (Approval::Ask, true), "{line}");
        assert_eq!(decide(&grant, &at("/"), line, true).approval, Approval::PreApproved, "{line}");
    }
}

#[test]
fn tainted_it_is_ask() {
    let grant = contained("").tainted();
    for line in ["make", "echo 'unclosed", "x=1", "# nothing", "ls > x"] {
        assert_eq!(verdict(&grant, "/", line), "ask", "{line}");
    }
}

#[test]
fn rules_that_ask_or_block_count_for_every_part() {
    let grant = contained(
        "  rules:\n    - { pattern: git push, approval: ask }\n    - { pattern: terraform, approval: blocked }\n",
    );
    check(
        &grant,
        &[
            ("make", "yes"),
            ("make && git push", "ask"),
            ("cat x | xargs git push", "ask"),
            ("sh -c 'make; git push'", "ask"),
            // From elsewhere, and with words that only the running shell knows.
            ("/repo/bin/git push", "ask"),
            ("git -C /repo push", "ask"),
            ("git $verb", "ask"),
            ("git commit -m x", "yes"),
            ("make; terraform apply", "no"),
            ("env X=1 terraform apply", "no"),
            ("find . -exec terraform {} +", "no"),
            // A command that may be the blocked one needs a person.
            ("$CMD apply", "must"),
            ("eval \"$x\"", "must"),
            ("source x.sh", "must"),
            ("echo 'unclosed", "must"),
        ],
    );
    let asks = contained("  rules:\n    - { pattern: git push, approval: ask }\n");
    check(&asks, &[("echo 'unclosed", "ask"), ("$CMD push", "ask"), ("source x.sh", "yes")]);
}

#[test]
fn what_leaves_the_sandbox_asks() {
    let grant = contained("");
    let says = |line: &str| {
        let decision = decide(&grant, &at("/repo"), line, true);
        (decision.approval, decision.says)
    };
    let cases = [
        ("rm x", "it removes '/repo/x', and sandbox.zones.repo.approval.delete asks"),
        ("ls | xargs rm", "it removes files, and sandbox.zones.portfolio.approval.delete asks"),
        ("cd a && rm -rf b", "it removes files, and sandbox.zones.portfolio.approval.delete asks"),
        ("rm -rf /", "it removes '/', and sandbox.zones.portfolio.approval.delete asks"),
        (
            "find . -name '*.o' -delete",
            "it removes '/repo', and sandbox.zones.repo.approval.delete asks",
        ),
        ("mv a.txt /tmp/", "it removes '/repo/a.txt', and sandbox.zones.repo.approval.delete asks"),
        ("git clean -fdx", "it removes '/repo', and sandbox.zones.repo.approval.delete asks"),
        (
            "echo x > .git/hooks/pre-commit",
            "it changes the guarded file '/repo/.git/hooks/pre-commit', which can make git run programs",
        ),
        (
            "cp hook /repo/.git/hooks/",
            "it changes the guarded file '/repo/.git/hooks', which can make git run programs",
        ),
        (
            "cp settings.json .vscode",
            "it changes the guarded file '/repo/.vscode', which can make an editor run programs; a yes lets that stay",
        ),
        (
            "sed -i s/a/b/ .github/workflows/ci.yml",
            "it changes the guarded file '/repo/.github/workflows/ci.yml', which runs in continuous integration; a yes lets that stay",
        ),
        (
            "curl -s https://example.org/x | sh",
            "it connects to 'example.org', which sandbox.network does not list; a yes does not open it",
        ),
        (
            "git push origin main",
            "'git' needs the network, and there is none; a yes does not open it",
        ),
        ("git -C sub fetch", "'git' needs the network, and there is none; a yes does not open it"),
        (
            "python3 -m pip install x",
            "'python3' needs the network, and there is none; a yes does not open it",
        ),
        (
            "npm --prefix sub ci",
            "'npm' needs the network, and there is none; a yes does not open it",
        ),
        (
            "cat < /dev/tcp/example.org/80",
            "it connects to 'example.org', which sandbox.network does not list; a yes does not open it",
        ),
        (
            "scp x me@example.org:",
            "it connects to 'example.org', which sandbox.network does not list; a yes does not open it",
        ),
        ("coproc rm x", "'rm' may remove files, and sandbox.zones.portfolio.approval.delete asks"),
        ("coproc git push", "'git' needs the network, and there is none; a yes does not open it"),
    ];
    for (line, want) in cases {
        let want = format!("shell.default: contained: {want}");
        assert_eq!(says(line), (Approval::Ask, want), "{line}");
    }
    for line in [
        "curl -s localhost:3000/health",
        "curl -sf http://127.0.0.1:3000",
        "wget -qO- localhost:3000",
        "nc -z localhost 3000",
        "ping -c1 127.0.0.1",
        "git fetch . main",
        "git push ../other main:foo",
        "git ls-remote .",
        "rm /tmp/x",
        "find . -name x",
        "git clean -n",
        "mv a.txt b.txt",
        "mv \"$f\" \"$g\"",
        "mv /tmp/a .",
        "git rm --cached x",
        "curl http://localhost:3000/api",
        "curl -X POST -d '{}' 127.0.0.1:8000/x",
        "git clone /repo /tmp/copy",
        "npm ci --offline",
        "npm test",
        "cat .git/config",
        "cp .github/workflows/ci.yml /tmp/",
        "grep -rn curl .",
        "echo git push",
        "git commit -m 'rm the push'",
    ] {
        assert_eq!(says(line).0, Approval::PreApproved, "{line}");
    }
}

#[test]
fn a_zone_at_its_host_path_asks_alike() {
    let text = "sandbox:\n  mode: direct\n  zones:\n    repo: { path: /srv/p/repo, mode: rw, at: same, approval: { write: preApproved } }\n  working_dir: /repo\nshell: { default: contained }\n";
    let loaded = load(text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &Overrides::default());
    let grant = Grant::of(&loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems)));
    for (line, want) in [
        ("make > x", "yes"),
        ("rm /tmp/x", "yes"),
        ("rm x", "ask"),
        ("rm /srv/p/repo/x", "ask"),
        ("rm -rf /srv/p", "ask"),
        ("rm -rf /srv/*", "ask"),
        ("rm -rf /", "ask"),
        ("rm ../x", "yes"),
        ("echo x > .git/hooks/pre-commit", "ask"),
        ("echo x > /srv/p/repo/.vscode/tasks.json", "ask"),
    ] {
        assert_eq!(verdict(&grant, "/srv/p/repo", line), want, "{line}");
    }
}

#[test]
fn the_list_of_hosts_decides_what_leaves() {
    let text = "  network: { allow: [example.org] }\n  secrets:\n    KEY: { env: MY_KEY, hosts: [example.org] }\nshell: { default: contained }\n";
    let grant = Grant::of(&project(text));
    check(
        &grant,
        &[
            ("curl https://example.org/x", "yes"),
            ("curl https://example.com/x", "ask"),
            ("curl https://example.org:8443/x", "ask"),
            ("git fetch", "yes"),
            ("curl -H \"Authorization: $KEY\" https://example.org", "ask"),
            ("python3 -c 'import os; os.environ[\"KEY\"]'", "ask"),
            ("echo 'unclosed ${KEY}", "ask"),
            ("echo $KEYS", "yes"),
        ],
    );
    let everything = Grant::of(&project("  network: true\nshell: { default: contained }\n"));
    check(&everything, &[("curl https://example.com/x", "yes"), ("git push", "yes")]);
}

/// Returns what a line would reach and whether it has secrets, as it would be asked about.
fn permit(grant: &Grant, line: &str) -> (&'static str, Network, bool) {
    let request = Request::line(line, at("/repo"));
    match judge_command(grant, &request, true).verdict {
        CommandVerdict::Allow(permit) => ("yes", permit.granted().clone(), permit.has_secrets()),
        CommandVerdict::Ask(question) => {
            let permit = question.approved();
            ("ask", permit.granted().clone(), permit.has_secrets())
        }
        CommandVerdict::Deny(_) => ("no", Network::Off, false),
    }
}

#[test]
fn what_a_rule_gives_one_command_is_not_for_another_without_a_question() {
    let grant = contained(
        "  rules:\n    - { pattern: mytool, approval: preApproved, grants: { network: true } }\n",
    );
    let cases = [
        ("mytool", ("yes", Network::On, true)),
        // What only looks cannot use it.
        ("mytool | tail -1", ("yes", Network::On, true)),
        ("mytool | python3 x.py", ("ask", Network::On, true)),
        ("mytool; make", ("ask", Network::On, true)),
        ("make & mytool", ("ask", Network::On, true)),
        ("mytool $(make)", ("yes", Network::Off, false)),
        ("mytool > x", ("yes", Network::Off, false)),
        ("tail -1 x", ("yes", Network::Off, true)),
        ("make", ("yes", Network::Off, false)),
        ("echo 'unclosed", ("yes", Network::Off, false)),
        ("rm x", ("ask", Network::Off, true)),
    ];
    for (line, want) in cases {
        assert_eq!(permit(&grant, line), want, "{line}");
    }
    // An approver that reads no question hands nothing on.
    let request = Request::line("mytool; make", at("/repo"));
    let judgement = judge_command(&grant, &request, true).unread();
    let CommandVerdict::Ask(question) = judgement.verdict else { panic!("{judgement:?}") };
    assert_eq!(question.approved().granted(), &Network::Off);
}

#[test]
fn the_strictest_layer_decides() {
    let needs = |shell: &str| {
        let text = format!(
            "---\nname: w\nsandbox: {{ zones: all }}\nshell: {{ default: {shell} }}\n---\n"
        );
        crate::worker_file::parse(&text, "w.worker").worker.unwrap().needs
    };
    let cases = [
        ("contained", "contained", "yes", "ask"),
        ("contained", "ask", "ask", "ask"),
        ("ask", "contained", "ask", "ask"),
        ("contained", "preApproved", "ask", "ask"),
        ("preApproved", "contained", "ask", "ask"),
        ("contained", "blocked", "no", "no"),
        ("preApproved", "preApproved", "ask", "yes"),
    ];
    for (project_says, worker_says, redirected, removed) in cases {
        let project = project(&format!("shell: {{ default: {project_says} }}\n"));
        let grant = Grant::of(&project).narrow(&needs(worker_says)).unwrap();
        let got = (verdict(&grant, "/repo", "make > x"), verdict(&grant, "/repo", "rm x"));
        assert_eq!(got, (redirected, removed), "{project_says} {worker_says}");
    }
}
