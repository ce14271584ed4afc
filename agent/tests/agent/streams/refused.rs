//! # What is no flow of the trial is refused

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::{AT, await_counts, changed, drain, go, receiver, record, sender};
use crate::ends::{Ends, NEAR};

/// Whether the other end ends the connection.
fn is_broken_off(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
#[ignore = "needs root"]
fn a_connection_that_is_no_flow_of_the_trial_is_broken_off() {
    let mut ends = Ends::make();
    ends.responder
        .call("receiver.open", receiver("tcp", 2, json!({})));
    let mut first = ends.connect();
    for piece in record(7, 100, 2, 0, 0).chunks(7) {
        first.write_all(piece).unwrap();
    }
    await_counts(&mut ends, |came| came["flows"][0]["warmup_bytes"] == 100);
    for refused in [
        record(8, 100, 2, 1, 0),
        record(7, 100, 2, 0, 0),
        record(7, 100, 2, 2, 0),
        vec![0xee; 24],
    ] {
        let mut stream = ends.connect();
        stream.write_all(&refused).unwrap();
        assert!(is_broken_off(&mut stream));
    }
    let mut second = ends.connect();
    let mut surplus = ends.connect();
    assert!(is_broken_off(&mut surplus));
    second.write_all(&record(7, 100, 3, 1, 0)).unwrap();
    second.write_all(&record(7, 100, 3, 1, 1)[..50]).unwrap();
    second.shutdown(Shutdown::Write).unwrap();
    // A record of the warm-up is missing before it.
    first.write_all(&record(7, 100, 2, 0, 2)).unwrap();
    let came = ends.responder.call("receiver.collect", drain(None));
    assert_eq!(came["ended"], "complete", "{came}");
    let refused = json!({"foreign": 2, "trial": 1, "flow": 2, "surplus": 1});
    assert_eq!(came["refused"], refused);
    let [first, second] = [0, 1].map(|flow| &came["flows"][flow]);
    let problem = first["problem"].as_str().unwrap();
    assert!(problem.contains("something else"), "{problem}");
    assert_eq!(
        (&second["messages"], &second["bytes"]),
        (&json!(1), &json!(150))
    );
    assert!(second["problem"].is_null(), "{second}");
}

#[test]
#[ignore = "needs root"]
fn a_receiver_outlives_whatever_is_sent_to_it() {
    let mut ends = Ends::make();
    let mut runner = TestRunner::deterministic();
    let input = (vec(any::<u8>(), 24..300), option::of(0_usize..200));
    for protocol in ["tcp", "udp"] {
        ends.responder
            .call("receiver.open", receiver(protocol, 2, json!({})));
        let near = ends.near.within(|| UdpSocket::bind((NEAR, 0))).unwrap();
        near.connect(AT).unwrap();
        for _ in 0..150 {
            let (noise, begun) = input.new_tree(&mut runner).unwrap().current();
            // Noise alone, or what begins as a record of the other flow and does not go on as one.
            let mut bytes = record(7, 200, 2, 1, 0)[..begun.unwrap_or(0)].to_vec();
            bytes.extend(noise);
            if protocol == "udp" {
                near.send(&bytes).unwrap();
            } else {
                let mut stream = ends.connect();
                // It may be broken off before all is written.
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(Shutdown::Write);
                assert!(is_broken_off(&mut stream));
            }
        }
        ends.requester.call(
            "sender.open",
            sender(protocol, 1, 1000, json!({"intended_goodput_mbps": 10.0})),
        );
        ends.requester.call("sender.go", go(None, 0.1));
        let sent = ends.requester.call("sender.collect", json!({}));
        let params = changed(drain(None), json!({"quiet_ms": 300}));
        let came = ends.responder.call("receiver.collect", params);
        assert_eq!(
            came["flows"][0]["bytes"], sent["flows"][0]["bytes"],
            "{came}"
        );
        assert!(came["refused"]["foreign"].as_u64().unwrap() > 50, "{came}");
    }
}
