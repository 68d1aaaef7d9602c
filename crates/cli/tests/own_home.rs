//! The home directory of commands, where something lies at its own path.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::process::Command;

use zonekeep_testkit::{Project, Run, program, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw, at: same }
  working_dir: /repo
";

fn sh(project: &Project, script: &str) -> Run {
    project.zonekeep(["run", "--", "sh", "-ec", script])
}

/// The home directory has the host's path and private content: nothing that lies there
/// outside is seen, and nothing that is written there comes out.
#[test]
fn the_home_has_the_hosts_path_and_private_content() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).file("repo/a.txt", "one\n");
    let home = project.beside("home");
    for (path, text) in [(".ssh/id_rsa", "key"), (".bashrc", "echo hi"), ("notes/a", "note")] {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), text).unwrap();
    }
    let run = sh(&project, "echo $HOME $CARGO_HOME $GOPATH $npm_config_cache $PIP_CACHE_DIR");
    let names = ["", "/.cargo", "/go", "/.npm", "/.cache/pip"].map(|n| format!("[TEMP]/home{n}"));
    assert_eq!(run.ok().trim(), names.join(" "));
    let secrets = "ls -dA ~/.ssh ~/.bashrc ~/notes 2>/dev/null || true; \
                   cat ~/.ssh/id_rsa ~/.bashrc ~/notes/a 2>/dev/null | wc -c";
    assert_eq!(sh(&project, secrets).ok().trim(), "0");
    // The control: outside all of them are read.
    let mut outside = Command::new("sh");
    project.prepare(outside.args(["-c", &secrets.replace('~', "$HOME")]));
    assert_ne!(project.finish(&mut outside).ok().lines().last(), Some("0"));

    sh(&project, "mkdir -p ~/.ssh; echo x > ~/.ssh/id_rsa; echo x > ~/new; cat ~/new").ok();
    assert_eq!(fs::read_to_string(home.join(".ssh/id_rsa")).unwrap(), "key");
    assert!(!home.join("new").exists());
    // The self-probe looks for the home directory of the host as well.
    let proved = project.zonekeep(["run", "--set", "sandbox.prove=true", "--", "true"]);
    assert_eq!(proved.exit, 0, "{proved}");
    // Where nothing is at its own path, neither is the home directory.
    let named = ["run", "--set", "sandbox.zones.repo.at=name", "--", "sh", "-c", "echo $HOME"];
    assert_eq!(project.zonekeep(named).ok().trim(), "/home/agent");
}

/// A directory above a zone at its own path is private: what is written there is lost, and
/// the user is told.
#[test]
fn what_is_left_beside_a_zone_is_told() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).file("repo/a.txt", "one\n");
    fs::create_dir_all(project.beside("home")).unwrap();
    let run = sh(&project, "echo x > ../report.txt; echo saved");
    assert_eq!(run.ok(), "saved");
    assert!(!project.path("report.txt").exists());
    let says = "report.txt' is in the sandbox alone, and gone when it ends: '";
    assert!(run.stderr.contains(says), "{run}");
    let run = sh(&project, "touch ../b ../c ../d ~/.hidden");
    assert!(run.stderr.contains("/b' and 2 more are in the sandbox alone"), "{run}");
    let run = sh(&project, "touch \"../$(printf 'x\\nzonekeep: forged')\"");
    assert!(run.stderr.contains("sandbox alone") && run.stderr.lines().count() == 1, "{run}");
    // What belongs there, or cannot be seen, is not told.
    for script in ["true", "touch b; mkdir d", "ln -s /etc ../.link", "touch /tmp/x ~/.x"] {
        let run = sh(&project, script);
        assert!(!run.stderr.contains("sandbox alone"), "{script}: {run}");
    }
}

#[test]
fn directories_of_the_callers_variables_are_private_too() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = Project::with_config(PROGRAM, CONFIG).dir("repo");
    let cargo = project.beside("cargo");
    fs::create_dir(&cargo).unwrap();
    fs::write(cargo.join("credentials.toml"), "token").unwrap();
    for backend in ["namespaces", "bubblewrap"] {
        let set = format!("sandbox.backend={backend}");
        let script = "ls $CARGO_HOME/credentials.toml 2>/dev/null || true; \
                      echo x > $CARGO_HOME/new; echo $CARGO_HOME";
        let mut command = project.command();
        command.env("CARGO_HOME", &cargo);
        let run = project.finish(command.args(["run", "--set", &set, "--", "sh", "-ec", script]));
        if backend == "bubblewrap" && run.exit == 125 {
            skip("bubblewrap does not work here");
            continue;
        }
        assert_eq!(run.ok().trim(), "[TEMP]/cargo", "{backend}");
        assert!(!cargo.join("new").exists());
    }
}

