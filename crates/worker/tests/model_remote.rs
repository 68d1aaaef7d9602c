//! Models over the network, against servers that speak the providers' protocols.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod model;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use model::{ask, ask_until, request, user};
use serde_json::{Value, json};
use zonekeep::Stop;
use zonekeep_testkit::provider::{Called, Protocol, Provider, Turn};
use zonekeep_worker::model::{
    self as models, CallResult, End, File, Message, ModelError, Reply, ToolSpec, Usage,
};

/// Returns settings that lead to `provider`, and wait for nothing long.
fn settings(provider: &Provider) -> models::Settings {
    let variables = provider.environment();
    let env = move |name: &str| {
        let found = variables.iter().find(|(have, _)| *have == name);
        found.map(|(_, value)| value.clone())
    };
    models::Settings {
        env: Arc::new(env),
        connect: Duration::from_secs(5),
        idle: Duration::from_secs(10),
        backoff: Duration::from_millis(1),
        ..models::Settings::new("/nowhere")
    }
}

fn open(provider: &Provider) -> Arc<dyn models::Model> {
    models::open(&provider.model(), &settings(provider)).unwrap()
}

/// Runs a test against each of the providers.
fn each(turns: impl Fn() -> Vec<Turn>, test: impl Fn(Protocol, &Provider)) {
    for protocol in Protocol::ALL {
        let provider = Provider::new(protocol, turns());
        test(protocol, &provider);
    }
}

fn tools() -> Vec<ToolSpec> {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ["read_file", "web_search", "codeExecution"]
        .map(|name| ToolSpec {
            name: name.to_owned(),
            description: format!("does {name}"),
            schema: schema.clone(),
        })
        .into()
}

#[test]
fn a_reply_comes_in_parts_with_its_count_and_its_end() {
    let text = "Grüße, 世界! \"quoted\" \\ and\nlines";
    let turns = || {
        vec![
            Turn::text(text).usage(100, 7, 60),
            Turn::words(["one ", "two"]).too_long(),
            Turn::text("no").withheld(),
        ]
    };
    each(turns, |protocol, provider| {
        let model = open(provider);
        let messages = [user("hello")];
        let heard = ask(&*model, &request(&messages));
        let want = Reply {
            text: text.to_owned(),
            usage: Usage { input: 100, output: 7, cached: 60 },
            ..Reply::default()
        };
        assert_eq!(heard.reply, Ok(want), "{protocol:?}");
        assert_eq!(heard.text, text, "{protocol:?}");
        assert!(heard.retries.is_empty(), "{protocol:?}");
        let reply = ask(&*model, &request(&messages)).reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.end), ("one two", End::Length), "{protocol:?}");
        let reply = ask(&*model, &request(&messages)).reply.unwrap();
        // Ollama withholds nothing.
        let want = if protocol == Protocol::Ollama { End::Complete } else { End::Withheld };
        assert_eq!(reply.end, want, "{protocol:?}");
    });
}

#[test]
fn requests_have_the_key_in_its_place_and_all_that_was_said() {
    each(
        || vec![Turn::text("hi")],
        |protocol, provider| {
            let (messages, tools) = ([user("hello")], tools());
            let request = models::Request {
                tools: &tools,
                max_tokens: Some(321),
                temperature: Some(250),
                ..request(&messages)
            };
            ask(&*open(provider), &request).reply.unwrap();
            let asked = provider.requests().remove(0);
            let bearer = format!("Bearer {}", Provider::KEY);
            let (path, header, key) = match protocol {
                Protocol::Anthropic => ("/v1/messages", "x-api-key", Provider::KEY),
                Protocol::OpenAi => ("/v1/chat/completions", "authorization", &*bearer),
                Protocol::Gemini => (
                    "/v1beta/models/test-model:streamGenerateContent?alt=sse",
                    "x-goog-api-key",
                    Provider::KEY,
                ),
                Protocol::Ollama => ("/api/chat", "authorization", &*bearer),
            };
            assert_eq!(asked.path, path);
            assert_eq!(asked.header(header), Some(key), "{protocol:?}");
            let with_key = asked.headers.iter().filter(|(_, value)| value.contains(Provider::KEY));
            assert_eq!(with_key.count(), 1, "{protocol:?}");
            assert!(!asked.body.to_string().contains(Provider::KEY), "{protocol:?}");
            assert!(!format!("{:?}", asked.headers).contains("at-the-gate"), "{protocol:?}");
            assert_eq!(asked.header("content-type"), Some("application/json"));
            assert_eq!(asked.header("accept-encoding"), None);
            assert!(asked.header("user-agent").unwrap().starts_with("zonekeep/"));

            let body = &asked.body;
            let want = match protocol {
                Protocol::Anthropic => json!([
                    "You are a test.",
                    "hello",
                    "read_file",
                    "web_search_tool",
                    321,
                    0.25,
                    true,
                ]),
                Protocol::OpenAi | Protocol::Ollama | Protocol::Gemini => json!([
                    "You are a test.",
                    "hello",
                    "read_file",
                    "web_search_tool",
                    321,
                    0.25,
                    if protocol == Protocol::Gemini { Value::Null } else { json!(true) },
                ]),
            };
            let places = match protocol {
                Protocol::Anthropic => [
                    "/system",
                    "/messages/0/content",
                    "/tools/0/name",
                    "/tools/1/name",
                    "/max_tokens",
                    "/temperature",
                    "/stream",
                ],
                Protocol::OpenAi => [
                    "/messages/0/content",
                    "/messages/1/content",
                    "/tools/0/function/name",
                    "/tools/1/function/name",
                    "/max_tokens",
                    "/temperature",
                    "/stream",
                ],
                Protocol::Gemini => [
                    "/systemInstruction/parts/0/text",
                    "/contents/0/parts/0/text",
                    "/tools/0/functionDeclarations/0/name",
                    "/tools/0/functionDeclarations/1/name",
                    "/generationConfig/maxOutputTokens",
                    "/generationConfig/temperature",
                    "/stream",
                ],
                Protocol::Ollama => [
                    "/messages/0/content",
                    "/messages/1/content",
                    "/tools/0/function/name",
                    "/tools/1/function/name",
                    "/options/num_predict",
                    "/options/temperature",
                    "/stream",
                ],
            };
            let got: Value = places
                .iter()
                .map(|place| body.pointer(place).cloned().unwrap_or_default())
                .collect();
            assert_eq!(got, want, "{protocol:?}: {body:#}");
            // None of them has become a tool that the provider runs itself.
            let sent = body["tools"].to_string();
            assert!(sent.contains("codeExecution_tool"), "{protocol:?}: {sent}");
            assert!(
                !sent.contains("\"codeExecution\"") && !sent.contains("web_search_2"),
                "{sent}"
            );
        },
    );
}

