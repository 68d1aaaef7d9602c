//! Patterns.

use super::*;

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
            ("env -i LANG=C ls", "ask"),
            ("env PATH=/x ls", "ask"),
            ("env -u FOO ls", "ask"),
            ("env -S 'ls -l'", "must"),
            ("env -C /x ls", "ask"),
            ("env -vC/x ls", "ask"),
            ("env --chdir=/x ls", "ask"),
            ("nice env --chdir /x ls", "ask"),
            ("sudo -D /x ls", "ask"),
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
