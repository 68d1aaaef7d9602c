//! Replies that are too large, broken, or make no sense.

use super::*;

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
