//! # Valid calls of streams and echoes, for the fuzz test
//!
//! Their runs last some milliseconds.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{receiver, sender};
use crate::echo::echo;

/// Opens and closes are rare, as those of others.
pub fn call() -> BoxedStrategy<(&'static str, Value)> {
    let bare = |method| Just((method, json!({})));
    let with = |method: &'static str, params: BoxedStrategy<Value>| {
        params.prop_map(move |params| (method, params))
    };
    prop_oneof![
        20 => with("sender.go", go()),
        5 => bare("sender.collect"),
        10 => with("receiver.collect", collect()),
        5 => with("receiver.series", series()),
        20 => with("echo.go", go()),
        5 => bare("echo.collect"),
        3 => with("sender.open", sender_open()),
        3 => with("receiver.open", receiver_open()),
        3 => with("echo.open", echo_open()),
        1 => bare("sender.close"),
        1 => bare("receiver.close"),
        1 => bare("echo.close"),
    ]
    .boxed()
}

fn receiver_open() -> BoxedStrategy<Value> {
    (
        protocol(),
        select(vec!["src0", "snk0", "lo", "absent0"]),
        1_usize..5,
        0..3,
    )
        .prop_map(|(protocol, interface, flows, trial)| {
            receiver(
                protocol,
                flows,
                json!({"interface": interface, "trial": trial}),
            )
        })
        .boxed()
}

fn collect() -> BoxedStrategy<Value> {
    (option::of(vec(0..100, 1..5)), 1..5, 1..10)
        .prop_map(|(expected_messages, quiet_ms, limit_ms)| {
            json!({"expected_messages": expected_messages, "quiet_ms": quiet_ms, "limit_ms": limit_ms})
        })
        .boxed()
}

fn series() -> BoxedStrategy<Value> {
    (0..5, 0..10)
        .prop_map(|(flow, first)| json!({"flow": flow, "first": first}))
        .boxed()
}

fn sender_open() -> BoxedStrategy<Value> {
    (
        protocol(),
        1_usize..5,
        24_usize..3000,
        option::of(0.1..1000.0),
        1..10,
    )
        .prop_map(|(protocol, flows, message_bytes, mbps, timeout_ms)| {
            let changes = json!({"intended_goodput_mbps": mbps, "timeout_ms": timeout_ms});
            sender(protocol, flows, message_bytes, changes)
        })
        .boxed()
}

fn echo_open() -> BoxedStrategy<Value> {
    (16..3000, option::of(0.1..10.0), 1..10)
        .prop_map(|(payload_bytes, interval_ms, timeout_ms)| {
            echo(json!({
                "payload_bytes": payload_bytes, "interval_ms": interval_ms, "timeout_ms": timeout_ms,
            }))
        })
        .boxed()
}

fn go() -> BoxedStrategy<Value> {
    (0..3, option::of(0.0001..0.003), 0.0001..0.003)
        .prop_map(|(trial, warmup_s, duration_s)| {
            json!({"trial": trial, "warmup_s": warmup_s, "duration_s": duration_s})
        })
        .boxed()
}

fn protocol() -> BoxedStrategy<&'static str> {
    select(vec!["tcp", "udp", "sctp"]).boxed()
}
