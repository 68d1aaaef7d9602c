//! `zonekeep mcp install`: the settings of clients, by the real program.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use zonekeep_testkit::{Project, Run, is_root, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

fn project() -> Project {
    Project::with_config(PROGRAM, "sandbox:\n  mode: sandboxed\n")
}

/// Runs the program with itself in `PATH`.
fn install(project: &Project, args: &[&str]) -> Run {
    project.finish(in_path(project).args(["mcp", "install"]).args(args))
}

fn in_path(project: &Project) -> std::process::Command {
    let mut command = project.command();
    let own = Path::new(PROGRAM).parent().unwrap().to_owned();
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([own].into_iter().chain(std::env::split_paths(&usual)));
    command.env("PATH", path.unwrap());
    command
}

/// Returns the names beside a file that begin as it does, sorted.
fn beside(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|other| other.contains(name)).collect();
    names.sort();
    names
}

/// Every client, where its settings lie in a project and for a user, and what
/// stands in the entry.
const CLIENTS: &[(&str, Option<&str>, &str)] = &[
    ("claude-code", Some(".mcp.json"), ".claude.json"),
    ("claude-desktop", None, "[APPS]/Claude/claude_desktop_config.json"),
    ("codex", Some(".codex/config.toml"), ".codex/config.toml"),
    ("cursor", Some(".cursor/mcp.json"), ".cursor/mcp.json"),
    ("vscode", Some(".vscode/mcp.json"), "[APPS]/Code/User/mcp.json"),
    ("gemini", Some(".gemini/settings.json"), ".gemini/settings.json"),
    ("windsurf", None, ".codeium/windsurf/mcp_config.json"),
    ("zed", Some(".zed/settings.json"), ".config/zed/settings.json"),
    ("opencode", Some("opencode.json"), ".config/opencode/opencode.json"),
    ("qwen", Some(".qwen/settings.json"), ".qwen/settings.json"),
    ("copilot", Some(".mcp.json"), ".copilot/mcp-config.json"),
    ("amp", Some(".amp/settings.json"), ".config/amp/settings.json"),
    ("cline", None, ".cline/data/settings/cline_mcp_settings.json"),
    ("kiro", Some(".kiro/settings/mcp.json"), ".kiro/settings/mcp.json"),
];

fn user_file(project: &Project, file: &str) -> PathBuf {
    let apps = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    project.beside("home").join(file.replace("[APPS]", apps))
}

#[test]
fn every_client_is_set_up_once_and_found_set_up_the_second_time() {
    for (client, in_project, of_user) in CLIENTS {
        for user in [false, true] {
            let project = project();
            let file = match in_project.filter(|_| !user) {
                Some(file) => project.path(file),
                None => user_file(&project, of_user),
            };
            let mut args = vec![*client];
            if user {
                args.push("--user");
            }
            let print: Vec<&str> = args.iter().chain(&["--print"]).copied().collect();
            let printed = install(&project, &print);
            assert!(!file.exists(), "{client}: --print writes nothing");

            let write: Vec<&str> = args.iter().chain(&["--yes"]).copied().collect();
            install(&project, &write).ok();
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{client}: {e}"));
            let shown = text.replace(&project.beside("").display().to_string(), "[TEMP]/");
            assert_eq!(printed.ok(), shown.trim_end(), "{client}: what is printed is written");

            let again = install(&project, &args);
            assert!(again.ok().ends_with("is set up already; nothing was changed."), "{again}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{client}");
            assert_eq!(beside(&file).len(), 1, "{client}: nothing is left beside it");
        }
    }
}

#[test]
fn every_client_is_taken_out_again() {
    let uninstall = |project: &Project, args: &[&str]| {
        project.finish(in_path(project).args(["mcp", "uninstall"]).args(args))
    };
    for (client, in_project, of_user) in CLIENTS {
        for user in [false, true] {
            let project = project();
            let file = match in_project.filter(|_| !user) {
                Some(file) => project.path(file),
                None => user_file(&project, of_user),
            };
            let flags = |more: &[&'static str]| {
                let user = user.then_some("--user");
                [*client].into_iter().chain(user).chain(more.iter().copied()).collect::<Vec<_>>()
            };
            let none = uninstall(&project, &flags(&["--yes"]));
            assert!(none.ok().ends_with("nothing was changed."), "{client}: {none}");
            assert!(!file.exists(), "{client}: nothing is made to be changed");
            install(&project, &flags(&["--name", "other", "--yes"])).ok();
            let before = fs::read_to_string(&file).unwrap();
            install(&project, &flags(&["--yes"])).ok();
            let asked = uninstall(&project, &flags(&[]));
            assert_eq!(asked.exit, 125, "{client}: nobody can be asked: {asked}");
            uninstall(&project, &flags(&["--yes"])).ok();
            assert_eq!(fs::read_to_string(&file).unwrap(), before, "{client}: as it was");
        }
    }
}

