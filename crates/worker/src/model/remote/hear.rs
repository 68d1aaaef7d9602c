//! A reply, from what the client library reads.
//!
//! The library can collect tool calls, and makes room for as many as a stream
//! says there are; so they are collected here, where there are bounds.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, StreamExt};
use genai::chat::{
    ChatStream, ChatStreamEvent, ContentPart, StopReason, StreamEnd, ToolCall, Usage as Counted,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::{Call, Delta, End, Message, ModelError, Reply, Request, Usage};
use super::address::Provider;
use super::ask::tool_name;
use super::gate::{Failure, Gate, message};

/// The longest text of a reply.
const MAX_TEXT: usize = 1 << 20;
/// The longest arguments of a call.
const MAX_ARGUMENTS: usize = 1 << 20;
/// The most calls in a reply.
const MAX_CALLS: usize = 128;
/// The longest name of a tool, and the longest id of a call.
const MAX_NAME: usize = 200;

/// Reads a reply to its end, and tells of its parts.
pub(super) async fn reply(
    gate: &Gate,
    provider: Provider,
    request: &Request<'_>,
    mut stream: ChatStream,
    tell: &mut dyn FnMut(Delta<'_>),
) -> Result<Reply, Failure> {
    let mut hearing =
        Hearing { provider, gate, text: String::new(), calls: Vec::new(), thoughts: String::new() };
    loop {
        // The library adds up what a provider counts, and may find it too much.
        let event = AssertUnwindSafe(stream.next()).catch_unwind().await;
        let event = event.map_err(|_| gate.malformed("its numbers make no sense"))?;
        match event {
            Some(Ok(ChatStreamEvent::Chunk(chunk))) => {
                within(gate, hearing.text.len() + chunk.content.len(), MAX_TEXT, "bytes of text")?;
                tell(Delta::Text(&chunk.content));
                hearing.text.push_str(&chunk.content);
            }
            Some(Ok(ChatStreamEvent::ToolCallChunk(chunk))) => {
                hearing.call(chunk.tool_call, tell)?;
            }
            Some(Ok(ChatStreamEvent::ReasoningChunk(chunk))) => {
                let length = hearing.thoughts.len() + chunk.content.len();
                within(gate, length, MAX_TEXT, "bytes of thoughts")?;
                hearing.thoughts.push_str(&chunk.content);
            }
            Some(Ok(ChatStreamEvent::End(end))) => return hearing.end(request, end),
            Some(Ok(_)) => {}
            Some(Err(genai::Error::ChatResponse { body, .. })) if is_blocked(provider, &body) => {
                return Ok(Reply { end: End::Withheld, ..Reply::default() });
            }
            Some(Err(error)) => return Err(failure(gate, &error)),
            None => return Err(broke_off(gate)),
        }
    }
}

/// Returns whether Gemini did not even begin, because of the question.
fn is_blocked(provider: Provider, body: &Value) -> bool {
    provider == Provider::Gemini && body.get("error").is_none()
}

/// Returns what an error of the library means.
pub(super) fn failure(gate: &Gate, error: &genai::Error) -> Failure {
    match error {
        genai::Error::ChatResponse { body, .. } => complaint(gate, body),
        genai::Error::StreamParse { serde_error, .. } => {
            gate.malformed(&format!("it is not JSON ({serde_error})"))
        }
        // Nothing but the gate is reached this way, and the gate knows more.
        genai::Error::WebStream { .. } => broke_off(gate),
        error => gate.malformed(&error.to_string()),
    }
}

/// Returns what an error in the middle of a reply means.
fn complaint(gate: &Gate, body: &Value) -> Failure {
    let error = body.get("error").unwrap_or(body);
    let named = error.get("type").or_else(|| error.get("code")).and_then(Value::as_str);
    let numbered = error.get("code").and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
    let status = numbered.unwrap_or(match named.unwrap_or_default() {
        "overloaded_error" => 529,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "api_error" | "server_error" | "internal_server_error" => 500,
        "timeout_error" => 504,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "invalid_request_error" => 400,
        _ => 200,
    });
    let why = message(body).or_else(|| named.map(str::to_owned));
    let why = gate.clean(&why.unwrap_or_else(|| body.to_string()));
    gate.refused(status, &why, None)
}

fn broke_off(gate: &Gate) -> Failure {
    Failure::passing(gate.unreachable("the reply broke off".to_owned()))
}

fn within(gate: &Gate, length: usize, limit: usize, what: &'static str) -> Result<(), Failure> {
    if length <= limit {
        return Ok(());
    }
    let name = gate.name().to_owned();
    Err(Failure::is_final(ModelError::TooLarge { name, what, limit: limit as u64 }))
}

struct Hearing<'a> {
    provider: Provider,
    gate: &'a Gate,
    text: String,
    thoughts: String,
    calls: Vec<Heard>,
}

/// A call as far as it came.
struct Heard {
    id: String,
    name: String,
    arguments: Value,
    signature: Option<String>,
}

impl Hearing<'_> {
    /// Takes in a call, or a part of one.
    fn call(&mut self, part: ToolCall, tell: &mut dyn FnMut(Delta<'_>)) -> Result<(), Failure> {
        let known = match self.provider {
            // Whole calls.
            Provider::Gemini | Provider::Ollama => None,
            // Each part has the id, and all the arguments so far.
            Provider::Anthropic => self.calls.iter().rposition(|call| call.id == part.call_id),
            Provider::OpenAi => self.begun(&part),
        };
        let Some(at) = known else {
            within(self.gate, self.calls.len() + 1, MAX_CALLS, "tool calls")?;
            within(self.gate, length(&part.fn_arguments), MAX_ARGUMENTS, "bytes of arguments")?;
            let name: String = tool_name(&part.fn_name).chars().take(MAX_NAME).collect();
            tell(Delta::Call(&name));
            let signature = part.thought_signatures.and_then(|all| all.into_iter().next());
            let arguments = part.fn_arguments;
            self.calls.push(Heard { id: part.call_id, name, arguments, signature });
            return Ok(());
        };
        let call = &mut self.calls[at];
        match (self.provider, &mut call.arguments, part.fn_arguments) {
            (Provider::OpenAi, Value::String(so_far), Value::String(more)) => {
                within(self.gate, so_far.len() + more.len(), MAX_ARGUMENTS, "bytes of arguments")?;
                so_far.push_str(&more);
            }
            (_, so_far, all) => {
                within(self.gate, length(&all), MAX_ARGUMENTS, "bytes of arguments")?;
                *so_far = all;
            }
        }
        Ok(())
    }

    /// Returns the call that a part of OpenAI's goes on with. The first part has
    /// id and name; the others have neither, and the library writes the place
    /// among the calls as `call_N`.
    fn begun(&self, part: &ToolCall) -> Option<usize> {
        if let Some(same) = self.calls.iter().position(|call| call.id == part.call_id) {
            return Some(same);
        }
        if !part.fn_name.is_empty() {
            return None;
        }
        let place = part.call_id.strip_prefix("call_").and_then(|n| n.parse::<usize>().ok());
        place.filter(|place| *place < self.calls.len()).or(self.calls.len().checked_sub(1))
    }

    fn end(self, request: &Request<'_>, end: StreamEnd) -> Result<Reply, Failure> {
        let whole = match self.provider {
            Provider::Anthropic | Provider::OpenAi => true,
            // The library calls it an end when the stream just stops.
            Provider::Gemini => end.captured_stop_reason.is_some(),
            Provider::Ollama => end.captured_usage.is_some(),
        };
        if !whole {
            return Err(broke_off(self.gate));
        }
        let ended = match &end.captured_stop_reason {
            Some(StopReason::MaxTokens(_)) => End::Length,
            Some(StopReason::ContentFilter(_)) => End::Withheld,
            // Such as Gemini's `MALFORMED_FUNCTION_CALL`.
            Some(StopReason::Other(reason)) if self.text.is_empty() && self.calls.is_empty() => {
                return Err(self.gate.malformed(&format!("it ended with '{reason}'")));
            }
            _ => End::Complete,
        };
        let thoughts = Thoughts {
            provider: self.provider.prefix().to_owned(),
            thoughts: self.thoughts(&end),
            calls: self.calls.iter().map(|call| call.signature.clone()).collect(),
        };
        let mut ids = ids(request.messages);
        let provider = self.provider;
        let calls = self.calls.into_iter().map(|call| call.finish(provider, &mut ids)).collect();
        let usage = end.captured_usage.map(|usage| counted(&usage)).unwrap_or_default();
        Ok(Reply { text: self.text, calls, usage, end: ended, raw: thoughts.write() })
    }

    /// Returns the thoughts that the provider wants back.
    fn thoughts(&self, end: &StreamEnd) -> Vec<Thought> {
        // Some servers that speak as OpenAI does want them beside the calls.
        if self.provider == Provider::OpenAi {
            let wanted = !self.thoughts.is_empty() && !self.calls.is_empty();
            let text = wanted.then(|| self.thoughts.clone());
            return text
                .into_iter()
                .map(|text| Thought { text: Some(text), ..Thought::default() })
                .collect();
        }
        let mut thoughts: Vec<Thought> = Vec::new();
        for part in end.captured_content.iter().flat_map(|content| content.parts()) {
            match part {
                ContentPart::ThoughtSignature(signature) => {
                    let signature = Some(signature.clone());
                    thoughts.push(Thought { signature, ..Thought::default() });
                }
                // It comes after its signature.
                ContentPart::ReasoningContent(text) => {
                    if let Some(thought) = thoughts.last_mut() {
                        thought.text = Some(text.clone());
                    }
                }
                ContentPart::Custom(part) => {
                    let block = Some(part.data.clone());
                    thoughts.push(Thought { block, ..Thought::default() });
                }
                _ => {}
            }
        }
        // Those of calls are kept with the calls.
        thoughts.retain(|thought| {
            thought.signature.is_none()
                || !self.calls.iter().any(|call| call.signature == thought.signature)
        });
        thoughts
    }
}

impl Heard {
    fn finish(self, provider: Provider, ids: &mut HashSet<String>) -> Call {
        let (arguments, malformed) = match object(self.arguments) {
            Ok(object) => (object, None),
            Err(why) => (Value::Null, Some(why)),
        };
        let mut id = self.id;
        // The library makes some up that come twice.
        while id.is_empty() || id.len() > MAX_NAME || !ids.insert(id.clone()) {
            let number = getrandom::u32().unwrap_or(ids.len() as u32);
            id = match provider {
                // The library knows from the form that Gemini has not seen it.
                Provider::Gemini => format!("call#{}#{number}", self.name),
                _ => format!("call_{number:08x}"),
            };
        }
        Call { id, name: self.name, arguments, malformed }
    }
}

/// Returns the ids of all calls so far.
fn ids(messages: &[Message]) -> HashSet<String> {
    let calls = messages.iter().flat_map(|message| match message {
        Message::Model { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    calls.map(|call| call.id.clone()).collect()
}

/// Returns arguments as a JSON object, or why they are none.
fn object(arguments: Value) -> Result<Value, String> {
    let arguments = match arguments {
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => serde_json::from_str(&text).map_err(|error| error.to_string())?,
        Value::Null => json!({}),
        arguments => arguments,
    };
    let kind = match arguments {
        Value::Object(_) => return Ok(arguments),
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null => "null",
    };
    Err(format!("it is {kind}, and not a JSON object"))
}

fn length(arguments: &Value) -> usize {
    match arguments {
        Value::String(text) => text.len(),
        arguments => arguments.to_string().len(),
    }
}

fn counted(usage: &Counted) -> Usage {
    let number = |n: Option<i32>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or_default();
    let details = usage.prompt_tokens_details.as_ref();
    let written = usage.completion_tokens_details.as_ref().and_then(|all| all.reasoning_tokens);
    Usage {
        input: number(usage.prompt_tokens),
        // Where a reply is nothing but thoughts, the library has only these.
        output: number(usage.completion_tokens.or(written)),
        cached: number(details.and_then(|details| details.cached_tokens)),
    }
}

/// What a provider wants to see again: its thoughts, and the signatures of calls.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Thoughts {
    provider: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    thoughts: Vec<Thought>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Option<String>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Thought {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block: Option<Value>,
}

impl Thoughts {
    /// Reads what [`write`](Thoughts::write) wrote, unless it is another provider's.
    pub(super) fn read(provider: Provider, raw: &Value) -> Option<Self> {
        let thoughts = Thoughts::deserialize(raw).ok()?;
        (thoughts.provider == provider.prefix()).then_some(thoughts)
    }

    fn write(mut self) -> Option<Value> {
        if self.calls.iter().all(Option::is_none) {
            self.calls.clear();
        }
        if self.thoughts.is_empty() && self.calls.is_empty() {
            return None;
        }
        serde_json::to_value(self).ok()
    }

    /// Returns the signature of a call.
    pub(super) fn signature(&self, call: usize) -> Option<String> {
        self.calls.get(call).cloned().flatten()
    }

    /// Returns the thoughts in the library's words.
    pub(super) fn parts(&self) -> Vec<ContentPart> {
        let parts = self.thoughts.iter().flat_map(|thought| {
            let signature = thought.signature.clone().map(ContentPart::ThoughtSignature);
            let text = thought.text.clone().map(ContentPart::ReasoningContent);
            let block = thought.block.clone().map(|block| ContentPart::from_custom(block, None));
            [signature, text, block]
        });
        parts.flatten().collect()
    }
}
