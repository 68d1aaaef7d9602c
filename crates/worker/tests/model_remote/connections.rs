//! Where requests go, with which key, and what is left of them.

use super::*;

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
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
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
fn several_threads_can_ask_at_once() {
    // None is answered before all have asked.
    let provider = Provider::anthropic(vec![Turn::text("hello").together(8); 8]);
    let model = open(&provider);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let messages = [user("hello")];
                assert_eq!(ask(&*model, &request(&messages)).reply.unwrap().text, "hello");
            });
        }
    });
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
