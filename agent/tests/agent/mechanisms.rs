//! # Mechanisms: what arrives is what was built, whichever way it was sent

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::link::{Link, SINK_MAC, SOURCE_MAC, longest_burst, open, receive, receiver, run, total};

const MECHANISMS: [&str; 3] = ["raw", "gso", "af_xdp"];
/// Faster than any mechanism: every send is the longest burst.
const BEYOND_REACH: Option<f64> = Some(1e7);

#[test]
fn every_mechanism_s_frames_arrive_byte_for_byte() {
    let mut link = Link::without_offloads(1);
    let receiver = link.sink.within(receiver);
    for mechanism in MECHANISMS {
        for (frame_bytes, intended_fps) in [(64, None), (65, BEYOND_REACH), (1514, None)] {
            let frame_bytes = json!(frame_bytes);
            arrives_byte_for_byte(&mut link, &receiver, mechanism, frame_bytes, intended_fps);
        }
    }
}

#[test]
fn a_mix_arrives_byte_for_byte_in_its_order() {
    let mut link = Link::without_offloads(1);
    let receiver = link.sink.within(receiver);
    let mix = json!([64, 590, 64, 1514, 65]);
    for mechanism in ["raw", "af_xdp"] {
        for intended_fps in [None, BEYOND_REACH, Some(100_000.0)] {
            arrives_byte_for_byte(&mut link, &receiver, mechanism, mix.clone(), intended_fps);
        }
    }
    let mut params = run("gso", None, 1000.0, &[("measure", 0.003)]);
    params["frame_bytes"] = mix;
    let (code, message) = link.agent.refusal("source.run", params);
    let reason = "frame_bytes: a train has frames of one length: gso sends no mix";
    assert_eq!((code, message.as_str()), (-32_602, reason));
}

fn arrives_byte_for_byte(
    link: &mut Link,
    receiver: &OwnedFd,
    mechanism: &str,
    frame_bytes: Value,
    intended_fps: Option<f64>,
) {
    // Short, since all of it is received; a busy machine may let one pass unused.
    let mut params = run(mechanism, intended_fps, 1000.0, &[("measure", 0.003)]);
    params["frame_bytes"] = frame_bytes;
    let deadline = Instant::now() + Duration::from_secs(10);
    while sent_and_checked(link, receiver, &params) < 100 {
        assert!(
            Instant::now() < deadline,
            "{mechanism} sends next to nothing"
        );
    }
}

/// Sends a run and compares all its frames with what they are to be; returns their number.
fn sent_and_checked(link: &mut Link, receiver: &OwnedFd, params: &Value) -> u32 {
    let mechanism = &params["mechanism"];
    let reply = link.agent.call("source.run", params.clone());
    assert_eq!(&reply["mechanism"], mechanism);
    let (mut sequence, mut probe, mut place) = (0, 0, None);
    let cycle = match &params["frame_bytes"] {
        Value::Array(cycle) => cycle.clone(),
        one => vec![one.clone()],
    };
    let length_of = |number: u32| cycle[number as usize % cycle.len()].as_u64().unwrap();
    for _ in 0..total(&reply, "frames_sent") + total(&reply, "probes_sent") {
        let frame = receive(receiver);
        if frame[51] == 0x80 {
            // A probe, which is sent raw.
            assert_eq!(frame.len() as u64, length_of(probe));
            assert_eq!(frame, expected(&frame, None));
            assert_eq!(frame[52..56], u32::to_be_bytes(probe));
            probe += 1;
            continue;
        }
        assert_eq!(frame.len() as u64, length_of(sequence));
        place = (mechanism == "gso").then(|| next_place(place, &frame));
        let built = expected(&frame, place);
        assert_eq!(frame, built, "{mechanism}, sequence {sequence}");
        assert_eq!(frame[52..56], u32::to_be_bytes(sequence));
        sequence += 1;
    }
    assert_eq!(u64::from(sequence), total(&reply, "frames_sent"));
    sequence
}

