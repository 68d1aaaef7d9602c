//! A conversation in the words of the client library.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, ReasoningEffort, Tool,
    ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use super::super::{Call, CallResult, File, Message, ModelError, Request};
use super::address::Provider;
use super::hear::Thoughts;

/// The names of tools that the library takes for tools of a provider's own, and
/// would have it search the web or run code where no rule of ours holds.
const TAKEN: [&str; 5] =
    ["web_search", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"];

/// Returns the name that a tool has on the wire.
pub(super) fn wire_name(name: &str) -> String {
    match TAKEN.contains(&name) {
        true => format!("{name}_tool"),
        false => name.to_owned(),
    }
}

/// Returns the tool that a name on the wire means.
pub(super) fn tool_name(name: &str) -> &str {
    match name.strip_suffix("_tool") {
        Some(taken) if TAKEN.contains(&taken) => taken,
        _ => name,
    }
}

/// Returns the options of a request.
pub(super) fn options(provider: Provider, request: &Request<'_>) -> ChatOptions {
    let mut options = ChatOptions::default().with_capture_usage(true);
    match provider {
        // Signed thoughts have to be sent back as they are.
        Provider::Anthropic => options = options.with_capture_reasoning_content(true),
        // Otherwise the library takes `-medium` and the like off a model's name.
        // A budget is a kind of effort that this provider is not told of.
        Provider::OpenAi => options = options.with_reasoning_effort(ReasoningEffort::Budget(0)),
        // Asking for thoughts would have Gemini write them out, and cost.
        Provider::Gemini | Provider::Ollama => {}
    }
    if let Some(tokens) = request.max_tokens {
        options = options.with_max_tokens(tokens.try_into().unwrap_or(u32::MAX));
    }
    if let Some(thousandths) = request.temperature {
        options = options.with_temperature(f64::from(thousandths) / 1000.0);
    }
    options
}

/// Returns the conversation, and what may come of it.
pub(super) fn request(
    provider: Provider,
    name: &str,
    request: &Request<'_>,
) -> Result<ChatRequest, ModelError> {
    let mut messages = Vec::new();
    for message in request.messages {
        match message {
            Message::User { text, files } => {
                messages.push(user(provider, name, text, files)?);
            }
            Message::Model { text, calls, raw } => {
                let parts = spoken(provider, text, calls, raw.as_ref());
                // A provider takes no message with nothing in it.
                if !parts.is_empty() {
                    messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
                }
            }
            Message::Results { results } => answers(provider, results, &mut messages),
        }
    }
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(request.system);
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(|tool| {
            Tool::new(wire_name(&tool.name))
                .with_description(&tool.description)
                .with_schema(tool.schema.clone())
        }));
    }
    Ok(chat)
}

fn user(
    provider: Provider,
    name: &str,
    text: &str,
    files: &[File],
) -> Result<ChatMessage, ModelError> {
    let mut parts = Vec::new();
    if !text.is_empty() || files.is_empty() {
        parts.push(ContentPart::from_text(text));
    }
    for file in files {
        attach(provider, name, file, &mut parts)?;
    }
    Ok(ChatMessage::user(MessageContent::from_parts(parts)))
}

/// Puts a file in a message: text as text, and pictures and PDF as they are.
fn attach(
    provider: Provider,
    name: &str,
    file: &File,
    parts: &mut Vec<ContentPart>,
) -> Result<(), ModelError> {
    let heading = format!("[file {}]", file.name);
    let mime = file.mime.trim().to_ascii_lowercase();
    let readable = match provider {
        // The library would leave it out without a word.
        Provider::Ollama => is_image(&mime),
        _ => is_image(&mime) || mime == "application/pdf",
    };
    if readable {
        parts.push(ContentPart::from_text(heading));
        parts.push(binary(file, mime));
        return Ok(());
    }
    if mime.starts_with("text/") {
        let text = String::from_utf8_lossy(&file.bytes);
        parts.push(ContentPart::from_text(format!("{heading}\n{text}")));
        return Ok(());
    }
    match std::str::from_utf8(&file.bytes) {
        // Such as JSON. A PDF can happen to be text, and would be no use as such.
        Ok(text) if mime != "application/pdf" => {
            parts.push(ContentPart::from_text(format!("{heading}\n{text}")));
            Ok(())
        }
        _ => Err(ModelError::Refused {
            name: name.to_owned(),
            status: 415,
            why: format!("it cannot read '{}', which is of the type '{mime}'", file.name),
        }),
    }
}

