//! A question, as every approver gets it.
//!
//! As JSON it is one object, the same for programs and on the socket; the guide
//! lists its fields.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use zonekeep_policy::Fingerprint;

/// The version of the JSON form, which stands in it as `"version": 1`.
///
/// A text of another version is not understood, and so is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version;

const VERSION: u64 = 1;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            VERSION => Ok(Version),
            other => {
                Err(de::Error::custom(format_args!("version {other} is not known, only {VERSION}")))
            }
        }
    }
}

/// A question about one action.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Request {
    /// The version of the JSON form.
    pub version: Version,
    /// The name of the question, which no other has; the audit record's id.
    pub id: String,
    /// The worker that wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The tool it called.
    pub tool: String,
    /// What would be done, such as `write`; `run` for a command.
    pub verb: String,
    /// The path, normalised, as the agent sees it; empty for a command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The second path of a move or copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why consent is needed, with the line that says so.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The other arguments, as name and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<(String, String)>,
    /// What would change, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether `diff` is not all that would change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The SHA-256 of the file that would be there after a write, an edit, a copy or a
    /// move. A yes is for this content: anything else is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What was at the paths when the question was put. Not part of the JSON form.
    #[serde(skip)]
    pub fingerprints: Vec<Fingerprint>,
    /// The command, where the question is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandAsked>,
    /// Whether the session ends with this call, so that a yes for the session is one for
    /// this call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_call: bool,
}

/// A command that somebody is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandAsked {
    /// The command line, exactly as it would be run.
    pub line: String,
    /// Where it would start, as the agent sees it.
    pub cwd: String,
    /// The simple commands in it, each with what the rules say.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// What network it would get, in words; `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The beginning of commands that a yes can be given for until the session
    /// ends, where that is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Whether it would go on in the background.
    #[serde(default)]
    pub background: bool,
}

/// One simple command of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Part {
    /// Its text.
    pub text: String,
    /// `preApproved` or `ask`.
    pub approval: String,
    /// Why consent is needed.
    #[serde(default)]
    pub why: Vec<String>,
    /// The rule that decided, with its file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Part {
    /// Returns whether this part is why somebody is asked.
    pub fn needs_consent(&self) -> bool {
        self.approval != "preApproved"
    }
}

impl Request {
    /// Returns a question about a command.
    pub fn of_command(
        id: impl Into<String>,
        tool: impl Into<String>,
        command: CommandAsked,
    ) -> Self {
        Request {
            id: id.into(),
            tool: tool.into(),
            verb: "run".to_owned(),
            command: Some(command),
            ..Request::default()
        }
    }

    /// Returns what is asked, such as `write /output/a.md`.
    pub fn summary(&self) -> String {
        self.to_string()
    }

    /// Returns a name for what is asked, the same for the same question whenever
    /// and by whichever call it is put: everything but the id counts.
    pub fn digest(&self) -> String {
        let request = Request { id: String::new(), ..self.clone() };
        let mut text = serde_json::to_vec(&request).expect("a question is plain data");
        for fingerprint in &self.fingerprints {
            text.extend_from_slice(fingerprint.to_string().as_bytes());
        }
        Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the pattern that a yes can be given for.
    pub fn pattern(&self) -> Option<&str> {
        self.command.as_ref()?.pattern.as_deref()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.command, &self.to) {
            (Some(command), _) => write!(f, "{} {}", self.verb, command.line),
            (None, Some(to)) => write!(f, "{} {} to {to}", self.verb, self.path),
            (None, None) => write!(f, "{} {}", self.verb, self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn push() -> Request {
        let part = Part {
            text: "git push origin".into(),
            approval: "ask".into(),
            why: vec!["it can reach the network".into()],
            rule: Some("zonekeep.yaml:9 git push *: ask".into()),
        };
        let command = CommandAsked {
            line: "git push origin".into(),
            cwd: "/repo".into(),
            parts: vec![part],
            network: Some("example.org".into()),
            pattern: Some("git push".into()),
            background: false,
        };
        Request::of_command("s-1", "shell", command)
    }

    #[test]
    fn the_json_form_is_what_the_guide_says() {
        let request = Request {
            id: "s-2".into(),
            tool: "write_file".into(),
            verb: "write".into(),
            path: "/output/a.md".into(),
            reasons: vec!["zones.output.approval.write: ask (zonekeep.yaml:4)".into()],
            details: vec![("bytes".into(), "6".into())],
            diff: Some("+new\n".into()),
            ..Request::default()
        };
        let want = json!({
            "version": 1, "id": "s-2", "tool": "write_file", "verb": "write",
            "path": "/output/a.md",
            "reasons": ["zones.output.approval.write: ask (zonekeep.yaml:4)"],
            "details": [["bytes", "6"]], "diff": "+new\n",
        });
        assert_eq!(serde_json::to_value(&request).unwrap(), want);
        let want = json!({
            "version": 1, "id": "s-1", "tool": "shell", "verb": "run", "reasons": [],
            "command": {
                "line": "git push origin", "cwd": "/repo",
                "parts": [{
                    "text": "git push origin", "approval": "ask",
                    "why": ["it can reach the network"],
                    "rule": "zonekeep.yaml:9 git push *: ask",
                }],
                "network": "example.org", "pattern": "git push", "background": false,
            },
        });
        assert_eq!(serde_json::to_value(push()).unwrap(), want);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = serde_json::to_string(&push()).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), push());
        let later = text.replace("\"version\":1", "\"version\":2");
        let error = serde_json::from_str::<Request>(&later).unwrap_err();
        assert!(error.to_string().contains("version 2 is not known"), "{error}");
    }

    #[test]
    fn a_summary_says_what_would_be_done() {
        let file = |to: Option<&str>| Request {
            verb: "move".into(),
            path: "/a".into(),
            to: to.map(str::to_owned),
            ..Request::default()
        };
        assert_eq!(push().summary(), "run git push origin");
        assert_eq!(file(None).summary(), "move /a");
        assert_eq!(file(Some("/b")).summary(), "move /a to /b");
    }
}
