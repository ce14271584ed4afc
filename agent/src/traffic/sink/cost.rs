//! What the sink's program costs, so that it can be charged to the sink and not to the UUT.

use anyhow::Context;
use libbpf_rs::{ErrorKind, ProgramInput, ProgramMut};

use super::frame::TestFrame;
use super::program::{Armed, Memory, PHASE_MEASURE, SinkSkel};
use super::wire::{AnalysedPhase, SinkCost};
use crate::traffic::clock::now_ns;
use crate::traffic::frame::Departure;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::lengths::MOST_LENGTHS;
use crate::traffic::strand::Strands;

/// A millisecond a round, and a median that one preemption does not move.
const FRAMES_PER_ROUND: u32 = 10_000;
const ROUNDS: usize = 5;
const FRAME_BYTES: usize = 64;

const ARMED: Armed = Armed {
    trial: 1,
    stream: 0,
    phase: AnalysedPhase::Measure,
    frame_bytes: [FRAME_BYTES as u32; MOST_LENGTHS],
    strands: Strands::ONE,
    probe_interval: 1,
    gaps: false,
    clock_ahead_ns: 0,
};

/// Times the program by BPF_PROG_TEST_RUN, and one that only drops, by turns.
///
/// To be called before the program is attached. Leaves it disarmed.
pub(super) fn measure(program: &SinkSkel<'_>, memory: &Memory) -> anyhow::Result<SinkCost> {
    let counted = Kind {
        gaps: false,
        probe: false,
    };
    let timed = Kind {
        gaps: true,
        probe: false,
    };
    let probe = Kind {
        gaps: true,
        probe: true,
    };
    let mut bare_ns = Vec::new();
    let mut rounds_ns = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        bare_ns.push(uninterrupted(|| run(&program.progs.sink_bare, false))?);
        for (kind, found) in [counted, timed, probe].iter().zip(&mut rounds_ns) {
            found.push(kind.round(program, memory)?);
        }
    }
    memory.disarm()?;
    let bare_ns = median(bare_ns);
    let [counted_ns, timed_ns, probe_ns] =
        rounds_ns.map(|found| (median(found) - bare_ns).max(0.0));
    Ok(SinkCost {
        counted_ns,
        timed_ns,
        probe_ns,
    })
}

/// A kind of frame.
#[derive(Clone, Copy)]
struct Kind {
    gaps: bool,
    probe: bool,
}

impl Kind {
    /// One round's mean time for a frame, ns; each frame has to have been counted.
    fn round(self, program: &SinkSkel<'_>, memory: &Memory) -> anyhow::Result<f64> {
        let took_ns = uninterrupted(|| {
            memory.disarm()?;
            memory.arm(Armed {
                gaps: self.gaps,
                ..ARMED
            })?;
            run(&program.progs.sink_cost, self.probe)
        })?;
        let received = memory.state()?.received();
        anyhow::ensure!(
            received == u64::from(FRAMES_PER_ROUND),
            "the sink's program counted {received} of {FRAMES_PER_ROUND} frames in BPF_PROG_TEST_RUN"
        );
        Ok(took_ns)
    }
}

/// What a round says, the first time that no signal cuts it short.
fn uninterrupted(round: impl Fn() -> anyhow::Result<Option<f64>>) -> anyhow::Result<f64> {
    loop {
        if let Some(took_ns) = round()? {
            return Ok(took_ns);
        }
    }
}

/// Mean time of a program for one of many frames, ns; None where a signal cut it short.
fn run(program: &ProgramMut<'_>, probe: bool) -> anyhow::Result<Option<f64>> {
    let flag = if probe { PHASE_FLAG_PROBE } else { 0 };
    let frame = TestFrame {
        trial: ARMED.trial,
        phase: PHASE_MEASURE as u8 | flag,
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
    match program.test_run(input) {
        Ok(output) => Ok(Some(output.duration.as_nanos() as f64)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error).context("cannot run the sink's program by BPF_PROG_TEST_RUN"),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
