//! Answers that have to fit a JSON Schema.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// The longest answer that is looked at.
const MAX_ANSWER: usize = 1 << 20;
/// As many reasons as an answer is sent back with.
const MAX_REASONS: usize = 5;
/// The longest reason.
const MAX_REASON: usize = 300;
/// The largest pattern of a schema, compiled.
const MAX_PATTERN: usize = 1 << 20;

/// As much as may be looked through for reasons; see [`effort`].
const MAX_EFFORT: u64 = 100_000;

/// The form that a worker's answer must have.
#[derive(Debug)]
pub struct OutputSchema {
    validator: Validator,
    /// How much harder reasons are to find with each level of an answer.
    factor: u64,
}

impl OutputSchema {
    /// Reads a JSON Schema. It is complete in itself: references lead nowhere
    /// else. Patterns are matched in linear time, so some are not known, such as
    /// those that look ahead.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| {
            let at = error.instance_path().to_string();
            let reason = reason(&at, &error.to_string());
            format!("it is not a JSON Schema that can be used: {reason}")
        })?;
        Ok(OutputSchema { validator, factor: if refers(schema) { 3 } else { 1 } })
    }

    /// Returns the value in an answer, or what is wrong with it, in words for
    /// the model. The answer is JSON, or has one block of JSON between fences.
    pub fn check(&self, answer: &str) -> Result<Value, String> {
        if answer.len() > MAX_ANSWER {
            return Err(format!("The answer is longer than {MAX_ANSWER} bytes."));
        }
        let value = find(answer)?;
        if self.validator.is_valid(&value) {
            return Ok(value);
        }
        let mut text = "The answer does not fit the schema.".to_owned();
        if effort(&value, self.factor, 1) > MAX_EFFORT {
            text.push_str("\n- (the whole): it is too large to say where");
            return Err(text);
        }
        let mut errors = self.validator.iter_errors(&value);
        let reasons = errors.by_ref().take(MAX_REASONS);
        for error in reasons {
            let at = error.instance_path().to_string();
            text.push_str("\n- ");
            text.push_str(&reason(&at, &error.to_string()));
        }
        if errors.next().is_some() {
            text.push_str("\n- and more");
        }
        Err(text)
    }
}

/// Returns whether a schema has references, and so may lead back to itself.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(refers),
        Value::Object(entries) => entries
            .iter()
            .any(|(key, value)| key.ends_with("Ref") || key == "$ref" || refers(value)),
        _ => false,
    }
}

/// Returns how hard it may be to find reasons. Whether a value fits is found
/// quickly; but where a schema has choices that lead back to it, the library
/// looks for reasons in every choice of every choice.
fn effort(value: &Value, factor: u64, each: u64) -> u64 {
    let inner = each.saturating_mul(factor);
    let mut total = each;
    let mut add = |value: &Value| {
        if total <= MAX_EFFORT {
            total = total.saturating_add(effort(value, factor, inner));
        }
    };
    match value {
        Value::Array(items) => items.iter().for_each(&mut add),
        Value::Object(entries) => entries.values().for_each(&mut add),
        _ => {}
    }
    total
}

/// Returns the JSON in an answer.
fn find(answer: &str) -> Result<Value, String> {
    let whole = match serde_json::from_str(answer) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let blocks = blocks(answer);
    match blocks.as_slice() {
        [] => Err(format!("The answer is not JSON: {whole}.")),
        [block] => serde_json::from_str(block)
            .map_err(|error| format!("The block between the fences is not JSON: {error}.")),
        _ => Err("The answer has more than one block between fences.".to_owned()),
    }
}

/// Returns what is between fences of three or more backquotes.
fn blocks(answer: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in answer.lines() {
        let ticks = line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
        match open.take() {
            None if ticks >= 3 => open = Some((ticks, String::new())),
            None => {}
            Some((fence, block)) if ticks >= fence && line.trim().len() == ticks => {
                blocks.push(block);
            }
            Some((fence, mut block)) => {
                block.push_str(line);
                block.push('\n');
                open = Some((fence, block));
            }
        }
    }
    // The end of the answer ends a block as well.
    blocks.extend(open.map(|(_, block)| block));
    blocks
}

/// Returns a reason in one line, with the place of the value.
fn reason(at: &str, text: &str) -> String {
    let place = if at.is_empty() { "(the whole)" } else { at };
    let words = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut reason: String =
        shorten(place).chain(": ".chars()).chain(words).take(MAX_REASON).collect();
    if text.chars().nth(MAX_REASON).is_some() {
        reason.push('…');
    }
    reason
}

