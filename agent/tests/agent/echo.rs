//! # Echoes on a veth pair

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ends::{Ends, FAR, NEAR};

pub fn echo(changes: Value) -> Value {
    let mut params = json!({
        "cpu": 0, "interface": "src0", "local_address": NEAR, "remote_address": FAR, "payload_bytes": 56,
        "interval_ms": null, "timeout_ms": 5000,
    });
    let changes = changes.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(changes);
    params
}

fn go(warmup_s: Option<f64>, duration_s: f64) -> Value {
    json!({"trial": 7, "warmup_s": warmup_s, "duration_s": duration_s})
}

fn asked(ends: &mut Ends, changes: Value, params: Value) -> Value {
    ends.requester.call("echo.open", echo(changes));
    ends.requester.call("echo.go", params);
    ends.requester.call("echo.collect", json!({}))
}

/// A number of ICMP's in this thread's namespace.
fn icmp(name: &'static str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Icmp:"));
    let [names, numbers] = [0, 1].map(|_| lines.next().unwrap().split_whitespace());
    let mut found = names.zip(numbers).filter(|(found, _)| *found == name);
    found.next().unwrap().1.parse().unwrap()
}

#[test]
#[ignore = "needs root"]
fn every_request_gets_its_answer_from_the_kernel() {
    let mut ends = Ends::make();
    for payload_bytes in [16, 57, 1472, 9000, 65_507] {
        let before = ends.far.within(|| icmp("InEchos"));
        let changes = json!({"payload_bytes": payload_bytes});
        let found = asked(&mut ends, changes, go(None, 0.1));
        let sent = found["sent"].as_u64().unwrap();
        assert!(sent > 10, "{found}");
        assert_eq!(found["received"], sent);
        assert_eq!(ends.far.within(|| icmp("InEchos")) - before, sent);
        for member in ["lost", "duplicated", "strays"] {
            assert_eq!(found[member], 0, "{found}");
        }
        let latency = &found["latency"];
        assert_eq!(latency["count"], sent);
        let of = |name: &str| latency[name].as_f64().unwrap();
        assert!(0.0 < of("min_ns") && of("min_ns") <= of("mean_ns"));
        assert!(of("mean_ns") <= of("max_ns"));
    }
}

#[test]
#[ignore = "needs root"]
fn requests_at_an_interval_do_not_wait_for_answers() {
    let mut ends = Ends::make();
    let changes = json!({"interval_ms": 5.0, "timeout_ms": 100});
    let found = asked(&mut ends, changes.clone(), go(Some(0.1), 0.2));
    assert_eq!(
        (&found["sent"], &found["received"]),
        (&json!(40), &json!(40))
    );

    ends.far
        .within(|| std::fs::write("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1").unwrap());
    let asked_at = Instant::now();
    let found = asked(&mut ends, changes, go(Some(0.1), 0.2));
    assert!(asked_at.elapsed() >= Duration::from_millis(390));
    assert_eq!((&found["sent"], &found["lost"]), (&json!(40), &json!(40)));
    assert_eq!(
        (&found["received"], &found["latency"]["mean_ns"]),
        (&json!(0), &Value::Null)
    );

    let one_by_one = json!({"timeout_ms": 50});
    let found = asked(&mut ends, one_by_one, go(None, 0.2));
    let sent = found["sent"].as_u64().unwrap();
    assert!((1..=4).contains(&sent), "{found}");
    assert_eq!(found["lost"], sent);
}

#[test]
#[ignore = "needs root"]
fn late_answers_and_those_of_another_trial_are_strays() {
    let mut ends = Ends::make();
    // Every packet waits for tokens, longer and longer; for long enough that some are late on a busy machine, too.
    ends.far
        .tc("qdisc add dev snk0 root tbf rate 160kbit burst 1600 limit 100k");
    let changes = json!({"interval_ms": 10.0, "timeout_ms": 60, "payload_bytes": 958});
    let found = asked(&mut ends, changes.clone(), go(None, 2.0));
    let of = |found: &Value, member: &str| found[member].as_u64().unwrap();
    assert_eq!(
        of(&found, "received") + of(&found, "lost"),
        of(&found, "sent")
    );
    assert!(of(&found, "received") > 0, "{found}");
    assert!(of(&found, "strays") > 0, "{found}");
    let max_ns = found["latency"]["max_ns"].as_f64().unwrap();
    assert!(max_ns < 60e6, "{found}");

    let mut params = go(None, 0.2);
    params["trial"] = json!(8);
    ends.requester.call("echo.go", params);
    let found = ends.requester.call("echo.collect", json!({}));
    assert!(of(&found, "strays") > 0, "{found}");
}

