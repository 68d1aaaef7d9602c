//! `zonekeep run --profile`: whole agents inside, with private copies of their settings.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zonekeep_testkit::{Project, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const KEY: &str = "sk-ant-real-key-of-the-user-01";

/// Returns a project of a user with settings of Claude Code.
fn project() -> Project {
    let project = Project::new(PROGRAM);
    home(&project, ".claude/settings.json", "{\"theme\":\"dark\"}\n");
    project
}

fn home(project: &Project, path: &str, content: &str) -> PathBuf {
    let path = project.beside("home").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

fn zonekeep(project: &Project, args: &[&str]) -> Run {
    project.finish(project.command().env("ANTHROPIC_API_KEY", KEY).args(args))
}

fn sh(project: &Project, script: &str) -> Run {
    let run = zonekeep(project, &["run", "--profile", "claude-code", "--", "sh", "-ec", script]);
    assert_eq!(run.exit, 0, "{run}");
    run
}

/// Returns the id of the change that a run had held.
fn id(run: &Run) -> String {
    let words = run.stderr.split_once("quarantine show ").unwrap_or_else(|| panic!("{run}")).1;
    words.split('`').next().unwrap().to_owned()
}

#[test]
fn settings_are_a_copy_and_their_changes_wait_for_the_user() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project();
    let settings = project.beside("home/.claude/settings.json");
    home(&project, ".claude/commands/own.md", "mine\n");
    home(&project, ".claude/projects/other/secret.jsonl", "another conversation\n");
    let script = "cat ~/.claude/settings.json ~/.claude/commands/own.md; \
                  ls ~/.claude/projects 2>/dev/null || echo private; \
                  cat \"$CLAUDE_CONFIG_DIR\"/.claude.json; pwd; echo in > here.txt; \
                  echo '{\"hooks\":{}}' > ~/.claude/settings.json; \
                  echo new > ~/.claude/commands/new.md; echo said > ~/.claude/history.jsonl";
    let run = sh(&project, script);
    let seen = "{\"theme\":\"dark\"}\nmine\nprivate\n{\"hasCompletedOnboarding\":true}";
    assert!(run.stdout.starts_with(seen), "{run}");
    assert_eq!(project.read("here.txt"), "in\n", "the current directory is granted");
    assert!(run.stderr.contains("2 changes of settings held, yours are as before"), "{run}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"theme\":\"dark\"}\n");
    assert!(!project.beside("home/.claude/commands/new.md").exists());
    assert!(!project.beside("home/.claude/history.jsonl").exists());

    // The next run starts with the user's settings, and with what else the agent wrote.
    let script = "cat ~/.claude/settings.json ~/.claude/history.jsonl; ls ~/.claude/commands; \
                  echo '{\"hooks\":{}}' > ~/.claude/settings.json";
    let again = sh(&project, script);
    assert_eq!(again.stdout, "{\"theme\":\"dark\"}\nsaid\nown.md\n");
    // The same change waits once.
    let list = zonekeep(&project, &["quarantine", "--everywhere", "--json"]);
    let list: Value = serde_json::from_str(list.ok()).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list:#}");
    // The user takes it over.
    let id = id(&again);
    let shown = zonekeep(&project, &["quarantine", "show", &id]);
    assert!(shown.ok().contains("| {\"hooks\":{}}"), "{shown}");
    let refused = zonekeep(&project, &["quarantine", "restore", &id]);
    assert_ne!(refused.exit, 0, "nothing is replaced without being told: {refused}");
    zonekeep(&project, &["quarantine", "restore", &id, "--replace"]).ok();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"hooks\":{}}\n");
    let after = sh(&project, "cat ~/.claude/settings.json");
    assert_eq!(after.stdout, "{\"hooks\":{}}\n");
    assert_eq!(after.stderr, "", "what was not changed is not held");

    // The result as data, and another project's agent knows nothing of this one.
    let args = [
        "run",
        "--json",
        "--profile",
        "claude-code",
        "--",
        "sh",
        "-c",
        "echo 1 > ~/.claude/CLAUDE.md",
    ];
    let value: Value = serde_json::from_str(&zonekeep(&project, &args).stdout).unwrap();
    assert_eq!(value["caught"][0]["fate"], "held", "{value:#}");
    assert!(value["caught"][0]["quarantine"].is_string(), "{value:#}");
    let other = project.beside("other");
    fs::create_dir(&other).unwrap();
    let mut command = project.command();
    command.current_dir(&other).args(["run", "--profile", "claude-code", "--", "sh", "-c"]);
    let run = project.finish(command.arg("ls ~/.claude/history.jsonl || echo none"));
    assert_eq!(run.stdout.trim(), "none", "{run}");
}

