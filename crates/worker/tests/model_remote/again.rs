//! What is tried again, and how long is waited.

use super::*;

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
    let address = provider.url().replace("http://", "").replace("/v1", "");
    drop(provider);
    zonekeep_testkit::eventually("the server's end", || {
        std::net::TcpStream::connect(&address).is_err().then_some(())
    });
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
        // Less than the longest time that it can have one wait.
        let deadline = Some(Instant::now() + Duration::from_secs(50));
        let heard = ask(&*open(&provider), &models::Request { deadline, ..request(&messages) });
        let error = heard.reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { status: 429, .. }), "{value}: {error:?}");
    }
    // What is no number is not heard.
    for value in ["-1", "soon", "NaN", "Wed, 21 Oct 2099 07:28:00 GMT", ""] {
        let provider =
            Provider::openai(vec![Turn::status(429, "slow").retry_after(value), Turn::text("hi")]);
        let messages = [user("hello")];
        let heard = ask(&*open(&provider), &request(&messages));
        assert_eq!(heard.reply.unwrap().text, "hi", "{value}");
        assert!(heard.retries[0].1 < Duration::from_secs(1), "{value}: {:?}", heard.retries);
    }
}

#[test]
fn waiting_ends_when_somebody_says_stop_or_the_time_is_over() {
    let slow: [fn() -> Turn; 4] = [
        || Turn::text("hello").stalling(),
        || Turn::text("hello").after(Duration::from_secs(300)),
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
    for turn in
        [Turn::text("hello").stalling(), Turn::text("hello").after(Duration::from_secs(300))]
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