fn shorten(place: &str) -> impl Iterator<Item = char> {
    place.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_REASON / 3)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn person() -> OutputSchema {
        OutputSchema::compile(&json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "pattern": "^(a+)+$" },
                "age": { "type": "integer", "minimum": 0 },
                "tags": { "type": "array", "items": { "type": "string" }, "uniqueItems": true },
            },
            "required": ["name"],
            "additionalProperties": false,
        }))
        .unwrap()
    }

    #[test]
    fn json_is_found_in_an_answer() {
        let want = json!({ "name": "aa" });
        let answers = [
            r#"{"name": "aa"}"#,
            "  {\"name\":\n\"aa\"}\n\n",
            "Here it is:\n```json\n{\"name\": \"aa\"}\n```\nThat is all.",
            "```\n{\"name\": \"aa\"}\n```",
            "````json\n{\"name\": \"aa\"}\n````",
            "  ```json\n  {\"name\": \"aa\"}\n  ```",
            "```json\n{\"name\": \"aa\"}",
        ];
        for answer in answers {
            assert_eq!(person().check(answer), Ok(want.clone()), "{answer}");
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_says_where_and_why() {
        let cases = [
            ("hello", &["The answer is not JSON: expected value at line 1 column 1."][..]),
            ("", &["The answer is not JSON: EOF"]),
            ("```json\n{oops}\n```", &["The block between the fences is not JSON: key must be"]),
            ("```\n1\n```\n```\n2\n```", &["more than one block"]),
            ("[]", &["The answer does not fit the schema.\n- (the whole): [] is not of type"]),
            ("{}", &["- (the whole): \"name\" is a required property"]),
            (
                r#"{"name": "b", "age": -1}"#,
                &["- /name: \"b\" does not match", "- /age: -1 is less"],
            ),
            (r#"{"name": "a", "tags": ["x", 2]}"#, &["- /tags/1: 2 is not of type \"string\""]),
            (r#"{"name": "a", "x": 1}"#, &["Additional properties are not allowed ('x' was"]),
        ];
        for (answer, wants) in cases {
            let error = person().check(answer).unwrap_err();
            for want in wants {
                assert!(error.contains(want), "{answer}: {error}");
            }
        }
    }

    #[test]
    fn reasons_are_few_and_short() {
        let many = json!({ "name": "a", "tags": [1, 2, 3, 4, 5, 6, 7, 8] }).to_string();
        let error = person().check(&many).unwrap_err();
        assert_eq!(error.lines().count(), 1 + MAX_REASONS + 1, "{error}");
        assert!(error.ends_with("- and more"), "{error}");
        let long = json!({ "name": "b".repeat(500_000), "age": "c\n".repeat(1000) }).to_string();
        let error = person().check(&long).unwrap_err();
        assert!(error.len() < 1000 && error.contains('…'), "{error}");
    }

    #[test]
    fn schemas_that_cannot_be_used_are_refused() {
        let schemas = [
            json!({ "type": "nonsense" }),
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "$ref": "file:///etc/passwd" }),
            json!({ "$ref": "other.json" }),
            json!({ "pattern": "(?=ahead)" }),
            json!({ "pattern": "(x{1000}){1000}" }),
            json!({ "pattern": "(" }),
            json!(7),
        ];
        for schema in schemas {
            let error = OutputSchema::compile(&schema).err();
            let error = error.unwrap_or_else(|| panic!("{schema} is used"));
            assert!(error.starts_with("it is not a JSON Schema") && error.len() < 500, "{error}");
        }
        let inner = json!({ "$defs": { "a": { "type": "null" } }, "$ref": "#/$defs/a" });
        assert_eq!(OutputSchema::compile(&inner).unwrap().check("null"), Ok(Value::Null));
    }

    #[test]
    fn a_hostile_answer_does_not_take_long() {
        let size = MAX_ANSWER - 100;
        let list = |item: &str| format!("[{}]", vec![item; size / (item.len() + 1)].join(","));
        let answers = [
            format!(r#"{{"name": "{}b"}}"#, "a".repeat(size)),
            format!(r#"{{"name": "a", "tags": {}}}"#, list("1")),
            format!(r#"{{"name": "a", "tags": {}}}"#, list("[]")),
            format!(r#"{{"name": "a", "tags": {}}}"#, list("\"x\"")),
            {
                let keys = (0..size / 14).map(|n| format!("\"{n:08}\":0"));
                format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
            },
            "[".repeat(size),
            format!("{}{}", "[".repeat(100), "]".repeat(100)),
            "```\n".repeat(size / 4),
            "`".repeat(size),
            "x".repeat(MAX_ANSWER * 3),
        ];
        for answer in answers {
            let start = Instant::now();
            let error = person().check(&answer).unwrap_err();
            let shown: String = answer.chars().take(40).collect();
            assert!(error.len() < 3000, "{shown}: {}", error.len());
            assert!(start.elapsed() < Duration::from_secs(60), "{shown}: {:?}", start.elapsed());
        }
    }

    #[test]
    fn a_hostile_answer_does_not_take_long_when_a_schema_has_choices() {
        let node = json!({ "$ref": "#/$defs/node" });
        let choices = json!([
            { "type": "string" },
            { "type": "array", "items": node },
            { "type": "array", "prefixItems": [node] },
            { "type": "object", "additionalProperties": node },
        ]);
        for choose in ["anyOf", "oneOf"] {
            let node = json!({ choose: choices });
            let schema = json!({ "$defs": { "node": node }, "$ref": "#/$defs/node" });
            let schema = OutputSchema::compile(&schema).unwrap();
            let deep = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
            let wide = |size: usize| format!("[{}]", vec!["[1]"; size / 5].join(","));
            for answer in [deep(1), deep(10), deep(11), deep(120), wide(50_000), wide(MAX_ANSWER)] {
                let start = Instant::now();
                let error = schema.check(&answer).unwrap_err();
                assert!(error.len() < 3000 && error.contains("\n- (the whole): "), "{error}");
                assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
            }
        }
    }
}
