//! # The test frame
//!
//! Headers | magic 4 | trial 4 | phase 1 | stream 1 | sequence 4 | departure 8 | zeros. All big endian.
//! Lengths are without the FCS.

mod checksum;
mod departure;
mod headers;
mod identity;
mod ports;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use checksum::internet_checksum;
use checksum::{folded, sum};
pub(crate) use departure::Departure;
pub(crate) use headers::{
    Addresses, Endpoints, GREATEST_FRAME_BYTES, MOST_HEADER_BYTES, UDP_BYTES, UDP_CHECKSUM_OFFSET,
    set_payload_bytes, udp_header,
};
pub(crate) use identity::Identity;
pub(crate) use ports::{PORT_TRIALS, telling_ports};

use super::layout::{FRAME_MAGIC, PHASE_FLAG_PROBE, STREAM_FLAG_EXTRA_LANE};

/// Where the test fields are after the headers.
const PHASE_AT: usize = 8;
const SEQUENCE_AT: usize = 10;
const DEPARTURE_AT: usize = 14;
/// Bytes of them all.
pub(crate) const FIELDS_BYTES: usize = DEPARTURE_AT + 8;

/// Sequence numbers are below this. Each phase and lane of a stream starts at 0.
pub(crate) const SEQUENCE_NUMBERS: u64 = 1 << 32;

/// That a phase has none left.
pub(crate) fn no_sequence_left() -> anyhow::Error {
    anyhow::anyhow!("all 2^32 sequence numbers are used up; shorten the phase")
}

/// The part of a trial a frame belongs to, so that none leaks into another's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
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

impl Endpoints {
    /// The shortest frame that has room for the test fields.
    pub(crate) fn least_frame_bytes(&self) -> usize {
        self.header_bytes() + FIELDS_BYTES
    }
}

/// A frame of `frame_bytes` with all but what [`stamp`] writes.
///
/// `frame_bytes` lies between [`Endpoints::least_frame_bytes`] and [`GREATEST_FRAME_BYTES`].
pub(crate) fn build(
    endpoints: &Endpoints,
    trial: u32,
    stream: u8,
    lane: Lane,
    frame_bytes: usize,
) -> Vec<u8> {
    let mut frame = endpoints.headers(frame_bytes);
    frame.extend(FRAME_MAGIC.to_be_bytes());
    frame.extend(trial.to_be_bytes());
    frame.push(0);
    frame.push(match lane {
        Lane::Main => stream,
        Lane::Probes => stream | STREAM_FLAG_EXTRA_LANE,
    });
    frame.resize(frame_bytes, 0);
    frame
}

/// Writes what differs from frame to frame into its test fields, which begin after the headers.
#[inline]
pub(crate) fn stamp(
    fields: &mut [u8],
    phase: Phase,
    is_probe: bool,
    sequence: u32,
    departure: Departure,
) {
    fields[PHASE_AT] = phase as u8 | if is_probe { PHASE_FLAG_PROBE } else { 0 };
    fields[SEQUENCE_AT..][..4].copy_from_slice(&sequence.to_be_bytes());
    fields[DEPARTURE_AT..][..8].copy_from_slice(&departure.field().to_be_bytes());
}

/// What remains of a frame's UDP checksum without the words that differ from frame to frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChecksumBase(u32);

impl ChecksumBase {
    /// That of a frame that [`build`] made and nobody stamped.
    pub(crate) fn of(endpoints: &Endpoints, frame: &[u8]) -> Self {
        let (headers, fields) = frame.split_at(endpoints.header_bytes());
        let mut headers = headers.to_vec();
        set_payload_bytes(&mut headers, fields.len());
        // The pseudo header's sum stands in the checksum's place; the rest of the fields is zeros.
        let udp = udp_header(&mut headers);
        Self(sum(&udp[2..]) + sum(&fields[..PHASE_AT]))
    }

    /// The checksum of the frame with these test fields, stamped, and this source port.
    #[inline]
    pub(crate) fn checksum(self, fields: &[u8], source_port: u16) -> u16 {
        let stamped = sum(&fields[PHASE_AT..FIELDS_BYTES]);
        match !folded(self.0 + stamped + u32::from(source_port)) {
            // Zero means that there is none.
            0 => 0xffff,
            checksum => checksum,
        }
    }
}
