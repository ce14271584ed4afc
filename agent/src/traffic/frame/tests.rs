//! Frames read back field by field, and sums taken in another way than the builder's.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::api::bounds::{GREATEST_STREAM, GREATEST_VLAN};
use crate::mac::MacAddress;
use crate::traffic::testing::endpoints_at;

/// Reads a frame front to back.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        *field
    }

    fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }
}

/// What 16 bits of lateness say: five tell the place of the first digit, eleven those behind it.
fn late_ns_of(told: u16) -> u64 {
    match told >> 11 {
        0 => u64::from(told),
        place => u64::from(told & 2047 | 2048) << (place - 1),
    }
}

#[test]
fn lateness_beyond_what_a_frame_can_tell_is_told_as_the_greatest() {
    let told = |late_ns| {
        let departure = Departure {
            departed_ns: 0,
            late_ns,
        };
        late_ns_of(departure.field() as u16)
    };
    let greatest_ns = 4095 << 30;
    assert_eq!(
        [greatest_ns - 1, greatest_ns, u64::MAX].map(told),
        [4094 << 30, greatest_ns, greatest_ns]
    );
}

fn addresses() -> impl Strategy<Value = Addresses> {
    let both = |one: IpAddr, other: IpAddr| Addresses::of(one, other).unwrap();
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(move |(one, other)| both(one.into(), other.into())),
        any::<([u8; 16], [u8; 16])>().prop_map(move |(one, other)| both(one.into(), other.into())),
    ]
}

prop_compose! {
    fn endpoints()(
        source_mac: [u8; 6],
        destination_mac: [u8; 6],
        vlan in prop::option::of(1..=GREATEST_VLAN as u16),
        addresses in addresses(),
        source_port: u16,
        destination_port: u16,
    ) -> Endpoints {
        Endpoints {
            source_mac: MacAddress(source_mac),
            destination_mac: MacAddress(destination_mac),
            vlan,
            addresses,
            source_port,
            destination_port,
        }
    }
}

/// The sum of RFC 1071 added up word by word; an odd last byte is padded.
fn added_up(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0, |total, word| {
        let word = u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]);
        let (total, carry) = total.overflowing_add(word);
        total + u16::from(carry)
    })
}

/// The pseudo header of a datagram of so many bytes.
fn pseudo_header(addresses: Addresses, udp_bytes: usize) -> Vec<u8> {
    let (mut bytes, other) = match addresses {
        Addresses::V4 {
            source,
            destination,
        } => (source.octets().to_vec(), destination.octets().to_vec()),
        Addresses::V6 {
            source,
            destination,
        } => (source.octets().to_vec(), destination.octets().to_vec()),
    };
    bytes.extend(other);
    bytes.extend([0, 17]);
    bytes.extend((udp_bytes as u16).to_be_bytes());
    bytes
}

#[test]
fn the_least_frame_is_its_headers_and_the_test_fields() {
    let least = |vlan, address| endpoints_at(vlan, address).least_frame_bytes();
    assert_eq!(least(None, "198.18.0.2"), 64);
    assert_eq!(least(None, "2001:2::2"), 84);
    assert_eq!(least(Some(1), "198.18.0.2"), 68);
    assert_eq!(least(Some(1), "2001:2::2"), 88);
}