#[test]
fn an_agent_gets_a_placeholder_and_no_credential() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project();
    home(&project, ".claude/.credentials.json", &format!("{{\"token\":\"{KEY}\"}}"));
    home(&project, ".claude.json", &format!("{{\"primaryApiKey\":\"{KEY}\"}}"));
    home(&project, ".claude/CLAUDE.md", &format!("my key is {KEY}\n"));
    home(&project, ".claude/skills/x/auth.json", "private");
    home(&project, ".claude/skills/x/SKILL.md", "skill");
    home(&project, "canary.txt", "canary");
    // In two pieces: what is written in the command is no leak.
    let (a, b) = KEY.split_at(9);
    let script = format!(
        "printf %s%s {a} {b} > /dev/shm/pattern; echo \"key $ANTHROPIC_API_KEY\"; \
         grep -rlF -f /dev/shm/pattern ~ /tmp /etc/zonekeep /proc/self/environ && echo leaked; \
         cat ~/canary.txt ~/.claude.json ~/.claude/.credentials.json ~/.claude/skills/x/auth.json \
         2>/dev/null; cat ~/.claude/skills/x/SKILL.md; echo $IS_SANDBOX"
    );
    let run = sh(&project, &format!("set +e; {script}"));
    assert!(run.stdout.starts_with("key zonekeep-secret-anthropic_api_key-"), "{run}");
    assert!(!run.stdout.contains("leaked") && !run.stdout.contains(KEY), "{run}");
    assert!(run.stdout.ends_with("\nskill1\n"), "a credential or the canary was read: {run}");
    assert!(run.stderr.contains("~/.claude/CLAUDE.md is not copied: it seems to hold a key"));
    assert!(run.stderr.contains("skills/x/auth.json is not copied"), "{run}");
    // Nothing of the key is kept, and outside it is found: the control.
    assert_eq!(holding(&project.state(), KEY), Vec::<PathBuf>::new());
    assert_eq!(holding(&project.beside("home"), KEY).len(), 3);
    // Without a key the agent starts, and the user is told.
    let without = project.zonekeep(["run", "--profile", "claude-code", "--", "env"]);
    assert!(!without.ok().contains("ANTHROPIC_API_KEY"), "{without}");
    assert!(without.stderr.contains("claude gets no key"), "{without}");
}

/// Returns the files below a directory that hold a text.
fn holding(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).is_ok_and(|b| String::from_utf8_lossy(&b).contains(text)) {
            found.push(path);
        }
    }
    found
}

/// Zonekeep reads, writes and removes files in a copy where the agent may have put links.
#[test]
fn links_in_the_private_copy_lead_nowhere() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project();
    home(&project, ".claude/commands/own.md", "mine\n");
    let canary = home(&project, "precious/own.md", "canary\n");
    let precious = canary.parent().unwrap();
    let script = format!(
        "rm -rf ~/.claude/commands; ln -s {0} ~/.claude/commands; \
         ln -sf {0}/own.md ~/.claude/settings.json; ln -s {0} ~/.claude/skills; \
         mkdir -p ~/.claude/agents; ln -s {0}/own.md ~/.claude/agents/a.md; \
         mkfifo ~/.claude/CLAUDE.md; ln -sf {0}/own.md ~/.claude/.claude.json",
        precious.display()
    );
    let run = sh(&project, &script);
    assert!(run.stderr.contains("could not be kept"), "{run}");
    let quarantine = project.state().join("zonekeep/quarantine");
    assert!(holding(&quarantine, "canary").is_empty(), "a link was read: {run}");
    // The next run puts the user's settings back, and nothing where the links lead to.
    let run = sh(&project, "cat ~/.claude/commands/own.md ~/.claude/settings.json");
    assert_eq!(run.stdout, "mine\n{\"theme\":\"dark\"}\n");
    assert_eq!(fs::read_to_string(&canary).unwrap(), "canary\n");
    assert_eq!(fs::read_dir(precious).unwrap().count(), 1);
    // The control: outside the links lead there.
    symlink(precious, project.beside("home/link")).unwrap();
    assert_eq!(fs::read_to_string(project.beside("home/link/own.md")).unwrap(), "canary\n");
}

#[test]
fn a_profile_is_shown_explained_and_refused_by_name() {
    let project = project();
    let list = project.zonekeep(["profile"]);
    for name in ["aider", "claude-code", "codex", "gemini", "goose", "opencode", "qwen"] {
        assert!(list.ok().lines().any(|line| line.starts_with(name)), "{name}: {list}");
        let shown = project.zonekeep(["profile", "show", name]);
        assert!(shown.ok().contains("hosts: ["), "{shown}");
    }
    let unknown = project.zonekeep(["run", "--profile", "claud-code", "--", "claude"]);
    assert_eq!(unknown.exit, 2, "{unknown}");
    assert!(unknown.stderr.contains("there is no profile 'claud-code'"), "{unknown}");
    assert!(unknown.stderr.contains("did you mean 'claude-code'? profiles: aider, "), "{unknown}");

    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let explained = zonekeep(&project, &["explain", "run", "--profile", "codex", "--", "codex"]);
    let text = explained.ok();
    assert!(text.starts_with("codex -c 'sandbox_mode=\"danger-full-access\"'"), "{explained}");
    assert!(text.contains("api.openai.com (--profile codex)"), "{explained}");
    assert!(text.contains("the agent has its own ~/.codex"), "{explained}");
    assert!(!project.state().join("zonekeep/agents").exists(), "nothing is made");
    let missing = project.zonekeep(["run", "--profile", "claude-code", "--", "./claude"]);
    assert_eq!(missing.exit, 127, "{missing}");
    assert!(missing.stderr.contains("runs claude, which is not in your PATH"), "{missing}");
    // No other home than a private one.
    let weak =
        ["run", "--backend", "landlock", "--accept-weaker", "--profile", "codex", "--", "true"];
    let weak = project.zonekeep(weak);
    assert_eq!(weak.exit, 125, "{weak}");
    assert!(weak.stderr.contains("needs a home directory of its own"), "{weak}");
    let dir = project.beside("home/.claude");
    let met = ["run", "--profile", "claude-code", "--rw", dir.to_str().unwrap(), "--", "true"];
    assert_eq!(zonekeep(&project, &met).exit, 125);
}

