//! The test frame as sources write it. The sink's view of the same layout is `bpf/frame.h`.
//!
//! Ethernet 14 | IPv4 20 | UDP 8 (checksum 0) | magic 4 | trial 4 | phase 1 | stream 1 | sequence 4 | time 8 | zeros

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// "vtax".
pub const MAGIC: u32 = 0x7674_6178;
/// The headers and the test payload fill the smallest Ethernet frame (without FCS) exactly.
pub const LEAST_BYTES: usize = 64;
/// Jumbo frames: an mtu of 9000 and the Ethernet header.
pub const MOST_BYTES: usize = 9014;
/// This frame's delay is to be taken.
pub const FLAG_PROBE: u8 = 0x80;
/// Sent beside the flood, with a sequence of its own.
pub const FLAG_EXTRA_LANE: u8 = 0x80;

const UDP_HEADER: usize = 8;
const AT_IP: usize = 14;
const AT_UDP: usize = AT_IP + 20;
const AT_MAGIC: usize = AT_UDP + UDP_HEADER;
const AT_TRIAL: usize = AT_MAGIC + 4;
const AT_PHASE: usize = AT_TRIAL + 4;
const AT_STREAM: usize = AT_PHASE + 1;
const AT_SEQUENCE: usize = AT_STREAM + 1;
const AT_TIME: usize = AT_SEQUENCE + 4;

/// What a frame belongs to, so that none leaks into another's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Phase {
    /// Whether the path is ready.
    Probe = 1,
    Warmup = 2,
    Measure = 3,
}

/// A six-byte Ethernet address, written `02:00:00:00:00:01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl std::str::FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            *byte = parts
                .next()
                .filter(|part| part.len() == 2)
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(|| format!("{text:?} is no MAC; as in 02:00:00:00:00:01"))?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(format!("{text:?} is no MAC; as in 02:00:00:00:00:01")),
        }
    }
}

impl std::fmt::Display for Mac {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where a stream's frames come from and go to.
#[derive(Clone, Debug, Deserialize)]
pub struct Addresses {
    pub source_mac: Mac,
    pub destination_mac: Mac,
    pub source_ip: Ipv4Addr,
    pub destination_ip: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
}

/// One frame, built once and stamped for every send.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// A frame of `frame_bytes` (LEAST_BYTES to MOST_BYTES, without FCS).
    pub fn new(addresses: &Addresses, frame_bytes: usize, trial: u32, stream: u8) -> Self {
        assert!((LEAST_BYTES..=MOST_BYTES).contains(&frame_bytes));
        let mut bytes = vec![0; frame_bytes];
        bytes[0..6].copy_from_slice(&addresses.destination_mac.0);
        bytes[6..12].copy_from_slice(&addresses.source_mac.0);
        bytes[12..14].copy_from_slice(&0x0800_u16.to_be_bytes());
        write_ip(&mut bytes[AT_IP..], addresses);
        bytes[AT_UDP..AT_UDP + 2].copy_from_slice(&addresses.source_port.to_be_bytes());
        bytes[AT_UDP + 2..AT_UDP + 4].copy_from_slice(&addresses.destination_port.to_be_bytes());
        let udp_bytes = (frame_bytes - AT_UDP) as u16;
        bytes[AT_UDP + 4..AT_UDP + 6].copy_from_slice(&udp_bytes.to_be_bytes());
        bytes[AT_MAGIC..AT_TRIAL].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[AT_TRIAL..AT_PHASE].copy_from_slice(&trial.to_be_bytes());
        bytes[AT_STREAM] = stream;
        Self { bytes }
    }

    /// Names the phase of this and all further sends; `flags` is 0 or FLAG_PROBE.
    #[inline]
    pub fn set_phase(&mut self, phase: Phase, flags: u8) {
        self.bytes[AT_PHASE] = phase as u8 | flags;
    }

    /// Writes what differs from send to send; `time_ns` is CLOCK_MONOTONIC.
    #[inline]
    pub fn stamp(&mut self, sequence: u32, time_ns: u64) {
        self.bytes[AT_SEQUENCE..AT_TIME].copy_from_slice(&sequence.to_be_bytes());
        self.bytes[AT_TIME..AT_TIME + 8].copy_from_slice(&time_ns.to_be_bytes());
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The frame's memory, for sends that gather several frames; it does not move while the frame lives.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }
}

fn write_ip(header: &mut [u8], addresses: &Addresses) {
    let total = header.len() as u16;
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[6..8].copy_from_slice(&0x4000_u16.to_be_bytes()); // don't fragment
    header[8] = 64; // time to live
    header[9] = 17; // UDP
    header[12..16].copy_from_slice(&addresses.source_ip.octets());
    header[16..20].copy_from_slice(&addresses.destination_ip.octets());
    let checksum = !internet_sum(&header[..20]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// One's complement sum of 16-bit words (RFC 1071).
fn internet_sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn addresses() -> Addresses {
        Addresses {
            source_mac: Mac([2, 0, 0, 0, 0, 1]),
            destination_mac: Mac([2, 0, 0, 0, 0, 2]),
            source_ip: Ipv4Addr::new(198, 18, 0, 2),
            destination_ip: Ipv4Addr::new(198, 19, 0, 2),
            source_port: 9,
            destination_port: 9,
        }
    }

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    proptest! {
        #[test]
        fn a_frame_reads_back(
            frame_bytes in LEAST_BYTES..=MOST_BYTES,
            trial: u32,
            stream: u8,
            sequence: u32,
            time_ns: u64,
        ) {
            let mut frame = Frame::new(&addresses(), frame_bytes, trial, stream);
            frame.set_phase(Phase::Measure, FLAG_PROBE);
            frame.stamp(sequence, time_ns);
            let bytes = frame.bytes();
            prop_assert_eq!(bytes.len(), frame_bytes);
            prop_assert_eq!(internet_sum(&bytes[14..34]), 0xffff);
            prop_assert_eq!(u16::from_be_bytes([bytes[16], bytes[17]]) as usize, frame_bytes - 14);
            prop_assert_eq!(u16::from_be_bytes([bytes[38], bytes[39]]) as usize, frame_bytes - 34);
            prop_assert_eq!(u32_at(bytes, 42), MAGIC);
            prop_assert_eq!(u32_at(bytes, 46), trial);
            prop_assert_eq!(bytes[50], 3 | FLAG_PROBE);
            prop_assert_eq!(bytes[51], stream);
            prop_assert_eq!(u32_at(bytes, 52), sequence);
            prop_assert_eq!(u64::from_be_bytes(bytes[56..64].try_into().unwrap()), time_ns);
            prop_assert!(bytes[64..].iter().all(|byte| *byte == 0));
        }

        #[test]
        fn a_mac_reads_back(bytes: [u8; 6]) {
            prop_assert_eq!(Mac(bytes).to_string().parse::<Mac>().unwrap(), Mac(bytes));
        }

        #[test]
        fn other_text_is_no_mac(text in "[0-9a-g:]{0,20}") {
            let parsed = text.parse::<Mac>();
            prop_assert!(parsed.is_err() || parsed.unwrap().to_string() == text);
        }
    }
}
