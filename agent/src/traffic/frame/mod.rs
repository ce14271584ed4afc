//! # The test frame
//!
//! Ethernet 14 | IPv4 20 | UDP 8 | magic 4 | trial 4 | phase 1 | stream 1 | sequence 4 | time 8 | zeros. All big endian.
//! Lengths are without the FCS.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::mac::MacAddress;

const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;

/// Where the UDP header begins, and its checksum within it.
pub(crate) const UDP_AT: usize = ETHERNET_BYTES + IPV4_BYTES;
pub(crate) const UDP_CHECKSUM_OFFSET: usize = 6;
/// What stands before the test fields.
pub(crate) const HEADER_BYTES: usize = UDP_AT + UDP_BYTES;

const MAGIC: u32 = 0x7674_6178;
const MAGIC_AT: usize = HEADER_BYTES;
const TRIAL_AT: usize = MAGIC_AT + 4;
const PHASE_AT: usize = TRIAL_AT + 4;
const STREAM_AT: usize = PHASE_AT + 1;
const SEQUENCE_AT: usize = STREAM_AT + 1;
const TIME_AT: usize = SEQUENCE_AT + 4;

/// What Ethernet, IPv4, UDP and the test fields need.
pub(crate) const LEAST_FRAME_BYTES: usize = TIME_AT + 8;
/// A jumbo frame of MTU 9000.
pub(crate) const GREATEST_FRAME_BYTES: usize = 9000 + ETHERNET_BYTES;
/// Bytes of a frame that its interface's MTU does not count.
pub(crate) const BEYOND_MTU_BYTES: usize = ETHERNET_BYTES;

/// In the phase's byte: delay is taken from this frame.
const PROBE: u8 = 0x80;
/// In the stream's byte: a frame of the probe lane, which has its own sequence numbers.
const PROBE_LANE: u8 = 0x80;
/// Stream numbers are below this.
pub(crate) const STREAM_NUMBERS: u8 = 0x80;
/// Sequence numbers are below this. Each phase and lane of a stream starts at 0.
pub(crate) const SEQUENCE_NUMBERS: u64 = 1 << 32;

/// The part of a trial a frame belongs to, so that none leaks into another's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Is the path ready?
    Probe = 1,
    Warmup = 2,
    Measure = 3,
}

/// Which of a stream's two sequences a frame is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Main,
    /// Probes besides the load.
    Probes,
}

/// Both ends of a stream, as its frames name them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoints {
    pub(crate) source_mac: MacAddress,
    /// Of the first hop.
    pub(crate) destination_mac: MacAddress,
    pub(crate) source_ip: Ipv4Addr,
    pub(crate) destination_ip: Ipv4Addr,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

/// A frame of `frame_bytes` with all but what [`stamp`] writes.
///
/// `frame_bytes` lies between [`LEAST_FRAME_BYTES`] and [`GREATEST_FRAME_BYTES`].
pub(crate) fn build(
    endpoints: &Endpoints,
    trial: u32,
    stream: u8,
    lane: Lane,
    frame_bytes: usize,
) -> Vec<u8> {
    let ip_bytes = (frame_bytes - ETHERNET_BYTES) as u16;
    let udp_bytes = ip_bytes - IPV4_BYTES as u16;
    let mut frame = Vec::with_capacity(frame_bytes);

    frame.extend(endpoints.destination_mac.0);
    frame.extend(endpoints.source_mac.0);
    frame.extend((libc::ETH_P_IP as u16).to_be_bytes());

    frame.extend([0x45, 0]);
    frame.extend(ip_bytes.to_be_bytes());
    // No identification, don't fragment, TTL 64, checksum below.
    frame.extend([0, 0, 0x40, 0, 64, libc::IPPROTO_UDP as u8, 0, 0]);
    frame.extend(endpoints.source_ip.octets());
    frame.extend(endpoints.destination_ip.octets());
    let checksum = internet_checksum(&frame[ETHERNET_BYTES..]);
    frame[ETHERNET_BYTES + 10..][..2].copy_from_slice(&checksum.to_be_bytes());

    frame.extend(endpoints.source_port.to_be_bytes());
    frame.extend(endpoints.destination_port.to_be_bytes());
    frame.extend(udp_bytes.to_be_bytes());
    // No UDP checksum: stamping would have to mend it.
    frame.extend([0, 0]);

    frame.extend(MAGIC.to_be_bytes());
    frame.extend(trial.to_be_bytes());
    frame.push(0);
    frame.push(match lane {
        Lane::Main => stream,
        Lane::Probes => stream | PROBE_LANE,
    });
    frame.resize(frame_bytes, 0);
    frame
}

/// Writes what differs from frame to frame into its test fields, which begin after [`HEADER_BYTES`].
#[inline]
pub(crate) fn stamp(fields: &mut [u8], phase: Phase, is_probe: bool, sequence: u32, time_ns: u64) {
    const PHASE: usize = PHASE_AT - HEADER_BYTES;
    const SEQUENCE: usize = SEQUENCE_AT - HEADER_BYTES;
    const TIME: usize = TIME_AT - HEADER_BYTES;
    fields[PHASE] = phase as u8 | if is_probe { PROBE } else { 0 };
    fields[SEQUENCE..][..4].copy_from_slice(&sequence.to_be_bytes());
    fields[TIME..][..8].copy_from_slice(&time_ns.to_be_bytes());
}

