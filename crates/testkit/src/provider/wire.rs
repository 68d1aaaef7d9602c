//! A reply in the words of each provider.

use serde_json::{Value, json};

use super::Protocol;
use super::turn::{Ended, Said};

pub(super) fn content_type(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Ollama => "application/x-ndjson",
        _ => "text/event-stream; charset=utf-8",
    }
}

/// Returns one server-sent event.
pub(super) fn event(name: &str, data: &str) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Returns a frame that says something.
pub(super) fn words(protocol: Protocol, text: &str) -> Vec<u8> {
    match protocol {
        Protocol::Anthropic => {
            let delta = json!({ "type": "text_delta", "text": text });
            block(0, "content_block_delta", "delta", &delta)
        }
        Protocol::OpenAi => data(&choice(&json!({ "content": text }), None)),
        Protocol::Gemini => data(&candidate(&json!([{ "text": text }]), None)),
        Protocol::Ollama => line(&message(&json!({ "role": "assistant", "content": text }))),
    }
}

/// Returns what a provider says when it refuses.
pub(super) fn error(protocol: Protocol, status: u16, message: &str) -> String {
    let body = match protocol {
        Protocol::Anthropic => {
            json!({ "type": "error", "error": { "type": "some_error", "message": message } })
        }
        Protocol::OpenAi => json!({ "error": { "message": message, "type": "some_error" } }),
        Protocol::Gemini => {
            json!({ "error": { "code": status, "message": message, "status": "SOME" } })
        }
        Protocol::Ollama => json!({ "error": message }),
    };
    body.to_string()
}

/// Returns the frames of a reply, in their order.
pub(super) fn frames(protocol: Protocol, said: &Said) -> Vec<Vec<u8>> {
    match protocol {
        Protocol::Anthropic => anthropic(said),
        Protocol::OpenAi => openai(said),
        Protocol::Gemini => gemini(said),
        Protocol::Ollama => ollama(said),
    }
}

fn block(index: usize, name: &str, key: &str, value: &Value) -> Vec<u8> {
    let event_data = json!({ "type": name, "index": index, key: value });
    event(name, &event_data.to_string())
}

