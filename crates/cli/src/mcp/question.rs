//! Questions for the user: the form that a client shows, what its answers mean,
//! and the state that a client keeps between two calls.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    ErrorData, InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zonekeep::Given;
use zonekeep::approve::{Answer, Remember, Request, visible, written};

/// The name of the question among those that a client is to answer.
const APPROVE: &str = "approve";
/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(15 * 60);
/// The most questions that are open at a time; the oldest are given up.
const MAX_OPEN: usize = 1024;
/// The most characters of a client's name in the record.
const MAX_NAME: usize = 64;

/// Returns the form for a question.
///
/// It always has a field that has to be filled in: there are clients that
/// accept empty forms by themselves. The safe choice comes first.
pub(super) fn form(request: &Request) -> Result<ElicitRequestParams, ErrorData> {
    let (message, whole) = written(request);
    // Nobody says yes for later to what they have not seen.
    let mut choices = match whole {
        true => vec!["deny", "once", "session"],
        false => vec!["deny", "once"],
    };
    let one_line = |text: &str| visible(text).replace('\n', "\\n");
    let kept = match &request.command {
        Some(_) => "this exact command".to_owned(),
        None => format!("any {}, whatever its content", one_line(&request.summary())),
    };
    let mut meaning = "deny: no. once: yes, this time.".to_owned();
    match whole {
        true => meaning
            .push_str(&format!(" session: yes, and do not ask in this session about {kept}.")),
        false => meaning.push_str(" `zonekeep approve` in a terminal can show all of it."),
    }
    if let Some(pattern) = request.pattern().filter(|_| whole) {
        choices.push("pattern");
        let pattern = one_line(pattern);
        meaning.push_str(&format!(
            " pattern: yes, and do not ask in this session about commands that begin with: {pattern}"
        ));
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string", "title": "Decision", "description": meaning, "enum": choices,
            },
            "note": {
                "type": "string", "title": "Note",
                "description": "Words for the agent, which reads them with a no",
            },
        },
        "required": ["decision"],
    });
    let schema: ElicitationSchema = serde_json::from_value(schema)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema })
}

/// What a form offers beside yes and no.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offered {
    session: bool,
    pattern: Option<String>,
}

impl Offered {
    pub(super) fn of(request: &Request) -> Self {
        let whole = written(request).1;
        let pattern = request.pattern().filter(|_| whole).map(str::to_owned);
        Offered { session: whole, pattern }
    }
}

/// Returns what a filled-in form means. Whatever is not a clear yes is a no.
pub(super) fn answer(offered: &Offered, result: &ElicitResult) -> Answer {
    let field = |name: &str| {
        result.content.as_ref().and_then(|content| content.get(name)).and_then(Value::as_str)
    };
    let yes = |remember| Answer { approved: true, remember, ..Answer::default() };
    match (&result.action, field("decision")) {
        (ElicitationAction::Accept, Some("once")) => yes(Remember::Once),
        (ElicitationAction::Accept, Some("session")) if offered.session => yes(Remember::Session),
        (ElicitationAction::Accept, Some("pattern")) => match &offered.pattern {
            Some(pattern) => yes(Remember::Pattern(pattern.clone())),
            None => Answer::no(),
        },
        (ElicitationAction::Accept, Some("deny")) => match field("note").map(str::trim) {
            None | Some("") => Answer::no(),
            Some(note) => Answer::no_because(note),
        },
        (ElicitationAction::Accept, _) => {
            Answer::unasked("the client accepted the question without a decision of the user's")
        }
        _ => Answer::no(),
    }
}

/// Returns the name of a client for the record.
pub(super) fn by(client: Option<&str>) -> String {
    match client {
        Some(name) => {
            let name: String = visible(name).replace('\n', " ").chars().take(MAX_NAME).collect();
            format!("client {name}")
        }
        None => "client".to_owned(),
    }
}

/// The questions that clients hold between two calls.
///
/// The state is sealed, bound to the very call, and good for one answer.
pub(super) struct Sealed {
    codec: RequestStateCodec,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    order: VecDeque<String>,
    kept: HashMap<String, Kept>,
}

/// What is known of a call whose question is open.
struct Kept {
    /// Answers to earlier questions of the same call.
    given: Vec<Given>,
    request: Request,
}

/// What the client keeps.
#[derive(Serialize, Deserialize)]
struct State {
    ticket: String,
}

