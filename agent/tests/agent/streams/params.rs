//! # Params that cannot work

use serde_json::json;

use super::{changed, drain, go, receiver, sender};
use crate::ends::{Ends, FAR, NEAR, listening};

#[test]
#[ignore = "needs root"]
fn params_that_cannot_work_are_refused_by_name_and_leave_nothing() {
    let mut ends = Ends::make();
    for (changes, expected) in [
        (json!({"address": "0.0.0.0"}), "address: 0.0.0.0 is not"),
        (
            json!({"address": NEAR}),
            "cannot use 198.18.0.2:5000 on snk0",
        ),
        (
            json!({"interface": "absent0"}),
            "interface: no interface `absent0`",
        ),
        (json!({"cpu": 1000}), "cannot stay on CPU 1000"),
        (json!({"flows": 65}), "flows: 65 is not between"),
        (
            json!({"protocol": "dccp"}),
            "protocol: unknown variant `dccp`",
        ),
        (
            json!({"options": {"mss": 5}}),
            "options.mss: unknown field `mss`",
        ),
        (json!({"trial": -1}), "trial: invalid value"),
    ] {
        for protocol in ["tcp", "udp"] {
            let params = changed(receiver(protocol, 1, json!({})), changes.clone());
            let (_, message) = ends.responder.refusal("receiver.open", params);
            assert!(message.starts_with(expected), "{message}");
            assert_eq!(ends.far.within(listening), 0);
        }
    }
    ends.responder
        .call("receiver.open", receiver("tcp", 1, json!({})));
    for (params, expected) in [
        (
            changed(drain(None), json!({"expected_messages": [1]})),
            "expected_messages: is for udp",
        ),
        (
            changed(drain(None), json!({"limit_ms": 60_001})),
            "limit_ms: 60001",
        ),
    ] {
        let (_, message) = ends.responder.refusal("receiver.collect", params);
        assert!(message.starts_with(expected), "{message}");
    }
    let params = json!({"flow": 1, "first": 0});
    let (_, message) = ends.responder.refusal("receiver.series", params);
    assert_eq!(message, "flow: 1 is none of the 1 flows");
    for (changes, expected) in [
        (
            json!({"local_address": FAR}),
            "cannot use 198.18.0.3:0 on src0",
        ),
        (json!({"message_bytes": 23}), "message_bytes: 23"),
        (
            json!({"intended_goodput_mbps": -1}),
            "intended_goodput_mbps: -1",
        ),
    ] {
        let params = sender("tcp", 1, 1400, changes);
        let (_, message) = ends.requester.refusal("sender.open", params);
        assert!(message.starts_with(expected), "{message}");
    }
    ends.requester
        .call("sender.open", sender("tcp", 1, 1400, json!({})));
    let (_, message) = ends.requester.refusal("sender.go", go(None, 0.0));
    assert!(message.starts_with("duration_s: 0"), "{message}");
    let (_, message) = ends.requester.refusal("sender.collect", json!({}));
    assert_eq!(message, "nothing was sent; call sender.go first");
}
