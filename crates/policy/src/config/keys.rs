//! Every key of the project file, of worker files and of agents' profiles, in a table each.

mod network;
mod profile;
mod worker;

use super::shape::{Key, Shape};
use network::{NETWORK, NETWORK_SHAPE, SECRETS};

pub(crate) use profile::PROFILE;
pub(crate) use worker::WORKER;

/// The project file.
pub(crate) const PROJECT: Shape = Shape::Map(&[
    Key::new("name", Shape::Scalar, "The project's name; for people."),
    Key::new("version", Shape::Scalar, "The project's version; for people."),
    Key::new("description", Shape::Scalar, "What the project is; for people."),
    Key::new(
        "model",
        Shape::Text,
        "The model that workers use unless they name one: PROVIDER:NAME.",
    ),
    Key::new(
        "prices",
        PRICES,
        "What models cost for a million tokens, by name, '*' standing for any part; the first \
         that fits counts. 'currency' says of what.",
    )
    .hint("write a map, such as prices: { currency: USD, \"openai:*\": { input: 3, output: 15 } }"),
    Key::new("sandbox", SANDBOX, "The boundaries: directories, hosts, environment."),
    Key::new("approval", APPROVAL, "What becomes of questions."),
    Key::new("when_tainted", WHEN_TAINTED, "What workers lose that have read untrusted content."),
    Key::new("delegation", DELEGATION, "How workers run, and how they may call workers."),
    TOOLS,
    TOOL_RULES,
    SHELL,
    SHELL_RULES,
    SHELL_DEFAULT,
    Key::new("audit", AUDIT, "What happens when the audit log cannot be written.")
        .default("\"required\""),
    SANDBOXES,
]);

const SANDBOX: Shape = Shape::Map(&[
    Key::new("mode", LAYOUT, "Where zone paths lie.").default("\"sandboxed\""),
    Key::new(
        "root",
        Shape::Text,
        "The directory that holds the zones in the sandboxed layout, relative to the \
         project.",
    )
    .default("\".sandbox\""),
    Key::new(
        "zones",
        Shape::MapOf(&ZONE),
        "The zones, by name; the agent sees each as /NAME, or as its key 'at' says.",
    )
    .hint(
        "a list of zones belongs in a worker file; here write a map, such as zones: { \
         data: { path: ./data, mode: ro } }",
    ),
    Key::new(
        "paths",
        Shape::MapOf(&PROJECT_PATHS_ENTRY),
        "Zones in the other form: real directories, relative to the project.",
    )
    .hint("write a map, such as paths: { data: { root: ./data, mode: ro } }"),
    Key::new(
        "working_dir",
        Shape::Text,
        "Where the agent's relative paths start: '/' or a path in a zone.",
    )
    .default("\"/\""),
    Key::new("home", Shape::Text, "What the agent's '~' is: '/' or a path in a zone.")
        .default("\"/\""),
    NETWORK,
    SECRETS,
    REQUIRE_OS_SANDBOX,
    LIMITS,
    Key::new("backend", BACKEND, "What holds commands to their boundaries.").default("\"auto\""),
    Key::new("prove", Shape::Bool, "Whether the boundaries are tried out before a command runs.")
        .default("false"),
    Key::new(
        "caches",
        CACHES,
        "Whether the caches of cargo, go, npm, pip and others outlive a sandbox; they are never \
         your own.",
    )
    .default("\"keep\""),
    Key::new("env", Shape::MapOf(&Shape::Scalar), "Environment variables that commands get."),
    Key::new(
        "pass_env",
        Shape::List(&Shape::Text),
        "Names of environment variables that commands inherit.",
    ),
    Key::new(
        "guard",
        Shape::MapOf(&GUARD),
        "Files that are guarded inside writable zones, by pattern.",
    ),
    Key::new(
        "allow_hard_links",
        Shape::List(&Shape::Text),
        "Files that commands may write although they have other names outside the writable \
         zones (hard links), by pattern; others are read-only for commands. Needs trust.",
    )
    .hint("write a list of patterns, such as [\"node_modules/**\"]"),
    Key::new(
        "allow_sensitive",
        Shape::List(&Shape::Text),
        "Credentials in granted directories, such as .ssh, that are not hidden, by pattern. \
         Needs trust.",
    )
    .hint("write a list of patterns, such as [\".aws/**\"]"),
]);

const CACHES: Shape = Shape::OneOf(&[
    ("keep", "They are kept for the next run in this project; `zonekeep cache` shows them."),
    ("fresh", "Each sandbox starts with empty ones."),
]);

const LAYOUT: Shape = Shape::OneOf(&[
    ("sandboxed", "Under sandbox.root; a missing directory is made on the first write."),
    ("direct", "Under the project directory or anywhere else; they must exist."),
]);

