//! File work under an open directory handle, so that no path can lead out.
//!
//! An open directory *is* the right to use what is below it. A [`Store`] is such
//! a directory, on the host ([`HostStore`]) or in memory ([`MemoryStore`]); it
//! hands out [`Dir`]s and [`File`]s that were reached without ever leaving it,
//! and a [`Dir`] acts on single names only. Nothing is checked by path first and
//! opened by path later, so nothing can be swapped in between.
//!
//! The verbs are functions over a store and a [`Place`], which says what was
//! judged and with which limits: [`read`](mod@read), [`write`](mod@write),
//! [`edit`](mod@edit), [`list`], [`search`](mod@search), [`stat`], [`delete`](mod@delete) and
//! [`relocate`]. Each fails with a [`Fault`], whose text is the reason, in words
//! for the agent that asked: `Cannot read '/input/a.txt': {fault}`.
//!
//! What holds for all of them:
//!
//! - links inside a path are followed as long as they stay in the store;
//! - a link as the last name is never read or written through: it is refused;
//! - pipes, sockets and devices are refused, and opening one never waits;
//! - content is replaced whole or not at all, and a failure leaves the old one.
//!
//! [`Place`]: zonekeep_policy::Place

pub mod delete;
pub mod edit;
pub mod fault;
mod fingerprint;
pub mod hash;
pub mod host;
mod ignored;
pub mod list;
mod lookup;
pub mod memory;
mod nearest;
mod page;
pub mod preview;
pub mod read;
pub mod relocate;
pub mod root;
pub mod search;
pub mod stat;
mod target;
pub mod text;
mod walk;
pub mod write;

pub use fault::Fault;
pub use host::{HostStore, Lookup};
pub use memory::MemoryStore;
pub use root::{Dir, File, Kind, Meta, Overwrite, Store};
