//! What is said on the socket: one JSON object on a line.

use serde::{Deserialize, Serialize};

use crate::approve::{Remember, Request, Version};

/// What a session says to whoever is attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// Whose socket it is; the first line. So many questions follow.
    Session {
        /// The version of the protocol.
        version: Version,
        /// The session.
        session: String,
        /// The project directory.
        project: String,
        /// How many questions wait.
        pending: usize,
    },
    /// A question waits.
    Request(Box<Request>),
    /// Your answer is the one that counts.
    Accepted {
        /// The question.
        id: String,
    },
    /// A question waits no more.
    Settled {
        /// The question.
        id: String,
        /// What became of it.
        how: How,
    },
    /// What you said was not understood, or came too late.
    Error {
        /// The question, where it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// What is wrong.
        message: String,
    },
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Somebody answered.
    Answered,
    /// Nobody did in time, which is a no.
    TimedOut,
    /// Whoever asked does not wait for an answer any more, which is a no.
    Withdrawn,
}

/// What whoever is attached says to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// The first line: proves that the client can read the user's files.
    Hello {
        #[serde(default)]
        version: Version,
        key: String,
    },
    /// An answer.
    Answer {
        #[serde(default)]
        version: Version,
        id: String,
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default)]
        remember: Remember,
    },
}

/// Writes a message on a line.
pub(super) fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("strings and numbers can be written");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_as_documented() {
        let request = Request { id: "s-1".into(), verb: "write".into(), ..Request::default() };
        let cases = [
            (
                Notice::Session {
                    version: Version,
                    session: "s".into(),
                    project: "/p".into(),
                    pending: 1,
                },
                json!({"type": "session", "version": 1, "session": "s", "project": "/p", "pending": 1}),
            ),
            (
                Notice::Request(Box::new(request)),
                json!({"type": "request", "version": 1, "id": "s-1", "tool": "", "verb": "write", "reasons": []}),
            ),
            (Notice::Accepted { id: "s-1".into() }, json!({"type": "accepted", "id": "s-1"})),
            (
                Notice::Settled { id: "s-1".into(), how: How::TimedOut },
                json!({"type": "settled", "id": "s-1", "how": "timed_out"}),
            ),
            (
                Notice::Settled { id: "s-1".into(), how: How::Withdrawn },
                json!({"type": "settled", "id": "s-1", "how": "withdrawn"}),
            ),
            (
                Notice::Error { id: None, message: "no".into() },
                json!({"type": "error", "message": "no"}),
            ),
        ];
        for (notice, want) in cases {
            assert_eq!(serde_json::to_value(&notice).unwrap(), want);
            assert_eq!(serde_json::from_value::<Notice>(want).unwrap(), notice);
        }
    }

    #[test]
    fn replies_are_read_strictly() {
        let good = [
            r#"{"type":"hello","key":"k"}"#,
            r#"{"type":"hello","version":1,"key":"k"}"#,
            r#"{"type":"answer","id":"s-1","approved":true}"#,
            r#"{"type":"answer","id":"s-1","approved":true,"note":"x","remember":{"pattern":"a"}}"#,
        ];
        for text in good {
            serde_json::from_str::<Reply>(text).unwrap();
        }
        let bad = [
            r#"{"type":"hello"}"#,
            r#"{"type":"answer","id":"s-1"}"#,
            r#"{"type":"answer","id":"s-1","approved":"true"}"#,
            r#"{"type":"answer","id":"s-1","approved":true,"also":1}"#,
            r#"{"type":"answer","version":2,"id":"s-1","approved":true}"#,
            r#"{"type":"approve","id":"s-1"}"#,
            r#"{"id":"s-1","approved":true}"#,
            "null",
            "",
        ];
        for text in bad {
            assert!(serde_json::from_str::<Reply>(text).is_err(), "{text}");
        }
    }
}
