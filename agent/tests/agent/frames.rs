//! # Frames: what arrives is what was built, whichever way it was sent

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::link::{
    Encapsulation, IPV4, IPV6, Link, SINK_MAC, SOURCE_MAC, all_sent, open_in, receive, receiver,
    run, total,
};
use crate::mechanisms::MECHANISMS;

/// Faster than any mechanism: every send is the longest burst.
const BEYOND_REACH: Option<f64> = Some(1e7);
const MIX: [u16; 5] = [88, 590, 88, 1514, 89];

/// A link whose frames are all received.
struct Watched {
    link: Link,
    receiver: OwnedFd,
    encapsulation: Encapsulation,
}

impl Watched {
    fn make(encapsulation: Encapsulation) -> Self {
        let mut link = Link::without_checksums();
        link.agent
            .call("source.open", open_in(&encapsulation, 1, "src0"));
        let receiver = link.sink.within(receiver);
        Self {
            link,
            receiver,
            encapsulation,
        }
    }

    /// Sends such frames until there were enough of them, and compares all with what they are to be.
    fn arrive_byte_for_byte(
        &mut self,
        mechanism: &str,
        frame_bytes: Value,
        flows: u32,
        intended_fps: Option<f64>,
    ) {
        // Short, since all of it is received; a busy machine may let one pass unused.
        let mut params = run(mechanism, intended_fps, 1000.0, &[("measure", 0.003)]);
        params["frame_bytes"] = frame_bytes;
        params["flows"] = flows.into();
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.sent_and_checked(&params) < 100 {
            assert!(
                Instant::now() < deadline,
                "{mechanism} sends next to nothing"
            );
        }
    }

    /// Sends a run and compares all its frames with what they are to be; returns their number.
    fn sent_and_checked(&mut self, params: &Value) -> u32 {
        let mechanism = &params["mechanism"];
        let reply = self.link.agent.call("source.run", params.clone());
        assert_eq!(&reply["mechanism"], mechanism);
        let (mut sequence, mut probe, mut place) = (0, 0, None);
        for _ in 0..all_sent(params, &reply) {
            let frame = receive(&self.receiver);
            let fields_at = self.encapsulation.least_frame_bytes - 22;
            let is_probe = frame[fields_at + 9] == 0x80;
            let number = if is_probe { &mut probe } else { &mut sequence };
            // Probes are sent raw.
            if mechanism == "gso" && !is_probe {
                place = Some(self.next_place(place, &frame));
            }
            let train = place.filter(|_| !is_probe);
            let built = self.expected(params, &frame[fields_at + 8..][..14], *number, train);
            assert_eq!(frame, built, "{mechanism}, {number} of {params}");
            *number += 1;
        }
        assert_eq!(u64::from(sequence), total(&reply, "frames_sent"));
        sequence
    }

    /// The place of a frame in its train, by its identification: after the one before, or first again. IPv6 has none.
    fn next_place(&self, before: Option<u16>, frame: &[u8]) -> u16 {
        if self.is_ipv6() {
            return 0;
        }
        let at = if self.encapsulation.vlan.is_some() {
            22
        } else {
            18
        };
        let place = u16::from_be_bytes([frame[at], frame[at + 1]]);
        assert!(
            place == 0 || Some(place - 1) == before,
            "{place} after {before:?}"
        );
        place
    }

    fn is_ipv6(&self) -> bool {
        self.encapsulation.source_ip.contains(':')
    }

    /// The frame `number` of a run, with the phase, stream, sequence and time that it has; of a train where it has a place in one.
    fn expected(&self, params: &Value, stamped: &[u8], number: u32, place: Option<u16>) -> Vec<u8> {
        let length = match &params["frame_bytes"] {
            Value::Array(cycle) => &cycle[number as usize % cycle.len()],
            one => one,
        };
        let length = length.as_u64().unwrap() as usize;
        let flow = u64::from(number) % params["flows"].as_u64().unwrap();
        assert_eq!(stamped[2..6], number.to_be_bytes());

        let mut frame = [mac(SINK_MAC), mac(SOURCE_MAC)].concat();
        if let Some(vlan) = self.encapsulation.vlan {
            frame.extend([0x81, 0]);
            frame.extend(vlan.to_be_bytes());
        }
        let addresses = [
            octets(self.encapsulation.source_ip),
            octets(self.encapsulation.destination_ip),
        ]
        .concat();
        let udp_bytes = (length - self.encapsulation.least_frame_bytes + 22 + 8) as u16;
        if self.is_ipv6() {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(udp_bytes.to_be_bytes());
            frame.extend([17, 64]);
            frame.extend(&addresses);
        } else {
            let mut ip = vec![0x45, 0];
            ip.extend((udp_bytes + 20).to_be_bytes());
            ip.extend(place.unwrap_or(0).to_be_bytes());
            ip.extend([0x40, 0, 64, 17, 0, 0]);
            ip.extend(&addresses);
            let checksum = ones_complement(&ip);
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
            frame.extend([8, 0]);
            frame.extend(ip);
        }

        let mut udp = [4096_u16.wrapping_add(flow as u16), 4097, udp_bytes, 0]
            .map(u16::to_be_bytes)
            .concat();
        udp.extend(b"vtax");
        udp.extend(7_u32.to_be_bytes());
        udp.extend(stamped);
        udp.resize(usize::from(udp_bytes), 0);
        if place.is_some() || self.is_ipv6() {
            let mut summed = addresses;
            summed.extend(17_u16.to_be_bytes());
            summed.extend(udp_bytes.to_be_bytes());
            summed.extend(&udp);
            let checksum = match ones_complement(&summed) {
                0 => 0xffff,
                checksum => checksum,
            };
            udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        }
        [frame, udp].concat()
    }
}

