//! One call: worked on beside the others, asked about where the rules say so,
//! ended when the client wants it to end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, InputRequiredResult, InputResponses, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{RequestContext, ServiceError};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use zonekeep::approve::{Answer, Request, visible};
use zonekeep::{Error, Given, Sandbox, Stop};

use super::question::{self, Offered};
use super::rules::{InUse, Running};
use super::server::{Server, is_modern};

/// How often new output is told.
const TELL: Duration = Duration::from_millis(100);
/// How often it is told that a call still goes on.
const STILL: Duration = Duration::from_secs(5);
/// The most bytes of output in one notice.
const MAX_TOLD: usize = 8 * 1024;
/// How often a command is held back before it is refused.
const MAX_WAITS: usize = 100;
/// The most questions about one call.
const MAX_QUESTIONS: usize = 3;

/// What a call came to.
pub(super) enum Came<T> {
    To(T),
    /// The client has to ask the user, and to call again.
    Ask(Box<InputRequiredResult>),
}

/// What a client sends with a call that it repeats.
pub(super) struct Repeated {
    pub(super) state: Option<String>,
    pub(super) responses: Option<InputResponses>,
}

/// Says stop when it is dropped before what it is for has ended.
struct Held {
    stop: Stop,
    ended: bool,
}

impl Held {
    fn new() -> Self {
        Held { stop: Stop::new(), ended: false }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.ended {
            self.stop.say();
        }
    }
}

impl Server {
    /// Does something in the sandbox for a client. `what` names the call, so that
    /// an answer is good for nothing else.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        what: &[u8],
        repeated: Repeated,
        is_command: bool,
        work: impl Fn(&Sandbox) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Result<Came<Result<T, Error>>, ErrorData> {
        let Some(_ticket) = self.desk().take() else {
            return Err(ErrorData::internal_error("too many calls are under way", None));
        };
        let call = Sha256::digest(what);
        let client = context.client_info().map(|client| client.name);
        let mut given = match repeated.state {
            None => Vec::new(),
            Some(state) => {
                let by = question::by(client.as_deref());
                self.sealed().answers(&call, &state, repeated.responses.as_ref(), by)?
            }
        };
        let work = Arc::new(work);
        loop {
            let done = self.run(context, is_command, given.clone(), Arc::clone(&work)).await?;
            let request = match done {
                Err(Error::Open(request)) => request,
                done => return Ok(Came::To(done)),
            };
            // What was answered last was not what is asked now.
            if let Some(last) = given.last() {
                let why = "what would be done has changed before there was an answer";
                self.close(&last.request, Some(last), why).await;
            }
            if given.len() >= MAX_QUESTIONS {
                self.close(&request, None, "what would be done keeps changing").await;
                return Ok(Came::To(Err(Error::Open(request))));
            }
            self.notify();
            let asked = match self.asks(context) {
                Asks::Again => {
                    let (asked, given_up) = self.sealed().ask(&call, &request, given)?;
                    if let Some(given_up) = given_up {
                        self.close(&given_up, None, "too many questions are open").await;
                    }
                    return Ok(Came::Ask(Box::new(asked)));
                }
                Asks::Form => self
                    .put_form(context, &request)
                    .await
                    .map(|answer| (answer, question::by(client.as_deref()))),
                Asks::Socket => self.put_on_socket(context, &request).await,
            };
            match asked {
                Ok((answer, by)) => given.push(Given::new(*request, answer, by)),
                Err(error) => {
                    self.close(&request, None, "the call was cancelled").await;
                    return Err(error);
                }
            }
        }
    }

    /// Writes down that nothing comes of a question.
    async fn close(&self, request: &Request, given: Option<&Given>, why: &'static str) {
        let (rules, request, given) = (self.rules(), request.clone(), given.cloned());
        let closing = tokio::task::spawn_blocking(move || {
            rules.sandbox().close_question(&request, given.as_ref(), why);
        });
        let _ = closing.await;
    }

