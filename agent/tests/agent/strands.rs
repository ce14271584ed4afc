//! # Several threads of one source: every frame once, and each strand in order at the sink

use std::thread::available_parallelism;

use serde_json::{Value, json};

use crate::link::{Link, open, run, total};
use crate::process::Agent;

const MIX: [u16; 4] = [64, 590, 64, 1514];
const STRANDS: u64 = 2;

/// A link whose source has two threads, with a sink at its end.
struct Crewed {
    link: Link,
    sink: Agent,
}

impl Crewed {
    fn make() -> Self {
        let mut link = Link::make();
        // Two threads need two CPUs.
        assert!(available_parallelism().unwrap().get() > 1);
        let mut streams = open(1, "src0");
        streams["cpus"] = json!([0, 1]);
        streams["strands"] = STRANDS.into();
        link.agent.call("source.open", streams);
        let mut sink = Agent::start(&["--netns", &link.sink.path()]);
        let streams = json!([{"stream": 0, "interface": "snk0"}]);
        sink.call("sink.open", json!({"streams": streams, "attach": "auto"}));
        Self { link, sink }
    }

    /// What source and sink say of a run.
    fn sent_and_collected(&mut self, params: &Value) -> (Value, Value) {
        let armed = json!({
            "trial": params["trial"], "phase": "measure", "frame_bytes": params["frame_bytes"], "strands": STRANDS,
            "probe_interval": 10,
        });
        self.sink.call("sink.arm", armed);
        let sent = self.link.agent.call("source.run", params.clone());
        let phases = sent["streams"][0]["phases"].as_array().unwrap();
        let frames = &phases.last().unwrap()["strand_frames"];
        let expected = json!([{"stream": 0, "strand_frames": frames}]);
        let awaited = json!({"expected": expected, "quiet_ms": 1000, "limit_ms": 10_000});
        (sent, self.sink.call("sink.collect", awaited))
    }
}

#[test]
#[ignore = "needs root"]
fn two_threads_send_each_frame_of_a_stream_once() {
    let mut crewed = Crewed::make();
    for intended_fps in [Some(20_000.0), None] {
        for frame_bytes in [json!(64), json!(MIX)] {
            let mut params = run("raw", intended_fps, 1000.0, &[("measure", 0.2)]);
            params["flows"] = 6.into();
            params["frame_bytes"] = frame_bytes;
            let dropped_before = crewed.link.source.tx_dropped("src0");
            let (sent, collected) = crewed.sent_and_collected(&params);
            let dropped = crewed.link.source.tx_dropped("src0") - dropped_before;
            let phase = &sent["streams"][0]["phases"][0];
            let strands: Vec<u64> = serde_json::from_value(phase["strand_frames"].clone()).unwrap();
            assert_eq!(strands.len() as u64, STRANDS);
            assert!(strands.iter().all(|&frames| frames > 0), "{phase}");
            assert_eq!(strands.iter().sum::<u64>(), phase["frames_sent"], "{phase}");
            assert_eq!(sent["streams"][0]["cpus"], json!([0, 1]));
            let cpus = sent["threads"].as_array().unwrap().iter();
            assert!(cpus.map(|thread| &thread["cpu"]).eq([&json!(0), &json!(1)]));
            if intended_fps.is_some() {
                // One schedule: of a frame in two each, none is missing but what others held up at the end.
                assert!(phase["frames_sent"].as_u64() <= Some(4_000), "{phase}");
                assert!(strands[0].abs_diff(strands[1]) < 1_000, "{phase}");
            }

            let stream = &collected["streams"][0];
            let of = |object: &Value, field: &str| object[field].as_u64().unwrap();
            // Probes of a flood go beside its frames.
            let (sent, received) = match intended_fps {
                Some(_) => (of(phase, "frames_sent"), of(stream, "received")),
                None => (
                    of(phase, "frames_sent") + of(phase, "probes_sent"),
                    of(stream, "received") + of(&stream["probes"], "received"),
                ),
            };
            assert_eq!(received + dropped, sent, "{collected}");
            assert_eq!(
                (&stream["duplicated"], &stream["reordered"]),
                (&json!(0), &json!(0))
            );
            let all_came = stream["received"] == phase["frames_sent"];
            assert_eq!(stream["loss"]["periods"] == 0, all_came, "{collected}");
            let refused = json!({"length": 0, "trial": 0, "stream": 0, "foreign": 0});
            assert_eq!(stream["refused"], refused);
        }
    }
}

#[test]
#[ignore = "needs root"]
fn what_is_lost_of_a_strand_s_end_is_a_period_of_loss() {
    let mut crewed = Crewed::make();
    let mut params = run("raw", Some(5_000.0), 1000.0, &[("measure", 0.1)]);
    params["flows"] = 2.into();
    let (sent, _) = crewed.sent_and_collected(&params);
    let frames = total(&sent, "frames_sent");
    let more = json!([{"stream": 0, "strand_frames": [frames, frames + 7]}]);
    let awaited = json!({"expected": more, "quiet_ms": 1, "limit_ms": 10});
    let collected = crewed.sink.call("sink.collect", awaited);
    let loss = &collected["streams"][0]["loss"];
    let strands = &sent["streams"][0]["phases"][0]["strand_frames"];
    let missing = frames + 7 - strands[1].as_u64().unwrap();
    assert_eq!(loss, &json!({"periods": 2, "longest": missing}));

    let one = json!([{"stream": 0, "strand_frames": [frames]}]);
    let awaited = json!({"expected": one, "quiet_ms": 1, "limit_ms": 10});
    let (_, refused) = crewed.sink.refusal("sink.collect", awaited);
    let expected = "expected[0].strand_frames: 1 of them; 2 strands are awaited";
    assert_eq!(refused, expected);
}

#[test]
#[ignore = "needs root"]
fn threads_share_streams_where_each_has_one_strand() {
    let mut link = Link::make();
    let mut streams = open(3, "src0");
    streams["cpus"] = json!([1, 0]);
    link.agent.call("source.open", streams);
    let params = run("raw", Some(5_000.0), 1000.0, &[("measure", 0.2)]);
    let reply = link.agent.call("source.run", params);
    assert_eq!(link.received(), total(&reply, "frames_sent"));
    let streams = reply["streams"].as_array().unwrap().iter();
    let cpus = [[1], [0], [1]].map(|cpus| json!(cpus));
    assert!(streams.map(|stream| &stream["cpus"]).eq(cpus.iter()));
    // All are of one phase, and one schedule.
    let phases = (0..3).map(|stream| &reply["streams"][stream]["phases"][0]);
    let starts: Vec<_> = phases.map(|phase| &phase["start_ns"]).collect();
    assert!(starts.iter().all(|start| *start == starts[0]), "{reply}");
}

#[test]
#[ignore = "needs root"]
fn what_cannot_be_split_is_refused_in_words() {
    let mut link = Link::make();
    let mut streams = open(1, "src0");
    streams["strands"] = STRANDS.into();
    streams["mechanisms"] = json!(["af_xdp"]);
    let reply = link.agent.call("source.open", streams);
    // One queue is all that a veth pair has as it is made.
    assert_eq!(
        reply["refused"][0]["reason"],
        "src0 has no queue 1: each strand's XDP socket needs one of its own"
    );
    let params = run("raw", None, 1000.0, &[("measure", 0.1)]);
    let (_, refused) = link.agent.refusal("source.run", params);
    let expected = "flows: 1 do not make 2 strands of whole flows";
    assert_eq!(refused, expected);
}