fn is_image(mime: &str) -> bool {
    mime.starts_with("image/") && mime != "image/svg+xml"
}

fn binary(file: &File, mime: String) -> ContentPart {
    ContentPart::from_binary_base64(mime, STANDARD.encode(&file.bytes), Some(file.name.clone()))
}

/// Returns what the model said, with the thoughts that its provider wants back.
fn spoken(provider: Provider, text: &str, calls: &[Call], raw: Option<&Value>) -> Vec<ContentPart> {
    let thoughts = raw.and_then(|raw| Thoughts::read(provider, raw)).unwrap_or_default();
    let mut parts = thoughts.parts();
    if !text.is_empty() {
        parts.push(ContentPart::from_text(text));
    }
    for (index, call) in calls.iter().enumerate() {
        let arguments = match &call.arguments {
            Value::Object(_) => call.arguments.clone(),
            // They were malformed, and no provider takes that back.
            _ => json!({}),
        };
        parts.push(ContentPart::ToolCall(ToolCall {
            call_id: wire_id(provider, &call.id),
            fn_name: wire_name(&call.name),
            fn_arguments: arguments,
            thought_signatures: thoughts.signature(index).map(|signature| vec![signature]),
        }));
    }
    parts
}

/// Returns a call's id as the provider takes it: another one may have made it up.
fn wire_id(provider: Provider, id: &str) -> String {
    match provider {
        Provider::Anthropic => {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
        }
        _ => id.to_owned(),
    }
}

/// Puts in what the calls came to.
fn answers(provider: Provider, results: &[CallResult], messages: &mut Vec<ChatMessage>) {
    if provider == Provider::Anthropic {
        let parts = results.iter().map(anthropic_result).collect::<Vec<_>>();
        messages.push(ChatMessage::tool(MessageContent::from_parts(parts)));
        return;
    }
    let mut pictures = Vec::new();
    let mut parts = Vec::new();
    for result in results {
        let response = ToolResponse::new(wire_id(provider, &result.id), result.text.clone());
        parts.push(ContentPart::ToolResponse(response.with_fn_name(wire_name(&result.name))));
        if let Some(image) = &result.image {
            let heading = format!("[file {}, the result of {}]", image.name, result.name);
            pictures.push(ContentPart::from_text(heading));
            pictures.push(binary(image, image.mime.clone()));
        }
    }
    // In Gemini's protocol, pictures can be beside results; in the others they follow.
    if provider == Provider::Gemini && !pictures.is_empty() {
        parts.append(&mut pictures);
        messages.push(ChatMessage::user(MessageContent::from_parts(parts)));
        return;
    }
    // One message for each: Ollama's form has room for one result.
    messages.extend(
        parts.into_iter().map(|part| ChatMessage::tool(MessageContent::from_parts(vec![part]))),
    );
    if !pictures.is_empty() {
        messages.push(ChatMessage::user(MessageContent::from_parts(pictures)));
    }
}

/// Returns a result in Anthropic's own form, which has room for a picture and
/// for whether it failed; the library's form has not.
fn anthropic_result(result: &CallResult) -> ContentPart {
    let mut content = Vec::new();
    if !result.text.is_empty() {
        content.push(json!({ "type": "text", "text": result.text }));
    }
    if let Some(image) = &result.image {
        let data = STANDARD.encode(&image.bytes);
        let source = json!({ "type": "base64", "media_type": image.mime, "data": data });
        content.push(json!({ "type": "image", "source": source }));
    }
    let id = wire_id(Provider::Anthropic, &result.id);
    let mut part = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if result.is_error {
        part["is_error"] = json!(true);
    }
    ContentPart::from_custom(part, None)
}
