//! What is known about programs: how they read their words, what they run or
//! write beyond what their name says, and which of them only look.
//!
//! Everything here is a table with a reason for each row. The tables never make
//! a rule match more: what they do not know is not allowed, and what they know
//! to be dangerous has to be named by the rule that allows it.

pub(crate) mod clients;
pub mod hazards;
pub mod options;
pub mod presets;
pub mod wrappers;

/// Directories whose programs are the system's own.
pub(crate) const SYSTEM_DIRS: [&str; 5] =
    ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

/// Returns the last name of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a program is found by its name alone, or is the system's.
pub(crate) fn is_system(program: &str) -> bool {
    match program.rsplit_once('/') {
        None => true,
        Some((dir, _)) => SYSTEM_DIRS.contains(&dir),
    }
}

/// Returns whether a list, separated by spaces, has a name.
pub(crate) fn lists(list: &str, name: &str) -> bool {
    list.split(' ').any(|listed| listed == name && !name.is_empty())
}

/// Returns the name of the program that another is a version of: `python3.11` is
/// a `python`.
pub(crate) fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}
