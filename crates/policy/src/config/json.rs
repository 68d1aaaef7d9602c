//! YAML as JSON: for what others understand, such as a JSON Schema or a script.

use serde_json::{Map, Number, Value};

use super::problem::{Problem, Problems, Source};
use super::yaml::{self, Kind, Node, Origin};

/// Reads one YAML document as JSON; `file` is the name to show.
///
/// Scalars without quotes mean what the core schema of YAML 1.2 says: null,
/// booleans, whole numbers and fractions. Everything else is text. A text without
/// anything in it is null. Bounds are those of every file: 1 MiB, and so many
/// values and levels; aliases are written out.
pub fn yaml_value(text: &str, file: &str) -> Result<Value, Vec<Problem>> {
    let mut problems = Problems::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let origin = Origin::whole(Source::File(file.into()));
    let value = yaml::parse(text, &origin, &mut problems).map(|node| value(&node, &mut problems));
    match value {
        Some(value) if !problems.any_error() => Ok(value),
        _ => Err(problems.sorted(file)),
    }
}

/// Returns the value of a tree, with a problem for each number JSON cannot have.
pub(crate) fn value(node: &Node, problems: &mut Problems) -> Value {
    match &node.kind {
        Kind::List(items) => items.iter().map(|item| value(item, problems)).collect(),
        Kind::Map(entries) => {
            let entry = |(key, node): &(yaml::Key, Node)| (key.text.clone(), value(node, problems));
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        Kind::Scalar { text, plain: false } => Value::String(text.clone()),
        Kind::Scalar { text, plain: true } => scalar(text).unwrap_or_else(|NotJson| {
            let message = format!("the number '{text}' cannot be written in JSON");
            let problem = problems.error("bad_value", &node.mark, message);
            problem.hint("put it in quotes to have it as text");
            Value::Null
        }),
    }
}

/// The number has no form in JSON.
struct NotJson;

/// Returns what text without quotes means.
fn scalar(text: &str) -> Result<Value, NotJson> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text)? {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

fn number(text: &str) -> Result<Option<Number>, NotJson> {
    if let Some((radix, digits)) = based(text) {
        return u64::from_str_radix(digits, radix).map(|n| Some(n.into())).map_err(|_| NotJson);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(NotJson);
    }
    if !is_decimal(unsigned) {
        return Ok(None);
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = text.parse::<u64>() {
        return Ok(Some(whole.into()));
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(Some(whole.into()));
    }
    let fraction = text.parse::<f64>().map_err(|_| NotJson)?;
    Number::from_f64(fraction).map(Some).ok_or(NotJson)
}

/// Returns the digits of a number such as `0o17` or `0xff`.
fn based(text: &str) -> Option<(u32, &str)> {
    let (radix, digits) = match text.strip_prefix("0o") {
        Some(digits) => (8, digits),
        None => (16, text.strip_prefix("0x")?),
    };
    let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    all.then_some((radix, digits))
}

/// Returns whether the text is digits, with a point and an exponent or without.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()) && exponent
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_mean_what_yaml_says_and_quoted_ones_are_text() {
        let cases = [
            ("", json!(null)),
            ("~", json!(null)),
            ("null", json!(null)),
            ("nULL", json!("nULL")),
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("yes", json!("yes")),
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("007", json!(7)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!(18446744073709551616.0)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("0o18", json!("0o18")),
            ("0x", json!("0x")),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("5.", json!(5.0)),
            ("1e3", json!(1000.0)),
            ("-1.5E-2", json!(-0.015)),
            (".", json!(".")),
            ("-", json!([null])),
            ("1e", json!("1e")),
            ("1_000", json!("1_000")),
            ("12:30", json!("12:30")),
            ("1.2.3", json!("1.2.3")),
            ("2024-01-01", json!("2024-01-01")),
            ("inf", json!("inf")),
            ("'1'", json!("1")),
            ("\"true\"", json!("true")),
            ("!!str 1", json!("1")),
            ("|\n  1\n", json!("1\n")),
            ("[1, 'a', {b: null}]", json!([1, "a", { "b": null }])),
            ("a: &x {n: 1}\nb: *x\n1: c", json!({ "a": { "n": 1 }, "b": { "n": 1 }, "1": "c" })),
        ];
        for (text, want) in cases {
            assert_eq!(yaml_value(text, "f"), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn problems_have_their_line() {
        let cases = [
            ("a: 1\nb: .inf", "f:2:4: error: the number '.inf' cannot be written in JSON"),
            ("a: 0xfffffffffffffffff", "f:1:4: error: the number '0xfffffffffffffffff' cannot"),
            ("a: 1\na: 2", "f:2:1: error: the key 'a' is on line 1 and again on line 2"),
            ("a:\n  - [1", "f:2:5: error: this is not valid YAML"),
        ];
        for (text, want) in cases {
            let problems = yaml_value(text, "f").unwrap_err();
            assert!(problems[0].to_string().starts_with(want), "{}", problems[0]);
            assert!(problems.iter().all(|problem| problem.hint.is_some()));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_json_is_read_back(
            text in "\\PC{0,40}",
            number in prop::num::f64::NORMAL,
            whole in any::<i64>(),
        ) {
            let _ = yaml_value(&text, "f");
            let value = json!({ "number": number, "whole": whole, "text": text, "list": [[], {}] });
            prop_assert_eq!(yaml_value(&value.to_string(), "f"), Ok(value));
        }
    }
}
