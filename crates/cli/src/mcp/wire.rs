//! Messages on standard input and output: one JSON text on a line.
//!
//! What is no message is answered with an error and never ends the server: text
//! that is no JSON, JSON that is no message, lines that are too long. What is
//! read is bounded, and so is what waits to be written.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Interval;

use super::desk::{Desk, MAX_CALLS};

/// The longest message that is read.
pub(super) const MAX_MESSAGE: usize = 16 << 20;
/// The most requests under way, of which only some are calls.
const MAX_REQUESTS: usize = MAX_CALLS + 1024;
/// The most bytes of all requests under way, one of which may be longer.
const MAX_BYTES: usize = 32 << 20;
/// The most values in one message. Each takes far more room than its text.
const MAX_VALUES: usize = 100_000;
/// How often it is looked whether a client that does not read is still there.
const LOOK: Duration = Duration::from_millis(250);

/// A client on two streams.
pub(super) struct Wire<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is still to be passed over.
    passing_over: bool,
    /// Whether a request was read. What comes before the first one is no talk.
    opened: bool,
    /// The requests that are not answered yet, and how long they are.
    under_way: HashMap<RequestId, usize>,
    bytes: usize,
    out: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// Says whether the client is gone, even if it left something to read.
    gone: fn() -> bool,
    look: Interval,
    desk: Arc<Desk>,
}

enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin + Send> Wire<R> {
    /// Returns a wire, and the task that writes until the wire is closed.
    pub(super) fn new(
        read: R,
        mut write: impl AsyncWrite + Unpin + Send + 'static,
        gone: fn() -> bool,
        desk: Arc<Desk>,
    ) -> (Self, JoinHandle<()>) {
        let (out, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
        let told = Arc::clone(&desk);
        let writer = tokio::spawn(async move {
            let mut works = true;
            while let Some(line) = waiting.recv().await {
                works =
                    works && write.write_all(&line).await.is_ok() && write.flush().await.is_ok();
                if !works {
                    waiting.close();
                }
                told.written(line.len());
            }
        });
        let read = BufReader::with_capacity(64 * 1024, read);
        let wire = Wire {
            read,
            line: Vec::new(),
            passing_over: false,
            opened: false,
            under_way: HashMap::new(),
            bytes: 0,
            out: Some(out),
            gone,
            look: tokio::time::interval(LOOK),
            desk,
        };
        (wire, writer)
    }

    /// Reads on until a line is whole. Nothing is lost when this is dropped in
    /// between.
    async fn line(&mut self) -> Line {
        loop {
            let bytes = match self.read.fill_buf().await {
                Ok([]) | Err(_) => return Line::End,
                Ok(bytes) => bytes,
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            let was_over = self.passing_over;
            let fits = self.line.len() + taken <= MAX_MESSAGE;
            if !was_over && fits {
                self.line.extend_from_slice(&bytes[..taken]);
            } else {
                self.line = Vec::new();
            }
            self.read.consume(taken);
            self.passing_over = (was_over || !fits) && end.is_none();
            match (was_over, fits) {
                (false, false) => return Line::TooLong,
                (false, true) if end.is_some() => return Line::Whole,
                _ => {}
            }
        }
    }

    /// Waits until the client has read enough; returns whether it is still there.
    async fn room(&mut self) -> bool {
        loop {
            tokio::select! {
                biased;
                () = self.desk.room() => return true,
                _ = self.look.tick() => if (self.gone)() { return false },
            }
        }
    }

    /// Reads the next line, once the client has read enough.
    async fn next(&mut self) -> Line {
        let Some(out) = self.out.clone() else { return Line::End };
        let line = async {
            match self.room().await {
                true => self.line().await,
                false => Line::End,
            }
        };
        tokio::select! {
            line = line => line,
            // Nobody reads what is written any more.
            () = out.closed() => Line::End,
        }
    }

    fn put(&self, line: Vec<u8>) -> io::Result<()> {
        let closed = || io::Error::from(io::ErrorKind::NotConnected);
        put(self.out.as_ref().ok_or_else(closed)?, &self.desk, line)
    }

    /// Answers what is no message.
    fn complain(&self, error: ErrorData, id: Option<RequestId>) {
        let _ = self.put(written(&ServerJsonRpcMessage::error(error, id)));
    }

    /// Notes a request, or says why it is not taken on.
    fn begin(&mut self, id: &RequestId, bytes: usize) -> Result<(), ErrorData> {
        if self.under_way.contains_key(id) {
            let says = "a request with this id is under way";
            return Err(ErrorData::invalid_request(says, None));
        }
        let is_full = self.under_way.len() >= MAX_REQUESTS
            || (self.bytes + bytes > MAX_BYTES && !self.under_way.is_empty());
        if is_full {
            return Err(ErrorData::internal_error("too many calls are under way", None));
        }
        self.under_way.insert(id.clone(), bytes);
        self.bytes += bytes;
        Ok(())
    }

    fn end(&mut self, id: &RequestId) {
        self.bytes -= self.under_way.remove(id).unwrap_or_default();
    }
}

fn put(out: &mpsc::UnboundedSender<Vec<u8>>, desk: &Desk, line: Vec<u8>) -> io::Result<()> {
    desk.wait(line.len());
    out.send(line).map_err(|unsent| {
        desk.written(unsent.0.len());
        io::Error::from(io::ErrorKind::NotConnected)
    })
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for Wire<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let line = written(&item);
        // An answer is owed; everything else waits for a client that does not read.
        let put_now = match &item {
            JsonRpcMessage::Response(response) => {
                self.end(&response.id);
                true
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.end(id);
                }
                true
            }
            _ => false,
        };
        let (out, desk) = (self.out.clone(), Arc::clone(&self.desk));
        let sent = if put_now { Ok(self.put(line)) } else { Err(line) };
        async move {
            match (sent, out) {
                (Ok(sent), _) => sent,
                (Err(_), None) => Err(io::Error::from(io::ErrorKind::NotConnected)),
                (Err(line), Some(out)) => {
                    tokio::select! {
                        () = desk.room() => put(&out, &desk, line),
                        () = out.closed() => Err(io::Error::from(io::ErrorKind::NotConnected)),
                    }
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.next().await {
                Line::Whole => {}
                Line::TooLong => {
                    let says = format!("the message is longer than {MAX_MESSAGE} bytes");
                    self.complain(ErrorData::invalid_request(says, None), None);
                    continue;
                }
                Line::End => {
                    // What was begun is ended and answered, and nothing is begun any more.
                    self.desk.close().await;
                    return None;
                }
            }
            let line = match self.line.len() > 64 * 1024 {
                true => std::mem::take(&mut self.line),
                false => {
                    let line = self.line.clone();
                    self.line.clear();
                    line
                }
            };
            let message = match parse(&line) {
                Ok(None) => continue,
                Ok(Some(message)) => message,
                Err((error, id)) => {
                    self.complain(error, id);
                    continue;
                }
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    if let Err(error) = self.begin(&request.id, line.len()) {
                        self.complain(error, Some(request.id.clone()));
                        continue;
                    }
                    self.opened = true;
                }
                JsonRpcMessage::Notification(notice) => {
                    // What is cancelled is not answered.
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notice.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.end(id);
                    }
                }
                _ => {}
            }
            if self.opened {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out = None;
        Ok(())
    }
}

/// Returns a message as a line.
pub(super) fn written(message: &ServerJsonRpcMessage) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_else(|_| {
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the answer cannot be written"}}"#.to_vec()
    });
    line.push(b'\n');
    line
}

/// Returns about how many values a JSON text has.
fn values(text: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Reads a line; `None` for an empty one.
#[expect(clippy::result_large_err, reason = "made once for each wrong line")]
pub(super) fn parse(
    line: &[u8],
) -> Result<Option<ClientJsonRpcMessage>, (ErrorData, Option<RequestId>)> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if values(line) > MAX_VALUES {
        let says = format!("the message has more than {MAX_VALUES} values");
        return Err((ErrorData::invalid_request(says, None), None));
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let says = format!("this is no JSON: {error}");
        return Err((ErrorData::new(ErrorCode::PARSE_ERROR, says, None), None));
    };
    let is_call = value.get("method").is_some_and(Value::is_string);
    // The id of an answer is one of this side's, and no name for another answer.
    let is_answer = !is_call && (value.get("result").is_some() || value.get("error").is_some());
    let id = value.get("id").filter(|_| !is_answer);
    let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
    if is_call && id.is_none() && value.get("id").is_none() {
        // A notification that is not understood is not answered.
        return Ok(None);
    }
    let says = match &value {
        Value::Array(_) => "send one message on a line; batches are not taken",
        _ if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") => {
            "this is no message: `jsonrpc` has to be \"2.0\""
        }
        _ => "this is no message",
    };
    Err((ErrorData::invalid_request(says, None), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered() {
        let cases: &[(&str, Option<i32>, Option<&str>)] = &[
            ("", None, None),
            ("  \r", None, None),
            ("{", Some(-32700), None),
            ("\u{feff}{", Some(-32700), None),
            ("nonsense", Some(-32700), None),
            ("[]", Some(-32600), None),
            ("null", Some(-32600), None),
            ("{}", Some(-32600), None),
            (r#"{"jsonrpc":"1.0","id":"7","method":"ping"}"#, Some(-32600), Some("7")),
            (r#"{"jsonrpc":"2.0","id":"7"}"#, Some(-32600), Some("7")),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Some(-32600), None),
            (r#"{"jsonrpc":"2.0","id":"7","method":7}"#, Some(-32600), Some("7")),
            (r#"{"jsonrpc":"2.0","id":"7","error":7}"#, Some(-32600), None),
        ];
        for (line, code, id) in cases {
            match (parse(line.as_bytes()), code) {
                (Ok(None), None) => {}
                (Err((error, answered)), Some(code)) => {
                    assert_eq!(error.code.0, *code, "{line}");
                    let want = id.map(|id| RequestId::String(id.into()));
                    assert_eq!(answered, want, "{line}");
                }
                (other, _) => panic!("{line}: {other:?}"),
            }
        }
        let deep = "[".repeat(MAX_VALUES);
        assert_eq!(parse(deep.as_bytes()).unwrap_err().0.code, ErrorCode::PARSE_ERROR);
    }

    #[test]
    fn values_are_counted_and_text_is_not() {
        let cases = [
            (r#"{"a":1,"b":[2,3,{}]}"#, 6),
            (r#""[,{[,""#, 0),
            (r#"["\",",\\",","]"#, 3),
            ("", 0),
            ("\"[[[[", 0),
        ];
        for (text, want) in cases {
            assert_eq!(values(text.as_bytes()), want, "{text}");
        }
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert_eq!(parse(many.as_bytes()).unwrap_err().0.code, ErrorCode::INVALID_REQUEST);
    }

    #[test]
    fn messages_are_read() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for line in [ping.to_owned(), format!("\u{feff}{ping}\r")] {
            let message = parse(line.as_bytes()).unwrap();
            assert!(matches!(message, Some(JsonRpcMessage::Request(_))), "{line}: {message:?}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over() {
        let ping = |id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
        let long = "a".repeat(MAX_MESSAGE + 70_000);
        let text = [&long, "\n", &ping(1), &long, "\n", &ping(2)].concat();
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let desk = Arc::new(Desk::new());
        let (mut wire, writer) = Wire::new(io::Cursor::new(text), near, || false, desk);
        for _ in 0..2 {
            assert!(matches!(wire.receive().await, Some(JsonRpcMessage::Request(_))));
        }
        assert!(wire.receive().await.is_none());
        wire.close().await.unwrap();
        drop(wire);
        writer.await.unwrap();
        let mut said = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut far, &mut said).await.unwrap();
        assert_eq!(said.matches("-32600").count(), 2, "{said}");
    }
}
