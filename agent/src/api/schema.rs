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
