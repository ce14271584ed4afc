//! Frames of every encapsulation, as sources build them, in every program.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::bench::*;
use super::network::{arm, collect, open, params};
use super::*;
use crate::traffic::frame::{Endpoints, Lane, Phase, build, stamp};
use crate::traffic::lengths::MOST_LENGTHS;
use crate::traffic::sink::Sink;
use crate::traffic::sink::program::Armed;
use crate::traffic::testing::{SINK, Sender, endpoints_at, in_namespace};

const ENCAPSULATIONS: [(Option<u16>, &str); 4] = [
    (None, "198.18.0.2"),
    (None, "2001:2::2"),
    (Some(100), "198.18.0.2"),
    (Some(100), "2001:2::2"),
];

fn measured(endpoints: &Endpoints, sequence: u32, frame_bytes: usize) -> Vec<u8> {
    let mut frame = build(endpoints, TRIAL, STREAM, Lane::Main, frame_bytes);
    let fields = &mut frame[endpoints.header_bytes()..];
    stamp(
        fields,
        Phase::Measure,
        true,
        sequence,
        Departure::at(now_ns()),
    );
    frame
}

#[test]
#[ignore = "needs root"]
fn frames_of_every_encapsulation_are_counted_from_the_least_on() {
    on_all_programs(|sink| {
        for (vlan, address) in ENCAPSULATIONS {
            let endpoints = endpoints_at(vlan, address);
            for frame_bytes in [endpoints.least_frame_bytes(), 1518] {
                sink.memory.disarm().unwrap();
                let armed = Armed {
                    frame_bytes: [frame_bytes as u32; MOST_LENGTHS],
                    ..ARMED
                };
                sink.memory.arm(armed).unwrap();
                for sequence in [0, 2, 1, 1] {
                    assert!(sink.drops(&measured(&endpoints, sequence, frame_bytes)));
                }
                let main = sink.main();
                let counted = (main.received, main.duplicated, main.reordered);
                assert_eq!(counted, (3, 1, 1), "{endpoints:?} {:?}", sink.mode);
                assert_eq!(sink.delay_count(), 3);
            }
        }
    });
}

/// The kernel hands a tag to each of the three in another place.
#[test]
#[ignore = "needs root"]
fn frames_of_every_encapsulation_are_counted_on_a_wire_in_every_mode() {
    for attach in ["native", "generic", "tc"] {
        in_namespace(|| {
            let (mut sink, _) = open(attach).unwrap();
            let sender = Sender::new();
            for (vlan, address) in ENCAPSULATIONS {
                let endpoints = endpoints_at(vlan, address);
                for frame_bytes in [endpoints.least_frame_bytes(), 1514] {
                    arm(&mut sink, frame_bytes);
                    for sequence in 0..10 {
                        sender.send(&measured(&endpoints, sequence, frame_bytes));
                    }
                    let (_, stream) = collect(&sink, 10);
                    assert_eq!(stream["received"], 10, "{attach} {endpoints:?}: {stream}");
                    assert_eq!(stream["received_bytes"], 10 * frame_bytes);
                    let nothing = json!({"length": 0, "trial": 0, "stream": 0, "foreign": 0});
                    assert_eq!(stream["refused"], nothing);
                }
            }
            sink.close().unwrap();
        });
    }
}

/// tc gets a tag beside the frame.
#[test]
#[ignore = "needs root"]
fn captured_frames_have_their_tag_inside_in_every_mode() {
    for attach in ["native", "generic", "tc"] {
        in_namespace(|| {
            let asked = json!({
                "streams": [{"stream": STREAM, "interface": SINK}], "attach": attach,
                "capture_frames": 1, "snap_bytes": 1000,
            });
            let (mut sink, _) = Sink::open(&params(asked)).unwrap();
            let sender = Sender::new();
            for (vlan, address) in ENCAPSULATIONS {
                let endpoints = endpoints_at(vlan, address);
                for frame_bytes in [endpoints.least_frame_bytes(), 1514] {
                    arm(&mut sink, frame_bytes);
                    let sent = measured(&endpoints, 0, frame_bytes);
                    sender.send(&sent);
                    collect(&sink, 1);
                    let asked = params(json!({"stream": STREAM, "first": 0}));
                    let frames = sink.capture(&asked).unwrap().frames;
                    assert_eq!(frames[0].frame_bytes as usize, frame_bytes);
                    let kept = STANDARD.decode(&frames[0].bytes).unwrap();
                    assert_eq!(
                        kept,
                        sent[..frame_bytes.min(1000)],
                        "{attach} {endpoints:?}"
                    );
                }
            }
            sink.close().unwrap();
        });
    }
}

#[test]
#[ignore = "needs root"]
fn what_only_looks_like_one_passes() {
    on_all_programs(|sink| {
        let (plain, six) = (
            endpoints_at(None, "198.18.0.2"),
            endpoints_at(None, "2001:2::2"),
        );
        let tagged = endpoints_at(Some(7), "2001:2::2");
        let changed = |endpoints: &Endpoints, at: usize, value: u8| {
            let mut frame = measured(endpoints, 0, FRAME_BYTES);
            frame[at] = value;
            frame
        };
        let foreign = [
            ("IPv6 under the type of IPv4", changed(&six, 12, 0x08)),
            ("IPv6 with an extension header", changed(&six, 20, 0)),
            ("version 4 under the type of IPv6", changed(&six, 14, 0x40)),
            ("another magic behind IPv6", changed(&six, 62, 0)),
            ("two tags", changed(&tagged, 17, 0)),
            ("ARP in a tag", changed(&tagged, 16, 0x08)),
            ("a tag's type without a tag", changed(&plain, 12, 0x81)),
            ("cut off", measured(&six, 0, 84)[..83].to_vec()),
            ("cut off in a tag", measured(&tagged, 0, 88)[..87].to_vec()),
        ];
        for (what, frame) in foreign {
            assert!(!sink.drops(&frame), "{what}, {:?}", sink.mode);
        }
    });
}
