//! Sinks on veth pairs, through the methods' own JSON.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::traffic::Error;
use crate::traffic::sink::Sink;
use crate::traffic::sink::frame::FLAG_PROBE;
use crate::traffic::sink::program::PHASE_WARMUP;
use crate::traffic::testing::{SINK, SOURCE, Sender, in_namespace, ip, tc, wait_until};

static RUNNING: AtomicBool = AtomicBool::new(false);

fn params<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

fn open(attach: &str) -> Result<(Sink, Value), Error> {
    let streams = json!([{"stream": STREAM, "interface": SINK}]);
    let (sink, reply) = Sink::open(&params(json!({"streams": streams, "attach": attach})))?;
    Ok((sink, serde_json::to_value(reply).unwrap()))
}

fn arm(sink: &mut Sink, frame_bytes: usize) {
    sink.arm(&params(
        json!({"trial": TRIAL, "phase": "measure", "frame_bytes": frame_bytes}),
    ))
    .unwrap();
}

/// The reply, and in it the only stream.
fn collect(sink: &Sink, frames: u64) -> (Value, Value) {
    let expected = json!([{"stream": STREAM, "frames": frames}]);
    let asked = params(json!({"expected": expected, "quiet_ms": 100, "limit_ms": 5000}));
    let reply = serde_json::to_value(sink.collect(&asked, &RUNNING).unwrap()).unwrap();
    let stream = reply["streams"][0].clone();
    (reply, stream)
}

/// Everything that a sink tells apart, once over a wire.
fn counts_a_mixed_load(attach: &str, attached: &str) {
    in_namespace(|| {
        let (mut sink, opened) = open(attach).unwrap();
        assert_eq!(
            opened["streams"],
            json!([{"stream": STREAM, "attached": attached}])
        );
        assert!(opened["cost_ns_per_frame"].as_f64().unwrap() > 1.0);
        arm(&mut sink, FRAME_BYTES);

        let sender = Sender::new();
        let send = |frame: TestFrame| sender.send(&frame.to_bytes(FRAME_BYTES));
        (0..3).for_each(|sequence| {
            send(TestFrame {
                phase: PHASE_WARMUP as u8,
                ..frame(sequence)
            })
        });
        [0, 1, 2, 4, 3, 5, 5, 7]
            .into_iter()
            .for_each(|sequence| send(frame(sequence)));
        (8..30).for_each(|sequence| {
            send(TestFrame {
                phase: PHASE_MEASURE as u8 | FLAG_PROBE,
                ..frame(sequence)
            })
        });
        [0, 1, 1]
            .into_iter()
            .for_each(|sequence| send(probe(sequence)));
        send(TestFrame {
            trial: TRIAL - 1,
            ..frame(0)
        });
        send(TestFrame {
            stream: STREAM + 1,
            ..frame(0)
        });
        sender.send(&frame(0).to_bytes(FRAME_BYTES + 4));
        let mut foreign = frame(0).to_bytes(FRAME_BYTES);
        foreign[12..14].copy_from_slice(&[0x88, 0xb5]);
        sender.send(&foreign);

        let (reply, stream) = collect(&sink, 30);
        assert_eq!(reply["ended"], "quiet", "sequence 6 was not sent");
        assert!(reply["drain_ms"].as_f64().unwrap() >= 100.0);
        assert_eq!(stream["stream"], STREAM);
        assert_eq!(stream["attached"], true);
        assert_eq!(
            stream["phases"],
            json!({"probe": 0, "warmup": 3, "measure": 30})
        );
        assert_eq!(
            (
                &stream["received"],
                &stream["duplicated"],
                &stream["reordered"],
                &stream["longest_run"]
            ),
            (&json!(29), &json!(1), &json!(1), &json!(23))
        );
        assert_eq!(
            stream["refused"],
            json!({"length": 1, "trial": 1, "stream": 1, "foreign": 1})
        );
        assert_eq!(stream["probes"], json!({"received": 2, "duplicated": 1}));
        assert!(stream["first_ns"].as_u64() < stream["last_ns"].as_u64());

        let latency = &stream["latency"];
        assert_eq!(latency["count"], 24);
        let p50_ns = latency["p50_ns"].as_u64().unwrap();
        assert!(
            (50..1_000_000_000).contains(&p50_ns),
            "{p50_ns} ns over a veth"
        );
        assert!(
            latency["min_ns"].as_u64() <= Some(p50_ns)
                && Some(p50_ns) <= latency["max_ns"].as_u64()
        );
        assert_eq!(latency["p90_ns"], Value::Null);
        assert!(
            latency["histogram"]
                .as_str()
                .unwrap()
                .starts_with("HISTFAAA")
        );

        assert_eq!(collect(&sink, 29).0["ended"], "complete");
        sink.close().unwrap();
        assert_nothing_attached();
    });
}

