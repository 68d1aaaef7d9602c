//! Every command that the README and the guide show is run, and prints what they show.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use zonekeep_testkit::{Project, Run, enforced, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command in a document, with the lines that the document shows below it.
#[derive(Debug, Clone)]
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// Returns the commands of a document: lines after `$ ` in `console` blocks, and lines of
/// `sh` blocks that are not a script. A comment after two blanks is not part of one.
fn shown(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let (mut block, mut is_script) = (None, false);
    for (number, line) in text.lines().enumerate() {
        if let Some(kind) = line.strip_prefix("```") {
            block = block.is_none().then_some(kind);
            is_script = false;
            continue;
        }
        let new = |command: &str| {
            let command = command.split_once("  #").map_or(command, |(command, _)| command);
            Shown { line: number + 1, command: command.trim().to_owned(), output: Vec::new() }
        };
        match block {
            Some("console") => match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push(new(command)),
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("line {}: output of no command", number + 1),
            },
            Some("sh") => {
                is_script |= line.starts_with("#!");
                if !is_script && !line.is_empty() {
                    found.push(new(line));
                }
            }
            _ => {}
        }
    }
    found
}

/// A document whose commands are run, each at least once.
struct Document {
    name: &'static str,
    shown: Vec<Shown>,
    ran: RefCell<Vec<bool>>,
}

impl Document {
    fn open(name: &'static str) -> Self {
        let shown = shown(&fs::read_to_string(root().join(name)).unwrap());
        let ran = RefCell::new(vec![false; shown.len()]);
        Document { name, shown, ran }
    }

    /// Finds a command by its whole text, the first that has not been run.
    #[track_caller]
    fn take(&self, command: &str) -> &Shown {
        let mut ran = self.ran.borrow_mut();
        let same = |number: &usize| self.shown[*number].command == command;
        let numbers: Vec<usize> = (0..self.shown.len()).filter(same).collect();
        let number = numbers.iter().find(|number| !ran[**number]).or(numbers.last());
        let number = *number.unwrap_or_else(|| panic!("{} does not show {command:?}", self.name));
        ran[number] = true;
        &self.shown[number]
    }

    /// Runs a command in a project and holds it to the output that is shown.
    #[track_caller]
    fn run(&self, project: &Project, command: &str) -> Run {
        self.run_with(project, command, &[])
    }

    /// Does the same with words replaced that stand for something else.
    #[track_caller]
    fn run_with(&self, project: &Project, command: &str, words: &[(&str, &str)]) -> Run {
        let shown = self.take(command);
        let mut line = command.to_owned();
        for (program, stand_in) in STAND_INS {
            line = line.replace(program, stand_in);
        }
        for (word, meant) in words {
            assert!(line.contains(word), "{line:?} has no {word}");
            line = line.replace(word, meant);
        }
        let mut path = OsString::from(project.path("bin"));
        path.push(":");
        path.push(project.program().parent().unwrap());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut shell = Command::new("setsid");
        project.prepare(shell.args(["--wait", "sh", "-c", &line]));
        let run = project.finish(shell.env("PATH", path).env("LC_ALL", "C.UTF-8"));
        let printed = format!("{}{}", run.stdout, run.stderr);
        let mut rest = printed.as_str();
        for wanted in shown.output.iter().filter(|line| line.trim() != "…") {
            let Some((_, after)) = rest.split_once(wanted.trim_end()) else {
                panic!("{}:{}: {wanted:?} is not in its place: {run}", self.name, shown.line);
            };
            rest = after;
        }
        run
    }

    /// Leaves out commands that this machine cannot confine.
    fn leave(&self, commands: &[&str]) {
        for command in commands {
            self.take(command);
        }
    }

    /// Notes that a test of another file runs a command.
    #[track_caller]
    fn elsewhere(&self, command: &str, file: &str, test: &str) {
        self.take(command);
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(test), "{file} has no {test}");
    }
}

