//! Runs worker files: a model, the tools that the worker has, and the workers
//! that it calls.
//!
//! A [`Registry`] finds the workers of a project; a [`Runner`] runs one of them
//! in a session: it asks the model, calls the tools that the model wants through
//! the worker's sandbox, and gives the results back, until there is an answer.
//! A worker that is called by another one gets what its own file asks for and
//! never more than its caller has.
//!
//! All of it waits: [`Runner::work`] returns when the run has ended. A program
//! with an asynchronous runtime calls it in a thread of its own, such as
//! `tokio::task::spawn_blocking` gives.

pub mod event;
pub mod model;
pub mod registry;
pub mod schema;

mod attach;
mod budget;
mod calls;
mod context;
mod conversation;
mod delegate;
mod explain;
mod run;
mod tally;
mod template;
mod transcript;

pub use attach::AttachError;
pub use conversation::Conversation;
pub use explain::{Explained, HeldZone, Holds, explain_worker};
pub use registry::{Registry, RegistryError};
pub use run::{Ended, OpenModel, Outcome, Runner, Settings, WorkError};
pub use tally::Report;
pub use template::TemplateError;
pub use transcript::{Progress, ResumeError};
