//! What the sink's program costs, so that it can be charged to the sink and not to the UUT.

use anyhow::Context;
use libbpf_rs::ProgramInput;
use nix::time::{ClockId, clock_gettime};

use super::frame::{FLAG_PROBE, TestFrame};
use super::program::{Armed, LANE_MAIN, Memory, PHASE_MEASURE, SinkSkel};
use super::wire::AnalysedPhase;

/// A millisecond a round, and a median that one preemption does not move.
const FRAMES_PER_ROUND: u32 = 20_000;
const ROUNDS: usize = 5;
const FRAME_BYTES: usize = 64;

/// Nanoseconds for a frame that is counted and whose delay is filed, by BPF_PROG_TEST_RUN. Leaves the memory zeroed.
pub(super) fn ns_per_frame(program: &SinkSkel<'_>, memory: &Memory) -> anyhow::Result<f64> {
    let armed = Armed {
        trial: 1,
        stream: 0,
        phase: AnalysedPhase::Measure,
        frame_bytes: FRAME_BYTES as u32,
    };
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        memory.arm(armed)?;
        let frame = TestFrame {
            trial: armed.trial,
            phase: PHASE_MEASURE as u8 | FLAG_PROBE,
            stream: armed.stream,
            sequence: 0,
            time_ns: monotonic_ns()?,
        }
        .to_bytes(FRAME_BYTES);
        let run = program
            .progs
            .sink_cost
            .test_run(ProgramInput {
                data_in: Some(&frame),
                repeat: FRAMES_PER_ROUND,
                ..Default::default()
            })
            .context("BPF_PROG_TEST_RUN of the sink's program")?;
        let received = memory.state()?.lanes[LANE_MAIN].received;
        anyhow::ensure!(
            received == u64::from(FRAMES_PER_ROUND),
            "the sink's program counted {received} of {FRAMES_PER_ROUND} frames in BPF_PROG_TEST_RUN"
        );
        *round = run.duration.as_nanos() as f64;
    }
    memory.disarm()?;
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[ROUNDS / 2])
}

pub(super) fn monotonic_ns() -> anyhow::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}