impl Sealed {
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Sealed { codec: RequestStateCodec::try_new(key)?, open: Mutex::default() })
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result that asks the client, and a question that was given up to
    /// make room; `call` is what the answer will be good for.
    pub(super) fn ask(
        &self,
        call: &[u8],
        request: &Request,
        given: Vec<Given>,
    ) -> Result<(InputRequiredResult, Option<Request>), ErrorData> {
        let form = InputRequest::Elicitation(ElicitRequest::new(form(request)?));
        let mut random = [0; 16];
        let internal = |error: &dyn std::fmt::Display| {
            ErrorData::internal_error(format!("the question cannot be put: {error}"), None)
        };
        getrandom::fill(&mut random).map_err(|error| internal(&error))?;
        let ticket: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let state = self
            .codec
            .seal_json_with(
                &State { ticket: ticket.clone() },
                &SealOptions::new().associated_data(call).ttl(WITHIN),
            )
            .map_err(|error| internal(&error))?;
        let kept = Kept { given, request: request.clone() };
        let mut open = self.open();
        let mut given_up = None;
        if open.order.len() >= MAX_OPEN
            && let Some(oldest) = open.order.pop_front()
        {
            given_up = open.kept.remove(&oldest).map(|kept| kept.request);
        }
        open.order.push_back(ticket.clone());
        open.kept.insert(ticket, kept);
        let requests = BTreeMap::from([(APPROVE.to_owned(), form)]);
        Ok((InputRequiredResult::new(Some(requests), Some(state)), given_up))
    }

    /// Returns the answers that a repeated call comes with.
    pub(super) fn answers(
        &self,
        call: &[u8],
        state: &str,
        responses: Option<&InputResponses>,
        by: String,
    ) -> Result<Vec<Given>, ErrorData> {
        let stale = || {
            ErrorData::invalid_params(
                "this approval is for another call, used already or too old: make the call again \
                 without requestState",
                None,
            )
        };
        let State { ticket } = self.codec.open_json_with(state, call).map_err(|_| stale())?;
        let kept = {
            let mut open = self.open();
            open.order.retain(|other| *other != ticket);
            open.kept.remove(&ticket).ok_or_else(stale)?
        };
        let Kept { mut given, request } = kept;
        let result = responses.and_then(|responses| responses.get(APPROVE));
        let answer = match result.map(|value| serde_json::from_value(value.clone())) {
            Some(Ok(result)) => answer(&Offered::of(&request), &result),
            Some(Err(_)) => Answer::unasked("the client's answer could not be read"),
            None => Answer::unasked("the client came back without an answer"),
        };
        given.push(Given::new(request, answer, by));
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonekeep::approve::CommandAsked;

    fn push(pattern: Option<&str>) -> Request {
        let pattern = pattern.map(str::to_owned);
        let asked = CommandAsked { line: "git push".into(), pattern, ..CommandAsked::default() };
        Request::of_command("s-1", "shell", asked)
    }

    fn result(action: &str, content: Value) -> ElicitResult {
        serde_json::from_value(json!({ "action": action, "content": content })).unwrap()
    }

    #[test]
    fn a_form_has_to_be_filled_in() {
        for (pattern, choices) in [
            (None, json!(["deny", "once", "session"])),
            (Some("git push"), json!(["deny", "once", "session", "pattern"])),
        ] {
            let form = serde_json::to_value(form(&push(pattern)).unwrap()).unwrap();
            let schema = &form["requestedSchema"];
            assert_eq!(schema["required"], json!(["decision"]));
            assert_eq!(schema["properties"]["decision"]["enum"], choices);
            assert!(form["message"].as_str().unwrap().contains("git push"), "{form}");
        }
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        let pattern = Answer::yes_for_pattern("git push");
        let cases = [
            ("accept", json!({"decision": "once"}), Some(Answer::yes())),
            ("accept", json!({"decision": "session"}), Some(Answer::yes_for_session())),
            ("accept", json!({"decision": "pattern"}), Some(pattern)),
            ("accept", json!({"decision": "deny"}), Some(Answer::no())),
            (
                "accept",
                json!({"decision": "deny", "note": "later"}),
                Some(Answer::no_because("later")),
            ),
            ("accept", json!({"decision": "yes"}), None),
            ("accept", json!({"decision": true}), None),
            ("accept", json!({}), None),
            ("accept", json!(null), None),
            ("accept", json!("once"), None),
            ("decline", json!({"decision": "once"}), Some(Answer::no())),
            ("cancel", json!({"decision": "session"}), Some(Answer::no())),
        ];
        for (action, content, want) in cases {
            let offered = Offered::of(&push(Some("git push")));
            let got = answer(&offered, &result(action, content.clone()));
            match want {
                Some(want) => assert_eq!(got, want, "{action} {content}"),
                None => assert!(!got.approved && got.unasked.is_some(), "{action} {content}"),
            }
        }
        let offered = Offered::of(&push(None));
        let got = answer(&offered, &result("accept", json!({"decision": "pattern"})));
        assert_eq!(got, Answer::no());
    }

    #[test]
    fn what_was_not_seen_is_approved_once_at_most() {
        let request = Request { partial: true, ..push(Some("git push")) };
        let form = serde_json::to_value(form(&request).unwrap()).unwrap();
        let choices = &form["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(*choices, json!(["deny", "once"]));
        assert!(form["message"].as_str().unwrap().starts_with("  Only part of it"), "{form}");
        for decision in ["session", "pattern"] {
            let result = result("accept", json!({ "decision": decision }));
            assert!(!answer(&Offered::of(&request), &result).approved);
        }
    }

    #[test]
    fn a_state_is_good_for_one_answer_to_one_call() {
        let sealed = Sealed::new().unwrap();
        let request = push(None);
        let ask = || sealed.ask(b"call", &request, Vec::new()).unwrap().0.request_state.unwrap();
        let yes = json!({ "action": "accept", "content": { "decision": "once" } });
        let responses = BTreeMap::from([(APPROVE.to_owned(), yes)]);
        let open = |call: &[u8], state: &str| {
            sealed.answers(call, state, Some(&responses), "client".into())
        };
        let state = ask();
        assert!(open(b"another call", &state).is_err());
        assert!(open(b"call", &state.replace(|c: char| c.is_ascii_digit(), "0")).is_err());
        assert!(open(b"call", "").is_err());
        let given = open(b"call", &state).unwrap();
        assert_eq!(given.len(), 1);
        assert_eq!(
            (given[0].request.digest(), given[0].answer.clone()),
            (request.digest(), Answer::yes())
        );
        assert!(open(b"call", &state).is_err(), "used twice");
        let other = Sealed::new().unwrap();
        assert!(other.answers(b"call", &ask(), Some(&responses), "client".into()).is_err());
        let without = sealed.answers(b"call", &ask(), None, "client".into()).unwrap();
        assert!(without[0].answer.unasked.is_some());
    }
}
