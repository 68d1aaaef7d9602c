//! The rules, sentence by sentence.

use std::path::Path;

use super::*;
use crate::config::{Overrides, load};
use crate::grant::Grant;
use crate::path::AgentPath;
use crate::policy::{Consent, Policy};
use crate::source::Ruled;
use crate::zone::Approval;

/// Returns a project with the zones `portfolio` and `repo`, and these lines.
fn project(lines: &str) -> Policy {
    let text = format!(
        "sandbox:\n  zones:\n    portfolio: {{ path: portfolio, mode: rw }}\n    repo: {{ path: repo, mode: rw }}\n{lines}"
    );
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(&text, "zonekeep.yaml", path, &Overrides::default());
    loaded.policy.unwrap_or_else(|| panic!("{lines}\n{:#?}", loaded.problems))
}

/// Returns a project whose `shell.rules` are these, written `approval pattern`.
fn rules(rules: &[&str]) -> Grant {
    Grant::of(&project(&shell(rules)))
}

fn shell(rules: &[&str]) -> String {
    let mut text = "shell:\n  rules:\n".to_owned();
    for rule in rules {
        let (approval, pattern) = rule.split_once(' ').unwrap();
        let approval = if approval == "yes" { "preApproved" } else { approval };
        text.push_str(&format!(
            "    - {{ pattern: '{}', approval: {approval} }}\n",
            pattern.replace('\'', "''")
        ));
    }
    text
}

fn at(cwd: &str) -> AgentPath {
    AgentPath::absolute(cwd).unwrap()
}

/// Returns the verdict in one word: `yes`, `ask`, `must` (ask a person) or `no`.
fn verdict(grant: &Grant, cwd: &str, line: &str) -> &'static str {
    let decision = decide(grant, &at(cwd), line, true);
    match decision.approval {
        Approval::PreApproved => "yes",
        Approval::Ask if decision.must_ask => "must",
        Approval::Ask => "ask",
        Approval::Blocked => "no",
    }
}

#[track_caller]
fn check(grant: &Grant, cases: &[(&str, &str)]) {
    for (line, want) in cases {
        assert_eq!(verdict(grant, "/", line), *want, "{line}");
    }
}

// What went wrong in earlier systems.

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

// Patterns.

#[test]
fn programs_are_compared_by_name_or_by_path() {
    let grant = rules(&["yes ls", "yes ./scripts/build.sh", "yes /opt/x/tool", "blocked scp"]);
    check(
        &grant,
        &[
            ("ls", "yes"),
            ("/bin/ls", "yes"),
            ("/usr/local/bin/ls -l", "yes"),
            ("./ls", "ask"),
            ("bin/ls", "ask"),
            ("/tmp/ls", "ask"),
            ("/usr/bin/../../tmp/ls", "ask"),
            ("LS", "ask"),
            ("lѕ", "ask"), // Cyrillic
            ("./scripts/build.sh", "yes"),
            ("scripts/build.sh --fast", "yes"),
            ("/scripts/build.sh", "yes"),
            ("build.sh", "ask"),
            ("./scripts/../scripts/build.sh", "yes"),
            ("../scripts/build.sh", "yes"), // `/..` is `/`
            ("cd x && ./scripts/build.sh", "ask"),
            ("/opt/x/tool", "yes"),
            ("/opt/x/../x/tool", "yes"),
            ("tool", "ask"),
            ("./scp a b", "no"),
            ("/tmp/scp a b", "no"),
        ],
    );
    assert_eq!(verdict(&grant, "/repo", "./scripts/build.sh"), "ask", "another program");
    assert_eq!(verdict(&grant, "/repo", "../scripts/build.sh"), "yes");
}

