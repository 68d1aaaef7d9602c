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

/// Options that have a program work in another directory, or by another project's
/// rules, in every spelling that its reader takes.
#[test]
fn a_rule_for_a_program_does_not_cover_another_directory() {
    for (pattern, lines) in [
        (
            "make test",
            &[
                "make -C vendor/x test",
                "make -Cvendor/x test",
                "make test -C vendor/x",
                "make -kC vendor/x test",
                "make --directory=vendor/x test",
                "make --directory vendor/x test",
                "make --dir=vendor/x test",
                "make -f vendor/x/Makefile test",
                "make --file=vendor/x/Makefile test",
                "make --makefile vendor/x/Makefile test",
                "make -I vendor/x test",
                "gmake test -C vendor/x",
                "env -C vendor/x make test",
                "env --chdir=vendor/x make test",
                "nice env -C vendor/x make test",
                "timeout 5 make -C vendor/x test",
                "MAKEFLAGS=-Cvendor/x make test",
            ][..],
        ),
        ("ninja check", &["ninja -C vendor/x check", "ninja -Cvendor/x check", "ninja -f x check"]),
        ("cmake", &["cmake -S vendor/x", "cmake -Svendor/x", "cmake -B out", "cmake --build out"]),
        ("cmake", &["cmake --install out", "cmake --build=out", "cmake -Hvendor/x"]),
        ("ctest", &["ctest --test-dir out", "ctest --test-dir=out", "ctest -S x"]),
        ("meson test", &["meson test -C out", "meson -C out test"]),
        (
            "git commit",
            &[
                "git -C vendor/x commit",
                "git --git-dir=vendor/x/.git commit",
                "git --git-dir vendor/x/.git commit",
                "git --work-tree=vendor/x commit",
                "git --work-tree vendor/x commit",
                "git --bare commit",
                "git --no-pager -C vendor/x commit",
                "env -C vendor/x git commit",
                "GIT_DIR=vendor/x/.git git commit",
            ],
        ),
        ("hg commit", &["hg -R x commit", "hg --repository=x commit", "hg commit --cwd x"]),
        ("jj commit", &["jj -R x commit", "jj commit --repository x"]),
        ("gh pr create", &["gh pr create -R other/x", "gh --repo=other/x pr create"]),
        (
            "npm run build",
            &[
                "npm --prefix vendor/x run build",
                "npm run build --prefix vendor/x",
                "npm run build --prefix=vendor/x",
                "npm run --pref=vendor/x build",
                "npm -C vendor/x run build",
                "npm -w x run build",
                "npm run build --workspace=x",
                "npm run build --workspaces",
                "npm run build -ws",
                "npm_config_prefix=x npm run build",
            ],
        ),
        ("npm test", &["npm --prefix vendor/x test", "npm test -C vendor/x"]),
        ("pnpm run build", &["pnpm -C x run build", "pnpm --dir x run build", "pnpm -r run build"]),
        ("pnpm run build", &["pnpm --filter x run build", "pnpm -F x run build"]),
        ("pnpm run build", &["pnpm -w run build", "pnpm --dir=x run build"]),
        ("yarn build", &["yarn --cwd x build", "yarn --cwd=x build", "yarn build --cwd x"]),
        ("bun run build", &["bun --cwd x run build", "bun run --cwd=x build"]),
        ("bun run build", &["bun run --filter x build"]),
        ("deno test", &["deno test --config x/deno.json", "deno test -c x/deno.json"]),
        (
            "cargo test",
            &[
                "cargo -C vendor/x test",
                "cargo test --manifest-path vendor/x/Cargo.toml",
                "cargo test --manifest-path=vendor/x/Cargo.toml",
                "cargo test --manifest=vendor/x/Cargo.toml",
                "cargo --config vendor/x test",
                "cargo test --target-dir vendor/x",
            ],
        ),
        ("go test", &["go -C vendor/x test", "go test -C vendor/x", "go test -C=vendor/x"]),
        ("gradle test", &["gradle -p x test", "gradle --project-dir=x test", "gradle test -b x"]),
        ("./gradlew test", &["./gradlew -p x test", "./gradlew test --project-dir x"]),
        ("mvn test", &["mvn -f x test", "mvn test --file=x/pom.xml", "mvn test -fx/pom.xml"]),
        ("just test", &["just -f x test", "just --justfile x -d y test", "just -d x test"]),
        ("just test", &["just --working-directory=x test"]),
        ("just", &["just vendor/x/test", "just ../test"]),
        ("task test", &["task -d x test", "task --dir=x test", "task -t x test"]),
        ("rake test", &["rake -f x test", "rake test --rakefile=x"]),
        ("tox", &["tox -c x", "tox --root x", "tox --conf=x"]),
        ("uv lock", &["uv --directory x lock", "uv lock --project=x", "uv lock --proj x"]),
        ("poetry lock", &["poetry -C x lock", "poetry lock --directory=x", "poetry lock -P x"]),
        ("composer show", &["composer -d x show", "composer show --working-dir=x"]),
        ("bundle check", &["bundle check --gemfile=x", "bundle check --gemfile x"]),
        ("dotnet test", &["dotnet test --project x", "dotnet test --project=x"]),
        ("terraform plan", &["terraform -chdir=x plan", "terraform --chdir=x plan"]),
        ("pytest", &["pytest --rootdir x", "pytest --rootdir=x", "pytest -c x", "pytest -cx"]),
        ("pytest", &["pytest --config-file=x"]),
        ("ruby", &["ruby -C x y.rb"]),
        ("tar -x", &["tar -xf a -C x", "tar xf a --directory=x", "tar -xfa -Cx"]),
        ("sudo", &["sudo -D x make", "sudo --chdir=x make"]),
        ("tsc", &["tsc -p x", "tsc --project x", "tsc -b x"]),
        ("swift build", &["swift build --package-path x"]),
    ] {
        for line in lines {
            assert_eq!(approval(&[(pattern, "preApproved")], line), Approval::Ask, "{line}");
        }
    }
}

