//! # Senders and receivers on a veth pair

mod counts;
mod ends;
pub mod lines;
mod loss;
mod params;
mod refused;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ends::{Ends, FAR, NEAR};

pub const PORT: u16 = 5000;
pub const AT: (&str, u16) = (FAR, PORT);

/// Valid params with some changed.
pub fn changed(mut params: Value, changes: Value) -> Value {
    let changes = changes.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(changes);
    params
}

pub fn receiver(protocol: &str, flows: usize, changes: Value) -> Value {
    let params = json!({
        "cpu": 0, "protocol": protocol, "interface": "snk0", "address": FAR, "port": PORT, "flows": flows,
        "trial": 7, "duration_s": 0.4,
    });
    changed(params, changes)
}

pub fn sender(protocol: &str, flows: usize, message_bytes: usize, changes: Value) -> Value {
    let params = json!({
        "cpu": 0, "protocol": protocol, "interface": "src0", "local_address": NEAR, "remote_address": FAR,
        "port": PORT, "flows": flows, "message_bytes": message_bytes, "intended_goodput_mbps": null,
        "timeout_ms": 5000,
    });
    changed(params, changes)
}

pub fn go(warmup_s: Option<f64>, duration_s: f64) -> Value {
    json!({"trial": 7, "warmup_s": warmup_s, "duration_s": duration_s})
}

pub fn drain(expected_messages: Option<Vec<u64>>) -> Value {
    json!({"expected_messages": expected_messages, "quiet_ms": 3000, "limit_ms": 20_000})
}

/// One member of each flow of a reply.
pub fn each(reply: &Value, member: &str) -> Vec<u64> {
    let flows = reply["flows"].as_array().unwrap().iter();
    flows.map(|flow| flow[member].as_u64().unwrap()).collect()
}

/// What a whole run sent and what of it came.
pub struct Found {
    pub run: Value,
    pub sent: Value,
    pub came: Value,
}

/// Of open ends.
pub fn run(ends: &mut Ends, is_datagram: bool, params: Value) -> Found {
    let run = ends.requester.call("sender.go", params);
    let sent = ends.requester.call("sender.collect", json!({}));
    let expected = is_datagram.then(|| each(&sent, "messages"));
    let came = ends.responder.call("receiver.collect", drain(expected));
    Found { run, sent, came }
}

/// The bytes of a flow's series.
pub fn series(ends: &mut Ends, flow: usize) -> Vec<u64> {
    let params = json!({"flow": flow, "first": 0});
    let reply = ends.responder.call("receiver.series", params);
    assert_eq!(reply["step_ms"], 100);
    let steps = reply["bytes"].as_array().unwrap().iter();
    let steps: Vec<_> = steps.map(|bytes| bytes.as_u64().unwrap()).collect();
    assert_eq!(reply["steps"], steps.len());
    steps
}

/// A record as the agent sends it.
pub fn record(trial: u32, length: u32, phase: u8, flow: u8, sequence: u64) -> Vec<u8> {
    let mut bytes = b"vtxB".to_vec();
    bytes.extend(trial.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend([phase, flow, 0, 0]);
    bytes.extend(sequence.to_le_bytes());
    bytes.resize(length as usize, 0);
    bytes
}

/// Collects what is there already.
pub fn now() -> Value {
    json!({"quiet_ms": 0, "limit_ms": 0})
}

/// Returns once measured bytes of every flow have come.
pub fn await_arrivals(ends: &mut Ends) {
    await_counts(ends, |came| {
        let mut flows = came["flows"].as_array().unwrap().iter();
        flows.all(|flow| !flow["first_ns"].is_null())
    });
}

/// Returns once what the receiver tells is as it should be.
pub fn await_counts(ends: &mut Ends, suffice: impl Fn(&Value) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !suffice(&ends.responder.call("receiver.collect", now())) {
        assert!(Instant::now() < deadline, "they do not come");
    }
}