#[test]
fn calls_are_put_together_and_answered() {
    let arguments = json!({ "path": "/a/ü \"b\"", "n": [1, { "x": null }] });
    let turns = || {
        vec![
            Turn::calls([("read_file", arguments.clone()), ("web_search_tool", json!({}))])
                .saying("I look."),
            Turn::text("done"),
        ]
    };
    each(turns, |protocol, provider| {
        let model = open(provider);
        let tools = tools();
        let mut messages = vec![user("hello")];
        let heard = ask(&*model, &models::Request { tools: &tools, ..request(&messages) });
        let reply = heard.reply.unwrap();
        assert_eq!(reply.text, "I look.", "{protocol:?}");
        assert_eq!(heard.calls, ["read_file", "web_search"], "{protocol:?}");
        let calls: Vec<_> = reply.calls.iter().map(|call| (&*call.name, &call.arguments)).collect();
        let none = json!({});
        assert_eq!(calls, [("read_file", &arguments), ("web_search", &none)], "{protocol:?}");
        assert!(reply.calls.iter().all(|call| call.malformed.is_none()));
        if protocol != Protocol::Ollama {
            assert_eq!(reply.calls[0].id, "call-1", "{protocol:?}");
        }

        let picture = File {
            name: "p.png".to_owned(),
            mime: "image/png".to_owned(),
            bytes: b"picture".to_vec(),
        };
        let results = [("a text", false, None), ("Cannot search.", true, Some(picture))];
        let results = reply.calls.iter().zip(results).map(|(call, (text, is_error, image))| {
            let (id, name) = (call.id.clone(), call.name.clone());
            CallResult { id, name, text: text.to_owned(), is_error, image }
        });
        let results = results.collect();
        messages.push(Message::Model { text: reply.text, calls: reply.calls, raw: reply.raw });
        messages.push(Message::Results { results });
        let again = ask(&*model, &models::Request { tools: &tools, ..request(&messages) });
        assert_eq!(again.reply.unwrap().text, "done", "{protocol:?}");

        let body = provider.requests().remove(1).body;
        let data = "cGljdHVyZQ==";
        let (place, want) = match protocol {
            Protocol::Anthropic => (
                "messages",
                json!([
                    { "role": "user", "content": "hello" },
                    { "role": "assistant", "content": [
                        { "type": "text", "text": "I look." },
                        { "type": "tool_use", "id": "call-1", "name": "read_file", "input": arguments },
                        { "type": "tool_use", "id": "call-2", "name": "web_search_tool", "input": {} },
                    ] },
                    { "role": "user", "content": [
                        { "type": "tool_result", "tool_use_id": "call-1",
                          "content": [{ "type": "text", "text": "a text" }] },
                        { "type": "tool_result", "tool_use_id": "call-2", "is_error": true, "content": [
                            { "type": "text", "text": "Cannot search." },
                            { "type": "image", "source":
                                { "type": "base64", "media_type": "image/png", "data": data } },
                        ] },
                    ] },
                ]),
            ),
            Protocol::OpenAi => (
                "messages",
                json!([
                    { "role": "system", "content": "You are a test." },
                    { "role": "user", "content": "hello" },
                    { "role": "assistant", "content": "I look.", "tool_calls": [
                        { "type": "function", "id": "call-1",
                          "function": { "name": "read_file", "arguments": arguments.to_string() } },
                        { "type": "function", "id": "call-2",
                          "function": { "name": "web_search_tool", "arguments": "{}" } },
                    ] },
                    { "role": "tool", "content": "a text", "tool_call_id": "call-1" },
                    { "role": "tool", "content": "Cannot search.", "tool_call_id": "call-2" },
                    { "role": "user", "content": [
                        { "type": "text", "text": "[file p.png, the result of web_search]" },
                        { "type": "image_url",
                          "image_url": { "url": format!("data:image/png;base64,{data}") } },
                    ] },
                ]),
            ),
            Protocol::Gemini => (
                "contents",
                json!([
                    { "role": "user", "parts": [{ "text": "hello" }] },
                    { "role": "model", "parts": [
                        { "text": "I look." },
                        { "functionCall": { "id": "call-1", "name": "read_file", "args": arguments } },
                        { "functionCall": { "id": "call-2", "name": "web_search_tool", "args": {} } },
                    ] },
                    { "role": "user", "parts": [
                        { "functionResponse": { "id": "call-1", "name": "read_file",
                          "response": { "name": "read_file", "content": "a text" } } },
                        { "functionResponse": { "id": "call-2", "name": "web_search_tool",
                          "response": { "name": "web_search_tool", "content": "Cannot search." } } },
                        { "text": "[file p.png, the result of web_search]" },
                        { "inline_data": { "mime_type": "image/png", "data": data } },
                    ] },
                ]),
            ),
            Protocol::Ollama => (
                "messages",
                json!([
                    { "role": "system", "content": "You are a test." },
                    { "role": "user", "content": "hello" },
                    { "role": "assistant", "content": "I look.", "tool_calls": [
                        { "function": { "name": "read_file", "arguments": arguments } },
                        { "function": { "name": "web_search_tool", "arguments": {} } },
                    ] },
                    { "role": "tool", "content": "a text" },
                    { "role": "tool", "content": "Cannot search." },
                    { "role": "user", "content": "[file p.png, the result of web_search]",
                      "images": [data] },
                ]),
            ),
        };
        assert_eq!(body[place], want, "{protocol:?}: {:#}", body[place]);
    });
}