fn mac(text: &str) -> Vec<u8> {
    let parts = text.split(':');
    parts
        .map(|part| u8::from_str_radix(part, 16).unwrap())
        .collect()
}

fn octets(address: &str) -> Vec<u8> {
    match address.parse().unwrap() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
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
#[ignore = "needs root"]
fn every_mechanism_s_frames_arrive_byte_for_byte_in_every_encapsulation() {
    for encapsulation in Encapsulation::ALL {
        let mut watched = Watched::make(encapsulation);
        let least = encapsulation.least_frame_bytes;
        for mechanism in MECHANISMS {
            for (frame_bytes, fps) in [(least, None), (least + 1, BEYOND_REACH), (1514, None)] {
                watched.arrive_byte_for_byte(mechanism, frame_bytes.into(), 1, fps);
            }
        }
    }
}

#[test]
#[ignore = "needs root"]
fn mixes_and_flows_arrive_byte_for_byte_in_their_order() {
    for encapsulation in Encapsulation::ALL {
        let mut watched = Watched::make(encapsulation);
        for mechanism in ["raw", "af_xdp"] {
            for fps in [None, BEYOND_REACH, Some(100_000.0)] {
                watched.arrive_byte_for_byte(mechanism, json!(MIX), 1, fps);
                watched.arrive_byte_for_byte(mechanism, json!(MIX), 7, fps);
            }
            watched.arrive_byte_for_byte(mechanism, json!(88), 65_536, None);
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_train_is_refused_a_mix_and_many_flows() {
    let mut watched = Watched::make(IPV4);
    for (field, value, reason) in [
        (
            "frame_bytes",
            json!(MIX),
            "a train has frames of one length: gso sends no mix",
        ),
        (
            "flows",
            json!(2),
            "a train is of one flow: gso sends no more",
        ),
    ] {
        let mut params = run("gso", None, 1000.0, &[("measure", 0.003)]);
        params[field] = value;
        let (code, message) = watched.link.agent.refusal("source.run", params);
        assert_eq!((code, message), (-32_602, format!("{field}: {reason}")));
    }
}

#[test]
#[ignore = "needs root"]
fn what_has_no_room_for_the_test_fields_is_refused_with_the_least_frame() {
    for encapsulation in Encapsulation::ALL {
        let mut watched = Watched::make(encapsulation);
        let least = encapsulation.least_frame_bytes;
        let mut params = run("raw", None, 1000.0, &[("measure", 0.003)]);
        params["frame_bytes"] = json!([1000, least - 1]);
        let (code, message) = watched.link.agent.refusal("source.run", params);
        let expected = format!("frame_bytes: {} is not between {least} and 9018", least - 1);
        assert_eq!((code, message), (-32_602, expected));
    }
}

#[test]
#[ignore = "needs root"]
fn addresses_are_of_one_version_and_tags_of_12_bits() {
    let mut link = Link::make();
    let mut refusal = |changes: Encapsulation| {
        let params = open_in(&changes, 1, "src0");
        link.agent.refusal("source.open", params).1
    };
    let mixed = Encapsulation {
        destination_ip: IPV6.destination_ip,
        ..IPV4
    };
    let expected = "streams[0].destination_ip: 2001:2:0:1::ffff:2 is not of the same IP version";
    assert_eq!(refusal(mixed), expected);
    for vlan in [0, 4095] {
        let message = refusal(Encapsulation {
            vlan: Some(vlan),
            ..IPV4
        });
        let expected = format!("streams[0].vlan: {vlan} is not between 1 and 4094");
        assert_eq!(message, expected);
    }
}