const ZONE: Shape = Shape::Either(&[
    Shape::Text,
    Shape::Map(&[
        Key::new(
            "path",
            Shape::Text,
            "The directory: below sandbox.root in the sandboxed layout, else relative to \
         the project.",
        )
        .required(),
        Key::new("mode", MODE, "Reading only, or writing too.").default("\"rw\""),
        AT,
        SUFFIXES,
        MAX_FILE_BYTES,
        ZONE_APPROVAL,
        UNTRUSTED,
    ]),
]);

const AT: Key =
    Key::new("at", PLACEMENT, "The path at which the agent and its commands see the directory.")
        .default("\"name\"");

const PLACEMENT: Shape = Shape::OneOf(&[
    ("name", "/NAME, which tells nothing about this machine."),
    (
        "same",
        "The path that it has on this machine, so that build directories and virtual environments \
         work inside as outside; the project file still calls it /NAME.",
    ),
]);

/// An entry of `sandbox.paths` in the project file.
const PROJECT_PATHS_ENTRY: Shape = Shape::Map(&[
    Key::new("root", Shape::Text, "The directory, relative to the project.").required(),
    Key::new("mode", MODE, "Reading only, or writing too.").default("\"ro\""),
    AT,
    SUFFIXES,
    MAX_FILE_BYTES,
    READ_APPROVAL,
    WRITE_APPROVAL,
    ZONE_APPROVAL,
    UNTRUSTED,
]);

/// An entry of `sandbox.paths` in a worker file, which has no say in places.
const PATHS_ENTRY: Shape = Shape::Map(&[
    Key::new("root", Shape::Text, "The directory, relative to the project.").required(),
    Key::new("mode", MODE, "Reading only, or writing too.").default("\"ro\""),
    SUFFIXES,
    MAX_FILE_BYTES,
    READ_APPROVAL,
    WRITE_APPROVAL,
    ZONE_APPROVAL,
    UNTRUSTED,
]);

const SANDBOXES: Key = Key::new(
    "sandboxes",
    Shape::MapOf(&Shape::Map(&[
        Key::new("path", Shape::Text, "The directory, relative to the project.").required(),
        Key::new("mode", MODE, "Reading only, or writing too.").default("\"ro\""),
        SUFFIXES,
        MAX_FILE_BYTES,
        READ_APPROVAL,
        WRITE_APPROVAL,
        ZONE_APPROVAL,
    ])),
    "Zones in an old form; write sandbox.paths instead.",
)
.deprecated();

const MODE: Shape = Shape::OneOf(&[("ro", "Reading only."), ("rw", "Reading and writing.")]);

const SUFFIXES: Key = Key::new(
    "suffixes",
    Shape::List(&Shape::Text),
    "Endings of file names that may be used, with their dot; all when left out.",
);

const MAX_FILE_BYTES: Key = Key::new(
    "max_file_bytes",
    Shape::Int { min: 1, max: i64::MAX as u64 },
    "The largest file that may be read or written, in bytes.",
);

const READ_APPROVAL: Key =
    Key::new("read_approval", Shape::Bool, "Whether reading asks first.").default("false");

const WRITE_APPROVAL: Key =
    Key::new("write_approval", Shape::Bool, "Whether writing asks first.").default("true");

const ZONE_APPROVAL: Key = Key::new(
    "approval",
    Shape::Map(&[
        Key::new("read", CONSENT, "Reading, listing and searching.").default("\"preApproved\""),
        Key::new("write", CONSENT, "Creating and changing files.").default("\"ask\""),
        Key::new("delete", CONSENT, "Removing files.").default("\"ask\""),
    ]),
    "Whether somebody is asked first.",
);

const UNTRUSTED: Key = Key::new(
    "untrusted",
    Shape::Bool,
    "Whether what lies there may have been written to mislead: whoever reads it is tainted, and \
     commands only run under an OS sandbox.",
)
.default("false");

const CONSENT: Shape = Shape::OneOf(&[
    ("preApproved", "Goes ahead without a question."),
    ("ask", "Goes ahead after a yes."),
    ("blocked", "Never happens."),
]);

const SHELL_DEFAULT_WORD: Shape = Shape::OneOf(&[
    ("preApproved", "Runs without a question where everything about it is known and harmless."),
    (
        "contained",
        "Runs without a question where the OS sandbox enforces files, network and signals in full \
         and no effect would leave it; asks elsewhere.",
    ),
    ("ask", "Runs after a yes."),
    ("blocked", "Never runs."),
]);

const REQUIRE_OS_SANDBOX: Key = Key::new(
    "require_os_sandbox",
    Shape::Bool,
    "Whether commands run only where the operating system fully enforces their boundaries. \
     true refuses them elsewhere, false runs them with a warning; left out, they are refused \
     unless the user accepts weaker enforcement (--accept-weaker).",
);

