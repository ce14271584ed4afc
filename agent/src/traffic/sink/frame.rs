//! The test frame, as `frame.h` lays it out.

use crate::traffic::frame::{Departure, internet_checksum};
use crate::traffic::layout::FRAME_MAGIC;

const HEADER_BYTES: usize = 64;

/// The fields of a test frame that a sink looks at.
#[derive(Clone, Copy, Debug)]
pub(in crate::traffic) struct TestFrame {
    pub trial: u32,
    pub phase: u8,
    pub stream: u8,
    pub sequence: u32,
    pub departure: Departure,
}

impl TestFrame {
    /// The frame between documentation addresses, `frame_bytes` long.
    pub fn to_bytes(self, frame_bytes: usize) -> Vec<u8> {
        assert!(
            frame_bytes >= HEADER_BYTES,
            "a test frame has at least {HEADER_BYTES} bytes"
        );
        let ip_bytes = (frame_bytes - 14) as u16;
        let mut ip = [
            0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 1, 2,
        ];
        ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
        let checksum = internet_checksum(&ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());

        let mut frame = Vec::with_capacity(frame_bytes);
        frame.extend([0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00]);
        frame.extend(ip);
        frame.extend([0x10, 0x00, 0x10, 0x01]);
        frame.extend((ip_bytes - 20).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(FRAME_MAGIC.to_be_bytes());
        frame.extend(self.trial.to_be_bytes());
        frame.extend([self.phase, self.stream]);
        frame.extend(self.sequence.to_be_bytes());
        frame.extend(self.departure.field().to_be_bytes());
        frame.resize(frame_bytes, 0);
        frame
    }
}