fn assert_nothing_attached() {
    let link = ip(&["-details", "link", "show", SINK]);
    assert!(!link.contains("xdp"), "{link}");
    let qdiscs = tc(&["qdisc", "show", "dev", SINK]);
    assert!(!qdiscs.contains("clsact"), "{qdiscs}");
}

#[test]
fn native_xdp_counts_a_mixed_load() {
    counts_a_mixed_load("native", "xdp-native");
}

#[test]
fn generic_xdp_counts_a_mixed_load() {
    counts_a_mixed_load("generic", "xdp-generic");
}

#[test]
fn tc_counts_a_mixed_load() {
    counts_a_mixed_load("tc", "tc");
}

#[test]
fn auto_prefers_native_xdp() {
    counts_a_mixed_load("auto", "xdp-native");
}

#[test]
fn auto_takes_generic_xdp_where_frames_are_too_long_for_native() {
    in_namespace(|| {
        for interface in [SOURCE, SINK] {
            ip(&["link", "set", interface, "mtu", "9000"]);
        }
        let refusal = open("native").unwrap_err().to_string();
        assert!(
            refusal.contains("native XDP") && refusal.contains(SINK),
            "{refusal}"
        );

        let (mut sink, opened) = open("auto").unwrap();
        assert_eq!(opened["streams"][0]["attached"], "xdp-generic");
        arm(&mut sink, 9014);
        let sender = Sender::new();
        (0..5).for_each(|sequence| sender.send(&frame(sequence).to_bytes(9014)));
        let (reply, stream) = collect(&sink, 5);
        assert_eq!(
            (&reply["ended"], &stream["received"]),
            (&json!("complete"), &json!(5))
        );
    });
}

#[test]
fn a_dropped_sink_leaves_nothing_attached() {
    for attach in ["native", "generic", "tc"] {
        in_namespace(|| {
            drop(open(attach).unwrap());
            assert_nothing_attached();
        });
    }
}

/// The test runs itself once more as the process to be killed.
#[test]
fn a_killed_agent_leaves_no_xdp_attached() {
    const HOLDS: &str = "VTAX_TEST_HOLDS_A_SINK";
    if let Ok(attach) = std::env::var(HOLDS) {
        let _sink = open(&attach).unwrap();
        loop {
            thread::park();
        }
    }
    let runs_xdp = || ip(&["link", "show", SINK]).contains("xdp");
    for attach in ["native", "generic"] {
        in_namespace(|| {
            let mut holder = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "traffic::sink::tests::network::a_killed_agent_leaves_no_xdp_attached",
                ])
                .env(HOLDS, attach)
                .spawn()
                .unwrap();
            wait_until(runs_xdp);
            holder.kill().unwrap();
            holder.wait().unwrap();
            wait_until(|| !runs_xdp());
        });
    }
}

#[test]
fn a_foreign_clsact_stays() {
    in_namespace(|| {
        tc(&["qdisc", "add", "dev", SINK, "clsact"]);
        open("tc").unwrap().0.close().unwrap();
        assert!(tc(&["qdisc", "show", "dev", SINK]).contains("clsact"));
        assert_eq!(tc(&["filter", "show", "dev", SINK, "ingress"]), "");
    });
}