const LIMITS: Key = Key::new(
    "limits",
    Shape::Map(&[
        Key::new("time", Shape::Scalar, "How long a command may run, such as 30s, 5m or 1h."),
        Key::new("wall_time", Shape::Scalar, "The same as time."),
        Key::new("timeout", Shape::Scalar, "The same as time."),
        Key::new("cpu_time", Shape::Scalar, "Processor time of one process, such as 30s."),
        Key::new(
            "memory",
            Shape::Scalar,
            "Memory of all processes together, such as 512M; three quarters of the machine's \
             when left out.",
        ),
        Key::new("processes", Shape::Scalar, "How many processes and threads there may be.")
            .default("1024"),
        Key::new("open_files", Shape::Scalar, "How many files one process may have open.")
            .default("4096"),
        Key::new("file_size", Shape::Scalar, "The largest file that may be written.")
            .default("\"8G\""),
        Key::new("output", Shape::Scalar, "How much may be printed.").default("\"64M\""),
        Key::new(
            "tmp",
            Shape::Scalar,
            "How much may be in /tmp, the private home directory and /dev/shm.",
        )
        .default("\"1G\""),
        Key::new(
            "network_in",
            Shape::Scalar,
            "How much all commands of a session may receive through a list of hosts, such as 1G.",
        ),
        Key::new(
            "network_out",
            Shape::Scalar,
            "How much all commands of a session may send through a list of hosts, such as 100M.",
        ),
        Key::new(
            "connections",
            Shape::Scalar,
            "How many connections all commands of a session may make through a list of hosts.",
        ),
    ]),
    "How much a command may use; none is no limit. A worker file can only make limits smaller.",
)
.hint("write a map, such as limits: { time: 5m, memory: 512M }");

const BACKEND: Shape = Shape::OneOf(&[
    ("auto", "The strongest that the machine has."),
    ("namespaces", "Linux namespaces."),
    ("bubblewrap", "The program bwrap."),
    ("landlock", "Linux Landlock."),
    ("seatbelt", "The sandbox of macOS."),
    ("none", "Nothing: commands run as the user. A file that says so needs trust."),
]);

const GUARD: Shape = Shape::OneOf(&[
    ("block", "File tools refuse to change the file; a change by a command is undone."),
    ("deny", "The same as block."),
    ("ask", "File tools ask; a change by a command waits in the quarantine for an approval."),
    ("report", "File tools and an agent's commands as with ask; `zonekeep run` names the change."),
    ("allow", "The file is treated as any other."),
]);

const APPROVAL: Shape = Shape::Map(&[Key::new(
    "mode",
    Shape::OneOf(&[
        ("tool", "Each zone's and tool's own rule decides."),
        ("manual", "Every side effect asks."),
        ("auto", "Every question is answered yes."),
        ("strict", "Every question is answered no."),
        ("interactive", "The same as tool."),
        ("approve_all", "The same as auto."),
        ("auto_deny", "The same as strict."),
    ]),
    "What becomes of questions.",
)
.default("\"tool\"")]);

/// Each level takes a part of a stack.
const DEPTH: Shape = Shape::Int { min: 1, max: 32 };

const DELEGATION: Shape = Shape::Map(&[
    Key::new("maxDepth", DEPTH, "How deep workers may call workers.").default("5"),
    Key::new("max_depth", DEPTH, "The same as maxDepth.").default("5"),
    MAX_TURNS.default("50"),
    BUDGET,
    TIME,
]);

const MAX_TURNS: Key = Key::new(
    "max_turns",
    Shape::Int { min: 1, max: 1000 },
    "How often the model may be asked in one run. A worker file can only make it smaller.",
);

const BUDGET: Key = Key::new(
    "budget",
    TOKENS,
    "How many tokens one run may use, with those of the workers that it calls. A worker file can \
     only make it smaller.",
);

const TIME: Key = Key::new(
    "time",
    Shape::Scalar,
    "How long one run may take, such as 30s, 5m or 1h. A worker file can only make it smaller.",
);

const TOKENS: Shape = Shape::Int { min: 1, max: i64::MAX as u64 };

const PRICES: Shape = Shape::MapOf(&Shape::Either(&[
    Shape::Text,
    Shape::Map(&[
        Key::new("input", PRICE, "A million tokens that the model reads.").required(),
        Key::new("output", PRICE, "A million tokens that the model writes.").required(),
    ]),
]));

const PRICE: Shape = Shape::Decimal { min: 0, max: 1_000_000, digits: 6 };