#[test]
fn ten_calls_in_one_turn_have_ten_ids() {
    let calls = || (0..10).map(|n| Called::new("", "read_file", json!({ "n": n })).without_id());
    let turns = || vec![Turn::called(calls()), Turn::called(calls())];
    each(turns, |protocol, provider| {
        let messages = [user("hello")];
        if protocol == Protocol::Anthropic {
            // Its calls always have an id, and the library wants one.
            let error = ask(&*open(provider), &request(&messages)).reply.unwrap_err();
            assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
            return;
        }
        let mut ids = Vec::new();
        let mut messages = messages.to_vec();
        for _ in 0..2 {
            let reply = ask(&*open(provider), &request(&messages)).reply.unwrap();
            let numbers: Vec<_> = reply.calls.iter().map(|call| &call.arguments["n"]).collect();
            assert_eq!(json!(numbers), json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), "{protocol:?}");
            ids.extend(reply.calls.iter().map(|call| call.id.clone()));
            messages.push(Message::Model { text: reply.text, calls: reply.calls, raw: reply.raw });
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 20, "{protocol:?}: {ids:?}");
    });
}

#[test]
fn ten_calls_with_ids_keep_them() {
    let turns = || vec![Turn::calls((0..10).map(|n| ("read_file", json!({ "n": n }))))];
    each(turns, |protocol, provider| {
        let messages = [user("hello")];
        let heard = ask(&*open(provider), &request(&messages));
        let calls = heard.reply.unwrap().calls;
        assert_eq!((calls.len(), heard.calls.len()), (10, 10), "{protocol:?}");
        for (n, call) in calls.iter().enumerate() {
            assert_eq!(call.arguments, json!({ "n": n }), "{protocol:?}");
            let id = format!("call-{}", n + 1);
            assert!(protocol == Protocol::Ollama || call.id == id, "{protocol:?} {}", call.id);
        }
    });
}

#[test]
fn malformed_arguments_are_not_taken_for_arguments() {
    for arguments in ["{\"path\": ", "[1]", "\"text\"", "7", "true", "nonsense"] {
        let turns = || {
            let good = Called::new("b", "read_file", json!({ "path": "/a" }));
            vec![Turn::called([Called::malformed("a", "read_file", arguments), good])]
        };
        each(turns, |protocol, provider| {
            let mut messages = vec![user("hello")];
            let reply = ask(&*open(provider), &request(&messages)).reply.unwrap();
            let [bad, good] = reply.calls.as_slice() else { panic!("{protocol:?}: {reply:?}") };
            assert_eq!(bad.arguments, Value::Null, "{protocol:?} {arguments}");
            let why = bad.malformed.as_ref().unwrap_or_else(|| panic!("{protocol:?} {arguments}"));
            assert!(!why.is_empty() && why.len() < 200, "{why}");
            assert_eq!(good.arguments, json!({ "path": "/a" }), "{protocol:?}");
            // It can be sent back.
            messages.push(Message::Model { text: String::new(), calls: reply.calls, raw: None });
            ask(&*open(provider), &request(&messages)).reply.unwrap_err();
            assert!(!provider.requests()[1].body.to_string().contains("nonsense"));
        });
    }
}

