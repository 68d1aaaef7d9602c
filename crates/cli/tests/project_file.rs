//! Which project file holds, what it may open, and what flags change.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use zonekeep_testkit::{Project, Run, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const LIST: [&str; 3] = ["tool", "list_files", r#"{"path": "/"}"#];

fn zones(config: &str) -> Project {
    Project::with_config(PROGRAM, &format!("sandbox:\n  mode: direct\n  zones:\n{config}"))
}

fn write(project: &Project, path: &str, flags: &[&str]) -> Run {
    let arguments = serde_json::json!({ "path": path, "content": "x" }).to_string();
    project.zonekeep(["tool", "write_file", &arguments].iter().chain(flags))
}

#[test]
fn the_file_is_found_from_a_subdirectory() {
    let project = zones("    input: { path: ./in, mode: ro }\n").dir("in").dir("a/b/c");
    assert_eq!(project.zonekeep_in("a/b/c", LIST).ok(), "input/");
}

#[test]
fn the_other_name_is_read_too_and_the_own_name_goes_first() {
    let config = |name: &str| {
        format!("sandbox: {{ mode: direct, zones: {{ {name}: {{ path: in, mode: ro }} }} }}\n")
    };
    let project = Project::new(PROGRAM).dir("in").file("golem-forge.config.yaml", config("golem"));
    assert_eq!(project.zonekeep(LIST).ok(), "golem/");
    project.put("zonekeep.yaml", config("own"));
    assert_eq!(project.zonekeep(LIST).ok(), "own/");
}

