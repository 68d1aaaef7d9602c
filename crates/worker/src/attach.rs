//! Files that go to a worker with its input: read by its caller, passed on as
//! bytes. The worker never sees where they lie.

use zonekeep::files::text::{Looks, looks_like};
use zonekeep::policy::Verb;
use zonekeep::policy::attachment::AttachmentPolicy;
use zonekeep::{Error, Sandbox};

use crate::model::File;

/// Why a file cannot go along.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// There are too many.
    #[error("Cannot attach {count} files: the worker takes {max} at most.")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: u64,
    },
    /// The ending of its name is not taken.
    #[error("Cannot attach '{path}': the worker takes no such file.{}", takes(allowed))]
    Suffix {
        /// The path as given.
        path: String,
        /// The endings that it takes.
        allowed: Vec<String>,
    },
    /// It is too large.
    #[error("Cannot attach '{path}': file too large ({size} bytes).\nMaximum allowed: {max} bytes")]
    TooLarge {
        /// The path as given.
        path: String,
        /// Its size.
        size: u64,
        /// How large it may be.
        max: u64,
    },
    /// All together are too large.
    #[error(
        "Cannot attach '{path}': all files together are too large ({size} bytes).\nMaximum allowed: {max} bytes"
    )]
    TooLargeTogether {
        /// The path as given.
        path: String,
        /// The size of all so far.
        size: u64,
        /// How large they may be.
        max: u64,
    },
    /// It is nothing that a model takes.
    #[error("Cannot attach '{path}': it is neither text, nor a picture, nor a PDF file.")]
    Kind {
        /// The path as given.
        path: String,
    },
    /// It cannot be read by whoever attaches it.
    #[error(transparent)]
    Unreadable(#[from] Error),
}

impl AttachError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            AttachError::Unreadable(error) => error.code(),
            AttachError::Suffix { .. } => "suffix",
            AttachError::TooLarge { .. } | AttachError::TooLargeTogether { .. } => "too_large",
            AttachError::TooMany { .. } | AttachError::Kind { .. } => "attachment",
        }
    }
}

fn takes(allowed: &[String]) -> String {
    match allowed {
        [] => String::new(),
        allowed => format!("\nAllowed suffixes: {}", allowed.join(", ")),
    }
}

/// Reads files as `caller` can, for a worker that takes what `policy` says: all
/// of them, or none.
pub(crate) fn gather(
    caller: &Sandbox,
    paths: &[String],
    policy: &AttachmentPolicy,
) -> Result<Vec<File>, AttachError> {
    if paths.len() as u64 > policy.max_attachments {
        return Err(AttachError::TooMany { count: paths.len(), max: policy.max_attachments });
    }
    let mut files = Vec::new();
    let mut total = 0;
    for path in paths {
        check_suffix(path, policy)?;
        let max = policy.max_file_bytes.min(policy.max_total_bytes);
        // One byte more, to tell that it is too large.
        let limit = usize::try_from(max.saturating_add(1)).unwrap_or(usize::MAX);
        let read = caller.read_bytes(path, 0, limit)?;
        if read.size > max || read.more {
            return Err(AttachError::TooLarge { path: path.clone(), size: read.size, max });
        }
        total += read.size;
        if total > policy.max_total_bytes {
            let max = policy.max_total_bytes;
            return Err(AttachError::TooLargeTogether { path: path.clone(), size: total, max });
        }
        let mime =
            mime(path, &read.bytes).ok_or_else(|| AttachError::Kind { path: path.clone() })?;
        files.push(File { name: name(path).to_owned(), mime: mime.to_owned(), bytes: read.bytes });
    }
    Ok(files)
}

/// Taints a worker by files that it was given, where it holds a directory that
/// they lie in as untrusted itself.
pub(crate) fn taint(worker: &Sandbox, caller: &Sandbox, paths: &[String]) {
    for path in paths {
        let view = caller.grant().view();
        let Ok(path) = view.parse(path) else { continue };
        if zonekeep::policy::taint::by(worker.grant().view(), Verb::Read, &path).is_some() {
            worker.taint(&format!("attachment {path}"));
        }
    }
}

fn check_suffix(path: &str, policy: &AttachmentPolicy) -> Result<(), AttachError> {
    match policy.suffix_allowed(name(path).as_bytes()) {
        true => Ok(()),
        false => {
            let allowed = policy.allowed_suffixes.clone();
            Err(AttachError::Suffix { path: path.to_owned(), allowed })
        }
    }
}

fn name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// Returns what a file is, by what is in it.
fn mime(path: &str, bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"%PDF-") {
        return Some("application/pdf");
    }
    match looks_like(&bytes[..bytes.len().min(8192)]) {
        Looks::Image(mime) => Some(mime),
        _ if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0) => {
            let name = name(path).to_ascii_lowercase();
            Some(match name.rsplit('.').next() {
                Some("md" | "markdown") => "text/markdown",
                Some("csv") => "text/csv",
                Some("html" | "htm") => "text/html",
                _ => "text/plain",
            })
        }
        _ => None,
    }
}
