//! Writing to standard output and standard error, where a closed pipe is not an error.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use zonekeep::policy::denial::is_invisible;

use crate::failure::Failure;

/// Set once the reader of standard output has closed it.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether the reader of standard output has closed it, and text is dropped.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Prints a text, with a line break at the end if it has none. Where the reader has closed
/// the pipe, the text is dropped: the command goes on to the exit status that is due.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    if is_closed() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let result = out.write_all(text.as_bytes()).and_then(|()| match text.ends_with('\n') {
        true => Ok(()),
        false => out.write_all(b"\n"),
    });
    finish(result.and_then(|()| out.flush()))
}

/// Prints a value as JSON on several lines.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let shown = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    text(&escaped(&shown))
}

/// Prints a value as JSON on one line.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let shown = serde_json::to_string(value).map_err(io::Error::from)?;
    text(&escaped(&shown))
}

/// Writes out, as JSON does, what a terminal would act on or reorder: JSON itself
/// leaves DEL, the C1 controls and bidirectional and invisible characters as they are.
///
/// Such characters stand in strings only, so that the value stays the same.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => out.push(c),
            c if c.is_control() || is_invisible(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// Prints a line on standard error, formatted as by `format!`.
macro_rules! tell {
    ($($arg:tt)*) => {
        $crate::output::beside(&format!("{}\n", format_args!($($arg)*)))
    };
}

/// Prints a text on standard error, all at once: whoever waits for a line never reads
/// half of it. Where nobody reads, what was to be done is done all the same.
pub(crate) fn beside(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn finish(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => Ok(other?),
    }
}