fn anthropic(said: &Said) -> Vec<Vec<u8>> {
    let (input, output, cached) = said.usage;
    let usage = json!({
        "input_tokens": input.saturating_sub(cached), "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0, "output_tokens": 1,
    });
    let start = json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage,
    }});
    let mut frames = vec![event("message_start", &start.to_string())];
    frames.push(event("ping", r#"{"type":"ping"}"#));
    let mut index = 0;
    let mut put = |start: &Value, deltas: Vec<Value>| {
        let mut frames = vec![block(index, "content_block_start", "content_block", start)];
        let deltas = deltas.iter();
        frames.extend(deltas.map(|delta| block(index, "content_block_delta", "delta", delta)));
        let stop = json!({ "type": "content_block_stop", "index": index });
        frames.push(event("content_block_stop", &stop.to_string()));
        index += 1;
        frames
    };
    if let Some((text, signature)) = &said.thought {
        let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let thinking = json!({ "type": "thinking_delta", "thinking": text });
        let signed = json!({ "type": "signature_delta", "signature": signature });
        frames.extend(put(&start, vec![thinking, signed]));
    }
    if !said.words.is_empty() {
        let deltas = said.words.iter().map(|word| json!({ "type": "text_delta", "text": word }));
        frames.extend(put(&json!({ "type": "text", "text": "" }), deltas.collect()));
    }
    for call in &said.calls {
        let mut start = json!({ "type": "tool_use", "name": call.name, "input": {} });
        if let Some(id) = &call.id {
            start["id"] = json!(id);
        }
        let parts = split(&call.arguments).into_iter();
        let deltas = parts.map(|part| json!({ "type": "input_json_delta", "partial_json": part }));
        frames.extend(put(&start, deltas.collect()));
    }
    frames.extend(said.raw.iter().cloned());
    let reason = match (said.end, said.calls.is_empty()) {
        (Ended::Length, _) => "max_tokens",
        (Ended::Withheld, _) => "refusal",
        (Ended::Complete, true) => "end_turn",
        (Ended::Complete, false) => "tool_use",
    };
    let delta = json!({ "type": "message_delta", "delta": { "stop_reason": reason },
        "usage": { "output_tokens": output } });
    frames.push(event("message_delta", &delta.to_string()));
    frames.push(event("message_stop", r#"{"type":"message_stop"}"#));
    frames
}

fn choice(delta: &Value, reason: Option<&str>) -> Value {
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test-model",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
}

fn openai(said: &Said) -> Vec<Vec<u8>> {
    let mut frames = vec![data(&choice(&json!({ "role": "assistant", "content": "" }), None))];
    if let Some((text, _)) = &said.thought {
        frames.push(data(&choice(&json!({ "reasoning_content": text }), None)));
    }
    frames.extend(said.words.iter().map(|word| words(Protocol::OpenAi, word)));
    for (index, call) in said.calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        let mut start = json!({ "index": index, "type": "function", "function": function });
        if let Some(id) = &call.id {
            start["id"] = json!(id);
        }
        frames.push(data(&choice(&json!({ "tool_calls": [start] }), None)));
        for part in split(&call.arguments) {
            let part = json!({ "index": index, "function": { "arguments": part } });
            frames.push(data(&choice(&json!({ "tool_calls": [part] }), None)));
        }
    }
    frames.extend(said.raw.iter().cloned());
    let reason = match (said.end, said.calls.is_empty()) {
        (Ended::Length, _) => "length",
        (Ended::Withheld, _) => "content_filter",
        (Ended::Complete, true) => "stop",
        (Ended::Complete, false) => "tool_calls",
    };
    frames.push(data(&choice(&json!({}), Some(reason))));
    let (input, output, cached) = said.usage;
    let usage = json!({ "prompt_tokens": input, "completion_tokens": output,
        "total_tokens": input + output, "prompt_tokens_details": { "cached_tokens": cached } });
    frames.push(data(&json!({ "id": "chatcmpl-1", "choices": [], "usage": usage })));
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

fn candidate(parts: &Value, reason: Option<&str>) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({ "candidates": [candidate], "modelVersion": "test-model" })
}

fn gemini(said: &Said) -> Vec<Vec<u8>> {
    let mut frames: Vec<_> = said.words.iter().map(|word| words(Protocol::Gemini, word)).collect();
    let mut signature = said.thought.as_ref().map(|(_, signature)| signature);
    for call in &said.calls {
        let mut function = json!({ "name": call.name, "args": arguments(&call.arguments) });
        if let Some(id) = &call.id {
            function["id"] = json!(id);
        }
        let mut part = json!({ "functionCall": function });
        // Only the first of the calls is signed.
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = json!(signature);
        }
        frames.push(data(&candidate(&json!([part]), None)));
    }
    frames.extend(said.raw.iter().cloned());
    let reason = match said.end {
        Ended::Length => "MAX_TOKENS",
        Ended::Withheld => "SAFETY",
        Ended::Complete => "STOP",
    };
    let mut last = candidate(&json!([{ "text": "" }]), Some(reason));
    let (input, output, cached) = said.usage;
    last["usageMetadata"] = json!({ "promptTokenCount": input, "candidatesTokenCount": output,
        "cachedContentTokenCount": cached, "totalTokenCount": input + output });
    frames.push(data(&last));
    frames
}

fn message(message: &Value) -> Value {
    json!({ "model": "test-model", "message": message, "done": false })
}

fn ollama(said: &Said) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    if let Some((text, _)) = &said.thought {
        let thinking = json!({ "role": "assistant", "content": "", "thinking": text });
        frames.push(line(&message(&thinking)));
    }
    frames.extend(said.words.iter().map(|word| words(Protocol::Ollama, word)));
    for call in &said.calls {
        let function = json!({ "name": call.name, "arguments": arguments(&call.arguments) });
        let calls = json!([{ "function": function }]);
        let calling = json!({ "role": "assistant", "content": "", "tool_calls": calls });
        frames.push(line(&message(&calling)));
    }
    // What is meant for the others is an event, and here it is a line.
    frames.extend(said.raw.iter().map(|raw| match raw.strip_prefix(b"event: ") {
        Some(_) => b"{\"garbage\": [}\n".to_vec(),
        None => raw.clone(),
    }));
    let mut last = message(&json!({ "role": "assistant", "content": "" }));
    let (input, output, cached) = said.usage;
    last["done"] = json!(true);
    last["done_reason"] = json!(if said.end == Ended::Length { "length" } else { "stop" });
    last["prompt_eval_count"] = json!(input);
    last["prompt_eval_cached_count"] = json!(cached);
    last["eval_count"] = json!(output);
    frames.push(line(&last));
    frames
}

/// Returns arguments as JSON, and what is no JSON as a JSON text.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

/// Splits arguments in three parts, so that no part is JSON alone.
fn split(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let parts = letters.chunks(letters.len().div_ceil(3).max(1));
    parts.map(|part| part.iter().collect()).collect()
}
