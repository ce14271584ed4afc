//! # What was sent is what is counted

use std::time::Duration;

use serde_json::{Value, json};

use super::{Found, await_arrivals, drain, each, go, receiver, run, sender, series};
use crate::ends::{Ends, has_sctp, listening};
use crate::process::Agent;

fn counts_what_was_sent(protocol: &str) {
    let mut ends = Ends::make();
    for (flows, message_bytes) in [(1, 65_536), (3, 1400), (2, 24)] {
        let params = receiver(protocol, flows, json!({"warmup_s": 0.1}));
        ends.responder.call("receiver.open", params);
        let params = sender(protocol, flows, message_bytes, json!({}));
        ends.requester.call("sender.open", params);
        let Found { run, sent, came } = run(&mut ends, false, go(Some(0.1), 0.4));
        assert_eq!(
            (&run["aborted"], &run["broken"]),
            (&json!(false), &json!(0))
        );
        assert_eq!(came["ended"], "complete", "{came}");
        assert_eq!(came["buffer_drops"], Value::Null);
        let none = json!({"foreign": 0, "trial": 0, "flow": 0, "surplus": 0});
        assert_eq!(came["refused"], none);
        for member in ["messages", "bytes"] {
            assert_eq!(each(&came, member), each(&sent, member), "{sent} {came}");
        }
        for flow in 0..flows {
            let (sent, came) = (&sent["flows"][flow], &came["flows"][flow]);
            let bytes = came["bytes"].as_u64().unwrap();
            assert!(bytes > 10 * message_bytes as u64, "{came}");
            assert!(came["warmup_bytes"].as_u64().unwrap() > 0);
            let steps = series(&mut ends, flow);
            let window_bytes = steps.iter().take(4).sum::<u64>();
            let goodput = came["goodput_mbps"].as_f64().unwrap();
            assert!(
                (goodput - window_bytes as f64 * 8.0 / 0.4e6).abs() < 1e-6,
                "{came}"
            );
            let warmup_bytes = came["warmup_bytes"].as_u64().unwrap();
            assert!(steps.iter().sum::<u64>() < bytes + warmup_bytes, "{came}");
            assert!(2 * window_bytes > bytes, "{came}");
            assert!(came["first_ns"].as_u64() < came["last_ns"].as_u64());
            assert_eq!(
                (&came["lost"], &came["problem"]),
                (&Value::Null, &Value::Null)
            );
            assert_eq!(sent["send_errors"], json!({}));
            assert!(sent["send_buffer_bytes"].as_u64() > Some(0), "{sent}");
            assert!(came["receive_buffer_bytes"].as_u64() > Some(0), "{came}");
            assert_eq!(sent["tcp"].is_object(), protocol == "tcp", "{sent}");
            assert_eq!(sent["sctp"].is_object(), protocol == "sctp", "{sent}");
        }
        ends.requester.call("sender.close", json!({}));
        ends.responder.call("receiver.close", json!({}));
        assert_eq!(ends.far.within(listening), 0);
    }
}

#[test]
#[ignore = "needs root"]
fn every_byte_of_a_tcp_flow_is_counted_by_its_phase_and_in_its_step() {
    counts_what_was_sent("tcp");
}

#[test]
#[ignore = "needs root"]
fn sctp_counts_alike_or_the_kernel_is_said_to_lack_it() {
    if has_sctp() {
        counts_what_was_sent("sctp");
        return;
    }
    eprintln!("this kernel has no SCTP: only its error is tested");
    let mut ends = Ends::make();
    let (code, message) = ends
        .responder
        .refusal("receiver.open", receiver("sctp", 1, json!({})));
    assert_eq!(code, -32_000);
    assert!(
        message.starts_with("this kernel has no SCTP: load"),
        "{message}"
    );
    assert!(message.contains("modprobe sctp"), "{message}");
}

