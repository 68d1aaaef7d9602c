//! `zonekeep trust`, and what is refused without it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use insta::assert_snapshot;
use zonekeep_testkit::{Project, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const OTHER: &str = "sandbox:
  mode: direct
  zones:
    other: { path: ../other, mode: rw, approval: { write: preApproved } }
";

fn reaching() -> Project {
    Project::with_config(PROGRAM, OTHER).dir("../other").file("../other/a.txt", "secret\n")
}

const READ: [&str; 3] = ["tool", "read_file", r#"{"path": "/other/a.txt"}"#];

#[test]
fn a_file_that_reaches_outside_is_refused_until_it_is_trusted() {
    let project = reaching();
    assert_snapshot!(project.zonekeep(READ).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file reaches outside its own directory and is not trusted yet:
      read and write [TEMP]/other as /other (zonekeep.yaml:4)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
    for command in [["explain", "read", "/other/a.txt"], ["tool", "list", "{}"]] {
        assert_eq!(project.zonekeep(command).exit, 125, "{command:?}");
    }

    assert_snapshot!(project.zonekeep(["trust"]).to_string(), @"
    exit 125
    --- stdout
    [TEMP]/project/zonekeep.yaml lets agents
      read and write [TEMP]/other as /other  (zonekeep.yaml:4)
    --- stderr
    error: there is no terminal to ask on

    hint: run `zonekeep trust` in a terminal, or `zonekeep trust --yes` if you have read the list
    ");
    assert_eq!(project.zonekeep(READ).exit, 125, "an unanswered question is no yes");

    assert_snapshot!(project.zonekeep(["trust", "--yes"]).to_string(), @"
    exit 0
    --- stdout
    [TEMP]/project/zonekeep.yaml lets agents
      read and write [TEMP]/other as /other  (zonekeep.yaml:4)
    Trusted. Servers that are running use the file as it is now. If the file opens more, it has to be trusted again.
    --- stderr
    ");
    assert_eq!(project.zonekeep(READ).ok(), "secret");
    assert_snapshot!(project.zonekeep(["trust"]).to_string(), @"
    exit 0
    --- stdout
    This project file is trusted already.
    --- stderr
    ");
}

#[test]
fn a_file_that_opens_more_must_be_trusted_again_and_a_comment_must_not() {
    let project = reaching().dir("../more");
    project.zonekeep(["trust", "--yes"]).ok();
    project.zonekeep(READ).ok();
    project.put("zonekeep.yaml", format!("# changed\n{}", OTHER.replace("mode: rw", "mode: ro")));
    project.zonekeep(READ).ok();
    let more = format!("{OTHER}    more: {{ path: ../more, mode: ro }}\n");
    project.put("zonekeep.yaml", &more);
    assert_snapshot!(project.zonekeep(READ).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file has changed since you trusted it, and may open more:
      + read [TEMP]/more as /more (zonekeep.yaml:5)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
    project.put(
        "zonekeep.yaml",
        more.replace("../other", "../more").replace("/more, mode: ro", "/other, mode: ro"),
    );
    assert_snapshot!(project.zonekeep(["trust"]).to_string(), @"
    exit 125
    --- stdout
    [TEMP]/project/zonekeep.yaml lets agents
      read [TEMP]/other as /more  (zonekeep.yaml:5)
      read and write [TEMP]/more as /other  (zonekeep.yaml:4)
    Since you trusted it last:
      + read [TEMP]/other as /more (zonekeep.yaml:5)
      + read and write [TEMP]/more as /other (zonekeep.yaml:4)
      - read and write [TEMP]/other as /other
    --- stderr
    error: there is no terminal to ask on

    hint: run `zonekeep trust` in a terminal, or `zonekeep trust --yes` if you have read the list
    ");
    project.put("zonekeep.yaml", OTHER);
    project.zonekeep(READ).ok();
}

#[test]
fn trust_lists_the_hosts_of_presets() {
    let project = Project::with_config(PROGRAM, "sandbox: { network: { presets: [python] } }\n");
    let mut command = project.command();
    // Nothing listens there: the index is not asked.
    for name in ["PIP_INDEX_URL", "UV_DEFAULT_INDEX"] {
        command.env(name, "https://localhost:9/simple");
    }
    let run = project.finish(command.args(["trust", "--yes"]));
    let list = run.ok();
    assert!(list.contains("reach the hosts of the python package managers"), "{run}");
    assert!(
        list.contains("    host: localhost:9 (preset python: the variable PIP_INDEX_URL)"),
        "{run}"
    );
}

#[test]
fn a_link_that_leads_elsewhere_must_be_trusted_again() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox: { mode: direct, zones: { other: { path: ./linked, mode: ro } } }\n",
    )
    .file("../one/a.txt", "one")
    .file("../two/a.txt", "two")
    .link("linked", "../one");
    let run = project.zonekeep(READ);
    assert_snapshot!(run.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file reaches outside its own directory and is not trusted yet:
      read [TEMP]/one as /other (zonekeep.yaml:1)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
    project.zonekeep(["trust", "--yes"]).ok();
    assert_eq!(project.zonekeep(READ).ok(), "one");

    std::fs::remove_file(project.path("linked")).unwrap();
    let project = project.link("linked", "../two");
    let run = project.zonekeep(READ);
    assert_eq!(run.exit, 125);
    assert!(run.stderr.contains("[TEMP]/two"), "{run}");
}

#[test]
fn another_project_with_the_same_file_is_not_trusted() {
    let project = reaching();
    project.zonekeep(["trust", "--yes"]).ok();
    let project = project.file("../elsewhere/zonekeep.yaml", OTHER);
    let run = project.zonekeep_in("../elsewhere", READ);
    assert_eq!(run.exit, 125, "{run}");
}

#[test]
fn environment_network_and_no_sandbox_need_trust_as_well() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox:\n  network: true\n  pass_env: [AWS_SECRET_ACCESS_KEY]\n  backend: none\n",
    );
    assert_snapshot!(project.zonekeep(["tool", "list_files"]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file reaches outside its own directory and is not trusted yet:
      pass the environment variable AWS_SECRET_ACCESS_KEY to commands (zonekeep.yaml:3)
      reach every host on the network (zonekeep.yaml:2)
      run commands without an operating-system sandbox (zonekeep.yaml:4)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
}

#[test]
fn a_backend_that_holds_less_needs_trust() {
    let cases = [
        ("sandbox: { backend: landlock }\n", true),
        ("when_tainted: { backend: landlock }\n", true),
        ("sandbox: { backend: namespaces }\n", false),
        ("sandbox: { backend: bubblewrap }\nwhen_tainted: { backend: namespaces }\n", false),
    ];
    for (config, needed) in cases {
        let run = Project::with_config(PROGRAM, config).zonekeep(["tool", "list_files"]);
        let says = run.stderr.contains("run commands under landlock alone");
        assert_eq!((run.exit == 125, says), (needed, needed), "{config}: {run}");
    }
    let flag = ["tool", "list_files", "--set", "sandbox.backend=landlock"];
    Project::new(PROGRAM).zonekeep(flag).ok();
}

#[test]
fn variables_of_a_file_are_not_set_where_nothing_confines_commands() {
    let config = "sandbox: { env: { LD_PRELOAD: ./x.so, PYTHONPATH: ., MINE: a } }\n";
    let project = Project::with_config(PROGRAM, config);
    let env = |more: &[&str]| {
        let mut args = vec!["run", "--set", "sandbox.backend=none"];
        args.extend(more);
        project.zonekeep(args.into_iter().chain(["--", "env"])).ok().to_owned()
    };
    let text = env(&[]);
    for name in ["LD_PRELOAD", "PYTHONPATH", "MINE"] {
        assert!(!text.lines().any(|line| line.starts_with(&format!("{name}="))), "{text}");
    }
    // What the user says holds.
    let text = env(&["--set", "sandbox.env={YOURS: b}"]);
    assert!(text.lines().any(|line| line == "YOURS=b"), "{text}");
}

#[test]
fn a_rule_that_grants_the_network_needs_trust_unless_somebody_is_asked() {
    let cases = [
        ("preApproved", "tool", true),
        ("ask", "tool", false),
        ("ask", "auto", true),
        ("ask", "strict", false),
        ("blocked", "auto", false),
    ];
    for (approval, mode, needed) in cases {
        let rule =
            format!("{{ pattern: 'cat *', approval: {approval}, grants: {{ network: true }} }}");
        let config = format!("approval: {{ mode: {mode} }}\nshell:\n  rules:\n    - {rule}\n");
        let run = Project::with_config(PROGRAM, &config).zonekeep(["tool", "list_files"]);
        let says = run.stderr.contains("reach every host on the network (zonekeep.yaml:4)");
        assert_eq!(says, needed, "{approval} {mode}: {run}");
        // A file that answers its own questions needs trust by itself.
        assert_eq!(run.exit == 125, needed || mode == "auto", "{approval} {mode}: {run}");
    }
    // Whoever says it on the command line has said yes.
    let rule = "{ pattern: 'cat *', approval: ask, grants: { network: true } }";
    let project = Project::with_config(PROGRAM, &format!("shell: {{ rules: [{rule}] }}\n"));
    project.zonekeep(["tool", "list_files", "--set", "approval.mode=auto"]).ok();
}

#[test]
fn a_file_that_answers_its_own_questions_needs_trust() {
    let config = "sandbox:
  mode: direct
  zones:
    ask: { path: ./ask, mode: rw, approval: { write: ask } }
approval: { mode: auto }
";
    let project = Project::with_config(PROGRAM, config).dir("ask");
    let write = ["tool", "write_file", r#"{"path": "/ask/a", "content": "x"}"#];
    let run = project.zonekeep(write);
    let says = "have every question answered with yes (zonekeep.yaml:5)";
    assert!(run.exit == 125 && run.stderr.contains(says), "{run}");
    assert!(!project.exists("ask/a"));
    project.zonekeep(["trust", "--yes"]).ok();
    project.zonekeep(write).ok();
    assert_eq!(project.read("ask/a"), "x");
}

#[test]
fn raised_limits_need_trust() {
    let config = "sandbox:
  limits:
    memory: 1000G
    processes: 200000
    tmp: 500G
    output: none
    open_files: 100
    time: 10h
";
    let project = Project::with_config(PROGRAM, config);
    let list = ["tool", "list_files"];
    let run = project.zonekeep(list);
    assert_snapshot!(run.to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: this project file reaches outside its own directory and is not trusted yet:
      lift the limit 'output' (zonekeep.yaml:6)
      raise the limit 'memory' to 1000 GiB (zonekeep.yaml:3)
      raise the limit 'processes' to 200000 (zonekeep.yaml:4)
      raise the limit 'tmp' to 500 GiB (zonekeep.yaml:5)

    hint: if you want this, run `zonekeep trust` in a terminal; it shows what the file opens and remembers your answer
    ");
    project.zonekeep(["trust", "--yes"]).ok();
    project.zonekeep(list).ok();
    // A flag that takes one of them back leaves the others trusted.
    project.zonekeep(list.iter().chain(&["--set", "sandbox.limits.tmp=1M"])).ok();
    // What is within the defaults, and what the user's own flags raise, needs none.
    let tight = "sandbox: { limits: { memory: 64M, processes: 1024, tmp: 1G, output: 1M } }\n";
    let project = Project::with_config(PROGRAM, tight);
    project.zonekeep(list).ok();
    project.zonekeep(list.iter().chain(&["--set", "sandbox.limits.processes=200000"])).ok();
}

#[test]
fn private_files_get_no_more_than_the_memory() {
    let project = Project::new(PROGRAM);
    let planned = |limit: &str| {
        let run = project.zonekeep(["explain", "run", "--json", "--limit", limit, "--", "true"]);
        let said: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
        let limits = said["limits"].as_array().unwrap();
        limits.iter().find(|limit| limit[0] == "tmp").unwrap()[1].as_str().unwrap().to_owned()
    };
    assert_eq!(planned("memory=64M,tmp=500G"), "64 MiB");
    assert_eq!(planned("memory=64M,tmp=none"), "64 MiB");
    assert_eq!(planned("memory=64M,tmp=1M"), "1 MiB");
}

#[test]
fn what_the_users_own_flags_open_needs_no_trust() {
    let project = Project::new(PROGRAM).file("../other/a.txt", "mine");
    let run = project.zonekeep(READ.into_iter().chain(["--zone", "other=../other"]));
    assert_eq!(run.ok(), "mine");
    assert_eq!(
        project.zonekeep(["trust"]).ok(),
        "This project stays inside its own directory; there is nothing to trust."
    );
}

#[test]
fn looser_rules_inside_the_project_are_shown_and_asked_about() {
    let config = "sandbox:
  mode: direct
  zones:
    work: { path: ./work, mode: rw, approval: { write: ask } }
";
    let project = Project::with_config(PROGRAM, config).dir("work");
    let records = || project.state().join("zonekeep/trusted").exists();
    let no_terminal = "error: there is no terminal to ask on";
    let run = project.zonekeep(["trust"]);
    assert!(run.exit == 125 && run.stderr.contains(no_terminal), "{run}");
    let says = "May be looser than the defaults:\n  sandbox.zones.work (zonekeep.yaml:4)\n";
    assert!(run.stdout.contains(says), "{run}");
    assert!(!records(), "an unanswered question is no yes");
    project.zonekeep(["trust", "--yes"]).ok();
    let nowhere = "This project stays inside its own directory, and its rules are nowhere looser \
                   than those you have trusted.";
    assert_eq!(project.zonekeep(["trust"]).ok(), nowhere);
    project.put("zonekeep.yaml", format!("# comment\n{}", config.replace("mode: rw", "mode: ro")));
    assert_eq!(project.zonekeep(["trust"]).ok(), nowhere, "stricter");
    let looser =
        format!("{}shell: {{ default: contained }}\n", config.replace("ask", "preApproved"));
    project.put("zonekeep.yaml", &looser);
    assert_snapshot!(project.zonekeep(["trust"]).to_string(), @"
    exit 125
    --- stdout
    [TEMP]/project/zonekeep.yaml stays inside its own directory
    Since you trusted it last:
      + sandbox.zones.work.approval.write may be looser than before (zonekeep.yaml:4)
      + shell may be looser than before (zonekeep.yaml:5)
    --- stderr
    error: there is no terminal to ask on

    hint: run `zonekeep trust` in a terminal, or `zonekeep trust --yes` if you have read the list
    ");
    // A list that no one can have read is not asked about.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = project.command();
    let run = command.arg("trust").stdout(writer).output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(stderr.contains("the list could not be shown"), "{stderr}");
    let Some(no) = project.zonekeep_typed(["trust"], &[("Trust it? [y/N] ", "\n")]) else {
        return skip("no terminal can be made here");
    };
    assert_eq!(no.run.exit, 1, "{}", no.run);
    assert_ne!(project.zonekeep(["trust"]).exit, 0, "a no is no yes");
    let yes = project.zonekeep_typed(["trust"], &[("Trust it? [y/N] ", "y\n")]).unwrap();
    assert!(yes.run.ok().contains("shell may be looser"), "{}", yes.run);
    assert_eq!(project.zonekeep(["trust"]).ok(), nowhere);
}

#[test]
fn a_file_that_loosens_nothing_is_not_asked_about() {
    let project = Project::with_config(PROGRAM, "sandbox: { limits: { processes: 10 } }\n");
    assert_eq!(
        project.zonekeep(["trust"]).ok(),
        "This project stays inside its own directory, and its rules are nowhere looser than the \
         defaults; there is nothing to trust."
    );
}

#[test]
fn a_person_at_a_terminal_can_trust() {
    let project = reaching();
    let Some(no) = project.zonekeep_typed(["trust"], &[("Trust it? [y/N] ", "\n")]) else {
        return skip("no terminal can be made here");
    };
    assert_eq!(no.run.exit, 1, "{}", no.run);
    assert_eq!(project.zonekeep(READ).exit, 125);
    let yes = project.zonekeep_typed(["trust"], &[("Trust it? [y/N] ", "y\n")]).unwrap();
    assert!(yes.run.ok().contains("read and write [TEMP]/other as /other"), "{}", yes.run);
    project.zonekeep(READ).ok();
}

#[test]
fn the_list_of_trusted_files_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let project = reaching();
    project.zonekeep(["trust", "--yes"]).ok();
    let mode =
        |name: &str| project.state().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("zonekeep/trusted"), 0o600);
    assert_eq!(mode("zonekeep"), 0o700);
}

/// Root that is given another user's state directory does not obey what that user
/// wrote there.
#[test]
fn a_state_directory_of_another_user_is_refused() {
    if !zonekeep_testkit::is_root() {
        return skip("only root can give a directory away");
    }
    let project = reaching();
    project.zonekeep(["trust", "--yes"]).ok();
    assert_eq!(project.zonekeep(READ).ok(), "secret", "the control");
    let state = project.state().join("zonekeep");
    let give = |path: &std::path::Path, uid| {
        std::os::unix::fs::chown(path, Some(uid), None).unwrap();
    };
    // The directory is root's again, and the line in it is still another's.
    give(&state.join("trusted"), 65534);
    let run = project.zonekeep(READ);
    assert!(run.exit == 125 && run.stderr.contains("is not trusted yet"), "{run}");
    give(&state.join("trusted"), 0);
    give(&state, 65534);
    for command in [&READ[..], &["log"], &["trust", "--yes"], &["quarantine", "list"]] {
        let run = project.zonekeep(command);
        assert!(run.exit != 0, "{command:?}: {run}");
        assert!(run.stderr.contains("belongs to another user (uid 65534)"), "{command:?}: {run}");
    }
}

#[test]
fn a_link_in_place_of_a_default_directory_needs_trust_without_any_file() {
    let project = Project::new(PROGRAM).dir("../elsewhere").link(".sandbox", "../elsewhere");
    let write = ["tool", "write_file", r#"{"path": "/cache/a", "content": "x"}"#];
    let run = project.zonekeep(write.into_iter().chain(["--approve", "all"]));
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("read and write [TEMP]/elsewhere/cache as /cache"), "{run}");
    assert_eq!(project.tree("../elsewhere"), Vec::<String>::new());
}

#[test]
fn freeing_part_of_what_a_guard_covers_needs_trust_too() {
    let freed = |pattern: &str, word: &str| {
        let config = format!("sandbox:\n  guard:\n    \"{pattern}\": {word}\n");
        Project::with_config(PROGRAM, &config).zonekeep(["tool", "list_files"]).exit
    };
    for pattern in [".git/hooks/**", ".git/config", ".git/**", ".envrc"] {
        assert_eq!(freed(pattern, "allow"), 125, "{pattern}");
    }
    // The control: being stricter opens nothing.
    assert_eq!(freed(".git/hooks/**", "deny"), 0);
}

#[test]
fn a_command_in_a_sandbox_trusts_nothing() {
    let project = Project::with_config(PROGRAM, "sandbox: { pass_env: [A] }\n");
    let mut command = project.command();
    let run = project.finish(command.env("ZONEKEEP", "1").args(["trust", "--yes"]));
    assert!(run.exit == 125 && run.stderr.contains("in a sandbox cannot trust"), "{run}");
    assert!(!project.state().join("zonekeep/trusted").exists());
    project.zonekeep(["trust", "--yes"]).ok();
}