#[test]
fn tools_of_the_client_that_were_switched_off_come_back_on_request() {
    let project = project().file(
        ".claude/settings.json",
        "{\n  // mine\n  \"permissions\": { \"deny\": [\"Foo\"] }\n}\n",
    );
    install(&project, &["claude-code", "--deny-native", "--yes"]).ok();
    assert!(project.read(".claude/settings.json").contains("Bash"));
    let uninstall = |args: &[&str]| {
        project.finish(in_path(&project).args(["mcp", "uninstall", "claude-code"]).args(args))
    };
    let left = uninstall(&["--yes"]);
    assert!(left.ok().contains("own tools are switched off"), "{left}");
    assert!(project.read(".claude/settings.json").contains("Bash"), "{left}");
    uninstall(&["--yes", "--deny-native"]).ok();
    let settings = project.read(".claude/settings.json");
    assert!(settings.contains("// mine") && settings.contains("Foo"), "{settings}");
    assert!(!settings.contains("Bash"), "{settings}");
}

#[test]
fn the_entry_is_what_the_client_reads() {
    let project = project().file("w/a.worker", "---\nname: a\n---\nDo.\n");
    let print = |args: &[&str]| install(&project, &[args, &["--print"]].concat()).ok().to_owned();
    assert_snapshot!(print(&["claude-code", "--worker", "w/a.worker", "--name", "box"]), @r#"
    {
      "mcpServers": {
        "box": {
          "type": "stdio",
          "command": "zonekeep",
          "args": ["mcp", "--worker", "w/a.worker"]
        }
      }
    }
    "#);
    assert_snapshot!(print(&["codex", "--user"]), @r#"
    [mcp_servers.zonekeep]
    command = "zonekeep"
    args = ["mcp", "--project", "[TEMP]/project"]
    "#);
    assert_snapshot!(print(&["vscode", "--worker", "w/a.worker"]), @r#"
    {
      "servers": {
        "zonekeep": {
          "type": "stdio",
          "command": "zonekeep",
          "args": [
            "mcp",
            "--project",
            "${workspaceFolder}",
            "--worker",
            "${workspaceFolder}/w/a.worker"
          ]
        }
      }
    }
    "#);
    assert_snapshot!(print(&["opencode"]), @r#"
    {
      "mcp": {
        "zonekeep": {
          "type": "local",
          "command": ["zonekeep", "mcp"],
          "enabled": true
        }
      }
    }
    "#);
    // Where PATH does not lead to it, by its path.
    let run = project.zonekeep(["mcp", "install", "gemini", "--print"]);
    let own = Path::new(PROGRAM).canonicalize().unwrap();
    assert!(run.ok().contains(&format!("\"command\": \"{}\"", own.display())), "{run}");
}

#[test]
fn own_tools_are_switched_off_where_that_can_be_done() {
    let print =
        |client: &str| install(&project(), &[client, "--deny-native", "--print"]).ok().to_owned();
    assert_snapshot!(print("codex"), @r#"
    web_search = "disabled"
    sandbox_mode = "read-only"

    [mcp_servers.zonekeep]
    command = "zonekeep"
    args = ["mcp"]

    [features]
    shell_tool = false
    unified_exec = false
    view_image = false
    "#);
    assert_snapshot!(print("gemini"), @r#"
    {
      "mcpServers": {
        "zonekeep": {
          "command": "zonekeep",
          "args": ["mcp"]
        }
      },
      "tools": {
        "core": ["mcp_zonekeep_*"]
      }
    }
    "#);
    let cases = [
        ("claude-code", ".claude/settings.json", "\"Bash\""),
        ("cursor", ".cursor/cli.json", "\"Shell(*)\""),
        ("opencode", "opencode.json", "\"bash\": \"deny\""),
        ("qwen", ".qwen/settings.json", "\"Bash\""),
        ("amp", ".amp/settings.json", "\"mcp__zonekeep__*\""),
        ("zed", "../home/.config/zed/settings.json", "\"default_profile\": \"zonekeep\""),
    ];
    for (client, file, setting) in cases {
        let project = project();
        let run = install(&project, &[client, "--deny-native", "--yes"]);
        assert!(run.ok().contains("\nleft open: "), "{run}");
        assert!(project.read(file).contains(setting), "{client}: {}", project.read(file));
        let again = install(&project, &[client, "--deny-native"]);
        assert!(again.ok().contains("set up already"), "{again}");
    }
    for client in ["claude-desktop", "vscode", "windsurf", "copilot", "cline", "kiro"] {
        let project = project();
        let run = install(&project, &[client, "--deny-native", "--yes"]);
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains("--deny-native cannot be done for"), "{run}");
        assert_eq!(project.tree(""), ["zonekeep.yaml"], "nothing is half done");
        assert_eq!(fs::read_dir(project.beside("home")).unwrap().count(), 0);
    }
}

#[test]
fn without_a_terminal_nothing_is_written() {
    let project = project().file(".mcp.json", "{\n    \"mcpServers\": {}\n}\n");
    assert_snapshot!(install(&project, &["claude-code"]).to_string(), @r#"
    exit 125
    --- stdout
    [TEMP]/project/.mcp.json
    @@ -1,3 +1,9 @@
     {
    -    "mcpServers": {}
    +    "mcpServers": {
    +        "zonekeep": {
    +            "type": "stdio",
    +            "command": "zonekeep",
    +            "args": ["mcp"]
    +        }
    +    }
     }
    This belongs in [TEMP]/project/.mcp.json:
    {
      "mcpServers": {
        "zonekeep": {
          "type": "stdio",
          "command": "zonekeep",
          "args": ["mcp"]
        }
      }
    }
    --- stderr
    error: nothing was written: there is no terminal to ask on

    hint: add --yes if this is what you want, or put the lines into the file by hand
    "#);
    assert_eq!(project.read(".mcp.json"), "{\n    \"mcpServers\": {}\n}\n");
    assert_eq!(beside(&project.path(".mcp.json")), [".mcp.json"]);
}

#[test]
fn the_person_at_the_terminal_is_asked_before_an_entry_is_replaced() {
    let old = "{\"mcpServers\": {\"zonekeep\": {\"command\": \"old\"}, \"other\": {}}}";
    for (typed, status, written) in [("y\n", 0, true), ("n\n", 1, false), ("\n", 1, false)] {
        let project = project().file(".mcp.json", old);
        let args = ["mcp", "install", "claude-code"];
        let Some(typed) = project.zonekeep_typed(args, &[("Write it? [y/N]", typed)]) else {
            return skip("no terminal can be made here");
        };
        assert_eq!(typed.run.exit, status, "{}", typed.run);
        assert!(typed.run.stdout.contains("-{\"mcpServers\": {\"zonekeep\""), "{}", typed.run);
        let text = project.read(".mcp.json");
        assert_eq!(text != old, written, "{text}");
        assert!(text.contains("\"other\": {}"), "{text}");
        assert_eq!(project.exists(".mcp.json.zonekeep-backup"), written);
    }
}

#[test]
fn backups_are_kept_and_never_overwritten_and_the_mode_stays() {
    let project = project();
    let file = project.beside("home/.claude.json");
    let texts = ["{\"a\": 1}", "{\"b\": 2}", "{\"c\": 3}"];
    for text in texts {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        install(&project, &["claude-code", "--user", "--yes"]).ok();
    }
    let names = [
        ".claude.json.zonekeep-backup",
        ".claude.json.zonekeep-backup.2",
        ".claude.json.zonekeep-backup.3",
    ];
    assert_eq!(beside(&file), [&[".claude.json"][..], &names].concat());
    for (name, text) in names.iter().zip(texts) {
        let backup = project.beside("home").join(name);
        assert_eq!(fs::read_to_string(&backup).unwrap(), text);
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o640);
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_link_is_written_through_after_its_end_was_shown() {
    let project = project().file("../dotfiles/claude.json", "{}\n");
    let (real, link) =
        (project.beside("dotfiles/claude.json"), project.beside("home/.claude.json"));
    symlink(&real, &link).unwrap();
    let run = install(&project, &["claude-code", "--user", "--yes"]);
    let shown = "[TEMP]/home/.claude.json, which is [TEMP]/dotfiles/claude.json\n";
    assert!(run.stdout.starts_with(shown), "{run}");
    run.ok();
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("zonekeep"));
    assert_eq!(beside(&real), ["claude.json", "claude.json.zonekeep-backup"]);
}

#[test]
fn a_link_in_the_project_that_leads_out_of_it_needs_a_person() {
    let project =
        project().file("../elsewhere/x.json", "{}\n").link(".mcp.json", "../elsewhere/x.json");
    let run = install(&project, &["claude-code", "--yes"]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("a link in the project leads to [TEMP]/elsewhere/x.json"), "{run}");
    assert_eq!(project.read("../elsewhere/x.json"), "{}\n");
    let args = ["mcp", "install", "claude-code"];
    if let Some(typed) = project.zonekeep_typed(args, &[("Write it? [y/N]", "y\n")]) {
        typed.run.ok();
        assert!(project.read("../elsewhere/x.json").contains("zonekeep"));
    }
}

#[test]
fn what_cannot_be_changed_safely_is_left_and_the_lines_are_printed() {
    let cases = [
        ("claude-code", ".mcp.json", "{\"mcpServers\": [}", "a value is not valid (line 1)"),
        ("claude-code", ".mcp.json", "[]", "it does not hold an object"),
        (
            "gemini",
            ".gemini/settings.json",
            "{\"mcpServers\": 1}",
            "'mcpServers' in it is not an object",
        ),
        ("codex", ".codex/config.toml", "mcp_servers = 1\n", "'mcp_servers' in it is not a table"),
    ];
    for (client, file, text, why) in cases {
        let project = project().file(file, text);
        let run = install(&project, &[client, "--yes"]);
        assert_eq!(run.exit, 125, "{run}");
        assert!(run.stdout.contains("zonekeep") && run.stderr.contains(why), "{run}");
        assert_eq!(project.read(file), text);
    }
    let project = project().link(".mcp.json", "nowhere.json");
    let run = install(&project, &["claude-code", "--yes"]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(!project.exists("nowhere.json"));
    let project = project.dir(".gemini/settings.json");
    assert_eq!(install(&project, &["gemini", "--yes"]).exit, 125);
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !is_root() {
        return skip("only root can give a file away");
    }
    let project = project().file(".mcp.json", "{}\n");
    std::os::unix::fs::chown(project.path(".mcp.json"), Some(65534), None).unwrap();
    let run = install(&project, &["claude-code", "--yes"]);
    assert_eq!(run.exit, 125, "{run}");
    assert!(run.stderr.contains("belongs to another user"), "{run}");
    assert_eq!(project.read(".mcp.json"), "{}\n");
}

#[test]
fn comments_and_the_other_name_of_a_file_are_respected() {
    let text = "{\n  // mine\n  \"theme\": \"dark\", // so\n}\n";
    let project = project().file("opencode.jsonc", text);
    install(&project, &["opencode", "--yes"]).ok();
    assert!(!project.exists("opencode.json"));
    assert_snapshot!(project.read("opencode.jsonc"), @r#"
    {
      // mine
      "theme": "dark", // so
      "mcp": {
        "zonekeep": {
          "type": "local",
          "command": ["zonekeep", "mcp"],
          "enabled": true
        }
      }
    }
    "#);
}

#[test]
fn variables_that_move_settings_are_followed() {
    let cases = [
        ("claude-code", "CLAUDE_CONFIG_DIR", "moved/.claude.json"),
        ("codex", "CODEX_HOME", "moved/config.toml"),
        ("copilot", "COPILOT_HOME", "moved/mcp-config.json"),
        ("amp", "AMP_SETTINGS_FILE", "moved"),
        ("zed", "XDG_CONFIG_HOME", "moved/zed/settings.json"),
    ];
    for (client, variable, file) in cases {
        let project = project();
        let mut command = in_path(&project);
        command.env(variable, project.beside("moved"));
        project.finish(command.args(["mcp", "install", client, "--user", "--yes"])).ok();
        assert!(project.beside(file).is_file(), "{client}");
    }
}

#[test]
fn names_and_clients_that_make_no_sense_are_refused() {
    let project = project();
    let cases: [&[&str]; 5] = [
        &["claude-code", "--name", "a b"],
        &["claude-code", "--name", ""],
        &["claude-code", "--name", "a.b"],
        &["nobody"],
        &["claude-code", "--print", "--yes"],
    ];
    for args in cases {
        let run = install(&project, args);
        assert_eq!((run.exit, run.stdout.as_str()), (2, ""), "{run}");
    }
    assert_eq!(install(&project, &["claude-code", "--worker", "no", "--yes"]).exit, 125);
    assert_eq!(project.tree(""), ["zonekeep.yaml"]);
}
