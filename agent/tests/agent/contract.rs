//! # The contract that the agent prints, and whether it keeps it

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::process::PROGRAM;

/// As `vtax-agent schema` prints it.
pub static CONTRACT: LazyLock<Value> = LazyLock::new(|| {
    let printed = Command::new(PROGRAM).arg("schema").output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    serde_json::from_slice(&printed.stdout).unwrap()
});

static ANSWERS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let answer = |method: &Value| validator(&method["answer"]);
    let methods = methods().iter();
    methods
        .map(|(name, method)| (name.clone(), answer(method)))
        .collect()
});

pub fn methods() -> &'static Map<String, Value> {
    CONTRACT["methods"].as_object().unwrap()
}

/// Checks an answer against the schema of its method.
pub fn check_answer(method: &str, answer: &Value) {
    if let Err(error) = ANSWERS[method].validate(answer) {
        let at = error.instance_path().to_string();
        panic!("the answer to {method} breaks the contract at {at}: {error}");
    }
}

fn validator(schema: &Value) -> Validator {
    let mut schema = schema.clone();
    schema["$defs"] = CONTRACT["$defs"].clone();
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn the_program_prints_the_contract_of_the_library() {
    assert_eq!(*CONTRACT, vtax_agent::contract());
}

#[test]
fn what_the_agent_reports_unasked_keeps_the_contract() {
    let agent = crate::process::Agent::start(&[]);
    let hello = validator(&CONTRACT["notifications"]["hello"]);
    hello.validate(&agent.hello["params"]).unwrap();
    assert_eq!(agent.hello["params"]["protocol"], CONTRACT["protocol"]);
}

#[test]
fn an_answer_that_breaks_the_contract_is_seen() {
    let answer = json!({"mechanisms": ["raw"], "refused": []});
    assert!(ANSWERS["source.open"].is_valid(&answer));
    let answer = json!({"mechanisms": ["smoke"], "refused": []});
    assert!(!ANSWERS["source.open"].is_valid(&answer));
    assert!(!ANSWERS["source.open"].is_valid(&json!({"mechanisms": []})));
}

#[test]
fn params_beyond_a_bound_are_refused_by_the_contract_and_by_the_agent() {
    let mut agent = crate::process::Agent::start(&[]);
    let params = validator(&methods()["relay.go"]["params"]);
    let most = CONTRACT["bounds"]["MOST_ITERATIONS"]["value"]
        .as_u64()
        .unwrap();
    let go = |iterations: u64| json!({"trial": 1, "iterations": iterations, "interval_ms": null});
    for (iterations, is_taken) in [(0, false), (1, true), (most, true), (most + 1, false)] {
        assert_eq!(params.is_valid(&go(iterations)), is_taken);
        let (code, message) = agent.refusal("relay.go", go(iterations));
        // Of what is taken none is carried out: there is no relay.
        let expected = if is_taken { -32_000 } else { -32_602 };
        assert_eq!(code, expected, "{message}");
    }
}

/// A call of any method, its params as its schema wants them; small numbers are likely.
pub fn call() -> BoxedStrategy<(&'static str, Value)> {
    let calls = methods().iter().map(|(name, method)| {
        let params = valid(&method["params"]);
        params.prop_map(|params| (name.as_str(), params)).boxed()
    });
    proptest::strategy::Union::new(calls.collect::<Vec<_>>()).boxed()
}

/// Values that a schema takes.
fn valid(schema: &'static Value) -> BoxedStrategy<Value> {
    if let Some(path) = schema["$ref"].as_str() {
        return valid(CONTRACT.pointer(path.trim_start_matches('#')).unwrap());
    }
    if let Some(value) = schema.get("const") {
        return Just(value.clone()).boxed();
    }
    if let Some(values) = schema["enum"].as_array() {
        return select(values.clone()).boxed();
    }
    if let Some(kinds) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return proptest::strategy::Union::new(kinds.iter().map(valid)).boxed();
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
        kind => vec![kind.as_str().unwrap()],
    };
    let kinds = kinds.into_iter().map(|kind| of_type(kind, schema));
    proptest::strategy::Union::new(kinds).boxed()
}

fn of_type(kind: &str, schema: &'static Value) -> BoxedStrategy<Value> {
    let least = schema["minimum"].as_i64().unwrap_or(0);
    let length = |least: &str| schema[least].as_u64().unwrap_or(0) as usize;
    match kind {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => (least..least + 20).prop_map(Value::from).boxed(),
        "number" => (0.0001..0.01).prop_map(Value::from).boxed(),
        "string" => select(vec![
            "src0",
            "snk0",
            "lo",
            "a",
            "/bin/true",
            "198.18.0.2",
            "198.18.0.3",
            "198.18.0.2/24",
            "02:76:74:00:00:01",
        ])
        .prop_map(Value::from)
        .boxed(),
        "array" => {
            let least = length("minItems");
            let entries = prop::collection::vec(valid(&schema["items"]), least..least + 3);
            entries.prop_map(Value::from).boxed()
        }
        "object" => {
            let additional = &schema["additionalProperties"];
            if additional.is_object() {
                let members = prop::collection::btree_map("[A-Z]{1,3}", valid(additional), 0..2);
                return members
                    .prop_map(|members| Value::Object(members.into_iter().collect()))
                    .boxed();
            }
            let no_members = Just(Map::new()).boxed();
            let members = schema["properties"].as_object().into_iter().flatten();
            members
                .fold(no_members, |members, (name, schema)| {
                    let with = |(mut members, value): (Map<_, _>, Value)| {
                        members.insert(name.clone(), value);
                        members
                    };
                    (members, valid(schema)).prop_map(with).boxed()
                })
                .prop_map(Value::Object)
                .boxed()
        }
        other => panic!("a schema of type {other}"),
    }
}
