//! One stream's BPF program: loading it, and the maps it keeps its counts in.

use std::mem::MaybeUninit;

use libbpf_rs::OpenObject;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use super::delivery::Delivery;
use super::histogram::DELAY_BUCKETS;
use super::wire::{AnalysedPhase, Mode};
use crate::traffic::bpf::{MapValue, Single, with_libbpf_log};
use crate::traffic::lengths::MOST_LENGTHS;

pub(super) mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/sink.skel.rs"));
}

pub(super) use skeleton::SinkSkel;
pub(super) use skeleton::types::state as State;

// SAFETY: laid out by the skeleton after the BPF program's own types: integers, without padding.
unsafe impl MapValue for State {}
unsafe impl MapValue for skeleton::types::window {}
unsafe impl MapValue for skeleton::types::histogram {}

/// `enum phase` of frame.h; also the index of `State::frames`.
pub(super) const PHASE_PROBE: usize = 1;
pub(super) const PHASE_WARMUP: usize = 2;
pub(super) const PHASE_MEASURE: usize = 3;

/// Index of `State::lanes`.
pub(super) const LANE_MAIN: usize = 0;
pub(super) const LANE_EXTRA: usize = 1;

/// Loads what an attachment of this mode runs, not what only the others do: the kernel may refuse
/// those.
pub(super) fn load(
    storage: &mut MaybeUninit<OpenObject>,
    mode: Mode,
    delivery: Delivery,
) -> anyhow::Result<SinkSkel<'_>> {
    with_libbpf_log("the kernel refuses the sink's BPF program", || {
        let mut open = skeleton::SinkSkelBuilder::default().open(storage)?;
        open.progs.sink_tc.set_autoload(mode == Mode::Tc);
        open.progs.sink_xdp.set_autoload(mode != Mode::Tc);
        let constants = open
            .maps
            .rodata_data
            .as_deref_mut()
            .expect("the program has constants");
        constants.serialised = u8::from(delivery == Delivery::Serialised);
        open.load()
    })
}

/// What the program counts in, and the trial that it counts for.
#[derive(Debug)]
pub(super) struct Memory {
    state: Single<State>,
    window: Single<skeleton::types::window>,
    delays: Single<skeleton::types::histogram>,
}

/// The frames to be counted; the others are refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Armed {
    pub trial: u32,
    pub stream: u8,
    pub phase: AnalysedPhase,
    /// One of these.
    pub frame_bytes: [u32; MOST_LENGTHS],
}

impl Memory {
    pub fn of(program: &SinkSkel<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            state: Single::locked(&program.maps.sink_state)?,
            window: Single::new(&program.maps.sink_window)?,
            delays: Single::new(&program.maps.sink_delays)?,
        })
    }

    /// Forgets what was counted; all test frames are refused from here on.
    pub fn disarm(&self) -> anyhow::Result<()> {
        self.state.zero()
    }

    /// Counts for `armed` from here on. To be called on a disarmed program, when no run of it is
    /// left that began before: an unarmed program leaves window and histogram alone.
    pub fn arm(&self, armed: Armed) -> anyhow::Result<()> {
        self.window.zero()?;
        self.delays.zero()?;
        let phase = match armed.phase {
            AnalysedPhase::Probe => PHASE_PROBE,
            AnalysedPhase::Measure => PHASE_MEASURE,
        };
        self.state.write(&State {
            trial: armed.trial,
            stream: armed.stream.into(),
            frame_bytes: armed.frame_bytes,
            analysed_phase: phase as u16,
            ..State::default()
        })
    }

    pub fn state(&self) -> anyhow::Result<State> {
        self.state.read()
    }

    /// Frames in each delay bucket.
    pub fn delays(&self) -> anyhow::Result<[u64; DELAY_BUCKETS]> {
        Ok(self.delays.read()?.buckets)
    }
}