#[test]
fn a_rule_that_names_the_directory_covers_it() {
    for (pattern, line) in [
        ("make -C vendor/x test", "make -C vendor/x test"),
        ("make -C vendor/x test", "make --directory=vendor/x test"),
        ("make -C vendor/x test", "make test -Cvendor/x"),
        ("make -C * test", "make -C vendor/x test"),
        ("git -C sub commit", "git -C sub commit -m x"),
        ("npm --prefix web run build", "npm --prefix=web run build"),
        ("npm --prefix web run build", "npm -C web run build"),
        ("cargo test --manifest-path x/Cargo.toml", "cargo test --manifest-path=x/Cargo.toml -q"),
        ("cmake --build build", "cmake --build build"),
        ("cmake -B build", "cmake -B build"),
        ("env", "env"),
        ("go -C x test", "go -C x test ./..."),
        ("yarn --cwd web build", "yarn --cwd web build"),
        ("git commit", "git commit -C HEAD"),
    ] {
        let got = approval(&[(pattern, "preApproved")], line);
        assert_eq!(got, Approval::PreApproved, "{pattern}: {line}");
    }
    for (pattern, line) in [
        ("make -C vendor/x test", "make test"),
        ("make -C vendor/x test", "make -C vendor/y test"),
        ("make -C vendor/x test", "make -C vendor/x -C ../y test"),
        ("make -C sub test", "make -C sub -C sub test"),
        ("git -C sub commit", "git -C sub -C .. commit"),
        ("git -C sub commit", "git -C sub --git-dir=x commit"),
        ("cmake --build build", "cmake --build build --build vendor/x"),
    ] {
        let got = approval(&[(pattern, "preApproved")], line);
        assert_eq!(got, Approval::Ask, "{pattern}: {line}");
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
