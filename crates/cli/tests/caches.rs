//! Caches of toolchains that outlive a sandbox, and `zonekeep cache`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::Value;
use zonekeep_testkit::{Project, Run, program, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw, at: same }
  working_dir: /repo
";

/// Returns a project on a machine that has npm and cargo.
fn project(config: &str) -> Project {
    let project = Project::with_config(PROGRAM, config).dir("repo").dir("in");
    for name in ["npm", "cargo"] {
        let path = project.beside("tools/bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    project
}

fn zonekeep(project: &Project, args: &[&str]) -> Run {
    let mut command = project.command();
    let tools = project.beside("tools/bin");
    command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    project.finish(command.args(args))
}

fn sh(project: &Project, flags: &[&str], script: &str) -> Run {
    let args = [&["run"], flags, &["--", "sh", "-ec", script]].concat();
    let run = zonekeep(project, &args);
    assert_eq!(run.exit, 0, "{run}");
    run
}

const WRITE: &str = "echo kept > $npm_config_cache/a";
const READ: &str = "cat $npm_config_cache/a 2>/dev/null || echo none";

#[test]
fn caches_are_kept_for_the_next_run_and_are_never_the_users() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG);
    let own = project.beside("home/.npm");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("own"), "the user's").unwrap();
    sh(&project, &[], WRITE);
    assert_eq!(sh(&project, &[], READ).stdout.trim(), "kept");
    // At the same path, and another directory.
    let run = sh(&project, &[], "echo $npm_config_cache; ls $npm_config_cache");
    assert_eq!(run.stdout.trim(), "[TEMP]/home/.npm\na");
    assert!(!own.join("a").exists());
    // The directories beside it are as private and as short-lived as before.
    sh(&project, &[], "mkdir -p ~/.config && echo x > ~/.config/x && echo x > ~/.npmrc");
    assert_eq!(sh(&project, &[], "ls -A ~/.config ~/.npmrc 2>/dev/null || true").stdout, "");
    // Others have their own: another project, and a run that wants none.
    let fresh = ["--set", "sandbox.caches=fresh"];
    assert_eq!(sh(&project, &fresh, READ).stdout.trim(), "none");
    let other = project.beside("other");
    fs::create_dir_all(&other).unwrap();
    let dir = other.to_str().unwrap();
    let script = ["run", "--project", dir, "--rw", dir, "--", "sh", "-c", READ];
    assert_eq!(zonekeep(&project, &script).ok().trim(), "none");
    // At its name the zone has the same caches.
    let named = ["--set", "sandbox.zones.repo.at=name"];
    assert_eq!(sh(&project, &named, READ).stdout.trim(), "kept");
    let explained = zonekeep(&project, &["explain", "run", "--all", "--", "true"]);
    assert!(explained.ok().contains("caches:  rw [TEMP]/home/.npm from "), "{explained}");
}

#[test]
fn who_may_read_untrusted_content_writes_no_cache_for_others() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG);
    let untrusted = ["--set", "sandbox.zones.in={path: ./in, mode: ro, untrusted: true}"];
    sh(&project, &untrusted, "mkdir -p $npm_config_cache; echo evil > $npm_config_cache/a");
    assert_eq!(sh(&project, &[], READ).stdout.trim(), "none");
    // The control: without the zone it is kept.
    sh(&project, &[], WRITE);
    assert_eq!(sh(&project, &[], READ).stdout.trim(), "kept");
}

/// A sandbox that can write less does not write what one that can write more would execute.
#[test]
fn who_writes_less_writes_no_cache_for_who_writes_more() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG);
    let reads = ["--set", "sandbox.zones.repo.mode=ro"];
    sh(&project, &reads, WRITE);
    assert_eq!(sh(&project, &reads, READ).stdout.trim(), "kept");
    assert_eq!(sh(&project, &[], READ).stdout.trim(), "none");
}

/// A worker with fewer rights does not write what one with more would execute.
#[test]
fn workers_have_caches_of_their_own() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG).file(
        "small.worker",
        "---\nname: small\nsandbox: { zones: [{ name: repo, mode: rw }] }\n---\nWork.\n",
    );
    let worker = ["--worker", "small.worker"];
    sh(&project, &worker, WRITE);
    assert_eq!(sh(&project, &worker, READ).stdout.trim(), "kept");
    assert_eq!(sh(&project, &[], READ).stdout.trim(), "none");
}