impl Drop for Document {
    /// Fails where a command of the document was not run.
    fn drop(&mut self) {
        let ran = self.ran.borrow();
        let left = self.shown.iter().zip(ran.iter()).filter(|(_, ran)| !**ran);
        let left: Vec<String> = left
            .map(|(shown, _)| format!("{}:{}: {}", self.name, shown.line, shown.command))
            .collect();
        let panics = std::thread::panicking();
        assert!(panics || left.is_empty(), "no test runs these:\n{}", left.join("\n"));
    }
}

/// Makes a program of the project, in its `bin`.
fn program(project: Project, name: &str, script: &str) -> Project {
    let path = format!("bin/{name}");
    let project = project.file(&path, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(project.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    project
}

/// Programs that a document names, and those of the project that stand in for them:
/// `PATH` leads to none in a writable directory.
const STAND_INS: [(&str, &str); 3] =
    [("-- cargo ", "-- bin/cargo "), ("-- make ", "-- bin/make "), ("-- gh ", "-- bin/gh ")];

/// A project with a program for each toolchain that a document names.
fn toolchains(project: Project) -> Project {
    let project = program(project, "cargo", "echo cargo \"$@\"");
    program(project, "make", "echo make \"$@\"")
}

/// The project file at the top of the README.
const TOP: &str = "sandbox:\n  mode: direct\n  zones:\n    input:  { path: ./in,  mode: ro }\n    \
                   output: { path: ./out, mode: rw, approval: { write: preApproved } }\n";

#[test]
fn readme() {
    let readme = Document::open("README.md");
    for script in ["scripts/demo", "scripts/test"] {
        readme.take(script);
        assert!(root().join(script).exists());
    }
    readme.elsewhere("scripts/demo", "crates/cli/tests/examples.rs", "fn pipeline()");
    readme.elsewhere("scripts/test", ".ci/run", "scripts/test");
    readme.elsewhere(
        "cargo install --path crates/cli",
        "crates/cli/Cargo.toml",
        "name = \"zonekeep\"",
    );
    let top = Project::with_config(PROGRAM, TOP)
        .file("in/notes.md", "The harbour opens at six.\n")
        .dir("out");
    readme.run(&top, "cat zonekeep.yaml").ok();
    let write = r#"zonekeep tool write_file '{"path": "/input/notes.md", "content": "gone"}'"#;
    assert_eq!(readme.run(&top, write).exit, 1);

    let project = toolchains(Project::new(PROGRAM)).file("new.yaml", TOP.replace("ro }", "rw }"));
    readme.run(&project, "zonekeep init").ok();
    readme.run(&project, "zonekeep check").ok();
    readme.run(&project, r#"zonekeep tool list_files '{"path": "/"}'"#).ok();
    readme.run(&project, "zonekeep explain write /input/a.txt").ok();
    let refused = r#"{"path": "/input/a.txt", "content": "x"}"#;
    assert_eq!(project.zonekeep(["tool", "write_file", refused]).exit, 1);
    let denied = readme.run(&project, "zonekeep log --verdict deny");
    assert!(denied.ok().contains("/input/a.txt"), "{denied}");
    let replayed = readme.run(&project, "zonekeep replay --config new.yaml");
    assert!(replayed.stdout.contains("would change"), "{replayed}");
    let asked = readme.run(&project, "zonekeep explain run 'git log | head'");
    assert!(asked.stdout.contains("asked about"), "{asked}");
    let planned = readme.run(&project, "zonekeep explain run --rw . -- cargo test");
    assert!(planned.ok().contains("[TEMP]/project"), "{planned}");

    let commands = [
        "zonekeep run -- cat /input/notes.md",
        "zonekeep run -- touch /input/notes.md",
        "zonekeep run -- curl -sS https://example.com",
        "zonekeep run -- sh -c 'ls -l /input > /output/list.txt'",
        "zonekeep run --rw . -- cargo test",
        "zonekeep run --profile claude-code -- claude",
    ];
    if !enforced(PROGRAM) {
        return readme.leave(&commands);
    }
    readme.run(&top, commands[0]).ok();
    assert_eq!(readme.run(&top, commands[1]).exit, 1);
    assert_eq!(readme.run(&top, commands[2]).exit, 6);
    project.put("input/a.csv", "b\na\n");
    readme.run(&project, commands[3]).ok();
    assert!(project.read("output/list.txt").contains("a.csv"));
    assert_eq!(readme.run(&project, commands[4]).ok(), "cargo test");
    let project = program(Project::new(PROGRAM), "claude", "echo $IS_SANDBOX");
    let run = readme.run_with(&project, commands[5], &[("-- claude", "-- bin/claude")]);
    assert_eq!(run.ok(), "1");
}

#[test]
fn agents() {
    let guide = Document::open("docs/guide/agents.md");
    let names = ["claude", "codex", "gemini", "opencode", "aider", "goose", "qwen"];
    let project = names.into_iter().fold(Project::new(PROGRAM), |project, name| {
        program(project, name, &format!("echo {name} \"$@\""))
    });
    fs::create_dir(project.beside("library")).unwrap();
    for command in ["zonekeep quarantine --everywhere", "zonekeep cache list"] {
        guide.run(&project, command).ok();
    }
    let planned = guide.run(&project, "zonekeep explain run --profile claude-code -- claude");
    assert!(planned.ok().contains("api.anthropic.com (--profile claude-code)"), "{planned}");
    let file = "crates/cli/tests/profiles.rs";
    let test = "fn settings_are_a_copy_and_their_changes_wait_for_the_user()";
    guide.elsewhere("zonekeep quarantine show ID", file, test);
    guide.elsewhere("zonekeep quarantine restore ID --replace", file, test);
    let another = "zonekeep run --profile claude-code --allow-host models.example.org --set \
                   'sandbox.secrets.ANTHROPIC_API_KEY.hosts=[models.example.org]' -- claude";
    let commands = [
        "zonekeep run --profile claude-code -- claude",
        "zonekeep run --profile codex -- codex",
        "zonekeep run --profile gemini -- gemini",
        "zonekeep run --profile opencode -- opencode",
        "zonekeep run --profile aider -- aider",
        "zonekeep run --profile goose -- goose session",
        "zonekeep run --profile qwen -- qwen",
        "zonekeep run --profile claude-code --net python,node -- claude",
        "zonekeep run --profile codex --rw . --ro ../library -- codex",
        "zonekeep run --profile aider --allow-host localhost:11434 --env \
         OLLAMA_API_BASE=http://localhost:11434 -- aider",
        another,
    ];
    let clear = "zonekeep cache clear --agents";
    if !enforced(PROGRAM) {
        return guide.leave(&[&commands[..], &[clear]].concat());
    }
    for command in commands {
        let program = command.rsplit_once("-- ").unwrap().1.split(' ').next().unwrap();
        let (word, meant) = (format!("-- {program}"), format!("-- bin/{program}"));
        let mut words = vec![(word.as_str(), meant.as_str())];
        if command == another {
            words.push(("zonekeep run", "ANTHROPIC_API_KEY=key-of-the-test zonekeep run"));
        }
        let run = guide.run_with(&project, command, &words);
        assert!(run.ok().starts_with(program), "{command}: {run}");
    }
    guide.run(&project, clear).ok();
}

#[test]
fn approvals() {
    let guide = Document::open("docs/guide/approvals.md");
    let config = "sandbox:\n  mode: direct\n  zones:\n    repo: { path: ., mode: rw }\n  \
                  working_dir: /repo\n\nshell:\n  presets: [read_only]\n  rules:\n    \
                  - { pattern: \"git push *\", approval: ask, grants: { network: [\"example.org\"] } }\n";
    let project = Project::with_config(PROGRAM, config);
    guide.run(&project, "zonekeep explain run 'git push origin main | tail -1'");
}

#[test]
fn approvers() {
    let guide = Document::open("docs/guide/approvers.md");
    let file = "crates/cli/tests/approvers.rs";
    for (command, test) in [
        (
            r#"zonekeep tool --approve socket write_file '{"path": "/output/a.md", "content": "hello"}'"#,
            "fn a_question_waits_on_the_socket_until_it_is_answered()",
        ),
        ("zonekeep approve", "fn a_person_answers_at_another_terminal()"),
        ("zonekeep approve --list", "fn a_question_waits_on_the_socket_until_it_is_answered()"),
        (
            "zonekeep approve 9c41d0b7a2e65f38-1 no --note 'write to /draft instead'",
            "fn each_answer_reaches_the_session_that_asked()",
        ),
    ] {
        guide.elsewhere(command, file, test);
    }
    let config = TOP.replace("preApproved", "ask");
    let project = Project::with_config(PROGRAM, &config).dir("in").dir("out");
    let approver = project.beside("home/bin/ask-me");
    fs::create_dir(approver.parent().unwrap()).unwrap();
    fs::write(&approver, "#!/bin/sh\ncat >/dev/null; echo '{\"approved\": true}'\n").unwrap();
    fs::set_permissions(&approver, fs::Permissions::from_mode(0o755)).unwrap();
    let write = r#"zonekeep tool --approver ~/bin/ask-me write_file '{"path": "/output/a.md", "content": "hello"}'"#;
    guide.run(&project, write).ok();
    assert_eq!(project.read("out/a.md"), "hello");
}

#[test]
fn commands() {
    let guide = Document::open("docs/guide/commands.md");
    let project = program(toolchains(Project::with_config(PROGRAM, TOP)), "deploy", "echo $TOKEN")
        .file("check.py", "print('checked')\n")
        .dir("in")
        .dir("out");
    fs::rename(project.path("bin/deploy"), project.path("deploy")).unwrap();
    guide.run(&project, "zonekeep doctor");
    guide.run(&project, "zonekeep cache list").ok();
    guide.run(&project, "zonekeep cache clear").ok();
    for command in [
        "zonekeep explain run --rw . -- cargo test",
        "zonekeep explain run --all --rw . -- cargo test",
        "zonekeep run --explain --rw . -- cargo test",
    ] {
        assert!(guide.run(&project, command).ok().contains("[TEMP]/project"), "{command}");
    }
    guide.run(&project, "zonekeep quarantine").ok();
    let file = "crates/cli/tests/quarantine.rs";
    for (command, test) in [
        ("zonekeep quarantine show ID", "fn what_was_caught_is_listed_and_shown()"),
        ("zonekeep quarantine restore ID", "fn an_entry_is_put_back_once_and_over_nothing()"),
        ("zonekeep quarantine drop ID", "fn entries_are_removed_for_good()"),
    ] {
        guide.elsewhere(command, file, test);
    }
    let commands = [
        ("zonekeep run -- ls /", "input"),
        ("zonekeep run --rw . -- cargo test", "cargo test"),
        ("zonekeep run --rw . --net python,node -- make setup", "make setup"),
        (
            "zonekeep run --rw . --allow-host api.example.org --pass-env TOKEN -- ./deploy",
            "token-of-the-test",
        ),
        ("zonekeep run --json --rw . -- cargo test", "cargo test"),
        ("zonekeep run --ro . --timeout 30s --limit memory=512M -- python3 check.py", "checked"),
    ];
    if !enforced(PROGRAM) {
        return guide.leave(&commands.map(|(command, _)| command));
    }
    for (command, printed) in commands {
        let run = match command.contains("TOKEN") {
            true => {
                let meant = "TOKEN=token-of-the-test zonekeep run";
                guide.run_with(&project, command, &[("zonekeep run", meant)])
            }
            false => guide.run(&project, command),
        };
        assert!(run.ok().contains(printed), "{command}: {run}");
    }
}

#[test]
fn mcp() {
    let guide = Document::open("docs/guide/mcp.md");
    let project = program(Project::with_config(PROGRAM, TOP), "claude", "echo claude \"$@\"");
    let project = program(project, "codex", "echo codex \"$@\"").dir("in").dir("out");
    // crates/cli/tests/mcp_clients.rs runs the server with real clients.
    for client in ["claude", "codex"] {
        guide.run(&project, &format!("{client} mcp add zonekeep -- zonekeep mcp")).ok();
    }
    let asked = guide.run(&project, "zonekeep mcp install cursor");
    assert!(asked.exit != 0 && asked.stderr.contains("--yes"), "nobody is there: {asked}");
    guide.elsewhere(
        "zonekeep mcp --http 127.0.0.1:7333 --token-file ~/.config/zonekeep/token",
        "crates/cli/tests/mcp_http.rs",
        "fn a_token_file_is_needed_and_has_to_be_private()",
    );
}

#[test]
fn mcp_clients() {
    let guide = Document::open("docs/guide/mcp-clients.md");
    let project = Project::with_config(PROGRAM, TOP).dir("in").dir("out");
    let install = guide.take("zonekeep mcp install claude-code");
    let steps = [("Write it? [y/N] ", "y\n")];
    let Some(typed) = project.zonekeep_typed(["mcp", "install", "claude-code"], &steps) else {
        guide.take("zonekeep mcp uninstall claude-code");
        return skip("there is no way to make a terminal");
    };
    typed.run.ok();
    let printed = format!("{}{}{}", typed.screen, typed.run.stdout, typed.run.stderr);
    let printed = printed.replace("[TEMP]/project", "/home/me/repo");
    for line in
        install.output.iter().filter(|line| line.contains("zonekeep") || line.contains("next:"))
    {
        let program = format!("\"command\": \"{PROGRAM}\"");
        assert!(
            printed.replace(&program, "\"command\": \"zonekeep\"").contains(line),
            "{line}: {printed}"
        );
    }
    let left = guide.run(&project, "zonekeep mcp uninstall claude-code");
    assert!(left.stderr.contains("--yes"), "nobody is there: {left}");
}

#[test]
fn project_file() {
    let guide = Document::open("docs/guide/project-file.md");
    guide.elsewhere(
        "zonekeep replay --config new.yaml",
        "crates/cli/tests/replay.rs",
        "would change: ",
    );
}

#[test]
fn shell_rules() {
    let guide = Document::open("docs/guide/shell-rules.md");
    let config = "sandbox:\n  mode: direct\n  zones:\n    repo: { path: ./repo, mode: rw }\n  \
                  working_dir: /repo\nshell:\n  presets: [read_only]\n  rules:\n    \
                  - { pattern: \"rm -rf *\", approval: blocked }\n";
    let project = Project::with_config(PROGRAM, config).dir("repo").file("new.yaml", config);
    let explained = guide.run(&project, "zonekeep explain run 'git add a && rm -fr /repo'");
    assert!(explained.stdout.contains("rm -rf *"), "{explained}");
    let replayed = guide.run(&project, "zonekeep replay --config new.yaml");
    assert!(replayed.stdout.contains("would change"), "{replayed}");
    let ls = r#"zonekeep tool shell '{"command": "ls -l | head"}'"#;
    guide.elsewhere("zonekeep log --why ID", "crates/cli/tests/log_why.rs", "\"--why\"");
    if !enforced(PROGRAM) {
        return guide.leave(&[ls]);
    }
    guide.run(&project, ls).ok();
}

#[test]
fn workers() {
    let guide = Document::open("docs/guide/workers.md");
    let file = "crates/cli/tests/work.rs";
    for (command, test) in [
        ("zonekeep work --list", "fn workers_are_listed_with_what_they_would_get()"),
        ("zonekeep explain worker publisher --from main", "fn a_call_is_explained()"),
        ("zonekeep chat assistant", "fn a_conversation_goes_on_line_by_line()"),
    ] {
        guide.elsewhere(command, file, test);
    }
    let replies = "main: [{ say: done }]\nanalyst: [{ say: done }]\n";
    let worker = |name: &str| {
        format!(
            "---\nname: {name}\ndescription: Works\nsandbox: {{ zones: [{{ name: inbox, mode: ro }}] }}\n---\nWork.\n"
        )
    };
    let config = "model: scripted:replies.yaml\nsandbox:\n  mode: direct\n  zones:\n    \
                  inbox: { path: ./inbox, mode: ro }\n";
    let project = Project::with_config(PROGRAM, config)
        .file("replies.yaml", replies)
        .file("main.worker", worker("main"))
        .file("analyst.worker", worker("analyst"))
        .file("inbox/offer.md", "An offer.\n")
        .file("notes.txt", "Notes.\n");
    let attach = "zonekeep work analyst --attach /inbox/offer.md --model anthropic:NAME";
    for (command, words) in [
        ("zonekeep work main \"Evaluate what came in\"", vec![]),
        ("zonekeep work main --input notes.txt", vec![]),
        (attach, vec![("anthropic:NAME", "scripted:replies.yaml")]),
    ] {
        assert_eq!(guide.run_with(&project, command, &words).ok(), "done", "{command}");
    }
}

#[test]
fn recipes() {
    let guide = Document::open("docs/guide/recipes.md");
    let text = fs::read_to_string(root().join("docs/guide/recipes.md")).unwrap();
    for block in text.split("```yaml\n").skip(1) {
        let project = Project::with_config(PROGRAM, block.split_once("```").unwrap().0);
        project.zonekeep(["check"]).ok();
    }
    let project = toolchains(Project::new(PROGRAM));
    let project =
        program(project, "gh", "case $GH_TOKEN in zonekeep-secret-*) echo pr list;; esac");
    let recipe = |title: &str| {
        let (_, after) = text.split_once(&format!("## {title}\n")).unwrap();
        after.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0.to_owned()
    };
    project.put("zonekeep.yaml", recipe("git push over https"));
    guide.run(&project, "zonekeep trust --yes").ok();
    let helper = "git config credential.https://git.example.org.helper '!f() { echo username=git; echo \"password=$GIT_TOKEN\"; }; f'";
    for command in [helper, "zonekeep run -- git push origin main"] {
        guide.elsewhere(
            command,
            "crates/cli/tests/network/clients/git.rs",
            "fn git_push_over_https_with_a_secret()",
        );
    }
    guide.run(&project, "zonekeep doctor");
    guide.elsewhere(
        "zonekeep work main \"Evaluate what came in\" --approve none",
        "crates/cli/tests/work.rs",
        "fn a_run_is_shown_and_its_answer_printed()",
    );
    guide.run(&project, "zonekeep log --outcome refused").ok();
    let commands = [
        "zonekeep run -- gh pr list",
        "zonekeep run --rw . --net python,node -- make setup",
        "zonekeep run --rw . --timeout 20m --limit memory=4G -- make test",
        "zonekeep run --json --rw . -- make test",
        "git clone --quiet --no-hardlinks . ../agent-a",
        "zonekeep run --rw ../agent-a -- git -C ../agent-a commit --quiet --allow-empty -m 'from agent a'",
        "git pull --quiet ../agent-a",
    ];
    if !enforced(PROGRAM) {
        return guide.leave(&commands);
    }
    project.put("zonekeep.yaml", recipe("GitHub CLI"));
    project.zonekeep(["trust", "--yes"]).ok();
    let asks =
        guide.run_with(&project, commands[0], &[("zonekeep", "GH_TOKEN=a-long-token zonekeep")]);
    assert_eq!(asks.ok(), "pr list", "{asks}");
    fs::remove_file(project.path("zonekeep.yaml")).unwrap();
    assert_eq!(guide.run(&project, commands[1]).ok(), "make setup");
    for command in [commands[2], commands[3]] {
        assert!(guide.run(&project, command).ok().contains("make test"), "{command}");
    }
    let git = "git init -q . && git config user.name a && git config user.email a@b && \
               git add bin && git commit -q -m first";
    let mut made = Command::new("sh");
    project.prepare(&mut made);
    project.finish(made.args(["-c", git])).ok();
    guide.run(&project, commands[4]).ok();
    let identity = "git -c user.name=a -c user.email=a@b";
    guide.run_with(&project, commands[5], &[("-- git", &format!("-- {identity}"))]).ok();
    guide.run(&project, commands[6]).ok();
    let mut log = Command::new("git");
    project.prepare(&mut log);
    let log = project.finish(log.args(["log", "--format=%s"]));
    assert_eq!(log.ok(), "from agent a\nfirst");
}

/// The documents above are all that show commands.
#[test]
fn no_document_is_left_out() {
    let tests = fs::read_to_string(root().join("crates/cli/tests/documents.rs")).unwrap();
    for entry in fs::read_dir(root().join("docs/guide")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("docs/guide/{}", path.file_name().unwrap().to_string_lossy());
        let shown = shown(&fs::read_to_string(&path).unwrap());
        let opened = tests.contains(&format!("Document::open({name:?})"));
        assert_eq!(opened, !shown.is_empty(), "{name}");
    }
}
