//! What a server answers to one request.

use std::time::Duration;

use serde_json::Value;

/// What a server answers to one request.
#[derive(Debug, Clone)]
pub struct Turn {
    pub(super) answer: Answer,
    pub(super) fault: Option<Fault>,
    pub(super) delay: Duration,
    pub(super) together: usize,
    pub(super) content_type: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Answer {
    Stream(Said),
    /// The body, or the message that the provider would put in one.
    Status {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Result<String, String>,
    },
    EndlessError,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Broken,
    EndsEarly,
    Stalls,
    Endless,
    EndlessLine,
}

/// A reply, before it is put in a provider's words.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) thought: Option<(String, String)>,
    pub(super) words: Vec<String>,
    pub(super) calls: Vec<Called>,
    pub(super) usage: (u64, u64, u64),
    pub(super) end: Ended,
    /// Sent before the end, as it is.
    pub(super) raw: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ended {
    #[default]
    Complete,
    Length,
    Withheld,
}

/// A tool call in a reply.
#[derive(Debug, Clone)]
pub struct Called {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Called {
    /// Returns a call.
    pub fn new(id: &str, name: &str, arguments: Value) -> Self {
        Called { id: Some(id.to_owned()), name: name.to_owned(), arguments: arguments.to_string() }
    }

    /// Returns a call whose arguments are this text. Gemini and Ollama send
    /// arguments as JSON: there it is a JSON text where it is no JSON.
    pub fn malformed(id: &str, name: &str, arguments: &str) -> Self {
        let id = Some(id.to_owned());
        Called { id, name: name.to_owned(), arguments: arguments.to_owned() }
    }

    /// Takes the id away.
    pub fn without_id(mut self) -> Self {
        self.id = None;
        self
    }
}

impl Turn {
    fn of(answer: Answer) -> Self {
        Turn { answer, fault: None, delay: Duration::ZERO, together: 0, content_type: None }
    }

    fn said(said: Said) -> Self {
        Turn::of(Answer::Stream(Said { usage: (10, 5, 0), ..said }))
    }

    fn change(mut self, change: impl FnOnce(&mut Said)) -> Self {
        if let Answer::Stream(said) = &mut self.answer {
            change(said);
        }
        self
    }

    fn failing(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Returns a turn that says this, in two parts.
    pub fn text(text: &str) -> Self {
        let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at));
        let (one, two) = text.split_at(middle.unwrap_or(0));
        Turn::words([one, two])
    }

    /// Returns a turn that says this, in these parts.
    pub fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let words = words.into_iter().map(str::to_owned).collect();
        Turn::said(Said { words, ..Said::default() })
    }

    /// Returns a turn that calls tools, each with its arguments in several parts
    /// where the provider sends parts. The ids are `call-1`, `call-2` and so on.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter().zip(1..);
        Turn::called(calls.map(|((name, args), n)| Called::new(&format!("call-{n}"), name, args)))
    }

    /// Returns a turn with these calls.
    pub fn called(calls: impl IntoIterator<Item = Called>) -> Self {
        Turn::said(Said { calls: calls.into_iter().collect(), ..Said::default() })
    }

    /// Says this before the calls.
    pub fn saying(self, text: &str) -> Self {
        self.change(|said| said.words.push(text.to_owned()))
    }

    /// Thinks this first, with a signature that the provider wants back.
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        self.change(|said| said.thought = Some((text.to_owned(), signature.to_owned())))
    }

    /// Says how many tokens were read, written, and read from a cache (these
    /// are among those that were read).
    pub fn usage(self, input: u64, output: u64, cached: u64) -> Self {
        self.change(|said| said.usage = (input, output, cached))
    }

    /// Ends because the reply is as long as it may be.
    pub fn too_long(self) -> Self {
        self.change(|said| said.end = Ended::Length)
    }

    /// Ends because the provider withholds the rest.
    pub fn withheld(self) -> Self {
        self.change(|said| said.end = Ended::Withheld)
    }

    /// Sends these bytes before the end, as they are.
    pub fn raw(self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        self.change(|said| said.raw.push(bytes))
    }

    /// Returns a turn that sends an event that is not JSON.
    pub fn garbage() -> Self {
        Turn::text("hello").raw(super::wire::event("content_block_delta", "{\"garbage\": [}"))
    }

    /// Returns a turn that says `length` bytes.
    pub fn huge(length: usize) -> Self {
        let word = "0123456789abcdef".repeat(256);
        let words = vec![word.clone(); length.div_ceil(word.len())];
        Turn::said(Said { words, ..Said::default() })
    }

    /// Returns a turn that never ends.
    pub fn endless() -> Self {
        Turn::text("endless").failing(Fault::Endless)
    }

    /// Returns a turn that is one line without an end.
    pub fn endless_line() -> Self {
        Turn::text("endless").failing(Fault::EndlessLine)
    }

    /// Returns a turn that refuses, with a body that never ends.
    pub fn endless_refusal() -> Self {
        Turn::of(Answer::EndlessError)
    }

    /// Returns a turn that refuses with a status, in the provider's form.
    pub fn status(status: u16, message: &str) -> Self {
        let body = Err(message.to_owned());
        Turn::of(Answer::Status { status, headers: Vec::new(), body })
    }

    /// Returns a turn that sends whoever asks to another place.
    pub fn redirect(url: &str) -> Self {
        let headers = vec![("location", url.to_owned())];
        Turn::of(Answer::Status { status: 307, headers, body: Ok(String::new()) })
    }

    /// Says when to come again, in the words of the `Retry-After` header.
    pub fn retry_after(mut self, value: &str) -> Self {
        if let Answer::Status { headers, .. } = &mut self.answer {
            headers.push(("retry-after", value.to_owned()));
        }
        self
    }

    /// Breaks the connection in the middle.
    pub fn broken(self) -> Self {
        self.failing(Fault::Broken)
    }

    /// Ends in the middle, as if that were all.
    pub fn ending_early(self) -> Self {
        self.failing(Fault::EndsEarly)
    }

    /// Says nothing more from the middle on.
    pub fn stalling(self) -> Self {
        self.failing(Fault::Stalls)
    }

    /// Waits before the first word of the answer.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits until the server has had so many requests.
    pub fn together(mut self, requests: usize) -> Self {
        self.together = requests;
        self
    }

    /// Says that the answer is of this type.
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_type = Some(content_type.to_owned());
        self
    }
}
