//! Presets.

use super::*;

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
        "sed -n 1,20p f",
        "sed -n '/a/,/b/p' f | head -5",
        "sed -e s/a/b/ -e 1d f",
        "grep -rn x --include=*.py",
        "awk '{print $1}' f",
        "awk -F , '{print $2}' f",
        "awk 1 f",
        "echo $?",
        "echo \"exit: $?\"",
        "echo \"${x}y\"",
        "for f in a b; do echo \"$f\"; done",
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
        "git log --format=%G?",
        "git log --format='%-G?'",
        "git log --format='% GS'",
        "git log --format='%+GK'",
        "git for-each-ref --sort=signature",
        "git for-each-ref --sort=-signature:grade",
        "git for-each-ref --format='%(*signature)'",
        "env -i git status",
        "env -u GIT_CONFIG_COUNT git status",
        "pip --version",
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
        "sed -n '1w x' f",
        "sed 1e f",
        "sed -ne 'w x' f",
        "sed -ne'w x' f",
        "sed -nE 's/a/b/w x' f",
        "sed --expr='w x' f",
        "awk -F, -v 'x=1' '{ print | x }' f",
        "awk -F , -- 'BEGIN { system(x) }'",
        "sed -i s/a/b/ f",
        "sed -f x f",
        "sed -n \"$x\" f",
        "sed --posix=x 1p f",
        "sed -n 1,*p f",
        "sed -n -e p -e 'w x' f",
        "awk 'BEGIN { system(\"id\") }'",
        "awk '{ print > \"x\" }' f",
        "awk '{ print | \"sh\" }' f",
        "awk '{ \"id\" | getline }' f",
        "awk -f x f",
        "awk -F , \"$x\" f",
        "awk -i inplace 1 f",
        "grep -rn x --foo=*.py",
        "sort --output=*.py f",
        "cat \"$(id)\"",
        "echo \"${x@P}\"",
        "echo \"${x:y}\"",
        "echo \"${!x}\"",
        "echo \"$((x))\"",
        "sort \"$x\"",
        "wc -l \"$x\"",
        "find . \"$x\"",
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

fn presets(names: &str) -> Grant {
    Grant::of(&project(&format!("shell:\n  presets: [{names}]\n")))
}

#[test]
fn presets_for_work_cover_it_and_ask_about_what_leaves_the_sandbox() {
    let all = presets("read_only, build, test, edit, git_local");
    let cases: &[(&str, &[&str])] = &[
        (
            "build",
            &[
                "make -j4",
                "cargo build --release",
                "npm run build",
                "go build ./...",
                "./x.sh",
                "gcc -o a a.c",
            ],
        ),
        (
            "test",
            &[
                "pytest -q",
                "cargo test x",
                "npm test",
                "A=1 pytest",
                "python3 -m pytest",
                "npx jest",
            ],
        ),
        ("edit", &["cp a b", "mkdir -p x", "sed -i s/a/b/ f", "touch \"$f\"", "tee f", "black ."]),
        ("git_local", &["git add -A", "git commit -m x", "git -C x status", "git checkout -b x"]),
    ];
    for (preset, lines) in cases {
        let one = presets(preset);
        let others: Vec<&str> =
            cases.iter().map(|(name, _)| *name).filter(|name| name != preset).collect();
        let others = presets(&format!("read_only, {}", others.join(", ")));
        for line in *lines {
            assert_eq!(verdict(&one, "/repo", line), "yes", "{preset}: {line}");
            assert_eq!(verdict(&all, "/repo", line), "yes", "{line}");
            assert_eq!(verdict(&others, "/repo", line), "ask", "without {preset}: {line}");
        }
    }
    let asks = [
        // Beyond the sandbox.
        "rm x",
        "git push",
        "git clean -fd",
        "cargo publish",
        "npm install",
        "npm publish",
        "cp x .git/hooks/pre-commit",
        "echo x > .vscode/settings.json",
        "make > .git/hooks/pre-commit",
        "find . -exec rm {} +",
        "ls | xargs rm",
        // Code that nobody keeps in a file.
        "python3 -c 'print(1)'",
        "python3 -m pip install x",
        "node -e 1",
        "bash -c \"$x\"",
        "bash -s < x",
        "eval \"$x\"",
        "curl http://localhost",
        // What runs later commands.
        "PATH=/repo:$PATH; ls",
        "export PATH=/repo:$PATH",
        "export LD_PRELOAD=x",
        "source x.sh",
        "git -c core.pager=x log",
        "git commit --template=x",
        "git rebase -i HEAD~2",
        "git config core.hooksPath x",
        "sed -i 1e f",
        "sed -i \"$x\" f",
        "cp $x y",
        "$x test",
        "pytest() { id; }; pytest",
        "docker run x",
        "sudo make",
    ];
    for line in asks {
        assert_eq!(verdict(&all, "/repo", line), "ask", "{line}");
    }
    // A preset takes nothing away from the default.
    let open = Grant::of(&project("shell: { presets: [edit], default: preApproved }\n"));
    assert_eq!(verdict(&open, "/repo", "rm x"), "yes");
    // Rules come first, and count where only the running shell knows the words.
    let ruled = Grant::of(&project(
        "shell:\n  presets: [build]\n  rules:\n    - { pattern: make deploy, approval: ask }\n    - { pattern: make drop, approval: blocked }\n",
    ));
    check(
        &ruled,
        &[("make all", "yes"), ("make deploy", "ask"), ("make drop", "no"), ("make $x", "must")],
    );
}