#[test]
fn thoughts_are_sent_back_to_those_who_want_them() {
    let turns = || {
        let calls =
            [("read_file", json!({ "path": "/a" })), ("read_file", json!({ "path": "/b" }))];
        vec![Turn::calls(calls).thinking("hm, hm", "c2lnbmVk"), Turn::text("done")]
    };
    each(turns, |protocol, provider| {
        let model = open(provider);
        let mut messages = vec![user("hello")];
        let reply = ask(&*model, &request(&messages)).reply.unwrap();
        assert_eq!(reply.text, "", "{protocol:?}");
        assert_eq!(reply.raw.is_some(), protocol != Protocol::Ollama, "{protocol:?}");
        // As it is kept in a file.
        let raw = reply.raw.map(|raw| serde_json::from_str(&raw.to_string()).unwrap());
        messages.push(Message::Model { text: reply.text, calls: reply.calls.clone(), raw });
        let results = reply.calls.into_iter().map(|call| CallResult {
            id: call.id,
            name: call.name,
            text: "text".to_owned(),
            is_error: false,
            image: None,
        });
        messages.push(Message::Results { results: results.collect() });
        ask(&*model, &request(&messages)).reply.unwrap();
        let body = provider.requests().remove(1).body;
        match protocol {
            Protocol::Anthropic => assert_eq!(
                body["messages"][1]["content"][0],
                json!({ "type": "thinking", "thinking": "hm, hm", "signature": "c2lnbmVk" })
            ),
            Protocol::OpenAi => assert_eq!(body["messages"][2]["reasoning_content"], "hm, hm"),
            Protocol::Gemini => {
                let parts = &body["contents"][1]["parts"];
                assert_eq!(parts[0]["thoughtSignature"], "c2lnbmVk", "{parts:#}");
                assert_eq!(parts[1].get("thoughtSignature"), None, "{parts:#}");
                assert_eq!(parts[1]["functionCall"]["args"]["path"], "/b");
            }
            Protocol::Ollama => {}
        }
        // Another provider is not told.
        for other in Protocol::ALL.into_iter().filter(|other| *other != protocol) {
            let other = Provider::new(other, vec![Turn::text("done")]);
            ask(&*open(&other), &request(&messages)).reply.unwrap();
            let sent = other.requests().remove(0).body.to_string();
            assert!(!sent.contains("c2lnbmVk") && !sent.contains("hm, hm"), "{protocol:?}: {sent}");
        }
    });
}

#[test]
fn files_are_sent_as_text_or_as_they_are() {
    let file = |name: &str, mime: &str, bytes: &[u8]| File {
        name: name.to_owned(),
        mime: mime.to_owned(),
        bytes: bytes.to_vec(),
    };
    let files = vec![
        file("a.md", "text/markdown", b"# Title \xff"),
        file("b.json", "application/json", b"{}"),
        file("c.png", "image/png", b"picture"),
    ];
    each(
        || vec![Turn::text("done")],
        |protocol, provider| {
            let messages = [Message::User { text: "look".to_owned(), files: files.clone() }];
            ask(&*open(provider), &request(&messages)).reply.unwrap();
            let body = provider.requests().remove(0).body;
            let sent = match protocol {
                Protocol::Anthropic => &body["messages"][0]["content"],
                Protocol::OpenAi => &body["messages"][1]["content"],
                Protocol::Gemini => &body["contents"][0]["parts"],
                Protocol::Ollama => &body["messages"][1],
            };
            let sent = sent.to_string();
            for want in
                ["look", "[file a.md]\\n# Title \u{fffd}", "[file b.json]\\n{}", "cGljdHVyZQ=="]
            {
                assert!(sent.contains(want), "{protocol:?} {want}: {sent}");
            }
        },
    );
    each(
        || vec![Turn::text("done")],
        |protocol, provider| {
            let files = vec![file("d.pdf", "application/pdf", b"%PDF")];
            let messages = [Message::User { text: String::new(), files }];
            let reply = ask(&*open(provider), &request(&messages)).reply;
            if protocol == Protocol::Ollama {
                let error = reply.unwrap_err();
                assert!(matches!(error, ModelError::Refused { status: 415, .. }), "{error:?}");
                assert!(provider.requests().is_empty());
                return;
            }
            reply.unwrap();
            let sent = provider.requests().remove(0).body.to_string();
            let want = match protocol {
                Protocol::Anthropic => {
                    r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}}"#
                }
                Protocol::OpenAi => r#""file_data":"data:application/pdf;base64,JVBERg==""#,
                _ => r#"{"inline_data":{"mime_type":"application/pdf","data":"JVBERg=="}}"#,
            };
            assert!(sent.contains(want), "{protocol:?}: {sent}");
        },
    );
    let provider = Provider::anthropic(vec![]);
    let messages = [Message::User {
        text: String::new(),
        files: vec![file("e.zip", "application/zip", b"\xff")],
    }];
    let error = ask(&*open(&provider), &request(&messages)).reply.unwrap_err();
    assert!(
        error.to_string().contains("'e.zip', which is of the type 'application/zip'"),
        "{error}"
    );
}