/// Returns the caller's own home directory, where a program runs here at all.
fn home_with(name: &str, arguments: &[&str]) -> Option<std::path::PathBuf> {
    let runs = program(name).is_some()
        && Command::new(name).args(arguments).output().is_ok_and(|output| output.status.success());
    if !runs {
        skip(&format!("{name} is not there"));
    }
    std::env::home_dir().filter(|_| runs)
}

/// Runs a script outside, or inside with the repository at its own path, for a caller with
/// the home directory that toolchains were installed in.
fn build(project: &Project, home: &std::path::Path, inside: bool, script: &str) -> Run {
    let mut command = match inside {
        true => project.command(),
        false => Command::new("sh"),
    };
    project.prepare(&mut command);
    command.env("HOME", home).current_dir(project.path("repo"));
    match inside {
        true => command.args(["run", "--", "sh", "-ec", script]),
        false => command.args(["-ec", script]),
    };
    let run = project.finish(&mut command);
    assert_eq!(run.exit, 0, "{run}");
    run
}

#[test]
fn cargo_rebuilds_nothing_when_work_moves_in_or_out() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let Some(home) = home_with("cargo", &["--version"]) else { return };
    let project = Project::with_config(PROGRAM, CONFIG)
        .file(
            "repo/Cargo.toml",
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
             [dependencies]\ndep = { path = \"dep\" }\n[workspace]\n",
        )
        .file("repo/build.rs", "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }\n")
        .file("repo/src/main.rs", "fn main() { println!(\"{}\", dep::two()); }\n")
        .file(
            "repo/dep/Cargo.toml",
            "[package]\nname = \"dep\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        )
        .file("repo/dep/src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    for first_inside in [false, true] {
        let clean = "rm -rf target; cargo build --offline -v 2>&1";
        let first = build(&project, &home, first_inside, clean);
        assert!(first.stdout.contains("Compiling tiny"), "{first}");
        let second = build(&project, &home, !first_inside, "cargo build --offline -v 2>&1");
        for name in ["tiny", "dep"] {
            assert!(second.stdout.contains(&format!("Fresh {name}")), "{second}");
        }
        assert!(!second.stdout.contains("Compiling"), "{second}");
    }
}

#[test]
fn a_virtual_environment_works_inside_as_outside() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let Some(home) = home_with("python3", &["-m", "venv", "--help"]) else { return };
    let project = Project::with_config(PROGRAM, CONFIG)
        .file("repo/src/tiny/__init__.py", "def two():\n    return 2\n");
    // An editable install is a file that names the sources by their path.
    let make = "python3 -m venv --without-pip .venv; \
                cd .venv/lib/python3*/site-packages; echo \"$OLDPWD/src\" > tiny.pth; cd - > /dev/null; \
                printf '#!%s/.venv/bin/python\\nimport tiny\\nprint(tiny.two())\\n' \"$PWD\" > .venv/bin/tiny; \
                chmod +x .venv/bin/tiny";
    for first_inside in [false, true] {
        build(&project, &home, first_inside, make);
        let run = build(&project, &home, !first_inside, ".venv/bin/tiny; rm -rf .venv");
        assert_eq!(run.stdout.trim(), "2", "{run}");
    }
}

#[test]
fn the_environment_that_the_user_has_activated_comes_first() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    if home_with("python3", &["-m", "venv", "--help"]).is_none() {
        return;
    }
    let project = Project::new(PROGRAM).dir("work");
    let dir = project.path("work").canonicalize().unwrap();
    let made = std::process::Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(&dir)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return zonekeep_testkit::skip("the system's Python makes no virtual environments");
    }
    let venv = dir.join(".venv");
    let path = std::env::var("PATH").unwrap();
    let mut command = project.command();
    command.current_dir(&dir).env("VIRTUAL_ENV", &venv);
    command.env("PATH", format!("{}/bin:{path}", venv.display()));
    command.args(["run", "--rw", ".", "--", "python3", "-c", "import sys; print(sys.prefix)"]);
    let run = project.finish(&mut command);
    assert_eq!(run.stdout.trim(), "[TEMP]/project/work/.venv", "{run}");
}
