//! What is said to models, and what they say.

use super::*;

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
