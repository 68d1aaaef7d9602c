//! What a rule for a program does not cover, because the program does more than
//! its name says: a rule that names the program, and lines with what it does.

use std::path::Path;

use zonekeep_policy::config::{Overrides, load};
use zonekeep_policy::shell::decide;
use zonekeep_policy::zone::Approval;
use zonekeep_policy::{AgentPath, Grant};

fn approval(rules: &[(&str, &str)], line: &str) -> Approval {
    let rules: String = rules
        .iter()
        .map(|(pattern, approval)| {
            format!("    - {{ pattern: '{pattern}', approval: {approval} }}\n")
        })
        .collect();
    let text = format!("shell:\n  rules:\n{rules}");
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(&text, "zonekeep.yaml", path, &Overrides::default());
    let grant = Grant::of(&loaded.policy.expect("no problems"));
    let cwd = AgentPath::absolute("/").expect("a path");
    decide(&grant, &cwd, line, true).approval
}

#[test]
fn a_rule_for_a_program_does_not_cover_all_that_it_can_do() {
    for (pattern, lines) in [
        ("go test", &["go test --exec=./x ./...", "go test -exec ./x ./...", "go test -o x"][..]),
        ("go", &["go -C x run y", "go run y", "go generate"]),
        ("npm", &["npm --foo bar exec x", "npm exec x", "npm docs --browser=x"]),
        ("sqlite3", &["sqlite3 a '.sh id'", "sqlite3 a '.sys id'", "sqlite3 -init x a '.tables'"]),
        ("curl", &["curl -w '%output{x}' u", "curl --unix-socket /x u", "curl -H @x u"]),
        (
            "curl",
            &["curl --connect-to a:1:b:2 u", "curl -x p u", "curl --outp x u", "curl -sSox u"],
        ),
        (
            "wget",
            &["wget --use-askpass=x u", "wget -O x u", "wget -e x=y u", "wget --post-file x u"],
        ),
        ("python3.11", &["python3.11 -c x", "python3.11 -m http.server", "python3.11 -ic x"]),
        ("gcc-12", &["gcc-12 -ox y.c", "gcc-12 -B./ y.c", "gcc-12 -fplugin=./x.so y.c"]),
        ("gcc", &["gcc @x", "gcc -wrapper sh,-c x.c", "gcc --specs=x y.c"]),
        ("cmake", &["cmake -P x", "cmake -E rm x", "cmake -DCMAKE_C_COMPILER_LAUNCHER=x ."]),
        ("tar", &["tar cf host:a x", "tar xf a --one-top-level --to-command=sh", "tar xfI a sh"]),
        ("rsync", &["rsync a host:b", "rsync --delete a b", "rsync -ae sh a b", "rsync -e x a b"]),
        ("ssh", &["ssh -J a b", "ssh -oProxyCommand=x b", "ssh -A b"]),
        ("vim", &["vim -c :q f", "vim +:q f", "vim --cmd x f", "vim -S x"]),
        ("less", &["less +!id f", "less -ox f"]),
        ("split", &["split --filter=sh f", "split --filt=sh f"]),
        ("shuf", &["shuf -o x f", "shuf -eox a"]),
        ("diff", &["diff -l a b", "diff --pagin a b"]),
        ("uniq", &["uniq a b", "uniq x*"]),
        (
            "git",
            &["git for-each-repo --config=x y", "git cat-file --filters x", "git merge -s x y"],
        ),
        ("git fetch", &["git fetch ext::sh", "git fetch --upload-pack=x o", "git fetch --upl x o"]),
        ("kubectl", &["kubectl --kubeconfig x get pods", "kubectl --chunk-size 5 exec p -- ls"]),
        ("docker", &["docker rm x", "docker run x", "docker --foo bar run x"]),
        ("cargo", &["cargo r", "cargo +nightly test", "cargo --config x test", "cargo rustc"]),
        ("uv", &["uv run x", "uv --project x run y", "uv pip install x"]),
        ("pip", &["pip --python x list", "pip install x", "pip --log x list"]),
        ("terraform plan", &["terraform plan -out x", "terraform plan --out=x"]),
        ("apt-get", &["apt-get -o APT::Update::Pre-Invoke::=x update", "apt-get install x"]),
        ("gpg", &["gpg -o x -d y", "gpg --photo-viewer x y", "gpg --import x"]),
        ("pytest", &["pytest --basetemp=x", "pytest -p x", "pytest -o x=y"]),
        ("eslint", &["eslint -c x y", "eslint --plugin x y", "eslint --fix y"]),
        ("java", &["java -javaagent:x.jar y", "java @x", "java -XX:OnError=x y"]),
        ("dc", &["dc -e !id"]),
        ("fzf", &["fzf --preview x", "fzf --bind x"]),
        ("bat", &["bat --pager x f"]),
        ("crontab", &["crontab x", "crontab -r"]),
        ("install", &["install -s --strip-program=x a b"]),
        ("mawk", &["mawk -We x", "mawk -W exec x"]),
        ("git", &["git merge-index ./x -a", "git cherry-pick --strategy=x y", "git bugreport"]),
        ("rustc", &["rustc -C linker=./x y.rs", "rustc -Clinker=./x y.rs", "rustc y.rs -o z"]),
        ("prove", &["prove --exec ./x y", "prove -e ./x y"]),
        ("npm", &["npm c set x y"]),
        ("javac", &["javac -J-javaagent:x A.java", "javac -processorpath x A.java"]),
        ("java", &["java -Xrunx A", "java -XX:VMOptionsFile=x A"]),
        ("clang", &["clang --ld-path=./x a.c", "clang -fpass-plugin=./x.so a.c"]),
        ("pandoc", &["pandoc --filter ./x a.md", "pandoc -L x.lua a.md"]),
        ("pdflatex", &["pdflatex -shell-escape a.tex", "pdflatex --shell-escape a.tex"]),
        ("exiftool", &["exiftool -config x a.jpg", "exiftool -if x a.jpg"]),
        ("jest", &["jest --testRunner ./x", "jest --globalTeardown=./x"]),
        ("cargo", &["cargo doc --open", "cargo clippy --fix"]),
        // What is taken from the environment changes what a command does too.
        ("git status", &["env -i git status", "env - git status", "env -u X git status"]),
        ("git status", &["env --unset=GIT_CONFIG_COUNT git status", "env -vu X git status"]),
        ("git status", &["env -uX git status", "env --ignore-environment git status"]),
        ("git status", &["nice env -i timeout 5 git status", "env -iC . git status"]),
        ("exec", &["exec -c ls"]),
    ] {
        for line in lines {
            assert_eq!(approval(&[(pattern, "preApproved")], line), Approval::Ask, "{line}");
        }
    }
}

