//! `zonekeep run` with the programs that people use: in an ordinary directory,
//! with toolchains wherever the user has them.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::Command;

use zonekeep_testkit::{Project, Run, program, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Runs a shell script in the sandbox with the project at its own path, by a
/// caller who has the home directory that toolchains were installed in.
fn sh(project: &Project, script: &str) -> Run {
    let mut command = project.command();
    if let Some(home) = std::env::home_dir() {
        command.env("HOME", home);
    }
    project.finish(command.args(["run", "--rw", ".", "--", "sh", "-ec", script]))
}

/// Whether a program runs here at all.
fn is_there(name: &str, arguments: &[&str]) -> bool {
    let runs = program(name).is_some()
        && Command::new(name).args(arguments).output().is_ok_and(|output| output.status.success());
    if !runs {
        skip(&format!("{name} is not there"));
    }
    runs
}

const GIT: &str = "git config --global user.name a; git config --global user.email a@b; \
                   git config --global init.defaultBranch main; \
                   git config --global protocol.file.allow always;";

#[test]
fn git_works_in_a_new_repository() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("git", &["--version"]) {
        return;
    }
    let project = Project::new(PROGRAM).file("a.txt", "a\n").dir("lib");
    let run = sh(
        &project,
        &format!(
            "{GIT} git init -q; git add a.txt; git commit -qm first; git status --short; \
             git log --oneline | wc -l; git branch other; git worktree add -q tree other; \
             cat tree/a.txt; git worktree remove tree; git checkout -q other; git stash list"
        ),
    );
    assert_eq!(run.exit, 0, "{run}");
    assert_eq!(run.stdout.trim(), "1\na", "{run}");
    assert!(project.exists(".git/refs/heads/other"));
}

/// Git starts its maintenance in the background, where it would be killed with the command.
#[test]
fn git_finishes_its_maintenance_before_the_command_ends() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("git", &["--version"]) {
        return;
    }
    let project = Project::new(PROGRAM).file("a.txt", "a\n");
    let run = sh(
        &project,
        &format!(
            "{GIT} git init -q; git add a.txt; git commit -qm first
             git config --get maintenance.autoDetach; git config --get gc.autoDetach
             for i in 1 2 3; do echo $i > a.txt; GIT_TRACE=2 git commit -qam $i; done"
        ),
    );
    assert_eq!(run.ok(), "false\nfalse", "{run}");
    assert!(run.stderr.contains("maintenance run"), "it is started: {run}");
    assert!(!run.stderr.contains(" --detach") && !run.stderr.contains("left running"), "{run}");
}

#[test]
fn a_repositorys_own_author_wins_over_the_users() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("git", &["--version"]) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".gitconfig"), "[user]\nname = Home\nemail = h@x\n").unwrap();
    let project = Project::new(PROGRAM);
    let who = |script: &str| {
        let mut command = project.command();
        command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
        let run = project.finish(command.args(["run", "--rw", ".", "--", "sh", "-ec", script]));
        run.ok().trim().to_owned()
    };
    let log = "git commit -q --allow-empty -m x; git log -1 --format='%an %ae'";
    assert_eq!(who(&format!("git init -q .; {log}")), "Home h@x");
    let config = project.path(".git/config");
    let own = format!("{}[user]\nname = Own\n", std::fs::read_to_string(&config).unwrap());
    std::fs::write(&config, own).unwrap();
    assert_eq!(who(log), "Own h@x");
    assert_eq!(who(&format!("git config --global user.email g@x; {log}")), "Own g@x");
}

#[test]
fn git_goes_on_in_a_repository_of_the_user() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("git", &["--version"]) {
        return;
    }
    let project = Project::new(PROGRAM).file("a.txt", "a\n");
    let host = |script: &str| {
        let mut command = Command::new("sh");
        project.prepare(command.args(["-ec", script]));
        let run = project.finish(&mut command);
        assert_eq!(run.exit, 0, "{run}");
    };
    host(
        "git init -q; git config user.name a; git config user.email a@b; git add .; git commit -qm 1",
    );
    let run = sh(
        &project,
        "echo b > b.txt; git add b.txt; git commit -qm second; git tag v1; \
         git checkout -qb topic; echo c >> a.txt; git commit -qam third; git checkout -q -; \
         git merge -q topic; git rebase -q HEAD~1; git gc -q; git log --oneline | wc -l",
    );
    assert_eq!(run.ok().trim(), "3", "{run}");
    host("git fsck --strict; git status --short; test -z \"$(git status --short)\"");
}

#[test]
fn git_submodules_can_be_added() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("git", &["--version"]) {
        return;
    }
    let project = Project::new(PROGRAM).dir("lib").dir("main");
    let run = sh(
        &project,
        &format!("{GIT} cd lib; git init -q; echo l > l.txt; git add .; git commit -qm lib"),
    );
    assert_eq!(run.exit, 0, "{run}");
    let run = sh(
        &project,
        &format!(
            "{GIT} cd main; git init -q; git submodule --quiet add ../lib dep; \
             git commit -qm main; cat dep/l.txt; git submodule status | wc -l"
        ),
    );
    assert_eq!(run.exit, 0, "{run}");
    assert_eq!(run.stdout.trim(), "l\n1", "{run}");
}

