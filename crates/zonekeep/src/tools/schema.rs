//! Building blocks for the schemas of arguments and results.

use serde_json::{Map, Value, json};

/// Returns an object schema; `required` names must be properties.
pub(super) fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub(super) fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "default": false, "description": description })
}

pub(super) fn number(minimum: u64, description: &str) -> Value {
    json!({ "type": "integer", "minimum": minimum, "description": description })
}

/// The path of a file that is read or changed.
pub(super) fn path() -> Value {
    text("Path of the file: absolute, or relative to the working directory")
}

// ---- results

/// Returns the schema of a result that has all of these properties. More may come:
/// a client that knows an older schema goes on working.
pub(super) fn result(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    some_of(properties, &names)
}

/// One shape of a result: what it has beyond what all have, and the property with
/// the value that tells it from the others, where there is one.
pub(super) struct Shape<'a> {
    pub(super) told_by: Option<(&'a str, &'a str)>,
    pub(super) has: &'a [&'a str],
}

/// Returns the schema of a result that comes in several shapes; `common` names what
/// all of them have.
pub(super) fn shapes(properties: &[(&str, Value)], common: &[&str], shapes: &[Shape<'_>]) -> Value {
    let one = |shape: &Shape<'_>| match shape.told_by {
        Some((name, value)) => {
            json!({ "properties": { name: { "const": value } }, "required": shape.has })
        }
        None => json!({ "required": shape.has }),
    };
    let mut schema = some_of(properties, common);
    schema["anyOf"] = shapes.iter().map(one).collect();
    schema
}

fn some_of(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let mut schema = object(properties, required);
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("additionalProperties");
    }
    schema
}

/// Returns a schema that allows null, too.
pub(super) fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}

pub(super) fn truth(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

pub(super) fn choice(values: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": values, "description": description })
}

pub(super) fn list(items: Value, description: &str) -> Value {
    json!({ "type": "array", "items": items, "description": description })
}

/// A path as it was understood.
pub(super) fn real_path() -> Value {
    text("The absolute path")
}

/// The name of a content, to be given back as `expected_hash`.
pub(super) fn hash() -> Value {
    text("Tells this content of the file from any other")
}
