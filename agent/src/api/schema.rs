//! # The contract as one JSON document

use serde_json::{Map, Value, json};

use super::bounds;
use super::notifications::{Died, Hello, PROTOCOL, Read};
use super::registry;
use super::schemas::Schemas;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The contract: methods with the schemas of their params and answers, notifications, and bounds.
pub fn document() -> Value {
    let mut schemas = Schemas::new();
    let methods: Map<_, _> = registry::all()
        .iter()
        .map(|method| (method.name.to_owned(), method.contract(&mut schemas)))
        .collect();
    let notifications = json!({
        "died": schemas.of_answer::<Died>(),
        "hello": schemas.of_answer::<Hello>(),
        "read": schemas.of_answer::<Read>(),
    });
    let bounds: Map<_, _> = bounds::ALL
        .iter()
        .map(|bound| {
            let contract = json!({"description": bound.doc.trim(), "value": bound.value});
            (bound.name.to_owned(), contract)
        })
        .collect();
    json!({
        "$schema": DIALECT,
        "title": "The contract between vtax's agent and its controller",
        "protocol": PROTOCOL,
        "bounds": bounds,
        "methods": methods,
        "notifications": notifications,
        "$defs": schemas.definitions(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_committed_contract_is_that_of_the_registry() {
        let committed = include_str!("../../schema.json");
        let current = format!("{:#}\n", document());
        assert!(
            committed == current,
            "agent/schema.json is not what the registry gives; run `make generate`"
        );
    }

    #[test]
    fn every_method_is_in_the_contract_and_described() {
        let document = document();
        let methods = document["methods"].as_object().unwrap();
        let names: BTreeSet<_> = registry::all().iter().map(|method| method.name).collect();
        assert_eq!(
            names.len(),
            registry::all().len(),
            "a method is there twice"
        );
        assert_eq!(names, methods.keys().map(String::as_str).collect());
        for (name, method) in methods {
            let described = method["description"].as_str().unwrap();
            assert!(described.ends_with('.'), "{name}: {described}");
            assert!(method["params"]["$ref"].is_string(), "{name}");
            assert!(method["answer"]["$ref"].is_string(), "{name}");
        }
    }

    #[test]
    fn every_type_and_every_field_is_described() {
        let document = document();
        let definitions = document["$defs"].as_object().unwrap();
        for (name, definition) in definitions {
            assert!(definition["description"].is_string(), "{name}");
            assert!(
                !name.ends_with(char::is_numeric),
                "two types are named {name}"
            );
            check_fields(name, definition);
        }
    }

    fn check_fields(at: &str, schema: &Value) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let described = field["description"].is_string() || field.get("const").is_some();
            assert!(described || field["$ref"].is_string(), "{at}.{name}");
            check_fields(&format!("{at}.{name}"), field);
        }
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            check_fields(at, variant);
        }
    }

    #[test]
    fn a_series_is_read_from_its_first_entry_on() {
        let document = document();
        let definition = |reference: &Value| {
            let path = reference["$ref"].as_str().unwrap().trim_start_matches('#');
            document.pointer(path).unwrap().clone()
        };
        for (name, method) in document["methods"].as_object().unwrap() {
            let params = definition(&method["params"]);
            let first = &params["properties"]["first"];
            // A piece of a file has a field of this name too, which is no number.
            assert_eq!(
                first["type"] == "integer",
                method["answers"] == "series",
                "{name}"
            );
            if let Some(list) = method["list"].as_str() {
                let answer = definition(&method["answer"]);
                assert_eq!(answer["properties"][list]["type"], "array", "{name}");
            }
        }
    }

    #[test]
    fn bounds_are_in_the_order_of_their_names_and_described() {
        let names: Vec<_> = bounds::ALL.iter().map(|bound| bound.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(bounds::ALL.iter().all(|bound| bound.doc.ends_with('.')));
    }
}