#[test]
fn a_sink_whose_program_was_taken_away_says_so() {
    for attach in ["native", "generic", "tc"] {
        in_namespace(|| {
            let (mut sink, _) = open(attach).unwrap();
            arm(&mut sink, FRAME_BYTES);
            assert_eq!(collect(&sink, 0).1["attached"], true);
            if attach == "tc" {
                tc(&["qdisc", "del", "dev", SINK, "clsact"]);
            } else {
                ip(&["link", "del", SINK]);
            }
            assert_eq!(collect(&sink, 0).1["attached"], false, "{attach}");
            sink.close().unwrap();
        });
    }
}

#[test]
fn an_interface_takes_one_sink() {
    in_namespace(|| {
        let (_sink, _) = open("native").unwrap();
        let refusal = open("native").unwrap_err().to_string();
        assert!(
            refusal.contains(SINK) && refusal.contains("busy"),
            "{refusal}"
        );
    });
}

#[test]
fn a_failed_open_detaches_what_it_attached() {
    in_namespace(|| {
        let streams =
            json!([{"stream": 0, "interface": SINK}, {"stream": 1, "interface": "absent0"}]);
        let error = Sink::open(&params(json!({"streams": streams, "attach": "auto"})))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("streams[1].interface: no interface `absent0`"),
            "{error}"
        );
        assert_nothing_attached();
    });
}

#[test]
fn a_drain_ends_at_its_limit_while_frames_still_come() {
    in_namespace(|| {
        let (mut sink, _) = open("native").unwrap();
        arm(&mut sink, FRAME_BYTES);
        let expected = json!([{"stream": STREAM, "frames": u32::MAX}]);
        let asked = params(json!({"expected": expected, "quiet_ms": 200, "limit_ms": 400}));
        let sender = Sender::new();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for sequence in 0.. {
                    if ended.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    sender.send(&frame(sequence).to_bytes(FRAME_BYTES));
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let reply = sink.collect(&asked, &RUNNING).unwrap();
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(serde_json::to_value(reply.ended).unwrap(), "limit");
            assert!(
                (400.0..5_000.0).contains(&reply.drain_ms),
                "{} ms",
                reply.drain_ms
            );
        });
    });
}

#[test]
fn an_abort_ends_the_drain() {
    in_namespace(|| {
        let (mut sink, _) = open("native").unwrap();
        arm(&mut sink, FRAME_BYTES);
        let expected = json!([{"stream": STREAM, "frames": 1}]);
        let asked = params(json!({"expected": expected, "quiet_ms": 50_000, "limit_ms": 50_000}));
        let abort = AtomicBool::new(true);
        let reply = sink.collect(&asked, &abort).unwrap();
        assert_eq!(serde_json::to_value(reply.ended).unwrap(), "aborted");
    });
}

#[test]
fn bad_params_name_their_field() {
    let opening = |streams: Value| {
        Sink::open(&params(json!({"streams": streams, "attach": "auto"})))
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    assert!(opening(json!([])).starts_with("streams: "));
    assert!(
        opening(json!([{"stream": 128, "interface": SINK}])).starts_with("streams[0].stream: ")
    );
    in_namespace(|| {
        let pair = |stream: u8, interface: &str| json!({"stream": stream, "interface": interface});
        assert!(
            opening(json!([pair(0, SINK), pair(0, SOURCE)])).starts_with("streams[1].stream: ")
        );
        assert!(
            opening(json!([pair(0, SINK), pair(1, SINK)])).starts_with("streams[1].interface: ")
        );

        let (mut sink, _) = open("native").unwrap();
        let asked =
            |expected: Value| params(json!({"expected": expected, "quiet_ms": 1, "limit_ms": 1}));
        let early = sink
            .collect(&asked(json!([])), &RUNNING)
            .unwrap_err()
            .to_string();
        assert!(early.contains("sink.arm"), "{early}");
        for frame_bytes in [63, 9015] {
            let arm =
                params(json!({"trial": TRIAL, "phase": "measure", "frame_bytes": frame_bytes}));
            assert!(
                sink.arm(&arm)
                    .unwrap_err()
                    .to_string()
                    .starts_with("frame_bytes: ")
            );
        }
        arm(&mut sink, FRAME_BYTES);
        let unknown = sink.collect(
            &asked(json!([{"stream": STREAM + 1, "frames": 1}])),
            &RUNNING,
        );
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .starts_with("expected[0].stream: ")
        );
    });
}
