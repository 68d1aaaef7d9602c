//! The names of the tools, and the other names they are known by.

/// The tools that work on files.
pub const FILE_TOOLS: &[&str] = &[
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "search_files",
    "delete_file",
    "move_file",
    "copy_file",
    "file_info",
];

/// The tools beyond those on files, and those that follow one of them (see [`main_tool`]).
pub const OTHER_TOOLS: &[&str] = &["read_many", "tree", "shell", "shell_job", "call_worker"];

/// Other names, each with the canonical one.
pub const ALIASES: &[(&str, &str)] = &[
    ("sandbox_read_text", "read_file"),
    ("sandbox_write_text", "write_file"),
    ("sandbox_list", "list_files"),
    ("read", "read_file"),
    ("write", "write_file"),
    ("edit", "edit_file"),
    ("list", "list_files"),
    ("search", "search_files"),
    ("delete", "delete_file"),
    ("move", "move_file"),
    ("copy", "copy_file"),
    ("stat", "file_info"),
    ("exec", "shell"),
    ("worker_call", "call_worker"),
];

/// Names that still work and should no longer be written.
pub const DEPRECATED: &[&str] = &["sandbox_read_text", "sandbox_write_text", "sandbox_list"];

/// Returns the tool that another one belongs to and exists with: whoever can
/// start commands in the background can look after them, and whoever can read one file can
/// read several. Its rules hold for both.
pub fn main_tool(name: &str) -> &str {
    match name {
        "read_many" => "read_file",
        "tree" => "list_files",
        "shell_job" => "shell",
        name => name,
    }
}

/// Returns the canonical name of a tool, or `None` when there is no such tool.
pub fn canonical(name: &str) -> Option<&'static str> {
    FILE_TOOLS.iter().chain(OTHER_TOOLS).find(|tool| **tool == name).copied().or_else(|| {
        ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, canonical)| *canonical)
    })
}