#[test]
fn a_rule_for_a_program_covers_what_it_is_for() {
    for (pattern, line) in [
        ("go test", "go test ./... -run X -v"),
        ("go test -exec", "go test --exec=./x ./..."),
        ("npm", "npm run build"),
        ("sqlite3", "sqlite3 a 'select 1'"),
        ("sqlite3", "sqlite3 a .schema"),
        ("curl", "curl -sS https://example.org"),
        ("gcc -o", "gcc -o x -O2 y.c"),
        ("uv run pytest", "uv run pytest -q"),
        ("npx eslint", "npx eslint src"),
        ("docker exec web", "docker exec web ls -l"),
        ("cargo test", "cargo test --workspace -- --nocapture"),
        ("terraform plan", "terraform plan -var x=y"),
        ("pytest", "pytest -q tests/test_a.py"),
        ("rsync", "rsync -av a b"),
        ("python3.11", "python3.11 x.py"),
        ("git merge", "git merge main"),
        ("git status", "env LC_ALL=C git status"),
        ("git status", "env -v git status"),
        ("rustc", "rustc --edition 2024 --crate-type lib y.rs"),
        ("javac", "javac -d out A.java"),
        ("pandoc", "pandoc a.md"),
    ] {
        let got = approval(&[(pattern, "preApproved")], line);
        assert_eq!(got, Approval::PreApproved, "{pattern}: {line}");
    }
}

#[test]
fn options_with_values_do_not_hide_what_a_rule_blocks() {
    for (pattern, line) in [
        ("git push origin main", "git push --recurse-submodules check origin main"),
        ("cp /a", "cp --no-preserve mode /a b"),
        ("cp /a", "cp --sparse always /a b"),
        ("diff /a", "diff -L x /a b"),
        ("diff /a", "diff --line-format x /a b"),
        ("tar -x /a", "tar -xf b --quoting-style c /a"),
        ("scp a", "scp -B a b"),
        ("terraform apply -auto-approve", "terraform apply --auto-approve"),
        ("terraform apply -auto-approve", "terraform apply -var x=y --auto-approve=true"),
        ("rm -rf", "nice -n 5 uv run env rm -rf x"),
        ("rm -rf", "ip netns exec x rm -rf y"),
    ] {
        assert_eq!(approval(&[(pattern, "blocked")], line), Approval::Blocked, "{pattern}: {line}");
    }
}