#[test]
fn what_passes_is_tried_again() {
    for status in [429, 500, 502, 503, 504, 529] {
        let turns =
            || vec![Turn::status(status, "busy"), Turn::status(status, "busy"), Turn::text("hi")];
        each(turns, |protocol, provider| {
            let messages = [user("hello")];
            let heard = ask(&*open(provider), &request(&messages));
            assert_eq!(heard.reply.unwrap().text, "hi", "{protocol:?} {status}");
            let attempts: Vec<_> = heard.retries.iter().map(|(attempt, ..)| *attempt).collect();
            assert_eq!(attempts, [1, 2], "{protocol:?} {status}");
            let why = &heard.retries[0].2;
            assert!(why.contains(&format!("refused (status {status}): busy")), "{why}");
            let asked = provider.requests();
            assert_eq!(asked.len(), 3);
            assert_eq!(asked[0].body, asked[2].body);
        });
    }
    for turn in [Turn::text("hello").broken(), Turn::text("hello").ending_early()] {
        each(
            || vec![turn.clone(), Turn::text("hi")],
            |protocol, provider| {
                let messages = [user("hello")];
                let heard = ask(&*open(provider), &request(&messages));
                assert_eq!(heard.reply.unwrap().text, "hi", "{protocol:?}");
                assert_eq!(heard.text, "hi", "{protocol:?}");
                let why = &heard.retries[0].2;
                assert!(why.contains("the reply broke off"), "{protocol:?}: {why}");
            },
        );
    }
}

#[test]
fn what_does_not_pass_is_tried_five_times() {
    each(
        || vec![Turn::status(503, "busy"); 9],
        |protocol, provider| {
            let messages = [user("hello")];
            let heard = ask(&*open(provider), &request(&messages));
            let error = heard.reply.unwrap_err();
            assert!(
                matches!(error, ModelError::Refused { status: 503, .. }),
                "{protocol:?} {error:?}"
            );
            assert_eq!((heard.retries.len(), provider.requests().len()), (4, 5), "{protocol:?}");
        },
    );
    each(
        || vec![Turn::text("hello").broken(); 9],
        |protocol, provider| {
            let messages = [user("hello")];
            let error = ask(&*open(provider), &request(&messages)).reply.unwrap_err();
            assert!(matches!(error, ModelError::Unreachable { .. }), "{protocol:?} {error:?}");
            assert_eq!(provider.requests().len(), 5, "{protocol:?}");
        },
    );
    // Nobody is there.
    let provider = Provider::openai(vec![]);
    let settings = settings(&provider);
    drop(provider);
    thread::sleep(Duration::from_millis(50));
    let model = models::open("openai:x", &settings).unwrap();
    let messages = [user("hello")];
    let heard = ask(&*model, &request(&messages));
    let error = heard.reply.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().to_lowercase().contains("refused"), "{error}");
    assert_eq!(heard.retries.len(), 4);
}

#[test]
fn other_refusals_are_final_and_do_not_show_the_key() {
    for status in [400, 401, 403, 404, 413, 422] {
        each(
            || vec![Turn::status(status, &format!("the key {} is bad\n\u{7}!", Provider::KEY))],
            |protocol, provider| {
                let messages = [user("hello")];
                let heard = ask(&*open(provider), &request(&messages));
                let name = provider.model();
                let why = "the key [key] is bad !".to_owned();
                let want = ModelError::Refused { name, status, why };
                assert_eq!(heard.reply, Err(want), "{protocol:?}");
                assert_eq!(provider.requests().len(), 1);
            },
        );
    }
}

#[test]
fn a_provider_says_when_to_come_again() {
    each(
        || vec![Turn::status(429, "slow down").retry_after("0.3"), Turn::text("hi")],
        |protocol, provider| {
            let messages = [user("hello")];
            let heard = ask(&*open(provider), &request(&messages));
            assert_eq!(heard.reply.unwrap().text, "hi");
            assert_eq!(heard.retries[0].1, Duration::from_millis(300), "{protocol:?}");
            assert!(heard.took >= Duration::from_millis(300), "{protocol:?}");
        },
    );
    // It cannot have one wait for ever: there is no time for that.
    for value in ["3600", "60", "1e300"] {
        let provider = Provider::openai(vec![Turn::status(429, "slow down").retry_after(value); 9]);
        let messages = [user("hello")];
        let deadline = Some(Instant::now() + Duration::from_secs(5));
        let heard = ask(&*open(&provider), &models::Request { deadline, ..request(&messages) });
        let error = heard.reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { status: 429, .. }), "{value}: {error:?}");
        assert!(heard.took < Duration::from_secs(5), "{value}: {:?}", heard.took);
    }
    // What is no number is not heard.
    for value in ["-1", "soon", "NaN", "Wed, 21 Oct 2099 07:28:00 GMT", ""] {
        let provider =
            Provider::openai(vec![Turn::status(429, "slow").retry_after(value), Turn::text("hi")]);
        let messages = [user("hello")];
        let heard = ask(&*open(&provider), &request(&messages));
        assert_eq!(heard.reply.unwrap().text, "hi", "{value}");
        assert!(heard.took < Duration::from_secs(2), "{value}: {:?}", heard.took);
    }
}