#[test]
#[ignore = "needs root"]
fn a_connection_behaves_as_its_options_say_and_tells_of_itself() {
    let mut ends = Ends::make();
    let options = json!({"congestion": "reno", "mss_bytes": 600, "send_buffer_bytes": 100_000});
    let large = json!({"options": {"receive_buffer_bytes": 50_000_000}});
    ends.responder
        .call("receiver.open", receiver("tcp", 1, large));
    let params = sender("tcp", 1, 8192, json!({"options": options}));
    ends.requester.call("sender.open", params);
    let Found { sent, came, .. } = run(&mut ends, false, go(None, 0.2));
    // Twice what is asked for, of which the kernel's own bookkeeping has half, and more than its limit for others.
    assert_eq!(each(&sent, "send_buffer_bytes"), [200_000]);
    assert_eq!(each(&came, "receive_buffer_bytes"), [100_000_000]);
    let tcp = &sent["flows"][0]["tcp"];
    assert_eq!(tcp["congestion"], "reno");
    let of = |name: &str| tcp[name].as_u64().unwrap();
    // What is left of it beside TCP's time stamps.
    assert_eq!(of("mss_bytes"), 588, "{tcp}");
    assert!(of("cwnd_segments") >= 2 && of("rtt_us") > 0, "{tcp}");
    assert!(of("min_rtt_us") <= of("rtt_us") + of("rttvar_us"), "{tcp}");

    let params = sender("tcp", 1, 8192, json!({"options": {"congestion": "absent"}}));
    let (_, message) = ends.requester.refusal("sender.open", params);
    assert!(
        message.starts_with("options.congestion: cannot have `absent`"),
        "{message}"
    );
}

#[test]
#[ignore = "needs root"]
fn a_paced_sender_keeps_its_rate() {
    let mut ends = Ends::make();
    for protocol in ["udp", "tcp"] {
        ends.responder.call(
            "receiver.open",
            receiver(protocol, 2, json!({"warmup_s": 0.1})),
        );
        let paced = json!({"intended_goodput_mbps": 8.0});
        ends.requester
            .call("sender.open", sender(protocol, 2, 1000, paced));
        let Found { sent, came, .. } = run(&mut ends, protocol == "udp", go(Some(0.1), 0.4));
        assert_eq!(came["ended"], "complete", "{came}");
        assert_eq!(each(&came, "bytes"), each(&sent, "bytes"));
        for flow in 0..2 {
            let (sent, came) = (&sent["flows"][flow], &came["flows"][flow]);
            // Never above the schedule; below it only by what a busy machine held up at the end.
            let messages = sent["messages"].as_u64().unwrap();
            assert!((300..=400).contains(&messages), "{sent}");
            let goodput = came["goodput_mbps"].as_f64().unwrap();
            // What a sender that was held up makes up for may fall into the window.
            assert!((6.0..=9.0).contains(&goodput), "{came}");
        }
        if protocol == "udp" {
            for member in ["lost", "duplicated", "reordered"] {
                assert_eq!(each(&came, member), [0, 0], "{came}");
            }
            assert!(
                each(&came, "receive_buffer_bytes")
                    .iter()
                    .all(|&bytes| bytes > 0)
            );
            assert_eq!(came["buffer_drops"], 0);
        }
    }
}

fn threads(agent: &Agent) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", agent.pid()))
        .unwrap()
        .count()
}

#[test]
#[ignore = "needs root"]
fn one_thread_serves_many_flows() {
    let mut ends = Ends::make();
    ends.responder
        .call("receiver.open", receiver("tcp", 64, json!({})));
    ends.requester
        .call("sender.open", sender("tcp", 64, 8192, json!({})));
    let id = ends.requester.request("sender.go", go(None, 1.0));
    await_arrivals(&mut ends);
    // Beside the one that serves the control stream. That of an earlier call ends soon after its reply.
    while (threads(&ends.requester), threads(&ends.responder)) != (2, 2) {
        let over = ends.requester.receive_within(Duration::ZERO);
        assert!(over.is_none(), "more threads until the end of the run");
    }
    assert_eq!(ends.requester.receive()["id"], id);
    let sent = ends.requester.call("sender.collect", json!({}));
    let came = ends.responder.call("receiver.collect", drain(None));
    assert_eq!(came["ended"], "complete", "{came}");
    assert_eq!(each(&came, "bytes"), each(&sent, "bytes"));
    assert!(
        each(&came, "bytes").iter().all(|&bytes| bytes > 0),
        "{came}"
    );
}