const WHEN_TAINTED: Shape = Shape::Map(&[
    Key::new(
        "network",
        Shape::Bool,
        "Write false, and commands reach nothing; as before when left out.",
    ),
    Key::new("without", Shape::List(&Shape::Text), "Zones that are gone."),
    Key::new(
        "backend",
        Shape::OneOf(&[
            ("auto", "The strongest that the machine has."),
            ("namespaces", "Linux namespaces."),
            ("bubblewrap", "The program bwrap."),
            ("landlock", "Linux Landlock."),
            ("seatbelt", "The sandbox of macOS."),
        ]),
        "What holds commands to their boundaries; as before when left out.",
    ),
    Key::new(
        "approval",
        Shape::OneOf(&[
            ("manual", "Every side effect asks."),
            ("strict", "Every question is answered no."),
        ]),
        "What becomes of questions, where that is stricter than before.",
    ),
    Key::new("tools", Shape::List(&Shape::Text), "Tools that are gone."),
]);

const AUDIT: Shape =
    Shape::OneOf(&[("required", "The action fails."), ("best_effort", "The action goes on.")]);

const TOOLS: Key = Key::new(
    "tools",
    Shape::List(&Shape::Text),
    "The tools that exist; all when left out. A list without any file tool keeps \
         all the file tools.",
)
.hint("write a list of tool names, such as [read_file, shell], or [] for none");

const TOOL_RULES: Key = Key::new(
    "tool_rules",
    Shape::MapOf(&Shape::Map(&[
        Key::new("allowed", Shape::Bool, "Whether the tool exists at all.").default("true"),
        Key::new("approval_required", Shape::Bool, "Whether every call asks."),
    ])),
    "Rules for single tools, by name.",
);

const SHELL: Key = Key::new(
    "shell",
    Shape::Map(&[
        Key::new(
            "mode",
            Shape::OneOf(&[
                ("argv", "A program and its arguments; no shell runs them."),
                ("bash", "A line that bash runs; only under an OS sandbox."),
            ]),
            "How commands are understood: bash under an OS sandbox and argv without, when left \
             out.",
        ),
        Key::new(
            "rules",
            Shape::List(&Shape::Map(&[
                Key::new(
                    "pattern",
                    Shape::Text,
                    "The words that a command starts with; its options may stand anywhere. '*' \
                     stands for any text in a word, '{a,b}' for either.",
                )
                .required(),
                Key::new("approval", CONSENT, "Whether a matching command asks.")
                    .default("\"ask\""),
                Key::new(
                    "paths",
                    Shape::List(&Shape::Text),
                    "Directories that every path argument must lie in, as the agent sees them.",
                ),
                Key::new(
                    "match",
                    Shape::List(&Shape::Text),
                    "Commands that the rule is meant for; checked when the file is read.",
                ),
                Key::new(
                    "not_match",
                    Shape::List(&Shape::Text),
                    "Commands that the rule is not meant for; checked when the file is read.",
                ),
                GRANTS,
            ])),
            "Rules for commands; the first that matches decides.",
        )
        .hint("write a list, such as [{ pattern: git status, approval: preApproved }]"),
        Key::new("default", SHELL_DEFAULT_WORD, "What holds for commands that no rule matches."),
        Key::new(
            "presets",
            Shape::List(&Shape::OneOf(&[
                ("read_only", "Commands that only look, such as ls, grep and git status."),
                ("build", "Commands that build, and programs and scripts of the work tree."),
                ("test", "Commands that test and lint, such as pytest and cargo test."),
                ("edit", "Commands that write files, such as cp and sed -i, and redirections."),
                ("git_local", "Commands of git that reach no other machine, such as commit."),
            ])),
            "Commands that need no rule.",
        ),
    ]),
    "Rules for commands.",
)
.hint("write a map, such as shell: { default: ask, presets: [read_only] }");

const GRANTS: Key = Key::new(
    "grants",
    Shape::Map(&[Key::new(
        "network",
        NETWORK_SHAPE,
        "What the command may reach once it is approved.",
    )]),
    "What a matching command gets once it is approved.",
);

const SHELL_RULES: Key =
    Key::new("shell_rules", SHELL_RULE_LIST, "The same as shell.rules, in another form.");

const SHELL_RULE_LIST: Shape = Shape::List(&Shape::Map(&[
    Key::new("pattern", Shape::Text, "The words that a command starts with.").required(),
    Key::new(
        "sandbox_paths",
        Shape::List(&Shape::Text),
        "Zones that every path argument must lie in.",
    ),
    Key::new("approval_required", Shape::Bool, "Whether a matching command asks.").default("true"),
    Key::new("allowed", Shape::Bool, "Whether a matching command may run at all.").default("true"),
    GRANTS,
]));

const SHELL_DEFAULT: Key =
    Key::new("shell_default", SHELL_DEFAULT_MAP, "The same as shell.default, in another form.");

const SHELL_DEFAULT_MAP: Shape = Shape::Map(&[
    Key::new("allowed", Shape::Bool, "Whether such a command may run at all.").default("true"),
    Key::new("approval_required", Shape::Bool, "Whether such a command asks.").default("true"),
]);