/// The place of a frame in its train, by its identification: after the one before, or first again.
fn next_place(before: Option<u16>, frame: &[u8]) -> u16 {
    let place = u16::from_be_bytes([frame[18], frame[19]]);
    assert!(
        place == 0 || Some(place - 1) == before,
        "{place} after {before:?}"
    );
    place
}

/// The frame that these tests' stream sends, with the phase, sequence and time of `frame`; of a train where it has a place in one.
fn expected(frame: &[u8], place: Option<u16>) -> Vec<u8> {
    let mac = |text: &str| -> Vec<u8> {
        let parts = text.split(':');
        parts
            .map(|part| u8::from_str_radix(part, 16).unwrap())
            .collect()
    };
    let ip_bytes = (frame.len() - 14) as u16;
    let addresses = [198, 18, 0, 2, 198, 18, 1, 2];
    let mut ip = vec![0x45, 0];
    ip.extend(ip_bytes.to_be_bytes());
    ip.extend(place.unwrap_or(0).to_be_bytes());
    ip.extend([0x40, 0, 64, 17, 0, 0]);
    ip.extend(addresses);
    let checksum = ones_complement(&ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());

    let mut udp = [4096_u16, 4097, ip_bytes - 20, 0]
        .map(u16::to_be_bytes)
        .concat();
    udp.extend(b"vtax");
    udp.extend(7_u32.to_be_bytes());
    // Phase, stream, sequence, time.
    udp.extend(&frame[50..64]);
    udp.resize(frame.len() - 34, 0);
    if place.is_some() {
        let mut summed = addresses.to_vec();
        summed.extend(17_u16.to_be_bytes());
        summed.extend((ip_bytes - 20).to_be_bytes());
        summed.extend(&udp);
        let checksum = ones_complement(&summed);
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
    }
    [mac(SINK_MAC), mac(SOURCE_MAC), vec![8, 0], ip, udp].concat()
}

/// The Internet checksum (RFC 1071), the plain way; an odd last byte is padded.
fn ones_complement(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0xffff_u16, |rest, word| {
        let word = u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]);
        let (less, borrow) = rest.overflowing_sub(word);
        less - u16::from(borrow)
    })
}

#[test]
fn every_mechanism_sends_what_it_says() {
    let mut link = Link::without_offloads(1);
    for mechanism in MECHANISMS {
        for intended_fps in [None, Some(20_000.0)] {
            let before = link.received();
            let phases = [("warmup", 0.05), ("measure", 0.1)];
            let params = run(mechanism, intended_fps, 1.0, &phases);
            let reply = link.agent.call("source.run", params);
            let (sent, probes) = (total(&reply, "frames_sent"), total(&reply, "probes_sent"));
            assert_eq!(link.received() - before, sent + probes, "{reply}");
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
        assert!(slow["gap_error_ns"]["p50"].as_u64() <= slow["gap_error_ns"]["max"].as_u64());
    }
}

#[test]
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
        assert!(reason.contains("the queue `tbf` of src0"), "{reason}");
        let params = run(mechanism, None, 1.0, &[("measure", 1.0)]);
        let (code, message) = link.agent.refusal("source.run", params);
        assert_eq!(code, -32_602);
        assert_eq!(
            message,
            format!("mechanism: {mechanism} is refused: {reason}")
        );
    }
    assert_eq!(link.received(), 0);
}

#[test]
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
        json!({"frame_bytes": 9015, "load": "flood"}),
    );
    assert_eq!(code, -32_602);
    assert!(message.starts_with("frame_bytes: 9015"), "{message}");
}

#[test]
fn an_abort_ends_a_calibration() {
    let mut link = Link::with_streams(1);
    let params = json!({"frame_bytes": 64, "load": "flood"});
    let id = link.agent.request("source.calibrate", params);
    link.await_frames(1);
    link.agent.request("abort", json!({}));
    let replies = [link.agent.receive(), link.agent.receive()];
    let reply = replies.iter().find(|reply| reply["id"] == id).unwrap();
    let message = reply["error"]["message"].as_str().unwrap();
    assert_eq!(message, "the calibration was aborted");
}

#[test]
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
