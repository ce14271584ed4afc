//! # Requests and their answers between two ends

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::ends::{AT, Ends, FAR, NEAR, PORT, has_sctp, listening};

pub fn responder(protocol: &str, response_bytes: &Value) -> Value {
    json!({
        "cpu": 0, "protocol": protocol, "interface": "snk0", "address": FAR, "port": PORT,
        "response_bytes": response_bytes,
    })
}

fn requester(protocol: &str, message_bytes: usize, response_bytes: &Value) -> Value {
    json!({
        "cpu": 0, "protocol": protocol, "interface": "src0", "local_address": NEAR, "remote_address": FAR,
        "port": PORT, "message_bytes": message_bytes, "response_bytes": response_bytes, "rps": null,
        "timeout_ms": 20_000,
    })
}

fn go(duration_s: f64, transactions: Option<u64>) -> Value {
    json!({"trial": 7, "warmup_s": 0.02, "duration_s": duration_s, "transactions": transactions})
}

impl Ends {
    fn open(
        &mut self,
        protocol: &str,
        message_bytes: usize,
        response_bytes: &Value,
        changes: Value,
    ) {
        let mut answering = responder(protocol, response_bytes);
        answering["short_message_bytes"] = json!(Some(message_bytes).filter(|&bytes| bytes < 20));
        self.responder.call("responder.open", answering);
        let mut way = requester(protocol, message_bytes, response_bytes);
        way.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        self.requester.call("requester.open", way);
    }

    fn go(&mut self, duration_s: f64, transactions: Option<u64>) -> Value {
        self.requester
            .call("requester.go", go(duration_s, transactions));
        self.requester.call("requester.collect", json!({}))
    }
}

