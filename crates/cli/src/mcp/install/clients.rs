//! The clients that can be set up, as data: where each keeps its settings, what an
//! entry looks like, and what switches its own tools off.

use serde_json::{Value, json};

use super::Edit;
use super::place::{Base, Place};
use crate::failure::{Failure, USAGE};

/// A program that starts servers of the Model Context Protocol.
pub(super) struct Client {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// What it is called by people.
    pub(super) title: &'static str,
    /// Where servers of a project are listed.
    pub(super) project: Option<Place>,
    /// Where servers of the user are listed.
    pub(super) user: Option<Place>,
    pub(super) format: Format,
    /// The object that holds the entries.
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    /// How a server of a project finds the project.
    pub(super) start: Start,
    pub(super) deny: Deny,
    /// What is left to do by hand.
    pub(super) then: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
}

/// What an entry looks like.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// `command` and `args`.
    Plain,
    /// The same, with `type: stdio`.
    Typed,
    /// One list for both, with `type: local`.
    OneList,
    /// Below `transport`.
    Transport,
}

/// How a server of a project finds the project.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// It is started in the project's directory.
    Inside,
    /// The client puts the directory in for this word.
    Word(&'static str),
    /// It has to be told.
    Told,
}

/// How a client's own tools are switched off.
pub(super) enum Deny {
    /// By these settings, in a file of the project or of the user.
    By { project: Option<Place>, user: Place, edits: fn(&str) -> Vec<Edit>, left: &'static str },
    /// Not by settings, for this reason.
    Cannot(&'static str),
}

impl Client {
    /// Returns where servers are listed, of the user or of a project.
    pub(super) fn place(&self, user: bool) -> Result<Place, Failure> {
        match (user, self.project, self.user) {
            (false, Some(place), _) => Ok(place),
            // Without files of a project there is only one place.
            (true, _, Some(place)) | (false, None, Some(place)) => Ok(place),
            _ => {
                let text = format!("{} has no settings of that kind", self.title);
                Err(Failure::message(USAGE, text))
            }
        }
    }
}

impl Shape {
    /// Returns the entry for a command.
    pub(super) fn entry(self, command: &str, args: &[String]) -> Value {
        match self {
            Shape::Plain => json!({ "command": command, "args": args }),
            Shape::Typed => json!({ "type": "stdio", "command": command, "args": args }),
            Shape::Transport => {
                json!({ "transport": { "type": "stdio", "command": command, "args": args } })
            }
            Shape::OneList => {
                let all: Vec<&str> =
                    [command].into_iter().chain(args.iter().map(|a| &**a)).collect();
                json!({ "type": "local", "command": all, "enabled": true })
            }
        }
    }
}

const SERVERS: &str = "mcpServers";

/// All of them, in the order in which they are listed.
pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        project: Some(Place::new(Base::Project, ".mcp.json")),
        user: Some(Place::moved("CLAUDE_CONFIG_DIR", Base::Home, "", ".claude.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Typed,
        start: Start::Inside,
        deny: Deny::By {
            project: Some(Place::new(Base::Project, ".claude/settings.json")),
            user: Place::moved("CLAUDE_CONFIG_DIR", Base::Home, ".claude", "settings.json"),
            edits: |_| {
                vec![Edit::add(
                    &["permissions", "deny"],
                    &[
                        "Bash",
                        "PowerShell",
                        "Monitor",
                        "Read",
                        "Edit",
                        "Write",
                        "NotebookEdit",
                        "Glob",
                        "Grep",
                        "LSP",
                        "WebFetch",
                        "WebSearch",
                        "EnterWorktree",
                        "ExitWorktree",
                    ],
                )]
            },
            left: "subagents, skills, hooks, other MCP servers, and what you type after `!`",
        },
        then: "start Claude Code in the project; it asks once whether to use the server",
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        project: None,
        user: Some(Place::new(Base::Apps, "Claude/claude_desktop_config.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Plain,
        start: Start::Told,
        deny: Deny::Cannot(
            "its chats have no shell or file tools of their own, and what its extensions and connectors offer is switched off in its settings window",
        ),
        then: "quit Claude Desktop and start it again",
    },
    Client {
        name: "codex",
        title: "Codex",
        project: Some(Place::new(Base::Project, ".codex/config.toml")),
        user: Some(Place::moved("CODEX_HOME", Base::Home, ".codex", "config.toml")),
        format: Format::Toml,
        key: "mcp_servers",
        shape: Shape::Plain,
        start: Start::Inside,
        deny: Deny::By {
            project: Some(Place::new(Base::Project, ".codex/config.toml")),
            user: Place::moved("CODEX_HOME", Base::Home, ".codex", "config.toml"),
            edits: |_| {
                vec![
                    Edit::set(&["web_search"], json!("disabled")),
                    Edit::set(&["sandbox_mode"], json!("read-only")),
                    Edit::set(&["features", "shell_tool"], json!(false)),
                    Edit::set(&["features", "unified_exec"], json!(false)),
                    Edit::set(&["features", "view_image"], json!(false)),
                ]
            },
            left: "apply_patch, where the model has it: Codex's own sandbox is read-only then, and asks",
        },
        then: "a project's file counts once Codex trusts the project; until then none of it holds",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        project: Some(Place::new(Base::Project, ".cursor/mcp.json")),
        user: Some(Place::new(Base::Home, ".cursor/mcp.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Plain,
        start: Start::Word("${workspaceFolder}"),
        deny: Deny::By {
            project: Some(Place::new(Base::Project, ".cursor/cli.json")),
            user: Place::new(Base::Home, ".cursor/cli-config.json"),
            edits: |_| {
                vec![Edit::add(
                    &["permissions", "deny"],
                    &["Shell(*)", "Read(**)", "Read(/**)", "Write(**)", "Write(/**)"],
                )]
            },
            left: "everything in the editor: these rules are those of Cursor's command line; the web in both",
        },
        then: "switch the server on under Cursor's MCP settings",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        project: Some(Place::new(Base::Project, ".vscode/mcp.json")),
        user: Some(Place::new(Base::Apps, "Code/User/mcp.json")),
        format: Format::Json,
        key: "servers",
        shape: Shape::Typed,
        start: Start::Word("${workspaceFolder}"),
        deny: Deny::Cannot(
            "VS Code has no setting for it; take its tools away in the tools picker of the chat, or in a custom agent with `tools: ['zonekeep/*']`",
        ),
        then: "start the server from the file, or with `MCP: List Servers`",
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        project: Some(Place::new(Base::Project, ".gemini/settings.json")),
        user: Some(Place::new(Base::Home, ".gemini/settings.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Plain,
        start: Start::Inside,
        deny: Deny::By {
            project: Some(Place::new(Base::Project, ".gemini/settings.json")),
            user: Place::new(Base::Home, ".gemini/settings.json"),
            edits: |name| vec![Edit::set(&["tools", "core"], json!([format!("mcp_{name}_*")]))],
            left: "nothing but this server's tools, which Gemini then runs without asking by itself; plan mode",
        },
        then: "a project's file counts once Gemini trusts the folder",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        project: None,
        user: Some(Place::new(Base::Home, ".codeium/windsurf/mcp_config.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Plain,
        start: Start::Told,
        deny: Deny::Cannot("Windsurf has no setting that takes Cascade's own tools away"),
        then: "refresh the servers in Cascade's MCP settings",
    },
    Client {
        name: "zed",
        title: "Zed",
        project: Some(Place::new(Base::Project, ".zed/settings.json")),
        user: Some(Place::new(Base::Config, "zed/settings.json")),
        format: Format::Json,
        key: "context_servers",
        shape: Shape::Plain,
        start: Start::Told,
        deny: Deny::By {
            project: None,
            user: Place::new(Base::Config, "zed/settings.json"),
            edits: zed_denies,
            left: "reading in other profiles (Write, Ask), threads of external agents, terminal threads",
        },
        then: "a project's servers start once Zed trusts the project",
    },
    Client {
        name: "opencode",
        title: "opencode",
        project: Some(Place::either(Base::Project, "opencode.json", "opencode.jsonc")),
        user: Some(Place::either(
            Base::Config,
            "opencode/opencode.json",
            "opencode/opencode.jsonc",
        )),
        format: Format::Json,
        key: "mcp",
        shape: Shape::OneList,
        start: Start::Inside,
        deny: Deny::By {
            project: Some(Place::either(Base::Project, "opencode.json", "opencode.jsonc")),
            user: Place::either(Base::Config, "opencode/opencode.json", "opencode/opencode.jsonc"),
            edits: |_| {
                let tools = [
                    "bash",
                    "edit",
                    "read",
                    "glob",
                    "grep",
                    "list",
                    "lsp",
                    "webfetch",
                    "websearch",
                    "codesearch",
                    "external_directory",
                ];
                tools.iter().map(|tool| Edit::set(&["permission", tool], json!("deny"))).collect()
            },
            left: "skills, subagents, other MCP servers, agents with permissions of their own",
        },
        then: "start opencode in the project",
    },
    Client {
        name: "qwen",
        title: "Qwen Code",
        project: Some(Place::new(Base::Project, ".qwen/settings.json")),
        user: Some(Place::new(Base::Home, ".qwen/settings.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Plain,
        start: Start::Inside,
        deny: Deny::By {
            project: Some(Place::new(Base::Project, ".qwen/settings.json")),
            user: Place::new(Base::Home, ".qwen/settings.json"),
            edits: |_| {
                vec![Edit::add(&["permissions", "deny"], &["Bash", "Read", "Edit", "WebFetch"])]
            },
            left: "subagents, skills, other MCP servers",
        },
        then: "start Qwen Code in the project",
    },
    Client {
        name: "copilot",
        title: "Copilot CLI",
        project: Some(Place::new(Base::Project, ".mcp.json")),
        user: Some(Place::moved("COPILOT_HOME", Base::Home, ".copilot", "mcp-config.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Typed,
        start: Start::Inside,
        deny: Deny::Cannot(
            "Copilot CLI has flags for it and no setting: start it with `--excluded-tools bash,read_bash,stop_bash,list_bash,view,create,edit,grep,glob,web_fetch`",
        ),
        then: "a project's file counts once Copilot trusts the folder",
    },
    Client {
        name: "amp",
        title: "Amp",
        project: Some(Place::new(Base::Project, ".amp/settings.json")),
        user: Some(Place::moved("AMP_SETTINGS_FILE", Base::Config, "amp", "settings.json")),
        format: Format::Json,
        key: "amp.mcpServers",
        shape: Shape::Plain,
        start: Start::Inside,
        deny: Deny::By {
            project: Some(Place::new(Base::Project, ".amp/settings.json")),
            user: Place::moved("AMP_SETTINGS_FILE", Base::Config, "amp", "settings.json"),
            edits: |name| {
                vec![Edit::set(&["amp.tools.enable"], json!([format!("mcp__{name}__*")]))]
            },
            left: "nothing, by Amp's own description of the setting",
        },
        then: "allow the server when Amp asks",
    },
    Client {
        name: "cline",
        title: "Cline CLI",
        project: None,
        user: Some(Place::new(Base::Home, ".cline/data/settings/cline_mcp_settings.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Transport,
        start: Start::Told,
        deny: Deny::Cannot("Cline has no setting that takes its own tools away"),
        then: "start Cline again",
    },
    Client {
        name: "kiro",
        title: "Kiro",
        project: Some(Place::new(Base::Project, ".kiro/settings/mcp.json")),
        user: Some(Place::new(Base::Home, ".kiro/settings/mcp.json")),
        format: Format::Json,
        key: SERVERS,
        shape: Shape::Plain,
        start: Start::Told,
        deny: Deny::Cannot("no setting is known that takes Kiro's own tools away"),
        then: "connect the server in Kiro's MCP view",
    },
];

/// The tools that change something or go out are denied; those that read are not in
/// a profile that becomes the usual one.
fn zed_denies(_: &str) -> Vec<Edit> {
    let tools = [
        "terminal",
        "edit_file",
        "delete_path",
        "move_path",
        "copy_path",
        "create_directory",
        "restore_file_from_disk",
        "save_file",
        "fetch",
        "web_search",
    ];
    let deny = |tool: &&str| {
        Edit::set(&["agent", "tool_permissions", "tools", tool], json!({ "default": "deny" }))
    };
    let profile = json!({ "name": "Zonekeep", "tools": {}, "enable_all_context_servers": true });
    let mut edits: Vec<Edit> = tools.iter().map(deny).collect();
    edits.push(Edit::set(&["agent", "profiles", "zonekeep"], profile));
    edits.push(Edit::set(&["agent", "default_profile"], json!("zonekeep")));
    edits
}

/// Returns the client of that name.
pub(super) fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
