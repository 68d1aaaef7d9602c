//! Messages on standard input and output: one JSON text on a line.
//!
//! What is no message is answered with an error and never ends the server: text
//! that is no JSON, JSON that is no message, lines that are too long. What is
//! read is bounded, and so is what waits to be written.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::desk::Desk;

/// The longest message that is read.
pub(super) const MAX_MESSAGE: usize = 16 << 20;
/// How many messages wait to be written.
const MAX_WAITING: usize = 64;

/// A client on two streams.
pub(super) struct Wire<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is still to be passed over.
    passing_over: bool,
    /// Whether a request was read. What comes before the first one is no talk.
    opened: bool,
    out: Option<mpsc::Sender<Vec<u8>>>,
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
        desk: Arc<Desk>,
    ) -> (Self, JoinHandle<()>) {
        let (out, mut waiting) = mpsc::channel::<Vec<u8>>(MAX_WAITING);
        let writer = tokio::spawn(async move {
            while let Some(line) = waiting.recv().await {
                if write.write_all(&line).await.is_err() || write.flush().await.is_err() {
                    return;
                }
            }
        });
        let read = BufReader::with_capacity(64 * 1024, read);
        let line = Vec::new();
        (Wire { read, line, passing_over: false, opened: false, out: Some(out), desk }, writer)
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

    /// Answers what is no message. Whoever does not read misses it.
    fn complain(&self, error: ErrorData, id: Option<RequestId>) {
        if let Some(out) = &self.out {
            let _ = out.try_send(written(&ServerJsonRpcMessage::error(error, id)));
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for Wire<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let out = self.out.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::NotConnected);
            out.ok_or_else(closed)?.send(written(&item)).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.line().await {
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
            match parse(&line) {
                Ok(None) => {}
                Ok(Some(message)) => {
                    self.opened |= matches!(message, JsonRpcMessage::Request(_));
                    if self.opened {
                        return Some(message);
                    }
                }
                Err((error, id)) => self.complain(error, id),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out = None;
        Ok(())
    }
}

fn written(message: &ServerJsonRpcMessage) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_else(|_| {
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the answer cannot be written"}}"#.to_vec()
    });
    line.push(b'\n');
    line
}

/// Reads a line; `None` for an empty one.
#[expect(clippy::result_large_err, reason = "made once for each wrong line")]
fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, (ErrorData, Option<RequestId>)> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let says = format!("this is no JSON: {error}");
        return Err((ErrorData::new(ErrorCode::PARSE_ERROR, says, None), None));
    };
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let is_call = value.get("method").is_some_and(Value::is_string);
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
        let deep = "[".repeat(100_000);
        assert_eq!(parse(deep.as_bytes()).unwrap_err().0.code, ErrorCode::PARSE_ERROR);
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
        let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let long = vec![b'a'; MAX_MESSAGE + 70_000];
        let text = [&long[..], b"\n", ping, &long[..], b"\n", ping].concat();
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let (mut wire, writer) = Wire::new(io::Cursor::new(text), near, Arc::new(Desk::new()));
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
