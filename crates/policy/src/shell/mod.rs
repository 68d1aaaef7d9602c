//! Command lines: what they would run, and which rules speak of it.

pub mod line;

pub use line::{Line, Redirect, RedirectKind, Simple, Unparsed, Within, Word};