#[test]
fn waiting_ends_when_somebody_says_stop_or_the_time_is_over() {
    let slow: [fn() -> Turn; 4] = [
        || Turn::text("hello").stalling(),
        || Turn::text("hello").after(Duration::from_secs(30)),
        || Turn::status(503, "busy").retry_after("30"),
        Turn::endless,
    ];
    for turn in slow {
        each(
            || vec![turn()],
            |protocol, provider| {
                let messages = [user("hello")];
                let model = open(provider);
                let stop = Stop::new();
                let saying = stop.clone();
                let sayer = thread::spawn(move || {
                    thread::sleep(Duration::from_millis(30));
                    saying.say();
                });
                let heard = ask_until(&*model, &request(&messages), &stop);
                sayer.join().unwrap();
                if matches!(heard.reply, Err(ModelError::TooLarge { .. })) {
                    return; // The endless one was quicker.
                }
                assert_eq!(heard.reply, Err(ModelError::Stopped), "{protocol:?}");
                assert!(heard.took < Duration::from_secs(3), "{protocol:?}: {:?}", heard.took);
            },
        );
    }
    each(
        || vec![Turn::text("hello").stalling()],
        |protocol, provider| {
            let messages = [user("hello")];
            let deadline = Some(Instant::now() + Duration::from_millis(100));
            let heard = ask(&*open(provider), &models::Request { deadline, ..request(&messages) });
            let name = provider.model();
            assert_eq!(heard.reply, Err(ModelError::TimedOut { name }), "{protocol:?}");
            assert!(heard.took < Duration::from_secs(3), "{protocol:?}: {:?}", heard.took);
        },
    );
    let provider = Provider::openai(vec![]);
    let messages = [user("hello")];
    let stop = Stop::new();
    stop.say();
    assert_eq!(
        ask_until(&*open(&provider), &request(&messages), &stop).reply,
        Err(ModelError::Stopped)
    );
    let deadline = Some(Instant::now());
    let late = ask(&*open(&provider), &models::Request { deadline, ..request(&messages) });
    assert!(matches!(late.reply, Err(ModelError::TimedOut { .. })), "{late:?}");
    assert!(provider.requests().is_empty());
}

#[test]
fn a_model_that_says_nothing_is_given_up() {
    for turn in [Turn::text("hello").stalling(), Turn::text("hello").after(Duration::from_secs(30))]
    {
        each(
            || vec![turn.clone()],
            |protocol, provider| {
                let settings =
                    models::Settings { idle: Duration::from_millis(100), ..settings(provider) };
                let model = models::open(&provider.model(), &settings).unwrap();
                let messages = [user("hello")];
                let heard = ask(&*model, &request(&messages));
                let name = provider.model();
                assert_eq!(heard.reply, Err(ModelError::TimedOut { name }), "{protocol:?}");
                assert!(heard.took < Duration::from_secs(3), "{protocol:?}: {:?}", heard.took);
            },
        );
    }
}

#[test]
fn a_slow_start_is_waited_for() {
    let turn = || vec![Turn::text("hello").after(Duration::from_millis(150))];
    each(turn, |protocol, provider| {
        let messages = [user("hello")];
        assert_eq!(
            ask(&*open(provider), &request(&messages)).reply.unwrap().text,
            "hello",
            "{protocol:?}"
        );
    });
}

#[test]
fn what_is_too_large_is_cut() {
    let call = |length: usize| {
        Turn::called([Called::new("a", "read_file", json!({ "path": "x".repeat(length) }))])
    };
    let many = Turn::calls((0..200).map(|_| ("read_file", json!({}))));
    let cases = [
        ("bytes of text", Turn::huge(10 << 20)),
        ("bytes of text", Turn::endless()),
        ("bytes", Turn::endless_line()),
        ("bytes of arguments", call(2 << 20)),
        ("tool calls", many),
        ("bytes", Turn::text("a").raw(vec![b'x'; 17 << 20])),
    ];
    for (want, turn) in cases {
        each(
            || vec![turn.clone()],
            |protocol, provider| {
                let messages = [user("hello")];
                let heard = ask(&*open(provider), &request(&messages));
                match heard.reply.unwrap_err() {
                    ModelError::TooLarge { what, .. } => assert_eq!(what, want, "{protocol:?}"),
                    other => panic!("{protocol:?} {want}: {other:?}"),
                }
                assert!(heard.text.len() <= 1 << 20);
                assert!(heard.calls.len() <= 128);
                assert_eq!(provider.requests().len(), 1, "{protocol:?}");
            },
        );
    }
    // The limit itself is fine.
    each(
        || vec![Turn::huge(1 << 20)],
        |protocol, provider| {
            let messages = [user("hello")];
            let heard = ask(&*open(provider), &request(&messages));
            assert_eq!(heard.reply.unwrap().text.len(), 1 << 20, "{protocol:?}");
        },
    );
}

#[test]
fn a_refusal_without_end_is_cut() {
    each(
        || vec![Turn::endless_refusal()],
        |protocol, provider| {
            let messages = [user("hello")];
            match ask(&*open(provider), &request(&messages)).reply.unwrap_err() {
                ModelError::Refused { status: 400, why, .. } => {
                    assert!(why.len() < 2000, "{protocol:?}");
                }
                other => panic!("{protocol:?}: {other:?}"),
            }
        },
    );
}

