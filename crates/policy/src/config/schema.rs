//! The JSON Schema of both files, from the same tables that validate them.

use serde_json::{Map, Value, json};

use super::keys::{PROJECT, WORKER};
use super::shape::{Key, Shape};

/// Returns the JSON Schema of the project file.
pub fn project_schema() -> Value {
    document(&PROJECT, "Zonekeep project file")
}

/// Returns the JSON Schema of the front matter of a worker file.
pub fn worker_schema() -> Value {
    document(&WORKER, "Zonekeep worker file")
}

fn document(shape: &Shape, title: &str) -> Value {
    let mut schema = of(shape);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    schema
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Int { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Decimal { min, max, .. } => {
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
        Shape::Text => json!({ "type": "string" }),
        Shape::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Shape::OneOf(words) => {
            let values: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            json!({ "enum": values })
        }
        Shape::List(item) => json!({ "type": "array", "items": of(item) }),
        Shape::MapOf(value) => json!({ "type": "object", "additionalProperties": of(value) }),
        Shape::Map(keys) => {
            let known = keys.iter().filter(|key| key.refused.is_none());
            let properties: Map<String, Value> =
                known.map(|key| (key.name.to_owned(), property(key))).collect();
            let required: Vec<&str> =
                keys.iter().filter(|key| key.required).map(|key| key.name).collect();
            let mut schema = json!({ "type": "object", "properties": properties });
            schema["additionalProperties"] = json!(false);
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            schema
        }
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(of).collect::<Vec<_>>() })
        }
    }
}

fn property(key: &Key) -> Value {
    let mut schema = of(&key.shape);
    let mut doc = key.doc.to_owned();
    if let Shape::OneOf(words) = key.shape {
        for (word, meaning) in words {
            doc.push_str(&format!("\n- {word}: {meaning}"));
        }
    }
    schema["description"] = json!(doc);
    if let Some(default) = key.default {
        schema["default"] =
            serde_json::from_str(default).expect("the defaults in the tables are JSON");
    }
    if key.deprecated {
        schema["deprecated"] = json!(true);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks table and schema side by side and returns how many keys they have.
    fn same(shape: &Shape, schema: &Value, name: &str) -> usize {
        match shape {
            Shape::Map(keys) => {
                let properties = schema["properties"].as_object().expect(name);
                let keys: Vec<&Key> = keys.iter().filter(|key| key.refused.is_none()).collect();
                let mut names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let mut written: Vec<&str> = properties.keys().map(String::as_str).collect();
                names.sort_unstable();
                written.sort_unstable();
                assert_eq!(names, written, "{name}");
                names.dedup();
                assert_eq!(names.len(), keys.len(), "a key twice in {name}");
                assert_eq!(schema["additionalProperties"], false, "{name}");
                keys.iter()
                    .map(|key| {
                        let property = &properties[key.name];
                        assert!(property["description"].is_string(), "{name}.{}", key.name);
                        1 + same(&key.shape, property, &format!("{name}.{}", key.name))
                    })
                    .sum()
            }
            Shape::MapOf(value) => same(value, &schema["additionalProperties"], name),
            Shape::List(item) => same(item, &schema["items"], name),
            Shape::Either(shapes) => shapes
                .iter()
                .enumerate()
                .map(|(i, shape)| same(shape, &schema["anyOf"][i], name))
                .sum(),
            _ => 0,
        }
    }

    #[test]
    fn schema_and_tables_have_the_same_keys() {
        assert!(same(&PROJECT, &project_schema(), "project") > 50);
        assert!(same(&WORKER, &worker_schema(), "worker") > 50);
    }

    #[test]
    fn the_schema_carries_enums_defaults_and_required_keys() {
        let schema = project_schema();
        let sandbox = &schema["properties"]["sandbox"]["properties"];
        assert_eq!(sandbox["mode"]["enum"], json!(["sandboxed", "direct"]));
        assert_eq!(sandbox["mode"]["default"], "sandboxed");
        let zone = &sandbox["zones"]["additionalProperties"]["anyOf"][1];
        assert_eq!(zone["required"], json!(["path"]));
        assert_eq!(schema["properties"]["sandboxes"]["deprecated"], true);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(worker_schema()["required"], json!(["name"]));
    }
}