    /// Works on a call on a thread of its own.
    async fn run<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        is_command: bool,
        given: Vec<Given>,
        work: Arc<impl Fn(&Sandbox) -> Result<T, Error> + Send + Sync + 'static>,
    ) -> Result<Result<T, Error>, ErrorData> {
        let over = self.desk().over();
        let turn = tokio::select! {
            turn = self.desk().turn(is_command) => turn,
            () = context.ct.cancelled() => None,
        };
        let Some(_turn) = turn else { return Err(cancelled()) };
        let running = match is_command {
            true => Some(self.begin_command(context).await?),
            false => None,
        };
        let mut held = Held::new();
        let stop = held.stop.clone();
        let token = context.meta.get_progress_token().filter(|_| is_command);
        let heard = token.is_some().then(Heard::default);
        let (rules, ear, defers) = (self.rules(), heard.clone(), self.asks_client());
        let (begun, mut outdated) = tokio::sync::oneshot::channel();
        let thread = tokio::task::spawn_blocking(move || {
            let _running = running;
            let InUse { sandbox, outdated } = rules.use_now()?;
            let _ = begun.send(outdated);
            let mut sandbox = sandbox.stopped_by(&stop);
            if defers {
                sandbox = sandbox.deferring(given);
            }
            if let Some(ear) = ear {
                let (rules, quiet) = (Arc::clone(&rules), sandbox.clone());
                sandbox = sandbox.heard_by(Arc::new(move |bytes: &[u8]| {
                    rules.taint_as(&quiet);
                    ear.push(bytes);
                }));
            }
            let done = work(&sandbox);
            // What the agent gets to know it knows under other rules too.
            rules.taint_as(&sandbox);
            done
        });
        let telling = tell(context, token, heard);
        let changed = async {
            if let Ok(outdated) = (&mut outdated).await {
                outdated.cancelled().await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::pin!(thread, telling, changed);
        let mut stopped = false;
        let done = loop {
            tokio::select! {
                done = &mut thread => break done,
                () = &mut telling, if !stopped => {}
                () = &mut changed, if !stopped => { held.stop.say(); stopped = true; }
                () = context.ct.cancelled(), if !stopped => { held.stop.say(); stopped = true; }
                () = over.cancelled(), if !stopped => { held.stop.say(); stopped = true; }
            }
        };
        // What goes on in the background goes on.
        held.ended = true;
        done.map_err(|error| ErrorData::internal_error(format!("the call failed: {error}"), None))
    }

    /// Waits until commands may begin: not while others are being ended because the
    /// rules have changed.
    async fn begin_command(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Running, ErrorData> {
        for _ in 0..MAX_WAITS {
            if let Some(running) = self.rules().begin_command() {
                return Ok(running);
            }
            tokio::select! {
                () = tokio::time::sleep(TELL) => {}
                () = context.ct.cancelled() => return Err(cancelled()),
                () = self.desk().over().cancelled() => return Err(cancelled()),
            }
        }
        Err(ErrorData::internal_error(
            "the settings of the sandbox are being changed: call again",
            None,
        ))
    }

    /// Returns how the user is asked.
    fn asks(&self, context: &RequestContext<RoleServer>) -> Asks {
        let forms = context.client_capabilities().and_then(|client| client.elicitation);
        // A client that names no kind of form can show this one.
        let forms = forms.is_some_and(|forms| forms.form.is_some() || forms.url.is_none());
        match (self.prefers_socket() || !forms, is_modern(context)) {
            (true, _) => Asks::Socket,
            (false, true) => Asks::Again,
            (false, false) => Asks::Form,
        }
    }

    /// Has the client show a form and waits for the answer. One at a time.
    async fn put_form(
        &self,
        context: &RequestContext<RoleServer>,
        request: &Request,
    ) -> Result<Answer, ErrorData> {
        let form = question::form(request)?;
        let until = Instant::now() + self.within();
        let asking = async {
            let Ok(_one) = tokio::time::timeout_at(until, self.one_question().lock()).await else {
                return Answer::unasked("another question was not answered in time");
            };
            let left = Some(until.saturating_duration_since(Instant::now()));
            match context.peer.create_elicitation_with_timeout(form, left).await {
                Ok(result) => question::answer(&Offered::of(request), &result),
                Err(ServiceError::Timeout { .. }) => {
                    Answer::unasked("the client did not answer in time")
                }
                Err(error) => Answer::unasked(format!("the client did not answer ({error})")),
            }
        };
        tokio::select! {
            answer = asking => Ok(answer),
            () = context.ct.cancelled() => Err(cancelled()),
            () = self.desk().over().cancelled() => Err(cancelled()),
        }
    }

    /// Asks whoever is attached, if anybody is.
    async fn put_on_socket(
        &self,
        context: &RequestContext<RoleServer>,
        request: &Request,
    ) -> Result<(Answer, String), ErrorData> {
        let by = "socket".to_owned();
        let Some(socket) = self.rules().socket() else {
            return Ok((Answer::unasked("nobody can be asked"), by));
        };
        if !self.prefers_socket() && !socket.attached() {
            let reason = "this client cannot ask the user. The user can answer in a terminal: run \
                          `zonekeep approve` there and call this again";
            return Ok((Answer::unasked(reason), by));
        }
        let held = Held::new();
        let (stop, request) = (held.stop.clone(), request.clone());
        let asking = tokio::task::spawn_blocking(move || socket.ask_until(&request, &stop));
        tokio::select! {
            answer = asking => {
                Ok((answer.unwrap_or_else(|_| Answer::unasked("nobody can be asked")), by))
            }
            () = context.ct.cancelled() => Err(cancelled()),
            () = self.desk().over().cancelled() => Err(cancelled()),
        }
    }
}

/// How the user is asked.
enum Asks {
    /// By a form that the client shows while the call waits.
    Form,
    /// By a form that the client shows before it calls again.
    Again,
    /// By whoever is attached.
    Socket,
}

pub(super) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}

/// What a command has printed since it was last told.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn push(&self, bytes: &[u8]) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.extend_from_slice(bytes);
        // Only the newest is told.
        let extra = heard.len().saturating_sub(2 * MAX_TOLD);
        if extra > 0 {
            heard.drain(..extra);
        }
    }

    /// Returns the newest text, without half a character at its end, which stays.
    fn take(&self) -> String {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let extra = heard.len().saturating_sub(MAX_TOLD);
        heard.drain(..extra);
        let end = match std::str::from_utf8(&heard) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => heard.len(),
        };
        let taken: Vec<u8> = heard.drain(..end).collect();
        // It is shown to people, beside what clients say themselves.
        visible(String::from_utf8_lossy(&taken).trim_start_matches('\u{fffd}'))
    }
}

