//! # Sources on a veth pair

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::link::{Link, SINK_MAC, SOURCE_MAC, longest_burst, open, receive, receiver, run, total};
use crate::process::Agent;

#[test]
#[ignore = "needs root"]
fn a_paced_run_sends_what_it_says_at_the_rate_it_was_asked_for() {
    let mut link = Link::with_streams(2);
    let phases = [("warmup", 0.2), ("measure", 0.5)];
    let reply = link
        .agent
        .call("source.run", run("raw", Some(20_000.0), 1000.0, &phases));
    assert_eq!(link.received(), total(&reply, "frames_sent"));
    assert_eq!(total(&reply, "send_errors"), 0);
    // One of every twenty frames, anywhere among them.
    for stream in reply["streams"].as_array().unwrap() {
        for phase in stream["phases"].as_array().unwrap() {
            let of = |field: &str| phase[field].as_u64().unwrap();
            let twenties = of("frames_sent") / 20;
            assert!(
                (twenties..=twenties + 1).contains(&of("probes_sent")),
                "{phase}"
            );
        }
    }
    assert_eq!(reply["aborted"], false);
    let lag = &reply["threads"][0]["lag_ns"];
    assert!(lag["p50"].as_u64() <= lag["max"].as_u64());
    let (run_ns, run_delay_ns, window_ns) = thread_ns(&reply);
    assert!(run_ns > 0);
    let kept_off = run_delay_ns as f64 / window_ns as f64;
    for stream in reply["streams"].as_array().unwrap() {
        for (phase, (name, duration_s)) in stream["phases"].as_array().unwrap().iter().zip(phases) {
            assert_eq!(phase["phase"], name);
            let time = |field: &str| phase[field].as_u64().unwrap();
            assert_eq!(time("end_ns") - time("start_ns"), (duration_s * 1e9) as u64);
            assert!(time("start_ns") <= time("first_ns"));
            assert!(time("first_ns") < time("last_ns"));
            assert!(time("last_ns") < time("end_ns"));
            let intended = 20_000.0 * duration_s;
            let sent = time("frames_sent") as f64;
            assert!(sent > 0.0 && sent <= intended, "{sent} of {intended}");
        }
        // Below the schedule only by what others held up at the end.
        let sent = stream["phases"][1]["frames_sent"].as_f64().unwrap();
        assert!(sent > (0.9 - kept_off) * 10_000.0, "{reply}");
    }
    assert_eq!(
        reply["streams"][0]["phases"][1]["start_ns"],
        reply["streams"][1]["phases"][1]["start_ns"]
    );
}

#[test]
#[ignore = "needs root"]
fn a_load_that_shares_its_cpu_leaves_it_to_others_between_frames() {
    let mut link = Link::with_streams(2);
    let mut params = run("raw", Some(5_000.0), 1000.0, &[("measure", 0.5)]);
    params["shares_cpu"] = json!(true);
    let reply = link.agent.call("source.run", params);
    let (sent, intended) = (total(&reply, "frames_sent") as f64, 2.0 * 2_500.0);
    let (run_ns, run_delay_ns, window_ns) = thread_ns(&reply);
    // Below the schedule only by what others held up at the end.
    let kept_off = run_delay_ns as f64 / window_ns as f64;
    assert!(
        sent <= intended && sent > (0.9 - kept_off) * intended,
        "{reply}"
    );
    // One that waits busily is on its CPU all the time that others leave to it.
    assert!(run_ns < (window_ns - run_delay_ns.min(window_ns)) / 2 + 50_000_000);
}

/// Of the clock that frames carry.
const CLOCK_MASK: u64 = (1 << 48) - 1;

/// What 16 bits of lateness say: five tell the place of the first digit, eleven those behind it.
fn late_ns_of(told: u16) -> u64 {
    match told >> 11 {
        0 => u64::from(told),
        place => u64::from(told & 2047 | 2048) << (place - 1),
    }
}