#[test]
fn calls_that_say_they_are_far_away_need_no_room() {
    let far = json!({ "choices": [{ "delta": { "tool_calls": [{
        "index": 4_000_000_000_u32, "id": "far", "function": { "name": "read_file", "arguments": "{}" },
    }] } }] });
    let provider = Provider::openai(vec![Turn::text("a").raw(format!("data: {far}\n\n"))]);
    let messages = [user("hello")];
    let reply = ask(&*open(&provider), &request(&messages)).reply.unwrap();
    assert_eq!(reply.calls.len(), 1);
    assert_eq!(reply.calls[0].arguments, json!({}));
}

#[test]
fn calls_whose_parts_are_mixed_are_put_together() {
    let part = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        let part = json!({ "index": index, "id": id, "function": function });
        let choice = json!({ "choices": [{ "delta": { "tool_calls": [part] } }] });
        format!("data: {choice}\n\n")
    };
    let parts = [
        part(0, Some("x"), Some("read_file"), ""),
        part(1, Some("y"), Some("read_file"), "{\"n\":"),
        part(0, None, None, "{\"n\""),
        part(1, None, None, "1}"),
        part(0, None, None, ":0}"),
    ];
    let provider = Provider::openai(vec![Turn::words([]).raw(parts.concat())]);
    let messages = [user("hello")];
    let reply = ask(&*open(&provider), &request(&messages)).reply.unwrap();
    let calls: Vec<_> = reply.calls.iter().map(|call| (&*call.id, &call.arguments)).collect();
    assert_eq!(calls, [("x", &json!({ "n": 0 })), ("y", &json!({ "n": 1 }))]);
}

#[test]
fn what_makes_no_sense_is_malformed() {
    each(
        || vec![Turn::garbage()],
        |protocol, provider| {
            let messages = [user("hello")];
            let error = ask(&*open(provider), &request(&messages)).reply.unwrap_err();
            assert!(matches!(error, ModelError::Malformed { .. }), "{protocol:?}: {error:?}");
            assert_eq!(provider.requests().len(), 1);
        },
    );
    for kind in ["text/html", "application/octet-stream", "text/html; charset=text/event-stream"] {
        each(
            || vec![Turn::text("hello").content_type(kind)],
            |protocol, provider| {
                let messages = [user("hello")];
                let error = ask(&*open(provider), &request(&messages)).reply.unwrap_err();
                assert!(matches!(error, ModelError::Malformed { .. }), "{protocol:?}: {error:?}");
                assert!(error.to_string().contains("which is not a stream"), "{error}");
            },
        );
    }
}

#[test]
fn text_that_is_not_utf_8_is_made_so() {
    each(
        || {
            let bad = |protocol| {
                match protocol {
                Protocol::Anthropic => &b"event: content_block_delta\ndata: {\"delta\": {\"text\": \"<\xff\xfe>\"}}\n\n"[..],
                Protocol::OpenAi => b"data: {\"choices\": [{\"delta\": {\"content\": \"<\xff\xfe>\"}}]}\n\n",
                Protocol::Gemini => b"data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"<\xff\xfe>\"}]}}]}\n\n",
                Protocol::Ollama => b"{\"message\": {\"content\": \"<\xff\xfe>\"}}\n",
            }
            };
            Protocol::ALL.map(|protocol| Turn::text("a").raw(bad(protocol))).to_vec()
        },
        |protocol, provider| {
            let model = open(provider);
            let messages = [user("hello")];
            for own in Protocol::ALL {
                let heard = ask(&*model, &request(&messages));
                if own == protocol {
                    let text = heard.reply.unwrap().text;
                    assert_eq!(text, "a<\u{fffd}\u{fffd}>", "{protocol:?}");
                }
            }
        },
    );
}

#[test]
fn numbers_that_make_no_sense_do_no_harm() {
    let huge = 2_147_483_647_u64;
    for (input, output) in [(huge, huge), (u64::MAX / 2, 1), (1, huge + 1)] {
        each(
            || vec![Turn::text("hello").usage(input, output, 1)],
            |protocol, provider| {
                let messages = [user("hello")];
                let reply = ask(&*open(provider), &request(&messages)).reply;
                let fine = match &reply {
                    Ok(reply) => reply.text == "hello",
                    Err(error) => matches!(error, ModelError::Malformed { .. }),
                };
                assert!(fine, "{protocol:?}: {reply:?}");
            },
        );
    }
}

#[test]
fn an_error_in_the_middle_is_one() {
    let event = |protocol, kind: &str, message: &str, code: u16| match protocol {
        Protocol::Anthropic => {
            let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
            format!("event: error\ndata: {error}\n\n")
        }
        _ => {
            let error = json!({ "error": { "type": kind, "message": message, "code": code } });
            format!("data: {error}\n\n")
        }
    };
    for protocol in [Protocol::Anthropic, Protocol::OpenAi, Protocol::Gemini] {
        let busy = event(protocol, "overloaded_error", "busy", 529);
        let bad = event(protocol, "invalid_request_error", Provider::KEY, 400);
        let turns = vec![Turn::text("a").raw(busy), Turn::text("b"), Turn::text("c").raw(bad)];
        let provider = Provider::new(protocol, turns);
        let model = open(&provider);
        let messages = [user("hello")];
        let heard = ask(&*model, &request(&messages));
        assert_eq!(heard.reply.unwrap().text, "b", "{protocol:?}");
        assert!(heard.retries[0].2.contains("(status 529): busy"), "{:?}", heard.retries);
        let error = ask(&*model, &request(&messages)).reply.unwrap_err();
        let want =
            ModelError::Refused { name: provider.model(), status: 400, why: "[key]".to_owned() };
        assert_eq!(error, want);
    }
}

