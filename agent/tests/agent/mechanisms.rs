//! # Mechanisms: what each takes, how fast, and what it is refused for

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::link::{Link, all_sent, longest_burst, open, run, total};

pub const MECHANISMS: [&str; 3] = ["raw", "gso", "af_xdp"];
/// Faster than any mechanism: every send is the longest burst.
const BEYOND_REACH: Option<f64> = Some(1e7);

/// Why a mechanism does not flood: params that are refused.
fn refusal(link: &mut Link, mechanism: &str) -> String {
    let params = run(mechanism, None, 1.0, &[("measure", 1.0)]);
    let (code, message) = link.agent.refusal("source.run", params);
    assert_eq!(code, -32_602);
    message
}

#[test]
#[ignore = "needs root"]
fn every_mechanism_sends_what_it_says() {
    let mut link = Link::without_offloads(1);
    for mechanism in MECHANISMS {
        for intended_fps in [None, Some(20_000.0)] {
            let before = link.received();
            let phases = [("warmup", 0.05), ("measure", 0.1)];
            let params = run(mechanism, intended_fps, 1.0, &phases);
            let reply = link.agent.call("source.run", params.clone());
            assert_eq!(
                link.received() - before,
                all_sent(&params, &reply),
                "{reply}"
            );
            let errors = &reply["streams"][0]["phases"][0]["send_errors"];
            let expected = if mechanism == "gso" {
                Value::Null
            } else {
                json!(0)
            };
            assert_eq!(errors, &expected);
        }
    }
}

#[test]
#[ignore = "needs root"]
fn bursts_are_short_and_counted() {
    let mut link = Link::without_offloads(1);
    for (mechanism, most) in [("raw", 32), ("gso", 64), ("af_xdp", 32)] {
        let mut send = |intended_fps| {
            let params = run(mechanism, intended_fps, 1000.0, &[("measure", 0.05)]);
            link.agent.call("source.run", params)
        };
        assert_eq!(longest_burst(&send(None)), most);
        let beyond = send(BEYOND_REACH);
        assert_eq!(longest_burst(&beyond), 4);
        assert!(total(&beyond, "sends") < total(&beyond, "frames_sent"));
        // A frame each millisecond: one that is late is sent before the next is due, on all but a stalled machine.
        let slow = send(Some(1000.0));
        assert!(total(&slow, "sends") * 4 >= total(&slow, "frames_sent"));
        let gap = &slow["threads"][0]["gap_error_ns"];
        assert!(gap["p50"].as_u64() <= gap["max"].as_u64());
    }
}

#[test]
#[ignore = "needs root"]
fn what_would_be_no_frame_is_refused_in_words() {
    let mut link = Link::make();
    let reason = |reply: &Value, mechanism: &str| {
        let refused = reply["refused"].as_array().unwrap();
        let found = refused
            .iter()
            .find(|refusal| refusal["mechanism"] == mechanism);
        found.map(|refusal| refusal["reason"].as_str().unwrap().to_owned())
    };
    let reply = link.agent.call("source.open", open(1, "src0"));
    assert_eq!(reply["mechanisms"], json!(["raw", "af_xdp"]));
    let uncut = reason(&reply, "gso").unwrap();
    assert!(
        uncut.starts_with("tx-udp-segmentation of src0 is on"),
        "{uncut}"
    );

    let reply = link.agent.call("source.open", open(2, "src0"));
    let shared = reason(&reply, "af_xdp").unwrap();
    assert_eq!(shared, "src0 serves several streams");

    link.source.switch_checksums_off("src0");
    link.source
        .tc("qdisc add dev src0 root tbf rate 100mbit burst 64k limit 300k");
    let reply = link.agent.call("source.open", open(1, "src0"));
    assert_eq!(reply["mechanisms"], json!(["raw"]));
    for mechanism in ["gso", "af_xdp"] {
        let reason = reason(&reply, mechanism).unwrap();
        assert!(reason.contains("the qdisc `tbf` of src0"), "{reason}");
        let expected = format!("mechanism: {mechanism} is refused: {reason}");
        assert_eq!(refusal(&mut link, mechanism), expected);
    }
    assert_eq!(link.received(), 0);
}

