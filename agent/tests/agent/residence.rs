//! # `residence.*`: a namespace between two others tells how long it held what it forwarded

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::link::{Encapsulation, IPV4};
use crate::network::Namespace;
use crate::process::Agent;

const SOURCE_MAC: &str = "02:76:74:00:00:01";
const IN_MAC: &str = "02:76:74:00:00:02";
const OUT_MAC: &str = "02:76:74:00:00:03";
const SINK_MAC: &str = "02:76:74:00:00:04";

/// From a frame's departure to its stamp in the guest, on a busy machine.
const SLACK_NS: i64 = 20_000_000;

/// What left the source in the measured phase.
pub struct SentFrames {
    pub measured: u64,
    /// From the first departure to the last.
    pub took_ns: i64,
}

/// Source, guest and sink in a row, with an agent at the source and one in the guest.
pub struct Row {
    _source: Namespace,
    pub forwarding: Namespace,
    pub sink: Namespace,
    source: Agent,
    guest: Agent,
}

impl Row {
    /// Err tells why this kernel cannot make the guest.
    pub fn make(encapsulation: Encapsulation) -> Result<Self, String> {
        let Encapsulation {
            vlan,
            source_ip,
            destination_ip,
            ..
        } = encapsulation;
        let [source, guest, sink] = [(); 3].map(|()| Namespace::make());
        guest.join("in0", IN_MAC, &source, "src0", SOURCE_MAC);
        guest.join("out0", OUT_MAC, &sink, "snk0", SINK_MAC);
        let mut sender = Agent::start(&["--netns", &source.path()]);
        sender.call(
            "source.open",
            json!({"cpus": [0], "streams": [{
                "stream": 0, "interface": "src0", "source_mac": SOURCE_MAC, "destination_mac": IN_MAC, "vlan": vlan,
                "source_ip": source_ip, "destination_ip": destination_ip, "source_port": 4096, "destination_port": 4097,
            }]}),
        );
        let mut forwarder = Agent::start(&["--netns", &guest.path()]);
        let nic = |mac: &str, address: &str, neighbours: Value| json!({"mac": mac, "address": address, "mtu": 1500, "vlan": vlan, "neighbours": neighbours});
        let next = json!([{"address": destination_ip, "mac": SINK_MAC}]);
        let [in_address, out_address] = match source_ip.contains(':') {
            false => ["198.18.0.1/24", "198.18.1.1/24"],
            true => ["2001:2::1/64", "2001:2:0:1::1/64"],
        };
        let nics = [
            nic(IN_MAC, in_address, json!([])),
            nic(OUT_MAC, out_address, next),
        ];
        let configuration = json!({"modules": [], "nics": nics, "forward": true});
        let reply = forwarder.reply("guest.configure", configuration);
        if let Some(message) = reply["error"]["message"].as_str() {
            return Err(message.to_owned());
        }
        Ok(Self {
            _source: source,
            forwarding: guest,
            sink,
            source: sender,
            guest: forwarder,
        })
    }

    /// Sends 100 frames of 1500 bytes, a millisecond apart, after a warm-up of ten.
    ///
    /// All of them arrive.
    pub fn send(&mut self) -> SentFrames {
        let before = self.sink.rx_packets("snk0");
        let reply = self.source.call(
            "source.run",
            json!({
                "trial": 7, "frame_bytes": 1500, "mechanism": "raw", "intended_fps": 1000.0, "probe_fps": 1000.0,
                "phases": [{"phase": "warmup", "duration_s": 0.01}, {"phase": "measure", "duration_s": 0.1}],
            }),
        );
        let told =
            |phase: usize, name: &str| reply["streams"][0]["phases"][phase][name].as_i64().unwrap();
        let sent = SentFrames {
            measured: told(1, "frames_sent") as u64,
            took_ns: told(1, "last_ns") - told(1, "first_ns"),
        };
        let all = sent.measured + told(0, "frames_sent") as u64;
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.sink.rx_packets("snk0") - before < all {
            assert!(Instant::now() < deadline, "the frames do not arrive");
            std::thread::sleep(Duration::from_millis(5));
        }
        sent
    }

    /// What the guest says of the frames, with what was sent; every frame that was sent is among them.
    fn residence(&mut self) -> (SentFrames, Value) {
        // The kernel begins to stamp some time after it is asked to, and goes on as long as there is another tap.
        let mut other = Agent::start(&["--netns", &self.forwarding.path()]);
        other.call("residence.open", json!({}));
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.seen_while_sending().1["frames"] == 0 {
            assert!(Instant::now() < deadline, "no frame is stamped");
        }
        let (sent, residence) = self.seen_while_sending();
        assert_eq!(residence["frames"], sent.measured);
        (sent, residence)
    }

    /// What was sent, and what the guest says of it.
    fn seen_while_sending(&mut self) -> (SentFrames, Value) {
        self.guest.call("residence.open", json!({}));
        let sent = self.send();
        (sent, self.guest.call("residence.read", json!({})))
    }
}

#[test]
#[ignore = "needs root"]
fn frames_of_every_encapsulation_are_told_apart() {
    for encapsulation in Encapsulation::ALL {
        let mut row = match Row::make(encapsulation) {
            Ok(row) => row,
            // Not every kernel can: it has to say so.
            Err(message) => {
                assert!(encapsulation.vlan.is_some(), "{message}");
                assert!(
                    message.contains("needs the kernel module 8021q"),
                    "{message}"
                );
                continue;
            }
        };
        let (_, at_once) = row.residence();
        assert!(at_once["min_ns"].as_i64().unwrap() > 0);
        assert!(at_once["p50_ns"].as_i64().unwrap() < 1_000_000);
    }
}

#[test]
#[ignore = "needs root"]
fn a_bucket_holds_frames_as_long_as_its_rate_makes_it() {
    let mut row = Row::make(IPV4).unwrap();
    // A frame leaves every 2 ms, the last of all so long after the first as the others take; it waits from its own
    // departure on.
    let bucket = json!({"kind": "tbf", "rate_bps": 6_000_000, "burst_bytes": 1514, "limit_bytes": 1_000_000, "overhead_bytes": 0});
    row.guest.call(
        "guest.set_egress_qdisc",
        json!({"macs": [OUT_MAC], "qdisc": bucket}),
    );
    let (sent, held) = row.residence();
    let longest_ns = held["max_ns"].as_i64().unwrap();
    let drained_ns = (sent.measured as i64 - 2) * 1514 * 8 * 1000 / 6;
    let least_ns = drained_ns - sent.took_ns - SLACK_NS;
    assert!(
        (least_ns..220_000_000).contains(&longest_ns),
        "{longest_ns} of at least {least_ns}"
    );
}

#[test]
#[ignore = "needs root"]
fn without_frames_there_is_no_residence() {
    let guest = Namespace::make();
    let mut agent = Agent::start(&["--netns", &guest.path()]);
    let (_, message) = agent.refusal("residence.read", json!({}));
    assert_eq!(message, "no frames are stamped; call residence.open first");
    agent.call("residence.open", json!({}));
    let reply = agent.call("residence.read", json!({}));
    assert_eq!(reply["frames"], 0);
    assert_eq!(reply["p50_ns"], Value::Null);
}
