//! The keys of worker files.

use super::super::shape::{Key, Shape};
use super::network::{NETWORK, SECRET_NEEDS};
use super::{
    BUDGET, LIMITS, MAX_TURNS, MODE, PATHS_ENTRY, REQUIRE_OS_SANDBOX, SANDBOXES, SHELL,
    SHELL_DEFAULT, SHELL_DEFAULT_MAP, SHELL_RULE_LIST, SHELL_RULES, TIME, TOKENS, TOOL_RULES,
    TOOLS, UNTRUSTED, ZONE_APPROVAL,
};

/// The front matter of a worker file.
pub(crate) const WORKER: Shape = Shape::Map(&[
    Key::new("name", Shape::Text, "The worker's name.").required(),
    Key::new(
        "description",
        Shape::Scalar,
        "What the worker does; its description where it is a tool.",
    ),
    Key::new("model", Shape::Text, "The model that the worker uses."),
    Key::new(
        "compatible_models",
        Shape::List(&Shape::Text),
        "Models that the worker works with, '*' standing for any part; any model when \
         left out.",
    ),
    Key::new("sandbox", WORKER_SANDBOX, "What the worker needs; nothing when left out."),
    TOOLS,
    TOOL_RULES,
    SHELL,
    SHELL_RULES,
    SHELL_DEFAULT,
    SANDBOXES,
    Key::new(
        "workers",
        CALLEES,
        "The workers that it may call; none when left out. A worker gets what its own file asks \
         for, and never more than its caller has.",
    )
    .hint("write a list of names, such as [analyst, publisher], or all"),
    Key::new("allow_workers", CALLEES, "An old name of workers.").deprecated(),
    Key::new(
        "workers_as_tools",
        Shape::Bool,
        "Whether each worker that it may call is a tool of its own, beside call_worker.",
    )
    .default("false"),
    TOOLSETS,
    Key::new("attachment_policy", ATTACHMENTS, "Which files may be handed to the worker."),
    Key::new(
        "output_schema",
        Shape::MapOf(&Shape::Any),
        "The JSON Schema that the worker's result has to fit.",
    )
    .hint("write the schema itself, such as output_schema: { type: object }"),
    Key::new(
        "output_retries",
        Shape::Int { min: 0, max: 10 },
        "How often a result that does not fit is sent back.",
    )
    .default("2"),
    MAX_TURNS,
    BUDGET,
    TIME,
    Key::new("max_tokens", TOKENS, "How long one reply of the model may be, in tokens."),
    Key::new(
        "temperature",
        Shape::Decimal { min: 0, max: 2, digits: 3 },
        "How freely the model chooses its words; the model's own when left out.",
    ),
    Key::new("locked", Shape::Bool, "Whether the file may not be overwritten by a worker.")
        .default("false"),
    Key::new(
        "mode",
        Shape::OneOf(&[("single", "One input, one result."), ("chat", "A conversation.")]),
        "How the worker runs.",
    )
    .default("\"single\""),
    Key::new(
        "max_context_tokens",
        TOKENS,
        "How much of a conversation is kept, in tokens; all of it when left out.",
    ),
    Key::new("allow_empty_input", Shape::Bool, "Whether the worker runs without input.")
        .default("false"),
    Key::new("instructions", Shape::Any, "").refused("write them below the front matter"),
    Key::new("server_side_tools", Shape::Any, "").refused(NO_SUCH_TOOLS),
    Key::new("output_schema_ref", Shape::Any, "").refused("write the schema as output_schema"),
    Key::new("input_model_ref", Shape::Any, "").refused("say in the instructions what is expected"),
]);

const NO_SUCH_TOOLS: &str = "Zonekeep has no such tools; remove the key";

const CALLEES: Shape = Shape::Either(&[
    Shape::OneOf(&[("all", "Every worker of the project."), ("*", "The same as all.")]),
    Shape::List(&Shape::Text),
]);

const TOOLSETS: Key = Key::new(
    "toolsets",
    Shape::Map(&[
        Key::new("filesystem", Shape::Map(&[]), "The file tools."),
        Key::new(
            "shell",
            Shape::Map(&[
                Key::new("rules", SHELL_RULE_LIST, "The same as shell_rules."),
                Key::new("default", SHELL_DEFAULT_MAP, "The same as shell_default."),
            ]),
            "The shell, and rules for it.",
        ),
        Key::new("delegation", DELEGATION_TOOLSET, "The same as workers."),
        Key::new("workers", DELEGATION_TOOLSET, "The same as workers."),
        Key::new("custom", Shape::Any, "").refused(NO_SUCH_TOOLS),
        Key::new("git", Shape::Any, "").refused(NO_SUCH_TOOLS),
        Key::new("server_side_tools", Shape::Any, "").refused(NO_SUCH_TOOLS),
    ]),
    "Tools and their rules in an old form; write tools, shell and workers instead.",
)
.deprecated();

const DELEGATION_TOOLSET: Shape = Shape::Map(&[
    Key::new("allow_workers", CALLEES, "The workers that it may call."),
    Key::new("allowed_workers", CALLEES, "The same as allow_workers."),
]);

const WORKER_SANDBOX: Shape = Shape::Map(&[
    Key::new("zones", WORKER_ZONES, "The zones that the worker needs.").hint(
        "a map of zones belongs in the project file; here write a list, such as \
         zones: [{ name: data, mode: ro }]",
    ),
    Key::new(
        "paths",
        Shape::MapOf(&PATHS_ENTRY),
        "The zones that the worker needs, each with the directory it takes it to be.",
    ),
    Key::new(
        "working_dir",
        Shape::Text,
        "Where the worker's relative paths start: '/' or a path in a zone.",
    ),
    NETWORK,
    SECRET_NEEDS,
    REQUIRE_OS_SANDBOX,
    LIMITS,
]);

const WORKER_ZONES: Shape = Shape::Either(&[
    Shape::OneOf(&[("all", "Every zone that the caller has.")]),
    Shape::List(&Shape::Either(&[
        Shape::Text,
        Shape::Map(&[
            Key::new("name", Shape::Text, "The zone's name in the project file.").required(),
            Key::new("mode", MODE, "Reading only, or writing too.").default("\"rw\""),
            ZONE_APPROVAL,
            UNTRUSTED,
        ]),
    ])),
]);

const ATTACHMENTS: Shape = Shape::Map(&[
    Key::new("max_attachments", Shape::Int { min: 0, max: 1000 }, "How many files at most.")
        .default("4"),
    Key::new(
        "max_total_bytes",
        Shape::Int { min: 1, max: i64::MAX as u64 },
        "How many bytes at most, in all files together.",
    )
    .default("10000000"),
    Key::new(
        "max_file_bytes",
        Shape::Int { min: 1, max: i64::MAX as u64 },
        "How many bytes at most in one file; as many as in all when left out.",
    ),
    Key::new(
        "allowed_suffixes",
        Shape::List(&Shape::Text),
        "Endings of file names that may be attached; all when empty.",
    ),
    Key::new(
        "denied_suffixes",
        Shape::List(&Shape::Text),
        "Endings of file names that may not be attached.",
    ),
]);
