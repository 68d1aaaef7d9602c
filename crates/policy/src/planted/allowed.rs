//! The settings of git that run nothing: what ordinary git writes into the
//! configuration of a repository.
//!
//! The list is of what is allowed, because git gets new settings that name
//! programs with every release.

use super::config_text::Setting;

/// What the value of a setting may be.
enum Value {
    /// Any text on one line.
    Line,
    /// Any text.
    Text,
    /// Where another repository is, or the name of a remote.
    Place,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The work tree of the submodule that the file configures.
    WorkTree,
}

/// Whether a setting has a subsection.
enum Of {
    /// No: `[section]`.
    Whole,
    /// Yes: `[section "name"]`.
    Named,
    /// Either.
    Any,
}

/// Section, subsection, names with spaces between them, value.
type Row = (&'static str, Of, &'static str, Value);

/// The words for how a submodule is updated; everything else is a command.
const UPDATE: Value = Value::OneOf(&["checkout", "rebase", "merge", "none"]);

#[rustfmt::skip]
const ALLOWED: &[Row] = &[
    ("core", Of::Whole, "repositoryformatversion filemode bare logallrefupdates ignorecase", Value::Line),
    ("core", Of::Whole, "precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev", Value::Line),
    ("core", Of::Whole, "compression sharedrepository sparsecheckout sparsecheckoutcone", Value::Line),
    ("core", Of::Whole, "worktree", Value::WorkTree),
    ("extensions", Of::Whole, "objectformat compatobjectformat worktreeconfig refstorage", Value::Line),
    ("extensions", Of::Whole, "relativeworktrees preciousobjects", Value::Line),
    ("extensions", Of::Whole, "partialclone", Value::Place),
    ("remote", Of::Named, "url pushurl", Value::Place),
    ("remote", Of::Named, "fetch push mirror tagopt prune prunetags skipdefaultupdate", Value::Line),
    ("remote", Of::Named, "skipfetchall promisor partialclonefilter gh-resolved", Value::Line),
    ("branch", Of::Named, "remote pushremote", Value::Place),
    ("branch", Of::Named, "merge rebase", Value::Line),
    ("branch", Of::Named, "description", Value::Text),
    ("branch", Of::Whole, "autosetuprebase autosetupmerge sort", Value::Line),
    ("submodule", Of::Whole, "recurse active propagatebranches", Value::Line),
    ("submodule", Of::Named, "url", Value::Place),
    ("submodule", Of::Named, "active branch ignore fetchrecursesubmodules shallow", Value::Line),
    ("submodule", Of::Named, "update", UPDATE),
    ("user", Of::Whole, "name email", Value::Line),
    ("init", Of::Whole, "defaultbranch", Value::Line),
    ("pull", Of::Whole, "rebase ff", Value::Line),
    ("push", Of::Whole, "default autosetupremote followtags", Value::Line),
    ("fetch", Of::Whole, "prune prunetags parallel", Value::Line),
    ("merge", Of::Whole, "ff conflictstyle renames autostash", Value::Line),
    ("rebase", Of::Whole, "autosquash autostash updaterefs", Value::Line),
    ("gc", Of::Whole, "auto autodetach reflogexpire pruneexpire", Value::Line),
    ("index", Of::Whole, "version sparse", Value::Line),
    ("pack", Of::Whole, "threads windowmemory", Value::Line),
    ("status", Of::Whole, "aheadbehind branch displaycommentprefix relativepaths renamelimit", Value::Line),
    ("status", Of::Whole, "renames short showstash showuntrackedfiles submodulesummary", Value::Line),
    ("lfs", Of::Whole, "repositoryformatversion", Value::Line),
    ("color", Of::Any, "*", Value::Line),
    ("advice", Of::Whole, "*", Value::Line),
];

/// Returns whether a setting runs nothing, in the configuration at `file`.
pub(super) fn is_allowed(setting: &Setting, file: &[&[u8]]) -> bool {
    let named = setting.subsection.is_some();
    let row = ALLOWED.iter().find(|(section, of, names, _)| {
        let fits = match of {
            Of::Whole => !named,
            Of::Named => named,
            Of::Any => true,
        };
        let is_name = |name: &str| name == "*" || name.as_bytes() == setting.name;
        fits && section.as_bytes() == setting.section && names.split(' ').any(is_name)
    });
    let Some((section, _, _, value)) = row else { return false };
    let named_well = setting.subsection.as_ref().is_none_or(|name| match *section {
        "submodule" => is_submodule_name(name),
        _ => is_name(name),
    });
    named_well
        && match (&setting.value, value) {
            (value, Value::Line) => value.as_ref().is_none_or(|value| is_line(value)),
            (Some(value), Value::Text) => {
                value.iter().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\t'))
            }
            (Some(value), Value::Place) => is_place(value),
            (Some(value), Value::OneOf(words)) => {
                words.iter().any(|word| word.as_bytes() == value.as_slice())
            }
            (Some(value), Value::WorkTree) => is_own_work_tree(value, file),
            (None, _) => false,
        }
}

/// Returns whether a text has no control characters.
fn is_line(text: &[u8]) -> bool {
    !text.iter().any(u8::is_ascii_control)
}

/// Returns whether a name cannot be taken for an option where git passes it on.
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.starts_with(b"-") && is_line(name)
}

/// Returns whether a submodule can have that name: it becomes a path.
pub(super) fn is_submodule_name(name: &[u8]) -> bool {
    is_name(name) && !name.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b"..")
}

/// Ways to another repository that run no program but git's own and ssh.
const SCHEMES: [&str; 9] =
    ["http", "https", "ssh", "git", "git+ssh", "ssh+git", "file", "ftp", "ftps"];

/// Returns whether git can be sent to a place without running what it names.
pub(super) fn is_place(place: &[u8]) -> bool {
    let scheme = place.iter().take_while(|&&b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let (scheme, rest) = place.split_at(scheme.count());
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()));
    // `name::address` and an unknown scheme run the program git-remote-NAME.
    let runs = rest.starts_with(b"::") || rest.starts_with(b"://") && !known;
    let option = rest.starts_with(b"://-");
    is_name(place) && !runs && !option
}

/// Returns whether a submodule's configuration names a work tree inside the
/// repository that the submodule belongs to, and outside that one's `.git`.
fn is_own_work_tree(value: &[u8], file: &[&[u8]]) -> bool {
    let git = file.iter().position(|name| name.eq_ignore_ascii_case(b".git"));
    let Some(git) = git else { return false };
    let below = &file[git + 1..file.len().max(git + 2) - 1];
    if below.len() < 2 || !below[0].eq_ignore_ascii_case(b"modules") || !is_line(value) {
        return false;
    }
    // From `.git/modules/name` up to the directory that holds `.git`, and down.
    let names: Vec<&[u8]> = value.split(|&byte| byte == b'/').collect();
    let up = names.iter().take_while(|name| **name == b"..").count();
    let down = &names[up..];
    let plain = |name: &[u8]| {
        let dots = name.is_empty() || name == b"." || name == b"..";
        !dots && !name.eq_ignore_ascii_case(b".git")
    };
    up == below.len() + 1 && !down.is_empty() && down.iter().all(|name| plain(name))
}