/// A profile of the user's own, with a program that behaves as agents do.
#[test]
fn a_profile_of_the_user_adds_an_agent_and_joins_other_flags() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project();
    let profile = "program: tool\nhosts: [api.test]\nargs: [--inside]\n\
                   home_env: { TOOL_HOME: .tool }\nenv: { TOOL_SANDBOX: 'off' }\n\
                   keep: [.tool]\nsettings: [.tool/config, .toolrc]\nexcept: [.tool/config/own]\n";
    home(&project, ".config/zonekeep/profiles/tool.yaml", profile);
    home(&project, ".toolrc", "rc\n");
    home(&project, ".tool/config/a", "a\n");
    let tool = "#!/bin/sh\necho \"$@ $TOOL_SANDBOX $ZK_SET ${TOOL_HOME#$HOME/}\"; cat ~/.toolrc\n\
                echo x >> ~/.toolrc || echo read-only; echo b > ~/.tool/config/own\n\
                cat ~/.tool/config/a; ls -d other\n";
    let program = home(&project, "bin/tool", tool);
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(project.path("other")).unwrap();
    let mut command = project.command();
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    command.env("PATH", path).args(["run", "--profile", "tool", "--ro", ".", "--env", "ZK_SET=1"]);
    let run = project.finish(command.args(["--", "tool", "go"]));
    assert_eq!(run.ok(), "--inside go off 1 .tool\nrc\nread-only\na\nother", "{run}");
    assert!(!run.stderr.contains("held"), "what the agent makes for itself is not held: {run}");
    assert_eq!(fs::read_to_string(project.beside("home/.toolrc")).unwrap(), "rc\n");

    let caches = project.zonekeep(["cache", "list"]);
    assert!(caches.ok().contains("-tool  "), "{caches}");
    project.zonekeep(["cache", "clear"]).ok();
    let homes = || fs::read_dir(project.state().join("zonekeep/agents")).unwrap().count();
    assert_eq!(homes(), 1, "conversations are not cleared with caches");
    project.zonekeep(["cache", "clear", "--agents"]).ok();
    assert_eq!(homes(), 0);
    // With `caches: fresh` the copy is removed after the run.
    let fresh = ["run", "--profile", "tool", "--set", "sandbox.caches=fresh", "--", "sh", "-c"];
    let run =
        zonekeep(&project, &[&fresh[..], &["cat ~/.tool/config/a; echo c > ~/.tool/c"]].concat());
    assert_eq!(run.ok(), "a");
    assert_eq!(homes(), 0);

    home(&project, ".config/zonekeep/profiles/tool.yaml", "program: tool\nhost: [api.test]\n");
    let broken = project.zonekeep(["run", "--profile", "tool", "--", "tool"]);
    assert_eq!(broken.exit, 125, "{broken}");
    assert!(broken.stderr.contains("tool.yaml"), "{broken}");
}

#[test]
fn the_profile_of_the_guide_works() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/agents.md");
    let guide = fs::read_to_string(guide).unwrap();
    let own = guide.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let project = project();
    home(&project, ".config/zonekeep/profiles/my-agent.yaml", own);
    let mut command = project.command();
    command.env("MY_KEY", KEY).args(["explain", "run", "--profile", "my-agent", "--"]);
    let run = project.finish(command.args(["my-agent", "go"]));
    assert!(run.ok().starts_with("my-agent --no-sandbox go"), "{run}");
}

/// An agent cannot keep the user's settings from its next run by closing its own copy.
#[test]
fn a_copy_that_the_agent_has_closed_is_opened_again() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let project = project();
    home(&project, ".claude/commands/own.md", "mine\n");
    sh(&project, "echo evil > ~/.claude/commands/evil.md; chmod 0 ~/.claude/commands ~/.claude");
    let again = sh(&project, "cat ~/.claude/settings.json; ls ~/.claude/commands");
    assert_eq!(again.stdout, "{\"theme\":\"dark\"}\nown.md\n", "{again}");
}
