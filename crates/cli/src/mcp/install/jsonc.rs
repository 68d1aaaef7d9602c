//! Reads JSON with comments and trailing commas, and remembers where everything
//! stands, so that a file can be changed in one place and left alone elsewhere.

use std::ops::Range;

use serde_json::Value;

/// How deep values may lie in each other.
const MAX_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Other(Value),
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// Where the key begins.
    pub(super) start: usize,
    pub(super) value: Node,
}

impl Node {
    /// Returns the value without its places.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let pairs = members.iter().map(|member| (member.key.clone(), member.value.value()));
                Value::Object(pairs.collect())
            }
            Kind::Array(items) => Value::Array(items.iter().map(Node::value).collect()),
            Kind::Other(value) => value.clone(),
        }
    }
}

/// Reads a text; says what is wrong and in which line.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.node(0).and_then(|node| {
        reader.skip()?;
        match reader.at == text.len() {
            true => Ok(node),
            false => Err("there is more behind its end"),
        }
    });
    node.map_err(|what| {
        let line = text[..reader.at.min(text.len())].matches('\n').count() + 1;
        format!("{what} (line {line})")
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), &'static str> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            if blanks > 0 {
                self.at += blanks;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").ok_or("a comment does not end")? + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deep");
        }
        self.skip()?;
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.members(depth)?),
            Some(b'[') => Kind::Array(self.items(depth)?),
            Some(b'"') => Kind::Other(Value::String(self.string()?)),
            _ => Kind::Other(self.word()?),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, &'static str> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.skip()?;
            if self.take(b'}') {
                return Ok(members);
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err("a name in double quotes is missing");
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err("a name stands there twice");
            }
            self.skip()?;
            if !self.take(b':') {
                return Err("a ':' is missing");
            }
            let value = self.node(depth + 1)?;
            members.push(Member { key, start, value });
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(b'}') {
                return Err("a ',' or '}' is missing");
            }
        }
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, &'static str> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip()?;
            if self.take(b']') {
                return Ok(items);
            }
            items.push(self.node(depth + 1)?);
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(b']') {
                return Err("a ',' or ']' is missing");
            }
        }
    }

    fn string(&mut self) -> Result<String, &'static str> {
        let bytes = &self.text.as_bytes()[self.at..];
        let mut end = 1;
        loop {
            match bytes.get(end) {
                Some(b'\\') => end += 2,
                Some(b'"') => break,
                Some(_) => end += 1,
                None => return Err("a text does not end"),
            }
        }
        let token = &self.text[self.at..=self.at + end];
        let value = serde_json::from_str(token).map_err(|_| "a text is not valid")?;
        self.at += end + 1;
        Ok(value)
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, &'static str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let rest = self.rest();
        let token = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let value = serde_json::from_str(token).map_err(|_| "a value is not valid")?;
        self.at += token.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_comments_and_trailing_commas_is_read() {
        let cases = [
            ("{}", Ok("{}")),
            (" // a\n{ /* b */ \"x\": [1, 2,], // c\n }\n", Ok(r#"{"x":[1,2]}"#)),
            (r#"{"a\"//": "/* no */", "b": -1.5e3}"#, Ok(r#"{"a\"//":"/* no */","b":-1500.0}"#)),
            ("[true, false, null]", Ok("[true,false,null]")),
            ("", Err("a value is not valid (line 1)")),
            ("{\n\"a\" 1}", Err("a ':' is missing (line 2)")),
            ("{\"a\": 1 \"b\": 2}", Err("a ',' or '}' is missing (line 1)")),
            ("{\"a\": 1, \"a\": 2}", Err("a name stands there twice (line 1)")),
            ("{'a': 1}", Err("a name in double quotes is missing (line 1)")),
            ("{} x", Err("there is more behind its end (line 1)")),
            ("{\"a\": \"b", Err("a text does not end (line 1)")),
            ("{\"a\": \"b\\", Err("a text does not end (line 1)")),
            ("{} /*", Err("a comment does not end (line 1)")),
            ("{,}", Err("a name in double quotes is missing (line 1)")),
        ];
        for (text, expected) in cases {
            let got = parse(text).map(|node| node.value().to_string());
            assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
        }
        assert_eq!(
            parse(&"[".repeat(100_000)).unwrap_err(),
            "it is nested too deep (line 1)",
            "a hostile file must not take the stack"
        );
    }
}
