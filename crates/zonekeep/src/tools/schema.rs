//! Building blocks for the argument schemas.

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
