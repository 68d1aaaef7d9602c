//! Results held against the schemas of their tools.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use jsonschema::Validator;
use serde_json::Value;
use zonekeep::{Sandbox, tools};

/// A tool whose results must be as its schema says, and whose schema must not let
/// anything else through.
pub struct Checked {
    sandbox: Sandbox,
    tool: &'static tools::Tool,
    validator: Validator,
}

impl Checked {
    pub fn new(sandbox: Sandbox, name: &str) -> Self {
        let tool = tools::all().iter().find(|tool| tool.name == name).unwrap();
        let schema = tool.output_schema();
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}: {schema}");
        // What clients of the Model Context Protocol ask for.
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(tool.describe()["outputSchema"], schema, "{name}");
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        Checked { sandbox, tool, validator }
    }

    /// Calls the tool, and checks the result and all that is a little less than it.
    #[track_caller]
    pub fn call(&mut self, arguments: Value) -> Value {
        let name = self.tool.name;
        let value = tools::call(&self.sandbox, name, arguments).unwrap().value;
        if let Err(error) = self.validator.validate(&value) {
            panic!("{name}: {error} at {}: {value}", error.instance_path());
        }
        let known = self.tool.output_schema();
        for (property, content) in value.as_object().unwrap() {
            assert!(!known["properties"][property].is_null(), "{name}.{property} is not known");
            let mut less = value.clone();
            less.as_object_mut().unwrap().remove(property);
            assert!(!self.validator.is_valid(&less), "{name} without {property}: {less}");
            let mut wrong = value.clone();
            wrong[property] = match content {
                Value::Array(_) => Value::Bool(true),
                _ => Value::Array(Vec::new()),
            };
            assert!(!self.validator.is_valid(&wrong), "{name}, wrong {property}: {wrong}");
        }
        let mut more = value.clone();
        more["from_a_later_version"] = Value::Bool(true);
        assert!(self.validator.is_valid(&more), "{name}: {more}");
        value
    }
}