#[test]
#[ignore = "needs root"]
fn only_what_was_asked_for_is_open() {
    let mut link = Link::without_checksums();
    let mut params = open(1, "src0");
    params["mechanisms"] = json!(["af_xdp"]);
    let reply = link.agent.call("source.open", params);
    assert_eq!(
        reply,
        json!({"mechanisms": ["raw", "af_xdp"], "refused": []})
    );
    for mechanism in ["gso", "pktgen"] {
        let expected =
            format!("mechanism: {mechanism} is not open; name it in the mechanisms of source.open");
        assert_eq!(refusal(&mut link, mechanism), expected);
    }
    assert_eq!(link.received(), 0);
}

/// Where the kernel has pktgen, tests/system/testbed/test_pktgen.py shows what it sends.
#[test]
#[ignore = "needs root"]
fn a_kernel_without_pktgen_says_what_brings_it() {
    let mut link = Link::make();
    let mut params = open(1, "src0");
    params["mechanisms"] = json!(["pktgen"]);
    let reply = link.agent.call("source.open", params);
    let refused = &reply["refused"][0]["reason"];
    match Path::new("/proc/net/pktgen").exists() {
        true => assert_eq!(reply["mechanisms"], json!(["raw", "pktgen"])),
        false => assert!(
            refused
                .as_str()
                .unwrap()
                .contains("not loaded; modprobe pktgen, or"),
            "{reply}"
        ),
    }
}

#[test]
#[ignore = "needs root"]
fn calibration_ranks_what_the_interface_takes() {
    let mut link = Link::make();
    link.source.switch_checksums_off("src0");
    for interface in ["src0", "snk0"] {
        let end = if interface == "src0" {
            &link.source
        } else {
            &link.sink
        };
        end.ip(&format!("link set {interface} mtu 9000"));
    }
    link.agent.call("source.open", open(1, "src0"));
    for (load, frame_bytes) in [("flood", 64), ("paced", 64), ("flood", 5000)] {
        let params = json!({"frame_bytes": frame_bytes, "load": load});
        let reply = link.agent.call("source.calibrate", params);
        let ceilings = reply["ceilings"].as_array().unwrap();
        let fps: Vec<f64> = ceilings
            .iter()
            .map(|ceiling| ceiling["ceiling_fps"].as_f64().unwrap())
            .collect();
        assert!(fps.is_sorted_by(|one, next| one >= next), "{reply}");
        assert!(fps.iter().all(|&fps| fps > 10_000.0), "{reply}");
        let refused = if frame_bytes == 64 {
            json!([])
        } else {
            let reason = "frame_bytes: af_xdp takes frames up to 4096 bytes";
            json!([{"mechanism": "af_xdp", "reason": reason}])
        };
        assert_eq!(reply["refused"], refused);
        let found = ceilings.len() + reply["refused"].as_array().unwrap().len();
        assert_eq!(found, MECHANISMS.len());
    }
    let (code, message) = link.agent.refusal(
        "source.calibrate",
        json!({"frame_bytes": 9019, "load": "flood"}),
    );
    assert_eq!(code, -32_602);
    assert!(message.starts_with("frame_bytes: 9019"), "{message}");
}

#[test]
#[ignore = "needs root"]
fn an_abort_ends_a_calibration() {
    let mut link = Link::with_streams(1);
    let params = json!({"frame_bytes": 64, "load": "flood"});
    let id = link.agent.request("source.calibrate", params);
    link.await_frames(1);
    let reply = link.agent.abort(id);
    let message = reply["error"]["message"].as_str().unwrap();
    assert_eq!(message, "the calibration was aborted");
}

#[test]
#[ignore = "needs root"]
fn a_source_that_is_opened_again_at_once_gets_its_queue_back() {
    let mut link = Link::with_streams(1);
    for _ in 0..3 {
        link.agent.call("source.close", json!({}));
        let reply = link.agent.call("source.open", open(1, "src0"));
        assert_eq!(reply["refused"].as_array().unwrap().len(), 1, "{reply}");
        let params = run("af_xdp", Some(1000.0), 100.0, &[("measure", 0.02)]);
        link.agent.call("source.run", params);
    }
    assert!(link.agent.receive_within(Duration::ZERO).is_none());
}
