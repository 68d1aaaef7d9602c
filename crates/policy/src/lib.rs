//! Zonekeep's rules: plain data and pure functions.
//!
//! Nothing here touches a file, the clock or the environment. A project file is
//! read into a [`Policy`], a worker holds a [`Grant`] of it, and [`judge()`]
//! answers for each [`Action`] whether it may happen; `zonekeep-files` and the
//! `zonekeep` crate carry the answers out.

pub mod action;
pub mod attachment;
pub mod call;
pub mod change;
pub mod config;
pub mod denial;
pub mod fingerprint;
pub mod grant;
pub mod guard;
pub mod hosts;
pub mod judge;
pub mod limit;
pub mod model_name;
pub mod needs;
pub use tighten::organisation;
pub mod path;
pub mod planted;
pub mod policy;
pub mod profile;
pub mod run;
pub mod secret;
pub mod sensitive;
pub mod shell;
pub mod source;
pub mod taint;
pub mod tighten;
pub mod tool_name;
pub mod view;
pub mod worker_file;
pub mod zone;

pub use action::{Action, Target, Verb};
pub use call::{CallRequest, judge_call};
pub use denial::Denial;
pub use fingerprint::Fingerprint;
pub use grant::{ExceedsParent, Grant};
pub use judge::{Judgement, Permit, Place, Question, Rule, Verdict, judge};
pub use needs::Needs;
pub use path::{AgentPath, PathError, RelPath};
pub use policy::Policy;
pub use source::{At, Ruled};
pub use view::{Mount, Spot, View};
pub use zone::{Approval, Mode, Placement, Zone};
