//! What somebody answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Request, Version};

/// How long a yes holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// For this one action.
    #[default]
    Once,
    /// For the same action on the same path, or the same command, until the
    /// session ends.
    Session,
    /// For commands that begin like this, until the session ends. Only what the
    /// question offered counts.
    Pattern(String),
}

impl Remember {
    /// Returns the words for the record: `once`, `session` or `pattern: …`.
    pub fn shown(&self) -> String {
        match self {
            Remember::Once => "once".to_owned(),
            Remember::Session => "session".to_owned(),
            Remember::Pattern(pattern) => format!("pattern: {pattern}"),
        }
    }
}

/// What somebody answered.
///
/// As JSON: `{"approved": true, "note": "…", "remember": "once"}`, where
/// `remember` is `"once"`, `"session"` or `{"pattern": "git push"}` and only
/// `approved` has to be there. Anything else in it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The version of the JSON form.
    #[serde(default)]
    pub version: Version,
    /// Whether the action may happen.
    pub approved: bool,
    /// Words for the agent, which reads them with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How long a yes holds.
    #[serde(default)]
    pub remember: Remember,
    /// Why nobody could be asked, where that is so; the answer is then no.
    #[serde(skip)]
    pub unasked: Option<String>,
}

impl Answer {
    /// Returns a yes for this one action.
    pub fn yes() -> Self {
        Answer { approved: true, ..Answer::default() }
    }

    /// Returns a yes for the session.
    pub fn yes_for_session() -> Self {
        Answer { approved: true, remember: Remember::Session, ..Answer::default() }
    }

    /// Returns a yes for all commands that begin like `pattern`.
    pub fn yes_for_pattern(pattern: impl Into<String>) -> Self {
        let remember = Remember::Pattern(pattern.into());
        Answer { approved: true, remember, ..Answer::default() }
    }

    /// Returns a no.
    pub fn no() -> Self {
        Answer::default()
    }

    /// Returns a no with words for the agent.
    pub fn no_because(note: impl Into<String>) -> Self {
        Answer { note: Some(note.into()), ..Answer::default() }
    }

    /// Returns that nobody could be asked; `reason` follows "approval, and".
    pub fn unasked(reason: impl Into<String>) -> Self {
        Answer { unasked: Some(reason.into()), ..Answer::default() }
    }

    /// Returns the answer as far as it answers this question.
    ///
    /// Whoever answers cannot make a rule of their own: a pattern that the
    /// question did not offer is a yes for once. A no is never remembered, and
    /// an approver that could not ask has not said yes.
    #[must_use]
    pub fn held_to(mut self, request: &Request) -> Self {
        if self.unasked.is_some() {
            self.approved = false;
        }
        let offered = match &self.remember {
            Remember::Once | Remember::Session => true,
            Remember::Pattern(pattern) => request.pattern() == Some(pattern),
        };
        if !self.approved || !offered {
            self.remember = Remember::Once;
        }
        self.note = self.note.filter(|note| !note.trim().is_empty());
        self
    }
}

/// Writes a time limit in words.
pub(crate) fn in_words(limit: Duration) -> String {
    let (count, unit) = match (limit.as_secs(), limit.subsec_millis()) {
        (secs @ 60.., 0) if secs % 60 == 0 => (secs / 60, "minute"),
        (secs @ 1.., 0) => (secs, "second"),
        _ => (limit.as_millis() as u64, "millisecond"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approve::CommandAsked;

    #[test]
    fn answers_are_read_from_json() {
        let pattern = Answer::yes_for_pattern("git push");
        let noted = Answer { note: Some("fine".into()), ..Answer::yes() };
        let cases = [
            (r#"{"approved": true}"#, Some(Answer::yes())),
            (r#"{"approved": false}"#, Some(Answer::no())),
            (r#"{"version": 1, "approved": true, "remember": "once"}"#, Some(Answer::yes())),
            (r#"{"approved": true, "remember": "session"}"#, Some(Answer::yes_for_session())),
            (r#"{"approved": true, "remember": {"pattern": "git push"}}"#, Some(pattern)),
            (r#"{"approved": false, "note": "no"}"#, Some(Answer::no_because("no"))),
            (r#"{"approved": true, "note": "fine"}"#, Some(noted)),
            (r#"{"approved": false, "note": null}"#, Some(Answer::no())),
            (r#"{}"#, None),
            (r#"{"approved": "yes"}"#, None),
            (r#"{"approved": 1}"#, None),
            (r#"{"approved": true, "approved": false}"#, None),
            (r#"{"version": 2, "approved": true}"#, None),
            (r#"{"approved": true, "remember": "forever"}"#, None),
            (r#"{"approved": true, "remember": {"pattern": 1}}"#, None),
            (r#"{"approved": true, "unasked": "x"}"#, None),
            (r#"{"approved": true, "extra": 1}"#, None),
            (r#"true"#, None),
            (r#"{"approved": true} {"approved": true}"#, None),
        ];
        for (text, want) in cases {
            assert_eq!(serde_json::from_str::<Answer>(text).ok(), want, "{text}");
        }
        for answer in [Answer::yes_for_session(), Answer::yes_for_pattern("a"), Answer::no()] {
            let text = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer, "{text}");
        }
    }

    #[test]
    fn only_what_was_offered_is_remembered() {
        let offering = |pattern: Option<&str>| {
            let pattern = pattern.map(str::to_owned);
            Request::of_command("1", "shell", CommandAsked { pattern, ..CommandAsked::default() })
        };
        let cases = [
            (offering(Some("git push")), "git push", Remember::Pattern("git push".into())),
            (offering(Some("git push")), "git", Remember::Once),
            (offering(Some("git push")), "git push ", Remember::Once),
            (offering(None), "git push", Remember::Once),
            (Request::default(), "git push", Remember::Once),
        ];
        for (request, pattern, want) in cases {
            let answer = Answer::yes_for_pattern(pattern).held_to(&request);
            assert!(answer.approved);
            assert_eq!(answer.remember, want, "{pattern:?} to {request:?}");
        }
        let no = Answer { approved: false, ..Answer::yes_for_session() };
        assert_eq!(no.held_to(&Request::default()), Answer::no());
        let unasked = Answer { unasked: Some("x".into()), ..Answer::yes_for_session() };
        assert_eq!(unasked.held_to(&Request::default()), Answer::unasked("x"));
    }

    #[test]
    fn limits_in_words() {
        let cases = [
            (300_000, "5 minutes"),
            (60_000, "1 minute"),
            (90_000, "90 seconds"),
            (1000, "1 second"),
        ];
        for (millis, want) in cases {
            assert_eq!(in_words(Duration::from_millis(millis)), want);
        }
        assert_eq!(in_words(Duration::from_millis(1500)), "1500 milliseconds");
    }
}