#[test]
fn cargo_builds_and_tests() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("cargo", &["--version"]) {
        return;
    }
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let code = "pub fn two() -> u32 { 2 }\n#[test]\nfn is_two() { assert_eq!(two(), 2); }\n";
    let project = Project::new(PROGRAM)
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", code)
        .file("src/main.rs", "fn main() { println!(\"{}\", tiny::two()); }\n");
    let run =
        sh(&project, "cargo build --offline -q; cargo test --offline 2>&1; target/debug/tiny");
    assert_eq!(run.exit, 0, "{run}");
    assert!(run.stdout.contains("1 passed") && run.ok().ends_with('2'), "{run}");
}

#[test]
fn python_runs() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("python3", &["--version"]) {
        return;
    }
    let code = "import json, os, sqlite3, subprocess, tempfile, threading\n\
                import multiprocessing\n\
                def f(x): return x * x\n\
                if __name__ == '__main__':\n\
                \x20   with multiprocessing.Pool(2) as pool:\n\
                \x20       print(pool.map(f, [1, 2, 3]))\n\
                \x20   print(subprocess.check_output(['echo', 'child'], text=True).strip())\n\
                \x20   tempfile.mkstemp()\n";
    let project = Project::new(PROGRAM).file("a.py", code);
    let run = sh(&project, "python3 a.py");
    assert_eq!(run.ok(), "[1, 4, 9]\nchild", "{run}");
}

#[test]
fn node_runs() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("node", &["--version"]) {
        return;
    }
    let code = "const fs = require('fs'); fs.writeFileSync('out.txt', 'x');\n\
                const { execFileSync } = require('child_process');\n\
                console.log(execFileSync('echo', ['child']).toString().trim());\n\
                require('http').createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', \
                function () { require('http').get({ port: this.address().port, host: '127.0.0.1' }, \
                r => { r.on('data', d => { console.log(String(d)); process.exit(0); }); }); });\n";
    let project = Project::new(PROGRAM).file("a.js", code);
    let run = sh(&project, "node a.js");
    assert_eq!(run.ok(), "child\nserved", "{run}");
}

#[test]
fn a_compiler_runs() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("gcc", &["--version"]) {
        return;
    }
    let code = "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n";
    let project = Project::new(PROGRAM).file("a.c", code);
    let run = sh(&project, "gcc -O1 -o a a.c; ./a");
    assert_eq!(run.ok(), "compiled", "{run}");
}

/// Sanitizers reserve terabytes of address space, which is no memory.
#[test]
fn sanitizers_run() {
    if !zonekeep_testkit::enforced(PROGRAM) || !is_there("cc", &["--version"]) {
        return;
    }
    let code = "#include <stdlib.h>\nint main(int n, char **a) { char *p = malloc(8); p[n * 7] = 1; \
                char c = p[n * 7]; free(p); return c == 1 ? 0 : 9; }\n";
    let project = Project::new(PROGRAM).file("a.c", code);
    for sanitizer in ["address", "thread", "undefined"] {
        let build = format!("cc -g -fsanitize={sanitizer} a.c -o a");
        // Leaks are looked for by tracing, which `--debug` allows.
        let run = sh(&project, &format!("{build} && ASAN_OPTIONS=detect_leaks=0 ./a"));
        assert_eq!(run.exit, 0, "{sanitizer}: {run}");
        let finds = sh(&project, "ASAN_OPTIONS=detect_leaks=0 ./a 2 3");
        let expected = if sanitizer == "address" { "heap-buffer-overflow" } else { "" };
        assert!(finds.stderr.contains(expected), "{sanitizer}: {finds}");
    }
    let build = ["run", "--debug", "--rw", ".", "--", "sh", "-c"];
    let leaks = "cc -g -fsanitize=address a.c -o a && ./a";
    let run = project.zonekeep(build.iter().chain(&[leaks]));
    assert_eq!(run.exit, 0, "{run}");
}

#[test]
fn java_runs() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !is_there("java", &["-version"]) {
        return;
    }
    let run = sh(&Project::new(PROGRAM), "java -version 2>&1 | head -n 1");
    assert!(run.ok().contains("version"), "{run}");
}

#[test]
fn go_builds() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    if !is_there("go", &["version"]) {
        return;
    }
    let code = "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"built\") }\n";
    let project =
        Project::new(PROGRAM).file("go.mod", "module tiny\n\ngo 1.20\n").file("a.go", code);
    let run = sh(&project, "go build -o a .; ./a");
    assert_eq!(run.ok(), "built", "{run}");
}
