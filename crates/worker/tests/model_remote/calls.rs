//! Calls of tools, however they arrive.

use super::*;

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