/// Makes the headers those of a datagram with so much payload, whose UDP checksum is yet to be completed: its field holds the
/// sum of the pseudo header, as the kernel wants it.
pub(crate) fn set_payload_bytes(headers: &mut [u8], payload_bytes: usize) {
    let udp_bytes = (UDP_BYTES + payload_bytes) as u16;
    let ip_bytes = udp_bytes + IPV4_BYTES as u16;
    let (ip, udp) = headers[ETHERNET_BYTES..].split_at_mut(IPV4_BYTES);
    ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
    ip[10..12].fill(0);
    let checksum = internet_checksum(ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());

    udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
    let protocol_and_length = [0, libc::IPPROTO_UDP as u8, udp[4], udp[5]];
    let pseudo_header = folded(sum(&ip[12..20]) + sum(&protocol_and_length));
    udp[UDP_CHECKSUM_OFFSET..][..2].copy_from_slice(&pseudo_header.to_be_bytes());
}

/// RFC 1071, over an even number of bytes.
fn internet_checksum(bytes: &[u8]) -> u16 {
    !folded(sum(bytes))
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum()
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    prop_compose! {
        fn endpoints()(
            source_mac: [u8; 6],
            destination_mac: [u8; 6],
            source_ip: [u8; 4],
            destination_ip: [u8; 4],
            source_port: u16,
            destination_port: u16,
        ) -> Endpoints {
            Endpoints {
                source_mac: MacAddress(source_mac),
                destination_mac: MacAddress(destination_mac),
                source_ip: source_ip.into(),
                destination_ip: destination_ip.into(),
                source_port,
                destination_port,
            }
        }
    }

    #[test]
    fn the_least_frame_is_64_bytes() {
        assert_eq!(LEAST_FRAME_BYTES, 64);
    }

    #[test]
    fn the_checksum_is_that_of_a_known_header() {
        // The worked example of Wikipedia's article "Internet checksum", its checksum field zero.
        let header = [
            0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
            0xc7,
        ];
        assert_eq!(internet_checksum(&header), 0xb861);
    }

    proptest! {
        #[test]
        fn the_headers_of_a_train_are_sums_of_themselves(
            endpoints in endpoints(),
            payload_bytes in 22_usize..=65_507,
        ) {
            let mut frame = build(&endpoints, 0, 0, Lane::Main, LEAST_FRAME_BYTES);
            set_payload_bytes(&mut frame[..HEADER_BYTES], payload_bytes);
            prop_assert_eq!(internet_checksum(&frame[14..34]), 0);
            let mut read = Reader(&frame[14..]);
            prop_assert_eq!(read.u16(), 0x4500);
            prop_assert_eq!(usize::from(read.u16()), payload_bytes + 28);
            let mut udp = Reader(&frame[UDP_AT + 4..]);
            let udp_bytes = udp.u16();
            prop_assert_eq!(usize::from(udp_bytes), payload_bytes + 8);
            // Added up in another order than the builder does.
            let words = [17, udp_bytes]
                .into_iter()
                .chain(frame[26..34].chunks(2).map(|word| u16::from_be_bytes([word[0], word[1]])));
            let expected = words.fold(0_u16, |total, word| {
                let (total, carry) = total.overflowing_add(word);
                total + u16::from(carry)
            });
            prop_assert_eq!(udp.u16(), expected);
        }

        #[test]
        fn every_frame_parses_back(
            endpoints in endpoints(),
            trial: u32,
            stream in 0..STREAM_NUMBERS,
            lane in prop::sample::select(vec![Lane::Main, Lane::Probes]),
            phase in prop::sample::select(vec![Phase::Probe, Phase::Warmup, Phase::Measure]),
            is_probe: bool,
            sequence: u32,
            time_ns: u64,
            frame_bytes in LEAST_FRAME_BYTES..=GREATEST_FRAME_BYTES,
        ) {
            let mut frame = build(&endpoints, trial, stream, lane, frame_bytes);
            stamp(&mut frame[HEADER_BYTES..], phase, !is_probe, !sequence, !time_ns);
            stamp(&mut frame[HEADER_BYTES..], phase, is_probe, sequence, time_ns);
            prop_assert_eq!(frame.len(), frame_bytes);
            // A header with its checksum in place sums up to nothing.
            prop_assert_eq!(internet_checksum(&frame[14..34]), 0);

            let mut read = Reader(&frame);
            prop_assert_eq!(read.take(), endpoints.destination_mac.0);
            prop_assert_eq!(read.take(), endpoints.source_mac.0);
            prop_assert_eq!(read.u16(), 0x0800);
            prop_assert_eq!(read.u16(), 0x4500);
            prop_assert_eq!(usize::from(read.u16()), frame_bytes - 14);
            prop_assert_eq!(read.u32(), 0x4000);
            prop_assert_eq!(read.u16(), 64 << 8 | 17);
            read.u16();
            prop_assert_eq!(Ipv4Addr::from(read.take::<4>()), endpoints.source_ip);
            prop_assert_eq!(Ipv4Addr::from(read.take::<4>()), endpoints.destination_ip);
            prop_assert_eq!(read.u16(), endpoints.source_port);
            prop_assert_eq!(read.u16(), endpoints.destination_port);
            prop_assert_eq!(usize::from(read.u16()), frame_bytes - 34);
            prop_assert_eq!(read.u16(), 0);
            prop_assert_eq!(read.take(), *b"vtax");
            prop_assert_eq!(read.u32(), trial);
            prop_assert_eq!(read.u8(), phase as u8 + if is_probe { 128 } else { 0 });
            prop_assert_eq!(read.u8(), stream + if lane == Lane::Probes { 128 } else { 0 });
            prop_assert_eq!(read.u32(), sequence);
            prop_assert_eq!(u64::from_be_bytes(read.take()), time_ns);
            prop_assert!(read.0.iter().all(|&byte| byte == 0));
        }
    }
}