#[test]
fn a_question_that_gemini_blocks_is_withheld() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let provider = Provider::gemini(vec![Turn::words([]).raw(format!("data: {blocked}\n\n"))]);
    let messages = [user("hello")];
    let reply = ask(&*open(&provider), &request(&messages)).reply.unwrap();
    assert_eq!((reply.end, reply.text.as_str()), (End::Withheld, ""));
}

#[test]
fn the_key_is_not_taken_to_another_place() {
    each(
        || {
            // Both must not be asked: this machine by another name, and another machine.
            vec![Turn::redirect("http://localhost:1/"), Turn::redirect("https://example.invalid/")]
        },
        |protocol, provider| {
            let model = open(provider);
            let messages = [user("hello")];
            for _ in 0..2 {
                let heard = ask(&*model, &request(&messages));
                let error = heard.reply.unwrap_err();
                assert!(
                    matches!(error, ModelError::Refused { status: 307, .. }),
                    "{protocol:?} {error:?}"
                );
                assert!(error.to_string().contains("not followed"), "{error}");
            }
        },
    );
    let elsewhere = Provider::openai(vec![Turn::text("hi")]);
    let provider = Provider::openai(vec![Turn::redirect(&format!("{}/x", elsewhere.url()))]);
    let messages = [user("hello")];
    ask(&*open(&provider), &request(&messages)).reply.unwrap_err();
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn nothing_is_said_in_clear_where_https_is_asked_for() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut bytes = [0; 4096];
        let length = std::io::Read::read(&mut stream, &mut bytes).unwrap_or_default();
        bytes[..length].to_vec()
    });
    let env = move |name: &str| match name {
        "OPENAI_BASE_URL" => Some(url.clone()),
        "OPENAI_API_KEY" => Some(Provider::KEY.to_owned()),
        _ => None,
    };
    let settings = models::Settings {
        env: Arc::new(env),
        retries: 0,
        backoff: Duration::from_millis(1),
        ..models::Settings::new("/nowhere")
    };
    let model = models::open("openai:x", &settings).unwrap();
    let messages = [user("hello")];
    let error = ask(&*model, &request(&messages)).reply.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
    // The first byte of a TLS handshake, and nothing of the request.
    let heard = heard.join().unwrap();
    assert_eq!(heard.first(), Some(&0x16));
    assert!(!String::from_utf8_lossy(&heard).contains("POST"));
}

#[test]
fn a_server_of_ones_own_needs_no_key_and_gets_none() {
    for protocol in [Protocol::OpenAi, Protocol::Ollama] {
        let provider = Provider::new(protocol, vec![Turn::text("hi")]);
        let variables = provider.environment();
        let env = move |name: &str| {
            variables
                .iter()
                .find(|(have, _)| *have == name && !have.ends_with("KEY"))
                .map(|(_, v)| v.clone())
        };
        let settings = models::Settings { env: Arc::new(env), ..settings(&provider) };
        let model = models::open(&provider.model(), &settings).unwrap();
        let messages = [user("hello")];
        assert_eq!(ask(&*model, &request(&messages)).reply.unwrap().text, "hi");
        assert_eq!(provider.requests()[0].header("authorization"), None);
    }
}

#[test]
fn names_of_models_are_left_as_they_are() {
    for name in ["mistral-medium", "x-max", "a/b-high", "gpt-5.1-codex-max", "o9-none"] {
        let provider = Provider::openai(vec![Turn::text("hi")]);
        let model = models::open(&format!("openai:{name}"), &settings(&provider)).unwrap();
        let messages = [user("hello")];
        ask(&*model, &request(&messages)).reply.unwrap();
        let body = &provider.requests()[0].body;
        assert_eq!((&body["model"], body.get("reasoning_effort")), (&json!(name), None));
    }
}

#[test]
fn several_threads_can_ask_at_once() {
    let turns = vec![Turn::text("hello").after(Duration::from_millis(200)); 8];
    let provider = Provider::anthropic(turns);
    let model = open(&provider);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let messages = [user("hello")];
                assert_eq!(ask(&*model, &request(&messages)).reply.unwrap().text, "hello");
            });
        }
    });
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    assert_eq!(provider.requests().len(), 8);
}

#[test]
fn no_socket_is_left_behind() {
    let left = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let dirs = names.filter(|name| name.starts_with("zonekeep-model-"));
        dirs.count()
    };
    let provider = Provider::openai(vec![Turn::text("hi"), Turn::status(400, "no")]);
    let model = open(&provider);
    let messages = [user("hello")];
    ask(&*model, &request(&messages)).reply.unwrap();
    ask(&*model, &request(&messages)).reply.unwrap_err();
    // Other tests have theirs for a moment.
    zonekeep_testkit::eventually("no socket", || (left() == 0).then_some(()));
}
