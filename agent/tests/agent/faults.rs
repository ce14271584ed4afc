//! # Faults: what can be wrong with a request

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// One thing wrong with a request, somewhere in it.
#[derive(Clone, Debug)]
pub struct Fault {
    place: Index,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Replace(Value),
    Remove(Index),
    Add(String, Value),
    Repeat(usize),
}

pub fn fault() -> impl Strategy<Value = Fault> {
    let change = prop_oneof![
        4 => json().prop_map(Change::Replace),
        2 => any::<Index>().prop_map(Change::Remove),
        1 => ("[a-z_]{0,9}", json()).prop_map(|(name, value)| Change::Add(name, value)),
        1 => (2_usize..20).prop_map(Change::Repeat),
    ];
    (any::<Index>(), change).prop_map(|(place, change)| Fault { place, change })
}

impl Fault {
    pub fn commit(self, request: &mut Value) {
        let mut nodes = Vec::new();
        list_nodes(request, String::new(), &mut nodes);
        let node = request
            .pointer_mut(&nodes[self.place.index(nodes.len())])
            .unwrap();
        match (self.change, node) {
            (Change::Remove(at), Value::Object(members)) if !members.is_empty() => {
                let name = members.keys().nth(at.index(members.len())).unwrap().clone();
                members.remove(&name);
            }
            (Change::Remove(at), Value::Array(items)) if !items.is_empty() => {
                items.remove(at.index(items.len()));
            }
            (Change::Add(name, value), Value::Object(members)) => {
                members.insert(name, value);
            }
            (Change::Add(_, value), Value::Array(items)) => items.push(value),
            (Change::Repeat(times), Value::Array(items)) => {
                *items = vec![items.clone(); times].concat()
            }
            (Change::Repeat(times), Value::String(text)) => *text = text.repeat(times),
            (Change::Replace(value), node) => *node = value,
            (_, node) => *node = Value::Null,
        }
    }
}

/// The JSON pointers of everything in `value`, itself included.
fn list_nodes(value: &Value, at: String, nodes: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                list_nodes(member, format!("{at}/{name}"), nodes);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                list_nodes(item, format!("{at}/{position}"), nodes);
            }
        }
        _ => {}
    }
    nodes.push(at);
}

/// Any JSON; numbers at the edges of their types are likely.
pub fn json() -> BoxedStrategy<Value> {
    let edges = vec![
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-0.0),
        json!(5e-324),
    ];
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => any::<i64>().prop_map(Value::from),
        2 => any::<f64>().prop_map(Value::from),
        3 => select(edges),
        3 => ".{0,20}".prop_map(Value::from),
    ]
    .prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{0,9}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}
