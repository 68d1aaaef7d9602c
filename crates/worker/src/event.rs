//! What happens in a run, for whoever looks on.

use serde::Serialize;
use serde_json::Value;

use crate::model::Usage;
use crate::run::Ended;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event<'a> {
    /// The run's number in this session; the first is 1.
    pub run: u64,
    /// The worker.
    pub worker: &'a str,
    /// How many workers stand above it.
    pub depth: usize,
    /// What happened.
    #[serde(flatten)]
    pub what: What<'a>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
#[non_exhaustive]
pub enum What<'a> {
    /// The run begins.
    Started {
        /// The session.
        session: &'a str,
        /// The model.
        model: &'a str,
        /// The tools that the worker has.
        tools: Vec<&'a str>,
        /// What it was given.
        input: &'a str,
        /// Names of the files that it was given.
        attachments: Vec<&'a str>,
        /// The session that it goes on from.
        #[serde(skip_serializing_if = "Option::is_none")]
        resumes: Option<&'a str>,
    },
    /// The model is asked.
    Turn {
        /// How often, with this time.
        turn: u64,
    },
    /// A part of what the model says.
    Text {
        /// The words.
        text: &'a str,
    },
    /// The model is asked again because that did not work.
    Retrying {
        /// How often it was tried.
        attempt: u32,
        /// How long is waited, in milliseconds.
        wait_ms: u64,
        /// What went wrong.
        why: &'a str,
    },
    /// All that the model said in this turn.
    Said {
        /// The words.
        text: &'a str,
        /// What it cost.
        usage: Usage,
    },
    /// A tool is called.
    Call {
        /// The call.
        id: &'a str,
        /// The tool.
        tool: &'a str,
        /// The arguments.
        arguments: &'a Value,
    },
    /// A call has ended.
    Result {
        /// The call.
        id: &'a str,
        /// The tool.
        tool: &'a str,
        /// What the model reads.
        text: &'a str,
        /// Who said no, where somebody did.
        #[serde(skip_serializing_if = "Option::is_none")]
        refused_by: Option<Layer>,
        /// The code of the refusal or failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
        /// What the user should know about it, and the model does not read.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
        /// What the user can do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<zonekeep::Remedy>,
        /// How long it took, in microseconds.
        duration_us: u64,
    },
    /// The worker has read something that is not to be trusted.
    Tainted {
        /// What it read.
        by: &'a str,
    },
    /// The run has ended.
    Ended {
        /// Why.
        ended: Ended,
        /// What it came to, or what went wrong.
        output: &'a str,
        /// How often the model was asked.
        turns: u64,
        /// What that cost, workers below not counted.
        usage: Usage,
    },
}

/// Who refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The rules.
    Policy,
    /// Whoever was asked.
    Approval,
    /// The operating system.
    Kernel,
}

impl Layer {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Policy => "policy",
            Layer::Approval => "approval",
            Layer::Kernel => "kernel",
        }
    }
}

/// Whoever looks on.
pub trait Watcher: Send + Sync {
    /// Is told what happened. Several runs may tell at the same time.
    fn see(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>) + Send + Sync> Watcher for F {
    fn see(&self, event: &Event<'_>) {
        self(event)
    }
}
