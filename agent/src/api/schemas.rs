//! # Schemas and their common definitions

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

/// Makes the schemas of what the agent reads and of what it writes, and collects their common definitions.
pub(super) struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12;
        Self {
            read: settings().for_deserialize().into_generator(),
            written: settings().for_serialize().into_generator(),
        }
    }

    pub(super) fn of_params<P: JsonSchema>(&mut self) -> Value {
        self.read.subschema_for::<P>().to_value()
    }

    pub(super) fn of_answer<A: JsonSchema>(&mut self) -> Value {
        self.written.subschema_for::<A>().to_value()
    }

    pub(super) fn definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.read.take_definitions(true);
        for (name, written) in self.written.take_definitions(true) {
            let read = definitions.insert(name.clone(), written.clone());
            assert!(
                read.is_none_or(|read| read == written),
                "{name} is written as it is not read"
            );
        }
        definitions.values_mut().for_each(reflow);
        definitions
    }
}

/// Has each paragraph of a description on one line, however the source breaks it.
fn reflow(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "description" => {
                        let paragraphs = text.split("\n\n").map(|text| text.replace('\n', " "));
                        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
                    }
                    member => reflow(member),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(reflow),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_description_has_a_line_for_each_paragraph() {
        let mut schema =
            json!({"oneOf": [{"description": "One\nline.\n\nAnother\none.", "const": "a\nb"}]});
        reflow(&mut schema);
        let expected =
            json!({"oneOf": [{"description": "One line.\n\nAnother one.", "const": "a\nb"}]});
        assert_eq!(schema, expected);
    }
}
