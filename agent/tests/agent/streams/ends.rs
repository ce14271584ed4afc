//! # How runs end before their time

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{await_arrivals, changed, drain, go, receiver, sender};
use crate::ends::{Ends, listening};
use crate::process::Agent;

#[test]
#[ignore = "needs root"]
fn a_killed_sender_is_told_by_its_flows() {
    for (protocol, ended) in [("tcp", "complete"), ("udp", "quiet")] {
        let mut ends = Ends::make();
        ends.responder
            .call("receiver.open", receiver(protocol, 2, json!({})));
        ends.requester
            .call("sender.open", sender(protocol, 2, 1400, json!({})));
        ends.requester.request("sender.go", go(None, 30.0));
        await_arrivals(&mut ends);
        let Ends {
            requester,
            mut responder,
            ..
        } = ends;
        drop(requester);
        let params = changed(drain(None), json!({"quiet_ms": 500}));
        let came = responder.call("receiver.collect", params);
        assert_eq!(came["ended"], ended, "{came}");
        for flow in came["flows"].as_array().unwrap() {
            let problem = &flow["problem"];
            let named = problem
                .as_str()
                .is_some_and(|text| text.contains("reset by peer"));
            assert_eq!(named, protocol == "tcp", "{flow}");
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_killed_receiver_ends_a_sender_on_connections_and_is_counted_by_datagrams() {
    for (protocol, duration_s) in [("tcp", 30.0), ("udp", 1.0)] {
        let mut ends = Ends::make();
        ends.responder
            .call("receiver.open", receiver(protocol, 2, json!({})));
        let paced = json!({"intended_goodput_mbps": 10.0});
        ends.requester
            .call("sender.open", sender(protocol, 2, 1400, paced));
        let id = ends.requester.request("sender.go", go(None, duration_s));
        await_arrivals(&mut ends);
        let Ends {
            mut requester,
            responder,
            ..
        } = ends;
        drop(responder);
        let killed = Instant::now();
        let reply = requester.receive();
        assert_eq!(reply["id"], id);
        let sent = requester.call("sender.collect", json!({}));
        if protocol == "tcp" {
            assert!(
                killed.elapsed() < Duration::from_secs(5),
                "{:?}",
                killed.elapsed()
            );
            assert_eq!(reply["result"]["broken"], 2);
            for flow in sent["flows"].as_array().unwrap() {
                let problem = flow["problem"].as_str().unwrap();
                assert!(
                    ["Connection reset by peer", "Broken pipe"].contains(&problem),
                    "{problem}"
                );
            }
        } else {
            assert_eq!(reply["result"]["broken"], 0);
            let errors = &sent["flows"][0]["send_errors"];
            assert!(errors["ECONNREFUSED"].as_u64().unwrap() > 0, "{sent}");
        }
    }
}

#[test]
#[ignore = "needs root"]
fn an_abort_and_a_lost_peer_end_a_run_at_once() {
    let mut ends = Ends::make();
    for (protocol, paced) in [
        ("tcp", json!(null)),
        ("udp", json!(null)),
        ("udp", json!(0.001)),
    ] {
        let changes = json!({"intended_goodput_mbps": paced});
        ends.responder
            .call("receiver.open", receiver(protocol, 2, json!({})));
        ends.requester
            .call("sender.open", sender(protocol, 2, 1400, changes));
        let id = ends.requester.request("sender.go", go(None, 30.0));
        await_arrivals(&mut ends);
        let (_, message) = ends.requester.refusal("sender.close", json!({}));
        assert!(message.contains("in use by a call under way"), "{message}");
        let waiting = changed(drain(None), json!({"quiet_ms": 60_000}));
        let collect = ends.responder.request("receiver.collect", waiting.clone());
        if protocol == "udp" {
            assert_eq!(aborted(&mut ends.responder, collect)["ended"], "aborted");
        }
        let reply = aborted(&mut ends.requester, id);
        assert_eq!(reply["aborted"], true);
        if protocol == "tcp" {
            let reply = ends.responder.receive();
            assert_eq!(reply["id"], collect);
            let problem = &reply["result"]["flows"][0]["problem"];
            assert_eq!(
                *problem, "Connection reset by peer",
                "what was unsent is not sent"
            );
        }
        let (_, message) = ends.requester.refusal("sender.go", go(None, 1.0));
        assert!(message.starts_with("this sender has sent"), "{message}");
    }
    ends.responder
        .call("receiver.open", receiver("tcp", 1, json!({})));
    ends.requester
        .call("sender.open", sender("tcp", 1, 1400, json!({})));
    ends.requester.request("sender.go", go(None, 30.0));
    await_arrivals(&mut ends);
    let asked = Instant::now();
    ends.requester.hang_up();
    assert_eq!(ends.requester.exit_status(), 0);
    ends.responder.hang_up();
    assert_eq!(ends.responder.exit_status(), 0);
    assert!(
        asked.elapsed() < Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(ends.far.within(listening), 0);
}

/// Aborts the call `id` and returns its result.
fn aborted(agent: &mut Agent, id: u64) -> Value {
    let asked = Instant::now();
    let mut reply = agent.abort(id);
    let elapsed = asked.elapsed();
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
    reply["result"].take()
}

#[test]
#[ignore = "needs root"]
fn connecting_ends_by_itself_when_nobody_listens_or_answers() {
    let mut ends = Ends::make();
    let (_, message) = ends
        .requester
        .refusal("sender.open", sender("tcp", 1, 1400, json!({})));
    assert!(
        message.starts_with("cannot connect flow 0 to 198.18.0.3:5000; open the receiver"),
        "{message}"
    );
    // A host that is not there, whose address is known.
    ends.near
        .ip("neigh add 198.18.0.9 lladdr 02:76:74:00:00:09 dev src0");
    let silent = json!({"remote_address": "198.18.0.9", "timeout_ms": 50});
    let (_, message) = ends
        .requester
        .refusal("sender.open", sender("tcp", 1, 1400, silent));
    assert!(message.ends_with("timed out (os error 110)"), "{message}");
    let silent = json!({"remote_address": "198.18.0.9", "timeout_ms": 60_000});
    let id = ends
        .requester
        .request("sender.open", sender("tcp", 1, 1400, silent));
    assert_eq!(aborted(&mut ends.requester, id), Value::Null);
    let (_, message) = ends.requester.refusal("sender.go", go(None, 1.0));
    assert_eq!(message, "no sender is open; call sender.open first");
}