/// Tells the client what a command prints, and that it still runs. Never returns.
async fn tell(
    context: &RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    heard: Option<Heard>,
) {
    let (Some(token), Some(heard)) = (token, heard) else {
        return std::future::pending().await;
    };
    let begun = Instant::now();
    let mut told = begun;
    loop {
        tokio::time::sleep(TELL).await;
        let text = heard.take();
        if text.is_empty() && told.elapsed() < STILL {
            continue;
        }
        told = Instant::now();
        let mut notice =
            ProgressNotificationParam::new(token.clone(), begun.elapsed().as_millis() as f64);
        notice.message = Some(text).filter(|text| !text.is_empty());
        if context.peer.notify_progress(notice).await.is_err() {
            return std::future::pending().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_output_is_told_in_whole_characters() {
        let heard = Heard::default();
        heard.push("aé".as_bytes());
        heard.push(&"é".as_bytes()[..1]);
        assert_eq!(heard.take(), "aé");
        heard.push(&"é".as_bytes()[1..]);
        assert_eq!(heard.take(), "é");
        assert_eq!(heard.take(), "");
        heard.push(&vec![b'x'; 10 * MAX_TOLD]);
        heard.push(b"end");
        let told = heard.take();
        assert!(told.len() == MAX_TOLD && told.ends_with("xend"), "{}", told.len());
    }
}