#[test]
fn flags_match_in_any_order_and_spelling() {
    let grant = rules(&[
        "blocked git push --force",
        "blocked tar -x",
        "blocked foo -ab",
        "blocked npm publish",
        "blocked find -delete",
        "blocked curl --upload-file",
        "yes bar -ab",
        "yes bar -c x",
    ]);
    check(
        &grant,
        &[
            ("git push --force", "no"),
            ("git push origin main --force", "no"),
            ("git push -f", "no"),
            ("git push -uf origin x", "no"),
            ("git -C /repo push -f", "no"),
            ("git -c a.b=c push --force", "no"),
            ("git --git-dir=/x push --force", "no"),
            ("git --git-dir /x push --force", "no"),
            ("git push --force=yes", "no"),
            ("git push --for", "no"),
            ("git push -- --force", "ask"),
            ("git push", "ask"),
            ("git -C push status --force", "ask"),
            ("git stash push --force", "ask"),
            ("git --unknown x push --force", "must"),
            ("tar xf a", "no"),
            ("tar -tvf a -x", "no"),
            ("tar --extract -f a", "no"),
            ("tar tf x", "ask"),
            ("tar -f x -t", "ask"),
            ("foo -ba", "no"),
            ("foo -a -b", "no"),
            ("foo -xa -yb", "no"),
            ("foo -a", "ask"),
            ("npm publish", "no"),
            ("npm --prefix /x publish", "no"),
            ("npm --tag beta publish", "must"),
            ("npm --tag=beta publish", "no"),
            ("npm run publish", "ask"),
            ("find . -delete", "no"),
            ("find -dlt", "ask"),
            ("curl -T x y", "no"),
            ("curl -sT x y", "no"),
            ("curl -o -T x", "ask"),
            // What allows is read strictly.
            ("bar -ab", "yes"),
            ("bar -ba", "yes"),
            ("bar -a -b", "yes"),
            ("bar -abv", "yes"),
            ("bar -vab", "ask"),   // -v may take `ab`
            ("bar -x -ab", "ask"), // -x may take `-ab`
            ("bar -c x", "yes"),
            ("bar x -c", "ask"),
            ("bar -d x -c", "ask"),
        ],
    );
}

#[test]
fn operands_match_in_order_and_values_of_options_are_none() {
    let grant = rules(&[
        "yes git push origin",
        "yes npm run build",
        "yes cargo {test,check}",
        "yes kubectl get",
    ]);
    check(
        &grant,
        &[
            ("git push origin", "yes"),
            ("git push origin main", "yes"),
            ("git push -u origin main", "yes"),
            ("git push --repo origin evil", "ask"),
            ("git push -o origin evil", "ask"),
            ("git push evil origin", "ask"),
            ("git push --xyz origin", "yes"), // git push takes no other values
            ("npm run build", "yes"),
            ("npm --silent run build", "yes"),
            ("npm --foo run build", "ask"),
            ("npm run build -- --watch", "yes"),
            ("cargo test", "yes"),
            ("cargo check --all", "yes"),
            ("cargo build", "ask"),
            ("cargo +nightly test", "ask"),
            ("cargo --config x test", "ask"),
            ("kubectl -n a get pods", "yes"),
            ("kubectl -n get delete", "ask"),
        ],
    );
}