#[test]
fn an_invalid_file_is_an_error_and_the_search_does_not_pass_it_over() {
    let project = zones("    outer: { path: ./in, mode: ro }\n")
        .dir("in")
        .file("inner/zonekeep.yaml", "sandbox: { zonse: {} }\n")
        .dir("inner/deep");
    let run = project.zonekeep_in("inner/deep", LIST);
    assert_snapshot!(run.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error[unknown_key]: unknown key 'zonse' in 'sandbox'
     --> zonekeep.yaml:1:12
      |
    1 | sandbox: { zonse: {} }
      |            ^^^^^
      |
      = help: did you mean 'zones'? known keys: mode, root, zones, paths, working_dir, home, network, secrets, require_os_sandbox, limits, backend, prove, caches, env, pass_env, guard, allow_hard_links, allow_sensitive

    error: zonekeep.yaml has 1 problem(s)

    hint: `zonekeep check` shows all problems
    ");
    // The same holds for one that cannot be read at all.
    fs::remove_file(project.path("inner/zonekeep.yaml")).unwrap();
    let project = project.link("inner/zonekeep.yaml", "nowhere");
    let run = project.zonekeep_in("inner/deep", LIST);
    assert_eq!(run.exit, 125, "{run}");
    assert!(!run.stdout.contains("outer"), "{run}");
}

#[test]
fn project_chooses_a_directory_and_does_not_look_further_up() {
    let project = zones("    outer: { path: ./in, mode: ro }\n").dir("in").dir("plain");
    assert_eq!(project.zonekeep_in("plain", LIST).ok(), "outer/");
    let args = LIST.into_iter().chain(["--project", "plain"]);
    assert_eq!(project.zonekeep(args).ok(), "cache/\nworkspace/");
    let run = project.zonekeep(LIST.into_iter().chain(["--project", "missing"]));
    assert_eq!(run.exit, 125);
}

#[test]
fn without_a_file_two_directories_exist_and_are_made_on_the_first_write() {
    let project = Project::new(PROGRAM).file("mine.txt", "");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        project.prepare(&mut command);
        project.finish(command.args(args))
    };
    git(&["init", "-q", "."]).ok();
    git(&["add", "mine.txt"]).ok();
    git(&["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "x"]).ok();

    assert_eq!(project.zonekeep(LIST).ok(), "cache/\nworkspace/");
    let list = project.zonekeep(["tool", "list_files", r#"{"path": "/cache"}"#]);
    assert_eq!(list.ok(), "[Nothing found.]");
    let read = project.zonekeep(["tool", "read_file", r#"{"path": "/cache/a"}"#]);
    assert_eq!(read.exit, 1, "{read}");
    let refused = write(&project, "/workspace/a/b.txt", &["--approve", "none"]);
    assert_eq!(refused.exit, 1, "{refused}");
    assert!(!project.exists(".sandbox"), "looking and being refused make nothing");

    write(&project, "/workspace/a/b.txt", &["--approve", "all"]).ok();
    assert_eq!(project.read(".sandbox/workspace/a/b.txt"), "x");
    assert!(!project.exists(".sandbox/cache"));
    assert_eq!(git(&["status", "--porcelain"]).ok(), "");
}

#[test]
fn the_sandboxed_layout_keeps_zones_below_its_root() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox: { root: boxes, zones: { notes: { path: n, mode: rw, approval: { write: preApproved } } } }\n",
    );
    write(&project, "/notes/a.txt", &[]).ok();
    assert_eq!(project.tree("boxes"), [".gitignore", "n", "n/a.txt"]);
    for path in ["../out", "/srv/out"] {
        project.put(
            "zonekeep.yaml",
            format!("sandbox: {{ zones: {{ out: {{ path: {path}, mode: ro }} }} }}\n"),
        );
        let run = project.zonekeep(["check"]);
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains("sandbox.mode: direct"), "{run}");
    }
}

#[test]
fn flags_beat_the_file() {
    let project = zones("    input: { path: ./in, mode: rw, approval: { write: preApproved } }\n")
        .dir("in")
        .dir("other");
    write(&project, "/input/a", &[]).ok();
    let ro = ["--set", "sandbox.zones.input.mode=ro"];
    assert_eq!(write(&project, "/input/a", &ro).exit, 1);
    let strict = ["--set", "sandbox.zones.input.approval.write=ask"];
    assert_eq!(write(&project, "/input/a", &strict).exit, 1);

    // A zone of the same name is replaced, another one is added.
    let replaced = write(&project, "/input/b", &["--zone", "input=other:rw", "--approve", "all"]);
    replaced.ok();
    assert_eq!(project.tree("other"), ["b"]);
    let added = project.zonekeep(LIST.into_iter().chain(["--zone", "extra=other"]));
    assert_eq!(added.ok(), "extra/\ninput/");
    let ro = write(&project, "/extra/b", &["--zone", "extra=other", "--approve", "all"]);
    assert!(ro.stderr.contains("path is read-only"), "a zone flag is ro unless it says rw: {ro}");
    // Relative to where the user is, not to the project.
    let here = project.zonekeep_in("other", LIST.into_iter().chain(["--zone", "x=../other:ro"]));
    assert_eq!(here.ok(), "input/\nx/");
}

#[test]
fn a_set_value_that_is_wrong_stops_everything() {
    let project = Project::new(PROGRAM);
    let run = project.zonekeep(LIST.into_iter().chain(["--set", "sandbox.mode=dirct"]));
    assert_eq!(run.exit, 2);
    assert!(run.stderr.contains("1 | --set sandbox.mode=dirct"), "{run}");
}

#[test]
fn zones_that_overlap_are_an_error() {
    let project =
        zones("    all: { path: ., mode: ro }\n    input: { path: ./in, mode: rw }\n").dir("in");
    assert_snapshot!(project.zonekeep(LIST).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: zones 'all' and 'input' overlap: [TEMP]/project and [TEMP]/project/in

    hint: give each zone a directory of its own, or drop one of the two (zonekeep.yaml:5)
    ");
    // Also when a link hides it.
    let project = zones("    one: { path: ./in, mode: ro }\n    two: { path: ./same, mode: rw }\n")
        .dir("in")
        .link("same", "in");
    let run = project.zonekeep(LIST);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("zones 'one' and 'two' overlap"), "{run}");
}

#[test]
fn rules_that_an_agent_could_write_are_not_obeyed() {
    let linked = |mode: &str, to: &str| {
        let project = zones(&format!("    work: {{ path: ./in, mode: {mode} }}\n")).dir("in");
        let file = project.path("zonekeep.yaml");
        fs::rename(&file, project.path(to)).unwrap();
        project.link("zonekeep.yaml", to)
    };
    assert_snapshot!(linked("rw", "in/rules.yaml").zonekeep(LIST).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: zone 'work': the project file leads to [TEMP]/project/in/rules.yaml, which is writable there

    hint: keep the rules where no agent can write: put the file itself in the link's place (zonekeep.yaml:4)
    ");
    // A link on the way is as good as the file.
    let through = zones("    work: { path: ./in, mode: rw }\n").dir("in");
    fs::rename(through.path("zonekeep.yaml"), through.path("rules.yaml")).unwrap();
    let run =
        through.link("zonekeep.yaml", "in/way").link("in/way", "../rules.yaml").zonekeep(LIST);
    assert!(run.stderr.contains("leads to [TEMP]/project/in/way"), "{run}");
    let places = linked("ro", "in/rules.yaml");
    let run = places.zonekeep(["run", "--rw", "in", "--", "true"]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("the project file leads to"), "{run}");

    // Where nobody inside can write, or the name is guarded there.
    assert_eq!(linked("ro", "in/rules.yaml").zonekeep(LIST).ok(), "work/");
    assert_eq!(linked("rw", "rules.yaml").zonekeep(LIST).ok(), "work/");
    assert_eq!(linked("rw", "in/zonekeep.yaml").zonekeep(LIST).ok(), "work/");
}

#[test]
fn the_root_a_home_and_the_own_state_are_never_zones() {
    let project = Project::new(PROGRAM);
    let home = project.beside("home").display().to_string();
    let above = project.beside("").display().to_string();
    let state = project.state().join("zonekeep").display().to_string();
    let in_state = project.state().join("zonekeep/audit").display().to_string();
    fs::create_dir_all(&in_state).unwrap();
    let cases = [
        ("/", "is the root of the file system"),
        (home.as_str(), "is a home directory, or holds one"),
        (above.as_str(), "is a home directory, or holds one"),
        (state.as_str(), "is where Zonekeep keeps its own records"),
        (in_state.as_str(), "is where Zonekeep keeps its own records"),
    ];
    for (path, want) in cases {
        // From the file, and by the user's own flag.
        project.put(
            "zonekeep.yaml",
            format!("sandbox: {{ mode: direct, zones: {{ z: {{ path: {path}, mode: ro }} }} }}\n"),
        );
        let file = project.zonekeep(LIST);
        fs::remove_file(project.path("zonekeep.yaml")).unwrap();
        let flag = project.zonekeep(LIST.into_iter().chain(["--zone", &format!("z={path}")]));
        for run in [file, flag] {
            assert_eq!(run.exit, 125, "{path}: {run}");
            assert!(run.stderr.contains(want), "{path}: {run}");
            // What lies below the records are records too.
            let where_else = if want.contains("records") { "elsewhere" } else { "below it" };
            let hint = format!("hint: name a directory {where_else}");
            assert!(run.stderr.contains(&hint), "{path}: {run}");
        }
    }
}

#[test]
fn a_link_to_a_home_directory_is_a_home_directory() {
    let project = zones("    z: { path: ./innocent, mode: ro }\n").link("innocent", "../home");
    let run = project.zonekeep(LIST);
    assert_eq!(run.exit, 125);
    assert!(run.stderr.contains("is a home directory"), "{run}");
}

#[test]
fn a_missing_directory_is_an_error_that_says_what_to_do() {
    let project = zones("    input: { path: ./in, mode: ro }\n");
    assert_snapshot!(project.zonekeep(LIST).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: zone 'input': the directory [TEMP]/project/in does not exist

    hint: make it with `mkdir -p '[TEMP]/project/in'`, or correct the path (zonekeep.yaml:4)
    ");
    let project = zones("    input: { path: ./in, mode: ro }\n").file("in", "a file");
    let run = project.zonekeep(LIST);
    assert_eq!(run.exit, 125, "{run}");
    let project = zones("    input: { path: ./in, mode: ro }\n").link("in", "in");
    let run = project.zonekeep(LIST);
    assert_eq!(run.exit, 125, "{run}");
}

#[test]
fn a_zone_of_a_system_name_is_refused() {
    let project = zones("    etc: { path: ./in, mode: ro }\n").dir("in");
    let run = project.zonekeep(["check"]);
    assert_eq!(run.exit, 1);
    assert!(run.stderr.contains("the name 'etc' is taken"), "{run}");
}

#[test]
fn somebody_elses_file_is_not_obeyed() {
    let project = zones("    input: { path: ./in, mode: ro }\n").dir("in");
    if !is_root() {
        return skip("only root can give a file away");
    }
    std::os::unix::fs::chown(project.path("zonekeep.yaml"), Some(65534), None).unwrap();
    assert_snapshot!(project.zonekeep(LIST).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: [TEMP]/project/zonekeep.yaml belongs to another user (uid 65534)

    hint: a project file must belong to you or to root; copy it to make it yours
    ");
}
