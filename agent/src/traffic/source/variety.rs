//! # Variety: headers that differ from frame to frame
//!
//! By a mix's lengths, by the source ports of many flows, and by the checksum that IPv6 wants. All that does not change is computed
//! beforehand. Only where frames differ are headers written at each send.

use crate::traffic::frame::{ChecksumBase, Endpoints, UDP_CHECKSUM_OFFSET, udp_header};
use crate::traffic::lengths::Lengths;
use crate::traffic::mechanism::Mechanism;

#[derive(Debug)]
pub(super) struct Variety {
    /// What the frames of a cycle begin with.
    cycle: Vec<Beginning>,
    first_port: u16,
    flows: u64,
}

#[derive(Clone, Debug)]
struct Beginning {
    frame_bytes: usize,
    headers: Vec<u8>,
    /// None where frames have no checksum.
    checksum: Option<ChecksumBase>,
}

impl Variety {
    /// None where all frames begin alike; `build` makes an unstamped frame of a given length.
    pub(super) fn of(
        endpoints: &Endpoints,
        lengths: &Lengths,
        flows: u32,
        build: impl Fn(usize) -> Vec<u8>,
    ) -> Option<Self> {
        let begin = |&frame_bytes: &usize| {
            let frame = build(frame_bytes);
            Beginning {
                frame_bytes,
                checksum: (endpoints.has_checksum()).then(|| ChecksumBase::of(endpoints, &frame)),
                headers: frame[..endpoints.header_bytes()].to_vec(),
            }
        };
        let differ = lengths.is_mix() || flows > 1 || endpoints.has_checksum();
        differ.then(|| Self {
            cycle: lengths.cycle().iter().map(begin).collect(),
            first_port: endpoints.source_port,
            flows: flows.into(),
        })
    }

    /// Makes the frame in `slot`, whose test fields are stamped, begin as the frame `sequence` does. Flows take turns; their ports
    /// go round within 16 bits.
    #[inline]
    pub(super) fn begin(&self, mechanism: &mut dyn Mechanism, slot: usize, sequence: u64) {
        let place = sequence % self.cycle.len() as u64;
        let beginning = &self.cycle[place as usize];
        let port = self.first_port.wrapping_add((sequence % self.flows) as u16);
        let fields = mechanism.fields(slot);
        let checksum = beginning.checksum.map(|base| base.checksum(fields, port));
        let Some(headers) = mechanism.headers(slot, beginning.frame_bytes) else {
            return;
        };
        headers.copy_from_slice(&beginning.headers);
        let udp = udp_header(headers);
        udp[..2].copy_from_slice(&port.to_be_bytes());
        if let Some(checksum) = checksum {
            udp[UDP_CHECKSUM_OFFSET..].copy_from_slice(&checksum.to_be_bytes());
        }
    }
}