#[test]
#[ignore = "needs root"]
fn an_answer_is_none_the_later_for_an_agent_that_has_no_cpu() {
    let mut ends = Ends::make();
    // An answer of 1000 bytes takes 50 ms.
    ends.far
        .tc("qdisc add dev snk0 root tbf rate 160kbit burst 1600 limit 100k");
    let changes = json!({"payload_bytes": 958});
    ends.requester.call("echo.open", echo(changes));
    let id = ends.requester.request("echo.go", go(None, 0.8));
    let answered = ends.far.within(|| icmp("OutEchoReps"));
    while ends.far.within(|| icmp("OutEchoReps")) < answered + 4 {}
    ends.requester.pause(Duration::from_millis(200));
    assert_eq!(ends.requester.receive()["id"], id);
    let found = ends.requester.call("echo.collect", json!({}));
    let max_ns = found["latency"]["max_ns"].as_f64().unwrap();
    assert!((40e6..150e6).contains(&max_ns), "{found}");
}

#[test]
#[ignore = "needs root"]
fn a_request_that_the_kernel_refuses_is_lost_and_says_why() {
    let mut ends = Ends::make();
    ends.requester
        .call("echo.open", echo(json!({"timeout_ms": 50})));
    ends.near.ip("link set src0 down");
    ends.requester.call("echo.go", go(None, 0.2));
    let found = ends.requester.call("echo.collect", json!({}));
    let sent = found["sent"].as_u64().unwrap();
    assert!((1..=4).contains(&sent), "{found}");
    assert_eq!(found["lost"], sent);
    assert_eq!(found["last_problem"], "Network is unreachable");
}

#[test]
#[ignore = "needs root"]
fn an_abort_and_a_lost_peer_end_an_echo_at_once() {
    let mut ends = Ends::make();
    ends.far
        .within(|| std::fs::write("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1").unwrap());
    ends.requester
        .call("echo.open", echo(json!({"timeout_ms": 60_000})));
    let id = ends.requester.request("echo.go", go(None, 30.0));
    while ends.far.within(|| icmp("InEchos")) == 0 {}
    let asked = Instant::now();
    let reply = ends.requester.abort(id);
    let elapsed = asked.elapsed();
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
    assert_eq!(reply["result"]["aborted"], true);
    let found = ends.requester.call("echo.collect", json!({}));
    assert_eq!((&found["sent"], &found["lost"]), (&json!(1), &json!(0)));

    ends.requester.request("echo.go", go(None, 30.0));
    while ends.far.within(|| icmp("InEchos")) == 1 {}
    ends.requester.hang_up();
    assert_eq!(ends.requester.exit_status(), 0);
}

#[test]
#[ignore = "needs root"]
fn ways_that_cannot_work_are_refused_by_name() {
    let mut ends = Ends::make();
    for (changes, expected) in [
        (
            json!({"local_address": FAR}),
            "cannot use 198.18.0.3 on src0",
        ),
        (
            json!({"remote_address": "0.0.0.0"}),
            "remote_address: 0.0.0.0",
        ),
        (
            json!({"interface": "absent0"}),
            "interface: no interface `absent0`",
        ),
        (json!({"payload_bytes": 15}), "payload_bytes: 15"),
        (json!({"interval_ms": 0}), "interval_ms: 0"),
        (json!({"options": {}}), "options: unknown field `options`"),
    ] {
        let (_, message) = ends.requester.refusal("echo.open", echo(changes));
        assert!(message.starts_with(expected), "{message}");
    }
    let (_, message) = ends.requester.refusal("echo.go", go(None, 1.0));
    assert_eq!(message, "no echo is open; call echo.open first");
    ends.requester.call("echo.open", echo(json!({})));
    let (_, message) = ends.requester.refusal("echo.collect", json!({}));
    assert_eq!(message, "nothing was measured; call echo.go first");
    ends.requester.call("echo.open", echo(json!({"cpu": 1000})));
    let (_, message) = ends.requester.refusal("echo.go", go(None, 1.0));
    assert!(message.starts_with("cannot stay on CPU 1000"), "{message}");
}