#[test]
fn stars_and_alternatives() {
    let grant = rules(&[
        "yes npm run test:* *",
        "yes {head,tail} -n {1,2}*",
        "yes echo a*c",
        "blocked chmod *777*",
        "yes make 'a b'",
    ]);
    check(
        &grant,
        &[
            ("npm run test:unit", "yes"),
            ("npm run test:unit x y", "yes"),
            ("npm run test", "ask"),
            ("head -n 10 f", "yes"),
            ("tail -n2 f", "yes"),
            ("tail --lines=2 f", "yes"),
            ("head -n 30 f", "ask"),
            ("echo abc d", "yes"),
            ("echo ac", "yes"),
            ("echo acd", "ask"),
            ("chmod 0777 x", "no"),
            ("chmod 755 x", "ask"),
            ("chmod -R 777 x", "no"),
            ("make 'a b'", "yes"),
            ("make a b", "ask"),
        ],
    );
    for (text, want) in [
        ("", PatternError::Empty),
        ("  ", PatternError::Empty),
        ("ls 'x", PatternError::Quote),
        ("ls | x", PatternError::Operator('|')),
        ("a; b", PatternError::Operator(';')),
        ("ls >x", PatternError::Operator('>')),
        ("echo $x", PatternError::Expansion('$')),
        ("./a*", PatternError::PathGlob('*')),
        ("x {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", PatternError::Choices),
    ] {
        assert_eq!(Pattern::parse(text), Err(want), "{text}");
    }
    for text in ["ls 'a|b'", "a{b", "a,b", "x {a} {b,c}", "echo '$x'"] {
        assert_eq!(Pattern::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn what_is_not_known_is_never_allowed() {
    let mut grants = vec![rules(&["yes *"])];
    grants.push(Grant::of(&project("shell: { default: preApproved }\n")));
    grants.push(Grant::of(&project("tool_rules: { shell: { approval_required: false } }\n")));
    for grant in grants {
        check(
            &grant,
            &[
                ("mytool a", "yes"),
                ("mytool $x", "ask"),
                ("$x", "ask"),
                ("mytool \"$x\"", "ask"),
                ("mytool $(date)", "ask"),
                ("mytool ~/x", "ask"),
                ("mytool {a,b}", "ask"),
                ("mytool <(ls)", "ask"),
                ("mytool *", "ask"),
                ("mytool *.md", "ask"),
                ("mytool -*", "ask"),
                ("mytool a*", "yes"),
                ("mytool '$x'", "yes"),
                ("mytool() { ls; }; mytool", "ask"),
                ("mytool < $x", "ask"),
                ("mytool < f", "yes"),
                ("mytool a > f", "ask"),
                ("mytool a >> f", "ask"),
                ("mytool a > /dev/null 2>&1", "yes"),
                ("PATH=/x mytool", "ask"),
                ("PATH=/x", "ask"),
                ("LC_ALL=C mytool", "yes"),
                ("LC_ALL=/x mytool", "ask"),
                ("mytool | tee f", "ask"),
                ("eval ls", "ask"),
                ("export A=1", "ask"),
                ("alias ls=rm", "ask"),
                ("source x", "ask"),
                ("mytool < /dev/tcp/a/80", "ask"),
                ("(", "ask"),
            ],
        );
    }
}

#[test]
fn a_pattern_that_names_a_hazard_covers_it() {
    let cases = [
        ("yes sort", "sort -o x f", "ask"),
        ("yes sort -o", "sort -o x f", "yes"),
        ("yes sort -o", "sort --output=x f", "yes"),
        ("yes sort", "sort --outp=x f", "ask"),
        ("yes git log", "git -c core.pager=x log", "ask"),
        ("yes git -c core.pager=cat log", "git -c core.pager=cat log", "yes"),
        ("yes git -c core.pager=cat log", "git -c core.pager=cat -c core.pager=x log", "ask"),
        ("yes git -c core.pager=cat log", "git -c core.pager=x log", "ask"),
        ("yes git -c * log", "git -c a=b log", "yes"),
        ("yes git log", "git log -p", "yes"),
        ("yes git log", "git -p log", "ask"),
        ("yes git diff", "git diff --output=x", "ask"),
        ("yes git diff", "git diff --ext-diff", "ask"),
        ("yes git grep", "git grep -Ovim x", "ask"),
        ("yes python", "python x.py", "yes"),
        ("yes python", "python -c x", "ask"),
        ("yes python -c", "python -c x", "yes"),
        ("yes python", "python", "yes"),
        ("yes tee", "tee x", "yes"),
        ("yes t*", "tee x", "ask"),
        ("yes echo", "echo x > f", "ask"),
        ("yes echo >", "echo x > f", "yes"),
        ("yes echo >", "echo x > $f", "ask"),
        ("yes make", "FOO=1 make", "ask"),
        ("yes FOO=1 make", "FOO=1 make", "yes"),
        ("yes FOO=1 make", "FOO=2 make", "ask"),
        ("yes FOO=* make", "FOO=2 make", "yes"),
        ("yes FOO=1 make", "FOO=1 BAR=2 make", "ask"),
        ("yes FOO=1 make", "make", "ask"),
        ("yes export", "export A", "yes"),
        ("yes rg", "rg --pre x y", "ask"),
        ("yes tar -x", "tar -xf a --to-command=x", "ask"),
        ("yes tar -x", "tar -xf a", "yes"),
        ("yes tar -x", "tar xf a", "yes"),
        ("yes tar -x", "tar xIf x a", "ask"),
        ("yes sed", "sed s/a/b/ f", "yes"),
        ("yes sed", "sed -n 1,5p f", "yes"),
        ("yes sed", "sed -i s/a/b/ f", "ask"),
        ("yes sed", "sed 's/a/b/w x' f", "ask"),
        ("yes sed", "sed -ne 's/a/b/e' f", "ask"),
        ("yes sed -i", "sed -i s/a/b/ f", "yes"),
        ("yes rsync", "rsync -e 'sh -c x' a b", "ask"),
        ("yes make", "make --eval=x", "ask"),
        ("yes make", "make SHELL=x", "ask"),
        ("yes date", "date -s 1", "ask"),
        ("yes date", "date +%s", "yes"),
        ("yes dd", "dd if=a of=b", "ask"),
        ("yes printf", "printf -v PATH x", "ask"),
        ("yes test", "test -v 'a[$(id)]'", "ask"),
    ];
    for (rule, line, want) in cases {
        assert_eq!(verdict(&rules(&[rule]), "/", line), want, "{rule}: {line}");
    }
}

#[test]
fn wrappers_hand_on_what_they_run() {
    let grant =
        rules(&["yes ls", "yes xargs", "yes sudo", "yes sh", "yes bash", "blocked nohup -x"]);
    check(
        &grant,
        &[
            ("env ls", "yes"),
            ("env -i LANG=C ls", "yes"),
            ("env PATH=/x ls", "ask"),
            ("env -u FOO ls", "yes"),
            ("env -S 'ls -l'", "must"),
            ("env -C /x ls", "yes"),
            ("env", "ask"),
            ("timeout 5 ls", "yes"),
            ("timeout -k 1 -s KILL 5s ls -l", "yes"),
            ("timeout --foo 5 ls", "must"),
            ("timeout $x ls", "must"),
            ("timeout 5 cat", "ask"),
            ("nice ls", "yes"),
            ("nice -n 5 ls", "yes"),
            ("nice -5 ls", "yes"),
            ("nohup ls", "yes"),
            ("command ls", "yes"),
            ("command -v ls", "ask"),
            ("stdbuf -oL ls", "yes"),
            ("setsid -w ls", "yes"),
            ("taskset -c 0 ls", "yes"),
            ("./env ls", "ask"),
            ("time ls", "yes"),
            ("env nice timeout 5 ls", "yes"),
            ("timeout 5 ls > f", "ask"),
            ("FOO=1 timeout 5 ls", "ask"),
            ("sudo ls", "yes"),
            ("sudo cat", "ask"),
            ("doas ls", "ask"),
            ("sh -c ls", "yes"),
            ("sh -c 'ls | ls; ls'", "yes"),
            ("sh -c 'ls; cat'", "ask"),
            ("sh -c \"$x\"", "must"),
            ("bash -ec 'ls'", "yes"),
            ("bash -c -e ls", "yes"),
            ("bash -o pipefail -c ls", "yes"),
            ("bash -o pipefail -c cat", "ask"),
            ("bash script.sh", "yes"),
            ("bash --norc script.sh", "yes"),
            ("bash", "must"),
            ("bash -s", "must"),
            ("bash < x", "must"),
            ("xargs ls", "ask"), // what it adds is not known
            ("echo x | xargs -I{} ls {}", "ask"),
            ("xargs -n1 -P 4 ls -l", "ask"),
            ("xargs nohup ls", "must"),
        ],
    );
    let deep = format!("{}ls", "env ".repeat(9));
    assert_eq!(verdict(&grant, "/", &deep), "yes");
    let deeper = format!("{}ls", "env ".repeat(12));
    assert_eq!(verdict(&grant, "/", &deeper), "must", "too deep to follow");
}

// Layers, modes and grants.

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
fn the_network_is_given_to_lines_of_which_every_command_has_it() {
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
        ("git push; echo x", "off"),
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

// Presets.

#[test]
fn commands_that_only_look_need_no_rule() {
    let text =
        "shell:\n  presets: [read_only]\n  rules: [{ pattern: cat /secret, approval: blocked }]\n";
    let grant = Grant::of(&project(text));
    for line in [
        "ls -la /repo",
        "cat a b",
        "head -n 5 f",
        "head -5 f",
        "tail -n +3 f",
        "wc -l f",
        "pwd",
        "echo hi",
        "printf '%s\\n' x",
        "true",
        "test -f x",
        "[ -d x ]",
        "[[ -f x ]]",
        "stat -c %s f",
        "file f",
        "du -sh .",
        "df -h",
        "grep -rn 'a|b' src",
        "grep -e x -- -f",
        "rg -n foo src",
        "rg -t rust foo",
        "diff -u a b",
        "sort -u f",
        "uniq -c f",
        "cut -d: -f1 f",
        "tr a-z A-Z",
        "find . -name '*.rs' -type f",
        "find . -maxdepth 2 -print0",
        "git status",
        "git status -sb",
        "git --no-pager log --oneline -n 5",
        "git log -5 -p f",
        "git diff --stat HEAD~1",
        "git show HEAD:f",
        "git branch -a",
        "git branch --list 'x*'",
        "git rev-parse --show-toplevel",
        "git ls-files -o",
        "git blame -L 1,5 f",
        "git remote -v",
        "git remote get-url origin",
        "git stash list",
        "git tag -l",
        "git config --get user.name",
        "ls | grep x | wc -l",
        "ls && cat f || true; pwd",
        "ls 2>/dev/null",
        "ls > /dev/null 2>&1",
        "cat < f",
        "ls src/*",
        "cd src && ls",
        "cd",
        "if test -f x; then cat x; fi",
        "for f in a b; do cat x; done",
        "LC_ALL=C sort f",
        "timeout 5 ls",
        "date +%s",
        "date -d yesterday",
        "seq 1 5",
        "which ls",
        "type ls",
        "command -v ls",
        "uname -a",
        "whoami",
        "id -u",
        "node --version",
        "jq .a f",
        "xxd f",
        "realpath x",
        "sha256sum f",
        "echo $((1)) | cat",
    ] {
        if line == "echo $((1)) | cat" {
            assert_eq!(verdict(&grant, "/", line), "ask", "{line}");
        } else {
            assert_eq!(verdict(&grant, "/", line), "yes", "{line}");
        }
    }
    for line in [
        "ls > f",
        "cat a >> b",
        "ls --foo",
        "ls *",
        "cat $x",
        "echo ~",
        "sort -o x f",
        "sort --outp=x f",
        "sort -T /x f",
        "uniq a b",
        "find . -exec ls {} +",
        "find . -delete",
        "find . -fprint x",
        "find -- . -delete",
        "rg --pre x y",
        "rg -z x",
        "xxd -r a b",
        "xxd a b",
        "date -s 1",
        "date 0101",
        "git branch x",
        "git branch -D x",
        "git tag v1",
        "git tag -d v1",
        "git remote add a b",
        "git stash",
        "git stash drop",
        "git config user.name x",
        "git config --global user.name x",
        "git -c a=b status",
        "git -C x status",
        "git diff --output=x",
        "git diff --ext-diff",
        "git grep -Ovim x",
        "git log --textconv",
        "git reflog expire",
        "git commit",
        "git push",
        "git fetch",
        "git checkout x",
        "printf -v x y",
        "printf %n x",
        "test -v 'a[$(id)]'",
        "[[ a -eq b ]]",
        "((x=1))",
        "hostname x",
        "tree -o x",
        "file -C",
        "tail -f x",
        "sed -n 1p f",
        "awk 1 f",
        "./ls",
        "/tmp/ls",
        "env",
        "PATH=/x ls",
        "x=1",
        "ls() { id; }; ls",
        "ls & rm x",
        "ls | tee f",
        "ls | sh",
        "cat <(id)",
        "make",
        "node --version -e x",
        "java -version",
        "jq -f x y",
        "cat < $x",
        "ls --col=auto",
    ] {
        let got = verdict(&grant, "/", line);
        assert!(got == "ask" || got == "must", "{line}: {got}");
    }
    check(
        &grant,
        &[("cat /secret", "no"), ("cat \"/secret\" x", "no"), ("ls | cat -n /secret", "no")],
    );
}

// Proposals.

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
