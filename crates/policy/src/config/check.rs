//! Holds a tree against a shape and says everything that does not fit.

use super::problem::Problems;
use super::shape::{Key, Shape};
use super::suggest;
use super::yaml::{Kind, Node};

/// Adds a problem for every place where `node` does not have the `shape`.
///
/// `name` is the dotted key that leads here, empty for the whole file.
pub(crate) fn check(node: &Node, shape: &Shape, name: &str, problems: &mut Problems) {
    check_value(node, shape, name, None, problems);
}

fn check_value(
    node: &Node,
    shape: &Shape,
    name: &str,
    hint: Option<&str>,
    problems: &mut Problems,
) {
    match (shape, &node.kind) {
        (Shape::Any, _) => {}
        (Shape::Either(shapes), _) => match shapes.iter().find(|shape| same_kind(node, shape)) {
            Some(shape) if fits_scalar(node, shape) => {
                check_value(node, shape, name, hint, problems)
            }
            _ => wrong_type(node, shape, name, hint, problems),
        },
        (Shape::List(item), Kind::List(items)) => {
            for (i, node) in items.iter().enumerate() {
                check_value(node, item, &format!("{name}[{i}]"), hint, problems);
            }
        }
        (Shape::MapOf(value), Kind::Map(entries)) => {
            for (key, node) in entries {
                check_value(node, value, &join(name, &key.text), None, problems);
            }
        }
        (Shape::Map(keys), Kind::Map(_)) => check_map(node, keys, name, problems),
        (Shape::Map(keys), _) if node.is_null() => check_map(node, keys, name, problems),
        (Shape::OneOf(words), Kind::Scalar { text, .. }) if !node.is_null() => {
            if !words.iter().any(|(word, _)| word == text) {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let message = format!("{} cannot be '{text}'", subject(name));
                let hint = suggest::hint(text, "it can be", &known);
                problems.error("bad_value", &node.mark, message).hint(hint);
            }
        }
        (Shape::Int { min, max }, Kind::Scalar { .. }) if fits_scalar(node, shape) => {
            if !node.int().is_some_and(|int| (*min..=*max).contains(&int)) {
                let text = node.plain().unwrap_or_default();
                let message = format!("{} cannot be {text}", subject(name));
                let hint = format!("it can be {}", shape.describe());
                problems.error("bad_value", &node.mark, message).hint(hint);
            }
        }
        (Shape::Decimal { min, max, digits }, Kind::Scalar { .. }) if fits_scalar(node, shape) => {
            let unit = 10_u64.pow(*digits);
            let bounds = u64::from(*min) * unit..=u64::from(*max) * unit;
            if !node.decimal(*digits).is_some_and(|value| bounds.contains(&value)) {
                let text = node.plain().unwrap_or_default();
                let message = format!("{} cannot be {text}", subject(name));
                let hint = format!(
                    "it can be {}, with at most {digits} digits after the point",
                    shape.describe()
                );
                problems.error("bad_value", &node.mark, message).hint(hint);
            }
        }
        _ if fits_scalar(node, shape) && same_kind(node, shape) => {}
        _ => wrong_type(node, shape, name, hint, problems),
    }
}

fn check_map(node: &Node, keys: &[Key], name: &str, problems: &mut Problems) {
    for (key, value) in node.entries() {
        match keys.iter().find(|known| known.name == key.text) {
            Some(Key { refused: Some(instead), .. }) => {
                let message = format!("'{}' is no key", join(name, &key.text));
                problems.error("unknown_key", &key.mark, message).hint(*instead);
            }
            Some(known) => {
                if !(value.is_null() && known.shape.takes_map()) {
                    check_value(value, &known.shape, &join(name, known.name), known.hint, problems);
                }
            }
            None => {
                let known: Vec<&str> =
                    keys.iter().filter(|key| key.is_current()).map(|key| key.name).collect();
                let place = if name.is_empty() { String::new() } else { format!(" in '{name}'") };
                let message = format!("unknown key '{}'{place}", key.text);
                let hint = suggest::hint(&key.text, "known keys", &known);
                problems.error("unknown_key", &key.mark, message).hint(hint);
            }
        }
    }
    for key in keys.iter().filter(|key| key.required) {
        if !node.entries().any(|(written, _)| written.text == key.name) {
            let message = format!("{} has no '{}'", subject(name), key.name);
            let hint = format!("write {}: with {}", key.name, key.shape.describe());
            problems.error("missing_key", &node.mark, message).hint(hint);
        }
    }
}

/// Returns whether the value and the shape are both scalars, lists or maps.
fn same_kind(node: &Node, shape: &Shape) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Bool
        | Shape::Int { .. }
        | Shape::Decimal { .. }
        | Shape::Text
        | Shape::Scalar
        | Shape::OneOf(_) => matches!(node.kind, Kind::Scalar { .. }) && !node.is_null(),
        Shape::List(_) => matches!(node.kind, Kind::List(_)),
        Shape::MapOf(_) | Shape::Map(_) => matches!(node.kind, Kind::Map(_)),
        Shape::Either(shapes) => shapes.iter().any(|shape| same_kind(node, shape)),
    }
}

/// Returns whether a scalar has the right type; the value is for others to check.
fn fits_scalar(node: &Node, shape: &Shape) -> bool {
    match shape {
        Shape::Bool => node.bool().is_some(),
        // A minus sign makes a number, one out of range.
        Shape::Int { .. } => {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            node.plain().is_some_and(|text| digits(text.strip_prefix('-').unwrap_or(text)))
        }
        Shape::Decimal { .. } => {
            let text = node.plain().unwrap_or_default();
            let text = text.strip_prefix('-').unwrap_or(text);
            let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits(whole) && digits(part)
        }
        _ => true,
    }
}

fn wrong_type(node: &Node, shape: &Shape, name: &str, hint: Option<&str>, problems: &mut Problems) {
    let found = match &node.kind {
        _ if node.is_null() => "nothing".to_owned(),
        Kind::Scalar { text, plain: true } => format!("'{text}'"),
        Kind::Scalar { text, .. } => format!("the text \"{text}\""),
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(_) => "a map".to_owned(),
    };
    let message = format!("{} must be {}, not {found}", subject(name), shape.describe());
    let problem = problems.error("wrong_type", &node.mark, message);
    match (shape, &node.kind) {
        (Shape::Bool | Shape::Either([Shape::Bool, ..]), Kind::Scalar { .. }) => {
            problem.hint("write true or false");
        }
        (Shape::Int { .. } | Shape::Decimal { .. }, Kind::Scalar { .. }) => {
            problem.hint("write the digits alone, without quotes, underscores or units");
        }
        _ => problem.hint(match (hint, shape) {
            (Some(hint), _) => hint,
            (None, Shape::List(_)) => "write each item after a '-', or [] for an empty list",
            (None, Shape::Map(_) | Shape::MapOf(_)) => {
                "write keys with their values, one to a line"
            }
            (None, _) => "give it one value, or remove the key",
        }),
    }
}

/// Returns the dotted name of a key.
pub(crate) fn join(name: &str, key: &str) -> String {
    if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") }
}

fn subject(name: &str) -> String {
    if name.is_empty() { "the file".to_owned() } else { format!("'{name}'") }
}
