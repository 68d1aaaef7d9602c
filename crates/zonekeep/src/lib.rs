//! Zonekeep keeps AI agents to their zones.
//!
//! A [`Project`] is a directory with a `zonekeep.yaml`, which says what an
//! agent may use. A [`Session`] opens it, and a [`Sandbox`] is what one worker
//! holds: it answers what is allowed, and it reads, writes, lists and searches
//! inside the boundaries. [`tools`] is the same for a model, with names, JSON
//! schemas and texts.
//!
//! ```no_run
//! use zonekeep::{Project, Session, StateDir, approve::Nobody, policy::config::Overrides};
//!
//! let project = Project::find(".".as_ref(), &Overrides::default())?;
//! let session = Session::open(&project, &StateDir::of_user()?, Nobody)?;
//! let sandbox = session.sandbox();
//!
//! println!("readable: {:?}", sandbox.readable_roots());
//! println!("{}", sandbox.read_text("/input/a.txt")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every effect takes one road: judge, ask, act, record. The rules are in
//! [`policy`] (re-exported from `zonekeep-policy`), the file work is in
//! [`files`] (re-exported from `zonekeep-files`); both can be used alone.

pub mod approve;
pub mod audit;
pub mod caches;
pub mod command;
pub mod explain;
pub mod organisation;
pub mod project;
pub mod replay;
pub mod time;
pub mod tools;
pub mod trust;
pub mod work;

mod agent;
mod ask;
mod error;
mod exposure;
mod ground;
mod held;
mod mounts;
mod perform;
mod sandbox;
mod session;
mod state;
mod stop;
mod watch;

pub use ask::Given;
pub use error::{Error, Failure, Remedy};
pub use exposure::other_name;
pub use ground::GroundError;
pub use project::{Project, ProjectError};
pub use sandbox::{Branches, Listed, Matches, Paths, Sandbox};
pub use session::{OpenError, Session};
pub use state::StateDir;
pub use stop::{Stop, StopFd};
pub use watch::Watch;

pub use zonekeep_confine as confine;
pub use zonekeep_files as files;
pub use zonekeep_policy as policy;

/// The guide's programs, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
struct Guide;
