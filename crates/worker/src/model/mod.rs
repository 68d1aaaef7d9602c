//! Models: what they are asked, and what they answer.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zonekeep::Stop;

mod open;
mod remote;
mod scripted;

pub use open::{Environment, Settings, check_name, key_variables, open};

/// Somebody who can be asked to go on with a conversation.
pub trait Model: Send + Sync {
    /// Returns the name that it was opened by, such as `anthropic:NAME`.
    fn name(&self) -> &str;

    /// Goes on with a conversation. Waits for the whole reply, and tells of its
    /// parts as they come. Ends soon after `stop` is said or the request's time
    /// is over.
    fn respond(
        &self,
        request: &Request<'_>,
        tell: &mut dyn FnMut(Delta<'_>),
        stop: &Stop,
    ) -> Result<Reply, ModelError>;
}

/// A conversation, and what may come of it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The worker's name.
    pub worker: &'a str,
    /// The worker's instructions.
    pub system: &'a str,
    /// What was said so far.
    pub messages: &'a [Message],
    /// The tools that the model can call.
    pub tools: &'a [ToolSpec],
    /// The longest reply, in tokens.
    pub max_tokens: Option<u64>,
    /// How freely the model chooses its words, in thousandths.
    pub temperature: Option<u32>,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub schema: Value,
}

/// A file in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name, without a directory.
    pub name: String,
    /// Its MIME type.
    pub mime: String,
    /// What is in it.
    #[serde(with = "base64_bytes")]
    pub bytes: Vec<u8>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Message {
    /// What the worker is given.
    User {
        /// The words.
        text: String,
        /// Files that go with them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<File>,
    },
    /// What the model said.
    Model {
        /// The words.
        text: String,
        /// The tools that it called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// What its provider wants to see again, as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// What the calls came to, in their order.
    Results {
        /// One for each call.
        results: Vec<CallResult>,
    },
}

/// A tool call of a model's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The provider's name for the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments; null where they are malformed.
    pub arguments: Value,
    /// Why the arguments are not a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What the model reads.
    pub text: String,
    /// Whether it was refused or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// A picture, where the result is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<File>,
}

/// A model's reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The words.
    pub text: String,
    /// The tools that it calls.
    pub calls: Vec<Call>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub end: End,
    /// What its provider wants to see again, as it is.
    pub raw: Option<Value>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// The model had said all, or waits for its calls.
    #[default]
    Complete,
    /// It was as long as it may be.
    Length,
    /// The provider withheld the rest.
    Withheld,
}

/// How many tokens were read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that the model read, cached ones too.
    pub input: u64,
    /// Tokens that it wrote.
    pub output: u64,
    /// How many of those that it read were cached.
    #[serde(default)]
    pub cached: u64,
}

impl Usage {
    /// Returns all tokens, read and written.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// A part of a reply, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Words.
    Text(&'a str),
    /// The name of a tool that it is about to call.
    Call(&'a str),
    /// It did not work and is tried again: all that came before is void.
    Retrying {
        /// How often it was tried.
        attempt: u32,
        /// How long is waited.
        wait: Duration,
        /// What went wrong.
        why: &'a str,
    },
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no such model.
    #[error("the model '{name}' is not known: {why}")]
    Unknown {
        /// The name as given.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The key is missing.
    #[error("the model '{name}' needs a key in the environment variable {variable}")]
    NoKey {
        /// The model.
        name: String,
        /// The variable.
        variable: &'static str,
    },
    /// The place to ask cannot be used.
    #[error("{variable} cannot be used: {why}")]
    BaseUrl {
        /// The variable that names it.
        variable: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody could be reached.
    #[error("the model '{name}' could not be reached: {why}")]
    Unreachable {
        /// The model.
        name: String,
        /// What happened.
        why: String,
    },
    /// The provider refused.
    #[error("the model '{name}' refused (status {status}): {why}")]
    Refused {
        /// The model.
        name: String,
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        why: String,
    },
    /// What came is no reply.
    #[error("the model '{name}' gave a reply that cannot be understood: {why}")]
    Malformed {
        /// The model.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The reply is larger than any reply is.
    #[error("the model '{name}' gave a reply with more than {limit} of {what}")]
    TooLarge {
        /// The model.
        name: String,
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// The time was over.
    #[error("the model '{name}' took too long")]
    TimedOut {
        /// The model.
        name: String,
    },
    /// Somebody said stop.
    #[error("stopped")]
    Stopped,
    /// The file of replies does not fit.
    #[error("{file}: {why}")]
    Script {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
}

mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}
