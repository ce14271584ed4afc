//! What the sink's program costs, so that it can be charged to the sink and not to the UUT.

use std::time::Duration;

use anyhow::Context;
use libbpf_rs::{ErrorKind, ProgramInput};

use super::frame::TestFrame;
use super::program::{Armed, LANE_MAIN, Memory, PHASE_MEASURE, SinkSkel};
use super::wire::AnalysedPhase;
use crate::traffic::clock::now_ns;
use crate::traffic::frame::Departure;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::lengths::MOST_LENGTHS;

/// A few milliseconds a round, and a median that one preemption does not move.
const FRAMES_PER_ROUND: u32 = 20_000;
const ROUNDS: usize = 5;
const FRAME_BYTES: usize = 64;

const ARMED: Armed = Armed {
    trial: 1,
    stream: 0,
    phase: AnalysedPhase::Measure,
    frame_bytes: [FRAME_BYTES as u32; MOST_LENGTHS],
    probe_interval: 1,
    clock_ahead_ns: 0,
};

/// Nanoseconds for a frame that is counted and whose delay is filed, by BPF_PROG_TEST_RUN.
///
/// To be called before the program is attached. Leaves it disarmed.
pub(super) fn ns_per_frame(program: &SinkSkel<'_>, memory: &Memory) -> anyhow::Result<f64> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    while rounds.len() < ROUNDS {
        memory.disarm()?;
        memory.arm(ARMED)?;
        match run(program) {
            Ok(duration) => rounds.push(duration.as_nanos() as f64),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(error).context("cannot run the sink's program by BPF_PROG_TEST_RUN");
            }
        }
        let received = memory.state()?.lanes[LANE_MAIN].received;
        anyhow::ensure!(
            received == u64::from(FRAMES_PER_ROUND),
            "the sink's program counted {received} of {FRAMES_PER_ROUND} frames in BPF_PROG_TEST_RUN"
        );
    }
    memory.disarm()?;
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[ROUNDS / 2])
}

/// One round's mean time for a frame.
fn run(program: &SinkSkel<'_>) -> libbpf_rs::Result<Duration> {
    let frame = TestFrame {
        trial: ARMED.trial,
        phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
        stream: ARMED.stream,
        sequence: 0,
        departure: Departure::at(now_ns()),
    };
    let bytes = frame.to_bytes(FRAME_BYTES);
    let input = ProgramInput {
        data_in: Some(&bytes),
        repeat: FRAMES_PER_ROUND,
        ..Default::default()
    };
    Ok(program.progs.sink_cost.test_run(input)?.duration)
}