#[test]
fn the_hosts_cache_is_shown_read_only_until_there_is_an_own_one() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG);
    let crates = project.beside("home/.cargo/registry/cache");
    fs::create_dir_all(crates.join("r")).unwrap();
    fs::write(crates.join("r/a.crate"), "host").unwrap();
    let read = "cat $CARGO_HOME/registry/cache/r/a.crate; \
                echo x > $CARGO_HOME/registry/cache/r/a.crate || true";
    for _ in 0..2 {
        assert_eq!(sh(&project, &[], read).stdout, "host");
        assert_eq!(fs::read_to_string(crates.join("r/a.crate")).unwrap(), "host");
    }
}

#[test]
fn caches_are_listed_and_cleared() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG);
    // Whoever only looks makes none.
    zonekeep(&project, &["explain", "run", "--", "true"]).ok();
    let list = || -> Vec<Value> {
        serde_json::from_str(zonekeep(&project, &["cache", "list", "--json"]).ok()).unwrap()
    };
    assert!(list().is_empty());
    assert!(zonekeep(&project, &["cache"]).stderr.contains("there are no caches"));
    // Whatever a command leaves there: links out, names of every kind, no rights.
    let outside = project.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "kept").unwrap();
    let script = format!(
        "cd $npm_config_cache; ln -s {0} dir; ln -s {0}/precious file; ln -s / root; \
         head -c 300000 /dev/zero > big; mkdir -p closed/x; mkfifo closed/x/fifo; chmod 0 closed",
        outside.display()
    );
    sh(&project, &[], &script);
    let all = list();
    assert_eq!(all.len(), 1, "{all:?}");
    let bytes = all[0]["bytes"].as_u64().unwrap();
    assert!((300_000..3_000_000).contains(&bytes), "{all:?}");
    let text = zonekeep(&project, &["cache", "list"]);
    assert!(text.ok().contains("KiB") && text.ok().contains("[TEMP]/project"), "{text}");

    assert_eq!(zonekeep(&project, &["cache", "clear", "nothing"]).exit, 1);
    let cleared = zonekeep(&project, &["cache", "clear"]);
    assert!(cleared.exit == 0 && cleared.stderr.contains("removed 1 cache(s)"), "{cleared}");
    assert!(list().is_empty());
    assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "kept");
    assert_eq!(sh(&project, &[], READ).stdout.trim(), "none");

    // Of this project only, unless all are meant.
    let id = list()[0]["id"].as_str().unwrap().to_owned();
    let mut elsewhere = project.command();
    let elsewhere = elsewhere.current_dir(project.beside("outside")).args(["cache", "clear"]);
    project.finish(elsewhere).ok();
    assert_eq!(list().len(), 1);
    assert_eq!(zonekeep(&project, &["cache", "clear", &id]).exit, 0);
    assert!(list().is_empty());
}

/// The state directory is never in a zone, so only commands in a sandbox can have written a
/// cache; a link that lies in its place is not followed.
#[test]
fn a_link_in_the_place_of_a_cache_is_not_followed() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project(CONFIG);
    sh(&project, &[], WRITE);
    let caches = project.state().join("zonekeep/caches");
    let dir = fs::read_dir(caches).unwrap().next().unwrap().unwrap().path();
    let outside = project.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(dir.join("npm")).unwrap();
    symlink(&outside, dir.join("npm")).unwrap();
    sh(&project, &[], "mkdir -p $npm_config_cache; echo evil > $npm_config_cache/a");
    assert!(!outside.join("a").exists());
}

#[test]
fn go_finds_what_it_built_before() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let works = || Command::new("go").arg("version").output().is_ok_and(|o| o.status.success());
    if program("go").is_none() || !works() {
        return skip("go is not there");
    }
    let project = Project::with_config(PROGRAM, CONFIG)
        .file("repo/go.mod", "module tiny\n\ngo 1.18\n")
        .file("repo/a.go", "package tiny\n\nfunc Two() int { return 2 }\n")
        .file(
            "repo/a_test.go",
            "package tiny\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fail()\n\t}\n}\n",
        );
    let test = |project: &Project| project.zonekeep(["run", "--", "go", "test", "./..."]);
    let (first, second) = (test(&project), test(&project));
    assert!(first.ok().contains("ok") && !first.stdout.contains("(cached)"), "{first}");
    assert!(second.ok().contains("(cached)"), "{second}");
}
