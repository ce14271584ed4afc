//! Tests of the sink's program alone, on a bench, and of sinks on real interfaces.

mod attachment;
mod bench;
mod capture;
mod delays;
mod encapsulations;
mod load;
mod network;
mod order;
mod pktgen;
mod refusals;
mod sequences;
mod variation;

use super::frame::TestFrame;
use super::program::PHASE_MEASURE;
use crate::traffic::clock::now_ns;
use crate::traffic::frame::Departure;

const TRIAL: u32 = 0xfeed_0001;
const STREAM: u8 = 3;
const FRAME_BYTES: usize = 200;
const EXTRA_LANE: u8 = 0x80;

/// A frame that an armed sink counts.
fn frame(sequence: u32) -> TestFrame {
    TestFrame {
        trial: TRIAL,
        phase: PHASE_MEASURE as u8,
        stream: STREAM,
        sequence,
        departure: Departure::at(now_ns()),
    }
}

/// An extra probe.
fn probe(sequence: u32) -> TestFrame {
    TestFrame {
        stream: STREAM | EXTRA_LANE,
        ..frame(sequence)
    }
}

/// A sink may be collected in one thread while another answers its control stream.
#[test]
fn a_sink_can_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<super::Sink>();
    crosses::<crate::traffic::ingress::IngressDrop>();
}