/// A request as the agent sends it.
fn request(sequence: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    bytes[..8].copy_from_slice(&sequence.to_le_bytes());
    bytes[8..12].copy_from_slice(&7_u32.to_le_bytes());
    bytes[12..16].copy_from_slice(b"vtxQ");
    bytes[16..20].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Its answer of `response_bytes`.
fn response(mut request: Vec<u8>, response_bytes: usize) -> Vec<u8> {
    request[12..16].copy_from_slice(b"vtxR");
    request.resize(response_bytes, 0);
    request
}

#[test]
#[ignore = "needs root"]
fn every_request_gets_its_answer_whatever_their_lengths() {
    let mut ends = Ends::make();
    let with_sctp = has_sctp().then_some("sctp");
    for protocol in ["tcp", "udp"].into_iter().chain(with_sctp) {
        let greatest = if protocol == "udp" { 65_507 } else { 65_536 };
        for (message_bytes, response_bytes) in [
            (1, json!(1)),
            (19, json!(300)),
            (20, json!(1)),
            (64, json!("equal")),
            (1400, json!(9000)),
            (greatest, json!("equal")),
        ] {
            ends.open(protocol, message_bytes, &response_bytes, json!({}));
            let found = ends.go(20.0, Some(200));
            assert_eq!(
                found["transactions"], 200,
                "{protocol} {message_bytes}: {found}"
            );
            assert_eq!((&found["failed"], &found["strays"]), (&json!(0), &json!(0)));
            assert_eq!(found["retransmissions"].is_u64(), protocol == "tcp");
            let latency = &found["latency"];
            assert_eq!(latency["count"], 200);
            let of = |name: &str| latency[name].as_f64().unwrap();
            assert!(0.0 < of("min_ns") && of("min_ns") <= of("mean_ns"));
            assert!(of("mean_ns") <= of("max_ns") && of("p50_ns") <= of("p90_ns"));
            let counts = ends.responder.call("responder.close", json!({}));
            assert!(
                counts["answered"].as_u64().unwrap() > 200,
                "the warm-up is not counted"
            );
            assert_eq!(
                (&counts["refused"], &counts["unsent"]),
                (&json!(0), &json!(0))
            );
            assert_eq!(counts["connections"], u64::from(protocol != "udp"));
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_paced_requester_keeps_its_rate_and_counts_from_when_each_request_was_due() {
    let mut ends = Ends::make();
    ends.open(
        "udp",
        64,
        &json!(1),
        json!({"rps": 500.0, "options": {"busy_poll_us": 100}}),
    );
    let found = ends.go(0.4, None);
    assert_eq!(found["transactions"], 200);
    let mean = |of: &str| found[of]["mean_ns"].as_f64().unwrap();
    assert!(mean("corrected") >= mean("latency"), "{found}");
}

#[test]
#[ignore = "needs root"]
fn a_lost_datagram_is_a_failed_transaction_and_a_late_answer_nobodys() {
    let mut ends = Ends::make();
    let mut way = requester("udp", 64, &json!(1));
    let far = ends.far.within(|| UdpSocket::bind(AT)).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    way["timeout_ms"] = json!(1000);
    ends.requester.call("requester.open", way);
    let mut params = go(20.0, Some(3));
    params["warmup_s"] = Value::Null;
    let id = ends.requester.request("requester.go", params);
    let mut buffer = [0; 100];
    let mut ask = || {
        // With a time limit, a signal to this process ends the wait.
        let (length, from) = loop {
            match far.recv_from(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received.unwrap(),
            }
        };
        (buffer[..length].to_vec(), from)
    };
    let (first, lost_at) = ask();
    assert_eq!(first, request(0, 64));
    let (second, from) = ask();
    assert_ne!(from, lost_at, "who lost an answer waits elsewhere");
    // Too late, too long, and another request's; then its own.
    let answer = response(second.clone(), 1);
    far.send_to(&response(first, 1), lost_at).unwrap();
    far.send_to(&response(second, 2), from).unwrap();
    far.send_to(&[7], from).unwrap();
    far.send_to(&answer, from).unwrap();
    // The answer to the second comes once more.
    let (third, from) = ask();
    far.send_to(&answer, from).unwrap();
    far.send_to(&response(third, 1), from).unwrap();
    assert_eq!(ends.requester.receive()["id"], id);
    let found = ends.requester.call("requester.collect", json!({}));
    assert_eq!(
        (&found["transactions"], &found["failed"]),
        (&json!(2), &json!(1)),
        "{found}"
    );
    assert_eq!(found["strays"], 3);
    assert_eq!(found["latency"]["count"], 2);
    assert!(
        found["last_problem"]
            .as_str()
            .unwrap()
            .contains("timed out"),
        "{found}"
    );
}

#[test]
#[ignore = "needs root"]
fn a_broken_connection_is_a_failed_transaction_and_another_is_made() {
    let mut ends = Ends::make();
    let mut way = requester("tcp", 64, &json!(64));
    way["timeout_ms"] = json!(1000);
    let listener = ends.far.within(|| TcpListener::bind(AT)).unwrap();
    ends.requester.call("requester.open", way);
    let mut params = go(20.0, Some(2));
    params["warmup_s"] = Value::Null;
    let id = ends.requester.request("requester.go", params);
    drop(listener.accept().unwrap());
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = [0; 64];
    stream.read_exact(&mut bytes).unwrap();
    let answer = response(request(1, 64), 64);
    for piece in answer.chunks(7) {
        stream.write_all(piece).unwrap();
    }
    assert_eq!(ends.requester.receive()["id"], id);
    let found = ends.requester.call("requester.collect", json!({}));
    assert_eq!(
        (&found["transactions"], &found["failed"]),
        (&json!(1), &json!(1)),
        "{found}"
    );
}

#[test]
#[ignore = "needs root"]
fn a_request_in_pieces_is_answered_once_it_is_whole() {
    let mut ends = Ends::make();
    ends.responder
        .call("responder.open", responder("tcp", &json!("equal")));
    let mut stream = ends.connect();
    stream.set_nodelay(true).unwrap();
    for piece in request(3, 100).chunks(9) {
        stream.write_all(piece).unwrap();
    }
    let mut bytes = [0; 100];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes[..], response(request(3, 100), 100));
}

#[test]
#[ignore = "needs root"]
fn a_responder_outlives_whatever_is_sent_to_it() {
    let mut ends = Ends::make();
    let mut runner = TestRunner::deterministic();
    let input = (vec(any::<u8>(), 1..300), option::of(0_usize..200));
    for protocol in ["tcp", "udp"] {
        ends.responder
            .call("responder.open", responder(protocol, &json!("equal")));
        let near = ends.near.within(|| UdpSocket::bind((NEAR, 0))).unwrap();
        near.connect(AT).unwrap();
        for _ in 0..300 {
            let (noise, begun) = input.new_tree(&mut runner).unwrap().current();
            // Noise alone, or what begins as a request and does not go on as one.
            let mut bytes = request(1, 200)[..begun.unwrap_or(0)].to_vec();
            bytes.extend(noise);
            if protocol == "udp" {
                near.send(&bytes).unwrap();
            } else {
                // It may be broken off before all is written.
                let _ = ends.connect().write_all(&bytes);
            }
        }
        let mut way = requester(protocol, 64, &json!("equal"));
        way["timeout_ms"] = json!(10_000);
        ends.requester.call("requester.open", way);
        let found = ends.go(20.0, Some(10));
        assert_eq!(
            (&found["transactions"], &found["failed"]),
            (&json!(10), &json!(0))
        );
        let counts = ends.responder.call("responder.close", json!({}));
        assert!(counts["refused"].as_u64().unwrap() > 100, "{counts}");
    }
}

#[test]
#[ignore = "needs root"]
fn nothing_is_answered_after_the_end() {
    let mut ends = Ends::make();
    for protocol in ["udp", "tcp"] {
        ends.open(protocol, 64, &json!(1), json!({}));
        ends.go(5.0, Some(1));
        let _open_connections = (protocol == "tcp").then(|| (ends.connect(), ends.connect()));
        ends.responder.call("responder.close", json!({}));
        assert_eq!(ends.far.within(listening), 0);
    }
    ends.responder
        .call("responder.open", responder("tcp", &json!(1)));
    assert_eq!(ends.far.within(listening), 1);
    ends.responder.hang_up();
    assert_eq!(ends.responder.exit_status(), 0);
    assert_eq!(ends.far.within(listening), 0);
    let (code, message) = ends.requester.refusal("requester.go", go(1.0, None));
    assert_eq!(code, -32_000);
    assert!(
        message.contains("cannot connect to 198.18.0.3:5000"),
        "{message}"
    );
}

#[test]
#[ignore = "needs root"]
fn what_tcp_sends_again_is_told() {
    let mut ends = Ends::make();
    ends.near
        .tc("qdisc add dev src0 root tbf rate 20mbit burst 5k limit 8k");
    ends.open("tcp", 60_000, &json!(1), json!({}));
    let found = ends.go(20.0, Some(3));
    assert_eq!(found["transactions"], 3, "{found}");
    assert!(found["retransmissions"].as_u64().unwrap() > 0, "{found}");
}

#[test]
#[ignore = "needs root"]
fn an_abort_and_a_lost_peer_end_a_run_at_once() {
    let mut ends = Ends::make();
    let silent = ends.far.within(|| UdpSocket::bind(AT)).unwrap();
    ends.requester
        .call("requester.open", requester("udp", 64, &json!(1)));
    let id = ends.requester.request("requester.go", go(30.0, None));
    silent.recv(&mut [0; 64]).unwrap();
    let asked = Instant::now();
    let reply = ends.requester.abort(id);
    assert!(
        asked.elapsed() < Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(reply["result"]["aborted"], true);
    let found = ends.requester.call("requester.collect", json!({}));
    assert_eq!(found["transactions"], 0, "an aborted one has not failed");

    ends.requester.request("requester.go", go(30.0, None));
    silent.recv(&mut [0; 64]).unwrap();
    ends.requester.hang_up();
    assert_eq!(ends.requester.exit_status(), 0);
}

#[test]
#[ignore = "needs root"]
fn only_a_measured_address_is_listened_on() {
    let mut ends = Ends::make();
    for (field, value, expected) in [
        ("address", json!("0.0.0.0"), "address: 0.0.0.0 is not"),
        ("address", json!("127.0.0.1"), "address: 127.0.0.1 is not"),
        ("address", json!(NEAR), "cannot use 198.18.0.2:5000 on snk0"),
        (
            "interface",
            json!("absent0"),
            "interface: no interface `absent0`",
        ),
        ("port", json!(0), "port: must not be 0"),
        (
            "short_message_bytes",
            json!(20),
            "short_message_bytes: 20 is not between 1 and 19",
        ),
        ("cpu", json!(1000), "cannot stay on CPU 1000"),
        ("response_bytes", json!(65_508), "response_bytes: 65508"),
    ] {
        let mut params = responder("udp", &json!(1));
        params[field] = value;
        let (_, message) = ends.responder.refusal("responder.open", params);
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(ends.far.within(listening), 0);
    }
    // The address is known at every interface of its host, and answered for at one.
    ends.near.join(
        "src1",
        "02:76:74:00:00:03",
        &ends.far,
        "snk1",
        "02:76:74:00:00:04",
    );
    ends.near.ip("addr add 198.18.1.2/24 dev src1");
    ends.far.ip("addr add 198.18.1.3/24 dev snk1");
    ends.responder
        .call("responder.open", responder("tcp", &json!(1)));
    ends.connect();
    ends.near.ip(&format!("route add {FAR}/32 dev src1"));
    let refused = ends.near.within(|| TcpStream::connect(AT)).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}
