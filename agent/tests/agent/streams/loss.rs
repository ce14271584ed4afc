//! # Loss is counted, and told apart by where it is

use std::net::UdpSocket;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{AT, Found, changed, drain, each, go, receiver, record, run, sender};
use crate::ends::{Ends, FAR, NEAR};
use crate::fuzz::{SINK_MAC, SOURCE_MAC};
use crate::network::Namespace;
use crate::process::Agent;

/// What the queue of an interface has dropped.
fn queue_drops(namespace: &Namespace, interface: &str) -> u64 {
    let qdiscs = namespace.tc(&format!("-s -j qdisc show dev {interface}"));
    let qdiscs: Value = serde_json::from_str(&qdiscs).unwrap();
    qdiscs[0]["drops"].as_u64().unwrap()
}

const TBF: &str = "root tbf rate 20mbit burst 5k limit 20k";

#[test]
#[ignore = "needs root"]
fn what_the_own_queue_drops_is_a_send_error_and_no_loss() {
    let mut ends = Ends::make();
    ends.near
        .ip(&format!("neigh add {FAR} lladdr {SINK_MAC} dev src0"));
    ends.near.tc(&format!("qdisc add dev src0 {TBF}"));
    ends.responder
        .call("receiver.open", receiver("udp", 1, json!({})));
    ends.requester
        .call("sender.open", sender("udp", 1, 1000, json!({})));
    let Found { sent, came, .. } = run(&mut ends, true, go(None, 0.3));
    let refused = sent["flows"][0]["send_errors"]["ENOBUFS"].as_u64().unwrap();
    assert_eq!(refused, queue_drops(&ends.near, "src0"));
    assert!(refused > 0);
    assert_eq!(each(&came, "messages"), each(&sent, "messages"));
    assert_eq!(each(&came, "lost"), [0]);
}

#[test]
#[ignore = "needs root"]
fn what_a_router_drops_is_lost() {
    let (near, router, far) = (Namespace::make(), Namespace::make(), Namespace::make());
    let (in_mac, out_mac) = ("02:76:74:00:00:03", "02:76:74:00:00:04");
    near.join("src0", SOURCE_MAC, &router, "in0", in_mac);
    router.join("out0", out_mac, &far, "snk0", SINK_MAC);
    near.ip(&format!("addr add {NEAR}/32 dev src0"));
    near.ip(&format!("route add {FAR}/32 dev src0"));
    near.ip(&format!("neigh add {FAR} lladdr {in_mac} dev src0"));
    router.within(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
    router.ip(&format!("route add {NEAR}/32 dev in0"));
    router.ip(&format!("route add {FAR}/32 dev out0"));
    router.ip(&format!("neigh add {FAR} lladdr {SINK_MAC} dev out0"));
    router.tc(&format!("qdisc add dev out0 {TBF}"));
    far.ip(&format!("addr add {FAR}/32 dev snk0"));
    far.ip(&format!("route add {NEAR}/32 dev snk0"));
    let mut ends = Ends {
        requester: Agent::start(&["--netns", &near.path()]),
        responder: Agent::start(&["--netns", &far.path()]),
        near,
        far,
    };
    ends.responder
        .call("receiver.open", receiver("udp", 2, json!({})));
    let paced = json!({"intended_goodput_mbps": 15.0});
    ends.requester
        .call("sender.open", sender("udp", 2, 1000, paced));
    let Found { sent, came, .. } = run(&mut ends, true, go(None, 0.4));
    let lost: u64 = each(&came, "lost").iter().sum();
    assert_eq!(lost, queue_drops(&router, "out0"), "{came}");
    assert!(lost > 0);
    for flow in 0..2 {
        let (sent, came) = (&sent["flows"][flow], &came["flows"][flow]);
        let messages = came["messages"].as_u64().unwrap() + came["lost"].as_u64().unwrap();
        assert_eq!(sent["messages"], messages);
    }
    assert_eq!(came["buffer_drops"], 0);
}

#[test]
#[ignore = "needs root"]
fn what_a_stopped_receiver_has_no_room_for_is_told_apart_from_other_loss() {
    let mut ends = Ends::make();
    let small = json!({"options": {"receive_buffer_bytes": 20_000}});
    ends.responder
        .call("receiver.open", receiver("udp", 1, small));
    let paced = json!({"intended_goodput_mbps": 8.0});
    ends.requester
        .call("sender.open", sender("udp", 1, 1000, paced));
    let process = Pid::from_raw(ends.responder.pid() as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    ends.requester.call("sender.go", go(None, 0.2));
    kill(process, Signal::SIGCONT).unwrap();
    let sent = ends.requester.call("sender.collect", json!({}));
    let messages = each(&sent, "messages");
    let params = changed(drain(Some(messages)), json!({"quiet_ms": 300}));
    let came = ends.responder.call("receiver.collect", params);
    assert_eq!(came["ended"], "quiet", "{came}");
    assert!(came["buffer_drops"].as_u64().unwrap() > 0);
    assert_eq!(came["buffer_drops"], came["flows"][0]["lost"], "{came}");
}

#[test]
#[ignore = "needs root"]
fn datagrams_count_by_their_sequence_and_others_are_refused_by_what_they_are() {
    let mut ends = Ends::make();
    ends.responder
        .call("receiver.open", receiver("udp", 1, json!({})));
    let near = ends.near.within(|| UdpSocket::bind((NEAR, 0))).unwrap();
    near.connect(AT).unwrap();
    near.send(&record(7, 100, 2, 0, 0)).unwrap();
    for sequence in [0, 2, 1, 1, 5] {
        near.send(&record(7, 100, 3, 0, sequence)).unwrap();
    }
    near.send(&record(8, 100, 3, 0, 6)).unwrap();
    near.send(&record(7, 100, 3, 1, 6)).unwrap();
    near.send(&record(7, 100, 4, 0, 6)).unwrap();
    near.send(&record(7, 100, 3, 0, 6)[..99]).unwrap();
    near.send(&[]).unwrap();
    let params = changed(drain(Some(vec![8])), json!({"quiet_ms": 200}));
    let came = ends.responder.call("receiver.collect", params);
    assert_eq!(came["ended"], "quiet");
    let refused = json!({"foreign": 3, "trial": 1, "flow": 1, "surplus": 0});
    assert_eq!(came["refused"], refused);
    let flow = &came["flows"][0];
    for (member, count) in [
        ("messages", 4),
        ("bytes", 400),
        ("warmup_bytes", 100),
        ("lost", 4),
        ("duplicated", 1),
        ("reordered", 1),
    ] {
        assert_eq!(flow[member], count, "{member}: {flow}");
    }
}