#[test]
#[ignore = "needs root"]
fn every_frame_carries_its_trial_phase_sequence_and_departure() {
    let mut link = Link::with_streams(1);
    let receiver = link.sink.within(receiver);
    let phases = [("warmup", 0.05), ("measure", 0.1)];
    let reply = link
        .agent
        .call("source.run", run("raw", Some(1000.0), 200.0, &phases));
    for (phase, number) in reply["streams"][0]["phases"]
        .as_array()
        .unwrap()
        .iter()
        .zip([2, 3])
    {
        let start_ns = phase["start_ns"].as_u64().unwrap();
        let mut last_ns = 0;
        let mut late = 0;
        let sent = phase["frames_sent"].as_u64().unwrap() as u32;
        assert!(sent > 0);
        let mut probes = Vec::new();
        for sequence in 0..sent {
            let frame = receive(&receiver);
            assert_eq!(frame.len(), 64);
            assert_eq!(frame[42..50], [0x76, 0x74, 0x61, 0x78, 0, 0, 0, 7]);
            let is_probe = frame[50] & 0x80 != 0;
            assert_eq!(frame[50] & 0x7f, number);
            if is_probe {
                probes.push(sequence / 5);
            }
            assert_eq!(frame[51], 0);
            assert_eq!(frame[52..56], sequence.to_be_bytes());
            let departure = u64::from_be_bytes(frame[56..64].try_into().unwrap());
            // The clock's upper bits are missing.
            let departed_ns = start_ns + ((departure >> 16).wrapping_sub(start_ns) & CLOCK_MASK);
            assert!(departed_ns > last_ns && departed_ns < phase["end_ns"].as_u64().unwrap());
            let due_ns = start_ns + u64::from(sequence) * 1_000_000;
            let (late_ns, told_ns) = (departed_ns - due_ns, late_ns_of(departure as u16));
            assert!(
                told_ns <= late_ns && late_ns - told_ns <= late_ns / 2048,
                "{late_ns} told as {told_ns}"
            );
            late += u32::from(late_ns > 0);
            last_ns = departed_ns;
        }
        assert!(last_ns <= phase["last_ns"].as_u64().unwrap());
        assert!(late > sent / 2, "{late} of {sent}");
        // Of every five frames one, but perhaps of the last that were begun.
        assert_eq!(phase["probes_sent"], probes.len());
        assert!(probes.len() as u32 >= sent / 5);
        assert_eq!(probes, (0..probes.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "needs root"]
fn a_flood_sends_what_it_says() {
    let mut link = Link::with_streams(2);
    // One probe at most, so that probes cannot hide a miscount.
    let reply = link
        .agent
        .call("source.run", run("raw", None, 1.0, &[("measure", 0.3)]));
    let taken = total(&reply, "frames_sent") - total(&reply, "send_errors");
    assert!(taken > 1000, "{reply}");
    let probes = total(&reply, "probes_sent");
    assert!(probes <= 1, "{reply}");
    let received = link.received();
    assert!(
        (taken..=taken + probes).contains(&received),
        "received {received}: {reply}"
    );
    assert!(reply["threads"][0]["lag_ns"].is_null());
    assert_eq!(longest_burst(&reply), 32);
}

#[test]
#[ignore = "needs root"]
fn a_flood_waits_for_a_shaped_link() {
    let mut link = Link::with_streams(1);
    link.source
        .tc("qdisc add dev src0 root tbf rate 100mbit burst 64k limit 300k");
    let mut params = run("raw", None, 200.0, &[("measure", 0.5)]);
    params["frame_bytes"] = 1514.into();
    let reply = link.agent.call("source.run", params);
    let (frames, probes) = (total(&reply, "frames_sent"), total(&reply, "probes_sent"));
    link.await_frames(frames + probes);
    assert_eq!(link.received(), frames + probes);
    assert_eq!(total(&reply, "send_errors"), 0);
    assert!(total(&reply, "blocked") > 0);
    assert!(total(&reply, "waited_ns") > 0);
    // What the link carries in the time, and what its burst, its queue and the socket hold beside.
    let carried = 0.5 * 100e6 / 8.0;
    let offered = frames as f64 * 1514.0;
    assert!(offered < carried + 450e3, "{offered} of {carried}");
    // It sends, waits for the link or is kept from both by others, all the time.
    let (run_ns, run_delay_ns, window_ns) = thread_ns(&reply);
    let used_ns = run_ns + run_delay_ns + total(&reply, "waited_ns");
    assert!(used_ns > window_ns * 9 / 10, "{reply}");
    assert!((1..=100).contains(&probes), "{probes}");
}

/// A queue that lets go of next to nothing: the burst, and then a byte a second.
const STUCK: &str = "qdisc add dev src0 root tbf rate 8bit burst 2k limit 300k";

/// What the sending thread did in the last phase, and how long that was.
fn thread_ns(reply: &Value) -> (u64, u64, u64) {
    let time = |field: &str| reply["threads"][0]["time"][field].as_u64().unwrap();
    let phase = reply["streams"][0]["phases"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    let window_ns = phase["end_ns"].as_u64().unwrap() - phase["start_ns"].as_u64().unwrap();
    (time("run_ns"), time("run_delay_ns"), window_ns)
}

#[test]
fn a_flood_that_is_held_back_reports_how_long_it_waited() {
    let mut link = Link::with_streams(1);
    link.source.tc(STUCK);
    let reply = link.agent.call(
        "source.run",
        run("raw", None, 1.0, &[("warmup", 0.2), ("measure", 1.0)]),
    );
    let measured = &reply["streams"][0]["phases"][1];
    let waited_ns = measured["waited_ns"].as_u64().unwrap();
    let (run_ns, run_delay_ns, window_ns) = thread_ns(&reply);
    // Its socket is full all the time, but for a frame now and then; others may keep it from finding that out.
    assert!(waited_ns <= window_ns);
    assert!(waited_ns + run_delay_ns > window_ns * 9 / 10, "{reply}");
    // It sleeps meanwhile.
    assert!(run_ns < window_ns / 2, "{reply}");
}

#[test]
fn a_paced_load_that_is_held_back_reports_how_long_it_waited() {
    let mut link = Link::with_streams(1);
    link.source.tc(STUCK);
    // More than the socket holds is due within the first tenth of the phase.
    let params = run("raw", Some(20_000.0), 1.0, &[("measure", 1.0)]);
    let reply = link.agent.call("source.run", params);
    let (_, run_delay_ns, window_ns) = thread_ns(&reply);
    let waited_ns = total(&reply, "waited_ns");
    assert!(waited_ns <= window_ns);
    assert!(waited_ns + run_delay_ns > window_ns / 2, "{reply}");
    assert!(total(&reply, "frames_sent") < 20_000);
}

#[test]
fn a_stream_that_finds_room_does_not_wait_for_another_s() {
    let mut link = Link::make();
    link.source
        .join("src1", SOURCE_MAC, &link.sink, "snk1", SINK_MAC);
    link.source.tc(STUCK);
    let mut streams = open(2, "src0");
    streams["streams"][1]["interface"] = "src1".into();
    link.agent.call("source.open", streams);
    let reply = link
        .agent
        .call("source.run", run("raw", None, 1.0, &[("measure", 0.5)]));
    let (run_ns, run_delay_ns, window_ns) = thread_ns(&reply);
    let waited_ns = |stream: usize| {
        let phase = &reply["streams"][stream]["phases"][0];
        phase["waited_ns"].as_u64().unwrap()
    };
    assert!(waited_ns(0) + run_delay_ns > window_ns / 2, "{reply}");
    assert_eq!(waited_ns(1), 0);
    // The thread has the other stream's frames to send all the time.
    assert!(run_ns + run_delay_ns > window_ns / 2, "{reply}");
}

#[test]
fn a_flood_whose_frames_are_dropped_uses_its_cpu_and_never_waits() {
    let mut link = Link::with_streams(1);
    let mut ingress = Agent::start(&["--netns", &link.sink.path()]);
    ingress.call("ingress.drop", json!({"interfaces": ["snk0"]}));
    let reply = link.agent.call(
        "source.run",
        run("raw", None, 1.0, &[("warmup", 0.1), ("measure", 0.5)]),
    );
    let (run_ns, run_delay_ns, window_ns) = thread_ns(&reply);
    assert_eq!(total(&reply, "waited_ns"), 0);
    assert!(run_ns + run_delay_ns > window_ns / 2, "{reply}");
    // Of the last phase alone, which is read just outside of it.
    assert!(run_ns < window_ns + 50_000_000, "{reply}");
}

/// What a frame of 64 bytes takes of a link of 10 Mbit/s: 88 bytes at layer 1.
const FRAME_NS: u64 = 70_400;
/// What its bucket holds of its time: 64 KiB.
const BUCKET_NS: u64 = 52_428_800;

/// A stream on a link of 10 Mbit/s.
fn on_a_slow_link() -> Link {
    let mut link = Link::make();
    let mut streams = open(1, "src0");
    streams["streams"][0]["link_mbps"] = 10.into();
    link.agent.call("source.open", streams);
    link
}

#[test]
#[ignore = "needs root"]
fn a_flood_keeps_to_its_link_s_rate() {
    let mut link = on_a_slow_link();
    let reply = link.agent.call(
        "source.run",
        run("raw", None, 1.0, &[("warmup", 0.1), ("measure", 0.5)]),
    );
    for phase in reply["streams"][0]["phases"].as_array().unwrap() {
        let of = |field: &str| phase[field].as_u64().unwrap();
        let window_ns = of("end_ns") - of("start_ns");
        assert!(of("frames_sent") * FRAME_NS <= window_ns, "{phase}");
        // The link's time is used, gone, or in its bucket.
        let known_ns = (of("frames_sent") + of("unsent") + 2) * FRAME_NS;
        assert!(known_ns + BUCKET_NS >= window_ns, "{phase}");
        assert!(of("longest_burst") <= 17, "{phase}");
    }
    assert_eq!(
        link.received(),
        total(&reply, "frames_sent") + total(&reply, "probes_sent")
    );
}

#[test]
#[ignore = "needs root"]
fn a_flood_that_is_held_back_counts_what_its_link_had_time_for() {
    let mut link = on_a_slow_link();
    link.source.tc(STUCK);
    let reply = link
        .agent
        .call("source.run", run("raw", None, 1.0, &[("measure", 1.0)]));
    let measured = &reply["streams"][0]["phases"][0];
    let of = |field: &str| measured[field].as_u64().unwrap();
    // The socket takes some hundred frames; the bucket keeps some hundred more.
    assert!(of("unsent") > 0, "{measured}");
    let known_ns = (of("frames_sent") + of("unsent")) * FRAME_NS + BUCKET_NS;
    let window_ns = of("end_ns") - of("start_ns");
    assert!(known_ns.abs_diff(window_ns) < 1_000_000, "{measured}");
}

#[test]
#[ignore = "needs root"]
fn a_paced_load_beyond_its_link_is_sent_at_the_link_s_rate() {
    let mut link = on_a_slow_link();
    let params = run("raw", Some(100_000.0), 1000.0, &[("measure", 0.5)]);
    let reply = link.agent.call("source.run", params);
    let measured = &reply["streams"][0]["phases"][0];
    let window_ns = measured["end_ns"].as_u64().unwrap() - measured["start_ns"].as_u64().unwrap();
    assert!(
        total(&reply, "frames_sent") * FRAME_NS <= window_ns,
        "{measured}"
    );
    assert!(measured["unsent"].is_null());
    assert!(longest_burst(&reply) <= 4);
}

#[test]
#[ignore = "needs root"]
fn a_ceiling_is_what_the_source_sends_without_its_link_s_rate() {
    let mut link = on_a_slow_link();
    let params = json!({"frame_bytes": 64, "load": "flood"});
    let reply = link.agent.call("source.calibrate", params);
    let ceiling_fps = reply["ceilings"][0]["ceiling_fps"].as_f64().unwrap();
    assert!(ceiling_fps > 2.0 * 1e9 / FRAME_NS as f64, "{reply}");
}

#[test]
#[ignore = "needs root"]
fn an_abort_ends_a_run_at_once() {
    let mut link = Link::with_streams(1);
    for intended_fps in [Some(1000.0), None] {
        let phases = [("warmup", 30.0), ("measure", 30.0)];
        let id = link
            .agent
            .request("source.run", run("raw", intended_fps, 200.0, &phases));
        let before = link.received();
        link.await_frames(before + 10);
        link.agent.call("ping", json!({}));
        for method in ["source.run", "source.close", "source.open"] {
            let params = match method {
                "source.run" => run("raw", intended_fps, 200.0, &phases),
                "source.open" => open(1, "src0"),
                _ => json!({}),
            };
            let (code, message) = link.agent.refusal(method, params);
            assert_eq!(code, -32_000);
            assert!(message.contains("in use by a call under way"), "{message}");
        }

        let asked = Instant::now();
        let reply = link.agent.abort(id);
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "{:?}",
            asked.elapsed()
        );
        assert_eq!(reply["result"]["aborted"], true);
        let phases = reply["result"]["streams"][0]["phases"].as_array().unwrap();
        assert_eq!(phases.len(), 1);
        let received = link.received();
        assert_eq!(link.agent.call("ping", json!({})), json!({}));
        assert_eq!(link.received(), received);
    }
}

#[test]
#[ignore = "needs root"]
fn a_lost_peer_ends_the_traffic() {
    let mut link = Link::with_streams(1);
    link.agent.request(
        "source.run",
        run("raw", Some(1000.0), 200.0, &[("measure", 60.0)]),
    );
    link.await_frames(10);
    link.agent.hang_up();
    assert_eq!(link.agent.exit_status(), 0);
}

#[test]
#[ignore = "needs root"]
fn what_cannot_be_sent_is_refused() {
    let mut link = Link::make();
    let (code, message) = link.agent.refusal("source.open", open(1, "absent0"));
    assert_eq!(code, -32_602);
    assert!(
        message.starts_with("streams[0].interface: no interface `absent0`"),
        "{message}"
    );

    link.agent.call("source.open", open(1, "src0"));
    let mut params = run("raw", None, 200.0, &[("measure", 1.0)]);
    params["frame_bytes"] = 1515.into();
    let (code, message) = link.agent.refusal("source.run", params.clone());
    assert_eq!(code, -32_602);
    assert!(
        message.starts_with("frame_bytes: src0 with MTU 1500 takes"),
        "{message}"
    );

    params["frame_bytes"] = 1514.into();
    link.source.ip("link set src0 down");
    let (code, message) = link.agent.refusal("source.run", params);
    assert_eq!(
        (code, message.as_str()),
        (-32_000, "src0 is down; set it up first")
    );
    assert_eq!(link.received(), 0);

    link.agent.call("source.close", json!({}));
    let (code, _) = link
        .agent
        .refusal("source.run", run("raw", None, 1.0, &[("measure", 1.0)]));
    assert_eq!(code, -32_000);
}
