//! Sinks on veth pairs, through the methods' own JSON.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::error::Error;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::sink::Sink;
use crate::traffic::sink::program::PHASE_WARMUP;
use crate::traffic::testing::{SINK, SOURCE, Sender, in_namespace, ip, tc};

static RUNNING: AtomicBool = AtomicBool::new(false);

pub(super) fn params<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

pub(super) fn open(attach: &str) -> Result<(Sink, Value), Error> {
    let streams = json!([{"stream": STREAM, "interface": SINK}]);
    let (sink, reply) = Sink::open(&params(json!({"streams": streams, "attach": attach})))?;
    Ok((sink, serde_json::to_value(reply).unwrap()))
}

pub(super) fn arm(sink: &mut Sink, frame_bytes: usize) {
    sink.arm(&params(
        json!({"trial": TRIAL, "phase": "measure", "frame_bytes": frame_bytes}),
    ))
    .unwrap();
}

/// The reply, and in it the only stream.
pub(super) fn collect(sink: &Sink, frames: u64) -> (Value, Value) {
    let expected = json!([{"stream": STREAM, "strand_frames": [frames]}]);
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
            json!([{"stream": STREAM, "attached": attached, "fallback": null}])
        );
        assert!(opened["cost"]["probe_ns"].as_f64().unwrap() > 1.0);
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
                phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
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

        assert_eq!(
            stream["reordering"],
            json!({"extent_mean": 1.0, "extent_max": 1, "extents_cut": 0, "displaced": 0})
        );
        assert_eq!(stream["loss"], json!({"periods": 1, "longest": null}));
        let asked = params(json!({"stream": STREAM}));
        let times = serde_json::to_value(sink.histograms(&asked).unwrap()).unwrap();
        assert_eq!(times["gap"]["count"], 29);
        let pairs = ["ipdv_positive", "ipdv_negative"].map(|kind| times[kind]["count"].as_u64());
        assert_eq!(pairs[0].unwrap() + pairs[1].unwrap(), 21 + 1, "{times}");

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

pub(super) fn assert_nothing_attached() {
    let link = ip(&["-details", "link", "show", SINK]);
    assert!(!link.contains("xdp"), "{link}");
    let qdiscs = tc(&["qdisc", "show", "dev", SINK]);
    assert!(!qdiscs.contains("clsact"), "{qdiscs}");
}

#[test]
#[ignore = "needs root"]
fn native_xdp_counts_a_mixed_load() {
    counts_a_mixed_load("native", "xdp-native");
}

#[test]
#[ignore = "needs root"]
fn generic_xdp_counts_a_mixed_load() {
    counts_a_mixed_load("generic", "xdp-generic");
}

#[test]
#[ignore = "needs root"]
fn tc_counts_a_mixed_load() {
    counts_a_mixed_load("tc", "tc");
}

#[test]
#[ignore = "needs root"]
fn auto_prefers_native_xdp() {
    counts_a_mixed_load("auto", "xdp-native");
}

#[test]
#[ignore = "needs root"]
fn a_drain_ends_at_its_limit_while_frames_still_come() {
    in_namespace(|| {
        let (mut sink, _) = open("native").unwrap();
        arm(&mut sink, FRAME_BYTES);
        let expected = json!([{"stream": STREAM, "strand_frames": [u32::MAX]}]);
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
#[ignore = "needs root"]
fn an_abort_ends_the_drain() {
    in_namespace(|| {
        let (mut sink, _) = open("native").unwrap();
        arm(&mut sink, FRAME_BYTES);
        let expected = json!([{"stream": STREAM, "strand_frames": [1]}]);
        let asked = params(json!({"expected": expected, "quiet_ms": 50_000, "limit_ms": 50_000}));
        let abort = AtomicBool::new(true);
        let reply = sink.collect(&asked, &abort).unwrap();
        assert_eq!(serde_json::to_value(reply.ended).unwrap(), "aborted");
    });
}

#[test]
#[ignore = "needs root"]
fn bad_params_name_their_field() {
    let opening = |streams: Value| {
        Sink::open(&params(json!({"streams": streams, "attach": "auto"})))
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    for (field, value) in [("capture_frames", 1025), ("snap_bytes", 63)] {
        let mut asked = json!({"streams": [{"stream": 0, "interface": "lo"}], "attach": "auto"});
        asked[field] = value.into();
        let refusal = Sink::open(&params(asked)).map(drop).unwrap_err();
        assert!(refusal.to_string().starts_with(field), "{refusal}");
    }
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
        for frame_bytes in [63, 9019] {
            let arm =
                params(json!({"trial": TRIAL, "phase": "measure", "frame_bytes": frame_bytes}));
            assert!(
                sink.arm(&arm)
                    .unwrap_err()
                    .to_string()
                    .starts_with("frame_bytes: ")
            );
        }
        let no_interval = params(json!({
            "trial": TRIAL, "phase": "measure", "frame_bytes": 64, "probe_interval": 0
        }));
        let refusal = sink.arm(&no_interval).unwrap_err().to_string();
        assert!(refusal.starts_with("probe_interval: "), "{refusal}");
        for (streams, place) in [(vec![STREAM + 1], 0), (vec![STREAM, STREAM], 1)] {
            let clock = |stream| json!({"stream": stream, "ahead_ns": -5});
            let clocks: Vec<_> = streams.into_iter().map(clock).collect();
            let strange = params(json!({
                "trial": TRIAL, "phase": "measure", "frame_bytes": 64, "clocks": clocks
            }));
            let refusal = sink.arm(&strange).unwrap_err().to_string();
            let field = format!("clocks[{place}].stream: ");
            assert!(refusal.starts_with(&field), "{refusal}");
        }
        let absent = sink.histograms(&params(json!({"stream": STREAM + 1})));
        let refusal = absent.unwrap_err().to_string();
        assert!(refusal.starts_with("stream: "), "{refusal}");
        arm(&mut sink, FRAME_BYTES);
        let unknown = sink.collect(
            &asked(json!([{"stream": STREAM + 1, "strand_frames": [1]}])),
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