proptest! {
    #[test]
    fn the_headers_of_a_train_are_sums_of_themselves(endpoints in endpoints(), payload_bytes in 22_usize..=65_487) {
        let mut headers = endpoints.headers(endpoints.least_frame_bytes());
        set_payload_bytes(&mut headers, payload_bytes);
        let ip = &headers[endpoints.beyond_mtu_bytes()..headers.len() - 8];
        let mut read = Reader(ip);
        if endpoints.has_checksum() {
            prop_assert_eq!(read.u32(), 0x6000_0000);
            prop_assert_eq!(usize::from(read.u16()), payload_bytes + 8);
        } else {
            prop_assert_eq!(added_up(ip), 0xffff);
            prop_assert_eq!(read.u16(), 0x4500);
            prop_assert_eq!(usize::from(read.u16()), payload_bytes + 28);
        }
        let mut udp = Reader(&headers[headers.len() - 4..]);
        prop_assert_eq!(usize::from(udp.u16()), payload_bytes + 8);
        let expected = added_up(&pseudo_header(endpoints.addresses, payload_bytes + 8));
        prop_assert_eq!(udp.u16(), expected);
    }

    #[test]
    fn every_frame_parses_back(
        endpoints in endpoints(),
        trial: u32,
        stream in 0..=GREATEST_STREAM as u8,
        lane in prop::sample::select(vec![Lane::Main, Lane::Probes]),
        phase in prop::sample::select(vec![Phase::Probe, Phase::Warmup, Phase::Measure]),
        is_probe: bool,
        sequence: u32,
        departed_ns: u64,
        late_ns in (0_u32..42, any::<u64>()).prop_map(|(bits, noise)| noise & ((1 << bits) - 1)),
        frame_bytes in 88..=GREATEST_FRAME_BYTES,
    ) {
        let mut frame = build(&endpoints, trial, stream, lane, frame_bytes);
        let header_bytes = endpoints.header_bytes();
        stamp(&mut frame[header_bytes..], phase, !is_probe, !sequence, Departure::at(!departed_ns));
        stamp(&mut frame[header_bytes..], phase, is_probe, sequence, Departure { departed_ns, late_ns });
        prop_assert_eq!(frame.len(), frame_bytes);

        let mut read = Reader(&frame);
        prop_assert_eq!(read.take(), endpoints.destination_mac.0);
        prop_assert_eq!(read.take(), endpoints.source_mac.0);
        if let Some(vlan) = endpoints.vlan {
            prop_assert_eq!((read.u16(), read.u16()), (0x8100, vlan));
        }
        match endpoints.addresses {
            Addresses::V4 { source, destination } => {
                prop_assert_eq!(read.u16(), 0x0800);
                // A header with its checksum in place sums up to nothing.
                prop_assert_eq!(added_up(&read.0[..20]), 0xffff);
                prop_assert_eq!(read.u16(), 0x4500);
                prop_assert_eq!(usize::from(read.u16()), frame_bytes - endpoints.beyond_mtu_bytes());
                prop_assert_eq!(read.u32(), 0x4000);
                prop_assert_eq!(read.u16(), 64 << 8 | 17);
                read.u16();
                prop_assert_eq!(read.take::<4>(), source.octets());
                prop_assert_eq!(read.take::<4>(), destination.octets());
            }
            Addresses::V6 { source, destination } => {
                prop_assert_eq!(read.u16(), 0x86dd);
                prop_assert_eq!(read.u32(), 0x6000_0000);
                prop_assert_eq!(usize::from(read.u16()), frame_bytes - endpoints.beyond_mtu_bytes() - 40);
                prop_assert_eq!(read.u16(), 17 << 8 | 64);
                prop_assert_eq!(read.take::<16>(), source.octets());
                prop_assert_eq!(read.take::<16>(), destination.octets());
            }
        }
        prop_assert_eq!(read.u16(), endpoints.source_port);
        prop_assert_eq!(read.u16(), endpoints.destination_port);
        prop_assert_eq!(usize::from(read.u16()), frame_bytes - header_bytes + 8);
        prop_assert_eq!(read.u16(), 0);
        prop_assert_eq!(read.take(), *b"vtax");
        prop_assert_eq!(read.u32(), trial);
        prop_assert_eq!(read.u8(), phase as u8 + if is_probe { 128 } else { 0 });
        prop_assert_eq!(read.u8(), stream + if lane == Lane::Probes { 128 } else { 0 });
        prop_assert_eq!(read.u32(), sequence);
        let departure = u64::from_be_bytes(read.take());
        prop_assert_eq!(departure >> 16, departed_ns & ((1 << 48) - 1));
        let told_ns = late_ns_of(departure as u16);
        prop_assert!(told_ns <= late_ns && late_ns - told_ns <= late_ns / 2048, "{} told as {}", late_ns, told_ns);
        prop_assert!(read.0.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_stamped_frame_with_its_checksum_sums_up_to_nothing(
        endpoints in endpoints(),
        sequence: u32,
        departed_ns: u64,
        source_port: u16,
        frame_bytes in 88_usize..=1600,
    ) {
        let mut frame = build(&endpoints, 7, 3, Lane::Main, frame_bytes);
        let base = ChecksumBase::of(&endpoints, &frame);
        let header_bytes = endpoints.header_bytes();
        let (headers, fields) = frame.split_at_mut(header_bytes);
        stamp(fields, Phase::Measure, true, sequence, Departure { departed_ns, late_ns: departed_ns });
        let udp = udp_header(headers);
        udp[..2].copy_from_slice(&source_port.to_be_bytes());
        let checksum = base.checksum(fields, source_port);
        udp[UDP_CHECKSUM_OFFSET..].copy_from_slice(&checksum.to_be_bytes());
        prop_assert_ne!(checksum, 0);

        let datagram = &frame[header_bytes - 8..];
        let summed = [pseudo_header(endpoints.addresses, datagram.len()), datagram.to_vec()].concat();
        prop_assert_eq!(added_up(&summed), 0xffff);
    }

    #[test]
    fn a_measured_frame_is_told_by_its_trial_lane_and_sequence_alone(
        both in [endpoints(), endpoints()],
        trial: u32,
        stream in 0..=GREATEST_STREAM as u8,
        sequence: u32,
        departed_ns: u64,
    ) {
        let identity = |endpoints: &Endpoints, lane, phase, trial, stream, sequence, departed_ns| {
            let mut frame = build(endpoints, trial, stream, lane, endpoints.least_frame_bytes());
            stamp(&mut frame[endpoints.header_bytes()..], phase, departed_ns % 2 == 0, sequence, Departure::at(departed_ns));
            prop_assert_eq!(Identity::of(&frame[..frame.len() - 1]), None);
            prop_assert!(frame.len() <= MOST_HEADER_BYTES + FIELDS_BYTES);
            Ok(Identity::of(&frame))
        };
        let (measure, lane) = (Phase::Measure, Lane::Main);
        let one = identity(&both[0], lane, measure, trial, stream, sequence, departed_ns)?;
        prop_assert!(one.is_some());
        prop_assert_eq!(identity(&both[1], lane, measure, trial, stream, sequence, !departed_ns)?, one);
        prop_assert_ne!(identity(&both[0], Lane::Probes, measure, trial, stream, sequence, departed_ns)?, one);
        prop_assert_ne!(identity(&both[0], lane, measure, !trial, stream, sequence, departed_ns)?, one);
        prop_assert_ne!(identity(&both[0], lane, measure, trial, stream ^ 1, sequence, departed_ns)?, one);
        prop_assert_ne!(identity(&both[0], lane, measure, trial, stream, !sequence, departed_ns)?, one);
        prop_assert_eq!(identity(&both[0], lane, Phase::Warmup, trial, stream, sequence, departed_ns)?, None);
    }
}
